"""Write what was fetched or built in the layout of the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.optional import require
from recoup.data.entry import Entry, match_classes, part_names
from recoup.exceptions import InvalidInputError

Images = tuple[NDArray[np.uint8], NDArray[Any], tuple[int, int]]
"""Pixels, classes, and the number of training and of test rows, which come in this order."""


def write_columns(entry: Entry, columns: Mapping[str, Any], path: Path, place: object) -> None:
    """Write a table in the layout that ``read_tabular`` expects, if it has the catalog's size.

    Parameters
    ----------
    entry : Entry
        The dataset.
    columns : mapping of str to ndarray
        Features and ``meta_`` columns, and ``target``.
    path : Path
        The file.
    place : object
        Where the columns come from, for the error.
    """
    arrow = require("pyarrow", purpose=f"Fetching {entry.name!r}", install="pyarrow")
    parquet = require("pyarrow.parquet", purpose=f"Fetching {entry.name!r}", install="pyarrow")
    target = np.asarray(columns["target"])
    features = [n for n in columns if n != "target" and not n.startswith("meta_")]
    if (len(target), len(features)) != (entry.rows, entry.features):
        raise InvalidInputError(
            f"load needs the public copy of {entry.name!r} to have {entry.rows:,} rows and "
            f"{entry.features} features. {place} returned {len(target):,} and "
            f"{len(features)}. Put {entry.file} in the folder that RECOUP_DATA names instead."
        )
    found = target.astype(np.float64) if entry.classes is None else match_classes(entry, target)
    table = arrow.table({name: arrow.array(v) for name, v in {**columns, "target": found}.items()})
    parquet.write_table(table, path)


def write_images(entry: Entry, images: Images, path: Path) -> None:
    """Write images, their classes and parts in the layout that ``read_images`` expects."""
    X, labels, sizes = images
    arrays: dict[str, Any] = {"split": part_names(sizes)} if entry.parts else {}
    if entry.parts and sizes != entry.parts:
        # The catalog holds the first images of each class, in the order of the full set.
        parts = (slice(0, sizes[0]), slice(sizes[0], None))
        keep = [
            first_of_each_class(labels[part], wanted)
            for part, wanted in zip(parts, entry.parts, strict=True)
        ]
        chosen = np.concatenate([keep[0], keep[1] + sizes[0]])
        X, labels = X[chosen], labels[chosen]
        arrays = {"split": part_names(entry.parts), "index": np.concatenate(keep).astype(np.int32)}
    names = match_classes(entry, labels)
    position = {name: code for code, name in enumerate(entry.classes or ())}
    y = np.array([position[name] for name in names.tolist()], dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez_compressed(stream, X=X, y=y, classes=np.array([*position]), **arrays)


def first_of_each_class(labels: NDArray[Any], wanted: int) -> NDArray[np.int64]:
    """Return the rows of the first ``wanted`` images, the same number from each class."""
    classes = np.unique(labels)
    rows = [np.flatnonzero(labels == c)[: wanted // len(classes)] for c in classes]
    return np.sort(np.concatenate(rows))
