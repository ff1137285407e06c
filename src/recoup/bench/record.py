"""What is kept of a run: the columns of a store, and what may stand in them."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np

from recoup._core.checks import brief
from recoup._core.results import to_plain
from recoup.bench.job import Job, canonical, hashed, reason_code
from recoup.bench.measure import recovered_name
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import benched_specs

MORE_NUMBERS = ("alpha_true", "alpha_used", "alpha_estimate", "seconds", "seconds_per_epoch")
COUNTS = (
    *("epochs", "best_epoch", "peak_memory", "peak_gpu_memory"),
    *("n_labeled", "n_unlabeled", "n_test"),
)
DEFINED = ("dataset", "scheme", "mechanism", "label_frequency", "noise")
STATUSES = ("done", "failed", "skipped")
# SQLite counts in 64 bits, and takes no more than 10^9 bytes at once.
MOST_WHOLE, MOST_BYTES = 2**63, 10**9


def metric_columns() -> tuple[str, ...]:
    """Return the columns of metrics: true ones, then recovered ones."""
    specs = benched_specs()
    taken = {spec.key for spec in specs} & {"run", "learner", "key", "params", *DEFINED, *COUNTS}
    if taken:
        raise InvalidInputError(
            f"A metric cannot have the key {min(taken)!r} in a benchmark: another column has that "
            f"name. Choose another key, or in_bench=False."
        )
    return *(spec.key for spec in specs), *(recovered_name(spec) for spec in specs)


def number_columns() -> tuple[str, ...]:
    """Return the columns that hold numbers with decimals."""
    return *metric_columns(), *MORE_NUMBERS


def measured_columns() -> tuple[str, ...]:
    """Return the columns that a finished run fills."""
    return *number_columns(), *COUNTS


def columns() -> tuple[str, ...]:
    """Return the keys of each row, in order."""
    return (
        *("run", *DEFINED, "learner", "key", "params", "preset", "family", "seed", "protocol"),
        "alpha",
        *("status", "reason", "code", *measured_columns(), "device", "finished"),
    )


def compared_columns() -> tuple[str, ...]:
    """Return what two runs of the same definition must agree in to be the same run."""
    return *metric_columns(), "alpha_true", "alpha_used"


def kept_columns() -> tuple[str, ...]:
    """Return the columns of the file that rows are made of, in order."""
    before = ("run", "definition", "status", "reason", "code", "family")
    return *before, *measured_columns(), "device", "finished"


def declared_columns() -> str:
    """Return all columns of the file as SQL declares them."""
    real = ", ".join(f'"{name}" REAL' for name in (*number_columns(), "elapsed"))
    whole = ", ".join(f"{name} INTEGER" for name in COUNTS)
    text = "definition TEXT NOT NULL, status TEXT NOT NULL, reason TEXT, code TEXT, family TEXT"
    more = "device TEXT, finished TEXT NOT NULL, details BLOB"
    return f"run TEXT PRIMARY KEY, {text}, {real}, {whole}, {more}"


class Runnable(Protocol):
    """One run to be done, and kept: a :class:`Job`, or anything else with these names."""

    @property
    def run(self) -> str:
        """What it is known by: see :func:`recoup.bench.job.hashed`."""

    @property
    def definition(self) -> Mapping[str, Any]:
        """All that decides what comes out, as plain values; ``format`` tells kinds apart."""

    @property
    def known(self) -> Mapping[str, Any]:
        """Columns of the store that are known before it is done."""

    def skip_reason(self) -> str | None:
        """Say why it cannot be done, if it cannot."""


def record_of(job: Runnable, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a store writes down of a run, or refuse what no store can hold.

    Parameters
    ----------
    job : Runnable
        What was run.
    found : mapping
        What came out, with ``"status"``, ``"row"`` and ``"details"``.

    Returns
    -------
    dict
        By name of the column.
    """
    measured, reason = found["row"], found.get("reason")
    numbers = {name: _number(name, measured.get(name)) for name in number_columns()}
    counts = {name: _count(name, measured.get(name)) for name in COUNTS}
    details = zlib.compress(json.dumps(to_plain(found.get("details") or {})).encode())
    if len(details) >= MOST_BYTES:
        raise _unstorable("details", f"{len(details):,} bytes", "less than a gigabyte")
    return {
        "run": job.run,
        "definition": canonical(job.definition),
        "status": found["status"],
        "reason": _words("reason", reason),
        "code": getattr(reason, "code", None),
        "elapsed": _number("elapsed", found.get("elapsed")),
        "details": details,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "family": _words("family", measured.get("family")),
        "device": _words("device", measured.get("device")),
        **numbers,
        **counts,
    }


