"""monitor: how good a classifier was, week by week, while labels are still coming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Number
from recoup._core.notes import Note
from recoup._core.progress import progress_bar
from recoup._core.random import RandomState, as_seed
from recoup._core.text import say_p, show_share
from recoup.exceptions import InvalidInputError
from recoup.metrics.default_cut import default_cut
from recoup.metrics.rates import Mixture, unmix
from recoup.monitoring.alarms import WINDOW, watch
from recoup.monitoring.counts import PeriodCounts
from recoup.monitoring.delays import (
    NO_DELAY,
    DelayDistribution,
    delay_distribution,
    mean_shares,
)
from recoup.monitoring.estimating import period_values
from recoup.monitoring.labeled_share import (
    LabeledShare,
    audited_share,
    given_share,
    labels_ever,
    mature_share,
)
from recoup.monitoring.results import Monitoring
from recoup.monitoring.rows import CALLER, TimeColumns, TimedRows, read_rows
from recoup.monitoring.smoothing import Known, Smoothed, smooth
from recoup.monitoring.wording import alarms_in_words
from recoup.scores.table import ScoreTable

LEVEL = Number(above=0, below=1)
# Tests of delays are made with every run, so that they should rarely be wrong.
SIGNIFICANT = 0.001
# Rarer negatives than this among the rows of a bin say nothing about their order.
SMALLEST_GAP = 0.2


def monitor(
    frame: Any,
    score: str,
    label: str,
    time: str,
    *,
    labeled_at: str | None = None,
    every: str | float = "W",
    threshold: float | None = None,
    label_frequency: Any = None,
    audit: Any = None,
    observable: str | None = None,
    now: Any = None,
    positive: str | Sequence[str] | None = None,
    negative: str | Sequence[str] | None = None,
    confidence: float = 0.95,
    false_alarms: float = 0.05,
    random_state: RandomState = 0,
) -> Monitoring:
    r"""Estimate precision, recall, AUC and the share of positives of every week.

    Labels come late: of the positives of a week of age a, a share :math:`c\,F(a)` has a label by
    now. How long labels take, F, follows from those that have come, and the label frequency c is
    the same for all weeks. Then

    .. math:: \pi_w = \frac{n_{l,w}}{n_w\, c\, F(a_w)},

    which is smoothed over the weeks, together with the scores of both classes: unlabeled rows tell
    much of a week whose labels have not come. What has changed is told apart by the rows since:
    labeled rows that score lower mean a model that sees less, more rows with scores of positives
    mean more of these, and others other traffic.

    Parameters
    ----------
    frame : data frame, str or Path
        Anything that narwhals understands (pandas, Polars, PyArrow, DuckDB, PySpark, Dask), or a
        CSV, Parquet or JSON lines file, or a pattern of several.
    score : str
        Column of the scores; higher is more positive.
    label : str
        Column of the labels: 1 labeled positive, 0 unlabeled, or another coding that
        :func:`recoup.data.as_pu_labels` reads. Known negatives count as unlabeled.
    time : str
        Column of when each row happened: timestamps, dates, text that reads as such, or numbers.
        Where time zones are known, periods go by the clock on the spot.
    labeled_at : str, optional
        Column of when each label came, of the same kind as ``time``. Left out, labels count as
        complete. Labels that came after ``now`` count as not there yet.
    every : str or float, default="W"
        How long periods are: ``"D"``, ``"W"`` (from Monday), ``"M"``, ``"Q"``, or several, such as
        ``"2W"``. For times that are numbers, a number in the same unit.
    threshold : float, optional
        Rows with this score or more are flagged. By default 0.5 for probabilities of being
        positive, an even chance for those of having a label.
    label_frequency : float, (low, high) or Interval, optional
        Share of the positives that ever get a label, if it is known from elsewhere. By default it
        comes from ``audit``, or is estimated from rows that are so old that their labels are in.
    audit : Audit, optional
        Rows that somebody checked (:mod:`recoup.audit`), by their positions in the frame. They
        settle the label frequency.
    observable : str, optional
        Column that says of every row whether it could get a label at all: a payment that was
        blocked is never charged back. Rows with like scores that were let through stand for these.
    now : str, date, datetime or number, optional
        The moment up to which things are known; by default the latest one in the frame. An earlier
        one shows what would have been said then.
    positive : str or sequence of str, optional
        Values of labeled positives in the label column, where they do not speak for themselves.
    negative : str or sequence of str, optional
        Values of known negatives.
    confidence : float, default=0.95
        Level of the intervals.
    false_alarms : float, default=0.05
        Chance of an alarm within a year if nothing changes, however often one looks.
    random_state : int, Generator, RandomState or None, default=0
        Seed of an estimate of the label frequency; nothing else is random.

    Returns
    -------
    Monitoring

    Notes
    -----
    Labels have to be a random sample of the positives, and neither the score nor the week may
    change how likely a positive is to be labeled in the end. Delays are allowed to differ above and
    below the threshold: where a test finds that they depend on the score, either side has its own.

    Examples
    --------
    A year of payments, of which those that turn out to be fraud are charged back after weeks:

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> n = 60_000
    >>> day = np.sort(rng.uniform(0, 365, n))
    >>> fraud = rng.random(n) < 0.06
    >>> score = 1 / (1 + np.exp(2.5 - 2.2 * fraud - rng.normal(size=n)))
    >>> delay = rng.exponential(30, n)
    >>> told = fraud & (rng.random(n) < 0.6) & (day + delay <= 365)
    >>> start = pd.Timestamp("2026-01-05")
    >>> paid = start + pd.to_timedelta(day, "D")
    >>> payments = pd.DataFrame({
    ...     "p": score, "chargeback": told.astype(int), "paid_at": paid,
    ...     "reported_at": (paid + pd.to_timedelta(delay, "D")).where(told),
    ... })
    >>> found = monitor(payments, score="p", label="chargeback", time="paid_at",
    ...                 labeled_at="reported_at", label_frequency=(0.55, 0.65))
    >>> found.delays
    DelayDistribution(half of the labels by 21.7, 90% by 71.1, horizon 226, n=1,977)
    >>> f"{np.mean(score[fraud] >= 0.5):.2f}, estimated {np.mean(found['recall'].value):.2f}"
    '0.39, estimated 0.38'
    >>> found.alarms
    ()
    """
    for name, value in (("confidence", confidence), ("false_alarms", false_alarms)):
        LEVEL.check(value, name, CALLER)
    if label_frequency is not None and audit is not None:
        raise InvalidInputError(
            "monitor takes label_frequency or audit, not both: an audit estimates it. Drop one."
        )
    known_share = None if label_frequency is None else given_share(label_frequency, confidence)
    seed = as_seed(random_state, CALLER)
    columns = TimeColumns(score, label, time, labeled_at, observable)
    with progress_bar(None, "Going through the weeks"):
        rows = read_rows(frame, columns, every, now, _listed(positive), _listed(negative))
        _check_labels(rows, columns)
        return _monitored(
            rows, columns, known_share, audit, threshold, confidence, false_alarms, seed
        )


def _listed(values: str | Sequence[str] | None) -> Sequence[str] | None:
    return [values] if isinstance(values, str) else values


def _check_labels(rows: TimedRows, columns: TimeColumns) -> None:
    n_labeled = int(rows.labeled.sum())
    if n_labeled == 0 or n_labeled == len(rows.labeled):
        raise InvalidInputError(
            f"monitor needs labeled and unlabeled rows by {rows.now}. Got {n_labeled:,} labeled of "
            f"{len(rows.labeled):,}. Check the column {brief(columns.label)!r}, or pass a later "
            f"now."
        )


def _monitored(
    rows: TimedRows,
    columns: TimeColumns,
    share: LabeledShare | None,
    audit: Any,
    threshold: float | None,
    confidence: float,
    false_alarms: float,
    seed: int,
) -> Monitoring:
    notes = list(rows.notes)
    timed = rows.labeled & ~np.isnan(rows.delay)
    delays = NO_DELAY
    if columns.labeled_at is not None:
        delays = delay_distribution(rows.delay[timed], rows.age[timed], rows.scores[timed])
    if share is None and audit is not None:
        share = audited_share(audit, rows, delays, confidence, seed)
    elif share is None:
        share = mature_share(rows, delays, confidence, seed)
    notes += share.notes
    cut, about_cut = _threshold(rows, delays, share, threshold)
    notes += about_cut
    n_periods = len(rows.names)
    counts = PeriodCounts.of(
        rows.scores, rows.labeled, rows.observable, rows.period, n_periods, cut
    )
    notes += _never_observable(counts)
    arrived, variance = mean_shares(delays, rows.age, rows.period, n_periods)
    counts, about_delays = _by_side(counts, rows, delays, timed, cut, arrived)
    notes += about_delays
    known = Known(share.value, share.log_error, arrived, variance)
    smoothed = smooth(counts, known)
    values = period_values(smoothed, _within_bins(rows, smoothed), confidence)
    found = watch(counts, known, rows.calendar.in_year, false_alarms)
    if not found.log_evidence:
        notes.append(
            Note(
                "no-alarms",
                f"There are no alarms: the latest {WINDOW} {rows.calendar.word}s are compared with "
                f"those before, and these are too few, or have too few labels.",
            )
        )
    return Monitoring(
        periods=rows.names,
        n_rows=counts.n_rows,
        n_labeled=counts.n_labeled,
        n_flagged=counts.flagged,
        arrived=arrived,
        values=values,
        alarms=alarms_in_words(found, counts, values, rows),
        delays=delays,
        label_frequency=share,
        threshold=cut,
        now=rows.now,
        every=rows.calendar.word,
        confidence=confidence,
        false_alarms=false_alarms,
        evidence={str(cause): value for cause, value in found.log_evidence.items()},
        steps=smoothed.steps,
        notes=tuple(notes),
    )


def _threshold(
    rows: TimedRows, delays: DelayDistribution, share: LabeledShare, given: float | None
) -> tuple[float, list[Note]]:
    """Return the threshold that was given, or where scores that are probabilities are cut."""
    if given is not None:
        Number().check(given, "threshold", CALLER)
        return float(given), []
    s = rows.labeled.astype(int)
    table = ScoreTable.from_arrays(s, rows.scores)
    hidden = labels_ever(rows, delays) / share.value - s.sum()
    alpha = float(np.clip(hidden / (len(s) - s.sum()), 0.0, 0.99))
    cut, note = default_cut(table, Mixture.of(table, alpha, 1.0, "single-sample"))
    if cut is None:
        raise InvalidInputError(
            f"monitor needs a threshold: rows with this score or more are flagged. Scores from "
            f"{rows.scores.min():g} to {rows.scores.max():g} do not say where. Pass threshold."
        )
    return cut, [] if note is None else [note]


def _never_observable(counts: PeriodCounts) -> list[Note]:
    """Say above which score no row could get a label."""
    rows = counts.rows.sum(axis=0)
    seen = (counts.observable * counts.rows).sum(axis=0)
    closed = np.flatnonzero((seen == 0) & (rows > 0))
    if not len(closed):
        return []
    lowest = np.concatenate([[-np.inf], counts.edges])[closed[0]]
    share = show_share(float(rows[closed].sum() / rows.sum()))
    where = f"from {lowest:.4g} on" if np.isfinite(lowest) else f"below {counts.edges[0]:.4g}"
    return [
        Note(
            "never-observable",
            f"No row with a score {where} could get a label: {share} of all rows. What is said "
            f"of them is a guess from the others. Let a few through, chosen at random, to know.",
        )
    ]


def _by_side(
    counts: PeriodCounts,
    rows: TimedRows,
    delays: DelayDistribution,
    timed: Any,
    cut: float,
    arrived: FloatArray,
) -> tuple[PeriodCounts, list[Note]]:
    """Give either side of the threshold its own delays, if these depend on the score."""
    notes = []
    if delays.time_p < SIGNIFICANT:
        longer = "longer" if delays.time_trend > 0 else "shorter"
        notes.append(
            Note(
                "delays-by-time",
                f"Labels of late rows take {longer} than those of early ones "
                f"({say_p(delays.time_p)}). One distribution of delays stands for all, so that "
                f"the latest {rows.calendar.word}s may be off.",
            )
        )
    if not delays.score_p < SIGNIFICANT:
        return counts, notes
    longer = "longer" if delays.score_trend > 0 else "shorter"
    notes.append(
        Note(
            "delays-by-score",
            f"Labels of high scores take {longer} than those of low ones "
            f"({say_p(delays.score_p)}): delays were estimated apart above and below the "
            f"threshold.",
        )
    )
    relative = np.ones_like(counts.observable)
    for side in (True, False):
        chosen = timed & ((rows.scores >= cut) == side)
        if not chosen.any():
            continue
        own = delay_distribution(rows.delay[chosen], rows.age[chosen])
        shares, _ = mean_shares(own, rows.age, rows.period, counts.n_periods)
        relative[:, counts.above == side] = (shares / np.maximum(arrived, 1e-6))[:, None]
    return replace(counts, observable=counts.observable * relative), notes


def _within_bins(rows: TimedRows, smoothed: Smoothed) -> FloatArray:
    """Estimate how often a positive scores higher than a negative of the same bin, all periods."""
    counts, cells = smoothed.counts, smoothed.cells
    hidden = counts.n_rows[:, None] * cells.share * cells.positives * (1 - cells.chance)
    share = hidden.sum(axis=0) / np.maximum(cells.unlabeled.sum(axis=0), 1e-12)
    place = np.searchsorted(counts.edges, rows.scores, side="right")
    found = np.full(counts.n_bins, 0.5)
    for one in range(counts.n_bins):
        inside = place == one
        labeled = rows.scores[inside & rows.labeled]
        others = np.sort(rows.scores[inside & ~rows.labeled])
        if not len(labeled) or not len(others) or share[one] > 1 - SMALLEST_GAP:
            continue
        ends = [np.searchsorted(others, labeled, side=side).mean() for side in ("left", "right")]
        # Of labeled rows half score higher than positives, so that only the rest tells.
        observed = sum(ends) / (2 * len(others))
        found[one] = np.clip(unmix(0.5, observed, float(share[one]), 1.0)[1], 0.0, 1.0)
    return found
