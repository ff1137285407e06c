"""A smooth rising curve from scores to chances, from counts of labeled and unlabeled rows.

The logit of the chance is a cubic spline of the logit of the rank, so that any rising function of
the scores gives the same chances. How smooth it is, the labels say themselves: curves of many
smoothnesses are fitted, and each counts by how well it explains the labels (its marginal
likelihood, by Laplace's approximation). Where labels are few the curve is close to a straight
line, a logistic function of the logit of the rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recoup._core.checks import FloatArray
from recoup.calibration.label_odds import LabelOdds, inside

# Pieces of the spline; smoothnesses from a straight line to hardly any.
N_PIECES = 24
SMOOTHNESSES = tuple(10.0 ** np.arange(4.0, -6.1, -1.0))
# What mean slopes are like, and how far they differ. All were chosen on datasets that are not
# among those of the study (tools/studies/probabilities.py).
SLOPE, SLOPE_SPREAD = 1.5, 0.8
MOST_STEPS, LONGEST_STEP, ENOUGH = 60, 4.0, 1e-7


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """Rows at each score, ascending.

    Parameters
    ----------
    labeled : ndarray of shape (n_scores,)
        Labeled rows; with weights, as many rows of equal weight as say the same.
    unlabeled : ndarray of shape (n_scores,)
        Unlabeled rows, likewise.
    """

    labeled: FloatArray
    unlabeled: FloatArray

    @cached_property
    def rows(self) -> FloatArray:
        """Rows of both kinds at each score."""
        total: FloatArray = self.labeled + self.unlabeled
        return total

    @cached_property
    def places(self) -> FloatArray:
        """Logit of the rank of each score."""
        from scipy.special import logit

        n = self.rows.sum()
        ranks = (np.cumsum(self.rows) - self.rows / 2) / n
        # A table with weights may hold less than a row at its ends.
        return np.asarray(logit(np.clip(ranks, 0.25 / n, 1 - 0.25 / n)))


@dataclass(frozen=True, eq=False)
class LogitCurve:
    """Logits of a chance at each score, with their errors.

    Parameters
    ----------
    center : ndarray of shape (n_scores,)
        The estimates, rising.
    error : ndarray of shape (n_scores,)
        Their standard errors.
    """

    center: FloatArray
    error: FloatArray


def fitted_curve(counts: LabelCounts, alpha: float, odds: LabelOdds) -> LogitCurve:
    """Return the logit of the chance that an unlabeled row at each score is positive.

    Parameters
    ----------
    counts : LabelCounts
        Rows at each score.
    alpha : float
        Share of positives among the unlabeled rows, which the mean of the chances has but for
        chance.
    odds : LabelOdds
        What alpha and the share of right labels say of the odds of a label.

    Returns
    -------
    LogitCurve
    """
    from scipy.optimize import isotonic_regression
    from scipy.special import logit

    problem = _Spline.over(counts, inside(alpha), odds)
    level = float(counts.unlabeled @ counts.places / counts.unlabeled.sum())
    found = logit(problem.alpha) + SLOPE * (problem.tops - level)
    logits, variances, evidence = [], [], []
    for smoothness in SMOOTHNESSES:
        found, covariance, explained = problem.solve(smoothness, found)
        logits.append(problem.design @ found)
        variances.append(np.sum(problem.design @ covariance * problem.design, axis=1))
        evidence.append(explained)
    weight = np.exp(np.array(evidence) - max(evidence))
    weight /= weight.sum()
    center = weight @ np.array(logits)
    variance = weight @ (np.array(variances) + (np.array(logits) - center) ** 2)
    rising = isotonic_regression(center, weights=counts.rows / variance).x
    return LogitCurve(rising, np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class _Spline:
    """Cubic splines through counts of rows, of any smoothness.

    Parameters
    ----------
    counts : LabelCounts
        Rows at each score.
    alpha : float
        Share of positives among the unlabeled rows, inside (0, 1).
    odds : LabelOdds
        From chances to odds of a label.
    design : ndarray of shape (n_scores, n_functions)
        Each B-spline at each score.
    tops : ndarray of shape (n_functions,)
        Where each B-spline is largest.
    """

    counts: LabelCounts
    alpha: float
    odds: LabelOdds
    design: FloatArray
    tops: FloatArray

    @classmethod
    def over(cls, counts: LabelCounts, alpha: float, odds: LabelOdds) -> _Spline:
        from scipy.interpolate import BSpline

        low, high = float(counts.places[0]), float(counts.places[-1])
        high = max(high, low + 1.0)  # a single score
        knots = low + (high - low) / N_PIECES * np.arange(-3, N_PIECES + 4)
        within = np.clip(counts.places, low, high - 1e-9 * (high - low))
        design = BSpline.design_matrix(within, knots, 3).toarray()
        return cls(counts, alpha, odds, design, np.asarray(knots[2:-2]))

    @cached_property
    def bends(self) -> FloatArray:
        """Second differences, so that their sum of squares is the integral of the curvature."""
        step = float(self.tops[1] - self.tops[0])
        return np.asarray(np.diff(np.eye(len(self.tops)), n=2, axis=0) / step**1.5)

    @cached_property
    def line(self) -> FloatArray:
        """What gives the mean slope of coefficients."""
        centered = self.tops - self.tops.mean()
        return np.asarray(centered / (centered @ centered))

    def solve(self, smoothness: float, found: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return the best coefficients, their covariance and the logarithm of the evidence."""
        penalty = smoothness * self.bends.T @ self.bends
        penalty += np.outer(self.line, self.line) / SLOPE_SPREAD**2 + 1e-9 * np.eye(len(found))
        pull = self.line * SLOPE / SLOPE_SPREAD**2

        def explained(at: FloatArray) -> tuple[float, FloatArray, FloatArray]:
            value, slope, curvature = self._likelihood(at)
            # The prior but for a constant.
            value -= float(at @ penalty @ at) / 2 - float(pull @ at)
            return value, slope - penalty @ at + pull, curvature + penalty

        value, slope, curvature = explained(found)
        for _ in range(MOST_STEPS):
            step = np.linalg.solve(curvature, slope)
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            for _ in range(12):
                there, slope_there, curvature_there = explained(found + step)
                if there >= value:
                    break
                step /= 2
            if there < value:  # no way is up but for rounding
                break
            gain = there - value
            found, value, slope, curvature = found + step, there, slope_there, curvature_there
            if gain < ENOUGH * (1 + abs(value)):
                break
        evidence = (
            value
            + len(self.bends) * np.log(smoothness) / 2
            - float(np.linalg.slogdet(curvature)[1]) / 2
        )
        return found, np.asarray(np.linalg.inv(curvature)), float(evidence)

    def _likelihood(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the log likelihood of the labels, its slope and its expected curvature."""
        from scipy.special import expit

        counts = self.counts
        logits = self.design @ coefficients
        hidden, other = expit(logits), expit(-logits)
        odds = self.odds.at(hidden) + 1e-300
        share = odds / (1 + odds)
        value = float(counts.labeled @ np.log(odds) - counts.rows @ np.log1p(odds))
        # How much the logarithm of the odds rises with the logit.
        rise = (self.odds.if_positive - self.odds.if_negative) * hidden * other / odds
        slope = ((counts.labeled - counts.rows * share) * rise) @ self.design
        weight = counts.rows * share * (1 - share) * rise**2
        curvature = (self.design * weight[:, None]).T @ self.design
        # Chances have the mean alpha, but for what chance does to the share among so many rows.
        n = float(counts.unlabeled.sum())
        error = self.alpha * (1 - self.alpha) / n
        gap = self.alpha - float(hidden @ counts.unlabeled) / n
        moved = (hidden * other * counts.unlabeled / n) @ self.design
        value -= gap**2 / (2 * error)
        return value, slope + moved * gap / error, curvature + np.outer(moved, moved) / error
