"""Values that cannot be: one message about them, and the alpha that would make them possible."""

from __future__ import annotations

import numpy as np
import pytest

from recoup import evaluate
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.out_of_range import is_impossible
from recoup.exceptions import ClippedEstimateWarning, InfeasiblePriorWarning
from recoup.report.page.light import light_reasons
from recoup.report.page.summarize import summarize


def rows_with_a_clean_top(hidden_above):
    """400 labeled rows, half of them above all of 4,000 unlabeled ones but a few."""
    rng = np.random.default_rng(0)
    s = np.repeat([1, 0], [400, 4000])
    high = np.concatenate([np.repeat([True, False], 200), np.arange(4000) < hidden_above])
    return s, np.where(high, rng.uniform(1.0, 2.0, 4400), rng.uniform(-1.0, 1.0, 4400))


def test_an_alpha_that_the_ranking_allows_and_precision_does_not():
    s, scores = rows_with_a_clean_top(40)
    with pytest.warns(ClippedEstimateWarning):
        found = evaluate(s, scores, alpha=0.05, threshold=1.0, n_boot=0)
    assert not found.feasibility.exceeded
    assert found["precision"].raw > 1.1
    (note,) = [note for note in found.notes if note.code == "out-of-range"]
    assert "precision" in note
    assert "alpha is too large" in note
    assert "must be wrong" not in note
    largest = float(note.split("is about ")[1].split(",")[0])
    # Above the threshold are 40 of 4,000 unlabeled and 200 of 400 labeled rows.
    assert 0.02 < largest < 0.05
    again = evaluate(s, scores, alpha=0.9 * largest, threshold=1.0, n_boot=0)
    assert "out-of-range" not in {note.code for note in again.notes}
    assert not any("is possible" in sentence for sentence in summarize(found)["sentences"])
    assert any("is possible" in sentence for sentence in summarize(again)["sentences"])
    assert "limits" not in {reason["code"] for reason in light_reasons(found)}
    assert "limits" in {reason["code"] for reason in light_reasons(again)}


def test_an_alpha_that_neither_allows_has_one_limit():
    s, scores = rows_with_a_clean_top(40)
    with pytest.warns(ClippedEstimateWarning), pytest.warns(InfeasiblePriorWarning):
        found = evaluate(s, scores, alpha=0.4, threshold=1.0, n_boot=0)
    (note,) = [note for note in found.notes if note.code == "out-of-range"]
    assert "largest alpha" not in note


@pytest.mark.parametrize(
    ("raw", "limits", "pi", "impossible"),
    [
        (1.3, (1.1, 1.6), 0.3, True),
        (1.3, (0.9, 1.6), 0.3, False),
        (1.004, (1.003, 1.005), 0.3, False),
        (-0.004, (-0.006, -0.002), 0.3, False),
        (-0.004, (-0.006, -0.002), 0.01, True),
        (-0.004, (-0.006, 0.001), 0.01, False),
        (1.3, (np.nan, np.nan), 0.3, False),
    ],
)
def test_rare_classes_are_measured_by_their_share(raw, limits, pi, impossible):
    item = Estimate.make("precision", 0.1, raw, limits)
    assert is_impossible(item, limits, pi) is impossible
