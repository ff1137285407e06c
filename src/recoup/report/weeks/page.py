"""Write what monitor() found as one page that needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import recoup
from recoup._core.files import write_file
from recoup._core.results import to_plain
from recoup._core.text import say_p, show_digits, show_share, show_share_range
from recoup.monitoring.alarms import TITLES
from recoup.monitoring.delays import QUANTILES, DelayDistribution
from recoup.monitoring.estimating import METRICS
from recoup.monitoring.results import Monitoring
from recoup.report.page.payload import as_island
from recoup.report.page.render import ROOM, environment, script_hash, shorten

SCRIPTS = ("shared/words.js", "shared/charts.js", "weeks/weeks.js")
# The number of a period whose labels are mostly there says more than that of the last one.
SETTLED = 0.5
CAPTIONS = {
    "precision": "Of the flagged rows, how many are positive.",
    "recall": "Of the positives, how many are flagged.",
    "pi": "Of all rows, how many are positive, whether they have a label or not.",
    "roc_auc": "How often a positive scores higher than a negative.",
}
ARRIVED = (
    "Labels that have come",
    "Of the labels that rows will get, how many are there by now. Bands above are wide where few "
    "are.",
)
SOURCES = {
    "given": "as was said",
    "audit": "by rows that were checked",
    "mature rows": "estimated from old rows, as if labels were a random sample",
}


def write_weeks(found: Monitoring, path: str | Path, title: str | None = None) -> Path:
    """Write the page of weeks.

    Parameters
    ----------
    found : Monitoring
        What :func:`recoup.monitor` returned.
    path : str or Path
        Where to. An existing file is replaced.
    title : str, optional
        Heading of the page.

    Returns
    -------
    Path
    """
    return write_file(path, weeks_page(found, title).encode("utf-8", "xmlcharrefreplace"))


def weeks_page(found: Monitoring, title: str | None = None) -> str:
    """Return the page as text; the same result gives the same page.

    Parameters
    ----------
    found : Monitoring
        What :func:`recoup.monitor` returned.
    title : str, optional
        Heading of the page.

    Returns
    -------
    str
    """
    scripts = {name: (ROOM / name).read_text("utf-8") for name in SCRIPTS}
    data = {
        "periods": [shorten(name) for name in found.periods],
        "every": found.every,
        "metrics": {
            key: {"title": METRICS[key]}
            | {end: to_plain(getattr(found[key], end)) for end in ("value", "lower", "upper")}
            for key in CAPTIONS
        },
        "arrived": to_plain(found.arrived),
        "marks": [
            {"place": alarm.period, "name": f"{TITLES[alarm.cause]} (since {alarm.since})"}
            for alarm in found.alarms
        ],
    }
    figures = [(key, METRICS[key], caption) for key, caption in CAPTIONS.items()]
    page: str = (
        environment()
        .get_template("weeks/weeks.html.j2")
        .render(
            title=title or f"{found.every.capitalize()} by {found.every}",
            found=found,
            figures=[*figures, ("arrived", *ARRIVED)],
            alarms=[(TITLES[alarm.cause], alarm.since, alarm.text) for alarm in found.alarms],
            headline=_headline(found),
            facts=_facts(found),
            rows=_rows(found),
            version=recoup.__version__,
            scripts=scripts,
            hashes=[script_hash(text) for text in scripts.values()],
            island=as_island(data),
        )
    )
    return page


def _headline(found: Monitoring) -> list[str]:
    """Say in sentences how good the latest period was of which labels say much."""
    settled = np.flatnonzero((found.arrived >= SETTLED) & (found.n_flagged > 0))
    place = int(settled[-1]) if len(settled) else int(np.argmax(found.n_flagged))
    name = found.periods[place]
    sentences = []
    for key, words in (
        ("recall", "the model flagged {} of the positives"),
        ("precision", "of the flagged rows {} were positive"),
    ):
        values = found[key]
        if np.isfinite(values.value[place]):
            shown = show_share(values.value[place])
            ends = show_share_range(values.lower[place], values.upper[place])
            sentences.append(words.format(f"{shown} ({ends})"))
    if not sentences:
        return []
    return [
        f"In the {found.every} {name}, {', and '.join(sentences)}.",
        f"It is the latest {found.every} of which at least half of the labels have come "
        f"({show_share(found.arrived[place])})."
        if len(settled)
        else f"Of no {found.every} have half of the labels come.",
    ]


def _facts(found: Monitoring) -> list[tuple[str, str]]:
    share = found.label_frequency
    ends = show_share_range(share.lower, share.upper)
    facts = [
        ("Known up to", found.now),
        ("Rows are flagged from a score of", show_digits(found.threshold, 4)),
        ("Positives that ever get a label", f"{show_share(share.value)}, {ends}"),
        ("This is known", SOURCES[share.source]),
    ]
    return facts + _delay_facts(found.delays)


def _delay_facts(delays: DelayDistribution) -> list[tuple[str, str]]:
    if not len(delays.ages):
        return [("Delays of labels", "not known; labels count as complete")]
    facts = [
        (f"{show_share(share)} of the labels come within", show_digits(delays.quantile(share)))
        for share in QUANTILES
    ]
    if np.isfinite(delays.score_p):
        facts.append(("Delays the same for all scores", say_p(delays.score_p)))
    if np.isfinite(delays.time_p):
        facts.append(("Delays the same at all times", say_p(delays.time_p)))
    return facts


def _rows(found: Monitoring) -> list[dict[str, Any]]:
    """Return the cells of the table, the latest period first."""
    rows = []
    for place in reversed(range(len(found.periods))):
        cells = {
            key: {
                "value": found[key].value[place],
                "lower": found[key].lower[place],
                "upper": found[key].upper[place],
            }
            for key in CAPTIONS
        }
        counts = {
            "rows": found.n_rows[place],
            "flagged": found.n_flagged[place],
            "labeled": found.n_labeled[place],
            "arrived": found.arrived[place],
        }
        began = [TITLES[alarm.cause] for alarm in found.alarms if alarm.period == place]
        rows.append({"name": found.periods[place], "cells": cells, "began": began} | counts)
    return rows
