"""What happens to a benchmark; each event ends with the store as whole as before."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from recoup.bench import Store
from tools.chaos.arena import CLOCK, FREEZE, SEEDS, THAW, Arena, Lost, results, send, wait_for

FROZEN = 3.0
DAY = 86_400


def driver_killed(arena: Arena) -> None:
    """The driver is killed while runs are under way."""
    driver = arena.driver()
    arena.under_way(driver)
    driver.kill()


def worker_killed(arena: Arena) -> None:
    """A worker is killed; others do its run, and the driver goes on."""
    _hit(arena, "workers", signal.SIGKILL)


def run_killed(arena: Arena) -> None:
    """The process that does a run is killed: that run counts as failed, the rest goes on."""
    _hit(arena, "run_processes", signal.SIGKILL)


def worker_frozen(arena: Arena) -> None:
    """A worker stands still for some seconds."""
    _hit(arena, "workers", FREEZE, THAW)


def run_frozen(arena: Arena) -> None:
    """The process that does a run stands still for some seconds."""
    _hit(arena, "run_processes", FREEZE, THAW)


def driver_frozen(arena: Arena) -> None:
    """The driver stands still for some seconds."""
    driver = arena.driver()
    arena.under_way(driver)
    send(driver.process.pid, FREEZE)
    time.sleep(FROZEN)
    send(driver.process.pid, THAW)
    arena.under_way(driver)
    _interrupted(driver)


def interrupted(arena: Arena) -> None:
    """Somebody presses Ctrl-C."""
    driver = arena.driver()
    arena.under_way(driver)
    _interrupted(driver)


def second_driver(arena: Arena) -> None:
    """The same command is given twice: the second is refused."""
    first = arena.driver()
    arena.under_way(first)
    arena.driver().refused("Another process writes to")
    _interrupted(first)


def lock_removed(arena: Arena) -> None:
    """Somebody removes the lock: a second driver may take it, and one of the two ends."""
    first = arena.driver()
    arena.under_way(first)
    Path(f"{arena.storm}.lock").unlink()
    second = arena.driver()
    wait_for(lambda: not (first.alive and second.alive), "two drivers write to one store")
    loser, other = (first, second) if not first.alive else (second, first)
    if not _is_done(arena):
        loser.refused("Another process writes to")
    if other.alive:
        _interrupted(other)


def disk_full(arena: Arena) -> None:
    """No file may grow any more."""
    room = arena.storm.stat().st_size if arena.storm.exists() else 0
    limit = (room + 30_000, resource.RLIM_INFINITY)
    set_limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, limit)
    driver = arena.driver(preexec_fn=set_limit)
    code, said = driver.end()
    if code == 2 and said.count("recoup: ") != 1:
        raise Lost(f"not one line: {said[-300:]!r}")
    if code == 2 and "Cannot write" not in said:
        raise Lost(f"no word of what cannot be written: {said[-300:]!r}")


def folder_closed(arena: Arena) -> None:
    """The folder takes no files."""
    closed = arena.folder / "closed"
    closed.mkdir(exist_ok=True)
    closed.chmod(0o555)
    # Nothing is closed to root but what is no real folder.
    where = closed if os.geteuid() else Path("/proc")
    arena.driver(store=where / "runs.sqlite").refused("Cannot write")


def store_damaged(arena: Arena) -> None:
    """A copy of the store is damaged: what can still be read of it is right."""
    copy, mended = arena.folder / "damaged.sqlite", arena.folder / "mended.sqlite"
    for file in (copy, mended):
        file.unlink(missing_ok=True)
    content = bytearray(arena.storm.read_bytes()) if arena.storm.exists() else bytearray(9)
    for _ in range(20):
        content[arena.rng.randrange(len(content))] = arena.rng.randrange(256)
    copy.write_bytes(content)
    arena.driver("--limit", "1s", store=copy).end()
    code, said = arena.start("bench", "merge", copy, "--out", mended, "--json").end()
    if code == 2 and said.count("\n") != 1:
        raise Lost(f"not one line: {said[-300:]!r}")
    if code == 0:
        calm = results(arena.calm)
        wrong = [
            run
            for run, row in results(mended).items()
            if row["status"] == "done" and calm.get(run) not in (None, row)
        ]
        if wrong:
            raise Lost(f"{len(wrong)} runs were read from a damaged store, and are wrong")


def store_of_the_future(arena: Arena) -> None:
    """The store was written by a later recoup."""
    later = arena.folder / "later.sqlite"
    shutil.copy(arena.calm, later)
    with closing(sqlite3.connect(later)) as connection:
        connection.execute("PRAGMA user_version = 99")
    arena.driver(store=later).refused("later recoup")
    arena.start("bench", "export", later, "--out", "x.csv").refused("later recoup")


def clock_moved(arena: Arena) -> None:
    """The clock is set a day on, or a year back, while runs are under way."""
    folder = arena.folder / "clock"
    folder.mkdir(exist_ok=True)
    jump = arena.rng.choice([DAY, -365 * DAY])
    (folder / "sitecustomize.py").write_text(CLOCK.replace("JUMP", str(jump)))
    path = os.pathsep.join([str(folder), arena.path])
    driver = arena.driver("--limit", "20s", environment={"PYTHONPATH": path})
    code, said = driver.end()
    if code not in (0, 1):
        raise Lost(f"code {code}: {said[-300:]!r}")


def plan_edited(arena: Arena) -> None:
    """The plan asks for fewer runs, in another order, and then for all again."""
    whole = arena.plan
    arena.plan = arena.write_plan("edited.yaml", SEEDS[: len(SEEDS) // 2][::-1])
    try:
        driver = arena.driver("--limit", "15s")
        driver.end()
    finally:
        arena.plan = whole


def scheduler_killed(arena: Arena) -> None:
    """The cluster dies: the driver says so in one line."""
    where = arena.folder / "where.json"
    where.unlink(missing_ok=True)
    here = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    scheduler = arena.start("scheduler", *here, "--scheduler-file", where, module="dask")
    wait_for(where.exists, "no scheduler came up")
    address = json.loads(where.read_text())["address"]
    worker = arena.start("worker", address, "--nthreads", 2, "--no-dashboard", module="dask")
    try:
        driver = arena.driver("--scheduler", address)
        arena.under_way(driver)
        scheduler.signal(signal.SIGKILL)
        if driver.alive and not _is_done(arena):
            driver.refused("lost its Dask cluster")
    finally:
        for process in (scheduler, worker):
            if process.alive:
                process.signal(signal.SIGKILL)


EVENTS: tuple[Callable[[Arena], None], ...] = (
    *(driver_killed, worker_killed, run_killed, worker_frozen, run_frozen, driver_frozen),
    *(interrupted, second_driver, lock_removed, disk_full, folder_closed, store_damaged),
    *(store_of_the_future, clock_moved, plan_edited, scheduler_killed),
)


def _hit(arena: Arena, whom: str, *signals: int) -> None:
    """Send signals to a process below the driver, some seconds apart, and see runs go on."""
    driver = arena.driver()
    arena.under_way(driver)
    found: list[int] = getattr(driver, whom)()
    if found:
        chosen = arena.rng.choice(found)
        for place, number in enumerate(signals):
            time.sleep(FROZEN if place else 0.0)
            send(chosen, number)
    arena.under_way(driver)
    _interrupted(driver)


def _interrupted(driver: Any) -> None:
    """Press Ctrl-C; a driver that was at its end anyway has another code."""
    if not driver.alive:
        driver.end()
        return
    driver.signal(signal.SIGINT)
    code, said = driver.end(120)
    if code not in (0, 1, 130):
        raise Lost(f"code {code} after an interrupt: {said[-300:]!r}")


def _is_done(arena: Arena) -> bool:
    return len(Store(arena.storm).statuses()) == len(results(arena.calm))
