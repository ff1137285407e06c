"""Values printed in the papers, to the printed digits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from recoup import metrics
from recoup.metrics import aul, roc_auc, roc_curve
from recoup.metrics.spec import POINT_METRICS

# AUL paper, Figure 1a: 20 examples.
AUL_SCORES = np.array(
    [
        *(0.92, 0.82, 0.73, 0.66, 0.6, 0.58, 0.54, 0.5, 0.45, 0.43),
        *(0.41, 0.39, 0.38, 0.36, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1),
    ]
)
AUL_Y = np.array([1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0, 0])
AUL_S = np.array([1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0])


class TestAulPaper:
    def test_areas_of_the_example(self):
        assert roc_auc(AUL_Y, AUL_SCORES, alpha=0.0) == pytest.approx(0.740, abs=1e-12)
        assert roc_auc(AUL_S, AUL_SCORES, alpha=0.0) == pytest.approx(0.653333, abs=5e-7)
        assert aul(AUL_Y, AUL_SCORES) == pytest.approx(0.620, abs=1e-12)
        assert aul(AUL_S, AUL_SCORES) == pytest.approx(0.615, abs=1e-12)

    def test_aul_is_unbiased_over_all_252_labelings(self):
        positives = np.flatnonzero(AUL_Y)
        values = []
        for chosen in combinations(positives, 5):
            s = np.zeros(20, int)
            s[list(chosen)] = 1
            values.append(aul(s, AUL_SCORES))
        assert len(values) == 252
        assert np.mean(values) == pytest.approx(0.620, abs=1e-12)
        assert np.var(values) == pytest.approx(0.00791388889, abs=5e-12)

    def test_variance_formula(self):
        t = np.array([(v > AUL_SCORES).mean() + (v == AUL_SCORES).mean() / 2 for v in AUL_SCORES])
        sigma2 = t[AUL_Y == 1].var()
        assert (10 - 5) / (10 - 1) * sigma2 / 5 == pytest.approx(0.00791388889, abs=5e-12)

    def test_expected_bias_without_correction(self):
        # E[AUC_pu] = (1-pi)/(1-pi*c) (AUC - 1/2) + 1/2
        positives = np.flatnonzero(AUL_Y)
        values = []
        for chosen in combinations(positives, 5):
            s = np.zeros(20, int)
            s[list(chosen)] = 1
            values.append(roc_auc(s, AUL_SCORES, alpha=0.0))
        assert np.mean(values) == pytest.approx(0.5 / 0.75 * (0.740 - 0.5) + 0.5, abs=1e-12)


class TestJain2017:
    """Figure 1: eight examples, one of five unlabeled ones positive."""

    scores = np.array([0.986, 0.943, 0.863, 0.789, 0.699, 0.473, 0.211, 0.009])
    s = np.array([1, 0, 1, 0, 1, 0, 0, 0])
    y_true = np.array([1, 1, 1, 0, 1, 0, 0, 0])

    def test_areas(self):
        assert roc_auc(self.s, self.scores, alpha=0.0) == pytest.approx(0.8)
        assert roc_auc(self.y_true, self.scores, alpha=0.0) == pytest.approx(0.9375)
        direct = roc_auc(self.s, self.scores, alpha=0.2, beta=1.0, method="direct")
        assert direct == pytest.approx(0.875)

    def test_unmixed_rates(self):
        curve = roc_curve(self.s, self.scores, alpha=0.2)
        tpr = [0.3333, 0.3333, 0.6667, 0.6667, 1, 1, 1, 1]
        fpr = [-0.0833, 0.1667, 0.0833, 0.3333, 0.25, 0.5, 0.75, 1]
        np.testing.assert_allclose(curve.raw_tpr[1:], tpr, atol=5e-5)
        np.testing.assert_allclose(curve.raw_fpr[1:], fpr, atol=5e-5)


class TestRamola2019:
    """Section 3.1: h0 = N(-1, 1), h1 = N(1, 1), alpha 1/4, beta 3/4, labeled fraction 1/10."""

    alpha, beta, labeled_fraction = 0.25, 0.75, 0.1
    pi = labeled_fraction * beta + (1 - labeled_fraction) * alpha

    def rates(self, threshold):
        tpr, fpr = stats.norm.sf(threshold - 1), stats.norm.sf(threshold + 1)
        pu = self.beta * tpr + (1 - self.beta) * fpr, self.alpha * tpr + (1 - self.alpha) * fpr
        return (tpr, fpr), pu

    @pytest.mark.parametrize(
        ("key", "best", "at", "best_pu", "at_pu"),
        [
            ("accuracy", 0.861251, 0.4236, 0.899995, 5),
            ("balanced_accuracy", 0.841345, 0, 0.670672, 0),
            ("f1", 0.766474, 0.1857, 0.302255, 0.5010),
            ("matthews_corrcoef", 0.664340, 0.2945, 0.217456, 0.2945),
        ],
    )
    def test_best_thresholds(self, key, best, at, best_pu, at_pu):
        thresholds = np.linspace(-5, 5, 100_001)
        true, observed = self.rates(thresholds)
        formula = POINT_METRICS[key].from_rates
        unmixed = metrics.true_rates(*observed, alpha=self.alpha, beta=self.beta)
        for rates in (true, unmixed):
            values = formula(*rates, self.pi)
            assert values.max() == pytest.approx(best, abs=5e-7)
            assert thresholds[values.argmax()] == pytest.approx(at, abs=1.01e-4)
        naive = formula(*observed, self.labeled_fraction)
        assert naive.max() == pytest.approx(best_pu, abs=5e-7)
        assert thresholds[naive.argmax()] == pytest.approx(at_pu, abs=1.01e-4)

    def test_values_at_a_quarter(self):
        (tpr, fpr), (tpr_pu, fpr_pu) = self.rates(0.25)
        assert (tpr, fpr) == pytest.approx((0.773373, 0.105650), abs=5e-7)
        assert (tpr_pu, fpr_pu) == pytest.approx((0.606442, 0.272580), abs=5e-7)
        assert self.pi == pytest.approx(0.3)
        theta = self.labeled_fraction * tpr_pu + (1 - self.labeled_fraction) * fpr_pu
        assert theta == pytest.approx(0.305967, abs=5e-7)
        published = {
            "accuracy": 0.858057,
            "balanced_accuracy": 0.833861,
            "f1": 0.765758,
            "matthews_corrcoef": 0.664016,
            "precision": 0.758291,
        }
        rates = metrics.true_rates(tpr_pu, fpr_pu, alpha=self.alpha, beta=self.beta)
        for key, value in published.items():
            found = POINT_METRICS[key].from_rates(*rates, self.pi)
            assert found == pytest.approx(value, abs=5e-7), key

    def test_areas(self):
        cuts = np.linspace(9, -9, 200_001)
        (tpr, fpr), (tpr_pu, fpr_pu) = self.rates(cuts)
        assert np.trapezoid(tpr, fpr) == pytest.approx(0.921350, abs=5e-7)
        assert np.trapezoid(tpr_pu, fpr_pu) == pytest.approx(0.710675, abs=5e-7)

    def test_direct_forms_agree_with_unmixed_ones(self):
        _, (tpr_pu, fpr_pu) = self.rates(np.linspace(-3, 3, 50))
        tpr, fpr = metrics.true_rates(tpr_pu, fpr_pu, alpha=self.alpha, beta=self.beta)
        gap, c = self.beta - self.alpha, self.labeled_fraction
        bacc_pu = (1 + tpr_pu - fpr_pu) / 2
        np.testing.assert_allclose(
            POINT_METRICS["balanced_accuracy"].from_rates(tpr, fpr, self.pi),
            (2 * bacc_pu - 1) / (2 * gap) + 0.5,
            atol=1e-12,
        )
        mcc = POINT_METRICS["matthews_corrcoef"].from_rates
        np.testing.assert_allclose(
            mcc(tpr, fpr, self.pi),
            mcc(tpr_pu, fpr_pu, c) / gap * np.sqrt(self.pi * (1 - self.pi) / (c * (1 - c))),
            atol=1e-12,
        )
