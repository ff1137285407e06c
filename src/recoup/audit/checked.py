"""Checked rows in the form that estimates need: where each lies, its answer, its weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.design import Design
from recoup.audit.population import JudgedRows

# Checks in a part of the scores, where rows were not drawn by strata.
PER_PART = 6
LEAST_ROOM = 0.001


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
    design : Design or None
        Where rows were drawn, if not by the scores that cells and starts are about.
    """

    cells: NDArray[np.intp]
    truth: FloatArray
    probability: FloatArray
    starts: NDArray[np.intp]
    labeled: FloatArray
    certain: bool = False
    design: Design | None = None

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
        known = ~np.isnan(self.truth)
        design = self.design
        return replace(
            self,
            cells=self.cells[known],
            truth=self.truth[known],
            probability=self.probability[known],
            labeled=self.labeled[~np.isnan(self.labeled)],
            design=None if design is None else replace(design, cells=design.cells[known]),
        )

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


def hidden_mass(population: JudgedRows, p: FloatArray, checked: CheckedRows) -> FloatArray:
    r"""Estimate the positives among the unlabeled rows at each score.

    The difference estimator :math:`p_i + \delta_i (y_i - p_i) / \pi_i`, summed over the rows of a
    cell: right on average for any p. A missing answer counts as p.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    p : ndarray of shape (n_scores,)
        Chance that an unlabeled row is positive.
    checked : CheckedRows
        The answers.

    Returns
    -------
    ndarray of shape (n_scores,)
        May be below zero at single scores.
    """
    at, size = p[checked.cells], len(p)
    excess = np.where(np.isnan(checked.truth), 0.0, checked.truth - at)
    mass: FloatArray = p * population.unlabeled + np.bincount(checked.cells, excess, size)
    # What a checked row says about the others is spread over those of its part of the scores: as
    # a lump at one score it would be more positives than rows, and bend the curves.
    starts = parts_of(population, checked)
    part = np.searchsorted(starts, np.arange(size), side="right") - 1
    others = np.maximum(population.unlabeled - np.bincount(checked.cells, minlength=size), 0.0)
    room = others * np.clip(p * (1 - p), LEAST_ROOM, None)
    rooms = np.bincount(part, room)
    more = np.bincount(
        part[checked.cells], excess * (1 / checked.probability - 1), minlength=len(rooms)
    )
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
