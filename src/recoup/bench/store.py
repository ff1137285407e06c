"""The store: one SQLite file that keeps every run, written by one process at a time."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from recoup._core.checks import brief
from recoup._core.files import no_formula, write_file
from recoup.bench.job import FORMAT, Job, canonical, reason_code
from recoup.bench.measure import recovered_name
from recoup.bench.result_array import OLD_NAMES
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import benched_specs

Status = Literal["done", "failed", "skipped"]

# "reco" in ASCII: what SQLite keeps in the file's head to tell whose it is.
APPLICATION = 0x7265636F
# Before layout 2, columns of some metrics had names of their own.
LAYOUT = 2
MORE_NUMBERS = ("alpha_true", "alpha_used", "alpha_estimate", "seconds", "seconds_per_epoch")
COUNTS = (
    *("epochs", "best_epoch", "peak_memory", "peak_gpu_memory"),
    *("n_labeled", "n_unlabeled", "n_test"),
)
DEFINED = ("dataset", "scheme", "mechanism", "label_frequency", "noise")
# Which of two runs of the same definition is kept.
PREFERRED = ("done", "failed", "skipped")
BUSY_SECONDS = 30.0


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


def _kept_columns() -> tuple[str, ...]:
    before = ("run", "definition", "status", "reason", "code", "family")
    return *before, *measured_columns(), "device", "finished"


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

    def __repr__(self) -> str:
        """Show how many runs there are of each kind."""
        counts = self.counts()
        shown = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n) or "empty"
        return f"Store({self.path.name}: {shown})"

    # Reading

    def statuses(self) -> dict[str, Status]:
        """Return the status of every run that is kept.

        Returns
        -------
        dict of str to str
            By id of the run: ``"done"``, ``"failed"`` or ``"skipped"``.
        """
        return dict(self._read("SELECT run, status FROM runs"))

    def counts(self) -> dict[Status, int]:
        """Return how many runs there are of each status.

        Returns
        -------
        dict of str to int
        """
        found: dict[Status, int] = {"done": 0, "failed": 0, "skipped": 0}
        found.update(dict(self._read("SELECT status, COUNT(*) FROM runs GROUP BY status")))
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat dict per run, sorted by what defines it.

        Runs of an earlier format, which the same definition would not give today, are left out,
        and so are runs that are no trials of learners.

        Returns
        -------
        list of dict
        """
        names = _kept_columns()
        sql = f"SELECT {self._selected(names)} FROM runs"
        kept = [dict(zip(names, values, strict=True)) for values in self._read(sql)]
        for one in kept:
            one["definition"] = json.loads(one["definition"])
        found = [_row(one) for one in kept if one["definition"]["format"] == FORMAT]
        return sorted(found, key=_order)

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
        return dict(self._read("SELECT run, reason FROM runs WHERE status = ?", (status,)))

    def elapsed(self) -> dict[str, float]:
        """Return the seconds that each finished run took.

        Returns
        -------
        dict of str to float
            By id of the run.
        """
        return dict(self._read("SELECT run, elapsed FROM runs WHERE status = 'done'"))

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
        sql = "SELECT definition, details FROM runs WHERE run = ?"
        found = next(iter(self._read(sql, (run,))), None)
        if found is None:
            raise InvalidInputError(
                f"Store.details needs a run of {self.path.name}. Got {brief(run)!r}."
            )
        more = json.loads(zlib.decompress(found[1])) if found[1] else {}
        blank: dict[str, Any] = {"versions": {}, "hardware": {}, "seeds": {}, "curves": []}
        return {"definition": json.loads(found[0])} | blank | {"distributions": {}} | more

    def seconds(self) -> list[tuple[Job, float]]:
        """Return how long each finished run took, from its start to its end.

        Returns
        -------
        list of (Job, float)
        """
        sql = "SELECT definition, elapsed FROM runs WHERE status = 'done' AND elapsed IS NOT NULL"
        found = [(json.loads(text), seconds) for text, seconds in self._read(sql)]
        return [(Job.of(one), seconds) for one, seconds in found if "learner" in one]

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
            try:
                self._connection = self._connect("rwc")
                self._prepare(self._connection)
            except sqlite3.Error as error:
                raise self._cannot("write", error) from error
            yield self
        finally:
            if self._connection is not None:
                with suppress(sqlite3.Error):
                    # One plain file is left, which can be read where nothing can be written.
                    self._connection.execute("PRAGMA journal_mode = DELETE")
                self._connection.close()
            self._connection = None
            os.close(lock)

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
        self._insert([_record(job, found) for job, found in ended])

    def copy_from(self, other: Store, runs: Sequence[str]) -> None:
        """Take runs over from another store as they are.

        Parameters
        ----------
        other : Store
            Where they are now.
        runs : sequence of str
            Ids of the runs.
        """
        names = (*_kept_columns(), "elapsed", "details")
        sql = f"SELECT {other._selected(names)} FROM runs WHERE run = ?"
        found = (values for run in runs for values in other._read(sql, (run,)))
        self._insert(dict(zip(names, values, strict=True)) for values in found)

    def _insert(self, records: Iterable[Mapping[str, Any]]) -> None:
        if self._connection is None:
            raise InvalidInputError("Store.write needs to be within `with store.writing():`.")
        try:
            with self._connection as connection:
                for record in records:
                    names = ", ".join(f'"{name}"' for name in record)
                    marks = ", ".join("?" * len(record))
                    connection.execute(
                        f"INSERT OR REPLACE INTO runs ({names}) VALUES ({marks})",
                        tuple(record.values()),
                    )
        except sqlite3.Error as error:
            raise self._cannot("write", error) from error

    def _selected(self, names: Sequence[str]) -> str:
        """Write columns of the file in SQL, by their old names or as missing where they are so."""
        present = {row[1] for row in self._read("PRAGMA table_info(runs)")}
        before = {new: old for old, new in OLD_NAMES.items() if old in present}
        found = (name if name in present else before.get(name) for name in names)
        return ", ".join("NULL" if name is None else f'"{name}"' for name in found)

    # Files

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
        except sqlite3.Error as error:
            raise self._cannot("read", error) from error

    def _connect(self, mode: str) -> sqlite3.Connection:
        address = f"{self.path.resolve().as_uri()}?mode={mode}"
        return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        _check_owner(connection, self._shown)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        with connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            connection.execute(f"CREATE TABLE IF NOT EXISTS runs ({_declared()})")
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

    def _lock(self) -> int:
        """Take the lock, which dies with the process that holds it."""
        if self.path.is_dir():
            raise InvalidInputError(
                f"Cannot write {self._shown}: it is a folder. Name a file in it, such as "
                f"runs.sqlite."
            )
        # Whoever comes by a link meets the same lock.
        real = self.path.resolve()
        path = real.with_name(f"{real.name}.lock")
        if not self.path.parent.is_dir():
            raise InvalidInputError(
                f"Cannot write {self._shown}: there is no folder "
                f"{brief(str(self.path.parent), 200)}. Create it first."
            )
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise InvalidInputError(f"Cannot write {self._shown}: it is read-only.")
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
    def _shown(self) -> str:
        return brief(str(self.path), 200)

    def _cannot(self, verb: str, error: sqlite3.Error) -> InvalidInputError:
        reason = str(error)
        if "full" in reason:
            remedy = "What was finished is kept: make room and run the same command again"
            return InvalidInputError(f"Cannot write {self._shown}: the disk is full. {remedy}.")
        if "readonly" in reason or "read-only" in reason:
            return InvalidInputError(f"Cannot write {self._shown}: it is read-only.")
        if "not a database" in reason or "malformed" in reason:
            return InvalidInputError(f"{self._shown} is no store of recoup, or damaged: {reason}.")
        return InvalidInputError(f"Cannot {verb} {self._shown}: {reason}.")


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


