"""ElkanNoto: how many of the positives are labeled, and with it who is positive."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import _safe_indexing

from recoup._core.checks import FloatArray, Scheme
from recoup._core.constraints import Constraints, Number, Words
from recoup.exceptions import RecoupWarning
from recoup.learners._training.population import Population, prior_shift
from recoup.learners._training.row_weights import counted, some_weights
from recoup.learners.around_classifiers import (
    RescalingLearner,
    classifier_may_come_first,
    fitted_clone,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.priors.conversions import alpha_from_label_frequency
from recoup.priors.elkan_noto import frequencies_by_rule
from recoup.scores.folds import PUStratifiedKFold
from recoup.scores.table import ScoreTable

Mode = Literal["rescale", "duplicate"]
Rule = Literal["e1", "e2", "e3"]


def label_frequencies(
    s: NDArray[np.int_], chances: FloatArray, weights: FloatArray | None = None
) -> dict[str, float]:
    """Return the share of the positives that is labeled by the rules e1, e2 and e3."""
    table = ScoreTable.from_arrays(s, chances, sample_weight=weights).whole("ElkanNoto")
    return frequencies_by_rule(table.centers, table, 100.0)


def hidden_weights(odds: FloatArray, frequency: float, unknown: float = 1.0) -> FloatArray:
    """P(y=1 | x, s=0), from logits of P(s=1 | x) and the share of positives that is labeled.

    ``unknown`` is the share of the negatives that is not known to be negative.
    """
    factor = float(np.log1p(-frequency) - np.log(frequency)) if frequency < 1 else -np.inf
    weights: FloatArray = np.exp(np.minimum(odds + factor, 0.0))
    if unknown < 1:
        weights = weights / (weights + unknown * (1 - weights))
    return weights


class ElkanNoto(RescalingLearner):
    r"""Divide the chance to be labeled by the share of positives that is.

    If labels are a random sample of the positives, :math:`P(s=1 \mid x) = c \, P(y=1 \mid x)`,
    and c is what a classifier :math:`g(x) = P(s=1 \mid x)` says of held-out labeled rows. Either
    :math:`g / c` is the answer, or a second classifier learns from unlabeled rows that count as
    both classes: as positive with the weight

    .. math:: w(x) = P(y=1 \mid x, s=0) = \frac{1 - c}{c} \, \frac{g(x)}{1 - g(x)}

    and as negative with :math:`1 - w(x)`.

    Parameters
    ----------
    mode : {"rescale", "duplicate"}, default="rescale"
        Divide by c, or fit the second classifier, which takes about twice as long.
    rule : {"e1", "e2", "e3"}, default="e1"
        How c is read off the held-out rows: the mean of g over labeled rows; their part of the sum
        over all rows; the maximum. e1 and e2 are too low where the classes overlap, e3 is too high
        where g is noisy.
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the labels clearly better than logistic regression. Its ``predict_proba`` must be
        calibrated, so no class weights; for ``"duplicate"`` it must take ``sample_weight``.
    hold_out : float, default=0.2
        Share of the rows to read c off, above 0 and up to 0.5, rounded to one over a whole number.
        g is fitted on the others. Raise it where labels are few and c is noisy.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart. It decides which rows performance is
        about.
    threshold : {"own", "alpha", "f1"} or float, default="own"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
    probabilities : {"own", "calibrated"}, default="calibrated"
        What ``predict_proba`` gives: probabilities of the method itself, which may be no more than
        a logistic function of the score, or those that a smooth rising curve of the labels over the
        scores gives, turned by alpha into chances to be positive. The scores are those of the same
        unseen rows.
    guard : {"retry", "warn", "off"}, default="retry"
        What happens if a fit has failed: it ranks the wrong way round, calls all rows or none
        positive, or is far worse than a simple classifier. ``"warn"`` gives a ``LearnerWarning``;
        ``"retry"`` has a network fitted again before, differently; ``"off"`` does not look.
    random_state : int, Generator, RandomState or None, default=None
        Seed of all that is random. Also seeds the classifier, unless it has a seed of its own. It
        also chooses the rows to hold out.

    Attributes
    ----------
    classifier_ : classifier
        The last one that was fitted.
    label_frequency_ : float
        The c that was used, not below the share of labeled rows among all.
    label_frequencies_ : dict of str to float
        The c by each of the three rules.
    population_ : Population
        What turns probabilities of a label into those of being positive.
    alpha_ : float
        Share of positives among the unlabeled rows that follows from c.
    prior_ : None
        No other estimate is made.
    label_knots_ : ndarray of shape (2, n_knots) or None
        Logits of the classifier, and those of the chances that hold; None where they are taken as
        they are.
    cut_ : float
        What is subtracted from the scores of the method itself, to make zero the border.
    calibration_ : ndarray of shape (2, n_knots) or None
        Scores, and the probabilities there; None where they are those of the method itself.
    health_ : Health or None
        What the guard has found; None where it is off.
    classes_ : ndarray of shape (2,)
        The classes, always 0 and 1.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : ndarray of str
        Names of the features; missing where X has no column names.

    Warns
    -----
    RecoupWarning
        If c is so low that there would be more positives than rows.

    References
    ----------
    Elkan and Noto, "Learning classifiers from only positive and unlabeled data", KDD 2008,
    Section 2 (c) and Section 3 (weights).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.outer(y, [3.0, 3.0])
    >>> s = (y & (rng.random(2000) < 0.3)).astype(int)
    >>> model = ElkanNoto(random_state=0).fit(X, s)
    >>> round(model.label_frequency_, 1), round(float(np.mean(model.predict(X) == y)), 2)
    (0.3, 0.98)
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="elkan-noto",
        family="classical",
        cost="one or two fits",
        source="Elkan and Noto 2008",
        estimates_alpha=True,
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "mode": Words(*get_args(Mode)),
        "rule": Words(*get_args(Rule)),
        "hold_out": Number(
            above=0,
            most=0.5,
            why="the label frequency is read off rows that the classifier has not seen",
        ),
    }

    @classifier_may_come_first
    def __init__(
        self,
        mode: Mode = "rescale",
        *,
        rule: Rule = "e1",
        classifier: Any = "logistic",
        hold_out: float = 0.2,
        scheme: Scheme = "single-sample",
        threshold: str | float = "own",
        probabilities: Probabilities = "calibrated",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.mode = mode
        self.rule = rule
        self.classifier = classifier
        self.hold_out = hold_out
        self.scheme = scheme
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        caller = "ElkanNoto.fit"
        target = (s == 1).astype(int)
        classifier = self._chosen(X, target, rng)
        folds = PUStratifiedKFold(round(1 / float(self.hold_out)), random_state=rng)
        train, test = next(folds.split(X, s))

        def fit_some(chosen: NDArray[np.intp]) -> Any:
            counts = some_weights(sample_weight, chosen)
            return fitted_clone(
                classifier, X, target[chosen], rng, rows=chosen, weights=counts, caller=caller
            )

        counting = None
        if sample_weight is not None:
            counting = (train, target[train], sample_weight[train])
        self._fit_odds(fit_some, X, s, rng, among=train, expanded=counting)
        held_out = expit(self._odds(_safe_indexing(X, test)))
        self.label_frequencies_ = label_frequencies(
            s[test], held_out, some_weights(sample_weight, test)
        )
        self._take_frequency(s, sample_weight)
        if self.mode == "rescale":
            return

        labeled, unlabeled, negative = (np.flatnonzero(s == kind) for kind in (1, 0, -1))
        odds = self._odds(_safe_indexing(X, unlabeled))
        _, _, n_unlabeled, _, n_negative = self.population_
        in_doubt = (1 - self.population_.alpha) * n_unlabeled
        unknown = in_doubt / (in_doubt + n_negative) if n_negative else 1.0
        hidden = hidden_weights(odds, self.label_frequency_, unknown)
        rows = np.concatenate([labeled, unlabeled, unlabeled, negative])
        kinds = [len(labeled), len(unlabeled), len(unlabeled), len(negative)]
        kind = np.repeat([1, 1, 0, 0], kinds)
        weights = np.concatenate(
            [np.ones(len(labeled)), hidden, 1 - hidden, np.ones(len(negative))]
        )
        if sample_weight is not None:
            weights = weights * sample_weight[rows]
        some = weights > 0
        rows, kind, weights = rows[some], kind[some], weights[some]

        def fit(chosen: NDArray[np.intp]) -> Any:
            here = np.isin(rows, chosen)
            return fitted_clone(
                classifier,
                X,
                kind[here],
                rng,
                rows=rows[here],
                weights=weights[here],
                caller=caller,
            )

        everyone = np.arange(len(s))
        self._fit_odds(fit, X, s, rng, among=everyone, expanded=(rows, kind, weights))

    def _take_frequency(self, s: NDArray[np.int_], weights: FloatArray | None) -> None:
        """Take c by the chosen rule, and what follows from it for the population."""
        n_labeled, n_unlabeled, _ = counted(s, weights)
        found, least = self.label_frequencies_[self.rule], n_labeled / (n_labeled + n_unlabeled)
        if found < least:
            warnings.warn(
                f"ElkanNoto reads a label frequency of {found:.3g} off held-out rows, so that "
                f"{least / found:.3g} of all rows would be positive; it is raised to {least:.3g}. "
                f"The classifier is not calibrated, or the classes overlap too much for "
                f"rule={self.rule!r}.",
                RecoupWarning,
                stacklevel=5,
            )
        self.label_frequency_ = max(found, least)
        alpha = alpha_from_label_frequency(self.label_frequency_, n_labeled, n_unlabeled)
        self.alpha_ = float(np.clip(alpha, 0.0, 1.0))
        self.population_ = Population.of(self.alpha_, s, weights, self.scheme)

    def _decide(self, X: Any) -> FloatArray:
        return self._decided(self._odds(X))

    def _decided(self, odds: FloatArray) -> FloatArray:
        if self.mode == "rescale":
            return odds - self.population_.border
        return odds + self._shift

    def _chances(self, X: Any) -> FloatArray:
        odds = self._odds(X)
        if self.mode == "rescale":
            return self.population_.posterior(odds)
        chances: FloatArray = expit(odds + self._shift)
        return chances

    @property
    def _shift(self) -> float:
        """Where the population is not all rows, from the logits of all rows to its own."""
        return prior_shift(self.population_.pooled_pi, self.population_.pi)
