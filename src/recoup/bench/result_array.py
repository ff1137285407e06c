"""Rows of a store as one array: cells by learners by seeds, and what is missing from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import recoup.metrics  # noqa: F401  registers them
from recoup._core.checks import FloatArray, brief, did_you_mean
from recoup.bench.job import OWN_LABELS, is_lent
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import METRICS, benched_specs

COSTS = {
    "seconds": "seconds",
    "seconds_per_epoch": "seconds per epoch",
    "peak_memory": "peak memory in bytes",
    "peak_gpu_memory": "peak GPU memory in bytes",
}
HONEST = "honest"
REFERENCE = "reference"


# What columns of metrics were called before they had the keys of their specs.
OLD_NAMES = {"auc": "roc_auc", "ap": "average_precision", "mcc": "matthews_corrcoef"}
OLD_NAMES |= {f"recovered_{old}": f"recovered_{new}" for old, new in OLD_NAMES.items()}


def renamed(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rows with the metrics' names of today, also where they were written before."""
    return [
        {OLD_NAMES.get(name, name): value for name, value in row.items()}
        if not OLD_NAMES.keys().isdisjoint(row)
        else row
        for row in rows
    ]


def label_of(metric: str) -> str:
    """Return how a metric is written in tables and pictures.

    Examples
    --------
    >>> label_of("balanced_accuracy"), label_of("recovered_roc_auc"), label_of("peak_memory")
    ('balanced accuracy', 'recovered AUC', 'peak memory in bytes')
    """
    metric = OLD_NAMES.get(metric, metric)
    recovered = metric.removeprefix("recovered_")
    label = COSTS.get(recovered, recovered)
    if recovered in METRICS:
        label = METRICS[recovered].short
        # An abbreviation keeps its capitals.
        label = label[0].lower() + label[1:] if label[1:2].islower() else label
    return label if recovered == metric else f"recovered {label}"


def lower_is_better(metric: str) -> bool:
    """Say whether less of it is better, as of time and memory."""
    spec = METRICS.get(metric.removeprefix("recovered_"))
    return metric in COSTS or (spec is not None and not spec.higher_is_better)


@dataclass(frozen=True)
class Cell:
    """What all learners of a comparison share: the dataset and how its labels were hidden.

    Attributes
    ----------
    dataset : str
        A dataset, or ``dataset/task``.
    scheme : str
        How rows are drawn.
    mechanism : str
        Which positives get a label.
    label_frequency : float
        Share of the positives with a label.
    noise : float or None
        Share of the labels that are wrong.
    """

    dataset: str
    scheme: str
    mechanism: str
    label_frequency: float
    noise: float | None = None

    def __str__(self) -> str:
        """Name the cell in a few words."""
        if self.mechanism == OWN_LABELS:
            return f"{self.dataset}, {self.scheme}, labels of its own"
        noise = f", noise {self.noise:g}" if self.noise else ""
        return (
            f"{self.dataset}, {self.scheme}, {self.mechanism}, c = {self.label_frequency:g}{noise}"
        )


Key: TypeAlias = tuple[Cell, str, int]


@dataclass(frozen=True)
class Gap:
    """Results that are missing.

    Attributes
    ----------
    learner : str
        Of which learner.
    cell : Cell
        In which cell.
    seeds : tuple of int
        For which seeds.
    reason : str
        Why, as a sentence.
    """

    learner: str
    cell: Cell
    seeds: tuple[int, ...]
    reason: str


@dataclass(frozen=True, eq=False)
class ResultArray:
    """One metric of all runs of a protocol.

    Attributes
    ----------
    metric : str
        Which metric.
    cells : tuple of Cell
        What the first axis stands for.
    learners : tuple of str
        What the second axis stands for.
    seeds : tuple of int
        What the third axis stands for.
    values : ndarray of shape (n_cells, n_learners, n_seeds)
        NaN where there is no result.
    planned : ndarray of bool of shape (n_cells, n_seeds)
        Whether any learner was to be run there.
    families : dict of str to str
        The family of each learner.
    gaps : tuple of Gap
        What is missing of what was planned for any learner.
    lent : int
        How many values were taken from honest runs, for learners whose result does not depend on
        the protocol.
    """

    metric: str
    cells: tuple[Cell, ...]
    learners: tuple[str, ...]
    seeds: tuple[int, ...]
    values: FloatArray
    planned: NDArray[np.bool_]
    families: dict[str, str]
    gaps: tuple[Gap, ...]
    lent: int = 0

    @property
    def references(self) -> set[str]:
        """Learners that take true classes."""
        return {name for name, family in self.families.items() if family == REFERENCE}


