"""Tables that hold more than numbers, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray


def raw_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a table that holds words, dates or gaps without type.

    None for arrays, and for frames of numbers: these need no encoder.
    """
    # Some sparse matrices are mappings too.
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "tocsr"):
        return None
    if isinstance(X, Mapping):
        return [str(name) for name in X]
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    kinds = frame.schema.values()
    return None if all(kind.is_numeric() for kind in kinds) else [str(one) for one in frame.columns]


def learn_numbers(X: Any, s: Any) -> tuple[dict[str, Any], FloatArray]:
    """Find out what the columns are; return that in plain words, and the rows as numbers."""
    from recoup.data import ColumnEncoder

    encoder = ColumnEncoder(missing="keep").fit(X, s)
    return encoder.to_dict(), encoder.transform(X)


def as_numbers_of(encoding: dict[str, Any], X: Any) -> NDArray[np.float64]:
    """Return rows as numbers, as :func:`learn_numbers` has learned it."""
    from recoup.data import ColumnEncoder

    return ColumnEncoder.from_dict(encoding).transform(X)
