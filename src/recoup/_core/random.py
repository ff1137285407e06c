"""Random streams that are told apart by name, so that one more draw in one moves no other."""

from __future__ import annotations

import hashlib
import json
from numbers import Integral
from typing import Any

import numpy as np

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError


def check_seed(seed: Any, caller: str) -> int:
    """Return the seed as a plain integer, if it is one."""
    if not isinstance(seed, Integral) or isinstance(seed, bool):
        raise InvalidInputError(
            f"{caller} needs random_state to be a whole number: all its random streams are made "
            f"from it, and the same number gives the same rows. Got {brief(seed)}."
        )
    return int(seed)


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
    plain = [name if isinstance(name, str) else int(name) for name in names]
    # JSON keeps ("ab", "c") apart from ("a", "bc"), and 1 apart from "1".
    text = json.dumps([check_seed(seed, "named_rng"), *plain])
    entropy = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
    return np.random.default_rng(np.random.SeedSequence(entropy))
