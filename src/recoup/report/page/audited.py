"""What a page says about checking rows by hand: before, what it would tell; after, what it told."""

from __future__ import annotations

from typing import Any

from recoup._core.text import show_count, show_digits, show_percent
from recoup.evaluation import Evaluation
from recoup.metrics.spec import metric_spec

# Rows that somebody can look at in an afternoon.
OFFERED = 120
FIGURES = ("precision", "recall", "roc_auc")


def audit_of(evaluation: Evaluation) -> dict[str, Any]:
    """Say what rows checked by hand tell, or would tell.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    dict
        ``sentences`` for people; ``metrics``, one row per number, empty before an audit.
    """
    found = evaluation.audit
    if found is None:
        return {"sentences": _offer(evaluation), "metrics": []}
    kind = "bounds" if found.bounds_only else f"{show_percent(found.confidence)} interval"
    checked = f"{show_count(found.n_checked)} rows were checked by hand."
    rows = [
        {
            "label": "Alpha" if one.key == "alpha" else metric_spec(one.key, "report").label,
            "audited": one.audited,
            "lower": one.lower,
            "upper": one.upper,
            "from_labels": one.from_labels,
            "combined": one.combined,
        }
        for one in (found.alpha, *found.metrics.values())
    ]
    return {"sentences": [checked, found.labels.text], "metrics": rows, "kind": kind}


def _offer(evaluation: Evaluation) -> list[str]:
    """Say by how much an audit would narrow the numbers; nothing where none can be planned."""
    given = evaluation.given
    if given.by_propensity or given.counts.squares is not None:
        return []
    budget = min(OFFERED, int(evaluation.n_unlabeled))
    if budget < 10 or not 0 < evaluation.alpha < 1:
        return []
    from recoup.audit.planning import expected_half_widths

    widths = expected_half_widths(
        evaluation.table if not evaluation.n_negative else given.counts,
        alpha=evaluation.alpha,
        threshold=evaluation.threshold,
        scheme=evaluation.scheme,
        budget=budget,
        metrics=FIGURES,
        confidence=evaluation.confidence,
    )
    parts = []
    for key in FIGURES:
        spec, item, half = metric_spec(key, "report"), evaluation[key], widths[key]
        if not half < (item.possible_upper - item.possible_lower) / 2:
            continue
        # A half-width of the planned interval, in points of a hundred.
        now = f"now {show_digits(100 * item.possible_lower, 2)} to "
        now += show_digits(100 * item.possible_upper, 2)
        parts.append(
            f"{spec.label} to about \N{PLUS-MINUS SIGN}{show_digits(100 * half, 2)} ({now})"
        )
    gain = (
        f" Of 100, {', '.join(parts)}: so narrow the numbers would become if labels are as they "
        f"seem."
        if parts
        else ""
    )
    return [
        f"Whether the labeled rows are a random sample of the positives cannot be seen in these "
        f"numbers. Checking {budget} unlabeled rows by hand, drawn by recoup audit plan, would "
        f"tell, and give every number an interval that holds whatever the labels are.{gain}"
    ]
