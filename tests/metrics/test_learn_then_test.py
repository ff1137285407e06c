"""Which thresholds keep a promise: walks, exact limits, and worlds whose truth is known."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from recoup import Draws, Interval
from recoup._core.prior import Prior
from recoup.exceptions import InvalidInputError
from recoup.metrics.demands import Demand, aim_of, demands_of
from recoup.metrics.intervals import exact_share, normal_quantile
from recoup.metrics.learn_then_test import (
    ByLabels,
    ThresholdGrid,
    best_place,
    kept_apart,
    kept_in_order,
)
from recoup.scores.table import ScoreTable

CUTS = np.linspace(-4.0, 7.0, 801)


def masses(mean):
    return np.diff(norm.cdf(CUTS, mean)) / np.diff(norm.cdf(CUTS, mean)).sum()


def drawn(rng, pi=0.2, d=3.0, labeled=0.3, n=5000):
    """Counts of a single sample whose labels are a random sample of the positives."""
    share = np.concatenate(
        [pi * labeled * masses(d), pi * (1 - labeled) * masses(d) + (1 - pi) * masses(0.0)]
    )
    counts = rng.multinomial(n, share)
    table = ScoreTable._from_counts(
        CUTS[:-1], [counts[: len(share) // 2], counts[len(share) // 2 :]], None
    )
    return table, pi * (1 - labeled) / (1 - pi * labeled)


def truth(pi=0.2, d=3.0):
    tpr, fpr = (np.cumsum(masses(mean)[::-1])[::-1] for mean in (d, 0.0))
    return pi * tpr / (pi * tpr + (1 - pi) * fpr), tpr


class TestWalk:
    p = np.array([0.3, 0.02, 0.04, 0.2, 0.001])

    def shown(self, place, level):
        return bool(self.p[place] <= level)

    def test_a_walk_ends_where_nothing_is_shown(self):
        kept = kept_in_order(self.shown, np.arange(5), np.array([1]), 0.05)
        assert kept.tolist() == [False, True, True, False, False]

    def test_a_walk_that_fails_at_its_start_keeps_nothing(self):
        assert not kept_in_order(self.shown, np.arange(5), np.array([0]), 0.05).any()

    def test_starts_share_the_level_and_bring_it_along(self):
        # 0.025 from the first start is enough for 0.02; with it the second start has 0.05.
        kept = kept_in_order(self.shown, np.arange(5), np.array([1, 2]), 0.05)
        assert kept.tolist() == [False, True, True, False, False]
        # A start of its own has no more than its share: 0.04 is not shown at 0.025.
        kept = kept_in_order(self.shown, np.arange(5), np.array([0, 2]), 0.05)
        assert not kept.any()

    def test_a_walk_may_go_up(self):
        kept = kept_in_order(self.shown, np.arange(5)[::-1], np.array([0]), 0.05)
        assert kept.tolist() == [False, False, False, False, True]

    def test_thresholds_without_an_order_are_tested_by_holm(self):
        p = np.array([0.01, 0.03, 0.02, 0.9])
        kept = kept_apart(lambda i, level: p[i] <= level, np.arange(4), 4, 0.05)
        # 0.01 <= 0.05/4; then 0.02 > 0.05/3.
        assert kept.tolist() == [True, False, False, False]
        p[2] = 0.016
        kept = kept_apart(lambda i, level: p[i] <= level, np.arange(4), 4, 0.05)
        # 0.016 <= 0.05/3; then 0.03 > 0.05/2.
        assert kept.tolist() == [True, False, True, False]

    @pytest.mark.parametrize("starts", [[0], [0, 3, 7], [2, 5]])
    def test_the_level_is_kept_where_all_promises_are_broken(self, starts):
        rng = np.random.default_rng(0)
        wrong = 0
        for _ in range(4000):
            p = rng.random(10)
            wrong += kept_in_order(
                lambda i, level, p=p: p[i] <= level, np.arange(10), np.array(starts), 0.1
            ).any()
        assert wrong / 4000 < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 4000)
        # It is used up, too: starts that share it are not much stricter.
        assert wrong / 4000 > 0.08


def test_exact_limits_are_those_of_binomial_tails():
    level = 0.05
    low, high = exact_share(np.array([0.0, 0.3, 1.0]), 20, normal_quantile(1 - 2 * level))
    assert binom.sf(5, 20, low[1]) == pytest.approx(level)
    assert binom.cdf(6, 20, high[1]) == pytest.approx(level)
    assert (low[0], high[2]) == (0.0, 1.0)
    assert low[2] == pytest.approx(level ** (1 / 20))
    assert exact_share(0.3, np.inf, 1.6) == (0.3, 0.3)


def test_a_recall_is_promised_where_the_binomial_test_says_so():
    table, alpha = drawn(np.random.default_rng(3))
    prior = Prior.of(alpha, 1.0, "test")
    judge = ByLabels(table, prior, "single-sample")
    kept = judge.kept(Demand("recall", 0.9), 0.05)
    heads = np.cumsum(table.labeled[::-1])[::-1]
    found = heads[np.searchsorted(table.scores, judge.thresholds)]
    by_hand = binom.sf(found - 1, table.n_labeled, 0.9) <= 0.05
    assert kept.tolist() == by_hand.tolist()
    place = np.flatnonzero(kept)[0]
    expected = binom.sf(found[place] - 1, table.n_labeled, 0.9)
    assert judge.p_value(Demand("recall", 0.9), place) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("alpha_is", "goal", "least_found"), [("known", 0.8, 0.9), ("draws", 0.7, 0.8)]
)
def test_promises_are_kept_and_not_always_refused(alpha_is, goal, least_found):
    precision, _ = truth()
    n, broken, found, recall = 120, 0, 0, []
    for seed in range(n):
        rng = np.random.default_rng([5, seed])
        table, alpha = drawn(rng)
        given = alpha
        if alpha_is == "draws":
            center = rng.normal(alpha, 0.1 * alpha)
            given = Draws(np.clip(rng.normal(center, 0.1 * alpha, 200), 0, 0.9))
        judge = ByLabels(table, Prior.of(given, 1.0, "test"), "single-sample")
        kept = judge.kept(Demand("precision", goal), 0.05)
        if kept.any():
            at = np.searchsorted(CUTS[:-1], judge.thresholds[np.flatnonzero(kept)[-1]])
            found += 1
            broken += precision[at] < goal
            recall.append(truth()[1][at])
    assert broken / n <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n)
    assert found / n >= least_found
    best = truth()[1][np.flatnonzero(precision >= goal)[0]]
    assert np.mean(recall) > 0.9 * best


def test_an_interval_of_alpha_counts_at_its_worst_end():
    table, alpha = drawn(np.random.default_rng(1))
    demand = Demand("precision", 0.7)

    def lowest(given):
        judge = ByLabels(table, Prior.of(given, 1.0, "test"), "single-sample")
        kept = judge.kept(demand, 0.05)
        return judge.thresholds[np.flatnonzero(kept)[-1]]

    # The walk starts elsewhere for another middle; the limit that is tested is that of the low end.
    assert lowest(Interval(alpha, 1.2 * alpha)) == pytest.approx(lowest(alpha), abs=0.15)
    assert lowest(Interval(0.8 * alpha, alpha)) > lowest(alpha)


def test_candidates_know_nothing_of_labels():
    table, alpha = drawn(np.random.default_rng(1))
    prior = Prior.of(alpha, 1.0, "test")
    found = ThresholdGrid.of(table, prior, "single-sample", 137)
    rows = (table.labeled + table.unlabeled)[::-1]
    heads = np.cumsum(rows)
    assert found.queue.max() == table.n_rows
    assert found.queue[found.queue <= 137].max() == heads[heads <= 137].max()
    places = len(rows) - 1 - np.searchsorted(table.scores, found.thresholds)
    assert heads[places].tolist() == found.queue.tolist()


def test_tied_rows_are_flagged_together_or_not_at_all():
    table = ScoreTable.from_arrays([1] * 40 + [0] * 60, [2.0] * 40 + [2.0] * 10 + [1.0] * 50)
    judge = ByLabels(table, Prior.of(0.1, 1.0, "test"), "single-sample")
    assert judge.thresholds.tolist() == [2.0, 1.0]
    assert judge.queue.tolist() == [50, 100]


def test_a_cost_is_saved_against_the_cheaper_of_none_and_all():
    demand = Demand("cost", 0.0, (1.0, 20.0))
    # pi 0.2: to flag none costs 4 a row, to flag all 0.8; this one 0.2*0.1*20 + 0.8*0.2 = 0.56.
    assert demand.value(0.9, 0.2, 0.2) == pytest.approx(0.8 - 0.56)
    assert demand.value(1.0, 1.0, 0.2) == pytest.approx(0.0)


def test_walks_start_where_a_perfect_ranking_would_be_recognized():
    # With n labels and f promised, perfect rows have the labeled share f/goal; the normal test of
    # f against f/goal has this z.
    demand, n, level = Demand("precision", 0.8), 500, 0.0125
    first = demand.start_of_walks(n, level)
    least = first[0] - 0.1 * (0.95 - first[0]) / 0.9
    z = (least / 0.8 - least) / np.sqrt(least * (1 - least) / n)
    assert z == pytest.approx(normal_quantile(1 - 2 * level), rel=1e-6)
    assert (np.diff(first) > 0).all()
    assert demand.start_of_walks(50, level)[0] > first[0]


def test_the_best_of_equals_flags_most():
    class Judge:
        thresholds, queue = np.arange(4.0)[::-1], np.arange(1.0, 5.0)

        def values(self, formula):
            return np.array([0.5, 0.7, 0.7, 0.9])

    kept = np.array([True, True, True, False])
    assert best_place(Judge(), kept, aim_of("recall", [], "test")) == 2
    assert best_place(Judge(), kept, Demand("cost", 0.0)) == 2
    assert best_place(Judge(), kept, aim_of("expected_cost", [], "test")) == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.5, None, None), "needs precision to be a number above 0 and below 1. Got 1.5"),
        ((None, 0, None), "needs recall to be a number above 0 and below 1. Got 0"),
        ((None, None, {"fp": 1}), "needs cost to name what a false positive"),
        ((None, None, {"fp": 1, "fn": -2}), r"needs cost\['fn'\] to be a number above 0"),
    ],
)
def test_what_cannot_be_promised_is_refused(given, message):
    with pytest.raises(InvalidInputError, match=message):
        demands_of(*given, "test")


def test_what_is_made_best_is_a_metric_of_one_threshold():
    assert aim_of(None, [Demand("recall", 0.8)], "test").key == "precision"
    assert aim_of(None, [Demand("recall", 0.8), Demand("precision", 0.8)], "test").key == "recall"
    cost = Demand("cost", 0.0, (1.0, 2.0))
    assert aim_of(None, [Demand("recall", 0.8), cost], "test") is cost
    with pytest.raises(InvalidInputError, match="Did you mean 'f1'"):
        aim_of("f11", [], "test")
    with pytest.raises(InvalidInputError, match=r"metric of one threshold\. Got 'roc_auc'"):
        aim_of("roc_auc", [], "test")
