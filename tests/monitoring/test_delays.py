"""How long labels take: the product limit in reverse time, and what delays depend on."""

import numpy as np
import pytest

from recoup.monitoring.delays import NO_DELAY, delay_distribution, mean_shares


def draw(rng, n=3000, mean=4.0, longest=12.0, scores=None):
    """Delays that are seen because they are shorter than the age of their rows."""
    age = rng.uniform(0, longest, n)
    taken = rng.exponential(mean, n) * (1.0 if scores is None else np.exp(0.6 * scores))
    seen = taken <= age
    return taken[seen], age[seen], None if scores is None else scores[seen]


def log_likelihood(shares_of, taken, age):
    """Of delays, given that they are shorter than the ages."""
    points = np.unique(taken)
    jumps = np.diff(np.concatenate([[0.0], shares_of(points)]))
    return np.sum(np.log(jumps[np.searchsorted(points, taken)] / shares_of(age)))


def test_no_other_distribution_is_likelier():
    rng = np.random.default_rng(0)
    taken, age, _ = draw(rng, 400)
    taken = np.ceil(taken)
    keep = taken <= age
    found = delay_distribution(taken[keep], age[keep])
    points = np.unique(taken[keep])
    best = log_likelihood(found.share_by, taken[keep], age[keep])
    jumps = np.diff(np.concatenate([[0.0], found.share_by(points)]))
    for _ in range(50):
        moved = jumps * np.exp(0.1 * rng.normal(size=len(jumps)))
        sums = np.cumsum(moved / moved.sum())

        def other(at, sums=sums):
            place = np.searchsorted(points, at, side="right")
            return np.concatenate([[0.0], sums])[place]

        assert log_likelihood(other, taken[keep], age[keep]) <= best + 1e-9


def test_labels_that_are_still_out_are_made_up_for():
    rng = np.random.default_rng(1)
    taken, age, _ = draw(rng, 40_000, mean=3.0, longest=20.0)
    found = delay_distribution(taken, age)
    at = np.array([1.0, 3.0, 6.0, 10.0])
    np.testing.assert_allclose(found.share_by(at), 1 - np.exp(-at / 3), atol=0.012)
    # Without a look at what is out, short delays would seem more frequent.
    assert np.mean(taken <= 3) > found.share_by(3.0) + 0.03
    assert found.share_by(0.0) == 0
    assert found.share_by(found.horizon) == 1
    assert found.quantile(0.5) == pytest.approx(3 * np.log(2), abs=0.15)


def test_errors_are_as_large_as_they_are_said_to_be():
    rng = np.random.default_rng(2)
    # Beyond 11 there is hardly anything to compare with, so that the whole is what comes by 10.
    at, off = np.array([1.0, 4.0, 8.0]), []
    for _ in range(200):
        taken, age, _ = draw(rng, 700)
        inside = taken <= 10
        found = delay_distribution(taken[inside], np.minimum(age[inside], 11))
        true = np.log((1 - np.exp(-at / 4)) / (1 - np.exp(-10 / 4)))
        error = np.sqrt(found.log_variance_at(at))
        off.append((np.log(found.share_by(at)) - true) / error)
    assert 0.85 < np.std(off) < 1.15
    assert np.abs(np.mean(off, axis=0)).max() < 0.25


@pytest.mark.parametrize(("depends", "low", "high"), [(False, 0.02, 0.09), (True, 0.95, 1.0)])
def test_delays_are_tested_against_the_score(depends, low, high):
    rng = np.random.default_rng(3)
    rejected = []
    for _ in range(300):
        scores = rng.normal(size=600)
        taken, age, kept = draw(rng, 600, scores=scores if depends else 0 * scores)
        kept = kept if depends else rng.normal(size=len(taken))
        found = delay_distribution(taken, age, kept)
        rejected.append(found.score_p < 0.05)
        if depends:
            assert found.score_trend > 0
    assert low <= np.mean(rejected) <= high


def test_labels_that_become_slower_are_noticed():
    rng = np.random.default_rng(4)
    age = rng.uniform(0, 30, 4000)
    taken = rng.exponential(np.where(age < 15, 6.0, 3.0))
    seen = taken <= age
    found = delay_distribution(taken[seen], age[seen])
    assert found.time_p < 1e-4
    assert found.time_trend > 3


def test_means_over_periods_leave_periods_without_rows_alone():
    found = delay_distribution(np.array([1.0, 2.0] * 20), np.full(40, 5.0))
    shares, variances = mean_shares(
        found, np.array([0.5, 1.5, 2.0]), np.array([2, 0, 0]), n_periods=3
    )
    np.testing.assert_allclose(shares, [0.75, 1.0, 0.0])
    assert variances[1] == 0
    np.testing.assert_array_equal(mean_shares(NO_DELAY, np.ones(1), np.zeros(1, int), 1)[0], [1])


def test_a_delay_distribution_can_be_taken_away():
    rng = np.random.default_rng(5)
    found = delay_distribution(*draw(rng, 300, scores=rng.normal(size=300)))
    frame = found.to_frame()
    assert (frame["lower"] <= frame["share"]).all()
    assert (frame["share"] <= frame["upper"]).all()
    plain = found.to_dict()
    assert plain["n_labels"] == found.n_labels
    assert len(plain["ages"]) == len(frame)
    assert "longest age" in found._repr_html_()
    assert repr(found).startswith("DelayDistribution(half of the labels by")
