"""PULSCAR: densities against direct sums, its two readings, and known shares."""

import numpy as np
import pytest
from scipy.stats import beta

from recoup.exceptions import InvalidInputError
from recoup.priors.base import checked_table
from recoup.priors.pulscar import (
    N_NODES,
    PULSCAR,
    alpha_from_probabilities,
    beta_kernels,
    matched_densities,
    spread_probabilities,
)


def gaussians(alpha, n_labeled=500, n_unlabeled=3000, distance=4.0, seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    positive = np.arange(len(s)) < n_labeled + round(alpha * n_unlabeled)
    return s, rng.normal(np.where(positive, distance, 0.0))


def calibrated(alpha, scores, n_labeled=500, n_unlabeled=3000, distance=4.0):
    ratio = np.exp(distance * scores - distance**2 / 2)
    mixture = alpha * ratio + 1 - alpha
    return n_labeled * ratio / (n_labeled * ratio + n_unlabeled * mixture)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("kind", ["margins", "probabilities"])
def test_separated_gaussians(alpha, kind):
    s, scores = gaussians(alpha)
    if kind == "probabilities":
        scores = calibrated(alpha, scores)
    assert PULSCAR(interval=None).fit_scores(s, scores).alpha_ == pytest.approx(alpha, abs=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_bend_is_at_the_least_ratio(seed):
    table = checked_table(*gaussians(0.4, distance=3.0, seed=seed), "test")
    found = matched_densities(table)
    assert found.alpha == pytest.approx(found.members["least ratio"], abs=0.01)
    ratio = found.curve.lines["unlabeled over labeled density"]
    assert np.nanmin(ratio) == pytest.approx(found.members["least ratio"])
    assert found.curve.x[np.nanargmin(ratio)] == found.curve.marker > 0.5


def test_kernels_are_beta_densities():
    nodes = (np.arange(N_NODES) + 0.5) / N_NODES
    for x, kernel in zip(np.linspace(0, 1, 9), beta_kernels(9, 0.1, at_centers=False), strict=True):
        np.testing.assert_allclose(kernel, beta.pdf(nodes, x / 0.1 + 1, (1 - x) / 0.1 + 1))
    centers = beta_kernels(4, 0.2, at_centers=True)
    np.testing.assert_allclose(centers[0], beta.pdf(nodes, 0.125 / 0.2 + 1, 0.875 / 0.2 + 1))


def test_binned_density_is_the_mean_of_kernels():
    rng = np.random.default_rng(1)
    values = np.sort(rng.beta(2, 3, 400))
    labeled = (rng.random(400) < 0.5).astype(int)
    found = alpha_from_probabilities(values, labeled, 1 - labeled, (0.1, 0.1))
    x = found.curve.x
    direct = beta.pdf(values[labeled == 1], x[:, None] / 0.1 + 1, (1 - x[:, None]) / 0.1 + 1)
    np.testing.assert_allclose(
        found.curve.lines["labeled density"], direct.mean(axis=1), rtol=0.01, atol=1e-3
    )


def test_mixture_of_the_labeled_rows_themselves_is_found_exactly():
    # Unlabeled rows: the labeled rows once more, and as many rows far below.
    values = np.concatenate([np.linspace(0.01, 0.1, 300), np.linspace(0.7, 0.95, 300)])
    labeled = np.repeat([0, 1], 300)
    found = alpha_from_probabilities(values, labeled, np.ones(600, int), (0.02, 0.02))
    assert found.alpha == pytest.approx(0.5, abs=2e-3)


def test_spread_uses_the_upper_half_where_labels_are_rare():
    alpha = 0.3
    s, scores = gaussians(alpha, 300, 30_000, distance=2.0, seed=2)
    tau = calibrated(alpha, scores, 300, 30_000, distance=2.0)
    assert (tau[s == 1] > 0.5).mean() == 0
    table = checked_table(s, tau, "test")
    spread = spread_probabilities(table)
    assert (np.diff(spread) >= 0).all()
    assert (np.repeat(spread, table.labeled) > 0.5).mean() > 0.75
    assert np.quantile(np.repeat(spread, table.labeled), 0.95) == pytest.approx(0.9, abs=0.01)
    found = PULSCAR(interval=None).fit_scores(s, tau)
    assert found.alpha_ == pytest.approx(alpha, abs=0.08)


def test_low_labeled_scores_are_reported():
    values = np.linspace(0.01, 0.99, 200)
    labeled = (values < 0.4).astype(int)
    found = alpha_from_probabilities(values, labeled, np.ones(200, int), (0.08, 0.5))
    assert not found.converged
    assert any("upper half" in warning for warning in found.warnings)


def test_same_distribution_gives_one():
    rng = np.random.default_rng(3)
    s = np.repeat([1, 0], [2000, 8000])
    found = PULSCAR(interval=None).fit_scores(s, rng.normal(size=10_000)).estimate_
    assert found.alpha > 0.8
    assert any("hardly tell" in warning for warning in found.warnings)


def test_interval_and_seed():
    s, scores = gaussians(0.4, seed=4)
    found = PULSCAR(n_draws=50).fit_scores(s, scores).estimate_
    again = PULSCAR(n_draws=50).fit_scores(s, scores).estimate_
    assert found.interval == again.interval
    assert found.interval[0] <= found.alpha <= found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.25


@pytest.mark.parametrize(
    ("s", "scores", "says"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0), "at least 20 labeled"),
        (np.repeat([1, 0], 100), np.full(200, 0.3), "rows that differ"),
        (np.ones(200), np.arange(200.0), "unlabeled"),
        (np.repeat([1, 0], 100), np.where(np.arange(200) == 7, np.nan, 0.1), "nan"),
    ],
)
def test_bad_input(s, scores, says):
    with pytest.raises(InvalidInputError, match=says):
        PULSCAR().fit_scores(s, scores)


def test_bad_bandwidths():
    s, scores = gaussians(0.4)
    with pytest.raises(InvalidInputError, match="min_bandwidth <= max_bandwidth"):
        PULSCAR(min_bandwidth=0.6).fit_scores(s, scores)
