"""Every command takes every kind of file, one or several of them, and gives the same numbers."""

import gzip
import json
import shlex
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from commands import assert_one_line, run

N_ROWS = 160


@cache
def rows():
    rng = np.random.default_rng(5)
    s = (rng.random(N_ROWS) < 0.3).astype(int)
    return pd.DataFrame(
        {
            "flag": s,
            "p": np.round(rng.random(N_ROWS) * 0.8 + 0.2 * s, 3),
            "q": np.round(rng.normal(s), 3),
            "x": rng.integers(0, 50, N_ROWS),
            "kind": np.where(rng.random(N_ROWS) < 0.4, 'O\'Neil, "é"', "#b"),
            "late": rng.random(N_ROWS) < 0.5,
            "gap": np.where(rng.random(N_ROWS) < 0.1, np.nan, rng.integers(0, 9, N_ROWS)),
            "y": np.where(s | (rng.random(N_ROWS) < 0.3), "pos", "neg"),
        }
    )


def packed(write):
    return lambda frame, path: Path(path).write_bytes(gzip.compress(write(frame).encode()))


def plain(write):
    return lambda frame, path: Path(path).write_text(write(frame), encoding="utf-8")


def as_csv(frame):
    return frame.to_csv(index=False)


def as_tsv(frame):
    return frame.to_csv(index=False, sep="\t")


def as_json_lines(frame):
    return frame.to_json(orient="records", lines=True)


