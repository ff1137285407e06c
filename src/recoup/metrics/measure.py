"""Every metric of a score table at once, without uncertainty."""

from __future__ import annotations

import numpy as np

from recoup._core.checks import FloatArray
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
from recoup.metrics.curve_results import RocCurve
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import POINT_METRICS, metric_spec
from recoup.scores.table import ScoreTable

PARTIAL_MAX_FPR = 0.1


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
