"""Rows of a frame or a file, as they were known at some moment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup._core.notes import Note
from recoup.data.label_coding import read_label_column
from recoup.data.readers import check_names, read_table
from recoup.exceptions import InvalidInputError
from recoup.monitoring.times import MOST_PERIODS, Calendar, Times, read_moments, read_now

CALLER = "monitor"
# Labels without a usable time are left out of the delays, up to this share of all.
MOST_WITHOUT_TIME = 0.05


@dataclass(frozen=True)
class TimeColumns:
    """Which columns hold what.

    Parameters
    ----------
    score, label, time : str
        Names of columns.
    labeled_at, observable : str or None
        Names of columns that there may be.
    """

    score: str
    label: str
    time: str
    labeled_at: str | None = None
    observable: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns that there are, once each."""
        return list(dict.fromkeys(name for name in vars(self).values() if name is not None))


@dataclass(frozen=True, eq=False)
class TimedRows:
    """Rows, with their labels as of one moment.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Higher is more positive.
    labeled : ndarray of shape (n,)
        Whether a row had its label by then.
    observable : ndarray of shape (n,)
        Whether it could get one.
    period : ndarray of shape (n,)
        Number of its period, from 0.
    age : ndarray of shape (n,)
        Days since it happened, or units of its times.
    delay : ndarray of shape (n,)
        Time that its label took; NaN where there is none, or its time is not known.
    names : tuple of str
        Names of the periods.
    calendar : Calendar
        How long they are.
    now : str
        The moment, in words.
    present : ndarray of shape (n_all,)
        Which of all rows had happened by then.
    notes : tuple of Note
        What is odd about the times.
    """

    scores: FloatArray
    labeled: NDArray[np.bool_]
    observable: NDArray[np.bool_]
    period: NDArray[np.int64]
    age: FloatArray
    delay: FloatArray
    names: tuple[str, ...]
    calendar: Calendar
    now: str
    present: NDArray[np.bool_]
    notes: tuple[Note, ...]


def read_rows(
    source: Any,
    columns: TimeColumns,
    every: Any,
    now: Any,
    positive: Sequence[str] | None = None,
    negative: Sequence[str] | None = None,
) -> TimedRows:
    """Read rows, and go back to what was known at a moment.

    Parameters
    ----------
    source : frame, str or Path
        Anything that narwhals understands, or a CSV, Parquet or JSON lines file.
    columns : TimeColumns
        Which columns hold what.
    every : str or number
        How long periods are.
    now : str, date, datetime, number or None
        The moment; by default the latest of all times.
    positive, negative : sequence of str, optional
        Values of the label column.

    Returns
    -------
    TimedRows
    """
    cells = _arrow_columns(source, columns.names)
    scores = _scores(cells[columns.score], columns.score)
    s, _ = read_label_column(cells[columns.label], CALLER, positive, negative)
    time = read_moments(cells[columns.time], columns.time, CALLER)
    _check_all_known(time)
    calendar = Calendar.of(every, time.numeric, CALLER)
    labeled, notes = s == 1, []
    if (s == -1).any():
        notes.append(
            Note(
                "negatives-unused",
                f"{(s == -1).sum():,} rows that are known to be negative count as unlabeled.",
            )
        )
    taken = None
    if columns.labeled_at is not None:
        at = read_moments(cells[columns.labeled_at], columns.labeled_at, CALLER)
        time, at = _comparable(time, at, labeled)
        taken = np.where(labeled, at.instant - time.instant, np.nan)
    moment = _present(read_now(now, time, CALLER), time, taken)
    here = time.instant <= moment
    age = moment - time.instant
    if taken is not None:
        labeled = labeled & ~(taken > age)
        taken, odd = _usable(taken, labeled & here, columns)
        notes += odd
    if not here.any():
        raise InvalidInputError(
            f"monitor needs rows that have happened by now. Got {brief(str(now))}, before all "
            f"{len(here):,} rows. Pass a later moment."
        )
    observable = _observable(cells, columns)
    numbers = calendar.numbers(time.local[here])
    first, last = int(numbers.min()), int(numbers.max())
    _check_number_of_periods(last - first + 1, calendar, time)
    delay = np.full(len(here), np.nan) if taken is None else taken
    return TimedRows(
        scores[here],
        labeled[here],
        observable[here],
        numbers - first,
        age[here],
        np.where(labeled, delay, np.nan)[here],
        tuple(calendar.name(number) for number in range(first, last + 1)),
        calendar,
        _said(moment, time),
        here,
        tuple(notes),
    )


def _arrow_columns(source: Any, names: list[str]) -> dict[str, Any]:
    if isinstance(source, str | Path):
        table = read_table(source)
        return {name: table.typed(name) for name in names}
    try:
        rows: Any = nw.from_native(source)
    except TypeError as error:
        raise InvalidInputError(
            f"monitor needs a data frame that narwhals knows (pandas, Polars, PyArrow, DuckDB, "
            f"PySpark, Dask), or the name of a file. Got {type(source).__name__}."
        ) from error
    check_names(list(rows.collect_schema().names()), names, "the frame")
    import pyarrow as pa

    try:
        chosen = rows.select(names)
        chosen = chosen.collect("pyarrow") if isinstance(chosen, nw.LazyFrame) else chosen
        table = chosen.to_arrow()
    except pa.ArrowException as error:
        raise InvalidInputError(
            f"monitor needs columns of one type each. Got {brief(str(error), 200)}"
        ) from error
    return {name: table.column(name) for name in names}


