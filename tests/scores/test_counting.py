"""Counting in engines: the same answer, or the same refusal, from every one of them."""

from __future__ import annotations

import datetime
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from recoup.cli import app
from recoup.cli._features import read_labels
from recoup.data.readers import read_columns, read_table
from recoup.evaluation import evaluate  # takes DEFAULT_BINS before a test changes it
from recoup.exceptions import InvalidInputError
from recoup.priors import estimate
from recoup.scores import ScoreTable, counting


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
every_engine = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES.keys())


def refusal(make, *args, **options) -> str:
    with pytest.raises(InvalidInputError) as caught:
        make(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def write(path, text):
    path.write_text(text)
    return path


@pytest.fixture
def few_scores(monkeypatch):
    """Let small files take the way of files with millions of scores."""
    monkeypatch.setattr(counting, "MANY_SCORES", 100)


def many_rows(n=5000):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"s": (rng.random(n) < 0.3).astype(int), "p": rng.random(n)})


# Several files


def test_csv_files_are_joined_by_name(tmp_path):
    write(tmp_path / "a.csv", "s,p\n1,0.5\n0,0.25\n")
    write(tmp_path / "b.csv", "p,s\n0.75,1\n0.25,0\n")
    table = ScoreTable.from_file(tmp_path / "*.csv", label="s", score="p")
    assert table.scores.tolist() == [0.25, 0.5, 0.75]
    assert table.unlabeled.tolist() == [2, 0, 0]
    assert read_columns(tmp_path / "*.csv", ["p"])["p"].tolist() == [0.5, 0.25, 0.75, 0.25]


def test_parquet_files_are_joined_by_name(tmp_path):
    pd.DataFrame({"s": [1, 0], "p": [0.5, 0.25]}).to_parquet(tmp_path / "a.parquet")
    pd.DataFrame({"more": [1], "p": [0.25], "s": [0]}).to_parquet(tmp_path / "b.parquet")
    table = ScoreTable.from_file(tmp_path / "*.parquet", label="s", score="p")
    assert table.unlabeled.tolist() == [2, 0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("lacking", ["a", "b"])
def test_a_file_that_lacks_a_column_is_named(kind, lacking, tmp_path):
    for name in "ab":
        frame = pd.DataFrame({"s": [1, 0], ("pp" if name == lacking else "p"): [0.5, 0.25]})
        path = tmp_path / f"{name}.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    message = refusal(ScoreTable.from_file, tmp_path / f"*.{kind}", label="s", score="p")
    assert "no column 'p'" in message
    assert f"{lacking}.{kind}" in message
    assert "Did you mean 'pp'" in message


def test_an_empty_file_among_others_is_named(tmp_path):
    write(tmp_path / "a.csv", "")
    write(tmp_path / "b.csv", "s,p\n1,0.5\n0,0.25\n")
    assert "a.csv" in refusal(ScoreTable.from_file, tmp_path / "*.csv", label="s", score="p")


# Files with very many scores


@pytest.mark.parametrize("bad", [0.4, 1.5, 2.0, None, float("nan")])
def test_binning_refuses_labels_that_are_none(bad, few_scores, tmp_path):
    frame = many_rows().astype({"s": float})
    frame.loc[7, "s"] = bad
    frame.to_parquet(tmp_path / "rows.parquet")
    message = refusal(ScoreTable.from_file, tmp_path / "rows.parquet", label="s", score="p")
    assert "needs labels to be 1" in message
    assert "5,000 rows" in message


def test_binning_refuses_words_as_labels_and_missing_columns(few_scores, tmp_path):
    path = tmp_path / "rows.parquet"
    many_rows().astype({"s": str}).to_parquet(path)
    table = ScoreTable.from_file(path, label="s", score="p")
    many_rows().to_parquet(path)
    assert table.to_dict() == ScoreTable.from_file(path, label="s", score="p").to_dict()
    many_rows().replace({"s": {0: "hm", 1: "ah"}}).to_parquet(path)
    assert "Got 'hm'" in refusal(ScoreTable.from_file, path, label="s", score="p")
    message = refusal(ScoreTable.from_file, path, label="ss", score="p")
    assert "no column 'ss'" in message
    assert "Did you mean 's'" in message


def test_binning_takes_booleans_and_columns_named_like_its_own(few_scores, tmp_path):
    frame = many_rows()
    expected = ScoreTable.from_arrays(frame["s"], frame["p"])
    frame = pd.DataFrame({"rows": frame["s"] == 1, "label": frame["p"], "top": 1, "v": 2})
    frame.to_parquet(tmp_path / "rows.parquet")
    table = ScoreTable.from_file(tmp_path / "rows.parquet", label="rows", score="label")
    assert table.thinned
    assert table.n_labeled == expected.n_labeled
    assert table.n_unlabeled == expected.n_unlabeled


def test_binning_stays_exact_at_kept_thresholds(few_scores, tmp_path, monkeypatch):
    monkeypatch.setattr("recoup.scores.table.DEFAULT_BINS", 16)
    rows = many_rows()
    rows.to_parquet(tmp_path / "rows.parquet")
    keep = [0.123, 0.4567, -3.0, 7.0, float("nan")]
    table = ScoreTable.from_file(tmp_path / "rows.parquet", label="s", score="p", keep=keep)
    assert table.thinned
    assert len(table.scores) < 40
    for threshold in [0.5, *keep[:-1]]:
        for group, label in (("labeled", 1), ("unlabeled", 0)):
            above = getattr(table, group)[table.scores >= threshold].sum()
            assert above == ((rows["s"] == label) & (rows["p"] >= threshold)).sum()
    assert table.holds_probabilities
    assert (table.labeled + table.unlabeled + table.negative > 0).all()


def test_the_command_keeps_its_threshold_exact(few_scores, tmp_path, monkeypatch):
    monkeypatch.setattr("recoup.scores.table.DEFAULT_BINS", 16)
    rows = many_rows()
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path)
    options = ["--label", "s", "--score", "p", "--alpha", "0.1", "--n-boot", "0", "--json"]
    found = CliRunner().invoke(app, ["evaluate", str(path), *options, "--threshold", "0.4567"])
    recall = json.loads(found.stdout)["metrics"]["recall"]["pu"]
    assert recall == pytest.approx((rows["p"][rows["s"] == 1] >= 0.4567).mean(), abs=1e-12)


