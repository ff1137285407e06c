"""What features tell about biased labels, put into an estimate that took labels as random."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, label_masks
from recoup._core.notes import Note
from recoup._core.text import show_digits, show_p, show_percent
from recoup.priors._solvers.groups import unit_columns
from recoup.priors.base import plausible
from recoup.priors.kinds import (
    Heterogeneity,
    Kinds,
    described,
    find_kinds,
    heterogeneity,
    log_rates,
    mean_rate,
    propensities,
    shrunk_shares,
)
from recoup.priors.labels import UNCHECKED, LabelSelection
from recoup.priors.results import PriorEstimate
from recoup.priors.tilted_labels import LEVEL as TILT_LEVEL
from recoup.priors.tilted_labels import Tilt, find_tilt

# At this level kinds are said to be labeled at different rates.
LEVEL = 0.05
# Of more rows than this, so many are drawn: kinds that matter show among them.
MAX_ROWS = 20_000
# Metrics cannot be recovered where every unlabeled row may be positive.
MOST = 0.995


def with_labels(
    estimate: PriorEstimate, X: Any, s: ArrayLike, rng: np.random.Generator
) -> PriorEstimate:
    """Look for kinds and tilts, and let alpha and its interval allow for what is found.

    Parameters
    ----------
    estimate : PriorEstimate
        Alpha as it is if labels are random.
    X : array-like, sparse matrix or data frame with n rows
        Features. Other than numbers without gaps they show no kinds.
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    rng : Generator
        Source of everything random.

    Returns
    -------
    PriorEstimate
        With ``labels``.
    """
    started = perf_counter()
    found = _looked(estimate, X, s, rng)
    return replace(found, seconds=estimate.seconds + perf_counter() - started)


def _looked(
    estimate: PriorEstimate, X: Any, s: ArrayLike, rng: np.random.Generator
) -> PriorEstimate:
    labeled, unlabeled, _ = label_masks(s, "estimate")
    features = _numbers(X)
    if features is None:
        return _nothing_said(estimate, "Kinds are sought in dense columns of numbers only.")
    if estimate.beta < 1:
        return _nothing_said(estimate, "Kinds are sought where every label is right only.")
    used = np.flatnonzero(labeled | unlabeled)
    rows = used
    if len(rows) > MAX_ROWS:
        rows = np.sort(rng.permutation(rows)[:MAX_ROWS])
    marks = labeled[rows].astype(int)
    if marks.sum() < 2 or not np.ptp(features[rows], axis=0).any():
        return _nothing_said(estimate, "These rows show no kinds.")
    scaled = unit_columns(features[rows])
    kinds = find_kinds(scaled, marks, int(rng.integers(2**31)))
    tested = None
    if kinds.number > 1:
        tested = heterogeneity(kinds, marks, rng)
        estimate = _allowing_for(estimate, kinds, tested)
        if tested.p_value <= LEVEL:
            chance = None
            if len(rows) == len(used):
                chance = np.full(len(labeled), estimate.label_frequency)
                chance[rows] = propensities(kinds)
            return _of_kinds(estimate, kinds, tested, chance)
    tilt = find_tilt(scaled, marks, 1 - kinds.chances[:, 0], rng)
    if tilt.fits and tilt.p_value <= TILT_LEVEL:
        return _tilted(estimate, tilt)
    return _cannot_tell(estimate, kinds, tested, tilt)


def _numbers(X: Any) -> FloatArray | None:
    """Return the features as a table of finite numbers, if that is what they are."""
    if hasattr(X, "tocsr"):
        return None
    try:
        features = np.asarray(X, np.float64)
    except (TypeError, ValueError):
        return None
    if features.ndim != 2 or not np.isfinite(features).all():
        return None
    return features


def _nothing_said(estimate: PriorEstimate, reason: str) -> PriorEstimate:
    found = LabelSelection("cannot-tell", float("nan"), text=f"{reason} {UNCHECKED}")
    return replace(estimate, labels=found)


def _allowing_for(estimate: PriorEstimate, kinds: Kinds, tested: Heterogeneity) -> PriorEstimate:
    """Draw the rate of every kind to the common one, as far as the evidence goes."""
    n_labeled = float(kinds.sizes.sum())
    differ = tested.p_value <= LEVEL

    def common(alphas: Any, own: FloatArray) -> FloatArray:
        rates = log_rates(np.atleast_1d(alphas), n_labeled, kinds.n_unlabeled)
        if not differ:
            return rates
        # The rate that all positives would share leans to the most labeled kind where kinds
        # differ; the mean of the kinds suffers from the ones that overlap with each other.
        halfway: FloatArray = (rates + mean_rate(kinds, own, tested.between)) / 2
        return halfway

    center = common(estimate.alpha, kinds.log_rates[:, None])
    alpha = float(shrunk_shares(kinds, center, tested.between)[0])
    alpha = min(alpha, MOST)
    draws, interval = None, None
    if estimate.draws is not None:
        alphas = np.sort(_alphas(estimate.draws))
        # The lowest rate of each kind together, and so on: errors of one forest go one way.
        own = kinds.rate_draws(len(alphas))[:, ::-1]
        drawn = shrunk_shares(kinds, common(alphas, own), tested.between, own)
        draws, interval = _around(np.sort(drawn), alpha, estimate)
    members = dict(estimate.members) | {"kinds": float(min(kinds.alphas.sum(), 1.0))}
    return replace(estimate, alpha=alpha, draws=draws, interval=interval, members=members)


def _alphas(draws: FloatArray) -> FloatArray:
    return draws if draws.ndim == 1 else np.asarray(draws[:, 0])


def _around(
    drawn: FloatArray, alpha: float, estimate: PriorEstimate
) -> tuple[FloatArray, tuple[float, float]]:
    both = estimate.draws is not None and estimate.draws.ndim == 2
    draws = plausible(np.column_stack([drawn, np.ones(len(drawn))]), both=both)
    tail = (1 - estimate.confidence) / 2
    low, high = np.quantile(_alphas(draws), [tail, 1 - tail])
    return draws, (min(float(low), alpha), max(float(high), alpha))


def _of_kinds(
    estimate: PriorEstimate,
    kinds: Kinds,
    tested: Heterogeneity,
    chance: NDArray[np.float64] | None,
) -> PriorEstimate:
    each = described(kinds)
    rates = [kind.label_frequency for kind in each]
    text = (
        f"Positives come in {kinds.number} kinds that are labeled at different rates, from "
        f"{show_percent(round(min(rates), 2))} to {show_percent(round(max(rates), 2))} of them (p "
        f"{show_p(tested.p_value)}): labels are no random sample. Alpha allows for the kinds that "
        f"were found; a kind without any label cannot be seen."
    )
    found = LabelSelection("kinds", tested.p_value, each, text, propensity=chance)
    return replace(
        estimate,
        labels=found,
        identified=None,
        warnings=(*estimate.warnings, Note("kinds", text)),
    )


def _tilted(estimate: PriorEstimate, tilt: Tilt) -> PriorEstimate:
    way = "clear" if tilt.strength > 0 else "doubtful"
    text = (
        f"Labels favor {way} positives (p {show_p(tilt.p_value)}), if the class is a logistic "
        f"function of the columns, as it seems to be: labels are no random sample. Alpha is "
        f"{show_digits(tilt.alpha, 2)} then, and {show_digits(estimate.alpha, 2)} if labels were "
        f"random."
    )
    draws, interval = estimate.draws, estimate.interval
    if draws is not None:
        alphas = np.sort(_alphas(draws))
        moved = np.concatenate([alphas, alphas - estimate.alpha + tilt.alpha])
        draws, interval = _around(np.sort(moved), tilt.alpha, estimate)
    return replace(
        estimate,
        alpha=min(tilt.alpha, MOST),
        draws=draws,
        interval=interval,
        members=dict(estimate.members) | {"tilt": tilt.alpha},
        identified=None,
        labels=LabelSelection("tilt", tilt.p_value, (), text, tilt.p_value),
        warnings=(*estimate.warnings, Note("tilt", text)),
    )


def _cannot_tell(
    estimate: PriorEstimate, kinds: Kinds, tested: Heterogeneity | None, tilt: Tilt
) -> PriorEstimate:
    if tested is None:
        seen = "The labeled rows show one kind of positives."
        p_value = float("nan")
    else:
        p_value = tested.p_value
        seen = (
            f"The {kinds.number} kinds of labeled rows may all be labeled at one rate (p "
            f"{show_p(p_value)})."
        )
    text = f"{seen} That is no evidence of random labels. {UNCHECKED}"
    tilt_p = tilt.p_value if tilt.fits else float("nan")
    each = () if tested is None else described(kinds)
    return replace(estimate, labels=LabelSelection("cannot-tell", p_value, each, text, tilt_p))
