"""Confidence intervals for recovered metrics, each chosen because its coverage was measured.

With alpha known, a metric at one threshold depends on a few binomial proportions: the two observed
rates, and in a single sample the share of labeled rows. Wilson's interval for each is carried
through the metric by squaring and adding the distances (MOVER, Zou and Donner 2008). Areas are
smooth functions of two empirical distributions, so influence values give their variance (for AUC
these are DeLong's placements). ``make study`` prints the coverage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup.metrics.influence import Influence, auc_effects, masses, standard_error
from recoup.scores.table import ScoreTable

# What models learn by chance is a part of the variance of rows that they score for each other:
# it counts twice, so that the variance at most doubles (``evaluation/crossfitted.py``).
CROSSFITTED = float(np.sqrt(2.0))

# Two values: a lower and an upper limit, or a value at the two limits of something else.
Ends = tuple[Any, Any]


def normal_quantile(confidence: float) -> float:
    """Two-sided normal quantile."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))


def t_quantile(confidence: float, size: float) -> float:
    """Two-sided Student quantile for a mean of ``size`` rows."""
    from scipy.special import stdtrit

    return float(stdtrit(max(size - 1, 1.0), 0.5 + confidence / 2))


def wilson(share: Any, size: Any, z: float) -> Ends:
    """Wilson score interval of a proportion."""
    shrink = 1 + z**2 / size
    center = (share + z**2 / (2 * size)) / shrink
    half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / shrink
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)


def exact_share(share: Any, size: Any, z: float) -> Ends:
    """Exact interval of a proportion (Clopper and Pearson 1934), for what must not be broken.

    Wilson's holds its level on average over proportions, and misses it at some of them.

    Parameters
    ----------
    share : float or ndarray
        The proportion.
    size : float or ndarray
        How many rows it is of.
    z : float
        Normal quantile of the level.

    Returns
    -------
    lower, upper : float or ndarray

    Examples
    --------
    >>> [round(float(end), 4) for end in exact_share(0.9, 10, 1.959964)]
    [0.555, 0.9975]
    """
    from scipy.special import betaincinv, ndtr

    tail = float(ndtr(-z))
    share, size = np.broadcast_arrays(np.asarray(share, float), np.asarray(size, float))
    # A share of infinitely many rows is known.
    known = np.where(np.isfinite(size), size, 1.0)
    count = share * known
    rest = known - count
    low = np.where(count > 0, betaincinv(np.maximum(count, 1e-9), rest + 1, tail), 0.0)
    high = np.where(rest > 0, betaincinv(count + 1, np.maximum(rest, 1e-9), 1 - tail), 1.0)
    finite = np.isfinite(size)
    return np.where(finite, low, share), np.where(finite, high, share)


def tails(confidence: float) -> list[float]:
    """Quantile levels of a two-sided interval."""
    return [(1 - confidence) / 2, (1 + confidence) / 2]


def spread(values: FloatArray, confidence: float) -> Ends:
    """Limits of the middle share of values, along their first axis."""
    low, high = np.quantile(values, tails(confidence), axis=0)
    return low, high


def mover(value: Any, ends: Iterable[Ends]) -> Ends:
    """Interval of a value from its values at the limits of each of its independent parts.

    Parameters
    ----------
    value : float or ndarray
        The value itself.
    ends : iterable of pairs
        The value at the lower and at the upper limit of one part, the others kept. A value may
        fall with a part.

    Returns
    -------
    lower, upper : float or ndarray
    """
    # Distances of the value at the limits of each part, squared and added, as if the parts were
    # the only and independent sources of error.
    below, above = np.zeros_like(value, float), np.zeros_like(value, float)
    for one, other in ends:
        below = below + np.maximum(value - np.minimum(one, other), 0.0) ** 2
        above = above + np.maximum(np.maximum(one, other) - value, 0.0) ** 2
    return value - np.sqrt(below), value + np.sqrt(above)


def auc_interval(table: ScoreTable, value: float, quantile: float) -> tuple[float, float]:
    """Interval for AUC_pu: DeLong's variance, symmetric on the logit scale.

    Where less than one labeled row's worth of pairs is out of order (or in order), that variance
    is near zero by luck; the limit on that side then comes from the table with one more labeled
    and one more unlabeled row that the score does not tell apart.
    """
    size = table.effective_sizes[0]
    effects = auc_effects(table)
    low, high = logit_interval(value, standard_error(table, Influence(*effects)), quantile)
    if min(value, 1 - value) * size >= 1:
        return low, high
    sizes = np.array(table.effective_sizes)
    shares = sizes / (sizes + 1)
    center = float(np.prod(shares) * value + (1 - np.prod(shares)) / 2)
    variance = 0.0
    for mass, values, n in zip(masses(table), effects, sizes, strict=True):
        spread = n * np.dot(mass, (values - center) ** 2) + (0.5 - center) ** 2
        variance += spread / (n + 1) ** 2
    # Counts that labels at random would have given may be negative where alpha is impossible.
    padded = logit_interval(center, float(np.sqrt(max(variance, 0.0))), quantile)
    return min(low, padded[0]), max(high, padded[1])


def logit_interval(value: float, error: float, quantile: float) -> tuple[float, float]:
    """Interval for a share, symmetric on the logit scale."""
    from scipy.special import expit, logit

    # The delta method divides by value * (1 - value), which must not vanish.
    inside = float(np.clip(value, 1e-4, 1 - 1e-4))
    half = quantile * error / (inside * (1 - inside))
    return float(expit(logit(inside) - half)), float(expit(logit(inside) + half))
