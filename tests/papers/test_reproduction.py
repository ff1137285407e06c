"""Experiments are run once, go on where they were stopped, and leave a page behind."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure

import recoup
from papers import (
    Claim,
    Effect,
    Experiment,
    Page,
    Run,
    datasets_at_hand,
    markdown_table,
    papers,
    remake,
    reproduce,
    write_overview,
)
from papers.experiment import experiment
from recoup.bench import Store
from recoup.exceptions import ClippedEstimateWarning, InvalidInputError

NAMES = ("a", "b.1", "c-2", "d_3")


class Squares:
    """An experiment that counts how often each run is measured."""

    def __init__(self):
        self.measured = []
        self.fail_at, self.error = None, InvalidInputError
        self.scale = 1

    def runs(self, size):
        return [Run(name, {"x": i * self.scale, "size": size}) for i, name in enumerate(NAMES)]

    def measure(self, run):
        if run.name == self.fail_at:
            raise self.error("no luck")
        self.measured.append(run.name)
        x = run.settings["x"]
        return [{"x": x, "square": x * x}, {"x": x, "root": float("nan") if x < 1 else x**0.5}]

    def summarize(self, rows, size):
        figure = Figure()
        figure.subplots().plot([row["x"] for row in rows])
        total = sum(row.get("square", 0) for row in rows)
        held = "holds" if total == 14 else "does not hold"
        return Page(
            intro=f"Squares, {size}.",
            tables=(("Total", markdown_table(("sum",), [(str(total),)])),),
            claims=(
                Claim(
                    text="Squares add up | really",
                    setting="four numbers",
                    rule="They add up to 14.",
                    published="14",
                    ours=str(total),
                    effect=Effect(total, total - 1, total + 1, "in all"),
                    verdict=held,
                    cause="" if total == 14 else "other numbers",
                ),
                Claim(
                    text="They are nice",
                    setting="four numbers",
                    rule="None.",
                    published="yes",
                    ours="-",
                    effect=None,
                    verdict="cannot be told",
                    cause="no measure",
                    reason="No measure of it.",
                ),
            ),
            figures={"line": figure},
        )

    def experiment(self):
        return Experiment(
            key="squares",
            title="On squares",
            citation="Nobody (2020).",
            runs=self.runs,
            measure=self.measure,
            summarize=self.summarize,
        )


@pytest.fixture
def squares():
    return Squares()


def names_in(path):
    """Names of the runs that a store keeps."""
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            kept = connection.execute("SELECT definition FROM runs WHERE status = 'done'")
            return sorted(json.loads(text)["run"] for (text,) in kept)
    except sqlite3.OperationalError:  # not yet made
        return []


def drop(path, *names):
    """Take runs out of a store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in names:
            connection.execute("DELETE FROM runs WHERE definition LIKE ?", (f'%"run":"{name}"%',))


def repeat(squares, folder, size="tiny", **changes):
    return reproduce(replace(squares.experiment(), **changes), size, jobs=1, out=folder)


def test_everything_is_written(squares, tmp_path):
    found = repeat(squares, tmp_path / "deep" / "down")
    assert repr(found) == "Reproduction(squares, tiny, 1 holds, 1 cannot be told)"
    assert (found.n_runs, found.n_new, squares.measured) == (4, 4, list(NAMES))
    page = found.path.read_text()
    assert page.startswith("# On squares\n\nNobody (2020).\n\nSquares, tiny.\n\n## Verdicts\n")
    assert (
        r"| Squares add up \| really | four numbers | 14.0 (13.0 to 15.0) in all | holds |  |"
        in page
    )
    assert "| no measure | 1 | 0 | 0 | 0 | 1 |" in page
    assert "- Rule: They add up to 14.\n- Published: 14\n- Ours: 14\n" in page
    assert "- **cannot be told** (no measure). No measure of it." in page
    assert (
        "1 of 2 claims holds, 1 cannot be told. The 1 that is limited or fails has 1 cause." in page
    )
    assert "## Total\n\n| sum |\n| --- |\n| 14 |" in page
    assert "![line](line.png)" in page
    assert f"`python -m papers squares --tiny`, recoup {recoup.__version__}, 4 runs" in page
    kept = json.loads((found.folder / "verdicts.json").read_text())
    assert [claim["verdict"] for claim in kept["claims"]] == ["holds", "cannot be told"]
    assert kept["claims"][0]["effect"] == {"value": 14, "lower": 13, "upper": 15, "unit": "in all"}
    assert (kept["title"], kept["size"]) == ("On squares", "tiny")
    assert (found.folder / "line.png").read_bytes().startswith(b"\x89PNG")
    assert not list(found.folder.rglob("*.tmp"))


