"""Learn how ``recoup.priors.estimate(s, X=X)`` allows for labels that are no random sample.

``python -m tools.training.biased_labels --out src/recoup/priors/weights`` takes
the problems of ``tools/training/biased_tasks.py`` and grows extremely randomized trees that say
which of them a new one is like. Trees are grown with each group of datasets left out in turns
first: what they say about the datasets that they have not seen is printed, and sets the width of
intervals and the level at which labels are called biased.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from recoup.priors._solvers.like_problems import LikeProblems, from_forest, save_problems
from recoup.priors.biased_labels import (
    LEVEL,
    MIDDLE,
    QUANTILES,
    WAYS,
    biased_alone,
    quantiles_alike,
    ways_alike,
)
from recoup.priors.label_readings import Asked, evened, question, shares_of
from tools.training.biased_tasks import DATASETS, MADE, load_rows

FOLDS = 8
TREES = 120
MIN_LEAF = 4
MAX_FEATURES = 0.5
# How much the way in which labels came about counts beside alpha, where trees for alpha split.
WAY_WEIGHT = 0.5
# How much how far alpha is off counts beside the way, where trees for the way split.
OFF_WEIGHT = 0.1
COVERAGE = 0.95
# Ways that there is a word for; a kind without labels looks like random ones.
SAID = {"random": 0, "kinds": 1, "column": 1, "clear": 2, "doubtful": 3, "hidden kind": 4}
# The same sensors more than once: left out together.
TOGETHER = {"batteryless_s2": "batteryless_s1"}


def learnable(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Inputs, targets and weights: each problem by the views of its estimate that there are."""
    forest, logistic, auto = (rows["incoming"][:, place, MIDDLE] for place in range(3))
    better = np.where(rows["forest_is_better"] | np.isnan(logistic), forest, logistic)
    parts = []
    for view in (better, (forest + logistic) / 2, auto):
        kept = np.flatnonzero(np.isfinite(view))
        parts.append((kept, view[kept]))
    problem, random = (np.concatenate(column) for column in zip(*parts, strict=True))
    names = [TOGETHER.get(name, name) for name in rows["dataset"].tolist()]
    group = np.unique(names, return_inverse=True)[1]
    way = np.array([SAID[name] for name in rows["way"].tolist()])
    asked = [
        question(a, rows["readings"][k]) for a, k in zip(random.tolist(), problem, strict=True)
    ]
    alpha = evened(rows["alpha"])[problem]
    return {
        "inputs": np.array([each.inputs for each in asked]),
        "center": np.array([each.center for each in asked]),
        "scale": np.array([each.scale for each in asked]),
        "alpha": alpha,
        "random": random,
        "way": way[problem],
        "weight": 1 / np.bincount(problem)[problem],
        "problem": problem,
        "group": group[problem],
    }


def grow(data: dict[str, np.ndarray], trees: int) -> tuple[LikeProblems, LikeProblems]:
    """Grow trees that divide problems by how far alpha is off, and others by the way of labels."""
    from sklearn.ensemble import ExtraTreesRegressor

    off = (data["alpha"] - data["center"]) / data["scale"]
    ways = (data["way"][:, None] == np.arange(len(WAYS))).astype(float)
    grown = []
    for targets in (
        np.column_stack([off / off.std(), WAY_WEIGHT * ways]),
        np.column_stack([OFF_WEIGHT * off / off.std(), ways]),
    ):
        forest = ExtraTreesRegressor(
            trees, min_samples_leaf=MIN_LEAF, max_features=MAX_FEATURES, n_jobs=1, random_state=0
        )
        forest.fit(data["inputs"], targets, sample_weight=data["weight"])
        grown.append(
            from_forest(forest, data["inputs"], off, data["way"], data["weight"], {"widening": 1.0})
        )
    return grown[0], grown[1]


def part(data: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, np.ndarray]:
    return {key: values[mask] for key, values in data.items()}


