"""BBE: best-bin estimation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recoup.priors._base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable


@dataclass(kw_only=True, eq=False, repr=False)
class BBE(ScorePriorEstimator):
    r"""Ratio of unlabeled to labeled rows above the threshold where it can be trusted most.

    With :math:`q_u(c)` and :math:`q_p(c)` the shares of unlabeled and labeled rows that score at
    least :math:`c`, every ratio :math:`q_u / q_p` is at least alpha, up to noise. The threshold
    with the least ratio plus bound on its noise is chosen.
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="bbe",
        reads="scores",
        assumes="almost only positives score above some threshold",
        cost="n log n",
        source="Garg et al. 2021",
    )

    delta: float = 0.1
    gamma: float = 0.01

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        q_p, q_u = table.heads("labeled"), table.heads("unlabeled")
        some = q_p > 0
        q_p, q_u = q_p[some], q_u[some]
        noise = sum(
            np.sqrt(np.log(4 / self.delta) / (2 * n)) for n in (table.n_labeled, table.n_unlabeled)
        )
        ratio, bound = q_u / q_p, (1 + self.gamma) * noise / q_p
        best = int(np.argmin(ratio + bound))
        curve = PriorCurve(
            x=q_p,
            lines={"ratio": ratio, "ratio + bound": ratio + bound, "ratio - bound": ratio - bound},
            x_label="share of labeled rows above the threshold",
            y_label="unlabeled over labeled share",
            marker=float(q_p[best]),
        )
        return Finding(
            float(ratio[best]), curve=curve, upper_limit=min(float((ratio + bound)[best]), 1.0)
        )
