"""Alpha depends neither on the scale of the scores nor on a single stray one."""

from __future__ import annotations

import numpy as np
import pytest

from recoup import load_example
from recoup._core.registry import registered
from recoup.priors import estimate
from recoup.priors._solvers.logits import score_logits, without_strays
from recoup.scores.table import ScoreTable

READ_DISTANCES = ("dedpul", "pulscar", "auto")


@pytest.fixture(scope="module")
def example():
    found = load_example()
    return found.s, np.asarray(found.scores["score_boosting"], float), found.alpha


def alpha(s, scores, method):
    found = estimate(s, scores, method=method, beta=1.0 if method == "auto" else None)
    return found.alpha


@pytest.mark.parametrize("method", READ_DISTANCES)
@pytest.mark.parametrize("scale", [1e-300, 1e-15, 1e15, 1e300])
def test_scale_of_the_scores(example, method, scale):
    s, scores, _ = example
    assert alpha(s, scores * scale, method) == pytest.approx(alpha(s, scores, method), abs=0.05)


@pytest.mark.parametrize("method", READ_DISTANCES)
@pytest.mark.parametrize("stray", [-999.0, 1e6, 1e200, -1.7e308])
@pytest.mark.parametrize("marked", [0, 1])
def test_one_stray_score(example, method, stray, marked):
    s, scores, truth = example
    spoiled = scores.copy()
    spoiled[np.flatnonzero(s == marked)[0]] = stray
    assert alpha(s, spoiled, method) == pytest.approx(truth, abs=0.05)


@pytest.mark.parametrize("stray", [-999.0, 1e6, 1e200])
@pytest.mark.parametrize(
    "key", [key for key, cls in registered("priors").items() if cls.tags.reads == "scores"]
)
def test_a_stray_among_probabilities_is_one_row_for_every_estimator(example, key, stray):
    s, scores, _ = example
    spoiled = scores.copy()
    spoiled[np.flatnonzero(s == 0)[0]] = stray
    made = registered("priors")[key](interval=None)
    found = [made.fit_scores(s, x).alpha_ for x in (scores, spoiled)]
    # AlphaMax looks at alpha in steps of a hundredth.
    assert found[1] == pytest.approx(found[0], abs=0.011)


@pytest.mark.parametrize("far", [1.2, -0.01])
def test_scores_a_little_outside_are_no_probabilities(far):
    table = ScoreTable.from_arrays([1] * 50 + [0] * 51, np.append(np.linspace(0, 1, 100), far))
    before = score_logits(ScoreTable.from_arrays([1] * 50 + [0] * 50, np.linspace(0, 1, 100)))
    assert np.ptp(score_logits(table)) < np.ptp(before) / 2


def test_alphamax_with_a_stray_score(example):
    s, scores, truth = example
    scores = np.append(scores, 1e200)
    assert alpha(np.append(s, 0), scores, "alphamax") == pytest.approx(truth, abs=0.1)


def test_normal_scores_have_no_strays():
    rng = np.random.default_rng(0)
    values = np.sort(rng.normal(size=100_000))
    counts = rng.integers(0, 2, len(values))
    kept = without_strays(values, counts, 1 - counts)
    assert np.array_equal(kept, values)


def test_rare_labeled_rows_far_away_are_no_strays():
    values = np.concatenate([np.linspace(-1, 1, 5000), np.linspace(49, 50, 20)])
    labeled = (values > 2).astype(int)
    assert np.array_equal(without_strays(values, labeled, 1 - labeled), values)


def test_scores_that_nearly_all_share_stay_apart():
    values = np.array([0.0, 1.0, 2.0])
    kept = without_strays(values, np.array([0, 100, 1]), np.array([5, 1000, 3]))
    assert np.array_equal(kept, values)


def test_hardly_any_number_is_as_small_as_this():
    scores = np.array([0.0, 5e-324, 0.25, 0.5])
    table = ScoreTable.from_arrays([0, 0, 1, 1], scores)
    assert np.isfinite(score_logits(table)).all()
