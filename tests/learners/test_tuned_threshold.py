import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from estimator_checks import EXPECTED_FAILURES, each_check, passes_unless_expected
from recoup import metrics
from recoup.exceptions import InvalidInputError
from recoup.learners import TunedThreshold
from recoup.metrics.spec import POINT_METRICS
from recoup.scores import PUStratifiedKFold


def hide(y, share, seed=0):
    """Take the labels of a share of the positives away."""
    s = np.where(np.random.default_rng(seed).random(len(y)) < share, 0, y)
    return s, float(y[s == 0].mean())


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    s, alpha = hide(y, 0.7)
    return SimpleNamespace(X=X, y=y, s=s, alpha=alpha)


@pytest.fixture(scope="module")
def tuned(cancer):
    return TunedThreshold(GaussianNB(), alpha=cancer.alpha, random_state=0).fit(cancer.X, cancer.s)


def out_of_fold(estimator, X, s, method="predict_proba"):
    folds = list(PUStratifiedKFold(5, random_state=0).split(X, s))
    answers = cross_val_predict(estimator, X, (s == 1).astype(int), cv=folds, method=method)
    return answers[:, 1] if answers.ndim == 2 else answers


def best_by_hand(name, s, scores, alpha, **params):
    """Cut at every score, unmix, make the rates rise, and take the best; all with plain loops."""
    cuts = [np.inf, *sorted(set(scores.tolist()), reverse=True)]
    n_labeled, n_unlabeled = (s == 1).sum(), (s == 0).sum()
    weights = [1e-9] + [np.sum((scores == cut) & (s >= 0)) for cut in cuts[1:]]
    observed = [
        (np.sum(scores[s == 1] >= cut) / n_labeled, np.sum(scores[s == 0] >= cut) / n_unlabeled)
        for cut in cuts
    ]
    raw = {"tpr": [tpr for tpr, _ in observed]}
    raw["fpr"] = [(fpr - alpha * tpr) / (1 - alpha) for tpr, fpr in observed]
    rates = {}
    for rate, values in raw.items():
        rising = isotonic_regression(values, sample_weight=np.maximum(weights, 1e-9))
        rates[rate] = np.clip(rising, 0, 1)
        rates[rate][[0, -1]] = 0, 1
    pi = (n_labeled + alpha * n_unlabeled) / len(s)
    values = [
        float(POINT_METRICS[name].from_rates(tpr, fpr, pi, **params))
        for tpr, fpr in zip(rates["tpr"], rates["fpr"], strict=True)
    ]
    values = np.nan_to_num(values if name != "expected_cost" else np.negative(values), nan=-np.inf)
    return cuts[int(np.argmax(values))], values.max()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("f1", {}),
        ("accuracy", {}),
        ("precision", {}),
        ("youden", {}),
        ("matthews_corrcoef", {}),
        ("fbeta", {"b": 3.0}),
        ("expected_cost", {"fp_cost": 1.0, "fn_cost": 5.0}),
    ],
)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_the_threshold_is_the_best_by_hand(name, params, alpha, cancer):
    tuned = TunedThreshold(
        GaussianNB(), metric=name, alpha=alpha, metric_params=params, random_state=0
    ).fit(cancer.X, cancer.s)
    scores = out_of_fold(GaussianNB(), cancer.X, cancer.s)
    threshold, value = best_by_hand(name, cancer.s, scores, alpha, **params)
    sign = -1 if name == "expected_cost" else 1
    assert tuned.curve_.best_value == pytest.approx(sign * value, rel=1e-6)
    at_threshold = tuned.curve_.values[tuned.curve_.threshold == tuned.threshold_]
    assert at_threshold == tuned.curve_.best_value
    # Two cuts may be equally good up to rounding.
    rivals = tuned.curve_.values[tuned.curve_.threshold == threshold]
    assert rivals == pytest.approx(tuned.curve_.best_value, rel=1e-6)


def test_without_hidden_positives_it_maximizes_the_ordinary_metric(cancer):
    tuned = TunedThreshold(GaussianNB(), alpha=0.0, random_state=0).fit(cancer.X, cancer.s)
    scores = out_of_fold(GaussianNB(), cancer.X, cancer.s)
    f1_scores = {cut: f1_score(cancer.s, scores >= cut) for cut in scores}
    assert tuned.curve_.best_value == pytest.approx(max(f1_scores.values()), rel=1e-12)
    assert f1_scores[tuned.threshold_] == max(f1_scores.values())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["cancer", "digits"])
