"""Learners that misbehave, in a package of their own, as a user would install one."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

MODULE = '''
import os
import signal
import time
import numpy as np
from recoup.learners.base import LearnerTags, PULearner


class Quick(PULearner):
    """Scores by one column; takes some milliseconds, and notes each fit in a file."""

    tags = LearnerTags(key="quick", family="test", cost="none", source="test")

    def __init__(self, column=0, wait=0.0, log=None, random_state=None):
        self.column, self.wait, self.log, self.random_state = column, wait, log, random_state

    def _fit(self, X, s, rng):
        time.sleep(self.wait)
        self.noise_ = rng.normal(scale=0.01, size=X.shape[1])
        self.middle_ = X[s == 1].mean(axis=0)
        if self.log:
            with open(self.log, "a") as stream:
                stream.write("x")

    def _decide(self, X):
        return X @ (self.noise_ + np.eye(X.shape[1])[self.column]) - self.middle_[self.column] / 2


class Crashes(Quick):
    tags = LearnerTags(key="crashes", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        os.kill(os.getpid(), signal.SIGSEGV)


class Hungry(Quick):
    tags = LearnerTags(key="hungry", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        kept = []
        for _ in range(200):
            kept.append(np.ones(4_000_000))
            time.sleep(0.002)


class Hangs(Quick):
    tags = LearnerTags(key="hangs", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        while True:
            time.sleep(1)


class Fails(Quick):
    tags = LearnerTags(key="fails", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        raise RuntimeError("no\\nluck")


class Misnamed(Quick):
    """Fails over a file whose name is no UTF-8."""

    tags = LearnerTags(key="misnamed", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        raise RuntimeError("no /home/jos\\udce9")


class Strange(Quick):
    """Says that its best epoch is what no table can hold."""

    tags = LearnerTags(key="strange", family="test", cost="none", source="test")

    def __init__(self, kind="array", column=0, wait=0.0, log=None, random_state=None):
        super().__init__(column, wait, log, random_state)
        self.kind = kind

    def _fit(self, X, s, rng):
        super()._fit(X, s, rng)
        self.best_epoch_ = np.arange(3) if self.kind == "array" else 10**30


class Orphans(Quick):
    """Crashes, and leaves a process behind that keeps all files open."""

    tags = LearnerTags(key="orphans", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        if not os.fork():
            time.sleep(600)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSEGV)


class KillsWorker(Quick):
    """Takes its worker down with it."""

    tags = LearnerTags(key="kills-worker", family="test", cost="none", source="test")

    def _fit(self, X, s, rng):
        if self.log:
            with open(self.log, "a") as stream:
                stream.write("x")
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
'''
NAMES = (
    *("Quick", "Crashes", "Hungry", "Hangs", "Fails", "KillsWorker"),
    *("Misnamed", "Strange", "Orphans"),
)
KEYS = (
    *("quick", "crashes", "hungry", "hangs", "fails", "kills-worker"),
    *("misnamed", "strange", "orphans"),
)


@pytest.fixture(scope="session")
def environment(tmp_path_factory):
    """What processes need in their environment to find the learners above."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "misbehaving.py").write_text(MODULE)
    info = folder / "misbehaving-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n")
    points = "".join(f"{key} = misbehaving:{name}\n" for key, name in zip(KEYS, NAMES, strict=True))
    (info / "entry_points.txt").write_text(f"[recoup.learners]\n{points}")
    path = os.pathsep.join([str(SOURCE), str(folder)])
    kept = {name: value for name, value in os.environ.items() if name != "RECOUP_DATA"}
    return kept | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def recoup(environment, tmp_path):
    """Start ``recoup ...`` in a process group of its own, in an empty folder."""

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "recoup.cli", *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    started = []
    # Shells start jobs in the background with this signal ignored, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield start
    signal.signal(signal.SIGINT, before)
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def write_plan(tmp_path):
    def write(text, name="plan.yaml"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text))
        return path

    return write
