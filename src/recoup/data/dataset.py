"""A named dataset with its truth: what simulations and benchmarks start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.results import make_frame
from recoup.data.entry import Kind

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """Rows with their true classes, as a task defines them.

    Attributes
    ----------
    X : ndarray or pandas.DataFrame
        Tables: float64 of shape (n, d), or a data frame where some columns hold text; those are
        categorical, and an unknown value is the level ``"?"``. Images: uint8 of shape (n, h, w),
        or (n, 3, h, w) in colour. Text: float32 sentence embeddings of shape (n, 384).
    y_true : ndarray of shape (n,)
        1 positive, 0 negative.
    name : str
        Key of the dataset.
    task : str
        Name of the task: which rows count as positive.
    kind : {"table", "text", "image"}
        What the rows are.
    feature_names : tuple of str
        Names of the columns of X; empty for images.
    categorical : tuple of str
        Columns whose values are levels, not quantities, be they text or numbers.
    split : ndarray of shape (n,), or None
        ``"train"`` or ``"test"`` where the data come with an official split.
    groups : ndarray of shape (n,), or None
        Rows with the same value belong together, such as those of one patient: keep them on one
        side of any split.
    meta : dict of str to ndarray of shape (n,)
        Further columns, such as recording or batch. They may give the class away: never features.
    row_id : ndarray of shape (n,)
        Row numbers in the complete dataset.
    citation : str
        Whom to cite.
    licence : str
        What is allowed.
    description : str
        What the rows are, and what to beware of.
    """

    X: Any
    y_true: NDArray[np.int64]
    name: str
    task: str
    kind: Kind
    feature_names: tuple[str, ...]
    categorical: tuple[str, ...]
    split: NDArray[np.str_] | None
    groups: NDArray[Any] | None
    meta: Mapping[str, NDArray[Any]]
    row_id: NDArray[np.int64]
    citation: str
    licence: str
    description: str

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.y_true)

    def __repr__(self) -> str:
        """Show size, task and share of positives."""
        width = "x".join(str(size) for size in self.X.shape[1:])
        share = f"{self.pi:.3f}" if len(self) else "none"
        return f"Dataset({self.name}, task={self.task!r}, n={len(self):,} x {width}, pi={share})"

    @property
    def pi(self) -> float:
        """True share of positive rows."""
        return float(self.y_true.mean())

    def take(self, rows: ArrayLike | slice) -> Dataset:
        """Return some of the rows, in the given order.

        Parameters
        ----------
        rows : array-like or slice
            Positions, a mask with one value per row, or a slice.

        Returns
        -------
        Dataset
        """
        index = np.arange(len(self))
        if isinstance(rows, slice):
            index = index[rows]
        else:
            chosen = np.asarray(rows)
            index = index[chosen if chosen.size else chosen.astype(np.intp)]
        frame = hasattr(self.X, "iloc")
        return replace(
            self,
            X=self.X.iloc[index].reset_index(drop=True) if frame else self.X[index],
            y_true=self.y_true[index],
            split=None if self.split is None else self.split[index],
            groups=None if self.groups is None else self.groups[index],
            meta={name: values[index] for name, values in self.meta.items()},
            row_id=self.row_id[index],
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per example: features, then ``y_true``, ``split`` and ``meta`` columns.

        Images are laid out as one column per pixel.

        Returns
        -------
        pandas.DataFrame
        """
        if hasattr(self.X, "iloc"):
            columns = {name: self.X[name] for name in self.feature_names}
        else:
            flat = self.X.reshape(len(self.X), -1)
            names = self.feature_names or [f"pixel_{i}" for i in range(flat.shape[1])]
            columns = {name: flat[:, i] for i, name in enumerate(names)}
        columns["y_true"] = self.y_true
        if self.split is not None:
            columns["split"] = self.split
        return make_frame({**columns, **self.meta})
