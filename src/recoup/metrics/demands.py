"""What can be promised of the rows above a threshold, and what is made best beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from recoup._core.checks import FloatArray, brief, did_you_mean
from recoup._core.constraints import Number
from recoup.exceptions import InvalidInputError
from recoup.metrics.intervals import normal_quantile
from recoup.metrics.point import expected_cost, precision, recall
from recoup.metrics.spec import MetricSpec, metric_spec, specs

SHARE = Number(above=0, below=1, hint="Pass a share such as 0.9.")
COST = Number(above=0, hint="Pass costs such as {'fp': 1, 'fn': 20}.")
# Where walks start, from where a perfect ranking would just be recognized (0) to where every
# positive would have to be flagged (1). Chosen by how often a threshold was
# found in simulations with other seeds than the study's. The level holds for any starts.
STARTS = (0.1, 0.3, 0.6, 0.85)
LAST_START = 0.95

Kind: TypeAlias = Literal["precision", "recall", "cost"]


@dataclass(frozen=True)
class Demand:
    """One thing that is promised of the rows at or above a threshold.

    Attributes
    ----------
    kind : {"precision", "recall", "cost"}
        At least so many of the flagged rows are positive; at least so many of the positives are
        flagged; to flag by the threshold costs less than to flag no row, or all.
    goal : float
        What must be reached: a share, or 0 of what is saved.
    costs : (float, float), default=(1.0, 1.0)
        Cost of a false positive and of a false negative.
    """

    kind: Kind
    goal: float
    costs: tuple[float, float] = (1.0, 1.0)

    def value(self, tpr: Any, fpr: Any, pi: Any) -> Any:
        """Return what must be at least the goal."""
        if self.kind == "precision":
            return precision.from_rates(tpr, fpr, pi)
        if self.kind == "recall":
            return recall.from_rates(tpr, fpr, pi)
        fp_cost, fn_cost = self.costs
        idle = np.minimum(fn_cost * pi, fp_cost * (1 - pi))
        return idle - expected_cost.from_rates(tpr, fpr, pi, fp_cost=fp_cost, fn_cost=fn_cost)

    def start_of_walks(self, n_labeled: float, level: float) -> FloatArray:
        """Return where walks start, in rows per row that the promise needs at most.

        With perfect precision among the first rows, the share of labeled rows above a threshold
        is f / goal where f is promised. The least f at which that is recognized follows.

        Parameters
        ----------
        n_labeled : float
            Number of labeled rows.
        level : float
            Chance that the promise may be broken.

        Returns
        -------
        ndarray of shape (n_starts,)
        """
        z = normal_quantile(1 - 2 * level)
        odds = z**2 / (max(1 / self.goal - 1, 1e-6) ** 2 * n_labeled)
        least = min(odds / (1 + odds), self.goal * LAST_START)
        return least + (LAST_START - least) * np.array(STARTS)


def demands_of(precision_goal: Any, recall_goal: Any, cost: Any, caller: str) -> list[Demand]:
    """Check what is asked for, and take it as demands.

    Parameters
    ----------
    precision_goal, recall_goal : float or None
        Shares that precision and recall must reach.
    cost : mapping or None
        Costs of a false positive (``"fp"``) and of a false negative (``"fn"``).
    caller : str
        Who asks, for the error message.

    Returns
    -------
    list of Demand
    """
    found = []
    if precision_goal is not None:
        SHARE.check(precision_goal, "precision", caller)
        found.append(Demand("precision", float(precision_goal)))
    if recall_goal is not None:
        SHARE.check(recall_goal, "recall", caller)
        found.append(Demand("recall", float(recall_goal)))
    if cost is not None:
        if not isinstance(cost, Mapping) or set(cost) != {"fp", "fn"}:
            raise InvalidInputError(
                f"{caller} needs cost to name what a false positive ('fp') and a false negative "
                f"('fn') cost. Got {brief(cost)}. {COST.hint}"
            )
        for name, value in cost.items():
            COST.check(value, f"cost[{name!r}]", caller)
        found.append(Demand("cost", 0.0, (float(cost["fp"]), float(cost["fn"]))))
    return found


def aim_of(maximise: Any, demands: list[Demand], caller: str) -> MetricSpec | Demand:
    """Return what to make best among the thresholds that keep a promise.

    Parameters
    ----------
    maximise : str or None
        Key of a metric of one threshold.
    demands : list of Demand
        What is promised.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    MetricSpec or Demand
        By default what a promise of cost saves, precision where recall alone was promised, and
        recall else.
    """
    if maximise is None:
        costly = [one for one in demands if one.kind == "cost"]
        if costly:
            return costly[0]
        only_recall = [one.kind for one in demands] == ["recall"]
        return metric_spec("precision" if only_recall else "recall", caller)
    known = [one.key for one in specs("point")]
    if not isinstance(maximise, str) or maximise not in known:
        raise InvalidInputError(
            f"{caller} needs maximise to be a metric of one threshold. Got {brief(maximise)!r}."
            f"{did_you_mean(maximise, known)} Choose among: {', '.join(known)}."
        )
    return metric_spec(maximise, caller)
