"""Contingency tables with the fewest and the most true positives that a band allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup._core.results import to_plain
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import area_under_roc
from recoup.metrics.bounds.bands import band_of
from recoup.metrics.bounds.options import Alpha, Band, Options, Reverse
from recoup.metrics.curve_results import Curve
from recoup.scores.table import GROUPS, ScoreTable


@dataclass(frozen=True, repr=False, eq=False)
class ContingencyTables:
    """One contingency table per threshold, from the highest down.

    Attributes
    ----------
    tp : ndarray of shape (n_scores,)
        True positives: positives at or above the threshold.
    fp : ndarray of shape (n_scores,)
        False positives: negatives at or above the threshold.
    fn : ndarray of shape (n_scores,)
        False negatives: positives below the threshold.
    tn : ndarray of shape (n_scores,)
        True negatives: negatives below the threshold.
    """

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
        """Return the rates, starting where nothing is predicted positive.

        Returns
        -------
        tpr, fpr : ndarray of shape (n_scores + 1,)
            True and false positive rates.
        pi : float
            Share of positives.
        """
        return np.append(0.0, self.tpr), np.append(0.0, self.fpr), self.pi


@dataclass(frozen=True, repr=False, eq=False)
class ContingencyBounds(Curve):
    """Contingency tables with the fewest and the most true positives at each threshold.

    Attributes
    ----------
    threshold : ndarray of shape (n_scores,)
        Distinct scores, descending; rows at or above one are predicted positive.
    lower : ContingencyTables
        The tables of the lower bound on the ROC curve.
    upper : ContingencyTables
        The tables of the upper bound on the ROC curve.
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
        """Return the columns as plain lists.

        Returns
        -------
        dict
            By name of the column, as in ``to_frame``, and ``based_on``.
        """
        plain: dict[str, Any] = to_plain(self._columns() | {"based_on": self.based_on})
        return plain


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
        Whether to widen the band by the sampling noise of the hidden positives. False is the
        paper's band, about the distribution that they come from.
    reverse : bool or "tighter", default=False
        True starts from the known negatives, which must be a random sample of all negatives: the
        band is then about the share of negatives at or above each score. ``"tighter"`` takes the
        form with the narrower AUROC.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether to count all rows, or the unlabeled rows alone.
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
    options = Options.check(
        "contingency_bounds",
        alpha=alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
    )
    counts = ScoreTable._count(s, scores, sample_weight, None, (), "contingency_bounds")
    return bounds_of(counts, options)


def bounds_from_table(
    table: ScoreTable,
    *,
    alpha: Alpha,
    band: Band = "binomial",
    confidence: float = 0.95,
    latent_noise: bool = True,
    reverse: Reverse = False,
    scheme: Scheme = "single-sample",
) -> ContingencyBounds:
    """Bound the contingency table at every score of a table.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
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

    Returns
    -------
    ContingencyBounds
        With ``threshold`` and the tables ``lower`` and ``upper`` (``tp``, ``fp``, ``fn``, ``tn``).

    Examples
    --------
    >>> table = ScoreTable.from_arrays([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.5])
    >>> bounds_from_table(table, alpha=1/3).upper.tp
    array([1, 2, 3, 3, 3])
    """
    options = Options.check(
        "bounds_from_table",
        alpha=alpha,
        band=band,
        confidence=confidence,
        latent_noise=latent_noise,
        reverse=reverse,
        scheme=scheme,
    )
    return bounds_of(table, options)


def bounds_of(table: ScoreTable, options: Options) -> ContingencyBounds:
    """Bound the contingency table at every score, with options that are checked."""
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
    known: Literal["positives", "negatives"], table: ScoreTable, options: Options
) -> ContingencyBounds:
    reverse = known == "negatives"
    group = "negative" if reverse else "labeled"
    low, high = options.alphas
    bands = {
        alpha: band_of(table, group, 1 - alpha if reverse else alpha, options)
        for alpha in {low, high}
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
    # Whole rows, halves rounded up; weights are not rounded.
    positives = _floor(alpha * unlabeled + 0.5) if counted else alpha * unlabeled
    negatives = unlabeled - positives
    hidden = negatives if reverse else positives
    # Most true positives means fewest negatives in the head, so that negatives need no flipped
    # ranking: the band on their share in the tail is one minus the band on that in the head.
    if most != reverse:
        wanted = -_floor(-band[1] * hidden) if counted else band[1] * hidden
    else:
        wanted = _floor(band[0] * hidden) if counted else band[0] * hidden
    # At least what does not fit into the tail, at most what fits into the head.
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
    squares = [table.squares_of(name).sum() for name in GROUPS]
    return bool(np.allclose(squares, totals, rtol=1e-12)) and all(
        bool((np.round(getattr(table, name)) == getattr(table, name)).all()) for name in GROUPS
    )


def _head_counts(table: ScoreTable, group: str, counted: bool) -> NDArray[Any]:
    """Rows of a group at or above each score, from the highest score down."""
    return np.cumsum(getattr(table, group)[::-1].astype(np.int64 if counted else np.float64))


def _floor(values: Any) -> Any:
    """Round down to integers; values that miss one by a rounding error count as that integer."""
    dust = np.maximum(1e-9, 1e-14 * np.abs(values))
    return np.floor(values + dust).astype(np.int64)


def _share(part: NDArray[Any], whole: float) -> FloatArray:
    """Divide counts by their total; not a number if there is nothing to share."""
    return part / whole if whole > 0 else np.full(len(part), np.nan)


def _roc_auc_width(bounds: ContingencyBounds) -> float:
    lower, upper = (area_under_roc(*tables.rates()[:2]) for tables in (bounds.lower, bounds.upper))
    return float(upper - lower)
