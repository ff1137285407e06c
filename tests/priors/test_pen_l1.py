"""PenL1: its exact minimum and its fold sums against direct ones, and known shares."""

import numpy as np
import pytest

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.gaussians import median_distance, squared_distances, standardized
from recoup.priors.pen_l1 import ALPHAS, WIDTHS, PenL1, exact_minimum, fold_sums, held_out_gains


def gaussians(alpha, n_labeled=500, n_unlabeled=3000, distance=4.0, seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = np.arange(len(s)) < n_labeled + round(alpha * n_unlabeled)
    return s, rng.normal(np.where(positive, distance, 0.0))


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_separated_gaussians(alpha):
    s, scores = gaussians(alpha)
    found = PenL1(interval=None).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.05)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_a_column_of_noise_costs_some_precision(alpha):
    s, scores = gaussians(alpha)
    X = np.column_stack([scores, np.random.default_rng(1).normal(size=len(s))])
    # Six samples like this one: off by 0.05 on average and by 0.1 at most, at 0.75.
    assert PenL1(interval=None).fit(X, s).alpha_ == pytest.approx(alpha, abs=0.1)


def test_small_shares_are_not_cut_off():
    s, scores = gaussians(0.03, 1000, 8000)
    assert PenL1(interval=None).fit_scores(s, scores).alpha_ == pytest.approx(0.03, abs=0.01)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_exact_minimum_is_that_of_a_fine_grid(seed, penalty):
    rng = np.random.default_rng(seed)
    m, u = rng.uniform(0, 1, 40), rng.uniform(0, 0.7, 40)
    m[:3] = 0.0
    found = exact_minimum(m, u, penalty)

    def objective(alpha):
        b = np.asarray(alpha)[..., None] * m - u
        return (np.maximum(0, b) * b).sum(axis=-1) / penalty - alpha + 1

    grid = np.linspace(0, 3, 30_001)
    assert found == pytest.approx(grid[np.argmin(objective(grid))], abs=1.01e-4)
    assert objective(found) <= objective(grid).min() + 1e-12


def test_fold_sums_are_sums_over_folds():
    rng = np.random.default_rng(2)
    X = standardized(rng.normal(size=(200, 3)))
    s = np.repeat([1, 0], [80, 120])
    sums, sizes = fold_sums(X, s, 500, np.random.default_rng(0))
    assert sums.shape == (len(WIDTHS), 2, 5, 120)
    assert sizes.sum(axis=1).tolist() == [120, 80]
    width = WIDTHS[4] * median_distance(X, np.random.default_rng(0))
    squares = ((X[:, None] - X[s == 0]) ** 2).sum(axis=2)
    phi = np.exp(-squares / (2 * width**2))
    np.testing.assert_allclose(sums[4, 0].sum(axis=0), phi[s == 0].sum(axis=0))
    np.testing.assert_allclose(sums[4, 1].sum(axis=0), phi[s == 1].sum(axis=0))


def test_held_out_gains_by_hand():
    rng = np.random.default_rng(3)
    sums, sizes = rng.uniform(0, 9, (2, 2, 5, 7)), rng.integers(10, 20, (2, 5)).astype(float)
    gains = held_out_gains(sums, sizes)
    at, width, expected = 40, 1, 0.0
    for fold in range(5):
        rest = np.arange(5) != fold
        train = sums[width][:, rest].sum(axis=1) / sizes[:, rest].sum(axis=1)[:, None]
        test = sums[width][:, fold] / sizes[:, fold][:, None]
        b_train, b_test = (ALPHAS[at] * m[1] - m[0] for m in (train, test))
        expected += (np.maximum(0, b_train) * b_test).sum() / 5
    assert gains[width, at] == pytest.approx(expected)


def test_distances():
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    np.testing.assert_allclose(
        squared_distances(A, B), ((A[:, None] - B) ** 2).sum(axis=2), atol=1e-12
    )
    assert median_distance(np.array([[0.0], [1.0], [3.0]]), rng) == 2.0
    assert standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist() == [[-1.0], [1.0]]


def test_units_do_not_matter():
    s, scores = gaussians(0.4, 300, 1000)
    X = np.column_stack([scores, np.random.default_rng(5).normal(size=len(s))])
    one = PenL1(interval=None).fit(X, s).alpha_
    other = PenL1(interval=None).fit(X * [1000.0, 0.01] + 7, s).alpha_
    assert one == pytest.approx(other, abs=1e-6)


def test_interval_curve_and_seed():
    s, scores = gaussians(0.4, 300, 1000)
    found = PenL1(n_draws=20).fit_scores(s, scores).estimate_
    assert found.interval == PenL1(n_draws=20).fit_scores(s, scores).estimate_.interval
    assert found.interval[0] <= found.alpha <= found.interval[1]
    assert len(found.draws) == 20
    one = found.curve.lines["one width"]
    assert found.curve.x[np.argmin(one)] == pytest.approx(found.alpha, abs=0.01)


def test_many_scores_keep_their_sizes():
    s, scores = gaussians(0.3, 20_000, 60_000)
    found = PenL1(interval=None).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(0.3, abs=0.03)
    assert (found.n_labeled, found.n_unlabeled) == (20_000, 60_000)


@pytest.mark.parametrize(
    ("s", "X", "says"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0)[:, None], "at least 20 labeled"),
        (np.repeat([1, 0], 100), np.full((200, 2), 3.0), "rows that differ"),
        (np.ones(200), np.arange(200.0)[:, None], "unlabeled"),
        (np.repeat([1, 0], 100), np.where(np.arange(200) == 7, np.nan, 0.1)[:, None], "NaN"),
        (np.repeat([1, 0], 100), [["a"]] * 200, "finite numbers"),
    ],
)
def test_bad_input(s, X, says):
    with pytest.raises(InvalidInputError, match=says):
        PenL1().fit(X, s)


@pytest.mark.parametrize("option", [{"n_basis": 0}, {"penalty": 0.0}])
def test_bad_options(option):
    s, scores = gaussians(0.4)
    with pytest.raises(InvalidInputError, match=next(iter(option))):
        PenL1(**option).fit_scores(s, scores)
