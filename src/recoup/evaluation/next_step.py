"""What to do next: one sentence for who has to decide, from all that an evaluation found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from recoup._core.relative_limits import is_wide
from recoup._core.results import html_table, make_frame
from recoup._core.text import show_digits, show_range, show_share, show_share_range
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.notes import FEW_LABELED, FEW_UNLABELED
from recoup.evaluation.possible import open_shares
from recoup.metrics.spec import metric_spec

if TYPE_CHECKING:
    import pandas as pd

    from recoup.evaluation.results import Evaluation

StepCode: TypeAlias = Literal[
    "turn-scores",
    "score-new-rows",
    "estimate-alpha",
    "label-more",
    "improve-model",
    "check-rows",
    "check-more-rows",
    "give-propensity",
    "say-labels",
    "check-labels",
    "lower-threshold",
    "use-threshold",
]

# Steps whose command chooses rows to check.
PLANNED: tuple[StepCode, ...] = ("check-rows", "check-more-rows")
PLAN_FILE = "to_check.csv"
# Rows that somebody can look at in an afternoon, and of them the fewest that tell anything.
CHECKS, FEWEST_CHECKS = 120, 10
# A wider interval leaves much open.
WIDE = 0.3
# A range of what is possible is much wider than the interval: by this factor, and this much.
OPEN_TIMES, OPEN_ROOM = 1.5, 0.05
# A ranking that shuffled labels reach more often is not shown to be better than chance.
CHANCE = 0.05
# The numbers that people decide by, and how each is written.
DECIDING = {"recall": True, "precision": True, "roc_auc": False}


@dataclass(frozen=True)
class NextStep:
    """What to do next with a model that was evaluated.

    Attributes
    ----------
    code : str
        What kind of step it is, for programs; it stays when the words change.
    text : str
        One sentence that says what to do and why.
    command : str
        What to type for it; empty where nothing needs to be typed.
    """

    code: StepCode
    text: str
    command: str = ""

    def __str__(self) -> str:
        """Say the sentence alone."""
        return self.text

    def to_frame(self) -> pd.DataFrame:
        """Return one row.

        Returns
        -------
        pandas.DataFrame
            With columns code, text and command.
        """
        return make_frame({name: [value] for name, value in self.to_dict().items()})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        return dict(vars(self))

    def _repr_html_(self) -> str:
        return html_table({"Next step": [self.text], "Command": [self.command]}, self.code)


def next_step(evaluation: Evaluation) -> NextStep:
    """Say what to do next: the first of these that there is a reason for.

    First what makes the numbers wrong or empty (scores, shares, too few rows, nothing flagged),
    then what nobody has said or checked about the labels, then what leaves much open, and last how
    to use the model.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    NextStep
    """
    for look in (_about_scores, _about_rows, _about_audit, _about_labels, _about_width):
        step = look(evaluation)
        if step is not None:
            return step
    return _use(evaluation)


def leaves_open(item: Estimate) -> bool:
    """Say whether what nobody has checked leaves much more open than the interval does.

    Parameters
    ----------
    item : Estimate
        A metric.

    Returns
    -------
    bool
    """
    width, possible = item.upper - item.lower, item.possible_upper - item.possible_lower
    return possible > OPEN_TIMES * width and possible > width + OPEN_ROOM


def can_plan_audit(evaluation: Evaluation) -> bool:
    """Say whether rows to check can be chosen: not with weights, or where hardly a row is left.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    bool
    """
    given = evaluation.given
    weighted = given.by_propensity or given.counts.squares is not None
    some = evaluation.n_unlabeled >= FEWEST_CHECKS and 0 < evaluation.alpha < 1
    return bool(some and not weighted and len(evaluation.table.scores) > 1)


def plan_call(evaluation: Evaluation, checks: int) -> str:
    """Write the call that chooses so many rows to check.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    checks : int
        How many rows.

    Returns
    -------
    str
    """
    given = f"threshold={_digits(evaluation.threshold)}, budget={checks}"
    if evaluation.scheme != "single-sample":
        given += f", scheme={evaluation.scheme!r}"
    return f'recoup.audit.plan(s, scores, {given}).to_csv("{PLAN_FILE}")'


def _digits(value: float) -> str:
    """Write a number with all its digits, and without an exponent."""
    return np.format_float_positional(value, trim="0")


def _about_scores(evaluation: Evaluation) -> NextStep | None:
    codes = {note.code for note in evaluation.notes}
    if "inverted" in codes:
        return NextStep(
            "turn-scores",
            "Turn the sign of the scores around and evaluate again: labeled rows score lower than "
            "unlabeled ones.",
            "recoup.evaluate(s, -scores, ...)",
        )
    if "leak" in codes:
        return NextStep(
            "score-new-rows",
            "Score rows that had no part in training, and evaluate those: the scores seem to know "
            "the labels.",
            "recoup.evaluate(recoup.scores.crossfit(model, X, s), ...)",
        )
    limits = evaluation.feasibility
    if limits.exceeded and not evaluation.given.by_propensity:
        most = show_digits(limits.alpha_upper)
        return NextStep(
            "estimate-alpha",
            f"Have alpha estimated, or pass another one: {show_digits(evaluation.alpha)} is more "
            f"than the scores allow (at most {most}).",
            'recoup.evaluate(s, scores, alpha="estimate")',
        )
    return None


def _about_rows(evaluation: Evaluation) -> NextStep | None:
    labeled, unlabeled = evaluation.table.effective_sizes
    if labeled < FEW_LABELED or unlabeled < FEW_UNLABELED:
        return NextStep(
            "label-more",
            f"Get more rows: there are {labeled:,.0f} labeled and {unlabeled:,.0f} unlabeled ones, "
            f"and intervals hold from {FEW_LABELED} and {FEW_UNLABELED} on.",
        )
    chance = evaluation.baseline
    if chance is not None and chance.p_value > CHANCE:
        return NextStep(
            "improve-model",
            "Improve the model or its features before anything else: its ranking is not shown to "
            "be better than chance.",
        )
    if not evaluation.at(evaluation.threshold).queue:
        best = evaluation.metric_curve("f1").best_threshold
        return NextStep(
            "lower-threshold",
            f"Choose a threshold below {show_digits(evaluation.threshold, 4)}, where no row is "
            f"flagged; F1 is best at {show_digits(best, 4)}.",
            f"evaluation.at({_digits(best)})",
        )
    return None


def _about_audit(evaluation: Evaluation) -> NextStep | None:
    audit = evaluation.audit
    if audit is None:
        return None
    wide = _named(audit.metrics, _is_wide, checked=True)
    if wide:
        return _check(evaluation, f"{wide} by the rows checked so far", more=True)
    return _use(evaluation)


def _about_labels(evaluation: Evaluation) -> NextStep | None:
    if evaluation.given.by_propensity or evaluation.audit is not None:
        return None
    possible = _named(evaluation.metrics, leaves_open, possible=True)
    plannable = can_plan_audit(evaluation)
    if evaluation.labels_are == "biased":
        if plannable:
            return _check(
                evaluation,
                "the labels are said to favor some positives, so that numbers from labels alone do "
                "not hold",
            )
        return NextStep(
            "give-propensity",
            "Give the chance of each row to be labeled if it is positive: the labels are said to "
            "favor some positives, so that numbers from labels alone do not hold.",
            "recoup.evaluate(s, scores, propensity=...)",
        )
    if evaluation.labels_are == "unknown":
        if possible and plannable:
            return _check(evaluation, f"as long as nobody knows how labels came about, {possible}")
        return NextStep(
            "say-labels",
            "Say how labels came about: the numbers hold if the labeled rows are a random sample "
            "of the positives.",
            'recoup.evaluate(s, scores, ..., labels_are="random")',
        )
    open_alpha, open_beta = open_shares(evaluation.given)
    if possible and open_alpha and plannable:
        return _check(evaluation, f"with any alpha that the scores allow, {possible}")
    if open_beta and (
        possible or any(note.code == "labels-unchecked" for note in evaluation.notes)
    ):
        rows = min(50, int(evaluation.n_labeled))
        moved = possible or "the numbers would move by more than their intervals"
        return NextStep(
            "check-labels",
            f"Have {rows} labeled rows checked, and pass the share that is right as beta: with a "
            f"tenth of wrong labels, {moved}.",
            "recoup.evaluate(s, scores, ..., beta=1.0)",
        )
    return None


def _about_width(evaluation: Evaluation) -> NextStep | None:
    wide = _named(evaluation.metrics, _is_wide)
    if not wide:
        return None
    if can_plan_audit(evaluation):
        return _check(evaluation, wide)
    return NextStep("label-more", f"Get more labeled rows: {wide}.")


def _use(evaluation: Evaluation) -> NextStep:
    threshold = show_digits(evaluation.threshold, 4)
    found = evaluation.metrics if evaluation.audit is None else evaluation.audit.metrics
    parts = []
    said = {
        "precision": "of the rows it flags {} are right",
        "recall": "it finds {} of the positives",
    }
    for key, words in said.items():
        item = found.get(key)
        if item is not None and np.isfinite([item.lower, item.upper]).all():
            value = _value(item)
            share = show_share_range(item.lower, item.upper)
            parts.append(words.format(f"{show_share(value)} ({share})"))
    what = ": " + ", and ".join(parts) if parts else ""
    return NextStep("use-threshold", f"Use threshold {threshold}{what}.")


def _check(evaluation: Evaluation, why: str, more: bool = False) -> NextStep:
    rows = min(CHECKS, int(evaluation.n_unlabeled))
    if not can_plan_audit(evaluation):
        return NextStep("label-more", f"Get more labeled rows: {why}.")
    kind = "more " if more else "unlabeled "
    return NextStep(
        "check-more-rows" if more else "check-rows",
        f"Check {rows} {kind}rows by hand: {why}.",
        plan_call(evaluation, rows),
    )


def _is_wide(item: Any) -> bool:
    return is_wide(item.lower, item.upper, WIDE)


def _value(item: Any) -> float:
    """Value of a metric, from labels or from checked rows."""
    return float(item.recovered if isinstance(item, Estimate) else item.combined)


def _named(
    metrics: Any, wanted: Callable[[Any], bool], possible: bool = False, checked: bool = False
) -> str:
    """Name the deciding numbers that something holds for, with what they may be."""
    parts = []
    for key, as_share in DECIDING.items():
        item = metrics.get(key)
        if item is not None and wanted(item):
            ends = (
                (item.possible_lower, item.possible_upper) if possible else (item.lower, item.upper)
            )
            shown = show_share_range(*ends) if as_share else show_range(*ends)
            verb = "could be" if possible else "is" if checked else "is known as"
            label = metric_spec(key, "next_step").label
            parts.append(f"{label.lower() if as_share else label} {verb} {shown}")
    return " and ".join(parts)
