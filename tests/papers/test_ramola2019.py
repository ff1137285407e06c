"""The experiment of Ramola, Jain, Radivojac (2019)."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, matthews_corrcoef

from papers import reproduce
from papers.experiment import experiment
from papers.ramola2019.claims import METHODS, error_claims, study_claims
from papers.ramola2019.experiment import (
    BETAS,
    CORRECTED,
    DATASETS,
    METRICS,
    _errors,
    case_study,
    runs,
    sample_size,
)
from papers.ramola2019.page import _intro
from recoup._core.results import to_plain
from recoup.exceptions import InvalidInputError

DIRECT = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1": f1_score,
    "matthews_corrcoef": matthews_corrcoef,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return reproduce("ramola2019", "tiny", jobs=1, out=tmp_path_factory.mktemp("ramola2019"))


def test_case_study_to_six_digits():
    expected = {
        ("accuracy", "true"): (0.861251, 0.4236),
        ("accuracy", "PU"): (0.899995, 5.0),
        ("balanced_accuracy", "true"): (0.841345, 0.0),
        ("balanced_accuracy", "PU"): (0.670672, 0.0),
        ("f1", "true"): (0.766474, 0.1857),
        ("f1", "PU"): (0.302255, 0.5010),
        ("matthews_corrcoef", "true"): (0.664340, 0.2945),
        ("matthews_corrcoef", "PU"): (0.217456, 0.2945),
    }
    rows = {(row["metric"], row["method"]): row for row in case_study()}
    for key, (best, at) in expected.items():
        assert rows[key]["best"] == pytest.approx(best, abs=5e-7)
        assert rows[key]["at"] == pytest.approx(at, abs=5e-5)
        corrected = rows[key[0], "CR"]
        true = rows[key[0], "true"]
        assert corrected["best"] == pytest.approx(true["best"], abs=1e-12)
    # Where pi h1 = (1 - pi) h0.
    assert rows["accuracy", "true"]["at"] == pytest.approx(np.log(0.7 / 0.3) / 2, abs=1e-6)


def test_errors_are_those_at_the_chosen_threshold():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.3
    s = (y & (rng.random(3000) < 0.3)).astype(int)
    scores = (4 * rng.normal(1.5 * y)).round() / 4
    alpha = y[s == 0].mean()
    rows = [row for row in _errors(s, y.astype(int), scores, alpha, 1.0) if not row["failed"]]
    cuts = np.append(np.unique(scores), np.inf)
    for metric, direct in DIRECT.items():
        naive = [direct(s, scores >= cut) for cut in cuts]
        true = [direct(y, scores >= cut) for cut in cuts]
        row = next(row for row in rows if (row["method"], row["metric"]) == ("PU", metric))
        assert row["estimate"] == pytest.approx(max(naive))
        best = np.flatnonzero(np.isclose(naive, max(naive), atol=1e-12))
        assert any(row["true"] == pytest.approx(true[at]) for at in best)
        for row in rows:
            assert row["error"] == row["estimate"] - row["true"]
            assert METRICS[row["metric"]][0] <= row["estimate"] <= METRICS[row["metric"]][1]
    corrected = [row for row in rows if row["method"] == "CR" and row["curve"] == "formula"]
    for row in corrected:
        naive = next(
            other["error"]
            for other in rows
            if (other["method"], other["metric"]) == ("PU", row["metric"])
        )
        assert abs(row["error"]) < 0.06 < abs(naive)


@pytest.mark.parametrize(
    ("n", "positives", "expected"),
    [
        (50_000, 20_000, 10_000),
        (10_999, 5_000, 5_000),
        (11_000, 2_000, 10_000),
        (11_000, 1_999, 5_000),
        (4_839, 261, 1_000),
        (3_190, 767, 2_000),
    ],
)
def test_sample_sizes(n, positives, expected):
    assert sample_size(np.arange(n) < positives) == expected


def test_too_few_rows_for_any_sample():
    with pytest.raises(InvalidInputError, match="Got 1,000 rows with 500 positives"):
        sample_size(np.arange(1000) < 500)


def test_sizes_have_the_papers_protocol(monkeypatch, tmp_path, no_tables):
    for name in DATASETS:
        (tmp_path / f"{name}.parquet").touch()
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    for size, repetitions in (("quick", 2), ("full", 50)):
        data = runs(size)[1:]
        assert len(data) == 14 * repetitions
        assert {run.settings["n_members"] for run in data} == {100}
        assert all(run.settings["betas"] == [1.0, 0.9, 0.8, 0.7] for run in data)
    (tmp_path / "wilt.parquet").unlink()
    assert "wilt" not in {run.settings.get("dataset") for run in runs("quick")}


def test_no_data_at_all(monkeypatch, tmp_path, no_tables):
    monkeypatch.setenv("RECOUP_DATA", str(tmp_path))
    monkeypatch.setenv("RECOUP_CACHE", str(tmp_path))
    with pytest.raises(InvalidInputError, match="reproduce ramola2019 needs at least one"):
        reproduce("ramola2019", "quick", out=tmp_path)


def test_tiny_size_measures_every_box(found):
    measured = [row for row in found.rows if "curve" in row]
    boxes = {(row["method"], row["metric"], row["beta"]) for row in measured}
    assert {box for box in boxes if box[0] in ("PU", "CR")} == {
        (method, metric, beta) for method in ("PU", "CR") for metric in METRICS for beta in BETAS
    }
    assert {box[0] for box in boxes} == set(METHODS)
    assert found.folder.joinpath("figure_1.png").is_file()
    assert found.folder.joinpath("figure_2.png").is_file()


def test_exact_claims_hold(found):
    verdicts = [claim.verdict for claim in found.page.claims]
    assert verdicts[:3] == ["holds"] * 3
    assert verdicts[-1] == "cannot be told"
    # Few networks are enough for the signs of errors that are not corrected.
    assert verdicts[3] == "holds"


def test_the_same_run_gives_the_same_rows(found):
    chosen = experiment("ramola2019")
    kept = [row for row in found.rows if "dataset" in row]
    assert to_plain(chosen.measure(chosen.runs("tiny")[1])) == kept


@pytest.mark.parametrize(
    ("method", "part", "claims"),
    [("true", "best", {0, 1}), ("PU", "at", {0, 2}), ("CR", "at", {1})],
)
def test_exact_claims_can_fail(method, part, claims):
    rows = case_study()
    next(row for row in rows if row["method"] == method and row["metric"] != "accuracy")[part] += (
        0.01
    )
    failed = [claim.verdict == "does not hold" for claim in study_claims(rows)]
    assert {number for number, bad in enumerate(failed) if bad} == claims


def made_up(errors, datasets=("abalone", "casp")):
    """Rows with the same errors on all datasets."""
    about = {"repetition": 0, "n_unlabeled": 1000, "true_alpha": 0.2, "failed": False, "task": "t"}
    return [
        {
            **about,
            "dataset": dataset,
            "beta": beta,
            "method": method,
            "curve": curve,
            "metric": metric,
            "error": errors(method, metric, beta, dataset),
            "fixed_error": 0.0,
        }
        for dataset in datasets
        for beta in BETAS
        for method in METHODS
        for metric in METRICS
        for curve in ("formula", "valid")
    ]


def published_errors(method, metric, beta, dataset):
    if method == "PU":
        return (1 if metric == "accuracy" else -1) * (0.3 - 0.2 * beta)
    return {"CR": 0.001, "CE alphamax": 0.02, "CE auto": 0.01}[method]


def verdicts(errors, datasets=("abalone", "casp")):
    claims = error_claims(made_up(errors, datasets), list(datasets))
    return [claim.verdict for claim in claims[:6]]


def test_verdicts_on_errors_as_published():
    assert verdicts(published_errors) == ["holds"] * 6


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        (0, lambda error, method, metric, beta: -error if metric == "f1" else error),
        (1, lambda error, method, metric, beta: error / (2 - beta) ** 4),
        (2, lambda error, method, *_: error + 0.0101 * (method == "CR")),
        (3, lambda error, method, *_: error * 20 if method == "CE alphamax" else error),
        (4, lambda error, method, *_: -error if method == "CE alphamax" else error),
        (5, lambda error, method, *_: error * 3 if method == "CE auto" else error),
    ],
)
def test_verdicts_can_fail(claim, change):
    def errors(method, metric, beta, dataset):
        return change(published_errors(method, metric, beta, dataset), method, metric, beta)

    assert verdicts(errors)[claim] == "does not hold"


def test_auto_is_judged_on_datasets_it_has_not_seen():
    def errors(method, metric, beta, dataset):
        error = published_errors(method, metric, beta, dataset)
        return error * 9 if method == "CE auto" and dataset == "abalone" else error

    assert verdicts(errors)[5] == "does not hold"
    assert verdicts(errors, ("casp",))[5] == "cannot be told"


def test_the_old_rule_of_near_perfect_recovery_is_told():
    def errors(method, metric, beta, dataset):
        return 0.02 if method == "CR" else 3 * published_errors(method, metric, beta, dataset)

    claim = error_claims(made_up(errors), ["abalone", "casp"])[2]
    assert claim.verdict == "holds"
    assert "says: does not hold, 0 of 16 boxes are." in claim.rule
    # 0.02 of 0.3
    assert claim.effect.value == pytest.approx(100 * 0.02 / 0.3)


def test_the_optimism_of_the_best_threshold_is_taken_off():
    rng = np.random.default_rng(1)
    gaps = {"valid": [], CORRECTED: []}
    for _ in range(30):
        y = rng.random(600) < 0.3
        s = (y & (rng.random(600) < 0.2)).astype(int)
        scores = rng.normal(0.7 * y)
        alpha = y[s == 0].mean()
        for row in _errors(s, y.astype(int), scores, alpha, 1.0):
            chosen = (row["method"], row.get("metric")) == ("CR", "matthews_corrcoef")
            if chosen and row["curve"] in gaps:
                gaps[row["curve"]].append(row["error"])
    assert len(gaps[CORRECTED]) == 30
    assert abs(np.mean(gaps[CORRECTED])) < 0.6 * np.mean(gaps["valid"])


def test_missing_datasets_are_named():
    intro = _intro(made_up(published_errors), [], ["abalone", "casp"], "full")
    assert "Left out, because their files are not at hand: covertype_sample, battery" in intro
    assert "abalone" not in intro
