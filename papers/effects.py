"""Numbers that decide about claims, each with its 95% interval, from what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from papers.experiment import Effect
from recoup._core.checks import FloatArray
from recoup._core.random import named_rng
from recoup.metrics.intervals import normal_quantile, wilson

CONFIDENCE = 0.95
N_DRAWS = 2000


def exact(value: float, unit: str) -> Effect:
    """Return a number without noise: a count over all cases, a difference of two formulas.

    Examples
    --------
    >>> exact(0, "exceptions").text
    '0 exceptions'
    """
    return Effect(float(value), float(value), float(value), unit)


def share_of(held: float, n: int, unit: str = "%") -> Effect:
    """Return a share of repetitions in percent, with Wilson's interval.

    Examples
    --------
    >>> share_of(176, 200).text
    '88.0% (82.8% to 91.8%)'
    """
    low, high = wilson(held / n, n, normal_quantile(CONFIDENCE))
    return Effect(100 * held / n, 100 * float(low), 100 * float(high), unit)


def statistic_of(
    samples: Sequence[ArrayLike], statistic: Callable[..., float], unit: str
) -> Effect:
    """Return a number computed from groups of repetitions, with a percentile bootstrap.

    Every group, such as a dataset, is a two-dimensional array with a row per repetition, or a
    one-dimensional one. Repetitions are drawn again within each group; groups stay, so that the
    interval is about these datasets and not about others.

    Parameters
    ----------
    samples : sequence of array
        The groups.
    statistic : callable
        Takes the list of groups, drawn anew, and returns a number.
    unit : str
        Of the number.

    Returns
    -------
    Effect

    Examples
    --------
    >>> groups = [[0.1, 0.2, 0.3, 0.2], [0.5, 0.4, 0.6, 0.5]]
    >>> statistic_of(groups, lambda drawn: max(group.mean() for group in drawn), "of AUC").text
    '0.50 (0.43 to 0.57) of AUC'
    """
    groups = [np.asarray(sample, float) for sample in samples]
    rng = named_rng(0, "effects", unit, len(groups))
    drawn = [
        statistic([group[rng.integers(len(group), size=len(group))] for group in groups])
        for _ in range(N_DRAWS)
    ]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Effect(float(statistic(groups)), float(low), float(high), unit)


def means_of(
    samples: Sequence[ArrayLike], combine: Callable[[FloatArray], FloatArray], unit: str
) -> Effect:
    """Return a number computed from the means of groups of repetitions, with a bootstrap.

    Like :func:`statistic_of`, but all draws at once.

    Parameters
    ----------
    samples : sequence of array
        The groups, each of shape (repetitions,) or (repetitions, quantities).
    combine : callable
        Takes means of shape (draws, groups, quantities) and returns one number per draw.
    unit : str
        Of the number.

    Returns
    -------
    Effect

    Examples
    --------
    >>> pairs = [[[2.0, 1.0], [4.0, 2.0], [6.0, 3.0]], [[8.0, 4.0], [8.0, 4.0], [8.0, 4.0]]]
    >>> means_of(pairs, lambda m: m[..., 0].mean(axis=1) / m[..., 1].mean(axis=1), "times").text
    '2 times'
    """
    groups = [np.asarray(sample, float).reshape(len(sample), -1) for sample in samples]
    rng = named_rng(0, "effects", unit, len(groups))
    drawn = []
    for group in groups:
        n = len(group)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=N_DRAWS) / n
        drawn.append(weights @ group)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(combine(np.stack(drawn, axis=1)), [tail, 1 - tail])
    (value,) = combine(np.stack([group.mean(axis=0) for group in groups])[None])
    if np.isclose(low, high, rtol=1e-12):
        low = high = value
    return Effect(float(value), float(low), float(high), unit)


def mean_of(values: ArrayLike, unit: str) -> Effect:
    """Return the mean over repetitions, with a bootstrap interval.

    Examples
    --------
    >>> mean_of([1.0, 1.0, 1.0], "points").text
    '1 points'
    """
    return means_of([np.asarray(values, float)], lambda means: means[:, 0, 0], unit)


def median_of(values: ArrayLike, unit: str) -> Effect:
    """Return the median over repetitions, with a bootstrap interval."""
    return statistic_of([values], lambda drawn: float(np.median(drawn[0])), unit)
