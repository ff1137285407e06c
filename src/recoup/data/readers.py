"""Read CSV, Parquet and JSON lines files, with nothing about them left to guesses."""

from __future__ import annotations

import csv
import glob
import gzip
import io
import re
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import groupby, islice
from pathlib import Path
from typing import IO, Any

import narwhals as nw
import numpy as np

from recoup._core.checks import (
    SHARED_FLOATS,
    TEXT_LABELS,
    FloatArray,
    brief,
    did_you_mean,
    label_masks,
    shared_floats_error,
    unknown_labels_error,
)
from recoup.data.label_coding import MOST_VALUES, coding_of, usual_meaning
from recoup.exceptions import InvalidInputError

KINDS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json"),
}
DELIMITERS = (",", "\t", ";", "|")
# How many characters the header and the row below may have together.
MAX_HEADER = 2**20
# Types of columns of numbers, which may lack some labels.
NUMBER_TYPES = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN")
# What stands for text that is no label.
NO_LABEL = 2
# 007 is a code and a number of twenty digits is a name: as numbers both would change.
NUMBER = r"^-?((0|[1-9]\d{0,17})(\.\d*)?|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:nan|inf|infinity)$"


@dataclass(frozen=True)
class CsvLayout:
    """How a CSV file is to be read: its columns, what separates them, and where the header is."""

    names: tuple[str, ...]
    delimiter: str
    skipped: int = 0

    @classmethod
    def of(cls, file: str) -> CsvLayout:
        """Read the header of a file.

        The delimiter is the one that splits the header and the row below alike, into most names.
        """
        with _open_text(file) as text:
            lines = io.StringIO(text.read(MAX_HEADER), newline="").readlines()
        skipped = next((n for n, line in enumerate(lines) if line.strip("\r\n")), 0)

        def fitness(delimiter: str) -> tuple[bool, int]:
            header, row = _first_rows(lines, delimiter)
            return len(header) == len(row) > 1, len(header)

        delimiter = max(DELIMITERS, key=fitness)
        names = tuple(name.strip() for name in _first_rows(lines, delimiter)[0])
        if not names:
            raise InvalidInputError(
                f"Cannot read {brief(file, 200)}: it has no line with the names of its columns. "
                f"Write one above the rows."
            )
        return cls(names, delimiter, skipped)


def _open_text(file: str) -> IO[str]:
    """Open a text file, packed or not, with its line ends as they are."""
    if file.endswith(".gz"):
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return open(file, encoding="utf-8-sig", newline="")


def _first_rows(lines: list[str], delimiter: str) -> tuple[list[str], list[str]]:
    rows = filter(None, csv.reader(lines, delimiter=delimiter, strict=False))
    return next(rows, []), next(rows, [])


def scan_csv(connection: Any, files: Sequence[str], layout: CsvLayout) -> Any:
    """Return the text cells of CSV files of one layout, as columns ``c0``, ``c1``, ...

    Every rule is given. DuckDB would otherwise guess them from some rows, and lose others: those
    that begin with what it takes for a sign of comments, or that come before its guess of a header.
    """
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(layout.names)))
    return connection.sql(
        f"SELECT * FROM read_csv([{_listed(files)}], columns = {{{columns}}}, "
        f"auto_detect = false, delim = {_literal(layout.delimiter)}, quote = '\"', "
        f"escape = '\"', comment = '', header = true, skip = {layout.skipped}, "
        f"strict_mode = true, null_padding = false, ignore_errors = false, "
        f"hive_partitioning = false)"
    )


def scan_parquet(connection: Any, files: Sequence[str]) -> Any:
    """Return the rows of Parquet files, joined by column name."""
    return connection.read_parquet(
        [glob.escape(file) for file in files], union_by_name=True, hive_partitioning=False
    )


def scan_json(connection: Any, files: Sequence[str]) -> Any:
    """Return the lines of files of JSON lines as one column ``json``."""
    return connection.sql(
        f"SELECT json FROM read_ndjson_objects([{_listed(files)}], hive_partitioning = false)"
    )


def _listed(files: Sequence[str]) -> str:
    return ", ".join(_literal(glob.escape(file)) for file in files)


def matching_files(path: str | Path) -> list[str]:
    """Return the file of this name; if there is none, those that the pattern matches, sorted."""
    name = str(path)
    found = [name] if Path(name).is_file() else sorted(glob.glob(name))
    return [match for match in found if Path(match).is_file()]


