"""What ``recoup run`` reads: labels, names of rows, their order in time, and numbers."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.data.readers import SourceTable, check_names, matching_files, read_table
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.data import ColumnEncoder

# The newest rows are looked at apart; a share of labels this much lower there is told.
NEWEST, MUCH_LOWER, STANDARD_ERRORS = 0.1, 0.5, 4.0
CHUNK = 1 << 20


@dataclass(frozen=True)
class RunTable:
    """A raw table, ready to learn from.

    Attributes
    ----------
    name : str
        Of the file.
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    coding : str
        What was read as what.
    ids : pyarrow column or ndarray of shape (n,)
        Names of the rows.
    encoder : ColumnEncoder
        How columns become numbers.
    X : ndarray of shape (n, n_features)
        The numbers.
    notes : tuple of str
        What a reader should know of the columns.
    """

    name: str
    s: NDArray[np.int64]
    coding: str
    ids: Any
    encoder: ColumnEncoder
    X: FloatArray
    notes: tuple[str, ...]

    @classmethod
    def read(
        cls,
        file: str,
        label: str,
        positive: Sequence[str] | None,
        negative: Sequence[str] | None,
        id_column: str | None,
        time: str | None,
        dropped: Sequence[str],
        kept: Sequence[str],
    ) -> RunTable:
        """Read a file of any kind.

        Parameters
        ----------
        file : str
            CSV, Parquet or JSON lines, or a pattern.
        label : str
            Column of the labels, in any coding.
        positive, negative : sequence of str or None
            Values of labeled positives and of known negatives.
        id_column, time : str or None
            Columns that name rows, and that say when they came.
        dropped, kept : sequence of str
            Columns to leave out, and to use although they look as if they knew the labels.

        Returns
        -------
        RunTable
        """
        from recoup.data import ColumnEncoder
        from recoup.data.column_encoder import NoColumnsError
        from recoup.data.label_coding import read_label_column

        source = read_table(file)
        names = [label, *dropped, *kept, *(name for name in (id_column, time) if name)]
        check_names(list(source.columns), names, source.name)
        for name in (id_column, time, *dropped, *kept):
            if name == label:
                raise InvalidInputError(
                    f"run cannot take {brief(label)!r} for anything else: it is the column of "
                    f"--label."
                )
        s, coding = read_label_column(source.columns[label], "run", positive, negative)
        features = {
            name: column
            for name, column in source.columns.items()
            if name != label and name not in dropped
        }
        if not features:
            raise _nothing_to_learn_from(source.name)
        encoder = ColumnEncoder(
            id=[id_column] if id_column and id_column in features else [],
            time=[time] if time and time in features else [],
            keep=[name for name in kept if name in features],
        )
        table = SourceTable(source.name, features, source.as_written)
        try:
            encoder.fit(table, s)
        except NoColumnsError as error:
            raise _nothing_to_learn_from(source.name, error.reasons) from error
        notes = _column_notes(encoder)
        if time is not None:
            notes += _time_notes(source, time, s)
        return cls(
            source.name,
            s,
            coding.text,
            _names_of_rows(source, id_column),
            encoder,
            encoder.transform(table),
            tuple(notes),
        )


def key_of(file: str, options: Mapping[str, Any], version: str) -> str:
    """Return a hash of the table and of what was asked for.

    Parameters
    ----------
    file : str
        A file or a pattern.
    options : mapping
        Whatever changes the result.
    version : str
        Of recoup.

    Returns
    -------
    str
    """
    found = hashlib.sha256(json.dumps([version, options], sort_keys=True).encode())
    for path in matching_files(file):
        with Path(path).open("rb") as stream:
            while chunk := stream.read(CHUNK):
                found.update(chunk)
    return found.hexdigest()


def _nothing_to_learn_from(file: str, reasons: str = "") -> InvalidInputError:
    return InvalidInputError(
        f"run needs columns to learn from, beside the labels. Got none in "
        f"{brief(file, 200)}{': ' if reasons else ''}{reasons}."
    )


def _names_of_rows(source: SourceTable, id_column: str | None) -> Any:
    if id_column is None:
        return np.arange(len(next(iter(source.columns.values()))))
    column = source.typed(id_column)
    if column.null_count:
        raise InvalidInputError(
            f"run needs an id in every row. Got {column.null_count:,} empty cells in column "
            f"{brief(id_column)!r}. Fill them, or leave --id out."
        )
    distinct = len(column.unique())
    if distinct < len(column):
        raise InvalidInputError(
            f"run needs --id to name each row once. Got {distinct:,} different ids in "
            f"{len(column):,} rows of column {brief(id_column)!r}. Name another column, or leave "
            f"--id out: rows are then numbered from 0."
        )
    return column


def _column_notes(encoder: ColumnEncoder) -> list[str]:
    from recoup.data.column_encoder import left_out

    leaks = [column for column in encoder.columns_ if column.role == "leak"]
    others = [column for column in encoder.columns_ if column.role not in ("leak", "id")]
    notes = []
    if leaks:
        notes.append(
            f"Left out because they seem to know the labels: {left_out(leaks, 600)}. If one was "
            f"known before the labels, use it with --keep."
        )
    if refused := left_out(others, 600):
        notes.append(f"Left out: {refused}.")
    read = [f"{one.name}: {one.reason}" for one in others if one.used and one.read and one.reason]
    if read:
        notes.append(f"Please check how these were read: {brief('; '.join(read), 600)}.")
    return notes


def _time_notes(source: SourceTable, time: str, s: NDArray[np.int64]) -> list[str]:
    """Say whether labels of the newest rows seem to be still to come."""
    from recoup.data.column_roles import RoleRules, learn_column
    from recoup.data.encoded_column import Cells

    cells = Cells.of(source.typed(time))
    learned = learn_column(time, cells, RoleRules())
    if isinstance(cells, str) or not (learned.role == "date" or cells.kind == "number"):
        reason = learned.reason or "is no date"
        raise InvalidInputError(
            f"run needs --time to be dates or numbers. The column {brief(time)!r} {reason}. Name "
            f"another column."
        )
    when = cells.values if cells.kind != "text" else learned.values(cells)
    known = np.flatnonzero(~np.isnan(when))
    order = known[np.argsort(when[known], kind="stable")]
    n_newest = math.ceil(NEWEST * len(order))
    newest, before = s[order[-n_newest:]] == 1, s[order[:-n_newest]] == 1
    if not len(before):
        return []
    share, earlier = float(newest.mean()), float(before.mean())
    error = math.sqrt(earlier * (1 - earlier) / n_newest)
    if share < MUCH_LOWER * earlier and earlier - share > STANDARD_ERRORS * error:
        return [
            f"Of the newest tenth of the rows, {100 * share:.2g} % are labeled; of those before, "
            f"{100 * earlier:.2g} %. So labels may still be to come, and the newest rows make the "
            f"model look worse than it is: leave them out."
        ]
    return []
