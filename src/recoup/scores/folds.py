"""Folds for PU data: every fold gets its share of labels, and copies of a row stay together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import as_vector, brief, check_same_length, check_some_rows, label_masks
from recoup._core.optional import require
from recoup._core.random import RandomState, as_generator
from recoup.exceptions import InvalidInputError

Hashes: TypeAlias = NDArray[np.uint64]
Indices: TypeAlias = NDArray[np.intp]

BLOCK_BYTES = 2**23
LABELED, UNLABELED, NEGATIVE = range(3)


class PUStratifiedKFold:
    """Split PU data into folds with equal shares of labeled, unlabeled and known-negative rows.

    A positive row often comes twice, once labeled and once not: catalogues are merged, and in
    case-control data the labeled rows may also sit among the unlabeled ones. A model trained on
    one copy recognizes the other, which looks like a hidden positive found. So identical rows of
    X always share a fold, as do rows of the same group.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    shuffle : bool, default=True
        Whether rows are dealt at random; otherwise in their order.
    random_state : int, Generator, RandomState or None, default=None
        An integer makes every call of ``split`` return the same folds.

    Notes
    -----
    Without copies and groups, the counts of each kind of row differ by at most one between
    folds. Otherwise larger groups are dealt first, each to the fold where its kinds of row are
    scarcest, and single rows fill the gaps.

    Examples
    --------
    >>> X = [[0.0], [0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> s = [1, 0, 1, 0, 1, 0, 0, 0]
    >>> for train, test in PUStratifiedKFold(2, shuffle=False).split(X, s):
    ...     print(train, test)
    [2 4 6 7] [0 1 3 5]
    [0 1 3 5] [2 4 6 7]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = True,
        random_state: RandomState = None,
    ) -> None:
        if not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise InvalidInputError(
                f"PUStratifiedKFold needs n_splits to be a whole number of at least 2: one fold "
                f"is tested while the others train. Got {brief(n_splits)}."
            )
        if random_state is not None and not shuffle:
            raise InvalidInputError(
                f"PUStratifiedKFold uses random_state only to shuffle. Got "
                f"random_state={brief(random_state)} with shuffle=False. Drop one of them."
            )
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def __repr__(self) -> str:
        """Show the settings."""
        return (
            f"PUStratifiedKFold({self.n_splits}, shuffle={self.shuffle}, "
            f"random_state={self.random_state})"
        )

    def get_n_splits(self, X: Any = None, s: Any = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, s, groups : object, optional
            Not used; scikit-learn passes them.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(
        self, X: Any, s: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the row numbers to train on and to test on, fold by fold.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows, or None
            Identical rows share a fold. With None no rows are compared.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        groups : array-like of shape (n,), optional
            Rows of the same group share a fold, also where copies link several groups.

        Yields
        ------
        train, test : ndarray of int
        """
        folds = self._folds(X, s, groups)
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def _folds(self, X: Any, s: ArrayLike, groups: ArrayLike | None) -> Indices:
        """Return the fold in which each row is tested."""
        caller = "PUStratifiedKFold.split"
        labeled, unlabeled, _ = label_masks(s, caller)
        check_some_rows(labeled.sum(), unlabeled.sum(), caller)
        kinds = np.select([labeled, unlabeled], [LABELED, UNLABELED], NEGATIVE)
        bundles = bundle_rows(X, groups, len(kinds), caller)

        n_bundles = int(bundles.max()) + 1
        counts = np.bincount(bundles * 3 + kinds, minlength=n_bundles * 3).reshape(n_bundles, 3)
        ranks = (
            as_generator(self.random_state, "PUStratifiedKFold").permutation(n_bundles)
            if self.shuffle
            else None
        )
        fold_of_bundle, filled = _deal_all(counts, ranks, self.n_splits)
        for kind, name in ((LABELED, "labeled"), (UNLABELED, "unlabeled")):
            if not filled[:, kind].all():
                raise InvalidInputError(
                    f"{caller} needs {name} rows in each of the {self.n_splits} folds, where "
                    f"copies of a row and rows of a group share a fold. Got "
                    f"{counts[:, kind].sum():,} {name} rows in "
                    f"{np.count_nonzero(counts[:, kind]):,} distinct groups. Use fewer folds."
                )
        return fold_of_bundle[bundles]


def bundle_rows(X: Any, groups: Any, n_rows: int, caller: str) -> Indices:
    """Give rows that must share a fold the same number, in order of appearance.

    Hashes decide only which rows are equal, never their order, so that folds do not depend on
    Python's hash seed. Two rows that share a hash by chance (once in 2**64 pairs) merely share a
    fold.
    """
    copies = np.arange(n_rows)
    if X is not None and 0 not in getattr(X, "shape", ()):
        hashes = _row_hashes(X)
        check_same_length(hashes, copies, "X and s", caller)
        copies = _numbered(hashes)
    if groups is None:
        return copies
    group_values = as_vector(groups, "groups", caller)
    check_same_length(group_values, copies, "groups and s", caller)

    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    owners = _numbered(_array_hashes(group_values))
    n_copies = int(copies.max()) + 1
    n_nodes = n_copies + int(owners.max()) + 1
    links = coo_array(
        (np.ones(n_rows, np.int8), (copies, n_copies + owners)), shape=(n_nodes, n_nodes)
    )
    _, component = connected_components(links, directed=False)
    return _numbered(component[copies])


def _numbered(values: NDArray[Any]) -> Indices:
    """Replace values by numbers from 0 up, in the order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    numbers = np.empty(len(first), np.intp)
    numbers[np.argsort(first)] = np.arange(len(first))
    return numbers[inverse]


def _row_hashes(X: Any) -> Hashes:
    """Hash each row of an array, a sparse matrix, a data frame or a list."""
    from scipy.sparse import issparse

    if issparse(X):
        return _sparse_hashes(X)
    if hasattr(type(X), "columns"):  # asking a lazy frame itself would make it work
        return _frame_hashes(X)
    if isinstance(X, list | tuple) and len(X) and isinstance(X[0], str):
        # One array of texts would make room for the longest in every row.
        return _array_hashes(np.fromiter(X, object, count=len(X)))
    try:
        return _array_hashes(np.asarray(X))
    except ValueError:  # rows of unequal length
        return _array_hashes(np.fromiter(X, object, count=len(X)))


def _sparse_hashes(X: Any) -> Hashes:
    rows = X.tocsr(copy=True)
    rows.sum_duplicates()
    salts = _salts(rows.shape[1])[rows.indices]
    cells = _mix(_words(rows.data[:, None]) ^ salts[:, None]).sum(axis=1, dtype=np.uint64)
    cells[rows.data == 0] = 0  # a zero counts the same whether it is stored or not
    heads = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells, dtype=np.uint64)])
    hashes: Hashes = heads[rows.indptr[1:]] - heads[rows.indptr[:-1]]
    return hashes


