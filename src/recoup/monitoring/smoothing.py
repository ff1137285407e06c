"""What all periods together say of each: a local-level model of shares, scores and labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.special import expit, logit, softmax

from recoup._core.checks import FloatArray
from recoup.monitoring.counts import DIRECTIONS, PeriodCounts, positives_by_bin

# Places of what moves from period to period: log odds of a positive, tilts of the scores of
# positives, tilts of those of negatives, and the logarithm of the share of labels that have come.
# Negatives are many, and other traffic may have any shape.
SHARE, POSITIVES, NEGATIVES = 0, slice(1, 3), slice(3, 3 + DIRECTIONS)
ARRIVED = NEGATIVES.stop
N_STATES = ARRIVED + 1
# Steps from period to period that the data choose among: log odds, tilts of either class.
STEPS = {
    "share": (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8),
    "positives": (0.01, 0.02, 0.05, 0.1, 0.2, 0.4),
    "negatives": (0.005, 0.02, 0.05, 0.1, 0.2, 0.4),
}
START = {"share": 0.1, "positives": 0.05, "negatives": 0.02}
ROUNDS = 2
MOST_STEPS, CLOSE = 60, 1e-4
# What is assumed before any row is seen, as standard deviations: of the first log odds, of the
# first tilts (their middle is part of the score distributions), and of those distributions.
FIRST_SHARE, FIRST_TILT, BASE = 2.0, 0.1, 3.0
SMALLEST_VARIANCE = 1e-8
# Labels are never certain to come, or a positive could not be unlabeled.
MOST_LABELED = 0.999


@dataclass(frozen=True)
class Known:
    """What is known before the rows of the periods are looked at.

    Attributes
    ----------
    label_frequency : float
        Share of the positives that ever get a label.
    log_error : float
        Standard error of its logarithm.
    arrived : ndarray of shape (n_periods,)
        Share of the labels of each period that have come.
    arrived_variance : ndarray of shape (n_periods,)
        Variance of the logarithm of each.
    """

    label_frequency: float
    log_error: float
    arrived: FloatArray
    arrived_variance: FloatArray


@dataclass(frozen=True, eq=False)
class Smoothed:
    """States of all periods, where the model fits best, and how sure they are.

    Attributes
    ----------
    counts : PeriodCounts
        The rows.
    states : ndarray of shape (n_periods, N_STATES)
        What moves from period to period.
    shared : ndarray of shape (2 * n_bins + 1,)
        Log shares of the bins among positives and among negatives, and the logarithm of the label
        frequency.
    steps : dict of str to float
        How far states move from period to period, in standard deviations.
    evidence : float
        Logarithm of the marginal likelihood.
    precision : Arrow
        Second derivatives of the log posterior.
    """

    counts: PeriodCounts
    states: FloatArray
    shared: FloatArray
    steps: dict[str, float]
    evidence: float
    precision: Arrow

    @cached_property
    def cells(self) -> ExpectedRows:
        """Expected rows of each cell."""
        return ExpectedRows.of(self.counts, self.states, self.shared)

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of states and shared parameters, of each period, as blocks."""
        return self.precision.blocks_of_inverse()


