"""From combined scores to a cut and to the chance that a row is positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.learners._training.population import Population

# Chances rise at least this much from the lowest to the highest score: ranks stay as they are.
LEAST_RISE = 1e-4
# Shares of exactly 0 and 1 have no logarithm of their odds.
EDGE = 1e-9


class ChanceCurve(NamedTuple):
    """From scores to chances of being positive; straight between its points.

    Attributes
    ----------
    scores, chances : ndarray of shape (n_points,)
        The first rise, the second never fall.
    """

    scores: FloatArray
    chances: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return a chance for each score between 0 and 1; a higher score has a higher one."""
        chances = np.interp(scores, self.scores, self.chances)
        return np.asarray((1 - LEAST_RISE) * chances + LEAST_RISE * scores)


def cut_at_share(scores: FloatArray, share: float) -> float:
    """Return the score that this share of rows lies above.

    Examples
    --------
    >>> cut_at_share(np.array([0.1, 0.2, 0.3, 0.4]), 0.5)
    0.25
    """
    falling = np.sort(scores)[::-1]
    n_above = round(share * len(falling))
    if n_above <= 0:
        return float(falling[0])
    if n_above >= len(falling):
        return float(np.nextafter(falling[-1], -np.inf))
    return float((falling[n_above - 1] + falling[n_above]) / 2)


def chance_curve(
    s: NDArray[np.int_], scores: FloatArray, alpha: float, scheme: Scheme
) -> ChanceCurve:
    """Return chances that rise with the score, and whose mean is the share of positives.

    The share of labels among rows of about the same score, made to rise (isotonic regression),
    says how likely such rows are positive, if labels are a random sample of the positives. Cutting
    these chances off at 1 lowers their mean; they are multiplied until it is right again.
    """
    order = np.argsort(scores, kind="stable")
    levels, middles = _rising_shares(s[order], scores[order])
    n_labeled = int(s.sum())
    population = Population(alpha, n_labeled, len(s) - n_labeled, scheme)
    inside = np.clip(levels, EDGE, 1 - EDGE)
    chances = population.posterior(np.log(inside) - np.log1p(-inside))
    in_population = scores if scheme == "single-sample" else scores[s == 0]
    at_rows = np.interp(in_population, middles, chances)
    return ChanceCurve(middles, np.minimum(chances * _factor(at_rows, population.pi), 1.0))


def best_f1_cut(scores: FloatArray, chances: FloatArray) -> float:
    """Return the score above which rows must be called positive for the highest expected F1."""
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(chances[order])
    f1 = 2 * found / (np.arange(1, len(scores) + 1) + found[-1])
    return cut_at_share(scores, (int(np.argmax(f1)) + 1) / len(scores))


def _rising_shares(s: NDArray[np.int_], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of labels and the mean score of each block of rows."""
    from sklearn.isotonic import isotonic_regression

    values, starts = np.unique(scores, return_index=True)
    sizes = np.diff(np.append(starts, len(scores))).astype(float)
    shares = np.add.reduceat(s.astype(float), starts) / sizes
    fitted = isotonic_regression(shares, sample_weight=sizes)
    firsts = np.flatnonzero(np.append(True, np.diff(fitted) > 0))
    middles = np.add.reduceat(values * sizes, firsts) / np.add.reduceat(sizes, firsts)
    return fitted[firsts], middles


def _factor(chances: FloatArray, mean: float) -> float:
    """Return what to multiply chances by so that, cut off at 1, their mean is as given."""
    if not chances.any():
        return 1.0
    low, high = 0.0, 1.0
    while np.minimum(chances * high, 1.0).mean() < mean and high < 1e9:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if np.minimum(chances * middle, 1.0).mean() < mean:
            low = middle
        else:
            high = middle
    return high if high < 1e9 else 1.0
