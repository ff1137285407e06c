import numpy as np
import pytest
from joblib import parallel_config
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from learners.toy import SCHEMES, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners.bagging import BaggingPU


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    for seed in range(3):
        X, s, alpha, X_test, y_test = toy_rows(seed, scheme)
        for given in (None, alpha):
            model = BaggingPU(given, n_estimators=10, random_state=seed).fit(X, s)
            assert 0.84 <= np.mean(model.predict(X_test) == y_test) <= 0.90
            assert roc_auc_score(y_test, model.decision_function(X_test)) > 0.94


def test_averages_by_hand():
    X, s, _, X_test, _ = toy_rows(0, "case-control")
    X, s = X[:700], s[:700]
    model = BaggingPU(classifier=LogisticRegression(), n_estimators=12, n_drawn=150, random_state=4)
    model.fit(X, s)
    said = [each.predict_proba(X_test)[:, 1] for each in model.classifiers_]
    np.testing.assert_allclose(model.decision_function(X_test), np.mean(said, axis=0) - 0.5)

    # The same draws, one classifier at a time.
    rng = np.random.default_rng(4)
    rng.integers(2**31)  # for the estimate of alpha
    rng.integers(2**31)  # for the choice of a classifier
    draws = [rng.integers(400, size=150) for _ in range(12)]
    labeled, unlabeled = X[s == 1], X[s == 0]
    sums, times = np.zeros(400), np.zeros(400)
    for drawn in draws:
        rows = np.vstack([labeled, unlabeled[drawn]])
        each = LogisticRegression().fit(rows, np.repeat([1, 0], [300, 150]))
        outside = np.setdiff1d(np.arange(400), drawn)
        sums[outside] += each.predict_proba(unlabeled[outside])[:, 1]
        times[outside] += 1
    assert (times > 0).all()
    np.testing.assert_allclose(model.unlabeled_oob_scores_, sums / times - 0.5, atol=1e-9)


def test_alpha_is_the_share_of_unlabeled_rows_called_positive():
    X, s, *_ = toy_rows(0, "case-control")
    model = BaggingPU(0.25, n_estimators=5, random_state=0).fit(X, s)
    assert np.mean(model.unlabeled_oob_scores_ > 0) == pytest.approx(0.25, abs=1e-3)
    plain = BaggingPU(n_estimators=5, random_state=0).fit(X, s)
    np.testing.assert_allclose(
        plain.unlabeled_oob_scores_, model.unlabeled_oob_scores_ + model.threshold_
    )


def test_rows_in_every_sample_get_the_average_of_all():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = BaggingPU(
        classifier=LogisticRegression(), n_estimators=3, n_drawn=200, random_state=0
    ).fit(X, [1, 1, 0, 0])
    np.testing.assert_allclose(model.unlabeled_oob_scores_, model.decision_function(X[2:]))


def test_out_of_bag_scores_are_honest():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(400, 2)), np.repeat([1, 0], [100, 300])
    model = BaggingPU(classifier=DecisionTreeClassifier(), n_estimators=30, random_state=0)
    model.fit(X, s)
    in_sample = model.decision_function(X[s == 0])
    # Trees that know a row as negative pull it down; those that do not, cannot.
    assert model.unlabeled_oob_scores_.mean() > in_sample.mean() + 0.03
    assert not hasattr(model, "oob_scores_")


def test_support_vector_machines_as_published():
    X, s, _, X_test, y_test = toy_rows(0, "case-control")
    X_test, y_test = X_test[:1000], y_test[:1000]
    model = BaggingPU(classifier=SVC(), n_estimators=5, random_state=0).fit(X, s)
    said = [each.decision_function(X_test) for each in model.classifiers_]
    np.testing.assert_allclose(model.decision_function(X_test), np.mean(said, axis=0))
    # What bagging is for: the average ranks better than each of its members.
    alone = [roc_auc_score(y_test, each) for each in said]
    assert roc_auc_score(y_test, model.decision_function(X_test)) > max(alone) > 0.8


def test_scores_do_not_depend_on_the_number_of_jobs():
    X, s, *_ = toy_rows(0, "case-control")
    X, s = X[:600], s[:600]
    with parallel_config(backend="threading"):
        one, two = (
            BaggingPU(n_estimators=4, n_jobs=jobs, random_state=0).fit(X, s).decision_function(X)
            for jobs in (None, 2)
        )
    np.testing.assert_array_equal(one, two)


def test_no_probabilities():
    assert not hasattr(BaggingPU(), "predict_proba")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_estimators": 0}, "needs n_estimators"),
        ({"n_estimators": 2.5}, "needs n_estimators"),
        ({"n_drawn": 0}, "needs n_drawn"),
        ({"n_drawn": True}, "needs n_drawn"),
        ({"classifier": object()}, "a classifier with fit"),
    ],
)
def test_bad_settings(settings, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=message) as caught:
        BaggingPU(**settings).fit(X, s)
    assert "\n" not in str(caught.value)


def test_any_classifier_will_do():
    X, s, *_ = toy_rows(0, "case-control")
    model = BaggingPU(classifier=DummyClassifier(strategy="prior"), n_estimators=2).fit(X, s)
    assert (model.decision_function(X) == 0).all()