# Weights


@every_engine
@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), -1.0])
def test_bad_weights_are_counted(make, bad):
    columns = {"s": [1, 0, 0, 1], "p": [0.5, 0.25, 0.5, 0.25], "w": [1.0, bad, 2.0, bad]}
    frame = make(columns)
    message = refusal(ScoreTable.from_frame, frame, label="s", score="p", sample_weight="w")
    assert "2 of 4 rows" in message
    assert "'w'" in message


# Rounding


@every_engine
def test_rounding_is_half_up_in_every_engine(make):
    scores = [0.25, 0.35, 0.05, -0.25, -0.04, 3.0, 1e300, 0.3]
    frame = make({"s": [1, 0] * 4, "p": scores})
    table = ScoreTable.from_frame(frame, label="s", score="p", decimals=1)
    assert table.scores.tolist() == [-0.2, 0.0, 0.1, 0.3, 0.4, 3.0, 1e300]


@every_engine
@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_rounding_still_refuses_scores_that_are_none(make, bad):
    frame = make({"s": [1, 0, 0], "p": [0.25, bad, 0.5]})
    message = refusal(ScoreTable.from_frame, frame, label="s", score="p", decimals=2)
    assert "1 rows of column 'p'" in message


@pytest.mark.parametrize("decimals", [-1, 16])
def test_decimals_out_of_range(decimals):
    frame = pl.DataFrame({"s": [1, 0], "p": [0.25, 0.5]})
    message = refusal(ScoreTable.from_frame, frame, label="s", score="p", decimals=decimals)
    assert "between 0 and 15" in message


# Booleans


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_csv_labels_may_be_true_and_false(words, tmp_path):
    yes, no = words
    path = write(tmp_path / "a.csv", f"s,p\n{yes},0.5\n{no},0.25\n{no},0.5\n")
    table = ScoreTable.from_file(path, label="s", score="p")
    assert (table.n_labeled, table.n_unlabeled) == (1, 2)


def test_csv_columns_are_boolean_or_numeric_but_not_both(tmp_path):
    path = write(tmp_path / "a.csv", "s,p\n1,0.5\n0,True\n")
    assert "Got 'True'" in refusal(ScoreTable.from_file, path, label="s", score="p")
    path = write(tmp_path / "b.csv", "s,p\nTrue,0.5\n,0.25\nFalse,0.1\n")
    assert "Got False beside no value" in refusal(ScoreTable.from_file, path, label="s", score="p")


