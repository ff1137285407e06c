"""VPU: both parts of the loss, and the threshold at half of the largest value."""

import math

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from learners.batches import Column, batch_of, column
from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits
from recoup.exceptions import InvalidInputError
from recoup.learners import VPU
from recoup.learners._training.stages import TrainingRows
from recoup.learners.vpu import mixed_loss, variational_loss

P = torch.tensor([1.0, 2.0], dtype=torch.float64)
X = torch.tensor([0.5, -1.0, 2.0, 0.0], dtype=torch.float64)
MIXED = torch.tensor([1.2, 0.4, 1.9, 0.8], dtype=torch.float64)
SHARE = torch.tensor(0.25, dtype=torch.float64)


def logit(p):
    return torch.log(p) - torch.log1p(-p)


def test_variational_loss_and_its_invariance():
    assert X.sigmoid().mean().item() == pytest.approx(0.568049, abs=1e-6)
    found = variational_loss(P, X).item()
    assert found == pytest.approx(-0.345452, abs=1e-6)
    halved = variational_loss(logit(P.sigmoid() / 2), logit(X.sigmoid() / 2)).item()
    assert halved == pytest.approx(found, abs=1e-12)


def test_mixed_loss():
    between = mixed_loss(X, MIXED, SHARE).item()
    assert between == pytest.approx(0.048032, abs=1e-6)
    total = variational_loss(P, X).item()
    assert total + 0.03 * between == pytest.approx(-0.344011, abs=1e-6)
    assert total + 0.3 * between == pytest.approx(-0.331042, abs=1e-6)
    targets = 0.25 * X.sigmoid() + 0.75
    assert targets.tolist() == pytest.approx([0.905615, 0.817235, 0.970199, 0.875], abs=1e-6)
    direct = ((targets.log() - logsigmoid(MIXED)) ** 2).mean().item()
    assert between == pytest.approx(direct, abs=1e-12)


def test_targets_have_a_gradient():
    population = X.clone().requires_grad_()
    mixed_loss(population, MIXED, SHARE).backward()
    assert (population.grad.abs() > 1e-4).all()


def test_losses_stay_finite_far_out():
    far = torch.tensor([-200.0, 200.0])
    assert math.isfinite(variational_loss(far, far))
    assert math.isfinite(mixed_loss(far, far, torch.tensor(1 - 1e-6)))


def test_threshold_is_half_of_the_largest_value():
    offset = VPU()._find_offset(X)
    relative = X.sigmoid() / X.sigmoid().max()
    assert relative.tolist() == pytest.approx([0.7067, 0.3053, 1, 0.5677], abs=1e-4)
    assert (offset < X).tolist() == [True, False, True, True]
    assert torch.equal(offset < X, relative > 0.5)
    assert (X > 0).tolist() == [True, False, True, False]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: VPU(**SETTINGS), scheme)


def test_same_seed_same_bits():
    assert_same_bits(lambda: VPU(**SETTINGS))


@pytest.mark.parametrize("name", ["mixing_weight", "mixing_shape"])
def test_wrong_settings_are_refused(name):
    with pytest.raises(InvalidInputError, match=rf"VPU.fit needs {name} to be a number above 0"):
        VPU(**{name: 0}).fit([[0.0]] * 4, [1, 1, 0, 0])


def test_a_small_table_is_learned_too():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3 == 0
    X = rng.normal(size=(300, 10)) + 2.0 * y[:, None]
    s = (y & (rng.random(300) < 0.4)).astype(int)
    found = VPU(random_state=0).fit(X, s).predict(X)
    # With a step an epoch the scores hardly moved, and every row was positive.
    assert np.mean(found == y) > 0.85


def test_a_step_minimizes_the_divergence_and_the_error_between_rows():
    labeled, population = np.array([1.0, 2.0]), np.array([0.5, -1.0, 2.0, 0.0])
    # Partners are named by where they lie among the labeled rows: the second, the first, ...
    draws = {"share": SHARE, "partner": torch.tensor([0.9, 0.1, 0.6, 0.4], dtype=torch.float64)}
    found = VPU(mixing_weight=0.7)._loss(batch_of(column(*labeled), column(*population), **draws))

    def phi(scores):
        return 1 / (1 + np.exp(-scores))

    mixed = 0.25 * population + 0.75 * labeled[[1, 0, 1, 0]]
    error = np.log(0.25 * phi(population) + 0.75) - np.log(phi(mixed))
    divergence = np.log(phi(population).mean()) - np.log(phi(labeled)).mean()
    assert found.item() == pytest.approx(divergence + 0.7 * np.mean(error**2), abs=1e-9)


def test_selection_sees_the_scale_that_the_divergence_does_not():
    # All that is held out, once with Phi as it is, once with half of it.
    whole = column(*P, *X)
    found = []
    for rows in (whole, logit(whole.sigmoid() / 2)):
        learner = VPU()
        places = torch.arange(6)
        learner._rows = TrainingRows(rows, places[:0], places[:0], places[:2], places[2:])
        learner.network_ = Column()
        scores = rows[:, 0]
        assert variational_loss(scores[:2], scores[2:]).item() == pytest.approx(-0.345452, abs=1e-6)
        found.append(learner._held_out_loss(scores[:2], scores[2:]).item())
    assert found[1] > found[0] + 0.1


def test_learning_rate_is_halved_every_twenty_epochs():
    learner = VPU(epochs=45, learning_rate=0.4)
    learner._rows = TrainingRows(*(torch.arange(600),) * 5)
    stages = learner._stages()
    assert [(stage.epochs, stage.learning_rate) for stage in stages] == [
        (20, 0.4),
        (20, 0.2),
        (5, 0.1),
    ]
    assert {stage.betas for stage in stages} == {(0.5, 0.99)}
