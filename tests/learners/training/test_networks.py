"""What learners ask of a network: its features, and a look that leaves no trace."""

import inspect

import numpy as np
import pytest
import torch
from torch import nn

from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError
from recoup.learners._training.networks import (
    NETWORKS,
    last_layer,
    network_for,
    scores_of,
    statistics_kept,
    with_features,
)

IMAGE_LEARNERS = [key for key, cls in registered("learners").items() if cls.tags.backend == "torch"]
# As few steps as each learner can be told to make.
SHORT = {"epochs": 1, "least_steps": 1, "steps_per_round": 1, "hidden_units": 20}


@pytest.mark.parametrize("name", NETWORKS)
def test_features_are_what_the_last_layer_gets(name):
    shape = (12,) if name == "mlp" else (3, 32, 32)
    network = NETWORKS[name](shape).eval()
    rows = torch.randn(5, *shape)
    last = last_layer(network, "here")
    features, scores = with_features(network, last, rows)
    assert features.shape == (5, last.in_features)
    assert torch.equal(scores, network(rows)[:, 0])
    assert torch.allclose(last(features)[:, 0], scores)
    assert not last._forward_pre_hooks


def test_gradients_reach_the_features():
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    features, _ = with_features(network, last_layer(network, "here"), torch.ones(2, 3))
    features.sum().backward()
    assert network[0].weight.grad is not None
    assert network[2].weight.grad is None


@pytest.mark.parametrize("network", [nn.Conv1d(1, 1, 1), nn.Linear(3, 2)])
def test_networks_without_such_a_layer_are_refused(network):
    with pytest.raises(InvalidInputError, match=r"^here needs a network that ends with a linear"):
        last_layer(network, "here")


def test_statistics_are_kept():
    network = nn.Sequential(nn.BatchNorm1d(2), nn.Linear(2, 1))
    rows = torch.randn(8, 2) + 5
    before = network[0].running_mean.clone()
    with statistics_kept(network):
        kept = network(rows)
    assert torch.equal(network[0].running_mean, before)
    assert torch.equal(network(rows), kept)
    assert not torch.equal(network[0].running_mean, before)
    assert network[0].momentum == 0.1


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("height", range(16, 41))
def test_the_default_network_takes_images_of_any_side(channels, height):
    for width in {height, 18, 31}:
        shape = (channels, height, width)
        # Shapes are checked on this device, and nothing is computed.
        with torch.device("meta"):
            network = network_for(shape, None, "here")
            assert scores_of(network, torch.empty(2, *shape)).shape == (2,), shape


@pytest.mark.parametrize("side", [16, 17, 18, 22, 26, 30, 31, 32])
def test_grey_images_get_scores(side):
    network = network_for((1, side, side), None, "here")
    assert torch.isfinite(scores_of(network, torch.randn(3, 1, side, side))).all()


@pytest.mark.parametrize("key", IMAGE_LEARNERS)
def test_every_network_learner_takes_images_of_any_side(key):
    cls = registered("learners")[key]
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [12, 24])
    X = (rng.normal(size=(36, 1, 18, 31)) + s[:, None, None, None]).astype(np.float32)
    known = inspect.signature(cls).parameters
    settings = {"alpha": 0.3, "progress": False, "batch_size": 24, "random_state": 0} | SHORT
    learner = cls(**{name: value for name, value in settings.items() if name in known})
    learner.fit(X, s, **({"y_true": s} if cls.tags.requires_true_labels else {}))
    assert np.isfinite(learner.decision_function(X)).all()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [16, 26, 27, 30, 31])
def test_images_of_any_side_are_scored(side, channels):
    for height, width in ((side, side), (side, 28)):
        shape = (channels, height, width)
        for name in (None, *NETWORKS):
            network = network_for(shape, name, "here").eval()
            with torch.no_grad():
                assert scores_of(network, torch.zeros(2, *shape)).shape == (2,)
