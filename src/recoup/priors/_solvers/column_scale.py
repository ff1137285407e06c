"""Columns of features without what single rows or units of measure do to their scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# So many rows at either end of a column may be strays: a few, or one in a thousand.
FEWEST_STRAYS, ROWS_PER_STRAY = 3, 1000
# They are if they lie this many times the range of all others beyond their ends.
FAR = 10.0
# Larger numbers than scikit-learn's trees can hold, and differences that they take for none.
LARGE, SMALL = 2.0**100, 2.0**-20


def steady_columns(X: Any) -> Any:
    """Bring strays, such as one -999 or 1e200, to where a column might end, and odd units to one.

    Linear models and distances would see nothing of a column but its stray. Columns are multiplied
    by powers of two, which changes no digit. What needs neither is returned as it is, and so is
    what is no table of numbers.
    """
    values = None if hasattr(X, "tocsr") else np.asarray(X)
    if values is None or values.ndim != 2 or values.dtype.kind not in "fiu" or not values.size:
        return X
    values = values.astype(np.float64)
    n_ends = max(FEWEST_STRAYS, len(values) // ROWS_PER_STRAY)
    if len(values) <= 2 * n_ends:
        return X
    changed = False
    for column in values.T:
        changed |= _bring_in(column, n_ends)
        changed |= _bring_to_scale(column)
    return values if changed else X


def _bring_in(column: NDArray[np.float64], n_ends: int) -> bool:
    """Move strays of a column in place, and say if there were any."""
    known = column[np.isfinite(column)]
    if len(known) <= 2 * n_ends:
        return False
    ends = (n_ends, len(known) - 1 - n_ends)
    low, high = np.partition(known, ends)[list(ends)]
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
        far = (column < low - FAR * width) | (column > high + FAR * width)
    if width == 0 or not far.any():
        return False
    column[far] = np.clip(column[far], low - width, high + width)
    return True


def _bring_to_scale(column: NDArray[np.float64]) -> bool:
    known = column[np.isfinite(column)]
    largest = float(np.abs(known).max()) if len(known) else 0.0
    if largest == 0 or SMALL <= largest <= LARGE:
        return False
    _, exponent = np.frexp(largest)
    np.ldexp(column, -exponent, out=column)
    return True
