"""How much faster does the benchmark runner finish than one usual training loop after the other?

    python -m tools.speed.runner_throughput                        on a GPU, with MNIST at hand
    python -m tools.speed.runner_throughput --dataset spambase --device cpu --slots 2 --seeds 2

The networks of the risk family, three seeds each, in PU-Bench's conventional setting and by its
protocol; with ``--store`` the runs are kept, and count as runs of that plan. The runner's time is
that of the wall, from the call to the last run in the store, the start of its workers and processes
included. The same runs one after the other fetch their batches from a DataLoader over rows of five
tensors and record no steps (see ``learner_costs.py``). Nobody waits for all of their epochs: a run
of each learner ends its stages after some, and counts as the fastest epoch of a stage times the
epochs that the runner's took, and what it took beside, reading rows and measuring. On a GPU runs
share it better when ``nvidia-cuda-mps-control -d`` was started.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import mean

from tools.speed.learner_costs import first_epochs, looped, seconds_per_epoch

LEARNERS = ("upu", "nnpu", "pusb", "vpu", "mpe-pu", "dist-pu", "pulda", "lbe")
SEEDS = (103, 250, 666)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--slots", type=int, default=24, help="runs at the same time")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--epochs", type=int, default=3, help="of each stage, in the usual loop")
    parser.add_argument("--store", type=Path, help="a new file to keep the runs in")
    asked = parser.parse_args()
    from recoup.bench import Plan, Store, run_plan
    from recoup.bench.trial import measure_trial
    from recoup.bench.worker import execute

    plan = Plan.model_validate(
        {
            "datasets": [asked.dataset],
            "schemes": ["case-control-overlap"],
            "label_frequencies": [0.1],
            "protocols": ["pubench"],
            "alpha": "released",
            "learners": list(LEARNERS),
            "seeds": list(SEEDS[: asked.seeds]),
        }
    )
    on_gpu = asked.device == "cuda"
    with tempfile.TemporaryDirectory() as name:
        store = asked.store or Path(name) / "runs.sqlite"
        started = time.perf_counter()
        outcome = run_plan(
            plan, store, gpu=on_gpu, slots=asked.slots, workers=None if on_gpu else asked.slots
        )
        wall = time.perf_counter() - started
        rows = Store(store).rows()
        kept = {row["run"]: Store(store).details(row["run"])["curves"] for row in rows}
    print(f"{outcome.done} runs done, {outcome.failed} failed, in {wall:.1f} s", flush=True)
    for reason, _ in outcome.problems:
        print(reason)
    total = 0.0
    for job in plan.jobs()[: len(LEARNERS)]:
        mine = [row for row in rows if row["learner"] == job.key and row["status"] == "done"]
        with looped(), first_epochs(asked.epochs) as stages:
            found = execute(measure_trial, job.definition, asked.device)
        if found["status"] != "done":
            raise SystemExit(f"{job.key}: {found['reason']}")
        beside = found["elapsed"] - sum(sum(stage.seconds) for stage in stages)
        curves = [epoch for row in mine for epoch in kept[row["run"]]]
        loops = 0.0
        for judged in {stage.judged for stage in stages}:
            # A warm-up ends by itself: its epochs are those that nobody could have kept.
            n = sum((epoch.get("selection") is not None) == judged for epoch in curves)
            loops += n * seconds_per_epoch([part for part in stages if part.judged == judged])
        total += loops + beside * len(mine)
        fit, accuracy = (mean(row[part] for row in mine) for part in ("seconds", "accuracy"))
        print(
            f"{job.key:8} accuracy {accuracy:.3f}, {len(curves) / len(mine):.0f} epochs; a fit "
            f"{fit:.1f} s among the others, in the usual loop {loops / len(mine):.1f} s and "
            f"{beside:.1f} beside",
            flush=True,
        )
    print(f"usual loops one after the other {total:8.1f} s")
    print(f"runner, {asked.slots} at a time {wall:8.1f} s, faster by {total / wall:.1f}")


if __name__ == "__main__":
    main()
