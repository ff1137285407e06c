"""PULSNAR where labels favor one kind of positives."""

from __future__ import annotations

import numpy as np
import pytest

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.groups import labeled_groups
from recoup.priors.pulscar import PULSCAR
from recoup.priors.pulsnar import PULSNAR

FAST = {"transform": "logistic", "max_groups": 4}


def kinds(labeled=(360, 40), unlabeled=(100, 300), n_negative=1000, seed=0):
    """Kinds of positives around points on the axes, negatives around the origin."""
    rng = np.random.default_rng(seed)
    centers = np.zeros((len(labeled) + 1, 4))
    centers[np.arange(len(labeled)), np.arange(len(labeled))] = 5.0
    kind = np.concatenate(
        [
            np.repeat(np.arange(len(labeled)), labeled),
            np.repeat(np.arange(len(labeled) + 1), [*unlabeled, n_negative]),
        ]
    )
    s = np.repeat([1, 0], [sum(labeled), sum(unlabeled) + n_negative])
    return rng.normal(centers[kind]), s, kind


def test_favored_kind():
    errors, plain_errors = [], []
    for seed in range(2):
        X, s, kind = kinds(seed=seed)
        truth = (kind[s == 0] < 2).mean()
        found = PULSNAR(**FAST).fit(X, s)
        errors.append(found.alpha_ - truth)
        plain = PULSCAR(transform="logistic", interval=None).fit(X, s)
        plain_errors.append(plain.alpha_ - truth)
    assert np.mean(np.abs(errors)) < 0.05
    # Labels at random would have to be few among the kind that is hardly labeled.
    assert np.mean(plain_errors) < -0.08


def test_groups_are_the_kinds():
    X, s, kind = kinds((200, 60, 100), (100, 100, 100))
    found = PULSNAR(**FAST).fit(X, s)
    assert found.groups_.shape == (360,)
    pairs = set(zip(found.groups_.tolist(), kind[s == 1].tolist(), strict=True))
    assert len(set(found.groups_)) == 3
    # A few rows between two kinds may go either way.
    main = [
        np.bincount(kind[s == 1][found.groups_ == group]).max() / (found.groups_ == group).sum()
        for group in range(3)
    ]
    assert min(main) > 0.97
    assert len(pairs) <= 6
    assert list(found.estimate_.members) == [
        f"group {group + 1} ({(found.groups_ == group).sum()} labeled)" for group in range(3)
    ]


def test_alpha_is_the_sum_of_its_groups():
    X, s, _ = kinds()
    found = PULSNAR(**FAST).fit(X, s).estimate_
    assert found.alpha == pytest.approx(sum(found.members.values()))
    np.testing.assert_allclose(
        found.curve.lines["sum of shares"], np.cumsum([*found.members.values()])
    )


def test_one_group_is_pulscar_for_labels_at_random():
    X, s, kind = kinds((300,), (400,), 1000)
    found = PULSNAR(transform="logistic", max_groups=1).fit(X, s)
    assert set(found.groups_) == {0}
    assert found.alpha_ == pytest.approx((kind[s == 0] == 0).mean(), abs=0.05)


def test_groups_are_never_tiny():
    rng = np.random.default_rng(0)
    scaled = np.concatenate([rng.normal(size=(45, 2)), rng.normal(5, 0.01, size=(5, 2))])
    scaled = np.concatenate([scaled, rng.normal(-3, 1, size=(200, 2))])
    groups = labeled_groups(scaled, np.repeat([1, 0], [50, 200]), 10, 0)
    assert np.bincount(groups).min() >= 20


def test_one_column_shows_no_groups():
    X, s, _ = kinds()
    scores = X[:, 0] + X[:, 1]
    found = PULSNAR().fit_scores(s, scores)
    plain = PULSCAR(interval=None).fit_scores(s, scores)
    assert found.alpha_ == plain.alpha_
    assert "One column shows no groups" in found.estimate_.warnings[-1]


def test_interval_on_demand():
    X, s, _ = kinds((60, 40), (60, 60), 200)
    plain = PULSNAR(transform="logistic", max_groups=2, interval=None).fit(X, s)
    assert plain.estimate_.interval is None
    drawn = PULSNAR(transform="logistic", max_groups=2, interval="bootstrap", n_draws=2).fit(X, s)
    low, high = drawn.estimate_.interval
    assert low <= drawn.alpha_ == plain.alpha_ <= high
    np.testing.assert_array_equal(drawn.groups_, plain.groups_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_groups": 0}, "max_groups to be a whole number of at least 1"),
        ({"transform": None}, "needs transform to be .* a classifier with fit"),
        ({"transform": "magic"}, "needs transform"),
        ({"confidence": 95}, "confidence"),
    ],
)
def test_bad_options(options, message):
    X, s, _ = kinds((60, 40), (60, 60), 200)
    with pytest.raises(InvalidInputError, match=message):
        PULSNAR(**options).fit(X, s)


def test_bad_rows():
    X, s, _ = kinds((60, 40), (60, 60), 200)
    missing = X.copy()
    missing[0, 0] = np.inf
    with pytest.raises(InvalidInputError, match="finite numbers"):
        PULSNAR().fit(missing, s)
    with pytest.raises(InvalidInputError, match="at least 20 labeled"):
        PULSNAR().fit(X[50:], np.append(np.ones(5, int), np.zeros(len(X) - 55, int)))
    with pytest.raises(InvalidInputError, match="rows that differ"):
        PULSNAR().fit(np.zeros_like(X), s)
