"""Thresholds at which a promise can be kept, as far as checked rows tell, whatever the labels are.

The walk is that of :mod:`recoup.metrics.learn_then_test`. Labels and scores are known before any
row is checked, and so is how many rows are checked above each threshold: all of them may decide
where the walk starts. At each threshold the positives are drawn again as for an interval there; how
often a draw breaks the promise is the chance that the promise is tested by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.checked import CheckedRows, chances, hidden_mass, parts_of, right_share
from recoup.audit.estimating import drawn_cases
from recoup.audit.limits import Drawn
from recoup.audit.population import JudgedRows
from recoup.metrics.demands import Demand
from recoup.metrics.intervals import Ends, spread
from recoup.metrics.learn_then_test import N_APART, kept_apart, kept_in_order

# Where the walk starts: from the strictest threshold at which the checks could show anything (0)
# to the one that flags as many rows as the promise allows at most (1). Chosen by how often
# a threshold was found in simulations with other seeds than the study's; a walk from several starts
# found fewer. The level holds for any start.
START = 0.1
# Every threshold takes draws of all answers: of many only so many, evenly in the logarithm of the
# rows above. A plan has no more strata.
MOST_THRESHOLDS = 40


class ByAnswers:
    """Which thresholds keep a promise, by the answers about checked rows.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers.
    alpha : float
        Share of positives among the unlabeled rows, as far as the labels tell.
    beta : float
        Share of right labels, if none of them was checked.
    seed : int
        Seed of the draws.
    scores : ndarray of shape (n,), optional
        Thresholds to look at, highest first, if not the lowest scores of the parts.

    Attributes
    ----------
    thresholds : ndarray of shape (n,)
        Lowest scores of the parts that rows were drawn from, highest first: between two of them
        the answers do not tell where the positives lie.
    queue : ndarray of shape (n,)
        Rows at or above each of them.
    """

    def __init__(
        self,
        population: JudgedRows,
        checked: CheckedRows,
        alpha: float,
        beta: float,
        seed: int,
        scores: FloatArray | None = None,
    ) -> None:
        self.population = population
        self.checked = checked
        self.beta = beta
        self.seed = seed
        places = parts_of(population, checked)[::-1]
        if scores is not None:
            found: NDArray[np.intp] = np.searchsorted(population.scores, scores, side="left")
            places = found[found < len(population.scores)]
        queue = np.cumsum(population.rows[::-1])[::-1][places]
        some = np.flatnonzero(queue > 0)
        if len(some) > MOST_THRESHOLDS:
            wanted = np.geomspace(queue[some[0]], queue[some[-1]], MOST_THRESHOLDS)
            some = some[np.unique(np.searchsorted(queue[some], wanted * (1 - 1e-12)))]
        self.places, self.queue = places[some], queue[some]
        self.thresholds = population.scores[self.places].astype(float)
        hidden = hidden_mass(population, chances(population, alpha, checked), checked)
        self.positives = population.positives(hidden, right_share(checked, beta))
        ratio = alpha * population.unlabeled.sum()
        judged = population.labeled.sum() if population.scheme == "single-sample" else 0.0
        self.expected = float(ratio + beta * judged)
        self._drawn: dict[int, list[Drawn]] = {}

    def values(self, formula: Callable[..., Any]) -> FloatArray:
        """Return a metric at every threshold, not clipped."""
        found = [
            formula(*replace(self.population, threshold=at).rates(self.positives[None]))
            for at in self.thresholds
        ]
        return np.array(found, float).ravel()

    def interval(self, formula: Callable[..., Any], place: int, confidence: float) -> Ends:
        """Return the limits of a metric at a threshold."""
        ends = []
        for one in self._at(place):
            values = np.asarray(formula(*one.population.rates(one.positives)), float)
            values = values[np.isfinite(values)]
            if not len(values):
                return np.nan, np.nan
            certain = self.checked.certain
            ends.append((values.min(), values.max()) if certain else spread(values, confidence))
        return float(min(low for low, _ in ends)), float(max(high for _, high in ends))

    def p_value(self, demand: Demand, place: int) -> float:
        """Return how often draws break a promise at a threshold, whatever missing answers are."""
        found = []
        for one in self._at(place):
            values = np.asarray(demand.value(*one.population.rates(one.positives)), float)
            # Not a number, as where no row is flagged, keeps nothing.
            broken = np.count_nonzero(~(values >= demand.goal - 1e-12))
            certain = self.checked.certain
            found.append(float(broken > 0) if certain else (1 + broken) / (1 + len(values)))
        return max(found)

    def kept(self, demand: Demand, level: float) -> NDArray[np.bool_]:
        """Return at which thresholds a promise is shown to be kept.

        Parameters
        ----------
        demand : Demand
            What is promised.
        level : float
            Chance that any of the returned thresholds breaks the promise.

        Returns
        -------
        ndarray of bool of shape (n,)
        """
        n = len(self.thresholds)

        def shown(place: int, level: float) -> bool:
            return self.p_value(demand, place) <= level

        if demand.kind == "cost":
            some = np.unique(np.linspace(0, n - 1, N_APART).round().astype(np.intp))
            return kept_apart(shown, some, n, level)
        if demand.kind == "recall":
            return kept_in_order(shown, np.arange(n)[::-1], np.array([0]), level)
        first = int(np.argmax(self._best_case(level) >= demand.goal))
        last = int(np.searchsorted(self.queue, self.expected / demand.goal))
        last = max(min(last, n - 1), first)
        start = np.array([round(first + (last - first) * START)])
        return kept_in_order(shown, np.arange(n), start, level)

    def _best_case(self, level: float) -> FloatArray:
        """Return the largest precision that checks could show, if all above were positive."""
        population, answered = self.population, self.checked.answered
        checks = np.bincount(answered.cells, minlength=len(population.scores))
        n_checks, sure, rest = (
            np.cumsum(np.asarray(column, float)[::-1])[::-1][self.places]
            for column in (checks, self._certain(), population.unlabeled)
        )
        n_checks = np.maximum(n_checks, 1e-9)
        found: FloatArray = (sure + rest * level ** (1 / n_checks)) / self.queue
        return found

    def _certain(self) -> FloatArray:
        """Return the positives among the judged rows that nobody needs to check."""
        if self.population.scheme == "case-control":
            return np.zeros_like(self.population.labeled)
        return self.population.labeled * right_share(self.checked, self.beta)

    def _at(self, place: int) -> list[Drawn]:
        if place not in self._drawn:
            at = replace(self.population, threshold=float(self.thresholds[place]))
            self._drawn[place] = drawn_cases(at, self.checked, self.beta, self.seed, 2)
        return self._drawn[place]
