"""Oracle: what could be learned if every class were known."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import _safe_indexing

from recoup._core.checks import FloatArray, Scheme, as_numbers
from recoup._core.constraints import Classifier, Constraints, Nothing, Number
from recoup.exceptions import InvalidInputError
from recoup.learners._training.population import prior_shift
from recoup.learners._training.row_weights import some_weights
from recoup.learners.around_classifiers import ClassifierLearner, fitted_clone, logits, margins
from recoup.learners.base import Guard, LearnerTags, Probabilities
from recoup.learners.given_rows import labels_by_name
from recoup.priors._solvers.transform import SCORES, named_or


class Oracle(ClassifierLearner):
    """A supervised classifier of the true classes: the ceiling to read PU learners against.

    It takes the true classes by name, ``fit(X, s, y_true=...)``, which only a simulation has, and
    has no place in a ranking of learners that do without. Only rows of the population teach it:
    all rows of a single sample, the unlabeled ones of a case-control design. There, labeled rows
    are a second sample of positives and would raise their share.

    Parameters
    ----------
    classifier : {"logistic", "auto", "boosting", "forest"} or classifier, default="logistic"
        A classifier as in scikit-learn, or the name of one. ``"auto"`` takes boosting where it
        tells the classes clearly better than logistic regression. It needs ``predict_proba`` or
        ``decision_function``.
    pi : float or None, default=None
        Share of positives where performance is judged, if it is not that of the training rows.
        Logits are then shifted accordingly. None takes the training rows as they are.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart. It decides which rows teach the
        classifier.
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
        Seed of all that is random. Also seeds the classifier, unless it has a seed of its own.

    Attributes
    ----------
    classifier_ : classifier
        Fitted on the true classes.
    shift_ : float
        What is added to its logits.
    alpha_ : None
        A supervised learner needs no prior.
    prior_ : None
        A supervised learner needs no prior.
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

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(1000) < 0.4).astype(int)
    >>> X = rng.normal(size=(1000, 2)) + np.outer(y, [2.0, 2.0])
    >>> s = np.where(rng.random(1000) < 0.2, y, 0)
    >>> round(float(np.mean(Oracle().fit(X, s, y_true=y).predict(X) == y)), 1)
    0.9
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="oracle",
        family="reference",
        cost="one fit",
        source="supervised learning",
        selection="SAR",
        requires_true_labels=True,
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {
        "classifier": named_or(Classifier(SCORES)),
        "pi": Number(above=0, below=1, why="it is a share of positives") | Nothing(),
    }

    def __init__(
        self,
        classifier: Any = "logistic",
        *,
        pi: float | None = None,
        scheme: Scheme = "single-sample",
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        self.classifier = classifier
        self.pi = pi
        self.scheme = scheme
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
        y: ArrayLike | None = None,
    ) -> Self:
        """Learn from the true classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, n_features)
            What the classifier takes.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative: in a case-control design the
            unlabeled rows are the population.
        sample_weight : array-like of shape (n,), optional
            How much each row counts, as in the other learners.
        y_true : array-like of shape (n,), default=None
            The class of each row, 1 or 0. It has a default so that scikit-learn can call ``fit``
            with X and s, but None is refused.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it. Not the true classes.

        Returns
        -------
        Oracle
            Itself.
        """
        classes = checked_classes(y_true, "Oracle.fit")
        labels = labels_by_name(s, y, self)
        return self._fit_rows(X, labels, sample_weight=sample_weight, y_true=classes)

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        y_true: NDArray[np.int_] | None = None,
        sample_weight: FloatArray | None = None,
    ) -> None:
        assert y_true is not None
        population = np.arange(len(s)) if self.scheme == "single-sample" else np.flatnonzero(s == 0)
        classes = y_true[population]
        weights = some_weights(sample_weight, population)
        share = float(np.average(classes, weights=weights))
        if share in (0.0, 1.0):
            raise InvalidInputError(
                f"Oracle.fit needs rows of both classes in the population. Got {len(classes):,} "
                f"rows, all of class {classes[0]}. Check y_true, and scheme={self.scheme!r}."
            )
        self.shift_ = 0.0 if self.pi is None else prior_shift(share, float(self.pi))
        rows = _safe_indexing(X, population)
        classifier = self._chosen(rows, classes, rng)
        self.classifier_ = fitted_clone(
            classifier, rows, classes, rng, weights=weights, caller="Oracle.fit"
        )

    def _decide(self, X: Any) -> FloatArray:
        return margins(self.classifier_, X) + self.shift_

    def _chances(self, X: Any) -> FloatArray:
        chances: FloatArray = expit(logits(self.classifier_, X) + self.shift_)
        return chances


def checked_classes(y_true: ArrayLike | None, caller: str) -> NDArray[np.int_]:
    """Return true classes as 0 and 1, or say that only they will do."""
    if y_true is None:
        raise InvalidInputError(
            f"{caller} needs y_true, the true class of each row: it is a supervised reference, "
            f"not a PU learner. Got None. Pass fit(X, s, y_true=...), or use another learner where "
            f"classes are not known."
        )
    classes = as_numbers(y_true, "y_true", caller)
    strange = ~np.isin(classes, (0, 1))
    if strange.any():
        raise InvalidInputError(
            f"{caller} needs y_true to be 1 (positive) or 0 (negative). "
            f"Got {classes[strange][0]:g}. Map your classes to these values first."
        )
    return classes.astype(int)
