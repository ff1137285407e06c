"""How fast is recoup, and how much memory does it take, next to tools everybody knows?

    python -m tools.speed.evaluation            about four minutes
    python -m tools.speed.evaluation --quick    half a minute, without the largest inputs

Every figure is a ratio of two measurements made in the same run, since seconds alone say more
about the machine than about the code. Times are the best of several, taken in turns, so that other
load on the machine strikes both sides alike; memory is measured in fresh processes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

MODULE = "tools.speed.evaluation"
ALPHA = 0.2
REPEATS = 3
REPEATS_SMALL = 7  # short calls cost little, and suffer most from other load
SIZES = (100_000, 1_000_000, 10_000_000)
FILE_ROWS = 50_000_000
# Scores and labels of a row, uncompressed, and as much again for what the engine may spill.
FILE_BYTES_PER_ROW = 2 * (8 + 1)
MB = 1e6
PARTS = ("arrays", "memory", "file", "import")


class Report:
    """Rows of the table that is printed at the end, and progress on stderr until then."""

    def __init__(self) -> None:
        self.table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
        for name in ("", "recoup", "reference", "ratio", "target", ""):
            self.table.add_column(name, justify="left" if name == "" else "right", no_wrap=True)

    def section(self, title: str) -> None:
        self.table.add_section()
        self.table.add_row(f"[bold]{title}[/bold]")

    def add(
        self,
        what: str,
        measured: str,
        reference: str,
        ratio: float | None,
        limit: float | None = None,
        *,
        value: float | None = None,
        target: str = "",
    ) -> None:
        """Add a figure; ``value`` is what the target limits where that is not the ratio."""
        compared = ratio if value is None else value
        verdict = ""
        if limit is not None and compared is not None:
            verdict = "met" if compared <= limit else "[bold]missed[/bold]"
        shown = "" if ratio is None else f"{ratio:.3g}"
        self.table.add_row(what, measured, reference, shown, target, verdict)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def scored_rows(n: int, dtype: str = "int64") -> tuple[np.ndarray, np.ndarray]:
    """Rows in random order, half of them labeled, with continuous scores in [0, 1]."""
    rng = np.random.default_rng(7)
    s = rng.permutation(np.arange(n) % 2).astype(dtype)
    positive = s == 1
    positive |= rng.random(n) < ALPHA
    scores = rng.normal(size=n)
    scores += 2.0 * positive - 1.0
    np.negative(scores, out=scores)
    np.exp(scores, out=scores)
    scores += 1.0
    np.reciprocal(scores, out=scores)
    return s, scores


def evaluate_fully(*rows: Any) -> Any:
    """All metrics with intervals and bounds, all curves, and bands from 2,000 replicates."""
    from recoup import evaluate

    evaluation = evaluate(*rows, alpha=ALPHA, n_boot=2000)
    curves = evaluation.roc, evaluation.pr, evaluation.lift_curve, evaluation.calibration
    assert all(curve is not None for curve in curves)
    assert evaluation.roc_band is not None
    return evaluation


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def best_in_turns(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest time of each call, in rounds that make every call once."""
    rounds = [{name: seconds(call) for name, call in calls.items()} for _ in range(repeats)]
    return {name: min(one[name] for one in rounds) for name in calls}


