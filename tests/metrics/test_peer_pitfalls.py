"""Cases that other tools get wrong, at n = 400,000 with exact population truth.

Positives are N(2, 1), negatives N(0, 1), the score is the true posterior, so AUC is 0.9214.
``tools/speed/peers.py`` prints the same cases beside pulearn.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from recoup import metrics
from strategies import gaussian_rows

N = 400_000
AUC = stats.norm.cdf(2 / np.sqrt(2))


def population(pi, threshold=0.5, separation=2.0):
    """True rates of the rule posterior >= threshold."""
    cut = separation / 2 + np.log(threshold / (1 - threshold) * (1 - pi) / pi) / separation
    return stats.norm.sf(cut - separation), stats.norm.sf(cut)


def case_control(rng, pi, n_unlabeled, n_labeled, beta=1.0, separation=2.0):
    positive = np.concatenate([rng.random(n_labeled) < beta, rng.random(n_unlabeled) < pi])
    x = rng.normal(size=len(positive)) + separation * positive
    odds = pi / (1 - pi) * np.exp(separation * x - separation**2 / 2)
    return np.repeat([1, 0], [n_labeled, n_unlabeled]), odds / (1 + odds)


@pytest.mark.parametrize(("pi", "label_frequency"), [(0.5, 0.8), (0.3, 0.5)])
def test_auc_single_sample(pi, label_frequency):
    s, scores, _ = gaussian_rows(np.random.default_rng(0), N, pi, label_frequency)
    alpha = pi * (1 - label_frequency) / (1 - pi * label_frequency)
    for method in ("direct", "indirect"):
        assert metrics.roc_auc(s, scores, alpha=alpha, method=method) == pytest.approx(
            AUC, abs=0.004
        )


def test_precision_and_f1_case_control():
    s, scores = case_control(np.random.default_rng(1), 0.3, N * 2 // 3, N // 3)
    y_pred = (scores >= 0.5).astype(int)
    tpr, fpr = population(0.3)
    precision = 0.3 * tpr / (0.3 * tpr + 0.7 * fpr)
    assert precision == pytest.approx(0.7992, abs=5e-5)
    options = {"alpha": 0.3, "scheme": "case-control"}
    assert metrics.precision(s, y_pred, **options) == pytest.approx(precision, abs=0.006)
    assert metrics.f1(s, y_pred, **options) == pytest.approx(0.758, abs=0.005)


def test_average_precision_and_aul():
    s, scores, _ = gaussian_rows(np.random.default_rng(2), N, 0.3, 0.5)
    alpha = 0.3 * 0.5 / (1 - 0.15)
    assert metrics.average_precision(s, scores, alpha=alpha) == pytest.approx(0.851, abs=0.008)
    assert metrics.pr_auc(s, scores, alpha=alpha) == pytest.approx(0.851, abs=0.008)
    assert metrics.aul(s, scores) == pytest.approx(0.3 / 2 + 0.7 * AUC, abs=0.003)
    assert pytest.approx(0.794, abs=0.002) == 0.3 / 2 + 0.7 * AUC


def test_pr_area_of_perfect_constant_and_rounded_scores():
    rng = np.random.default_rng(3)
    y = rng.random(N) < 0.3
    s = (y & (rng.random(N) < 0.5)).astype(int)
    alpha = y[s == 0].mean()
    assert metrics.pr_auc(s, y.astype(float), alpha=alpha) == pytest.approx(1.0, abs=0.005)
    assert metrics.average_precision(s, y.astype(float), alpha=alpha) == pytest.approx(
        1.0, abs=0.005
    )
    assert metrics.pr_auc(s, np.ones(N), alpha=alpha) == pytest.approx(y.mean(), abs=1e-9)
    wide = 5.0
    s, scores, y = gaussian_rows(rng, N, 0.3, 0.5, separation=wide)
    rounded = np.round(scores, 1)
    from sklearn.metrics import auc, precision_recall_curve

    precision, recall, _ = precision_recall_curve(y, rounded)
    truth = auc(recall, precision)
    found = metrics.pr_auc(s, rounded, alpha=y[s == 0].mean())
    assert found == pytest.approx(truth, abs=0.01)


def test_roc_curve_is_corrected_and_agrees_with_its_area():
    s, scores, y = gaussian_rows(np.random.default_rng(4), N, 0.5, 0.8)
    alpha = y[s == 0].mean()
    curve = metrics.roc_curve(s, scores, alpha=alpha)
    area = np.trapezoid(curve.tpr, curve.fpr)
    assert area == pytest.approx(metrics.roc_auc(s, scores, alpha=alpha), abs=1e-12)
    assert area == pytest.approx(AUC, abs=0.004)


def test_scores_are_not_trusted_as_calibrated():
    rng = np.random.default_rng(5)
    y = rng.random(N) < 0.3
    s = (y & (rng.random(N) < 0.5)).astype(int)
    y_pred = (rng.random(N) >= 0.502).astype(int)
    alpha = y[s == 0].mean()
    assert metrics.specificity(s, y_pred, alpha=alpha) == pytest.approx(0.502, abs=0.005)


def test_noisy_labels_case_control():
    s, scores = case_control(np.random.default_rng(6), 0.3, N // 2, N // 2, beta=0.8)
    tpr, _ = population(0.3)
    assert tpr == pytest.approx(0.7178, abs=5e-5)
    y_pred = (scores >= 0.5).astype(int)
    options = {"alpha": 0.3, "beta": 0.8, "scheme": "case-control"}
    assert metrics.recall(s, y_pred, **options) == pytest.approx(tpr, abs=0.004)
    assert metrics.roc_auc(s, scores, alpha=0.3, beta=0.8) == pytest.approx(AUC, abs=0.003)


def test_one_threshold_rule_everywhere():
    import recoup

    s = np.array([1, 1, 0, 0, 0, 0])
    scores = np.array([0.5, 0.9, 0.5, 0.1, 0.2, 0.3])
    by_hand = metrics.recall(s, (scores >= 0.5).astype(int), alpha=0.0)
    assert by_hand == 1.0
    evaluation = recoup.evaluate(s, scores, alpha=0.0, n_boot=0)
    assert evaluation.threshold == 0.5
    assert evaluation["recall"].recovered == 1.0
    assert evaluation.at(0.5)["recall"].recovered == 1.0
    curve = metrics.roc_curve(s, scores, alpha=0.0)
    assert curve.tpr[curve.threshold == 0.5] == 1.0
