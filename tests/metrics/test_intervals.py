"""Standard errors and intervals against their definitions."""

import numpy as np
import pytest
from scipy import stats

from recoup.metrics.intervals import auc_influence, expanded_percentiles, standard_error
from recoup.scores import ScoreTable


def test_the_error_of_the_area_is_delongs():
    """Sample variances of the placements, each over the number of its rows."""
    rng = np.random.default_rng(0)
    labeled, unlabeled = np.round(rng.normal(1, 1, 6), 1), np.round(rng.normal(0, 1, 9), 1)
    table = ScoreTable.from_arrays([1] * 6 + [0] * 9, np.concatenate([labeled, unlabeled]))
    pairs = (labeled[:, None] > unlabeled) + (labeled[:, None] == unlabeled) / 2
    wanted = pairs.mean(axis=1).var(ddof=1) / 6 + pairs.mean(axis=0).var(ddof=1) / 9
    assert standard_error(table, auc_influence(table)) ** 2 == pytest.approx(wanted)


@pytest.mark.parametrize("n", [5, 50])
def test_percentiles_of_replicates_make_students_interval(n):
    """Means of drawn rows scatter by the root of (n - 1) / n too little."""
    error = 0.3
    levels = (np.arange(200_000) + 0.5) / 200_000
    replicates = 2.0 + error * np.sqrt((n - 1) / n) * stats.norm.ppf(levels)
    found = expanded_percentiles(replicates, 0.95, n)
    wanted = stats.t.interval(0.95, n - 1, loc=2.0, scale=error)
    assert found == pytest.approx(wanted, abs=2e-3)
