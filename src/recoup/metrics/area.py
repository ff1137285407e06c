"""Metrics of a whole ranking or of all predicted probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, check_scheme
from recoup.exceptions import InvalidInputError
from recoup.metrics.curves import check_probabilities, recovered_roc
from recoup.metrics.rates import Mixture, prepare, unmix
from recoup.metrics.spec import area_metric
from recoup.scores.table import ScoreTable


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
    growth = np.divide(rise, start, out=np.zeros_like(rise), where=start > 0)
    bend = (start * slope - tpr[..., :-1]) * np.log1p(growth)
    return np.sum(np.where(moving, pi * slope * (step - bend), 0.0), axis=-1)


def step_average_precision(tpr: FloatArray, fpr: FloatArray, pi: Any) -> Any:
    """Precision averaged over recall, each step at the precision of its lower threshold."""
    pi = np.asarray(pi)[..., None]
    rate = pi * tpr + (1 - pi) * fpr
    # In case-control data rows above every unlabeled one make a rate of zero out of two rounded
    # products: a little more than nothing must not be divided by.
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
    labeled = table.heads("labeled")
    ties = table.labeled[::-1] / table.n_labeled
    weights = table.unlabeled[::-1] / table.n_unlabeled
    return float(np.dot(labeled - ties / 2, weights))


def direct_auc(value: Any, mixture: Mixture) -> Any:
    """Turn AUC_pu into AUC by Eq. 4 of Jain et al. 2017."""
    gap = mixture.beta - mixture.alpha
    return (value - (1 - gap) / 2) / gap


def aul_of(auc: Any, pi: Any) -> Any:
    """Area under the lift curve that goes with an AUC."""
    return pi / 2 + (1 - pi) * auc


def proper_score(table: ScoreTable, mixture: Mixture, losses: tuple[Any, Any]) -> float:
    """Mean loss over the population, from losses per score if positive and if negative."""
    means = []
    for loss in losses:
        means.append(
            (
                np.dot(table.labeled, loss) / table.n_labeled,
                np.dot(table.unlabeled, loss) / table.n_unlabeled,
            )
        )
    positives, _ = unmix(*means[0], mixture.alpha, mixture.beta)
    _, negatives = unmix(*means[1], mixture.alpha, mixture.beta)
    return float(mixture.pi * positives + (1 - mixture.pi) * negatives)


def brier_losses(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared error of a probability if the row is positive, and if it is negative."""
    return (1 - p) ** 2, p**2


