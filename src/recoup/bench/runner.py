"""Do what a plan asks for and a store does not have yet, on Dask workers here or elsewhere."""

from __future__ import annotations

import inspect
import os
import queue
import re
import secrets
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from recoup._core.checks import brief
from recoup._core.optional import require
from recoup.bench.job import Job
from recoup.bench.plan import Plan, read_plan
from recoup.bench.store import Store
from recoup.bench.worker import attempt, end_runs
from recoup.exceptions import InvalidInputError, RecoupWarning

Kind = Literal["cpu", "gpu"]

# A run whose worker died is given to another one, so often; then it counts as failed.
RETRIES = 2
SECONDS_WITHOUT_WORKERS = 5.0
SLOTS_PER_GPU = 4
# Runs that can be done at once, so many times over, are the end of a plan.
LAST_TURNS = 4
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_TO_CONNECT = 15.0
# A run gets this share of main memory at most, divided by the runs at the same time.
USABLE_MEMORY = 0.9


@dataclass(frozen=True)
class Outcome:
    """What came of running a plan.

    Attributes
    ----------
    done : int
        Runs that were finished this time.
    cached : int
        Runs that were in the store already.
    failed : int
        Runs that failed, this time or before.
    skipped : int
        Runs that were skipped this time.
    left : int
        Runs that were not started, for want of time.
    seconds : float
        How long it took.
    problems : tuple of (str, Job)
        Why runs failed, this time or before.
    reasons : mapping of str to int
        Why runs were skipped, and how many.
    """

    done: int
    cached: int
    failed: int
    skipped: int
    left: int
    seconds: float
    problems: tuple[tuple[str, Job], ...] = field(default=(), repr=False)
    reasons: Mapping[str, int] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        counts = ("done", "cached", "failed", "skipped", "left")
        return {name: getattr(self, name) for name in counts} | {
            "seconds": round(self.seconds, 3),
            "problems": [
                {"run": job.run, "reason": reason, "definition": job.definition}
                for reason, job in self.problems
            ],
            "reasons": dict(self.reasons),
        }


