import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from recoup import metrics
from recoup.exceptions import InvalidInputError
from recoup.metrics import make_scorer
from recoup.metrics.spec import AREA_METRICS, POINT_METRICS
from recoup.scores import PUStratifiedKFold

FOLDS = PUStratifiedKFold(3, random_state=0)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    hidden = np.random.default_rng(0).random(len(y)) < 0.5
    s = np.where(hidden, 0, y)
    return SimpleNamespace(X=X, y=y, s=s, alpha=float(y[s == 0].mean()))


@pytest.fixture(scope="module")
def model(cancer):
    return GaussianNB().fit(cancer.X, cancer.s)


@pytest.mark.parametrize("name", POINT_METRICS)
def test_point_metrics_judge_predictions(name, cancer, model):
    value = make_scorer(name, alpha=cancer.alpha)(model, cancer.X, cancer.s)
    expected = getattr(metrics, name)(cancer.s, model.predict(cancer.X), alpha=cancer.alpha)
    assert value == (-expected if name == "expected_cost" else expected)


@pytest.mark.parametrize("name", AREA_METRICS)
def test_area_metrics_judge_scores(name, cancer, model):
    value = make_scorer(name, alpha=cancer.alpha)(model, cancer.X, cancer.s)
    scores = model.predict_proba(cancer.X)[:, 1]
    expected = getattr(metrics, name)(cancer.s, scores, alpha=cancer.alpha)
    assert value == (-expected if name in ("brier", "log_loss") else expected)


@pytest.mark.parametrize("name", ["brier", "log_loss", "expected_cost"])
@pytest.mark.parametrize("alpha", [0.3, "estimate"])
def test_scorers_of_losses_say_that_they_are_negated(name, alpha, cancer, model):
    scorer, named = make_scorer(name, alpha=alpha), make_scorer(f"neg_{name}", alpha=alpha)
    assert "greater_is_better=False" in repr(scorer)
    assert name in repr(scorer)
    assert repr(named) == repr(scorer)
    fitted = GaussianNB().fit(cancer.X, cancer.s)
    fitted.prior_ = SimpleNamespace(alpha=0.3, beta=1.0)
    assert named(fitted, cancer.X, cancer.s) == scorer(fitted, cancer.X, cancer.s) <= 0


@pytest.mark.parametrize("alpha", [0.3, "estimate"])
def test_only_losses_are_negated(alpha):
    assert "greater_is_better" not in repr(make_scorer("fbeta", alpha=alpha, b=2.0))
    assert "b=2.0" in repr(make_scorer("fbeta", alpha=alpha, b=2.0))
    with pytest.raises(InvalidInputError, match=r"negates losses alone.*Pass 'roc_auc'"):
        make_scorer("neg_roc_auc", alpha=alpha)
    with pytest.raises(InvalidInputError, match="no metric 'neg_los'"):
        make_scorer("neg_los", alpha=alpha)


def test_ranking_metrics_prefer_the_decision_function(cancer):
    ridge = RidgeClassifier().fit(cancer.X, cancer.s)
    value = make_scorer("roc_auc", alpha=0.2)(ridge, cancer.X, cancer.s)
    assert value == metrics.roc_auc(cancer.s, ridge.decision_function(cancer.X), alpha=0.2)


def test_metrics_of_probabilities_need_predict_proba(cancer):
    ridge = RidgeClassifier().fit(cancer.X, cancer.s)
    with pytest.raises(AttributeError, match="predict_proba"):
        make_scorer("brier", alpha=0.2)(ridge, cancer.X, cancer.s)


@pytest.mark.parametrize(
    ("name", "truth"), [("f1", f1_score), ("roc_auc", roc_auc_score), ("log_loss", log_loss)]
)
def test_without_hidden_positives_scikit_learn_agrees(name, truth, cancer, model):
    value = make_scorer(name, alpha=0.0)(model, cancer.X, cancer.s)
    answer = model.predict(cancer.X) if name == "f1" else model.predict_proba(cancer.X)[:, 1]
    assert abs(value) == pytest.approx(truth(cancer.s, answer), rel=1e-9)


def test_settings_of_the_metric_are_passed_on(cancer, model):
    y_pred = model.predict(cancer.X)
    settings = {"alpha": 0.3, "beta": 0.9, "scheme": "case-control"}
    value = make_scorer("fbeta", b=2.0, **settings)(model, cancer.X, cancer.s)
    assert value == metrics.fbeta(cancer.s, y_pred, b=2.0, **settings)
    assert value != metrics.fbeta(cancer.s, y_pred, **settings)
    costs = {"fp_cost": 1.0, "fn_cost": 10.0}
    value = make_scorer("expected_cost", alpha=0.3, **costs)(model, cancer.X, cancer.s)
    assert value == -metrics.expected_cost(cancer.s, y_pred, alpha=0.3, **costs)


