import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from learners.toy import toy_rows
from recoup import priors
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners.naive import Naive
from recoup.learners.sar_em import SAREM


def problem(n=3000, seed=0):
    """Class by the first feature, labels by the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < expit(3 * X[:, 0])).astype(int)
    propensity = expit(1.5 * X[:, 1] - 0.5)
    return X, y * (rng.random(n) < propensity), y, propensity


@pytest.fixture(scope="module")
def fitted():
    X, s, y, propensity = problem()
    return SAREM([1]).fit(X, s), X, s, y, propensity


def test_it_is_the_iteration_of_the_prior_estimator(fitted):
    model, X, s, *_ = fitted
    found = priors.SAREMPrior(propensity_features=[1]).fit(X, s)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], found.posterior_)
    np.testing.assert_allclose(model.propensity_, found.propensity_)
    assert model.alpha_ == pytest.approx(found.alpha_)
    assert model.n_iter_ == len(found.estimate_.curve.x) - 1


def test_new_rows_get_the_posterior(fitted):
    model = fitted[0]
    X, _, y, _ = problem(seed=1)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert np.abs(chances[:, 1] - expit(3 * X[:, 0])).mean() < 0.06
    np.testing.assert_array_equal(model.predict(X), chances[:, 1] > 0.5)
    assert np.mean(model.predict(X) == y) > 0.8
    # Labels that follow the second feature lead a model astray that takes them as random.
    astray = Naive("bbe", random_state=0).fit(fitted[1], fitted[2])
    assert np.mean(model.predict(X) == y) > np.mean(astray.predict(X) == y) + 0.05


def test_toy_rows():
    for seed in range(3):
        X, s, _, X_test, y_test = toy_rows(seed, "single-sample")
        model = SAREM([9]).fit(X, s)
        assert 0.84 <= np.mean(model.predict(X_test) == y_test) <= 0.90


def test_frames_and_other_classifiers():
    X, s, y, _ = problem(n=800)
    expected = SAREM([1], tol=1e-3).fit(X, s).decision_function(X)
    for make in (pd.DataFrame, pl.DataFrame):
        frame = make({name: X[:, i] for i, name in enumerate("abc")})
        found = SAREM([1], tol=1e-3).fit(frame, s).decision_function(frame)
        # Columns that lie otherwise in memory are added up in another order.
        np.testing.assert_allclose(found, expected, atol=1e-6)
    other = LogisticRegression()
    model = SAREM([1], classifier=other, propensity_model=other, tol=1e-3).fit(X, s)
    assert np.mean(model.predict(X) == y) > 0.8


def test_no_training_rows_are_kept(fitted):
    model, X, *_ = fitted
    stored = pickle.dumps(model)
    assert len(stored) < X.nbytes
    np.testing.assert_array_equal(
        pickle.loads(stored).decision_function(X), model.decision_function(X)
    )


def test_stopping_early_is_warned_of():
    X, s, *_ = problem(n=400)
    with pytest.warns(RecoupWarning, match="Not converged after 3 iterations"):
        assert SAREM([1], max_iter=3).fit(X, s).n_iter_ == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"propensity_features": [7]}, "SAREM.fit needs propensity_features"),
        ({"max_iter": 0}, "needs max_iter to be a whole number of at least 1"),
        ({"tol": 0.0}, "tol to be a number above 0"),
        ({"classifier": 3}, "needs classifier to be a classifier with fit"),
    ],
)
def test_bad_settings(settings, message):
    X, s, *_ = problem(n=300)
    with pytest.raises(InvalidInputError, match=message) as caught:
        SAREM(**settings).fit(X, s)
    assert "\n" not in str(caught.value)
