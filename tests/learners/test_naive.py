import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from estimator_checks import each_check, passes_unless_expected
from learners.toy import SCHEMES, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners.naive import Naive

SCHEME = pytest.mark.parametrize("scheme", SCHEMES)


@SCHEME
def test_toy_rows(scheme):
    for seed in range(3):
        X, s, alpha, X_test, y_test = toy_rows(seed, scheme)
        plain = Naive(scheme=scheme, random_state=seed).fit(X, s)
        # Nearly all negative, although the ranking is good: this is no bug.
        assert np.mean(plain.predict(X_test) == y_test) == pytest.approx(0.60, abs=0.02)
        assert roc_auc_score(y_test, plain.decision_function(X_test)) > 0.93
        rescaled = Naive(alpha, scheme=scheme, random_state=seed).fit(X, s)
        assert 0.83 <= np.mean(rescaled.predict(X_test) == y_test) <= 0.90
        order = np.argsort(plain.decision_function(X_test))
        assert (np.diff(rescaled.decision_function(X_test)[order]) >= 0).all()


@SCHEME
def test_rescaling_is_the_formula(scheme):
    X, s, alpha, X_test, _ = toy_rows(0, scheme)
    model = Naive(alpha, classifier=LogisticRegression(), scheme=scheme, probabilities="own").fit(
        X, s
    )
    g = LogisticRegression().fit(X, s).predict_proba(X_test)[:, 1]
    if scheme == "case-control":
        expected = alpha * 3000 / 300 * g / (1 - g)
        border = 300 / 3300 / (2 * alpha * 3000 / 3300)
        border = border / (1 + border)
    else:
        frequency = 300 / (300 + alpha * 3000)
        expected, border = g / frequency, frequency / 2
    np.testing.assert_allclose(model.predict_proba(X_test)[:, 1], np.minimum(expected, 1))
    np.testing.assert_allclose(model.decision_function(X_test), logit(g) - logit(border))
    np.testing.assert_array_equal(model.predict(X_test), g > border)
    np.testing.assert_array_equal(model.predict(X_test), expected > 0.5)


def test_without_alpha_it_is_the_classifier():
    X, s, _, X_test, _ = toy_rows(0, "case-control")
    reference = LogisticRegression().fit(X, s)
    model = Naive(classifier=LogisticRegression()).fit(X, s)
    np.testing.assert_allclose(model.predict_proba(X_test), reference.predict_proba(X_test))
    np.testing.assert_allclose(model.decision_function(X_test), reference.decision_function(X_test))
    np.testing.assert_array_equal(model.predict(X_test), reference.predict(X_test))
    assert model.alpha_ is None
    assert model.population_ is None


class Scores(LogisticRegression):
    """Says the logit that is the only feature."""

    def predict_proba(self, X):
        return np.column_stack([expit(-X[:, 0]), expit(X[:, 0])])


def test_pooled_cross_entropy_of_the_sheet():
    X = np.array([2, -1, 0.5, -0.5, 3.0])[:, None]
    s = np.array([1, 1, 0, 0, 0])
    model = Naive(classifier=Scores()).fit(X, s)
    assert log_loss(s, model.predict_proba(X)) == pytest.approx(1.187386, abs=1e-6)


def test_certain_probabilities_stay_finite():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(400, 1)), np.repeat([1, 0], [100, 300])
    X[s == 1] += 200.0
    model = Naive(0.2, classifier=GaussianNB()).fit(X, s)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_decision_functions_will_do_without_alpha():
    X, s, _, X_test, _ = toy_rows(0, "case-control")
    model = Naive(classifier=LinearSVC(random_state=0)).fit(X, s)
    reference = LinearSVC(random_state=0).fit(X, s)
    np.testing.assert_allclose(model.decision_function(X_test), reference.decision_function(X_test))
    assert not hasattr(model, "predict_proba")
    with pytest.raises(InvalidInputError, match=r"with alpha needs classifier .* with .*proba"):
        Naive(0.3, classifier=LinearSVC()).fit(X, s)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classifier": "forrest"}, "Did you mean 'forest'"),
        ({"classifier": None}, "needs classifier to be .* a classifier with fit"),
        ({"classifier": 3}, "needs classifier to be .* a classifier with fit"),
        ({"scheme": "cohort"}, "needs scheme"),
        ({"alpha": 1.5}, r"needs alpha in \[0, 1\]"),
    ],
)
def test_bad_settings(settings, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=message) as caught:
        Naive(**settings).fit(X, s)
    assert "\n" not in str(caught.value)


@each_check(Naive(classifier=LogisticRegression()))
def test_scikit_learn_conventions(estimator, check):
    passes_unless_expected(estimator, check)
