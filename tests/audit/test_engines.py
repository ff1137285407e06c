"""The same rows to check, digit for digit, whatever engine holds the rows."""

from __future__ import annotations

import hashlib
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import recoup
from recoup import ScoreTable
from recoup.audit import drawing, plan, plan_from
from recoup.audit.order import MANY_TEXTS, PRIME, row_numbers, text_numbers
from recoup.exceptions import InvalidInputError
from recoup.scores import counting

COLUMNS = {"label": "s", "score": "p", "id": "id"}
OPTIONS = {"alpha": 0.15, "budget": 120, "include_labeled": 10}
N = 3000


def scored(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.2
    s = (y & (rng.random(n) < 0.3)).astype(int)
    # Twelve decimals, which every format keeps.
    return s, np.round(1 / (1 + np.exp(-(rng.normal(size=n) + 2 * y - 1))), 12), y.astype(int)


S, SCORES, Y = scored()
IDS = {
    "numbers": np.arange(N) * 7 + 3,
    "numbers too large": np.arange(N) + PRIME,
    "numbers below zero": np.arange(N) - 5,
    "whole floats": np.arange(N) * 2.0,
    "texts": np.array([f"é-{place} 日本" for place in range(N)], object),
    "floats as text": np.array([str(place / 7) for place in range(N)], object),
    "dates as text": np.array([str(day) for day in np.arange(N).astype("M8[D]")], object),
    "digits": np.array([str(place) for place in range(N)], object),
}


def in_dask(frame):
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=3)


def in_parquet(frame, folder):
    frame.to_parquet(folder / "rows.parquet")
    return folder / "rows.parquet"


def in_parts(frame, folder):
    frame[:700].to_parquet(folder / "part1.parquet")
    frame[700:].to_parquet(folder / "part2.parquet")
    return str(folder / "part*.parquet")


def in_csv(frame, folder):
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def in_json(frame, folder):
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True, double_precision=15)
    return folder / "rows.jsonl"


SOURCES = {
    "pandas": lambda frame, folder: frame,
    "polars": lambda frame, folder: pl.from_pandas(frame),
    "polars lazy": lambda frame, folder: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame, folder: pa.Table.from_pandas(frame),
    "duckdb": lambda frame, folder: duckdb.from_arrow(pa.Table.from_pandas(frame)),
    "dask": lambda frame, folder: in_dask(frame),
    "parquet": in_parquet,
    "several files": in_parts,
    "csv": in_csv,
    "json lines": in_json,
}
every_source = pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
every_id = pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())


def shuffled(ids, seed=1):
    order = np.random.default_rng(seed).permutation(N)
    return pd.DataFrame({"s": S[order], "p": SCORES[order], "id": ids[order], "more": "x"})


def facts(made):
    """All that a plan says but where its rows lie; text files do not tell 7 and "7" apart."""
    found = made.to_dict()
    del found["rows"]
    found["ids"] = [str(one).removesuffix(".0") for one in found["ids"]]
    return found


@every_id
@every_source
def test_the_same_plan_from_every_source_in_any_order(make, ids, tmp_path):
    expected = plan(S, SCORES, ids=ids, **OPTIONS)
    assert len(set(expected.ids.tolist())) == 70
    found = plan_from(make(shuffled(ids), tmp_path), **COLUMNS, **OPTIONS)
    assert facts(found) == facts(expected)


def test_the_same_plan_from_spark(spark, tmp_path):
    for name in ("numbers", "numbers below zero", "texts", "floats as text"):
        ids = IDS[name]
        path = in_parquet(shuffled(ids), tmp_path)
        found = plan_from(spark.read.parquet(str(path)), **COLUMNS, **OPTIONS)
        assert facts(found) == facts(plan(S, SCORES, ids=ids, **OPTIONS)), name


def test_numbers_of_texts_are_those_of_md5():
    texts = ["", "a", "é", "日本語", "1.5", "2024-01-31", "'quoted' \"text\" \\ %"]
    texts += [f"row {place}" for place in range(MANY_TEXTS)]
    expected = [int(hashlib.md5(f"3:{one}".encode()).hexdigest()[:12], 16) for one in texts]
    assert text_numbers(texts, 3).tolist() == expected
    assert text_numbers(texts[:9], 3).tolist() == expected[:9]


def test_ids_that_were_read_as_text_count_as_the_numbers_they_are():
    assert np.array_equal(row_numbers(["7", "12"], 0), row_numbers([7, 12], 0))
    assert np.array_equal(row_numbers([7.0, 12.0], 0), row_numbers([7, 12], 0))
    assert not np.array_equal(row_numbers(["7", "012"], 0), row_numbers([7, 12], 0))
    one = uuid.uuid5(uuid.NAMESPACE_DNS, "recoup")
    assert np.array_equal(row_numbers([one], 0), row_numbers([str(one)], 0))


@every_source
def test_scores_in_bins_give_the_same_plan(make, tmp_path, monkeypatch):
    for module in ("recoup.scores.table", "recoup.audit.drawing", "recoup.audit.planning"):
        monkeypatch.setattr(f"{module}.DEFAULT_BINS", 64)
    ids = IDS["numbers"]
    expected = facts(plan(S, SCORES, ids=ids, **OPTIONS, threshold=0.4321))
    # What files with millions of scores, and as many rows, take.
    monkeypatch.setattr(counting, "MANY_SCORES", 100)
    monkeypatch.setattr(counting, "BATCH", 99)
    monkeypatch.setattr(drawing, "MANY_ROWS", 100)
    source = make(shuffled(ids), tmp_path)
    assert facts(plan_from(source, **COLUMNS, **OPTIONS, threshold=0.4321)) == expected


