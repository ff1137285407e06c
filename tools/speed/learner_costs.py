"""What does an epoch of each network learner cost, in time and memory, and in the usual loop?

    python -m tools.speed.learner_costs run --store build/costs/gpu.json            on a GPU
    python -m tools.speed.learner_costs run --store build/costs/cpu.json --device cpu --rows 4000
    python -m tools.speed.learner_costs write docs/learner-costs.md --store build/costs/*.json

Rows are those that ``study_learners.py pack`` writes, a tenth of the positives labeled. Each
learner runs the first epochs of each of its stages, once as it is and once with batches from a
DataLoader without workers over rows in main memory, each row fetched as five tensors like
PU-Bench's, and nothing recorded; all else is the same. The seconds of a stage are those of its
fastest epoch, of the processor's time on a CPU, and stages count by their usual number of epochs;
measured again, the fastest of all is kept.
Memory is the most that a fit takes beyond what was taken before it, its copy of the rows included:
of the GPU, or of a process of its own.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from tools.studies.learners import NETWORKS, VARIANTS, rows_of

ABOUT = """\
The network is the same for all, so what a learner costs beside PN is what its loss needs: other
views of a row, a second network, a generator, clusters; an epoch of `lbe` is a round of a hundred
steps. The last two columns say what the rows in place and the recorded steps are worth to it. On
one core the convolutions take nearly all of the time of an image, so that the way its row is
fetched hardly matters, and figures of the same learner differ by some percent from one process to
the next. `vae-pu` on MNIST is left out on a core, where its first epochs take more than ten
minutes. `python -m tools.speed.learner_costs` makes this page.\
"""


@contextmanager
def looped() -> Iterator[None]:
    """Fetch batches by a DataLoader, row by row, record no steps, and convolve as torch does."""
    import torch
    from torch.utils.data import DataLoader

    from recoup.learners._training.patches import PatchConv2d
    from recoup.learners._training.stages import Epoch
    from tools.speed.training import RowByRow

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
        rows: torch.Tensor = images.to(epoch.device).contiguous(memory_format=epoch.layout)
        return rows

    plain = mock.patch.object(PatchConv2d, "forward", torch.nn.Conv2d.forward)
    with plain, mock.patch.multiple(Epoch, _refill=refilled, _gathered=gathered):
        yield


class Part(NamedTuple):
    """What was seen of a stage: epochs as planned, seconds of the first, and if they are judged."""

    planned: int
    seconds: list[float]
    judged: bool


@contextmanager
def first_epochs(n: int) -> Iterator[list[Part]]:
    """End each stage of a fit after some epochs, and note what they took."""
    from recoup.learners import TorchPULearner

    run_stage = TorchPULearner._run_stage
    stages: list[Part] = []

    def run_part(learner: Any, stage: Any, *others: Any) -> Any:
        before = len(learner.history_)
        outcome = run_stage(learner, replace(stage, epochs=min(stage.epochs, n)), *others)
        seen = learner.history_[before:]
        seconds = [one["seconds"] for one in seen]
        stages.append(Part(stage.epochs, seconds, "selection" in seen[0]))
        return outcome

    with mock.patch.object(TorchPULearner, "_run_stage", run_part):
        yield stages


def seconds_per_epoch(stages: list[Part]) -> float:
    """Return the mean over stages of their fastest epochs, by the epochs that were planned."""
    total = sum(stage.planned * min(stage.seconds) for stage in stages)
    return total / sum(stage.planned for stage in stages)


def some_rows(dataset: str, n: int) -> dict[str, Any]:
    """Return some of a dataset's training rows and what is known of them."""
    rows = rows_of(dataset, "case-control", 1001)
    chosen = np.random.default_rng(0).permutation(len(rows["s"]))[:n]
    return {part: rows[part][chosen] for part in ("X", "s", "y")} | {"alpha": rows["alpha"]}


def cost(name: str, rows: dict[str, Any], device: str, epochs: int, loop: bool) -> dict[str, Any]:
    """Fit one learner for some epochs of each stage; return seconds per epoch and bytes."""
    from recoup import learners
    from recoup.bench.trial import PeakMemory, warm_up

    key, changed = VARIANTS.get(name, (name, {}))
    learner = learners.make(key, random_state=0, device=device, progress=False, **changed)
    known = {"alpha": float(rows["alpha"]), "scheme": "case-control"}
    taken = learner.get_params()
    learner.set_params(**{one: value for one, value in known.items() if one in taken})
    more = {"y_true": rows["y"]} if learner.tags.requires_true_labels else {}
    warm_up("torch", device)
    way = looped() if loop else nullcontext()
    with warnings.catch_warnings(), way, first_epochs(epochs) as stages:
        warnings.simplefilter("ignore")
        with PeakMemory(device) as peak:
            learner.fit(rows["X"], rows["s"], **more)
    return {
        "learner": name,
        "seconds": seconds_per_epoch(stages),
        "epochs": sum(stage.planned for stage in stages),
        "memory": peak.main if device == "cpu" else peak.gpu,
    }


