"""Naive: unlabeled rows as negatives, and the threshold that makes up for it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from recoup._core.checks import FloatArray, Scheme
from recoup._core.constraints import Classifier, Constraints
from recoup.learners._training.population import Population
from recoup.learners._training.row_weights import some_weights
from recoup.learners.around_classifiers import (
    RescalingLearner,
    classifier_may_come_first,
    fitted_clone,
    margins,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.priors._solvers.transform import SCORES, named_or


class Naive(RescalingLearner):
    r"""Tell labeled from unlabeled rows, as if the unlabeled ones were negative.

    The scores rank rows well. But where few positives are labeled, :math:`g(x) = P(s=1 \mid x)`
    is below 1/2 for most of them, so that hardly any row is called positive. Given alpha, g is
    turned into the chance to be positive ("PvU, rescaled"):

    .. math::

       P(y=1 \mid x) = \frac{g}{c}, \quad c = \frac{n_l}{n_l + \alpha n_u}
       \qquad \text{or} \qquad
       P(y=1 \mid x) = \alpha \, \frac{n_u}{n_l} \, \frac{g}{1 - g}

    in a single sample and in a case-control design.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. None leaves g as it is, with the threshold 1/2.
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the labels clearly better than logistic regression. Given alpha, it must give
        probabilities of the rows as they are, so without class weights.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart. It decides which of the two formulas
        holds.
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
        Seed of all that is random. Also seeds the classifier, unless it has a seed of its own.

    Attributes
    ----------
    classifier_ : classifier
        Fitted on 1 for labeled and 0 for unlabeled rows.
    population_ : Population or None
        What turns its probabilities into those of being positive; None without alpha.
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

    References
    ----------
    Elkan and Noto, "Learning classifiers from only positive and unlabeled data", KDD 2008, Lemma 1.
    Garg et al., "Mixture proportion estimation and PU learning: a modern approach", NeurIPS 2021,
    have the rescaled one among their baselines.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.outer(y, [2.0, 2.0])
    >>> s = (y & (rng.random(2000) < 0.2)).astype(int)
    >>> models = [Naive(alpha).fit(X, s) for alpha in (None, 0.35)]
    >>> [round(float(np.mean(model.predict(X) == y)), 1) for model in models]
    [0.6, 0.9]
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="naive",
        family="classical",
        cost="one fit",
        source="Elkan and Noto 2008 (with alpha)",
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {"classifier": named_or(Classifier(SCORES))}

    @classifier_may_come_first
    def __init__(
        self,
        alpha: Any = None,
        *,
        classifier: Any = "logistic",
        scheme: Scheme = "single-sample",
        threshold: str | float = "own",
        probabilities: Probabilities = "calibrated",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.classifier = classifier
        self.scheme = scheme
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def _check_settings(self, caller: str) -> None:
        super()._check_settings(caller)
        if self.alpha is not None:
            named_or(Classifier()).check(self.classifier, "classifier", f"{caller} with alpha")

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        target, everyone = (s == 1).astype(int), np.arange(len(s))
        classifier = self._chosen(X, target, rng)

        def fit(rows: NDArray[np.intp]) -> Any:
            weights = some_weights(sample_weight, rows)
            return fitted_clone(
                classifier, X, target[rows], rng, rows=rows, weights=weights, caller="Naive.fit"
            )

        counting = None if sample_weight is None else (everyone, target, sample_weight)
        self._fit_odds(
            fit,
            X,
            s,
            rng,
            among=everyone,
            expanded=counting,
        )
        self.population_ = None
        if self.alpha_ is not None:
            self.population_ = Population.of(self.alpha_, s, sample_weight, self.scheme)

    def _mends(self) -> bool:
        # Without alpha there is no chance to be positive that could be right or wrong.
        return self.alpha_ is not None and super()._mends()

    def _decide(self, X: Any) -> FloatArray:
        if self.label_knots_ is None:
            return self._decided(margins(self.classifier_, X))
        return self._decided(self._odds(X))

    def _decided(self, odds: FloatArray) -> FloatArray:
        return odds - (0.0 if self.population_ is None else self.population_.border)

    def _chances(self, X: Any) -> FloatArray:
        odds = self._odds(X)
        if self.population_ is not None:
            return self.population_.posterior(odds)
        chances: FloatArray = expit(odds)
        return chances
