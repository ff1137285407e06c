"""Every registered learner goes through the same checks."""

import json
import subprocess
import sys
import warnings
from functools import lru_cache
from itertools import count
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from recoup import learners, testing
from recoup._core.registry import registered
from recoup.cli import app
from recoup.exceptions import InvalidInputError
from recoup.learners import PUAUL, LearnerTags, PULearner
from recoup.learners.given_alpha import known_alpha
from recoup.learners.reported import reported_accuracies
from recoup.testing import check_learner, learner_checks


def small_network(shape):
    from torch import nn

    return nn.Sequential(nn.Linear(shape[0], 8), nn.ReLU(), nn.Linear(8, 1))


ESTIMATES = {}
CHECKS = {check.__name__: check for check in learner_checks()}
# Enough for the easy rows of the checks.
NETWORK = {
    "network": small_network,
    "epochs": 30,
    "batch_size": 64,
    "learning_rate": 0.01,
    "least_steps": 1,
}
FAST = {
    "auto-pu": {"n_folds": 2, "candidates": ["logistic", "puet"]},
    "bagging-pu": {"n_estimators": 10},
    "cgenpu": NETWORK | {"hidden_units": 16, "epochs": 30, "learning_rate": 5e-3},
    "dist-pu": NETWORK | {"epochs": 4, "warm_up_epochs": 8, "warm_up_learning_rate": 0.01},
    "holistic-pu": NETWORK | {"epochs": 8, "trend_epochs": 6, "batch_size": 32},
    "lagam": NETWORK | {"epochs": 8, "warm_up_epochs": 2, "clusters": 4},
    "lbe": NETWORK
    | {"epochs": 6, "pretraining_steps": 60, "steps_per_round": 5, "batch_size": 128},
    "mpe-pu": {"least_steps": 1, "epochs": 6, "warm_up_epochs": 4, "learning_rate": 1e-3},
    "nnpu": NETWORK,
    "p3mix": NETWORK | {"epochs": 20},
    "pan": NETWORK | {"epochs": 12},
    "pn": NETWORK,
    "pu-auc": {"n_basis": 40, "n_folds": 2},
    "pu-aul": {"n_basis": 40, "n_folds": 2},
    "puet": {"n_estimators": 20},
    "pul-cpbf": NETWORK | {"epochs": 10, "fence_epochs": 6},
    "pulda": {
        "least_steps": 1,
        "epochs": 3,
        "warm_up_epochs": 8,
        "warm_up_learning_rate": 1e-3,
        "temperature": 30.0,
    },
    "pusb": NETWORK,
    "robust-pu": NETWORK
    | {"epochs": 2, "passes": 2, "warm_up_epochs": 15, "warm_up_learning_rate": 1e-2},
    "sar-em": {"propensity_features": [1]},
    "self-pu": NETWORK | {"epochs": 20},
    "upu": NETWORK,
    "vae-pu": NETWORK | {"hidden_units": 16, "least_steps": 4, "epochs": 27, "batch_size": 256},
    "vpu": NETWORK,
}


fit_anew = testing._fitted_learner


@lru_cache(maxsize=1)
def fitted(key):
    """A learner as most checks look at it."""
    return fit_anew(learners.make(key, **FAST.get(key, {})))


@pytest.fixture
def shared_fits(monkeypatch):
    """Checks share a fit of each learner, and all learners an estimate of alpha from the same rows.

    A check that needs several fits makes the others anew.
    """

    def alpha(given, X, s, seed, caller):
        if not isinstance(given, str):
            return known_alpha(given, X, s, seed, caller)
        rows = given, np.asarray(X).tobytes(), np.asarray(s).tobytes(), seed
        if rows not in ESTIMATES:
            ESTIMATES[rows] = known_alpha(given, X, s, seed, caller)
        return ESTIMATES[rows]

    monkeypatch.setattr("recoup.learners.base.known_alpha", alpha)

    def of(key):
        fits = count()

        def first_shared(learner):
            return fitted(key) if next(fits) == 0 else fit_anew(learner)

        monkeypatch.setattr(testing, "_fitted_learner", first_shared)

    return of


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("key", registered("learners"))
def test_registered_learners(key, check, shared_fits):
    shared_fits(key)
    CHECKS[check](learners.make(key, **FAST.get(key, {})))


def test_keys_are_those_of_the_tags():
    for key, cls in registered("learners").items():
        assert cls.tags.key == key
        assert issubclass(cls, PULearner)


def test_wrappers_are_no_learners_with_tags():
    wrappers = {"BaggedNetworks", "CertifiedThreshold", "TunedThreshold", "WithPrior"}
    assert wrappers.isdisjoint(cls.__name__ for cls in registered("learners").values())


def test_make_says_what_there_is():
    assert isinstance(learners.make("pu-aul", alpha=0.2), PUAUL)
    with pytest.raises(InvalidInputError, match=r"knows no 'pu-aull'. Did you mean 'pu-aul'\?"):
        learners.make("pu-aull")


