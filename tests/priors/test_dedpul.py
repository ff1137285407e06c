"""DEDPUL: its fast steps against direct ones, and known shares."""

import numpy as np
import pytest
from scipy.stats import norm

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.logits import balancing_shift, linear_bins, score_logits
from recoup.priors.base import checked_table
from recoup.priors.dedpul import (
    DEDPUL,
    MAX_POINTS,
    TOLERANCE,
    densities,
    fixed_point,
    mean_error,
    rolling_median,
)


def gaussians(alpha, n_labeled=500, n_unlabeled=3000, distance=4.0, seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = np.arange(len(s)) < n_labeled + round(alpha * n_unlabeled)
    return s, rng.normal(np.where(positive, distance, 0.0))


def calibrated(alpha, scores, n_labeled=500, n_unlabeled=3000, distance=4.0):
    """P(labeled | score) in the pooled sample."""
    ratio = np.exp(distance * scores - distance**2 / 2)
    mixture = alpha * ratio + 1 - alpha
    return n_labeled * ratio / (n_labeled * ratio + n_unlabeled * mixture)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("kind", ["margins", "probabilities"])
def test_separated_gaussians(alpha, kind):
    s, scores = gaussians(alpha)
    if kind == "probabilities":
        scores = calibrated(alpha, scores)
    found = DEDPUL(interval=None).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.05)
    assert found.converged


def test_fft_density_is_the_sum_of_kernels():
    s, scores = gaussians(0.4, 300, 1000, seed=1)
    table = checked_table(s, scores, "test")
    logits = score_logits(table)
    grid, f_labeled, f_unlabeled, _ = densities(logits, table.labeled, table.unlabeled, (0.1, 0.05))
    for density, counts, factor in (
        (f_labeled, table.labeled, 0.1),
        (f_unlabeled, table.unlabeled, 0.05),
    ):
        sample = np.repeat(logits, counts)
        width = factor * sample.std(ddof=1)
        direct = norm.pdf((grid[:, None] - sample) / width).mean(axis=1) / width
        dense = direct > 0.01 * direct.max()
        np.testing.assert_allclose(density[dense], direct[dense], rtol=1e-3)
        assert np.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-4)


