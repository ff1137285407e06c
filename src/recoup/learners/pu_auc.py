"""PUAUC and PUAUL: kernel scores that rank labeled rows above the others, in closed form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import validate_data

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Flag, Nothing, Number, Several, WholeNumber, Words
from recoup.exceptions import InvalidInputError
from recoup.learners._training.bases import (
    GaussianBasis,
    LinearBasis,
    Moments,
    median_distance,
    moments,
    weighted_sums,
)
from recoup.learners._training.row_weights import (
    counted,
    rows_below,
    some_weights,
    weighted_quantile,
)
from recoup.learners.base import Guard, LearnerTags, Probabilities, PULearner
from recoup.scores.folds import PUStratifiedKFold, bundle_rows

Kernel = Literal["gaussian", "linear", "auto"]

WIDTHS = (1 / 8, 1 / 4, 1 / 2, 1.0, 3 / 2, 2.0)
RIDGES = tuple(np.logspace(-3, 1, 10).tolist())
# One more on either side, for when the best of the others is the first or the last.
OUTER_RIDGES = (1e-4, 1e2)
N_BASIS, N_BASIS_LARGE, LARGE = 200, 500, 20_000
MAX_GAUSSIAN_FEATURES = 1000
MAX_DIRECTIONS = 1000
# With fewer labels a fold holds only a handful, and one split is mostly chance.
FEW_LABELED, N_REPEATS = 25, 5


def pair_matrix(first: Moments, second: Moments) -> FloatArray:
    """Mean of the outer products of all differences between the vectors of two sets."""
    cross = np.outer(first.mean, second.mean)
    matrix: FloatArray = first.outer / first.n + second.outer / second.n - cross - cross.T
    return matrix


def aul_system(labeled: Moments, unlabeled: Moments) -> tuple[FloatArray, FloatArray]:
    """Matrix and right side of the normal equations that rank labeled rows above all rows."""
    everything = labeled + unlabeled
    return pair_matrix(labeled, everything), labeled.mean - everything.mean


def auc_system(
    labeled: Moments, unlabeled: Moments, alpha: float, *, self_pairs: bool
) -> tuple[FloatArray, FloatArray]:
    """Matrix and right side of the normal equations that rank labeled rows above negatives."""
    within = pair_matrix(labeled, labeled)
    if not self_pairs:
        within *= labeled.n / (labeled.n - 1) if labeled.n > 1 else 0.0
    matrix = (pair_matrix(labeled, unlabeled) - alpha * within) / (1 - alpha)
    return matrix, (labeled.mean - unlabeled.mean) / (1 - alpha)


def ridge_solutions(matrix: FloatArray, target: FloatArray, ridges: ArrayLike) -> FloatArray:
    """Solve for every ridge at once, one column each.

    Eigenvalues below zero, which are noise, count as zero.
    """
    values, vectors = np.linalg.eigh(matrix)
    damped = np.maximum(values, 0.0)[:, None] + np.asarray(ridges, float)
    solutions: FloatArray = vectors @ ((vectors.T @ target)[:, None] / damped)
    return solutions


def aul_pu(
    labeled: NDArray[np.bool_], scores: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Share of all rows that labeled rows are ranked above, for each column of scores."""
    from scipy.stats import rankdata

    if weights is not None:
        columns = [rows_below(column, weights) for column in scores.T]
        total = weights[labeled].sum() * weights.sum()
        sums = np.array([weights[labeled] @ below[labeled] for below in columns])
        return np.asarray(sums / total, float)
    ranks = rankdata(scores, axis=0)
    areas: FloatArray = (ranks[labeled].mean(axis=0) - 0.5) / len(scores)
    return areas


ABOVE_ZERO = Several(
    Number(above=0), why="copies of a row leave equations without one solution otherwise"
)


