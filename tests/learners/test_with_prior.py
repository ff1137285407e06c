"""WithPrior: the estimate comes from training rows alone, the rest from the classifier."""

import pickle
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from estimator_checks import EXPECTED_FAILURES, each_check, passes_unless_expected
from recoup import metrics
from recoup.exceptions import InvalidInputError
from recoup.learners import TunedThreshold, WithPrior, with_prior
from recoup.metrics import make_scorer
from recoup.priors import BBE, PriorEstimate, PriorTags, estimate
from recoup.priors.base import Finding, ScorePriorEstimator
from recoup.scores import PUStratifiedKFold, crossfit

FOLDS = PUStratifiedKFold(3, random_state=0)
QUICK = BBE(interval=None)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    s = np.where(np.random.default_rng(0).random(len(y)) < 0.5, 0, y)
    return SimpleNamespace(X=X, y=y, s=s, alpha=float(y[s == 0].mean()))


@pytest.fixture(scope="module")
def model(cancer):
    return WithPrior(GaussianNB(), "bbe", random_state=0).fit(cancer.X, cancer.s)


@pytest.mark.parametrize("scored_by", ["auto", None])
def test_the_estimate_is_read_off_out_of_fold_scores(scored_by, cancer, model):
    """By default those of the best of two classifiers, here logistic regression."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    scorer = logistic if scored_by == "auto" else GaussianNB()
    seeds = np.random.default_rng(0).integers(2**31, size=2).tolist()
    found = crossfit(scorer, cancer.X, cancer.s, cv=3, random_state=seeds[0])
    seed = int(np.random.default_rng(seeds[1]).integers(2**31))
    direct = estimate(cancer.s, found.scores, method="bbe", random_state=seed, beta=1.0)
    if scored_by is None:
        model = WithPrior(GaussianNB(), "bbe", scored_by=None).fit(cancer.X, cancer.s)
    assert isinstance(model.prior_, PriorEstimate)
    assert (model.prior_.alpha, model.prior_.interval) == (direct.alpha, direct.interval)
    assert (model.alpha_, model.beta_) == (direct.alpha, direct.beta)
    assert model.alpha_ == pytest.approx(cancer.alpha, abs=0.15)


def test_everything_else_is_the_classifier(cancer, model):
    alone = GaussianNB().fit(cancer.X, cancer.s)
    np.testing.assert_array_equal(model.predict(cancer.X), alone.predict(cancer.X))
    np.testing.assert_array_equal(model.predict_proba(cancer.X), alone.predict_proba(cancer.X))
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert model.n_features_in_ == 30
    assert not hasattr(model, "decision_function")
    assert not hasattr(model.classifier, "classes_")
    ridge = WithPrior(RidgeClassifier(), QUICK, random_state=0)
    assert not hasattr(ridge, "predict_proba")
    ridge.fit(cancer.X, cancer.s)
    assert ridge.decision_function(cancer.X).shape == cancer.s.shape
    assert np.isfinite(ridge.score(cancer.X, cancer.s))


def test_any_estimator_and_any_scores_will_do(cancer):
    by_key = WithPrior(GaussianNB(), "bbe", random_state=0).fit(cancer.X, cancer.s)
    by_object = WithPrior(GaussianNB(), QUICK, random_state=0).fit(cancer.X, cancer.s)
    assert by_object.alpha_ == by_key.alpha_
    assert by_object.prior_.interval is None
    assert not hasattr(QUICK, "estimate_")
    alphas = {by_key.alpha_}
    for scored_by in ("boosting", "forest", LogisticRegression(C=0.01), None):
        given = WithPrior(GaussianNB(), QUICK, scored_by=scored_by, random_state=0)
        alphas.add(given.fit(cancer.X, cancer.s).alpha_)
    assert len(alphas) == 5
    assert all(0 < alpha < 1 for alpha in alphas)


class Named(GaussianNB):
    """A classifier of the user's own."""


