"""Kinds of positives that are labeled at different rates: evidence, alpha and propensities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.priors._solvers.groups import (
    Grouping,
    group_chances,
    group_score,
    group_tables,
    labeled_groups,
)
from recoup.priors.labels import Kind
from recoup.priors.share_net import QUANTILES, draws_between, share_quantiles
from recoup.scores.table import ScoreTable

# Chosen on the training datasets of tools/studies/biased_labels.py.
GROUPING = Grouping(max_groups=8, max_columns=20, covariance="diag", power=0.5)
# Kinds that overlap more with negatives look less labeled even where labels are random: so large
# is the variance of a log label frequency for that reason alone.
OVERLAP_VARIANCE = 0.03
# Simulations know of the luck of the draw, not of how far off the shares of kinds are on real
# data. That is this part of their variance, and it is added to every simulated rate.
NOT_LUCK = 0.5
# Log label frequencies of kinds vary by this much where nothing speaks for it.
LEAST_BETWEEN = 0.05
N_RESAMPLES = 99
N_DRAWS = 500
# A kind whose share is below this may be any number of times smaller.
LEAST_SHARE = 1e-3
MIDDLE = QUANTILES.index(0.5)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of labeled rows, and what is known about the rate at which each is labeled.

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
        frequency = np.exp(self.log_rates)
        luck = (1 - frequency) / self.sizes
        found: FloatArray = self.rate_draws(101).var(axis=1) + luck + OVERLAP_VARIANCE
        return found


@dataclass(frozen=True)
class Heterogeneity:
    """Evidence that kinds are labeled at different rates.

    Parameters
    ----------
    statistic : float
        Weighted sum of squared differences of the log label frequencies.
    p_value : float
        Share of simulations with labels at random whose statistic is as large.
    between : float
        Variance of the true log label frequencies between kinds, not below a floor.
    """

    statistic: float
    p_value: float
    between: float


def find_kinds(scaled: FloatArray, s: NDArray[np.int_], seed: int) -> Kinds:
    """Look for kinds among labeled rows; there may be just one.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    seed : int
        Seed of everything random.
    """
    groups = labeled_groups(scaled, s, GROUPING, seed)
    chances = group_chances(scaled, s, groups, seed)
    tables = group_tables(chances, s, groups)
    return Kinds(
        groups,
        chances,
        np.bincount(groups).astype(float),
        int((s == 0).sum()),
        _quantiles(tables),
    )


def log_rates(alphas: Any, sizes: Any, n_unlabeled: int) -> FloatArray:
    """Turn shares among the unlabeled rows into logarithms of label frequencies."""
    found: FloatArray = -np.log1p(np.maximum(alphas, LEAST_SHARE) * n_unlabeled / sizes)
    return found


def heterogeneity(kinds: Kinds, s: NDArray[np.int_], rng: np.random.Generator) -> Heterogeneity:
    """Test whether the kinds are labeled at different rates.

    The statistic is Cochran's Q of the log label frequencies. Its distribution under labels at
    random comes from simulation: hidden positives of each kind are drawn from what was fitted,
    and as many labels as there are given to the positives of all kinds at random.

    Parameters
    ----------
    kinds : Kinds
        What :func:`find_kinds` found.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    rng : Generator
        Source of the simulations.
    """
    statistic = _cochran(kinds)
    null = np.array([_cochran(drawn, rng) for drawn in _simulated(kinds, s, rng)])
    p_value = float((1 + np.count_nonzero(null >= statistic)) / (1 + len(null)))
    weights = 1 / kinds.variances
    scale = weights.sum() - (weights**2).sum() / weights.sum()
    excess = max(statistic - float(np.mean(null)), 0.0)
    between = LEAST_BETWEEN + excess / float(scale)
    return Heterogeneity(statistic, p_value, between)


def shrunk_shares(
    kinds: Kinds, common: FloatArray, between: float, at: FloatArray | None = None
) -> FloatArray:
    """Return alpha with each log label frequency drawn to the common one by empirical Bayes.

    Parameters
    ----------
    kinds : Kinds
        The kinds.
    common : ndarray of shape (n_draws,)
        Log label frequency of all positives, if labels were random.
    between : float
        Variance of log label frequencies between kinds. 0 gives the alpha that belongs to
        ``common``, a large one the sum of the shares of all kinds.
    at : ndarray of shape (n_kinds, n_draws), optional
        Log label frequencies of the kinds; by default the estimates.

    Returns
    -------
    ndarray of shape (n_draws,)
    """
    own = kinds.log_rates[:, None] if at is None else at
    trust = (between / (between + kinds.variances))[:, None]
    rates = np.minimum(trust * own + (1 - trust) * common, 0.0)
    hidden = (kinds.sizes[:, None] * np.expm1(-rates)).sum(axis=0)
    found: FloatArray = np.minimum(hidden / kinds.n_unlabeled, 1.0)
    return found


def mean_rate(kinds: Kinds, rates: FloatArray, between: float) -> FloatArray:
    """Return the mean log label frequency of the kinds, the ones that are known best first.

    Parameters
    ----------
    kinds : Kinds
        The kinds.
    rates : ndarray of shape (n_kinds, n_draws)
        Log label frequencies of the kinds.
    between : float
        Variance of log label frequencies between kinds.

    Returns
    -------
    ndarray of shape (n_draws,)
    """
    weights = 1 / (between + kinds.variances)
    found: FloatArray = weights @ rates / weights.sum()
    return found


def described(kinds: Kinds) -> tuple[Kind, ...]:
    """Return what was found about each kind, the most labeled one first."""
    draws = np.exp(kinds.rate_draws(N_DRAWS))
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    order = np.argsort(-kinds.log_rates, kind="stable")
    return tuple(
        Kind(
            int(kinds.sizes[k]),
            float(kinds.alphas[k]),
            float(np.exp(kinds.log_rates[k])),
            float(low[k]),
            float(high[k]),
        )
        for k in order
    )


def propensities(kinds: Kinds) -> FloatArray:
    r"""Return P(labeled | positive, x) of each row.

    A row with chances :math:`d_k` of being labeled and of kind k has :math:`d_k / c_k` positives
    of that kind in its neighborhood, so that

    .. math:: e(x) = \sum_k P(k \mid x, y=1) c_k = \frac{\sum_k d_k}{\sum_k d_k / c_k}.
    """
    # A trace of every kind, so that rows which no tree calls labeled have a propensity too.
    chances = kinds.chances[:, 1:] + 1e-6 * kinds.sizes / kinds.sizes.sum()
    found: FloatArray = chances.sum(axis=1) / (chances / np.exp(kinds.log_rates)).sum(axis=1)
    return found


def _cochran(kinds: Kinds, rng: np.random.Generator | None = None) -> float:
    """Cochran's Q; with a generator, of rates that are also off as they are on real data."""
    variances = kinds.variances
    weights, rates = 1 / variances, kinds.log_rates
    if rng is not None:
        rates = rates + np.sqrt(NOT_LUCK * variances) * rng.standard_normal(len(rates))
    return float((weights * (rates - weights @ rates / weights.sum()) ** 2).sum())


