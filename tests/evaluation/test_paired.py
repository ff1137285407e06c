"""Paired differences: what rows add, row by row, is what the table adds up."""

from __future__ import annotations

import numpy as np
import pytest

from recoup._core.prior import Prior
from recoup.evaluation.compare import _rows
from recoup.evaluation.cuts import Cut, nearest_cut
from recoup.evaluation.paired import Scored, paired_differences
from recoup.metrics.influence import standard_error
from recoup.metrics.observed import moved_mixture
from recoup.metrics.rates import propensity_table
from recoup.metrics.spec import metric_spec
from recoup.scores import ScoreTable

SPECS = [metric_spec(key, "test") for key in ("roc_auc", "average_precision", "f1", "precision")]


def rows_of(kind):
    """Labels, scores, and the table, row weights and propensities of one kind of data."""
    rng = np.random.default_rng(0)
    n = 3000
    y = rng.random(n) < 0.3
    scores = np.round(rng.normal(1.5 * y), 1)
    weight = rng.uniform(0.1, 2.0, size=n) if kind == "weighted" else None
    chance = np.clip(0.4 + 0.1 * scores, 0.2, 0.9) if kind == "propensity" else None
    s = (y & (rng.random(n) < (0.4 if chance is None else chance))).astype(int)
    if kind in ("known", "left out"):
        s[~y & (rng.random(n) < 0.3)] = -1
    scheme = "case-control" if kind in ("case-control", "left out") else "single-sample"
    if chance is not None:
        table, _ = propensity_table(s, scores, chance, None, "test")
    else:
        table = ScoreTable.from_arrays(s, scores, sample_weight=weight)
        table = table.with_negatives_folded_in(scheme)
    return scores, table, scheme, _rows(s, scheme, weight, chance)


KINDS = ["plain", "case-control", "weighted", "known", "left out", "propensity"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", ["threshold", "queue", "recall"])
def test_moves_of_rows_add_up_to_the_error_of_the_table(kind, at):
    scores, table, scheme, rows = rows_of(kind)
    mixture = moved_mixture(table, scheme, 0.2, 1.0, {})
    cut = {"threshold": None, "queue": Cut("queue", 500.0), "recall": Cut("recall", 0.7)}[at]
    held = None if cut is None else cut.held
    threshold = 1.0 if cut is None else nearest_cut(cut, table, mixture)[0]
    model = Scored.of(table, scheme, threshold, scores, held)
    for influence in model.influences(SPECS, 0.2, 1.0).values():
        moves = rows.moves(table, model.places, influence)
        assert rows.error(moves, table) == pytest.approx(standard_error(table, influence))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", ["queue", "recall"])
def test_moves_of_rows_are_what_more_weight_does(kind, at):
    """Rows weighted at random move the value, its threshold looked up anew, by their moves."""
    scores, _, scheme, rows = rows_of(kind)
    scores = scores + np.random.default_rng(1).uniform(-0.05, 0.05, size=len(scores))
    labels = np.where(rows.labeled, 1, np.where(rows.unlabeled & ~rows.known, 0, -1))
    spec = metric_spec("f1", "test")

    def counted(weight):
        if kind == "propensity":
            table, _ = propensity_table(
                labels, scores, rows.weight / rows.positives, weight, "test"
            )
        else:
            table = ScoreTable.from_arrays(labels, scores, sample_weight=weight)
            table = table.with_negatives_folded_in(scheme)
        mixture = moved_mixture(table, scheme, 0.2, 1.0, {})
        cut = Cut("recall", 0.7)
        if at == "queue":
            cut = Cut("queue", 0.2 * float(mixture.rows(table).sum()))
        threshold, _, _ = nearest_cut(cut, table, mixture)
        return Scored.of(table, scheme, threshold, scores, cut.held)

    model = counted(rows.weight)
    before = model.raw(spec, 0.2, 1.0)
    moves = rows.moves(model.table, model.places, model.influences([spec], 0.2, 1.0)["f1"])
    expected, found = [], []
    for seed in range(100, 160):
        more = np.random.default_rng(seed).uniform(-0.8, 0.8, size=len(scores))
        expected.append(moves[0] @ more[rows.labeled] + moves[1] @ more[rows.unlabeled])
        found.append(counted(rows.weight * (1 + more)).raw(spec, 0.2, 1.0) - before)
    # Single rows at the threshold make steps, which no slope tells.
    slope, _ = np.polyfit(expected, found, 1)
    assert slope == pytest.approx(1.0, abs=0.15)
    assert np.corrcoef(expected, found)[0, 1] > 0.9


def test_one_row_of_a_group_says_nothing_about_its_spread():
    s, scores = np.array([1, 0, 0, 0, 0]), np.arange(5.0)
    rows = _rows(s, "single-sample", None, None)
    models = {
        name: Scored.of(ScoreTable.from_arrays(s, x), "single-sample", 2.0, x)
        for name, x in (("a", scores), ("b", scores[::-1]))
    }
    for prior in (Prior(0.1, 1.0), Prior(0.1, 1.0, alpha_draws=np.linspace(0.05, 0.15, 9))):
        (item,) = paired_differences(rows, models, SPECS[:1], prior, 0.95)
        assert (item.lower, item.upper, item.p_value) == (-np.inf, np.inf, 1.0)