@dataclass(frozen=True, eq=False)
class ExpectedRows:
    """Expected labeled and unlabeled rows by period and bin, and what moves them.

    Attributes
    ----------
    share : ndarray of shape (n_periods, 1)
        Positives among all rows.
    positives, negatives : ndarray of shape (n_periods, n_bins)
        How either class is spread over the bins.
    chance : ndarray of shape (n_periods, n_bins)
        Chance that a positive has its label by now.
    labeled, unlabeled : ndarray of shape (n_periods, n_bins)
        Expected rows.
    """

    share: FloatArray
    positives: FloatArray
    negatives: FloatArray
    chance: FloatArray
    labeled: FloatArray
    unlabeled: FloatArray

    @classmethod
    def of(cls, counts: PeriodCounts, states: FloatArray, shared: FloatArray) -> ExpectedRows:
        """Compute the cells from states."""
        n_bins = counts.n_bins
        share = expit(states[:, [SHARE]])
        positives, negatives = (
            softmax(base + states[:, tilts] @ _directions(counts, tilts).T, axis=1)
            for base, tilts in (
                (shared[:n_bins], POSITIVES),
                (shared[n_bins : 2 * n_bins], NEGATIVES),
            )
        )
        arrived = np.exp(shared[-1] + states[:, [ARRIVED]])
        chance = np.minimum(arrived * counts.observable, MOST_LABELED)
        n = counts.n_rows[:, None]
        labeled = n * share * positives * chance
        unlabeled = n * (share * positives * (1 - chance) + (1 - share) * negatives)
        return cls(share, positives, negatives, chance, labeled, unlabeled)

    def class_slopes(self, counts: PeriodCounts) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the expected positives and negatives.

        Returns
        -------
        positives, negatives : ndarray of shape (n_periods, n_bins, N_STATES + 2 * n_bins + 1)
            By the states of the period, then by what all periods share.
        """
        n_bins = counts.n_bins
        shape = (*self.positives.shape, N_STATES + 2 * n_bins + 1)
        n = counts.n_rows[:, None]
        both = n * self.share * (1 - self.share)
        found = []
        for sign, spread, tilts, first in (
            (1, self.positives, POSITIVES, N_STATES),
            (-1, self.negatives, NEGATIVES, N_STATES + n_bins),
        ):
            moved = np.zeros(shape)
            moved[:, :, SHARE] = sign * both * spread
            size = (n * (self.share if sign > 0 else 1 - self.share) * spread)[:, :, None]
            basis = _directions(counts, tilts)
            moved[:, :, tilts] = size * (basis[None] - (spread @ basis)[:, None, :])
            moved[:, :, first : first + n_bins] = size * (np.eye(n_bins) - spread[:, None, :])
            found.append(moved)
        return found[0], found[1]

    def slopes(self, counts: PeriodCounts) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the expected labeled and unlabeled rows, in the same order."""
        positives, negatives = self.class_slopes(counts)
        chance = self.chance[:, :, None]
        labeled, unlabeled = positives * chance, positives * (1 - chance) + negatives
        for place in (ARRIVED, -1):
            labeled[:, :, place] = self.labeled
            unlabeled[:, :, place] = -self.labeled
        return labeled, unlabeled


def _directions(counts: PeriodCounts, tilts: slice) -> FloatArray:
    """Return the directions of a class: the first ones, as many as it has tilts."""
    return counts.basis[:, : tilts.stop - tilts.start]


