"""Kinds of positives that are labeled at different rates, seen in the features."""

from __future__ import annotations

import numpy as np
import pytest

import recoup
from recoup.priors import PULSNAR, Auto, estimate
from recoup.priors._solvers.groups import group_chances, unit_columns
from recoup.priors.biased_labels import LEVEL, with_labels
from recoup.priors.kinds import (
    Kinds,
    described,
    find_kinds,
    heterogeneity,
    propensities,
    shrunk_shares,
)
from recoup.priors.share_net import QUANTILES

LEVELS = np.array(QUANTILES)


def two_kinds(rates, seed=0, n_each=400, n_negative=1200, n_columns=4):
    """Two kinds of positives around points on the axes, labeled at these rates."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1, 2], [n_each, n_each, n_negative])
    centers = np.zeros((3, n_columns))
    centers[0, 0], centers[1, 1] = 5.0, 5.0
    X = rng.normal(centers[kind])
    s = (rng.random(len(kind)) < np.array([*rates, 0.0])[kind]).astype(int)
    return X, s, kind


def made_kinds(shares, sizes, n_unlabeled=1000, spread=0.01):
    """Kinds whose shares are known up to a small spread."""
    shares = np.asarray(shares, float)
    quantiles = shares[:, None] * (1 + spread * (LEVELS - 0.5))
    chances = np.full((int(sum(sizes)) + n_unlabeled, 1 + len(sizes)), 0.5)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    return Kinds(groups, chances, np.asarray(sizes, float), n_unlabeled, quantiles)


def test_different_rates_are_flagged_and_alpha_allows_for_them():
    for seed in range(2):
        X, s, kind = two_kinds((0.6, 0.1), seed)
        truth = (kind[s == 0] < 2).mean()
        found = estimate(s, X=X, random_state=seed)
        plain = Auto(beta=1.0).fit_scores(s, 0.0 - np.linalg.norm(X, axis=1)).estimate_
        assert plain.labels is None
        assert found.labels.code == "kinds"
        assert found.labels.p_value <= LEVEL
        assert abs(found.alpha - truth) < 0.06
        assert found.interval[0] < truth < found.interval[1]
        assert "kinds" in found.members
        assert "kinds" in [note.code for note in found.warnings]
        assert found.identified is None
        rates = [each.label_frequency for each in found.labels.kinds]
        assert max(rates) == pytest.approx(0.6, abs=0.15)
        assert min(rates) == pytest.approx(0.1, abs=0.06)


def test_rates_that_are_equal_are_rarely_flagged():
    # Of 10 tests at 5%, more than 3 flag by chance in 0.1% of all runs; seeds are fixed.
    flags = []
    for seed in range(10):
        X, s, _ = two_kinds((0.3, 0.3), seed, n_each=150, n_negative=300)
        marks = unit_columns(X)
        kinds = find_kinds(marks, s, seed)
        if kinds.number > 1:
            rng = np.random.default_rng(seed)
            flags.append(heterogeneity(kinds, s, rng).p_value <= LEVEL)
    assert len(flags) > 5
    assert sum(flags) <= 3


def test_nothing_found_is_no_evidence_of_random_labels():
    X, s, _ = two_kinds((0.3, 0.3))
    found = estimate(s, X=X)
    assert found.labels.code == "cannot-tell"
    assert "no evidence of random labels" in found.labels.text
    assert "cannot be checked from these data; an audit of about 120 rows would" in str(
        found.labels
    )
    assert found.labels.propensity is None


def test_one_kind():
    rng = np.random.default_rng(0)
    X = rng.normal(np.repeat([[4.0, 0.0], [0.0, 0.0]], [300, 700], axis=0))
    s = ((np.arange(1000) < 300) & (rng.random(1000) < 0.3)).astype(int)
    found = estimate(s, X=X)
    plain = Auto(beta=1.0).fit(X, s).estimate_
    assert found.labels.code == "cannot-tell"
    assert found.alpha == plain.alpha
    assert len(found.labels.kinds) in (0, 2)


def test_few_labels_show_one_kind():
    X, s, _ = two_kinds((0.1, 0.05), n_each=300)
    s[np.flatnonzero(s)[30:]] = 0
    found = estimate(s, X=X)
    assert found.labels.kinds == ()
    assert np.isnan(found.labels.p_value)
    assert "one kind" in found.labels.text


def test_constant_and_strange_columns():
    X, s, _ = two_kinds((0.6, 0.1))
    with_constant = np.column_stack([X, np.full(len(X), 7.0)])
    assert estimate(s, X=with_constant).labels.code == "kinds"
    plain = Auto(beta=1.0).fit_scores(s, X[:, 0] + X[:, 1]).estimate_
    rng = np.random.default_rng(0)
    for rows in (np.full_like(X, 3.0), np.array([["a"]] * len(X)), X * np.nan):
        found = with_labels(plain, rows, s, rng)
        assert found.labels.code == "cannot-tell"
        assert found.alpha == plain.alpha


def test_scores_alone_change_nothing():
    X, s, _ = two_kinds((0.6, 0.1))
    scores = X[:, 0] + X[:, 1]
    by_scores, by_column = (
        estimate(s, scores),
        estimate(s, X=scores[:, None], transform=None),
    )
    assert by_scores.labels is by_column.labels is None
    assert "labels" not in by_scores.to_dict()
    assert by_scores.alpha == by_column.alpha


def test_wrong_labels_are_not_looked_into():
    X, s, _ = two_kinds((0.6, 0.1))
    found = estimate(s, X=X, beta=0.9)
    assert found.beta == 0.9
    assert found.labels.code == "cannot-tell"


def test_known_negatives_are_left_out():
    X, s, kind = two_kinds((0.6, 0.1))
    s[np.flatnonzero(kind == 2)[:50]] = -1
    found = estimate(s, X=X)
    assert found.labels.code == "kinds"
    assert len(found.labels.propensity) == len(s)


def test_propensities_stand_in_for_alpha():
    X, s, kind = two_kinds((0.6, 0.1), n_each=500)
    scores = 1 / (1 + np.exp(5 - X[:, 0] - X[:, 1]))
    truth = float((scores[kind < 2] >= 0.5).mean())
    found = estimate(s, X=X)
    evaluation = recoup.evaluate(s, scores, propensity=found.labels.propensity)
    assert evaluation.alpha == pytest.approx((kind[s == 0] < 2).mean(), abs=0.06)
    assert evaluation["recall"].recovered == pytest.approx(truth, abs=0.05)
    # Each kind gets its own rate.
    means = [found.labels.propensity[(kind == k) & (s == 1)].mean() for k in (0, 1)]
    assert means[0] > 3 * means[1]


def test_shrinking_ends_at_the_common_rate_and_at_the_sum():
    kinds = made_kinds([0.1, 0.3], [100, 100])
    common = np.log([0.5])
    assert shrunk_shares(kinds, common, 0.0)[0] == pytest.approx(0.2)
    assert shrunk_shares(kinds, common, 1e9)[0] == pytest.approx(0.4, rel=1e-3)
    between = [shrunk_shares(kinds, common, tau)[0] for tau in (0.01, 0.1, 1.0)]
    assert between == sorted(between)


def test_propensity_of_a_row_of_one_kind_is_the_rate_of_that_kind():
    kinds = made_kinds([0.1, 0.3], [100, 100])
    chances = np.array([[0.2, 0.8, 0.0], [0.2, 0.0, 0.8], [0.0, 0.5, 0.5]])
    kinds = Kinds(kinds.groups, chances, kinds.sizes, kinds.n_unlabeled, kinds.shares)
    found = propensities(kinds)
    np.testing.assert_allclose(found[:2], [0.5, 0.25], rtol=1e-4)
    # As many labeled rows of both kinds stand for 2 and 4 positives each.
    assert found[2] == pytest.approx(1 / 3, rel=1e-4)


def test_finding_as_table_and_text():
    kinds = described(made_kinds([0.1, 0.3], [100, 100]))
    assert [each.label_frequency for each in kinds] == pytest.approx([0.5, 0.25], rel=1e-3)
    X, s, _ = two_kinds((0.6, 0.1))
    labels = estimate(s, X=X).labels
    frame = labels.to_frame()
    assert list(frame["n_labeled"]) == [each.n_labeled for each in labels.kinds]
    assert frame["n_labeled"].sum() == s.sum()
    assert labels.to_dict()["code"] == "kinds"
    assert repr(labels).startswith("LabelSelection('kinds', p=0.0")
    assert "share labeled" in labels._repr_html_()


def test_chances_come_from_trees_that_have_not_seen_the_row():
    # Labels that features tell nothing about: trees that had seen them would rank them first.
    rng = np.random.default_rng(0)
    s = (rng.random(600) < 0.3).astype(int)
    chances = group_chances(rng.normal(size=(600, 3)), s, np.zeros(s.sum(), int), 0)
    assert abs(chances[s == 1, 1].mean() - chances[s == 0, 1].mean()) < 0.06


def test_pulsnar_takes_its_interval_from_the_groups():
    X, s, kind = two_kinds((0.6, 0.1))
    found = PULSNAR().fit(X, s).estimate_
    low, high = found.interval
    assert found.interval_method == "network"
    assert low < (kind[s == 0] < 2).mean() < high
