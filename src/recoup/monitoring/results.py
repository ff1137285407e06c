"""What monitor() returns: numbers of every period, and alarms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray, brief, did_you_mean
from recoup._core.notes import Note
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_count, show_number, show_range, show_share
from recoup.exceptions import InvalidInputError
from recoup.monitoring.alarms import Alarm
from recoup.monitoring.delays import DelayDistribution
from recoup.monitoring.estimating import METRICS, PeriodValues
from recoup.monitoring.labeled_share import LabeledShare

if TYPE_CHECKING:
    import pandas as pd

    from recoup.plot.weeks import PeriodsDisplay


@dataclass(frozen=True)
class PeriodEstimate:
    """One metric of one period.

    Attributes
    ----------
    key : str
        Of the metric: ``"pi"``, ``"precision"``, ``"recall"`` or ``"roc_auc"``.
    period : str
        Name of the period.
    value, lower, upper : float
        The value and its interval; NaN where there is none.
    """

    key: str
    period: str
    value: float
    lower: float
    upper: float

    def __repr__(self) -> str:
        """Show it on one line."""
        return (
            f"PeriodEstimate({self.period} {self.key}: {show_number(self.value)} "
            f"[{show_number(self.lower)}, {show_number(self.upper)}])"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Monitoring:
    """How good a classifier was in each period, as far as can be known now.

    ``monitoring["precision"]`` has the values of all periods, ``monitoring.at(period)`` those of
    one.

    Attributes
    ----------
    periods : tuple of str
        Names of the periods, in the order of time: the first day, the month, or the first number.
    n_rows, n_labeled, n_flagged : ndarray of shape (n_periods,)
        Rows, rows with a label by now, and rows at or above the threshold.
    arrived : ndarray of shape (n_periods,)
        Share of the labels of each period that have come.
    values : dict of str to PeriodValues
        By key of the metric: ``value``, ``lower`` and ``upper`` of each period.
    alarms : tuple of Alarm
        Changes that chance does not explain.
    delays : DelayDistribution
        How long labels take.
    label_frequency : LabeledShare
        Share of the positives that ever get a label.
    threshold : float
        Rows with this score or more are flagged.
    now : str
        The moment up to which things are known.
    every : str
        What a period is called, such as week.
    confidence : float
        Level of the intervals.
    false_alarms : float
        Chance of an alarm within a year if nothing changes.
    evidence : dict of str to float
        Logarithm of the e-value of each cause of alarms; empty where there are too few periods.
    steps : dict of str to float
        How far the share of positives and the scores of both classes move from period to period,
        in standard deviations.
    notes : tuple of Note
        What to beware of.
    """

    periods: tuple[str, ...]
    n_rows: FloatArray
    n_labeled: FloatArray
    n_flagged: FloatArray
    arrived: FloatArray
    values: dict[str, PeriodValues]
    alarms: tuple[Alarm, ...]
    delays: DelayDistribution
    label_frequency: LabeledShare
    threshold: float
    now: str
    every: str
    confidence: float
    false_alarms: float
    evidence: dict[str, float]
    steps: dict[str, float]
    notes: tuple[Note, ...] = ()

    def __getitem__(self, key: str) -> PeriodValues:
        """Return one metric, all periods."""
        if key not in self.values:
            raise InvalidInputError(
                f"Monitoring has the metrics {', '.join(self.values)}. Got {brief(key)!r}."
                f"{did_you_mean(str(key), self.values)}"
            )
        return self.values[key]

    def __iter__(self) -> Iterator[str]:
        """Go through the keys of the metrics."""
        return iter(self.values)

    def __len__(self) -> int:
        """Return the number of metrics."""
        return len(self.values)

    def at(self, period: str) -> dict[str, PeriodEstimate]:
        """Return all metrics of one period.

        Parameters
        ----------
        period : str
            Its name, one of ``periods``; ``"last"`` for the last one.

        Returns
        -------
        dict of str to PeriodEstimate
            By key of the metric.
        """
        name = self.periods[-1] if period == "last" else str(period)
        if name not in self.periods:
            raise InvalidInputError(
                f"Monitoring has {len(self.periods):,} periods, from {self.periods[0]} to "
                f"{self.periods[-1]}. Got {brief(name)!r}.{did_you_mean(name, self.periods)}"
            )
        place = self.periods.index(name)
        return {
            key: PeriodEstimate(
                key,
                name,
                float(found.value[place]),
                float(found.lower[place]),
                float(found.upper[place]),
            )
            for key, found in self.values.items()
        }

    def __repr__(self) -> str:
        """Show how many periods there are, the last one, and alarms."""
        last = self.at("last")
        shown = ", ".join(
            f"{key} {show_number(last[key].value)} "
            f"[{show_number(last[key].lower)}, {show_number(last[key].upper)}]"
            for key in ("precision", "recall")
        )
        alarms = ", ".join(f"{alarm.cause} since {alarm.since}" for alarm in self.alarms)
        return (
            f"Monitoring({len(self.periods)} {self.every}s from {self.periods[0]} to "
            f"{self.periods[-1]}; last: {shown}; alarms: {alarms or 'none'})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per period.

        Returns
        -------
        pandas.DataFrame
            With columns period, n_rows, n_labeled, n_flagged, arrived, and for each metric its
            value, and ``_lower`` and ``_upper``.
        """
        columns: dict[str, Any] = {"period": list(self.periods)}
        columns |= {name: getattr(self, name) for name in COUNTS}
        for key, found in self.values.items():
            columns |= {key: found.value, f"{key}_lower": found.lower, f"{key}_upper": found.upper}
        return make_frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists.

        Returns
        -------
        dict
            ``periods`` is a list with one entry per period; the rest by name of the attribute.
        """
        names = ("threshold", "now", "every", "confidence", "false_alarms", "evidence", "steps")
        plain: dict[str, Any] = {name: to_plain(getattr(self, name)) for name in names}
        counts = {name: to_plain(getattr(self, name)) for name in COUNTS}
        metrics = {
            key: {name: to_plain(getattr(found, name)) for name in ("value", "lower", "upper")}
            for key, found in self.values.items()
        }
        plain["periods"] = [
            {"period": name}
            | {key: column[place] for key, column in counts.items()}
            | {
                key: {end: column[place] for end, column in ends.items()}
                for key, ends in metrics.items()
            }
            for place, name in enumerate(self.periods)
        ]
        plain["alarms"] = [alarm.to_dict() for alarm in self.alarms]
        plain["label_frequency"] = to_plain(self.label_frequency.to_dict())
        plain["delays"] = self.delays.to_dict()
        plain["notes"] = to_plain(self.notes)
        return plain

    def plot(self, key: str = "precision", ax: Any = None) -> PeriodsDisplay:
        """Draw one metric over the periods, with its band and the alarms.

        Parameters
        ----------
        key : str, default="precision"
            Of the metric.
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        PeriodsDisplay
        """
        from recoup.plot.weeks import PeriodsDisplay

        found = self[key]
        display = PeriodsDisplay(
            periods=self.periods,
            values=found.value,
            lower=found.lower,
            upper=found.upper,
            name=METRICS[key],
            marks={alarm.since: alarm.cause for alarm in self.alarms},
        )
        return display.plot(ax)

    def report(self, path: str | Path, title: str | None = None) -> Path:
        """Write a page with lines, alarms in words and a table, which needs no network.

        Parameters
        ----------
        path : str or Path
            Where to. An existing file is replaced.
        title : str, optional
            Heading of the page.

        Returns
        -------
        Path
        """
        from recoup.report.weeks.page import write_weeks

        return write_weeks(self, path, title)

    def _repr_html_(self) -> str:
        columns = {
            self.every: list(self.periods),
            "rows": [show_count(n) for n in self.n_rows],
            "labeled": [show_count(n) for n in self.n_labeled],
            "labels in": [show_share(share) for share in self.arrived],
        }
        for key, found in self.values.items():
            columns[METRICS[key]] = [
                f"{show_number(value)} ({show_range(low, high)})" if np.isfinite(value) else ""
                for value, low, high in zip(found.value, found.lower, found.upper, strict=True)
            ]
        # The latest are what a reader looks for.
        columns = {name: cells[::-1] for name, cells in columns.items()}
        notes = [*(alarm.text for alarm in self.alarms), *self.notes]
        return html_table(
            columns, f"{self.every.capitalize()} by {self.every}, as of {self.now}", notes
        )


COUNTS = ("n_rows", "n_labeled", "n_flagged", "arrived")
