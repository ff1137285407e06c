"""compare: which of several models is better, and for which alpha."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import (
    FloatArray,
    Scheme,
    as_numbers,
    check_same_length,
    label_masks,
)
from recoup._core.multiplicity import holm
from recoup._core.notes import Note
from recoup._core.prior import Prior, estimation_method, prior_notes
from recoup._core.random import RandomState, as_seed
from recoup.evaluation.comparison import Comparison, Difference, WinRange
from recoup.evaluation.evaluate import evaluate
from recoup.evaluation.inputs import MANY_ROWS, check_confidence, estimated_prior
from recoup.evaluation.results import Evaluation
from recoup.evaluation.uncertainty import N_DRAWS, tails
from recoup.exceptions import InvalidInputError
from recoup.metrics import intervals
from recoup.metrics.area import auc_pu
from recoup.metrics.curves import recovered_roc
from recoup.metrics.measure import measure
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import metric_spec
from recoup.scores.table import DEFAULT_BINS, ScoreTable


def compare(
    s: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    alpha: Any,
    beta: Any = None,
    scheme: Scheme = "single-sample",
    metric: str = "roc_auc",
    threshold: float | str | None = None,
    confidence: float = 0.95,
    n_boot: int = 2000,
    random_state: RandomState = 0,
) -> Comparison:
    """Compare models that scored the same positive-unlabeled rows.

    Differences are paired: every row's influence on the first model's metric is set against its
    influence on the second's, so that what both models find easy or hard cancels.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : mapping of str to array-like of shape (n,)
        The scores of each model, at least two.
    alpha : float, (low, high), draws, prior estimate or "estimate"
        Share of positives among the unlabeled rows, as for :func:`recoup.evaluate`. With
        ``"estimate"`` or the key of an estimator it is estimated once for all models, from the
        scores that tell labeled from unlabeled rows best: any others can only raise the share of
        positives that seems possible.
    beta : float, draws or "estimate", default=1.0
        Share of true positives among the labeled rows. ``"estimate"`` goes with an alpha that is
        estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    metric : str, default="roc_auc"
        Key of the metric that ranks the models; differences are given for all metrics.
    threshold : float or str, optional
        Where scores become predictions (``score >= threshold``), or the name of a metric to
        maximize for each model. By default 0.5 if all scores of a model lie in [0, 1], or
        where a row is as likely positive as not if they are chances of having a label; else
        where its Youden's J is largest.
    confidence : float, default=0.95
        Level of intervals and bounds.
    n_boot : int, default=2000
        Bootstrap replicates for areas and bands of each model. 0 leaves them out.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(4000) < 0.3
    >>> s = (positive & (rng.random(4000) < 0.4)).astype(int)
    >>> good = rng.normal(2.0 * positive)
    >>> comparison = compare(
    ...     s, {"good": good, "noisy": good + rng.normal(size=4000)}, alpha=0.2, threshold=1.0
    ... )
    >>> comparison.difference("good", "noisy")
    Difference(roc_auc: good - noisy = +0.07976 [+0.06041, +0.09911], p=...)
    """
    if len(scores) < 2:
        raise InvalidInputError(
            f"compare needs at least two models. Got {len(scores)}. "
            f"Pass scores={{'a': scores_a, 'b': scores_b}}, or use evaluate for one."
        )
    metric_spec(metric, "compare")
    check_confidence(confidence, "compare")
    wanted = estimation_method(alpha, beta, "compare")
    # One number for all models, so that they are judged on the same draws.
    seed = as_seed(random_state, "compare")
    labeled, unlabeled, negative = label_masks(s, "compare")
    if negative is not None and scheme == "single-sample":
        unlabeled = unlabeled | negative
    masks = (labeled, unlabeled)
    columns: dict[str, FloatArray] = {}
    for name, values in scores.items():
        columns[name] = as_numbers(values, f"scores of {name!r}", "compare")
        check_same_length(masks[0], columns[name], f"s and scores of {name!r}", "compare")
        if not np.isfinite(columns[name]).all():
            raise InvalidInputError(
                f"compare needs every score to be a finite number. Got "
                f"{int((~np.isfinite(columns[name])).sum()):,} missing or infinite scores of "
                f"{name!r}. Drop or impute those rows for all models."
            )
    notes: list[Note] = []
    if wanted is not None:
        best, prior = _shared_prior(s, columns, alpha, beta, confidence, seed)
        alpha, beta = prior.estimate, None if beta is None else 1.0
        notes.append(
            Note(
                "shared-prior",
                f"alpha {prior} is the same for all models, and comes from the scores of "
                f"{best!r}, which tell labeled from unlabeled rows best.",
            )
        )
    evaluations = {
        name: evaluate(
            s,
            values,
            alpha=alpha,
            beta=beta,
            scheme=scheme,
            threshold=threshold,
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
        )
        for name, values in columns.items()
    }
    shared = set.intersection(*(set(one) for one in evaluations.values()))
    if metric not in shared:
        reason = "evaluations leave it out, for it is another metric without its parameters"
        if metric_spec(metric, "compare").needs_probabilities:
            reason = "it needs scores in [0, 1] from every model"
        raise InvalidInputError(f"compare cannot rank by {metric!r}: {reason}.")
    keys = [key for key in next(iter(evaluations.values())) if key in shared]
    places = {
        name: [_bins_of(columns[name][mask], one) for mask in masks]
        for name, one in evaluations.items()
    }
    rng = np.random.default_rng(seed)
    found: dict[str, list[Difference]] = {
        key: [] for key in keys if metric_spec(key, "compare").row_effects is not None
    }
    for first, second in combinations(evaluations, 2):
        for key, item in _paired(evaluations, places, first, second, list(found), rng).items():
            found[key].append(item)
    differences = tuple(item for items in found.values() for item in _holm(items))
    estimate = next(iter(evaluations.values())).prior_estimate
    about_alpha = [] if estimate is None else prior_notes(estimate)
    notes += about_alpha
    for name, one in evaluations.items():
        notes += [note.about(name) for note in one.notes if note not in about_alpha]
    return Comparison(metric, evaluations, differences, _wins(evaluations, keys), tuple(notes))


def _shared_prior(
    s: ArrayLike,
    columns: Mapping[str, FloatArray],
    alpha: str,
    beta: Any,
    confidence: float,
    seed: int,
) -> tuple[str, Prior]:
    """Estimate alpha from the most informative scores; return whose they are, and the prior."""

    def table_of(name: str) -> ScoreTable:
        bins = DEFAULT_BINS if len(columns[name]) > MANY_ROWS else None
        return ScoreTable._count(s, columns[name], None, bins, (), "compare")

    best = max(columns, key=lambda name: auc_pu(table_of(name)))
    table = table_of(best)
    return best, estimated_prior(table, alpha, beta, confidence, seed, "compare")


def _bins_of(values: FloatArray, evaluation: Evaluation) -> NDArray[np.intp]:
    """Place of each row in its model's table, counted from the highest score."""
    scores = evaluation.table.scores
    return len(scores) - np.searchsorted(scores, values, side="right")


