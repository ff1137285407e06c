"""Metrics of every group and of all together, for plausible values of what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup.evaluation.group_alphas import GroupAlphas
from recoup.evaluation.group_pooling import pooled_normal, pooled_shares
from recoup.evaluation.group_rows import (
    MOST_NOISE,
    GroupRows,
    SharedPosterior,
    observed_auc,
    ranked_higher,
    shares_below,
)
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import MetricSpec, evaluated_specs

# Expected positives that stand behind how positives of all groups lie along the scores, where a
# group's own labels are few.
SHAPE_WEIGHT = 10.0


@dataclass(frozen=True, eq=False)
class GroupRates:
    """What every metric of a group is a function of; each array ends in the groups.

    Attributes
    ----------
    alpha : ndarray
        Share of positives among the rows that count as unlabeled.
    recall : ndarray
        Share of the positives that is predicted positive.
    others_above : ndarray
        Share of the rows that count as unlabeled that is predicted positive.
    fraction : ndarray
        Share of the judged rows that is labeled.
    auc_pu : ndarray
        Chance that a labeled row scores higher than one that counts as unlabeled.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    """

    alpha: FloatArray
    recall: FloatArray
    others_above: FloatArray
    fraction: FloatArray
    auc_pu: FloatArray
    scheme: Scheme

    @property
    def mixture(self) -> Mixture:
        """Shares of positives."""
        if self.scheme == "case-control":
            return Mixture(self.alpha, 1.0, self.alpha + 0.0, self.scheme)
        pi = self.fraction + (1 - self.fraction) * self.alpha
        return Mixture(self.alpha, 1.0, pi, self.scheme)

    def values(self, specs: list[MetricSpec]) -> dict[str, FloatArray]:
        """Every metric, by key; not clipped."""
        mixture = self.mixture
        tpr, fpr = mixture.true_rates(self.recall, self.others_above)
        found = {}
        for spec in specs:
            if spec.from_auc_pu is not None:
                value = spec.from_auc_pu(self.auc_pu, mixture)
            else:
                value = spec.formula(tpr, fpr, mixture.pi)
            found[spec.key] = np.asarray(value, float)
        return found


def group_specs() -> list[MetricSpec]:
    """Return the metrics of groups: those at a threshold, and areas that follow from AUC_pu."""
    areas = [spec for spec in evaluated_specs("area") if spec.from_auc_pu is not None]
    return [*areas, *evaluated_specs("point")]


@dataclass(frozen=True, eq=False)
class GroupDraws:
    """Metrics of every group, and of all together, with what is plausible.

    Attributes
    ----------
    values : dict of str to ndarray of shape (n_groups,)
        By key of the metric; ``"alpha"`` among them. Not clipped.
    draws : dict of str to ndarray of shape (n_cases, n_draws, n_groups)
        Plausible values.
    total : dict of str to float
        Of all groups together.
    total_draws : dict of str to ndarray of shape (n_cases, n_draws)
        Plausible values.
    own : dict of str to ndarray of shape (n_groups,)
        How much of each value came from the group's own rows.
    observed : dict of str to ndarray of shape (n_groups,)
        The values if every unlabeled row is taken as negative.
    total_observed : dict of str to float
        The same of all groups together.
    """

    values: dict[str, FloatArray]
    draws: dict[str, FloatArray]
    total: dict[str, float]
    total_draws: dict[str, FloatArray]
    own: dict[str, FloatArray]
    observed: dict[str, FloatArray]
    total_observed: dict[str, float]


def group_draws(
    rows: GroupRows,
    shared: SharedPosterior,
    alphas: GroupAlphas,
    times: Mapping[str, float],
    rng: np.random.Generator,
) -> GroupDraws:
    """Compute every metric of every group, and draw what is plausible.

    Parameters
    ----------
    rows : GroupRows
        Rows of every group.
    shared : SharedPosterior
        What all rows say of each group.
    alphas : GroupAlphas
        Alpha of every group.
    times : mapping of str to float
        By how much rows that are not independent widen the interval of each metric.
    rng : numpy.random.Generator
        Where draws come from.

    Returns
    -------
    GroupDraws
    """
    from scipy.special import expit

    n_draws = alphas.draws.shape[1]
    specs = group_specs()
    known = _known_share(rows)
    recall = pooled_shares(
        rows.above(rows.labeled), rows.n_labeled, *_recall_centers(rows, shared), n_draws, rng
    )
    value, error = observed_auc(rows)
    seen = (rows.n_labeled > 0) & (rows.n_others > 0)
    inside = np.clip(value, 1e-4, 1 - 1e-4)
    ranked = pooled_normal(
        np.where(seen, np.log(inside / (1 - inside)), np.nan),
        error / (inside * (1 - inside)),
        *_auc_centers(rows, shared, alphas.value * (1 - known)),
        n_draws,
        rng,
    )
    above, n_others = rows.above(rows.others), rows.n_others
    others_above = _divided(above, n_others)
    fraction = rows.n_labeled / np.maximum(rows.n_labeled + n_others, 1)
    center = GroupRates(
        alphas.value * (1 - known),
        expit(recall.center),
        others_above,
        fraction,
        expit(ranked.center),
        rows.scheme,
    )
    drawn = GroupRates(
        alphas.draws * (1 - known),
        expit(recall.draws),
        _drawn_shares(above, n_others, n_draws, rng),
        _drawn_shares(rows.n_labeled, rows.n_labeled + n_others, n_draws, rng),
        expit(ranked.draws),
        rows.scheme,
    )
    values, draws = center.values(specs), drawn.values(specs)
    total, total_draws = _recombined(rows, shared, center, drawn, specs, rng)
    for found, around in ((draws, values), (total_draws, total)):
        for key, factor in times.items():
            if key in found:
                found[key] = around[key] + factor * (found[key] - around[key])
    values["alpha"], draws["alpha"] = alphas.value, alphas.draws
    n_unlabeled = rows.n_unlabeled
    total["alpha"] = float(_weighted(alphas.value, n_unlabeled))
    total_draws["alpha"] = _weighted(alphas.draws, n_unlabeled)
    own = _own_shares(specs, center, alphas, recall.own, ranked.own, drawn)
    observed, total_observed = _observed(rows, specs, fraction, others_above)
    return GroupDraws(values, draws, total, total_draws, own, observed, total_observed)


def _known_share(rows: GroupRows) -> FloatArray:
    """Share of known negatives among the rows of each group that count as unlabeled."""
    if rows.scheme == "case-control":
        return np.zeros(len(rows.labeled))
    return _divided(rows.negative.sum(axis=1), rows.n_others)


def _recall_centers(rows: GroupRows, shared: SharedPosterior) -> tuple[FloatArray, FloatArray]:
    """Recall of each group in two ways: that of all labeled rows, or what its scores say."""
    everywhere = (rows.above(rows.labeled).sum() + 0.5) / (rows.n_labeled.sum() + 1)
    positives = shared.positives
    by_scores = (rows.above(positives) + everywhere) / (positives.sum(axis=1) + 1)
    is_above = np.arange(positives.shape[1]) >= rows.first_above
    noise = shared.noise_of(is_above.astype(float), by_scores)
    return _ways(np.full(len(by_scores), everywhere), by_scores, noise)


def _auc_centers(
    rows: GroupRows, shared: SharedPosterior, alpha: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """AUC_pu of each group in two ways: if AUC is the same everywhere, or what scores say."""
    labeled, others = rows.labeled.sum(axis=0), rows.others.sum(axis=0)
    n_others = rows.n_others
    mean = float(_weighted(alpha, n_others))
    pooled = (float(ranked_higher(labeled[None], others[None])[0]) - mean / 2) / (1 - mean)
    alike = alpha / 2 + (1 - alpha) * np.clip(pooled, 0.01, 1.0)
    by_scores = ranked_higher(shared.positives, rows.others)
    places = shares_below(rows.others)
    noise = shared.noise_of(places, by_scores)
    above = 1 - shares_below(shared.positives)
    spread = (rows.others * (above - by_scores[:, None]) ** 2).sum(axis=1)
    inside = np.clip(by_scores * (1 - by_scores), 1e-4, None)
    return _ways(alike, by_scores, noise + (spread + inside) / ((n_others + 1) * inside) ** 2)


def _ways(
    alike: FloatArray, by_scores: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Put two centers beside each other; the first is known from all rows, the second noisy."""
    noises = np.array([np.zeros(len(noise)), np.minimum(noise, MOST_NOISE)])
    return _logits(np.array([alike, by_scores])), noises


