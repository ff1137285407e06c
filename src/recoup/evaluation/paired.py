"""Differences between models that scored the same rows, with intervals and p-values.

A row moves both models' values. Its move of the one less its move of the other, squared and added
up over the rows, is the variance of the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup._core.multiplicity import holm
from recoup._core.prior import Prior
from recoup.evaluation.cuts import point_influences
from recoup.evaluation.differences import Difference
from recoup.evaluation.uncertainty import drawn_values, draws_for
from recoup.metrics import intervals
from recoup.metrics.influence import Influence, influence_of, known_slopes, row_slopes
from recoup.metrics.measure import observed_rates_at, raw_value
from recoup.metrics.observed import moved_mixture
from recoup.metrics.point_limits import N_DRAWS
from recoup.metrics.spec import MetricSpec
from recoup.scores.table import ScoreTable

# Shares of the draws of alpha, by how well labels tell the classes apart, at which errors are
# computed; between them they hardly bend.
KNOTS = (0.05, 0.5, 0.95)
# Moves of one row as a labeled and as an unlabeled one.
Moves = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class PairedRows:
    """The rows that all models scored.

    Attributes
    ----------
    labeled : ndarray of shape (n,), bool
        Rows counted as labeled.
    unlabeled : ndarray of shape (n,), bool
        Rows counted as unlabeled; with propensities all rows are.
    known : ndarray of shape (n,), bool
        Known negatives among the rows counted as unlabeled.
    weight : ndarray of shape (n,)
        Weight of each row.
    positives : ndarray of shape (n,)
        Weight of each row where it is counted as labeled.
    """

    labeled: NDArray[np.bool_]
    unlabeled: NDArray[np.bool_]
    known: NDArray[np.bool_]
    weight: FloatArray
    positives: FloatArray

    def moves(self, table: ScoreTable, places: NDArray[np.intp], influence: Influence) -> Moves:
        """How much each row moves a value, where it is counted as labeled and as unlabeled."""
        on_labeled, on_unlabeled = row_slopes(table, influence)
        labeled = self.positives[self.labeled] * on_labeled[places[self.labeled]]
        slopes = on_unlabeled[places[self.unlabeled]]
        if influence.known:
            slopes = slopes + np.where(self.known[self.unlabeled], *known_slopes(table, influence))
        return labeled, self.weight[self.unlabeled] * slopes

    def error(self, gap: Moves, table: ScoreTable) -> float:
        """Return the standard error of a value, from how much each row moves it."""
        if min(table.effective_sizes) <= 1 + 1e-9:
            return np.inf
        more = [size / (size - 1) for size in table.effective_sizes]
        variance = sum(
            correction * float(np.dot(part, part))
            for correction, part in zip(more, gap, strict=True)
        )
        if table.shared is not None:
            # A labeled row is counted as unlabeled too, and moves the value both ways.
            variance += 2 * float(np.dot(gap[0], gap[1][self.labeled[self.unlabeled]]))
        return float(np.sqrt(max(variance, 0.0)))


@dataclass(frozen=True, eq=False)
class Scored:
    """One model of a comparison.

    Attributes
    ----------
    table : ScoreTable
        The model's counted rows, known negatives folded in or rows weighted by propensity.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    threshold : float
        Where the model's scores become predictions.
    places : ndarray of shape (n,)
        Place of each row in the table, counted from the highest score.
    held : callable or None
        The rate, from ``(tpr, fpr, pi)``, that the threshold was looked up for in these rows; None
        for a threshold that other rows would not move.
    """

    table: ScoreTable
    scheme: Scheme
    threshold: float
    places: NDArray[np.intp]
    held: Callable[..., Any] | None = None

    @classmethod
    def of(
        cls,
        table: ScoreTable,
        scheme: Scheme,
        threshold: float,
        scores: FloatArray,
        held: Callable[..., Any] | None = None,
    ) -> Scored:
        """Find the place of each row from its score."""
        places = len(table.scores) - np.searchsorted(table.scores, scores, side="right")
        # Rows of weight zero may have scores that the table does not hold.
        return cls(table, scheme, threshold, np.minimum(places, len(table.scores) - 1), held)

    def raw(self, spec: MetricSpec, alpha: float, beta: float) -> float:
        """Value of a metric before it is clipped."""
        mixture = moved_mixture(self.table, self.scheme, alpha, beta, {})
        if spec.kind != "point":
            return raw_value(spec, self.table, mixture)
        rates = observed_rates_at(self.table, np.array([self.threshold]))
        tpr, fpr = (rate[0] for rate in mixture.true_rates(*rates))
        return float(spec.formula(tpr, fpr, mixture.pi))

    def influences(
        self, wanted: list[MetricSpec], alpha: float, beta: float
    ) -> dict[str, Influence | None]:
        """How much rows move each metric; None for one that the threshold holds equal."""
        mixture = moved_mixture(self.table, self.scheme, alpha, beta, {})
        points = [spec for spec in wanted if spec.kind == "point"]
        found = point_influences(points, self.table, mixture, self.threshold, self.held)
        for spec in wanted:
            if spec.kind != "point" and spec.row_effects is not None:
                found[spec.key] = influence_of(
                    spec.row_effects(self.table, mixture, np.nan),
                    partial(raw_value, spec, self.table),
                    self.table,
                    mixture,
                )
        return found


def paired_differences(
    rows: PairedRows,
    models: dict[str, Scored],
    wanted: list[MetricSpec],
    prior: Prior,
    confidence: float,
    times: float = 1.0,
) -> list[Difference]:
    """Differences of metrics between all pairs of models.

    Parameters
    ----------
    rows : PairedRows
        The rows that all models scored.
    models : dict of str to Scored
        By name.
    wanted : list of MetricSpec
        Metrics of which it is known how rows move them.
    prior : Prior
        Alpha and beta with their uncertainty.
    confidence : float
        Level of the intervals.
    times : float, default=1.0
        By how much rows that are not independent make errors larger.

    Returns
    -------
    list of Difference
        One for each metric and pair, p-values adjusted over the pairs.
    """
    pairs = list(combinations(models, 2))
    at = _shares(prior)
    errors: dict[tuple[str, str, str], list[float]] = {}
    for alpha, beta in at:
        known = {name: one.influences(wanted, alpha, beta) for name, one in models.items()}
        for spec in wanted:
            moves = {
                name: rows.moves(model.table, model.places, influence)
                for name, model in models.items()
                if (influence := known[name][spec.key]) is not None
            }
            for first, second in pairs:
                error = np.nan
                if first in moves and second in moves:
                    (one, two), (other, another) = moves[first], moves[second]
                    error = times * rows.error((one - other, two - another), models[first].table)
                errors.setdefault((spec.key, first, second), []).append(error)
    found: list[Difference] = []
    for spec in wanted:
        items = []
        for first, second in pairs:
            both = models[first], models[second]
            gap = both[0].raw(spec, prior.alpha, prior.beta)
            gap -= both[1].raw(spec, prior.alpha, prior.beta)
            shift, errors_of = _gaps(spec, *both, prior, at, errors[spec.key, first, second])
            size = both[0].table.effective_sizes[0]
            drawn = prior.alpha_draws is not None
            limits = _interval(shift, errors_of, size, confidence, drawn)
            items.append(Difference(spec.key, first, second, gap, *limits))
        adjusted = holm([item.p_value for item in items])
        found += [
            replace(item, p_adjusted=float(p)) for item, p in zip(items, adjusted, strict=True)
        ]
    return found


def _shares(prior: Prior) -> list[tuple[float, float]]:
    """Pairs of alpha and beta at which errors are computed."""
    if prior.alpha_draws is None:
        return [(alpha, prior.beta) for alpha in prior.corners()]
    alphas, betas = np.broadcast_arrays(*prior.some_draws(N_DRAWS))
    order = np.argsort(betas - alphas, kind="stable")
    chosen = order[[int(share * len(order)) for share in KNOTS]]
    return [(float(alphas[place]), float(betas[place])) for place in chosen]


def _gaps(
    spec: MetricSpec,
    first: Scored,
    second: Scored,
    prior: Prior,
    at: list[tuple[float, float]],
    errors: list[float],
) -> tuple[FloatArray, FloatArray]:
    """Difference and its error for each alpha of an interval, or for each of the draws."""
    if prior.alpha_draws is None:
        values = [first.raw(spec, *shares) - second.raw(spec, *shares) for shares in at]
        return np.array(values), np.array(errors)
    one, two = (
        drawn_values(spec, model.table, prior, model.scheme, model.threshold)
        for model in (first, second)
    )
    alphas, betas = draws_for(spec, prior)
    # Errors grow about as one over the gap between beta and alpha.
    knots = [1 / (beta - alpha) for alpha, beta in at]
    return one - two, np.interp(1 / (betas - alphas), knots[::-1], errors[::-1])


def _interval(
    shift: FloatArray, error: FloatArray, size: float, confidence: float, drawn: bool
) -> tuple[float, float, float]:
    """Limits and p-value of a difference: averaged over draws, or the worst case over alpha."""
    from scipy.optimize import brentq
    from scipy.special import stdtr

    if np.isnan(shift).any() or np.isnan(error).any():
        return np.nan, np.nan, np.nan
    freedom = max(size - 1, 1.0)
    # Without any noise a difference is certain, and none at all is no sign of one.
    error = np.maximum(error, 1e-15)
    half = intervals.t_quantile(confidence, size) * error
    if not drawn or not np.isfinite(error).all():
        # An interval of alpha does not say which one is likely: the least favorable counts.
        p_value = float(np.max(2 * stdtr(freedom, -np.abs(shift / error))))
        return float(np.min(shift - half)), float(np.max(shift + half)), p_value

    def below(limit: float) -> float:
        return float(np.mean(stdtr(freedom, (limit - shift) / error)))

    # Beyond these limits every draw has less than the tail that is wanted.
    ends = float(np.min(shift - 1.1 * half)), float(np.max(shift + 1.1 * half))
    low, high = (
        brentq(lambda limit, level=level: below(limit) - level, *ends, xtol=1e-12)
        for level in intervals.tails(confidence)
    )
    return low, high, min(2 * min(below(0.0), 1 - below(0.0)), 1.0)
