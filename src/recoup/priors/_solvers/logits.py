"""Scores as logits, and as probabilities of a classifier that saw as many labeled as unlabeled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.priors._solvers.column_scale import FEWEST_STRAYS, ROWS_PER_STRAY
from recoup.scores.table import ScoreTable

# So far from the middle of either sample a probability is certainty, for any number of rows that
# fits in memory.
MAX_LOGIT = 30.0
# Scores further from the inner eighty percent of both samples than this many times their width say
# no more than that they lie outside. Of normal scores none is, in any sample that fits in memory.
STRAY = 3.0
INNER = (0.1, 0.9)
# More logits than this are moved to an even grid before an equation is solved on them.
MAX_LOGITS = 4096


def score_logits(table: ScoreTable) -> FloatArray:
    """Return the logit at each score, or standardized scores where they are no probabilities.

    Probabilities of exactly 0 and 1 are moved half way to the nearest other score, and strays, such
    as a -999 for a missing score, to where the others end. A few of these do not make the others
    anything but probabilities.
    """
    scores = _among_probabilities(table)
    if scores is None:
        near = without_strays(table.centers, table.labeled, table.unlabeled)
        # Squares of very large or small scores would overflow or vanish.
        unit = (near - near[0]) / (near[-1] - near[0])
        mean, deviation = moments(unit, table.labeled + table.unlabeled)
        standard: FloatArray = (unit - mean) / deviation
        return standard
    inner = scores[(scores > 0) & (scores < 1)]
    low, high = (inner[0] / 2, (1 + inner[-1]) / 2) if len(inner) else (0.25, 0.75)
    # The least number above zero has no half.
    clipped = np.clip(scores, max(low, np.finfo(float).tiny), high)
    # np.log1p keeps scores apart that differ only in the last digits before 1.
    logits: FloatArray = np.log(clipped) - np.log1p(-clipped)
    heads = [np.cumsum(counts) for counts in (table.labeled, table.unlabeled)]
    middle = _at_share(logits, heads, 0.5)
    certain = np.clip(logits, middle.min() - MAX_LOGIT, middle.max() + MAX_LOGIT)
    return without_strays(certain, table.labeled, table.unlabeled)


def _among_probabilities(table: ScoreTable) -> FloatArray | None:
    """Return scores that are probabilities, but for a few strays: these as the nearest of them."""
    scores, rows = table.centers, table.labeled + table.unlabeled
    if table.holds_probabilities:
        return scores
    inside = np.clip(scores, 0.0, 1.0)
    outside = inside != scores
    n_rows = rows.sum()
    if rows[outside].sum() > max(FEWEST_STRAYS, n_rows / ROWS_PER_STRAY) or outside.all():
        return None
    # A score of 1.2 is no probability, but one of -999 says nothing of the others.
    near = without_strays(scores, table.labeled, table.unlabeled)
    return inside if (near != scores)[outside].all() else None


def without_strays(
    values: FloatArray, labeled: NDArray[Any], unlabeled: NDArray[Any]
) -> FloatArray:
    """Move ascending values that lie far outside of both samples to where the others end.

    Methods that read distances, not ranks alone, would see nothing but the distance to one stray.
    """
    heads = [np.cumsum(counts) for counts in (labeled, unlabeled)]
    low, middle, high = (_at_share(values, heads, share) for share in (INNER[0], 0.5, INNER[1]))
    # Halves, so that the width of the widest range that a float can hold is finite.
    half_widths = np.maximum(high / 2 - low / 2, np.ptp(middle / 2))
    with np.errstate(over="ignore"):
        ends = (low - 2 * STRAY * half_widths).min(), (high + 2 * STRAY * half_widths).max()
    # Where most rows of both samples share one score, the others are all that there is to read.
    if ends[0] >= ends[1]:
        return values
    near = values[(values >= ends[0]) & (values <= ends[1])]
    return np.clip(values, near[0], near[-1])


def _at_share(values: FloatArray, heads: list[NDArray[Any]], share: float) -> FloatArray:
    """Return the value that so many rows of each sample do not exceed."""
    found: FloatArray = values[[int(np.searchsorted(head, share * head[-1])) for head in heads]]
    return found


def moments(values: FloatArray, counts: NDArray[Any]) -> tuple[float, float]:
    """Return mean and standard deviation of counted values."""
    total = float(counts.sum())
    mean = float(np.dot(values, counts)) / total
    variance = float(np.dot((values - mean) ** 2, counts)) / max(total - 1, 1.0)
    return mean, float(np.sqrt(variance))


def linear_bins(
    values: FloatArray, counts: NDArray[Any], start: float, step: float, size: int
) -> FloatArray:
    """Share each count out between the two points of an even grid that it lies between."""
    places = (values - start) / step
    left = np.clip(places.astype(np.intp), 0, size - 2)
    right_share = np.clip(places - left, 0.0, 1.0)
    on_left = np.bincount(left, counts * (1 - right_share), minlength=size)
    on_right = np.bincount(left + 1, counts * right_share, minlength=size)
    return np.asarray(on_left + on_right, np.float64)


def balancing_shift(logits: FloatArray, labeled: NDArray[Any], unlabeled: NDArray[Any]) -> float:
    """Return what to add to ascending logits so that both classes count the same.

    A calibrated classifier of two classes of equal weight says 1/2 on average over both. The
    shift that makes it so is log(n_u / n_l) for a classifier fitted on the pooled rows and 0 for
    one fitted with balanced weights, and nobody has to say which one it was.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    values, weights = logits, labeled / labeled.sum() + unlabeled / unlabeled.sum()
    if len(logits) > MAX_LOGITS:
        step = (logits[-1] - logits[0]) / (MAX_LOGITS - 1)
        values = np.linspace(logits[0], logits[-1], MAX_LOGITS)
        weights = linear_bins(logits, weights, logits[0], step, MAX_LOGITS)

    def excess(shift: float) -> float:
        return float(np.dot(expit(values + shift), weights)) - 1.0

    # All probabilities lie below 1/2 at the left end, and above at the right one.
    return float(brentq(excess, -values[-1] - 1, -values[0] + 1, xtol=1e-6))
