"""Confidence intervals for recovered metrics, each chosen because its coverage was measured.

With alpha known, a metric at one threshold depends on two binomial proportions, so Wilson's
interval for each is carried through the metric by squaring and adding the distances (MOVER, Zou
and Donner 2008). Areas are smooth functions of two empirical distributions, so influence values
give their variance (for AUC these are DeLong's placements). ``make study`` prints the coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

Interval = tuple[Any, Any]
Influence = tuple[FloatArray, FloatArray]


def normal_quantile(confidence: float) -> float:
    """Two-sided normal quantile."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + confidence / 2))


def t_quantile(confidence: float, size: float) -> float:
    """Two-sided Student quantile for a mean of ``size`` rows."""
    from scipy.special import stdtrit

    return float(stdtrit(max(size - 1, 1.0), 0.5 + confidence / 2))


def wilson(share: Any, size: float, z: float) -> Interval:
    """Wilson score interval of a proportion."""
    shrink = 1 + z**2 / size
    center = (share + z**2 / (2 * size)) / shrink
    half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / shrink
    return np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)


def mover(
    formula: Callable[..., Any],
    tpr_pu: Any,
    fpr_pu: Any,
    sizes: tuple[float, float],
    mixture: Mixture,
    z: float,
) -> Interval:
    """Interval of a threshold metric from Wilson intervals of the two observed rates."""

    def at(labeled_rate: Any, unlabeled_rate: Any) -> Any:
        return np.asarray(
            formula(*mixture.true_rates(labeled_rate, unlabeled_rate), mixture.pi), float
        )

    value = at(tpr_pu, fpr_pu)
    below, above = np.zeros_like(value), np.zeros_like(value)
    limits = (
        [at(rate, fpr_pu) for rate in wilson(tpr_pu, sizes[0], z)],
        [at(tpr_pu, rate) for rate in wilson(fpr_pu, sizes[1], z)],
    )
    # MOVER: distances of the metric at the limits of each rate, squared and added, as if the two
    # rates were the only and independent sources of error. A metric may fall with a rate.
    for ends in limits:
        below += np.maximum(value - np.minimum(*ends), 0.0) ** 2
        above += np.maximum(np.maximum(*ends) - value, 0.0) ** 2
    return value - np.sqrt(below), value + np.sqrt(above)


def auc_influence(table: ScoreTable) -> Influence:
    """How much a row at each score (highest first) moves AUC_pu: its placement."""
    labeled, unlabeled = _masses(table)
    on_labeled = 1 - np.cumsum(unlabeled) + unlabeled / 2
    on_unlabeled = np.cumsum(labeled) - labeled / 2
    return on_labeled, on_unlabeled


def roc_auc_influence(table: ScoreTable, mixture: Mixture) -> Influence:
    """How much a row at each score (highest first) moves the unclipped AUC."""
    gap = mixture.beta - mixture.alpha
    on_labeled, on_unlabeled = auc_influence(table)
    return on_labeled / gap, on_unlabeled / gap


def aul_influence(table: ScoreTable, mixture: Mixture) -> Influence:
    """How much a row at each score (highest first) moves the area under the lift curve."""
    gap = mixture.beta - mixture.alpha
    on_labeled, on_unlabeled = auc_influence(table)
    return on_labeled * (1 - mixture.pi) / gap, on_unlabeled * (1 - mixture.pi) / gap


def average_precision_influence(table: ScoreTable, mixture: Mixture) -> Influence:
    """How much a row at each score (highest first) moves the unclipped average precision."""
    (tpr_l, tpr_u), (fpr_l, fpr_u) = np.transpose(
        [mixture.true_rates(1.0, 0.0), mixture.true_rates(0.0, 1.0)]
    )
    pi = mixture.pi
    rate_l, rate_u = pi * tpr_l + (1 - pi) * fpr_l, pi * tpr_u + (1 - pi) * fpr_u
    heads_l, heads_u = table.heads("labeled"), table.heads("unlabeled")
    tpr = tpr_l * heads_l + tpr_u * heads_u
    rate = rate_l * heads_l + rate_u * heads_u
    # Above the first row of either group (only known negatives there) the rate is zero.
    inverse = np.divide(1.0, rate, out=np.zeros_like(rate), where=rate > 1e-12)
    # Average precision is the sum over k of pi * (tpr_k - tpr_{k-1}) * tpr_k / rate_k. What follows
    # are its derivatives in tpr_k and rate_k.
    step = np.diff(tpr, prepend=0.0)
    gain = tpr * inverse
    by_tpr = pi * (gain + step * inverse - np.append(gain[1:], 0.0))
    by_rate = -pi * step * gain * inverse
    return (
        _from_below(by_tpr * tpr_l + by_rate * rate_l),
        _from_below(by_tpr * tpr_u + by_rate * rate_u),
    )


