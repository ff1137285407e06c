"""Disturb a benchmark in every way that machines know, and compare its store with a calm one.

    python -m tools.chaos                                 every event once, in random order
    python -m tools.chaos --events disk_full clock_moved  these alone
    python -m tools.chaos --rounds 5 --seed 3             all of them five times

After each event, whatever was finished before must be in the store as it was. At the end the same
command is given once more, and the store must hold what the calm one does, row by row. The exit
code is 1 where it does not, or where an event hung, or said something else than one line.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools.chaos.arena import Arena, Lost, differences, results
from tools.chaos.events import EVENTS

NAMES = {event.__name__: event for event in EVENTS}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0, help="of the order, and of all that is hit")
    parser.add_argument("--rounds", type=int, default=1, help="how often each event happens")
    parser.add_argument("--events", nargs="+", choices=sorted(NAMES), metavar="EVENT")
    asked = parser.parse_args()
    problems = weathered(asked.events or list(NAMES), asked.rounds, asked.seed)
    sys.exit(1 if problems else 0)


def weathered(names: Sequence[str], rounds: int, seed: int) -> list[str]:
    """Have all events happen, and return what went wrong."""
    # Shells start jobs in the background with this signal ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng, problems = random.Random(seed), list[str]()
    waiting = [name for name in names for _ in range(rounds)]
    rng.shuffle(waiting)
    with tempfile.TemporaryDirectory() as folder:
        arena = Arena(Path(folder), rng)
        code, said = arena.driver(store=arena.calm).end()
        if code:
            raise SystemExit(f"The calm benchmark ended with code {code}: {said}")
        print(f"calm: {len(results(arena.calm))} runs", flush=True)
        for name in waiting:
            began = time.monotonic()
            if len(arena.kept) > 0.7 * len(results(arena.calm)):
                start_anew(arena)
            try:
                NAMES[name](arena)
                arena.check_kept()
                told = "ok"
            except Lost as error:
                told = str(error)
                problems.append(f"{name}: {told}")
            seconds = time.monotonic() - began
            print(f"{name:22s} {len(arena.kept):3d} done, {seconds:4.0f} s: {told}", flush=True)
        code, said = arena.driver("--retry-failed").end()
        different = differences(arena.calm, arena.storm)
        if code or different:
            problems.append(f"code {code}, {len(different)} runs differ from the calm store")
    print("; ".join(problems) or "The store equals the calm one, row by row.")
    return problems


def start_anew(arena: Arena) -> None:
    """Finish the store, compare it, and begin another: the last runs leave little to disturb."""
    code, said = arena.driver("--retry-failed").end()
    different = differences(arena.calm, arena.storm)
    if code or different:
        raise SystemExit(f"code {code}, {len(different)} runs differ from the calm store: {said}")
    for file in arena.storm.parent.glob(f"{arena.storm.name}*"):
        file.unlink()
    arena.kept = {}


if __name__ == "__main__":
    main()
