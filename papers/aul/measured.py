"""What was measured for the AUL paper, by what it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from papers.aul.published import FREQUENCIES, PUBLISHED
from papers.effects import mean_of, statistic_of
from papers.experiment import Effect, Rows
from recoup._core.checks import FloatArray


class Found:
    """What was measured, by part, dataset, label frequency, method and quantity."""

    def __init__(self, rows: Rows) -> None:
        self._values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for row in rows:
            keys = ("part", "dataset", "label_frequency", "n_rows", "method", "quantity")
            part, dataset, frequency, n_rows, method, quantity = (row[key] for key in keys)
            at = n_rows if part == "cost" else frequency
            self._values[part, dataset, at, method, quantity].append(row["value"])
        seen = {key[1] for key in self._values if key[0] == "table"}
        self.datasets = [name for name in PUBLISHED if name in seen]
        self.cells = [(name, frequency) for name in self.datasets for frequency in FREQUENCIES]
        self.n_rows = {row["dataset"]: row["n_rows"] for row in rows if row["part"] == "table"}
        self.timed = sorted({key[2] for key in self._values if key[0] == "cost"})

    def of(self, part: str, dataset: str, at: float, method: str, quantity: str) -> FloatArray:
        """Values of all repetitions."""
        return np.array(self._values.get((part, dataset, at, method, quantity), []))

    def one(self, part: str, dataset: str, at: float, method: str, quantity: str) -> float:
        """Mean over repetitions."""
        return mean(self.of(part, dataset, at, method, quantity))

    def error(
        self, method: str, frequencies: Iterable[float] = FREQUENCIES, by: str = "error"
    ) -> float:
        """Mean absolute error, all datasets and label frequencies weighing the same."""
        chosen = [cell for cell in self.cells if cell[1] in frequencies]
        return mean([mean(np.abs(self.of("table", *cell, method, by))) for cell in chosen])

    def absolute(self, method: str, *, one_scale: bool = False) -> list[FloatArray]:
        """Absolute errors by setting; those of AUL divided by 1 - pi if on the scale of AUC."""
        return [
            np.abs(self.of("table", *cell, method, "error"))
            / (1 - self.one("table", *cell, "truth", "pi") if one_scale else 1.0)
            for cell in self.cells
        ]

    def tails(self) -> list[dict[str, float]]:
        """How often AUL is off by each epsilon, and what the bounds say."""
        names = ["epsilon", "draws", "exceeded"]
        names += ["printed", "printed, any", "chebyshev", "chebyshev, any"]
        places = dict.fromkeys(key[1:4] for key in self._values if key[0] == "tail")
        return [
            {name: self.one("tail", dataset, at, method, name) for name in names}
            for dataset, at, method in places
        ]

    def repetitions(self, methods: Iterable[str]) -> int:
        """Fewest repetitions of any of the methods in any setting."""
        counts = [len(self.of("table", *cell, m, "error")) for m in methods for cell in self.cells]
        return min(counts)

    def pooled(self, dataset: str, method: str) -> FloatArray:
        """Errors of a dataset at all label frequencies."""
        errors = [
            self.of("table", dataset, frequency, method, "error") for frequency in FREQUENCIES
        ]
        return np.concatenate(errors)


def mean(values: Any) -> float:
    """Mean; NaN of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def spread(values: FloatArray) -> Any:
    """Range between the quartiles, along the last axis."""
    low, high = np.quantile(values, [0.25, 0.75], axis=-1)
    return high - low


def times_aul(found: Found, method: str, *, one_scale: bool = False) -> Effect:
    """How many times the error of AUL a recovered AUC errs, on average over settings."""
    auc, lift = found.absolute(method), found.absolute("aul", one_scale=one_scale)
    unit, n = "times the error of AUL", len(auc)

    def mean_of_means(groups: list[FloatArray]) -> FloatArray:
        means: FloatArray = np.mean([group.mean(axis=1) for group in groups], axis=0)
        return means

    if all(len(some) == len(other) for some, other in zip(auc, lift, strict=True)):
        pairs = [np.column_stack(pair) for pair in zip(auc, lift, strict=True)]
        return statistic_of(pairs, lambda drawn: np.divide(*mean_of_means(drawn).T), unit)
    return statistic_of(
        [*auc, *lift], lambda drawn: mean_of_means(drawn[:n]) / mean_of_means(drawn[n:]), unit
    )


def gains_of(found: Found, against: str = "pu-auc") -> dict[str, float]:
    """By how much AUC is larger after training by AUL, relative to training by AUC."""
    gains = {}
    for name in found.datasets:
        ours, other = (
            found.one("training", name, FREQUENCIES[0], method, "AUC")
            for method in ("pu-aul", against)
        )
        gains[name] = ours / other - 1
    return gains


def paired_gain(found: Found, name: str, against: str = "pu-auc") -> Effect:
    """By how much AUC after training by AUL is larger on a dataset, repetition by repetition.

    Relative to the mean AUC of the other training, as in :func:`gains_of`.
    """
    ours, other = (
        found.of("training", name, FREQUENCIES[0], method, "AUC") for method in ("pu-aul", against)
    )
    return mean_of(100 * (ours - other) / other.mean(), "%")


def gain_by_ratios(found: Found, name: str, against: str = "pu-auc") -> Effect:
    """Return the mean over repetitions of the relative gain of each, on a dataset."""
    ours, other = (
        found.of("training", name, FREQUENCIES[0], method, "AUC") for method in ("pu-aul", against)
    )
    return mean_of(100 * (ours / other - 1), "%")
