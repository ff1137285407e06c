"""Names of groups: values of one column or several, as numbers from 0 and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import as_vector, brief, check_unmasked
from recoup.exceptions import InvalidInputError

# The value of each column; None where it is missing.
GroupKey: TypeAlias = tuple[Any, ...]
Codes: TypeAlias = NDArray[np.intp]

MOST_GROUPS = 10_000
MISSING = "(missing)"


@dataclass(frozen=True)
class GroupKeys:
    """The groups that rows belong to, in a fixed order.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns.
    keys : tuple of tuple
        For each group the value of each column, None where it is missing. In ascending order
        where values can be compared, those that are missing last.
    """

    columns: tuple[str, ...]
    keys: tuple[GroupKey, ...]

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.keys)

    @property
    def names(self) -> tuple[str, ...]:
        """Each group as a person would write it."""
        return tuple(name_of(key) for key in self.keys)

    def find(self, group: Any, caller: str) -> int:
        """Return the place of a group.

        Parameters
        ----------
        group : object or tuple
            Value of the column, or a tuple of the values of all columns; None where it is missing.
        caller : str
            Who asks, for the error message.

        Returns
        -------
        int
        """
        key = tuple(map(plain_value, group if isinstance(group, tuple) else (group,)))
        for place, known in enumerate(self.keys):
            if key == known:
                return place
        shown = brief(", ".join(map(brief, self.names)), 200)
        columns = " and ".join(map(repr, map(brief, self.columns)))
        raise InvalidInputError(
            f"{caller} needs a group that there is: a value of {columns}"
            f"{' as a tuple' if len(self.columns) > 1 else ''}. Got {brief(group)}. "
            f"There are {len(self):,}: {shown}."
        )


def name_of(key: GroupKey) -> str:
    """Write the values of a group as a person would."""
    return " / ".join(MISSING if value is None else str(value) for value in key)


def plain_value(value: Any) -> Any:
    """Turn a value of any library into a plain one, and all that is missing into None."""
    if hasattr(value, "item") and np.ndim(value) == 0:
        value = value.item()
    try:
        missing = value is None or bool(value != value)  # NaN and NaT differ from themselves
    except (TypeError, ValueError):  # pandas.NA is neither true nor false
        missing = True
    return None if missing else value


def grouping_of(groups: Any, n_rows: int, caller: str) -> tuple[GroupKeys, Codes]:
    """Read the groups of rows.

    Parameters
    ----------
    groups : array-like of shape (n,), data frame, or mapping of str to array-like
        One column or several.
    n_rows : int
        How many rows there are.
    caller : str
        Who asks, for error messages.

    Returns
    -------
    keys : GroupKeys
    codes : ndarray of int of shape (n,)
        The place of each row's group in ``keys``.
    """
    columns = _columns(groups, caller)
    for name, values in columns.items():
        if len(values) != n_rows:
            raise InvalidInputError(
                f"{caller} needs groups to have one value per row. Got {len(values):,} in "
                f"{brief(name)!r} for {n_rows:,} rows. Check that both come from the same rows."
            )
    return coded(columns, caller)


def coded(columns: Mapping[str, Any], caller: str) -> tuple[GroupKeys, Codes]:
    """Give each combination of the values of columns a number."""
    codes, keys = np.zeros(0, np.int64), [()]
    for place, (name, values) in enumerate(columns.items()):
        numbers, found = _column_codes(values)
        # Only combinations that occur are numbered, so that their product never overflows.
        size = max(len(found), 1)
        codes, present = _compressed(codes * size + numbers if place else numbers)
        _check_count(len(present), name, columns, caller)
        keys = [(*keys[cell // size], found[cell % size]) for cell in present.tolist()]
    order = sorted(range(len(keys)), key=lambda place: _sort_key(keys[place]))
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    ordered = GroupKeys(tuple(columns), tuple(keys[place] for place in order))
    return ordered, codes if order == sorted(order) else rank[codes]


def _columns(groups: Any, caller: str) -> dict[str, Any]:
    # Frames are for those who have them: arrays need no narwhals.
    import narwhals as nw

    if isinstance(groups, Mapping):
        found = {str(name): _values(values, str(name), caller) for name, values in groups.items()}
    else:
        try:
            rows = nw.from_native(groups, eager_only=True, allow_series=True)
        except TypeError:
            if hasattr(groups, "collect_schema") or hasattr(groups, "columns"):
                raise InvalidInputError(
                    f"{caller} needs groups as columns that are in memory. Got "
                    f"{brief(type(groups).__name__)}. Count such a frame with "
                    f"recoup.scores.GroupedTable.from_frame, and pass the table alone."
                ) from None
            values = groups
            if np.ndim(groups) == 2 and not isinstance(groups, list | tuple):
                found = {
                    f"group_{place}": column for place, column in enumerate(np.asarray(groups).T)
                }
            else:
                found = {"group": _values(values, "groups", caller)}
        else:
            if isinstance(rows, nw.Series):
                found = {str(rows.name) if rows.name is not None else "group": rows}
            else:
                found = {str(name): rows[name] for name in rows.columns}
    if not found:
        raise InvalidInputError(
            f"{caller} needs at least one column of groups. Got none. Pass frame[['country']]."
        )
    return found


def _values(values: Any, name: str, caller: str) -> Any:
    check_unmasked(values, name, caller)
    if isinstance(values, np.ndarray) or hasattr(values, "to_numpy"):
        return values
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        listed = list(values)
        found = np.empty(len(listed), object)
        found[:] = listed
        return found
    raise InvalidInputError(
        f"{caller} needs groups to be a column of values, one per row. Got {brief(values)}."
    )


def _column_codes(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Give each value of a column a number; all that is missing is one value, None."""
    import narwhals as nw
    import pyarrow as pa

    try:
        if isinstance(values, nw.Series):
            column = values.to_arrow()
        else:
            column = pa.array(as_vector(values, "groups", "groups"), from_pandas=True)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        encoded = column.dictionary_encode(null_encoding="encode")
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries()
            parts = [np.asarray(chunk.indices) for chunk in encoded.chunks]
            codes = np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
            found = encoded.chunk(0).dictionary.to_pylist() if parts else []
        else:
            codes = np.asarray(encoded.indices).astype(np.int64)
            found = encoded.dictionary.to_pylist()
    except (pa.ArrowException, TypeError, OverflowError):
        return _object_codes(values)
    return _merged(codes, [plain_value(value) for value in found])


