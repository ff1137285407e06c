"""Values that NumPy would change in silence are refused, wherever arrays come in."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import recoup
from recoup._core.checks import as_floats, as_numbers, as_vector, label_masks
from recoup._core.registry import registered
from recoup.data import PUDataset
from recoup.exceptions import InvalidInputError
from recoup.metrics import balanced_accuracy, make_scorer, observed_rates, roc_auc
from recoup.metrics.bounds import roc_bounds
from recoup.priors import estimate, scar_test
from recoup.scores import ScoreTable, crossfit

N = 400
RNG = np.random.default_rng(0)
S = (np.arange(N) % 4 == 0).astype(int)
P = np.round(RNG.random(N) * 0.8 + 0.2 * S, 6)
BIG = 2**53


def masked(values, at=3):
    mask = np.zeros(len(values), bool)
    mask[at] = True
    return np.ma.array(values, mask=mask)


class Saying(ClassifierMixin, BaseEstimator):
    """A classifier whose answers are given."""

    def __init__(self, answers):
        self.answers = answers

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return self.answers


HOSTILE = {
    "masked": (masked, "1 masked ones of 400"),
    "complex": (lambda values: values + 1j, "of type complex128"),
    "objects with a complex number": (
        lambda values: np.array([1j, *values[1:]], object),
        "1j of type object",
    ),
    "text": (lambda values: values.astype(str), "of type <U"),
    "text as objects": (lambda values: values.astype(str).astype(object), "of type object"),
    "dates": (
        lambda values: (values * 1e6).astype("int64").astype("datetime64[s]"),
        "of type datetime64[s]",
    ),
    "spans of time": (
        lambda values: (values * 1e6).astype("int64").astype("timedelta64[s]"),
        "of type timedelta64[s]",
    ),
    "spans of time as objects": (
        lambda values: np.array([np.timedelta64(1, "s"), *values[1:]], object),
        "of type object",
    ),
    "large whole numbers": (lambda values: BIG + (values * 1e6).astype("int64"), "below 2**53"),
    "large negative numbers": (lambda values: -BIG - (values * 1e6).astype("int64"), "2**53"),
    "unsigned whole numbers": (
        lambda values: np.uint64(2**63) + (values * 1e6).astype("uint64"),
        "below 2**53",
    ),
    "whole numbers as objects": (
        lambda values: np.array([BIG + i for i in range(len(values))], object),
        "below 2**53",
    ),
    "long decimals": (
        lambda values: np.array([1 + Decimal(i) / 10**20 for i in range(len(values))], object),
        "15 digits",
    ),
    "a missing value of pandas": (
        lambda values: np.array([pd.NA, *values[1:]], object),
        "Got <NA>",
    ),
}
hostile = pytest.mark.parametrize(("spoil", "words"), HOSTILE.values(), ids=HOSTILE.keys())

TAKES = {
    "evaluate": lambda bad: recoup.evaluate(S, bad, alpha=0.2, n_boot=0),
    "evaluate, weights": lambda bad: recoup.evaluate(S, P, alpha=0.2, n_boot=0, sample_weight=bad),
    "evaluate, propensity": lambda bad: recoup.evaluate(S, P, propensity=bad, n_boot=0),
    "compare": lambda bad: recoup.compare(S, {"a": P, "b": bad}, alpha=0.2, n_boot=10),
    "ScoreTable": lambda bad: ScoreTable.from_arrays(S, bad),
    "ScoreTable, weights": lambda bad: ScoreTable.from_arrays(S, P, sample_weight=bad),
    "estimate": lambda bad: estimate(S, bad),
    "fit_scores": lambda bad: recoup.priors.ElkanNoto().fit_scores(S, bad),
    "scar_test": lambda bad: scar_test(bad, S, classifier=None, alpha=0.2),
    "roc_auc": lambda bad: roc_auc(S, bad, alpha=0.2),
    "balanced_accuracy": lambda bad: balanced_accuracy(S, bad, alpha=0.2),
    "observed_rates": lambda bad: observed_rates(S, bad),
    "bounds": lambda bad: roc_bounds(S, bad, alpha=0.2),
    "PUDataset": lambda bad: PUDataset(P[:, None], S, propensity=bad),
    "scorer": lambda bad: make_scorer("roc_auc", alpha=0.2)(
        Saying(bad).fit(P[:, None], S), P[:, None], S
    ),
}


@hostile
@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES.keys())
def test_every_entry_refuses_what_would_change(take, spoil, words):
    with pytest.raises(InvalidInputError) as caught:
        take(spoil(P))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


LABELS = {
    "masked": lambda s: masked(s),
    "complex": lambda s: s + 5j,
    "dates": lambda s: s.astype("datetime64[s]"),
    "spans of time": lambda s: s.astype("timedelta64[s]"),
    "missing": lambda s: pd.Series([pd.NA, *s[1:]], dtype="Int64"),
    "large": lambda s: np.where(s == 1, 2**62 + 1, s),
    "beyond floats": lambda s: np.array([10**400, *s[1:]], object),
}


@pytest.mark.parametrize("spoil", LABELS.values(), ids=LABELS.keys())
@pytest.mark.parametrize(
    "take",
    [
        lambda s: recoup.evaluate(s, P, alpha=0.2, n_boot=0),
        lambda s: recoup.compare(s, {"a": P, "b": -P}, alpha=0.2, n_boot=10),
        lambda s: ScoreTable.from_arrays(s, P),
        lambda s: estimate(s, P),
        lambda s: scar_test(P, s, classifier=None, alpha=0.2),
        lambda s: crossfit(Saying(P), P[:, None], s),
        lambda s: PUDataset(P[:, None], s),
        lambda s: label_masks(s, "x"),
    ],
)
def test_labels_that_would_change_are_refused(take, spoil):
    with pytest.raises(InvalidInputError, match=r"masked ones|needs labels to be 1"):
        take(spoil(S))


ALPHAS = {
    "masked": np.ma.array([0.1, 0.2, 0.3], mask=[0, 1, 0]),
    "complex": np.array([0.1 + 0.5j, 0.2, 0.3]),
    "text": ["0.1", "0.2", "0.3"],
    "spans of time": np.array([0, 0, 0], "timedelta64[s]"),
}


@pytest.mark.parametrize("alpha", ALPHAS.values(), ids=ALPHAS.keys())
def test_alphas_that_would_change_are_refused(alpha):
    evaluation = recoup.evaluate(S, P, alpha=0.2, n_boot=0)
    test = scar_test(P, S, classifier=None, alpha=0.2)
    takes = [
        lambda: recoup.evaluate(S, P, alpha=alpha, n_boot=0),
        lambda: recoup.evaluate(S, P, alpha=SimpleNamespace(alpha=0.2, draws=alpha), n_boot=0),
        lambda: recoup.compare(S, {"a": P, "b": -P}, alpha=alpha, n_boot=10),
        lambda: evaluation.sensitivity(alpha),
        lambda: evaluation.selection_sensitivity(alpha),
        lambda: test.p_values(alpha),
        lambda: roc_bounds(S, P, alpha=alpha),
    ]
    for take in takes:
        with pytest.raises(InvalidInputError, match=r"masked ones|to be numbers"):
            take()


def test_answers_of_a_classifier_that_would_change_are_refused():
    with pytest.raises(InvalidInputError, match="decision_function of Saying"):
        crossfit(Saying(masked(P[:80])), P[:, None], S)


SAME = {
    "no row masked": lambda values: np.ma.array(values),
    "decimals": lambda values: np.array([Decimal(str(value)) for value in values], object),
    "fractions": lambda values: np.array([Fraction(value) for value in values], object),
    "objects": lambda values: values.astype(object),
    "longer floats": lambda values: values.astype(np.longdouble),
    "pandas": lambda values: pd.Series(values, dtype="Float64"),
    "pandas, arrow": lambda values: pd.Series(values, dtype="double[pyarrow]"),
    "polars": lambda values: pl.Series(values),
    "pyarrow": lambda values: pa.chunked_array([values]),
    "list": lambda values: values.tolist(),
    "column": lambda values: values[:, None],
}


@pytest.mark.parametrize("wrap", SAME.values(), ids=SAME.keys())
def test_numbers_in_any_wrapping_stay_the_same(wrap):
    assert as_numbers(wrap(P), "p", "x").tolist() == P.tolist()


@pytest.mark.parametrize("kind", ["int64", "uint64", object])
def test_whole_numbers_are_taken_up_to_the_limit(kind):
    exact = np.array([BIG - 1, BIG - 2], kind)
    assert as_numbers(exact, "p", "x").tolist() == [BIG - 1, BIG - 2]
    with pytest.raises(InvalidInputError, match=f"Got {BIG + 1}"):
        as_numbers(np.array([BIG + 1, BIG, 5], kind), "p", "x")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long doubles are doubles here")
def test_longer_floats_that_floats_cannot_tell_apart():
    one = np.longdouble(1)
    close = np.array([one, np.nextafter(one, 2 * one)])
    with pytest.raises(InvalidInputError, match="tell apart"):
        as_numbers(close, "p", "x")


def test_floats_are_not_copied():
    assert np.shares_memory(as_numbers(P, "p", "x"), P)
    assert np.shares_memory(as_vector(np.ma.array(P), "p", "x"), P)
    assert as_floats([], "p", "x").shape == (0,)
    assert as_floats(np.array([], "int64"), "p", "x").shape == (0,)


def masked_rows():
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [60, 240])
    X = rng.normal(s[:, None], 1.0, size=(300, 3))
    return np.ma.array(X, mask=X > 2), s


@pytest.mark.parametrize("key", ["naive", "pu-aul", "puet", "nnpu", "elkan-noto"])
def test_masked_features_of_learners_are_refused(key):
    X, s = masked_rows()
    learner = recoup.learners.make(key, **({} if key == "elkan-noto" else {"alpha": 0.2}))
    with pytest.raises(InvalidInputError, match=r"\.fit needs a value in every row of X"):
        learner.fit(X, s)
    if key == "naive":
        learner.fit(X.data, s)
        with pytest.raises(InvalidInputError, match=r"\.predict needs a value in every row of X"):
            learner.predict_proba(X)


@pytest.mark.parametrize("key", ["bbe", "km2"])
def test_masked_features_of_prior_estimators_are_refused(key):
    X, s = masked_rows()
    estimator = registered("priors")[key](random_state=0)
    with pytest.raises(InvalidInputError, match=r"needs a value in every row of X\. Got .* masked"):
        estimator.fit(X, s)


def test_masked_features_are_refused_wherever_rows_come_in():
    X, s = masked_rows()
    for call in (
        lambda: crossfit(LogisticRegression(), X, s),
        lambda: PUDataset(X, s, scheme="single-sample"),
        lambda: scar_test(X, s, alpha=0.2),
    ):
        with pytest.raises(InvalidInputError, match="needs a value in every row of X"):
            call()
