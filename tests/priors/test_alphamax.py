from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from recoup.exceptions import InvalidInputError
from recoup.priors.alphamax import (
    MAX_BINS,
    WINDOW,
    AlphaMax,
    alpha_grid,
    binned,
    elbow,
    lines_below,
    log_likelihood_curve,
    optimal_shares,
    round_width,
)
from recoup.scores.table import ScoreTable


def gaussians(seed, alpha, *, n_labeled=1000, n_unlabeled=5000, gap=4.0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = rng.random(len(s)) < np.where(s == 1, 1.0, alpha)
    return s, rng.normal(np.where(positive, gap, 0.0))


def random_shares(rng, n_bins, *, empty=0):
    p, w = rng.dirichlet(np.ones(n_bins)), rng.dirichlet(np.ones(n_bins))
    p[:empty] = 0.0
    return p / p.sum(), w


@pytest.mark.parametrize("seed", range(20))
def test_shares_satisfy_the_optimality_conditions(seed):
    rng = np.random.default_rng(seed)
    grid = alpha_grid(mirror=True)
    p, w = random_shares(rng, int(rng.integers(3, 60)), empty=int(rng.integers(0, 3)))
    u, nu = optimal_shares(p, w, grid)

    np.testing.assert_allclose(u.sum(axis=1), grid, rtol=0, atol=1e-12)
    assert (u >= 0).all()
    assert (u <= w).all()
    full = u == w
    none = (u == 0) & (p == 0)
    inside = ~full & ~none
    # Of u (A - u) times the gradient, so that it is free of poles.
    rest = w + grid[:, None] * p - u
    residual = p * rest - w * u - nu[:, None] * u * rest
    assert np.abs(residual[inside]).max() < 1e-8
    assert (residual[full] >= -1e-8).all()
    # An empty bin stays empty while one positive more is worth at least what it costs, 1.
    assert (np.broadcast_to(nu[:, None], u.shape)[none] >= -1 - 1e-8).all()


def test_shares_follow_the_labeled_rows_while_these_fit():
    p, w = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    grid = np.array([0.05, 0.2, 0.4])
    u, nu = optimal_shares(p, w, grid)
    np.testing.assert_allclose(u, grid[:, None] * p, rtol=1e-12)
    np.testing.assert_allclose(nu, 1 / grid - 1)
    curve = log_likelihood_curve(p, w, grid)
    np.testing.assert_allclose(curve, w @ np.log(w) + p @ np.log(p), rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_curve_agrees_with_a_generic_optimizer(seed):
    rng = np.random.default_rng(100 + seed)
    n_bins = int(rng.integers(3, 9))
    labeled = rng.integers(1, 200, n_bins).astype(float)
    unlabeled = rng.integers(5, 400, n_bins).astype(float)
    p, w = labeled / labeled.sum(), unlabeled / unlabeled.sum()
    alpha = float(rng.uniform(0.1, 0.9))

    def loss(u):
        return -(w @ np.log(w - u + alpha * p) + p @ np.log(u / alpha))

    def gradient(u):
        return w / (w - u + alpha * p) - p / u

    found = minimize(
        loss,
        alpha * w,
        jac=gradient,
        method="SLSQP",
        bounds=[(1e-9, limit) for limit in w],
        constraints={"type": "eq", "fun": lambda u: u.sum() - alpha, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    (height,) = log_likelihood_curve(labeled, unlabeled, np.array([alpha]))
    assert height == pytest.approx(-found.fun, abs=1e-6)
    assert height >= -found.fun - 1e-9


def test_no_spread_of_the_positives_is_better():
    rng = np.random.default_rng(5)
    p, w = random_shares(rng, 6)
    for alpha in (0.05, 0.5, 0.95):
        (best,) = log_likelihood_curve(p, w, np.array([alpha]))
        b = rng.random((20_000, 6))
        b = b * alpha / (b @ w)[:, None]
        u = b[(b <= 1).all(axis=1)] * w
        others = np.log(w - u + alpha * p) @ w + np.log(u / alpha) @ p
        assert len(others)
        assert (others <= best + 1e-12).all()


@pytest.mark.parametrize("seed", range(10))
def test_curve_does_not_rise(seed):
    rng = np.random.default_rng(seed)
    p, w = random_shares(rng, 30, empty=2)
    curve = log_likelihood_curve(p, w, alpha_grid(mirror=True))
    assert np.diff(curve).max() <= 1e-13


def test_bins_without_labeled_rows_count_through_their_sum():
    grid = alpha_grid()
    apart = log_likelihood_curve(np.array([8.0, 0, 0, 3]), np.array([10.0, 40, 20, 9]), grid)
    joined = log_likelihood_curve(np.array([8.0, 0, 3]), np.array([10.0, 60, 9]), grid)
    np.testing.assert_allclose(apart - apart[0], joined - joined[0], atol=1e-12)


def test_bins_without_unlabeled_rows_do_not_hide_a_small_share():
    alone, errors = [], []
    for seed in range(10):
        s, scores = gaussians(seed, 0.03, n_labeled=2000, n_unlabeled=1000)
        labeled, unlabeled = binned(ScoreTable.from_arrays(s, scores))
        found = AlphaMax(interval=None).fit_scores(s, scores).estimate_
        alone.append(labeled[unlabeled == 0].sum() / 2000)
        errors.append(abs(found.alpha - 0.03))
        told = any("no unlabeled rows" in text for text in found.warnings)
        assert told == (alone[-1] > 0.01)
    assert np.mean(alone) > 0.03
    assert max(errors) < 0.03


def test_grid_reaches_small_shares_and_large_ones_on_request():
    grid = alpha_grid()
    assert grid[0] == 0.001
    assert grid[-1] == 0.99
    assert np.diff(grid).min() > 1e-6
    mirrored = alpha_grid(mirror=True)
    assert mirrored[-1] == 0.999
    assert set(grid) <= set(mirrored)


@pytest.mark.parametrize(
    ("width", "rounded"),
    [
        (0.149, 0.1), (0.151, 0.2), (0.249, 0.2), (0.26, 0.3), (0.41, 0.5), (0.74, 0.5),
        (0.76, 1.0), (1.0, 1.0), (30.0, 30.0), (9.9e-7, 1e-6),
    ],
)  # fmt: skip
def test_widths_are_rounded(width, rounded):
    assert round_width(width) == pytest.approx(rounded)


def test_bins_are_those_of_a_histogram():
    s, scores = gaussians(0, 0.3)
    on_labeled = scores[s == 1]
    width = round_width(3.5 * on_labeled.std(ddof=1) * len(on_labeled) ** (-1 / 3))
    edges = scores.min() + width * np.arange(np.ceil(np.ptp(scores) / width) + 1)
    labeled, unlabeled = (np.histogram(scores[s == kind], edges)[0] for kind in (1, 0))
    some = labeled > 0
    found = binned(ScoreTable.from_arrays(s, scores))
    np.testing.assert_array_equal(found[0], [*labeled[some], 0])
    np.testing.assert_array_equal(found[1], [*unlabeled[some], unlabeled[~some].sum()])


def test_counts_and_rows_give_the_same():
    s, scores = gaussians(1, 0.4)
    scores = scores.round(2)
    shuffled = np.random.default_rng(0).permutation(len(s))
    from_rows = AlphaMax(n_draws=30).fit_scores(s[shuffled], scores[shuffled]).estimate_
    from_counts = AlphaMax(n_draws=30).fit_scores(ScoreTable.from_arrays(s, scores)).estimate_
    assert from_rows.alpha == from_counts.alpha
    np.testing.assert_array_equal(from_rows.draws, from_counts.draws)
    for name, line in from_rows.curve.lines.items():
        np.testing.assert_array_equal(line, from_counts.curve.lines[name])


def test_heavy_tails_do_not_multiply_the_bins():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [20_000, 20_000])
    scores = rng.standard_cauchy(40_000) + s
    scores[-1] = 1e12
    started = time.perf_counter()
    labeled, unlabeled = binned(ScoreTable.from_arrays(s, scores))
    assert time.perf_counter() - started < 2
    assert len(labeled) <= MAX_BINS + 1
    assert labeled.sum() == unlabeled.sum() == 20_000


def test_more_bins_than_the_limit_are_widened():
    # Half of the labeled rows in one place and the rest far apart: Scott's width is fine.
    s = np.repeat([1, 0], [200_000, 1000])
    scores = np.concatenate([np.zeros(199_000), np.linspace(-1, 1, 2000)])
    labeled, unlabeled = binned(ScoreTable.from_arrays(s, scores))
    assert MAX_BINS / 3 < len(labeled) <= MAX_BINS + 1
    assert (labeled.sum(), unlabeled.sum()) == (200_000, 1000)


def slopes_by_quadratic_program(x, y):
    """Fit the lines of all windows by a generic constrained optimizer."""
    least = (y[-1] - y[0]) / (x[-1] - x[0]) / 100
    found = []
    for start in range(len(x) - WINDOW + 1):
        xs, ys = x[start : start + WINDOW], y[start : start + WINDOW]
        design = np.column_stack([xs, np.ones(WINDOW)])
        best = minimize(
            lambda line, design=design, ys=ys: ((ys - design @ line) ** 2).sum(),
            [least, y.min() - 1 - least * x.max()],
            jac=lambda line, design=design, ys=ys: -2 * design.T @ (ys - design @ line),
            method="SLSQP",
            bounds=[(least, None), (None, None)],
            constraints={
                "type": "ineq",
                "fun": lambda line: y - line[0] * x - line[1],
                "jac": lambda line: -np.column_stack([x, np.ones(len(x))]),
            },
            options={"ftol": 1e-15, "maxiter": 500},
        )
        found.append(best.x[0])
    return np.array(found)


@pytest.mark.parametrize("seed", range(4))
def test_lines_below_agree_with_a_quadratic_program(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(40))
    y = [
        np.cumsum(rng.exponential(size=40)),
        np.maximum(x - 0.4, 0) + 0.02 * rng.random(40),
        x**2,
        np.sqrt(x) + 0.1 * rng.random(40),
    ][seed]
    y = (y - y.min()) / np.ptp(y)
    np.testing.assert_allclose(lines_below(x, y), slopes_by_quadratic_program(x, y), atol=2e-5)


@pytest.mark.parametrize("seed", range(5))
def test_lines_below_agree_with_a_search_over_slopes(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(60))
    y = np.sort(rng.random(60) ** rng.uniform(0.3, 4))
    least = (y[-1] - y[0]) / (x[-1] - x[0]) / 100
    xs, ys = (np.lib.stride_tricks.sliding_window_view(values, WINDOW) for values in (x, y))

    def loss(slope):
        limit = np.min(y - slope[:, None] * x, axis=1)
        intercept = np.minimum(ys.mean(axis=1) - slope * xs.mean(axis=1), limit)
        return ((ys - slope[:, None] * xs - intercept[:, None]) ** 2).sum(axis=1)

    low, high = np.full(len(xs), least), np.full(len(xs), 1e4)
    for _ in range(150):
        third = (high - low) / 3
        left = loss(low + third) <= loss(high - third)
        low, high = np.where(left, low, low + third), np.where(left, high - third, high)
    found = lines_below(x, y)
    assert (found >= least).all()
    np.testing.assert_allclose(loss(found), loss((low + high) / 2), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found, (low + high) / 2, rtol=1e-5)


def test_a_line_that_fits_freely_is_plain_least_squares():
    x = np.linspace(0, 1, 50)
    y = 0.5 * x
    np.testing.assert_allclose(lines_below(x, y), 0.5, atol=1e-9)


@pytest.mark.parametrize("place", [0.01, 0.05, 0.2, 0.5, 0.8])
def test_elbow_of_a_curve_with_one_kink(place):
    grid = alpha_grid()
    found = elbow(grid, -np.maximum(grid - place, 0.0))
    assert grid[found.place] == pytest.approx(place, abs=0.011)
    assert np.isnan(found.scores[-WINDOW:]).all()
    assert np.isfinite(found.scores[:-WINDOW]).all()


@pytest.mark.parametrize("curve", [lambda x: -x, lambda x: -np.log(x), lambda x: -np.sqrt(x)])
def test_a_curve_that_falls_from_the_start_has_its_elbow_there(curve):
    grid = alpha_grid()
    assert grid[elbow(grid, curve(grid)).place] < 0.005


def test_a_curve_that_falls_at_its_end_has_its_elbow_there():
    grid = alpha_grid()
    found = elbow(grid, np.where(grid < 0.985, 0.0, -1.0))
    assert grid[found.place] == 0.89


def test_a_component_that_the_mixture_lacks_has_no_share():
    # Most of the component lies where the mixture has no rows at all.
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [90_000, 10_000])
    scores = rng.normal(np.where((s == 1) & (rng.random(len(s)) < 0.7), 4.0, 0.0))
    found = AlphaMax(interval=None).fit_scores(s, scores).estimate_
    assert found.alpha < 0.01
    assert any("no unlabeled rows" in text for text in found.warnings)


def test_elbow_ignores_dips_before_the_fall():
    grid = alpha_grid()
    curve = -np.maximum(grid - 0.5, 0.0)
    curve[100:110] -= 0.2
    found = elbow(grid, curve)
    assert np.diff(found.monotone).max() <= 0
    assert grid[found.place] == pytest.approx(0.5, abs=0.011)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_separated_gaussians(alpha):
    found = AlphaMax(interval=None).fit_scores(*gaussians(7, alpha)).estimate_
    assert abs(found.alpha - alpha) < 0.05
    assert found.converged
    assert found.curve.marker == found.alpha


def test_mean_error_over_repetitions():
    errors = [
        AlphaMax(interval=None).fit_scores(*gaussians(seed, alpha)).alpha_ - alpha
        for alpha in (0.25, 0.5, 0.75)
        for seed in range(10)
    ]
    assert np.abs(errors).mean() < 0.02


def test_a_small_share_is_found():
    found = AlphaMax(interval=None).fit_scores(*gaussians(0, 0.03, n_unlabeled=10_000)).estimate_
    assert abs(found.alpha - 0.03) < 0.01


def test_a_large_share_needs_the_mirror():
    s, scores = gaussians(0, 0.97, n_unlabeled=10_000)
    scores = 1 / (1 + np.exp(8 - 4 * scores))
    plain = AlphaMax(interval=None).fit_scores(s, scores).estimate_
    mirrored = AlphaMax(interval=None, mirror=True).fit_scores(s, scores).estimate_
    assert plain.alpha <= 0.89
    assert abs(mirrored.alpha - 0.97) < 0.02


def test_the_end_of_the_range_is_reported():
    grid = alpha_grid()
    assert grid[len(grid) - WINDOW - 1] == 0.89
    s, scores = gaussians(0, 0.9, n_unlabeled=10_000)
    found = AlphaMax(interval=None).fit_scores(s, scores).estimate_
    assert found.alpha == 0.89
    assert any("may be larger" in text for text in found.warnings)


def test_interval_holds_the_estimate_and_the_truth():
    s, scores = gaussians(2, 0.4)
    found = AlphaMax().fit_scores(s, scores).estimate_
    low, high = found.interval
    assert low <= found.alpha <= high
    assert low < 0.4 < high
    assert high - low < 0.2


def test_a_rival_elbow_is_reported():
    # Labeled and unlabeled rows differ so little that the curve is mostly noise.
    s = np.repeat([1, 0], [1000, 5000])
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scores = rng.normal(0.3 * s)
        found.append(AlphaMax(interval=None).fit_scores(s, scores).estimate_)
    rivals = [one for one in found if any("may be noise" in text for text in one.warnings)]
    assert rivals
    assert not any(one.converged for one in rivals)


def test_rows_alike_everywhere_may_all_be_positive():
    scores = np.tile(np.arange(10.0), 20)
    s = np.repeat([1, 0], 100)
    found = AlphaMax(interval=None).fit_scores(s, scores).estimate_
    assert found.alpha == 1.0
    assert not found.converged
    assert any("flat" in text for text in found.warnings)


def test_labeled_rows_with_one_score():
    s = np.repeat([1, 0], [100, 1000])
    scores = np.concatenate([np.ones(100), np.ones(300), np.zeros(700)])
    found = AlphaMax(n_draws=20).fit_scores(s, scores).estimate_
    assert abs(found.alpha - 0.3) < 0.02


def test_draws_with_a_single_score():
    s = np.repeat([1, 0], [200, 4000])
    scores = np.zeros(4200)
    scores[[0, 1, -1]] = 1.0
    found = AlphaMax(n_draws=20).fit_scores(s, scores).estimate_
    assert np.isfinite(found.draws).all()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scores_of_any_size(scale):
    s, scores = gaussians(7, 0.5)
    found = AlphaMax(interval=None).fit_scores(s, scores * scale).estimate_
    assert found.alpha == AlphaMax(interval=None).fit_scores(s, scores).alpha_


def test_thinned_tables_give_almost_the_same():
    table = ScoreTable.from_arrays(*gaussians(7, 0.4, n_unlabeled=50_000))
    thinned = AlphaMax(interval=None).fit_scores(table.thin(2000)).alpha_
    assert thinned == pytest.approx(AlphaMax(interval=None).fit_scores(table).alpha_, abs=0.011)


def test_curve_is_fast():
    labeled, unlabeled = binned(ScoreTable.from_arrays(*gaussians(0, 0.3, n_unlabeled=50_000)))
    grid = alpha_grid()
    times = []
    for _ in range(5):
        started = time.perf_counter()
        elbow(grid, log_likelihood_curve(labeled, unlabeled, grid))
        times.append(time.perf_counter() - started)
    assert min(times) < 0.05


@pytest.mark.parametrize(
    ("s", "scores", "message"),
    [
        (np.repeat([1, 0], [10, 100]), np.arange(110.0), "at least 20 labeled"),
        (np.repeat([1, 0], [100, 30]), np.arange(130.0), "50 unlabeled"),
        (np.repeat([1, 0], 100), np.ones(200), "rows that differ"),
        (np.ones(200), np.arange(200.0), "labeled and unlabeled rows"),
        (np.repeat([1, 0], 100), np.r_[np.nan, np.arange(199.0)], "finite"),
    ],
)
def test_bad_input(s, scores, message):
    with pytest.raises(InvalidInputError, match=message) as error:
        AlphaMax().fit_scores(s, scores)
    assert "\n" not in str(error.value)


def test_no_numerical_warnings_at_extremes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for p, w in [
            ([1.0], [1.0]),
            ([1.0, 0.0], [1e-12, 1 - 1e-12]),
            ([1.0, 0.0], [1 - 1e-12, 1e-12]),
            ([0.5, 0.5], [1e-9, 1 - 1e-9]),
        ]:
            grid = alpha_grid(mirror=True)
            u, _ = optimal_shares(np.array(p), np.array(w), grid)
            np.testing.assert_allclose(u.sum(axis=1), grid, rtol=1e-9)
