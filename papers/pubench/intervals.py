"""Intervals from a few seeds, and the verdicts that follow from them.

With three to ten seeds the quantiles of a bootstrap are too narrow. As for the ranks of
:func:`recoup.bench.hypothesis_tests.rank_intervals`, seeds are drawn again within each dataset, the
means are stretched by what drawing from few seeds takes from them, and the spread of the statistic
is multiplied with Student's quantile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import t as student

from papers.effects import CONFIDENCE
from papers.experiment import Effect, Verdict
from papers.pubench.study import Missing
from recoup._core.checks import FloatArray
from recoup._core.random import named_rng

N_DRAWS = 1000

Statistic = Callable[[FloatArray], float]


def over_seeds(
    blocks: Sequence[FloatArray],
    statistic: Statistic,
    unit: str,
    *,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Effect:
    """Return a number computed from means over seeds, with a 95% interval.

    Seeds are drawn again within each dataset, which all stay. Where a dataset has one seed only,
    datasets are drawn again instead, if there are three or more.

    Parameters
    ----------
    blocks : sequence of ndarray of shape (..., n_seeds)
        One for each dataset.
    statistic : callable
        Takes means over seeds, an array of shape (n_datasets, ...), and returns a number.
    unit : str
        Of the number.
    limits : (float, float)
        Least and largest value that the number can have.
    """
    means = np.array([block.mean(axis=-1) for block in blocks])
    value = float(statistic(means))
    sizes = [block.shape[-1] for block in blocks]
    rng = named_rng(0, "pubench", unit, len(blocks))
    if min(sizes) > 1:
        freedom = sum(size - 1 for size in sizes)
        drawn = np.array([_redrawn(block, rng) for block in blocks])
        values = [float(statistic(drawn[:, draw])) for draw in range(N_DRAWS)]
        stretch = 1.0
    elif len(blocks) > 2:
        n = len(blocks)
        freedom, stretch = n - 1, float(np.sqrt(n / (n - 1)))
        values = [float(statistic(means[rng.integers(n, size=n)])) for _ in range(N_DRAWS)]
    else:
        raise Missing("one seed on fewer than three datasets gives no interval")
    spread = stretch * float(np.sqrt(np.nanmean((np.array(values) - value) ** 2)))
    reach = float(student.ppf((1 + CONFIDENCE) / 2, freedom)) * spread
    low, high = limits
    return Effect(value, max(value - reach, low), min(value + reach, high), unit)


def _redrawn(block: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return means of redrawn seeds, an array of shape (N_DRAWS, ...)."""
    n = block.shape[-1]
    shares = rng.multinomial(n, np.full(n, 1 / n), size=N_DRAWS) / n
    center = block.mean(axis=-1)
    means: FloatArray = np.moveaxis(np.tensordot(block, shares, axes=([-1], [1])), -1, 0)
    return np.asarray(center + np.sqrt(n / (n - 1)) * (means - center))


def over_units(values: Sequence[float] | FloatArray, unit: str) -> Effect:
    """Return the mean of independent numbers, such as one for each dataset, with its t-interval."""
    found = np.asarray(values, float)
    if len(found) < 3:
        raise Missing("fewer than three numbers give no interval")
    error = found.std(ddof=1) / np.sqrt(len(found))
    reach = float(student.ppf((1 + CONFIDENCE) / 2, len(found) - 1) * error)
    value = float(found.mean())
    return Effect(value, value - reach, value + reach, unit)


def difference(first: Sequence[FloatArray], second: Sequence[FloatArray], unit: str) -> Effect:
    """Return how far the mean of second lies above that of first, averaged over pairs of groups.

    Each pair, such as the runs with few and with many labels on one dataset, has a variance of
    its own; Welch's degrees of freedom.
    """
    parts = [(np.ravel(one), sign) for one, sign in _signed(first, second)]
    if any(len(part) < 2 for part, _ in parts):
        raise Missing("one run in a group gives no interval")
    n = len(first)
    value = sum(sign * part.mean() for part, sign in parts) / n
    variances = np.array([part.var(ddof=1) / len(part) for part, _ in parts]) / n**2
    total = float(variances.sum())
    if total == 0:
        return Effect(float(value), float(value), float(value), unit)
    freedom = total**2 / sum(
        variance**2 / (len(part) - 1) for variance, (part, _) in zip(variances, parts, strict=True)
    )
    reach = float(student.ppf((1 + CONFIDENCE) / 2, freedom) * np.sqrt(total))
    return Effect(float(value), float(value) - reach, float(value) + reach, unit)


def _signed(
    first: Sequence[FloatArray], second: Sequence[FloatArray]
) -> list[tuple[FloatArray, int]]:
    return [*((part, -1) for part in first), *((part, 1) for part in second)]


def exponential(effect: Effect, unit: str) -> Effect:
    """Return a mean of logarithms as a ratio."""
    value, lower, upper = np.exp([effect.value, effect.lower, effect.upper]).tolist()
    return Effect(value, lower, upper, unit)


def above(effect: Effect, limit: float) -> Verdict:
    """Say whether a number lies above a limit, as far as its interval tells."""
    if effect.lower > limit:
        return "holds"
    return "does not hold" if effect.upper < limit else "cannot be told"


def below(effect: Effect, limit: float) -> Verdict:
    """Say whether a number lies below a limit, as far as its interval tells."""
    if effect.upper < limit:
        return "holds"
    return "does not hold" if effect.lower > limit else "cannot be told"


def all_of(*verdicts: Verdict) -> Verdict:
    """Join parts of a claim: one that fails is enough to make it fail, and all must hold."""
    if "does not hold" in verdicts:
        return "does not hold"
    return "cannot be told" if "cannot be told" in verdicts else "holds"
