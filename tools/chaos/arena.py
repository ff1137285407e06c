"""A benchmark in a folder of its own, with what it takes to start it, look at it and disturb it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recoup.bench import Store
from recoup.bench.record import DEFINED, compared_columns

LEARNER = '''
import time
import numpy as np
from recoup.learners.base import LearnerTags, PULearner


class Slow(PULearner):
    """Scores by one column, after a while."""

    tags = LearnerTags(key="slow", family="test", cost="none", source="test")

    def __init__(self, column=0, wait=0.0, random_state=None):
        self.column, self.wait, self.random_state = column, wait, random_state

    def _fit(self, X, s, rng):
        time.sleep(self.wait)
        self.noise_ = rng.normal(scale=0.01, size=X.shape[1])
        self.middle_ = X[s == 1].mean(axis=0)

    def _decide(self, X):
        return X @ (self.noise_ + np.eye(X.shape[1])[self.column]) - self.middle_[self.column] / 2
'''
# A clock that is set to another day while programs run.
CLOCK = """
import time
real, start = time.time, time.monotonic()
time.time = lambda: real() + (0.0 if time.monotonic() < start + 4 else JUMP)
"""
PLAN = """
about: Many short runs.
datasets: [iris]
label_frequencies: [0.5]
mechanisms: [scar, s3]
seeds: SEEDS
learners: [{key: slow, grid: {column: [0, 1, 2]}, params: {wait: 0.6}}]
"""
SEEDS = tuple(range(1, 13))
SECONDS = 600.0


class Lost(Exception):
    """Something was lost, hung, or not said in one line."""


class Arena:
    """A folder with a plan, a learner for it, and stores.

    Parameters
    ----------
    folder : Path
        An empty folder.
    rng : Random
        Chooses whom to disturb, and when.
    """

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.folder, self.rng = folder, rng
        self.calm, self.storm = folder / "calm.sqlite", folder / "storm.sqlite"
        self.plan = self.write_plan("plan.yaml", SEEDS)
        self.kept: dict[str, Any] = {}
        plugin = folder / "plugin"
        info = plugin / "slow-1.0.dist-info"
        info.mkdir(parents=True)
        (plugin / "slow_learner.py").write_text(LEARNER)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[recoup.learners]\nslow = slow_learner:Slow\n")
        self.path = os.pathsep.join([*filter(None, sys.path), str(plugin)])
        # This process reads the stores, and should know the learner too.
        sys.path.append(str(plugin))

    def write_plan(self, name: str, seeds: tuple[int, ...]) -> Path:
        """Write the plan with some seeds."""
        path = self.folder / name
        path.write_text(PLAN.replace("SEEDS", str(list(seeds))))
        return path

    def start(self, *arguments: object, module: str = "recoup.cli", **options: Any) -> Running:
        """Start a command in a process group of its own."""
        environment: dict[str, str] = options.pop("environment", {})
        path = environment.get("PYTHONPATH", self.path)
        process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=self.folder,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | environment | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **options,
        )
        return Running(process)

    def driver(self, *more: object, store: Path | None = None, **options: Any) -> Running:
        """Start the benchmark."""
        arguments = ("bench", "run", self.plan, "--store", store or self.storm)
        workers = () if "--scheduler" in more else ("--workers", 2)
        return self.start(*arguments, *workers, *more, **options)

    def n_kept(self) -> int:
        """Count the runs that the disturbed store has now."""
        return len(Store(self.storm).statuses())

    def under_way(self, running: Running) -> None:
        """Wait until one to three more runs are kept."""
        goal = self.n_kept() + self.rng.randint(1, 3)
        wait_for(lambda: self.n_kept() >= goal or not running.alive, "no run came to its end")

    def check_kept(self) -> None:
        """Require that all that was ever finished is in the store, as it was."""
        now = results(self.storm)
        lost = [run for run, row in self.kept.items() if now.get(run) != row]
        if lost:
            raise Lost(f"{len(lost)} finished runs are gone or changed, {lost[0]} among them")
        self.kept = {run: row for run, row in now.items() if row["status"] == "done"}


class Running:
    """A command that was started.

    Parameters
    ----------
    process : Popen
        Its process.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def end(self, seconds: float = SECONDS) -> tuple[int, str]:
        """Wait for the end, and return the exit code and what was said on stderr."""
        try:
            _, said = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise Lost(f"still there after {seconds:.0f} s") from error
        if "Traceback" in said:
            raise Lost(f"a traceback: {said[-300:]}")
        return self.process.returncode, said

    def refused(self, words: str) -> None:
        """Require an end with one line that holds some words."""
        code, said = self.end()
        lines = [line for line in said.splitlines() if line.startswith("recoup: ")]
        if code != 2 or len(lines) != 1 or words not in said:
            raise Lost(f"code {code}, not one line with {words!r}: {said[-300:]!r}")

    def signal(self, number: int) -> None:
        """Send a signal to it and all that it started."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        """Kill it alone, as a machine would that runs out of memory."""
        self.process.kill()
        self.process.communicate()

    def workers(self) -> list[int]:
        """Return the processes that hold runs: they start others."""
        return [pid for pid in descendants(self.process.pid) if "spawn_main" in command(pid)]

    def run_processes(self) -> list[int]:
        """Return the processes that do runs."""
        return [pid for pid in descendants(self.process.pid) if "bench.worker" in command(pid)]


def descendants(pid: int) -> list[int]:
    """Return the processes below one, nearest first."""
    found, look = [], [pid]
    while look:
        parent = look.pop(0)
        try:
            tasks = list(Path(f"/proc/{parent}/task").iterdir())
            texts = [(task / "children").read_text() for task in tasks]
            children = [int(one) for text in texts for one in text.split()]
        except (OSError, ValueError):
            continue
        found += children
        look += children
    return found


def command(pid: int) -> str:
    """Return the command line of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def send(pid: int, number: int) -> None:
    """Send a signal to a process, if it is still there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def wait_for(holds: Callable[[], bool], otherwise: str, seconds: float = SECONDS) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise Lost(otherwise)
        time.sleep(0.05)


def results(path: Path) -> dict[str, dict[str, Any]]:
    """Return what must not depend on what happened under way, by run."""
    shown = (*DEFINED, "learner", "seed", "protocol", "status", "reason", *compared_columns())
    return {row["run"]: {name: row[name] for name in shown} for row in Store(path).rows()}


def differences(calm: Path, storm: Path) -> list[str]:
    """Say in which runs two stores differ."""
    one, other = results(calm), results(storm)
    return sorted(run for run in one.keys() | other.keys() if one.get(run) != other.get(run))


FREEZE, THAW = signal.SIGSTOP, signal.SIGCONT
