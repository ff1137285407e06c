import pickle
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from papers.bagged_networks import BaggedNetworks
from recoup._core import progress as _progress
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.metrics.area import auc_pu
from recoup.scores import PUStratifiedKFold, crossfit


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    s = np.where(np.random.default_rng(0).random(len(y)) < 0.6, 0, y)
    return SimpleNamespace(X=X, y=y, s=s)


class Spy(GaussianNB):
    """Remembers which rows it was fitted on and asked about, by their first column."""

    seen = ()

    def fit(self, X, y):
        Spy.seen.append(SimpleNamespace(train=X[:, 0].copy(), labels=y.copy(), test=None))
        return super().fit(X, y)

    def predict_proba(self, X):
        Spy.seen[-1].test = X[:, 0].copy()
        return super().predict_proba(X)


@pytest.fixture
def seen():
    Spy.seen = []
    return Spy.seen


def test_every_row_is_scored_by_a_model_that_has_not_seen_it(cancer, seen):
    X = np.column_stack([np.arange(len(cancer.s)), cancer.X])
    crossfit(Spy(), X, cancer.s, cv=4)
    assert len(seen) == 4
    for fit in seen:
        assert not set(fit.train) & set(fit.test)
        assert len(fit.train) + len(fit.test) == len(cancer.s)
        np.testing.assert_array_equal(fit.labels, cancer.s[fit.train.astype(int)])
    assert sorted(row for fit in seen for row in fit.test) == list(range(len(cancer.s)))


