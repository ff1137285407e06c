"""Metrics of a whole ranking or of all predicted probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup.exceptions import InvalidInputError
from recoup.metrics.influence import (
    aul_effects,
    average_precision_effects,
    partial_auc_effects,
    roc_auc_effects,
)
from recoup.metrics.rates import Mixture, unmix
from recoup.metrics.spec import AREA_METRICS, area_metric, proper_metric
from recoup.scores.table import ScoreTable

EPSILON = float(np.finfo(float).eps)


def area_under_roc(tpr: FloatArray, fpr: FloatArray) -> Any:
    """Trapezoid area under curves that start at (0, 0) and end at (1, 1)."""
    return np.sum(np.diff(fpr, axis=-1) * (tpr[..., 1:] + tpr[..., :-1]) / 2, axis=-1)


def area_under_pr(tpr: FloatArray, fpr: FloatArray, pi: Any) -> Any:
    """Area under precision-recall curves with the achievable interpolation between points.

    Between two points true and false positives grow in step (Davis and Goadrich 2006), so that
    precision is ``pi*t/(A*t + B)`` in the recall t, which integrates in closed form.
    """
    pi = np.asarray(pi)[..., None]
    rate = pi * tpr + (1 - pi) * fpr
    step, rise = np.diff(tpr, axis=-1), np.diff(rate, axis=-1)
    moving = step > 0
    slope = np.divide(step, rise, out=np.zeros_like(step), where=moving & (rise > 0))
    start = rate[..., :-1]
    # log1p, because the rate grows by little from one of many thresholds to the next. A segment
    # that starts at rate 0 is a straight line, and its logarithm drops out.
    growth = np.divide(rise, start, out=np.zeros_like(rise), where=start > 0)
    bend = (start * slope - tpr[..., :-1]) * np.log1p(growth)
    return np.sum(np.where(moving, pi * slope * (step - bend), 0.0), axis=-1)


def step_average_precision(tpr: FloatArray, fpr: FloatArray, pi: Any) -> Any:
    """Precision averaged over recall, each step at the precision of its lower threshold."""
    pi = np.asarray(pi)[..., None]
    rate = pi * tpr + (1 - pi) * fpr
    # In case-control data the rate is zero where only labeled rows lie above the threshold.
    # Rounding makes it a number like 1e-17 there, which must not be divided by.
    precision = np.divide(pi * tpr, rate, out=np.zeros_like(rate), where=rate > 1e-12)
    return np.sum(np.diff(tpr, axis=-1) * precision[..., 1:], axis=-1)


def area_left_of(tpr: FloatArray, fpr: FloatArray, max_fpr: float) -> float:
    """Area under one ROC curve up to a false positive rate."""
    inside = np.searchsorted(fpr, max_fpr, side="right")
    edge = np.interp(max_fpr, fpr, tpr)
    x, y = np.append(fpr[:inside], max_fpr), np.append(tpr[:inside], edge)
    return float(area_under_roc(y, x))


def mcclish(area: float, max_fpr: float) -> float:
    """Rescale a partial area so that chance is 0.5 and perfection 1."""
    low, high = max_fpr**2 / 2, max_fpr
    return 0.5 * (1 + (area - low) / (high - low))


def auc_pu(table: ScoreTable) -> float:
    """P(score of a labeled row > score of an unlabeled row), ties one half."""
    labeled = table.whole("auc_pu").heads("labeled")
    ties = table.labeled[::-1] / table.n_labeled
    weights = table.unlabeled[::-1] / table.n_unlabeled
    return float(np.dot(labeled - ties / 2, weights))


def direct_auc(value: Any, mixture: Mixture) -> Any:
    """Turn AUC_pu into AUC by Eq. 4 of Jain et al. 2017."""
    gap = mixture.beta - mixture.alpha
    return (value - (1 - gap) / 2) / gap


def aul_of(auc: Any, pi: Any) -> Any:
    """Area under the lift curve that goes with an AUC."""
    # A random row is positive with chance pi; against such a row a positive wins half of the time.
    return pi / 2 + (1 - pi) * auc


def direct_aul(value: Any, mixture: Mixture) -> Any:
    """Turn AUC_pu into the area under the lift curve."""
    return aul_of(direct_auc(value, mixture), mixture.pi)


def proper_score(table: ScoreTable, mixture: Mixture, losses: tuple[Any, Any]) -> float:
    """Mean loss over the population, from losses per score if positive and if negative."""
    return float(proper_value(loss_means(table, losses), mixture))


def loss_means(table: ScoreTable, losses: tuple[Any, Any]) -> list[tuple[float, float]]:
    """Mean losses if positive and if negative, each over the labeled and the unlabeled rows."""
    return [
        (
            np.dot(table.labeled, loss) / table.n_labeled,
            np.dot(table.unlabeled, loss) / table.n_unlabeled,
        )
        for loss in losses
    ]


def proper_value(means: list[tuple[float, float]], mixture: Mixture) -> Any:
    """Mean loss over the population, from :func:`loss_means`."""
    positives, _ = unmix(*means[0], mixture.alpha, mixture.beta)
    _, negatives = unmix(*means[1], mixture.alpha, mixture.beta)
    return mixture.pi * positives + (1 - mixture.pi) * negatives


@area_metric(
    "roc_auc",
    "AUC",
    source="Jain et al. 2017, Eq. 4 and Figure 2",
    from_auc_pu=direct_auc,
    row_effects=roc_auc_effects,
    many=True,
    has_bounds=True,
    sklearn=("roc_auc_score", {}),
    script="areaUnderRoc",
)
def roc_auc(tpr: Any, fpr: Any, pi: Any) -> Any:
    """Recover the area under the ROC curve.

    The scheme changes nothing here.

    Examples
    --------
    >>> s = [1, 0, 1, 0, 1, 0, 0, 0]
    >>> scores = [0.986, 0.943, 0.863, 0.789, 0.699, 0.473, 0.211, 0.009]
    >>> roc_auc(s, scores, alpha=0.2, method="direct")
    0.875
    """
    return area_under_roc(tpr, fpr)


@area_metric(
    "average_precision",
    "Average precision",
    row_effects=average_precision_effects,
    raw_curve=True,
    many=True,
    has_bounds=True,
    sklearn=("average_precision_score", {}),
    script="stepAveragePrecision",
)
def average_precision(tpr: Any, fpr: Any, pi: Any) -> Any:
    """Recover average precision: precision averaged over recall, without interpolation.

    Examples
    --------
    >>> average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.0)
    0.833333
    """
    return step_average_precision(tpr, fpr, pi)


@area_metric(
    "pr_auc",
    "PR AUC",
    source="Davis and Goadrich 2006",
    many=True,
    limits_of="average_precision",
    has_bounds=True,
    in_bench=False,
    script="areaUnderPr",
)
def pr_auc(tpr: Any, fpr: Any, pi: Any) -> Any:
    """Recover the area under the precision-recall curve, with achievable interpolation.

    Between two points of the curve true and false positives grow in step, so that precision does
    not change along a straight line.

    Examples
    --------
    >>> pr_auc([1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0], alpha=0.0)
    1.0
    >>> pr_auc([1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], alpha=0.0)
    0.25
    """
    return area_under_pr(tpr, fpr, pi)


@area_metric(
    "partial_roc_auc",
    "Partial AUC",
    source="McClish 1989",
    row_effects=partial_auc_effects,
    at_edge=True,
    in_bench=False,
    script="partialArea",
)
def partial_roc_auc(
    tpr: Any, fpr: Any, pi: Any, max_fpr: float = 0.1, standardize: bool = True
) -> Any:
    """Recover the area under the ROC curve up to a false positive rate.

    Parameters
    ----------
    max_fpr : float, default=0.1
        False positive rate at which the area ends, in (0, 1].
    standardize : bool, default=True
        Whether to rescale so that chance is 0.5 and perfection 1, as scikit-learn does.

    Examples
    --------
    >>> partial_roc_auc([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], alpha=0.0, max_fpr=0.2)
    1.0
    """
    if not 0 < max_fpr <= 1:
        raise InvalidInputError(f"partial_roc_auc needs max_fpr in (0, 1]. Got {max_fpr:g}.")
    area = area_left_of(tpr, fpr, max_fpr)
    return mcclish(area, max_fpr) if standardize and max_fpr < 1 else area


@area_metric(
    "aul",
    "AUL",
    source="AUL paper, Theorem 1",
    from_auc_pu=direct_aul,
    row_effects=aul_effects,
    many=True,
    needs_alpha=False,
)
def aul(tpr: Any, fpr: Any, pi: Any) -> Any:
    """Area under the lift curve: P(a positive scores higher than a random row), ties one half.

    With clean labels chosen at random it needs no prior: the labeled rows stand for all
    positives. With ``beta < 1`` it needs alpha. A random row is any row, or in the case-control
    scheme any unlabeled row.

    Examples
    --------
    >>> aul([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.625
    """
    return aul_of(area_under_roc(tpr, fpr), pi)


@proper_metric("brier", "Brier score", sklearn=("brier_score_loss", {}))
def brier(p: Any) -> tuple[Any, Any]:
    """Recover the Brier score of predicted probabilities by unmixing squared errors.

    Examples
    --------
    >>> brier([1, 0, 0, 0], [0.9, 0.6, 0.2, 0.1], alpha=0.0)
    0.105
    """
    return (1 - p) ** 2, p**2


@proper_metric("log_loss", "Log loss", high=np.inf, sklearn=("log_loss", {}))
def log_loss(p: Any) -> tuple[Any, Any]:
    """Recover the log loss of predicted probabilities by unmixing.

    Examples
    --------
    >>> log_loss([1, 0], [0.8, 0.4], alpha=0.0)
    0.366985
    """
    # As in scikit-learn, a probability of exactly 0 or 1 costs about 36, not infinity.
    safe = np.clip(p, EPSILON, 1 - EPSILON)
    return -np.log(safe), -np.log1p(-safe)


# The public functions are made by the decorators, where doctest does not look for them.
__test__ = {metric.__name__: metric.__doc__ for metric in AREA_METRICS.values()}
