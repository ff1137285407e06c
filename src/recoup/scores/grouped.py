"""GroupedTable: counts of labeled, unlabeled and known-negative rows by score and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, as_numbers, as_vector, check_same_length, label_masks
from recoup.scores.group_keys import Codes, GroupKeys, coded, grouping_of
from recoup.scores.table import DEFAULT_BINS, ScoreTable

# Beyond this the full table would cost more memory than the rows themselves.
MANY_ROWS = 1_000_000
KINDS = 3
STEPS, CHUNK = 2**16, 2**18


@dataclass(frozen=True, eq=False, repr=False)
class GroupedTable:
    """Counts of labeled, unlabeled and known-negative rows for each score in each group.

    Made in one pass over the rows, whatever holds them. The table of all groups together is
    :attr:`pooled`.

    Attributes
    ----------
    groups : GroupKeys
        The groups, in order.
    codes : ndarray of int of shape (n_entries,)
        Group of each entry. An entry is a row, or all rows of a group that share a score.
    scores : ndarray of shape (n_entries,)
        Score of each entry.
    counts : ndarray of shape (n_entries,) or (3, n_entries)
        Kind of each row (0 labeled, 1 unlabeled, 2 known negative), or how many of each there are.
    pooled : ScoreTable
        All groups together; in bins if there are many rows.
    single_precision : bool, default=False
        Whether scores were stored as 32-bit numbers.

    Examples
    --------
    >>> table = GroupedTable.from_arrays(
    ...     s=[1, 0, 0, 1], scores=[0.9, 0.9, 0.2, 0.4], groups=["a", "a", None, "b"]
    ... )
    >>> table
    GroupedTable(3 groups by group, 2 labeled, 2 unlabeled, 0 known negative)
    >>> table["b"].labeled
    array([1])
    """

    groups: GroupKeys
    codes: Codes
    scores: FloatArray
    counts: NDArray[Any]
    pooled: ScoreTable
    single_precision: bool = False

    def __repr__(self) -> str:
        """Show the sizes."""
        table = self.pooled
        return (
            f"GroupedTable({len(self.groups):,} groups by {', '.join(self.groups.columns)}, "
            f"{table.n_labeled:,.6g} labeled, {table.n_unlabeled:,.6g} unlabeled, "
            f"{table.n_negative:,.6g} known negative)"
        )

    @classmethod
    def from_arrays(
        cls,
        s: ArrayLike,
        scores: ArrayLike,
        groups: Any,
        *,
        keep: Sequence[float] = (),
        caller: str = "GroupedTable.from_arrays",
    ) -> GroupedTable:
        """Count the rows of arrays.

        Parameters
        ----------
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,)
            Higher is more positive.
        groups : array-like of shape (n,), data frame, or mapping of str to array-like
            One column or several. Missing values are a group of their own.
        keep : sequence of float, default=()
            Thresholds at which the table must stay exact.
        caller : str, default="GroupedTable.from_arrays"
            Who asks, for error messages.

        Returns
        -------
        GroupedTable
        """
        values = as_numbers(scores, "scores", caller)
        check_same_length(as_vector(s, "s", caller), values, "s and scores", caller)
        keys, codes = grouping_of(groups, len(values), caller)
        bins = DEFAULT_BINS if len(values) > MANY_ROWS else None
        pooled = ScoreTable._part(s, values, None, bins, (0.5, *keep), caller)
        _, unlabeled, negative = label_masks(s, caller)
        kinds = unlabeled.astype(np.int8)
        if negative is not None:
            kinds[negative] = 2
        single = getattr(scores, "dtype", None) == np.float32
        return cls(keys, codes, values, kinds, pooled, bool(single))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        score: str,
        by: Sequence[str],
        decimals: int | None = None,
    ) -> GroupedTable:
        """Count the rows of any data frame, with one group-by in its own engine.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow, DuckDB, PySpark or Dask frame
            Anything that narwhals understands; lazy frames stay lazy until the group-by.
        label : str
            Column of the labels: 1 labeled positive, 0 unlabeled, -1 known negative.
        score : str
            Column of the scores; higher is more positive.
        by : sequence of str
            Columns whose values make the groups.
        decimals : int, optional
            Round scores to this many decimals, halves up, inside the engine.

        Returns
        -------
        GroupedTable
        """
        from recoup.scores.counting import count_frame_by

        return cls._of_entries(*count_frame_by(frame, label, score, list(by), decimals))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        label: str,
        score: str,
        by: Sequence[str],
        decimals: int | None = None,
        keep: Sequence[float] = (),
        memory_limit: str = "1GB",
        positive: Sequence[str] | None = None,
        negative: Sequence[str] | None = None,
    ) -> GroupedTable:
        """Count the rows of CSV, Parquet or JSON lines files out of core, in DuckDB.

        Parameters
        ----------
        path : str or Path
            A file or a glob pattern such as ``"scores/*.parquet"``.
        label : str
            Column of the labels, in any coding that :func:`recoup.data.as_pu_labels` reads.
        score : str
            Column of the scores; higher is more positive.
        by : sequence of str
            Columns whose values make the groups.
        decimals : int, optional
            Round scores to this many decimals first, halves up.
        keep : sequence of float, optional
            Thresholds at which a binned table must stay exact; 0.5 always is.
        memory_limit : str, default="1GB"
            What DuckDB may use before it spills to disk.
        positive : sequence of str, optional
            Values of labeled positives; all others are then unlabeled.
        negative : sequence of str, optional
            Values of known negatives.

        Returns
        -------
        GroupedTable
        """
        from recoup.data.readers import open_files
        from recoup.scores.counting import bin_relation, count_frame_by, has_many_scores, in_bins

        with open_files(
            path,
            [label, score, *by],
            memory_limit,
            label=label,
            caller="GroupedTable",
            as_is=list(by),
            positive=positive,
            negative=negative,
        ) as relation:
            pooled = None
            if decimals is None and has_many_scores(relation, score):
                bins = bin_relation(relation, label, score, None, keep, str(path))
                pooled = ScoreTable._from_bins(*bins)
                relation = in_bins(relation, score, pooled.scores)
            found = cls._of_entries(
                *count_frame_by(relation, label, score, list(by), decimals, str(path))
            )
        return (
            found
            if pooled is None
            else cls(found.groups, found.codes, found.scores, found.counts, pooled)
        )

    @classmethod
    def _of_entries(
        cls, columns: dict[str, Any], scores: FloatArray, counts: list[NDArray[Any]]
    ) -> GroupedTable:
        keys, codes = coded(columns, "GroupedTable")
        pooled = ScoreTable._from_counts(scores, counts, None)
        return cls(keys, codes, scores, np.array(counts), pooled)

    def binned(self, edges: FloatArray) -> NDArray[np.float64]:
        """Count the rows of each kind in each group between the edges.

        Parameters
        ----------
        edges : ndarray of shape (n_bins,)
            Lowest score of each bin, ascending from the lowest of all.

        Returns
        -------
        ndarray of shape (3, n_groups, n_bins)
            Labeled, unlabeled and known-negative rows.
        """
        n_groups, n_bins = len(self.groups), len(edges)
        shape = KINDS, n_groups, n_bins
        cells = np.empty(len(self.scores), np.intp)
        # So few rows at a time that all of it stays in the cache.
        for start in range(0, len(cells), CHUNK):
            rows = slice(start, start + CHUNK)
            cells[rows] = self.codes[rows]
            if self.counts.ndim == 1:
                cells[rows] += self.counts[rows].astype(np.intp) * n_groups
            cells[rows] *= n_bins
            cells[rows] += np.maximum(_passed(edges, self.scores[rows]) - 1, 0)
        if self.counts.ndim == 1:
            return np.bincount(cells, minlength=np.prod(shape)).reshape(shape).astype(float)
        size = n_groups * n_bins
        return np.array(
            [np.bincount(cells, column, size).reshape(shape[1:]) for column in self.counts]
        )

    def __getitem__(self, group: Any) -> ScoreTable:
        """Return the table of one group, by the value of its column or a tuple of values."""
        place = self.groups.find(group, "GroupedTable")
        inside = self.codes == place
        if self.counts.ndim == 1:
            kinds = self.counts[inside]
            columns = [(kinds == kind).astype(np.intp) for kind in range(KINDS)]
        else:
            columns = list(self.counts[:, inside])
        return ScoreTable._from_counts(self.scores[inside], columns, None)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.groups)


def _passed(edges: FloatArray, scores: FloatArray) -> NDArray[np.intp]:
    """How many edges each score is at or above: ``np.searchsorted`` on its right side, but quicker.

    Scores are cut into many even steps first. Steps without an edge need no search: their number of
    edges is known.
    """
    low, high = edges[0], edges[-1]
    scale = STEPS / (high - low) if high > low else 0.0
    if len(scores) < STEPS or not np.isfinite(scale) or scale == 0:
        return np.asarray(np.searchsorted(edges, scores, side="right"), np.intp)

    def step_of(values: FloatArray) -> NDArray[np.intp]:
        steps = (values - low) * scale
        places: NDArray[np.intp] = np.clip(steps, 0, STEPS, out=steps).astype(np.intp)
        return places

    inside = np.bincount(step_of(edges), minlength=STEPS + 1)
    passed = np.cumsum(inside)
    steps = step_of(scores)
    found: NDArray[np.intp] = passed[steps]
    unsure = np.flatnonzero(inside[steps])
    found[unsure] = np.searchsorted(edges, scores[unsure], side="right")
    return found
