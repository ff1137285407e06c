"""Labels at random, simulated: what a ranking of the rows would look like with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.random import named_rng
from recoup.priors.conversions import label_frequency
from recoup.scores.table import ScoreTable

# The test reads shares of labels above at most this many thresholds.
N_BINS = 60
# The fewest rows above a threshold.
MIN_TOP = 20
# The posterior under the null bends at these normal quantiles of the ranks of rows.
KNOTS = (0.0, 1.2)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows and labels between thresholds of the score, ready to be tested with any alpha.

    Parameters
    ----------
    rows : ndarray of shape (n_groups,)
        Rows between two thresholds, from the highest score down.
    labeled : ndarray of shape (n_groups,)
        How many of them are labeled.
    n_all : int
        Number of unlabeled rows that alpha is the share in: those that are tested, and those that
        only train.
    n_resamples : int
        Simulated sets of labels.
    seed : int
        Seed of the simulation.
    """

    rows: NDArray[np.int64]
    labeled: NDArray[np.int64]
    n_all: int
    n_resamples: int
    seed: int

    def tested(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the excess above each threshold, and the largest ones of the resamples."""
        n_labeled, n_unlabeled = int(self.labeled.sum()), int((self.rows - self.labeled).sum())
        frequency = float(label_frequency(alpha, n_labeled, n_unlabeled))
        posterior = _posterior(self.rows, self.labeled, frequency)
        # The same draws for every alpha, so that p-values differ for no other reason.
        rng = named_rng(self.seed, "scar_test", "null")
        # Alpha is known for all unlabeled rows; how many of their positives are among those that
        # are tested is a matter of chance.
        n_hidden = round(alpha * self.n_all)
        hidden = rng.hypergeometric(
            n_hidden, self.n_all - n_hidden, n_unlabeled, size=self.n_resamples
        )
        drawn = _labels_at_random(self.rows, posterior, n_labeled, n_labeled + hidden, rng)
        null = _excess(self.rows, drawn, frequency).max(axis=-1)
        return _excess(self.rows, self.labeled, frequency), null

    def p_value(self, alpha: float) -> float:
        """Return the share of resamples with at least that excess."""
        excess, null = self.tested(alpha)
        return share_as_large(null, excess.max())


def share_as_large(null: FloatArray, statistic: float) -> float:
    """Return the p-value, which is 1 if no threshold has more labels than there may be.

    If there are negatives among the highest scores, the simulated excess is below 0, and how far
    below depends on the posterior that was fitted to a few rows. An observed excess that is larger,
    but also below 0, does not contradict labels at random: hence the maximum with 0.
    """
    return float((1 + np.count_nonzero(np.maximum(null, 0.0) >= statistic)) / (len(null) + 1))


def grouped(table: ScoreTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count rows and labels between thresholds, from the highest score down.

    Half of the thresholds are spread evenly over the rows, half are denser to the top. They do
    not depend on the labels; rows with the same score stay together.
    """
    rows = (table.labeled + table.unlabeled)[::-1].astype(np.int64)
    above, total = np.cumsum(rows), int(table.n_rows)
    even = np.linspace(0, total, N_BINS // 2 + 1)[1:]
    dense = np.geomspace(min(MIN_TOP, total), total, N_BINS // 2)
    wanted = np.unique(np.round(np.concatenate([even, dense])))
    last = np.unique(np.searchsorted(above, wanted))
    labeled = np.cumsum(table.labeled[::-1])[last]
    return np.diff(above[last], prepend=0), np.diff(labeled, prepend=0).astype(np.int64)


def _excess(rows: NDArray[np.int64], labeled: NDArray[np.int64], frequency: float) -> FloatArray:
    """Labels above each threshold beyond the most to expect, in standard errors."""
    above = np.cumsum(rows)
    # If all rows above a threshold are positive, their labels are binomial.
    error = np.sqrt(above * frequency * (1 - frequency))
    found = (np.cumsum(labeled, axis=-1) - frequency * above) / error
    excess: FloatArray = np.where(above >= MIN_TOP, found, -np.inf)
    return excess


def _posterior(rows: NDArray[np.int64], labeled: NDArray[np.int64], frequency: float) -> FloatArray:
    """Fit P(labeled) = frequency * P(positive), the latter logistic in a spline of the rank."""
    from scipy.special import expit, ndtri

    # Normal quantiles of the ranks: on this scale the logit of two normal classes is nearly linear.
    rank = -ndtri((np.cumsum(rows) - rows / 2) / rows.sum())
    design = np.column_stack(
        [np.ones(len(rows)), rank, *(np.maximum(rank - knot, 0.0) for knot in KNOTS)]
    )
    penalty = np.append(1e-4, np.full(design.shape[1] - 1, 1e-2))
    weights = np.zeros(design.shape[1])
    weights[1] = 1.0
    positive = expit(design @ weights)
    for _ in range(50):
        chance = np.clip(frequency * positive, 1e-9, 1 - 1e-9)
        slope = frequency * positive * (1 - positive)
        spread = chance * (1 - chance)
        gradient = design.T @ ((labeled - rows * chance) / spread * slope) - penalty * weights
        information = (design * (rows * slope**2 / spread)[:, None]).T @ design
        # Fisher scoring. The likelihood is flat where the posterior is near 1; without a limit a
        # step would go far beyond.
        step = np.clip(np.linalg.solve(information + np.diag(penalty), gradient), -2.0, 2.0)
        weights = weights + step
        positive = expit(design @ weights)
        if np.abs(step).max() < 1e-5:
            break
    result: FloatArray = positive
    return result


def _labels_at_random(
    rows: NDArray[np.int64],
    posterior: FloatArray,
    n_labeled: int,
    n_positive: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw classes, then labels; return labels between thresholds, one set per ``n_positive``."""
    positive = rng.binomial(rows, posterior, size=(len(n_positive), len(rows)))
    # The number of positives is known. Surplus ones are taken where classes are least certain,
    # as conditioning on the number would.
    surplus = positive.sum(axis=1) - n_positive
    doubt = rows * posterior * (1 - posterior) + 1e-12
    moved = rng.multinomial(np.abs(surplus), doubt / doubt.sum())
    positive = np.clip(positive - np.sign(surplus)[:, None] * moved, 0, rows)
    # Groups that are certain have no room to give or take; the others make up for them.
    missing = (n_positive - positive.sum(axis=1))[:, None]
    room = np.where(missing > 0, rows - positive, positive)
    positive += np.sign(missing) * _picked(room, np.abs(missing[:, 0]), rng)
    return _picked(positive, n_labeled, rng)


def _picked(
    available: NDArray[np.int64], number: Any, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Pick that many of the rows of all groups at random; return how many are of each."""
    rest = available.sum(axis=1)
    left = np.minimum(number, rest)
    picked: NDArray[np.int64] = np.empty_like(available)
    for group in range(available.shape[1]):
        rest = rest - available[:, group]
        picked[:, group] = rng.hypergeometric(available[:, group], rest, left)
        left = left - picked[:, group]
    return picked
