"""DistCurve: how far one must look for an unlabeled row once the near ones are used up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, WholeNumber
from recoup.priors._solvers.network import load_network
from recoup.priors._solvers.resample import subsample
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

# The largest samples that the network has seen. More rows are drawn down to this many.
MAX_ROWS = 10_000
PERCENTILES = np.arange(100.0)
# Shares of the summed distance below this are taken as equal; with ties they are exactly zero.
LEAST_SHARE = 1e-6
MAX_POINTS = 500


@dataclass(kw_only=True, eq=False, repr=False)
class DistCurve(ScorePriorEstimator):
    r"""Share of the unlabeled rows that can be matched with labeled ones before these run out.

    A labeled row is drawn at random, again and again, and the nearest unlabeled row is taken
    away. As long as labeled rows find partners of their own kind the distances :math:`d_k` stay
    small; about step :math:`k = \alpha n_U` the region where labeled rows are densest is empty,
    and they grow. A network, trained on simulated mixtures, reads alpha from the percentiles

    .. math:: x_j = \frac{Q_{j/100}(d_1, \dots, d_{n_U})}
                         {\sum_{i=0}^{99} Q_{i/100}(d_1, \dots, d_{n_U})}

    Distances are counted in unlabeled rows between the two (ranks), not in units of the score,
    so that any increasing function of the scores gives the same estimate.

    Parameters
    ----------
    n_runs : int, default=10
        How many times all unlabeled rows are used up, each time with other labeled rows drawn.
        The distances of each step are averaged; more runs make them steadier and take longer.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    Notes
    -----
    Of more than 10,000 unlabeled or labeled rows, 10,000 are drawn at random.

    The published network learned alpha. This one learned the largest share of the unlabeled rows
    that may be distributed as the labeled ones, which is all that data can tell and equals alpha
    if some scores are reached by positives only.

    References
    ----------
    D. Zeiberg, S. Jain, P. Radivojac, "Fast nonparametric estimation of class proportions in the
    positive-unlabeled classification setting", AAAI 2020, Algorithm 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [500, 2000])
    >>> positive = (s == 1) | (rng.random(2500) < 0.3)
    >>> scores = rng.normal(np.where(positive, 2.0, -2.0))
    >>> DistCurve(interval=None).fit_scores(s, scores).alpha_
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="dist-curve",
        reads="scores",
        assumes="almost only positives reach some scores",
        cost="n log n",
        source="Zeiberg et al. 2020",
    )
    constraints: ClassVar[Constraints] = {
        "n_runs": WholeNumber(
            why="distances are averaged over runs", hint="Pass 10, as published."
        ),
    }

    n_runs: int = 10

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        table = self._capped(table)
        distances = distance_curve(table, self.n_runs, rng)
        logit = float(load_network("dist_curve")(network_inputs(distances, table)[None])[0, 0])
        # The network's answer is a logit: alpha stays inside (0, 1) without clipping.
        alpha = 1 / (1 + np.exp(-logit))
        steps = np.arange(1, len(distances) + 1) / len(distances)
        shown = np.unique(np.linspace(0, len(steps) - 1, MAX_POINTS).astype(int))
        curve = PriorCurve(
            x=steps[shown],
            lines={"distance": distances[shown]},
            x_label="share of unlabeled rows taken away",
            y_label="distance to the nearest one left",
            marker=alpha,
        )
        return Finding(alpha, curve=curve)

    def _draws(
        self, table: ScoreTable, finding: Finding, refits: Callable[[int], ScoreTable] | None
    ) -> FloatArray:
        # Only the drawn rows entered the estimate, so its variation is that of so many rows.
        return super()._draws(self._capped(table), finding, refits)

    def _capped(self, table: ScoreTable) -> ScoreTable:
        totals = (int(table.n_labeled), int(table.n_unlabeled))
        if max(totals) <= MAX_ROWS:
            return table
        n_labeled, n_unlabeled = (min(total, MAX_ROWS) for total in totals)
        return subsample(table, (n_labeled, n_unlabeled), self._rng("rows"))