def test_it_beats_one_half_on_rows_it_has_not_seen(name, seed):
    if name == "cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        X, y = load_digits(return_X_y=True)
        y = (y >= 5).astype(int)
    s, alpha = hide(y, 0.6, seed)
    train = np.random.default_rng(seed).permutation(len(y)) % 2 == 0
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    tuned = TunedThreshold(model, alpha=alpha, cv=3, random_state=seed).fit(X[train], s[train])
    plain = clone(model).fit(X[train], s[train])
    true_f1, plain_f1 = (f1_score(y[~train], each.predict(X[~train])) for each in (tuned, plain))
    assert true_f1 > plain_f1 + 0.2
    assert true_f1 > 0.75


def test_the_threshold_itself_is_predicted_positive(cancer, tuned):
    tuned = pickle.loads(pickle.dumps(tuned))
    scores = tuned.predict_proba(cancer.X)[:, 1]
    tuned.threshold_ = np.median(scores)
    assert (scores == tuned.threshold_).any()
    np.testing.assert_array_equal(tuned.predict(cancer.X), scores >= tuned.threshold_)


def test_the_classifier_is_refitted_on_all_rows_and_left_alone(cancer):
    given = GaussianNB()
    tuned = TunedThreshold(given, alpha=cancer.alpha, random_state=0).fit(cancer.X, cancer.s)
    expected = GaussianNB().fit(cancer.X, cancer.s).predict_proba(cancer.X)
    np.testing.assert_array_equal(tuned.predict_proba(cancer.X), expected)
    assert not hasattr(given, "classes_")
    assert tuned.estimator is given
    np.testing.assert_array_equal(tuned.classes_, [0, 1])
    assert tuned.n_features_in_ == 30
    assert tuned.predict(cancer.X).dtype == int


def test_decision_functions_serve_where_there_are_no_probabilities(cancer):
    tuned = TunedThreshold(RidgeClassifier(), alpha=cancer.alpha, random_state=0)
    assert not hasattr(tuned, "predict_proba")
    tuned.fit(cancer.X, cancer.s)
    scores = out_of_fold(RidgeClassifier(), cancer.X, cancer.s, "decision_function")
    assert tuned.threshold_ in scores
    decisions = tuned.decision_function(cancer.X)
    np.testing.assert_array_equal(tuned.predict(cancer.X), decisions >= tuned.threshold_)
    assert not hasattr(TunedThreshold(GaussianNB()), "decision_function")


def test_a_second_fit_with_another_classifier_starts_over(cancer):
    tuned = TunedThreshold(GaussianNB(), alpha=cancer.alpha, random_state=0)
    tuned.fit(cancer.X, cancer.s)
    tuned.set_params(estimator=RidgeClassifier()).fit(cancer.X, cancer.s)
    fresh = TunedThreshold(RidgeClassifier(), alpha=cancer.alpha, random_state=0)
    assert tuned.threshold_ == fresh.fit(cancer.X, cancer.s).threshold_


def test_known_negatives_are_zero_to_the_classifier_and_minus_one_to_the_metric(cancer):
    s = cancer.s.copy()
    s[np.flatnonzero(cancer.y == 0)[::2]] = -1
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y):
            seen.append((len(y), set(y.tolist())))
            return super().fit(X, y)

    tuned = TunedThreshold(Spy(), metric="accuracy", alpha=0.5, random_state=0).fit(cancer.X, s)
    assert {labels == {0, 1} for _, labels in seen} == {True}
    assert seen[-1][0] == len(s)
    scores = out_of_fold(GaussianNB(), cancer.X, s)
    curve = metrics.metric_curve("accuracy", s, scores, alpha=0.5)
    assert tuned.threshold_ == curve.best_threshold
    assert tuned.curve_.best_value == curve.best_value
    without = metrics.metric_curve("accuracy", np.maximum(s, 0), scores, alpha=0.5)
    assert curve.best_value != without.best_value


def test_noisy_labels_and_the_scheme_reach_the_metric(cancer):
    settings = {"alpha": 0.3, "beta": 0.8, "scheme": "case-control"}
    tuned = TunedThreshold(GaussianNB(), **settings, random_state=0).fit(cancer.X, cancer.s)
    scores = out_of_fold(GaussianNB(), cancer.X, cancer.s)
    curve = metrics.metric_curve("f1", cancer.s, scores, **settings)
    assert (tuned.threshold_, tuned.curve_.best_value) == (curve.best_threshold, curve.best_value)
    np.testing.assert_array_equal(tuned.curve_.values, curve.values)


def test_alpha_may_be_an_estimate(cancer, tuned):
    estimate = SimpleNamespace(alpha=cancer.alpha, beta=1.0)
    other = TunedThreshold(GaussianNB(), alpha=estimate, random_state=0)
    assert clone(other).fit(cancer.X, cancer.s).threshold_ == tuned.threshold_


