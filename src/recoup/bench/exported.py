"""read_export: the rows of a store from the table that was made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recoup._core.checks import brief
from recoup.bench.result_array import renamed
from recoup.bench.store import DEFINED, columns
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
    >>> from recoup.bench.store import export
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
