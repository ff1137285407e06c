"""Do each run in a process of its own, so that what kills it kills nothing else.

A worker keeps such a process warm and hands it one run after the other. One that crashed or was
ended is replaced, and so is one that ran out of memory or failed on a GPU: what it left behind
must not reach the next run.
"""

from __future__ import annotations

import atexit
import base64
import gc
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from recoup._core.checks import brief
from recoup._core.optional import require
from recoup._core.text import show_bytes
from recoup.exceptions import InvalidInputError, MissingDependencyError

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_START = 120.0
CHUNK = 2**20
# One core per run: more of them would only take cores from the other runs, and the order of sums
# on several cores is not always the same.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
LONGEST_REASON = 500
SERVE = "import sys; from recoup.bench.worker import serve; serve(int(sys.argv[1]), sys.argv[2])"


Measure: TypeAlias = Callable[[Mapping[str, Any], str], tuple[dict[str, Any], dict[str, Any]]]
"""Does a run: takes a definition and a device, returns columns of the store, and details."""


def packed(measure: Measure) -> str:
    """Write a function as text, so that other processes can have it."""
    cloudpickle = require("cloudpickle", purpose="bench run", install="'recoup[cluster]'")
    return base64.b64encode(cloudpickle.dumps(measure)).decode()


def attempt(
    measure: str,
    definition: Mapping[str, Any],
    seconds: float,
    memory: int | None,
    device: str = "cpu",
    owner: str = "",
) -> dict[str, Any]:
    """Do a run in the process of this thread; called on a worker.

    Parameters
    ----------
    measure : str
        Who does it, as :func:`packed` writes it.
    definition : mapping
        What is to be done; of a :class:`recoup.bench.job.Job`, say.
    seconds : float
        After which it is ended.
    memory : int or None
        Bytes at which it is ended.
    device : {"cpu", "cuda"}, default="cpu"
        Where networks are trained.
    owner : str, default=""
        Who asks for it, and may have it ended by :func:`end_runs`.

    Returns
    -------
    dict
        As of :func:`execute`.
    """
    process = _own_process(device)
    process.owner = owner
    found = process.do(measure, definition, device, seconds, memory)
    if found["status"] == "failed" and (device != "cpu" or found["spoilt"] or not process.alive):
        process.end()
        _processes.by_device.pop(device, None)
    return found


def end_runs(owner: str) -> None:
    """End the processes that did their last run for somebody; called on a worker."""
    for process in _all:
        if process.owner == owner:
            process.kill()


def execute(measure: Measure, definition: Mapping[str, Any], device: str = "cpu") -> dict[str, Any]:
    """Do a run in this process, and return what is kept of it.

    Parameters
    ----------
    measure : callable
        Who does it.
    definition : mapping
        What is to be done.
    device : {"cpu", "cuda"}, default="cpu"
        Where networks are trained.

    Returns
    -------
    dict
        ``status``, ``reason``, ``row`` (columns of the store), ``details`` and ``elapsed``
        seconds; ``also`` other runs that the same work answers, each with its ``definition``,
        ``row`` and ``details``; for a failed run whether the process is ``spoilt`` for others.
    """
    started = time.perf_counter()
    try:
        row, details = measure(definition, device)
        also = details.pop("also", [])
        found: dict[str, Any] = {"status": "done", "reason": None, "row": row, "details": details}
        found["also"] = also
    except (InvalidInputError, MissingDependencyError) as error:
        # These rows are refused, or cannot be had: nothing went wrong.
        found = _without_result("skipped", str(error))
    except Exception as error:
        found = _without_result("failed", f"{type(error).__name__}: {error}")
        found["spoilt"] = isinstance(error, MemoryError)
    found["elapsed"] = time.perf_counter() - started
    return found


def _without_result(status: str, reason: str) -> dict[str, Any]:
    flat = brief(" ".join(reason.split()), LONGEST_REASON)
    return {"status": status, "reason": flat, "row": {}, "details": {}}


