"""What a reader must know before trusting the numbers."""

from __future__ import annotations

import warnings

import numpy as np

from recoup._core.notes import Note
from recoup._core.text import show_digits
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.inputs import Given
from recoup.evaluation.out_of_range import is_impossible, out_of_range_note
from recoup.evaluation.uncertainty import Limits
from recoup.evaluation.warning_signs import warning_signs
from recoup.exceptions import ClippedEstimateWarning, InfeasiblePriorWarning
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import metric_spec
from recoup.scores.table import ScoreTable

# Below these sizes the intervals' coverage was not shown to hold (make study).
FEW_LABELED, FEW_UNLABELED = 20, 50


def notes_on(
    given: Given,
    table: ScoreTable,
    mixture: Mixture,
    threshold: float,
    metrics: dict[str, Estimate],
    limits: Limits,
    feasibility: Feasibility,
) -> list[Note]:
    """Say, and warn of, what a reader must know before trusting the numbers."""
    prior = given.prior
    notes = warning_signs(table, mixture, prior, by_propensity=given.by_propensity)
    if feasibility.exceeded:
        notes.append(
            Note(
                "infeasible-prior",
                f"alpha={show_digits(prior.alpha, 4)}, beta={show_digits(prior.beta, 4)} is more "
                f"than these scores allow: at {feasibility.confidence:.0%} confidence alpha is at "
                f"most {show_digits(feasibility.alpha_upper, 4)} and beta at least "
                f"{show_digits(feasibility.beta_lower, 4)}.",
            )
        )
        warnings.warn(notes[-1], InfeasiblePriorWarning, stacklevel=3)
    outside = [
        item
        for item in metrics.values()
        if abs(item.raw - metric_spec(item.key, "evaluate").clip(item.raw)) > 1e-9
    ]
    unknown, pi = (np.nan, np.nan), float(mixture.pi)
    impossible = [
        item for item in outside if is_impossible(item, limits.get(item.key, unknown), pi)
    ]
    if impossible:
        told = out_of_range_note(given, table, threshold, impossible, limits, feasibility)
        notes.append(told)
        warnings.warn(told, ClippedEstimateWarning, stacklevel=3)
    unlikely = [
        f"{item.key} {show_digits(item.raw, 4)}" for item in outside if item not in impossible
    ]
    if unlikely:
        notes.append(
            Note(
                "clipped",
                f"Recovered values left their range and were clipped ({', '.join(unlikely)}); "
                f"sampling error can explain that.",
            )
        )
    labeled, unlabeled = table.effective_sizes
    if labeled < FEW_LABELED or unlabeled < FEW_UNLABELED:
        notes.append(
            Note(
                "few-rows",
                f"With {labeled:,.0f} labeled and {unlabeled:,.0f} unlabeled rows the intervals "
                f"are unreliable: their coverage was shown for at least {FEW_LABELED} and "
                f"{FEW_UNLABELED}.",
            )
        )
    if len(table.scores) == 1:
        notes.append(
            Note("constant-scores", "All scores are equal: the ranking carries no information.")
        )
    if table.thinned:
        notes.append(
            Note(
                "binned",
                f"Scores were grouped into {len(table.scores):,} bins; that moves AUC_pu by at "
                f"most {show_digits(table.max_auc_error, 1)}.",
            )
        )
    return notes


def chosen_note(cut: float, chosen_for: str, shift: dict[str, float]) -> Note:
    """Say that the threshold was chosen on these rows, and what was done about it."""
    spec = metric_spec(chosen_for, "evaluate")
    goal = "maximise" if spec.higher_is_better else "minimise"
    text = f"The threshold {show_digits(cut, 4)} was chosen on these rows to {goal} {spec.label}"
    if chosen_for in shift:
        text += (
            f"; metrics at it are corrected for what the choice adds ({spec.label} "
            f"{shift[chosen_for]:+.4f})."
        )
    else:
        text += "; n_boot=0 leaves in what the choice adds to metrics at it."
    return Note("chosen-threshold", text)