def log_losses(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithmic loss of a probability if the row is positive, and if it is negative."""
    safe = np.clip(p, np.finfo(float).eps, 1 - np.finfo(float).eps)
    return -np.log(safe), -np.log1p(-safe)


PROPER_LOSSES: dict[str, Callable[[FloatArray], tuple[FloatArray, FloatArray]]] = {
    "brier": brier_losses,
    "log_loss": log_losses,
}


@area_metric("roc_auc", "AUC", source="Jain et al. 2017, Eq. 4 and Figure 2")
def roc_auc(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: float | None = None,
    beta: float = 1.0,
    method: Literal["indirect", "direct"] = "indirect",
    **options: Any,
) -> float:
    """Recover the area under the ROC curve.

    Parameters
    ----------
    s, scores, alpha, beta, **options
        As for :func:`recoup.metrics.roc_curve`. The scheme changes nothing here.
    method : {"indirect", "direct"}, default="indirect"
        Area under the recovered curve, which Jain et al. (2017) found more accurate, or the
        formula applied to AUC_pu, which can leave [0, 1].

    Returns
    -------
    float

    Examples
    --------
    >>> s = [1, 0, 1, 0, 1, 0, 0, 0]
    >>> scores = [0.986, 0.943, 0.863, 0.789, 0.699, 0.473, 0.211, 0.009]
    >>> roc_auc(s, scores, alpha=0.2, method="direct")
    0.875
    """
    if method not in ("indirect", "direct"):
        raise InvalidInputError(f"roc_auc needs method 'indirect' or 'direct'. Got {method!r}.")
    table, mixture = prepare(s, scores, caller="roc_auc", alpha=alpha, beta=beta, **options)
    if method == "direct":
        return float(direct_auc(auc_pu(table), mixture))
    curve = recovered_roc(table, mixture)
    return float(area_under_roc(curve.tpr, curve.fpr))


def _curve_area(
    caller: str, s: ArrayLike, scores: ArrayLike, options: dict[str, Any]
) -> tuple[FloatArray, FloatArray, float]:
    table, mixture = prepare(s, scores, caller=caller, **options)
    curve = recovered_roc(table, mixture)
    return curve.tpr, curve.fpr, curve.pi


@area_metric("average_precision", "Average precision")
def average_precision(s: ArrayLike, scores: ArrayLike, **options: Any) -> float:
    """Recover average precision (step-wise); options as for :func:`recoup.metrics.roc_curve`.

    Examples
    --------
    >>> average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.0)
    0.833333
    """
    return float(step_average_precision(*_curve_area("average_precision", s, scores, options)))


@area_metric("pr_auc", "PR AUC", source="Davis and Goadrich 2006")
def pr_auc(s: ArrayLike, scores: ArrayLike, **options: Any) -> float:
    """Recover the area under the precision-recall curve, with achievable interpolation.

    Options as for :func:`recoup.metrics.roc_curve`.

    Examples
    --------
    >>> pr_auc([1, 1, 0, 0], [1.0, 1.0, 0.0, 0.0], alpha=0.0)
    1.0
    >>> pr_auc([1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], alpha=0.0)
    0.25
    """
    return float(area_under_pr(*_curve_area("pr_auc", s, scores, options)))


@area_metric("partial_roc_auc", "Partial AUC", source="McClish 1989")
def partial_roc_auc(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    max_fpr: float = 0.1,
    standardize: bool = True,
    **options: Any,
) -> float:
    """Recover the area under the ROC curve up to a false positive rate.

    Parameters
    ----------
    s, scores, **options
        As for :func:`recoup.metrics.roc_curve`.
    max_fpr : float, default=0.1
        Where the area ends.
    standardize : bool, default=True
        Rescale so that chance is 0.5 and perfection 1, as scikit-learn does.

    Returns
    -------
    float

    Examples
    --------
    >>> partial_roc_auc([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1], alpha=0.0, max_fpr=0.2)
    1.0
    """
    if not 0 < max_fpr <= 1:
        raise InvalidInputError(f"partial_roc_auc needs max_fpr in (0, 1]. Got {max_fpr:g}.")
    tpr, fpr, _ = _curve_area("partial_roc_auc", s, scores, options)
    area = area_left_of(tpr, fpr, max_fpr)
    return mcclish(area, max_fpr) if standardize and max_fpr < 1 else area


@area_metric("aul", "AUL", source="AUL paper, Theorem 1")
def aul(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    scheme: Scheme = "single-sample",
    alpha: float | None = None,
    beta: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Area under the lift curve: P(a positive scores higher than a random row), ties one half.

    With clean labels chosen at random it needs no prior: the labeled rows stand for all
    positives. With ``beta < 1`` it needs alpha.

    Parameters
    ----------
    s, scores, sample_weight
        As for :func:`recoup.metrics.roc_curve`.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        A random row is any row, or any unlabeled row.
    alpha, beta : float
        Only used when labels are noisy.

    Returns
    -------
    float

    Examples
    --------
    >>> aul([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    0.625
    """
    check_scheme(scheme, "aul")
    if beta < 1 and alpha is None:
        raise InvalidInputError(
            f"aul needs alpha when labels are noisy. Got beta={beta:g} and no alpha."
        )
    table, mixture = prepare(
        s,
        scores,
        alpha=0.0 if alpha is None else alpha,
        beta=beta,
        scheme=scheme,
        sample_weight=sample_weight,
        caller="aul",
    )
    return aul_from_table(table, mixture)


def aul_from_table(table: ScoreTable, mixture: Mixture) -> float:
    """Area under the lift curve of a table."""
    return float(aul_of(direct_auc(auc_pu(table), mixture), mixture.pi))


def _proper(name: str, s: ArrayLike, scores: ArrayLike, options: dict[str, Any]) -> float:
    table, mixture = prepare(s, scores, caller=name, **options)
    check_probabilities(table, name)
    return proper_score(table, mixture, PROPER_LOSSES[name](table.centers))


@area_metric("brier", "Brier score", higher_is_better=False, needs_probabilities=True)
def brier(s: ArrayLike, scores: ArrayLike, **options: Any) -> float:
    """Recover the Brier score of predicted probabilities by unmixing squared errors.

    Options as for :func:`recoup.metrics.roc_curve`.

    Examples
    --------
    >>> brier([1, 0, 0, 0], [0.9, 0.6, 0.2, 0.1], alpha=0.0)
    0.105
    """
    return _proper("brier", s, scores, options)


@area_metric("log_loss", "Log loss", high=np.inf, higher_is_better=False, needs_probabilities=True)
def log_loss(s: ArrayLike, scores: ArrayLike, **options: Any) -> float:
    """Recover the log loss of predicted probabilities by unmixing.

    Options as for :func:`recoup.metrics.roc_curve`.

    Examples
    --------
    >>> log_loss([1, 0], [0.8, 0.4], alpha=0.0)
    0.366985
    """
    return _proper("log_loss", s, scores, options)
