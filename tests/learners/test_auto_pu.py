import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners import PUET, AutoPU, auto_pu
from recoup.learners._auto import candidates as _candidates
from recoup.learners._auto.calibration import chance_curve
from recoup.learners._auto.candidates import rows_within
from recoup.learners._auto.combining import placements_of, rank_curve, weights_from
from recoup.learners._auto.report import recovered_area
from recoup.learners.cut import HonestScores

QUICK = ("logistic", "puet")


def rows(n=300, pi=0.4, label_frequency=0.4, seed=0, d=4):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < pi).astype(int)
    X = rng.normal(size=(n, d)) + np.outer(y, [1.5, 1.0] + [0] * (d - 2))
    s = y * (rng.random(n) < label_frequency)
    return X, s, y


def quick(**settings):
    return AutoPU(
        **({"alpha": 0.3, "candidates": QUICK, "n_folds": 3, "random_state": 0} | settings)
    )


@pytest.fixture(scope="module")
def fitted():
    X, s, y = rows()
    return quick(alpha=float(y[s == 0].mean())).fit(X, s)


class TestWeights:
    def test_are_the_shares_where_areas_are_equal(self):
        areas, shares = np.array([0.8, 0.8]), np.array([1.0, 0.25])
        assert weights_from(areas, 0.01 * np.eye(2), shares) == pytest.approx([0.8, 0.2])

    def test_shrink_to_the_shares_where_labels_say_little(self):
        areas = np.array([0.80, 0.78, 0.70])
        sure = weights_from(areas, 1e-4 * np.eye(3), np.ones(3))
        unsure = weights_from(areas, 1.0 * np.eye(3), np.ones(3))
        assert unsure == pytest.approx([1 / 3] * 3, abs=0.01)
        assert sure[0] > sure[1] > 0.2
        assert sure[2] == 0

    def test_a_gap_counts_by_its_own_error_and_not_by_that_of_the_areas(self):
        alike = 1e-2 * np.array([[1, 0.9999], [0.9999, 1]])
        assert weights_from(np.array([0.80, 0.70]), alike, np.ones(2))[1] == 0

    def test_areas_and_their_covariance(self):
        rng = np.random.default_rng(0)
        labeled = np.repeat([True, False], [40, 60])
        scores = rng.normal(size=(2, 100)) + labeled
        found = placements_of(labeled, np.vstack([scores, scores[0]]))
        assert found.areas[0] == pytest.approx(roc_auc_score(labeled, scores[0]))
        assert found.covariance[0, 2] == pytest.approx(found.covariance[0, 0])
        assert 0 < found.covariance[0, 0] < 0.01


def test_models_that_would_call_nothing_are_cut_by_their_own_scores(monkeypatch):
    """As with three labels: scores by models of fewer labels are on a scale of their own."""
    X, s, y = rows(n=400, pi=0.1, label_frequency=0.3, seed=2)
    settings = {"alpha": float(y[s == 0].mean()), "guard": "off"}
    assert 5 < s.sum() < auto_pu.FEW_LABELS
    plain = quick(**settings).fit(X, s)
    assert plain.cut_ == pytest.approx(plain.threshold_)
    kept = AutoPU._own_honest_scores
    monkeypatch.setattr(
        AutoPU,
        "_own_honest_scores",
        lambda self, s: HonestScores(s, kept(self, s).scores + 1, "cross-fitted"),
    )
    moved = quick(**settings).fit(X, s)
    # The combined scores are ranks: none is above one.
    assert moved.threshold_ < 1
    assert moved.predict(X).mean() == pytest.approx(moved.report_.pi, abs=0.01)
    monkeypatch.setattr(auto_pu, "FEW_LABELS", 5)
    assert quick(**settings).fit(X, s).predict(X).sum() == 0


