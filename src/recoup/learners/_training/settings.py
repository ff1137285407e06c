"""Checks of a learner's settings, which say what is wrong in one line."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError


def check_counts(
    learner: Any, caller: str, *names: str, least: int = 1, optional: bool = False
) -> None:
    """Refuse settings that are not whole numbers, or too small; None passes if ``optional``."""
    for name in names:
        value = getattr(learner, name)
        if value is None and optional:
            continue
        if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
            raise InvalidInputError(
                f"{caller} needs {name} to be a whole number of at least {least}. "
                f"Got {brief(value)}."
            )


def check_numbers(
    learner: Any,
    caller: str,
    *names: str,
    above: float | None = None,
    least: float = 0.0,
    below: float = math.inf,
    most: float | None = None,
    optional: bool = False,
) -> None:
    """Refuse settings that are not numbers within bounds; ``above`` and ``most`` go first."""
    lower = f"of at least {least:g}" if above is None else f"above {above:g}"
    upper = "" if below == math.inf else f" and below {below:g}"
    upper = upper if most is None else f" and at most {most:g}"
    for name in names:
        value = getattr(learner, name)
        if value is None and optional:
            continue
        number = (
            float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
        )
        inside = number >= least if above is None else number > above
        if not (inside and (number < below if most is None else number <= most)):
            raise InvalidInputError(
                f"{caller} needs {name} to be a number {lower}{upper}. Got {brief(value)}."
            )


def check_words(learner: Any, caller: str, **known: Iterable[str]) -> None:
    """Refuse settings that are none of the words that there are."""
    for name, words in known.items():
        value = getattr(learner, name)
        if value not in words:
            raise InvalidInputError(
                f"{caller} needs {name} to be one of {', '.join(map(repr, words))}. "
                f"Got {brief(value)!r}."
            )
