"""Intervals and bands: what each has to take into account."""

import numpy as np
import pytest
from scipy import stats

from recoup import evaluate


def rows(n=2000, apart=2.0, wrong=0.0, seed=0):
    """Labels of four in ten positives, and of some negatives."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    s = (rng.random(n) < np.where(y, 0.4, wrong)).astype(int)
    return rng, s, y, rng.normal(apart * y)


def width(estimate):
    return estimate.upper - estimate.lower


def test_twenty_of_twenty_leave_doubt_where_alpha_is_drawn():
    """Wilson's interval of 20 successes in 20 trials."""
    s = np.repeat([1, 0], [20, 400])
    scores = np.concatenate([np.full(20, 2.0), np.linspace(-1, 1.5, 400)])
    draws = np.linspace(0.0, 1e-6, 50)
    recall = evaluate(s, scores, alpha=draws, threshold=0.0, n_boot=0)["recall"]
    assert recall.recovered == 1.0
    assert recall.lower == pytest.approx(20 / (20 + stats.norm.ppf(0.975) ** 2))


def test_errors_of_average_precision_grow_towards_the_middle():
    """A small area has more room above, a large one more below."""
    for apart, grows in ((0.3, True), (3.0, False)):
        _, s, y, scores = rows(apart=apart)
        found = evaluate(s, scores, alpha=y[s == 0].mean(), threshold=1.0, n_boot=0)
        value = found["average_precision"]
        assert 0 < value.lower < value.recovered < value.upper <= 1
        above, below = value.upper - value.recovered, value.recovered - value.lower
        assert (above > below) == grows


@pytest.mark.parametrize("wrong", [0.0, 0.05])
def test_the_lift_area_needs_alpha_only_where_labels_are_noisy(wrong):
    _, s, y, scores = rows(wrong=wrong)
    alpha, beta = y[s == 0].mean(), y[s == 1].mean()
    draws = np.random.default_rng(1).uniform(alpha - 0.15, alpha + 0.15, 300)
    known, drawn = (
        width(evaluate(s, scores, alpha=a, beta=beta, threshold=1.0, n_boot=0)["aul"])
        for a in (alpha, draws)
    )
    if wrong:
        assert drawn > 1.1 * known
    else:
        assert drawn == pytest.approx(known)


def test_yes_and_no_have_one_precision_up_to_their_recall():
    _, s, y, scores = rows()
    found = evaluate(
        s, (scores > 1).astype(float), alpha=y[s == 0].mean(), threshold=0.5, n_boot=300
    )
    band, recall = found.pr_band, found["recall"]
    inside = band.x < recall.lower - 0.1
    for line in (band.lower, band.upper):
        assert np.ptp(line[inside]) < 1e-9
    middle = (band.lower + band.upper)[inside] / 2
    assert middle == pytest.approx(found["precision"].recovered, abs=0.02)


def test_propensities_carry_their_own_share_of_positives():
    """Rows drawn again, one by one, scatter as much as the intervals say."""
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.6
    scores = 1 / (1 + np.exp(-rng.normal(1.5 * y - 0.75)))
    e = np.where(scores > 0.5, 0.6, 0.15)
    s = (y & (rng.random(1500) < e)).astype(int)
    found = evaluate(s, scores, propensity=e, threshold=0.5, n_boot=1000)
    drawn = {"roc_auc": [], "brier": [], "precision": []}
    for _ in range(200):
        rows = rng.integers(len(s), size=len(s))
        again = evaluate(s[rows], scores[rows], propensity=e[rows], threshold=0.5, n_boot=0)
        for key, values in drawn.items():
            values.append(again[key].recovered)
    for key, values in drawn.items():
        assert width(found[key]) == pytest.approx(2 * 1.96 * np.std(values), rel=0.2), key


def test_the_unit_of_weights_changes_no_interval():
    _, s, y, scores = rows(apart=1.0)
    one, thousand = (
        evaluate(
            s,
            scores,
            alpha=y[s == 0].mean(),
            threshold=1.0,
            n_boot=200,
            sample_weight=np.full(len(s), unit),
        )["partial_roc_auc"]
        for unit in (1.0, 1000.0)
    )
    assert (thousand.lower, thousand.upper) == pytest.approx((one.lower, one.upper))
