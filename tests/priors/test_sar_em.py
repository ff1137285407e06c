"""SAR-EM against known propensities, brute force and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from recoup.exceptions import InvalidInputError
from recoup.priors.conversions import alpha_from_pooled
from recoup.priors.sar_em import SAREMPrior, _log_likelihood, _Logistic, _Wrapped


def problem(n=3000, seed=0, offset=0.0):
    """Class by the first feature, labels by the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    positive = rng.random(n) < expit(3 * X[:, 0] + offset)
    propensity = expit(1.5 * X[:, 1] - 0.5)
    s = (positive & (rng.random(n) < propensity)).astype(int)
    return X, s, positive, propensity


@pytest.fixture(scope="module")
def fitted():
    X, s, positive, propensity = problem()
    return SAREMPrior(propensity_features=[1]).fit(X, s), X, s, positive, propensity


def test_alpha_where_labels_depend_on_a_named_feature():
    errors = []
    for seed, offset in enumerate((-1.0, 0.0, 1.0)):
        X, s, positive, _ = problem(seed=seed, offset=offset)
        found = SAREMPrior(propensity_features=[1]).fit(X, s)
        errors.append(found.alpha_ - positive[s == 0].mean())
        assert found.estimate_.converged
        assert found.estimate_.warnings == ()
    assert np.mean(np.abs(errors)) < 0.04


def test_propensity_and_posterior_are_those_of_the_rows(fitted):
    found, X, s, _, propensity = fitted
    assert found.propensity_.shape == found.posterior_.shape == (len(s),)
    assert np.corrcoef(found.propensity_, propensity)[0, 1] > 0.98
    assert np.abs(found.propensity_ - propensity).mean() < 0.06
    assert np.abs(found.posterior_ - expit(3 * X[:, 0])).mean() < 0.06
    pooled = alpha_from_pooled(found.posterior_.mean(), s.sum(), (1 - s).sum())
    assert found.alpha_ == pytest.approx(pooled)


def test_likelihood_rises_to_its_value_at_the_answer(fitted):
    found, _, s, *_ = fitted
    trace = found.estimate_.curve.lines["log-likelihood"]
    # The penalty of the two models may cost a trifle of the likelihood itself.
    assert (np.diff(trace) > -1e-5).all()
    last = _log_likelihood(found.posterior_, found.propensity_, s, np.ones(len(s))) / len(s)
    assert trace[-1] == pytest.approx(last)
    assert trace[-1] > trace[0]


def test_inverse_propensity_agrees(fitted):
    found = fitted[0]
    assert found.estimate_.members["inverse propensity"] == pytest.approx(found.alpha_, abs=0.05)


def test_stopping_early_is_said():
    X, s, *_ = problem(n=800)
    found = SAREMPrior(propensity_features=[1], max_iter=3).fit(X, s).estimate_
    assert not found.converged
    assert "Not converged after 3 iterations" in found.warnings[-1]
    assert len(found.curve.x) == 4


def test_same_features_for_both_are_doubted():
    X, s, *_ = problem(n=800)
    found = SAREMPrior().fit(X, s).estimate_
    assert any("same features" in warning for warning in found.warnings)


def test_interval_leaves_the_rows_of_the_point_estimate():
    X, s, *_ = problem(n=800)
    plain = SAREMPrior(propensity_features=[1]).fit(X, s)
    with_draws = SAREMPrior(propensity_features=[1], interval="bootstrap", n_draws=4).fit(X, s)
    np.testing.assert_array_equal(plain.propensity_, with_draws.propensity_)
    np.testing.assert_array_equal(plain.posterior_, with_draws.posterior_)
    assert plain.estimate_.interval is None
    low, high = with_draws.estimate_.interval
    assert low <= with_draws.alpha_ == plain.alpha_ <= high


def test_newton_steps_find_the_coefficients_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) @ np.diag([1.0, 5.0, 0.1]) + 2
    target = (rng.random(500) < expit(X[:, 0] - 2)).astype(float)
    weight = rng.random(500)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    reference = LogisticRegression(tol=1e-10, max_iter=10_000)
    reference.fit(scaled, target, sample_weight=weight)
    found = _Logistic(X).fit(target, weight)
    np.testing.assert_allclose(found, reference.predict_proba(scaled)[:, 1], atol=1e-4)


def test_soft_targets_count_as_rows_of_both_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    target, weight = rng.random(300), rng.random(300)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    wrapped = _Wrapped(LogisticRegression(tol=1e-10, max_iter=10_000), scaled, 0)
    np.testing.assert_allclose(
        _Logistic(X).fit(target, weight), wrapped.fit(target, weight), atol=1e-4
    )


def test_other_classifiers():
    X, s, positive, _ = problem(n=1500)
    found = SAREMPrior(
        propensity_features=[1],
        classifier=LogisticRegression(),
        propensity_model=LogisticRegression(),
        max_iter=60,
    ).fit(X, s)
    assert found.alpha_ == pytest.approx(positive[s == 0].mean(), abs=0.08)


def test_scores_alone_are_taken():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [300, 1200])
    scores = rng.normal(3.0 * (np.arange(1500) < 660))
    assert 0 <= SAREMPrior().fit_scores(s, scores).alpha_ <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propensity_features": [7]}, "numbers of columns"),
        ({"propensity_features": []}, "numbers of columns"),
        ({"propensity_features": ["age"]}, "numbers of columns"),
        ({"max_iter": 0}, "max_iter to be a whole number of at least 1"),
        ({"tol": 0.0}, "tol to be a number above 0"),
        ({"interval": "guess"}, "needs interval"),
    ],
)
def test_bad_options(options, message):
    X, s, *_ = problem(n=400)
    with pytest.raises(InvalidInputError, match=message):
        SAREMPrior(**options).fit(X, s)


def test_bad_rows():
    X, s, *_ = problem(n=400)
    missing = X.copy()
    missing[3, 0] = np.nan
    with pytest.raises(InvalidInputError, match="finite numbers"):
        SAREMPrior().fit(missing, s)
    with pytest.raises(InvalidInputError, match="at least 20 labeled"):
        SAREMPrior().fit(X, np.zeros(400, int))
    with pytest.raises(InvalidInputError, match="rows that differ"):
        SAREMPrior().fit(np.ones((400, 2)), s)
