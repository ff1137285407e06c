"""Files: every row is read, as Python's csv module reads it, or the file is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from recoup.cli import app
from recoup.data.readers import read_columns, read_table
from recoup.exceptions import InvalidInputError
from recoup.metrics import roc_auc
from recoup.scores import ScoreTable

ROWS = [("a", 1, 0.75), ("b", 0, 0.25), ("c", 0, 0.5), ("d", 1, 0.875)]
HEADER = "id,s,p\n"


def lines(*rows, end="\n", by=","):
    return end.join([by.join(["id", "s", "p"]), *(by.join(map(str, row)) for row in rows), ""])


def with_id(text):
    return lines(*((text, s, p) for _, s, p in ROWS))


def refusal(make, *args, **options) -> str:
    with pytest.raises(InvalidInputError) as caught:
        make(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


SAME_ROWS = {
    "ids that begin like comments": with_id("#10007"),
    "some ids that begin like comments": lines((10007, 1, 0.75), ("#10008", 0, 0.5), (9, 0, 0.5)),
    "last ids that begin like comments": lines(
        *((f"{'#' * (i > 1500)}{i}", i % 2, i / 2000) for i in range(2000))
    ),
    "a header that begins like a comment": "#id,s,p\n" + with_id("x").removeprefix(HEADER),
    "other signs of comments": with_id("//7") + with_id("%7").removeprefix(HEADER),
    "ids with a quote inside": with_id('5" disk'),
    "ids with an apostrophe": with_id("O'Neil"),
    "ids that begin with an apostrophe": with_id("'neath"),
    "ids in apostrophes": with_id("'x'"),
    "quoted ids": with_id('"a, ""b"" c"'),
    "ids on two lines": with_id('"a\nb"'),
    "quoted headers": '"id","s","p"\n' + with_id("x").removeprefix(HEADER),
    "a header on two lines": '"i\nd",s,p\n' + with_id("x").removeprefix(HEADER),
    "semicolons in ids": with_id("a;b;c;d"),
    "tabs in ids": with_id("a\tb\tc"),
    "a semicolon in a header": "id,note;s;t,s,p\n" + "x,y,1,0.5\nx,y,0,0.25\n",
    "backslashes": with_id("c:\\new\\"),
    "empty ids": with_id(""),
    "words for nothing": with_id("NULL"),
    "ids that look like dates": with_id("2024-01-02"),
    "empty lines": "\n\n" + with_id("x").replace("\n", "\n\n"),
    "other line ends": lines(*ROWS, end="\r\n"),
    "old line ends": lines(*ROWS, end="\r"),
    "empty lines with other ends": "\r\n" + lines(*ROWS, end="\r\n\r\n"),
    "a mark of the byte order": "\ufeff" + lines(*ROWS),
    "a mark and a quote": '\ufeff"id",s,p\n' + with_id("x").removeprefix(HEADER),
    "no last line end": with_id("x").rstrip("\n"),
    "tabs": lines(*ROWS, by="\t"),
    "semicolons": lines(*ROWS, by=";"),
    "bars": lines(*ROWS, by="|"),
    "commas in a file of tabs": "id, or name\ts\tp\n" + "x\t1\t0.5\nx,y\t0\t0.25\n",
    "spaces around cells": "id, s , p\nx, 1, 0.5\nx, 0, 0.25\n",
    "other letters": with_id("Größe ☃"),
    "one row of each": lines(*ROWS[:2]),
    "a header of words over words": lines(*ROWS).replace("id", "first"),
    "many rows, then an odd one": with_id("x")
    + "x,0,0.5\n" * 30_000
    + '#7,1,0.25\n"y ""z""",0,0.5\n',
}


def expected_rows(text):
    text = text.removeprefix("\ufeff")
    by = delimiter_of(text)
    header, *rows = (row for row in csv.reader(io.StringIO(text, newline=""), delimiter=by) if row)
    names = [name.strip() for name in header]
    places = names.index("s"), names.index("p")
    return [tuple(float(row[place]) for place in places) for row in rows]


def delimiter_of(text):
    header = text.replace('"', "").replace(" ", "")
    return next(by for by in "\t;|," if f"s{by}p" in header)


@pytest.mark.parametrize("text", SAME_ROWS.values(), ids=SAME_ROWS.keys())
@pytest.mark.parametrize("packed", [False, True])
def test_every_row_of_a_csv_file_is_read(text, packed, tmp_path):
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = read_columns(path, ["s", "p"])
    expected = expected_rows(text)
    assert list(zip(found["s"], found["p"], strict=True)) == expected
    table = ScoreTable.from_file(path, label="s", score="p")
    assert table.n_labeled + table.n_unlabeled == len(expected)
    whole = read_table(str(path))
    assert {len(column) for column in whole.columns.values()} == {len(expected)}


