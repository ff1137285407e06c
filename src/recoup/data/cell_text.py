"""Numbers and dates that are written as text, read only where there is one way to read them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from recoup._core.checks import FloatArray

# What people write into a cell that they leave empty.
NO_VALUE = frozenset({"", "-", "?", "na", "n/a", "nan", "nil", "none", "null", "missing", "nat"})

_PLAIN = re.compile(r"[+-]?(?:(?:0|[1-9]\d{0,17})(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
# Groups of three digits, as in 1,234,567.8 and in 1.234.567,8.
_POINT = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?")
STYLES = {"plain": _PLAIN, "point": _POINT, "comma": _COMMA}

_CLOCK = r"(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_YEAR_FIRST = re.compile(rf"(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}}){_CLOCK}")
_YEAR_LAST = re.compile(rf"(\d{{1,2}})[-/.](\d{{1,2}})[-/.](\d{{4}}){_CLOCK}")
# Where year, month and day stand.
ORDERS = {
    "year-month-day": (_YEAR_FIRST, (0, 1, 2)),
    "day-month-year": (_YEAR_LAST, (2, 1, 0)),
    "month-day-year": (_YEAR_LAST, (2, 0, 1)),
}
FIRST_DAY = datetime(1970, 1, 1)
SECONDS = 86_400.0

AMBIGUOUS_NUMBERS = "could be thousands or decimals"
AMBIGUOUS_DATES = "could be day-month or month-day"


def is_no_value(word: str) -> bool:
    """Say whether a word stands for an empty cell.

    Parameters
    ----------
    word : str
        A cell, without the spaces around it.

    Returns
    -------
    bool
    """
    return word.lower() in NO_VALUE


def number_style(words: Sequence[str]) -> str | None:
    """Say how words are to be read as numbers: with a point, a comma, or in neither way.

    Parameters
    ----------
    words : sequence of str
        Different cells of a column.

    Returns
    -------
    str or None
        ``"plain"``, ``"point"`` (1,234.5), ``"comma"`` (1.234,5), ``"ambiguous"`` where both give
        numbers that differ, None where some words are no numbers. Codes such as 007 are none.
    """
    if all(_PLAIN.fullmatch(word) for word in words):
        return "plain"
    fits = [style for style in ("point", "comma") if all(map(STYLES[style].fullmatch, words))]
    if len(fits) == 2:
        return "ambiguous"
    return fits[0] if fits else None


def read_numbers(words: Sequence[str], style: str) -> FloatArray:
    """Read words as numbers; what is none becomes NaN.

    Parameters
    ----------
    words : sequence of str
        Cells, without the spaces around them.
    style : {"plain", "point", "comma"}
        How they are written.

    Returns
    -------
    ndarray
    """
    pattern = STYLES[style]
    found = np.full(len(words), np.nan)
    for place, word in enumerate(words):
        if pattern.fullmatch(word) or _PLAIN.fullmatch(word):
            text = word
            if style == "point":
                text = word.replace(",", "")
            elif style == "comma":
                text = word.replace(".", "").replace(",", ".")
            found[place] = float(text)
    return found


def date_order(words: Sequence[str]) -> str | None:
    """Say how words are to be read as dates.

    Parameters
    ----------
    words : sequence of str
        Different cells of a column.

    Returns
    -------
    str or None
        A key of ``ORDERS``, ``"ambiguous"`` where day and month could change places, None where
        some words are no dates.
    """
    if not words or not words[0][:1].isdigit():
        return None
    fits = [order for order in ORDERS if not np.isnan(read_dates(words, order)).any()]
    if len(fits) == 2:
        return "ambiguous"
    return fits[0] if fits else None


def read_dates(words: Sequence[str], order: str) -> FloatArray:
    """Read words as days since the start of 1970; what is no date becomes NaN.

    Parameters
    ----------
    words : sequence of str
        Cells, without the spaces around them.
    order : str
        A key of ``ORDERS``.

    Returns
    -------
    ndarray
        Hours and minutes are parts of a day, as the clock on the spot showed them.
    """
    pattern, (year, month, day) = ORDERS[order]
    found = np.full(len(words), np.nan)
    for place, word in enumerate(words):
        match = pattern.fullmatch(word)
        if match is None:
            continue
        parts = match.groups()
        numbers = [int(part or 0) for part in parts]
        try:
            hour, minute, second = numbers[3:6]
            moment = datetime(numbers[year], numbers[month], numbers[day], hour, minute, second)
        except ValueError:  # the 31st of February
            continue
        found[place] = (moment - FIRST_DAY).total_seconds() / SECONDS
    return found
