"""Resampling on the score table: no row is sorted or copied again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recoup._core.checks import FloatArray
from recoup.metrics.curves import monotone_rate
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

RESAMPLE_BINS = 512


@dataclass(frozen=True)
class Replicates:
    """Observed rates of bootstrap replicates, each from (0, 0) to (1, 1), one row a replicate.

    Parameters
    ----------
    tpr_pu : ndarray of shape (n_boot, n_scores + 1)
        Shares of the labeled rows at or above each score.
    fpr_pu : ndarray of shape (n_boot, n_scores + 1)
        Shares of the unlabeled rows at or above each score.
    table : ScoreTable
        The thinned table that was resampled.
    alpha : ndarray of shape (n_boot,), optional
        Each replicate's own share of positives, where the rows themselves tell it, as
        propensities do.
    """

    tpr_pu: FloatArray
    fpr_pu: FloatArray
    table: ScoreTable
    alpha: FloatArray | None = None

    def at(self, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Observed rates of every replicate at thresholds, one column each."""
        scores = self.table.scores
        places = len(scores) - np.searchsorted(scores, thresholds, side="left")
        return self.tpr_pu[:, places], self.fpr_pu[:, places]

    def valid_rates(self, mixture: Mixture) -> tuple[FloatArray, FloatArray]:
        """Unmix every replicate and make its curve valid. Mixtures may hold one draw each."""
        tpr, fpr = mixture.by_row().true_rates(self.tpr_pu, self.fpr_pu)
        weights = np.append(0.0, (self.table.labeled + self.table.unlabeled)[::-1])
        for rates in (tpr, fpr):
            for row in rates:
                row[:] = monotone_rate(row, weights)
        return tpr, fpr


def bootstrap(table: ScoreTable, n_boot: int, rng: np.random.Generator) -> Replicates:
    """Resample labeled and unlabeled rows apart, as multinomial counts on a thinned table."""
    coarse = table.thin(RESAMPLE_BINS)
    rates = []
    for counts, size in zip(
        (coarse.labeled, coarse.unlabeled), coarse.effective_sizes, strict=True
    ):
        # As many rows as carry the information of the weighted ones.
        draws = rng.multinomial(max(round(size), 1), counts[::-1] / counts.sum(), size=n_boot)
        heads = np.zeros((n_boot, len(counts) + 1))
        np.cumsum(draws, axis=1, out=heads[:, 1:])
        heads /= heads[:, -1:]
        rates.append(heads)
    return Replicates(rates[0], rates[1], coarse)


def bootstrap_weighted_rows(
    table: ScoreTable,
    labeled: tuple[FloatArray, FloatArray, FloatArray],
    others: tuple[FloatArray, FloatArray],
    n_boot: int,
    rng: np.random.Generator,
    keep: Sequence[float],
) -> Replicates:
    """Resample rows of which the labeled ones stand for 1/propensity positives each.

    Parameters
    ----------
    table : ScoreTable
        Labeled rows weighted, every row counted as unlabeled.
    labeled : scores, row weights and weights as positives of the labeled rows
    others : scores and row weights of the other rows
    n_boot, rng, keep
        Replicates, randomness, and thresholds to keep exact.

    Returns
    -------
    Replicates
        A labeled row that is drawn twice counts twice among the positives and twice among all
        rows, so that the share of positives moves with the rates.
    """
    coarse = table.thin(RESAMPLE_BINS, keep)

    def per_bin(scores: FloatArray, *weights: FloatArray) -> list[FloatArray]:
        places = np.searchsorted(coarse.scores, scores, side="right") - 1
        return [
            np.bincount(places, weight, minlength=len(coarse.scores))[::-1].astype(float)
            for weight in weights
        ]

    scores, row_weight, positives = labeled
    mass, squares, rows = per_bin(scores, positives, positives**2, row_weight)
    # A sum of weights, each drawn a Poisson number of times, has mean sum(w) and variance
    # sum(w^2). One Poisson variable with mean (sum w)^2 / sum w^2, scaled, has the same two.
    effective = np.divide(mass**2, squares, out=np.zeros_like(mass), where=squares > 0)
    share = np.divide(1.0, effective, out=np.zeros_like(mass), where=effective > 0)
    drawn = rng.poisson(effective, size=(n_boot, len(mass))) * share
    scores, row_weight = others
    other, other_squares = per_bin(scores, row_weight, row_weight**2)
    effective = np.divide(other**2, other_squares, out=np.zeros_like(other), where=other > 0)
    scale = np.divide(other, effective, out=np.zeros_like(other), where=effective > 0)
    everyone = drawn * rows + rng.poisson(effective, size=drawn.shape) * scale
    heads = []
    for draws in (drawn * mass, everyone):
        total = np.zeros((n_boot, len(mass) + 1))
        np.cumsum(draws, axis=1, out=total[:, 1:])
        heads.append(total)
    alpha = np.clip(heads[0][:, -1] / heads[1][:, -1], 0.0, 1 - 1e-6)
    tpr, fpr = (total / np.maximum(total[:, -1:], 1e-300) for total in heads)
    return Replicates(tpr, fpr, coarse, alpha)


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
