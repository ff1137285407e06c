import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from learners.toy import SCHEMES, toy_accuracy, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners.around_classifiers import class_weights
from recoup.learners.weighted import WEIGHTS, Weighted, lee_liu_criterion

SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
F = np.array([2, -1, 0.5, -0.5, 3.0])
S = np.array([1, 1, 0, 0, 0])


def risk_of(losses, pi):
    """What the weights minimize, on the scale of the formula: the weight of U is one."""
    weights = class_weights(S, 2 * pi)
    return weights @ losses / weights[S == 0].sum()


def test_logistic_risk_of_the_sheet():
    losses = np.where(S == 1, np.logaddexp(0, -F), np.logaddexp(0, F))
    assert risk_of(losses, 0.4) == pytest.approx(2.074990, abs=1e-6)


def test_sigmoid_risk_is_that_of_upu_up_to_the_prior():
    losses = np.where(S == 1, expit(-F), expit(F))
    on_labeled, as_negative = expit(-F[:2]).mean(), expit(F[:2]).mean()
    upu = 0.4 * on_labeled + expit(F[2:]).mean() - 0.4 * as_negative
    assert risk_of(losses, 0.4) - 0.4 == pytest.approx(0.590963, abs=1e-6)
    assert risk_of(losses, 0.4) - 0.4 == pytest.approx(upu)


def test_criterion_of_the_sheet():
    labeled = np.arange(10) < 8
    population = np.arange(100) < 35
    assert lee_liu_criterion(labeled, population) == pytest.approx(1.828571, abs=1e-6)
    assert lee_liu_criterion(np.zeros(5, bool), np.zeros(5, bool)) == 0.0


@SCHEME
def test_toy_rows(scheme):
    for seed in range(3):
        assert 0.84 <= toy_accuracy(Weighted(), seed, scheme) <= 0.90
        assert 0.84 <= toy_accuracy(Weighted(None), seed, scheme) <= 0.90


@SCHEME
def test_it_is_logistic_regression_with_these_weights(scheme):
    X, s, alpha, X_test, _ = toy_rows(0, scheme)
    model = Weighted(
        alpha, classifier=LogisticRegression(), scheme=scheme, probabilities="own"
    ).fit(X, s)
    ratio = 2 * alpha if scheme == "case-control" else 2 * alpha + 300 / 3000
    assert model.weight_ == pytest.approx(ratio)
    weights = np.where(s == 1, ratio / 300, 1 / 3000)
    weights *= 3300 / weights.sum()
    reference = LogisticRegression().fit(X, s, sample_weight=weights)
    f = reference.decision_function(X_test)
    np.testing.assert_allclose(model.decision_function(X_test), f, atol=1e-6)
    densities = np.exp(f) / ratio
    if scheme == "case-control":
        expected = alpha * densities
    else:
        expected = (300 + 3000 * alpha) * densities / (300 * densities + 3000)
    chances = model.predict_proba(X_test)[:, 1]
    np.testing.assert_allclose(chances, np.minimum(expected, 1), atol=1e-6)
    np.testing.assert_array_equal(chances > 0.5, model.predict(X_test) == 1)


@pytest.mark.parametrize(
    ("n_positive", "of_all", "of_unlabeled"), [(60, 1, 1), (56, 1, 0), (44, 0, 0)]
)
def test_the_border_is_that_of_the_population(n_positive, of_all, of_unlabeled):
    # A cell of 100 rows, one of 100 positives, one of 200 negatives; a quarter of the positives
    # is labeled. With a column per cell the classifier is exact, and only the weights decide.
    X = np.repeat([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [100, 100, 200], axis=0)
    s = np.zeros(400, int)
    s[: n_positive // 4] = s[100:125] = 1
    alpha = (n_positive + 100 - s.sum()) / (400 - s.sum())
    exact = LogisticRegression(C=1e6)
    for scheme, expected in (("single-sample", of_all), ("case-control", of_unlabeled)):
        model = Weighted(alpha, classifier=exact, scheme=scheme, probabilities="own").fit(X, s)
        assert model.predict([[1.0, 0.0]])[0] == expected


def test_the_best_candidate_by_the_criterion_is_taken():
    X, s, _, _, _ = toy_rows(0, "case-control")
    model = Weighted(None, scheme="case-control", random_state=0).fit(X, s)
    assert model.criterion_.shape == (len(WEIGHTS),)
    assert model.weight_ == WEIGHTS[int(np.argmax(model.criterion_))]
    assert model.alpha_ is None
    assert not hasattr(model, "predict_proba")
    single = Weighted(None, weights=[0.7]).fit(X, s)
    assert single.weight_ == 0.7
    assert single.criterion_ is None


def test_biased_support_vector_machine():
    X, s, alpha, X_test, y_test = toy_rows(0, "case-control")
    svm = LinearSVC(C=0.1, random_state=0)
    for model in (Weighted(alpha, classifier=svm), Weighted(None, classifier=svm)):
        fitted = model.set_params(scheme="case-control", random_state=0).fit(X, s)
        assert not hasattr(fitted, "predict_proba")
        assert np.mean(fitted.predict(X_test) == y_test) > 0.8


def test_no_positives_among_the_unlabeled():
    X, s, *_ = toy_rows(0, "case-control")
    assert not Weighted(0.0, scheme="case-control").fit(X, s).predict(X).any()


@pytest.mark.parametrize("weights", [[], [0.0], [-1.0], "heavy", [np.inf], [[1.0]], 2.0])
def test_bad_weights(weights):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match="needs weights") as caught:
        Weighted(None, weights=weights).fit(X, s)
    assert "\n" not in str(caught.value)
