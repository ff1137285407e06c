"""What learners ask of a network: its features, and a look that leaves no trace."""

import pytest
import torch
from torch import nn

from recoup.exceptions import InvalidInputError
from recoup.learners._training.networks import NETWORKS, last_layer, statistics_kept, with_features


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
