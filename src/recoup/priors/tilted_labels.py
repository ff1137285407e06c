"""Labels that favor positives by how positive they look: a model of the tilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

MAX_COLUMNS = 10
# Of more rows than this, every so many are used.
MAX_ROWS = 4_000
# Keeps coefficients finite where rows are separated.
RIDGE = 0.05
FIRST_TILT = 0.3


@dataclass(frozen=True)
class Tilt:
    """What the model of tilted labels found.

    Parameters
    ----------
    strength : float
        The exponent: 0 if labels are random, above 0 if they favor positives that look positive.
    alpha : float
        Share of positives among the unlabeled rows, by the model.
    gain : float
        Twice the log likelihood that the tilt adds.
    """

    strength: float
    alpha: float
    gain: float


class _Fitted(NamedTuple):
    values: FloatArray
    log_likelihood: float


def find_tilt(scaled: FloatArray, s: NDArray[np.int_]) -> Tilt:
    r"""Fit an exponential tilt between labeled and hidden positives.

    With :math:`\eta = a + b^\top x` and :math:`\sigma(\eta)` the share of positives among
    unlabeled rows at x, labels that favor positives by their odds make

    .. math:: \log \frac{P(s=1 \mid x)}{P(s=0 \mid x)}
        = \delta + \theta \eta + \log \sigma(\eta).

    The form of the posterior alone tells :math:`\theta` from it, so the answer is evidence only
    where that form is right.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    """
    step = -(-len(s) // MAX_ROWS)
    X, s = _telling(scaled, s)[::step], s[::step]
    plain = _fit(X, s)
    tilted = _tilted_fit(X, s, plain)
    alpha = float(_sigmoid(_index(X, tilted.values))[s == 0].mean())
    gain = 2 * (tilted.log_likelihood - plain.log_likelihood)
    return Tilt(float(tilted.values[1]), alpha, gain)


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
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 80})
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


def _sigmoid(values: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(values))
