"""The parts of an evaluation: one metric, all at one threshold, all over alpha, and chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.results import html_estimates, html_table, make_frame, to_plain
from recoup._core.text import show_number, show_range
from recoup.metrics.intervals import mover
from recoup.metrics.spec import metric_spec

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("roc_auc", "accuracy", "f1", "precision")


@dataclass(frozen=True)
class Estimate:
    """One metric: as observed, as recovered, and how sure that is.

    Attributes
    ----------
    key : str
        Name of the metric in code, such as ``"roc_auc"``.
    label : str
        Name of the metric for people, such as ``"AUC"``.
    pu : float
        The value if every unlabeled row is taken as negative.
    recovered : float
        The corrected value, clipped to the metric's range.
    raw : float
        The corrected value before clipping. If it is far outside the range, alpha or beta is
        wrong.
    lower : float
        Lower limit of the confidence interval of the recovered value; NaN without an interval.
    upper : float
        Upper limit of the confidence interval of the recovered value; NaN without an interval.
    bound_lower : float
        Lowest value that the ranks of the labeled rows allow for these rows, up to a confidence
        band (Claesen et al. 2015); NaN for metrics without such bounds.
    bound_upper : float
        Highest value that the ranks of the labeled rows allow; NaN likewise.
    optimism : float
        What choosing the threshold on these rows adds to the raw value on average; the recovered
        value and its limits are lower by it. 0 where the threshold was given.
    possible_lower : float
        Lowest value if what nobody has checked is allowed for: an alpha that was estimated may be
        any that the scores allow, up to a tenth of the labels may be wrong unless beta was given,
        and labels may favor high or low scores unless they are known to be a random sample of the
        positives (:attr:`Evaluation.label_odds`). The lower limit itself where nothing is left
        open.
    possible_upper : float
        Highest value likewise.
    """

    key: str
    label: str
    pu: float
    recovered: float
    raw: float
    lower: float = np.nan
    upper: float = np.nan
    bound_lower: float = np.nan
    bound_upper: float = np.nan
    optimism: float = 0.0
    possible_lower: float = np.nan
    possible_upper: float = np.nan

    @classmethod
    def make(
        cls,
        key: str,
        pu: float,
        raw: float,
        limits: tuple[float, float],
        recovered: float | None = None,
        bounds: tuple[float, float] = (np.nan, np.nan),
        optimism: float = 0.0,
    ) -> Estimate:
        """Bring a raw value and its limits into the metric's range.

        Parameters
        ----------
        key : str
            Name of the metric.
        pu : float
            The value if every unlabeled row is taken as negative.
        raw : float
            The corrected value.
        limits : (float, float)
            Confidence interval of the corrected value.
        recovered : float, optional
            The value to show. By default the raw one, clipped to the metric's range.
        bounds : (float, float), default=(nan, nan)
            What the ranks of the labeled rows allow.
        optimism : float, default=0.0
            What choosing the threshold on these rows adds to the value; taken off again.

        Returns
        -------
        Estimate
            Its limits always hold the recovered value.
        """
        spec = metric_spec(key, "Estimate")
        value = spec.clip((raw if recovered is None else recovered) - optimism)
        plain = cls(
            key,
            spec.label,
            float(pu),
            float(value),
            float(raw),
            bound_lower=bounds[0],
            bound_upper=bounds[1],
            optimism=optimism,
        )
        if np.isnan(limits).any():
            return plain
        low, high = plain._inside(*limits)
        return replace(plain, lower=low, upper=high, possible_lower=low, possible_upper=high)

    def allowing(self, possible: tuple[float, float] | None) -> Estimate:
        """Return the same estimate with other limits of what is possible.

        Parameters
        ----------
        possible : (float, float) or None
            Limits that allow for what nobody has checked, as raw values. Those of the interval
            stay inside, and are all there is where nothing is left open.

        Returns
        -------
        Estimate
        """
        low, high = self.lower, self.upper
        if possible is not None and not np.isnan([low, high]).any():
            least, most = self._inside(*possible)
            low, high = min(least, low), max(most, high)
        return replace(self, possible_lower=low, possible_upper=high)

    def _inside(self, low: float, high: float) -> tuple[float, float]:
        """Bring raw limits into the metric's range, so that they hold the recovered value."""
        spec, center = metric_spec(self.key, "Estimate"), self.raw - self.optimism
        low, high = low - self.optimism, high - self.optimism
        if self.optimism:
            # What the choice adds is known on average only: this one may have added nothing, or
            # twice as much.
            room = abs(self.optimism)
            low, high = mover(center, [(low, high), (center - room, center + room)])
        # An interval that lies outside the range altogether is no certainty: at the end of the
        # range it keeps the width that it has.
        low = min(low, spec.high - (center - low)) if low > spec.high else low
        high = max(high, spec.low + (high - center)) if high < spec.low else high
        return min(spec.clip(low), self.recovered), max(spec.clip(high), self.recovered)

    def __repr__(self) -> str:
        """Show the value with its interval."""
        return (
            f"Estimate({self.key}: pu {self.pu:.4g}, recovered {self.recovered:.4g} "
            f"[{self.lower:.4g}, {self.upper:.4g}])"
        )

    def _repr_html_(self) -> str:
        return html_estimates([self], "Estimate")


