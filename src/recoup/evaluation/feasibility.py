"""Which alpha and beta the two observed score curves allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoup.evaluation.inputs import Given


@dataclass(frozen=True)
class Feasibility:
    """Whether the scores themselves allow the given alpha and beta.

    ``alpha_upper`` is the largest alpha that leaves every rate in [0, 1], with room for sampling
    error at the stated confidence; ``beta_lower`` likewise the smallest beta.
    """

    alpha_upper: float
    beta_lower: float
    exceeded: bool
    confidence: float


def feasibility_of(given: Given, confidence: float) -> Feasibility:
    """Largest alpha and smallest beta that the two observed curves allow.

    Every set of scores must hold at least alpha/beta times its labeled share among the unlabeled
    rows, and at least (1-beta)/(1-alpha) times its unlabeled share among the labeled ones. Heads
    and tails of the ranking are such sets; Dvoretzky-Kiefer-Wolfowitz bands on both curves make
    the comparison safe against small counts.
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
        # Every row was counted as unlabeled there, so the limit is one for pi.
        rows = given.counts
        alpha_upper = max(alpha_upper * rows.n_rows - rows.n_labeled, 0.0) / rows.n_unlabeled
        beta_lower = 0.0
    exceeded = bool(alpha > alpha_upper or beta < beta_lower)
    return Feasibility(float(alpha_upper), float(beta_lower), exceeded, float(confidence))
