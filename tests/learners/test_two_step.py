import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from learners.toy import SCHEMES, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners.two_step import TwoStep, nearer_to_unlabeled


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("mode", ["spy", "rocchio"])
def test_toy_rows(mode, scheme):
    for seed in range(3):
        X, s, _, X_test, y_test = toy_rows(seed, scheme)
        model = TwoStep(mode, random_state=seed).fit(X, s)
        assert 0.84 <= np.mean(model.predict(X_test) == y_test) <= 0.90


@pytest.mark.parametrize("mode", ["spy", "rocchio"])
def test_reliable_negatives_are_mostly_negative(mode):
    # In a single sample the first rows are labeled, then come the hidden positives.
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    found = TwoStep(mode, random_state=0).fit(X, s).reliable_negatives_
    assert (s[found] == 0).all()
    hidden = found < 300 + round(alpha * 3000)
    assert hidden.mean() < 0.15 < alpha
    assert len(found) > 1000


def test_spies_by_hand():
    X, s, *_ = toy_rows(0, "case-control")
    model = TwoStep(classifier=LogisticRegression(), max_iter=0, random_state=2).fit(X, s)
    rng = np.random.default_rng(2)
    rng.integers(2**31)  # for the estimate of alpha
    rng.integers(2**31)  # for the choice of a classifier
    spies = rng.choice(np.flatnonzero(s == 1), 45, replace=False)
    target = s.copy()
    target[spies] = 0
    g = LogisticRegression().fit(X, target).predict_proba(X)[:, 1]
    below = (g < np.quantile(g[spies], 0.15)) & (s == 0)
    # The quantile is taken of logits, between two spies.
    assert len(np.setxor1d(model.reliable_negatives_, np.flatnonzero(below))) <= 3

    rows = np.concatenate([np.flatnonzero(s == 1), model.reliable_negatives_])
    second = LogisticRegression(class_weight="balanced").fit(X[rows], s[rows])
    np.testing.assert_allclose(
        model.decision_function(X), second.decision_function(X), atol=1e-2, rtol=1e-2
    )


def test_rocchio_by_hand():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    s = np.repeat([1, 0], [10, 30])
    X[s == 1] += [2.0, 0.0, 0.0]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    units = [row / np.linalg.norm(row) for row in scaled]
    labeled, unlabeled = np.mean(units[:10], axis=0), np.mean(units[10:], axis=0)
    positive, negative = 16 * labeled - 4 * unlabeled, 16 * unlabeled - 4 * labeled
    expected = [
        row @ negative / np.linalg.norm(negative) > row @ positive / np.linalg.norm(positive)
        for row in units
    ]
    found = nearer_to_unlabeled(X, s)
    np.testing.assert_array_equal(found, expected)
    assert found[10:].any()


def test_rocchio_of_sparse_rows_leaves_zeros_alone():
    X = np.array([[2.0, 0, 0], [1.0, 0, 0], [0, 3.0, 0], [0, 1.0, 1.0], [1.0, 0, 0]])
    s = np.array([1, 1, 0, 0, 0])
    found = nearer_to_unlabeled(csr_matrix(X), s)
    np.testing.assert_array_equal(found, [False, False, True, True, False])


def second_steps(X, s, negative):
    """All classifiers of the second step, from the first negatives to the last."""
    found = []
    while True:
        rows = np.flatnonzero((s == 1) | negative)
        found.append(LogisticRegression(class_weight="balanced").fit(X[rows], s[rows]))
        added = (found[-1].decision_function(X) <= 0) & (s == 0) & ~negative
        if not added.any():
            return found
        negative = negative | added


@pytest.mark.parametrize(("distance", "astray"), [(3.0, False), (0.0, False), (-0.8, True)])
def test_negatives_are_added_until_none_is_left(distance, astray):
    X, s, *_ = toy_rows(0, "single-sample")
    X = X + np.outer(np.arange(len(s)) < 1320, [distance, *[0] * 9])
    model = TwoStep("rocchio", classifier=LogisticRegression()).fit(X, s)
    found = second_steps(X, s, np.isin(np.arange(len(s)), model.reliable_negatives_))
    assert len(found) > 1
    missed = np.mean(found[-1].predict(X[s == 1]) == 0)
    assert (missed > 0.08) == astray
    taken = found[0] if astray else found[-1]
    assert model.n_iter_ == (1 if astray else len(found))
    np.testing.assert_allclose(
        model.decision_function(X), taken.decision_function(X), atol=1e-6, rtol=1e-5
    )
    once = TwoStep("rocchio", classifier=LogisticRegression(), max_iter=1).fit(X, s)
    assert once.n_iter_ == (1 if astray else 2)


def test_decision_functions_will_do():
    X, s, _, X_test, y_test = toy_rows(0, "case-control")
    model = TwoStep(classifier=LinearSVC(C=0.1, random_state=0), random_state=0).fit(X, s)
    assert np.mean(model.predict(X_test) == y_test) > 0.82
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "nb"}, "needs mode"),
        ({"spy_share": 0.0}, "needs spy_share"),
        ({"noise": 15}, "needs noise"),
        ({"noise": "low"}, "needs noise"),
        ({"max_iter": -1}, "needs max_iter"),
        ({"max_iter": 1.5}, "needs max_iter"),
    ],
)
def test_bad_settings(settings, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=message) as caught:
        TwoStep(**settings).fit(X, s)
    assert "\n" not in str(caught.value)


def test_too_few_labels_and_no_negatives_are_said():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(InvalidInputError, match="two labeled rows"):
        TwoStep().fit(X, np.arange(30) == 0)
    same = np.ones((30, 2))
    with pytest.raises(InvalidInputError, match="no unlabeled row that is surely negative"):
        TwoStep().fit(same, np.arange(30) < 10)
