"""What rows count: sums, quantiles and draws in proportion to weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray


class Counts(NamedTuple):
    """How many rows of each kind there are, or what they count together."""

    labeled: float
    unlabeled: float
    negative: float

    @property
    def others(self) -> float:
        """Rows without a label: the unlabeled ones and the known negatives."""
        return self.unlabeled + self.negative


def counted(s: NDArray[np.int_], weights: FloatArray | None = None) -> Counts:
    """Count labeled, unlabeled and known-negative rows; without weights in whole numbers."""
    kinds = (s == 1, s == 0, s == -1)
    if weights is None:
        return Counts(*(int(np.count_nonzero(kind)) for kind in kinds))
    return Counts(*(float(weights[kind].sum()) for kind in kinds))


def some_weights(weights: FloatArray | None, rows: ArrayLike) -> FloatArray | None:
    """Return the weights of some rows, or None where all rows count alike."""
    return None if weights is None else weights[np.asarray(rows)]


def weighted_quantile(values: FloatArray, share: float, weights: FloatArray | None) -> float:
    """Return the value that a share of the rows, by their weights, does not exceed.

    Without weights it lies between two values, as that of NumPy does; with weights it is as if
    each row came as often as it counts, which need not be a whole number.
    """
    if weights is None:
        return float(np.quantile(values, share))
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    # The row that counts w covers the places from where the last one ended to w - 1 beyond.
    place = share * (ends[-1] - 1)
    first, last = ends - weights[order], ends - 1
    if not (weights >= 1).all():  # rows of less than one have no such places
        return float(values[order][np.searchsorted(ends, share * ends[-1]).clip(max=len(ends) - 1)])
    places = np.column_stack([first, last]).ravel()
    return float(np.interp(place, places, np.repeat(values[order], 2)))


def rows_below(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return what the rows below each count together, those with the same score by half."""
    values, at = np.unique(scores, return_inverse=True)
    here = np.bincount(at, weights, minlength=len(values))
    below: FloatArray = (np.cumsum(here) - here / 2)[at]
    return below


def urn(weights: FloatArray, rng: np.random.Generator | None = None) -> NDArray[np.intp]:
    """Return places of rows, each as often as it counts; what is left over goes by chance.

    A row that counts 2 is there twice, one that counts 0 never. One that counts 0.3 is there in
    three of ten urns. Without a generator left-overs go to every so many-th row.
    """
    whole = bool((weights == np.round(weights)).all())
    n = len(weights)
    order = np.arange(n) if whole or rng is None else rng.permutation(n)
    ends = np.cumsum(weights[order])
    size = max(round(float(ends[-1])), 1)
    start = 0.5 if whole or rng is None else rng.random()
    # Evenly spaced points on the line of all weights: each row is hit as often as it is long.
    points = (start + np.arange(size)) * (ends[-1] / size)
    places: NDArray[np.intp] = order[np.searchsorted(ends, points, side="right").clip(max=n - 1)]
    return places


def mean_and_spread(
    rows: NDArray[Any], weights: FloatArray | None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the mean and the standard deviation of each feature; 1 where it is constant."""
    if weights is None:
        center, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
    else:
        center = weights @ rows.astype(np.float64) / weights.sum()
        spread = np.sqrt(weights @ (rows - center) ** 2 / weights.sum())
    # A constant feature tells nothing; dividing by its rounding errors would.
    spread[spread <= 1e-12 * np.abs(rows).max(axis=0)] = 1.0
    return center.astype(np.float32), spread.astype(np.float32)
