"""How much of each sample the other one may hold."""

import numpy as np
import pytest

from recoup import ScoreTable
from recoup.metrics.feasible import feasible_kappas


def table(seed, alpha=0.2, beta=1.0, alike=0.0, sizes=(400, 2000)):
    """Count normal scores; a share ``alike`` of the negatives is distributed as the positives."""
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], sizes)
    positive = rng.random(len(s)) < np.where(s == 1, beta, alpha)
    high = positive | (rng.random(len(s)) < alike)
    return ScoreTable.from_arrays(s, rng.normal(2.5 * high))


@pytest.mark.parametrize(("beta", "alike"), [(1.0, 0.0), (1.0, 0.25), (0.85, 0.0)])
def test_the_truth_is_allowed(beta, alike):
    held = 0
    for seed in range(40):
        first, second = feasible_kappas(table(seed, beta=beta, alike=alike), 0.95)
        held += (0.2 / beta <= first) and ((1 - beta) / 0.8 <= second)
    assert held >= 38


def test_more_confidence_allows_more():
    found = [feasible_kappas(table(0), level) for level in (0.5, 0.9, 0.99)]
    assert found == sorted(found)
    assert found[0][0] < found[-1][0] < 1


def test_exchanged_samples_exchange_the_limits():
    rows = table(0, beta=0.9)
    swapped = ScoreTable._assemble(rows.scores, [rows.unlabeled, rows.labeled], rows.scores)
    assert feasible_kappas(swapped, 0.95) == pytest.approx(feasible_kappas(rows, 0.95)[::-1])


def test_few_rows_allow_anything():
    s, scores = [1, 1, 0, 0, 0], [0.9, 0.8, 0.3, 0.2, 0.1]
    assert feasible_kappas(ScoreTable.from_arrays(s, scores), 0.95) == (1.0, 1.0)
