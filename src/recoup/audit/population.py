"""The rows that are judged, by score, and every metric for given positives among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.metrics.spec import MetricSpec, evaluated_specs
from recoup.scores.table import ScoreTable

# An area along rates that noise may bend back means something for these formulas only.
DIRECT = ("roc_auc", "average_precision", "aul")


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows at each score, ascending, and where scores become predictions.

    Attributes
    ----------
    scores : ndarray of shape (n_scores,)
        Lowest score of each cell.
    centers : ndarray of shape (n_scores,)
        The score that stands for the rows of a cell.
    labeled : ndarray of shape (n_scores,)
        Labeled rows at each score.
    unlabeled : ndarray of shape (n_scores,)
        Unlabeled rows at each score.
    negative : ndarray of shape (n_scores,)
        Known negatives at each score.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    threshold : float
        Rows with a score at or above it are predicted positive.
    """

    scores: FloatArray
    centers: FloatArray
    labeled: FloatArray
    unlabeled: FloatArray
    negative: FloatArray
    scheme: Scheme
    threshold: float

    @classmethod
    def of(cls, table: ScoreTable, scheme: Scheme, threshold: float) -> JudgedRows:
        """Take the rows of a table, its known negatives apart."""
        columns = [np.asarray(c, float) for c in (table.labeled, table.unlabeled, table.negative)]
        return cls(
            table.scores, table.centers, columns[0], columns[1], columns[2], scheme, threshold
        )

    @property
    def rows(self) -> FloatArray:
        """Rows at each score that are judged."""
        if self.scheme == "case-control":
            return self.unlabeled
        total: FloatArray = self.labeled + self.unlabeled + self.negative
        return total

    @property
    def first_above(self) -> int:
        """Index of the first score that is predicted positive."""
        return int(np.searchsorted(self.scores, self.threshold, side="left"))

    def cells(self, scores: Any) -> NDArray[np.intp]:
        """Index of the cell of each score."""
        found: NDArray[np.intp] = np.searchsorted(self.scores, scores, side="right") - 1
        return np.minimum(np.maximum(found, 0), len(self.scores) - 1)

    def positives(self, hidden: FloatArray, share: Any = 1.0) -> FloatArray:
        """Positives at each score from those hidden there and the share of right labels."""
        if self.scheme == "case-control":
            return hidden
        total: FloatArray = hidden + np.asarray(share)[..., None] * self.labeled
        return total

    def blocks(self, most: int, edges: NDArray[np.intp]) -> tuple[JudgedRows, NDArray[np.intp]]:
        """Join neighboring scores into at most about so many cells, with a cut at some of them.

        Parameters
        ----------
        most : int
            How many cells, roughly.
        edges : ndarray of int
            Cells at which one must start.

        Returns
        -------
        population : JudgedRows
        index : ndarray of shape (n_scores,)
            Joined cell of each cell.
        """
        n = len(self.scores)
        if n <= most:
            return self, np.arange(n)
        heads = [np.cumsum(c) for c in (self.rows, self.labeled) if c.sum() > 0]
        starts = [
            np.searchsorted(head, head[-1] * np.linspace(0, 1, most // 2 + 1)[:-1], side="right")
            for head in heads
        ]
        cuts = np.unique(np.concatenate([*starts, edges, [0, self.first_above]]))
        cuts = cuts[cuts < n].astype(np.intp)
        index = np.searchsorted(cuts, np.arange(n), side="right") - 1
        rows = np.maximum(np.add.reduceat(self.rows, cuts), 1e-300)
        columns = (self.labeled, self.unlabeled, self.negative)
        labeled, unlabeled, negative = (np.add.reduceat(c, cuts) for c in columns)
        joined = JudgedRows(
            self.scores[cuts],
            np.add.reduceat(self.rows * self.centers, cuts) / rows,
            labeled,
            unlabeled,
            negative,
            self.scheme,
            self.threshold,
        )
        return joined, index

    @property
    def holds_probabilities(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        low, high = min(self.scores[0], self.centers[0]), max(self.scores[-1], self.centers[-1])
        return bool(low >= 0 and high <= 1)

    def specs(self) -> list[MetricSpec]:
        """Return the metrics that these scores have."""
        return evaluated_specs(probabilities=self.holds_probabilities)

    def value(
        self,
        spec: MetricSpec,
        positives: FloatArray,
        curves: tuple[FloatArray, FloatArray] | None = None,
    ) -> FloatArray:
        """Return a metric for each row of positives by score; not clipped.

        Parameters
        ----------
        spec : MetricSpec
            The metric.
        positives : ndarray of shape (n_draws, n_scores)
            Positives at each score.
        curves : tuple of ndarray, optional
            What :meth:`curves` returns for these positives, for several areas.

        Returns
        -------
        ndarray of shape (n_draws,)
        """
        rows = self.rows
        n, total = rows.sum(), positives.sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            if spec.kind == "point":
                return np.asarray(spec.formula(*self.rates(positives)), float)
            if spec.kind == "proper":
                if_positive, if_negative = spec.formula(self.centers)
                loss: FloatArray = positives @ (if_positive - if_negative) + rows @ if_negative
                loss /= n
                return loss
            tpr, fpr = self.curves(positives) if curves is None else curves
            if spec.key not in DIRECT:
                tpr, fpr = (np.clip(np.maximum.accumulate(r, -1), 0, 1) for r in (tpr, fpr))
                tpr[:, -1], fpr[:, -1] = 1.0, 1.0
            return spec.along(tpr, fpr, total / n)

    def values(self, specs: Sequence[MetricSpec], positives: FloatArray) -> dict[str, FloatArray]:
        """Return several metrics for each row of positives by score; not clipped.

        Parameters
        ----------
        specs : sequence of MetricSpec
            The metrics.
        positives : ndarray of shape (n_draws, n_scores)
            Positives at each score.

        Returns
        -------
        dict of str to ndarray of shape (n_draws,)
            By key of the metric.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            curves = self.curves(positives) if any(one.kind == "area" for one in specs) else None
        return {spec.key: self.value(spec, positives, curves) for spec in specs}

    def rates(self, positives: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ``(tpr, fpr, pi)`` at the threshold for each row of positives by score."""
        rows, at = self.rows, self.first_above
        n, total = rows.sum(), positives.sum(axis=-1)
        found, above = positives[:, at:].sum(axis=-1), rows[at:].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            return found / total, (above - found) / (n - total), total / n

    def curves(self, positives: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return true and false positive rates from the highest score down, from (0, 0) on."""
        start = np.zeros((len(positives), 1))
        found = np.cumsum(positives[:, ::-1], axis=-1)
        wrong = np.cumsum((self.rows - positives)[:, ::-1], axis=-1)
        tpr, fpr = (np.hstack([start, part / part[:, -1:]]) for part in (found, wrong))
        return tpr, fpr

    def slopes(self, spec: MetricSpec, positives: FloatArray) -> FloatArray:
        """How much one positive more at each score moves a metric.

        Parameters
        ----------
        spec : MetricSpec
            The metric.
        positives : ndarray of shape (n_scores,)
            Positives at each score.

        Returns
        -------
        ndarray of shape (n_scores,)
        """
        step = 1e-4 * max(positives.sum(), 1e-3)
        if spec.kind == "point":
            at, size = self.first_above, len(self.scores)
            moved = np.tile(positives, (2, 1))
            moved[0, 0] += step
            moved[1, -1] += step
            low, high = (self.value(spec, moved) - self.value(spec, positives[None])) / step
            by_side: FloatArray = np.where(np.arange(size) >= at, high, low)
            return by_side
        if spec.kind == "proper":
            if_positive, if_negative = spec.formula(self.centers)
            found: FloatArray = (if_positive - if_negative) / self.rows.sum()
            return found
        moved = positives + step * np.eye(len(positives))
        found = (self.value(spec, moved) - self.value(spec, positives[None])) / step
        return found
