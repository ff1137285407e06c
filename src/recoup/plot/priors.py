"""The picture behind a prior estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recoup._core.text import show_short
from recoup.plot.curves import (
    BLUE,
    CYCLE,
    DASHES,
    GREY,
    ORANGE,
    Values,
    _Display,
    dress,
    plain_text,
    show_legend,
)

SHORT = 20


@dataclass(kw_only=True)
class PriorDisplay(_Display):
    """Draw the curve an estimator looks at with its answer; or the answers of several.

    Parameters
    ----------
    alpha : float
        The estimate.
    interval : (float, float), optional
        Interval around the estimate.
    x : array of shape (n,), optional
        What the curves run over. Without it the members are drawn as a dot chart.
    lines : dict of str to array of shape (n,), default={}
        The curves by name.
    x_label : str, default=""
        Name of the horizontal axis.
    y_label : str, default=""
        Name of the vertical axis.
    marker : float, default=nan
        Where on x the estimate is read off; nan draws no line.
    level : float, optional
        Height of a threshold that the method compares with.
    members : dict of str to float, default={}
        Other estimates of the same share.
    name : str, default=""
        Name of the method.
    """

    alpha: float
    interval: tuple[float, float] | None = None
    x: Values | None = None
    lines: Mapping[str, Values] = field(default_factory=dict)
    x_label: str = ""
    y_label: str = ""
    marker: float = float("nan")
    level: float | None = None
    members: Mapping[str, float] = field(default_factory=dict)
    name: str = ""

    def plot(self, ax: Any = None) -> PriorDisplay:
        """Draw the curves, or the dot chart.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        PriorDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        if self.x is not None:
            self._curves(ax)
        else:
            self._dots(ax)
        limits = "" if self.interval is None else " ({:.3f} to {:.3f})".format(*self.interval)
        name = plain_text(self.name, SHORT)
        ax.set_title(f"{name}: alpha = {self.alpha:.3f}{limits}", loc="left")
        return self

    def _curves(self, ax: Any) -> None:
        for number_, (label, values) in enumerate(self.lines.items()):
            color, dash = CYCLE[number_ % len(CYCLE)], DASHES[number_ % len(DASHES)]
            (line,) = ax.plot(self.x, values, color=color, linestyle=dash, label=plain_text(label))
            if number_ == 0:
                self.line_ = line
        if self.level is not None:
            ax.axhline(
                self.level, color=GREY, linestyle=":", label=f"level {show_short(self.level)}"
            )
        if np.isfinite(self.marker):
            ax.axvline(self.marker, color=ORANGE, linewidth=1, label="estimate")
        dress(ax, self.x_label, self.y_label)
        show_legend(ax, "best")

    def _dots(self, ax: Any) -> None:
        names = [*self.members, self.name]
        values = [*self.members.values(), self.alpha]
        places = np.arange(len(names))[::-1]
        if self.interval is not None:
            ax.axvspan(*self.interval, color=BLUE, alpha=0.12, linewidth=0, label="interval")
        ax.axvline(self.alpha, color=BLUE, linewidth=1, label="estimate")
        colors = [GREY] * len(self.members) + [BLUE]
        self.line_ = ax.scatter(values, places, color=colors, zorder=3)
        ax.set_yticks(places, [plain_text(name, SHORT) for name in names])
        ax.set_xlim(-0.02, 1.02)
        dress(ax, "alpha: share of positives among the unlabeled rows", "Method")
        show_legend(ax, "best")
