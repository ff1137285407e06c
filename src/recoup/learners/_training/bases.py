"""Features of rows, Gaussian or linear, and what is summed of them block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from recoup._core.checks import FloatArray

BLOCK_CELLS = 2**20
MEDIAN_ROWS = 500


class Moments(NamedTuple):
    """Number, sum and sum of outer products of some feature vectors."""

    n: float
    total: FloatArray
    outer: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Return mu, the mean feature vector."""
        return self.total / self.n

    def __add__(self, other: Moments) -> Moments:  # type: ignore[override]
        """Return the moments of both sets together."""
        return Moments(self.n + other.n, self.total + other.total, self.outer + other.outer)

    def __sub__(self, other: Moments) -> Moments:
        """Return the moments of what is left when a part is taken away."""
        return Moments(self.n - other.n, self.total - other.total, self.outer - other.outer)


class Basis(Protocol):
    """What turns rows into features."""

    @property
    def size(self) -> int:
        """Return the number of features."""

    def features(self, rows: FloatArray) -> FloatArray:
        """Return phi, one vector per row."""


class GaussianBasis(NamedTuple):
    """Bumps of one width around centres."""

    centers: FloatArray
    width: float

    @property
    def size(self) -> int:
        """Return the number of centres."""
        return len(self.centers)

    def features(self, rows: FloatArray) -> FloatArray:
        """Return the height of each bump at each row."""
        squares = np.einsum("ij,ij->i", rows, rows)[:, None] - 2 * (rows @ self.centers.T)
        squares += np.einsum("ij,ij->i", self.centers, self.centers)
        # Rounding leaves a little more or less than nothing between a row and itself.
        np.maximum(squares, 0.0, out=squares)
        squares *= -0.5 / self.width**2
        heights: FloatArray = np.exp(squares, out=squares)
        return heights


class LinearBasis(NamedTuple):
    """Coordinates along orthonormal directions, the columns."""

    directions: FloatArray

    @property
    def size(self) -> int:
        """Return the number of directions."""
        return len(self.directions.T)

    def features(self, rows: Any) -> FloatArray:
        """Return the coordinates of rows, which may be sparse."""
        coordinates: FloatArray = rows @ self.directions
        return coordinates


def blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Cut rows into blocks whose features fit into a few megabytes."""
    step = max(1, BLOCK_CELLS // n_features)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def moments(rows: Any, basis: Basis, weights: FloatArray | None = None) -> Moments:
    """Add up the features of rows, of which only a block is held at a time.

    A row with a weight counts as that many rows. Rows may be sparse.
    """
    n = rows.shape[0]
    total, outer = np.zeros(basis.size), np.zeros((basis.size, basis.size))
    for block in blocks(n, basis.size):
        features = basis.features(rows[block])
        counting = features if weights is None else features * weights[block, None]
        total += counting.sum(axis=0)
        outer += counting.T @ features
    return Moments(float(n if weights is None else weights.sum()), total, outer)


def weighted_sums(rows: Any, basis: Basis, weights: FloatArray) -> FloatArray:
    """Return g(x) = w . phi(x) for all rows, one column for each column of weights."""
    sums = np.empty((rows.shape[0], weights.shape[1]))
    for block in blocks(len(sums), basis.size):
        sums[block] = basis.features(rows[block]) @ weights
    return sums


def median_distance(rows: FloatArray, rng: np.random.Generator) -> float:
    """Median distance between some rows; of those apart, where most are copies."""
    from scipy.spatial.distance import pdist

    some = rows[rng.choice(len(rows), min(MEDIAN_ROWS, len(rows)), replace=False)]
    distances = pdist(some)
    median = float(np.median(distances)) if len(distances) else 0.0
    if median > 0:
        return median
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else 1.0
