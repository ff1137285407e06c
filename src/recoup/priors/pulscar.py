"""PULSCAR: the largest multiple of the labeled density that fits under the unlabeled one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Constraints, Number
from recoup._core.notes import Note
from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.logits import balancing_shift, linear_bins, moments, score_logits
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

# Places to evaluate densities at, and places that rows are moved to before.
N_GRID, N_NODES = 128, 512
N_BANDWIDTHS = 25
ALPHA_STEP = 1e-4
# The labeled row at this quantile gets this probability.
SPREAD_QUANTILE, SPREAD_TOP = 0.95, 0.9
# Below this share of labeled rows in the upper half its densities are mostly noise.
MIN_UPPER_SHARE = 0.25
MAX_GAP = 0.05


@dataclass(kw_only=True, eq=False, repr=False)
class PULSCAR(ScorePriorEstimator):
    r"""Largest multiple of the labeled density that stays below the unlabeled one.

    Both densities are estimated with beta kernels, and compared in the upper half of the unit
    interval only:

    .. math::

        e(a) = \min_{x > 1/2} D_u(x) - a D_p(x), \qquad
        \alpha = \arg\max_a |\Delta^2 \log_{10}(|e(a)| + \min D_p)|

    The logarithm bends most where :math:`e` changes its sign, at :math:`\min D_u / D_p`.

    Parameters
    ----------
    min_bandwidth : float, default=0.08
        Least bandwidth of the kernels. Between the two limits the bandwidth is chosen whose
        density of all rows is nearest to their histogram.
    max_bandwidth : float, default=0.5
        Greatest bandwidth of the kernels.
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
    Scores are spread over the unit interval first, by a straight line through their logits (or
    through the scores, where they are no probabilities): 1/2 is where a classifier of two classes
    of equal weight would say so, and 95% of the labeled rows get less than 0.9. Otherwise few rows
    would reach the upper half where labels are rare.

    Other than in the published code the densities are not scaled to sum to one over the grid. The
    mass of beta kernels at the ends of the interval is not kept; where negatives gather at 0,
    scaling raises the unlabeled density everywhere else, and with it alpha. Unscaled, both
    densities are means of the same kernels, so that :math:`D_u \ge \alpha D_p` holds on average.
    The published least bandwidth is 0.01. With a few hundred labeled rows of well separated
    classes the minimum then falls into noise, and alpha comes out 0.05 to 0.15 too low; where
    classes overlap, that error and the usual overestimate may cancel.

    References
    ----------
    Kumar, P. and Lambert, C. G. (2023). Positive unlabeled learning selected not at random
    (PULSNAR). arXiv:2303.08269.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [500, 2000])
    >>> positive = np.arange(2500) < 1100  # all labeled rows and 30% of the others
    >>> scores = rng.normal(np.where(positive, 4, 0))
    >>> round(PULSCAR(interval=None).fit_scores(s, scores).alpha_, 1)
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="pulscar",
        reads="scores",
        assumes="almost only positives have the scores that are most typical of labeled rows",
        cost="n log n",
        source="Kumar and Lambert 2023",
    )
    constraints: ClassVar[Constraints] = {
        "min_bandwidth": Number(above=0),
        "max_bandwidth": Number(above=0),
    }

    min_bandwidth: float = 0.08
    max_bandwidth: float = 0.5

    def _check_options(self) -> None:
        super()._check_options()
        if self.min_bandwidth > self.max_bandwidth:
            raise InvalidInputError(
                f"{self._name} needs 0 < min_bandwidth <= max_bandwidth. Got "
                f"{brief(self.min_bandwidth)} and {brief(self.max_bandwidth)}."
            )

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        return matched_densities(table, (self.min_bandwidth, self.max_bandwidth))


def matched_densities(table: ScoreTable, bandwidths: tuple[float, float] = (0.08, 0.5)) -> Finding:
    """Run PULSCAR on counts of labeled and unlabeled rows at each score.

    Parameters
    ----------
    table : ScoreTable
        Any scores, higher for positives.
    bandwidths : (float, float), default=(0.08, 0.5)
        Least and greatest bandwidth.

    Returns
    -------
    Finding
        With the least ratio of the two densities among ``members``.
    """
    return alpha_from_probabilities(
        spread_probabilities(table), table.labeled, table.unlabeled, bandwidths
    )


def spread_probabilities(table: ScoreTable) -> FloatArray:
    """Map scores onto the unit interval so that labeled rows use its upper half."""
    from scipy.special import expit, logit

    logits = score_logits(table)
    logits = logits + balancing_shift(logits, table.labeled, table.unlabeled)
    heads = np.cumsum(table.labeled)
    top = logits[np.searchsorted(heads, SPREAD_QUANTILE * heads[-1])]
    slope = logit(SPREAD_TOP) / top if top > 0 else 1.0
    probabilities: FloatArray = expit(slope * logits)
    return probabilities


