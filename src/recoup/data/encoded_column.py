"""How one column becomes numbers, written down once and the same for any rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.data.cell_text import ORDERS, STYLES, is_no_value, read_dates, read_numbers
from recoup.exceptions import InvalidInputError

Role: TypeAlias = Literal[
    "number", "category", "flag", "date", "text", "id", "constant", "leak", "refused"
]
USED: tuple[Role, ...] = ("number", "category", "flag", "date", "text")
OTHER_LEVELS = "(other)"
DATE_PARTS = ("year", "month", "weekday", "hour", "days")
# Parts that come again.
LASTING_PARTS = ("month", "weekday", "hour")
# More cells than this share that a number or a date is not read from are another column.
STRAY = 0.05
# Larger numbers are no measurements, and more than the trees of scikit-learn can hold.
LARGEST = 1e30
YES, NO = frozenset({"yes", "y", "true", "t"}), frozenset({"no", "n", "false", "f"})


@dataclass(frozen=True)
class Cells:
    """The cells of a column in one of three forms.

    Attributes
    ----------
    kind : {"number", "date", "text"}
        Numbers, days since the start of 1970, or words.
    values : ndarray
        Numbers or days with NaN for gaps; of words the place of each cell among ``words``, -1 for
        gaps.
    words : tuple of str
        The different words.
    boolean : bool
        Whether the numbers were true and false.
    """

    kind: Literal["number", "date", "text"]
    values: Any
    words: tuple[str, ...] = ()
    boolean: bool = False

    @classmethod
    def of(cls, column: Any) -> Cells | str:
        """Take an Arrow column, or say why it cannot be read.

        Parameters
        ----------
        column : pyarrow.ChunkedArray or pyarrow.Array
            Any type.

        Returns
        -------
        Cells or str
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        kind, types = column.type, pa.types
        if types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            if not _is_words(kind.value_type):
                column = _as_words(column)
            kind = column.type
        if types.is_null(kind):
            return cls("number", np.full(len(column), np.nan))
        if types.is_boolean(kind):
            return cls("number", _floats(column.cast("int8")), boolean=True)
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            return cls("number", _floats(column))
        if types.is_timestamp(kind) or types.is_date(kind):
            moments = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
            return cls("date", _floats(moments.cast("int64")) / 86_400e6)
        if types.is_duration(kind) or types.is_time(kind):
            unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
            whole = column.cast("int32" if types.is_time32(kind) else "int64")
            return cls("number", _floats(whole) / unit)
        if not _is_words(kind):
            return f"holds neither numbers nor text but {kind}"
        text = pc.utf8_trim_whitespace(column.cast("large_string"))
        coded = text.combine_chunks() if hasattr(text, "combine_chunks") else text
        coded = pc.dictionary_encode(coded)
        words = coded.dictionary.to_pylist()
        places = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        if "" in words:
            places[places == words.index("")] = -1
        return cls("text", places, tuple(words))

    def gaps(self) -> Any:
        """Return which cells are empty.

        Returns
        -------
        ndarray of bool
        """
        return self.values < 0 if self.kind == "text" else np.isnan(self.values)

    def spread(self, by_word: FloatArray) -> FloatArray:
        """Return for each cell what was found for its word; NaN for gaps.

        Parameters
        ----------
        by_word : ndarray
            One value for each word.

        Returns
        -------
        ndarray
        """
        found: FloatArray = np.append(by_word, np.nan)[self.values]
        return found

    def as_words(self) -> Cells:
        """Return the cells as words, numbers as one would write them.

        Returns
        -------
        Cells
        """
        if self.kind == "text":
            return self
        distinct, places = np.unique(self.values, return_inverse=True)
        if self.boolean:
            words = ["true" if value == 1 else "false" for value in distinct]
        else:
            words = [f"{value:.15g}" for value in distinct]
        return Cells("text", np.where(self.gaps(), -1, places.reshape(-1)), tuple(words))