def _recombined(
    rows: GroupRows,
    shared: SharedPosterior,
    center: GroupRates,
    drawn: GroupRates,
    specs: list[MetricSpec],
    rng: np.random.Generator,
) -> tuple[dict[str, float], dict[str, FloatArray]]:
    """Put groups together by their positives and negatives: right where labels differ by group."""
    weight = rows.n_judged

    def totals(rates: GroupRates) -> tuple[FloatArray, FloatArray, FloatArray]:
        mixture = rates.mixture
        tpr, fpr = mixture.true_rates(rates.recall, rates.others_above)
        positives, negatives = weight * mixture.pi, weight * (1 - mixture.pi)
        return (
            _divided((positives * tpr).sum(axis=-1), positives.sum(axis=-1)),
            _divided((negatives * fpr).sum(axis=-1), negatives.sum(axis=-1)),
            positives.sum(axis=-1) / weight.sum(),
        )

    area, area_draws = _total_auc(rows, shared, center, drawn, rng)
    found: dict[str, float] = {}
    found_draws: dict[str, FloatArray] = {}
    at, at_draws = totals(center), totals(drawn)
    for spec in specs:
        if spec.from_auc_pu is None:
            found[spec.key] = float(spec.formula(*at))
            found_draws[spec.key] = np.asarray(spec.formula(*at_draws), float)
            continue
        # With nothing hidden, AUC_pu is AUC.
        mixtures = (Mixture(0.0, 1.0, pi, rows.scheme) for pi in (at[2], at_draws[2]))
        one, other = (
            spec.from_auc_pu(value, mixture)
            for value, mixture in zip((area, area_draws), mixtures, strict=True)
        )
        found[spec.key], found_draws[spec.key] = float(one), np.asarray(other, float)
    return found, found_draws


