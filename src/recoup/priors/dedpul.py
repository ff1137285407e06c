"""DEDPUL: alpha from the ratio of two densities, evened out along the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Number
from recoup._core.notes import Note
from recoup.priors._solvers.logits import balancing_shift, linear_bins, moments, score_logits
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

MAX_RATIO = 50.0
# More unlabeled rows than this are represented by as many quantiles.
MAX_POINTS = 10_000
# ResultArray steps per bandwidth: fine enough for a relative error below 1e-3 in the tails.
STEPS, MAX_GRID = 24, 2**15
TOLERANCE, GRID_STEP, KNEE = 1e-5, 0.001, 0.05


BANDWIDTH = Number(above=0, why="it is in standard deviations of the scores")


@dataclass(kw_only=True, eq=False, repr=False)
class DEDPUL(ScorePriorEstimator):
    r"""Share of negatives at which the mean posterior agrees with the share itself.

    With :math:`r_i` the density of labeled over that of unlabeled rows at the unlabeled row i,
    made to rise with the score and evened out by rolling medians, a share :math:`a` of negatives
    implies the posteriors :math:`\max(0, 1 - (1 - a) r_i)`. Their mean exceeds :math:`a` as long
    as some ratio is too high for a density of positives:

    .. math:: e(a) = \frac{1}{n_u} \sum_i \max(0, 1 - (1 - a)\, r_i) - a

    The estimate is one minus the least :math:`a` at which :math:`e` vanishes; or, if noise keeps
    it from vanishing, one minus the share at which :math:`e` bends most.

    Parameters
    ----------
    bandwidth_labeled : float, default=0.1
        Bandwidth of the density of labeled rows, in standard deviations of their logits. A
        larger one is smoother, and blurs the ends where positives are purest.
    bandwidth_unlabeled : float, default=0.05
        Bandwidth of the density of unlabeled rows, in standard deviations of their logits.
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

    Notes
    -----
    Densities are those of logits; scores that are no probabilities are taken as they are. The
    ratio is made to rise above the score at which a classifier of two classes of equal weight
    would say 1/2. With more than 10,000 unlabeled rows it is evaluated at as many quantiles.

    References
    ----------
    Ivanov, D. (2020). DEDPUL: difference-of-estimated-densities-based positive-unlabeled
    learning. ICMLA. arXiv:1902.06965. Where the paper leaves steps open, as in its public code.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [500, 2000])
    >>> positive = np.arange(2500) < 1100  # all labeled rows and 30% of the others
    >>> scores = rng.normal(np.where(positive, 4, 0))
    >>> round(DEDPUL(interval=None).fit_scores(s, scores).alpha_, 2)
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="dedpul",
        reads="scores",
        assumes="almost only positives have the scores that are most typical of labeled rows",
        cost="n log n",
        source="Ivanov 2020",
    )
    constraints: ClassVar[Constraints] = {
        "bandwidth_labeled": BANDWIDTH,
        "bandwidth_unlabeled": BANDWIDTH,
    }

    bandwidth_labeled: float = 0.1
    bandwidth_unlabeled: float = 0.05

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        logits = score_logits(table)
        ratio = evened_ratio(
            logits,
            table.labeled,
            table.unlabeled,
            (self.bandwidth_labeled, self.bandwidth_unlabeled),
        )
        ratio.sort()
        fixed, reached = fixed_point(ratio)
        shares = np.arange(0.0, 1.0, GRID_STEP)
        errors = mean_error(ratio, shares)
        bends = np.diff(errors, 2)
        low = np.flatnonzero(errors[1:-1] < KNEE)
        bent = float(shares[1:-1][low[np.argmax(bends[low])]])
        # The rule of the public code: the fixed point, unless the bend is below it and e hardly
        # falls under zero.
        crosses = np.count_nonzero(errors < 0) > 1 and fixed < 1 - GRID_STEP
        negative = fixed if bent >= fixed or crosses else bent
        warnings: tuple[Note, ...] = ()
        if not reached:
            warnings = (
                Note(
                    "fallback",
                    "The mean posterior nowhere agrees with the share it implies: alpha is where "
                    "the two come together fastest.",
                ),
            )
        curve = PriorCurve(
            x=1 - shares[::-1],
            lines={
                "alpha minus mean posterior": errors[::-1],
                "second difference, scaled": np.pad(bends[::-1] / max(bends.max(), 1e-12), 1),
            },
            x_label="share of positives among unlabeled rows",
            y_label="excess of the share over the mean posterior",
            marker=1 - negative,
            level=0.0,
        )
        return Finding(1 - negative, curve=curve, converged=reached, warnings=warnings)


