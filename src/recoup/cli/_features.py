"""Columns of a file as the numbers that commands learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.data.readers import SourceTable, check_names, read_table
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.data import ColumnEncoder


def read_features(
    file: str, label: str, chosen: list[str], caller: str, instead: str
) -> tuple[FloatArray, Any, list[str]]:
    """Return features and labels of a file, and notes on what was left out."""
    check_features(label, chosen, caller)
    source = read_table(file)
    s = read_labels(source, label, caller)
    encoder = learned_columns(source, label, chosen, caller, instead, s)
    notes = notes_on_columns(encoder, "These columns were not looked at")
    if not chosen:
        notes.insert(0, f"Read from: {brief(', '.join(used_columns(encoder)), 200)}.")
    return encoder.transform(source), s, notes


def check_features(label: str, chosen: Sequence[str], caller: str) -> None:
    """Refuse the labels as something to learn them from."""
    if label in chosen:
        raise InvalidInputError(
            f"{caller} cannot take {brief(label)!r} for --features: it is the column of --label."
        )


def read_labels(
    source: SourceTable,
    label: str,
    caller: str,
    positive: Sequence[str] | None = None,
    negative: Sequence[str] | None = None,
) -> NDArray[Any]:
    """Return the column of labels: 1, 0 or -1."""
    from recoup.data.label_coding import read_label_column

    check_names(list(source.columns), [label], source.name)
    column = source.columns[label]
    if not len(column):
        raise InvalidInputError(f"{caller} needs rows. Got none in {brief(source.name, 200)}.")
    return read_label_column(column, caller, positive, negative)[0]


def learned_columns(
    source: SourceTable,
    label: str,
    chosen: Sequence[str],
    caller: str,
    instead: str,
    s: NDArray[Any] | None = None,
) -> ColumnEncoder:
    """Find out how the chosen columns, or all, become numbers; ``instead`` helps if none do."""
    from recoup.data import ColumnEncoder
    from recoup.data.column_encoder import NoColumnsError, left_out

    names = list(chosen) or [name for name in source.columns if name != label]
    check_names(list(source.columns), names, source.name)
    table = SourceTable(
        source.name, {name: source.columns[name] for name in names}, source.as_written
    )
    encoder = ColumnEncoder(keep=list(chosen))
    try:
        encoder.fit(table, s)
    except NoColumnsError as error:
        if not chosen:
            raise InvalidInputError(
                f"{caller} needs columns of numbers, categories, dates or text, from which it "
                f"learns how positive a row looks. Got none in {brief(source.name, 200)}"
                f"{': ' if error.reasons else ''}{error.reasons}. {instead}"
            ) from error
        reasons = error.reasons
    else:
        reasons = left_out(encoder.columns_)
    if chosen and reasons:
        raise InvalidInputError(
            f"{caller} cannot take these --features: {reasons}. Choose other columns."
        )
    return encoder


def used_columns(encoder: ColumnEncoder) -> list[str]:
    """Name the columns that became numbers."""
    return [column.name for column in encoder.columns_ if column.used]


def notes_on_columns(encoder: ColumnEncoder, begin: str) -> list[str]:
    """Say which columns were left out, and which give the labels away."""
    from recoup.data.column_encoder import left_out

    leaks = left_out([column for column in encoder.columns_ if column.role == "leak"])
    others = left_out([column for column in encoder.columns_ if column.role != "leak"])
    notes = [f"{begin}: {others}."] if others else []
    if leaks:
        notes.append(
            f"Left out because they seem to know the labels: {leaks}. Name them with --features "
            f"if they were known before the labels."
        )
    return notes
