"""PUDataset: features, labels and, for simulated or annotated data, the truth beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import (
    FloatArray,
    Scheme,
    as_numbers,
    as_vector,
    brief,
    check_same_length,
    check_scheme,
    check_some_rows,
    check_unmasked,
    label_masks,
)
from recoup._core.optional import require
from recoup._core.random import RandomState, as_seed, named_rng
from recoup._core.results import html_facts, make_frame
from recoup._core.text import show_number
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PUTruth:
    """What the labels hide, counted in the rows at hand rather than in a population.

    Attributes
    ----------
    alpha : float
        Share of positives among the unlabeled rows.
    beta : float
        Share of positives among the labeled rows.
    pi : float
        Share of positives where performance is judged: among all rows of a single sample, among
        the unlabeled rows of case-control data.
    label_frequency : float
        Share of the positives that carry a label. A positive that comes twice, labeled and
        unlabeled, counts once. NaN where there is no positive.
    n_labeled : int
        Number of labeled rows.
    n_unlabeled : int
        Number of unlabeled rows.
    overlapping : bool
        Whether some labeled rows come again among the unlabeled ones.
    """

    alpha: float
    beta: float
    pi: float
    label_frequency: float
    n_labeled: int
    n_unlabeled: int
    overlapping: bool

    @classmethod
    def of(
        cls, s: NDArray[Any], y_true: NDArray[Any], row_id: NDArray[Any], scheme: Scheme
    ) -> PUTruth:
        """Count it; the arrays must have been checked.

        Parameters
        ----------
        s : ndarray of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        y_true : ndarray of shape (n,)
            1 positive, 0 negative.
        row_id : ndarray of shape (n,)
            Which original row each one is.
        scheme : {"single-sample", "case-control"}
            Whether all rows are one sample of the population, or the unlabeled rows alone.

        Returns
        -------
        PUTruth
        """
        labeled, unlabeled, positive = s == 1, s == 0, y_true == 1
        alpha = float(positive[unlabeled].mean())
        known = np.unique(row_id[labeled & positive])
        n_positives = len(np.unique(row_id[positive]))
        return cls(
            alpha=alpha,
            beta=float(positive[labeled].mean()),
            pi=alpha if scheme == "case-control" else float(positive.mean()),
            label_frequency=len(known) / n_positives if n_positives else float("nan"),
            n_labeled=int(labeled.sum()),
            n_unlabeled=int(unlabeled.sum()),
            overlapping=bool(np.isin(row_id[labeled], row_id[unlabeled]).any()),
        )


@dataclass(frozen=True, eq=False, repr=False)
class PUDataset:
    """Features and PU labels of some rows, with their truth where it is known.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame with n rows
        Features; an array may have more than two dimensions, as images do. Lists become arrays,
        everything else keeps its type, also in the parts of a split.
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    y_true : ndarray of shape (n,), optional
        1 positive, 0 negative.
    row_id : ndarray of shape (n,), optional
        Which original row each one is; 0 to n - 1 by default. Rows that share one are copies of
        each other, and a split never parts them.
    propensity : ndarray of shape (n,), optional
        Chance that a positive with the features of this row carries a label.
    name : str, optional
        What the rows are.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether all rows are one sample of the population, or the unlabeled rows alone.
    truth : PUTruth, optional
        Counted from ``y_true`` unless given.

    Examples
    --------
    >>> rows = PUDataset([[0.1], [0.4], [0.8], [0.9]], s=[0, 0, 0, 1], y_true=[0, 0, 1, 1])
    >>> rows
    PUDataset(n=1+3, features=1, scheme='single-sample', alpha=0.333, beta=1.000)
    >>> rows.truth.pi, rows.truth.label_frequency
    (0.5, 0.5)
    """

    X: Any
    s: NDArray[np.int64]
    y_true: NDArray[np.int64] | None = None
    row_id: NDArray[Any] = None  # type: ignore[assignment]  # filled in below
    propensity: FloatArray | None = None
    name: str | None = None
    scheme: Scheme = "single-sample"
    truth: PUTruth | None = None

    def __post_init__(self) -> None:
        """Check that all parts describe the same rows, and count the truth."""
        caller = "PUDataset"
        check_scheme(self.scheme, caller)
        check_unmasked(self.X, "X", caller)
        X = np.asarray(self.X) if isinstance(self.X, list | tuple) else self.X
        labeled, unlabeled, negative = label_masks(self.s, caller)
        check_some_rows(int(labeled.sum()), int(unlabeled.sum()), caller)
        s = labeled.astype(np.int64)
        if negative is not None:
            s[negative] = -1
        n = len(s)
        if not getattr(X, "shape", ()) or X.shape[0] != n:
            raise InvalidInputError(
                f"{caller} needs X and s to have the same rows. Got X of "
                f"{f'shape {tuple(X.shape)}' if hasattr(X, 'shape') else type(X).__name__} and "
                f"{n:,} labels."
            )
        ids = np.arange(n) if self.row_id is None else as_vector(self.row_id, "row_id", caller)
        check_same_length(s, ids, "s and row_id", caller)
        y_true = None if self.y_true is None else as_classes(self.y_true, caller)
        if y_true is not None:
            check_same_length(s, y_true, "s and y_true", caller)
        propensity = self.propensity
        if propensity is not None:
            propensity = as_numbers(propensity, "propensity", caller)
            check_same_length(s, propensity, "s and propensity", caller)
            bad = ~((propensity >= 0) & (propensity <= 1))
            if bad.any():
                raise InvalidInputError(
                    f"{caller} needs propensity in [0, 1]: it is the chance that a positive row "
                    f"carries a label. Got {propensity[bad][0]:g}."
                )
        truth = self.truth
        if truth is None and y_true is not None:
            truth = PUTruth.of(s, y_true, ids, self.scheme)
        parts = {"X": X, "s": s, "y_true": y_true, "row_id": ids, "propensity": propensity}
        for field, value in (parts | {"truth": truth}).items():
            object.__setattr__(self, field, value)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.s)

    def __repr__(self) -> str:
        """Show sizes, scheme and truth."""
        shape = "x".join(str(size) for size in self.X.shape[1:])
        parts = [
            *([] if self.name is None else [self.name]),
            f"n={int((self.s == 1).sum()):,}+{int((self.s == 0).sum()):,}",
            *([f"features={shape}"] if shape else []),
            f"scheme={self.scheme!r}",
        ]
        if self.truth is not None:
            parts += [f"alpha={self.truth.alpha:.3f}", f"beta={self.truth.beta:.3f}"]
            parts += ["overlapping"] if self.truth.overlapping else []
        return f"PUDataset({', '.join(parts)})"

    def _repr_html_(self) -> str:
        counts = {"labeled": 1, "unlabeled": 0, "known negative": -1}
        facts = {
            f"{kind} rows": f"{np.count_nonzero(self.s == value):,}"
            for kind, value in counts.items()
            if (self.s == value).any()
        }
        facts |= {
            "features": " x ".join(f"{size:,}" for size in self.X.shape[1:]) or "1",
            "scheme": self.scheme,
        }
        notes = []
        if self.truth is not None:
            facts |= {
                "alpha: positives among unlabeled rows": show_number(self.truth.alpha),
                "beta: positives among labeled rows": show_number(self.truth.beta),
                "pi: positives where performance is judged": show_number(self.truth.pi),
                "share of the positives that is labeled": show_number(self.truth.label_frequency),
            }
            notes += ["Labeled rows come again unlabeled."] if self.truth.overlapping else []
        if self.propensity is not None:
            notes.append("With the chance of each row to be labeled.")
        name = "PU dataset" if self.name is None else brief(self.name)
        known = "" if self.truth is None else ", with its truth"
        return html_facts(facts, f"{name}: {len(self):,} rows{known}", notes)

    def take(self, rows: ArrayLike) -> PUDataset:
        """Return some rows, given by position; their truth is counted anew.

        Parameters
        ----------
        rows : array-like of int
            Positions, in the wanted order.

        Returns
        -------
        PUDataset
        """
        index = np.asarray(rows)

        def part(values: Any) -> Any:
            return None if values is None else values[index]

        return PUDataset(
            take_rows(self.X, index),
            self.s[index],
            y_true=part(self.y_true),
            row_id=part(self.row_id),
            propensity=part(self.propensity),
            name=self.name,
            scheme=self.scheme,
        )

    def split(
        self, test_size: float = 0.2, random_state: RandomState = 0
    ) -> tuple[PUDataset, PUDataset]:
        """Split at random into two parts with equal shares of labeled and unlabeled rows.

        Only ``s`` and ``row_id`` are looked at, as with data whose truth is unknown. Copies of a
        row stay together: a model that trained on one copy would recognize the other.

        Parameters
        ----------
        test_size : float, default=0.2
            Share of the labeled and of the unlabeled rows in the second part.
        random_state : int, Generator, RandomState or None, default=0
            The same number gives the same parts.

        Returns
        -------
        train, test : PUDataset
            Rows keep their order.

        Examples
        --------
        >>> rows = PUDataset(np.arange(50)[:, None], s=[1] * 10 + [0] * 40)
        >>> rows.split(test_size=0.3)
        (PUDataset(n=7+28, ...), PUDataset(n=3+12, ...))
        """
        caller = "PUDataset.split"
        if not 0 < test_size < 1:
            raise InvalidInputError(
                f"{caller} needs 0 < test_size < 1: it is the share of rows in the second part. "
                f"Got {brief(test_size)}."
            )
        rng = named_rng(as_seed(random_state, caller), "split")
        _, bundles = np.unique(self.row_id, return_inverse=True)
        n_bundles = int(bundles.max()) + 1
        counts = np.bincount(bundles * 3 + (1 - self.s), minlength=n_bundles * 3)
        counts = counts.reshape(n_bundles, 3)  # labeled, unlabeled, known negative
        tested = _tested_bundles(counts, test_size, rng, caller)[bundles]
        return self.take(np.flatnonzero(~tested)), self.take(np.flatnonzero(tested))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per row: ``row_id``, ``s``, what is known of the truth, the features.

        Features of an array become columns ``x0``, ``x1``, ...; those of a frame keep their
        names.

        Returns
        -------
        pandas.DataFrame
        """
        columns = {
            name: getattr(self, name)
            for name in ("row_id", "s", "y_true", "propensity")
            if getattr(self, name) is not None
        }
        features = _feature_columns(self.X)
        clash = sorted(columns.keys() & features.keys())
        if clash:
            raise InvalidInputError(
                f"PUDataset.to_frame has its own column {clash[0]!r}, and so has X. Rename that "
                f"column of X."
            )
        return make_frame(columns | features)


