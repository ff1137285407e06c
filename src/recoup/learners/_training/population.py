"""From the chance that a row is labeled to the chance that it is positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup.priors.conversions import label_frequency, pooled_prior

# Shares of exactly 0 and 1 have no logarithm of their odds.
EDGE = 1e-12


def log_odds(share: float) -> float:
    """Return the logarithm of the odds of a share, kept a little inside (0, 1)."""
    inside = min(max(share, EDGE), 1 - EDGE)
    return float(np.log(inside) - np.log1p(-inside))


def prior_shift(trained: float, target: float) -> float:
    """Return what to add to logits where the share of positives is not that of the training rows.

    Examples
    --------
    >>> round(prior_shift(0.515348, 0.491532), 4)
    -0.0953
    """
    return log_odds(target) - log_odds(trained)


class Population(NamedTuple):
    r"""The rows that performance is about, and how labels came to be among them.

    With :math:`g(x) = P(s=1 \mid x)` on labeled and unlabeled rows together,

    .. math::

       P(y=1 \mid x) = \frac{g}{c}, \qquad
       P(y=1 \mid x) = \alpha \, \frac{n_u}{n_l} \, \frac{g}{1 - g}

    where the population is all rows (single-sample; c is the share of positives that is labeled)
    and where it is the unlabeled rows alone (case-control). Both are cut off at 1. All is
    computed from the logits of g, which do not overflow as g goes to 1.
    """

    alpha: float
    n_labeled: int
    n_unlabeled: int
    scheme: Scheme

    @property
    def pi(self) -> float:
        """Return the share of positives in the population."""
        if self.scheme == "case-control":
            return self.alpha
        return float(pooled_prior(self.alpha, self.n_labeled, self.n_unlabeled))

    @property
    def border(self) -> float:
        """Return the logit of g at which positive and negative are equally likely."""
        if self.scheme == "case-control":
            return -self._log_factor - float(np.log(2))
        return log_odds(self._frequency / 2)

    def posterior(self, logits: FloatArray) -> FloatArray:
        """Return P(y=1 | x), from logits of g."""
        if self.scheme == "case-control":
            shares: FloatArray = np.exp(np.minimum(logits + self._log_factor, 0.0))
            return shares
        return np.minimum(np.exp(-np.logaddexp(0.0, -logits)) / self._frequency, 1.0)

    @property
    def _frequency(self) -> float:
        return float(label_frequency(self.alpha, self.n_labeled, self.n_unlabeled))

    @property
    def _log_factor(self) -> float:
        return float(np.log(max(self.alpha, EDGE)) + np.log(self.n_unlabeled / self.n_labeled))
