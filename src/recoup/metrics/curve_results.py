"""Curves over thresholds, as results: arrays, a table, a picture."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number
from recoup.metrics.spec import metric_spec

if TYPE_CHECKING:
    import pandas as pd


SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
COUNTS = (
    *("rows", "lower_tp", "lower_fp", "lower_fn", "lower_tn"),
    *("upper_tp", "upper_fp", "upper_fn", "upper_tn"),
)
HEADINGS = {
    "fpr": "FPR",
    "tpr": "TPR (recall)",
    "ece": "expected calibration error",
    "raw_ece": "with sampling error",
}


@dataclass(frozen=True, repr=False, eq=False)
class Band:
    """Confidence band of a curve on a grid of its horizontal axis.

    Attributes
    ----------
    x : ndarray of shape (n,)
        Places on the horizontal axis.
    lower : ndarray of shape (n,)
        Lower limit of the curve there.
    upper : ndarray of shape (n,)
        Upper limit of the curve there.
    simultaneous : bool
        Whether it holds the whole curve with its confidence, rather than each point.
    """

    x: FloatArray
    lower: FloatArray
    upper: FloatArray
    simultaneous: bool = False


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """What all curves share; fields that are arrays are columns."""

    _along: ClassVar[str] = ""

    def __repr__(self) -> str:
        """Name the curve and its length."""
        return f"{type(self).__name__}({len(self._columns()['threshold']):,} thresholds)"

    def _columns(self) -> dict[str, Any]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per threshold.

        Returns
        -------
        pandas.DataFrame
            With a column for each attribute that is an array.
        """
        return make_frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain lists and numbers.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(
            {item.name: getattr(self, item.name) for item in fields(self)}
        )
        return plain

    def _repr_html_(self) -> str:
        """Show some points, at given shares along the curve or evenly over its thresholds."""
        columns = self._columns()
        length = len(columns["threshold"])
        places = np.linspace(0, length - 1, 11).round().astype(int)
        if self._along:
            way = columns[self._along]
            places = np.minimum(np.searchsorted(way, SHARES), length - 1)
        places = np.unique(places)
        shown = {
            _heading(name): [
                show_number(value, ",.0f" if name in COUNTS else "") for value in values[places]
            ]
            for name, values in columns.items()
            if not name.startswith("raw_")
        }
        facts = ""
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, float | str):
                text = value if isinstance(value, str) else show_number(value)
                facts += f"; {_heading(item.name)} {text}"
        return html_table(shown, f"{type(self).__name__}: {length:,} thresholds{facts}")


