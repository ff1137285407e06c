"""Tables as arrays in one file, for studies on machines that have neither data nor readers.

    python -m tools.studies.packed_tables --to build/tables/tables.npz    once, from RECOUP_DATA

Each table has numbers alone: one column per level of a category, its most frequent levels apart
and the others together. Numbers are not scaled: a study does that from its training rows. Of a long
table some rows are drawn, the same in every file.
"""

from __future__ import annotations

import argparse
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from recoup._core.random import named_rng

PACKED = Path("build/tables/tables.npz")
MOST_ROWS, MOST_LEVELS = 10_000, 30
# Tables that PUICL has its figures on, with its classes where ours are others.
TWO_LETTERS = "letter, C and U"
# What a study reads, in the order of the file.
NAMES = (
    *("spambase", "mushroom", "adult", "bank", "connect4", "pendigits", "page_blocks"),
    *("wine_quality", "landsat", "anuran", "abalone", "concrete"),
    *("epileptic_seizure", "batteryless_s2", "breast_cancer"),
    *("casp", "parkinsons_telemonitoring", "covertype_sample", "hiv1_protease", "splice"),
    TWO_LETTERS,
)


@dataclass(frozen=True)
class PackedTable:
    """Features and true classes.

    Attributes
    ----------
    X : ndarray of shape (n, n_columns)
        Numbers, of the smallest type that holds them.
    y : ndarray of shape (n,)
        1 positive, 0 negative.
    scaled : ndarray of shape (n_columns,)
        Whether a column holds numbers that are to be scaled, not a level of a category.
    """

    X: np.ndarray
    y: np.ndarray
    scaled: np.ndarray

    def rows(self, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both parts, scaled by the mean and the spread of the training rows."""
        first, second = self.X[train].astype(float), self.X[test].astype(float)
        mean, spread = first.mean(axis=0), first.std(axis=0)
        mean, spread = np.where(self.scaled, mean, 0.0), np.where(self.scaled, spread, 1.0)
        spread[spread == 0] = 1.0
        return (first - mean) / spread, (second - mean) / spread


_OPEN: dict[tuple[str, str], PackedTable] = {}


def read_table(name: str, path: str | Path = PACKED) -> PackedTable:
    """Return a table; each is read once."""
    key = (str(path), name)
    if key not in _OPEN:
        with np.load(path) as kept:
            parts = [kept[f"{name}/{part}"] for part in ("X", "y", "scaled")]
        _OPEN[key] = PackedTable(parts[0], parts[1].astype(int), parts[2])
    return _OPEN[key]


def table_of(name: str) -> PackedTable:
    """Make a table of a dataset."""
    from recoup.data import load

    data = load("letter", positive="C") if name == TWO_LETTERS else load(name)
    y = data.y_true
    kept = np.arange(len(y))
    if name == TWO_LETTERS:
        kept = np.flatnonzero(y | load("letter", positive="U").y_true)
    if len(kept) > MOST_ROWS:
        rng = named_rng(0, "packed tables", name)
        kept = np.sort(rng.choice(kept, MOST_ROWS, replace=False))
    data = data.take(kept)
    columns, scaled = [], []
    for number, column in enumerate(data.feature_names):
        frame = hasattr(data.X, "iloc")
        values = np.asarray(data.X[column] if frame else data.X[:, number])
        if column in data.categorical and len(np.unique(values.astype(str))) > 2:
            found = levels_of(values.astype(str))
            columns.append(found)
            scaled += [False] * found.shape[1]
        else:
            columns.append(as_number(values)[:, None])
            scaled.append(True)
    return PackedTable(small(np.hstack(columns)), data.y_true.astype(np.int8), np.array(scaled))


def levels_of(values: np.ndarray) -> np.ndarray:
    """Return a column for each frequent level, and one for the others where there are any."""
    levels, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MOST_LEVELS])
    found = place[:, None] == frequent
    if len(levels) > MOST_LEVELS:
        found = np.column_stack([found, ~found.any(axis=1)])
    return np.asarray(found, dtype=float)


def as_number(values: np.ndarray) -> np.ndarray:
    """Return numbers as they are, and the two levels of a flag as 0 and 1."""
    if values.dtype.kind in "fiub":
        return values.astype(float)
    return np.unique(values.astype(str), return_inverse=True)[1].astype(float)


def small(X: np.ndarray) -> np.ndarray:
    """Return the same numbers in few bytes; those with decimals in single precision."""
    if not np.array_equal(X, np.round(X)):
        return X.astype(np.float32)
    for kind in (np.uint8, np.int16, np.int32):
        limits = np.iinfo(kind)
        if X.min() >= limits.min and X.max() <= limits.max:
            return X.astype(kind)
    return X


def pack(names: tuple[str, ...], path: Path) -> None:
    """Write tables to one file, compressed as far as Python itself can."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as out:
        for name in names:
            table = table_of(name)
            parts: dict[str, Any] = {"X": table.X, "y": table.y, "scaled": table.scaled}
            for part, values in parts.items():
                one = io.BytesIO()
                np.save(one, values)
                out.writestr(f"{name}/{part}.npy", one.getvalue())
            print(name, table.X.shape, table.X.dtype, f"{table.y.mean():.3f}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content.getvalue())
    print(f"{path}: {len(content.getvalue()) / 1e6:.1f} MB")


def main() -> None:
    """Pack the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=PACKED)
    pack(NAMES, parser.parse_args().to)


if __name__ == "__main__":
    main()
