"""Draw the first rows of every stratum inside the engine that holds the rows.

The engine computes the same number for every row as :mod:`recoup.audit.order` does, and gives back
only rows whose number lies below the limit of their stratum.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import brief
from recoup._core.progress import progress_bar
from recoup.audit.drawing import (
    ArrayRows,
    Candidates,
    PickedRows,
    ScoredRows,
    candidate_limits,
    first_rows,
)
from recoup.audit.order import (
    HEX_DIGITS,
    PRIME,
    WHOLE,
    ids_kind_error,
    missing_ids_error,
    multipliers,
    number_in_sql,
    repeated_ids_error,
    text_numbers,
)
from recoup.audit.strata import Strata
from recoup.data.readers import check_names, find_files, open_files, with_label_numbers
from recoup.exceptions import InvalidInputError
from recoup.scores.counting import _rounded, bin_relation, count_frame, has_many_scores
from recoup.scores.table import ScoreTable

POSITION = "recoup position"
# Whole numbers in text that a 64-bit integer holds, and those that somebody wrote as floats.
TYPED = {
    "whole": WHOLE,
    "long": "^-?(?:0|[1-9][0-9]{0,17})$",
    "float": "^-?(?:0|[1-9][0-9]{0,14})[.]0*$",
}


@contextmanager
def open_rows(
    source: Any,
    *,
    label: str,
    score: str,
    id: str | None,
    decimals: int | None = None,
    memory_limit: str = "1GB",
    known: bool = False,
    caller: str = "audit.plan_from",
) -> Iterator[ScoredRows]:
    """Open scored rows wherever they are.

    Parameters
    ----------
    source : frame, str or Path
        A frame that narwhals knows, or the name or pattern of files.
    label : str
        Column of the labels.
    score : str
        Column of the scores.
    id : str or None
        Column of the ids.
    decimals : int, optional
        Round scores to so many decimals in the engine.
    memory_limit : str, default="1GB"
        What DuckDB may use for files before it spills to disk.
    known : bool, default=False
        Whether ids were found to name one row each before.
    caller : str
        Who asks, for error messages.

    Yields
    ------
    ScoredRows
    """
    if id is not None and id in (label, score):
        raise InvalidInputError(
            f"{caller} needs a column of ids beside those of labels and scores. Got {brief(id)!r} "
            f"as both. Name another column as id, or none."
        )
    if isinstance(source, str | Path):
        untyped = find_files(source)[1] != "parquet"
        with _opened(source, label, score, id, memory_limit, caller) as (relation, column):
            yield EngineRows(
                relation, label, score, column, decimals, str(source), caller, known, untyped
            )
        return
    try:
        frame = nw.from_native(source)
    except TypeError as error:
        raise InvalidInputError(
            f"{caller} needs a file or a data frame that narwhals knows (pandas, Polars, PyArrow, "
            f"DuckDB, PySpark, Dask). Got {brief(type(source).__name__)}. For arrays use "
            f"recoup.audit.plan."
        ) from error
    if isinstance(frame, nw.DataFrame):
        check_names(frame.columns, [name for name in (label, score, id) if name], "the frame")
        s, scores, ids = (
            None if name is None else frame.get_column(name).to_numpy()
            for name in (label, score, id)
        )
        if decimals is not None:
            scores = np.floor(np.asarray(scores, float) * 10.0**decimals + 0.5) / 10.0**decimals
        yield ArrayRows.of(s, scores, ids, caller)
        return
    if id is None:
        raise InvalidInputError(
            f"{caller} needs the name of a column of ids: rows of this frame have no order of "
            f"their own. Pass id=."
        )
    yield EngineRows(source, label, score, id, decimals, "the frame", caller, known)


@contextmanager
def _opened(
    source: str | Path, label: str, score: str, id: str | None, memory_limit: str, caller: str
) -> Iterator[tuple[Any, str]]:
    columns = [name for name in (label, score, id) if name is not None]
    if id is None and len(find_files(source)[0]) > 1:
        raise InvalidInputError(
            f"{caller} needs the name of a column of ids: rows of several files have no order of "
            f"their own. Got {len(find_files(source)[0])} files of {brief(str(source), 200)} and "
            f"no id."
        )
    with open_files(
        source,
        columns,
        memory_limit,
        label=label,
        caller=caller,
        keep_order=id is None,
        as_is=id,
    ) as relation:
        if id is not None:
            yield relation, id
        else:
            numbered = f'*, row_number() OVER () - 1 AS "{POSITION}"'
            yield relation.project(numbered), POSITION


@dataclass(frozen=True, eq=False)
class EngineRows:
    """Scored rows in an engine that is asked, and keeps them.

    Attributes
    ----------
    frame : frame
        A lazy frame that narwhals knows.
    label : str
        Column of the labels.
    score : str
        Column of the scores.
    id : str
        Column of the ids, or of the positions.
    decimals : int or None
        Decimals that scores are rounded to.
    source : str
        Where rows come from, for error messages.
    caller : str
        Who asks, for error messages.
    known : bool
        Whether ids were found to name one row each before.
    untyped : bool
        Whether ids that are text may be whole numbers, as in CSV files.
    """

    frame: Any
    label: str
    score: str
    id: str
    decimals: int | None
    source: str
    caller: str
    known: bool = False
    untyped: bool = False
    _tables: dict[tuple[float, ...], ScoreTable] = field(default_factory=dict, repr=False)

    @property
    def positions(self) -> bool:
        """Whether rows are known by their positions, too."""
        return self.id == POSITION

    @property
    def columns(self) -> dict[str, str | None]:
        """Names of the columns."""
        id = None if self.positions else self.id
        return {"label": self.label, "score": self.score, "id": id}

    def count(self, keep: tuple[float, ...]) -> ScoreTable:
        """Count the rows by score, with one group-by.

        Parameters
        ----------
        keep : tuple of float
            Scores at which counts stay exact.

        Returns
        -------
        ScoreTable
        """
        if () in self._tables:
            return self._tables[()]
        if keep not in self._tables:
            with progress_bar(None, "Counting rows"):
                if self._has_many_scores:
                    counted = bin_relation(
                        self.frame, self.label, self.score, None, keep, self.source
                    )
                    self._tables[keep] = ScoreTable._from_bins(*counted).whole("audit.plan_from")
                else:
                    # All scores are counted: whatever is to be kept, it is exact.
                    keep = ()
                    groups = count_frame(
                        self.frame, self.label, self.score, None, self.decimals, self.source
                    )
                    self._tables[keep] = ScoreTable._from_counts(*groups).whole("audit.plan_from")
        return self._tables[keep]

    @cached_property
    def _has_many_scores(self) -> bool:
        is_relation = nw.from_native(self.frame).implementation.is_duckdb()
        return bool(
            is_relation and self.decimals is None and has_many_scores(self.frame, self.score)
        )

    def draw(self, strata: Strata, wanted: NDArray[np.int64], seed: int) -> Candidates:
        """Find the first unlabeled rows of every stratum.

        Parameters
        ----------
        strata : Strata
            Where rows are drawn.
        wanted : ndarray of shape (n_strata,)
            How many rows of each stratum.
        seed : int
            Seed of the order.

        Returns
        -------
        Candidates
        """
        limits = candidate_limits(strata.n_rows, wanted)
        drawn, numbers = self._below(0, strata.edges, limits, seed)
        stratum = strata.of(drawn.scores)
        near = numbers <= limits[stratum]
        picked = PickedRows(drawn.rows[near], drawn.scores[near], drawn.ids[near])
        found = first_rows(picked, numbers[near], stratum[near], wanted)
        return Candidates(self._named(found.drawn, 0), found.counts)

    def draw_labeled(self, table: ScoreTable, wanted: int, seed: int, after: int) -> PickedRows:
        """Find the first labeled rows.

        Parameters
        ----------
        table : ScoreTable
            The counted rows.
        wanted : int
            How many rows.
        seed : int
            Seed of the order.
        after : int
            Number of the first one, where they have no positions.

        Returns
        -------
        PickedRows
        """
        if not wanted:
            return PickedRows(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
        most = np.array([wanted])
        limits = candidate_limits(np.array([table.n_labeled]), most)
        drawn, numbers = self._below(1, np.array([-np.inf]), limits, seed)
        stratum = np.zeros(len(numbers), np.intp)
        near = numbers <= limits[0]
        picked = PickedRows(drawn.rows[near], drawn.scores[near], drawn.ids[near])
        found = first_rows(picked, numbers[near], stratum[near], most)
        return self._named(found.drawn, after)

    def _named(self, drawn: PickedRows, after: int) -> PickedRows:
        rows = drawn.ids if self.positions else np.arange(after, after + len(drawn.ids))
        return PickedRows(rows.astype(np.int64), drawn.scores, drawn.ids)

    def _below(
        self, label: int, edges: NDArray[np.float64], limits: NDArray[np.float64], seed: int
    ) -> tuple[PickedRows, NDArray[np.float64]]:
        """Bring the rows of a label whose number lies below the limit of their scores, or near."""
        rows, scale = self._numbered(seed)
        # Rounding a limit up brings a row too many at most, which whoever asks leaves out.
        most = [int(min(limit, 1.0) * scale) + 1 for limit in limits]
        unit = 1.0 if self.decimals is None else 10.0**self.decimals
        edges = np.rint(edges * unit) if self.decimals else edges
        # The limit is looked up, so that the number stands in the condition once: engines put its
        # formula in its place, wherever it stands.
        limit: Any = nw.lit(most[0])
        for start, value in zip(edges[1:], most[1:], strict=True):
            limit = nw.when(nw.col("score") >= float(start)).then(nw.lit(value)).otherwise(limit)
        chosen = rows.filter((nw.col("label") == label) & (nw.col("number") <= limit))
        with progress_bar(None, "Drawing rows"):
            found = chosen.select("score", "id", "number").collect()
        scores = np.asarray(found.get_column("score").to_numpy(), float) / unit
        ids = found.get_column("id").to_numpy()
        numbers = np.asarray(found.get_column("number").to_numpy(), float) / scale
        return PickedRows(np.arange(len(scores)), scores, ids), numbers

    @cached_property
    def _selected(self) -> tuple[Any, bool]:
        """Rows with the columns label, score, id and key, and whether keys are numbers."""
        rows: Any = with_label_numbers(nw.from_native(self.frame), self.label, self.caller)
        schema = rows.collect_schema()
        check_names(schema.names(), [self.id], self.source)
        if schema[self.label] == nw.Boolean:
            rows = rows.with_columns(nw.col(self.label).cast(nw.Int64))
        value = nw.col(self.score).cast(nw.Float64)
        if self.decimals is not None:
            value = _rounded(value, self.decimals)
        rows = rows.select(
            nw.col(self.label).alias("label"), value.alias("score"), nw.col(self.id).alias("id")
        )
        if self.positions:
            return rows.with_columns(key=nw.col("id").cast(nw.Int64)), True
        with progress_bar(None, "Looking at ids"):
            return self._with_keys(rows, schema[self.id])

    def _with_keys(self, rows: Any, kind: Any) -> tuple[Any, bool]:
        """Check the ids, and add what their numbers follow from, as ``as_keys`` does."""
        cell = nw.col("id")
        is_text = kind in (nw.String, nw.Categorical, nw.Enum)
        if is_text:
            rows = rows.with_columns(id=cell.cast(nw.String))
        elif kind.is_float():
            self._check_whole(rows)
            rows = rows.with_columns(id=cell.cast(nw.Int64))
        elif not kind.is_integer():
            raise ids_kind_error(self.caller, str(kind))
        asked = {"n": nw.len(), "missing": cell.is_null().cast(nw.Int64).sum()}
        if not self.known:
            asked["distinct"] = cell.n_unique()
        if is_text:
            for name, pattern in TYPED.items():
                matches = cell.fill_null("").str.contains(pattern)
                asked[name] = matches.cast(nw.Int64).sum()
        else:
            asked |= {"low": cell.min(), "high": cell.max()}
        facts = _answers(rows, asked)
        if facts["missing"]:
            raise missing_ids_error(self.caller, int(facts["missing"]))
        n = int(facts["n"])
        if not self.known and int(facts["distinct"]) != n:
            raise repeated_ids_error(self.caller, n, int(facts["distinct"]))
        if is_text and self.untyped and n in (facts["long"], facts["float"]):
            number = cell if facts["long"] else cell.cast(nw.Float64)
            rows, is_text = rows.with_columns(id=number.cast(nw.Int64)), False
            facts |= _answers(rows, {"low": cell.min(), "high": cell.max()})
        if is_text and facts["whole"] == n:
            whole = rows.with_columns(key=cell.cast(nw.Int64))
            high = _answers(whole, {"high": nw.col("key").max()})["high"]
            return (whole, True) if high < PRIME else (rows.with_columns(key=cell), False)
        if is_text:
            return rows.with_columns(key=cell), False
        if facts["low"] >= 0 and facts["high"] < PRIME:
            return rows.with_columns(key=cell.cast(nw.Int64)), True
        return rows.with_columns(key=cell.cast(nw.String)), False

    def _check_whole(self, rows: Any) -> None:
        cell = nw.col("id")
        lacking = cell.is_null() | cell.is_nan()
        facts = _answers(
            rows,
            {
                "missing": lacking.cast(nw.Int64).sum(),
                "broken": (~lacking & ~((cell.abs() < 2.0**53) & (cell == cell // 1)))
                .cast(nw.Int64)
                .sum(),
            },
        )
        if facts["missing"]:
            raise missing_ids_error(self.caller, int(facts["missing"]))
        if facts["broken"]:
            raise ids_kind_error(self.caller, "numbers with fractions")

    def _numbered(self, seed: int) -> tuple[Any, float]:
        """Add the number of every row, and return by what it is to be divided."""
        rows, are_numbers = self._selected
        if not are_numbers:
            return _with_text_numbers(rows, seed, self.caller), 16.0**HEX_DIGITS
        number, fourth = nw.col("number"), nw.col("fourth")
        rows = rows.with_columns(number=nw.col("key"))
        for factor, summand in multipliers(seed):
            # One step at a time: engines would compute a part anew wherever it occurs.
            rows = rows.with_columns(number=(number * factor + summand) % PRIME)
            rows = rows.with_columns(fourth=number * number % PRIME)
            rows = rows.with_columns(fourth=fourth * fourth % PRIME)
            rows = rows.with_columns(number=number * fourth % PRIME)
        return rows, float(PRIME)


def _answers(rows: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Ask an engine for several figures at once."""
    found = rows.select(**asked).collect()
    return {name: found.get_column(name).to_list()[0] for name in asked}


