"""ColumnEncoder: raw frames and files as numbers, with every column accounted for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from recoup._core.checks import FloatArray, brief, check_same_length, label_masks
from recoup.data.column_roles import RoleRules, learn_column
from recoup.data.encoded_column import Cells, EncodedColumn, as_arrow, check_role
from recoup.data.label_leaks import leak_of
from recoup.data.readers import SourceTable, check_names, several_columns_error
from recoup.exceptions import InvalidInputError

FORMAT = 1


class NoColumnsError(InvalidInputError):
    """No column of a table can be learned from.

    Parameters
    ----------
    reasons : str
        Why each was left out.
    """

    def __init__(self, reasons: str) -> None:
        super().__init__(
            f"There is no column to learn from{': ' if reasons else ''}{reasons}. Add columns of "
            f"numbers, categories, dates or text."
        )
        self.reasons = reasons


class ColumnEncoder(BaseEstimator):
    """Turn a raw table into numbers: find what each column is, and say what is left out and why.

    Numbers stay numbers, also those written with a decimal comma or with signs between thousands
    where there is one way to read them. Categories get an indicator for each frequent level and one
    for the rest, dates become year, month, weekday, hour and days, free text is spread over columns
    by its words, and gaps that many rows have get an indicator. Left out are columns that name
    rows, that never change, and that give the labels away.

    Parameters
    ----------
    id : str or sequence of str, default=()
        Columns that name the rows, beside those that are seen to.
    time : str or sequence of str, default=()
        Columns that say when a row came. Their month, weekday and hour are used, but not how late
        they are: new rows lie beyond all of these.
    keep : str or sequence of str, default=()
        Columns to use although they look as if they gave the labels away.
    max_levels : int, default=40
        Most levels of a category that get an indicator of their own.
    text_width : int, default=32
        Columns over which free text is spread; 0 refuses free text by name.
    missing : {"fill", "keep"}, default="fill"
        Whether gaps in numbers and dates are filled by the mean, or stay NaN for learners that
        take it.

    Attributes
    ----------
    columns_ : tuple of EncodedColumn
        Every column of the table: its name, role and the reason if it was left out.
    feature_names_out_ : ndarray of str
        Names of the columns of numbers.

    Examples
    --------
    >>> rows = {
    ...     "country": ["fr", "de", "fr", "de", "fr", "de"],
    ...     "amount": ["1,50", "2,25", "0,99", None, "7", "3,5"],
    ...     "source": ["web"] * 6,
    ... }
    >>> encoder = ColumnEncoder()
    >>> encoder.fit_transform(rows)[:2]
    array([[0.  , 1.  , 1.5 ],
           [1.  , 0.  , 2.25]])
    >>> encoder.feature_names_out_.tolist()
    ['country=de', 'country=fr', 'amount']
    >>> [(column.name, column.reason) for column in encoder.columns_ if not column.used]
    [('source', 'holds web alone')]
    """

    def __init__(
        self,
        *,
        id: str | Sequence[str] = (),
        time: str | Sequence[str] = (),
        keep: str | Sequence[str] = (),
        max_levels: int = 40,
        text_width: int = 32,
        missing: str = "fill",
    ) -> None:
        self.id = id
        self.time = time
        self.keep = keep
        self.max_levels = max_levels
        self.text_width = text_width
        self.missing = missing

    def fit(self, X: Any, s: ArrayLike | None = None) -> ColumnEncoder:
        """Find out what each column is.

        Parameters
        ----------
        X : data frame, Arrow table, mapping or array with n rows
            The rows to learn from: pandas, Polars, PyArrow, columns by name, or a numpy array.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative. With it, columns that give the
            labels away are found.

        Returns
        -------
        self : ColumnEncoder
        """
        if self.missing not in ("fill", "keep"):
            raise InvalidInputError(
                f"ColumnEncoder needs missing to be 'fill' or 'keep'. Got {brief(self.missing)!r}."
            )
        table, n_rows = columns_of(X)
        labeled = None
        if s is not None:
            labeled = label_masks(s, "ColumnEncoder.fit")[0]
            check_same_length(np.empty(n_rows), labeled, "X and s", "ColumnEncoder.fit")
        if not n_rows:
            raise InvalidInputError("ColumnEncoder.fit needs at least one row. Got none.")
        rules = RoleRules(
            _names(self.id), int(self.max_levels), int(self.text_width), _names(self.time)
        )
        kept = _names(self.keep)
        check_names(list(table), [*rules.ids, *rules.time, *kept], "the table")
        found = []
        for name, column in table.items():
            cells = Cells.of(column)
            learned = learn_column(name, cells, rules)
            if labeled is not None and name not in kept:
                leak = leak_of(learned, cells, labeled)
                if leak is not None:
                    learned = EncodedColumn(name, "leak", leak)
            found.append(learned)
        self._keep(found)
        if not len(self.feature_names_out_):
            raise NoColumnsError(left_out(self.columns_))
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the numbers of rows, by what the fitted ones have shown.

        Parameters
        ----------
        X : data frame, Arrow table, mapping or array with m rows
            With the columns that are used; others are not looked at.

        Returns
        -------
        ndarray of shape (m, number of feature_names_out_)
            A level that was not seen counts as a rare one, or has no indicator.
        """
        if not hasattr(self, "columns_"):
            raise InvalidInputError("ColumnEncoder.transform needs a call of fit first.")
        used = [column for column in self.columns_ if column.used]
        table, n_rows = columns_of(X, [column.name for column in used])
        out = np.empty((n_rows, len(self.feature_names_out_)))
        start = 0
        for column in used:
            cells = Cells.of(table[column.name])
            if isinstance(cells, str):
                raise InvalidInputError(
                    f"recoup needs the column {brief(column.name)!r} as in the rows that were "
                    f"learned from. It {cells}."
                )
            numbers = column.encode(cells, self.missing == "keep")
            out[:, start : start + numbers.shape[1]] = numbers
            start += numbers.shape[1]
        return out

    def fit_transform(self, X: Any, s: ArrayLike | None = None) -> FloatArray:
        """Find out what each column is, and return the numbers of these rows.

        Parameters
        ----------
        X : data frame, Arrow table, mapping or array with n rows
            The rows to learn from.
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative.

        Returns
        -------
        ndarray of shape (n, number of feature_names_out_)
        """
        return self.fit(X, s).transform(X)

    def to_dict(self) -> dict[str, Any]:
        """Return all that was found as plain numbers, texts and lists.

        Returns
        -------
        dict
        """
        columns = [
            {name: value for name, value in asdict(column).items() if value not in ("", (), False)}
            for column in self.columns_
        ]
        return {"format": FORMAT, "missing": self.missing, "columns": columns}

    @classmethod
    def from_dict(cls, kept: Any) -> ColumnEncoder:
        """Build a fitted encoder from what :meth:`to_dict` returned.

        Parameters
        ----------
        kept : dict
            Or the list of columns that recoup wrote before there were roles.

        Returns
        -------
        ColumnEncoder
        """
        try:
            if isinstance(kept, list):
                encoder, columns = cls(), [_of_former(one) for one in kept]
            else:
                if kept["format"] != FORMAT or kept["missing"] not in ("fill", "keep"):
                    raise ValueError("another format")
                encoder = cls(missing=kept["missing"])
                columns = [_of_plain(one) for one in kept["columns"]]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInputError(
                "ColumnEncoder.from_dict needs what to_dict of this version of recoup returned. "
                f"Got something else ({type(error).__name__}). Fit the encoder again."
            ) from error
        encoder._keep(columns)
        return encoder

    def _keep(self, columns: Sequence[EncodedColumn]) -> None:
        self.columns_ = tuple(columns)
        names = [name for column in columns for name in column.names_out]
        self.feature_names_out_: NDArray[Any] = np.array(names, dtype=object)


