"""Ranges and draws of alpha are types, and plain numbers still mean what they meant."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import recoup
from recoup import Draws, Interval, compare, evaluate
from recoup._core.prior import Prior
from recoup.exceptions import InvalidInputError
from recoup.learners import Naive, TunedThreshold
from recoup.metrics import bounds, make_scorer
from recoup.priors import PriorEstimate
from recoup.selection import scar_test


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    y = rng.random(3000) < 0.4
    s = (y & (rng.random(3000) < 0.4)).astype(int)
    return s, rng.normal(2.0 * y)


BETAS = np.linspace(0.9, 1.0, 40)
ALPHAS = np.random.default_rng(0).uniform(0.2, 0.3, 40)


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ({"alpha": Interval(0.2, 0.3)}, {"alpha": (0.2, 0.3)}),
        ({"alpha": Interval(0.2, 0.3)}, {"alpha": [0.3, 0.2]}),
        ({"alpha": Interval(0.2, 0.3), "beta": 0.9}, {"alpha": (0.2, 0.3), "beta": 0.9}),
        ({"alpha": Draws(ALPHAS)}, {"alpha": ALPHAS}),
        ({"alpha": Draws(ALPHAS), "beta": 0.95}, {"alpha": list(ALPHAS), "beta": 0.95}),
        ({"alpha": Draws(ALPHAS, BETAS)}, {"alpha": ALPHAS, "beta": BETAS}),
    ],
)
def test_plain_numbers_mean_the_same(rows, typed, plain):
    one, other = (evaluate(*rows, n_boot=60, **known) for known in (typed, plain))
    assert one.to_dict() == other.to_dict()


def test_two_draws_are_no_interval(rows):
    draws, interval = (evaluate(*rows, n_boot=60, alpha=a) for a in (Draws([0.2, 0.3]), (0.2, 0.3)))
    assert draws.alpha == interval.alpha == 0.25
    assert draws.prior.interval is None
    assert list(draws.prior.alpha_draws) == [0.2, 0.3]
    assert interval.prior.interval == (0.2, 0.3)


def test_draws_agree_with_an_estimate_that_has_them(rows):
    pairs = np.column_stack([ALPHAS, BETAS])
    middle = [float(np.median(values)) for values in (ALPHAS, BETAS)]
    given = PriorEstimate(*middle, draws=pairs, method="bbe")
    one, other = (evaluate(*rows, n_boot=60, alpha=a) for a in (given, Draws(ALPHAS, BETAS)))
    assert one["roc_auc"].upper == other["roc_auc"].upper


def test_compare(rows):
    s, scores = rows
    both = {"a": scores, "b": scores + np.random.default_rng(1).normal(size=len(s))}
    one, other = (compare(s, both, alpha=a, n_boot=30) for a in (Interval(0.2, 0.3), (0.2, 0.3)))
    assert one.to_dict() == other.to_dict()


def test_bounds(rows):
    s, scores = rows
    plain = bounds.area_bounds("roc_auc", s, scores, alpha=(0.2, 0.3))
    assert bounds.area_bounds("roc_auc", s, scores, alpha=Interval(0.2, 0.3)) == plain
    low, high = np.quantile(ALPHAS, [0.025, 0.975])
    plain = bounds.area_bounds("roc_auc", s, scores, alpha=(low, high))
    assert bounds.area_bounds("roc_auc", s, scores, alpha=Draws(ALPHAS)) == plain
    estimate = PriorEstimate(0.25, 1.0, interval=(0.2, 0.3), method="bbe")
    plain = bounds.area_bounds("roc_auc", s, scores, alpha=(0.2, 0.3))
    assert bounds.area_bounds("roc_auc", s, scores, alpha=estimate) == plain


@pytest.mark.parametrize(
    ("stated", "number"),
    [(Interval(0.2, 0.3), 0.25), (Draws(ALPHAS), float(np.median(ALPHAS)))],
)
def test_one_number_where_one_is_needed(rows, stated, number):
    s, scores = rows
    X = scores[:, None]
    learned, known = (Naive(alpha=a, random_state=0).fit(X, s) for a in (stated, number))
    assert learned.alpha_ == number
    np.testing.assert_array_equal(learned.predict_proba(X), known.predict_proba(X))
    assert clone(learned).alpha is not None
    model = LogisticRegression().fit(X, s)
    judged = [make_scorer("f1", alpha=a)(model, X, s) for a in (stated, number)]
    assert judged[0] == judged[1]
    tuned = [TunedThreshold(model, alpha=a, random_state=0).fit(X, s) for a in (stated, number)]
    assert tuned[0].threshold_ == tuned[1].threshold_
    lowest = Prior.of(stated, 1.0, "f").range[0]
    found = [scar_test(X, s, alpha=a, n_resamples=19) for a in (stated, lowest)]
    assert found[0].p_value == found[1].p_value


def test_learners_take_labels_as_right(rows):
    s, scores = rows
    with pytest.raises(InvalidInputError, match=r"^Naive.fit takes every label as right. Got Draw"):
        Naive(alpha=Draws(ALPHAS, BETAS)).fit(scores[:, None], s)


def test_scorers_take_the_beta_of_draws(rows):
    s, scores = rows
    model = LogisticRegression().fit(scores[:, None], s)
    middle = {"alpha": float(np.median(ALPHAS)), "beta": float(np.median(BETAS))}
    judged = [
        make_scorer("f1", **known)(model, scores[:, None], s)
        for known in ({"alpha": Draws(ALPHAS, BETAS)}, middle)
    ]
    assert judged[0] == judged[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(0.3, 0.2), "low to be at most high. Got 0.3 and 0.2"),
        (lambda: Interval(0.3, 30), "high to be a number of at least 0 and at most 1: .* Got 30"),
        (lambda: Interval("a", 1), "low to be a number .* Got 'a'"),
        (lambda: Interval(float("nan"), 1), "Got nan"),
        (lambda: Draws([]), "alpha to hold numbers from 0 to 1: .* Got none"),
        (lambda: Draws([0.2, 1.2]), "alpha to hold numbers from 0 to 1: .* Got 1.2"),
        (lambda: Draws([0.2, np.nan]), "Got nan"),
        (lambda: Draws([0.2, 0.3], [0.9, -1]), "beta to hold numbers .* Got -1"),
        (lambda: Draws([0.2, 0.3], [0.9]), "as many values of beta as of alpha. Got 1 and 2"),
        (lambda: Draws([[0.2, 0.3]]), r"one value per row. Got shape \(1, 2\)"),
        (lambda: Draws(["a"]), "numbers. Got a"),
    ],
)
def test_what_is_no_share_is_refused(make, message):
    with pytest.raises(InvalidInputError, match=message) as refused:
        make()
    assert str(refused.value).startswith(("Interval needs", "Draws needs"))


@pytest.mark.parametrize(
    ("alpha", "beta", "message"),
    [
        (Interval(0.2, 1.0), 1.0, "0 <= alpha < beta <= 1"),
        (Interval(0.2, 0.6), 0.5, "0 <= alpha < beta <= 1"),
        (Interval(0.2, 0.3), [0.9, 0.8], "one number for beta"),
        (Draws([0.2, 0.3], [0.9, 0.8]), 0.9, "one number for beta"),
        (Draws([0.2, 0.9], [0.9, 0.8]), 1.0, "0 <= alpha < beta <= 1"),
        (Draws([0.2, 0.3]), "estimate", "estimates beta together with alpha only"),
    ],
)
def test_beta_must_fit(rows, alpha, beta, message):
    with pytest.raises(InvalidInputError, match=f"^evaluate .*{message}"):
        evaluate(*rows, alpha=alpha, beta=beta)


def test_they_are_values():
    assert Interval(0.2, np.float64(0.3)) == Interval(0.2, 0.3)
    assert hash(Interval(0.2, 0.3)) == hash(Interval(0.2, 0.3))
    assert repr(Draws(ALPHAS, BETAS)).startswith("Draws(alpha=0.2")
    assert repr(Draws(ALPHAS, BETAS)).endswith(", beta=0.95, n=40)")
    for again in (copy.deepcopy(Draws(ALPHAS)), pickle.loads(pickle.dumps(Draws(ALPHAS)))):
        np.testing.assert_array_equal(again.alpha, ALPHAS)
    assert {"Interval", "Draws"} <= set(recoup.__all__)
