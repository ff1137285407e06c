"""Problems with labels that came about in known ways, to learn from; none of a study's datasets.

Rows come from the training datasets of ``tools/studies/prior_tasks.py`` and from made clusters.
Positives are some of the classes, or clusters of one class. Each problem is a file, so that an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.priors import Auto1
from recoup.priors._solvers.groups import unit_columns
from recoup.priors._solvers.transform import honest_scores
from recoup.priors.biased_labels import QUANTILES
from recoup.priors.label_readings import evened, read_labels
from recoup.scores.table import ScoreTable
from tools.studies.biased_labels import STUDY, scaled, true_logits
from tools.studies.prior_tasks import FOLDER, TRAINING, features, pack, stream, write

# One of the study's datasets is among those that ``auto`` is trained on.
DATASETS = tuple(name for name in TRAINING if name not in STUDY)
MADE = "made"
MADE_PER_ROUND = 6
ROUNDS = 33
# How often labels come about in each way, out of the sum.
WAYS = {
    "random": 0.40,
    "kinds": 0.25,
    "clear": 0.13,
    "doubtful": 0.07,
    "column": 0.05,
    "hidden kind": 0.10,
}
MIN_LABELED = 20
MOST_COLUMNS = 64


def made_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows around random points, one or more points for each class, through a random bend."""
    n_classes, d = int(rng.integers(3, 12)), int(np.exp(rng.uniform(np.log(2), np.log(40))))
    inner = min(d, int(rng.integers(2, 12)))
    points = rng.normal(size=(n_classes, inner)) * np.exp(rng.uniform(np.log(0.7), np.log(3)))
    sizes = rng.dirichlet(np.full(n_classes, 3.0))
    classes = rng.choice(n_classes, 5000, p=sizes)
    spread = np.exp(rng.normal(0, 0.3, size=(n_classes, inner)))
    rows = points[classes] + spread[classes] * rng.normal(size=(5000, inner))
    if rng.random() < 0.5:
        rows = np.tanh(rows @ rng.normal(size=(inner, inner)) / inner) + 0.2 * rows
    noise = rng.normal(size=(5000, d - inner))
    return np.column_stack([rows, noise]), classes


