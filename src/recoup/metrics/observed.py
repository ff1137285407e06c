"""The observed shares behind metrics of selected rows, and the intervals that they give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.metrics.intervals import Ends, mover, wilson
from recoup.metrics.rates import Mixture
from recoup.scores.table import ScoreTable

STEP = 1e-6
ROUNDING = 1e-12
# Slopes over such a step are right to about 1e-10: a smaller variance is none.
SMALLEST_VARIANCE = 1e-18

# True and false positive rate, and pi.
Rates: TypeAlias = tuple[Any, Any, Any]
# Limits of a proportion, from its value, its size and a normal quantile.
ShareLimits: TypeAlias = Callable[[Any, Any, float], Ends]


@dataclass(frozen=True, eq=False)
class RatesAtLimits:
    """Rates of selections, and those with one of the shares behind them at its limits.

    Attributes
    ----------
    rates : tuple
        ``(tpr, fpr, pi)``, each with one row for the shares as they are, and two more for each
        share: at its lower and at its upper limit. A metric is computed once for all of them.
    """

    rates: Rates

    @classmethod
    def of(cls, center: Rates, ends: list[tuple[Rates, Rates]]) -> RatesAtLimits:
        """Lay rates, and those at the limits of each share, out as rows."""
        cases = [center, *(rates for pair in ends for rates in pair)]
        rows = [np.broadcast_arrays(*case) for case in cases]
        return cls(tuple(np.array(column) for column in zip(*rows, strict=True)))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class ObservedShares:
    """Shares that every metric of selected rows is a function of.

    Rows are selected by thresholds or by bins; all arrays have one entry per selection. Without
    weights the shares are independent binomial proportions.

    Attributes
    ----------
    table : ScoreTable
        The counted rows.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    values : dict of str to ndarray or float
        Share of the ``labeled``, the ``unlabeled`` and, if there are any, the ``known`` negative
        rows that is selected. In a single sample also ``fraction``, the share of labeled rows, and
        ``known_share``, that of known negatives among the others; with propensities ``pi``, the
        share of positives that they imply.
    sizes : dict of str to ndarray or float
        How many rows without weights would know each share as well.
    selected_squares : dict of str to ndarray
        Squared weights of the selected rows of each group.
    """

    table: ScoreTable
    scheme: Scheme
    values: dict[str, Any]
    sizes: dict[str, Any]
    selected_squares: dict[str, FloatArray]

    @classmethod
    def above(cls, table: ScoreTable, thresholds: FloatArray, scheme: Scheme) -> ObservedShares:
        """Select the rows at or above each threshold."""
        if len(thresholds) > 1:
            return cls._above(table, thresholds, scheme)
        # The threshold of an evaluation is asked for again and again.
        return table.once(
            ("shares above", float(thresholds[0]), scheme),
            lambda: cls._above(table, thresholds, scheme),
        )

    @classmethod
    def _above(cls, table: ScoreTable, thresholds: FloatArray, scheme: Scheme) -> ObservedShares:
        places = np.searchsorted(table.scores, thresholds, side="left")

        def selected(column: NDArray[Any]) -> FloatArray:
            from_here: FloatArray = np.append(np.cumsum(column[::-1].astype(float))[::-1], 0.0)
            return from_here[places]

        return cls._of(table, scheme, selected)

    @classmethod
    def in_bins(cls, table: ScoreTable, starts: NDArray[Any], scheme: Scheme) -> ObservedShares:
        """Select the rows between each place in the ascending scores and the next."""
        return cls._of(table, scheme, lambda column: np.add.reduceat(column.astype(float), starts))

    @classmethod
    def _of(
        cls, table: ScoreTable, scheme: Scheme, selected: Callable[[NDArray[Any]], FloatArray]
    ) -> ObservedShares:
        values: dict[str, Any] = {}
        sizes: dict[str, Any] = {}
        kept: dict[str, FloatArray] = {}
        for name, (rows, squares) in _groups(table).items():
            total, square = float(rows.sum()), float(squares.sum())
            inside = selected(rows)
            share = inside / total
            # Sums of weights round: the share of every row may miss 1 by a hair.
            share = np.where(share > 1 - ROUNDING, 1.0, np.where(share < ROUNDING, 0.0, share))
            values[name] = share
            # Without weights squares are counts.
            inside = inside if table.squares is None else selected(squares)
            kept[name] = np.where(share == 1, square, inside)
            noise = (1 - share) ** 2 * kept[name] + share**2 * (square - kept[name])
            # Where no row or every row is selected, none tells how weights go with scores there.
            sizes[name] = np.divide(
                share * (1 - share) * total**2,
                noise,
                out=np.full_like(share, total**2 / square),
                where=(share > 0) & (share < 1) & (noise > 0),
            )
        if table.shared is not None:
            kept["shared"] = selected(table.shared)
        shares = group_shares(table, scheme)
        values |= {name: share for name, (share, _) in shares.items()}
        sizes |= {name: size for name, (_, size) in shares.items()}
        return cls(table, scheme, values, sizes, kept)

    def rates(self, moved: dict[str, Any]) -> tuple[Any, Any]:
        """Shares of the rows counted as labeled and as unlabeled that are selected."""
        given = self.values | moved
        unlabeled = given["unlabeled"]
        if "known" in given:
            share = given["known_share"]
            unlabeled = (1 - share) * unlabeled + share * given["known"]
        return given["labeled"], unlabeled

    def mixture(self, alpha: Any, beta: Any, moved: dict[str, Any]) -> Mixture:
        """Shares of positives, from alpha among the rows that are really unlabeled."""
        return moved_mixture(self.table, self.scheme, alpha, beta, self.values | moved)

    def value(self, formula: Callable[..., Any], alpha: Any, beta: Any, **moved: Any) -> FloatArray:
        """Return a metric of each selection, with some of the shares replaced."""
        return np.asarray(formula(*self.at(alpha, beta, **moved)), float)

    def at(self, alpha: Any, beta: Any, **moved: Any) -> Rates:
        """Return ``(tpr, fpr, pi)`` of each selection, with some of the shares replaced."""
        mixture = self.mixture(alpha, beta, moved)
        return *mixture.true_rates(*self.rates(moved)), mixture.pi

    def at_limits(
        self, alpha: Any, beta: Any, z: float, limits_of_share: ShareLimits = wilson
    ) -> RatesAtLimits:
        """Return the rates themselves, and those with each share at its limits.

        They are the same for every metric.

        Parameters
        ----------
        alpha, beta : float
            Shares of positives among the unlabeled and the labeled rows.
        z : float
            Normal quantile of the level.
        limits_of_share : callable, default=wilson
            Limits of a proportion, from its value, its size and z.

        Returns
        -------
        RatesAtLimits
        """
        limits = {
            name: limits_of_share(self.values[name], self.sizes[name], z) for name in self.values
        }
        ends = [
            (self.at(alpha, beta, **{name: low}), self.at(alpha, beta, **{name: high}))
            for name, (low, high) in limits.items()
        ]
        return RatesAtLimits.of(self.at(alpha, beta), ends)

    def intervals(
        self,
        formulas: Sequence[Callable[..., Any]],
        alpha: Any,
        beta: Any,
        limits: RatesAtLimits,
        times: Any = 1.0,
    ) -> tuple[FloatArray, Ends]:
        """Metrics of each selection, and their intervals from Wilson's intervals of the shares.

        Parameters
        ----------
        formulas : sequence of callable
            The metrics, from ``(tpr, fpr, pi)``.
        alpha, beta : float
            Shares of positives among the unlabeled and the labeled rows.
        limits : RatesAtLimits
            Those of :meth:`at_limits` for this alpha and beta.
        times : float or ndarray, default=1.0
            By how much rows that are not independent widen them.

        Returns
        -------
        values : ndarray of shape (n_formulas, n)
        limits : pair of ndarray of shape (n_formulas, n)
        """
        cases = np.array([np.asarray(formula(*limits.rates), float) for formula in formulas])
        value, *others = np.moveaxis(cases, 1, 0)
        low, high = mover(value, zip(others[::2], others[1::2], strict=True))
        stretch = times
        if self.table.squares is not None:
            stretch = times * np.array([self._stretch(one, alpha, beta) for one in formulas])
        return value, (value - stretch * (value - low), value + stretch * (high - value))

    def _stretch(self, formula: Callable[..., Any], alpha: Any, beta: Any) -> Any:
        """By how much the error is larger than if the shares were independent.

        With weights that go with the score, rows that raise one share raise another too.
        """
        slopes, apart = {}, 0.0
        for name, share in self.values.items():
            above, below = (
                self.value(formula, alpha, beta, **{name: share + step}) for step in (STEP, -STEP)
            )
            slopes[name] = (above - below) / (2 * STEP)
            apart = apart + slopes[name] ** 2 * share * (1 - share) / self.sizes[name]
        joint = self._joint_variance(slopes)
        usable = (apart > SMALLEST_VARIANCE) & (joint > SMALLEST_VARIANCE)
        return np.sqrt(np.divide(joint, apart, out=np.ones_like(joint), where=usable))

    def _joint_variance(self, slopes: dict[str, Any]) -> Any:
        """Variance of a value from its slopes in the shares: squared weights by squared slopes."""
        table, given = self.table, self.values
        total: Any = 0.0
        moves: dict[str, tuple[Any, Any]] = {}
        for name, (rows, squares) in _groups(table).items():
            # What a unit of weight in this group moves besides the share that is selected.
            others: Any = 0.0
            if "fraction" in given:
                own = float(name == "labeled") - given["fraction"]
                others += slopes["fraction"] * own / table.n_rows
            if "known_share" in given and name != "labeled":
                own = float(name == "known") - given["known_share"]
                others += slopes["known_share"] * own / table.n_unlabeled
            if "pi" in given:
                own = 1.0 if name == "labeled" else -given["pi"]
                others += slopes["pi"] * own / table.n_unlabeled
            slope, share = slopes[name] / float(rows.sum()), given[name]
            inside, outside = slope * (1 - share) + others, others - slope * share
            moves[name] = inside, outside
            kept = self.selected_squares[name]
            total = total + kept * inside**2 + (squares.sum() - kept) * outside**2
        if table.shared is not None:
            kept = self.selected_squares["shared"]
            (inside_l, outside_l), (inside_u, outside_u) = moves["labeled"], moves["unlabeled"]
            rest = table.shared.sum() - kept
            total = total + 2 * (kept * inside_l * inside_u + rest * outside_l * outside_u)
        return total


def group_shares(table: ScoreTable, scheme: Scheme) -> dict[str, tuple[float, float]]:
    """Shares of the groups themselves that are a matter of chance, with their sizes.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.

    Returns
    -------
    dict of str to (float, float)
        Each share, and how many rows without weights would know it as well. ``fraction`` and
        ``known_share`` in a single sample, ``pi`` with propensities, nothing in the case-control
        scheme.
    """
    if table.shared is not None:
        pi = table.n_labeled / table.n_unlabeled
        positives, rows = (table.squares_of(name).sum() for name in ("labeled", "unlabeled"))
        noise = (positives + pi**2 * rows - 2 * pi * table.shared.sum()) / table.n_unlabeled**2
        return {"pi": (pi, _size_of(pi, noise))}
    if scheme == "case-control":
        return {}
    labeled, others = table.effective_sizes
    share = table.n_labeled / table.n_rows
    found = {
        "fraction": (
            share,
            _size_of(share, (share * (1 - share)) ** 2 * (1 / labeled + 1 / others)),
        )
    }
    if table.n_known:
        share = table.n_known / table.n_unlabeled
        known = table.known_squares.sum()
        rest = table.squares_of("unlabeled").sum() - known
        noise = ((1 - share) ** 2 * known + share**2 * rest) / table.n_unlabeled**2
        found["known_share"] = share, _size_of(share, noise)
    return found


def moved_mixture(
    table: ScoreTable, scheme: Scheme, alpha: Any, beta: Any, shares: dict[str, Any]
) -> Mixture:
    """Shares of positives where shares of the groups are replaced.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    alpha, beta : float or ndarray
        Shares of positives among the rows that are really unlabeled, and among the labeled ones.
    shares : dict of str to float or ndarray
        Those of :func:`group_shares` that differ from the table's own.

    Returns
    -------
    Mixture
    """
    if table.shared is not None:
        return Mixture.by_propensity(shares.get("pi", table.n_labeled / table.n_unlabeled))
    return Mixture.of(
        table,
        alpha,
        beta,
        scheme,
        labeled_fraction=shares.get("fraction"),
        known_share=shares.get("known_share"),
    )


def _size_of(share: float, noise: float) -> float:
    return float(share * (1 - share) / noise) if noise > 0 and 0 < share < 1 else np.inf


def _groups(table: ScoreTable) -> dict[str, tuple[NDArray[Any], FloatArray]]:
    """Rows and squared weights of each group at each score, known negatives apart."""
    labeled, unlabeled = (
        (getattr(table, name), table.squares_of(name)) for name in ("labeled", "unlabeled")
    )
    if table.known is None or not table.n_known:
        return {"labeled": labeled, "unlabeled": unlabeled}
    rest = unlabeled[0] - table.known, unlabeled[1] - table.known_squares
    return {"labeled": labeled, "unlabeled": rest, "known": (table.known, table.known_squares)}
