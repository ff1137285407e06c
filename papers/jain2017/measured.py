"""What was measured for Jain, White and Radivojac 2017, by dataset and beta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from papers.experiment import Rows
from recoup._core.checks import FloatArray

Cell: TypeAlias = tuple[str, float]
Target: TypeAlias = Literal["supervised", "own"]

METHODS = {
    "auc": ("PU", "IR", "DR", "IE", "DE", "IA", "DA"),
    "auc_pr": ("PU", "IR", "IE", "IA"),
}
LABELS = {"auc": "AUC", "auc_pr": "AUC-PR"}
WAYS = {
    "D": "direct",
    "I": "isotonic regression, as recoup does it",
    "M": "highest rates so far",
    "U": "highest TPR so far, lowest FPR to come",
    "S": "points sorted by FPR",
}
"""How AUC is recovered; all but the first by the area under a curve made valid in this way."""
GAPS = {"small": (0.0, 0.1), "medium": (0.1, 0.2), "large": (0.2, np.inf)}
COLUMNS = ("value", "own", "alpha", "alpha_used", "beta_used")
# Direct and indirect areas differ by less where no rate had to be moved.
ALIKE = 1e-5
SIGNIFICANT = 0.05
# One error counts as small beside another if it is at most this share of it.
SMALL_BESIDE = 0.5
FEWEST_CELLS = 12
FEWEST_ERRORS = 10
FIGURE_ONLY = "figure only"
# 31 and 26 wins in 36 have these P.
PUBLISHED_P = {"R": "P = 6.5e-6", "E": "P = 5.7e-3"}
# Figure 1: eight rows, from the highest score down.
EXAMPLE_SCORES = np.array([0.986, 0.943, 0.863, 0.789, 0.699, 0.473, 0.211, 0.009])
EXAMPLE_LABELS = np.array([1, 0, 1, 0, 1, 0, 0, 0])
EXAMPLE_CLASSES = np.array([1, 1, 1, 0, 1, 0, 0, 0])
EXAMPLE_AREAS = (0.8, 0.9375)


class Measured:
    """The rows of all runs, by metric, method, dataset and beta."""

    def __init__(self, rows: Rows, betas: Sequence[float]) -> None:
        self.betas = tuple(betas)
        gathered: dict[tuple[str, str, Cell], list[list[float]]] = {}
        for row in rows:
            place = (row["metric"], row["method"], (row["dataset"], row["beta"]))
            numbers = [np.nan if row.get(name) is None else row[name] for name in COLUMNS]
            gathered.setdefault(place, []).append(numbers)
        self._numbers = {place: np.array(numbers).T for place, numbers in gathered.items()}
        self.cells = [
            cell
            for metric, method, cell in self._numbers
            if (metric, method) == ("auc", "PU") and ("auc", "supervised", cell) in self._numbers
        ]
        self.datasets = list(dict.fromkeys(name for name, _ in self.cells))

    def column(self, name: str, metric: str, method: str, cell: Cell) -> FloatArray:
        """Return one number per repetition."""
        numbers: FloatArray = self._numbers[metric, method, cell][COLUMNS.index(name)]
        return numbers

    def values(self, metric: str, method: str, cell: Cell) -> FloatArray:
        """Return what was recovered, at most 1."""
        recovered: FloatArray = np.minimum(self.column("value", metric, method, cell), 1.0)
        return recovered

    def errors(
        self, metric: str, method: str, cell: Cell, target: Target = "supervised"
    ) -> FloatArray:
        """Return by how much each repetition exceeds the truth; NaN where nothing was found."""
        if target == "own":
            truth = self.column("own", metric, method, cell)
        else:
            truth = self.column("value", metric, "supervised", cell)
        off: FloatArray = self.values(metric, method, cell) - truth
        return off

    def pooled(
        self, metric: str, method: str, beta: float | None = None, target: Target = "supervised"
    ) -> FloatArray:
        """Return the errors of all datasets, of one beta or of all."""
        chosen = [cell for cell in self.cells if beta in (None, cell[1])]
        every = np.concatenate([self.errors(metric, method, cell, target) for cell in chosen])
        finite: FloatArray = every[np.isfinite(every)]
        return finite

    def side_by_side(
        self, quantities: Sequence[tuple[str, str]], beta: float
    ) -> dict[str, FloatArray]:
        """Return errors of one beta by dataset: a row per repetition, a column per quantity.

        A quantity is a metric and a method. Repetitions that lack one of them are left out.
        """
        found = {}
        for cell in self.cells:
            if cell[1] == beta:
                columns = [self.errors(metric, method, cell) for metric, method in quantities]
                rows = np.column_stack(columns)
                found[cell[0]] = rows[np.isfinite(rows).all(axis=1)]
        return found

    def by_dataset(self, by_cell: FloatArray) -> list[FloatArray]:
        """Gather what there is for each dataset and beta into one group per dataset."""
        names = np.array([name for name, _ in self.cells])
        return [by_cell[names == name] for name in self.datasets]

    def cell_errors(self, metric: str, method: str, target: Target = "supervised") -> FloatArray:
        """Return the mean absolute error for each dataset and beta."""
        return np.array(
            [np.nanmean(np.abs(self.errors(metric, method, cell, target))) for cell in self.cells]
        )

    def cell_values(self, metric: str, method: str) -> FloatArray:
        """Return the mean of what was recovered, for each dataset and beta."""
        return np.array([np.nanmean(self.values(metric, method, cell)) for cell in self.cells])

    def gap_by_dataset(
        self, metric: str, method: str, limits: tuple[float, float]
    ) -> dict[str, FloatArray]:
        """Return the errors where AlphaMax was so far off in beta - alpha, dataset by dataset."""
        found: dict[str, list[FloatArray]] = {}
        for cell in self.cells:
            alpha, alpha_used, beta_used = (
                self.column(name, "auc", "DE", cell) for name in COLUMNS[2:]
            )
            off = np.abs((beta_used - alpha_used) - (cell[1] - alpha))
            errors = self.errors(metric, method, cell)
            kept = errors[(off >= limits[0]) & (off < limits[1]) & np.isfinite(errors)]
            found.setdefault(cell[0], []).append(kept)
        joined = {name: np.concatenate(some) for name, some in found.items()}
        return {name: errors for name, errors in joined.items() if len(errors)}

    def by_gap(self, metric: str, method: str, limits: tuple[float, float]) -> FloatArray:
        """Return the errors where AlphaMax was so far off in beta - alpha."""
        found = self.gap_by_dataset(metric, method, limits)
        return np.concatenate([*found.values(), np.empty(0)])


class Contest(NamedTuple):
    """How often the indirect area was nearer to the truth than the direct one."""

    wins: int
    losses: int
    ties: int
    p: float

    def __str__(self) -> str:
        """Return the counts and the P of the one-sided test."""
        alike = f" ({self.ties} alike)" if self.ties else ""
        return f"{self.wins} of {self.wins + self.losses}{alike}, P = {self.p:.2g}"


def contest(
    measured: Measured, letter: str, target: Target = "supervised", way: str = "I"
) -> Contest:
    """Compare indirect and direct recovery by dataset and beta, with a one-sided binomial test."""
    from scipy.stats import binomtest

    direct, indirect = (measured.cell_errors("auc", name + letter, target) for name in ("D", way))
    wins, losses = int((direct - indirect > ALIKE).sum()), int((indirect - direct > ALIKE).sum())
    p = binomtest(wins, wins + losses, alternative="greater").pvalue if wins + losses else 1.0
    return Contest(wins, losses, len(direct) - wins - losses, float(p))