def test_row_weights_are_passed_on(cancer, model):
    weights = np.linspace(0, 1, len(cancer.s))
    value = make_scorer("f1", alpha=0.3)(model, cancer.X, cancer.s, sample_weight=weights)
    expected = metrics.f1(cancer.s, model.predict(cancer.X), alpha=0.3, sample_weight=weights)
    assert value == expected != make_scorer("f1", alpha=0.3)(model, cancer.X, cancer.s)


@pytest.mark.parametrize("name", ["f1", "roc_auc", "brier"])
def test_grid_search_picks_what_the_metric_picks_by_hand(name, cancer):
    choices = [1, 3, 10, 40, 120]
    settings = {"alpha": cancer.alpha}
    search = GridSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": choices},
        scoring=make_scorer(name, **settings),
        cv=FOLDS,
    ).fit(cancer.X, cancer.s)

    by_hand = np.zeros((len(choices), 3))
    for column, (train, test) in enumerate(FOLDS.split(cancer.X, cancer.s)):
        for row, n_neighbors in enumerate(choices):
            model = KNeighborsClassifier(n_neighbors).fit(cancer.X[train], cancer.s[train])
            if name == "f1":
                answer = model.predict(cancer.X[test])
            else:
                answer = model.predict_proba(cancer.X[test])[:, 1]
            by_hand[row, column] = getattr(metrics, name)(cancer.s[test], answer, **settings)
    sign = -1 if name == "brier" else 1
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], sign * by_hand.mean(axis=1), rtol=1e-12
    )
    best = choices[int(np.argmax(sign * by_hand.mean(axis=1)))]
    assert search.best_params_ == {"n_neighbors": best}


def test_recovered_accuracy_finds_the_better_model_where_labels_mislead(cancer):
    """The more rows a model predicts positive, the worse it looks when s is taken for the truth."""

    class Cut(LogisticRegression):
        def __init__(self, cut=0.5):
            super().__init__()
            self.cut = cut

        def predict(self, X):
            return (self.predict_proba(X)[:, 1] >= self.cut).astype(int)

    s = np.where(np.random.default_rng(0).random(len(cancer.y)) < 0.7, 0, cancer.y)
    search = {"estimator": Cut(), "param_grid": {"cut": [0.15, 0.5]}, "cv": FOLDS}
    scorer = make_scorer("accuracy", alpha=cancer.y[s == 0].mean())
    recovered = GridSearchCV(**search, scoring=scorer).fit(cancer.X, s)
    misled = GridSearchCV(**search, scoring="accuracy").fit(cancer.X, s)
    truth = [np.mean(cancer.y == each.predict(cancer.X)) for each in (recovered, misled)]
    assert truth[0] > truth[1] + 0.2


def test_the_metric_receives_s_and_predictions_and_nothing_else(cancer, monkeypatch):
    received = []

    def spy(*arrays, **settings):
        received.append((arrays, settings))
        return 0.5

    spy.spec = metrics.f1.spec
    monkeypatch.setitem(POINT_METRICS, "f1", spy)
    scorer = make_scorer("f1", alpha=0.3)
    received.clear()
    cross_val_score(GaussianNB(), cancer.X, cancer.s, scoring=scorer, cv=FOLDS)
    splits = list(FOLDS.split(cancer.X, cancer.s))
    for (train, test), (arrays, settings) in zip(splits, received, strict=True):
        s, y_pred = arrays
        model = GaussianNB().fit(cancer.X[train], cancer.s[train])
        np.testing.assert_array_equal(s, cancer.s[test])
        np.testing.assert_array_equal(y_pred, model.predict(cancer.X[test]))
        assert settings == {"alpha": 0.3, "beta": 1.0, "scheme": "single-sample"}


def test_known_negatives_count(cancer, model):
    s = cancer.s.copy()
    s[np.flatnonzero(cancer.y == 0)[:50]] = -1
    value = make_scorer("accuracy", alpha=0.3)(model, cancer.X, s)
    assert value == metrics.accuracy(s, model.predict(cancer.X), alpha=0.3)
    assert value != make_scorer("accuracy", alpha=0.3)(model, cancer.X[s >= 0], s[s >= 0])


@pytest.fixture(scope="module")
def three_classes(cancer):
    s = cancer.s.copy()
    s[np.flatnonzero(cancer.y == 0)[:50]] = -1
    return s


@pytest.mark.parametrize(
    ("name", "kind", "method"),
    [
        ("roc_auc", GaussianNB, "predict_proba"),
        ("roc_auc", LogisticRegression, "decision_function"),
        ("aul", RidgeClassifier, "decision_function"),
        ("brier", LogisticRegression, "predict_proba"),
    ],
)
def test_scores_of_three_classes_are_those_of_class_one(name, kind, method, cancer, three_classes):
    model = kind().fit(cancer.X, three_classes)
    scores = getattr(model, method)(cancer.X)
    assert scores.shape[1] == 3
    expected = getattr(metrics, name)(three_classes, scores[:, 2], alpha=0.3)
    scorer = make_scorer(name, alpha=0.3)
    value = scorer(model, cancer.X, three_classes)
    assert abs(value) == expected
    assert pickle.loads(pickle.dumps(scorer))(model, cancer.X, three_classes) == value
    search = clone(GridSearchCV(kind(), {}, scoring=scorer))
    assert search.scoring(model, cancer.X, three_classes) == value


