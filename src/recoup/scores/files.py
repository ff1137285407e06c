"""Open CSV and Parquet files in DuckDB, with nothing about them left to its guesses."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import narwhals as nw

from recoup._core.checks import SHARED_FLOATS, brief, did_you_mean, shared_floats_error
from recoup.exceptions import InvalidInputError

DELIMITERS = (",", "\t", ";", "|")
# How many characters the header and the row below may have together.
MAX_HEADER = 2**20


@dataclass(frozen=True)
class CsvLayout:
    """How a CSV file is to be read: its columns, what separates them, and where the header is."""

    names: tuple[str, ...]
    delimiter: str
    skipped: int = 0

    @classmethod
    def of(cls, file: str) -> CsvLayout:
        """Read the header of a file.

        The delimiter is the one that splits the header and the row below alike, into most names.
        """
        with _open_text(file) as text:
            lines = io.StringIO(text.read(MAX_HEADER), newline="").readlines()
        skipped = next((n for n, line in enumerate(lines) if line.strip("\r\n")), 0)

        def fitness(delimiter: str) -> tuple[bool, int]:
            header, row = _first_rows(lines, delimiter)
            return len(header) == len(row) > 1, len(header)

        delimiter = max(DELIMITERS, key=fitness)
        return cls(tuple(_first_rows(lines, delimiter)[0]), delimiter, skipped)


def _open_text(file: str) -> IO[str]:
    """Open a text file, packed or not, with its line ends as they are."""
    if file.endswith(".gz"):
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return open(file, encoding="utf-8-sig", newline="")


def _first_rows(lines: list[str], delimiter: str) -> tuple[list[str], list[str]]:
    rows = filter(None, csv.reader(lines, delimiter=delimiter, strict=False))
    return next(rows, []), next(rows, [])


def scan_csv(connection: Any, files: Sequence[str], layout: CsvLayout) -> Any:
    """Return the text cells of CSV files of one layout, as columns ``c0``, ``c1``, ...

    Every rule is given. DuckDB would otherwise guess them from some rows, and lose others: those
    that begin with what it takes for a sign of comments, or that come before its guess of a header.
    """
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(layout.names)))
    names = ", ".join(_literal(glob.escape(file)) for file in files)
    return connection.sql(
        f"SELECT * FROM read_csv([{names}], columns = {{{columns}}}, "
        f"auto_detect = false, delim = {_literal(layout.delimiter)}, quote = '\"', "
        f"escape = '\"', comment = '', header = true, skip = {layout.skipped}, "
        f"strict_mode = true, null_padding = false, ignore_errors = false, "
        f"hive_partitioning = false)"
    )


def scan_parquet(connection: Any, files: Sequence[str]) -> Any:
    """Return the rows of Parquet files, joined by column name."""
    return connection.read_parquet(
        [glob.escape(file) for file in files], union_by_name=True, hive_partitioning=False
    )


def reading_error(name: str, error: Exception) -> InvalidInputError:
    """Say why a file cannot be read, without the engine's advice on its own options."""
    reason = " ".join(str(error).split()).split(" Possible ")[0]
    if isinstance(error, UnicodeDecodeError):
        reason = "it is not UTF-8 text. Save it in that encoding."
    elif "state machine" in reason:
        reason = (
            "its lines do not follow the rules of CSV files. Check that every quote is closed "
            "and that all lines end alike."
        )
    return InvalidInputError(f"Cannot read {brief(name, 200)}: {brief(reason, 200)}")


@contextmanager
def open_files(
    path: str | Path, columns: list[str], memory_limit: str, *, keep_order: bool = False
) -> Iterator[Any]:
    """Open the wanted columns of CSV or Parquet files as one DuckDB relation, joined by name.

    Every file must have them, once. Those of CSV files are turned into numbers.
    """
    import duckdb

    name = str(path)
    columns = list(dict.fromkeys(columns))  # label and score may be one column
    for column in columns:
        _refuse_twins([other for other in columns if other.lower() == column.lower()], name)
    found = [name] if Path(name).is_file() else sorted(glob.glob(name))
    matches = [match for match in found if Path(match).is_file()]
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
                yield _wanted_parquet(connection, matches, columns)
            elif kinds <= {".csv", ".tsv", ".txt"}:
                yield _typed_csv(_wanted_csv(connection, matches, columns), columns, name)
            else:
                raise InvalidInputError(
                    f"Cannot read {brief(name, 200)}: recoup reads .parquet, .csv and .tsv files "
                    f"(also .csv.gz), one kind at a time. Convert the file, or load it and use "
                    f"ScoreTable.from_frame."
                )
        except (duckdb.Error, OSError, UnicodeDecodeError, csv.Error) as error:
            raise reading_error(name, error) from error
        finally:
            connection.close()


def check_names(names: Sequence[str], columns: Sequence[str], source: str) -> None:
    """Require every wanted column to be there, once."""
    for column in columns:
        n_found = names.count(column)
        if not n_found:
            guess = did_you_mean(column, names)
            raise InvalidInputError(
                f"There is no column {brief(column)!r} in {brief(source, 200)}.{guess} "
                f"It has: {brief(', '.join(names), 200)}."
            )
        if n_found > 1:
            raise several_columns_error(column, source)