def _with_text_numbers(rows: Any, seed: int, caller: str) -> Any:
    """Add the number of every row, where keys are texts."""
    native, engine = nw.to_native(rows), rows.implementation

    def numbers(keys: Any) -> NDArray[np.int64]:
        return text_numbers(keys.to_numpy(), seed)

    if engine.is_duckdb():
        return nw.from_native(native.project(f"*, {number_in_sql('key', seed)} AS number"))
    if engine.is_pyspark() or engine.is_pyspark_connect():
        digits = f"substring(md5(concat('{int(seed)}:', key)), 1, {HEX_DIGITS})"
        return nw.from_native(
            native.selectExpr("*", f"CAST(conv({digits}, 16, 10) AS BIGINT) AS number")
        )
    if engine.is_polars():
        import polars as pl

        found = pl.col("key").map_batches(
            lambda keys: pl.Series(numbers(keys)), return_dtype=pl.Int64
        )
        return nw.from_native(native.with_columns(found.alias("number")))
    if engine.is_dask():
        import pandas as pd

        found = native["key"].map_partitions(
            lambda keys: pd.Series(numbers(keys), index=keys.index), meta=("number", "int64")
        )
        return nw.from_native(native.assign(number=found))
    raise InvalidInputError(
        f"{caller} needs ids that are whole numbers from 0 to {PRIME - 1:,} in this engine. Got "
        f"texts. Write the rows to Parquet files and name those, or name another column."
    )
