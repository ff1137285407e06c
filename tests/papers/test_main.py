"""python -m papers."""

import json

import pytest
from typer.testing import CliRunner

from commands import assert_one_line
from papers import papers
from papers.__main__ import app


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


TINY = ["ramola2019", "--tiny", "--jobs", "1"]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A folder with a finished experiment."""
    folder = tmp_path_factory.mktemp("done")
    result = run(*TINY, "--out", folder)
    assert result.exit_code == 0, result.stderr
    return folder, result


@pytest.fixture
def folder(tmp_path, monkeypatch, no_tables):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path))
    return tmp_path


def test_verdicts_are_printed(done):
    out, result = done
    assert result.stderr == ""
    text = " ".join(result.stdout.split())
    assert "Two Gaussians in closed form" in text
    assert "cannot be told" in text
    assert "2 runs, " in text
    assert f"Wrote {out / 'index.md'}" in result.stdout.replace("\n", "")
    assert (out / "index.md").read_text().startswith("# Estimating classification accuracy")


def test_a_second_start_takes_what_is_there(done):
    out, _ = done
    before = (out / "index.md").read_bytes()
    result = run(*TINY, "--out", out)
    assert "2 runs, 2 of them kept from before" in " ".join(result.stdout.split())
    assert (out / "index.md").read_bytes() == before


def test_json_is_json_alone(done):
    out, _ = done
    result = run(*TINY, "--out", out, "--json")
    found = json.loads(result.stdout)
    assert (found["key"], found["size"], found["n_new"]) == ("ramola2019", "tiny", 0)
    assert found["claims"][0]["verdict"] == "holds"
    assert found["claims"][0]["effect"]["unit"] == "off the printed figures at most"


def test_a_page_is_made_from_what_was_measured(done, tmp_path):
    out, _ = done
    before = (out / "index.md").read_text()
    result = run("ramola2019", "--from", out / "results.parquet", "--out", tmp_path / "again")
    assert result.exit_code == 0, result.stderr
    again = tmp_path / "again"
    assert (again / "index.md").read_text() == before
    assert (again / "verdicts.json").read_bytes() == (out / "verdicts.json").read_bytes()
    assert not (again / "runs.sqlite").exists()
    assert "2 runs, 2 of them kept" in " ".join(result.stdout.split())


def test_papers_are_listed():
    listed = run()
    assert listed.exit_code == 0
    assert all(key in listed.stdout for key in papers())
    rows = json.loads(run("--json").stdout)
    assert [row["key"] for row in rows] == papers()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["ramola2091"], "Did you mean 'ramola2019'?"),
        (["--full"], "needs the key of a paper"),
        (["ramola2019", "--quick", "--full"], "takes one size. Got --quick and --full"),
        (["ramola2019", "--from", "file"], "reproduce --from needs the results.parquet"),
        (["ramola2019", "--from", "file", "--full"], "measures nothing"),
        (["ramola2019", "--jobs", "0"], "--jobs"),
        (["ramola2019"], "reproduce ramola2019 needs at least one of the datasets"),
        (["ramola2019", "--tiny", "--out", "file"], "cannot write to the folder file"),
    ],
)
def test_bad_input_ends_in_one_line(folder, args, words):
    (folder / "file").write_text("")
    before = sorted(folder.rglob("*"))
    assert_one_line(run(*args), words, folder, before)


def test_a_page_that_somebody_else_wrote_is_kept(tmp_path):
    theirs = tmp_path / "index.md"
    theirs.write_text("mine")
    result = run(*TINY, "--out", tmp_path)
    assert result.exit_code == 2
    assert "index.md would be overwritten" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["index.md"]
    assert theirs.read_text() == "mine"
