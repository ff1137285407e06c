"""The study's runs as the findings see them: which rows count, arranged by what was varied."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from papers.pubench.published import DATASET_TITLES, METHODS, PN, PU_METHODS, TITLES
from recoup._core.checks import FloatArray
from recoup.bench.job import OWN

LABEL_RATIOS = (0.01, 0.03, 0.05, 0.07, 0.09, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
CONVENTIONAL = 0.1
FEW, MANY = 0.05, 0.5
BIASED = ("s2", "s3", "s4")
# A claim about many methods or datasets is judged where so many of them have results.
ENOUGH = 0.75


class Missing(Exception):
    """What a finding needs and the results do not have; becomes "cannot be told"."""


class Condition(NamedTuple):
    """One measured number of a run, and how its labels were hidden.

    Attributes
    ----------
    metric : str
        A column of the rows; ``"f1"`` stands for the F1 that the view was asked for.
    mechanism : str
        Which positives got a label.
    c : float
        Share of the positives with a label.
    """

    metric: str
    mechanism: str = "scar"
    c: float = CONVENTIONAL


@dataclass(frozen=True, eq=False)
class Sample:
    """Results of the same methods on several datasets, complete.

    Attributes
    ----------
    datasets, methods : tuple of str
        What there are results of.
    values : tuple of ndarray of shape (n_conditions, n_methods, n_seeds)
        One for each dataset. Seeds of one dataset are shared by all in it.
    note : str
        What was left out because results are missing; empty if nothing was.
    """

    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    values: tuple[FloatArray, ...]
    note: str = ""

    @property
    def means(self) -> FloatArray:
        """Means over seeds: an array of shape (n_datasets, n_conditions, n_methods)."""
        return np.array([block.mean(axis=2) for block in self.values])

    def at(self, *methods: str) -> list[int]:
        """Return the places of methods."""
        return [self.methods.index(method) for method in methods]

    def others(self, *methods: str) -> list[int]:
        """Return the places of all methods but these."""
        return [place for place, name in enumerate(self.methods) if name not in methods]


@dataclass(frozen=True, eq=False)
class View:
    """Rows of one protocol and design, by method, dataset, mechanism, label ratio and seed.

    Attributes
    ----------
    name : str
        How a sentence names them.
    runs : mapping
        Rows by (method, dataset, mechanism, c), then by seed.
    f1 : str
        The column that findings about F1 read.
    distributions : mapping
        Scores of single runs, ``"lbe"`` and ``"pan"``, as
        :func:`recoup.bench.measure.distributions` counts them.
    """

    name: str
    runs: Mapping[tuple[str, str, str, float], Mapping[int, Mapping[str, Any]]]
    f1: str = "macro_f1"
    distributions: Mapping[str, Any] = field(default_factory=dict)

    def with_f1(self, column: str) -> View:
        """Return the same rows, read by another F1."""
        return replace(self, f1=column)

    def on_one_device(self) -> View:
        """Return the rows of the device that most methods of each dataset ran on."""
        counts: dict[str, Counter[str]] = {}
        for (_, dataset, _, _), cell in self.runs.items():
            devices = {str(row.get("device")) for row in cell.values()}
            counts.setdefault(dataset, Counter()).update(devices)
        usual = {dataset: found.most_common(1)[0][0] for dataset, found in counts.items()}
        runs = {
            place: {s: row for s, row in cell.items() if str(row.get("device")) == usual[place[1]]}
            for place, cell in self.runs.items()
        }
        return replace(self, runs=runs)

    def values(self, method: str, dataset: str, condition: Condition) -> dict[int, float]:
        """Return a number of each finished seed; empty where there is none."""
        metric = self.f1 if condition.metric == "f1" else condition.metric
        found = self.runs.get((method, dataset, condition.mechanism, condition.c), {})
        return {
            seed: float(row[metric])
            for seed, row in sorted(found.items())
            if row.get(metric) is not None and math.isfinite(row[metric])
        }

    def block(
        self, dataset: str, methods: Sequence[str], conditions: Sequence[Condition]
    ) -> FloatArray | None:
        """Return conditions by methods by the seeds that all of them have; None without any."""
        cells = [
            [self.values(method, dataset, condition) for method in methods]
            for condition in conditions
        ]
        seeds = set.intersection(*(set(cell) for line in cells for cell in line))
        if not seeds:
            return None
        order = sorted(seeds)
        return np.array([[[cell[seed] for seed in order] for cell in line] for line in cells])

    def sample(
        self,
        conditions: Sequence[Condition],
        datasets: Sequence[str],
        *,
        needed: Sequence[str] = (),
        pool: Sequence[str] = PU_METHODS,
        least: int | None = None,
    ) -> Sample:
        """Gather what a finding needs, or say what is missing.

        Parameters
        ----------
        conditions : sequence of Condition
            Numbers that every method must have on every dataset that counts.
        datasets : sequence of str
            That the finding is about.
        needed : sequence of str
            Methods without which a dataset does not count.
        pool : sequence of str
            Methods that these are compared with. One that lacks results on a dataset that counts,
            or seeds that three quarters have, is left out, as long as three quarters stay.
        least : int, optional
            Fewest datasets that must count; by default three quarters of them.
        """
        names = [*needed, *(method for method in pool if method not in needed)]
        floor = math.ceil(ENOUGH * len(names))
        has: dict[tuple[str, str], bool] = {}
        for dataset in datasets:
            seeds = {method: self._seeds(dataset, method, conditions) for method in names}
            wanted = _wanted_seeds(seeds, needed, floor)
            for method, own in seeds.items():
                has[dataset, method] = bool(own) and wanted <= own
        kept = [
            dataset
            for dataset in datasets
            if all(has[dataset, method] for method in needed)
            and sum(has[dataset, method] for method in names) >= floor
        ]
        fewest = math.ceil(ENOUGH * len(datasets)) if least is None else least
        if len(kept) < fewest:
            raise Missing(self._lacking(datasets, kept, needed, has))
        methods = [method for method in names if all(has[dataset, method] for dataset in kept)]
        if len(methods) < floor:
            lost = [TITLES[method] for method in names if method not in methods]
            raise Missing(f"too many methods lack results in {self.name}: {', '.join(lost)}")
        found = {dataset: self.block(dataset, methods, conditions) for dataset in kept}
        blocks = {dataset: block for dataset, block in found.items() if block is not None}
        if len(blocks) < fewest:
            bare = [DATASET_TITLES[dataset] for dataset in kept if dataset not in blocks]
            raise Missing(f"no seed is shared by all methods on {', '.join(bare)} in {self.name}")
        note = _left_out(datasets, list(blocks), names, methods)
        return Sample(tuple(blocks), tuple(methods), tuple(blocks.values()), note)

    def _seeds(self, dataset: str, method: str, conditions: Sequence[Condition]) -> set[int]:
        """Return the seeds of which a method has all conditions."""
        return set.intersection(
            *(set(self.values(method, dataset, condition)) for condition in conditions)
        )

    def _lacking(
        self,
        datasets: Sequence[str],
        kept: Sequence[str],
        needed: Sequence[str],
        has: Mapping[tuple[str, str], bool],
    ) -> str:
        where: dict[str, list[str]] = {}
        for dataset in datasets:
            if dataset not in kept:
                lost = [TITLES[method] for method in needed if not has[dataset, method]]
                what = ", ".join(lost) or "too many methods"
                where.setdefault(what, []).append(DATASET_TITLES[dataset])
        told = [
            f"{what} on {'every dataset' if len(names) == len(datasets) > 1 else ', '.join(names)}"
            for what, names in where.items()
        ]
        return f"{self.name} lack {'; '.join(told) or 'datasets'}"


def _wanted_seeds(seeds: Mapping[str, set[int]], needed: Sequence[str], floor: int) -> set[int]:
    """Return the seeds that a method must have: two or more that all share, else those of most."""
    counts = Counter(seed for own in seeds.values() for seed in own)
    usual = {seed for seed, count in counts.items() if count >= floor}
    usual.intersection_update(*(seeds[method] for method in needed))
    shared = usual.intersection(*(own for own in seeds.values() if own))
    return shared if len(shared) > 1 else usual


def _left_out(
    datasets: Sequence[str], kept: Sequence[str], names: Sequence[str], methods: Sequence[str]
) -> str:
    lost = [TITLES[name] for name in names if name not in methods]
    parts = []
    if len(kept) < len(datasets):
        parts.append(f"Judged on {', '.join(DATASET_TITLES[name] for name in kept)}.")
    if lost:
        parts.append(f"Without {', '.join(lost)}, whose results are missing.")
    return " ".join(parts)


PAPER = "runs by the paper's protocol"


@dataclass(frozen=True, eq=False)
class Study:
    """All runs, sorted into views.

    Attributes
    ----------
    paper : View
        The paper's protocol: labeled rows come again among the unlabeled ones, weights are chosen
        with classes, alpha is what the released code hands out.
    beyond : tuple of View
        The honest protocol, one view for each design: no classes, alpha as each method has it.
    variants : tuple of str
        Learners with other settings, which no finding is about.
    """

    paper: View
    beyond: tuple[View, ...]
    variants: tuple[str, ...] = ()


def study_of(
    rows: Iterable[Mapping[str, Any]], distributions: Mapping[str, Any] | None = None
) -> Study:
    """Sort rows of a store, or of an exported table, into views.

    Where several rows of a view have the same method, dataset, labels and seed, that with the
    learner's defaults comes first, then one with a preset; in the honest protocol alpha left to
    the learner comes before a known one.
    """
    gathered: dict[tuple[str, str], dict[Any, dict[int, tuple[Any, Mapping[str, Any]]]]] = {}
    variants: dict[str, None] = {}
    for row in rows:
        method = method_of(row)
        if method is None:
            if row.get("status") == "done":
                variants[str(row.get("learner"))] = None
            continue
        if row.get("status") != "done" or row.get("noise"):
            continue
        mechanism = "scar" if row["mechanism"] == "s1" else row["mechanism"]
        place = (method, row["dataset"], mechanism, round(float(row["label_frequency"]), 6))
        kept = gathered.setdefault((row["protocol"], row["scheme"]), {})
        cell = kept.setdefault(place, {})
        rank = _preference(row)
        if row["seed"] not in cell or rank < cell[row["seed"]][0]:
            cell[row["seed"]] = (rank, row)

    def view(protocol: str, schemes: Sequence[str], name: str) -> View:
        for scheme in schemes:
            found = gathered.get((protocol, scheme))
            if found:
                return View(
                    name,
                    {
                        place: {seed: row for seed, (_, row) in cell.items()}
                        for place, cell in found.items()
                    },
                )
        return View(name, {})

    beyond = (
        view("honest", ("case-control",), "honest runs on case-control data"),
        view("honest", ("single-sample",), "honest runs on single-sample data"),
    )
    paper = view("pubench", ("case-control-overlap", "case-control"), PAPER)
    return Study(replace(paper, distributions=distributions or {}), beyond, tuple(variants))


def _preference(row: Mapping[str, Any]) -> tuple[bool, bool, bool]:
    asked = row["protocol"] == "honest" and row.get("alpha") != OWN
    return asked, "alpha" in _params(row), bool(row.get("preset"))


def _params(row: Mapping[str, Any]) -> Mapping[str, Any]:
    params = row.get("params") or {}
    found: Mapping[str, Any] = json.loads(params) if isinstance(params, str) else params
    return found


def method_of(row: Mapping[str, Any]) -> str | None:
    """Return the paper's method that a row is a run of; None for other learners and settings.

    Examples
    --------
    >>> method_of({"key": "p3mix", "params": '{"mode":"e"}'}), method_of({"key": "nnpu"})
    ('p3mix-e', 'nnpu')
    >>> method_of({"key": "nnpu", "params": {"epochs": 2}}) is None
    True
    """
    params = _params(row)
    key = row.get("key")
    if set(params) - {"mode", "alpha"}:
        return None
    if row.get("preset") not in (None, "", "pubench", "paper"):
        return None
    if key == "p3mix":
        key = f"p3mix-{params.get('mode', 'e')}"
    return key if key in METHODS or key == PN else None
