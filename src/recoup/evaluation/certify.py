"""certify: the threshold that keeps a promise, with a chance that was named beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Number
from recoup._core.notes import Note
from recoup._core.text import show_digits, show_number
from recoup.evaluation.audited import judged_rows
from recoup.evaluation.possible import tilted_limits
from recoup.evaluation.promises import Achieved, Basis, Pledge, Promise, PromiseCode
from recoup.exceptions import InvalidInputError
from recoup.metrics.demands import SHARE, Demand, aim_of, demands_of
from recoup.metrics.learn_then_test import ByLabels, Judge, best_place
from recoup.metrics.spec import MetricSpec, metric_spec
from recoup.selection.how_labeled import tilts_up_to

if TYPE_CHECKING:
    from recoup.audit.by_answers import ByAnswers
    from recoup.evaluation.results import Evaluation

CALLER = "Evaluation.certify"
ROWS = Number(least=1, hint="Pass a number of rows, such as 500.")
# What a promise is about, in the order in which people read it.
LABELS = {"precision": "precision", "recall": "recall", "cost": "saved cost", "queue": "queue"}
# Steps of the search for what could be promised instead.
STEPS = 12


def certify(
    evaluation: Evaluation,
    *,
    precision: float | None,
    recall: float | None,
    queue: float | None,
    cost: Mapping[str, float] | None,
    maximise: str | None,
    confidence: float,
) -> Promise:
    """Find a threshold that keeps all that is asked for; see :meth:`Evaluation.certify`.

    Parameters
    ----------
    evaluation : Evaluation
        Whose rows and labels are judged.
    precision, recall, queue, cost, maximise, confidence
        As there.

    Returns
    -------
    Promise
    """
    demands = demands_of(precision, recall, cost, CALLER)
    if queue is not None:
        ROWS.check(queue, "queue", CALLER)
    if not demands and queue is None:
        raise InvalidInputError(
            f"{CALLER} needs something to promise. Got nothing. Pass precision=0.9, recall=0.8, "
            f"queue=500 or cost={{'fp': 1, 'fn': 20}}, or several of them."
        )
    SHARE.check(confidence, "confidence", CALLER)
    aim = aim_of(maximise, demands, CALLER)
    basis: Basis = "labels"
    if evaluation.audit is not None:
        basis = "audit"
    elif evaluation.given.by_propensity:
        basis = "propensity"
    pledges = [Pledge(one.kind, LABELS[one.kind], one.goal) for one in demands]
    if queue is not None:
        pledges.append(Pledge("queue", LABELS["queue"], float(queue)))
    judge = judge_of(evaluation, queue)
    if basis == "audit" and queue is not None and not demands:
        # Nothing is tested: any threshold will do, not only those that strata start at.
        judge = by_answers(evaluation, highest_of(evaluation, float(queue)))
    biased = bool(demands) and basis == "labels" and evaluation.labels_are == "biased"
    level = (1 - confidence) / max(len(demands), 1)
    each = [
        np.zeros(len(judge.thresholds), bool) if biased else judge.kept(one, level)
        for one in demands
    ]
    fits = np.ones(len(judge.thresholds), bool) if queue is None else judge.queue <= queue
    kept = np.all([*each, fits], axis=0)
    if kept.any():
        place = best_place(judge, kept, aim)
        return _kept(evaluation, judge, place, demands, pledges, aim, basis, confidence)
    return _refused(judge, each, fits, demands, pledges, aim, basis, confidence, biased)


def highest_of(evaluation: Evaluation, queue: float) -> FloatArray:
    """Return the lowest score that at most so many rows reach; none if the highest has more."""
    _, population = judged_rows(evaluation)
    rows = np.cumsum(population.rows[::-1])
    place = int(np.searchsorted(rows, queue * (1 + 1e-12), side="right")) - 1
    return population.scores[::-1][max(place, 0) : place + 1]


def judge_of(evaluation: Evaluation, queue: float | None) -> Judge:
    """Return what judges thresholds: the answers where rows were checked, else the labels.

    Parameters
    ----------
    evaluation : Evaluation
        Whose rows and labels are judged.
    queue : float or None
        The most rows that may be flagged.

    Returns
    -------
    Judge
    """
    if evaluation.audit is not None:
        return by_answers(evaluation)
    times = evaluation.given.widening(evaluation.mixture, evaluation.threshold)
    return ByLabels(
        evaluation.given.exact,
        evaluation.prior,
        evaluation.scheme,
        max((times.get(key, 1.0) for key in ("precision", "recall")), default=1.0),
        queue,
    )


def by_answers(evaluation: Evaluation, scores: FloatArray | None = None) -> ByAnswers:
    """Return what checked rows say at thresholds.

    Parameters
    ----------
    evaluation : Evaluation
        With an audit.
    scores : ndarray of shape (n,), optional
        The thresholds, highest first. By default those that parts of the checked rows start at.

    Returns
    -------
    ByAnswers
    """
    from recoup.audit.by_answers import ByAnswers

    checked = None if evaluation.audit is None else evaluation.audit.checked
    if checked is None:
        raise InvalidInputError(f"{CALLER} needs an audit for what checked rows say. Got none.")
    _, population = judged_rows(evaluation)
    return ByAnswers(
        population,
        checked,
        evaluation.alpha,
        evaluation.beta,
        int(np.uint32(evaluation.seed)),
        scores,
    )


def _kept(
    evaluation: Evaluation,
    judge: Judge,
    place: int,
    demands: list[Demand],
    pledges: list[Pledge],
    aim: MetricSpec | Demand,
    basis: Basis,
    confidence: float,
) -> Promise:
    shown = ["precision", "recall"]
    if isinstance(aim, MetricSpec) and aim.key not in shown:
        shown.append(aim.key)
    metrics = [
        _achieved(judge, place, spec.key, spec.label, spec, confidence)
        for spec in (metric_spec(key, CALLER) for key in shown)
    ]
    by_key = {one.kind: one for one in demands}
    stated = []
    for pledge in pledges:
        if pledge.key == "queue":
            stated.append(replace(pledge, value=float(judge.queue[place]), p_value=0.0))
            continue
        demand = by_key[pledge.key]  # type: ignore[index]
        value = float(judge.values(demand.value)[place])
        stated.append(replace(pledge, value=value, p_value=judge.p_value(demand, place)))
        if demand.kind == "cost":
            metrics.append(_achieved(judge, place, "cost", "Saved cost", demand, confidence))
    return Promise(
        threshold=float(judge.thresholds[place]),
        code="kept",
        rests_on=basis,
        pledges=tuple(stated),
        metrics=tuple(metrics),
        queue=float(judge.queue[place]),
        confidence=float(confidence),
        candidate=None,
        notes=(_rests_on(evaluation, basis, metrics, float(judge.thresholds[place])),)
        if demands
        else (),
    )


def _achieved(
    judge: Judge,
    place: int,
    key: str,
    label: str,
    of: MetricSpec | Demand,
    confidence: float,
) -> Achieved:
    formula = of.value if isinstance(of, Demand) else of.formula
    clip = float if isinstance(of, Demand) else of.clip
    value = clip(float(judge.values(formula)[place]))
    low, high = (clip(end) for end in judge.interval(formula, place, confidence))
    return Achieved(key, label, value, min(low, value), max(high, value))


def _refused(
    judge: Judge,
    each: list[NDArray[np.bool_]],
    fits: NDArray[np.bool_],
    demands: list[Demand],
    pledges: list[Pledge],
    aim: MetricSpec | Demand,
    basis: Basis,
    confidence: float,
    biased: bool,
) -> Promise:
    met = [judge.values(one.value) >= one.goal for one in demands]
    likely = np.all([*met, fits], axis=0)
    candidate = None
    if likely.any():
        candidate = float(judge.thresholds[best_place(judge, likely, aim)])
    code: PromiseCode = "few-labels"
    if biased:
        code = "labels-biased"
    elif not np.all(met, axis=0).any() and all(one.any() for one in met):
        code = "apart"
    elif not all(one.any() for one in met):
        code = "weak-model"
    elif np.all(each, axis=0).any() or not likely.any():
        code = "small-queue"
    level = (1 - confidence) / max(len(demands), 1)
    stated = [*pledges]
    for i, demand in enumerate(demands):
        # What is shown to hold somewhere need not be less.
        if demand.kind != "cost" and code == "few-labels" and not (each[i] & fits).any():
            stated[i] = replace(pledges[i], reachable=_reachable(judge, demand, fits, level))
    return Promise(
        threshold=None,
        code=code,
        rests_on=basis,
        pledges=tuple(stated),
        metrics=(),
        queue=np.nan,
        confidence=float(confidence),
        candidate=candidate,
        notes=(_remedy(code, candidate, basis),),
    )


def _reachable(judge: Judge, demand: Demand, fits: NDArray[np.bool_], level: float) -> float:
    """Return about the most that could be promised instead."""
    low, high = 0.0, demand.goal
    for _ in range(STEPS):
        middle = (low + high) / 2
        shown = (judge.kept(replace(demand, goal=middle), level) & fits).any()
        low, high = (middle, high) if shown else (low, middle)
    return np.floor(low * 1000) / 1000 if low > 0 else np.nan


def _rests_on(
    evaluation: Evaluation, basis: Basis, metrics: list[Achieved], threshold: float
) -> Note:
    """Say what the promise would fail with."""
    if basis == "audit":
        return Note(
            "promise-audit",
            "The promise is about these rows, and rests on the draw of the checked ones alone: it "
            "holds whatever the labels are.",
        )
    if basis == "propensity":
        return Note("promise-propensity", "The promise holds if the propensities do.")
    estimated = ""
    if evaluation.prior_estimate is not None:
        estimated = " Alpha was estimated; its error is part of the test."
    if evaluation.labels_are == "random":
        return Note(
            "promise-labels",
            f"The promise holds if labels are a random sample of the positives, as was said of "
            f"them.{estimated}",
        )
    possible = _possible(evaluation, metrics, threshold)
    return Note(
        "promise-labels",
        f"The promise holds if labels are a random sample of the positives, which nobody has said "
        f"(labels_are).{possible} Rows checked by hand would make it hold whatever the labels are."
        f"{estimated}",
    )


def _possible(evaluation: Evaluation, metrics: list[Achieved], threshold: float) -> str:
    """Say what precision and recall may be at the threshold if labels favor some scores."""
    if evaluation.label_odds <= 1:
        return ""
    at = replace(evaluation, threshold=threshold, metrics={})
    found = [
        tilted_limits(at, evaluation.alpha, tilt) for tilt in tilts_up_to(evaluation.label_odds)
    ]
    parts = []
    for one in metrics:
        if one.key in ("precision", "recall"):
            clip = metric_spec(one.key, CALLER).clip
            low = min(clip(min(limits[one.key][0] for limits in found)), one.lower)
            parts.append(f"{one.label} could be as low as {show_number(low)}")
    return (
        f" If they favor high or low scores with odds of up to {evaluation.label_odds:g}, "
        f"{' and '.join(parts)}."
    )


def _remedy(code: PromiseCode, candidate: float | None, basis: Basis) -> Note:
    at = "" if candidate is None else f" at threshold {show_digits(candidate, 4)}"
    check = "recoup.audit.plan(s, scores, **promise.audit_arguments)"
    if code == "weak-model":
        text = "A better model would help, or a lower promise."
    elif code == "small-queue":
        text = "A longer queue would help, or a lower promise."
    elif code == "apart":
        text = "A better model would help, or to ask for less of one of them."
    elif basis == "audit":
        text = f"More checked rows{at} would help (audit.next), or a lower promise."
    elif code == "labels-biased":
        text = f"Rows checked by hand{at} would tell: {check}."
    else:
        text = (
            f"More labels or a surer alpha would help, or rows checked by hand{at}, which need "
            f"neither: {check}."
        )
    return Note("no-threshold", text)
