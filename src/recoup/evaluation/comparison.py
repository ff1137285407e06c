"""Comparison: what compare returns, several models on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import brief
from recoup._core.notes import Note
from recoup._core.results import MOST_ROWS, html_table, make_frame, to_plain
from recoup._core.text import show_number, show_p, show_range
from recoup.evaluation.cuts import Cut
from recoup.evaluation.differences import Difference, difference_between
from recoup.evaluation.results import Evaluation
from recoup.metrics.spec import metric_spec
from recoup.selection.how_labeled import SAID, LabelsAre

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from recoup.evaluation.audited_comparison import AuditedComparison
    from recoup.priors import PriorEstimate


@dataclass(frozen=True)
class WinRange:
    """A range of alpha over which one model has the best recovered value of a metric.

    Attributes
    ----------
    metric : str
        Key of the metric.
    model : str
        Name of the model.
    alpha_low : float
        Where the range begins.
    alpha_high : float
        Where the range ends.
    """

    metric: str
    model: str
    alpha_low: float
    alpha_high: float


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Several models on the same positive-unlabeled rows. Made by :func:`recoup.compare`.

    Attributes
    ----------
    metric : str
        Key of the metric that ranks the models.
    evaluations : dict of str to Evaluation
        By name of the model.
    differences : tuple of Difference
        One for each pair of models and each metric.
    wins : tuple of WinRange
        Which model is best over which range of alpha, for each metric.
    notes : tuple of Note
        Reasons to doubt the numbers, as sentences.
    at : Cut
        What the models have in common where scores become predictions: ``at.kind`` and
        ``at.value``, or in words ``str(at)``, such as ``"queue 512 rows"``.
    audit : AuditedComparison or None
        What rows checked by hand say about the models; None without them.
    """

    metric: str
    evaluations: dict[str, Evaluation]
    differences: tuple[Difference, ...]
    wins: tuple[WinRange, ...]
    notes: tuple[Note, ...]
    at: Cut
    audit: AuditedComparison | None = None

    def __repr__(self) -> str:
        """Name the models from best to worst."""
        order = ", ".join(
            f"{name} {self.evaluations[name][self.metric].recovered:.3f}" for name in self.ranking
        )
        said = "" if self.labels_are == "unknown" else f", labels_are={self.labels_are!r}"
        return f"Comparison({self.metric}: {order}{said})"

    @property
    def prior_estimate(self) -> PriorEstimate | None:
        """What alpha was estimated by, the same for all models; None if it was given."""
        return next(iter(self.evaluations.values())).prior_estimate

    @property
    def labels_are(self) -> LabelsAre:
        """How labels came about, as was said to :func:`recoup.compare`."""
        return next(iter(self.evaluations.values())).labels_are

    @property
    def ranking(self) -> list[str]:
        """Models from best to worst by the chosen metric."""
        sign = -1 if metric_spec(self.metric, "Comparison").higher_is_better else 1

        def order(name: str) -> tuple[bool, float]:
            value = self.evaluations[name][self.metric].recovered
            return bool(np.isnan(value)), sign * value

        return sorted(self.evaluations, key=order)

    def difference(self, first: str, second: str, metric: str | None = None) -> Difference:
        """Look up the difference between two models.

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
            With the ranking, every evaluation, all differences, and what an audit says.
        """
        plain: dict[str, Any] = to_plain(
            {
                "metric": self.metric,
                "at": vars(self.at) | {"words": str(self.at)},
                "prior": next(iter(self.evaluations.values())).prior.described(),
                "labels_are": self.labels_are,
                "ranking": self.ranking,
                "models": {name: one.to_dict() for name, one in self.evaluations.items()},
                "differences": [vars(item) for item in self.differences],
                "wins": [vars(item) for item in self.wins],
                "audit": None if self.audit is None else self.audit.to_dict(),
                "notes": self.notes,
            }
        )
        return plain

    def _repr_html_(self) -> str:
        one = next(iter(self.evaluations.values()))
        label = metric_spec(self.metric, "Comparison").label
        ranked = [self.evaluations[name][self.metric] for name in self.ranking]
        short = {name: brief(name) for name in self.evaluations}
        models = {
            "model": [short[name] for name in self.ranking],
            f"{label}, PU": [show_number(item.pu) for item in ranked],
            "recovered": [show_number(item.recovered) for item in ranked],
            "interval": [show_range(item.lower, item.upper) for item in ranked],
        }
        pages = [
            html_table(
                models,
                f"Models by {label}, at {self.at}; alpha {one.prior}; "
                f"{one.n_labeled:,.0f} labeled and {one.n_unlabeled:,.0f} unlabeled rows. "
                f"{SAID[self.labels_are]}",
            )
        ]
        if any(item.metric == self.metric for item in self.differences):
            pairs = list(combinations(self.ranking, 2))
            shown = [self.difference(*pair) for pair in pairs[:MOST_ROWS]]
            columns = {
                "models": [f"{short[item.first]} - {short[item.second]}" for item in shown],
                "difference": [show_number(item.difference, "+.4f") for item in shown],
                "interval": [show_range(item.lower, item.upper, "+.4f") for item in shown],
                "p, adjusted": [show_p(item.p_adjusted) for item in shown],
            }
            more = [f"{len(shown)} of {len(pairs):,} pairs; to_frame() has all."]
            caption = f"Differences of {label}, at {100 * one.confidence:.4g}%"
            pages.append(html_table(columns, caption, more if len(pairs) > len(shown) else ()))
        wins = [item for item in self.wins if item.metric == self.metric]
        best = {
            "alpha": [show_range(item.alpha_low, item.alpha_high) for item in wins],
            "best model": [short[item.model] for item in wins],
        }
        notes: list[str] = list(self.notes)
        for name in (name for name in short if short[name] != name):
            notes = [note.replace(name, short[name]) for note in notes]
        pages.append(html_table(best, f"Who has the best {label} if alpha were different", notes))
        if self.audit is not None:
            pages.append(self.audit._repr_html_())
        return "".join(pages)

    def plot(self, ax: Any = None) -> Any:
        """Draw the chosen metric of every model over alpha.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        SensitivityDisplay
        """
        from recoup.plot.curves import SensitivityDisplay

        first = next(iter(self.evaluations.values()))
        alphas = first.sensitivity().alphas
        values = {
            name: self.evaluations[name].sensitivity(alphas).values[self.metric]
            for name in self.ranking
        }
        display = SensitivityDisplay(
            alphas=alphas,
            values=values,
            alpha=first.alpha,
            alpha_upper=min(one.feasibility.alpha_upper for one in self.evaluations.values()),
            alpha_interval=first.prior.stated,
            name=metric_spec(self.metric, "plot").label,
        )
        return display.plot(ax=ax)

    def report(self, path: str | Path, title: str | None = None) -> Path:
        """Write a page that sets the models side by side, as one HTML file without network.

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
        from recoup.report import Report

        return Report(self, title or f"Which of {len(self.evaluations)} models?").write(path)
