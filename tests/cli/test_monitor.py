"""recoup monitor: what it prints, writes and refuses, and how it ends."""

import json

import pytest
from typer.testing import CliRunner

import recoup
from monitoring.payments import made_up
from recoup.cli import app

COLUMNS = ("--score", "p", "--label", "chargeback", "--time", "paid_at")
LATE = ("--labeled-at", "reported_at", "--label-frequency", "0.55,0.65", "--threshold", "1.5")


@pytest.fixture(scope="module")
def quiet():
    return made_up(weeks=30, rows=500)


@pytest.fixture(scope="module")
def files(quiet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("weeks")
    quiet.frame.to_parquet(folder / "quiet.parquet")
    made_up(6, weeks=40, rows=1000, change=34, shift=0.9).frame.to_parquet(folder / "loud.parquet")
    return folder


@pytest.fixture
def run(files):
    def run_command(name, *options):
        return CliRunner().invoke(app, ["monitor", str(files / name), *COLUMNS, *options])

    return run_command


def test_the_latest_weeks_are_printed(run):
    done = run("quiet.parquet", *LATE)
    assert done.exit_code == 0
    assert "week by week, as of" in done.stdout
    assert "The last 12 of 30" in done.stdout
    assert "Of the positives 60% ever get a label" in " ".join(done.stdout.split())
    assert "No alarm." in done.stdout


def test_json_is_the_result(run, quiet):
    done = run("quiet.parquet", *LATE, "--json")
    expected = recoup.monitor(
        quiet.frame, "p", "chargeback", "paid_at", labeled_at="reported_at",
        label_frequency=(0.55, 0.65), threshold=1.5,
    )  # fmt: skip
    plain = json.loads(done.stdout)
    assert [week["period"] for week in plain["periods"]] == list(expected.periods)
    found = [week["recall"]["value"] for week in plain["periods"]]
    assert found == pytest.approx(expected["recall"].value.tolist())


def test_an_alarm_ends_with_three_and_a_page(run, tmp_path):
    page = tmp_path / "weeks.html"
    done = run("loud.parquet", *LATE, "--report", str(page))
    assert done.exit_code == 3
    assert "Alarm: Since the week" in " ".join(done.stdout.split())
    assert f"Wrote {page}" in done.stdout.replace("\n", "")
    assert "The model finds a smaller share of the positives, since" in page.read_text("utf-8")


def test_months_and_earlier_moments(run):
    done = run("quiet.parquet", *LATE, "--every", "M", "--now", "2026-05-31", "--json")
    assert done.exit_code == 0
    plain = json.loads(done.stdout)
    assert [month["period"] for month in plain["periods"]] == [
        f"2026-0{month}" for month in range(1, 6)
    ]
    assert plain["now"] == "2026-06-01T00:00:00"


def test_checked_rows_are_read_from_their_file(quiet, files, run, tmp_path):
    import pandas as pd

    rows, checked = files / "quiet.parquet", tmp_path / "check.csv"
    planned = CliRunner().invoke(
        app,
        ["audit", "plan", str(rows), "--score", "p", "--label", "chargeback", "--threshold", "1.5",
         "--budget", "300", "--out", str(checked)],
    )  # fmt: skip
    assert planned.exit_code == 0, planned.output
    answers = pd.read_csv(checked)
    answers["answer"] = quiet.y[answers["id"]].astype(int)
    answers.to_csv(checked, index=False)
    options = ("--labeled-at", "reported_at", "--threshold", "1.5", "--json")
    done = run("quiet.parquet", *options, "--checked", str(checked))
    assert done.exit_code == 0, done.output
    share = json.loads(done.stdout)["label_frequency"]
    assert share["source"] == "audit"
    assert share["lower"] < 0.6 < share["upper"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label-frequency", "0.5,0.6,0.7"), "monitor needs --label-frequency to be a share"),
        (("--label-frequency", "half"), "--label-frequency to be a share"),
        (("--label-frequency", "estimate"), "--label-frequency to be a share"),
        (("--every", "h"), "every to be a period such as"),
        (("--now", "soon"), "now to be a date or a moment"),
        (("--now", "7"), "now to be a date or a moment"),
        (("--report", "weeks.pdf"), "--report needs a name that ends in .html"),
        (("--observable", "blocked"), "no column 'blocked'"),
        (("--labeled-at", "p"), "times of one kind"),
    ],
)
def test_what_cannot_work_is_one_line(run, options, message):
    done = run("quiet.parquet", *LATE, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
