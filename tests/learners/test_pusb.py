"""PUSB: the loss, and the threshold that the prior sets."""

import numpy as np
import pytest
import torch

from learners.toy import SCHEMES, SETTINGS, assert_close_to_the_best, assert_same_bits, toy_rows
from recoup.learners import PUSB
from recoup.learners._training.loop import share_threshold
from recoup.learners._training.risks import pu_risks

SCORES = torch.tensor([-2, 0.3, 1.5, -0.7, 0.9, 2.2, -1.1, 0.1, 0.4, -0.2], dtype=torch.float64)


def test_loss():
    labeled = torch.tensor([2.0, -1.0], dtype=torch.float64)
    population = torch.tensor([0.5, -0.5, 3.0], dtype=torch.float64)
    positive, negative = pu_risks(labeled, population, 0.4, "logistic")
    assert positive.item() == pytest.approx(0.288038, abs=1e-6)
    assert negative.item() == pytest.approx(1.010876, abs=1e-6)
    learner = PUSB()
    learner.pi_ = 0.4
    assert learner._risk(labeled, population).item() == pytest.approx(1.298914, abs=1e-6)


@pytest.mark.parametrize(
    ("share", "threshold", "n_positive"), [(0.4, 0.35, 4), (0.3, 0.65, 3), (0.55, -0.05, 6)]
)
def test_threshold(share, threshold, n_positive):
    found = share_threshold(SCORES, share)
    assert found == pytest.approx(threshold, abs=1e-12)
    assert int((found < SCORES).sum()) == n_positive


@pytest.mark.parametrize(("share", "n_positive"), [(0.001, 1), (0.999, 9)])
def test_threshold_leaves_something_on_both_sides(share, n_positive):
    assert int((share_threshold(SCORES, share) < SCORES).sum()) == n_positive


@pytest.mark.parametrize("change", [lambda g: g**3, torch.sigmoid])
def test_only_the_order_of_scores_matters(change):
    before, after = share_threshold(SCORES, 0.4) < SCORES, change(SCORES)
    assert torch.equal(before, after > share_threshold(after, 0.4))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_toy_rows(scheme):
    assert_close_to_the_best(lambda: PUSB(**SETTINGS), scheme)


def test_the_share_of_the_training_rows_that_is_positive_is_the_prior():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    learner = PUSB(**SETTINGS | {"epochs": 2}, alpha=alpha, scheme="case-control", random_state=0)
    found = np.mean(learner.fit(X, s).predict(X[s == 0]))
    assert found == pytest.approx(alpha, abs=1e-3)


def test_same_seed_same_bits():
    assert_same_bits(lambda: PUSB(**SETTINGS))


def test_weights_are_kept_by_the_ranking_since_alpha_sets_the_threshold():
    X, s, alpha, *_ = toy_rows(0, "case-control")
    X, s = X[200:800], s[200:800]
    settings = SETTINGS | {"epochs": 2, "validation_fraction": 0.2, "scheme": "case-control"}
    found = {
        select: PUSB(**settings, alpha=alpha, select=select, random_state=0).fit(X, s).history_
        for select in ("auto", "auc", "loss")
    }
    selections = {
        select: [epoch["selection"] for epoch in history] for select, history in found.items()
    }
    assert selections["auto"] == selections["auc"] != selections["loss"]
