"""recoup bench on the command line; what kills runs is in test_faults."""

import json
import sqlite3
from collections import Counter

import pytest
from typer.testing import CliRunner

from commands import run
from recoup.bench import Store, read_plan
from recoup.cli import app
from recoup.cli._runs import _state

PLAN = """
datasets: [iris]
schemes: [single-sample, case-control]
label_frequencies: [0.5]
protocols: [honest, oracle]
learners: [naive, sar-em]
seeds: [1]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(PLAN)
    return tmp_path


def stored(folder, name="mine.sqlite", accuracy=0.9):
    """Write a store as if two runs of the plan had been done, and one had failed."""
    jobs = read_plan(folder / "mine.yaml").jobs()
    store = Store(folder / name)
    row = {"accuracy": accuracy, "f1": 0.8, "roc_auc": 0.9, "seconds": 2.0, "family": "classical"}
    with store.writing():
        for job in jobs[:1]:
            found = {"status": "done", "row": row, "elapsed": 3.0}
            store.write(job, found)
        failed = {"status": "failed", "reason": "it broke", "row": {"family": "classical"}}
        store.write(jobs[2], failed)
    return store


def assert_one_line(result, said):
    assert result.exit_code == 2
    assert result.stderr.startswith("recoup: ")
    assert result.stderr.count("\n") == 1
    assert said in result.stderr
    assert result.stdout == ""


def test_a_plan_shows_its_grid_and_what_is_left(folder):
    result = run("bench", "plan", "mine.yaml", "--workers", "1")
    text = " ".join(result.stdout.split())
    assert result.exit_code == 0
    assert "8 runs: 0 done, 0 failed, 5 cannot be done, 3 left." in text
    assert "single-sample, case-control" in text
    assert "How long they take is known once some are done." in text
    assert "sar-em is made for single-sample data." in text
    assert not (folder / "mine.sqlite").exists()


def test_a_plan_knows_what_is_cached_and_how_long_the_rest_takes(folder):
    stored(folder)
    found = json.loads(run("bench", "plan", "mine.yaml", "--workers", "1", "--json").stdout)
    assert (found["runs"], found["done"], found["failed"], found["left"]) == (8, 1, 1, 1)
    assert found["seconds_left"] == 3.0
    assert found["grid"]["learners"][0]["key"] == "naive"
    text = " ".join(run("bench", "plan", "mine.yaml", "--workers", "1").stdout.split())
    assert "About 3 s on 1 worker." in text


def test_runs_are_done_once(folder):
    first = run("bench", "run", "mine.yaml", "--workers", "1", "--json")
    assert first.exit_code == 0, first.stderr
    found = json.loads(first.stdout)
    assert (found["done"], found["cached"], found["failed"], found["skipped"]) == (3, 0, 0, 5)
    before = Store("mine.sqlite").rows()
    again = run("bench", "run", "mine.yaml", "--workers", "1")
    text = " ".join(again.stdout.split())
    assert "0 done, 3 cached, 0 failed, 5 skipped" in text
    assert "3 skipped: The learner selects no weights: its honest run is the same." in text
    done = [row for row in Store("mine.sqlite").rows() if row["status"] == "done"]
    assert done == [row for row in before if row["status"] == "done"]

    exported = run("bench", "export", "mine.sqlite", "--out", "runs.csv")
    assert exported.exit_code == 0
    assert (folder / "runs.csv").read_text().count("\n") == 9
    reported = run("bench", "report", "mine.sqlite", "--out", "site")
    assert reported.exit_code == 0, reported.stderr
    assert (folder / "site" / "index.html").is_file()


def test_workers_of_a_cluster_are_used(folder):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
    ) as cluster:
        address = cluster.scheduler_address
        result = run("bench", "run", "mine.yaml", "--scheduler", address, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["done"] == 3


def test_no_run_is_started_after_the_limit(folder):
    result = run("bench", "run", "mine.yaml", "--workers", "1", "--limit", "0.001s", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["left"] == 3


def test_failed_runs_make_the_exit_code_1(folder):
    store = stored(folder)
    with store.writing():
        for job in read_plan("mine.yaml").jobs():
            if job.run not in store.statuses() and job.skip_reason() is None:
                store.write(job, {"status": "done", "row": {}})
    result = run("bench", "run", "mine.yaml")
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "0 done, 2 cached, 1 failed, 5 skipped" in text
    assert "seed 1, honest: it broke" in text


def test_stores_are_merged(folder):
    stored(folder, "a.sqlite")
    stored(folder, "b.sqlite")
    result = run("bench", "merge", "a.sqlite", "b.sqlite", "--out", "c.sqlite")
    assert result.exit_code == 0
    assert "Store(c.sqlite: 1 done, 1 failed)" in result.stdout
    stored(folder, "d.sqlite", accuracy=0.5)
    assert_one_line(run("bench", "merge", "a.sqlite", "d.sqlite", "--out", "e.sqlite"), "accuracy")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "smok"], "Did you mean 'smoke'?"),
        (["run", "mine.yaml", "--limit", "soon"], "a span of time"),
        (["run", "mine.yaml", "--workers", "2", "--scheduler", "tcp://x:1"], "not both"),
        (["export", "none.sqlite", "--out", "x.csv"], "There is no file none.sqlite"),
        (["export", "mine.yaml", "--out", "x.txt"], "ends in .parquet or .csv"),
        (["export", "mine.yaml", "--out", "x.csv"], "no store of recoup"),
        (["merge", "mine.yaml", "--out", "x.sqlite"], "no store of recoup"),
        (["report", "none.sqlite", "--out", "site"], "There is no file none.sqlite"),
        (["run", "mine.yaml", "--store", "no/runs.sqlite"], "there is no folder"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(folder, arguments, said):
    assert_one_line(run("bench", *arguments), said)


@pytest.mark.parametrize("address", ["garbage", "", "foo://x:1", "tcp://127.0.0.1:port"])
def test_an_address_that_can_be_none_is_said_at_once(folder, address):
    result = run("bench", "run", "mine.yaml", "--scheduler", address)
    assert_one_line(result, "needs the address of a Dask scheduler")


def test_a_scheduler_that_is_not_there_is_said_in_one_line(folder, monkeypatch):
    monkeypatch.setattr("recoup.bench.cluster.SECONDS_TO_CONNECT", 0.5)
    result = run("bench", "run", "mine.yaml", "--scheduler", "tcp://127.0.0.1:9")
    assert_one_line(result, "no Dask scheduler at 'tcp://127.0.0.1:9'")


def test_an_address_that_needs_certificates_says_where_to_name_them(folder):
    result = run("bench", "run", "mine.yaml", "--scheduler", "tls://127.0.0.1:9")
    assert_one_line(result, "DASK_DISTRIBUTED__COMM__TLS__CA_FILE")


def test_a_report_leaves_a_folder_of_somebody_else_alone(folder):
    stored(folder)
    before = {path.name for path in folder.iterdir()}
    assert_one_line(run("bench", "report", "mine.sqlite", "--out", "."), "Nothing was touched")
    assert {path.name for path in folder.iterdir()} == before


def test_a_report_is_made_of_an_exported_table(folder):
    stored(folder)
    assert run("bench", "export", "mine.sqlite", "--out", "mine.parquet").exit_code == 0
    for source, out in (("mine.sqlite", "one"), ("mine.parquet", "two")):
        assert run("bench", "report", source, "--out", out).exit_code == 0
    tables = [(folder / out / "runs.csv").read_text() for out in ("one", "two")]
    assert tables[0] == tables[1]
    (folder / "broken.parquet").write_bytes(b"no table")
    assert_one_line(run("bench", "report", "broken.parquet", "--out", "three"), "cannot be read")


def test_a_report_can_show_one_plan_alone(folder):
    store = stored(folder)
    (folder / "other.yaml").write_text(PLAN.replace("seeds: [1]", "seeds: [1, 2]"))
    (folder / "none.yaml").write_text(PLAN.replace("iris", "wine"))
    for job in read_plan("other.yaml").jobs()[-3:]:
        with store.writing():
            store.write(job, {"status": "done", "row": {"accuracy": 0.5}})
    for plan, n_runs, n_lacking in (("mine.yaml", 2, 6), ("other.yaml", 5, 11)):
        result = run("bench", "report", store.path, "--plan", plan, "--out", "site", "--json")
        found = json.loads(result.stdout)
        assert found["runs"] == n_runs
        assert f"{n_lacking} of {n_lacking + n_runs} runs of the plan" in found["notes"][0]
    result = run("bench", "report", store.path, "--plan", "none.yaml", "--out", "no")
    assert_one_line(result, "has none of the plan none.yaml")


def test_runs_are_dropped_and_done_again(folder):
    store = stored(folder)
    drop = ("bench", "drop", "mine.sqlite")
    assert_one_line(run(*drop), "does not empty a store")
    assert_one_line(run(*drop, "--learner", "naiv"), "Did you mean 'naive'?")
    assert_one_line(run(*drop, "--dataset", "wine"), "has no runs of 'wine'")
    assert_one_line(run(*drop, "--status", "lost"), "knows no status 'lost'")
    assert_one_line(run(*drop, "--status", "failed", "--json"), "needs --yes")
    asked = CliRunner().invoke(app, [*drop, "--status", "failed"], input="n\n")
    assert asked.exit_code != 0
    assert "Drop 1 runs (1 failed) of mine.sqlite for good?" in asked.stderr
    assert store.counts() == {"done": 1, "failed": 1, "skipped": 0}
    result = run(*drop, "--status", "failed", "--status", "skipped", "--yes", "--json")
    assert json.loads(result.stdout) == {"store": "mine.sqlite", "dropped": 1, "failed": 1}
    assert store.counts() == {"done": 1, "failed": 0, "skipped": 0}
    named = [*drop, "--learner", "naive", "--dataset", "iris"]
    result = CliRunner().invoke(app, named, input="y\n")
    assert "1 runs dropped (1 done)." in result.stdout
    assert store.counts()["done"] == 0


def test_nothing_is_exported_in_silence(folder):
    store = stored(folder)
    with store.writing():
        store.drop(list(store.statuses()))
    for command in ("export", "merge"):
        result = run("bench", command, "mine.sqlite", "--out", "x.csv")
        assert_one_line(result, "mine.sqlite holds none")
    assert not (folder / "x.csv").exists()


def test_damaged_runs_are_told_left_out_and_dropped(folder):
    store = stored(folder)
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE runs SET definition = '{' WHERE status = 'failed'")
        connection.execute("UPDATE runs SET details = x'00' WHERE status = 'done'")
    connection.close()
    said = "1 runs are left out: they are damaged."
    result = run("bench", "export", "mine.sqlite", "--out", "x.csv", "--json")
    assert json.loads(result.stdout) == {"out": "x.csv", "runs": 1, "notes": [said]}
    result = run("bench", "report", "mine.sqlite", "--out", "site", "--json")
    assert json.loads(result.stdout)["notes"] == [
        said,
        "Details of 1 runs are damaged, and their pages lack them.",
    ]
    result = run("bench", "merge", "mine.sqlite", "--out", "saved.sqlite", "--json")
    assert json.loads(result.stdout)["done"] == 1
    assert "1 damaged runs of mine.sqlite" in json.loads(result.stdout)["notes"][0]
    result = run("bench", "drop", "mine.sqlite", "--status", "damaged", "--yes", "--json")
    assert json.loads(result.stdout)["damaged"] == 1
    assert store.left_out() == {}


def test_plans_are_listed():
    assert "pubench-conventional" in run("list", "plans").stdout
    rows = json.loads(run("list", "plans", "--json").stdout)
    assert {row["name"] for row in rows} >= {"smoke", "tabular"}
    assert all(row["runs"] and row["about"] for row in rows)


def test_progress_says_how_fast_and_how_long():
    counts = Counter(done=32, failed=2, cached=8, skipped=4)
    said = _state(counts, 60, 64.0)
    assert said == "32 done, 8 cached, 2 failed, 4 skipped, 30.0 runs/min, about 28 s left"
    assert _state(Counter(cached=3), 3, 1.0) == "0 done, 3 cached, 0 failed, 0 skipped"
