"""GroupedEvaluation: what evaluate_by returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

from recoup._core.checks import Scheme, brief, did_you_mean
from recoup._core.notes import Note
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_percent
from recoup.evaluation.group_metric import GroupContrast, GroupEstimate, GroupMetric
from recoup.evaluation.results import Evaluation
from recoup.exceptions import InvalidInputError
from recoup.scores.group_keys import GroupKeys

if TYPE_CHECKING:
    import pandas as pd

    from recoup.audit import AuditedEvaluation

HEADLINE = ("precision", "recall", "roc_auc")
ODDS = ("recall", "specificity")


@dataclass(frozen=True, repr=False, eq=False)
class GroupedEvaluation:
    """How good a classifier really is in each group, and how groups differ.

    Made by :func:`recoup.evaluate_by`. ``found["precision"]`` is a :class:`GroupMetric`, and
    ``found["precision"]["DE"]`` the estimate of one group.

    Attributes
    ----------
    groups : GroupKeys
        The groups, in order.
    metrics : dict of str to GroupMetric
        By key of the metric; ``"alpha"`` is the share of positives among the unlabeled rows.
    pooled : Evaluation
        All rows as one table. Its numbers are off where groups are labeled at different rates;
        those of all groups put together are in ``found[key].total``.
    threshold : float
        Rows with a score at or above it are predicted positive, in all groups.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    confidence : float
        Level of the intervals.
    spread : float
        By which factor odds of being positive typically differ between groups at the same score;
        1 where alpha was given.
    notes : tuple of Note
        Reasons to doubt the numbers, as sentences.
    audits : dict of tuple to AuditedEvaluation
        By group, what checked rows say; empty without an audit.
    """

    groups: GroupKeys
    metrics: dict[str, GroupMetric]
    pooled: Evaluation
    threshold: float
    scheme: Scheme
    confidence: float
    spread: float
    notes: tuple[Note, ...]
    audits: Mapping[tuple[Any, ...], AuditedEvaluation] = field(default_factory=dict)

    def __getitem__(self, key: str) -> GroupMetric:
        """Look a metric up by its key."""
        if key not in self.metrics:
            raise KeyError(
                f"No metric {brief(str(key))!r} by group.{did_you_mean(str(key), self.metrics)} "
                f"There are: {', '.join(self.metrics)}."
            )
        return self.metrics[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the metrics."""
        return iter(self.metrics)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.groups)

    def __repr__(self) -> str:
        """Show how many groups there are, and the precision of all together."""
        total = self["precision"].total
        return (
            f"GroupedEvaluation({len(self):,} groups by {', '.join(self.groups.columns)}, "
            f"precision={total.recovered:.3f} [{total.lower:.3f}, {total.upper:.3f}], "
            f"threshold={self.threshold:.4g})"
        )

    def _repr_html_(self) -> str:
        columns = self["precision"].shown()
        shown = {name: columns[name] for name in ("group", "labeled", "unlabeled")}
        for key in HEADLINE:
            found = self[key].shown()
            values = zip(found["recovered"], found["interval"], strict=True)
            shown[self[key].label] = [f"{value} ({ends})" for value, ends in values]
        shown["own rows"] = columns["own rows"]
        return html_table(
            shown,
            f"By {', '.join(self.groups.columns)}; threshold {self.threshold:.4g}; intervals at "
            f"{show_percent(self.confidence)}; own rows: how much of precision came from rows of "
            f"the group itself",
            self.notes,
        )

    def difference(self, metric: str, first: Any, second: Any) -> GroupContrast:
        """Metric of one group minus that of another.

        Parameters
        ----------
        metric : str
            Key of the metric.
        first, second : object or tuple
            Value of the column, or a tuple of the values of all columns; None where it is missing.

        Returns
        -------
        GroupContrast
        """
        return self._contrast("difference", metric, first, second)

    def ratio(self, metric: str, first: Any, second: Any) -> GroupContrast:
        """Metric of one group over that of another.

        Parameters
        ----------
        metric : str
            Key of the metric.
        first, second : object or tuple
            As in :meth:`difference`.

        Returns
        -------
        GroupContrast
        """
        return self._contrast("ratio", metric, first, second)

    def gap(self, metric: str) -> GroupContrast:
        """Find the largest difference of a metric between any two groups.

        Parameters
        ----------
        metric : str
            Key of the metric.

        Returns
        -------
        GroupContrast
            Its limits hold for all pairs of groups at once: groups do not differ by chance if the
            lower one is above zero, although the pair was chosen after looking.
        """
        return self._metric(metric, "gap").gap()

    def equalized_odds(self) -> GroupContrast:
        """Find the larger of the gaps of recall and of specificity between any two groups.

        Returns
        -------
        GroupContrast
            0 if positives are found, and negatives left alone, equally often in all groups.
        """
        gaps = [self[key].gap() for key in ODDS]
        largest = max(gaps, key=lambda gap: gap.value)
        return GroupContrast(
            "equalized_odds",
            "gap",
            largest.first,
            largest.second,
            largest.value,
            max(gap.lower for gap in gaps),
            max(gap.upper for gap in gaps),
        )

    def worst(self, metric: str, k: int = 5) -> tuple[GroupEstimate, ...]:
        """Return the groups where a metric is worst, the worst first.

        Values of groups with few rows are drawn to what all groups have in common, so that the
        smallest groups do not lead the list by chance alone.

        Parameters
        ----------
        metric : str
            Key of the metric.
        k : int, default=5
            How many groups at most.

        Returns
        -------
        tuple of GroupEstimate
        """
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise InvalidInputError(f"worst needs k to be a whole number from 1. Got {brief(k)}.")
        return self._metric(metric, "worst").worst(int(k))

    def to_frame(self, *, simultaneous: bool = False) -> pd.DataFrame:
        """Return one row per group and metric.

        Parameters
        ----------
        simultaneous : bool, default=False
            Whether limits are to hold for all groups at once with the confidence, metric by metric.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`GroupMetric.to_frame`.
        """
        frames = [
            metric.to_frame(simultaneous=simultaneous).to_dict(orient="list")
            for metric in self.metrics.values()
        ]
        return make_frame(
            {name: [cell for one in frames for cell in one[name]] for name in frames[0]}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            With threshold, groups, metrics, the pooled evaluation, contrasts and notes.
        """
        several = len(self) > 1
        contrasts = [self[key].gap() for key in HEADLINE] if several else []
        contrasts += [self.equalized_odds()] if several else []
        found: dict[str, Any] = to_plain(
            {
                "by": list(self.groups.columns),
                "threshold": self.threshold,
                "scheme": self.scheme,
                "confidence": self.confidence,
                "spread": self.spread,
                "groups": [list(key) for key in self.groups.keys],
                "metrics": {key: metric.to_dict() for key, metric in self.metrics.items()},
                "gaps": [gap.to_dict() for gap in contrasts],
                "audited": [list(key) for key in self.audits],
                "notes": list(self.notes),
                "pooled": self.pooled.to_dict(),
            }
        )
        return found

    def plot(self, metric: str = "precision", ax: Any = None) -> Any:
        """Draw a metric of all groups with its intervals (a forest plot).

        Parameters
        ----------
        metric : str, default="precision"
            Key of the metric.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ForestDisplay
        """
        from recoup.plot.groups import ForestDisplay

        return ForestDisplay.from_metric(self._metric(metric, "plot")).plot(ax)

    def _metric(self, key: str, caller: str) -> GroupMetric:
        if key not in self.metrics:
            raise InvalidInputError(
                f"{caller} needs a metric that groups have. Got {brief(str(key))!r}."
                f"{did_you_mean(str(key), self.metrics)} There are: {', '.join(self.metrics)}."
            )
        return self.metrics[key]

    def _contrast(self, kind: str, metric: str, first: Any, second: Any) -> GroupContrast:
        places = [self.groups.find(group, kind) for group in (first, second)]
        return self._metric(metric, kind).contrast(places[0], places[1], kind)
