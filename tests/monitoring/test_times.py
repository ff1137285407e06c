"""Times and periods of any kind."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from recoup.exceptions import InvalidInputError
from recoup.monitoring.times import Calendar, read_moments, read_now

DAY = (date(2026, 3, 31) - date(1970, 1, 1)).days


def read(values, kind=None):
    return read_moments(pa.array(values, kind), "paid_at", "monitor")


@pytest.mark.parametrize(
    "values",
    [
        ["2026-03-31T12:00:00", None, ""],
        ["2026-03-31 12:00", "NaT", None],
        ["31.03.2026 12:00", None, None],
        [datetime(2026, 3, 31, 12), None, None],
        pa.array([datetime(2026, 3, 31, 12), None, None]).cast(pa.timestamp("ns")),
    ],
)
def test_one_moment_is_the_same_however_it_is_written(values):
    found = read_moments(pa.array(values) if isinstance(values, list) else values, "t", "monitor")
    np.testing.assert_array_equal(found.local, [DAY + 0.5, np.nan, np.nan])
    assert (found.zoned, found.numeric, found.dates_alone) == (False, False, False)


def test_coded_text_and_dates():
    coded = read_moments(pa.array(["2026-03-31", "2026-04-01"]).dictionary_encode(), "t", "x")
    days = read([date(2026, 3, 31), date(2026, 4, 1)])
    np.testing.assert_array_equal(coded.local, days.local)
    assert coded.dates_alone
    assert days.dates_alone


def test_spans_go_by_one_clock_and_periods_by_the_one_on_the_spot():
    paris = pa.array(
        [datetime(2026, 3, 30, 22, 30, tzinfo=UTC)], pa.timestamp("us", "Europe/Paris")
    )
    zoned = read_moments(paris, "t", "monitor")
    written = read(["2026-03-31T00:30:00+02:00"])
    for found in (zoned, written):
        assert found.zoned
        np.testing.assert_allclose(found.local, DAY + 0.5 / 24)
        np.testing.assert_allclose(found.instant, DAY - 1.5 / 24)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["2026-03-31", "soon"], "can be read in one way. Got 'soon'"),
        (["01/02/2026", "03/04/2026"], "day and month could change places"),
        (["2026-03-31T00:00:00Z", "2026-03-31T00:00:00"], "with a time zone, or none"),
        ([True, False], "dates, timestamps or numbers.*Got bool"),
        ([1.0, float("inf")], "finite times"),
    ],
)
def test_what_is_no_moment_is_refused(values, message):
    with pytest.raises(InvalidInputError, match=message):
        read(values)


@pytest.mark.parametrize(
    ("every", "moment", "name"),
    [
        ("D", "2026-03-31", "2026-03-31"),
        ("W", "2026-03-30", "2026-03-30"),
        ("W", "2026-04-05", "2026-03-30"),
        ("W", "1969-12-29", "1969-12-29"),
        ("M", "2026-03-31", "2026-03"),
        ("Q", "2026-03-31", "2026-01"),
        ("2M", "2026-03-31", "2026-03"),
    ],
)
def test_periods_begin_where_they_should(every, moment, name):
    calendar = Calendar.of(every, False, "monitor")
    number = calendar.numbers(read([moment]).local)[0]
    assert calendar.name(number) == name


def test_two_weeks_are_two_weeks():
    calendar = Calendar.of("2W", False, "monitor")
    days = np.arange(DAY, DAY + 280.0)
    numbers = calendar.numbers(days)
    assert np.bincount(numbers - numbers[0])[1:-1].tolist() == [14] * (len(set(numbers)) - 2)
    for number in set(numbers[20:]):
        assert pd.Timestamp(calendar.name(number)).day_name() == "Monday"
    assert calendar.in_year == pytest.approx(26.09, abs=0.01)


def test_numbers_have_periods_in_their_own_unit():
    calendar = Calendar.of(0.5, True, "monitor")
    np.testing.assert_array_equal(calendar.numbers(np.array([0.0, 0.49, 0.5, 1.2])), [0, 0, 1, 2])
    assert calendar.name(3) == "1.5"
    assert Calendar.of("7", True, "monitor") == Calendar.of(7, True, "monitor")


@pytest.mark.parametrize(
    ("every", "numeric", "message"),
    [
        ("W", True, "a number above 0 where times are numbers.*Got W"),
        (0, True, "Got 0"),
        (7, False, "a period such as 'D', 'W'.*Got 7"),
        ("0W", False, "Got 0W"),
        ("week", False, "Got week"),
    ],
)
def test_periods_that_cannot_be_are_refused(every, numeric, message):
    with pytest.raises(InvalidInputError, match=message):
        Calendar.of(every, numeric, "monitor")


def test_now_is_read_as_the_times_are():
    clock, days = read([datetime(2026, 3, 1, 5)]), read([date(2026, 3, 1)])
    zoned, numbers = read(["2026-03-01T05:00:00Z"]), read([1, 2])
    # A date is over when its day is.
    assert read_now("2026-03-31", clock, "monitor") == DAY + 1
    assert read_now(date(2026, 3, 31), days, "monitor") == DAY
    for now in (
        datetime(2026, 3, 31, 12),
        "2026-03-31T12:00:00",
        pd.Timestamp("2026-03-31 12:00"),
        np.datetime64("2026-03-31T12:00"),
    ):
        assert read_now(now, clock, "monitor") == DAY + 0.5
    assert read_now("2026-03-31T12:00:00+02:00", zoned, "monitor") == pytest.approx(
        DAY + 10 / 24, abs=1e-9
    )
    assert read_now(3, numbers, "monitor") == 3.0
    for now, time, message in (
        ("yesterday", clock, "a date or a moment"),
        ("2026-03-31", numbers, "to be a number"),
        ("2026-03-31T12:00:00", zoned, "time zone where the times have one"),
        (5, clock, "a date or a moment"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            read_now(now, time, "monitor")