def find_files(path: str | Path) -> tuple[list[str], str]:
    """Return the files of a name or pattern, and whether they are csv, parquet or json."""
    name, files = brief(str(path), 200), matching_files(path)
    if not files:
        raise InvalidInputError(
            f"Cannot find {name}: no such file. Check the path or the glob pattern."
        )
    if all(Path(file).stat().st_size == 0 for file in files):
        raise InvalidInputError(f"Cannot read {name}: the file is empty.")
    kinds = {KINDS.get(Path(file.removesuffix(".gz")).suffix.lower()) for file in files}
    kind = kinds.pop()
    if kind is None or kinds:
        raise InvalidInputError(
            f"Cannot read {name}: recoup reads .parquet, .csv and .tsv files and JSON lines "
            f"(.jsonl or .ndjson), text also as .gz, one kind at a time. Convert the file, or load "
            f"it and use ScoreTable.from_frame."
        )
    return files, kind


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Say why a file cannot be read, without the engine's advice on its own options."""
    import duckdb
    import pyarrow as pa

    broken = (duckdb.Error, pa.ArrowException, OSError, UnicodeDecodeError, csv.Error)
    try:
        yield
    except (*broken, EOFError, zlib.error) as error:
        reason = " ".join(str(error).split())
        for advice in (" Possible ", " Try auto-detecting "):
            reason = reason.split(advice)[0]
        if isinstance(error, UnicodeDecodeError) or "invalid UTF-8" in reason:
            reason = "it is not UTF-8 text. Save it in that encoding."
        elif "state machine" in reason:
            reason = (
                "its lines do not follow the rules of CSV files. Check that every quote is closed "
                "and that all lines end alike."
            )
        raise InvalidInputError(f"Cannot read {brief(name, 200)}: {brief(reason, 200)}") from error