def several_columns_error(column: str, source: str) -> InvalidInputError:
    """Build the error for columns of one name, of which no one can say which is meant."""
    return InvalidInputError(
        f"Cannot read {brief(source, 200)}: it has several columns {brief(column)!r}. Rename them."
    )


def check_tells_apart(rows: Any, columns: Sequence[str], source: str) -> None:
    """Refuse numbers of a frame that differ but would become equal as floats."""
    schema = rows.collect_schema()
    for column in dict.fromkeys(columns):
        needs = f"ScoreTable needs column {brief(column)!r} of {brief(source, 200)}"
        cell = nw.col(column)
        if schema[column] in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128):
            ends = _collected(rows.select(cell.min().alias("low"), cell.max().alias("high")))
            for end in (*ends["low"].to_list(), *ends["high"].to_list()):
                if end is not None and abs(end) >= SHARED_FLOATS:
                    raise shared_floats_error(needs, int(end))
        elif schema[column] == nw.Decimal:
            kept, turned = (
                len(_collected(rows.select(each.alias("n")).unique()))
                for each in (cell, cell.cast(nw.Float64))
            )
            if kept != turned:
                raise shared_floats_error(needs, f"{kept:,} decimals that become {turned:,}")


def _collected(rows: Any) -> Any:
    return rows.collect() if isinstance(rows, nw.LazyFrame) else rows


def _wanted_parquet(connection: Any, files: Sequence[str], columns: Sequence[str]) -> Any:
    kinds = []
    for file in files:
        found = connection.execute(
            "SELECT name, coalesce(num_children, 0), type, logical_type FROM parquet_schema(?)",
            [glob.escape(file)],
        )
        schema = iter(found.fetchall())
        fields = [_field(schema) for _ in range(next(schema)[1])]
        names = [name for name, _ in fields]
        check_names(names, columns, file)
        for column in columns:
            _refuse_twins([name for name in names if name.lower() == column.lower()], file)
        kinds.append({name: kind for name, kind in fields if name in columns})
    for file in files if any(kind != kinds[0] for kind in kinds) else ():
        # Joined with floats, whole numbers would be floats before anyone looks.
        check_tells_apart(nw.from_native(scan_parquet(connection, [file])), columns, file)
    return scan_parquet(connection, files)


def _field(schema: Iterator[Any]) -> tuple[str, Any]:
    """Take a column, and the parts that it may consist of, from the list of all parts."""
    name, n_parts, *kind = next(schema)
    return name, (kind, [_field(schema) for _ in range(n_parts)])


def _wanted_csv(connection: Any, files: Sequence[str], columns: Sequence[str]) -> Any:
    parts = []
    layouts = {file: CsvLayout.of(file) for file in files}
    for layout, alike in groupby(files, layouts.__getitem__):
        group = list(alike)
        names = [name.strip() for name in layout.names]
        check_names(names, columns, group[0])
        cells = (f"c{names.index(column)} AS {quoted(column)}" for column in columns)
        parts.append(scan_csv(connection, group, layout).project(", ".join(cells)))
    return reduce(lambda first, second: first.union(second), parts)


def _typed_csv(relation: Any, columns: Sequence[str], name: str) -> Any:
    """Turn text columns into numbers, naming a cell that is none.

    A column that holds only true and false, as pandas writes booleans, becomes 1 and 0.
    """
    cells = [(quoted(column), f"TRY_CAST({quoted(column)} AS DOUBLE)") for column in columns]
    counts = [
        f"count({cell}), count(*) FILTER (lower(trim({cell})) IN ('true', 'false')), "
        f"min({cell}) FILTER ({cell} IS NOT NULL AND {number} IS NULL), "
        f"min({cell}) FILTER (isfinite({number}) AND abs({number}) >= {SHARED_FLOATS} AND "
        f"regexp_full_match(trim({cell}), '[+-]?[0-9_]+'))"
        for cell, number in cells
    ]
    found = iter(relation.aggregate(", ".join(counts)).fetchall()[0])
    parts = []
    for column, (cell, number) in zip(columns, cells, strict=True):
        filled, boolean, bad, large = next(found), next(found), next(found), next(found)
        if filled and boolean == filled:
            number = f"(lower(trim({cell})) = 'true')::DOUBLE"
        elif bad is not None:
            raise InvalidInputError(
                f"Column {brief(column)!r} of {brief(name, 200)} needs numbers. "
                f"Got {brief(bad)!r}. Fix the cell or choose another column."
            )
        elif large is not None:
            raise shared_floats_error(
                f"Column {brief(column)!r} of {brief(name, 200)} needs", large
            )
        parts.append(f"{number} AS {cell}")
    return relation.project(", ".join(parts))


def _refuse_twins(names: Sequence[str], source: str) -> None:
    if len(names) > 1:
        raise InvalidInputError(
            f"Cannot tell the columns {brief(names[0])!r} and {brief(names[1])!r} of "
            f"{brief(source, 200)} apart: they differ in case alone. Rename one."
        )


def quoted(column: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
