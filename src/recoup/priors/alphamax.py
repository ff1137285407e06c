"""AlphaMax: the share up to which the likelihood of the unlabeled rows does not fall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Flag
from recoup._core.notes import Note
from recoup.priors._solvers.logits import without_strays
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

WINDOW = 10
# Scott's rule gives fewer than 300 bins for a million labeled rows, unless their tails are heavy.
MAX_BINS = 500
# A log-likelihood per row that falls by less than this is flat up to rounding.
FLAT = 1e-10
# Elbow scores are around 100. This is what is left of them where the curve falls at its end only.
NO_BEND = 1e-6
RIVAL_DISTANCE, RIVAL_SHARE = 0.1, 0.9
# Some labeled rows in the tails are always without unlabeled ones beside them.
MANY_ALONE = 0.01


@dataclass(frozen=True, eq=False)
class Elbow:
    """Where a curve of log-likelihoods begins to fall.

    Attributes
    ----------
    place : int
        Index into the curve.
    monotone : ndarray of shape (n,)
        The curve, made non-increasing.
    scores : ndarray of shape (n,)
        How much like an elbow each place is; nan where no window fits to its right.
    """

    place: int
    monotone: FloatArray
    scores: FloatArray


@dataclass(kw_only=True, eq=False, repr=False)
class AlphaMax(ScorePriorEstimator):
    r"""Largest share of the unlabeled rows that may be positive at no cost in likelihood.

    The scores are binned; :math:`w_i` and :math:`p_i` are the shares of unlabeled and labeled
    rows in bin :math:`i`. If a share :math:`\alpha` of the unlabeled rows is positive, and
    :math:`u_i` of it lies in bin :math:`i`, the log-likelihood per row is, up to a constant,

    .. math:: LL(\alpha) = \max_{0 \le u_i \le w_i,\, \sum u_i = \alpha}
        \sum_i w_i \log(w_i - u_i + \alpha p_i) + p_i \log(u_i / \alpha)

    It is flat up to the true share and falls beyond it. The estimate is the elbow.

    Parameters
    ----------
    mirror : bool, default=False
        Whether the shares that are tried lie closer together near 1 as well as near 0. Without
        it no estimate exceeds 0.89; with it the elbow is less stable. Try it where almost all
        unlabeled rows may be positive.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
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
    Jain, White, Trosset and Radivojac, "Nonparametric semi-supervised learning of class
    proportions", 2016, arXiv:1601.01944.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [500, 2000])
    >>> positive = rng.random(2500) < np.where(s == 1, 1.0, 0.3)
    >>> scores = rng.normal(np.where(positive, 4.0, 0.0))
    >>> AlphaMax(n_draws=20).fit_scores(s, scores).alpha_
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="alphamax",
        reads="scores",
        assumes="no share of the negatives is distributed as the positives",
        cost="n log n",
        source="Jain et al. 2016",
    )
    constraints: ClassVar[Constraints] = {"mirror": Flag()}

    mirror: bool = False

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        labeled, unlabeled = binned(table)
        grid = alpha_grid(mirror=self.mirror)
        likelihood = log_likelihood_curve(labeled, unlabeled, grid)
        warnings = []
        alone = labeled[unlabeled == 0].sum() / labeled.sum()
        if alone > MANY_ALONE:
            warnings.append(
                Note(
                    "alone",
                    f"{alone:.1%} of the labeled rows lie where there are no unlabeled rows: alpha "
                    f"is small, or the labels are not a random sample of the positives.",
                )
            )
        if likelihood.max() - likelihood[-1] <= FLAT:
            warnings.append(
                Note("flat", "The likelihood is flat: all unlabeled rows may be positive.")
            )
            return Finding(1.0, converged=False, warnings=tuple(warnings))
        found = elbow(grid, likelihood)
        alpha = float(grid[found.place])
        sure = True
        if (rival := _rival(grid, found)) is not None:
            sure = False
            warnings.append(
                Note(
                    "rival",
                    f"The likelihood bends at {rival:.3g} almost as much as at {alpha:.3g}: the "
                    f"elbow may be noise. Look at the curve.",
                )
            )
        if found.place == len(grid) - WINDOW - 1:
            warnings.append(
                Note("edge", f"No elbow above {alpha:.3g} can be found: alpha may be larger.")
            )
        return Finding(
            alpha,
            curve=_curve(grid, likelihood, found),
            converged=sure,
            warnings=tuple(warnings),
        )


