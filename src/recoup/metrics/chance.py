"""What AUC_pu would be if labels were shuffled among the rows: by a formula, or by shuffling."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from recoup._core.checks import FloatArray
from recoup.metrics.area import auc_pu
from recoup.metrics.intervals import normal_quantile, spread
from recoup.metrics.resample import RESAMPLE_BINS
from recoup.scores.table import ScoreTable

# With as many rows in each group, and no more skewness, limits by the formula are within two
# hundredths of a standard deviation of those of all shuffles, and those of 2,000 within four.
FEWEST_ROWS = 50
MOST_SKEWNESS = 0.2
# So many shuffles at a time, whatever their number: memory stays the same.
BATCH = 1000


# AUC_pu as observed, the limits of the shuffled ones, the share of the shuffles that reach the
# observed one, and how many were made: 0 where the formula was used.
Shuffled: TypeAlias = tuple[float, float, float, float, int]


def shuffled_auc(table: ScoreTable, n_permutations: int, confidence: float, seed: int) -> Shuffled:
    r"""Compare AUC_pu with what shuffled labels would give.

    The area of a ranking that knows nothing has mean 1/2, and its variance and skewness over all
    shuffles follow from the ranks :math:`r_i`, ties included, with :math:`d_i = r_i - \bar r`:

    .. math:: \sigma^2 = \frac{1}{n_l n_u} \frac{\sum_i d_i^2}{N (N-1)}

    A normal distribution, corrected for the skewness, gives limits and p-value. Few rows, and ties
    that leave it too skewed, are shuffled instead.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    n_permutations : int
        How often to shuffle where that is needed.
    confidence : float
        Level of the limits.
    seed : int
        Where the random numbers start where they are needed.

    Returns
    -------
    auc_pu, low, high, p_value : float
    n_permutations : int
    """
    deviation, skewness = shuffled_moments(table)
    # Negated, so that rows that are all tied are shuffled as well.
    if min(table.effective_sizes) < FEWEST_ROWS or not abs(skewness) <= MOST_SKEWNESS:
        return _by_shuffling(table, n_permutations, confidence, np.random.default_rng(seed))
    from scipy.special import ndtr

    value, z = auc_pu(table), normal_quantile(confidence)
    # Cornish and Fisher's first correction, of the quantiles and of the observed deviation.
    bend = (z**2 - 1) * skewness / 6
    # Beyond the outer limits the correction would turn back; nothing is left there anyway.
    at = float(np.clip((value - 0.5) / deviation, -3 / MOST_SKEWNESS, 3 / MOST_SKEWNESS))
    p_value = float(ndtr((at**2 - 1) * skewness / 6 - at))
    return value, 0.5 + deviation * (bend - z), 0.5 + deviation * (bend + z), p_value, 0


def shuffled_moments(table: ScoreTable) -> tuple[float, float]:
    """Return standard deviation and skewness of AUC_pu over all shuffles of the labels.

    Parameters
    ----------
    table : ScoreTable
        The counted rows; weights count as the rows without weights that say as much.

    Returns
    -------
    deviation, skewness : float
        Not a number where all rows are tied.
    """
    labeled, unlabeled = table.effective_sizes
    rows = table.labeled * (labeled / table.n_labeled)
    rows = rows + table.unlabeled * (unlabeled / table.n_unlabeled)
    total = float(rows.sum())
    # Ranks as shares of all rows, so that sums of their powers stay in range.
    rank = (np.cumsum(rows) - rows / 2) / total - 0.5
    second, third = np.dot(rows, rank**2) / total, np.dot(rows, rank**3) / total
    # The sum of labeled ranks is that of a sample without replacement (Kendall and Stuart 1977).
    variance = second * labeled * unlabeled / (total - 1)
    cubes = third * labeled * unlabeled * (unlabeled - labeled) / ((total - 1) * (total - 2))
    deviation = float(np.sqrt(variance)) * total / (labeled * unlabeled)
    return deviation, float(cubes / variance**1.5) if variance > 0 else np.nan


def _by_shuffling(
    table: ScoreTable, n_permutations: int, confidence: float, rng: np.random.Generator
) -> Shuffled:
    coarse = table.thin(RESAMPLE_BINS)
    sizes = [max(round(size), 1) for size in coarse.effective_sizes]
    # NumPy's hypergeometric draws refuse 1e9 rows and more; scaled down, nothing visible changes.
    scale = min(1.0, 9e8 / sum(sizes))
    sizes = [max(round(size * scale), 1) for size in sizes]
    share = (coarse.labeled / coarse.n_labeled * sizes[0]) + (
        coarse.unlabeled / coarse.n_unlabeled * sizes[1]
    )
    rows = np.diff(np.round(np.cumsum(share[::-1])), prepend=0.0).astype(np.int64)
    shuffled = np.empty(n_permutations)
    for start in range(0, n_permutations, BATCH):
        part = shuffled[start : start + BATCH]
        drawn = rng.multivariate_hypergeometric(
            rows, min(sizes[0], int(rows.sum()) - 1), size=len(part), method="marginals"
        )
        part[:] = _pairs(drawn / drawn.sum(1, keepdims=True), (rows - drawn).astype(float))
    observed = auc_pu(table)
    low, high = spread(shuffled, confidence)
    # Ties at the observed value count as reached, whatever their last digit.
    p_value = (1 + np.count_nonzero(shuffled >= observed - 1e-12)) / (n_permutations + 1)
    return observed, float(low), float(high), float(p_value), n_permutations


def _pairs(labeled: FloatArray, unlabeled: FloatArray) -> FloatArray:
    heads = np.cumsum(labeled, axis=-1) - labeled / 2
    share: FloatArray = np.sum(heads * unlabeled, axis=-1) / unlabeled.sum(-1)
    return share
