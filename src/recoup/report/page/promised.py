"""A promise as a card of the report: the threshold to work with, or why there is none."""

from __future__ import annotations

from typing import Any

from recoup._core.text import show_number, show_percent, show_range
from recoup.evaluation.promises import Promise


def promise_card(promise: Promise) -> dict[str, Any]:
    """Return what the page says of a promise.

    Parameters
    ----------
    promise : Promise
        What :meth:`recoup.evaluation.Evaluation.certify` returned.

    Returns
    -------
    dict
        ``kept``, ``code``, ``heading``, ``sentence``, ``interval`` (heading of the limits),
        ``rows`` (metrics at the threshold as texts) and ``notes``.
    """
    return {
        "kept": bool(promise),
        "code": promise.code,
        "heading": "A threshold that keeps the promise" if promise else "No threshold to promise",
        "sentence": promise.sentence(),
        "interval": f"{show_percent(promise.confidence)} interval",
        "rows": [
            {
                "label": one.label,
                "value": show_number(one.value),
                "limits": show_range(one.lower, one.upper),
            }
            for one in promise.metrics
        ],
        "notes": [str(note) for note in promise.notes],
    }
