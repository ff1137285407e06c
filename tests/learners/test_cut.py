import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

from learners.toy import SCHEMES, toy_rows
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners.calibration import label_knots, label_logits, probability, pu_knots
from recoup.learners.cut import HonestScores, f1_cut, few_or_more_folds, share_cut

SCHEME = pytest.mark.parametrize("scheme", SCHEMES)
LEARNERS = {
    "naive": {"classifier": LogisticRegression()},
    "weighted": {"classifier": LogisticRegression()},
    "bagging-pu": {"n_estimators": 5},
    "pu-aul": {"n_basis": 40, "n_folds": 2},
    "nnpu": {"epochs": 8, "learning_rate": 3e-3},
    "pu-auc": {"n_basis": 40, "n_folds": 2},
}


def sampled(n, scheme, frequency=0.4, seed=0):
    """Return labels, scores, classes and alpha of rows whose score is known to be right."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    scores = rng.normal(size=n) + 2 * y
    s = (y & (rng.random(n) < frequency)).astype(int)
    if scheme == "case-control":
        y = np.concatenate([y, np.ones(n // 5, bool)])
        scores = np.concatenate([scores, rng.normal(size=n // 5) + 2])
        s = np.repeat([0, 1], [n, n // 5])
    return s, scores, y, float(y[s == 0].mean())


@SCHEME
def test_as_many_rows_as_are_positive_exceed_the_cut(scheme):
    s, scores, y, alpha = sampled(5000, scheme)
    cut = share_cut(HonestScores(s, scores, "held-out"), alpha, scheme)
    population = np.ones(len(s), bool) if scheme == "single-sample" else s == 0
    assert np.sum(scores[population] > cut) == y[population].sum()


def test_without_labeled_rows_alpha_is_the_share():
    scores = np.arange(100.0)
    cut = share_cut(HonestScores(np.zeros(100, int), scores, "out-of-bag"), 0.2, "single-sample")
    assert np.sum(scores > cut) == 20


def test_there_is_a_cut_between_neighbours_and_among_equals():
    low = 1.0
    scores = np.array([low, np.nextafter(low, 2.0)])
    cut = share_cut(HonestScores(np.array([0, 0]), scores, "held-out"), 0.5, "case-control")
    assert_array_equal(scores > cut, [False, True])
    same = HonestScores(np.array([1, 0, 0]), np.ones(3), "held-out")
    assert share_cut(same, 0.5, "case-control") <= 1.0


@SCHEME
def test_the_best_f1_is_found_without_classes(scheme):
    s, scores, y, alpha = sampled(40_000, scheme)
    cut = f1_cut(HonestScores(s, scores, "held-out"), alpha, scheme)
    population = np.ones(len(s), bool) if scheme == "single-sample" else s == 0
    reached = f1_score(y[population], scores[population] > cut)
    tried = [f1_score(y[population], scores[population] > at) for at in np.linspace(-1, 3, 81)]
    assert reached > max(tried) - 0.005


@SCHEME
def test_calibrated_chances_are_those_of_the_population(scheme):
    s, scores, y, alpha = sampled(60_000, scheme)
    knots = pu_knots(HonestScores(s, scores, "held-out"), alpha, scheme)
    assert (np.diff(knots[1]) >= 0).all()
    population = np.ones(len(s), bool) if scheme == "single-sample" else s == 0
    pi = y[population].mean()
    # The logarithm of the ratio of two normal densities, 0 and 2 in the mean.
    true = expit(2 * scores[population] - 2 + np.log(pi / (1 - pi)))
    found = probability(knots, scores[population])
    assert np.sqrt(np.mean((found - true) ** 2)) < 0.03
    assert found.mean() == pytest.approx(pi, abs=0.02)


def test_logits_keep_ranks_beyond_the_knots():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=500)
    target = (rng.random(500) < expit(3 * scores)).astype(int)
    knots = label_knots(scores, target)
    far = np.linspace(-8, 8, 200)
    # Blocks of equal shares are steps; beyond the ends it rises on.
    rising = np.diff(label_logits(knots, far))
    assert (rising >= 0).all()
    assert (rising[far[1:] > scores.max()] > 0).all()
    assert (rising[far[:-1] < scores.min()] > 0).all()
    weighted = label_knots(scores, target, np.where(target == 1, 5.0, 1.0))
    assert label_logits(weighted, np.zeros(1)) > label_logits(knots, np.zeros(1)) + 1


def test_folds_are_fewer_where_labeled_rows_are_copies():
    X = np.concatenate([np.repeat([[1.0], [2.0]], 10, axis=0), np.arange(3.0, 43.0)[:, None]])
    s = np.repeat([1, 0], [20, 40])
    assert len(few_or_more_folds(X, s, np.random.default_rng(0))) == 2
    assert few_or_more_folds(X[10:], s[10:], np.random.default_rng(0)) == []


@pytest.mark.parametrize("key", LEARNERS)
def test_every_learner_cuts_where_it_is_told(key):
    X, s, alpha, X_test, y_test = toy_rows(0, "single-sample")
    made = {}
    for rule in ("own", "alpha", "f1", 0.3):
        model = learners.make(key, alpha=alpha, **LEARNERS[key], threshold=rule, random_state=0)
        made[rule] = model.fit(X, s)
    own = made["own"].decision_function(X_test)
    assert made["own"].cut_ == 0.0
    for rule, model in made.items():
        decisions = model.decision_function(X_test)
        assert_allclose(decisions, own - model.cut_, atol=1e-12)
        assert_array_equal(model.predict(X_test), decisions > 0)
        if rule in ("alpha", "f1"):
            assert np.mean(decisions > 0) == pytest.approx(y_test.mean(), abs=0.08)
    assert made[0.3].cut_ == 0.3


@pytest.mark.parametrize("key", LEARNERS)
def test_every_learner_has_calibrated_probabilities(key, tmp_path):
    X, s, alpha, X_test, y_test = toy_rows(0, "single-sample")
    settings = {"alpha": alpha, "probabilities": "calibrated", "random_state": 0}
    model = learners.make(key, **LEARNERS[key], **settings).fit(X, s)
    chances = model.predict_proba(X_test)
    assert_allclose(chances.sum(axis=1), 1)
    assert np.mean((chances[:, 1] - y_test) ** 2) < 0.115
    order = np.argsort(model.decision_function(X_test))
    assert (np.diff(chances[order, 1]) >= 0).all()
    again = learners.load(learners.save(model, tmp_path / "kept"))
    assert_array_equal(again.predict_proba(X_test), chances)
    assert_array_equal(again.predict(X_test), model.predict(X_test))
    assert again.health_ == model.health_


@pytest.mark.parametrize("key", ["naive", "weighted", "elkan-noto"])
def test_boosting_is_mended_inside(key):
    X, s, alpha, X_test, y_test = toy_rows(1, "single-sample")
    made = {}
    for kind in ("own", "calibrated"):
        boosting = HistGradientBoostingClassifier(max_iter=60, random_state=0)
        given = {} if key == "elkan-noto" else {"alpha": alpha}
        model = learners.make(key, classifier=boosting, probabilities=kind, **given, random_state=0)
        made[kind] = model.fit(X, s)
    briers = {
        kind: np.mean((model.predict_proba(X_test)[:, 1] - y_test) ** 2)
        for kind, model in made.items()
    }
    if key != "elkan-noto":
        assert briers["calibrated"] < briers["own"]
        ranks = [roc_auc_score(y_test, model.decision_function(X_test)) for model in made.values()]
        assert ranks[0] == pytest.approx(ranks[1], abs=0.005)
    assert made["own"].label_knots_ is None
    chances = made["calibrated"].predict_proba(X_test)[:, 1]
    assert_array_equal(chances > 0.5, made["calibrated"].predict(X_test))


def test_alpha_is_asked_for():
    X, s, *_ = toy_rows(0, "single-sample")
    for settings in ({"threshold": "alpha"}, {"threshold": "f1"}, {"probabilities": "calibrated"}):
        with pytest.raises(InvalidInputError, match=r"BaggingPU\.fit needs alpha"):
            learners.BaggingPU(None, n_estimators=2, **settings).fit(X, s)
    with pytest.raises(InvalidInputError, match="needs threshold to be"):
        learners.BaggingPU(0.3, threshold="half").fit(X, s)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranked = learners.PUAUL(None, n_basis=20, n_folds=2, threshold=0.0, guard="off")
        ranked.fit(X, s).predict(X)
