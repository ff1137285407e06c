"""What does an epoch of each network learner cost, in time and memory, and in the usual loop?

    python benchmarks/learner_costs.py                              on a GPU: some minutes
    python benchmarks/learner_costs.py --device cpu --rows 4000 --jobs 2
    python benchmarks/learner_costs.py ... --write docs/learner-costs.md

Rows are MNIST's (``study_learners.py pack`` writes them), a tenth of the positives labeled. Each
learner runs the first epochs of each of its stages in a process of its own, once as it is and once
with batches from a DataLoader without workers over rows in main memory, each row fetched as five
tensors like PU-Bench's, and nothing recorded; all else is the same. The seconds of a stage's
epochs are the median without the first, of the processor's time on a CPU, and stages count by their
usual number of epochs. Memory is the most that a fit takes beyond what the process had before it,
its copy of the rows included.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from study_learners import NETWORKS, VARIANTS, rows_of

LOOPED_EPOCHS = 3


def looped() -> None:
    """Fetch batches by a DataLoader from now on, row by row, in this process."""
    import torch
    from torch.utils.data import DataLoader
    from training_speed import RowByRow

    from recoup.learners._steps import Epoch

    refill = Epoch._refill

    def refilled(epoch: Any, rng: np.random.Generator) -> None:
        refill(epoch, rng)
        epoch.can_record = False
        if not hasattr(epoch, "in_memory"):
            labels = epoch.rows.has_label.long().cpu().numpy()
            epoch.in_memory = RowByRow(epoch.rows.X.cpu().numpy(), labels)
        places = epoch.inputs["rows"].tolist()
        epoch.loader = iter(DataLoader(epoch.in_memory, batch_sampler=places))

    def gathered(epoch: Any, places: torch.Tensor) -> torch.Tensor:
        images, labels, *_ = next(epoch.loader)
        labels.to(epoch.device)
        return images.to(epoch.device).contiguous(memory_format=epoch.layout)

    Epoch._refill, Epoch._gathered = refilled, gathered


def peak_since() -> int:
    """Return the memory of this process in bytes, and count its peak from here (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_now()


def peak_now() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def cost(name: str, asked: dict[str, Any], loop: bool) -> dict[str, Any]:
    """Fit one learner for some epochs; return seconds per epoch and bytes."""
    import torch

    from recoup import learners

    rows = rows_of("mnist", "case-control", 1001)
    chosen = np.random.default_rng(0).permutation(len(rows["s"]))[: asked["rows"]]
    X, s, y = rows["X"][chosen], rows["s"][chosen], rows["y"][chosen]
    key, changed = VARIANTS.get(name, (name, {}))
    learner = learners.make(key, random_state=0, device=asked["device"], progress=False, **changed)
    if "alpha" in learner.get_params():
        learner.set_params(alpha=float(rows["alpha"]))
    learner.set_params(**{"scheme": "case-control"} if "scheme" in learner.get_params() else {})
    stages_of, run_stage, found = learner._stages, learner._run_stage, []
    most = LOOPED_EPOCHS if loop else asked["epochs"]

    def run_part(stage: Any, *others: Any) -> Any:
        known = len(learner.history_)
        outcome = run_stage(replace(stage, epochs=min(stage.epochs, most)), *others)
        spent = [one["seconds"] for one in learner.history_[known:]]
        found.append((stage.epochs, float(np.median(spent[1:] or spent))))
        return outcome

    learner._stages, learner._run_stage = stages_of, run_part
    if loop:
        looped()
    on_gpu = torch.device(learner.device if learner.device != "auto" else "cuda").type == "cuda"
    more = {"y_true": y} if learner.tags.requires_true_labels else {}
    if not on_gpu:
        # Other processes' load does not count. Fits read their seconds from this clock.
        time.perf_counter = time.process_time
    before = peak_since()
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, s, **more)
    taken = peak_now() - before
    counts, seconds = np.array(found).T
    return {
        "learner": name,
        "seconds": float((counts * seconds).sum() / counts.sum()),
        "epochs": int(counts.sum()),
        "memory": torch.cuda.max_memory_allocated() if on_gpu else taken,
        "wall": time.perf_counter() - started,
    }


def measured(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Measure a learner both ways, each in a fresh process, as memory and patches demand."""
    found = {}
    for loop in (False, True):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one:
            try:
                found[loop] = one.submit(cost, name, asked, loop).result()
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                return {"learner": name, "error": str(error)[:200]}
    ours, usual = found[False], found[True]
    return ours | {"usual_seconds": usual["seconds"], "usual_memory": usual["memory"]}


def table(found: list[dict[str, Any]]) -> str:
    """Lay the costs out, relative to those of the supervised network."""
    known = {one["learner"]: one for one in found if "error" not in one}
    pn = known["pn"]
    lines = [
        "| Learner | Epochs | Seconds per epoch | Relative to PN | Memory relative to PN | "
        "Usual loop, seconds | Ratio |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in known.items():
        ratio = one["usual_seconds"] / one["seconds"]
        lines.append(
            f"| {name} | {one['epochs']} | {one['seconds']:.3f} | "
            f"{one['seconds'] / pn['seconds']:.1f} | {one['memory'] / pn['memory']:.1f} | "
            f"{one['usual_seconds']:.2f} | {ratio:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--epochs", type=int, default=5, help="of each stage")
    parser.add_argument("--learners", nargs="+", default=(*NETWORKS, "pn"))
    parser.add_argument("--store", type=Path, help="where to keep the figures, as JSON")
    asked = parser.parse_args()
    found = []
    for name in asked.learners:
        found.append(measured(name, vars(asked) | {"store": None}))
        print(json.dumps(found[-1]), flush=True)
        if asked.store is not None:
            asked.store.write_text(json.dumps(found))
    print(table(found))


if __name__ == "__main__":
    main()