def test_predicted_known_negatives_are_not_positive(cancer, three_classes):
    model = GaussianNB().fit(cancer.X, three_classes)
    y_pred = model.predict(cancer.X)
    assert set(y_pred) == {-1, 0, 1}
    value = make_scorer("f1", alpha=0.3)(model, cancer.X, three_classes)
    assert value == metrics.f1(three_classes, (y_pred == 1).astype(int), alpha=0.3)


@pytest.mark.parametrize("name", ["f1", "roc_auc"])
def test_cross_validation_with_known_negatives_misses_no_score(name, cancer, three_classes):
    scorer = make_scorer(name, alpha=0.3)
    values = cross_val_score(LogisticRegression(), cancer.X, three_classes, scoring=scorer, cv=3)
    assert np.isfinite(values).all()


def test_several_scorers_at_once(cancer):
    scoring = {"auc": make_scorer("roc_auc", alpha=cancer.alpha), "aul": make_scorer("aul")}
    together = cross_validate(GaussianNB(), cancer.X, cancer.s, scoring=scoring, cv=FOLDS)
    for name, scorer in scoring.items():
        alone = cross_val_score(GaussianNB(), cancer.X, cancer.s, scoring=scorer, cv=FOLDS)
        np.testing.assert_array_equal(together[f"test_{name}"], alone)


@pytest.mark.parametrize("name", ["fbeta", "aul", "log_loss"])
def test_scorers_survive_pickle_and_clone(name, cancer, model):
    params = {"b": 2.0} if name == "fbeta" else {}
    scorer = make_scorer(name, alpha=0.3, **params)
    expected = scorer(model, cancer.X, cancer.s)
    assert pickle.loads(pickle.dumps(scorer))(model, cancer.X, cancer.s) == expected
    search = clone(GridSearchCV(GaussianNB(), {}, scoring=scorer))
    assert search.scoring(model, cancer.X, cancer.s) == expected


def test_alpha_may_be_an_estimate(cancer, model):
    estimate = SimpleNamespace(alpha=np.float32(0.25), beta=1.0)
    value = make_scorer("f1", alpha=estimate)(model, cancer.X, cancer.s)
    assert value == make_scorer("f1", alpha=0.25)(model, cancer.X, cancer.s)


def test_an_estimate_with_noisy_labels_is_not_used_by_halves():
    estimate = SimpleNamespace(alpha=0.25, beta=0.9)
    with pytest.raises(InvalidInputError, match=r"beta=0\.9"):
        make_scorer("f1", alpha=estimate)
    make_scorer("f1", alpha=estimate, beta=0.9)


def test_aul_needs_no_prior_unless_labels_are_noisy(cancer, model):
    scores = model.predict_proba(cancer.X)[:, 1]
    value = make_scorer("aul")(model, cancer.X, cancer.s)
    assert value == metrics.aul(cancer.s, scores)
    with pytest.raises(InvalidInputError, match="needs alpha"):
        make_scorer("aul", beta=0.9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "f1"}, "make_scorer needs alpha.*'f1'"),
        ({"name": "roc_auc"}, "make_scorer needs alpha.*'roc_auc'"),
        ({"name": "roc_acu", "alpha": 0.2}, "make_scorer knows no metric.*'roc_auc'"),
        ({"name": "f1", "alpha": 20}, r"alpha in \[0, 1\]"),
        ({"name": "f1", "alpha": 0.5, "beta": 0.4}, "alpha < beta"),
        ({"name": "f1", "alpha": "high"}, "numbers"),
        ({"name": "f1", "alpha": (0.1, 0.3)}, r"alpha to be one number.*recoup\.evaluate"),
        ({"name": "f1", "alpha": np.linspace(0.1, 0.2, 9)}, "alpha to be one number"),
        ({"name": "aul", "beta": (0.8, 0.9)}, "beta to be one number"),
        ({"name": "f1", "alpha": 0.2, "scheme": "two-sample"}, "scheme"),
        ({"name": "f1", "alpha": 0.2, "b": 2.0}, "'f1' with the settings.*'b'"),
        ({"name": "pr_auc", "alpha": 0.2, "steps": 2}, "'pr_auc' with the settings.*'steps'"),
        ({"name": "partial_roc_auc", "alpha": 0.2, "max_fpr": 2.0}, "max_fpr"),
        ({"name": "f1", "alpha": 0.2, "sample_weight": [1.0, 2.0]}, "sample_weight"),
        ({"name": "f1", "alpha": 0.2, "propensity": [0.5, 0.5]}, "propensity"),
    ],
)
def test_wrong_settings_fail_before_any_model_is_fitted(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        make_scorer(**arguments)
