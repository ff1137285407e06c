"""Raw columns as numbers: what each one is, and what is left out with its reason."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from recoup.data import ColumnEncoder
from recoup.data.cell_text import date_order, number_style, read_dates, read_numbers
from recoup.data.encoded_column import date_part
from recoup.data.readers import read_table
from recoup.exceptions import InvalidInputError

N = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    s = (rng.random(N) < 0.2).astype(int)
    day = datetime.date(2024, 1, 1)
    words = ["late parcel arrived", "never came at all", "box was broken again", "fine and quick"]
    frame = pd.DataFrame(
        {
            "row_id": np.arange(N) + 10_000,
            "amount": np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)),
            "price": [f"{x:.2f}".replace(".", ",") for x in rng.uniform(1, 99, N)],
            "country": rng.choice(["fr", "de", "it"], N),
            "shop": [f"shop {min(k, 40)}" for k in rng.geometric(0.2, N)],
            "member": rng.choice(["yes", "no"], N),
            "active": rng.random(N) < 0.5,
            "since": [str(day + datetime.timedelta(int(k))) for k in rng.integers(0, 900, N)],
            "review": [f"{rng.choice(words)} on trip {k}" for k in range(N)],
            "version": ["v1"] * N,
            "nothing": [None] * N,
            "closed_by": [f"agent {k % 7}" if label else None for k, label in enumerate(s)],
            "loss": np.where(s == 1, rng.uniform(1, 9, N), 0.0),
            "token": [f"{rng.integers(2**60):x}" for _ in range(N)],
        }
    )
    return frame, s


ROLES = {
    "row_id": "id",
    "amount": "number",
    "price": "number",
    "country": "category",
    "shop": "category",
    "member": "flag",
    "active": "flag",
    "since": "date",
    "review": "text",
    "version": "constant",
    "nothing": "constant",
    "closed_by": "leak",
    "loss": "leak",
    "token": "id",
}


def test_every_column_has_its_role_and_its_reason(table):
    frame, s = table
    encoder = ColumnEncoder().fit(frame, s)
    assert {column.name: column.role for column in encoder.columns_} == ROLES
    reasons = {column.name: column.reason for column in encoder.columns_}
    assert reasons["version"] == "holds v1 alone"
    assert "for labeled rows alone" in reasons["closed_by"]
    assert "100 % of all rows are labeled" in reasons["loss"]
    assert all(column.reason for column in encoder.columns_ if not column.used)
    X = encoder.transform(frame)
    names = list(encoder.feature_names_out_)
    assert X.shape == (N, len(names))
    assert np.isfinite(X).all()

    def column(name):
        return X[:, names.index(name)]

    assert (column("amount is missing") == frame["amount"].isna()).all()
    np.testing.assert_allclose(column("amount").mean(), frame["amount"].mean())
    expected = frame["price"].str.replace(",", ".").astype(float)
    np.testing.assert_array_equal(column("price"), expected)
    assert (column("country=it") == (frame["country"] == "it")).all()
    assert (column("member") == (frame["member"] == "yes")).all()
    dates = pd.to_datetime(frame["since"])
    for part, value in (("year", dates.dt.year), ("weekday", dates.dt.day_of_week)):
        assert (column(f"since: {part}") == value).all()
    rare = column("shop=(other)")
    assert 0 < rare.sum() == N - sum(column(n).sum() for n in names if "shop=shop" in n)


def test_without_labels_nothing_leaks_and_a_column_can_be_kept(table):
    frame, s = table
    free = ColumnEncoder().fit(frame)
    assert {"loss", "closed_by"} <= {column.name for column in free.columns_ if column.used}
    kept = ColumnEncoder(keep="loss").fit(frame, s)
    assert [c.name for c in kept.columns_ if c.role == "leak"] == ["closed_by"]
    named = ColumnEncoder(id="country").fit(frame, s)
    assert next(c for c in named.columns_ if c.name == "country").role == "id"


def test_frames_of_all_kinds_and_files_give_the_same_numbers(table, tmp_path):
    frame, s = table
    encoder = ColumnEncoder().fit(frame, s)
    expected = encoder.transform(frame)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    tables = [
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        pa.Table.from_pandas(frame),
        read_table(tmp_path / "rows.csv"),
        read_table(tmp_path / "rows.parquet"),
        {name: frame[name].tolist() for name in frame},
        frame.astype({"country": "category", "amount": "Float64"}),
    ]
    for rows in tables:
        np.testing.assert_allclose(encoder.transform(rows), expected)
        again = ColumnEncoder().fit(rows, s)
        np.testing.assert_allclose(again.transform(frame), expected)
        assert list(again.feature_names_out_) == list(encoder.feature_names_out_)


def test_json_keeps_all_of_it(table):
    frame, s = table
    encoder = ColumnEncoder().fit(frame, s)
    again = ColumnEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.columns_ == encoder.columns_
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(frame))
    former = [{"name": "amount", "levels": [], "mean": 2.0, "gaps": True}]
    former.append({"name": "country", "levels": ["de", "fr"], "mean": 0.0, "gaps": False})
    read = ColumnEncoder.from_dict(former)
    assert read.transform({"amount": [None], "country": ["fr"]}).tolist() == [[2, 1, 0, 1]]
    for wrong in ({}, {"format": 9}, [1], "x", {"format": 1, "missing": "fill", "columns": [{}]}):
        with pytest.raises(InvalidInputError, match="from_dict"):
            ColumnEncoder.from_dict(wrong)


def test_arrays_mixed_types_and_new_values(table):
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=(50, 2))
    encoder = ColumnEncoder(missing="keep").fit(numbers)
    assert encoder.feature_names_out_.tolist() == ["x0", "x1"]
    numbers[3, 1] = np.nan
    np.testing.assert_array_equal(encoder.transform(numbers), numbers)
    mixed = pd.DataFrame({"a": [1, "two", 2.5, None, "two"] * 20, "b": numbers.ravel()})
    learned = ColumnEncoder().fit(mixed)
    assert learned.columns_[0].levels == ("1", "2.5", "two")
    strays = [*map(str, range(0, 400, 2)), "unknown", "n/a"]
    read = ColumnEncoder().fit({"a": strays, "b": strays})
    assert read.columns_[0].role == "number"
    assert "2 cells such as 'unknown' count as empty" in read.columns_[0].reason
    levels = ColumnEncoder().fit({"a": ["x", "y"] * 30}).transform({"a": ["new", None, "y"]})
    assert levels.tolist() == [[0, 0], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("words", "style", "numbers"),
    [
        (["1", "-2.5", "1e3"], "plain", [1, -2.5, 1000]),
        (["1,234.50", "7"], "point", [1234.5, 7]),
        (["1.234,5", "7"], "comma", [1234.5, 7]),
        (["0,5", "12,25"], "comma", [0.5, 12.25]),
        (["1,234,567"], "point", [1234567]),
        (["1,234", "7"], "ambiguous", None),
        (["007", "008"], None, None),
        (["1", "one"], None, None),
    ],
)
def test_numbers_are_read_where_there_is_one_way(words, style, numbers):
    assert number_style(words) == style
    if numbers is not None:
        assert read_numbers(words, style).tolist() == numbers


@pytest.mark.parametrize(
    ("words", "order", "day"),
    [
        (["2024-02-29", "2023-01-01"], "year-month-day", "2024-02-29"),
        (["2024-02-29T12:00:00Z"], "year-month-day", "2024-02-29T12"),
        (["29.02.2024", "1.1.2023"], "day-month-year", "2024-02-29"),
        (["02/29/2024"], "month-day-year", "2024-02-29"),
        (["02/03/2024"], "ambiguous", None),
        (["2023-02-29"], None, None),
        (["today"], None, None),
    ],
)
def test_dates_are_read_where_there_is_one_way(words, order, day):
    assert date_order(words) == order
    if day is not None:
        expected = np.datetime64(day, "s").astype(int) / 86_400
        assert read_dates(words, order)[0] == expected


def test_parts_of_dates_are_those_of_the_calendar():
    moments = pd.date_range("1965-03-01 05:30", periods=500, freq="40h")
    days = moments.to_numpy().astype("datetime64[s]").astype(float) / 86_400
    known = {"year": "year", "month": "month", "weekday": "day_of_week", "hour": "hour"}
    for part, name in known.items():
        assert (date_part(days, part, 0.0) == getattr(moments, name)).all(), part


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1.0] * 40}, "a holds 1 alone"),
        ({"a": ["1,234", "2,345"] * 20}, "could be thousands or decimals, such as '1,234'"),
        ({"a": ["02/03/2024", "01/02/2024"] * 20}, "could be day-month or month-day"),
        ({"a": [np.inf, 1.0] * 20}, "a holds infinite values"),
        ({"a": [[1], [2]] * 20}, "holds neither numbers nor text but list"),
        ({"a": [f"w{k}" for k in range(40)]}, "as names of rows do"),
        ({"a": [f"w{k % 3_000}" for k in range(9_000)]}, "none of them often enough"),
    ],
)
def test_nothing_to_learn_from_is_said_by_name(columns, message):
    with pytest.raises(InvalidInputError, match="no column to learn from") as caught:
        ColumnEncoder().fit(columns)
    assert message in str(caught.value)


def test_rows_that_do_not_fit_are_refused():
    encoder = ColumnEncoder().fit({"a": np.arange(9.0) ** 2, "b": ["x", "y", "x"] * 3})
    for rows, message in (
        ({"b": ["x"]}, "no column 'a'"),
        ({"a": ["much"], "b": ["x"]}, "needs finite numbers in the column 'a'.* Got 'much'"),
        ({"a": [np.inf], "b": ["x"]}, "needs finite numbers in the column 'a'"),
        ({"a": [datetime.date(2024, 1, 1)], "b": ["x"]}, "Got dates"),
        ({"a": [1.0], "b": [[1]]}, "column 'b'.*holds neither"),
        (np.zeros(3), "Got shape"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            encoder.transform(rows)
    with pytest.raises(InvalidInputError, match="fit first"):
        ColumnEncoder().transform({"a": [1]})
    with pytest.raises(InvalidInputError, match="missing"):
        ColumnEncoder(missing="drop").fit({"a": [1, 2]})
    with pytest.raises(InvalidInputError, match="no column 'c'"):
        ColumnEncoder(id="c").fit({"a": [1, 2]})
    with pytest.raises(InvalidInputError, match="several columns"):
        ColumnEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_strong_honest_columns_are_no_leaks():
    rng = np.random.default_rng(3)
    y = rng.random(4000) < 0.3
    s = (y & (rng.random(4000) < 0.5)).astype(int)
    columns = {
        "strong": rng.normal(6.0 * y),
        "kind": np.where(y, "bad", "good"),
        "gap": np.where(y, np.nan, 1.0 + rng.random(4000)),
    }
    encoder = ColumnEncoder().fit(columns, s)
    assert all(column.used for column in encoder.columns_)
