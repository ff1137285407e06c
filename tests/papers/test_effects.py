"""Effects hold what they claim."""

import numpy as np
import pytest

from papers import Effect
from papers.effects import exact, mean_of, median_of, over_groups, share_of, statistic_of


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (Effect(0.02541, 0.0241, 0.02663, "of AUC"), "0.0254 (0.0241 to 0.0266) of AUC"),
        (Effect(12345.6, 12000.0, 13000.0, "rows"), "12,346 (12,000 to 13,000) rows"),
        (Effect(100, 85.0, 100, "% of settings"), "100% (85% to 100%) of settings"),
        (Effect(3, 3, 3, ""), "3"),
        (Effect(0.743, 0.0312, 19.2, "times as rough"), "0.74 (0.031 to 19) times as rough"),
        (Effect(7.83, 3.2, 16.1, "times"), "7.8 (3.2 to 16) times"),
        (Effect(1.22269, 1.22232, 1.22307, "times"), "1.2227 (1.2223 to 1.2231) times"),
        (Effect(1.1951, 1.1562, 1.2213, "as power"), "1.20 (1.16 to 1.22) as power"),
        (Effect(45006.6, 45006.6, 45006.6, "times the slope"), "45,007 times the slope"),
        (Effect(1.08364, 1.08364, 1.08364, "GB"), "1.08 GB"),
        (Effect(8e-15, 8e-15, 8e-15, "of AUC"), "8e-15 of AUC"),
        (Effect(1234567, 1234567, 1234567, "rows"), "1,234,567 rows"),
    ],
)
def test_text_has_the_digits_that_the_interval_leaves(effect, text):
    assert effect.text == text


def test_wilson_holds_shares_at_the_ends():
    none = share_of(0, 100)
    assert none.lower == pytest.approx(0, abs=1e-9)
    assert none.upper == pytest.approx(100 * 1.96**2 / (100 + 1.96**2), abs=0.01)
    assert share_of(100, 100).lower == pytest.approx(100 - none.upper)


def test_a_paired_mean_has_students_interval():
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(0).normal(1, 2, size=12)
    low, high = ttest_1samp(values, 0).confidence_interval(0.95)
    found = mean_of(values, "points")
    assert (found.lower, found.upper) == pytest.approx((low, high))
    assert mean_of([2.0], "points") == exact(2, "points")


@pytest.mark.parametrize(
    ("statistic", "truth"),
    [
        (lambda drawn: drawn[0].mean(axis=1) / drawn[1].mean(axis=1), 2.0),
        (lambda drawn: np.median(drawn[0], axis=1), 2.0),
    ],
)
def test_bootstrap_intervals_hold_the_truth(statistic, truth):
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        groups = [rng.normal(2, 0.5, size=40), rng.normal(1, 0.2, size=30)]
        found = statistic_of(groups, statistic, "times")
        assert found.lower <= found.value <= found.upper
        held += found.lower <= truth <= found.upper
    assert 88 <= held <= 99


def test_the_same_rows_give_the_same_interval():
    values = np.random.default_rng(0).normal(size=50)
    assert median_of(values, "a") == median_of(values, "a")


def test_pairs_are_drawn_together():
    # One quantity is twice the other: their ratio has no noise.
    some = np.random.default_rng(0).uniform(1, 2, size=20)
    pairs = [np.column_stack([2 * some, some])]
    ratio = statistic_of(pairs, lambda drawn: np.divide(*drawn[0].mean(axis=1).T), "times")
    assert (ratio.lower, ratio.upper) == pytest.approx((2, 2))


def test_repetitions_of_a_group_are_not_new_groups():
    groups = [np.full(100, value) for value in (0.0, 1.0, 2.0, 3.0)]
    narrow = mean_of(np.concatenate(groups), "")
    wide = over_groups(groups, lambda drawn: float(drawn.mean()), "")
    assert wide.value == narrow.value
    assert wide.upper - wide.lower > 5 * (narrow.upper - narrow.lower)


def test_draws_that_leave_a_number_open_are_left_out():
    groups = [[1.0], [2.0], [np.nan]]
    effect = over_groups(groups, lambda drawn: float(drawn[0]), "")
    assert (effect.lower, effect.upper) == (1.0, 2.0)


def test_the_interval_of_a_share_holds_the_share():
    effect = share_of(0, 12)
    assert effect.lower <= effect.value <= effect.upper
