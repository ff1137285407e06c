"""From the odds of a label to the chance of being positive."""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p

import numpy as np

from recoup._core.checks import FloatArray, Scheme

# Shares of exactly 0 and 1 leave nothing to fit, and odds without end.
EDGE = 1e-6


@dataclass(frozen=True)
class LabelOdds:
    r"""How the odds of a label rise with the chance that a row without one is positive.

    Labeled rows are :math:`\beta h_1 + (1-\beta) h_0`, unlabeled ones
    :math:`\alpha h_1 + (1-\alpha) h_0`. Let q be the share of positives among the unlabeled rows
    with one score. There :math:`h_1 / f_u = q / \alpha` and :math:`h_0 / f_u = (1-q) / (1-\alpha)`,
    so that for each unlabeled row there are

    .. math::

       o(q) = a q + b (1 - q), \qquad
       a = \frac{\beta n_l}{\alpha n_u}, \quad b = \frac{(1 - \beta) n_l}{(1 - \alpha) n_u}

    labeled ones. With right labels b is zero, and q is o / a.

    Parameters
    ----------
    if_positive : float
        The odds a, where every row without a label is positive.
    if_negative : float
        The odds b, where none is.
    """

    if_positive: float
    if_negative: float

    @classmethod
    def of(cls, alpha: float, beta: float, n_labeled: float, n_unlabeled: float) -> LabelOdds:
        """Take shares of positives and numbers of rows.

        Examples
        --------
        >>> LabelOdds.of(0.25, 1.0, 100, 400)
        LabelOdds(if_positive=1.0, if_negative=0.0)
        """
        alpha = inside(alpha)
        ratio = n_labeled / n_unlabeled
        return cls(beta * ratio / alpha, (1 - beta) * ratio / (1 - alpha))

    def at(self, hidden: FloatArray) -> FloatArray:
        """Return labeled rows for each unlabeled one, where a share of these is positive.

        Examples
        --------
        >>> LabelOdds(1.0, 0.2).at(np.array([0.0, 0.5, 1.0]))
        array([0.2, 0.6, 1. ])
        """
        return np.asarray(self.if_positive * hidden + self.if_negative * (1 - hidden))

    def shift(self, scheme: Scheme) -> float:
        r"""Return by how much the logit is larger for any row than for one without a label.

        In a single sample labeled rows belong to the population, of which a share
        :math:`q (1+a) / (1 + o(q))` is positive: its odds are those of q times (1+a) / (1+b). In
        the case-control scheme the population is the unlabeled rows.

        Examples
        --------
        >>> round(LabelOdds(1.0, 0.0).shift("single-sample"), 4)
        0.6931
        >>> LabelOdds(1.0, 0.0).shift("case-control")
        0.0
        """
        if scheme == "case-control":
            return 0.0
        return log1p(self.if_positive) - log1p(self.if_negative)


def inside(share: float) -> float:
    """Keep a share a little inside (0, 1)."""
    return float(np.clip(share, EDGE, 1 - EDGE))
