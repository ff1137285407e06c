"""Do what is asked for and a store does not have yet, on Dask workers here or elsewhere.

What is done need not be trials of learners: :func:`run_work` does anything that is made of jobs.
"""

from __future__ import annotations

import math
import queue
import secrets
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from recoup._core.checks import brief
from recoup._core.files import make_folder
from recoup.bench.cluster import (
    RETRIES,
    Kind,
    local_workers,
    n_cores,
    n_gpus_here,
    packages,
    places,
    workers_of,
)
from recoup.bench.job import Job, hashed
from recoup.bench.memory import share_of_memory
from recoup.bench.plan import Plan, read_plan
from recoup.bench.record import Runnable, storable
from recoup.bench.store import Store
from recoup.bench.worker import Measure, attempt, execute, packed
from recoup.exceptions import InvalidInputError, RecoupWarning

Watch = Callable[[Counter[str], int], None]

SECONDS_WITHOUT_WORKERS = 5.0
SLOTS_PER_GPU = 4
# Runs that can be done at once, so many times over, are the end of a plan.
LAST_TURNS = 4
SECONDS_BETWEEN_LOOKS = 0.5


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
        Why runs failed, this time or before. Of other work than a plan, its jobs.
    reasons : mapping of str to int
        Why runs were skipped, and how many.
    """

    done: int
    cached: int
    failed: int
    skipped: int
    left: int
    seconds: float
    problems: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
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


@dataclass(frozen=True)
class Work:
    """Tasks, and how one of them is done.

    Attributes
    ----------
    caller : str
        Who asks for it, as messages name it.
    jobs : sequence of Runnable
        What is to be done.
    measure : callable
        Takes the definition of a job and a device, ``"cpu"`` or ``"cuda"``; returns columns of
        the store and details, as plain values. What it raises is written down and stops nothing.
    seconds : float, default=inf
        After which a job is ended.
    memory : int, optional
        Bytes at which a job is ended; by default an equal share of what the machine has, or the
        container or SLURM job allows.
    on_gpu : callable, optional
        Says of a job whether it gains from a GPU.
    expected : callable, optional
        Says of a job how long it will take, in any unit.
    """

    caller: str
    jobs: Sequence[Runnable]
    measure: Measure
    seconds: float = math.inf
    memory: int | None = None
    on_gpu: Callable[[Any], bool] = field(default=lambda job: False)
    expected: Callable[[Any], float] = field(default=lambda job: 1.0)


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
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
    checkpoints: str | Path | None = None,
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
    checkpoints : str or Path, optional
        A folder to keep the best weights of networks in, as ``RUN.safetensors``, written whenever
        they do better than before by what the run selects by. Where one training answers two
        protocols, the file has the name of the honest run and its choice. It holds the weights of
        the networks alone, for torch. With ``scheduler`` the folder is on the workers. By default
        none are kept.

    Returns
    -------
    Outcome
    """
    asked = plan if isinstance(plan, Plan) else read_plan(plan)
    if checkpoints is not None and scheduler is None:
        make_folder(checkpoints, "bench run cannot keep checkpoints in")
    return run_work(
        trials(asked, Store(store), checkpoints),
        store,
        workers=workers,
        gpu=gpu,
        slots=slots,
        scheduler=scheduler,
        limit=limit,
        retry_failed=retry_failed,
        watch=watch,
        say=say,
    )


def trials(plan: Plan, store: Store, checkpoints: str | Path | None = None) -> Work:
    """Return a plan as work; finished runs of a store say how long others will take."""
    from recoup._core.registry import registered
    from recoup.bench.expected_time import Expected
    from recoup.bench.trial import measure_trial

    tags = {key: cls.tags for key, cls in registered("learners").items()}

    def on_gpu(job: Job) -> bool:
        return bool(tags[job.key].backend == "torch")

    measure: Measure = measure_trial
    if checkpoints is not None:
        measure = partial(measure_trial, checkpoints=str(Path(checkpoints).resolve()))
    return Work(
        "bench run",
        plan.jobs(),
        measure,
        plan.limits.time,
        plan.limits.memory,
        on_gpu,
        Expected(store).seconds,
    )


