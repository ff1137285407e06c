"""UPU and NNPU: values worked out by hand, and the toy rows."""

import numpy as np
import pytest
import torch

from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits
from recoup.exceptions import InvalidInputError
from recoup.learners import NNPU, UPU
from recoup.learners._training.risks import margin_loss, pu_risks


def logits(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def risk(cls, labeled, population, pi, **params):
    learner = cls(**params)
    learner.pi_ = pi
    return learner._risk(labeled, population)


def test_parts_of_the_risk():
    labeled, population = logits(2, -1), logits(0.5, -0.5, 3)
    assert margin_loss("sigmoid", labeled).mean().item() == pytest.approx(0.425131, abs=1e-6)
    assert margin_loss("sigmoid", -labeled).mean().item() == pytest.approx(0.574869, abs=1e-6)
    assert margin_loss("sigmoid", -population).mean().item() == pytest.approx(0.650858, abs=1e-6)
    positive, negative = pu_risks(labeled, population, 0.4, "sigmoid")
    assert positive.item() == pytest.approx(0.4 * 0.425131, abs=1e-6)
    assert negative.item() == pytest.approx(0.420910, abs=1e-6)
    short = 2 * positive + margin_loss("sigmoid", -population).mean() - 0.4
    assert short.item() == pytest.approx((positive + negative).item(), abs=1e-12)


@pytest.mark.parametrize("cls", [UPU, NNPU])
def test_value_and_gradient_where_nothing_is_corrected(cls):
    labeled, population = logits(2, -1), logits(0.5, -0.5, 3)
    found = risk(cls, labeled, population, 0.4)
    found.backward()
    assert found.item() == pytest.approx(0.590963, abs=1e-6)
    assert labeled.grad.tolist() == pytest.approx([-0.041997, -0.078645], abs=1e-6)
    assert population.grad.tolist() == pytest.approx([0.078335, 0.078335, 0.015059], abs=1e-6)


def test_logistic_and_squared_loss():
    labeled, population = logits(2, -1), logits(0.5, -0.5, 3)
    found = risk(UPU, labeled, population, 0.4, loss="logistic")
    assert found.item() == pytest.approx(1.298914, abs=1e-6)
    linear = -0.4 * labeled.mean() + torch.nn.functional.softplus(population).mean()
    assert found.item() == pytest.approx(linear.item(), abs=1e-12)
    assert margin_loss("squared", logits(3, 1)).tolist() == [2.0, 0.0]


LOW_P, LOW_U = (3, 2), (-3, -2, -4)
PUSHED_P = np.array([0.011294, 0.026248])
PUSHED_U = np.array([-0.015059, -0.034998, -0.005888])


@pytest.mark.parametrize(
    ("params", "value", "share"),
    [({}, 0.041657, 1.0), ({"ascent_share": 0.5, "tolerance": 0.1}, -0.058343, 0.5)],
)
def test_a_negative_risk_is_pushed_back(params, value, share):
    labeled, population = logits(*LOW_P), logits(*LOW_U)
    found = risk(NNPU, labeled, population, 0.5, **params)
    found.backward()
    assert found.item() == pytest.approx(value, abs=1e-6)
    assert labeled.grad.numpy() == pytest.approx(share * PUSHED_P, abs=1e-6)
    assert population.grad.numpy() == pytest.approx(share * PUSHED_U, abs=1e-6)


def test_within_the_tolerance_nothing_is_corrected():
    labeled, population = logits(*LOW_P), logits(*LOW_U)
    _, negative = pu_risks(labeled, population, 0.5, "sigmoid")
    assert negative.item() == pytest.approx(-0.396804, abs=1e-6)
    plain = risk(UPU, labeled, population, 0.5)
    assert plain.item() == pytest.approx(-0.355147, abs=1e-6)
    tolerant = risk(NNPU, labeled, population, 0.5, tolerance=0.45)
    assert tolerant.item() == pytest.approx(plain.item(), abs=1e-12)


def test_clamping_leaves_the_positive_part():
    labeled, population = logits(*LOW_P), logits(*LOW_U)
    risk(NNPU, labeled, population, 0.5, correction="clamp").backward()
    alone = logits(*LOW_P)
    (0.5 * margin_loss("sigmoid", alone).mean()).backward()
    assert labeled.grad.tolist() == pytest.approx(alone.grad.tolist(), abs=1e-12)
    assert population.grad.tolist() == [0, 0, 0]


def test_a_single_sample_needs_its_labeled_rows_in_the_population():
    rng = np.random.default_rng(0)
    positive = torch.tensor(rng.normal(1, 1, 4000))
    negative = torch.tensor(rng.normal(-1, 1, 4000))
    labeled, unlabeled = positive[:2000], torch.cat([positive[2000:], negative])
    true_risk = margin_loss("sigmoid", positive).mean() + margin_loss("sigmoid", -negative).mean()
    everything = torch.cat([labeled, unlabeled])
    found = sum(pu_risks(labeled, everything, 0.5, "sigmoid"))
    assert found.item() == pytest.approx(true_risk.item() / 2, abs=0.01)
    # The form with label frequency c = 0.5 and unlabeled rows only is the same number.
    of_unlabeled = 0.75 * margin_loss("sigmoid", -unlabeled).mean()
    hidden = 0.25 * margin_loss("sigmoid", -labeled).mean()
    direct = 0.5 * margin_loss("sigmoid", labeled).mean() + of_unlabeled - hidden
    assert found.item() == pytest.approx(direct.item(), abs=1e-12)
    naive = sum(pu_risks(labeled, unlabeled, 0.5, "sigmoid"))
    assert naive.item() == pytest.approx(0.2444, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: NNPU(**SETTINGS), scheme)
    assert_close_to_the_best(lambda: NNPU(**SETTINGS, loss="logistic"), scheme, seeds=(0,))
    assert_close_to_the_best(lambda: UPU(**SETTINGS), scheme, seeds=(0,))


def test_same_seed_same_bits():
    assert_same_bits(lambda: NNPU(**SETTINGS))


@pytest.mark.parametrize(
    "wrong", [{"loss": "hinge"}, {"correction": "none"}, {"tolerance": -1}, {"ascent_share": 2}]
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InvalidInputError, match=rf"NNPU.fit needs {next(iter(wrong))} to be"):
        NNPU(alpha=0.3, **wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])