def left_out(data: dict[str, np.ndarray], trees: int) -> dict[str, np.ndarray]:
    """What trees say about datasets that they have not seen."""
    n = len(data["alpha"])
    found = {
        "unknown": np.zeros((n, len(QUANTILES))),
        "biased": np.zeros((n, len(QUANTILES))),
        "ways": np.zeros((n, len(WAYS))),
    }
    order = np.random.default_rng(0).permutation(int(data["group"].max()) + 1)
    fold = np.empty(len(order), int)
    fold[order] = np.arange(len(order)) % FOLDS
    for number in range(FOLDS):
        unseen = fold[data["group"]] == number
        problems, of_ways = grow(part(data, ~unseen), trees)
        for row in np.flatnonzero(unseen):
            inputs = data["inputs"][row]
            asked = Asked(inputs, data["center"][row], data["scale"][row])
            likeness = problems.likeness(inputs)
            told = biased_alone(problems, likeness)
            found["unknown"][row] = quantiles_alike(problems, likeness, asked)
            found["biased"][row] = quantiles_alike(problems, told, asked)
            found["ways"][row] = ways_alike(of_ways, of_ways.likeness(inputs))
    return found


def widening(data: dict[str, np.ndarray], quantiles: np.ndarray) -> float:
    """How much wider quantiles must be on datasets that were not seen."""
    middle = quantiles[:, MIDDLE]
    gap = data["alpha"] - middle
    reach = np.where(gap > 0, quantiles[:, -1] - middle, middle - quantiles[:, 0])
    needed = np.abs(gap) / np.maximum(reach, 1e-3)
    order = np.argsort(needed)
    passed = np.cumsum(data["weight"][order]) / data["weight"].sum()
    return max(float(needed[order][np.searchsorted(passed, COVERAGE)]), 1.0)


def report(
    rows: dict[str, np.ndarray],
    data: dict[str, np.ndarray],
    found: dict[str, np.ndarray],
    wider: float,
) -> None:
    """Print errors, coverage and flags on datasets that were left out."""
    truth, random = rows["alpha"][data["problem"]], shares_of(data["random"])
    evidence = 1 - found["ways"][:, 0]
    way = rows["way"][data["problem"]]
    ratio, frequency = rows["ratio"][data["problem"]], rows["frequency"][data["problem"]]
    level = np.quantile(evidence[way == "random"], 1 - LEVEL)
    flagged = evidence >= level
    for said in ("unknown", "biased"):
        middle = found[said][:, [MIDDLE]]
        spread = middle + wider * (found[said] - middle)
        shares = shares_of(spread)
        off, wide = shares[:, MIDDLE] - truth, shares[:, -1] - shares[:, 0]
        inside = (shares[:, 0] <= truth) & (truth <= shares[:, -1])
        for name in np.unique(way):
            some = way == name
            print(
                f"{said} {name:12}{some.sum():5d}: error if random "
                f"{np.abs(random - truth)[some].mean():.3f}, now {np.abs(off)[some].mean():.3f}, "
                f"bias {off[some].mean():+.3f}, coverage {inside[some].mean():.2f}, width "
                f"{wide[some].mean():.2f}, flagged {flagged[some].mean():.2f}"
            )
    for low, high in ((0.03, 0.1), (0.1, 0.3), (0.3, 0.61)):
        some = (way == "kinds") & (ratio > 4) & (frequency >= low) & (frequency < high)
        alarms = (way == "random") & (frequency >= low) & (frequency < high)
        print(
            f"label frequency {low} to {high}: kinds x4 and more flagged "
            f"{flagged[some].mean():.2f} of {some.sum()}, random "
            f"{flagged[alarms].mean():.2f} of {alarms.sum()}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trees", type=int, default=TREES)
    chosen = parser.parse_args()
    rows = load_rows()
    data = learnable(rows)
    print(f"{len(rows['alpha'])} problems")
    found = left_out(data, chosen.trees)
    wider = widening(data, found["unknown"])
    print(f"widening {wider:.2f}")
    report(rows, data, found, wider)
    if chosen.out is None:
        return
    # One view of each problem: they are not so many as their views.
    one = np.unique(data["problem"], return_index=True)[1]
    ways = found["ways"][one[data["way"][one] == 0]]
    about = {"problems": len(rows["alpha"]), "datasets": [*DATASETS, MADE]}
    problems, of_ways = grow(data, chosen.trees)
    levels = {
        "biased_if_random": np.sort(1 - ways[:, 0]).round(5).tolist(),
        "tilted_if_random": np.sort(ways[:, 2] + ways[:, 3]).round(5).tolist(),
    }
    folder = chosen.out
    save_problems(
        folder / "biased_labels.npz", replace(problems, meta=about | {"widening": round(wider, 4)})
    )
    save_problems(folder / "label_ways.npz", replace(of_ways, meta=about | levels))


if __name__ == "__main__":
    main()
