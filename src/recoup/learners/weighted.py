"""Weighted: labeled against unlabeled rows, with unequal costs of mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from recoup._core.checks import FloatArray, Scheme
from recoup._core.constraints import Classifier, Constraints, Nothing, Number, Several, WholeNumber
from recoup.learners._training.population import EDGE, Population
from recoup.learners._training.row_weights import counted, some_weights
from recoup.learners.around_classifiers import (
    RescalingLearner,
    class_weights,
    classifier_may_come_first,
    fitted_clone,
    margins,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.priors._solvers.transform import SCORES, named_or
from recoup.scores.folds import PUStratifiedKFold

WEIGHTS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4)


def lee_liu_criterion(
    labeled_called: NDArray[np.bool_],
    population_called: NDArray[np.bool_],
    labeled_weights: FloatArray | None = None,
    population_weights: FloatArray | None = None,
) -> float:
    r"""Squared recall over the share that is called positive; 0 where nothing is.

    It equals precision times recall, divided by the share of positives, and so grows with both.
    """
    share = float(np.average(population_called, weights=population_weights))
    recall = float(np.average(labeled_called, weights=labeled_weights))
    return recall**2 / share if share > 0 else 0.0


def fair_ratio(population: Population) -> float:
    """Return what labeled rows must count, per unit on the others, for f to be fair.

    It is above zero then where a row of the population is more likely positive than not.
    """
    alpha, n_labeled, n_unlabeled, scheme, n_negative = population
    if not n_negative:
        return 2 * alpha + (n_labeled / n_unlabeled if scheme == "single-sample" else 0.0)
    pi, hidden = population.pi, alpha * n_unlabeled
    negatives = n_unlabeled - hidden + n_negative
    at_the_border = hidden + negatives * pi / max(1 - pi, EDGE)
    return at_the_border / (n_unlabeled + n_negative)


class Weighted(RescalingLearner):
    r"""Take unlabeled rows as negatives, but let a labeled row that is missed cost more.

    The classifier minimizes

    .. math:: \rho \, \operatorname{mean}_L \ell(f) + \operatorname{mean}_U \ell(-f)

    With :math:`\rho = 2 \alpha` (case-control), or :math:`\rho = 2 \alpha + n_l / n_u` (single
    sample), f is above zero where a row of the population is more likely positive than not.
    Without alpha, :math:`\rho` is the one of some candidates that does best on held-out rows by
    the squared recall of labeled rows over the share of rows called positive. With a support
    vector machine as classifier this is the biased SVM.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. None chooses among ``weights`` instead.
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the labels clearly better than logistic regression. It must take ``sample_weight``,
        and needs ``predict_proba`` or ``decision_function``.
    weights : sequence of float or None, default=None
        Values of :math:`\rho` to choose from where alpha is None. None takes nine from 0.05 to 2.4.
        A single one is taken as it is.
    n_folds : int, default=3
        Folds of the rows for that choice.
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
        also deals the rows to folds.

    Attributes
    ----------
    classifier_ : classifier
        Fitted with the weights.
    weight_ : float
        The :math:`\rho` that was used.
    criterion_ : ndarray or None
        What each of ``weights`` reached on held-out rows; None where there was no choice.
    label_odds_ : float
        Labeled rows per row without a label.
    population_ : Population or None
        What turns logits into probabilities; None without alpha.
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
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

    Notes
    -----
    There is ``predict_proba`` with alpha only: without it no probability is known.

    References
    ----------
    Lee and Liu, "Learning with positive and unlabeled examples using weighted logistic
    regression", ICML 2003. Liu, Dai, Li, Lee and Yu, "Building text classifiers using positive and
    unlabeled examples", ICDM 2003 (biased SVM). du Plessis, Niu and Sugiyama, "Analysis of
    learning from positive and unlabeled data", NeurIPS 2014 (the weight 2 alpha).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.outer(y, [2.0, 2.0])
    >>> s = (y & (rng.random(2000) < 0.2)).astype(int)
    >>> known, chosen = Weighted(0.35).fit(X, s), Weighted(None, random_state=0).fit(X, s)
    >>> [round(float(np.mean(model.predict(X) == y)), 1) for model in (known, chosen)]
    [0.9, 0.9]
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="weighted",
        family="classical",
        cost="one fit, more without alpha",
        source="Lee and Liu 2003; Liu et al. 2003",
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "classifier": named_or(Classifier(SCORES)),
        "weights": Several(
            Number(above=0), why="what labeled rows count for each unit on the unlabeled ones"
        )
        | Nothing(),
        "n_folds": WholeNumber(2),
    }

    @classifier_may_come_first
    def __init__(
        self,
        alpha: Any = "estimate",
        *,
        classifier: Any = "logistic",
        weights: Sequence[float] | None = None,
        n_folds: int = 3,
        scheme: Scheme = "single-sample",
        threshold: str | float = "own",
        probabilities: Probabilities = "calibrated",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.classifier = classifier
        self.weights = weights
        self.n_folds = n_folds
        self.scheme = scheme
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def _gives_chances(self) -> bool:
        return super()._gives_chances() and getattr(self, "alpha_", self.alpha) is not None

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        target = (s == 1).astype(int)
        classifier = self._chosen(X, target, rng)
        counts = counted(s, sample_weight)
        self.label_odds_ = counts.labeled / counts.others
        self.population_, self.criterion_ = None, None
        if self.alpha_ is not None:
            self.population_ = Population.of(self.alpha_, s, sample_weight, self.scheme)
            self.weight_ = max(fair_ratio(self.population_), EDGE)
        else:
            candidates = WEIGHTS if self.weights is None else self.weights
            if len(candidates) > 1:
                self.criterion_ = self._tried(classifier, X, s, sample_weight, candidates, rng)
            best = 0 if self.criterion_ is None else int(np.argmax(self.criterion_))
            self.weight_ = float(candidates[best])
        ratio, everyone = self.weight_, np.arange(len(s))

        def fit(rows: NDArray[np.intp]) -> Any:
            weights = some_weights(sample_weight, rows)
            chosen = _safe_indexing(X, rows)
            return self._fitted(classifier, chosen, target[rows], weights, ratio, rng)

        balanced = class_weights(target, ratio, sample_weight)
        self._fit_odds(fit, X, s, rng, among=everyone, expanded=(everyone, target, balanced))

    def _fitted(
        self,
        classifier: Any,
        X: Any,
        target: NDArray[np.int_],
        weights: FloatArray | None,
        ratio: float,
        rng: np.random.Generator,
    ) -> Any:
        balanced = class_weights(target, ratio, weights)
        return fitted_clone(classifier, X, target, rng, weights=balanced, caller="Weighted.fit")

    def _tried(
        self,
        classifier: Any,
        X: Any,
        s: NDArray[np.int_],
        weights: FloatArray | None,
        candidates: Sequence[float],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the criterion of every candidate, from rows that its models have not seen."""
        target = (s == 1).astype(int)
        called = np.empty((len(candidates), len(s)), bool)
        for train, test in PUStratifiedKFold(self.n_folds, random_state=rng).split(X, s):
            rows, others = _safe_indexing(X, train), _safe_indexing(X, test)
            for number, ratio in enumerate(candidates):
                model = self._fitted(
                    classifier,
                    rows,
                    target[train],
                    some_weights(weights, train),
                    float(ratio),
                    rng,
                )
                called[number, test] = margins(model, others) > 0
        population = s == 0 if self.scheme == "case-control" else np.ones(len(s), bool)
        counts = [some_weights(weights, group) for group in (s == 1, population)]
        return np.array(
            [lee_liu_criterion(each[s == 1], each[population], *counts) for each in called]
        )

    def _decide(self, X: Any) -> FloatArray:
        if self.label_knots_ is None:
            return margins(self.classifier_, X)
        return self._odds(X)

    def _decided(self, odds: FloatArray) -> FloatArray:
        return odds

    def _chances(self, X: Any) -> FloatArray:
        assert self.population_ is not None
        # As if all rows had counted alike.
        pooled = self._odds(X) + np.log(self.label_odds_ / self.weight_)
        return self.population_.posterior(pooled)
