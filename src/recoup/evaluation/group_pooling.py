r"""What groups have in common, learned from all of them: the hierarchy behind ``evaluate_by``.

A quantity of group g, on the logit scale, lies around what all rows together say of it, its center
:math:`l_g`, as far as groups differ:

.. math:: \theta_g = l_g + \mu + \tau u_g, \qquad u_g \sim t_4

The group's own rows say :math:`\hat\theta_g \sim N(\theta_g, s_g^2)`, or k of n labeled rows.
Shift :math:`\mu` and spread :math:`\tau` are not plugged in but drawn from their posterior on a
grid: with few groups hardly anything is known of them. The tails of t keep a group that is unlike
all others from being drawn to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

# What is thought of the spread of groups and of the shift of all before rows are seen, on the
# logit scale: odds of groups differ by a factor of 1.6, and of the shift likewise.
SPREAD_SCALE, SHIFT_SCALE = 0.5, 0.5
TAIL_FREEDOM = 4.0
SPREADS = np.geomspace(0.03, 2.5, 16)
# Shifts that are tried, in standard deviations; around the likely ones again, more closely.
WIDTHS: FloatArray = np.linspace(-4.0, 4.0, 17)
ZOOMS = 4
N_TAILS = 5
# A flatter distribution of shares would lie at both ends.
LEAST_WEIGHT = 1.0
# Groups are taken so many at a time, to bound memory, and so many tell what all have in common.
BLOCK, MOST_FITTED = 512, 250

# How likely the rows of some groups are for centers and variances on the logit scale.
Density: TypeAlias = Callable[[FloatArray, FloatArray, NDArray[np.intp]], FloatArray]


@dataclass(frozen=True, eq=False)
class Pooled:
    """A quantity of every group, drawn from what its own rows and all groups say.

    Attributes
    ----------
    draws : ndarray of shape (n_draws, n_groups)
        Plausible values, on the logit scale; groups of one draw belong together.
    center : ndarray of shape (n_groups,)
        The middle of the draws.
    own : ndarray of shape (n_groups,)
        How much of it came from the group's own rows, from 0 to 1.
    spread : float
        How much groups differ: the posterior mean of tau.
    """

    draws: FloatArray
    center: FloatArray
    own: FloatArray
    spread: float


def pooled_normal(
    own: FloatArray,
    error: FloatArray,
    centers: FloatArray,
    noise: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
) -> Pooled:
    """Pool estimates with normal errors.

    Parameters
    ----------
    own : ndarray of shape (n_groups,)
        Estimates from the group's own rows, on the logit scale; NaN where there is none.
    error : ndarray of shape (n_groups,)
        Their standard errors.
    centers : ndarray of shape (n_ways, n_groups)
        What all rows say of each group, on the logit scale, in one way or several. How well a way
        fits the groups decides how much it counts.
    noise : ndarray of shape (n_ways, n_groups)
        Variances of the centers themselves: they are taken over the rows of the group too.
    n_draws : int
        How many draws to return.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    Pooled
    """
    known = np.isfinite(own) & np.isfinite(error)
    value, variance = np.where(known, own, 0.0), np.where(known, error**2, 1.0)

    def density(center: FloatArray, prior: FloatArray, block: NDArray[np.intp]) -> FloatArray:
        total = variance[block] + prior
        found: FloatArray = np.exp(-((value[block] - center) ** 2) / (2 * total)) / np.sqrt(total)
        return np.where(known[block], found, 1.0)

    around = _around_centers(
        density, centers, noise, np.where(known, 1 / variance, 0), n_draws, rng
    )
    weight = np.where(known, around.variance / (around.variance + variance), 0.0)
    deviation = np.sqrt(around.variance * (1 - weight))
    draws = around.mean + weight * (value - around.mean)
    draws = draws + deviation * rng.standard_normal(draws.shape)
    return Pooled(draws, np.median(draws, axis=0), weight.mean(axis=0), around.spread)


def pooled_shares(
    hits: FloatArray,
    sizes: FloatArray,
    centers: FloatArray,
    noise: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
) -> Pooled:
    r"""Pool shares of counted rows, by beta-binomial distributions.

    The share of group g is drawn around its center m with the weight of
    :math:`\kappa_g` rows, which give it the spread of groups and the noise of the center on the
    logit scale:

    .. math:: \kappa_g^{-1} = m (1 - m) (\tau^2 / \lambda_g + v_g)

    with :math:`\lambda_g` for the heavy tails.

    Parameters
    ----------
    hits : ndarray of shape (n_groups,)
        Rows of each group that count.
    sizes : ndarray of shape (n_groups,)
        Of how many.
    centers : ndarray of shape (n_ways, n_groups)
        What all rows say of each group, on the logit scale, in one way or several.
    noise : ndarray of shape (n_ways, n_groups)
        Variances of the centers themselves.
    n_draws : int
        How many draws to return.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    Pooled
    """
    from scipy.special import betaln, expit, logit

    def weight_of(mean: FloatArray, variance: FloatArray) -> FloatArray:
        return np.maximum(1 / (mean * (1 - mean) * variance), LEAST_WEIGHT)

    # The likelihood of the share that was seen: densities are held against it, or they underflow.
    seen = (hits + 0.5) / (sizes + 1)
    scale = hits * np.log(seen) + (sizes - hits) * np.log1p(-seen)

    def density(center: FloatArray, prior: FloatArray, block: NDArray[np.intp]) -> FloatArray:
        mean = expit(center)
        weight = weight_of(mean, prior)
        first, second = weight * mean, weight * (1 - mean)
        hit, miss = hits[block], sizes[block] - hits[block]
        ratio = betaln(first + hit, second + miss) - betaln(first, second)
        found: FloatArray = np.exp(ratio - scale[block])
        return found

    around = _around_centers(density, centers, noise, sizes, n_draws, rng)
    mean = expit(around.mean)
    weight = weight_of(mean, around.variance)
    first, second = weight * mean + hits, weight * (1 - mean) + sizes - hits
    drawn = np.clip(rng.beta(first, second), 1e-9, 1 - 1e-9)
    own = (sizes / (sizes + weight)).mean(axis=0)
    return Pooled(logit(drawn), logit(drawn.mean(axis=0)), own, around.spread)


@dataclass(frozen=True, eq=False)
class _AroundCenters:
    """Where each group lies by what groups have in common, draw by draw.

    ``mean`` and ``variance`` have one row per draw and one column per group; ``spread`` is the mean
    of tau.
    """

    mean: FloatArray
    variance: FloatArray
    spread: float


def _around_centers(
    density: Density,
    centers: FloatArray,
    noise: FloatArray,
    sizes: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
) -> _AroundCenters:
    """Draw the way, the shift, the spread, and how far each group may lie out.

    ``density`` says how likely the rows of some groups are for a center and a variance on the logit
    scale, ``sizes`` how much the rows of each group tell; nothing where it is zero.
    """
    tails = _tail_weights()
    telling = np.flatnonzero(sizes > 0)
    if len(telling) > MOST_FITTED:
        # A few hundred groups, small and large alike, tell the common part well enough.
        order = telling[np.argsort(sizes[telling], kind="stable")]
        telling = np.sort(order[np.linspace(0, len(order) - 1, MOST_FITTED).round().astype(int)])

    def fit(shifts: FloatArray) -> FloatArray:
        found = np.zeros((len(centers), len(SPREADS), len(shifts)))
        # Ways, spreads, tails, groups.
        variance = SPREADS[:, None, None] ** 2 / tails[:, None] + noise[:, None, None, telling]
        for place, shift in enumerate(shifts):
            at = centers[:, None, None, telling] + shift
            likely = density(at, variance, telling).mean(axis=2)
            found[:, :, place] = np.log(np.maximum(likely, 1e-300)).sum(axis=2)
        return found

    cells, number, spread, shift = _hyper_draws(fit, n_draws, rng)
    way = cells.way[number]
    variance = np.empty((n_draws, centers.shape[1]))
    for block in _blocks(centers.shape[1]):
        # How far out a group lies is judged in the middle of the cell that a draw lies in.
        at = centers[cells.way][:, block] + cells.shift[:, None]
        of_cell = cells.spread[:, None, None] ** 2 / tails[:, None]
        likely = density(at[:, None], of_cell + noise[cells.way][:, None, block], block)
        heads = np.cumsum(np.maximum(likely, 1e-300), axis=1)
        heads /= heads[:, -1:]
        level = rng.random((n_draws, len(block)))
        tail = np.zeros(level.shape, np.intp)
        for step in range(N_TAILS - 1):
            tail += level > heads[number, step]
        variance[:, block] = spread[:, None] ** 2 / tails[tail] + noise[way][:, block]
    return _AroundCenters(centers[way] + shift[:, None], variance, float(spread.mean()))


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of the grid of ways, spreads and shifts, by the values in their middle."""

    way: NDArray[np.intp]
    spread: FloatArray
    shift: FloatArray


