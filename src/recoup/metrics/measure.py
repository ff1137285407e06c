"""Every metric of a score table at once, without uncertainty."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from recoup._core.checks import FloatArray
from recoup.metrics.area import auc_pu, proper_score
from recoup.metrics.curve_results import RocCurve
from recoup.metrics.curves import recovered_roc
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import MetricSpec, evaluated_specs
from recoup.scores.table import ScoreTable


def observed_rates_at(table: ScoreTable, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of labeled and of unlabeled rows at or above each threshold."""
    places = len(table.scores) - np.searchsorted(table.scores, thresholds, side="left")
    labeled, unlabeled = (
        np.append(0.0, table.heads(group))[places] for group in ("labeled", "unlabeled")
    )
    return labeled, unlabeled


def measure(
    table: ScoreTable,
    mixture: Mixture,
    roc: RocCurve,
    threshold: float,
    keys: Collection[str] | None = None,
) -> dict[str, tuple[float, float]]:
    """Every metric, or those of some keys, as (raw, recovered)."""
    rates = observed_rates_at(table, np.array([threshold]))
    tpr, fpr = (rate[0] for rate in mixture.true_rates(*rates))
    found: dict[str, tuple[float, float]] = {}
    for spec in evaluated_specs(probabilities=table.holds_probabilities):
        if keys is not None and spec.key not in keys:
            continue
        if spec.kind == "point":
            raw = value = float(spec.formula(tpr, fpr, mixture.pi))
        else:
            raw = value = raw_value(spec, table, mixture, roc)
        # Areas that mean nothing along raw rates are those of the valid curve already.
        if spec.needs_alpha and (spec.raw_curve or spec.from_auc_pu is not None):
            value = valid_value(spec, table, mixture, roc)
        found[spec.key] = raw, spec.clip(value)
    return found


def valid_value(spec: MetricSpec, table: ScoreTable, mixture: Mixture, roc: RocCurve) -> float:
    """Area of the valid curve or proper score, before it is brought into its range."""
    if spec.kind == "proper":
        return raw_value(spec, table, mixture)
    return float(spec.formula(roc.tpr, roc.fpr, mixture.pi))


def raw_value(
    spec: MetricSpec, table: ScoreTable, mixture: Mixture, roc: RocCurve | None = None
) -> float:
    """Area or proper score before noise is smoothed and values are brought into their range.

    An area that means nothing along raw rates is that of the valid curve.
    """
    if spec.kind == "proper":
        return proper_score(table, mixture, spec.formula(table.centers))
    if spec.from_auc_pu is not None:
        return float(spec.from_auc_pu(auc_pu(table), mixture))
    if spec.raw_curve:
        rates = (np.append(0.0, table.heads(group)) for group in ("labeled", "unlabeled"))
        raw = mixture.true_rates(*rates) if roc is None else (roc.raw_tpr, roc.raw_fpr)
        return float(spec.formula(*raw, mixture.pi))
    roc = roc or recovered_roc(table, mixture)
    return float(spec.formula(roc.tpr, roc.fpr, mixture.pi))