def test_list_learners_as_table_and_as_json():
    shown = CliRunner().invoke(app, ["list", "learners"])
    found = CliRunner().invoke(app, ["list", "learners", "--json"])
    assert shown.exit_code == found.exit_code == 0
    rows = {row["key"]: row for row in json.loads(found.stdout)}
    assert list(rows) == list(registered("learners"))
    for key, row in rows.items():
        assert key in shown.stdout
        assert row["source"] in shown.stdout
    assert rows["pu-auc"]["needs_alpha"] is True
    assert rows["pu-aul"]["needs_alpha"] is False
    assert rows["nnpu"]["reported"]["mnist"] == 94.85
    assert rows["p3mix"]["reported"]["spambase"] == 84.14
    assert rows["naive"]["reported"] == {}
    assert "94.8, 81.7" in shown.stdout


def test_reported_figures_are_of_learners_that_there_are():
    known = {*registered("learners"), "p3mix-e", "p3mix-c"}
    assert set(reported_accuracies()) <= known
    assert all(len(figures) == 8 for figures in reported_accuracies().values())
    # With two thirds of the rows positive, an F1 leaves no room for these "accuracies".
    positive, rerun_f1 = 0.658, {"nnpu": 0.747, "pusb": 0.865, "vpu": 0.868, "lbe": 0.849}
    for key, f1 in (rerun_f1 | {"dist-pu": 0.739, "pn": 0.930}).items():
        errors_per_hit = 2 * (1 - f1) / f1
        fewest_errors = errors_per_hit * positive / (1 + errors_per_hit)
        assert reported_accuracies()[key]["connect4"] / 100 > 1 - fewest_errors


def test_listing_learners_leaves_torch_alone():
    program = (
        "import sys; from recoup._core.registry import registered; registered('learners');"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class Faulty(PULearner):
    """Breaks the promise that its parameter names."""

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="faulty", family="none", cost="n", source="nowhere", needs_alpha=True
    )

    def __init__(self, alpha="estimate", *, fault="none", random_state=None):
        self.alpha = alpha
        self.fault = fault
        self.random_state = random_state

    def fit(self, X, s=None, *, sample_weight=None, y=None):
        s = y if s is None else s
        if self.fault == "weights":
            sample_weight = None
        if self.fault == "labels" and isinstance(s, list):
            s = np.roll(s, 1)
        if self.fault == "modifies":
            X[0] = 0.0
        if self.fault == "accepts" and s is not None:
            s = np.clip(s, -1, 1)
        if self.fault == "negatives":
            s = np.where(np.asarray(s) == -1, 0, s)
        if self.fault == "parameters":
            self.alpha = float(self.alpha) + 0.0
        return super().fit(X, s, sample_weight=sample_weight)

    def _fit(self, X, s, rng):
        if self.fault == "no seed":
            rng = np.random.default_rng()
        self.offset_ = 1e-6 * rng.random()
        self.weights_ = X[s == 1].mean(axis=0) - X[s == 0].mean(axis=0)
        self.border_ = np.quantile(X[s == 0] @ self.weights_, 1 - self.alpha_)

    def _decide(self, X):
        scores = X @ self.weights_ - self.border_ + self.offset_
        return -scores if self.fault == "upside down" else scores

    def predict(self, X):
        if self.fault == "threshold":
            return (self.decision_function(X) > 1).astype(int)
        return super().predict(X)

    def score(self, X, s, sample_weight=None):
        if self.fault == "accuracy":
            return float(np.mean(self.predict(X) == s))
        return super().score(X, s, sample_weight)


@pytest.mark.parametrize(
    ("fault", "check", "message"),
    [
        ("upside down", "check_learner_ranks_positives_first", "ranks hidden positives with AUC"),
        ("accuracy", "check_learner_ranks_positives_first", "not the area under the lift curve"),
        ("threshold", "check_learner_decides", "other than the sign"),
        ("no seed", "check_learner_same_seed_same_scores", "other scores the second time"),
        ("modifies", "check_learner_input_is_not_modified", "writes to its input"),
        ("negatives", "check_learner_known_negatives", "leaves negatives out in silence"),
        ("weights", "check_learner_weights", "takes weights without saying so in its tags"),
        ("labels", "check_learner_labels_of_any_kind", "other scores for the same labels"),
        ("accepts", "check_learner_refuses_bad_input", "accepts a label 2"),
        ("parameters", "check_learner_clone_and_parameters", "changes 'alpha' in fit"),
    ],
)
def test_broken_promises_are_noticed(fault, check, message):
    with pytest.raises(AssertionError, match=message):
        CHECKS[check](Faulty(fault=fault))
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check_learner(Faulty(fault=fault))


def test_a_sound_learner_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_learner(Faulty())
