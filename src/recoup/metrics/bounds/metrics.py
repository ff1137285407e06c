"""Bounds on metrics and areas: their extremes over the tables that are possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, brief
from recoup.exceptions import InvalidInputError
from recoup.metrics.bounds.options import Alpha, Band, Options, Reverse, prepare
from recoup.metrics.bounds.tables import ContingencyTables, bounds_of
from recoup.metrics.curve_results import Curve
from recoup.metrics.spec import MetricSpec, metric_spec, specs
from recoup.scores.table import ScoreTable

# Values of alpha to try over an interval.
STEPS = 5


@dataclass(frozen=True, repr=False, eq=False)
class MetricBounds(Curve):
    """Lower and upper bound on a metric at every threshold.

    Attributes
    ----------
    metric : str
        Key of the metric.
    threshold : ndarray of shape (n,)
        Rows with a score at or above it are predicted positive. The first is infinity.
    lower : ndarray of shape (n,)
        Lower bound; not a number where the metric is not defined.
    upper : ndarray of shape (n,)
        Upper bound; not a number where the metric is not defined.
    """

    metric: str
    threshold: FloatArray
    lower: FloatArray
    upper: FloatArray


def metric_bounds(
    name: str,
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: Alpha,
    params: dict[str, float] | None = None,
    band: Band = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    reverse: Reverse = False,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
) -> MetricBounds:
    """Bound a threshold metric at every threshold.

    Parameters
    ----------
    name : str
        Key of a metric of one threshold, such as ``"f1"``; :func:`area_bounds` has the others.
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative. Labels must be right (``beta = 1``) and
        the labeled rows a random sample of the positives.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float or (float, float)
        Share of positives among the unlabeled rows, or an interval of it. The bounds hold for
        every alpha of the interval.
    params : dict, optional
        Parameters of the metric, such as ``{"b": 2.0}`` of ``"fbeta"``.
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
    MetricBounds
        With ``threshold``, starting at infinity, and ``lower <= upper``, also where less is better.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> bounds = metric_bounds("f1", s, scores, alpha=0.6, confidence=0.5)
    >>> bounds.lower[3:5].round(3), bounds.upper[3:5].round(3)
    (array([0.4  , 0.364]), array([0.6  , 0.727]))
    """
    spec = metric_spec(name, "metric_bounds")
    if spec not in bounded("point"):
        points, areas = (", ".join(one.key for one in bounded(kind)) for kind in ("point", "area"))
        raise InvalidInputError(
            f"metric_bounds needs a metric of one threshold. Got {name!r}. Choose among: "
            f"{points}; or call area_bounds for {areas}."
        )
    table, checked = prepare(
        "metric_bounds",
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
    values = [
        np.asarray(spec.formula(*tables.rates(), **(params or {})), float)
        for tables in _all_tables(table, checked)
    ]
    threshold = np.append(np.inf, table.scores[::-1])
    return MetricBounds(name, threshold, np.fmin.reduce(values), np.fmax.reduce(values))


def area_bounds(
    name: str,
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
) -> tuple[float, float]:
    """Bound an area under a curve.

    Parameters
    ----------
    name : {"roc_auc", "average_precision", "pr_auc"}
        Which area, or the key of another whose spec says that it has bounds.
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative. Labels must be right (``beta = 1``) and
        the labeled rows a random sample of the positives.
    scores : array-like of shape (n,)
        Higher is more positive.
    alpha : float or (float, float)
        Share of positives among the unlabeled rows, or an interval of it. The bounds hold for
        every alpha of the interval.
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
    lower, upper : float
        Hold the area whenever the band holds at every cut; average precision only if the ranking
        is better than random or has few ties.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> area_bounds("roc_auc", s, scores, alpha=0.6, confidence=0.5)
    (0.214286, 0.928571)
    """
    areas = {spec.key: spec for spec in bounded("area")}
    if name not in areas:
        raise InvalidInputError(
            f"area_bounds knows the areas {', '.join(areas)}. Got {brief(name)}. "
            f"Call metric_bounds for a metric of one threshold."
        )
    table, checked = prepare(
        "area_bounds",
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
    return _between(areas[name], [tables.rates() for tables in _all_tables(table, checked)])


def bounds_at(
    table: ScoreTable,
    threshold: float,
    alpha: Alpha,
    *,
    params: Mapping[str, Mapping[str, float]] | None = None,
    band: Band = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    reverse: Reverse = False,
    scheme: Scheme = "single-sample",
) -> dict[str, tuple[float, float]]:
    """Bound all threshold metrics at one threshold, and the areas under the curves.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    threshold : float
        Rows with a score at or above it are predicted positive. In a thinned table it acts as the
        next bin's lowest score.
    alpha : float or (float, float)
        Share of positives among the unlabeled rows, or an interval of it. The bounds hold for
        every alpha of the interval.
    params : mapping, optional
        Parameters of metrics by their key, such as ``{"fbeta": {"b": 2.0}}``.
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

    Returns
    -------
    dict
        ``{metric key: (lower, upper)}``; not a number where a metric is not defined.

    Examples
    --------
    >>> table = ScoreTable.from_arrays([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5])
    >>> bounds = bounds_at(table, 0.65, alpha=1/3)
    >>> bounds["precision"], bounds["roc_auc"]
    ((0.666667, 1.0), (0.5, 1.0))
    """
    options = Options.check(
        "bounds_at",
        alpha=alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
    )
    extremes = _all_tables(table, options)
    cut = len(table.scores) - int(np.searchsorted(table.scores, threshold, side="left"))
    curves = [tables.rates() for tables in extremes]
    points = np.array([(tpr[cut], fpr[cut], pi) for tpr, fpr, pi in curves]).T
    bounds = {}
    for spec in bounded("point"):
        values = np.asarray(spec.formula(*points, **(params or {}).get(spec.key, {})))
        # A metric may be undefined at one end of an interval of alpha and not at the other.
        bounds[spec.key] = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    return bounds | {spec.key: _between(spec, curves) for spec in bounded("area")}


def bounded(kind: Literal["point", "area"]) -> list[MetricSpec]:
    """Return the metrics of a kind that extreme contingency tables bound.

    AUROC and PR area grow with the true positives at every cut, whatever happens at the others,
    so the extreme curves bound them even where false positive rates step back. Average precision
    does so only where precision falls down the ranking: worse than random and with many ties, it
    can lie below its lower bound.

    Parameters
    ----------
    kind : {"point", "area"}
        Metrics of one threshold, or of a whole ranking.

    Returns
    -------
    list of MetricSpec
    """
    return [spec for spec in specs(kind) if spec.has_bounds]


def _all_tables(table: ScoreTable, options: Options) -> list[ContingencyTables]:
    """Tables between which every metric lies.

    At one alpha all metrics grow, or all costs fall, with the true positives. Over an interval the
    paper's two tables are not enough: recall, for one, is best known where alpha is least, and a
    lack of room in the head or tail can put an extreme between the ends.
    """
    low, high = options.alphas
    reverse = options.reverse
    if low < high and reverse == "tighter":
        reverse = bounds_of(table, options).based_on == "negatives"
    tables = []
    for alpha in np.linspace(low, high, STEPS if low < high else 1).tolist():
        bounds = bounds_of(table, replace(options, alphas=(alpha, alpha), reverse=reverse))
        tables += [bounds.lower, bounds.upper]
    return tables


def _between(spec: MetricSpec, curves: list[Any]) -> tuple[float, float]:
    values = np.array([spec.formula(*curve) for curve in curves])
    return float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
