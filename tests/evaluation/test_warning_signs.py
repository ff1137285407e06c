"""Scores that know the labels or run the wrong way, on real tables."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from recoup import data, evaluate, simulate
from recoup._core.prior import Prior
from recoup.evaluation.warning_signs import warning_signs
from recoup.metrics.rates import Mixture
from recoup.report.page.light import light_reasons
from recoup.scores import ScoreTable, crossfit

TABLES = ("concrete", "page_blocks", "spambase", "thyroid_ann")
BOOSTED = HistGradientBoostingClassifier(max_iter=60, random_state=0)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def signs(s, scores, alpha, scheme="single-sample", estimate=None, beta=1.0):
    table = ScoreTable.from_arrays(s, scores)
    prior = Prior(alpha, beta, estimate=estimate)
    return {
        note.code: note
        for note in warning_signs(table, Mixture.of(table, alpha, beta, scheme), prior)
    }


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("label_frequency", [0.1, 0.5])
def test_scores_of_training_rows_are_found_out(name, label_frequency):
    rows = data.load(name)
    pu = simulate(rows.X, rows.y_true, label_frequency=label_frequency)
    scores = BOOSTED.fit(pu.X, pu.s).predict_proba(pu.X)[:, 1]
    known = signs(pu.s, scores, pu.truth.alpha)["leak"]
    assert "out of fold" in known
    assert "calls for" in known
    for alpha, estimate in ((0.0, None), (0.02, object())):
        assert "hardly any are hidden" in signs(pu.s, scores, alpha, estimate=estimate)["leak"]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_honest_scores_are_left_alone(name, scheme):
    rows = data.load(name)
    for label_frequency in (0.1, 0.5):
        pu = simulate(rows.X, rows.y_true, label_frequency=label_frequency, scheme=scheme)
        for model in (BOOSTED, LOGISTIC):
            scores = crossfit(model, pu.X, pu.s).scores
            for alpha, estimate in ((pu.truth.alpha, None), (0.0, None), (0.02, object())):
                assert not signs(pu.s, scores, alpha, scheme, estimate)


@pytest.mark.parametrize("name", ["spambase", "thyroid_ann"])
def test_a_column_that_copies_the_label_is_found_out(name):
    rows = data.load(name)
    pu = simulate(rows.X, rows.y_true, label_frequency=0.3)
    rng = np.random.default_rng(0)
    copied = np.where(rng.random(len(pu.s)) < 0.02, 1 - pu.s, pu.s)
    scores = crossfit(BOOSTED, np.column_stack([pu.X, copied]), pu.s).scores
    for alpha in (pu.truth.alpha, 0.0):
        assert "leak" in signs(pu.s, scores, alpha)


def test_few_hidden_positives_are_no_leak_where_alpha_says_so():
    rows = data.load("thyroid_ann")
    pu = simulate(rows.X, rows.y_true, label_frequency=0.95)
    forest = RandomForestClassifier(40, min_samples_leaf=5, random_state=0)
    scores = crossfit(forest, pu.X, pu.s).scores
    assert not signs(pu.s, scores, pu.truth.alpha)


def test_labels_that_name_the_wrong_rows_are_told():
    rows = data.load("spambase")
    pu = simulate(rows.X, rows.y_true, label_frequency=0.3)
    scores = crossfit(LOGISTIC, pu.X, pu.s).scores
    for upside_down in (-scores, 1 - scores):
        note = signs(pu.s, upside_down, pu.truth.alpha)["inverted"]
        assert "-scores" in note
    shuffled = np.random.default_rng(0)
    for _ in range(200):
        assert "inverted" not in signs(pu.s, shuffled.permutation(scores), 0.1)


def test_weights_count_as_the_rows_they_stand_for():
    rng = np.random.default_rng(0)
    s, scores = np.repeat([1, 0], [12, 600]), np.append(rng.uniform(2, 3, 12), rng.random(600))
    mixture = Mixture(0.0, 1.0, 0.02, "single-sample")
    weighted = ScoreTable.from_arrays(s, scores, sample_weight=np.full(612, 0.01))
    found = [
        [note.code for note in warning_signs(table, mixture, Prior(0.0, 1.0))]
        for table in (weighted, ScoreTable.from_arrays(s, scores))
    ]
    assert found[0] == found[1]


def test_evaluations_and_their_light_tell():
    rows = data.load("concrete")
    pu = simulate(rows.X, rows.y_true, label_frequency=0.3)
    scores = BOOSTED.fit(pu.X, pu.s).predict_proba(pu.X)[:, 1]
    found = evaluate(pu.s, scores, alpha=0.0, n_boot=0, threshold=0.5)
    assert "leak" in {note.code for note in found.notes}
    reason = next(one for one in light_reasons(found) if one["code"] == "scores")
    assert reason["level"] == "amber"
    inverted = evaluate(pu.s, -scores, alpha=0.0, n_boot=0)
    reason = next(one for one in light_reasons(inverted) if one["code"] == "scores")
    assert reason["level"] == "red"


def test_propensities_hide_leaks_but_not_turned_rankings():
    rng = np.random.default_rng(0)
    s = (rng.random(2000) < 0.2).astype(int)
    scores = rng.random(2000) - 0.2 * s
    found = evaluate(s, scores, propensity=np.full(2000, 0.5), n_boot=0)
    codes = {note.code for note in found.notes}
    assert "inverted" in codes
    assert "leak" not in codes
