"""From the chance that a row is labeled to the chance that it is positive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.learners._training.row_weights import counted
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

    Known negatives, if there are any, count as rows without a label in g. A single sample includes
    them, and its formula stays; in a case-control design they are one more sample, of negatives
    drawn at random. Numbers of rows may be sums of weights.
    """

    alpha: float
    n_labeled: float
    n_unlabeled: float
    scheme: Scheme
    n_negative: float = 0

    @classmethod
    def of(
        cls, alpha: float, s: NDArray[np.int_], weights: FloatArray | None, scheme: Scheme
    ) -> Population:
        """Count the rows of each kind, by their weights if they have any."""
        counts = counted(s, weights)
        return cls(alpha, counts.labeled, counts.unlabeled, scheme, counts.negative)

    @property
    def pi(self) -> float:
        """Return the share of positives in the population."""
        return self.alpha if self.scheme == "case-control" else self.pooled_pi

    @property
    def pooled_pi(self) -> float:
        """Return the share of positives among all rows."""
        pi = float(pooled_prior(self.alpha, self.n_labeled, self.n_unlabeled))
        if not self.n_negative:
            return pi
        n = self.n_labeled + self.n_unlabeled
        return pi * n / (n + self.n_negative)

    @property
    def border(self) -> float:
        """Return the logit of g at which positive and negative are equally likely."""
        if self.scheme == "case-control":
            return -self._log_factor - float(np.log1p(self._more_negatives))
        return log_odds(self._frequency / 2)

    def posterior(self, logits: FloatArray) -> FloatArray:
        """Return P(y=1 | x), from logits of g."""
        if self.scheme == "case-control":
            shares: FloatArray = np.exp(np.minimum(logits + self._log_factor, 0.0))
            if self.n_negative:
                shares = shares * self._more_negatives / (1 + shares * (self._more_negatives - 1))
            return shares
        return np.minimum(np.exp(-np.logaddexp(0.0, -logits)) / self._frequency, 1.0)

    @property
    def _frequency(self) -> float:
        return float(label_frequency(self.alpha, self.n_labeled, self.n_unlabeled))

    @property
    def _more_negatives(self) -> float:
        """Return how many times the negatives among the unlabeled rows all negatives are."""
        if not self.n_negative:
            return 1.0
        return 1 + self.n_negative / max((1 - self.alpha) * self.n_unlabeled, EDGE)

    @property
    def _log_factor(self) -> float:
        return float(np.log(max(self.alpha, EDGE)) + np.log(self.n_unlabeled / self.n_labeled))
