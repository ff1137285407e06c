"""From scores of a learner to the chance of a label, and to that of being positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from recoup._core.checks import FloatArray, Scheme
from recoup.calibration.bands import chance_knots
from recoup.learners.cut import HonestScores
from recoup.scores.table import ScoreTable

# How far logits go on to rise beyond the first and the last knot, so that no ranks are lost there.
BEYOND = 0.1


def label_knots(
    scores: FloatArray, target: NDArray[np.int_], weights: FloatArray | None = None
) -> FloatArray:
    """Return logits of P(s=1 | score), rising with the score, at some scores.

    Each block of the isotonic regression is one knot, at the mean score of its rows. A row more
    with the mean label in each block keeps the logits finite.

    Returns
    -------
    ndarray of shape (2, n_knots)
        Scores, and the logits there.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    used = weights > 0
    at, place = np.unique(scores[used], return_inverse=True)
    totals = np.bincount(place, weights[used], len(at))
    positives = np.bincount(place, weights[used] * target[used], len(at))
    first = isotonic_regression(positives / totals, weights=totals)
    starts = first.blocks[:-1]
    mass = np.add.reduceat(totals, starts)
    centers = np.add.reduceat(totals * at, starts) / mass
    row, mean = float(weights[used].mean()), float(positives.sum() / totals.sum())
    smoothed = (np.add.reduceat(positives, starts) + row * mean) / (mass + row)
    # Small blocks are drawn to the mean more than large ones, and could change places.
    shares = isotonic_regression(smoothed, weights=mass).x
    shares = np.clip(shares, 1e-9, 1 - 1e-9)
    return np.vstack([centers, np.log(shares) - np.log1p(-shares)])


def label_logits(knots: FloatArray, scores: FloatArray) -> FloatArray:
    """Return logits of P(s=1 | score) between and beyond the knots; ranks stay as they are."""
    at, values = knots
    inside = np.interp(scores, at, values)
    above = np.maximum(scores - at[-1], 0.0)
    below = np.maximum(at[0] - scores, 0.0)
    found: FloatArray = inside + BEYOND * (np.exp(-below) - np.exp(-above))
    return found


def pu_knots(honest: HonestScores, alpha: float, scheme: Scheme) -> FloatArray:
    """Return P(y=1 | score) at some scores, from labels alone and alpha.

    The curve is that of :func:`recoup.calibrate`, without limits.

    Parameters
    ----------
    honest : HonestScores
        Of labeled and unlabeled rows.
    alpha : float
        Share of positives among the unlabeled rows.
    scheme : {"single-sample", "case-control"}
        How the rows were collected.

    Returns
    -------
    ndarray of shape (2, n_knots)
        Scores, and the probabilities there; :func:`probability` reads between them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(20_000) < 0.5
    >>> scores = rng.normal(size=20_000) + 2 * y
    >>> s = (y & (rng.random(20_000) < 0.4)).astype(int)
    >>> alpha = float(y[s == 0].mean())
    >>> knots = pu_knots(HonestScores(s, scores, "held-out"), alpha, "single-sample")
    >>> probability(knots, np.array([0.0, 1.0, 2.0])).round(1)
    array([0.1, 0.5, 0.9])
    """
    table = ScoreTable.from_arrays(honest.s, honest.scores)
    return np.vstack(chance_knots(table, alpha, scheme))


def probability(knots: FloatArray, scores: FloatArray) -> FloatArray:
    """Return P(y=1 | score) between the knots; beyond them it stays what it is at the ends."""
    found: FloatArray = np.interp(scores, knots[0], knots[1])
    return found