def take_rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame, as the same type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):
        narwhals = require("narwhals", purpose="taking rows of a data frame", install="narwhals")
        return narwhals.from_native(X, eager_only=True)[rows].to_native()
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows].asformat(X.format)
    return X[rows]


def as_classes(y_true: ArrayLike, caller: str) -> NDArray[np.int64]:
    """Turn real classes into integers 1 and 0, and refuse anything else."""
    values = as_numbers(y_true, "y_true", caller)
    strange = (values != 0) & (values != 1)
    if strange.any():
        raise InvalidInputError(
            f"{caller} needs y_true to be 1 (positive) or 0 (negative). Got "
            f"{values[strange][0]:g} in {strange.sum():,} of {len(values):,} rows. Pass "
            f"(y_true == positive_class).astype(int)."
        )
    return values.astype(np.int64)


def _feature_columns(X: Any) -> dict[str, Any]:
    if hasattr(X, "tocsr"):
        pandas = require("pandas", purpose="to_frame()", install="pandas")
        frame = pandas.DataFrame.sparse.from_spmatrix(X)
        return {f"x{name}": frame[name] for name in frame.columns}
    if hasattr(X, "iloc") and X.ndim == 2:
        return {str(name): X[name].array for name in X.columns}
    if hasattr(type(X), "columns") or hasattr(type(X), "column_names"):
        narwhals = require("narwhals", purpose="to_frame()", install="narwhals")
        columns = narwhals.from_native(X, eager_only=True).iter_columns()
        return {column.name: column.to_numpy() for column in columns}
    flat = np.asarray(X).reshape(len(X), -1)
    return {f"x{number}": flat[:, number] for number in range(flat.shape[1])}


