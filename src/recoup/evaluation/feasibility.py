"""Which alpha and beta the two observed score curves allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoup.evaluation.inputs import Given


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

    For every set of scores, the share of the unlabeled rows in it is at least alpha/beta times the
    share of the labeled rows in it; and the share of the labeled rows is at least
    (1-beta)/(1-alpha) times the share of the unlabeled ones. Heads and tails of the ranking are
    such sets; Dvoretzky-Kiefer-Wolfowitz bands on both curves make the comparison safe against
    small counts.

    Parameters
    ----------
    given : Given
        The counted rows, alpha and beta.
    confidence : float
        Level of the bands.

    Returns
    -------
    Feasibility
    """
    table = given.exact if given.by_propensity else given.counts
    alpha, beta = given.prior.alpha, given.prior.beta
    spread = np.log(4 / (1 - confidence)) / 2
    slack_l, slack_u = (np.sqrt(spread / size) for size in table.effective_sizes)
    labeled, unlabeled = table.heads("labeled"), table.heads("unlabeled")
    heads = [(labeled, unlabeled), (1 - labeled, 1 - unlabeled)]

    def smallest(of: int, slack_of: float, slack_to: float) -> float:
        ratio = 1.0
        for pair in heads:
            top, bottom = pair[1 - of] + slack_to, pair[of] - slack_of
            usable = bottom > 0
            if usable.any():
                ratio = min(ratio, float(np.min(top[usable] / bottom[usable])))
        return ratio

    alpha_upper = beta * smallest(0, slack_l, slack_u)
    beta_lower = 1 - (1 - alpha) * smallest(1, slack_u, slack_l)
    if given.by_propensity:
        # Every row was counted as unlabeled there, so the limit found is one on pi. The positives
        # that are labeled are taken out of it.
        rows = given.counts
        alpha_upper = max(alpha_upper * rows.n_rows - rows.n_labeled, 0.0) / rows.n_unlabeled
        beta_lower = 0.0
    exceeded = bool(alpha > alpha_upper or beta < beta_lower)
    return Feasibility(float(alpha_upper), float(beta_lower), exceeded, float(confidence))
