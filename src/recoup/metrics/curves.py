"""Recovered curves over all thresholds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme
from recoup._core.results import html_table, make_frame, show_number, to_plain
from recoup.exceptions import InvalidInputError
from recoup.metrics.point import positive_rate, precision
from recoup.metrics.rates import Mixture, prepare
from recoup.metrics.spec import metric_spec, specs
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd


SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
COUNTS = (
    *("rows", "lower_tp", "lower_fp", "lower_fn", "lower_tn"),
    *("upper_tp", "upper_fp", "upper_fn", "upper_tn"),
)
HEADINGS = {"fpr": "FPR", "tpr": "TPR (recall)", "ece": "expected calibration error"}


@dataclass(frozen=True, repr=False, eq=False)
class Band:
    """Pointwise confidence band of a curve on a grid of its horizontal axis."""

    x: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, repr=False, eq=False)
class _Curve:
    """What all curves share; fields that are arrays are columns."""

    _along: ClassVar[str] = ""

    def __repr__(self) -> str:
        """Name the curve and its length."""
        return f"{type(self).__name__}({len(self._columns()['threshold']):,} thresholds)"

    def _columns(self) -> dict[str, Any]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per threshold."""
        return make_frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain lists and numbers."""
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
class RocCurve(_Curve):
    """Recovered true and false positive rates, from the highest threshold down.

    ``tpr`` and ``fpr`` never fall and stay in [0, 1]; ``raw_tpr`` and ``raw_fpr`` are the unmixed
    rates as they came out, which sampling noise may bend back or push outside.
    """

    _along: ClassVar[str] = "fpr"

    fpr: FloatArray
    tpr: FloatArray
    threshold: FloatArray
    raw_fpr: FloatArray
    raw_tpr: FloatArray
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the curve."""
        from recoup.plot.curves import RocDisplay

        return RocDisplay(fpr=self.fpr, tpr=self.tpr, name="Recovered").plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class PrCurve(_Curve):
    """Recovered precision and recall, from the highest threshold down."""

    _along: ClassVar[str] = "recall"

    precision: FloatArray
    recall: FloatArray
    threshold: FloatArray
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the curve."""
        from recoup.plot.curves import PrDisplay

        display = PrDisplay(
            recall=self.recall, precision=self.precision, pi=self.pi, name="Recovered"
        )
        return display.plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class LiftCurve(_Curve):
    """Recall against the share of rows predicted positive."""

    _along: ClassVar[str] = "positive_rate"

    positive_rate: FloatArray
    tpr: FloatArray
    threshold: FloatArray
    pi: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the curve."""
        from recoup.plot.curves import LiftDisplay

        display = LiftDisplay(
            positive_rate=self.positive_rate, tpr=self.tpr, pi=self.pi, name="Recovered"
        )
        return display.plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class MetricCurve(_Curve):
    """A metric over thresholds, with the threshold where it is best.

    Values follow the valid curve, whose rates never fall; ``Evaluation.at`` counts rows at one
    threshold as they are, so the two differ where sampling noise had to be smoothed.
    """

    metric: str
    threshold: FloatArray
    values: FloatArray
    best_threshold: float
    best_value: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the metric over thresholds."""
        from recoup.plot.curves import MetricDisplay

        display = MetricDisplay(
            threshold=self.threshold,
            values=self.values,
            best_threshold=self.best_threshold,
            name=metric_spec(self.metric, "plot").label,
        )
        return display.plot(ax=ax, **style)


@dataclass(frozen=True, repr=False, eq=False)
class CalibrationCurve(_Curve):
    """Recovered share of positives in bins of the score, and the expected calibration error."""

    threshold: FloatArray
    mean_score: FloatArray
    positive_share: FloatArray
    raw_positive_share: FloatArray
    rows: FloatArray
    ece: float

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw the calibration curve."""
        from recoup.plot.curves import CalibrationDisplay

        display = CalibrationDisplay(
            mean_score=self.mean_score, positive_share=self.positive_share, name="Recovered"
        )
        return display.plot(ax=ax, **style)


def _heading(name: str) -> str:
    return HEADINGS.get(name, name.replace("_", " "))


def recovered_roc(table: ScoreTable, mixture: Mixture) -> RocCurve:
    """Unmix the rates at every score and make the curve valid."""
    raw_tpr, raw_fpr = mixture.true_rates(table.heads("labeled"), table.heads("unlabeled"))
    raw_tpr, raw_fpr = np.append(0.0, raw_tpr), np.append(0.0, raw_fpr)
    weights = np.append(1e-9, (table.labeled + table.unlabeled)[::-1])
    return RocCurve(
        fpr=monotone_rate(raw_fpr, weights),
        tpr=monotone_rate(raw_tpr, weights),
        threshold=np.append(np.inf, table.scores[::-1]),
        raw_fpr=raw_fpr,
        raw_tpr=raw_tpr,
        pi=float(mixture.pi),
    )


def monotone_rate(raw: FloatArray, weights: FloatArray) -> FloatArray:
    """Nearest rate (weighted least squares) that never falls and stays in [0, 1]."""
    if (raw[1:] >= raw[:-1]).all():
        rate = np.clip(raw, 0.0, 1.0)
    else:
        from scipy.optimize import isotonic_regression

        rising = isotonic_regression(raw, weights=np.maximum(weights, 1e-9)).x
        rate = np.clip(rising, 0.0, 1.0)
    rate[0], rate[-1] = 0.0, 1.0
    return rate


def precision_of(roc: RocCurve) -> FloatArray:
    """Precision along a curve; where nothing is predicted positive yet, that of the first point."""
    values = np.asarray(precision.from_rates(roc.tpr, roc.fpr, roc.pi))
    defined = np.flatnonzero(~np.isnan(values))
    values[: defined[0]] = values[defined[0]]
    return values