def _total_auc(
    rows: GroupRows,
    shared: SharedPosterior,
    center: GroupRates,
    drawn: GroupRates,
    rng: np.random.Generator,
) -> tuple[float, FloatArray]:
    """AUC of all groups together, from where positives and negatives of each group lie."""
    n_labeled = rows.n_labeled[:, None]
    expected = shared.positives
    by_scores = _divided(expected, expected.sum(axis=1, keepdims=True))
    # Where positives of each group lie along the scores.
    shape = (rows.labeled + SHAPE_WEIGHT * by_scores) / (n_labeled + SHAPE_WEIGHT)
    everyone = rows.others.sum(axis=0)
    if rows.scheme == "single-sample":
        everyone = everyone + rows.labeled.sum(axis=0)
    weight = rows.n_judged

    def area(positives: FloatArray) -> FloatArray:
        mass = positives @ shape
        return ranked_higher(mass, everyone - mass)

    mass = (weight * center.mixture.pi) @ shape
    value = float(ranked_higher(mass[None], (everyone - mass)[None])[0])
    draws = weight * drawn.mixture.pi
    some = np.array([area(case) for case in draws])
    error = _total_auc_error(rows, mass, everyone - mass, weight * center.mixture.pi, value)
    return value, some + error * rng.standard_normal(some.shape[1])


