"""Know a dataset by what it holds, however its file was packed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup.data.entry import Raw


def content_digest(raw: Raw) -> str:
    """Return the SHA-256 of a dataset's values: features in their order, target, split and meta.

    Compression, the versions of libraries, the order of ``meta_`` columns and the width of stored
    integers and floats leave it alone. A changed value, name or order of rows changes it. Images
    that lie in the file as JPEG are known by those bytes, since decoders may differ by a grey
    level; the same images as a plain array have a digest of their own (``Entry.pixels``).
    """
    found = hashlib.sha256()
    for name, values in _parts(raw):
        kind, canonical, levels = _canonical(values)
        # JSON marks where each name and level ends, so that no two datasets share a header.
        header = json.dumps([name, kind, canonical.shape, levels])
        found.update(f"{header}\n".encode())
        found.update(np.ascontiguousarray(canonical).data)
    return found.hexdigest()


def _parts(raw: Raw) -> Iterator[tuple[str, Any]]:
    """Yield what makes up a dataset: text as levels, numbers in one width for each use."""
    if raw.encoded is not None:
        yield from zip(("stream", "offsets"), raw.encoded, strict=True)
    elif hasattr(raw.X, "columns"):
        yield from ((f"feature {name}", _wide(raw.X[name])) for name in raw.feature_names)
    else:
        yield json.dumps(["features", *raw.feature_names]), raw.X
    yield "target", _wide(raw.target)
    if raw.split is not None:
        yield "split", raw.split
    for name in sorted(raw.meta):
        yield name, _wide(raw.meta[name])


def _wide(values: Any) -> Any:
    """Take integers and floats of any width as those of 64 bits."""
    if values.dtype.kind in "biu":
        return np.asarray(values, dtype=np.int64)
    return np.asarray(values, dtype=np.float64) if values.dtype.kind == "f" else values


def _canonical(values: Any) -> tuple[str, NDArray[Any], list[str]]:
    """Return a name for the type, an array whose bytes are the same everywhere, and the levels."""
    if hasattr(values, "cat"):
        levels = [str(level) for level in values.cat.categories]
        return "text", values.cat.codes.to_numpy().astype("<i4"), levels
    array = np.asarray(values)
    if array.dtype.kind in "US":
        unique, codes = np.unique(array, return_inverse=True)
        return "text", codes.astype("<i4"), unique.tolist()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    # Adding zero turns -0.0 into 0.0, which is equal but has other bytes.
    return little.dtype.str, little + 0.0 if little.dtype.kind == "f" else little, []
