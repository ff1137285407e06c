"""What a user may know about alpha besides a number: a range, or draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray, as_numbers, brief
from recoup._core.constraints import Number
from recoup.exceptions import InvalidInputError

SHARE = Number(
    least=0,
    most=1,
    why="it is a share of rows",
    hint="Pass a share such as 0.2, not a percentage or a count.",
)


@dataclass(frozen=True)
class Interval:
    """A range that alpha, the share of positives among the unlabeled rows, lies in.

    Results hold for every alpha in it; those that need one number take its middle.

    Parameters
    ----------
    low, high : float
        Shares, from 0 to 1.

    Examples
    --------
    >>> Interval(0.1, 0.3)
    Interval(low=0.1, high=0.3)
    >>> Interval(0.1, 0.3).center
    0.2
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse what is no range of shares."""
        for name in ("low", "high"):
            value = getattr(self, name)
            SHARE.check(value, name, "Interval")
            object.__setattr__(self, name, float(value))
        if self.low > self.high:
            raise InvalidInputError(
                f"Interval needs low to be at most high. Got {self.low:g} and {self.high:g}. "
                f"Exchange them."
            )

    @property
    def center(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, eq=False, repr=False)
class Draws:
    """Values of alpha that are equally plausible, as from a posterior or a bootstrap.

    Intervals take one of them per replicate; results that need one number take the median.

    Parameters
    ----------
    alpha : array-like of shape (n,)
        Shares of positives among the unlabeled rows, from 0 to 1.
    beta : array-like of shape (n,), optional
        The share of true positives among the labeled rows that goes with each. Left out, beta is
        what is passed beside alpha.

    Examples
    --------
    >>> Draws([0.1, 0.2, 0.3])
    Draws(alpha=0.2 [0.1, 0.3], n=3)
    """

    alpha: FloatArray
    beta: FloatArray | None = None

    def __post_init__(self) -> None:
        """Take arrays of shares, as many of each."""
        given: dict[str, Any] = {"alpha": self.alpha, "beta": self.beta}
        for name, values in given.items():
            if values is None and name == "beta":
                continue
            array = as_numbers(np.atleast_1d(values), name, "Draws")
            bad = ~((array >= 0) & (array <= 1))
            if not len(array) or bad.any():
                shown = f"{array[bad][0]:g}" if len(array) else "none"
                raise InvalidInputError(
                    f"Draws needs {name} to hold numbers from 0 to 1: each is a share of rows. "
                    f"Got {shown}."
                )
            object.__setattr__(self, name, array)
        if self.beta is not None and len(self.beta) != len(self.alpha):
            raise InvalidInputError(
                f"Draws needs as many values of beta as of alpha. Got {len(self.beta):,} and "
                f"{len(self.alpha):,}."
            )

    def __repr__(self) -> str:
        """Say the median, the extremes and how many there are."""
        shown = f"{np.median(self.alpha):.4g} [{self.alpha.min():.4g}, {self.alpha.max():.4g}]"
        paired = "" if self.beta is None else f", beta={np.median(self.beta):.4g}"
        return f"Draws(alpha={shown}{paired}, n={len(self.alpha):,})"


def check_beta_alone(stated: Interval | Draws, beta: Any, caller: str) -> None:
    """Refuse a beta that cannot go beside an interval, or beside draws with their own."""
    paired = isinstance(stated, Draws) and stated.beta is not None
    if np.ndim(beta) or (paired and beta != 1):
        raise InvalidInputError(
            f"{caller} needs one number for beta beside {stated!r}, and none where draws of alpha "
            f"come with their own. Got {brief(beta)}. Pass Draws(alpha, beta)."
        )
