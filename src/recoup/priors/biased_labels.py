"""What features tell about biased labels, put into an estimate that took labels as random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, label_masks
from recoup._core.notes import Note
from recoup._core.text import show_p, show_percent
from recoup.priors._solvers.groups import unit_columns
from recoup.priors._solvers.like_problems import (
    LikeProblems,
    load_problems,
    weighted_quantiles,
)
from recoup.priors.base import plausible
from recoup.priors.kinds import Divisions, Kinds, each_kind, propensities
from recoup.priors.label_readings import Asked, Readings, evened, question, read_labels, shares_of
from recoup.priors.labels import UNCHECKED, LabelSelection
from recoup.priors.results import PriorEstimate
from recoup.priors.share_net import draws_between

# Evidence as strong is found in this part of the problems with random labels.
LEVEL = 0.05
# Of more rows than this, so many are drawn: kinds that matter show among them.
MAX_ROWS = 20_000
LEAST_LABELED, LEAST_UNLABELED = 20, 50
# Metrics cannot be recovered where every unlabeled row may be positive.
MOST = 0.995
QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)
MIDDLE = QUANTILES.index(0.5)
WAYS = ("random", "kinds", "clear", "doubtful")


@dataclass(frozen=True, eq=False)
class Verdict:
    """What problems of known truth say about one.

    Parameters
    ----------
    quantiles : ndarray of shape (7,)
        Quantiles of alpha, at ``QUANTILES``.
    ways : dict of str to float
        Chance of each way in which labels may have come about.
    p_value : float
        Part of the training problems with random labels that look as little random; each was
        judged by trees that had not seen its dataset.
    tilt_p_value : float
        The same for labels that favor clear or doubtful positives.
    """

    quantiles: FloatArray
    ways: Mapping[str, float]
    p_value: float
    tilt_p_value: float


def with_labels(
    estimate: PriorEstimate,
    X: Any,
    s: ArrayLike,
    rng: np.random.Generator,
    labels_are: str = "unknown",
    readings: Readings | None = None,
) -> PriorEstimate:
    """Let alpha and its interval allow for labels that favor some positives.

    Parameters
    ----------
    estimate : PriorEstimate
        Alpha as it is if labels are random.
    X : array-like, sparse matrix or data frame with n rows
        Features. Other than numbers without gaps they tell nothing.
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    rng : Generator
        Source of everything random.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about. If they are random, the estimate stays what it is.
    readings : Readings, optional
        What :func:`read` has found in these rows, if it was asked before.

    Returns
    -------
    PriorEstimate
        With ``labels``.
    """
    started = perf_counter()
    if labels_are == "random":
        text = "Labels are said to be a random sample of the positives: nobody looked."
        return replace(estimate, labels=LabelSelection("random", float("nan"), text=text))
    found = _looked(estimate, X, s, rng, labels_are == "biased", readings)
    return replace(found, seconds=estimate.seconds + perf_counter() - started)


def read(features: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Readings:
    """Read labels and features, which takes nearly all the time of :func:`with_labels`.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Columns of numbers.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled; no more than ``MAX_ROWS`` of them.
    rng : Generator
        Source of everything random.
    """
    return read_labels(unit_columns(features), s, int(rng.integers(2**31)))


def judge(random: float, values: FloatArray, *, known_biased: bool) -> Verdict:
    """Ask what became of alpha in problems of known truth that are like this one.

    Parameters
    ----------
    random : float
        Alpha if labels are random, stretched.
    values : ndarray of shape (n_readings,)
        The readings of labels and features.
    known_biased : bool
        Whether labels are known to be no random sample.
    """
    asked = question(random, values)
    problems, of_ways = load_problems("biased_labels"), load_problems("label_ways")
    likeness = problems.likeness(asked.inputs)
    if known_biased:
        likeness = biased_alone(problems, likeness)
    chances = ways_alike(of_ways, of_ways.likeness(asked.inputs))
    return Verdict(
        shares_of(quantiles_alike(problems, likeness, asked)),
        dict(zip(WAYS, chances.tolist(), strict=True)),
        _tail(of_ways.meta["biased_if_random"], 1 - float(chances[0])),
        _tail(of_ways.meta["tilted_if_random"], float(chances[2] + chances[3])),
    )


def quantiles_alike(problems: LikeProblems, likeness: FloatArray, asked: Asked) -> FloatArray:
    """Return quantiles of alpha, stretched: as wide as was needed on datasets left out."""
    found = weighted_quantiles(problems.truth, likeness, QUANTILES)
    wide = found[MIDDLE] + problems.meta["widening"] * (found - found[MIDDLE])
    return np.asarray(asked.center + asked.scale * wide)


def ways_alike(problems: LikeProblems, likeness: FloatArray) -> FloatArray:
    """Return the chance of each way: a kind that has no label tells for none."""
    said = np.bincount(problems.way, likeness, minlength=len(WAYS))[: len(WAYS)]
    found: FloatArray = said / said.sum()
    return found


def biased_alone(problems: LikeProblems, likeness: FloatArray) -> FloatArray:
    """Leave out the problems with random labels, unless there are no others."""
    biased = likeness * (problems.way != WAYS.index("random"))
    return biased / biased.sum() if biased.any() else likeness


def _tail(if_random: list[float], evidence: float) -> float:
    """Return the part of the values that are as large, the one at hand included."""
    as_large = int(np.count_nonzero(np.asarray(if_random) >= evidence))
    return (1 + as_large) / (1 + len(if_random))


def _looked(
    estimate: PriorEstimate,
    X: Any,
    s: ArrayLike,
    rng: np.random.Generator,
    known_biased: bool,
    readings: Readings | None,
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
    few = marks.sum() < LEAST_LABELED or (marks == 0).sum() < LEAST_UNLABELED
    if few or not np.ptp(features[rows], axis=0).any():
        return _nothing_said(estimate, "These rows show no kinds.")
    readings = readings or read(features[rows], marks, rng)
    random = float(evened(estimate.alpha))
    verdict = judge(random, readings.values, known_biased=known_biased)
    moved = _allowing_for(estimate, verdict, readings)
    if verdict.p_value > LEVEL:
        allowed = moved if known_biased else _as_scores_allow(moved, estimate.alpha)
        return _cannot_tell(allowed, verdict, readings.divisions)
    shown = _shown(readings.divisions)
    if verdict.ways["kinds"] < verdict.ways["clear"] + verdict.ways["doubtful"] or shown is None:
        return _tilted(moved, verdict)
    chance = None
    if len(rows) == len(used):
        chance = np.full(len(labeled), moved.label_frequency)
        chance[rows] = propensities(shown, moved.alpha)
    return _of_kinds(moved, shown, verdict, chance)


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
    text = f"{reason} Alpha and its interval take labels as random. {UNCHECKED}"
    return replace(estimate, labels=LabelSelection("cannot-tell", float("nan"), text=text))


def _allowing_for(estimate: PriorEstimate, verdict: Verdict, readings: Readings) -> PriorEstimate:
    """Put the quantiles of the verdict in place of those for random labels."""
    alpha = float(min(verdict.quantiles[MIDDLE], MOST))
    draws, interval = None, None
    if estimate.draws is not None:
        both = estimate.draws.ndim == 2
        drawn = draws_between(verdict.quantiles, QUANTILES, len(estimate.draws), MOST)
        draws = plausible(np.column_stack([drawn, np.ones(len(drawn))]), both=both)
        tail = (1 - estimate.confidence) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail])
        interval = min(float(low), alpha), max(float(high), alpha)
    sums = float(min(readings.divisions.mixture.alphas.sum(), 1.0))
    members = dict(estimate.members) | {"if random": estimate.alpha, "kinds": sums}
    return replace(
        estimate,
        alpha=alpha,
        draws=draws,
        interval=interval,
        members=members,
        interval_method=estimate.interval_method and "learned",
    )


def _as_scores_allow(estimate: PriorEstimate, random: float) -> PriorEstimate:
    """Keep alpha where random labels could have left these scores, as nothing speaks against them.

    No metric can be recovered with more. The interval stays, as it allows for labels that favor
    some positives.
    """
    if estimate.identified is None or estimate.alpha <= max(estimate.identified[1], random):
        return estimate
    most = max(float(estimate.identified[1]), random)
    interval = estimate.interval and (min(estimate.interval[0], most), estimate.interval[1])
    return replace(estimate, alpha=most, interval=interval)


def _shown(divisions: Divisions) -> Kinds | None:
    """Return the division that people are shown, if there is more than one kind."""
    for kinds in (divisions.mixture, *reversed(divisions.steps)):
        if kinds.number > 1:
            return kinds
    return None


def _of_kinds(
    estimate: PriorEstimate, kinds: Kinds, verdict: Verdict, chance: FloatArray | None
) -> PriorEstimate:
    each = each_kind(kinds, estimate.alpha)
    rates = [kind.label_frequency for kind in each]
    text = (
        f"Positives come in {kinds.number} kinds that are labeled at different rates, from "
        f"{show_percent(round(min(rates), 2))} to {show_percent(round(max(rates), 2))} of them (p "
        f"{show_p(verdict.p_value)}): labels are no random sample. Alpha allows for the kinds that "
        f"were found; a kind without any label cannot be seen."
    )
    found = LabelSelection("kinds", verdict.p_value, each, text, verdict.tilt_p_value, chance)
    return _flagged(estimate, found)


def _tilted(estimate: PriorEstimate, verdict: Verdict) -> PriorEstimate:
    way = "clear" if verdict.ways["clear"] >= verdict.ways["doubtful"] else "doubtful"
    random = estimate.members["if random"]
    text = (
        f"Labels seem to favor {way} positives (p {show_p(verdict.p_value)}): they are no random "
        f"sample. Alpha would be {random:.2g} if they were; by how much labels favor some is a "
        f"guess from other data, and an audit of about 120 rows would tell."
    )
    found = LabelSelection("tilt", verdict.p_value, (), text, verdict.tilt_p_value)
    return _flagged(estimate, found)


def _flagged(estimate: PriorEstimate, found: LabelSelection) -> PriorEstimate:
    warnings = (*estimate.warnings, Note(found.code, found.text))
    return replace(estimate, labels=found, identified=None, warnings=warnings)


def _cannot_tell(estimate: PriorEstimate, verdict: Verdict, divisions: Divisions) -> PriorEstimate:
    shown = _shown(divisions)
    if shown is None:
        seen = "The labeled rows show one kind of positives"
    else:
        seen = f"The {shown.number} kinds of labeled rows may all be labeled at one rate"
    text = (
        f"{seen} (p {show_p(verdict.p_value)}). That is no evidence of random labels, and the "
        f"interval allows for some that are not. {UNCHECKED}"
    )
    each = () if shown is None else each_kind(shown, estimate.alpha)
    found = LabelSelection("cannot-tell", verdict.p_value, each, text, verdict.tilt_p_value)
    return replace(estimate, labels=found)