class TestRanks:
    def test_of_training_rows_are_their_ranks(self):
        scores = np.array([5.0, 1.0, 1.0, 9.0])
        assert rank_curve(scores)(scores) == pytest.approx([0.625, 0.25, 0.25, 0.875])

    def test_rise_between_and_beyond_training_rows(self):
        curve = rank_curve(np.random.default_rng(0).normal(size=9000))
        ranks = curve(np.linspace(-20, 20, 2001))
        assert len(curve.scores) == 2000
        assert (np.diff(ranks) > 0).all()
        assert 0 < ranks[0] < ranks[-1] < 1

    def test_of_a_constant_score(self):
        assert rank_curve(np.ones(4))(np.array([0.0, 1.0, 2.0])) == pytest.approx([0, 0.5, 1])


class TestCalibration:
    @pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
    def test_chances_are_those_of_positives(self, scheme):
        rng = np.random.default_rng(0)
        n = 20_000
        scores = rng.random(n)
        y = rng.random(n) < scores**2
        s = (y & (rng.random(n) < 0.3)).astype(int)
        if scheme == "case-control":
            more = scores[y][:3000]
            scores, s = np.append(scores, more), np.append(np.zeros(n, int), np.ones(3000, int))
        alpha = float(y[s[:n] == 0].mean())
        curve = chance_curve(HonestScores(s, scores, "cross-fitted"), alpha, scheme)
        grid = np.linspace(0.1, 0.9, 9)
        assert curve(grid) == pytest.approx(grid**2, abs=0.08)
        assert (np.diff(curve(np.linspace(0, 1, 999))) > 0).all()