def _object_codes(values: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Give values of several types numbers, which no engine has a column for."""
    known: dict[Any, int] = {}
    codes = np.empty(len(values), np.int64)
    listed = values.to_list() if hasattr(values, "to_list") else list(values)
    for row, value in enumerate(map(plain_value, listed)):
        # True, 1 and 1.0 are equal but no one means the same by them.
        codes[row] = known.setdefault((type(value), value), len(known))
    return codes, [value for _, value in known]


def _merged(codes: NDArray[np.int64], values: list[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Give all that is missing one number."""
    gaps = [place for place, value in enumerate(values) if value is None]
    if len(gaps) < 2:
        return codes, values
    return np.where(np.isin(codes, gaps), gaps[0], codes), values


def _compressed(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give what occurs numbers from 0, without sorting where they are small."""
    top = int(codes.max(initial=-1)) + 1
    if top > 4 * len(codes) + 1024:
        present, numbers = np.unique(codes, return_inverse=True)
        return numbers.astype(np.int64), present
    present = np.flatnonzero(np.bincount(codes, minlength=top))
    if len(present) == top:
        return codes, present
    places = np.zeros(top, np.int64)
    places[present] = np.arange(len(present))
    return places[codes], present


def _check_count(n_groups: int, name: str, columns: Mapping[str, Any], caller: str) -> None:
    if n_groups > MOST_GROUPS:
        shown = " and ".join(repr(brief(column)) for column in columns)
        raise InvalidInputError(
            f"{caller} needs at most {MOST_GROUPS:,} groups: with more, hardly any has rows enough "
            f"to say something. Got {n_groups:,} by {shown}, up to {brief(name)!r}. Leave out "
            f"columns that name single rows, or join rare values first."
        )


def _sort_key(key: GroupKey) -> tuple[Any, ...]:
    # Values of different types are ordered by type, and what is missing comes last.
    return tuple(
        (2, "", 0.0, "")
        if value is None
        else (0, "", float(value), str(value))
        if isinstance(value, int | float)
        else (1, type(value).__name__, 0.0, str(value))
        for value in key
    )


def plain_columns(keys: GroupKeys) -> dict[str, Sequence[Any]]:
    """Return the values of each column, one per group."""
    return {name: [key[place] for key in keys.keys] for place, name in enumerate(keys.columns)}
