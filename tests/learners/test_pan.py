"""PAN: the terms of the game, who moves when, and the threshold."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

from learners.batches import Column, batch_of, columns
from learners.toy import (
    SCHEMES,
    SETTINGS,
    assert_close_to_the_best,
    assert_same_bits,
    small_network,
    toy_rows,
)
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners.pan import PAN, coupling, pushed_down, recognized


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


D_LABELED, D_POPULATION, C = tensor(0.8, 0.6), tensor(0.7, 0.2, 0.4), tensor(0.6, 0.1, 0.5)


def test_terms_of_the_game():
    first, second = recognized(D_LABELED).sum(), pushed_down(D_POPULATION[:2]).sum()
    third = coupling(D_POPULATION, C).sum()
    assert first.item() == pytest.approx(-0.705017, abs=1e-6)
    assert second.item() == pytest.approx(0.387116, abs=1e-6)
    assert third.item() == pytest.approx(-1.426699, abs=1e-6)
    assert (first + second + 1e-4 * third).item() == pytest.approx(-0.318044, abs=1e-6)
    assert (first + second + third).item() == pytest.approx(-1.744601, abs=1e-6)


def test_coupling_is_a_difference_of_divergences(monkeypatch):
    monkeypatch.setattr("recoup.learners.pan.EPSILON", 0.0)
    d, c = 0.7, 0.6

    def divergence(p, q):
        return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))

    found = coupling(tensor(d), tensor(c)).item()
    assert found == pytest.approx(-0.162186, abs=1e-6)
    assert found == pytest.approx(divergence(d, c) - divergence(d, 1 - c), abs=1e-12)


def test_classifier_is_drawn_to_the_discriminator():
    classifier = C.clone().requires_grad_()
    coupling(D_POPULATION, classifier).sum().backward()
    expected = [-1.631347, 6.113886, 0.784314]
    assert classifier.grad.tolist() == pytest.approx(expected, abs=1e-6)


def test_discriminator_learns_from_labeled_rows_and_spares_likely_positives():
    labeled, population = D_LABELED.clone().requires_grad_(), tensor(0.9, 0.1).requires_grad_()
    (recognized(labeled).sum() + pushed_down(population).sum()).backward()
    assert (labeled.grad > 0).all()
    assert population.grad[0] == 0
    assert population.grad[1] < 0


def test_terms_stay_finite_at_the_ends():
    ends = tensor(0.0, 1.0)
    for found in (recognized(ends), pushed_down(ends), coupling(ends, ends)):
        assert found.isfinite().all()
    assert pushed_down(tensor(1.0, 1.0)).isfinite().all()


def leaky_network(shape):
    layers = []
    for width in (shape[0], 64):
        layers += [nn.Linear(width, 64), nn.BatchNorm1d(64), nn.LeakyReLU(0.2), nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.Linear(64, 1))


@pytest.mark.parametrize("pi", [0.5, 0.2])
def test_two_classes_apart(pi):
    rng = np.random.default_rng(0)
    n = 2000
    y = np.arange(n) < pi * n
    X = rng.normal(size=(n, 2)) + np.where(y, 2.0, -2.0)[:, None]
    labeled = X[: round(0.1 * pi * n)]
    learner = PAN(
        network=leaky_network,
        scheme="case-control",
        epochs=50,
        batch_size=200,
        learning_rate=1e-3,
        validation_fraction=0,
        random_state=0,
    )
    learner.fit(np.vstack([labeled, X]), np.repeat([1, 0], [len(labeled), n]))
    assert np.mean(learner.predict(X) == y) > 0.98
    assert learner.agreement_ == pytest.approx(pi, abs=0.05)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows_with_known_alpha(scheme):
    assert_close_to_the_best(lambda: PAN(**SETTINGS, alpha=0.5), scheme)


def test_without_alpha_overlapping_classes_give_too_many_positives():
    X, s, alpha, X_test, y_test = toy_rows(0, "case-control")
    params = SETTINGS | {"scheme": "case-control", "random_state": 0}
    free, known = PAN(**params).fit(X, s), PAN(**params, alpha=alpha).fit(X, s)
    assert free.offset_ == 0
    assert free.predict(X_test).mean() > y_test.mean() + 0.05
    assert 0.8 < np.mean(free.predict(X_test) == y_test) < np.mean(known.predict(X_test) == y_test)
    assert known.predict(X[s == 0]).mean() == pytest.approx(alpha, abs=1e-3)


def test_classifier_waits_while_the_discriminator_warms_up():
    X, s, *_ = toy_rows(0, "single-sample")
    learner = PAN(**SETTINGS | {"epochs": 1}, warm_up_epochs=2, random_state=0)
    seen = []
    agree, discriminate = learner._agree, learner._discriminate

    def noting(batch, weight):
        nets = (learner.network_, learner.discriminator_)
        weights = [net[0].weight.detach().clone() for net in nets]
        seen.append((weight, *weights))
        return discriminate(batch, weight)

    learner._discriminate, learner._agree = noting, agree
    learner.fit(X, s)
    steps = len(seen) // 3
    assert [weight == 0 for weight, *_ in seen] == [True] * 2 * steps + [False] * steps
    # Sums over 300 labeled and 3300 other rows.
    assert seen[-1][0] == pytest.approx(1e-4 * 3300 / 300)
    assert torch.equal(seen[0][1], seen[2 * steps][1])
    assert not torch.equal(seen[2 * steps][1], seen[2 * steps + 1][1])
    assert not torch.equal(seen[0][2], seen[1][2])
    assert not torch.equal(seen[-2][2], seen[-1][2])


def test_weights_are_kept_after_the_classifier_has_settled_only():
    X, s, *_ = toy_rows(0, "single-sample")
    params = SETTINGS | {"epochs": 20, "validation_fraction": 0.2}
    learner = PAN(**params, warm_up_epochs=1, random_state=0).fit(X, s)
    judged = ["selection" in epoch for epoch in learner.history_]
    assert judged == [False] * 3 + [True] * 18


def test_both_networks_survive_saving(tmp_path):
    X, s, *_ = toy_rows(0, "single-sample")
    learner = PAN(epochs=1, warm_up_epochs=0, random_state=0).fit(X, s)
    loaded = learners.load(learners.save(learner, tmp_path))
    assert np.array_equal(loaded.decision_function(X), learner.decision_function(X))
    for own, other in zip(
        learner.discriminator_.parameters(), loaded.discriminator_.parameters(), strict=True
    ):
        assert torch.equal(own.cpu(), other)


def test_same_seed_same_bits():
    assert_same_bits(lambda: PAN(**SETTINGS, warm_up_epochs=1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"warm_up_epochs": -1}, "needs warm_up_epochs to be a whole number of at least 0. Got -1"),
        ({"coupling_weight": -1}, "needs coupling_weight to be a number of at least 0. Got -1"),
        ({"discriminator_learning_rate": 0}, "needs discriminator_learning_rate to be a number"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^PAN.fit {message}"):
        PAN(**wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def players():
    """Return a learner whose C reads the first feature and whose D the second, and a batch."""
    rows = columns(C.logit(), D_POPULATION.logit())
    labeled = columns(tensor(0.5, 0.5).logit(), D_LABELED.logit())
    learner = PAN()
    learner.network_, learner.discriminator_ = Column(0), Column(1)
    return learner, batch_of(labeled, rows, learner.network_)


def test_the_classifier_minimizes_its_disagreement_alone():
    learner, batch = players()
    assert learner._agree(batch).item() == pytest.approx(-1.426699 / 3, abs=1e-6)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_discriminator_recognizes_pushes_down_and_disagrees(weight):
    learner, batch = players()
    # Means, times the two labeled rows of the batch, of which as many others are pushed down.
    expected = -0.705017 + 0.387116 + 2 * weight * -1.426699 / 3
    assert learner._discriminate(batch, weight).item() == pytest.approx(-expected, abs=1e-6)


def test_discriminator_says_how_likely_rows_are_labeled_also_after_saving(tmp_path):
    X, s, _, X_new, _ = toy_rows(0, "case-control")
    learner = PAN(network=small_network, epochs=20, learning_rate=1e-3, random_state=0)
    with pytest.raises(NotFittedError):
        learner.discriminator_scores(X)
    learner.set_params(scheme="case-control").fit(X, s)
    chances = learner.discriminator_scores(X)
    assert ((chances >= 0) & (chances <= 1)).all()
    assert chances[s == 1].mean() > chances[s == 0].mean() + 0.05
    assert chances[s == 0].mean() == pytest.approx(learner.agreement_, abs=0.05)
    again = learners.load(learners.save(learner, tmp_path), network=small_network)
    assert np.array_equal(again.discriminator_scores(X_new), learner.discriminator_scores(X_new))
