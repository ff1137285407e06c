"""Recovered curves over all thresholds."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme
from recoup.exceptions import InvalidInputError
from recoup.metrics.curve_results import (
    CalibrationCurve,
    LiftCurve,
    MetricCurve,
    PrCurve,
    RocCurve,
)
from recoup.metrics.intervals import normal_quantile
from recoup.metrics.observed import ObservedShares
from recoup.metrics.point import positive_rate, precision
from recoup.metrics.rates import Mixture, prepare
from recoup.metrics.spec import point_spec
from recoup.scores.table import ScoreTable


def recovered_roc(table: ScoreTable, mixture: Mixture) -> RocCurve:
    """Unmix the rates at every score, and smooth them so that they never fall.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives folded in.
    mixture : Mixture
        Shares of positives in the two samples and in the population.

    Returns
    -------
    RocCurve
    """
    raw_tpr, raw_fpr = mixture.true_rates(table.heads("labeled"), table.heads("unlabeled"))
    raw_tpr, raw_fpr = np.append(0.0, raw_tpr), np.append(0.0, raw_fpr)
    # The first point stands for no rows; isotonic regression wants weights above zero.
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
    """Nearest rate (weighted least squares) that never falls and stays in [0, 1].

    Parameters
    ----------
    raw : ndarray of shape (n,)
        Rates from the highest threshold down.
    weights : ndarray of shape (n,)
        Rows behind each of them.

    Returns
    -------
    ndarray of shape (n,)
        From 0 to 1.
    """
    rate: FloatArray = monotone_rates(raw[None], weights)[0]
    return rate


def monotone_rates(raw: FloatArray, weights: FloatArray) -> FloatArray:
    """Do the same for many curves, one in each row.

    Parameters
    ----------
    raw : ndarray of shape (n_curves, n)
        Rates from the highest threshold down.
    weights : ndarray of shape (n,)
        Rows behind each of them.

    Returns
    -------
    ndarray of shape (n_curves, n)
    """
    falls = (raw[:, 1:] < raw[:, :-1]).any(axis=1)
    rates = raw
    if falls.any():
        from scipy.optimize import isotonic_regression

        # One call for all of them: each is lifted above the one before, so that none are pooled.
        chosen = raw[falls]
        lift = (np.ptp(chosen) + 1) * np.arange(len(chosen))[:, None]
        usable = np.tile(np.maximum(weights, 1e-9), len(chosen))
        rising = isotonic_regression((chosen + lift).ravel(), weights=usable).x
        rates = raw.copy()
        rates[falls] = rising.reshape(chosen.shape) - lift
    rates = np.clip(rates, 0.0, 1.0)
    # Regression moves the ends too; a curve goes from (0, 0) to (1, 1).
    rates[:, 0], rates[:, -1] = 0.0, 1.0
    return rates


def precision_of(roc: RocCurve) -> FloatArray:
    """Precision along a curve; where nothing is predicted positive yet, that of the first point.

    Parameters
    ----------
    roc : RocCurve
        Smoothed rates.

    Returns
    -------
    ndarray of shape (n,)
    """
    values = np.asarray(precision.from_rates(roc.tpr, roc.fpr, roc.pi))
    defined = np.flatnonzero(~np.isnan(values))
    values[: defined[0]] = values[defined[0]]
    return values


def metric_along(roc: RocCurve, name: str, caller: str, **params: float) -> MetricCurve:
    """Evaluate a threshold metric along a curve.

    Parameters
    ----------
    roc : RocCurve
        Smoothed rates.
    name : str
        Key of a metric of one threshold.
    caller : str
        Who asks, for the error message.
    **params : float
        Parameters of the metric, such as ``b=2.0`` of ``"fbeta"``.

    Returns
    -------
    MetricCurve
    """
    spec = point_spec(name, caller)
    values = np.asarray(spec.formula(roc.tpr, roc.fpr, roc.pi, **params), float)
    signed = values if spec.higher_is_better else -values
    best = int(np.nanargmax(signed))
    return MetricCurve(name, roc.threshold, values, float(roc.threshold[best]), float(values[best]))


def calibration_of(
    table: ScoreTable, mixture: Mixture, n_bins: int, confidence: float = 0.95
) -> CalibrationCurve:
    """Recover the share of positives in quantile bins of the score.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    mixture : Mixture
        Shares of positives in the two samples and in the population.
    n_bins : int
        How many bins with equally many rows; fewer where scores are tied.
    confidence : float, default=0.95
        Level of the intervals of the shares.

    Returns
    -------
    CalibrationCurve
    """
    rows = mixture.rows(table)
    cumulative = np.cumsum(rows)
    cuts = np.searchsorted(cumulative, cumulative[-1] * np.arange(1, n_bins) / n_bins, "left") + 1
    starts = np.unique(np.append(0, cuts[cuts < len(rows)]))
    in_bin = np.add.reduceat(rows, starts)
    filled = in_bin > 0
    # The share of positives in a bin is the precision of flagging the rows of this bin alone.
    observed = ObservedShares.in_bins(table, starts, mixture.scheme)
    if table.shared is not None:
        # The mixture may have another pi than the propensities imply.
        observed = replace(observed, values=observed.values | {"pi": mixture.pi})
    hidden = mixture.alpha
    if table.n_known:
        hidden = mixture.alpha / (1 - table.n_known / table.n_unlabeled)
    z = normal_quantile(confidence)
    share = observed.value(precision.from_rates, hidden, mixture.beta)[filled]
    limits = observed.at_limits(hidden, mixture.beta, z)
    _, ends = observed.intervals([precision.from_rates], hidden, mixture.beta, limits)
    low, high = (np.clip(limit[0][filled], 0.0, 1.0) for limit in ends)
    mean_score = np.add.reduceat(rows * table.centers, starts)[filled] / in_bin[filled]
    starts = table.scores[starts][filled]
    return calibration_from(starts, mean_score, share, (low, high), in_bin[filled], confidence)


def calibration_from(
    starts: FloatArray,
    mean_score: FloatArray,
    share: FloatArray,
    limits: tuple[FloatArray, FloatArray],
    rows: FloatArray,
    confidence: float,
) -> CalibrationCurve:
    """Set shares of positives against mean scores.

    Parameters
    ----------
    starts : ndarray of shape (n_bins,)
        Lowest score of each bin.
    mean_score : ndarray of shape (n_bins,)
        Mean predicted probability in each bin.
    share : ndarray of shape (n_bins,)
        Share of positives in each bin, before clipping.
    limits : (ndarray, ndarray)
        Lower and upper limits of the shares.
    rows : ndarray of shape (n_bins,)
        Rows of the judged population in each bin.
    confidence : float
        Level of the limits.

    Returns
    -------
    CalibrationCurve
    """
    clipped = np.clip(share, 0.0, 1.0)
    low, high = np.minimum(limits[0], clipped), np.maximum(limits[1], clipped)
    weight = rows / rows.sum()
    gap = np.abs(mean_score - clipped)
    error = (high - low) / (2 * normal_quantile(confidence))
    # Noise alone makes distances; the square of what is beyond it is left.
    beyond = np.sqrt(np.maximum(gap**2 - error**2, 0.0))
    return CalibrationCurve(
        starts,
        mean_score,
        clipped,
        share,
        low,
        high,
        rows,
        float(np.dot(weight, beyond)),
        float(np.dot(weight, gap)),
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
    alpha : float, optional
        Share of positives among the unlabeled rows. Not needed with ``propensity``.
    beta : float, default=1.0
        Share of true positives among the labeled rows; 1.0 if every label is right.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) of each row, for labels that are not a random sample of the
        positives. Takes the place of alpha.

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


def pr_curve(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> PrCurve:
    """Recover the precision-recall curve.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float, optional
        Share of positives among the unlabeled rows. Not needed with ``propensity``.
    beta : float, default=1.0
        Share of true positives among the labeled rows; 1.0 if every label is right.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) of each row, for labels that are not a random sample of the
        positives. Takes the place of alpha.

    Returns
    -------
    PrCurve
        With ``precision``, ``recall`` and ``threshold``.

    Examples
    --------
    >>> pr_curve([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.25).precision.round(3)
    array([1.   , 1.   , 0.667, 0.8  , 0.625])
    """
    roc = roc_curve(
        s,
        scores,
        alpha=alpha,
        beta=beta,
        scheme=scheme,
        sample_weight=sample_weight,
        propensity=propensity,
    )
    return PrCurve(precision_of(roc), roc.tpr, roc.threshold, roc.pi)


def lift_curve(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> LiftCurve:
    """Recover the lift curve: recall against the share of rows predicted positive.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float, optional
        Share of positives among the unlabeled rows. Not needed with ``propensity``.
    beta : float, default=1.0
        Share of true positives among the labeled rows; 1.0 if every label is right.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) of each row, for labels that are not a random sample of the
        positives. Takes the place of alpha.

    Returns
    -------
    LiftCurve
        With ``positive_rate``, ``tpr`` and ``threshold``.

    Examples
    --------
    >>> lift_curve([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.0).positive_rate
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    roc = roc_curve(
        s,
        scores,
        alpha=alpha,
        beta=beta,
        scheme=scheme,
        sample_weight=sample_weight,
        propensity=propensity,
    )
    rate = positive_rate(roc.tpr, roc.fpr, roc.pi)
    return LiftCurve(rate, roc.tpr, roc.threshold, roc.pi)


def metric_curve(
    name: str,
    s: ArrayLike,
    scores: ArrayLike,
    *,
    params: dict[str, float] | None = None,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> MetricCurve:
    """Recover a metric at every threshold, and its best one.

    Parameters
    ----------
    name : str
        Key of a metric of one threshold, such as ``"f1"``.
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive.
    params : dict, optional
        Parameters of the metric, such as ``{"b": 2.0}`` of ``"fbeta"``.
    alpha : float, optional
        Share of positives among the unlabeled rows. Not needed with ``propensity``.
    beta : float, default=1.0
        Share of true positives among the labeled rows; 1.0 if every label is right.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) of each row, for labels that are not a random sample of the
        positives. Takes the place of alpha.

    Returns
    -------
    MetricCurve
        With ``threshold``, ``values``, ``best_threshold`` and ``best_value``.

    Examples
    --------
    >>> metric_curve("f1", [1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.25).best_threshold
    0.7
    """
    roc = roc_curve(
        s,
        scores,
        alpha=alpha,
        beta=beta,
        scheme=scheme,
        sample_weight=sample_weight,
        propensity=propensity,
    )
    return metric_along(roc, name, "metric_curve", **(params or {}))


def calibration_curve(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    n_bins: int = 10,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> CalibrationCurve:
    """Recover how often rows with a given predicted probability are really positive.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Predicted probabilities of being positive, in [0, 1].
    n_bins : int, default=10
        How many bins with equally many rows; fewer where scores are tied.
    alpha : float, optional
        Share of positives among the unlabeled rows. Not needed with ``propensity``.
    beta : float, default=1.0
        Share of true positives among the labeled rows; 1.0 if every label is right.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) of each row, for labels that are not a random sample of the
        positives. Takes the place of alpha.

    Returns
    -------
    CalibrationCurve
        With ``mean_score``, ``positive_share`` and its interval, ``ece`` and ``raw_ece``.

    Examples
    --------
    >>> curve = calibration_curve([1, 0, 0, 0], [0.9, 0.6, 0.2, 0.1], alpha=1/3, n_bins=2)
    >>> curve.mean_score, curve.positive_share, curve.raw_ece
    (array([0.15, 0.75]), array([0., 1.]), 0.2)
    >>> curve.ece  # four rows do not show that these probabilities are wrong
    0.0
    """
    table, mixture = prepare(
        s,
        scores,
        caller="calibration_curve",
        alpha=alpha,
        beta=beta,
        scheme=scheme,
        sample_weight=sample_weight,
        propensity=propensity,
    )
    check_probabilities(table, "calibration_curve")
    if not isinstance(n_bins, Integral) or n_bins < 1:
        raise InvalidInputError(
            f"calibration_curve needs n_bins to be a whole number from 1. Got {n_bins!r}."
        )
    return calibration_of(table, mixture, n_bins)


def check_probabilities(table: ScoreTable, caller: str) -> None:
    """Require scores in [0, 1].

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    caller : str
        Who asks, for the error message.
    """
    if not table.holds_probabilities:
        low, high = table.score_range
        raise InvalidInputError(
            f"{caller} needs scores that are probabilities in [0, 1]. "
            f"Got {low:g} to {high:g}. Pass predict_proba(X)[:, 1], or use a ranking metric."
        )
