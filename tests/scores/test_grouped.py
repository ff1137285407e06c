"""Counts by score and group: the same from every engine, and nothing lost."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from recoup.exceptions import InvalidInputError
from recoup.scores import GroupedTable, ScoreTable, counting
from recoup.scores.group_keys import GroupKeys, grouping_of
from recoup.scores.table import DEFAULT_BINS

HOSTILE = "<script>alert(1)</script>\n'; DROP"


def in_dask(columns):
    import dask.dataframe as dd

    return dd.from_pandas(pd.DataFrame(columns), npartitions=2)


ENGINES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
    "dask": in_dask,
}


def made_rows(n=900, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array(["f", "m", HOSTILE, None], object)
    return {
        "s": rng.integers(-1, 2, n),
        "p": rng.random(n).round(2),
        "sex": words[rng.integers(0, 4, n)].tolist(),
        "size": rng.integers(1, 3, n),
    }


def in_arrays(rows, by):
    return GroupedTable.from_arrays(rows["s"], rows["p"], {name: rows[name] for name in by})


@pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())
def test_every_engine_counts_alike(make):
    rows = made_rows()
    expected = in_arrays(rows, ["sex", "size"])
    found = GroupedTable.from_frame(make(rows), label="s", score="p", by=["sex", "size"])
    assert found.groups.columns == ("sex", "size")
    assert found.groups.keys == expected.groups.keys
    edges = expected.pooled.scores
    assert np.array_equal(found.binned(edges), expected.binned(edges))


def test_spark_counts_alike(spark):
    rows = made_rows(200)
    frame = pd.DataFrame(rows).astype({"sex": object})
    expected = in_arrays(rows, ["sex"])
    found = GroupedTable.from_frame(
        spark.createDataFrame(frame.where(frame.notna(), None)), label="s", score="p", by=["sex"]
    )
    assert found.groups.keys == expected.groups.keys
    edges = expected.pooled.scores
    assert np.array_equal(found.binned(edges), expected.binned(edges))


@pytest.mark.parametrize("many", [False, True], ids=["few scores", "many scores"])
def test_files_count_alike(many, tmp_path, monkeypatch):
    if many:
        monkeypatch.setattr(counting, "MANY_SCORES", 10)
    rows = made_rows()
    path = tmp_path / "rows.parquet"
    pd.DataFrame(rows).to_parquet(path)
    expected = in_arrays(rows, ["sex", "size"])
    found = GroupedTable.from_file(path, label="s", score="p", by=["sex", "size"])
    assert found.groups.keys == expected.groups.keys
    edges = expected.pooled.scores
    assert np.array_equal(found.binned(edges), expected.binned(edges))
    assert found.pooled.thinned == many


def test_cells_of_text_files_that_are_empty_are_a_group(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("s,p,country\n1,0.9,DE\n0,0.4,\n0,0.3,007\n")
    found = GroupedTable.from_file(path, label="s", score="p", by=["country"])
    assert found.groups.keys == (("007",), ("DE",), (None,))


def test_tables_of_groups_add_up_to_the_pooled_one():
    rows = made_rows()
    table = in_arrays(rows, ["sex"])
    parts = [table[key] for key in table.groups.keys]
    whole = parts[0] + parts[1] + parts[2] + parts[3]
    direct = ScoreTable.from_arrays(rows["s"], rows["p"])
    for one in (whole, table.pooled):
        assert one.to_dict() == direct.to_dict()
    inside = np.array([sex == "m" for sex in rows["sex"]])
    mine = ScoreTable.from_arrays(rows["s"][inside], rows["p"][inside])
    assert table["m"].to_dict() == mine.to_dict()


def test_bins_keep_every_row_and_cut_at_the_threshold():
    rng = np.random.default_rng(1)
    s, p, group = rng.integers(0, 2, 40_000), rng.random(40_000), rng.integers(0, 5, 40_000)
    table = GroupedTable.from_arrays(s, p, group)
    edges = table.pooled.thin(64, (0.37,)).scores
    counts = table.binned(edges)
    above = counts[..., np.searchsorted(edges, 0.37) :].sum(axis=-1)
    for place in range(5):
        inside = group == place
        assert counts[0, place].sum() == (s[inside] == 1).sum()
        assert above[1, place] == ((s[inside] == 0) & (p[inside] >= 0.37)).sum()


def test_all_that_is_missing_is_one_group_and_last():
    listed = ["b", None, float("nan"), pd.NA, "a", np.datetime64("NaT")]
    keys, codes = grouping_of(listed, 6, "test")
    assert keys == GroupKeys(("group",), (("a",), ("b",), (None,)))
    assert codes.tolist() == [1, 2, 2, 2, 0, 2]
    numbers, codes = grouping_of(np.array([2.0, np.nan, 1.0]), 3, "test")
    assert numbers.keys == ((1.0,), (2.0,), (None,))
    assert codes.tolist() == [1, 2, 0]


def test_values_that_look_alike_stay_apart():
    keys, codes = grouping_of([1, "1", True, "(missing)", None, ""], 6, "test")
    assert len(keys) == 6
    assert len(set(codes.tolist())) == 6
    assert keys.names.count("1") == 2
    assert keys.keys[keys.find(True, "test")] == (True,)


@pytest.mark.parametrize(
    "groups",
    [
        pd.Series(["a", "b", "a"], dtype="category"),
        pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        pa.chunked_array([["a"], ["b", "a"]]),
        np.array(["a", "b", "a"]),
        ("a", "b", "a"),
    ],
    ids=["pandas", "polars", "pyarrow", "numpy", "tuple"],
)
def test_columns_of_any_kind(groups):
    keys, codes = grouping_of(groups, 3, "test")
    assert keys.keys == (("a",), ("b",))
    assert codes.tolist() == [0, 1, 0]


def test_many_columns_do_not_overflow():
    rng = np.random.default_rng(2)
    columns = {f"c{place}": rng.integers(0, 3, 400) for place in range(50)}
    with pytest.raises(InvalidInputError, match="at most 10,000 groups"):
        grouping_of({f"c{place}": np.arange(20_000) for place in range(3)}, 20_000, "test")
    keys, codes = grouping_of(columns, 400, "test")
    rows = list(zip(*(columns[name].tolist() for name in columns), strict=True))
    assert [keys.keys[code] for code in codes] == rows


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (["a"], "one value per row. Got 1"),
        ("a", "a column of values, one per row"),
        ({}, "at least one column"),
        (pl.LazyFrame({"a": [1, 2, 3]}), "GroupedTable.from_frame"),
        (np.ma.MaskedArray(["a", "b", "c"], [0, 1, 0]), "masked"),
    ],
)
def test_what_are_no_groups(groups, words):
    with pytest.raises(InvalidInputError) as caught:
        grouping_of(groups, 3, "test")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unknown_groups_and_columns_are_named():
    table = in_arrays(made_rows(), ["sex"])
    with pytest.raises(InvalidInputError, match="a value of 'sex'"):
        table["x"]
    with pytest.raises(InvalidInputError, match=r"no column 'sexx'.*Did you mean 'sex'"):
        GroupedTable.from_frame(pd.DataFrame(made_rows()), label="s", score="p", by=["sexx"])
    with pytest.raises(InvalidInputError, match="at least one column to group by"):
        GroupedTable.from_frame(pd.DataFrame(made_rows()), label="s", score="p", by=[])


def test_many_rows_are_pooled_in_bins(monkeypatch):
    from recoup.scores import grouped

    monkeypatch.setattr(grouped, "MANY_ROWS", 1000)
    rng = np.random.default_rng(3)
    n = 2 * DEFAULT_BINS
    table = GroupedTable.from_arrays(rng.integers(0, 2, n), rng.random(n), np.zeros(n, int))
    assert table.pooled.thinned
    assert table.pooled.n_rows == n
    assert repr(table).startswith("GroupedTable(1 groups by group, ")
