"""What all results share: turning dataclasses into frames, plain dictionaries and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import brief
from recoup._core.notes import Note
from recoup._core.text import DASH, show_number, show_range

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 30
MOST_CHARACTERS = 1000
NUMBER = r"[-+]?(\d[\d,.]*(e[-+]\d+)?%?|\N{INFINITY})"
NUMERIC = re.compile(rf"{DASH}|(< )?{NUMBER}( to {NUMBER})?( \({NUMBER}( to {NUMBER})?\))?")

# Colors are the notebook's own, and lines are a grey that shows on light and on dark pages.
STYLE = (
    ".recoup{max-width:100%;overflow-x:auto;margin-bottom:.6em}"
    ".recoup table{border-collapse:collapse;margin:0;table-layout:auto}"
    ".recoup caption{caption-side:top;text-align:left;color:inherit;font-weight:600;"
    "padding:.3em .6em}"
    ".recoup caption span{display:block;width:max-content;max-width:min(44em,85vw)}"
    ".recoup th,.recoup td{text-align:left;vertical-align:top;padding:.25em .6em;"
    "min-width:5em;max-width:40em;overflow-wrap:anywhere;border:0;border-bottom:1px solid #8886;"
    "background:none}"
    ".recoup th{font-weight:600;vertical-align:bottom}"
    ".recoup th.number,.recoup td.number{text-align:right;white-space:nowrap;min-width:0;"
    "font-variant-numeric:tabular-nums}"
    ".recoup ul{margin:.4em 0 0;padding:0 .6em 0 1.8em;max-width:60em;overflow-wrap:break-word}"
)


def to_plain(value: Any) -> Any:
    """Turn numpy values and notes into what JSON knows; numbers that are not finite become None."""
    if isinstance(value, Note):
        return value.to_dict()
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
    from recoup._core.optional import require

    pandas = require("pandas", purpose="to_frame()", install="pandas")
    frame: pd.DataFrame = pandas.DataFrame(columns)
    return frame


def html_table(columns: dict[str, list[str]], caption: str, notes: Iterable[str] = ()) -> str:
    """Render already formatted text columns as an escaped HTML table, with notes below.

    Long tables are cut, and long texts shortened. Columns of numbers are set to the right.

    Parameters
    ----------
    columns : dict of str to list of str
        Cells by heading. Where all headings are blank, none is shown, and texts and numbers alike
        are set to the left.
    caption : str
        Says what the table is about.
    notes : iterable of str
        Sentences, shown as a list.
    """
    n_rows = max(map(len, columns.values()), default=0)
    headed = any(name.strip() for name in columns)
    kinds = [_kind(cells) if headed else "" for cells in columns.values()]
    rows = list(zip(*(cells[:MOST_ROWS] for cells in columns.values()), strict=True))
    remarks = list(notes)
    if n_rows > MOST_ROWS:
        remarks.insert(
            0, f"The first {MOST_ROWS} of {n_rows:,} rows; to_frame() or to_dict() has all."
        )
    lines = [
        f'<div class="recoup"><style>{STYLE}</style>',
        f"<table><caption><span>{_text(caption)}</span></caption>",
        _row("th", list(columns), kinds) if headed else "",
        *(_row("td", row, kinds) for row in rows),
        "</table>",
        _list(remarks),
        "</div>",
    ]
    return "".join(lines)


def html_facts(facts: dict[str, str], caption: str, notes: Iterable[str] = ()) -> str:
    """Render named facts as an escaped HTML table of two columns, with notes below."""
    return html_table({"": list(facts), " ": list(facts.values())}, caption, notes)


def html_estimates(
    estimates: Sequence[Any],
    caption: str,
    notes: Iterable[str] = (),
    checked: Mapping[str, Any] | None = None,
) -> str:
    """Render metrics with what was observed, recovered and how sure that is.

    Parameters
    ----------
    estimates : sequence of Estimate
        One row each.
    caption : str
        Says what the table is about.
    notes : iterable of str
        Shown as a list.
    checked : mapping of str to AuditedEstimate, optional
        What checked rows say, by key: shown first.
    """
    if checked is not None:
        named = [item for item in estimates if item.key in checked]
        found = [checked[item.key] for item in named]
        columns = {
            "metric": [item.label for item in named],
            "both": [show_number(one.combined) for one in found],
            "interval": [show_range(one.lower, one.upper) for one in found],
            "audited": [show_number(one.audited) for one in found],
            "labels alone": [show_number(item.recovered) for item in named],
            "their interval": [show_range(item.lower, item.upper) for item in named],
            "PU": [show_number(item.pu) for item in named],
        }
        return html_table(columns, caption, notes)
    columns = {
        "metric": [item.label for item in estimates],
        "PU": [show_number(item.pu) for item in estimates],
        "recovered": [show_number(item.recovered) for item in estimates],
        "interval": [show_range(item.lower, item.upper) for item in estimates],
        "bounds": [show_range(item.bound_lower, item.bound_upper) for item in estimates],
    }
    if set(columns["bounds"]) == {DASH}:
        del columns["bounds"]
    return html_table(columns, caption, notes)


def _kind(cells: list[str]) -> str:
    return ' class="number"' if cells and all(map(NUMERIC.fullmatch, cells)) else ""


def _row(tag: str, cells: Sequence[str], kinds: list[str]) -> str:
    shown = (f"<{tag}{kind}>{_text(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
    return f"<tr>{''.join(shown)}</tr>"


def _list(notes: list[str]) -> str:
    items = "".join(f"<li>{_text(note)}</li>" for note in notes)
    return f"<ul>{items}</ul>" if items else ""


def _text(text: str) -> str:
    """Escape a text, shorten it, and replace what no file could hold."""
    return escape(brief(text, MOST_CHARACTERS).encode("utf-8", "replace").decode())
