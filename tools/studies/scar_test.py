"""Does scar_test keep its level, and what does it see? Rejections at 5% in simulations.

Rows are drawn from real datasets and from two normal distributions, with a given share of
positives; some of the positives get labels, at random (scar: the level) or by a mechanism of
recoup.simulate (s2, s3, s4: the power). The test is given the true alpha, and, to show how
little is left then, one that it estimates itself.

    python -m tools.studies.scar_test --repetitions 200 --store scar.jsonl

Finished runs are read from the store, so that the study can be stopped and continued.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from recoup import simulate
from recoup._core.random import named_rng
from recoup.data import load
from recoup.selection.scar import _ranked, scar_test

Cell: TypeAlias = tuple[str, str, float, float]
Result: TypeAlias = dict[str, Any]

DATASETS = ("normal-1.5", "normal-3", "spambase", "landsat", "letter", "pendigits")
PRIORS = (0.2, 0.4, 0.6)
FREQUENCIES = (0.1, 0.3, 0.5, 0.8)
MECHANISMS = ("scar", "s2", "s3", "s4")
LEVEL = 0.05
# compatible_alpha is told in steps of this.
GRID = 0.01
# A fifth of the rows only trains.
MIN_LABELED = 25
# Runs of one cell that a process does at a time.
CHUNK = 10


def pool(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes to draw rows from; normal ones differ by so much in one of four."""
    if name.startswith("normal-"):
        rng = named_rng(0, "study", name)
        y = np.arange(40_000) % 2
        X = rng.normal(size=(len(y), 4))
        X[:, 0] += float(name.removeprefix("normal-")) * y
        return X, y
    data = load(name)
    return np.asarray(data.X, float), np.asarray(data.y_true, int)


def drawn(
    X: np.ndarray, y: np.ndarray, prior: float, n_rows: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """As many rows as asked for, or as the dataset has in these shares."""
    classes = [np.flatnonzero(y == kind) for kind in (1, 0)]
    n = min(n_rows, len(classes[0]) / prior, len(classes[1]) / (1 - prior))
    sizes = int(prior * n), int((1 - prior) * n)
    chosen = np.concatenate(
        [rng.choice(rows, size, False) for rows, size in zip(classes, sizes, strict=True)]
    )
    rng.shuffle(chosen)
    return X[chosen], y[chosen]


def run(cell: Cell, repetitions: list[int], options: argparse.Namespace) -> list[Result]:
    """A few data sets of one cell."""
    X, y = pool(cell[0])
    return [run_once(X, y, cell, repetition, options) for repetition in repetitions]


def run_once(
    X: np.ndarray, y: np.ndarray, cell: Cell, repetition: int, options: argparse.Namespace
) -> Result:
    """One data set: the p-values with alpha known and estimated; None where labels are few."""
    _, mechanism, prior, frequency = cell
    rng = named_rng(repetition, "study", *map(str, cell))
    X, y = drawn(X, y, prior, options.rows, rng)
    seed = int(rng.integers(2**31))
    data = simulate(X, y, label_frequency=frequency, mechanism=mechanism, random_state=seed)
    assert data.truth is not None
    found: Result = dict.fromkeys(("known", "limit", "estimated"))
    found |= {"cell": cell, "repetition": repetition, "alpha": data.truth.alpha}
    if data.truth.n_labeled < MIN_LABELED:
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"n_resamples": options.resamples, "random_state": seed}
        test = scar_test(
            data.X, data.s, data.truth.alpha, classifier=options.classifier, **settings
        )
        found["known"] = test.p_value
        if options.limits:
            found["limit"] = test.compatible_alpha
        if not options.known_only:
            s, scores, _ = _ranked(data.X, data.s, options.classifier, seed)
            found["estimated"] = scar_test(scores, s, classifier=None, **settings).p_value
    return found


def read(store: Path) -> list[Result]:
    """Return what was done before."""
    if not store.exists():
        return []
    return [json.loads(line) for line in store.read_text().splitlines()]


def rejected(which: np.ndarray) -> str:
    """Write a share with its standard error."""
    if not len(which):
        return "-"
    share = which.mean()
    return f"{share:.1%} +- {np.sqrt(share * (1 - share) / len(which)):.1%} of {len(which)}"


def show(results: list[Result]) -> None:
    """Print rejections per cell, and over all cells of a dataset and mechanism."""
    by_cell: dict[tuple[Any, ...], list[Result]] = defaultdict(list)
    for result in results:
        by_cell[tuple(result["cell"])].append(result)
        name, mechanism, *_ = result["cell"]
        by_cell[name, mechanism, "all", "all"].append(result)
        by_cell["all", mechanism, "all", "all"].append(result)
    print(
        "| data | labels | prior | frequency | runs | alpha known | alpha estimated "
        "| alpha above its limit | limit - alpha |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for cell in sorted(by_cell, key=lambda cell: (cell[1], *map(str, cell))):
        shares = []
        for way in ("known", "estimated"):
            p = np.array([r[way] for r in by_cell[cell] if r[way] is not None], float)
            shares.append(rejected(p <= LEVEL))
        limits = np.array(
            [(r["limit"], r["alpha"]) for r in by_cell[cell] if r["limit"] is not None]
        )
        if len(limits):
            shares.append(rejected(limits[:, 0] + GRID < limits[:, 1]))
            shares.append(f"{np.median(limits[:, 0] - limits[:, 1]):.3f}")
        else:
            shares += ["-", "-"]
        print(f"| {' | '.join(map(str, cell))} | {len(by_cell[cell])} | {' | '.join(shares)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--power-repetitions", type=int, default=50)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--resamples", type=int, default=199)
    parser.add_argument("--classifier", default="auto")
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--mechanisms", nargs="+", default=MECHANISMS)
    parser.add_argument("--priors", nargs="+", type=float, default=PRIORS)
    parser.add_argument("--frequencies", nargs="+", type=float, default=FREQUENCIES)
    parser.add_argument("--known-only", action="store_true", help="do not estimate alpha")
    parser.add_argument("--limits", action="store_true", help="find compatible_alpha too")
    parser.add_argument("--store", type=Path, default=Path("scar_test_study.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    results = read(options.store)
    done = {(tuple(result["cell"]), result["repetition"]) for result in results}
    cells = itertools.product(
        options.datasets, options.mechanisms, options.priors, options.frequencies
    )
    jobs = []
    for cell in cells:
        times = options.repetitions if cell[1] == "scar" else options.power_repetitions
        left = [number for number in range(times) if (cell, number) not in done]
        jobs += [(cell, left[start : start + CHUNK]) for start in range(0, len(left), CHUNK)]
    work = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(run)(cell, numbers, options) for cell, numbers in jobs
    )
    with options.store.open("a") as lines:
        for finished in work:
            for result in finished:
                print(json.dumps(result), file=lines, flush=True)
            results += finished
    show(results)


if __name__ == "__main__":
    main()
