"""ScoreTable: counting, merging, thinning, files and frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recoup
from recoup import evaluate
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.scores import ScoreTable, counting
from strategies import pu_rows

COLUMNS = ("scores", "labeled", "unlabeled", "negative", "centers")


def assert_same(one: ScoreTable, other: ScoreTable) -> None:
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.thinned == other.thinned


@given(pu_rows(negatives=True, levels=9))
def test_counts_rows(rows):
    s, scores = rows
    table = ScoreTable.from_arrays(s, scores)
    for i, score in enumerate(table.scores):
        at = scores == score
        assert table.labeled[i] == (at & (s == 1)).sum()
        assert table.unlabeled[i] == (at & (s == 0)).sum()
        assert table.negative[i] == (at & (s == -1)).sum()
    assert (np.diff(table.scores) > 0).all()
    assert table.n_rows == len(s)


@given(pu_rows(negatives=True, levels=9), pu_rows(levels=7))
def test_merging_is_concatenating(first, second):
    merged = ScoreTable.from_arrays(*first) + ScoreTable.from_arrays(*second)
    both = ScoreTable.from_arrays(
        *(np.concatenate(pair) for pair in zip(first, second, strict=True))
    )
    assert_same(merged, both)


@given(pu_rows(max_rows=200, negatives=True), st.integers(4, 60), st.floats(-1e6, 1e6))
def test_thinning_arrays_directly_is_thinning_the_table(rows, bins, kept):
    s, scores = rows
    full = ScoreTable.from_arrays(s, scores)
    assert_same(full.thin(bins, [kept]), ScoreTable.from_arrays(s, scores, bins=bins, keep=[kept]))


@given(pu_rows(max_rows=200, negatives=True), st.integers(4, 60), st.floats(-1e6, 1e6))
def test_thinning_keeps_its_promises(rows, bins, kept):
    s, scores = rows
    full = ScoreTable.from_arrays(s, scores)
    thin = full.thin(bins, [kept])
    assert thin.n_rows == full.n_rows
    assert abs(auc_pu(thin) - auc_pu(full)) <= thin.max_auc_error + 1e-12
    for threshold in [*thin.scores, kept]:
        for group, label in (("labeled", 1), ("unlabeled", 0), ("negative", -1)):
            above = getattr(thin, group)[thin.scores >= threshold].sum()
            assert above == ((s == label) & (scores >= threshold)).sum()
    assert len(thin.scores) <= max(bins, 6) + 3


def test_thinning_a_thin_table_and_adding_thin_tables():
    rng = np.random.default_rng(0)
    s = (rng.random(5000) < 0.3).astype(int)
    scores = rng.random(5000)
    full = ScoreTable.from_arrays(s, scores)
    twice = full.thin(1000).thin(100)
    assert twice.n_rows == 5000
    assert abs(auc_pu(twice) - auc_pu(full)) <= twice.max_auc_error
    same = full.thin(100) + full.thin(100)
    assert same.n_rows == 10_000
    assert same.thinned
    assert auc_pu(same) == pytest.approx(auc_pu(full.thin(100)))
    with pytest.raises(InvalidInputError, match="Add first, then thin"):
        full.thin(100) + full.thin(150)


@pytest.mark.parametrize("direct", [True, False])
def test_thinning_is_finest_where_the_first_rows_are(direct):
    """However few rows a user looks at, some threshold selects nearly that many."""
    rng = np.random.default_rng(0)
    s = (rng.random(60_000) < 0.3).astype(int)
    scores = rng.normal(size=60_000)
    full = ScoreTable.from_arrays(s, scores)
    thin = ScoreTable.from_arrays(s, scores, bins=400) if direct else full.thin(400)
    for group in ("labeled", "unlabeled"):
        selected = np.cumsum(getattr(thin, group)[::-1])
        for wanted in (1, 2, 5, 10, 30, 100, 300, 1000):
            nearest = selected[np.abs(selected - wanted).argmin()]
            assert nearest == pytest.approx(wanted, rel=0.12), group


def test_adding_thin_tables_keeps_the_values_of_probabilities():
    """Two tables of the same bins, whose rows lie low in them and high."""
    rng = np.random.default_rng(0)
    s = (rng.random(5000) < 0.3).astype(int)
    scores = rng.random(5000)
    edges = ScoreTable.from_arrays(s, scores, bins=60).scores
    lowest = edges[np.searchsorted(edges, scores, side="right") - 1]
    low, high = (
        ScoreTable.from_arrays(s, lowest + share * (scores - lowest), bins=60)
        for share in (0.1, 1.0)
    )
    np.testing.assert_array_equal(low.scores, high.scores)

    def brier(table):
        return evaluate(table, alpha=0.0, threshold=0.5, n_boot=0)["brier"].recovered

    parts = brier(low), brier(high)
    assert parts[0] != pytest.approx(parts[1], abs=2e-3)
    for both in (low + high, high + low):
        assert brier(both) == pytest.approx(np.mean(parts), abs=2e-4)


def test_the_unit_of_weights_changes_nothing():
    rng = np.random.default_rng(0)
    s = (rng.random(40_000) < 0.3).astype(int)
    scores = rng.normal(size=40_000) + s
    by_unit = [
        ScoreTable.from_arrays(s, scores, sample_weight=np.full(40_000, unit)).thin(2000)
        for unit in (1.0, 1e-6, 1e6)
    ]
    for table in by_unit:
        assert 500 < len(table.scores) <= 2003
        np.testing.assert_array_equal(table.scores, by_unit[0].scores)
        np.testing.assert_allclose(table.effective_sizes, by_unit[0].effective_sizes)


def test_rows_of_weight_zero_say_nothing():
    table = ScoreTable.from_arrays([1, 0, 0], [0.9, 0.1, 5.0], sample_weight=[1, 1, 0])
    assert table.score_range == (0.1, 0.9)


def test_known_negatives_join_the_unlabeled_rows_of_a_single_sample():
    table = ScoreTable.from_arrays([1, 0, -1, -1], [0.9, 0.5, 0.5, 0.1])
    one = table.with_negatives_folded_in("single-sample")
    assert (one.n_unlabeled, one.n_known, one.n_negative) == (3, 2, 0)
    two = table.with_negatives_folded_in("case-control")
    assert (two.n_unlabeled, two.n_known, len(two.scores)) == (1, 0, 2)


def test_known_negatives_count_as_rows_wherever_tables_go():
    table = ScoreTable.from_arrays([1, 0, -1, -1], [0.9, 0.5, 0.5, 0.1])
    one = table.with_negatives_folded_in("single-sample")
    assert one.effective_sizes == (1, 3)
    assert (one + one).n_known == 4


def test_merging_adds_the_information_of_weighted_rows():
    s, scores, weights = [1, 0, 0, 1], [1, 1, 2, 2], [2.0, 0.5, 1.0, 1.0]
    one = ScoreTable.from_arrays(s, scores, sample_weight=weights)
    np.testing.assert_allclose((one + one).effective_sizes, 2 * np.array(one.effective_sizes))


def test_weights():
    table = ScoreTable.from_arrays([1, 0, 0, 1], [1, 1, 2, 2], sample_weight=[2.0, 0.5, 1.0, 1.0])
    assert table.n_labeled == 3.0
    assert table.n_unlabeled == 1.5
    np.testing.assert_allclose(table.effective_sizes, (9 / 5, 1.5**2 / 1.25))
    plain = ScoreTable.from_arrays([1, 0, 0, 1], [1, 1, 2, 2])
    assert plain.effective_sizes == (2.0, 2.0)


def test_negative_zero_is_zero():
    assert len(ScoreTable.from_arrays([1, 0, 0], [0.0, -0.0, 1.0]).scores) == 2


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    n = 4000
    y = rng.random(n) < 0.4
    s = np.where(y & (rng.random(n) < 0.3), 1, 0)
    s[rng.random(n) < 0.02] = -1
    return s, np.round(rng.normal(size=n) + y, 3)


def frames(s, scores):
    import dask.dataframe as dd
    import duckdb

    frame = pd.DataFrame({"s": s, "p": scores})
    yield "pandas", frame
    yield "polars", pl.DataFrame({"s": s, "p": scores})
    yield "polars lazy", pl.LazyFrame({"s": s, "p": scores})
    yield "pyarrow", pa.table({"s": s, "p": scores})
    yield "duckdb", duckdb.sql("SELECT * FROM frame")
    yield "dask", dd.from_pandas(frame, npartitions=3)


def test_every_frame_gives_the_same_table(rows):
    expected = ScoreTable.from_arrays(*rows)
    for name, frame in frames(*rows):
        found = ScoreTable.from_frame(frame, label="s", score="p")
        assert repr(found) == repr(expected), name
        assert_same(found, expected)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "parquet"])
def test_files(rows, suffix, tmp_path):
    frame = pd.DataFrame({"s": rows[0], "p": rows[1]})
    path = tmp_path / f"odd \"name' & more.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    assert_same(ScoreTable.from_file(path, label="s", score="p"), ScoreTable.from_arrays(*rows))


def test_globs_and_awkward_column_names(rows, tmp_path):
    names = {"s": 'is "it"; DROP TABLE x', "p": "p's score"}
    frame = pd.DataFrame({"s": rows[0], "p": rows[1]}).rename(columns=names)
    for part in range(3):
        frame.iloc[part::3].to_parquet(tmp_path / f"part{part}.parquet")
    found = ScoreTable.from_file(tmp_path / "part*.parquet", label=names["s"], score=names["p"])
    assert_same(found, ScoreTable.from_arrays(*rows))


@pytest.mark.parametrize("batch", [7, 1000, 10**6])
def test_files_with_very_many_scores_have_the_bins_of_arrays(batch, tmp_path, monkeypatch):
    """Whatever the order of the rows, the ties, and how many of them pass by at once."""
    rng = np.random.default_rng(2)
    s = rng.choice([1, 0, -1], size=4000, p=[0.2, 0.7, 0.1])
    scores = np.round(rng.normal(size=4000), 3)
    scores[:300] = 1.5
    monkeypatch.setattr("recoup.scores.table.DEFAULT_BINS", 64)
    monkeypatch.setattr(counting, "MANY_SCORES", 100)
    monkeypatch.setattr(counting, "BATCH", batch)
    expected = ScoreTable.from_arrays(s, scores, bins=64, keep=[0.5, 0.1234])
    assert expected.thinned
    for order in (np.arange(4000), rng.permutation(4000)):
        pd.DataFrame({"s": s[order], "p": scores[order]}).to_parquet(tmp_path / "rows.parquet")
        path = tmp_path / "rows.parquet"
        found = ScoreTable.from_file(path, label="s", score="p", keep=[0.1234])
        assert_same(found, expected)


def test_files_with_very_many_scores_are_binned_in_the_engine(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    y = rng.random(60_000) < 0.3
    s = (y & (rng.random(60_000) < 0.2)).astype(int)
    scores = rng.normal(size=60_000) + y
    path = tmp_path / "many.parquet"
    pd.DataFrame({"s": s, "p": scores}).to_parquet(path)
    monkeypatch.setattr(counting, "MANY_SCORES", 1000)
    found = ScoreTable.from_file(path, label="s", score="p")
    full = ScoreTable.from_arrays(s, scores)
    assert found.thinned
    assert len(found.scores) < len(full.scores)
    assert found.n_labeled == full.n_labeled
    assert found.n_unlabeled == full.n_unlabeled
    assert abs(auc_pu(found) - auc_pu(full)) <= found.max_auc_error + 1e-12
    assert found.max_auc_error < 1e-4
    for threshold in found.scores[::500]:
        assert (
            found.unlabeled[found.scores >= threshold].sum()
            == ((s == 0) & (scores >= threshold)).sum()
        )


def test_rounding_in_the_engine(rows):
    s, scores = rows
    frame = pl.DataFrame({"s": s, "p": scores})
    found = ScoreTable.from_frame(frame, label="s", score="p", decimals=1)
    assert len(found.scores) < 120
    assert found.n_rows == len(s)


def test_frame_weights_and_boolean_labels(rows):
    s, scores = rows
    weights = np.linspace(0.5, 2, len(s))
    frame = pl.DataFrame({"s": s, "p": scores, "w": weights})
    found = ScoreTable.from_frame(frame, label="s", score="p", sample_weight="w")
    expected = ScoreTable.from_arrays(s, scores, sample_weight=weights)
    for name in COLUMNS:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    flags = pl.DataFrame({"s": s == 1, "p": scores})
    assert ScoreTable.from_frame(flags, label="s", score="p").n_labeled == (s == 1).sum()


@pytest.mark.parametrize(
    ("s", "scores", "words"),
    [
        ([1, 0, 2], [1, 2, 3], "2"),
        ([1, 0, 0], [1, np.nan, 2], "nan"),
        ([1, 0, 0], [1, np.inf, 2], "inf"),
        ([1, 0], [1, 2, 3], "2 and 3"),
        (["a", "b"], [1, 2], "Got 'a' in 2 of 2 rows"),
        ([1, 0], ["x", "y"], "x"),
        ([], [], "none"),
        ([1, 0], [[0.1, 0.9], [0.2, 0.8]], r"predict_proba\(X\)\[:, 1\]"),
    ],
)
def test_bad_arrays(s, scores, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        ScoreTable.from_arrays(s, scores)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"s": [1, 0], "q": [1.0, 2.0]}, "no column 'p'"),
        ({"s": [1, 3], "p": [1.0, 2.0]}, "3"),
        ({"s": [1, None], "p": [1.0, 2.0]}, "None"),
        ({"s": ["yes", "no"], "p": [1.0, 2.0]}, "yes"),
        ({"s": [1, 0], "p": ["a", "b"]}, "such as a"),
        ({"s": [1, 0, 0], "p": [1.0, None, 2.0]}, "nan"),
        ({"s": [1, 0, 0], "p": [1.0, float("inf"), 2.0]}, "inf"),
    ],
)
def test_bad_frames(frame, words):
    with pytest.raises(InvalidInputError, match=words):
        ScoreTable.from_frame(pl.DataFrame(frame), label="s", score="p")


def test_not_a_frame():
    with pytest.raises(InvalidInputError, match="from_arrays"):
        ScoreTable.from_frame([1, 2], label="s", score="p")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"s,p\n1,0.5\n0,abc\n", "'abc'"),
        (b"s,p\n1,0.5\n7,0.4\n0,0.1\n", "7"),
        (b"s,q\n1,0.5\n", "no column 'p'"),
        (b"s,p\n", "at least one row"),
        (b"s,p\n1,0.5\n0," + b"9" * 1_000_000 + b"\n", "finite|numbers"),
    ],
)
def test_bad_csv(content, words, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=words) as caught:
        ScoreTable.from_file(path, label="s", score="p")
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_bad_files(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file"):
        ScoreTable.from_file(tmp_path / "none.parquet", label="s", score="p")
    with pytest.raises(InvalidInputError, match="no such file"):
        ScoreTable.from_file(tmp_path / "none*.parquet", label="s", score="p")
    garbage = tmp_path / "garbage.parquet"
    garbage.write_bytes(b"this is not parquet at all")
    with pytest.raises(InvalidInputError, match="Cannot read"):
        ScoreTable.from_file(garbage, label="s", score="p")
    other = tmp_path / "scores.xlsx"
    other.write_bytes(b"x")
    with pytest.raises(InvalidInputError, match=r"reads \.parquet"):
        ScoreTable.from_file(other, label="s", score="p")


PARTS = [
    ([1, 0, 0, 1], [0.9, 0.1, 0.5, 0.5]),
    ([0, 0, 0], [0.2, 0.9, 0.1]),
    ([1, 1], [0.3, 0.9]),
    ([-1, -1], [0.1, 0.4]),
]


@pytest.mark.parametrize("way", ["arrays", "weights", "frame", "csv", "parquet"])
def test_parts_without_labeled_or_unlabeled_rows_add_up(way, tmp_path):
    def counted(s, scores):
        if way in ("arrays", "weights"):
            weights = np.full(len(s), 0.5) if way == "weights" else None
            return ScoreTable.from_arrays(s, scores, sample_weight=weights)
        frame = pl.DataFrame({"s": s, "p": scores})
        if way == "frame":
            return ScoreTable.from_frame(frame, label="s", score="p")
        path = tmp_path / f"part.{way}"
        getattr(frame, f"write_{way}")(path)
        return ScoreTable.from_file(path, label="s", score="p")

    whole = counted(*(np.concatenate(column) for column in zip(*PARTS, strict=True)))
    tables = [counted(*part) for part in PARTS]
    assert [table.n_labeled > 0 for table in tables] == [True, False, True, False]
    for order in (tables, tables[::-1]):
        assert_same(sum(order[1:], order[0]), whole)


@pytest.mark.parametrize("direct", [False, True])
def test_a_part_can_be_thinned_and_shown(direct):
    scores = np.random.default_rng(0).normal(size=5000)
    for label in (0, 1, -1):
        s = np.full(5000, label)
        full = ScoreTable.from_arrays(s, scores)
        thin = ScoreTable.from_arrays(s, scores, bins=100) if direct else full.thin(100)
        assert len(thin.scores) <= 100
        assert thin.n_rows == 5000
        assert thin.max_auc_error == 0
        assert (thin.heads("labeled") <= 1).all()
        assert str(thin).startswith("ScoreTable(")
        assert (thin + thin).n_rows == 10_000


@pytest.mark.parametrize("label", [0, 1])
def test_a_part_alone_is_not_evaluated(label):
    s, scores = np.full(50, label), np.arange(50.0)
    part = ScoreTable.from_arrays(s, scores)
    words = "needs labeled and unlabeled rows: performance is recovered from how they differ"
    for ask in (
        lambda: recoup.evaluate(part, alpha=0.2),
        lambda: recoup.evaluate(s, scores, alpha=0.2),
        lambda: recoup.priors.estimate(part),
        lambda: recoup.priors.estimate(s, scores),
        lambda: recoup.metrics.roc_auc(s, scores, alpha=0.2),
        lambda: recoup.metrics.accuracy(s, scores > 3, alpha=0.2),
        lambda: recoup.metrics.bounds.contingency_bounds(s, scores, alpha=0.2),
        lambda: auc_pu(part),
    ):
        with pytest.raises(InvalidInputError, match=words):
            ask()
