"""Gaussian kernels of rows: the width that tells two samples apart best, and a low-rank factor."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

# Candidate widths, relative to the median distance between two rows.
WIDTHS = 10.0 ** np.linspace(-1, 1, 5)
# All pairs of rows are compared up to this many, a sample of rows beyond.
MAX_PAIRED = 4000
# The factor's pivots come from this many rows when there are many more.
MANY_ROWS, PIVOT_ROWS = 20_000, 10_000
MEAN_RESIDUAL = 1e-6
# Rows whose kernel values are held at a time.
BLOCK = 1000


def centered(points: FloatArray, weights: NDArray[np.int_], *, scale: bool) -> FloatArray:
    """Move the points' mean to the origin and, where asked to, bring columns to one scale."""
    # Distances are computed from inner products, which lose digits far from the origin.
    points = points - np.average(points, axis=0, weights=weights)
    if scale:
        spread = np.sqrt(np.average(points**2, axis=0, weights=weights))
        points /= np.where(spread > 0, spread, 1.0)
    return points


def _squared_distances(points: FloatArray, others: FloatArray) -> FloatArray:
    squares = points @ others.T
    squares *= -2
    squares += np.sum(points**2, axis=1)[:, None]
    squares += np.sum(others**2, axis=1)
    return np.maximum(squares, 0.0, out=squares)


def best_width(
    points: FloatArray,
    labeled: NDArray[np.int_],
    unlabeled: NDArray[np.int_],
    rng: np.random.Generator,
) -> float:
    """Choose the width, among five, at which the two kernel means are farthest apart."""
    counts = labeled + unlabeled
    every_row_once = len(points) <= MAX_PAIRED and counts.max() == 1
    sample = points if every_row_once else points[_spread_rows(counts, MAX_PAIRED // 2, rng)]
    squares = _squared_distances(sample, sample)
    median = float(np.median(squares))
    rounding = 1e-12 * float(squares.max())
    if median <= rounding:
        # At least half of all pairs are equal rows.
        median = float(np.median(squares[squares > rounding]))
    del squares
    widths = WIDTHS * math.sqrt(median)
    if len(points) <= MAX_PAIRED:
        contrast = unlabeled / unlabeled.sum() - labeled / labeled.sum()
        apart = _mean_kernels(points, contrast, points, contrast, widths)
    else:
        apart = _sampled_separations(points, labeled, unlabeled, widths, rng)
    return float(widths[int(np.argmax(apart))])


def _sampled_separations(
    points: FloatArray,
    labeled: NDArray[np.int_],
    unlabeled: NDArray[np.int_],
    widths: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Estimate the squared distances of the kernel means from some rows of each group."""
    groups, within = [], np.zeros(len(widths))
    for counts in (labeled, unlabeled):
        total = int(counts.sum())
        drawn = min(MAX_PAIRED // 2, total)
        group, equal = points[_spread_rows(counts, drawn, rng)], np.full(drawn, 1 / drawn)
        mean = _mean_kernels(group, equal, group, equal, widths)
        # Pairs of a row with itself weigh more among few rows than among all.
        within += 1 / total + (1 - 1 / total) * (mean - 1 / drawn) / (1 - 1 / drawn)
        groups.append((group, equal))
    separations: FloatArray = within - 2 * _mean_kernels(*groups[0], *groups[1], widths)
    return separations


def _mean_kernels(
    points: FloatArray,
    weights: FloatArray,
    others: FloatArray,
    on_others: FloatArray,
    widths: FloatArray,
) -> FloatArray:
    totals = np.zeros(len(widths))
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        squares = _squared_distances(points[block], others)
        for place, width in enumerate(widths):
            kernel = np.exp(squares * (-1 / (2 * width**2)))
            totals[place] += weights[block] @ (kernel @ on_others)
    return totals


def _kernel(points: FloatArray, others: FloatArray, width: float) -> FloatArray:
    kernel = _squared_distances(points, others)
    kernel *= -1 / (2 * width**2)
    return np.exp(kernel, out=kernel)


def _spread_rows(counts: NDArray[np.int_], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows, each from its own stretch of all rows, as indices of points."""
    places = (np.arange(size) + rng.random(size)) / size * counts.sum()
    found: NDArray[np.intp] = np.searchsorted(np.cumsum(counts), places, side="right")
    return found


def low_rank_factor(
    points: FloatArray, width: float, max_rank: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Factor the kernel matrix at low rank; return what its diagonal lacks as well."""
    chosen = np.arange(len(points))
    if len(points) > MANY_ROWS:
        chosen = np.sort(rng.choice(len(points), PIVOT_ROWS, replace=False))
    factor, pivots = _pivoted_cholesky(points[chosen], width, max_rank, rng)
    if len(points) > MANY_ROWS:
        from scipy.linalg import solve_triangular

        triangle, at_pivots = factor[pivots], points[chosen[pivots]]
        factor = np.empty((len(points), len(pivots)))
        for start in range(0, len(points), BLOCK):
            block = slice(start, start + BLOCK)
            kernel = _kernel(at_pivots, points[block], width)
            factor[block] = solve_triangular(triangle, kernel, lower=True, check_finite=False).T
    return factor, np.maximum(1 - np.sum(factor**2, axis=1), 0.0)


def _pivoted_cholesky(
    points: FloatArray, width: float, max_rank: int, rng: np.random.Generator
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Factor column by column, at rows drawn in proportion to what is not explained yet.

    Such pivots leave far less unexplained than the largest residuals, which belong to outliers
    (Chen, Epperly, Tropp and Webber 2025).
    """
    n = len(points)
    factor = np.empty((n, min(max_rank, n)))
    residual = np.ones(n)
    pivots: list[int] = []
    for column in range(factor.shape[1]):
        heads = np.cumsum(residual)
        if heads[-1] <= MEAN_RESIDUAL * n:
            break
        pivot = int(np.searchsorted(heads, rng.random() * heads[-1], side="right"))
        values = _kernel(points, points[pivot : pivot + 1], width)[:, 0]
        values -= factor[:, :column] @ factor[pivot, :column]
        values /= math.sqrt(residual[pivot])
        # At earlier pivots the factor is exact already; rounding would leave tiny values there.
        values[pivots] = 0.0
        factor[:, column] = values
        residual = np.maximum(residual - values**2, 0.0)
        residual[pivot] = 0.0
        pivots.append(pivot)
    return factor[:, : len(pivots)].copy(), np.array(pivots, np.intp)
