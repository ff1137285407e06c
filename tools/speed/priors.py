"""How long does each prior estimator take on a million scores, and how much memory?

    python -m tools.speed.priors                    some minutes: every estimator, twice
    python -m tools.speed.priors --only bbe auto    these alone
    python -m tools.speed.priors --rows 100000      fewer rows, a tenth of them labeled

Every estimator runs with its default interval and without one, each time in a process of its own,
whose peak memory is that of everything: imports, the rows, the fit. Imports and a first fit on few
rows are not part of the time. Beside the seconds stand processor seconds, which other load on the
machine leaves alone, and their ratio to one np.sort of the same scores in the same process, since
seconds say more about the machine than about the code. The smaller of the two kinds of seconds is
held against the target.

Most estimators of features draw some of the rows of a table of scores; "rows" says how many. (Of
the others, dist-curve sorts all and then draws 10,000 of each kind, and km1 and km2 merge the
scores into 2,000 bins.) How long they take on features is another question: see
tools/speed/kernel_means.py for KM2.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

MODULE = "tools.speed.priors"
ALPHA, APART = 0.2, 2.0
ROWS, LABELED_SHARE = 1_000_000, 0.1
WARM_UP_ROWS = 5_000
MAX_SECONDS, MAX_MEMORY = 5.0, 4e9
# For one fit; what takes longer is stopped and shown as such.
PATIENCE = 600
# Short fits suffer most from other load: the best of three, while they take no longer than this.
REPEATS, LONG = 3, 2.0


def scored_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping normal distributions through a sigmoid, the labeled rows among the rest."""
    rng = np.random.default_rng(7)
    s = rng.permutation((np.arange(n) < LABELED_SHARE * n).astype(int))
    positive = (s == 1) | (rng.random(n) < ALPHA)
    scores = 1 / (1 + np.exp(-rng.normal(APART * (positive - 0.5))))
    return s, scores


def peak_bytes() -> int:
    """Most memory that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def sort_seconds(scores: np.ndarray) -> float:
    """Processor seconds of one sort, the best of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        np.sort(scores)
        found.append(time.process_time() - start)
    return min(found)


def measure(key: str, n: int, with_interval: bool) -> dict[str, Any]:
    from recoup._core.registry import registered

    def estimator() -> Any:
        chosen = registered("priors")[key]()
        return chosen if with_interval else chosen.set_params(interval=None)

    # Few draws do: this is only to import and load what the fit needs.
    estimator().set_params(n_draws=2).fit_scores(*scored_rows(WARM_UP_ROWS))
    s, scores = scored_rows(n)
    sort = sort_seconds(scores)
    times: list[tuple[float, float]] = []
    while len(times) < REPEATS and sum(processor for _, processor in times) < LONG:
        start = time.perf_counter(), time.process_time()
        found = estimator().fit_scores(s, scores).estimate_
        times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    clock, processor = (min(kind) for kind in zip(*times, strict=True))
    return {
        "clock": clock,
        "processor": processor,
        "sort": sort,
        "peak": peak_bytes(),
        "alpha": found.alpha,
    }


def measured_apart(key: str, n: int, with_interval: bool, patience: float) -> dict[str, Any] | None:
    """Figures from a process of its own; None if it was stopped."""
    command = [sys.executable, "-m", MODULE, "--child", json.dumps([key, n, with_interval])]
    try:
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, timeout=patience
        )
    except subprocess.TimeoutExpired:
        return None
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def verdict(figures: dict[str, Any] | None) -> str:
    if figures is None:
        return "[bold]missed[/bold]"
    # Other load stretches the clock, several threads the processor's time: the smaller is nearer
    # to the time on a machine that does nothing else.
    seconds = min(figures["clock"], figures["processor"])
    met = seconds <= MAX_SECONDS and figures["peak"] <= MAX_MEMORY
    return "met" if met else "[bold]missed[/bold]"


def compare(keys: list[str], n: int, patience: float) -> Table:
    from recoup._core.registry import registered
    from recoup.priors.base import FeaturePriorEstimator

    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("interval", no_wrap=True)
    for name in ("rows", "seconds", "processor", "/ np.sort", "peak MB", "alpha", ""):
        table.add_column(name, justify="right", no_wrap=True)
    for key in keys:
        estimator = registered("priors")[key]()
        default = estimator.interval
        draws = type(estimator).fit_scores is FeaturePriorEstimator.fit_scores
        rows = f"{min(n, estimator.max_rows) if draws else n:,}"
        for interval in dict.fromkeys((default, None)):
            say(f"{key}, interval={interval!r}")
            found = measured_apart(key, n, interval is not None, patience)
            if found is None:
                over = (f"> {patience:g}", "", "", "", "", verdict(None))
                table.add_row(key, str(interval), rows, *over)
                continue
            table.add_row(
                key,
                str(interval),
                rows,
                f"{found['clock']:.2f}",
                f"{found['processor']:.2f}",
                f"{found['processor'] / found['sort']:,.1f}",
                f"{found['peak'] / 1e6:,.0f}",
                f"{found['alpha']:.3f}",
                verdict(found),
            )
    return table


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS, help=f"scores ({ROWS:,})")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="measure these estimators")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, help=f"most seconds of a process ({PATIENCE})"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(*json.loads(options.child))))
        return

    from recoup._core.registry import registered

    known = list(registered("priors"))
    unknown = set(options.only or ()) - set(known)
    if unknown:
        parser.error(f"no such estimator: {', '.join(sorted(unknown))}. Known: {', '.join(known)}")
    load = os.getloadavg()[0]
    table = compare(options.only or known, options.rows, options.patience)
    title = (
        f"fit_scores on {options.rows:,} scores, {LABELED_SHARE:.0%} labeled, alpha {ALPHA}; "
        f"target: {MAX_SECONDS:g} s and {MAX_MEMORY / 1e6:,.0f} MB"
    )
    console = Console(width=130, highlight=False)
    console.print(title)
    console.print(f"load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    console.print(table)


if __name__ == "__main__":
    main()