def _quantiles(tables: list[ScoreTable]) -> FloatArray:
    return np.array([share_quantiles(table) for table in tables])


def _simulated(kinds: Kinds, s: NDArray[np.int_], rng: np.random.Generator) -> list[Kinds]:
    """Give labels to the positives of all kinds at random, again and again."""
    labeled, unlabeled = np.flatnonzero(s == 1), np.flatnonzero(s == 0)
    scores = np.array([group_score(kinds.chances, k) for k in range(kinds.number)])
    chance = _hidden(kinds, s, scores)
    none = np.maximum(1 - chance.sum(axis=0), 0.0)
    heads = np.cumsum(np.vstack([none, chance]), axis=0)
    heads /= heads[-1]
    found = []
    for _ in range(N_RESAMPLES):
        drawn = (rng.random(len(unlabeled)) > heads).sum(axis=0) - 1
        rows = np.concatenate([labeled, unlabeled[drawn >= 0]])
        kind = np.concatenate([kinds.groups, drawn[drawn >= 0]])
        chosen = rng.permutation(len(rows))[: len(labeled)]
        sizes = np.bincount(kind[chosen], minlength=kinds.number)
        some = np.flatnonzero(sizes)
        if len(some) < 2:
            continue
        others = np.ones(len(s), bool)
        others[rows[chosen]] = False
        tables = []
        for k in some:
            own = rows[chosen[kind[chosen] == k]]
            values = np.concatenate([scores[k, own], scores[k, others]])
            tables.append(
                ScoreTable.from_arrays(np.repeat([1, 0], [len(own), int(others.sum())]), values)
            )
        found.append(
            Kinds(
                kind[chosen],
                kinds.chances,
                sizes[some].astype(float),
                kinds.n_unlabeled,
                _quantiles(tables),
            )
        )
    return found


def _hidden(kinds: Kinds, s: NDArray[np.int_], scores: FloatArray) -> FloatArray:
    """Return the chance of every unlabeled row to be a hidden positive of each kind."""
    from sklearn.isotonic import IsotonicRegression

    of_row = np.full(len(s), -1)
    of_row[s == 1] = kinds.groups
    found = np.zeros((kinds.number, kinds.n_unlabeled))
    for k in range(kinds.number):
        kept = (s == 0) | (of_row == k)
        model = IsotonicRegression(out_of_bounds="clip")
        share = model.fit(scores[k, kept], s[kept]).predict(scores[k, s == 0])
        alpha = kinds.alphas[k]
        odds = share / np.maximum(1 - share, 1e-9)
        found[k] = np.minimum(alpha * kinds.n_unlabeled / kinds.sizes[k] * odds, 1.0)
        if found[k].sum() > 0:
            found[k] = np.minimum(found[k] * alpha * kinds.n_unlabeled / found[k].sum(), 1.0)
    most: FloatArray = np.maximum(found.sum(axis=0), 1.0)
    return found / most
