"""Pictures of numbers that change with time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recoup.plot.curves import (
    BLUE,
    ORANGE,
    Values,
    _Display,
    dress,
    plain_text,
    show_legend,
)

MOST_TICKS = 8


@dataclass(kw_only=True)
class PeriodsDisplay(_Display):
    """A metric over periods, with its band.

    Parameters
    ----------
    periods : sequence of str
        Names of the periods, in order.
    values : array of shape (n_periods,)
        The metric; NaN where there is none.
    lower, upper : array of shape (n_periods,)
        Its interval.
    name : str, default="value"
        What the metric is called.
    marks : mapping of str to str, optional
        What began with a period, by the name of the period.
    """

    periods: Sequence[str]
    values: Values
    lower: Values
    upper: Values
    name: str = "value"
    marks: Mapping[str, str] = field(default_factory=dict)

    def plot(self, ax: Any = None) -> PeriodsDisplay:
        """Draw the line over its band, and an upright line at each mark.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        PeriodsDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        places = np.arange(len(self.periods))
        ax.fill_between(places, self.lower, self.upper, color=BLUE, alpha=0.18, linewidth=0)
        (self.line_,) = ax.plot(places, self.values, color=BLUE, label=plain_text(self.name))
        for period, what in self.marks.items():
            ax.axvline(
                list(self.periods).index(period),
                color=ORANGE,
                linestyle="--",
                label=plain_text(f"{what} since {period}"),
            )
        step = max(1, -(-len(self.periods) // MOST_TICKS))
        ax.set_xticks(
            places[::step],
            [plain_text(name) for name in self.periods[::step]],
            rotation=30,
            ha="right",
        )
        dress(ax, "", plain_text(self.name))
        show_legend(ax, "best")
        return self
