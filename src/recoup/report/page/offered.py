"""Before an audit: what checking rows by hand would tell, for how many rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from recoup._core.text import show_digits, show_range, show_share_range
from recoup.evaluation import Evaluation
from recoup.evaluation.next_step import CHECKS, can_plan_audit, plan_call
from recoup.metrics.spec import metric_spec
from recoup.report.page.phrases import TITLE_FIGURES

# Other numbers of rows beside the one that is proposed.
CHOICES = (50, CHECKS, 200, 400)
# The picture: from and to so many rows, at so many places.
LEAST_SHOWN, MOST_SHOWN, N_PLACES = 25, 800, 12
# Odds of a label between the highest and the lowest scoring positive, as plans look at.
FAVOR = 5.0
# Half of an interval in points of a hundred that leaves a share as open as it was.
NOTHING_LEARNED = 50.0
PLUS_MINUS = "\N{PLUS-MINUS SIGN}"


def offer_of(evaluation: Evaluation) -> dict[str, Any] | None:
    """Say what checking rows would tell.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    dict or None
        ``checks``, the number of rows that is proposed; ``sentences``; ``figures``, the metrics
        with ``label`` and ``now``; ``choices``, for several numbers of rows the half-widths to
        expect; ``curve``, the same for a picture, in points of a hundred; ``call`` and
        ``threshold``, what chooses the rows. None where no audit can be planned: with
        propensities, with weights, with a single score, and where hardly a row is unlabeled.
    """
    most = int(evaluation.n_unlabeled)
    if not can_plan_audit(evaluation):
        return None
    checks = min(CHECKS, most)
    choices = sorted({min(n, most) for n in CHOICES})
    top = min(MOST_SHOWN, most)
    places = np.geomspace(min(LEAST_SHOWN, top / 2), top, N_PLACES).round().astype(int)
    rows = _points_at(evaluation, choices)
    proposed = {
        key: values[choices.index(checks)]
        for key, values in rows["random"].items()
        # Where nothing is flagged, or all scores are alike, no answer moves a metric.
        if np.isfinite(values).all() and max(values) > 0
    }
    if not proposed:
        return None
    curve = _points_at(evaluation, np.unique(places).tolist())
    figures = [_figure(evaluation, key) for key in proposed]
    return {
        "checks": checks,
        "sentences": _sentences(evaluation, checks, proposed),
        "figures": figures,
        "choices": [
            {
                "checks": n,
                "half": [_shown(key, rows["random"][key][i]) for key in proposed],
                "at_most": [_shown(key, rows["biased"][key][i]) for key in proposed],
            }
            for i, n in enumerate(choices)
        ],
        "curve": curve,
        "threshold": evaluation.threshold,
        "call": plan_call(evaluation, checks),
    }


def _points_at(evaluation: Evaluation, numbers: Sequence[int]) -> dict[str, Any]:
    """Half-widths in points of a hundred, if labels are random and the worst if they favor."""
    from recoup.audit.planning import expected_half_widths

    # Known negatives are no rows to check.
    table = evaluation.given.counts if evaluation.n_negative else evaluation.table
    found: dict[str, Any] = {"checks": list(numbers), "random": {}, "biased": {}}
    for key in TITLE_FIGURES:
        found["random"][key], found["biased"][key] = [], []
    for number in numbers:
        cases = [
            expected_half_widths(
                table,
                alpha=evaluation.alpha,
                threshold=evaluation.threshold,
                scheme=evaluation.scheme,
                budget=int(number),
                metrics=tuple(TITLE_FIGURES),
                confidence=evaluation.confidence,
                odds=odds,
            )
            for odds in (1.0, FAVOR, 1 / FAVOR)
        ]
        for key in TITLE_FIGURES:
            found["random"][key].append(_points(cases[0][key]))
            found["biased"][key].append(max(_points(case[key]) for case in cases))
    return found


def _points(half: float) -> float:
    """Turn half of an interval into points of a hundred, no more than all of them."""
    return half if math.isnan(half) else min(100 * half, NOTHING_LEARNED)


def _figure(evaluation: Evaluation, key: str) -> dict[str, str]:
    item, as_share = evaluation[key], TITLE_FIGURES[key][2]
    write = show_share_range if as_share else show_range
    label = metric_spec(key, "report").label
    return {"key": key, "label": label, "now": write(item.possible_lower, item.possible_upper)}


def _shown(key: str, points: float) -> str:
    """Write half of an interval as the tile of the metric writes its value."""
    if points >= NOTHING_LEARNED:
        return f"over {_shown(key, NOTHING_LEARNED - 1e-9)}"
    if not TITLE_FIGURES[key][2]:
        return f"{PLUS_MINUS}{show_digits(points / 100, 2)}"
    return f"{PLUS_MINUS}{show_digits(points, 2)}"


def _sentences(evaluation: Evaluation, checks: int, half: dict[str, float]) -> list[str]:
    parts: list[str] = []
    for key, points in half.items():
        as_share = TITLE_FIGURES[key][2]
        item, label = evaluation[key], metric_spec(key, "report").label
        now = 100 * (item.possible_upper - item.possible_lower) / 2
        if not points < now:
            continue
        label = label if label.isupper() else label.lower()
        write = show_share_range if as_share else show_range
        ends = write(item.possible_lower, item.possible_upper)
        unit = " points" if as_share else ""
        goes = "" if parts else " goes"
        parts.append(f"{label}{goes} from {ends} to {_shown(key, points)}{unit}")
    first = f"Check {checks} unlabeled rows by hand"
    if parts:
        first += f": {', '.join(parts)}."
    else:
        first += (
            ", and every number gets an interval that holds whatever the labels are, though none "
            "that is narrower than now."
        )
    return [
        first,
        "All numbers on this page rest on something that cannot be seen in them: that the labeled "
        "rows are a random sample of the positives. Checked rows tell whether they are, and give "
        "every number an interval that holds even if they are not.",
    ]
