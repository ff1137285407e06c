"""What the learners around any classifier share: kinds of rows, names, seeds."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from recoup.exceptions import InvalidInputError
from recoup.learners import two_step
from recoup.learners.around_classifiers import class_weights, fitted_clone, logits, margins
from recoup.learners.bagging import BaggingPU
from recoup.learners.elkan_noto import ElkanNoto
from recoup.learners.naive import Naive
from recoup.learners.oracle import Oracle
from recoup.learners.propensity_weighted import PropensityWeighted
from recoup.learners.sar_em import SAREM
from recoup.learners.two_step import TwoStep
from recoup.learners.weighted import Weighted
from recoup.priors._solvers.transform import sparse_logistic

LEARNERS = {
    "naive": Naive(0.3),
    "weighted": Weighted(0.3),
    "criterion": Weighted(None, weights=[0.4, 1.0]),
    "rescale": ElkanNoto(),
    "duplicate": ElkanNoto("duplicate"),
    "bagging": BaggingPU(0.3, n_estimators=4),
    "spy": TwoStep(max_iter=2),
    "rocchio": TwoStep("rocchio", max_iter=2),
    "propensity": PropensityWeighted(alpha=0.3),
    "oracle": Oracle(),
}
EACH = pytest.mark.parametrize("name", LEARNERS)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.5).astype(int)
    X = rng.normal(size=(n, 3))
    X[:, 0] += np.where(y == 1, 1.5, -1.5)
    return X, np.where(rng.random(n) < 0.4, y, 0), y


def with_known_negatives(X, s, y):
    """Rows where positives would be expected, and of which it is known that they are none."""
    return np.vstack([X, np.full((2, 3), 9.0)]), np.append(s, [-1, -1]), np.append(y, [0, 0])


def fitted(name, X, s, y, **settings):
    model = clone(LEARNERS[name]).set_params(random_state=0, **settings)
    return model.fit(X, s, y_true=y) if name == "oracle" else model.fit(X, s)


@EACH
def test_frames_and_lists_are_rows(name):
    X, s, y = rows()
    expected = fitted(name, X, s, y).decision_function(X)
    assert np.mean((expected > 0) == y) > 0.85
    columns = {column: X[:, number] for number, column in enumerate("abc")}
    for frame in (pd.DataFrame(columns, index=np.arange(400)[::-1]), pl.DataFrame(columns)):
        model = fitted(name, frame, s, y)
        assert list(model.feature_names_in_) == ["a", "b", "c"]
        np.testing.assert_allclose(model.decision_function(frame), expected)
    np.testing.assert_allclose(
        fitted(name, X.tolist(), s, y).decision_function(X.tolist()), expected
    )


@EACH
@pytest.mark.parametrize("kind", [csr_matrix, csr_array, coo_array])
def test_sparse_rows(name, kind, monkeypatch):
    X, s, y = rows()
    cut = np.where(np.abs(X) < 0.3, 0.0, X)
    model = fitted(name, kind(cut), s, y)
    scores = model.decision_function(kind(cut))
    assert np.mean((scores > 0) == y) > 0.85
    more, known, true = with_known_negatives(cut, s, y)
    again = fitted(name, kind(more), known, true).decision_function(kind(more))
    # Rocchio's angles are between rows that are centered, but for sparse ones.
    angles = two_step.nearer_to_unlabeled
    monkeypatch.setattr(
        two_step, "nearer_to_unlabeled", lambda X, *of_rows: angles(csr_matrix(X), *of_rows)
    )
    dense = fitted(name, more, known, true, classifier=sparse_logistic())
    np.testing.assert_allclose(again, dense.decision_function(more), rtol=1e-6)
    assert again[-1] < model.decision_function(kind(more))[-1]


@EACH
def test_known_negatives_of_a_frame_teach(name):
    X, s, y = rows()
    more, known, true = with_known_negatives(X, s, y)
    expected = fitted(name, more, known, true).decision_function(more)
    for make in (pd.DataFrame, pl.DataFrame):
        frame = make({column: more[:, number] for number, column in enumerate("abc")})
        model = fitted(name, frame, known, true)
        np.testing.assert_allclose(model.decision_function(frame), expected)
    assert expected[-1] < fitted(name, X, s, y).decision_function(more)[-1]


@EACH
def test_fitted_learners_can_be_stored(name):
    X, s, y = rows()
    model = fitted(name, X, s, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("name", ["naive", "weighted", "duplicate", "bagging", "spy", "oracle"])
def test_words_and_gaps_are_up_to_the_classifier(name):
    X, s, y = rows()
    frame = pd.DataFrame({"word": np.where(X[:, 0] > 0, "yes", "no"), "size": X[:, 0]})
    encode = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
    model = fitted(name, frame, s, y, classifier=make_pipeline(encode, LogisticRegression()))
    assert np.mean(model.predict(frame) == y) > 0.85
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    model = fitted(name, gaps, s, y, classifier=HistGradientBoostingClassifier(max_iter=10))
    assert np.mean(model.predict(gaps) == y) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        fitted(name, gaps, s, y)


@EACH
def test_seeds_reach_classifiers_without_one(name):
    X, s, y = rows()
    forest = ExtraTreesClassifier(5, min_samples_leaf=5)
    scores = [fitted(name, X, s, y, classifier=forest).decision_function(X) for _ in range(2)]
    np.testing.assert_array_equal(*scores)
    other = clone(LEARNERS[name]).set_params(classifier=forest, random_state=1)
    other = other.fit(X, s, y_true=y) if name == "oracle" else other.fit(X, s)
    assert not np.array_equal(other.decision_function(X), scores[0])
    assert forest.random_state is None


def test_auto_takes_the_classifier_that_tells_labels_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    ring = (np.hypot(*X.T) < 0.9).astype(int)
    s = np.where(rng.random(500) < 0.6, ring, 0)
    assert isinstance(
        Naive(classifier="auto", random_state=0).fit(X, s).classifier_,
        HistGradientBoostingClassifier,
    )
    X, s, _ = rows(300)
    simple = Naive(classifier="auto", random_state=0).fit(X, s).classifier_
    assert isinstance(simple[-1], LogisticRegression)


def test_texts_may_have_one_axis():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    texts = [" ".join(rng.choice(["win", "the"] if one else ["sum", "the"], 4)) for one in y]
    s = np.where(rng.random(300) < 0.5, y, 0)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    for kind in (list, pd.Series, np.array):
        found = Naive(0.3, classifier=model).fit(kind(texts), s).predict(kind(texts))
        assert np.mean(found == y) > 0.9


def test_weights_are_for_classifiers_that_take_them():
    X, s, y = rows(200)
    for name in ("weighted", "duplicate", "spy", "propensity"):
        with pytest.raises(InvalidInputError, match="takes sample_weight") as caught:
            fitted(name, X, s, y, classifier=KNeighborsClassifier())
        assert type(LEARNERS[name]).__name__ in str(caught.value)
    assert fitted("bagging", X, s, y, classifier=KNeighborsClassifier()).score(X, s) > 0.5


def test_weights_reach_the_last_step_of_a_pipeline():
    X, s, _ = rows(300)
    weights, rng = np.random.default_rng(1).random(300), np.random.default_rng(0)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = fitted_clone(pipeline, X, s, rng, weights=weights)
    scaled = StandardScaler().fit_transform(X)
    reference = LogisticRegression().fit(scaled, s, sample_weight=weights)
    np.testing.assert_allclose(logits(model, X), reference.decision_function(scaled), atol=1e-9)
    np.testing.assert_allclose(margins(model, X), logits(model, X))


def test_class_weights_have_the_ratio_and_the_mean_one():
    target = np.array([1, 0, 0, 1, 0, 0, 0])
    for ratio in (0.1, 1.0, 3.0):
        weights = class_weights(target, ratio)
        assert weights.mean() == pytest.approx(1)
        assert weights[target == 1].sum() / weights[target == 0].sum() == pytest.approx(ratio)


def test_new_rows_must_have_the_columns_of_the_old():
    X, s, y = rows(200)
    for name in LEARNERS:
        with pytest.raises(ValueError, match="features"):
            fitted(name, X, s, y).decision_function(X[:, :2])
    with pytest.raises(ValueError, match="features"):
        SAREM().fit(X, s).predict_proba(X[:, :2])
