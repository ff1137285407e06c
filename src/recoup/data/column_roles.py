"""What a column is: numbers, categories, dates, text, names of rows, or nothing to learn from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.data.cell_text import (
    AMBIGUOUS_DATES,
    AMBIGUOUS_NUMBERS,
    date_order,
    is_no_value,
    number_style,
    read_dates,
    read_numbers,
)
from recoup.data.encoded_column import (
    DATE_PARTS,
    LARGEST,
    LASTING_PARTS,
    NO,
    STRAY,
    YES,
    Cells,
    EncodedColumn,
    date_part,
    too_large,
)

# A level is kept if this many rows have it, and this share of them.
FEWEST_ROWS, LEAST_SHARE = 3, 0.001
# Text with more different words than this is no category: if cells are long, it is free text.
MANY_LEVELS, LONG_CELLS = 50, 3.0
# Names such as id, row_id and customer-key, and such as userId; not paid.
NAMES_ROWS = re.compile(r"(?:.*[_\-. ])?(?:id|uuid|guid|key|index|rowid|row)", re.IGNORECASE)
CAMEL_ID = re.compile(r".*[a-z0-9](?:Id|ID)")


@dataclass(frozen=True)
class RoleRules:
    """How columns are judged.

    Attributes
    ----------
    ids : collection of str
        Columns that the user says name rows.
    max_levels : int
        Most levels of a category that get an indicator.
    text_width : int
        Columns over which free text is spread; 0 refuses it.
    time : collection of str
        Columns that say when a row came.
    """

    ids: Collection[str] = ()
    max_levels: int = 40
    text_width: int = 32
    time: Collection[str] = ()


def learn_column(name: str, cells: Cells | str, rules: RoleRules) -> EncodedColumn:
    """Say how a column becomes numbers, or why it does not.

    Parameters
    ----------
    name : str
        Of the column.
    cells : Cells or str
        Its cells in the rows to learn from, or why they cannot be read.
    rules : RoleRules
        How to judge.

    Returns
    -------
    EncodedColumn
    """
    if name in rules.ids:
        return EncodedColumn(name, "id", "names the rows, as you said")
    if isinstance(cells, str):
        return EncodedColumn(name, "refused", cells)
    empty = cells.gaps()
    if empty.all():
        return EncodedColumn(name, "constant", "is empty")
    if cells.kind == "text":
        return _of_words(name, cells, rules)
    if cells.kind == "date":
        return _of_dates(name, cells.values, rules)
    if name in rules.time:
        return EncodedColumn(name, "id", "orders the rows in time")
    return _of_numbers(name, cells.values, boolean=cells.boolean)


def _gaps_tell(empty: NDArray[Any]) -> bool:
    """Say whether enough cells are empty for an indicator."""
    return bool(empty.sum() >= _enough(len(empty)))


def _enough(n_rows: int) -> int:
    return max(FEWEST_ROWS, math.ceil(LEAST_SHARE * n_rows))


def _of_numbers(
    name: str, values: FloatArray, read: str = "", boolean: bool = False, reason: str = ""
) -> EncodedColumn:
    empty = np.isnan(values)
    filled = values[~empty]
    if np.isinf(filled).any():
        return EncodedColumn(name, "refused", "holds infinite values")
    if too_large(filled).any():
        return EncodedColumn(name, "refused", f"holds numbers beyond {LARGEST:.0e}")
    low, high = filled.min(), filled.max()
    if low == high:
        return _of_one_value(name, empty, f"holds {low:g} alone")
    distinct = len(np.unique(filled))
    if distinct == 2 and {low, high} == {0.0, 1.0}:
        boolean = True
    if not boolean and (filled == np.floor(filled)).all():
        n_rows = len(filled)
        named = bool(NAMES_ROWS.fullmatch(name) or CAMEL_ID.fullmatch(name))
        consecutive = distinct == n_rows and high - low + 1 == n_rows and n_rows > MANY_LEVELS
        if consecutive or (named and distinct > max(n_rows / 2, 10)):
            return EncodedColumn(
                name,
                "id",
                f"has {distinct:,} different whole numbers in {n_rows:,} rows, as names do",
            )
    return EncodedColumn(
        name,
        "flag" if boolean else "number",
        reason,
        read=read,
        fill=(float(filled.mean()),),
        gaps=_gaps_tell(empty),
    )


def _of_one_value(name: str, empty: NDArray[Any], reason: str) -> EncodedColumn:
    """Look at gaps, if there are some; nothing else differs."""
    if _gaps_tell(empty):
        return EncodedColumn(name, "flag", f"{reason}, or nothing", read="filled")
    return EncodedColumn(name, "constant", reason)


def _of_dates(
    name: str, days: FloatArray, rules: RoleRules, read: str = "", reason: str = ""
) -> EncodedColumn:
    empty = np.isnan(days)
    filled = days[~empty]
    start = float(np.floor(filled.min()))
    if filled.min() == filled.max():
        return _of_one_value(name, empty, "holds one date alone")
    parts, fill = [], []
    # New rows lie beyond all that were seen, and labels of the latest may still be to come.
    for part in LASTING_PARTS if name in rules.time else DATE_PARTS:
        values = date_part(filled, part, start)
        if values.min() < values.max():
            parts.append(part)
            fill.append(float(values.mean()))
    if not parts:
        return EncodedColumn(name, "id", "orders the rows in time")
    return EncodedColumn(
        name,
        "date",
        reason,
        read=read,
        parts=tuple(parts),
        fill=tuple(fill),
        gaps=_gaps_tell(empty),
        start=start,
    )


def _of_words(name: str, cells: Cells, rules: RoleRules) -> EncodedColumn:
    empty = cells.gaps()
    counts = np.bincount(cells.values[~empty], minlength=len(cells.words))
    filled, distinct = int((~empty).sum()), int((counts > 0).sum())
    shown = [place for place in np.argsort(-counts, kind="stable") if counts[place]]
    if distinct == 1:
        return _of_one_value(name, empty, f"holds {brief(cells.words[shown[0]])} alone")
    as_numbers_or_dates = _numbers_or_dates(name, cells, counts, rules)
    if as_numbers_or_dates is not None:
        return as_numbers_or_dates
    words = [cells.words[place] for place in shown]
    if distinct == 2 and {word.lower() for word in words} & YES:
        lower = {word.lower() for word in words}
        if lower & NO and lower <= YES | NO:
            flags = np.array([float(word.lower() in YES) for word in cells.words])
            return _of_numbers(name, cells.spread(flags), "yes or no", boolean=True)
    differ = f"has {distinct:,} different words in {filled:,} rows"
    if distinct > max(filled / 2, 2):
        per_cell = sum(len(word.split()) for word in words[:10_000]) / min(distinct, 10_000)
        if per_cell >= LONG_CELLS:
            return _of_text(name, empty, rules, differ)
        if distinct >= 0.95 * filled and filled > 10:
            return EncodedColumn(name, "id", f"{differ}, as names of rows do")
    elif distinct > MANY_LEVELS:
        per_cell = float(
            sum(len(cells.words[place].split()) * counts[place] for place in shown) / filled
        )
        often = counts[shown[: rules.max_levels]].sum() / filled
        if per_cell >= 2 * LONG_CELLS and often < 0.5:
            return _of_text(name, empty, rules, differ)
    enough = _enough(filled)
    kept = [place for place in shown[: rules.max_levels] if counts[place] >= enough]
    if not kept:
        return EncodedColumn(name, "refused", f"{differ}, none of them often enough to learn")
    return EncodedColumn(
        name,
        "category",
        "" if len(kept) == distinct else f"{distinct - len(kept):,} rare levels together",
        levels=tuple(sorted(cells.words[place] for place in kept)),
        other=len(kept) < distinct,
        gaps=_gaps_tell(empty),
    )


def _of_text(name: str, empty: NDArray[Any], rules: RoleRules, differ: str) -> EncodedColumn:
    if not rules.text_width:
        return EncodedColumn(name, "refused", f"is free text: it {differ}")
    return EncodedColumn(
        name,
        "text",
        f"free text, spread over {rules.text_width} columns by its words",
        width=rules.text_width,
        gaps=_gaps_tell(empty),
    )


def _numbers_or_dates(
    name: str, cells: Cells, counts: NDArray[Any], rules: RoleRules
) -> EncodedColumn | None:
    """Read words as numbers or dates where nearly all are, or refuse what can be read two ways."""
    places = [p for p in np.flatnonzero(counts) if not is_no_value(cells.words[p])]
    words = [cells.words[place] for place in places]
    if not words:
        return None
    style = _mostly(words, counts[places], number_style)
    order = None if style else _mostly(words, counts[places], date_order)
    found = style or order
    if found is None:
        return None
    if found == "ambiguous":
        what = AMBIGUOUS_NUMBERS if style else AMBIGUOUS_DATES
        example = next(word for word in words if re.search(r"\d\D\d", word))
        return EncodedColumn(
            name, "refused", f"{what}, such as {brief(example)!r}: write it in one way"
        )
    by_word = (read_numbers if style else read_dates)(cells.words, found)
    values = cells.spread(by_word)
    gone = ~cells.gaps() & np.isnan(values)
    notes = [f"read with a decimal {found}"] if found in ("point", "comma") else []
    notes += [f"read as {found}"] if order and found != "year-month-day" else []
    if gone.any():
        example = cells.words[cells.values[gone.argmax()]]
        notes.append(f"{gone.sum():,} cells such as {brief(example)!r} count as empty")
    if np.isnan(values).all():
        return None
    reason = ", ".join(notes)
    if order:
        return _of_dates(name, values, rules, found, reason)
    if name in rules.time:
        return EncodedColumn(name, "id", "orders the rows in time", read=found)
    return _of_numbers(name, values, found, reason=reason)


def _mostly(
    words: list[str], counts: NDArray[Any], judge: Callable[[Sequence[str]], str | None]
) -> str | None:
    """Judge words, if need be without a few that hardly any row has."""
    found = judge(words)
    if found is not None:
        return found
    # A word without a digit is neither number nor date.
    plausible = np.array([any(letter.isdigit() for letter in word) for word in words])
    strays = int(counts[~plausible].sum())
    if not 0 < strays <= STRAY * counts.sum() or (~plausible).sum() > 20:
        return None
    return judge([word for word, kept in zip(words, plausible, strict=True) if kept])