@pytest.mark.parametrize("scored_by", ["auto", "logistic", LogisticRegression(), Named()])
@pytest.mark.parametrize("random_state", [0, np.random.default_rng(0)])
def test_all_candidates_of_a_search_have_one_alpha_in_a_fold(scored_by, random_state, cancer):
    candidates = [GaussianNB(), RidgeClassifier(), DummyClassifier(), DecisionTreeClassifier()]
    alphas = []
    for candidate in candidates:
        wrapped = WithPrior(candidate, QUICK, scored_by=scored_by, random_state=random_state)
        found = cross_validate(clone(wrapped), cancer.X, cancer.s, cv=FOLDS, return_estimator=True)
        alphas.append([fitted.alpha_ for fitted in found["estimator"]])
    assert all(one == alphas[0] for one in alphas)
    assert len(set(alphas[0])) == 3


def test_by_default_candidates_are_ranked_as_by_labels_alone(cancer):
    """With one alpha for all, recovered AUC has the order of the AUC between the two samples."""
    candidates = [
        *(DecisionTreeClassifier(max_leaf_nodes=n, random_state=0) for n in (2, 3, 10, 30)),
        GaussianNB(),
        LogisticRegression(),
    ]
    scoring = make_scorer("roc_auc", alpha="estimate")
    plain = [
        cross_val_score(each, cancer.X, cancer.s, scoring="roc_auc", cv=FOLDS).mean()
        for each in candidates
    ]
    orders = {}
    for scored_by in ("auto", None):
        wrapped = WithPrior(GaussianNB(), QUICK, scored_by=scored_by)
        search = GridSearchCV(
            wrapped, {"classifier": candidates}, scoring=scoring, cv=FOLDS, error_score="raise"
        ).fit(cancer.X, cancer.s)
        orders[scored_by] = np.argsort(search.cv_results_["mean_test_score"]).tolist()
    assert orders["auto"] == np.argsort(plain).tolist()
    assert orders[None] != orders["auto"]


class TestKeptEstimates:
    @pytest.fixture
    def made(self, monkeypatch):
        """Count how often rows are scored."""
        calls = []
        real = with_prior.honest_scores
        monkeypatch.setattr(with_prior, "_KEPT", {})
        monkeypatch.setattr(
            with_prior, "honest_scores", lambda *a, **k: calls.append(a) or real(*a, **k)
        )
        return calls

    @pytest.mark.parametrize("convert", [np.array, pd.DataFrame, sparse.csr_array])
    @pytest.mark.parametrize("method", ["bbe", QUICK])
    def test_a_search_makes_one_per_fold(self, convert, method, made, cancer):
        search = GridSearchCV(
            WithPrior(LogisticRegression(), method, scored_by="auto"),
            {"classifier__C": [0.01, 0.1, 1.0]},
            cv=FOLDS,
            error_score="raise",
        )
        search.fit(convert(cancer.X), cancer.s)
        assert len(made) == 3 + 1

    @pytest.mark.parametrize(
        "change",
        [
            {"random_state": 1},
            {"scored_by": "forest"},
            {"beta": 0.9},
            {"cv": 4},
            {"method": "roc-slope"},
            {"method": BBE(interval=None, gamma=0.02)},
        ],
    )
    def test_other_settings_make_another(self, change, made, cancer):
        wrapped = WithPrior(GaussianNB(), method="auto" if "beta" in change else "bbe")
        wrapped.fit(cancer.X, cancer.s)
        clone(wrapped).set_params(**change).fit(cancer.X, cancer.s)
        assert len(made) == 2

    def test_other_rows_make_another(self, made, cancer):
        wrapped = WithPrior(GaussianNB(), QUICK)
        X, s = cancer.X.copy(), cancer.s.copy()
        before = clone(wrapped).fit(X, s).alpha_
        X[3, 4] += 1e-9
        clone(wrapped).fit(X, s)
        s[np.flatnonzero(s == 1)[:40]] = 0
        after = clone(wrapped).fit(X, s).alpha_
        assert len(made) == 3
        assert before != after

    def test_objects_that_may_change_are_not_kept(self, made, cancer):
        for method in (FewRowsWillDo(), BBE(interval=None, random_state=None)):
            for _ in range(2):
                WithPrior(GaussianNB(), method).fit(cancer.X, cancer.s)
        assert len(made) == 4
        assert with_prior._KEPT == {}

    def test_few_are_kept(self, made, cancer, monkeypatch):
        monkeypatch.setattr(with_prior, "N_KEPT", 2)
        for seed in (0, 1, 2, 2, 0):
            WithPrior(GaussianNB(), QUICK, scored_by="logistic", random_state=seed).fit(
                cancer.X, cancer.s
            )
        assert len(made) == 4
        assert len(with_prior._KEPT) == 2


