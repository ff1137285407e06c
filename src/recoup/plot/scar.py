"""Pictures about which positives got labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from recoup._core.text import say_p
from recoup.plot.curves import (
    CYCLE,
    DASHES,
    GREY,
    ORANGE,
    SKY,
    Values,
    _Display,
    dress,
    legend_below,
    plain_text,
    show_legend,
)


@dataclass(kw_only=True)
class ScarDisplay(_Display):
    """A statistic beside what it would be if labels were a random sample of the positives.

    Parameters
    ----------
    statistic : float
        The statistic of the data.
    null : array of shape (n_resamples,)
        The statistics of resampled data.
    p_value : float
        Share of ``null`` that is at least as large as the statistic.
    name : str, default="statistic"
        What the statistic is.
    """

    statistic: float
    null: Values
    p_value: float
    name: str = "statistic"

    def plot(self, ax: Any = None) -> ScarDisplay:
        """Draw a histogram of the null and a line at the statistic.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        ScarDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        bins = min(max(len(self.null) // 8, 5), 40)
        ax.hist(self.null, bins=bins, color=SKY, label="Labels at random")
        self.line_ = ax.axvline(
            self.statistic,
            color=ORANGE,
            linewidth=2,
            label=f"These labels ({say_p(self.p_value)})",
        )
        dress(ax, plain_text(self.name), "Resamples")
        show_legend(ax, "best")
        return self


@dataclass(kw_only=True)
class SelectionDisplay(_Display):
    """Recovered metrics over the strength of selection.

    Parameters
    ----------
    places : array of shape (n,)
        Where each strength stands, ascending: low scores favored below 0, high ones above.
    strengths : array of shape (n,)
        The strengths, written below the axis.
    values : mapping of str to array of shape (n,)
        One line per name.
    lower : mapping of str to array of shape (n,), optional
        Lower limits of the lines, by the same names.
    upper : mapping of str to array of shape (n,), optional
        Upper limits of the lines.
    """

    places: Values
    strengths: Values
    values: Mapping[str, Values]
    lower: Mapping[str, Values] = field(default_factory=dict)
    upper: Mapping[str, Values] = field(default_factory=dict)

    def plot(self, ax: Any = None) -> SelectionDisplay:
        """Draw the lines over their bands; ``line_`` is the last one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        SelectionDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        for place, (name, line) in enumerate(self.values.items()):
            color = CYCLE[place % len(CYCLE)]
            if name in self.lower:
                ends = self.lower[name], self.upper[name]
                ax.fill_between(self.places, *ends, color=color, alpha=0.15, linewidth=0)
            (self.line_,) = ax.plot(
                self.places,
                line,
                color=color,
                linestyle=DASHES[place % len(DASHES)],
                marker="o",
                markersize=3,
                label=plain_text(name),
            )
        ax.axvline(0.0, color=GREY, linewidth=1.2, linestyle="--", label="Labels at random")
        ticks, first = np.unique(self.places, return_index=True)
        ax.set_xticks(ticks, [f"{strength:g}" for strength in self.strengths[first]])
        ax.set_ylim(-0.02, 1.02)
        dress(ax, "Labels favor low scores  <  strength  >  high scores", "Recovered value")
        legend_below(ax, columns=2)
        return self
