"""Checked rows in the form that estimates need: where each lies, its answer, its weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.design import Design
from recoup.audit.population import JudgedRows
from recoup.audit.posterior import chance_of

# Checks in a part of the scores, where rows were not drawn by strata.
PER_PART = 6
LEAST_ROOM = 0.001


@dataclass(frozen=True, eq=False)
class Layer:
    """Rows of one second opinion, by score.

    Attributes
    ----------
    labeled : ndarray of shape (n_scores,)
        Labeled rows.
    unlabeled : ndarray of shape (n_scores,)
        Unlabeled rows.
    """

    labeled: FloatArray
    unlabeled: FloatArray


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Checked rows.

    Attributes
    ----------
    cells : ndarray of shape (n_checked,)
        Cell of the population that each row lies in.
    truth : ndarray of shape (n_checked,)
        1, 0, or NaN where nobody could tell.
    probability : ndarray of shape (n_checked,)
        Chance with which each row came to be checked.
    starts : ndarray of shape (n_parts,)
        First cell of each part of the scores that rows were drawn from, ascending from 0.
    labeled : ndarray of shape (n_labeled_checked,)
        Answers about labeled rows.
    certain : bool
        Whether rows were not drawn but chosen from the top: nothing is known about the others.
    rows : ndarray of int of shape (n_checked,) or None
        Positions of the rows, where they are known.
    layers : tuple of Layer
        Rows of each second opinion; empty where there was none.
    layer : ndarray of int of shape (n_checked,) or None
        Layer of each row.
    design : Design or None
        Where rows were drawn, if not by the scores that cells and starts are about.
    """

    cells: NDArray[np.intp]
    truth: FloatArray
    probability: FloatArray
    starts: NDArray[np.intp]
    labeled: FloatArray
    certain: bool = False
    rows: NDArray[np.int64] | None = None
    layers: tuple[Layer, ...] = ()
    layer: NDArray[np.intp] | None = None
    design: Design | None = None

    def among(self, inside: NDArray[np.bool_]) -> CheckedRows:
        """Take some of the rows."""
        return replace(
            self,
            cells=self.cells[inside],
            truth=self.truth[inside],
            probability=self.probability[inside],
            rows=None if self.rows is None else self.rows[inside],
            layer=None if self.layer is None else self.layer[inside],
            design=None
            if self.design is None
            else replace(self.design, cells=self.design.cells[inside]),
        )

    def by_layer(self, population: JudgedRows) -> list[tuple[JudgedRows, CheckedRows]]:
        """Take the rows of each second opinion apart; all of them where there was none."""
        if self.layer is None:
            return [(population, self)]
        return [
            (
                replace(population, labeled=one.labeled, unlabeled=one.unlabeled),
                replace(self.among(self.layer == i), layers=(), layer=None),
            )
            for i, one in enumerate(self.layers)
        ]

    def filled(self, value: float) -> CheckedRows:
        """Give every missing answer the same value."""
        return replace(
            self,
            truth=np.where(np.isnan(self.truth), value, self.truth),
            labeled=np.where(np.isnan(self.labeled), value, self.labeled),
        )

    @property
    def answered(self) -> CheckedRows:
        """The rows with an answer."""
        known = self.among(~np.isnan(self.truth))
        return replace(known, labeled=self.labeled[~np.isnan(self.labeled)])

    @property
    def n_missing(self) -> int:
        """How many answers are missing."""
        return int(np.isnan(self.truth).sum() + np.isnan(self.labeled).sum())


def as_drawn(population: JudgedRows, checked: CheckedRows) -> tuple[JudgedRows, CheckedRows]:
    """Return the rows as they were drawn, by the scores of the design if it had its own.

    Parameters
    ----------
    population : JudgedRows
        Rows by the score of the model that is judged.
    checked : CheckedRows
        The answers.

    Returns
    -------
    population : JudgedRows
    checked : CheckedRows
    """
    design = checked.design
    if design is None:
        return population, checked
    return design.population, replace(
        checked, cells=design.cells, starts=design.starts, design=None
    )


