"""After an audit: what the checked rows told, beside what the labels alone say."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from recoup._core.text import (
    say_p,
    show_count,
    show_digits,
    show_number,
    show_percent,
    show_range,
    show_share,
    show_share_range,
)
from recoup.evaluation import Estimate, Evaluation
from recoup.metrics.spec import metric_spec
from recoup.report.page.offered import offer_of
from recoup.report.page.phrases import HIDDEN_FIGURE, PHRASES, TITLE_FIGURES

if TYPE_CHECKING:
    from recoup.audit import AuditedEvaluation, LabelsVerdict

# What a verdict on the labels speaks for, as the light does.
LABEL_LEVELS = {
    "random": "green",
    "cannot-tell": "amber",
    "favor-high": "red",
    "favor-low": "red",
}

FEWEST_CASES, MOST_CASES, POSITIVE_CASES = 1000, 10**8, 10


def audit_of(evaluation: Evaluation, with_offer: bool = True) -> dict[str, Any]:
    """Say what rows checked by hand told, or would tell.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    with_offer : bool, default=True
        Whether to say what an audit would tell where there was none.

    Returns
    -------
    dict
        ``made``, whether there was an audit; ``sentences`` for people; ``offer`` before one
        (:func:`~recoup.report.page.offered.offer_of`); after one ``labels`` (the verdict on them),
        ``metrics`` (each by the audit, by the labels alone and by both, with limits), ``kind`` of
        the limits, ``confusion`` (cases out of :func:`cases_of`).
    """
    found = evaluation.audit
    if found is None:
        offer = offer_of(evaluation) if with_offer else None
        return {
            "made": False,
            "sentences": offer["sentences"] if offer else [],
            "offer": offer,
            "metrics": [],
            "confusion": None,
        }
    return {
        "made": True,
        "sentences": [_about_checks(found), found.labels.text, *_about_numbers(found)],
        "offer": None,
        "labels": _about_labels(found.labels, found.confidence),
        "metrics": _rows(evaluation, found),
        "kind": "bounds" if found.bounds_only else f"{show_percent(found.confidence)} interval",
        "bounds_only": found.bounds_only,
        "n_checked": found.n_checked,
        "confusion": _cases(found, cases_of(evaluation)),
    }


def with_answers(evaluation: Evaluation) -> dict[str, Estimate]:
    """Return the metrics to name first: those of labels and checks together, where rows were.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    dict of str to Estimate
        By key of the metric. Rows chosen from the top give bounds alone, which change nothing.
    """
    found = evaluation.audit
    if found is None or found.bounds_only:
        return evaluation.metrics
    return {
        key: replace(
            item,
            recovered=found[key].combined,
            lower=found[key].lower,
            upper=found[key].upper,
        )
        if key in found.metrics
        else item
        for key, item in evaluation.metrics.items()
    }


def tile_of(evaluation: Evaluation, key: str) -> dict[str, str] | None:
    """Return what the tile of a metric shows of an audit.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    key : str
        Key of the metric, or ``"hidden"``.

    Returns
    -------
    dict or None
        ``value``, ``interval`` and ``about`` as texts; None without an audit.
    """
    found = evaluation.audit
    if found is None:
        return None
    one = found[key]
    title = HIDDEN_FIGURE if key == "hidden" else TITLE_FIGURES[key]
    # The audit's threshold, wherever the slider stands.
    at = f"at threshold {show_digits(evaluation.threshold)}"
    about = title[1].replace("at the threshold", at)
    about = about.format(rows=show_count(evaluation.n_unlabeled))
    words = {"rows": show_count(found.n_checked), "about": about}
    if key == "hidden":
        value, interval = show_count(one.combined), _between(one.lower, one.upper)
    elif TITLE_FIGURES[key][2]:
        value, interval = show_share(one.combined), show_share_range(one.lower, one.upper)
    else:
        value, interval = show_number(one.combined), show_range(one.lower, one.upper)
    if found.bounds_only:
        about = PHRASES["tile_bounds"].format(**words)
        return {"value": "", "interval": interval, "about": about}
    return {
        "value": value,
        "interval": interval,
        "about": PHRASES["tile_checked"].format(**words),
    }


def answers_in_words(evaluation: Evaluation) -> list[str]:
    """Say in sentences what checked rows told, before those about the labels alone.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    list of str
        Empty without an audit.
    """
    found = evaluation.audit
    if found is None:
        return []
    return [
        _about_checks(found),
        *_about_numbers(found),
        found.labels.text,
        "What follows is from the labels alone.",
    ]


def _between(low: float, high: float) -> str:
    return PHRASES["hidden_between"].format(low=show_count(low), high=show_count(high))


def _about_checks(found: AuditedEvaluation) -> str:
    missing = f"; {show_count(found.n_missing)} more have no answer" if found.n_missing else ""
    return f"{show_count(found.n_checked)} rows were checked by hand{missing}."


def _about_numbers(found: AuditedEvaluation) -> list[str]:
    """Name the figures that matter most, and the hidden positives, as the audit has them."""
    parts = []
    for key, (_, _, as_share) in TITLE_FIGURES.items():
        if key not in found.metrics:
            continue
        one, label = found[key], metric_spec(key, "report").label
        if found.bounds_only:
            shown = (show_share_range if as_share else show_range)(one.lower, one.upper)
        elif as_share:
            ends = show_share_range(one.lower, one.upper)
            shown = f"{show_share(one.combined)} ({ends})"
        else:
            shown = f"{show_number(one.combined)} ({show_range(one.lower, one.upper)})"
        parts.append(f"{label if label.isupper() else label.lower()} {shown}")
    hidden = found.hidden
    ends = f"{show_count(hidden.lower)} to {show_count(hidden.upper)}"
    if found.bounds_only:
        return [f"Whatever the labels are: {', '.join(parts)}, hidden positives {ends}."]
    parts.append(f"hidden positives {show_count(hidden.combined)} ({ends})")
    return [f"Whatever the labels are: {', '.join(parts)}."]


def _about_labels(labels: LabelsVerdict, confidence: float) -> dict[str, Any]:
    """Put the verdict on the labels into words, and how strongly they favor some scores."""
    odds = ""
    if not math.isnan(labels.odds):
        low, high = (show_digits(end, 2) for end in (labels.odds_lower, labels.odds_upper))
        ends = f"{low} to {high}" if math.isfinite(labels.odds_upper) else f"{low} or more"
        odds = (
            f"A positive with a high score has {show_digits(labels.odds, 2)} times the odds of a "
            f"label that one with a low score has ({show_percent(confidence)} interval {ends}, "
            f"{say_p(labels.p_value)}). Were labels a random sample, it would be 1."
        )
    advice = ""
    if LABEL_LEVELS[labels.code] == "red":
        advice = PHRASES["go_by_audit"]
    elif labels.code == "cannot-tell":
        advice = PHRASES["check_more"]
    return {
        "code": labels.code,
        "level": LABEL_LEVELS[labels.code],
        "text": labels.text,
        "odds": odds,
        "advice": advice,
    }


def _rows(evaluation: Evaluation, found: AuditedEvaluation) -> list[dict[str, Any]]:
    rows = []
    for one in (found.alpha, *found.metrics.values()):
        spec = None if one.key == "alpha" else metric_spec(one.key, "report")
        if spec is None:
            low, high = evaluation.prior.range
        elif one.key in evaluation.metrics:
            low, high = evaluation[one.key].lower, evaluation[one.key].upper
        else:
            low = high = math.nan
        rows.append(
            vars(one)
            | {
                "label": "Alpha" if spec is None else spec.label,
                "labels_lower": low,
                "labels_upper": high,
                # Shares, which fit one axis.
                "drawn": spec is None or (spec.high == 1 and spec.higher_is_better),
            }
        )
    return rows


def cases_of(evaluation: Evaluation) -> int:
    """Return out of how many cases to count: a thousand, or more where positives are rare.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    int
        The smallest of 1,000, 10,000 and so on that ten positives are among.
    """
    cases = FEWEST_CASES
    while 0 < cases * evaluation.pi < POSITIVE_CASES and cases < MOST_CASES:
        cases *= 10
    return cases


def _cases(found: AuditedEvaluation, cases: int) -> dict[str, float] | None:
    """Split so many cases as the audit has them."""
    if found.bounds_only:
        return None
    recall, specificity = (found[key].audited for key in ("recall", "specificity"))
    positives = cases * found.roc.pi
    return {
        "tp": positives * recall,
        "fn": positives * (1 - recall),
        "fp": (cases - positives) * (1 - specificity),
        "tn": (cases - positives) * specificity,
    }
