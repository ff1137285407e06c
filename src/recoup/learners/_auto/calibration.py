"""From combined scores to the chance that a row is positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recoup._core.checks import FloatArray, Scheme
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
    """Return chances that rise with the score, and whose mean is the share of positives."""
    scores, chances = pu_knots(honest, alpha, scheme)
    return ChanceCurve(scores, chances)
