"""MPEPU: the estimate, the rows that are kept, the loss, and both together."""

import numpy as np
import pytest
import torch

from learners.batches import batch_of, rows_of
from learners.toy import (
    SCHEMES,
    SETTINGS,
    assert_close_to_the_best,
    assert_same_bits,
    toy_accuracy,
    toy_rows,
)
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners.mpe_pu import MPEPU, ignoring_loss, kept_rows
from recoup.priors import BBE, PriorEstimate
from recoup.scores.table import ScoreTable

# Half of twice the rows trains on as many as the others do, and estimates from as many.
HALF = SETTINGS | {"validation_fraction": 0.5}


def logit(*values):
    p = torch.tensor(values, dtype=torch.float64)
    return torch.log(p) - torch.log1p(-p)


def test_estimate_of_the_worked_example():
    labeled = [0.99, 0.95, 0.9, 0.8, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1]
    others = [0.97, 0.93, 0.85, 0.7, 0.5, 0.45, 0.35, 0.33, 0.25, 0.22]
    others += [0.15, 0.12, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02]
    # Fewer rows than the estimator takes from users.
    table = ScoreTable.from_arrays(np.repeat([1, 0], [10, 20]), np.array(labeled + others))
    found = BBE()._solve(table, np.random.default_rng(0))
    ratio, bounded = found.curve.lines["ratio"], found.curve.lines["ratio + bound"]
    # The best threshold among the scores of unlabeled rows, 0.09, has 13 of 20 above it.
    assert bounded[np.argmin(np.abs(ratio - 0.65))] == pytest.approx(1.390482, abs=1e-6)
    # Scores of labeled rows are thresholds too, and 0.1 is better: the same share of labeled rows
    # with one unlabeled row less.
    assert bounded.min() == pytest.approx(1.340482, abs=1e-6)
    assert found.alpha == pytest.approx(0.6, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5, 0.8])
def test_estimate_of_two_normal_classes(alpha):
    rng = np.random.default_rng(0)
    positive = np.append(np.ones(2000, bool), rng.random(4000) < alpha)
    scores = rng.normal(np.where(positive, 1.5, -1.5))
    found = BBE(interval=None).fit_scores(np.repeat([1, 0], [2000, 4000]), scores).estimate_
    assert found.alpha == pytest.approx(alpha, abs=0.03)


def test_the_share_alpha_is_dropped_and_the_rest_is_negative():
    labeled, population = logit(0.8, 0.95), logit(0.9, 0.2, 0.6, 0.1, 0.7)
    kept = kept_rows(population, 0.4)
    assert kept.tolist() == [False, True, True, True, False]
    assert ignoring_loss(labeled, population, kept, 0.5).item() == pytest.approx(0.276075, abs=1e-6)
    assert ignoring_loss(labeled, population, kept, 1.0).item() == pytest.approx(0.137218, abs=1e-6)
    assert ignoring_loss(labeled, population, kept, 0.0).item() == pytest.approx(0.414932, abs=1e-6)


def test_nothing_or_almost_everything_is_dropped():
    scores = logit(0.9, 0.2, 0.6)
    assert kept_rows(scores, 0.0).all()
    assert kept_rows(scores, 0.999).tolist() == [False, True, False]
    assert kept_rows(scores, 1.0).sum() == 1


def test_ties_fall_at_random():
    torch.manual_seed(0)
    dropped = torch.stack([~kept_rows(torch.zeros(4), 0.5) for _ in range(400)])
    assert (dropped.sum(1) == 2).all()
    assert dropped.double().mean(0).tolist() == pytest.approx([0.5] * 4, abs=0.1)


def test_a_batch_without_negatives_moves_nothing():
    labeled, population = (logit(0.8, 0.95).requires_grad_() for _ in range(2))
    loss = ignoring_loss(labeled, population, torch.zeros(2, dtype=torch.bool), 0.5)
    loss.backward()
    assert loss.item() == 0
    assert labeled.grad.tolist() == population.grad.tolist() == [0, 0]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows_with_known_alpha(scheme):
    assert_close_to_the_best(lambda: MPEPU(**SETTINGS, alpha="estimate"), scheme)
    by_prior = SETTINGS | {"alpha": "estimate", "balance": "prior"}
    assert_close_to_the_best(lambda: MPEPU(**by_prior), scheme, seeds=(0,))


