import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recoup.exceptions import InvalidInputError
from recoup.priors.conversions import (
    alpha_from_label_frequency,
    alpha_from_pooled,
    alpha_from_population,
    density_ratio,
    label_frequency,
    pooled_prior,
    posterior,
    unmixed_shares,
)

shares = st.floats(0.001, 0.999)
sizes = st.integers(20, 10**7)


@given(alpha=shares, beta=shares, n_labeled=sizes, n_unlabeled=sizes)
def test_alpha_and_the_pooled_prior_give_each_other(alpha, beta, n_labeled, n_unlabeled):
    # Otherwise alpha is a small difference of large numbers.
    assume(n_labeled < 1000 * n_unlabeled)
    pooled = pooled_prior(alpha, n_labeled, n_unlabeled, beta)
    assert min(alpha, beta) - 1e-12 <= pooled <= max(alpha, beta) + 1e-12
    back = alpha_from_pooled(pooled, n_labeled, n_unlabeled, beta)
    assert back == pytest.approx(alpha, abs=1e-9)


@given(alpha=shares, beta=shares, n_labeled=sizes, n_unlabeled=sizes)
def test_alpha_and_the_label_frequency_give_each_other(alpha, beta, n_labeled, n_unlabeled):
    assume(n_labeled < 1000 * n_unlabeled)
    frequency = label_frequency(alpha, n_labeled, n_unlabeled, beta)
    assert 0 < frequency < 1
    back = alpha_from_label_frequency(frequency, n_labeled, n_unlabeled, beta)
    assert back == pytest.approx(alpha, rel=1e-6)


@given(alpha=shares, n_labeled=sizes, n_unlabeled=sizes)
def test_labeled_positives_are_the_frequency_times_all_positives(alpha, n_labeled, n_unlabeled):
    pooled = pooled_prior(alpha, n_labeled, n_unlabeled)
    frequency = label_frequency(alpha, n_labeled, n_unlabeled)
    assert frequency * pooled * (n_labeled + n_unlabeled) == pytest.approx(n_labeled, rel=1e-9)


@given(pi=shares, frequency=shares)
def test_single_sample_design(pi, frequency):
    """Labels leave a sample with prior pi: all three priors describe the same rows."""
    alpha = alpha_from_population(pi, frequency)
    n_labeled, n_unlabeled = pi * frequency, 1 - pi * frequency
    assert pooled_prior(alpha, n_labeled, n_unlabeled) == pytest.approx(pi, rel=1e-9)
    assert label_frequency(alpha, n_labeled, n_unlabeled) == pytest.approx(frequency, rel=1e-6)
    assert alpha_from_pooled(pi, n_labeled, n_unlabeled) == pytest.approx(alpha, abs=1e-9)


def test_single_sample_design_against_simulation():
    rng = np.random.default_rng(0)
    y = rng.random(1_000_000) < 0.3
    s = y & (rng.random(len(y)) < 0.6)
    assert alpha_from_population(0.3, 0.6) == pytest.approx(y[~s].mean(), abs=0.002)
    n_labeled, n_unlabeled = s.sum(), (~s).sum()
    alpha = y[~s].mean()
    assert pooled_prior(alpha, n_labeled, n_unlabeled) == pytest.approx(y.mean(), abs=1e-12)
    assert label_frequency(alpha, n_labeled, n_unlabeled) == pytest.approx(s[y].mean(), abs=1e-12)


def test_case_control_design_against_simulation():
    rng = np.random.default_rng(0)
    in_unlabeled = rng.random(400_000) < 0.25
    in_labeled = rng.random(100_000) < 0.9
    y = np.concatenate([in_labeled, in_unlabeled])
    s = np.repeat([True, False], [100_000, 400_000])
    alpha, beta = in_unlabeled.mean(), in_labeled.mean()
    assert alpha == pytest.approx(0.25, abs=0.003)
    assert pooled_prior(alpha, 100_000, 400_000, beta) == pytest.approx(y.mean(), abs=1e-12)
    found = label_frequency(alpha, 100_000, 400_000, beta)
    assert found == pytest.approx(s[y].mean(), abs=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), [(0.3, 1.0), (0.3, 0.8), (0.6, 0.9), (0.05, 0.5)])
def test_posterior_is_that_of_bayes(alpha, beta):
    n_labeled, n_unlabeled = 300, 1700
    h1 = np.array([0.0, 0.1, 0.2, 0.7])
    h0 = np.array([0.6, 0.3, 0.1, 0.0])
    g, f = beta * h1 + (1 - beta) * h0, alpha * h1 + (1 - alpha) * h0
    tau = n_labeled * g / (n_labeled * g + n_unlabeled * f)
    np.testing.assert_allclose(density_ratio(tau, n_labeled, n_unlabeled), g / f)
    found = posterior(tau, n_labeled, n_unlabeled, alpha=alpha, beta=beta)
    np.testing.assert_allclose(found, alpha * h1 / f, atol=1e-12)


def test_posterior_against_simulation():
    rng = np.random.default_rng(1)
    alpha, beta, n_labeled, n_unlabeled = 0.3, 0.8, 200_000, 400_000
    s = np.repeat([True, False], [n_labeled, n_unlabeled])
    y = rng.random(len(s)) < np.where(s, beta, alpha)
    place = np.where(y, rng.binomial(4, 0.7, len(s)), rng.binomial(4, 0.3, len(s)))
    for value in range(5):
        here = place == value
        found = posterior(s[here].mean(), n_labeled, n_unlabeled, alpha=alpha, beta=beta)
        assert found == pytest.approx(y[here & ~s].mean(), abs=0.01)


def test_posterior_stays_a_probability():
    tau = np.array([0.0, 0.01, 0.5, 0.99])
    found = posterior(tau, 100, 200, alpha=0.4, beta=0.9)
    assert found.min() == 0.0
    assert found.max() == 1.0
    assert isinstance(posterior(0.2, 100, 200, alpha=0.4), float)


def test_posterior_refuses_alpha_above_beta():
    with pytest.raises(InvalidInputError, match="alpha < beta"):
        posterior(0.5, 100, 100, alpha=0.6, beta=0.5)


def test_unmixed_shares_are_exact_on_a_grid():
    alpha, beta = np.meshgrid(np.linspace(0, 0.98, 50), np.linspace(0.02, 1, 50))
    some = alpha < beta - 1e-9
    alpha, beta = alpha[some], beta[some]
    found = unmixed_shares(alpha / beta, (1 - beta) / (1 - alpha))
    np.testing.assert_allclose(found[0], alpha, atol=1e-10)
    np.testing.assert_allclose(found[1], beta, atol=1e-10)


def test_unmixed_shares_of_numbers_are_numbers():
    found = unmixed_shares(0.3 / 0.8, 0.2 / 0.7)
    assert found == pytest.approx((0.3, 0.8), abs=1e-12)
    assert all(type(share) is float for share in found)
    assert unmixed_shares(0.4, 0.0) == (0.4, 1.0)


@pytest.mark.parametrize("kappa_1", [1.0, np.array([0.5, 1.0])])
def test_unmixed_shares_refuse_samples_that_are_alike(kappa_1):
    with pytest.raises(InvalidInputError, match="kappa_1 = kappa_2"):
        unmixed_shares(kappa_1, 1.0)
