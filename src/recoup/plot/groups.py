"""ForestDisplay: a number of every group with its interval, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.optional import require
from recoup.plot.curves import BLUE, GREY, ORANGE, dress, plain_text

# More lines than this no one reads: those with the lowest and the highest values are drawn.
MOST_SHOWN = 40
LONGEST_NAME = 30


@dataclass
class ForestDisplay:
    """Values of groups with their intervals, and that of all groups together as a line.

    Parameters
    ----------
    names : sequence of str
        The groups, from the top down.
    values : array-like of shape (n_groups,)
        Their values.
    lower, upper : array-like of shape (n_groups,)
        Limits of their intervals.
    own : array-like of shape (n_groups,)
        How much of each came from the group's own rows; a pale point came from all groups.
    total : tuple of three floats
        Value of all groups together, and its limits.
    label : str
        What the numbers are.

    Attributes
    ----------
    ax_ : Axes
        What was drawn on, after ``plot``.
    figure_ : Figure
        Likewise.
    """

    names: Sequence[str]
    values: ArrayLike
    lower: ArrayLike
    upper: ArrayLike
    own: ArrayLike
    total: tuple[float, float, float]
    label: str
    ax_: Any = field(init=False, repr=False, default=None)
    figure_: Any = field(init=False, repr=False, default=None)

    @classmethod
    def from_metric(cls, metric: Any) -> ForestDisplay:
        """Read the arrays of a metric by group.

        Parameters
        ----------
        metric : GroupMetric
            One entry of what :func:`recoup.evaluate_by` returned.

        Returns
        -------
        ForestDisplay
        """
        total = metric.total
        return cls(
            metric.groups.names,
            metric.recovered,
            metric.lower,
            metric.upper,
            metric.own,
            (total.recovered, total.lower, total.upper),
            metric.label,
        )

    def plot(self, ax: Any = None) -> ForestDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or Figure, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ForestDisplay
            Itself.
        """
        pyplot = None
        if ax is None:
            pyplot = require("matplotlib.pyplot", purpose="plot()", install="matplotlib")
        columns = (self.values, self.lower, self.upper, self.own)
        values, lower, upper, own = (np.asarray(column, float) for column in columns)
        shown = np.arange(len(values))
        if len(values) > MOST_SHOWN:
            order = np.argsort(np.where(np.isnan(values), np.inf, values))
            half = MOST_SHOWN // 2
            shown = np.concatenate([order[:half], order[-half:]])
        if pyplot is not None:
            _, ax = pyplot.subplots(figsize=(7, 1.2 + 0.3 * len(shown)), layout="constrained")
        elif hasattr(ax, "subplots"):
            ax = ax.subplots()
        places = np.arange(len(shown))
        middle, low, high = self.total
        ax.axvspan(low, high, color=GREY, alpha=0.2, linewidth=0)
        ax.axvline(middle, color=GREY, label="all together")
        ax.hlines(places, lower[shown], upper[shown], color=BLUE)
        ax.scatter(
            values[shown],
            places,
            c=own[shown],
            cmap="Blues",
            vmin=-0.3,
            vmax=1.0,
            edgecolors=BLUE,
            zorder=3,
        )
        ax.set_yticks(
            places, [plain_text(self.names[place], LONGEST_NAME) for place in shown.tolist()]
        )
        ax.set_ylim(len(shown) - 0.5, -0.5)
        dress(ax, self.label, "")
        if len(shown) < len(values):
            ax.axhline(len(shown) / 2 - 0.5, color=ORANGE, linestyle=":")
            ax.set_title(
                f"The {MOST_SHOWN // 2} lowest and highest of {len(values):,} groups", fontsize=10
            )
        ax.legend(loc="best", fontsize=8)
        self.ax_, self.figure_ = ax, ax.figure
        return self
