"""BaggingPU: labeled rows against many small samples of the unlabeled ones."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from recoup._core.checks import FloatArray
from recoup._core.constraints import N_JOBS, Classifier, Constraints, Nothing, WholeNumber
from recoup.learners._training.row_weights import counted, some_weights, weighted_quantile
from recoup.learners.around_classifiers import (
    ClassifierLearner,
    classifier_may_come_first,
    fitted_clone,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.learners.cut import HonestScores
from recoup.priors._solvers.transform import SCORES, named_or


def _scores(model: Any, X: Any) -> FloatArray:
    """Return probabilities less 1/2, or a decision function: above zero for the first class."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), float)[:, 1] - 0.5
    return np.asarray(model.decision_function(X), float)


def _drawn(
    rng: np.random.Generator, weights: FloatArray | None, n: int, size: int
) -> NDArray[np.intp]:
    """Draw places of rows with replacement, in proportion to their weights if they have any."""
    if weights is None:
        return rng.integers(n, size=size)
    return rng.choice(n, size=size, p=weights / weights.sum())


class BaggingPU(ClassifierLearner):
    """Average many classifiers of labeled rows against a few unlabeled ones, drawn at random.

    A small sample of the unlabeled rows holds a few positives more or less than their share. The
    classifiers differ accordingly, and their average is more stable than one of them. Each
    unlabeled row is scored by the classifiers whose sample it was not in.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. This share of the unlabeled rows is then called positive, by their out-of-bag
        scores. None takes the middle between the two classes as the classifiers saw them.
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the labels clearly better than logistic regression. It needs ``predict_proba`` or
        ``decision_function``; with a support vector machine this is the published method.
    n_estimators : int, default=100
        Number of classifiers. More of them make scores steadier and take longer.
    n_drawn : int or None, default=None
        Unlabeled rows that each classifier sees, drawn with replacement. None takes as many as
        there are labeled rows; fewer make the classifiers differ more.
    n_jobs : int or None, default=None
        Fits at the same time, as in scikit-learn. The scores do not depend on it.
    threshold : {"own", "alpha", "f1"} or float, default="own"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
    probabilities : {"own", "calibrated"}, default="own"
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
        also draws the rows.

    Attributes
    ----------
    classifiers_ : list of classifier
        Their average scores new rows.
    unlabeled_oob_scores_ : ndarray of shape (n_unlabeled,)
        Decision function of the unlabeled rows, in their order, by classifiers that did not see
        them as negative; by all of them for a row that was in every sample.
    threshold_ : float
        What was subtracted to make zero the border.
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
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
    Scores are for ranking, and no probabilities. Every classifier has seen all labeled rows, so
    there are no out-of-bag scores for those.

    References
    ----------
    Mordelet and Vert, "A bagging SVM to learn from positive and unlabeled examples", Pattern
    Recognition Letters, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> X = rng.normal(size=(1000, 2)) + np.outer(y, [2.0, 2.0])
    >>> s = (y & (rng.random(1000) < 0.2)).astype(int)
    >>> model = BaggingPU(n_estimators=20, random_state=0).fit(X, s)
    >>> round(float(np.mean(model.predict(X) == y)), 1)
    0.9
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="bagging-pu",
        family="classical",
        cost="many small fits",
        source="Mordelet and Vert 2014",
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "classifier": named_or(Classifier(SCORES)),
        "n_estimators": WholeNumber(),
        "n_drawn": WholeNumber() | Nothing(),
        "n_jobs": N_JOBS,
    }

    @classifier_may_come_first
    def __init__(
        self,
        alpha: Any = None,
        *,
        classifier: Any = "logistic",
        n_estimators: int = 100,
        n_drawn: int | None = None,
        n_jobs: int | None = None,
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.alpha = alpha
        self.classifier = classifier
        self.n_estimators = n_estimators
        self.n_drawn = n_drawn
        self.n_jobs = n_jobs
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def _gives_chances(self) -> bool:
        return False

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        from joblib import Parallel, delayed

        classifier = self._chosen(X, (s == 1).astype(int), rng)
        labeled, others = np.flatnonzero(s == 1), np.flatnonzero(s != 1)
        counts = counted(s, sample_weight)
        size = round(counts.labeled) if self.n_drawn is None else int(self.n_drawn)
        draws = [
            _drawn(rng, some_weights(sample_weight, others), len(others), max(size, 1))
            for _ in range(self.n_estimators)
        ]
        target = np.repeat([1, 0], [len(labeled), len(draws[0])])
        weights = None
        if sample_weight is not None:
            # The others count by how often they are drawn.
            weights = np.append(sample_weight[labeled], np.ones(len(draws[0])))
        self.classifiers_ = Parallel(n_jobs=self.n_jobs)(
            delayed(fitted_clone)(
                classifier,
                X,
                target,
                stream,
                rows=np.concatenate([labeled, others[drawn]]),
                weights=weights,
                caller="BaggingPU.fit",
            )
            for drawn, stream in zip(draws, rng.spawn(len(draws)), strict=True)
        )

        unlabeled = s[others] == 0
        rows = _safe_indexing(X, others[unlabeled])
        scores = np.array([_scores(model, rows) for model in self.classifiers_])
        outside = np.ones((len(draws), len(others)), bool)
        for number, drawn in enumerate(draws):
            outside[number, drawn] = False
        outside = outside[:, unlabeled]
        # A row that every classifier has seen has only the average over all of them.
        outside[:, ~outside.any(axis=0)] = True
        out_of_bag = (scores * outside).sum(axis=0) / outside.sum(axis=0)
        self.threshold_ = 0.0
        if self.alpha_ is not None:
            self.threshold_ = weighted_quantile(
                out_of_bag, 1 - self.alpha_, some_weights(sample_weight, others[unlabeled])
            )
        self.unlabeled_oob_scores_ = out_of_bag - self.threshold_

    def _own_honest_scores(self, s: NDArray[np.int_]) -> HonestScores | None:
        scores = self.unlabeled_oob_scores_
        return HonestScores(np.zeros(len(scores), int), scores, "out-of-bag")

    def _decide(self, X: Any) -> FloatArray:
        scores = np.array([_scores(model, X) for model in self.classifiers_])
        average: FloatArray = scores.mean(axis=0) - self.threshold_
        return average
