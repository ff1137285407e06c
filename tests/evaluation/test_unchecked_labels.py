"""What wrong labels would do, said only where it matters."""

from __future__ import annotations

import numpy as np
import pytest

from recoup import evaluate
from recoup.data import load_example
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.unchecked_labels import unchecked_labels_note
from recoup.exceptions import ClippedEstimateWarning


def test_on_real_scores_only_what_moves_is_named():
    example = load_example()
    scores = example.scores["score_boosting"]
    right = evaluate(example.s, scores, alpha=example.alpha, n_boot=0, threshold="f1")
    with pytest.warns(ClippedEstimateWarning, match="beta is too small"):
        wrong = evaluate(
            example.s, scores, alpha=example.alpha, beta=0.9, n_boot=0, threshold=right.threshold
        )
    keys = ("roc_auc", "recall", "precision")
    note = unchecked_labels_note(right.metrics, {key: wrong[key].recovered for key in keys})
    assert note.code == "labels-unchecked"
    for key in keys:
        item = right[key]
        moved = abs(wrong[key].recovered - item.recovered) > (item.upper - item.lower) / 2
        assert (f"{item.label} " in note) is bool(moved)


@pytest.mark.parametrize("value", [0.89, np.nan])
def test_nothing_is_said_of_what_intervals_hold_or_nobody_knows(value):
    item = Estimate("roc_auc", "AUC", 0.8, 0.88, 0.88, 0.86, 0.90)
    assert unchecked_labels_note({"roc_auc": item}, {"roc_auc": value}) is None


def test_no_interval_no_note():
    item = Estimate("roc_auc", "AUC", 0.8, 0.88, 0.88)
    assert unchecked_labels_note({"roc_auc": item}, {"roc_auc": 0.99}) is None
