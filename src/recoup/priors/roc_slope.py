"""ROC end-point slope: the least ratio of exact limits on the shares above a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Nothing, Number
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

AUTHORS_DELTA = 0.1
# From here on thresholds are so many that delta has to fall.
MANY_ROWS = 1000
# Rows of each kind that a threshold must have above it.
MIN_ABOVE = 2
# Thresholds shown beside those that can be chosen.
SHOWN = 100
# Ranks of labeled rows among which the upper limit chooses; each costs a share of delta.
LIMIT_RANKS = 20


@dataclass(kw_only=True, eq=False, repr=False)
class ROCSlope(ScorePriorEstimator):
    r"""Slope of the labeled-against-unlabeled ROC curve at the end where only positives score.

    Of :math:`n_u` unlabeled and :math:`n_l` labeled rows, :math:`i` and :math:`j` score at least
    :math:`c`. Both shares are replaced by exact one-sided binomial limits, which are quantiles
    :math:`B^{-1}` of beta distributions, so that thresholds with few rows above lose:

    .. math::

       \alpha = \min_{c:\, i, j \ge 2}
           \frac{B^{-1}(1 - \delta;\; i + 1,\, n_u - i)}{B^{-1}(\delta;\; j,\, n_l - j + 1)}

    Parameters
    ----------
    delta : float, optional
        Chance that each limit fails at one given threshold; at most 0.4. As the authors advise,
        it is not divided among the thresholds; they use 0.1. By default 0.1 up to 1000 rows of
        the scarcer kind, then falling with the square root of their number: with a fixed delta,
        some threshold with a handful of rows above wins by chance once there are many of them.
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
    ``upper_limit`` holds at ``confidence``, whatever the score: it chooses among 20 thresholds at
    ranks of the labeled rows that are fixed beforehand, and divides the chance of failure among
    their 40 limits. The share of positives above the j-th highest of :math:`n_l` labeled rows is
    distributed as :math:`B(j, n_l - j + 1)`, or lies higher if scores are tied.

    References
    ----------
    Blanchard, Lee and Scott, "Semi-supervised novelty detection", JMLR 2010, Section 5. Scott, "A
    rate of convergence for mixture proportion estimation", AISTATS 2015. Sanderson and Scott,
    "Class proportion estimation with application to multiclass anomaly rejection", AISTATS 2014.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = (s == 1) | (rng.random(5000) < 0.3)
    >>> found = ROCSlope(interval=None).fit_scores(s, rng.normal(4.0 * positive)).estimate_
    >>> round(found.alpha, 2)
    0.32
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="roc-slope",
        reads="scores",
        assumes="almost only positives score above some threshold",
        cost="n log n",
        source="Blanchard et al. 2010, Scott 2015",
    )
    constraints: ClassVar[Constraints] = {
        # Beyond 0.4 the limits are no longer concave and convex, which hull_corners relies on.
        "delta": Number(
            above=0,
            most=0.4,
            why="it is the chance that a limit fails",
            hint="Pass 0.1 as the authors do, or None.",
        )
        | Nothing(),
    }

    delta: float | None = None

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        n_l, n_u = int(table.n_labeled), int(table.n_unlabeled)
        delta = self._delta(min(n_l, n_u))
        above_l, above_u = (
            np.cumsum(counts[::-1]).astype(np.int64) for counts in (table.labeled, table.unlabeled)
        )
        enough = (above_l >= MIN_ABOVE) & (above_u >= MIN_ABOVE)
        j, i = above_l[enough], above_u[enough]
        chosen = np.union1d(hull_corners(i, j), np.linspace(0, len(j) - 1, SHOWN).astype(np.intp))
        i, j = i[chosen], j[chosen]
        limits = upper_share(i, n_u, delta) / lower_share(j, n_l, delta)
        best = int(np.argmin(limits))
        curve = PriorCurve(
            x=j / n_l,
            lines={
                "upper limit over lower limit": limits,
                "ratio": (i / n_u) / (j / n_l),
                "lower limit over upper limit": lower_share(i, n_u, delta)
                / upper_share(j, n_l, delta),
            },
            x_label="share of labeled rows above the threshold",
            y_label="unlabeled over labeled share",
            marker=float(j[best] / n_l),
        )
        limit = _certified_limit(above_l, above_u, 1 - self.confidence)
        return Finding(float(limits[best]), curve=curve, upper_limit=limit)

    def _delta(self, scarcer: int) -> float:
        if self.delta is None:
            return AUTHORS_DELTA * min(1.0, math.sqrt(MANY_ROWS / scarcer))
        return float(self.delta)


def upper_share(successes: ArrayLike, trials: int, delta: float) -> FloatArray:
    """Exact (Clopper-Pearson) limit that a binomial share stays below with chance 1 - delta."""
    from scipy.special import betaincinv

    k = np.asarray(successes, float)
    below = np.minimum(k, trials - 1)  # a beta distribution needs at least one failure
    return np.where(k < trials, betaincinv(below + 1, trials - below, 1 - delta), 1.0)


def lower_share(successes: ArrayLike, trials: int, delta: float) -> FloatArray:
    """Exact (Clopper-Pearson) limit that a binomial share stays above with chance 1 - delta."""
    return 1 - upper_share(trials - np.asarray(successes, float), trials, delta)


def hull_corners(i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.intp]:
    """Positions of the corners of the upper convex hull of a rising path of points (i, j).

    The upper limit is concave in i, the lower one convex in j, so their ratio is quasi-concave
    and takes its least value over all thresholds at one of these corners. There are few of them,
    which matters because each beta quantile takes microseconds.
    """
    from sklearn.isotonic import isotonic_regression

    if len(i) == 1:
        return np.zeros(1, np.intp)
    right, up = np.diff(i).astype(float), np.diff(j).astype(float)
    steps = right + up
    # The hull's slopes fall along the path: pooling adjacent violators of labeled shares finds it.
    shares = isotonic_regression(up / steps, sample_weight=steps, increasing=False)
    turns = np.flatnonzero(shares[1:] != shares[:-1]) + 1
    return np.concatenate([[0], turns, [len(i) - 1]]).astype(np.intp)


def _certified_limit(
    above_l: NDArray[np.int64], above_u: NDArray[np.int64], chance: float
) -> float:
    """Least ratio at fixed ranks of the labeled rows, with the chance of failure divided."""
    n_l, n_u = int(above_l[-1]), int(above_u[-1])
    ranks = np.unique(np.geomspace(MIN_ABOVE, n_l, LIMIT_RANKS).astype(np.int64))
    i = above_u[np.searchsorted(above_l, ranks)]
    each = chance / (2 * len(ranks))
    ratios = upper_share(i, n_u, each) / lower_share(ranks, n_l, each)
    return min(float(ratios.min()), 1.0)
