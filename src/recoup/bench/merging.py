"""merge: the runs of several stores in a new one."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recoup._core.checks import brief
from recoup.bench.record import STATUSES, compared_columns, describe
from recoup.bench.store import Store
from recoup.exceptions import InvalidInputError


def merge(sources: Sequence[str | Path], out: str | Path) -> Store:
    """Bring the runs of several stores together in a new one.

    Runs that are in more than one and agree are kept once. Of the same definition, a finished run
    goes before a failed one, and that before a skipped one.

    Parameters
    ----------
    sources : sequence of paths
        Stores to read. One alone, if it is damaged, to save the runs that can be read.
    out : path
        The store to make; it must not exist.

    Returns
    -------
    Store
    """
    target = Path(out)
    if target.exists():
        raise InvalidInputError(
            f"merge makes a new store. Got {brief(str(out), 200)}, which exists. Choose another "
            f"name."
        )
    for source in sources:
        if not Path(source).is_file():
            raise InvalidInputError(f"merge needs stores. There is no {brief(str(source), 200)}.")
    chosen: dict[str, tuple[Store, str, Mapping[str, Any] | None]] = {}
    for store in map(Store, sources):
        rows, statuses = {row["run"]: row for row in store.rows()}, store.statuses()
        if not statuses:
            raise InvalidInputError(store.why_empty("bench merge"))
        for run, status in statuses.items():
            before, row = chosen.get(run), rows.get(run)
            if before is None or _prefers(store, status, row, *before):
                chosen[run] = store, status, row
    # Under its own name once it is whole: what is left of a failure would be in the way.
    draft = Store(target.with_name(f".{secrets.token_hex(8)}.sqlite"))
    try:
        with draft.writing():
            for origin in dict.fromkeys(store for store, *_ in chosen.values()):
                draft.copy_from(origin, [run for run, (at, *_) in chosen.items() if at is origin])
        try:
            draft.path.rename(target)
        except OSError as error:
            raise InvalidInputError(f"Cannot write {out}: {error.strerror}.") from error
    except InvalidInputError as error:
        # Users know the file by the name that they gave.
        said = str(error).replace(brief(str(draft.path), 200), brief(str(out), 200))
        raise InvalidInputError(said) from error
    finally:
        for end in ("", "-wal", "-shm", "-journal", ".lock"):
            draft.path.with_name(draft.path.name + end).unlink(missing_ok=True)
    return Store(target)


def _prefers(
    new: Store,
    status: str,
    row: Mapping[str, Any] | None,
    old: Store,
    old_status: str,
    old_row: Mapping[str, Any] | None,
) -> bool:
    """Say whether one run takes the place of another, which must not contradict it."""
    if status != old_status:
        return STATUSES.index(status) < STATUSES.index(old_status)
    if status != "done" or row is None or old_row is None:
        return False
    # A number that only one of them has is one that an earlier recoup did not measure.
    both = [name for name in compared_columns() if None not in (row[name], old_row[name])]
    differing = [name for name in both if not _agree(row[name], old_row[name])]
    if differing:
        name = differing[0]
        raise InvalidInputError(
            f"merge found two different results of run {row['run']} ({describe(row)}): {name} is "
            f"{old_row[name]} in {brief(str(old.path), 100)} and {row[name]} in "
            f"{brief(str(new.path), 100)}. Drop one of the stores, or the run from one of them."
        )
    return False


def _agree(one: Any, other: Any) -> bool:
    """Say whether two values are the same, but for last digits in which machines may differ."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)
