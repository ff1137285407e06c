"""Intervals of every metric, for known or uncertain alpha.

The error of a metric has independent parts: how rows lie along the scores, which share of the rows
has a label, and what is not known about alpha and beta. The value at the limits of each part is
set against the value itself, and the distances are squared and added (:func:`mover`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior
from recoup.metrics import intervals
from recoup.metrics.area import auc_pu, loss_means, proper_value
from recoup.metrics.bands import MovedCurves, observed_curve, share_limits
from recoup.metrics.curves import recovered_roc
from recoup.metrics.influence import (
    Influence,
    auc_effects,
    influence_of,
    rows_behind,
    standard_error,
)
from recoup.metrics.intervals import Ends
from recoup.metrics.measure import raw_value
from recoup.metrics.observed import ObservedShares, group_shares, moved_mixture
from recoup.metrics.point_limits import N_DRAWS, PointLimits
from recoup.metrics.rates import Mixture
from recoup.metrics.resample import RESAMPLE_BINS
from recoup.metrics.spec import MetricSpec, evaluated_specs, metric_spec
from recoup.scores.table import ScoreTable

# Draws of alpha and beta that the interval of a whole curve goes through.
N_CURVES = 60

Limits = dict[str, tuple[float, float]]
# AUC_pu and its limits.
ObservedAuc = tuple[float, tuple[float, float]]
# By how much intervals are wider than for independent rows, by key of the metric.
Factors = Mapping[str, Any]


def uncertainty(
    table: ScoreTable,
    prior: Prior,
    scheme: Scheme,
    threshold: float,
    confidence: float,
    times: Factors | None = None,
    along_curves: bool = True,
) -> Limits:
    """Intervals of all metrics.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives folded in or rows weighted by propensity.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    threshold : float
        Where scores become predictions.
    confidence : float
        Level of the intervals.
    times : dict of str to float, optional
        By how much rows that are not independent widen the interval of each metric.
    along_curves : bool, default=True
        Whether to find those of areas along a curve and of proper scores too, which take longest.

    Returns
    -------
    dict of str to (float, float)
        By key of the metric; not clipped to the metric's range.
    """
    times = times or {}
    points = point_estimates(table, prior, scheme, np.array([threshold]), confidence, times)
    limits = {key: (float(low[0]), float(high[0])) for key, (_, low, high) in points.items()}
    specs = evaluated_specs("area", "proper", probabilities=table.holds_probabilities)
    if not along_curves:
        specs = [spec for spec in specs if spec.from_auc_pu is not None]
    auc = _observed_auc(table, confidence)

    @cache
    def curves(alpha: float) -> MovedCurves:
        observed = observed_curve(table, scheme)
        limits = share_limits(observed, confidence)
        return MovedCurves.of(observed, limits, prior, alpha, N_CURVES)

    found: Limits = {}
    for spec in specs:
        if spec.limits_of is not None:
            found[spec.key] = _shifted(spec, found[spec.limits_of], table, prior, scheme)
            continue
        ends = [
            _interval(
                *(spec, table, prior, alpha, scheme, confidence, times.get(spec.key, 1.0)),
                auc,
                curves,
            )
            for alpha in prior.corners()
        ]
        found[spec.key] = min(low for low, _ in ends), max(high for _, high in ends)
    return found | limits


def pi_limits(
    table: ScoreTable, prior: Prior, scheme: Scheme, confidence: float
) -> tuple[float, float]:
    """Interval of the share of positives in the judged population.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    confidence : float
        Level of the interval.

    Returns
    -------
    lower, upper : float
    """
    z = intervals.normal_quantile(confidence)
    beta = prior.beta

    def pi_at(alpha: Any, beta: Any, **moved: Any) -> Any:
        return moved_mixture(table, scheme, alpha, beta, moved).pi

    limits = []
    for alpha in prior.corners():
        ends = []
        for name, (share, size) in group_shares(table, scheme).items():
            low, high = intervals.wilson(share, size, z)
            ends.append((pi_at(alpha, beta, **{name: low}), pi_at(alpha, beta, **{name: high})))
        if prior.alpha_draws is not None:
            drawn = pi_at(*prior.some_draws(N_DRAWS))
            ends.append(intervals.spread(drawn, confidence))
        limits.append(intervals.mover(pi_at(alpha, beta), ends))
    low, high = np.min([one[0] for one in limits]), np.max([one[1] for one in limits])
    return float(max(low, 0.0)), float(min(high, 1.0))


def point_estimates(
    table: ScoreTable,
    prior: Prior,
    scheme: Scheme,
    thresholds: FloatArray,
    confidence: float,
    times: Factors | None = None,
) -> dict[str, tuple[FloatArray, FloatArray, FloatArray]]:
    """Every threshold metric as raw, lower and upper values over thresholds, none clipped.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    thresholds : ndarray of shape (n,)
        Where scores become predictions.
    confidence : float
        Level of the intervals.
    times : dict of str to float or ndarray of shape (n,), optional
        By how much rows that are not independent widen the interval of each metric.

    Returns
    -------
    dict of str to tuple of three ndarray of shape (n,)
        By key of the metric.
    """
    limits = PointLimits.of(ObservedShares.above(table, thresholds, scheme), prior, confidence)
    specs = evaluated_specs("point")
    stretch: Any = 1.0
    if times:
        stretch = np.array(
            [np.broadcast_to(times.get(spec.key, 1.0), thresholds.shape) for spec in specs]
        )
    low, high = limits.intervals([spec.formula for spec in specs], stretch)
    return {
        spec.key: (limits.value(spec.formula), low[place], high[place])
        for place, spec in enumerate(specs)
    }


def _interval(
    spec: MetricSpec,
    table: ScoreTable,
    prior: Prior,
    alpha: float,
    scheme: Scheme,
    confidence: float,
    times: float,
    auc: ObservedAuc,
    curves: Callable[[float], MovedCurves],
) -> tuple[float, float]:
    """Interval of an area or a proper score, from rows, from moved curves, or the narrower one.

    Both hold the truth. Raw rates of few labeled rows are wild where alpha is large, and valid
    curves are not; but moving all thresholds at once says too much where rates are plain shares.
    """
    if spec.row_effects is None or spec.at_edge:
        return _moved_curves_interval(spec, curves(alpha), confidence, times)
    from_rows = _area_interval(spec, table, prior, alpha, scheme, confidence, times, auc)
    if spec.kind == "proper" or spec.from_auc_pu is not None:
        return from_rows
    from_curves = _moved_curves_interval(spec, curves(alpha), confidence, times)
    return min(from_rows, from_curves, key=lambda ends: spec.clip(ends[1]) - spec.clip(ends[0]))


def _area_interval(
    spec: MetricSpec,
    table: ScoreTable,
    prior: Prior,
    alpha: float,
    scheme: Scheme,
    confidence: float,
    times: float,
    auc: ObservedAuc,
) -> tuple[float, float]:
    """Interval of an area or a proper score at one alpha, with the draws around it."""
    assert spec.row_effects is not None
    shares = group_shares(table, scheme)
    mixture = moved_mixture(table, scheme, alpha, prior.beta, {})
    if spec.from_auc_pu is not None:
        direct, (observed, around) = spec.from_auc_pu, auc
        raw, low, high = (float(direct(one, mixture)) for one in (observed, *around))
        shape: Ends = low, high
    else:
        raw, shape = _shape_limits(spec, table, mixture, confidence)
    z = intervals.normal_quantile(confidence)
    ends = [shape]
    for name, (share, size) in shares.items():
        if name != "known_share":
            moved = (
                moved_mixture(table, scheme, alpha, prior.beta, {name: at})
                for at in intervals.wilson(share, size, z)
            )
            if spec.from_auc_pu is not None:
                low, high = (float(spec.from_auc_pu(auc[0], one)) for one in moved)
            else:
                low, high = (raw_value(spec, table, one) for one in moved)
            ends.append((low, high))
    low, high = intervals.mover(raw, ends)
    if table.squares is not None or table.n_known:
        times *= _stretch(spec, table, mixture, shares)
    low, high = raw - times * (raw - low), raw + times * (high - raw)
    if prior.alpha_draws is not None:
        drawn = drawn_values(spec, table, prior, scheme)
        low, high = intervals.mover(raw, [(low, high), intervals.spread(drawn, confidence)])
    return float(low), float(high)


def _observed_auc(table: ScoreTable, confidence: float) -> ObservedAuc:
    """AUC_pu with its limits, the same for all areas that follow from it."""

    def made() -> ObservedAuc:
        size = rows_behind(table, Influence(*auc_effects(table)))
        value = auc_pu(table)
        quantile = intervals.t_quantile(confidence, size)
        return value, intervals.auc_interval(table, value, quantile)

    return table.once(("AUC_pu", confidence), made)


def _shape_limits(
    spec: MetricSpec, table: ScoreTable, mixture: Mixture, confidence: float
) -> tuple[float, Ends]:
    """Return the raw value, and limits for how rows lie along the scores, all shares held."""
    assert spec.row_effects is not None
    influence = Influence(*spec.row_effects(table, mixture, np.nan))
    size = rows_behind(table, influence)
    quantile = intervals.t_quantile(confidence, size)
    raw = raw_value(spec, table, mixture)
    error = standard_error(table, influence)
    if spec.kind == "proper":
        if np.isfinite(spec.high):
            # Few rows may hold none of the extreme losses: one more row, half at each extreme,
            # leaves room for them.
            effects = influence.labeled - np.dot(table.labeled[::-1], influence.labeled) / (
                table.n_labeled
            )
            unseen = (effects.max() ** 2 + effects.min() ** 2) / 2 / (size + 1) ** 2
            error = float(np.sqrt(error**2 + unseen))
        return raw, (raw - quantile * error, raw + quantile * error)
    # Clipping pulls the valid curve down, noise pushes the raw one up: each limit comes from the
    # estimate whose bias makes it safe. Small shares are skewed on the logit scale, large ones on
    # the plain one.
    roc = recovered_roc(table, mixture)
    valid = float(spec.formula(roc.tpr, roc.fpr, mixture.pi))
    low = min(intervals.logit_interval(valid, error, quantile)[0], valid - quantile * error, raw)
    high = max(intervals.logit_interval(raw, error, quantile)[1], raw)
    if min(valid, 1 - valid) * size < 1:
        # Perfect separation, which few rows can show by luck.
        around = intervals.wilson(np.clip(valid, 0.0, 1.0), size, quantile)
        low, high = min(low, float(around[0])), max(high, float(around[1]))
    return raw, (low, high)


def _stretch(
    spec: MetricSpec,
    table: ScoreTable,
    mixture: Mixture,
    shares: dict[str, tuple[float, float]],
) -> float:
    """By how much the error is larger than if its parts were independent.

    Rows with large weights, known negatives, and rows with propensities move several parts.
    """
    assert spec.row_effects is not None
    whole = influence_of(
        spec.row_effects(table, mixture, np.nan),
        lambda moved: raw_value(spec, table, moved),
        table,
        mixture,
    )
    apart = standard_error(table, Influence(whole.labeled, whole.unlabeled)) ** 2
    for name, (share, size) in shares.items():
        if name != "known_share":
            apart += whole.share**2 * share * (1 - share) / size
    joint = standard_error(table, whole) ** 2
    return float(np.sqrt(joint / apart)) if 0 < apart < np.inf and joint > 0 else 1.0


def draws_for(spec: MetricSpec, prior: Prior) -> tuple[FloatArray, FloatArray]:
    """Pairs of alpha and beta that a metric is drawn for: fewer where each asks for a curve."""
    curves = spec.kind == "area" and spec.from_auc_pu is None
    alphas, betas = np.broadcast_arrays(*prior.some_draws(N_CURVES if curves else N_DRAWS))
    return np.atleast_1d(alphas), np.atleast_1d(betas)


def drawn_values(
    spec: MetricSpec, table: ScoreTable, prior: Prior, scheme: Scheme, threshold: float = np.nan
) -> FloatArray:
    """Value for each of the draws of alpha and beta, those of :func:`draws_for`.

    Parameters
    ----------
    spec : MetricSpec
        The metric.
    table : ScoreTable
        The counted rows.
    prior : Prior
        Alpha and beta with their draws.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    threshold : float, optional
        Where scores become predictions, for a metric that needs it.

    Returns
    -------
    ndarray of shape (n_draws,)
    """
    alphas, betas = draws_for(spec, prior)
    if spec.kind == "point":
        observed = ObservedShares.above(table, np.array([threshold]), scheme)
        return np.ravel(observed.value(spec.formula, alphas[:, None], betas[:, None]))
    if spec.kind == "proper" or spec.from_auc_pu is not None:
        mixture = Mixture.of(table, alphas, betas, scheme)
        if spec.from_auc_pu is not None:
            return np.atleast_1d(spec.from_auc_pu(auc_pu(table), mixture))
        return np.atleast_1d(proper_value(loss_means(table, spec.formula(table.centers)), mixture))
    coarse = table.thin(RESAMPLE_BINS)

    def values() -> Iterator[float]:
        yield raw_value(spec, coarse, Mixture.of(coarse, prior.alpha, prior.beta, scheme))
        for alpha, beta in zip(alphas, betas, strict=True):
            yield raw_value(spec, coarse, Mixture.of(coarse, float(alpha), float(beta), scheme))

    drawn = np.array(list(values()))
    # Thinning moves all of them alike; what counts is how far draws lie from the center.
    exact = raw_value(spec, table, Mixture.of(table, prior.alpha, prior.beta, scheme))
    moved: FloatArray = drawn[1:] - drawn[0] + exact
    return moved


def _moved_curves_interval(
    spec: MetricSpec, curves: MovedCurves, confidence: float, times: float
) -> tuple[float, float]:
    """Interval of an area from curves with each share at its limits at all thresholds."""
    value = float(spec.formula(*curves.center))
    ends: list[Ends] = [
        (float(spec.formula(*low)), float(spec.formula(*high))) for low, high in curves.ends
    ]
    low, high = intervals.mover(value, ends)
    ends = [(value - times * (value - low), value + times * (high - value))]
    if curves.drawn:
        drawn = [float(spec.formula(*one)) for one in curves.drawn]
        ends.append(intervals.spread(np.array(drawn), confidence))
    low, high = intervals.mover(value, ends)
    return float(low), float(high)


def _shifted(
    spec: MetricSpec, limits: tuple[float, float], table: ScoreTable, prior: Prior, scheme: Scheme
) -> tuple[float, float]:
    """Limits of a metric from those of one that moves with it."""
    assert spec.limits_of is not None
    mixture = moved_mixture(table, scheme, prior.alpha, prior.beta, {})
    roc = recovered_roc(table, mixture)
    of = metric_spec(spec.limits_of, "evaluate")
    shift = float(
        spec.formula(roc.tpr, roc.fpr, mixture.pi) - of.formula(roc.tpr, roc.fpr, mixture.pi)
    )
    return limits[0] + min(shift, 0.0), limits[1] + max(shift, 0.0)