class KernelRanker(PULearner):
    """What the two rankers share: all but the normal equations."""

    constraints: ClassVar[Constraints] = {
        "kernel": Words(*get_args(Kernel)),
        "n_basis": WholeNumber() | Words("auto"),
        "widths": ABOVE_ZERO,
        "ridges": ABOVE_ZERO | Nothing(),
        "n_folds": WholeNumber(2),
    }

    def __init__(
        self,
        alpha: Any,
        *,
        kernel: Kernel,
        n_basis: int | Literal["auto"],
        widths: Sequence[float],
        ridges: Sequence[float] | None,
        n_folds: int,
        threshold: str | float,
        probabilities: Probabilities,
        guard: Guard,
        random_state: int | np.random.Generator | np.random.RandomState | None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.n_basis = n_basis
        self.widths = widths
        self.ridges = ridges
        self.n_folds = n_folds
        self.threshold = threshold
        self.probabilities = probabilities
        self.guard = guard
        self.random_state = random_state

    def predict(self, X: Any) -> NDArray[np.int_]:
        """Predict 1 for rows with scores that only a share alpha of the unlabeled rows exceeds.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            The rows to classify, with the features of the training rows.

        Returns
        -------
        ndarray of shape (n,)
            1 positive, 0 negative.

        Raises
        ------
        InvalidInputError
            If alpha is None: a ranking alone does not say where the positives end.
        """
        scores = self.decision_function(X)
        if self.alpha_ is None and isinstance(self.threshold, str):
            name = type(self).__name__
            raise InvalidInputError(
                f"{name}.predict needs alpha, the share of positives among the unlabeled rows: a "
                f"ranking alone does not say where the positives end. Got alpha=None. Fit "
                f"{name}(alpha='estimate') or pass a number for alpha; decision_function and "
                f"score need none."
            )
        return (scores > 0).astype(int)

    @abstractmethod
    def _system(
        self, labeled: Moments, others: Moments, share: float | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the matrix and the right side of the normal equations, without the ridge.

        ``share`` is that of positives among the others, if alpha is known.
        """

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
    ) -> None:
        weights = sample_weight
        self.scaler_ = StandardScaler(with_mean=not hasattr(X, "tocsr"))
        self.scaler_.fit(X, sample_weight=weights)
        rows = self.scaler_.transform(X)
        labeled, counts = s == 1, counted(s, weights)
        share = self.alpha_
        if share is not None and counts.negative:
            # Known negatives join the unlabeled rows, which then have fewer positives.
            share *= counts.unlabeled / counts.others
        bases = self._bases(rows, rng)
        ridges = np.array(self._all_ridges())
        self.validation_aul_ = np.full((len(bases), len(ridges)), np.nan)
        chosen = 0, 0
        if self.validation_aul_.size > 1:
            self.validation_aul_ = self._validated(rows, labeled, weights, share, bases, rng)
            chosen = best_candidate(self.validation_aul_, n_outer=1 if self.ridges is None else 0)
        self.basis_ = bases[chosen[0]]
        self.width_ = getattr(self.basis_, "width", None)
        self.ridge_ = float(ridges[chosen[1]])
        mine, others = (
            moments(rows[kind], self.basis_, some_weights(weights, kind))
            for kind in (labeled, ~labeled)
        )
        self.coef_ = ridge_solutions(*self._system(mine, others, share), [self.ridge_])[:, 0]
        self.threshold_ = 0.0
        if self.alpha_ is not None:
            scores = weighted_sums(rows[s == 0], self.basis_, self.coef_[:, None])[:, 0]
            unlabeled_weights = some_weights(weights, s == 0)
            self.threshold_ = weighted_quantile(scores, 1 - self.alpha_, unlabeled_weights)

    def _decide(self, X: Any) -> FloatArray:
        rows = self.scaler_.transform(X)
        return weighted_sums(rows, self.basis_, self.coef_[:, None])[:, 0] - self.threshold_

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that rows may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "gaussian"
        return tags

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        self._check_unmasked(X, reset)
        if hasattr(X, "tocsr") and self.kernel == "gaussian":
            raise InvalidInputError(
                f"{type(self).__name__} takes sparse rows with kernel='linear' or 'auto': a "
                f"Gaussian kernel has no use for zeros. Got {type(X).__name__} and "
                f"kernel='gaussian'. Pass X.toarray() if it fits into memory."
            )
        # Where training rows were centered, sparse ones cannot be.
        taken = "csr" if reset or not self.scaler_.with_mean else False
        return validate_data(self, X, dtype=np.float64, accept_sparse=taken, reset=reset)

    def _all_ridges(self) -> tuple[float, ...]:
        if self.ridges is not None:
            return tuple(sorted(self.ridges))
        return (OUTER_RIDGES[0], *RIDGES, OUTER_RIDGES[1])

    def _bases(self, rows: Any, rng: np.random.Generator) -> list[Any]:
        """Return the bases to choose from, the widest last."""
        n, d = rows.shape
        sparse = hasattr(rows, "tocsr")
        linear = self.kernel == "linear"
        if self.kernel == "auto":
            linear = sparse or d > MAX_GAUSSIAN_FEATURES
        if linear:
            if d <= MAX_DIRECTIONS:
                return [LinearBasis(np.eye(d))]
            # The best weights lie in the span of the rows; some of them span enough of it.
            some = rows[rng.choice(n, min(MAX_DIRECTIONS, n), replace=False)]
            return [LinearBasis(np.linalg.qr((some.toarray() if sparse else some).T)[0])]
        n_basis = self.n_basis
        if n_basis == "auto":
            n_basis = N_BASIS if n <= LARGE else N_BASIS_LARGE
        centers = rows[rng.choice(n, min(int(n_basis), n), replace=False)]
        scale = median_distance(rows, rng)
        return [GaussianBasis(centers, scale * float(width)) for width in sorted(self.widths)]

    def _validated(
        self,
        rows: Any,
        labeled: NDArray[np.bool_],
        weights: FloatArray | None,
        share: float | None,
        bases: list[Any],
        rng: np.random.Generator,
    ) -> FloatArray:
        """Return the mean AUL on held-out rows of every basis with every ridge."""
        n_folds = self._possible_folds(rows, labeled)
        repeats = N_REPEATS if labeled.sum() < FEW_LABELED else 1
        splits = [
            [test for _, test in PUStratifiedKFold(n_folds, random_state=rng).split(rows, labeled)]
            for _ in range(repeats)
        ]
        found = np.empty((len(bases), len(self._all_ridges())))
        for number, basis in enumerate(bases):
            areas = [
                area
                for folds in splits
                for area in self._areas(rows, labeled, weights, share, basis, folds)
            ]
            found[number] = np.mean(areas, axis=0)
        return found

    def _areas(
        self,
        rows: Any,
        labeled: NDArray[np.bool_],
        weights: FloatArray | None,
        share: float | None,
        basis: Any,
        folds: list[NDArray[np.intp]],
    ) -> Iterator[FloatArray]:
        """Yield for each fold the AUL of every ridge, from models of the other folds."""
        ridges = self._all_ridges()

        def summed(places: NDArray[np.intp]) -> Moments:
            return moments(rows[places], basis, some_weights(weights, places))

        parts = [[summed(fold[kind[fold]]) for kind in (labeled, ~labeled)] for fold in folds]
        for number, fold in enumerate(folds):
            others = [part for other, part in enumerate(parts) if other != number]
            # Adding the other folds up is exact where subtracting this one would cancel.
            first, second = (_sum(kind) for kind in zip(*others, strict=True))
            solutions = ridge_solutions(*self._system(first, second, share), ridges)
            scores = weighted_sums(rows[fold], basis, solutions)
            yield aul_pu(labeled[fold], scores, some_weights(weights, fold))

    def _possible_folds(self, rows: Any, labeled: NDArray[np.bool_]) -> int:
        copies = bundle_rows(rows, None, len(labeled), type(self).__name__)
        different = [len(np.unique(copies[kind])) for kind in (labeled, ~labeled)]
        if min(different) < 2:
            raise InvalidInputError(
                f"{type(self).__name__}.fit needs two different labeled and two different "
                f"unlabeled rows to choose width and ridge on held-out ones. Got {different[0]:,} "
                f"and {different[1]:,} in {len(labeled):,} samples, copies of a row counted once. "
                f"Pass one of widths and one of ridges to choose nothing."
            )
        return min(int(self.n_folds), *different)


class PUAUL(KernelRanker):
    r"""Rank labeled rows above all rows: the lift curve's area, maximized without a prior.

    The squared loss over all pairs of a labeled row and any row has the normal equations

    .. math:: (H_{LA} + \lambda I)\, w = \mu_L - \mu_A

    with :math:`A` all rows, :math:`\mu` mean features and :math:`H_{LA}` the mean outer product
    of feature differences. In the population this is the maximization of AUC with an extra
    penalty on the scatter among positives.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. Only ``predict`` needs it; the ranking does not change.
    kernel : {"gaussian", "linear", "auto"}, default="auto"
        What rows are compared by. ``"auto"`` is Gaussian up to 1000 features, and linear beyond
        and for sparse rows.
    n_basis : int or "auto", default="auto"
        Number b of centres of the Gaussian kernel, drawn from the rows. ``"auto"`` takes 200, as
        published, or 500 above 20,000 rows. Time grows with its square.
    widths : sequence of float, default=(0.125, 0.25, 0.5, 1.0, 1.5, 2.0)
        Kernel widths to choose from, in multiples of the median distance between rows. These are
        the published values.
    ridges : sequence of float or None, default=None
        Values of :math:`\lambda` to choose from. None takes the ten published ones from 0.001 to
        10, and one more beyond either end if that is where the best one lies.
    n_folds : int, default=5
        Folds in which width and ridge are chosen by AUL. With fewer than 25 labeled rows the mean
        over five splits counts.
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
        Seed of all that is random. It decides centres and folds; an integer makes every fit the
        same.

    Attributes
    ----------
    coef_ : ndarray of shape (n_basis,)
        The weights w.
    basis_ : GaussianBasis or LinearBasis
        What turns rows into features, with the width that was chosen.
    scaler_ : StandardScaler
        Fitted on the training rows.
    width_ : float or None
        The width that was chosen; None for the linear kernel.
    ridge_ : float
        The :math:`\lambda` that was chosen.
    validation_aul_ : ndarray of shape (n_widths, n_ridges)
        Mean AUL on held-out rows, for ascending widths and ridges.
    threshold_ : float
        What was taken from the scores so that zero is the border; 0 without alpha.
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
    ``decision_function`` gives rankings: there is no ``predict_proba``. With alpha its zero lies
    where a share alpha of the unlabeled training rows is above it.

    Known negatives are some of the rows that labeled ones are ranked above.

    Time is of order :math:`n b^2` for each width, and memory beyond the rows of order
    :math:`b^2`, with b basis functions: rows are taken in blocks.

    References
    ----------
    "AUL is a better optimization metric in PU learning", section 5, which names the method but
    gives no equations. T. Sakai, G. Niu and M. Sugiyama, "Semi-supervised AUC optimization based
    on positive-unlabeled learning", Machine Learning 107, 2018, for the model and its choice.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.8, 0, y)
    >>> model = PUAUL(random_state=0).fit(X, s)
    >>> round(roc_auc_score(y, model.decision_function(X)), 2)
    0.99
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pu-aul",
        family="ranking",
        cost="n b^2 per width, b basis functions",
        source="AUL is a better optimization metric in PU learning, section 5",
        takes_weight=True,
        uses_negatives=True,
    )

    def __init__(
        self,
        alpha: Any = None,
        *,
        kernel: Kernel = "auto",
        n_basis: int | Literal["auto"] = "auto",
        widths: Sequence[float] = WIDTHS,
        ridges: Sequence[float] | None = None,
        n_folds: int = 5,
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            alpha,
            kernel=kernel,
            n_basis=n_basis,
            widths=widths,
            ridges=ridges,
            n_folds=n_folds,
            threshold=threshold,
            probabilities=probabilities,
            guard=guard,
            random_state=random_state,
        )

    def _system(
        self, labeled: Moments, others: Moments, share: float | None
    ) -> tuple[FloatArray, FloatArray]:
        return aul_system(labeled, others)


class PUAUC(KernelRanker):
    r"""Rank labeled rows above negatives, whose pairs follow from those with unlabeled rows.

    Unlabeled rows are positives with share :math:`\alpha`, so that the pairs of labeled rows and
    negatives are those with unlabeled rows less those among positives:

    .. math::

        \Big(\frac{H_{LU} - \alpha H_{LL}}{1 - \alpha} + \lambda I\Big) w
        = \frac{\mu_L - \mu_U}{1 - \alpha}

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``.
    self_pairs : bool, default=False
        Whether the pairs of each labeled row with itself count in :math:`H_{LL}`, as in the
        authors' code. Without them the estimate is unbiased.
    kernel : {"gaussian", "linear", "auto"}, default="auto"
        What rows are compared by. ``"auto"`` is Gaussian up to 1000 features, and linear beyond
        and for sparse rows.
    n_basis : int or "auto", default="auto"
        Number b of centres of the Gaussian kernel, drawn from the rows. ``"auto"`` takes 200, as
        published, or 500 above 20,000 rows. Time grows with its square.
    widths : sequence of float, default=(0.125, 0.25, 0.5, 1.0, 1.5, 2.0)
        Kernel widths to choose from, in multiples of the median distance between rows. These are
        the published values.
    ridges : sequence of float or None, default=None
        Values of :math:`\lambda` to choose from. None takes the ten published ones from 0.001 to
        10, and one more beyond either end if that is where the best one lies.
    n_folds : int, default=5
        Folds in which width and ridge are chosen by AUL. With fewer than 25 labeled rows the mean
        over five splits counts.
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
        Seed of all that is random. It decides centres and folds; an integer makes every fit the
        same.

    Attributes
    ----------
    coef_ : ndarray of shape (n_basis,)
        The weights w.
    basis_ : GaussianBasis or LinearBasis
        What turns rows into features, with the width that was chosen.
    scaler_ : StandardScaler
        Fitted on the training rows.
    width_ : float or None
        The width that was chosen; None for the linear kernel.
    ridge_ : float
        The :math:`\lambda` that was chosen.
    validation_aul_ : ndarray of shape (n_widths, n_ridges)
        Mean AUL on held-out rows, for ascending widths and ridges.
    threshold_ : float
        What was taken from the scores so that zero is the border; 0 without alpha.
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
    Known negatives join the unlabeled rows, whose share of positives falls accordingly: pairs with
    them count as those with negatives among the unlabeled rows do.

    The matrix is a difference, and with few rows it may have negative eigenvalues, by which the
    scores would run wild; they are set to zero, where the authors' code solves as it is.

    References
    ----------
    T. Sakai, G. Niu and M. Sugiyama, "Semi-supervised AUC optimization based on
    positive-unlabeled learning", Machine Learning 107, 2018, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import accuracy_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.8, 0, y)
    >>> model = PUAUC(alpha=0.57, random_state=0).fit(X, s)
    >>> round(accuracy_score(y, model.predict(X)), 2)
    0.92
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pu-auc",
        family="ranking",
        cost="n b^2 per width, b basis functions",
        source="Sakai et al. 2018, section 3",
        needs_alpha=True,
        takes_weight=True,
        uses_negatives=True,
    )
    constraints: ClassVar[Constraints] = {"self_pairs": Flag()}
    alpha_: float

    def __init__(
        self,
        alpha: Any = "estimate",
        *,
        self_pairs: bool = False,
        kernel: Kernel = "auto",
        n_basis: int | Literal["auto"] = "auto",
        widths: Sequence[float] = WIDTHS,
        ridges: Sequence[float] | None = None,
        n_folds: int = 5,
        threshold: str | float = "own",
        probabilities: Probabilities = "own",
        guard: Guard = "retry",
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            alpha,
            kernel=kernel,
            n_basis=n_basis,
            widths=widths,
            ridges=ridges,
            n_folds=n_folds,
            threshold=threshold,
            probabilities=probabilities,
            guard=guard,
            random_state=random_state,
        )
        self.self_pairs = self_pairs

    def _system(
        self, labeled: Moments, others: Moments, share: float | None
    ) -> tuple[FloatArray, FloatArray]:
        assert share is not None
        return auc_system(labeled, others, share, self_pairs=self.self_pairs)


def best_candidate(areas: FloatArray, n_outer: int) -> tuple[int, int]:
    """Return the row and column of the highest area; of equals, the largest ridge and width.

    The ``n_outer`` columns on either side count only if the best inner one is next to them.
    """
    first, last = n_outer, areas.shape[1] - n_outer
    _, column = _highest(areas, first, last)
    if column == first:
        first = 0
    if column == last - 1:
        last = areas.shape[1]
    return _highest(areas, first, last)


def _highest(areas: FloatArray, first: int, last: int) -> tuple[int, int]:
    # Means of the same areas, in the last digits apart, are equal.
    flipped = np.round(areas[:, first:last], 12).T[::-1, ::-1]
    column, row = np.unravel_index(np.argmax(flipped), flipped.shape)
    return len(areas) - 1 - int(row), last - 1 - int(column)


def _sum(parts: Sequence[Moments]) -> Moments:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
