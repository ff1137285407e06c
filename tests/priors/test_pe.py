"""PE: sums and eigendecompositions against dense solves, and known shares."""

import numpy as np
import pytest

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.gaussians import fold_numbers, median_distance, standardized
from recoup.priors.conversions import alpha_from_pooled
from recoup.priors.pe import PE, PENALTIES, fold_moments, held_out_losses


def gaussians(alpha, n_labeled=500, n_unlabeled=3000, distance=4.0, seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = np.arange(len(s)) < n_labeled + round(alpha * n_unlabeled)
    return s, rng.normal(np.where(positive, distance, 0.0))


def basis(X, centers, width):
    squares = ((X[:, None] - centers) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * width**2))


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_separated_gaussians(alpha):
    s, scores = gaussians(alpha)
    assert PE(interval=None).fit_scores(s, scores).alpha_ == pytest.approx(alpha, abs=0.05)


def test_overlap_raises_it():
    s, scores = gaussians(0.25, distance=2.0)
    assert PE(interval=None).fit_scores(s, scores).alpha_ > 0.35


def test_formula_by_dense_algebra():
    s, scores = gaussians(0.4, 60, 200)
    found = PE(interval=None, width=0.7, penalty=0.05).fit(scores[:, None], s).estimate_
    X = standardized(scores[:, None])
    phi = basis(X, X[s == 1], 0.7 * median_distance(X, np.random.default_rng(0)))
    h = phi[s == 1].mean(axis=0)
    p = 60 / 260
    H = p * phi[s == 1].T @ phi[s == 1] / 60 + (1 - p) * phi[s == 0].T @ phi[s == 0] / 200
    a = np.linalg.inv(H + 0.05 * np.eye(60)) @ h
    pooled = 1 / (2 * a @ h - a @ H @ a)
    assert found.alpha == pytest.approx(alpha_from_pooled(pooled, 60, 200), abs=1e-9)
    divergence = found.curve.lines["divergence"]
    assert found.curve.x[np.argmin(divergence)] == pytest.approx(found.alpha, abs=0.005)


def test_one_decomposition_serves_all_penalties():
    s, scores = gaussians(0.4, 100, 300)
    X = standardized(scores[:, None])
    folds = fold_numbers(s, np.random.default_rng(1))
    centers, p = X[s == 1][:30], 0.25
    h, H, sizes = fold_moments(X, s, folds, centers, np.array([0.5]))
    losses = held_out_losses(h[0], H[0], sizes, p, PENALTIES)
    phi = basis(X, centers, 0.5)

    def moments(rows):
        labeled, unlabeled = phi[rows & (s == 1)], phi[rows & (s == 0)]
        products = p * labeled.T @ labeled / len(labeled)
        return labeled.mean(axis=0), products + (1 - p) * unlabeled.T @ unlabeled / len(unlabeled)

    for penalty, loss in zip(PENALTIES, losses, strict=True):
        direct = 0.0
        for fold in range(5):
            h_train, H_train = moments(folds != fold)
            a = np.linalg.solve(H_train + penalty * np.eye(30), h_train)
            h_test, H_test = moments(folds == fold)
            direct += (a @ H_test @ a / 2 - a @ h_test) / 5
        assert loss == pytest.approx(direct, abs=1e-8)


def test_chosen_width_and_penalty_are_kept_for_the_draws():
    s, scores = gaussians(0.4, 300, 1000)
    estimator = PE(n_draws=20).fit_scores(s, scores)
    found = estimator.estimate_
    assert found.interval[0] <= found.alpha <= found.interval[1]
    assert estimator.width is None
    settled = PE(n_draws=20, width=estimator.width_, penalty=estimator.penalty_)
    # The point that draws are centered at is summed over folds in one and at once in the other.
    again = settled.fit_scores(s, scores).estimate_.draws
    np.testing.assert_allclose(again, found.draws, rtol=1e-12)


def test_units_do_not_matter():
    s, scores = gaussians(0.4, 300, 1000)
    X = np.column_stack([scores, np.random.default_rng(5).normal(size=len(s))])
    one = PE(interval=None).fit(X, s).alpha_
    assert PE(interval=None).fit(X * [1000.0, 0.01] + 7, s).alpha_ == pytest.approx(one, abs=1e-6)


@pytest.mark.parametrize(
    ("s", "X", "says"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0)[:, None], "at least 20 labeled"),
        (np.repeat([1, 0], 100), np.full((200, 2), 3.0), "rows that differ"),
        (np.ones(200), np.arange(200.0)[:, None], "unlabeled"),
        (np.repeat([1, 0], 100), np.where(np.arange(200) == 7, np.nan, 0.1)[:, None], "NaN"),
    ],
)
def test_bad_input(s, X, says):
    with pytest.raises(InvalidInputError, match=says):
        PE().fit(X, s)


@pytest.mark.parametrize("option", [{"width": 0.0}, {"penalty": -1.0}, {"n_basis": 0}])
def test_bad_options(option):
    s, scores = gaussians(0.4)
    with pytest.raises(InvalidInputError, match=next(iter(option))):
        PE(**option).fit_scores(s, scores)