def metric_along(roc: RocCurve, name: str, caller: str, **params: float) -> MetricCurve:
    """Evaluate a threshold metric along a curve."""
    spec = metric_spec(name, caller)
    if spec.kind != "point":
        raise InvalidInputError(
            f"{caller} needs a metric of one threshold. Got {name!r}, which is not. "
            f"Choose among: {', '.join(one.key for one in specs('point'))}."
        )
    values = np.asarray(spec.formula(roc.tpr, roc.fpr, roc.pi, **params), float)
    signed = values if spec.higher_is_better else -values
    best = int(np.nanargmax(signed))
    return MetricCurve(name, roc.threshold, values, float(roc.threshold[best]), float(values[best]))


def calibration_of(table: ScoreTable, mixture: Mixture, n_bins: int) -> CalibrationCurve:
    """Recover the share of positives in quantile bins of the score."""
    rows = mixture.rows(table)
    cumulative = np.cumsum(rows)
    cuts = np.searchsorted(cumulative, cumulative[-1] * np.arange(1, n_bins) / n_bins, "left") + 1
    starts = np.unique(np.append(0, cuts[cuts < len(rows)]))
    of_positives, _ = mixture.true_rates(
        np.add.reduceat(table.labeled, starts) / table.n_labeled,
        np.add.reduceat(table.unlabeled, starts) / table.n_unlabeled,
    )
    in_bin = np.add.reduceat(rows, starts)
    filled = in_bin > 0
    share = mixture.pi * of_positives[filled] * rows.sum() / in_bin[filled]
    mean_score = np.add.reduceat(rows * table.centers, starts)[filled] / in_bin[filled]
    clipped = np.clip(share, 0.0, 1.0)
    ece = float(np.dot(in_bin[filled], np.abs(mean_score - clipped)) / rows.sum())
    return CalibrationCurve(
        table.scores[starts][filled], mean_score, clipped, share, in_bin[filled], ece
    )


def roc_curve(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> RocCurve:
    """Recover the ROC curve.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha, beta : float
        Shares of positives among unlabeled and among labeled rows.
    scheme, sample_weight, propensity
        As for :func:`recoup.metrics.accuracy`.

    Returns
    -------
    RocCurve
        With ``fpr``, ``tpr``, ``threshold``, ``raw_fpr`` and ``raw_tpr``.

    Examples
    --------
    >>> curve = roc_curve([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.25)
    >>> curve.raw_tpr, curve.raw_fpr.round(3)
    (array([0. , 0.5, 0.5, 1. , 1. ]), array([ 0.   , -0.167,  0.5  ,  0.333,  1.   ]))
    """
    table, mixture = prepare(
        s,
        scores,
        alpha=alpha,
        beta=beta,
        scheme=scheme,
        sample_weight=sample_weight,
        propensity=propensity,
        caller="roc_curve",
    )
    return recovered_roc(table, mixture)


def pr_curve(s: ArrayLike, scores: ArrayLike, **options: Any) -> PrCurve:
    """Recover the precision-recall curve; options as for :func:`roc_curve`.

    Examples
    --------
    >>> pr_curve([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.25).precision.round(3)
    array([1.   , 1.   , 0.667, 0.8  , 0.625])
    """
    roc = roc_curve(s, scores, **options)
    return PrCurve(precision_of(roc), roc.tpr, roc.threshold, roc.pi)


def lift_curve(s: ArrayLike, scores: ArrayLike, **options: Any) -> LiftCurve:
    """Recover the lift curve; options as for :func:`roc_curve`.

    Examples
    --------
    >>> lift_curve([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.0).positive_rate
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    roc = roc_curve(s, scores, **options)
    rate = positive_rate(roc.tpr, roc.fpr, roc.pi)
    return LiftCurve(rate, roc.tpr, roc.threshold, roc.pi)


def metric_curve(
    name: str,
    s: ArrayLike,
    scores: ArrayLike,
    *,
    params: dict[str, float] | None = None,
    **options: Any,
) -> MetricCurve:
    """Recover a metric at every threshold, and its best one; options as for :func:`roc_curve`.

    Examples
    --------
    >>> metric_curve("f1", [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.25).best_threshold
    0.7
    """
    roc = roc_curve(s, scores, **options)
    return metric_along(roc, name, "metric_curve", **(params or {}))


def calibration_curve(
    s: ArrayLike, scores: ArrayLike, *, n_bins: int = 10, **options: Any
) -> CalibrationCurve:
    """Recover how often rows with a given predicted probability are really positive.

    Options as for :func:`roc_curve`; scores must be probabilities.

    Examples
    --------
    >>> curve = calibration_curve([1, 0, 0, 0], [0.9, 0.6, 0.2, 0.1], alpha=1/3, n_bins=2)
    >>> curve.mean_score, curve.positive_share, curve.ece
    (array([0.15, 0.75]), array([0., 1.]), 0.2)
    """
    table, mixture = prepare(s, scores, caller="calibration_curve", **options)
    check_probabilities(table, "calibration_curve")
    if not isinstance(n_bins, Integral) or n_bins < 1:
        raise InvalidInputError(
            f"calibration_curve needs n_bins to be a whole number from 1. Got {n_bins!r}."
        )
    return calibration_of(table, mixture, n_bins)


def check_probabilities(table: ScoreTable, caller: str) -> None:
    """Require scores in [0, 1]."""
    if not table.holds_probabilities:
        low, high = table.score_range
        raise InvalidInputError(
            f"{caller} needs scores that are probabilities in [0, 1]. "
            f"Got {low:g} to {high:g}. Pass predict_proba(X)[:, 1], or use a ranking metric."
        )
