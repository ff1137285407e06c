"""Work through a list on all cores, for as long as there is time, and go on later.

What is finished is a line of a JSON file, written at once, so that a run that ends by itself, by
its limit or by a crash loses no more than what it was at. On a machine without the packages that
recoup only needs elsewhere, numpy, scipy and scikit-learn will do.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

# One thread each: with a process per core, more of them only wait for each other.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# What is begun may take this long beyond the limit before it is stopped.
GRACE = 45.0
Rows = list[dict[str, Any]]


class Piece(NamedTuple):
    """Something to do.

    Attributes
    ----------
    name : str
        What it is known by once it is finished.
    work : callable
        Does it; a function of a module.
    arguments : tuple
        What the function is called with.
    """

    name: str
    work: Callable[..., Rows]
    arguments: tuple[Any, ...]


def finished(path: Path) -> dict[str, Rows]:
    """Return what is done by name; a line that was cut short counts as not done."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            one = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[one["name"]] = one["rows"]
    return found


def work_through(
    pieces: Iterable[Piece], path: Path, *, jobs: int = 1, limit: float = float("inf")
) -> int:
    """Do what is not done yet, in order, and return how many pieces were done.

    Parameters
    ----------
    pieces : iterable of Piece
        What there is to do, the most telling first.
    path : Path
        Where finished pieces are written.
    jobs : int, default=1
        Processes.
    limit : float, default=inf
        Seconds after which nothing more is begun.
    """
    known, until = finished(path), time.monotonic() + limit
    missing = (piece for piece in pieces if piece.name not in known)
    path.parent.mkdir(parents=True, exist_ok=True)
    end_last_line(path)
    started, count = time.monotonic(), 0
    with path.open("a") as out:
        for name, rows in _done(missing, jobs, until):
            out.write(json.dumps({"name": name, "rows": rows}) + "\n")
            out.flush()
            count += 1
            if count % 50 == 0:
                print(f"{count} done, {time.monotonic() - started:.0f} s", flush=True)
    print(f"{count} done in {time.monotonic() - started:.0f} s, {path}", flush=True)
    return count


def _done(pieces: Iterator[Piece], jobs: int, until: float) -> Iterator[tuple[str, Rows]]:
    if jobs == 1:
        for piece in pieces:
            if time.monotonic() > until:
                return
            yield from _do(piece)
        return
    for name in THREADS:
        os.environ[name] = "1"
    # Not forked: threads that a library has begun do not live on in a copy.
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        running = [pool.apply_async(_do, (piece,)) for piece in islice(pieces, jobs + 2)]
        while running:
            if time.monotonic() > until + GRACE:
                return
            ready = [one for one in running if one.ready()]
            running = [one for one in running if one not in ready]
            for one in ready:
                yield from one.get()
                if time.monotonic() < until:
                    running += [pool.apply_async(_do, (piece,)) for piece in islice(pieces, 1)]
            if not ready:
                time.sleep(0.05)


def _do(piece: Piece) -> list[tuple[str, Rows]]:
    """Do a piece; one that fails is said, not written, and ends nothing else."""
    warnings.simplefilter("ignore")
    try:
        from torch import set_num_threads
    except ImportError:
        pass
    else:
        set_num_threads(1)
    try:
        return [(piece.name, piece.work(*piece.arguments))]
    except Exception as error:
        print(f"{piece.name} failed: {type(error).__name__}: {error}", flush=True)
        return []


def spread(*groups: tuple[float, list[Piece]]) -> list[Piece]:
    """Mix groups, so that of any beginning each has its part.

    A group with haste 2 is finished when one with haste 1 is half done.
    """
    placed = [
        ((number + 0.5) / len(pieces) / haste, place, number, piece)
        for place, (haste, pieces) in enumerate(groups)
        for number, piece in enumerate(pieces)
    ]
    return [piece for *_, piece in sorted(placed, key=lambda one: one[:3])]


def end_last_line(path: Path) -> None:
    """End a line that was cut short, so that the next one is not lost with it."""
    if path.exists() and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        with path.open("a") as out:
            out.write("\n")