def merge(sources: Sequence[str | Path], out: str | Path) -> Store:
    """Bring the runs of several stores together in a new one.

    Runs that are in more than one and agree are kept once. Of the same definition, a finished run
    goes before a failed one, and that before a skipped one.

    Parameters
    ----------
    sources : sequence of paths
        Stores to read.
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
    chosen: dict[str, tuple[Store, dict[str, Any]]] = {}
    for store in map(Store, sources):
        for row in store.rows():
            before = chosen.get(row["run"])
            if before is None or _prefers(row, before[1], before[0], store):
                chosen[row["run"]] = (store, row)
    made = Store(target)
    with made.writing():
        for origin in dict.fromkeys(store for store, _ in chosen.values()):
            runs = [run for run, (store, _) in chosen.items() if store is origin]
            made.copy_from(origin, runs)
    return made


def _prefers(new: Mapping[str, Any], old: Mapping[str, Any], first: Store, second: Store) -> bool:
    """Say whether one run takes the place of another, which must not contradict it."""
    if new["status"] != old["status"]:
        return PREFERRED.index(new["status"]) < PREFERRED.index(old["status"])
    if new["status"] != "done":
        return False
    # A number that only one of them has is one that an earlier recoup did not measure.
    both = [name for name in compared_columns() if None not in (new[name], old[name])]
    differing = [name for name in both if not _agree(new[name], old[name])]
    if differing:
        name = differing[0]
        raise InvalidInputError(
            f"merge found two different results of run {new['run']} ({describe(new)}): {name} is "
            f"{old[name]} in {brief(str(first.path), 100)} and {new[name]} in "
            f"{brief(str(second.path), 100)}. Drop one of the stores."
        )
    return False


def _agree(one: Any, other: Any) -> bool:
    """Say whether two values are the same, but for last digits in which machines may differ."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def describe(row: Mapping[str, Any]) -> str:
    """Name a run in a few words."""
    return (
        f"{row['learner']} on {row['dataset']}, {row['scheme']}, {row['mechanism']}, "
        f"c={row['label_frequency']:g}, seed {row['seed']}, {row['protocol']}"
    )