@contextmanager
def _connected(**config: Any) -> Iterator[Any]:
    import duckdb

    with duckdb.connect(config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


@contextmanager
def open_files(
    path: str | Path,
    columns: list[str],
    memory_limit: str,
    *,
    label: str | None = None,
    caller: str = "recoup",
    keep_order: bool = False,
    as_is: str | Sequence[str] | None = None,
    positive: Sequence[str] | None = None,
    negative: Sequence[str] | None = None,
) -> Iterator[Any]:
    """Open the wanted columns of files as one DuckDB relation, joined by name.

    Every file must have them, once. Text is turned into numbers, whatever the kind of the file;
    in the column ``label`` by the rule for labels, and not in the columns ``as_is``. Other codings
    of labels are read as :func:`recoup.data.as_pu_labels` reads them.
    """
    name = str(path)
    kept = [] if as_is is None else [as_is] if isinstance(as_is, str) else as_is
    numeric = [column for column in columns if column not in kept]
    columns = list(dict.fromkeys(columns))  # label and score may be one column
    for column in columns:
        _refuse_twins([other for other in columns if other.lower() == column.lower()], name)
    files, kind = find_files(path)
    opened = {"parquet": _wanted_parquet, "csv": _wanted_csv, "json": _wanted_json}[kind]
    with (
        _reading(name),
        tempfile.TemporaryDirectory(prefix="recoup-") as spill,
        _connected(
            memory_limit=memory_limit, temp_directory=spill, preserve_insertion_order=keep_order
        ) as connection,
    ):
        relation = opened(connection, files, columns)
        if label is not None:
            relation = _with_usual_labels(relation, label, caller, positive, negative)
        yield _as_numbers(relation, columns, numeric, name, label, caller)


def read_columns(
    path: str | Path, columns: list[str], label: str | None = None, memory_limit: str = "1GB"
) -> dict[str, FloatArray]:
    """Read numeric columns of files, in the order of the rows.

    Parameters
    ----------
    path : str or Path
        A file or a glob pattern such as ``"scores/*.parquet"``.
    columns : list of str
        Names of columns that hold numbers or booleans, or text that reads as such.
    label : str, optional
        The one of them that holds labels; text in it is read by the rule for labels.
    memory_limit : str, default="1GB"
        What DuckDB may use before it spills to disk.

    Returns
    -------
    dict of str to ndarray
        One array per column; missing cells are NaN.
    """
    with open_files(path, columns, memory_limit, label=label, keep_order=True) as relation:
        rows = nw.from_native(relation)
        check_numbers(rows, columns, "recoup", brief(str(path), 200))
        check_tells_apart(rows, columns, str(path))
        cells = (f"coalesce({quoted(column)}::DOUBLE, 'NaN'::DOUBLE)" for column in columns)
        named = ", ".join(f"{cell} AS c{place}" for place, cell in enumerate(cells))
        arrays = relation.project(named).fetchnumpy()
    return {column: np.asarray(arrays[f"c{place}"], float) for place, column in enumerate(columns)}


@dataclass(frozen=True, eq=False)
class SourceTable:
    """All columns of a file, or of several, in the order of the rows.

    Attributes
    ----------
    name : str
        Of the file, or the pattern.
    columns : mapping of str to pyarrow.ChunkedArray
        By name.
    as_written : frozenset of str
        Columns that are text here but may hold anything: cells of CSV files and numbers of JSON
        lines, just as they were written.
    """

    name: str
    columns: Mapping[str, Any]
    as_written: frozenset[str]

    def typed(self, name: str) -> Any:
        """Return a column as an Arrow array whose type says whether it holds numbers."""
        import pyarrow as pa

        check_names(list(self.columns), [name], self.name)
        column = self.columns[name]
        if name in self.as_written:
            return typed_text(column)
        is_coded = pa.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if is_coded else column

    def columns_for(self, path: Path) -> dict[str, Any]:
        """Return columns to write to a file: as they were written in CSV files, else by type."""
        keep = path.suffix.lower() == ".csv"
        return {
            name: column if keep or name not in self.as_written else self.typed(name)
            for name, column in self.columns.items()
        }


def read_table(path: str | Path) -> SourceTable:
    """Read all columns of files; several files must have the same ones."""
    import pyarrow as pa

    name = str(path)
    files, kind = find_files(path)
    whole = {"parquet": _whole_parquet, "csv": _whole_csv, "json": _whole_json}[kind]
    with _reading(name), _connected() as connection:
        parts, as_written = whole(connection, files)
        for file, part in parts:
            for column in part.column_names:
                if part.column_names.count(column) > 1:
                    raise several_columns_error(column, file)
        first, names = parts[0][0], parts[0][1].column_names
        for file, part in parts[1:]:
            for column in {*names} ^ {*part.column_names}:
                has, lacks = (first, file) if column in names else (file, first)
                raise InvalidInputError(
                    f"Cannot read {brief(name, 200)} as one table: {brief(has, 100)} has a column "
                    f"{brief(column)!r}, and {brief(lacks, 100)} has none. Pass files with the "
                    f"same columns."
                )
        joined = pa.concat_tables(
            [part.select(names) for _, part in parts], promote_options="permissive"
        )
    return SourceTable(name, dict(zip(names, joined.columns, strict=True)), as_written)


Parts = tuple[list[tuple[str, Any]], frozenset[str]]


def _whole_parquet(connection: Any, files: Sequence[str]) -> Parts:
    import pyarrow.parquet as pq

    parts = []
    for file in files:
        # Not read_table, which takes folders named a=b for columns.
        with pq.ParquetFile(file) as source:
            parts.append((file, source.read()))
    return parts, frozenset()


def _whole_csv(connection: Any, files: Sequence[str]) -> Parts:
    parts = [
        (group[0], rows.to_arrow_table().rename_columns(list(names)))
        for group, names, rows in _alike_csv(connection, files)
    ]
    return parts, frozenset(parts[0][1].column_names)


def _whole_json(connection: Any, files: Sequence[str]) -> Parts:
    """Return the cells of JSON lines as text; what a line lacks is missing."""
    names = list(dict.fromkeys(name for file in files for name in _json_names(connection, file)))
    if not names:
        raise InvalidInputError(
            f"Cannot read {brief(files[0], 200)}: its lines name no columns. Write one JSON object "
            f"per line."
        )
    lines = scan_json(connection, files)
    kinds = (f"list(DISTINCT json_type(json, {_pointer(name)}))" for name in names)
    found = zip(names, lines.aggregate(", ".join(kinds)).fetchall()[0], strict=True)
    cells = (f"{_json_cell(name)} AS c{place}" for place, name in enumerate(names))
    table = lines.project(", ".join(cells)).to_arrow_table().rename_columns(names)
    words = {"VARCHAR", "OBJECT", "ARRAY"}
    return [(files[0], table)], frozenset(name for name, kind in found if not words & {*kind})


def typed_text(column: Any) -> Any:
    """Turn text into whole numbers, numbers or booleans where every cell is one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(column)
    if text.null_count == len(text):
        return column
    if pc.all(pc.match_substring_regex(text, NUMBER)).as_py():
        for kind in (pa.int64(), pa.float64()):
            try:
                return text.cast(kind)
            except pa.ArrowInvalid:
                continue
    if pc.all(pc.match_substring_regex(text, "^(?i:true|false)$")).as_py():
        return pc.equal(pc.utf8_lower(text), "true")
    return column


def check_names(names: Sequence[str], columns: Sequence[str], source: str) -> None:
    """Require every wanted column to be there, once."""
    for column in columns:
        n_found = names.count(column)
        if not n_found:
            guess = did_you_mean(column, names)
            raise InvalidInputError(
                f"There is no column {brief(column)!r} in {brief(source, 200)}.{guess} "
                f"It has: {brief(', '.join(names), 200)}."
            )
        if n_found > 1:
            raise several_columns_error(column, source)


def several_columns_error(column: str, source: str) -> InvalidInputError:
    """Build the error for columns of one name, of which no one can say which is meant."""
    return InvalidInputError(
        f"Cannot read {brief(source, 200)}: it has several columns {brief(column)!r}. Rename them."
    )


def check_numbers(rows: Any, columns: Sequence[str], needs: str, source: str) -> None:
    """Require columns of a frame to hold numbers or booleans."""
    schema = rows.collect_schema()
    for column in columns:
        if not holds_numbers(schema[column]):
            raise InvalidInputError(
                f"{needs} needs numbers in column {brief(column)!r} of {source}. "
                f"Got {schema[column]} such as {brief(str(first_value(rows, column)))}. "
                f"Convert the column to numbers first."
            )


def holds_numbers(dtype: Any) -> bool:
    """Say whether a column of this type holds numbers or booleans."""
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def with_label_numbers(rows: Any, label: str, caller: str) -> Any:
    """Turn labels of a frame that are text, categories or objects into numbers.

    ``TEXT_LABELS`` says what text is a label, for frames as for files and arrays. Columns of other
    types stay as they are.
    """
    kind = rows.collect_schema().get(label)
    if kind == nw.Object:  # pandas alone has columns of any objects
        labeled, unlabeled, _ = label_masks(rows[label].to_numpy(), caller)
        numbers = np.select([labeled, unlabeled], [1, 0], -1)
        return rows.with_columns(nw.new_series(label, numbers, backend=rows.implementation))
    if kind not in (nw.String, nw.Categorical, nw.Enum):
        return rows
    text = nw.col(label).cast(nw.String).fill_null("")
    number: Any = nw.lit(NO_LABEL)
    for value, pattern in TEXT_LABELS.items():
        number = nw.when(text.str.contains(pattern)).then(nw.lit(value)).otherwise(number)
    lacking = number == NO_LABEL
    n_bad, n_rows = (
        int(cell)
        for cell in _collected(
            rows.select(lacking.cast(nw.Int64).sum().alias("bad"), nw.len().alias("rows"))
        ).row(0)
    )
    if n_bad:
        raise unknown_labels_error(
            caller, repr(first_value(rows.filter(lacking), label)), n_bad, n_rows
        )
    return rows.with_columns(number.alias(label))


def first_value(rows: Any, column: str) -> object:
    """Return the first cell of a column of a frame, None if there is none."""
    values = _collected(rows.select(column).head(1)).get_column(column)
    return values.to_list()[0] if len(values) else None


def check_tells_apart(rows: Any, columns: Sequence[str], source: str) -> None:
    """Refuse numbers of a frame that differ but would become equal as floats."""
    schema = rows.collect_schema()
    for column in dict.fromkeys(columns):
        needs = f"ScoreTable needs column {brief(column)!r} of {brief(source, 200)}"
        cell = nw.col(column)
        if schema[column] in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128):
            ends = _collected(rows.select(cell.min().alias("low"), cell.max().alias("high")))
            for end in (*ends["low"].to_list(), *ends["high"].to_list()):
                if end is not None and abs(end) >= SHARED_FLOATS:
                    raise shared_floats_error(needs, int(end))
        elif schema[column] == nw.Decimal:
            kept, turned = (
                len(_collected(rows.select(each.alias("n")).unique()))
                for each in (cell, cell.cast(nw.Float64))
            )
            if kept != turned:
                raise shared_floats_error(needs, f"{kept:,} decimals that become {turned:,}")


def _collected(rows: Any) -> Any:
    return rows.collect() if isinstance(rows, nw.LazyFrame) else rows


def _wanted_parquet(connection: Any, files: Sequence[str], columns: Sequence[str]) -> Any:
    kinds = []
    for file in files:
        found = connection.execute(
            "SELECT name, coalesce(num_children, 0), type, logical_type FROM parquet_schema(?)",
            [glob.escape(file)],
        )
        schema = iter(found.fetchall())
        fields = [_field(schema) for _ in range(next(schema)[1])]
        names = [name for name, _ in fields]
        check_names(names, columns, file)
        for column in columns:
            _refuse_twins([name for name in names if name.lower() == column.lower()], file)
        kinds.append({name: kind for name, kind in fields if name in columns})
    for file in files if any(kind != kinds[0] for kind in kinds) else ():
        # Joined with floats, whole numbers would be floats before anyone looks.
        check_tells_apart(nw.from_native(scan_parquet(connection, [file])), columns, file)
    return scan_parquet(connection, files)


def _field(schema: Iterator[Any]) -> tuple[str, Any]:
    """Take a column, and the parts that it may consist of, from the list of all parts."""
    name, n_parts, *kind = next(schema)
    return name, (kind, [_field(schema) for _ in range(n_parts)])


def _alike_csv(
    connection: Any, files: Sequence[str]
) -> Iterator[tuple[list[str], tuple[str, ...], Any]]:
    """Yield files that follow each other and have one layout, its names, and their cells."""
    layouts = {file: CsvLayout.of(file) for file in files}
    for layout, alike in groupby(files, layouts.__getitem__):
        group = list(alike)
        yield group, layout.names, scan_csv(connection, group, layout)


def _wanted_csv(connection: Any, files: Sequence[str], columns: Sequence[str]) -> Any:
    parts = []
    for group, names, rows in _alike_csv(connection, files):
        check_names(names, columns, group[0])
        cells = (f"c{names.index(column)} AS {quoted(column)}" for column in columns)
        parts.append(rows.project(", ".join(cells)))
    return reduce(lambda first, second: first.union(second), parts)


def _wanted_json(connection: Any, files: Sequence[str], columns: Sequence[str]) -> Any:
    for file in files:
        check_names(_json_names(connection, file), columns, file)
    cells = (f"{_json_cell(column)} AS {quoted(column)}" for column in columns)
    return scan_json(connection, files).project(", ".join(cells))


def _json_names(connection: Any, file: str) -> list[str]:
    """Return the names that occur in the lines of a file, once each."""
    lines = scan_json(connection, [file])
    # Lines without gaps say in which order columns come.
    found = sorted(
        lines.project("json_keys(json) AS names, json_type(json) AS kind").distinct().fetchall(),
        key=lambda line: (-len(line[0]), line[0]),
    )
    for names, kind in found:
        if kind != "OBJECT":
            raise InvalidInputError(
                f"Cannot read {brief(file, 200)}: a line holds JSON of type {kind.lower()}. Write "
                f"one object per line."
            )
        for name in names:
            if names.count(name) > 1:
                raise several_columns_error(name, file)
    return list(dict.fromkeys(name for names, _ in found for name in names))


def _json_cell(name: str) -> str:
    return f"json_extract_string(json, {_pointer(name)})"


def _pointer(name: str) -> str:
    return _literal("/" + name.replace("~", "~0").replace("/", "~1"))


def _as_numbers(
    relation: Any,
    columns: Sequence[str],
    numeric: Sequence[str],
    name: str,
    label: str | None,
    caller: str,
) -> Any:
    """Turn the text among columns into numbers, naming a cell that is none.

    A column that holds only true and false, as pandas writes booleans, becomes 1 and 0.
    """
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    texts = [
        column
        for column in columns
        if column in numeric and kinds[column].startswith(("VARCHAR", "ENUM"))
    ]
    if not texts:
        return relation
    # One pass over the files answers all questions.
    asked = {
        column: _asked_of_labels(column) if column == label else _asked_of_numbers(column)
        for column in texts
    }
    questions = [question for each in asked.values() for question in each]
    answers = iter(relation.aggregate(", ".join(questions)).fetchall()[0])
    parts = [quoted(column) for column in columns if column not in texts]
    for column, each in asked.items():
        found = tuple(islice(answers, len(each)))
        if column == label:
            n_rows, n_bad, bad = found
            if n_bad:
                # A number in a CSV file is text here, but not to who wrote it.
                is_number = bad is not None and re.match(NUMBER, bad)
                raise unknown_labels_error(caller, bad if is_number else repr(bad), n_bad, n_rows)
            number = _label_number(column)
        else:
            number = _number(column, name, *found)
        parts.append(f"{number} AS {quoted(column)}")
    return relation.project(", ".join(parts))


def _with_usual_labels(
    relation: Any,
    label: str,
    caller: str,
    positive: Sequence[str] | None,
    negative: Sequence[str] | None,
) -> Any:
    """Write labels of another coding as 1, 0 and -1; leave the usual ones, and what is no label."""
    cell = quoted(label)
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    is_text = kinds[label].startswith(("VARCHAR", "ENUM"))
    told = positive is not None or negative is not None
    if not (is_text or told):
        if not kinds[label].startswith(NUMBER_TYPES):
            return relation
        usual = f"coalesce({cell} IN (1, 0, -1), false)"
        if not relation.aggregate(f"count(*) FILTER (NOT {usual})").fetchall()[0][0]:
            return relation
    text = f"trim({cell}::VARCHAR)"
    # One pass over the files; a wrong column may hold millions of different values.
    counted = relation.aggregate(f"{text}, count(*)", text).limit(MOST_VALUES + 1).fetchall()
    if not counted or len(counted) > MOST_VALUES:
        return relation
    counts = {word: n for word, n in counted if word is not None}
    n_blank = sum(n for word, n in counted if word is None)
    meaning, blank = usual_meaning(counts), 0
    # The usual labels may be those of one part of a table, such as the unlabeled rows.
    if told or n_blank or meaning is None:
        coding = coding_of(counts, n_blank, caller, positive, negative)
        meaning, blank = dict(coding.meaning), coding.blank
    cases = " ".join(
        f"WHEN {text} = {_literal(word)} THEN {number}" for word, number in meaning.items()
    )
    others = ", ".join(quoted(name) for name in relation.columns if name != label)
    coded = f"CASE {cases} ELSE {blank} END AS {cell}"
    return relation.project(f"{others}, {coded}" if others else coded)


def _asked_of_numbers(column: str) -> list[str]:
    """Count cells and booleans of a column of text; find a cell that is no number, or too large."""
    cell, number = quoted(column), f"TRY_CAST({quoted(column)} AS DOUBLE)"
    return [
        f"count({cell})",
        f"count(*) FILTER (lower(trim({cell})) IN ('true', 'false'))",
        f"min({cell}) FILTER ({cell} IS NOT NULL AND {number} IS NULL)",
        f"min({cell}) FILTER (isfinite({number}) AND abs({number}) >= {SHARED_FLOATS} AND "
        f"regexp_full_match(trim({cell}), '[+-]?[0-9_]+'))",
    ]


def _number(
    column: str, name: str, filled: int, boolean: int, bad: str | None, large: str | None
) -> str:
    """Write in SQL the number that a cell stands for."""
    if filled and boolean == filled:
        return f"(lower(trim({quoted(column)})) = 'true')::DOUBLE"
    needs = f"Column {brief(column)!r} of {brief(name, 200)} needs"
    if bad is not None:
        raise InvalidInputError(
            f"{needs} numbers. Got {brief(bad)!r}. Fix the cell or choose another column."
        )
    if large is not None:
        raise shared_floats_error(needs, large)
    return f"TRY_CAST({quoted(column)} AS DOUBLE)"


def _asked_of_labels(column: str) -> list[str]:
    """Count rows, and those without a label; find one of these."""
    cell, lacking = quoted(column), f"FILTER ({_label_number(column)} IS NULL)"
    return ["count(*)", f"count(*) {lacking}", f"min({cell}) {lacking}"]


def _label_number(column: str) -> str:
    """Write in SQL the label that a cell stands for, NULL if none."""
    cases = (
        f"WHEN regexp_matches({quoted(column)}::VARCHAR, {_literal(pattern)}) THEN {number}"
        for number, pattern in TEXT_LABELS.items()
    )
    return f"CASE {' '.join(cases)} END"


def _refuse_twins(names: Sequence[str], source: str) -> None:
    if len(names) > 1:
        raise InvalidInputError(
            f"Cannot tell the columns {brief(names[0])!r} and {brief(names[1])!r} of "
            f"{brief(source, 200)} apart: they differ in case alone. Rename one."
        )


def quoted(column: str) -> str:
    """Write the name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