REFUSED = {
    "a line before the header": ("made on Monday\n" + lines(*ROWS), "no column 's'"),
    "a comment before the header": ("# made by x\n" + lines(*ROWS), "no column 's'"),
    "no header": (lines(*ROWS).removeprefix(HEADER), "no column 's'"),
    "a short row": (lines(*ROWS) + "x,1\n" + "x,1,0.5\n", "Expected Number of Columns: 3"),
    "a short row far down": (lines(*ROWS) + "x,1,0.5\n" * 30_000 + "x,1\n", "Found: 2"),
    "a long row": (lines(*ROWS) + "x,1,0.5,7\n", "Found: 4"),
    "a comma in an id": (lines(*ROWS) + "x,y,1,0.5\n", "Found: 4"),
    "a quote that stays open": (lines(*ROWS) + '"x,1,0.5\ny,0,0.5\n', "quote"),
    "a quote that ends too early": (lines(*ROWS) + '"x"y,1,0.5\n', "quote"),
    "quotes after backslashes": (lines(*ROWS) + '"x \\"y\\"",1,0.5\n', "quote"),
    "line ends of two kinds": (lines(*ROWS, end="\r\n") + "x,1,0.5\n", "lines end alike"),
    "commas for points": (lines(("a", 1, "0,5"), ("b", 0, "0,25"), by=";"), "Got '0,25'"),
    "words for nothing": (lines(*ROWS) + "x,1,NA\n", "Got 'NA'"),
    "two columns of a name": ("id,s,p,p\nx,1,0.5,0.25\nx,0,0.5,0.75\n", "several columns 'p'"),
    "two columns up to spaces": ("id,s,p, p\nx,1,0.5,1\nx,0,0.5,0\n", "several columns 'p'"),
    "large whole numbers": (f"s,p\n1,{2**53 + 1}\n0,{2**53}\n", "below 2**53"),
    "long whole numbers": ("s,p\n1,-123456789012345678901\n0,1\n", "-123456789012345678901"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.parametrize("read", [ScoreTable.from_file, read_columns])
def test_a_csv_file_that_would_lose_rows_is_refused(read, text, words, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    if read is read_columns:
        message = refusal(read, path, ["s", "p"])
    else:
        message = refusal(read, path, label="s", score="p")
    assert words in message
    assert "rows.csv" in message
    assert "strict_mode" not in message


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_text_in_another_encoding_is_refused(encoding, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(with_id("é").encode(encoding))
    assert "UTF-8" in refusal(ScoreTable.from_file, path, label="s", score="p")
    assert "UTF-8" in refusal(read_table, str(path))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_of_a_file_may_differ_in_case(end, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(f"P,s,p{end}7,1,0.5{end}8,0,0.25{end}".encode())
    assert read_columns(path, ["s", "p"])["p"].tolist() == [0.5, 0.25]
    assert read_columns(path, ["s", "P"])["P"].tolist() == [7, 8]
    assert "differ in case" in refusal(read_columns, path, ["p", "P"])


# Names of files and folders

NAMES = ["rows[1]", "rows*", "rows?", "[rows]", "rows{1,2}", "it's", "a;b", "!rows", "ro ws"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_file_is_no_pattern(name, kind, tmp_path):
    good = pd.DataFrame({"s": [1, 0, 0], "p": [0.75, 0.25, 0.5]})
    decoy = pd.DataFrame({"s": [1, 0], "p": [0.1, 0.9]})
    for stem, frame in {"rows1": decoy, "rowsx": decoy, "r": decoy, name: good}.items():
        path = tmp_path / f"{stem}.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    path = tmp_path / f"{name}.{kind}"
    assert read_columns(path, ["p"])["p"].tolist() == [0.75, 0.25, 0.5]
    assert ScoreTable.from_file(path, label="s", score="p").scores.tolist() == [0.25, 0.5, 0.75]
    assert read_table(str(path)).typed("p").to_pylist() == [0.75, 0.25, 0.5]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_pattern_finds_names_with_brackets(kind, tmp_path):
    frame = pd.DataFrame({"s": [1, 0], "p": [0.75, 0.25]})
    for stem in ("a[1]", "a1", "b1"):
        path = tmp_path / f"{stem}.{kind}"
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    table = ScoreTable.from_file(tmp_path / f"a*.{kind}", label="s", score="p")
    assert (table.n_labeled, table.n_unlabeled) == (2, 2)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("pattern", ["rows.{}", "r*.{}"])
def test_the_name_of_a_folder_is_no_column(pattern, kind, tmp_path):
    folder = tmp_path / "p=0.5" / "q=1"
    folder.mkdir(parents=True)
    frame = pd.DataFrame({"s": [1, 0, 0], "p": [0.75, 0.25, 0.5]})
    path = folder / f"rows.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    wanted = folder / pattern.format(kind)
    assert read_columns(wanted, ["p"])["p"].tolist() == [0.75, 0.25, 0.5]
    assert ScoreTable.from_file(wanted, label="s", score="p").scores.tolist() == [0.25, 0.5, 0.75]
    assert "no column 'q'" in refusal(ScoreTable.from_file, wanted, label="s", score="q")
    assert list(read_table(str(path)).columns) == ["s", "p"]


# Columns of one name


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["s", "p", "p"], "several columns 'p'"),
        (["s", "s", "p"], "several columns 's'"),
        (["s", "p", "P"], "'p' and 'P'"),
    ],
)
def test_parquet_columns_of_one_name_are_refused(names, words, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table([[1, 0], [1, 0], [1, 0]], names=names), path)
    assert words in refusal(ScoreTable.from_file, path, label="s", score="p")
    assert words in refusal(read_columns, path, ["s", "p"])


def test_other_columns_of_one_name_do_no_harm(tmp_path):
    path = tmp_path / "rows.parquet"
    parts = [[{"p": 7}, {"p": 8}], [1, 0], [0.5, 0.25], [1, 2], [3, 4]]
    pq.write_table(pa.table(parts, names=["x", "s", "p", "y", "y"]), path)
    assert read_columns(path, ["s", "p"])["p"].tolist() == [0.5, 0.25]
    path = tmp_path / "rows.csv"
    path.write_text("y,s,p,y,,\n1,1,0.5,2,,\n1,0,0.25,2,,\n")
    assert read_columns(path, ["s", "p"])["p"].tolist() == [0.5, 0.25]


def in_dask(names, values):
    import dask.dataframe as dd

    return dd.from_pandas(pd.DataFrame(values, columns=names), npartitions=1)


TWICE = {
    "pandas": lambda names, values: pd.DataFrame(values, columns=names),
    "pyarrow": lambda names, values: pa.table(list(zip(*values, strict=True)), names=names),
    "duckdb": lambda names, values: duckdb.sql(
        "SELECT "
        + ", ".join(f'{value} AS "{name}"' for name, value in zip(names, values[0], strict=True))
    ),
    "dask": in_dask,
}


@pytest.mark.parametrize("make", TWICE.values(), ids=TWICE.keys())
def test_frames_with_columns_of_one_name_are_refused(make):
    frame = make(["s", "p", "p"], [[1, 0.5, 0.25], [0, 0.75, 1.0]])
    message = refusal(ScoreTable.from_frame, frame, label="s", score="p")
    assert "several columns 'p'" in message


def test_columns_that_duckdb_takes_for_one_are_refused():
    frame = duckdb.sql('SELECT 1 AS s, 0.5 AS "P", 0.25 AS p UNION ALL SELECT 0, 0.75, 1')
    assert "several columns 'p'" in refusal(ScoreTable.from_frame, frame, label="s", score="p")
    frame = pd.DataFrame({"s": [1, 0], "P": [0.5, 0.75], "p": [0.25, 1.0]})
    assert ScoreTable.from_frame(frame, label="s", score="p").scores.tolist() == [0.25, 1.0]


# Numbers that floats do not tell apart

BIG = 2**53
LARGE = {
    "whole": pa.array([BIG, BIG + 1, BIG + 2], pa.int64()),
    "negative": pa.array([-BIG, -BIG - 1, 0], pa.int64()),
    "unsigned": pa.array([2**63, 2**63 + 1, 0], pa.uint64()),
    "decimal": pa.array([Decimal("0.1"), Decimal("0." + "1" * 30), Decimal("0." + "1" * 29)]),
}
FRAMES = {
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
}


@pytest.mark.parametrize("values", LARGE.values(), ids=LARGE.keys())
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
def test_frames_with_numbers_that_would_tie_are_refused(make, values):
    frame = make(pa.table({"s": [1, 0, 0], "p": values}))
    assert "tell apart" in refusal(ScoreTable.from_frame, frame, label="s", score="p")


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES.keys())
@pytest.mark.parametrize(
    "values",
    [
        pa.array([BIG - 1, BIG - 2, 0], pa.int64()),
        pa.array([BIG - 1, BIG - 2, 0], pa.uint64()),
        pa.array([Decimal("0.25"), Decimal("0.5"), Decimal("0.125")]),
    ],
)
def test_frames_with_exact_numbers_are_taken(make, values):
    frame = make(pa.table({"s": [1, 0, 0], "p": values}))
    table = ScoreTable.from_frame(frame, label="s", score="p")
    assert table.scores.tolist() == sorted(float(value) for value in values.to_pylist())


@pytest.mark.parametrize("values", LARGE.values(), ids=LARGE.keys())
def test_parquet_files_with_numbers_that_would_tie_are_refused(values, tmp_path):
    pq.write_table(pa.table({"s": [1, 0, 0], "p": values}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"s": [1, 0], "p": [0.5, 0.25]}), tmp_path / "b.parquet")
    for name in ("a.parquet", "*.parquet"):
        path = tmp_path / name
        assert "tell apart" in refusal(ScoreTable.from_file, path, label="s", score="p")
        assert "tell apart" in refusal(read_columns, path, ["s", "p"])


def test_missing_whole_numbers_of_pandas_are_refused():
    frame = pd.DataFrame({"s": [1, 0, 0], "p": pd.array([1, None, 2], dtype="Int64")})
    assert "1 rows of column 'p'" in refusal(ScoreTable.from_frame, frame, label="s", score="p")


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[s]", "complex128"])
def test_frames_of_other_things_are_refused(kind):
    frame = pd.DataFrame({"s": [1, 0, 0], "p": np.array([1, 2, 3]).astype(kind)})
    assert "needs numbers in column 'p'" in refusal(
        ScoreTable.from_frame, frame, label="s", score="p"
    )


# Commands


def tickets(n=2000):
    rng = np.random.default_rng(3)
    s = (rng.random(n) < 0.3).astype(int)
    p = np.round(rng.random(n) * 0.7 + 0.3 * s, 4)
    ids = [f"{'#' * int(one > 0.6)}{place}" for place, one in enumerate(p)]
    return pd.DataFrame({"id": ids, "s": s, "p": p, "q": -p})


def run(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_commands_read_all_rows(tmp_path):
    rows = tickets()
    path = tmp_path / "p=0.5" / "rows[1].csv"
    path.parent.mkdir()
    rows.to_csv(path, index=False)
    tickets(50).to_csv(path.with_name("rows1.csv"), index=False)
    options = ["--label", "s", "--score", "p", "--json"]
    auc = roc_auc(rows["s"], rows["p"], alpha=0.1)
    found = run("evaluate", path, *options, "--alpha", "0.1", "--n-boot", "0")
    assert found["metrics"]["roc_auc"]["recovered"] == pytest.approx(auc)
    found = run("compare", path, *options, "--score", "q", "--alpha", "0.1", "--n-boot", "20")
    model = found["models"]["p"]
    assert model["metrics"]["roc_auc"]["recovered"] == pytest.approx(auc)
    found = run("prior", path, *options, "--method", "elkan-noto")
    assert found["n_labeled"] + found["n_unlabeled"] == len(rows)
    found = run("scar", path, *options, "--alpha", "0.1", "--n-resamples", "19")
    assert found["n_labeled"] + found["n_unlabeled"] == len(rows)


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "--score", "p", "--alpha", "0.1"],
        ["compare", "--score", "p", "--score", "q", "--alpha", "0.1"],
        ["prior", "--score", "p"],
        ["prior", "--features", "p"],
        ["scar", "--score", "p", "--alpha", "0.1"],
        ["scar", "--features", "p", "--alpha", "0.1"],
        ["fit", "--learner", "puet", "--out", "model"],
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_commands_refuse_columns_of_one_name(command, kind, tmp_path, monkeypatch):
    frame = tickets(100)
    path = tmp_path / f"rows.{kind}"
    table = pa.table([frame[name] for name in "spqp"], names=list("spqp"))
    if kind == "csv":
        path.write_text("s,p,q,p\n" + frame[list("spqp")].to_csv(index=False, header=False))
    else:
        pq.write_table(table, path)
    name, *options = command
    monkeypatch.chdir(tmp_path)
    found = CliRunner().invoke(app, [name, str(path), "--label", "s", *options])
    assert found.exit_code == 2
    assert "several columns 'p'" in " ".join(found.output.split())
