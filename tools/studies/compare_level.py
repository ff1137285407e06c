"""Does compare find differences where there are none? Rejections at 5% between equal models.

Positives are drawn with chance pi and labeled with chance c. Both models score a row by its class,
noise that they share, and noise of their own, all of the same size, so that every metric of the two
is equal in the population. Scores are turned into probabilities by Bayes' rule. With ``--gap`` the
second model tells the classes apart by that much less, and the shares are the power.

    python -m tools.studies.compare_level --simulations 1000 --jobs 4 --out level.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from recoup._core.prior import Prior
from recoup.evaluation.cuts import Cut, in_rows, nearest_cut
from recoup.evaluation.paired import PairedRows, Scored, paired_differences
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import evaluated_specs
from recoup.scores import ScoreTable

# Rows, share of positives, share of the positives with a label, and where models are compared.
Cell: TypeAlias = tuple[int, float, float, str]

SIZES = (2000, 10_000)
SHARES = (0.1, 0.3)
FREQUENCIES = (0.3, 0.5)
CUTS = {"threshold": Cut("threshold", 0.5), "queue": None, "recall": Cut("recall", 0.8)}
LEVEL, LOW, HIGH = 0.05, 0.03, 0.07
SEPARATION, SHARED = 1.8, 0.5
# Simulations that a process does at a time.
CHUNK = 25


def draw(cell: Cell, seed: int, gap: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw labels, and the probabilities that two models predict."""
    n, pi, frequency, _ = cell
    rng = np.random.default_rng([seed, n, int(100 * pi), int(100 * frequency)])
    positive = rng.random(n) < pi
    s = (positive & (rng.random(n) < frequency)).astype(int)
    shared = rng.normal(size=n)
    scores = {}
    for name, separation in (("a", SEPARATION), ("b", SEPARATION - gap)):
        noise = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * rng.normal(size=n)
        odds = SEPARATION * (separation * positive + noise) - SEPARATION**2 / 2
        scores[name] = 1 / (1 + np.exp(-odds) * (1 - pi) / pi)
    return s, scores


def p_values(cell: Cell, seed: int, gap: float) -> dict[str, float]:
    """Draw one data set and test every metric, as compare does."""
    s, scores = draw(cell, seed, gap)
    n, pi, frequency, where = cell
    prior = Prior(pi * (1 - frequency) / (1 - pi * frequency), 1.0)
    cut, models = CUTS[where], {}
    for name, values in scores.items():
        table = ScoreTable.from_arrays(s, values)
        mixture = Mixture.of(table, prior.alpha, prior.beta, "single-sample")
        cut = in_rows(cut, table, mixture)
        threshold, moves = float(cut.value), False
        if cut.held is not None:
            threshold, _, moves = nearest_cut(cut, table, mixture)
        models[name] = Scored.of(
            table, "single-sample", threshold, values, cut.held if moves else None
        )
    weight = np.ones(n)
    rows = PairedRows(s == 1, s == 0, np.zeros(n, bool), weight, weight)
    specs = [spec for spec in evaluated_specs() if spec.row_effects is not None]
    found = paired_differences(rows, models, specs, prior, 0.95)
    return {item.metric: item.p_value for item in found}


def several(cell: Cell, seeds: range, gap: float) -> list[dict[str, float]]:
    """Do one share of the work."""
    return [p_values(cell, seed, gap) for seed in seeds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--gap", type=float, default=0.0, help="how much worse the second model is")
    parser.add_argument("--at", choices=CUTS, help="only where models are compared so")
    parser.add_argument("--rows", type=int, help="only data of this size")
    parser.add_argument("--out", type=Path, help="also write the shares as JSON")
    options = parser.parse_args()

    sizes = SIZES if options.rows is None else (options.rows,)
    places = tuple(CUTS) if options.at is None else (options.at,)
    cells: list[Cell] = list(itertools.product(sizes, SHARES, FREQUENCIES, places))
    results: list[dict[str, Any]] = []
    outside: list[str] = []
    for number, cell in enumerate(cells, 1):
        print(f"\rcell {number} of {len(cells)}", end="", file=sys.stderr, flush=True)
        chunks = [
            range(start, min(start + CHUNK, options.simulations))
            for start in range(0, options.simulations, CHUNK)
        ]
        parts = Parallel(n_jobs=options.jobs)(
            delayed(several)(cell, chunk, options.gap) for chunk in chunks
        )
        found = [values for part in parts for values in part]
        rejected: dict[str, float] = {}
        for key in found[0]:
            known = np.array([values[key] for values in found])
            # A metric that all models are held equal at has no test.
            known = known[np.isfinite(known)]
            if len(known):
                rejected[key] = float(np.mean(known < LEVEL))
        n, pi, frequency, where = cell
        name = f"n={n:,} pi={pi} c={frequency} at {where}"
        shares = "  ".join(f"{key} {100 * share:.1f}" for key, share in rejected.items())
        print(f"\r{name}: {shares}", flush=True)
        outside += [
            f"{name}: {key} {100 * share:.1f} %"
            for key, share in rejected.items()
            if not LOW <= share <= HIGH
        ]
        results.append({"n": n, "pi": pi, "c": frequency, "at": where, "rejected": rejected})
    total = sum(len(row["rejected"]) for row in results)
    error = np.sqrt(LEVEL * (1 - LEVEL) / options.simulations)
    print(
        f"{total - len(outside)} of {total} tests reject in {LOW:.0%} to {HIGH:.0%} of "
        f"{options.simulations} simulations; the standard error of one share is {error:.1%}."
    )
    if outside:
        print("Outside:\n  " + "\n  ".join(outside))
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
