"""A run is known by what defines it, and skipped if its learner cannot do it."""

from dataclasses import replace

import pytest

from recoup._core.registry import registered
from recoup.bench import Job
from recoup.bench.job import SELECTS_NOTHING, is_lent, takes_alpha

JOB = Job("iris", "single-sample", "scar", 0.5, 0.0, "nnpu", {"epochs": 5}, 2, "honest")
CHANGES = {
    "dataset": "wine",
    "scheme": "case-control",
    "mechanism": "s2",
    "label_frequency": 0.4,
    "noise": 0.1,
    "key": "pusb",
    "params": {"epochs": 6},
    "seed": 3,
    "protocol": "oracle",
}


@pytest.mark.parametrize("part", CHANGES)
def test_every_part_enters_the_hash(part):
    assert replace(JOB, **{part: CHANGES[part]}).run != JOB.run


def test_the_order_of_parameters_does_not():
    one = replace(JOB, params={"epochs": 5, "batch_size": 8})
    other = replace(JOB, params={"batch_size": 8, "epochs": 5})
    assert one.run == other.run
    assert len(one.run) == 16


@pytest.mark.parametrize("part", CHANGES)
def test_rows_depend_on_the_data_and_not_on_the_learner(part):
    seeds, others = JOB.seeds, replace(JOB, **{part: CHANGES[part]}).seeds
    of_learner = part in ("key", "params", "protocol")
    assert (seeds["labels"] == others["labels"]) == of_learner
    assert (seeds["split"] == others["split"]) == (part not in ("dataset", "seed"))
    assert (seeds["fit"] == others["fit"]) == (part == "protocol")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"protocol": "oracle"}, None),
        ({"key": "sar-em", "params": {}, "scheme": "case-control"}, "made for single-sample"),
        ({"key": "sar-em", "params": {}, "scheme": "case-control-overlap"}, "made for single"),
        ({"key": "naive", "params": {}, "protocol": "oracle"}, "its honest run is the same"),
        ({"key": "propensity-weighted", "params": {}}, "needs the true propensities"),
        ({"key": "propensity-weighted", "params": {}, "protocol": "oracle"}, None),
        ({"key": "propensity-weighted", "params": {"alpha": "known"}}, None),
        ({"key": "nothing", "params": {}}, "No learner 'nothing'"),
    ],
)
def test_what_a_learner_cannot_do_has_a_reason(changes, reason):
    found = replace(JOB, **changes).skip_reason()
    assert found is None if reason is None else reason in found


def test_reasons_have_codes():
    skipped = {
        "other-scheme": {"key": "sar-em", "params": {}, "scheme": "case-control"},
        "selects-nothing": {"key": "naive", "params": {}, "protocol": "oracle"},
        "true-propensities": {"key": "propensity-weighted", "params": {}},
        "not-installed": {"key": "nothing", "params": {}},
    }
    for code, changes in skipped.items():
        assert replace(JOB, **changes).skip_reason().code == code


@pytest.mark.parametrize(
    ("row", "lent"),
    [
        ({"status": "skipped", "code": "selects-nothing", "reason": "Other words."}, True),
        ({"status": "skipped", "code": "other-scheme", "reason": str(SELECTS_NOTHING)}, False),
        ({"status": "failed", "code": "selects-nothing", "reason": "Other words."}, False),
        # As they were written before reasons had codes.
        ({"status": "skipped", "reason": "No images."}, False),
        ({"status": "skipped", "reason": str(SELECTS_NOTHING)}, True),
        ({"status": "skipped", "code": "", "reason": str(SELECTS_NOTHING)}, True),
        ({"status": "skipped", "code": None, "reason": None}, False),
    ],
)
def test_codes_say_what_an_honest_run_stands_in_for(row, lent):
    assert is_lent(row) is lent


def test_methods_that_were_published_without_alpha_are_not_told_it():
    told = {key for key in registered("learners") if takes_alpha(key)}
    untold = {"cgenpu", "holistic-pu", "lbe", "mpe-pu", "p3mix", "pan", "vpu", "pn", "naive"}
    assert not told & untold
    assert {"nnpu", "pusb", "dist-pu", "pulda", "self-pu", "robust-pu", "vae-pu"} <= told


def test_modes_are_run_with_the_settings_of_pu_bench_for_them():
    cell = ("iris", "case-control", "scar", 0.5, 0.0)
    presets = [Job(*cell, "p3mix", {"mode": mode}, 2, "pubench").used_preset for mode in ("e", "c")]
    assert presets == ["pubench", "pubench-c"]