def test_a_memory_of_rows_is_no_help():
    """One nearest neighbour knows its own rows; here it may know those of other folds only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    s = (np.arange(200) < 80).astype(int)
    X, s = np.vstack([X, X[:80]]), np.append(s, np.zeros(80, int))
    found = crossfit(KNeighborsClassifier(1), X, s)
    fold = found.fold[0]
    np.testing.assert_array_equal(fold[200:], fold[:80])
    for row in range(len(s)):
        others = np.flatnonzero(fold != fold[row])
        nearest = others[np.argmin(((X[others] - X[row]) ** 2).sum(axis=1))]
        twins = others[(X[others] == X[nearest]).all(axis=1)]
        assert found.scores[row] in s[twins]
    copies = np.arange(80, 280) >= 200  # among the unlabeled rows
    folds = KFold(5, shuffle=True, random_state=0)
    apart = cross_val_predict(KNeighborsClassifier(1), X, s, cv=folds)
    assert roc_auc_score(copies, apart[80:]) > 0.7
    assert roc_auc_score(copies, found.scores[80:]) < 0.6


def test_scores_are_those_of_scikit_learn_on_the_same_folds(cancer):
    model = make_pipeline(StandardScaler(), GaussianNB())
    found = crossfit(model, cancer.X, cancer.s, random_state=3)
    folds = list(PUStratifiedKFold(5, random_state=3).split(cancer.X, cancer.s))
    expected = cross_val_predict(model, cancer.X, cancer.s, cv=folds, method="predict_proba")
    np.testing.assert_array_equal(found.scores, expected[:, 1])
    for number, (_, test) in enumerate(folds):
        assert (found.fold[0, test] == number).all()
    assert (found.method, found.repeats) == ("predict_proba", 1)


def test_folds_have_equal_shares_of_labels(cancer):
    found = crossfit(GaussianNB(), cancer.X, cancer.s, cv=4, repeats=2)
    for fold in found.fold:
        counts = np.bincount(fold[cancer.s == 1])
        assert counts.max() - counts.min() <= 1


def test_repeats_are_averaged(cancer):
    generator = np.random.default_rng(0)
    one_by_one = [
        crossfit(GaussianNB(), cancer.X, cancer.s, random_state=generator) for _ in range(3)
    ]
    together = crossfit(GaussianNB(), cancer.X, cancer.s, repeats=3)
    np.testing.assert_array_equal(together.fold, np.vstack([one.fold for one in one_by_one]))
    np.testing.assert_allclose(together.scores, np.mean([one.scores for one in one_by_one], 0))
    assert together.repeats == 3
    assert not np.array_equal(together.fold[0], together.fold[1])


def test_groups_share_a_fold(cancer):
    groups = np.arange(len(cancer.s)) // 10
    found = crossfit(GaussianNB(), cancer.X, cancer.s, groups=groups, repeats=2)
    for fold in found.fold:
        assert all(len(set(fold[groups == group])) == 1 for group in np.unique(groups))


def test_known_negatives_are_zero_to_the_classifier_and_scored(cancer, seen):
    s = cancer.s.copy()
    s[np.flatnonzero(cancer.y == 0)[::3]] = -1
    found = crossfit(Spy(), cancer.X, s)
    assert all(set(fit.labels.tolist()) == {0, 1} for fit in seen)
    assert sum(len(fit.test) for fit in seen) == len(s)
    np.testing.assert_array_equal(found.s, s)
    assert found.table().n_negative == (s == -1).sum()
    assert found.auc_pu == pytest.approx(auc_pu(found.table()))


def test_decision_functions_serve_where_there_are_no_probabilities(cancer):
    found = crossfit(RidgeClassifier(), cancer.X, cancer.s)
    folds = list(PUStratifiedKFold(5, random_state=0).split(cancer.X, cancer.s))
    expected = cross_val_predict(
        RidgeClassifier(), cancer.X, cancer.s, cv=folds, method="decision_function"
    )
    np.testing.assert_array_equal(found.scores, expected)
    assert found.method == "decision_function"
    model = LogisticRegression(C=0.01)
    asked = crossfit(model, cancer.X[:, :1], cancer.s, method="decision_function")
    assert asked.scores.min() < 0


def test_own_folds_can_be_given(cancer):
    folds = KFold(3, shuffle=True, random_state=0)
    by_splitter = crossfit(GaussianNB(), cancer.X, cancer.s, cv=folds)
    by_splits = crossfit(GaussianNB(), cancer.X, cancer.s, cv=list(folds.split(cancer.X)))
    expected = cross_val_predict(
        GaussianNB(), cancer.X, cancer.s, cv=folds, method="predict_proba"
    )[:, 1]
    for found in (by_splitter, by_splits):
        np.testing.assert_array_equal(found.scores, expected)
        assert set(found.fold[0]) == {0, 1, 2}


def test_only_past_rows_train_with_folds_in_the_order_of_time(cancer, seen):
    X = np.column_stack([np.arange(len(cancer.s)), cancer.X])
    folds = TimeSeriesSplit(4)
    found = crossfit(Spy(), X, cancer.s, cv=folds, halves=True)
    splits = list(folds.split(X))
    first = splits[0][1][0]
    assert [fit.train.max() < fit.test.min() for fit in seen] == [True] * 12
    np.testing.assert_array_equal(found.scored, np.arange(len(X)) >= first)
    assert np.isnan(found.half_scores[:, :first]).all()
    np.testing.assert_array_equal(found.fold[0, :first], -1)
    for number, (train, test) in enumerate(splits):
        model = GaussianNB().fit(X[train], cancer.s[train])
        np.testing.assert_array_equal(found.scores[test], model.predict_proba(X[test])[:, 1])
        assert set(found.fold[0, test]) == {number}


def test_rows_may_lack_a_score_only_if_the_past_alone_trains(cancer):
    splits = list(KFold(4).split(cancer.X))[1:]
    with pytest.raises(InvalidInputError, match=r"train on past rows alone.*tested 0 times"):
        crossfit(GaussianNB(), cancer.X, cancer.s, cv=splits)


def test_rows_that_only_train_are_left_out_of_what_is_computed(cancer):
    found = crossfit(GaussianNB(), cancer.X, cancer.s, cv=TimeSeriesSplit(4))
    kept = found.of_scored_rows()
    assert kept.scored.all()
    assert len(kept.s) == found.scored.sum() == found.table().n_rows
    assert kept.auc_pu == found.auc_pu == pytest.approx(auc_pu(kept.table()))
    assert kept.of_scored_rows() is kept
    assert found.to_dict()["scores"][0] is None
    assert len(found.to_frame()) == len(cancer.s)
    assert "nan" not in found._repr_html_()


def test_the_number_of_jobs_changes_nothing(cancer):
    model = RandomForestClassifier(10)
    alone = crossfit(model, cancer.X, cancer.s, repeats=2)
    with parallel_config("threading"):
        threads = crossfit(model, cancer.X, cancer.s, repeats=2, n_jobs=2)
    processes = crossfit(model, cancer.X, cancer.s, repeats=2, n_jobs=2)
    for other in (threads, processes):
        np.testing.assert_array_equal(other.scores, alone.scores)
        np.testing.assert_array_equal(other.fold, alone.fold)


def test_random_state_decides_everything(cancer):
    def scores(seed):
        model = make_pipeline(StandardScaler(), RandomForestClassifier(5))
        return crossfit(model, cancer.X, cancer.s, cv=2, random_state=seed).scores

    np.testing.assert_array_equal(scores(0), scores(0))
    assert not np.array_equal(scores(0), scores(1))
    assert not np.array_equal(scores(None), scores(None))


def test_seeds_of_the_user_are_kept(cancer):
    folds = list(PUStratifiedKFold(2, random_state=0).split(cancer.X, cancer.s))
    model = RandomForestClassifier(5, random_state=7)
    expected = cross_val_predict(model, cancer.X, cancer.s, cv=folds, method="predict_proba")
    found = crossfit(model, cancer.X, cancer.s, cv=2, random_state=0)
    np.testing.assert_array_equal(found.scores, expected[:, 1])


@pytest.mark.parametrize("method", ["auto", "oob"])
def test_the_estimator_is_left_alone(method, cancer):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(30))
    before = model.get_params()
    crossfit(model, cancer.X, cancer.s, method=method)
    assert model.get_params() == before
    assert not hasattr(model[0], "mean_")
    assert not hasattr(model[1], "classes_")


def test_the_truth_has_no_way_in(cancer, seen):
    """Models get s and nothing else: another truth under the same s would change nothing."""
    X = np.column_stack([np.arange(len(cancer.s)), cancer.X])
    crossfit(Spy(), X, cancer.s)
    for fit in seen:
        np.testing.assert_array_equal(fit.labels, cancer.s[fit.train.astype(int)])


def test_out_of_bag_scores_of_a_forest(cancer):
    found = crossfit(RandomForestClassifier(50), cancer.X, cancer.s, method="oob")
    assert found.fold.tolist() == [[-1] * len(cancer.s)]
    assert found.method == "oob"
    model = RandomForestClassifier(50, oob_score=True, random_state=3)
    expected = model.fit(cancer.X, cancer.s).oob_decision_function_[:, 1]
    kept = crossfit(RandomForestClassifier(50, random_state=3), cancer.X, cancer.s, method="oob")
    np.testing.assert_array_equal(kept.scores, expected)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, random_state=0),
        ExtraTreesClassifier(3, bootstrap=True, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, random_state=0),
        make_pipeline(StandardScaler(), BaggedNetworks(n_members=3, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_in_every_bag_get_the_mean_score(model, cancer):
    scores = crossfit(model, cancer.X, cancer.s, method="oob").scores
    mean = scores.mean()
    filled = np.isclose(scores, mean, rtol=1e-12)
    assert filled.mean() == pytest.approx((1 - np.exp(-1)) ** 3, abs=0.06)
    assert scores[~filled].mean() == pytest.approx(mean)


def test_repeats_of_out_of_bag_scores_differ_and_are_averaged(cancer):
    model = RandomForestClassifier(20, random_state=0)
    once = crossfit(model, cancer.X, cancer.s, method="oob")
    thrice = crossfit(model, cancer.X, cancer.s, method="oob", repeats=3)
    assert thrice.fold.shape == (3, len(cancer.s))
    assert not np.array_equal(once.scores, thrice.scores)
    assert np.corrcoef(once.scores, thrice.scores)[0, 1] > 0.8
    with parallel_config("threading"):
        again = crossfit(model, cancer.X, cancer.s, method="oob", repeats=3, n_jobs=2)
    np.testing.assert_array_equal(again.scores, thrice.scores)


def test_out_of_bag_scores_of_networks(cancer):
    model = BaggedNetworks(n_members=10, random_state=0)
    found = crossfit(model, cancer.X, cancer.s, method="oob")
    np.testing.assert_array_equal(found.scores, model.fit(cancer.X, cancer.s).oob_scores_)


def test_copies_in_bags_are_warned_of(cancer):
    labeled = np.flatnonzero(cancer.s)[:10]
    X, s = np.vstack([cancer.X, cancer.X[labeled]]), np.append(cancer.s, np.zeros(10, int))
    with pytest.warns(RecoupWarning, match="20 rows share their values.*RandomForestClassifier"):
        crossfit(RandomForestClassifier(20), X, s, method="oob")
    crossfit(BaggedNetworks(n_members=2, max_epochs=2), X, s, method="oob")
    X[-10:] = X[-11]
    s[-11:] = 0
    crossfit(RandomForestClassifier(20), X, s, method="oob")  # copies, but none with a label


def test_auc_pu_is_the_metric(cancer):
    for model in (GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)):  # with ties
        found = crossfit(model, cancer.X, cancer.s)
        assert found.auc_pu == pytest.approx(auc_pu(found.table()), rel=1e-12)
        assert found.auc_pu == pytest.approx(roc_auc_score(cancer.s, found.scores), rel=1e-12)


def test_the_result_can_be_taken_away(cancer):
    found = crossfit(GaussianNB(), cancer.X, cancer.s, repeats=2)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["s", "score", "fold_0", "fold_1"]
    np.testing.assert_array_equal(frame["score"], found.scores)
    plain = found.to_dict()
    assert plain["repeats"] == 2
    assert plain["fold"] == found.fold.tolist()
    assert type(plain["scores"][0]) is float
    text = repr(found)
    n = f"{cancer.s.sum()}+{(cancer.s == 0).sum()}"
    assert text == (
        f"CrossfitScores(auc_pu={found.auc_pu:.3f}, estimator='GaussianNB', "
        f"method='predict_proba', repeats=2, n={n})"
    )
    assert "<td>unlabeled</td>" in found._repr_html_()
    back = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(back.scores, found.scores)
    with pytest.raises(AttributeError):
        found.scores = None


def test_pipelines_are_named_by_their_steps(cancer):
    model = make_pipeline(StandardScaler(), "passthrough", GaussianNB())
    name = crossfit(model, cancer.X, cancer.s).estimator_name
    assert name == "StandardScaler + passthrough + GaussianNB"


@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        sparse.coo_array,
        sparse.csr_matrix,
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=[f"x{i}" for i in range(X.shape[1])]),
    ],
)
def test_it_takes_what_the_classifier_takes(convert, cancer):
    model = MultinomialNB()
    expected = crossfit(model, cancer.X, cancer.s, cv=3)
    found = crossfit(model, convert(cancer.X), pd.Series(cancer.s), cv=3)
    np.testing.assert_array_equal(found.fold, expected.fold)
    np.testing.assert_allclose(found.scores, expected.scores)


def test_text_goes_through_a_pipeline(cancer):
    texts = [f"{'good' if y else 'bad'} number{row}" for row, y in enumerate(cancer.y)]
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    found = crossfit(model, texts, cancer.s.astype(bool))
    assert roc_auc_score(cancer.y, found.scores) > 0.99


class Slow(DummyClassifier):
    def fit(self, X, y):
        time.sleep(0.1)
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("terminal", "progress", "silence", "shown"),
    [
        (True, None, 0.05, True),
        (True, None, 30.0, False),
        (True, False, 0.0, False),
        (False, None, 0.0, False),
        (False, True, 30.0, True),
        (True, True, 30.0, True),
    ],
)
def test_progress(terminal, progress, silence, shown, cancer, monkeypatch, capsys):
    monkeypatch.setattr(_progress, "SECONDS_OF_SILENCE", silence)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    crossfit(Slow(), cancer.X, cancer.s, cv=2, progress=progress)
    out, err = capsys.readouterr()
    assert not out
    assert ("Scoring rows with Slow" in err) == shown


def test_no_second_bar_where_progress_is_shown(cancer, capsys, monkeypatch):
    monkeypatch.setattr(_progress, "SECONDS_OF_SILENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = _progress.PROGRESS_SHOWN.set(True)
    try:
        crossfit(Slow(), cancer.X, cancer.s, cv=2)
        assert capsys.readouterr().err == ""
        crossfit(Slow(), cancer.X, cancer.s, cv=2, progress=True)
        assert "Scoring rows with Slow" in capsys.readouterr().err
    finally:
        _progress.PROGRESS_SHOWN.reset(shown)


def test_a_failure_stops_the_bar(cancer, capsys):
    class Broken(GaussianNB):
        def fit(self, X, y):
            raise RuntimeError("out of order")

    with pytest.raises(RuntimeError, match="out of order"):
        crossfit(Broken(), cancer.X, cancer.s, progress=True)
    crossfit(GaussianNB(), cancer.X, cancer.s, progress=True)  # a second bar would not start


class Endless(GaussianNB):
    def predict_proba(self, X):
        return np.full((len(X), 2), np.nan)


class ThreeColumns(GaussianNB):
    def predict_proba(self, X):
        return np.zeros((len(X), 3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"repeats": 0}, "repeats.*Got 0"),
        ({"repeats": 1.5}, "whole number"),
        ({"method": "proba"}, "'auto', 'predict_proba'.*Got proba"),
        ({"method": "oob", "groups": np.arange(569)}, "groups with method='oob'"),
        ({"method": "oob"}, "out-of-bag scores.*Got GaussianNB"),
        ({"method": "decision_function"}, "with decision_function. Got GaussianNB"),
        ({"estimator": LinearSVC(), "method": "predict_proba"}, "with predict_proba"),
        ({"estimator": NearestNeighbors()}, "predict_proba or decision_function"),
        ({"estimator": "forest"}, "fit and get_params.*Got forest"),
        ({"estimator": Endless()}, "finite scores.*Got nan from Endless"),
        ({"estimator": ThreeColumns()}, "two columns.*from ThreeColumns"),
        ({"cv": 1}, "n_splits"),
        ({"cv": KFold(3), "repeats": 2}, "repeats=2 with cv=KFold"),
        ({"cv": ShuffleSplit(2)}, "test every row once"),
        ({"cv": [(np.arange(569) % 2, np.arange(569))]}, "labeled and unlabeled rows"),
    ],
)
def test_what_cannot_work_is_explained(settings, message, cancer):
    settings = {"estimator": GaussianNB(), "X": cancer.X, "s": np.sort(cancer.s)} | settings
    with pytest.raises(InvalidInputError, match=message):
        crossfit(**settings)


@pytest.mark.parametrize(
    ("X", "s", "message"),
    [
        (np.zeros((4, 1)), [1, 1, 1, 1], "4 labeled and 0 unlabeled"),
        (np.zeros((4, 1)), [1, 0, 2, 0], "Got 2 in 1 of 4 rows"),
        (np.zeros((5, 1)), [1, 0, 1, 0], "crossfit needs X and s.*5 and 4"),
        (np.zeros((4, 1)), None, "one value per row"),
        (np.zeros((4, 1)), [1, 0, 1, 0], "Use fewer folds"),
    ],
)
def test_rows_that_cannot_work_are_explained(X, s, message):
    with pytest.raises(InvalidInputError, match=message):
        crossfit(GaussianNB(), X, s)


def test_halves_score_rows_that_they_have_not_seen(cancer):
    plain = crossfit(GaussianNB(), cancer.X, cancer.s)
    found = crossfit(GaussianNB(), cancer.X, cancer.s, halves=True)
    assert plain.half_scores is None
    np.testing.assert_array_equal(found.scores, plain.scores)
    assert found.half_scores.shape == (2, len(cancer.s))
    assert (found.half_scores[0] != found.half_scores[1]).mean() > 0.9
    assert found.to_dict()["half_scores"] == found.half_scores.tolist()
    for half in found.half_scores:
        # Nearly as good as the models that were fitted on both halves.
        assert roc_auc_score(cancer.s, half) == pytest.approx(found.auc_pu, abs=0.05)


def test_halves_are_of_the_first_repeat_and_keep_groups_together(cancer):
    groups = np.arange(len(cancer.s)) // 2
    fitted = []

    class Watched(GaussianNB):
        def fit(self, X, y):
            fitted.append({tuple(row) for row in X})
            return super().fit(X, y)

    crossfit(Watched(), cancer.X, cancer.s, cv=3, repeats=2, groups=groups, halves=True)
    assert len(fitted) == 6 + 6
    rows = [tuple(row) for row in cancer.X]
    for one, other, whole in zip(fitted[6::2], fitted[7::2], fitted[:3], strict=True):
        assert one | other == whole
        assert not one & other
        group = [{g for g, row in zip(groups, rows, strict=True) if row in h} for h in (one, other)]
        assert not group[0] & group[1]


def test_bags_have_no_halves(cancer):
    with pytest.raises(InvalidInputError, match="halves=True with method='oob'"):
        crossfit(RandomForestClassifier(5), cancer.X, cancer.s, method="oob", halves=True)
