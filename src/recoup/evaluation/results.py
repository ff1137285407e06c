"""What evaluate returns: small frozen objects that answer questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, as_floats, brief, check_alpha_beta
from recoup._core.notes import Note
from recoup._core.prior import Prior
from recoup._core.results import (
    html_estimates,
    html_table,
    make_frame,
    show_number,
    show_range,
    to_plain,
)
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.inputs import Given, as_precise_as_scores
from recoup.evaluation.uncertainty import point_estimates, tails
from recoup.exceptions import InvalidInputError
from recoup.metrics.curves import (
    Band,
    CalibrationCurve,
    LiftCurve,
    MetricCurve,
    PrCurve,
    RocCurve,
    calibration_of,
    metric_along,
    precision_of,
    recovered_roc,
)
from recoup.metrics.measure import measure, observed_rates_at
from recoup.metrics.point import positive_rate
from recoup.metrics.rates import Mixture
from recoup.metrics.resample import Replicates, permuted_auc
from recoup.metrics.spec import POINT_METRICS, metric_spec
from recoup.scores.table import DEFAULT_BINS, ScoreTable

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from recoup.priors import PriorEstimate
    from recoup.selection.sensitivity import SelectionSensitivity

SHOWN = ("roc_auc", "accuracy", "f1", "precision")


@dataclass(frozen=True)
class Estimate:
    """One metric: as observed, as recovered, and how sure that is.

    Attributes
    ----------
    pu : float
        Taking every unlabeled row as negative.
    recovered : float
        Corrected and brought into the metric's range.
    raw : float
        Corrected, before that. Far outside the range, alpha or beta is wrong.
    lower, upper : float
        Confidence interval of the recovered value; NaN where none was asked for.
    bound_lower, bound_upper : float
        What the ranks of the labeled rows allow for these rows, up to a confidence band
        (Claesen et al. 2015); NaN for metrics without such bounds.
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

    @classmethod
    def make(
        cls,
        key: str,
        pu: float,
        raw: float,
        limits: tuple[float, float],
        recovered: float | None = None,
        bounds: tuple[float, float] = (np.nan, np.nan),
    ) -> Estimate:
        """Bring a raw value and its limits into the metric's range."""
        spec = metric_spec(key, "Estimate")
        value = spec.clip(raw) if recovered is None else recovered
        low, high = (spec.clip(limit) for limit in limits)
        return cls(
            key,
            spec.label,
            float(pu),
            float(value),
            float(raw),
            low if np.isnan(low) else min(low, value),
            high if np.isnan(high) else max(high, value),
            *bounds,
        )

    def __repr__(self) -> str:
        """Show the value with its interval."""
        return (
            f"Estimate({self.key}: pu {self.pu:.4g}, recovered {self.recovered:.4g} "
            f"[{self.lower:.4g}, {self.upper:.4g}])"
        )

    def _repr_html_(self) -> str:
        return html_estimates([self], "Estimate")


