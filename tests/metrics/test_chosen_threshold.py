"""What the choice of a threshold adds is taken off again."""

import numpy as np
import pytest

from recoup import evaluate
from recoup.metrics.chosen_threshold import optimism, optimism_of_best
from recoup.metrics.resample import bootstrap
from recoup.metrics.spec import POINT_METRICS
from recoup.scores import ScoreTable

PI, C, D = 0.1, 0.5, 1.5
ALPHA = PI * (1 - C) / (1 - PI * C)


def draw(seed, n=1000):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < PI
    return (y & (rng.random(n) < C)).astype(int), rng.normal(D * y)


def truth(cut, key):
    from scipy.stats import norm

    return POINT_METRICS[key].from_rates(norm.sf(cut - D), norm.sf(cut), PI)


@pytest.mark.parametrize("threshold", [None, "f1"])
def test_metrics_at_a_chosen_threshold_are_not_too_good_on_average(threshold):
    key = threshold or "youden"
    before, after = [], []
    for seed in range(60):
        found = evaluate(*draw(seed), alpha=ALPHA, threshold=threshold, n_boot=100)
        value = found[key]
        assert value.recovered == pytest.approx(np.clip(value.raw - value.optimism, -1, 1))
        before.append(value.raw - truth(found.threshold, key))
        after.append(value.recovered - truth(found.threshold, key))
    assert np.mean(before) > 0.03
    assert abs(np.mean(after)) < 0.5 * np.mean(before)


def test_a_threshold_that_was_given_or_never_resampled_stays_as_it_is():
    s, scores = draw(0)
    assert evaluate(s, scores, alpha=ALPHA, threshold=1.0)["youden"].optimism == 0.0
    plain = evaluate(s, scores, alpha=ALPHA, n_boot=0)
    assert plain["youden"].optimism == 0.0
    assert any("leaves in what the choice adds" in note for note in plain.notes)


def test_parameters_of_the_metric_count():
    s, scores = draw(1)
    table = ScoreTable.from_arrays(s, scores)
    replicates = bootstrap(table, 100, np.random.default_rng(0))
    given = replicates, ALPHA, 1.0, "single-sample"
    assert optimism_of_best(*given, "f1") == optimism(*given, "f1")["f1"]
    assert optimism_of_best(*given, "fbeta", {"b": 1.0}) == pytest.approx(
        optimism(*given, "f1")["f1"]
    )
    assert optimism_of_best(*given, "fbeta", {"b": 3.0}) != optimism_of_best(*given, "f1")
    cheap = optimism_of_best(*given, "expected_cost", {"fn_cost": 5.0})
    assert cheap < 0  # the lowest of many costs is too low
