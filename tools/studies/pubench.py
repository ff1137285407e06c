"""Do the runs behind docs/papers/pubench and docs/which-learner.md, the most telling first.

    python -m tools.studies.pubench missing                                what is still to be run
    python -m tools.studies.pubench run --gpu --slots 14 --limit 540       goes on where it stopped
    python -m tools.studies.pubench add                                    to the committed results

Runs are those of the shipped plans ``pubench-*`` and ``honest-*``. What the committed table has, or
the store, is not run again, so that any machine can do a part: let ``RECOUP_DATA`` name the
datasets, run for as long as there is time, and bring the store home. Datasets that are not at hand
are left for later. ``--slots 20`` suits tables and vectors, ``--slots 10`` images.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recoup._core.files import write_file
from recoup.bench import Store, read_plan
from recoup.bench.exported import export, read_export
from recoup.bench.job import Job, hashed
from recoup.bench.runner import run_work, trials

FOLDER = Path("docs/papers/pubench")
RESULTS = FOLDER / "results.parquet"
STORE = Path("build/pubench/runs.sqlite")
# Chosen before anything was run; 2, 25, 42, 52 and 99 were looked at while settings were chosen.
SEEDS = (103, 250, 666)
ALL_SEEDS = (*SEEDS, 777, 2026)
TABLES = ("spambase", "newsgroups20_minilm", "connect4", "imdb_minilm")
SMALL_IMAGES = ("mnist", "fashion_mnist")
LARGE_IMAGES = ("alzheimer_mri", "cifar10_20k_5k")
# Ten times the steps of the others, or more.
SLOW = ("cgenpu", "lagam", "pan", "vae-pu", "pulda", "pul-cpbf")


@dataclass(frozen=True)
class Part:
    """Some runs of a plan."""

    plan: str
    datasets: tuple[str, ...]
    seeds: tuple[int, ...]
    slow: bool | None = None

    def jobs(self) -> Iterator[Job]:
        """Yield them, dataset by dataset; of slow learners only, or of others, if that is said."""
        jobs = read_plan(self.plan).jobs()
        for dataset in self.datasets:
            for job in jobs:
                fits = self.slow is None or (job.key in SLOW) == self.slow
                if job.dataset == dataset and job.seed in self.seeds and fits:
                    yield job


PARTS = (
    Part("pubench-conventional", TABLES, SEEDS),
    Part("pubench-selection-bias", TABLES[:2], SEEDS[:1]),
    Part("pubench-label-ratio", TABLES[:3], SEEDS[:1]),
    Part("pubench-conventional", SMALL_IMAGES, SEEDS, slow=False),
    Part("pubench-conventional", SMALL_IMAGES, SEEDS, slow=True),
    # One seed of every learner comes before the second of any.
    *(
        Part("pubench-conventional", LARGE_IMAGES, (seed,), slow)
        for seed in SEEDS
        for slow in (True, False)
    ),
    Part("pubench-selection-bias", TABLES[:2], SEEDS[1:2]),
    Part("honest-conventional", ("spambase", "mushroom", *TABLES[1:]), ALL_SEEDS),
    Part("honest-conventional", SMALL_IMAGES, ALL_SEEDS, slow=False),
    Part("pubench-label-ratio", ("cifar10_20k_5k",), SEEDS[:1], slow=False),
    Part("pubench-selection-bias", ("cifar10_20k_5k",), SEEDS[:1], slow=False),
    Part("honest-label-ratio", TABLES[:3], SEEDS[:1]),
    Part("honest-selection-bias", TABLES[:2], SEEDS[:1]),
    Part("honest-conventional", (*SMALL_IMAGES, *LARGE_IMAGES), ALL_SEEDS),
)


def wanted(datasets: list[str] | None) -> list[Job]:
    """Return the runs of all parts in their order, or those on some datasets."""
    jobs = {job.run: job for part in PARTS for job in part.jobs()}
    return [job for job in jobs.values() if datasets is None or job.dataset in datasets]


def finished(store: Path) -> set[str]:
    """Return the runs that the committed table or a store has finished."""
    rows = read_export(RESULTS) if RESULTS.exists() else []
    rows += Store(store).rows() if store.exists() else []
    return {row["run"] for row in rows if row["status"] == "done"}


def missing(asked: argparse.Namespace) -> list[Job]:
    have = finished(asked.store)
    return [
        job for job in wanted(asked.datasets) if job.run not in have and job.skip_reason() is None
    ]


def show(jobs: list[Job]) -> None:
    """Print how many runs are missing, by plan of the paper or ours, and dataset."""
    counts = Counter((job.protocol, job.mechanism, job.dataset) for job in jobs)
    for place, n in sorted(counts.items()):
        print(f"{n:6,}  {', '.join(place)}")
    print(f"{len(jobs):6,}  in all")


def run(asked: argparse.Namespace) -> None:
    """Run what is missing, in order, until time is up."""
    jobs = missing(asked)
    asked.store.parent.mkdir(parents=True, exist_ok=True)
    print(f"{len(jobs):,} runs to do", flush=True)
    told = [0.0]

    def watch(counts: Counter[str], total: int) -> None:
        if time.monotonic() - told[0] > 10:
            told[0] = time.monotonic()
            print(", ".join(f"{n:,} {what}" for what, n in counts.items()), flush=True)

    work = replace(trials(read_plan("pubench-conventional"), Store(asked.store)), jobs=jobs)
    outcome = run_work(
        work,
        asked.store,
        workers=asked.workers,
        gpu=asked.gpu,
        slots=asked.slots,
        limit=asked.limit,
        retry_failed=True,
        watch=watch,
    )
    print(outcome)
    for reason, job in outcome.problems:
        print(f"failed: {job.learner} on {job.dataset}, seed {job.seed}: {reason}")


def add(store: Path) -> None:
    """Write the committed table anew, with the runs of a store, and the scores of Figure 12."""
    from papers.pubench.scores import scores_of

    rows = {row["run"]: row for row in (read_export(RESULTS) if RESULTS.exists() else [])}
    taken = set()
    for row in Store(store).rows():
        # GPUs do not repeat a run to the digit: what was published stays.
        if rows.get(row["run"], {}).get("status") != "done":
            rows[row["run"]] = row
            taken.add(row["run"])
    order = sorted(rows.values(), key=lambda row: (row["dataset"], row["learner"], row["run"]))
    export(order, RESULTS)
    _rewrite(FOLDER / "distributions.json", lambda kept: scores_of(Store(store)) | kept)
    _rewrite(FOLDER / "machines.json", lambda kept: _joined(kept, machines(Store(store)), taken))
    print(f"{len(order):,} runs in {RESULTS}")


def machines(store: Store) -> dict[str, Any]:
    """Return the machines and versions of packages that runs were made with, by a hash of them."""
    found: dict[str, Any] = {}
    for row in store.rows():
        if row["status"] == "done":
            details = store.details(row["run"])
            made_with = {part: details[part] for part in ("hardware", "versions")}
            name = hashed(made_with)
            found.setdefault(name, made_with | {"runs": []})["runs"].append(row["run"])
    return found


def _joined(kept: dict[str, Any], new: dict[str, Any], taken: set[str]) -> dict[str, Any]:
    """Add the runs that were taken to those that each machine is known to have made."""
    found = dict(kept)
    for name, machine in new.items():
        before = found.get(name, {}).get("runs", [])
        runs = sorted({*before, *(run for run in machine["runs"] if run in taken)})
        if runs:
            found[name] = machine | {"runs": runs}
    return found


def _rewrite(path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    kept = json.loads(path.read_text()) if path.exists() else {}
    write_file(path, (json.dumps(change(kept), allow_nan=False) + "\n").encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("missing", "run", "add"))
    parser.add_argument("--store", type=Path, default=STORE, help="where new runs are kept")
    parser.add_argument("--datasets", nargs="+", help="only these, such as the ones at hand")
    parser.add_argument("--gpu", action="store_true", help="train networks on a GPU")
    parser.add_argument("--slots", type=int, default=14, help="networks that share a GPU")
    parser.add_argument("--workers", type=int, help="runs on cores; by default one per core")
    parser.add_argument("--limit", type=float, help="seconds to start runs for")
    asked = parser.parse_args()
    if asked.what == "missing":
        show(missing(asked))
    elif asked.what == "run":
        run(asked)
    else:
        add(asked.store)


if __name__ == "__main__":
    main()