def in_fresh_process(part: str, **options: Any) -> dict[str, float]:
    """Run one of the functions in ``CHILDREN`` in a process of its own."""
    command = [sys.executable, "-m", MODULE, "--child", json.dumps([part, options])]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def status_bytes(field: str) -> int:
    """Read VmRSS (memory now) or VmHWM (its peak) of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"This system does not tell {field}; leave out memory with --only.")


# 1. Arrays in memory.


def compare_on_arrays(report: Report, sizes: tuple[int, ...]) -> None:
    from sklearn.metrics import average_precision_score, roc_curve

    from recoup import ScoreTable
    from recoup.scores.table import DEFAULT_BINS

    evaluate_fully(*scored_rows(1000))  # imports are not part of the time
    report.section("evaluate / scikit-learn's roc_curve and average_precision_score")
    times = {}
    for n in sizes:
        say(f"arrays of {n:,} rows")
        s, scores = scored_rows(n)
        last = n == max(SIZES)
        times[n] = best_in_turns(
            {
                "evaluate": partial(evaluate_fully, s, scores),
                "roc": partial(roc_curve, s, scores),
                "ap": partial(average_precision_score, s, scores),
                "count": partial(ScoreTable.from_arrays, s, scores, bins=DEFAULT_BINS, keep=(0.5,)),
                "sort": partial(np.sort, scores),
            },
            REPEATS if last else REPEATS_SMALL,
        )
        ours, theirs = times[n]["evaluate"], times[n]["roc"] + times[n]["ap"]
        report.add(
            f"{n:,} rows",
            f"{ours:.2f} s",
            f"{theirs:.2f} s",
            ours / theirs,
            0.3 if last else None,
            target="<= 0.3" if last else "",
        )
    small, large = sizes[-2:]
    growth = {
        name: times[large][name] / times[small][name] for name in ("evaluate", "count", "sort")
    }
    report.section(f"growth from {small:,} to {large:,} rows / that of np.sort")
    # Counting is the part of evaluate that reads rows; the bootstrap's cost is constant. The
    # whole of evaluate also changes its way: it keeps every score up to a million rows and bins
    # beyond, so only counting, always into bins here, shows how time grows.
    for name, what in (
        ("count", "counting rows into bins"),
        ("evaluate", "evaluate (constant part incl.)"),
    ):
        report.add(
            what, f"x {growth[name]:.1f}", f"x {growth['sort']:.1f}", growth[name] / growth["sort"]
        )


# 2. Memory.


def measure_memory(n: int, dtype: str) -> dict[str, float]:
    """Peak of this process during evaluate, above what it held just before."""
    evaluate_fully(*scored_rows(1000))  # imports are not part of the memory
    s, scores = scored_rows(n, dtype)
    # Memory that was freed but not given back would be used again without being counted.
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    before = status_bytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    evaluate_fully(s, scores)
    return {"extra": status_bytes("VmHWM") - before, "input": s.nbytes + scores.nbytes}


def compare_memory(report: Report, n: int) -> None:
    report.section(f"extra memory of evaluate on {n:,} rows / its input arrays")
    last = n == max(SIZES)  # the bootstrap's constant part outweighs smaller arrays
    for dtype in ("int64", "int8"):
        say(f"memory, labels as {dtype}")
        found = in_fresh_process("memory", n=n, dtype=dtype)
        report.add(
            f"labels as {dtype}",
            f"{found['extra'] / MB:.0f} MB",
            f"{found['input'] / MB:.0f} MB",
            found["extra"] / found["input"],
            4 if last else None,
            target="< 4" if last else "",
        )


# 3. Files.


def write_file(path: Path, rows: int) -> None:
    """Half the rows labeled, and next to no score twice."""
    import duckdb

    with duckdb.connect(config={"threads": 2, "preserve_insertion_order": False}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SELECT setseed(0.5)")
        connection.execute(
            f"""
            COPY (
                SELECT
                    1 / (1 + exp(1 - (CASE WHEN label = 1 OR random() < {ALPHA} THEN 2 ELSE 0 END)
                        - sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()))) AS score,
                    label
                FROM (SELECT (i % 2)::TINYINT AS label FROM range({rows}) AS t(i))
            ) TO '{path}' (FORMAT parquet)
            """
        )


def measure_scan(path: str) -> dict[str, float]:
    """The plainest question about the same two columns, asked of DuckDB itself."""
    import duckdb

    with duckdb.connect(config={"memory_limit": "1GB"}) as connection:
        connection.execute("SET enable_progress_bar = false")
        query = f"SELECT label, count(*), avg(score) FROM '{path}' GROUP BY label"
        return {"seconds": seconds(lambda: connection.execute(query).fetchall())}


def measure_file(path: str) -> dict[str, float]:
    """Count and evaluate a file, with the peak of the whole process, imports included."""
    from recoup import ScoreTable

    start = time.perf_counter()
    table = ScoreTable.from_file(path, label="label", score="score")
    counted = time.perf_counter()
    evaluation = evaluate_fully(table)
    return {
        "seconds": time.perf_counter() - start,
        "counting": counted - start,
        "peak": status_bytes("VmHWM"),
        "rows": evaluation.n_labeled + evaluation.n_unlabeled,
    }


def compare_on_file(report: Report, rows: int) -> None:
    needed, free = rows * FILE_BYTES_PER_ROW, shutil.disk_usage(tempfile.gettempdir()).free
    if free < needed:
        raise SystemExit(
            f"The file of {rows:,} rows needs {needed / MB:,.0f} MB in {tempfile.gettempdir()}, "
            f"where {free / MB:,.0f} MB are free. Name another folder in TMPDIR, or pass fewer "
            f"--rows."
        )
    with tempfile.TemporaryDirectory(prefix="recoup-speed-") as folder:
        path = Path(folder) / "scores.parquet"
        say(f"writing a file of {rows:,} rows")
        write_file(path, rows)
        size = path.stat().st_size
        scans, runs = [], []
        for turn in range(2):
            say(f"file of {size / MB:,.0f} MB, run {turn + 1} of 2")
            scans.append(in_fresh_process("scan", path=str(path))["seconds"])
            runs.append(in_fresh_process("file", path=str(path)))
        scan, found = min(scans), min(runs, key=lambda run: run["seconds"])
    assert found["rows"] == rows
    peak = max(run["peak"] for run in runs)
    report.section(f"Parquet file of {rows:,} rows / DuckDB's count and mean of it")
    report.add(
        "from_file and evaluate",
        f"{found['seconds']:.1f} s",
        f"{scan:.2f} s",
        found["seconds"] / scan,
    )
    report.add("  of which from_file", f"{found['counting']:.1f} s", "", None)
    report.add(
        "rows a second",
        f"{rows / found['seconds'] / 1e6:.1f} million",
        f"{rows / scan / 1e6:.1f} million",
        scan / found["seconds"],
    )
    report.add(
        "peak memory of the process / size of the file",
        f"{peak / MB:,.0f} MB",
        f"{size / MB:,.0f} MB",
        peak / size,
        2e9,
        value=peak,
        target="< 2,000 MB",
    )


# 4. Import.


def compare_imports(report: Report) -> None:
    say("imports")
    statements = {
        "numpy": "import numpy",
        "recoup": "import recoup",
        "evaluate": "from recoup import evaluate",
    }
    code = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"

    def import_seconds(statement: str) -> float:
        command = [sys.executable, "-c", code.format(statement)]
        return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    rounds = [
        {name: import_seconds(statement) for name, statement in statements.items()}
        for _ in range(5)
    ]
    best = {name: min(one[name] for one in rounds) for name in statements}
    report.section("import / import numpy")
    for name in ("recoup", "evaluate"):
        report.add(
            statements[name],
            f"{1000 * best[name]:.1f} ms",
            f"{1000 * best['numpy']:.1f} ms",
            best[name] / best["numpy"],
        )


CHILDREN: dict[str, Callable[..., dict[str, float]]] = {
    "memory": measure_memory,
    "scan": measure_scan,
    "file": measure_file,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out the largest inputs")
    parser.add_argument("--rows", type=int, help=f"rows of the file ({FILE_ROWS:,})")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="measure these")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        part, settings = json.loads(options.child)
        print(json.dumps(CHILDREN[part](**settings)))
        return

    sizes = SIZES[:-1] if options.quick else SIZES
    rows = options.rows or (FILE_ROWS // 10 if options.quick else FILE_ROWS)
    report = Report()
    if "arrays" in options.only:
        compare_on_arrays(report, sizes)
    if "memory" in options.only:
        compare_memory(report, sizes[-1])
    if "file" in options.only:
        compare_on_file(report, rows)
    if "import" in options.only:
        compare_imports(report)
    Console(width=130, highlight=False).print(report.table)


if __name__ == "__main__":
    main()