def drawn_kinds(
    name: str, X: np.ndarray, classes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Kind of each row, -1 for negatives."""
    from sklearn.cluster import KMeans

    numbers, sizes = np.unique(classes, return_counts=True)
    many = numbers[sizes >= 80]
    kind = np.full(len(classes), -1)
    of_classes = len(many) > 2 and rng.random() < 0.75
    if of_classes:
        chosen = rng.permutation(many)[: int(rng.integers(2, min(7, len(many) - 1) + 1))]
        for number, member in enumerate(chosen.tolist()):
            kind[classes == member] = number
        return kind
    most = max(1, len(numbers) // 2)
    positive = np.isin(classes, rng.permutation(numbers)[: int(rng.integers(1, most + 1))])
    number = int(rng.integers(2, 7))
    columns = rng.permutation(X.shape[1])[: int(rng.integers(1, min(12, X.shape[1]) + 1))]
    rows = unit_columns(X[positive][:, columns])
    kind[positive] = KMeans(number, n_init=1, random_state=0).fit_predict(rows)
    return kind


def chances(
    X: np.ndarray, kind: np.ndarray, way: str, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Relative chance of a label of each positive, and by how much chances differ."""
    y = kind >= 0
    mine = kind[y]
    numbers = rng.permutation(np.unique(mine))
    if way == "random" or (way in ("kinds", "hidden kind") and len(numbers) < 2):
        return np.ones(len(mine)), 1.0
    ratio = float(np.exp(rng.uniform(np.log(1.5), np.log(12.0))))
    place = np.zeros(int(kind.max()) + 1)
    if way == "kinds":
        if rng.random() < 0.5:
            place[numbers] = np.linspace(0, 1, len(numbers))
        else:
            place[numbers] = np.append([0.0, 1.0], rng.random(len(numbers) - 2))
        return ratio ** place[mine], ratio
    if way == "hidden kind":
        return np.where(mine == numbers[0], 0.0, 1.0), 0.0
    if way == "column":
        # By the rank along a random direction, whatever that has to do with the class.
        along = unit_columns(X[y]) @ rng.normal(size=X.shape[1])
        return ratio ** (np.argsort(np.argsort(along)) / len(along)), ratio
    logit = true_logits(X, y, int(rng.integers(2**31)))[y]
    low, high = np.quantile(logit, [0.05, 0.95])
    ratio = float(np.exp(rng.uniform(np.log(2.0), np.log(30.0 if way == "clear" else 10.0))))
    at = np.clip((logit - low) / max(high - low, 1e-9), -0.5, 1.5)
    return ratio ** (at if way == "clear" else -at), ratio


def case(name: str, number: int) -> dict[str, Any] | None:
    """One problem: features, labels, truth; None where rows or labels are too few."""
    rng = stream("biased training", name, number)
    X, classes = made_rows(rng) if name == MADE else features(name, TRAINING[name])
    d = X.shape[1]
    width = max(min(d, 3), int(min(d, MOST_COLUMNS) * rng.uniform(0.4, 1.0)))
    X = X[:, np.sort(rng.permutation(d)[:width])]
    kind = drawn_kinds(name, X, classes, rng)
    rows = [rng.permutation(np.flatnonzero(side)) for side in (kind >= 0, kind < 0)]
    share = rng.uniform(0.08, 0.7)
    most = min(len(rows[0]) / share, len(rows[1]) / (1 - share), 3500)
    if most < 500:
        return None
    total = np.exp(rng.uniform(np.log(500 if most < 1200 else 700), np.log(most)))
    chosen = np.concatenate([rows[0][: int(share * total)], rows[1][: int((1 - share) * total)]])
    X, kind = X[chosen], kind[chosen]
    y = kind >= 0
    way = str(rng.choice(list(WAYS), p=list(WAYS.values())))
    frequency = float(np.exp(rng.uniform(np.log(0.03), np.log(0.6))))
    weights, ratio = chances(X, kind, way, rng)
    chance = np.zeros(len(y))
    chance[y] = scaled(weights, frequency)
    s = (rng.random(len(y)) < chance).astype(int)
    if s.sum() < MIN_LABELED or (ratio == 1.0) != (way == "random"):
        return None
    return {"X": X, "s": s, "y": y, "way": way, "ratio": ratio, "frequency": frequency}


def describe(name: str, number: int) -> dict[str, Any]:
    """Everything that the network learns from one problem; empty where there is none."""
    found = case(name, number)
    if found is None:
        return {}
    X, s = found["X"], found["s"]
    seed = int(stream("biased seed", name, number).integers(2**31))
    readings = read_labels(unit_columns(X), s, seed)
    views = [1 - readings.divisions.whole.chances[:, 0]]
    # Other classifiers take most of the time: not for all.
    if number % 2 == 0:
        views.append(honest_scores(X, s, "logistic", seed, "train").scores)
    if number % 6 == 0 and X.size < 60_000:
        views.append(honest_scores(X, s, "auto", seed, "train").scores)
    answers = np.full((3, len(QUANTILES)), np.nan)
    for place, scores in enumerate(views):
        fitted = Auto1(beta=1.0).fit_scores(s, scores)
        draws = np.asarray(fitted.estimate_.draws)[:, 0]
        answers[place] = evened(np.quantile(draws, QUANTILES))
    seen = [auc_pu(ScoreTable.from_arrays(s, scores)) for scores in views[:2]]
    return {
        "readings": readings.values,
        "incoming": answers,
        "forest_is_better": seen[0] >= seen[-1],
        "alpha": float(found["y"][s == 0].mean()),
        "way": found["way"],
        "ratio": found["ratio"],
        "frequency": found["frequency"],
        "dataset": name,
    }


def folder() -> Path:
    return FOLDER / "biased_training"


def tasks(rounds: int) -> list[tuple[str, int]]:
    """List dataset and number of every problem."""
    return [
        (name, MADE_PER_ROUND * number + part if name == MADE else number)
        for number in range(rounds)
        for name in (*DATASETS, MADE)
        for part in range(MADE_PER_ROUND if name == MADE else 1)
    ]


def run(rounds: int) -> None:
    """Describe the problems that no file has yet, one of each dataset in every round."""
    for name in DATASETS:
        pack(name, TRAINING[name])
    for name, number in tasks(rounds):
        path = folder() / f"{name}-{number}.npz"
        if path.exists():
            continue
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = describe(name, number)
            except InvalidInputError:
                found = {}
        write(path, **{key: np.array(value) for key, value in found.items()})
        seconds = time.perf_counter() - started
        print(f"{path.stem}: {seconds:.1f} s", file=sys.stderr, flush=True)


def load_rows(rounds: int = ROUNDS) -> dict[str, np.ndarray]:
    """Return all problems of the first rounds that could be made."""
    found = []
    for name, number in tasks(rounds):
        with np.load(folder() / f"{name}-{number}.npz") as stored:
            if "alpha" in stored:
                found.append({key: stored[key] for key in stored.files})
    return {key: np.array([row[key] for row in found]) for key in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    run(parser.parse_args().rounds)


if __name__ == "__main__":
    main()
