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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

# What is thought of the spread of groups and of the shift of all before rows are seen, on the
# logit scale: odds of groups differ by a factor of 1.6, and of the shift likewise.
SPREAD_SCALE, SHIFT_SCALE = 0.5, 0.5
TAIL_FREEDOM = 4.0
SPREADS = np.geomspace(0.03, 2.5, 16)
# Shifts that are tried, in standard deviations; around the likely ones again, more closely.
WIDTHS = np.linspace(-4.0, 4.0, 25)
ZOOMS = 4
N_TAILS, N_SHARE_TAILS = 9, 4
# A flatter distribution of shares would lie at both ends.
LEAST_WEIGHT = 1.0
# Groups are taken so many at a time, to bound memory.
BLOCK = 512


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
    tails = _tail_weights(N_TAILS)

    def fit(shifts: FloatArray) -> FloatArray:
        found = np.zeros((len(centers), len(SPREADS), len(shifts)))
        for block in _blocks(np.flatnonzero(known)):
            # Ways, spreads, tails, groups.
            spread = SPREADS[:, None, None] ** 2 / tails[:, None]
            total = variance[block] + spread + noise[:, None, None, block]
            for place, shift in enumerate(shifts):
                away = (value[block] - centers[:, block] - shift)[:, None, None, :]
                density = np.exp(-(away**2) / (2 * total)) / np.sqrt(total)
                found[:, :, place] += np.log(np.maximum(density.mean(axis=2), 1e-300)).sum(axis=2)
        return found

    way, spread, shift = _hyper_draws(fit, n_draws, rng)
    draws = np.empty((n_draws, len(own)))
    shares = np.empty(len(own))
    for block in _blocks(np.arange(len(own))):
        prior_mean = centers[way][:, block] + shift[:, None]
        prior = spread[:, None, None] ** 2 / tails[:, None] + noise[way][:, None, block]
        total = variance[block] + prior
        away = (value[block] - prior_mean)[:, None, :]
        chance = np.exp(-(away**2) / (2 * total)) / np.sqrt(total)
        chance = np.where(known[block], np.maximum(chance, 1e-300), 1.0)
        prior_of = np.take_along_axis(prior, _chosen(chance, rng)[:, None], axis=1)[:, 0]
        weight = np.where(known[block], prior_of / (prior_of + variance[block]), 0.0)
        mean = prior_mean + weight * (value[block] - prior_mean)
        deviation = np.sqrt(prior_of * (1 - weight))
        draws[:, block] = mean + deviation * rng.standard_normal(mean.shape)
        shares[block] = weight.mean(axis=0)
    return Pooled(draws, np.median(draws, axis=0), shares, float(spread.mean()))


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

    tails = _tail_weights(N_SHARE_TAILS)

    def density(mean: FloatArray, variance: FloatArray, block: NDArray[np.intp]) -> FloatArray:
        weight = weight_of(mean, variance)
        first, second = weight * mean, weight * (1 - mean)
        hit, miss = hits[block], sizes[block] - hits[block]
        return np.exp(betaln(first + hit, second + miss) - betaln(first, second) - scale[block])

    # The likelihood of the share that was seen: densities are held against it, or they underflow.
    seen = (hits + 0.5) / (sizes + 1)
    scale = hits * np.log(seen) + (sizes - hits) * np.log1p(-seen)

    def fit(shifts: FloatArray) -> FloatArray:
        found = np.zeros((len(centers), len(SPREADS), len(shifts)))
        for block in _blocks(np.flatnonzero(sizes > 0)):
            # Ways, spreads, tails, groups.
            spread = SPREADS[:, None, None] ** 2 / tails[:, None]
            variance = spread + noise[:, None, None, block]
            for place, shift in enumerate(shifts):
                mean = expit(centers[:, None, None, block] + shift)
                likely = density(mean, variance, block).mean(axis=2)
                found[:, :, place] += np.log(np.maximum(likely, 1e-300)).sum(axis=2)
        return found

    way, spread, shift = _hyper_draws(fit, n_draws, rng)
    drawn, weights = np.empty((2, n_draws, len(hits)))
    for block in _blocks(np.arange(len(hits))):
        mean = expit(centers[way][:, block] + shift[:, None])
        prior = spread[:, None, None] ** 2 / tails[:, None] + noise[way][:, None, block]
        chance = np.maximum(density(mean[:, None], prior, block), 1e-300)
        variance = np.take_along_axis(prior, _chosen(chance, rng)[:, None], axis=1)[:, 0]
        weight = weight_of(mean, variance)
        hit, miss = weight * mean + hits[block], weight * (1 - mean) + sizes[block] - hits[block]
        drawn[:, block] = rng.beta(np.maximum(hit, 1e-6), np.maximum(miss, 1e-6))
        weights[:, block] = sizes[block] / (sizes[block] + weight)
    drawn = np.clip(drawn, 1e-9, 1 - 1e-9)
    draws = logit(drawn)
    return Pooled(draws, logit(drawn.mean(axis=0)), weights.mean(axis=0), float(spread.mean()))


def _hyper_draws(
    fit: Callable[[FloatArray], FloatArray], n_draws: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
    """Draw the way, the spread and the shift by how well they fit the groups."""
    shifts = SHIFT_SCALE * WIDTHS
    for _ in range(ZOOMS):
        chance = _chances(fit(shifts), shifts)
        weights = chance.sum(axis=(0, 1))
        middle = float(weights @ shifts)
        deviation = float(np.sqrt(weights @ (shifts - middle) ** 2))
        step = shifts[1] - shifts[0]
        if deviation > 2 * step:
            break
        shifts = middle + max(deviation, step / 2) * WIDTHS
    else:
        chance = _chances(fit(shifts), shifts)
    cells = rng.choice(chance.size, n_draws, p=chance.ravel())
    way, spread, shift = np.unravel_index(cells, chance.shape)
    # Cells have a width: draws lie anywhere inside.
    ratio = np.log(SPREADS[1] / SPREADS[0])
    spreads = SPREADS[spread] * np.exp(ratio * (rng.random(n_draws) - 0.5))
    width = shifts[1] - shifts[0]
    return way, spreads, shifts[shift] + width * (rng.random(n_draws) - 0.5)


def _chances(fit: FloatArray, shifts: FloatArray) -> FloatArray:
    # Spreads are evenly spaced by their logarithm: the density of the half-normal times the step.
    prior = np.log(SPREADS) - (SPREADS / SPREAD_SCALE) ** 2 / 2
    score = fit + prior[:, None] - (shifts / SHIFT_SCALE) ** 2 / 2
    chance: FloatArray = np.exp(score - score.max())
    return chance / chance.sum()


def _tail_weights(n_tails: int) -> FloatArray:
    """Precisions of normal distributions whose mixture is the t distribution."""
    from scipy.special import gammaincinv

    levels = (np.arange(n_tails) + 0.5) / n_tails
    found: FloatArray = gammaincinv(TAIL_FREEDOM / 2, levels) * (2 / TAIL_FREEDOM)
    return found


def _chosen(chance: Any, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose along the second axis, by chances that need not sum to one."""
    heads = np.cumsum(chance, axis=1)
    level = rng.random((len(chance), 1, chance.shape[2])) * heads[:, -1:, :]
    found: NDArray[np.intp] = (heads < level).sum(axis=1)
    return found


def _blocks(places: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [places[start : start + BLOCK] for start in range(0, len(places), BLOCK)]
