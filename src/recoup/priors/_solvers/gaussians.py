"""Gaussian basis functions on some of the rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

N_FOLDS = 5
# The median distance of so many rows is that of all within a few percent.
DISTANCE_ROWS = 1000
CHUNK = 4096


def standardized(X: FloatArray) -> FloatArray:
    """Give every column that varies mean 0 and variance 1, and drop the others."""
    varies = np.ptp(X, axis=0) > 0
    X = X[:, varies]
    scaled: FloatArray = (X - X.mean(axis=0)) / X.std(axis=0)
    return scaled


def squared_distances(X: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the squared distance of each row to each center."""
    squares = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", centers, centers)
    # |x|^2 + |c|^2 - 2xc of equal rows may be slightly negative by rounding.
    found: FloatArray = np.maximum(squares - 2 * (X @ centers.T), 0.0)
    return found


def median_distance(X: FloatArray, rng: np.random.Generator) -> float:
    """Return the square root of the median squared distance of two rows that differ."""
    if len(X) > DISTANCE_ROWS:
        X = X[rng.choice(len(X), DISTANCE_ROWS, replace=False)]
    squares = squared_distances(X, X)[np.triu_indices(len(X), 1)]
    apart = squares[squares > 1e-12]
    return float(np.sqrt(np.median(apart))) if len(apart) else 1.0


def chosen_centers(
    X: FloatArray, among: NDArray[np.bool_], n_basis: int, rng: np.random.Generator
) -> FloatArray:
    """Draw up to ``n_basis`` of some rows."""
    rows = np.flatnonzero(among)
    if len(rows) > n_basis:
        rows = np.sort(rng.choice(rows, n_basis, replace=False))
    return X[rows]


def fold_numbers(s: NDArray[np.int_], rng: np.random.Generator) -> NDArray[np.intp]:
    """Deal labeled rows and unlabeled rows out to folds, separately."""
    folds = np.empty(len(s), np.intp)
    for kind in (0, 1):
        rows = np.flatnonzero(s == kind)
        folds[rng.permutation(rows)] = np.arange(len(rows)) % N_FOLDS
    return folds


def chunks(n: int) -> Iterator[slice]:
    """Cut rows into pieces whose distances fit in memory."""
    for start in range(0, n, CHUNK):
        yield slice(start, start + CHUNK)
