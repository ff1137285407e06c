"""Where runs are done: Dask workers on this machine, or those of a scheduler elsewhere."""

from __future__ import annotations

import inspect
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Literal

from recoup._core.checks import brief
from recoup._core.optional import require
from recoup.bench.worker import attempt, end_runs
from recoup.exceptions import InvalidInputError

Kind = Literal["cpu", "gpu"]

# A run whose worker died is given to another one, so often; then it counts as failed.
RETRIES = 2
SECONDS_TO_CONNECT = 15.0
# Packages that print tracebacks where a cluster is lost.
CHATTY = ("distributed", "asyncio", "tornado")
# A worker that is frozen, or a machine that is gone, would never answer.
SECONDS_TO_END = 5.0
# Files that a worker here keeps open, and those of the driver itself.
FILES_PER_WORKER, OTHER_FILES = 10, 40


def packages(caller: str = "bench run") -> tuple[Any, Any]:
    """Import what hands work to other processes, or say how to get it."""
    names = ("dask", "distributed")
    dask, distributed = (
        require(name, purpose=caller, install="'recoup[cluster]'") for name in names
    )
    return dask, distributed


@contextmanager
def local_workers(n_cpu: int, n_gpus: int, slots: int) -> Iterator[Any]:
    """Start workers on this machine: one per CPU slot, and one per GPU."""
    import logging

    dask, distributed = packages()
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
    check_file_handles(len(specs))
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(settings))
        try:
            with _without_interrupts():
                cluster = distributed.SpecCluster(
                    workers=specs,
                    scheduler=scheduler,
                    security=security,
                    silence_logs=logging.CRITICAL,
                )
            stack.enter_context(cluster)
            client = distributed.Client(cluster, security=security, set_as_default=False)
            stack.enter_context(client)
        # Dask tells of a worker that does not start by errors of several kinds, one in the other.
        except Exception as error:
            raise InvalidInputError(
                f"bench run could not start its {len(specs)} workers: {_root_cause(error)}. Try "
                f"--workers 1, or see that Python can start other processes here."
            ) from error
        yield client


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start threads and processes that leave an interrupt to this one, from their first moment.

    They inherit what is held back here, and so does what they start later, such as a worker in
    place of one that died; here the interrupt comes as soon as this is left.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on this system
        yield
        return
    from multiprocessing import resource_tracker

    # Where it is started with the first process, it no longer holds back what was held back.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def check_file_handles(n_workers: int) -> None:
    """Have as many files open as so many workers need, or say that they are too many."""
    try:
        import resource
    except ImportError:  # no such limit on this system
        return
    needed = OTHER_FILES + FILES_PER_WORKER * n_workers
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or allowed >= needed:
        return
    if most != resource.RLIM_INFINITY and most < needed:
        fits = (most - OTHER_FILES) // FILES_PER_WORKER
        remedy = f"Take --workers {fits}, or raise" if fits > 0 else "Raise"
        raise InvalidInputError(
            f"bench run needs about {needed:,} open files for {n_workers} workers, and this system "
            f"allows {most:,}. {remedy} the limit (ulimit -n {needed})."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


def _root_cause(error: BaseException) -> str:
    while (deeper := error.__cause__ or error.__context__) is not None:
        error = deeper
    said = brief(" ".join(str(error).split()), 150).rstrip(".")
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _own_keys() -> Any:
    """Make keys that only this run and its workers know, without which no worker takes orders."""
    _, distributed = packages()
    require("cryptography", purpose="bench run", install="'recoup[cluster]'")
    return distributed.Security.temporary()


@contextmanager
def workers_of(address: str, owner: str) -> Iterator[Any]:
    """Use the workers of a scheduler; what they do for an owner is ended when this is left."""
    _, distributed = packages()
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
    with _quiet_logs():
        yield from _client_of(address, owner)


def _client_of(address: str, owner: str) -> Iterator[Any]:
    _, distributed = packages()
    try:
        client = distributed.Client(address, set_as_default=False, timeout=SECONDS_TO_CONNECT)
    except (OSError, RuntimeError, ValueError, TimeoutError) as error:
        raise InvalidInputError(
            f"bench run found no Dask scheduler at {brief(address, 100)!r}: "
            f"{brief(' '.join(str(error).split()), 150)}. Pass an address such as "
            f"tcp://host:8786."
        ) from error
    try:
        yield client
    finally:
        # Workers outlive this plan; what it had them do, and keep at hand, need not.
        if client.status == "running":
            with suppress(Exception):
                client.sync(client._run, end_runs, owner, callback_timeout=SECONDS_TO_END)
        with suppress(Exception):
            client.close(SECONDS_TO_END)


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Keep Dask from printing where a cluster is lost: that is said in one line."""
    import logging

    before = {
        name: logging.getLogger(name).level
        for name in (*CHATTY, *logging.Logger.manager.loggerDict)
        if name.partition(".")[0] in CHATTY
    }
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def places(client: Any, local: bool) -> dict[Kind, int]:
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


def n_gpus_here() -> int:
    """Count the GPUs that may be used."""
    torch = require("torch", purpose="bench run --gpu", install="'recoup[torch]'")
    n = int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
    if not n:
        raise InvalidInputError(
            "bench run --gpu needs a GPU that torch can use. Got none. Drop --gpu."
        )
    return n
