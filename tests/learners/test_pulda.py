"""PULDA: distances, margins, running means, and how much the distance matters."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners.pulda import PULDA, RunningMean, margin_means, smooth_distance

TOY = {
    "network": SETTINGS["network"],
    "validation_fraction": 0,
    "standardize": False,
    "epochs": 30,
    "warm_up_epochs": 30,
    "warm_up_learning_rate": 1e-3,
    "warm_up_weight_decay": 1e-4,
}


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


P, U = tensor(2, 0), tensor(1, -1, -2, 0.5)


def started(**params):
    learner = PULDA(**{"distance": "softplus"} | params)
    learner.pi_ = 0.4
    learner._memory = {"means": tensor(0, 0, 0), "started": tensor(0, 0, 0)}
    return learner


def test_distance_and_margin():
    mean = U.sigmoid().mean()
    assert smooth_distance(mean, 0.4, 3.5).item() == pytest.approx(0.397181, abs=1e-6)
    assert smooth_distance(tensor(0.4)[0], 0.4, 3.5).item() == pytest.approx(0.396084, abs=1e-6)
    found = [part.item() for part in margin_means(P, U, 0.6)]
    assert found == pytest.approx([0.248532, 0.216895, 0.243659], abs=1e-6)


def test_first_and_second_call():
    learner = started()
    aligned, apart = learner._losses(P, U)
    assert aligned.item() == pytest.approx(0.644862, abs=1e-6)
    assert apart.item() == pytest.approx(1.491855, abs=1e-6)
    aligned, apart = learner._losses(tensor(1, 3), tensor(-1, 0, 2, -0.5))
    assert aligned.item() == pytest.approx(2.779505, abs=1e-6)
    assert apart.item() == pytest.approx(2.863869, abs=1e-6)
    assert (aligned + apart).item() == pytest.approx(5.643374, abs=1e-6)
    means = learner._memory["means"].tolist()
    assert means == pytest.approx([0.446126, 0.175930, 0.253573], abs=1e-6)


def test_a_stage_starts_its_means_anew():
    learner = started()
    first = learner._warm_up_loss(P, U).item()
    assert first == pytest.approx(2.136717, abs=1e-6)
    assert learner._warm_up_loss(P, U).item() > first
    learner._begin(2, 1)
    assert learner._warm_up_loss(P, U).item() > first
    learner._begin(2, 0)
    assert learner._main_loss(P, U, U).item() == pytest.approx(first, abs=1e-12)


def test_running_means_keep_the_size_of_the_gradient():
    gradients, values = [], []
    learner = started()
    for _ in range(2):
        labeled, population = P.clone().requires_grad_(), U.clone().requires_grad_()
        loss = learner._warm_up_loss(labeled, population)
        loss.backward()
        gradients.append(torch.cat([labeled.grad, population.grad]))
        values.append(loss.item())
    # The same batch again: the means have converged already.
    plain_distances = 0.397181 * (1 / 0.15 - 1) + (1.491855 - 0.4 * 0.248532) * (1 / 0.5 - 1)
    assert values[1] - values[0] == pytest.approx(plain_distances, abs=1e-5)
    population = [gradient[2:] for gradient in gradients]
    assert torch.allclose(population[0], population[1], atol=1e-12)
    assert torch.allclose(gradients[0], gradients[1], atol=1e-6)


def test_a_running_mean_without_past_is_the_batch():
    mean = RunningMean(torch.zeros(()), torch.zeros(()), 0.9)
    assert [part.item() for part in mean.update(torch.tensor(5.0))] == [5.0, 1.0]
    later, weight = mean.update(torch.tensor(15.0))
    assert later.item() == pytest.approx(6.0)
    assert weight.item() == pytest.approx(0.1)


def test_plain_distance():
    learner = started(distance="l1")
    aligned, _ = learner._losses(P, U)
    expected = 0.8 * (1 - P.sigmoid().mean()) + (U.sigmoid().mean() - 0.4).abs()
    assert aligned.item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: PULDA(**TOY), scheme)


def test_smooth_distance_calls_too_much_positive_where_classes_overlap():
    X, s, alpha, X_test, y_test = toy_rows(0, "case-control")
    params = TOY | {"distance": "softplus", "alpha": alpha, "scheme": "case-control"}
    scores = PULDA(**params, random_state=0).fit(X, s).decision_function(X_test)
    assert roc_auc_score(y_test, scores) > 0.92
    assert 0.5 < np.mean((scores > 0) == y_test) < 0.7


def test_same_seed_same_bits():
    assert_same_bits(lambda: PULDA(**TOY | {"warm_up_epochs": 2}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"distance": "l2"}, "needs distance to be one of 'l1', 'softplus'. Got 'l2'"),
        ({"temperature": 0}, "needs temperature to be a number above 0. Got 0"),
        (
            {"margin_momentum": 1.0},
            "needs margin_momentum to be a number of at least 0 and below 1. Got 1.0",
        ),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=f"^PULDA.fit {message}"):
        PULDA(alpha=0.4, **wrong).fit(X, s)
