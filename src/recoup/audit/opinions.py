"""A second opinion on every row: rows of one opinion are looked at apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, as_floats
from recoup.audit.checked import Layer
from recoup.audit.posterior import chance_of
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable

# Opinions below, between and above these count as no, open and yes.
CUTS = (1 / 3, 2 / 3)
# However good an opinion looks among the labels, checks must be able to say otherwise.
LEAST_SHARPNESS = 0.1
# Parts of the scores in which opinions are compared with classes.
N_BLOCKS = 40


@dataclass(frozen=True, eq=False)
class Opinions:
    """Rows by opinion and score.

    Attributes
    ----------
    of_row : ndarray of int of shape (n,)
        Layer of each row: rows of one opinion make a layer.
    scores : ndarray of shape (n_scores,)
        Lowest score of each cell.
    labeled : ndarray of shape (n_layers, n_scores)
        Labeled rows of each layer.
    unlabeled : ndarray of shape (n_layers, n_scores)
        Unlabeled rows of each layer.
    """

    of_row: NDArray[np.int8]
    scores: FloatArray
    labeled: FloatArray
    unlabeled: FloatArray

    @classmethod
    def of(
        cls,
        proxy: ArrayLike,
        s: NDArray[np.int_],
        scores: FloatArray,
        table: ScoreTable,
        caller: str,
    ) -> Opinions:
        """Count rows by opinion and score.

        Parameters
        ----------
        proxy : array-like of shape (n,)
            Opinion on every row, from 0 to 1.
        s : ndarray of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : ndarray of shape (n,)
            Higher is more positive.
        table : ScoreTable
            The same rows by score.
        caller : str
            Who asks, for the error message.

        Returns
        -------
        Opinions
        """
        opinion = np.atleast_1d(as_floats(proxy, "proxy", caller))
        if len(opinion) != len(scores):
            raise InvalidInputError(
                f"{caller} needs one opinion for each row. Got {len(opinion):,} for "
                f"{len(scores):,} rows."
            )
        if not ((opinion >= 0) & (opinion <= 1)).all():
            bad = opinion[~((opinion >= 0) & (opinion <= 1))][0]
            raise InvalidInputError(
                f"{caller} needs proxy to be a second opinion on every row, from 0 (negative) to 1 "
                f"(positive). Got {bad:g}. Bring it into this range; where there is none, pass 0.5."
            )
        found, of_row = np.unique(np.digitize(opinion, CUTS), return_inverse=True)
        cell = np.searchsorted(table.scores, scores, side="right") - 1
        cell = np.clip(cell, 0, len(table.scores) - 1)
        shape = len(found), len(table.scores)
        flat = of_row * shape[1] + cell
        counts = [np.bincount(flat[s == label], minlength=np.prod(shape)) for label in (1, 0)]
        labeled, unlabeled = (one.reshape(shape).astype(float) for one in counts)
        return cls(of_row.astype(np.int8), np.asarray(table.scores, float), labeled, unlabeled)

    def layers(self, cells: NDArray[np.intp], unlabeled: FloatArray) -> tuple[Layer, ...]:
        """Count rows of each layer in other cells.

        Parameters
        ----------
        cells : ndarray of int of shape (n_scores,)
            The other cell that each cell lies in.
        unlabeled : ndarray of shape (n_other,)
            Unlabeled rows in these.

        Returns
        -------
        tuple of Layer
        """
        size = len(unlabeled)
        labeled = [np.bincount(cells, one, size).astype(float) for one in self.labeled]
        moved = np.array([np.bincount(cells, one, size) for one in self.unlabeled], float)
        total = moved.sum(axis=0)
        # Cells that were cut elsewhere share their rows out as those around them do.
        whole = self.unlabeled.sum(axis=1, keepdims=True) / max(self.unlabeled.sum(), 1.0)
        share = np.where(total > 0, moved / np.where(total > 0, total, 1.0), whole)
        return tuple(Layer(one, part * unlabeled) for one, part in zip(labeled, share, strict=True))

    def sharpness(self, p: FloatArray, ratio: float) -> FloatArray:
        r"""Say how much less open a row is once its opinion is known.

        Parameters
        ----------
        p : ndarray of shape (n_scores,)
            Chance that an unlabeled row at each score is positive, opinions left aside.
        ratio : float
            Hidden positives for each labeled row.

        Returns
        -------
        ndarray of shape (n_scores,)
            Mean of :math:`p (1 - p)` with opinions for the same without, among rows of similar
            scores; at most 1.
        """
        by_layer = zip(self.labeled, self.unlabeled, strict=True)
        chance = np.array([chance_of(*rows, ratio) for rows in by_layer])
        rows = self.unlabeled.sum(axis=0)
        block = ((np.cumsum(rows) - rows / 2) / max(rows.sum(), 1.0) * N_BLOCKS).astype(np.intp)
        inside = np.bincount(block, np.sum(self.unlabeled * chance * (1 - chance), axis=0))
        whole = np.bincount(block, rows * p * (1 - p))
        found = np.divide(inside, whole, out=np.ones_like(whole), where=whole > 0)
        sharpness: FloatArray = np.clip(found, LEAST_SHARPNESS, 1.0)[block]
        return sharpness
