"""What all results share: turning dataclasses into frames, plain dictionaries and HTML."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


def to_plain(value: Any) -> Any:
    """Turn numpy values into what JSON knows; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return [to_plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def make_frame(columns: dict[str, Any]) -> pd.DataFrame:
    """Build a data frame from named columns."""
    from recoup._optional import require

    pandas = require("pandas", purpose="to_frame()", install="pandas")
    frame: pd.DataFrame = pandas.DataFrame(columns)
    return frame


def html_table(columns: dict[str, list[str]], caption: str) -> str:
    """Render already formatted text columns as an escaped HTML table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    )
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{rows}</table>"