@dataclass(frozen=True, repr=False, eq=False)
class RocCurve(Curve):
    """Recovered true and false positive rates, from the highest threshold down.

    Attributes
    ----------
    fpr : ndarray of shape (n,)
        False positive rates. They never fall and stay in [0, 1].
    tpr : ndarray of shape (n,)
        True positive rates. They never fall and stay in [0, 1].
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    raw_fpr : ndarray of shape (n,)
        False positive rates as the correction gives them. Noise may make them fall, or push them
        outside [0, 1].
    raw_tpr : ndarray of shape (n,)
        True positive rates as the correction gives them.
    pi : float
        Share of positives in the population that is judged.
    """

    _along: ClassVar[str] = "fpr"

    fpr: FloatArray
    tpr: FloatArray
    threshold: FloatArray
    raw_fpr: FloatArray
    raw_tpr: FloatArray
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color``.

        Returns
        -------
        RocDisplay
            With ``ax_``, ``figure_`` and ``line_``.
        """
        from recoup.plot.curves import RocDisplay

        return RocDisplay(fpr=self.fpr, tpr=self.tpr, name="Recovered").plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class PrCurve(Curve):
    """Recovered precision and recall, from the highest threshold down.

    Attributes
    ----------
    precision : ndarray of shape (n,)
        Share of positives among the rows predicted positive.
    recall : ndarray of shape (n,)
        Share of the positives that are predicted positive.
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    pi : float
        Share of positives in the population that is judged.
    """

    _along: ClassVar[str] = "recall"

    precision: FloatArray
    recall: FloatArray
    threshold: FloatArray
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color``.

        Returns
        -------
        PrDisplay
            With ``ax_``, ``figure_`` and ``line_``.
        """
        from recoup.plot.curves import PrDisplay

        display = PrDisplay(
            recall=self.recall, precision=self.precision, pi=self.pi, name="Recovered"
        )
        return display.plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class LiftCurve(Curve):
    """Recall against the share of rows predicted positive.

    Attributes
    ----------
    positive_rate : ndarray of shape (n,)
        Share of the population that is predicted positive.
    tpr : ndarray of shape (n,)
        Share of the positives that are predicted positive.
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    pi : float
        Share of positives in the population that is judged.
    """

    _along: ClassVar[str] = "positive_rate"

    positive_rate: FloatArray
    tpr: FloatArray
    threshold: FloatArray
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color``.

        Returns
        -------
        LiftDisplay
            With ``ax_``, ``figure_`` and ``line_``.
        """
        from recoup.plot.curves import LiftDisplay

        display = LiftDisplay(
            positive_rate=self.positive_rate, tpr=self.tpr, pi=self.pi, name="Recovered"
        )
        return display.plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class MetricCurve(Curve):
    """A metric over thresholds, with the threshold where it is best.

    Values follow the smoothed curve, whose rates never fall. ``Evaluation.at`` counts rows at one
    threshold as they are, so the two differ where sampling noise had to be smoothed.

    Attributes
    ----------
    metric : str
        Key of the metric.
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    values : ndarray of shape (n,)
        The recovered metric at each threshold; not a number where it is not defined.
    best_threshold : float
        Where the metric is highest, or lowest if less is better.
    best_value : float
        The metric there.
    """

    metric: str
    threshold: FloatArray
    values: FloatArray
    best_threshold: float
    best_value: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the metric over thresholds.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color``.

        Returns
        -------
        MetricDisplay
            With ``ax_``, ``figure_`` and ``line_``.
        """
        from recoup.plot.curves import MetricDisplay

        display = MetricDisplay(
            threshold=self.threshold,
            values=self.values,
            best_threshold=self.best_threshold,
            name=metric_spec(self.metric, "plot").label,
        )
        return display.plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class CalibrationCurve(Curve):
    """Recovered share of positives in bins of the score, and the expected calibration error.

    Attributes
    ----------
    threshold : ndarray of shape (n_bins,)
        Lowest score of each bin.
    mean_score : ndarray of shape (n_bins,)
        Mean predicted probability in each bin.
    positive_share : ndarray of shape (n_bins,)
        Recovered share of positives in each bin, clipped to [0, 1].
    raw_positive_share : ndarray of shape (n_bins,)
        The same before clipping.
    lower : ndarray of shape (n_bins,)
        Lower limit of the confidence interval of the share.
    upper : ndarray of shape (n_bins,)
        Upper limit of the confidence interval of the share.
    rows : ndarray of shape (n_bins,)
        Rows of the judged population in each bin.
    ece : float
        Expected calibration error: mean distance of the two shares, weighted by rows, less what
        sampling error alone would make of it in each bin.
    raw_ece : float
        The mean distance itself, which is above zero for perfect probabilities too.
    """

    threshold: FloatArray
    mean_score: FloatArray
    positive_share: FloatArray
    raw_positive_share: FloatArray
    lower: FloatArray
    upper: FloatArray
    rows: FloatArray
    ece: float
    raw_ece: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the calibration curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        **style
            Passed on to matplotlib's ``plot``, such as ``color``.

        Returns
        -------
        CalibrationDisplay
            With ``ax_``, ``figure_`` and ``line_``.
        """
        from recoup.plot.curves import CalibrationDisplay

        display = CalibrationDisplay(
            mean_score=self.mean_score, positive_share=self.positive_share, name="Recovered"
        )
        return display.plot(ax=ax, **style)


def _heading(name: str) -> str:
    return HEADINGS.get(name, name.replace("_", " "))
