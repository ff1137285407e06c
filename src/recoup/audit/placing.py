"""Checked rows among the scores of models, whichever model they were drawn by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.audit.answers import Audit
from recoup.audit.checked import CheckedRows
from recoup.audit.design import Design
from recoup.audit.population import JudgedRows
from recoup.exceptions import InvalidInputError


def check_audit(audit: Any, caller: str, sample_weight: Any = None) -> Audit:
    """Require an audit, of rows that count alike.

    Parameters
    ----------
    audit : object
        As the user gave it.
    caller : str
        Who asks, for the error message.
    sample_weight : object
        Weights beside it; refused.

    Returns
    -------
    Audit
    """
    if not isinstance(audit, Audit):
        raise InvalidInputError(
            f"{caller} needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )
    if sample_weight is not None:
        raise InvalidInputError(
            f"{caller} takes an audit of rows that count alike. Got sample_weight beside it. Drop "
            f"one of them."
        )
    return audit


def checked_by_models(
    audit: Audit,
    s: NDArray[Any],
    scores: Mapping[str, FloatArray],
    populations: Mapping[str, JudgedRows],
    best: str,
    caller: str,
) -> tuple[dict[str, CheckedRows], str | None]:
    """Find the checked rows among the scores of each model.

    Parameters
    ----------
    audit : Audit
        Rows that were checked, by their positions.
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : mapping of str to ndarray of shape (n,)
        The scores of each model.
    populations : mapping of str to JudgedRows
        The same rows by the scores of each model.
    best : str
        The model whose scores group the answers of an audit that was not planned.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    checked : dict of str to CheckedRows
        By name of the model. All of them share the design, and so what chance does to it.
    drawn_by : str or None
        The model that rows were drawn by; None if it is not among these.
    """
    if audit.kind == "top" and len(scores) > 1:
        raise InvalidInputError(
            f"{caller} needs an audit whose rows are named: which rows are the top depends on the "
            f"model. Got Audit.top. Pass Audit.drawn(rows, truth, probability), or a plan's audit."
        )
    plan = audit.plan
    drawn_by: str | None = best
    unlabeled = np.flatnonzero(s == 0)
    if plan is not None:
        drawn_by = next((name for name in scores if _is_planned(audit, s, scores[name])), None)
    if drawn_by is not None:
        drawn = audit.checked(s, scores[drawn_by], populations[drawn_by], caller)
        known, at = unlabeled, populations[drawn_by].cells(scores[drawn_by][unlabeled])
        if audit.kind == "top":
            return {drawn_by: drawn}, drawn_by
        population = populations[drawn_by]
    else:
        assert plan is not None
        _check_labels(audit, s, caller)
        scheme = next(iter(populations.values())).scheme
        population = JudgedRows.of(plan.basis.table, scheme, plan.threshold)
        drawn = audit.checked(None, None, population, caller)
        assert drawn.rows is not None
        known, at = drawn.rows, drawn.cells
    # Second opinions would part the answers of this model alone, and chance would not cancel.
    drawn = replace(drawn, layers=(), layer=None)
    inside = drawn.rows
    assert inside is not None
    found = {}
    for name, values in scores.items():
        if name == drawn_by:
            found[name] = drawn
            continue
        cells = populations[name].cells
        places = cells(values[known])
        found[name] = replace(
            drawn,
            cells=cells(values[inside]),
            # Models that order all rows alike must not differ by how their scores are parted.
            starts=drawn.starts if np.array_equal(places, at) else np.zeros(1, np.intp),
            design=Design.of(population, drawn.cells, drawn.starts, at, places),
        )
    return found, drawn_by if plan is not None else None


def _is_planned(audit: Audit, s: NDArray[Any], scores: FloatArray) -> bool:
    """Say whether these are the scores that the rows were drawn by."""
    plan = audit.plan
    assert plan is not None
    if len(scores) != plan.basis.n_rows or not np.array_equal(
        scores[audit.rows], plan.scores_of(audit.rows)[0]
    ):
        return False
    counts = np.bincount(plan.strata.of(scores[s == 0]), minlength=len(plan.strata.n_rows))
    return np.array_equal(counts, plan.strata.n_rows)


def _check_labels(audit: Audit, s: NDArray[Any], caller: str) -> None:
    """Refuse other rows than those of the plan, as far as labels tell."""
    plan = audit.plan
    assert plan is not None
    table = plan.basis.table
    mine = tuple(int(np.sum(s == kind)) for kind in (1, 0, -1))
    planned = tuple(int(n) for n in (table.n_labeled, table.n_unlabeled, table.n_negative))
    if mine != planned or not np.array_equal(s[audit.rows], plan.scores_of(audit.rows)[1]):
        raise InvalidInputError(
            f"{caller} needs the rows that the audit was planned for, in the same order. Got "
            f"{mine[0]:,} labeled and {mine[1]:,} unlabeled rows; the plan has {planned[0]:,} and "
            f"{planned[1]:,}, or its checked rows have other labels. Pass the s that "
            f"recoup.audit.plan had."
        )
