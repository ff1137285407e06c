"""One metric over groups: values with intervals, and how groups differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_count, show_number, show_range, show_share
from recoup.evaluation.estimates import Estimate
from recoup.exceptions import InvalidInputError
from recoup.metrics.intervals import spread, tails
from recoup.metrics.spec import METRICS
from recoup.scores.group_keys import GroupKeys, plain_columns

if TYPE_CHECKING:
    import pandas as pd

# With more pairs than this the largest gap is read off the groups' own simultaneous limits.
MOST_PAIRED, PAIR_DRAWS = 400, 500


@dataclass(frozen=True)
class GroupEstimate:
    """One metric of one group.

    Attributes
    ----------
    group : tuple
        The value of each column, None where it is missing.
    name : str
        The group as a person would write it.
    key : str
        Name of the metric in code.
    pu : float
        The value if every unlabeled row of the group is taken as negative.
    recovered : float
        The corrected value.
    lower : float
        Lower limit of its confidence interval.
    upper : float
        Upper limit of its confidence interval.
    own : float
        How much of it came from the group's own rows, from 0 (all from what groups have in common)
        to 1.
    n_labeled : float
        Labeled rows of the group.
    n_unlabeled : float
        Unlabeled rows of the group.
    n_checked : int
        Rows of the group that were checked by hand, where these decide.
    """

    group: tuple[Any, ...]
    name: str
    key: str
    pu: float
    recovered: float
    lower: float
    upper: float
    own: float
    n_labeled: float
    n_unlabeled: float
    n_checked: int = 0

    def __repr__(self) -> str:
        """Show the value with its interval."""
        return (
            f"GroupEstimate({self.key} of {self.name!r}: {self.recovered:.4g} "
            f"[{self.lower:.4g}, {self.upper:.4g}], own {self.own:.2g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(asdict(self))
        return plain


@dataclass(frozen=True)
class GroupContrast:
    """A metric of one group against that of another.

    Attributes
    ----------
    key : str
        Name of the metric; ``"equalized_odds"`` for the larger gap of recall and specificity.
    kind : {"difference", "ratio", "gap"}
        First minus second, first over second, or the largest difference between any two groups.
    first : str
        The first group, or the one with the highest value.
    second : str
        The second group, or the one with the lowest value.
    value : float
        The difference or the ratio.
    lower : float
        Lower limit of its confidence interval. That of a gap holds for all pairs of groups at once.
    upper : float
        Upper limit of its confidence interval.
    """

    key: str
    kind: str
    first: str
    second: str
    value: float
    lower: float
    upper: float

    def __repr__(self) -> str:
        """Show the value with its interval."""
        sign = "/" if self.kind == "ratio" else "-"
        return (
            f"GroupContrast({self.kind} of {self.key}: {self.first!r} {sign} {self.second!r} = "
            f"{self.value:.4g} [{self.lower:.4g}, {self.upper:.4g}])"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        plain: dict[str, Any] = to_plain(asdict(self))
        return plain


@dataclass(frozen=True, repr=False, eq=False)
class GroupMetric:
    """One metric of all groups.

    Attributes
    ----------
    key : str
        Name of the metric in code; ``"alpha"`` for the share of positives among unlabeled rows.
    groups : GroupKeys
        The groups.
    pu : ndarray of shape (n_groups,)
        The values if every unlabeled row is taken as negative.
    recovered : ndarray of shape (n_groups,)
        The corrected values.
    lower, upper : ndarray of shape (n_groups,)
        Limits of their confidence intervals.
    own : ndarray of shape (n_groups,)
        How much of each came from the group's own rows.
    n_labeled, n_unlabeled : ndarray of shape (n_groups,)
        Rows of each group.
    n_checked : ndarray of shape (n_groups,)
        Rows of each group that were checked by hand, where these decide.
    draws : ndarray of shape (n_cases, n_draws, n_groups)
        Plausible values; groups of one draw belong together.
    total : Estimate
        The metric of all groups together, put together from the groups.
    confidence : float
        Level of the intervals.
    """

    key: str
    groups: GroupKeys
    pu: FloatArray
    recovered: FloatArray
    lower: FloatArray
    upper: FloatArray
    own: FloatArray
    n_labeled: FloatArray
    n_unlabeled: FloatArray
    n_checked: FloatArray
    draws: FloatArray
    total: Estimate
    confidence: float

    @property
    def label(self) -> str:
        """Name of the metric for people."""
        return "alpha" if self.key == "alpha" else METRICS[self.key].label

    def __repr__(self) -> str:
        """Show the total and how many groups there are."""
        return (
            f"GroupMetric({self.key} of {len(self.groups):,} groups, total "
            f"{self.total.recovered:.4g} [{self.total.lower:.4g}, {self.total.upper:.4g}])"
        )

    def _repr_html_(self) -> str:
        return html_table(self.shown(), f"{self.label} by {', '.join(self.groups.columns)}")

    def shown(self) -> dict[str, list[str]]:
        """Return the columns of a table for people, the total last.

        Returns
        -------
        dict of str to list of str
        """
        ends = zip(self.lower, self.upper, strict=True)
        total = self.total
        return {
            "group": [*self.groups.names, "all together"],
            "labeled": [show_count(n) for n in (*self.n_labeled, self.n_labeled.sum())],
            "unlabeled": [show_count(n) for n in (*self.n_unlabeled, self.n_unlabeled.sum())],
            "PU": [show_number(value) for value in (*self.pu, total.pu)],
            "recovered": [show_number(value) for value in (*self.recovered, total.recovered)],
            "interval": [
                *(show_range(low, high) for low, high in ends),
                show_range(total.lower, total.upper),
            ],
            "own rows": [*(show_share(float(share)) for share in self.own), show_share(1.0)],
        }

    def __getitem__(self, group: Any) -> GroupEstimate:
        """Return the estimate of a group, by the value of its column or a tuple of values."""
        return self.at(self.groups.find(group, "GroupMetric"))

    def at(self, place: int) -> GroupEstimate:
        """Return the estimate of the group at a place.

        Parameters
        ----------
        place : int
            Place among the groups.

        Returns
        -------
        GroupEstimate
        """
        return GroupEstimate(
            group=self.groups.keys[place],
            name=self.groups.names[place],
            key=self.key,
            pu=float(self.pu[place]),
            recovered=float(self.recovered[place]),
            lower=float(self.lower[place]),
            upper=float(self.upper[place]),
            own=float(self.own[place]),
            n_labeled=float(self.n_labeled[place]),
            n_unlabeled=float(self.n_unlabeled[place]),
            n_checked=int(self.n_checked[place]),
        )

    def worst(self, k: int) -> tuple[GroupEstimate, ...]:
        """Return the groups with the worst values, the worst first.

        Parameters
        ----------
        k : int
            How many.

        Returns
        -------
        tuple of GroupEstimate
        """
        if self.key == "alpha":
            raise InvalidInputError(
                "worst needs a metric of which more is better or worse. Got 'alpha', a share of "
                "rows. Pass 'precision' or 'recall'."
            )
        sign = 1 if METRICS[self.key].higher_is_better else -1
        order = np.argsort(np.where(np.isnan(self.recovered), np.inf, sign * self.recovered))
        return tuple(self.at(int(place)) for place in order[:k])

    def to_frame(self, *, simultaneous: bool = False) -> pd.DataFrame:
        """Return one row per group.

        Parameters
        ----------
        simultaneous : bool, default=False
            Whether limits are to hold for all groups at once with the confidence, rather than for
            each of them.

        Returns
        -------
        pandas.DataFrame
            With a column for each column of the groups, then metric, pu, recovered, lower, upper,
            own, n_labeled, n_unlabeled and n_checked.
        """
        lower, upper = self.simultaneous() if simultaneous else (self.lower, self.upper)
        return make_frame(
            dict(plain_columns(self.groups))
            | {
                "metric": [self.key] * len(self.groups),
                "pu": self.pu,
                "recovered": self.recovered,
                "lower": lower,
                "upper": upper,
                "own": self.own,
                "n_labeled": self.n_labeled,
                "n_unlabeled": self.n_unlabeled,
                "n_checked": self.n_checked,
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            With the key, the groups as a list, and the total.
        """
        names = ("pu", "recovered", "lower", "upper")
        total = {name: getattr(self.total, name) for name in names}
        groups = [self.at(place).to_dict() for place in range(len(self.groups))]
        found: dict[str, Any] = to_plain({"key": self.key, "groups": groups, "total": total})
        return found

    def simultaneous(self) -> tuple[FloatArray, FloatArray]:
        """Limits that hold for all groups at once: each interval stretched by one factor.

        The factor is the quantile of the largest distance from the middle over the groups, in units
        of the pointwise intervals (max-t).

        Returns
        -------
        lower, upper : ndarray of shape (n_groups,)
        """
        below, above = self.recovered - self.lower, self.upper - self.recovered
        factor = 1.0
        for case in self.draws:
            middle = np.median(case, axis=0)
            low, high = spread(case, self.confidence)
            away = np.maximum(
                _ratio(middle - case, middle - low), _ratio(case - middle, high - middle)
            )
            factor = max(factor, float(np.quantile(away.max(axis=1), self.confidence)))
        least, most = _range_of(self.key)
        return (
            np.maximum(self.recovered - factor * below, least),
            np.minimum(self.recovered + factor * above, most),
        )

    def contrast(self, first: int, second: int, kind: str) -> GroupContrast:
        """Set two groups against each other.

        Parameters
        ----------
        first, second : int
            Their places.
        kind : {"difference", "ratio"}
            What to compute.

        Returns
        -------
        GroupContrast
        """
        self._need_draws()

        def of(one: Any, other: Any) -> Any:
            if kind == "difference":
                return one - other
            return _divide(one, other)

        value = float(of(self.recovered[first], self.recovered[second]))
        # Where alphas were given as intervals, each group may lie anywhere in its own.
        limits = [
            spread(found[np.isfinite(found)], self.confidence)
            for one in self.draws[:, :, first]
            for other in self.draws[:, :, second]
            if np.isfinite(found := of(one, other)).any()
        ]
        low = min((low for low, _ in limits), default=np.nan)
        high = max((high for _, high in limits), default=np.nan)
        names = self.groups.names
        return GroupContrast(
            *(self.key, kind, names[first], names[second], value),
            *(float(np.fmin(low, value)), float(np.fmax(high, value))),
        )

    def gap(self) -> GroupContrast:
        """Find the largest difference between any two groups, with limits for all pairs at once.

        Returns
        -------
        GroupContrast
        """
        self._need_draws()
        values = self.recovered
        if np.isnan(values).all():
            raise InvalidInputError(
                f"gap needs a metric that some groups have. Got {self.key!r}, which none has here."
            )
        best, worst = int(np.nanargmax(values)), int(np.nanargmin(values))
        value = float(values[best] - values[worst])
        names = self.groups.names
        kept = np.flatnonzero(np.isfinite(values))
        if len(self.draws) > 1 or len(kept) > MOST_PAIRED:
            lower, upper = self.simultaneous()
            low = float(np.nanmax(lower) - np.nanmin(upper))
            high = float(np.nanmax(upper) - np.nanmin(lower))
        else:
            low, high = _largest_gap(self.draws[0][:, kept], values[kept], self.confidence)
        width = np.diff(_range_of(self.key))[0]
        low, high = min(max(low, 0.0), value), max(min(high, width), value)
        return GroupContrast(self.key, "gap", names[best], names[worst], value, low, high)

    def _need_draws(self) -> None:
        if len(self.groups) < 2:
            raise InvalidInputError(
                f"Groups differ where there are at least two. Got one, "
                f"{self.groups.names[0]!r}. Pass other columns."
            )


