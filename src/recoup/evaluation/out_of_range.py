"""Recovered values that cannot be, and what they say about alpha."""

from __future__ import annotations

import numpy as np

from recoup._core.notes import Note
from recoup._core.text import show_digits
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.inputs import Given
from recoup.metrics.area import auc_pu
from recoup.metrics.measure import observed_rates_at
from recoup.metrics.spec import metric_spec
from recoup.scores.table import ScoreTable

# Distance from its range that no rounding of an interval explains.
FAR = 0.01
N_ALPHAS = 501


def is_impossible(item: Estimate, limits: tuple[float, float], pi: float) -> bool:
    """Say whether a value lies out of its range by more than sampling error explains.

    The whole interval must lie outside, and clearly: above the range by 0.01, below it by that or
    by a tenth of the share of positives, which the values of rare classes are measured by.

    Parameters
    ----------
    item : Estimate
        The metric.
    limits : (float, float)
        Its confidence interval before clipping; NaN without one.
    pi : float
        Share of positives in the judged population.

    Returns
    -------
    bool
    """
    spec, (low, high) = metric_spec(item.key, "evaluate"), limits
    return bool(low > spec.high + FAR or high < spec.low - min(FAR, pi / 10))


def largest_possible_alpha(
    given: Given,
    table: ScoreTable,
    threshold: float,
    impossible: list[Estimate],
    limits: dict[str, tuple[float, float]],
) -> float:
    """Find the largest alpha for which no value lies out of its range.

    Each value may be off by its sampling error, taken as it is at the given alpha.

    Parameters
    ----------
    given : Given
        The counted rows, alpha and beta.
    table : ScoreTable
        The table that metrics were computed from.
    threshold : float
        Rows with a score at or above it are predicted positive.
    impossible : list of Estimate
        The values that lie out of their range. Those that follow from rates or AUC_pu are used.
    limits : dict of str to (float, float)
        Confidence intervals before clipping.

    Returns
    -------
    float
        At most the given alpha; NaN where no value says anything.
    """
    alphas = np.linspace(0.0, given.prior.alpha, N_ALPHAS)
    mixture = given.mixture(table, alphas)  # type: ignore[arg-type]
    labeled, unlabeled = observed_rates_at(table, np.array([threshold]))
    tpr, fpr = mixture.true_rates(labeled[0], unlabeled[0])
    allowed, known = np.ones(N_ALPHAS, bool), False
    for item in impossible:
        spec, (low, high) = metric_spec(item.key, "evaluate"), limits[item.key]
        if spec.kind == "point":
            values = np.asarray(spec.formula(tpr, fpr, mixture.pi), float)
        elif spec.from_auc_pu is not None:
            values = np.asarray(spec.from_auc_pu(auc_pu(table), mixture), float)
        else:
            continue
        inside = values - (item.raw - low) <= spec.high
        inside &= values + (high - item.raw) >= spec.low
        allowed, known = allowed & inside, True
    if not known or not allowed.any():
        return np.nan
    return float(alphas[np.flatnonzero(allowed)[-1]])


def out_of_range_note(
    given: Given,
    table: ScoreTable,
    threshold: float,
    found: list[Estimate],
    limits: dict[str, tuple[float, float]],
    feasibility: Feasibility,
) -> Note:
    """Say which values cannot be, and which alpha would make them possible.

    Parameters
    ----------
    given : Given
        The counted rows, alpha and beta.
    table : ScoreTable
        The table that metrics were computed from.
    threshold : float
        Rows with a score at or above it are predicted positive.
    found : list of Estimate
        The values that lie out of their range.
    limits : dict of str to (float, float)
        Confidence intervals before clipping.
    feasibility : Feasibility
        What the whole curves allow. They allow more than one threshold does, for they are
        compared at all thresholds at once.

    Returns
    -------
    Note
    """
    values = ", ".join(f"{item.key} {show_digits(item.raw, 4)}" for item in found)
    prior = given.prior
    at = f"At alpha={show_digits(prior.alpha, 4)}" + (
        f", beta={show_digits(prior.beta, 4)}" if prior.beta < 1 else ""
    )
    if given.by_propensity:
        at, cause = "With these propensities", "they must be wrong"
    elif feasibility.exceeded:
        cause = "alpha or beta must be wrong, or labels favor some positives"
    else:
        doubt = "labels are wrong" if prior.beta == 1 else "beta is too small"
        cause = f"alpha is too large, {doubt}, or labels favor some positives"
    text = (
        f"{at} values would leave their range by more than sampling error explains ({values}): "
        f"{cause}. They were clipped, and their intervals do not hold."
    )
    if not given.by_propensity and not feasibility.exceeded:
        largest = largest_possible_alpha(given, table, threshold, found, limits)
        # At zero no alpha helps: it is not alpha that is wrong.
        if largest > 0:
            text += (
                f" The largest alpha for which they are possible is about "
                f"{show_digits(largest, 2)}, less than the "
                f"{show_digits(feasibility.alpha_upper, 2)} that the ranking as a whole allows."
            )
    return Note("out-of-range", text)
