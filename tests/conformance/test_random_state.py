"""Whatever has a ``random_state`` takes it as scikit-learn does."""

import inspect
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import recoup
from recoup._core.constraints import RANDOM_STATE, constraints_of
from recoup._core.registry import registered
from recoup.bench.ranking import rank_learners
from recoup.exceptions import InvalidInputError
from recoup.learners import BaggingPU, CertifiedThreshold, ElkanNoto, TunedThreshold, WithPrior
from recoup.priors import BBE
from recoup.scores import PUStratifiedKFold, crossfit
from recoup.selection import scar_test

ROOMS = (
    *("data", "simulation", "learners", "scores", "selection", "priors", "metrics"),
    *("calibration", "evaluation", "monitoring", "bench", "report"),
)


def example(n=400):
    rng = np.random.default_rng(5)
    positive = rng.random(n) < 0.4
    s = (positive & (rng.random(n) < 0.5)).astype(int)
    return rng.normal(size=(n, 2)) + 1.5 * positive[:, None], s, positive.astype(int)


X, S, Y = example()
SCORES = X.sum(axis=1)
RESULTS = [
    {
        "dataset": dataset,
        "scheme": "single-sample",
        "mechanism": "scar",
        "label_frequency": 0.5,
        "noise": 0.0,
        "protocol": "honest",
        "status": "done",
        "learner": learner,
        "seed": seed,
        "accuracy": 0.7 + 0.1 * place + 0.01 * ((seed * 7 + place * 3 + len(dataset)) % 5),
    }
    for dataset in ("iris", "wine", "abalone")
    for place, learner in enumerate(("nnpu", "upu"))
    for seed in range(4)
]


def split(random_state):
    return recoup.data.PUDataset(X, S).split(0.5, random_state)[0].row_id


def folds(random_state):
    return [test for _, test in PUStratifiedKFold(3, random_state=random_state).split(X, S)]


def ranks(random_state):
    found = rank_learners(RESULTS, n_boot=50, random_state=random_state)
    return [(rank.learner, rank.lower, rank.upper) for rank in found.ranks]


def bands(random_state):
    found = recoup.evaluate(S, SCORES, alpha="bbe", n_boot=20, random_state=random_state)
    return [found.prior_estimate.draws, [found[key].upper for key in found]]


def differences(random_state):
    both = {"a": SCORES, "b": X[:, 0]}
    found = recoup.compare(S, both, alpha="bbe", n_boot=20, random_state=random_state)
    one = found.evaluations["a"]
    return [one.prior_estimate.draws, [one[key].upper for key in one]]


def by_group(random_state):
    groups = np.where(X[:, 1] > 0, "a", "b")
    found = recoup.evaluate_by(
        S, SCORES, groups=groups, alpha=0.25, n_draws=100, random_state=random_state
    )
    return [found["precision"][group].upper for group in ("a", "b")]


def weeks(random_state):
    rng = np.random.default_rng(0)
    day = np.sort(rng.integers(0, 140, len(S)))
    columns = {"p": SCORES, "s": S, "day": day, "known": np.where(S == 1, day + 3.0, np.nan)}
    found = recoup.monitor(
        pd.DataFrame(columns),
        *("p", "s", "day"),
        labeled_at="known",
        every=7,
        now=200,
        threshold=1.0,
        random_state=random_state,
    )
    return found.to_frame().to_numpy()


