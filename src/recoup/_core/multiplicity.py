"""What is left of p-values when there are several of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray


def holm(p_values: ArrayLike) -> FloatArray:
    r"""Adjust p-values for being several, by Holm's step-down rule.

    .. math:: \tilde p_{(j)} = \min\{1, \max_{i \le j} (m - i + 1)\, p_{(i)}\}

    Parameters
    ----------
    p_values : array-like of shape (m,)
        Values that are not a number stand for tests that could not be made: they stay what they
        are, and do not count.

    Returns
    -------
    ndarray of shape (m,)

    References
    ----------
    Holm 1979; PU-Bench, 2026, appendix D.2.2.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    found = np.asarray(p_values, float)
    adjusted = np.full(found.shape, np.nan)
    made = np.flatnonzero(np.isfinite(found))
    order = made[np.argsort(found[made], kind="stable")]
    steps = np.arange(len(order), 0, -1) * found[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
