"""Own files in plans: labels as they came, true classes, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from recoup.bench import Job, Plan, Store, own_file, read_plan, run_plan
from recoup.exceptions import InvalidInputError
from recoup.report.leaderboard.site import write_site

LEARNERS = ["naive", "elkan-noto", "pu-aul", "weighted", "oracle"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    rng = np.random.default_rng(0)
    y = rng.random(500) < 0.4
    frame = pd.DataFrame(
        {
            "amount": np.exp(rng.normal(1.5 * y)),
            "country": np.where(rng.random(500) < 0.3 + 0.4 * y, "fr", "de"),
            "flagged": np.where(y & (rng.random(500) < 0.5), "yes", "no"),
            "kind": np.where(y, "fraud", "fine"),
        }
    )
    frame.drop(columns="kind").to_csv(place / "my.csv", index=False)
    frame.drop(columns="flagged").to_csv(place / "truth.csv", index=False)
    return place


def labeled(folder, **more):
    return {"file": str(folder / "my.csv"), "label": "flagged", "positive": "yes"} | more


@pytest.fixture(scope="module")
def store(folder):
    plan = folder / "plan.yaml"
    plan.write_text(
        "datasets: [{file: my.csv, label: flagged, positive: yes}]\n"
        f"learners: [{', '.join(LEARNERS)}]\nseeds: [1, 2]\n"
    )
    path = folder / "plan.sqlite"
    outcome = run_plan(read_plan(plan), path, workers=1)
    assert (outcome.done, outcome.failed) == (8, 0)
    return path


def test_labels_alone_rank_learners_by_recovered_metrics(store):
    rows = Store(store).rows()
    done = [row for row in rows if row["status"] == "done"]
    assert {row["learner"] for row in done} == set(LEARNERS) - {"oracle"}
    for row in done:
        assert row["dataset"] == "my.csv"
        assert row["roc_auc"] is None
        assert 0.6 < row["recovered_roc_auc"] < 1
        assert row["n_test"] == 500
        assert row["alpha_true"] is None
    # One alpha judges all.
    assert len({row["alpha_estimate"] for row in done}) == 1
    (reason,) = {row["reason"] for row in rows if row["status"] == "skipped"}
    assert "needs true classes" in reason


def test_the_leaderboard_says_which_learner(store, folder):
    out = folder / "site"
    index = write_site(Store(store).rows(), Store(store).details, out, baseline="naive")
    text = index.read_text()
    island = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert all(one["key"].startswith("recovered_") for one in island["metrics"])
    ranked = {
        entry["metric"]: len(entry["ranks"]) for entry in island["standings"] if entry["ranks"]
    }
    assert ranked["recovered_roc_auc"] == 4
    assert island["levels"]["label_frequency"] == ["unknown"]


def test_true_classes_are_hidden_and_measured(folder):
    plan = Plan(
        datasets=[{"file": str(folder / "truth.csv"), "y": "kind", "positive": "fraud"}],
        label_frequencies=[0.5],
        learners=["naive"],
    )
    run_plan(plan, folder / "truth.sqlite", workers=1)
    (row,) = Store(folder / "truth.sqlite").rows()
    assert row["status"] == "done", row["reason"]
    assert row["roc_auc"] > 0.7
    assert row["alpha_true"] is not None


def test_a_run_is_known_by_the_content_of_its_file(folder, tmp_path):
    def run_of(file):
        (job,) = Plan(datasets=[file], learners=["naive"]).jobs()
        assert Job.of(json.loads(json.dumps(job.definition))) == job
        return job.run

    here = run_of(labeled(folder))
    text = (folder / "my.csv").read_text()
    (tmp_path / "my.csv").write_text(text)
    elsewhere = labeled(tmp_path)
    assert run_of(elsewhere) == here
    (tmp_path / "my.csv").write_text(text.replace("fr", "es"))
    assert run_of(elsewhere) != here
    assert run_of(labeled(folder, features="amount")) != here


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"datasets": ["my.csv"]}, "needs columns to read 'my.csv' by"),
        ({"datasets": [{"label": None}]}, "either label.*Got neither"),
        ({"datasets": [{"y": "kind"}]}, "either label.*Got both"),
        ({"datasets": [{"label": "flag"}]}, "no column"),
        ({"datasets": [{"positive": "maybe"}]}, "at least 20 rows.*Got 0 of 500"),
        ({"datasets": [{"positive": []}]}, "1 .labeled positive."),
        ({"datasets": [{}, {"features": "amount"}]}, "different names"),
        ({"datasets": [{}], "protocols": "oracle"}, "the protocol honest alone"),
        ({"datasets": [{}], "schemes": "case-control-overlap"}, "single-sample or case-control"),
        (
            {"datasets": [{}], "learners": [{"key": "weighted", "params": {"alpha": "known"}}]},
            "alpha is a number or estimated",
        ),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(folder, given, words):
    asked = {"learners": ["naive"]} | given
    asked["datasets"] = [
        one if isinstance(one, str) else labeled(folder, **one) for one in asked["datasets"]
    ]
    with pytest.raises((InvalidInputError, ValueError), match=words):
        Plan(**asked)


def test_a_file_that_changed_under_way_is_noticed(folder, tmp_path):
    (tmp_path / "my.csv").write_text((folder / "my.csv").read_text())
    plan = Plan(datasets=[labeled(tmp_path)], learners=["naive"])
    jobs = plan.jobs()
    (tmp_path / "my.csv").write_text((folder / "my.csv").read_text().replace("fr", "es"))
    own_file._read.cache_clear()  # as in another process
    with pytest.raises(InvalidInputError, match="has changed since"):
        own_file.read_own(jobs[0].file)
