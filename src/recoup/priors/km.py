"""KM1 and KM2: kernel means of the labeled and the unlabeled rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Flag, Nothing, Number, WholeNumber, Words
from recoup._core.notes import Note
from recoup.priors._solvers.kernel import best_width, centered, low_rank_factor
from recoup.priors._solvers.simplex_qp import Nearest, nearest_in_hull
from recoup.priors.base import (
    FeaturePriorEstimator,
    Finding,
    PriorTags,
    _shrink,
    check_sizes,
    checked_table,
    constant_scores_error,
    plausible,
    subsample_sizes,
)
from recoup.priors.results import PriorCurve, PriorEstimate
from recoup.scores.table import ScoreTable

# Draws vary far more than this changes them.
DRAW_RESIDUAL, DRAW_RANK = 1e-4, 100
MAX_SCORES = 2000

FIRST_STEP, STEP, RESOLUTION = 0.05, 0.02, 0.04
PUBLISHED_MAX_LAMBDA = 8.0
# Beyond that, lambdas grow by this factor from one to the next.
GROWTH = 1.01
# The error of the slope is about the square root of this, relative to its limit.
TRUSTED_GAP = 1e-4


@dataclass(kw_only=True, eq=False, repr=False)
class _KM(FeaturePriorEstimator):
    """What KM1 and KM2 share: everything but the threshold of the slope."""

    scale: bool = True
    rule: Literal["gradient", "value"] = "gradient"
    max_lambda: float = PUBLISHED_MAX_LAMBDA
    max_rank: int = 300
    n_draws: int = 50

    constraints: ClassVar[Constraints] = {
        "interval": Words(
            "subsample",
            why="no other draws are known to tell how far the start of a rise varies",
        )
        | Nothing(),
        "scale": Flag(),
        "rule": Words("gradient", "value"),
        "max_lambda": Number(
            above=1,
            why="alpha up to 1 - 1 / max_lambda is looked for",
            hint="Pass 8.0, as published, or 100.0 if almost all rows may be positive.",
        ),
        "max_rank": WholeNumber(
            why="the factor has as many columns", hint="Pass 300, or more for a closer factor."
        ),
    }

    def fit_scores(self, s: ArrayLike | ScoreTable, scores: ArrayLike | None = None) -> Self:
        """Estimate from scores of rows that the classifier was not fitted on.

        Scores beyond 2,000 distinct ones are merged into as many bins, each of which weighs as
        much as its rows.

        Parameters
        ----------
        s : array-like of shape (n,) or ScoreTable
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.
        scores : array-like of shape (n,), optional
            Higher is more positive. Left out when ``s`` is a table.

        Returns
        -------
        self : PriorEstimator
            Fitted: the result is in ``estimate_``.
        """
        started = perf_counter()
        self._begin()
        table = checked_table(s, scores, self._name)
        thin = table.thin(MAX_SCORES)
        rows = _Rows(thin.centers[:, None], thin.labeled, thin.unlabeled)
        self.estimate_ = self._estimated_from(rows, table, "given scores", started)
        return self

    @abstractmethod
    def _threshold(self, curve: _DistanceCurve) -> tuple[float, tuple[Note, ...]]:
        """Return the slope that tells lambdas that are too large, and doubts about it."""

    def _estimated(
        self,
        X: FloatArray,
        s: NDArray[np.int_],
        table: ScoreTable | None,
        transform: str,
        started: float,
    ) -> PriorEstimate:
        check_sizes(int((s == 1).sum()), int((s == 0).sum()), self._name)
        if (np.ptp(X, axis=0) == 0).all():
            raise constant_scores_error(self._name, float(X[0, 0]))
        return self._estimated_from(_Rows.of(X, s), table, transform, started)

    def _estimated_from(
        self, rows: _Rows, table: ScoreTable | None, transform: str, started: float
    ) -> PriorEstimate:
        embedded = self._embedded(rows, self._rng("point"))
        finding, cell = self._read(embedded)
        draws = None
        if self.interval is not None:
            draws = self._subsampled(embedded, finding, cell)
        sizes = (int(rows.labeled.sum()), int(rows.unlabeled.sum()))
        return self._concluded(finding, draws, sizes, table, transform, started)

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        return self._read(self._embedded(_Rows.of(X, s), rng))[0]

    def _embedded(self, rows: _Rows, rng: np.random.Generator) -> _Embedded:
        points = centered(rows.points, rows.labeled + rows.unlabeled, scale=self.scale)
        width = best_width(points, rows.labeled, rows.unlabeled, rng)
        factor, diagonal = low_rank_factor(points, width, self.max_rank, rng)
        return _Embedded(factor, diagonal, rows.labeled, rows.unlabeled)

    def _read(self, embedded: _Embedded) -> tuple[Finding, int]:
        """Find the cell of lambdas where d starts to rise in earnest; return it as well."""
        curve = _DistanceCurve(embedded)
        threshold, warnings = self._level(curve)
        # A rough factor tells where to look, at a tenth of the cost; the fine one decides.
        rough = _DistanceCurve(embedded.reduced(DRAW_RESIDUAL, DRAW_RANK), TRUSTED_GAP)
        guess, _ = self._first_too_large(rough, self._level(rough)[0], None)
        cell, found = self._first_too_large(curve, threshold, guess)
        converged = cell < len(_nodes(self.max_lambda)) - 2
        if not converged:
            warnings += (
                Note(
                    "edge",
                    f"No lambda up to {self.max_lambda:g} is too large: alpha may be anything "
                    f"above {1 - 1 / self.max_lambda:.3f}. Pass a larger max_lambda, such as 100.",
                ),
            )
        finding = Finding(
            1 - 1 / found,
            curve=curve.drawn(rough, found, threshold, slopes=self.rule == "gradient"),
            converged=converged,
            warnings=warnings,
        )
        return finding, cell

    def _level(self, curve: _DistanceCurve) -> tuple[float, tuple[Note, ...]]:
        if self.rule == "value":
            return 1 / math.sqrt(curve.fewest_rows), ()
        return self._threshold(curve)

    def _first_too_large(
        self, curve: _DistanceCurve, threshold: float, guess: int | None
    ) -> tuple[int, float]:
        """Return the cell where the curve passes the threshold, and the lambda in its middle."""
        height = curve.distance if self.rule == "value" else curve.slope
        nodes = _nodes(self.max_lambda)
        cell = _first_above(nodes, lambda at: height(at) > threshold, guess)
        return cell, float(nodes[cell] + nodes[cell + 1]) / 2

    def _subsampled(self, embedded: _Embedded, finding: Finding, cell: int) -> FloatArray:
        """Plausible values of alpha, from rows drawn without replacement and the same factor."""
        coarse = embedded.reduced(DRAW_RESIDUAL, DRAW_RANK)
        totals = (int(coarse.labeled.sum()), int(coarse.unlabeled.sum()))
        sizes = subsample_sizes(*totals)
        found = []
        for number in range(self.n_draws):
            drawn = coarse.subsample(sizes, self._rng("draw", number))
            curve = _DistanceCurve(drawn, TRUSTED_GAP)
            found.append(1 - 1 / self._first_too_large(curve, self._level(curve)[0], cell)[1])
        alphas = finding.alpha - _shrink(sizes, *totals) * (np.array(found) - finding.alpha)
        return plausible(np.column_stack([alphas, np.ones(len(alphas))]), both=False)


@dataclass(kw_only=True, eq=False, repr=False)
class KM1(_KM):
    r"""Largest share of the labeled rows' kernel mean that can be taken out of the unlabeled one.

    With :math:`\phi_U` and :math:`\phi_L` the kernel means of the two samples,

    .. math:: d(\lambda) = \min_{v} \| \lambda \phi_U + (1 - \lambda) \phi_L - \phi_v \|

    over all mixtures :math:`\phi_v` of the rows stays near zero until
    :math:`\lambda = 1 / (1 - \alpha)` and then rises. KM1 takes the first :math:`\lambda` with a
    slope above :math:`1 / \sqrt{\min(n_L, n_U)}`; where that is too close to the largest slope
    possible, it takes the threshold of :class:`KM2`.

    The kernel matrix is replaced by a factor of low rank plus its exact diagonal, which moves the
    estimate by a cell of the bisection at most as long as ``max_rank`` suffices; of more than
    20,000 rows, 10,000 supply the factor's pivots. Alpha is found on a grid with steps of 0.027 in
    :math:`\lambda`, so that none is below 0.0135.

    Parameters
    ----------
    scale : bool, default=True
        Whether features are standardised first.
    rule : {"gradient", "value"}, default="gradient"
        Whether the slope of d is compared with the threshold, or (weaker) d itself with
        :math:`1 / \sqrt{\min(n_L, n_U)}`.
    max_lambda : float, default=8.0
        Alpha is at most 1 - 1 / max_lambda. Steps beyond 8 grow with lambda.
    max_rank : int, default=300
        Most columns of the factor.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        Not used: this estimator reads the features themselves. It is here so that all estimators
        take the same parameters.
    interval : {"subsample"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down. Other draws are refused: nothing is known about
        how well they tell where the distance begins to rise. None: no interval.
    n_draws : int, default=50
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    References
    ----------
    Ramaswamy, Scott and Tewari, "Mixture proportion estimation via kernel embeddings of
    distributions", ICML 2016: gradient thresholding.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [300, 900])
    >>> X = rng.normal(size=(1200, 2))
    >>> X[:600] += 4  # the labeled rows and a third of the unlabeled ones
    >>> KM1(interval=None).fit(X, s).estimate_
    PriorEstimate(alpha=0.311, beta=1.000, method='km1', n=300+900)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="km1",
        reads="features",
        assumes="no share of the negatives is distributed as the positives",
        cost="n r^2 with rank r <= 300",
        source="Ramaswamy et al. 2016",
    )

    def _threshold(self, curve: _DistanceCurve) -> tuple[float, tuple[Note, ...]]:
        threshold = 1 / math.sqrt(curve.fewest_rows)
        if threshold <= 0.9 * curve.limit:
            return threshold, ()
        # Slopes never exceed the distance of the two means: a threshold near it is never passed.
        return curve.relative_threshold, (
            Note(
                "few-rows",
                "Labeled and unlabeled rows are too alike for so few rows: the threshold of KM2 "
                "was used.",
            ),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class KM2(_KM):
    r"""As :class:`KM1`, with a threshold between the first slope and the last.

    .. math:: 0.8\, \frac{d(1.05)}{0.05} + 0.2\, \| \phi_U - \phi_L \|

    It adapts to how far the samples are apart; published comparisons of the two disagree on which
    is better.

    Parameters
    ----------
    scale : bool, default=True
        Whether features are standardised first.
    rule : {"gradient", "value"}, default="gradient"
        As in :class:`KM1`, from which KM2 does not differ if it is "value".
    max_lambda : float, default=8.0
        Alpha is at most 1 - 1 / max_lambda. Steps beyond 8 grow with lambda.
    max_rank : int, default=300
        Most columns of the factor.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        Not used: this estimator reads the features themselves. It is here so that all estimators
        take the same parameters.
    interval : {"subsample"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down. Other draws are refused: nothing is known about
        how well they tell where the distance begins to rise. None: no interval.
    n_draws : int, default=50
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    References
    ----------
    Ramaswamy, Scott and Tewari, "Mixture proportion estimation via kernel embeddings of
    distributions", ICML 2016: gradient thresholding.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [300, 900])
    >>> X = rng.normal(size=(1200, 2))
    >>> X[:600] += 4  # the labeled rows and a third of the unlabeled ones
    >>> KM2(interval=None).fit(X, s).estimate_
    PriorEstimate(alpha=0.324, beta=1.000, method='km2', n=300+900)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="km2",
        reads="features",
        assumes="no share of the negatives is distributed as the positives",
        cost="n r^2 with rank r <= 300",
        source="Ramaswamy et al. 2016",
    )

    def _threshold(self, curve: _DistanceCurve) -> tuple[float, tuple[Note, ...]]:
        return curve.relative_threshold, ()


@dataclass(frozen=True, eq=False)
class _Rows:
    """Points, and how many labeled and unlabeled rows lie at each."""

    points: FloatArray
    labeled: NDArray[np.int_]
    unlabeled: NDArray[np.int_]

    @classmethod
    def of(cls, X: FloatArray, s: NDArray[np.int_]) -> _Rows:
        return cls(X, (s == 1).astype(np.int64), (s == 0).astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Embedded:
    """Rows as points whose inner products, with the diagonal added, are the kernel's values."""

    factor: FloatArray
    diagonal: FloatArray
    labeled: NDArray[np.int_]
    unlabeled: NDArray[np.int_]

    def reduced(self, residual: float, rank: int) -> _Embedded:
        """Keep the directions that matter most; what is lost goes to the diagonal."""
        if self.factor.shape[1] == 1:
            return self
        spread, directions = np.linalg.eigh(self.factor.T @ self.factor)
        # Ascending: drop from the front what the residual allows, or the rank demands.
        lost = np.cumsum(np.maximum(spread, 0.0)) / len(self.factor)
        n_lost = int(np.searchsorted(lost, residual, side="right"))
        n_lost = min(max(n_lost, len(spread) - rank), len(spread) - 1)
        factor = self.factor @ directions[:, n_lost:]
        missing = np.sum(self.factor**2, axis=1) - np.sum(factor**2, axis=1)
        diagonal = self.diagonal + np.maximum(missing, 0.0)
        return _Embedded(factor, diagonal, self.labeled, self.unlabeled)

    def subsample(self, sizes: tuple[int, int], rng: np.random.Generator) -> _Embedded:
        """Draw that many labeled and unlabeled rows without replacement."""
        labeled, unlabeled = (
            rng.multivariate_hypergeometric(counts, size, method="marginals")
            for counts, size in zip((self.labeled, self.unlabeled), sizes, strict=True)
        )
        some = (labeled > 0) | (unlabeled > 0)
        return _Embedded(self.factor[some], self.diagonal[some], labeled[some], unlabeled[some])


@dataclass(eq=False)
class _DistanceCurve:
    """The distance d and its slope, each lambda solved for once."""

    embedded: _Embedded
    tolerance: float = 1e-6
    solved: dict[float, Nearest] = field(default_factory=dict)
    slopes: dict[float, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        labeled, unlabeled = self.embedded.labeled, self.embedded.unlabeled
        self.fewest_rows = int(min(labeled.sum(), unlabeled.sum()))
        self.mean_labeled = labeled / labeled.sum()
        self.mean_unlabeled = unlabeled / unlabeled.sum()
        self.contrast = self.mean_unlabeled - self.mean_labeled
        self.contrast_image = self.embedded.factor.T @ self.contrast
        weighted = self.embedded.diagonal * self.contrast
        self.limit = math.sqrt(
            float(self.contrast_image @ self.contrast_image + weighted @ self.contrast)
        )

    @property
    def relative_threshold(self) -> float:
        """KM2's weighted mean of the first slope and the last."""
        return 0.8 * self.distance(1 + FIRST_STEP) / FIRST_STEP + 0.2 * self.limit

    def distance(self, at: float) -> float:
        # At one, the goal is the mean of the unlabeled rows: a mixture itself.
        return 0.0 if at == 1.0 else self._nearest(at).distance

    def slope(self, at: float) -> float:
        """Slope over the published step from ``at`` onwards."""
        middle = at + STEP / 2
        nearest = self._nearest(middle)
        if 0 < nearest.gap <= TRUSTED_GAP * nearest.distance**2:
            # Envelope theorem: only the goal's own change counts at the optimum.
            off = self._goal(middle) - nearest.weights
            rise = self.embedded.factor.T @ off @ self.contrast_image
            rise += (self.embedded.diagonal * off) @ self.contrast
            self.slopes[middle] = nearest.distance, float(rise) / nearest.distance
            return self.slopes[middle][1]
        low, high = self.distance(at), self.distance(at + STEP)
        self.slopes[at] = low, (high - low) / STEP
        return self.slopes[at][1]

    def drawn(
        self, rough: _DistanceCurve, marker: float, level: float, *, slopes: bool
    ) -> PriorCurve:
        """Return what was solved for, as a picture; far from the marker, roughly."""
        if slopes:
            start = {1.0: (0.0, self.distance(1 + FIRST_STEP) / FIRST_STEP)}
            found = rough.slopes | start | self.slopes
        else:
            solved = rough.solved | self.solved
            found = {at: (nearest.distance, math.nan) for at, nearest in solved.items()}
            found[1.0] = (0.0, math.nan)
        x = np.array(sorted(found))
        heights = np.array([found[at] for at in x])
        lines = {"distance d": heights[:, 0]}
        if slopes:
            lines["slope of d"] = heights[:, 1]
        return PriorCurve(
            x=x,
            lines=lines,
            x_label="lambda",
            y_label="distance, slope" if slopes else "distance",
            marker=marker,
            level=level,
        )

    def _goal(self, at: float) -> FloatArray:
        goal: FloatArray = at * self.mean_unlabeled + (1 - at) * self.mean_labeled
        return goal

    def _nearest(self, at: float) -> Nearest:
        if at not in self.solved:
            embedded = self.embedded
            self.solved[at] = nearest_in_hull(
                embedded.factor, embedded.diagonal, self._goal(at), self.tolerance
            )
        return self.solved[at]


def _nodes(max_lambda: float) -> FloatArray:
    """List ends of the cells that bisection can end in; beyond 8, cells grow with lambda."""
    top = min(max_lambda, PUBLISHED_MAX_LAMBDA)
    halvings = max(math.ceil(math.log2((top - 1) / RESOLUTION)), 0)
    nodes = np.linspace(1.0, top, 2**halvings + 1)
    if max_lambda > top:
        n_more = math.ceil(math.log(max_lambda / top) / math.log(GROWTH))
        nodes = np.append(nodes, np.geomspace(top, max_lambda, n_more + 1)[1:])
    return nodes


def _first_above(nodes: FloatArray, above: Callable[[float], bool], guess: int | None) -> int:
    """Find the cell at whose end ``above`` turns true, as bisection does; the last if it never is.

    ``above`` is monotone, since d is convex, so that starting near a guess changes the cost only.
    """
    n_published = int(np.searchsorted(nodes, PUBLISHED_MAX_LAMBDA))
    low, high = 0, min(n_published, len(nodes) - 1)
    if guess is None:
        low, high = _bisected(nodes, above, low, high)
        # Bisection never looks at its upper end.
        if high == n_published < len(nodes) - 1 and not above(float(nodes[high])):
            low, high = _bisected(nodes, above, high, len(nodes) - 1)
        return low
    last, stride = len(nodes) - 1, 1
    if last == 1:
        return 0
    start = min(max(guess, 1), last - 1)
    if above(float(nodes[start])):
        low, high = start - 1, start
        while low > 0 and above(float(nodes[low])):
            stride *= 2
            low, high = max(low - stride, 0), low
    else:
        low, high = start, start + 1
        while high < last and not above(float(nodes[high])):
            stride *= 2
            low, high = high, min(high + stride, last)
    return _bisected(nodes, above, low, high)[0]


def _bisected(
    nodes: FloatArray, above: Callable[[float], bool], low: int, high: int
) -> tuple[int, int]:
    while high - low > 1:
        middle = (low + high) // 2
        if above(float(nodes[middle])):
            high = middle
        else:
            low = middle
    return low, high