class Process:
    """A child that does runs, one at a time."""

    owner = ""

    def __init__(self, device: str) -> None:
        reading, writing = os.pipe()
        environment = os.environ | dict.fromkeys(THREADS, "1")
        # What can be imported here can be imported there.
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        if device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed in end()
        self._child = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(writing), device],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env=environment,
            pass_fds=(writing,),
            # What a run starts ends with it.
            start_new_session=True,
        )
        os.close(writing)
        self._answers = reading
        self._buffer = b""
        self._learnt = ""

    def do(
        self,
        measure: str,
        definition: Mapping[str, Any],
        device: str,
        seconds: float,
        memory: int | None,
    ) -> dict[str, Any]:
        """Have something done, and say why it was not if it was not."""
        started = time.perf_counter()
        if measure != self._learnt:
            said = self._ask({"measure": measure}, SECONDS_TO_START, None)
            if isinstance(said, str):
                return _failed(f"The process for runs did not start. {said}", started)
            self._learnt = measure
            started = time.perf_counter()
        said = self._ask({"definition": definition, "device": device}, seconds, memory)
        return _failed(said, started) if isinstance(said, str) else said

    def _ask(
        self, request: Mapping[str, Any], seconds: float, memory: int | None
    ) -> dict[str, Any] | str:
        stream = self._child.stdin
        assert stream is not None
        try:
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
        except OSError:
            return self._why_it_ended()
        return self._answer(seconds, memory)

    @property
    def alive(self) -> bool:
        """Whether the child still waits for runs."""
        return self._child.poll() is None

    def kill(self) -> None:
        """Kill the child and all that it started; who waits for it is told."""
        with suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.kill()

    def end(self) -> None:
        """Kill the child and close what belongs to it."""
        self.kill()
        self._child.wait()
        if self._child.stdin is not None:
            with suppress(OSError):
                self._child.stdin.close()
        with suppress(OSError):
            os.close(self._answers)
        self._errors.close()

    def _answer(self, seconds: float, memory: int | None) -> dict[str, Any] | str:
        """Wait for a line; return why none came if none did."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            wait = min(SECONDS_BETWEEN_LOOKS, max(deadline - time.monotonic(), 0.0))
            # Looked at before the pipe: what the child has said to its end is in there by then.
            ended = not self.alive
            readable, _, _ = select.select([self._answers], [], [], wait)
            if readable:
                chunk = os.read(self._answers, CHUNK)
                if not chunk:
                    return self._why_it_ended()
                self._buffer += chunk
            elif ended:
                # What the child started may live on and keep the other end open.
                return self._why_it_ended()
            elif time.monotonic() >= deadline:
                self.kill()
                return f"Ended after {seconds:,.0f} s, the limit of time."
            elif memory is not None and (_resident(self._child.pid) or 0) > memory:
                self.kill()
                return f"Ended at {show_bytes(memory)}, the limit of memory."
        line, _, self._buffer = self._buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _why_it_ended(self) -> str:
        try:
            code = self._child.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._child.wait()
        self.kill()
        if code == -signal.SIGKILL:
            return "Killed by the system, most likely for want of memory (SIGKILL)."
        if code < 0:
            return f"Crashed: {signal.strsignal(-code)} ({signal.Signals(-code).name})."
        return f"The process ended with code {code}.{self._last_words()}"

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f" It said: {brief(lines[-1], 200)}" if lines else ""


def _failed(reason: str, started: float) -> dict[str, Any]:
    found = {"status": "failed", "reason": reason, "row": {}, "details": {}, "spoilt": True}
    return found | {"elapsed": time.perf_counter() - started}


def _resident(pid: int) -> int | None:
    """Return the bytes of main memory that a process holds."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        pass
    with suppress(Exception):
        psutil = require("psutil", purpose="A limit of memory", install="psutil")
        return int(psutil.Process(pid).memory_info().rss)
    return None


class _OfThread(threading.local):
    """The processes of a thread, by device."""

    def __init__(self) -> None:
        self.by_device: dict[str, Process] = {}


_processes = _OfThread()
_all: list[Process] = []


def _own_process(device: str) -> Process:
    process = _processes.by_device.get(device)
    if process is not None and not process.alive:
        process.end()
        process = None
    if process is None:
        process = _processes.by_device[device] = Process(device)
        _all.append(process)
    return process


@atexit.register
def _end_all() -> None:
    for process in _all:
        with suppress(OSError, ValueError):
            process.end()


def dask_setup(_: Any) -> None:
    """Leave an interrupt on the terminal to the driver; Dask calls this as a worker starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def serve(answers: int, device: str) -> None:
    """Do runs as they come in, one JSON text per line, until the parent is gone."""
    # An interrupt on the terminal is for the driver, which ends its workers in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    if device != "cpu":
        torch = require("torch", purpose="bench run --gpu", install="'recoup[torch]'")
        # It takes seconds until a GPU answers; the first run reads its rows meanwhile.
        threading.Thread(target=torch.zeros, args=(1,), kwargs={"device": device}).start()
    with os.fdopen(answers, "wb") as out:
        n_imported = 0
        for line in sys.stdin.buffer:
            request = json.loads(line)
            found: dict[str, Any] = {}
            if "measure" in request:
                measure: Measure = pickle.loads(base64.b64decode(request["measure"]))
            else:
                found = execute(measure, request["definition"], request["device"])
            out.write(json.dumps(found, allow_nan=False).encode() + b"\n")
            out.flush()
            if found and n_imported < len(sys.modules):
                n_imported = len(sys.modules)
                # What was imported stays: looking through it again takes a tenth of a second.
                gc.collect()
                gc.freeze()


def _die_with(parent: int) -> None:
    """End this process when its parent is gone: nobody waits for what it computes."""
    while os.getppid() == parent:
        time.sleep(0.25)
    with suppress(OSError):
        # It leads a group of its own, with whatever the run has started.
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
