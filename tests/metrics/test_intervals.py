"""Standard errors and intervals against their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from recoup import evaluate
from recoup.metrics.influence import (
    Influence,
    auc_effects,
    influence_of,
    row_slopes,
    rows_behind,
    standard_error,
)
from recoup.metrics.intervals import mover, wilson
from recoup.metrics.measure import raw_value
from recoup.metrics.observed import ObservedShares, group_shares, moved_mixture
from recoup.metrics.rates import propensity_table
from recoup.metrics.spec import METRICS, evaluated_specs
from recoup.scores import ScoreTable

Z = stats.norm.ppf(0.975)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    s = (y & (rng.random(n) < 0.5)).astype(int)
    return rng, s, np.clip(rng.normal(0.35 + 0.3 * y, 0.2), 0.01, 0.99)


def test_the_error_of_the_area_is_delongs():
    """Sample variances of the placements, each over the number of its rows."""
    rng = np.random.default_rng(0)
    labeled, unlabeled = np.round(rng.normal(1, 1, 6), 1), np.round(rng.normal(0, 1, 9), 1)
    table = ScoreTable.from_arrays([1] * 6 + [0] * 9, np.concatenate([labeled, unlabeled]))
    pairs = (labeled[:, None] > unlabeled) + (labeled[:, None] == unlabeled) / 2
    wanted = pairs.mean(axis=1).var(ddof=1) / 6 + pairs.mean(axis=0).var(ddof=1) / 9
    found = standard_error(table, Influence(*auc_effects(table)))
    assert found**2 == pytest.approx(wanted)


def test_parts_of_an_error_add_up_in_squares():
    assert mover(1.0, [(0.7, 1.3), (1.4, 0.6)]) == pytest.approx((0.5, 1.5))
    assert mover(1.0, [(0.9, 1.0), (1.0, 1.2)]) == pytest.approx((0.9, 1.2))


def test_the_share_of_labels_is_a_matter_of_chance():
    """With everything flagged and nothing hidden, precision is the share of labeled rows."""
    s = np.repeat([1, 0], [89, 911])
    found = evaluate(s, np.arange(1000.0), alpha=0.0, threshold=-1.0, n_boot=0)["precision"]
    # That all rows are flagged is itself seen on so many rows only.
    assert (found.lower, found.upper) == pytest.approx(wilson(0.089, 1000, Z), abs=5e-4)


KEYS = [spec.key for spec in evaluated_specs() if spec.row_effects and not spec.at_edge]


@pytest.mark.parametrize("kind", ["plain", "weights", "negatives", "case-control", "propensity"])
@pytest.mark.parametrize("key", KEYS)
def test_slopes_of_rows_are_what_one_row_more_does(key, kind):
    """Leaving out each row once moves the value as much as its slopes say."""
    rng, s, scores = rows(60)
    scores = np.round(scores, 2)
    weights = rng.uniform(0.5, 2.0, 60) if kind == "weights" else np.ones(60)
    if kind == "negatives":
        s[np.flatnonzero(s == 0)[:9]] = -1
    scheme = "case-control" if kind == "case-control" else "single-sample"
    e = rng.uniform(0.5, 0.9, 60)
    spec, threshold, tiny = METRICS[key], 0.5, 1e-5

    def value(w):
        if kind == "propensity":
            table = propensity_table(s, scores, e, w, "f")[0]
        else:
            table = ScoreTable.from_arrays(s, scores, sample_weight=w)
            table = table.with_negatives_folded_in(scheme)
        mixture = moved_mixture(table, scheme, 0.2, 1.0, {})
        if spec.kind != "point":
            return table, mixture, raw_value(spec, table, mixture)
        observed = ObservedShares.above(table, np.array([threshold]), scheme)
        return table, mixture, float(observed.value(spec.formula, 0.2, 1.0)[0])

    table, mixture, center = value(weights)

    def at_mixture(moved):
        if spec.kind != "point":
            return raw_value(spec, table, moved)
        heads = ObservedShares.above(table, np.array([threshold]), scheme).rates({})
        return float(spec.formula(*(r[0] for r in moved.true_rates(*heads)), moved.pi))

    influence = influence_of(
        spec.row_effects(table, mixture, threshold), at_mixture, table, mixture
    )
    on_labeled, on_unlabeled = (slopes[::-1] for slopes in row_slopes(table, influence))
    for i in range(0, 60, 7):
        more = weights.copy()
        more[i] += tiny
        place = np.searchsorted(table.scores, scores[i])
        slope = on_labeled[place] if s[i] == 1 else on_unlabeled[place]
        if kind == "propensity" and s[i] == 1:
            slope = on_labeled[place] / e[i] + on_unlabeled[place]
        if kind == "negatives" and s[i] != 1:
            share = table.n_known / table.n_unlabeled
            slope += influence.known * (float(s[i] == -1) - share) / table.n_unlabeled
        if kind == "case-control" and s[i] == -1:
            slope = 0.0
        assert (value(more)[2] - center) / tiny == pytest.approx(slope, rel=2e-3, abs=1e-5)


@pytest.mark.parametrize("key", ["roc_auc", "brier", "average_precision", "precision", "aul"])
def test_equal_weights_change_nothing(key):
    _, s, scores = rows()
    plain = evaluate(s, scores, alpha=0.2, threshold=0.5, n_boot=0)[key]
    twice = evaluate(
        s, scores, alpha=0.2, threshold=0.5, n_boot=0, sample_weight=np.full(len(s), 2.0)
    )[key]
    # The shares' own errors are corrected for small samples in one of the two only.
    assert (twice.lower, twice.upper) == pytest.approx((plain.lower, plain.upper), abs=5e-5)


def test_few_heavy_rows_say_little_about_the_error():
    _, s, scores = rows()
    table = ScoreTable.from_arrays(s, scores)
    effects = Influence(*auc_effects(table))
    assert rows_behind(table, effects) == table.n_labeled
    heavy = np.where((s == 1) & (scores < 0.35), 30.0, 1.0)
    weighted = ScoreTable.from_arrays(s, scores, sample_weight=heavy)
    effects = Influence(*auc_effects(weighted))
    assert rows_behind(weighted, effects) < weighted.effective_sizes[0] + 1e-9


def test_shares_of_groups_and_their_sizes():
    _, s, scores = rows()
    table = ScoreTable.from_arrays(s, scores)
    assert group_shares(table, "case-control") == {}
    (share, size), n = group_shares(table, "single-sample")["fraction"], len(s)
    assert (share, size) == pytest.approx((s.mean(), n))
    known = replace(table, negative=table.unlabeled // 2, unlabeled=table.unlabeled.copy())
    folded = known.with_negatives_folded_in("single-sample")
    share, size = group_shares(folded, "single-sample")["known_share"]
    assert share == pytest.approx(folded.n_known / folded.n_unlabeled)
    assert size == pytest.approx(folded.n_unlabeled)
