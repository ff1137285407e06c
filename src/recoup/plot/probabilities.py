"""The picture of a calibration: chances along the scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from recoup.plot.curves import BLUE, Values, _Display, dress, plain_text, show_legend


@dataclass(kw_only=True)
class ProbabilityDisplay(_Display):
    """Chance of being positive for each score, with limits.

    Parameters
    ----------
    scores : array of shape (n,)
        Ascending.
    probability : array of shape (n,)
        Chance at each score.
    lower, upper : array of shape (n,), optional
        Limits of the chances.
    name : str, optional
        Name of the curve, shown in the legend.
    """

    scores: Values
    probability: Values
    lower: Values | None = None
    upper: Values | None = None
    name: str | None = None

    def plot(self, ax: Any = None, **style: Any) -> ProbabilityDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color`` or ``linewidth``.

        Returns
        -------
        ProbabilityDisplay
            This display; ``ax_``, ``figure_`` and ``line_`` hold what was drawn.
        """
        ax = self._start(ax)
        settings = {"color": BLUE, "linewidth": 2.0} | style
        if self.name is not None:
            settings.setdefault("label", plain_text(self.name))
        (self.line_,) = ax.plot(self.scores, self.probability, **settings)
        if self.lower is not None and self.upper is not None:
            color = self.line_.get_color()
            ax.fill_between(
                self.scores, self.lower, self.upper, color=color, alpha=0.18, linewidth=0
            )
        dress(ax, "Score", "Chance of being positive")
        ax.set_ylim(-0.02, 1.02)
        show_legend(ax, "upper left")
        return self
