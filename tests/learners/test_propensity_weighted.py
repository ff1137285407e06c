import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from learners.toy import toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners.naive import Naive
from recoup.learners.propensity_weighted import PropensityWeighted
from recoup.priors.conversions import label_frequency


def problem(n=3000, seed=0):
    """Class by the first feature, labels by the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (rng.random(n) < expit(3 * X[:, 0])).astype(int)
    propensity = expit(1.5 * X[:, 1] - 0.5) * 0.9 + 0.1
    return X, y * (rng.random(n) < propensity), y, propensity


def test_the_risk_is_minimized():
    X, s, _, e = problem(n=400)
    model = PropensityWeighted(classifier=LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000))
    model.fit(X, s, propensity=e)

    def risk(line):
        f = X @ line[:3] + line[3]
        as_positive, as_negative = np.logaddexp(0, -f), np.logaddexp(0, f)
        each = np.where(s == 1, as_positive / e + (1 - 1 / e) * as_negative, as_negative)
        return each.sum() + line[:3] @ line[:3] / 2

    best = minimize(risk, np.zeros(4), tol=1e-10).x
    np.testing.assert_allclose(model.decision_function(X), X @ best[:3] + best[3], atol=1e-3)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], expit(model.decision_function(X)), atol=1e-12
    )


def test_the_risk_is_unbiased():
    # Drawing labels over and over gives, on average, the risk of known classes.
    rng = np.random.default_rng(0)
    f, y, e = rng.normal(size=30), rng.integers(0, 2, 30), rng.uniform(0.2, 0.9, 30)
    as_positive, as_negative = np.logaddexp(0, -f), np.logaddexp(0, f)
    s = y * (rng.random((40_000, 30)) < e)
    each = np.where(s == 1, as_positive / e + (1 - 1 / e) * as_negative, as_negative)
    known = np.where(y == 1, as_positive, as_negative)
    assert each.mean() == pytest.approx(known.mean(), abs=0.01)


def test_labels_that_follow_a_feature():
    X, s, y, e = problem()
    X_test, _, y_test, _ = problem(seed=1)
    model = PropensityWeighted().fit(X, s, propensity=e)
    truth = LogisticRegression().fit(X, y)
    accuracy = np.mean(model.predict(X_test) == y_test)
    assert accuracy > np.mean(truth.predict(X_test) == y_test) - 0.03
    naive = Naive(float(y[s == 0].mean())).fit(X, s)
    assert accuracy > np.mean(naive.predict(X_test) == y_test) + 0.02
    boosted = PropensityWeighted(
        classifier=HistGradientBoostingClassifier(max_iter=20), random_state=0
    ).fit(X, s, propensity=e)
    assert np.mean(boosted.predict(X_test) == y_test) > 0.78


def test_toy_rows_where_one_propensity_holds_for_all():
    for seed in range(3):
        X, s, alpha, X_test, y_test = toy_rows(seed, "single-sample")
        model = PropensityWeighted(alpha=alpha, random_state=seed).fit(X, s)
        assert 0.84 <= np.mean(model.predict(X_test) == y_test) <= 0.90
        constant = PropensityWeighted(float(label_frequency(alpha, 300, 3000))).fit(X, s)
        np.testing.assert_allclose(
            constant.decision_function(X_test), model.decision_function(X_test)
        )


def test_all_ways_to_give_propensities():
    X, s, _, e = problem(n=600)
    expected = PropensityWeighted().fit(X, s, propensity=e).decision_function(X)
    unknown = np.where(s == 1, e, np.nan)
    found = PropensityWeighted().fit(X, s, propensity=unknown).decision_function(X)
    np.testing.assert_array_equal(found, expected)
    by_function = PropensityWeighted(lambda rows: expit(1.5 * rows[:, 1] - 0.5) * 0.9 + 0.1)
    np.testing.assert_allclose(by_function.fit(X, s).decision_function(X), expected)
    # An array of the moment goes before the parameter.
    over = PropensityWeighted(0.4).fit(X, s, propensity=e)
    np.testing.assert_array_equal(over.decision_function(X), expected)

    wide = np.column_stack([X[:, :1], e, X[:, 1:]])
    for place in (1, -3):
        model = PropensityWeighted(place).fit(wide, s)
        assert model.n_features_in_ == 4
        np.testing.assert_allclose(model.decision_function(wide), expected)
        np.testing.assert_allclose(model.propensity_, e)
    columns = {name: wide[:, i] for i, name in enumerate(["a", "chance", "b", "c"])}
    for make in (pd.DataFrame, pl.DataFrame):
        frame = make(columns)
        found = PropensityWeighted("chance").fit(frame, s).decision_function(frame)
        np.testing.assert_allclose(found, expected)
    sparse = PropensityWeighted(1).fit(csr_matrix(wide), s)
    np.testing.assert_allclose(sparse.propensity_, e)


def test_known_negatives_take_their_propensities_along():
    X, s, _, e = problem(n=600)
    more = np.vstack([np.full((1, 3), 9.0), X])
    # A known negative counts as what an unlabeled row counts as: once, as negative.
    labels, chances = np.append(0, s), np.append(np.nan, e)
    expected = PropensityWeighted().fit(more, labels, propensity=chances).decision_function(X)
    model = PropensityWeighted().fit(more, np.append(-1, s), propensity=chances)
    np.testing.assert_array_equal(model.decision_function(X), expected)


@pytest.mark.parametrize(
    ("settings", "propensity", "message"),
    [
        ({}, None, "Got neither propensity nor alpha"),
        ({}, np.zeros(300), "above 0 and up to 1"),
        ({}, np.full(300, np.nan), "above 0 and up to 1"),
        ({}, np.full(300, 1.5), "Got 1.5"),
        ({}, np.full(299, 0.5), "propensity and s"),
        ({}, np.full(300, "high"), "propensity to be numbers"),
        ({"propensity": "chance"}, None, "none of its names"),
        ({"propensity": 1.5}, None, "a number above 0 and below 1"),
        ({"propensity": True}, None, "a number above 0 and below 1"),
        ({"propensity": [0.5]}, None, "Pass values per row to fit"),
        ({"propensity": lambda X: [0.5]}, None, "one propensity per row"),
        ({"propensity": 9}, None, "column of X, which has 3"),
    ],
)
def test_bad_input(settings, propensity, message):
    X, s, *_ = problem(n=300)
    with pytest.raises(InvalidInputError, match=message) as caught:
        PropensityWeighted(**settings).fit(X, s, propensity=propensity)
    assert "\n" not in str(caught.value)


def test_classifiers_that_refuse_weights_below_zero_are_named():
    X, s, _, e = problem(n=300)
    with pytest.raises(InvalidInputError, match=r"weights below zero.*RandomForestClassifier"):
        PropensityWeighted(classifier=RandomForestClassifier(3)).fit(X, s, propensity=e)