def run_work(
    work: Work,
    store: str | Path,
    *,
    workers: int | None = None,
    here: bool = False,
    gpu: bool = False,
    slots: int = SLOTS_PER_GPU,
    scheduler: str | None = None,
    limit: float | None = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
    say: Callable[[str], None] | None = None,
) -> Outcome:
    """Do the jobs of any work that a store does not have; see :func:`run_plan`.

    Parameters
    ----------
    work : Work
        What to do.
    store, workers, gpu, slots, scheduler, limit, retry_failed, watch, say
        As of :func:`run_plan`.
    here : bool, default=False
        Do one job after the other in this process: what kills it kills all, but no other package
        is needed and a debugger can look in.

    Returns
    -------
    Outcome
    """
    started = time.monotonic()
    until = None if limit is None else started + limit
    with Store(store).writing() as kept:
        driver = _Driver(work, kept, retry_failed, watch, say or _warn)
        driver.skip_impossible()
        if driver.waiting and here:
            driver.do_here(until)
        elif driver.waiting:
            packages(work.caller)
            lines = driver.lines(gpu)
            memory = work.memory
            with ExitStack() as stack:
                if scheduler is None:
                    # No worker is started that would have nothing to do.
                    n_cpu = min(workers or n_cores(), len(lines["cpu"]))
                    n_gpus = n_gpus_here() if lines["gpu"] else 0
                    client = stack.enter_context(local_workers(n_cpu, n_gpus, slots))
                    memory = memory or share_of_memory(n_cpu + n_gpus * slots)
                else:
                    client = stack.enter_context(workers_of(scheduler, driver.name))
                driver.drive(client, lines, scheduler is None, until, memory)
        return driver.outcome(time.monotonic() - started)


