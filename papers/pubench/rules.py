"""Shapes that many rules share: numbers from means over seeds, spreads over seeds, places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from papers.experiment import Effect, Verdict
from papers.pubench.finding import Judgement
from papers.pubench.intervals import exponential, over_seeds, over_units
from papers.pubench.published import DATASETS, PU_METHODS, table_1
from papers.pubench.study import Condition, Missing, Sample, View
from recoup._core.checks import FloatArray
from recoup.bench.hypothesis_tests import ranks_of

ACCURACY = (Condition("accuracy"),)
POINTS = "points"

Measure: TypeAlias = Callable[[Sample, FloatArray], float]
Decide: TypeAlias = Callable[[Effect, Sample], Verdict]
Judge: TypeAlias = Callable[[View], Judgement]


def seeded(
    measure: Measure,
    decide: Decide,
    unit: str,
    *,
    conditions: Sequence[Condition] = ACCURACY,
    datasets: Sequence[str] = DATASETS,
    needed: Sequence[str] = (),
    pool: Sequence[str] = PU_METHODS,
    least: int | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
    prepare: Callable[[View], View] = lambda view: view,
) -> Judge:
    """Return a rule about means over seeds: an array of datasets by conditions by methods.

    Parameters
    ----------
    measure : callable
        Takes the sample, for its names, and means; returns the number.
    decide : callable
        Takes the effect and the sample; returns the verdict.
    unit : str
        Of the number; ``{n}`` in it becomes the number of methods.
    conditions, datasets, needed, pool, least
        As for :meth:`~papers.pubench.study.View.sample`.
    limits : (float, float)
        Least and largest value that the number can have.
    prepare : callable
        Applied to the view first.
    """

    def judge(view: View) -> Judgement:
        sample = prepare(view).sample(conditions, datasets, needed=needed, pool=pool, least=least)
        shown = unit.format(n=len(sample.methods))
        effect = over_seeds(
            sample.values,
            lambda means: measure(sample, means),
            shown,
            limits=limits,
        )
        return Judgement(effect, decide(effect, sample), note=sample.note)

    return judge


def spread_ratio(
    first: Callable[[Sample], list[int]],
    second: Callable[[Sample], list[int]],
    decide: Callable[[Effect], Verdict],
    *,
    needed: Sequence[str] = (),
    pool: Sequence[str] = PU_METHODS,
) -> Judge:
    """Return a rule about how often as large the spread over seeds of some methods is.

    Spreads are standard deviations of accuracy over seeds; means of their logarithms are compared
    on each dataset, and the interval is over datasets.
    """

    def judge(view: View) -> Judgement:
        sample = view.sample(ACCURACY, DATASETS, needed=needed, pool=pool, least=5)
        if min(block.shape[2] for block in sample.values) < 2:
            raise Missing("one seed has no spread")
        logs = [np.log(np.maximum(block[0].std(axis=1, ddof=1), 1e-4)) for block in sample.values]
        ratios = [line[first(sample)].mean() - line[second(sample)].mean() for line in logs]
        effect = exponential(over_units(ratios, ""), "times as large")
        return Judgement(effect, decide(effect), note=sample.note)

    return judge


def shortfalls(accuracies: FloatArray) -> FloatArray:
    """Return how many points each method (last axis) lies behind the best of its dataset."""
    behind: FloatArray = 100 * (accuracies.max(axis=-1, keepdims=True) - accuracies)
    return behind


def places(values: FloatArray, higher_is_better: bool = True) -> FloatArray:
    """Return the place of each method, 1 the best; ties share one."""
    found: FloatArray = ranks_of(values[None], higher_is_better)[0]
    return found


def worst_place(sample: Sample, accuracies: FloatArray, chosen: Sequence[str]) -> float:
    """Return the last place that the chosen methods take by their mean shortfall."""
    found = places(shortfalls(accuracies).mean(axis=0), higher_is_better=False)
    return float(found[sample.at(*chosen)].max())


def printed(
    methods: tuple[str, ...] = PU_METHODS, datasets: tuple[str, ...] = DATASETS
) -> tuple[Sample, FloatArray]:
    """Return Table 1 as a sample with one seed, and its means: what a measure takes."""
    table = table_1(methods, datasets) / 100
    sample = Sample(datasets, methods, tuple(line[None, :, None] for line in table))
    return sample, sample.means
