"""Evaluations and comparisons with checked rows beside the labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray, label_masks
from recoup._core.multiplicity import holm
from recoup.evaluation.differences import Difference
from recoup.metrics.area import auc_pu
from recoup.metrics.intervals import normal_quantile
from recoup.scores.table import DEFAULT_BINS, ScoreTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from recoup.audit import Audit, AuditedEvaluation
    from recoup.audit.checked import CheckedRows
    from recoup.audit.population import JudgedRows
    from recoup.evaluation.comparison import Comparison
    from recoup.evaluation.results import Evaluation


def audited_defaults(
    audit: Any,
    alpha: Any,
    threshold: Any,
    propensity: Any,
    sample_weight: Any,
    s: Any,
    scores: Any,
) -> tuple[Any, Any]:
    """Return alpha and threshold, where the audit says what was left out.

    Parameters
    ----------
    audit : Audit
        The checked rows.
    alpha : object
        As the user gave it. Left out, it is estimated: from the answers, if labels are too few.
    threshold : object
        As the user gave it. Left out, it is the plan's.
    propensity : object
        Takes the place of alpha.
    sample_weight : object
        Refused: an audit counts rows.
    s : array-like of shape (n,) or ScoreTable
        Labels.
    scores : array-like of shape (n,) or None
        Scores.

    Returns
    -------
    alpha, threshold : object
    """
    from recoup.audit.placing import check_audit

    check_audit(audit, "evaluate", sample_weight)
    if alpha is None and propensity is None:
        from recoup.priors.base import MIN_LABELED

        counted = isinstance(s, ScoreTable)
        n_labeled = s.n_labeled if counted else label_masks(s, "evaluate")[0].sum()
        # Fewer labels alone say nothing of alpha; the answers do.
        few = n_labeled < MIN_LABELED
        alpha = audit.prior_estimate(s, scores, caller="evaluate") if few else "estimate"
    return alpha, audit.threshold if threshold is None else threshold


def with_audit(evaluation: Evaluation, audit: Audit, s: Any, scores: Any) -> Evaluation:
    """Add what checked rows say.

    Parameters
    ----------
    evaluation : Evaluation
        From the labels alone.
    audit : Audit
        The checked rows.
    s : array-like of shape (n,) or ScoreTable
        Labels.
    scores : array-like of shape (n,) or None
        Scores.

    Returns
    -------
    Evaluation
    """
    table, population = judged_rows(evaluation)
    counted = isinstance(s, ScoreTable)
    checked = audit.checked(
        None if counted else s, None if counted else scores, population, "evaluate"
    )
    found = audited_evaluation(evaluation, table, checked, int(np.uint32(evaluation.seed)))
    return replace(evaluation, audit=found, notes=evaluation.notes + found.notes)


def judged_rows(evaluation: Evaluation) -> tuple[ScoreTable, JudgedRows]:
    """Return the rows of an evaluation by score, as an audit takes them.

    Parameters
    ----------
    evaluation : Evaluation
        From the labels alone.

    Returns
    -------
    table : ScoreTable
    population : JudgedRows
    """
    from recoup.audit.population import JudgedRows

    table = evaluation.given.counts.thin(DEFAULT_BINS, (0.5, evaluation.threshold))
    return table, JudgedRows.of(table, evaluation.scheme, evaluation.threshold)


def audited_evaluation(
    evaluation: Evaluation, table: ScoreTable, checked: CheckedRows, seed: int
) -> AuditedEvaluation:
    """Judge a model by checked rows, beside what the labels say.

    Parameters
    ----------
    evaluation : Evaluation
        From the labels alone.
    table : ScoreTable
        The rows by score.
    checked : CheckedRows
        The answers.
    seed : int
        Seed of the intervals.

    Returns
    -------
    AuditedEvaluation
    """
    from recoup.audit.estimating import audited

    return audited(
        table,
        # The plan's own chances did not see the answers, nor did these.
        evaluation.alpha,
        checked,
        threshold=evaluation.threshold,
        scheme=evaluation.scheme,
        beta=evaluation.beta,
        confidence=evaluation.confidence,
        from_labels=from_labels(evaluation),
        seed=seed,
    )


def with_audited_models(
    comparison: Comparison, audit: Audit, s: ArrayLike, scores: Mapping[str, FloatArray]
) -> Comparison:
    """Add what checked rows say about each model, and about their differences.

    Parameters
    ----------
    comparison : Comparison
        From the labels alone.
    audit : Audit
        The checked rows.
    s : array-like of shape (n,)
        Labels.
    scores : mapping of str to ndarray of shape (n,)
        The scores of each model.

    Returns
    -------
    Comparison
    """
    from recoup.audit.pairs import audited_gaps
    from recoup.audit.placing import checked_by_models
    from recoup.evaluation.audited_comparison import AuditedComparison

    labeled, _, negative = label_masks(s, "compare")
    labels = labeled.astype(np.int64) - (0 if negative is None else negative)
    evaluations = comparison.evaluations
    rows = {name: judged_rows(one) for name, one in evaluations.items()}
    populations = {name: population for name, (_, population) in rows.items()}
    best = max(evaluations, key=lambda name: auc_pu(rows[name][0]))
    checked, drawn_by = checked_by_models(audit, labels, scores, populations, best, "compare")
    one = evaluations[drawn_by or best]
    seed = int(np.uint32(one.seed))
    audited = {
        name: audited_evaluation(evaluations[name], rows[name][0], checked[name], seed)
        for name in evaluations
    }
    unlabeled = labels == 0
    # In the order in which all models have the answers; rows from the top judge one model alone.
    inside = next(iter(checked.values())).rows
    inside = audit.rows if inside is None else inside
    gaps = audited_gaps(
        populations,
        checked,
        audited,
        {name: populations[name].cells(scores[name][unlabeled]) for name in populations},
        np.cumsum(unlabeled)[inside] - 1,
        drawn_by,
        beta=one.beta,
        confidence=one.confidence,
        seed=seed,
    )
    differences: list[Difference] = []
    for key in dict.fromkeys(gap.key for gap in gaps):
        some = [gap for gap in gaps if gap.key == key]
        adjusted = holm([gap.p_value for gap in some])
        differences += [
            Difference(
                *(key, gap.first, gap.second, gap.value, gap.lower, gap.upper, gap.p_value),
                p_adjusted=float(p),
            )
            for gap, p in zip(some, adjusted, strict=True)
        ]
    of_one = audited[drawn_by or best]
    found = AuditedComparison(
        metric=comparison.metric,
        models=audited,
        differences=tuple(differences),
        labels=of_one.labels,
        drawn_by=drawn_by,
        n_checked=of_one.n_checked,
        n_missing=of_one.n_missing,
        confidence=one.confidence,
        notes=of_one.notes,
    )
    return replace(
        comparison,
        evaluations={name: replace(evaluations[name], audit=audited[name]) for name in evaluations},
        notes=comparison.notes + of_one.notes,
        audit=found,
    )


def from_labels(evaluation: Evaluation) -> dict[str, tuple[float, float]]:
    """Return what the labels alone say, as an audit takes it.

    Parameters
    ----------
    evaluation : Evaluation
        From the labels alone.

    Returns
    -------
    dict of str to (float, float)
        Value and standard error by key; alpha among them.
    """
    z = normal_quantile(evaluation.confidence)
    found = {
        key: (one.recovered, (one.upper - one.lower) / (2 * z))
        for key, one in evaluation.metrics.items()
    }
    low, high = evaluation.prior.range
    return found | {"alpha": (evaluation.alpha, (high - low) / (2 * z))}