def test_results_keep_every_column_of_every_row(squares, tmp_path):
    found = repeat(squares, tmp_path)
    rows = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert [row["run"] for row in rows] == [name for name in NAMES for _ in range(2)]
    assert [row["square"] for row in rows[::2]] == [0, 1, 4, 9]
    assert rows[1]["root"] is None
    assert rows[3]["root"] == 1.0
    assert found.rows[1] == {"x": 0, "root": None}


def test_result_in_other_forms(squares, tmp_path):
    found = repeat(squares, tmp_path)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["claims"][0]["verdict"] == "holds"
    assert plain["n_new"] == 4
    assert "Squares add up | really" in found._repr_html_()
    frame = found.to_frame()
    assert frame["Verdict"].tolist() == ["holds", "cannot be told"]
    assert frame["Effect (95% interval)"].tolist() == ["14.0 (13.0 to 15.0) in all", ""]


def test_only_what_is_missing_runs_again(squares, tmp_path):
    first = repeat(squares, tmp_path)
    page = first.path.read_text()
    drop(tmp_path / "runs.sqlite", "b.1", "d_3")
    squares.measured.clear()
    again = repeat(squares, tmp_path)
    assert squares.measured == ["b.1", "d_3"]
    assert (again.n_new, again.rows) == (2, first.rows)
    assert again.path.read_text() == page


def test_half_a_store_is_refused(squares, tmp_path):
    repeat(squares, tmp_path)
    store = tmp_path / "runs.sqlite"
    store.write_bytes(store.read_bytes()[:300])
    squares.measured.clear()
    with pytest.raises(InvalidInputError, match="no store of recoup, or damaged"):
        repeat(squares, tmp_path)
    assert squares.measured == []


def test_a_store_of_a_paper_holds_no_trials_of_learners(squares, tmp_path):
    repeat(squares, tmp_path)
    store = Store(tmp_path / "runs.sqlite")
    assert store.counts()["done"] == 4
    assert (store.rows(), store.seconds()) == ([], [])


def test_other_settings_are_run_again(squares, tmp_path):
    repeat(squares, tmp_path)
    squares.measured.clear()
    squares.scale = 2
    found = repeat(squares, tmp_path)
    # x stays 0 in the first run.
    assert squares.measured == ["b.1", "c-2", "d_3"]
    assert sum(row.get("square", 0) for row in found.rows) == 4 * 14
    assert found.page.claims[0].verdict == "does not hold"


@pytest.mark.parametrize("change", ["revision", "version", "key"])
def test_other_code_is_run_again(squares, tmp_path, monkeypatch, change):
    repeat(squares, tmp_path)
    squares.measured.clear()
    changes = {"revision": {"revision": 2}, "key": {"key": "cubes"}}.get(change, {})
    if change == "version":
        monkeypatch.setattr(recoup, "__version__", "99.0")
    repeat(squares, tmp_path, **changes)
    assert squares.measured == list(NAMES)


def test_sizes_do_not_overwrite_each_other(squares, tmp_path):
    for size in ("tiny", "quick", "tiny", "quick"):
        repeat(squares, tmp_path, size)
    assert len(squares.measured) == 2 * len(NAMES)
    assert "`python -m papers squares`" in (tmp_path / "index.md").read_text()


@pytest.mark.parametrize("error", [InvalidInputError, RuntimeError])
def test_a_failure_stops_no_other_run_and_is_tried_again(squares, tmp_path, error):
    squares.fail_at, squares.error = "c-2", error
    with pytest.raises(InvalidInputError, match=r"could not do 1 of 4 runs\. c-2: .*no luck"):
        repeat(squares, tmp_path)
    assert not (tmp_path / "index.md").exists()
    assert squares.measured == ["a", "b.1", "d_3"]
    squares.fail_at = None
    squares.measured.clear()
    repeat(squares, tmp_path)
    assert squares.measured == ["c-2"]


