"""Nothing finished is lost, nothing stops the rest, whatever is killed when."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from recoup.bench import Store
from recoup.bench.cluster import check_file_handles
from recoup.bench.record import DEFINED, compared_columns
from recoup.exceptions import InvalidInputError

MANY = """
    datasets: [iris]
    label_frequencies: [0.5]
    mechanisms: [scar, s3]
    seeds: [1, 2, 3, 4, 5, 6, 7]
    learners: [{key: quick, grid: {column: [0, 1, 2]}, params: {wait: 0.15, log: LOG}}]
"""
N_MANY = 42
KEYS = (
    *("crashes", "hungry", "hangs", "fails", "kills-worker", "quick"),
    *("misnamed", "strange", "orphans"),
)


def finish(process, timeout=300):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def descendants(pid):
    """Process ids below one, nearest first."""
    found, look = [], [pid]
    while look:
        parent = look.pop(0)
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
        except (OSError, ValueError):
            continue
        found += children
        look += children
    return found


def workers_of(driver):
    """Processes in which Dask runs things: children of the driver that start others."""
    return [pid for pid in descendants(driver) if "spawn_main" in command(pid)]


def command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def holds_back(pid, number):
    """Whether a process holds a signal back, as those do that were started so."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    blocked = next(line.split()[1] for line in lines if line.startswith("SigBlk"))
    return bool(int(blocked, 16) >> (number - 1) & 1)


