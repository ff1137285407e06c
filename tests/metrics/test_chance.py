"""What AUC_pu would be with shuffled labels, by the formula against shuffles and scipy."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from recoup.metrics import chance
from recoup.metrics.chance import shuffled_auc, shuffled_moments
from recoup.scores.table import ScoreTable


def rows(n_labeled, n_unlabeled, seed=0, shift=0.2, decimals=None):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    scores = rng.normal(shift * s)
    return s, scores if decimals is None else np.round(scores, decimals)


@pytest.mark.parametrize("decimals", [None, 1, 0])
def test_the_formula_is_the_test_of_mann_and_whitney(decimals):
    s, scores = rows(120, 900, decimals=decimals)
    auc, low, high, p_value, n_permutations = shuffled_auc(
        ScoreTable.from_arrays(s, scores), 10, 0.95, 0
    )
    known = mannwhitneyu(
        scores[s == 1], scores[s == 0], alternative="greater", use_continuity=False
    )
    assert n_permutations == 0
    assert auc == pytest.approx(known.statistic / (120 * 900))
    # The correction for skewness, small here, is the one difference.
    assert p_value == pytest.approx(known.pvalue, rel=0.02)
    assert low + high == pytest.approx(1, abs=0.002)


def test_moments_are_those_of_all_shuffles():
    # Every way to label two of six rows, some of them tied.
    ranks = np.array([1.5, 1.5, 3.0, 4.5, 4.5, 6.0])
    areas = []
    for first in range(6):
        for second in range(first):
            labeled = ranks[[first, second]]
            areas.append((labeled.sum() - 3) / 8)
    table = ScoreTable.from_arrays([1, 0, 1, 0, 0, 0], [0.1, 0.1, 0.2, 0.3, 0.3, 0.4])
    deviation, skewness = shuffled_moments(table)
    centered = np.array(areas) - np.mean(areas)
    assert np.mean(areas) == pytest.approx(0.5)
    assert deviation == pytest.approx(np.sqrt(np.mean(centered**2)))
    assert skewness == pytest.approx(np.mean(centered**3) / np.mean(centered**2) ** 1.5)


@pytest.mark.parametrize(("n_labeled", "share"), [(60, 0.0), (60, 0.7), (200, 0.9)])
def test_limits_are_those_of_many_shuffles(n_labeled, share):
    s, scores = rows(n_labeled, 5000, shift=0.05)
    scores[scores < np.quantile(scores, share)] = -9.0
    table = ScoreTable.from_arrays(s, scores)
    found = shuffled_auc(table, 10, 0.95, 0)
    drawn = chance._by_shuffling(table, 20_000, 0.95, np.random.default_rng(0))
    assert found[4] == 0
    # Three standard errors of the quantiles of 20,000 shuffles, and what the formula leaves out.
    room = 0.075 * shuffled_moments(table)[0]
    assert found[1:3] == pytest.approx(drawn[1:3], abs=room)
    assert found[3] == pytest.approx(drawn[3], abs=0.01)


def test_few_rows_and_heavy_ties_are_shuffled_in_parts_of_equal_size(monkeypatch):
    few = ScoreTable.from_arrays(*rows(12, 300))
    assert shuffled_auc(few, 500, 0.95, 3)[4] == 500
    tied = ScoreTable.from_arrays(np.repeat([1, 0], [60, 900]), np.zeros(960))
    assert shuffled_auc(tied, 100, 0.95, 3) == (0.5, 0.5, 0.5, 1.0, 100)
    sizes = []

    class Counting:
        def multivariate_hypergeometric(self, *given, size, **more):
            sizes.append(size)
            return np.random.default_rng(0).multivariate_hypergeometric(*given, size=size, **more)

    chance._by_shuffling(few, 2500, 0.95, Counting())
    assert sizes == [1000, 1000, 500]
