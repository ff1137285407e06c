"""How long does an evaluation by a thousand groups take, next to one of all rows?

    python -m tools.speed.groups --rows 10_000_000 --groups 1000

Both are measured in one run and in turns, so that other load on the machine strikes both alike; the
figure is the ratio of the best times. Alpha is estimated in both.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from scipy.special import expit

from recoup import evaluate, evaluate_by

TARGET = 3.0
THRESHOLD = 0.6


def made_rows(n: int, n_groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw labels, scores and groups: each with its own share of positives and of labels."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, n_groups, n)
    positive = rng.random(n) < rng.uniform(0.05, 0.3, n_groups)[group]
    s = (positive & (rng.random(n) < rng.uniform(0.1, 0.5, n_groups)[group])).astype(np.int8)
    return s, expit(rng.normal(1.5 * positive)), group


def main(argv: list[str] | None = None) -> None:
    """Measure and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(argv)
    s, scores, group = made_rows(options.rows, options.groups)
    evaluate_by(s[:5000], scores[:5000], groups=group[:5000] % 3, threshold=THRESHOLD)
    times: list[list[float]] = [[], []]
    for _ in range(options.repeats):
        start = time.perf_counter()
        evaluate(s, scores, alpha="estimate", threshold=THRESHOLD)
        middle = time.perf_counter()
        evaluate_by(s, scores, groups=group, threshold=THRESHOLD)
        times[0].append(middle - start)
        times[1].append(time.perf_counter() - middle)
    one, by = map(min, times)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{options.rows:,} rows, {options.groups:,} groups: evaluate {one:.1f} s, evaluate_by "
        f"{by:.1f} s, ratio {by / one:.2f} (at most {TARGET:g}), peak memory {memory:.1f} GB"
    )


if __name__ == "__main__":
    main()
