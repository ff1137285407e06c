"""Difference: the metric of one model minus that of another, on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Difference:
    """Metric of the first model minus that of the second, on the same rows.

    Attributes
    ----------
    metric : str
        Key of the metric.
    first : str
        Name of the first model.
    second : str
        Name of the second model.
    difference : float
        Recovered metric of the first model minus that of the second.
    lower : float
        Lower limit of the confidence interval of the difference. NaN for a metric at thresholds
        that each model has for itself, and for one that all models are held equal at.
    upper : float
        Upper limit of the confidence interval of the difference; NaN likewise.
    p_value : float
        Of the test that there is no difference; NaN likewise.
    p_adjusted : float
        The same after Holm's correction over all pairs of models for this metric.
    """

    metric: str
    first: str
    second: str
    difference: float
    lower: float
    upper: float
    p_value: float
    p_adjusted: float = np.nan

    def __repr__(self) -> str:
        """Show the difference with its interval."""
        text = f"{self.metric}: {self.first} - {self.second} = {self.difference:+.4g}"
        if np.isnan(self.p_value):
            return f"Difference({text}, not tested)"
        return f"Difference({text} [{self.lower:+.4g}, {self.upper:+.4g}], p={self.p_value:.2g})"


def difference_between(
    differences: Sequence[Difference], first: str, second: str, metric: str
) -> Difference:
    """Look up the difference between two models, in either order.

    Parameters
    ----------
    differences : sequence of Difference
        Those of a comparison.
    first : str
        Name of the model whose metric counts positively.
    second : str
        Name of the model whose metric is subtracted.
    metric : str
        Key of the metric.

    Returns
    -------
    Difference

    Raises
    ------
    KeyError
        If there is no such model or metric.
    """
    for item in differences:
        if item.metric == metric and {item.first, item.second} == {first, second}:
            if item.first == first:
                return item
            return Difference(
                item.metric,
                first,
                second,
                -item.difference,
                -item.upper,
                -item.lower,
                item.p_value,
                item.p_adjusted,
            )
    models = dict.fromkeys(name for item in differences for name in (item.first, item.second))
    raise KeyError(
        f"No difference of {metric!r} between {first!r} and {second!r} here. Models: "
        f"{', '.join(models)}; metrics: "
        f"{', '.join(dict.fromkeys(item.metric for item in differences))}."
    )
