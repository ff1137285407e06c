"""Bounds on the ROC curve and on the precision-recall curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme
from recoup.metrics.area import area_under_pr, area_under_roc
from recoup.metrics.bounds.options import Alpha, Band, Reverse, prepare
from recoup.metrics.bounds.tables import ContingencyTables, bounds_of
from recoup.metrics.curve_results import Curve
from recoup.metrics.point import precision


@dataclass(frozen=True, repr=False, eq=False)
class RocBounds(Curve):
    """Lower and upper bound on the ROC curve, from the highest threshold down.

    Points of the two bounds with the same position belong to the same threshold. False positive
    rates may step back where only labeled rows lie between two thresholds.

    Attributes
    ----------
    lower_fpr : ndarray of shape (n,)
        False positive rates of the lower bound.
    lower_tpr : ndarray of shape (n,)
        True positive rates of the lower bound.
    upper_fpr : ndarray of shape (n,)
        False positive rates of the upper bound.
    upper_tpr : ndarray of shape (n,)
        True positive rates of the upper bound.
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    auc_lower : float
        Area under the lower bound.
    auc_upper : float
        Area under the upper bound.
    """

    lower_fpr: FloatArray
    lower_tpr: FloatArray
    upper_fpr: FloatArray
    upper_tpr: FloatArray
    threshold: FloatArray
    auc_lower: float
    auc_upper: float


@dataclass(frozen=True, repr=False, eq=False)
class PrBounds(Curve):
    """Lower and upper bound on the precision-recall curve, from the highest threshold down.

    Attributes
    ----------
    lower_precision : ndarray of shape (n,)
        Precision of the lower bound.
    lower_recall : ndarray of shape (n,)
        Recall of the lower bound.
    upper_precision : ndarray of shape (n,)
        Precision of the upper bound.
    upper_recall : ndarray of shape (n,)
        Recall of the upper bound.
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    auc_lower : float
        Area under the lower bound.
    auc_upper : float
        Area under the upper bound.
    """

    lower_precision: FloatArray
    lower_recall: FloatArray
    upper_precision: FloatArray
    upper_recall: FloatArray
    threshold: FloatArray
    auc_lower: float
    auc_upper: float


def roc_bounds(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: Alpha,
    band: Band = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    reverse: Reverse = False,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
) -> RocBounds:
    """Bound the ROC curve.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative. Labels must be right (``beta = 1``) and
        the labeled rows a random sample of the positives.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float or (float, float)
        Share of positives among the unlabeled rows. Of an interval, the lower end makes the lower
        bound and the upper end the upper bound, which is right for cuts that are better than
        random.
    band : {"binomial", "bootstrap", "dkw"} or pair of arrays, default="binomial"
        Exact binomial (Clopper-Pearson) or bootstrap quantiles, both for one cut at a time;
        Dvoretzky-Kiefer-Wolfowitz, for all cuts together; or (lower, upper) with a value per
        distinct score, from the highest down.
    confidence : float, default=0.95
        How often the band shall hold.
    latent_noise : bool, default=True
        Whether to widen the band by the sampling noise of the hidden positives. False is the
        paper's band, about the distribution that they come from.
    reverse : bool or "tighter", default=False
        True starts from the known negatives, which must be a random sample of all negatives.
        ``"tighter"`` takes the form with the narrower area under the ROC curve.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether to count all rows, or the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights. Cells are then sums of weights and nothing is rounded.

    Returns
    -------
    RocBounds
        Both curves start at (0, 0). ``auc_lower`` and ``auc_upper`` bound the area whenever the
        band holds at every cut.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> bounds = roc_bounds(s, scores, alpha=0.6, confidence=0.5)
    >>> bounds.auc_lower, bounds.auc_upper
    (0.214286, 0.928571)
    """
    table, options = prepare(
        "roc_bounds",
        s,
        scores,
        alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
        sample_weight=sample_weight,
    )
    bounds = bounds_of(table, options)
    lower, upper = bounds.lower.rates(), bounds.upper.rates()
    return RocBounds(
        lower_fpr=lower[1],
        lower_tpr=lower[0],
        upper_fpr=upper[1],
        upper_tpr=upper[0],
        threshold=np.append(np.inf, bounds.threshold),
        auc_lower=float(area_under_roc(*lower[:2])),
        auc_upper=float(area_under_roc(*upper[:2])),
    )


def pr_bounds(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: Alpha,
    band: Band = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    reverse: Reverse = False,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
) -> PrBounds:
    """Bound the precision-recall curve.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative. Labels must be right (``beta = 1``) and
        the labeled rows a random sample of the positives.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float or (float, float)
        Share of positives among the unlabeled rows. Of an interval, the lower end makes the lower
        bound and the upper end the upper bound, which is right for cuts that are better than
        random.
    band : {"binomial", "bootstrap", "dkw"} or pair of arrays, default="binomial"
        Exact binomial (Clopper-Pearson) or bootstrap quantiles, both for one cut at a time;
        Dvoretzky-Kiefer-Wolfowitz, for all cuts together; or (lower, upper) with a value per
        distinct score, from the highest down.
    confidence : float, default=0.95
        How often the band shall hold.
    latent_noise : bool, default=True
        Whether to widen the band by the sampling noise of the hidden positives. False is the
        paper's band, about the distribution that they come from.
    reverse : bool or "tighter", default=False
        True starts from the known negatives, which must be a random sample of all negatives.
        ``"tighter"`` takes the form with the narrower area under the ROC curve.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether to count all rows, or the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights. Cells are then sums of weights and nothing is rounded.

    Returns
    -------
    PrBounds
        Above the highest score, where precision has no meaning, that of the first point is
        repeated.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> pr_bounds(s, scores, alpha=0.6, confidence=0.5).lower_precision[:6].round(3)
    array([1.   , 1.   , 0.5  , 0.667, 0.5  , 0.6  ])
    """
    table, options = prepare(
        "pr_bounds",
        s,
        scores,
        alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
        sample_weight=sample_weight,
    )
    bounds = bounds_of(table, options)
    curves = {}
    for side in ("lower", "upper"):
        tables: ContingencyTables = getattr(bounds, side)
        values = precision.from_rates(*tables.rates())
        values[0] = values[1]
        curves[f"{side}_precision"] = values
        curves[f"{side}_recall"] = tables.rates()[0]
        curves[f"auc_{side}"] = float(area_under_pr(*tables.rates()))
    return PrBounds(threshold=np.append(np.inf, bounds.threshold), **curves)
