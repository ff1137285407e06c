from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.network import load_network, read_network
from recoup.priors.dist_curve import (
    DistCurve,
    curve_features,
    distance_curve,
    network_inputs,
    rank_places,
    remove_nearest,
)
from recoup.scores.table import ScoreTable

WEIGHTS = files("recoup.priors") / "weights" / "dist_curve.npz"


def two_normals(seed, alpha, n_labeled=1000, n_unlabeled=4000, shift=4.0):
    rng = np.random.default_rng(seed)
    hidden = round(alpha * n_unlabeled)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    mean = np.where(np.arange(len(s)) < n_labeled + hidden, shift, 0.0)
    return s, rng.normal(mean)


def brute_force(places, points):
    """Scan all places that are left; of equally near ones the lower is taken."""
    left, found = list(places), []
    for point in points:
        gaps = [abs(point - place) for place in left]
        nearest = gaps.index(min(gaps))
        found.append(gaps[nearest])
        del left[nearest]
    return found


def fast(places, points, as_given):
    places = np.asarray(places, float)
    points = np.asarray(points, float)
    summed = as_given(np.zeros(len(places)))
    remove_nearest(
        as_given(places),
        as_given(points),
        as_given(np.searchsorted(places, points)),
        as_given(np.arange(len(places) + 1)),
        as_given(np.arange(len(places) + 1)),
        summed,
    )
    return list(summed)


# Few distinct values: ties, exact hits and exhausted sides all occur.
values = st.lists(st.integers(0, 12), min_size=1, max_size=40)


