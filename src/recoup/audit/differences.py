"""Differences between models that are judged by the same checked rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from recoup._core.checks import FloatArray
from recoup.audit.checked import CheckedRows
from recoup.audit.estimating import value_draws
from recoup.audit.population import JudgedRows
from recoup.audit.results import AuditedEvaluation
from recoup.metrics.intervals import spread

# Metrics of one model by key, many times over.
Values = Mapping[str, FloatArray]


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
    *,
    beta: float,
    confidence: float,
    seed: int,
) -> list[AuditedGap]:
    """Compare all pairs of models by all metrics that both have.

    The answers are drawn again for all models at once, from the design that they share: what
    chance does to both models cancels in each draw.

    Parameters
    ----------
    populations : mapping of str to JudgedRows
        Rows by the score of each model.
    checked : mapping of str to CheckedRows
        The same answers for each model, from one design.
    audited : mapping of str to AuditedEvaluation
        What the answers say of each model.
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

    def drawn(name: str, answers: CheckedRows) -> Values:
        return value_draws(populations[name], answers, beta, seed)

    fills = (0.0, 1.0) if any(one.n_missing for one in checked.values()) else (0.0,)
    plain = [
        {name: drawn(name, one.filled(fill)) for name, one in checked.items()} for fill in fills
    ]
    found = []
    for first, second in combinations(checked, 2):
        cases = [(one[first], one[second]) for one in plain]
        # Answers that are missing move a difference most where they are right for one model alone.
        for truth in _divided(populations, checked, first, second):
            cases.append(
                tuple(
                    drawn(name, replace(checked[name], truth=truth).filled(0.0))
                    for name in (first, second)
                )  # type: ignore[arg-type]
            )
        for key in audited[first]:
            if key in audited[second].metrics:
                value = audited[first][key].audited - audited[second][key].audited
                limits = _limits([one[key] - two[key] for one, two in cases], value, confidence)
                found.append(AuditedGap(key, first, second, value, *limits))
    order = list(dict.fromkeys(gap.key for gap in found))
    return sorted(found, key=lambda gap: order.index(gap.key))


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