def densities(
    logits: FloatArray,
    labeled: NDArray[Any],
    unlabeled: NDArray[Any],
    factors: tuple[float, float],
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Estimate both densities with Gaussian kernels on one even grid.

    Returns
    -------
    grid, f_labeled, f_unlabeled : ndarray
        The grid and the densities on it.
    middle : float
        The logit at which a classifier of two classes of equal weight says 1/2.
    """
    from scipy.signal import fftconvolve

    pooled = moments(logits, labeled + unlabeled)[1]
    # Samples that consist of copies have no spread of their own.
    widths = [
        factor * max(moments(logits, counts)[1], 0.01 * pooled)
        for factor, counts in zip(factors, (labeled, unlabeled), strict=True)
    ]
    margin = 5 * max(widths)
    start, stop = logits[0] - margin, logits[-1] + margin
    size = int(np.clip((stop - start) / (min(widths) / STEPS), 256, MAX_GRID))
    grid = np.linspace(start, stop, size)
    step = (stop - start) / (size - 1)
    found, binned = [], []
    for counts, width in zip((labeled, unlabeled), widths, strict=True):
        counted = linear_bins(logits, counts, start, step, size)
        reach = min(int(np.ceil(6 * width / step)), size // 2)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
        smooth = fftconvolve(counted, kernel, mode="same")
        # The transform leaves rounding errors of either sign where the density is nil.
        found.append(np.maximum(smooth, 0.0) / (kernel.sum() * step * counts.sum()))
        binned.append(counted)
    middle = -balancing_shift(grid, *binned)
    return grid, found[0], found[1], middle


def evened_ratio(
    logits: FloatArray,
    labeled: NDArray[Any],
    unlabeled: NDArray[Any],
    factors: tuple[float, float],
) -> FloatArray:
    """Return the density of labeled over unlabeled rows along the unlabeled rows, smoothed."""
    grid, f_labeled, f_unlabeled, middle = densities(logits, labeled, unlabeled, factors)
    points = _spread_rows(logits, unlabeled)
    # The factor 1 / (y (1 - y)) that turns densities of logits into those of probabilities is the
    # same for both and drops out of the ratio.
    below = np.interp(points, grid, f_unlabeled)
    ratio = np.interp(points, grid, f_labeled) / np.maximum(below, 1e-300)
    ratio = rolling_median(np.minimum(ratio, MAX_RATIO), 5)
    upper = points >= middle
    ratio[upper] = np.maximum.accumulate(ratio[upper])
    return rolling_median(ratio, len(ratio) // 20)


def _spread_rows(values: FloatArray, counts: NDArray[Any]) -> FloatArray:
    total = int(counts.sum())
    if total <= MAX_POINTS:
        return np.repeat(values, counts.astype(np.intp))
    ranks = (np.arange(MAX_POINTS) + 0.5) * (total / MAX_POINTS)
    return values[np.searchsorted(np.cumsum(counts), ranks, side="right")]


def rolling_median(values: FloatArray, reach: int) -> FloatArray:
    """Median of each value and up to ``reach`` neighbours on both sides, fewer at the ends.

    Of an even number of values it is one of the two in the middle.
    """
    from scipy.ndimage import median_filter

    if reach < 1:
        return values
    # Equally many least and greatest values beyond the ends leave the median where it is.
    pad = np.where(np.arange(reach) % 2, values.min(), values.max())
    padded = np.concatenate([pad[::-1], values, pad])
    smooth: FloatArray = median_filter(padded, 2 * reach + 1)[reach:-reach]
    return smooth


def mean_error(ratio: FloatArray, shares: FloatArray) -> FloatArray:
    """Return e(a) for every share of negatives, from ascending ratios."""
    heads = np.concatenate([[0.0], np.cumsum(ratio)])
    positive = 1 - shares
    with np.errstate(divide="ignore"):
        counts = np.searchsorted(ratio, 1 / positive, side="left")
    error: FloatArray = (counts - positive * heads[counts]) / len(ratio) - shares
    return error


def fixed_point(ratio: FloatArray) -> tuple[float, bool]:
    """Return the least share of negatives that its mean posterior agrees with, and if there is one.

    e is convex and linear between the shares at which one more posterior gets positive, so that
    its first zero follows from its values there; repeated averaging would creep up to it.
    """
    bends = np.concatenate([[0.0], 1 - 1 / ratio[ratio > 1]])
    errors = mean_error(ratio, bends)
    agree = np.flatnonzero(errors <= TOLERANCE)
    if not len(agree):
        return float(bends[-1] + errors[-1]), False
    first = int(agree[0])
    if first == 0:
        return 0.0, True
    left, right = errors[first - 1], errors[first]
    part = (left - TOLERANCE) / (left - right)
    return float(bends[first - 1] + part * (bends[first] - bends[first - 1])), True
