"""What an estimate says of itself."""

import json
import math

import numpy as np
import pytest

from recoup.priors import BBE, KM2, PriorEstimate, estimate


def rows(alpha=0.2, beta=1.0, alike=0.0, sizes=(400, 2000), seed=0):
    """Return labels, scores and classes; some negatives may be distributed as the positives."""
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], sizes)
    y = rng.random(len(s)) < np.where(s == 1, beta, alpha)
    high = y | (rng.random(len(s)) < alike)
    return s, rng.normal(2.5 * high), y


def test_a_prior_without_rows_has_no_shares_of_them():
    given = PriorEstimate(0.2, method="given")
    plain = given.to_dict()
    assert plain["pi"] == {"value": None, "low": None, "high": None}
    assert plain["label_frequency"] is None
    assert plain["alpha"] == 0.2
    assert given.identified is given.beta_interval is None
    assert given.scores_allow == ""
    assert "allow" not in repr(given)


class TestHidden:
    def test_it_is_alpha_times_the_unlabeled_rows(self):
        found = PriorEstimate(0.2, interval=(0.1, 0.4), n_labeled=100, n_unlabeled=1000)
        hidden = found.hidden
        assert (hidden.value, hidden.low, hidden.high) == (200, 100, 400)
        assert math.isnan(PriorEstimate(0.2, n_unlabeled=10).hidden.low)

    def test_it_holds_the_count(self):
        held = 0
        for seed in range(25):
            s, scores, y = rows(seed=seed)
            hidden = estimate(s, scores, beta=1.0).hidden
            held += hidden.low <= y[s == 0].sum() <= hidden.high
        assert held >= 22


class TestPi:
    def test_luck_of_labels_is_part_of_the_interval(self):
        sure = PriorEstimate(0.2, interval=(0.2, 0.2), n_labeled=250, n_unlabeled=750)
        assert sure.pi.value == pytest.approx(0.4)
        # The share of labels is 1/4 of 1,000 rows, and a label is worth 0.8 more positives.
        half = 1.96 * 0.8 * math.sqrt(0.25 * 0.75 / 1000)
        assert sure.pi.high - 0.4 == pytest.approx(half, rel=1e-3)
        assert 0.4 - sure.pi.low == pytest.approx(half, rel=1e-3)

    def test_errors_of_both_add_up_as_squares(self):
        sizes = {"n_labeled": 250, "n_unlabeled": 750}
        sure = PriorEstimate(0.2, interval=(0.2, 0.2), **sizes).pi
        wide = PriorEstimate(0.2, interval=(0.1, 0.3), **sizes).pi
        assert wide.high - 0.4 == pytest.approx(math.hypot(0.075, sure.high - 0.4))

    def test_pairs_are_used_as_pairs(self):
        rng = np.random.default_rng(0)
        error = rng.normal(0, 0.03, 4000)
        together, apart = (
            PriorEstimate(
                *(0.3, 0.8),
                interval=(0.24, 0.36),
                draws=np.column_stack([0.3 + error, 0.8 + sign * error]),
                n_labeled=50_000,
                n_unlabeled=50_000,
            ).pi
            for sign in (1, -1)
        )
        assert together.high - together.low > 10 * (apart.high - apart.low)

    def test_without_an_interval(self):
        pi = PriorEstimate(0.2, n_labeled=250, n_unlabeled=750).pi
        assert pi.value == pytest.approx(0.4)
        assert math.isnan(pi.low)
        assert math.isnan(pi.high)


class TestIdentified:
    def test_it_holds_where_every_estimate_is_too_high(self):
        for seed in range(5):
            s, scores, y = rows(alike=0.25, seed=seed)
            found = estimate(s, scores)
            assert found.interval[0] > y[s == 0].mean()
            assert found.identified[0] <= y[s == 0].mean() <= found.identified[1]

    def test_known_noise_lowers_it(self):
        s, scores, _ = rows(beta=0.8)
        plain, known = (estimate(s, scores, beta=beta).identified for beta in ("estimate", 0.8))
        assert known[1] == pytest.approx(0.8 * plain[1])

    def test_confidence_widens_it(self):
        s, scores, _ = rows()
        tops = [estimate(s, scores, confidence=level).identified[1] for level in (0.5, 0.95)]
        assert tops[0] < tops[1]

    def test_features_alone_have_none(self):
        s, scores, _ = rows(sizes=(60, 200))
        by_rows = KM2(interval=None).fit(scores[:, None], s).estimate_
        by_scores = KM2(interval=None).fit_scores(s, scores).estimate_
        assert by_rows.identified is None
        assert by_scores.identified == BBE(interval=None).fit_scores(s, scores).estimate_.identified

    def test_it_is_said(self):
        s, scores, _ = rows()
        found = estimate(s, scores)
        text = f"0 to {found.identified[1]:.2g}"
        assert f"scores allow {text})" in repr(found)
        assert f"The scores alone allow any alpha from {text}." in found.scores_allow
        assert found.scores_allow in found._repr_html_()


def test_beta_has_an_interval_where_it_is_estimated():
    s, scores, _ = rows(beta=0.8)
    found = estimate(s, scores, beta="estimate")
    low, high = found.beta_interval
    assert low < 0.8 < high
    assert estimate(s, scores, beta=0.8).beta_interval is None
    assert estimate(s, scores, method="bbe").beta_interval is None
    narrow = estimate(s, scores, beta="estimate", confidence=0.5).beta_interval
    assert low < narrow[0] < narrow[1] < high


def test_all_of_it_is_plain():
    s, scores, _ = rows(beta=0.8)
    found = estimate(s, scores, beta="estimate")
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["hidden"] == vars(found.hidden)
    assert plain["pi"] == vars(found.pi)
    assert plain["identified"] == list(found.identified)
    assert plain["beta_interval"] == list(found.beta_interval)