class TestAutoPU:
    def test_calls_as_many_rows_positive_as_there_are(self, fitted):
        X, _, y = rows()
        assert np.mean(fitted.oof_scores_ > fitted.threshold_) == pytest.approx(y.mean(), abs=2e-3)
        assert fitted.report_.called == pytest.approx(y.mean(), abs=2e-3)
        assert np.mean(fitted.predict(X) == y) > 0.8

    def test_case_control_calls_the_share_of_unlabeled_rows(self):
        X, s, _ = rows()
        model = quick(scheme="case-control", alpha=0.25).fit(X, s)
        called = model.oof_scores_ > model.threshold_
        assert np.mean(called[s == 0]) == pytest.approx(0.25, abs=0.01)

    def test_scores_are_weighted_means_of_ranks(self, fitted):
        X, _, _ = rows(seed=1)
        by_hand = sum(
            fitted.weights_[one.key] * curve(one.scores(X))
            for one, curve in zip(fitted.models_, fitted.rank_curves_, strict=True)
        )
        assert fitted.decision_function(X) == pytest.approx(by_hand - fitted.threshold_)
        assert sum(fitted.weights_.values()) == pytest.approx(1)

    def test_scores_of_training_rows_come_from_other_folds(self):
        X, s, _ = rows(n=200, d=60)
        model = quick(candidates=["extra-trees"]).fit(X, s)
        own = model.decision_function(X)
        gap = roc_auc_score(s, own) - roc_auc_score(s, model.oof_scores_)
        assert gap > 0.1

    def test_probabilities_rank_as_scores_do(self, fitted):
        X, _, y = rows(n=2000, seed=1)
        chances = fitted.predict_proba(X)[:, 1]
        order = np.argsort(fitted.decision_function(X))
        assert (np.diff(chances[order]) >= 0).all()
        assert chances.mean() == pytest.approx(y.mean(), abs=0.06)
        assert np.mean((chances - y) ** 2) < 0.16

    def test_a_learner_that_ranks_clearly_worse_is_left_out(self, monkeypatch):
        class Guess:
            def fit(self, X, s):
                return self

            def decision_function(self, X):
                return np.random.default_rng(0).random(len(X))

        guess = _candidates.Candidate("guess", lambda settings: Guess())
        monkeypatch.setitem(_candidates.KNOWN, "guess", guess)
        X, s, _ = rows()
        model = quick(candidates=("logistic", "guess")).fit(X, s)
        assert model.weights_ == {"logistic": 1.0, "guess": 0.0}
        assert [one.key for one in model.models_] == ["logistic"]
        assert "guess" in repr(model.report_)
        assert "left out" in repr(model.report_)

    def test_a_stopped_fit_goes_on_with_the_same_digits(self, tmp_path, monkeypatch):
        X, s, _ = rows()
        whole = quick().fit(X, s)
        fits, stopped, timed = [], [], auto_pu._timed_fit

        def stops(*arguments):
            fits.append(arguments[0].key)
            if len(fits) == 4 and not stopped:
                stopped.append(True)
                raise RuntimeError("stopped")
            return timed(*arguments)

        monkeypatch.setattr(auto_pu, "_timed_fit", stops)
        with pytest.raises(RuntimeError, match="stopped"):
            quick(checkpoint=tmp_path).fit(X, s)
        again = quick(checkpoint=str(tmp_path)).fit(X, s)
        # Six in the folds, of which three were kept, and those on all rows.
        assert len(fits) == 4 + 3 + len(again.models_)
        assert np.array_equal(again.oof_scores_, whole.oof_scores_)
        assert np.array_equal(again.decision_function(X), whole.decision_function(X))

        fits.clear()
        other = quick(checkpoint=tmp_path).fit(X + 1, s)
        assert len(fits) == 6 + len(other.models_)

    def test_broken_files_of_a_checkpoint_are_made_anew(self, tmp_path):
        X, s, _ = rows()
        whole = quick(checkpoint=tmp_path).fit(X, s)
        for file in tmp_path.glob("*/puet-*.npz"):
            file.write_bytes(file.read_bytes()[:50])
        again = quick(checkpoint=tmp_path).fit(X, s)
        assert np.array_equal(again.oof_scores_, whole.oof_scores_)

    def test_saved_and_loaded_it_says_the_same(self, tmp_path):
        X, s, _ = rows(n=120)
        model = AutoPU(alpha=0.3, n_folds=2, random_state=0).fit(X, s)
        assert set(model.weights_) == set(_candidates.DEFAULT)
        loaded = learners.load(learners.save(model, tmp_path / "model"))
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        assert np.array_equal(loaded.oof_scores_, model.oof_scores_)
        assert loaded.report_ == model.report_

    def test_runs_where_numba_and_torch_are_missing(self, fitted, monkeypatch):
        monkeypatch.setitem(sys.modules, "numba", None)
        monkeypatch.setitem(sys.modules, "torch", None)
        X, s, y = rows()
        model = quick(alpha=float(y[s == 0].mean())).fit(X, s)
        assert np.array_equal(model.decision_function(X), fitted.decision_function(X))

    def test_rows_may_have_gaps(self):
        X, s, y = rows(n=600)
        gone = np.random.default_rng(1).random(len(X)) < 0.3
        X[gone, 0] = np.nan
        model = quick().fit(X, s)
        assert model.gaps_.tolist() == [0]
        assert model.n_features_in_ == 4
        assert roc_auc_score(y, model.decision_function(X)) > 0.8

    def test_tables_with_words_and_dates_are_encoded(self, tmp_path):
        rng = np.random.default_rng(0)
        X, s, y = rows(n=400)
        frame = pd.DataFrame(X[:, 1:], columns=["a", "b", "c"]).assign(
            name=[f"row {number}" for number in range(len(X))],
            kind=np.where(rng.random(len(X)) < 0.2 + 0.6 * y, "here", "there"),
            day=pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(300, size=len(X)), "D"),
        )
        model = quick().fit(frame, s)
        assert model.n_features_in_ == 6
        assert list(model.feature_names_in_) == list(frame.columns)
        scores = model.decision_function(frame)
        assert roc_auc_score(y, scores) > 0.8
        assert np.array_equal(model.decision_function(frame.iloc[::2]), scores[::2])
        loaded = learners.load(learners.save(model, tmp_path / "model"))
        assert np.array_equal(loaded.decision_function(frame), scores)
        # Rows of numbers alone are not encoded.
        assert quick().fit(frame[["a", "b"]], s).encoding_ is None

    def test_known_negatives_teach_and_do_not_move_the_cut(self):
        X, s, y = rows(n=400)
        known = np.flatnonzero(y == 0)[:80]
        marked = s.copy()
        marked[known] = -1
        settings = {"candidates": ["logistic", "puet", "bagging-pu"], "n_folds": 2}
        model = quick(**settings).fit(X, marked)
        assert np.isfinite(model.oof_scores_).all()
        assert model.report_.n_unlabeled == (marked == 0).sum()
        others = marked >= 0
        pi = (0.3 * (marked == 0).sum() + (marked == 1).sum()) / others.sum()
        called = model.oof_scores_[others] > model.threshold_
        assert np.mean(called) == pytest.approx(pi, abs=0.01)
        # Rows like them are put lower than without them.
        plain = quick(**settings).fit(X[others], s[others])
        below = [np.mean(one.predict_proba(X[known])[:, 1]) for one in (model, plain)]
        assert below[0] < below[1]

    def test_threshold_is_the_border_of_training_scores_too(self):
        X, s, _ = rows()
        number, f1 = (quick(threshold=rule).fit(X, s) for rule in (0.9, "f1"))
        assert number.threshold_ == number.cut_ == 0.9
        called = number.decision_function(X) > 0
        assert np.array_equal(called, f1.decision_function(X) + f1.threshold_ > 0.9)
        assert f1.report_.called == np.mean(f1.oof_scores_ > f1.threshold_)

    def test_few_labels_take_fewer_folds(self):
        X, s, _ = rows()
        s[np.flatnonzero(s)[3:]] = 0
        assert quick(n_folds=5).fit(X, s).report_.n_folds == 3

    def test_report_pays_for_the_choice(self, fitted):
        report = fitted.report_
        frame = report.to_frame()
        assert list(frame["candidate"]) == [*(one.key for one in report.candidates), "combination"]
        assert report.auc_low < report.auc < report.auc_high
        assert report.optimism >= 0
        assert "held-out AUC" in report.summary()
        assert report.to_dict()["candidates"][0]["key"] == report.candidates[0].key

    def test_recovered_area_is_the_true_one_without_noise(self):
        # P(labeled above unlabeled) mixes P(above a negative) with one half.
        assert recovered_area(0.3 * 0.5 + 0.7 * 0.9, 0.3) == pytest.approx(0.9)

    @pytest.mark.parametrize("candidates", [(), "nonsense", ["auto", "oracle"], ["auto-pu"]])
    def test_refuses_what_it_cannot_try(self, candidates):
        X, s, _ = rows()
        with pytest.raises(InvalidInputError, match="candidate"):
            quick(candidates=candidates).fit(X, s)