def _tested_bundles(
    counts: NDArray[np.intp], test_size: float, rng: np.random.Generator, caller: str
) -> NDArray[np.bool_]:
    """Choose bundles of copies so that every kind of row comes close to its share.

    Bundles of one make-up are dealt at once. The last make-up to hold a kind makes up for the
    rounding of those before, so that counts are exact unless most rows have copies.
    """
    totals = counts.sum(axis=0)
    goals = np.rint(test_size * totals).astype(np.int64)
    goals[:2] = np.clip(goals[:2], 1, np.maximum(totals[:2] - 1, 1))
    makeups, which = np.unique(counts, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.lexsort((makeups[:, 1], -makeups.sum(axis=1)))
    tested = np.zeros(len(counts), bool)
    for place, number in enumerate(order):
        rows, members = makeups[number], np.flatnonzero(which == number)
        later = makeups[order[place + 1 :]].sum(axis=0)
        last = np.flatnonzero((rows > 0) & (later == 0))
        share = test_size * len(members)
        if len(last):
            share = (goals[last[0]] - counts[tested, last[0]].sum()) / rows[last[0]]
        take = int(np.clip(np.rint(share), 0, len(members)))
        tested[rng.permutation(members)[:take]] = True
    for part in (tested, ~tested):
        labeled, unlabeled, _ = counts[part].sum(axis=0)
        if not (labeled and unlabeled):
            raise InvalidInputError(
                f"{caller} needs labeled and unlabeled rows for both parts, where copies of a row "
                f"stay together. Got {totals[0]:,} labeled and {totals[1]:,} unlabeled rows with "
                f"{len(counts):,} row ids, and test_size={test_size:g}. Use more rows or another "
                f"test_size."
            )
    return tested