@dataclass(frozen=True, eq=False)
class Arrow:
    """A symmetric matrix: blocks of neighboring periods, and a border of what all share.

    Attributes
    ----------
    blocks : ndarray of shape (n_periods, N_STATES, N_STATES)
        Of each period with itself.
    beside : ndarray of shape (n_periods, N_STATES)
        Diagonal of what ties each period to the next; its sign is negative.
    border : ndarray of shape (n_periods, N_STATES, n_shared)
        Of each period with what is shared.
    corner : ndarray of shape (n_shared, n_shared)
        Of what is shared.
    """

    blocks: FloatArray
    beside: FloatArray
    border: FloatArray
    corner: FloatArray

    @cached_property
    def _factor(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        n_periods = len(self.blocks)
        size, width = n_periods * N_STATES, N_STATES
        band = np.zeros((width + 1, size))
        for row in range(N_STATES):
            for column in range(row + 1):
                band[row - column, column::N_STATES] = self.blocks[:, row, column]
        band[width, : size - N_STATES] = -self.beside.reshape(-1)[: size - N_STATES]
        factor = cholesky_banded(band, lower=True)
        border = self.border.reshape(size, -1)
        solved = cho_solve_banded((factor, True), border)
        return factor, solved, self.corner - border.T @ solved

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant."""
        factor, _, rest = self._factor
        return float(2 * np.log(factor[0]).sum() + np.linalg.slogdet(rest)[1])

    def with_last_known(self, error: float) -> Arrow:
        """Give the last shared parameter this standard error, whatever the rows say of it.

        All others move with it as they would if it were another.
        """
        _, _, rest = self._factor
        from_others = rest[-1, :-1] @ np.linalg.solve(rest[:-1, :-1], rest[:-1, -1])
        corner = self.corner.copy()
        corner[-1, -1] += from_others + 1 / max(error**2, SMALLEST_VARIANCE) - rest[-1, -1]
        return replace(self, corner=corner)

    def solve(self, states: FloatArray, shared: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve for one right side, given by its two parts."""
        factor, solved, rest = self._factor
        first: FloatArray = cho_solve_banded((factor, True), states.reshape(-1))
        border = self.border.reshape(states.size, -1)
        second = np.asarray(np.linalg.solve(rest, shared - border.T @ first), np.float64)
        own = (first - solved @ second).reshape(states.shape)
        return own, second

    def blocks_of_inverse(self) -> FloatArray:
        """Return, for each period, the covariance of its states and all that is shared."""
        factor, solved, rest = self._factor
        n_periods, n_shared = len(self.blocks), len(rest)
        size = n_periods * N_STATES
        corner = np.linalg.inv(rest)
        whole = cho_solve_banded((factor, True), np.eye(size)) + solved @ corner @ solved.T
        across = -solved @ corner
        found = np.empty((n_periods, N_STATES + n_shared, N_STATES + n_shared))
        for period in range(n_periods):
            own = slice(period * N_STATES, (period + 1) * N_STATES)
            found[period, :N_STATES, :N_STATES] = whole[own, own]
            found[period, :N_STATES, N_STATES:] = across[own]
            found[period, N_STATES:, :N_STATES] = across[own].T
            found[period, N_STATES:, N_STATES:] = corner
        return found


def smooth(counts: PeriodCounts, known: Known) -> Smoothed:
    """Fit the model to all periods, with steps that the data choose.

    In each period, positives and negatives are spread over the bins of the score in their own way,
    and positives get a label with a chance that depends on how long ago the period was. The share
    of positives and the spread of either class drift from period to period by small steps; how
    small is found by the marginal likelihood.

    Parameters
    ----------
    counts : PeriodCounts
        Labeled and unlabeled rows by period and bin.
    known : Known
        Label frequency and delays, with their errors.

    Returns
    -------
    Smoothed
    """
    steps = dict(START)
    best = _fit(counts, known, steps, *_start(counts, known))
    for _ in range(ROUNDS):
        before = dict(steps)
        for name, values in STEPS.items():
            best = _climbed(counts, known, best, name, values)
            steps = best.steps
        if steps == before:
            break
    return best


def _climbed(
    counts: PeriodCounts, known: Known, best: Smoothed, name: str, values: tuple[float, ...]
) -> Smoothed:
    """Try larger and smaller steps of one state, as long as the evidence grows."""
    for ordered in (values, values[::-1]):
        for value in ordered[_after(ordered, best.steps[name]) :]:
            tried = _fit(counts, known, best.steps | {name: value}, best.states, best.shared)
            if tried.evidence <= best.evidence:
                break
            best = tried
    return best


def _after(ordered: tuple[float, ...], value: float) -> int:
    return ordered.index(value) + 1


def _start(counts: PeriodCounts, known: Known) -> tuple[FloatArray, FloatArray]:
    """Begin where labels alone say, all periods pooled."""
    rows = counts.rows.sum(axis=0)
    chance = known.label_frequency * known.arrived[:, None] * counts.observable
    found = positives_by_bin(counts.labeled, counts.rows, chance)
    positives = found / found.sum()
    n_positive = min(found.sum(), 0.9 * rows.sum())
    others = np.maximum(rows - n_positive * positives, 0.02 * rows + 0.5)
    shared = np.concatenate(
        [np.log(positives), np.log(others / others.sum()), [math.log(known.label_frequency)]]
    )
    states = np.zeros((counts.n_periods, N_STATES))
    states[:, SHARE] = logit(np.clip(n_positive / max(rows.sum(), 1), 1e-5, 0.95))
    states[:, ARRIVED] = np.log(np.maximum(known.arrived, 1e-6))
    return states, shared


@dataclass(frozen=True, eq=False)
class _Prior:
    """What ties states to each other and to what is known: a Gaussian."""

    weights: FloatArray
    centers: FloatArray
    shared_weights: FloatArray
    shared_centers: FloatArray

    @classmethod
    def of(cls, counts: PeriodCounts, known: Known, steps: dict[str, float]) -> _Prior:
        n_periods, n_shared = counts.n_periods, 2 * counts.n_bins + 1
        variances = np.empty((n_periods, N_STATES))
        variances[:, SHARE] = steps["share"] ** 2
        variances[:, POSITIVES] = steps["positives"] ** 2
        variances[:, NEGATIVES] = steps["negatives"] ** 2
        variances[0, :ARRIVED] = FIRST_TILT**2
        variances[0, SHARE] = FIRST_SHARE**2
        # The error of a product limit grows by independent parts from old rows to young ones.
        growth = np.diff(known.arrived_variance, prepend=0.0)
        variances[:, ARRIVED] = np.maximum(growth, SMALLEST_VARIANCE)
        start, shared = _start(counts, known)
        centers = np.zeros((n_periods, N_STATES))
        centers[:, ARRIVED] = np.log(np.maximum(known.arrived, 1e-6))
        centers[:, SHARE] = start[:, SHARE]
        shared_weights = np.full(n_shared, BASE**-2)
        # Only what is known of it beforehand counts: shapes of scores would seem to tell more than
        # they do wherever the model of them is not quite right.
        shared_weights[-1] = 1 / SMALLEST_VARIANCE
        return cls(1 / variances, centers, shared_weights, shared)

    def away(self, states: FloatArray) -> FloatArray:
        """Return the steps that the states make away from what is expected."""
        off = states - self.centers
        steps: FloatArray = np.diff(off, axis=0, prepend=0.0)
        return steps

    def log_density(self, states: FloatArray, shared: FloatArray) -> float:
        """Return the logarithm of the density, up to a constant."""
        off = shared - self.shared_centers
        states_part = np.sum(self.weights * self.away(states) ** 2 - np.log(self.weights))
        return float(-0.5 * (states_part + np.sum(self.shared_weights * off**2)))

    def slope(self, states: FloatArray, shared: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of that logarithm."""
        pull = self.weights * self.away(states)
        back = np.vstack([pull[1:], np.zeros(N_STATES)])
        return back - pull, -self.shared_weights * (shared - self.shared_centers)


def _fit(
    counts: PeriodCounts,
    known: Known,
    steps: dict[str, float],
    states: FloatArray,
    shared: FloatArray,
) -> Smoothed:
    """Climb to the mode of the posterior by Fisher scoring, and approximate it there."""
    prior = _Prior.of(counts, known, steps)
    value = _log_posterior(counts, prior, states, shared)
    for _ in range(MOST_STEPS):
        arrow, slopes = _curvature(counts, prior, states, shared)
        move = arrow.solve(*slopes)
        size, better = 1.0, -math.inf
        for _ in range(12):
            there = states + size * move[0], shared + size * move[1]
            better = _log_posterior(counts, prior, *there)
            if better >= value:
                break
            size /= 2
        if better < value:
            break
        gain, value = better - value, better
        states, shared = there
        if gain < CLOSE:
            break
    arrow, _ = _curvature(counts, prior, states, shared)
    evidence = value - 0.5 * arrow.log_determinant
    return Smoothed(counts, states, shared, steps, evidence, arrow.with_last_known(known.log_error))


def _log_posterior(
    counts: PeriodCounts, prior: _Prior, states: FloatArray, shared: FloatArray
) -> float:
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        cells = ExpectedRows.of(counts, states, shared)
        fit = sum(
            float(np.sum(_times_log(seen, expected) - expected))
            for seen, expected in (
                (counts.labeled, cells.labeled),
                (counts.unlabeled, cells.unlabeled),
            )
        )
    value = fit + prior.log_density(states, shared)
    return value if math.isfinite(value) else -math.inf


def _times_log(seen: FloatArray, expected: FloatArray) -> FloatArray:
    """Return seen * log(expected), 0 where nothing was seen."""
    found: FloatArray = np.where(seen > 0, seen * np.log(np.where(seen > 0, expected, 1.0)), 0.0)
    return found


def _curvature(
    counts: PeriodCounts, prior: _Prior, states: FloatArray, shared: FloatArray
) -> tuple[Arrow, tuple[FloatArray, FloatArray]]:
    """Return the expected second derivatives of the log posterior, negative, and its slope."""
    cells = ExpectedRows.of(counts, states, shared)
    whole: Any = 0.0
    slope: Any = 0.0
    parts = zip(
        cells.slopes(counts),
        (counts.labeled, counts.unlabeled),
        (cells.labeled, cells.unlabeled),
        strict=True,
    )
    for moves, seen, expected in parts:
        safe = np.maximum(expected, 1e-12)
        scaled = moves / np.sqrt(safe)[:, :, None]
        whole = whole + scaled.transpose(0, 2, 1) @ scaled
        slope = slope + np.einsum("wkp,wk->wp", moves, seen / safe - (expected > 0))
    own, rest = slice(None, N_STATES), slice(N_STATES, None)
    blocks = np.array(whole[:, own, own])
    each = np.arange(N_STATES)
    blocks[:, each, each] += prior.weights
    blocks[:-1, each, each] += prior.weights[1:]
    corner = whole[:, rest, rest].sum(axis=0) + np.diag(prior.shared_weights)
    from_states, from_shared = prior.slope(states, shared)
    arrow = Arrow(blocks, prior.weights[1:], whole[:, own, rest], corner)
    slopes = slope[:, own] + from_states, slope[:, rest].sum(axis=0) + from_shared
    return arrow, slopes