def cost_on_cpu(name: str, asked: argparse.Namespace, loop: bool) -> dict[str, Any]:
    """Measure in this process alone, whatever else the machine does."""
    # Fits read their seconds from this clock.
    time.perf_counter = time.process_time
    return cost(name, some_rows(asked.dataset, asked.rows), "cpu", asked.epochs, loop)


def measured(name: str, asked: argparse.Namespace, rows: dict[str, Any] | None) -> dict[str, Any]:
    """Measure a learner both ways."""
    found = []
    for loop in (False, True):
        if rows is not None:
            found.append(cost(name, rows, asked.device, asked.epochs, loop))
            continue
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one:
            found.append(one.submit(cost_on_cpu, name, asked, loop).result())
    ours, usual = found
    return ours | {"usual_seconds": usual["seconds"], "usual_memory": usual["memory"]}


def run(asked: argparse.Namespace) -> None:
    """Measure all learners, and write each figure down at once."""
    import torch

    on_cpu = asked.device == "cpu"
    rows = None if on_cpu else some_rows(asked.dataset, asked.rows)
    where = "one core" if on_cpu else torch.cuda.get_device_name()
    kept = {"where": where, "dataset": asked.dataset, "torch": torch.__version__, "learners": []}
    kept["rows"] = len((rows or some_rows(asked.dataset, asked.rows))["s"])
    store = asked.store[0]
    store.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(store.read_text()) if store.exists() else kept
    if {**before, "learners": []} != kept:
        raise SystemExit(f"{store} is about {before['rows']} rows of {before['dataset']}.")
    known = {one["learner"]: one for one in before["learners"] if "error" not in one}
    for name in asked.learners:
        try:
            found = measured(name, asked, rows)
        except Exception as error:
            found = {"learner": name, "error": f"{type(error).__name__}: {error}"[:200]}
        for part in ("seconds", "usual_seconds") if name in known and "error" not in found else ():
            found[part] = min(found[part], known[name][part])
        print(json.dumps(found), flush=True)
        known[name] = found
        store.write_text(json.dumps(kept | {"learners": list(known.values())}))


def table(kept: dict[str, Any]) -> str:
    """Lay the costs out, relative to those of the supervised network."""
    known = {one["learner"]: one for one in kept["learners"] if "error" not in one}
    pn = known["pn"]
    lines = [
        "| Learner | Epochs | Seconds per epoch | of PN's | Memory, of PN's | "
        "Usual loop, seconds per epoch | Faster by |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in known.items():
        ratio = one["usual_seconds"] / one["seconds"]
        lines.append(
            f"| {name} | {one['epochs']} | {one['seconds']:.3f} | "
            f"{one['seconds'] / pn['seconds']:.1f} | {one['memory'] / pn['memory']:.1f} | "
            f"{one['usual_seconds']:.2f} | {ratio:.3g} |"
        )
    return "\n".join(lines)


def write(page: Path, stores: list[Path]) -> None:
    """Write a page with one table per machine."""
    about = __doc__.split("\n\n")[2].strip()
    parts = ["# What the learners cost, measured", about, ABOUT]
    for store in stores:
        kept = json.loads(store.read_text())
        pn = next(one for one in kept["learners"] if one["learner"] == "pn")
        parts += [
            f"## {kept['rows']:,} rows of {kept['dataset']} on {kept['where']}",
            f"With torch {kept['torch']}. PN takes {pn['memory'] / 1e6:,.0f} MB.",
            table(kept),
        ]
        failed = [one for one in kept["learners"] if "error" in one]
        parts += [f"{one['learner']} was not measured: {one['error']}" for one in failed]
    page.write_text("\n\n".join(parts) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "write"))
    parser.add_argument("page", nargs="?", type=Path, default=Path("docs/learner-costs.md"))
    parser.add_argument("--store", type=Path, nargs="+", required=True, help="JSON files")
    parser.add_argument("--device", default="cuda", choices=("cpu", "cuda"))
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--rows", type=int, default=20_000, help="at most")
    parser.add_argument("--epochs", type=int, default=4, help="of each stage")
    parser.add_argument("--learners", nargs="+", default=("pn", *NETWORKS))
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked)
    else:
        write(asked.page, asked.store)


if __name__ == "__main__":
    main()
