"""Nearest point of a convex hull, by an interior-point method that forms no n x n matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from recoup._core.checks import FloatArray

MAX_STEPS = 60
# Share of the way to the boundary that a step may go.
DAMPING = 0.99
# Gaps below this drown in rounding, since kernel values are of order one.
LEAST_GAP = 1e-13
# Steps without a better certificate after which rounding has won.
PATIENCE = 4


@dataclass(frozen=True)
class Nearest:
    """Weights of the nearest mixture of the points, its distance, and a certificate.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Nonnegative, summing to one.
    distance : float
        From the goal to the mixture; never below the true minimum, up to rounding.
    gap : float
        The squared minimum is at least ``distance**2 - gap``.
    """

    weights: FloatArray
    distance: float
    gap: float


def nearest_in_hull(
    factor: FloatArray, diagonal: FloatArray, goal: FloatArray, tolerance: float = 1e-6
) -> Nearest:
    r"""Minimise :math:`(u - v)' (G G' + \mathrm{diag}(r)) (u - v)` over weights v of a mixture.

    A primal-dual method with Mehrotra's predictor and corrector. Every step solves with
    :math:`\mathrm{diag}(z / v + r) + G G'`, by Woodbury's formula a system as large as the rank
    of G, so that it costs of the order of n times the squared rank.

    Parameters
    ----------
    factor : ndarray of shape (n, rank)
        G, whose rows are the points.
    diagonal : ndarray of shape (n,)
        r >= 0, what G G' lacks on its diagonal.
    goal : ndarray of shape (n,)
        u, weights of either sign.
    tolerance : float
        Stop when the gap is this small relative to the squared distance.

    Returns
    -------
    Nearest
    """
    n, rank = factor.shape
    goal_image = factor.T @ goal
    v = np.full(n, 1 / n)
    gradient = factor @ (factor.T @ v - goal_image) + diagonal * (v - goal)
    # Feasible on both sides from the start, and steps of equal length on both keep it so.
    lowest = float(gradient.min())
    y = lowest - max(float(gradient.mean()) - lowest, 1e-8)
    z = gradient - y
    best = Nearest(v, math.inf, math.inf)
    stalled = 0
    scaled = np.empty_like(factor)
    for _ in range(MAX_STEPS):
        v = v / v.sum()
        image, off = factor.T @ v - goal_image, v - goal
        gradient = factor @ image + diagonal * off
        squared = float(image @ image + diagonal @ off**2)
        # Frank and Wolfe's bound holds for any mixture, however inexact the steps were.
        gap = max(2 * float(v @ gradient - gradient.min()), 0.0)
        stalled = 0 if gap < 0.9 * best.gap else stalled + 1
        if gap < best.gap:
            best = Nearest(v, math.sqrt(max(squared, 0.0)), gap)
        if gap <= max(tolerance * squared, LEAST_GAP) or stalled == PATIENCE:
            break
        inverse = 1 / (z / v + diagonal)
        np.multiply(np.sqrt(inverse)[:, None], factor, out=scaled)
        system = scaled.T @ scaled
        system.flat[:: rank + 1] += 1
        try:
            triangle = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            break
        # The first right-hand side is the predictor's, the second keeps the sum of v at one.
        sides = np.column_stack([y - gradient, np.ones(n)])
        moves = _solved(factor, inverse, triangle, sides)
        total = float(moves[:, 1].sum())
        dv = moves[:, 0] - moves[:, 0].sum() / total * moves[:, 1]
        dz = -z - z * dv / v
        length = min(_longest(v, dv), _longest(z, dz), 1.0)
        # Mehrotra's centering: the cube of the reduction that the predictor alone would reach.
        mu = float(v @ z) / n
        ahead = float((v + length * dv) @ (z + length * dz)) / n
        products = v * z + dv * dz - mu * (ahead / mu) ** 3
        side = (y + z - gradient - products / v)[:, None]
        move = _solved(factor, inverse, triangle, side)[:, 0]
        dy = -float(move.sum()) / total
        dv = move + dy * moves[:, 1]
        dz = -(products + z * dv) / v
        length = min(DAMPING * min(_longest(v, dv), _longest(z, dz)), 1.0)
        v, y, z = v + length * dv, y + length * dy, z + length * dz
    return best


def _solved(
    factor: FloatArray, inverse: FloatArray, triangle: tuple[FloatArray, bool], sides: FloatArray
) -> FloatArray:
    """Solve with diag(1 / inverse) + G G' (Woodbury)."""
    weighted = inverse[:, None] * sides
    inner = cho_solve(triangle, factor.T @ weighted, check_finite=False)
    solution: FloatArray = weighted - inverse[:, None] * (factor @ inner)
    return solution


def _longest(values: FloatArray, change: FloatArray) -> float:
    """Longest step that keeps all values nonnegative."""
    falling = change < 0
    return float(np.min(-values[falling] / change[falling], initial=math.inf))
