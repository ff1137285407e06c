"""Kinds of positives: groups of labeled rows, and the share of each among the unlabeled rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.priors._solvers.groups import group_tables
from recoup.priors._solvers.leaves import (
    FoldForest,
    clustered,
    grown,
    merged,
    mixed,
    telling_columns,
)
from recoup.priors.labels import Kind
from recoup.priors.share_net import QUANTILES, draws_between, share_quantiles

# Labeled rows are divided into so many clusters, and clusters that are near each other merged.
STEPS = (8, 4, 2)
FEWEST = 10
N_DRAWS = 500
# A kind whose share is below this may be any number of times smaller.
LEAST_SHARE = 1e-3
MIDDLE = QUANTILES.index(0.5)


@dataclass(frozen=True, eq=False)
class Kinds:
    """One way to divide labeled rows, and what is known about the rate at which each is labeled.

    Parameters
    ----------
    groups : ndarray of shape (n_labeled,)
        Kind of each labeled row.
    chances : ndarray of shape (n, 1 + n_kinds)
        Chance of each row to be unlabeled, or labeled and of each kind.
    sizes : ndarray of shape (n_kinds,)
        Labeled rows of each kind.
    n_unlabeled : int
        Number of unlabeled rows.
    shares : ndarray of shape (n_kinds, 9)
        Quantiles of the share of each kind among the unlabeled rows.
    """

    groups: NDArray[np.int_]
    chances: FloatArray
    sizes: FloatArray
    n_unlabeled: int
    shares: FloatArray

    @property
    def number(self) -> int:
        """How many kinds there are."""
        return len(self.sizes)

    @property
    def alphas(self) -> FloatArray:
        """Share of each kind among the unlabeled rows, without regard to the others."""
        return np.asarray(self.shares[:, MIDDLE])

    @property
    def log_rates(self) -> FloatArray:
        """Logarithm of the label frequency of each kind."""
        return log_rates(self.alphas, self.sizes, self.n_unlabeled)

    def rate_draws(self, n_draws: int) -> FloatArray:
        """Spread the log label frequency of each kind over its distribution, from the lowest up."""
        drawn = np.array([draws_between(row, QUANTILES, n_draws)[::-1] for row in self.shares])
        return log_rates(drawn, self.sizes[:, None], self.n_unlabeled)

    @property
    def variances(self) -> FloatArray:
        """Variance of each log label frequency."""
        luck = (1 - np.exp(self.log_rates)) / self.sizes
        found: FloatArray = self.rate_draws(41).var(axis=1) + luck + 1e-4
        return found


@dataclass(frozen=True, eq=False)
class Divisions:
    """Several ways to divide the same labeled rows, all read from one forest.

    Parameters
    ----------
    whole : Kinds
        All labeled rows as one kind.
    steps : tuple of Kinds
        Clusters of labeled rows, merged step by step, most of them first.
    mixture : Kinds
        Parts of a mixture of normal distributions, as many as its BIC asks for.
    """

    whole: Kinds
    steps: tuple[Kinds, ...]
    mixture: Kinds


def find_kinds(scaled: FloatArray, s: NDArray[np.int_], seed: int) -> Divisions:
    """Divide the labeled rows in several ways; there may be just one kind.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    seed : int
        Seed of everything random.
    """
    rows = scaled[s == 1]
    first = telling_columns(scaled, s)
    clusters = clustered(rows[:, first.chosen] * first.weights, STEPS[0], FEWEST, seed)
    forest = grown(scaled, s, clusters, seed)
    again = telling_columns(scaled, s, forest.importance)
    telling = rows[:, again.chosen] * again.weights
    ways, groups = [], clusters
    for number in STEPS:
        groups = merged(telling, groups, number)
        ways.append(groups)
    alone = np.zeros(len(rows), int)
    return Divisions(
        _kinds(forest, s, alone),
        tuple(_kinds(forest, s, groups) for groups in ways),
        _kinds(forest, s, mixed(telling, STEPS[0], FEWEST, seed)),
    )


def _kinds(forest: FoldForest, s: NDArray[np.int_], groups: NDArray[np.int_]) -> Kinds:
    chances = forest.chances(groups)
    tables = group_tables(chances, s, groups)
    return Kinds(
        groups,
        chances,
        np.bincount(groups).astype(float),
        int((s == 0).sum()),
        np.array([share_quantiles(table) for table in tables]),
    )


def log_rates(alphas: Any, sizes: Any, n_unlabeled: int) -> FloatArray:
    """Turn shares among the unlabeled rows into logarithms of label frequencies."""
    found: FloatArray = -np.log1p(np.maximum(alphas, LEAST_SHARE) * n_unlabeled / sizes)
    return found


def hidden_scale(kinds: Kinds, alpha: float) -> float:
    """By how much the hidden positives of all kinds must be multiplied to add up to alpha."""
    hidden = kinds.sizes * np.expm1(-kinds.log_rates)
    return float(alpha * kinds.n_unlabeled / hidden.sum())


def each_kind(kinds: Kinds, alpha: float) -> tuple[Kind, ...]:
    """Return what was found about each kind, the most labeled one first.

    Parameters
    ----------
    kinds : Kinds
        The kinds.
    alpha : float
        What the shares of all kinds are to add up to: kinds that overlap are counted twice where
        each is looked at alone.
    """
    scale = hidden_scale(kinds, alpha)
    rates = _scaled_rates(kinds.log_rates, scale)
    low, high = np.quantile(_scaled_rates(kinds.rate_draws(N_DRAWS), scale), [0.025, 0.975], axis=1)
    share = kinds.sizes * (1 / rates - 1) / kinds.n_unlabeled
    return tuple(
        Kind(int(kinds.sizes[k]), *(float(v[k]) for v in (share, rates, low, high)))
        for k in np.argsort(-rates, kind="stable")
    )


def propensities(kinds: Kinds, alpha: float) -> FloatArray:
    r"""Return P(labeled | positive, x) of each row.

    A row with chances :math:`d_k` of being labeled and of kind k has :math:`d_k / c_k` positives
    of that kind in its neighborhood, so that

    .. math:: e(x) = \sum_k P(k \mid x, y=1) c_k = \frac{\sum_k d_k}{\sum_k d_k / c_k}.

    Parameters
    ----------
    kinds : Kinds
        The kinds.
    alpha : float
        What the shares of all kinds are to add up to.
    """
    rates = _scaled_rates(kinds.log_rates, hidden_scale(kinds, alpha))
    # A trace of every kind, so that rows which no tree calls labeled have a propensity too.
    chances = kinds.chances[:, 1:] + 1e-6 * kinds.sizes / kinds.sizes.sum()
    found: FloatArray = chances.sum(axis=1) / (chances / rates).sum(axis=1)
    return found


def _scaled_rates(log_rates: FloatArray, scale: float) -> FloatArray:
    found: FloatArray = 1 / (1 + scale * np.expm1(-log_rates))
    return found
