"""Give recoup what nobody should: odd files, odd options, damaged folders, stores and plans.

    python -m tools.fuzz --seconds 1800              for half an hour
    python -m tools.fuzz --seed 3 --cases 500        the same cases each time
    python -m tools.fuzz --seed 3 --only 271         one of them again, with its traceback

Each case must end in an answer, or in one line that says why there is none. What ends otherwise is
printed with its number, and the exit code is 1. Should a case end the process itself, its number
is in the last line on stderr.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from tools.fuzz.cases import KINDS, Broken, Case

SLOW = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=0, help="where all cases come from")
    parser.add_argument("--cases", type=int, help="how many; by default as many as there is time")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which no case begins")
    parser.add_argument("--only", type=int, help="the number of the one case to do")
    asked = parser.parse_args()
    if asked.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            print(one_case(asked.seed, asked.only, Path(folder)))
        return
    found = fuzzed(asked.seed, asked.cases, asked.seconds)
    sys.exit(1 if found else 0)


def fuzzed(
    seed: int, cases: int | None, seconds: float, kinds: tuple[Case, ...] = KINDS
) -> list[str]:
    """Do cases, and return what went wrong in them."""
    started, problems, done = time.monotonic(), [], Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        number = 0
        while (cases is None or number < cases) and time.monotonic() - started < seconds:
            print(f"\rcase {number}", end="", file=sys.stderr, flush=True)
            began = time.monotonic()
            kind = kinds[number % len(kinds)]
            try:
                one_case(seed, number, Path(folder), kinds)
                if time.monotonic() - began > SLOW:
                    raise Broken(f"took {time.monotonic() - began:.0f} s")
            except (Exception, SystemExit) as error:
                why = " ".join(f"{type(error).__name__}: {error}".split())
                problems.append(f"--seed {seed} --only {number} ({kind.__name__}): {why}")
                print(f"\r{problems[-1]}", flush=True)
            done[kind.__name__] += 1
            number += 1
    told = ", ".join(f"{n:,} {name}" for name, n in done.items())
    print(f"\r{number:,} cases ({told}), {len(problems)} problems.", flush=True)
    return problems


def one_case(seed: int, number: int, folder: Path, kinds: tuple[Case, ...] = KINDS) -> str:
    """Do one case, and return what it was about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kinds[number % len(kinds)](random.Random(f"{seed} {number}"), folder)


if __name__ == "__main__":
    main()