WRITERS = {
    "csv": plain(as_csv),
    "tsv": plain(as_tsv),
    "csv.gz": packed(as_csv),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "jsonl": plain(as_json_lines),
    "ndjson.gz": packed(as_json_lines),
}
FAST = ["--set", "epochs=1", "--alpha", "0.3", "--learner", "nnpu"]
COMMANDS = {
    "evaluate": "evaluate {} --label flag --score p --weight x --alpha 0.2 --n-boot 20",
    "compare": "compare {} --label flag --score p --score q --alpha 0.2 --n-boot 20",
    "prior": "prior {} --label flag --score p --method elkan-noto",
    "prior by columns": "prior {} --label flag --features x --features kind --method elkan-noto",
    "scar": "scar {} --label flag --score p --alpha 0.2 --n-resamples 19",
    "scar by columns": "scar {} --label flag --features gap --features late --alpha 0.2 "
    "--n-resamples 19",
    "fit": "fit {} --label flag --learner nnpu --set epochs=1 --alpha 0.3 --out model "
    "--scores scored.csv",
    "score": "score trained {} --out scored.csv",
    "simulate": "simulate {} --label y --positive pos --n-labeled 20 --mechanism s2 --features p "
    "--features kind --features gap --out pu.parquet --truth truth.csv",
}
OUTPUTS = ("model/columns.json", "model/learner.safetensors", "scored.csv", "truth.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch, trained):
    monkeypatch.chdir(tmp_path)
    Path("trained").symlink_to(trained)
    return tmp_path


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    rows().to_parquet(folder / "rows.parquet")
    options = [
        "--label",
        "flag",
        "--features",
        "q",
        "--features",
        "kind",
        "--features",
        "gap",
        *FAST,
    ]
    done = run("fit", folder / "rows.parquet", *options, "--out", folder / "model")
    assert done.exit_code == 0, done.output
    return folder / "model"


def numbers(command, source):
    """What a command says, and what it writes."""
    done = run(*(word.format(source) for word in COMMANDS[command].split()), "--json")
    assert done.exit_code == 0, done.output
    files = {name: Path(name).read_bytes() for name in OUTPUTS if Path(name).is_file()}
    if Path("pu.parquet").is_file():
        files["pu.parquet"] = pq.read_table("pu.parquet").to_pydict()
        # Missing numbers equal nothing, not even themselves.
        files["pu.parquet"]["gap"] = list(map(str, files["pu.parquet"]["gap"]))
    if "scored.csv" in files:
        scored = pd.read_csv("scored.csv", dtype={"late": str})
        files["scored.csv"] = scored.assign(late=scored["late"].str.lower()).to_csv()
    said = json.loads(done.stdout)
    said.pop("seconds", None)
    if "next_step" in said:  # its command names the file
        told = said["next_step"]["command"]
        said["next_step"]["command"] = told and told.replace(shlex.quote(source), "FILE")
    return said, files


@pytest.fixture(scope="module")
def expected(tmp_path_factory, trained):
    """The numbers of each command from one Parquet file."""

    @cache
    def of(command):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path_factory.mktemp("expected"))
            Path("trained").symlink_to(trained)
            rows().to_parquet("rows.parquet")
            return numbers(command, "rows.parquet")

    return of


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("several", [False, True], ids=["one file", "two files"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_numbers_from_every_kind_of_file(command, several, kind, expected, folder):
    source = f"rows.{kind}"
    if several:
        source = f"part*.{kind}"
        WRITERS[kind](rows()[:70], f"part1.{kind}")
        # Columns are found by name, not by place.
        WRITERS[kind](rows()[70:][rows().columns[::-1]], f"part2.{kind}")
        WRITERS[kind](rows()[:9], f"other.{kind}")
    else:
        WRITERS[kind](rows(), source)
    assert numbers(command, source) == expected(command)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("command", ["evaluate", "compare", "scar by columns"])
@pytest.mark.parametrize(
    "write",
    [lambda s: s.astype(str), lambda s: s == 1, lambda s: (s == 1).astype(str), lambda s: s * 1.0],
    ids=["text", "booleans", "text of booleans", "floats"],
)
def test_labels_are_read_alike_from_every_kind_of_file(write, command, kind, expected, folder):
    frame = rows()
    WRITERS[kind](frame.assign(flag=write(frame["flag"])), f"rows.{kind}")
    assert numbers(command, f"rows.{kind}") == expected(command)


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name not in ("score", "simulate")]
)
def test_labels_that_are_none_are_refused_in_every_kind_of_file(command, kind, folder):
    WRITERS[kind](rows().assign(flag=np.where(rows()["flag"], "ah", "hm")), f"rows.{kind}")
    words = [word.format(f"rows.{kind}") for word in COMMANDS[command].split()]
    before = sorted(folder.rglob("*"))
    assert_one_line(run(*words, "--json"), "hm", folder, before)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_read_is_refused_alike_by_every_command(command, folder):
    Path("a.csv").write_text(as_csv(rows()))
    rows().to_parquet("a.parquet")
    Path("broken.jsonl").write_text('{"s": 1, "p": 0.5}\n{"s": 0,\n')
    Path("list.jsonl").write_text('{"s": 1, "p": 0.5}\n[1, 2]\n')
    Path("twice.jsonl").write_text('{"s": 1, "p": 0.5, "p": 1}\n')
    Path("half.csv.gz").write_bytes(gzip.compress(as_csv(rows()).encode())[:200])
    Path("book.xlsx").write_bytes(b"PK")
    Path("blank.csv").write_text("\n\n")
    Path("empty.jsonl").write_text("")
    before = sorted(folder.rglob("*"))
    for source, text in {
        "none*.csv": "Cannot find none*.csv: no such file",
        "a.*": "one kind at a time",
        "book.xlsx": "recoup reads .parquet, .csv and .tsv files and JSON lines",
        "broken.jsonl": "Cannot read broken.jsonl",
        "list.jsonl": "one object per line",
        "twice.jsonl": "several columns 'p'",
        "half.csv.gz": "Cannot read half.csv.gz",
        "blank.csv": "no line with the names of its columns",
        "empty.jsonl": "the file is empty",
    }.items():
        words = [word.format(source) for word in COMMANDS[command].split()]
        assert_one_line(run(*words), text, folder, before)


def test_files_with_other_columns_are_no_part_of_a_table(folder):
    rows().to_parquet("a.parquet")
    rows().drop(columns="x").to_parquet("b.parquet")
    before = sorted(folder.rglob("*"))
    found = run(*COMMANDS["fit"].format("*.parquet").split())
    assert_one_line(found, "a.parquet has a column 'x', and b.parquet has none", folder, before)


def test_rows_that_a_pattern_matches_are_not_overwritten(folder):
    rows().to_csv("part1.csv", index=False)
    before = sorted(folder.rglob("*"))
    found = run("score", "trained", "part*.csv", "--out", "part1.csv")
    assert_one_line(found, "would overwrite the rows", folder, before)


def test_rows_of_a_text_file_become_typed_columns(folder):
    Path("rows.csv").write_text(as_csv(rows()))
    assert run("score", "trained", "rows.csv", "--out", "scored.parquet").exit_code == 0
    kinds = {field.name: str(field.type) for field in pq.read_schema("scored.parquet")}
    assert (kinds["flag"], kinds["p"], kinds["kind"], kinds["late"]) == (
        *("int64", "double", "string", "bool"),
    )
    options = ["--label", "flag", "--score", "score", "--alpha", "0.2", "--n-boot", "0"]
    assert run("evaluate", "scored.parquet", *options).exit_code == 0