def run_plan(
    plan: Plan | str | Path,
    store: str | Path,
    *,
    workers: int | None = None,
    gpu: bool = False,
    slots: int = SLOTS_PER_GPU,
    scheduler: str | None = None,
    limit: float | None = None,
    retry_failed: bool = False,
    watch: Callable[[Counter[str], int], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Outcome:
    """Do the runs of a plan that a store does not have.

    Each finished run is written at once, so that stopping at any moment loses only what was under
    way, and the same call goes on from there.

    Parameters
    ----------
    plan : Plan, path or str
        What to run; a YAML file or the name of a plan that comes with recoup.
    store : path
        The SQLite file to write to.
    workers : int, optional
        Runs at the same time on CPUs; by default one per core. Not with ``scheduler``.
    gpu : bool, default=False
        Train networks on GPUs.
    slots : int, default=4
        Runs that share a GPU. Not with ``scheduler``.
    scheduler : str, optional
        Address of a Dask scheduler whose workers to use. With ``gpu`` those for networks must
        have been started with ``--resources GPU=4`` or another number of slots.
    limit : float, optional
        Seconds after which no further run is started.
    retry_failed : bool, default=False
        Do runs again that failed before.
    watch : callable, optional
        Called with counts (``done``, ``cached``, ``failed``, ``skipped``) and the number of all
        runs, whenever they change.
    say : callable, optional
        Called with a line for people, when there is no worker to give runs to; by default it is a
        warning.

    Returns
    -------
    Outcome
    """
    plan = plan if isinstance(plan, Plan) else read_plan(plan)
    started = time.monotonic()
    with Store(store).writing() as kept:
        driver = _Driver(plan, kept, retry_failed, watch, say or _warn)
        driver.skip_impossible()
        if driver.waiting:
            _packages()
            lines = driver.lines(gpu)
            memory = plan.limits.memory
            with ExitStack() as stack:
                if scheduler is None:
                    # No worker is started that would have nothing to do.
                    n_cpu = min(workers or n_cores(), len(lines["cpu"]))
                    n_gpus = _n_gpus() if lines["gpu"] else 0
                    client = stack.enter_context(_local(n_cpu, n_gpus, slots))
                    memory = memory or _share_of_memory(n_cpu + n_gpus * slots)
                else:
                    client = stack.enter_context(_remote(scheduler, driver.name))
                until = None if limit is None else started + limit
                driver.drive(client, lines, scheduler is None, until, memory)
        return driver.outcome(time.monotonic() - started)


class _Driver:
    """Hands out runs and writes down what comes back."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        retry_failed: bool,
        watch: Callable[[Counter[str], int], None] | None,
        say: Callable[[str], None],
    ) -> None:
        from recoup._core.registry import registered

        self.plan, self.store = plan, store
        self.jobs = plan.jobs()
        self.counts: Counter[str] = Counter()
        self.watch, self.say = watch, say
        self.name = secrets.token_hex(8)
        self.problems: list[tuple[str, Job]] = []
        self.reasons: Counter[str] = Counter()
        self.tags = {key: cls.tags for key, cls in registered("learners").items()}
        self.expected = Expected(store)
        known = store.statuses()
        # What was skipped may be possible now: data can have arrived.
        finished = {"done"} if retry_failed else {"done", "failed"}
        self.waiting = deque(job for job in self.jobs if known.get(job.run) not in finished)
        if not retry_failed:
            failed = {job.run: job for job in self.jobs if known.get(job.run) == "failed"}
            rows = store.rows() if failed else []
            self.problems += [
                (row["reason"], failed[row["run"]]) for row in rows if row["run"] in failed
            ]
        self.counts["failed"] = len(self.problems)
        self.counts["cached"] = len(self.jobs) - len(self.waiting) - len(self.problems)
        self._tell()

    def skip_impossible(self) -> None:
        """Write down the runs that no worker needs to look at."""
        reasons = [(job, job.skip_reason()) for job in self.waiting]
        self.waiting = deque(job for job, reason in reasons if reason is None)
        self.note_all(
            [(job, {"status": "skipped", "reason": why, "row": {}}) for job, why in reasons if why]
        )

    def lines(self, gpu: bool) -> dict[Kind, deque[Job]]:
        """Return the runs that wait for a CPU, and those that wait for a GPU if there is one."""
        waiting: dict[Kind, deque[Job]] = {"cpu": deque(), "gpu": deque()}
        for job in self.waiting:
            on_gpu = gpu and self.tags[job.key].backend == "torch"
            waiting["gpu" if on_gpu else "cpu"].append(job)
        return waiting

    def drive(
        self,
        client: Any,
        lines: dict[Kind, deque[Job]],
        local: bool,
        until: float | None,
        memory: int | None,
    ) -> None:
        """Keep all workers busy until nothing is left, or time is up.

        No more runs are handed out than can be done at once: a worker that dies takes only those
        with it that it was doing.
        """
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        under_way: dict[Any, tuple[Kind, Job]] = {}
        looked, began, waits = -1.0, time.monotonic(), False
        room: dict[Kind, int] = {"cpu": 0, "gpu": 0}
        while lines["cpu"] or lines["gpu"] or under_way:
            if time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                room, looked = _room(client, local), time.monotonic()
            if until is not None and time.monotonic() > until:
                lines["cpu"].clear()
                lines["gpu"].clear()
            missing = [kind for kind, line in lines.items() if line and not room[kind]]
            late = time.monotonic() - began > SECONDS_WITHOUT_WORKERS
            if missing and late and not (local or waits):
                waits = True
                how = " that was started with --resources GPU=4" if missing == ["gpu"] else ""
                self.say(f"There is no worker{how} yet; runs begin when one joins the scheduler.")
            busy = Counter(kind for kind, _ in under_way.values())
            for kind, line in lines.items():
                for _ in range(min(room[kind] - busy[kind], len(line))):
                    job = self._next(line, room[kind])
                    future = self._submit(client, job, kind, local, memory)
                    under_way[future] = (kind, job)
                    future.add_done_callback(ended.put)
            try:
                future = ended.get(timeout=SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                if client.status not in ("running", "connecting"):
                    raise _lost_cluster() from None
                continue
            _, job = under_way.pop(future)
            self.note_all([(job, _result(future))])
            future.release()

    def _next(self, line: deque[Job], room: int) -> Job:
        """Take a run from a line: at its end the longest, so that none is left running alone.

        Before, runs on the same rows follow each other, which then need not be drawn again.
        """
        if len(line) > LAST_TURNS * room:
            return line.popleft()
        place = max(range(len(line)), key=lambda one: self.expected.seconds(line[one]))
        job = line[place]
        del line[place]
        return job

    def _submit(self, client: Any, job: Job, kind: Kind, local: bool, memory: int | None) -> Any:
        resources = {"GPU": 1} if kind == "gpu" else {"CPU": 1} if local else None
        return client.submit(
            attempt,
            job.definition,
            self.plan.limits.time,
            memory,
            "cuda" if kind == "gpu" else "cpu",
            self.name,
            key=f"recoup-{job.run}-{time.time_ns()}",
            resources=resources,
            pure=False,
        )

    def note_all(self, ended: list[tuple[Job, dict[str, Any]]]) -> None:
        """Write runs down and count them."""
        for job, found in ended:
            found["row"].setdefault("family", self.tags[job.key].family)
        self.store.write_all(ended)
        for job, found in ended:
            self.counts[found["status"]] += 1
            if found["status"] == "failed":
                self.problems.append((found["reason"], job))
            elif found["status"] == "skipped":
                self.reasons[found["reason"]] += 1
        self._tell()

    def outcome(self, seconds: float) -> Outcome:
        """Sum up."""
        counts = {name: self.counts[name] for name in ("done", "cached", "failed", "skipped")}
        left = len(self.jobs) - sum(counts.values())
        return Outcome(
            **counts,
            left=left,
            seconds=seconds,
            problems=tuple(self.problems),
            reasons=dict(self.reasons),
        )

    def _tell(self) -> None:
        if self.watch is not None:
            self.watch(self.counts, len(self.jobs))


def _result(future: Any) -> dict[str, Any]:
    """Return what a run came to, be it that it could not be finished."""
    _, distributed = _packages()
    if future.status == "cancelled" or future.status == "lost":
        raise _lost_cluster()
    try:
        found: dict[str, Any] = future.result()
    except distributed.KilledWorker:
        reason = f"Its worker died {RETRIES + 1} times while at it."
    except Exception as error:
        reason = brief(f"{type(error).__name__}: {' '.join(str(error).split())}", 500)
    else:
        return found
    return {"status": "failed", "reason": reason, "row": {}, "details": {}}


def _lost_cluster() -> InvalidInputError:
    return InvalidInputError(
        "bench run lost its Dask cluster. What was finished is kept: start the cluster and run the "
        "same command again."
    )


def _packages() -> tuple[Any, Any]:
    """Import what hands work to other processes, or say how to get it."""
    names = ("dask", "distributed")
    dask, distributed = (
        require(name, purpose="bench run", install="'recoup[cluster]'") for name in names
    )
    return dask, distributed


@contextmanager
def _local(n_cpu: int, n_gpus: int, slots: int) -> Iterator[Any]:
    """Start workers on this machine: one per CPU slot, and one per GPU."""
    import logging

    dask, distributed = _packages()
    security = _own_keys()
    settings = {
        "distributed.scheduler.allowed-failures": RETRIES,
        "distributed.scheduler.work-stealing": False,
        "distributed.worker.daemon": True,
        "distributed.admin.low-level-log-length": 0,
        "distributed.logging.distributed": "critical",
        # Dask's web servers ask nobody for a key: they have nothing to show.
        "distributed.scheduler.http.routes": [],
        "distributed.worker.http.routes": [],
    }
    # Only this machine is listened to, on ports that are free. Other users of it get no further
    # than to the port: they have no key.
    shared = {
        "host": "127.0.0.1",
        "security": security,
        "dashboard": False,
        "memory_limit": 0,
        "preload": [attempt.__module__],
        "silence_logs": logging.CRITICAL,
    }
    specs: dict[str, Any] = {}
    for number in range(n_cpu):
        options = shared | {"nthreads": 1, "resources": {"CPU": 1}}
        specs[f"cpu-{number}"] = {"cls": distributed.Nanny, "options": options}
    for number in range(n_gpus):
        seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        device = seen[number] if number < len(seen) and seen[number] else str(number)
        options = shared | {
            "nthreads": slots,
            "resources": {"GPU": slots},
            "env": {"CUDA_VISIBLE_DEVICES": device},
        }
        specs[f"gpu-{number}"] = {"cls": distributed.Nanny, "options": options}
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {
            "dashboard": False,
            "dashboard_address": "127.0.0.1:0",
            "host": "127.0.0.1",
            "port": 0,
            "security": security,
        },
    }
    with (
        dask.config.set(settings),
        distributed.SpecCluster(
            workers=specs,
            scheduler=scheduler,
            security=security,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, security=security, set_as_default=False) as client,
    ):
        yield client


def _own_keys() -> Any:
    """Make keys that only this run and its workers know, without which no worker takes orders."""
    _, distributed = _packages()
    require("cryptography", purpose="bench run", install="'recoup[cluster]'")
    return distributed.Security.temporary()


def _warn(text: str) -> None:
    warnings.warn(text, RecoupWarning, stacklevel=4)


@contextmanager
def _remote(address: str, owner: str) -> Iterator[Any]:
    _, distributed = _packages()
    from distributed.comm.registry import backends

    match = re.fullmatch(r"(?:(\w+)://)?(?:\[[\da-fA-F:.]+\]|[^\s/:\[\]]+):\d{1,5}", address)
    if match is None or (match[1] is not None and match[1] not in backends):
        raise InvalidInputError(
            f"bench run needs the address of a Dask scheduler. Got {brief(address, 100)!r}. Pass "
            f"one such as tcp://host:8786."
        )
    keys = distributed.Security().get_connection_args("client")
    if match[1] == "tls" and keys.get("ssl_context") is None:
        raise InvalidInputError(
            f"bench run needs certificates for {brief(address, 100)!r}, and Dask's configuration "
            f"names none. Set DASK_DISTRIBUTED__COMM__TLS__CA_FILE and "
            f"DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT, and __KEY where the key is apart."
        )
    try:
        client = distributed.Client(address, set_as_default=False, timeout=SECONDS_TO_CONNECT)
    except (OSError, RuntimeError, ValueError, TimeoutError) as error:
        raise InvalidInputError(
            f"bench run found no Dask scheduler at {brief(address, 100)!r}: "
            f"{brief(' '.join(str(error).split()), 150)}. Pass an address such as "
            f"tcp://host:8786."
        ) from error
    with client:
        try:
            yield client
        finally:
            # Workers outlive this plan; what it had them do, and keep at hand, need not.
            if client.status == "running":
                with suppress(Exception):
                    client.run(end_runs, owner)


def _room(client: Any, local: bool) -> dict[Kind, int]:
    """Count how many runs the workers can do at once, of either kind."""
    # Later versions of Dask leave most workers out unless told not to.
    counted = "n_workers" in inspect.signature(client.scheduler_info).parameters
    asked = {"n_workers": -1} if counted else {}
    found = client.scheduler_info(**asked)["workers"].values()
    slots = sum(int(worker["resources"].get("GPU", 0)) for worker in found)
    if local:
        return {"cpu": sum(int(one["resources"].get("CPU", 0)) for one in found), "gpu": slots}
    threads = sum(int(worker["nthreads"]) for worker in found)
    return {"cpu": max(threads - slots, 1) if found else 0, "gpu": slots}


def n_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _share_of_memory(n_runs: int) -> int | None:
    """Return the bytes that each of some runs may take on this machine, if it tells its size."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    everything = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(USABLE_MEMORY * everything / n_runs)


def _n_gpus() -> int:
    """Count the GPUs that may be used."""
    torch = require("torch", purpose="bench run --gpu", install="'recoup[torch]'")
    n = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
    if not n:
        raise InvalidInputError(
            "bench run --gpu needs a GPU that torch can use. Got none. Drop --gpu."
        )
    return n


class Expected:
    """How long runs take, by those that are finished.

    A run takes what runs of its learner on its dataset took on average; or else of its learner; or
    else what others took, by the effort of their learners.
    """

    def __init__(self, store: Store) -> None:
        from recoup._core.registry import registered

        self._efforts = {key: cls.tags.effort for key, cls in registered("learners").items()}
        taken: dict[tuple[str, ...], list[float]] = {}
        for job, seconds in store.seconds():
            for path in ((job.key, job.dataset), (job.key,)):
                taken.setdefault(path, []).append(seconds)
            # A store may know learners that are not installed here.
            if job.key in self._efforts:
                taken.setdefault((), []).append(seconds / self._efforts[job.key])
        self._means = {path: sum(values) / len(values) for path, values in taken.items()}

    def seconds(self, job: Job) -> float:
        """Say what a run will take; in units of its own while nothing is finished."""
        for path in ((job.key, job.dataset), (job.key,)):
            if path in self._means:
                return self._means[path]
        return float(self._means.get((), 1.0) * self._efforts[job.key])

    def all_seconds(self, jobs: Sequence[Job], workers: int) -> float | None:
        """Say what runs will take together; None where nothing is known."""
        if not self._means:
            return None
        return sum(map(self.seconds, jobs)) / max(workers, 1)
