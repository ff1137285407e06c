"""Files of a plan: the rows to check, and beside them what the plan rests on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief
from recoup._core.files import writing
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    from recoup.audit.plans import AuditPlan

VERSION = 1
YES, NO = ("1", "1.0", "yes", "y", "true", "t"), ("0", "0.0", "no", "n", "false", "f")
MISSING = ("", "na", "nan", "none", "null", "?")


def plan_path(path: Path) -> Path:
    """Return where the plan lies that belongs to a file of rows to check."""
    return path.with_name(f"{path.stem}.plan.json")


def table_digest(table: ScoreTable) -> str:
    """Return a digest of the counts of a table, which says whether rows are the same."""
    digest = hashlib.sha256()
    for column in (table.scores, table.labeled, table.unlabeled, table.negative):
        digest.update(np.ascontiguousarray(column, dtype=np.float64).tobytes())
    return digest.hexdigest()


def ids_digest(ids: NDArray[Any]) -> str:
    """Return a digest of ids, in any order."""
    lines = "\n".join(sorted(str(one) for one in np.asarray(ids).tolist()))
    return hashlib.sha256(lines.encode()).hexdigest()


def plan_facts(plan: AuditPlan) -> dict[str, Any]:
    """Return what the file beside the rows remembers."""
    basis = plan.basis
    return {
        "version": VERSION,
        "data": {
            "rows": basis.n_rows,
            "labeled": float(basis.table.n_labeled),
            "counts": table_digest(basis.table),
        },
        "checks": ids_digest(plan.ids),
    } | plan.to_dict()


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
    frame = plan.to_frame()
    if kind == "csv":
        content = frame.to_csv(index=False).encode()
    else:
        content = frame.astype({"answer": "Float64"}).to_parquet(index=False)
    remembered = json.loads(json.dumps(plan_facts(plan)))
    facts = json.dumps(remembered | {"digest": _facts_digest(remembered)}, indent=1) + "\n"
    with writing(path, plan_path(path)) as (rows, beside):
        rows.write_bytes(content)
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
            f"plan wrote in one folder."
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
    frame = _read(source) if isinstance(source, str | Path) else source
    for name in (id, truth):
        if name not in list(frame.columns):
            raise InvalidInputError(
                f"{caller} needs a column {name!r}. Got {brief(', '.join(map(str, frame.columns)))}"
                f". Pass the name of the column with the answers as truth, that of the ids as id."
            )
    names = [_plain(one) for one in list(frame[id])]
    known = {_plain(one): int(row) for one, row in zip(plan.ids, plan.rows, strict=True)}
    strange = [name for name in names if name not in known]
    if strange:
        raise InvalidInputError(
            f"{caller} needs the ids of the plan. Got {brief(strange[0])!r}, which is not among "
            f"them{f', and {len(strange) - 1} more' if len(strange) > 1 else ''}. Take ids as they "
            f"were written."
        )
    return np.array([known[name] for name in names], np.int64), np.array(
        [read_answer(one, caller) for one in list(frame[truth])]
    )


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


def _read(path: str | Path) -> Any:
    from recoup._core.optional import require

    pandas = require("pandas", purpose="reading answers", install="pandas")
    if str(path).endswith(".parquet"):
        return pandas.read_parquet(path)
    # Spreadsheets write marks of the byte order, and semicolons where commas are decimal.
    return pandas.read_csv(
        path, sep=None, engine="python", encoding="utf-8-sig", dtype=str, keep_default_na=False
    )


def _plain(value: Any) -> str:
    text = str(value).strip()
    return text[:-2] if text.endswith(".0") else text
