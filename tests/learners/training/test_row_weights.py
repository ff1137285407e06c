"""What rows count, in sums, quantiles and draws."""

import numpy as np
import pytest

from recoup.learners._training.row_weights import (
    Counts,
    counted,
    mean_and_spread,
    rows_below,
    urn,
    weighted_quantile,
)
from recoup.learners._training.stages import in_turns

S = np.array([1, 1, 0, 0, 0, -1])
WHOLE = np.array([2.0, 1.0, 1.0, 3.0, 1.0, 2.0])
TWICE = np.repeat(np.arange(6), WHOLE.astype(int))


def test_counts_are_sums_of_weights():
    assert counted(S) == Counts(2, 3, 1)
    assert counted(S, WHOLE) == Counts(3.0, 5.0, 2.0) == counted(S[TWICE])
    assert counted(S, WHOLE).others == 7


@pytest.mark.parametrize("share", [0.0, 0.1, 0.35, 0.5, 0.77, 1.0])
def test_quantiles_are_those_of_rows_that_come_as_often(share):
    values = np.array([0.3, -1.0, 2.0, 0.7, 5.0, 0.1])
    expected = np.quantile(values[TWICE], share)
    assert weighted_quantile(values, share, WHOLE) == pytest.approx(expected)
    assert weighted_quantile(values[TWICE], share, None) == pytest.approx(expected)


def test_quantiles_of_rows_that_count_less_than_one():
    values, weights = np.arange(1000.0), np.linspace(0.1, 0.9, 1000)
    reached = weights[values <= weighted_quantile(values, 0.3, weights)].sum() / weights.sum()
    assert reached == pytest.approx(0.3, abs=0.002)


def test_an_urn_holds_each_row_as_often_as_it_counts():
    np.testing.assert_array_equal(urn(WHOLE), TWICE)
    np.testing.assert_array_equal(urn(WHOLE, np.random.default_rng(0)), TWICE)
    weights = np.array([0.3, 1.0, 2.5, 0.2])
    rng = np.random.default_rng(0)
    found = np.mean([np.bincount(urn(weights, rng), minlength=4) for _ in range(4000)], axis=0)
    np.testing.assert_allclose(found, weights, atol=0.03)


def test_batches_of_weighted_rows_are_those_of_rows_that_come_as_often():
    for seed in range(3):
        dealt = in_turns(np.random.default_rng(seed), 6, 5, 4, WHOLE)
        repeated = in_turns(np.random.default_rng(seed), len(TWICE), 5, 4)
        np.testing.assert_array_equal(dealt, TWICE[repeated])
    # After whole turns each row came as often as it counts, whatever the draw.
    counts = np.bincount(in_turns(np.random.default_rng(0), 6, 10, 3, WHOLE).ravel())
    np.testing.assert_array_equal(counts, 3 * WHOLE)


def test_moments_and_ranks_are_those_of_rows_that_come_as_often():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    for part, expected in zip(
        mean_and_spread(rows, WHOLE), mean_and_spread(rows[TWICE], None), strict=True
    ):
        np.testing.assert_allclose(part, expected, rtol=1e-6)
    scores = np.array([0.2, 0.2, 0.9, 0.1, 0.5, 0.9])
    repeated = scores[TWICE]
    below = (repeated < scores[:, None]).sum(axis=1) + (repeated == scores[:, None]).sum(axis=1) / 2
    np.testing.assert_allclose(rows_below(scores, WHOLE), below)
