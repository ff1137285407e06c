"""SelfPU: its losses, which rows are trusted and when, and who teaches whom."""

import pickle

import numpy as np
import pytest
import torch

from learners.batches import Column, batch_of, columns, rows_of
from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits, toy_rows
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners import self_pu
from recoup.learners._training.networks import lenet
from recoup.learners.self_pu import SelfPU

# So small a network, for so few steps, needs larger ones.
TOY = SETTINGS | {"learning_rate": 1e-2}
QUICK = TOY | {"epochs": 20, "scheme": "case-control", "alpha": 0.4, "random_state": 0}


def test_risk():
    labeled, population = torch.tensor([1.0, -0.5]), torch.tensor([0.2, -1.0, 2.0])
    found = self_pu.non_negative_risk(labeled, population, 0.4)
    assert found.item() == pytest.approx(0.523084, abs=1e-6)


def test_risk_below_zero_is_turned_round():
    labeled = torch.tensor([3.0, 2.0], requires_grad=True)
    population = torch.tensor([-2.0, -3.0, -1.0], requires_grad=True)
    found = self_pu.non_negative_risk(labeled, population, 0.4)
    assert found.item() == pytest.approx(0.221484, abs=1e-6)
    gradients = torch.autograd.grad(found, [labeled, population])
    negative = population.sigmoid().mean() - 0.4 * labeled.sigmoid().mean()
    expected = torch.autograd.grad(-negative, [labeled, population])
    assert all(torch.allclose(*pair) for pair in zip(gradients, expected, strict=True))


@pytest.mark.parametrize(("n_labeled", "n_population"), [(2, 0), (0, 2)])
def test_risk_needs_rows_of_both_kinds(n_labeled, n_population):
    with pytest.raises(InvalidInputError, match=f"Got {n_labeled} and {n_population}"):
        self_pu.non_negative_risk(torch.zeros(n_labeled), torch.zeros(n_population), 0.4)


def test_entropies():
    found = self_pu.entropies(torch.tensor([2.0, -3.0]))
    assert found.tolist() == pytest.approx([0.365334, 0.190865], abs=1e-6)
    assert self_pu.entropies(torch.tensor([300.0, -300.0])).tolist() == [0, 0]


def test_how_many_are_trusted():
    epochs = (10, 20, 30, 40)
    slow, fast = (
        [self_pu.n_trusted(60_000, epoch, pace) for epoch in epochs] for pace in (0.4, 0.6)
    )
    assert slow == [1200, 2400, 3600, 4800]
    assert fast == [1800, 3600, 5400, 7200]
    assert self_pu.n_trusted(100, 0, 0.4) == 0
    assert self_pu.n_trusted(100, 900, 1.0) == 49


def test_weight_of_the_teacher():
    found = [self_pu.consistency_weight(0.3, epoch) for epoch in (50, 100, 199)]
    assert found == pytest.approx([0.003291, 0.009981, 0.056614], abs=1e-6)
    assert self_pu.consistency_weight(0.3, 900) == 0.3


def test_calibration():
    network = torch.nn.Linear(1, 1, bias=False).double()
    torch.nn.init.constant_(network.weight, 0.5)
    labeled, population = (torch.tensor(x).double().view(-1, 1) for x in ([1.0], [-2.0, 3.0]))
    outside = torch.tensor([[0.5], [-1.5]]).double()
    effects = self_pu.effects_on_entropy(network, labeled, population, outside, 0.4, 0.001)
    expected = [51.8698, 10.8062, 54.2450, 36.1633, -61.7240, 61.7240]
    assert (1e6 * effects).flatten().tolist() == pytest.approx(expected, abs=1e-3)
    shares = self_pu.divided(effects[1:], most=3.0).flatten().tolist()
    assert shares == pytest.approx([0.6, 0.4, 0, 1], abs=1e-4)
    # The first row has used up what may go to the entropy.
    shares = self_pu.divided(effects[1:], most=3 / 16).flatten().tolist()
    assert shares == pytest.approx([0.6, 0.4, 1, 0], abs=1e-4)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: SelfPU(**TOY), scheme, seeds=(0, 1))


@pytest.mark.parametrize(
    "variant",
    [
        {"trusted_loss": "hard"},
        {"trusted_loss": "soft"},
        {"ends": "prior"},
        {"update_prior": True},
        {"calibrate": True, "validation_fraction": 0.2},
    ],
)
def test_variants(variant):
    assert_close_to_the_best(lambda: SelfPU(**TOY | variant), "case-control", seeds=(0,))


def chosen(**params):
    """Return what is remembered each time that rows are chosen."""
    X, s, *_ = toy_rows(0, params.get("scheme", "case-control"))
    seen = {}

    class Noting(SelfPU):
        def _choose(self, student, judge, pace, epoch):
            super()._choose(student, judge, pace, epoch)
            scores = self._scores(self._rows.X, network=judge)
            parts = ("trusted", "noisy", "targets", "pi")
            found = {part: self._memory[f"{part} {student}"].clone() for part in parts}
            seen[epoch, student] = found | {"scores": scores}

    learner = Noting(**QUICK | params).fit(X, s)
    return learner, seen


