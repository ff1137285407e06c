"""PULCPBF: where the fence stands, the labels drawn from it, and what is learned from them."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from learners.batches import batch_of, column
from learners.toy import (
    SCHEMES,
    SETTINGS,
    assert_close_to_the_best,
    assert_same_bits,
    small_network,
    toy_accuracy,
    toy_rows,
)
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners.pul_cpbf import (
    PULCPBF,
    consistency_loss,
    fence_losses,
    sharpened,
    shift_to_share,
    soft_labels,
)

LEVELS = tuple(k / 10 for k in range(1, 10))
TOY = SETTINGS | {"fence_epochs": 10}


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_weights_of_the_fence_are_those_of_the_paper():
    levels, pi, rho = tensor(0.1, 0.3, 0.5, 0.7, 0.9), 0.4, 1000 / 51_000
    labeled, population = (torch.zeros(4, 5).double().requires_grad_() for _ in range(2))
    fence_losses(labeled, population, levels, pi).sum().backward()
    ratio = -population.grad.sum(0) / labeled.grad.sum(0)
    assert ratio.tolist() == pytest.approx([0.25, 0.75, 1.25, 1.75, 2.25])
    beta = tensor(0.004975, 0.014778, 0.024390, 0.033816, 0.043062)
    published = beta * (1 - rho) / ((1 - beta) * rho)
    assert ratio.tolist() == pytest.approx(published.tolist(), rel=1e-4)


def test_boundary_is_where_the_chance_of_a_positive_is_the_level():
    # Three values, alike in the population, positive with chances 0.2, 0.5 and 0.8.
    table = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    labeled = torch.arange(3).repeat_interleave(torch.tensor([2, 5, 8]))
    solver = torch.optim.LBFGS([table], lr=1, max_iter=100, tolerance_change=0)

    def loss():
        solver.zero_grad()
        value = fence_losses(table[labeled][:, None], table[:, None], tensor(0.6), 0.5).sum()
        value.backward()
        return value

    solver.step(loss)
    assert table.tolist() == pytest.approx([-1.098612, -0.182322, 0.287682], abs=1e-6)


def test_soft_labels_lie_between_the_levels():
    signs = -torch.ones(4, 9)
    signs[0, :3] = 1
    signs[2] = 1
    # Out of order: two are positive, whichever.
    signs[3, [0, 2]] = 1
    low = soft_labels(signs, LEVELS, torch.zeros(4).double()).tolist()
    high = soft_labels(signs, LEVELS, torch.ones(4).double()).tolist()
    assert low == pytest.approx([0.3, 0.0, 0.9, 0.2])
    assert high == pytest.approx([0.4, 0.1, 1.0, 0.3])
    assert soft_labels(signs, LEVELS, tensor(*[0.25] * 4))[0].item() == pytest.approx(0.325)


def test_the_mean_soft_label_is_the_share():
    rng = np.random.default_rng(0)
    chances = torch.tensor(rng.random(20_000))
    scores = torch.log(chances[:, None] / tensor(*LEVELS))
    places = torch.tensor(rng.random(20_000))
    share = chances.mean().item()
    assert shift_to_share(scores, LEVELS, places, share) == pytest.approx(0, abs=0.02)
    # A fence whose chances are all too low by a factor gets it back.
    assert shift_to_share(scores - 0.5, LEVELS, places, share) == pytest.approx(0.5, abs=0.02)
    assert shift_to_share(scores + 3, LEVELS, places, share) == pytest.approx(-3, abs=0.02)


def test_sharpened():
    found = sharpened(tensor(0.6, 0.74, 0.75, 0.76, 0.9), 0.5).tolist()
    assert found == pytest.approx([0.692308, 0.890117, 0.9, 0.909320, 0.987805], abs=1e-6)


def test_what_the_second_network_minimizes():
    weak, strong, labels = tensor(0.4, -1.2), tensor(0.1, -2.5), tensor(0.35, 0.08)
    found = sharpened(weak.sigmoid(), 0.5)
    assert torch.maximum(found, 1 - found).tolist() == pytest.approx([0.689974, 0.916827], abs=1e-6)
    unlabeled = consistency_loss(weak, strong, labels, 0.5, 0.5, 0.9)
    without_guesses = consistency_loss(weak, strong, labels, 0.5, 0.5, 2.0)
    assert without_guesses.item() == pytest.approx(0.477149, abs=1e-6)
    assert (unlabeled - without_guesses).item() == pytest.approx(0.039445, abs=1e-6)
    total = softplus(tensor(-1.0)).mean() + 0.85 * unlabeled
    assert total.item() == pytest.approx(0.752366, abs=1e-6)


def test_guesses_are_targets_without_a_gradient():
    weak = tensor(3.0, -3.0).requires_grad_()
    consistency_loss(weak, tensor(0.0, 0.0), tensor(1.0, 0.0), 1.0, 0.5, 0.9).backward()
    expected = (weak.detach().sigmoid() - tensor(1.0, 0.0)) / 2
    assert weak.grad.tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize("shared", [True, False])
def test_fence_stands_at_its_levels(shared):
    # Enough labels that none of the classifiers learns them by heart.
    X, s, alpha, X_test, _ = toy_rows(0, "case-control", times=5)
    chances = 1 / (1 + np.exp(-2 * 1.2 * X_test[:, 0] - np.log(0.4 / 0.6)))
    params = TOY | {"epochs": 1, "fence": (0.2, 0.5, 0.8), "shared": shared, "fence_epochs": 24}
    learner = PULCPBF(**params, scheme="case-control", alpha=alpha, random_state=0)
    found = []

    def conclude(rows):
        with torch.no_grad():
            found.append(learner._fence_of(torch.as_tensor(X_test).float()).numpy())

    learner._conclude = conclude
    learner.fit(X, s)
    # The level that has as many rows above it as the classifier calls positive.
    implied = [np.quantile(chances, 1 - share) for share in np.mean(found[0] > 0, axis=0)]
    assert implied[:2] == pytest.approx([0.2, 0.5], abs=0.05)
    # Scores of the last one cannot exceed log(1 / 0.8), so that it wavers where they are flat.
    assert implied[2] == pytest.approx(0.8, abs=0.1)
    assert learner.fenced_.sum() == 15_000
    assert len(learner.fenced_) == 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: PULCPBF(**TOY), scheme, seeds=(0, 1))


def test_the_threshold_takes_back_what_labeled_rows_pull_up():
    X_test, y_test = toy_rows(0, "case-control")[3:]
    learner = PULCPBF(**TOY | {"fence_epochs": 40}, labeled_weight=1.0)
    accuracy = toy_accuracy(learner, 0, "case-control")
    above_zero = learner.decision_function(X_test) + learner.offset_ > 0
    assert above_zero.mean() > 0.45
    assert learner.predict(X_test).mean() == pytest.approx(0.4, abs=0.03)
    assert accuracy > np.mean(above_zero == y_test) + 0.01


def test_labels_are_drawn_once_and_guesses_wait():
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    params = TOY | {"epochs": 3, "fence_epochs": 2}
    learner = PULCPBF(**params, alpha=alpha, warm_up_epochs=2, random_state=0)
    seen = []
    draw = learner._draw_labels

    def noting(epoch):
        draw(epoch)
        seen.append({name: part.clone() for name, part in learner._memory.items()})

    learner._draw_labels = noting
    learner.fit(X, s)
    assert [float(one["guess weight"]) for one in seen] == [0, 0, 0.5]
    assert [one["confidence"].item() > 1 for one in seen] == [True, True, False]
    labels = seen[0]["labels"]
    assert all(torch.equal(one["labels"], labels) for one in seen)
    assert (labels[:300] == 1).all()
    assert ((labels > 0) & (labels < 1))[300:].all()
    assert labels[300:].mean().item() == pytest.approx(alpha, abs=0.001)
    assert not {"_fence", "_views", "_memory"} & vars(learner).keys()


def test_fence_ends_where_held_out_rows_say():
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    params = TOY | {"epochs": 1, "fence_epochs": 40, "validation_fraction": 0.2}
    params |= {"learning_rate": 2e-2, "weight_decay": 0.0}
    learner = PULCPBF(**params, alpha=alpha, random_state=0).fit(X, s)
    assert len(learner.history_) < 30


def test_few_labels_are_not_learned_by_heart_before_the_first_look():
    # One pass over the population would be 80 over the labeled rows: the fence would call nearly
    # all rows negative, and need a shift of 6 and more.
    rng = np.random.default_rng(0)
    y = np.append(np.ones(60), rng.random(4000) < 0.4)
    X = rng.normal(size=(len(y), 50))
    X[:, :5] += np.where(y == 1, 0.8, -0.8)[:, None]
    s = (np.arange(len(y)) < 60).astype(int)
    learner = PULCPBF(alpha=0.4, scheme="case-control", epochs=1, random_state=0).fit(X, s)
    assert abs(learner.fence_shift_) < 1


def test_images():
    rng = np.random.default_rng(0)
    y = np.arange(120) < 60
    X = rng.normal(size=(120, 1, 16, 16)) + y[:, None, None, None]
    s = (np.arange(120) < 20).astype(int)
    learner = PULCPBF(alpha=0.4, fence_epochs=1, epochs=3, random_state=0).fit(X, s)
    assert learner.decision_function(X).shape == (120,)


def test_survives_saving(tmp_path):
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    learner = PULCPBF(alpha=alpha, fence_epochs=1, epochs=1, network="mlp", random_state=0)
    loaded = learners.load(learners.save(learner.fit(X, s), tmp_path))
    assert np.array_equal(loaded.decision_function(X), learner.decision_function(X))


def test_same_seed_same_bits():
    assert_same_bits(lambda: PULCPBF(**TOY | {"fence_epochs": 2}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"fence": ()}, "needs fence to be a list of numbers above 0 and below 1, in rising order"),
        ({"fence": (0.5, 0.2)}, "needs fence to be a list of numbers above 0 and below 1"),
        ({"fence": 0.5}, "needs fence to be a list of numbers above 0 and below 1"),
        ({"fence_epochs": 0}, "needs fence_epochs to be a whole number of at least 1. Got 0"),
        (
            {"guess_weight": 1.5},
            "needs guess_weight to be a number of at least 0 and at most 1. Got 1.5",
        ),
        (
            {"confidence": 0.2},
            "needs confidence to be a number of at least 0.5 and at most 1. Got 0.2",
        ),
        ({"alpha": 0.0, "scheme": "case-control"}, "needs positives in the population"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    params = {"alpha": 0.3, "network": small_network} | wrong
    with pytest.raises(InvalidInputError, match=f"^PULCPBF.fit {message}"):
        PULCPBF(**params).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def test_a_step_learns_labels_soft_labels_and_confident_guesses():
    learner = PULCPBF(labeled_weight=0.3, unlabeled_weight=0.85)
    learner._views = SimpleNamespace(weak=lambda rows: rows, strong=lambda rows: rows - 1)
    learner._memory = {
        "labels": tensor(1, 0.35, 0.08),
        "guess weight": tensor(0.5)[0],
        "confidence": tensor(0.9)[0],
    }
    found = learner._learn(batch_of(column(1.0), column(0.4, -1.2))).item()

    def cost(score, target):
        return target * np.log1p(np.exp(-score)) + (1 - target) * np.log1p(np.exp(score))

    # The guesses are 1 and 0, and only the second is confident.
    weak = (cost(0.4, (1 + 0.35) / 2) + cost(-1.2, (0 + 0.08) / 2)) / 2
    strong = cost(-2.2, 0.0) / 2
    assert found == pytest.approx(0.3 * cost(1.0, 1.0) + 0.85 * (weak + strong), abs=1e-6)
