"""Intervals and shares of positives where labels favor some scores."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import norm

import recoup
from recoup.exceptions import RecoupWarning
from recoup.priors import estimate
from recoup.selection.tilt import TiltedEvaluation, fair_counts, hidden_counts, hidden_table

SHIFT, CUT = 1.6, 0.9


def scores_of_labeled(ranks, tilt, shift=SHIFT):
    """Scores of labeled rows at their ranks, where hidden positives are normal."""
    return shift + norm.ppf(np.log1p((tilt - 1) * ranks) / np.log(tilt))


def single_sample(n, labeled_fraction, alpha, tilt, rng, shift=SHIFT):
    n_labeled = rng.binomial(n, labeled_fraction)
    hidden = rng.random(n - n_labeled) < alpha
    labeled = scores_of_labeled(rng.random(n_labeled), tilt, shift)
    s = np.repeat([1, 0], [n_labeled, n - n_labeled])
    return s, np.append(labeled, rng.normal(shift * hidden))


def truth(labeled_fraction, alpha, tilt):
    ranks = (np.arange(20_000) + 0.5) / 20_000
    pi = labeled_fraction + (1 - labeled_fraction) * alpha
    share = labeled_fraction / pi
    labeled, hidden = scores_of_labeled(ranks, tilt), SHIFT + norm.ppf(ranks)

    def mean(part):
        return share * part(labeled).mean() + (1 - share) * part(hidden).mean()

    recall = mean(lambda x: x >= CUT)
    return {
        "roc_auc": mean(norm.cdf),
        "recall": recall,
        "precision": pi * recall / (pi * recall + (1 - pi) * norm.sf(CUT)),
    }


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.4
    s = (positive & (rng.random(3000) < 0.5)).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(1.5 * positive - 1)))
    return recoup.evaluate(s, scores, alpha=0.25, n_boot=200)


def test_labels_at_random_have_the_interval_of_the_evaluation(evaluation):
    found = evaluation.selection_sensitivity([1.0, 2.0])
    for key, own in evaluation.metrics.items():
        assert found.lower[key][0] == pytest.approx(own.lower, nan_ok=True, abs=0)
        assert found.upper[key][0] == pytest.approx(own.upper, nan_ok=True, abs=0)


def test_intervals_hold_the_values_and_leave_them_slowly(evaluation):
    found = evaluation.selection_sensitivity([1.0, 1.001, 3.0, 20.0])
    for key, values in found.values.items():
        assert (found.lower[key] <= values).all(), key
        assert (values <= found.upper[key]).all(), key
        if evaluation[key].upper < 1:
            # Within 0.1% of random labels both limits are nearly those of the evaluation.
            np.testing.assert_allclose(found.lower[key][:3], evaluation[key].lower, atol=2e-3)
            np.testing.assert_allclose(found.upper[key][:3], evaluation[key].upper, atol=2e-3)


@pytest.mark.parametrize("tilt", [3.0, 0.25])
def test_intervals_hold_the_truth_as_often_as_they_say(tilt):
    """Of 40 samples with three metrics each, 95% hold the truth but for chance."""
    rng = np.random.default_rng(5)
    true = truth(0.05, 0.15, tilt)
    hits = []
    for _ in range(40):
        s, scores = single_sample(2000, 0.05, 0.15, tilt, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecoupWarning)
            judged = recoup.evaluate(s, scores, alpha=0.15, threshold=CUT, n_boot=0)
        found = TiltedEvaluation(judged).at(tilt, list(true))
        hits += [found.lower[key] <= true[key] <= found.upper[key] for key in true]
    assert 0.88 <= np.mean(hits) < 1


def test_what_is_not_known_about_alpha_widens_intervals(evaluation):
    def width(alpha):
        again = recoup.evaluate(evaluation.given.counts, alpha=alpha, n_boot=0)
        found = again.selection_sensitivity([3.0], "high")
        return found.upper["precision"][0] - found.lower["precision"][0]

    draws = recoup.Draws(np.random.default_rng(0).normal(0.25, 0.03, 500))
    assert width(draws) > 1.1 * width(0.25)
    assert width(recoup.Interval(0.2, 0.3)) > 1.5 * width(0.25)


def test_equal_weights_change_no_interval():
    rng = np.random.default_rng(1)
    s, scores = single_sample(2000, 0.1, 0.2, 2.0, rng)

    def limits(weight):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecoupWarning)
            judged = recoup.evaluate(
                s, scores, alpha=0.2, threshold=CUT, n_boot=0, sample_weight=weight
            )
        found = judged.selection_sensitivity([2.0], "high")
        return [found.lower["recall"][0], found.upper["recall"][0]]

    # Weights are thinned to other bins, so that other rows are drawn.
    np.testing.assert_allclose(limits(np.full(2000, 3.0)), limits(None), atol=5e-3)
    unequal = np.ptp(limits(rng.exponential(size=2000)))
    assert unequal > 1.15 * np.ptp(limits(None))


@pytest.mark.parametrize("n_boot", [0, 200])
def test_propensities(n_boot):
    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.4
    chance = rng.uniform(0.3, 0.7, 2000)
    s = (positive & (rng.random(2000) < chance)).astype(int)
    scores = rng.normal(1.5 * positive)
    judged = recoup.evaluate(s, scores, propensity=chance, threshold=0.8, n_boot=n_boot)
    found = judged.selection_sensitivity([1.0, 1.001, 3.0])
    for key in ("roc_auc", "recall", "precision"):
        np.testing.assert_allclose(found.lower[key][:3], judged[key].lower, atol=2e-3)
        assert (found.lower[key] < found.values[key]).all()


def test_known_negatives_keep_their_interval():
    rng = np.random.default_rng(2)
    s, scores = single_sample(2000, 0.1, 0.2, 1.5, rng)
    s[np.flatnonzero((s == 0) & (scores < -1))] = -1
    judged = recoup.evaluate(s, scores, alpha=0.25, threshold=CUT, n_boot=0)
    found = judged.selection_sensitivity([1.001])
    for key in ("roc_auc", "recall", "precision"):
        np.testing.assert_allclose(found.lower[key], judged[key].lower, atol=2e-3)
        np.testing.assert_allclose(found.upper[key], judged[key].upper, atol=2e-3)


@pytest.mark.parametrize("method", ["bbe", "dedpul"])
@pytest.mark.parametrize("tilt", [4.0, 0.25])
def test_alpha_is_estimated_again_from_the_hidden_positives(method, tilt):
    rng = np.random.default_rng(3)
    s, scores = single_sample(8000, 0.06, 0.25, tilt, rng, shift=3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecoupWarning)
        judged = recoup.evaluate(s, scores, alpha=method, threshold=1.5, n_boot=0)
    found = judged.selection_sensitivity([1.0, 4.0], "high" if tilt > 1 else "low")
    assert found.alpha == found.alphas[0] == judged.alpha
    assert abs(found.alphas[1] - 0.25) < abs(judged.alpha - 0.25) / 2
    assert "estimated anew" in found._repr_html_()


def test_which_alpha_is_estimated_again():
    rng = np.random.default_rng(4)
    s, scores = single_sample(3000, 0.1, 0.2, 1.2, rng, shift=3.0)
    asked = recoup.evaluate(s, scores, alpha="bbe", n_boot=0).selection_sensitivity([2.0])

    def alphas(alpha):
        return recoup.evaluate(s, scores, alpha=alpha, n_boot=0).selection_sensitivity([2.0]).alphas

    np.testing.assert_array_equal(alphas(estimate(s, scores, method="bbe")), asked.alphas)
    assert np.ptp(asked.alphas) > 0.01
    foreign = estimate(s, scores + rng.normal(size=3000), method="bbe")
    np.testing.assert_array_equal(alphas(foreign), foreign.alpha)
    np.testing.assert_array_equal(alphas(0.2), 0.2)


def test_hidden_table_counts_what_its_weights_are_worth():
    counts = recoup.ScoreTable.from_arrays(
        np.repeat([1, 0, -1], [200, 500, 20]), np.random.default_rng(0).normal(size=720)
    )
    table = hidden_table(counts, 5.0)
    assert table.n_labeled == pytest.approx(200)
    # With uniform ranks the share that is left is gamma * (log(gamma) / (gamma - 1)) ** 2.
    share = 5 * (np.log(5) / 4) ** 2
    assert table.effective_sizes == pytest.approx((200 * share, 500), rel=0.01)
    few = recoup.ScoreTable.from_arrays(np.repeat([1, 0], [22, 100]), np.arange(122.0))
    assert hidden_table(few, 20.0).effective_sizes[0] == pytest.approx(20)


def test_fair_counts_of_many_tables_are_those_of_each():
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.integers(1, 9, (2, 5, 12)).astype(float)
    alphas = rng.uniform(0.1, 0.5, (5, 1))
    for scheme in ("single-sample", "case-control"):
        together = fair_counts(labeled, unlabeled, alphas, scheme, 3.0)
        for row in range(5):
            alone = fair_counts(labeled[row], unlabeled[row], alphas[row, 0], scheme, 3.0)
            for many, one in zip(together, alone, strict=True):
                np.testing.assert_allclose(many[row], one)
    assert hidden_counts(labeled, 1.0) is labeled


def test_what_the_choice_of_a_threshold_adds_is_taken_off_at_every_tilt():
    rng = np.random.default_rng(2)
    s, scores = single_sample(1500, 0.1, 0.2, 1.5, rng)
    judged = recoup.evaluate(s, scores, alpha=0.2, beta=1.0, threshold="f1", n_boot=100)
    assert judged["f1"].optimism > 0
    found = judged.selection_sensitivity([1.0, 1.0001])
    assert found.values["f1"][1] == pytest.approx(judged["f1"].recovered, abs=1e-3)
    assert found.lower["f1"][1] == pytest.approx(judged["f1"].lower, abs=5e-3)
