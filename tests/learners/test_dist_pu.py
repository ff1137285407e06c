"""DistPU: its loss, its schedule, mixed rows, and two stages."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from learners.batches import batch_of, column, rows_of
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
    learner = DistPU(**params, patience=3, alpha=alpha, scheme="case-control").fit(X, s)
    assert 6 <= len(learner.history_) - 1 < 80


def test_the_warm_up_is_run_to_its_end_unless_patience_is_asked_for():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"validation_fraction": 0.2, "epochs": 1, "warm_up_epochs": 14}
    params |= {"warm_up_learning_rate": 0.05, "random_state": 0, "guard": "off"}
    learner = DistPU(**params, alpha=alpha, scheme="case-control").fit(X, s)
    assert len(learner.history_) == 15


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


def test_the_second_stage_aligns_and_minimizes_entropies():
    learner = DistPU(entropy=0.1)
    learner.pi_, learner._memory = 0.4, {"entropy weight": tensor(0.0)[0]}
    mixed = tensor(0.4, -0.3, 1.2)
    expected = 0.353871 + 0.04 * entropy(mixed).item()
    assert learner._main_loss(P, U, mixed).item() == pytest.approx(expected, abs=1e-6)
    learner.epochs = 60
    learner._begin(2, 30)
    expected += 0.1 * (1.171573e-3 / 0.004) * 0.548147
    assert learner._main_loss(P, U, mixed).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rows_are_mixed_with_targets_that_follow_the_network(scheme):
    # Two labeled rows, of which the first is in the population of a single sample too.
    scores = [2.0, 1.0, -1.0, 0.5]
    labeled, population = column(2.0, 0.0), column(*scores)
    order = torch.tensor([4, 2, 5, 0, 3, 1])
    batch = batch_of(labeled, population, share=tensor(0.75)[0], order=order)
    learner = DistPU(scheme=scheme, mixing_weight=3.0)
    learner.pi_, learner._memory = 0.4, {}
    learner._prepare(rows_of(batch))
    has_label = torch.tensor([True, True, scheme == "single-sample", False, False, False])
    guesses = torch.where(has_label, 1.0, tensor(0, 0, 0, 0.6, 0.3, 0.2))
    learner._memory |= {"has label": has_label, "targets": guesses.clone()}
    found = learner._mixing_loss(batch).item()

    rows, targets = batch.rows[:, 0], guesses
    if scheme == "single-sample":
        rows, targets, order = rows[2:], targets[2:], order[2:]
    partner = order.argsort()
    mixed = 0.75 * rows + 0.25 * rows[partner]
    wanted = 0.75 * targets + 0.25 * targets[partner]
    against = -(wanted * mixed.sigmoid().log() + (1 - wanted) * (-mixed).sigmoid().log()).mean()
    plain = learner._main_loss(labeled[:, 0], population[:, 0], mixed)
    assert found == pytest.approx((plain + 3 * against).item(), abs=1e-9)
    # The next step starts from what the network says now, but for labeled rows.
    now = torch.where(has_label, 1.0, batch.rows[:, 0].sigmoid())
    assert learner._memory["targets"][2:].tolist() == pytest.approx(now[2:].tolist(), abs=1e-6)
