"""The supervised reference among the networks."""

import numpy as np
import pytest
import torch

from learners.toy import small_network, toy_rows
from recoup.exceptions import InvalidInputError
from recoup.learners import NNPU, PN
from recoup.learners._training.stages import Batch


def test_the_loss_is_cross_entropy():
    learner = PN()
    learner._memory = {"classes": torch.tensor([0.0, 1.0, 0.0, 0.0])}
    scores = torch.tensor([[1.0], [-2.0], [0.5]])
    rows = torch.tensor([1, 2, 3])
    batch = Batch(scores, rows[:0], rows, {}, torch.nn.Identity())
    assert float(learner._loss(batch)) == pytest.approx(0.471422, abs=1e-6)


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
def test_it_is_the_ceiling_on_the_toy_rows(scheme):
    X, s, _, X_test, y_test = toy_rows(0, scheme)
    y = np.where(s == 1, 1, X[:, 0] > 0).astype(int)  # what the best rule says, as a truth
    settings = {"network": small_network, "epochs": 30, "learning_rate": 1e-3, "scheme": scheme}
    learner = PN(**settings, random_state=0).fit(X, s, y_true=y)
    accuracy = np.mean(learner.predict(X_test) == y_test)
    assert 0.87 <= accuracy <= 0.898


def test_only_the_population_teaches():
    X, s, _, _, _ = toy_rows(0, "case-control")
    y = (X[:, 0] > 0).astype(int)
    other = np.where(s == 1, 1 - y, y)
    settings = {"network": small_network, "epochs": 2, "scheme": "case-control", "random_state": 0}
    first, second = (PN(**settings).fit(X, s, y_true=classes) for classes in (y, other))
    assert np.array_equal(first.decision_function(X), second.decision_function(X))


def test_classes_are_asked_for_by_name_and_forgotten():
    X, s, _, _, _ = toy_rows(0, "case-control")
    learner = PN(network=small_network, epochs=1, random_state=0)
    with pytest.raises(InvalidInputError, match="needs y_true, the true class of each row"):
        learner.fit(X, s)
    with pytest.raises(InvalidInputError, match=r"1 \(positive\) or 0 \(negative\). Got 2"):
        learner.fit(X, s, y_true=np.full(len(s), 2))
    learner.fit(X, s, y_true=(X[:, 0] > 0))
    assert not {"_classes", "_memory", "_rows", "_oracle"} & set(vars(learner))


def test_pu_learners_never_ask_for_them():
    X, s, _, _, _ = toy_rows(0, "case-control")
    with pytest.raises(TypeError, match="y_true"):
        NNPU(alpha=0.4, epochs=1).fit(X, s, y_true=s)