def test_rows_with_gaps_are_scored_by_trees(cancer):
    X = cancer.X.copy()
    X[::7, 3] = np.nan
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    for rows in (X, pd.DataFrame(X)):
        found = WithPrior(boosting, QUICK).fit(rows, cancer.s)
        assert (
            found.alpha_
            == WithPrior(boosting, QUICK, scored_by="boosting").fit(rows, cancer.s).alpha_
        )


def test_rows_of_words_need_a_scorer_that_takes_them(cancer):
    words = np.where(cancer.X[:, :3] > 0, "high", "low").astype(object)
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    with pytest.raises(InvalidInputError, match="a classifier that takes X for scored_by"):
        WithPrior(model, QUICK).fit(words, cancer.s)
    for scored_by in (None, model):
        found = WithPrior(model, QUICK, scored_by=scored_by).fit(words, cancer.s)
        assert 0 < found.alpha_ <= 1


def test_by_default_several_methods_have_a_say(cancer):
    found = WithPrior(GaussianNB(), random_state=0).fit(cancer.X, cancer.s).prior_
    assert found.method == "auto"
    assert len(found.members) > 1


def test_scorers_read_the_prior_of_each_fold(cancer):
    wrapped = WithPrior(GaussianNB(), QUICK, random_state=0)
    scorer = make_scorer("roc_auc", alpha="estimate")
    found = cross_validate(
        wrapped, cancer.X, cancer.s, scoring=scorer, cv=FOLDS, return_estimator=True
    )
    alphas = set()
    splits = list(FOLDS.split(cancer.X, cancer.s))
    for (train, test), value, fitted in zip(
        splits, found["test_score"], found["estimator"], strict=True
    ):
        alone = clone(wrapped).fit(cancer.X[train], cancer.s[train])
        assert alone.alpha_ == fitted.alpha_
        scores = alone.predict_proba(cancer.X[test])[:, 1]
        assert value == metrics.roc_auc(cancer.s[test], scores, alpha=alone.alpha_)
        alphas.add(alone.alpha_)
    assert len(alphas) == 3


def test_test_rows_have_no_part_in_the_estimate(cancer):
    """Garbage in the test rows of a fold changes nothing in what its model has estimated."""
    rng = np.random.default_rng(1)
    (train, test), *_ = FOLDS.split(cancer.X, cancer.s)
    X, s = cancer.X.copy(), cancer.s.copy()
    X[test], s[test] = rng.normal(size=X[test].shape), rng.permutation(s[test])
    wrapped = WithPrior(GaussianNB(), "bbe", random_state=0)
    priors = []
    for rows, labels in ((cancer.X, cancer.s), (X, s)):
        found = cross_validate(
            wrapped,
            rows,
            labels,
            scoring=make_scorer("f1", alpha="estimate"),
            cv=[(train, test)],
            return_estimator=True,
        )
        priors.append(found["estimator"][0].prior_)
    assert priors[0].alpha == priors[1].alpha
    assert priors[0].interval == priors[1].interval
    np.testing.assert_array_equal(priors[0].draws, priors[1].draws)
    scrambled_train = cross_validate(
        wrapped, X, s, cv=[(test, train)], scoring=make_scorer("aul"), return_estimator=True
    )
    assert scrambled_train["estimator"][0].alpha_ != priors[0].alpha


def test_grid_search_over_the_classifier_inside(cancer):
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    search = GridSearchCV(
        WithPrior(boosting, QUICK, cv=2, random_state=0),
        {"classifier__max_depth": [1, 3]},
        scoring=make_scorer("roc_auc", alpha="estimate"),
        cv=FOLDS,
        error_score="raise",
    ).fit(cancer.X, cancer.s)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_["classifier__max_depth"] in (1, 3)
    value = make_scorer("roc_auc", alpha="estimate")(search, cancer.X, cancer.s)
    scores = search.predict_proba(cancer.X)[:, 1]
    alpha = search.best_estimator_.alpha_
    assert value == metrics.roc_auc(cancer.s, scores, alpha=alpha)


