"""How often do the intervals of average ranks hold the rank to expect from other seeds?

    python -m tools.studies.rank_intervals

Six learners; each has a mean on each dataset, of which half the variance is the learner's own. All
learners share what a seed does to a dataset, and each run adds noise of the same size. ``gap`` is
the spread of the means in units of that noise.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from recoup.bench.hypothesis_tests import bootstrap_ranks, rank_intervals, ranks_of

N_LEARNERS = 6


def coverage(n_datasets: int, n_seeds: int, gap: float, n_studies: int) -> float:
    """Return the share of intervals at 95% that hold the expected average rank."""
    rng = np.random.default_rng([n_datasets, n_seeds, int(10 * gap)])
    freedom = n_datasets * (n_seeds - 1)
    hits = []
    for _ in range(n_studies):
        own = rng.normal(size=(1, N_LEARNERS))
        here = rng.normal(size=(n_datasets, N_LEARNERS))
        true = gap * np.sqrt(0.5) * (own + here)
        shared = rng.normal(size=(n_datasets, 1, n_seeds))
        noise = rng.normal(size=(n_datasets, N_LEARNERS, n_seeds))
        values = true[:, :, None] + shared + noise
        others = true + rng.normal(size=(2000, n_datasets, N_LEARNERS)) / np.sqrt(n_seeds)
        expected = ranks_of(others).mean(axis=(0, 1))
        draws = bootstrap_ranks(
            values,
            np.arange(n_datasets),
            by_dataset=True,
            higher_is_better=True,
            n_boot=400,
            rng=rng,
        )
        mean_ranks = ranks_of(values.mean(axis=2)).mean(axis=0)
        lower, upper = rank_intervals(mean_ranks, draws, freedom, 0.95)
        hits.append(np.mean((lower <= expected) & (expected <= upper)))
    return float(np.mean(hits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=150)
    asked = parser.parse_args()
    print("datasets  seeds  gap 0.0  gap 0.3  gap 1.0  gap 3.0")
    for n_datasets, n_seeds in itertools.product((2, 8), (2, 3, 5, 10)):
        found = [coverage(n_datasets, n_seeds, gap, asked.studies) for gap in (0.0, 0.3, 1.0, 3.0)]
        print(f"{n_datasets:8d}  {n_seeds:5d}  " + "  ".join(f"{share:7.3f}" for share in found))


if __name__ == "__main__":
    main()