def _total_auc_error(
    rows: GroupRows,
    positives: FloatArray,
    negatives: FloatArray,
    by_group: FloatArray,
    value: float,
) -> float:
    """Say how far the AUC of all groups moves with the rows that happen to be there."""
    below, above = shares_below(negatives), 1 - shares_below(positives)
    n_positives, n_negatives = positives.sum(), max(float(negatives.sum()), 1.0)
    effect = (below - value) / n_positives - (above - value) / n_negatives
    sizes = rows.n_labeled
    mean = _divided(rows.labeled @ effect, sizes)
    second = _divided(rows.labeled @ effect**2, sizes)
    per_row = _divided(by_group, sizes + SHAPE_WEIGHT)
    variance = float((per_row**2 * sizes * np.maximum(second - mean**2, 0.0)).sum())
    variance += float(negatives @ (above - value) ** 2) / n_negatives**2
    return float(np.sqrt(variance))


def _own_shares(
    specs: list[MetricSpec],
    center: GroupRates,
    alphas: GroupAlphas,
    recall_own: FloatArray,
    auc_own: FloatArray,
    drawn: GroupRates,
) -> dict[str, FloatArray]:
    """How much of each metric came from the group's own rows.

    The shares of what it rests on, weighted by how far each moves it: squared, as variances are.
    """
    from dataclasses import replace

    parts = {
        "alpha": (drawn.alpha, alphas.own),
        "recall": (drawn.recall, recall_own),
        "auc_pu": (drawn.auc_pu, auc_own),
    }
    base = center.values(specs)
    moved: dict[str, list[tuple[FloatArray, FloatArray]]] = {spec.key: [] for spec in specs}
    for name, (draws, own) in parts.items():
        step = draws.std(axis=tuple(range(draws.ndim - 1)))
        values = replace(center, **{name: getattr(center, name) + step}).values(specs)
        for key, found in moved.items():
            found.append((np.nan_to_num(values[key] - base[key]) ** 2, own))
    result: dict[str, FloatArray] = {"alpha": alphas.own}
    for key, found in moved.items():
        size = np.sum([effect for effect, _ in found], axis=0)
        part = np.sum([effect * own for effect, own in found], axis=0)
        # What nothing shared moves is the group's own.
        result[key] = np.divide(part, size, out=np.ones_like(size), where=size > 0)
    return result


def _observed(
    rows: GroupRows, specs: list[MetricSpec], fraction: FloatArray, others_above: FloatArray
) -> tuple[dict[str, FloatArray], dict[str, float]]:
    """Every metric if unlabeled rows were negative, of the groups and of all together."""

    def values(labeled: FloatArray, others: FloatArray) -> dict[str, FloatArray]:
        sizes = labeled.sum(axis=1), others.sum(axis=1)
        rates = GroupRates(
            np.zeros(len(labeled)),
            _divided(rows.above(labeled), sizes[0]),
            _divided(rows.above(others), sizes[1]),
            sizes[0] / np.maximum(sizes[0] + sizes[1], 1),
            ranked_higher(labeled, others),
            "single-sample",
        )
        return rates.values(specs)

    everyone = rows.unlabeled + rows.negative
    by_group = values(rows.labeled, everyone)
    together = values(*(part.sum(axis=0, keepdims=True) for part in (rows.labeled, everyone)))
    zeros = np.zeros(len(rows.labeled))
    total = {key: float(value[0]) for key, value in together.items()}
    return by_group | {"alpha": zeros}, total | {"alpha": 0.0}


def _drawn_shares(
    hits: FloatArray, sizes: FloatArray, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Draw shares of counted rows, with half a row more of each kind for what is not seen."""
    return rng.beta(hits + 0.5, sizes - hits + 0.5, size=(n_draws, len(hits)))


def _weighted(values: FloatArray, weights: FloatArray) -> Any:
    return (values * weights).sum(axis=-1) / max(float(weights.sum()), 1e-12)


def _divided(part: Any, whole: Any) -> FloatArray:
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    found: FloatArray = np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
    return found


def _logits(shares: FloatArray) -> FloatArray:
    inside = np.clip(shares, 1e-4, 1 - 1e-4)
    found: FloatArray = np.log(inside / (1 - inside))
    return found