@dataclass(frozen=True)
class HiddenPositives:
    """How many of the unlabeled rows are positive.

    Attributes
    ----------
    count : float
        Their number, or their summed weight.
    lower : float
        Lower limit of its confidence interval.
    upper : float
        Upper limit of its confidence interval.
    possible_lower : float
        The fewest there may be if an estimated alpha is any that the scores allow.
    possible_upper : float
        The most there may be likewise.
    n_unlabeled : float
        Number of unlabeled rows, or their summed weight.
    """

    count: float
    lower: float
    upper: float
    possible_lower: float
    possible_upper: float
    n_unlabeled: float

    def __str__(self) -> str:
        """Say it as a person would."""
        return f"{self.count:,.0f} [{self.lower:,.0f}, {self.upper:,.0f}]"


@dataclass(frozen=True, repr=False)
class Baseline:
    """What a ranking without information would show: labels shuffled among the rows.

    Attributes
    ----------
    auc_pu : float
        Area under the ROC curve of labeled against unlabeled rows, as observed.
    shuffled_low : float
        Lower limit of the area with shuffled labels.
    shuffled_high : float
        Upper limit of the area with shuffled labels.
    p_value : float
        Share of shuffles whose area is at least as large as the observed one.
    n_permutations : int
        How many times labels were shuffled; 0 where a formula says what all shuffles together
        would show, which is where both groups have 50 rows and few are tied.
    """

    auc_pu: float
    shuffled_low: float
    shuffled_high: float
    p_value: float
    n_permutations: int

    def __repr__(self) -> str:
        """Show the observed value against chance."""
        return (
            f"Baseline(auc_pu={self.auc_pu:.4g}, shuffled [{self.shuffled_low:.4g}, "
            f"{self.shuffled_high:.4g}], p={self.p_value:.2g})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Sensitivity:
    """Recovered metrics over a range of alpha.

    Attributes
    ----------
    alphas : ndarray of shape (n,)
        Shares of positives among the unlabeled rows.
    values : dict of str to ndarray of shape (n,)
        Every recovered metric at each of them.
    alpha : float
        The alpha of the evaluation.
    alpha_upper : float
        The largest alpha that the scores allow.
    alpha_interval : (float, float) or None
        The interval of alpha of the evaluation, where it has one.
    """

    alphas: FloatArray
    values: dict[str, FloatArray]
    alpha: float
    alpha_upper: float
    alpha_interval: tuple[float, float] | None = None

    def __repr__(self) -> str:
        """Show the range."""
        return (
            f"Sensitivity({len(self.values)} metrics, alpha {self.alphas[0]:.3g} to "
            f"{self.alphas[-1]:.3g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per alpha.

        Returns
        -------
        pandas.DataFrame
            With a column ``alpha`` and one for each metric.
        """
        return make_frame({"alpha": self.alphas} | self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists.

        Returns
        -------
        dict
            With ``"alpha"`` and the key of each metric.
        """
        plain: dict[str, Any] = to_plain({"alpha": self.alphas} | self.values)
        return plain

    def plot(self, ax: Any = None, metrics: Sequence[str] | None = None) -> Any:
        """Draw metrics over alpha.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.
        metrics : sequence of str, optional
            Keys of the metrics to draw. By default AUC, accuracy, F1 and precision.

        Returns
        -------
        SensitivityDisplay
        """
        from recoup.plot.curves import SensitivityDisplay

        keys = metrics or SHOWN
        display = SensitivityDisplay(
            alphas=self.alphas,
            values={metric_spec(key, "plot").label: self.values[key] for key in keys},
            alpha=self.alpha,
            alpha_upper=self.alpha_upper,
            alpha_interval=self.alpha_interval,
        )
        return display.plot(ax=ax)

    def _repr_html_(self) -> str:
        places = np.unique(np.linspace(0, len(self.alphas) - 1, 9).round().astype(int))
        columns = {"alpha": [show_number(alpha) for alpha in self.alphas[places]]}
        for key in SHOWN:
            label = metric_spec(key, "Sensitivity").label
            columns[label] = [show_number(value) for value in self.values[key][places]]
        used = show_number(self.alpha)
        if self.alpha_interval is not None:
            used = show_range(*self.alpha_interval)
        return html_table(
            columns,
            f"Recovered metrics over alpha. In use: {used}; the scores allow up to "
            f"{show_number(self.alpha_upper)}.",
        )


@dataclass(frozen=True, repr=False)
class OperatingPoint:
    """All threshold metrics at one threshold (rows with score >= threshold are positive).

    Attributes
    ----------
    threshold : float
        Rows with a score at or above it are predicted positive.
    positive_rate : float
        Share of the rows that are predicted positive.
    queue : float
        How many rows are predicted positive.
    metrics : dict of str to Estimate
        By key of the metric.
    """

    threshold: float
    positive_rate: float
    queue: float
    metrics: dict[str, Estimate]

    def __getitem__(self, key: str) -> Estimate:
        """Look a metric up by its key."""
        return look_up(self.metrics, key, "OperatingPoint")

    def __repr__(self) -> str:
        """Show the threshold and the trade-off it makes."""
        return (
            f"OperatingPoint(threshold={self.threshold:.4g}, queue={self.queue:,.0f}, "
            f"precision={self['precision'].recovered:.3g}, recall={self['recall'].recovered:.3g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric.

        Returns
        -------
        pandas.DataFrame
            With columns metric, pu, recovered, raw, lower, upper, bound_lower and bound_upper.
        """
        return estimates_frame(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        return {
            "threshold": float(self.threshold),
            "positive_rate": float(self.positive_rate),
            "queue": float(self.queue),
            "metrics": estimates_dict(self.metrics),
        }

    def _repr_html_(self) -> str:
        return html_estimates(
            list(self.metrics.values()),
            f"At threshold {self.threshold:.4g}: {self.queue:,.0f} rows "
            f"({100 * self.positive_rate:.3g}%) are flagged.",
        )


def look_up(metrics: dict[str, Estimate], key: str, caller: str) -> Estimate:
    """Return the metric of a key, or say why it is not there."""
    if key not in metrics:
        reason = "it is not a metric of one threshold"
        if metric_spec(key, caller).needs_probabilities:
            reason = "it needs scores in [0, 1], and is not a metric of one threshold"
        elif not metric_spec(key, caller).in_evaluate:
            reason = "it is another metric without its parameters"
        raise KeyError(f"{caller} has no {key!r} here: {reason}. It has {', '.join(metrics)}.")
    return metrics[key]


def estimates_frame(metrics: dict[str, Estimate]) -> pd.DataFrame:
    """Return one row per metric."""
    columns = (
        *("pu", "recovered", "raw", "lower", "upper", "bound_lower", "bound_upper", "optimism"),
        *("possible_lower", "possible_upper"),
    )
    return make_frame(
        {"metric": list(metrics)}
        | {name: [getattr(item, name) for item in metrics.values()] for name in columns}
    )


def estimates_dict(metrics: dict[str, Estimate]) -> dict[str, Any]:
    """Return plain values by key of the metric."""
    plain: dict[str, Any] = to_plain(
        {
            key: {name: value for name, value in vars(item).items() if name != "key"}
            for key, item in metrics.items()
        }
    )
    return plain
