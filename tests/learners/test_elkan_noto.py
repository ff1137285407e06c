import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from learners.toy import SCHEMES, toy_accuracy, toy_rows
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners.elkan_noto import ElkanNoto, hidden_weights, label_frequencies

ON_LABELED = np.array([0.30, 0.25, 0.35, 0.20])
ON_UNLABELED = np.array([0.05, 0.1375, 0.2, 0.26, 0.02, 0.4])
SCHEME = pytest.mark.parametrize("scheme", SCHEMES)


class Scores(LogisticRegression):
    """Says the probability that is the only feature."""

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def test_label_frequencies_of_the_sheet():
    s = np.repeat([1, 0], [4, 6])
    found = label_frequencies(s, np.concatenate([ON_LABELED, ON_UNLABELED]))
    assert found["e1"] == pytest.approx(0.275)
    assert found["e2"] == pytest.approx(0.507497, abs=1e-6)
    assert found["e3"] == pytest.approx(0.4)


def test_weights_of_the_sheet():
    found = hidden_weights(logit(ON_UNLABELED[:4]), 0.275)
    np.testing.assert_allclose(found, [0.138756, 0.420290, 0.659091, 0.926290], atol=1e-6)
    assert hidden_weights(np.array([700.0]), 0.275)[0] == 1.0
    assert hidden_weights(np.array([3.0]), 1.0)[0] == 0.0


def scored_rows(n_unlabeled):
    """Rows whose feature is the probability; any hold-out has the mean 0.275 of labeled ones."""
    X = np.concatenate([np.full(40, 0.275), np.linspace(0.01, 0.3, n_unlabeled)])[:, None]
    X[:40, 0] += np.linspace(-1e-9, 1e-9, 40)
    return X, np.repeat([1, 0], [40, n_unlabeled])


def test_posteriors_of_the_sheet():
    X, s = scored_rows(400)
    model = ElkanNoto(classifier=Scores(), probabilities="own", random_state=0).fit(X, s)
    assert model.label_frequency_ == pytest.approx(0.275)
    found = model.predict_proba(ON_UNLABELED[:4, None])[:, 1]
    np.testing.assert_allclose(found, [0.181818, 0.5, 0.727273, 0.945455], atol=1e-6)
    assert model.predict(np.array([[0.1376], [0.1374]])).tolist() == [1, 0]
    assert model.predict_proba([[0.4]])[0, 1] == 1.0
    assert model.alpha_ == pytest.approx(40 / 400 * 0.725 / 0.275)


def test_more_positives_than_rows_is_warned_of():
    X, s = scored_rows(60)  # 4 labeled of 10 rows, as in the sheet
    with pytest.warns(RecoupWarning, match=r"1\.45 of all rows would be positive"):
        model = ElkanNoto(classifier=Scores(), probabilities="own", random_state=0).fit(X, s)
    assert model.label_frequency_ == 0.4
    assert model.label_frequencies_["e1"] == pytest.approx(0.275)
    assert model.alpha_ == pytest.approx(1.0)


@SCHEME
@pytest.mark.parametrize("mode", ["rescale", "duplicate"])
def test_toy_rows(mode, scheme):
    for seed in range(3):
        assert 0.84 <= toy_accuracy(ElkanNoto(mode), seed, scheme) <= 0.90


@SCHEME
def test_case_control_is_the_odds_of_the_pooled_rows_shifted(scheme):
    X, s, _, X_test, _ = toy_rows(0, scheme)
    pooled = ElkanNoto(random_state=0).fit(X, s)
    model = ElkanNoto(scheme=scheme, random_state=0).fit(X, s)
    chances = pooled.predict_proba(X_test)[:, 1]
    inside = (chances > 1e-6) & (chances < 0.99)
    chances = chances[inside]
    alpha = pooled.alpha_
    pi = (300 + alpha * 3000) / 3300
    target = pi if scheme == "single-sample" else alpha
    odds = chances / (1 - chances) * target / (1 - target) / (pi / (1 - pi))
    np.testing.assert_allclose(model.predict_proba(X_test)[inside, 1], odds / (1 + odds), rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X_test)[inside], odds > 1)


@SCHEME
def test_the_second_classifier_sees_unlabeled_rows_twice(scheme):
    X, s, _, X_test, _ = toy_rows(1, scheme)
    model = ElkanNoto(
        "duplicate",
        classifier=LogisticRegression(),
        scheme=scheme,
        probabilities="own",
        random_state=3,
    )
    model.fit(X, s)
    rescaled = ElkanNoto(classifier=LogisticRegression(), probabilities="own", random_state=3).fit(
        X, s
    )
    g, c = rescaled.classifier_.predict_proba(X[s == 0])[:, 1], rescaled.label_frequency_
    w = np.minimum((1 - c) / c * g / (1 - g), 1)
    rows = np.vstack([X[s == 1], X[s == 0], X[s == 0]])
    target = np.repeat([1, 1, 0], [300, 3000, 3000])
    reference = LogisticRegression().fit(
        rows, target, sample_weight=np.concatenate([np.ones(300), w, 1 - w])
    )
    f = reference.decision_function(X_test)
    if scheme == "case-control":
        pi = (300 + 3000 * model.alpha_) / 3300
        f = f + logit(model.alpha_) - logit(pi)
    np.testing.assert_allclose(model.decision_function(X_test), f, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X_test)[:, 1], expit(f), atol=1e-4)


def test_the_frequency_comes_from_rows_that_were_held_out():
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(600, 2)), np.repeat([1, 0], [60, 540])
    # A tree that learns every label by heart would find c = 1 on its own rows.
    model = ElkanNoto(
        classifier=DecisionTreeClassifier(random_state=0), probabilities="own", random_state=0
    )
    assert model.fit(X, s).label_frequencies_["e1"] < 0.5
    on_own_rows = model.classifier_.predict_proba(X[s == 1])[:, 1]
    assert (on_own_rows == 1).sum() >= 48


def test_rules_differ():
    X, s, *_ = toy_rows(0, "single-sample")
    found = [ElkanNoto(rule=rule, random_state=0).fit(X, s) for rule in ("e1", "e2", "e3")]
    assert found[0].label_frequencies_ == found[2].label_frequencies_
    for rule, model in zip(("e1", "e2", "e3"), found, strict=True):
        assert model.label_frequency_ == model.label_frequencies_[rule]
    assert found[0].label_frequency_ < found[2].label_frequency_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "divide"}, "needs mode"),
        ({"rule": "e4"}, "needs rule"),
        ({"hold_out": 0.0}, "needs hold_out"),
        ({"hold_out": 0.9}, "needs hold_out"),
        ({"hold_out": "some"}, "needs hold_out"),
    ],
)
def test_bad_settings(settings, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=message) as caught:
        ElkanNoto(**settings).fit(X, s)
    assert "\n" not in str(caught.value)


def test_one_labeled_row_cannot_be_held_out_and_learned_from():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(InvalidInputError, match="labeled rows"):
        ElkanNoto().fit(X, np.arange(30) == 0)
