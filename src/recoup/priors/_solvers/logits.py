"""Scores as logits, and as probabilities of a classifier that saw as many labeled as unlabeled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.scores.table import ScoreTable

# Beyond this a probability is certainty for any number of rows that fits in memory.
MAX_LOGIT = 30.0
# More logits than this are moved to an even grid before an equation is solved on them.
MAX_LOGITS = 4096


def score_logits(table: ScoreTable) -> FloatArray:
    """Return the logit at each score, or standardized scores where they are no probabilities.

    Probabilities of exactly 0 and 1 are moved half way to the nearest other score.
    """
    scores = table.centers
    if not table.holds_probabilities:
        counts = table.labeled + table.unlabeled
        mean, deviation = moments(scores, counts)
        standard: FloatArray = (scores - mean) / deviation
        return standard
    inner = scores[(scores > 0) & (scores < 1)]
    low, high = (inner[0] / 2, (1 + inner[-1]) / 2) if len(inner) else (0.25, 0.75)
    clipped = np.clip(scores, low, high)
    # np.log1p keeps scores apart that differ only in the last digits before 1.
    logits: FloatArray = np.log(clipped) - np.log1p(-clipped)
    return np.clip(logits, -MAX_LOGIT, MAX_LOGIT)


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
