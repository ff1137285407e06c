"""Draw the first rows of every stratum, from arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, as_numbers, as_vector, label_masks
from recoup.audit.order import as_keys, count_distinct, key_numbers, repeated_ids_error
from recoup.audit.strata import Strata
from recoup.exceptions import InvalidInputError
from recoup.scores.table import DEFAULT_BINS, ScoreTable

# Beyond this the full table would cost more memory than the rows themselves.
MANY_ROWS = 1_000_000


@dataclass(frozen=True, eq=False)
class PickedRows:
    """Rows in the order in which they are checked.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Their positions; numbers from 0 on where rows are known by their ids alone.
    scores : ndarray of shape (n,)
        Their scores.
    ids : ndarray of shape (n,)
        Their ids; the positions where they have none.
    """

    rows: NDArray[np.int64]
    scores: FloatArray
    ids: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows of every stratum in the order in which they are checked; the first ones of each.

    Attributes
    ----------
    drawn : PickedRows
        The rows, one stratum after the other.
    counts : ndarray of shape (n_strata,)
        How many of each stratum.
    """

    drawn: PickedRows
    counts: NDArray[np.int64]

    def between(self, done: NDArray[np.int64], total: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return rows of every stratum, from so many up to so many.

        Parameters
        ----------
        done : ndarray of shape (n_strata,)
            Rows of each stratum to leave out.
        total : ndarray of shape (n_strata,)
            Where to stop.

        Returns
        -------
        ndarray
        """
        starts = np.cumsum(self.counts) - self.counts
        parts = [
            self.drawn.rows[start + low : start + high]
            for start, low, high in zip(starts, done, total, strict=True)
        ]
        return np.concatenate(parts)


class ScoredRows(Protocol):
    """Scored rows that can be counted, and drawn from by strata, wherever they are."""

    @property
    def positions(self) -> bool:
        """Whether rows are known by their positions, too."""

    @property
    def columns(self) -> dict[str, str | None] | None:
        """Names of the columns of a file or frame; None for arrays."""

    def count(self, keep: tuple[float, ...]) -> ScoreTable:
        """Count the rows by score; counts at or above some scores stay exact."""

    def draw(self, strata: Strata, wanted: NDArray[np.int64], seed: int) -> Candidates:
        """Find the first unlabeled rows of every stratum."""

    def draw_labeled(self, table: ScoreTable, wanted: int, seed: int, after: int) -> PickedRows:
        """Find the first labeled rows; numbered from ``after`` on if they have no positions."""


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


def first_rows(
    drawn: PickedRows, numbers: FloatArray, stratum: NDArray[np.intp], wanted: NDArray[np.int64]
) -> Candidates:
    """Put rows in the order of their numbers, and keep the first ones of every stratum.

    Parameters
    ----------
    drawn : PickedRows
        Rows in any order.
    numbers : ndarray of shape (n,)
        Their numbers.
    stratum : ndarray of shape (n,)
        Stratum of each.
    wanted : ndarray of shape (n_strata,)
        How many rows of each stratum.

    Returns
    -------
    Candidates
    """
    # Two texts may share a number.
    order = np.lexsort((drawn.ids.astype(str), numbers, stratum))
    there = np.bincount(stratum, minlength=len(wanted))
    counts = np.minimum(there, wanted).astype(np.int64)
    starts = np.cumsum(there) - there
    places = [np.arange(s, s + c) for s, c in zip(starts, counts, strict=True)]
    kept = order[np.concatenate(places)]
    return Candidates(
        PickedRows(drawn.rows[kept], drawn.scores[kept].astype(float), drawn.ids[kept]), counts
    )


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Scored rows in arrays.

    Attributes
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : ndarray of shape (n,)
        Higher is more positive.
    ids : ndarray of shape (n,) or None
        Ids of the rows, each once; None where positions serve.
    caller : str
        Who asks, for error messages.
    """

    s: NDArray[Any]
    scores: FloatArray
    ids: NDArray[Any] | None
    caller: str
    positions = True
    columns = None

    @classmethod
    def of(cls, s: Any, scores: Any, ids: Any, caller: str) -> ArrayRows:
        """Check arrays.

        Parameters
        ----------
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,)
            Higher is more positive.
        ids : array-like of shape (n,) or None
            Ids of the rows, each once.
        caller : str
            Who asks, for error messages.

        Returns
        -------
        ArrayRows
        """
        values, labels = as_numbers(scores, "scores", caller), as_vector(s, "s", caller)
        if ids is not None:
            ids = as_vector(ids, "ids", caller)
            if len(ids) != len(values):
                raise InvalidInputError(
                    f"{caller} needs one id for each row. Got {len(ids):,} for {len(values):,} "
                    f"rows."
                )
        return cls(labels, values, ids, caller)

    @cached_property
    def _keys(self) -> NDArray[Any]:
        if self.ids is None:
            return np.arange(len(self.scores))
        keys = as_keys(self.ids, self.caller)
        distinct = count_distinct(keys)
        if distinct != len(keys):
            raise repeated_ids_error(self.caller, len(keys), distinct)
        return keys

    def count(self, keep: tuple[float, ...]) -> ScoreTable:
        """Count the rows by score.

        Parameters
        ----------
        keep : tuple of float
            Scores at which counts stay exact.

        Returns
        -------
        ScoreTable
        """
        bins = DEFAULT_BINS if len(self.scores) > MANY_ROWS else None
        return ScoreTable._count(self.s, self.scores, None, bins, keep, self.caller)

    def draw(self, strata: Strata, wanted: NDArray[np.int64], seed: int) -> Candidates:
        """Find the first unlabeled rows of every stratum.

        Parameters
        ----------
        strata : Strata
            Where rows are drawn.
        wanted : ndarray of shape (n_strata,)
            How many rows of each stratum.
        seed : int
            Seed of the order.

        Returns
        -------
        Candidates
        """
        limits = candidate_limits(strata.n_rows, wanted)
        numbers = key_numbers(self._keys, seed)
        # Few rows lie below the largest limit in most data: the others need no stratum.
        rows = np.flatnonzero((numbers <= limits.max()) & label_masks(self.s, self.caller)[1])
        stratum = strata.of(self.scores[rows])
        near = numbers[rows] <= limits[stratum]
        rows, stratum = rows[near], stratum[near]
        return first_rows(self._drawn(rows), numbers[rows], stratum, wanted)

    def draw_labeled(self, table: ScoreTable, wanted: int, seed: int, after: int) -> PickedRows:
        """Find the first labeled rows.

        Parameters
        ----------
        table : ScoreTable
            The counted rows.
        wanted : int
            How many rows.
        seed : int
            Seed of the order.
        after : int
            Unused: these rows have positions.

        Returns
        -------
        PickedRows
        """
        most = np.array([wanted])
        limit = candidate_limits(np.array([table.n_labeled]), most)[0]
        rows = np.flatnonzero(label_masks(self.s, self.caller)[0])
        numbers = key_numbers(self._keys[rows], seed) if wanted else np.ones(len(rows))
        near = numbers <= limit if wanted else np.zeros(len(rows), bool)
        rows, numbers = rows[near], numbers[near]
        return first_rows(self._drawn(rows), numbers, np.zeros(len(rows), np.intp), most).drawn

    def _drawn(self, rows: NDArray[np.int64]) -> PickedRows:
        return PickedRows(rows, self.scores[rows], rows if self.ids is None else self.ids[rows])