def _scores(column: Any, name: str) -> FloatArray:
    import pyarrow as pa

    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidInputError(
            f"monitor needs numbers in the column {brief(name)!r}, the scores. Got {kind}. "
            f"Choose another column or convert it."
        )
    values = np.asarray(column.cast("float64").to_numpy(), float)
    bad = ~np.isfinite(values)
    if bad.any():
        raise InvalidInputError(
            f"monitor needs every score to be a finite number. Got {values[bad][0]} in "
            f"{bad.sum():,} rows of column {brief(name)!r}. Drop or impute those rows first."
        )
    return values


def _check_all_known(time: Times) -> None:
    missing = np.isnan(time.local)
    if len(missing) == 0 or missing.any():
        raise InvalidInputError(
            f"monitor needs the time of every row. Got {missing.sum():,} of {len(missing):,} rows "
            f"without one in the column {brief(time.column)!r}. Drop or fill them."
        )


def _comparable(time: Times, at: Times, labeled: NDArray[np.bool_]) -> tuple[Times, Times]:
    """Bring times of rows and of labels to one kind, or say why that cannot be."""
    if np.isnan(at.local[labeled]).all():
        return time, at
    if time.numeric != at.numeric:
        raise InvalidInputError(
            f"monitor needs times of one kind. Got "
            f"{'numbers' if time.numeric else 'dates'} in the column {brief(time.column)!r} and "
            f"{'numbers' if at.numeric else 'dates'} in {brief(at.column)!r}. Convert one."
        )
    if time.dates_alone or at.dates_alone:
        return time.by_day(), at.by_day()
    if time.zoned != at.zoned:
        with_zone, without = (time, at) if time.zoned else (at, time)
        raise InvalidInputError(
            f"monitor needs time zones in both columns or in none. Got one in "
            f"{brief(with_zone.column)!r} and none in {brief(without.column)!r}. Give both the "
            f"same."
        )
    return time, at


def _present(now: float | None, time: Times, taken: FloatArray | None) -> float:
    """Return the moment up to which things are known."""
    if now is not None:
        return now
    latest = float(time.instant.max())
    if taken is not None and not np.isnan(taken).all():
        latest = max(latest, float(np.nanmax(time.instant + taken)))
    return latest


def _usable(
    taken: FloatArray, labeled: NDArray[np.bool_], columns: TimeColumns
) -> tuple[FloatArray, list[Note]]:
    """Leave out labels without a time, or with one before their row; refuse too many."""
    n_labels = int(labeled.sum())
    missing = int(np.isnan(taken[labeled]).sum())
    early = int((taken[labeled] < 0).sum())
    notes = []
    at, time = brief(str(columns.labeled_at)), brief(columns.time)
    for n_rows, what, remedy in (
        (missing, f"have no time in {at!r}", "Fill them, or leave labeled_at out"),
        (early, f"have a label in {at!r} before their {time!r}", "Correct the times"),
    ):
        if n_rows > MOST_WITHOUT_TIME * n_labels:
            raise InvalidInputError(
                f"monitor needs to know how long labels took. {n_rows:,} of {n_labels:,} labeled "
                f"rows {what}. {remedy}."
            )
        if n_rows:
            note = f"{n_rows:,} of {n_labels:,} labeled rows {what}; their delays are not used."
            notes.append(Note("times-odd", note))
    return np.where(taken < 0, np.nan, taken), notes


def _observable(cells: dict[str, Any], columns: TimeColumns) -> NDArray[np.bool_]:
    if columns.observable is None:
        return np.ones(len(cells[columns.label]), bool)
    import pyarrow as pa
    import pyarrow.compute as pc

    column = cells[columns.observable]
    if pa.types.is_boolean(column.type) and not column.null_count:
        return np.asarray(column.to_numpy()).astype(bool)
    numbers = None
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = np.asarray(column.cast("float64").to_numpy(), float)
    if numbers is None or not np.isin(numbers, (0, 1)).all():
        raise InvalidInputError(
            f"monitor needs the column {brief(columns.observable)!r} to say true or false of every "
            f"row: whether it could get a label. Got {column.type} such as "
            f"{brief(str(pc.unique(column)[0].as_py()))}."
        )
    return np.asarray(numbers == 1)


def _check_number_of_periods(n_periods: int, calendar: Calendar, time: Times) -> None:
    if n_periods > MOST_PERIODS:
        longer = "a larger number" if time.numeric else "'W' or 'M'"
        raise InvalidInputError(
            f"monitor takes up to {MOST_PERIODS:,} periods. Got {n_periods:,} {calendar.word}s "
            f"between the first and the last row of {brief(time.column)!r}. Pass every={longer}, "
            f"or drop rows with wrong times."
        )


def _said(moment: float, time: Times) -> str:
    if time.numeric:
        return f"{moment:.10g}"
    if not math.isfinite(moment):
        return str(moment)
    if moment == math.floor(moment) and time.dates_alone:
        return str(np.datetime64(int(moment), "D"))
    seconds = round(moment * 86_400)
    return str(np.datetime64(seconds, "s")) + ("Z" if time.zoned else "")
