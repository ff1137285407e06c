"""Count scored rows inside the engine that holds them: one group-by, whatever the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief, unknown_labels_error
from recoup.data.readers import (
    check_names,
    check_numbers,
    check_tells_apart,
    first_value,
    holds_numbers,
    quoted,
    several_columns_error,
    with_label_numbers,
)
from recoup.exceptions import InvalidInputError

MANY_SCORES = 2_000_000
BATCH = 1 << 17
MAX_DECIMALS = 15
GROUPS = {"labeled": 1, "unlabeled": 0, "negative": -1}

Counts = tuple[FloatArray, list[NDArray[Any]], list[FloatArray] | None]


def count_frame(
    frame: Any,
    label: str,
    score: str,
    sample_weight: str | None,
    decimals: int | None,
    source: str = "the frame",
) -> Counts:
    """Group a frame by score and count labels, in the frame's own engine."""
    return _count_rows(frame, label, score, sample_weight, decimals, [], source)[1]


def count_frame_by(
    frame: Any,
    label: str,
    score: str,
    by: list[str],
    decimals: int | None,
    source: str = "the frame",
) -> tuple[dict[str, Any], FloatArray, list[NDArray[Any]]]:
    """Group a frame by score and other columns, and count labels, in the frame's own engine.

    Parameters
    ----------
    frame : object
        Any data frame.
    label, score : str
        Columns of labels and scores.
    by : list of str
        Columns that make the groups.
    decimals : int or None
        Round scores to this many decimals.
    source : str, default="the frame"
        What the rows come from, for error messages.

    Returns
    -------
    columns : dict of str to array
        Value of each column of ``by``, for each group and score that occurs.
    scores : ndarray
        The scores.
    counts : list of ndarray
        Labeled, unlabeled and known-negative rows.
    """
    if not by:
        raise InvalidInputError(
            "GroupedTable needs at least one column to group by. Got none. Pass by=['country']."
        )
    columns, (scores, counts, _) = _count_rows(frame, label, score, None, decimals, by, source)
    return columns, scores, counts


def _count_rows(
    frame: Any,
    label: str,
    score: str,
    sample_weight: str | None,
    decimals: int | None,
    by: list[str],
    source: str,
) -> tuple[dict[str, Any], Counts]:
    _check_unique(frame, source)
    try:
        rows: Any = nw.from_native(frame)
    except TypeError as error:
        raise InvalidInputError(
            f"ScoreTable.from_frame needs a data frame that narwhals knows (pandas, Polars, "
            f"PyArrow, DuckDB, PySpark, Dask). Got {type(frame).__name__}. "
            f"For arrays use ScoreTable.from_arrays."
        ) from error
    rows = with_label_numbers(rows, label, "ScoreTable")
    _check_columns(rows, label, score, sample_weight, source)
    check_names(rows.collect_schema().names(), by, source)
    if decimals is not None and not 0 <= decimals <= MAX_DECIMALS:
        raise InvalidInputError(
            f"ScoreTable needs decimals between 0 and {MAX_DECIMALS}. Got {brief(decimals)}."
        )
    if rows.collect_schema()[label] == nw.Boolean:
        rows = rows.with_columns(nw.col(label).cast(nw.Int64))
    value = nw.col(score).cast(nw.Float64)
    weight = nw.lit(1.0) if sample_weight is None else nw.col(sample_weight).cast(nw.Float64)
    selected = rows.select(
        nw.col(label).alias("label"),
        (value if decimals is None else _rounded(value, decimals)).alias("score"),
        weight.alias("weight"),
        *(nw.col(column).alias(f"group_{place}") for place, column in enumerate(by)),
    )
    flags = {name: nw.col("label") == number for name, number in GROUPS.items()}
    selected = selected.with_columns(
        **{
            name: nw.when(flag).then(nw.col("weight")).otherwise(0.0)
            for name, flag in flags.items()
        }
    )
    sums = [nw.col(name).sum().alias(name) for name in GROUPS]
    if sample_weight is not None:
        # Some engines sort NaN above infinity, so both comparisons are needed to catch it.
        usable = (nw.col("weight") >= 0) & (nw.col("weight") < float("inf"))
        selected = selected.with_columns(
            usable=nw.when(nw.col("weight").is_null())
            .then(nw.lit(0))
            .otherwise(usable.cast(nw.Int64)),
            **{f"{name}_squares": nw.col(name) * nw.col(name) for name in GROUPS},
        )
        sums += [nw.col(f"{name}_squares").sum().alias(f"{name}_squares") for name in GROUPS]
        sums.append(nw.col("usable").sum().alias("usable"))
    known = (flags["labeled"] | flags["unlabeled"] | flags["negative"]).cast(nw.Int64)
    selected = selected.with_columns(
        known=nw.when(nw.col("label").is_null()).then(nw.lit(0)).otherwise(known)
    )
    sums += [nw.col("known").sum().alias("known"), nw.len().alias("rows")]
    keys = [f"group_{place}" for place in range(len(by))]
    grouped: Any = selected.group_by("score", *keys).agg(*sums)
    groups = {}
    if by:
        grouped = grouped.collect() if isinstance(grouped, nw.LazyFrame) else grouped
        groups = {name: grouped.get_column(key) for name, key in zip(by, keys, strict=True)}
        grouped = grouped.drop(keys)

    def strange_label() -> object:
        cell = nw.col(label)
        strange = rows.filter(cell.is_null() | ~((cell == 1) | (cell == 0) | (cell == -1)))
        return first_value(strange, label)

    scores, counts, squares = checked_counts(
        _numbers(grouped),
        strange_label,
        f"column {brief(score)!r}",
        f"column {brief(sample_weight)!r}",
        source,
    )
    if decimals is not None:
        # Not in the engine: Polars multiplies by 1 / 10**decimals, which misses the last digit.
        scores = scores / 10.0**decimals
    return groups, (scores, counts, squares)


