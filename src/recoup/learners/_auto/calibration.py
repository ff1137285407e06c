"""From combined scores to the chance that a row is positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup.learners._training.population import Population
from recoup.learners.calibration import pu_knots
from recoup.learners.cut import HonestScores

# Chances rise at least this much from the lowest to the highest score: ranks stay as they are.
LEAST_RISE = 1e-4


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


def chance_curve(honest: HonestScores, alpha: float, scheme: Scheme) -> ChanceCurve:
    """Return chances that rise with the score, and whose mean is the share of positives.

    Cutting chances off at 1 lowers their mean; they are multiplied until it is right again.
    """
    scores, chances = pu_knots(honest, alpha, scheme)
    n_labeled = int((honest.s == 1).sum())
    pi = Population(alpha, n_labeled, len(honest.s) - n_labeled, scheme).pi
    at_rows = np.interp(honest.population(scheme), scores, chances)
    return ChanceCurve(scores, np.minimum(chances * _factor(at_rows, pi), 1.0))


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
