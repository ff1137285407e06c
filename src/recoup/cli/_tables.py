"""Labeled files in, PU files out: cells as they were, rows in their order."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recoup._core.checks import brief, did_you_mean
from recoup._core.files import writing
from recoup.exceptions import InvalidInputError
from recoup.scores.files import CsvLayout, reading_error, scan_csv, several_columns_error

TABLES = (".csv", ".parquet")
# 007 is a code and a number of twenty digits is a name: as numbers both would change.
NUMBER = r"^-?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:nan|inf|infinity)$"


@dataclass(frozen=True, eq=False)
class SourceTable:
    """Columns of a file, by name. Cells of CSV files are text, just as they were written."""

    name: str
    columns: Mapping[str, Any]
    is_text: bool

    def typed(self, name: str) -> Any:
        """Return a column as an Arrow array whose type says whether it holds numbers."""
        if name not in self.columns:
            raise unknown_name("column", name, self.columns, brief(self.name, 200))
        column = self.columns[name]
        return _typed_text(column) if self.is_text else _plain_column(column)


def read_table(file: str) -> SourceTable:
    """Read a CSV or Parquet file whole."""
    import duckdb
    import pyarrow as pa

    name, path = brief(file, 200), Path(file)
    if not path.is_file():
        raise InvalidInputError(f"Cannot find {name}: no such file. Check the path.")
    if path.stat().st_size == 0:
        raise InvalidInputError(f"Cannot read {name}: the file is empty.")
    kind = Path(file.removesuffix(".gz")).suffix.lower()
    readers: dict[str, Callable[[str], tuple[list[str], list[Any]]]] = {
        **dict.fromkeys((".parquet", ".pq"), _read_parquet),
        **dict.fromkeys((".csv", ".tsv", ".txt"), _read_csv),
    }
    if kind not in readers:
        raise InvalidInputError(
            f"Cannot read {name}: recoup reads .parquet, .csv and .tsv files (also .csv.gz). "
            f"Convert the file first."
        )
    try:
        names, columns = readers[kind](file)
    except (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error) as error:
        raise reading_error(file, error) from error
    twice = [each for place, each in enumerate(names) if each in names[:place]]
    if twice:
        raise several_columns_error(twice[0], file)
    return SourceTable(file, dict(zip(names, columns, strict=True)), readers[kind] is _read_csv)


def _read_parquet(file: str) -> tuple[list[str], list[Any]]:
    import pyarrow.parquet as pq

    # Not read_table, which takes folders named a=b for columns.
    with pq.ParquetFile(file) as source:
        table = source.read()
    return table.column_names, table.columns


def _read_csv(file: str) -> tuple[list[str], list[Any]]:
    import duckdb

    layout = CsvLayout.of(file)
    if not layout.names:
        return [], []
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        table = scan_csv(connection, [file], layout).to_arrow_table()
    return list(layout.names), table.columns


def _typed_text(column: Any) -> Any:
    """Turn text into whole numbers, numbers or booleans where every cell is one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column)
    if text.null_count == len(text):
        return column
    if pc.all(pc.match_substring_regex(text, NUMBER)).as_py():
        for kind in (pa.int64(), pa.float64()):
            try:
                return text.cast(kind)
            except pa.ArrowInvalid:
                continue
    if pc.all(pc.match_substring_regex(text, "^(?i:true|false)$")).as_py():
        return pc.equal(pc.utf8_lower(text), "true")
    return column


def _plain_column(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def unknown_name(kind: str, name: str, known: Collection[str], where: str) -> InvalidInputError:
    """Build the error for a name that is not there, with the nearest one that is."""
    guess = did_you_mean(name, known)
    return InvalidInputError(
        f"There is no {kind} {brief(name)!r} in {where}.{guess} "
        f"It has: {brief(', '.join(known), 200)}."
    )


def write_together(tables: Mapping[Path, Any]) -> None:
    """Write Arrow tables, all of them or none."""
    import duckdb
    import pyarrow as pa

    with writing(*tables, failures=(duckdb.Error, pa.ArrowException, OSError)) as drafts:
        for draft, (path, table) in zip(drafts, tables.items(), strict=True):
            (_write_csv if path.suffix.lower() == ".csv" else _write_parquet)(table, draft)


def _write_parquet(table: Any, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _write_csv(table: Any, path: Path) -> None:
    import duckdb

    def literal(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    # DuckDB would rename columns that differ in case alone, so their names travel as a row.
    places = [f"c{number}" for number in range(table.num_columns)]
    header = ", ".join(map(literal, table.column_names))
    cells = ", ".join(f"{place}::VARCHAR" for place in places)
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("cells", table.rename_columns(places))
        connection.execute(
            f"COPY (SELECT * FROM (VALUES ({header})) UNION ALL SELECT {cells} FROM cells) "
            f"TO {literal(str(path))} (FORMAT csv, HEADER false)"
        )
