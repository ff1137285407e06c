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
    share = held / n
    return Effect(100 * share, 100 * min(float(low), share), 100 * max(float(high), share), unit)


def statistic_of(
    samples: Sequence[ArrayLike], statistic: Callable[[list[FloatArray]], FloatArray], unit: str
) -> Effect:
    """Return a number computed from groups of repetitions, with a percentile bootstrap.

    A group, such as a dataset, has one row per repetition. Repetitions are drawn again within each
    group; groups stay, so that the interval is about these datasets and not about others.

    Parameters
    ----------
    samples : sequence of array
        The groups, each of shape (repetitions,) or (repetitions, quantities).
    statistic : callable
        Takes the groups, each with an axis of draws before that of repetitions, and returns one
        number per draw.
    unit : str
        Of the number.

    Returns
    -------
    Effect

    Examples
    --------
    >>> groups = [[0.1, 0.2, 0.3, 0.2], [0.5, 0.4, 0.6, 0.5]]
    >>> statistic_of(groups, lambda drawn: np.median(drawn[1], axis=1), "of AUC").text
    '0.50 (0.40 to 0.60) of AUC'
    """
    groups = [np.asarray(sample, float) for sample in samples]
    rng = named_rng(0, "effects", unit, len(groups))
    drawn = [group[rng.integers(len(group), size=(N_DRAWS, len(group)))] for group in groups]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(statistic(drawn), [tail, 1 - tail])
    (value,) = statistic([group[None] for group in groups])
    if np.isclose(low, high, rtol=1e-12):
        low = high = value
    return Effect(float(value), float(low), float(high), unit)


def over_groups(
    groups: Sequence[ArrayLike], statistic: Callable[[FloatArray], float], unit: str
) -> Effect:
    """Return a number computed from groups of rows, with an interval for other groups like them.

    Whole groups, such as datasets, are drawn again, so that a group's repetitions do not count as
    if each were new, and numbers of one repetition stay together.

    Parameters
    ----------
    groups : sequence of array
        Each with one row per repetition, and one column per quantity if there are several.
    statistic : callable
        Takes the rows of all drawn groups, one below the other, and returns a number; NaN where a
        draw leaves it open.
    unit : str
        Of the number.

    Returns
    -------
    Effect

    Examples
    --------
    >>> groups = [[0.1, 0.1, 0.1], [0.1, 0.2, 0.3], [0.5, 0.5, 0.5]]
    >>> over_groups(groups, np.median, "of AUC").text
    '0.20 (0.10 to 0.50) of AUC'
    """
    kept = [np.asarray(group, float) for group in groups]
    rng = named_rng(0, "over groups", unit, len(kept))
    picked = rng.integers(len(kept), size=(N_DRAWS, len(kept)))
    drawn = [statistic(np.concatenate([kept[at] for at in some])) for some in picked]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Effect(float(statistic(np.concatenate(kept))), float(low), float(high), unit)


def mean_of(values: ArrayLike, unit: str) -> Effect:
    """Return the mean over repetitions, with Student's interval; of differences it is paired.

    Examples
    --------
    >>> mean_of([1.0, 2.0, 3.0], "points").text
    '2.0 (-0.5 to 4.5) points'
    >>> mean_of([1.0, 1.0, 1.0], "points").text
    '1 points'
    """
    from scipy.stats import t

    found = np.asarray(values, float)
    value, n = float(found.mean()), len(found)
    noise = float(found.std(ddof=1)) / np.sqrt(n) if n > 1 else 0.0
    room = float(t.ppf((1 + CONFIDENCE) / 2, n - 1)) * noise if noise > 1e-12 else 0.0
    return Effect(value, value - room, value + room, unit)


def median_of(values: ArrayLike, unit: str) -> Effect:
    """Return the median over repetitions, with a bootstrap interval.

    Examples
    --------
    >>> median_of([1.0, 2.0, 3.0, 4.0, 5.0], "points").text
    '3.0 (1.0 to 5.0) points'
    """
    return statistic_of([values], lambda drawn: np.median(drawn[0], axis=1), unit)
