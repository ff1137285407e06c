"""Presets: that each can be built, says what it changes, and changes that."""

import inspect
import math

import numpy as np
import pytest

from learners.toy import small_network, toy_rows
from recoup import learners
from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError
from recoup.learners.mpe_pu import MIN_LABELED

PRESETS = [(key, name) for key, cls in registered("learners").items() for name in cls.presets]
# The settings that PU-Bench was released with: learning rate, weight decay, rows per batch, epochs
# and patience. CGenPU's epochs, VAE-PU's epochs and batches, and LBE's batches are ours.
RELEASED = {
    "upu": (3e-4, 1e-4, 256, 40, 10),
    "nnpu": (3e-4, 1e-4, 256, 40, 10),
    "pusb": (3e-4, 1e-4, 256, 40, 10),
    "vpu": (3e-4, 1e-4, 256, 40, 10),
    "mpe-pu": (3e-4, 1e-4, 128, 40, 20),
    "lbe": (5e-4, 1e-4, 4096, 20, 5),
    "dist-pu": (5e-5, 5e-4, 256, 20, 10),
    "pulda": (1e-3, 1e-4, 128, 60, 20),
    "pn": (5e-4, 1e-5, 128, 50, 5),
    "self-pu": (1e-3, 5e-4, 256, 40, None),
    "p3mix": (1e-3, 1e-6, 256, 35, 10),
    "robust-pu": (1e-2, 0.0, 256, 5, None),
    "holistic-pu": (1e-2, 5e-4, 256, 100, 20),
    "lagam": (1e-3, 1e-4, 64, 35, 25),
    "pul-cpbf": (2e-3, 5e-3, 64, 50, None),
    "vae-pu": (2e-4, 1e-5, 512, 90, 30),
    "pan": (3e-4, 0.0, 64, 120, 25),
    "cgenpu": (1e-4, 0.0, 32, 60, 30),
}
# What its first stage has, where a method has two.
FIRST_STAGES = {
    "dist-pu": (3e-4, 5e-4, 20),
    "pulda": (1e-4, 5e-4, 60),
    "robust-pu": (1e-4, 1e-4, 20),
}
NETWORK = {"network": small_network, "validation_fraction": 0.2, "random_state": 0}


def defaults(key):
    return {
        name: parameter.default
        for name, parameter in inspect.signature(registered("learners")[key]).parameters.items()
    }


@pytest.mark.parametrize(("key", "name"), PRESETS)
def test_every_preset_can_be_built_and_is_within_the_constraints(key, name):
    learner = learners.make(key, preset=name)
    learner._check_settings("here")
    said = registered("learners")[key].presets[name]
    assert {param: getattr(learner, param) for param in said} == said


@pytest.mark.parametrize(("key", "name"), PRESETS)
def test_every_preset_changes_something_and_says_what(key, name):
    said, usual = registered("learners")[key].presets[name], defaults(key)
    changed = {param for param, value in said.items() if value != usual[param]}
    assert changed
    shown = learners.presets(key)[name]
    for param, value in said.items():
        assert f"{param}={value!r}" in shown
        assert (f"{param}={value!r} ({usual[param]!r})" in shown) == (param in changed)


@pytest.mark.parametrize("key", RELEASED)
def test_training_is_set_as_pu_bench_released_it(key):
    learner = learners.make(key, preset="pubench")
    found = ("learning_rate", "weight_decay", "batch_size", "epochs", "patience")
    assert tuple(getattr(learner, name) for name in found) == RELEASED[key]
    assert learner.standardize is False
    if key in FIRST_STAGES:
        found = ("warm_up_learning_rate", "warm_up_weight_decay", "warm_up_epochs")
        assert tuple(getattr(learner, name) for name in found) == FIRST_STAGES[key]


def test_every_network_has_the_settings_of_pu_bench():
    networks = {key for key, cls in registered("learners").items() if cls.tags.backend == "torch"}
    assert set(RELEASED) == networks


PRIOR_FREE = [key for key, cls in registered("learners").items() if cls.tags.prior_free]


def test_methods_that_were_published_without_alpha_are_marked():
    assert PRIOR_FREE == ["cgenpu", "holistic-pu", "lbe", "mpe-pu", "p3mix", "pan", "vpu"]


SHORT = {
    "cgenpu": {"hidden_units": 16},
    "holistic-pu": {"trend_epochs": 3},
    "lbe": {"pretraining_steps": 5, "steps_per_round": 2},
    "mpe-pu": {"warm_up_epochs": 2, "learning_rate": 1e-3},
    "p3mix": {"warm_up_steps": 5, "steps_per_epoch": 5},
}