def checked_counts(
    found: Mapping[str, FloatArray],
    strange_label: Callable[[], object],
    score: str,
    weight: str,
    source: str,
) -> Counts:
    """Read what a group-by has counted, or refuse the rows.

    Parameters
    ----------
    found : mapping of str to ndarray of shape (n_scores,)
        ``score``, ``labeled``, ``unlabeled``, ``negative``, ``known`` and ``rows``; with weights
        also the squares of the three groups, and ``usable``.
    strange_label : callable
        Finds a label that is none.
    score, weight : str
        Where the scores and the weights were, for the error.
    source : str
        Where the rows were, for the error.

    Returns
    -------
    scores : ndarray of shape (n_scores,)
    counts : list of ndarray of shape (n_scores,)
    squares : list of ndarray of shape (n_scores,), or None
    """
    total = found["rows"].sum()
    if total == 0:
        raise InvalidInputError(f"ScoreTable needs at least one row. Got none in {source}.")
    unknown = int(total - found["known"].sum())
    if unknown:
        raise unknown_labels_error("ScoreTable", strange_label(), unknown, int(total))
    scores = found["score"]
    bad = ~np.isfinite(scores)
    if bad.any():
        raise InvalidInputError(
            f"ScoreTable needs every score to be a finite number: rows without one cannot be "
            f"ranked. Got {scores[bad][0]} in {int(found['rows'][bad].sum()):,} rows of "
            f"{score} of {source}. Drop or impute those rows first."
        )
    columns: list[NDArray[Any]] = [found[name] for name in GROUPS]
    if "usable" not in found:
        return scores, [values.astype(np.intp) for values in columns], None
    unusable = int(total - found["usable"].sum())
    if unusable:
        raise InvalidInputError(
            f"ScoreTable needs weights to be finite and not negative. Got {unusable:,} of "
            f"{int(total):,} rows with a missing, infinite or negative one in {weight} of "
            f"{source}. Drop or fix those rows first."
        )
    return scores, columns, [found[f"{name}_squares"] for name in GROUPS]


def _numbers(grouped: Any) -> dict[str, FloatArray]:
    """Bring the columns of a small frame to NumPy; what is missing becomes NaN."""
    native = nw.to_native(grouped)
    if nw.dependencies.is_duckdb_relation(native):
        # By way of Arrow it would import pandas, which takes longer than to count a small file.
        found = native.fetchnumpy()
        return {
            name: np.ma.filled(np.ma.asarray(column).astype(np.float64), np.nan)
            for name, column in found.items()
        }
    table = grouped.collect() if isinstance(grouped, nw.LazyFrame) else grouped
    return {
        name: np.asarray(table.get_column(name).to_numpy(), dtype=np.float64)
        for name in table.columns
    }


def read_counts(counts: Any) -> Counts:
    """Read what the statement of ``ScoreTable.sql`` has counted, or refuse it."""
    caller = "ScoreTable.from_counts"
    if isinstance(counts, Mapping):
        found = {name: np.asarray(column, dtype=np.float64) for name, column in counts.items()}
    else:
        try:
            found = _numbers(nw.from_native(counts))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{caller} needs the answer to the statement of ScoreTable.sql, as a data frame or "
                f"a dict of columns of numbers. Got {type(counts).__name__}."
            ) from error
    # Engines write names of columns large or small.
    found = {str(name).lower(): column for name, column in found.items()}
    names = {"known_rows": "known", "all_rows": "rows", "usable_rows": "usable"}
    found = {names.get(name, name): column for name, column in found.items()}
    wanted = ["score", *GROUPS, "known", "rows"]
    if "usable" in found:
        wanted += [f"{name}_squares" for name in GROUPS]
    missing = [name for name in wanted if name not in found]
    if missing:
        missing = [{new: old for old, new in names.items()}.get(name, name) for name in missing]
        raise InvalidInputError(
            f"{caller} needs the columns that the statement of ScoreTable.sql gives. "
            f"Missing: {', '.join(missing)}."
        )
    return checked_counts(
        found, lambda: "others", "the column of scores", "the column of weights", "the table"
    )