def test_limits_keep_labeled_rows_and_the_share_of_positives():
    s = np.repeat([1, 0], [300, 9700])
    some = rows_within(s, 1000, np.random.default_rng(0))
    assert len(some) == 1000
    assert s[some].sum() == 300
    # Of labels without end, half of the rows.
    many = rows_within(np.repeat([1, 0], [5000, 5000]), 1000, np.random.default_rng(0))
    assert (many < 5000).sum() == 500


def test_trees_of_numpy_learn_what_those_of_numba_do():
    X, s, y = rows(n=1500, seed=2)
    alpha = float(y[s == 0].mean())
    new, _, true = rows(n=1500, seed=3)
    settings = {"n_estimators": 30, "random_state": 0}
    one, other = (PUET(alpha, engine=engine, **settings).fit(X, s) for engine in ("numba", "numpy"))
    areas = [roc_auc_score(true, model.decision_function(new)) for model in (one, other)]
    assert areas[0] == pytest.approx(areas[1], abs=0.015)
    # What all splits gain is the risk of the root, as no leaf of the nnPU risk is mixed.
    gained = other.feature_importances_.sum()
    assert gained == pytest.approx(one.feature_importances_.sum(), rel=1e-6)
    # The same trees are asked alike by either engine.
    swapped = PUET(alpha, engine="numba").fit(X, s)
    for name in (
        "cut_",
        "tree_roots_",
        *(f"node_{part}_" for part in ("features", "thresholds", "rights", "shares", "votes")),
    ):
        setattr(swapped, name, getattr(other, name))
    assert np.array_equal(swapped.decision_function(new), other.decision_function(new))
