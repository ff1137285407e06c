"""How much faster does the benchmark runner finish than one usual training loop after the other?

    python benchmarks/bench_throughput.py                        on a GPU, with MNIST at hand
    python benchmarks/bench_throughput.py --dataset spambase --device cpu --slots 2 --seeds 2

The networks of the risk family, three seeds each, in PU-Bench's conventional setting. The runner's
time is that of the wall, from the call to the last run in the store, the start of its workers and
processes included. Nobody waits for the loops to end: of each learner the fastest of some epochs
is taken, with batches from a DataLoader over rows of five tensors and no recorded steps (see
``learner_costs.py``), times the epochs that its runs took, and nothing is added for reading data
or for measuring. On a GPU the runs share it better when ``nvidia-cuda-mps-control -d`` runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from learner_costs import cost

LEARNERS = ("upu", "nnpu", "pusb", "vpu", "mpe-pu", "dist-pu", "pulda", "lbe")
SEEDS = (103, 250, 666)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--slots", type=int, default=24, help="runs at the same time")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--epochs", type=int, default=3, help="of each stage, in the usual loop")
    asked = parser.parse_args()
    from recoup.bench import Plan, Store, run_plan
    from recoup.bench.rows import draw_rows

    plan = Plan(
        datasets=[asked.dataset],
        schemes=["case-control"],
        label_frequencies=[0.1],
        learners=LEARNERS,
        seeds=SEEDS[: asked.seeds],
    )
    drawn = draw_rows(plan.jobs()[0])
    parts = {"X": drawn.X, "s": drawn.s, "y": drawn.classes.train, "alpha": drawn.alpha}
    on_gpu = asked.device == "cuda"
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "runs.sqlite"
        started = time.perf_counter()
        outcome = run_plan(
            plan, store, gpu=on_gpu, slots=asked.slots, workers=None if on_gpu else asked.slots
        )
        wall = time.perf_counter() - started
        rows = Store(store).rows()
    print(f"{outcome.done} runs done, {outcome.failed} failed, in {wall:.1f} s", flush=True)
    for reason, _ in outcome.problems:
        print(reason)
    total = 0.0
    for key in LEARNERS:
        mine = [row for row in rows if row["learner"] == key and row["status"] == "done"]
        if not mine:
            continue
        each = cost(key, parts, asked.device, asked.epochs, loop=True)["seconds"]
        epochs = sum(row["epochs"] for row in mine)
        total += each * epochs
        here = sum(row["seconds"] for row in mine) / len(mine)
        accuracy = sum(row["accuracy"] for row in mine) / len(mine)
        print(
            f"{key:8} {epochs:4} epochs, accuracy {accuracy:.3f}; a fit {here:6.1f} s among the "
            f"others, in the usual loop {each * epochs / len(mine):6.1f} s ({each:.3f} per epoch)",
            flush=True,
        )
    print(f"usual loops one after the other {total:8.1f} s")
    print(f"runner, {asked.slots} at a time {wall:8.1f} s, faster by {total / wall:.1f}")


if __name__ == "__main__":
    main()
