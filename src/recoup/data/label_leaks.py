"""Columns that tell labeled from unlabeled rows almost alone: they know what came later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recoup.data.encoded_column import Cells, EncodedColumn

# A leak: this share of the labeled rows lies where this share of all rows is labeled.
CAUGHT, PURE = 0.9, 0.98
# Rows needed before gaps that only one group has are no chance, and how small that chance is.
FEWEST_ROWS, CHANCE = 5, 1e-6
# Where most rows are labeled, pure places say little.
MOST_LABELED = 0.9
CLASSES = 6


def leak_of(column: EncodedColumn, cells: Cells | str, labeled: NDArray[np.bool_]) -> str | None:
    """Say how a column gives the labels away, if it does.

    Positives that nobody has labeled lie among labeled ones, so that no honest column tells the
    two groups apart almost without errors.

    Parameters
    ----------
    column : EncodedColumn
        How it becomes numbers.
    cells : Cells or str
        Its cells, or why they cannot be read.
    labeled : ndarray of bool
        Which rows are labeled.

    Returns
    -------
    str or None
        The reason to leave it out.
    """
    share = float(labeled.mean())
    if isinstance(cells, str) or column.role in ("id", "constant") or not 0 < share < MOST_LABELED:
        return None
    empty = cells.gaps()
    for group, word in ((~empty, "filled"), (empty, "empty")):
        n_rows, n_labeled = int(group.sum()), int(labeled[group].sum())
        alone = n_rows == n_labeled >= FEWEST_ROWS and n_rows < len(labeled)
        if alone and n_rows * np.log(share) < np.log(CHANCE):
            return f"is {word} for labeled rows alone, {n_rows:,} of them"
    if not column.used or column.width:
        return None
    places = _places(column, cells, labeled)
    totals = np.bincount(places)
    found = np.bincount(places, labeled)
    pure = found >= PURE * totals
    caught = float(found[pure].sum() / labeled.sum())
    if caught >= CAUGHT and labeled.sum() >= FEWEST_ROWS:
        rate = found[pure].sum() / totals[pure].sum()
        return (
            f"tells the labels: {100 * caught:.0f} % of the labeled rows lie where "
            f"{100 * rate:.0f} % of all rows are labeled"
        )
    return None


def _places(column: EncodedColumn, cells: Cells, labeled: NDArray[np.bool_]) -> NDArray[np.int_]:
    """Deal rows to a few places by the column alone."""
    if column.levels:
        found = column.encode(cells)
        return np.where(found.any(axis=1), found.argmax(axis=1) + 1, 0)
    if column.read == "filled":
        return np.asarray(~cells.gaps(), int)
    from sklearn.tree import DecisionTreeClassifier

    values = column.values(cells)
    values = np.where(np.isnan(values), np.nanmin(values) - 1, values)[:, None]
    least = max(FEWEST_ROWS, int(0.02 * labeled.sum()))
    tree = DecisionTreeClassifier(max_leaf_nodes=CLASSES, min_samples_leaf=least)
    found = tree.fit(values, labeled).apply(values)
    return np.asarray(found, int)
