"""Thresholds at which a promise can be kept: learn, then test (Angelopoulos et al. 2021).

A promise such as "at least 90% of the flagged rows are positive" is broken at a threshold unless
the rows show otherwise. Thresholds are tested one after the other, in an order that does not
depend on the labels, and the walk ends where the rows no longer show that the promise holds. The
chance that any threshold on the way breaks it is then at most the level, whichever of them is
chosen in the end.

The strictest thresholds have too few labeled rows above them to show anything, so that a walk that
starts there would end at once. Where it may start follows from the number of labels alone: where
a perfect ranking would just be recognized. From there on it starts anew at a few places, among
which the level is shared; a walk that arrives at the next start brings its share along (the
fallback procedure of Wiens 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior
from recoup.metrics.demands import STARTS, Demand
from recoup.metrics.intervals import Ends, exact_share
from recoup.metrics.observed import ObservedShares, moved_mixture
from recoup.metrics.point_limits import PointLimits
from recoup.metrics.spec import MetricSpec
from recoup.scores.table import ScoreTable

# Thresholds that are looked at, evenly in the logarithm of the rows above them.
MOST_CANDIDATES = 400
SMALLEST_QUEUE = 0.01  # in expected positives
# Thresholds of a promise that no order goes with: each is tested by itself.
N_APART = 12

# Whether the promise is shown to hold at a threshold (by its place), at a level.
Shown: TypeAlias = Callable[[int, float], bool]


class Judge(Protocol):
    """What says which thresholds keep a promise: labels, or answers about checked rows."""

    thresholds: FloatArray
    queue: FloatArray

    def values(self, formula: Any) -> FloatArray:
        """Return a metric at every threshold."""

    def interval(self, formula: Any, place: int, confidence: float) -> Ends:
        """Return the limits of a metric at a threshold."""

    def p_value(self, demand: Demand, place: int) -> float:
        """Return how often a broken promise would look as well kept at a threshold."""

    def kept(self, demand: Demand, level: float) -> NDArray[np.bool_]:
        """Return at which thresholds a promise is shown to be kept."""


def best_place(judge: Judge, kept: NDArray[np.bool_], aim: MetricSpec | Demand) -> int:
    """Return the threshold that is best among those that keep a promise.

    Parameters
    ----------
    judge : Judge
        What says so.
    kept : ndarray of bool of shape (n,)
        Which do.
    aim : MetricSpec or Demand
        What to make best.

    Returns
    -------
    int
        Of equally good ones the lowest threshold, which flags most.
    """
    if isinstance(aim, Demand):
        values = judge.values(aim.value)
    else:
        values = judge.values(aim.formula)
        values = np.clip(values, aim.low, aim.high)
        values = values if aim.higher_is_better else -values
    values = np.where(kept & np.isfinite(values), values, -np.inf)
    return int(len(values) - 1 - np.argmax(values[::-1]))


@dataclass(frozen=True, eq=False)
class ThresholdGrid:
    """Thresholds that are looked at, highest first.

    Attributes
    ----------
    thresholds : ndarray of shape (n,)
        Rows with a score at or above it are flagged.
    queue : ndarray of shape (n,)
        How many rows of the judged population that are.
    positives : float
        How many of them are expected to be positive in all.
    """

    thresholds: FloatArray
    queue: FloatArray
    positives: float

    @classmethod
    def of(
        cls, table: ScoreTable, prior: Prior, scheme: Scheme, queue: float | None = None
    ) -> ThresholdGrid:
        """Choose thresholds by the rows above them, which says nothing of labels.

        Parameters
        ----------
        table : ScoreTable
            The counted rows.
        prior : Prior
            Alpha and beta.
        scheme : {"single-sample", "case-control"}
            Whether all rows are judged, or the unlabeled rows alone.
        queue : float, optional
            The most rows that may be flagged; the threshold that comes closest is among them.

        Returns
        -------
        ThresholdGrid
        """
        mixture = moved_mixture(table, scheme, prior.alpha, prior.beta, {})
        rows = np.cumsum(mixture.rows(table)[::-1])
        positives = float(mixture.pi) * float(rows[-1])
        fewest = max(SMALLEST_QUEUE * positives, 1e-9 * rows[-1])
        wanted = np.geomspace(min(fewest, rows[-1]), rows[-1], MOST_CANDIDATES)
        if queue is not None:
            wanted = np.append(wanted, queue)
        # The lowest score above which at most so many rows lie; tied rows stay together.
        places = np.unique(np.searchsorted(rows, wanted * (1 + 1e-12), side="right") - 1)
        places = places[(places >= 0) & (rows[places] > 0)]
        return cls(table.scores[::-1][places], rows[places], positives)

    def near(self, queue: Any) -> NDArray[np.intp]:
        """Return the first threshold that flags at least so many rows, or the last of all."""
        places: NDArray[np.intp] = np.searchsorted(self.queue, queue, side="left")
        return np.minimum(places, len(self.queue) - 1)


class LimitsAlong:
    """Lower limits of a promise at every threshold, made once for each level that is asked for.

    Parameters
    ----------
    demand : Demand
        What is promised.
    observed : ObservedShares
        The rows at or above each threshold.
    prior : Prior
        Alpha and beta with their uncertainty.
    times : float
        By how much rows that are not independent widen intervals.
    """

    def __init__(
        self, demand: Demand, observed: ObservedShares, prior: Prior, times: float
    ) -> None:
        self.demand = demand
        self.observed = observed
        self.prior = prior
        self.times = times
        self._lower: dict[float, FloatArray] = {}

    def lower(self, level: float) -> FloatArray:
        """Return one-sided lower limits at a level, by exact limits of shares."""
        if level not in self._lower:
            limits = PointLimits.of(self.observed, self.prior, 1 - 2 * level, exact_share)
            self._lower[level] = limits.interval(self.demand.value, self.times)[0]
        return self._lower[level]

    def shown(self, place: int, level: float) -> bool:
        """Say whether the promise is shown to hold at a threshold."""
        # Not a number, as where no row is flagged, shows nothing.
        return bool(self.lower(level)[place] >= self.demand.goal)

    def p_value(self, place: int) -> float:
        """Return the smallest level at which the promise is shown to hold at a threshold."""
        low, high = 1e-6, 0.5
        if self.shown(place, low):
            return low
        for _ in range(20):
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if self.shown(place, middle) else (middle, high)
        return high


def kept_in_order(
    shown: Shown, order: NDArray[np.intp], starts: NDArray[np.intp], level: float
) -> NDArray[np.bool_]:
    """Walk along thresholds from several starts, and return which are shown to keep a promise.

    Parameters
    ----------
    shown : callable
        Whether the promise is shown to hold at a threshold, at a level.
    order : ndarray of shape (n,)
        Places of the thresholds in the order of the walk, chosen without a look at the labels.
    starts : ndarray of int
        Where in that order the walk starts anew, in rising order.
    level : float
        Chance that any of the returned thresholds breaks the promise.

    Returns
    -------
    ndarray of bool of shape (n,)
        By place.

    Examples
    --------
    >>> p = np.array([0.3, 0.02, 0.04, 0.2, 0.001])
    >>> kept_in_order(lambda i, level: p[i] <= level, np.arange(5), np.array([1, 2]), 0.05)
    array([False,  True,  True, False, False])
    """
    kept = np.zeros(len(order), bool)
    starts = np.unique(starts)
    budget = 0.0
    for step, place in enumerate(order):
        budget += level / len(starts) * np.count_nonzero(starts == step)
        # Rounding must not make ten times a tenth less than the whole.
        if budget and shown(int(place), min(budget, level)):
            kept[place] = True
        else:
            budget = 0.0
    return kept


def kept_apart(shown: Shown, places: NDArray[np.intp], n: int, level: float) -> NDArray[np.bool_]:
    """Test a few thresholds that no order goes with (Holm 1979).

    Parameters
    ----------
    shown : callable
        Whether the promise is shown to hold at a threshold, at a level.
    places : ndarray of int
        The thresholds to test.
    n : int
        How many thresholds there are.
    level : float
        Chance that any of the returned thresholds breaks the promise.

    Returns
    -------
    ndarray of bool of shape (n,)
        By place.
    """
    kept = np.zeros(n, bool)
    left = list(np.unique(places))
    while left:
        passed = [place for place in left if shown(int(place), level / len(left))]
        if not passed:
            break
        kept[passed] = True
        left = [place for place in left if place not in passed]
    return kept


class ByLabels:
    """Which thresholds keep a promise, as far as labels tell that are a random sample.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    times : float, default=1.0
        By how much rows that are not independent widen intervals.
    queue : float, optional
        The most rows that may be flagged.

    Attributes
    ----------
    thresholds : ndarray of shape (n,)
        What is looked at, highest first.
    queue : ndarray of shape (n,)
        Rows at or above each of them.
    """

    def __init__(
        self,
        table: ScoreTable,
        prior: Prior,
        scheme: Scheme,
        times: float = 1.0,
        queue: float | None = None,
    ) -> None:
        self.grid = ThresholdGrid.of(table, prior, scheme, queue)
        self.thresholds = self.grid.thresholds
        self.queue = self.grid.queue
        self.prior = prior
        self.times = times
        self.n_labeled = table.effective_sizes[0] / times**2
        self.observed = ObservedShares.above(table, self.thresholds, scheme)
        self._limits: dict[Demand, LimitsAlong] = {}

    def values(self, formula: Callable[..., Any]) -> FloatArray:
        """Return a metric at every threshold, not clipped."""
        return self.observed.value(formula, self.prior.alpha, self.prior.beta)

    def interval(self, formula: Callable[..., Any], place: int, confidence: float) -> Ends:
        """Return the limits of a metric at a threshold, as an evaluation gives them."""
        limits = PointLimits.of(self.observed, self.prior, confidence)
        low, high = limits.interval(formula, self.times)
        return float(low[place]), float(high[place])

    def p_value(self, demand: Demand, place: int) -> float:
        """Return how often a promise that is broken at a threshold would look as well kept."""
        return self._along(demand).p_value(place)

    def kept(self, demand: Demand, level: float) -> NDArray[np.bool_]:
        """Return at which thresholds a promise is shown to be kept.

        Parameters
        ----------
        demand : Demand
            What is promised.
        level : float
            Chance that any of the returned thresholds breaks the promise.

        Returns
        -------
        ndarray of bool of shape (n,)
        """
        shown, n = self._along(demand).shown, len(self.thresholds)
        if demand.kind == "cost":
            most = self.queue[-1]
            wanted = np.geomspace(min(0.2 * self.grid.positives, most), most, N_APART + 1)
            return kept_apart(shown, self.grid.near(wanted[:-1]), n, level)
        if demand.kind == "recall":
            # The share of positives above a threshold only grows as it falls: the walk starts at
            # the lowest one, which holds them all.
            return kept_in_order(shown, np.arange(n)[::-1], np.array([0]), level)
        shares = demand.start_of_walks(self.n_labeled, level / len(STARTS))
        starts = self.grid.near(shares * self.grid.positives / demand.goal)
        return kept_in_order(shown, np.arange(n), starts, level)

    def _along(self, demand: Demand) -> LimitsAlong:
        if demand not in self._limits:
            self._limits[demand] = LimitsAlong(demand, self.observed, self.prior, self.times)
        return self._limits[demand]
