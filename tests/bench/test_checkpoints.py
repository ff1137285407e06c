"""Weights are kept whenever they are the best so far, in a file for each run."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from recoup.bench import Job, Plan, run_plan
from recoup.bench.checkpoints import keeping
from recoup.bench.trial import measure_trial
from recoup.exceptions import InvalidInputError

JOB = Job("iris", "case-control", "scar", 0.8, 0.0, "nnpu", {"epochs": 3}, 2, "pubench")


def moment(best, value):
    return SimpleNamespace(best=best, weights=lambda: {"network_.weight": torch.full((2,), value)})


def test_only_better_weights_take_the_place_of_those_before(tmp_path):
    keep = keeping(tmp_path / "new", "abc")
    for best, value, found in ((False, 0.0, None), (True, 1.0, 1.0), (False, 2.0, 1.0)):
        keep(moment(best, value))
        file = tmp_path / "new" / "abc.safetensors"
        assert file.exists() == (found is not None)
        if found is not None:
            assert load_file(file)["network_.weight"].tolist() == [found, found]
    keep(moment(True, 3.0))
    assert load_file(file)["network_.weight"].tolist() == [3.0, 3.0]
    assert [path.name for path in file.parent.iterdir()] == ["abc.safetensors"]


def test_a_run_keeps_weights_and_is_not_changed_by_that(tmp_path):
    plain, _ = measure_trial(JOB.definition)
    row, _ = measure_trial(JOB.definition, checkpoints=str(tmp_path))
    assert row["accuracy"] == plain["accuracy"]
    kept = load_file(tmp_path / f"{JOB.run}.safetensors")
    assert all(name.startswith("network_.") for name in kept)
    assert all(np.isfinite(part.numpy()).all() for part in kept.values())


def test_a_plan_keeps_weights_on_request(tmp_path):
    plan = Plan(
        datasets=["iris"],
        learners=[{"key": "nnpu", "params": {"epochs": 2}}, "naive"],
        label_frequencies=[0.8],
        seeds=[2],
        protocols=["honest"],
    )
    folder = tmp_path / "weights"
    outcome = run_plan(plan, tmp_path / "runs.sqlite", workers=1, checkpoints=folder)
    assert not outcome.problems
    assert [path.stem for path in folder.iterdir()] == [
        job.run for job in plan.jobs() if job.key == "nnpu"
    ]


def test_the_file_has_the_name_of_the_training_that_it_comes_from(tmp_path):
    oracle = replace(JOB, protocol="oracle")
    measure_trial(oracle.definition, checkpoints=str(tmp_path))
    (file,) = tmp_path.iterdir()
    assert file.stem == replace(JOB, protocol="honest").run


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_trained(tmp_path):
    (tmp_path / "file").write_text("")
    plan = Plan(datasets=["iris"], learners=["nnpu"], label_frequencies=[0.8])
    with pytest.raises(InvalidInputError, match="cannot keep checkpoints"):
        run_plan(plan, tmp_path / "runs.sqlite", checkpoints=tmp_path / "file")
    assert not (tmp_path / "runs.sqlite").exists()
