"""AuditedComparison: what checked rows say about several models on the same rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from recoup._core.notes import Note
from recoup._core.results import MOST_ROWS, html_table, make_frame, to_plain
from recoup._core.text import show_number, show_p, show_range
from recoup.evaluation.differences import Difference, difference_between
from recoup.metrics.spec import metric_spec

if TYPE_CHECKING:
    import pandas as pd

    from recoup.audit import AuditedEvaluation
    from recoup.audit.results import LabelsVerdict


@dataclass(frozen=True, repr=False, eq=False)
class AuditedComparison:
    """Models judged by the same checked rows, whatever the labels are.

    Attributes
    ----------
    metric : str
        Key of the metric that ranks the models.
    models : dict of str to AuditedEvaluation
        By name of the model.
    differences : tuple of Difference
        One for each pair of models and each metric, by the checked rows alone: differences of the
        audited values.
    labels : LabelsVerdict
        Whether labels are a random sample of the positives, by the scores that rows were drawn by.
    drawn_by : str or None
        The model whose scores the audit was planned with; None if it is not among these, or if
        rows were drawn elsewhere.
    n_checked : int
        Answers given, the missing ones left out.
    n_missing : int
        Rows that nobody could tell the truth of.
    confidence : float
        Level of the intervals.
    notes : tuple of Note
        What a reader must know about the audit.
    """

    metric: str
    models: dict[str, AuditedEvaluation]
    differences: tuple[Difference, ...]
    labels: LabelsVerdict
    drawn_by: str | None
    n_checked: int
    n_missing: int
    confidence: float
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        """Show the audited metric of each model."""
        values = ", ".join(
            f"{name} {show_number(one[self.metric].audited)}" for name, one in self.models.items()
        )
        return (
            f"AuditedComparison({self.n_checked} checked, {self.metric}: {values}, labels "
            f"{self.labels.code})"
        )

    def difference(self, first: str, second: str, metric: str | None = None) -> Difference:
        """Look up the audited difference between two models.

        Parameters
        ----------
        first : str
            Name of the model whose metric counts positively.
        second : str
            Name of the model whose metric is subtracted.
        metric : str, optional
            Key of the metric. By default the one that ranks the models.

        Returns
        -------
        Difference

        Raises
        ------
        KeyError
            If there is no such model or metric.
        """
        return difference_between(self.differences, first, second, metric or self.metric)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of models and metric.

        Returns
        -------
        pandas.DataFrame
            With a column for each attribute of :class:`Difference`.
        """
        names = list(Difference.__dataclass_fields__)
        return make_frame(
            {name: [getattr(item, name) for item in self.differences] for name in names}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(
            {
                "metric": self.metric,
                "models": {name: one.to_dict() for name, one in self.models.items()},
                "differences": [vars(item) for item in self.differences],
                "labels": asdict(self.labels),
                "drawn_by": self.drawn_by,
                "n_checked": self.n_checked,
                "n_missing": self.n_missing,
                "confidence": self.confidence,
                "notes": list(self.notes),
            }
        )
        return plain

    def _repr_html_(self) -> str:
        label = metric_spec(self.metric, "AuditedComparison").label
        rows = [one[self.metric] for one in self.models.values()]
        models = {
            "model": list(self.models),
            "audited": [show_number(one.audited) for one in rows],
            "interval": [show_range(one.audited_lower, one.audited_upper) for one in rows],
        }
        shown = [item for item in self.differences if item.metric == self.metric][:MOST_ROWS]
        pairs = {
            "models": [f"{item.first} - {item.second}" for item in shown],
            "difference": [show_number(item.difference, "+.4f") for item in shown],
            "interval": [show_range(item.lower, item.upper, "+.4f") for item in shown],
            "p, adjusted": [show_p(item.p_adjusted) for item in shown],
        }
        caption = f"Audited {label}: {self.n_checked} rows checked by hand. {self.labels.text}"
        return html_table(models, caption) + html_table(
            pairs, f"Differences by the same rows, at {100 * self.confidence:.4g}%", self.notes
        )
