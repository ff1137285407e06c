"""TwoStep: find rows that are surely negative, then learn from these and the labeled ones."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, normalize
from sklearn.utils import _safe_indexing, check_array

from recoup._core.checks import FloatArray
from recoup._core.constraints import Classifier, Constraints, Number, WholeNumber, Words
from recoup.exceptions import InvalidInputError
from recoup.learners._training.row_weights import some_weights, weighted_quantile
from recoup.learners.around_classifiers import (
    ClassifierLearner,
    class_weights,
    classifier_may_come_first,
    fitted_clone,
    margins,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.priors._solvers.transform import SCORES, named_or

Mode = Literal["spy", "rocchio"]

# Weights of a prototype's own class and of the other one (Li and Liu 2003).
OWN, OTHER = 16.0, 4.0
# A last classifier that misses more of the labeled rows has gone astray (the same).
MOST_MISSED = 0.08


class TwoStep(ClassifierLearner):
    """Find unlabeled rows that are surely negative, and learn from them and the labeled rows.

    First step, with ``"spy"``: some labeled rows hide among the unlabeled ones, a classifier tells
    labeled from unlabeled rows, and unlabeled rows that score lower than nearly all spies are
    taken as negative. With ``"rocchio"``: those that lie nearer, by the angle, to the prototype
    of the unlabeled rows than to that of the labeled ones.

    Second step: a classifier of labeled rows against these. Rows left over that it calls negative
    join the negatives, and it is fitted again, until no more do. If the last classifier misses
    more than 8% of the labeled rows, the first is taken.

    Parameters
    ----------
    mode : {"spy", "rocchio"}, default="spy"
        How the first negatives are found. Spies need enough labeled rows to spare some; Rocchio
        suits texts.
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the labels clearly better than logistic regression. It serves both steps, must take
        ``sample_weight``, and needs ``predict_proba`` or ``decision_function``.
    spy_share : float, default=0.15
        Share of the labeled rows that are spies. More of them make the limit for negatives
        steadier, and leave fewer labels to the first classifier.
    noise : float, default=0.15
        Share of the spies that may score lower than a row that is taken as negative. Raise it where
        too few negatives are found.
    max_iter : int, default=20
        How often negatives may be added at most; 0 stays with the first ones.
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
        also draws the spies.

    Attributes
    ----------
    classifier_ : classifier
        That of the second step.
    reliable_negatives_ : ndarray of int
        Places among the rows that count of those that the first step found; known negatives are
        negative without it.
    n_iter_ : int
        Which classifier of the second step was taken; 1 is the first.
    alpha_ : None
        This learner uses no prior.
    prior_ : None
        This learner uses no prior.
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
    In the second step both classes count the same, since the share of positives is not known.
    What is learned has no probability: rows that are hard to tell are missing among the negatives.

    References
    ----------
    Liu, Lee, Yu and Li, "Partially supervised classification of text documents", ICML 2002 (spies).
    Li and Liu, "Learning to classify texts using positive and unlabeled data", IJCAI 2003
    (Rocchio, iteration). Here rows are first scaled, and classes weighted, as above.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.outer(y, [2.0, 2.0])
    >>> s = (y & (rng.random(2000) < 0.2)).astype(int)
    >>> models = [TwoStep(mode, random_state=0).fit(X, s) for mode in ("spy", "rocchio")]
    >>> [round(float(np.mean(model.predict(X) == y)), 1) for model in models]
    [0.9, 0.9]
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="two-step",
        family="classical",
        cost="a few fits",
        source="Liu et al. 2002; Li and Liu 2003",
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "mode": Words(*get_args(Mode)),
        "classifier": named_or(Classifier(SCORES)),
        "spy_share": Number(
            above=0, below=1, why="it is a share of rows", hint="Pass 0.15 for 15%."
        ),
        "noise": Number(above=0, below=1, why="it is a share of rows", hint="Pass 0.15 for 15%."),
        "max_iter": WholeNumber(0),
    }

    @classifier_may_come_first
    def __init__(
        self,
        mode: Mode = "spy",
        *,
        classifier: Any = "logistic",
        spy_share: float = 0.15,
        noise: float = 0.15,
        max_iter: int = 20,
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.mode = mode
        self.classifier = classifier
        self.spy_share = spy_share
        self.noise = noise
        self.max_iter = max_iter
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
        weights, target = sample_weight, (s == 1).astype(int)
        classifier = self._chosen(X, target, rng)
        if self.mode == "spy":
            surely_negative = self._outscored_by_spies(classifier, X, target, weights, rng)
        else:
            surely_negative = nearer_to_unlabeled(X, target, weights)
        negative = surely_negative & (s == 0)
        self.reliable_negatives_ = np.flatnonzero(negative)
        negative = negative | (s == -1)
        if not negative.any():
            raise InvalidInputError(
                f"TwoStep.fit found no unlabeled row that is surely negative: labeled and "
                f"unlabeled rows look alike to mode={self.mode!r}. Use the other mode, or for "
                f"'spy' a higher noise than {self.noise:g}."
            )
        first = model = self._second_step(classifier, X, target, weights, negative, rng)
        self.n_iter_ = 1
        while True:
            called_negative = margins(model, X) <= 0
            added = called_negative & (s == 0) & ~negative
            if not added.any() or self.n_iter_ > self.max_iter:
                break
            negative = negative | added
            model = self._second_step(classifier, X, target, weights, negative, rng)
            self.n_iter_ += 1
        self.classifier_ = model
        labeled = s == 1
        missed = np.average(called_negative[labeled], weights=some_weights(weights, labeled))
        if missed > MOST_MISSED:
            self.classifier_, self.n_iter_ = first, 1

    def _outscored_by_spies(
        self,
        classifier: Any,
        X: Any,
        target: NDArray[np.int_],
        weights: FloatArray | None,
        rng: np.random.Generator,
    ) -> NDArray[np.bool_]:
        labeled = np.flatnonzero(target == 1)
        if len(labeled) < 2:
            raise InvalidInputError(
                "TwoStep.fit needs two labeled rows at least: one is a spy, the others teach. "
                "Got 1. Use mode='rocchio'."
            )
        n_spies = min(max(round(float(self.spy_share) * len(labeled)), 1), len(labeled) - 1)
        spies = rng.choice(labeled, n_spies, replace=False)
        hiding = target.copy()
        hiding[spies] = 0
        model = fitted_clone(classifier, X, hiding, rng, weights=weights, caller="TwoStep.fit")
        scores = margins(model, X)
        limit = weighted_quantile(scores[spies], float(self.noise), some_weights(weights, spies))
        below: NDArray[np.bool_] = scores < limit
        return below

    def _second_step(
        self,
        classifier: Any,
        X: Any,
        target: NDArray[np.int_],
        weights: FloatArray | None,
        negative: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> Any:
        rows = np.flatnonzero((target == 1) | negative)
        return fitted_clone(
            classifier,
            X,
            target[rows],
            rng,
            rows=rows,
            weights=class_weights(target[rows], 1.0, some_weights(weights, rows)),
            caller="TwoStep.fit",
        )

    def _decide(self, X: Any) -> FloatArray:
        return margins(self.classifier_, X)


def nearer_to_unlabeled(
    X: Any, s: NDArray[np.int_], weights: FloatArray | None = None
) -> NDArray[np.bool_]:
    """Tell which rows have a smaller angle to Rocchio's prototype of those without a label."""
    rows = check_array(X, accept_sparse="csr", dtype=np.float64)
    if hasattr(rows, "tocsr"):
        scaled = MaxAbsScaler().fit_transform(rows)
    else:
        scaled = StandardScaler().fit(rows, sample_weight=weights).transform(rows)
    directions = normalize(scaled)
    labeled, unlabeled = (
        _mean_row(directions, np.flatnonzero(s == kind), weights) for kind in (1, 0)
    )
    prototypes = np.column_stack(
        [OWN * labeled - OTHER * unlabeled, OWN * unlabeled - OTHER * labeled]
    )
    nearness = np.asarray(directions @ normalize(prototypes, axis=0))
    nearer: NDArray[np.bool_] = nearness[:, 1] > nearness[:, 0]
    return nearer


def _mean_row(rows: Any, places: NDArray[np.intp], weights: FloatArray | None) -> FloatArray:
    """Return the mean of some rows, by their weights if they have any."""
    some = _safe_indexing(rows, places)
    if weights is None:
        return np.asarray(some.mean(axis=0)).ravel()
    count = weights[places]
    mean: FloatArray = np.asarray(some.T @ count).ravel() / count.sum()
    return mean