def in_bins(relation: Any, score: str, edges: FloatArray) -> Any:
    """Replace each score of a relation by the lowest one of its bin, inside the engine.

    Parameters
    ----------
    relation : DuckDB relation
        The rows; all their scores are finite.
    score : str
        Column of the scores.
    edges : ndarray of shape (n_bins,)
        Lowest score of each bin, ascending from the lowest of all.

    Returns
    -------
    DuckDB relation
    """
    import pyarrow as pa

    edge_table = pa.table({"edge": pa.array(edges)})  # noqa: F841 - the query names it
    name = quoted(score)
    return relation.query(
        "scored",
        f"SELECT scored.* REPLACE (bins.edge AS {name}) FROM scored "
        f"ASOF JOIN edge_table AS bins ON scored.{name}::DOUBLE >= bins.edge",
    )


def has_many_scores(relation: Any, score: str) -> bool:
    """Say whether a relation has more distinct scores than a table should hold."""
    schema = nw.from_native(relation).collect_schema()
    if score not in schema.names() or not schema[score].is_numeric():
        return False
    counted = relation.aggregate(f"approx_count_distinct({quoted(score)})").fetchall()
    return bool(counted[0][0] > MANY_SCORES)


def bin_relation(
    relation: Any,
    label: str,
    score: str,
    sample_weight: str | None,
    keep: Sequence[float] = (),
    source: str = "the file",
) -> tuple[FloatArray, list[NDArray[Any]], FloatArray]:
    """Count a relation with very many scores in bins, without holding its rows in Python.

    The engine sorts, and rows pass by once. Bins are those of arrays of the same rows; counts at or
    above each threshold in ``keep``, and 0.5, are exact.
    """
    _check_columns(nw.from_native(relation), label, score, sample_weight, source)
    if sample_weight is not None:
        raise InvalidInputError(
            "ScoreTable.from_file counts weighted rows only up to two million distinct scores. "
            "Pass decimals=6 to round the scores first."
        )
    cell, value = f"{quoted(label)}::DOUBLE", f"{quoted(score)}::DOUBLE"
    # One group for whatever is no label: a wrong column may hold millions of different values.
    group = f"CASE WHEN {cell} IN (1, 0, -1) THEN {cell}::TINYINT END"
    # The lowest score that a kept threshold selects becomes an edge, so that no bin is empty.
    lowest_kept = ", ".join(
        f"min({value}) FILTER ({value} >= '{float(threshold)!r}'::DOUBLE)"
        for threshold in (0.5, *keep)
    )
    summary = relation.aggregate(
        f"{group}, count(*), "
        f"count(*) FILTER (NOT coalesce(isfinite({value}), false)), "
        f"any_value({cell}), {lowest_kept}",
        group,
    ).fetchall()
    sizes = {number: rows for number, rows, *_ in summary}
    for number, n_rows, bad, example, *_ in summary:
        if number is None:
            raise unknown_labels_error("ScoreTable", example, n_rows, sum(sizes.values()))
        if bad:
            raise InvalidInputError(
                f"ScoreTable needs every score to be a finite number. Got {bad:,} missing or "
                f"infinite ones in column {brief(score)!r} of {brief(source, 200)}. Drop or "
                f"impute those rows first."
            )
    kept = [edge for *_, lowest in ((one[:4], one[4:]) for one in summary) for edge in lowest]
    counted = _SortedRows(sizes, np.array([edge for edge in kept if edge is not None]))
    ordered = relation.project(f"{group} AS g, {value} AS v").order("v")
    # Releases before the deprecation know the older name alone.
    read = getattr(ordered, "to_arrow_reader", None) or ordered.fetch_arrow_reader
    for batch in read(BATCH):
        counted.add(*(np.asarray(column) for column in batch.columns))
    return counted.bins()


