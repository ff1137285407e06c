"""Rows of a store as a table in a file: written, and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recoup._core.checks import brief
from recoup._core.files import no_formula, write_file
from recoup.bench.job import canonical
from recoup.bench.record import COUNTS, DEFINED, columns, number_columns, storable_text
from recoup.bench.result_array import renamed
from recoup.exceptions import InvalidInputError

NEEDED = ("run", *DEFINED, "learner", "key", "seed", "protocol", "status")


def is_export(path: str | Path) -> bool:
    """Say whether a file is an exported table by its name, and not a store."""
    return Path(path).suffix.lower() == ".parquet"


def read_export(path: str | Path) -> list[dict[str, Any]]:
    """Read runs from a Parquet file that ``recoup bench export`` wrote.

    Parameters
    ----------
    path : str or path
        The file. It holds no curves or distributions of single runs, which only a store has.

    Returns
    -------
    list of dict
        As ``Store(path).rows()`` returns them; a column that an earlier recoup did not have is
        None.

    Examples
    --------
    >>> import tempfile
    >>> row = dict.fromkeys(columns()) | {"run": "00ff", "params": {"mode": "e"}, "seed": 2}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = read_export(export([row], f"{folder}/runs.parquet"))
    >>> found == [row]
    True
    """
    import pyarrow as pa
    import pyarrow.parquet

    shown = brief(str(path), 200)
    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InvalidInputError(
            f"read_export needs a Parquet file of recoup bench export. {shown} cannot be read: "
            f"{brief(str(error), 200)}."
        ) from error
    kept = renamed(table.to_pylist())
    lacking = [name for name in NEEDED if name not in table.column_names]
    if lacking:
        raise InvalidInputError(
            f"read_export needs the columns of recoup bench export. {shown} has no column "
            f"{lacking[0]!r}. Export the store again."
        )
    found = []
    for row in kept:
        params = row.get("params")
        whole = {name: row.get(name) for name in columns()}
        found.append(whole | {"params": json.loads(params) if params else {}})
    return found


def export(rows: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Write rows as Parquet or CSV, by the end of the name."""
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    target, names = Path(path), columns()
    kinds = {name: pa.float64() for name in ("label_frequency", "noise", *number_columns())}
    kinds |= {name: pa.int64() for name in ("seed", *COUNTS)}
    values = {name: [_cell(name, row[name]) for row in rows] for name in names}
    fields = [pa.field(name, kinds.get(name, pa.string())) for name in names]
    table = pa.table(values, schema=pa.schema(fields))
    buffer = io.BytesIO()
    if target.suffix.lower() == ".parquet":
        pyarrow.parquet.write_table(table, buffer, compression="zstd")
    elif target.suffix.lower() == ".csv":
        words = [name for name in names if name not in kinds]
        for name in words:
            safe = pa.array([no_formula(value) for value in values[name]], pa.string())
            table = table.set_column(names.index(name), name, safe)
        pyarrow.csv.write_csv(table, buffer)
    else:
        raise InvalidInputError(
            f"export needs a name that ends in .parquet or .csv. Got {brief(str(path), 200)}."
        )
    return write_file(target, buffer.getvalue())


def _cell(name: str, value: Any) -> Any:
    if name == "params":
        return canonical(value)
    return storable_text(value) if isinstance(value, str) else value