@every_engine
def test_boolean_scores(make):
    columns = {"s": [1, 0, 0], "p": [True, False, True]}
    expected = ScoreTable.from_arrays(columns["s"], columns["p"])
    table = ScoreTable.from_frame(make(columns), label="s", score="p")
    assert table.to_dict() == expected.to_dict()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_boolean_scores_of_files(kind, tmp_path):
    frame = pd.DataFrame({"s": [True, False, False], "p": [True, False, True]})
    path = tmp_path / f"a.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    table = ScoreTable.from_file(path, label="s", score="p")
    assert table.to_dict() == ScoreTable.from_arrays(frame["s"], frame["p"]).to_dict()


# Awkward frames


# Labels by any spelling

SPELLINGS = {
    "numbers as text": ["1", "0", "0", "-1", "1"],
    "decimals as text": ["1.0", "0.0", "0.", "-1.0", "01"],
    "spaces": [" 1", "0 ", "0", "-1\t", "+1"],
    "exponents": ["1.000e+00", "0.000e+00", "0e0", "-1.000e+00", "1e0"],
    "words": ["True", "False", "false", "-1", "TRUE"],
}
NO_LABELS = {
    "yes and no": (["yes", "no", "no", "yes", "no"], 5),
    "some words": (["1", "0", "maybe", "0", "maybe"], 2),
    "other numbers": (["1", "0", "2", "10", "0.5"], 3),
    "blanks": (["1", "0", "", " ", "0"], 2),
    "missing": (["1", "0", None, "0", "1"], 1),
    "nearly": (["1x", "0", "true!", "1 0", "--1"], 4),
}
SAID = [1, 0, 0, -1, 1]
P = [0.5, 0.25, 0.125, 0.75, 0.625]


