"""How much single rows move a value, and what that says about its error.

A recovered value is a function of three things: how the labeled rows lie along the scores, how the
unlabeled rows do, and which share of the rows has a label. Its slopes in the three give the error
of every metric by one formula, for plain and for weighted rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from recoup._core.checks import FloatArray
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

# How much a labeled and an unlabeled row at each score, highest first, move a value.
RowEffects: TypeAlias = tuple[FloatArray, FloatArray]

STEP = 1e-4


@dataclass(frozen=True, eq=False)
class Influence:
    """Slopes of a value in everything that is counted.

    Attributes
    ----------
    labeled : ndarray of shape (n_scores,)
        How much a labeled row at each score, highest first, moves the value.
    unlabeled : ndarray of shape (n_scores,)
        The same for an unlabeled row.
    share : float, default=0.0
        Slope in the share of labeled rows; with propensities, in the share of positives that
        they imply.
    known : float, default=0.0
        Slope in the share of known negatives among the rows counted as unlabeled.
    """

    labeled: FloatArray
    unlabeled: FloatArray
    share: float = 0.0
    known: float = 0.0


def influence_of(
    effects: RowEffects,
    value: Callable[[Mixture], float],
    table: ScoreTable,
    mixture: Mixture,
) -> Influence:
    """Complete the effects of rows at a score by the slopes in the shares of the groups.

    Parameters
    ----------
    effects : tuple of two ndarray of shape (n_scores,)
        How much labeled and unlabeled rows at each score move the value, the shares held.
    value : callable
        The value for another mixture.
    table : ScoreTable
        The counted rows.
    mixture : Mixture
        Shares of positives that belong to the table.

    Returns
    -------
    Influence
    """
    if table.shared is not None:
        return Influence(
            *effects, share=_slope(value, mixture, mixture.alpha, Mixture.by_propensity)
        )
    if mixture.scheme == "case-control":
        return Influence(*effects)
    by_pi = _slope(value, mixture, mixture.pi, lambda pi: replace(mixture, pi=pi))
    known = 0.0
    if table.n_known:
        share = table.n_known / table.n_unlabeled
        # Alpha is that of the rows really unlabeled times their share of those counted so.
        hidden = mixture.alpha / (1 - share)
        known = _slope(
            value,
            mixture,
            share,
            lambda at: Mixture.of(table, hidden, mixture.beta, "single-sample", known_share=at),
        )
    return Influence(*effects, share=by_pi * (mixture.beta - mixture.alpha), known=known)


def _slope(
    value: Callable[[Mixture], float],
    mixture: Mixture,
    at: float,
    moved: Callable[[float], Mixture],
) -> float:
    step = STEP * min(at, 1 - at)
    if step <= 0:
        # At an end of the range only one side is there.
        one, step = (at + STEP, STEP) if at <= 0 else (at - STEP, -STEP)
        return float((value(moved(one)) - value(mixture)) / step)
    return float((value(moved(at + step)) - value(moved(at - step))) / (2 * step))


def row_slopes(table: ScoreTable, influence: Influence) -> tuple[FloatArray, FloatArray]:
    """How much one unit of weight more at each score, highest first, moves the value.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    influence : Influence
        Slopes of the value.

    Returns
    -------
    labeled, unlabeled : ndarray of shape (n_scores,)
        For a row counted as labeled, and for one counted as unlabeled. Their means over the rows
        are zero: more of everything moves nothing.
    """
    n_labeled, n_unlabeled = table.n_labeled, table.n_unlabeled
    on_labeled = _centered(table.labeled, influence.labeled) / n_labeled
    on_unlabeled = _centered(table.unlabeled, influence.unlabeled) / n_unlabeled
    if influence.share:
        # The share is labeled / (labeled + unlabeled), or labeled / all rows where all rows are
        # counted as unlabeled.
        apart = table.shared is None
        total = n_labeled * apart + n_unlabeled
        share = n_labeled / total
        on_labeled += influence.share * (1 - share * apart) / total
        on_unlabeled -= influence.share * share / total
    return on_labeled, on_unlabeled


def known_slopes(table: ScoreTable, influence: Influence) -> tuple[float, float]:
    """How much more one unit of weight moves the value if it is known to be negative, and if not.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    influence : Influence
        Slopes of the value.

    Returns
    -------
    known, others : float
        To be added to the slope of a row counted as unlabeled.
    """
    share = table.n_known / table.n_unlabeled
    slope = influence.known / table.n_unlabeled
    return slope * (1 - share), -slope * share


def standard_error(table: ScoreTable, influence: Influence) -> float:
    """Compute the standard error of a value from its influence, for plain or weighted rows.

    Rows move the value by their weight times a slope, so squared weights times squared slopes add
    up (the sandwich estimate). A single row says nothing about the spread of its group.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    influence : Influence
        Slopes of the value.

    Returns
    -------
    float
        Infinity where a group has one row only.
    """
    if min(table.effective_sizes) <= 1 + 1e-9:
        return np.inf
    on_labeled, on_unlabeled = row_slopes(table, influence)
    labeled, unlabeled = (size / (size - 1) for size in table.effective_sizes)
    squares_l, squares_u = (
        table.squares_of(group)[::-1].astype(float) for group in ("labeled", "unlabeled")
    )
    variance = labeled * np.dot(squares_l, on_labeled**2)
    if influence.known:
        known = table.known_squares[::-1]
        on_known, on_others = known_slopes(table, influence)
        variance += unlabeled * np.dot(known, (on_unlabeled + on_known) ** 2)
        variance += unlabeled * np.dot(squares_u - known, (on_unlabeled + on_others) ** 2)
    else:
        variance += unlabeled * np.dot(squares_u, on_unlabeled**2)
    if table.shared is not None:
        variance += 2 * np.dot(table.shared[::-1], on_labeled * on_unlabeled)
    return float(np.sqrt(max(variance, 0.0)))


def rows_behind(table: ScoreTable, influence: Influence) -> float:
    """How many labeled rows of equal influence would say as much about the size of the error.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    influence : Influence
        Slopes of the value.

    Returns
    -------
    float
        The labeled rows themselves where none has a weight. A few rows of large weight and large
        influence tell less about the error than Kish's size says.
    """
    kish = table.effective_sizes[0]
    if table.squares is None:
        return kish
    mass, squares = table.labeled[::-1], table.squares_of("labeled")[::-1]
    rows = np.divide(mass**2, squares, out=np.zeros_like(squares), where=squares > 0)
    on_labeled, _ = row_slopes(table, influence)

    def concentration(parts: FloatArray) -> float:
        """One over the number of rows that the squared influences are spread over."""
        spread = np.divide(parts**2, rows, out=np.zeros_like(parts), where=rows > 0)
        return float(spread.sum() / max(parts.sum() ** 2, 1e-300))

    weighted, plain = concentration(squares * on_labeled**2), concentration(rows * on_labeled**2)
    return min(kish, float(rows.sum()) * plain / weighted) if weighted > 0 else kish


def _centered(counts: Any, values: FloatArray) -> FloatArray:
    centered: FloatArray = values - np.dot(counts[::-1], values) / counts.sum()
    return centered


def auc_effects(table: ScoreTable) -> RowEffects:
    """How much a row at each score (highest first) moves AUC_pu: its placement."""
    labeled, unlabeled = masses(table)
    on_labeled = 1 - np.cumsum(unlabeled) + unlabeled / 2
    on_unlabeled = np.cumsum(labeled) - labeled / 2
    return on_labeled, on_unlabeled


def roc_auc_effects(table: ScoreTable, mixture: Mixture) -> RowEffects:
    """How much a row at each score (highest first) moves the unclipped AUC."""
    gap = mixture.beta - mixture.alpha
    on_labeled, on_unlabeled = auc_effects(table)
    return on_labeled / gap, on_unlabeled / gap


def aul_effects(table: ScoreTable, mixture: Mixture) -> RowEffects:
    """How much a row at each score (highest first) moves the area under the lift curve."""
    gap = mixture.beta - mixture.alpha
    on_labeled, on_unlabeled = auc_effects(table)
    return on_labeled * (1 - mixture.pi) / gap, on_unlabeled * (1 - mixture.pi) / gap


def average_precision_effects(table: ScoreTable, mixture: Mixture) -> RowEffects:
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


def partial_auc_effects(table: ScoreTable, mixture: Mixture, max_fpr: float = 0.1) -> RowEffects:
    """How much a row at each score (highest first) moves the standardized partial AUC."""
    (tpr_l, tpr_u), (fpr_l, fpr_u) = np.transpose(
        [mixture.true_rates(1.0, 0.0), mixture.true_rates(0.0, 1.0)]
    )
    heads_l, heads_u = table.heads("labeled"), table.heads("unlabeled")
    tpr, fpr = (
        np.maximum.accumulate(np.append(0.0, on_l * heads_l + on_u * heads_u))
        for on_l, on_u in ((tpr_l, tpr_u), (fpr_l, fpr_u))
    )
    # The area up to max_fpr grows by the rise of tpr along fpr, and shrinks by the rise of fpr
    # along tpr. A row counts from its own score, half of it, to where max_fpr is reached.
    along = np.maximum(max_fpr - (fpr[1:] + fpr[:-1]) / 2, 0.0)
    reached = np.interp(max_fpr, fpr, tpr)
    rise = np.where(along > 0, np.maximum(reached - (tpr[1:] + tpr[:-1]) / 2, 0.0), 0.0)
    scale = 0.5 / (max_fpr - max_fpr**2 / 2)
    return scale * (tpr_l * along - fpr_l * rise), scale * (tpr_u * along - fpr_u * rise)


def proper_effects(
    losses: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    table: ScoreTable,
    mixture: Mixture,
) -> RowEffects:
    """How much a row at each score (highest first) moves a proper score."""
    if_positive, if_negative = (loss[::-1] for loss in losses(table.centers))
    (pos_l, neg_l), (pos_u, neg_u) = mixture.true_rates(1.0, 0.0), mixture.true_rates(0.0, 1.0)
    pi = mixture.pi
    return (
        pi * pos_l * if_positive + (1 - pi) * neg_l * if_negative,
        pi * pos_u * if_positive + (1 - pi) * neg_u * if_negative,
    )


def point_effects(
    formula: Callable[..., Any], table: ScoreTable, mixture: Mixture, threshold: float
) -> RowEffects:
    """How much a row at each score (highest first) moves a metric at a threshold."""
    above = (table.scores >= threshold)[::-1].astype(float)
    place = len(table.scores) - int(np.searchsorted(table.scores, threshold, side="left"))
    rates = [np.append(0.0, table.heads(group))[place] for group in ("labeled", "unlabeled")]
    on_labeled, on_unlabeled = rate_slopes(formula, rates, mixture)
    return on_labeled * above, on_unlabeled * above


def rate_slopes(
    formula: Callable[..., Any], rates: Any, mixture: Mixture, step: float = 1e-6
) -> list[Any]:
    """Slope of a threshold metric in each observed rate."""
    slopes = []
    for which in range(2):
        ends = []
        for sign in (1, -1):
            moved = list(rates)
            moved[which] = moved[which] + sign * step
            ends.append(np.asarray(formula(*mixture.true_rates(*moved), mixture.pi), float))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    return slopes


def masses(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Share of each group at each score, highest first."""
    return table.labeled[::-1] / table.n_labeled, table.unlabeled[::-1] / table.n_unlabeled


def _from_below(values: FloatArray) -> FloatArray:
    # A row at a score counts in the head of that score and of all lower ones.
    total: FloatArray = np.cumsum(values[::-1])[::-1]
    return total