def distance_curve(
    table: ScoreTable,
    n_runs: int,
    rng: np.random.Generator,
    removal: Callable[..., None] | None = None,
) -> FloatArray:
    """Return the mean distance at each step of using up the unlabeled rows.

    Distances are in ranks, as a share of all unlabeled rows. A block of tied unlabeled rows lies
    at its middle rank; a labeled row whose score no unlabeled row has lies anywhere between its
    two neighbours.

    Parameters
    ----------
    table : ScoreTable
        Counts of whole rows.
    n_runs : int
        Runs to average over.
    rng : numpy.random.Generator
        Draws labeled rows.
    removal : callable, optional
        A compiled :func:`remove_nearest`, for callers with thousands of tables.

    Returns
    -------
    ndarray of shape (n_unlabeled,)
    """
    places, low, high, slots = rank_places(table)
    size = len(places)
    labeled = np.repeat(np.arange(len(low)), table.labeled.astype(np.intp))

    def plain(array: NDArray[Any]) -> Any:
        # Lists are several times faster than arrays in code that is not compiled.
        return array.tolist() if removal is None else array

    remove = remove_nearest if removal is None else removal
    row_places, summed = plain(places), plain(np.zeros(size))
    singles = np.arange(size + 1)
    for _ in range(n_runs):
        drawn = labeled[rng.integers(len(labeled), size=size)]
        points = low[drawn] + rng.random(size) * (high - low)[drawn]
        groups = plain(singles.copy()), plain(singles.copy())
        remove(row_places, plain(points), plain(slots[drawn]), *groups, summed)
    mean: FloatArray = np.asarray(summed) / (n_runs * size)
    return mean


def rank_places(
    table: ScoreTable,
) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.intp]]:
    """Return where rows lie among the unlabeled rows.

    Returns
    -------
    places : ndarray of shape (n_unlabeled,)
        Ascending middle ranks of the unlabeled rows.
    low, high : ndarray of shape (n_scores,)
        Ends of the range in which labeled rows with this score lie.
    slots : ndarray of shape (n_scores,)
        How many unlabeled rows lie below.
    """
    counts = table.unlabeled.astype(np.intp)
    ends = np.cumsum(counts)
    slots = ends - counts
    some = counts > 0
    middles = (slots + counts / 2)[some]
    padded = np.concatenate([[0.0], middles, [float(ends[-1])]])
    number = np.cumsum(some)
    low = padded[number]
    high = np.where(some, low, padded[np.minimum(number + 1, len(padded) - 1)])
    return np.repeat(middles, counts[some]), low, high, slots


def remove_nearest(
    places: Any, points: Any, slots: Any, parents: Any, starts: Any, summed: Any
) -> None:
    """Take the nearest place away from each point in turn; add the distances to ``summed``.

    Slot j is the gap below place j. Slots between which all places are gone form a group, found
    by its last slot (union-find with halved paths), so that a step takes almost constant time.
    Lists and arrays both work, and numba compiles it as it stands.

    Parameters
    ----------
    places : sequence of n floats
        Ascending.
    points : sequence of at most n floats
        In the order of the steps.
    slots : sequence of int
        How many places lie below each point.
    parents, starts : mutable sequences of the n + 1 numbers from 0 to n
        Changed in place.
    summed : mutable sequence of n floats
        Changed in place.
    """
    size = len(places)
    for step in range(len(points)):
        point, last = points[step], slots[step]
        while parents[last] != last:
            parents[last] = parents[parents[last]]
            last = parents[last]
        start = starts[last]
        if last == size or (start > 0 and point - places[start - 1] <= places[last] - point):
            summed[step] += point - places[start - 1]
            parents[start - 1] = last
            starts[last] = starts[start - 1]
        else:
            summed[step] += places[last] - point
            merged = last + 1
            while parents[merged] != merged:
                parents[merged] = parents[parents[merged]]
                merged = parents[merged]
            parents[last] = merged
            starts[merged] = start


def curve_features(distances: FloatArray) -> FloatArray:
    """Return percentiles 0 to 99 of the distances, as shares of their sum."""
    found = np.percentile(distances, PERCENTILES)
    total = found.sum()
    if total == 0:
        return np.full(len(found), 1 / len(found))
    shares: FloatArray = found / total
    return shares


def network_inputs(distances: FloatArray, table: ScoreTable) -> FloatArray:
    """Return what the network reads: logarithms of the features and of the numbers of rows."""
    shares = np.log(np.maximum(curve_features(distances), LEAST_SHARE))
    return np.append(shares, np.log([table.n_unlabeled, table.n_labeled]))