def _paired(
    evaluations: dict[str, Evaluation],
    places: dict[str, list[NDArray[np.intp]]],
    first: str,
    second: str,
    keys: list[str],
    rng: np.random.Generator,
) -> dict[str, Difference]:
    """Paired differences of all metrics between two models."""
    one = evaluations[first]
    prior, size = one.prior, one.table.effective_sizes[0]
    alphas, betas = np.array([prior.alpha]), np.array([prior.beta])
    if prior.interval is not None:
        alphas, betas = np.linspace(*prior.interval, 3), np.full(3, prior.beta)
    elif prior.alpha_draws is not None:
        order = np.argsort(prior.alpha_draws)
        chosen = order[((np.arange(9) + 0.5) / 9 * len(order)).astype(int)]
        alphas, betas = prior.alpha_draws[chosen], np.full(9, prior.beta)
        if prior.beta_draws is not None:
            betas = prior.beta_draws[chosen]

    gaps: dict[str, list[tuple[float, float]]] = {key: [] for key in keys}
    for alpha, beta in zip(alphas, betas, strict=True):
        values, influences = [], []
        for name in (first, second):
            model = evaluations[name]
            mixture = Mixture.of(model.table, float(alpha), float(beta), model.scheme)
            roc = recovered_roc(model.table, mixture)
            values.append(measure(model.table, mixture, roc, model.threshold))
            influences.append(
                {
                    key: influence(model.table, mixture, model.threshold)
                    for key in keys
                    if (influence := metric_spec(key, "compare").row_effects) is not None
                }
            )
        for key in keys:
            variance = 0.0
            for group in range(2):
                rows = [
                    influence[key][group][places[name][group]]
                    for name, influence in zip((first, second), influences, strict=True)
                ]
                gap = rows[0] - rows[1]
                variance += gap.var(ddof=1) / len(gap) if len(gap) > 1 else np.inf
            gaps[key].append((values[0][key][0] - values[1][key][0], float(np.sqrt(variance))))

    center = len(alphas) // 2
    # The same draws for every metric: one metric more or less moves no number of another.
    draws = None
    if len(alphas) > 1 and prior.interval is None:
        chosen = rng.integers(len(alphas), size=N_DRAWS)
        draws = chosen, rng.standard_t(max(size - 1, 1.0), size=N_DRAWS)
    result = {}
    for key in keys:
        shift, error = np.transpose(gaps[key])
        low, high, p_value = _interval_of_gap(shift, error, draws, one.confidence, size)
        result[key] = Difference(key, first, second, float(shift[center]), low, high, p_value)
    return result


