"""Do the intervals hold what they claim? Coverage of evaluate's intervals in simulations.

Positives are N(d, 1), negatives N(0, 1), so that the truth of every metric is known exactly; with
ties, scores are rounded to halves. Labeled rows follow beta*h1 + (1-beta)*h0, unlabeled rows
alpha*h1 + (1-alpha)*h0, and alpha and beta are given to evaluate, as numbers or (``--uncertain``)
as draws around a noisy estimate.

    python -m tools.studies.intervals --simulations 1000
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from recoup import evaluate
from recoup.metrics.area import area_under_roc, step_average_precision
from recoup.metrics.spec import POINT_METRICS

METRICS = (
    "roc_auc",
    "accuracy",
    "balanced_accuracy",
    "f1",
    "matthews_corrcoef",
    "average_precision",
)
Cell: TypeAlias = tuple[int, int, float, float, float, bool]

SIZES = ((50, 500), (50, 5000), (300, 900))
SHARES = ((0.1, 1.0), (0.4, 1.0), (0.2, 0.8))
SEPARATIONS = (1.0, 2.5)
TIES = (False, True)
ALPHA_ERROR = 0.02


def truth(cell: Cell, threshold: float) -> dict[str, float]:
    """Return exact values in the population."""
    n_labeled, n_unlabeled, alpha, beta, separation, ties = cell
    fraction = n_labeled / (n_labeled + n_unlabeled)
    pi = fraction * beta + (1 - fraction) * alpha
    step = 0.5 if ties else 1e-4
    cuts = np.arange(-8, separation + 8, step)[::-1] - (0.25 if ties else 0.0)
    tpr = np.append(0.0, stats.norm.sf(cuts - separation))
    fpr = np.append(0.0, stats.norm.sf(cuts))
    cut = threshold - 0.25 if ties else threshold
    at = stats.norm.sf(cut - separation), stats.norm.sf(cut)
    values = {key: float(POINT_METRICS[key].from_rates(*at, pi)) for key in METRICS[1:5]}
    values["roc_auc"] = float(area_under_roc(tpr, fpr))
    values["average_precision"] = float(step_average_precision(tpr, fpr, pi))
    return values


def simulate(
    cell: Cell, threshold: float, seed: int, n_boot: int, uncertain: bool
) -> list[tuple[float, float, float]]:
    """Draw one data set; return both ends of the interval of each metric, and its value."""
    n_labeled, n_unlabeled, alpha, beta, separation, ties = cell
    rng = np.random.default_rng([seed, n_labeled, n_unlabeled, int(100 * alpha)])

    def draw(size: int, share: float) -> np.ndarray:
        scores = rng.normal(size=size) + separation * (rng.random(size) < share)
        return np.round(2 * scores) / 2 if ties else scores

    scores = np.concatenate([draw(n_labeled, beta), draw(n_unlabeled, alpha)])
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    given: float | np.ndarray = alpha
    if uncertain:
        center = rng.normal(alpha, ALPHA_ERROR)
        given = np.clip(rng.normal(center, ALPHA_ERROR, size=1000), 0.0, beta - 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(
            s,
            scores,
            alpha=given,
            beta=beta,
            threshold=threshold,
            n_boot=n_boot,
            random_state=seed,
        )
    return [(found[key].lower, found[key].recovered, found[key].upper) for key in METRICS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--n-boot", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--uncertain", action="store_true", help="alpha as draws, not a number")
    parser.add_argument("--out", type=Path, help="also write the shares as JSON")
    options = parser.parse_args()

    cells: list[Cell] = [
        (*size, *share, separation, ties)
        for size, share, separation, ties in itertools.product(SIZES, SHARES, SEPARATIONS, TIES)
    ]
    head = f"{'n_l':>5}{'n_u':>6}{'alpha':>6}{'beta':>5}{'d':>5} ties "
    print(head + "".join(f"{key:>18}" for key in METRICS), flush=True)
    results: list[dict[str, Any]] = []
    with Parallel(n_jobs=options.jobs) as parallel:
        for number, cell in enumerate(cells, 1):
            print(f"\rcell {number} of {len(cells)}", end="", file=sys.stderr, flush=True)
            threshold = 1.0 if cell[-1] else cell[-2] / 2 + 0.3
            true = truth(cell, threshold)
            seeds = range(options.simulations)
            rows = np.array(
                parallel(
                    delayed(simulate)(cell, threshold, seed, options.n_boot, options.uncertain)
                    for seed in seeds
                )
            )
            goal = np.array([true[key] for key in METRICS])
            slack = 1e-9
            held = (rows[:, :, 0] <= goal + slack) & (goal - slack <= rows[:, :, 2])
            width = rows[:, :, 2] - rows[:, :, 0]
            share, typical = held.mean(0), np.median(width, axis=0)
            n_l, n_u, alpha, beta, separation, ties = cell
            print(
                f"\r{n_l:>5}{n_u:>6}{alpha:>6}{beta:>5}{separation:>5} "
                f"{'yes' if ties else 'no':>4} "
                + "".join(f"{a:>11.3f} ({w:.2f})" for a, w in zip(share, typical, strict=True)),
                flush=True,
            )
            results.append(
                {"cell": cell, "coverage": dict(zip(METRICS, share.tolist(), strict=True))}
            )
    shares = np.array([list(row["coverage"].values()) for row in results])
    inside = (shares >= 0.93) & (shares <= 0.97)
    print(f"\nlowest  {''.join(f'{value:>18.3f}' for value in shares.min(0)):>139}")
    print(f"mean    {''.join(f'{value:>18.3f}' for value in shares.mean(0)):>139}")
    print(f"highest {''.join(f'{value:>18.3f}' for value in shares.max(0)):>139}")
    print(
        f"{inside.sum()} of {inside.size} intervals hold the truth in 93% to 97% of "
        f"{options.simulations} simulations (n_boot={options.n_boot}); the standard error of one "
        f"share is {np.sqrt(0.05 * 0.95 / options.simulations):.3f}. Median widths in brackets."
    )
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
