"""How fast does PUET grow trees, next to the same trees in plain Python and to scikit-learn's?

    python -m tools.speed.puet                  about a minute
    python -m tools.speed.puet --rows 5000      fewer rows

All grow on one core in one process. Seconds are processor seconds, on which other load on the
machine has less influence; two that are compared take turns, and the best of seven counts. The
plain Python is tests/learners/plain_trees.py, which computes with NumPy within a node and must come
to the same nodes. It grows one tree in full, which is held against a fit of 20 trees, divided by
20.

ExtraTreesClassifier learns labeled against unlabeled rows with as many trees and features per
split and the same limits. Its trees are larger, since PUET stops where a node has no negatives
left; with a limited depth both are about as large. Nodes are the mean per tree.

The first fit of a process compiles, or loads what another process has compiled. Both are measured
in processes of their own, on 100 rows, with what a second fit takes taken off.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import ExtraTreesClassifier

from recoup.learners.puet import PUET

ROWS, FEATURES, INFORMATIVE = 20_000, 50, 5
PI, LABEL_FREQUENCY = 0.4, 0.3
TREES, REPEATS = 20, 7
LEAST_GAIN, MOST_SLOWER = 20.0, 4.0

FIRST_FIT = """
import time
import numpy as np
from recoup.learners.puet import PUET
X = np.random.default_rng(0).normal(size=(100, 5))
s = np.arange(100) % 2
took = []
for _ in range(2):
    wall, processor = time.perf_counter(), time.process_time()
    PUET(0.3, n_estimators=1).fit(X, s).predict(X)
    took.append((time.perf_counter() - wall, time.process_time() - processor))
print(took[0][0] - took[1][0], took[0][1] - took[1][1])
"""


def rows_of(n: int, rounded: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Two overlapping normal classes with some informative features; s; alpha."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < PI
    X = rng.normal(size=(n, FEATURES))
    X[:, :INFORMATIVE] += np.where(y, 0.6, -0.6)[:, None]
    s = y & (rng.random(n) < LABEL_FREQUENCY)
    return X.round() if rounded else X, s.astype(int), float(y[~s].mean())


def race(*works: Callable[[], Any]) -> tuple[list[float], list[Any]]:
    """Return the fewest processor seconds of each, in turns, and what came out."""
    took: list[list[float]] = [[] for _ in works]
    found: list[Any] = [None for _ in works]
    for _ in range(REPEATS):
        for number, work in enumerate(works):
            start = time.process_time()
            found[number] = work()
            took[number].append(time.process_time() - start)
    return [min(seconds) for seconds in took], found


def against_plain(n: int, table: Table) -> bool:
    from tests.learners.plain_trees import PlainTree

    X, s, alpha = rows_of(n, rounded=False)
    rng = np.random.default_rng(0)
    rng.integers(2**31)
    seed = rng.integers(2**64, size=TREES, dtype=np.uint64)[0]
    features = math.ceil(math.sqrt(FEATURES))
    pi = float(np.where(s == 1, 1.0, alpha).mean())
    (took, slow), (learner, tree) = race(
        lambda: PUET(alpha, n_estimators=TREES, random_state=0).fit(X, s),
        lambda: PlainTree(X, s, seed, pi=pi, max_features=features),
    )
    one = took / TREES
    end = learner.tree_roots_[1]
    splits = learner.node_features_[:end].tolist(), learner.node_thresholds_[:end].tolist()
    if [node[:2] for node in tree.nodes] != list(zip(*splits, strict=True)):
        sys.exit("The plain tree has other nodes.")
    nodes = f"{len(tree.nodes):,}"
    table.add_row("plain Python", "per tree, no limit", f"{one:.3f}", f"{slow:.2f}", nodes, nodes,
                  f"{slow / one:.0f} times faster", f"≥ {LEAST_GAIN:g}")  # fmt: skip
    return slow / one >= LEAST_GAIN


def against_scikit_learn(
    n: int, table: Table, *, max_depth: int | None = None, rounded: bool = False
) -> bool:
    X, s, alpha = rows_of(n, rounded)
    same: dict[str, Any] = {"n_estimators": TREES, "max_depth": max_depth, "random_state": 0}
    features = math.ceil(math.sqrt(FEATURES))
    (ours, theirs), (learner, forest) = race(
        lambda: PUET(alpha, **same).fit(X, s),
        lambda: ExtraTreesClassifier(max_features=features, **same).fit(X, s),
    )
    case = f"{TREES} trees, {f'depth {max_depth}' if max_depth else 'no limit'}"
    nodes = len(learner.node_features_) / TREES
    other_nodes = np.mean([tree.tree_.node_count for tree in forest.estimators_])
    table.add_row("ExtraTreesClassifier", f"{case}, {'rounded' if rounded else 'real'} values",
                  f"{ours:.3f}", f"{theirs:.3f}", f"{nodes:,.0f}", f"{other_nodes:,.0f}",
                  f"{ours / theirs:.2f} of its time", f"≤ {MOST_SLOWER:g}")  # fmt: skip
    return ours / theirs <= MOST_SLOWER


def first_fits() -> list[tuple[float, float]]:
    """Return wall and processor seconds that two processes, one after the other, spend on it."""
    with tempfile.TemporaryDirectory() as folder:
        surroundings = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", FIRST_FIT]
        printed = [
            subprocess.run(command, env=surroundings, check=True, capture_output=True, text=True)
            for _ in range(2)
        ]
    return [tuple(map(float, process.stdout.split())) for process in printed]  # type: ignore[misc]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    n = parser.parse_args().rows
    PUET(0.3, n_estimators=1).fit(*rows_of(100, rounded=False)[:2])
    table = Table(box=box.SIMPLE, title=f"{n:,} rows, {FEATURES} features, one core")
    for name in ("against", "trees", "PUET s", "other s", "nodes", "other nodes", "ratio", "goal"):
        table.add_column(name, justify="left" if name in ("against", "trees") else "right")
    met = [
        against_plain(n, table),
        against_scikit_learn(n, table),
        against_scikit_learn(n, table, max_depth=8),
        against_scikit_learn(n, table, rounded=True),
    ]
    console = Console(width=140)
    console.print(table)
    (wall, processor), (later_wall, later_processor) = first_fits()
    console.print(f"First fit that compiles: {wall:.1f} s ({processor:.1f} s of processor time).")
    console.print(
        f"First fit of a later process: {later_wall:.1f} s ({later_processor:.1f} s of it)."
    )
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
