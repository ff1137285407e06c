import json

import numpy as np
import pandas as pd
import pytest

import recoup
from calibration.known_chances import ALPHA, rows
from commands import EXAMPLE, assert_one_line, run, write_csv
from recoup import Calibration

LEARN = ("--score", "score_boosting", "--label", "flagged")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("calibrate") / "calibration.json"
    done = run("calibrate", EXAMPLE, *LEARN, "--alpha", 0.32, "--out", path)
    assert done.exit_code == 0, done.stderr
    assert "Alpha: 0.320, given." in done.stdout
    return path


def test_the_file_is_that_of_the_function(kept):
    mails = recoup.load_example()
    found = recoup.calibrate(mails.s, mails.scores["score_boosting"], alpha=0.32)
    assert Calibration.read(kept).to_dict() == found.to_dict()
    done = run("calibrate", EXAMPLE, *LEARN, "--alpha", 0.32, "--json")
    assert json.loads(done.stdout) == found.to_dict()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_new_rows_get_their_chances(kept, tmp_path, suffix):
    new = write_csv(
        tmp_path / "new.csv", client=["=1+1", "b", "c"], p=[0.01, 0.2, 7.0], q=["x", "", "z"]
    )
    out = tmp_path / f"out{suffix}"
    done = run("calibrate", new, "--score", "p", "--with", kept, "--out", out)
    assert done.exit_code == 0, done.stderr
    assert "33% of the scores are lower or higher" in done.stdout
    frame = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
    expected = Calibration.read(kept)
    assert list(frame.columns) == [
        *("client", "p", "q", "probability", "probability_lower", "probability_upper"),
    ]
    assert frame["client"].tolist() == ["=1+1", "b", "c"]
    np.testing.assert_array_equal(frame["probability"], expected.transform([0.01, 0.2, 7.0]))
    np.testing.assert_array_equal(frame["probability_upper"], expected.limits([0.01, 0.2, 7.0])[1])
    told = run(
        *("calibrate", new, "--score", "p", "--with", kept, "--out", out, "--json"),
        *("--unlabeled", "--column", "chance"),
    )
    assert json.loads(told.stdout)["expected"] == pytest.approx(
        expected.transform([0.01, 0.2, 7.0], among="unlabeled").sum()
    )


def test_suspects_are_those_of_the_function(kept, tmp_path):
    mails = recoup.load_example()
    out = tmp_path / "suspects.csv"
    options = ("--with", kept, "--top", 30, "--out", out)
    done = run("suspects", EXAMPLE, *LEARN, *options)
    assert done.exit_code == 0, done.stderr
    assert "The first 20 of 30" in done.stdout
    assert "Of these 30 rows about" in done.stdout
    expected = recoup.suspects(
        mails.s, mails.scores["score_boosting"], top=30, calibration=Calibration.read(kept)
    )
    assert pd.read_csv(out)["id"].tolist() == expected.rows.tolist()
    told = json.loads(run("suspects", EXAMPLE, *LEARN, "--with", kept, "--json").stdout)
    assert told["suspects"] == 200
    assert len(told["columns"]["why"]) == 200


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    s, x, y = rows(n=1500)
    folder = tmp_path_factory.mktemp("suspects")
    place = write_csv(
        folder / "rows.csv",
        name=[f"@row{row}" for row in range(len(s))],
        country=np.array(["fi", "se"])[np.arange(len(s)) % 2],
        p=x,
        flagged=np.where(s == 1, "yes", "no"),
    )
    np.save(folder / "y.npy", y)
    return place


def test_groups_and_ids_come_from_columns(table, tmp_path):
    out = tmp_path / "suspects.csv"
    words = ("suspects", table, "--score", "p", "--label", "flagged", "--alpha", ALPHA)
    done = run(*words, "--id", "name", "--by", "country", "--top", 5, "--out", out)
    assert done.exit_code == 0, done.stderr
    frame = pd.read_csv(out)
    assert frame["group"].value_counts().to_dict() == {"fi": 5, "se": 5}
    assert frame["id"].str.startswith("'@row").all()
    whole = tmp_path / "suspects.parquet"
    run(*words, "--id", "name", "--by", "country", "--top", 5, "--out", whole)
    assert pd.read_parquet(whole)["id"].str.startswith("@row").all()


def test_checked_rows_refine_both(table, tmp_path):
    y = np.load(table.parent / "y.npy")
    words = (table, "--score", "p", "--label", "flagged", "--alpha", ALPHA)
    sheet = tmp_path / "sheet.csv"
    done = run("audit", "plan", *words, "--budget", 60, "--waves", 1, "--out", sheet)
    assert done.exit_code == 0, done.stderr
    filled = pd.read_csv(sheet)
    filled["answer"] = y[filled["id"]].astype(int)
    filled.to_csv(sheet, index=False)
    told = json.loads(run("calibrate", *words, "--checked", sheet, "--json").stdout)
    assert told["n_checked"] == 60
    left = json.loads(run("suspects", *words, "--checked", sheet, "--top", 500, "--json").stdout)
    assert not set(left["columns"]["id"]) & set(filled["id"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("calibrate", EXAMPLE, "--score", "score_boosting"), "needs --label"),
        (("calibrate", EXAMPLE, *LEARN, "--out", "c.csv"), "ends in .json"),
        (("calibrate", EXAMPLE, *LEARN, "--alpha", "20"), "alpha in [0, 1]"),
        (("calibrate", EXAMPLE, *LEARN, "--unlabeled"), "beside --with only"),
        (("calibrate", EXAMPLE, *LEARN, "--with", "none.json"), "takes --label"),
        (
            ("calibrate", EXAMPLE, "--score", "score_boosting", "--with", "none.json"),
            "needs --out beside --with",
        ),
        (
            *(("calibrate", EXAMPLE, "--score", "score_boosting", "--with", "none.json"),),
            "needs --out beside --with",
        ),
        (
            ("suspects", EXAMPLE, *LEARN, "--with", "none.json"),
            "Cannot read none.json",
        ),
        (("suspects", EXAMPLE, *LEARN, "--with", "c.json", "--alpha", "0.2"), "Drop one"),
        (("suspects", EXAMPLE, *LEARN, "--out", "s.json"), "ends in .csv or .parquet"),
        (("suspects", EXAMPLE, *LEARN, "--by", "country", "--alpha", "0.2"), "country"),
    ],
)
def test_wrong_input_is_one_line(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert_one_line(run(*words), said, tmp_path, [])


def test_a_damaged_file_and_a_taken_column_are_one_line(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new = write_csv(tmp_path / "new.csv", p=[0.1], probability=[1])
    damaged = tmp_path / "damaged.json"
    damaged.write_text(kept.read_text()[:300])
    before = sorted(tmp_path.rglob("*"))
    words = ("calibrate", new, "--score", "p", "--out", tmp_path / "out.csv", "--with")
    assert_one_line(run(*words, kept), "has a column 'probability' already", tmp_path, before)
    assert_one_line(run(*words, damaged), "cut off or changed", tmp_path, before)
