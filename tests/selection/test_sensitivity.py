"""Recovered metrics under selection that favors high or low scores."""

from __future__ import annotations

import json
import warnings

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import recoup
from recoup.exceptions import ClippedEstimateWarning, InfeasiblePriorWarning, InvalidInputError
from recoup.selection.sensitivity import selection_sensitivity
from recoup.selection.tilt import fair_table, hidden_share

mpl.use("Agg")


def drawn(n, gamma, rng):
    """Rows whose hidden positives are the labeled ones tilted by gamma ** rank."""
    hidden = rng.normal(1.5, 1.0, n)
    rank = np.argsort(np.argsort(hidden)) / n
    chance = gamma**rank / max(gamma, 1.0)
    labeled = hidden[rng.random(n) < chance]
    return labeled, hidden, rng.normal(0.0, 1.0, n)


def evaluated(labeled, hidden, negatives, scheme):
    s = np.repeat([1, 0], [len(labeled), len(hidden) + len(negatives)])
    scores = np.concatenate([labeled, hidden, negatives])
    alpha = len(hidden) / (len(hidden) + len(negatives))
    with warnings.catch_warnings():
        # Labels that favor high scores leave fewer of them unlabeled than alpha demands.
        warnings.simplefilter("ignore", InfeasiblePriorWarning)
        warnings.simplefilter("ignore", ClippedEstimateWarning)
        return recoup.evaluate(s, scores, alpha=alpha, scheme=scheme, threshold=0.8, n_boot=0)


@pytest.mark.parametrize("scheme", ["single-sample", "case-control"])
@pytest.mark.parametrize(("gamma", "favored"), [(4.0, "high"), (0.25, "low")])
def test_known_tilt_recovers_the_truth(scheme, gamma, favored):
    rng = np.random.default_rng(3)
    labeled, hidden, negatives = drawn(40_000, gamma, rng)
    evaluation = evaluated(labeled, hidden, negatives, scheme)
    found = evaluation.selection_sensitivity([4.0], direction=favored)
    positives = hidden if scheme == "case-control" else np.append(labeled, hidden)
    y = np.repeat([1, 0], [len(positives), len(negatives)])
    scores = np.append(positives, negatives)
    truth = {
        "roc_auc": roc_auc_score(y, scores),
        "average_precision": average_precision_score(y, scores),
        "recall": (positives >= 0.8).mean(),
        "specificity": (negatives < 0.8).mean(),
        "accuracy": ((scores >= 0.8) == y).mean(),
    }
    for key, value in truth.items():
        assert found.values[key][0] == pytest.approx(value, abs=0.012), key
    assert abs(evaluation["roc_auc"].recovered - truth["roc_auc"]) > 0.02
    assert abs(evaluation["recall"].recovered - truth["recall"]) > 0.02


@pytest.fixture(scope="module")
def evaluation():
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.4
    s = (positive & (rng.random(3000) < 0.5)).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(2.0 * positive - 1)))
    return recoup.evaluate(s, np.round(scores, 2), alpha=0.25, n_boot=0)


@pytest.mark.parametrize("direction", ["high", "low", "both"])
def test_without_selection_nothing_changes(evaluation, direction):
    found = evaluation.selection_sensitivity(direction=direction)
    assert found.strengths[0] == 1
    assert found.favored[0] == "none"
    for key, values in found.values.items():
        assert values[0] == evaluation[key].recovered


def test_faint_selection_changes_little(evaluation):
    found = evaluation.selection_sensitivity([1.0, 1 + 1e-9])
    for values in found.values.values():
        np.testing.assert_allclose(values, values[0], atol=1e-6)


def test_labels_of_high_scores_flatter_the_classifier(evaluation):
    found = evaluation.selection_sensitivity((1, 2, 4))
    high = [w in ("none", "high") for w in found.favored]
    low = [w in ("none", "low") for w in found.favored]
    for key in ("roc_auc", "recall", "average_precision"):
        assert (np.diff(found.values[key][high]) < 0).all()
        assert (np.diff(found.values[key][low]) > 0).all()
    assert found.range("roc_auc") == (
        pytest.approx(found.values["roc_auc"].min()),
        pytest.approx(found.values["roc_auc"].max()),
    )


@pytest.mark.parametrize("gamma", [0.2, 0.9, 1.1, 7.0])
def test_hidden_share_solves_its_equation(gamma):
    """The labeled law is the integral of gamma ** rank over the hidden one."""
    labeled = np.random.default_rng(0).integers(0, 5, 30).astype(float)
    hidden = hidden_share(labeled, gamma)
    back = (gamma**hidden - 1) / (gamma - 1)
    np.testing.assert_allclose(back, np.cumsum(labeled) / labeled.sum(), atol=1e-12)
    assert hidden[-1] == pytest.approx(1.0)


def test_rows_of_a_single_sample_stay_where_they_are(evaluation):
    table = evaluation.table
    fair = fair_table(table, evaluation.mixture, 3.0)
    np.testing.assert_allclose(fair.labeled + fair.unlabeled, table.labeled + table.unlabeled)
    assert fair.n_labeled == pytest.approx(table.n_labeled)


def test_no_hidden_positives_no_effect():
    s, scores = [1] * 30 + [0] * 70, np.linspace(1, 0, 100)
    found = recoup.evaluate(s, scores, alpha=0.0, n_boot=0).selection_sensitivity([1, 5])
    for values in found.values.values():
        np.testing.assert_allclose(values, values[0], atol=1e-12)


def test_result_shows_itself(evaluation):
    found = evaluation.selection_sensitivity((1, 2))
    frame = found.to_frame()
    assert frame["favored"].tolist() == ["none", "high", "low"]
    assert json.loads(json.dumps(found.to_dict()))["strength"] == [1, 2, 2]
    assert "SelectionSensitivity(" in repr(found)
    assert "<table>" in found._repr_html_()
    assert frame["roc_auc_lower"].tolist() == found.lower["roc_auc"].tolist()
    assert frame["alpha"].tolist() == [evaluation.alpha] * 3
    display = found.plot(metrics=("roc_auc",))
    assert len(display.ax_.collections) == 1
    np.testing.assert_allclose(display.line_.get_xdata(), [-np.log(2), 0, np.log(2)])
    mpl.pyplot.close(display.figure_)


@pytest.mark.parametrize("strengths", [[0.5], [np.nan], [], "strong", [[1, 2]]])
def test_bad_strengths(evaluation, strengths):
    with pytest.raises(InvalidInputError, match="selection_sensitivity needs strengths"):
        selection_sensitivity(evaluation, strengths)


def test_bad_direction_metric_and_beta(evaluation):
    with pytest.raises(InvalidInputError, match="needs direction"):
        evaluation.selection_sensitivity(direction="up")
    with pytest.raises(InvalidInputError, match="knows"):
        evaluation.selection_sensitivity((1, 2)).range("nonsense")
    rng = np.random.default_rng(0)
    noisy = recoup.evaluate(
        rng.integers(0, 2, 2000), rng.normal(size=2000), alpha=0.2, beta=0.9, n_boot=0
    )
    with pytest.raises(InvalidInputError, match="beta=1"):
        noisy.selection_sensitivity()
