"""How long labels take to come, from labels that have come: those that are still out are unseen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.results import html_facts, make_frame, to_plain
from recoup._core.text import say_p, show_number, show_percent, show_range

if TYPE_CHECKING:
    import pandas as pd

# Where fewer labels than this can be compared, the product limit is left to chance.
FEWEST_AT_RISK = 20
QUANTILES = (0.5, 0.9)
# Rows whose labels have come to this share are mature.
MATURE = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class DelayDistribution:
    """Share of the labels that have come by each age, of those that come within the horizon.

    Attributes
    ----------
    ages : ndarray of shape (n,)
        Delays that occurred, ascending, in days or in the unit of the times.
    shares : ndarray of shape (n,)
        Share of the labels that have come by then; 1 from the horizon on.
    log_variances : ndarray of shape (n,)
        Variance of the logarithm of each share.
    horizon : float
        Longest age at which labels can be compared. Labels that would take longer are not counted
        among those to come, and neither are they among the positives that ever get a label.
    n_labels : int
        Labels whose delay is known.
    score_p : float
        Chance of delays that differ as much between high and low scores, if they do not depend on
        the score. NaN where it cannot be tested.
    time_p : float
        The same between early and late rows: small where labels have become slower or faster.
    score_trend, time_trend : float
        Above zero where high scores, or late rows, wait longer; in standard errors.
    """

    ages: FloatArray
    shares: FloatArray
    log_variances: FloatArray
    horizon: float
    n_labels: int
    score_p: float = math.nan
    time_p: float = math.nan
    score_trend: float = math.nan
    time_trend: float = math.nan

    def share_by(self, age: Any) -> FloatArray:
        """Return the share of labels that have come by each age.

        Parameters
        ----------
        age : float or array-like
            How long ago rows happened.

        Returns
        -------
        ndarray
        """
        return self._at(age, np.concatenate([[0.0], self.shares]))

    def log_variance_at(self, age: Any) -> FloatArray:
        """Return the variance of the logarithm of the share at each age.

        Parameters
        ----------
        age : float or array-like
            How long ago rows happened.

        Returns
        -------
        ndarray
        """
        first = self.log_variances[:1] if len(self.ages) else np.zeros(1)
        return self._at(age, np.concatenate([first, self.log_variances]))

    def _at(self, age: Any, values: FloatArray) -> FloatArray:
        places = np.searchsorted(self.ages, np.asarray(age, float), side="right")
        found: FloatArray = values[places]
        return found

    def quantile(self, share: float) -> float:
        """Return the age by which so many of the labels have come.

        Parameters
        ----------
        share : float
            Between 0 and 1.

        Returns
        -------
        float
        """
        if not len(self.ages):
            return 0.0
        place = int(np.searchsorted(self.shares, share - 1e-12))
        return float(self.ages[min(place, len(self.ages) - 1)])

    def __repr__(self) -> str:
        """Show how long labels take."""
        half, most = (self.quantile(share) for share in QUANTILES)
        return (
            f"DelayDistribution(half of the labels by {half:.3g}, 90% by {most:.3g}, horizon "
            f"{self.horizon:.3g}, n={self.n_labels:,})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and lists.

        Returns
        -------
        dict
            By name of the attribute.
        """
        names = (
            *("horizon", "n_labels", "score_p", "time_p", "score_trend", "time_trend"),
            *("ages", "shares", "log_variances"),
        )
        return {name: to_plain(getattr(self, name)) for name in names}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per delay: age, share of labels by then, and its interval.

        Returns
        -------
        pandas.DataFrame
        """
        spread = NormalDist().inv_cdf(0.975) * np.sqrt(self.log_variances)
        return make_frame(
            {
                "age": self.ages,
                "share": self.shares,
                "lower": self.shares * np.exp(-spread),
                "upper": np.minimum(self.shares * np.exp(spread), 1.0),
            }
        )

    def _repr_html_(self) -> str:
        facts = {
            f"{show_percent(share)} of the labels by": show_number(self.quantile(share))
            for share in QUANTILES
        }
        facts |= {
            "longest age that can be compared": show_number(self.horizon),
            "labels with a known delay": f"{self.n_labels:,}",
            "delays and scores": say_p(self.score_p) if self.score_p == self.score_p else "",
            "delays, early and late rows": say_p(self.time_p) if self.time_p == self.time_p else "",
        }
        low, high = self.ages[:1], self.ages[-1:]
        shown = show_range(*low, *high) if len(low) else ""
        return html_facts(facts | {"delays": shown}, "How long labels take")


NO_DELAY = DelayDistribution(np.zeros(0), np.zeros(0), np.zeros(0), 0.0, 0)
"""Where labels are there at once, or their times are not known."""


def delay_distribution(
    delay: FloatArray, age: FloatArray, scores: FloatArray | None = None
) -> DelayDistribution:
    r"""Estimate how long labels take, by the product limit in reverse time.

    A label is only seen if its delay :math:`D_i` is at most the age :math:`A_i` of its row. Of the
    labels that a delay of ``u`` could have kept from being seen no more than one of less, those
    with :math:`D_i \le u \le A_i`, some took just ``u``; going down from the longest delay,

    .. math:: F(t) = \prod_{u > t} \left(1 - \frac{\#\{D_i = u\}}{\#\{D_i \le u \le A_i\}}\right).

    Parameters
    ----------
    delay : ndarray of shape (n,)
        Time from each labeled row to its label.
    age : ndarray of shape (n,)
        Time from each labeled row until now, at least the delay.
    scores : ndarray of shape (n,), optional
        Scores of the rows, to test whether delays depend on them.

    Returns
    -------
    DelayDistribution

    References
    ----------
    Lagakos, Barraj and De Gruttola, "Nonparametric analysis of truncated survival data, with
    application to AIDS", Biometrika 1988.

    Examples
    --------
    Four rows of age 2, of which two had labels after 1 and two after 2, and two of age 1: half of
    the labels come by 1, and without a look at what is still out it would be two thirds.

    >>> import numpy as np
    >>> from recoup.monitoring import delays
    >>> ages, taken = np.array([2., 2, 2, 2, 1, 1]), np.array([1., 1, 2, 2, 1, 1])
    >>> before, delays.FEWEST_AT_RISK = delays.FEWEST_AT_RISK, 1
    >>> delay_distribution(taken, ages).share_by([0.5, 1, 2])
    array([0. , 0.5, 1. ])
    >>> delays.FEWEST_AT_RISK = before
    """
    if not len(delay):
        return NO_DELAY
    at, taken, at_risk = _risk_sets(delay, age)
    enough = np.flatnonzero(at_risk >= FEWEST_AT_RISK)
    # Beyond it, a single late label would decide what share of all labels is still out.
    last = int(enough[-1]) if len(enough) else len(at) - 1
    horizon = float(at[last])
    at, taken, at_risk = at[: last + 1], taken[: last + 1], at_risk[: last + 1]
    later = taken[1:] / at_risk[1:]
    kept = np.concatenate([np.cumprod((1 - later)[::-1])[::-1], [1.0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = later / (at_risk[1:] * np.maximum(1 - later, 1 / at_risk[1:]))
    variances = np.concatenate([np.cumsum(terms[::-1])[::-1], [0.0]])
    tests: dict[str, float] = {}
    for name, values in (("score", scores), ("time", -age)):
        trend = math.nan if values is None else _trend(delay, age, values, horizon)
        tests |= {f"{name}_trend": trend, f"{name}_p": _two_sided(trend)}
    return DelayDistribution(at, kept, variances, horizon, len(delay), **tests)


def _risk_sets(delay: FloatArray, age: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each delay, how many labels took it, and how many could be compared there."""
    at, taken = np.unique(delay, return_counts=True)
    begun = np.searchsorted(np.sort(delay), at, side="right")
    gone = np.searchsorted(np.sort(age), at, side="left")
    return at, taken.astype(float), (begun - gone).astype(float)


def _trend(delay: FloatArray, age: FloatArray, values: FloatArray, horizon: float) -> float:
    """Compare the value of each label with those that it could be compared with.

    The score test of proportional reverse hazards: within a risk set, any label is as likely as
    another to be the one with just this delay, unless delays depend on the value. Ranks stand for
    the values, so that none of them decides alone.
    """
    ranks = _ranks(values)
    if len(delay) < FEWEST_AT_RISK or ranks.std() == 0:
        return math.nan
    at = np.unique(delay[delay <= horizon])
    by_delay, by_age = np.argsort(delay, kind="stable"), np.argsort(age, kind="stable")
    begun = np.searchsorted(delay[by_delay], at, side="right")
    gone = np.searchsorted(age[by_age], at, side="left")

    def summed(power: int) -> FloatArray:
        inside = np.concatenate([[0.0], np.cumsum(ranks[by_delay] ** power)])[begun]
        left = np.concatenate([[0.0], np.cumsum(ranks[by_age] ** power)])[gone]
        found: FloatArray = inside - left
        return found

    size, total, squares = summed(0), summed(1), summed(2)
    place = np.searchsorted(at, delay)
    seen = delay <= horizon
    taken = np.bincount(place[seen], minlength=len(at)).astype(float)
    of_taken = np.bincount(place[seen], ranks[seen], minlength=len(at))
    mean = total / size
    spread = np.maximum(squares / size - mean**2, 0.0)
    # Several labels with one delay are drawn without replacement.
    ties = np.where(size > 1, (size - taken) / np.maximum(size - 1, 1), 0.0)
    variance = float(np.sum(taken * spread * ties))
    return float(np.sum(of_taken - taken * mean) / math.sqrt(variance)) if variance > 0 else 0.0


def _ranks(values: FloatArray) -> FloatArray:
    """Return mid-ranks, centered and between -1 and 1."""
    ordered = np.sort(values)
    low, high = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    ranks: FloatArray = (low + high) / len(values) - 1
    return ranks


def _two_sided(trend: float) -> float:
    return math.nan if math.isnan(trend) else 2 * NormalDist().cdf(-abs(trend))


def mean_shares(
    delays: DelayDistribution, age: FloatArray, period: NDArray[np.int64], n_periods: int
) -> tuple[FloatArray, FloatArray]:
    """Average over the rows of each period: share of labels that have come, and its log variance.

    Parameters
    ----------
    delays : DelayDistribution
        How long labels take.
    age : ndarray of shape (n,)
        Time from each row until now.
    period : ndarray of shape (n,)
        Number of the period that each row is in.
    n_periods : int
        How many periods there are.

    Returns
    -------
    shares, variances : ndarray of shape (n_periods,)
        1 and 0 where a period has no rows.
    """
    if not len(delays.ages):
        return np.ones(n_periods), np.zeros(n_periods)
    n_rows = np.bincount(period, minlength=n_periods)
    shares = np.bincount(period, delays.share_by(age), minlength=n_periods)
    variances = np.bincount(period, delays.log_variance_at(age), minlength=n_periods)
    rows = np.maximum(n_rows, 1)
    empty = n_rows == 0
    return np.where(empty, 1.0, shares / rows), np.where(empty, 0.0, variances / rows)
