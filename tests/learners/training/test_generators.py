"""Networks that make rows: shapes of any size, what is frozen, and rows within bounds."""

import numpy as np
import pytest
import torch

from recoup.learners._training.generators import frozen, reading_network, writing_network
from recoup.learners.cgenpu import CGenPU

SHAPES = [(7,), (1, 28, 28), (3, 17, 33), (1, 8, 8), (2, 64, 64)]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_any_shape(shape, normalized):
    rows = torch.randn(4, *shape)
    reads = reading_network(shape, 5, (16, 8), normalized=normalized, dropout=0.3)
    writes = writing_network(5, shape, (16, 8), normalized=normalized)
    codes = reads(rows)
    assert codes.shape == (4, 5)
    made = writes(codes)
    assert made.shape == rows.shape
    made.square().mean().backward()
    assert all(weight.grad is not None for weight in reads.parameters())
    kinds = {type(module).__name__ for module in [*reads, *writes]}
    assert any("BatchNorm" in kind for kind in kinds) == normalized
    assert ("Conv2d" in kinds) == (len(shape) == 3 and shape[1] >= 16)


def test_images_are_halved_to_about_eight():
    sizes = [reading_network(shape, 1, (16,))[-3].in_features for shape in SHAPES]
    # Channels times what is left of height and width; small images are vectors.
    assert sizes == [7, 64 * 7 * 7, 128 * 3 * 5, 64, 128 * 8 * 8]


def test_frozen_networks_pass_gradients_and_take_none():
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    network[0].bias.requires_grad_(False)
    rows = torch.randn(6, 3, requires_grad=True)
    with frozen(network):
        network(rows).sum().backward()
    assert rows.grad.abs().sum() > 0
    assert network[0].weight.grad is None
    assert torch.equal(network[1].running_mean, torch.zeros(2))
    assert network.training
    assert [weight.requires_grad for weight in network.parameters()] == [True, False, True, True]


# So few steps decide nothing.
@pytest.mark.filterwarnings("ignore:CGenPU.fit takes every unlabeled row")
@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (0, 255)])
def test_images_are_made_within_the_values_of_the_rows(low, high):
    rng = np.random.default_rng(0)
    X = np.linspace(low, high, 40 * 64).reshape(40, 1, 8, 8)
    params = {"alpha": None, "epochs": 1, "least_steps": 2, "hidden_units": 8, "network": "mlp"}
    learner = CGenPU(**params, validation_fraction=0, random_state=0)
    learner.fit(X, rng.permutation(np.repeat([1, 0], 20)))
    assert (learner.low_, learner.high_) == (low, high)
    far = torch.tensor([-1000.0, 0, 1000])
    assert learner._within(far).tolist() == [low, (low + high) / 2, high]


@pytest.mark.filterwarnings("ignore:CGenPU.fit takes every unlabeled row")
def test_vectors_have_no_bounds():
    params = {"alpha": None, "epochs": 1, "least_steps": 2, "hidden_units": 8, "random_state": 0}
    rows = np.random.default_rng(0).normal(size=(40, 3))
    learner = CGenPU(**params).fit(rows, np.repeat([1, 0], 20))
    far = torch.tensor([-1000.0, 1000])
    assert torch.equal(learner._within(far), far)
