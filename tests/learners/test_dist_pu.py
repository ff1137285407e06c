"""DistPU: its loss, its schedule, mixed rows, and two stages."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners._training.stages import cosine
from recoup.learners._training.two_stage import clipped, mixed_entropy_loss
from recoup.learners.dist_pu import DistPU, distribution_loss, entropy, rising_weight

TOY = SETTINGS | {
    "warm_up_epochs": 30,
    "warm_up_learning_rate": 1e-3,
    "warm_up_weight_decay": 1e-4,
}


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


P, U = tensor(2, 0), tensor(1, -1, -2, 0.5)


def test_distribution_loss_and_entropy():
    assert P.sigmoid().mean().item() == pytest.approx(0.690399, abs=1e-6)
    assert U.sigmoid().mean().item() == pytest.approx(0.435416, abs=1e-6)
    assert distribution_loss(P, U, 0.4).item() == pytest.approx(0.353871, abs=1e-6)
    assert 0.8 * distribution_loss(P, U, 0.4).item() == pytest.approx(0.283097, abs=1e-6)
    assert entropy(U).item() == pytest.approx(0.548147, abs=1e-6)
    learner = DistPU()
    learner.pi_ = 0.4
    assert learner._warm_up_loss(P, U).item() == pytest.approx(0.354967, abs=1e-6)


def test_rare_positives_have_the_form_of_the_paper():
    expected = 0.08 * (1 - P.sigmoid().mean()) + U.sigmoid().mean() - 0.04
    assert distribution_loss(P, U, 0.04).item() == pytest.approx(expected.item(), abs=1e-12)


def test_weight_of_the_entropy_rises():
    found = [rising_weight(0.004, epoch, 60) for epoch in (0, 1, 30, 59)]
    assert found == pytest.approx([0, 1.3707e-6, 1.171573e-3, 3.895292e-3], rel=1e-4)


def test_learning_rate_falls_along_a_cosine():
    assert [cosine(0.0)(done) for done in (0, 0.5, 1)] == pytest.approx([1, 0.5, 0])
    assert [cosine(0.7)(done) for done in (0, 0.5, 1)] == pytest.approx([1, 0.85, 0.7])


def test_mixed_rows():
    mixed, targets, others = tensor(0.4, -0.3, 1.2), tensor(1, 0.2, 0.7), tensor(0.7, 1, 0.2)
    found = mixed_entropy_loss(mixed, targets, others, tensor(0.55)[0]).item()
    assert found == pytest.approx(0.727551, abs=1e-6)
    apart = [binary_cross_entropy_with_logits(mixed, part).item() for part in (targets, others)]
    assert found == pytest.approx(0.55 * apart[0] + 0.45 * apart[1], abs=1e-12)


def test_clipped_logits_have_finite_entropy():
    assert clipped(tensor(-50, 3, 50)).tolist() == [-10, 3, 10]
    assert 0 < entropy(tensor(-800, 800)).item() < 1e-3


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: DistPU(**TOY), scheme)


def test_weights_of_the_warm_up_are_never_kept():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"validation_fraction": 0.2, "epochs": 2, "warm_up_epochs": 4}
    learner = DistPU(**params, alpha=alpha, scheme="case-control", random_state=0).fit(X, s)
    assert learner.best_epoch_ > 4
    assert ["selection" in epoch for epoch in learner.history_] == [False] * 4 + [True] * 2


def test_the_warm_up_ends_where_held_out_rows_say():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"validation_fraction": 0.2, "epochs": 1, "warm_up_epochs": 80}
    params |= {"warm_up_learning_rate": 0.01, "random_state": 0}
    learner = DistPU(**params, alpha=alpha, scheme="case-control").fit(X, s)
    assert 6 <= len(learner.history_) - 1 < 80


def test_same_seed_same_bits():
    assert_same_bits(lambda: DistPU(**TOY | {"warm_up_epochs": 2}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"warm_up_epochs": 0}, "needs warm_up_epochs to be a whole number of at least 1. Got 0"),
        ({"mixing_shape": 0}, "needs mixing_shape to be a number above 0. Got 0"),
        ({"entropy": -1}, "needs entropy to be a number of at least 0. Got -1"),
        ({"alpha": 0.0}, "needs positives and negatives in the population to align with"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=f"^DistPU.fit {message}"):
        DistPU(**{"alpha": 0.4, "scheme": "case-control"} | wrong).fit(X, s)
