"""EvaluationDisplay: one evaluation in four pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from recoup._core.optional import require
from recoup._core.text import show_percent, show_short
from recoup.plot.curves import (
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    MetricDisplay,
    PrDisplay,
    RocDisplay,
    SensitivityDisplay,
    legend_below,
)

THRESHOLD_METRICS = ("precision", "recall", "f1")
ALPHA_METRICS = ("roc_auc", "precision", "f1", "accuracy")


@dataclass
class EvaluationDisplay:
    """ROC, precision-recall, metrics over thresholds, and metrics over alpha.

    Made by :meth:`from_evaluation`. Each panel can also be drawn alone, on axes of your own.

    Parameters
    ----------
    roc : RocDisplay
        The recovered ROC curve.
    naive_roc : RocDisplay
        The ROC curve with every unlabeled row taken as negative.
    pr : PrDisplay
        The recovered precision-recall curve.
    metrics : tuple of MetricDisplay
        Metrics over thresholds.
    threshold : float
        The threshold in use, marked with a line.
    sensitivity : SensitivityDisplay
        Metrics over alpha.
    audited_roc : RocDisplay, optional
        The ROC curve by checked rows.
    audited_pr : PrDisplay, optional
        The precision-recall curve by checked rows.

    Attributes
    ----------
    axes_ : dict of str to Axes
        The four panels ("roc", "pr", "threshold", "alpha"), after ``plot``.
    figure_ : Figure
        What was drawn on, after ``plot``.
    """

    roc: RocDisplay
    naive_roc: RocDisplay
    pr: PrDisplay
    metrics: tuple[MetricDisplay, ...]
    threshold: float
    sensitivity: SensitivityDisplay
    audited_roc: RocDisplay | None = None
    audited_pr: PrDisplay | None = None
    figure_: Any = field(init=False, repr=False, default=None)
    axes_: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def from_evaluation(cls, evaluation: Any) -> EvaluationDisplay:
        """Read the arrays of an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
            What :func:`recoup.evaluate` returned.

        Returns
        -------
        EvaluationDisplay
        """

        def band(name: str) -> dict[str, Any]:
            found = getattr(evaluation, f"{name}_band")
            if found is None:
                return {}
            return {"band_x": found.x, "lower": found.lower, "upper": found.upper}

        shown = "Recovered"
        if evaluation.roc_band is not None:
            shown += f" with {show_percent(evaluation.confidence)} band"
        curves = [evaluation.metric_curve(key) for key in THRESHOLD_METRICS]
        sensitivity = evaluation.sensitivity()
        return cls(
            roc=RocDisplay(
                fpr=evaluation.roc.fpr,
                tpr=evaluation.roc.tpr,
                name=f"{shown}, AUC {evaluation['roc_auc'].recovered:.3f}",
                **band("roc"),
            ),
            naive_roc=RocDisplay(
                fpr=evaluation.roc_pu.fpr,
                tpr=evaluation.roc_pu.tpr,
                name=f"Unlabeled as negative, AUC {evaluation['roc_auc'].pu:.3f}",
                chance=False,
            ),
            pr=PrDisplay(
                recall=evaluation.pr.recall,
                precision=evaluation.pr.precision,
                pi=evaluation.pi,
                name=f"{shown}, average {evaluation['average_precision'].recovered:.3f}",
                **band("pr"),
            ),
            metrics=tuple(
                MetricDisplay(curve.threshold, curve.values, name=evaluation[curve.metric].label)
                for curve in curves
            ),
            threshold=evaluation.threshold,
            sensitivity=SensitivityDisplay(
                alphas=sensitivity.alphas,
                values={evaluation[key].label: sensitivity.values[key] for key in ALPHA_METRICS},
                alpha=sensitivity.alpha,
                alpha_upper=sensitivity.alpha_upper,
                alpha_interval=evaluation.prior.stated,
            ),
            **_audited_displays(evaluation),
        )

    @property
    def panels(self) -> dict[str, Callable[[Any], None]]:
        """The four panels, as functions that draw on given axes."""
        return {
            "roc": self.plot_roc,
            "pr": self.plot_pr,
            "threshold": self.plot_threshold,
            "alpha": self.plot_alpha,
        }

    def plot(self, figure: Any = None) -> EvaluationDisplay:
        """Draw all four panels.

        Parameters
        ----------
        figure : Figure, optional
            Where to draw; by default a new one.

        Returns
        -------
        EvaluationDisplay
            Itself, with ``figure_`` and ``axes_``.
        """
        if figure is None:
            pyplot = require("matplotlib.pyplot", purpose="plot()", install="matplotlib")
            figure = pyplot.figure(figsize=(11.0, 10.0), layout="constrained")
        self.figure_ = figure
        axes = figure.subplots(2, 2).ravel()
        for ax, (name, draw) in zip(axes, self.panels.items(), strict=True):
            draw(ax)
            self.axes_[name] = ax
        return self

    def plot_roc(self, ax: Any) -> None:
        """Draw the recovered ROC curve beside the one that takes unlabeled as negative.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            Where to draw.
        """
        self.roc.plot(ax=ax, color=BLUE)
        self.naive_roc.plot(ax=ax, color=ORANGE, linestyle="--", linewidth=1.6)
        if self.audited_roc is not None:
            self.audited_roc.plot(ax=ax, color=GREEN, linestyle="-.")
        _finish(ax, "Positives found against false alarms", columns=1)

    def plot_pr(self, ax: Any) -> None:
        """Draw the recovered precision-recall curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            Where to draw.
        """
        self.pr.plot(ax=ax, color=BLUE)
        if self.audited_pr is not None:
            self.audited_pr.plot(ax=ax, color=GREEN, linestyle="-.")
        _finish(ax, "How clean the flagged rows are", columns=1)

    def plot_threshold(self, ax: Any) -> None:
        """Draw metrics over thresholds.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            Where to draw.
        """
        for place, display in enumerate(self.metrics):
            display.plot(ax=ax, color=CYCLE[place], linestyle=DASHES[place])
        label = f"Used here ({show_short(self.threshold)})"
        ax.axvline(self.threshold, color=GREY, linewidth=1.2, linestyle="--", label=label)
        ax.set_ylim(-0.02, 1.02)
        ax.set_ylabel("Recovered value" + self._source)
        _finish(ax, "What each threshold gives", columns=2)

    def plot_alpha(self, ax: Any) -> None:
        """Draw metrics over alpha.

        Parameters
        ----------
        ax : matplotlib.axes.Axes
            Where to draw.
        """
        self.sensitivity.plot(ax=ax)
        ax.set_ylim(-0.02, 1.02)
        _finish(ax, f"If alpha were different{self._source}", columns=2)

    @property
    def _source(self) -> str:
        """Say that a panel knows nothing of checked rows, where there were some."""
        return "" if self.audited_roc is None else ", by labels alone"


def _audited_displays(evaluation: Any) -> dict[str, Any]:
    audit = evaluation.audit
    if audit is None or audit.bounds_only:
        return {}
    shown = f"Audited with {show_percent(audit.confidence)} band"

    def band(found: Any) -> dict[str, Any]:
        return {"band_x": found.x, "lower": found.lower, "upper": found.upper, "chance": False}

    return {
        "audited_roc": RocDisplay(
            fpr=audit.roc.fpr,
            tpr=audit.roc.tpr,
            name=f"{shown}, AUC {audit['roc_auc'].audited:.3f}",
            **band(audit.roc_band),
        ),
        "audited_pr": PrDisplay(
            recall=audit.pr.recall,
            precision=audit.pr.precision,
            pi=audit.pr.pi,
            name=f"{shown}, average {audit['average_precision'].audited:.3f}",
            **band(audit.pr_band),
        ),
    }


def _finish(ax: Any, title: str, columns: int) -> None:
    ax.set_title(title, loc="left", fontweight="bold")
    legend_below(ax, columns)
