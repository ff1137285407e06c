"""Every metric of a score table at once, without uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._checks import FloatArray, Scheme
from recoup._prior import Prior
from recoup.metrics._spec import POINT_METRICS, metric_spec
from recoup.metrics.area import (
    PROPER_LOSSES,
    area_left_of,
    area_under_pr,
    area_under_roc,
    auc_pu,
    aul_from_table,
    direct_auc,
    mcclish,
    proper_score,
    step_average_precision,
)
from recoup.metrics.curves import RocCurve
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

PARTIAL_MAX_FPR = 0.1


@dataclass(frozen=True, repr=False, eq=False)
class Given:
    """What evaluate was given, in the forms it needs.

    ``counts`` holds the rows as they came, ``exact`` the table that is unmixed, ``naive`` the one
    that takes every row not labeled positive as negative.
    """

    counts: ScoreTable
    exact: ScoreTable
    naive: ScoreTable
    prior: Prior
    scheme: Scheme
    by_propensity: bool = False
    single_precision: bool = False

    @classmethod
    def of(
        cls, counts: ScoreTable, prior: Prior, scheme: Scheme, single_precision: bool = False
    ) -> Given:
        """Fold known negatives in."""
        naive = counts.with_negatives_folded_in("single-sample")
        exact = counts.with_negatives_folded_in(scheme)
        return cls(counts, exact, naive, prior, scheme, single_precision=single_precision)

    def mixture(self, table: ScoreTable, alpha: float) -> Mixture:
        """Shares of positives for a share among the unlabeled rows."""
        if not self.by_propensity:
            return Mixture.of(table, alpha, self.prior.beta, self.scheme)
        # Labeled rows stand for all positives there, and every row is one of the population.
        rows = self.counts
        pi = (rows.n_labeled + alpha * rows.n_unlabeled) / rows.n_rows
        return Mixture.of(table, pi, 1.0, "case-control")


def is_single_precision(scores: Any) -> bool:
    """Say whether scores are stored as 32-bit numbers."""
    return bool(getattr(scores, "dtype", None) == np.float32)


def as_precise_as_scores(threshold: float, single_precision: bool) -> float:
    """Round a threshold as single-precision scores are, so that equal numbers stay equal."""
    return float(np.float32(threshold)) if single_precision else threshold


@dataclass(frozen=True, repr=False, eq=False)
class Band:
    """Pointwise confidence band of a curve on a grid of its horizontal axis."""

    x: FloatArray
    lower: FloatArray
    upper: FloatArray


def observed_rates_at(table: ScoreTable, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of labeled and of unlabeled rows at or above each threshold."""
    places = len(table.scores) - np.searchsorted(table.scores, thresholds, side="left")
    labeled, unlabeled = (
        np.append(0.0, table.heads(group))[places] for group in ("labeled", "unlabeled")
    )
    return labeled, unlabeled


def measure(
    table: ScoreTable, mixture: Mixture, roc: RocCurve, threshold: float
) -> dict[str, tuple[float, float]]:
    """Every metric as (raw, recovered)."""
    rates = observed_rates_at(table, np.array([threshold]))
    tpr, fpr = (rate[0] for rate in mixture.true_rates(*rates))
    found: dict[str, tuple[float, float]] = {}
    pi = mixture.pi
    direct = float(direct_auc(auc_pu(table), mixture))
    found["roc_auc"] = direct, float(area_under_roc(roc.tpr, roc.fpr))
    found["average_precision"] = (
        float(step_average_precision(roc.raw_tpr, roc.raw_fpr, pi)),
        float(step_average_precision(roc.tpr, roc.fpr, pi)),
    )
    for key, value in (
        ("pr_auc", float(area_under_pr(roc.tpr, roc.fpr, pi))),
        (
            "partial_roc_auc",
            mcclish(area_left_of(roc.tpr, roc.fpr, PARTIAL_MAX_FPR), PARTIAL_MAX_FPR),
        ),
        ("aul", aul_from_table(table, mixture)),
    ):
        found[key] = value, metric_spec(key, "evaluate").clip(value)
    for key, metric in POINT_METRICS.items():
        if key != "fbeta":
            raw = float(metric.from_rates(tpr, fpr, pi))
            found[key] = raw, metric.spec.clip(raw)
    if table.holds_probabilities:
        for key, losses in PROPER_LOSSES.items():
            raw = proper_score(table, mixture, losses(table.centers))
            found[key] = raw, metric_spec(key, "evaluate").clip(raw)
    return found
