"""What metrics may be if what nobody has checked is allowed for."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from recoup._core.prior import Prior
from recoup.evaluation.inputs import Given
from recoup.evaluation.uncertainty import Limits, uncertainty
from recoup.metrics.curves import recovered_roc
from recoup.metrics.feasible import feasible_kappas
from recoup.metrics.measure import valid_value
from recoup.metrics.spec import metric_spec
from recoup.selection.how_labeled import LabelsAre, tilts_up_to
from recoup.selection.tilt import fair_table, hidden_counts

if TYPE_CHECKING:
    from recoup.evaluation.results import Evaluation

# Share of right labels down to which they may be wrong unnoticed.
PLAUSIBLE_BETA = 0.9
# Nearer to each other, alpha and beta leave nothing to recover.
SMALLEST_GAP = 0.02


def open_shares(given: Given) -> tuple[bool, bool]:
    """Say whether alpha and beta are left open: nobody has counted, or checked, the rows.

    Parameters
    ----------
    given : Given
        What evaluate was given.

    Returns
    -------
    alpha, beta : bool
    """
    if given.by_propensity:
        return False, False
    return given.prior.estimate is not None, not given.labels_checked


def saying(evaluation: Evaluation, labels_are: LabelsAre) -> Evaluation:
    """Return the same evaluation for other words on how labels came about.

    Parameters
    ----------
    evaluation : Evaluation
        As it was made.
    labels_are : {"random", "biased", "unknown"}
        What is said now.

    Returns
    -------
    Evaluation
    """
    given = replace(evaluation.given, labels_are=labels_are)
    return with_possible(replace(evaluation, given=given))


def with_possible(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the limits of each metric that allow for what is left open.

    An alpha that was estimated rests on the assumption that some scores are had by positives
    alone; the scores themselves only say how large it can be. A label may be wrong unless somebody
    has checked it. And labels may favor high or low scores unless they are known to be a random
    sample of the positives.

    Parameters
    ----------
    evaluation : Evaluation
        With its intervals.

    Returns
    -------
    Evaluation
    """
    found: Limits = {}
    for limits in (*_limits_of_shares(evaluation), *_limits_of_odds(evaluation)):
        for key, (low, high) in limits.items():
            least, most = found.get(key, (np.inf, -np.inf))
            # In this order NaN changes nothing.
            found[key] = min(least, low), max(most, high)
    metrics = {key: item.allowing(found.get(key)) for key, item in evaluation.metrics.items()}
    return replace(evaluation, metrics=metrics)


def tilted_alpha_upper(evaluation: Evaluation, tilt: float) -> float:
    """Return the largest alpha that the scores allow if labels have this tilt.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    tilt : float
        Above 1 labels favor high scores, below 1 low ones.

    Returns
    -------
    float
    """
    table, limits = evaluation.table, evaluation.feasibility
    hidden = hidden_counts(table.labeled.astype(float), tilt)
    plain, tilted = (
        feasible_kappas(one, limits.confidence)[0]
        for one in (table, replace(table, labeled=hidden))
    )
    return min(limits.alpha_upper * tilted / plain, 1.0) if plain > 0 else limits.alpha_upper


def _limits_of_shares(evaluation: Evaluation) -> list[Limits]:
    """Limits at every alpha and beta that are left open."""
    given, prior = evaluation.given, evaluation.prior
    open_alpha, open_beta = open_shares(given)
    if not (open_alpha or open_beta):
        return []
    betas = [prior.beta, prior.beta * PLAUSIBLE_BETA] if open_beta else [prior.beta]
    alphas = [0.0, evaluation.feasibility.alpha_upper] if open_alpha else list(prior.range)
    known = not open_alpha and prior.range == (prior.alpha, prior.alpha)
    found = []
    for alpha, beta in product(sorted(set(alphas)), betas):
        at = Prior(min(alpha, beta - SMALLEST_GAP), beta)
        # The intervals themselves are those of a known alpha.
        if at.alpha >= 0 and not (known and at.alpha == prior.alpha and beta == prior.beta):
            found.append(_limits_at(evaluation, at))
    return found


def _limits_of_odds(evaluation: Evaluation) -> list[Limits]:
    """Limits at the strongest tilts that labels may have, at every alpha that is left open."""
    open_alpha, _ = open_shares(evaluation.given)
    found = []
    for tilt in tilts_up_to(evaluation.label_odds):
        alphas = list(evaluation.prior.range)
        if open_alpha:
            alphas = [0.0, tilted_alpha_upper(evaluation, tilt)]
        for alpha in sorted(set(alphas)):
            at = min(alpha, 1 - SMALLEST_GAP)
            # Without hidden positives, labels of a single sample favor nothing.
            if at > 0 or evaluation.scheme == "case-control":
                found.append(tilted_limits(evaluation, at, tilt))
    return found


def _limits_at(evaluation: Evaluation, prior: Prior) -> Limits:
    given, cut = evaluation.given, evaluation.threshold
    times = given.widening(evaluation.mixture, cut)
    return uncertainty(
        evaluation.table, prior, evaluation.scheme, cut, evaluation.confidence, times
    )


def tilted_limits(evaluation: Evaluation, alpha: float, tilt: float) -> Limits:
    """Limits of every metric, if labels have this tilt.

    The counts that labels at random would have given are taken as if they had been seen. Areas
    along a curve and scores of probabilities keep the distances to their limits, which take long.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned, with beta = 1.
    alpha : float
        Share of positives among the unlabeled rows.
    tilt : float
        Above 1 labels favor high scores, below 1 low ones.

    Returns
    -------
    dict of str to (float, float)
    """
    given, cut = evaluation.given, evaluation.threshold
    mixture = given.mixture(evaluation.table, alpha)
    fair = fair_table(evaluation.table, mixture, tilt)
    limits = uncertainty(
        fair,
        Prior(alpha, 1.0),
        evaluation.scheme,
        cut,
        evaluation.confidence,
        given.widening(evaluation.mixture, cut),
        along_curves=False,
    )
    roc = recovered_roc(fair, mixture)
    for key, item in evaluation.metrics.items():
        if key not in limits:
            value = valid_value(metric_spec(key, "evaluate"), fair, mixture, roc)
            below, above = item.recovered - item.lower, item.upper - item.recovered
            limits[key] = value - below, value + above
    return limits
