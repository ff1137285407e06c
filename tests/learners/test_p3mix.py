"""P3Mix: terms of the loss, who is mixed with whom, and that hidden positives are found."""

import pickle

import numpy as np
import pytest
import torch

from learners.toy import SCHEMES, SETTINGS, assert_same_bits, small_network, toy_accuracy, toy_rows
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners import p3mix
from recoup.learners.p3mix import P3Mix

# So small a network needs larger steps.
TOY = SETTINGS | {"learning_rate": 1e-2}
TARGETS = 0.7 * torch.tensor([1.0, 1, 0, 0]) + 0.3 * torch.tensor([0.0, 1, 1, 0])
MIXED = p3mix.chances_of(torch.tensor([1.5, 0.2, -0.4, -2.0]))


def test_terms_of_the_loss():
    against, entropies = p3mix.mixing_losses(MIXED, TARGETS)
    assert TARGETS.tolist() == pytest.approx([0.7, 1, 0.3, 0])
    assert against.tolist() == pytest.approx([0.651413, 0.598139, 0.633015, 0.126928], abs=1e-6)
    assert entropies.mean().item() == pytest.approx(0.550524, abs=1e-6)
    taught = torch.tensor([0.66, 0.80, 0.58, 0.10])
    found = p3mix.early_learning_loss(MIXED, taught).item()
    assert found == pytest.approx(-0.992531, abs=1e-6)
    of_c, of_e = (P3Mix(mode=mode)._combined(MIXED, TARGETS, taught).item() for mode in "ce")
    assert of_c == pytest.approx(1.059800, abs=1e-6)
    assert of_e == pytest.approx(0.067269, abs=1e-6)
    weighted = P3Mix(mode="c", labeled_weight=0, unlabeled_weight=2, entropy_weight=0)
    assert weighted._combined(MIXED, TARGETS, taught).item() == pytest.approx(0.759943, abs=1e-6)


def test_certain_predictions_stay_finite():
    sure = p3mix.chances_of(torch.tensor([80.0, -80.0]))
    loss = p3mix.early_learning_loss(sure, torch.tensor([1.0, 0.0])).item()
    assert loss == pytest.approx(np.log(1e-4), abs=1e-2)
    against, _ = p3mix.mixing_losses(sure, torch.tensor([0.0, 1.0]))
    assert against.isfinite().all()


def test_who_is_undecided():
    chances = torch.tensor([0.90, 0.50, 0.10, 0.85])
    assert p3mix.undecided(chances, 0.85).tolist() == [False, True, False, False]


def test_candidates_are_the_most_uncertain():
    chances = torch.tensor([0.55, 0.97, 0.30, 0.62])
    assert p3mix.most_uncertain(chances.logit(), 2).tolist() == [0, 3]
    assert p3mix.most_uncertain(chances.logit(), 9).tolist() == [0, 3, 2, 1]


class FirstFeature(torch.nn.Module):
    """Scores a row by its first feature."""

    def __init__(self, shape):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(1))

    def forward(self, rows):
        return self.factor * rows[:, :1]


UNLABELED = (0.90, 0.50, 0.10, 0.851)


def mixed_targets(monkeypatch, mode):
    """Take one step, in which rows are mixed with themselves unless a partner is chosen.

    Returns mixed targets, mixed predictions of the teacher, and predictions at the mixed rows, of
    the unlabeled rows.
    """
    seen = {}

    class Watched(P3Mix):
        def _loss(self, batch, heuristic):
            seen["chances"] = batch.population[:, 0].sigmoid()
            return super()._loss(batch, heuristic)

        def _combined(self, mixed, targets, taught):
            seen["targets"], seen["taught"] = targets[len(UNLABELED) :], taught[len(UNLABELED) :]
            seen["mixed"] = mixed[len(UNLABELED) :].detach()
            return super()._combined(mixed, targets, taught)

        def _shares(self, rng, steps, batch):
            return np.full(steps, 0.75)

    def themselves(rng, steps, batch):
        return np.tile(np.arange(2 * batch), (steps, 1))

    monkeypatch.setattr(p3mix, "_partners", themselves)
    X = np.zeros((6, 2))
    X[:, 0] = [*torch.tensor([0.7, 0.6]).logit(), *torch.tensor(UNLABELED).logit()]
    fixed = {
        "epochs": 1,
        "least_steps": 1,
        "warm_up_steps": 0,
        "certainty": 0.85,
        "standardize": False,
    }
    Watched(network=FirstFeature, mode=mode, random_state=0, **fixed).fit(X, [1, 1, 0, 0, 0, 0])
    order = [seen["chances"].sub(chance).abs().argmin().item() for chance in UNLABELED]
    return [seen[name][order].tolist() for name in ("targets", "taught", "mixed")]


