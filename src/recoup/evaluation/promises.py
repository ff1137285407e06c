"""Promise: a threshold that keeps what was asked for, or why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from recoup._core.notes import Note
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import (
    say_p,
    show_count,
    show_digits,
    show_number,
    show_percent,
    show_range,
)

if TYPE_CHECKING:
    import pandas as pd

Basis: TypeAlias = Literal["labels", "propensity", "audit"]
PromiseCode: TypeAlias = Literal[
    "kept", "few-labels", "weak-model", "small-queue", "apart", "labels-biased"
]


@dataclass(frozen=True)
class Pledge:
    """One thing that was asked for, and how it stands at the threshold.

    Attributes
    ----------
    key : {"precision", "recall", "cost", "queue"}
        What was asked for.
    label : str
        The same for people.
    goal : float
        At least so much; at most, of a queue. Of a cost: that anything is saved against the
        cheaper of flagging no row and flagging all.
    value : float
        The recovered value, or the rows flagged; NaN without a threshold.
    p_value : float
        How often a promise that is just broken at this threshold would look as well kept; 0 for a
        queue, which is counted.
    reachable : float
        Without a threshold, what could be promised instead by these rows; NaN where nothing could,
        for a cost, and where other things stood in the way.
    """

    key: str
    label: str
    goal: float
    value: float = np.nan
    p_value: float = np.nan
    reachable: float = np.nan

    @property
    def asked(self) -> str:
        """What was asked for, as words."""
        if self.key == "queue":
            return f"at most {show_count(self.goal)} rows flagged"
        if self.key == "cost":
            return "less cost than without the model"
        return f"{self.label} of at least {show_digits(self.goal)}"


@dataclass(frozen=True)
class Achieved:
    """One metric at the threshold.

    Attributes
    ----------
    key : str
        Name of the metric in code.
    label : str
        Name of the metric for people.
    value : float
        The recovered value.
    lower : float
        Lower limit of its confidence interval.
    upper : float
        Upper limit of its confidence interval.
    """

    key: str
    label: str
    value: float
    lower: float
    upper: float


@dataclass(frozen=True, repr=False)
class Promise:
    """A threshold that keeps a promise, or the reason why there is none.

    Made by :meth:`Evaluation.certify`. ``bool(promise)`` says whether there is a threshold.

    Attributes
    ----------
    threshold : float or None
        Rows with a score at or above it are flagged; None if no threshold is shown to keep the
        promise.
    code : {"kept", "few-labels", "weak-model", "small-queue", "apart", "labels-biased"}
        Whether there is a threshold, or why not: the rows do not show it, though the recovered
        values would do; no recovered value would do; only more rows than the queue holds would do;
        each demand can be met, but not all at one threshold; labels are no random sample of the
        positives, and no rows were checked.
    rests_on : {"labels", "propensity", "audit"}
        What the promise is about to fail with: labels that are a random sample of the positives,
        propensities that are right, or the draw of the rows that were checked.
    pledges : tuple of Pledge
        What was asked for.
    metrics : tuple of Achieved
        Precision, recall and what else was asked for, at the threshold.
    queue : float
        Rows that are flagged; NaN without a threshold.
    confidence : float
        Chance that the threshold keeps the promise, at least.
    candidate : float or None
        Without a threshold, the one that would do if the recovered values were the true ones: the
        place to check rows at (:attr:`audit_arguments`).
    notes : tuple of Note
        What the promise rests on, and what would help.
    """

    threshold: float | None
    code: PromiseCode
    rests_on: Basis
    pledges: tuple[Pledge, ...]
    metrics: tuple[Achieved, ...]
    queue: float
    confidence: float
    candidate: float | None
    notes: tuple[Note, ...]

    def __bool__(self) -> bool:
        """Say whether there is a threshold that keeps the promise."""
        return self.threshold is not None

    def __getitem__(self, key: str) -> Achieved:
        """Look a metric at the threshold up by its key."""
        for one in self.metrics:
            if one.key == key:
                return one
        known = ", ".join(one.key for one in self.metrics) or "none, for want of a threshold"
        raise KeyError(f"Promise has no {key!r}. It has {known}.")

    @property
    def asked(self) -> str:
        """What was asked for, as words."""
        return ", ".join(one.asked for one in self.pledges)

    @property
    def audit_arguments(self) -> dict[str, Any]:
        """Arguments of :func:`recoup.audit.plan` for rows that would tell most of the promise.

        Precision hangs on the rows at and above the threshold alone, recall on all.
        """
        at = self.candidate if self.threshold is None else self.threshold
        keys = [one.key for one in self.pledges if one.key in ("precision", "recall")]
        arguments: dict[str, Any] = {"metrics": tuple(keys or ("precision", "recall"))}
        return arguments if at is None else {"threshold": at} | arguments

    def __repr__(self) -> str:
        """Show what was asked for, and the threshold."""
        asked = ", ".join(
            one.key if one.key == "cost" else f"{one.key}={one.goal:g}" for one in self.pledges
        )
        if self.threshold is None:
            return f"Promise({asked}: no threshold, {self.code})"
        return (
            f"Promise({asked}: threshold={self.threshold:.4g}, queue={self.queue:,.0f}, "
            f"confidence={self.confidence:g}, rests_on={self.rests_on!r})"
        )

    def __str__(self) -> str:
        """Say it in a sentence."""
        return self.sentence()

    def sentence(self) -> str:
        """Say for people what is promised, or why nothing is.

        Returns
        -------
        str
            One line.
        """
        level = show_percent(self.confidence)
        if self.threshold is None:
            return f"No threshold: {self.asked} cannot be promised at {level}. {_why(self)}"
        parts = [
            f"{one.label} {show_number(one.value)} ({show_range(one.lower, one.upper)})"
            for one in self.metrics
        ]
        flags = (
            f"Threshold {show_digits(self.threshold, 4)} flags {show_count(self.queue)} rows and "
            f"keeps the promise ({self.asked})"
        )
        # A queue is counted: no chance goes with it.
        tested = any(one.key != "queue" for one in self.pledges)
        chance = f" with a chance of at least {level}" if tested else ""
        return f"{flags}{chance}. {', '.join(parts)}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric at the threshold.

        Returns
        -------
        pandas.DataFrame
            With columns metric, value, lower and upper.
        """
        return make_frame(
            {
                "metric": [one.key for one in self.metrics],
                "value": [one.value for one in self.metrics],
                "lower": [one.lower for one in self.metrics],
                "upper": [one.upper for one in self.metrics],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        Returns
        -------
        dict
            By name of the attribute, with the sentence.
        """
        plain: dict[str, Any] = to_plain(asdict(self) | {"sentence": self.sentence()})
        plain["notes"] = [note.to_dict() for note in self.notes]
        return plain

    def _repr_html_(self) -> str:
        columns = {
            "asked for": [one.asked for one in self.pledges],
            "recovered": [_shown(one) for one in self.pledges],
            "p": ["counted" if one.key == "queue" else _p_of(one) for one in self.pledges],
        }
        return html_table(columns, self.sentence(), self.notes)


def _shown(pledge: Pledge) -> str:
    return show_count(pledge.value) if pledge.key == "queue" else show_number(pledge.value)


def _p_of(pledge: Pledge) -> str:
    return show_number(np.nan) if np.isnan(pledge.p_value) else say_p(pledge.p_value)


def _why(promise: Promise) -> str:
    if promise.code == "labels-biased":
        return "Labels are no random sample of the positives, and no rows were checked."
    if promise.code == "weak-model":
        return "No threshold of this model is recovered to reach it."
    if promise.code == "small-queue":
        return "Only thresholds that flag more rows are shown to keep it."
    if promise.code == "apart":
        return "Each demand can be met, but not all at one threshold."
    known = [one for one in promise.pledges if np.isfinite(one.reachable)]
    instead = " and ".join(f"{one.label} of about {show_digits(one.reachable)}" for one in known)
    return "The rows do not show it, though recovered values would do." + (
        f" They could show {instead}." if instead else ""
    )