@every_source
def test_rounded_scores_give_the_same_plan(make, tmp_path):
    ids = IDS["texts"]
    expected = plan(S, np.floor(SCORES * 1e3 + 0.5) / 1e3, ids=ids, **OPTIONS)
    found = plan_from(make(shuffled(ids), tmp_path), **COLUMNS, **OPTIONS, decimals=3)
    assert facts(found) == facts(expected)


@pytest.mark.parametrize("make", [in_parquet, in_csv, in_json, lambda f, _: pl.from_pandas(f)])
def test_positions_serve_where_rows_have_an_order(make, tmp_path):
    source = make(pd.DataFrame({"s": S, "p": SCORES}), tmp_path)
    found = plan_from(source, label="s", score="p", **OPTIONS)
    expected = plan(S, SCORES, **OPTIONS)
    assert found.to_dict() == expected.to_dict()
    audit = found.answers(found.rows, Y[found.rows])
    both = recoup.evaluate(S, SCORES, audit=audit), recoup.evaluate(found.table, audit=audit)
    assert both[0].audit.to_dict() == both[1].audit.to_dict()


def test_an_audit_needs_no_rows(tmp_path):
    """Two waves from a file, with answers by id, give what arrays give."""
    ids, frame = IDS["texts"], shuffled(IDS["texts"])
    truth = dict(zip(ids, Y, strict=True))
    found = []
    for first in (plan(S, SCORES, ids=ids, **OPTIONS), plan_from(frame, **COLUMNS, **OPTIONS)):
        wave, audit = first, None
        for _ in range(2):
            sheet = pl.DataFrame({"id": wave.ids, "answer": [truth[one] for one in wave.ids]})
            audit = wave.answers(sheet)
            wave = audit.next() if audit.remaining else None
        found.append((first.table, audit))
    (table, audit), (_, other) = found
    path = in_parquet(frame, tmp_path)
    made = plan_from(path, **COLUMNS, **OPTIONS)
    counted = ScoreTable.from_file(path, label="s", score="p")
    expected = recoup.evaluate(S, SCORES, audit=audit).audit.to_dict()
    for rows in (table, made.table, counted):
        for one in (audit, other):
            assert recoup.evaluate(rows, audit=one).audit.to_dict() == expected


@pytest.mark.parametrize(
    ("frame", "options", "words"),
    [
        (lambda f: pl.from_pandas(f).lazy(), {"id": None}, "column of ids"),
        (lambda f: duckdb.from_arrow(pa.Table.from_pandas(f)), {"id": None}, "column of ids"),
        (lambda f: f, {"id": "p"}, "beside those of labels and scores"),
        (lambda f: f, {"id": "ID"}, "no column 'ID'"),
        (lambda f: pl.from_pandas(f).lazy(), {"id": "ID"}, "no column 'ID'"),
        (lambda f: f, {"id": "more"}, "1 different ones for 3,000 rows"),
        (lambda f: pl.from_pandas(f).lazy(), {"id": "more"}, "1 different ones for 3,000 rows"),
        (lambda f: f.assign(id=f["p"]), {}, "whole numbers or texts"),
        (lambda f: pl.from_pandas(f.assign(id=f["p"])).lazy(), {}, "whole numbers or texts"),
        (lambda f: f.assign(id=pd.Timestamp("2024")), {}, "whole numbers or texts"),
        (
            lambda f: pl.from_pandas(f.assign(id=pd.Timestamp("2024"))).lazy(),
            {},
            "whole numbers or texts",
        ),
        (lambda f: f.assign(id=[None, *f["id"][1:]]), {}, "an id in every row"),
        (
            lambda f: pl.from_pandas(f).lazy().with_columns(id=pl.col("id").replace(3, None)),
            {},
            "an id in every row",
        ),
        (lambda f: [1, 2], {}, "For arrays use"),
        (lambda f: f, {"threshold": float("nan")}, "finite number"),
        (lambda f: f, {"alpha": 2}, "alpha in [0, 1]"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(frame, options, words):
    source = frame(shuffled(IDS["numbers"]))
    with pytest.raises(InvalidInputError) as caught:
        plan_from(source, **COLUMNS | options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_files_without_ids_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="2 files"):
        plan_from(in_parts(shuffled(IDS["numbers"]), tmp_path), label="s", score="p")


def test_an_audit_by_ids_refuses_arrays_and_other_counts(tmp_path):
    made = plan_from(in_parquet(shuffled(IDS["texts"]), tmp_path), **COLUMNS, **OPTIONS)
    audit = made.answers(made.rows, np.arange(made.n_rows) % 2)
    with pytest.raises(InvalidInputError, match="knows them by their ids"):
        recoup.evaluate(S, SCORES, audit=audit)
    other = ScoreTable.from_arrays(S[1:], SCORES[1:])
    with pytest.raises(InvalidInputError, match="the audit was planned for"):
        recoup.evaluate(other, audit=audit)
