"""How long does planning an audit take, next to one evaluation of the same rows?

    python -m tools.speed.audits            about three minutes
    python -m tools.speed.audits --quick    half a minute, without the largest input

Every figure is a ratio of two measurements made in the same run: seconds alone say more about the
machine than about the code. Times are the best of several, taken in turns. A plan from a file
counts and draws in DuckDB; its peak is that of a fresh process, imports included.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from tools.speed.evaluation import (
    ALPHA,
    MB,
    REPEATS,
    REPEATS_SMALL,
    Report,
    best_in_turns,
    say,
    scored_rows,
    status_bytes,
)

MODULE = "tools.speed.audits"
SIZES = (10_000, 1_000_000, 10_000_000)
# Planning reads rows as an evaluation does, numbers them, and asks for alpha as it does.
LIMIT = 3.0


def compare_on_arrays(report: Report, sizes: tuple[int, ...]) -> None:
    """Plan and evaluate the same arrays, alpha given and estimated."""
    import recoup

    report.section("plan / evaluate, of the same arrays")
    for n in sizes:
        say(f"arrays of {n:,} rows")
        s, scores = scored_rows(n)
        ids = np.random.default_rng(1).permutation(n)
        calls: dict[str, Callable[[], object]] = {
            "evaluate": partial(recoup.evaluate, s, scores, alpha=ALPHA),
            "evaluate auto": partial(recoup.evaluate, s, scores, alpha="auto"),
            "plan": partial(recoup.audit.plan, s, scores, alpha=ALPHA),
            "plan auto": partial(recoup.audit.plan, s, scores),
            "plan ids": partial(recoup.audit.plan, s, scores, alpha=ALPHA, ids=ids),
        }
        times = best_in_turns(calls, REPEATS if n == max(SIZES) else REPEATS_SMALL)
        for what, ours, theirs in (
            ("alpha given", "plan", "evaluate"),
            ("alpha estimated", "plan auto", "evaluate auto"),
            ("alpha given, ids of whole numbers", "plan ids", "evaluate"),
        ):
            report.add(
                f"{n:,} rows, {what}",
                f"{times[ours]:.3f} s",
                f"{times[theirs]:.3f} s",
                times[ours] / times[theirs],
                LIMIT,
                target=f"<= {LIMIT:g}",
            )


def measure_plan(path: str, where: str) -> dict[str, float]:
    """Plan from a file, or from arrays read from it, with the peak of the whole process."""
    import recoup

    start = time.perf_counter()
    if where == "file":
        made = recoup.audit.plan_from(path, label="s", score="p", id="id", alpha=ALPHA)
    else:
        from pyarrow import parquet

        columns = parquet.read_table(path)
        s, scores, ids = (columns[name].to_numpy() for name in ("s", "p", "id"))
        start = time.perf_counter()
        made = recoup.audit.plan(s, scores, ids=ids, alpha=ALPHA)
    seconds = time.perf_counter() - start
    told = sorted(int(one) for one in made.ids)
    return {"seconds": seconds, "peak": status_bytes("VmHWM"), "check": sum(told)}


def compare_on_file(report: Report, n: int) -> None:
    """Plan from a Parquet file and from arrays of the same rows, which choose the same."""
    import pyarrow as pa
    from pyarrow import parquet

    s, scores = scored_rows(n, "int8")
    ids = np.random.default_rng(1).permutation(n)
    with tempfile.TemporaryDirectory(prefix="recoup-speed-") as folder:
        path = str(Path(folder) / "rows.parquet")
        parquet.write_table(pa.table({"s": s, "p": scores, "id": ids}), path)
        found = {}
        for where in ("file", "arrays"):
            say(f"plan of {n:,} rows from {where}")
            command = [sys.executable, "-m", MODULE, "--child", json.dumps([path, where])]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[where] = json.loads(done.stdout)
    file, arrays = found["file"], found["arrays"]
    assert file["check"] == arrays["check"], "The file and the arrays chose other rows."
    report.section(f"plan from a Parquet file of {n:,} rows / from arrays of it")
    for what, unit, digits in (("seconds", "s", 1), ("peak", "MB", 0)):
        scale = MB if what == "peak" else 1
        report.add(
            "time, reading the arrays left out" if what == "seconds" else "peak of the process",
            f"{file[what] / scale:,.{digits}f} {unit}",
            f"{arrays[what] / scale:,.{digits}f} {unit}",
            file[what] / arrays[what],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest input")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure_plan(*json.loads(options.child))))
        return
    sizes = SIZES[:-1] if options.quick else SIZES
    report = Report()
    compare_on_arrays(report, sizes)
    compare_on_file(report, sizes[-1])
    Console(width=130, highlight=False).print(report.table)


if __name__ == "__main__":
    main()