def test_nothing_is_predicted_positive_where_that_is_cheapest(cancer):
    tuned = TunedThreshold(
        GaussianNB(),
        metric="expected_cost",
        alpha=0.01,
        metric_params={"fp_cost": 1e6, "fn_cost": 0.0},
        random_state=0,
    ).fit(cancer.X, cancer.s)
    assert tuned.threshold_ == np.inf
    assert not tuned.predict(cancer.X).any()


def test_folds_can_be_chosen(cancer):
    folds = KFold(4, shuffle=True, random_state=1)
    by_splitter = TunedThreshold(GaussianNB(), alpha=0.5, cv=folds).fit(cancer.X, cancer.s)
    splits = list(folds.split(cancer.X))
    by_splits = TunedThreshold(GaussianNB(), alpha=0.5, cv=splits).fit(cancer.X, cancer.s)
    scores = cross_val_predict(GaussianNB(), cancer.X, cancer.s, cv=splits, method="predict_proba")
    curve = metrics.metric_curve("f1", cancer.s, scores[:, 1], alpha=0.5)
    assert by_splitter.threshold_ == by_splits.threshold_ == curve.best_threshold


def test_random_state_decides_the_folds(cancer):
    def threshold(seed, n_jobs=None):
        tuned = TunedThreshold(GaussianNB(), alpha=0.5, n_jobs=n_jobs, random_state=seed)
        return tuned.fit(cancer.X, cancer.s).threshold_

    with parallel_config("threading"):
        assert threshold(0) == threshold(0) == threshold(0, n_jobs=2)
    assert len({threshold(seed) for seed in range(4)}) > 1


def test_score_is_aul(cancer, tuned):
    scores = tuned.predict_proba(cancer.X)[:, 1]
    assert tuned.score(cancer.X, cancer.s) == pytest.approx(metrics.aul(cancer.s, scores))
    weights = np.linspace(1, 2, len(scores))
    weighted = metrics.aul(cancer.s, scores, sample_weight=weights)
    assert tuned.score(cancer.X, cancer.s, sample_weight=weights) == pytest.approx(weighted)
    noisy = clone(tuned).set_params(alpha=0.3, beta=0.9).fit(cancer.X, cancer.s)
    expected = metrics.aul(cancer.s, scores, alpha=0.3, beta=0.9)
    assert noisy.score(cancer.X, cancer.s) == pytest.approx(expected)


def test_it_survives_clone_and_pickle(cancer, tuned):
    copy = clone(tuned)
    assert not hasattr(copy, "threshold_")
    assert copy.fit(cancer.X, cancer.s).threshold_ == tuned.threshold_
    back = pickle.loads(pickle.dumps(tuned))
    np.testing.assert_array_equal(back.predict(cancer.X), tuned.predict(cancer.X))


def test_it_works_in_a_pipeline_and_in_a_grid_search(cancer):
    inner = TunedThreshold(GaussianNB(), alpha=cancer.alpha, cv=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), inner)
    grid = {"tunedthreshold__estimator__var_smoothing": [1e-9, 10.0]}
    folds = PUStratifiedKFold(3, random_state=0)
    search = GridSearchCV(
        pipeline, grid, scoring=metrics.make_scorer("f1", alpha=cancer.alpha), cv=folds
    ).fit(cancer.X, cancer.s)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert f1_score(cancer.y, search.predict(cancer.X)) > 0.9
    by_default = cross_val_score(inner, cancer.X, cancer.s, cv=folds)
    aul = cross_val_score(inner, cancer.X, cancer.s, scoring=metrics.make_scorer("aul"), cv=folds)
    np.testing.assert_allclose(by_default, aul)


@pytest.mark.parametrize(
    "convert",
    [np.ndarray.tolist, sparse.csr_array, pd.DataFrame, lambda X: pl.DataFrame(X).to_pandas()],
)
def test_it_takes_what_the_classifier_takes(convert):
    X, digit = load_digits(return_X_y=True)
    X = X[:300]
    s, alpha = hide((digit[:300] < 5).astype(int), 0.5)
    expected = TunedThreshold(MultinomialNB(), alpha=alpha, cv=3, random_state=0).fit(X, s)
    converted = clone(expected).fit(convert(X), s)
    assert converted.threshold_ == pytest.approx(expected.threshold_)
    np.testing.assert_array_equal(converted.predict(convert(X)), expected.predict(X))


