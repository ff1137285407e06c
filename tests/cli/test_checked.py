"""--checked: compare and prior with rows that were checked by hand."""

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from recoup import load_example
from recoup.cli import app

MODELS = ("--score", "q", "--score", "p", "--label", "flagged")


def run(*args):
    return CliRunner().invoke(app, [*map(str, args)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example as a file, and one round of answers, drawn by one of its two models."""
    found = tmp_path_factory.mktemp("checked")
    example = load_example()
    columns = {
        "p": example.scores["score_boosting"],
        "q": example.scores["score_logistic"],
        "flagged": example.s,
    }
    pd.DataFrame(columns).to_csv(found / "scores.csv", index=False)
    options = ("--budget", 60, "--waves", 1, "--out", found / "a.csv")
    planned = run(
        "audit", "plan", found / "scores.csv", "--score", "p", "--label", "flagged", *options
    )
    assert planned.exit_code == 0, planned.output
    rows = pd.read_csv(found / "a.csv")
    rows["answer"] = example.y_true[rows["id"]]
    rows.to_csv(found / "a.csv", index=False)
    return found


def test_models_are_compared_by_checked_rows(folder):
    page = folder / "page.html"
    options = ("--checked", folder / "a.csv", "--n-boot", 0)
    found = run("compare", folder / "scores.csv", *MODELS, *options, "--json", "--report", page)
    assert found.exit_code == 0, found.output
    audit = json.loads(found.stdout)["audit"]
    assert audit["n_checked"] == 60
    assert audit["drawn_by"] == "p"
    text = page.read_text()
    assert "By the 60 rows that were checked by hand, q minus p is" in text
    assert "whatever the labels are" in text
    shown = run("compare", folder / "scores.csv", *MODELS, *options)
    assert "60 rows checked by hand" in shown.output
    assert "q - p" in shown.output


def test_alpha_comes_from_checked_rows(folder):
    options = ("--score", "p", "--label", "flagged", "--checked", folder / "a.csv", "--json")
    found = run("prior", folder / "scores.csv", *options)
    assert found.exit_code == 0, found.output
    estimate = json.loads(found.stdout)
    assert estimate["method"] == "audit"
    assert estimate["interval"][0] < load_example().alpha < estimate["interval"][1]


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("compare", ("--score", "q", "--score", "r", "--label", "flagged"), "one of these scores"),
        ("prior", ("--score", "q", "--label", "flagged"), "one of these scores"),
        ("prior", ("--label", "flagged"), "beside --score alone"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(folder, command, options, words):
    scored = folder / "other.csv"
    frame = pd.read_csv(folder / "scores.csv")
    frame.assign(r=1 - frame["q"]).to_csv(scored, index=False)
    found = run(command, scored, *options, "--checked", folder / "a.csv")
    assert found.exit_code == 2
    assert words in " ".join(found.output.split())
