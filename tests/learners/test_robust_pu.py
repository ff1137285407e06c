"""RobustPU: hardness, weights, thresholds, and the episodes after nnPU."""

import numpy as np
import pytest
import torch

from learners.batches import batch_of, column
from learners.toy import (
    SCHEMES,
    SETTINGS,
    assert_close_to_the_best,
    assert_same_bits,
    toy_accuracy,
    toy_rows,
)
from recoup import learners
from recoup.exceptions import InvalidInputError
from recoup.learners._training.stages import TrainingRows
from recoup.learners.nnpu import NNPU
from recoup.learners.robust_pu import (
    RobustPU,
    hardness,
    soft_weights,
    threshold_at,
    weighted_loss,
)

TOY = SETTINGS | {"epochs": 6, "passes": 5, "warm_up_epochs": 30}


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_weights_of_unlabeled_rows():
    hard = hardness(-tensor(-4.0, -1.0, 0.0, 2.0) / 1.3, "logistic")
    assert hard.tolist() == pytest.approx([0.045070, 0.380742, 0.693147, 1.732968], abs=1e-6)
    expected = {
        (0.5, "welsch"): [0.835037, 0.218064, 0.0625, 0.000976],
        (1.0, "welsch"): [0.955931, 0.683354, 0.5, 0.176759],
        (0.11, "linear"): [0.590274, 0, 0, 0],
    }
    for (threshold, kind), weights in expected.items():
        assert soft_weights(hard, threshold, kind).tolist() == pytest.approx(weights, abs=1e-6)
    first = soft_weights(hard, 0.11, "welsch")
    assert first[0].item() == pytest.approx(0.024118, abs=1e-6)
    assert first[1].item() == pytest.approx(2.16e-14, rel=1e-2)


def test_weights_of_labeled_rows():
    scores = tensor(4.0, 1.0, -1.0)
    found = soft_weights(hardness(scores, "logistic"), 1.0, "welsch")
    assert found.tolist() == pytest.approx([0.982014, 0.731059, 0.268941], abs=1e-6)
    assert found.tolist() == pytest.approx(scores.sigmoid().tolist())


def test_all_kinds_of_weights():
    hard = tensor(0.0, 0.25, 0.5, 4.0)
    expected = {
        "hard": [1, 1, 0, 0],
        "linear": [1, 0.5, 0, 0],
        "polynomial": [1, 0.5**0.5, 0, 0],
        "cauchy": [1, 0.5, 1 / 3, 1 / 17],
        "huber": [1, 1, 0.5**0.5, 0.25],
        "log": [1, np.log(0.75) / np.log(0.5), 0, 0],
    }
    for kind, weights in expected.items():
        assert soft_weights(hard, 0.5, kind).tolist() == pytest.approx(weights), kind
    logistic = soft_weights(hard, 0.5, "logistic")
    assert logistic.tolist() == pytest.approx(
        [(1 + np.exp(-0.5)) / (1 + np.exp(h - 0.5)) for h in hard.tolist()]
    )


def test_hardness_as_a_probability():
    assert hardness(tensor(0.0, 2.0), "sigmoid").tolist() == pytest.approx([0.5, 0.119203])


@pytest.mark.parametrize(
    ("growth", "expected"),
    [
        ("linear", [0.1, 0.28, 0.46, 0.64, 0.82, 1, 1]),
        ("convex", [0.1, 0.3781, 0.6290, 0.8281, 0.9560, 1, 1]),
        ("concave", [0.1, 0.1440, 0.2719, 0.4710, 0.7219, 1, 1]),
        ("exp", [0.1, 0.55, 0.775, 0.8875, 0.94375, 0.971875]),
        ("const", [0.1, 0.1, 0.1]),
    ],
)
def test_thresholds_grow(growth, expected):
    found = [threshold_at(episode, 0.1, 1.0, 5, growth) for episode in range(len(expected))]
    assert found == pytest.approx(expected, abs=1e-4)


