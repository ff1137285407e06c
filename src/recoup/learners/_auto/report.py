"""What AutoPU tried, what it made of it, and how good the result is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number, show_range, show_seconds
from recoup.metrics.area import aul_of

if TYPE_CHECKING:
    import pandas as pd

# Rows that test one fold train the models of the others, so that variances at most double.
WIDENING = 2.0**0.5
QUANTILE = 1.959964


@dataclass(frozen=True)
class CandidateReport:
    """How one candidate fared on rows that its models had not seen.

    Attributes
    ----------
    key : str
        Its name.
    auc, auc_low, auc_high : float
        Recovered area under the ROC curve, and its interval at 95 %.
    aul : float
        Area under the lift curve.
    weight : float
        Its share in the combination; 0 for one that was left out.
    seconds : float
        What its fits took, those of the folds and the one on all rows.
    """

    key: str
    auc: float
    auc_low: float
    auc_high: float
    aul: float
    weight: float
    seconds: float


@dataclass(frozen=True, repr=False)
class AutoReport:
    """What :class:`recoup.learners.AutoPU` tried, and how good the combination is.

    Attributes
    ----------
    candidates : tuple of CandidateReport
        All that were tried, the best first.
    auc : float
        Recovered area under the ROC curve of the combination, less ``optimism``.
    auc_low, auc_high : float
        Its interval at 95 %, for alpha as it is: wide enough for rows that also trained models of
        other folds, and moved by ``optimism``.
    optimism : float
        The price of choosing: by how much weights that come from the same rows make the area seem
        larger, on average.
    aul : float
        Area under the lift curve of the combination, less its share of ``optimism``.
    alpha : float
        Share of positives among the unlabeled rows that all of this is computed with.
    pi : float
        Share of positives in the population.
    called : float
        Share of the population called positive by the cross-fitted scores.
    n_folds : int
        Folds of the cross-fit.
    n_labeled, n_unlabeled : int
        Rows of each kind.
    seconds : float
        Time of the whole fit, without the estimate of alpha.
    """

    candidates: tuple[CandidateReport, ...]
    auc: float
    auc_low: float
    auc_high: float
    optimism: float
    aul: float
    alpha: float
    pi: float
    called: float
    n_folds: int
    n_labeled: int
    n_unlabeled: int
    seconds: float

    def __repr__(self) -> str:
        """Show the combination in a line, and a line for each candidate."""
        lines = [self.summary()]
        width = max(len(one.key) for one in self.candidates)
        for one in self.candidates:
            part = f"weight {one.weight:.2f}" if one.weight > 0 else "left out"
            lines.append(
                f"  {one.key:<{width}}  AUC {show_number(one.auc)} "
                f"[{show_range(one.auc_low, one.auc_high)}]  {part:<11}  "
                f"{show_seconds(one.seconds)}"
            )
        return "\n".join(lines)

    def summary(self) -> str:
        """Say in one line how good the combination is on rows that it had not seen.

        Returns
        -------
        str
        """
        return (
            f"AutoReport(held-out AUC {show_number(self.auc)} "
            f"[{show_range(self.auc_low, self.auc_high)}], AUL {show_number(self.aul)}, "
            f"{self.called:.1%} called positive, alpha={self.alpha:.3g}, "
            f"n={self.n_labeled}+{self.n_unlabeled}, {self.n_folds} folds)"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate, and one for the combination.

        Returns
        -------
        pandas.DataFrame
            With columns candidate, auc, auc_low, auc_high, aul, weight and seconds.
        """
        columns: dict[str, list[Any]] = {
            "candidate": [*(one.key for one in self.candidates), "combination"]
        }
        for name in ("auc", "auc_low", "auc_high", "aul"):
            values = [getattr(one, name) for one in self.candidates]
            columns[name] = [*values, getattr(self, name)]
        columns["weight"] = [*(one.weight for one in self.candidates), 1.0]
        columns["seconds"] = [*(one.seconds for one in self.candidates), self.seconds]
        return make_frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists.

        Returns
        -------
        dict
            By name of the attribute; a dictionary for each candidate.
        """
        plain = {name: to_plain(value) for name, value in vars(self).items()}
        return plain | {"candidates": [to_plain(vars(one)) for one in self.candidates]}

    def _repr_html_(self) -> str:
        frame: dict[str, list[str]] = {"tried": [], "AUC": [], "95 %": [], "weight": [], "time": []}
        for one in self.candidates:
            frame["tried"].append(one.key)
            frame["AUC"].append(show_number(one.auc))
            frame["95 %"].append(show_range(one.auc_low, one.auc_high))
            frame["weight"].append(f"{one.weight:.2f}" if one.weight > 0 else "left out")
            frame["time"].append(show_seconds(one.seconds))
        return html_table(frame, self.summary())


def recovered_area(area: float, alpha: float) -> float:
    """Return the AUC behind P(a labeled row scores higher than an unlabeled one), within [0, 1].

    Examples
    --------
    >>> recovered_area(0.75, 0.25)
    0.8333333333333334
    """
    return min(max((area - alpha / 2) / (1 - alpha), 0.0), 1.0)


def interval_of(area: float, error: float, alpha: float) -> tuple[float, float]:
    """Return the limits of the recovered area, from the standard error of independent rows."""
    reach = QUANTILE * WIDENING * error
    return recovered_area(area - reach, alpha), recovered_area(area + reach, alpha)


def lift_area(auc: float, pi: float) -> float:
    """Return the area under the lift curve that goes with an AUC."""
    return float(aul_of(auc, pi))
