"""How long the calls of every day take: small tables, one file, many models, a leaderboard.

    python -m tools.speed.everyday              about two minutes
    python -m tools.speed.everyday --only small

Ratios are of two measurements made in turns in one run, single-threaded, as the processor time of
the process: other load on the machine lengthens waiting, not work. Where a limit is in seconds, it
is of processor time as well, which on an idle machine is what a clock shows.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SEED = 7
ALPHA = 0.2
SIZES = {10_000: 5.0, 1_000_000: 1.0, 10_000_000: 0.15}
REPEATS = {10_000: 20, 1_000_000: 3, 10_000_000: 1}
MODELS = 50
PARTS = ("small", "draws", "command", "models")


def scored_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and scores that are no probabilities, so that a threshold has to be chosen."""
    rng = np.random.default_rng(SEED)
    positive = rng.random(n) < 0.3
    s = (positive & (rng.random(n) < 0.4)).astype(np.int64)
    return s, rng.normal(2.0 * positive - 1)


def processor_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def in_turns(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Shortest time of each call, in rounds that make every call once."""
    rounds = [
        {name: processor_seconds(call) for name, call in calls.items()} for _ in range(repeats)
    ]
    return {name: min(one[name] for one in rounds) for name in calls}


def say(what: str, value: str, target: str, met: bool | None) -> None:
    verdict = "" if met is None else "met" if met else "MISSED"
    print(f"{what:<58} {value:>22}   {target:<10} {verdict}", flush=True)


def all_as_json(s: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
    from recoup import evaluate

    return evaluate(s, scores, alpha=ALPHA).to_dict()


def measure_small() -> None:
    """Evaluate against roc_auc_score and average_precision_score of the same rows."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    from recoup import evaluate

    for n, limit in SIZES.items():
        s, scores = scored_rows(n)
        shares = 1 / (1 + np.exp(-scores))

        def theirs(s: Any = s, scores: Any = scores) -> None:
            roc_auc_score(s, scores)
            average_precision_score(s, scores)

        ways: dict[str, Callable[[], object]] = {
            "scikit-learn": theirs,
            "threshold chosen": partial(evaluate, s, scores, alpha=ALPHA),
            "threshold chosen, all as JSON": partial(all_as_json, s, scores),
            "probabilities": partial(evaluate, s, shares, alpha=ALPHA),
            "alpha by 500 draws": partial(
                evaluate, s, scores, alpha=np.random.default_rng(0).normal(ALPHA, 0.02, 500)
            ),
        }
        found = in_turns(ways, REPEATS[n])
        reference = found.pop("scikit-learn")
        for name, seconds in found.items():
            ratio = seconds / reference
            judged = None if "draws" in name else ratio <= limit
            say(
                f"{n:,} rows, {name} / scikit-learn's two calls",
                f"{1000 * seconds:,.1f} ms, {ratio:.2f}",
                f"<= {limit:g}" if judged is not None else "",
                judged,
            )


def measure_draws() -> None:
    """Ask for a hundred times more shuffles than usual, in a table that has to be shuffled."""
    code = (
        "import numpy as np, resource; from recoup import evaluate; "
        "s = np.repeat([1, 0], [40, 20_000]); x = np.random.default_rng(0).normal(s); "
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; "
        "e = evaluate(s, x, alpha=0.01, n_boot=100_000); e.baseline; "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE)
    more = int(done.stdout) / 1024
    say(
        "n_boot=100,000: memory above that of the rows", f"{more:,.0f} MB", "<= 200 MB", more <= 200
    )


def measure_command() -> None:
    """Run recoup evaluate on a file of 2,000 rows."""
    s, scores = scored_rows(2000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scored.csv"
        rows = zip(s, 1 / (1 + np.exp(-scores)), strict=True)
        path.write_text("label,p\n" + "\n".join(f"{a},{b:.5f}" for a, b in rows))
        words = ["--score", "p", "--label", "label", "--alpha", str(ALPHA)]
        command = [sys.executable, "-m", "recoup.cli", "evaluate", str(path), *words]
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    best = min(times)
    say("recoup evaluate on a CSV file of 2,000 rows", f"{best:.2f} s", "< 1 s", best < 1)


def measure_models() -> None:
    """Write the page of fifty models, and open it in Chromium where there is one."""
    import shutil

    from recoup import compare
    from recoup.report import Report

    s, scores = scored_rows(10_000)
    rng = np.random.default_rng(SEED)
    models = {
        f"model {place}": 1 / (1 + np.exp(-(scores + rng.normal(size=len(s)) * (place + 1) / 25)))
        for place in range(MODELS)
    }
    start = time.process_time()
    report = Report(compare(s, models, alpha=ALPHA), "Fifty models")
    compared = time.process_time()
    page = report.to_html()
    say(f"{MODELS} models: compare", f"{compared - start:.1f} s", "", None)
    say(f"{MODELS} models: page", f"{time.process_time() - compared:.1f} s", "", None)
    size = len(page.encode()) / 1e6
    say(f"{MODELS} models: size of the page", f"{size:.2f} MB", "< 3 MB", size < 3)
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("No chromium is on the PATH: how long the page takes to open is not measured.")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "models.html"
        path.write_text(page, encoding="utf-8")
        wall, busy = open_in_chromium(browser, path)
    say(f"{MODELS} models: page opened, by the clock", f"{wall:.2f} s", "", None)
    say(f"{MODELS} models: page opened, renderer", f"{busy:.2f} s", "< 2 s", busy < 2)


def open_in_chromium(browser: str, path: Path) -> tuple[float, float]:
    """Seconds until a page is drawn: by the clock, and processor time of the renderer."""
    from playwright.sync_api import sync_playwright

    drawn = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        session = chromium.new_browser_cdp_session()
        page = chromium.new_page()

        def busy() -> float:
            found = session.send("SystemInfo.getProcessInfo")["processInfo"]
            return float(sum(one["cpuTime"] for one in found if one["type"] == "renderer"))

        page.goto("about:blank")
        before, start = busy(), time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_load_state("load")
        page.evaluate(drawn)
        measured = time.perf_counter() - start, busy() - before
        chromium.close()
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, help="measure these")
    options = parser.parse_args()
    measures = {
        "small": measure_small,
        "draws": measure_draws,
        "command": measure_command,
        "models": measure_models,
    }
    for part in options.only:
        measures[part]()


if __name__ == "__main__":
    main()
