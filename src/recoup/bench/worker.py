"""Do each run in a process of its own, so that what kills it kills nothing else.

A worker keeps such a process warm and hands it one run after the other. One that crashed or was
ended is replaced, and so is one that ran out of memory or failed on a GPU: what it left behind
must not reach the next run.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from recoup._core.checks import brief
from recoup._core.optional import require
from recoup._core.text import show_bytes

SECONDS_BETWEEN_LOOKS = 0.05
SECONDS_TO_START = 120.0
CHUNK = 2**20
# One core per run: more of them would only take cores from the other runs, and the order of sums
# on several cores is not always the same.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SERVE = "import sys; from recoup.bench.worker import serve; serve(int(sys.argv[1]), sys.argv[2])"


def attempt(
    definition: Mapping[str, Any],
    seconds: float,
    memory: int | None,
    device: str = "cpu",
    owner: str = "",
) -> dict[str, Any]:
    """Do a run in the process of this thread; called on a worker.

    Parameters
    ----------
    definition : mapping
        Of a :class:`recoup.bench.job.Job`.
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
        As of :func:`recoup.bench.trial.execute`.
    """
    process = _own_process(device)
    process.owner = owner
    found = process.do({"definition": definition, "device": device}, seconds, memory)
    if found["status"] == "failed" and (device != "cpu" or found["spoilt"] or not process.alive):
        process.end()
        _processes.by_device.pop(device, None)
    return found


def end_runs(owner: str) -> None:
    """End the processes that did their last run for somebody; called on a worker."""
    for process in _all:
        if process.owner == owner:
            process.kill()


class Process:
    """A child that does runs, one at a time."""

    owner = ""

    def __init__(self, device: str) -> None:
        reading, writing = os.pipe()
        environment = os.environ | dict.fromkeys(THREADS, "1")
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
        )
        os.close(writing)
        self._answers = reading
        self._buffer = b""
        self._ready = False

    def do(self, request: Mapping[str, Any], seconds: float, memory: int | None) -> dict[str, Any]:
        """Have something done, and say why it was not if it was not."""
        started = time.perf_counter()
        if not self._ready:
            said = self._answer(SECONDS_TO_START, None)
            if isinstance(said, str):
                return _failed(f"The process for runs did not start. {said}", started)
            self._ready = True
            started = time.perf_counter()
        stream = self._child.stdin
        assert stream is not None
        try:
            stream.write(json.dumps(request).encode() + b"\n")
            stream.flush()
        except OSError:
            return _failed(self._why_it_ended(), started)
        said = self._answer(seconds, memory)
        return _failed(said, started) if isinstance(said, str) else said

    @property
    def alive(self) -> bool:
        """Whether the child still waits for runs."""
        return self._child.poll() is None

    def kill(self) -> None:
        """Kill the child; who waits for it is told."""
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
            readable, _, _ = select.select([self._answers], [], [], wait)
            if readable:
                chunk = os.read(self._answers, CHUNK)
                if not chunk:
                    return self._why_it_ended()
                self._buffer += chunk
            elif time.monotonic() >= deadline:
                self._child.kill()
                return f"Ended after {seconds:,.0f} s, the limit of time."
            elif memory is not None and (_resident(self._child.pid) or 0) > memory:
                self._child.kill()
                return f"Ended at {show_bytes(memory)}, the limit of memory."
        line, _, self._buffer = self._buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _why_it_ended(self) -> str:
        try:
            code = self._child.wait(5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait()
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
    from recoup.bench.trial import execute, warm_up

    if device != "cpu":
        torch = require("torch", purpose="bench run --gpu", install="'recoup[torch]'")
        # It takes seconds until a GPU answers; the first run reads its rows meanwhile.
        threading.Thread(target=torch.zeros, args=(1,), kwargs={"device": device}).start()
    with os.fdopen(answers, "wb") as out:
        out.write(b"{}\n")
        out.flush()
        warm = 0
        for line in sys.stdin.buffer:
            request = json.loads(line)
            found = execute(request["definition"], request["device"])
            out.write(json.dumps(found, allow_nan=False).encode() + b"\n")
            out.flush()
            if warm < warm_up.cache_info().currsize:
                warm = warm_up.cache_info().currsize
                # What was imported stays: looking through it again takes a tenth of a second.
                gc.collect()
                gc.freeze()


def _die_with(parent: int) -> None:
    """End this process when its parent is gone: nobody waits for what it computes."""
    while os.getppid() == parent:
        time.sleep(0.25)
    os._exit(1)
