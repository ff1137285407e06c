"""Datasets that are tables: how their files are read and fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.optional import require
from recoup.data.entry import Entry, Raw, Source, match_classes
from recoup.data.files import cache_folder
from recoup.data.tables_life import ENTRIES as LIFE
from recoup.data.tables_world import ENTRIES as WORLD
from recoup.exceptions import InvalidInputError

ENTRIES = LIFE + WORLD


def read(entry: Entry, path: Path) -> Raw:
    """Read a Parquet file: features, ``target``, and perhaps ``split`` and ``meta_`` columns."""
    parquet = require("pyarrow.parquet", purpose=f"load({entry.name!r})", install="pyarrow")
    types = require("pyarrow.types", purpose=f"load({entry.name!r})", install="pyarrow")
    table = parquet.read_table(path)

    def is_text(name: str) -> bool:
        # Writers differ in how they store text: plain, with long offsets, or as a dictionary.
        kind = table.schema.field(name).type
        return not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))

    def column(name: str) -> Any:
        if is_text(name):
            return table[name].cast("string").to_numpy().astype(str)
        return table[name].to_numpy()

    meta = {name: column(name) for name in table.column_names if name.startswith("meta_")}
    names = [n for n in table.column_names if n not in ("target", "split") and n not in meta]
    text = {name for name in names if is_text(name)}
    X: Any
    if text:
        pandas = require("pandas", purpose=f"load({entry.name!r}), with text", install="pandas")
        X = pandas.DataFrame(
            {n: pandas.Categorical(column(n)) if n in text else column(n) * 1.0 for n in names}
        )
    else:
        X = np.column_stack([column(name) for name in names]).astype(np.float64)
    target = column("target")
    return Raw(
        X,
        target.astype(np.float64) if entry.classes is None else target.astype(str),
        tuple(names),
        tuple(name for name in names if name in text or name in entry.coded),
        split=column("split") if "split" in table.column_names else None,
        meta=meta,
    )


def fetch(entry: Entry, source: Source, path: Path) -> None:
    """Fetch a table from OpenML and write it in the layout that ``read`` expects.

    Columns keep the names they have at the source.
    """
    purpose = f"Fetching {entry.name!r}"
    pandas = require("pandas", purpose=purpose, install="pandas")
    datasets = require("sklearn.datasets", purpose=purpose, install="scikit-learn")
    arrow = require("pyarrow", purpose=purpose, install="pyarrow")
    parquet = require("pyarrow.parquet", purpose=purpose, install="pyarrow")
    bunch = datasets.fetch_openml(
        data_id=source.id, as_frame=True, data_home=str(cache_folder() / "scikit-learn")
    )
    columns: dict[str, Any] = {}
    for name, values in bunch.data.items():
        key = source.rename.get(name, name)
        if name in entry.coded or pandas.api.types.is_numeric_dtype(values.dtype):
            columns[key] = pandas.to_numeric(values).to_numpy()
        else:
            columns[key] = values.astype(object).where(values.notna(), "?").to_numpy().astype(str)
    n_features = sum(not name.startswith("meta_") for name in columns)
    if (len(bunch.target), n_features) != (entry.rows, entry.features):
        raise InvalidInputError(
            f"load needs the public copy of {entry.name!r} to have {entry.rows:,} rows and "
            f"{entry.features} features. {source} returned {len(bunch.target):,} and "
            f"{n_features}. Put {entry.file} in the folder that RECOUP_DATA names instead."
        )
    if entry.classes is None:
        columns["target"] = np.asarray(bunch.target).astype(np.float64)
    else:
        columns["target"] = match_classes(entry, np.asarray(bunch.target))
    table = arrow.table({name: arrow.array(values) for name, values in columns.items()})
    parquet.write_table(table, path)
