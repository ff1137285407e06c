"""Evaluation: what evaluate returns, a frozen object that answers questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import Scheme, brief
from recoup._core.notes import Note
from recoup._core.prior import Prior
from recoup._core.results import html_estimates, to_plain
from recoup._core.text import show_percent
from recoup.evaluation.estimates import (
    Baseline,
    Estimate,
    HiddenPositives,
    OperatingPoint,
    Sensitivity,
    estimates_dict,
    estimates_frame,
    look_up,
)
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.inputs import Given
from recoup.evaluation.next_step import NextStep, next_step
from recoup.evaluation.operating_points import points_at, points_frame
from recoup.evaluation.over_alpha import metrics_over_alpha
from recoup.evaluation.possible import tilted_alpha_upper
from recoup.evaluation.uncertainty import pi_limits
from recoup.exceptions import InvalidInputError
from recoup.metrics.bands import CurveName, curve_bands
from recoup.metrics.chance import shuffled_auc
from recoup.metrics.chosen_threshold import N_REPLICATES, optimism
from recoup.metrics.curve_results import (
    Band,
    CalibrationCurve,
    LiftCurve,
    MetricCurve,
    PrCurve,
    RocCurve,
)
from recoup.metrics.curves import calibration_of, metric_along, precision_of, recovered_roc
from recoup.metrics.intervals import mover, normal_quantile
from recoup.metrics.point import positive_rate
from recoup.metrics.rates import Mixture
from recoup.metrics.resample import bootstrap
from recoup.scores.table import DEFAULT_BINS, ScoreTable
from recoup.selection.how_labeled import SAID, STRENGTHS, LabelsAre, odds_left_open, tilts_up_to

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from recoup.audit import AuditedEvaluation
    from recoup.evaluation.promises import Promise
    from recoup.evaluation.top_rows import TopRows
    from recoup.priors import PriorEstimate
    from recoup.selection.sensitivity import SelectionSensitivity


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation:
    """How good a classifier really is, recovered from positive-unlabeled scores.

    Made by :func:`recoup.evaluate`. ``evaluation["roc_auc"]`` is an :class:`Estimate`.

    Attributes
    ----------
    metrics : dict of str to Estimate
        By key of the metric.
    alpha : float
        Share of positives among the unlabeled rows that was used.
    beta : float
        Share of true positives among the labeled rows that was used.
    pi : float
        Share of positives in the population that is judged.
    scheme : {"single-sample", "case-control"}
        Whether that population is all rows, or the unlabeled rows alone.
    threshold : float
        Rows with a score at or above it are predicted positive.
    confidence : float
        Level of intervals and bounds.
    n_labeled : float
        Number of labeled rows, or their summed weight.
    n_unlabeled : float
        Number of unlabeled rows, or their summed weight.
    n_negative : float
        Number of rows that are known to be negative, or their summed weight.
    feasibility : Feasibility
        Whether the scores allow this alpha and beta.
    notes : tuple of Note
        Reasons to doubt the numbers, as sentences.
    roc : RocCurve
        The recovered ROC curve.
    prior : Prior
        Alpha and beta with their uncertainty.
    given : Given
        The counted rows as they came in.
    table : ScoreTable
        The counted rows that the metrics were computed from, thinned if there were many scores.
    mixture : Mixture
        The shares of positives that belong to ``table``.
    n_boot : int
        How many shuffles and bootstrap replicates were asked for, where no formula does.
    seed : int
        Where the random numbers of :attr:`baseline` and :meth:`best` start.
    audit : AuditedEvaluation or None
        What checked rows say, beside the labels; None without an audit.
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
    prior: Prior
    given: Given
    table: ScoreTable
    mixture: Mixture
    n_boot: int
    seed: int
    audit: AuditedEvaluation | None = None

    def __getitem__(self, key: str) -> Estimate:
        """Look a metric up by its key."""
        return look_up(self.metrics, key, "Evaluation")

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys of the metrics."""
        return iter(self.metrics)

    def __repr__(self) -> str:
        """Show the number people ask for first, and what it rests on."""
        auc = self["roc_auc"]
        said = "" if self.labels_are == "unknown" else f", labels_are={self.labels_are!r}"
        return (
            f"Evaluation(roc_auc={auc.recovered:.3f} [{auc.lower:.3f}, {auc.upper:.3f}], "
            f"pu={auc.pu:.3f}, alpha={self.prior}, beta={self.beta:.4g}, "
            f"n={self.n_labeled:,.0f}+{self.n_unlabeled:,.0f}{said})"
        )

    def _repr_html_(self) -> str:
        negatives = f", {self.n_negative:,.0f} known negatives" if self.n_negative else ""
        beta = f", beta {self.beta:.4g}" if self.beta < 1 else ""
        checked, said = None, ""
        if self.audit is not None:
            checked = self.audit.metrics
            said = f"{self.audit.n_checked:,} rows checked. {self.audit.labels.text} Labels alone: "
        return html_estimates(
            list(self.metrics.values()),
            f"{said}alpha {self.prior}{beta}; "
            f"{self.n_labeled:,.0f} labeled, {self.n_unlabeled:,.0f} unlabeled rows{negatives}; "
            f"threshold {self.threshold:.4g}; intervals and bounds at "
            f"{show_percent(self.confidence)}. {SAID[self.labels_are]}",
            self.notes,
            checked,
        )

    @property
    def prior_estimate(self) -> PriorEstimate | None:
        """What alpha was estimated by, with its interval and doubts; None if it was given."""
        found: PriorEstimate | None = self.prior.estimate
        return found

    @property
    def labels_are(self) -> LabelsAre:
        """How labels came about, as was said to :func:`recoup.evaluate`."""
        return self.given.labels_are

    @property
    def how_labeled(self) -> LabelsAre:
        """How labels came about: as the audit found where it can tell, else as was said."""
        if self.audit is not None and self.audit.labels.code != "cannot-tell":
            return "random" if self.audit.labels.code == "random" else "biased"
        return self.given.labels_are

    @property
    def label_odds(self) -> float:
        """How many times the odds of a label may differ along the scores.

        Between the positives with the highest and with the lowest scores, in what is possible
        (``possible_lower``, ``possible_upper``): 1 if labels are a random sample of the positives,
        5 where nobody has said so, and 20 if they are not. Also 1 where recoup knows no metrics
        for labels that favor some scores: with beta below 1, and with propensities, which say
        themselves how labels came about.
        """
        if self.given.by_propensity or self.beta != 1:
            return 1.0
        return odds_left_open(self.how_labeled)

    @cached_property
    def hidden(self) -> HiddenPositives:
        """How many of the unlabeled rows are positive, with an interval.

        Alpha is a share in the population that the rows come from; how many positives are among
        these rows is also a matter of chance, which the interval includes.
        """
        z = normal_quantile(self.confidence)
        n, squares = self.n_unlabeled, float(self.given.counts.squares_of("unlabeled").sum())
        chance = z * np.sqrt(squares * self.alpha * (1 - self.alpha))
        low, high = self.prior.range
        if self.given.by_propensity:
            rows = self.given.counts
            low, high = (max(pi * rows.n_rows - rows.n_labeled, 0.0) / n for pi in self.pi_interval)
        count = self.alpha * n
        lower, upper = mover(count, [(low * n, high * n), (count - chance, count + chance)])
        lower, upper = float(np.clip(lower, 0.0, n)), float(np.clip(upper, 0.0, n))
        least, most = lower, upper
        if self.prior.estimate is not None:
            alphas = [self.feasibility.alpha_upper]
            alphas += [tilted_alpha_upper(self, tilt) for tilt in tilts_up_to(self.label_odds)]
            least, most = 0.0, max(upper, min(max(alphas), 1.0) * n)
        return HiddenPositives(count, lower, upper, least, most, n)

    @cached_property
    def pi_interval(self) -> tuple[float, float]:
        """Interval of ``pi``; in a single sample the share of labels is a matter of chance."""
        return pi_limits(self.table, self.prior, self.scheme, self.confidence)

    def band(self, curve: CurveName = "roc", simultaneous: bool = False) -> Band:
        """Confidence band of a recovered curve.

        Parameters
        ----------
        curve : {"roc", "pr", "lift"}, default="roc"
            Which curve.
        simultaneous : bool, default=False
            Whether the band is to hold the whole curve with this confidence, rather than each of
            its points.

        Returns
        -------
        Band
        """
        if curve not in get_args(CurveName):
            raise InvalidInputError(
                f"Evaluation.band needs curve to be 'roc', 'pr' or 'lift'. Got {brief(curve)!r}."
            )
        if not simultaneous:
            return self._bands[curve]
        return self._make_bands(simultaneous=True)[curve]

    @cached_property
    def _bands(self) -> dict[CurveName, Band]:
        return self._make_bands(simultaneous=False)

    def _make_bands(self, simultaneous: bool) -> dict[CurveName, Band]:
        times = self.given.widening(self.mixture, self.threshold).get("roc_auc", 1.0)
        return curve_bands(
            self.table, self.prior, self.scheme, self.confidence, simultaneous, times
        )

    @property
    def roc_band(self) -> Band:
        """Pointwise confidence band of the recovered ROC curve."""
        return self._bands["roc"]

    @property
    def pr_band(self) -> Band:
        """Pointwise confidence band of the recovered precision-recall curve."""
        return self._bands["pr"]

    @property
    def lift_band(self) -> Band:
        """Pointwise confidence band of the recovered lift curve."""
        return self._bands["lift"]

    @cached_property
    def baseline(self) -> Baseline | None:
        """What the ranking would show without information; None if ``n_boot`` is 0."""
        if not self.n_boot:
            return None
        return Baseline(*shuffled_auc(self.table, self.n_boot, self.confidence, self.seed))

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
        return calibration_of(self.table, self.mixture, 10, self.confidence)

    @cached_property
    def next_step(self) -> NextStep:
        """What to do next, in one sentence: check rows, say how labels came about, use it."""
        return next_step(self)

    def metric_curve(self, name: str, **params: float) -> MetricCurve:
        """Recovered metric at every threshold.

        Parameters
        ----------
        name : str
            Key of a metric of one threshold, such as ``"f1"``.
        **params : float
            Parameters of the metric, such as ``b=2.0`` of ``"fbeta"``.

        Returns
        -------
        MetricCurve
        """
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
        return points_at(self, [threshold], "Evaluation.at")[0]

    def best(self, metric: str, **params: float) -> OperatingPoint:
        """Return the operating point where a recovered metric is best.

        The threshold is chosen along the smoothed curve (:meth:`metric_curve`) of these rows. What
        the choice adds to the metrics is taken off again (``optimism``), unless ``n_boot`` is 0.

        Parameters
        ----------
        metric : str
            Key of a metric of one threshold, such as ``"f1"``.
        **params : float
            Parameters of the metric, such as ``b=2.0`` of ``"fbeta"``.

        Returns
        -------
        OperatingPoint
        """
        threshold = self.metric_curve(metric, **params).best_threshold
        threshold = min(threshold, float(np.nextafter(self.table.scores[-1], np.inf)))
        shift = {}
        if self.n_boot:
            rng = np.random.default_rng(self.seed)
            replicates = bootstrap(self.table, min(self.n_boot, N_REPLICATES), rng)
            shift = optimism(replicates, self.alpha, self.beta, self.scheme, metric, params)
        return points_at(self, [threshold], "Evaluation.best", shift)[0]

    def certify(
        self,
        *,
        precision: float | None = None,
        recall: float | None = None,
        queue: float | None = None,
        cost: Mapping[str, float] | None = None,
        maximise: str | None = None,
        confidence: float = 0.95,
    ) -> Promise:
        """Find a threshold that keeps a promise, with a chance that is named beforehand.

        All that is asked for holds at one threshold. Thresholds are tested one after the other
        (learn, then test), so that the chance holds for the one that is chosen in the end.

        Parameters
        ----------
        precision : float, optional
            At least this share of the flagged rows is positive.
        recall : float, optional
            At least this share of the positives is flagged.
        queue : float, optional
            At most so many of these rows are flagged.
        cost : mapping of str to float, optional
            What a false positive and a false negative cost, such as ``{"fp": 1, "fn": 20}``: to
            flag by the threshold costs less than to flag no row, and less than to flag all.
        maximise : str, optional
            Key of the metric that is made best among the thresholds that keep the promise. By
            default what is saved where ``cost`` is given, precision where recall alone is
            promised, and else recall.
        confidence : float, default=0.95
            Chance that the threshold keeps the promise, at least.

        Returns
        -------
        Promise
            With the threshold, or with the reason why there is none. It rests on labels that are a
            random sample of the positives, unless rows were checked (``audit``).

        Examples
        --------
        >>> import recoup
        >>> example = recoup.load_example()
        >>> evaluation = recoup.evaluate(
        ...     example.s, example.scores["score_boosting"], alpha=example.alpha, beta=1.0
        ... )
        >>> evaluation.certify(precision=0.7, queue=1000)
        Promise(precision=0.7, queue=1000: threshold=0.1442, queue=1,000, ...)
        """
        from recoup.evaluation.certify import certify

        return certify(
            self,
            precision=precision,
            recall=recall,
            queue=queue,
            cost=cost,
            maximise=maximise,
            confidence=confidence,
        )

    def at_top(self, k: int) -> TopRows:
        """Precision and recall of the rows with the highest scores, with intervals.

        Parameters
        ----------
        k : int
            How many rows: as many as somebody can handle. Where the last score is shared by more
            rows than there is room for, a random choice of them is taken, and what another choice
            would give is said too.

        Returns
        -------
        TopRows
        """
        from recoup.evaluation.top_rows import rows_at_top

        return rows_at_top(self, k)

    def operating_points(self, thresholds: Any = 20) -> pd.DataFrame:
        """Precision, recall and queue size over thresholds, with intervals.

        Parameters
        ----------
        thresholds : sequence of float, or int, default=20
            The thresholds, or how many to spread evenly over the rows.

        Returns
        -------
        DataFrame
            One row per threshold: ``threshold``, ``queue`` (rows at or above it), and value,
            ``_lower`` and ``_upper`` of precision and recall.
        """
        return points_frame(self, thresholds)

    def sensitivity(self, alphas: ArrayLike | None = None) -> Sensitivity:
        """Recover every metric again for other values of alpha.

        Parameters
        ----------
        alphas : array-like, optional
            Shares of positives among the unlabeled rows. By default 50 values from 0 to just past
            what the scores allow.

        Returns
        -------
        Sensitivity
        """
        return metrics_over_alpha(self, alphas)

    def selection_sensitivity(
        self,
        strengths: ArrayLike = STRENGTHS,
        direction: Literal["high", "low", "both"] = "both",
    ) -> SelectionSensitivity:
        """Recover every metric again, with its interval, for labels that favor some scores.

        Parameters
        ----------
        strengths : array-like, default=(1, 1.5, 2, 3, 5)
            How many times the odds of a label differ between the positives with the highest and
            with the lowest scores. At 1 all metrics and intervals are those of this evaluation.
        direction : {"both", "high", "low"}, default="both"
            Which scores labels favor.

        Returns
        -------
        SelectionSensitivity
            See :func:`recoup.selection.sensitivity.selection_sensitivity`.
        """
        from recoup.selection.sensitivity import selection_sensitivity

        return selection_sensitivity(self, strengths, direction)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per metric.

        Returns
        -------
        pandas.DataFrame
            With columns metric, pu, recovered, raw, lower, upper, bound_lower, bound_upper,
            optimism, possible_lower and possible_upper.
        """
        return estimates_frame(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        Returns
        -------
        dict
            By name of the attribute; curves and tables are left out.
        """
        plain: dict[str, Any] = to_plain(
            {
                "alpha": self.alpha,
                "alpha_interval": self.prior.stated,
                "prior": self.prior.described(),
                "beta": self.beta,
                "pi": self.pi,
                "pi_interval": self.pi_interval,
                "hidden": vars(self.hidden),
                "labels_checked": self.given.labels_checked,
                "labels_are": self.labels_are,
                "how_labeled": self.how_labeled,
                "label_odds": self.label_odds,
                "scheme": self.scheme,
                "threshold": self.threshold,
                "confidence": self.confidence,
                "n_labeled": self.n_labeled,
                "n_unlabeled": self.n_unlabeled,
                "n_negative": self.n_negative,
                "metrics": estimates_dict(self.metrics),
                "feasibility": vars(self.feasibility),
                "baseline": vars(self.baseline) if self.baseline else None,
                "notes": list(self.notes),
                "next_step": self.next_step.to_dict(),
            }
            | ({} if self.audit is None else {"audit": self.audit.to_dict()})
        )
        return plain

    def plot(self) -> Any:
        """Draw ROC, precision-recall, metrics over thresholds and sensitivity to alpha.

        Returns
        -------
        EvaluationDisplay
            With ``figure_`` and ``axes_``.
        """
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
