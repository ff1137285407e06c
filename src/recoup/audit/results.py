"""What an audit says: every metric, alpha, hidden positives, curves, and the labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from recoup._core.notes import Note
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number, show_range
from recoup.exceptions import InvalidInputError
from recoup.metrics.curve_results import Band, CalibrationCurve, PrCurve, RocCurve

if TYPE_CHECKING:
    import pandas as pd

    from recoup.audit.checked import CheckedRows

LabelsCode: TypeAlias = Literal["random", "favor-high", "favor-low", "cannot-tell"]


@dataclass(frozen=True)
class AuditedEstimate:
    """One number: by the audit, by the labels alone, and by both.

    Attributes
    ----------
    key : str
        Name of the metric, or ``"alpha"`` or ``"hidden"``.
    audited : float
        By the checked rows, whatever the labels are.
    audited_lower : float
        Lower limit of its confidence interval.
    audited_upper : float
        Upper limit of its confidence interval.
    from_labels : float
        As recovered from the labels alone; NaN where they give none.
    combined : float
        The audited value, moved toward that of the labels by no more than its own error allows.
    lower : float
        Lower limit of the interval of the combined value.
    upper : float
        Upper limit of the interval of the combined value.
    """

    key: str
    audited: float
    audited_lower: float
    audited_upper: float
    from_labels: float
    combined: float
    lower: float
    upper: float

    def __repr__(self) -> str:
        """Show the combined value, and the other two."""
        return (
            f"AuditedEstimate({self.key}: {self.combined:.4g} [{self.lower:.4g}, "
            f"{self.upper:.4g}], audited {self.audited:.4g}, labels {self.from_labels:.4g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(asdict(self))
        return plain


@dataclass(frozen=True)
class LabelsVerdict:
    """Whether labels are a random sample of the positives, as far as answers tell.

    Attributes
    ----------
    code : {"random", "favor-high", "favor-low", "cannot-tell"}
        The verdict: at random as far as seen, favoring high or low scores, or too few positives
        found to tell.
    odds : float
        How many times the odds of a label differ between a positive with a score at the 95th
        percentile of the positives and one at the 5th. Above 1 labels favor high scores.
    odds_lower : float
        Lower limit of its confidence interval.
    odds_upper : float
        Upper limit of its confidence interval.
    p_value : float
        How often labels at random would look as uneven; NaN where no positive was found.
    text : str
        The verdict as a sentence.
    """

    code: LabelsCode
    odds: float
    odds_lower: float
    odds_upper: float
    p_value: float
    text: str

    def __repr__(self) -> str:
        """Show the verdict and the odds."""
        return (
            f"LabelsVerdict({self.code}, odds {self.odds:.3g} [{self.odds_lower:.3g}, "
            f"{self.odds_upper:.3g}], p={self.p_value:.2g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(asdict(self))
        return plain


@dataclass(frozen=True)
class RightLabels:
    """Which share of the labels is right, from labeled rows that were checked too.

    Attributes
    ----------
    share : float
        Share of right labels among those with an answer.
    lower : float
        Lower limit of the exact confidence interval of the share among all labeled rows. Labels
        without an answer count as wrong in it.
    upper : float
        Upper limit; labels without an answer count as right in it.
    p_value : float
        How often as many wrong labels are found if all are right: 1 if none is found, and 0 as
        soon as one is, since answers count as true.
    n_checked : int
        Labeled rows with an answer.
    n_right : int
        How many of them are positive.
    text : str
        The verdict as a sentence.
    """

    share: float
    lower: float
    upper: float
    p_value: float
    n_checked: int
    n_right: int
    text: str

    def __repr__(self) -> str:
        """Show the share, and what it was counted on."""
        return (
            f"RightLabels({self.n_right} of {self.n_checked} right, {self.share:.3g} "
            f"[{self.lower:.3g}, {self.upper:.3g}], p={self.p_value:.2g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(asdict(self))
        return plain


@dataclass(frozen=True, repr=False, eq=False)
class AuditedEvaluation:
    """What checked rows say about a classifier, whatever the labels are.

    Attributes
    ----------
    metrics : dict of str to AuditedEstimate
        By key of the metric.
    alpha : AuditedEstimate
        Share of positives among the unlabeled rows.
    hidden : AuditedEstimate
        How many of the unlabeled rows are positive.
    labels : LabelsVerdict
        Whether labels are a random sample of the positives.
    n_checked : int
        Answers given, the missing ones left out.
    n_missing : int
        Rows that nobody could tell the truth of.
    beta : float
        Share of right labels that was used: as answered, where labeled rows were checked.
    roc : RocCurve
        The audited ROC curve.
    pr : PrCurve
        The audited precision-recall curve.
    roc_band : Band
        Pointwise confidence band of the ROC curve.
    pr_band : Band
        Pointwise confidence band of the precision-recall curve.
    bounds_only : bool
        Whether rows were chosen from the top, so that limits are bounds and no interval.
    confidence : float
        Level of the intervals.
    notes : tuple of Note
        What a reader must know about the audit.
    calibration : CalibrationCurve or None
        Share of positives in bins of the score, with about as many checked rows in each; None if
        scores are no probabilities.
    right_labels : RightLabels or None
        Which share of the labels is right; None where no labeled row was checked.
    checked : CheckedRows or None
        The answers that all of it comes from.
    """

    metrics: dict[str, AuditedEstimate]
    alpha: AuditedEstimate
    hidden: AuditedEstimate
    labels: LabelsVerdict
    n_checked: int
    n_missing: int
    beta: float
    roc: RocCurve
    pr: PrCurve
    roc_band: Band
    pr_band: Band
    bounds_only: bool
    confidence: float
    notes: tuple[Note, ...] = ()
    calibration: CalibrationCurve | None = None
    right_labels: RightLabels | None = None
    checked: CheckedRows | None = None

    def __getitem__(self, key: str) -> AuditedEstimate:
        """Look a metric up by its key; ``"alpha"`` and ``"hidden"`` are there too."""
        known = self.metrics | {"alpha": self.alpha, "hidden": self.hidden}
        if key not in known:
            raise InvalidInputError(
                f"AuditedEvaluation has no metric {key!r}. It has: {', '.join(known)}."
            )
        return known[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the metrics."""
        return iter(self.metrics)

    def __repr__(self) -> str:
        """Show how much was checked, alpha, and the verdict on the labels."""
        return (
            f"AuditedEvaluation({self.n_checked} checked, alpha={self.alpha.combined:.3g} "
            f"[{self.alpha.lower:.3g}, {self.alpha.upper:.3g}], labels {self.labels.code})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per number.

        Returns
        -------
        pandas.DataFrame
            With the attributes of :class:`AuditedEstimate` as columns; alpha and hidden last.
        """
        rows = [asdict(one) for one in (*self.metrics.values(), self.alpha, self.hidden)]
        return make_frame({name: [row[name] for row in rows] for name in rows[0]})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        Returns
        -------
        dict
            By name of the attribute; the curves over thresholds are left out.
        """
        plain: dict[str, Any] = to_plain(
            {
                "metrics": {key: asdict(one) for key, one in self.metrics.items()},
                "alpha": asdict(self.alpha),
                "hidden": asdict(self.hidden),
                "labels": asdict(self.labels),
                "right_labels": None if self.right_labels is None else asdict(self.right_labels),
                "calibration": None if self.calibration is None else self.calibration.to_dict(),
                "n_checked": self.n_checked,
                "n_missing": self.n_missing,
                "beta": self.beta,
                "bounds_only": self.bounds_only,
                "confidence": self.confidence,
                "notes": list(self.notes),
            }
        )
        return plain

    def _repr_html_(self) -> str:
        from recoup.metrics.spec import METRICS

        rows = [self.alpha, self.hidden, *self.metrics.values()]
        names = {"alpha": "Alpha", "hidden": "Hidden positives"}
        columns = {
            "metric": [names.get(one.key) or METRICS[one.key].label for one in rows],
            "both": [show_number(one.combined) for one in rows],
            "bounds" if self.bounds_only else "interval": [
                show_range(one.lower, one.upper) for one in rows
            ],
            "audited": [show_number(one.audited) for one in rows],
            "labels alone": [show_number(one.from_labels) for one in rows],
        }
        texts = [self.labels.text, *([self.right_labels.text] if self.right_labels else [])]
        said = f"{self.n_checked:,} rows checked. {' '.join(texts)}"
        # The caption has said what this note says.
        notes = [note for note in self.notes if note.code != "labels-biased"]
        return html_table(columns, said, notes)
