"""Where checked rows were drawn, if by the scores of another model than the one that is judged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.population import JudgedRows


@dataclass(frozen=True, eq=False)
class Design:
    """Checked rows among the scores that they were drawn by.

    Models that are judged by the same answers have one design in common: what chance does to the
    answers is then the same for all of them, and cancels in their differences.

    Attributes
    ----------
    population : JudgedRows
        Rows by the score that rows were drawn by.
    cells : ndarray of shape (n_checked,)
        Cell of this population that each checked row lies in.
    starts : ndarray of shape (n_parts,)
        First cell of each part that rows were drawn from, ascending from 0.
    known : ndarray of shape (n_known,)
        Cells of the unlabeled rows that are known by both scores, ascending: all of them, or the
        checked ones alone where the scores of the plan are not at hand.
    places : ndarray of shape (n_known,)
        Cells of the same rows by the score of the model that is judged.
    groups : ndarray of shape (n_groups,) or None
        First cell of each group of parts whose answers are drawn again together; None to join
        parts until each group holds enough answers of both kinds.
    """

    population: JudgedRows
    cells: NDArray[np.intp]
    starts: NDArray[np.intp]
    known: NDArray[np.intp]
    places: NDArray[np.intp]
    groups: NDArray[np.intp] | None = None

    @classmethod
    def of(
        cls,
        population: JudgedRows,
        cells: NDArray[np.intp],
        starts: NDArray[np.intp],
        known: NDArray[np.intp],
        places: NDArray[np.intp],
        groups: NDArray[np.intp] | None = None,
    ) -> Design:
        """Put the known rows in the order of their cells, those of one cell as they came."""
        # Not by their places, which differ between models: the same row is meant in all of them.
        order = np.argsort(known, kind="stable")
        return cls(population, cells, starts, known[order], places[order], groups)

    def by_model(
        self, cells: NDArray[np.intp], start: int, end: int, chance: FloatArray
    ) -> NDArray[np.intp]:
        """Find where the model has a row that lies in each of these cells of the design.

        Parameters
        ----------
        cells : ndarray of shape (n,)
            Cells of the design.
        start, end : int
            The group of cells that a row may come from where none is known in a cell itself.
        chance : ndarray of shape (n,)
            Numbers in [0, 1) that choose among the rows of a cell.

        Returns
        -------
        ndarray of shape (n,)
            Cells by the score of the model.
        """
        first = np.searchsorted(self.known, cells, side="left")
        last = np.searchsorted(self.known, cells, side="right")
        for low, high in (np.searchsorted(self.known, [start, end]), (0, len(self.known))):
            none = first >= last
            first, last = np.where(none, low, first), np.where(none, high, last)
        return self.places[first + (chance * (last - first)).astype(np.intp)]
