"""A weighted mean of ranks, and the weights that areas under the curve speak for.

Scores of different learners have different scales. What they share is the order, so that each is
turned into the share of training rows that score lower, by models that have not seen them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

# Points of a curve from scores to ranks; between them it is straight.
MOST_POINTS = 2000
# Gaps are measured in this many standard errors: on tables of the training, weights nearer to the
# shares ranked better than those that one standard error makes.
ERRORS = 2.0
# A candidate this many such units below the best one is left out.
CLEARLY_WORSE = 2.0
N_REPLICATES = 40


class RankCurve(NamedTuple):
    """From scores of one candidate to its share of training rows with a lower one.

    Attributes
    ----------
    scores, ranks : ndarray of shape (n_points,)
        Both rise.
    """

    scores: FloatArray
    ranks: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return ranks in (0, 1); beyond the training rows they still rise."""
        low, high = self.scores[[0, -1]]
        first, last = self.ranks[[0, -1]]
        width = max(float(high - low), np.finfo(float).tiny)
        inside = np.clip(scores, low, high)
        # From 0 to 1 the farther a score is beyond the training rows.
        above = 1 - 1 / (1 + (np.maximum(scores, high) - high) / width)
        below = 1 - 1 / (1 + (low - np.minimum(scores, low)) / width)
        ranks = np.interp(inside, self.scores, self.ranks)
        return np.asarray(ranks + above * (1 - last) - below * first)


def rank_curve(scores: FloatArray) -> RankCurve:
    """Return the curve of some rows; rows with the same score share the mean of their ranks."""
    values, counts = np.unique(scores, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / len(scores)
    if len(values) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(values) - 1, MOST_POINTS).round().astype(int))
        values, ranks = values[kept], ranks[kept]
    return RankCurve(values, ranks)


class Placements(NamedTuple):
    """For each candidate and row, the share of rows of the other kind that it is ranked right to.

    Attributes
    ----------
    labeled : ndarray of shape (k, n_labeled)
        Shares of unlabeled rows that a labeled one is above.
    unlabeled : ndarray of shape (k, n_unlabeled)
        Shares of labeled rows that an unlabeled one is below.
    """

    labeled: FloatArray
    unlabeled: FloatArray

    @property
    def areas(self) -> FloatArray:
        """P(a labeled row scores higher than an unlabeled one), by candidate."""
        return np.asarray(self.labeled.mean(axis=1))

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the areas for rows drawn anew (DeLong et al. 1988)."""
        parts = [
            np.atleast_2d(np.cov(part)) / part.shape[1]
            for part in (self.labeled, self.unlabeled)
            if part.shape[1] > 1
        ]
        return np.asarray(sum(parts, np.zeros((len(self.labeled),) * 2)))


def placements_of(labeled: NDArray[np.bool_], scores: FloatArray) -> Placements:
    """Compare labeled with unlabeled rows by each row of ``scores``."""
    pairs = [(one[labeled], one[~labeled]) for one in scores]
    above = [_share_below(marked, others) for marked, others in pairs]
    below = [1 - _share_below(others, marked) for marked, others in pairs]
    return Placements(np.array(above), np.array(below))


def weights_from(areas: FloatArray, covariance: FloatArray, shares: FloatArray) -> FloatArray:
    """Return weights that sum to one: the shares as far as areas do not tell candidates apart.

    With g the gap to the best area and e two of its standard errors, a candidate has a weight
    proportional to its share times exp(-(g / e)^2 / 2), and none if g is more than twice e.
    """
    best = int(np.argmax(areas))
    gaps = areas[best] - areas
    variances = np.diag(covariance) + covariance[best, best] - 2 * covariance[best]
    errors = ERRORS * np.sqrt(np.maximum(variances, 1e-12))
    distances = np.where(gaps > 0, gaps / errors, 0.0)
    weights = np.where(distances > CLEARLY_WORSE, 0.0, shares * np.exp(-(distances**2) / 2))
    return np.asarray(weights / weights.sum())


def optimism_of_weights(
    labeled: NDArray[np.bool_],
    ranks: FloatArray,
    placements: Placements,
    shares: FloatArray,
    rng: np.random.Generator,
) -> float:
    """By how much the area of the weighted mean is too good: weights come from the same rows.

    In bootstrap replicates weights are found anew; the area there, less that on all rows, is what
    the choice adds on average (Efron 1983). Areas of replicates are taken to first order.
    """
    covariance, gains = placements.covariance, []
    for _ in range(N_REPLICATES):
        counts = [
            rng.multinomial(part.shape[1], np.full(part.shape[1], 1 / part.shape[1]))
            for part in placements
        ]

        def moved(found: Placements, counts: list[NDArray[np.int_]] = counts) -> FloatArray:
            means = [
                part @ count / part.shape[1] for part, count in zip(found, counts, strict=True)
            ]
            return np.asarray(means[0] + means[1] - 2 * found.areas)

        weights = weights_from(placements.areas + moved(placements), covariance, shares)
        gains.append(moved(placements_of(labeled, (weights @ ranks)[None]))[0])
    return max(float(np.mean(gains)), 0.0)


def _share_below(scores: FloatArray, others: FloatArray) -> FloatArray:
    """Return for each score the share of the others below it, ties one half."""
    ordered = np.sort(others)
    both = [np.searchsorted(ordered, scores, side=side) for side in ("left", "right")]
    return np.asarray((both[0] + both[1]) / (2 * len(ordered)))