def test_trusted_rows_are_the_ends_of_the_ranking():
    _, seen = chosen()
    assert list(seen) == [(e, student) for e in (1, 2, 3, 4) for student in self_pu.STUDENTS]
    for (epoch, student), found in seen.items():
        pace = {"network_": 0.4, "second_network_": 0.6}[student]
        each = self_pu.n_trusted(3000, 10 * epoch, pace)
        trusted, noisy, scores = found["trusted"], found["noisy"], found["scores"]
        # Labeled rows come first, and are never chosen.
        assert trusted.min() >= 300
        assert len(trusted) == 2 * each > 0
        assert sorted([*trusted.tolist(), *noisy.tolist()]) == list(range(300, 3300))
        positive = found["targets"][trusted] == 1
        assert positive.sum() == each
        assert scores[trusted[positive]].min() > scores[noisy].max() - 1e-4
        assert scores[trusted[~positive]].max() < scores[noisy].min() + 1e-4
        assert found["pi"].item() == pytest.approx(0.4)


def test_labeled_rows_of_a_single_sample_stay_with_the_others():
    _, seen = chosen(scheme="single-sample", alpha=0.34)
    found = seen[4, "network_"]
    assert found["trusted"].min() >= 300
    assert set(range(300)) <= set(found["noisy"].tolist())


def test_ends_and_prior_may_follow_alpha():
    _, seen = chosen(ends="prior", alpha=0.25, update_prior=True)
    found = seen[4, "second_network_"]
    targets = found["targets"][found["trusted"]]
    assert (targets.sum().item(), len(targets)) == (180, 720)
    assert found["pi"].item() == pytest.approx((0.25 * 3000 - 180) / 2280)
    _, seen = chosen(alpha=0.25, update_prior=True)
    found = seen[4, "second_network_"]
    assert found["pi"].item() == pytest.approx((0.25 * 3000 - 360) / 2280)


def test_probabilities_are_kept_as_soft_targets():
    _, seen = chosen(trusted_loss="soft")
    found = seen[2, "network_"]
    trusted = found["trusted"]
    assert torch.allclose(found["targets"][trusted], found["scores"][trusted].sigmoid())


def test_trusted_rows_come_first_in_an_epoch():
    X, s, *_ = toy_rows(0, "case-control")
    steps = []

    class Noting(SelfPU):
        def _loss(self, batch, taught, calibrated):
            for student in self_pu.STUDENTS:
                trusted = set(self._memory[f"trusted {student}"].tolist())
                rows = batch.draws[f"rows {student}"].tolist()
                share = sum(row in trusted for row in rows) / len(rows)
                steps.append((student, taught, bool(batch.draws[f"trusted {student}"]), share))
            return super()._loss(batch, taught, calibrated)

    Noting(**QUICK).fit(X, s)
    assert all(share == trusting for _, _, trusting, share in steps)
    # 11 steps per epoch; 720 rows that the second one trusts make three of them.
    last = [trusting for student, _, trusting, _ in steps if student == "second_network_"][-11:]
    assert last == [True] * 3 + [False] * 8
    taught = [taught for student, taught, _, _ in steps if student == "network_"]
    assert taught == [False] * 55 + [True] * 165


def test_teachers_copy_first_and_are_means_afterwards():
    X, s, *_ = toy_rows(0, "case-control")
    students = []

    class Noting(SelfPU):
        def _end(self, epoch):
            super()._end(epoch)
            students.append(self.second_network_[0].weight.detach().clone())
            means = torch.stack(students[5:] or students[-1:]).mean(0)
            assert torch.allclose(self.second_teacher_[0].weight, means, atol=1e-6)

    learner = Noting(**QUICK).fit(X, s)
    assert len(students) == 20
    first, second = (
        learner._outputs(X.astype(np.float32), teacher)
        for teacher in (learner.teacher_, learner.second_teacher_)
    )
    assert not np.array_equal(first, second)
    assert learner.decision_function(X) == pytest.approx((first + second) / 2)


def test_only_weights_with_teachers_are_kept():
    X, s, *_ = toy_rows(0, "case-control")
    learner = SelfPU(**QUICK | {"validation_fraction": 0.2}).fit(X, s)
    assert ["selection" in row for row in learner.history_] == [False] * 5 + [True] * 15
    assert learner.best_epoch_ > 5


def test_survives_pickle_and_save(tmp_path):
    X, s, *_ = toy_rows(0, "case-control")
    learner = SelfPU(**QUICK | {"network": "mlp", "epochs": 2}).fit(X, s)
    expected = learner.decision_function(X)
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).decision_function(X), expected)
    loaded = learners.load(learners.save(learner, tmp_path))
    assert np.array_equal(loaded.decision_function(X), expected)


