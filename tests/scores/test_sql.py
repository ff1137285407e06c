"""One statement counts a table in any engine, and its answer is the table of the rows."""

from __future__ import annotations

import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from recoup.exceptions import InvalidInputError, MissingDependencyError
from recoup.scores import ScoreTable

# Names that end a quotation, begin another one, or are words of SQL.
NAMES = {"label": 'is "fraud"; --', "score": "select `p`", "sample_weight": "we'ight"}


def scored_rows(n=5000):
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < 0.3)).astype(int)
    s[(s == 0) & (rng.random(n) < 0.05)] = -1
    scores = np.round(1 / (1 + np.exp(-rng.normal(2 * y - 1))), 3)
    scores[:3] = 0.0, -0.0, 0.125
    # Powers of two, so that sums of weights are the same in any order.
    weights = 2.0 ** rng.integers(-2, 3, n)
    return pd.DataFrame(dict(zip(NAMES.values(), (s, scores, weights), strict=True)))


def same(one, other):
    for name in ("scores", "labeled", "unlabeled", "negative", "centers"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
    assert (one.squares is None) == (other.squares is None)
    for left, right in zip(one.squares or (), other.squares or (), strict=True):
        np.testing.assert_array_equal(left, right)


def asked(weighted, decimals):
    given = NAMES if weighted else {key: NAMES[key] for key in ("label", "score")}
    return given | {"decimals": decimals}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [None, 2])
def test_duckdb_counts_as_from_frame_does(weighted, decimals, tmp_path):
    rows = scored_rows()
    columns = asked(weighted, decimals)
    expected = ScoreTable.from_frame(pl.from_pandas(rows), **columns)
    with duckdb.connect() as connection:
        connection.execute('CREATE SCHEMA "la.ke"')
        connection.execute('CREATE TABLE "la.ke"."the rows" AS SELECT * FROM rows')
        statement = ScoreTable.sql("duckdb", table=["la.ke", "the rows"], **columns)
        assert ";" not in statement.replace(NAMES["label"].replace('"', '""'), "")
        answer = connection.sql(statement)
        same(ScoreTable.from_counts(answer), expected)
        same(ScoreTable.from_counts(answer.pl()), expected)
        # Some engines return names of columns in capitals.
        same(ScoreTable.from_counts(answer.df().rename(columns=str.upper)), expected)
    rows.to_parquet(tmp_path / "rows.parquet")
    same(expected, ScoreTable.from_file(tmp_path / "rows.parquet", **columns))


def test_spark_counts_as_from_frame_does(spark, tmp_path):
    rows = scored_rows(2000)
    rows.to_parquet(tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    frame.createOrReplaceTempView("scored_rows")
    for weighted, decimals in ((False, None), (True, 2)):
        columns = asked(weighted, decimals)
        answer = spark.sql(ScoreTable.sql("spark", table="scored_rows", **columns))
        expected = ScoreTable.from_frame(pl.from_pandas(rows), **columns)
        same(ScoreTable.from_counts(answer), expected)
    plain = frame.toDF("s", "p", "w")
    given = {"label": "s", "score": "p", "sample_weight": "w", "decimals": 2}
    same(ScoreTable.from_frame(plain, **given), expected)


def test_rows_that_cannot_be_counted_are_refused():
    given = {"table": "rows", "label": "s", "score": "p"}

    def counted(rows, **more):
        assert len(rows)
        return ScoreTable.from_counts(duckdb.sql(ScoreTable.sql(**given, **more)).df())

    with pytest.raises(InvalidInputError, match=r"Got others in 1 of 3 rows"):
        counted(pd.DataFrame({"s": [1, 0, 0.6], "p": [0.1, 0.2, 0.3]}))
    with pytest.raises(InvalidInputError, match=r"Got nan in 1 rows of the column of scores"):
        counted(pd.DataFrame({"s": [1, 0, 0], "p": [0.1, 0.2, np.nan]}))
    with pytest.raises(InvalidInputError, match="Got 1 of 3 rows with a missing, infinite or"):
        counted(
            pd.DataFrame({"s": [1, 0, 0], "p": [0.1, 0.2, 0.3], "w": [1, 1, np.inf]}),
            sample_weight="w",
        )
    with pytest.raises(InvalidInputError, match="Missing: negative, known_rows, all_rows"):
        ScoreTable.from_counts({"score": [0.1], "labeled": [1], "unlabeled": [1]})
    with pytest.raises(InvalidInputError, match="Got list"):
        ScoreTable.from_counts([1, 2])
    for wrong in ({"table": ""}, {"label": ""}, {"decimals": 99}, {"table": []}):
        with pytest.raises(InvalidInputError, match=r"ScoreTable\.sql needs"):
            ScoreTable.sql(**(given | wrong))


def test_other_dialects_ask_for_sqlglot(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(MissingDependencyError, match="pip install sqlglot"):
        ScoreTable.sql("snowflake", table="rows", label="s", score="p")


def test_other_dialects_are_translated(monkeypatch):
    class Sqlglot:
        @staticmethod
        def transpile(statement, read, write, **options):
            if write == "klingon":
                raise ValueError("Unknown dialect 'klingon'.")
            return [f"{read} to {write}: {statement}"]

    monkeypatch.setitem(sys.modules, "sqlglot", Sqlglot)
    plain = ScoreTable.sql(table="rows", label="s", score="p")
    found = ScoreTable.sql("snowflake", table="rows", label="s", score="p")
    assert found == f"duckdb to snowflake: {plain}"
    with pytest.raises(InvalidInputError, match="one that sqlglot knows"):
        ScoreTable.sql("klingon", table="rows", label="s", score="p")
