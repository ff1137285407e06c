"""What members say about the tasks of ``view_tasks.py``, as rows to learn from.

Each task is asked about as it is, and some more times with rows taken in other numbers: with
other shares of positives, of labels and of wrong labels. A row holds the evidence of several
tables of the same rows: those of the views, of their average, and one of another kind.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import norm, rankdata

from recoup.priors._solvers.views import VIEWS
from recoup.priors.base import checked_table
from recoup.priors.evidence import evidence, related
from tools.studies.prior_tasks import FOLDER, stream, write
from tools.training.view_tasks import (
    FEWEST_LABELED,
    FEWEST_UNLABELED,
    STORE,
    ViewTask,
    drawn_task,
    random_alpha,
    random_beta,
    view_tasks,
)

ROWS = FOLDER / "view_rows"
REMIXES = 4
DRAWN, DRAWN_CHUNK = 800, 50
LEAST_GAP = 0.05
# Rows are taken in numbers down to one in so many.
SMALLEST = 6
KINDS = ("taught", "weak", "blurred")


def remix(task: ViewTask, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Choose rows of a task with other shares, and labels; None where there are too few."""
    s, y = task.s, task.y
    groups = {
        (kind, side): rng.permutation(np.flatnonzero((s == kind) & (y == side)))
        for kind in (0, 1)
        for side in (False, True)
    }
    alpha = random_alpha(rng)
    beta = random_beta(alpha, rng)
    hidden, other = groups[0, True], groups[0, False]
    most = min(len(hidden) / alpha, len(other) / (1 - alpha))
    right = groups[1, True]
    if most <= FEWEST_UNLABELED or len(right) <= FEWEST_LABELED:
        return None
    n_unlabeled = _log_uniform(rng, max(FEWEST_UNLABELED, most / SMALLEST), most)
    n_positive = round(alpha * n_unlabeled)
    n_negative = n_unlabeled - n_positive
    n_right = _log_uniform(rng, max(FEWEST_LABELED, len(right) / SMALLEST), len(right))
    n_wrong = round(n_right * (1 - beta) / beta)
    pool = groups[1, False]
    if len(pool) < n_wrong:
        pool = other[n_negative:]
    if len(pool) < n_wrong:
        n_wrong = 0
    parts = (right[:n_right], pool[:n_wrong], hidden[:n_positive], other[:n_negative])
    return np.concatenate(parts), np.repeat([1, 1, 0, 0], [len(part) for part in parts])


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def describe(task: ViewTask, rows: np.ndarray, s: np.ndarray, kind: str) -> dict[str, np.ndarray]:
    """Ask members about the tables of the chosen rows."""
    y, scores = task.y[rows], task.scores[:, rows]
    rng = stream("blur", task.number, kind, len(rows))
    views = scores[: len(VIEWS)]
    # Ranks among the rows that were scored together, as they are where nothing was left out.
    average = rankdata(views, axis=1).mean(axis=0) / len(rows)
    if kind == "blurred":
        normal = norm.ppf((rankdata(average) - 0.5) / len(rows))
        other = normal + np.exp(rng.uniform(np.log(0.1), np.log(2.0))) * rng.normal(size=len(rows))
    else:
        other = scores[len(VIEWS) + KINDS.index(kind)]
    tables = [checked_table(s, values, "training") for values in (average, *views, other)]
    found = [evidence(table, np.random.default_rng(0)) for table in tables]
    return {
        "group": np.array(task.group),
        "task": np.array(task.number),
        "kind": np.array(kind),
        "alpha": np.array(y[s == 0].mean()),
        "beta": np.array(y[s == 1].mean()),
        "sizes": np.array([(s == 1).sum(), (s == 0).sum()]),
        "inputs": np.array([one.inputs for one in found]),
        "extents": np.array([one.sizes for one in found]),
        "limits": np.array([one.limits for one in found]),
        "relation": related(s, views),
    }


def describe_task(task: ViewTask) -> list[dict[str, np.ndarray]]:
    """All rows of a task."""
    rng = stream("view rows", task.number)
    found = []
    for number in range(REMIXES + 1):
        kind = KINDS[int(rng.integers(len(KINDS)))]
        drawn = remix(task, rng) if number else (np.arange(len(task.s)), task.s)
        if drawn is None:
            continue
        rows, s = drawn
        y = task.y[rows]
        if y[s == 1].mean() - y[s == 0].mean() < LEAST_GAP:
            continue
        if any(np.ptp(values[rows]) == 0 for values in task.scores):
            continue
        found.append(describe(task, rows, s, kind))
    return found


def store_chunk(chunk: int) -> int:
    """Describe the tasks of a chunk and store the rows."""
    rows = [row for task in view_tasks(range(chunk, chunk + 1)) for row in describe_task(task)]
    return _store(ROWS / f"{chunk:04d}.npz", rows)


def store_drawn(chunk: int) -> int:
    """Describe tasks with drawn scores and store the rows."""
    rows = []
    for number in range(chunk * DRAWN_CHUNK, (chunk + 1) * DRAWN_CHUNK):
        task = drawn_task(number)
        if task.y[task.s == 1].mean() - task.y[task.s == 0].mean() >= LEAST_GAP:
            rows.append(describe(task, np.arange(len(task.s)), task.s, KINDS[number % 3]))
    return _store(ROWS / f"drawn-{chunk:04d}.npz", rows)


def _store(path: Path, rows: list[dict[str, np.ndarray]]) -> int:
    keys = rows[0] if rows else []
    write(path, **{key: np.array([row[key] for row in rows]) for key in keys})
    return len(rows)


def load_rows() -> dict[str, np.ndarray]:
    """All rows that are at hand, in the order of the tasks."""
    parts = []
    for path in sorted(ROWS.glob("*.npz")):
        with np.load(path) as stored:
            if stored.files:
                parts.append(dict(stored))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--follow", action="store_true", help="wait for chunks still being made")
    parser.add_argument("--drawn", action="store_true", help="tasks with drawn scores alone")
    chosen = parser.parse_args()
    for chunk in range(DRAWN // DRAWN_CHUNK):
        if chosen.drawn and not (ROWS / f"drawn-{chunk:04d}.npz").exists():
            print(f"drawn {chunk}: {store_drawn(chunk)} rows", file=sys.stderr, flush=True)
    if chosen.drawn:
        return
    while True:
        todo = [
            int(path.stem)
            for path in sorted(STORE.glob("*.npz"))
            if not (ROWS / path.name).exists()
        ]
        for chunk in todo:
            print(f"chunk {chunk}: {store_chunk(chunk)} rows", file=sys.stderr, flush=True)
        if not chosen.follow and not todo:
            return
        time.sleep(5 if not todo else 0)


if __name__ == "__main__":
    main()