def _hyper_draws(
    fit: Callable[[FloatArray], FloatArray], n_draws: int, rng: np.random.Generator
) -> tuple[_Cells, NDArray[np.intp], FloatArray, FloatArray]:
    """Draw cells of the grid by how well they fit the groups, and values inside of them."""
    shifts: FloatArray = SHIFT_SCALE * WIDTHS
    for _ in range(ZOOMS):
        chance = _chances(fit(shifts), shifts)
        weights = chance.sum(axis=(0, 1))
        middle = float(weights @ shifts)
        deviation = float(np.sqrt(weights @ (shifts - middle) ** 2))
        step = float(shifts[1] - shifts[0])
        if deviation > 2 * step:
            break
        shifts = middle + float(max(deviation, step / 2)) * WIDTHS
    else:
        chance = _chances(fit(shifts), shifts)
    drawn = rng.choice(chance.size, n_draws, p=chance.ravel())
    present, number = np.unique(drawn, return_inverse=True)
    way, spread, shift = np.unravel_index(present, chance.shape)
    cells = _Cells(way, SPREADS[spread], shifts[shift])
    # Cells have a width: draws lie anywhere inside.
    ratio = np.log(SPREADS[1] / SPREADS[0])
    spreads = cells.spread[number] * np.exp(ratio * (rng.random(n_draws) - 0.5))
    width = shifts[1] - shifts[0]
    return cells, number, spreads, cells.shift[number] + width * (rng.random(n_draws) - 0.5)


def _chances(fit: FloatArray, shifts: FloatArray) -> FloatArray:
    # Spreads are evenly spaced by their logarithm: the density of the half-normal times the step.
    prior = np.log(SPREADS) - (SPREADS / SPREAD_SCALE) ** 2 / 2
    score = fit + prior[:, None] - (shifts / SHIFT_SCALE) ** 2 / 2
    chance = np.exp(score - score.max())
    found: FloatArray = chance / chance.sum()
    return found


def _tail_weights() -> FloatArray:
    """Precisions of normal distributions whose mixture is the t distribution."""
    from scipy.special import gammaincinv

    levels = (np.arange(N_TAILS) + 0.5) / N_TAILS
    return np.asarray(gammaincinv(TAIL_FREEDOM / 2, levels) * (2 / TAIL_FREEDOM), float)


def _blocks(count: int) -> list[NDArray[np.intp]]:
    return [np.arange(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK)]