class _SortedRows:
    """Rows that pass by in the order of their scores, counted in bins.

    Parameters
    ----------
    sizes : dict of int to int
        Rows of each label.
    kept : ndarray
        Scores at which a bin must start, beside those at the ranks that a thinned table keeps.
    """

    def __init__(self, sizes: dict[int, int], kept: FloatArray) -> None:
        from recoup.scores.table import DEFAULT_BINS, _positions

        self._ranks = {
            number: _positions(rows, DEFAULT_BINS, len(sizes)) for number, rows in sizes.items()
        }
        self._kept = kept
        self._seen = dict.fromkeys(sizes, 0)
        # The last score so far: more rows of it may follow.
        self._last: tuple[FloatArray, NDArray[np.intp]] | None = None
        self._edges: list[FloatArray] = []
        self._counts: list[NDArray[np.intp]] = []
        self._tops: list[FloatArray] = []

    def add(self, labels: NDArray[Any], scores: FloatArray) -> None:
        """Take the next rows."""
        from recoup.scores.table import _run_starts

        starts = _run_starts(scores)
        distinct = scores[starts] + 0.0
        counts = np.array(
            [np.add.reduceat(labels == number, starts, dtype=np.intp) for number in GROUPS.values()]
        )
        if self._last is not None:
            score, rows = self._last
            if score[0] == distinct[0]:
                counts[:, :1] += rows
            else:
                distinct, counts = np.append(score, distinct), np.hstack([rows, counts])
        self._last = distinct[-1:], counts[:, -1:]
        self._count(distinct[:-1], counts[:, :-1])

    def bins(self) -> tuple[FloatArray, list[NDArray[Any]], FloatArray]:
        """Return the lowest score of each bin, the counts of each label, and the highest score."""
        if self._last is not None:
            self._count(*self._last)
            self._last = None
        columns = np.hstack(self._counts)
        return np.concatenate(self._edges), list(columns), np.concatenate(self._tops)

    def _count(self, distinct: FloatArray, counts: NDArray[np.intp]) -> None:
        if not len(distinct):
            return
        is_edge = np.isin(distinct, self._kept)
        for column, number in zip(counts, GROUPS.values(), strict=True):
            if number in self._ranks:
                ends = self._seen[number] + np.cumsum(column)
                ranks = self._ranks[number]
                inside = ranks[np.searchsorted(ranks, self._seen[number]) :]
                inside = inside[: np.searchsorted(inside, ends[-1])]
                is_edge[np.searchsorted(ends, inside, side="right")] = True
                self._seen[number] = int(ends[-1])
        edges = np.flatnonzero(is_edge)
        if not len(edges) or edges[0] > 0:  # what comes first belongs to the bin before
            end = edges[0] if len(edges) else len(distinct)
            self._counts[-1][:, -1] += counts[:, :end].sum(axis=1)
            self._tops[-1][-1] = distinct[end - 1]
        if len(edges):
            self._edges.append(distinct[edges])
            self._counts.append(np.add.reduceat(counts, edges, axis=1))
            self._tops.append(distinct[np.append(edges[1:], len(distinct)) - 1])


def _rounded(value: nw.Expr, decimals: int) -> nw.Expr:
    """Round half up, which engines do not agree on; in units of the last decimal."""
    scaled = value * 10.0**decimals + 0.5
    # Larger numbers have no fraction, and Spark cannot take the floor of NaN or infinity.
    return nw.when(scaled.abs() < 2.0**52).then(scaled // 1).otherwise(scaled)


def _check_columns(
    rows: Any, label: str, score: str, sample_weight: str | None, source: str
) -> None:
    """Require the columns to exist, with labels that may be 1, 0, -1 and scores of numbers."""
    schema = rows.collect_schema()
    numbers = [score] if sample_weight is None else [score, sample_weight]
    check_names(schema.names(), [label, *numbers], source)
    if not holds_numbers(schema[label]):
        found = f"{brief(repr(first_value(rows, label)))} of type {brief(str(schema[label]))}"
        n_rows = _n_rows(rows)
        raise unknown_labels_error("ScoreTable", found, n_rows, n_rows)
    check_numbers(rows, numbers, "ScoreTable", source)
    check_tells_apart(rows, numbers, source)


def _check_unique(frame: Any, source: str) -> None:
    """Refuse frames with several columns of one name; DuckDB does not tell cases apart either."""
    native = nw.to_native(frame, pass_through=True)
    if nw.dependencies.is_polars_lazyframe(native):  # they always have different names
        return
    names = [str(name) for name in getattr(native, "column_names", getattr(native, "columns", ()))]
    alike = str.lower if nw.dependencies.is_duckdb_relation(native) else str
    seen = set()
    for name in names:
        if alike(name) in seen:
            raise several_columns_error(name, source)
        seen.add(alike(name))


def _n_rows(rows: Any) -> int:
    counted = rows.select(nw.len().alias("n"))
    frame = counted.collect() if isinstance(counted, nw.LazyFrame) else counted
    return int(frame.get_column("n").to_list()[0])
