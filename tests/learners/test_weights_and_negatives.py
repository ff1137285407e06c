"""What rows count, and known negatives, where the answer is known exactly."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from recoup import learners
from recoup.exceptions import InvalidInputError, LearnerWarning
from recoup.learners import (
    NNPU,
    PUAUC,
    PUAUL,
    SAREM,
    BaggingPU,
    ElkanNoto,
    Naive,
    PropensityWeighted,
    TwoStep,
    Weighted,
)
from recoup.learners._training.population import Population
from recoup.learners._training.risks import pnu_risk, share_of_known
from recoup.learners.weighted import fair_ratio

QUIET = {"guard": "off"}
# Calibration deals rows to folds, which copies of a row change.
PLAIN = QUIET | {"probabilities": "own"}


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    X = rng.normal(size=(n, 3)) + 1.5 * y[:, None] * [1, 1, 0]
    s = np.where(rng.random(n) < 0.4, y, 0)
    return X, s, y


@pytest.mark.parametrize(
    "learner",
    [
        Naive(0.3, **PLAIN),
        Naive(0.3, classifier=GaussianNB(), **PLAIN),
        Weighted(0.3, classifier=LogisticRegression(), **PLAIN),
        PropensityWeighted(alpha=0.3, classifier=LogisticRegression(), **QUIET),
        TwoStep("rocchio", classifier=LogisticRegression(), **QUIET),
        PUAUC(0.3, kernel="linear", ridges=[0.1], **QUIET),
        PUAUL(0.3, kernel="linear", ridges=[0.1], **QUIET),
        SAREM(propensity_features=[1], **QUIET),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_twice_the_weight_is_the_row_twice(learner):
    X, s, _ = rows()
    s[-40:] = np.where(s[-40:] == 1, 1, -1)
    counts = np.where(np.arange(len(s)) % 5 == 0, 2, 1)
    twice = np.repeat(np.arange(len(s)), counts)
    learner = learner.set_params(random_state=0)
    found = learner.fit(X, s, sample_weight=counts).decision_function(X)
    plain = learner.fit(X, s).decision_function(X)
    expected = learner.fit(X[twice], s[twice]).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.ptp(expected))
    assert np.abs(plain - expected).max() > 10 * np.abs(found - expected).max()


def test_networks_draw_a_row_of_twice_the_weight_as_if_it_came_twice():
    X, s, _ = rows()
    counts = np.where(np.arange(len(s)) % 50 == 0, 2, 1)
    twice = np.repeat(np.arange(len(s)), counts)
    assert len(twice) // 64 == len(s) // 64
    settings = {
        "alpha": 0.3,
        "epochs": 3,
        "batch_size": 64,
        "standardize": False,
        "validation_fraction": 0.0,
        "random_state": 0,
    }
    found = NNPU(**settings, **QUIET).fit(X, s, sample_weight=counts).decision_function(X)
    expected = NNPU(**settings, **QUIET).fit(X[twice], s[twice]).decision_function(X)
    np.testing.assert_array_equal(found, expected)


def test_the_risk_with_known_negatives_by_hand():
    labeled, negative = torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 1.0, 0.0])
    found = pnu_risk(torch.tensor(0.7), labeled, negative, 0.4, 0.25, "squared")
    positive = 0.4 * (0.5 * 1 + 0.5 * 1) / 2
    against = 0.6 * (0 + 2 + 0.5) / 3
    assert float(found) == pytest.approx(0.75 * 0.7 + 0.25 * (positive + against))
    assert share_of_known(0.4, 100, 1000, 0) == 0.0
    mine = 1 / 1000 + 0.16 / 100
    assert share_of_known(0.4, 100, 1000, 50) == pytest.approx(mine / (mine + 0.36 / 50))


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_posteriors_with_known_negatives(scheme):
    alpha, n_l, n_u, n_n = 0.3, 200.0, 1000.0, 300.0
    p_pos, p_neg = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    others = n_u * (alpha * p_pos + (1 - alpha) * p_neg) + n_n * p_neg
    odds = np.log(n_l * p_pos / others)
    population = Population(alpha, n_l, n_u, scheme, n_n)
    pi = (n_l + alpha * n_u) / (n_l + n_u + n_n) if scheme == "single-sample" else alpha
    expected = pi * p_pos / (pi * p_pos + (1 - pi) * p_neg)
    assert population.pi == pytest.approx(pi)
    np.testing.assert_allclose(population.posterior(odds), expected)
    assert population.posterior(np.array([population.border]))[0] == pytest.approx(0.5)
    # Where positive and negative are equally likely, both sides of the weighted loss are equal.
    at_border = np.array([1.0, pi / (1 - pi)])
    side = n_u * (alpha * at_border[0] + (1 - alpha) * at_border[1]) + n_n * at_border[1]
    assert fair_ratio(population) * (n_u + n_n) == pytest.approx(side)


def test_many_known_negatives_help():
    gains = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.repeat([1, 0], [400, 600])
        X = rng.normal(size=(1000, 8)) + 0.7 * y[:, None]
        s = np.where(rng.random(1000) < 0.08, y, 0)
        known = np.where((y == 0) & (rng.random(1000) < 0.7), -1, s)
        areas = []
        for labels in (s, known):
            scores = PUAUC(0.35, kernel="linear", random_state=seed, **QUIET).fit(X, labels)
            other = np.random.default_rng(99).normal(size=(2, 2000, 8))
            first, second = (
                scores.decision_function(other[0] + 0.7),
                scores.decision_function(other[1]),
            )
            areas.append(float(np.mean(first > second)))
        gains.append(areas[1] - areas[0])
    assert np.mean(gains) > 0


def test_alpha_is_estimated_from_rows_that_count_alike_and_that_is_said():
    X, s, _ = rows()
    with pytest.warns(LearnerWarning, match="rows that count alike") as caught:
        Naive("elkan-noto", **QUIET).fit(X, s, sample_weight=np.arange(1.0, 401.0))
    assert caught[0].message.code == "alpha-unweighted"


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([-1.0] * 400, "zero or more"),
        ([np.nan] * 400, "zero or more"),
        ([1.0] * 399, "one value per row"),
        ([0.0] * 400, "rows that count"),
    ],
)
def test_weights_that_are_none(weights, message):
    X, s, _ = rows()
    with pytest.raises(InvalidInputError, match=message) as caught:
        Naive().fit(X, s, sample_weight=weights)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "cls", [Naive, Weighted, ElkanNoto, BaggingPU, TwoStep, PropensityWeighted]
)
def test_a_classifier_may_come_first(cls):
    classifier = LogisticRegression()
    assert cls(classifier).get_params(deep=False) == cls(classifier=classifier).get_params(
        deep=False
    )
    assert cls("boosting").classifier == "boosting"
    with pytest.raises(TypeError, match="two classifiers"):
        cls(classifier, classifier=classifier)
    assert ElkanNoto("duplicate").mode == "duplicate"


@pytest.mark.parametrize("key", ["pu-aul", "pu-auc", "naive", "bagging-pu", "two-step"])
def test_sparse_rows(key):
    X, s, _ = rows()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    settings = {"alpha": 0.3} if key.startswith("pu-") else {}
    learner = learners.make(key, random_state=0, **settings, **QUIET).fit(csr_matrix(X), s)
    decided = learner.decision_function(csr_matrix(X))
    assert decided[s == 1].mean() > decided[s == 0].mean()
