"""In which order runs are handed out, and how long they are expected to take."""

from collections import deque

import pytest

from recoup.bench import Plan, Store
from recoup.bench.expected_time import Expected
from recoup.bench.runner import LAST_TURNS, _Driver, trials

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
