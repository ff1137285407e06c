"""A fixed order of the rows that tells nothing about them, the same in every engine.

Every row has a number that follows from its id and a seed alone. Within a stratum, rows are checked
by rising numbers: a second wave goes on where the first one ended, and numpy, DuckDB and Spark
choose the same rows.
"""

from __future__ import annotations

import hashlib
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.exceptions import InvalidInputError

# A prime for which fifth powers are a permutation: 5 has no factor in common with PRIME - 1.
PRIME = 2**31 - 1
ROUNDS = 3
HEX_DIGITS = 12
# What texts are whole numbers, which count as such: they come as text from some sources.
WHOLE = "^(?:0|[1-9][0-9]{0,9})$"
# Rows whose numbers are computed at once: as many as a processor's cache holds.
BLOCK = 1 << 14
# From so many texts on, DuckDB hashes them faster.
MANY_TEXTS = 20_000


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


def as_keys(ids: Any, caller: str) -> NDArray[Any]:
    """Return what the numbers of rows follow from: whole numbers below ``PRIME``, or texts.

    The same ids give the same keys whether they come as numbers or as texts.

    Parameters
    ----------
    ids : array-like of shape (n,)
        Ids of rows: whole numbers or texts.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    ndarray of shape (n,)
        Of whole numbers, or of text.

    Examples
    --------
    >>> as_keys(["3", "14"], "audit.plan"), as_keys([-1, 14], "audit.plan")
    (array([ 3, 14]), array(['-1', '14'], dtype=object))
    """
    array = np.asarray(ids)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise missing_ids_error(caller, int((~np.isfinite(array)).sum()))
        if (array != np.floor(array)).any() or (np.abs(array) >= 2.0**53).any():
            raise ids_kind_error(caller, "numbers with fractions")
        array = array.astype(np.int64)
    if array.dtype.kind in "iu":
        small = not len(array) or (int(array.min()) >= 0 and int(array.max()) < PRIME)
        return array if small else np.array([str(one) for one in array.tolist()], object)
    if array.dtype.kind not in "OUT":
        raise ids_kind_error(caller, str(array.dtype))
    cells = array.tolist()
    kinds = {type(one) for one in cells}
    missing = sum(one is None or one != one for one in cells) if kinds - {str, UUID, int} else 0
    if missing:
        raise missing_ids_error(caller, missing)
    strange = [kind for kind in kinds if not issubclass(kind, str | UUID | int) or kind is bool]
    if strange:
        raise ids_kind_error(caller, strange[0].__name__)
    if kinds != {str}:
        cells = [str(one) for one in cells]
    import pyarrow as pa
    import pyarrow.compute as pc

    # The first one settles it for most columns of text.
    if cells and pc.match_substring_regex(pa.scalar(cells[0]), WHOLE).as_py():
        texts = pa.array(cells, pa.large_string())
        if pc.all(pc.match_substring_regex(texts, WHOLE)).as_py():
            numbers: NDArray[Any] = np.asarray(texts.cast(pa.int64()))
            if numbers.max() < PRIME:
                return numbers
    keys = np.empty(len(cells), object)
    keys[:] = cells
    return keys


def missing_ids_error(caller: str, n_missing: int) -> InvalidInputError:
    """Build the error for rows without an id."""
    return InvalidInputError(
        f"{caller} needs an id in every row. Got {n_missing:,} without. Fill them, or name another "
        f"column."
    )


def ids_kind_error(caller: str, found: str) -> InvalidInputError:
    """Build the error for ids that engines do not write alike."""
    return InvalidInputError(
        f"{caller} needs ids that are whole numbers or texts, which all engines write alike. Got "
        f"{brief(found)}. Turn the column into text first."
    )


def repeated_ids_error(caller: str, n_rows: int, n_distinct: int) -> InvalidInputError:
    """Build the error for ids that name several rows."""
    return InvalidInputError(
        f"{caller} needs ids that name one row each. Got {n_distinct:,} different ones for "
        f"{n_rows:,} rows. Name a column without repetition, or none."
    )


def count_distinct(keys: NDArray[Any]) -> int:
    """Count different keys.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        Of :func:`as_keys`.

    Returns
    -------
    int
    """
    if keys.dtype.kind == "O":
        return len(set(keys.tolist()))
    if len(keys) and int(keys.max()) < 8 * len(keys):
        seen = np.zeros(int(keys.max()) + 1, bool)
        seen[keys] = True
        return int(np.count_nonzero(seen))
    return len(np.unique(keys))


def row_numbers(ids: Any, seed: int) -> FloatArray:
    """Return the number of every row, in [0, 1).

    Whole numbers go through rounds of a multiplication and a fifth power, both modulo a prime, so
    that no two of them share a number. Other ids are hashed as texts.

    Parameters
    ----------
    ids : array-like of shape (n,)
        Ids of rows: whole numbers or texts.
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
    return key_numbers(as_keys(ids, "row_numbers"), seed)


def key_numbers(keys: NDArray[Any], seed: int) -> FloatArray:
    """Return the number of every row from its key.

    Parameters
    ----------
    keys : ndarray of shape (n,)
        Of :func:`as_keys`.
    seed : int
        Seed of the order.

    Returns
    -------
    ndarray of shape (n,)
    """
    if keys.dtype.kind == "O":
        return text_numbers(keys, seed) / 16.0**HEX_DIGITS
    numbers = np.empty(len(keys))
    rounds = multipliers(seed)
    for start in range(0, len(keys), BLOCK):
        part = keys[start : start + BLOCK].astype(np.int64)
        numbers[start : start + BLOCK] = _scrambled(part, rounds)
    numbers /= PRIME
    return numbers


def text_numbers(texts: Any, seed: int) -> NDArray[np.int64]:
    """Return the first hexadecimal digits of the MD5 of the seed and each text, as a number.

    Parameters
    ----------
    texts : sequence of str
        The texts.
    seed : int
        Seed of the order.

    Returns
    -------
    ndarray of shape (n,)
        Below ``16**HEX_DIGITS``.
    """
    if len(texts) < MANY_TEXTS:
        digests = (
            hashlib.md5(f"{seed}:{one}".encode(), usedforsecurity=False).hexdigest()
            for one in texts
        )
        return np.array([int(one[:HEX_DIGITS], 16) for one in digests], np.int64)
    import duckdb
    import pyarrow as pa

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.register("texts", pa.table({"key": pa.array(texts, pa.large_string())}))
        found = connection.sql(f"SELECT {number_in_sql('key', seed)} AS n FROM texts").fetchnumpy()
    return np.asarray(found["n"], np.int64)


def number_in_sql(column: str, seed: int) -> str:
    """Write :func:`text_numbers` in the SQL of DuckDB.

    Parameters
    ----------
    column : str
        Name of the column of texts, as SQL has it.
    seed : int
        Seed of the order.

    Returns
    -------
    str
    """
    return f"('0x' || substr(md5('{int(seed)}:' || {column}), 1, {HEX_DIGITS}))::BIGINT"


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
