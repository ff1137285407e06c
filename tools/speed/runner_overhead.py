"""How much longer does a benchmark take than the runs it is made of?

    python -m tools.speed.runner_overhead                 about a minute
    python -m tools.speed.runner_overhead --runs 40 --seconds 2 --workers 1

Each run fits a learner that computes for a fixed time, so that the ratio says what the runner adds:
handing a run out, drawing its rows, measuring, and writing it to the store. Every run draws rows
of its own, though learners of one cell share them. Starting workers is paid once and shown apart.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 0.05
MODULE = """
import time
from recoup.learners.naive import Naive
from recoup.learners.base import LearnerTags


class Computes(Naive):
    tags = LearnerTags(key="computes", family="test", cost="none", source="test")

    def __init__(self, seconds=2.0, random_state=None):
        super().__init__(random_state=random_state)
        self.seconds = seconds

    def _fit(self, X, s, rng):
        started = time.process_time()
        while time.process_time() - started < self.seconds:
            super()._fit(X, s, rng)
"""


def install(folder: Path) -> None:
    """Put the computing learner where this process finds it, and all that it starts."""
    (folder / "computing.py").write_text(MODULE)
    info = folder / "computing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: computing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[recoup.learners]\ncomputes = computing:Computes\n")
    sys.path.insert(0, str(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install(folder)
        from recoup.bench import Plan, Store, run_plan

        warm = asked.workers * 2
        learner = {"key": "computes", "params": {"seconds": asked.seconds}}
        asked_for = {
            "datasets": ["breast_cancer"],
            "label_frequencies": [0.5],
            "learners": [learner],
            "seeds": list(range(asked.runs + warm)),
        }
        plan = Plan.model_validate(asked_for)
        ends: list[float] = []
        started = time.perf_counter()
        run_plan(
            plan,
            folder / "runs.sqlite",
            workers=asked.workers,
            watch=lambda counts, _: ends.append(time.perf_counter()) if counts["done"] else None,
        )
        closed = time.perf_counter() - ends[-1]
        rows = Store(folder / "runs.sqlite").rows()
    # The first runs of each worker wait for its process to start.
    first = ends[warm - 1]
    wall = ends[-1] - first
    fits = sum(row["seconds"] for row in rows) / len(rows) * (len(ends) - warm) / asked.workers
    overhead = wall / fits - 1
    print(f"{len(ends) - warm} runs of {asked.seconds:g} s on {asked.workers} workers")
    print(f"starting      {ends[0] - asked.seconds - started:6.2f} s, once")
    print(f"fits          {fits:6.2f} s")
    print(f"wall          {wall:6.2f} s")
    print(f"closing       {closed:6.2f} s, once")
    print(f"overhead      {100 * overhead:6.2f} %, limit {100 * LIMIT:g} %")
    sys.exit(overhead > LIMIT)


if __name__ == "__main__":
    main()