@pytest.mark.parametrize(("scheme", "true"), [("case-control", 0.4), ("single-sample", 0.34)])
def test_toy_rows_with_alpha_estimated_on_the_way(scheme, true):
    for seed in range(2):
        learner = MPEPU(**HALF)
        accuracy = toy_accuracy(learner, seed, scheme, times=2)
        assert 0.84 <= accuracy <= 0.90, (seed, accuracy)
        assert learner.alpha_ == pytest.approx(true, abs=0.05)
        assert learner.prior_.method == "bbe"
        assert learner.prior_.alpha == learner.alpha_ == learner.alphas_[-1]
        assert len(learner.alphas_) == learner.epochs + 1
        assert np.abs(np.diff(learner.alphas_[:-1])).max() <= 0.1 + 1e-12
        assert learner.best_epoch_ == learner.warm_up_epochs + learner.epochs
        share = 1 / 11 if scheme == "single-sample" else 0
        assert learner.pi_ == pytest.approx(share + (1 - share) * learner.alpha_)


def test_weights_of_the_warm_up_are_never_kept():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    params = SETTINGS | {"validation_fraction": 0.2, "epochs": 2}
    learner = MPEPU(**params, alpha=alpha, warm_up_epochs=4, random_state=0).fit(X, s)
    assert learner.best_epoch_ > 4
    assert ["selection" in epoch for epoch in learner.history_] == [False] * 4 + [True] * 2
    assert learner.alphas_.tolist() == [alpha] * 2


def test_an_alpha_that_still_moves_is_noticed(monkeypatch):
    X, s, *_ = toy_rows(0, "case-control")
    estimates = iter([0.2, 0.9, 0.9])
    monkeypatch.setattr(
        MPEPU,
        "_estimate",
        lambda self, rows: PriorEstimate(alpha=next(estimates), method="bbe"),
    )
    learner = MPEPU(**HALF | {"epochs": 2}, scheme="case-control", random_state=0)
    with pytest.warns(RecoupWarning, match="an alpha that still moves: 0.300 in the last epoch"):
        learner.fit(X, s)
    assert learner.alphas_.tolist() == pytest.approx([0.2, 0.3, 0.9])


def test_same_seed_same_bits():
    assert_same_bits(lambda: MPEPU(**SETTINGS))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"balance": "none"}, "needs balance to be one of 'equal', 'prior'. Got 'none'"),
        ({"warm_up_epochs": -1}, "needs warm_up_epochs to be a whole number of at least 0. Got -1"),
        ({"validation_fraction": 0}, "needs at least 20 labeled rows that it does not train on"),
        ({"alpha": 0.9999}, "needs alpha to leave a negative among the 2,400 unlabeled rows"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    X, s, *_ = toy_rows(0, "case-control")
    with pytest.raises(InvalidInputError, match=f"^MPEPU.fit {message}"):
        MPEPU(scheme="case-control", **wrong).fit(X, s)


def test_an_epoch_ignores_the_share_alpha_that_scores_highest():
    labeled, population = logit(0.8, 0.95), logit(0.9, 0.2, 0.6, 0.1, 0.7)
    batch = batch_of(labeled[:, None], population[:, None])
    learner = MPEPU(alpha=0.4, scheme="case-control")
    learner.alpha_ = learner.pi_ = 0.4
    learner._rows, learner._memory = rows_of(batch), {}
    learner.network_ = batch.network
    learner._prepare(learner._rows)
    everything = learner._loss(batch).item()
    negative = -torch.log1p(-population.sigmoid()).mean().item()
    assert everything == pytest.approx((0.137218 + negative) / 2, abs=1e-6)
    learner._choose_rows(0)
    # Rows of 0.9 and 0.7 are left out: see the value above.
    assert learner._loss(batch).item() == pytest.approx(0.276075, abs=1e-6)
    learner.balance = "prior"
    learner._choose_rows(1)
    expected = 0.4 * 0.137218 + 0.6 * 0.414932
    assert learner._loss(batch).item() == pytest.approx(expected, abs=1e-6)
