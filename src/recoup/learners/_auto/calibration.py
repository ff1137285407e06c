"""From combined scores to the chance that a row is positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit

from recoup._core.checks import FloatArray, Scheme
from recoup.learners._auto.combining import rank_curve
from recoup.learners._training.population import Population
from recoup.learners.calibration import pu_knots
from recoup.learners.cut import HonestScores
from recoup.priors.conversions import label_frequency

# Chances rise at least this much from the lowest to the highest score: ranks stay as they are.
LEAST_RISE = 1e-4
# With as many labels both curves count alike; with more of them the isotonic one counts more.
EVEN_LABELS = 300
# Where the curve has points, besides those of the isotonic one.
N_POINTS = 200
# Ranks nearer to 0 and 1 than this count as this near.
LEAST_RANK = 1e-4
# A slope is as likely a priori as its logarithm is near the typical one, in units of the spread.
STEEPEST, FLATTEST, TYPICAL, SPREAD = 12.0, 0.1, 2.0, 0.7


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

    They are between two curves, nearer to the isotonic one the more labels there are: with few of
    them its steps follow single labels, and a logistic curve has the right mean and one number to
    fit. Cutting chances off at 1 lowers their mean; they are multiplied until it is right again.
    """
    scores, chances = pu_knots(honest, alpha, scheme)
    n_labeled = int((honest.s == 1).sum())
    pi = Population(alpha, n_labeled, len(honest.s) - n_labeled, scheme).pi
    at_rows = np.interp(honest.population(scheme), scores, chances)
    steps = np.minimum(chances * _factor(at_rows, pi), 1.0)
    points = np.unique([*scores, *np.quantile(honest.scores, np.linspace(0, 1, N_POINTS))])
    trust = n_labeled / (n_labeled + EVEN_LABELS)
    mixed = trust * np.interp(points, scores, steps)
    mixed += (1 - trust) * _logistic_chances(honest, alpha, scheme, pi, points)
    return ChanceCurve(points, mixed)


def _logistic_chances(
    honest: HonestScores, alpha: float, scheme: Scheme, pi: float, points: FloatArray
) -> FloatArray:
    """Return chances that are logistic in the logit of the rank, with the right mean.

    The mean leaves the slope alone to be fitted, by the likelihood of the labels.
    """
    ranks, labeled = rank_curve(honest.scores), honest.s == 1
    # A share of 0 or 1 has no logit.
    pi = float(np.clip(pi, LEAST_RANK, 1 - LEAST_RANK))

    def positions(scores: FloatArray) -> FloatArray:
        return np.asarray(logit(np.clip(ranks(scores), LEAST_RANK, 1 - LEAST_RANK)))

    at_rows, at_population = positions(honest.scores), positions(honest.population(scheme))
    n_labeled, n_unlabeled = int(labeled.sum()), int((~labeled).sum())

    def intercept(slope: float) -> float:
        reach = 2 * abs(float(logit(LEAST_RANK))) * (slope + 1)
        return float(
            brentq(lambda value: expit(slope * at_population + value).mean() - pi, -reach, reach)
        )

    def loss(log_slope: float) -> float:
        slope = float(np.exp(log_slope))
        found = np.clip(expit(slope * at_rows + intercept(slope)), 1e-12, 1 - 1e-12)
        if scheme == "case-control":
            odds = found * n_labeled / (n_unlabeled * pi)
            share = odds / (1 + odds)
        else:
            share = found * min(label_frequency(alpha, n_labeled, n_unlabeled), 1 - 1e-9)
        fit = np.log(share[labeled]).sum() + np.log1p(-share[~labeled]).sum()
        return float(((log_slope - np.log(TYPICAL)) / SPREAD) ** 2 / 2 - fit)

    limits = float(np.log(FLATTEST)), float(np.log(STEEPEST))
    best = minimize_scalar(loss, bounds=limits, method="bounded")
    slope = float(np.exp(best.x))
    return np.asarray(expit(slope * positions(points) + intercept(slope)))


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
