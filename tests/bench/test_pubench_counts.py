"""The rows of the plan pubench-conventional, counted against Table D.1 of PU-Bench."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pubench_counts import NEED_NO_FILE, SUBSET, TABLE_D1, all_of_cifar10
from recoup.bench import trial_data
from recoup.bench.plan import read_plan
from recoup.bench.trial_data import draw_rows
from recoup.data import load

PLAN = read_plan("pubench-conventional")
CACHES = (trial_data._loaded, trial_data._prepared, trial_data._drawn)


@pytest.fixture
def numbered_rows(monkeypatch):
    """Real classes and parts, and as the only feature the number of each row.

    Counts depend on classes and parts alone, and the features of eight datasets are large.
    """

    @cache
    def light(name, task=None):
        dataset = all_of_cifar10() if name == "cifar10" else load(name, task=task)
        numbers = np.arange(len(dataset), dtype=float)[:, None]
        columns = {"feature_names": ("row",), "categorical": (), "meta": {}}
        return replace(dataset, X=numbers, kind="table", **columns)

    monkeypatch.setattr(trial_data, "load", light)
    for kept in CACHES:
        kept.cache_clear()
    yield
    for kept in CACHES:
        kept.cache_clear()


def drawn_for(name):
    """Return one job of the plan for each seed; the plan may have a part of CIFAR-10 alone."""
    in_plan = name if name in PLAN.datasets else "cifar10_20k_5k"
    jobs = {job.seed: job for job in PLAN.jobs() if job.dataset == in_plan}
    return [replace(job, dataset=name) for job in jobs.values()]


def test_the_plan_has_every_dataset_of_the_table():
    assert {"cifar10" if name in SUBSET else name for name in PLAN.datasets} == set(TABLE_D1)
    assert len(PLAN.datasets) == len(TABLE_D1)
    assert PLAN.seeds == (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in NEED_NO_FILE else pytest.mark.data)
        for name in TABLE_D1 | SUBSET
    ],
)
def test_the_plan_draws_the_rows_of_table_d1(name, numbered_rows):
    jobs = drawn_for(name)
    assert len(jobs) == 10
    for job in jobs:
        rows = draw_rows(job)
        labeled, unlabeled = rows.classes.train[rows.s == 1], rows.classes.train[rows.s == 0]
        found = (
            *(len(labeled), int(unlabeled.sum()), int((unlabeled == 0).sum())),
            len(rows.classes.choose),
            *(int(rows.classes.test.sum()), int((rows.classes.test == 0).sum())),
        )
        assert found == (TABLE_D1 | SUBSET)[name]
        assert labeled.all()
        # Every labeled row comes again, unlabeled; all others come once, in one part.
        again, once = rows.X[rows.s == 1], rows.X[rows.s == 0]
        assert np.isin(again, once).all()
        apart = np.concatenate([once, rows.X_choose, rows.X_test])
        assert len(np.unique(apart)) == len(apart)
        assert rows.released_alpha == pytest.approx(
            (len(labeled) + unlabeled.sum()) / len(rows.classes.train)
        )
