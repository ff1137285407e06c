"""A line through logits of chances, by answers of people who checked rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recoup._core.checks import FloatArray

# Pseudo-answers behind the prior that the chances were right.
PRIOR_WEIGHT = 4.0


class AnsweredLine(NamedTuple):
    """Logits are moved to intercept + slope times themselves.

    Attributes
    ----------
    intercept, slope : float
        The line; 0 and 1 leave chances as they are.
    covariance : ndarray of shape (2, 2)
        Of intercept and slope.
    evidence : float
        Logarithm of the marginal likelihood of the answers.
    """

    intercept: float
    slope: float
    covariance: FloatArray
    evidence: float

    def at(self, logits: FloatArray) -> FloatArray:
        """Return the moved logits."""
        return np.asarray(self.intercept + self.slope * logits)

    def error(self, logits: FloatArray) -> FloatArray:
        """Return the standard errors of the moved logits."""
        design = np.column_stack([np.ones_like(logits), logits])
        variance: FloatArray = np.sum(design @ self.covariance * design, axis=1)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def answered_line(
    logits: FloatArray, truth: FloatArray, weights: FloatArray, prior_weight: float = PRIOR_WEIGHT
) -> AnsweredLine:
    """Fit a logistic regression of answers on logits, with a weak prior at no change.

    Parameters
    ----------
    logits : ndarray of shape (n_checked,)
        Of the chances of the checked rows, before.
    truth : ndarray of shape (n_checked,)
        Their answers, 1 or 0.
    weights : ndarray of shape (n_checked,)
        How many rows each stands for.
    prior_weight : float, default=4.0
        How many answers the prior is worth.

    Returns
    -------
    AnsweredLine
        Its covariance is the larger one of that of the likelihood and that of the draw of rows.
    """
    from scipy.special import expit, log_expit

    # Weights of mean one; a few pseudo-answers, weakly, hold the line at intercept 0, slope 1.
    w = weights / weights.mean()
    line = np.array([0.0, 1.0])
    design = np.column_stack([np.ones_like(logits), logits])
    prior = prior_weight * np.array([0.25, 1.0])
    for _ in range(50):
        fitted = expit(design @ line)
        slope = design.T @ (w * (truth - fitted)) - prior * (line - [0.0, 1.0])
        curvature = (design * (w * fitted * (1 - fitted))[:, None]).T @ design + np.diag(prior)
        step = np.linalg.solve(curvature, slope)
        line = line + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-9:
            break
    fitted = expit(design @ line)
    inverse = np.linalg.inv(curvature)
    # Rows that stand for many make the line depend on few of them.
    drawn = (design * (w**2 * fitted * (1 - fitted))[:, None]).T @ design + np.diag(prior)
    sandwich = inverse @ drawn @ inverse
    covariance = max(inverse, sandwich, key=np.trace)
    moved = design @ line
    explained = np.sum(w * (truth * log_expit(moved) + (1 - truth) * log_expit(-moved)))
    explained -= prior @ (line - [0.0, 1.0]) ** 2 / 2
    explained += (np.log(prior).sum() - np.linalg.slogdet(curvature)[1]) / 2
    return AnsweredLine(float(line[0]), float(max(line[1], 0.0)), covariance, float(explained))
