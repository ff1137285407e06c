"""Columns of any kind as the numbers from which a posterior is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from recoup._checks import FloatArray, brief, label_masks
from recoup.cli._tables import SourceTable, read_table
from recoup.exceptions import InvalidInputError

MAX_LEVELS = 50


def read_features(
    file: str, label: str, chosen: list[str], caller: str, instead: str
) -> tuple[FloatArray, Any, list[str]]:
    """Return features and labels of a file, and notes on what was left out."""
    if label in chosen:
        raise InvalidInputError(
            f"{caller} cannot take {brief(label)!r} for --features: it is the column of --label."
        )
    source = read_table(file)
    column = source.typed(label)
    if str(column.type) in ("string", "large_string", "string_view"):
        s = np.array([str(cell) for cell in column.to_pylist()])
    else:
        s = np.asarray(column.to_numpy(zero_copy_only=False))
    label_masks(s, caller)
    if not len(s):
        raise InvalidInputError(f"{caller} needs rows. Got none in {brief(file, 200)}.")
    X, used, refused = feature_matrix(source, label, chosen, caller, instead)
    notes = [f"These columns were not looked at: {refused}."] if refused else []
    if not chosen:
        notes.insert(0, f"Read from: {brief(', '.join(used), 200)}.")
    return X, s, notes


def feature_matrix(
    source: SourceTable, label: str, chosen: Sequence[str], caller: str, instead: str
) -> tuple[FloatArray, list[str], str]:
    """Return numbers of the chosen columns, or of all that have some, and the names of these.

    Last comes which columns were left out and why. ``instead`` says what to do if all were.
    """
    blocks: dict[str, FloatArray] = {}
    refused: dict[str, str] = {}
    for name in chosen or [name for name in source.columns if name != label]:
        block = _block(source.typed(name))
        if isinstance(block, str):
            refused[name] = block
        else:
            blocks[name] = block
    reasons = brief("; ".join(f"{name} {reason}" for name, reason in refused.items()), 300)
    if chosen and refused:
        raise InvalidInputError(
            f"{caller} cannot take these --features: {reasons}. Choose other columns."
        )
    if not blocks:
        raise InvalidInputError(
            f"{caller} needs columns of numbers or of a few words, from which it learns how "
            f"positive a row looks. Got none in {brief(source.name, 200)}"
            f"{': ' if reasons else ''}{reasons}. {instead}"
        )
    return np.column_stack(list(blocks.values())), list(blocks), reasons


def _block(column: Any) -> FloatArray | str:
    """Return a column as one or more columns of numbers, or say why it cannot be."""
    from pyarrow import types

    kind = column.type
    if types.is_boolean(kind):
        column = column.cast("int8")
        kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return _numbers(np.asarray(column.cast("float64", safe=False).to_numpy(), float))
    if str(kind) in ("string", "large_string", "string_view"):
        return _one_hot(np.array([str(cell) for cell in column.to_pylist()]))
    return f"holds neither numbers nor text but {kind}"


def _numbers(values: FloatArray) -> FloatArray | str:
    missing = np.isnan(values)
    if np.isinf(values).any():
        return "holds infinite values"
    if missing.all():
        return "is empty"
    if not missing.any():
        return values[:, None]
    # That a value is missing may tell as much as the value.
    return np.column_stack([np.where(missing, values[~missing].mean(), values), missing])


def _one_hot(words: Any) -> FloatArray | str:
    levels, codes = np.unique(words, return_inverse=True)
    if len(levels) > min(MAX_LEVELS, len(words) // 2):
        return f"has {len(levels):,} different words"
    return np.eye(len(levels))[codes]
