"""Tables drawn from a table: subsamples, bootstrap samples, and the two roles exchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.scores.table import ScoreTable


def counts_only(table: ScoreTable) -> ScoreTable:
    """Return a table of whole labeled and unlabeled rows, without known negatives.

    Weighted rows are counted as the number of unweighted rows that carries the same information.
    """
    columns = [table.labeled, table.unlabeled]
    if any(column.dtype.kind == "f" for column in columns):
        columns = [
            _whole_rows(column, size)
            for column, size in zip(columns, table.effective_sizes, strict=True)
        ]
    filled = (columns[0] > 0) | (columns[1] > 0)
    if filled.all() and not table.n_negative and columns[0] is table.labeled:
        return table
    return _table(table, filled, [column[filled] for column in columns])


def exchanged(table: ScoreTable) -> ScoreTable:
    """Return the table with labeled and unlabeled rows in each other's place, order reversed."""
    # 1 - p of a probability is one again; any other score is negated.
    top = 1.0 if table.holds_probabilities else 0.0
    scores = (top - table.centers)[::-1]
    columns = [table.unlabeled[::-1], table.labeled[::-1]]
    return ScoreTable._assemble(scores, columns, scores, thinned=table.thinned)


def subsample(table: ScoreTable, sizes: tuple[int, int], rng: np.random.Generator) -> ScoreTable:
    """Draw that many labeled and unlabeled rows without replacement."""
    return _drawn(
        table,
        [
            rng.choice(int(total), size, replace=False, shuffle=False)
            for total, size in zip((table.n_labeled, table.n_unlabeled), sizes, strict=True)
        ],
    )


def resample(table: ScoreTable, rng: np.random.Generator) -> ScoreTable:
    """Draw as many labeled and unlabeled rows as there are, with replacement."""
    totals = (int(table.n_labeled), int(table.n_unlabeled))
    return _drawn(table, [rng.integers(total, size=total) for total in totals])


def rows(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the labeled and of the unlabeled rows, ascending."""
    return (
        np.repeat(table.centers, table.labeled.astype(np.intp)),
        np.repeat(table.centers, table.unlabeled.astype(np.intp)),
    )


def _drawn(table: ScoreTable, chosen: list[NDArray[np.int64]]) -> ScoreTable:
    places = [
        np.searchsorted(np.cumsum(column), np.sort(ranks), side="right")
        for column, ranks in zip((table.labeled, table.unlabeled), chosen, strict=True)
    ]
    # A draw touches few scores of a large table: everything after this is as long as the draw.
    merged = np.sort(np.concatenate(places), kind="stable")
    filled = merged[np.append(True, merged[1:] != merged[:-1])]
    columns = [
        np.bincount(np.searchsorted(filled, found), minlength=len(filled)) for found in places
    ]
    return _table(table, filled, columns)


def _table(table: ScoreTable, filled: NDArray[Any], columns: list[NDArray[Any]]) -> ScoreTable:
    return ScoreTable._assemble(
        table.scores[filled], columns, table.centers[filled], thinned=table.thinned
    )


def _whole_rows(column: FloatArray, size: float) -> NDArray[np.int64]:
    # Rounding the running total keeps every count within one row of its share.
    heads = np.round(np.cumsum(column, dtype=float) * (size / column.sum()))
    counts: NDArray[np.int64] = np.diff(heads, prepend=0.0).astype(np.int64)
    return counts
