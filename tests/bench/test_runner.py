"""In which order runs are handed out, how long they are expected to take, and what can be run."""

import os
import time
from collections import deque
from dataclasses import dataclass

import pytest

from recoup.bench import Plan, Store
from recoup.bench.expected_time import Expected
from recoup.bench.job import hashed
from recoup.bench.runner import LAST_TURNS, Work, _Driver, run_work, trials
from recoup.exceptions import InvalidInputError

PLAN = Plan(datasets=["iris", "wine"], learners=["naive", "nnpu", "cgenpu"], seeds=[1, 2])


def store_with(path, seconds):
    """Write a store where some runs of the plan are done, by learner, dataset and seed."""
    store = Store(path)
    with store.writing():
        for job in PLAN.jobs():
            taken = seconds.get((job.key, job.dataset, job.seed))
            if taken is not None:
                store.write(job, {"status": "done", "row": {}, "elapsed": taken})
    return store


def expected(store):
    known = Expected(store)
    return {(job.key, job.dataset): known.seconds(job) for job in PLAN.jobs()}


def test_a_run_takes_what_runs_like_it_took(tmp_path):
    seconds = {("nnpu", "iris", 1): 2.0, ("nnpu", "iris", 2): 4.0, ("nnpu", "wine", 1): 9.0}
    found = expected(store_with(tmp_path / "runs.sqlite", seconds))
    assert found["nnpu", "iris"] == 3.0
    assert found["nnpu", "wine"] == 9.0


def test_a_learner_without_runs_takes_what_others_did_by_its_effort(tmp_path):
    found = expected(store_with(tmp_path / "runs.sqlite", {("nnpu", "iris", 1): 4.0}))
    assert found["nnpu", "wine"] == 4.0
    assert found["cgenpu", "iris"] == pytest.approx(30.0)
    assert found["naive", "iris"] == pytest.approx(1.0)


def test_nothing_is_expected_of_an_empty_store(tmp_path):
    store = Store(tmp_path / "runs.sqlite")
    assert Expected(store).all_seconds(PLAN.jobs(), 2) is None


def test_the_last_runs_are_handed_out_longest_first(tmp_path):
    with Store(tmp_path / "runs.sqlite").writing() as store:
        driver = _Driver(trials(PLAN, store), store, False, None, print)
    line = deque(driver.jobs)
    taken = [driver._next(line, 3).key for _ in driver.jobs]
    assert taken == ["cgenpu"] * 4 + ["nnpu"] * 4 + ["naive"] * 4


def test_before_the_end_runs_on_the_same_rows_follow_each_other(tmp_path):
    with Store(tmp_path / "runs.sqlite").writing() as store:
        driver = _Driver(trials(PLAN, store), store, False, None, print)
    line = deque(driver.jobs)
    n_before_the_end = len(line) - LAST_TURNS
    taken = [driver._next(line, 1) for _ in range(n_before_the_end)]
    assert taken == list(driver.jobs)[:n_before_the_end]


@dataclass(frozen=True)
class Square:
    """Work that has nothing to do with learners."""

    x: int
    skip: str | None = None
    known = {}  # noqa: RUF012  as of any class that does not change it

    @property
    def definition(self):
        return {"format": "square", "x": self.x}

    @property
    def run(self):
        return hashed(self.definition)

    def skip_reason(self):
        return self.skip


def squared(definition, device):
    x = definition["x"]
    if x == 3:
        raise RuntimeError("three is too many")
    if x == 4:
        raise InvalidInputError("four cannot be had")
    return {}, {"square": x * x, "pid": os.getpid(), "device": device}


SQUARES = [Square(x) for x in (1, 2, 3, 4)] + [Square(5, "nobody wants five")]


def squares(**changes):
    return Work("squaring", SQUARES, squared, **changes)


def test_anything_can_be_run_in_this_process(tmp_path):
    path = tmp_path / "runs.sqlite"
    outcome = run_work(squares(), path, here=True)
    assert (outcome.done, outcome.failed, outcome.skipped, outcome.left) == (2, 1, 2, 0)
    assert [(reason, job.x) for reason, job in outcome.problems] == [
        ("RuntimeError: three is too many", 3)
    ]
    assert outcome.reasons == {"four cannot be had": 1, "nobody wants five": 1}
    store = Store(path)
    kept = [store.details(job.run) for job in SQUARES[:2]]
    assert [(one["square"], one["pid"]) for one in kept] == [(1, os.getpid()), (4, os.getpid())]
    assert set(store.elapsed()) == {job.run for job in SQUARES[:2]}
    assert store.reasons("failed") == {SQUARES[2].run: "RuntimeError: three is too many"}
    # What was skipped is tried again, what failed only if asked for.
    again = run_work(squares(), path, here=True)
    assert (again.cached, again.done, again.failed, again.skipped) == (2, 0, 1, 2)
    retried = run_work(squares(), path, here=True, retry_failed=True)
    assert [reason for reason, _ in retried.problems] == ["RuntimeError: three is too many"]


def test_nothing_is_started_here_when_time_is_up(tmp_path):
    outcome = run_work(squares(), tmp_path / "runs.sqlite", here=True, limit=-1.0)
    assert (outcome.done, outcome.skipped, outcome.left) == (0, 1, 4)


def test_other_processes_find_what_this_one_imports(tmp_path, monkeypatch):
    """A module that lies in a folder of the path of this process, and of no other."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "doubling.py").write_text(
        "import os\ndef doubled(definition, device):\n"
        "    return {}, {'double': 2 * definition['x'], 'pid': os.getpid()}\n"
    )
    monkeypatch.syspath_prepend(folder)
    monkeypatch.chdir(tmp_path)
    from doubling import doubled

    jobs = [Square(1), Square(2)]
    outcome = run_work(Work("doubling", jobs, doubled), tmp_path / "runs.sqlite", workers=1)
    assert (outcome.done, outcome.problems) == (2, ())
    kept = [Store(tmp_path / "runs.sqlite").details(job.run) for job in jobs]
    assert [one["double"] for one in kept] == [2, 4]
    # One warm process did both.
    assert len({one["pid"] for one in kept} - {os.getpid()}) == 1


def test_what_takes_too_long_is_ended(tmp_path):
    def sleeping(definition, device):
        time.sleep(60 * (definition["x"] == 1))
        return {}, {}

    work = Work("sleeping", [Square(1), Square(2)], sleeping, seconds=1.0)
    outcome = run_work(work, tmp_path / "runs.sqlite", workers=1)
    assert [reason for reason, _ in outcome.problems] == ["Ended after 1 s, the limit of time."]
    assert outcome.done == 1
