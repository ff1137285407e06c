"""When rows happened: moments of any kind, and the periods that they fall into."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.data.cell_text import date_order, is_no_value, read_dates
from recoup.exceptions import InvalidInputError

DAY = 86_400e6
YEAR = 365.25
ZONE = re.compile(r":\d{2}(?:[.,]\d+)?(?:(Z)|([+-])(\d{2}):?(\d{2}))$")
EVERY = re.compile(r"(\d{0,3})([DWMQ])")
# Numbers have no year: false alarms are counted over as many periods as a year has weeks.
PERIODS_OF_NUMBERS = 52.0
# More periods than this have most likely come from another unit of time.
MOST_PERIODS = 1500


@dataclass(frozen=True, eq=False)
class Times:
    """One moment for each row.

    Attributes
    ----------
    local : ndarray of shape (n,)
        Days since the start of 1970 by the clock on the spot, which periods go by; or numbers as
        they are. NaN where there is none.
    instant : ndarray of shape (n,)
        The same in one time zone for all, which spans of time are computed from.
    zoned : bool
        Whether time zones are known.
    numeric : bool
        Whether these are numbers in a unit of their own.
    column : str
        Where they come from.
    """

    local: FloatArray
    instant: FloatArray
    zoned: bool
    numeric: bool
    column: str

    @property
    def dates_alone(self) -> bool:
        """Whether there is no time of day."""
        known = self.local[~np.isnan(self.local)]
        return not self.numeric and bool(np.all(known == np.floor(known)))

    def by_day(self) -> Times:
        """Leave out times of day and zones."""
        days = np.floor(self.local)
        return replace(self, local=days, instant=days, zoned=False)


def read_moments(values: Any, column: str, caller: str) -> Times:
    """Read a column of timestamps, dates, text or numbers.

    Parameters
    ----------
    values : Arrow column
        One cell for each row.
    column : str
        Its name, for errors.
    caller : str
        Who asks, for errors.

    Returns
    -------
    Times
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        nothing = np.full(len(values), np.nan)
        return Times(nothing, nothing, False, False, column)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        zone = getattr(kind, "tz", None)
        instant = values.cast(pa.timestamp("us", zone), safe=False)
        local = pc.local_timestamp(instant) if zone else instant
        days, absolute = (_as_days(part.cast("int64")) for part in (local, instant))
        return Times(days, absolute, zone is not None, False, column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _read_text(values, column, caller)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        numbers = np.asarray(values.cast("float64").to_numpy(zero_copy_only=False), float)
        if np.isinf(numbers).any():
            raise InvalidInputError(
                f"{caller} needs finite times in the column {brief(column)!r}. Got infinite ones."
            )
        return Times(numbers, numbers, False, True, column)
    raise InvalidInputError(
        f"{caller} needs dates, timestamps or numbers in the column {brief(column)!r}. Got "
        f"{kind}. Convert the column first."
    )


def _as_days(whole: Any) -> FloatArray:
    cells = whole.cast("float64").to_numpy(zero_copy_only=False)
    found: FloatArray = np.asarray(cells, float) / DAY
    return found


def _read_text(values: Any, column: str, caller: str) -> Times:
    import pyarrow.compute as pc

    coded = pc.utf8_trim_whitespace(values).dictionary_encode()
    words: list[str] = coded.dictionary.to_pylist()
    filled = [word for word in words if not is_no_value(word)]
    order = date_order(filled) if filled else "year-month-day"
    if order is None or order == "ambiguous":
        if order is None:
            wrong = _first_wrong(filled)
            reason = f"Got {brief(wrong)!r}."
        else:
            reason = f"Got dates such as {brief(filled[0])!r}, where day and month could change "
            reason += "places."
        raise InvalidInputError(
            f"{caller} needs dates in the column {brief(column)!r} that can be read in one way. "
            f"{reason} Write them as 2026-03-31 or 2026-03-31T14:05:00."
        )
    days = read_dates(words, order)
    offsets = np.array([_offset(word) for word in words])
    zoned = ~np.isnan(offsets[~np.isnan(days)])
    if zoned.any() and not zoned.all():
        raise InvalidInputError(
            f"{caller} needs all times of the column {brief(column)!r} with a time zone, or none. "
            f"Got {zoned.sum():,} different ones with and {(~zoned).sum():,} without. Write all "
            f"alike."
        )
    instants = days - np.nan_to_num(offsets)
    codes = coded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    local, instant = (np.append(part, np.nan)[codes] for part in (days, instants))
    return Times(local, instant, bool(zoned.any()), False, column)


def _first_wrong(words: list[str]) -> str:
    """Return a word that is no date where most are."""
    for order in ("year-month-day", "day-month-year", "month-day-year"):
        found = np.isnan(read_dates(words, order))
        if not found.all():
            return words[int(found.argmax())]
    return words[0]


def _offset(word: str) -> float:
    """Return the days that a clock with this zone is ahead; NaN without a zone."""
    match = ZONE.search(word)
    if match is None:
        return math.nan
    if match[1]:
        return 0.0
    days = (int(match[3]) * 60 + int(match[4])) / 1440
    return days if match[2] == "+" else -days


def read_now(now: Any, time: Times, caller: str) -> Any:
    """Turn the moment that is taken for the present into local and absolute days.

    Parameters
    ----------
    now : str, date, datetime, number or None
        None leaves it to the rows.
    time : Times
        When rows happened.
    caller : str
        Who asks, for errors.

    Returns
    -------
    float or None
        Comparable with ``time.instant``. A date stands for its last moment, unless rows have
        dates alone.
    """
    if now is None:
        return None
    rule = f"{caller} needs now to be"
    if time.numeric:
        if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
            raise InvalidInputError(
                f"{rule} a number, as the times of the column {brief(time.column)!r} are. "
                f"Got {brief(now)}."
            )
        return float(now)
    moment = now
    if hasattr(moment, "to_pydatetime"):
        moment = moment.to_pydatetime()
    elif isinstance(moment, np.datetime64):
        moment = moment.astype("datetime64[us]").item()
    if isinstance(moment, str):
        try:
            text = moment.strip()
            moment = date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
        except ValueError:
            moment = None
    if not isinstance(moment, date):
        raise InvalidInputError(
            f"{rule} a date or a moment, such as 2026-03-31 or 2026-03-31T14:05:00. "
            f"Got {brief(now)}."
        )
    if not isinstance(moment, datetime):
        days = float((moment - date(1970, 1, 1)).days)
        return days if time.dates_alone else days + 1
    if (moment.tzinfo is not None) != time.zoned:
        has = "has" if time.zoned else "has no"
        raise InvalidInputError(
            f"{rule} a moment with a time zone where the times have one. Got {brief(now)}, and "
            f"the column {brief(time.column)!r} {has} time zone."
        )
    start = datetime(1970, 1, 1, tzinfo=moment.tzinfo)
    if moment.tzinfo is not None:
        from datetime import UTC

        start = datetime(1970, 1, 1, tzinfo=UTC)
    return (moment - start) / timedelta(days=1)


@dataclass(frozen=True)
class Calendar:
    """How moments fall into periods.

    Parameters
    ----------
    length : float
        How many units a period has: days, weeks, months or quarters; or the unit of the numbers.
    unit : {"D", "W", "M", "Q", ""}
        The unit; empty for numbers.
    """

    length: float
    unit: str

    @classmethod
    def of(cls, every: Any, numeric: bool, caller: str) -> Calendar:
        """Read how long periods are.

        Parameters
        ----------
        every : str or number
            ``"W"``, ``"2W"``, ``"D"``, ``"M"``, ``"Q"``; for times that are numbers, a number.
        numeric : bool
            Whether times are numbers.
        caller : str
            Who asks, for errors.

        Returns
        -------
        Calendar
        """
        number = None
        if isinstance(every, Real) and not isinstance(every, bool):
            number = float(every)
        elif numeric and isinstance(every, str):
            try:
                number = float(every)
            except ValueError:
                number = None
        if numeric:
            if number is None or not 0 < number < math.inf:
                raise InvalidInputError(
                    f"{caller} needs every to be a number above 0 where times are numbers: the "
                    f"length of a period in the same unit, such as every=7 for days or "
                    f"every=604800 for seconds. Got {brief(every)}. Or turn the times into dates."
                )
            return cls(number, "")
        match = EVERY.fullmatch(every) if isinstance(every, str) else None
        if match is None or match[1].startswith("0"):
            raise InvalidInputError(
                f"{caller} needs every to be a period such as 'D', 'W', '2W', 'M' or 'Q' (days, "
                f"weeks from Monday, months, quarters). Got {brief(every)}."
            )
        return cls(float(match[1] or 1), match[2])

    @property
    def in_year(self) -> float:
        """How many periods a year has."""
        units = {"D": YEAR, "W": YEAR / 7, "M": 12.0, "Q": 4.0}
        return units[self.unit] / self.length if self.unit else PERIODS_OF_NUMBERS

    def numbers(self, local: FloatArray) -> NDArray[np.int64]:
        """Return the number of the period of each moment, by one count for all time."""
        if self.unit in ("M", "Q"):
            months = np.floor(local).astype("datetime64[D]").astype("datetime64[M]").astype(int)
            units = months // (3 if self.unit == "Q" else 1)
        elif self.unit == "W":
            units = np.floor((local + 3) / 7)  # the first day was a Thursday
        else:
            units = local
        found: NDArray[np.int64] = np.floor(units / self.length).astype(np.int64)
        return found

    def name(self, number: int) -> str:
        """Name a period by its first day, its month, or its first number."""
        first = number * self.length
        if not self.unit:
            return f"{first:.10g}"
        if self.unit in ("M", "Q"):
            month = int(first) * (3 if self.unit == "Q" else 1)
            return str(np.datetime64(month, "M"))
        day = int(first * 7 - 3) if self.unit == "W" else int(first)
        return str(np.datetime64(day, "D"))

    @property
    def word(self) -> str:
        """What a period is called."""
        words = {"D": "day", "W": "week", "M": "month", "Q": "quarter"}
        one = words.get(self.unit, "period")
        return one if self.length == 1 else "period"
