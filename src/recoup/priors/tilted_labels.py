"""Labels that favor positives by how positive they look: a model of the tilt, and its test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

MAX_COLUMNS = 10
# Keeps coefficients finite where rows are separated.
RIDGE = 0.05
N_RESAMPLES = 99
FIRST_TILT = 0.3
# At this level a tilt is reported.
LEVEL = 0.01
# What the trees know beyond the model must not be more than this many standard errors.
MISFIT = 1.645
# A tilt is only simulated where the usual approximation finds one at this level.
SCREEN = 0.05


@dataclass(frozen=True)
class Tilt:
    """What the model of tilted labels found.

    Parameters
    ----------
    strength : float
        The exponent: 0 if labels are random, above 0 if they favor positives that look positive.
    alpha : float
        Share of positives among the unlabeled rows, by the model.
    p_value : float
        Of no tilt, if the model is right.
    fits : bool
        Whether the model explains the labels as well as trees do. If it does not, its p-value
        says nothing about tilts.
    """

    strength: float
    alpha: float
    p_value: float
    fits: bool


class _Fitted(NamedTuple):
    values: FloatArray
    log_likelihood: float


def find_tilt(
    scaled: FloatArray,
    s: NDArray[np.int_],
    learned: FloatArray,
    rng: np.random.Generator,
) -> Tilt:
    r"""Fit an exponential tilt between labeled and hidden positives, and test it.

    With :math:`\eta = a + b^\top x` and :math:`\sigma(\eta)` the share of positives among
    unlabeled rows at x, labels that favor positives by their odds make

    .. math:: \log \frac{P(s=1 \mid x)}{P(s=0 \mid x)}
        = \delta + \theta \eta + \log \sigma(\eta).

    The form of the posterior alone tells :math:`\theta` from it, so the test counts only where
    that form explains the labels as well as a forest does.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    learned : ndarray of shape (n,)
        Honest scores of a flexible classifier, against which the form is held.
    rng : Generator
        Source of simulations.
    """
    X = _telling(scaled, s)
    plain = _fit(X, s)
    tilted = _tilted_fit(X, s, plain)
    gain = 2 * (tilted.log_likelihood - plain.log_likelihood)
    a = _index(X, tilted.values)
    alpha = float(_sigmoid(a[s == 0]).mean())
    strength = float(tilted.values[1])
    fits = _explains(X, s, tilted.values, learned)
    p_value = _chi_square_tail(gain)
    if fits and p_value < SCREEN:
        p_value = _simulated_p(X, s, plain, gain, rng)
    return Tilt(strength, alpha, p_value, fits)


def _telling(scaled: FloatArray, s: NDArray[np.int_]) -> FloatArray:
    """Keep the columns whose means differ most between labeled and unlabeled rows."""
    gap = np.abs(scaled[s == 1].mean(axis=0) - scaled[s == 0].mean(axis=0))
    chosen = np.argsort(-gap, kind="stable")[:MAX_COLUMNS]
    return np.asarray(scaled[:, chosen])


def _fit(X: FloatArray, s: NDArray[np.int_], start: FloatArray | None = None) -> _Fitted:
    """Maximize the likelihood over delta, theta, a and b; theta is 0 unless there is a start."""
    from scipy.optimize import minimize

    tilted = start is not None

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        if not tilted:
            values = np.insert(values, 1, 0.0)
        eta = _index(X, values)
        logit = values[0] + values[1] * eta - np.logaddexp(0.0, -eta)
        error = s - _sigmoid(logit)
        along = error * (values[1] + _sigmoid(-eta))
        ridge = RIDGE * np.sum(values[3:] ** 2) / 2
        gradient = -np.concatenate([[error.sum(), error @ eta, along.sum()], X.T @ along])
        gradient[3:] += RIDGE * values[3:]
        total = float(np.logaddexp(0.0, logit).sum() - s @ logit + ridge)
        return total / len(s), (gradient if tilted else np.delete(gradient, 1)) / len(s)

    if start is None:
        start = _start(X, s)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    values = found.x if tilted else np.insert(found.x, 1, 0.0)
    return _Fitted(np.asarray(values), -float(found.fun) * len(s))


def _tilted_fit(X: FloatArray, s: NDArray[np.int_], plain: _Fitted) -> _Fitted:
    """Fit with a tilt from two starts: likelihoods of such models may have several tops."""
    flat = _start(X, s)
    starts = plain.values, np.insert(flat, 1, FIRST_TILT)
    return max((_fit(X, s, start) for start in starts), key=lambda found: found.log_likelihood)


def _start(X: FloatArray, s: NDArray[np.int_]) -> FloatArray:
    base = np.log(s.sum() / (len(s) - s.sum()))
    slope = X[s == 1].mean(axis=0) - X[s == 0].mean(axis=0)
    return np.concatenate([[base + 1.0, -1.0], slope])


def _index(X: FloatArray, values: FloatArray) -> FloatArray:
    found: FloatArray = np.clip(values[2] + X @ values[3:], -30.0, 30.0)
    return found


def _logit(X: FloatArray, values: FloatArray) -> FloatArray:
    eta = _index(X, values)
    found: FloatArray = values[0] + values[1] * eta - np.logaddexp(0.0, -eta)
    return found


def _sigmoid(values: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(values))


def _explains(X: FloatArray, s: NDArray[np.int_], fitted: FloatArray, learned: FloatArray) -> bool:
    """Say whether a forest adds nothing to what the tilted model says."""
    from scipy.stats import rankdata

    logit = _logit(X, fitted)
    # One step of the score test for a second column in a logistic regression.
    columns = np.column_stack([np.ones(len(s)), logit])
    values = _newton(columns, s)
    chance = _sigmoid(columns @ values)
    extra = rankdata(learned) / len(s) - 0.5
    weight = chance * (1 - chance)
    inside = np.linalg.lstsq(columns.T @ (columns * weight[:, None]), columns.T @ (extra * weight))
    rest = extra - columns @ inside[0]
    spread = np.sqrt(max(float(weight @ rest**2), 1e-12))
    return bool(float(rest @ (s - chance)) / spread < MISFIT)


def _newton(columns: FloatArray, s: NDArray[np.int_]) -> FloatArray:
    values = np.array([0.0, 1.0])
    for _ in range(25):
        chance = _sigmoid(columns @ values)
        weight = np.maximum(chance * (1 - chance), 1e-9)
        step = np.linalg.lstsq(columns.T @ (columns * weight[:, None]), columns.T @ (s - chance))[0]
        values = values + np.clip(step, -1.0, 1.0)
    return values


def _chi_square_tail(gain: float) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(max(gain, 0.0), 1))


def _simulated_p(
    X: FloatArray, s: NDArray[np.int_], plain: _Fitted, gain: float, rng: np.random.Generator
) -> float:
    """Share of simulations without a tilt in which one seems to explain as much."""
    chance = _sigmoid(_logit(X, plain.values))
    as_large = 1
    for _ in range(N_RESAMPLES):
        drawn = (rng.random(len(s)) < chance).astype(int)
        if drawn.sum() < X.shape[1] + 3:
            continue
        again = _fit(X, drawn)
        more = _tilted_fit(X, drawn, again).log_likelihood - again.log_likelihood
        as_large += 2 * more >= gain
    return as_large / (N_RESAMPLES + 1)