@given(places=values, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("as_given", [np.ndarray.tolist, np.asarray])
def test_removal_equals_brute_force(as_given, places, seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 15, size=len(places)) / rng.integers(1, 4)
    assert fast(sorted(places), points, as_given) == brute_force(sorted(places), points)


@pytest.mark.parametrize("point", [-5.0, 5.0])
def test_removal_when_one_side_is_exhausted(point):
    places = np.sort(np.random.default_rng(0).normal(size=300))
    points = np.full(300, point)
    assert fast(places, points, np.ndarray.tolist) == brute_force(places, points)


def test_removal_of_continuous_values_equals_brute_force():
    rng = np.random.default_rng(1)
    places, points = np.sort(rng.normal(size=500)), rng.normal(1, 0.5, size=500)
    assert fast(places, points, np.ndarray.tolist) == brute_force(places, points)


def test_places_are_middle_ranks_of_the_unlabeled_rows():
    #            below U, tied with one U, between, tied with three U, above all
    s = np.array([1, 1, 0, 1, 1, 0, 0, 0, 1])
    scores = np.array([0.0, 1, 1, 1.5, 2, 2, 2, 2, 9])
    places, low, high, slots = rank_places(ScoreTable.from_arrays(s, scores))
    assert places.tolist() == [0.5, 2.5, 2.5, 2.5]
    assert low.tolist() == [0.0, 0.5, 0.5, 2.5, 2.5]
    assert high.tolist() == [0.5, 0.5, 2.5, 2.5, 4.0]
    assert slots.tolist() == [0, 0, 1, 1, 4]


def test_curve_is_the_mean_of_runs_over_the_places():
    s, scores = two_normals(3, 0.3, n_labeled=60, n_unlabeled=80, shift=1.0)
    table = ScoreTable.from_arrays(s, np.round(scores, 1))
    found = distance_curve(table, 3, np.random.default_rng(5))

    rng = np.random.default_rng(5)
    places, low, high, _ = rank_places(table)
    rows = np.repeat(np.arange(len(low)), table.labeled)
    total = np.zeros(80)
    for _ in range(3):
        drawn = rows[rng.integers(60, size=80)]
        points = low[drawn] + rng.random(80) * (high[drawn] - low[drawn])
        total += brute_force(places, points)
    np.testing.assert_allclose(found, total / 3 / 80, rtol=1e-12)


def test_distances_rise_once_the_share_of_positives_is_used_up():
    s, scores = two_normals(0, 0.4, shift=8.0)
    curve = distance_curve(ScoreTable.from_arrays(s, scores), 10, np.random.default_rng(0))
    before, after = curve[:1400].mean(), curve[1800:2000].mean()
    assert after > 10 * before


def test_features_are_percentiles_that_sum_to_one():
    distances = np.random.default_rng(0).exponential(size=777)
    found = curve_features(distances)
    assert found.shape == (100,)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert found[50] / found[10] == pytest.approx(
        np.median(distances) / np.quantile(distances, 0.1), rel=1e-12
    )
    assert curve_features(np.zeros(60)).sum() == pytest.approx(1, abs=1e-12)


def test_inputs_stay_finite_where_ties_make_distances_zero():
    s = np.repeat([1, 0], [50, 200])
    scores = np.r_[np.ones(50), np.ones(150), np.zeros(50)]
    table = ScoreTable.from_arrays(s, scores)
    distances = distance_curve(table, 10, np.random.default_rng(0))
    assert (distances[:150] == 0).all()
    assert np.isfinite(network_inputs(distances, table)).all()


def test_shipped_network_is_small_and_intact(tmp_path):
    assert len(WEIGHTS.read_bytes()) < 200_000
    network = load_network("dist_curve")
    assert network.meta["target"] == "kappa"
    copy = tmp_path / "dist_curve.npz"
    with WEIGHTS.open("rb") as file, np.load(file) as stored:
        arrays = dict(stored)
    arrays["W1"][0, 0, 0] += 1e-3
    np.savez_compressed(copy, **arrays)
    with pytest.raises(InvalidInputError, match="checksum differs"):
        read_network(copy)
    copy.write_bytes(WEIGHTS.read_bytes())
    assert read_network(copy).meta == network.meta


@pytest.mark.parametrize("alpha", [0.05, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_separated_normals(alpha, seed):
    found = DistCurve(interval=None).fit_scores(*two_normals(seed, alpha))
    assert found.alpha_ == pytest.approx(alpha, abs=0.05)


@pytest.mark.parametrize("alpha", [0.0, 0.003, 1.0])
def test_estimates_never_reach_zero_or_one(alpha):
    found = DistCurve(interval=None).fit_scores(*two_normals(0, alpha)).alpha_
    assert 0 < found < 1
    assert found == pytest.approx(alpha, abs=0.05)


def test_reruns_are_identical_and_seeds_matter():
    s, scores = two_normals(0, 0.3, shift=2.0)
    first, again, other = (
        DistCurve(n_draws=5, random_state=seed).fit_scores(s, scores).estimate_
        for seed in (0, 0, 1)
    )
    assert first.alpha == again.alpha
    assert (first.draws == again.draws).all()
    assert first.alpha != other.alpha


def test_row_order_and_monotone_maps_change_nothing():
    s, scores = two_normals(0, 0.3, shift=2.0)
    scores = np.round(scores, 2)  # some ties
    expected = DistCurve(interval=None).fit_scores(s, scores).alpha_
    order = np.random.default_rng(1).permutation(len(s))
    for mapped in (scores[order], np.exp(scores[order]), np.arctan(scores[order]) / np.pi + 0.5):
        found = DistCurve(interval=None).fit_scores(s[order], mapped)
        assert found.alpha_ == expected


def test_many_rows_are_drawn_down_and_the_interval_knows():
    s, scores = two_normals(0, 0.25, n_labeled=20_000, n_unlabeled=60_000)
    found = DistCurve(n_draws=40).fit_scores(s, scores).estimate_
    assert found.alpha == pytest.approx(0.25, abs=0.03)
    assert (found.n_labeled, found.n_unlabeled) == (20_000, 60_000)
    few = DistCurve(n_draws=40).fit_scores(*two_normals(0, 0.25, 10_000, 10_000)).estimate_
    # Only 10,000 rows of each kind are used in both.
    assert np.ptp(found.interval) > 0.5 * np.ptp(few.interval)


def test_curve_shows_distances_over_the_share_taken_away():
    found = DistCurve(interval=None).fit_scores(*two_normals(0, 0.5)).estimate_
    assert len(found.curve.x) <= 500
    assert found.curve.x[-1] == 1.0
    assert (np.diff(found.curve.x) > 0).all()
    assert found.curve.marker == found.alpha
    assert (found.curve.lines["distance"] >= 0).all()


@pytest.mark.parametrize("n_runs", [0, -1, 2.5, "ten"])
def test_number_of_runs_is_checked(n_runs):
    with pytest.raises(InvalidInputError, match="n_runs"):
        DistCurve(n_runs=n_runs).fit_scores(*two_normals(0, 0.5))


@pytest.mark.parametrize(
    ("s", "scores", "message"),
    [
        (np.repeat([1, 0], [19, 100]), np.arange(119.0), "at least 20 labeled"),
        (np.repeat([1, 0], [30, 49]), np.arange(79.0), "at least 20 labeled"),
        (np.zeros(100, int), np.arange(100.0), "labeled"),
        (np.repeat([1, 0], [50, 100]), np.ones(150), "rows that differ"),
        (np.repeat([1, 0], [50, 100]), np.r_[np.nan, np.arange(149.0)], "finite"),
    ],
)
def test_bad_input_is_refused(s, scores, message):
    with pytest.raises(InvalidInputError, match=message):
        DistCurve().fit_scores(s, scores)


def test_smallest_samples_work():
    s, scores = two_normals(0, 0.3, n_labeled=20, n_unlabeled=50)
    found = DistCurve(n_draws=5).fit_scores(s, scores).estimate_
    assert 0 < found.alpha < 1
    assert len(found.warnings) >= 2
