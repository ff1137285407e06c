"""Draw the first rows of every stratum, from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.order import row_numbers
from recoup.audit.strata import Strata


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows of every stratum in the order in which they are checked; the first ones of each.

    Attributes
    ----------
    rows : tuple of ndarray
        Positions, or numbers of lines, one array for each stratum.
    scores : tuple of ndarray
        Their scores.
    ids : tuple of ndarray or None
        Their ids; None where positions serve.
    """

    rows: tuple[NDArray[np.int64], ...]
    scores: tuple[FloatArray, ...]
    ids: tuple[NDArray[Any], ...] | None = None


def candidate_limits(n_rows: NDArray[np.int64], wanted: NDArray[np.int64]) -> FloatArray:
    """Return numbers below which the first rows of each stratum almost certainly lie.

    Parameters
    ----------
    n_rows : ndarray of shape (n_strata,)
        Rows of each stratum.
    wanted : ndarray of shape (n_strata,)
        How many of them are wanted.

    Returns
    -------
    ndarray of shape (n_strata,)
        At most 1.
    """
    room = wanted + 6 * np.sqrt(wanted) + 12
    limits: FloatArray = np.minimum(room / np.maximum(n_rows, 1), 1.0)
    return limits


def draw_from_arrays(
    unlabeled: NDArray[np.bool_],
    scores: FloatArray,
    strata: Strata,
    wanted: NDArray[np.int64],
    seed: int,
    ids: NDArray[Any] | None = None,
) -> Candidates:
    """Find the first rows of every stratum.

    Parameters
    ----------
    unlabeled : ndarray of bool of shape (n,)
        Which rows have no label.
    scores : ndarray of shape (n,)
        Higher is more positive.
    strata : Strata
        Where rows are drawn.
    wanted : ndarray of shape (n_strata,)
        How many rows of each stratum.
    seed : int
        Seed of the order.
    ids : ndarray of shape (n,), optional
        Ids that the order follows from. By default the positions.

    Returns
    -------
    Candidates
    """
    limits = candidate_limits(strata.n_rows, wanted)
    numbers = row_numbers(np.arange(len(scores)) if ids is None else ids, seed)
    # Few rows lie below the largest limit in most data: the others need no stratum.
    rows = np.flatnonzero((numbers <= limits.max()) & unlabeled)
    stratum = strata.of(scores[rows])
    near = numbers[rows] <= limits[stratum]
    rows, stratum = rows[near], stratum[near]
    ties = rows if ids is None else np.argsort(np.argsort(ids[rows], kind="stable"))
    order = np.lexsort((ties, numbers[rows], stratum))
    rows, stratum = rows[order], stratum[order]
    ends = np.searchsorted(stratum, np.arange(len(strata.n_rows) + 1))
    parts = tuple(
        rows[start : min(end, start + int(most))]
        for start, end, most in zip(ends[:-1], ends[1:], wanted, strict=True)
    )
    return Candidates(
        parts,
        tuple(scores[part].astype(float) for part in parts),
        None if ids is None else tuple(ids[part] for part in parts),
    )