@dataclass(frozen=True, repr=False)
class Baseline:
    """What a ranking without information would show: labels shuffled among the rows."""

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
    """Recovered metrics over a range of alpha."""

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
        """Return one row per alpha."""
        return make_frame({"alpha": self.alphas} | self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists."""
        plain: dict[str, Any] = to_plain({"alpha": self.alphas} | self.values)
        return plain

    def plot(self, ax: Any = None, metrics: Sequence[str] | None = None) -> Any:
        """Draw metrics over alpha."""
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
    """All threshold metrics at one threshold (rows with score >= threshold are positive)."""

    threshold: float
    positive_rate: float
    queue: float
    metrics: dict[str, Estimate]

    def __getitem__(self, key: str) -> Estimate:
        """Look a metric up by its key."""
        return _lookup(self.metrics, key, "OperatingPoint")

    def __repr__(self) -> str:
        """Show the threshold and the trade-off it makes."""
        return (
            f"OperatingPoint(threshold={self.threshold:.4g}, queue={self.queue:,.0f}, "
            f"precision={self['precision'].recovered:.3g}, recall={self['recall'].recovered:.3g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric."""
        return _estimates_frame(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "threshold": float(self.threshold),
            "positive_rate": float(self.positive_rate),
            "queue": float(self.queue),
            "metrics": _estimates_dict(self.metrics),
        }

    def _repr_html_(self) -> str:
        return html_estimates(
            list(self.metrics.values()),
            f"At threshold {self.threshold:.4g}: {self.queue:,.0f} rows "
            f"({100 * self.positive_rate:.3g}%) are flagged.",
        )


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """How good a classifier really is, recovered from positive-unlabeled scores.

    Made by :func:`recoup.evaluate`. ``evaluation["roc_auc"]`` is an :class:`Estimate`.
    """

    metrics: dict[str, Estimate]
    alpha: float
    beta: float
    pi: float
    scheme: Scheme
    threshold: float
    confidence: float
    n_labeled: float
    n_unlabeled: float
    n_negative: float
    feasibility: Feasibility
    notes: tuple[Note, ...]
    roc: RocCurve
    roc_band: Band | None
    pr_band: Band | None
    lift_band: Band | None
    prior: Prior
    given: Given
    table: ScoreTable
    mixture: Mixture
    n_boot: int
    seed: int
    replicates: Replicates | None

    def __getitem__(self, key: str) -> Estimate:
        """Look a metric up by its key."""
        return _lookup(self.metrics, key, "Evaluation")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the metrics."""
        return iter(self.metrics)

    def __repr__(self) -> str:
        """Show the number people ask for first, and what it rests on."""
        auc = self["roc_auc"]
        return (
            f"Evaluation(roc_auc={auc.recovered:.3f} [{auc.lower:.3f}, {auc.upper:.3f}], "
            f"pu={auc.pu:.3f}, alpha={self.prior}, beta={self.beta:.4g}, "
            f"n={self.n_labeled:,.0f}+{self.n_unlabeled:,.0f})"
        )

    def _repr_html_(self) -> str:
        negatives = f", {self.n_negative:,.0f} known negatives" if self.n_negative else ""
        beta = f", beta {self.beta:.4g}" if self.beta < 1 else ""
        return html_estimates(
            list(self.metrics.values()),
            f"alpha {self.prior}{beta}; {self.n_labeled:,.0f} labeled, {self.n_unlabeled:,.0f} "
            f"unlabeled rows{negatives}; threshold {self.threshold:.4g}; intervals and bounds at "
            f"{100 * self.confidence:.4g}%.",
            self.notes,
        )

    @property
    def prior_estimate(self) -> PriorEstimate | None:
        """What alpha was estimated by, with its interval and doubts; None if it was given."""
        found: PriorEstimate | None = self.prior.estimate
        return found

    @cached_property
    def baseline(self) -> Baseline | None:
        """What the ranking would show without information; None if ``n_boot`` is 0."""
        if not self.n_boot:
            return None
        rng = np.random.default_rng(self.seed)
        value, shuffled = permuted_auc(self.table, self.n_boot, rng)
        p_value = (1 + np.count_nonzero(shuffled >= value)) / (self.n_boot + 1)
        low, high = np.quantile(shuffled, tails(self.confidence))
        return Baseline(value, float(low), float(high), float(p_value), self.n_boot)

    @cached_property
    def roc_pu(self) -> RocCurve:
        """ROC curve as observed, with every row that is not labeled taken as negative."""
        naive = self.given.naive.thin(DEFAULT_BINS)
        return recovered_roc(naive, Mixture.of(naive, 0.0, 1.0, "single-sample"))

    @cached_property
    def pr(self) -> PrCurve:
        """Recovered precision-recall curve."""
        return PrCurve(precision_of(self.roc), self.roc.tpr, self.roc.threshold, self.pi)

    @cached_property
    def lift_curve(self) -> LiftCurve:
        """Recovered lift curve."""
        rate = positive_rate(self.roc.tpr, self.roc.fpr, self.pi)
        return LiftCurve(rate, self.roc.tpr, self.roc.threshold, self.pi)

    @cached_property
    def calibration(self) -> CalibrationCurve | None:
        """Recovered calibration in ten bins; None if scores are not probabilities."""
        if not self.table.holds_probabilities:
            return None
        return calibration_of(self.table, self.mixture, 10)

    def metric_curve(self, name: str, **params: float) -> MetricCurve:
        """Recovered metric at every threshold."""
        return metric_along(self.roc, name, "Evaluation.metric_curve", **params)

    def at(self, threshold: float) -> OperatingPoint:
        """All threshold metrics, with intervals, at another threshold.

        Parameters
        ----------
        threshold : float
            Rows with ``score >= threshold`` are predicted positive. Of more than a million rows
            given as arrays only 16,384 scores were kept, and the next one above it answers.

        Returns
        -------
        OperatingPoint
        """
        return self._points([threshold], "Evaluation.at")[0]

    def best(self, metric: str, **params: float) -> OperatingPoint:
        """Return the operating point where a recovered metric is best.

        The threshold is chosen along the valid curve (:meth:`metric_curve`) of these rows, so its
        metrics are slightly optimistic; check them on other rows.
        """
        threshold = self.metric_curve(metric, **params).best_threshold
        return self.at(min(threshold, float(np.nextafter(self.table.scores[-1], np.inf))))

    def operating_points(self, thresholds: Any = 20) -> pd.DataFrame:
        """Precision, recall and queue size over thresholds, with intervals.

        Parameters
        ----------
        thresholds : sequence of float, or int
            The thresholds, or how many to spread evenly over the rows.

        Returns
        -------
        DataFrame
            One row per threshold: ``threshold``, ``queue`` (rows at or above it), and value,
            ``_lower`` and ``_upper`` of precision and recall.
        """
        if isinstance(thresholds, Integral):
            if thresholds < 1:
                raise InvalidInputError(
                    f"Evaluation.operating_points needs at least one threshold. Got {thresholds}."
                )
            rows = np.cumsum(self.mixture.rows(self.given.exact)[::-1])
            wanted = rows[-1] * np.linspace(0.0, 1.0, int(thresholds) + 1)[1:]
            places = np.unique(np.minimum(np.searchsorted(rows, wanted), len(rows) - 1))
            thresholds = self.given.exact.scores[::-1][places].tolist()
        points = self._points(thresholds, "Evaluation.operating_points")
        columns: dict[str, Any] = {
            "threshold": [point.threshold for point in points],
            "queue": [point.queue for point in points],
        }
        for key in ("precision", "recall"):
            columns[key] = [point[key].recovered for point in points]
            columns[f"{key}_lower"] = [point[key].lower for point in points]
            columns[f"{key}_upper"] = [point[key].upper for point in points]
        return make_frame(columns)

    def sensitivity(self, alphas: ArrayLike | None = None) -> Sensitivity:
        """Recover every metric again for other values of alpha.

        Parameters
        ----------
        alphas : array-like, optional
            By default 50 values from 0 to just past what the scores allow.

        Returns
        -------
        Sensitivity
        """
        if alphas is None:
            top = min(max(self.feasibility.alpha_upper * 1.1, self.alpha * 1.2, 0.05), 0.99)
            values = np.linspace(0.0, min(top, self.beta - 0.01), 50)
        else:
            values = np.atleast_1d(as_floats(alphas, "alphas", "Evaluation.sensitivity"))
        check_alpha_beta(values, self.beta, "Evaluation.sensitivity")
        measured = []
        for alpha in values:
            mixture = self.given.mixture(self.table, float(alpha))
            curve = recovered_roc(self.table, mixture)
            measured.append(measure(self.table, mixture, curve, self.threshold))
        columns = {key: np.array([found[key][1] for found in measured]) for key in measured[0]}
        return Sensitivity(
            values, columns, self.alpha, self.feasibility.alpha_upper, self.prior.stated
        )

    def selection_sensitivity(
        self,
        strengths: ArrayLike = (1.0, 1.5, 2.0, 3.0, 5.0),
        direction: Literal["high", "low", "both"] = "both",
    ) -> SelectionSensitivity:
        """Recover every metric again for labels that favor high or low scores.

        Parameters
        ----------
        strengths : array-like, default=(1, 1.5, 2, 3, 5)
            How many times the odds of a label differ between the positives with the highest and
            with the lowest scores. At 1 all metrics are those of this evaluation.
        direction : {"both", "high", "low"}, default="both"
            Which scores labels favor.

        Returns
        -------
        SelectionSensitivity
            See :func:`recoup.selection.sensitivity.selection_sensitivity`.
        """
        from recoup.selection.sensitivity import selection_sensitivity

        return selection_sensitivity(self, strengths, direction)

    def _points(self, thresholds: Any, caller: str) -> list[OperatingPoint]:
        try:
            cuts = np.array(
                [as_precise_as_scores(float(t), self.given.single_precision) for t in thresholds]
            )
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{caller} needs thresholds that are numbers. Got {brief(thresholds)}."
            ) from error
        if not np.isfinite(cuts).all():
            raise InvalidInputError(f"{caller} needs finite thresholds. Got {brief(thresholds)}.")
        thresholds = cuts
        rng = np.random.default_rng(0)
        estimates = point_estimates(
            self.given.exact,
            self.prior,
            self.mixture,
            thresholds,
            self.confidence,
            rng,
            self.replicates,
        )
        unsure = self.given.by_propensity and self.replicates is None
        naive_rates = observed_rates_at(self.given.naive, thresholds)
        share = self.given.naive.n_labeled / self.given.naive.n_rows
        rows = self.mixture.rows(self.given.exact)
        above = np.append(np.cumsum(rows[::-1])[::-1], 0.0)
        queue = above[np.searchsorted(self.given.exact.scores, thresholds, side="left")]
        naive = {
            key: np.asarray(POINT_METRICS[key].from_rates(*naive_rates, share), float)
            for key in estimates
        }
        return [
            OperatingPoint(
                float(threshold),
                float(queue[i] / rows.sum()),
                float(queue[i]),
                {
                    key: Estimate.make(
                        key,
                        naive[key][i],
                        raw[i],
                        (np.nan, np.nan) if unsure else (low[i], high[i]),
                    )
                    for key, (raw, low, high) in estimates.items()
                },
            )
            for i, threshold in enumerate(thresholds)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric."""
        return _estimates_frame(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        plain: dict[str, Any] = to_plain(
            {
                "alpha": self.alpha,
                "alpha_interval": self.prior.stated,
                "prior": self.prior.described(),
                "beta": self.beta,
                "pi": self.pi,
                "scheme": self.scheme,
                "threshold": self.threshold,
                "confidence": self.confidence,
                "n_labeled": self.n_labeled,
                "n_unlabeled": self.n_unlabeled,
                "n_negative": self.n_negative,
                "metrics": _estimates_dict(self.metrics),
                "feasibility": vars(self.feasibility),
                "baseline": vars(self.baseline) if self.baseline else None,
                "notes": list(self.notes),
            }
        )
        return plain

    def plot(self) -> Any:
        """Draw ROC, precision-recall, metrics over thresholds and sensitivity to alpha."""
        from recoup.plot.evaluation import EvaluationDisplay

        return EvaluationDisplay.from_evaluation(self).plot()

    def report(self, path: str | Path, title: str | None = None) -> Path:
        """Write a page that a decision maker can read, as one HTML file that needs no network.

        Parameters
        ----------
        path : str or Path
            Where to. An existing file is replaced.
        title : str, optional
            Heading of the page.

        Returns
        -------
        Path
        """
        from recoup.report import Report

        return Report(self, title or "How good is this model?").write(path)


def _lookup(metrics: dict[str, Estimate], key: str, caller: str) -> Estimate:
    if key not in metrics:
        reason = "it is not a metric of one threshold"
        if metric_spec(key, caller).needs_probabilities:
            reason = "it needs scores in [0, 1], and is not a metric of one threshold"
        elif not metric_spec(key, caller).in_evaluate:
            reason = "it is another metric without its parameters"
        raise KeyError(f"{caller} has no {key!r} here: {reason}. It has {', '.join(metrics)}.")
    return metrics[key]


def _estimates_frame(metrics: dict[str, Estimate]) -> pd.DataFrame:
    columns = ("pu", "recovered", "raw", "lower", "upper", "bound_lower", "bound_upper")
    return make_frame(
        {"metric": list(metrics)}
        | {name: [getattr(item, name) for item in metrics.values()] for name in columns}
    )


def _estimates_dict(metrics: dict[str, Estimate]) -> dict[str, Any]:
    plain: dict[str, Any] = to_plain(
        {
            key: {name: value for name, value in vars(item).items() if name != "key"}
            for key, item in metrics.items()
        }
    )
    return plain
