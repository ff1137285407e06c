"""ScoreTable: how many labeled, unlabeled and known-negative rows have each score."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import (
    FloatArray,
    Scheme,
    as_numbers,
    as_vector,
    brief,
    check_same_length,
    check_some_rows,
    label_masks,
)
from recoup._core.results import make_frame
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

Found = TypeVar("Found")
GROUPS = ("labeled", "unlabeled", "negative")
DEFAULT_BINS = 16_384


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """Counts of labeled, unlabeled and known-negative rows for each distinct score.

    Everything recoup computes about scored rows depends only on this table, so it is the one
    thing that an engine (numpy, DuckDB, Spark, ...) has to deliver.

    Attributes
    ----------
    scores : ndarray of shape (n_scores,)
        Ascending. In a thinned table, the lowest score of each bin: ``score >= scores[i]``
        selects the same rows as in the full table.
    labeled : ndarray of shape (n_scores,)
        Labeled rows (or, with sample weights, their summed weight) at each score.
    unlabeled : ndarray of shape (n_scores,)
        Unlabeled rows at each score.
    negative : ndarray of shape (n_scores,)
        Rows at each score that are known to be negative.
    centers : ndarray of shape (n_scores,)
        The score that stands for the rows of a bin where its value matters (Brier score, log
        loss, calibration). Equal to ``scores`` unless the table was thinned.
    squares : tuple of three ndarray of shape (n_scores,), or None
        Summed squared weights of the three groups at each score. None without weights, where
        they are the counts.
    thinned : bool
        Whether bins may hold several distinct scores.
    known : ndarray of shape (n_scores,) or None
        How many of the rows counted as unlabeled are known to be negative
        (:meth:`with_negatives_folded_in`).
    shared : ndarray of shape (n_scores,) or None
        Where the same rows are counted as labeled and as unlabeled (propensities), the summed
        products of their two weights.

    Examples
    --------
    >>> table = ScoreTable.from_arrays(s=[1, 0, 0, 1], scores=[0.9, 0.9, 0.2, 0.4])
    >>> table.scores, table.labeled, table.unlabeled
    (array([0.2, 0.4, 0.9]), array([0, 1, 1]), array([1, 0, 1]))
    >>> table + table
    ScoreTable(3 scores, 4 labeled, 4 unlabeled, 0 known negative)
    """

    scores: FloatArray
    labeled: NDArray[Any]
    unlabeled: NDArray[Any]
    negative: NDArray[Any]
    centers: FloatArray
    squares: tuple[FloatArray, ...] | None = None
    thinned: bool = False
    known: NDArray[Any] | None = None
    shared: FloatArray | None = None
    n_labeled: float = field(init=False)
    n_unlabeled: float = field(init=False)
    n_negative: float = field(init=False)

    def __post_init__(self) -> None:
        """Take the totals once."""
        for group in GROUPS:
            object.__setattr__(self, f"n_{group}", getattr(self, group).sum().item())

    def whole(self, caller: str) -> ScoreTable:
        """Return the table, or refuse one from which nothing can be recovered.

        The table of a part, a day say, may lack labeled or unlabeled rows. It says nothing by
        itself, but can be added to others.

        Parameters
        ----------
        caller : str
            Who asks, for the error.

        Returns
        -------
        ScoreTable
            The same.
        """
        check_some_rows(self.n_labeled, self.n_unlabeled, caller)
        return self

    def __repr__(self) -> str:
        """Show the sizes."""
        return (
            f"ScoreTable({len(self.scores):,} {'bins' if self.thinned else 'scores'}, "
            f"{self.n_labeled:,.6g} labeled, {self.n_unlabeled:,.6g} unlabeled, "
            f"{self.n_negative:,.6g} known negative)"
        )

    @classmethod
    def from_arrays(
        cls,
        s: ArrayLike,
        scores: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        bins: int | None = None,
        keep: Sequence[float] = (),
    ) -> ScoreTable:
        """Count the rows of two arrays.

        Parameters
        ----------
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,)
            Higher is more positive.
        sample_weight : array-like of shape (n,), optional
            Non-negative weights.
        bins : int, optional
            Thin to at most about this many bins, without ever holding the full table in memory.
        keep : sequence of float, default=()
            Thresholds at which a thinned table must stay exact.

        Returns
        -------
        ScoreTable
            The same as ``from_arrays(s, scores).thin(bins, keep)``, digit for digit.
        """
        return cls._part(s, scores, sample_weight, bins, keep, "ScoreTable.from_arrays")

    @classmethod
    def _count(
        cls,
        s: ArrayLike,
        scores: ArrayLike,
        sample_weight: ArrayLike | None,
        bins: int | None,
        keep: Sequence[float],
        caller: str,
    ) -> ScoreTable:
        return cls._part(s, scores, sample_weight, bins, keep, caller).whole(caller)

    @classmethod
    def _part(
        cls,
        s: ArrayLike,
        scores: ArrayLike,
        sample_weight: ArrayLike | None,
        bins: int | None,
        keep: Sequence[float],
        caller: str,
    ) -> ScoreTable:
        values = as_numbers(scores, "scores", caller)
        check_same_length(as_vector(s, "s", caller), values, "s and scores", caller)
        if len(values) == 0:
            raise InvalidInputError(f"{caller} needs at least one row. Got none.")
        masks = [mask for mask in label_masks(s, caller) if mask is not None]
        if sample_weight is not None:
            weights = as_numbers(sample_weight, "sample_weight", caller)
            check_same_length(values, weights, "scores and sample_weight", caller)
            if not (np.isfinite(weights).all() and (weights >= 0).all()):
                raise InvalidInputError(
                    f"{caller} needs sample_weight to be finite and not negative. "
                    f"Got {weights[~(np.isfinite(weights) & (weights >= 0))][0]:g}."
                )
            _check_finite(np.array([values.min(), values.max()]), caller)
            columns = [np.where(mask, weights, 0.0) for mask in masks]
            table = cls._from_counts(values, columns, [column**2 for column in columns])
            return table if bins is None else table.thin(bins, keep)

        groups = [values[mask] for mask in masks]
        for group in groups:
            # Plain sorts of each group are several times faster than one argsort of all rows.
            group.sort()
            if len(group):
                _check_finite(group[[0, -1]], caller)
        if bins is not None and sum(_count_distinct(group) for group in groups) > bins:
            distinct = _distinct_scores(groups, bins)
            if distinct is None or len(distinct) > bins:
                return cls._from_sorted_groups(groups, bins, keep)
        runs = [_runs(group) for group in groups]
        return cls._from_counts(
            np.concatenate([values for values, _ in runs]),
            _block_columns([counts for _, counts in runs]),
            None,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        label: str,
        score: str,
        sample_weight: str | None = None,
        decimals: int | None = None,
    ) -> ScoreTable:
        """Count the rows of any data frame, with one group-by in its own engine.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow, DuckDB, PySpark or Dask frame
            Anything that narwhals understands; lazy frames stay lazy until the group-by.
        label : str
            Column of the labels: 1 labeled positive, 0 unlabeled, -1 known negative.
        score : str
            Column of the scores; higher is more positive.
        sample_weight : str, optional
            Column of the row weights.
        decimals : int, optional
            Round scores to this many decimals, halves up, inside the engine, to bound the number
            of groups when billions of distinct scores would come back.

        Returns
        -------
        ScoreTable
        """
        from recoup.scores.counting import count_frame

        return cls._from_counts(*count_frame(frame, label, score, sample_weight, decimals))

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        label: str,
        score: str,
        sample_weight: str | None = None,
        decimals: int | None = None,
        keep: Sequence[float] = (),
        memory_limit: str = "1GB",
        positive: Sequence[str] | None = None,
        negative: Sequence[str] | None = None,
    ) -> ScoreTable:
        """Count the rows of CSV, Parquet or JSON lines files out of core, in DuckDB.

        Files with more than two million distinct scores are sorted in the engine, and counted in
        the bins that arrays of the same rows have; rows come to Python a few at a time.

        Parameters
        ----------
        path : str or Path
            A file or a glob pattern such as ``"scores/*.parquet"``.
        label : str
            Column of the labels: 1 labeled positive, 0 unlabeled, -1 known negative, or another
            coding that :func:`recoup.data.as_pu_labels` reads.
        score : str
            Column of the scores; higher is more positive.
        sample_weight : str, optional
            Column of the row weights.
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
        ScoreTable
        """
        from recoup.data.readers import open_files
        from recoup.scores.counting import bin_relation, count_frame, has_many_scores

        columns = [column for column in (label, score, sample_weight) if column is not None]
        with open_files(
            path,
            columns,
            memory_limit,
            label=label,
            caller="ScoreTable",
            positive=positive,
            negative=negative,
        ) as relation:
            if decimals is None and has_many_scores(relation, score):
                return cls._from_bins(
                    *bin_relation(relation, label, score, sample_weight, keep, str(path))
                )
            return cls._from_counts(
                *count_frame(relation, label, score, sample_weight, decimals, str(path))
            )

    @staticmethod
    def sql(
        dialect: str = "duckdb",
        *,
        table: str | Sequence[str],
        label: str,
        score: str,
        sample_weight: str | None = None,
        decimals: int | None = None,
    ) -> str:
        """Write the SQL statement that counts a table of rows in an engine of your own.

        It is one group-by. Run it there, and read its answer with :meth:`from_counts`.

        Parameters
        ----------
        dialect : str, default="duckdb"
            ``"duckdb"``, ``"spark"``, or another one that the package sqlglot knows, such as
            ``"snowflake"`` or ``"bigquery"``.
        table : str or sequence of str
            Name of the table or view. Dots part schema and table; a sequence of names may hold
            dots itself.
        label : str
            Column of the labels: 1 labeled positive, 0 unlabeled, -1 known negative.
        score : str
            Column of the scores; higher is more positive.
        sample_weight : str, optional
            Column of the row weights.
        decimals : int, optional
            Round scores to this many decimals, halves up, so that at most so many rows come back.

        Returns
        -------
        str

        Examples
        --------
        >>> print(ScoreTable.sql("spark", table="lake.scored", label="flagged", score="p"))
        SELECT
          score,
          SUM(CASE WHEN label_value = 1 THEN 1 ELSE 0 END) AS labeled,
          SUM(CASE WHEN label_value = 0 THEN 1 ELSE 0 END) AS unlabeled,
          SUM(CASE WHEN label_value = -1 THEN 1 ELSE 0 END) AS negative,
          SUM(CASE WHEN label_value IN (1, 0, -1) THEN 1 ELSE 0 END) AS known_rows,
          COUNT(*) AS all_rows
        FROM (
          SELECT
            CAST(`flagged` AS DOUBLE) AS label_value,
            CAST(`p` AS DOUBLE) AS score
          FROM `lake`.`scored`
        ) AS scored
        GROUP BY score
        """
        from recoup.scores.sql import counting_statement

        return counting_statement(table, label, score, sample_weight, decimals, dialect)

    @classmethod
    def from_counts(cls, counts: Any) -> ScoreTable:
        """Read what the statement of :meth:`sql` has counted.

        Parameters
        ----------
        counts : pandas, Polars, PyArrow, DuckDB or PySpark frame, or dict
            The columns of the answer, in any order and in any case.

        Returns
        -------
        ScoreTable
            The same as :meth:`from_frame` of the rows.

        Examples
        --------
        >>> answer = {"score": [0.2, 0.9], "labeled": [0, 3], "unlabeled": [5, 1],
        ...           "negative": [0, 0], "known_rows": [5, 4], "all_rows": [5, 4]}
        >>> ScoreTable.from_counts(answer)
        ScoreTable(2 scores, 3 labeled, 6 unlabeled, 0 known negative)
        """
        from recoup.scores.counting import read_counts

        return cls._from_counts(*read_counts(counts))

    @classmethod
    def _from_counts(
        cls, scores: FloatArray, columns: list[NDArray[Any]], squares: list[FloatArray] | None
    ) -> ScoreTable:
        """Merge rows of (score, labeled, unlabeled[, negative]) that share a score."""
        order = np.argsort(scores, kind="stable")
        ordered = scores[order]
        starts = _run_starts(ordered)
        given = columns if squares is None else [*columns, *squares]
        sums = [np.add.reduceat(column[order], starts) for column in given]
        distinct = ordered[starts] + 0.0  # turns -0.0 into 0.0: they are one score
        filled = np.sum(sums[: len(columns)], axis=0) > 0
        if not filled.all():  # rows of weight zero say nothing
            distinct, sums = distinct[filled], [column[filled] for column in sums]
        counted = sums[: len(columns)]
        return cls._assemble(distinct, counted, distinct, sums[len(columns) :] or None)

    @classmethod
    def _from_sorted_groups(
        cls, groups: list[FloatArray], bins: int, keep: Sequence[float]
    ) -> ScoreTable:
        kept = [group[_positions(len(group), bins, len(groups))] for group in groups if len(group)]
        for group in groups:
            # The lowest score that a kept threshold selects is itself a score of the table.
            places = np.searchsorted(group, np.asarray(keep, float))
            kept.append(group[places[places < len(group)]])
        edges = _edges(kept)
        counts, tops = [], []
        for group in groups:
            starts = np.searchsorted(group, edges, side="left")
            ends = np.append(starts[1:], len(group))
            counts.append(ends - starts)
            highest = np.full(len(edges), -np.inf)
            highest[ends > starts] = group[ends[ends > starts] - 1]
            tops.append(highest)
        centers = _midpoints(edges, np.max(tops, axis=0))
        return cls._assemble(edges, counts, centers, thinned=True)

    @classmethod
    def _from_bins(
        cls, edges: FloatArray, columns: list[NDArray[Any]], tops: FloatArray
    ) -> ScoreTable:
        counts = columns if columns[2].any() else columns[:2]
        return cls._assemble(edges, counts, _midpoints(edges, tops), thinned=True)

    @classmethod
    def _assemble(
        cls,
        scores: FloatArray,
        columns: list[NDArray[Any]],
        centers: FloatArray,
        squares: list[FloatArray] | None = None,
        *,
        thinned: bool = False,
        known: NDArray[Any] | None = None,
        shared: FloatArray | None = None,
    ) -> ScoreTable:
        # A read-only view of one zero: no memory for the usual case of no known negatives.
        nothing = np.broadcast_to(columns[0].dtype.type(0), scores.shape)
        labeled, unlabeled, negative = [*columns, nothing][:3]
        kept = None if squares is None else tuple([*squares, nothing][:3])
        return cls(scores, labeled, unlabeled, negative, centers, kept, thinned, known, shared)

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Merge two tables, as if their rows had been counted together."""
        if not isinstance(other, ScoreTable):
            return NotImplemented
        thinned = self.thinned or other.thinned
        if thinned and not np.array_equal(self.scores, other.scores):
            raise InvalidInputError(
                "ScoreTable + ScoreTable needs full tables, or thinned ones with the same bins: "
                "rows between two different sets of bins cannot be put in order. Add first, then "
                "thin; or round the scores of both with decimals=."
            )
        scores = np.concatenate([self.scores, other.scores])
        columns = [
            np.concatenate([getattr(self, group), getattr(other, group)]) for group in GROUPS
        ]
        squares = None
        if self.squares is not None or other.squares is not None:
            squares = [
                np.concatenate([self.squares_of(group), other.squares_of(group)])
                for group in GROUPS
            ]
        merged = self._from_counts(scores, columns, squares)

        def summed(name: str) -> Any:
            parts = [getattr(table, name) for table in (self, other)]
            if all(part is None for part in parts):
                return None
            total = np.zeros(len(merged.scores))
            for table, part in zip((self, other), parts, strict=True):
                if part is not None:
                    total[np.searchsorted(merged.scores, table.scores)] += part
            return total

        return replace(
            merged,
            # Both tables have the same bins, but not the same rows in them.
            centers=(self.centers + other.centers) / 2 if thinned else merged.centers,
            thinned=thinned,
            known=summed("known"),
            shared=summed("shared"),
        )

    def with_negatives_folded_in(self, scheme: Scheme) -> ScoreTable:
        """Return the table of the judged population, with no group of known negatives.

        In a single sample they are rows like any other, so they join the unlabeled ones, whose
        share of positives falls accordingly (``n_known`` remembers them). In the case-control
        scheme they are not part of the population and are left out.

        Parameters
        ----------
        scheme : {"single-sample", "case-control"}
            Whether the judged population is all rows, or the unlabeled rows alone.

        Returns
        -------
        ScoreTable
        """
        if not self.n_negative:
            return self
        columns = [self.labeled, self.unlabeled]
        squares = None if self.squares is None else list(self.squares)
        known = None
        if scheme == "single-sample":
            columns[1], known = self.unlabeled + self.negative, self.negative
            if squares is not None:
                squares[1] = squares[1] + squares[2]
        filled = np.sum(columns, axis=0) > 0
        return self._assemble(
            self.scores[filled],
            [column[filled] for column in columns],
            self.centers[filled],
            # The third are those of the known negatives, which the second hold too.
            None if squares is None else [square[filled] for square in squares],
            thinned=self.thinned,
            known=None if known is None else known[filled],
        )

    def thin(self, bins: int, keep: Sequence[float] = ()) -> ScoreTable:
        """Keep at most about ``bins`` scores, at quantiles of each group.

        Counts at or above a kept score stay exact; only what lies between two kept scores is
        taken as tied. The area under the PU ROC curve moves by at most ``max_auc_error``.

        Parameters
        ----------
        bins : int
            At least 4. A table that is small enough already comes back unchanged.
        keep : sequence of float, optional
            Thresholds at which the table must stay exact.

        Returns
        -------
        ScoreTable
        """
        if bins < 4:
            raise InvalidInputError(f"ScoreTable.thin needs bins >= 4. Got {bins}.")
        if len(self.scores) <= bins:
            return self
        columns = [self.labeled, self.unlabeled] + ([self.negative] if self.n_negative else [])
        kept = []
        for column in columns:
            heads = np.cumsum(column)
            if not heads[-1]:  # a part without such rows
                continue
            if column.dtype.kind == "f":
                # Weights have no natural unit: count in as many steps as there are scores.
                heads = np.round(heads * (len(self.scores) / heads[-1]), 6)
            positions = _positions(heads[-1], bins, len(columns))
            kept.append(self.scores[np.searchsorted(heads, positions, side="right")])
            filled = self.scores[column > 0]
            places = np.searchsorted(filled, np.asarray(keep, float))
            kept.append(filled[places[places < len(filled)]])
        edges = _edges(kept)
        starts = np.searchsorted(self.scores, edges, side="left")
        ends = np.append(starts[1:], len(self.scores)) - 1
        centers = _midpoints(edges, self.scores[ends])
        if self.thinned:
            centers = _midpoints(self.centers[starts], self.centers[ends])

        def summed(column: NDArray[Any] | None) -> Any:
            return None if column is None else np.add.reduceat(column, starts)

        return self._assemble(
            edges,
            [summed(column) for column in columns],
            centers,
            None if self.squares is None else [summed(column) for column in self.squares],
            thinned=True,
            known=summed(self.known),
            shared=summed(self.shared),
        )

    def squares_of(self, group: str) -> FloatArray:
        """Sum the squared weights of a group's rows at each score, ascending.

        Parameters
        ----------
        group : {"labeled", "unlabeled", "negative"}
            Which rows.

        Returns
        -------
        ndarray of shape (n_scores,)
            The counts, where rows have no weights.
        """
        counts = getattr(self, group) if self.squares is None else self.squares[GROUPS.index(group)]
        squares: FloatArray = counts.astype(float)
        return squares

    @property
    def known_squares(self) -> FloatArray:
        """Summed squared weights of the known negatives counted as unlabeled, ascending."""
        if self.known is None:
            return np.zeros(len(self.scores))
        return self.known.astype(float) if self.squares is None else self.squares[2]

    @property
    def n_known(self) -> float:
        """How many of the rows counted as unlabeled are known to be negative."""
        return 0.0 if self.known is None else float(self.known.sum())

    @property
    def n_rows(self) -> float:
        """All rows, or their summed weight."""
        return self.n_labeled + self.n_unlabeled + self.n_negative

    @property
    def effective_sizes(self) -> tuple[float, float]:
        """Labeled and unlabeled rows that carry the same information without weights (Kish)."""
        if self.squares is None:
            return float(self.n_labeled), float(self.n_unlabeled)
        return (
            float(self.n_labeled**2 / (self.squares[0].sum() or 1.0)),
            float(self.n_unlabeled**2 / (self.squares[1].sum() or 1.0)),
        )

    @property
    def max_auc_error(self) -> float:
        """Largest possible effect of thinning on the area under the PU ROC curve."""
        if not (self.thinned and self.n_labeled and self.n_unlabeled):
            return 0.0
        # Pairs within a bin count one half; the true order could make each of them 0 or 1.
        tied = np.dot(self.labeled.astype(float), self.unlabeled.astype(float))
        return float(tied / (2 * self.n_labeled * self.n_unlabeled))

    @property
    def score_range(self) -> tuple[float, float]:
        """Lowest and highest score (the highest bin's center in a thinned table)."""
        return float(self.scores[0]), float(max(self.scores[-1], self.centers[-1]))

    @property
    def holds_probabilities(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        low, high = self.score_range
        return low >= 0 and high <= 1

    def heads(self, group: str) -> FloatArray:
        """Share of a group at or above each score, from the highest score down.

        Parameters
        ----------
        group : {"labeled", "unlabeled", "negative"}
            Which rows.

        Returns
        -------
        ndarray of shape (n_scores,)
            Rising to 1. Read-only.
        """

        def counted() -> FloatArray:
            counts = getattr(self, group)[::-1].astype(float)
            share: FloatArray = np.cumsum(counts) / (counts.sum() or 1.0)
            share.setflags(write=False)
            return share

        return self.once(("heads", group), counted)

    def once(self, key: Hashable, make: Callable[[], Found]) -> Found:
        """Return what follows from the counts alone, made when it is first asked for.

        Parameters
        ----------
        key : hashable
            What it is, with all that it depends on besides the table.
        make : callable
            Makes it. What it returns is shared by all who ask, and must not be changed.

        Returns
        -------
        object
        """
        if key not in self._made:
            self._made[key] = make()
        found: Found = self._made[key]
        return found

    @cached_property
    def _made(self) -> dict[Hashable, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again."""
        return {name: value for name, value in vars(self).items() if name != "_made"}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per score.

        Returns
        -------
        pandas.DataFrame
            With columns score, labeled, unlabeled and negative.
        """
        return make_frame({"score": self.scores} | {name: getattr(self, name) for name in GROUPS})

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain lists.

        Returns
        -------
        dict
            By name of the column.
        """
        columns: dict[str, Any] = self.to_frame().to_dict(orient="list")
        return columns


def _check_finite(ends: FloatArray, caller: str) -> None:
    if not np.isfinite(ends).all():
        raise InvalidInputError(
            f"{caller} needs every score to be a finite number: rows without one cannot be ranked. "
            f"Got {brief(str(ends[~np.isfinite(ends)][0]))}. Drop or impute those rows first."
        )


def _run_starts(ordered: FloatArray) -> NDArray[np.intp]:
    changes = np.empty(len(ordered), bool)
    changes[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return np.flatnonzero(changes)


def _runs(ordered: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    starts = _run_starts(ordered)
    return ordered[starts], np.diff(starts, append=len(ordered))


def _count_distinct(ordered: FloatArray) -> int:
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1 if len(ordered) else 0


def _distinct_scores(groups: list[FloatArray], limit: int) -> FloatArray | None:
    if any(_count_distinct(group) > limit for group in groups):
        return None
    return np.unique(np.concatenate([_runs(group)[0] for group in groups]))


def _block_columns(counts: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Lay counts of separate groups out as columns over their concatenated scores."""
    total = sum(len(count) for count in counts)
    columns, start = [], 0
    for count in counts:
        column = np.zeros(total, np.intp)
        column[start : start + len(count)] = count
        columns.append(column)
        start += len(count)
    return columns


def _positions(size: float, bins: int, n_groups: int) -> NDArray[np.intp]:
    """Ranks whose scores a thinned table keeps: half evenly spaced, half denser to the top.

    Precision is decided by the first few rows, so ranks there are kept to a fixed relative
    error.
    """
    steps = max(bins // (2 * n_groups), 1)
    even = np.arange(steps) * (size / steps)
    top = size - np.geomspace(1.0, max(size, 1.0), steps)
    return np.unique(np.maximum(np.append(even, top), 0.0).astype(np.intp))


def _edges(kept: list[FloatArray]) -> FloatArray:
    return np.unique(np.concatenate(kept)) + 0.0


def _midpoints(lowest: FloatArray, highest: FloatArray) -> FloatArray:
    # Not (lowest + highest) / 2, which overflows for scores near the largest float.
    return lowest + (highest - lowest) / 2
