"""Displays of single curves.

Each takes finished arrays, draws them with ``plot(ax=None)``, keeps what it drew in ``ax_``,
``figure_`` and ``line_``, and returns itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.optional import require
from recoup._core.text import show_short

Values: TypeAlias = NDArray[Any]

# Okabe and Ito's colors stay apart for readers who do not see red or green as others do.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW = "#56B4E9", "#E69F00"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
GREY = "#808080"
MOST_CHARACTERS = 50


def new_axes() -> Any:
    """Make a figure with one pair of axes."""
    pyplot = require("matplotlib.pyplot", purpose="plot()", install="matplotlib")
    _, ax = pyplot.subplots(figsize=(5.5, 5.0), layout="constrained")
    return ax


def plain_text(name: str, limit: int = MOST_CHARACTERS) -> str:
    """Keep matplotlib from reading names as formulas, or hiding those with an underscore.

    Long names would leave no room for the curves, and are shortened. Lone surrogates cannot be
    drawn, and become question marks.
    """
    line = name.encode("utf-8", "replace").decode().replace("\n", " ")
    if len(line) > limit:
        line = f"{line[:limit]}\N{HORIZONTAL ELLIPSIS}"
    text = line.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def dress(ax: Any, xlabel: str, ylabel: str) -> None:
    """Label the axes and keep the frame light."""
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(True, color=GREY, alpha=0.2, linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def unit_square(ax: Any) -> None:
    """Show all of [0, 1] in both directions, with a little air."""
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)


def show_legend(ax: Any, loc: str) -> None:
    """Add a legend if anything has a name; what several curves share is named once."""
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        named = dict(zip(labels, handles, strict=True))
        ax.legend(named.values(), named.keys(), loc=loc, frameon=False)


def legend_below(ax: Any, columns: int) -> None:
    """Add a legend where it cannot cover a curve."""
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        borderaxespad=4.2,
        ncols=columns,
        frameon=False,
        fontsize="small",
    )


@dataclass(kw_only=True)
class _Display:
    """What every display keeps after drawing."""

    ax_: Any = field(init=False, repr=False, default=None)
    figure_: Any = field(init=False, repr=False, default=None)
    line_: Any = field(init=False, repr=False, default=None)

    def _start(self, ax: Any) -> Any:
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


@dataclass(kw_only=True)
class _BandedDisplay(_Display):
    """A curve in the unit square with an optional confidence band and optional bounds.

    Parameters
    ----------
    lower, upper : array, optional
        Confidence band.
    band_x : array, optional
        Where the band is given; by default at the points of the curve.
    bound_lower, bound_upper, bound_x : array, optional
        The same for bounds, drawn as dotted lines.
    name : str, optional
        Name of the curve, shown in the legend.
    chance : bool, default=True
        Whether to draw what a ranking without information would give.
    """

    lower: Values | None = None
    upper: Values | None = None
    band_x: Values | None = None
    bound_lower: Values | None = None
    bound_upper: Values | None = None
    bound_x: Values | None = None
    name: str | None = None
    chance: bool = True

    def _draw(self, ax: Any, x: Values, y: Values, style: dict[str, Any]) -> None:
        settings = {"color": BLUE, "linewidth": 2.0} | style
        if self.name is not None:
            settings.setdefault("label", plain_text(self.name))
        (self.line_,) = ax.plot(x, y, **settings)
        color = self.line_.get_color()
        if self.lower is not None and self.upper is not None:
            at = x if self.band_x is None else self.band_x
            ax.fill_between(at, self.lower, self.upper, color=color, alpha=0.18, linewidth=0)
        at = x if self.bound_x is None else self.bound_x
        for bound in (self.bound_lower, self.bound_upper):
            if bound is not None:
                ax.plot(at, bound, color=color, linewidth=1.0, linestyle=":")
        unit_square(ax)


@dataclass
class RocDisplay(_BandedDisplay):
    """Positives found against false alarms.

    Parameters
    ----------
    fpr : array of shape (n,)
        False positive rates.
    tpr : array of shape (n,)
        True positive rates.
    lower : array, optional
        Lower edge of the confidence band of ``tpr``.
    upper : array, optional
        Upper edge of the confidence band of ``tpr``.
    band_x : array, optional
        Where on the horizontal axis the band is given. By default at ``fpr``.
    bound_lower : array, optional
        Lower bound of ``tpr``, drawn as a dotted line.
    bound_upper : array, optional
        Upper bound of ``tpr``, drawn as a dotted line.
    bound_x : array, optional
        Where on the horizontal axis the bounds are given. By default at ``fpr``.
    name : str, optional
        Name of the curve, shown in the legend.
    chance : bool, default=True
        Whether to draw the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().add_subplot()
    >>> RocDisplay(np.array([0, 0.2, 1]), np.array([0, 0.8, 1])).plot(ax=ax).line_.get_xdata()
    array([0. , 0.2, 1. ])
    """

    fpr: Values
    tpr: Values

    def plot(self, ax: Any = None, **style: Any) -> RocDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        RocDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        if self.chance:
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="Chance")
        self._draw(ax, self.fpr, self.tpr, style)
        dress(ax, "Share of negatives flagged (FPR)", "Share of positives found (TPR)")
        ax.set_aspect("equal")
        show_legend(ax, "lower right")
        return self


@dataclass
class PrDisplay(_BandedDisplay):
    """Precision against recall.

    Parameters
    ----------
    recall : array of shape (n,)
        Shares of the positives that are found.
    precision : array of shape (n,)
        Shares of the flagged rows that are positive.
    pi : float
        Share of positives: the precision of a ranking without information.
    lower : array, optional
        Lower edge of the confidence band of ``precision``.
    upper : array, optional
        Upper edge of the confidence band of ``precision``.
    band_x : array, optional
        Where on the horizontal axis the band is given. By default at ``recall``.
    bound_lower : array, optional
        Lower bound of ``precision``, drawn as a dotted line.
    bound_upper : array, optional
        Upper bound of ``precision``, drawn as a dotted line.
    bound_x : array, optional
        Where on the horizontal axis the bounds are given. By default at ``recall``.
    name : str, optional
        Name of the curve, shown in the legend.
    chance : bool, default=True
        Whether to draw the line at ``pi``.
    """

    recall: Values
    precision: Values
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> PrDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        PrDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        if self.chance:
            label = f"Chance ({show_short(self.pi)})"
            ax.axhline(self.pi, color=GREY, linewidth=1.0, linestyle=":", label=label)
        self._draw(ax, self.recall, self.precision, style)
        dress(
            ax,
            "Share of positives found (recall)",
            "Share of flagged that are positive\n(precision)",
        )
        show_legend(ax, "lower left")
        return self


@dataclass
class LiftDisplay(_BandedDisplay):
    """Positives found against rows flagged.

    Parameters
    ----------
    positive_rate : array of shape (n,)
        Shares of all rows that are flagged.
    tpr : array of shape (n,)
        Shares of the positives that are found.
    pi : float
        Share of positives: a perfect ranking finds all of them in that share of the rows.
    lower : array, optional
        Lower edge of the confidence band of ``tpr``.
    upper : array, optional
        Upper edge of the confidence band of ``tpr``.
    band_x : array, optional
        Where on the horizontal axis the band is given. By default at ``positive_rate``.
    bound_lower : array, optional
        Lower bound of ``tpr``, drawn as a dotted line.
    bound_upper : array, optional
        Upper bound of ``tpr``, drawn as a dotted line.
    bound_x : array, optional
        Where on the horizontal axis the bounds are given. By default at ``positive_rate``.
    name : str, optional
        Name of the curve, shown in the legend.
    chance : bool, default=True
        Whether to draw the diagonal and the perfect ranking.
    """

    positive_rate: Values
    tpr: Values
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> LiftDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        LiftDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        if self.chance:
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="Chance")
            perfect = {"color": GREY, "linewidth": 1.0, "linestyle": "--", "label": "Perfect"}
            ax.plot([0, self.pi, 1], [0, 1, 1], **perfect)
        self._draw(ax, self.positive_rate, self.tpr, style)
        dress(ax, "Share of rows flagged", "Share of positives found (recall)")
        ax.set_aspect("equal")
        show_legend(ax, "lower right")
        return self


@dataclass
class MetricDisplay(_Display):
    """A metric over thresholds.

    Parameters
    ----------
    threshold : array of shape (n,)
        Thresholds; those that are not finite are left out.
    values : array of shape (n,)
        The metric at each of them.
    best_threshold : float, optional
        Where the metric is best, marked with a dot.
    name : str, optional
        Name of the metric, shown in the legend.
    """

    threshold: Values
    values: Values
    best_threshold: float | None = None
    name: str | None = None

    def plot(self, ax: Any = None, **style: Any) -> MetricDisplay:
        """Draw the metric.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        MetricDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        finite = np.isfinite(self.threshold)
        x, y = self.threshold[finite], self.values[finite]
        settings = {"color": BLUE, "linewidth": 1.8} | style
        if self.name is not None:
            settings.setdefault("label", plain_text(self.name))
        (self.line_,) = ax.plot(x, y, **settings)
        best = self.best_threshold
        if best is not None and np.isfinite(best):
            ax.plot(
                [best],
                y[x == best][:1],
                "o",
                color=self.line_.get_color(),
                label=f"Best at {show_short(best)}",
            )
        dress(ax, "Threshold: rows with this score or more are flagged", "Value")
        show_legend(ax, "best")
        return self


