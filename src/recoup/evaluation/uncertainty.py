"""Intervals of every metric and bands of every curve, for known or uncertain alpha."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.prior import Prior
from recoup.metrics import intervals as intervals
from recoup.metrics.area import (
    PROPER_LOSSES,
    area_left_of,
    area_under_pr,
    area_under_roc,
    auc_pu,
    aul_of,
    direct_auc,
    mcclish,
    proper_score,
    step_average_precision,
)
from recoup.metrics.curve_results import Band
from recoup.metrics.measure import PARTIAL_MAX_FPR, observed_rates_at
from recoup.metrics.point import positive_rate
from recoup.metrics.rates import Mixture
from recoup.metrics.resample import Replicates
from recoup.metrics.spec import POINT_METRICS
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
            for key in ("average_precision", "pr_auc"):
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
    direct = area_under_roc(tpr, fpr)
    values = {
        "roc_auc": direct,
        "aul": aul_of(direct, draws.pi),
        "average_precision": step_average_precision(tpr, fpr, draws.pi),
    }
    if table.holds_probabilities:
        centers = replicates.table.centers[::-1]
        for key, losses in PROPER_LOSSES.items():
            if_positive, if_negative = losses(centers)
            values[key] = draws.pi * (np.diff(tpr) @ if_positive) + (1 - draws.pi) * (
                np.diff(fpr) @ if_negative
            )
    size = table.effective_sizes[0]
    for key, drawn in values.items():
        bottom, top = intervals.expanded_percentiles(drawn, confidence, size)
        limits[key] = (limits[key][0] if key == "average_precision" else float(bottom), float(top))
    limits["pr_auc"] = limits["pr_auc"][0], limits["average_precision"][1]
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
    for key, metric in POINT_METRICS.items():
        if key == "fbeta":  # the same as f1 without its parameter
            continue
        formula = metric.from_rates
        raw = np.asarray(formula(*mixture.true_rates(*rates), mixture.pi), float)
        if drawn is None:
            ends = [intervals.mover(formula, *rates, sizes, one, z) for one in mixtures]
            low, high = np.min([e[0] for e in ends], axis=0), np.max([e[1] for e in ends], axis=0)
        else:
            low, high = intervals.expanded_percentiles(formula(*drawn), confidence, sizes[0])
        found[key] = raw, low, high
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

    def symmetric(at: Callable[[Mixture], float], influence: intervals.Influence) -> FloatArray:
        """Interval around a smooth function of the table, averaged over alpha if uncertain."""
        error = intervals.standard_error(table, influence)
        if prior.alpha_draws is None:
            return at(mixture) + quantile * error * np.array([-1.0, 1.0])
        alphas, betas = prior.sample(40, rng)
        centers = np.array(
            [
                at(Mixture.of(table, float(a), float(b), mixture.scheme))
                for a, b in np.broadcast(alphas, betas)
            ]
        )
        shifted = rng.choice(centers, size=N_DRAWS) + noise * error
        result: FloatArray = np.quantile(shifted, levels)
        return result

    observed = np.clip(intervals.auc_interval(table, auc_pu(table), confidence), 1e-9, 1 - 1e-9)
    auc = direct_auc(observed, mixture)
    aul = aul_of(auc, mixture.pi)
    if prior.alpha_draws is not None:
        middle, half = np.mean(logit(observed)), np.ptp(logit(observed)) / 2
        drawn = direct_auc(expit(middle + noise * half / quantile), draws)
        auc = np.quantile(drawn, levels)
        if prior.beta_draws is not None or prior.beta < 1:
            aul = np.quantile(aul_of(drawn, draws.pi), levels)
    limits = {"roc_auc": auc, "aul": aul}

    def raw_average_precision(one: Mixture) -> float:
        rates = (np.append(0.0, table.heads(group)) for group in ("labeled", "unlabeled"))
        return float(step_average_precision(*one.true_rates(*rates), one.pi))

    influence = intervals.average_precision_influence(table, mixture)
    wald = symmetric(raw_average_precision, influence)
    center = raw_average_precision(mixture)
    # Precision is a ratio, so its errors grow upwards: the upper limit is taken in logarithms.
    upper = center * np.exp(min((wald[1] - center) / center, 50.0)) if center > 0 else wald[1]
    limits["average_precision"] = limits["pr_auc"] = np.array([wald[0], upper])
    if table.holds_probabilities:
        for key, losses in PROPER_LOSSES.items():
            limits[key] = symmetric(
                partial(proper_score, table, losses=losses(table.centers)),
                intervals.proper_influence(key, table, mixture),
            )
    return {key: (float(ends[0]), float(ends[1])) for key, ends in limits.items()}


def _curve_limits(
    table: ScoreTable, mixture: Mixture, confidence: float, replicates: Replicates
) -> tuple[Limits, dict[str, Band]]:
    """Bootstrap intervals of areas that have no analytic one, and bands of the curves."""
    size = table.effective_sizes[0]
    tpr, fpr = replicates.valid_rates(mixture)
    pi = np.broadcast_to(np.asarray(mixture.pi, float), len(tpr))
    areas = {
        "average_precision": step_average_precision(tpr, fpr, pi),
        "pr_auc": area_under_pr(tpr, fpr, pi),
        "partial_roc_auc": np.array(
            [
                mcclish(area_left_of(y, x, PARTIAL_MAX_FPR), PARTIAL_MAX_FPR)
                for y, x in zip(tpr, fpr, strict=True)
            ]
        ),
    }
    limits = {}
    for key, values in areas.items():
        low, high = intervals.expanded_percentiles(values, confidence, size)
        if high - low < 1e-9:
            # Every replicate the same: perfect separation, which few rows can show by luck.
            z = intervals.normal_quantile(confidence)
            low, high = intervals.wilson(np.clip(low, 0.0, 1.0), size, z)
        limits[key] = float(low), float(high)

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
