r"""Bounds on contingency tables, and on everything that follows from them.

Labels that are a random sample of the positives tell where in the ranking the hidden positives
lie, up to sampling noise. A confidence band on that rank distribution bounds how many of them any
threshold catches, and with it every cell of the contingency table, the ROC curve and each metric
(Claesen et al. 2015).

The bounds are about the rows at hand: they are meant to hold the figures that one would get if
the hidden labels were uncovered. The paper takes a band on the distribution behind the labeled
positives for a band on the hidden ones, but the hidden positives are a sample themselves, with a
noise of their own of variance :math:`F(1-F)/n^*`. Unless ``latent_noise=False`` asks for the
paper's band, it is widened to :math:`1/(1/n_l + 1/n^*)` labels in place of :math:`n_l`.

Measured by ``benchmarks/study_bounds.py`` in 32 settings of 300 simulated datasets each, 95% bounds
held the true table, from the worst setting to the best, in

- 94 to 100% of datasets at all cuts together with ``"dkw"`` (39 to 100% as published);
- 96 to 99% at a cut, averaged over cuts, with ``"binomial"`` (80 to 98% as published), and never
  less than 94% at any cut (73% as published);
- 88 to 98% at a cut, averaged over cuts, with ``"bootstrap"`` (77 to 94% as published), but as
  rarely as 42% near the ends of the ranking, where few labels are left to resample.

Every labeled row is taken as positive (``beta = 1``): noisy labels have no such bounds.

References
----------
Claesen, Davis, De Smet, De Moor (2015), Assessing binary classifiers using only positive and
unlabeled data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._checks import (
    FloatArray,
    Scheme,
    as_numbers,
    brief,
    check_alpha_beta,
    check_scheme,
)
from recoup._results import to_plain
from recoup.exceptions import InvalidInputError
from recoup.metrics._spec import POINT_METRICS, metric_spec
from recoup.metrics.area import area_under_pr, area_under_roc, step_average_precision
from recoup.metrics.curves import _Curve
from recoup.scores.table import GROUPS, ScoreTable

BandKind: TypeAlias = Literal["binomial", "bootstrap", "dkw"]
Band: TypeAlias = BandKind | tuple[ArrayLike, ArrayLike]
Alpha: TypeAlias = float | tuple[float, float]
Reverse: TypeAlias = bool | Literal["tighter"]

# Values of alpha to try over an interval.
STEPS = 5

# AUROC and PR area grow with the true positives at every cut, whatever happens at the others, so
# the extreme curves bound them even where false positive rates step back. Average precision does
# so only where precision falls down the ranking: worse than random and with many ties, it can lie
# below its lower bound.
AREAS: dict[str, Callable[..., Any]] = {
    "roc_auc": lambda tpr, fpr, pi: area_under_roc(tpr, fpr),
    "pr_auc": area_under_pr,
    "average_precision": step_average_precision,
}


@dataclass(frozen=True, repr=False, eq=False)
class RankBand(_Curve):
    """Share of the labeled positives at or above each score, and a band for the hidden ones."""

    threshold: FloatArray
    cdf: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, repr=False, eq=False)
class ContingencyTables:
    """One contingency table per threshold, from the highest down."""

    tp: NDArray[Any]
    fp: NDArray[Any]
    fn: NDArray[Any]
    tn: NDArray[Any]

    def __repr__(self) -> str:
        """Show how many tables there are."""
        return f"ContingencyTables({len(self.tp):,} thresholds)"

    @property
    def pi(self) -> float:
        """Share of positives, the same in every table."""
        positives, negatives = self.tp[0] + self.fn[0], self.fp[0] + self.tn[0]
        return float(positives / (positives + negatives))

    @property
    def tpr(self) -> FloatArray:
        """True positive rate; not a number if there are no positives."""
        return _share(self.tp, self.tp[0] + self.fn[0])

    @property
    def fpr(self) -> FloatArray:
        """False positive rate; not a number if there are no negatives."""
        return _share(self.fp, self.fp[0] + self.tn[0])

    def rates(self) -> tuple[FloatArray, FloatArray, float]:
        """Return tpr, fpr and pi, starting where nothing is predicted positive."""
        return np.append(0.0, self.tpr), np.append(0.0, self.fpr), self.pi


@dataclass(frozen=True, repr=False, eq=False)
class ContingencyBounds(_Curve):
    """Contingency tables with the fewest and the most true positives at each threshold.

    Attributes
    ----------
    threshold : ndarray of shape (n_scores,)
        Distinct scores, descending; rows at or above one are predicted positive.
    lower, upper : ContingencyTables
        The tables of the lower and of the upper bound on the ROC curve.
    based_on : {"positives", "negatives"}
        Which labels the band comes from.
    """

    threshold: FloatArray
    lower: ContingencyTables
    upper: ContingencyTables
    based_on: str

    def _columns(self) -> dict[str, Any]:
        cells = {
            f"{side}_{cell}": getattr(getattr(self, side), cell)
            for side in ("lower", "upper")
            for cell in ("tp", "fp", "fn", "tn")
        }
        return {"threshold": self.threshold} | cells

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain lists."""
        plain: dict[str, Any] = to_plain(self._columns() | {"based_on": self.based_on})
        return plain


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


