"""HolisticPU: trends, the break between them, both losses, and what the two networks do."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from learners.batches import batch_of, columns
from learners.toy import (
    SCHEMES,
    SETTINGS,
    assert_close_to_the_best,
    assert_same_bits,
    small_network,
    toy_rows,
)
from recoup import learners
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners._training import stages as _steps
from recoup.learners.holistic_pu import (
    HolisticPU,
    adjacent_trends,
    consistency_loss,
    falling_rate,
    natural_break,
    pairwise_trends,
    smoothed_positive_loss,
    trust,
)

TOY = {name: SETTINGS[name] for name in ("network", "validation_fraction", "standardize")}
QUICK = TOY | {"trend_epochs": 6, "epochs": 6}


def column(*values):
    return np.array(values)[:, None]


def test_trends_of_the_worked_example():
    history = column(0.5, 0.6, 0.4, 0.3)
    assert adjacent_trends(history) == pytest.approx([-0.066142], abs=1e-6)
    assert pairwise_trends(history, 1.0) == pytest.approx([-0.132324], abs=1e-6)
    assert pairwise_trends(history, 2.0) == pytest.approx([-0.259925], abs=1e-6)


def test_swings_have_no_published_trend():
    history = column(0.2, 0.8, 0.2, 0.8, 0.2)
    assert adjacent_trends(history) == pytest.approx([0.015943], abs=1e-6)
    assert pairwise_trends(history, 1.0) == pytest.approx([0.0], abs=1e-12)


def test_a_path_backwards_has_the_opposite_trend():
    history = np.random.default_rng(0).random((7, 20))
    assert pairwise_trends(history[::-1], 1.5) == pytest.approx(-pairwise_trends(history, 1.5))


def test_the_two_criteria():
    clean = np.array([-0.30, -0.28, -0.25, -0.05, 0.10, 0.12])
    assert natural_break(clean, "squares") == natural_break(clean, "variance") == -0.25
    values = np.array([-0.30, -0.29, -0.28, -0.27, -0.26, -0.10, 0, 0.10, 0.40])
    assert natural_break(values[::-1], "squares") == -0.10
    assert natural_break(values, "variance") == 0.10


@pytest.mark.parametrize("criterion", ["squares", "variance"])
def test_the_break_is_the_best_of_all(criterion):
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=30), rng.integers(5, size=40) / 7 + 1e6):

        def cost(cut, values=values):
            parts = [values[values <= cut], values[values > cut]]
            weights = [len(part) for part in parts] if criterion == "squares" else [1, 1]
            return sum(weight * part.var() for weight, part in zip(weights, parts, strict=True))

        best = min(np.unique(values)[:-1], key=cost)
        assert natural_break(values, criterion) == best


def test_equal_values_have_no_break():
    assert natural_break(np.full(5, 0.3), "squares") is None


def test_schedules():
    found = [trust(epoch, 25) for epoch in (0, 5, 12, 24)]
    assert found == pytest.approx([0, 0.275946, 0.555895, 0.967870], abs=1e-6)
    rates = [falling_rate(done) for done in (0, 0.5, 0.6, 1)]
    assert rates == pytest.approx([1, 0.773010, 0.678801, 0.195090], abs=1e-6)


def test_losses_are_those_of_two_logits():
    scores = torch.tensor([0.7, -1.2, 3.0])
    logits = torch.stack([torch.zeros(3), scores], 1)
    expected = torch.nn.functional.cross_entropy(
        logits, torch.ones(3, dtype=torch.long), label_smoothing=0.1
    )
    assert smoothed_positive_loss(scores, 0.1).item() == pytest.approx(expected.item(), abs=1e-6)
    # Probabilities 0.95, 0.85 and 0.05: the second is not sure enough to be a target.
    weak = torch.logit(torch.tensor([0.95, 0.85, 0.05]))
    strong = torch.tensor([0.0, 9.0, 2.0])
    expected = (np.log(2) + np.log1p(np.exp(2.0))) / 3
    assert consistency_loss(weak, strong, 0.9).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    # Classes overlap, and the break is where they do: the share of positives comes out too high.
    assert_close_to_the_best(lambda: HolisticPU(**TOY, epochs=12), scheme, seeds=(1, 2))


@pytest.mark.parametrize("trend", ["pairs", "adjacent"])
@pytest.mark.parametrize("criterion", ["squares", "variance"])
def test_classes_that_do_not_overlap_are_found(trend, criterion):
    rng = np.random.default_rng(0)
    y = np.arange(1100) < 500
    X = rng.normal(size=(1100, 4)) + np.where(y, 3.0, -3.0)[:, None]
    s = (np.arange(1100) < 100).astype(int)
    params = QUICK | {"trend": trend, "criterion": criterion, "learning_rate": 0.01}
    learner = HolisticPU(**params, scheme="case-control", random_state=0).fit(X, s)
    assert np.mean(learner.predict(X) == y) > 0.99
    assert learner.pseudo_share_ == learner.alpha_ == pytest.approx(0.4, abs=0.02)
    assert learner.prior_.method == "holistic-pu"


def test_alpha_is_that_of_the_break_unless_given():
    X, s, *_ = toy_rows(0, "single-sample")
    quick = QUICK | {"trend_epochs": 3, "epochs": 1, "validation_fraction": 0.2}
    found = HolisticPU(**quick, random_state=0).fit(X, s)
    assert found.alpha_ == found.pseudo_share_
    assert found.pi_ == pytest.approx(1 / 11 + 10 / 11 * found.alpha_)
    given = HolisticPU(**quick, alpha=0.34, random_state=0).fit(X, s)
    assert given.alpha_ == 0.34
    assert given.pseudo_share_ == found.pseudo_share_


def test_first_network_is_only_watched():
    X, s, *_ = toy_rows(0, "case-control")
    seen = {}

    class Watched(HolisticPU):
        def _begin(self, epoch):
            if epoch == 0:
                seen["trained"] = self.network_[0].weight.clone()
            super()._begin(epoch)
            seen[epoch] = self.network_[0].weight.clone()
            seen["labels"] = self._memory["pseudo-labels"].clone()

    quick = QUICK | {"trend_epochs": 3, "epochs": 2, "validation_fraction": 0.2}
    learner = Watched(**quick, scheme="case-control", random_state=0).fit(X, s)
    assert not torch.equal(seen["trained"], seen[0])
    assert not torch.equal(seen[0], seen[1])
    assert learner.best_epoch_ > 3
    assert ["selection" in epoch for epoch in learner.history_] == [False] * 3 + [True] * 2
    assert set(learner._networks()) == {"network_"}
    assert not [name for name in vars(learner) if name.startswith("_")]
    assert seen["labels"][:300].all()
    assert set(seen["labels"].unique().tolist()) == {0, 1}


def test_warm_start_is_for_the_second_network():
    X, s, *_ = toy_rows(0, "case-control")
    starts = []

    class Watched(HolisticPU):
        def _note(self, epoch):
            starts.append(("first", self.network_[0].weight.clone()))
            super()._note(epoch)

        def _begin(self, epoch):
            super()._begin(epoch)
            starts.append(("second", self.network_[0].weight.clone()))

    quick = QUICK | {"trend_epochs": 2, "epochs": 1, "warm_start": True, "random_state": 0}
    learner = Watched(**quick).fit(X, s)
    last = learner.network_[0].weight.detach().clone()
    starts.clear()
    learner.set_params(random_state=1).fit(X, s)
    second = next(weight for name, weight in starts if name == "second")
    assert torch.equal(second, last)
    assert (starts[0][1] - last).abs().max() > 0.05


def test_watching_ends_before_labels_are_known_by_heart():
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.5
    X = rng.normal(size=(1500, 100))
    X[:, :10] += np.where(y, 0.6, -0.6)[:, None]
    s = np.zeros(1500, int)
    s[np.flatnonzero(y)[:100]] = 1
    right = {}

    class Watched(HolisticPU):
        def _guess_labels(self):
            super()._guess_labels()
            places = self._watched[0]
            found = self._memory["pseudo-labels"][places].numpy()
            right[self.validation_fraction] = np.mean(found == y[places.numpy()])

    quick = {"learning_rate": 0.03, "epochs": 1, "scheme": "case-control", "random_state": 0}
    assert Watched(**quick).fit(X, s).watched_epochs_ < 10
    assert right[0.2] > 0.8
    # What the authors do, and what nothing held out leaves.
    assert Watched(**quick, validation_fraction=0).fit(X, s).watched_epochs_ == 15
    assert right[0] < 0.6


def test_epochs_are_watched_as_long_as_held_out_rows_are_told_apart():
    learner = HolisticPU(criterion="squares")
    # Rows to train on, held out with a label, and held out without. One of the labeled rows falls
    # a little in the third epoch, and all of them in the fourth.
    stays, falls = [0.5, 0.5, 0.5, 0.1], [0.5, 0.3, 0.2, 0.1]
    learner._watched = ([0, 1, 2], [3, 4], [5, 6])
    rows = [stays, [0.5, 0.45, 0.4, 0.1], falls, stays, [0.5, 0.5, 0.3, 0.1], stays, falls]
    learner._history = list(np.transpose(rows))
    trends, cut = learner._split()
    assert learner.watched_epochs_ == 2
    assert trends == pytest.approx([0, -np.log(1.05125), -np.log(1.22)])
    assert cut == trends[2]


def test_an_epoch_is_at_most_one_pass():
    X, s, *_ = toy_rows(0, "single-sample")
    calls = []

    class Counted(HolisticPU):
        def _label_loss(self, batch):
            calls.append((len(batch.labeled), len(batch.population)))
            assert not self._rows.has_label[batch.population_rows].any()
            return super()._label_loss(batch)

    quick = QUICK | {"trend_epochs": 2, "epochs": 1, "batch_size": 400, "random_state": 0}
    Counted(**quick).fit(X, s)
    assert calls == [(400, 400)] * 2 * (3000 // 400)
    calls.clear()
    Counted(**quick, steps_per_epoch=3).fit(X, s)
    assert len(calls) == 2 * 3


def test_no_trend_at_all_is_noticed():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    s = (np.arange(300) < 50).astype(int)

    def constant(shape):
        network = small_network(shape)
        torch.nn.init.zeros_(network[2].weight)
        return network.requires_grad_(False).append(torch.nn.Linear(1, 1))

    learner = HolisticPU(**QUICK | {"network": constant}, random_state=0)
    with pytest.warns(RecoupWarning) as caught:
        learner.fit(rows, s)
    said = " ".join(str(one.message) for one in caught)
    assert "finds no break between the trends" in said
    assert "takes 0.0% of the unlabeled rows for positive" in said


def test_biases_are_spared_the_decay(monkeypatch):
    X, s, *_ = toy_rows(0, "case-control")
    made = []
    original = _steps._optimizer
    monkeypatch.setattr(
        _steps, "_optimizer", lambda *args: made.append(original(*args)) or made[-1]
    )
    HolisticPU(**QUICK | {"trend_epochs": 2, "epochs": 1}, random_state=0).fit(X, s)
    assert len(made) == 2
    for optimizer in made:
        decays = [
            (weight.dim(), group["weight_decay"], group["nesterov"])
            for group in optimizer.param_groups
            for weight in group["params"]
        ]
        assert sorted(decays) == [(1, 0, True)] * 2 + [(2, 5e-4, True)] * 2


def test_images_of_digits(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(240) < 120
    X = rng.normal(0, 0.1, size=(240, 1, 16, 16)).astype(np.float32)
    X[y, :, 4:12, 4:12] += 1
    s = (np.arange(240) < 60).astype(int)
    learner = HolisticPU(
        epochs=6, trend_epochs=6, batch_size=16, learning_rate=0.02, random_state=0
    ).fit(X, s)
    assert np.mean(learner.predict(X) == y) > 0.95
    loaded = learners.load(learners.save(learner, tmp_path))
    # Convolutions round differently in another layout of the weights.
    assert loaded.decision_function(X) == pytest.approx(learner.decision_function(X), abs=1e-5)
    assert loaded.cut_ == learner.cut_


def test_same_seed_same_bits():
    assert_same_bits(lambda: HolisticPU(**TOY, trend_epochs=2))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"trend_epochs": 1}, "needs trend_epochs to be a whole number of at least 2. Got 1"),
        ({"steps_per_epoch": 0}, "needs steps_per_epoch to be a whole number of at least 1. Got 0"),
        ({"trend_scale": 0}, "needs trend_scale to be a number above 0. Got 0"),
        ({"smoothing": 1}, "needs smoothing to be a number of at least 0 and below 1. Got 1"),
        ({"averaging": 1.5}, "needs averaging to be a number above 0 and below 1. Got 1.5"),
        ({"confidence": 0.5}, "needs confidence to be a number above 0.5 and below 1. Got 0.5"),
        ({"trend": "mean"}, "needs trend to be one of 'pairs', 'adjacent'. Got 'mean'"),
        ({"criterion": "gap"}, "needs criterion to be one of 'squares', 'variance'. Got 'gap'"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^HolisticPU.fit {message}"):
        HolisticPU(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def watching(**memory):
    """Return a learner whose weak view is the row, and whose strong one is twice as far out."""
    learner = HolisticPU(smoothing=0.2)
    learner._views = SimpleNamespace(weak=lambda rows: rows, strong=lambda rows: 2 * rows)
    learner._memory = {name: torch.tensor(value) for name, value in memory.items()}
    return learner


def cost(scores, target):
    scores = np.asarray(scores)
    return np.mean(target * np.log1p(np.exp(-scores)) + (1 - target) * np.log1p(np.exp(scores)))


LABELED, OTHERS = [1.5, -0.5], [-3.0, 0.4, 2.5]


def test_the_first_network_learns_labels_in_two_views():
    found = watching()._label_loss(batch_of(columns(LABELED), columns(OTHERS))).item()
    views = [2 * LABELED[0], 2 * LABELED[1], *LABELED]
    assert found == pytest.approx(cost(views, 0.9) + cost(OTHERS, 0.0), abs=1e-6)


@pytest.mark.parametrize("trusted", [0.0, 0.6])
def test_the_second_network_learns_pseudo_labels_as_far_as_they_are_trusted(trusted):
    labels = [1.0, 1.0, 0.0, 1.0, 1.0]
    learner = watching(**{"trust": trusted, "pseudo-labels": labels})
    found = learner._pseudo_label_loss(batch_of(columns(LABELED), columns(OTHERS))).item()
    pseudo = cost(OTHERS, trusted * np.array([0.0, 1.0, 1.0]))
    # Sure in the weak view, from log(9) on: the first as a negative, the last as a positive.
    strong = (np.log1p(np.exp(-6.0)) + np.log1p(np.exp(-5.0))) / 3
    assert found == pytest.approx(cost(LABELED, 1.0) + pseudo + strong, abs=1e-6)