@dataclass(frozen=True)
class EncodedColumn:
    """How a column becomes numbers, or why it does not.

    Attributes
    ----------
    name : str
        Of the column.
    role : str
        Used are a number, category, flag, date or text. Left out are an id, which names rows, a
        constant, a leak, which tells the labels, and what is refused.
    reason : str
        Why it is left out; of one that is used, what a reader should know.
    read : str
        How words are read: the style of numbers, the order of dates, ``"yes or no"``; ``"filled"``
        where all that counts is whether a cell is empty.
    levels : tuple of str
        The words that get an indicator each.
    other : bool
        Whether one more indicator is for all other words.
    parts : tuple of str
        Parts of a date that vary.
    fill : tuple of float
        What stands for gaps, for each column of numbers or of parts.
    gaps : bool
        Whether an indicator tells which cells are empty: that may tell as much as a value.
    start : float
        First day of a date, in days since the start of 1970.
    width : int
        Columns over which words of free text are spread.
    """

    name: str
    role: Role
    reason: str = ""
    read: str = ""
    levels: tuple[str, ...] = ()
    other: bool = False
    parts: tuple[str, ...] = ()
    fill: tuple[float, ...] = ()
    gaps: bool = False
    start: float = 0.0
    width: int = 0

    @property
    def used(self) -> bool:
        """Whether the column becomes numbers."""
        return self.role in USED

    @property
    def names_out(self) -> list[str]:
        """Names of the columns of numbers."""
        if not self.used:
            return []
        if self.read == "filled":
            return [f"{self.name} is filled"]
        names = [f"{self.name}={level}" for level in self.levels]
        if self.other:
            names.append(f"{self.name}={OTHER_LEVELS}")
        names += [f"{self.name}: {part}" for part in self.parts]
        names += [f"{self.name}: words {number}" for number in range(self.width)]
        if not names:
            names = [self.name]
        return names + [f"{self.name} is missing"] * self.gaps

    def encode(self, cells: Cells, keep_gaps: bool = False) -> FloatArray:
        """Return the numbers of some rows.

        Parameters
        ----------
        cells : Cells
            Of the column in these rows.
        keep_gaps : bool, default=False
            Whether gaps of numbers and dates stay NaN.

        Returns
        -------
        ndarray of shape (n, number of names_out)
        """
        if self.read == "filled":
            return np.asarray(~cells.gaps(), float)[:, None]
        if self.levels:
            found = self._indicators(cells.as_words())
        elif self.width:
            found = spread_words(cells.as_words(), self.width)
        else:
            values = self.values(cells)
            empty = np.isnan(values)
            found = values[:, None]
            if self.parts:
                found = np.column_stack([date_part(values, p, self.start) for p in self.parts])
            if not keep_gaps:
                found = np.where(np.isnan(found), np.array(self.fill), found)
            return np.column_stack([found, empty]) if self.gaps else found
        return np.column_stack([found, cells.gaps()]) if self.gaps else found

    def values(self, cells: Cells) -> FloatArray:
        """Return one number or day for each cell, NaN for gaps and for what is no number.

        Parameters
        ----------
        cells : Cells
            Of the column in some rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        values = cells.values
        if cells.kind == "text":
            values = cells.spread(read_words(cells.words, self.read or "plain"))
            strays = ~cells.gaps() & np.isnan(values)
            strays &= ~cells.spread(
                np.array([is_no_value(word) for word in cells.words], float)
            ).astype(bool)
            if strays.sum() > STRAY * max((~cells.gaps()).sum(), 1):
                self._complain(f"Got {brief(cells.words[cells.values[strays.argmax()]])!r}.")
        elif (cells.kind == "date") != (self.role == "date"):
            self._complain(f"Got {cells.kind}s.")
        if np.isinf(values).any():
            self._complain("Got infinite ones.")
        if (large := too_large(values)).any():
            self._complain(f"Got {values[large][0]:g}, which is beyond {LARGEST:.0e}.")
        return np.asarray(values, float)

    def _complain(self, got: str) -> None:
        what = "dates" if self.role == "date" else "finite numbers"
        raise InvalidInputError(
            f"recoup needs {what} in the column {brief(self.name)!r}, as in the rows that were "
            f"learned from. {got} Convert it, or correct these rows."
        )

    def _indicators(self, cells: Cells) -> FloatArray:
        known = {level: place for place, level in enumerate(self.levels)}
        rest = len(self.levels)
        by_word = [known.get(word, rest) for word in cells.words]
        places = np.append(np.array(by_word, int), rest + 1)[cells.values]
        found = np.zeros((len(places), rest + 2))
        found[np.arange(len(places)), places] = 1.0
        return found[:, : rest + self.other]


def too_large(values: FloatArray) -> NDArray[np.bool_]:
    """Say which numbers nothing can be learned from."""
    return np.asarray(np.abs(values) > LARGEST, bool)


def read_words(words: tuple[str, ...], read: str) -> FloatArray:
    """Read words as numbers or days in the way that was found for a column.

    Parameters
    ----------
    words : tuple of str
        The different cells.
    read : str
        A style of numbers, an order of dates, or ``"yes or no"``.

    Returns
    -------
    ndarray
        NaN for what is none.
    """
    if read == "yes or no":
        lower = [word.lower() for word in words]
        return np.array([1.0 if w in YES else 0.0 if w in NO else np.nan for w in lower])
    if read in ORDERS:
        return read_dates(words, read)
    return read_numbers(words, read if read in STYLES else "plain")


def date_part(days: FloatArray, part: str, start: float) -> FloatArray:
    """Return a part of dates as numbers.

    Parameters
    ----------
    days : ndarray
        Days since the start of 1970; NaN for gaps.
    part : {"year", "month", "weekday", "hour", "days"}
        Which; a week starts with Monday as 0, and days are counted from ``start``.
    start : float
        The day to count from.

    Returns
    -------
    ndarray
    """
    whole: FloatArray = np.floor(days)
    if part == "days":
        return days - start
    if part == "hour":
        return np.floor((days - whole) * 24 + 1e-6).astype(np.float64)
    if part == "weekday":
        return np.mod(whole + 3, 7).astype(np.float64)  # the first day was a Thursday
    empty = np.isnan(whole)
    dates = np.where(empty, 0, whole).astype("datetime64[D]")
    years = dates.astype("datetime64[Y]")
    number = years.astype(int) + 1970
    if part == "month":
        number = (dates.astype("datetime64[M]") - years.astype("datetime64[M]")).astype(int) + 1
    return np.where(empty, np.nan, number.astype(float))


def spread_words(cells: Cells, width: int) -> FloatArray:
    """Spread the words of free text over columns, each word always to the same one.

    Parameters
    ----------
    cells : Cells
        Text.
    width : int
        Number of columns.

    Returns
    -------
    ndarray of shape (n, width)
        Rows of length one, or zeros where there are no words.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    count = HashingVectorizer(n_features=width, alternate_sign=False, norm="l2")
    by_text = count.transform([*cells.words, ""]).toarray()
    found: FloatArray = np.asarray(by_text, float)[cells.values]
    return found


def check_role(role: str) -> Role:
    """Return a role if it is one.

    Parameters
    ----------
    role : str
        From a file, perhaps.

    Returns
    -------
    str
    """
    if role not in get_args(Role):
        raise ValueError(role)
    return role  # type: ignore[return-value]


def as_arrow(values: Any) -> Any:
    """Return an Arrow column; values of several types become words.

    Parameters
    ----------
    values : array-like of shape (n,)
        One value for each row.

    Returns
    -------
    pyarrow.Array or pyarrow.ChunkedArray
    """
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        cells = list(np.asarray(values, object))
        return pa.array([None if _is_gap(cell) else str(cell) for cell in cells], "string")


def _is_gap(cell: Any) -> bool:
    # NaN and NaT differ from themselves; what pandas calls NA has no truth value.
    return cell is None or type(cell).__name__ == "NAType" or bool(np.all(cell != cell))


def _floats(column: Any) -> FloatArray:
    return np.asarray(column.cast("float64", safe=False), float)


def _is_words(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _as_words(column: Any) -> Any:
    """Write values that a frame declares as categories in words."""
    import pyarrow as pa

    return pa.array([None if cell is None else f"{cell}" for cell in column.to_pylist()], "string")
