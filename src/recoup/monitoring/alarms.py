"""Alarms that may be looked at as often as one likes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from recoup._core.checks import FloatArray
from recoup.monitoring.counts import PeriodCounts
from recoup.monitoring.drift import Cause, Reference, evidence_of_change
from recoup.monitoring.smoothing import Known

# A change is looked for in so many periods, and compared with all before them.
WINDOW = 13
FEWEST_BEFORE, FEWEST_LABELS = 8, 50
# How the chance of a false alarm is shared out: a model that sees less is what matters most.
PARTS: dict[Cause, float] = {"recall": 0.5, "share": 0.25, "traffic": 0.25}
TITLES: dict[Cause, str] = {
    "recall": "The model finds a smaller share of the positives",
    "share": "There are more positives",
    "traffic": "Other rows come in",
}


@dataclass(frozen=True)
class Alarm:
    """A change that chance does not explain.

    Attributes
    ----------
    cause : {"recall", "share", "traffic"}
        What fits best: positives that the model sees less well, more positives, or negatives with
        other scores.
    period : int
        Number of the period that it most likely began with.
    since : str
        How this period is called.
    log_evidence : float
        Logarithm of the e-value: how many times better a change explains the rows than none.
    needed : float
        From where on it is an alarm.
    text : str
        What a person reads.
    """

    cause: Cause
    period: int
    since: str
    log_evidence: float
    needed: float
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Watch:
    """How much speaks for each cause, now.

    Attributes
    ----------
    log_evidence : dict of str to float
        Logarithm of the e-value of each cause; empty where there is nothing to compare with.
    since : dict of str to int
        Period that each most likely began with.
    needed : dict of str to float
        From where on each is an alarm.
    fit : dict of str to float
        Logarithm of the largest likelihood ratio of each cause, whatever periods vary by
        themselves.
    """

    log_evidence: dict[Cause, float]
    since: dict[Cause, int]
    needed: dict[Cause, float]
    fit: dict[Cause, float]

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Causes of alarms, the one that explains most first.

        A change of one kind moves what is looked at for others, so that of more positives and
        other rows only the one that fits better can be one. A model that finds fewer is apart from
        them: labels alone tell it.
        """
        rows = sorted((cause for cause in self.fit if cause != "recall"), key=self.fit.__getitem__)
        possible = {"recall", *rows[-1:]}
        loud = [cause for cause, value in self.log_evidence.items() if value >= self.needed[cause]]
        ordered = sorted(loud, key=lambda cause: -self.log_evidence[cause])
        return tuple(cause for cause in ordered if cause in possible)


def watch(counts: PeriodCounts, known: Known, periods_in_year: float, false_alarms: float) -> Watch:
    r"""Weigh the evidence for changes in the latest periods.

    For each period in which a change may have begun, and each change that is looked for, the
    likelihood ratio of all rows since is an e-value: without a change its mean is at most 1,
    however often one looks. Their sum over beginnings, averaged over changes, passes ``T / q``
    within ``T`` periods with a chance of at most ``q`` (Ville's inequality for the
    Shiryaev-Roberts sum). The likelihood ratios are raised to a power below 1 where periods of the
    reference vary by more than chance, and for what is not known of the reference.

    Parameters
    ----------
    counts : PeriodCounts
        Rows by period and bin.
    known : Known
        Label frequency and delays.
    periods_in_year : float
        How many periods a year has.
    false_alarms : float
        Chance of an alarm within a year if nothing changes.

    Returns
    -------
    Watch
    """
    needed = {
        cause: math.log(periods_in_year / (part * false_alarms)) for cause, part in PARTS.items()
    }
    first = counts.n_periods - WINDOW
    before = slice(0, max(first, 0))
    labels = counts.n_labeled[before].sum()
    if np.count_nonzero(counts.n_rows[before]) < FEWEST_BEFORE or labels < FEWEST_LABELS:
        return Watch({}, {}, needed, {})
    reference = Reference.of(counts, known, before)
    log_evidence, since, fit = {}, {}, {}
    for found in evidence_of_change(counts, known, reference, before):
        sums = _sums_since(found.ratios[:, first:])
        by_start = logsumexp(sums, axis=0) - math.log(len(sums))
        log_evidence[found.cause] = float(logsumexp(by_start))
        since[found.cause] = first + int(np.argmax(by_start))
        fit[found.cause] = float(_sums_since(found.raw[:, first:]).max())
    return Watch(log_evidence, since, needed, fit)


def _sums_since(ratios: FloatArray) -> FloatArray:
    """Sum the ratios of each change from each period on to the last."""
    sums: FloatArray = np.cumsum(ratios[:, ::-1], axis=1)[:, ::-1]
    return sums