@dataclass(frozen=True, repr=False, eq=False)
class MetricBounds(_Curve):
    """Lower and upper bound on a metric at every threshold."""

    metric: str
    threshold: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class _Options:
    """Checked options, shared by every function here."""

    caller: str
    alphas: tuple[float, float]
    band: Band
    confidence: float
    latent_noise: bool
    reverse: Reverse
    scheme: Scheme

    @classmethod
    def check(
        cls,
        caller: str,
        *,
        alpha: Alpha,
        band: Band = "binomial",
        confidence: float = 0.95,
        latent_noise: bool = True,
        reverse: Reverse = False,
        scheme: Scheme = "single-sample",
    ) -> _Options:
        check_alpha_beta(alpha, 1.0, caller)
        ends = np.atleast_1d(np.asarray(alpha, float))
        if ends.ndim > 1 or len(ends) > 2 or ends[0] > ends[-1]:
            raise InvalidInputError(
                f"{caller} needs alpha to be one share or an interval (low, high). "
                f"Got {brief(alpha)}. Pass for example alpha=(0.1, 0.2)."
            )
        _check_band(band, caller)
        if isinstance(confidence, bool) or not (
            isinstance(confidence, int | float | np.number) and 0 < confidence < 1
        ):
            raise InvalidInputError(
                f"{caller} needs confidence between 0 and 1, both excluded. Got "
                f"{brief(confidence)}. Pass a share such as 0.95, not a percentage."
            )
        if not (isinstance(reverse, bool) or reverse == "tighter"):
            raise InvalidInputError(
                f"{caller} needs reverse to be False (bounds from the labeled positives), True "
                f"(from the known negatives) or 'tighter' (the narrower of both). "
                f"Got {brief(reverse)}."
            )
        if reverse == "tighter" and not isinstance(band, str):
            raise InvalidInputError(
                f"{caller} cannot take reverse='tighter' with a band given as arrays: a band is "
                f"either about the positives or about the negatives. Pass reverse=False or True."
            )
        check_scheme(scheme, caller)
        interval = (float(ends[0]), float(ends[-1]))
        return cls(caller, interval, band, confidence, latent_noise, reverse, scheme)


def _check_band(band: Any, caller: str) -> None:
    kinds = get_args(BandKind)
    known = band in kinds if isinstance(band, str) else _is_pair(band)
    if not known:
        raise InvalidInputError(
            f"{caller} needs band to be {', '.join(map(repr, kinds))} or a pair of arrays "
            f"(lower, upper). Got {brief(band)}."
        )


def _is_pair(band: Any) -> bool:
    return isinstance(band, tuple | list | np.ndarray) and len(band) == 2


