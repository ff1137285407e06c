"""Groups with checked rows: there, the checks decide, whatever the labels are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.notes import Note
from recoup._core.random import named_rng
from recoup.evaluation.audited import judged_rows
from recoup.evaluation.group_metric import GroupMetric
from recoup.evaluation.grouped_evaluation import GroupedEvaluation
from recoup.metrics.intervals import normal_quantile
from recoup.scores.grouped import GroupedTable
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    from recoup.audit import Audit, AuditedEvaluation
    from recoup.audit.checked import CheckedRows

# Fewer checked rows say less about a group than its labels and the other groups.
FEWEST_CHECKED = 10


def with_group_audits(
    found: GroupedEvaluation, table: GroupedTable, audit: Audit, s: Any, scores: Any, seed: int
) -> GroupedEvaluation:
    """Let checked rows decide in the groups where they lie.

    Rows of a group were drawn with the chances that the audit drew all rows with, so that what
    holds for all rows holds within a group: the estimate is right on average for any labels.

    Parameters
    ----------
    found : GroupedEvaluation
        From labels alone.
    table : GroupedTable
        The rows.
    audit : Audit
        The checked rows.
    s, scores : array-like of shape (n,)
        Labels and scores.
    seed : int
        Seed of the intervals.

    Returns
    -------
    GroupedEvaluation
    """
    pooled, population = judged_rows(found.pooled)
    # Second opinions count rows of all groups together.
    checked = replace(audit.checked(s, scores, population, "evaluate_by"), layers=(), layer=None)
    places = _groups_of(checked, table, population.cells(table.scores))
    counts = table.binned(pooled.scores).astype(np.int64)
    audits: dict[int, AuditedEvaluation] = {}
    sizes: dict[int, int] = {}
    for place in range(len(table.groups)):
        inside = places == place
        n_known = int((~np.isnan(checked.truth[inside])).sum())
        if n_known < FEWEST_CHECKED or not counts[0, place].any():
            continue
        rows = ScoreTable._assemble(
            pooled.scores, list(counts[:, place]), pooled.centers, thinned=pooled.thinned
        )
        audits[place] = _audited(found, place, rows, checked.among(inside), seed)
        sizes[place] = n_known
    metrics = {
        key: _with_checked(metric, audits, sizes, found, seed)
        for key, metric in found.metrics.items()
    }
    notes = list(found.notes)
    if len(audits) < len(table.groups):
        notes.append(
            Note(
                "audit-elsewhere",
                f"{len(audits):,} of {len(table.groups):,} groups have {FEWEST_CHECKED} checked "
                f"rows and more, which decide there; the others rest on labels.",
            )
        )
    keys = table.groups.keys
    return replace(
        found,
        metrics=metrics,
        notes=tuple(notes),
        audits={keys[place]: one for place, one in audits.items()},
    )


def _groups_of(
    checked: CheckedRows, table: GroupedTable, cells: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Group of each checked row; for the top rows, which have no positions, by their order."""
    if checked.rows is not None:
        return table.codes[checked.rows]
    unlabeled = np.flatnonzero(table.counts == 1)
    order = unlabeled[np.argsort(-table.scores[unlabeled], kind="stable")]
    top = order[: len(checked.cells)]
    return table.codes[top[np.lexsort((cells[top],))]]


def _audited(
    found: GroupedEvaluation, place: int, rows: ScoreTable, checked: CheckedRows, seed: int
) -> AuditedEvaluation:
    from recoup.audit.estimating import audited

    z = normal_quantile(found.confidence)
    columns = {key: metric.at(place) for key, metric in found.metrics.items()}
    from_labels = {
        key: (one.recovered, (one.upper - one.lower) / (2 * z)) for key, one in columns.items()
    }
    return audited(
        rows,
        columns["alpha"].recovered,
        checked,
        threshold=found.threshold,
        scheme=found.scheme,
        beta=1.0,
        confidence=found.confidence,
        from_labels=from_labels,
        seed=int(np.uint32(seed + place)),
    )


def _with_checked(
    metric: GroupMetric,
    audits: dict[int, AuditedEvaluation],
    sizes: dict[int, int],
    found: GroupedEvaluation,
    seed: int,
) -> GroupMetric:
    """Put the values of groups with checked rows in place of those from labels."""
    recovered, lower, upper = (
        column.copy() for column in (metric.recovered, metric.lower, metric.upper)
    )
    own, n_checked = metric.own.copy(), metric.n_checked.copy()
    draws = metric.draws.copy()
    rng = named_rng(seed, "groups", "audit", metric.key)
    z = normal_quantile(found.confidence)
    for place, audit in audits.items():
        one = audit.alpha if metric.key == "alpha" else audit.metrics.get(metric.key)
        if one is None:
            continue
        recovered[place], lower[place], upper[place] = one.combined, one.lower, one.upper
        own[place], n_checked[place] = 1.0, sizes[place]
        error = (one.upper - one.lower) / (2 * z)
        noise = error * rng.standard_normal(draws.shape[1])
        draws[:, :, place] = np.clip(one.combined + noise, one.lower - error, one.upper + error)
    total = metric.total
    whole = found.pooled.audit
    if whole is not None:
        both = whole.alpha if metric.key == "alpha" else whole.metrics.get(metric.key)
        if both is not None:
            total = replace(
                total,
                recovered=both.combined,
                raw=both.combined,
                lower=both.lower,
                upper=both.upper,
                possible_lower=both.lower,
                possible_upper=both.upper,
            )
    return replace(
        metric,
        recovered=recovered,
        lower=lower,
        upper=upper,
        own=own,
        n_checked=n_checked,
        draws=draws,
        total=total,
    )
