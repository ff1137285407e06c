"""TippingPoint: how much labels must favor some scores before a decision no longer stands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import brief
from recoup._core.results import html_facts, make_frame, to_plain
from recoup._core.text import show_digits, show_number, show_percent, show_range
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import metric_spec
from recoup.selection.tilt import AtTilt, TiltedEvaluation

if TYPE_CHECKING:
    import pandas as pd

STEP = 1.5
PRECISION = 0.01


@dataclass(frozen=True, repr=False)
class TippingPoint:
    """From which strength of selection on a decision no longer stands.

    Attributes
    ----------
    metric : str
        Key of the metric that the decision rests on.
    goal : float
        What the metric must reach, or must not exceed.
    sense : {"at_least", "at_most"}
        Which of the two.
    value : float
        The metric with labels at random.
    lower : float
        Lower limit of its confidence interval.
    upper : float
        Upper limit of its confidence interval.
    strength : float
        The least strength at which the value misses the goal: how many times the odds of a label
        differ between the positives with the highest and the lowest scores. 1 if it does so with
        labels at random, infinite if it does at no strength up to ``maximum``.
    favored : {"high", "low", "none"}
        Which scores labels favor there.
    limit_strength : float
        The same for the limit of the interval, the lower one where the metric must be at least the
        goal: from there on the rows no longer show that it is. NaN without an interval.
    limit_favored : {"high", "low", "none"}
        Which scores labels favor there.
    maximum : float
        The strongest selection that was looked at.
    confidence : float
        Level of the interval.
    """

    metric: str
    goal: float
    sense: str
    value: float
    lower: float
    upper: float
    strength: float
    favored: str
    limit_strength: float
    limit_favored: str
    maximum: float
    confidence: float

    def __repr__(self) -> str:
        """Show the two strengths."""
        sign = ">=" if self.sense == "at_least" else "<="
        return (
            f"TippingPoint({self.metric} {sign} {self.goal:g}: strength {self.strength:.3g} "
            f"({self.favored}), limit {self.limit_strength:.3g} ({self.limit_favored}))"
        )

    def __str__(self) -> str:
        """Say it in sentences."""
        return self.sentence()

    def sentence(self) -> str:
        """Say for people what was found.

        Returns
        -------
        str
            Two or three sentences.
        """
        label = metric_spec(self.metric, "TippingPoint").label
        goal = f"{'at least' if self.sense == 'at_least' else 'at most'} {show_digits(self.goal)}"
        interval = ""
        if not math.isnan(self.limit_strength):
            interval = f" ({show_range(self.lower, self.upper)})"
        parts = [f"If labels are a random sample, {label} is {show_number(self.value)}{interval}."]
        if self.strength == 1:
            return f"{parts[0]} That is not {goal} to begin with."
        if self.limit_strength == 1:
            parts.append(f"Even then the rows do not show that it is {goal}.")
        elif math.isfinite(self.limit_strength):
            parts.append(
                f"{_from_odds(self.limit_strength, self.limit_favored)}, the rows no longer show "
                f"that it is {goal}."
            )
        elif math.isinf(self.limit_strength):
            parts.append(f"The rows show that it is {goal} at all odds up to {self.maximum:g}.")
            return " ".join(parts)
        if math.isfinite(self.strength):
            parts.append(
                f"{_from_odds(self.strength, self.favored)}, {label} itself is not {goal}."
            )
        else:
            parts.append(f"The value itself is {goal} at all odds up to {self.maximum:g}.")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute; an infinite strength is None.
        """
        plain: dict[str, Any] = to_plain(asdict(self))
        return plain

    def to_frame(self) -> pd.DataFrame:
        """Return one row.

        Returns
        -------
        pandas.DataFrame
            With one column per attribute.
        """
        return make_frame({name: [value] for name, value in asdict(self).items()})

    def _repr_html_(self) -> str:
        facts = {
            "odds at which the value misses the goal": _shown(self.strength, self.favored),
            f"odds at which the limit of its {show_percent(self.confidence)} interval does": _shown(
                self.limit_strength, self.limit_favored
            ),
        }
        return html_facts(facts, self.sentence())


def tipping_point(
    tilted: TiltedEvaluation,
    metric: str,
    at_least: float | None,
    at_most: float | None,
    ways: tuple[str, ...],
    maximum: float,
    caller: str,
) -> TippingPoint:
    """Search both directions for the first strength at which value and limit miss the goal."""
    goal, sense = _checked_goal(at_least, at_most, caller)
    if not isinstance(maximum, Real) or not 1 < float(maximum) < math.inf:
        raise InvalidInputError(
            f"{caller} needs a maximum above 1: the strongest selection to look at. "
            f"Got {brief(maximum)}."
        )
    limit_name = "lower" if sense == "at_least" else "upper"
    known: dict[float, AtTilt] = {}

    def found(part: str, tilt: float) -> float:
        if tilt not in known:
            known[tilt] = tilted.at(tilt, [metric])
        return float(getattr(known[tilt], part)[metric])

    def misses(part: str, way: str) -> Callable[[float], bool]:
        def at(strength: float) -> bool:
            number = found(part, 1 / strength if way == "low" else strength)
            # A value that is not defined does not meet the goal either.
            return not (number >= goal if sense == "at_least" else number <= goal)

        return at

    def first(part: str) -> tuple[float, str]:
        if misses(part, "none")(1.0):
            return 1.0, "none"
        strengths = {way: first_strength(misses(part, way), float(maximum)) for way in ways}
        way = min(strengths, key=strengths.__getitem__)
        return strengths[way], way if math.isfinite(strengths[way]) else "none"

    no_interval = np.isnan(found(limit_name, 1.0))
    return TippingPoint(
        metric,
        goal,
        sense,
        *(found(part, 1.0) for part in ("values", "lower", "upper")),
        *first("values"),
        *((math.nan, "none") if no_interval else first(limit_name)),
        float(maximum),
        tilted.evaluation.confidence,
    )


def first_strength(misses: Callable[[float], bool], maximum: float) -> float:
    """Return the least strength that misses, to 1%; infinity if none up to the maximum does."""
    steps = math.ceil(math.log(maximum) / math.log(STEP))
    low = 1.0
    for high in np.geomspace(1.0, maximum, steps + 1)[1:].tolist():
        if misses(high):
            break
        low = high
    else:
        return math.inf
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if misses(middle) else (middle, high)
    return float(high)


def _checked_goal(at_least: Any, at_most: Any, caller: str) -> tuple[float, str]:
    given = {"at_least": at_least, "at_most": at_most}
    stated = {sense: goal for sense, goal in given.items() if goal is not None}
    if len(stated) != 1:
        raise InvalidInputError(
            f"{caller} needs at_least or at_most, one of them: what the metric must be for the "
            f"decision to stand. Got {'both' if stated else 'neither'}."
        )
    ((sense, goal),) = stated.items()
    if not isinstance(goal, Real) or not math.isfinite(float(goal)):
        raise InvalidInputError(f"{caller} needs {sense} to be a number. Got {brief(goal)}.")
    return float(goal), sense


def _from_odds(strength: float, favored: str) -> str:
    return (
        f"Where the odds of a label differ {show_digits(strength, 2)} times or more in favor of "
        f"{favored} scores"
    )


def _shown(strength: float, favored: str) -> str:
    if not math.isfinite(strength) or favored == "none":
        return show_number(strength)
    return f"{show_digits(strength)} times, for {favored} scores"
