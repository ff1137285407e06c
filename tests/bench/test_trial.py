"""One run: the same rows for all learners, no classes before the end, the same numbers twice."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as supervised

from recoup._core.registry import registered
from recoup.bench import Job, Plan, trial, trial_data
from recoup.bench.measure import distributions, recovered_metrics, true_metrics
from recoup.bench.record import measured_columns
from recoup.bench.trial_data import draw_rows
from recoup.bench.worker import execute
from recoup.learners import NNPU

BASE = Job("iris", "single-sample", "scar", 0.5, 0.0, "naive", {}, 2, "honest")
REFERENCES = {key for key, cls in registered("learners").items() if cls.tags.requires_true_labels}
HONEST = sorted(set(registered("learners")) - REFERENCES - {"propensity-weighted"})
# Enough to go through all stages of each, and no more.
SHORT = {
    "epochs": 2,
    "warm_up_epochs": 1,
    "pretraining_steps": 5,
    "steps_per_round": 5,
    "steps_per_epoch": 3,
    "trend_epochs": 2,
    "least_steps": 5,
    "passes": 1,
    "fence_epochs": 1,
    "n_estimators": 5,
    "max_iter": 3,
}


def short(key, **changes):
    import inspect

    takes = inspect.signature(registered("learners")[key]).parameters
    params = {name: value for name, value in SHORT.items() if name in takes}
    if key == "self-pu":
        params["epochs"] = 5
    return replace(
        BASE, key=key, params=params, dataset="breast_cancer", label_frequency=0.8, **changes
    )


class TouchedError(Exception):
    """True classes were looked at too early."""


class Poisoned:
    """Classes that nobody may look at until they are released."""

    released = False

    def __init__(self, values):
        self.__dict__["_values"] = values

    def __getattr__(self, name):
        if not Poisoned.released:
            raise TouchedError(name)
        return getattr(self._values, name)

    def _refuse(self, *args, **kwargs):
        if not Poisoned.released:
            raise TouchedError
        return np.asarray(self._values)

    __array__ = _refuse

    def __len__(self):
        return len(self._refuse())

    def __iter__(self):
        return iter(self._refuse())

    def __getitem__(self, place):
        return self._refuse()[place]

    def __eq__(self, other):
        return self._refuse() == other

    __hash__ = None


@pytest.fixture
def poisoned(monkeypatch):
    """Poison the classes once rows are drawn; they are released for the final evaluation."""
    Poisoned.released = False

    def drawn(job):
        found = draw_rows(job)
        parts = {
            name: Poisoned(getattr(found.classes, name)) for name in ("train", "choose", "test")
        }
        return replace(found, classes=trial_data.Classes(**parts))

    def evaluated(y_true, scores, predicted):
        Poisoned.released = True
        return true_metrics(np.asarray(y_true), scores, predicted)

    monkeypatch.setattr(trial, "draw_rows", drawn)
    monkeypatch.setattr(trial, "true_metrics", evaluated)


@pytest.mark.parametrize("key", HONEST)
def test_an_honest_run_looks_at_no_class_before_the_end(poisoned, key):
    found = execute(trial.measure_trial, short(key).definition)
    assert found["status"] == "done", found["reason"]
    assert 0 <= found["row"]["roc_auc"] <= 1


@pytest.mark.parametrize(
    ("key", "protocol"), [("nnpu", "pubench"), ("pn", "honest"), ("oracle", "honest")]
)
def test_the_poison_works_where_classes_are_used(poisoned, key, protocol):
    found = execute(trial.measure_trial, short(key, protocol=protocol).definition)
    assert found["status"] == "failed"
    assert "TouchedError" in found["reason"]


def test_two_fits_give_the_same_numbers():
    for key in ("nnpu", "bagging-pu", "vpu"):
        job = short(key, mechanism="s2", scheme="case-control")
        twice = [execute(trial.measure_trial, job.definition) for _ in range(2)]
        names = [name for name in measured_columns() if not name.startswith(("seconds", "peak"))]
        one, other = ({name: found["row"].get(name) for name in names} for found in twice)
        assert one == other
        assert one["accuracy"] is not None
        assert twice[0]["details"]["distributions"] == twice[1]["details"]["distributions"]


@pytest.mark.parametrize("scheme", ["single-sample", "case-control", "case-control-overlap"])
@pytest.mark.parametrize("mechanism", ["scar", "s2"])
def test_rows_are_those_of_the_cell(scheme, mechanism):
    job = replace(BASE, dataset="breast_cancer", scheme=scheme, mechanism=mechanism, noise=0.1)
    first, second = draw_rows(job), draw_rows(replace(job, key="weighted", protocol="oracle"))
    assert first is second
    other = draw_rows(replace(job, seed=3))
    assert not np.array_equal(first.X_test, other.X_test)
    assert first.alpha == first.classes.train[first.s == 0].mean()
    assert first.beta == first.classes.train[first.s == 1].mean() < 1
    assert not first.X.flags.writeable
    # No test row is trained on; metrics are recovered from some of them, labeled likewise.
    seen = {row.tobytes() for row in first.X}
    assert not seen & {row.tobytes() for row in first.X_test}
    assert set(first.sample) <= set(range(len(first.X_test)))
    assert 0.5 < first.s_sample.mean() / first.s.mean() < 2


def test_one_training_answers_honest_and_oracle():
    honest = short("nnpu", scheme="case-control")
    oracle = replace(honest, protocol="oracle")
    assert honest.training == oracle.training
    found = execute(trial.measure_trial, honest.definition)
    (rider,) = found["also"]
    assert Job.of(rider["definition"]) == oracle
    alone = execute(trial.measure_trial, oracle.definition)
    for name in ("accuracy", "macro_f1", "roc_auc", "best_epoch", "recovered_accuracy"):
        assert rider["row"][name] == alone["row"][name]
    curves = found["details"]["curves"]
    reached = [epoch["choose_macro_f1"] for epoch in curves]
    assert rider["row"]["best_epoch"] == 1 + int(np.argmax(reached))
    best = curves[rider["row"]["best_epoch"] - 1]
    assert best["test_macro_f1"] == pytest.approx(rider["row"]["macro_f1"])
    assert best["test_accuracy"] == pytest.approx(rider["row"]["accuracy"])
    assert all(epoch["memory"] >= 0 for epoch in curves)


def test_learners_without_weights_to_select_train_alone():
    job = short("weighted")
    assert job.training != replace(job, protocol="oracle").training
    assert execute(trial.measure_trial, job.definition)["also"] == []


def test_pubench_takes_no_training_rows_away(monkeypatch):
    job = short("nnpu", scheme="case-control-overlap", protocol="pubench", alpha="released")
    rows = draw_rows(job)
    learner, more = trial._ready(job, rows, "cpu")
    assert (learner.patience, learner.standardize) == (10, False)
    assert learner.alpha == pytest.approx(np.mean(rows.classes.train))
    assert learner.alpha != rows.alpha
    trained = []
    monkeypatch.setattr(type(learner), "_prepare", lambda self, rows: trained.append(rows))
    learner.fit(rows.X, rows.s, **more)
    assert len(trained[0].labeled) == rows.s.sum()
    assert len(trained[0].population) == (rows.s == 0).sum()
    found = execute(trial.measure_trial, job.definition)
    assert found["also"] == []
    reached = [epoch["selection"] for epoch in found["details"]["curves"]]
    assert found["row"]["best_epoch"] == 1 + int(np.argmax(reached))


def test_alpha_goes_only_to_learners_that_need_one():
    for key, needs in (("nnpu", True), ("p3mix", False)):
        job = short(key, alpha="known")
        learner, _ = trial._ready(job, draw_rows(job), "cpu")
        assert (learner.alpha == draw_rows(job).alpha) == needs


def test_who_goes_by_no_alpha_is_judged_with_what_a_user_has():
    """Not with the true alpha, unless the plan says that it is known."""
    found = {
        alpha: execute(trial.measure_trial, short("vpu", alpha=alpha).definition)["row"]
        for alpha in ("known", "own")
    }
    assert {row["alpha_used"] for row in found.values()} == {None}
    assert found["known"]["accuracy"] == found["own"]["accuracy"]
    scores = [row["recovered_accuracy"] for row in found.values()]
    assert scores[0] is not None
    assert scores[0] != scores[1]


def test_scoring_the_test_rows_is_no_memory_of_the_fit():
    with trial.PeakMemory("cpu") as peak:
        peak.lap()
        taken = np.ones(40_000_000)
        assert taken.sum() > 0
        del taken
        peak.forget()
        later = peak.lap()["memory"]
    assert max(later, peak.main) < 100e6


def test_own_alpha_is_estimated_once_for_all_learners(monkeypatch, tmp_path):
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path))
    trial_data._estimated.cache_clear()
    jobs = [short(key, alpha="own") for key in ("nnpu", "pusb")]
    rows = draw_rows(jobs[0])
    plain = (
        NNPU()
        .set_params(alpha="estimate")
        ._known_alpha(rows.X, rows.s, jobs[0].seeds["labels"], "test")[0]
    )
    alphas = [trial._ready(job, rows, "cpu")[0].alpha for job in jobs]
    assert alphas == [plain, plain]
    found = execute(trial.measure_trial, jobs[0].definition)["row"]
    assert found["alpha_used"] == found["alpha_estimate"] == plain
    # What another process has found is taken; a damaged file is not.
    (kept,) = tmp_path.glob("alphas/*.json")
    kept.write_text(json.dumps({"alpha": 0.125}))
    trial_data._estimated.cache_clear()
    assert trial_data.cell_alpha(jobs[1]) == 0.125
    kept.write_text("{")
    trial_data._estimated.cache_clear()
    assert trial_data.cell_alpha(jobs[1]) == plain


def test_test_rows_do_not_depend_on_labels():
    one = draw_rows(replace(BASE, label_frequency=0.3))
    other = draw_rows(replace(BASE, label_frequency=0.6, mechanism="s2"))
    assert np.array_equal(one.X_test, other.X_test)


@pytest.mark.data
def test_groups_stay_on_one_side(data_folder, monkeypatch):
    monkeypatch.setenv("RECOUP_DATA", str(data_folder))
    dataset = trial_data._loaded("parkinsons_telemonitoring")
    parts = trial_data._split(dataset, 0)
    on_test = set(parts.test.groups.tolist())
    assert on_test
    assert not on_test & set(parts.train.groups.tolist())
    assert 0.1 < len(parts.test) / len(dataset) < 0.3


def test_what_is_not_at_hand_is_skipped(monkeypatch, tmp_path):
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path))
    monkeypatch.setattr(trial_data, "_absent", {})
    trial_data._loaded.cache_clear()
    job = replace(BASE, dataset="batteryless_s1")
    found = execute(trial.measure_trial, job.definition)
    assert found["status"] == "skipped"
    assert "RECOUP_DATA" in found["reason"]
    assert "batteryless_s1" in trial_data._absent


def test_what_a_learner_refuses_is_skipped():
    found = execute(trial.measure_trial, replace(BASE, key="mpe-pu").definition)
    assert found["status"] == "skipped"
    assert "labeled rows" in found["reason"]


def test_what_cannot_be_drawn_is_skipped():
    found = execute(trial.measure_trial, replace(BASE, label_frequency=0.001).definition)
    assert found["status"] == "skipped"
    assert "at least one" in found["reason"]


def test_a_row_has_all_that_was_measured():
    found = execute(trial.measure_trial, short("nnpu").definition)
    row, details = found["row"], found["details"]
    missing = {name for name in measured_columns() if row.get(name) is None}
    assert missing <= {"peak_gpu_memory", "recovered_precision", "alpha_estimate"}
    assert row["epochs"] == len(details["curves"]) == 2
    # At least its weights, their gradients, the two moments of Adam and the best weights so far.
    n_weights = 30 * 512 + 512 * 256 + 256 * 128 + 128 * 64
    assert row["peak_memory"] > 5 * 4 * n_weights
    assert row["alpha_used"] == row["alpha_true"]
    assert details["versions"]["recoup"]
    assert details["hardware"]["cores"] >= 1
    assert set(details["seeds"]) == {"split", "labels", "fit"}


def test_oracle_propensities_reach_the_learner_that_takes_them():
    job = replace(
        BASE, key="propensity-weighted", dataset="breast_cancer", mechanism="s2", protocol="oracle"
    )
    assert execute(trial.measure_trial, job.definition)["status"] == "done"


def test_a_ranking_without_threshold_has_the_metrics_of_a_ranking():
    row = execute(
        trial.measure_trial, replace(BASE, key="pu-aul", dataset="breast_cancer").definition
    )["row"]
    assert row["roc_auc"] > 0.5
    assert row.get("accuracy") is None
    assert row["recovered_roc_auc"] is not None
    assert row["recovered_accuracy"] is None


def test_true_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.4).astype(int)
    scores = rng.normal(size=200) + y
    predicted = (scores > 0.5).astype(int)
    found = true_metrics(y, scores, predicted)
    assert found["accuracy"] == np.mean(y == predicted)
    tp, fp, fn = (np.sum((y == a) & (predicted == b)) for a, b in ((1, 1), (0, 1), (1, 0)))
    assert found["precision"] == pytest.approx(tp / (tp + fp))
    assert found["recall"] == pytest.approx(tp / (tp + fn))
    assert found["f1"] == pytest.approx(2 * tp / (2 * tp + fp + fn))
    assert found["macro_f1"] == pytest.approx(
        (found["f1"] + supervised.f1_score(1 - y, 1 - predicted)) / 2
    )
    pairs = scores[y == 1][:, None] - scores[y == 0]
    assert found["roc_auc"] == pytest.approx(np.mean(pairs > 0))
    assert found["aul"] == pytest.approx(y.mean() / 2 + (1 - y.mean()) * found["roc_auc"])


def test_recovered_metrics_are_right_where_labels_are_many():
    rng = np.random.default_rng(0)
    y = (rng.random(200_000) < 0.4).astype(int)
    s = np.where(rng.random(len(y)) < 0.5, y, 0)
    scores = rng.normal(size=len(y)) + 2 * y
    predicted = (scores > 1).astype(int)
    alpha = float(y[s == 0].mean())
    found = recovered_metrics(s, scores, predicted, alpha=alpha, beta=1.0, design="single-sample")
    true = true_metrics(y, scores, predicted)
    for name, value in found.items():
        assert value == pytest.approx(true[name.removeprefix("recovered_")], abs=0.01)
    nothing = recovered_metrics(s, scores, predicted, alpha=1.0, beta=1.0, design="case-control")
    assert set(nothing.values()) == {None}


def test_distributions_count_every_row():
    rng = np.random.default_rng(0)
    test, train = rng.normal(size=300), rng.normal(size=500)
    y_test, y_train = (rng.random(300) < 0.5).astype(int), (rng.random(500) < 0.5).astype(int)
    s = np.where(rng.random(500) < 0.3, y_train, 0)
    found = distributions(test, y_test, train, s, y_train, np.full(500, 0.3))
    assert len(found["edges"]) == 41
    assert sum(found["test_positive"]) == y_test.sum()
    assert sum(found["test_negative"]) == (y_test == 0).sum()
    assert sum(found["train_labeled"]) == s.sum()
    assert sum(found["train_hidden"]) == y_train[s == 0].sum()
    assert sum(found["train_negative"]) == (y_train[s == 0] == 0).sum()
    assert {round(value, 9) for value in found["propensity"] if value is not None} == {0.3}
    assert "estimated" not in found


def test_distributions_hold_the_chances_that_a_learner_estimates():
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=500), (rng.random(500) < 0.5).astype(int)
    s = np.where(rng.random(500) < 0.3, y, 0)
    estimated = np.where(s == 1, 1.0, 0.26)
    found = distributions(scores, y, scores, s, y, np.full(500, 0.3), estimated)
    assert found["chance_edges"][0] == 0
    assert found["chance_labeled"][-1] == s.sum()
    assert found["chance_hidden"][10] == y[s == 0].sum()
    assert all(0.26 <= value <= 1 for value in found["estimated"] if value is not None)


@pytest.mark.parametrize(("key", "estimates"), [("sar-em", True), ("naive", False)])
def test_a_run_keeps_the_chances_that_its_learner_estimates(key, estimates):
    plan = Plan(datasets=["iris"], label_frequencies=[0.5], learners=[key], seeds=[1])
    found = execute(trial.measure_trial, plan.jobs()[0].definition)
    assert ("estimated" in found["details"]["distributions"]) == estimates


def test_what_ran_before_in_a_process_changes_neither_time_nor_memory():
    """The first run pays for no import, and the second for nothing that the first left behind."""
    first = execute(trial.measure_trial, short("naive").definition)["row"]
    execute(trial.measure_trial, short("nnpu").definition)
    second = execute(trial.measure_trial, short("naive").definition)["row"]
    # Some megabytes are the allocator's; a library takes hundreds.
    assert first["peak_memory"] < 50e6
    assert second["peak_memory"] < 50e6
