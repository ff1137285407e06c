"""Alarms in words."""

from __future__ import annotations

import math

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.text import show_number, show_share
from recoup.monitoring.alarms import Alarm, Watch
from recoup.monitoring.counts import PeriodCounts
from recoup.monitoring.drift import Cause
from recoup.monitoring.estimating import PeriodValues
from recoup.monitoring.rows import TimedRows

LARGEST_SHOWN = 1e6


def alarms_in_words(
    found: Watch, counts: PeriodCounts, values: dict[str, PeriodValues], rows: TimedRows
) -> tuple[Alarm, ...]:
    """Turn causes that are loud enough into alarms.

    Parameters
    ----------
    found : Watch
        How much speaks for each cause.
    counts : PeriodCounts
        Rows by period and bin.
    values : dict of str to PeriodValues
        Metrics of the periods.
    rows : TimedRows
        Names of the periods.

    Returns
    -------
    tuple of Alarm
    """
    alarms = []
    for cause in found.causes:
        start = found.since[cause]
        since = rows.names[start]
        text = (
            f"Since the {rows.calendar.word} {since}: {_what(cause, start, counts, values)} Such "
            f"rows are {_times(found.log_evidence[cause])} times likelier after such a change than "
            f"without one ({_times(found.needed[cause])} make an alarm)."
        )
        evidence = found.log_evidence[cause]
        alarms.append(Alarm(cause, start, since, evidence, found.needed[cause], text))
    return tuple(alarms)


def _what(cause: Cause, start: int, counts: PeriodCounts, values: dict[str, PeriodValues]) -> str:
    before, after = slice(0, start), slice(start, None)
    if cause == "recall":
        old, new = (
            _ratio(counts.labeled[part][:, counts.above], counts.labeled[part])
            for part in (before, after)
        )
        return (
            f"the model finds a smaller share of the positives. Of the labels before, "
            f"{show_share(old)} were flagged, of those since {show_share(new)}. Whatever their "
            f"number, new positives score lower."
        )
    if cause == "share":
        old, new = (
            float(np.average(_filled(values["pi"].value[part]), weights=counts.n_rows[part]))
            for part in (before, after)
        )
        return (
            f"there are more positives, {show_share(new)} of the rows instead of "
            f"{show_share(old)}. More rows score as positives do, and labels come in as many as "
            f"that lets expect."
        )
    old, new = (
        _ratio(counts.rows[part][:, counts.above], counts.rows[part]) for part in (before, after)
    )
    return (
        f"other rows come in. Scores of rows that are not positive have changed; flagged are "
        f"{show_share(new)} of all rows instead of {show_share(old)}, and labels do not say that "
        f"there are more positives."
    )


def _filled(values: FloatArray) -> FloatArray:
    return np.nan_to_num(values)


def _ratio(part: FloatArray, whole: FloatArray) -> float:
    return float(part.sum() / max(whole.sum(), 1))


def _times(log_evidence: float) -> str:
    if log_evidence > math.log(LARGEST_SHOWN):
        return "more than a million"
    return show_number(math.exp(log_evidence), ",.0f")