def test_scorers_look_into_pipelines_and_searches(cancer):
    wrapped = WithPrior(GaussianNB(), QUICK, random_state=0)
    pipeline = make_pipeline(StandardScaler(), wrapped)
    scorer = make_scorer("brier", alpha="estimate")
    fitted = clone(pipeline).fit(cancer.X, cancer.s)
    expected = -metrics.brier(
        cancer.s, fitted.predict_proba(cancer.X)[:, 1], alpha=fitted[-1].alpha_
    )
    assert scorer(fitted, cancer.X, cancer.s) == expected
    search = GridSearchCV(pipeline, {}, scoring=scorer, cv=FOLDS, error_score="raise")
    search.fit(cancer.X, cancer.s)
    assert scorer(search, cancer.X, cancer.s) == expected
    weights = np.linspace(0, 1, len(cancer.s))
    weighted = scorer(fitted, cancer.X, cancer.s, sample_weight=weights)
    assert weighted != expected


def test_scorers_use_the_beta_that_belongs_to_alpha(cancer, model):
    noisy = SimpleNamespace(alpha=0.3, beta=0.9)
    copy = pickle.loads(pickle.dumps(model))
    copy.prior_ = noisy
    for beta in (1.0, "estimate"):
        value = make_scorer("f1", alpha="estimate", beta=beta)(copy, cancer.X, cancer.s)
        y_pred = copy.predict(cancer.X)
        assert value == metrics.f1(cancer.s, y_pred, alpha=0.3, beta=0.9)
    settings = {"scheme": "case-control", "b": 2.0}
    value = make_scorer("fbeta", alpha="estimate", **settings)(copy, cancer.X, cancer.s)
    assert value == metrics.fbeta(cancer.s, y_pred, alpha=0.3, beta=0.9, **settings)


def test_scorers_survive_pickle_and_clone_and_company(cancer, model):
    scorer = make_scorer("roc_auc", alpha="estimate")
    expected = scorer(model, cancer.X, cancer.s)
    assert pickle.loads(pickle.dumps(scorer))(model, cancer.X, cancer.s) == expected
    search = clone(GridSearchCV(model, {}, scoring=scorer))
    assert search.scoring(model, cancer.X, cancer.s) == expected
    together = cross_validate(
        WithPrior(GaussianNB(), QUICK, random_state=0),
        cancer.X,
        cancer.s,
        scoring={"auc": scorer, "aul": make_scorer("aul")},
        cv=FOLDS,
        error_score="raise",
    )
    assert np.isfinite(together["test_auc"]).all()


def test_learners_of_other_packages_may_only_have_alpha(cancer):
    class Learner(GaussianNB):
        def fit(self, X, y):
            self.alpha_ = 0.4
            return super().fit(X, y)

    learner = Learner().fit(cancer.X, cancer.s)
    value = make_scorer("f1", alpha="estimate")(learner, cancer.X, cancer.s)
    assert value == metrics.f1(cancer.s, learner.predict(cancer.X), alpha=0.4)


