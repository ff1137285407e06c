"""Numbers of each period, with their errors, from the smoothed model."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.monitoring.smoothing import ARRIVED, Smoothed

METRICS = {
    "pi": "Share of positives",
    "precision": "Precision",
    "recall": "Recall",
    "roc_auc": "AUC",
}
"""What is estimated of every period, and how it is called."""

# Values at the very end of their range have no interval on the scale of log odds.
INSIDE = 1e-6


@dataclass(frozen=True, eq=False)
class PeriodValues:
    """One metric, period by period.

    Attributes
    ----------
    value : ndarray of shape (n_periods,)
        NaN where there is none, as the precision of a period without flagged rows.
    lower, upper : ndarray of shape (n_periods,)
        Interval.
    """

    value: FloatArray
    lower: FloatArray
    upper: FloatArray


def period_values(
    smoothed: Smoothed, within: FloatArray, confidence: float
) -> dict[str, PeriodValues]:
    """Estimate share of positives, precision, recall and AUC of the rows of each period.

    What is not known is which unlabeled rows are positive. Their expected number in each bin has
    an error of the model, and the actual number varies around it: both count.

    Parameters
    ----------
    smoothed : Smoothed
        The fitted model.
    within : ndarray of shape (n_bins,)
        Chance that a positive scores higher than a negative of the same bin.
    confidence : float
        Level of the intervals.

    Returns
    -------
    dict of str to PeriodValues
        By key of the metric.
    """
    counts, cells = smoothed.counts, smoothed.cells
    n = counts.n_rows[:, None]
    total = n * cells.share * cells.positives
    hidden = total * (1 - cells.chance)
    chance = np.divide(
        hidden, cells.unlabeled, out=np.zeros_like(hidden), where=cells.unlabeled > 0
    )
    positive = counts.labeled + counts.unlabeled * chance
    negative = counts.rows - positive
    moves = _moves_of_chance(smoothed, hidden, chance)
    spread = counts.unlabeled * chance * (1 - chance)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    found = {}
    for key, (value, raw) in _metrics(positive, negative, counts.above, within).items():
        slope = np.nan_to_num(raw, posinf=0.0, neginf=0.0)
        by_model = np.einsum("wk,wkp->wp", slope * counts.unlabeled, moves)
        variance = np.einsum("wp,wpq,wq->w", by_model, smoothed.covariance, by_model)
        variance = variance + np.sum(slope**2 * spread, axis=1)
        found[key] = _interval(value, np.sqrt(np.maximum(variance, 0)), z)
    return found


def _moves_of_chance(smoothed: Smoothed, hidden: FloatArray, chance: FloatArray) -> FloatArray:
    """Return the derivatives of the chance that an unlabeled row of a cell is positive."""
    counts, cells = smoothed.counts, smoothed.cells
    positives, negatives = cells.class_slopes(counts)
    of_hidden = positives * (1 - cells.chance[:, :, None])
    for place in (ARRIVED, -1):
        of_hidden[:, :, place] -= cells.labeled
    others = of_hidden + negatives
    size = np.maximum(cells.unlabeled, 1e-12)[:, :, None]
    moved: FloatArray = (of_hidden - chance[:, :, None] * others) / size
    return moved


def _metrics(
    positive: FloatArray, negative: FloatArray, above: NDArray[np.bool_], within: FloatArray
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return each metric, and how much one more positive of each bin moves it."""
    rows = positive + negative
    with np.errstate(divide="ignore", invalid="ignore"):
        flagged = (rows * above).sum(axis=1, keepdims=True)
        n, n_pos = rows.sum(axis=1, keepdims=True), positive.sum(axis=1, keepdims=True)
        n_neg = negative.sum(axis=1, keepdims=True)
        found = (positive * above).sum(axis=1, keepdims=True)
        recall = found / n_pos
        beaten = np.cumsum(negative, axis=1) - negative + negative * within
        beating = n_pos - np.cumsum(positive, axis=1) + positive * within
        auc = (positive * beaten).sum(axis=1, keepdims=True) / (n_pos * n_neg)
        # A row that turns from negative to positive leaves the one and joins the other.
        auc_slope = (beaten / n_neg - auc) / n_pos - (beating / n_pos - auc) / n_neg
        return {
            "pi": (_flat(n_pos / n), np.ones_like(rows) / n),
            "precision": (_flat(found / flagged), above / flagged),
            "recall": (_flat(recall), (above - recall) / n_pos),
            "roc_auc": (_flat(auc), auc_slope),
        }


def _flat(column: FloatArray) -> FloatArray:
    return column[:, 0]


def _interval(value: FloatArray, error: FloatArray, z: float) -> PeriodValues:
    """Make intervals on the scale of log odds, so that they stay within 0 and 1.

    Close to an end that scale has no room: there, the error is simply cut.
    """
    inside = np.clip(value, INSIDE, 1 - INSIDE)
    odds = np.log(inside / (1 - inside))
    reach = z * error
    on_scale = reach / (inside * (1 - inside))
    has_room = reach < np.minimum(value, 1 - value)
    ends = []
    for side in (-1, 1):
        with np.errstate(over="ignore"):
            curved = 1 / (1 + np.exp(-(odds + side * on_scale)))
        straight = np.clip(value + side * reach, 0.0, 1.0)
        ends.append(np.where(np.isfinite(value), np.where(has_room, curved, straight), np.nan))
    return PeriodValues(value, ends[0], ends[1])
