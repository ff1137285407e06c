"""An evaluation with checked rows beside the labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError
from recoup.metrics.intervals import normal_quantile
from recoup.scores.table import DEFAULT_BINS, ScoreTable

if TYPE_CHECKING:
    from recoup.audit import Audit
    from recoup.evaluation.results import Evaluation


def audited_defaults(
    audit: Any, alpha: Any, threshold: Any, propensity: Any, sample_weight: Any
) -> tuple[Any, Any]:
    """Return alpha and threshold, where the audit says what was left out.

    Parameters
    ----------
    audit : Audit
        The checked rows.
    alpha : object
        As the user gave it. Left out, it is estimated.
    threshold : object
        As the user gave it. Left out, it is the plan's.
    propensity : object
        Takes the place of alpha.
    sample_weight : object
        Refused: an audit counts rows.

    Returns
    -------
    alpha, threshold : object
    """
    from recoup.audit import Audit

    if not isinstance(audit, Audit):
        raise InvalidInputError(
            f"evaluate needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )
    if sample_weight is not None:
        raise InvalidInputError(
            "evaluate takes an audit of rows that count alike. Got sample_weight beside it. Drop "
            "one of them."
        )
    if alpha is None and propensity is None:
        alpha = "estimate"
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
    from recoup.audit.estimating import audited
    from recoup.audit.population import JudgedRows

    keep = (0.5, evaluation.threshold)
    table = evaluation.given.counts.thin(DEFAULT_BINS, keep)
    population = JudgedRows.of(table, evaluation.scheme, evaluation.threshold)
    counted = isinstance(s, ScoreTable)
    checked = audit.checked(
        None if counted else s, None if counted else scores, population, "evaluate"
    )
    found = audited(
        table,
        # The plan's own chances did not see the answers, nor did these.
        evaluation.alpha,
        checked,
        threshold=evaluation.threshold,
        scheme=evaluation.scheme,
        beta=evaluation.beta,
        confidence=evaluation.confidence,
        from_labels=from_labels(evaluation),
        seed=int(np.uint32(evaluation.seed)),
    )
    return replace(evaluation, audit=found, notes=evaluation.notes + found.notes)


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