def export(rows: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Write rows as Parquet or CSV, by the end of the name."""
    import io

    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    target, names = Path(path), columns()
    kinds = {name: pa.float64() for name in ("label_frequency", "noise", *number_columns())}
    kinds |= {name: pa.int64() for name in ("seed", *COUNTS)}
    values = {
        name: [canonical(row[name]) if name == "params" else row[name] for row in rows]
        for name in names
    }
    fields = [pa.field(name, kinds.get(name, pa.string())) for name in names]
    table = pa.table(values, schema=pa.schema(fields))
    buffer = io.BytesIO()
    if target.suffix.lower() == ".parquet":
        pyarrow.parquet.write_table(table, buffer, compression="zstd")
    elif target.suffix.lower() == ".csv":
        words = [name for name in names if name not in kinds]
        for name in words:
            safe = pa.array([no_formula(value) for value in values[name]], pa.string())
            table = table.set_column(names.index(name), name, safe)
        pyarrow.csv.write_csv(table, buffer)
    else:
        raise InvalidInputError(
            f"export needs a name that ends in .parquet or .csv. Got {brief(str(path), 200)}."
        )
    return write_file(target, buffer.getvalue())


def _declared() -> str:
    real = ", ".join(f'"{name}" REAL' for name in (*number_columns(), "elapsed"))
    whole = ", ".join(f"{name} INTEGER" for name in COUNTS)
    text = "definition TEXT NOT NULL, status TEXT NOT NULL, reason TEXT, code TEXT, family TEXT"
    more = "device TEXT, finished TEXT NOT NULL, details BLOB"
    return f"run TEXT PRIMARY KEY, {text}, {real}, {whole}, {more}"


def _record(job: Runnable, found: Mapping[str, Any]) -> dict[str, Any]:
    details = json.dumps(found.get("details") or {}, allow_nan=False)
    return {
        "run": job.run,
        "definition": canonical(job.definition),
        "status": found["status"],
        "reason": found.get("reason"),
        "code": getattr(found.get("reason"), "code", None),
        "elapsed": found.get("elapsed"),
        "details": zlib.compress(details.encode()),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **{name: found["row"].get(name) for name in ("family", *measured_columns(), "device")},
    }


def _row(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that everybody reads, in their order."""
    job = Job.of(kept.pop("definition"))
    names = (*DEFINED, "learner", "key", "preset", "seed", "protocol", "alpha")
    named = {name: getattr(job, name) for name in names}
    found = kept | named | {"params": dict(job.params), "code": reason_code(kept)}
    return {name: found[name] for name in columns()}


def _order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (*(row[name] for name in DEFINED), row["protocol"], row["learner"], row["seed"])
