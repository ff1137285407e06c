"""How much faster is recoup's KM2 than the estimator as it was published, and is it the same?

    python -m tools.speed.kernel_means                 up to half an hour, nearly all the reference
    python -m tools.speed.kernel_means --rows 1000     half a minute
    python -m tools.speed.kernel_means --one-solve     time one solve of the reference and multiply

The reference below is the textbook form: a full kernel matrix, and a quadratic program in as many
variables as rows, solved from scratch by a dense interior-point method 2 + 2 * 8 times. The
authors' code does the same with a general solver; 445 seconds at 4,000 rows were published for it.
Both sides run in the same process on the same rows. Processor seconds are shown beside seconds on
the clock, since other load on the machine strikes the longer run more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import pdist, squareform

MODULE = "tools.speed.kernel_means"
ALPHA, FEATURES, APART = 0.5, 10, 4.0
CELL = 7 / 256  # width of the last interval of the published bisection
N_SOLVES = 2 + 2 * 8
TARGET_RATIO, MAX_MEMORY, MAX_SECONDS = 50, 4e9, 120


def gaussian_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A quarter of the rows labeled; classes four standard deviations apart, over all columns."""
    rng = np.random.default_rng(7)
    n_labeled = n // 4
    X = rng.normal(size=(n, FEATURES))
    X[: n_labeled + round(ALPHA * (n - n_labeled))] += APART / np.sqrt(FEATURES)
    return X, (np.arange(n) < n_labeled).astype(int)


class Textbook:
    """KM2 as published, plainly."""

    def __init__(self, X: np.ndarray, s: np.ndarray) -> None:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        squares = squareform(pdist(X, "sqeuclidean"))
        self.on_unlabeled = (s == 0) / np.sum(s == 0)
        self.on_labeled = (s == 1) / np.sum(s == 1)
        contrast = self.on_unlabeled - self.on_labeled
        self.limit = -1.0
        for width in np.sqrt(np.median(squares)) * np.logspace(-1, 1, 5):
            kernel = np.exp(-squares / (2 * width**2))
            apart = np.sqrt(contrast @ kernel @ contrast)
            if apart > self.limit:
                self.limit, self.kernel = apart, kernel

    def distance(self, at: float) -> float:
        goal = at * self.on_unlabeled + (1 - at) * self.on_labeled
        off = nearest_mixture(self.kernel, self.kernel @ goal) - goal
        return float(np.sqrt(max(off @ self.kernel @ off, 0.0)))

    def solution(self) -> float:
        first = (self.distance(1.05) - self.distance(1.0)) / 0.05
        threshold = 0.8 * first + 0.2 * self.limit
        left, right = 1.0, 8.0
        while right - left > 0.04:
            middle = (left + right) / 2
            say(f"reference: lambda {middle:.3f}")
            slope = (self.distance(middle + 0.02) - self.distance(middle)) / 0.02
            left, right = (left, middle) if slope > threshold else (middle, right)
        return (left + right) / 2


