from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial.distance import cdist
from sklearn.base import clone

from recoup import ScoreTable
from recoup.exceptions import InvalidInputError
from recoup.priors._solvers import kernel as _kernel
from recoup.priors._solvers.kernel import best_width, centered, low_rank_factor
from recoup.priors._solvers.simplex_qp import nearest_in_hull
from recoup.priors.km import KM1, KM2, _DistanceCurve, _Embedded, _first_above, _nodes

CELL = 7 / 256
LAMBDAS = (1.05, 1.5, 1.9, 2.1, 2.5, 4.5, 8.0)


def gaussians(n_features, alpha, *, n_labeled=500, n_unlabeled=2000, gap=4.0, seed=0):
    """Rows of which exactly the share alpha of the unlabeled ones is positive."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_labeled + n_unlabeled, n_features))
    X[: n_labeled + round(alpha * n_unlabeled), 0] += gap
    return X, np.repeat([1, 0], [n_labeled, n_unlabeled])


def counts(s):
    return (s == 1).astype(int), (s == 0).astype(int)


def kernel_matrix(X, width):
    return np.exp(-cdist(X, X, "sqeuclidean") / (2 * width**2))


def curve_of(X, s, width, max_rank=300):
    factor, diagonal = low_rank_factor(X, width, max_rank, np.random.default_rng(0))
    return _DistanceCurve(_Embedded(factor, diagonal, *counts(s)))


def dense_distance(kernel, s, at):
    """The distance d by an active-set method on the full kernel matrix."""
    goal = at * (s == 0) / np.sum(s == 0) + (1 - at) * (s == 1) / np.sum(s == 1)
    values, vectors = np.linalg.eigh(kernel)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    # A heavy row holds the sum of the weights at one.
    heavy = 1e3
    rows = np.vstack([root, np.full(len(s), heavy)])
    weights, _ = nnls(rows, np.append(root @ goal, heavy), maxiter=100 * len(s))
    off = weights / weights.sum() - goal
    return math.sqrt(max(off @ kernel @ off, 0.0))


def lambda_of(estimate):
    return 1 / (1 - estimate.alpha)


@pytest.mark.parametrize("n_features", [1, 3, 5])
def test_distance_is_that_of_a_dense_solver(n_features):
    X, s = gaussians(n_features, 0.5, n_labeled=80, n_unlabeled=120)
    width = 1.5 * math.sqrt(n_features)
    curve, kernel = curve_of(X, s, width), kernel_matrix(X, width)
    for at in LAMBDAS:
        expected = dense_distance(kernel, s, at)
        assert curve.distance(at) == pytest.approx(expected, abs=1e-4)
        gap = curve.solved[at].gap
        assert gap <= max(1e-6 * expected**2, 1e-10)


def test_diagonal_stands_in_for_what_the_factor_lacks():
    X, s = gaussians(10, 0.5, n_labeled=80, n_unlabeled=120)
    kernel = kernel_matrix(X, 4.0)
    full, low = (curve_of(X, s, 4.0, rank) for rank in (200, 50))
    bare = _DistanceCurve(_Embedded(low.embedded.factor, 0 * low.embedded.diagonal, *counts(s)))
    for at in (2.1, 2.5, 4.5):
        expected = dense_distance(kernel, s, at)
        assert full.distance(at) == pytest.approx(expected, abs=1e-4)
        assert low.distance(at) == pytest.approx(expected, rel=0.1)
        assert abs(low.distance(at) - expected) < abs(bare.distance(at) - expected)


def test_weights_are_a_mixture_and_the_certificate_holds():
    rng = np.random.default_rng(1)
    factor, diagonal = rng.normal(size=(60, 8)), rng.random(60) / 10
    goal = rng.normal(size=60)
    loose, tight = (nearest_in_hull(factor, diagonal, goal, gap) for gap in (0.1, 1e-9))
    for found in (loose, tight):
        assert found.weights.min() >= 0
        assert found.weights.sum() == pytest.approx(1)
    assert loose.distance**2 - loose.gap <= tight.distance**2 <= loose.distance**2
    assert tight.gap <= 1e-9 * tight.distance**2 < loose.gap


def test_goal_inside_the_hull_has_no_distance():
    factor = np.random.default_rng(2).normal(size=(300, 4))
    goal = np.full(300, 1 / 300)
    goal[:2] += 0.01, -0.01
    found = nearest_in_hull(factor, np.zeros(300), goal)
    assert found.distance < 1e-6


def test_distance_is_convex_from_zero():
    X, s = gaussians(3, 0.5, n_labeled=100, n_unlabeled=200)
    curve = curve_of(X, s, 2.0)
    at = np.linspace(1, 8, 29)
    heights = np.array([curve.distance(float(x)) for x in at])
    assert heights[0] == 0
    assert (np.diff(heights, 2) > -1e-6).all()
    slopes = np.diff(heights) / np.diff(at)
    assert slopes.max() <= curve.limit + 1e-6


@pytest.mark.parametrize("n_features", [1, 5])
def test_slope_is_that_of_finite_differences(n_features):
    X, s = gaussians(n_features, 0.5, n_labeled=100, n_unlabeled=200)
    curve = curve_of(X, s, 2.0)
    for at in LAMBDAS[1:]:
        low, high = curve.distance(at), curve.distance(at + 0.02)
        assert curve.slope(at) == pytest.approx((high - low) / 0.02, rel=0.02, abs=1e-4)
    assert sum(at + 0.01 in curve.slopes for at in LAMBDAS[1:]) >= 4


def test_slope_falls_back_to_differences_where_the_distance_vanishes():
    X, s = gaussians(1, 0.5)
    curve = curve_of(X, s, 1.0)
    assert curve.slope(1.02) == pytest.approx(0, abs=1e-3)
    assert 1.02 in curve.slopes


def test_width_is_the_one_of_five_that_separates_best():
    for gap, seed in ((4.0, 0), (1.0, 1), (0.3, 2)):
        X, s = gaussians(2, 0.3, n_labeled=60, n_unlabeled=90, gap=gap, seed=seed)
        contrast = (s == 0) / 90 - (s == 1) / 60
        median = math.sqrt(np.median(cdist(X, X, "sqeuclidean")))
        widths = median * np.array([0.1, 10**-0.5, 1, 10**0.5, 10])
        apart = [contrast @ kernel_matrix(X, width) @ contrast for width in widths]
        found = best_width(X, *counts(s), np.random.default_rng(0))
        assert found == pytest.approx(widths[np.argmax(apart)])


def test_width_from_a_sample_of_rows_is_nearly_that_of_all(monkeypatch):
    X, s = gaussians(2, 0.3, n_labeled=1000, n_unlabeled=2000)
    every = best_width(X, *counts(s), np.random.default_rng(0))
    monkeypatch.setattr(_kernel, "MAX_PAIRED", 1000)
    assert best_width(X, *counts(s), np.random.default_rng(0)) == pytest.approx(every, rel=0.1)


def test_factor_reproduces_the_kernel_and_pivots_from_a_sample_do_too(monkeypatch):
    X, _ = gaussians(2, 0.5, n_labeled=100, n_unlabeled=500)
    kernel = kernel_matrix(X, 2.0)
    for many in (20_000, 300):
        monkeypatch.setattr(_kernel, "MANY_ROWS", many)
        monkeypatch.setattr(_kernel, "PIVOT_ROWS", 200)
        factor, diagonal = low_rank_factor(X, 2.0, 300, np.random.default_rng(0))
        assert factor.shape[1] < 120
        # Rows far from all that pivots were drawn from are left to the diagonal.
        lost = kernel - factor @ factor.T - np.diag(diagonal)
        assert np.abs(lost).mean() < (1e-6 if many == 20_000 else 1e-5)
        assert diagonal.mean() <= (1e-6 if many == 20_000 else 2e-4)
        np.testing.assert_allclose(np.sum(factor**2, axis=1) + diagonal, 1, atol=1e-9)


def test_published_bisection_on_the_full_kernel_matrix_ends_in_the_same_cell():
    X, s = gaussians(2, 0.4, n_labeled=60, n_unlabeled=120)
    points = centered(X, np.ones(len(s), int), scale=True)
    kernel = kernel_matrix(points, best_width(points, *counts(s), np.random.default_rng(0)))
    contrast = (s == 0) / 120 - (s == 1) / 60
    limit = math.sqrt(contrast @ kernel @ contrast)
    first = dense_distance(kernel, s, 1.05) / 0.05
    thresholds = {KM1: 1 / math.sqrt(60), KM2: 0.8 * first + 0.2 * limit}
    for estimator, threshold in thresholds.items():
        left, right = 1.0, 8.0
        while right - left > 0.04:
            middle = (left + right) / 2
            rise = dense_distance(kernel, s, middle + 0.02) - dense_distance(kernel, s, middle)
            left, right = (left, middle) if rise / 0.02 > threshold else (middle, right)
        found = estimator(interval=None).fit(X, s).estimate_
        assert lambda_of(found) == pytest.approx((left + right) / 2, abs=1.01 * CELL)
        assert found.curve.level == pytest.approx(threshold, rel=0.02)


@pytest.mark.parametrize("estimator", [KM1, KM2])
def test_rank_hardly_moves_the_estimate(estimator):
    X, s = gaussians(4, 0.4, n_labeled=150, n_unlabeled=350)
    low, dense = (
        estimator(interval=None, max_rank=rank).fit(X, s).estimate_ for rank in (120, 500)
    )
    assert lambda_of(low) == pytest.approx(lambda_of(dense), abs=1.01 * CELL)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("estimator", [KM1, KM2])
@pytest.mark.parametrize("n_features", [1, 5])
def test_gaussians_four_deviations_apart(estimator, alpha, n_features):
    X, s = gaussians(n_features, alpha)
    found = estimator(interval=None, max_rank=100).fit(X, s).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.05)
    assert found.converged
    assert not found.warnings


@given(
    n_true=st.integers(0, 600),
    guess=st.integers(0, 600),
    top=st.sampled_from([1.02, 1.1, 2.0, 8.0, 100.0]),
)
def test_search_from_a_guess_ends_where_bisection_does(n_true, guess, top):
    nodes = _nodes(top)
    border = nodes[min(n_true, len(nodes) - 1)]
    found = {
        start: _first_above(nodes, lambda at: at >= border, start)
        for start in (None, min(guess, len(nodes) - 2))
    }
    expected = min(max(np.searchsorted(nodes, border) - 1, 0), len(nodes) - 2)
    assert set(found.values()) == {expected}


def test_nodes_are_those_of_the_published_bisection():
    nodes = _nodes(8.0)
    assert len(nodes) == 257
    assert (nodes[0], nodes[128], nodes[-1]) == (1, 4.5, 8)
    more = _nodes(100.0)
    np.testing.assert_array_equal(more[:257], nodes)
    assert more[-1] == pytest.approx(100)
    assert (np.diff(more[256:]) / more[256:-1] < 0.011).all()


def test_high_priors_need_a_larger_max_lambda():
    X, s = gaussians(1, 0.95, n_labeled=1000)
    capped = KM2(interval=None).fit(X, s).estimate_
    assert not capped.converged
    assert capped.alpha == pytest.approx(1 - 1 / (8 - CELL / 2))
    assert "max_lambda" in capped.warnings[-1]
    found = KM2(interval=None, max_lambda=100).fit(X, s).estimate_
    assert found.converged
    assert found.alpha == pytest.approx(0.95, abs=0.05)


def test_value_rule_compares_the_distance():
    X, s = gaussians(1, 0.5)
    found = KM1(interval=None, rule="value").fit(X, s).estimate_
    assert found.curve.level == pytest.approx(1 / math.sqrt(500))
    assert list(found.curve.lines) == ["distance d"]
    (heights,) = found.curve.lines.values()
    level = np.interp(found.curve.marker, found.curve.x, heights)
    assert level == pytest.approx(found.curve.level, rel=0.3)
    assert found.alpha == KM2(interval=None, rule="value").fit(X, s).alpha_
    assert found.alpha == pytest.approx(0.5, abs=0.1)


def test_too_few_rows_for_the_threshold_of_km1():
    X, s = gaussians(20, 0.5, n_labeled=20, n_unlabeled=400, gap=0.0)
    first, second = (e(interval=None).fit(X, s).estimate_ for e in (KM1, KM2))
    assert first.curve.level == pytest.approx(second.curve.level, rel=0.05)
    assert any("KM2" in text for text in first.warnings)


def test_curve_shows_distance_slope_threshold_and_marker():
    X, s = gaussians(1, 0.5)
    found = KM2(interval=None).fit(X, s).estimate_
    curve = found.curve
    assert list(curve.lines) == ["distance d", "slope of d"]
    assert curve.x[0] == 1
    assert curve.lines["distance d"][0] == 0
    assert (np.diff(curve.x) > 0).all()
    assert (np.diff(curve.lines["slope of d"]) > -1e-3).all()
    assert curve.marker == pytest.approx(lambda_of(found))
    near = np.interp(curve.marker, curve.x, curve.lines["slope of d"])
    assert near == pytest.approx(curve.level, rel=0.2)


@pytest.mark.parametrize("estimator", [KM1, KM2])
def test_reruns_are_equal_to_the_last_bit(estimator):
    X, s = gaussians(3, 0.5, n_labeled=100, n_unlabeled=300)
    first, again = (estimator(n_draws=5).fit(X, s).estimate_ for _ in range(2))
    assert first.alpha == again.alpha
    np.testing.assert_array_equal(first.draws, again.draws)
    for name, line in first.curve.lines.items():
        np.testing.assert_array_equal(line, again.curve.lines[name])


def test_interval_comes_from_subsamples():
    X, s = gaussians(2, 0.5, n_labeled=300, n_unlabeled=900)
    found = KM2(n_draws=20).fit(X, s).estimate_
    low, high = found.interval
    assert low <= found.alpha <= high
    assert 0.01 < high - low < 0.3
    assert len(found.draws) == 20
    assert found.interval_method == "subsample"
    wider = KM2(n_draws=20, confidence=0.99).fit(X, s).estimate_
    assert wider.interval[1] - wider.interval[0] >= high - low


def test_reduced_points_keep_the_kernel_diagonal():
    X, s = gaussians(4, 0.5, n_labeled=80, n_unlabeled=220)
    full = curve_of(X, s, 3.0).embedded
    coarse = full.reduced(1e-3, 40)
    assert coarse.factor.shape[1] <= 40 < full.factor.shape[1]
    np.testing.assert_allclose(np.sum(coarse.factor**2, axis=1) + coarse.diagonal, 1, atol=1e-6)
    drawn = coarse.subsample((30, 70), np.random.default_rng(0))
    assert (drawn.labeled.sum(), drawn.unlabeled.sum()) == (30, 70)


def test_tied_scores_weigh_as_much_as_their_rows():
    X, s = gaussians(1, 0.4)
    scores = np.round(X[:, 0], 1)
    by_rows = KM2(interval=None).fit(scores[:, None], s).estimate_
    by_scores = KM2(interval=None).fit_scores(s, scores).estimate_
    assert lambda_of(by_scores) == pytest.approx(lambda_of(by_rows), abs=1.01 * CELL)
    assert math.isnan(by_rows.auc_pu)
    assert by_scores.auc_pu > 0.7
    table = ScoreTable.from_arrays(s, scores)
    assert KM2(interval=None).fit_scores(table).alpha_ == by_scores.alpha


def test_many_scores_are_merged():
    X, s = gaussians(1, 0.3, n_labeled=20_000, n_unlabeled=80_000)
    found = KM2(n_draws=10).fit_scores(s, X[:, 0]).estimate_
    assert found.alpha == pytest.approx(0.3, abs=0.02)
    assert (found.n_labeled, found.n_unlabeled) == (20_000, 80_000)
    assert found.interval[1] - found.interval[0] < 0.05


def test_units_do_not_matter():
    X, s = gaussians(3, 0.5, n_labeled=100, n_unlabeled=300)
    moved = X * [1.0, 1e4, 1e-4] + [0.0, 1e7, 1.0]
    plain = KM2(interval=None).fit(X, s).estimate_
    assert KM2(interval=None).fit(moved, s).alpha_ == pytest.approx(plain.alpha, abs=0.01)
    unscaled = [KM2(interval=None, scale=False).fit(X + by, s).alpha_ for by in (0.0, 1e5)]
    assert unscaled[0] == pytest.approx(unscaled[1], abs=0.01)


def test_mostly_equal_rows_and_constant_columns():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [200, 800])
    flags = (rng.random((1000, 2)) < 0.05).astype(float)
    flags[:600, 0] = rng.random(600) < 0.3
    X = np.column_stack([flags, np.full(1000, 3.7)])
    found = KM2(interval=None).fit(X, s).estimate_
    assert 0.2 < found.alpha < 0.9


def test_known_negatives_are_left_out():
    X, s = gaussians(1, 0.5, n_labeled=100, n_unlabeled=300)
    more = np.vstack([X, np.full((50, 1), -3.0)])
    found = KM2(interval=None).fit(more, np.append(s, np.full(50, -1))).estimate_
    assert found.alpha == KM2(interval=None).fit(X, s).alpha_


def test_parameters_survive_cloning():
    copy = clone(KM2(max_lambda=20.0, rule="value", scale=False, max_rank=50))
    assert copy.get_params()["max_lambda"] == 20.0
    assert copy.n_draws == 50
    assert (copy.rule, copy.scale, copy.max_rank) == ("value", False, 50)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"interval": "bootstrap"}, "needs interval to be 'subsample', or None"),
        ({"interval": "refit"}, "needs interval to be 'subsample', or None"),
        ({"interval": "jackknife"}, "needs interval to be 'subsample', or None"),
        ({"confidence": 95}, "needs confidence"),
        ({"rule": "slope"}, "needs rule"),
        ({"max_lambda": 1.0}, "needs max_lambda"),
        ({"max_lambda": math.inf}, "needs max_lambda"),
        ({"max_lambda": "8"}, "needs max_lambda"),
        ({"max_rank": 0}, "needs max_rank"),
        ({"max_rank": 2.5}, "needs max_rank"),
    ],
)
def test_options_that_cannot_work(options, expected):
    X, s = gaussians(1, 0.5, n_labeled=100, n_unlabeled=300)
    for fit in (lambda e: e.fit(X, s), lambda e: e.fit_scores(s, X[:, 0])):
        with pytest.raises(InvalidInputError, match=expected) as caught:
            fit(KM2(**options))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("estimator", [KM1, KM2])
def test_rows_that_cannot_work(estimator):
    X, s = gaussians(2, 0.5, n_labeled=100, n_unlabeled=300)
    broken = X.copy()
    broken[3, 1] = np.nan
    for rows, labels, expected in (
        (X[90:], s[90:], "at least 20 labeled"),
        (X[:120], s[:120], "50 unlabeled"),
        (X[s == 0], s[s == 0], "labeled"),
        (np.ones_like(X), s, "cannot be told apart"),
        (broken, s, "finite numbers"),
        (X[:-1], s, "X and s"),
    ):
        with pytest.raises(InvalidInputError, match=expected):
            estimator(interval=None).fit(rows, labels)
    with pytest.raises(InvalidInputError, match="cannot be told apart"):
        estimator().fit_scores(s, np.ones(len(s)))