@pytest.mark.parametrize("calibrate", [False, True])
def test_same_seed_same_bits(calibrate):
    assert_same_bits(lambda: SelfPU(**TOY | {"calibrate": calibrate}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"paces": (0.4,)}, r"needs paces to be two numbers above 0 and at most 1. Got \(0.4,\)"),
        ({"paces": (0.4, 1.5)}, "needs paces to be two numbers above 0 and at most 1"),
        ({"trusted_loss": "sure"}, "needs trusted_loss to be one of 'entropy', 'hard', 'soft'"),
        ({"ends": "both"}, "needs ends to be one of 'equal', 'prior'. Got 'both'"),
        ({"n_selections": 0}, "needs n_selections to be a whole number of at least 1. Got 0"),
        ({"agreement": -1}, "needs agreement to be a number of at least 0. Got -1"),
        ({"first_selection": 0.3}, "needs first_selection before teachers_from"),
        ({"teachers_from": 1.0}, "needs teachers_from to be a number above 0 and below 1"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^SelfPU.fit {message}"):
        SelfPU(alpha=0.4, **wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def a_step(trusting, **settings):
    """Return a learner whose four networks read four features, and a batch to take a step with."""
    features = [[1.0, -0.5, 0.2, -1.0, 2.0], [1.1, -0.6, 0.2, -0.9, 2.0]]
    features += [[3.0, 0.0, -2.0, 0.0, 1.0], [0.0] * 5]
    rows = columns(*features)
    flags = torch.tensor(trusting)
    draws = {"rows network_": torch.arange(2, 5), "trusted network_": flags}
    batch = batch_of(rows[:2], rows[2:], **draws)
    learner = SelfPU(**settings)
    for place, name in enumerate((*self_pu.STUDENTS, *self_pu.TEACHERS)):
        setattr(learner, name, Column(place))
    learner._rows = rows_of(batch)
    learner._memory = {
        "pi network_": torch.tensor(0.4),
        "targets network_": torch.tensor([1.0, 1, 1, 0, 1]).double(),
        "consistency": torch.tensor(0.3),
    }
    own, other, teacher, _ = rows.sigmoid().T
    return learner, batch, own, ((own - other) ** 2).mean(), ((own - teacher) ** 2).mean()


def test_trusted_rows_leave_the_risk_for_their_entropy():
    learner, batch, chances, *_ = a_step(False)
    assert learner._own_loss(batch, 0, False, False).item() == pytest.approx(0.523084, abs=1e-6)
    learner, batch, chances, *_ = a_step(True)
    p = chances[2:].numpy()
    entropy = -np.mean(p * np.log(p) + (1 - p) * np.log(1 - p))
    assert learner._own_loss(batch, 0, False, False).item() == pytest.approx(entropy, abs=1e-6)
    learner.trusted_loss = "hard"
    hard = -np.mean(np.log([p[0], 1 - p[1], p[2]]))
    assert learner._own_loss(batch, 0, False, False).item() == pytest.approx(hard, abs=1e-6)


def test_students_learn_from_teachers_and_where_it_is_cheap_from_each_other():
    learner, batch, _, apart, from_teacher = a_step(False)
    assert 0.0001 < apart.item() < 0.1 * 0.523084
    expected = 0.523084 + apart.item() + 0.3 * from_teacher.item()
    assert learner._own_loss(batch, 0, True, False).item() == pytest.approx(expected, abs=1e-6)
    learner.agreement = 0.5 * apart.item() / 0.523084
    expected -= apart.item()
    assert learner._own_loss(batch, 0, True, False).item() == pytest.approx(expected, abs=1e-6)
    learner, batch, *_ = a_step(True)
    # Trusted rows are not for learning from each other.
    plain = learner._own_loss(batch, 0, False, False).item()
    taught = learner._own_loss(batch, 0, True, False).item()
    assert taught - plain == pytest.approx(0.3 * from_teacher.item(), abs=1e-6)


def test_calibration_divides_the_rows_that_are_not_trusted(monkeypatch):
    learner, batch, chances, *_ = a_step(False, calibration_budget=0.2)
    learner._rows = rows_of(batch)
    batch.draws["outside"] = torch.tensor([0])
    shares = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]).double()
    asked = []
    monkeypatch.setattr(self_pu, "effects_on_entropy", lambda *args: torch.zeros(5, 2))
    monkeypatch.setattr(self_pu, "divided", lambda effects, most: asked.append(most) or shares)
    found = learner._own_loss(batch, 0, False, True).item()
    p = chances[2:].numpy()
    entropies = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    # The sigmoid loss: labeled rows as positives, the others as negatives by their first share.
    positive, negative = (1 - chances[:2]).mean().item(), chances[:2].mean().item()
    risk = 0.4 * positive + (p[0] + p[2] / 2) / 3 - 0.4 * negative
    assert found == pytest.approx(risk + (entropies[1] + entropies[2] / 2) / 5, abs=1e-6)
    assert asked == [pytest.approx(0.2 * 5)]


def test_calibration_looks_at_no_value_so_that_a_step_can_be_recorded():
    # Tensors without values refuse whatever a recording would refuse.
    network = lenet((1, 28, 28)).to("meta").eval()
    rows = [torch.empty(n, 1, 28, 28, device="meta") for n in (4, 8, 6)]
    pi = torch.empty((), device="meta")
    effects = self_pu.effects_on_entropy(network, *rows, pi, 1e-3)
    assert effects.shape == (12, 2)
    assert self_pu.divided(effects[4:], 0.5).shape == (8, 2)
