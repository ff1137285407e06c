"""BBE: best-bin estimation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recoup._core.constraints import Constraints, Number
from recoup.priors.base import Finding, PriorTags, ScorePriorEstimator
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

# Thresholds that the curve shows at most.
SHOWN = 1000
# And the widest bound that it shows.
WIDEST = 1.0


@dataclass(kw_only=True, eq=False, repr=False)
class BBE(ScorePriorEstimator):
    r"""Ratio of unlabeled to labeled rows above the threshold where it can be trusted most.

    With :math:`q_u(c)` and :math:`q_p(c)` the shares of unlabeled and labeled rows that score at
    least :math:`c`, every ratio :math:`q_u / q_p` is at least alpha, up to noise. The threshold
    with the least ratio plus bound on its noise is chosen:

    .. math::

       \hat c = \arg\min_c \frac{q_u(c)}{q_p(c)} + \frac{1 + \gamma}{q_p(c)} \left(
           \sqrt{\frac{\log(4 / \delta)}{2 n_u}} + \sqrt{\frac{\log(4 / \delta)}{2 n_l}} \right),
       \qquad \alpha = \frac{q_u(\hat c)}{q_p(\hat c)}

    Parameters
    ----------
    delta : float, default=0.1
        Chance that the bound fails at some threshold, between 0 and 1. A smaller one widens the
        bound, so that thresholds with more rows above them are preferred.
    gamma : float, default=0.01
        Slack of the bound, at least 0; the authors take 0.01.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    Notes
    -----
    Only the order of the scores matters. Rows with equal scores lie above a threshold together,
    unlabeled ones like labeled ones; the authors' code leaves out the unlabeled row at the
    threshold.

    ``upper_limit`` is the least ratio plus bound over all thresholds, with delta replaced by
    ``1 - confidence``: alpha stays below it with at least that confidence, whatever the score.
    There is no such lower limit: the curve's ``ratio - bound`` is one only if all rows above the
    threshold are positive.

    References
    ----------
    Garg, Wu, Smola, Balakrishnan and Lipton, "Mixture proportion estimation and PU learning: a
    modern approach", NeurIPS 2021, Algorithm 1 and Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = (s == 1) | (rng.random(5000) < 0.3)
    >>> found = BBE(interval=None).fit_scores(s, rng.normal(4.0 * positive)).estimate_
    >>> round(found.alpha, 2), round(found.upper_limit, 2)
    (0.3, 0.38)
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="bbe",
        reads="scores",
        assumes="almost only positives score above some threshold",
        cost="n log n",
        source="Garg et al. 2021",
    )
    constraints: ClassVar[Constraints] = {
        "delta": Number(
            above=0,
            below=1,
            why="it is the chance that its bound fails",
            hint="Pass 0.1 as the authors do.",
        ),
        "gamma": Number(least=0, hint="Pass 0.01 as the authors do."),
    }

    delta: float = 0.1
    gamma: float = 0.01

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        q_p, q_u = table.heads("labeled"), table.heads("unlabeled")
        some = q_p > 0
        # Above the highest labeled score q_p is 0, and the ratio is not defined.
        q_p, q_u = q_p[some], q_u[some]
        ratio = q_u / q_p
        bound = (1 + self.gamma) * _noise(table, self.delta) / q_p
        best = int(np.argmin(ratio + bound))
        # Where few labeled rows lie above, the bound would dwarf all that matters.
        first = min(int(np.argmax(bound <= WIDEST)), best) if bound[-1] <= WIDEST else best
        shown = np.union1d(np.linspace(first, len(ratio) - 1, SHOWN).astype(np.intp), [best])
        curve = PriorCurve(
            x=q_p[shown],
            lines={
                "ratio": ratio[shown],
                "ratio + bound": (ratio + bound)[shown],
                "ratio - bound": (ratio - bound)[shown],
            },
            x_label="share of labeled rows above the threshold",
            y_label="unlabeled over labeled share",
            marker=float(q_p[best]),
        )
        # (q_u + noise) / q_p is the ratio plus bound of Theorem 1 with gamma = 0.
        certified = float(np.min((q_u + _noise(table, 1 - self.confidence)) / q_p))
        return Finding(float(ratio[best]), curve=curve, upper_limit=min(certified, 1.0))


def _noise(table: ScoreTable, delta: float) -> float:
    """How far both shares together may be off at any threshold, except with probability delta."""
    # Dvoretzky, Kiefer and Wolfowitz, for each of the two samples with half of delta.
    return sum(
        math.sqrt(math.log(4 / delta) / (2 * n)) for n in (table.n_labeled, table.n_unlabeled)
    )
