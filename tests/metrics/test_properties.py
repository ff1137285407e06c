"""What must hold whatever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics as sk

from recoup import metrics
from recoup.metrics import true_rates
from recoup.metrics.area import step_average_precision
from recoup.metrics.influence import average_precision_effects
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import AREA_METRICS, POINT_METRICS
from recoup.scores import ScoreTable
from strategies import pu_rows, unit

RANKING = ("roc_auc", "average_precision", "pr_auc", "partial_roc_auc")


@given(tpr=unit, fpr=unit, alpha=unit, beta=unit)
def test_true_rates_invert_the_mixture(tpr, fpr, alpha, beta):
    assume(beta - alpha > 0.05)
    tpr_pu, fpr_pu = beta * tpr + (1 - beta) * fpr, alpha * tpr + (1 - alpha) * fpr
    assert true_rates(tpr_pu, fpr_pu, alpha=alpha, beta=beta) == pytest.approx((tpr, fpr), abs=1e-9)


@given(pu_rows(levels=12))
def test_no_hidden_positives_change_nothing(rows):
    s, scores = rows
    assert metrics.roc_auc(s, scores, alpha=0.0) == pytest.approx(sk.roc_auc_score(s, scores))
    assert metrics.roc_auc(s, scores, alpha=0.0, method="direct") == pytest.approx(
        sk.roc_auc_score(s, scores)
    )
    assert metrics.average_precision(s, scores, alpha=0.0) == pytest.approx(
        sk.average_precision_score(s, scores)
    )
    assert metrics.partial_roc_auc(s, scores, alpha=0.0, max_fpr=0.3) == pytest.approx(
        sk.roc_auc_score(s, scores, max_fpr=0.3)
    )
    p = scores / 12
    assert metrics.brier(s, p, alpha=0.0) == pytest.approx(sk.brier_score_loss(s, p))
    assert metrics.log_loss(s, p, alpha=0.0) == pytest.approx(sk.log_loss(s, p, labels=[0, 1]))
    y_pred = (scores >= 6).astype(int)
    for key, other in (
        ("accuracy", sk.accuracy_score),
        ("balanced_accuracy", sk.balanced_accuracy_score),
        ("recall", sk.recall_score),
        ("f1", sk.f1_score),
        ("matthews_corrcoef", sk.matthews_corrcoef),
    ):
        assert getattr(metrics, key)(s, y_pred, alpha=0.0) == pytest.approx(other(s, y_pred)), key
    if y_pred.any():
        assert metrics.precision(s, y_pred, alpha=0.0) == pytest.approx(
            sk.precision_score(s, y_pred)
        )
        assert metrics.fbeta(s, y_pred, alpha=0.0, b=2.0) == pytest.approx(
            sk.fbeta_score(s, y_pred, beta=2.0)
        )


@given(pu_rows(levels=20, negatives=True), st.randoms(use_true_random=False))
def test_order_and_monotone_transforms_change_nothing(rows, random):
    s, scores = rows
    order = list(range(len(s)))
    random.shuffle(order)
    for key in RANKING:
        value = AREA_METRICS[key](s, scores, alpha=0.1, beta=0.9)
        assert AREA_METRICS[key](s[order], scores[order], alpha=0.1, beta=0.9) == pytest.approx(
            value, abs=1e-12
        )
        moved = np.exp(scores / 5) - 3
        assert AREA_METRICS[key](s, moved, alpha=0.1, beta=0.9) == pytest.approx(value, abs=1e-12)
    assert metrics.aul(s[order], np.arctan(scores)[order]) == pytest.approx(metrics.aul(s, scores))


@given(pu_rows(levels=15), st.floats(0.0, 0.6), st.floats(0.7, 1.0))
def test_direct_auc_and_its_formula(rows, alpha, beta):
    s, scores = rows
    observed = sk.roc_auc_score(s, scores)
    gap = beta - alpha
    assert metrics.roc_auc(s, scores, alpha=alpha, beta=beta, method="direct") == pytest.approx(
        (observed - (1 - gap) / 2) / gap, abs=1e-9
    )


@given(pu_rows(levels=15), st.floats(0.0, 0.6), st.floats(0.7, 1.0))
def test_recovered_curves_are_valid(rows, alpha, beta):
    s, scores = rows
    curve = metrics.roc_curve(s, scores, alpha=alpha, beta=beta)
    for rate in (curve.tpr, curve.fpr):
        assert rate[0] == 0
        assert rate[-1] == 1
        assert (np.diff(rate) >= 0).all()
    assert 0 <= metrics.roc_auc(s, scores, alpha=alpha, beta=beta) <= 1
    precision = metrics.pr_curve(s, scores, alpha=alpha, beta=beta).precision
    assert ((precision >= 0) & (precision <= 1 + 1e-12)).all()
    area = metrics.pr_auc(s, scores, alpha=alpha, beta=beta)
    assert -1e-12 <= area <= 1 + 1e-12


@given(pu_rows(levels=15), st.floats(0.0, 0.9))
def test_single_sample_and_case_control_share_the_rates(rows, alpha):
    s, scores = rows
    y_pred = (scores >= 7).astype(int)
    for key in ("recall", "specificity", "youden", "balanced_accuracy"):
        one, other = (
            POINT_METRICS[key](s, y_pred, alpha=alpha, scheme=scheme)
            for scheme in ("single-sample", "case-control")
        )
        assert one == pytest.approx(other)
    theta = y_pred[s == 0].mean()
    if theta > 0:
        found = metrics.precision(s, y_pred, alpha=alpha, scheme="case-control")
        assert found == pytest.approx(alpha * y_pred[s == 1].mean() / theta)


@given(pu_rows(levels=8), st.floats(0.05, 0.5))
def test_aul_needs_no_prior_and_inverts_noise(rows, alpha):
    s, scores = rows
    lift = metrics.aul(s, scores)
    table = ScoreTable.from_arrays(s, scores)
    mixture = Mixture.of(table, alpha, 1.0, "single-sample")
    auc = metrics.roc_auc(s, scores, alpha=alpha, method="direct")
    assert lift == pytest.approx(mixture.pi / 2 + (1 - mixture.pi) * auc)
    beta = 0.8
    found = metrics.aul(s, scores, alpha=alpha, beta=beta)
    noisy_pi = Mixture.of(table, alpha, beta, "single-sample").pi
    true_auc = metrics.roc_auc(s, scores, alpha=alpha, beta=beta, method="direct")
    observed = beta * found + (1 - beta) * (noisy_pi * (1 - true_auc) + (1 - noisy_pi) / 2)
    assert observed == pytest.approx(lift)


def test_equal_propensities_are_random_labels():
    rng = np.random.default_rng(3)
    y = rng.random(3000) < 0.4
    s = (y & (rng.random(3000) < 0.5)).astype(int)
    scores = rng.normal(size=3000) + y
    e = np.full(3000, 0.5)
    # With e = n_labeled / n_positives the implied number of positives is n_labeled / e.
    alpha = (s.sum() / 0.5 - s.sum()) / (s == 0).sum()
    for key in ("accuracy", "f1", "precision", "matthews_corrcoef"):
        y_pred = (scores > 0.7).astype(int)
        assert POINT_METRICS[key](s, y_pred, propensity=e) == pytest.approx(
            POINT_METRICS[key](s, y_pred, alpha=alpha)
        )
    assert metrics.roc_auc(s, scores, propensity=e, method="direct") == pytest.approx(
        metrics.roc_auc(s, scores, alpha=alpha, method="direct")
    )


def test_propensities_recover_truth_under_selection_bias():
    rng = np.random.default_rng(5)
    n = 200_000
    y = rng.random(n) < 0.4
    x = rng.normal(size=n) + 2 * y
    e = 0.1 + 0.8 / (1 + np.exp(-(x - 2)))
    s = (y & (rng.random(n) < e)).astype(int)
    y_pred = (x > 1).astype(int)
    assert metrics.roc_auc(s, x, propensity=e) == pytest.approx(sk.roc_auc_score(y, x), abs=0.005)
    assert metrics.f1(s, y_pred, propensity=e) == pytest.approx(sk.f1_score(y, y_pred), abs=0.01)
    p = 1 / (1 + np.exp(-x))
    assert metrics.brier(s, p, propensity=e) == pytest.approx(sk.brier_score_loss(y, p), abs=0.005)
    # Taking the labels as a random sample is wrong here, and visibly so.
    alpha = y[s == 0].mean()
    assert abs(metrics.roc_auc(s, x, alpha=alpha) - sk.roc_auc_score(y, x)) > 0.01


def test_sample_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    s = (rng.random(200) < 0.3).astype(int)
    scores = np.round(rng.random(200), 1)
    weights = rng.integers(1, 4, size=200)
    repeated = np.repeat(np.arange(200), weights)
    for key in RANKING:
        assert AREA_METRICS[key](s, scores, alpha=0.1, sample_weight=weights) == pytest.approx(
            AREA_METRICS[key](s[repeated], scores[repeated], alpha=0.1)
        )


def test_davis_goadrich_area_against_fine_interpolation():
    rng = np.random.default_rng(2)
    s = (rng.random(80) < 0.4).astype(int)
    scores = np.round(rng.random(80) + 0.3 * s, 1)
    curve = metrics.roc_curve(s, scores, alpha=0.1)
    steps = np.linspace(0, 1, 2001)
    total = 0.0
    for k in range(len(curve.tpr) - 1):
        t = curve.tpr[k] + steps * (curve.tpr[k + 1] - curve.tpr[k])
        f = curve.fpr[k] + steps * (curve.fpr[k + 1] - curve.fpr[k])
        theta = curve.pi * t + (1 - curve.pi) * f
        precision = np.divide(curve.pi * t, theta, out=np.ones_like(t), where=theta > 0)
        if k == 0:
            precision[0] = precision[1]
        total += np.trapezoid(precision, t)
    assert metrics.pr_auc(s, scores, alpha=0.1) == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_influence_is_the_derivative(beta):
    rng = np.random.default_rng(4)
    s = np.repeat([1, 0], [40, 90])
    scores = np.round(rng.normal(size=130) + s, 1)
    table = ScoreTable.from_arrays(s, scores)
    mixture = Mixture.of(table, 0.2, beta, "single-sample")
    labeled, unlabeled = (table.labeled / 40)[::-1], (table.unlabeled / 90)[::-1]

    def average_precision(a, b):
        heads = (np.append(0.0, np.cumsum(part) / part.sum()) for part in (a, b))
        return float(step_average_precision(*mixture.true_rates(*heads), mixture.pi))

    on_labeled, on_unlabeled = average_precision_effects(table, mixture)
    center = average_precision(labeled, unlabeled)
    step = 1e-6
    for place in np.flatnonzero((labeled > 0) & (unlabeled > 0))[:5]:
        # Influence: mixing in a little mass at one score.
        moved = (1 - step) * labeled + step * (np.arange(len(labeled)) == place)
        slope = (average_precision(moved, unlabeled) - center) / step
        assert slope == pytest.approx(
            on_labeled[place] - np.dot(on_labeled, labeled), rel=1e-3, abs=1e-4
        )
        moved = (1 - step) * unlabeled + step * (np.arange(len(labeled)) == place)
        slope = (average_precision(labeled, moved) - center) / step
        assert slope == pytest.approx(
            on_unlabeled[place] - np.dot(on_unlabeled, unlabeled), rel=1e-3, abs=1e-4
        )


def test_calibration_of_a_calibrated_score():
    from strategies import gaussian_rows

    s, scores, y_true = gaussian_rows(np.random.default_rng(0), 400_000, 0.3, 0.4)
    curve = metrics.calibration_curve(s, scores, alpha=y_true[s == 0].mean())
    np.testing.assert_allclose(curve.positive_share, curve.mean_score, atol=0.02)
    assert curve.ece < 0.01
    shifted = metrics.calibration_curve(s, scores**2, alpha=y_true[s == 0].mean())
    assert shifted.ece > 0.05


def test_calibration_error_of_perfect_probabilities_is_not_made_of_noise():
    from strategies import gaussian_rows

    errors, held = [], []
    for seed in range(40):
        s, scores, _ = gaussian_rows(np.random.default_rng(seed), 1500, 0.3, 0.4)
        curve = metrics.calibration_curve(s, scores, alpha=0.3 * 0.6 / (1 - 0.3 * 0.4))
        errors.append((curve.ece, curve.raw_ece))
        held.append((curve.lower <= curve.mean_score) & (curve.mean_score <= curve.upper))
    debiased, raw = np.mean(errors, axis=0)
    assert debiased < 0.6 * raw
    # The mean score of a bin is its true share of positives here; a few bins are near 0 or 1.
    assert 0.9 < np.mean(held) < 0.99
