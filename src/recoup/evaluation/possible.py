"""What metrics may be if what nobody has checked is allowed for."""

from __future__ import annotations

from itertools import product

from recoup._core.prior import Prior
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.inputs import Given
from recoup.evaluation.uncertainty import Factors, Limits, uncertainty
from recoup.scores.table import ScoreTable

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


def possible_limits(
    given: Given,
    table: ScoreTable,
    feasibility: Feasibility,
    threshold: float,
    confidence: float,
    limits: Limits,
    times: Factors | None = None,
) -> Limits:
    """Limits over every alpha and beta that are left open.

    An alpha that was estimated rests on the assumption that some scores are had by positives
    alone; the scores themselves only say how large it can be. And a label may be wrong unless
    somebody has checked it.

    Parameters
    ----------
    given : Given
        What evaluate was given.
    table : ScoreTable
        The counted rows that metrics are computed from.
    feasibility : Feasibility
        The largest alpha that the scores allow.
    threshold : float
        Where scores become predictions.
    confidence : float
        Level of the limits.
    limits : dict of str to (float, float)
        The intervals.
    times : dict of str to float, optional
        By how much rows that are not independent widen the interval of each metric.

    Returns
    -------
    dict of str to (float, float)
        Empty where nothing is left open.
    """
    prior = given.prior
    open_alpha, open_beta = open_shares(given)
    if not (open_alpha or open_beta):
        return {}
    betas = [prior.beta, prior.beta * PLAUSIBLE_BETA] if open_beta else [prior.beta]
    alphas = [0.0, feasibility.alpha_upper] if open_alpha else list(prior.range)
    found = dict(limits)
    for alpha, beta in product(sorted(set(alphas)), betas):
        at = Prior(min(alpha, beta - SMALLEST_GAP), beta)
        if at.alpha < 0:
            continue
        ends = uncertainty(table, at, given.scheme, threshold, confidence, times)
        for key, (low, high) in ends.items():
            if key in found:
                found[key] = min(found[key][0], low), max(found[key][1], high)
    return found