def _largest_gap(draws: FloatArray, values: FloatArray, confidence: float) -> tuple[float, float]:
    """Limits of the largest difference, from limits of all differences at once."""
    step = max(len(draws) // PAIR_DRAWS, 1)
    first, second = np.triu_indices(len(values), 1)
    some = draws[::step]
    middle = np.median(some, axis=0)
    pairs = some[:, first] - some[:, second] - (middle[first] - middle[second])
    errors = np.maximum(pairs.std(axis=0), 1e-12)
    factor = float(np.quantile(np.max(np.abs(pairs) / errors, axis=1), confidence))
    away = np.abs(values[first] - values[second])
    return float((away - factor * errors).max()), float((away + factor * errors).max())


def _range_of(key: str) -> tuple[float, float]:
    if key == "alpha":
        return 0.0, 1.0
    return METRICS[key].low, METRICS[key].high


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 1e-12)


def _divide(one: Any, other: Any) -> Any:
    one, other = np.asarray(one, float), np.asarray(other, float)
    return np.divide(one, other, out=np.full(one.shape, np.nan), where=other > 0)


def make_metric(
    key: str,
    value: FloatArray,
    draws: FloatArray,
    total: float,
    total_draws: FloatArray,
    total_pu: float,
    confidence: float,
    **columns: Any,
) -> GroupMetric:
    """Bring values and draws into the metric's range, and read limits off the draws.

    Parameters
    ----------
    key : str
        Name of the metric.
    value : ndarray of shape (n_groups,)
        Raw values.
    draws : ndarray of shape (n_cases, n_draws, n_groups)
        Plausible raw values.
    total : float
        Raw value of all groups together.
    total_draws : ndarray of shape (n_cases, n_draws)
        Plausible raw values.
    total_pu : float
        What was observed of all groups together.
    confidence : float
        Level of the intervals.
    **columns : object
        Other attributes of the result.

    Returns
    -------
    GroupMetric
    """
    low, high = _range_of(key)
    inside = np.clip(draws, low, high)
    shown = np.clip(value, low, high)
    limits = [_limits(case, confidence) for case in inside]
    lower = np.minimum(np.min([one for one, _ in limits], axis=0), shown)
    upper = np.maximum(np.max([one for _, one in limits], axis=0), shown)
    ends = [_limits(case, confidence) for case in np.clip(total_draws, low, high)[..., None]]
    middle = float(np.clip(total, low, high))
    label = "alpha" if key == "alpha" else METRICS[key].label
    least = min(float(min(one[0] for one, _ in ends)), middle)
    most = max(float(max(one[0] for _, one in ends)), middle)
    together = Estimate(
        *(key, label, total_pu, middle, total, least, most),
        possible_lower=least,
        possible_upper=most,
    )
    return GroupMetric(
        key,
        recovered=shown,
        lower=np.where(np.isnan(shown), np.nan, lower),
        upper=np.where(np.isnan(shown), np.nan, upper),
        draws=inside,
        total=together,
        confidence=confidence,
        **columns,
    )


def _limits(draws: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    if np.isnan(draws).any():
        # Draws without a value, such as precision where nothing is predicted, leave it open.
        filled = np.isnan(draws).all(axis=0)
        draws = np.where(filled, 0.0, draws)
        low, high = np.nanquantile(draws, tails(confidence), axis=0)
        return np.where(filled, np.nan, low), np.where(filled, np.nan, high)
    # Each group's draws side by side: several times faster.
    low, high = np.quantile(np.ascontiguousarray(draws.T), tails(confidence), axis=1)
    return low, high
