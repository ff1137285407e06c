"""The store: one SQLite file that keeps every run, written by one process at a time."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, Self

from recoup._core.checks import brief
from recoup.bench.job import FORMAT, Job
from recoup.bench.record import (
    STATUSES,
    Runnable,
    declared_columns,
    is_whole,
    kept_columns,
    metric_columns,
    order_of,
    record_of,
    row_of,
)
from recoup.bench.result_array import OLD_NAMES
from recoup.exceptions import InvalidInputError, RecoupWarning

Status = Literal["done", "failed", "skipped"]

# "reco" in ASCII: what SQLite keeps in the file's head to tell whose it is.
APPLICATION = 0x7265636F
# Before layout 2, columns of some metrics had names of their own.
LAYOUT = 2
BUSY_SECONDS = 30.0
# At the end there is less to wait for: what is not yet in the file itself is kept beside it.
LAST_SECONDS = 2.0
# What is written goes into the file itself about so often.
SECONDS_BETWEEN_CHECKPOINTS = 1.0
# What SQLite raises; its messages quote the file, and need not be UTF-8 where it is damaged.
DAMAGE = (sqlite3.Error, UnicodeDecodeError)
# How many lines to look for in a damaged file, and how many bytes a line has at least.
LEAST_LINES, SMALLEST_LINE = 10_000, 100
AT_ONCE = 500  # runs, with all that is kept of them
UNREADABLE = "damaged"
OTHER_VERSION = "of another version of recoup"
NO_TRIALS = "of something else than learners"


class Store:
    """Runs that are finished, and what they came to.

    Parameters
    ----------
    path : str or path
        The file. It is made when the first run is written.

    Examples
    --------
    >>> import tempfile
    >>> from recoup.bench.job import Job
    >>> job = Job("iris", "single-sample", "scar", 0.5, 0.0, "naive", {}, 2, "honest")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/runs.sqlite")
    ...     with store.writing():
    ...         store.write(job, {"status": "done", "row": {"accuracy": 0.9}, "details": {}})
    ...     store, store.rows()[0]["accuracy"]
    (Store(runs.sqlite: 1 done), 0.9)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._connection: sqlite3.Connection | None = None
        self._unreadable = 0
        self._place: tuple[int, int] | None = None
        self._lock_id = -1
        self._checked = -math.inf

    def __repr__(self) -> str:
        """Show how many runs there are of each kind."""
        counts = self.counts()
        shown = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n) or "empty"
        return f"Store({self.path.name}: {shown})"

    # Reading

    def statuses(self) -> dict[str, Status]:
        """Return the status of every run that is kept whole.

        Returns
        -------
        dict of str to str
            By id of the run: ``"done"``, ``"failed"`` or ``"skipped"``.
        """
        found = self._runs(("run", "definition", "status"))
        return {
            run: status
            for run, definition, status in found
            if status in STATUSES and is_whole(run, definition)
        }

    def counts(self) -> dict[Status, int]:
        """Return how many runs there are of each status.

        Returns
        -------
        dict of str to int
        """
        found = Counter(self.statuses().values())
        return {"done": found["done"], "failed": found["failed"], "skipped": found["skipped"]}

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat dict per run, sorted by what defines it.

        Runs of an earlier format, which the same definition would not give today, are left out,
        and so are damaged ones, and runs that are no trials of learners: see :meth:`left_out`.

        Returns
        -------
        list of dict
        """
        return self._sorted_out()[0]

    def left_out(self) -> dict[str, int]:
        """Return how many runs :meth:`rows` leaves out.

        Returns
        -------
        dict of str to int
            By the reason: ``"damaged"``, ``"of another version of recoup"`` or ``"of something
            else than learners"``.
        """
        return self._sorted_out()[1]

    def damaged(self) -> list[str]:
        """Return the ids of runs whose lines in the file can be read, but make no sense.

        Returns
        -------
        list of str
        """
        whole, rows = self.statuses(), {row["run"] for row in self.rows()}
        return [
            run
            for run, text in self._runs(("run", "definition"))
            if run not in whole or (run not in rows and _kind(text) is None)
        ]

    def _sorted_out(self) -> tuple[list[dict[str, Any]], dict[str, int]]:
        names, found, left = kept_columns(), [], Counter[str]()
        for values in self._runs(names):
            kept = dict(zip(names, values, strict=True))
            try:
                reason = _kind(kept["definition"])
                if reason is None:
                    found.append(row_of(kept | {"definition": json.loads(kept["definition"])}))
            # A damaged line can raise anything, and must not hide the others.
            except Exception:
                reason = UNREADABLE
            if reason is not None:
                left[reason] += 1
        left[UNREADABLE] += self._unreadable
        return sorted(found, key=order_of), {reason: n for reason, n in left.items() if n}

    def reasons(self, status: Status) -> dict[str, str]:
        """Return why runs of a status were not finished.

        Parameters
        ----------
        status : {"failed", "skipped"}
            Which runs.

        Returns
        -------
        dict of str to str
            By id of the run.
        """
        return dict(self._runs(("run", "reason"), "status = ?", (status,)))

    def elapsed(self) -> dict[str, float]:
        """Return the seconds that each finished run took.

        Returns
        -------
        dict of str to float
            By id of the run.
        """
        return dict(self._runs(("run", "elapsed"), "status = 'done'"))

    def details(self, run: str) -> dict[str, Any]:
        """Return what else is kept of a run: versions, hardware, seeds, curves, distributions.

        Parameters
        ----------
        run : str
            Id of the run.

        Returns
        -------
        dict
        """
        found = next(iter(self._runs(("definition", "details"), "run = ?", (run,))), None)
        if found is None:
            raise InvalidInputError(
                f"Store.details needs a run of {self.path.name}. Got {brief(run)!r}."
            )
        try:
            definition = json.loads(found[0])
            more = json.loads(zlib.decompress(found[1])) if found[1] else {}
            blank: dict[str, Any] = {"versions": {}, "hardware": {}, "seeds": {}, "curves": []}
            return {"definition": definition} | blank | {"distributions": {}} | more
        # Whatever is raised over bytes that are no longer what was written.
        except Exception as error:
            raise InvalidInputError(
                f"{self._shown} is damaged: the details of run {run} cannot be read. Drop the run "
                f"and do it again."
            ) from error

    def seconds(self) -> list[tuple[Job, float]]:
        """Return how long each finished run took, from its start to its end.

        Returns
        -------
        list of (Job, float)
        """
        found = []
        known = "status = 'done' AND elapsed IS NOT NULL"
        for run, text, seconds in self._runs(("run", "definition", "elapsed"), known):
            if is_whole(run, text) and isinstance(seconds, float) and "learner" in json.loads(text):
                with suppress(TypeError):
                    found.append((Job.of(json.loads(text)), seconds))
        return found

    def why_empty(self, command: str) -> str:
        """Say why a command finds no run, and what else there is.

        Parameters
        ----------
        command : str
            What the sentence begins with.

        Returns
        -------
        str
            The sentence, with what is left out and where runs may still be.
        """
        other = [f"{n:,} runs are {reason}" for reason, n in self.left_out().items()]
        held = f": {', '.join(other)}" if other else ""
        lost = ""
        with suppress(OSError), self.path.open("rb") as stream:
            # In its head, a file says that part of it may lie in another one beside it.
            if stream.read(20)[18:] == b"\2\2" and self.unsettled() is None:
                lost = (
                    " If it is a copy of a store that was being written, copy the file whose name "
                    "ends in -wal too, or wait for the end of recoup bench run."
                )
        return f"{command} needs runs. {self._shown} holds none that it can use{held}.{lost}"

    def unsettled(self) -> str | None:
        """Say in a sentence where runs are that are not in the file itself, if any are.

        Returns
        -------
        str or None
            None where the file alone holds everything, so that it can be copied.
        """
        beside = self._real.with_name(f"{self._real.name}-wal")
        with suppress(OSError):
            if beside.stat().st_size:
                return (
                    f"Some runs are in {brief(beside.name, 200)} beside the store, which another "
                    f"program keeps open: copy both files, or close that program and give a "
                    f"command that writes to the store."
                )
        return None

    # Writing

    @contextmanager
    def writing(self) -> Iterator[Self]:
        """Keep the store to oneself while runs are written; a second writer is refused.

        Yields
        ------
        Store
            This store, open for writing.
        """
        lock = self._lock()
        try:
            self._lock_id = lock
            try:
                self._connection = self._connect("rwc")
                self._prepare(self._connection)
                self._place = _identity(self._real)
            except sqlite3.Error as error:
                raise self._cannot("write", error) from error
            yield self
        finally:
            if self._connection is not None:
                _settle(self._connection)
                self._connection.close()
            self._connection = None
            os.close(lock)
            if (unsettled := self.unsettled()) is not None:
                warnings.warn(unsettled, RecoupWarning, stacklevel=3)

    def write(self, job: Runnable, found: Mapping[str, Any]) -> None:
        """Write a run down, for good once this returns.

        Parameters
        ----------
        job : Runnable
            What was run.
        found : mapping
            What came out, with ``"status"``, ``"row"`` and ``"details"``.
        """
        self.write_all([(job, found)])

    def write_all(self, ended: Iterable[tuple[Runnable, Mapping[str, Any]]]) -> None:
        """Write several runs down at once, all or none.

        Parameters
        ----------
        ended : iterable of (Runnable, mapping)
            What was run and what came out, as for :meth:`write`.
        """
        self._insert([record_of(job, found) for job, found in ended])

    def copy_from(self, other: Store, runs: Sequence[str]) -> None:
        """Take runs over from another store as they are.

        Parameters
        ----------
        other : Store
            Where they are now.
        runs : sequence of str
            Ids of the runs.
        """
        names = (*kept_columns(), "elapsed", "details")
        pieces = (runs[first : first + AT_ONCE] for first in range(0, len(runs), AT_ONCE))
        found = (
            values
            for piece in pieces
            for values in other._runs(names, f"run IN ({', '.join('?' * len(piece))})", piece)
        )
        self._insert(dict(zip(names, values, strict=True)) for values in found)

    def drop(self, runs: Collection[str]) -> int:
        """Forget runs; within :meth:`writing`.

        Parameters
        ----------
        runs : collection of str
            Ids of the runs.

        Returns
        -------
        int
            How many there were.
        """
        sql, ids = "DELETE FROM runs WHERE run = ?", [(run,) for run in runs]
        return self._change(lambda connection: connection.executemany(sql, ids))

    def _insert(self, records: Iterable[Mapping[str, Any]]) -> None:
        def insert(connection: sqlite3.Connection) -> None:
            for record in records:
                names = ", ".join(f'"{name}"' for name in record)
                marks = ", ".join("?" * len(record))
                sql = f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})"
                connection.execute(sql, tuple(record.values()))

        self._change(insert)

    def _change(self, change: Callable[[sqlite3.Connection], Any]) -> int:
        """Change lines, all or none, and count them."""
        connection = self._connection
        if connection is None:
            raise InvalidInputError("Store.write needs to be within `with store.writing():`.")
        self._check_place()
        before = connection.total_changes
        try:
            with connection:
                change(connection)
            if time.monotonic() - self._checked > SECONDS_BETWEEN_CHECKPOINTS:
                # A copy of the file alone then lacks little, whenever it is made.
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
                self._checked = time.monotonic()
            return connection.total_changes - before
        except sqlite3.Error as error:
            raise self._cannot("write", error) from error

    def _check_place(self) -> None:
        """Refuse to go on writing to a file that nobody will find, or that others write to."""
        if _identity(self._real) != self._place:
            raise InvalidInputError(
                f"Cannot write {self._shown}: it was removed or replaced meanwhile. Put it back, "
                f"or run the same command again for a new one."
            )
        _check_one_name(self._real, self._shown)
        if _identity(self._lock_path) != _identity(self._lock_id):
            # Somebody removed the lock, so that another process could have taken a new one.
            new = self._lock()
            os.dup2(new, self._lock_id)
            os.close(new)

    def _selected(self, names: Sequence[str]) -> str:
        """Write columns of the file in SQL, by their old names or as missing where they are so."""
        present = {row[1] for row in self._read("PRAGMA table_info(runs)")}
        before = {new: old for old, new in OLD_NAMES.items() if old in present}
        found = (name if name in present else before.get(name) for name in names)
        return ", ".join("NULL" if name is None else f'"{name}"' for name in found)

    # Files

    def _runs(
        self, names: Sequence[str], where: str = "TRUE", values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Read columns of runs; of a damaged file those lines that can still be read."""
        self._unreadable = 0
        sql = f"SELECT {self._selected(names)} FROM runs WHERE {where}"
        try:
            return self._read(sql, values)
        except _DamagedStoreError:
            return self._rescued(sql, values)

    def _rescued(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Read a damaged file line by line, and count the lines that cannot be read."""
        last = self._read("SELECT MAX(rowid) FROM runs")[0][0] or 0
        # A damaged number of a line may be any, but there are not more lines than fit in.
        last = min(last, LEAST_LINES + self.path.stat().st_size // SMALLEST_LINE)
        found = []
        with closing(self._connect("ro")) as connection:
            for place in range(1, last + 1):
                try:
                    found += connection.execute(f"{sql} AND rowid = ?", (*values, place)).fetchall()
                except DAMAGE:
                    self._unreadable += 1
        return found

    def _read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if not self.path.exists():
            return []
        try:
            if self._connection is not None:
                return self._connection.execute(sql, values).fetchall()
            with closing(self._connect("ro")) as connection:
                # A file without tables is one that was only just made.
                empty = not _check_owner(connection, self._shown)
                return [] if empty else connection.execute(sql, values).fetchall()
        except DAMAGE as error:
            raise self._cannot("read", error) from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        address = f"{self._real.as_uri()}?mode={mode}"
        made = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        # Damaged words must not hide the others.
        made.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return made

    def _prepare(self, connection: sqlite3.Connection) -> None:
        _check_owner(connection, self._shown)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        with connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({declared_columns()})")
            present = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
            for old, new in OLD_NAMES.items():
                if old in present and new not in present:
                    connection.execute(f"ALTER TABLE runs RENAME COLUMN {old} TO {new}")
                    present.add(new)
            if "code" not in present:
                connection.execute("ALTER TABLE runs ADD COLUMN code TEXT")
            for name in metric_columns():
                if name not in present:
                    connection.execute(f'ALTER TABLE runs ADD COLUMN "{name}" REAL')
        # From here on the file itself says whose it is, also where it is copied without the log.
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _lock(self) -> int:
        """Take the lock, which dies with the process that holds it."""
        if self.path.is_dir():
            raise InvalidInputError(
                f"Cannot write {self._shown}: it is a folder. Name a file in it, such as "
                f"runs.sqlite."
            )
        path = self._lock_path
        if not self.path.parent.is_dir():
            raise InvalidInputError(
                f"Cannot write {self._shown}: there is no folder "
                f"{brief(str(self.path.parent), 200)}. Create it first."
            )
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise InvalidInputError(f"Cannot write {self._shown}: it is read-only.")
        _check_one_name(self._real, self._shown)
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InvalidInputError(
                f"Cannot write {self._shown}: its folder takes no new file ({error.strerror}). "
                f"Choose another folder."
            ) from error
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no such lock on this system; SQLite still keeps the file whole
            return lock
        except OSError as error:
            holder = os.read(lock, 64).decode(errors="replace").strip()
            os.close(lock)
            raise InvalidInputError(
                f"Another process writes to {self._shown}{f' ({holder})' if holder else ''}. Wait "
                f"for it, or choose another store."
            ) from error
        os.ftruncate(lock, 0)
        os.write(lock, f"process {os.getpid()}".encode())
        return lock

    @property
    def _real(self) -> Path:
        # Whoever comes by a link meets the same file and the same lock.
        return self.path.resolve()

    @property
    def _lock_path(self) -> Path:
        return self._real.with_name(f"{self._real.name}.lock")

    @property
    def _shown(self) -> str:
        return brief(str(self.path), 200)

    def _cannot(self, verb: str, error: Exception) -> InvalidInputError:
        reason = " ".join(str(error).split()) if isinstance(error, sqlite3.Error) else "corrupt"
        if "full" in reason:
            remedy = "What was finished is kept: make room and run the same command again"
            return InvalidInputError(f"Cannot write {self._shown}: the disk is full. {remedy}.")
        if "readonly" in reason or "read-only" in reason:
            return InvalidInputError(f"Cannot write {self._shown}: it is read-only.")
        if "not a database" in reason or "malformed" in reason or "corrupt" in reason:
            return _DamagedStoreError(
                f"{self._shown} is no store of recoup, or damaged: {reason}. recoup bench merge "
                f"saves the runs of a damaged store that can be read."
            )
        return InvalidInputError(f"Cannot {verb} {self._shown}: {reason}.")


class _DamagedStoreError(InvalidInputError):
    """A file that SQLite cannot read, or not all of it."""


def _kind(definition: str) -> str | None:
    """Say what other than a trial of today a run is, by its definition."""
    found = json.loads(definition)
    if "learner" not in found:
        return NO_TRIALS
    return None if found["format"] == FORMAT else OTHER_VERSION


def _identity(file: Path | int) -> tuple[int, int] | None:
    """Return what tells a file from all others, if it is there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_one_name(path: Path, shown: str) -> None:
    """Refuse a file with several names: SQLite would keep a log for each, and lose runs."""
    with suppress(OSError):
        names = path.stat().st_nlink
        if names > 1:
            raise InvalidInputError(
                f"Cannot write {shown}: the same file has {names} names (hard links), and what is "
                f"written under one would be lost under the others. Copy it, or remove the others."
            )


def _settle(connection: sqlite3.Connection) -> None:
    """Leave one plain file, which can be copied, and read where nothing can be written."""
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout = {LAST_SECONDS * 1000:.0f}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with suppress(sqlite3.Error):
        # Refused while somebody else has the file open.
        connection.execute("PRAGMA journal_mode = DELETE")


def _check_owner(connection: sqlite3.Connection, shown: str) -> int:
    """Refuse a database that is somebody else's, or of a later recoup; else count its tables."""
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    layout = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION and (tables or owner or layout):
        raise InvalidInputError(
            f"{shown} is an SQLite file, but no store of recoup. Choose another name."
        )
    if layout > LAYOUT:
        raise InvalidInputError(
            f"{shown} was written by a later recoup (layout {layout}, this one knows {LAYOUT}). "
            f"Update recoup."
        )
    return int(tables)