def _frame_hashes(X: Any) -> Hashes:
    narwhals = require("narwhals", purpose="splitting a data frame", install="narwhals")
    try:
        frame = narwhals.from_native(X, eager_only=True)
    except TypeError as error:
        raise InvalidInputError(
            f"PUStratifiedKFold.split needs X to be an array, a sparse matrix or a data frame in "
            f"memory. Got {type(X).__name__}. Collect a lazy frame first."
        ) from error
    hashes = np.zeros(len(frame), np.uint64)
    for number, column in enumerate(frame.iter_columns()):
        hashes += _array_hashes(column.to_numpy(), number)
    return hashes


def _array_hashes(values: NDArray[Any], number: int = 0) -> Hashes:
    """Sum the hashes of a row's cells, each salted with its column; blocks bound the memory."""
    if not len(values):
        return np.zeros(0, np.uint64)
    values = values.reshape(len(values), -1)
    hashes = np.zeros(len(values), np.uint64)
    step = max(1, BLOCK_BYTES // max(1, values.itemsize * values.shape[1]))
    for start in range(0, len(values), step):
        words = _words(values[start : start + step])
        cells = _mix(words ^ _salts(words.shape[1], number))
        hashes[start : start + step] = cells.sum(axis=1, dtype=np.uint64)
    return hashes


def _words(values: NDArray[Any]) -> Hashes:
    """Turn each row into 64-bit words that are equal where its values are equal."""
    values = np.ascontiguousarray(values)
    kind = values.dtype.kind
    if kind == "f":
        numbers = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        numbers[np.isnan(numbers)] = np.nan  # NaN has many bit patterns; take one
        return numbers.view(np.uint64)
    if kind in "ib":
        return values.astype(np.int64).view(np.uint64)
    if kind == "u":
        return values.astype(np.uint64)
    if kind == "c":
        return _words(values.astype(np.complex128).view(np.float64))
    if kind in "mM":
        return _words(values.view(np.int64))
    if kind == "U":
        return _words(values.view(np.uint32))
    if kind == "S":
        return _words(values.view(np.uint8))
    # The text of a value rather than the value: hash(nan) differs from one nan to the next,
    # hash(-1) is hash(-2), and lists have none.
    with np.printoptions(threshold=sys.maxsize, precision=17):
        texts = map(hash, map(repr, values.ravel().tolist()))
        words = np.fromiter(texts, np.int64, count=values.size)
    return words.view(np.uint64).reshape(values.shape)


def _salts(n_words: int, number: int = 0) -> Hashes:
    places = np.arange(1, n_words + 1, dtype=np.uint64) + np.uint64(number << 32)
    return _mix(places * np.uint64(0x9E3779B97F4A7C15))


def _mix(words: Hashes) -> Hashes:
    """Scramble 64-bit words (the finalizer of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _deal_all(
    counts: NDArray[np.intp], ranks: Indices | None, n_folds: int
) -> tuple[Indices, NDArray[np.intp]]:
    """Give each bundle a fold, largest first; bundles of the same make-up are dealt at once.

    Returns the fold of each bundle and the rows of each kind in each fold.
    """
    if ranks is None:
        ranks = np.arange(len(counts))
    order = np.lexsort((ranks, -counts[:, NEGATIVE], -counts[:, LABELED], -counts.sum(axis=1)))
    ordered = counts[order]
    starts = np.flatnonzero((ordered[1:] != ordered[:-1]).any(axis=1)) + 1
    folds = np.empty(len(counts), np.intp)
    filled = np.zeros((n_folds, 3), np.intp)
    totals = np.maximum(counts.sum(axis=0), 1)
    bounds = [0, *starts.tolist(), len(counts)]
    for start, stop in pairwise(bounds):
        shares = _deal(stop - start, ordered[start], filled, totals)
        folds[order[start:stop]] = np.repeat(np.arange(n_folds), shares)
        filled += shares[:, None] * ordered[start]
    return folds, filled


def _deal(
    n_bundles: int, rows: NDArray[np.intp], filled: NDArray[np.intp], totals: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return how many of some equal bundles each fold gets.

    Dealt one by one, each bundle would go to the fold where it adds least to the squared shares
    of rows per kind: the fold with the lowest level. That is like pouring water into vessels of
    unequal height. All but the last bundles are dealt at once, up to the common surface.
    """
    weights = rows / totals.astype(float) ** 2
    levels = filled @ (weights / np.dot(weights, rows))
    shares = np.zeros(len(filled), np.intp)
    for kind in (LABELED, UNLABELED):
        bare = np.flatnonzero(filled[:, kind] == 0)
        if rows[kind] and len(bare):
            # Folds without rows of this kind come first, or there may be nothing left for them.
            shares[bare[np.argsort(levels[bare], kind="stable")][:n_bundles]] = 1
            break

    heights = np.sort(levels + shares)
    surfaces = (n_bundles - shares.sum() + np.cumsum(heights)) / np.arange(1, len(heights) + 1)
    surface = surfaces[surfaces >= heights][-1]
    shares += np.maximum(np.floor(surface - levels - shares) - 1, 0).astype(np.intp)

    # Levels are rounded, so that equal ones are ties however they were summed.
    while shares.sum() < n_bundles:
        sizes = filled.sum(axis=1) + shares * rows.sum()
        shares[np.lexsort((sizes, np.round(levels + shares, 9)))[0]] += 1
    return shares
