"""Intervals of every metric and bands of every curve, for known or uncertain alpha."""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.prior import Prior
from recoup.metrics import intervals
from recoup.metrics.area import auc_pu
from recoup.metrics.curve_results import Band
from recoup.metrics.measure import observed_rates_at, raw_value
from recoup.metrics.point import positive_rate
from recoup.metrics.rates import Mixture
from recoup.metrics.resample import Replicates
from recoup.metrics.spec import MetricSpec, evaluated_specs
from recoup.scores.table import ScoreTable

N_DRAWS = 4000

Limits = dict[str, tuple[float, float]]


def uncertainty(
    table: ScoreTable,
    prior: Prior,
    mixture: Mixture,
    threshold: float,
    confidence: float,
    replicates: Replicates | None,
    rng: np.random.Generator,
) -> tuple[Limits, dict[str, Band]]:
    """Intervals of all metrics and bands of all curves."""
    if replicates is not None and replicates.alpha is not None:
        return _joint_uncertainty(table, prior, mixture, threshold, confidence, replicates, rng)
    points = point_estimates(table, prior, mixture, np.array([threshold]), confidence, rng)
    results = []
    for one in _mixtures(table, prior, mixture):
        limits = _area_limits(table, prior, one, confidence, rng)
        bands: dict[str, Band] = {}
        if replicates is not None:
            drawn = one
            if prior.alpha_draws is not None:
                pair = prior.sample(len(replicates.tpr_pu), rng)
                drawn = Mixture.of(table, *pair, mixture.scheme)
            curve_limits, bands = _curve_limits(table, drawn, confidence, replicates)
            for key in set(curve_limits) & set(limits):
                # Clipping pulls the valid curve down, noise pushes the raw one up: each limit
                # comes from the estimate whose bias makes it safe.
                curve_limits[key] = curve_limits[key][0], limits[key][1]
            limits |= curve_limits
        results.append((limits, bands))
    limits, bands = _envelope(results)
    return limits | {
        k: (float(low[0]), float(high[0])) for k, (_, low, high) in points.items()
    }, bands


def _mixtures(table: ScoreTable, prior: Prior, mixture: Mixture) -> list[Mixture]:
    """One mixture, or those over an interval of alpha: nothing says where in it alpha lies."""
    if prior.interval is None:
        return [mixture]
    alphas = np.linspace(*prior.interval, 3)
    return [Mixture.of(table, float(alpha), prior.beta, mixture.scheme) for alpha in alphas]


def _joint_uncertainty(
    table: ScoreTable,
    prior: Prior,
    mixture: Mixture,
    threshold: float,
    confidence: float,
    replicates: Replicates,
    rng: np.random.Generator,
) -> tuple[Limits, dict[str, Band]]:
    """Percentiles of replicates that carry their own share of positives."""
    points = point_estimates(
        table, prior, mixture, np.array([threshold]), confidence, rng, replicates
    )
    limits = {key: (float(low[0]), float(high[0])) for key, (_, low, high) in points.items()}
    draws = Mixture.of(table, replicates.alpha, 1.0, mixture.scheme)
    curve_limits, bands = _curve_limits(table, draws, confidence, replicates)
    limits |= curve_limits
    tpr, fpr = draws.by_row().true_rates(replicates.tpr_pu, replicates.fpr_pu)
    size = table.effective_sizes[0]
    for spec in evaluated_specs("area", "proper", probabilities=table.holds_probabilities):
        if spec.kind == "proper":
            if_positive, if_negative = spec.formula(replicates.table.centers[::-1])
            drawn = draws.pi * (np.diff(tpr) @ if_positive) + (1 - draws.pi) * (
                np.diff(fpr) @ if_negative
            )
        elif spec.from_auc_pu is not None or spec.raw_curve:
            drawn = spec.along(tpr, fpr, draws.pi)
        else:
            continue
        bottom, top = intervals.expanded_percentiles(drawn, confidence, size)
        limits[spec.key] = limits[spec.key][0] if spec.ratio else float(bottom), float(top)
    for spec in evaluated_specs("area"):
        if spec.limits_of is not None:
            limits[spec.key] = limits[spec.key][0], limits[spec.limits_of][1]
    return limits, bands


def _envelope(
    results: list[tuple[Limits, dict[str, Band]]],
) -> tuple[Limits, dict[str, Band]]:
    limits = {
        key: (
            min(one[key][0] for one, _ in results),
            max(one[key][1] for one, _ in results),
        )
        for key in results[0][0]
    }
    bands = {
        key: Band(
            band.x,
            np.min([one[key].lower for _, one in results], axis=0),
            np.max([one[key].upper for _, one in results], axis=0),
        )
        for key, band in results[0][1].items()
    }
    return limits, bands


