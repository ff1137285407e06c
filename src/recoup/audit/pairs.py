"""Differences between models that are judged by the same checked rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.checked import PER_PART, CheckedRows, parts_of
from recoup.audit.design import Design
from recoup.audit.estimating import value_draws
from recoup.audit.limits import groups_of
from recoup.audit.population import JudgedRows
from recoup.audit.results import AuditedEvaluation
from recoup.metrics.intervals import spread

# Metrics of one model by key, many times over.
Values: TypeAlias = Mapping[str, FloatArray]
# Both models of a pair: their rows by score, and the answers.
Pair: TypeAlias = tuple[tuple[JudgedRows, CheckedRows], tuple[JudgedRows, CheckedRows]]


@dataclass(frozen=True, eq=False)
class AuditedGap:
    """Metric of the first model minus that of the second, by the checked rows.

    Attributes
    ----------
    key : str
        Name of the metric.
    first : str
        Name of the first model.
    second : str
        Name of the second model.
    value : float
        The difference.
    lower : float
        Lower limit of its confidence interval.
    upper : float
        Upper limit of its confidence interval.
    p_value : float
        Of the test that there is no difference.
    """

    key: str
    first: str
    second: str
    value: float
    lower: float
    upper: float
    p_value: float


def audited_gaps(
    populations: Mapping[str, JudgedRows],
    checked: Mapping[str, CheckedRows],
    audited: Mapping[str, AuditedEvaluation],
    unlabeled: Mapping[str, NDArray[np.intp]],
    places: NDArray[np.intp],
    drawn_by: str | None,
    *,
    beta: float,
    confidence: float,
    seed: int,
) -> list[AuditedGap]:
    """Compare all pairs of models by all metrics that both have.

    The answers are drawn again for both models of a pair at once: what chance does to both cancels
    in each draw. Rows are grouped by which of the two calls them positive before all else: the few
    on which the models part decide the difference, and how many these are is known.

    Parameters
    ----------
    populations : mapping of str to JudgedRows
        Rows by the score of each model.
    checked : mapping of str to CheckedRows
        The same answers for each model, from one design.
    audited : mapping of str to AuditedEvaluation
        What the answers say of each model.
    unlabeled : mapping of str to ndarray of shape (n_unlabeled,)
        Cell of every unlabeled row by the score of each model.
    places : ndarray of shape (n_checked,)
        Which of the unlabeled rows were checked.
    drawn_by : str or None
        The model whose scores rows were drawn by; None if it is not among these.
    beta : float
        Share of right labels, if no label was checked.
    confidence : float
        Level of the intervals.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of AuditedGap
        Metric by metric, pairs in the order of the models.
    """
    found = []
    for first, second in combinations(checked, 2):
        both = _as_pair(populations, checked, unlabeled, places, drawn_by, (first, second))

        def drawn(truth: FloatArray, fill: float, both: Pair = both) -> tuple[Values, Values]:
            one, two = (
                value_draws(population, replace(answers, truth=truth).filled(fill), beta, seed)
                for population, answers in both
            )
            return one, two

        truth = checked[first].truth
        missing = checked[first].n_missing > 0
        cases = [drawn(truth, fill) for fill in ((0.0, 1.0) if missing else (0.0,))]
        # Answers that are missing move a difference most where they are right for one model alone.
        cases += [drawn(filled, 0.0) for filled in _divided(populations, checked, first, second)]
        for key in audited[first]:
            if key in audited[second].metrics:
                value = audited[first][key].audited - audited[second][key].audited
                limits = _limits([one[key] - two[key] for one, two in cases], value, confidence)
                found.append(AuditedGap(key, first, second, value, *limits))
    order = list(dict.fromkeys(gap.key for gap in found))
    return sorted(found, key=lambda gap: order.index(gap.key))


def _as_pair(
    populations: Mapping[str, JudgedRows],
    checked: Mapping[str, CheckedRows],
    unlabeled: Mapping[str, NDArray[np.intp]],
    places: NDArray[np.intp],
    drawn_by: str | None,
    pair: tuple[str, str],
) -> Pair:
    """Give two models one design, by which of them calls a row positive, then by the score."""
    # Always in the same order, so that naming the models in another one changes nothing.
    low, high = sorted(pair, key=lambda name: (name == drawn_by, name))
    cells = {name: unlabeled[name] for name in pair}
    side = 2 * (cells[high] >= populations[high].first_above) + (
        cells[low] >= populations[low].first_above
    )
    if drawn_by is None:
        order = _ranks(cells[low]) + _ranks(cells[high])
        stratum = np.zeros(len(order), np.intp)
    else:
        order = unlabeled[drawn_by].astype(float)
        stratum = np.searchsorted(checked[drawn_by].starts, order, side="right")
    _, index = np.unique(side * (order.max() + 1) + order, return_inverse=True)
    cell = index.astype(np.intp)
    rows = np.bincount(cell).astype(float)
    size = len(rows)
    by_side, kind = np.zeros(size, np.intp), np.zeros(size, np.intp)
    by_side[cell], kind[cell] = side, side * (stratum.max() + 1) + stratum
    sides = np.flatnonzero(np.diff(by_side, prepend=-1)).astype(np.intp)
    starts = np.flatnonzero(np.diff(kind, prepend=-1)).astype(np.intp)
    if drawn_by is None:
        starts = _cut(starts, np.sort(cell[places]))
    none, at = np.zeros(size), np.arange(size, dtype=float)
    first_above = float(np.count_nonzero(by_side < 2))
    scheme = populations[high].scheme
    population = JudgedRows(at, at, none, rows, none, scheme, first_above)
    known = checked[high].answered
    answers = replace(known, cells=cell[places][~np.isnan(checked[high].truth)], design=None)
    groups = groups_of(population, answers, starts)
    # Rows on which the models part have a group of their own, with however few answers.
    agreed = (by_side[groups] == 0) | (by_side[groups] == 3)
    groups = np.union1d(groups[agreed], sides)
    one, two = (
        (
            populations[name],
            replace(
                checked[name],
                starts=parts_of(populations[name], checked[name]),
                design=Design.of(population, cell[places], starts, cell, cells[name], groups),
            ),
        )
        for name in pair
    )
    return one, two


def _ranks(cells: NDArray[np.intp]) -> FloatArray:
    """Rank rows by their cells, ties in the middle."""
    counts = np.bincount(cells)
    middle: FloatArray = np.cumsum(counts) - (counts - 1) / 2
    return middle[cells]


def _cut(starts: NDArray[np.intp], cells: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cut parts further, so that each holds a few checked rows."""
    inside = np.searchsorted(starts, cells, side="right")
    more = [
        cells[inside == part][PER_PART : -(PER_PART // 2) : PER_PART] for part in np.unique(inside)
    ]
    return np.unique(np.concatenate([starts, *more]))


def _divided(
    populations: Mapping[str, JudgedRows],
    checked: Mapping[str, CheckedRows],
    first: str,
    second: str,
) -> list[FloatArray]:
    """Fill missing answers so that they speak for the first model, and for the second."""
    truth = checked[first].truth
    missing = np.isnan(truth)
    if not missing.any():
        return []
    above, rank = (
        np.array(list(pair), float)
        for pair in zip(
            *(_standing(populations[name], checked[name]) for name in (first, second)), strict=True
        )
    )
    for_first = [np.where(above[0] != above[1], above[0] > above[1], rank[0] > rank[1])]
    for_first.append(rank[0] > rank[1])
    return [np.where(missing, side, truth) for one in for_first for side in (one, ~one)]


def _standing(population: JudgedRows, checked: CheckedRows) -> tuple[FloatArray, FloatArray]:
    """Say which checked rows are predicted positive, and which share of the rows lies below."""
    heads = np.cumsum(population.rows) - population.rows / 2
    rank = heads / population.rows.sum()
    return (checked.cells >= population.first_above).astype(float), rank[checked.cells]


def _limits(cases: list[FloatArray], value: float, confidence: float) -> tuple[float, float, float]:
    """Limits and p-value of a difference: the least favorable of all fillings counts."""
    if np.isnan(value):
        return np.nan, np.nan, np.nan
    known = [gaps[np.isfinite(gaps)] for gaps in cases]
    if not all(len(gaps) for gaps in known):
        return np.nan, np.nan, np.nan
    ends = [spread(gaps, confidence) for gaps in known]
    p_values = []
    for gaps in known:
        # Areas of equal models differ by the rounding of sums.
        beyond = min(np.count_nonzero(gaps <= 1e-12), np.count_nonzero(gaps >= -1e-12))
        p_values.append(min(2 * (1 + beyond) / (len(gaps) + 1), 1.0))
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    low, high, p_value = float(min(low, value)), float(max(high, value)), max(p_values)
    # The estimate may lie beyond what most draws reach; then the test says what the limits do.
    return low, high, max(p_value, 1 - confidence) if low <= 0 <= high else p_value