def test_the_undecided_have_a_positive_for_a_partner(monkeypatch):
    targets, taught, _ = mixed_targets(monkeypatch, "e")
    assert targets == [0, 0.25, 0, 0]
    expected = [0.90, 0.75 * 0.50 + 0.25, 0.10, 0.851]
    assert taught == pytest.approx(expected, abs=1e-5)


def test_sure_positives_have_their_targets_corrected(monkeypatch):
    targets, *_ = mixed_targets(monkeypatch, "c")
    assert targets == [1, 0.25, 0, 1]


@pytest.mark.parametrize("mode", ["e", "c"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(mode, scheme):
    for seed in (0, 1):
        accuracy = toy_accuracy(P3Mix(mode=mode, **TOY), seed, scheme)
        assert 0.84 <= accuracy <= 0.90, (seed, accuracy)


def test_teacher_is_the_mean_of_the_students():
    X, s, *_ = toy_rows(0, "case-control")
    students = []

    class Noting(P3Mix):
        def _teach(self, epoch):
            super()._teach(epoch)
            students.append(self.network_[0].weight.detach().clone())
            means = torch.stack(students).mean(0)
            assert torch.allclose(self.teacher_[0].weight, means, atol=1e-6)
            assert (len(students) == 1) == torch.equal(self.teacher_[0].weight, students[0])

    settings = TOY | {"epochs": 3, "steps_per_epoch": 5, "warm_up_steps": 7}
    Noting(**settings, scheme="case-control", random_state=0).fit(X, s)
    assert len(students) == 4


def test_few_labels_are_repeated_and_all_are_candidates():
    X, s, *_ = toy_rows(0, "single-sample")
    s[np.flatnonzero(s)[7:]] = 0
    seen = []

    class Noting(P3Mix):
        def _loss(self, batch, heuristic):
            seen.append((len(batch.labeled), len(batch.population), heuristic))
            assert not self._rows.has_label[batch.population_rows].any()
            assert len(self._memory["candidates"]) == 7
            return super()._loss(batch, heuristic)

    settings = TOY | {"epochs": 1, "steps_per_epoch": 1, "warm_up_steps": 1, "batch_size": 64}
    Noting(**settings, random_state=0).fit(X, s)
    assert seen == [(64, 64, False), (64, 64, True)]


def test_learning_rate_is_halved_in_the_first_half():
    found = [p3mix._halved(epoch / 200) for epoch in (0, 9, 10, 30, 89, 90, 199)]
    assert found == [1, 1, 0.5, 0.25, 0.0625, 0.03125, 0.03125]


def test_learning_rate_falls_with_the_length_of_the_warm_up():
    assert [p3mix._slowed(steps, 1000) for steps in (0, 20, 200, 900)] == [1, 0.1, 1, 1]
    # Few steps are left: they shall count as much as the warm-up.
    assert p3mix._slowed(20, 40) == 0.5
    assert p3mix._slowed(60, 40) == 1


def noisy_rows():
    """Return rows of two classes that barely differ, of which a network learns labels by heart."""
    rng = np.random.default_rng(0)
    y = rng.random(700) < 0.5
    X = rng.normal(size=(700, 200)) + 0.1 * y[:, None]
    s = np.zeros(700, int)
    s[np.flatnonzero(y)[:60]] = 1
    return X, s


@pytest.mark.parametrize(
    ("mode", "alpha", "fall"), [("e", None, 0.5), ("c", None, 0.5), ("e", 0.45, 0.05)]
)
def test_warm_up_ends_before_labels_are_known_by_heart(mode, alpha, fall):
    X, s = noisy_rows()
    seen = {}

    class Watched(P3Mix):
        def _noted(self, told):
            seen.setdefault("looks", []).append((told, self.network_[1].weight.clone()))
            return super()._noted(told)

        def _find_candidates(self, epoch):
            if epoch == 0:
                seen["began"] = self.network_[1].weight.clone()
                seen["looks before"] = self._warm_up_looks(0)
            super()._find_candidates(epoch)

    learner = Watched(mode=mode, alpha=alpha, epochs=2, random_state=0).fit(X, s)
    told = [value for value, _ in seen["looks"]]
    best = int(np.argmax(told))
    assert len(told) == best + 1 + p3mix.LOOKS_WITHOUT_GAIN
    assert told[-1] < told[best] - fall
    assert torch.equal(seen["began"], seen["looks"][best][1])
    assert seen["looks before"] == best + 1
    assert ["selection" in epoch for epoch in learner.history_] == [False] * len(told) + [True] * 2


def test_oracle_ends_the_warm_up_where_no_row_is_held_out():
    X, s = noisy_rows()
    looks = []

    class Watched(P3Mix):
        def _noted(self, told):
            looks.append(told)
            return super()._noted(told)

    Watched(epochs=1, random_state=0).fit(X, s, oracle=(X[:50], s[:50]))
    assert len(looks) == int(np.argmax(looks)) + 1 + p3mix.LOOKS_WITHOUT_GAIN


@pytest.mark.parametrize("alpha", [None, 0.2])
def test_threshold_is_where_alpha_says(alpha):
    X, s, *_ = toy_rows(0, "case-control")
    quick = TOY | {"epochs": 2, "warm_up_steps": 20}
    learner = P3Mix(**quick, alpha=alpha, scheme="case-control", random_state=0).fit(X, s)
    flagged = learner.predict(X[s == 0]).mean()
    assert (learner.offset_ == 0) == (alpha is None)
    assert (flagged == pytest.approx(0.2, abs=1e-3)) == (alpha is not None)


def test_images_are_mixed_within_the_network():
    rng = np.random.default_rng(0)
    y = rng.random(300) < 0.5
    X = rng.normal(size=(300, 1, 28, 28)) + y[:, None, None, None]
    s = (y & (rng.random(300) < 0.5)).astype(int)
    learner = P3Mix(epochs=15, batch_size=32, learning_rate=3e-3, random_state=0)
    assert np.mean(learner.fit(X, s).predict(X) == y) > 0.9
    with pytest.raises(InvalidInputError, match=r"Got mix_layer=3 for a network of 4 layers"):
        learner.set_params(mix_layer=3).fit(X, s)


def test_survives_pickle_and_save(tmp_path):
    X, s, *_ = toy_rows(0, "case-control")
    quick = {"epochs": 2, "steps_per_epoch": 2, "warm_up_steps": 20}
    learner = P3Mix(**quick, random_state=0).fit(X, s)
    expected = learner.decision_function(X)
    assert np.array_equal(pickle.loads(pickle.dumps(learner)).decision_function(X), expected)
    loaded = learners.load(learners.save(learner, tmp_path))
    assert np.array_equal(loaded.decision_function(X), expected)


@pytest.mark.parametrize("mode", ["e", "c"])
def test_same_seed_same_bits(mode):
    assert_same_bits(lambda: P3Mix(mode=mode, network=small_network))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"mode": "d"}, "needs mode to be one of 'e', 'c'. Got 'd'"),
        ({"certainty": 0.4}, "needs certainty to be a number of at least 0.5 and below 1, or None"),
        ({"warm_up_steps": -1}, "needs warm_up_steps to be a whole number of at least 0, or None"),
        ({"n_candidates": 0}, "needs n_candidates to be a whole number of at least 1. Got 0"),
        ({"mixing_shape": 0}, "needs mixing_shape to be a number above 0. Got 0"),
        ({"teacher_weight": -1}, "needs teacher_weight to be a number of at least 0. Got -1"),
        (
            {"steps_per_epoch": 0},
            "needs steps_per_epoch to be a whole number of at least 1, or",
        ),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^P3Mix.fit {message}"):
        P3Mix(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def test_the_partner_of_an_undecided_row_is_mixed_in(monkeypatch):
    *_, mixed = mixed_targets(monkeypatch, "e")
    # Three quarters of a score of zero, and a quarter of that of a labeled row.
    partners = [1 / (1 + (1 / chance - 1) ** 0.25) for chance in (0.7, 0.6)]
    assert min(abs(mixed[1] - partner) for partner in partners) < 1e-5
    # All others are mixed with themselves here.
    assert [mixed[0], *mixed[2:]] == pytest.approx([0.90, 0.10, 0.851], abs=1e-5)