@dataclass
class SensitivityDisplay(_Display):
    """Recovered metrics over alpha.

    Parameters
    ----------
    alphas : array of shape (n,)
        Shares of positives among the unlabeled rows.
    values : mapping of str to array of shape (n,)
        One line per name; those after the sixth are thin, grey and without name.
    alpha : float
        The value in use, marked with a vertical line.
    alpha_upper : float
        The largest value that the scores allow; what lies beyond is shaded.
    alpha_interval : (float, float), optional
        A range of values in use, shaded.
    name : str, optional
        Name of the metric, where the lines are models.
    """

    alphas: Values
    values: Mapping[str, Values]
    alpha: float
    alpha_upper: float
    alpha_interval: tuple[float, float] | None = None
    name: str | None = None

    def plot(self, ax: Any = None, **style: Any) -> SensitivityDisplay:
        """Draw the lines; ``line_`` is the last one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        SensitivityDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        end = float(self.alphas[-1])
        if self.alpha_upper < end:
            label = f"More than the scores allow (> {show_short(self.alpha_upper)})"
            ax.axvspan(self.alpha_upper, end, color=GREY, alpha=0.18, linewidth=0, label=label)
        if self.alpha_interval is not None:
            label = "Range used ({} to {})".format(*map(show_short, self.alpha_interval))
            ax.axvspan(*self.alpha_interval, color=SKY, alpha=0.25, linewidth=0, label=label)
        for place, (name, line) in enumerate(self.values.items()):
            settings = {
                "color": CYCLE[place % len(CYCLE)],
                "linestyle": DASHES[place % len(DASHES)],
                "linewidth": 1.8,
                "marker": "o" if len(self.alphas) == 1 else "",
                "label": plain_text(name),
            }
            if place >= len(CYCLE):
                more = len(self.values) - len(CYCLE)
                settings = {"color": GREY, "linewidth": 0.8, "alpha": 0.6, "zorder": 1.5}
                settings["label"] = f"{more} more" if place == len(CYCLE) else ""
            (self.line_,) = ax.plot(self.alphas, line, **(settings | style))
        if self.alpha_interval is None:
            label = f"Used here ({show_short(self.alpha)})"
            ax.axvline(self.alpha, color=GREY, linewidth=1.2, linestyle="--", label=label)
        if self.alphas[0] < end:
            ax.set_xlim(float(self.alphas[0]), end)
        what = "Recovered value" if self.name is None else f"Recovered {plain_text(self.name)}"
        dress(ax, "Alpha: share of positives among unlabeled rows", what)
        longest = max(map(len, ax.get_legend_handles_labels()[1]))
        legend_below(ax, columns=1 if longest > MOST_CHARACTERS - 10 else 2)
        return self


@dataclass
class CalibrationDisplay(_Display):
    """How often rows with a given score are really positive.

    Parameters
    ----------
    mean_score : array of shape (n_bins,)
        Mean score in each bin.
    positive_share : array of shape (n_bins,)
        Recovered share of positives in each bin.
    name : str, optional
        Name of the curve, shown in the legend.
    """

    mean_score: Values
    positive_share: Values
    name: str | None = None

    def plot(self, ax: Any = None, **style: Any) -> CalibrationDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        CalibrationDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="Calibrated")
        settings = {"color": BLUE, "linewidth": 1.8, "marker": "o"} | style
        if self.name is not None:
            settings.setdefault("label", plain_text(self.name))
        (self.line_,) = ax.plot(self.mean_score, self.positive_share, **settings)
        dress(ax, "Mean score of the rows", "Share that is really positive")
        unit_square(ax)
        ax.set_aspect("equal")
        # Scores trained on PU labels are too low, which puts the curve into the upper left.
        show_legend(ax, "lower right")
        return self
