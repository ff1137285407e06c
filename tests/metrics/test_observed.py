"""Intervals of weighted rows at the ends of the range, where sums of weights round."""

import numpy as np

import recoup
from recoup.metrics.observed import ObservedShares


def weighted(seed=0, n=2000):
    rng = np.random.default_rng(seed)
    s = (rng.random(n) < 0.2).astype(int)
    return s, rng.random(n) + 0.2 * s, rng.exponential(size=n)


def test_the_share_of_every_row_is_one_and_has_an_interval():
    for seed in range(20):
        s, scores, weights = weighted(seed)
        result = recoup.evaluate(s, scores, alpha=0.1, sample_weight=weights, threshold=-1.0)
        observed = ObservedShares.above(result.table, np.array([-1.0]), "single-sample")
        labeled, unlabeled = result.table.effective_sizes
        for name, size in (("labeled", labeled), ("unlabeled", unlabeled)):
            assert observed.values[name] == 1
            np.testing.assert_allclose(observed.sizes[name], size)
        plain = recoup.evaluate(s, scores, alpha=0.1, threshold=-1.0)["recall"]
        recall = result["recall"]
        assert recall.upper == 1
        # About half as many rows of equal weight would say as much.
        assert plain.lower - 0.03 < recall.lower < plain.lower


def test_rounding_does_not_stretch_a_value_at_the_end_of_its_range():
    rng = np.random.default_rng(1)
    positive = rng.random(600) < 0.4
    propensity = rng.uniform(0.4, 1.0, 600)
    s = (positive & (rng.random(600) < propensity)).astype(int)
    scores = rng.normal(4.0 * positive)
    cut = float(scores[s == 1].min())
    npv = recoup.evaluate(s, scores, propensity=propensity, threshold=cut)["npv"]
    assert npv.recovered > 1 - 1e-9
    assert 0.9 < npv.lower < 1
