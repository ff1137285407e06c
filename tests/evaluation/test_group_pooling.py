"""What groups have in common: limits in closed form, and intervals that hold."""

import numpy as np
import pytest
from scipy.special import expit, logit

from recoup.evaluation.group_pooling import pooled_normal, pooled_shares


def test_groups_without_rows_lie_around_their_centers():
    centers = np.array([[-2.0, 0.0, 1.5]])
    nothing = np.full(3, np.nan)
    found = pooled_normal(
        nothing, nothing, centers, np.zeros((1, 3)), 4000, np.random.default_rng(0)
    )
    assert found.own == pytest.approx(0)
    assert found.center == pytest.approx(centers[0], abs=0.05)


def test_exact_estimates_stay_as_they_are():
    rng = np.random.default_rng(1)
    own, centers = rng.normal(0, 1, 40), rng.normal(0, 1, (1, 40))
    found = pooled_normal(own, np.full(40, 1e-4), centers, np.zeros((1, 40)), 500, rng)
    assert found.center == pytest.approx(own, abs=1e-3)
    assert found.own == pytest.approx(1, abs=1e-3)


def test_alike_groups_are_drawn_together_and_an_outlier_is_left():
    rng = np.random.default_rng(2)
    own = rng.normal(0, 0.3, 30)
    own[0] = 4.0
    found = pooled_normal(own, np.full(30, 0.3), np.zeros((1, 30)), np.zeros((1, 30)), 2000, rng)
    assert np.abs(found.center[1:]).max() < np.abs(own[1:]).max() / 1.3
    assert found.center[0] > 3.3


def test_the_order_of_groups_changes_nothing():
    rng = np.random.default_rng(3)
    hits, sizes = np.array([1.0, 9, 40, 0]), np.array([5.0, 12, 50, 3])
    centers = np.array([[0.1, 0.4, 0.8, -0.5], [0.0, 0.0, 0.0, 0.0]])
    order = [2, 0, 3, 1]
    one = pooled_shares(hits, sizes, centers, np.zeros((2, 4)), 20_000, rng)
    other = pooled_shares(
        hits[order], sizes[order], centers[:, order], np.zeros((2, 4)), 20_000, rng
    )
    assert expit(other.center) == pytest.approx(expit(one.center)[order], abs=0.01)


def test_the_way_that_fits_wins():
    rng = np.random.default_rng(4)
    truth = rng.uniform(0.2, 0.9, 60)
    sizes = np.full(60, 40.0)
    hits = rng.binomial(40, truth).astype(float)
    ways = logit(np.array([np.full(60, 0.55), truth]))
    found = pooled_shares(hits, sizes, ways, np.zeros((2, 60)), 1000, rng)
    raw = np.sqrt(np.mean((hits / sizes - truth) ** 2))
    assert np.sqrt(np.mean((expit(found.center) - truth) ** 2)) < raw / 2


def test_noisy_centers_count_less():
    sizes, hits = np.array([20.0, 20.0, 20.0]), np.array([15.0, 15.0, 15.0])
    centers = np.zeros((1, 3))
    noise = np.array([[0.0, 0.0, 4.0]])
    found = pooled_shares(hits, sizes, centers, noise, 4000, np.random.default_rng(5))
    assert found.own[2] > found.own[0] + 0.1
    assert found.center[2] > found.center[0]


@pytest.mark.parametrize("n_groups", [3, 25])
def test_intervals_hold_over_groups_that_are_drawn(n_groups):
    rng = np.random.default_rng(6)
    held = []
    for _ in range(120):
        spread, shift = abs(rng.normal(0, 0.5)), rng.normal(0, 0.5)
        centers = rng.normal(0, 1, (1, n_groups))
        truth = centers[0] + shift + spread * rng.standard_t(4, n_groups)
        error = rng.uniform(0.2, 1.0, n_groups)
        own = rng.normal(truth, error)
        found = pooled_normal(own, error, centers, np.zeros((1, n_groups)), 400, rng)
        low, high = np.quantile(found.draws, [0.025, 0.975], axis=0)
        held += ((low <= truth) & (truth <= high)).tolist()
    assert 0.92 < np.mean(held) < 0.98
