"""evaluate: one call, all metrics, honest uncertainty."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from sklearn import metrics as sk

from recoup import ScoreTable, evaluate, metrics
from recoup.exceptions import ClippedEstimateWarning, InfeasiblePriorWarning, InvalidInputError
from strategies import gaussian_rows


@pytest.fixture(scope="module")
def rows():
    return gaussian_rows(np.random.default_rng(0), 20_000, 0.3, 0.3)


@pytest.fixture(scope="module")
def evaluation(rows):
    s, scores, y_true = rows
    return evaluate(s, scores, alpha=y_true[s == 0].mean(), n_boot=400)


def test_intervals_hold_the_truth_of_a_large_sample(rows, evaluation):
    _, scores, y_true = rows
    y_pred = (scores >= 0.5).astype(int)
    truth = {
        "roc_auc": sk.roc_auc_score(y_true, scores),
        "average_precision": sk.average_precision_score(y_true, scores),
        "accuracy": sk.accuracy_score(y_true, y_pred),
        "balanced_accuracy": sk.balanced_accuracy_score(y_true, y_pred),
        "precision": sk.precision_score(y_true, y_pred),
        "recall": sk.recall_score(y_true, y_pred),
        "f1": sk.f1_score(y_true, y_pred),
        "matthews_corrcoef": sk.matthews_corrcoef(y_true, y_pred),
        "brier": sk.brier_score_loss(y_true, scores),
        "log_loss": sk.log_loss(y_true, scores),
        "partial_roc_auc": sk.roc_auc_score(y_true, scores, max_fpr=0.1),
    }
    for key, value in truth.items():
        found = evaluation[key]
        assert found.lower <= value <= found.upper, (key, value, found)
        assert found.lower < found.recovered < found.upper
        assert abs(found.pu - value) > abs(found.recovered - value) or key == "recall", key


def test_values_are_those_of_the_metric_functions(rows, evaluation):
    s, scores, _ = rows
    alpha = evaluation.alpha
    y_pred = (scores >= 0.5).astype(int)
    for key in ("accuracy", "f1", "precision", "matthews_corrcoef", "npv", "lift"):
        assert evaluation[key].raw == pytest.approx(getattr(metrics, key)(s, y_pred, alpha=alpha))
        assert evaluation[key].pu == pytest.approx(getattr(metrics, key)(s, y_pred, alpha=0.0))
    for key in ("roc_auc", "average_precision", "pr_auc", "brier", "log_loss"):
        exact = getattr(metrics, key)(s, scores, alpha=alpha)
        assert evaluation[key].recovered == pytest.approx(exact, abs=2e-4)
    assert evaluation["aul"].recovered == pytest.approx(metrics.aul(s, scores), abs=1e-4)


def test_bounds_surround_the_recovered_value(evaluation):
    for key in ("roc_auc", "accuracy", "f1", "recall", "precision"):
        found = evaluation[key]
        assert found.bound_lower <= found.recovered <= found.bound_upper, found


def test_table_and_arrays_agree(rows, evaluation):
    s, scores, _ = rows
    table = ScoreTable.from_arrays(s, scores)
    again = evaluate(table, alpha=evaluation.alpha, n_boot=400)
    assert again.to_dict() == evaluation.to_dict()


def test_same_seed_same_numbers(rows, evaluation):
    s, scores, _ = rows
    again = evaluate(s, scores, alpha=evaluation.alpha, n_boot=400, random_state=0)
    assert again.to_dict() == evaluation.to_dict()
    other = evaluate(s, scores, alpha=evaluation.alpha, n_boot=400, random_state=1)
    assert other["pr_auc"] == evaluation["pr_auc"]
    chosen = [
        evaluate(s, scores, alpha=evaluation.alpha, threshold="f1", random_state=seed)
        for seed in (0, 1)
    ]
    assert chosen[0]["f1"].optimism != chosen[1]["f1"].optimism


def test_curves_and_bands(evaluation):
    assert evaluation.roc.tpr[-1] == 1
    for band in (evaluation.roc_band, evaluation.pr_band, evaluation.lift_band):
        assert (band.lower <= band.upper).all()
    inside = np.interp(evaluation.roc_band.x, evaluation.roc.fpr, evaluation.roc.tpr)
    assert (inside >= evaluation.roc_band.lower - 0.02).all()
    assert (inside <= evaluation.roc_band.upper + 0.02).all()
    assert evaluation.pr.precision.max() <= 1
    assert evaluation.calibration.ece < 0.05
    frame = evaluation.roc.to_frame()
    assert list(frame.columns) == ["fpr", "tpr", "threshold", "raw_fpr", "raw_tpr"]


def test_operating_points(rows, evaluation):
    s, scores, _ = rows
    point = evaluation.at(0.7)
    assert point.queue == (scores >= 0.7).sum()
    assert point["precision"].raw == pytest.approx(
        metrics.precision(s, (scores >= 0.7).astype(int), alpha=evaluation.alpha), abs=1e-3
    )
    best = evaluation.best("f1")
    curve = evaluation.metric_curve("f1")
    assert best["f1"].raw == pytest.approx(np.nanmax(curve.values), abs=2e-3)
    assert best["f1"].recovered == best["f1"].raw - best["f1"].optimism < best["f1"].raw
    table = evaluation.operating_points(10)
    assert table["queue"].is_monotonic_increasing
    assert (table["recall_lower"] <= table["recall"]).all()
    assert (table["precision"] <= table["precision_upper"]).all()
    cheap = evaluation.best("expected_cost", fp_cost=1.0, fn_cost=20.0)
    dear = evaluation.best("expected_cost", fp_cost=20.0, fn_cost=1.0)
    assert cheap.threshold < dear.threshold


def test_sensitivity(evaluation):
    found = evaluation.sensitivity([0.0, evaluation.alpha])
    assert found.values["roc_auc"][0] == pytest.approx(evaluation["roc_auc"].pu)
    assert found.values["f1"][1] == pytest.approx(evaluation["f1"].recovered)
    assert len(evaluation.sensitivity().to_frame()) == 50


def test_uncertain_alpha_widens_every_interval_it_should(rows, evaluation):
    s, scores, _ = rows
    alpha = evaluation.alpha
    draws = np.random.default_rng(0).normal(alpha, 0.02, size=500)
    by_draws = evaluate(s, scores, alpha=draws, n_boot=400)
    by_interval = evaluate(s, scores, alpha=(alpha - 0.04, alpha + 0.04), n_boot=400)
    for key in ("roc_auc", "accuracy", "f1", "precision", "average_precision", "brier"):
        width = evaluation[key].upper - evaluation[key].lower
        for wide in (by_draws, by_interval):
            assert wide[key].upper - wide[key].lower > 1.2 * width, key
    assert by_draws["aul"].lower == pytest.approx(evaluation["aul"].lower)
    assert by_interval.to_dict()["alpha_interval"] == pytest.approx([alpha - 0.04, alpha + 0.04])


def test_prior_estimates_are_taken_as_they_come(rows, evaluation):
    from types import SimpleNamespace

    s, scores, _ = rows
    estimate = SimpleNamespace(alpha=0.23, beta=1.0, draws=None, interval=(0.2, 0.26))
    found = evaluate(s, scores, alpha=estimate, n_boot=0)
    assert found.alpha == 0.23
    assert found.prior.interval == (0.2, 0.26)
    pairs = np.column_stack([np.linspace(0.2, 0.26, 50), np.linspace(0.95, 0.99, 50)])
    noisy = evaluate(
        s, scores, alpha=SimpleNamespace(alpha=0.23, beta=0.97, draws=pairs), n_boot=100
    )
    assert noisy.beta == 0.97


def test_baseline(rows):
    s, scores, _ = rows
    rng = np.random.default_rng(7)
    good = evaluate(s, scores, alpha=0.2, n_boot=400).baseline
    assert good.p_value < 1e-6
    assert good.n_permutations == 0
    few = evaluate(s[:100], scores[:100], alpha=0.2, n_boot=400).baseline
    assert few.n_permutations == 400
    p_values = [
        evaluate(s[:800], rng.random(800), alpha=0.0, n_boot=200).baseline.p_value
        for _ in range(60)
    ]
    assert 0.3 < np.mean(p_values) < 0.7
    assert np.mean(np.array(p_values) < 0.1) < 0.25


def test_feasible_alpha(rows, evaluation):
    s, scores, y_true = rows
    assert not evaluation.feasibility.exceeded
    assert evaluation.feasibility.alpha_upper > y_true[s == 0].mean()
    with (
        pytest.warns(InfeasiblePriorWarning, match="more than these scores allow"),
        pytest.warns(ClippedEstimateWarning, match="must be wrong"),
    ):
        wrong = evaluate(s, scores, alpha=0.8, n_boot=0)
    assert wrong.feasibility.exceeded
    assert any("allow" in note for note in wrong.notes)


def test_raw_values_outside_their_range_are_kept_and_told():
    s, scores, _ = gaussian_rows(np.random.default_rng(1), 5000, 0.3, 0.3)
    with (
        pytest.warns(InfeasiblePriorWarning),
        pytest.warns(ClippedEstimateWarning, match="roc_auc"),
    ):
        found = evaluate(s, scores, alpha=0.6, n_boot=0)
    assert found["roc_auc"].raw > 1
    assert found["roc_auc"].recovered <= 1


def test_few_rows_are_flagged():
    found = evaluate([1, 1, 0, 0, 0], [0.9, 0.8, 0.3, 0.2, 0.1], alpha=0.0, n_boot=50)
    assert any("unreliable" in note for note in found.notes)


def test_equal_scores():
    found = evaluate([1] * 50 + [0] * 200, np.full(250, 0.3), alpha=0.1, n_boot=50)
    assert found["roc_auc"].recovered == 0.5
    assert any("equal" in note for note in found.notes)


def test_known_negatives_count_in_the_population():
    s, scores, y_true = gaussian_rows(np.random.default_rng(2), 20_000, 0.3, 0.3)
    known = (y_true == 0) & (np.random.default_rng(3).random(20_000) < 0.5)
    s = np.where(known, -1, s)
    found = evaluate(s, scores, alpha=y_true[s == 0].mean(), n_boot=0)
    assert found.pi == pytest.approx(y_true.mean())
    y_pred = (scores >= 0.5).astype(int)
    assert found["accuracy"].lower <= sk.accuracy_score(y_true, y_pred) <= found["accuracy"].upper
    assert found["f1"].lower <= sk.f1_score(y_true, y_pred) <= found["f1"].upper
    assert found["f1"].pu == pytest.approx(sk.f1_score(s == 1, y_pred))
    assert found.n_negative == known.sum()


def test_threshold_rules(rows):
    s, scores, _ = rows
    assert evaluate(s, scores, alpha=0.2, n_boot=0).threshold == 0.5
    logits = np.log(scores / (1 - scores))
    chosen = evaluate(s, logits, alpha=0.2, n_boot=0)
    assert any("to maximise Youden" in note for note in chosen.notes)
    cheapest = evaluate(s, logits, alpha=0.2, n_boot=0, threshold="expected_cost")
    assert any("to minimise Expected cost" in note for note in cheapest.notes)
    assert "brier" not in chosen.metrics
    by_name = evaluate(s, scores, alpha=0.2, threshold="f1", n_boot=0)
    assert by_name["f1"].recovered >= evaluate(s, scores, alpha=0.2, n_boot=0)["f1"].recovered
    nobody = evaluate(s, scores, alpha=0.2, threshold=2.0, n_boot=0)
    assert np.isnan(nobody["precision"].recovered)
    assert nobody["recall"].recovered == 0


def test_output_is_plain_json(evaluation):
    text = json.dumps(evaluation.to_dict(), allow_nan=False)
    plain = json.loads(text)
    assert {"alpha", "beta", "scheme", "n_labeled", "n_unlabeled", "metrics"} <= set(plain)
    assert {"pu", "recovered", "lower", "upper"} <= set(plain["metrics"]["roc_auc"])
    assert "AUC" in evaluation._repr_html_()
    assert repr(evaluation).startswith("Evaluation(roc_auc=0.9")
    frame = evaluation.to_frame()
    assert list(frame.columns[:3]) == ["metric", "pu", "recovered"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"alpha": 0.6, "beta": 0.5}, "alpha=0.6, beta=0.5"),
        ({"alpha": 1.0}, "alpha=1, beta=1"),
        ({"alpha": -0.1}, "alpha=-0.1"),
        ({"alpha": 20}, "percentage"),
        ({"alpha": float("nan")}, "nan"),
        ({"alpha": None}, "needs alpha"),
        ({"alpha": "guess"}, "guess"),
        ({"alpha": 0.2, "scheme": "both"}, "case-control"),
        ({"alpha": 0.2, "confidence": 95}, "0.95"),
        ({"alpha": 0.2, "threshold": "acuracy"}, "Did you mean 'accuracy'"),
        ({"alpha": 0.2, "threshold": float("nan")}, "finite threshold"),
        ({"alpha": 0.2, "n_boot": -1}, "n_boot"),
        ({"alpha": 0.2, "propensity": [0.5] * 4}, "not both"),
        ({"propensity": [0.5, 0.5, 2.0, 0.5]}, "2.0"),
        ({"alpha": 0.2, "n_boot": None}, "n_boot"),
        ({"alpha": 0.2, "confidence": "0.9"}, "confidence"),
        ({"alpha": 0.2, "threshold": [0.5]}, "finite threshold"),
        ({"propensity": [0.0, 0.5, 0.5, 0.5]}, "0.0"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        evaluate([1, 0, 1, 0], [0.9, 0.8, 0.3, 0.1], **arguments)
    assert "\n" not in str(caught.value)


def test_scores_are_needed_and_tables_stand_alone():
    with pytest.raises(InvalidInputError, match="needs scores"):
        evaluate([1, 0], alpha=0.1)
    table = ScoreTable.from_arrays([1, 0], [1.0, 0.0])
    with pytest.raises(InvalidInputError, match="ScoreTable alone"):
        evaluate(table, [1.0, 0.0], alpha=0.1)


@pytest.mark.parametrize("beta", [1.0, 0.85])
def test_intervals_hold_what_they_claim(beta):
    """A quick look at coverage; ``make study`` measures it properly."""
    hits = {"roc_auc": 0, "f1": 0, "average_precision": 0}
    runs = 120
    truth = None
    for run in range(runs):
        rng = np.random.default_rng(run)
        positive = rng.random(1060) < np.repeat([beta, 0.2], [60, 1000])
        scores = rng.normal(size=1060) + 2 * positive
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = evaluate(
                np.repeat([1, 0], [60, 1000]),
                scores,
                alpha=0.2,
                beta=beta,
                threshold=1.3,
                n_boot=200,
            )
        if truth is None:
            big = np.random.default_rng(99)
            y = big.random(1_000_000) < found.pi
            x = big.normal(size=1_000_000) + 2 * y
            truth = {
                "roc_auc": sk.roc_auc_score(y, x),
                "f1": sk.f1_score(y, x >= 1.3),
                "average_precision": sk.average_precision_score(y, x),
            }
        for key in hits:
            hits[key] += found[key].lower <= truth[key] <= found[key].upper
    for key, count in hits.items():
        # 95% nominal: fewer than 105 of 120 has a chance below 1 in 1,000 when the level holds.
        assert count >= 105, (key, count)


def test_intervals_under_selection_bias_hold_what_they_claim():
    """Labels that favour clear positives, with known propensities."""

    def draw(rng, n):
        y = rng.random(n) < 0.4
        x = rng.normal(size=n) + 2 * y
        e = 0.1 + 0.8 / (1 + np.exp(-(x - 2)))
        return y, x, e, (y & (rng.random(n) < e)).astype(int)

    y, x, _, _ = draw(np.random.default_rng(1), 1_000_000)
    truth = {
        "roc_auc": sk.roc_auc_score(y, x),
        "f1": sk.f1_score(y, x >= 1),
        "recall": sk.recall_score(y, x >= 1),
        "precision": sk.precision_score(y, x >= 1),
    }
    hits = dict.fromkeys(truth, 0)
    for run in range(100):
        _, x, e, s = draw(np.random.default_rng(run + 10), 1500)
        found = evaluate(s, x, propensity=e, threshold=1.0, n_boot=200)
        for key, value in truth.items():
            hits[key] += found[key].lower <= value <= found[key].upper
    # 95% nominal: fewer than 87 of 100 has a chance of about 1 in 1,000 when the level holds.
    assert min(hits.values()) >= 87, hits
    point = found.at(1.0)
    assert point["recall"].lower == pytest.approx(found["recall"].lower)
    assert found["roc_auc"].pu == pytest.approx(metrics.roc_auc(s, x, alpha=0.0))


def test_known_negatives_at_alpha_zero_are_plain_labels():
    rng = np.random.default_rng(4)
    s = rng.choice([1, 0, -1], size=600, p=[0.2, 0.4, 0.4])
    scores = np.round(rng.random(600) * 0.7 + 0.3 * (s == 1) + 0.1 * (s == -1), 2) / 1.1
    y, y_pred = s == 1, scores >= 0.5
    found = evaluate(s, scores, alpha=0.0, n_boot=0)
    for key, value in {
        "precision": sk.precision_score(y, y_pred),
        "accuracy": sk.accuracy_score(y, y_pred),
        "roc_auc": sk.roc_auc_score(y, scores),
        "average_precision": sk.average_precision_score(y, scores),
        "matthews_corrcoef": sk.matthews_corrcoef(y, y_pred),
        "brier": sk.brier_score_loss(y, scores),
    }.items():
        assert found[key].recovered == pytest.approx(value), key
        assert found[key].pu == pytest.approx(value), key
    assert metrics.precision(s, y_pred, alpha=0.0) == pytest.approx(sk.precision_score(y, y_pred))
    assert metrics.aul(s, scores) == pytest.approx(
        y.mean() / 2 + (1 - y.mean()) * sk.roc_auc_score(y, scores)
    )
    point = found.at(0.5)
    assert point.queue == y_pred.sum()
    assert point["precision"].bound_lower != point["precision"].bound_lower
    assert found["precision"].bound_lower == pytest.approx(found["precision"].recovered)


def test_known_negatives_need_not_be_typical():
    """Hard negatives that someone ruled out by hand count as the negatives they are."""
    rng = np.random.default_rng(5)
    y = rng.random(40_000) < 0.3
    x = rng.normal(size=40_000) + 2 * y
    s = (y & (rng.random(40_000) < 0.3)).astype(int)
    s[~y & (x > 1) & (rng.random(40_000) < 0.8)] = -1
    found = evaluate(s, x, alpha=y[s == 0].mean(), threshold=1.0, n_boot=200)
    for key, value in {
        "precision": sk.precision_score(y, x >= 1),
        "roc_auc": sk.roc_auc_score(y, x),
        "f1": sk.f1_score(y, x >= 1),
    }.items():
        assert found[key].lower <= value <= found[key].upper, (key, value, found[key])


def test_operating_points_know_the_interval_of_alpha(rows):
    s, scores, _ = rows
    found = evaluate(s, scores, alpha=(0.15, 0.3), threshold=0.5, n_boot=0)
    for key in ("precision", "recall", "f1", "matthews_corrcoef"):
        point = found.at(0.5)[key]
        assert (point.lower, point.upper) == pytest.approx((found[key].lower, found[key].upper))


def test_impossible_threshold_metrics_are_told():
    s, scores, _ = gaussian_rows(np.random.default_rng(0), 3000, 0.3, 0.4)
    with pytest.warns(InfeasiblePriorWarning), pytest.warns(ClippedEstimateWarning, match="precis"):
        found = evaluate(s, scores, alpha=0.5, threshold=0.9, n_boot=0)
    assert any("must be wrong" in note and "precision" in note for note in found.notes)


def test_single_precision_scores_keep_their_thresholds():
    rng = np.random.default_rng(6)
    s = (rng.random(500) < 0.3).astype(int)
    scores = np.round(rng.random(500), 1).astype(np.float32)
    for threshold in (0.7, np.float32(0.7), np.float64(0.7)):
        found = evaluate(s, scores, alpha=0.0, threshold=threshold, n_boot=0)
        assert found["accuracy"].recovered == pytest.approx(
            sk.accuracy_score(s, scores >= np.float32(0.7))
        )
    assert found.at(0.3).queue == (scores >= np.float32(0.3)).sum()


def test_separated_scores_leave_doubt():
    s = np.repeat([1, 0], [30, 100])
    scores = np.concatenate([np.linspace(5, 6, 30), np.linspace(0, 1, 100)])
    found = evaluate(s, scores, alpha=0.0, threshold=3.0, n_boot=200)
    for key in ("roc_auc", "average_precision", "pr_auc", "partial_roc_auc", "recall", "f1"):
        assert found[key].recovered == pytest.approx(1.0)
        assert found[key].lower < 0.99, key
        assert found[key].upper == pytest.approx(1.0)
    hits = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = np.concatenate([rng.normal(4.2, 1, 30), rng.normal(0, 1, 100)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = evaluate(s, scores, alpha=0.0, threshold=2.0, n_boot=0)
        hits += found["roc_auc"].lower <= 0.9985 <= found["roc_auc"].upper
    assert hits >= 90


def test_one_labeled_row_says_almost_nothing():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [1, 2000])
    found = evaluate(s, rng.random(2001), alpha=0.0, n_boot=50)
    assert found["roc_auc"].lower == pytest.approx(0.0, abs=1e-6)
    assert found["roc_auc"].upper == pytest.approx(1.0, abs=1e-6)


def test_uncertain_beta_with_known_alpha(rows):
    s, scores, _ = rows
    rng = np.random.default_rng(0)
    betas = rng.uniform(0.85, 1.0, 500)
    fixed = evaluate(s, scores, alpha=0.15, beta=0.92, n_boot=100)
    found = evaluate(s, scores, alpha=np.full(500, 0.15), beta=betas, n_boot=100)
    for key in ("brier", "roc_auc", "f1", "average_precision"):
        wide, narrow = found[key], fixed[key]
        assert wide.upper - wide.lower > 1.3 * (narrow.upper - narrow.lower), key


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        ({"alpha": 0.2, "beta": 1.0, "interval": (0.0, 1.0)}, "alpha=1"),
        ({"alpha": 0.2, "beta": 1.0, "draws": [0.1, 0.2, 1.0]}, "alpha=1"),
        ({"alpha": 0.2, "beta": 1.0, "draws": [0.1, float("nan")]}, "nan"),
        ({"alpha": 0.2, "beta": 0.9}, "beta=0.8"),
    ],
)
def test_prior_estimates_are_checked(estimate, words):
    from types import SimpleNamespace

    beta = 0.8 if estimate["beta"] == 0.9 else 1.0
    with pytest.raises(InvalidInputError, match=words):
        evaluate([1, 0], [0.9, 0.1], alpha=SimpleNamespace(**estimate), beta=beta, n_boot=0)


def test_bounds_cover_the_draws(rows):
    s, scores, _ = rows
    sharp = evaluate(s, scores, alpha=0.23, n_boot=0)["precision"]
    draws = np.random.default_rng(0).normal(0.23, 0.03, 500)
    wide = evaluate(s, scores, alpha=draws, n_boot=0)["precision"]
    assert wide.bound_lower < sharp.bound_lower
    assert wide.bound_upper > sharp.bound_upper
    touching = evaluate(s, scores, alpha=(0.0, 0.3), scheme="case-control", n_boot=0)
    assert np.isfinite(touching["recall"].bound_lower)


def test_propensities_say_what_they_imply():
    rng = np.random.default_rng(2)
    y = rng.random(30_000) < 0.3
    s = (y & (rng.random(30_000) < 0.4)).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(2.0 * y - 1.0)))
    found = evaluate(s, scores, propensity=np.full(30_000, 0.4), n_boot=100)
    assert found.scheme == "single-sample"
    assert found.alpha == pytest.approx(y[s == 0].mean(), abs=0.01)
    assert found.pi == pytest.approx(y.mean(), abs=0.01)
    assert not found.feasibility.exceeded
    by_alpha = evaluate(s, scores, alpha=found.alpha, n_boot=0)
    for alpha in (0.1, found.alpha):
        assert found.sensitivity([alpha]).values["f1"] == pytest.approx(
            by_alpha.sensitivity([alpha]).values["f1"]
        )
    without = evaluate(s, scores, propensity=np.full(30_000, 0.4), n_boot=0)
    assert without["precision"].lower == found["precision"].lower
    assert without.at(0.5)["precision"].lower == pytest.approx(found["precision"].lower)
    with pytest.raises(InvalidInputError, match=r"beta=0\.8"):
        evaluate(s, scores, propensity=np.full(30_000, 0.4), beta=0.8)


def test_nothing_predicted_is_not_a_number_and_not_a_huge_one():
    value = metrics.matthews_corrcoef(
        [1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 1, 1], alpha=0.1, scheme="case-control"
    )
    assert value == 0
    assert np.isnan(
        metrics.npv([1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 1, 1], alpha=0.1, scheme="case-control")
    )
    for n in range(3, 15):
        s = np.repeat([1, 0], n)
        nobody = np.zeros(2 * n, int)
        assert np.isnan(metrics.precision(s, nobody, alpha=0.3, beta=0.9))
        assert np.isnan(metrics.npv(s, 1 - nobody, alpha=0.3, beta=0.9))


@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
def test_rows_above_every_unlabeled_one_do_not_divide_by_rounding_errors():
    # The highest scores are those of labeled rows alone: no row of the population is flagged up
    # there, but the two products whose sum says so are rounded.
    s = np.array([1] * 7 + [0, 1] * 20 + [0] * 50)
    scores = -np.arange(len(s), dtype=float)
    for alpha in np.arange(1, 60) / 100:
        found = evaluate(s, scores, alpha=alpha, scheme="case-control", n_boot=0)
        assert abs(found["average_precision"].raw) < 5


def test_known_negatives_outside_the_range_of_probabilities():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0, -1], [100, 400, 20])
    scores = np.where(s == -1, -3.0, rng.random(520))
    found = evaluate(s, scores, alpha=0.2, scheme="case-control", n_boot=0)
    assert np.isnan(found["brier"].pu)
    assert np.isfinite(found["brier"].recovered)
