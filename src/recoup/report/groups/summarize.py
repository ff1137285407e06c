"""What a page about groups says, as plain values."""

from __future__ import annotations

from typing import Any

from recoup._core.results import to_plain
from recoup._core.text import show_number, show_percent, show_range
from recoup.evaluation import GroupContrast, GroupedEvaluation
from recoup.evaluation.grouped_evaluation import HEADLINE

# The metric that groups are ordered by, and that the page opens on.
FIRST = "precision"
NAME_IN_SENTENCE = 40


def gap_sentences(found: GroupedEvaluation) -> list[str]:
    """Say how much groups differ, metric by metric.

    Parameters
    ----------
    found : GroupedEvaluation
        What :func:`recoup.evaluate_by` returned.

    Returns
    -------
    list of str
        Empty with one group.
    """
    if len(found) < 2:
        return []
    return [_gap_sentence(found[key].label, found.gap(key)) for key in HEADLINE] + [
        f"Equalized odds: positives are found, or negatives left alone, at rates that differ by "
        f"{_with_limits(found.equalized_odds())}."
    ]


def _gap_sentence(label: str, gap: GroupContrast) -> str:
    shown = f"{label} differs most between {_brief(gap.first)} and {_brief(gap.second)}"
    certain = "" if gap.lower > 0 else "; it may differ nowhere"
    return f"{shown}, by {_with_limits(gap)}{certain}."


def _with_limits(gap: GroupContrast) -> str:
    return f"{show_number(gap.value)} ({show_range(gap.lower, gap.upper)})"


def _brief(name: str) -> str:
    flat = " ".join(name.split())
    return flat if len(flat) <= NAME_IN_SENTENCE else f"{flat[: NAME_IN_SENTENCE - 1]}\u2026"


def summarize_groups(found: GroupedEvaluation) -> dict[str, Any]:
    """Return all that a page says of groups, ready for JSON.

    Parameters
    ----------
    found : GroupedEvaluation
        What :func:`recoup.evaluate_by` returned.

    Returns
    -------
    dict
        ``by``, ``sentences``, ``names``, ``rows`` (labeled, unlabeled, checked), ``metrics`` (each
        with key, label, columns by group, total and range), ``notes``, ``confidence``,
        ``threshold``.
    """
    first = found[FIRST]
    metrics = []
    for key, metric in found.metrics.items():
        total = metric.total
        columns = ("recovered", "lower", "upper", "pu", "own")
        metrics.append(
            {"key": key, "label": metric.label}
            | {name: [_short(value) for value in getattr(metric, name)] for name in columns}
            | {
                "total": {
                    name: _short(getattr(total, name))
                    for name in ("recovered", "lower", "upper", "pu")
                }
            }
        )
    sure = show_percent(found.confidence)
    several = f"{len(found):,} groups by {', '.join(found.groups.columns)}"
    sentences = [
        f"{several}, at threshold {found.threshold:.4g}. Intervals hold with {sure} confidence for "
        f"each group; those of differences for all pairs of groups at once.",
        *gap_sentences(found),
    ]
    plain: dict[str, Any] = to_plain(
        {
            "by": list(found.groups.columns),
            "sentences": sentences,
            "names": list(found.groups.names),
            "rows": {
                "labeled": first.n_labeled.tolist(),
                "unlabeled": first.n_unlabeled.tolist(),
                "checked": first.n_checked.tolist(),
            },
            "metrics": metrics,
            "first": FIRST,
            "notes": [str(note) for note in found.notes],
            "confidence": found.confidence,
            "threshold": found.threshold,
        }
    )
    return plain


def _short(value: float) -> float:
    """Keep the digits that a reader can use."""
    return float(f"{value:.5g}")