def test_loss_is_over_the_number_of_rows():
    loss = weighted_loss(tensor(2.0, -1.0, 0.5), tensor(1.0, 0.0, 0.0), tensor(1.0, 0.8, 0.1))
    assert loss.item() == pytest.approx(0.158315, abs=1e-6)


def weighing(**params):
    """Return a learner in the midst of a fit, which scores rows by their only feature."""
    learner = RobustPU(**params)
    X = torch.linspace(-3, 3, 8)[:, None]
    learner._memory = {"weights": torch.zeros(8)}
    learner._scores = lambda X, places: X[places, 0]
    nothing = torch.empty(0, dtype=torch.long)

    def arrange(labeled, unlabeled):
        places = (torch.tensor(labeled), torch.tensor(unlabeled))
        learner._rows = TrainingRows(X, *places, nothing, nothing)

    return learner, arrange


def test_momentum_follows_rows_not_places():
    found = []
    for second in ([5, 0, 3, 1, 2], [0, 1, 2, 3, 5]):
        learner, arrange = weighing(momentum=0.5)
        arrange([4, 6, 7], [0, 1, 2, 3, 5])
        learner._weigh(0)
        first = learner._memory["weights"].clone()
        arrange([7, 4, 6], second)
        learner._weigh(3)
        found.append(learner._memory["weights"].clone())
    assert torch.equal(*found)
    learner, arrange = weighing()
    arrange([4, 6, 7], [0, 1, 2, 3, 5])
    learner._weigh(3)
    assert found[0].tolist() == pytest.approx(((first + learner._memory["weights"]) / 2).tolist())


def test_weights_do_not_vanish_where_all_rows_look_wrong():
    learner, arrange = weighing()
    arrange([0, 1, 2], [5, 6, 7])
    learner._weigh(0)
    weights = learner._memory["weights"]
    # The first threshold, 0.1, would make exp(-73) of the easiest of them, with hardness 0.73.
    assert weights[2].item() == pytest.approx(np.exp(-1 / np.log1p(np.exp(9 / 7))), rel=1e-5)
    assert weights[5].item() == pytest.approx(np.exp(-1 / np.log1p(np.exp(9 / 7 / 1.3))), rel=1e-5)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: RobustPU(**TOY), scheme)


def test_one_mean_calls_all_negative_where_labels_are_few():
    pooled = RobustPU(**TOY | {"epochs": 10}, balance="pooled")
    assert toy_accuracy(pooled, 0, "case-control") < 0.75
    assert pooled.predict(toy_rows(0, "case-control")[3]).mean() < 0.2


def test_one_mean_is_taken_where_labels_are_many(monkeypatch):
    monkeypatch.setattr("learners.toy.N_LABELED", 1000)
    X_test = toy_rows(0, "case-control")[3]
    auto, pooled = RobustPU(**TOY), RobustPU(**TOY, balance="pooled")
    assert 0.84 < toy_accuracy(auto, 0, "case-control") < 0.9
    toy_accuracy(pooled, 0, "case-control")
    assert np.array_equal(auto.decision_function(X_test), pooled.decision_function(X_test))


def test_episodes_begin_with_the_best_of_nnpu_and_the_best_is_kept():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"validation_fraction": 0.2, "scheme": "case-control", "alpha": alpha}
    params |= {"warm_up_learning_rate": 0.03, "warm_up_epochs": 12, "random_state": 0}
    still = RobustPU(**params | {"learning_rate": 1e-12, "epochs": 1}).fit(X, s)
    reached = [epoch["selection"] for epoch in still.history_]
    assert reached[11] < max(reached[:12])
    assert reached[12] == pytest.approx(max(reached[:12]), abs=1e-6)
    learner = RobustPU(**params).fit(X, s)
    reached = [epoch["selection"] for epoch in learner.history_]
    assert reached[learner.best_epoch_ - 1] == max(reached)


