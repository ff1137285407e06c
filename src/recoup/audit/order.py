"""A fixed order of the rows that tells nothing about them, the same in every engine.

Every row has a number that follows from its id and a seed alone. Within a stratum, rows are checked
by rising numbers: a second wave goes on where the first one ended, and numpy, DuckDB and Spark
choose the same rows.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray

# A prime for which fifth powers are a permutation: 5 has no factor in common with PRIME - 1.
PRIME = 2**31 - 1
ROUNDS = 3
HEX_DIGITS = 12
# Rows whose numbers are computed at once: as many as a processor's cache holds.
BLOCK = 1 << 14


def multipliers(seed: int) -> list[tuple[int, int]]:
    """Return factor and summand of each round.

    Parameters
    ----------
    seed : int
        Seed of the order.

    Returns
    -------
    list of (int, int)
        Each from 1 to ``PRIME - 1``.
    """
    digest = hashlib.sha256(f"recoup.audit:{seed}".encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "big") for at in range(0, 8 * ROUNDS, 4)]
    drawn = [1 + word % (PRIME - 1) for word in words]
    return list(zip(drawn[::2], drawn[1::2], strict=True))


def are_small_numbers(ids: NDArray[Any]) -> bool:
    """Say whether ids are whole numbers that :func:`row_numbers` takes as they are.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        Ids of rows.

    Returns
    -------
    bool
        False for texts, and for numbers below 0 or from ``PRIME`` on, which count as texts.
    """
    if ids.dtype.kind not in "iu":
        return False
    return not len(ids) or (int(ids.min()) >= 0 and int(ids.max()) < PRIME)


def row_numbers(ids: Any, seed: int) -> FloatArray:
    """Return the number of every row, in [0, 1).

    Whole numbers go through rounds of a multiplication and a fifth power, both modulo a prime, so
    that no two of them share a number. Other ids are hashed as texts.

    Parameters
    ----------
    ids : array-like of shape (n,)
        Ids of rows.
    seed : int
        Seed of the order.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> row_numbers([0, 1, 2], seed=0).round(3)
    array([0.501, 0.042, 0.023])
    >>> row_numbers(["a", "b"], seed=0).round(3)
    array([0.01 , 0.494])
    """
    array = np.asarray(ids)
    if are_small_numbers(array):
        numbers = np.empty(len(array))
        rounds = multipliers(seed)
        for start in range(0, len(array), BLOCK):
            part = array[start : start + BLOCK].astype(np.int64)
            numbers[start : start + BLOCK] = _scrambled(part, rounds)
        numbers /= PRIME
        return numbers
    texts = (hashlib.md5(f"{seed}:{one}".encode(), usedforsecurity=False) for one in array.tolist())
    return np.array([int(text.hexdigest()[:HEX_DIGITS], 16) for text in texts]) / 16.0**HEX_DIGITS


def _scrambled(x: NDArray[np.int64], rounds: list[tuple[int, int]]) -> NDArray[np.int64]:
    room = np.empty_like(x)
    for factor, summand in rounds:
        x *= factor
        x += summand
        _reduce(x, room)
        fourth = x * x
        _reduce(fourth, room)
        fourth *= fourth
        _reduce(fourth, room)
        x *= fourth
        _reduce(x, room)
    x[x == PRIME] = 0
    return x


def _reduce(x: NDArray[np.int64], room: NDArray[np.int64]) -> None:
    """Take the remainder by the prime 2**31 - 1 in place, without a division.

    The prime itself may be left in the place of zero, which it equals.
    """
    for _ in range(2):
        np.right_shift(x, 31, out=room)
        x &= PRIME
        x += room