def write_rows(s, kind, folder):
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pd.DataFrame({"s": s, "p": P}).to_parquet(path)
    elif kind == "jsonl":
        rows = ({"s": label, "p": score} for label, score in zip(s, P, strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pd.DataFrame({"s": s, "p": P}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("s", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_text_labels_of_files(s, kind, tmp_path, monkeypatch):
    path = write_rows(s, kind, tmp_path)
    expected = ScoreTable.from_arrays(SAID, P).to_dict()
    assert ScoreTable.from_file(path, label="s", score="p").to_dict() == expected
    assert read_columns(path, ["s", "p"], "s")["s"].tolist() == SAID
    assert read_labels(read_table(path), "s", "test").tolist() == SAID
    monkeypatch.setattr(counting, "MANY_SCORES", 1)
    assert ScoreTable.from_file(path, label="s", score="p").n_labeled == 2


@every_engine
@pytest.mark.parametrize("s", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_text_labels_of_frames(s, make):
    table = ScoreTable.from_frame(make({"s": s, "p": P}), label="s", score="p")
    assert table.to_dict() == ScoreTable.from_arrays(SAID, P).to_dict()


@pytest.mark.parametrize("s", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize(
    "convert",
    [list, np.array, lambda s: np.array(s, object), lambda s: np.array(s, "S"), pd.Categorical],
)
def test_text_labels_of_arrays(s, convert):
    expected = ScoreTable.from_arrays(SAID, P).to_dict()
    assert ScoreTable.from_arrays(convert(s), P).to_dict() == expected


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["1", "0", "0"], dtype="category"),
        pd.Series([True, False, False], dtype="category"),
        pd.Series([1, 0, 0], dtype="category"),
        pd.Series([1, 0, 0], dtype=object, index=[7, 7, 3]),
        pd.Series([True, "0", 0.0], dtype=object),
        pl.Series(["1", "0", "0"], dtype=pl.Enum(["0", "1"])),
        pl.Series(["1", "0", "0"], dtype=pl.Categorical),
        pa.array(["1", "0", "0"]).dictionary_encode(),
    ],
)
def test_categories_and_objects_are_labels_by_what_they_hold(labels):
    make = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(labels), pa.table)
    p = [0.5, 0.25, 0.1] if make is not pd.DataFrame else pd.Series([0.5, 0.25, 0.1], labels.index)
    frame = make({"s": labels, "p": p} if make is not pd.DataFrame else {"p": p, "s": labels})
    table = ScoreTable.from_frame(frame, label="s", score="p")
    assert table.to_dict() == ScoreTable.from_arrays([1, 0, 0], [0.5, 0.25, 0.1]).to_dict()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_other_codings_in_files(kind, tmp_path):
    codings = {
        "yes and no": (["yes", "no", "no", "yes", "no"], {}, [1, 0, 0, 1, 0]),
        "one and nothing": ([1, None, None, 1, None], {}, [1, 0, 0, 1, 0]),
        "words": (["bad", "ok", None, "bad", "?"], {"positive": ["bad"]}, [1, 0, 0, 1, 0]),
        "0 is negative": (["1", "0", None, "1", "0"], {"negative": ["0"]}, [1, -1, 0, 1, -1]),
    }
    for s, told, expected in codings.values():
        path = write_rows(s, kind, tmp_path)
        table = ScoreTable.from_file(path, label="s", score="p", **told)
        assert table.to_dict() == ScoreTable.from_arrays(expected, P).to_dict()
        assert read_labels(read_table(path), "s", "test", **told).tolist() == expected


@pytest.mark.parametrize(
    ("s", "n_bad"), list(NO_LABELS.values())[1:], ids=list(NO_LABELS.keys())[1:]
)
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_text_of_files_that_is_no_label(s, n_bad, kind, tmp_path):
    path = write_rows(s, kind, tmp_path)
    for read in (
        lambda: ScoreTable.from_file(path, label="s", score="p"),
        lambda: read_columns(path, ["s", "p"], "s"),
        lambda: read_labels(read_table(path), "s", "test"),
    ):
        message = refusal(read)
        assert "needs labels to be 1" in message
        assert f"in {n_bad} of 5 rows" in message


@every_engine
@pytest.mark.parametrize(("s", "n_bad"), NO_LABELS.values(), ids=NO_LABELS.keys())
def test_text_of_frames_and_arrays_that_is_no_label(s, n_bad, make):
    frame = make({"s": s, "p": P})
    words = f"in {n_bad} of 5 rows"
    assert words in refusal(ScoreTable.from_frame, frame, label="s", score="p")
    assert words in refusal(ScoreTable.from_arrays, s, P)


@every_engine
def test_numbers_that_are_no_label_are_counted(make):
    frame = make({"s": [1, 0, 2, 0, 3], "p": P})
    assert "in 2 of 5 rows" in refusal(ScoreTable.from_frame, frame, label="s", score="p")
    assert "in 2 of 5 rows" in refusal(ScoreTable.from_arrays, [1, 0, 2, 0, 3], P)


def test_numbers_of_many_rows_that_are_no_label_are_counted(few_scores, tmp_path):
    rows = many_rows()
    rows.loc[rows.index[:7], "s"] = 5
    rows.to_parquet(tmp_path / "rows.parquet")
    message = refusal(ScoreTable.from_file, tmp_path / "rows.parquet", label="s", score="p")
    assert "in 7 of 5,000 rows" in message


def test_columns_of_another_type_are_named_with_it():
    days = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
    frame = pa.table({"s": days, "p": [0.5, 0.25, 0.1]})
    message = refusal(ScoreTable.from_frame, frame, label="s", score="p")
    assert "of type Date in 3 of 3 rows" in message


@every_engine
def test_missing_labels(make):
    frame = make({"s": [1, 0, None], "p": [0.5, 0.25, 0.1]})
    message = refusal(ScoreTable.from_frame, frame, label="s", score="p")
    assert "needs labels to be 1" in message
    assert "in 1 of 3 rows" in message


@every_engine
def test_one_row(make):
    frame = make({"s": [1], "p": [0.5]})
    table = ScoreTable.from_frame(frame, label="s", score="p")
    assert (table.n_labeled, table.n_unlabeled, table.scores.tolist()) == (1.0, 0.0, [0.5])
    assert "0 unlabeled" in refusal(evaluate, table, alpha=0.3)
    assert "0 unlabeled" in refusal(estimate, table)


@every_engine
@pytest.mark.parametrize(
    ("label", "score", "weight"),
    [
        ("label", "score", "weight"),
        ("score", "weight", "label"),
        ("weight", "label", "score"),
        ("labeled", "known", "rows"),
        ("unlabeled", "negative", "labeled_squares"),
        ("usable", "labeled", "known"),
        ("known", "rows", "usable"),
        ("rows", "unlabeled", "negative"),
    ],
)
def test_columns_may_have_any_name(make, label, score, weight):
    s, scores, weights = [1, 0, 0, -1], [0.5, 0.25, 0.5, 0.125], [1.0, 2.0, 0.5, 1.0]
    frame = make({label: s, score: scores, weight: weights, "extra": [9, 9, 9, 9]})
    for options, sample_weight in (({}, None), ({"sample_weight": weight}, weights)):
        table = ScoreTable.from_frame(frame, label=label, score=score, **options)
        expected = ScoreTable.from_arrays(s, scores, sample_weight=sample_weight)
        assert table.to_dict() == expected.to_dict()
        for group in ("labeled", "unlabeled", "negative"):
            squares = table.squares_of(group), expected.squares_of(group)
            np.testing.assert_allclose(*squares)