class _Driver:
    """Hands out runs and writes down what comes back."""

    def __init__(
        self,
        work: Work,
        store: Store,
        retry_failed: bool,
        watch: Watch | None,
        say: Callable[[str], None],
    ) -> None:
        self.work, self.store = work, store
        self.jobs = list(work.jobs)
        self.counts: Counter[str] = Counter()
        self.watch, self.say = watch, say
        self.name = secrets.token_hex(8)
        self.problems: list[tuple[str, Runnable]] = []
        self.reasons: Counter[str] = Counter()
        # Runs that the same training answers, by the one that is handed out.
        self.riders: dict[str, list[Runnable]] = {}
        known = store.statuses()
        # What was skipped may be possible now: data can have arrived.
        finished = {"done"} if retry_failed else {"done", "failed"}
        self.waiting = deque(job for job in self.jobs if known.get(job.run) not in finished)
        if not retry_failed:
            reasons = store.reasons("failed")
            self.problems += [(reasons[job.run], job) for job in self.jobs if job.run in reasons]
        self.counts["failed"] = len(self.problems)
        self.counts["cached"] = len(self.jobs) - len(self.waiting) - len(self.problems)
        self._tell()

    def skip_impossible(self) -> None:
        """Write down the runs that no worker needs to look at."""
        reasons = [(job, job.skip_reason()) for job in self.waiting]
        self.note_all([(job, {"status": "skipped", "reason": why}) for job, why in reasons if why])
        leaders: dict[str, Runnable] = {}
        for job, reason in reasons:
            if reason is not None:
                continue
            leader = leaders.setdefault(getattr(job, "training", job.run), job)
            if leader is not job:
                self.riders.setdefault(leader.run, []).append(job)
        self.waiting = deque(leaders.values())

    def lines(self, gpu: bool) -> dict[Kind, deque[Runnable]]:
        """Return the runs that wait for a CPU, and those that wait for a GPU if there is one."""
        waiting: dict[Kind, deque[Runnable]] = {"cpu": deque(), "gpu": deque()}
        for job in self.waiting:
            waiting["gpu" if gpu and self.work.on_gpu(job) else "cpu"].append(job)
        return waiting

    def do_here(self, until: float | None) -> None:
        """Do one run after the other in this process, until nothing is left or time is up."""
        for job in self.waiting:
            if until is not None and time.monotonic() > until:
                break
            self.note_all([(job, execute(self.work.measure, job.definition, "cpu"))])

    def drive(
        self,
        client: Any,
        lines: dict[Kind, deque[Runnable]],
        local: bool,
        until: float | None,
        memory: int | None,
    ) -> None:
        """Keep all workers busy until nothing is left, or time is up.

        No more runs are handed out than can be done at once: a worker that dies takes only those
        with it that it was doing.
        """
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        under_way: dict[Any, tuple[Kind, Runnable]] = {}
        looked, began, waits = -1.0, time.monotonic(), False
        room: dict[Kind, int] = {"cpu": 0, "gpu": 0}
        while lines["cpu"] or lines["gpu"] or under_way:
            if time.monotonic() - looked > SECONDS_BETWEEN_LOOKS:
                room, looked = places(client, local), time.monotonic()
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
                    raise _lost_cluster(self.work.caller) from None
                continue
            _, job = under_way.pop(future)
            self.note_all([(job, _result(future, self.work.caller))])
            future.release()

    def _next(self, line: deque[Runnable], room: int) -> Runnable:
        """Take a run from a line: at its end the longest, so that none is left running alone.

        Before, runs on the same rows follow each other, which then need not be drawn again.
        """
        if len(line) > LAST_TURNS * room:
            return line.popleft()
        place = max(range(len(line)), key=lambda one: self.work.expected(line[one]))
        job = line[place]
        del line[place]
        return job

    @cached_property
    def _packed(self) -> str:
        return packed(self.work.measure)

    def _submit(
        self, client: Any, job: Runnable, kind: Kind, local: bool, memory: int | None
    ) -> Any:
        resources = {"GPU": 1} if kind == "gpu" else {"CPU": 1} if local else None
        return client.submit(
            attempt,
            self._packed,
            job.definition,
            self.work.seconds,
            memory,
            "cuda" if kind == "gpu" else "cpu",
            self.name,
            key=f"recoup-{job.run}-{time.time_ns()}",
            resources=resources,
            pure=False,
        )

    def note_all(self, worked: list[tuple[Runnable, dict[str, Any]]]) -> None:
        """Write runs down, with those that the same training answers, and count them."""
        ended = [pair for job, found in worked for pair in self._answered(job, found)]
        for job, found in ended:
            found["row"] = {**job.known, **found.get("row", {})}
        # What a learner leaves behind may be anything, and must not end the benchmark.
        ended = [(job, storable(job, found)) for job, found in ended]
        self.store.write_all(ended)
        for job, found in ended:
            self.counts[found["status"]] += 1
            if found["status"] == "failed":
                self.problems.append((found["reason"], job))
            elif found["status"] == "skipped":
                self.reasons[found["reason"]] += 1
        self._tell()

    def _answered(
        self, job: Runnable, found: dict[str, Any]
    ) -> Iterator[tuple[Runnable, dict[str, Any]]]:
        yield job, found
        also = {hashed(one["definition"]): one for one in found.get("also", [])}
        for rider in self.riders.pop(job.run, []):
            if rider.run in also:
                yield rider, found | {part: also[rider.run][part] for part in ("row", "details")}
            elif found["status"] == "done":
                reason = "The training that was to answer this run did not."
                yield rider, {"status": "failed", "reason": reason, "row": {}, "details": {}}
            else:
                yield rider, dict(found)

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


def _result(future: Any, caller: str) -> dict[str, Any]:
    """Return what a run came to, be it that it could not be finished."""
    _, distributed = packages(caller)
    if future.status == "cancelled" or future.status == "lost":
        raise _lost_cluster(caller)
    try:
        found: dict[str, Any] = future.result()
    except distributed.KilledWorker:
        reason = f"Its worker died {RETRIES + 1} times while at it."
    except Exception as error:
        reason = brief(f"{type(error).__name__}: {' '.join(str(error).split())}", 500)
    else:
        return found
    return {"status": "failed", "reason": reason, "row": {}, "details": {}}


def _lost_cluster(caller: str) -> InvalidInputError:
    return InvalidInputError(
        f"{caller} lost its Dask cluster. What was finished is kept: start the cluster and run the "
        f"same command again."
    )


def _warn(text: str) -> None:
    warnings.warn(text, RecoupWarning, stacklevel=4)
