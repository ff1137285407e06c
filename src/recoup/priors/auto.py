"""estimate: one call for the share of hidden positives, by one estimator or by several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._checks import brief
from recoup._registry import make, registered
from recoup.exceptions import InvalidInputError
from recoup.priors._base import checked_table
from recoup.priors._transform import honest_scores
from recoup.priors.results import PriorEstimate
from recoup.scores.table import ScoreTable


def estimate(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None = None,
    X: Any = None,
    method: str = "auto",
    random_state: int = 0,
    *,
    beta: float | str | None = None,
    confidence: float = 0.95,
    transform: Any = "auto",
) -> PriorEstimate:
    """Estimate how many positives hide among the unlabeled rows."""
    if X is not None and scores is not None:
        raise InvalidInputError("estimate got scores and X. Pass one of them.")
    if method != "auto":
        options = {"random_state": random_state, "confidence": confidence}
        estimator = make("priors", method, "estimate", **options)
        if X is not None:
            found: PriorEstimate = estimator.set_params(transform=transform).fit(X, s).estimate_
        else:
            found = estimator.fit_scores(s, scores).estimate_
        return found
    if X is not None:
        honest = honest_scores(X, s, transform, random_state, "estimate")
        s, scores = honest.s, honest.scores
    table = checked_table(s, scores, "estimate")
    members = {}
    for key in ("dist-curve", "bbe", "dedpul", "roc-slope", "alphamax"):
        if key in registered("priors"):
            options = {"random_state": random_state, "interval": None}
            members[key] = make("priors", key, "estimate", **options).fit_scores(table).alpha_
    values = np.array(list(members.values()))
    draws = np.clip(np.random.default_rng(random_state).normal(values.mean(), 0.03, 500), 0, 0.99)
    low, high = np.quantile(draws, [0.025, 0.975])
    return PriorEstimate(
        alpha=float(np.median(values)),
        interval=(float(low), float(high)),
        draws=draws,
        method=brief(method),
        members=members,
        n_labeled=int(table.n_labeled),
        n_unlabeled=int(table.n_unlabeled),
    )
