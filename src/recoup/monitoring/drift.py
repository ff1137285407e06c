"""What the rows of each period say for each way in which things can have changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from recoup._core.checks import FloatArray
from recoup.monitoring.counts import PeriodCounts, positives_by_bin
from recoup.monitoring.smoothing import MOST_LABELED, Known

Cause: TypeAlias = Literal["recall", "share", "traffic"]
CAUSES: tuple[Cause, ...] = ("recall", "share", "traffic")

# Changes that are looked for: recall lost, times as many positives, tilts of the negatives in
# standard deviations of their place among the scores, and growth of one bin of them.
RECALL_LOST = (0.15, 0.3, 0.5)
TIMES_AS_MANY = (1.25, 1.5, 2.0, 3.0)
TILTS = (-0.5, -0.25, 0.25, 0.5)
GROWTH = 1.5
# Neighboring periods of the reference whose sums say how much periods vary by themselves.
TOGETHER = (1, 4, 8)
# Where nearly all rows are positive, there cannot be many times as many.
MOST_POSITIVE = 0.9


@dataclass(frozen=True, eq=False)
class Reference:
    """How it was before: scores of positives and negatives, and the share of positives.

    Attributes
    ----------
    positives, negatives : ndarray of shape (n_bins,)
        How either class is spread over the bins.
    pi : float
        Share of positives.
    n_labeled, n_rows : float
        How many rows it was learned from.
    """

    positives: FloatArray
    negatives: FloatArray
    pi: float
    n_labeled: float
    n_rows: float

    @classmethod
    def of(cls, counts: PeriodCounts, known: Known, periods: slice) -> Reference:
        """Learn it from some periods, by labels whose chance to be there is known."""
        labeled, rows = counts.labeled[periods], counts.rows[periods]
        found = positives_by_bin(labeled, rows, _chance(counts, known)[periods])
        n_rows = float(rows.sum())
        n_positive = min(float(found.sum()), MOST_POSITIVE * n_rows)
        positives = found / found.sum()
        others = np.maximum(rows.sum(axis=0) - n_positive * positives, 0.02 * rows.sum(axis=0) + 1)
        pi = n_positive / n_rows
        return cls(positives, others / others.sum(), pi, float(labeled.sum()), n_rows)


@dataclass(frozen=True, eq=False)
class CauseEvidence:
    """Log likelihood ratios of changes against none, by change and period.

    Attributes
    ----------
    cause : str
        What the changes have in common.
    ratios : ndarray of shape (n_changes, n_periods)
        Ratios, tempered by how much periods of the reference vary by themselves: what an alarm
        needs.
    raw : ndarray of shape (n_changes, n_periods)
        Ratios as they are: what tells causes apart.
    """

    cause: Cause
    ratios: FloatArray
    raw: FloatArray


def evidence_of_change(
    counts: PeriodCounts, known: Known, reference: Reference, periods: slice
) -> list[CauseEvidence]:
    """Compare each period with the reference, for each cause.

    Scores of labeled rows tell a model that sees less, whatever the share of positives. Scores of
    unlabeled rows and numbers of labels tell more positives from other negatives.

    Parameters
    ----------
    counts : PeriodCounts
        Rows by period and bin.
    known : Known
        Label frequency and delays.
    reference : Reference
        How it was before.
    periods : slice
        Periods of the reference.

    Returns
    -------
    list of CauseEvidence
        One for each cause.
    """
    chance = _chance(counts, known)
    total = _NumberOfLabels(counts, chance, known, reference, periods)
    expected = chance * reference.positives
    spread = _Spread(counts.labeled, expected, reference.n_labeled, periods, wanders=False)
    unlabeled = _Spread(counts.unlabeled, _unlabeled(reference, chance), reference.n_rows, periods)
    recall = [
        spread.ratios(chance * _blinder(reference, counts, lost, shape))
        for shape in ("mixed", "tilted")
        for lost in RECALL_LOST
    ]
    share = [
        unlabeled.ratios(_unlabeled(reference, chance, times=times)) + total.ratios(times)
        for times in TIMES_AS_MANY
        if times * reference.pi < MOST_POSITIVE
    ]
    traffic = [
        unlabeled.ratios(_unlabeled(reference, chance, negatives=negatives))
        for negatives in _other_negatives(reference, counts)
    ]
    parts = zip(CAUSES, (recall, share, traffic), strict=True)
    return [
        CauseEvidence(cause, *np.moveaxis(np.array(ratios), 1, 0))
        for cause, ratios in parts
        if ratios
    ]


def _chance(counts: PeriodCounts, known: Known) -> FloatArray:
    chance = known.label_frequency * known.arrived[:, None] * counts.observable
    smallest: FloatArray = np.clip(chance, 0.0, MOST_LABELED)
    return smallest


def _unlabeled(
    reference: Reference,
    chance: FloatArray,
    *,
    times: float = 1.0,
    negatives: FloatArray | None = None,
) -> FloatArray:
    """Return how unlabeled rows are spread, up to a factor, after a change."""
    pi = times * reference.pi
    others = reference.negatives if negatives is None else negatives
    found: FloatArray = pi * reference.positives * (1 - chance) + (1 - pi) * others
    return found


def _blinder(reference: Reference, counts: PeriodCounts, lost: float, shape: str) -> FloatArray:
    """Return the scores of positives of which a share of those found before is found no more."""
    if shape == "mixed":
        return (1 - lost) * reference.positives + lost * reference.negatives
    # All of them score lower: by how much is found by halving.
    above, direction = counts.above, counts.basis[:, 0]
    wanted = (1 - lost) * reference.positives[above].sum()
    low, high = -20.0, 0.0
    for _ in range(40):
        middle = (low + high) / 2
        tilted = _tilted(reference.positives, middle * direction)
        low, high = (middle, high) if tilted[above].sum() < wanted else (low, middle)
    return _tilted(reference.positives, low * direction)


def _other_negatives(reference: Reference, counts: PeriodCounts) -> list[FloatArray]:
    tilted = [_tilted(reference.negatives, tilt * counts.basis[:, 0]) for tilt in TILTS]
    grown = [_tilted(reference.negatives, np.log(GROWTH) * one) for one in np.eye(counts.n_bins)]
    return tilted + grown


def _tilted(spread: FloatArray, by: FloatArray) -> FloatArray:
    moved = spread * np.exp(by)
    found: FloatArray = moved / moved.sum()
    return found


class _Spread:
    """How rows of each period are spread over the bins, against what is expected.

    Parameters
    ----------
    rows : ndarray of shape (n_periods, n_bins)
        Rows of one kind.
    expected : ndarray of shape (n_periods, n_bins)
        Their distribution without a change, up to a factor for each period.
    learned_from : float
        Rows that it was learned from.
    periods : slice
        Periods of the reference.
    wanders : bool, default=True
        Whether it is known to vary by itself.
    """

    def __init__(
        self,
        rows: FloatArray,
        expected: FloatArray,
        learned_from: float,
        periods: slice,
        wanders: bool = True,
    ) -> None:
        self.rows, self.learned_from, self.periods = rows, learned_from, periods
        self.wanders = wanders
        self.expected = _normalized(expected)

    def ratios(self, changed: FloatArray) -> FloatArray:
        """Return the log likelihood ratio of each period, tempered and as it is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(_normalized(changed) / self.expected)
        logs = np.where(self.expected > 0, logs, 0.0)
        ratios = (self.rows * logs).sum(axis=1)
        n_rows = self.rows.sum(axis=1)
        mean = (self.expected * logs).sum(axis=1)
        variance = n_rows * ((self.expected * logs**2).sum(axis=1) - mean**2)
        off = ratios - n_rows * mean
        within: Any = _own_variation(off, variance, self.periods, wanders=self.wanders)
        within = within * _error_of_reference(n_rows, self.learned_from)
        return np.stack([ratios / within, ratios])