def alpha_from_probabilities(
    probabilities: FloatArray,
    labeled: NDArray[Any],
    unlabeled: NDArray[Any],
    bandwidths: tuple[float, float],
) -> Finding:
    """Compare the densities of labeled and unlabeled rows in the upper half of [0, 1].

    Parameters
    ----------
    probabilities : ndarray of shape (n,)
        Values in [0, 1].
    labeled, unlabeled : ndarray of shape (n,)
        Rows at each of them.
    bandwidths : (float, float)
        Least and greatest bandwidth.
    """
    shares = [
        linear_bins(probabilities, counts, 0.5 / N_NODES, 1 / N_NODES, N_NODES) / counts.sum()
        for counts in (labeled, unlabeled)
    ]
    counts = labeled + unlabeled
    pooled = (shares[0] * labeled.sum() + shares[1] * unlabeled.sum()) / counts.sum()
    n_bins = _scott_bins(probabilities, counts)
    bandwidth = _bandwidth(pooled, n_bins, bandwidths)
    grid = np.linspace(0.0, 1.0, N_GRID)
    kernels = beta_kernels(N_GRID, bandwidth, at_centers=False)
    d_labeled, d_unlabeled = kernels @ shares[0], kernels @ shares[1]

    upper = grid > 0.5
    # Where no row is near, both densities are zero; the floor keeps their ratio finite.
    ratio = d_unlabeled / np.maximum(d_labeled, 1e-300)
    least = float(ratio[upper].min())
    found = _sharpest_bend(d_unlabeled[upper], d_labeled[upper], float(d_labeled.min()))
    warnings = []
    if least >= 1:
        found = least
    elif abs(found - least) > MAX_GAP:
        warnings.append(
            Note(
                "rival",
                f"The sharpest bend is at {found:.3f}, but the least ratio of densities is "
                f"{least:.3f}: look at the plot.",
            )
        )
    if labeled[probabilities > 0.5].sum() < MIN_UPPER_SHARE * labeled.sum():
        warnings.append(
            Note(
                "uninformative-scores",
                f"Less than {MIN_UPPER_SHARE:.0%} of the labeled rows score in the upper half, "
                f"the only one that is looked at. Use a better classifier.",
            )
        )
    curve = PriorCurve(
        x=grid,
        lines={
            "unlabeled density": d_unlabeled,
            "labeled density": d_labeled,
            "unlabeled over labeled density": np.where(upper & (ratio < 3), ratio, np.nan),
        },
        x_label="score, spread over the unit interval",
        y_label="density",
        marker=float(grid[upper][np.argmin(ratio[upper])]),
        level=found,
    )
    return Finding(
        found,
        curve=curve,
        converged=not warnings,
        warnings=tuple(warnings),
        members={"least ratio": least},
    )


def _sharpest_bend(d_unlabeled: FloatArray, d_labeled: FloatArray, floor: float) -> float:
    alphas = np.arange(0.0, 1.0, ALPHA_STEP)
    error = np.min(d_unlabeled[:, None] - np.outer(d_labeled, alphas), axis=0)
    # The floor keeps the logarithm finite where the error is exactly zero.
    bend = np.abs(np.diff(np.log10(np.abs(error) + max(floor, 1e-10)), 2))
    return float(alphas[1 + np.argmax(bend)])


def _scott_bins(probabilities: FloatArray, counts: NDArray[Any]) -> int:
    """Return the power of two nearest to the number of bins of Scott's rule."""
    deviation = max(moments(probabilities, counts)[1], 1e-6)
    wanted = np.ptp(probabilities) / (3.5 * deviation) * np.cbrt(counts.sum())
    lower = 2 ** np.floor(np.log2(max(wanted, 8.0)))
    nearest = lower if wanted - lower < 2 * lower - wanted else 2 * lower
    return int(np.clip(nearest, 8, N_NODES))


def _bandwidth(pooled: FloatArray, n_bins: int, limits: tuple[float, float]) -> float:
    """Return the bandwidth whose density is nearest to the histogram of the same rows."""
    histogram = pooled.reshape(n_bins, -1).sum(axis=1)
    candidates = np.geomspace(*limits, N_BANDWIDTHS)
    distances = [
        float(np.sum((beta_kernels(n_bins, b, at_centers=True) @ pooled / n_bins - histogram) ** 2))
        for b in candidates.tolist()
    ]
    return float(candidates[np.argmin(distances)])


@lru_cache(maxsize=4 * N_BANDWIDTHS)
def beta_kernels(n_grid: int, bandwidth: float, *, at_centers: bool) -> FloatArray:
    """Return the kernel of each of ``n_grid`` even places, at all nodes.

    The kernel at x is the density of Beta(x / b + 1, (1 - x) / b + 1). Places are the centers of
    bins, or an even grid with both ends.
    """
    from scipy.special import betaln

    nodes = (np.arange(N_NODES) + 0.5) / N_NODES
    places = (np.arange(n_grid) + 0.5) / n_grid if at_centers else np.linspace(0.0, 1.0, n_grid)
    at = places[:, None]
    powers = (at * np.log(nodes) + (1 - at) * np.log1p(-nodes)) / bandwidth
    kernels: FloatArray = np.exp(powers - betaln(at / bandwidth + 1, (1 - at) / bandwidth + 1))
    kernels.setflags(write=False)
    return kernels