def left_out(columns: Sequence[EncodedColumn], limit: int = 300) -> str:
    """Say which columns are not used, and why.

    Parameters
    ----------
    columns : sequence of EncodedColumn
        All columns of a table.
    limit : int, default=300
        Most letters.

    Returns
    -------
    str
    """
    return brief("; ".join(f"{one.name} {one.reason}" for one in columns if not one.used), limit)


def columns_of(X: Any, wanted: Sequence[str] | None = None) -> tuple[Mapping[str, Any], int]:
    """Return the columns of a table of any kind as Arrow columns, and the number of rows.

    Parameters
    ----------
    X : SourceTable, data frame, Arrow table, mapping or array
        The table.
    wanted : sequence of str, optional
        Columns that must be there; by default all are taken.

    Returns
    -------
    columns : dict of str to Arrow column
    n_rows : int
    """
    import pyarrow as pa

    if isinstance(X, SourceTable):
        names = list(X.columns)
        taken = names if wanted is None else list(wanted)
        check_names(names, taken, X.name)
        n_rows = len(next(iter(X.columns.values()), ()))
        return {name: X.typed(name) for name in taken}, n_rows
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        source = [str(name) for name in X.columns]
        cells = {name: X.iloc[:, place] for place, name in enumerate(source)}
        n_rows = len(X)
    elif isinstance(X, Mapping):
        source, cells = [str(name) for name in X], {str(name): X[name] for name in X}
        n_rows = len(next(iter(X.values()), ()))
    elif isinstance(X, pa.Table):
        source, n_rows = X.column_names, X.num_rows
        cells = {name: X.column(place) for place, name in enumerate(source)}
    elif hasattr(type(X), "columns"):
        import narwhals as nw

        frame: Any = nw.from_native(X)
        frame = (frame.collect() if isinstance(frame, nw.LazyFrame) else frame).to_arrow()
        return columns_of(frame, wanted)
    else:
        array = np.asarray(X) if not hasattr(X, "tocsr") else None
        if array is None or array.ndim != 2:
            got = f"shape {array.shape}" if array is not None else type(X).__name__
            raise InvalidInputError(
                f"ColumnEncoder needs a table: a data frame, or an array with rows and columns. "
                f"Got {got}."
            )
        source, n_rows = [f"x{place}" for place in range(array.shape[1])], len(array)
        cells = {name: array[:, place] for place, name in enumerate(source)}
    if len(set(source)) < len(source):
        raise several_columns_error(
            next(name for name in source if source.count(name) > 1), "the table"
        )
    taken = source if wanted is None else list(wanted)
    check_names(source, taken, "the table")
    return {name: as_arrow(cells[name]) for name in taken}, n_rows


def _names(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _of_plain(one: Mapping[str, Any]) -> EncodedColumn:
    column = EncodedColumn(
        name=str(one["name"]),
        role=check_role(one["role"]),
        reason=str(one.get("reason", "")),
        read=str(one.get("read", "")),
        levels=tuple(map(str, one.get("levels", ()))),
        other=bool(one.get("other", False)),
        parts=tuple(map(str, one.get("parts", ()))),
        fill=tuple(map(float, one.get("fill", ()))),
        gaps=bool(one.get("gaps", False)),
        start=float(one.get("start", 0.0)),
        width=int(one.get("width", 0)),
    )
    plain = column.used and not (column.levels or column.width or column.read == "filled")
    if plain and len(column.fill) != max(len(column.parts), 1):
        raise ValueError("no value for gaps")
    return column


def _of_former(one: Mapping[str, Any]) -> EncodedColumn:
    levels = tuple(map(str, one["levels"]))
    return EncodedColumn(
        name=str(one["name"]),
        role="category" if levels else "number",
        levels=levels,
        fill=() if levels else (float(one["mean"]),),
        gaps=bool(one["gaps"]),
    )