TREE = DecisionTreeClassifier(max_depth=3, max_features=1)
# A call with a few rows, and something in the result that is random.
CALLS = {
    "recoup.data.PUDataset.split": split,
    "recoup.data.two_gaussians": lambda r: recoup.data.two_gaussians(20, random_state=r)[0],
    "recoup.data.two_ramps": lambda r: recoup.data.two_ramps(20, random_state=r)[0],
    "recoup.data.two_uniforms": lambda r: recoup.data.two_uniforms(20, random_state=r)[0],
    "recoup.simulation.simulate": lambda r: (
        recoup.simulate(X, Y, label_frequency=0.3, random_state=r).s
    ),
    "recoup.scores.PUStratifiedKFold": folds,
    "recoup.scores.crossfit": lambda r: crossfit(TREE, X, S, random_state=r).scores,
    "recoup.selection.scar_test": lambda r: scar_test(
        X, S, n_resamples=19, classifier=LogisticRegression(), random_state=r
    ).to_dict(),
    "recoup.priors.estimate": lambda r: (
        recoup.priors.estimate(S, SCORES, method="bbe", random_state=r).draws
    ),
    "recoup.evaluation.evaluate": bands,
    "recoup.evaluation.compare": differences,
    "recoup.evaluation.evaluate_by": by_group,
    "recoup.calibration.calibrate": lambda r: (
        recoup.calibrate(S, SCORES, alpha="bbe", random_state=r).upper
    ),
    "recoup.calibration.suspects": lambda r: (
        recoup.suspects(S, SCORES, alpha="bbe", top=20, random_state=r).upper
    ),
    "recoup.monitoring.monitor": weeks,
    "recoup.bench.ranking.rank_learners": ranks,
    "recoup.learners.TunedThreshold": lambda r: (
        TunedThreshold(TREE.set_params(random_state=0), alpha=0.25, random_state=r)
        .fit(X, S)
        .threshold_
    ),
    "recoup.learners.CertifiedThreshold": lambda r: (
        CertifiedThreshold(TREE.set_params(random_state=0), recall=0.5, alpha=0.25, random_state=r)
        .fit(X, S)
        .threshold_
    ),
    "recoup.learners.WithPrior": lambda r: (
        WithPrior(TREE, method="bbe", random_state=r).fit(X, S).prior_.draws
    ),
    "recoup.learners.BaggingPU": lambda r: (
        BaggingPU(n_estimators=3, random_state=r).fit(X, S).decision_function(X)
    ),
    "recoup.learners.ElkanNoto": lambda r: ElkanNoto(random_state=r).fit(X, S).decision_function(X),
    "recoup.priors.BBE": lambda r: BBE(n_draws=5, random_state=r).fit(X, S).estimate_.draws,
}


def public_callables():
    """Find what has a parameter ``random_state``: functions, classes, and methods of classes."""
    for room in ROOMS:
        module = import_module(f"recoup.{room}")
        for name in module.__all__:
            offered = getattr(module, name)
            if not callable(offered):
                continue
            named = {f"recoup.{room}.{name}": offered}
            if inspect.isclass(offered):
                named |= {
                    f"recoup.{room}.{name}.{method}": function
                    for method, function in inspect.getmembers(offered, inspect.isfunction)
                    if not method.startswith("_")
                }
            for key, function in named.items():
                if "random_state" in inspect.signature(function).parameters:
                    yield key, function


def test_all_of_them_are_called_here():
    found = dict(public_callables())
    estimators = {
        key
        for key, offered in found.items()
        if inspect.isclass(offered) and "random_state" in constraints_of(offered)
    }
    assert len(estimators) >= len(registered("learners")) + len(registered("priors"))
    assert not set(found) - set(CALLS) - estimators
    assert not set(CALLS) - set(found) - {"recoup.bench.ranking.rank_learners"}


@pytest.mark.parametrize("room", ["learners", "priors"])
def test_estimators_share_one_constraint(room):
    for cls in registered(room).values():
        assert constraints_of(cls)["random_state"] is RANDOM_STATE


def same(one, other):
    try:
        np.testing.assert_equal(one, other)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_numbers_generators_and_none(name):
    call = CALLS[name]
    assert same(call(3), call(np.int64(3)))
    for make in (np.random.default_rng, np.random.RandomState):
        first, second = make(3), make(3)
        assert same(call(first), call(second))
        # It was drawn from, so that a second call is another one.
        assert first_number(first) != first_number(make(3))
    call(None)


def first_number(source):
    draw = source.integers if isinstance(source, np.random.Generator) else source.randint
    return draw(2**31 - 1)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("strange", ["one", 0.5, True])
def test_anything_else_is_refused(name, strange):
    with pytest.raises(InvalidInputError, match=r"needs random_state to be a whole number.* Got"):
        CALLS[name](strange)


@pytest.mark.parametrize("name", ["recoup.simulation.simulate", "recoup.learners.BaggingPU"])
def test_none_is_new_each_time(name):
    assert not same(CALLS[name](None), CALLS[name](None))
