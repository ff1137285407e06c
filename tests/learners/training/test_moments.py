"""Watching a fit: once per epoch, for every learner, and without changing what comes out."""

import numpy as np
import pytest
import torch

from learners.toy import small_network, toy_rows
from recoup import learners
from recoup._core.registry import registered

KEYS = [key for key, cls in registered("learners").items() if cls.tags.backend == "torch"]
SHORT = {
    "cgenpu": {"hidden_units": 8, "least_steps": 2, "most_steps": 2},
    "dist-pu": {"warm_up_epochs": 2},
    "holistic-pu": {"trend_epochs": 2},
    "lagam": {"warm_up_epochs": 1},
    "lbe": {"pretraining_steps": 2, "steps_per_round": 2},
    "mpe-pu": {"warm_up_epochs": 1},
    "p3mix": {"warm_up_steps": 2},
    "pul-cpbf": {"fence_epochs": 1},
    "pulda": {"warm_up_epochs": 1},
    "robust-pu": {"warm_up_epochs": 1, "passes": 1},
    "self-pu": {"epochs": 6},
    "vae-pu": {"hidden_units": 8, "least_steps": 2, "epochs": 6},
}


@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
@pytest.mark.parametrize("key", KEYS)
def test_every_epoch_is_seen_and_none_is_changed(key):
    X, s, alpha, X_new, _ = toy_rows(0, "case-control")
    few = np.r_[:120, 300:900]
    X, s, X_new = X[few], s[few], X_new[:50]
    settings = {"network": small_network, "epochs": 2, "batch_size": 128, "random_state": 0}
    settings |= {"scheme": "case-control", "device": "cpu"} | SHORT.get(key, {})
    if learners.make(key).get_params().get("alpha") is not None:
        settings["alpha"] = alpha
    more = {"y_true": s} if registered("learners")[key].tags.requires_true_labels else {}
    seen = []

    def watch(moment):
        weights = {name: part.clone() for name, part in moment.weights().items()}
        seen.append((moment, moment.decisions(X_new), weights))

    watched = learners.make(key, **settings).fit(X, s, watch=watch, **more)
    alone = learners.make(key, **settings).fit(X, s, **more)
    assert np.array_equal(watched.decision_function(X_new), alone.decision_function(X_new))
    assert [moment.measured["epoch"] for moment, *_ in seen] == [
        epoch["epoch"] for epoch in watched.history_
    ]
    for moment, decisions, weights in seen:
        assert decisions.shape == (50,)
        assert np.isfinite(decisions).all()
        assert any(name.startswith("network_.") for name in weights)
        assert moment.selectable or not moment.best
    best = [place for place, (moment, *_) in enumerate(seen) if moment.best]
    if not best:  # nothing was selectable, so the last weights were kept
        best = [len(seen) - 1]
    assert best[-1] + 1 == watched.best_epoch_
    kept, decisions = seen[best[-1]][2], seen[best[-1]][1]
    for name, part in watched.network_.state_dict().items():
        assert torch.equal(part.cpu(), kept[f"network_.{name}"])
    assert np.allclose(decisions, watched.decision_function(X_new), atol=1e-5)


def test_weights_of_a_moment_do_not_change_with_the_network():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    kept = []
    settings = {"network": small_network, "alpha": alpha, "epochs": 2, "random_state": 0}
    learners.make("nnpu", **settings).fit(X, s, watch=lambda now: kept.append(now.weights()))
    assert not torch.equal(kept[0]["network_.0.weight"], kept[1]["network_.0.weight"])


def test_decisions_are_those_of_the_rows_that_are_asked_for():
    """Also where rows are made for the question alone, so that others may have their place."""
    rng = np.random.default_rng(0)
    X, s = rng.normal(size=(60, 2)), np.repeat([1, 0], 30)
    seen = []

    def watch(moment):
        parts = [moment.decisions(X[start : start + 20].copy()) for start in (0, 20, 40)]
        seen.append((np.concatenate(parts), moment.decisions(X)))

    learners.make("nnpu", alpha=0.5, epochs=3, progress=False, random_state=0).fit(
        X, s, watch=watch
    )
    for parts, whole in seen:
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-6)