def point_estimates(
    table: ScoreTable,
    prior: Prior,
    mixture: Mixture,
    thresholds: FloatArray,
    confidence: float,
    rng: np.random.Generator,
    replicates: Replicates | None = None,
) -> dict[str, tuple[FloatArray, FloatArray, FloatArray]]:
    """Every threshold metric as raw, lower and upper values over thresholds, none clipped."""
    rates, sizes = observed_rates_at(table, thresholds), table.effective_sizes
    drawn: tuple[Any, Any, Any] | None = None
    if replicates is not None and replicates.alpha is not None:
        column = Mixture.of(table, replicates.alpha, 1.0, mixture.scheme).by_row()
        drawn = (*column.true_rates(*replicates.at(thresholds)), column.pi)
    elif prior.alpha_draws is not None:
        # Draws from Jeffreys' posterior of each rate keep small counts honest.
        observed = [
            rng.beta(rate * size + 0.5, (1 - rate) * size + 0.5, size=(N_DRAWS, len(rate)))
            for rate, size in zip(rates, sizes, strict=True)
        ]
        draws = Mixture.of(table, *prior.sample(N_DRAWS, rng), mixture.scheme)
        column = draws.by_row()
        drawn = (*column.true_rates(*observed), column.pi)
    z = intervals.normal_quantile(confidence)
    mixtures = _mixtures(table, prior, mixture)
    found = {}
    for spec in evaluated_specs("point"):
        formula = spec.formula
        raw = np.asarray(formula(*mixture.true_rates(*rates), mixture.pi), float)
        if drawn is None:
            ends = [intervals.mover(formula, *rates, sizes, one, z) for one in mixtures]
            low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
        else:
            low, high = intervals.expanded_percentiles(formula(*drawn), confidence, sizes[0])
        found[spec.key] = raw, low, high
    return found


def tails(confidence: float) -> list[float]:
    """Quantile levels of a two-sided interval."""
    return [(1 - confidence) / 2, (1 + confidence) / 2]


def _area_limits(
    table: ScoreTable, prior: Prior, mixture: Mixture, confidence: float, rng: np.random.Generator
) -> Limits:
    """Analytic intervals of areas and proper scores."""
    from scipy.special import expit, logit

    size = table.effective_sizes[0]
    quantile = intervals.t_quantile(confidence, size)
    levels = tails(confidence)
    noise = rng.standard_t(max(size - 1, 1), size=N_DRAWS)
    draws = Mixture.of(table, *prior.sample(N_DRAWS, rng), mixture.scheme)

    def symmetric(spec: MetricSpec, influence: intervals.Influence) -> FloatArray:
        """Interval around a smooth function of the table, averaged over alpha if uncertain."""
        error = intervals.standard_error(table, influence)
        center = raw_value(spec, table, mixture)
        if prior.alpha_draws is None:
            ends: FloatArray = center + quantile * error * np.array([-1.0, 1.0])
        else:
            alphas, betas = prior.sample(40, rng)
            centers = np.array(
                [
                    raw_value(spec, table, Mixture.of(table, float(a), float(b), mixture.scheme))
                    for a, b in np.broadcast(alphas, betas)
                ]
            )
            ends = np.quantile(rng.choice(centers, size=N_DRAWS) + noise * error, levels)
        if spec.ratio and center > 0:
            # Precision is a ratio, so its errors grow upwards: the upper limit is taken in
            # logarithms.
            ends[1] = center * np.exp(min((ends[1] - center) / center, 50.0))
        return ends

    observed = np.clip(intervals.auc_interval(table, auc_pu(table), confidence), 1e-9, 1 - 1e-9)
    middle, half = np.mean(logit(observed)), np.ptp(logit(observed)) / 2
    noisy = prior.beta_draws is not None or prior.beta < 1
    limits: dict[str, FloatArray] = {}
    for spec in evaluated_specs("area", "proper", probabilities=table.holds_probabilities):
        if spec.from_auc_pu is not None:
            limits[spec.key] = spec.from_auc_pu(observed, mixture)
            if prior.alpha_draws is not None and (spec.needs_alpha or noisy):
                drawn = spec.from_auc_pu(expit(middle + noise * half / quantile), draws)
                limits[spec.key] = np.quantile(drawn, levels)
        elif spec.influence is not None:
            influence = spec.influence(table, mixture, np.nan)
            limits[spec.key] = symmetric(spec, influence)
        elif spec.limits_of is not None:
            limits[spec.key] = limits[spec.limits_of]
    return {key: (float(ends[0]), float(ends[1])) for key, ends in limits.items()}


def _curve_limits(
    table: ScoreTable, mixture: Mixture, confidence: float, replicates: Replicates
) -> tuple[Limits, dict[str, Band]]:
    """Bootstrap intervals of areas that have no analytic one, and bands of the curves."""
    size = table.effective_sizes[0]
    tpr, fpr = replicates.valid_rates(mixture)
    pi = np.broadcast_to(np.asarray(mixture.pi, float), len(tpr))
    limits = {}
    for spec in evaluated_specs("area"):
        if spec.from_auc_pu is not None or (spec.influence is not None and not spec.ratio):
            continue
        values = spec.along(tpr, fpr, pi)
        low, high = intervals.expanded_percentiles(values, confidence, size)
        width = spec.high - spec.low
        if high - low < 1e-9 and np.isfinite(width):
            # Every replicate the same: perfect separation, which few rows can show by luck.
            z = intervals.normal_quantile(confidence)
            share = np.clip((low - spec.low) / width, 0.0, 1.0)
            low, high = (spec.low + width * end for end in intervals.wilson(share, size, z))
        limits[spec.key] = float(low), float(high)

    grid = np.linspace(0.0, 1.0, 101)
    rate = positive_rate(tpr, fpr, pi[:, None])
    precision = np.divide(pi[:, None] * tpr, rate, out=np.ones_like(rate), where=rate > 0)
    # Before the first positive is found there is no recall to show the precision of.
    first = np.argmax(tpr > 0, axis=1)
    precision = np.where(tpr > 0, precision, precision[np.arange(len(tpr)), first][:, None])
    curves = {"roc": (fpr, tpr), "pr": (tpr, precision), "lift": (rate, tpr)}
    bands = {}
    for name, (xs, ys) in curves.items():
        lines = np.array([np.interp(grid, x, y) for x, y in zip(xs, ys, strict=True)])
        low, high = intervals.expanded_percentiles(lines, confidence, size)
        bands[name] = Band(grid, low, high)
    return limits, bands
