"""Columns of any kind as the numbers from which a posterior is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief, label_masks
from recoup.data.readers import SourceTable, check_names, read_table
from recoup.exceptions import InvalidInputError

MAX_LEVELS = 50


def read_features(
    file: str, label: str, chosen: list[str], caller: str, instead: str
) -> tuple[FloatArray, Any, list[str]]:
    """Return features and labels of a file, and notes on what was left out."""
    check_features(label, chosen, caller)
    source = read_table(file)
    s = read_labels(source, label, caller)
    X, used, refused = feature_matrix(source, label, chosen, caller, instead)
    notes = [f"These columns were not looked at: {refused}."] if refused else []
    if not chosen:
        notes.insert(0, f"Read from: {brief(', '.join(used), 200)}.")
    return X, s, notes


def check_features(label: str, chosen: Sequence[str], caller: str) -> None:
    """Refuse the labels as something to learn them from."""
    if label in chosen:
        raise InvalidInputError(
            f"{caller} cannot take {brief(label)!r} for --features: it is the column of --label."
        )


def read_labels(source: SourceTable, label: str, caller: str) -> NDArray[Any]:
    """Return the column of labels, checked: 1, 0 or -1."""
    check_names(list(source.columns), [label], source.name)
    column = source.columns[label]
    if not len(column):
        raise InvalidInputError(f"{caller} needs rows. Got none in {brief(source.name, 200)}.")
    # One by one, lest whole numbers with gaps become floats; text is read as in any frame.
    labeled, unlabeled, _ = label_masks(np.array(column.to_pylist(), object), caller)
    return np.select([labeled, unlabeled], [1, 0], -1)


def feature_matrix(
    source: SourceTable, label: str, chosen: Sequence[str], caller: str, instead: str
) -> tuple[FloatArray, list[str], str]:
    """Return numbers of the chosen columns, or of all that have some, and the names of these.

    Last comes which columns were left out and why. ``instead`` says what to do if all were.
    """
    columns, reasons = learn_columns(source, label, chosen, caller, instead)
    return encode(source, columns, caller), [column.name for column in columns], reasons


def learn_columns(
    source: SourceTable, label: str, chosen: Sequence[str], caller: str, instead: str
) -> tuple[list[Column], str]:
    """Say how columns become numbers, and which were left out and why."""
    columns: list[Column] = []
    refused: dict[str, str] = {}
    for name in chosen or [name for name in source.columns if name != label]:
        found = _learned(name, source.typed(name))
        if isinstance(found, str):
            refused[name] = found
        else:
            columns.append(found)
    reasons = brief("; ".join(f"{name} {reason}" for name, reason in refused.items()), 300)
    if chosen and refused:
        raise InvalidInputError(
            f"{caller} cannot take these --features: {reasons}. Choose other columns."
        )
    if not columns:
        raise InvalidInputError(
            f"{caller} needs columns of numbers or of a few words, from which it learns how "
            f"positive a row looks. Got none in {brief(source.name, 200)}"
            f"{': ' if reasons else ''}{reasons}. {instead}"
        )
    return columns, reasons


def encode(source: SourceTable, columns: Sequence[Column], caller: str) -> FloatArray:
    """Turn the columns of a table into numbers, as they were learned from this or another one."""
    return np.column_stack([one.numbers(source.typed(one.name), caller) for one in columns])


@dataclass(frozen=True)
class Column:
    """How a column becomes numbers, the same way for any rows.

    Attributes
    ----------
    name : str
        Of the column.
    levels : tuple of str
        The words that get an indicator each; none for a column of numbers. Other words get none.
    mean : float
        Stands for numbers that are missing.
    gaps : bool
        Whether an indicator tells which are: that one is missing may tell as much as its value.
    """

    name: str
    levels: tuple[str, ...] = ()
    mean: float = 0.0
    gaps: bool = False

    def numbers(self, column: Any, caller: str) -> FloatArray:
        """Return one or more columns of numbers."""
        cells = _cells(column)
        if self.levels and not isinstance(cells, str):
            words: FloatArray = (cells.astype(str)[:, None] == np.array(self.levels)).astype(float)
            return words
        if isinstance(cells, str) or cells.dtype.kind != "f" or np.isinf(cells).any():
            raise InvalidInputError(
                f"{caller} needs finite numbers in the column {brief(self.name)!r}, as in the rows "
                f"that were learned from. Convert it, or correct these rows."
            )
        missing = np.isnan(cells)
        filled = np.where(missing, self.mean, cells)
        return np.column_stack([filled, missing]) if self.gaps else filled[:, None]


def _learned(name: str, column: Any) -> Column | str:
    """Say how a column becomes numbers, or why it cannot."""
    cells = _cells(column)
    if isinstance(cells, str):
        return cells
    if cells.dtype.kind != "f":
        levels = np.unique(cells)
        if len(levels) > min(MAX_LEVELS, len(cells) // 2):
            return f"has {len(levels):,} different words"
        return Column(name, levels=tuple(map(str, levels)))
    missing = np.isnan(cells)
    if np.isinf(cells).any():
        return "holds infinite values"
    if missing.all():
        return "is empty"
    return Column(name, mean=float(cells[~missing].mean()), gaps=bool(missing.any()))


def _cells(column: Any) -> NDArray[Any] | str:
    """Return the cells of a column as floats or words, or say why they are neither."""
    from pyarrow import types

    kind = column.type
    if types.is_boolean(kind):
        column = column.cast("int8")
        kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return np.asarray(column.cast("float64", safe=False).to_numpy(), float)
    if _is_text(column):
        return np.array([str(cell) for cell in column.to_pylist()])
    return f"holds neither numbers nor text but {kind}"


def _is_text(column: Any) -> bool:
    return str(column.type) in ("string", "large_string", "string_view")
