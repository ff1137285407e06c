"""What choosing a threshold on the rows that it is judged by adds to the metrics there.

The best of many noisy values is above the true one. In each bootstrap replicate the threshold is
chosen anew; what the replicate says of it, less what the rows themselves say, is the optimism of
the choice (Efron 1983).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._core.checks import Scheme
from recoup.metrics.observed import moved_mixture
from recoup.metrics.resample import Replicates
from recoup.metrics.spec import MetricSpec, evaluated_specs, metric_spec

# More replicates change the mean by less than a tenth of the interval's width.
N_REPLICATES = 200


def optimism(
    replicates: Replicates,
    alpha: float,
    beta: float,
    scheme: Scheme,
    metric: str,
    params: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """By how much metrics at the best threshold are too good, on average.

    Parameters
    ----------
    replicates : Replicates
        Bootstrap replicates of the rows.
    alpha, beta : float
        Shares of positives among the unlabeled and the labeled rows.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    metric : str
        Key of the metric that the threshold is best for.
    params : mapping of str to float, optional
        Parameters of that metric.

    Returns
    -------
    dict of str to float
        By key, for all metrics at one threshold of an evaluation: recovered minus true, on average.
    """
    chosen = _chosen(replicates, alpha, beta, scheme, metric_spec(metric, "optimism"), params or {})
    return {spec.key: chosen.mean_gap(spec, {}) for spec in evaluated_specs("point")}


def optimism_of_best(
    replicates: Replicates,
    alpha: float,
    beta: float,
    scheme: Scheme,
    metric: str,
    params: Mapping[str, float] | None = None,
) -> float:
    """By how much the best value of a metric over thresholds is too good, on average.

    Parameters
    ----------
    replicates, alpha, beta, scheme, metric, params
        As for :func:`optimism`.

    Returns
    -------
    float
    """
    spec, given = metric_spec(metric, "optimism"), params or {}
    chosen = _chosen(replicates, alpha, beta, scheme, spec, given)
    return chosen.mean_gap(spec, given)


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Rates at the thresholds that replicates choose.

    Parameters
    ----------
    said : tuple
        ``(tpr, fpr, pi)`` of each replicate, as it says itself.
    held : tuple
        The same of the rows that it was drawn from.
    """

    said: tuple[Any, Any, Any]
    held: tuple[Any, Any, Any]

    def mean_gap(self, spec: MetricSpec, params: Mapping[str, float]) -> float:
        """Mean of what replicates say at their best places, less what the rows say there."""
        said, held = (
            np.clip(np.asarray(spec.formula(*rates, **params), float), spec.low, spec.high)
            for rates in (self.said, self.held)
        )
        gaps = said - held
        known = gaps[np.isfinite(gaps)]
        return float(known.mean()) if len(known) else 0.0


def _chosen(
    replicates: Replicates,
    alpha: float,
    beta: float,
    scheme: Scheme,
    spec: MetricSpec,
    params: Mapping[str, float],
) -> _Chosen:
    """Find where each replicate cuts its valid curve, and the rates there."""
    drawn = replicates.mixture(alpha, beta, scheme)
    tpr, fpr = replicates.valid_rates(drawn)
    values = np.asarray(spec.formula(tpr, fpr, drawn.pi, **params), float)
    signed = np.where(np.isnan(values), -np.inf, values if spec.higher_is_better else -values)
    best = np.argmax(signed, axis=1)
    rows, table = np.arange(len(best)), replicates.table
    own = moved_mixture(table, scheme, alpha, beta, {})
    there = drawn.by_draw().true_rates(replicates.tpr_pu[rows, best], replicates.fpr_pu[rows, best])
    heads = (np.append(0.0, table.heads(group))[best] for group in ("labeled", "unlabeled"))
    return _Chosen(
        said=(*there, np.ravel(drawn.pi)),
        held=(*own.true_rates(*heads), own.pi),
    )
