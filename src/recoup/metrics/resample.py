"""Resampling on the score table: no row is sorted or copied again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup.metrics.curves import monotone_rates
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

RESAMPLE_BINS = 512


@dataclass(frozen=True)
class Replicates:
    """Observed rates of bootstrap replicates, each from (0, 0) to (1, 1), one row a replicate.

    Parameters
    ----------
    tpr_pu : ndarray of shape (n_boot, n_scores + 1)
        Shares of the labeled rows at or above each score, from the highest down.
    fpr_pu : ndarray of shape (n_boot, n_scores + 1)
        Shares of the unlabeled rows at or above each score.
    labeled_fraction : ndarray of shape (n_boot,)
        Share of labeled rows.
    table : ScoreTable
        The thinned table that was resampled.
    """

    tpr_pu: FloatArray
    fpr_pu: FloatArray
    labeled_fraction: FloatArray
    table: ScoreTable

    def mixture(self, alpha: float, beta: float, scheme: Scheme) -> Mixture:
        """Shares of positives of each replicate, as a column."""
        if self.table.shared is not None:
            # Labeled rows are weighted as positives there, and all rows counted as unlabeled.
            odds = self.labeled_fraction / (1 - self.labeled_fraction)
            drawn = Mixture.by_propensity(np.clip(odds, 1e-9, 1 - 1e-6))
        else:
            drawn = Mixture.of(
                self.table, alpha, beta, scheme, labeled_fraction=self.labeled_fraction
            )
        return drawn.by_row()

    def valid_rates(self, mixture: Mixture) -> tuple[FloatArray, FloatArray]:
        """Unmix every replicate and make its curve valid."""
        tpr, fpr = mixture.true_rates(self.tpr_pu, self.fpr_pu)
        weights = np.append(0.0, (self.table.labeled + self.table.unlabeled)[::-1])
        return monotone_rates(tpr, weights), monotone_rates(fpr, weights)


def bootstrap(table: ScoreTable, n_boot: int, rng: np.random.Generator) -> Replicates:
    """Draw each row a Poisson number of times, on a thinned table.

    The sizes of the groups so vary as they do in a single sample; shares within a group do not
    notice. Rows of different weight in a bin are drawn as rows of equal weight that vary as much.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    n_boot : int
        How many replicates.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    Replicates
    """
    coarse = table.thin(RESAMPLE_BINS)
    rates, totals = [], []
    for group in ("labeled", "unlabeled"):
        mass = getattr(coarse, group)[::-1].astype(float)
        squares = coarse.squares_of(group)[::-1]
        # A sum of weights, each drawn a Poisson number of times, has mean sum(w) and variance
        # sum(w^2). One Poisson variable with mean (sum w)^2 / sum w^2, scaled, has the same two.
        rows = np.divide(mass**2, squares, out=np.zeros_like(mass), where=squares > 0)
        weight = np.divide(squares, mass, out=np.zeros_like(mass), where=mass > 0)
        heads = np.zeros((n_boot, len(mass) + 1))
        np.cumsum(rng.poisson(rows, size=(n_boot, len(mass))) * weight, axis=1, out=heads[:, 1:])
        # A replicate without rows of a group says nothing; it keeps the group as it is.
        empty = heads[:, -1] == 0
        heads[empty, 1:] = np.cumsum(mass)
        totals.append(heads[:, -1].copy())
        heads /= heads[:, -1:]
        rates.append(heads)
    return Replicates(rates[0], rates[1], totals[0] / (totals[0] + totals[1]), coarse)
