"""Random streams that are told apart by name, so that one more draw in one moves no other."""

from __future__ import annotations

import hashlib
import json
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def check_random_state(random_state: Any, caller: str) -> None:
    """Refuse what is no ``random_state`` as scikit-learn knows it."""
    known = isinstance(random_state, Integral | np.random.Generator | np.random.RandomState)
    if random_state is not None and (not known or isinstance(random_state, bool)):
        raise InvalidInputError(
            f"{caller} needs random_state to be a whole number, a numpy Generator or RandomState, "
            f"or None: the same number gives the same results, None new ones each time. "
            f"Got {brief(random_state)}."
        )


def as_seed(random_state: Any, caller: str) -> int:
    """Return the number that all random streams of a call are made from.

    A whole number is that number. Of a Generator or RandomState one number is drawn; None takes
    one from the operating system.
    """
    check_random_state(random_state, caller)
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(as_generator(random_state, caller).integers(2**31))


def as_generator(random_state: Any, caller: str = "random_state") -> np.random.Generator:
    """Return the one random stream of a call; a Generator is that stream."""
    check_random_state(random_state, caller)
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    if isinstance(random_state, Integral) and random_state < 0:
        raise InvalidInputError(
            f"{caller} needs random_state to be a whole number of at least 0. "
            f"Got {brief(random_state)}."
        )
    return np.random.default_rng(random_state)


def named_rng(seed: int, *names: str | int) -> np.random.Generator:
    """Make the random stream that belongs to a seed and some names.

    Streams with different names are independent, so that drawing more from one, or adding one,
    changes nothing in the others.

    Parameters
    ----------
    seed : int
        Any whole number.
    *names : str or int
        What the stream is for, from the general to the particular. Their order and their
        borders count.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> named_rng(0, "simulate", "labels").integers(100, size=3)
    array([25, 23, 26])
    >>> named_rng(0, "simulate", "noise").integers(100, size=3)
    array([24, 79, 27])
    """
    if not isinstance(seed, Integral) or isinstance(seed, bool):
        raise InvalidInputError(
            f"named_rng needs a whole number as seed, for streams that can be made again. "
            f"Got {brief(seed)}."
        )
    plain = [name if isinstance(name, str) else int(name) for name in names]
    # JSON keeps ("ab", "c") apart from ("a", "bc"), and 1 apart from "1".
    text = json.dumps([int(seed), *plain])
    entropy = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    return np.random.default_rng(np.random.SeedSequence(entropy))