def nearest_mixture(kernel: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Minimise v'Kv / 2 - linear'v over the simplex, by Mehrotra's predictor and corrector."""
    n = len(linear)
    v = np.full(n, 1 / n)
    gradient = kernel @ v - linear
    y = gradient.min() - (gradient.mean() - gradient.min()) - 1e-8
    z = gradient - y
    # Tighter than a general solver's 1e-7, whose error in d would be larger than d(1.05).
    while v @ z > 1e-9:
        system = kernel.copy()
        system.flat[:: n + 1] += z / v
        triangle = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        ones = cho_solve(triangle, np.ones(n), check_finite=False)
        residual = kernel @ v - linear - y - z
        step = partial(newton_step, v, z, residual, triangle, ones)
        dv, dy, dz, length = step(v * z)
        mu = v @ z / n
        ahead = (v + length * dv) @ (z + length * dz) / n
        dv, dy, dz, length = step(v * z + dv * dz - mu * (ahead / mu) ** 3)
        v, y, z = v + length * dv, y + length * dy, z + length * dz
    weights: np.ndarray = v / v.sum()
    return weights


def newton_step(
    v: np.ndarray,
    z: np.ndarray,
    residual: np.ndarray,
    triangle: tuple[np.ndarray, bool],
    ones: np.ndarray,
    products: np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray, float]:
    """Changes of v, y and z that remove the products, and how far to go."""
    move = cho_solve(triangle, -residual - products / v, check_finite=False)
    dy = (1 - v.sum() - move.sum()) / ones.sum()
    dv = move + dy * ones
    dz = -(products + z * dv) / v
    ratios = np.concatenate([-v[dv < 0] / dv[dv < 0], -z[dz < 0] / dz[dz < 0]])
    return dv, dy, dz, min(1.0, 0.99 * ratios.min(initial=np.inf))


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def timed(call: Callable[[], Any]) -> tuple[Any, np.ndarray]:
    """Return a call's result, and its seconds on the clock and of the processor."""
    start = np.array([time.perf_counter(), time.process_time()])
    result = call()
    return result, np.array([time.perf_counter(), time.process_time()]) - start


def recoup_alpha(X: np.ndarray, s: np.ndarray) -> float:
    from recoup.priors.km import KM2

    return float(KM2(interval=None).fit(X, s).alpha_)


def measure_many(n: int) -> dict[str, float]:
    """Time recoup in this process, with the peak of the whole process, imports included."""
    X, s = gaussian_rows(n)
    alpha, (clock, processor) = timed(lambda: recoup_alpha(X, s))
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            peak = int(line.split()[1]) * 1024
    return {"alpha": alpha, "seconds": clock, "processor": processor, "peak": peak}


def verdict(met: bool) -> str:
    return "met" if met else "[bold]missed[/bold]"


def compare(table: Table, n: int, one_solve: bool) -> None:
    X, s = gaussian_rows(n)
    recoup_alpha(*gaussian_rows(400))  # imports are not part of the time
    say(f"recoup on {n:,} rows")
    alpha, before = timed(lambda: recoup_alpha(X, s))
    textbook, built = timed(lambda: Textbook(X, s))
    if one_solve:
        say("reference: one solve")
        _, once = timed(lambda: textbook.distance(2.0))
        theirs, note = built + N_SOLVES * once, f" (one of {N_SOLVES} solves, multiplied)"
    else:
        found, solving = timed(textbook.solution)
        theirs, note = built + solving, ""
    _, after = timed(lambda: recoup_alpha(X, s))
    ours = np.maximum(before, after)
    table.add_row(f"[bold]KM2, {n:,} rows, {FEATURES} features / textbook form{note}[/bold]")
    for name, mine, other in zip(("seconds", "processor seconds"), ours, theirs, strict=True):
        ratio = other / mine
        target = (f">= {TARGET_RATIO}", verdict(ratio >= TARGET_RATIO)) if n >= 4000 else ("", "")
        table.add_row(name, f"{mine:.2f}", f"{other:.1f}", f"{ratio:.0f}", *target)
    if not one_solve:
        cells = (1 / (1 - alpha) - found) / CELL
        same = verdict(abs(cells) <= 1.01)
        table.add_row(
            "alpha (difference in cells of the bisection)",
            f"{alpha:.4f}",
            f"{1 - 1 / found:.4f}",
            f"{cells:+.0f}",
            "within 1",
            same,
        )


def measure_alone(table: Table, n: int) -> None:
    say(f"recoup on {n:,} rows")
    command = [sys.executable, "-m", MODULE, "--child", str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    table.add_section()
    table.add_row(f"[bold]KM2 alone, {n:,} rows, {FEATURES} features[/bold]")
    seconds, peak = found["seconds"], found["peak"]
    limit = (f"< {MAX_SECONDS}", verdict(seconds < MAX_SECONDS))
    table.add_row("seconds", f"{seconds:.1f}", "", "", *limit)
    table.add_row("processor seconds", f"{found['processor']:.1f}")
    limit = (f"< {MAX_MEMORY / 1e6:,.0f}", verdict(peak < MAX_MEMORY))
    table.add_row("peak memory of the process, MB", f"{peak / 1e6:,.0f}", "", "", *limit)
    table.add_row("alpha / truth", f"{found['alpha']:.4f}", f"{ALPHA:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4000, help="rows of the comparison (4,000)")
    parser.add_argument("--many", type=int, default=50_000, help="rows for recoup alone; 0: none")
    parser.add_argument("--one-solve", action="store_true", help="do not run the whole reference")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure_many(options.child)))
        return
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    for name in ("", "recoup", "reference", "ratio", "target", ""):
        table.add_column(name, justify="left" if name == "" else "right", no_wrap=True)
    compare(table, options.rows, options.one_solve)
    if options.many:
        measure_alone(table, options.many)
    Console(width=130, highlight=False).print(table)


if __name__ == "__main__":
    main()
