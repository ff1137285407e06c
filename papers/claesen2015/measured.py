"""Rows of the experiment of Claesen et al. 2015, picked and averaged."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Rows
from recoup._core.checks import FloatArray


def by_kind_of(rows: Rows) -> dict[str, Rows]:
    """Rows by what they are about."""
    found: dict[str, Rows] = {}
    for row in rows:
        found.setdefault(row["kind"], []).append(row)
    return found


def where(rows: Rows, **wanted: Any) -> Rows:
    """Rows with these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def column(rows: Rows, name: str) -> FloatArray:
    """One number of each row."""
    return np.array([row[name] for row in rows], float)


def mean(rows: Rows, name: str) -> float:
    """Mean of a column."""
    return float(column(rows, name).mean())


def width(rows: Rows) -> float:
    """Mean distance of the bounds."""
    return mean(rows, "upper") - mean(rows, "lower")


def inside(rows: Rows) -> float:
    """Share of draws whose true AUROC lies within the bounds."""
    truth, lower, upper = (column(rows, name) for name in ("truth", "lower", "upper"))
    return float(((lower <= truth) & (truth <= upper)).mean())


def values_of(rows: Rows, name: str) -> list[Any]:
    """Distinct values of a column, sorted."""
    return sorted({row[name] for row in rows})


def percent(share: float, digits: int = 0) -> str:
    """Write a share in percent."""
    return f"{100 * share:.{digits}f}%"


def cells_of(rows: Rows) -> list[tuple[int, int]]:
    """Numbers of unlabeled and labeled rows that were tried."""
    return sorted({(row["n_unlabeled"], row["n_labeled"]) for row in rows})


def of_figure_2(rows: Rows) -> list[tuple[int, Rows]]:
    """Rows of the published band by the number of labels, at the largest number of rows."""
    largest = max(values_of(rows, "n_unlabeled"))
    shown = where(rows, n_unlabeled=largest, band="published")
    return [(n, where(shown, n_labeled=n)) for n in values_of(shown, "n_labeled")]


def tighter(rows: Rows, **cell: Any) -> tuple[str, Rows]:
    """Which labels give the tighter bounds in a cell of the tables, and its rows."""
    forms = {
        name: where(rows, based_on=name, **cell)
        for name in ("positives", "negatives")
        if where(rows, based_on=name, **cell)
    }
    return min(forms.items(), key=lambda form: width(form[1]))