def wait_for(holds):
    """Wait until something holds, for a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def results(path):
    """What must not depend on how often something was killed."""
    names = (
        "run",
        *DEFINED,
        "learner",
        "seed",
        "protocol",
        "status",
        "reason",
        *compared_columns(),
    )
    return [{name: row[name] for name in names} for row in Store(path).rows()]


def n_kept(path):
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as connection:
            return connection.execute("SELECT COUNT(*) FROM runs").fetchone()[0]
    except sqlite3.OperationalError:  # not yet made
        return 0


def kill_one(target, driver, rng):
    """Kill the driver, a worker, or the process that a worker does runs in."""
    if target == "driver":
        driver.kill()
        driver.communicate()
        return True
    workers = workers_of(driver.pid)
    if target == "run":
        workers = [pid for worker in workers for pid in descendants(worker)]
    if not workers:
        return False
    try:
        os.kill(rng.choice(workers), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_a_store_that_was_killed_often_equals_one_that_was_not(recoup, write_plan, tmp_path):
    log = tmp_path / "fits"
    plan = write_plan(MANY.replace("LOG", str(log)))
    calm, storm = tmp_path / "calm.sqlite", tmp_path / "storm.sqlite"
    code, out, err = finish(recoup("bench", "run", plan, "--store", calm, "--workers", 2))
    assert code == 0, err
    assert f"{N_MANY} done" in out
    assert len(log.read_text()) == N_MANY

    rng = random.Random(0)
    targets = ["driver"] * 3 + ["worker"] * 7 + ["run"]
    rng.shuffle(targets)
    n_kills, driver, seen = len(targets), None, 0
    while targets:
        if driver is None or driver.poll() is not None:
            driver = recoup("bench", "run", plan, "--store", storm, "--workers", 2)
        goal = n_kept(storm) + rng.randint(0, 1)
        deadline = time.monotonic() + 120
        while n_kept(storm) <= goal and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.1 * rng.random())
        assert n_kept(storm) >= seen, "a finished run was lost"
        seen = n_kept(storm)
        if kill_one(targets[-1], driver, rng):
            targets.pop()
    if driver.poll() is None:
        driver.kill()
        driver.communicate()
    last = recoup("bench", "run", plan, "--store", storm, "--workers", 2, "--retry-failed")
    code, out, err = finish(last)
    assert code == 0, err + out
    assert results(storm) == results(calm)
    assert {row["status"] for row in results(storm)} == {"done"}
    assert len(results(storm)) == N_MANY
    # Only what was under way is done again, on two workers at most, and the killed driver's last.
    assert 2 * N_MANY <= len(log.read_text()) <= 2 * (N_MANY + n_kills + 1)


def test_what_kills_a_run_is_written_down_and_the_rest_is_done(recoup, write_plan, tmp_path):
    log = tmp_path / "attempts"
    plan = write_plan(f"""
        datasets: [iris]
        label_frequencies: [0.5]
        seeds: [1]
        limits: {{time: 8s, memory: 450MB}}
        learners:
          - crashes
          - hungry
          - hangs
          - fails
          - misnamed
          - {{key: strange, grid: {{kind: [array, huge]}}}}
          - orphans
          - {{key: kills-worker, params: {{log: {log}, column: 1}}}}
          - quick
    """)
    run = recoup("bench", "run", plan, "--store", "runs.sqlite", "--workers", 2, "--json")
    code, out, err = finish(run)
    assert code == 1, err
    assert "distributed" not in err
    assert "Traceback" not in err
    rows = Store(tmp_path / "runs.sqlite").rows()
    reasons = {key: {row["reason"] for row in rows if row["key"] == key} for key in KEYS}
    assert reasons["crashes"] == {"Crashed: Segmentation fault (SIGSEGV)."}
    assert reasons["hungry"] == {"Ended at 0.45 GB, the limit of memory."}
    assert reasons["hangs"] == {"Ended after 8 s, the limit of time."}
    assert reasons["fails"] == {"RuntimeError: no luck"}
    assert reasons["misnamed"] == {"RuntimeError: no /home/jos\\udce9"}
    kept = "The run ended, but what it left cannot be kept. A store needs best_epoch to be"
    assert reasons["strange"] == {
        f"{kept} a number. Got [0, 1, 2].",
        f"{kept} a whole number of 64 bits. Got {10**30}.",
    }
    assert reasons["orphans"] == {"Crashed: Segmentation fault (SIGSEGV)."}
    assert reasons["kills-worker"] == {"Its worker died 3 times while at it."}
    assert [row["status"] for row in rows if row["key"] == "quick"] == ["done"]
    # Tried once, and then twice more.
    assert len(log.read_text()) == 3
    found = json.loads(out)
    assert (found["done"], found["failed"]) == (1, 9)
    assert len(found["problems"]) == 9

    # Failed runs are kept, and count as failed until they are asked for again.
    code, out, _ = finish(recoup("bench", "run", plan, "--store", "runs.sqlite", "--json"))
    assert code == 1
    assert (json.loads(out)["cached"], json.loads(out)["failed"]) == (1, 9)


def test_a_second_driver_is_refused_and_an_interrupt_loses_nothing(recoup, write_plan, tmp_path):
    plan = write_plan("""
        datasets: [iris]
        label_frequencies: [0.5]
        seeds: [1, 2, 3, 4, 5, 6]
        learners: [{key: quick, params: {wait: 0.3}}, {key: quick, params: {wait: 120}}]
    """)
    store = tmp_path / "plan.sqlite"
    first = recoup("bench", "run", plan, "--workers", 1)
    deadline = time.monotonic() + 60
    while n_kept(store) < 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    code, _, err = finish(recoup("bench", "run", plan, "--workers", 1))
    assert code == 2
    assert err.startswith(f"recoup: Another process writes to plan.sqlite (process {first.pid}).")
    assert err.count("\n") == 1
    below = descendants(first.pid)
    # A worker that is only just starting would print a traceback.
    assert [holds_back(pid, signal.SIGINT) for pid in workers_of(first.pid)] == [True]
    assert not holds_back(first.pid, signal.SIGINT)
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does
    code, _, err = finish(first)
    assert code == 130
    assert "What was finished is kept in plan.sqlite" in " ".join(err.split())
    # On a busy machine, a line may have told how far it was.
    assert len([line for line in err.splitlines() if " cached, " not in line]) <= 2
    assert Store(store).counts()["done"] >= 1
    deadline = time.monotonic() + 20
    while [pid for pid in below if "recoup" in command(pid)] and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [command(pid) for pid in below if "recoup" in command(pid)] == []


@pytest.fixture
def dask(environment, tmp_path):
    """Start ``dask ...`` in the background, as on machines of a cluster."""

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        started.append(process)
        return process

    started = []
    yield start
    for process in reversed(started):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_cluster_is_free_again_after_an_interrupt(recoup, write_plan, dask, tmp_path):
    shared = "datasets: [iris], label_frequencies: [0.5]"
    slow = write_plan(f"{{{shared}, learners: [hangs]}}", "slow.yaml")
    quick = write_plan(f"{{{shared}, learners: [quick], seeds: [1, 2]}}")
    where = tmp_path / "where.json"
    here = ("--host", "127.0.0.1", "--port", "0")
    dask("scheduler", *here, "--no-dashboard", "--scheduler-file", where)
    wait_for(where.exists)
    address = json.loads(where.read_text())["address"]
    first = recoup("bench", "run", slow, "--scheduler", address)
    assert "There is no worker yet" in first.stderr.readline()
    worker = dask("worker", address, "--nthreads", "1", "--no-dashboard")

    def works():
        return any("bench.worker" in command(pid) for pid in descendants(worker.pid))

    wait_for(works)
    os.killpg(first.pid, signal.SIGINT)
    assert finish(first)[0] == 130
    wait_for(lambda: not works())
    code, _, err = finish(recoup("bench", "run", quick, "--scheduler", address))
    assert code == 0, err
    assert Store(tmp_path / "plan.sqlite").counts()["done"] == 2


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that takes no files")
def test_a_folder_that_takes_no_files_is_said_in_one_line(recoup, write_plan):
    plan = write_plan("{datasets: [iris], learners: [naive]}")
    code, _, err = finish(recoup("bench", "run", plan, "--store", "/proc/runs.sqlite"))
    assert code == 2
    assert err.startswith("recoup: Cannot write /proc/runs.sqlite: ")
    assert err.count("\n") == 1


def test_an_interrupt_does_not_wait_for_a_frozen_worker(recoup, write_plan, dask, tmp_path):
    slow = write_plan("{datasets: [iris], label_frequencies: [0.5], learners: [hangs]}")
    where = tmp_path / "where.json"
    here = ("--host", "127.0.0.1", "--port", "0")
    dask("scheduler", *here, "--no-dashboard", "--scheduler-file", where)
    wait_for(where.exists)
    address = json.loads(where.read_text())["address"]
    worker = dask("worker", address, "--nthreads", "1", "--no-dashboard")
    driver = recoup("bench", "run", slow, "--scheduler", address)
    wait_for(lambda: any("bench.worker" in command(pid) for pid in descendants(worker.pid)))
    os.killpg(worker.pid, signal.SIGSTOP)
    os.killpg(driver.pid, signal.SIGINT)
    assert finish(driver, timeout=60)[0] == 130


def test_too_few_file_handles_are_said_in_one_line(monkeypatch):
    resource = pytest.importorskip("resource")
    limits, asked = (64, 1000), []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, wanted: asked.append(wanted))
    check_file_handles(8)
    assert asked == [(120, 1000)]
    limits = (64, 64)
    with pytest.raises(InvalidInputError, match=r"about 120 open files for 8 .* --workers 2"):
        check_file_handles(8)
    check_file_handles(2)
    assert len(asked) == 1
