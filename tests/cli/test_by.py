"""``recoup evaluate FILE --by COLUMN``: groups in the terminal, as JSON, as pictures and pages."""

import json

import numpy as np
import pytest

from commands import assert_one_line, run, write_csv

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, so that anything written shows."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made_file(folder, n=3000, n_groups=3):
    rng = np.random.default_rng(0)
    country = np.array(["DE", "FR", "", "IT", *(f"X{i}" for i in range(60))])[
        rng.integers(0, n_groups, n)
    ]
    y = rng.random(n) < 0.3
    s = (y & (rng.random(n) < 0.4)).astype(int)
    score = (1 / (1 + np.exp(-rng.normal(2.0 * y - 1)))).round(4)
    return write_csv(
        folder / "scores.csv", flagged=s, p=score, country=country, sex=rng.choice(["f", "m"], n)
    )


def evaluate(path, *args):
    return run(
        *("evaluate", path, "--score", "p", "--label", "flagged", "--alpha", "0.2"),
        *("--threshold", "0.5", *args),
    )


def test_a_table_of_groups_with_the_total_and_gaps(folder):
    result = evaluate(made_file(folder), "--by", "country")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    text = " ".join(result.stdout.split())
    assert "Group Labels Precision Recall AUC Own" in text
    for name in ("DE", "FR", "(missing)", "all together"):
        assert name in text
    assert "Precision differs most between" in text
    assert "Equalized odds" in text


def test_json_holds_every_group_and_metric(folder):
    result = evaluate(made_file(folder), "--by", "country", "--by", "sex", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["by"] == ["country", "sex"]
    assert ["DE", "f"] in found["groups"]
    assert [None, "m"] in found["groups"]
    assert len(found["metrics"]["precision"]["groups"]) == 6
    assert {"precision", "recall", "roc_auc", "alpha", "f1"} <= set(found["metrics"])
    assert [gap["key"] for gap in found["gaps"]][-1] == "equalized_odds"
    one = found["metrics"]["recall"]["groups"][0]
    assert 0 <= one["lower"] <= one["recovered"] <= one["upper"] <= 1


def test_files_and_arrays_say_the_same(folder):
    import pandas as pd

    from recoup import evaluate_by

    path = made_file(folder)
    frame = pd.read_csv(path)
    found = json.loads(evaluate(path, "--by", "sex", "--json").stdout)
    direct = evaluate_by(
        *(frame.flagged, frame.p), groups=frame[["sex"]], alpha=0.2, threshold=0.5, random_state=0
    )
    assert found["metrics"] == direct.to_dict()["metrics"]


def test_many_groups_show_the_worst(folder):
    result = evaluate(made_file(folder, n_groups=60), "--by", "country")
    assert result.exit_code == 0, result.stderr
    assert "The 20 of 60 groups with the lowest precision" in " ".join(result.stdout.split())


def test_pictures_and_pages_are_written(folder):
    path = made_file(folder)
    names = ["forest.png", "groups.html", "groups.md", "groups.json"]
    result = evaluate(
        path, "--by", "country", "--plot", names[0], "--report", names[1], "--alpha", "0.2"
    )
    assert result.exit_code == 0, result.stderr
    for name in names[2:]:
        assert evaluate(path, "--by", "country", "--report", name).exit_code == 0
    for name in names:
        assert (folder / name).stat().st_size > 500
    page = (folder / "groups.html").read_text()
    assert "--by country" in page
    assert json.loads((folder / "groups.json").read_text())["names"][-1] == "(missing)"
    assert "| all together |" in (folder / "groups.md").read_text()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--by", "contry"], "There is no column 'contry'"),
        (["--by", "country", "--by", "country"], "each column of --by once"),
        (["--by", "country", "--weight", "p"], "counts rows alike"),
        (["--by", "country", "--beta", "0.9"], "takes every label as right"),
        (["--by", "country", "--alpha", "1.5"], "alpha in [0, 1]"),
        (["--by", "country", "--plot", "x.txt"], "--plot needs a name"),
    ],
)
def test_what_cannot_be_is_one_line(folder, options, text):
    path = made_file(folder, n=300)
    before = sorted(folder.rglob("*"))
    assert_one_line(evaluate(path, *options), text, folder, before)
