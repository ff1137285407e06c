"""Mixtures of rows, and of what comes out of a layer."""

import pytest
import torch
from torch import nn

from recoup.exceptions import InvalidInputError
from recoup.learners._training.mixup import mixed_scores, mixing_layer
from recoup.learners._training.networks import cifar_cnn, lenet, mlp, scores_of

SHARE = torch.tensor(0.7)


@pytest.fixture(autouse=True)
def _same_weights():
    torch.manual_seed(0)


def two_batches(*shape):
    return torch.randn(5, *shape), torch.randn(5, *shape)


def test_a_linear_network_mixes_scores():
    network = nn.Linear(4, 1)
    rows, others = two_batches(4)
    found = mixed_scores(network, None, rows, others, SHARE)
    expected = 0.7 * network(rows)[:, 0] + 0.3 * network(others)[:, 0]
    assert torch.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_hidden_layers_are_mixed_where_they_are_handed_on(place):
    network = mlp((6,)).eval()
    rows, others = two_batches(6)
    layer = mixing_layer(network, place, False, "P3Mix.fit")
    cut = list(network).index(layer)
    head, tail = network[:cut], network[cut:]
    expected = tail(0.7 * head(rows) + 0.3 * head(others))[:, 0]
    assert torch.allclose(mixed_scores(network, layer, rows, others, SHARE), expected, atol=1e-6)
    plain = mixed_scores(network, None, rows, others, SHARE)
    assert not torch.allclose(plain, expected, atol=1e-6)


def test_nothing_is_mixed_afterwards():
    network = lenet((1, 28, 28))
    rows, others = two_batches(1, 28, 28)
    before = scores_of(network, rows)
    layer = mixing_layer(network, None, True, "P3Mix.fit")
    mixed_scores(network, layer, rows, others, SHARE)
    assert torch.equal(scores_of(network, rows), before)


def test_by_default_images_are_mixed_after_the_last_convolution_and_vectors_as_they_are():
    assert mixing_layer(mlp((6,)), None, False, "P3Mix.fit") is None
    for factory, shape in ((lenet, (1, 28, 28)), (cifar_cnn, (3, 32, 32))):
        network = factory(shape)
        linear = [part for part in network.modules() if isinstance(part, nn.Linear)]
        assert mixing_layer(network, None, True, "P3Mix.fit") is linear[0]
    assert mixing_layer(mlp((1, 8, 8)), None, True, "P3Mix.fit") is None


@pytest.mark.parametrize("place", [4, 9, -2])
def test_a_layer_that_is_not_there_is_refused(place):
    with pytest.raises(InvalidInputError, match=rf"Got mix_layer={place} for a network of 5 layer"):
        mixing_layer(mlp((6,)), place, False, "P3Mix.fit")