SLOW = """
import sys, time
from pathlib import Path
from papers import Experiment, Page, Run, reproduce

def measure(run):
    if run.settings["i"] >= int(sys.argv[2]):
        time.sleep(60)
    print(run.name, flush=True)
    return [run.settings]

reproduce(
    Experiment("slow", "Slow", "", lambda size: [Run(f"r{i}", {"i": i}) for i in range(5)],
               measure, lambda rows, size: Page("", (), (), {})),
    "tiny", jobs=1, out=sys.argv[1],
)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_experiment_goes_on(tmp_path):
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", SLOW, str(out), "3"], stdout=subprocess.PIPE)
    store = out / "runs.sqlite"
    for _ in range(600):
        if "r2" in names_in(store):
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert names_in(store) == ["r0", "r1", "r2"]
    again = subprocess.run(
        [sys.executable, "-c", SLOW, str(out), "9"], capture_output=True, text=True, check=True
    )
    assert again.stdout.split() == ["r3", "r4"]
    assert pq.read_table(out / "results.parquet")["i"].to_pylist() == [0, 1, 2, 3, 4]


def test_runs_spread_over_processes_and_their_warnings_stay_quiet(squares, tmp_path):
    def measure(run):
        warnings.warn("clipped", ClippedEstimateWarning, stacklevel=1)
        return [{"pid": os.getpid()}]

    spread = replace(
        squares.experiment(),
        measure=measure,
        summarize=lambda rows, size: Page("", (), (), {}),
    )
    alone = reproduce(spread, "tiny", jobs=1, out=tmp_path / "alone")
    assert {row["pid"] for row in alone.rows} == {os.getpid()}
    many = reproduce(spread, "tiny", jobs=2, out=tmp_path / "many")
    assert os.getpid() not in {row["pid"] for row in many.rows}


def test_who_watches_is_told_what_is_kept_and_what_is_done(squares, tmp_path):
    repeat(squares, tmp_path)
    drop(tmp_path / "runs.sqlite", "a", "b.1")
    told = []

    def watch(counts, total):
        told.append((counts["cached"], counts["done"], total))

    reproduce(squares.experiment(), "tiny", jobs=1, out=tmp_path, watch=watch)
    assert list(dict.fromkeys(told)) == [(2, 0, 4), (2, 1, 4), (2, 2, 4)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_run_that_kills_its_process_stops_no_other(squares, tmp_path):
    def measure(run):
        if run.name == "b.1":
            os.kill(os.getpid(), signal.SIGKILL)
        return [run.settings]

    fatal = replace(squares.experiment(), measure=measure)
    with pytest.raises(InvalidInputError, match=r"could not do 1 of 4 runs\. b\.1: Killed"):
        reproduce(fatal, "tiny", jobs=2, out=tmp_path)
    assert names_in(tmp_path / "runs.sqlite") == ["a", "c-2", "d_3"]


def test_default_folder(squares, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = reproduce(squares.experiment(), "tiny", jobs=1)
    assert found.path.resolve() == tmp_path / "recoup-reproduce" / "squares" / "index.md"


def test_bad_arguments(squares, tmp_path):
    with pytest.raises(InvalidInputError, match=r"Did you mean 'ramola2019'\? Choose one of"):
        reproduce("ramola2091", "tiny", out=tmp_path)
    with pytest.raises(InvalidInputError, match="size to be one of 'tiny', 'quick', 'full'"):
        repeat(squares, tmp_path, "huge")
    with pytest.raises(InvalidInputError, match=r"jobs .* at least 1\. Got 0"):
        reproduce(squares.experiment(), "tiny", jobs=0, out=tmp_path)


@pytest.mark.parametrize("names", [("a", "a"), ("a", "../b"), ("a", "b c"), ("",)])
def test_names_that_cannot_be_told_apart_or_typed_are_refused(squares, tmp_path, names):
    runs = [Run(name, {}) for name in names]
    with pytest.raises(InvalidInputError, match="names of their own"):
        repeat(squares, tmp_path, runs=lambda size: runs)


def test_folder_that_cannot_be_written(squares, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="cannot write to the folder"):
        repeat(squares, tmp_path / "file")
    assert squares.measured == []


def test_every_paper_holds_an_experiment_by_its_name():
    assert "ramola2019" in papers()
    found = experiment("ramola2019")
    assert (found.key, type(found)) == ("ramola2019", Experiment)


def test_datasets_at_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path))
    assert datasets_at_hand(["wilt", "digits"], "x") == (["digits"], ["wilt"])
    with pytest.raises(InvalidInputError, match=r"reproduce x needs at least one of .* wilt, casp"):
        datasets_at_hand(["wilt", "casp"], "x")


def test_overview_tells_what_did_not_come_out(tmp_path):
    for key, scale in (("held", 1), ("missed", 2)):
        work = Squares()
        work.scale = scale
        about = {"key": key, "title": f"Squares that {key}", "lesson": "Count."}
        repeat(work, tmp_path / "all" / key, **about)
    page = write_overview(tmp_path / "all", tmp_path / "all.md").read_text()
    assert page.startswith("# Do the papers hold?")
    assert "| [Squares that held](all/held/index.md) |" in page
    held, missed = page.split("## Squares that held")[1].split("## Squares that missed")
    assert "Count." in held
    assert "Squares add up" not in held
    assert "Squares add up" in missed
    assert (tmp_path / "all" / "held" / "index.md").is_file()
    assert "python -m papers missed" in page
    assert "| All claims | 1 | 0 | 1 | 2 | 2 |" in page
    # Counted over both papers, the cause of most claims first.
    links = "[held](all/held/index.md), [missed](all/missed/index.md)"
    assert f"| no measure | {links} | 2 | 0 | 0 | 0 | 2 |" in page
    assert "| other numbers | [missed](all/missed/index.md) | 1 | 0 | 0 | 1 | 0 |" in page
    assert page.index("| no measure |") < page.index("| other numbers |")


def test_claims_that_wait_for_runs_are_counted_apart_from_causes(squares, tmp_path):
    repeat(squares, tmp_path / "all" / "held")
    kept = tmp_path / "all" / "held" / "verdicts.json"
    kept.write_text(kept.read_text().replace("no measure", "runs are missing"))
    page = write_overview(tmp_path / "all", tmp_path / "all.md").read_text()
    assert "| runs are missing |" not in page.split("## What lies behind")[1].split("## ")[0]
    assert "1 more claim cannot be told yet" in page
    assert "runs are missing (1)." in page


def test_a_page_is_made_again_without_measuring(squares, tmp_path):
    first = repeat(squares, tmp_path)
    page, results = first.path.read_bytes(), (tmp_path / "results.parquet").read_bytes()
    squares.measured.clear()
    again = remake(squares.experiment(), tmp_path / "results.parquet")
    assert squares.measured == []
    assert (again.n_runs, again.n_new, again.size) == (4, 0, "tiny")
    assert first.path.read_bytes() == page
    assert (tmp_path / "results.parquet").read_bytes() == results
    # What a row never had, and what was no number, is missing alike.
    assert again.rows[:2] == [{"x": 0, "square": 0}, {"x": 0}]


def test_a_page_cannot_be_made_of_anything(squares, tmp_path):
    repeat(squares, tmp_path)
    with pytest.raises(InvalidInputError, match=r"needs results of cubes.* holds those of squares"):
        remake(replace(squares.experiment(), key="cubes"), tmp_path / "results.parquet")
    pq.write_table(pq.read_table(tmp_path / "results.parquet").replace_schema_metadata(None),
                   tmp_path / "bare.parquet")  # fmt: skip
    for name in ("bare.parquet", "absent.parquet", "verdicts.json"):
        with pytest.raises(InvalidInputError, match="cannot be read, or does not say of which"):
            remake(squares.experiment(), tmp_path / name)


@pytest.mark.parametrize("content", [None, "half a fi", '{"title": "without the rest"}'])
def test_overview_needs_repeated_experiments(tmp_path, content):
    match = "holds none"
    if content is not None:
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "verdicts.json").write_text(content)
        match = "cannot read"
    with pytest.raises(InvalidInputError, match=match):
        write_overview(tmp_path, tmp_path / "page.md")


def test_committed_overview_is_that_of_the_committed_pages(tmp_path):
    docs = Path(__file__).parents[2] / "docs"
    (tmp_path / "papers").symlink_to(docs / "papers")
    made = write_overview(tmp_path / "papers", tmp_path / "papers.md")
    assert made.read_text() == (docs / "papers.md").read_text()
    assert sorted(path.parent.name for path in docs.glob("papers/*/verdicts.json")) == papers()
