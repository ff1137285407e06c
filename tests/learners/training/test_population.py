"""From the chance of a label to the chance of a class, in both designs."""

import numpy as np
import pytest
from scipy.special import expit, logit

from recoup.learners._training.population import Population, log_odds, prior_shift
from recoup.priors.conversions import posterior

G = np.array([0.05, 0.1, 0.2, 0.25])


def test_case_control_values_of_the_sheet():
    population = Population(0.3, 100, 900, "case-control")
    expected = [0.142105, 0.3, 0.675, 0.9]
    np.testing.assert_allclose(population.posterior(logit(G)), expected, atol=1e-6)
    assert expit(population.border) == pytest.approx(0.15625)
    # Groups of equal weight, as in training that averages both losses separately.
    assert expit(Population(0.3, 500, 500, "case-control").border) == pytest.approx(0.625)


def test_case_control_agrees_with_the_conversion_of_probabilities():
    population = Population(0.3, 100, 900, "case-control")
    g = np.linspace(0.001, 0.6, 50)
    expected = posterior(g, 100, 900, alpha=0.3)
    np.testing.assert_allclose(population.posterior(logit(g)), expected, atol=1e-12)


def test_single_sample_divides_by_the_label_frequency():
    alpha = 1 / 9  # 100 of 200 positives are labeled
    population = Population(alpha, 100, 900, "single-sample")
    np.testing.assert_allclose(population.posterior(logit(G)), G / 0.5, atol=1e-12)
    assert expit(population.border) == pytest.approx(0.25)
    assert population.pi == pytest.approx(0.2)
    assert Population(alpha, 100, 900, "case-control").pi == alpha


def test_the_two_designs_differ_by_their_odds():
    alpha, n_l, n_u = 0.3, 100, 900
    pooled = Population(alpha, n_l, n_u, "single-sample")
    unlabeled = Population(alpha, n_l, n_u, "case-control")
    shift = prior_shift(pooled.pi, unlabeled.pi)
    g = logit(np.array([0.02, 0.1, 0.2]))
    np.testing.assert_allclose(
        logit(unlabeled.posterior(g)), logit(pooled.posterior(g)) + shift, atol=1e-9
    )


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_half_is_at_the_border_and_nothing_overflows(scheme):
    population = Population(0.3, 100, 900, scheme)
    assert population.posterior(np.array([population.border]))[0] == pytest.approx(0.5)
    far = population.posterior(np.array([-700.0, 700.0]))
    assert far[0] == pytest.approx(0.0, abs=1e-100)
    assert far[1] == 1.0
    nobody = Population(0.0, 100, 900, scheme)
    assert np.isfinite(nobody.border)
    assert expit(nobody.border) >= 0.5


def test_shift_of_the_logits_between_priors():
    assert prior_shift(0.515348, 0.491532) == pytest.approx(-0.095287, abs=1e-6)
    assert prior_shift(0.3, 0.3) == 0.0
    assert np.isfinite(log_odds(0.0))
    assert np.isfinite(log_odds(1.0))
