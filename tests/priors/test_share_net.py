"""ShareNet: the share read from a ranking by a trained network."""

import numpy as np
import pytest

from recoup.exceptions import InvalidInputError
from recoup.priors import ShareNet
from recoup.priors._solvers.network import load_network
from recoup.priors._solvers.resample import exchanged
from recoup.priors.share_net import (
    LABELED_RANGE,
    LEVELS,
    QUANTILES,
    draws_between,
    share_quantiles,
    summary,
)
from recoup.scores import ScoreTable


def mixture(alpha, gap=3.0, sizes=(500, 3000), seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], sizes)
    positive = (s == 1) | (rng.random(len(s)) < alpha)
    return s, rng.normal(gap * positive)


@pytest.mark.parametrize(
    "change", [np.exp, np.tanh, lambda x: x**3, lambda x: 1 / (1 + np.exp(-x)), lambda x: 5 * x - 7]
)
def test_any_increasing_map_gives_the_same_summary(change):
    s, scores = mixture(0.3)
    # Rounded first, so that no map merges two scores.
    scores = np.round(scores, 3)
    plain, changed = (
        summary(ScoreTable.from_arrays(s, values)) for values in (scores, change(scores))
    )
    np.testing.assert_allclose(changed, plain, atol=1e-12)


def test_scores_of_single_precision_give_the_same_answer():
    s, scores = mixture(0.3)
    scores = np.round(scores, 2)
    first, second = (
        ShareNet(interval=None).fit_scores(s, values).alpha_
        for values in (scores, scores.astype(np.float32))
    )
    assert first == second


def test_row_order_does_not_matter():
    s, scores = mixture(0.3)
    order = np.random.default_rng(1).permutation(len(s))
    first = ShareNet().fit_scores(s, scores).estimate_
    second = ShareNet().fit_scores(s[order], scores[order]).estimate_
    assert (first.alpha, first.interval) == (second.alpha, second.interval)


def test_exchanging_roles_exchanges_the_halves_of_the_summary():
    table = ScoreTable.from_arrays(*mixture(0.3))
    there, back = summary(table), summary(exchanged(table))
    n = len(LEVELS)
    blocks_there = there[:-2].reshape(2, 2, 2, n)
    blocks_back = back[:-2].reshape(2, 2, 2, n)
    # Top and bottom change places, and so do the two samples.
    np.testing.assert_allclose(blocks_back, blocks_there[::-1, ::-1], atol=1e-9)
    np.testing.assert_allclose(back[-2:], there[:-3:-1])


def test_a_share_of_the_labeled_rows_shows_when_roles_are_exchanged():
    rng = np.random.default_rng(3)
    s = np.repeat([1, 0], [1000, 4000])
    positive = rng.random(5000) < np.where(s == 1, 0.7, 0.2)
    table = ScoreTable.from_arrays(s, rng.normal(4.0 * positive))
    assert share_quantiles(table)[4] == pytest.approx(0.2 / 0.7, abs=0.06)
    assert share_quantiles(exchanged(table))[4] == pytest.approx(0.3 / 0.8, abs=0.06)


def test_summary_by_hand():
    s = np.repeat([1, 0], [40, 100])
    scores = np.concatenate([np.arange(100, 140), np.arange(100)])
    found = summary(ScoreTable.from_arrays(s, scores))
    n = len(LEVELS)
    # No unlabeled row lies above any labeled one, all labeled ones lie above the unlabeled ones.
    np.testing.assert_allclose(found[:n], np.log(0.5 / 101) - np.log(LEVELS))
    np.testing.assert_allclose(found[2 * n : 3 * n], np.log(40.5 / 41) - np.log(LEVELS))
    assert found[-2:] == pytest.approx([np.log(40), np.log(100)])


def test_sizes_beyond_those_of_the_training_count_as_its_border():
    s, scores = mixture(0.3, sizes=(25, 2000))
    assert summary(ScoreTable.from_arrays(s, scores))[-2] == pytest.approx(np.log(LABELED_RANGE[0]))


def test_ties_are_passed_evenly():
    s, scores = mixture(0.4)
    # Within a tie, the order of rows is unknown: the summary is that of no order at all.
    tied = ScoreTable.from_arrays(s, np.round(scores * 2) / 2)
    assert np.isfinite(summary(tied)).all()
    alone = ShareNet().fit_scores(s, np.round(scores, 1)).alpha_
    assert alone == pytest.approx(ShareNet().fit_scores(s, scores).alpha_, abs=0.03)
    two_values = ShareNet().fit_scores(s, (scores > 1.5).astype(float)).estimate_
    assert 0 <= two_values.interval[0] <= two_values.alpha <= two_values.interval[1] <= 1


def test_the_network_is_whole_and_of_the_right_shape():
    network = load_network("share_net")
    n_inputs = len(summary(ScoreTable.from_arrays(*mixture(0.3))))
    assert len(network.mean) == n_inputs == 8 * len(LEVELS) + 2
    assert network.biases[-1].shape[1] == len(QUANTILES)
    assert all(np.isfinite(weight).all() for weight in (*network.weights, *network.biases))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.6])
def test_intervals_hold_the_truth_on_mixtures_never_seen(alpha):
    found = [
        ShareNet().fit_scores(*mixture(alpha, gap=3.0, seed=seed)).estimate_ for seed in range(40)
    ]
    held = np.mean([one.interval[0] <= alpha <= one.interval[1] for one in found])
    # 95% are promised; fewer than 34 of 40 would happen less than once in a hundred times.
    assert held >= 0.85
    assert np.mean([abs(one.alpha - alpha) for one in found]) < 0.04


def test_draws_follow_the_quantiles():
    values = np.linspace(0.1, 0.5, len(QUANTILES))
    draws = draws_between(values, QUANTILES, 10_000)
    np.testing.assert_allclose(np.quantile(draws, QUANTILES), values, atol=1e-3)
    assert (np.diff(draws) >= 0).all()


def test_draws_stay_below_one():
    draws = draws_between(np.linspace(0.9, 1.0, len(QUANTILES)), QUANTILES, 100)
    assert draws.max() == 0.995
    assert draws_between(np.ones(len(QUANTILES)), QUANTILES, 3, top=1.0).tolist() == [1.0] * 3
    assert draws_between(np.zeros(len(QUANTILES)), QUANTILES, 3).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("interval", ["subsample", "bootstrap"])
def test_other_intervals(interval):
    found = ShareNet(interval=interval, n_draws=30).fit_scores(*mixture(0.3)).estimate_
    assert found.interval_method == interval
    assert found.draws.shape == (30,)
    assert found.interval[0] <= found.alpha <= found.interval[1]


def test_curve_is_the_distribution():
    found = ShareNet().fit_scores(*mixture(0.3)).estimate_
    (line,) = found.curve.lines.values()
    assert line.tolist() == list(QUANTILES)
    assert (np.diff(found.curve.x) >= 0).all()
    assert found.curve.marker == found.alpha


def test_unknown_interval_is_refused():
    with pytest.raises(InvalidInputError, match="'network', 'subsample'"):
        ShareNet(interval="learned").fit_scores(*mixture(0.3))