def _interval_of_gap(
    shift: FloatArray,
    error: FloatArray,
    draws: tuple[NDArray[np.int64], FloatArray] | None,
    confidence: float,
    size: float,
) -> tuple[float, float, float]:
    """Interval and p-value of a difference: the worst case over alpha, or averaged over draws."""
    from scipy.special import stdtr

    freedom = max(size - 1, 1.0)
    if np.isnan(shift).any():
        return np.nan, np.nan, np.nan
    # Without any noise a difference is certain, and its t is infinite; 0 / 0 counts as 0.
    certain = np.where(shift == 0, 0.0, np.copysign(np.inf, shift))
    ratio = np.divide(shift, error, out=certain, where=error > 0)
    # An interval of alpha says nothing about which alpha is likely: the least favorable one counts.
    if draws is None:
        half = intervals.t_quantile(confidence, size) * error
        p_value = float(np.max(2 * stdtr(freedom, -np.abs(ratio))))
        return float(np.min(shift - half)), float(np.max(shift + half)), p_value
    chosen, noise = draws
    low, high = np.quantile(shift[chosen] + noise * error[chosen], tails(confidence))
    # Averaged over draws of alpha, the exact chance of a difference below zero.
    below = float(np.mean(stdtr(freedom, -ratio)))
    return float(low), float(high), 2 * min(below, 1 - below)


def _holm(items: list[Difference]) -> list[Difference]:
    """Add Holm's step-down adjusted p-values."""
    adjusted = holm([item.p_value for item in items])
    return [
        Difference(**(vars(item) | {"p_adjusted": float(p)}))
        for item, p in zip(items, adjusted, strict=True)
    ]


def _wins(evaluations: dict[str, Evaluation], keys: list[str]) -> tuple[WinRange, ...]:
    """Ranges of alpha over which each model is best, up to what the scores allow."""
    first = next(iter(evaluations.values()))
    top = min(one.feasibility.alpha_upper for one in evaluations.values())
    alphas = np.linspace(0.0, max(min(top, first.beta - 0.01), first.alpha, 0.01), 101)
    curves = {name: one.sensitivity(alphas).values for name, one in evaluations.items()}
    names = list(evaluations)
    wins = []
    for key in keys:
        values = np.array([curves[name][key] for name in names])
        if not metric_spec(key, "compare").higher_is_better:
            values = -values
        values = np.where(np.isnan(values), -np.inf, values)
        best = values.argmax(0)
        # Ties (a metric that alpha does not reach) go to the model that already leads.
        for i in range(1, len(best)):
            if values[best[i - 1], i] >= values[best[i], i] - 1e-12:
                best[i] = best[i - 1]
        changes = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), len(alphas)]
        low = 0.0
        for start, end in pairwise(changes):
            high = float(alphas[-1])
            if end < len(alphas):
                high = _crossing(alphas, values[best[start]], values[best[end]], end)
            wins.append(WinRange(key, names[best[start]], low, high))
            low = high
    return tuple(wins)


def _crossing(alphas: FloatArray, old: FloatArray, new: FloatArray, end: int) -> float:
    """Alpha between two grid points where the lead changes hands."""
    before, after = old[end - 1] - new[end - 1], new[end] - old[end]
    share = before / (before + after) if before + after > 0 else 1.0
    return float(alphas[end - 1] + np.clip(share, 0, 1) * (alphas[end] - alphas[end - 1]))
