"""Resampling on the score table: no row is sorted or copied again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoup._checks import FloatArray
from recoup.metrics.curves import monotone_rate
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

RESAMPLE_BINS = 512


@dataclass(frozen=True)
class Replicates:
    """Observed rates of bootstrap replicates, each from (0, 0) to (1, 1), one row a replicate."""

    tpr_pu: FloatArray
    fpr_pu: FloatArray
    weights: FloatArray

    def valid_rates(self, mixture: Mixture) -> tuple[FloatArray, FloatArray]:
        """Unmix every replicate and make its curve valid. Mixtures may hold one draw each."""
        tpr, fpr = mixture.by_row().true_rates(self.tpr_pu, self.fpr_pu)
        for rates in (tpr, fpr):
            for row in rates:
                row[:] = monotone_rate(row, self.weights)
        return tpr, fpr


def bootstrap(table: ScoreTable, n_boot: int, rng: np.random.Generator) -> Replicates:
    """Resample labeled and unlabeled rows apart, as multinomial counts on a thinned table."""
    coarse = table.thin(RESAMPLE_BINS)
    rates = []
    for counts, size in zip(
        (coarse.labeled, coarse.unlabeled), coarse.effective_sizes, strict=True
    ):
        draws = rng.multinomial(max(round(size), 1), counts[::-1] / counts.sum(), size=n_boot)
        heads = np.zeros((n_boot, len(counts) + 1))
        np.cumsum(draws, axis=1, out=heads[:, 1:])
        heads /= heads[:, -1:]
        rates.append(heads)
    weights = np.append(0.0, (coarse.labeled + coarse.unlabeled)[::-1])
    return Replicates(rates[0], rates[1], weights)


def permuted_auc(
    table: ScoreTable, n_permutations: int, rng: np.random.Generator
) -> tuple[float, FloatArray]:
    """AUC_pu on a thinned table, as observed and with labels shuffled among the rows."""
    coarse = table.thin(RESAMPLE_BINS)
    sizes = [max(round(size), 1) for size in coarse.effective_sizes]
    # Hypergeometric draws want whole rows below 1e9; more rows change nothing by then.
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