def test_text_goes_through_a_pipeline(cancer):
    texts = ["good fine day" if y else "bad rainy night" for y in cancer.y]
    texts = [f"{text} number{row}" for row, text in enumerate(texts)]
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    tuned = TunedThreshold(model, alpha=cancer.alpha, random_state=0).fit(texts, cancer.s)
    assert f1_score(cancer.y, tuned.predict(texts)) > 0.9


def test_column_names_are_kept(cancer):
    frame = pd.DataFrame(cancer.X).add_prefix("x")
    tuned = TunedThreshold(GaussianNB(), alpha=0.5, random_state=0).fit(frame, cancer.s)
    assert tuned.feature_names_in_.tolist() == frame.columns.tolist()


def test_s_may_be_any_column_of_labels(cancer, tuned):
    for s in (cancer.s.astype(bool), pd.Series(cancer.s), cancer.s.astype(float), list(cancer.s)):
        same = clone(tuned).fit(cancer.X, s)
        assert same.threshold_ == tuned.threshold_


TUNED = "wants predict to agree with a cut at one half, which is what tuning changes"


@each_check(TunedThreshold(LogisticRegression(), alpha=0.1, cv=2, random_state=0))
def test_scikit_learn_checks(estimator, check):
    passes_unless_expected(estimator, check, EXPECTED_FAILURES | {"check_classifiers_train": TUNED})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "TunedThreshold.fit needs alpha"),
        ({"alpha": 1.2}, r"alpha in \[0, 1\]"),
        ({"alpha": 0.5, "metric": "f2"}, "TunedThreshold.fit knows no metric 'f2'"),
        ({"alpha": 0.5, "metric": "roc_auc"}, "one threshold.*'roc_auc'"),
        ({"alpha": 0.5, "metric": "aul"}, "one threshold.*'aul'"),
        ({"alpha": 0.5, "metric_params": {"b": 2.0}}, "'f1' with the settings.*'b'"),
        ({"alpha": (0.1, 0.3)}, r"TunedThreshold\.fit needs alpha to be one number"),
        ({"alpha": np.linspace(0.1, 0.2, 9)}, r"Intervals and draws are for recoup\.evaluate"),
        ({"alpha": 0.5, "scheme": "both"}, "scheme"),
        ({"alpha": "estimat"}, "Did you mean 'estimate'"),
        ({"alpha": 0.5, "beta": "estimate"}, "Pass alpha='estimate' too"),
        ({"alpha": "estimate", "metric": "f2"}, "no metric 'f2'"),
        ({"alpha": 0.5, "cv": 1}, "n_splits"),
        ({"alpha": 0.5, "cv": 400}, "labeled rows in each of the 400 folds"),
        ({"alpha": 0.5, "estimator": NearestNeighbors()}, "predict_proba or decision_function"),
    ],
)
def test_wrong_settings_fail_before_any_model_is_fitted(settings, message, cancer):
    class NeverFitted(GaussianNB):
        def fit(self, X, y):
            pytest.fail("A model was fitted.")

    settings = {"estimator": NeverFitted()} | settings
    with pytest.raises(InvalidInputError, match=message):
        TunedThreshold(**settings).fit(cancer.X, cancer.s)


@pytest.mark.parametrize(
    ("s", "message"),
    [
        ([1, 1, 1, 1], "one class.*4 labeled and 0 unlabeled"),
        ([0, 0, 0, -1], "one class.*0 labeled and 3 unlabeled"),
        ([1, 2, 1, 2], "Got 2 in 2 of 4 rows"),
        ([0, 1, 2, 3], "The type of the target is multiclass"),
        (["yes", "no", "no", "no"], "Got 'yes' in"),
        (None, "Pass s"),
        ([1, 0, 0], "4 and 3"),
    ],
)
def test_labels_that_make_no_sense_are_explained(s, message):
    with pytest.raises(InvalidInputError, match=message):
        TunedThreshold(GaussianNB(), alpha=0.2).fit(np.arange(4.0)[:, None], s)


def test_it_must_be_fitted_first(cancer):
    tuned = TunedThreshold(Perceptron(), alpha=0.2)
    for method in (tuned.predict, tuned.decision_function):
        with pytest.raises(NotFittedError):
            method(cancer.X)


@pytest.mark.parametrize("metric", ["f1", "expected_cost"])
def test_the_score_is_less_good_than_the_best_of_many(metric):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    X = rng.normal(size=(400, 1)) + y[:, None]
    s = (y & (rng.random(400) < 0.3)).astype(int)
    tuned = TunedThreshold(LogisticRegression(), metric=metric, alpha=0.23, random_state=0)
    tuned.fit(X, s)
    better = 1 if metric == "f1" else -1
    assert better * tuned.best_score_ < better * tuned.curve_.best_value