def alpha_grid(*, mirror: bool = False) -> FloatArray:
    """Return the shares to try: steps of 0.01, and finer ones towards 0 (and towards 1).

    Without the fine steps no window of the elbow fits below 0.1, nor can a small share be told
    from none.
    """
    fine = np.geomspace(0.001, 0.1, 100)
    parts = [np.arange(1, 100) / 100, fine, *([1 - fine] if mirror else [])]
    # Points that differ by rounding only would make slopes between them meaningless.
    return np.unique(np.round(np.concatenate(parts), 9))


def binned(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Count labeled and unlabeled rows in bins of Scott's width for the labeled ones.

    Bins without labeled rows come back as one: they enter the likelihood through their sum.
    """
    labeled, unlabeled = table.labeled.astype(float), table.unlabeled.astype(float)
    scores = without_strays(table.centers, labeled, unlabeled)
    span = scores[-1] - scores[0]
    if not span:
        return labeled, unlabeled
    # Squares of very large or small scores would overflow or vanish.
    scaled = (scores - scores[0]) / span
    deviation = _deviation(scaled, labeled) or _deviation(scaled, labeled + unlabeled)
    width = round_width(3.5 * deviation * labeled.sum() ** (-1 / 3) * span)
    while True:
        sums = _summed(scores, width, labeled, unlabeled)
        some = sums[0] > 0
        if np.count_nonzero(some) <= MAX_BINS:
            break
        width *= 2
    rest = sums[1][~some].sum()
    counts = np.column_stack([sums[:, some], [[0.0], [rest]]]) if rest else sums[:, some]
    return counts[0], counts[1]


def round_width(width: float) -> float:
    """Round to 1, 2, 3, 5 or 10 times a power of ten."""
    power = math.floor(math.log10(width))
    lead = width / 10.0**power
    digits, limits = (1, 2, 3, 5, 10), (1.5, 2.5, 4, 7.5)
    return float(digits[int(np.searchsorted(limits, lead, side="right"))] * 10.0**power)


def log_likelihood_curve(
    labeled: FloatArray, unlabeled: FloatArray, grid: FloatArray
) -> FloatArray:
    """Return the highest log-likelihood per row for each share of positives.

    Parameters
    ----------
    labeled, unlabeled : ndarray of shape (n_bins,)
        Rows in each bin.
    grid : ndarray of shape (n,)
        Shares of positives among the unlabeled rows, inside (0, 1).

    Returns
    -------
    ndarray of shape (n,)
    """
    some = unlabeled > 0
    p, w = labeled[some] / labeled.sum(), unlabeled[some] / unlabeled.sum()
    u, _ = optimal_shares(p, w, grid)
    alpha = grid[:, None]
    # No share of positives explains labeled rows where there are no unlabeled ones. Their density
    # under any of them is the same floor, a constant; so they take no part in the division by
    # alpha either, which would bend the curve near 0.
    both = p > 0
    fit: FloatArray = np.log(w - u + alpha * p) @ w + np.log(u[:, both] / alpha) @ p[both]
    return fit


def optimal_shares(p: FloatArray, w: FloatArray, grid: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Spread each share of positives over the bins so that the likelihood is highest.

    Parameters
    ----------
    p, w : ndarray of shape (n_bins,)
        Shares of the labeled and of the unlabeled rows; all w > 0.
    grid : ndarray of shape (n,)
        Shares of positives among the unlabeled rows, inside (0, 1).

    Returns
    -------
    shares : ndarray of shape (n, n_bins)
        Between 0 and w, with the sums in ``grid``.
    multipliers : ndarray of shape (n,)
        What one more positive is worth in each bin where its share is inside (0, w).
    """
    shares = np.empty((len(grid), len(p)))
    multipliers = np.empty(len(grid))
    # At the upper end a share is min(alpha p, w), so their sum is at most alpha; at the lower end
    # it is at least alpha w, so their sum is at least alpha.
    low, high = -1 / (1 - grid), 1 / grid - 1
    nu, last = high, np.full(len(grid), np.inf)
    rows, alpha = np.arange(len(grid)), grid
    while len(rows):
        u, slope = _shares_at(nu, p, w, alpha)
        excess = u.sum(axis=1) - alpha
        low, high = np.where(excess > 0, nu, low), np.where(excess > 0, high, nu)
        middle = low + (high - low) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = nu - excess / slope
        # Newton's step where it converges, bisection where it leaves the bracket or hardly helps.
        fast = (low < newton) & (newton < high) & (np.abs(excess) < 0.5 * last)
        step = np.where(fast, newton, middle)
        stuck = (step == nu) | (step <= low) | (step >= high)
        done = (np.abs(excess) <= 1e-14 * alpha) | stuck
        shares[rows[done]], multipliers[rows[done]] = u[done], nu[done]
        left = ~done
        rows, alpha, nu, last = rows[left], alpha[left], step[left], np.abs(excess[left])
        low, high = low[left], high[left]
    return shares, multipliers


def elbow(grid: FloatArray, likelihood: FloatArray) -> Elbow:
    """Find where a curve turns from flat to falling, by lines below it on both sides."""
    size = len(grid)
    monotone = np.maximum.accumulate(likelihood[::-1])[::-1]
    # The authors then take medians of five neighbours. On a monotone curve these change nothing
    # but both ends, where they bend it and so pull the elbow down: a kink at 0.5 is found at 0.47.
    fall = (monotone[0] - monotone) / (monotone[0] - monotone[-1])
    # A curve that falls from the start has its elbow there: below 0 it would be flat.
    before = np.arange(1 - WINDOW, 0)
    x = np.concatenate([grid[0] + before * (grid[1] - grid[0]), grid])
    fall = np.concatenate([np.zeros(len(before)), fall])
    slopes = lines_below(x, fall)
    lefts = np.lib.stride_tricks.sliding_window_view(fall, WINDOW)[:-WINDOW]
    height = np.median(lefts, axis=1)
    scores = np.full(size, np.nan)
    # Rise of the slope, divided by how far the curve has fallen already: the first of two bends
    # of the same size wins.
    scores[:-WINDOW] = (slopes[WINDOW:] - slopes[:-WINDOW]) / (height + 0.01)
    best = np.nanmax(scores)
    if best < NO_BEND:
        return Elbow(size - WINDOW - 1, monotone, scores)
    # Windows on both sides of a sharp kink may touch it with the same line.
    tied = np.flatnonzero(scores >= best * (1 - 1e-9))
    tied = tied[tied - tied[0] == np.arange(len(tied))]
    return Elbow(int(tied[(len(tied) - 1) // 2]), monotone, scores)


def lines_below(x: FloatArray, y: FloatArray, window: int = WINDOW) -> FloatArray:
    """Fit a line to each window of neighbours that stays on or below the whole curve.

    Least squares under ``slope >= overall slope / 100`` and ``line <= y`` everywhere. A line
    that touches the curve does so at a vertex of the lower convex hull, and has a slope between
    those of the two edges that meet there; so the best line through each vertex is known.

    Returns
    -------
    ndarray of shape (len(x) - window + 1,)
        Slopes.
    """
    least = (y[-1] - y[0]) / (x[-1] - x[0]) / 100
    hull = _lower_hull(x, y)
    edges = np.diff(y[hull]) / np.diff(x[hull])
    # Vertices left of the first one that a line of the least slope can touch are out of reach.
    first = int(np.searchsorted(edges, least))
    vertex_x, vertex_y = x[hull[first:]], y[hull[first:]]
    bounds = np.concatenate([[least], edges[first:], [np.inf]])

    view = np.lib.stride_tricks.sliding_window_view
    xs, ys = view(x, window), view(y, window)
    mean_x, mean_y = xs.mean(axis=1), ys.mean(axis=1)
    dx, dy = xs - mean_x[:, None], ys - mean_y[:, None]
    sxx, sxy = (dx * dx).sum(axis=1), (dx * dy).sum(axis=1)

    free = np.maximum(sxy / sxx, least)
    touched = np.searchsorted(bounds[1:-1], free)
    gap = vertex_y[touched] - mean_y - free * (vertex_x[touched] - mean_x)

    right, up = mean_x[:, None] - vertex_x, mean_y[:, None] - vertex_y
    slope = (sxy[:, None] + window * right * up) / (sxx[:, None] + window * right * right)
    slope = np.clip(slope, bounds[:-1], bounds[1:])
    loss = slope * (slope * sxx[:, None] - 2 * sxy[:, None]) + window * (up - slope * right) ** 2
    best = slope[np.arange(len(slope)), np.argmin(loss, axis=1)]
    chosen: FloatArray = np.where(gap >= 0, free, best)
    return chosen


def _shares_at(
    nu: FloatArray, p: FloatArray, w: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Best shares for given multipliers, and the slope of their sums."""
    # The Lagrange condition for u in each bin is the quadratic nu u^2 - b u + p most = 0.
    nu = nu[:, None]
    most = w + alpha[:, None] * p
    scaled = nu * most
    b = scaled + (p + w)
    # B^2 - 4 nu p A, written so that nothing cancels.
    root = np.sqrt((scaled + (w - p)) ** 2 + 4 * p * w)
    total = np.maximum(np.abs(b) + root, np.finfo(float).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(b >= 0, 2 * p * most / total, total / (-2 * nu))
        inside = u < w
        u = np.where(inside, u, w)
        slope = np.where(inside, u * (u - most) / root, 0.0)
    return u, slope.sum(axis=1)


def _deviation(values: FloatArray, counts: FloatArray) -> float:
    # Sums of products, not @: that would wake the threads of BLAS for every draw.
    total = counts.sum()
    mean = (values * counts).sum() / total
    return float(np.sqrt(((values - mean) ** 2 * counts).sum() / (total - 1)))


def _summed(scores: FloatArray, width: float, *columns: FloatArray) -> FloatArray:
    """Sum columns over steps of the given width from the lowest score."""
    span = scores[-1] - scores[0]
    last = max(math.ceil(span / width) - 1, 0)
    bins = np.minimum(np.floor((scores - scores[0]) / width), last)
    starts = np.flatnonzero(np.diff(bins, prepend=-1.0))
    return np.add.reduceat(np.stack(columns), starts, axis=1)


def _lower_hull(x: FloatArray, y: FloatArray) -> NDArray[np.intp]:
    """Return the indices of the vertices of the lower convex hull; x ascends."""
    kept: list[int] = []
    px, py = x.tolist(), y.tolist()
    for new in range(len(px)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (py[b] - py[a]) * (px[new] - px[b]) < (py[new] - py[b]) * (px[b] - px[a]):
                break
            kept.pop()
        kept.append(new)
    return np.array(kept)


def _rival(grid: FloatArray, found: Elbow) -> float | None:
    """Return the best elbow far from the chosen one, if it is almost as good."""
    far = np.abs(grid - grid[found.place]) > RIVAL_DISTANCE
    scores = np.where(far & np.isfinite(found.scores), found.scores, -np.inf)
    rival = int(np.argmax(scores))
    if scores[rival] < RIVAL_SHARE * found.scores[found.place]:
        return None
    return float(grid[rival])


def _curve(grid: FloatArray, likelihood: FloatArray, found: Elbow) -> PriorCurve:
    low, high = likelihood.min(), likelihood.max()
    return PriorCurve(
        x=grid,
        lines={
            "log-likelihood": (likelihood - low) / (high - low),
            "made monotone": (found.monotone - low) / (high - low),
            "elbow score": found.scores / max(found.scores[found.place], NO_BEND),
        },
        x_label="alpha",
        y_label="scaled to at most 1",
        marker=float(grid[found.place]),
    )
