"""Turn any named dataset into numbers a learner can take, fitted on training rows alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup.data.dataset import Dataset
from recoup.exceptions import InvalidInputError

Recipe: TypeAlias = Literal["default", "pubench"]
OTHER = "(other)"


class Preprocessor:
    """Encode categories, standardise numbers and scale pixels, with what the training rows show.

    Parameters
    ----------
    recipe : {"default", "pubench"}, default="default"
        What happens to images and text. ``"default"`` scales pixels to [0, 1] and leaves
        embeddings as they are. ``"pubench"`` follows PU-Bench: grey pixels to [-1, 1], colour
        pixels to [0, 1], embeddings to unit length. Tables are treated alike by both: categories
        become one column per level, unscaled, and numbers get mean 0 and variance 1.
    max_levels : int, optional
        Keep only this many levels of a category, the most frequent ones, and count the others as
        one more. By default all levels.

    Attributes
    ----------
    feature_names_ : tuple of str
        Names of the columns that come out; empty for images.

    Notes
    -----
    An unknown value, written ``?``, is a level like any other. A level that the training rows do
    not have becomes zeros, or the column of other levels where there is one. Columns of numbers
    with at most two values stay one column, be they categorical or not. PU-Bench itself computes
    means and variances of Spambase from all rows, before splitting; here no test row is used.

    Examples
    --------
    >>> from recoup.data import load
    >>> iris = load("iris")
    >>> train, test = iris.take(slice(0, None, 2)), iris.take(slice(1, None, 2))
    >>> fitted = Preprocessor().fit(train)
    >>> bool(abs(fitted.transform(train).X.mean(axis=0)).max() < 1e-12)
    True
    >>> fitted.transform(test).X.shape
    (75, 4)
    """

    def __init__(self, recipe: Recipe = "default", *, max_levels: int | None = None) -> None:
        self.recipe = recipe
        self.max_levels = max_levels

    def fit(self, train: Dataset) -> Preprocessor:
        """Learn levels, means and variances from the training rows.

        Parameters
        ----------
        train : Dataset
            The rows to learn from.

        Returns
        -------
        self : Preprocessor
        """
        if self.recipe not in get_args(Recipe):
            raise InvalidInputError(
                f"Preprocessor needs recipe to be 'default' or 'pubench'. "
                f"Got {brief(self.recipe)!r}."
            )
        if self.max_levels is not None and self.max_levels < 1:
            raise InvalidInputError(
                f"Preprocessor needs max_levels to be at least 1, or None for all levels. "
                f"Got {brief(self.max_levels)}."
            )
        if not len(train):
            raise InvalidInputError("Preprocessor.fit needs at least one row. Got none.")
        self._kind = train.kind
        self._input_names = train.feature_names
        self.feature_names_: tuple[str, ...] = train.feature_names
        if train.kind != "table":
            return self
        self._levels: dict[str, NDArray[Any]] = {}
        self._pooled: set[str] = set()
        names: list[str] = []
        for name in train.feature_names:
            levels = self._find_levels(train, name)
            if levels is None:
                names.append(name)
                continue
            self._levels[name] = levels
            names += [f"{name}={_show(level)}" for level in levels]
            if name in self._pooled:
                names.append(f"{name}={OTHER}")
        self.feature_names_ = tuple(names)
        numbers = self._numbers(train)
        self._mean, spread = numbers.mean(axis=0), numbers.std(axis=0)
        self._scale = np.where(spread > 0, spread, 1.0)
        return self

    def transform(self, data: Dataset) -> Dataset:
        """Return the dataset with numeric X: float64 for tables, float32 for images and text.

        Parameters
        ----------
        data : Dataset
            Rows with the columns of those that were fitted.

        Returns
        -------
        Dataset
        """
        if not hasattr(self, "_kind"):
            raise InvalidInputError("Preprocessor.transform needs a call of fit first.")
        if data.kind != self._kind or data.feature_names != self._input_names:
            raise InvalidInputError(
                f"Preprocessor.transform needs the columns it was fitted on: {self._kind} with "
                f"{brief([*self._input_names], 80)}. Got {data.kind} with "
                f"{brief([*data.feature_names], 80)}. Fit on a part of the same dataset."
            )
        encode = {"table": self._table, "image": self._image, "text": self._text}[data.kind]
        return replace(data, X=encode(data), feature_names=self.feature_names_, categorical=())

    def _find_levels(self, train: Dataset, name: str) -> NDArray[Any] | None:
        """Return the levels of a categorical column, or None for a column of numbers."""
        if name not in train.categorical:
            return None
        values = _column(train, name)
        levels, counts = np.unique(values, return_counts=True)
        if values.dtype.kind == "f" and len(levels) <= 2:
            return None
        if self.max_levels is not None and len(levels) > self.max_levels:
            self._pooled.add(name)
            # A stable sort settles ties by the order of the levels.
            levels = levels[np.sort(np.argsort(-counts, kind="stable")[: self.max_levels])]
        return levels

    def _numbers(self, data: Dataset) -> FloatArray:
        names = [name for name in data.feature_names if name not in self._levels]
        if hasattr(data.X, "iloc"):
            return np.asarray(data.X[names], dtype=np.float64).reshape(len(data), len(names))
        index = [i for i, name in enumerate(data.feature_names) if name not in self._levels]
        numbers: FloatArray = np.asarray(data.X[:, index], dtype=np.float64)
        return numbers

    def _table(self, data: Dataset) -> FloatArray:
        out = np.zeros((len(data), len(self.feature_names_)))
        numbers = (self._numbers(data) - self._mean) / self._scale
        column = number = 0
        for name in data.feature_names:
            if name not in self._levels:
                out[:, column] = numbers[:, number]
                column, number = column + 1, number + 1
                continue
            levels, values = self._levels[name], _column(data, name)
            place = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
            known = levels[place] == values
            out[np.flatnonzero(known), column + place[known]] = 1.0
            column += len(levels)
            if name in self._pooled:
                out[:, column] = ~known
                column += 1
        return out

    def _image(self, data: Dataset) -> NDArray[np.float32]:
        pixels: NDArray[np.float32] = data.X.astype(np.float32) / np.float32(255)
        if self.recipe == "pubench" and pixels.ndim == 3:
            pixels = (pixels - np.float32(0.5)) / np.float32(0.5)
        return pixels

    def _text(self, data: Dataset) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = data.X.astype(np.float32)
        if self.recipe == "pubench":
            length: Any = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.maximum(length, np.finfo(np.float32).tiny)
        return vectors


def preprocess(
    train: Dataset,
    *others: Dataset,
    recipe: Recipe = "default",
    max_levels: int | None = None,
) -> tuple[Dataset, ...]:
    """Turn datasets into numbers, with what the first one shows.

    Parameters
    ----------
    train : Dataset
        The rows to learn levels, means and variances from.
    *others : Dataset
        Further parts of the same data, such as validation and test rows.
    recipe : {"default", "pubench"}, default="default"
        What happens to images and text; see :class:`Preprocessor`.
    max_levels : int, optional
        How many levels of a category to keep; all by default.

    Returns
    -------
    tuple of Dataset
        One for each argument, in their order.

    Examples
    --------
    >>> from recoup.data import load, pubench_split
    >>> train, validation, test = preprocess(*pubench_split(load("breast_cancer"), seed=0))
    >>> train
    Dataset(breast_cancer, task='malignant-vs-rest', n=450 x 30, pi=0.373)
    >>> bool(abs(train.X.mean()) < 1e-12), bool(abs(test.X.mean()) < 1e-12)
    (True, False)
    """
    fitted = Preprocessor(recipe, max_levels=max_levels).fit(train)
    return tuple(fitted.transform(data) for data in (train, *others))


def _column(data: Dataset, name: str) -> NDArray[Any]:
    """Return a column as text or float64."""
    if hasattr(data.X, "iloc"):
        values = np.asarray(data.X[name])
    else:
        values = data.X[:, data.feature_names.index(name)]
    return values.astype(str) if values.dtype.kind not in "fiu" else values.astype(np.float64)


def _show(level: Any) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