def test_the_first_stage_is_nnpu_as_it_is_by_itself():
    # A rate or a batch of its own would make another classifier of it, on deep networks a useless
    # one, and the episodes cannot repair that.
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = {"alpha": alpha, "scheme": "case-control", "random_state": 0}
    alone = NNPU(**params, epochs=3).fit(X, s).history_
    learner = RobustPU(**params, warm_up_epochs=3, epochs=1, passes=1).fit(X, s)
    for name in ("loss", "selection"):
        found = [epoch[name] for epoch in learner.history_[:3]]
        assert found == [epoch[name] for epoch in alone]
    assert RobustPU().warm_up_epochs == NNPU().epochs


def test_patience_counts_episodes_and_not_epochs_of_nnpu():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = TOY | {"validation_fraction": 0.2, "alpha": alpha, "random_state": 0, "patience": 1}
    learner = RobustPU(**params | {"warm_up_epochs": 12, "epochs": 9, "learning_rate": 0.3})
    learner.fit(X, s)
    assert 12 < len(learner.history_) < 21


def test_survives_saving(tmp_path):
    X, s, alpha, *_ = toy_rows(0, "single-sample")
    learner = RobustPU(alpha=alpha, warm_up_epochs=1, epochs=1, passes=1, random_state=0)
    loaded = learners.load(learners.save(learner.fit(X, s), tmp_path))
    assert np.array_equal(loaded.decision_function(X), learner.decision_function(X))


def test_same_seed_same_bits():
    assert_same_bits(lambda: RobustPU(**TOY | {"warm_up_epochs": 2, "passes": 1}))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"passes": 0}, "needs passes to be a whole number of at least 1. Got 0"),
        ({"weighting": "cubic"}, "needs weighting to be one of 'welsch', 'hard'.* Got 'cubic'"),
        ({"growth": "none"}, "needs growth to be one of .* Got 'none'"),
        ({"momentum": 1}, "needs momentum to be a number of at least 0 and below 1. Got 1"),
        ({"unlabeled_temperature": 0}, "needs unlabeled_temperature to be a number"),
        (
            {"labeled_thresholds": 0.1},
            "needs labeled_thresholds .* the first and the last",
        ),
        (
            {"labeled_thresholds": (0, 1)},
            "needs labeled_thresholds to be two numbers above 0: ",
        ),
        ({"weighting": "log"}, "needs labeled_thresholds .* below 1 for the weighting log. Got"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InvalidInputError, match=f"^RobustPU.fit {message}"):
        RobustPU(alpha=0.3, **wrong).fit(np.zeros((4, 2)), [1, 1, 0, 0])


def test_hardness_makes_the_weights_of_an_episode():
    learner, arrange = weighing()
    arrange([5, 6, 7], [0, 1, 2, 3, 4])
    learner._weigh(2)
    scores = np.linspace(-3, 3, 8)
    # Two of five steps from 0.1, or 0.11, to 1.
    expected = np.where(
        np.arange(8) >= 5,
        np.exp(-np.log1p(np.exp(-scores)) / 0.46**2),
        np.exp(-np.log1p(np.exp(scores / 1.3)) / 0.466**2),
    )
    assert learner._memory["weights"].tolist() == pytest.approx(expected.tolist(), rel=1e-4)


def test_an_episode_minimizes_weighted_cross_entropy():
    learner = RobustPU()
    batch = batch_of(column(2.0, -1.0), column(-1.0, 0.5, 3.0))
    weights = tensor(1.0, 0.4, 0.8, 0.1, 0.0)
    learner._memory = {"labels": tensor(1, 1, 0, 0, 0), "weights": weights}
    of_labeled = (np.log1p(np.exp(-2)) + 0.4 * np.log1p(np.exp(1))) / 2
    of_others = (0.8 * np.log1p(np.exp(-1)) + 0.1 * np.log1p(np.exp(0.5))) / 3
    found = learner._parted_loss(batch, 0.3).item()
    assert found == pytest.approx(0.3 * of_labeled + 0.7 * of_others, abs=1e-9)
    everything = batch_of(batch.rows[:0], batch.rows)
    expected = (2 * of_labeled + 3 * of_others) / 5
    assert learner._pooled_loss(everything).item() == pytest.approx(expected, abs=1e-9)
