"""Which alpha and beta the two observed score curves allow."""

from __future__ import annotations

from dataclasses import dataclass

from recoup.evaluation.inputs import Given
from recoup.metrics.feasible import feasible_kappas


@dataclass(frozen=True)
class Feasibility:
    """Whether the scores themselves allow the given alpha and beta.

    Attributes
    ----------
    alpha_upper : float
        Largest alpha that leaves every rate in [0, 1], with room for sampling error.
    beta_lower : float
        Smallest beta that leaves every rate in [0, 1], with room for sampling error.
    exceeded : bool
        Whether the given alpha is larger or the given beta smaller than that.
    confidence : float
        Level at which the sampling error is allowed for.
    """

    alpha_upper: float
    beta_lower: float
    exceeded: bool
    confidence: float


def feasibility_of(given: Given, confidence: float) -> Feasibility:
    """Largest alpha and smallest beta that the two observed curves allow.

    Parameters
    ----------
    given : Given
        The counted rows, alpha and beta.
    confidence : float
        Level at which sampling error is allowed for.

    Returns
    -------
    Feasibility
    """
    table = given.exact if given.by_propensity else given.counts
    alpha, beta = given.prior.alpha, given.prior.beta
    kappa_1, kappa_2 = feasible_kappas(table, confidence)
    alpha_upper, beta_lower = beta * kappa_1, 1 - (1 - alpha) * kappa_2
    if given.by_propensity:
        # Every row was counted as unlabeled there, so the limit found is one on pi. The positives
        # that are labeled are taken out of it.
        rows = given.counts
        alpha_upper = max(alpha_upper * rows.n_rows - rows.n_labeled, 0.0) / rows.n_unlabeled
        beta_lower = 0.0
    exceeded = bool(alpha > alpha_upper or beta < beta_lower)
    return Feasibility(float(alpha_upper), float(beta_lower), exceeded, float(confidence))
