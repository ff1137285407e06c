"""Files of a plan: the rows to check, and beside them what the plan rests on."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief, did_you_mean
from recoup._core.files import FORMULA, no_formula, writing
from recoup.data.readers import DELIMITERS
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    from recoup.audit.plans import AuditPlan

VERSION = 1
YES, NO = ("1", "1.0", "yes", "y", "true", "t"), ("0", "0.0", "no", "n", "false", "f")
MISSING = ("", "na", "nan", "none", "null", "?", "<na>")


def plan_path(path: Path) -> Path:
    """Return where the plan lies that belongs to a file of rows to check."""
    return path.with_name(f"{path.stem}.plan.json")


def table_digest(table: ScoreTable) -> str:
    """Return a digest of the counts of a table, which says whether rows are the same."""
    digest = hashlib.sha256()
    for column in (table.scores, table.labeled, table.unlabeled, table.negative):
        digest.update(np.ascontiguousarray(column, dtype=np.float64).tobytes())
    return digest.hexdigest()


def rows_digest(ids: NDArray[Any], scores: FloatArray) -> str:
    """Return a digest of rows with their scores, in any order.

    Parameters
    ----------
    ids : ndarray of shape (n,)
        Their ids.
    scores : ndarray of shape (n,)
        Their scores.

    Returns
    -------
    str
    """
    rows = zip(ids.tolist(), scores.tolist(), strict=True)
    lines = "\n".join(sorted(f"{_plain(one)}\t{score!r}" for one, score in rows))
    return hashlib.sha256(lines.encode()).hexdigest()


def data_facts(table: ScoreTable) -> dict[str, Any]:
    """Return what says whether rows are the same."""
    return {
        "rows": int(table.n_rows),
        "labeled": int(table.n_labeled),
        "counts": table_digest(table),
    }


def plan_facts(plan: AuditPlan) -> dict[str, Any]:
    """Return what the file beside the rows remembers: all that the next wave needs."""
    basis, before = plan.basis, None if plan.before is None else plan.before.plan
    facts = {
        "version": VERSION,
        "data": data_facts(basis.table),
        "columns": basis.columns,
        "keep": list(basis.keep),
        "beta": basis.beta,
        "metrics": list(basis.metrics),
        "include_labeled": basis.include_labeled,
        "confidence": basis.confidence,
        "n_waves": basis.n_waves,
        "candidates": basis.most,
        "checks": rows_digest(plan.ids, plan.scores_of(plan.rows)[0]),
        "follows": None if before is None else plan_facts(before)["checks"],
    } | plan.to_dict()
    # Which rows these are follows from their ids.
    del facts["rows"]
    return facts


def write_plan(plan: AuditPlan, path: Path, kind: Literal["csv", "parquet"]) -> Path:
    """Write the rows to check, and the plan beside them.

    Parameters
    ----------
    plan : AuditPlan
        The plan.
    path : Path
        Where to.
    kind : {"csv", "parquet"}
        As what.

    Returns
    -------
    Path
    """
    # No scores: who sees the score answers by it.
    content = io.BytesIO()
    if kind == "csv":
        lines = io.StringIO(newline="")
        rows_to_check = csv.writer(lines, lineterminator="\n")
        rows_to_check.writerow(["id", "answer"])
        rows_to_check.writerows([no_formula(one), ""] for one in plan.ids.tolist())
        content.write(lines.getvalue().encode())
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        answers = pa.nulls(plan.n_rows, pa.float64())
        pq.write_table(pa.table({"id": pa.array(plan.ids), "answer": answers}), content)
    remembered = json.loads(json.dumps(plan_facts(plan)))
    facts = json.dumps(remembered | {"digest": _facts_digest(remembered)}, indent=1) + "\n"
    with writing(path, plan_path(path)) as (rows, beside):
        rows.write_bytes(content.getvalue())
        beside.write_bytes(facts.encode())
    return path


def read_written_plan(path: Path) -> dict[str, Any]:
    """Read the plan that lies beside a file of rows to check.

    Parameters
    ----------
    path : Path
        The file of rows.

    Returns
    -------
    dict
        What :func:`plan_facts` wrote.
    """
    beside = plan_path(path)
    if not beside.exists():
        raise InvalidInputError(
            f"{path} has no plan beside it: {beside} is missing. Keep both files that recoup audit "
            f"plan wrote in one folder, under the same name."
        )
    try:
        facts: dict[str, Any] = json.loads(beside.read_text(encoding="utf-8"))
        version, digest = facts["version"], facts.pop("digest")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{beside} is no plan, or was cut off or changed. Plan the audit again, or take the "
            f"file as recoup wrote it."
        ) from error
    if version != VERSION:
        raise InvalidInputError(
            f"{beside} was written by another version of recoup (format {brief(version)}, this one "
            f"reads {VERSION}). Take that version."
        )
    if digest != _facts_digest(facts):
        raise InvalidInputError(
            f"{beside} was changed after it was written. Take the file as recoup wrote it."
        )
    return facts


def _facts_digest(facts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def answers_by_id(
    plan: AuditPlan, source: Any, truth: str, id: str
) -> tuple[NDArray[np.int64], FloatArray]:
    """Read answers from a frame or a file, in whatever order they come back.

    Parameters
    ----------
    plan : AuditPlan
        The plan that they answer.
    source : frame or path
        Where they are.
    truth : str
        Name of the column of answers.
    id : str
        Name of the column of ids.

    Returns
    -------
    rows : ndarray of shape (n_rows,)
        Positions.
    truth : ndarray of shape (n_rows,)
        1, 0, or NaN where the answer is missing.
    """
    caller = "AuditPlan.answers"
    if isinstance(source, str | Path):
        if not Path(source).is_file():
            raise InvalidInputError(
                f"{caller} cannot find {brief(str(source), 200)}: no such file."
            )
        columns = _read(Path(source), (id, truth))
    else:
        columns = _columns_of(source, caller)
    named = (plan.basis.columns or {}).get("id")
    if id not in columns and named in columns:
        id = str(named)
    for name in (id, truth):
        if name not in columns:
            raise InvalidInputError(
                f"{caller} needs a column {name!r}.{did_you_mean(name, columns)} Got "
                f"{brief(', '.join(columns), 200)}. Pass the name of the column with the answers "
                f"as truth, that of the ids as id."
            )
    names = [_plain(one) for one in columns[id]]
    known = {_plain(one): int(row) for one, row in zip(plan.ids, plan.rows, strict=True)}
    strange = [name for name in names if name not in known]
    if strange:
        raise InvalidInputError(
            f"{caller} needs the ids of the plan. Got {brief(strange[0])!r}, which is not among "
            f"them{f', and {len(strange) - 1} more' if len(strange) > 1 else ''}. Take ids as they "
            f"were written."
        )
    (often, times), *_ = Counter(names).most_common(1) or [("", 0)]
    if times > 1:
        raise InvalidInputError(
            f"{caller} needs every row once. Got the id {brief(often)!r} {times} times. Keep one "
            f"answer for it."
        )
    return np.array([known[name] for name in names], np.int64), np.array(
        [read_answer(one, caller) for one in columns[truth]]
    )


def holds_answers(path: Path) -> bool:
    """Say whether somebody wrote answers into a file of rows to check.

    Parameters
    ----------
    path : Path
        The file, which may not exist.

    Returns
    -------
    bool
    """
    if not (path.is_file() and plan_path(path).is_file()):
        return False
    try:
        answers = _read(path, ("id", "answer")).get("answer", [])
    except InvalidInputError:
        return True
    return any(str(one).strip().lower() not in MISSING for one in answers if one is not None)


def read_answer(value: Any, caller: str) -> float:
    """Read one answer as people write it.

    Parameters
    ----------
    value : object
        Such as 1, "yes", "" or None.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    float
        1, 0, or NaN where it is missing.

    Examples
    --------
    >>> [read_answer(one, "audit") for one in ("Yes", 0, "")]
    [1.0, 0.0, nan]
    """
    if value is None or value != value or type(value).__name__ == "NAType":
        return np.nan
    text = str(value).strip().lower()
    if text in MISSING:
        return np.nan
    if text in YES or text in NO:
        return float(text in YES)
    raise InvalidInputError(
        f"{caller} needs answers to be 1 or 0, yes or no, or empty where nobody could tell. Got "
        f"{brief(str(value))!r}."
    )


def _read(path: Path, wanted: tuple[str, ...]) -> dict[str, list[Any]]:
    """Read the columns of a file as spreadsheets write it."""
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                return dict(file.read().to_pydict())
        return _cells(_decoded(path.read_bytes()), wanted)
    except (OSError, ValueError, csv.Error) as error:
        raise InvalidInputError(
            f"Cannot read {brief(str(path), 200)}: {brief(' '.join(str(error).split()), 200)}"
        ) from error


def _decoded(content: bytes) -> str:
    """Read text: spreadsheets write marks of the byte order, and older ones no UTF-8."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _cells(text: str, wanted: tuple[str, ...]) -> dict[str, list[Any]]:
    """Split text into columns, at whatever splits the first line into most of the wanted names."""
    first, _, rest = text.partition("\n")
    # Some spreadsheets say in a line of its own what separates cells.
    text = rest if first.strip().strip('"').lower().startswith("sep=") else text

    def rows(delimiter: str) -> list[list[str]]:
        found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [row for row in found if any(cell.strip() for cell in row)]

    def fitness(delimiter: str) -> tuple[int, int]:
        header = [name.strip() for name in (rows(delimiter)[:1] or [[]])[0]]
        return len({*wanted} & {*header}), len(header)

    header, *cells = rows(max(DELIMITERS, key=fitness)) or [[]]
    # Spreadsheets leave out empty cells at the end of a row.
    return {
        name.strip(): [row[place] if place < len(row) else "" for row in cells]
        for place, name in enumerate(header)
    }


def _columns_of(frame: Any, caller: str) -> dict[str, list[Any]]:
    import narwhals as nw

    try:
        rows: Any = nw.from_native(frame)
    except TypeError as error:
        raise InvalidInputError(
            f"{caller} needs positions and answers, or a file or a data frame with both. Got "
            f"{brief(type(frame).__name__)} alone."
        ) from error
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    return {name: rows.get_column(name).to_list() for name in rows.columns}


def _plain(value: Any) -> str:
    """Write an id as it is in the file of rows to check, whatever a spreadsheet made of it."""
    text = str(value).strip()
    if text.startswith("'") and text[1:].startswith(FORMULA):
        text = text[1:]
    return text[:-2] if text.endswith(".0") else text