def band_around(
    share: FloatArray, n_known: float, n_hidden: float, *, band: BandKind, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """Band for the share of hidden rows that goes with each share of known ones.

    An infinite ``n_hidden`` gives the band for the distribution that both come from.
    """
    if n_hidden < 1:
        return np.zeros_like(share), np.ones_like(share)
    n = 1 / (1 / n_known + 1 / n_hidden)
    tail = (1 - confidence) / 2
    if band == "dkw":
        # The inequality for one sample holds for two of nearly all sizes (Wei and Dudley 2012).
        epsilon = np.sqrt(np.log(1 / tail) / (2 * n))
        return np.clip(share - epsilon, 0.0, 1.0), np.clip(share + epsilon, 0.0, 1.0)
    distinct, position = np.unique(np.clip(share, 0.0, 1.0), return_inverse=True)
    if band == "bootstrap":
        # Of n resampled rows, Binomial(n, share) lie at or above a score: its quantiles are what
        # the paper's 2,000 random resamples approach.
        from scipy.stats import binom

        size = max(round(n), 1)
        lower = np.asarray(binom.ppf(tail, size, distinct) / size)
        upper = np.asarray(binom.ppf(1 - tail, size, distinct) / size)
    else:
        # Clopper-Pearson, for sizes that are not whole as in Korn and Graubard (1998).
        from scipy.special import betaincinv

        count = distinct * n
        some, not_all = count > 0, count < n
        lower, upper = np.zeros_like(count), np.ones_like(count)
        lower[some] = betaincinv(count[some], n - count[some] + 1, tail)
        upper[not_all] = betaincinv(count[not_all] + 1, n - count[not_all], 1 - tail)
    return lower[position], upper[position]


def _band_of(
    table: ScoreTable, group: str, hidden_share: float, options: _Options
) -> tuple[FloatArray, FloatArray]:
    """Band for the hidden rows of the class whose known rows are a group of the table."""
    if not isinstance(options.band, str):
        return _given_band(options.band, len(table.scores), options.caller)
    # Weighted rows carry the information of fewer plain ones (Kish).
    known, unlabeled = (
        getattr(table, f"n_{name}") ** 2 / table.square_sums[GROUPS.index(name)]
        for name in (group, "unlabeled")
    )
    hidden = hidden_share * unlabeled if options.latent_noise else np.inf
    share = table.heads(group)
    return band_around(share, known, hidden, band=options.band, confidence=options.confidence)


def _given_band(band: Any, n_scores: int, caller: str) -> tuple[FloatArray, FloatArray]:
    lower, upper = (as_numbers(edge, "each edge of band", caller) for edge in band)
    for edge in (lower, upper):
        if len(edge) != n_scores:
            raise InvalidInputError(
                f"{caller} needs a band with one lower and one upper value per distinct score, "
                f"from the highest score down. Got {len(edge):,} values for {n_scores:,} scores."
            )
    # Negated, so that values that are not numbers are refused as well.
    crossed = ~(lower <= upper)
    if crossed.any():
        at = int(np.argmax(crossed))
        raise InvalidInputError(
            f"{caller} needs the lower edge of band at or below the upper one. Got {lower[at]:g} "
            f"and {upper[at]:g} at position {at}. Pass band=(lower, upper)."
        )
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def bounds_from_table(table: ScoreTable, *, alpha: Alpha, **options: Any) -> ContingencyBounds:
    """Bound the contingency table at every score; options as for :func:`contingency_bounds`.

    Examples
    --------
    >>> table = ScoreTable.from_arrays([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5])
    >>> bounds_from_table(table, alpha=1/3).upper.tp
    array([1, 2, 3, 3, 3])
    """
    return _bounds(table, _Options.check("bounds_from_table", alpha=alpha, **options))


def _bounds(table: ScoreTable, options: _Options) -> ContingencyBounds:
    if options.reverse is True and not table.n_negative:
        raise InvalidInputError(
            f"{options.caller} needs known negatives (label -1) when reverse=True: the band then "
            f"comes from their ranks. Got none in {table.n_rows:,.6g} rows. Use reverse=False."
        )
    if options.reverse != "tighter":
        return _bounds_based_on("negatives" if options.reverse else "positives", table, options)
    forward = _bounds_based_on("positives", table, options)
    if not table.n_negative:
        return forward
    backward = _bounds_based_on("negatives", table, options)
    # One form for the whole curve, by the width of its AUROC, as in the paper's Table 2. Keeping
    # the narrower one cut by cut would need both bands to hold at once.
    return backward if _roc_auc_width(backward) < _roc_auc_width(forward) else forward


def _bounds_based_on(
    known: Literal["positives", "negatives"], table: ScoreTable, options: _Options
) -> ContingencyBounds:
    reverse = known == "negatives"
    group = "negative" if reverse else "labeled"
    low, high = options.alphas
    bands = {
        alpha: _band_of(table, group, 1 - alpha if reverse else alpha, options)
        for alpha in (low, high)
    }
    # Appendix C: based on negatives, the larger alpha makes the lower bound.
    first, last = (high, low) if reverse else (low, high)
    form: dict[str, Any] = {"reverse": reverse, "scheme": options.scheme}
    return ContingencyBounds(
        threshold=table.scores[::-1],
        lower=_extreme_tables(table, first, bands[first], most=False, **form),
        upper=_extreme_tables(table, last, bands[last], most=True, **form),
        based_on=known,
    )


def _extreme_tables(
    table: ScoreTable,
    alpha: float,
    band: tuple[FloatArray, FloatArray],
    *,
    most: bool,
    reverse: bool,
    scheme: Scheme,
) -> ContingencyTables:
    """Tables with the fewest or the most true positives that a band allows (Eq. 10 to 13)."""
    counted = _is_counted(table)
    head_labeled, head, head_negative = (_head_counts(table, name, counted) for name in GROUPS)
    unlabeled = head[-1]
    positives = _floor(alpha * unlabeled + 0.5) if counted else alpha * unlabeled
    negatives = unlabeled - positives
    hidden = negatives if reverse else positives
    # Most true positives means fewest negatives in the head, so that negatives need no flipped
    # ranking: the band on their share in the tail is one minus the band on that in the head.
    if most != reverse:
        wanted = -_floor(-band[1] * hidden) if counted else band[1] * hidden
    else:
        wanted = _floor(band[0] * hidden) if counted else band[0] * hidden
    tail = unlabeled - head
    found = np.minimum(np.maximum(wanted, hidden - tail), head)
    tp = head - found if reverse else found
    fp = head - tp
    if scheme == "case-control":
        return ContingencyTables(tp, fp, positives - tp, negatives - fp)
    tp, fp = tp + head_labeled, fp + head_negative
    positives, negatives = positives + head_labeled[-1], negatives + head_negative[-1]
    return ContingencyTables(tp, fp, positives - tp, negatives - fp)


def _is_counted(table: ScoreTable) -> bool:
    """Whether the table counts rows, rather than sums their weights."""
    totals = [getattr(table, f"n_{name}") for name in GROUPS]
    return bool(np.allclose(table.square_sums, totals, rtol=1e-12)) and all(
        bool((np.round(getattr(table, name)) == getattr(table, name)).all()) for name in GROUPS
    )


def _head_counts(table: ScoreTable, group: str, counted: bool) -> NDArray[Any]:
    """Rows of a group at or above each score, from the highest score down."""
    return np.cumsum(getattr(table, group)[::-1].astype(np.int64 if counted else np.float64))


def _floor(values: Any) -> Any:
    """Round down to integers, except for floating-point dust just below one."""
    dust = np.maximum(1e-9, 1e-14 * np.abs(values))
    return np.floor(values + dust).astype(np.int64)


def _share(part: NDArray[Any], whole: float) -> FloatArray:
    """Divide counts by their total; not a number if there is nothing to share."""
    return part / whole if whole > 0 else np.full(len(part), np.nan)


def _roc_auc_width(bounds: ContingencyBounds) -> float:
    lower, upper = (AREAS["roc_auc"](*tables.rates()) for tables in (bounds.lower, bounds.upper))
    return float(upper - lower)


def _all_tables(table: ScoreTable, options: _Options) -> list[ContingencyTables]:
    """Tables between which every metric lies.

    At one alpha all metrics grow, or all costs fall, with the true positives. Over an interval the
    paper's two tables are not enough: recall, for one, is best known where alpha is least, and a
    lack of room in the head or tail can put an extreme between the ends.
    """
    low, high = options.alphas
    reverse = options.reverse
    if low < high and reverse == "tighter":
        reverse = _bounds(table, options).based_on == "negatives"
    tables = []
    for alpha in np.linspace(low, high, STEPS if low < high else 1).tolist():
        bounds = _bounds(table, replace(options, alphas=(alpha, alpha), reverse=reverse))
        tables += [bounds.lower, bounds.upper]
    return tables


def bounds_at(
    table: ScoreTable,
    threshold: float,
    alpha: Alpha,
    *,
    params: Mapping[str, Mapping[str, float]] | None = None,
    **options: Any,
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
        Share of positives among the unlabeled rows.
    params : mapping, optional
        Parameters of metrics by their key, such as ``{"fbeta": {"b": 2.0}}``.
    **options
        As for :func:`contingency_bounds`.

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
    extremes = _all_tables(table, _Options.check("bounds_at", alpha=alpha, **options))
    cut = len(table.scores) - int(np.searchsorted(table.scores, threshold, side="left"))
    curves = [tables.rates() for tables in extremes]
    points = np.array([(tpr[cut], fpr[cut], pi) for tpr, fpr, pi in curves]).T
    bounds = {}
    for key, metric in POINT_METRICS.items():
        values = np.asarray(metric.from_rates(*points, **(params or {}).get(key, {})))
        # A metric may be undefined at one end of an interval of alpha and not at the other.
        bounds[key] = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
    return bounds | {key: _between(area, curves) for key, area in AREAS.items()}


def _between(area: Callable[..., Any], curves: list[Any]) -> tuple[float, float]:
    values = np.array([area(*curve) for curve in curves])
    return float(np.fmin.reduce(values)), float(np.fmax.reduce(values))


def rank_band(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: float,
    band: BandKind = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    sample_weight: ArrayLike | None = None,
) -> RankBand:
    """Share of the labeled positives at or above each score, with a band for the hidden ones.

    Parameters
    ----------
    s, scores, alpha, band, confidence, latent_noise, sample_weight
        As for :func:`contingency_bounds`; alpha is one number.

    Returns
    -------
    RankBand
        With ``threshold`` (descending; tied rows share one), ``cdf``, ``lower`` and ``upper``.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> result = rank_band(s, scores, alpha=0.6, latent_noise=False)
    >>> result.cdf[:3], result.lower[:3].round(3), result.upper[:3].round(3)
    (array([0.25, 0.25, 0.5 ]), array([0.006, 0.006, 0.068]), array([0.806, 0.806, 0.932]))
    """
    options = _Options.check(
        "rank_band", alpha=alpha, band=band, confidence=confidence, latent_noise=latent_noise
    )
    table = ScoreTable.from_arrays(s, scores, sample_weight=sample_weight)
    lower, upper = _band_of(table, "labeled", options.alphas[0], options)
    return RankBand(table.scores[::-1], table.heads("labeled"), lower, upper)


def contingency_bounds(
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
) -> ContingencyBounds:
    r"""Bound the contingency table at every threshold.

    With :math:`n^* = \alpha|U|` hidden positives and a band :math:`T_{lb} \le F \le T_{ub}` on
    their rank distribution, at most :math:`\lceil T_{ub} n^* \rceil` and at least
    :math:`\lfloor T_{lb} n^* \rfloor` of them lie above a cut, as far as there is room for them.
    The known rows are added, and all four cells follow.

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
        distinct score, from the highest down. Bootstrap quantiles have no width at the ends of
        the ranking, where all or none of the labeled rows lie above the cut.
    confidence : float, default=0.95
        How often the band shall hold.
    latent_noise : bool, default=True
        Widen the band by the sampling noise of the hidden positives. False is the paper's band,
        about the distribution that they come from.
    reverse : bool or "tighter", default=False
        True starts from the known negatives, which must be a random sample of all negatives: the
        band is then about the share of negatives at or above each score. ``"tighter"`` takes the
        form with the narrower AUROC.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Count all rows, or the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights. Cells are then sums of weights and nothing is rounded.

    Returns
    -------
    ContingencyBounds
        With ``threshold`` and the tables ``lower`` and ``upper`` (``tp``, ``fp``, ``fn``, ``tn``).

    References
    ----------
    Claesen et al. (2015), Eq. 10 to 13, Lemma 4 and Appendix C.

    Examples
    --------
    >>> s, scores = [1, 0, 1, 0, 0, 1, 0, 1, 0], [9, 8, 7, 6, 5, 4, 3, 2, 1]
    >>> bounds = contingency_bounds(s, scores, alpha=0.6, confidence=0.5)
    >>> bounds.lower.tp, bounds.upper.tp
    (array([1, 1, 2, 2, 3, 4, 5, 6, 7]), array([1, 2, 3, 4, 5, 6, 6, 7, 7]))
    """
    options = _Options.check(
        "contingency_bounds",
        alpha=alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
    )
    return _bounds(ScoreTable.from_arrays(s, scores, sample_weight=sample_weight), options)


def _prepare(
    caller: str,
    s: ArrayLike,
    scores: ArrayLike,
    alpha: Alpha,
    *,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> tuple[ScoreTable, _Options]:
    checked = _Options.check(caller, alpha=alpha, **options)
    return ScoreTable.from_arrays(s, scores, sample_weight=sample_weight), checked


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
    bounds = _bounds(*_prepare("roc_bounds", s, scores, alpha, **options))
    lower, upper = bounds.lower.rates(), bounds.upper.rates()
    return RocBounds(
        lower_fpr=lower[1],
        lower_tpr=lower[0],
        upper_fpr=upper[1],
        upper_tpr=upper[0],
        threshold=np.append(np.inf, bounds.threshold),
        auc_lower=float(AREAS["roc_auc"](*lower)),
        auc_upper=float(AREAS["roc_auc"](*upper)),
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
    bounds = _bounds(*_prepare("pr_bounds", s, scores, alpha, **options))
    curves = {}
    for side in ("lower", "upper"):
        tables: ContingencyTables = getattr(bounds, side)
        precision = POINT_METRICS["precision"].from_rates(*tables.rates())
        precision[0] = precision[1]
        curves[f"{side}_precision"] = precision
        curves[f"{side}_recall"] = tables.rates()[0]
        curves[f"auc_{side}"] = float(AREAS["pr_auc"](*tables.rates()))
    return PrBounds(threshold=np.append(np.inf, bounds.threshold), **curves)


def metric_bounds(
    name: str,
    s: ArrayLike,
    scores: ArrayLike,
    *,
    alpha: Alpha,
    params: dict[str, float] | None = None,
    **options: Any,
) -> MetricBounds:
    """Bound a threshold metric at every threshold.

    Parameters
    ----------
    name : str
        Key of a metric of one threshold, such as ``"f1"``; :func:`area_bounds` has the others.
    s, scores, alpha, **options
        As for :func:`contingency_bounds`. Bounds hold for every alpha of an interval.
    params : dict, optional
        Parameters of the metric, such as ``{"b": 2.0}`` of ``"fbeta"``.

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
    if metric_spec(name, "metric_bounds").kind != "point":
        raise InvalidInputError(
            f"metric_bounds needs a metric of one threshold. Got {name!r}. Choose among: "
            f"{', '.join(POINT_METRICS)}; or call area_bounds for {', '.join(AREAS)}."
        )
    table, checked = _prepare("metric_bounds", s, scores, alpha, **options)
    values = [
        np.asarray(POINT_METRICS[name].from_rates(*tables.rates(), **(params or {})), float)
        for tables in _all_tables(table, checked)
    ]
    threshold = np.append(np.inf, table.scores[::-1])
    return MetricBounds(name, threshold, np.fmin.reduce(values), np.fmax.reduce(values))


def area_bounds(
    name: str, s: ArrayLike, scores: ArrayLike, *, alpha: Alpha, **options: Any
) -> tuple[float, float]:
    """Bound an area under a curve.

    Parameters
    ----------
    name : {"roc_auc", "pr_auc", "average_precision"}
        Which area.
    s, scores, alpha, **options
        As for :func:`contingency_bounds`. Bounds hold for every alpha of an interval.

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
    if name not in AREAS:
        raise InvalidInputError(
            f"area_bounds knows the areas {', '.join(AREAS)}. Got {brief(name)}. "
            f"Call metric_bounds for a metric of one threshold."
        )
    table, checked = _prepare("area_bounds", s, scores, alpha, **options)
    return _between(AREAS[name], [tables.rates() for tables in _all_tables(table, checked)])
