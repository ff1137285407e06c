"""Values and limits of metrics of selected rows, for a known or an uncertain alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.prior import Prior
from recoup.metrics.intervals import Ends, mover, normal_quantile, spread, wilson
from recoup.metrics.observed import ObservedShares, Rates, RatesAtLimits, ShareLimits

# Draws of alpha and beta that an interval goes through.
N_DRAWS = 1000


@dataclass(frozen=True, eq=False)
class PointLimits:
    """What the limits of every metric of the same selections have in common.

    Attributes
    ----------
    observed : ObservedShares
        The selections.
    prior : Prior
        Alpha and beta with their uncertainty.
    confidence : float
        Level of the intervals.
    center : tuple
        ``(tpr, fpr, pi)`` at the alpha that stands for all.
    around : list of (float, RatesAtLimits)
        Values of alpha to take the worst of, and the rates at the limits of each share there.
    drawn : tuple or None
        The rates for each draw of alpha and beta, a row each.
    """

    observed: ObservedShares
    prior: Prior
    confidence: float
    center: Rates
    around: list[tuple[float, RatesAtLimits]]
    drawn: Rates | None

    @classmethod
    def of(
        cls,
        observed: ObservedShares,
        prior: Prior,
        confidence: float,
        limits_of_share: ShareLimits = wilson,
    ) -> PointLimits:
        """Find the rates at the limits of all shares, and for all draws.

        Parameters
        ----------
        observed : ObservedShares
            The selections.
        prior : Prior
            Alpha and beta with their uncertainty.
        confidence : float
            Level of the intervals.
        limits_of_share : callable, default=wilson
            Limits of a proportion, from its value, its size and the normal quantile of the level.

        Returns
        -------
        PointLimits
        """
        z = normal_quantile(confidence)
        drawn = None
        if prior.alpha_draws is not None:
            drawn = observed.at(*(np.reshape(part, (-1, 1)) for part in prior.some_draws(N_DRAWS)))
        return cls(
            observed,
            prior,
            confidence,
            observed.at(prior.alpha, prior.beta),
            [
                (alpha, observed.at_limits(alpha, prior.beta, z, limits_of_share))
                for alpha in prior.corners()
            ],
            drawn,
        )

    def value(self, formula: Callable[..., Any]) -> FloatArray:
        """Return a metric of each selection, not clipped."""
        return np.asarray(formula(*self.center), float)

    def interval(self, formula: Callable[..., Any], times: Any = 1.0) -> Ends:
        """Return the limits of a metric of each selection, not clipped.

        Parameters
        ----------
        formula : callable
            The metric, from ``(tpr, fpr, pi)``.
        times : float or ndarray, default=1.0
            By how much rows that are not independent widen it.

        Returns
        -------
        lower, upper : ndarray
        """
        low, high = self.intervals([formula], times)
        return low[0], high[0]

    def intervals(self, formulas: Sequence[Callable[..., Any]], times: Any = 1.0) -> Ends:
        """Return the limits of several metrics of each selection, not clipped.

        Parameters
        ----------
        formulas : sequence of callable
            The metrics, from ``(tpr, fpr, pi)``.
        times : float or ndarray, default=1.0
            By how much rows that are not independent widen them.

        Returns
        -------
        lower, upper : ndarray of shape (n_formulas, n)
        """
        drawn: list[Ends] = []
        if self.drawn is not None:
            cases = [np.asarray(formula(*self.drawn), float) for formula in formulas]
            each = [spread(case, self.confidence) for case in cases]
            drawn = [(np.array([low for low, _ in each]), np.array([high for _, high in each]))]
        ends = []
        for alpha, limits in self.around:
            value, around = self.observed.intervals(formulas, alpha, self.prior.beta, limits, times)
            ends.append(mover(value, [around, *drawn]) if drawn else around)
        low, high = np.min([one[0] for one in ends], axis=0), np.max([e[1] for e in ends], axis=0)
        return low, high