def parts_of(population: JudgedRows, checked: CheckedRows) -> NDArray[np.intp]:
    """Cut the scores into parts with a few checks each, on either side of the threshold.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers.

    Returns
    -------
    ndarray of shape (n_parts,)
        First cell of each part: the strata, where rows were drawn by strata.
    """
    at = population.first_above
    starts = [0, at] if at < len(population.scores) else [0]
    if len(checked.starts) > 1:
        return np.unique(np.append(checked.starts, starts))
    for above in (False, True):
        side = np.sort(checked.cells[(checked.cells >= at) == above])
        starts += (side[PER_PART : len(side) - PER_PART // 2 : PER_PART]).tolist()
    return np.unique(starts)


def chances(population: JudgedRows, alpha: float, checked: CheckedRows) -> list[FloatArray]:
    """Return the chance that an unlabeled row at each score is positive, by the labels alone.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    alpha : float
        Share of positives among the unlabeled rows, as far as the labels tell.
    checked : CheckedRows
        The answers.

    Returns
    -------
    list of ndarray of shape (n_scores,)
        One for each layer.
    """
    ratio = alpha * population.unlabeled.sum() / population.labeled.sum()
    return [
        chance_of(rows.labeled, rows.unlabeled, float(ratio))
        for rows, _ in checked.by_layer(population)
    ]


def hidden_mass(
    population: JudgedRows, p: Sequence[FloatArray], checked: CheckedRows
) -> FloatArray:
    r"""Estimate the positives among the unlabeled rows at each score.

    The difference estimator :math:`p_i + \delta_i (y_i - p_i) / \pi_i`, summed over the rows of a
    cell: right on average for any p. A missing answer counts as p.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    p : sequence of ndarray of shape (n_scores,)
        What :func:`chances` gave.
    checked : CheckedRows
        The answers.

    Returns
    -------
    ndarray of shape (n_scores,)
        May be below zero at single scores.
    """
    starts = parts_of(population, checked)
    by_layer = checked.by_layer(population)
    masses = [_mass(*rows, chance, starts) for rows, chance in zip(by_layer, p, strict=True)]
    total: FloatArray = np.sum(masses, axis=0)
    return total


def _mass(
    population: JudgedRows, checked: CheckedRows, p: FloatArray, starts: NDArray[np.intp]
) -> FloatArray:
    at, size = p[checked.cells], len(p)
    excess = np.where(np.isnan(checked.truth), 0.0, checked.truth - at)
    mass: FloatArray = p * population.unlabeled + np.bincount(checked.cells, excess, size)
    # What a checked row says about the others is spread over those of its part of the scores: as
    # a lump at one score it would be more positives than rows, and bend the curves.
    part = np.searchsorted(starts, np.arange(size), side="right") - 1
    others = np.maximum(population.unlabeled - np.bincount(checked.cells, minlength=size), 0.0)
    room = others * np.clip(p * (1 - p), LEAST_ROOM, None)
    rooms = np.bincount(part, room)
    more = np.zeros(len(rooms))
    np.add.at(more, part[checked.cells], excess * (1 / checked.probability - 1))
    lost = (rooms <= 0) & (more != 0)
    share = np.divide(more, rooms, out=np.zeros_like(more), where=rooms > 0)
    mass += share[part] * room
    if lost.any():  # no unchecked row is left there, though the chances say so
        inside = lost[part[checked.cells]]
        mass += np.bincount(
            checked.cells, np.where(inside, excess * (1 / checked.probability - 1), 0.0), size
        )
    return mass


def right_share(checked: CheckedRows, beta: float) -> float:
    """Return the share of right labels: as answered, or as assumed where no label was checked."""
    known = checked.labeled[~np.isnan(checked.labeled)]
    return float(known.mean()) if len(known) else beta
