"""evaluate_by: how good a classifier really is in each group of rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, brief
from recoup._core.notes import Note
from recoup._core.prior import Prior
from recoup._core.random import RandomState, as_seed, named_rng
from recoup._core.text import show_count
from recoup.evaluation.evaluate import evaluate
from recoup.evaluation.group_alphas import (
    GroupAlphas,
    estimated_alphas,
    given_alphas,
    stated_alphas,
)
from recoup.evaluation.group_draws import GroupDraws, group_draws, group_specs
from recoup.evaluation.group_metric import GroupMetric, make_metric
from recoup.evaluation.group_rows import GroupRows, shared_posterior
from recoup.evaluation.grouped_evaluation import GroupedEvaluation
from recoup.evaluation.inputs import HowScored
from recoup.evaluation.results import Evaluation
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.scores.crossfit import CrossfitScores
from recoup.scores.grouped import GroupedTable
from recoup.selection.how_labeled import LabelsAre

if TYPE_CHECKING:
    from recoup.audit import Audit

# Below so many labels a group has no alpha of its own.
FEW_LABELS = 20
# Odds at the same score that differ by so much between groups are worth a word.
WIDE_SPREAD = 2.0


def evaluate_by(
    s: ArrayLike | GroupedTable | CrossfitScores,
    scores: ArrayLike | None = None,
    *,
    groups: Any = None,
    alpha: Any = "estimate",
    scheme: Scheme = "single-sample",
    threshold: float | str | None = None,
    confidence: float = 0.95,
    n_draws: int = 1000,
    random_state: RandomState = 0,
    scored: HowScored | None = None,
    audit: Audit | None = None,
    labels_are: LabelsAre = "unknown",
) -> GroupedEvaluation:
    """Recover how good a classifier really is in each group of rows, and how groups differ.

    Labels must be a random sample of the positives within each group; groups may be labeled at
    different rates. Groups learn from each other: what is said of a group with few labels comes
    mostly from all of them, and each number says how much came from the group's own rows. Every
    label is taken as right.

    Parameters
    ----------
    s : array-like of shape (n,), GroupedTable or CrossfitScores
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,), optional
        Higher is more positive. Left out when ``s`` is a table, or what
        :func:`recoup.scores.crossfit` returned.
    groups : array-like of shape (n,), data frame or mapping of str to array-like, optional
        One column or several, such as ``frame[["sex", "country"]]``. Missing values are a group of
        their own. Left out when ``s`` is a table.
    alpha : float, Interval, Draws, prior estimate, mapping or str, default="estimate"
        Share of positives among the unlabeled rows: one for all groups, or by a mapping one for
        each, of which the keys are values of the column or tuples of values. ``"estimate"``, or the
        key of an estimator such as ``"bbe"``, has those of all groups estimated together: from the
        rows of each, and from what the scores mean in all.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    threshold : float or str, optional
        Where scores become predictions, in all groups, as in :func:`recoup.evaluate`.
    confidence : float, default=0.95
        Level of the intervals.
    n_draws : int, default=1000
        Draws from the hierarchy that intervals are made of.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. None gives other numbers at each call.
    scored : {"once", "crossfit"}, optional
        ``"crossfit"`` for scores from models that the other rows have trained, as in
        :func:`recoup.evaluate`.
    audit : Audit, optional
        Rows that somebody checked. Where ten or more of them lie in a group, they decide there,
        whatever the labels are.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about; for the evaluation of all rows as one table.

    Returns
    -------
    GroupedEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], 20000)
    >>> positive = rng.random(20000) < np.where(sex == "f", 0.15, 0.3)
    >>> s = (positive & (rng.random(20000) < np.where(sex == "f", 0.2, 0.5))).astype(int)
    >>> scores = 1 / (1 + np.exp(-rng.normal(2.0 * positive - 1.0)))
    >>> found = evaluate_by(s, scores, groups=sex, alpha={"f": 0.124, "m": 0.176}, threshold=0.6)
    >>> found["precision"]["f"]
    GroupEstimate(precision of 'f': 0.615 [0.575, 0.661], own 0.64)
    >>> found.difference("precision", "m", "f").lower > 0.1
    True
    """
    caller = "evaluate_by"
    if not isinstance(n_draws, Integral) or isinstance(n_draws, bool) or n_draws < 100:
        raise InvalidInputError(
            f"{caller} needs n_draws to be a whole number from 100: limits are quantiles of the "
            f"draws. Got {brief(n_draws)}."
        )
    crossfitted = s if isinstance(s, CrossfitScores) else None
    if crossfitted is not None:
        s, scores = crossfitted.s, crossfitted.scores if scores is None else scores
    seed = as_seed(random_state, caller)
    table = _counted(s, scores, groups, threshold, caller)
    given = None
    pooled_alpha = alpha
    if isinstance(alpha, Mapping):
        given = given_alphas(alpha, table.groups, confidence, caller)
        pooled_alpha = _mean_alpha(table, given)
    options: dict[str, Any] = {
        "alpha": pooled_alpha,
        "beta": 1.0,
        "scheme": scheme,
        "threshold": threshold,
        "confidence": confidence,
        "random_state": seed,
        "labels_are": labels_are,
    }
    with warnings.catch_warnings():
        # Doubts about all rows as one table are among the notes, and groups may well be in order.
        if len(table.groups) > 1:
            warnings.simplefilter("ignore", RecoupWarning)
        pooled = _pooled(s, scores, table, crossfitted, scored, audit, options)
    if given is None and pooled.prior.estimate is None:
        given = [pooled.prior] * len(table.groups)
    rows = GroupRows.of(table, scheme, pooled.threshold)
    if len(table.groups) == 1:
        found = _of_one_group(table, rows, pooled, int(n_draws))
    else:
        found = _of_groups(table, rows, pooled, given, int(n_draws), seed)
    if audit is not None:
        from recoup.evaluation.group_audits import with_group_audits

        found = with_group_audits(found, table, audit, s, scores, seed)
    return found


def _pooled(
    s: Any,
    scores: Any,
    table: GroupedTable,
    crossfitted: CrossfitScores | None,
    scored: Any,
    audit: Any,
    options: dict[str, Any],
) -> Evaluation:
    """Evaluate all rows as one table."""
    if crossfitted is not None:
        return evaluate(crossfitted, audit=audit, **options)
    if audit is not None and not isinstance(s, GroupedTable):
        return evaluate(s, scores, audit=audit, scored=scored, **options)
    return evaluate(table.pooled, audit=audit, scored=scored, **options)


def _counted(s: Any, scores: Any, groups: Any, threshold: Any, caller: str) -> GroupedTable:
    if isinstance(s, GroupedTable):
        if scores is not None or groups is not None:
            raise InvalidInputError(
                f"{caller} takes a GroupedTable alone: scores and groups are counted in it "
                f"already. Drop the other arguments."
            )
        s.pooled.whole(caller)
        return s
    if scores is None or groups is None:
        lacking = "scores" if scores is None else "groups"
        raise InvalidInputError(
            f"{caller} needs scores and groups beside the labels. Got no {lacking}. Call "
            f"evaluate_by(s, scores, groups=frame[['country']])."
        )
    keep = (float(threshold),) if isinstance(threshold, int | float) else ()
    table = GroupedTable.from_arrays(s, scores, groups, keep=keep, caller=caller)
    table.pooled.whole(caller)
    return table


def _mean_alpha(table: GroupedTable, given: list[Prior]) -> float:
    counts = table.counts
    if counts.ndim == 1:
        unlabeled = np.bincount(table.codes[counts == 1], minlength=len(given))
    else:
        unlabeled = np.bincount(table.codes, counts[1], len(given))
    mean = np.dot(unlabeled, [prior.alpha for prior in given]) / max(unlabeled.sum(), 1)
    return float(mean)


def _columns(table: GroupedTable, rows: GroupRows) -> dict[str, Any]:
    return {
        "groups": table.groups,
        "n_labeled": rows.n_labeled,
        "n_unlabeled": rows.n_unlabeled,
        "n_checked": np.zeros(len(table.groups)),
    }


def _of_one_group(
    table: GroupedTable, rows: GroupRows, pooled: Evaluation, n_draws: int
) -> GroupedEvaluation:
    """Say of the only group what an evaluation says."""
    metrics = {}
    low, high = pooled.prior.range
    values = {spec.key: pooled[spec.key] for spec in group_specs()}
    limits = {key: (one.pu, one.recovered, one.lower, one.upper) for key, one in values.items()}
    limits["alpha"] = 0.0, pooled.alpha, low, high
    for key, (pu, value, lower, upper) in limits.items():
        total = make_metric(
            key,
            np.array([value]),
            np.linspace(lower, upper, n_draws)[None, :, None],
            value,
            np.linspace(lower, upper, n_draws)[None],
            pu,
            pooled.confidence,
            pu=np.array([pu]),
            own=np.ones(1),
            **_columns(table, rows),
        )
        metrics[key] = replace(
            total,
            lower=np.array([lower]),
            upper=np.array([upper]),
            total=values.get(key, replace(total.total, lower=lower, upper=upper)),
        )
    return GroupedEvaluation(
        table.groups,
        metrics,
        pooled,
        pooled.threshold,
        pooled.scheme,
        pooled.confidence,
        1.0,
        pooled.notes,
    )


def _of_groups(
    table: GroupedTable,
    rows: GroupRows,
    pooled: Evaluation,
    given: list[Prior] | None,
    n_draws: int,
    seed: int,
) -> GroupedEvaluation:
    if given is None:
        shared = shared_posterior(rows, pooled.alpha)
        alphas = estimated_alphas(
            rows, pooled.prior, shared, n_draws, named_rng(seed, "groups", "alpha")
        )
    else:
        alphas = stated_alphas(given, n_draws, named_rng(seed, "groups", "alpha"))
    # The positives that the groups have, by their alphas, lie along the scores as in all of them.
    mean = float(np.dot(alphas.value, rows.n_unlabeled) / max(rows.n_unlabeled.sum(), 1))
    shared = shared_posterior(rows, mean)
    times = pooled.given.widening(pooled.mixture, pooled.threshold)
    found = group_draws(rows, shared, alphas, times, named_rng(seed, "groups", "rates"))
    metrics = {key: _metric(key, found, table, rows, pooled.confidence) for key in found.values}
    spread = float(np.exp(alphas.spread)) if alphas.estimated else 1.0
    return GroupedEvaluation(
        table.groups,
        metrics,
        pooled,
        pooled.threshold,
        pooled.scheme,
        pooled.confidence,
        spread,
        tuple(_notes(rows, alphas, metrics, pooled, spread)),
    )


def _metric(
    key: str, found: GroupDraws, table: GroupedTable, rows: GroupRows, confidence: float
) -> GroupMetric:
    value: FloatArray = found.values[key]
    shape = (*found.total_draws["alpha"].shape, len(value))
    return make_metric(
        key,
        value,
        np.broadcast_to(found.draws[key], shape),
        found.total[key],
        np.broadcast_to(found.total_draws[key], shape[:2]),
        found.total_observed[key],
        confidence,
        pu=found.observed[key],
        own=found.own[key],
        **_columns(table, rows),
    )


def _notes(
    rows: GroupRows,
    alphas: GroupAlphas,
    metrics: Mapping[str, GroupMetric],
    pooled: Evaluation,
    spread: float,
) -> list[Note]:
    notes = []
    few = int((rows.n_labeled < FEW_LABELS).sum())
    if few and alphas.estimated:
        notes.append(
            Note(
                "small-groups",
                f"{show_count(few)} of {show_count(len(rows.labeled))} groups "
                f"{'has' if few == 1 else 'have'} fewer than "
                f"{FEW_LABELS} labels: what is said of them comes mostly from what all groups have "
                f"in common.",
            )
        )
    if spread > WIDE_SPREAD:
        notes.append(
            Note(
                "scores-differ",
                f"Scores do not mean the same in all groups: at the same score the odds of being "
                f"positive differ between groups by a factor of about {spread:.1f}.",
            )
        )
    off = [
        metrics[key].label
        for key in ("roc_auc", "precision", "recall")
        if not metrics[key].total.lower <= pooled[key].recovered <= metrics[key].total.upper
    ]
    if off:
        notes.append(
            Note(
                "labeled-unevenly",
                f"Groups seem to be labeled at different rates: taken as one table, the rows give "
                f"another {' and '.join(off)} than groups put together. The total here is that of "
                f"the groups.",
            )
        )
    return [*notes, *(note.about("All rows as one table") for note in pooled.notes)]