def storable_text(text: str) -> str:
    """Return words as UTF-8 can hold them; names of files may have bytes that are none."""
    return text.encode("utf-8", "backslashreplace").decode()


def is_whole(run: Any, definition: Any) -> bool:
    """Say whether the definition of a run is the one that it is known by."""
    if not isinstance(definition, str):
        return False
    if hashlib.sha256(definition.encode("utf-8", "replace")).hexdigest()[:16] == run:
        return True
    try:
        read = json.loads(definition)
        if not isinstance(read, dict) or not isinstance(read.get("file") or {}, dict):
            return False
        return bool(hashed(read) == run)
    except (ValueError, RecursionError):
        return False


def storable(job: Runnable, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what came of a run, as failed if no store could hold it.

    Parameters
    ----------
    job : Runnable
        What was run.
    found : mapping
        As for :func:`record_of`.

    Returns
    -------
    dict
        The same, or with the status ``"failed"`` and the reason.
    """
    try:
        record_of(job, found)
    # Learners of others leave any kind of value behind, and one of them must not end a benchmark.
    except Exception as error:
        why = str(error) if isinstance(error, InvalidInputError) else f"{type(error).__name__}"
        reason = f"The run ended, but what it left cannot be kept. {why}"
        kept = {"status": "failed", "reason": storable_text(reason), "row": {}, "details": {}}
        return kept | {"elapsed": None}
    return dict(found)


def row_of(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that everybody reads, in their order.

    Parameters
    ----------
    kept : mapping
        By :func:`kept_columns`; the definition is read already.

    Returns
    -------
    dict
        By :func:`columns`.

    Raises
    ------
    Exception
        Of any kind, where the row is damaged.
    """
    job = Job.of(kept["definition"])
    if hashed(kept["definition"]) != kept["run"] or kept["status"] not in STATUSES:
        raise ValueError("another run than it says")
    job.label_frequency + job.noise + job.seed
    for name in number_columns():
        _number(name, kept[name])
    for name in COUNTS:
        _count(name, kept[name])
    names = (*DEFINED, "learner", "key", "preset", "seed", "protocol", "alpha")
    named = {name: getattr(job, name) for name in names}
    found = {**kept, **named, "params": dict(job.params), "code": reason_code(kept)}
    return {name: found[name] for name in columns()}


def order_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what rows are sorted by."""
    return (*(row[name] for name in DEFINED), row["protocol"], row["learner"], row["seed"])


def describe(row: Mapping[str, Any]) -> str:
    """Name a run in a few words."""
    return (
        f"{row['learner']} on {row['dataset']}, {row['scheme']}, {row['mechanism']}, "
        f"c={row['label_frequency']:g}, seed {row['seed']}, {row['protocol']}"
    )


def _number(name: str, value: Any) -> float | None:
    if isinstance(value, np.generic):
        value = value.item()
    # What is not finite has no meaning in a table of results.
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if not isinstance(value, int | float) or abs(value) >= 1e300:
        raise _unstorable(name, value, "a number")
    return float(value)


def _count(name: str, value: Any) -> int | None:
    number = _number(name, value)
    if number is None:
        return None
    if number != int(number) or abs(number) >= MOST_WHOLE:
        raise _unstorable(name, value, "a whole number of 64 bits")
    return int(value)


def _words(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _unstorable(name, value, "words")
    return storable_text(value)


def _unstorable(name: str, value: Any, needed: str) -> InvalidInputError:
    shown = brief(" ".join(str(value).split()), 60)
    return InvalidInputError(f"A store needs {name} to be {needed}. Got {shown}.")
