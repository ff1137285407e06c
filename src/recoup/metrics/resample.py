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


def permuted_auc(
    table: ScoreTable, n_permutations: int, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """AUC_pu on a thinned table, as observed and with labels shuffled among the rows."""
    coarse = table.thin(RESAMPLE_BINS)
    sizes = [max(round(size), 1) for size in coarse.effective_sizes]
    # NumPy's hypergeometric draws refuse 1e9 rows and more; scaled down, nothing visible changes.
    scale = min(1.0, 9e8 / sum(sizes))
    sizes = [max(round(size * scale), 1) for size in sizes]
    share = (coarse.labeled / coarse.n_labeled * sizes[0]) + (
        coarse.unlabeled / coarse.n_unlabeled * sizes[1]
    )
    rows = np.diff(np.round(np.cumsum(share[::-1])), prepend=0.0).astype(np.int64)
    drawn = rng.multivariate_hypergeometric(
        rows, min(sizes[0], int(rows.sum()) - 1), size=n_permutations, method="marginals"
    )
    shuffled = _pairs(drawn / drawn.sum(1, keepdims=True), (rows - drawn).astype(float))
    observed = _pairs(coarse.labeled[::-1] / coarse.n_labeled, coarse.unlabeled[::-1].astype(float))
    return float(observed), shuffled


def _pairs(labeled: FloatArray, unlabeled: FloatArray) -> FloatArray:
    heads = np.cumsum(labeled, axis=-1) - labeled / 2
    share: FloatArray = np.sum(heads * unlabeled, axis=-1) / unlabeled.sum(-1)
    return share
