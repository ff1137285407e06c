import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

from learners.toy import toy_rows
from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError
from recoup.learners.oracle import Oracle


def classes(seed=0, n=3000):
    """Rows with their classes and labels of some positives, and rows to test on."""
    _, _, _, X, y = toy_rows(seed, "case-control")
    s = np.where(np.random.default_rng(seed).random(n) < 0.25, y[:n], 0)
    return X[:n], s, y[:n], X[n:], y[n:]


def test_toy_rows():
    network = MLPClassifier((32,), alpha=1e-4, max_iter=30, early_stopping=False, tol=0)
    for seed in range(3):
        X, s, y, X_test, y_test = classes(seed)
        model = Oracle().fit(X, s, y_true=y)
        assert 0.87 <= np.mean(model.predict(X_test) == y_test) <= 0.898
    with pytest.warns(UserWarning, match="Maximum iterations"):
        model = Oracle(network, random_state=0).fit(X, s, y_true=y)
    assert 0.87 <= np.mean(model.predict(X_test) == y_test) <= 0.898


def test_it_is_supervised_learning():
    X, s, y, X_test, _ = classes()
    model = Oracle(LogisticRegression()).fit(X, s, y_true=y)
    reference = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X_test), reference.predict_proba(X_test))
    np.testing.assert_array_equal(model.predict(X_test), reference.predict(X_test))
    assert model.shift_ == 0.0


def test_only_the_population_teaches():
    X, s, y, X_test, _ = classes()
    rows = np.concatenate([np.flatnonzero(s == 1), np.arange(len(s))])
    labels = np.repeat([1, 0], [s.sum(), len(s)])
    # A second sample of positives must not raise their share.
    model = Oracle(LogisticRegression(), scheme="case-control")
    model.fit(X[rows], labels, y_true=y[rows])
    reference = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X_test), reference.predict_proba(X_test))
    pooled = Oracle(LogisticRegression()).fit(X[rows], labels, y_true=y[rows])
    assert pooled.decision_function(X_test).mean() > model.decision_function(X_test).mean() + 0.1


def test_another_share_of_positives_shifts_the_logits():
    X, s, y, X_test, _ = classes()
    share = float(y.mean())
    plain = Oracle().fit(X, s, y_true=y).decision_function(X_test)
    model = Oracle(pi=0.2).fit(X, s, y_true=y)
    assert model.shift_ == pytest.approx(logit(0.2) - logit(share))
    np.testing.assert_allclose(model.decision_function(X_test), plain + model.shift_)
    np.testing.assert_allclose(model.predict_proba(X_test)[:, 1], expit(plain + model.shift_))


class Scores(LogisticRegression):
    """Says the logit that is the only feature."""

    def predict_proba(self, X):
        return np.column_stack([expit(-X[:, 0]), expit(X[:, 0])])


def test_cross_entropy_of_the_sheet():
    X, y = np.array([1.0, -2.0, 0.5])[:, None], np.array([1, 0, 0])
    model = Oracle(Scores()).fit(X, [1, 0, 0], y_true=y)
    assert log_loss(y, model.predict_proba(X)) == pytest.approx(0.471422, abs=1e-6)
    np.testing.assert_array_equal(model.predict(X), [1, 0, 1])


def test_it_is_listed_and_told_apart():
    marked = [key for key, cls in registered("learners").items() if cls.tags.requires_true_labels]
    assert marked == ["oracle", "pn"]


def test_true_classes_come_by_name_only():
    X, s, y, *_ = classes(n=200)
    with pytest.raises(TypeError):
        Oracle().fit(X, s, y)
    with pytest.raises(InvalidInputError, match=r"Oracle\.fit needs y_true") as caught:
        Oracle().fit(X, s)
    assert "\n" not in str(caught.value)


def test_frames_decision_functions_and_known_negatives():
    X, s, y, X_test, y_test = classes()
    model = Oracle(LinearSVC(random_state=0)).fit(pd.DataFrame(X), s, y_true=pd.Series(y))
    assert np.mean(model.predict(pd.DataFrame(X_test)) == y_test) > 0.87
    assert not hasattr(model, "predict_proba")
    more = np.vstack([np.full((2, 10), 9.0), X])
    labels, true = np.append([-1, -1], s), np.append([0, 0], y)
    # In a single sample they are rows of the population, like unlabeled ones; otherwise not.
    for scheme, as_if in (("single-sample", np.append([0, 0], s)), ("case-control", None)):
        shifted = Oracle(scheme=scheme).fit(more, labels, y_true=true)
        rows = (X, s, y) if as_if is None else (more, as_if, true)
        plain = Oracle(scheme=scheme).fit(*rows[:2], y_true=rows[2])
        np.testing.assert_array_equal(
            shifted.decision_function(X_test), plain.decision_function(X_test)
        )


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({}, lambda y: y + 1, "needs y_true to be 1"),
        ({}, lambda y: y[:-1], "y_true and s"),
        ({}, lambda y: np.where(y, "yes", "no"), "y_true to be numbers"),
        ({}, lambda y: np.where(y == 1, np.nan, y), "Got nan"),
        ({}, np.ones_like, "both classes"),
        ({"pi": 1.0}, None, "needs pi"),
        ({"scheme": "cohort"}, None, "needs scheme"),
    ],
)
def test_bad_input(settings, change, message):
    X, s, y, *_ = classes(n=200)
    with pytest.raises(InvalidInputError, match=message) as caught:
        Oracle(**settings).fit(X, s, y_true=y if change is None else change(y))
    assert "\n" not in str(caught.value)
