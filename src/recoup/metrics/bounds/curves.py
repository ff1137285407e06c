"""Bounds on the ROC curve and on the precision-recall curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray
from recoup.metrics.area import area_under_pr, area_under_roc
from recoup.metrics.bounds.options import Alpha, prepare
from recoup.metrics.bounds.tables import ContingencyTables, bounds_of
from recoup.metrics.curves import _Curve
from recoup.metrics.point import precision


@dataclass(frozen=True, repr=False, eq=False)
class RocBounds(_Curve):
    """Lower and upper bound on the ROC curve, from the highest threshold down.

    Points of the two bounds with the same position belong to the same threshold. False positive
    rates may step back where only labeled rows lie between two thresholds.
    """

    lower_fpr: FloatArray
    lower_tpr: FloatArray
    upper_fpr: FloatArray
    upper_tpr: FloatArray
    threshold: FloatArray
    auc_lower: float
    auc_upper: float


@dataclass(frozen=True, repr=False, eq=False)
class PrBounds(_Curve):
    """Lower and upper bound on the precision-recall curve, from the highest threshold down."""

    lower_precision: FloatArray
    lower_recall: FloatArray
    upper_precision: FloatArray
    upper_recall: FloatArray
    threshold: FloatArray
    auc_lower: float
    auc_upper: float


def roc_bounds(s: ArrayLike, scores: ArrayLike, *, alpha: Alpha, **options: Any) -> RocBounds:
    """Bound the ROC curve; alpha and options as for :func:`contingency_bounds`.

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
    bounds = bounds_of(*prepare("roc_bounds", s, scores, alpha, **options))
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


def pr_bounds(s: ArrayLike, scores: ArrayLike, *, alpha: Alpha, **options: Any) -> PrBounds:
    """Bound the precision-recall curve; alpha and options as for :func:`contingency_bounds`.

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
    bounds = bounds_of(*prepare("pr_bounds", s, scores, alpha, **options))
    curves = {}
    for side in ("lower", "upper"):
        tables: ContingencyTables = getattr(bounds, side)
        values = precision.from_rates(*tables.rates())
        values[0] = values[1]
        curves[f"{side}_precision"] = values
        curves[f"{side}_recall"] = tables.rates()[0]
        curves[f"auc_{side}"] = float(area_under_pr(*tables.rates()))
    return PrBounds(threshold=np.append(np.inf, bounds.threshold), **curves)