def test_mean_error_is_the_mean_of_posteriors():
    ratio = np.sort(np.random.default_rng(2).gamma(1.0, size=400))
    shares = np.linspace(0, 1, 57)
    direct = [np.maximum(0, 1 - (1 - a) * ratio).mean() - a for a in shares]
    np.testing.assert_allclose(mean_error(ratio, shares), direct, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_fixed_point_is_where_repeated_averaging_ends(seed):
    rng = np.random.default_rng(seed)
    # A mean above 1 makes the error cross zero.
    ratio = np.sort(np.concatenate([rng.uniform(0, 0.3, 600), rng.uniform(2.5, 3.5, 400)]))
    found, reached = fixed_point(ratio)
    assert reached
    a = 0.0
    for _ in range(100_000):
        error = np.maximum(0, 1 - (1 - a) * ratio).mean() - a
        if error < TOLERANCE:
            break
        a += error
    assert found == pytest.approx(a, abs=3 * TOLERANCE)
    assert mean_error(ratio, np.array([found]))[0] == pytest.approx(TOLERANCE, abs=1e-9)


def test_without_a_fixed_point_it_says_so():
    # All ratios below 1: every posterior stays positive.
    _, reached = fixed_point(np.linspace(0.1, 0.8, 50))
    assert not reached
    s, scores = gaussians(0.05, distance=2.0)
    found = DEDPUL(interval=None).fit_scores(s, scores).estimate_
    assert not found.converged
    assert any("nowhere agrees" in warning for warning in found.warnings)


@pytest.mark.parametrize("reach", [1, 4, 30])
def test_rolling_median_with_short_windows_at_the_ends(reach):
    values = np.random.default_rng(3).random(50)
    smooth = rolling_median(values, reach)
    for i, value in enumerate(smooth):
        window = np.sort(values[max(i - reach, 0) : i + reach + 1])
        middle = window[[(len(window) - 1) // 2, len(window) // 2]]
        assert value in middle


def test_shift_balances_a_pooled_classifier():
    alpha = 0.3
    s, scores = gaussians(alpha, 2000, 20_000, seed=4)
    table = checked_table(s, calibrated(alpha, scores, 2000, 20_000), "test")
    shift = balancing_shift(score_logits(table), table.labeled, table.unlabeled)
    assert shift == pytest.approx(np.log(20_000 / 2000), abs=0.05)
    few = checked_table(s[::10], calibrated(alpha, scores, 2000, 20_000)[::10], "test")
    few_shift = balancing_shift(score_logits(few), few.labeled, few.unlabeled)
    assert few_shift == pytest.approx(shift, abs=0.2)


def test_linear_bins_keep_total_and_mean():
    values = np.sort(np.random.default_rng(5).uniform(-1, 2, 300))
    counts = np.arange(300)
    binned = linear_bins(values, counts, -1.5, 0.1, 40)
    grid = -1.5 + 0.1 * np.arange(40)
    assert binned.sum() == pytest.approx(counts.sum())
    assert np.dot(binned, grid) == pytest.approx(np.dot(counts, values))


def test_certain_probabilities_are_finite_and_extreme():
    table = checked_table(np.repeat([1, 0], 60), np.linspace(0, 1, 120), "test")
    logits = score_logits(table)
    assert np.isfinite(logits).all()
    assert (np.diff(logits) > 0).all()
    saturated = np.where(np.arange(3000) < 1500, 1.0, 0.0)
    s = np.repeat([1, 0, 0], [500, 1000, 1500])
    found = DEDPUL(interval=None).fit_scores(s, saturated)
    assert found.alpha_ == pytest.approx(0.4, abs=0.01)


def test_logits_and_probabilities_agree():
    s, scores = gaussians(0.4, seed=6)
    as_is = DEDPUL(interval=None).fit_scores(s, scores).alpha_
    squashed = DEDPUL(interval=None).fit_scores(s, 1 / (1 + np.exp(-scores))).alpha_
    moved = DEDPUL(interval=None).fit_scores(s, 5 * scores - 100).alpha_
    assert squashed == pytest.approx(as_is, abs=0.02)
    assert moved == pytest.approx(as_is, abs=1e-3)


def test_more_rows_than_points():
    s, scores = gaussians(0.3, 5000, 3 * MAX_POINTS, seed=7)
    assert DEDPUL(interval=None).fit_scores(s, scores).alpha_ == pytest.approx(0.3, abs=0.02)


def test_interval_curve_and_seed():
    s, scores = gaussians(0.4, seed=8)
    found = DEDPUL(n_draws=50).fit_scores(s, scores).estimate_
    again = DEDPUL(n_draws=50).fit_scores(s, scores).estimate_
    assert found.interval == again.interval
    assert found.interval[0] <= found.alpha <= found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.2
    assert found.curve.marker == pytest.approx(found.alpha)
    assert all(len(line) == len(found.curve.x) for line in found.curve.lines.values())
    assert (np.diff(found.curve.x) > 0).all()


def test_fit_reads_features():
    s, scores = gaussians(0.4, seed=9)
    X = np.column_stack([scores, np.random.default_rng(0).normal(size=len(s))])
    found = DEDPUL(transform="logistic", interval=None).fit(X, s).estimate_
    assert found.alpha == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize(
    ("s", "scores", "says"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0), "at least 20 labeled"),
        (np.repeat([1, 0], [100, 49]), np.arange(149.0), "50 unlabeled"),
        (np.repeat([1, 0], 100), np.full(200, 0.3), "rows that differ"),
        (np.zeros(200), np.arange(200.0), "labeled"),
        (np.repeat([1, 0], 100), np.where(np.arange(200) == 7, np.nan, 0.1), "nan"),
    ],
)
def test_bad_input(s, scores, says):
    with pytest.raises(InvalidInputError, match=says):
        DEDPUL().fit_scores(s, scores)


def test_bad_bandwidth():
    s, scores = gaussians(0.4)
    with pytest.raises(InvalidInputError, match="above 0"):
        DEDPUL(bandwidth_labeled=0.0).fit_scores(s, scores)
