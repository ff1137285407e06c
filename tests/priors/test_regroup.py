"""Regroup: which rows are copied, and what that does to the estimators it wraps."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.transform import honest_scores
from recoup.priors.base import checked_table
from recoup.priors.bbe import BBE
from recoup.priors.dedpul import DEDPUL
from recoup.priors.pe import PE
from recoup.priors.regroup import Regroup, regrouped, top_rows


def gaussians(like_positives, n_labeled=1000, n_unlabeled=1000, seed=0):
    rng = np.random.default_rng(seed)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    high = np.arange(len(s)) < n_labeled + round(like_positives * n_unlabeled)
    return s, rng.normal(np.where(high, 4.0, 0.0))


@pytest.mark.parametrize("base", [BBE(), DEDPUL()])
@pytest.mark.parametrize("alpha", [0.25, 0.5, 0.75])
def test_separable_data_with_few_rows_hardly_notice(base, alpha):
    s, scores = gaussians(alpha)
    plain = clone(base).set_params(interval=None).fit_scores(s, scores).alpha_
    found = Regroup(estimator=base, interval=None).fit_scores(s, scores).alpha_
    assert plain - 0.04 < found <= plain
    assert found == pytest.approx(alpha, abs=0.07)


@pytest.mark.parametrize("base", [BBE(), DEDPUL()])
def test_too_high_an_estimate_falls(base):
    # 40% positive; one negative in five looks like a positive, so that 52% could be positive.
    alpha, s, scores = 0.4, *gaussians(0.52, 6000, 12_000, seed=1)
    plain = clone(base).set_params(interval=None).fit_scores(s, scores).alpha_
    found = Regroup(estimator=base, interval=None).fit_scores(s, scores).alpha_
    assert plain == pytest.approx(0.52, abs=0.02)
    assert abs(found - alpha) < plain - alpha


def test_many_rows_reach_the_formula():
    kappa, frac = 0.5, 0.1
    s, scores = gaussians(kappa, 100_000, 100_000, seed=2)
    found = Regroup(frac=frac, interval=None).fit_scores(s, scores).alpha_
    assert found == pytest.approx((1 + frac) / (1 / kappa + 1), abs=0.02)


def test_table_gains_the_top_unlabeled_rows():
    s = np.repeat([1, 0], [50, 60])
    table = checked_table(s, np.concatenate([np.arange(50), np.arange(60)]), "test")
    equal = regrouped(table, 0.1)
    gained = equal.labeled - table.labeled
    # 6 rows, of which 50 / 60 are copied.
    assert gained.sum() == 5
    assert gained[:-6].sum() == 0
    np.testing.assert_array_equal(equal.unlabeled, table.unlabeled)
    np.testing.assert_array_equal(equal.scores, table.scores)


@pytest.mark.parametrize(("n_labeled", "n_copies"), [(400, 60), (200, 40), (30, 6)])
def test_rows_and_counts_agree(n_labeled, n_copies):
    rng = np.random.default_rng(3)
    s = np.repeat([1, 0], [n_labeled, 300])
    if n_labeled < 300:
        n_copies = math.ceil(60 * n_labeled / 300)
    scores = rng.integers(0, 40, len(s)).astype(float)
    copied = top_rows(s, scores, 0.2)
    assert len(copied) == len(set(copied)) == n_copies
    assert (s[copied] == 0).all()
    assert scores[copied].min() >= np.sort(scores[s == 0])[-60]
    table = checked_table(s, scores, "test")
    gained = regrouped(table, 0.2).labeled - table.labeled
    expected = np.array([(scores[copied] == value).sum() for value in table.scores])
    np.testing.assert_array_equal(gained, expected)


def test_wraps_estimators_of_features():
    s, scores = gaussians(0.5, 300, 600)
    X = np.column_stack([scores, np.random.default_rng(9).normal(size=len(s))])
    wrapper = Regroup(estimator=PE(), transform="logistic", n_draws=10)
    found = wrapper.fit(X, s).estimate_
    chosen = top_rows(s, honest_scores(X, s, "logistic", 0, "test").scores, 0.1)
    assert (scores[chosen] > 4).all()
    by_hand = PE(interval=None).fit(np.vstack([X, X[chosen]]), np.append(s, np.ones(len(chosen))))
    assert found.alpha == by_hand.alpha_
    assert found.method == "regroup"
    assert (found.n_labeled, found.n_unlabeled) == (300, 600)
    assert len(found.draws) == 10
    assert found.auc_pu > 0.7
    assert not hasattr(wrapper.estimator, "estimate_")
    given = Regroup(estimator=PE(), interval=None).fit_scores(s, scores).estimate_
    table = regrouped(checked_table(s, scores, "test"), 0.1)
    assert given.alpha == PE(interval=None).fit_scores(table).alpha_
    assert (given.n_labeled, given.transform) == (300, "given scores")


def test_default_is_bbe_without_its_bound():
    s, scores = gaussians(0.5)
    found = Regroup(n_draws=20).fit_scores(s, scores).estimate_
    same = Regroup(estimator=BBE(), n_draws=20).fit_scores(s, scores).estimate_
    assert (found.alpha, found.interval) == (same.alpha, same.interval)
    assert math.isnan(found.upper_limit)
    assert found.curve is not None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"frac": 0.0}, "frac"),
        ({"frac": 1.0}, "frac"),
        ({"estimator": "bbe"}, "prior estimator"),
        ({"estimator": DEDPUL(bandwidth_labeled=-1.0)}, "bandwidth"),
    ],
)
def test_bad_options(options, says):
    s, scores = gaussians(0.5)
    with pytest.raises(InvalidInputError, match=says):
        Regroup(**options).fit_scores(s, scores)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="at least 20 labeled"):
        Regroup().fit_scores(np.repeat([1, 0], [10, 100]), np.arange(110.0))
    with pytest.raises(InvalidInputError, match="rows that differ"):
        Regroup().fit_scores(np.repeat([1, 0], 100), np.full(200, 0.2))