def result_array(
    rows: Iterable[Mapping[str, Any]], metric: str, protocol: str, caller: str
) -> ResultArray:
    """Arrange rows of one protocol by cell, learner and seed.

    A learner that selects no weights is skipped by the oracle protocol; its honest result, which
    would be the same, stands there instead.

    Parameters
    ----------
    rows : iterable of mapping
        What ``Store(path).rows()`` returns.
    metric : str
        Column to take.
    protocol : str
        Rows of other protocols are passed over.
    caller : str
        Named in errors.

    Returns
    -------
    ResultArray
    """
    everything = renamed(rows)
    metric = OLD_NAMES.get(metric, metric)
    kept = [row for row in everything if _entry(row, "protocol", caller) == protocol]
    if len({row.get("alpha") for row in kept}) > 1:
        # The same learner with another alpha is another one.
        everything = [_with_alpha(row) for row in everything]
        kept = [row for row in everything if row["protocol"] == protocol]
    if not kept:
        known = sorted({str(row["protocol"]) for row in everything})
        raise InvalidInputError(
            f"{caller} needs rows of the protocol it compares. Got {len(everything):,} rows, none "
            f"of them {brief(protocol)!r}; protocols found: {', '.join(known) or 'none'}."
        )
    if not any(metric in row for row in kept):
        names = [spec.key for spec in benched_specs()]
        known = [*names, *(f"recovered_{name}" for name in names), *COSTS]
        raise InvalidInputError(
            f"{caller} needs metric to be a column of the rows. Got {brief(metric)!r}."
            f"{did_you_mean(metric, known)}"
        )
    found: dict[Key, float] = {}
    reasons: dict[Key, str] = {}
    families: dict[str, str] = {}
    for row in kept:
        key = _key(row, caller)
        families[key[1]] = row.get("family") or ""
        status, value = _entry(row, "status", caller), row.get(metric)
        if status != "done":
            reasons[key] = f"{status}: {row.get('reason') or 'no reason given'}"
        elif value is None or not math.isfinite(value):
            reasons[key] = f"done, without a finite value of {metric}"
        elif key in found:
            raise InvalidInputError(
                f"{caller} needs one result for each cell, learner and seed: two of them cannot be "
                f"told apart. Got two for {key[1]}, {key[0]}, seed {key[2]}. Pass the rows of one "
                f"of the runs."
            )
        else:
            found[key] = float(value)
    lent = 0
    if protocol != HONEST:
        skipped = {_key(row, caller) for row in kept if is_lent(row)}
        for row in everything:
            value = row.get(metric)
            if row["protocol"] == HONEST and row["status"] == "done" and value is not None:
                key = _key(row, caller)
                if key in skipped and math.isfinite(value):
                    found[key], lent = float(value), lent + 1
    return _arrange(metric, found, reasons, families, lent)


def _with_alpha(row: Mapping[str, Any]) -> dict[str, Any]:
    alpha = row.get("alpha")
    named = f"{row['learner']}, alpha {alpha}" if alpha else row["learner"]
    return {**row, "learner": named}


def _key(row: Mapping[str, Any], caller: str) -> Key:
    cell = Cell(**{name: _entry(row, name, caller) for name in Cell.__dataclass_fields__})
    return cell, _entry(row, "learner", caller), _entry(row, "seed", caller)


def _entry(row: Mapping[str, Any], name: str, caller: str) -> Any:
    if name not in row:
        raise InvalidInputError(
            f"{caller} needs rows as a store returns them. Got one without {name!r}. "
            f"Take them from recoup.bench.Store(path).rows()."
        )
    return row[name]


def _arrange(
    metric: str,
    found: dict[Key, float],
    reasons: dict[Key, str],
    families: dict[str, str],
    lent: int,
) -> ResultArray:
    keys = [*found, *reasons]
    cells = sorted({key[0] for key in keys}, key=_order)
    learners = sorted({key[1] for key in keys})
    seeds = sorted({key[2] for key in keys})
    at_cell = {cell: place for place, cell in enumerate(cells)}
    at_learner = {name: place for place, name in enumerate(learners)}
    at_seed = {seed: place for place, seed in enumerate(seeds)}
    values = np.full((len(cells), len(learners), len(seeds)), np.nan)
    planned = np.zeros((len(cells), len(seeds)), bool)
    for cell, _, seed in keys:
        planned[at_cell[cell], at_seed[seed]] = True
    for (cell, learner, seed), value in found.items():
        values[at_cell[cell], at_learner[learner], at_seed[seed]] = value
    missing: dict[tuple[str, Cell, str], list[int]] = {}
    holes = np.argwhere(planned[:, None] & np.isnan(values))
    for c, k, s in holes:
        cell, learner, seed = cells[c], learners[k], seeds[s]
        why = reasons.get((cell, learner, seed), "not run")
        missing.setdefault((learner, cell, why), []).append(seed)
    gaps = [Gap(name, cell, tuple(lost), why) for (name, cell, why), lost in missing.items()]
    gaps.sort(key=lambda gap: (gap.learner, _order(gap.cell), gap.seeds))
    return ResultArray(
        metric,
        tuple(cells),
        tuple(learners),
        tuple(seeds),
        values,
        planned,
        families,
        tuple(gaps),
        lent,
    )


def _order(cell: Cell) -> tuple[Any, ...]:
    """Sort by name and then by number, whatever is unknown first."""
    return tuple((value is not None, value or 0) if not isinstance(value, str) else (True, value)
                 for value in vars(cell).values())  # fmt: skip


def average(values: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """Average what there is; NaN where there is nothing."""
    given: NDArray[np.bool_] = np.isfinite(values)
    n = given.sum(axis=axes)
    total = np.where(given, values, 0.0).sum(axis=axes)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def over_seeds(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation over seeds, NaN where there are too few."""
    given: NDArray[np.bool_] = np.isfinite(values)
    n = given.sum(axis=2)
    mean = average(values, axes=(2,))
    spread = np.where(given, values - mean[..., None], 0.0)
    std = np.sqrt((spread**2).sum(axis=2) / np.maximum(n - 1, 1))
    return mean, np.where(n > 1, std, np.nan)
