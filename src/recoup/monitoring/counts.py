"""Rows counted by period and score: all that the numbers of the periods are computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

# Bins of the score: so many above and below the threshold, if there are as many different scores.
BINS_ABOVE, BINS_BELOW = 5, 8
DIRECTIONS = 5
# Where fewer positives than this could have a label, labels say nothing of their number.
SMALLEST_CHANCE = 1e-4


@dataclass(frozen=True, eq=False)
class PeriodCounts:
    """Labeled and unlabeled rows by period and bin of the score.

    Attributes
    ----------
    labeled, unlabeled : ndarray of shape (n_periods, n_bins)
        Rows.
    observable : ndarray of shape (n_periods, n_bins)
        Share of the rows that could get a label at all.
    above : ndarray of shape (n_bins,)
        Whether a bin lies at or above the threshold.
    edges : ndarray of shape (n_bins - 1,)
        Lowest score of each bin but the first.
    basis : ndarray of shape (n_bins, DIRECTIONS)
        Directions in which the distribution of scores can tilt: along the score, over the
        threshold, then humps and waves of the score. Where the two classes weigh the same, all have
        mean 0 and variance 1, and none goes with another; zeros where there are too few bins.
    """

    labeled: FloatArray
    unlabeled: FloatArray
    observable: FloatArray
    above: NDArray[np.bool_]
    edges: FloatArray
    basis: FloatArray

    @classmethod
    def of(
        cls,
        scores: FloatArray,
        labeled: NDArray[np.bool_],
        observable: NDArray[np.bool_],
        period: NDArray[np.int64],
        n_periods: int,
        threshold: float,
    ) -> PeriodCounts:
        """Count rows.

        Parameters
        ----------
        scores : ndarray of shape (n,)
            Higher is more positive.
        labeled : ndarray of shape (n,)
            Whether a row has its label by now.
        observable : ndarray of shape (n,)
            Whether it could get one.
        period : ndarray of shape (n,)
            Number of its period, from 0.
        n_periods : int
            How many periods there are.
        threshold : float
            Rows with this score or more are flagged.

        Returns
        -------
        PeriodCounts
        """
        edges = bin_edges(scores, labeled, threshold, observable | labeled)
        place = np.searchsorted(edges, scores, side="right")
        n_bins = len(edges) + 1
        cell = period * n_bins + place
        size = n_periods * n_bins

        def count(mask: NDArray[np.bool_]) -> FloatArray:
            found = np.bincount(cell[mask], minlength=size).astype(float)
            return found.reshape(n_periods, n_bins)

        with_label, seen = count(labeled), count(observable | labeled)
        rows = count(np.ones(len(cell), bool))
        share = np.divide(seen, rows, out=np.ones_like(rows), where=rows > 0)
        lowest = np.concatenate([[-np.inf], edges])
        above = lowest >= threshold
        weight = with_label.sum(axis=0) / max(with_label.sum(), 1)
        weight = weight + rows.sum(axis=0) / max(rows.sum(), 1)
        return cls(with_label, rows - with_label, share, above, edges, _directions(weight, above))

    @property
    def n_periods(self) -> int:
        """How many periods there are."""
        return len(self.labeled)

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return len(self.above)

    @property
    def rows(self) -> FloatArray:
        """All rows by period and bin."""
        return self.labeled + self.unlabeled

    @property
    def n_rows(self) -> FloatArray:
        """All rows of each period."""
        total: FloatArray = self.rows.sum(axis=1)
        return total

    @property
    def n_labeled(self) -> FloatArray:
        """Labeled rows of each period."""
        total: FloatArray = self.labeled.sum(axis=1)
        return total

    @property
    def flagged(self) -> FloatArray:
        """Rows of each period at or above the threshold."""
        total: FloatArray = self.rows[:, self.above].sum(axis=1)
        return total


def positives_by_bin(labeled: FloatArray, rows: FloatArray, chance: FloatArray) -> FloatArray:
    """Estimate how many positives each bin has, by labels and the chance to have one.

    Parameters
    ----------
    labeled, rows : ndarray of shape (n_periods, n_bins)
        Labeled rows, and all.
    chance : ndarray of shape (n_periods, n_bins)
        Chance that a positive has its label.

    Returns
    -------
    ndarray of shape (n_bins,)
        Of a bin without any chance, as many of its rows as in the nearest bin with one.
    """
    total = rows.sum(axis=0)
    seen = (rows * chance).sum(axis=0) / np.maximum(total, 1)
    open_bins = np.flatnonzero(seen > SMALLEST_CHANCE)
    if not len(open_bins):
        return np.asarray(labeled.sum(axis=0) + 0.5)
    found = (labeled.sum(axis=0) + 0.5) / np.maximum(seen, SMALLEST_CHANCE)
    nearest = open_bins[np.argmin(np.abs(np.arange(len(seen))[:, None] - open_bins), axis=1)]
    like_them = found[nearest] / np.maximum(total[nearest], 1) * total
    guessed = np.minimum(like_them, total) + 0.5
    return np.asarray(np.where(seen > SMALLEST_CHANCE, found, guessed))


def bin_edges(
    scores: FloatArray,
    labeled: NDArray[np.bool_],
    threshold: float,
    observable: NDArray[np.bool_],
) -> FloatArray:
    """Choose edges of bins, the threshold among them, that hold alike many rows of both kinds.

    Where rows of some scores are kept from having labels, as by a rule that blocks high ones, the
    border of this rule is an edge too.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Higher is more positive.
    labeled : ndarray of shape (n,)
        Labeled rows count as much as the others together, so that few of them are resolved too.
    threshold : float
        An edge, if there are rows on both sides of it.
    observable : ndarray of shape (n,)
        Whether a row could get a label.

    Returns
    -------
    ndarray
        Ascending.
    """
    order = np.argsort(scores, kind="stable")
    values, known = scores[order], labeled[order]
    weight = known / max(known.sum(), 1) + ~known / max((~known).sum(), 1)
    cut = int(np.searchsorted(values, threshold, side="left"))
    edges = [threshold] if 0 < cut < len(values) else []
    for part, n_bins in ((slice(None, cut), BINS_BELOW), (slice(cut, None), BINS_ABOVE)):
        inside = values[part]
        if len(inside):
            total = np.cumsum(weight[part])
            wanted = total[-1] * np.arange(1, n_bins) / n_bins
            edges += inside[np.searchsorted(total, wanted)].tolist()
    edges += _border(values, observable[order])
    found = np.unique(np.asarray(edges, float))
    return found[found > values[0]] if len(values) else found


def _border(values: FloatArray, observable: NDArray[np.bool_]) -> list[float]:
    """Return the score that best parts rows that could get a label from those that could not."""
    n_open = int(observable.sum())
    n_closed = len(values) - n_open
    if not n_open or not n_closed:
        return []
    below = np.cumsum(observable / n_open - ~observable / n_closed)
    # Equal scores stay together.
    last = np.append(values[1:] != values[:-1], False)
    gap = np.where(last, np.abs(below), -1.0)
    place = int(np.argmax(gap))
    return [float(values[place + 1])] if gap[place] > 0 else []


def _directions(weight: FloatArray, above: NDArray[np.bool_]) -> FloatArray:
    """Return directions over the bins, orthogonal under a weight."""
    weight = weight / weight.sum() if weight.sum() > 0 else np.full(len(weight), 1 / len(weight))
    middle = np.cumsum(weight) - weight / 2
    directions: list[FloatArray] = []
    humps = [(2 * middle - 1) ** power for power in range(2, DIRECTIONS)]
    for raw in (middle, above.astype(float), *humps):
        direction = raw - weight @ raw
        for earlier in directions:
            direction = direction - (weight @ (direction * earlier)) * earlier
        size = np.sqrt(weight @ direction**2)
        directions.append(direction / size if size > 1e-9 else np.zeros(len(weight)))
    return np.stack(directions, axis=1)
