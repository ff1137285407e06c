"""Pictures of benchmarks: how learners rank, and what their figures depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._core.optional import require
from recoup._core.text import show_short
from recoup.plot.curves import (
    BLUE,
    CYCLE,
    DASHES,
    GREY,
    Values,
    _Display,
    dress,
    legend_below,
    plain_text,
)

SHORT = 28
MARKERS = ("o", "s", "^", "D", "v", "P")


def sized_axes(width: float, height: float) -> Any:
    """Make a figure of so many inches with one pair of axes."""
    pyplot = require("matplotlib.pyplot", purpose="plot()", install="matplotlib")
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def line_style(place: int) -> dict[str, Any]:
    """Return color and dashes of the line at this place; 36 lines look different."""
    return {
        "color": CYCLE[place % len(CYCLE)],
        "linestyle": DASHES[place // len(CYCLE) % len(DASHES)],
    }


def _few_plain_ticks(axis: Any) -> None:
    """Mark 1, 2 and 5 of each power of ten on a logarithmic axis, as plain numbers."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def legend_above(ax: Any, columns: int) -> None:
    """Add a legend where neither it nor slanted names below the axes cover anything."""
    ax.legend(
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
        frameon=False,
        fontsize="small",
    )


@dataclass(kw_only=True)
class CriticalDifferenceDisplay(_Display):
    """Average ranks on a line; learners that cannot be told apart are joined by a bar.

    Parameters
    ----------
    names : sequence of str
        Learners, best first.
    ranks : array of shape (n,)
        Their average ranks, ascending.
    critical_difference : float, default=nan
        Difference of ranks that counts as significant, drawn as a bar of this length; nan draws
        none.
    cliques : sequence of sequence of int, default=()
        Places in ``names`` of learners to be joined.
    name : str, default=""
        What was ranked.
    """

    names: Sequence[str]
    ranks: Values
    critical_difference: float = float("nan")
    cliques: Sequence[Sequence[int]] = ()
    name: str = ""

    def plot(self, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw the diagram; ``line_`` is the axis of ranks.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        CriticalDifferenceDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        n = len(self.names)
        on_left = (n + 1) // 2
        n_bars = len(self.cliques)
        depth = n_bars * 0.55 + on_left + 0.8
        ax = self._start(sized_axes(8.5, 1.3 + 0.27 * depth) if ax is None else ax)
        left, right = 1.0, max(float(n), 2.0)
        air = 0.08 * (right - left)
        (self.line_,) = ax.plot([left, right], [0, 0], color="black", linewidth=1.2)
        for tick in range(1, int(right) + 1):
            ax.plot([tick, tick], [0, 0.25], color="black", linewidth=1.0)
            ax.text(tick, 0.4, str(tick), ha="center", va="bottom", fontsize="small")
        for place, (name, rank) in enumerate(zip(self.names, self.ranks, strict=True)):
            is_left = place < on_left
            row = place if is_left else n - 1 - place
            height = -(n_bars * 0.55 + 0.8 + row)
            end = left - air if is_left else right + air
            ax.plot([rank, rank, end], [0, height, height], color=GREY, linewidth=0.9)
            ax.plot([rank], [0], "o", color=BLUE, markersize=4, zorder=3)
            shown = plain_text(name, SHORT)
            text = f"{shown}  {rank:.2f} " if is_left else f" {rank:.2f}  {shown}"
            side = "right" if is_left else "left"
            ax.text(end, height, text, ha=side, va="center", fontsize="small")
        for place, group in enumerate(self.cliques):
            ends = [float(self.ranks[member]) for member in group]
            span = min(ends) - 0.15 * air, max(ends) + 0.15 * air
            height = -0.55 * (place + 0.8)
            ax.plot(span, [height, height], color="black", linewidth=3.5, solid_capstyle="butt")
        top = 1.3
        if np.isfinite(self.critical_difference):
            top = 2.6
            reach = left + self.critical_difference
            ax.plot([left, reach], [1.7, 1.7], color=BLUE, linewidth=1.5, marker="|")
            label = f"critical difference {show_short(self.critical_difference)}"
            ax.text(left, 1.95, label, ha="left", va="bottom", fontsize="small", color=BLUE)
            right = max(right, reach)
        # Room for names on both sides.
        room = 0.75 * (right - left)
        ax.set_xlim(left - room, right + room)
        ax.set_ylim(-depth, top)
        ax.set_axis_off()
        ax.set_title(f"Average rank, 1 is best{_about(self.name)}", loc="left", fontsize="medium")
        return self


def _about(name: str) -> str:
    return f": {plain_text(name)}" if name else ""


@dataclass(kw_only=True)
class RankDisplay(_Display):
    """Average ranks with intervals.

    Parameters
    ----------
    names : sequence of str
        Learners, best first.
    ranks : array of shape (n,)
        Their average ranks.
    lower : array of shape (n,)
        Lower limits of the ranks; nan draws no interval.
    upper : array of shape (n,)
        Upper limits of the ranks.
    name : str, default=""
        What was ranked.
    """

    names: Sequence[str]
    ranks: Values
    lower: Values
    upper: Values
    name: str = ""

    def plot(self, ax: Any = None) -> RankDisplay:
        """Draw a dot and a line for each learner.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        RankDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        n = len(self.names)
        ax = self._start(sized_axes(6.5, 1.3 + 0.27 * n) if ax is None else ax)
        heights = np.arange(n)[::-1]
        ax.hlines(heights, self.lower, self.upper, color=BLUE, linewidth=2, alpha=0.5)
        (self.line_,) = ax.plot(self.ranks, heights, "o", color=BLUE)
        ax.set_yticks(heights, [plain_text(name, SHORT) for name in self.names])
        ax.set_xlim(0.8, max(n, 2) + 0.2)
        dress(ax, f"Average rank, 1 is best{_about(self.name)}", "Learner")
        return self


@dataclass(kw_only=True)
class LabelFrequencyDisplay(_Display):
    """A metric of each learner over the share of positives that carry a label.

    Parameters
    ----------
    label_frequencies : array of shape (n,)
        Shares of the positives with a label, ascending.
    values : mapping of str to array of shape (n,)
        One line per learner; nan leaves a gap.
    lower : mapping of str to array of shape (n,), optional
        Lower edges of bands, for the learners that have one.
    upper : mapping of str to array of shape (n,), optional
        Upper edges of bands.
    name : str, default="value"
        Name of the metric.
    """

    label_frequencies: Values
    values: Mapping[str, Values]
    lower: Mapping[str, Values] | None = None
    upper: Mapping[str, Values] | None = None
    name: str = "value"

    def plot(self, ax: Any = None) -> LabelFrequencyDisplay:
        """Draw the lines; ``line_`` is the last one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        LabelFrequencyDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        rows = -(-len(self.values) // 3)
        ax = self._start(sized_axes(7.0, 4.6 + 0.2 * rows) if ax is None else ax)
        for place, (name, line) in enumerate(self.values.items()):
            style = line_style(place)
            (self.line_,) = ax.plot(
                self.label_frequencies,
                line,
                marker="o",
                markersize=3,
                linewidth=1.6,
                label=plain_text(name, SHORT),
                **style,
            )
            if self.lower is not None and self.upper is not None and name in self.lower:
                ax.fill_between(
                    self.label_frequencies,
                    self.lower[name],
                    self.upper[name],
                    color=style["color"],
                    alpha=0.12,
                    linewidth=0,
                )
        ax.set_xscale("log")
        ax.set_xticks(self.label_frequencies, [f"{c:g}" for c in self.label_frequencies])
        ax.tick_params(axis="x", labelrotation=60, labelsize="small")
        ax.minorticks_off()
        dress(ax, "Share of the positives with a label", plain_text(self.name))
        legend_above(ax, columns=min(3, max(len(self.values), 1)))
        return self


@dataclass(kw_only=True)
class MechanismDisplay(_Display):
    """A metric under each labeling mechanism: bars for few labels, marks for many.

    Parameters
    ----------
    names : sequence of str
        Learners.
    mechanisms : sequence of str
        Labeling mechanisms: which positives get a label.
    bars : array of shape (n_mechanisms, n_learners)
        The metric with few labels; nan draws no bar.
    errors : array of the same shape, optional
        Half lengths of the lines on the bars.
    marks : array of the same shape, optional
        The metric with many labels.
    bars_name : str, default=""
        What the bars stand for.
    marks_name : str, default=""
        What the marks stand for.
    shaded : sequence of int, default=()
        Places in ``names`` of learners that are made for labels not at random.
    name : str, default="value"
        Name of the metric.
    """

    names: Sequence[str]
    mechanisms: Sequence[str]
    bars: Values
    errors: Values | None = None
    marks: Values | None = None
    bars_name: str = ""
    marks_name: str = ""
    shaded: Sequence[int] = ()
    name: str = "value"

    def plot(self, ax: Any = None) -> MechanismDisplay:
        """Draw a group of bars for each learner; ``line_`` is the last line of marks, if any.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        MechanismDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        n = len(self.names)
        ax = self._start(sized_axes(max(6.0, 2.0 + 0.55 * n), 5.2) if ax is None else ax)
        width = 0.8 / max(len(self.mechanisms), 1)
        for place in self.shaded:
            ax.axvspan(place - 0.5, place + 0.5, color=GREY, alpha=0.15, linewidth=0)
        for row, mechanism in enumerate(self.mechanisms):
            x = np.arange(n) - 0.4 + (row + 0.5) * width
            color = CYCLE[row % len(CYCLE)]
            label = " ".join(filter(None, (plain_text(mechanism, SHORT), self.bars_name)))
            bars = np.nan_to_num(self.bars[row])
            ax.bar(x, bars, width, color=color, alpha=0.75, label=label)
            if self.errors is not None:
                known = np.isfinite(self.bars[row]) & np.isfinite(self.errors[row])
                reach = self.errors[row][known]
                ax.errorbar(
                    x[known], bars[known], reach, fmt="none", ecolor="black", elinewidth=0.7
                )
            if self.marks is not None:
                label = " ".join(filter(None, (plain_text(mechanism, SHORT), self.marks_name)))
                (self.line_,) = ax.plot(
                    np.arange(n),
                    self.marks[row],
                    color=color,
                    marker=MARKERS[row % len(MARKERS)],
                    markersize=4,
                    linewidth=1.2,
                    label=label,
                )
        ax.set_xticks(np.arange(n), [plain_text(name, SHORT) for name in self.names])
        ax.tick_params(axis="x", labelrotation=60, labelsize="small")
        for label in ax.get_xticklabels():
            label.set_ha("right")
            label.set_rotation_mode("anchor")
        ax.set_xlim(-0.6, n - 0.4)
        dress(ax, "", plain_text(self.name))
        legend_above(ax, columns=max(len(self.mechanisms), 1))
        return self


@dataclass(kw_only=True)
class TradeOffDisplay(_Display):
    """What learners cost and what they give: time across, the metric up, memory as size.

    Parameters
    ----------
    names : sequence of str
        Learners; points carry their number in the legend.
    seconds : array of shape (n,)
        How long each learner takes.
    values : array of shape (n,)
        The metric of each learner.
    memory : array of shape (n,), optional
        Bytes, as the area of the points; unknown ones are drawn smallest.
    name : str, default="value"
        Name of the metric.
    """

    names: Sequence[str]
    seconds: Values
    values: Values
    memory: Values | None = None
    name: str = "value"

    def plot(self, ax: Any = None) -> TradeOffDisplay:
        """Draw a point for each learner; ``line_`` is the last one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        TradeOffDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        rows = -(-len(self.names) // 3)
        ax = self._start(sized_axes(7.0, 4.6 + 0.2 * rows) if ax is None else ax)
        sizes = np.full(len(self.names), 150.0)
        if self.memory is not None and np.isfinite(self.memory).any():
            share = np.nan_to_num(self.memory) / np.nanmax(self.memory)
            sizes = 60 + 840 * share
        for place, name in enumerate(self.names):
            x, y = self.seconds[place], self.values[place]
            label = f"{place + 1} {plain_text(name, SHORT)}"
            color = CYCLE[place % len(CYCLE)]
            shape = MARKERS[place // len(CYCLE) % len(MARKERS)]
            self.line_ = ax.scatter(
                x, y, s=sizes[place], marker=shape, color=color, alpha=0.55, label=label
            )
            if np.isfinite(x) and np.isfinite(y):
                ax.annotate(str(place + 1), (x, y), ha="center", va="center", fontsize="x-small")
        ax.set_xscale("log")
        _few_plain_ticks(ax.xaxis)
        across = "Seconds to train"
        if self.memory is not None and np.isfinite(self.memory).any():
            across += f"; largest point: {np.nanmax(self.memory) / 1e9:.3g} GB"
        dress(ax, across, plain_text(self.name))
        legend_below(ax, columns=min(3, max(len(self.names), 1)))
        for handle in ax.get_legend().legend_handles:
            handle.set_sizes([40.0])
        return self


@dataclass(kw_only=True)
class RadarDisplay(_Display):
    """Several metrics of each learner as the corners of a polygon.

    Parameters
    ----------
    metrics : sequence of str
        One spoke each, from the top and clockwise.
    values : mapping of str to array of shape (n_metrics,)
        One polygon per learner; corners that are NaN are left out.
    low : float, default=0.0
        Value at the center; lower values are drawn there.
    high : float, default=1.0
        Value at the rim; higher values are drawn there.
    name : str, default=""
        What the figures are about, such as the dataset.
    """

    metrics: Sequence[str]
    values: Mapping[str, Values]
    low: float = 0.0
    high: float = 1.0
    name: str = ""

    def plot(self, ax: Any = None) -> RadarDisplay:
        """Draw the polygons; ``line_`` is the last one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        RadarDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        rows = -(-len(self.values) // 3)
        ax = self._start(sized_axes(5.8, 5.4 + 0.2 * rows) if ax is None else ax)
        angles = np.pi / 2 - 2 * np.pi * np.arange(len(self.metrics)) / len(self.metrics)
        around = np.append(angles, angles[0])
        for ring in (0.25, 0.5, 0.75, 1.0):
            ax.plot(ring * np.cos(around), ring * np.sin(around), color=GREY, lw=0.6, alpha=0.5)
            level = self.low + ring * (self.high - self.low)
            ax.text(0.015, ring, show_short(level), fontsize="x-small", color=GREY, va="bottom")
        for metric, angle in zip(self.metrics, angles, strict=True):
            x, y = np.cos(angle), np.sin(angle)
            ax.plot([0, x], [0, y], color=GREY, linewidth=0.6, alpha=0.5)
            side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
            ax.text(1.08 * x, 1.1 * y, plain_text(metric), ha=side, va="center", fontsize="small")
        for place, (name, corners) in enumerate(self.values.items()):
            reach = np.clip((np.asarray(corners) - self.low) / (self.high - self.low), 0.0, 1.0)
            known = np.isfinite(reach)
            x, y = reach[known] * np.cos(angles[known]), reach[known] * np.sin(angles[known])
            (self.line_,) = ax.plot(
                np.append(x, x[:1]),
                np.append(y, y[:1]),
                linewidth=1.6,
                label=plain_text(name, SHORT),
                **line_style(place),
            )
        ax.set_xlim(-1.5, 1.5)
        ax.set_ylim(-1.25, 1.25)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title(plain_text(self.name), loc="left")
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=min(3, max(len(self.values), 1)),
            frameon=False,
            fontsize="small",
        )
        return self
