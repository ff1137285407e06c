from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from recoup.exceptions import InvalidInputError
from recoup.priors.roc_slope import ROCSlope, hull_corners, lower_share, upper_share
from recoup.scores.table import ScoreTable


def gaussian_scores(rng, n_labeled, n_unlabeled, alpha, separation=4.0):
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = (s == 1) | (rng.random(len(s)) < alpha)
    return s, rng.normal(separation * positive)


def bisected_upper_share(successes, trials, delta):
    """The share at which so few successes have a chance of only delta, without beta quantiles."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if binom.cdf(successes, trials, middle) > delta:
            low = middle
        else:
            high = middle
    return high


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.4])
def test_beta_quantiles_are_the_inverted_binomial_tail(delta):
    trials = 37
    upper = upper_share(np.arange(trials + 1), trials, delta)
    expected = [bisected_upper_share(k, trials, delta) for k in range(trials)]
    assert upper[:-1] == pytest.approx(expected, abs=1e-9)
    assert upper[-1] == 1
    lower = lower_share(np.arange(trials + 1), trials, delta)
    assert lower == pytest.approx(1 - upper[::-1])


@pytest.mark.parametrize("delta", [0.001, 0.1, 0.4])
@pytest.mark.parametrize("trials", [20, 300, 5000])
def test_upper_share_is_concave(trials, delta):
    # What the search among hull corners rests on.
    assert (np.diff(upper_share(np.arange(trials + 1), trials, delta), 2) < 0).all()


def test_least_ratio_over_all_thresholds_is_found():
    rng = np.random.default_rng(3)
    for decimals in (0, 1, 6) * 10:
        n_l, n_u = rng.integers(20, 300), rng.integers(50, 600)
        s, scores = gaussian_scores(rng, n_l, n_u, rng.random(), separation=2.0)
        scores = scores.round(decimals)
        ratios = []
        for threshold in np.unique(scores):
            j, i = (int((scores[s == kind] >= threshold).sum()) for kind in (1, 0))
            if i >= 2 and j >= 2:
                ratios.append(upper_share(i, n_u, 0.1) / lower_share(j, n_l, 0.1))
        found = ROCSlope(delta=0.1, interval=None).fit_scores(s, scores).estimate_
        assert found.alpha == pytest.approx(min(1.0, min(ratios)), abs=1e-12)


def test_hull_corners_of_a_known_path():
    i, j = np.array([0, 1, 2, 3, 6, 8]), np.array([2, 5, 6, 9, 10, 10])
    assert hull_corners(i, j).tolist() == [0, 1, 3, 4, 5]
    assert hull_corners(i[:1], j[:1]).tolist() == [0]


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_well_separated_gaussians(alpha):
    s, scores = gaussian_scores(np.random.default_rng(0), 1000, 4000, alpha)
    found = ROCSlope().fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.05)
    assert found.interval[0] <= found.alpha <= found.interval[1]
    assert found.upper_limit > alpha
    assert found.converged


# A share of 400 rows has a standard error of up to 0.025, more if only some of them count.
@pytest.mark.parametrize(("n_labeled", "tolerance"), [(400, 0.05), (20_000, 0.03)])
@pytest.mark.parametrize("alpha", [0.05, 0.9])
def test_label_rate_does_not_leak(alpha, n_labeled, tolerance):
    alphas = [
        ROCSlope(interval=None)
        .fit_scores(*gaussian_scores(np.random.default_rng(seed), n_labeled, 20_000, alpha))
        .alpha_
        for seed in range(8)
    ]
    assert np.mean(alphas) == pytest.approx(alpha, abs=tolerance)


def test_fixed_delta_is_beaten_by_chance_when_rows_are_many():
    errors = {None: [], 0.1: []}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = ScoreTable.from_arrays(*gaussian_scores(rng, 2500, 47_500, 0.75))
        for delta, found in errors.items():
            found.append(ROCSlope(delta=delta, interval=None).fit_scores(table).alpha_ - 0.75)
    assert np.abs(errors[None]).mean() < 0.6 * np.abs(errors[0.1]).mean()
    assert np.mean(errors[0.1]) < -0.02


@pytest.mark.parametrize("decimals", [0, 8])
def test_upper_limit_covers(decimals):
    # Separated classes, so that what can be learned is alpha itself.
    covered = []
    for seed in range(200):
        s, scores = gaussian_scores(np.random.default_rng(seed), 100, 400, 0.5, separation=6.0)
        estimator = ROCSlope(interval=None, confidence=0.8)
        covered.append(estimator.fit_scores(s, scores.round(decimals)).estimate_.upper_limit >= 0.5)
    assert np.mean(covered) >= 0.8


def test_upper_limit_rises_with_confidence():
    s, scores = gaussian_scores(np.random.default_rng(0), 300, 1000, 0.3)
    limits = [
        ROCSlope(interval=None, confidence=level).fit_scores(s, scores).estimate_.upper_limit
        for level in (0.5, 0.9, 0.99)
    ]
    assert limits == sorted(limits)
    assert len(set(limits)) == 3


def test_only_the_order_of_scores_matters():
    rng = np.random.default_rng(1)
    s, scores = gaussian_scores(rng, 200, 900, 0.4)
    shuffled = rng.permutation(len(s))
    plain = ROCSlope(interval=None).fit_scores(s, scores).estimate_
    mapped = ROCSlope(interval=None).fit_scores(s[shuffled], np.exp(scores[shuffled])).estimate_
    assert (mapped.alpha, mapped.upper_limit) == (plain.alpha, plain.upper_limit)


def test_curve_shows_the_estimate_at_its_marker():
    s, scores = gaussian_scores(np.random.default_rng(2), 500, 2000, 0.4)
    found = ROCSlope(interval=None).fit_scores(s, scores).estimate_
    limits, ratio, lower = found.curve.lines.values()
    at = np.flatnonzero(found.curve.x == found.curve.marker)
    assert limits[at].min() == found.alpha
    assert (lower < ratio).all()
    assert (ratio < limits).all()


def test_scores_of_two_values():
    s = np.repeat([1, 0], [200, 1000])
    scores = np.concatenate([np.ones(150), np.zeros(50), np.ones(300), np.zeros(700)])
    found = ROCSlope(delta=0.1).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(
        float(upper_share(300, 1000, 0.1) / lower_share(150, 200, 0.1))
    )


@pytest.mark.parametrize("delta", [0.0, 0.5, -1.0, float("nan")])
def test_wrong_delta(delta):
    s, scores = gaussian_scores(np.random.default_rng(0), 100, 100, 0.5)
    with pytest.raises(
        InvalidInputError,
        match=r"^ROCSlope needs delta .* at most 0\.4.*Got",
    ):
        ROCSlope(delta=delta).fit_scores(s, scores)


@pytest.mark.parametrize(
    ("s", "scores", "message"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0), "at least 20 labeled"),
        (np.repeat([1, 0], [100, 49]), np.arange(149.0), "at least 20 labeled and 50 unlabeled"),
        (np.repeat([1, 0], [50, 100]), np.ones(150), "rows that differ"),
        (np.repeat([1, 0], [50, 100]), np.append(np.arange(149.0), np.nan), "finite"),
        (np.zeros(100, int), np.arange(100.0), "ROCSlope"),
    ],
)
def test_rows_that_cannot_work(s, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        ROCSlope().fit_scores(s, scores)