class _NumberOfLabels:
    """How many labels each period has, against what is expected by its rows and age."""

    def __init__(
        self,
        counts: PeriodCounts,
        chance: FloatArray,
        known: Known,
        reference: Reference,
        periods: slice,
    ) -> None:
        self.seen, self.periods = counts.n_labeled, periods
        self.learned_from = reference.n_labeled
        weight = (chance * reference.positives).sum(axis=1)
        self.expected = np.maximum(counts.n_rows * reference.pi * weight, 1e-9)
        self.variance = self.expected * (1 + self.expected * known.arrived_variance)

    def ratios(self, times: float) -> FloatArray:
        """Return the same for so many times as many positives."""
        ratios = self.seen * np.log(times) - self.expected * (times - 1)
        off = (self.seen - self.expected) * np.log(times)
        within: Any = _own_variation(
            off, self.variance * np.log(times) ** 2, self.periods, wanders=True
        )
        # What is not known of delays makes the number of labels vary more than chance does.
        late = self.variance / self.expected
        within = within * late * _error_of_reference(self.expected, self.learned_from)
        return np.stack([ratios / within, ratios / late])


def _normalized(weights: FloatArray) -> FloatArray:
    total = weights.sum(axis=1, keepdims=True)
    found: FloatArray = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    return found


def _own_variation(
    off: FloatArray, variance: FloatArray, periods: slice, *, wanders: bool
) -> float:
    """Return by how many times periods of the reference vary more than by chance; at least 1.

    Single periods and sums of neighbors are looked at. What is known to wander by itself, as the
    share of positives does, is given half a standard error more than what so few periods show.
    """
    off, variance = off[periods], variance[periods]
    used = variance > 0
    off, variance = off[used], variance[used]
    found = 1.0
    for together in TOGETHER if wanders else TOGETHER[:-1]:
        if len(off) < 2 * together:
            continue
        window = np.ones(together)
        squares = np.convolve(off, window, "valid") ** 2 / np.convolve(variance, window, "valid")
        # A square of one standard deviation has variance 2.
        more = math.sqrt(2 * together / len(off)) / 2 if wanders else 0.0
        found = max(found, float(np.mean(squares)) * (1 + more))
    return found


def _error_of_reference(n_rows: FloatArray, learned_from: float) -> FloatArray:
    """Return by how much what was learned from few rows adds to the variance of later sums."""
    later = np.cumsum(n_rows[::-1])[::-1]
    found: FloatArray = 1 + later / max(learned_from, 1.0)
    return found
