"""The threshold of scores that come without one, on real tables and against simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from recoup import compare, data, evaluate, simulate
from recoup.metrics.default_cut import chance_of_label, default_cut
from recoup.metrics.rates import Mixture
from recoup.scores import ScoreTable, crossfit

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
TABLES = ("concrete", "page_blocks", "spambase", "thyroid_ann")


def labeled_rows(name, label_frequency=0.3, scheme="single-sample", beta=1.0):
    rows = data.load(name)
    return simulate(rows.X, rows.y_true, label_frequency=label_frequency, scheme=scheme, beta=beta)


def cut_of(s, scores, y_true, scheme="single-sample"):
    table = ScoreTable.from_arrays(s, scores)
    beta = y_true[s == 1].mean()
    return default_cut(table, Mixture.of(table, y_true[s == 0].mean(), beta, scheme))


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
@pytest.mark.parametrize("beta", [1.0, 0.8])
def test_the_cut_is_where_a_row_is_as_likely_positive_as_not(scheme, beta):
    """Simulated from known densities, among rows whose chance of a label is near the cut."""
    rng = np.random.default_rng(0)
    n = 2_000_000
    y = rng.random(n) < 0.3
    x = rng.normal(2.0 * y)
    if scheme == "single-sample":
        s = np.where(y, rng.random(n) < 0.3, rng.random(n) < 0.3 * 0.3 / 0.7 * (1 - beta) / beta)
        judged = np.ones(n, bool)
    else:
        s = rng.random(n) < 0.2
        y = np.where(s, rng.random(n) < beta, y)
        x = rng.normal(2.0 * y)
        judged = ~s
    alpha, share = y[~s].mean(), s.mean()
    beta = y[s].mean()
    positive, negative = np.exp(-((x - 2) ** 2) / 2), np.exp(-(x**2) / 2)
    labeled = share * (beta * positive + (1 - beta) * negative)
    scores = labeled / (labeled + (1 - share) * (alpha * positive + (1 - alpha) * negative))
    table = ScoreTable.from_arrays(s.astype(int), np.round(scores, 4))
    cut = float(chance_of_label(np.array(0.5), table, Mixture.of(table, alpha, beta, scheme)))
    near = judged & (np.abs(scores - cut) < 0.01)
    assert y[near].mean() == pytest.approx(0.5, abs=0.02)
    found, note = default_cut(table, Mixture.of(table, alpha, beta, scheme))
    assert found == pytest.approx(cut)
    assert note.code == "labeled-probability"


def test_clean_labels_are_cut_at_half_their_frequency():
    table = ScoreTable.from_arrays([1] * 10 + [0] * 90, np.linspace(1, 0, 100))
    mixture = Mixture.of(table, 0.2, 1.0, "single-sample")
    frequency = 0.1 / mixture.pi
    assert chance_of_label(np.array(0.5), table, mixture) == pytest.approx(frequency / 2)
    known = Mixture.of(table, 0.2, 1.0, "case-control")
    odds = 0.5 * 0.1 / (0.9 * 0.2)
    assert chance_of_label(np.array(0.5), table, known) == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_chances_of_a_label_are_found_out_and_cut_lower(name, scheme):
    rows = labeled_rows(name, scheme=scheme)
    s, y_true = rows.s, rows.y_true
    scores = crossfit(LOGISTIC, rows.X, s).scores
    cut, note = cut_of(s, scores, y_true, scheme)
    assert note.code == "labeled-probability"
    assert cut < 0.3
    judged = slice(None) if scheme == "single-sample" else s == 0
    old, new = (f1_score(y_true[judged], scores[judged] >= at) for at in (0.5, cut))
    assert new > old + 0.2


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_chances_of_being_positive_stay_cut_at_one_half(name, scheme):
    rows = labeled_rows(name, scheme=scheme)
    honest = crossfit(LOGISTIC, rows.X, rows.y_true).scores
    assert cut_of(rows.s, honest, rows.y_true, scheme) == (0.5, None)
    if scheme == "single-sample":
        divided = np.minimum(crossfit(LOGISTIC, rows.X, rows.s).scores / 0.3, 1.0)
        assert cut_of(rows.s, divided, rows.y_true) == (0.5, None)


def test_balanced_weights_stay_cut_at_one_half():
    rows = labeled_rows("spambase", 0.1)
    balanced = make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced"))
    scores = crossfit(balanced, rows.X, rows.s).scores
    assert cut_of(rows.s, scores, rows.y_true) == (0.5, None)


def test_what_leaves_nothing_to_choose_stays_at_one_half():
    table = ScoreTable.from_arrays([1] * 50 + [0] * 200, np.full(250, 0.2))
    assert default_cut(table, Mixture.of(table, 0.5, 1.0, "single-sample")) == (0.5, None)
    rng = np.random.default_rng(0)
    s = (rng.random(4000) < 0.1).astype(int)
    predictions = ScoreTable.from_arrays(s, (rng.random(4000) < 0.1).astype(float))
    assert default_cut(predictions, Mixture.of(predictions, 0.5, 1.0, "single-sample"))[0] == 0.5
    spread = ScoreTable.from_arrays(s, rng.random(4000) / 5)
    for alpha, scheme in ((0.0, "single-sample"), (0.0, "case-control")):
        assert default_cut(spread, Mixture.of(spread, alpha, 1.0, scheme)) == (0.5, None)
    assert default_cut(spread, None) == (0.5, None)
    beyond = ScoreTable.from_arrays(s, rng.normal(size=4000))
    assert default_cut(beyond, Mixture.of(beyond, 0.3, 1.0, "single-sample")) == (None, None)


def test_scores_that_do_not_reach_the_cut_leave_the_choice_open():
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.008, 0.012, size=20_000)
    s = (rng.random(20_000) < scores).astype(int)
    table = ScoreTable.from_arrays(s, scores)
    cut, note = default_cut(table, Mixture.of(table, 0.1, 1.0, "single-sample"))
    assert cut is None
    assert "no score reaches" in note
    found = evaluate(s, scores, alpha=0.1, n_boot=0)
    assert 0.008 <= found.threshold <= 0.012
    assert {"labeled-probability", "chosen-threshold"} <= {one.code for one in found.notes}


def test_a_thinned_table_is_cut_at_the_edge_of_a_bin():
    rng = np.random.default_rng(2)
    chance = rng.beta(0.3, 0.7, size=60_000)
    s = (rng.random(60_000) < 0.2 * chance).astype(int)
    alpha = np.mean(0.8 * chance) / np.mean(1 - 0.2 * chance)
    full = ScoreTable.from_arrays(s, 0.2 * chance)
    thin = full.thin(64)
    cut, _ = default_cut(thin, Mixture.of(thin, alpha, 1.0, "single-sample"))
    assert cut in thin.scores
    assert full.unlabeled[full.scores >= cut].sum() == thin.unlabeled[thin.scores >= cut].sum()


def test_evaluate_uses_it_unless_told_otherwise_and_compare_does_not_need_it():
    rows = labeled_rows("spambase")
    alpha = rows.truth.alpha
    scores = crossfit(LOGISTIC, rows.X, rows.s).scores
    found = evaluate(rows.s, scores, alpha=alpha, n_boot=0)
    assert found.threshold == pytest.approx(0.15, abs=0.01)
    assert found["recall"].recovered > 0.7
    kept = evaluate(rows.s, scores, alpha=alpha, n_boot=0, threshold=0.5)
    assert kept["recall"].recovered < 0.1
    assert "labeled-probability" not in {note.code for note in kept.notes}
    both = compare(rows.s, {"a": scores, "b": scores / 0.3 / 2}, alpha=alpha, n_boot=0)
    flagged = [one.at(one.threshold).queue for one in both.evaluations.values()]
    assert flagged[0] == pytest.approx(flagged[1], rel=0.01)
