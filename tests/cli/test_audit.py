"""recoup audit: from a file to rows to check, and back."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from recoup import load_example
from recoup.cli import app

SCORED = ("--score", "p", "--label", "flagged", "--id", "id")


def run(*args):
    return CliRunner().invoke(app, ["audit", *map(str, args)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example as a file, and a first round that was filled in by a spreadsheet."""
    found = tmp_path_factory.mktemp("audit")
    example = load_example()
    ids = [f"m{place}" for place in range(len(example.s))]
    pd.DataFrame({"id": ids, "p": example.scores["score_boosting"], "flagged": example.s}).to_csv(
        found / "scores.csv", index=False
    )
    planned = run("plan", found / "scores.csv", *SCORED, "--budget", 80, "--out", found / "a.csv")
    assert planned.exit_code == 0, planned.output
    fill(found / "a.csv")
    return found


def fill(path):
    truth = load_example().y_true
    rows = pd.read_csv(path)
    rows["answer"] = ["Yes" if truth[int(one[1:])] else "no" for one in rows["id"]]
    rows["by"] = "Ann"
    rows = rows.sample(frac=1, random_state=0)
    rows.to_csv(path, index=False, sep=";", encoding="utf-8-sig", lineterminator="\r\n")


def test_two_rounds_and_a_page(folder):
    scored = folder / "scores.csv"
    more = run("next", scored, folder / "a.csv", *SCORED, "--out", folder / "b.csv")
    assert more.exit_code == 0, more.output
    fill(folder / "b.csv")
    checked = (folder / "a.csv", folder / "b.csv")
    page = folder / "page.html"
    found = run("evaluate", scored, *checked, *SCORED, "--json", "--report", page)
    assert found.exit_code == 0, found.output
    audit = json.loads(found.stdout)["audit"]
    example = load_example()
    assert audit["n_checked"] == 80
    alpha = audit["alpha"]
    assert alpha["lower"] <= example.y_true[example.s == 0].mean() <= alpha["upper"]
    assert "Checked by hand" in page.read_text()
    shown = run("evaluate", scored, *checked, *SCORED)
    assert "From labels" in shown.output
    assert "80 rows checked" in shown.output
    late = run("evaluate", scored, folder / "b.csv", *SCORED)
    assert late.exit_code == 2
    assert "first round first" in late.output


def changed_plan(folder):
    facts = json.loads((folder / "a.plan.json").read_text())
    return json.dumps(facts | {"seed": 7})


@pytest.mark.parametrize(
    ("rows", "facts", "words"),
    [
        (lambda text: text.replace(";Yes", ";maybe"), None, "'maybe'"),
        (lambda text: "\n".join(text.splitlines()[:-3]) + "\n", None, "every row of the plan"),
        (lambda text: text + text.splitlines()[-1] + "\n", None, "every row once"),
        (lambda text: text.replace("m", "x"), None, "ids of the plan"),
        (lambda text: text, changed_plan, "was changed"),
        (lambda text: text, lambda folder: "{", "is no plan"),
        (lambda text: text, lambda folder: "", "is no plan"),
    ],
)
def test_files_that_were_changed_are_refused_in_one_line(folder, tmp_path, rows, facts, words):
    text = (folder / "a.csv").read_text(encoding="utf-8-sig")
    (tmp_path / "a.csv").write_text(rows(text))
    beside = (folder / "a.plan.json").read_text() if facts is None else facts(folder)
    (tmp_path / "a.plan.json").write_text(beside)
    page = tmp_path / "page.html"
    found = run("evaluate", folder / "scores.csv", tmp_path / "a.csv", *SCORED, "--report", page)
    assert found.exit_code == 2
    assert words in found.output
    assert len(found.output.strip().splitlines()) == 1
    assert not page.exists()


def test_a_plan_of_another_file_is_refused(folder, tmp_path):
    rows = pd.read_csv(folder / "scores.csv")
    rows["p"] = np.roll(rows["p"], 1)
    rows.to_csv(tmp_path / "other.csv", index=False)
    found = run("evaluate", tmp_path / "other.csv", folder / "a.csv", *SCORED)
    assert found.exit_code == 2
    assert "another file" in found.output


def test_a_goal_that_is_none(folder, tmp_path):
    out = tmp_path / "x.csv"
    found = run("plan", folder / "scores.csv", *SCORED, "--goal", "precision", "--out", out)
    assert found.exit_code == 2
    assert "METRIC=HALFWIDTH" in found.output
    assert not out.exists()
