"""The label frequency, once for all periods: given, by an audit, or by rows whose labels are in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from recoup._core.alpha import Interval
from recoup._core.constraints import Number
from recoup._core.notes import Note
from recoup._core.text import show_range
from recoup.exceptions import InvalidInputError
from recoup.monitoring.counts import bin_edges
from recoup.monitoring.delays import MATURE, DelayDistribution
from recoup.monitoring.rows import CALLER, TimedRows

Source: TypeAlias = Literal["given", "audit", "mature rows"]

SHARE = Number(
    above=0,
    most=1,
    why="it is the share of positives that ever get a label",
    hint="Pass a share such as 0.6, or two for an interval.",
)
# From fewer labels, alpha is a guess.
FEWEST_LABELS = 50
# Younger periods have too few of their labels to say how many positives they have.
YOUNGEST = 0.2


@dataclass(frozen=True)
class LabeledShare:
    """Share of the positives that ever get a label, and how it is known.

    Attributes
    ----------
    value : float
        The label frequency.
    lower, upper : float
        Its interval; equal to the value where it was given as one number.
    log_error : float
        Standard error of its logarithm.
    source : {"given", "audit", "mature rows"}
        Where it comes from.
    notes : tuple of Note
        Reasons to doubt it.
    """

    value: float
    lower: float
    upper: float
    log_error: float
    source: Source
    notes: tuple[Note, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and the source as plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        names = ("value", "lower", "upper", "log_error", "source")
        return {name: getattr(self, name) for name in names}


def given_share(given: Any, confidence: float) -> LabeledShare:
    """Take a number, or the two ends of an interval.

    Parameters
    ----------
    given : float, Interval or sequence of two floats
        What the user knows.
    confidence : float
        Level of the interval.

    Returns
    -------
    LabeledShare
    """
    if isinstance(given, Interval):
        given = (given.low, given.high)
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        for end in given:
            SHARE.check(end, "label_frequency", CALLER)
        low, high = sorted(float(end) for end in given)
        return _with_ends(math.sqrt(low * high), low, high, confidence, "given")
    SHARE.check(given, "label_frequency", CALLER)
    return LabeledShare(float(given), float(given), float(given), 0.0, "given")


def _with_ends(
    value: float,
    low: float,
    high: float,
    confidence: float,
    source: Source,
    notes: tuple[Note, ...] = (),
) -> LabeledShare:
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    return LabeledShare(value, low, high, math.log(high / low) / (2 * z), source, notes)


def audited_share(
    audit: Any, rows: TimedRows, delays: DelayDistribution, confidence: float, seed: int
) -> LabeledShare:
    """Estimate it from rows that somebody checked.

    Parameters
    ----------
    audit : Audit
        The checked rows; positions are those of the frame.
    rows : TimedRows
        The rows that have happened: all rows of the frame.
    delays : DelayDistribution
        How long labels take.
    confidence : float
        Level of the interval.
    seed : int
        Seed of everything random.

    Returns
    -------
    LabeledShare
    """
    if not rows.present.all():
        raise InvalidInputError(
            f"monitor needs an audit of the rows that have happened by now: checked rows are known "
            f"by their positions. Got {np.count_nonzero(~rows.present):,} rows after {rows.now}. "
            f"Pass a later now, or a frame without them."
        )
    s = rows.labeled.astype(int)
    found = audit.prior_estimate(
        s, rows.scores, confidence=confidence, random_state=seed, caller=CALLER
    )
    ever = labels_ever(rows, delays)
    return _by_alpha(found, ever, int(s.sum()), int(len(s) - s.sum()), confidence, "audit")


def mature_share(
    rows: TimedRows, delays: DelayDistribution, confidence: float, seed: int
) -> LabeledShare:
    """Estimate it from rows whose labels are in, by an estimate of alpha among them.

    Parameters
    ----------
    rows : TimedRows
        The rows that have happened.
    delays : DelayDistribution
        How long labels take.
    confidence : float
        Level of the interval.
    seed : int
        Seed of everything random.

    Returns
    -------
    LabeledShare
    """
    from recoup.priors import estimate

    arrived = delays.share_by(rows.age) if len(delays.ages) else np.ones(len(rows.age))
    used = rows.observable & (arrived >= MATURE)
    s = rows.labeled[used].astype(int)
    n_labeled, n_unlabeled = int(s.sum()), int(len(s) - s.sum())
    if n_labeled < FEWEST_LABELS or n_unlabeled < FEWEST_LABELS:
        raise InvalidInputError(
            f"monitor needs the share of positives that ever get a label, and can estimate it only "
            f"from {FEWEST_LABELS} labels of rows so old that {MATURE:.0%} of their labels are in. "
            f"Got {n_labeled:,}. Pass label_frequency, a share or an interval, or audit, some rows "
            f"that were checked."
        )
    found = estimate(s, rows.scores[used], random_state=seed, confidence=confidence)
    ever = float(np.sum(1 / arrived[used][s == 1]))
    share = _by_alpha(found, ever, n_labeled, n_unlabeled, confidence, "mature rows")
    note = Note(
        "label-frequency-estimated",
        f"The share of positives that ever get a label, {show_range(share.lower, share.upper)}, "
        f"was estimated from scores and labels of old rows, as if labels were a random sample. "
        f"Every share of positives and every precision moves with it. Checked rows (audit) or a "
        f"share from elsewhere (label_frequency) would settle it.",
    )
    return LabeledShare(
        share.value, share.lower, share.upper, share.log_error, share.source, (note,)
    )


def _by_alpha(
    found: Any, ever: float, n_labeled: int, n_unlabeled: int, confidence: float, source: Source
) -> LabeledShare:
    """Turn alpha and its interval into the share of positives with a label, now or later."""
    ends = found.interval or (found.alpha, found.alpha)
    low, value, high = (
        min(ever / (n_labeled + alpha * n_unlabeled), 1.0)
        for alpha in (ends[1], found.alpha, ends[0])
    )
    if value <= 0:
        raise InvalidInputError(
            f"monitor needs labels to estimate the label frequency. Got {n_labeled:,}. Pass "
            f"label_frequency."
        )
    return _with_ends(value, low, high, confidence, source)


def labels_ever(rows: TimedRows, delays: DelayDistribution) -> float:
    """Estimate how many labels there would be if all had come, and all rows could get one."""
    arrived = delays.share_by(rows.age) if len(delays.ages) else np.ones(len(rows.age))
    old = arrived >= YOUNGEST
    if not old.any():
        raise InvalidInputError(
            f"monitor needs rows that are old enough to have labels: by the delays, less than "
            f"{YOUNGEST:.0%} of the labels have come even of the oldest of {len(old):,} rows. Pass "
            f"label_frequency, or wait."
        )
    # Of rows with like scores, those that could get a label stand for the others.
    open_rows = rows.observable | rows.labeled
    middle = float(np.median(rows.scores))
    edges = bin_edges(rows.scores, rows.labeled, middle, open_rows)
    place = np.searchsorted(edges, rows.scores, side="right")
    n_rows = np.bincount(place, minlength=len(edges) + 1)
    seen = np.bincount(place, open_rows, minlength=len(edges) + 1)
    stands_for = n_rows / np.maximum(seen, 1)
    used = rows.labeled & old
    labels = float(np.sum(stands_for[place[used]] / arrived[used]))
    return labels * len(old) / float(old.sum())
