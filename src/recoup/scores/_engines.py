"""Count scored rows inside the engine that holds them: one group-by, whatever the engine."""

from __future__ import annotations

import difflib
import glob
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from recoup._checks import FloatArray, brief, unknown_labels_error
from recoup.exceptions import InvalidInputError

MANY_SCORES = 2_000_000
EDGE_SAMPLE = 500_000
GROUPS = {"labeled": 1, "unlabeled": 0, "negative": -1}

Counts = tuple[FloatArray, list[NDArray[Any]], list[float] | None]


def count_frame(
    frame: Any,
    label: str,
    score: str,
    sample_weight: str | None,
    decimals: int | None,
    source: str = "the frame",
) -> Counts:
    """Group a frame by score and count labels, in the frame's own engine."""
    try:
        rows: Any = nw.from_native(frame)
    except TypeError as error:
        raise InvalidInputError(
            f"ScoreTable.from_frame needs a data frame that narwhals knows (pandas, Polars, "
            f"PyArrow, DuckDB, PySpark, Dask). Got {type(frame).__name__}. "
            f"For arrays use ScoreTable.from_arrays."
        ) from error
    schema = rows.collect_schema()
    for column in (label, score, sample_weight):
        if column is not None:
            _check_column(schema, column, source)
    if schema[label] == nw.Boolean:
        rows = rows.with_columns(nw.col(label).cast(nw.Int64))
    elif not schema[label].is_numeric():
        raise unknown_labels_error("ScoreTable", _first_value(rows, label), _n_rows(rows))
    for column in (score, sample_weight):
        if column is not None and not schema[column].is_numeric():
            raise InvalidInputError(
                f"ScoreTable needs numbers in column {brief(column)!r} of {source}. "
                f"Got {schema[column]} such as {brief(str(_first_value(rows, column)))}. "
                f"Convert the column to numbers first."
            )

    value = nw.col(score).cast(nw.Float64)
    weight = nw.lit(1.0) if sample_weight is None else nw.col(sample_weight).cast(nw.Float64)
    selected = rows.select(
        nw.col(label).alias("label"),
        (value if decimals is None else value.round(decimals)).alias("score"),
        weight.alias("weight"),
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
        selected = selected.with_columns(
            **{f"{name}_squares": nw.col(name) * nw.col(name) for name in GROUPS}
        )
        sums += [nw.col(f"{name}_squares").sum().alias(f"{name}_squares") for name in GROUPS]
    known = (flags["labeled"] | flags["unlabeled"] | flags["negative"]).cast(nw.Int64)
    selected = selected.with_columns(
        known=nw.when(nw.col("label").is_null()).then(nw.lit(0)).otherwise(known)
    )
    sums += [nw.col("known").sum().alias("known"), nw.len().alias("rows")]
    grouped = selected.group_by("score").agg(*sums)
    table = grouped.collect() if isinstance(grouped, nw.LazyFrame) else grouped

    def total_of(name: str) -> FloatArray:
        return np.asarray(table.get_column(name).to_numpy(), dtype=np.float64)

    total = total_of("rows").sum()
    if total == 0:
        raise InvalidInputError(f"ScoreTable needs at least one row. Got none in {source}.")
    if total_of("known").sum() < total:
        strange = rows.filter(~nw.col(label).is_in([1, 0, -1]) | nw.col(label).is_null())
        raise unknown_labels_error("ScoreTable", _first_value(strange, label), int(total))
    scores = total_of("score")
    if not np.isfinite(scores).all():
        bad = ~np.isfinite(scores)
        raise InvalidInputError(
            f"ScoreTable needs every score to be a finite number: rows without one cannot be "
            f"ranked. Got {scores[bad][0]} in {int(total_of('rows')[bad].sum()):,} rows of column "
            f"{brief(score)!r} of {source}. Drop or impute those rows first."
        )
    columns: list[NDArray[Any]] = [total_of(name) for name in GROUPS]
    if sample_weight is None:
        return scores, [values.astype(np.intp) for values in columns], None
    if not all(np.isfinite(values).all() and (values >= 0).all() for values in columns):
        raise InvalidInputError(
            f"ScoreTable needs weights in column {brief(sample_weight)!r} to be finite and not "
            f"negative. Drop or fix those rows first."
        )
    return scores, columns, [float(total_of(f"{name}_squares").sum()) for name in GROUPS]


@contextmanager
def open_files(
    path: str | Path, columns: list[str], memory_limit: str, *, keep_order: bool = False
) -> Iterator[Any]:
    """Open CSV or Parquet files as a DuckDB relation with numbers in the wanted columns."""
    import duckdb

    name = str(path)
    found = [name] if Path(name).is_file() else glob.glob(name)
    matches: Any = [match for match in found if Path(match).is_file()]
    if not matches:
        raise InvalidInputError(
            f"Cannot find {brief(name, 200)}: no such file. Check the path or the glob pattern."
        )
    if all(Path(match).stat().st_size == 0 for match in matches):
        raise InvalidInputError(f"Cannot read {brief(name, 200)}: the file is empty.")
    kinds = {Path(match.removesuffix(".gz")).suffix.lower() for match in matches}
    with tempfile.TemporaryDirectory(prefix="recoup-") as spill:
        connection = duckdb.connect(
            config={
                "memory_limit": memory_limit,
                "temp_directory": spill,
                "preserve_insertion_order": keep_order,
            }
        )
        connection.execute("SET enable_progress_bar = false")
        try:
            if kinds <= {".parquet", ".pq"}:
                yield connection.read_parquet(matches)
            elif kinds <= {".csv", ".tsv", ".txt"}:
                yield _typed_csv(connection.read_csv(matches, all_varchar=True), columns, name)
            else:
                raise InvalidInputError(
                    f"Cannot read {brief(name, 200)}: recoup reads .parquet, .csv and .tsv files "
                    f"(also .csv.gz), one kind at a time. Convert the file, or load it and use "
                    f"ScoreTable.from_frame."
                )
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            raise InvalidInputError(
                f"Cannot read {brief(name, 200)}: {brief(reason, 200)}"
            ) from error
        finally:
            connection.close()


def has_many_scores(relation: Any, score: str) -> bool:
    """Say whether a relation has more distinct scores than a table should hold."""
    schema = nw.from_native(relation).collect_schema()
    if score not in schema.names() or not schema[score].is_numeric():
        return False
    counted = relation.aggregate(f"approx_count_distinct({_quote(score)})").fetchall()
    return bool(counted[0][0] > MANY_SCORES)


def bin_relation(
    relation: Any, label: str, score: str, sample_weight: str | None
) -> tuple[FloatArray, list[NDArray[Any]], list[float] | None, float]:
    """Count a relation with very many scores in bins, without bringing its rows to Python."""
    if sample_weight is not None:
        raise InvalidInputError(
            "ScoreTable.from_file counts weighted rows only up to two million distinct scores. "
            "Pass decimals=6 to round the scores first."
        )
    from recoup.scores.table import DEFAULT_BINS, _edges, _positions

    column, label_column = _quote(score), f"CAST({_quote(label)} AS INTEGER)"
    summary = relation.aggregate(
        f"{label_column} AS label, count(*) AS rows, max({column}::DOUBLE) AS top, "
        f"min({column}::DOUBLE) AS lowest, "
        f"count(*) FILTER (NOT coalesce(isfinite({column}::DOUBLE), false)) AS bad",
        label_column,
    ).fetchall()
    for value, rows, *_, bad in summary:
        if value not in GROUPS.values():
            raise unknown_labels_error("ScoreTable", value, rows)
        if bad:
            raise InvalidInputError(
                f"ScoreTable needs every score to be a finite number. Got {bad:,} missing or "
                f"infinite ones in column {brief(score)!r}. Drop or impute those rows first."
            )
    kept = []
    for value, rows, *_ in summary:
        # Any edges give a valid table, so a sample by hash is enough, and always the same.
        every = max(rows // EDGE_SAMPLE, 1)
        sample = relation.filter(f"{label_column} = {value} AND hash({column}) % {every} = 0")
        values = np.sort(sample.project(f"{column}::DOUBLE AS v").fetchnumpy()["v"])
        if len(values):
            kept.append(values[_positions(len(values), DEFAULT_BINS, len(summary))])
    edges = _edges([*kept, np.array([lowest for *_, lowest, _ in summary])])
    # DuckDB's bins include their upper end; ours the lower one, hence the signs.
    boundaries = ", ".join(repr(float(-edge)) for edge in edges[::-1])
    counted = relation.aggregate(
        f"{label_column} AS label, histogram(-({column}::DOUBLE), [{boundaries}]::DOUBLE[]) AS h",
        label_column,
    ).fetchall()
    columns: list[NDArray[Any]] = [np.zeros(len(edges), np.intp) for _ in GROUPS]
    slots = {value: slot for slot, value in enumerate(GROUPS.values())}
    for value, histogram in counted:
        places = np.searchsorted(edges, -np.fromiter(histogram.keys(), float))
        columns[slots[value]][places] = np.fromiter(histogram.values(), np.intp)
    return edges, columns, None, float(max(top for _, _, top, *_ in summary))


def _typed_csv(relation: Any, columns: list[str], name: str) -> Any:
    """Turn the needed text columns into numbers, naming the first cell that is none."""
    for column in columns:
        if column not in relation.columns:
            raise _missing_column(relation.columns, column, name)
    parts = [f"TRY_CAST({_quote(column)} AS DOUBLE) AS {_quote(column)}" for column in columns]
    for column in columns:
        bad = f"{_quote(column)} IS NOT NULL AND TRY_CAST({_quote(column)} AS DOUBLE) IS NULL"
        cells = relation.filter(bad).project(_quote(column)).limit(1).fetchall()
        if cells:
            raise InvalidInputError(
                f"Column {brief(column)!r} of {brief(name, 200)} needs numbers. "
                f"Got {brief(cells[0][0])!r}. Fix the cell or choose another column."
            )
    return relation.project(", ".join(dict.fromkeys(parts)))


def _quote(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _check_column(schema: Any, column: str, source: str) -> None:
    if column not in schema.names():
        raise _missing_column(schema.names(), column, source)


def _missing_column(columns: list[str], column: str, source: str) -> InvalidInputError:
    near = difflib.get_close_matches(column, columns, 1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    return InvalidInputError(
        f"There is no column {brief(column)!r} in {brief(source, 200)}.{guess} "
        f"It has: {brief(', '.join(columns), 200)}."
    )


def _first_value(rows: Any, column: str) -> object:
    head = rows.select(column).head(1)
    values = (head.collect() if isinstance(head, nw.LazyFrame) else head).get_column(column)
    return values.to_list()[0] if len(values) else None


def _n_rows(rows: Any) -> int:
    counted = rows.select(nw.len().alias("n"))
    frame = counted.collect() if isinstance(counted, nw.LazyFrame) else counted
    return int(frame.get_column("n").to_list()[0])


def read_columns(
    path: str | Path, columns: list[str], memory_limit: str = "1GB"
) -> dict[str, FloatArray]:
    """Read numeric columns of CSV or Parquet files, in the order of the rows.

    Parameters
    ----------
    path : str or Path
        A file or a glob pattern such as ``"scores/*.parquet"``.
    columns : list of str
        Names of columns that hold numbers or booleans.
    memory_limit : str, default="1GB"
        What DuckDB may use before it spills to disk.

    Returns
    -------
    dict of str to ndarray
        One array per column; missing cells are NaN.
    """
    with open_files(path, columns, memory_limit, keep_order=True) as relation:
        schema = nw.from_native(relation).collect_schema()
        for column in columns:
            _check_column(schema, column, str(path))
            if not (schema[column].is_numeric() or schema[column] == nw.Boolean):
                example = _first_value(nw.from_native(relation), column)
                raise InvalidInputError(
                    f"recoup needs numbers in column {brief(column)!r} of {brief(str(path), 200)}. "
                    f"Got {schema[column]} such as {brief(str(example))}. "
                    f"Convert the column to numbers first."
                )
        cells = (f"coalesce({_quote(column)}::DOUBLE, 'NaN'::DOUBLE)" for column in columns)
        named = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
        arrays = relation.project(named).fetchnumpy()
    return {column: np.asarray(arrays[f"c{place}"], float) for place, column in enumerate(columns)}