def proper_influence(
    losses: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    table: ScoreTable,
    mixture: Mixture,
) -> Influence:
    """How much a row at each score (highest first) moves a proper score."""
    if_positive, if_negative = (loss[::-1] for loss in losses(table.centers))
    (pos_l, neg_l), (pos_u, neg_u) = mixture.true_rates(1.0, 0.0), mixture.true_rates(0.0, 1.0)
    pi = mixture.pi
    return (
        pi * pos_l * if_positive + (1 - pi) * neg_l * if_negative,
        pi * pos_u * if_positive + (1 - pi) * neg_u * if_negative,
    )


def point_influence(
    formula: Callable[..., Any], table: ScoreTable, mixture: Mixture, threshold: float
) -> Influence:
    """How much a row at each score (highest first) moves a metric at a threshold."""
    above = (table.scores >= threshold)[::-1].astype(float)
    place = len(table.scores) - int(np.searchsorted(table.scores, threshold, side="left"))
    rates = [np.append(0.0, table.heads(group))[place] for group in ("labeled", "unlabeled")]
    on_labeled, on_unlabeled = _slopes(formula, rates, mixture)
    return on_labeled * above, on_unlabeled * above


def _slopes(
    formula: Callable[..., Any], rates: list[float], mixture: Mixture, step: float = 1e-6
) -> list[float]:
    """Slope of a threshold metric in each observed rate."""
    slopes = []
    for which in range(2):
        ends = []
        for sign in (1, -1):
            moved = list(rates)
            moved[which] += sign * step
            ends.append(float(formula(*mixture.true_rates(*moved), mixture.pi)))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return slopes


def standard_error(table: ScoreTable, influence: Influence) -> float:
    """Compute the standard error of a functional from its influence on rows of the two groups.

    A single row says nothing about the spread of its group.
    """
    variance = 0.0
    for mass, values, size in zip(_masses(table), influence, table.effective_sizes, strict=True):
        if size <= 1 + 1e-9:
            return np.inf
        mean = np.dot(mass, values)
        variance += np.dot(mass, (values - mean) ** 2) / (size - 1)
    return float(np.sqrt(variance))


def auc_interval(table: ScoreTable, value: float, confidence: float) -> tuple[float, float]:
    """Interval for AUC_pu: DeLong's variance, symmetric on the logit scale.

    Where less than one labeled row's worth of pairs is out of order (or in order), that variance
    is near zero by luck; the limit on that side then comes from the table with one more labeled
    and one more unlabeled row that the score does not tell apart.
    """
    size = table.effective_sizes[0]
    quantile = t_quantile(confidence, size)
    influence = auc_influence(table)
    low, high = logit_interval(value, standard_error(table, influence), quantile)
    if min(value, 1 - value) * size >= 1:
        return low, high
    sizes = np.array(table.effective_sizes)
    shares = sizes / (sizes + 1)
    center = float(np.prod(shares) * value + (1 - np.prod(shares)) / 2)
    variance = 0.0
    for mass, values, n in zip(_masses(table), influence, sizes, strict=True):
        spread = n * np.dot(mass, (values - center) ** 2) + (0.5 - center) ** 2
        variance += spread / (n + 1) ** 2
    padded = logit_interval(center, float(np.sqrt(variance)), quantile)
    return min(low, padded[0]), max(high, padded[1])


def logit_interval(value: float, error: float, quantile: float) -> tuple[float, float]:
    """Interval for a share, symmetric on the logit scale."""
    from scipy.special import expit, logit

    # The delta method divides by value * (1 - value), which must not vanish.
    inside = float(np.clip(value, 1e-4, 1 - 1e-4))
    half = quantile * error / (inside * (1 - inside))
    return float(expit(logit(inside) - half)), float(expit(logit(inside) + half))


def expanded_percentiles(
    replicates: FloatArray, confidence: float, size: float, axis: int = 0
) -> FloatArray:
    """Bootstrap percentiles, widened for small samples as Hesterberg (2015) advises.

    Plain percentiles are too narrow by the factor sqrt((n-1)/n) and by taking normal quantiles
    for Student's; with 50 labeled rows that is 3.6%.
    """
    from scipy.special import ndtr

    stretch = np.sqrt(size / max(size - 1, 1.0)) * t_quantile(confidence, size)
    tail = float(ndtr(-stretch))
    result: FloatArray = np.quantile(replicates, [tail, 1 - tail], axis=axis)
    return result


def _masses(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    return table.labeled[::-1] / table.n_labeled, table.unlabeled[::-1] / table.n_unlabeled


def _from_below(values: FloatArray) -> FloatArray:
    # A row at a score counts in the head of that score and of all lower ones.
    total: FloatArray = np.cumsum(values[::-1])[::-1]
    return total
