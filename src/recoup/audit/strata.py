"""Strata of the score: where they are cut, and how many rows of each are checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.population import JudgedRows
from recoup.metrics.spec import metric_spec

# Chances are taken as at least this, and at most one minus it, where rows are chosen.
FLOOR = 0.02
# Share of the checks that go to all rows alike, however sure the labels seem.
UNIFORM = 0.2
# Checks that a stratum gets on average.
PER_STRATUM = 6
FEWEST_STRATA, MOST_STRATA = 4, 40
BLOCKS = 256


@dataclass(frozen=True, eq=False)
class Strata:
    """Neighboring scores that are sampled alike.

    Attributes
    ----------
    edges : ndarray of shape (n_strata,)
        Lowest score of each stratum, ascending; the first is minus infinity.
    n_rows : ndarray of shape (n_strata,)
        Unlabeled rows of each.
    """

    edges: FloatArray
    n_rows: NDArray[np.int64]

    def of(self, scores: FloatArray) -> NDArray[np.intp]:
        """Return the stratum of each score."""
        found: NDArray[np.intp] = np.searchsorted(self.edges, scores, side="right") - 1
        return found


def size_measure(
    population: JudgedRows,
    p: FloatArray,
    metrics: tuple[str, ...],
    sharpness: FloatArray | None = None,
) -> tuple[FloatArray, dict[str, FloatArray]]:
    r"""How much it is worth to check a row at each score, and the slopes behind it.

    .. math:: \sqrt{\textstyle\sum_k (h_k / S_k)^2}\,\sqrt{p(1-p)}, \qquad
              S_k = \sum |h_k| \sqrt{p (1-p)}

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    p : ndarray of shape (n_scores,)
        Chance that an unlabeled row is positive.
    metrics : tuple of str
        Keys of the metrics; ``"alpha"`` is one too.
    sharpness : ndarray of shape (n_scores,), optional
        How much less open a row is once a second opinion is known.

    Returns
    -------
    size : ndarray of shape (n_scores,)
        Of one unlabeled row at each score; sums to one over the unlabeled rows.
    slopes : dict of str to ndarray of shape (n_scores,)
        How much one positive more at each score moves each metric.
    """
    rows = population.unlabeled
    coarse, index = population.blocks(BLOCKS, np.array([], np.intp))
    hidden = np.bincount(index, p * rows, len(coarse.scores)).astype(float)
    positives = coarse.positives(hidden)
    slopes: dict[str, FloatArray] = {}
    for key in metrics:
        if key == "alpha":
            slopes[key] = np.full(len(rows), 1 / rows.sum())
            continue
        found = coarse.slopes(metric_spec(key, "audit.plan"), positives)
        slopes[key] = np.nan_to_num(found, posinf=0.0, neginf=0.0)[index]
    safe = np.clip(p, FLOOR, 1 - FLOOR)
    spread = np.sqrt(safe * (1 - safe) * (1.0 if sharpness is None else sharpness))
    squares = np.zeros(len(rows))
    for slope in slopes.values():
        total = np.dot(rows, np.abs(slope) * spread)
        squares += (slope / total) ** 2 if total > 0 else 0.0
    size = np.sqrt(squares) * spread
    total = np.dot(rows, size)
    plain = 1 / rows.sum()
    size = (1 - UNIFORM) * size / total + UNIFORM * plain if total > 0 else np.full_like(p, plain)
    return size, slopes


def cut(population: JudgedRows, size: FloatArray, budget: int) -> Strata:
    """Cut the scores into strata of about equal size; the threshold is always between two.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    size : ndarray of shape (n_scores,)
        What it is worth to check one unlabeled row at each score.
    budget : int
        Rows that will be checked.

    Returns
    -------
    Strata
    """
    n_strata = int(np.clip(budget // PER_STRATUM, FEWEST_STRATA, MOST_STRATA))
    heads = np.cumsum(population.unlabeled * size)
    wanted = heads[-1] * np.arange(1, n_strata) / n_strata
    starts = np.searchsorted(heads, wanted, side="left") + 1
    starts = np.unique(np.append(starts, [0, population.first_above]))
    starts = starts[starts < len(heads)].astype(np.intp)
    n_rows = np.add.reduceat(population.unlabeled, starts)
    # Where only labeled rows lie, there is nothing to check: the next lower stratum takes it in.
    kept = n_rows > 0
    kept[0] = True
    starts = starts[kept]
    n_rows = np.add.reduceat(population.unlabeled, starts).astype(np.int64)
    edges = population.scores[starts].astype(float)
    edges[0] = -np.inf
    return Strata(edges, n_rows)


def allocate(sizes: FloatArray, n_rows: NDArray[np.int64], budget: int) -> NDArray[np.int64]:
    """Share checks out over strata in proportion to their sizes, at least two for each.

    Parameters
    ----------
    sizes : ndarray of shape (n_strata,)
        What the strata are worth.
    n_rows : ndarray of shape (n_strata,)
        Rows of each; no more can be checked.
    budget : int
        Checks in all.

    Returns
    -------
    ndarray of shape (n_strata,)
        Sums to the budget, or to all rows if they are fewer.

    Examples
    --------
    >>> allocate(np.array([1.0, 1.0, 2.0]), np.array([100, 3, 100]), 20)
    array([ 6,  3, 11])
    """
    budget = min(budget, int(n_rows.sum()))
    least = np.minimum(n_rows, 2)
    if least.sum() > budget:
        least = np.minimum(n_rows, 1)
    if least.sum() > budget:
        least = np.zeros_like(n_rows)
    low, high = 0.0, 1.0
    shares = np.maximum(sizes, 1e-12 * max(sizes.max(), 1e-300))
    while np.clip(high * shares, least, n_rows).sum() < budget:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if np.clip(middle * shares, least, n_rows).sum() < budget
            else (low, middle)
        )
    exact = np.clip(high * shares, least, n_rows)
    counts: NDArray[np.int64] = np.floor(exact + 1e-9).astype(np.int64)
    room = np.flatnonzero(counts < n_rows)
    order = room[np.argsort(-(exact - counts)[room], kind="stable")]
    short = int(budget - counts.sum())
    while short > 0:
        counts[order[:short]] += 1
        order = order[counts[order] < n_rows[order]]
        short = int(budget - counts.sum())
    return counts


def expected_errors(
    population: JudgedRows,
    p: FloatArray,
    slopes: dict[str, FloatArray],
    strata: Strata,
    counts: NDArray[np.int64],
    sharpness: FloatArray | None = None,
) -> dict[str, float]:
    """Return the standard error of each metric after so many checks in each stratum.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    p : ndarray of shape (n_scores,)
        Chance that an unlabeled row is positive.
    slopes : dict of str to ndarray of shape (n_scores,)
        How much one positive more at each score moves each metric.
    strata : Strata
        Where rows are drawn.
    counts : ndarray of shape (n_strata,)
        Rows that are checked in each.
    sharpness : ndarray of shape (n_scores,), optional
        How much less open a row is once a second opinion is known.

    Returns
    -------
    dict of str to float
    """
    index = strata.of(population.scores)
    rows, size = population.unlabeled, len(strata.n_rows)
    n = np.maximum(counts, 1)
    left = np.maximum(strata.n_rows - counts, 0)
    found = {}
    for key, slope in slopes.items():
        mean = np.bincount(index, rows * slope * p, size) / np.maximum(strata.n_rows, 1)
        square = np.bincount(index, rows * slope**2 * p, size) / np.maximum(strata.n_rows, 1)
        within = np.maximum(square - mean**2, 0.0)
        if sharpness is not None:
            open_still = rows * slope**2 * p * (1 - p) * sharpness
            within = np.bincount(index, open_still, size) / np.maximum(strata.n_rows, 1)
        variance = np.sum(strata.n_rows * left / n * within)
        found[key] = float(np.sqrt(variance))
    return found
