"""Confidence bands of recovered curves, from the limits of the shares behind every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior
from recoup.metrics.curve_results import Band
from recoup.metrics.curves import monotone_rate
from recoup.metrics.intervals import Ends, mover, normal_quantile, spread, wilson
from recoup.metrics.observed import ObservedShares, Rates
from recoup.metrics.point import positive_rate
from recoup.scores.table import ScoreTable

CurveName: TypeAlias = Literal["roc", "pr", "lift"]

BAND_BINS = 1024
GRID = np.linspace(0.0, 1.0, 101)
N_DRAWS = 40
SMALLEST_WIDTH = 1e-9


def curve_bands(
    table: ScoreTable,
    prior: Prior,
    scheme: Scheme,
    confidence: float,
    simultaneous: bool = False,
    times: float = 1.0,
) -> dict[CurveName, Band]:
    """Bands of the ROC, precision-recall and lift curve.

    The curve is drawn again with the labeled shares at all thresholds at their lower limits, then
    at their upper ones, and so on for every share that it is made of. How far it moves, squared
    and added over the shares, is the width of the band. Limits of shares never coincide, not even
    past the last labeled row, so the band is never of width zero there.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    confidence : float
        Level of the bands.
    simultaneous : bool, default=False
        Whether the band is to hold the whole curve, rather than each of its points.
    times : float, default=1.0
        By how much rows that are not independent widen the bands.

    Returns
    -------
    dict of str to Band
        ``"roc"``, ``"pr"`` and ``"lift"``.
    """
    observed = observed_curve(table, scheme)
    limits = share_limits(observed, confidence, simultaneous)
    found = [
        _bands_at(observed, limits, prior, alpha, confidence, times) for alpha in prior.corners()
    ]
    bands: dict[CurveName, Band] = {}
    for name in found[0]:
        low = np.clip(np.min([one[name][0] for one in found], axis=0), 0.0, 1.0)
        high = np.clip(np.max([one[name][1] for one in found], axis=0), 0.0, 1.0)
        # Where all limits lie beyond an end of the range, as many rows as lie above that place
        # could still be there by luck.
        rows = np.maximum(GRID * table.effective_sizes[0], 1.0)
        around = wilson(low, rows, normal_quantile(confidence))
        stuck = (high - low < SMALLEST_WIDTH) & (GRID > 0) & (GRID < 1)
        bands[name] = Band(
            GRID, np.where(stuck, around[0], low), np.where(stuck, around[1], high), simultaneous
        )
    return bands


def observed_curve(table: ScoreTable, scheme: Scheme) -> ObservedShares:
    """Observed shares at every threshold of a thinned table, from the highest down."""

    def made() -> ObservedShares:
        coarse = table.thin(BAND_BINS)
        return ObservedShares.above(coarse, coarse.scores[::-1], scheme)

    return table.once(("observed curve", scheme), made)


def share_limits(
    observed: ObservedShares, confidence: float, simultaneous: bool = False
) -> dict[str, Ends]:
    """Limits of every share: at each threshold, or for all thresholds at once."""
    if not simultaneous:
        z = normal_quantile(confidence)
        return {
            name: wilson(share, observed.sizes[name], z) for name, share in observed.values.items()
        }
    # Labeled and unlabeled rows have a curve each, which share the error.
    error = (1 - confidence) / 2
    z = normal_quantile(1 - error)
    limits: dict[str, Ends] = {}
    for name, share in observed.values.items():
        if np.ndim(share) == 0:
            limits[name] = wilson(share, observed.sizes[name], z)
            continue
        # Dvoretzky, Kiefer and Wolfowitz: no threshold is off by more than this.
        slack = np.sqrt(np.log(2 / error) / (2 * np.min(observed.sizes[name])))
        limits[name] = np.maximum(share - slack, 0.0), np.minimum(share + slack, 1.0)
    return limits


@dataclass(frozen=True, eq=False)
class MovedCurves:
    """Valid curves that go around a recovered one, the same for all areas under them.

    Attributes
    ----------
    center : tuple
        ``(tpr, fpr, pi)`` of the recovered curve.
    ends : list of pairs
        For each share, the curve with it at its lower and at its upper limit, at all thresholds.
    drawn : list of tuple
        Curves for draws of alpha and beta; empty where they are known.
    """

    center: Rates
    ends: list[tuple[Rates, Rates]]
    drawn: list[Rates]

    @classmethod
    def of(
        cls,
        observed: ObservedShares,
        limits: dict[str, Ends],
        prior: Prior,
        alpha: float,
        n_draws: int,
    ) -> MovedCurves:
        """Move the shares of a curve one after the other.

        Parameters
        ----------
        observed : ObservedShares
            From :func:`observed_curve`.
        limits : dict of str to pair
            From :func:`share_limits`.
        prior : Prior
            Alpha and beta with their draws.
        alpha : float
            The alpha of the recovered curve.
        n_draws : int
            How many draws to take at most.

        Returns
        -------
        MovedCurves
        """

        def at(**moved: Any) -> Rates:
            return moved_curve(observed, alpha, prior.beta, moved)

        drawn: list[Rates] = []
        if prior.alpha_draws is not None:
            drawn = [
                moved_curve(observed, float(one), float(beta), {})
                for one, beta in np.broadcast(*prior.some_draws(n_draws))
            ]
        ends = [(at(**{name: low}), at(**{name: high})) for name, (low, high) in limits.items()]
        return cls(at(), ends, drawn)


def moved_curve(
    observed: ObservedShares, alpha: float, beta: float, moved: dict[str, Any]
) -> tuple[FloatArray, FloatArray, float]:
    """Return rates from (0, 0) to (1, 1) that never fall, and pi, with some shares replaced."""
    mixture = observed.mixture(alpha, beta, moved)
    table = observed.table
    weights = np.append(1e-9, (table.labeled + table.unlabeled)[::-1])
    tpr, fpr = (
        monotone_rate(np.append(0.0, rate), weights)
        for rate in mixture.true_rates(*observed.rates(moved))
    )
    return tpr, fpr, float(mixture.pi)


def _bands_at(
    observed: ObservedShares,
    limits: dict[str, Ends],
    prior: Prior,
    alpha: float,
    confidence: float,
    times: float,
) -> dict[CurveName, Ends]:
    curves = MovedCurves.of(observed, limits, prior, alpha, N_DRAWS)
    center = _on_grid(*curves.center)
    moved = [(_on_grid(*low), _on_grid(*high)) for low, high in curves.ends]
    ends: dict[CurveName, list[Ends]] = {}
    for name, curve in center.items():
        low, high = mover(curve, [(one[name], other[name]) for one, other in moved])
        ends[name] = [(curve - times * (curve - low), curve + times * (high - curve))]
    if curves.drawn:
        drawn = [_on_grid(*one) for one in curves.drawn]
        for name in center:
            ends[name].append(spread(np.array([one[name] for one in drawn]), confidence))
    return {name: mover(curve, ends[name]) for name, curve in center.items()}


def _on_grid(tpr: FloatArray, fpr: FloatArray, pi: float) -> dict[CurveName, FloatArray]:
    """Three curves over the grid."""
    rate = positive_rate(tpr, fpr, pi)
    precision = np.divide(pi * tpr, rate, out=np.ones_like(rate), where=rate > 0)
    # Before the first positive is found there is no recall to show the precision of.
    found = np.argmax(tpr > 0)
    precision[:found] = precision[found]
    return {
        "roc": np.interp(GRID, fpr, tpr),
        "pr": np.interp(GRID, tpr, precision),
        "lift": np.interp(GRID, rate, tpr),
    }
