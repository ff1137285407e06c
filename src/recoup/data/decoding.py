"""Decode the files of the catalog: tables, sentence embeddings, images; and scikit-learn's own."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.optional import require
from recoup.data.entry import Entry, Kind, Raw


def read_tabular(entry: Entry, path: Path) -> Raw:
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


def read_text(entry: Entry, path: Path) -> Raw:
    """Read sentence embeddings; they are stored in half precision."""
    # Opened here, since numpy leaves a damaged archive open.
    with path.open("rb") as stream, np.load(stream) as arrays:
        return Raw(
            arrays["X"].astype(np.float32),
            _named_classes(entry, arrays),
            tuple(f"embedding_{i}" for i in range(entry.features)),
            split=arrays["split"].astype(str),
            meta={"meta_rating": arrays["rating"]} if "rating" in arrays else {},
        )


def read_images(entry: Entry, path: Path) -> Raw:
    """Decode a file of images, stored plainly, as differences, or as JPEG files in a row."""
    # Opened here, since numpy leaves a damaged archive open.
    with path.open("rb") as stream, np.load(stream) as arrays:
        encoded = None
        if "residual" in arrays:
            X = decode_differences(arrays["residual"])
        elif "jpeg" in arrays:
            encoded = (arrays["jpeg"], arrays["offsets"].astype(np.int64))
            X = decode_jpeg(*encoded)
        else:
            X = as_planes(arrays["X"], entry.features)
        return Raw(
            X,
            _named_classes(entry, arrays),
            split=arrays["split"].astype(str) if "split" in arrays else None,
            meta={"meta_index": arrays["index"]} if "index" in arrays else {},
            encoded=encoded,
        )


READERS: Mapping[Kind, Callable[[Entry, Path], Raw]] = {
    "table": read_tabular,
    "text": read_text,
    "image": read_images,
}


def read_scikit_learn(entry: Entry) -> Raw:
    """Take a dataset out of scikit-learn, which needs no file and no network."""
    datasets = require("sklearn.datasets", purpose=f"load({entry.name!r})", install="scikit-learn")
    bunch = getattr(datasets, f"load_{entry.name}")()
    target = bunch.target
    if entry.classes is not None:
        target = np.asarray(bunch.target_names).astype(str)[target]
    names = tuple(str(name).replace(" ", "_") for name in bunch.feature_names)
    return Raw(np.asarray(bunch.data, dtype=np.float64), target, names)


def as_planes(X: NDArray[Any], features: int) -> NDArray[Any]:
    """Bring images of any usual layout to bytes of shape (n, h, w), or (n, 3, h, w) in colour.

    Channels may come first or last, grey images may have a channel or none, and the values of an
    image may lie in one row; those of a colour image then come channel by channel. Whole numbers
    from 0 to 255 may be stored in any type. What has another layout or other values is left alone.
    """
    channels = 3 if features % 3 == 0 else 1
    side = math.isqrt(features // channels)
    planes = (side, side) if channels == 1 else (channels, side, side)
    if X.ndim == 4 and channels == 3 and X.shape[1:] == (side, side, channels):
        X = X.transpose(0, 3, 1, 2)
    elif X.shape[1:] in ((features,), (1, side, side), (side, side, 1)):
        X = X.reshape(len(X), *planes)
    if X.dtype != np.uint8 and X.dtype.kind in "biuf" and X.size and 0 <= X.min() <= X.max() < 256:
        narrow = X.astype(np.uint8)
        return narrow if np.array_equal(narrow, X) else X
    return X


def decode_differences(residual: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rebuild colour images from differences along rows and columns, modulo 256.

    The three planes are green, red minus green and blue minus green.
    """
    rows = np.cumsum(residual, axis=2, dtype=np.uint8)
    green, red, blue = np.cumsum(rows, axis=3, dtype=np.uint8)
    return np.stack([red + green, green, blue + green], axis=1)


def decode_jpeg(stream: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Decode grey JPEG files that lie one after the other."""
    pillow = require("PIL.Image", purpose="load() of JPEG images", install="pillow")
    starts = offsets.tolist()
    return np.stack(
        [
            np.asarray(pillow.open(io.BytesIO(stream[start:stop].tobytes())).convert("L"))
            for start, stop in pairwise(starts)
        ]
    )


def decode_idx(content: bytes) -> NDArray[np.uint8]:
    """Read an array of bytes in the IDX format of MNIST, compressed by gzip.

    A header of whole numbers, each in four bytes, the highest first: 2048 plus the number of axes,
    then the length of each axis.
    """
    plain = gzip.decompress(content)
    axes = int.from_bytes(plain[:4], "big") - 2048
    if not 1 <= axes <= 3:
        raise ValueError("no IDX file of bytes")
    shape = np.frombuffer(plain, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(plain, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)


def decode_sheet(content: bytes) -> NDArray[np.uint8]:
    """Cut a PNG sheet into colour images: each of its rows holds the pixels of one, line by line.

    Returns
    -------
    ndarray of shape (n, 3, side, side)
    """
    pillow = require("PIL.Image", purpose="Reading images from a PNG sheet", install="pillow")
    with pillow.open(io.BytesIO(content)) as sheet:
        rows = np.asarray(sheet.convert("RGB"))
    side = math.isqrt(rows.shape[1])
    if side * side != rows.shape[1]:
        raise ValueError(f"a sheet has {rows.shape[1]} pixels in a row, not those of a square")
    return rows.reshape(len(rows), side, side, 3).transpose(0, 3, 1, 2)


def decode_numbers(content: bytes, columns: tuple[str, ...] = ()) -> dict[str, NDArray[Any]]:
    """Read a table of numbers from text with tabs or commas, plain or compressed by gzip.

    Parameters
    ----------
    content : bytes
        The file.
    columns : tuple of str
        Names of the columns; empty where the first line holds them.

    Returns
    -------
    dict of str to ndarray
        The columns in their order.
    """
    csv = require("pyarrow.csv", purpose="Reading a table of numbers", install="pyarrow")
    plain = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    between = "\t" if b"\t" in plain[: plain.find(b"\n")] else ","
    table = csv.read_csv(
        io.BytesIO(plain),
        read_options=csv.ReadOptions(column_names=columns or None),
        parse_options=csv.ParseOptions(delimiter=between),
    )
    return {name: table[name].to_numpy() for name in table.column_names}


def _named_classes(entry: Entry, arrays: Any) -> NDArray[np.str_]:
    classes = arrays["classes"] if "classes" in arrays else np.array([*(entry.classes or ())])
    named: NDArray[np.str_] = classes.astype(str)[arrays["y"]]
    return named
