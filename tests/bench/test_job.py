"""A run is known by what defines it, and skipped if its learner cannot do it."""

from dataclasses import replace

import pytest

from recoup.bench import Job

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