@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
@pytest.mark.parametrize("preset", ["paper", "pubench"])
@pytest.mark.parametrize("key", PRIOR_FREE)
def test_such_methods_are_fitted_without_alpha_and_cut_by_themselves(key, preset):
    X, s, _, X_new, y_new = toy_rows(0, "case-control")
    learner = learners.make(key, preset=preset, network=small_network, random_state=0)
    learner.set_params(epochs=2, scheme="case-control", **SHORT.get(key, {}))
    assert learner.get_params().get("alpha") is None
    oracle = (X_new[:50], y_new[:50]) if preset == "pubench" else None
    learner.fit(X, s, oracle=oracle)
    assert (learner.alpha_ is not None) == learner.tags.estimates_alpha
    if key != "vpu":
        assert learner.offset_ == 0.0
    assert np.isfinite(learner.decision_function(X_new[:100])).all()


def test_mpe_pu_estimates_alpha_from_unseen_rows_also_where_an_oracle_selects():
    X, s, _, X_new, y_new = toy_rows(0, "case-control")
    learner = learners.make("mpe-pu", epochs=2, scheme="case-control", **NETWORK)
    learner.fit(X, s, oracle=(X_new[:50], y_new[:50]))
    assert len(learner.alphas_) == 3
    assert learner.prior_.method == "bbe"


def test_mpe_pu_with_few_labels_estimates_alpha_once():
    X, s, *_ = toy_rows(0, "case-control")
    few = np.r_[: 3 * MIN_LABELED, 300:900]
    learner = learners.make("mpe-pu", epochs=3, scheme="case-control", **NETWORK)
    learner.fit(X[few], s[few])
    assert len(set(learner.alphas_)) == 1
    assert learner.alpha_ == learner.prior_.alpha


def test_lagam_as_published_needs_rows_of_known_class_and_no_alpha():
    X, s, _, X_new, y_new = toy_rows(0, "case-control")
    settings = {"epochs": 2, "warm_up_epochs": 1, "network": small_network, "random_state": 0}
    learner = learners.make("lagam", preset="paper", scheme="case-control", **settings)
    learner.fit(X, s, support=(X_new[:60], y_new[:60]))
    assert learner.alpha_ is None
    assert learner.offset_ == 0.0
    assert learner.support_ == "given"
    with pytest.raises(InvalidInputError, match="needs alpha"):
        learner.fit(X, s)


def test_lbe_as_published_may_drop_labeled_rows():
    X, s, *_ = toy_rows(0, "case-control")
    short = {"epochs": 8, "steps_per_round": 10, "batch_size": 256}
    kept, dropped = (
        learners.make("lbe", preset="paper", keep_labeled=keep, **NETWORK | short).fit(X, s)
        for keep in (True, False)
    )
    # What is dropped no longer holds h up.
    assert dropped.implied_alpha_ < kept.implied_alpha_


def test_pul_cpbf_as_published_shifts_no_fence_and_cuts_at_zero():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    short = {"epochs": 1, "fence_epochs": 2, "alpha": alpha, "scheme": "case-control"}
    ours = learners.make("pul-cpbf", **NETWORK | short).fit(X, s)
    paper = learners.make("pul-cpbf", preset="paper", **NETWORK | short).fit(X, s)
    assert ours.fence_shift_ != 0.0
    assert ours.offset_ != 0.0
    assert paper.fence_shift_ == 0.0
    assert paper.offset_ == 0.0


def test_pulda_as_published_measures_smoothly():
    ours, paper = learners.make("pulda"), learners.make("pulda", preset="paper")
    assert (ours.distance, paper.distance) == ("l1", "softplus")


@pytest.mark.parametrize(
    ("key", "changed"),
    [("nnpu", {}), ("dist-pu", {"warm_up_epochs": 1}), ("pan", {}), ("self-pu", {"epochs": 8})],
)
def test_as_published_all_rows_are_trained_on_and_the_last_weights_kept(key, changed):
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    learner = learners.make(key, preset="paper", network=small_network, random_state=0)
    learner.set_params(**{"epochs": 3} | changed)
    if learner.tags.needs_alpha:
        learner.set_params(alpha=alpha)
    learner.fit(X, s)
    assert learner.best_epoch_ == len(learner.history_)
    assert not any("selection" in epoch for epoch in learner.history_)


def test_modes_of_p3mix_have_settings_of_their_own():
    first, second = (learners.make("p3mix", preset=name) for name in ("pubench", "pubench-c"))
    assert (first.mode, second.mode) == ("e", "c")
    steps = [one.warm_up_steps + one.epochs * one.steps_per_epoch for one in (first, second)]
    assert steps == [4000, 4000]
    assert math.isclose(first.teacher_weight, 0.5)
