"""Write tables: cells as they were, rows in their order, files whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recoup._core.files import writing

TABLES = (".csv", ".parquet")


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