@pytest.mark.parametrize(
    "classifier", [GaussianNB(), RidgeClassifierCV(), make_pipeline(GaussianNB())]
)
def test_models_without_an_estimate_are_refused_in_one_line(classifier, cancer):
    fitted = clone(classifier).fit(cancer.X, cancer.s)
    with pytest.raises(InvalidInputError, match="WithPrior") as error:
        make_scorer("roc_auc", alpha="estimate")(fitted, cancer.X, cancer.s)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "f1", "beta": 0.9}, "takes beta from the model"),
        ({"name": "f1", "beta": "high"}, "takes beta from the model"),
        ({"name": "f2"}, "no metric 'f2'"),
        ({"name": "f1", "scheme": "both"}, "scheme"),
        ({"name": "f1", "b": 2.0}, "'f1' with the settings.*'b'"),
    ],
)
def test_wrong_settings_of_scorers_fail_at_once(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        make_scorer(alpha="estimate", **arguments)


def test_score_is_aul_and_random_state_decides(cancer, model):
    scores = model.predict_proba(cancer.X)[:, 1]
    assert model.score(cancer.X, cancer.s) == pytest.approx(metrics.aul(cancer.s, scores))
    wrapped = WithPrior(GaussianNB(), QUICK, cv=5)
    first, second = (
        clone(wrapped).set_params(random_state=0).fit(cancer.X, cancer.s) for _ in range(2)
    )
    assert first.alpha_ == second.alpha_
    values = cross_val_score(wrapped.set_params(random_state=1), cancer.X, cancer.s, cv=FOLDS)
    assert np.isfinite(values).all()


@pytest.mark.parametrize("convert", [np.ndarray.tolist, pd.DataFrame])
def test_it_takes_what_the_classifier_takes(convert, cancer, model):
    converted = clone(model).fit(convert(cancer.X), cancer.s)
    assert converted.alpha_ == model.alpha_


def test_sparse_rows(cancer):
    X = sparse.csr_array(np.round(np.abs(cancer.X)))
    found = WithPrior(LogisticRegression(), QUICK, random_state=0).fit(X, cancer.s)
    assert 0 <= found.alpha_ < 1


def test_known_negatives_are_zero_to_the_classifier(cancer):
    s = cancer.s.copy()
    s[np.flatnonzero(cancer.y == 0)[::3]] = -1
    found = WithPrior(GaussianNB(), QUICK, random_state=0).fit(cancer.X, s)
    np.testing.assert_array_equal(found.classifier_.classes_, [0, 1])
    assert found.prior_.n_unlabeled == (s == 0).sum()


def test_the_threshold_can_be_tuned_by_an_estimated_alpha(cancer):
    tuned = TunedThreshold(GaussianNB(), alpha="bbe", random_state=0).fit(cancer.X, cancer.s)
    by_hand = TunedThreshold(GaussianNB(), alpha=tuned.prior_.alpha, random_state=0)
    by_hand.fit(cancer.X, cancer.s)
    assert tuned.threshold_ == by_hand.threshold_
    assert by_hand.prior_ is None
    value = make_scorer("f1", alpha="estimate")(tuned, cancer.X, cancer.s)
    expected = metrics.f1(cancer.s, tuned.predict(cancer.X), alpha=tuned.prior_.alpha)
    assert value == expected
    assert tuned.score(cancer.X, cancer.s) == pytest.approx(by_hand.score(cancer.X, cancer.s))
    given = tuned.set_params(alpha=0.5).fit(cancer.X, cancer.s)
    assert given.prior_ is None


@dataclass(kw_only=True, eq=False, repr=False)
class FewRowsWillDo(ScorePriorEstimator):
    """Scikit-learn's checks have too few rows for an estimate, and are not about it."""

    tags: ClassVar[PriorTags] = PriorTags(
        key="fixed", reads="scores", assumes="nothing", cost="1", source="here"
    )

    def _solve(self, table, rng):
        return Finding(0.1)

    def fit_scores(self, s, scores=None):
        self.estimate_ = PriorEstimate(alpha=0.1, method="fixed")
        return self


@each_check(WithPrior(LogisticRegression(), FewRowsWillDo(), cv=2, random_state=0))
def test_scikit_learn_checks(estimator, check):
    passes_unless_expected(estimator, check, EXPECTED_FAILURES)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "bbee"}, "Did you mean 'bbe'"),
        ({"method": 3}, "needs method"),
        ({"method": None}, "needs method"),
        ({"beta": "guess"}, "one number or 'estimate'"),
        ({"scored_by": "forrest"}, "Did you mean 'forest'"),
        ({"cv": 1}, "n_splits"),
    ],
)
def test_wrong_settings_fail_before_any_model_is_fitted(settings, message, cancer):
    class NeverFitted(GaussianNB):
        def fit(self, X, y):
            pytest.fail("A model was fitted.")

    with pytest.raises(InvalidInputError, match=message):
        WithPrior(NeverFitted(), **settings).fit(cancer.X, cancer.s)


@pytest.mark.parametrize(
    ("s", "message"),
    [
        ([1, 1, 1, 1], "one class"),
        ([1, 2, 1, 2], "Got 2 in 2 of 4 rows"),
        (None, "Pass s"),
        ([1, 0, 0], "4 and 3"),
        ([1, 1, 0, 0], "cannot estimate alpha: .*20 labeled"),
    ],
)
def test_labels_that_make_no_sense_are_explained(s, message):
    with pytest.raises(InvalidInputError, match=message):
        WithPrior(GaussianNB(), "bbe", cv=2).fit(np.arange(4.0)[:, None], s)


def test_it_must_be_fitted_first(cancer):
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(WithPrior(GaussianNB()), method)(cancer.X)
