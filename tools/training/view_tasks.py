"""Scored tasks that the combination behind ``recoup.priors.estimate`` is trained on.

``python -m tools.training.view_tasks --tasks 690`` cuts tasks at random from the training
datasets of ``tools/studies/prior_tasks.py`` (any classes, or any column above a threshold, as the
positive class; subsets of rows and columns; all shares of positives, of labels and of wrong
labels) and from simulated tables, and scores the rows of each by the views of ``recoup.priors``,
by a classifier that knows the true classes and by weak ones. Ten tasks are one file under
``build/priors/views``, so that an interrupted run goes on where it stopped. The datasets of the
study are never used.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.views import VIEWS, score_views
from recoup.scores.crossfit import crossfit
from tools.studies.prior_tasks import (
    FOLDER,
    TRAINING,
    WIDE_COMPONENTS,
    features,
    hide_labels,
    stream,
    write,
)

STORE = FOLDER / "views"
CHUNK = 10
SIMULATED_SHARE = 0.15
THRESHOLD_SHARE = 0.25
CLEAN_SHARE = 0.5
FEWEST_LABELED, FEWEST_UNLABELED = 20, 300


@dataclass(frozen=True, eq=False)
class ViewTask:
    """Rows with known classes and their scores: views, a taught classifier and a weak one."""

    group: str
    number: int
    s: np.ndarray
    y: np.ndarray
    scores: np.ndarray


def random_alpha(rng: np.random.Generator) -> float:
    """Draw a share of hidden positives: any, and often a small one."""
    small = float(np.exp(rng.uniform(np.log(0.01), np.log(0.3))))
    return float(rng.uniform(0.02, 0.9)) if rng.random() < 0.7 else small


def random_beta(alpha: float, rng: np.random.Generator) -> float:
    """Draw a share of right labels; half of the tasks have right labels only."""
    if rng.random() < CLEAN_SHARE or alpha > 0.85:
        return 1.0
    return float(rng.uniform(max(alpha + 0.1, 0.6), 1.0))


def random_sizes(
    alpha: float, beta: float, n_rows: int, rng: np.random.Generator
) -> tuple[int, int]:
    """Draw how many rows are labeled: by a label frequency mostly, or in any number."""
    if rng.random() < 0.25:
        n_labeled = int(np.exp(rng.uniform(np.log(30), np.log(min(2000, n_rows / 2)))))
        return n_labeled, n_rows - n_labeled
    frequency = float(np.exp(rng.uniform(np.log(0.02), np.log(0.7))))
    per_unlabeled = alpha * frequency / (1 - frequency) / beta
    n_unlabeled = round(n_rows / (1 + per_unlabeled))
    return n_rows - n_unlabeled, n_unlabeled


def simulated_table(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Columns and a class from a random network, with noise in both."""
    n_rows, n_columns = 10_000, int(rng.integers(2, 25))
    n_causes = int(rng.integers(2, 12))
    causes = rng.normal(size=(n_rows, n_causes))
    if rng.random() < 0.5:  # clusters
        centers = rng.normal(0, rng.uniform(0.5, 2.5), (int(rng.integers(2, 8)), n_causes))
        causes += centers[rng.integers(len(centers), size=n_rows)]
    hidden = np.tanh(causes @ rng.normal(size=(n_causes, 16)) / np.sqrt(n_causes))
    noise = rng.uniform(0.0, 0.6)
    X = hidden @ rng.normal(size=(16, n_columns)) / 4 + noise * rng.normal(size=(n_rows, n_columns))
    heavy = rng.random(n_columns) < 0.2
    X[:, heavy] = np.exp(X[:, heavy])
    value = hidden @ rng.normal(size=16) / 4
    value = value + rng.choice([0.0, 0.05, 0.2]) * rng.normal(size=n_rows)
    return X, value > np.quantile(value, rng.uniform(0.2, 0.8))


def real_table(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A training dataset with random classes, or a random column above a threshold, as positive."""
    X, classes = features(name, TRAINING[name])
    wide = X.shape[1] == WIDE_COMPONENTS
    column = int(rng.integers(X.shape[1]))
    if not wide and X.shape[1] >= 6 and rng.random() < THRESHOLD_SHARE:
        values = X[:, column]
        if len(np.unique(values)) >= 20:
            positive = values > np.quantile(values, rng.uniform(0.2, 0.8))
            X = np.delete(X, column, axis=1)
            return _some_columns(X, rng), positive ^ bool(rng.integers(2))
    if TRAINING[name] is None:
        kinds, sizes = np.unique(classes, return_counts=True)
        kinds = kinds[sizes >= 100]
        chosen = rng.permutation(kinds)[: rng.integers(1, len(kinds))]
        return _some_columns(X, rng), np.isin(classes, chosen)
    return _some_columns(X, rng), classes == rng.integers(2)


def _some_columns(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if rng.random() < 0.5 or X.shape[1] < 4:
        return X
    number = int(rng.integers(max(3, X.shape[1] // 3), X.shape[1] + 1))
    return X[:, np.sort(rng.permutation(X.shape[1])[:number])]


def weak_classifier(rng: np.random.Generator) -> object:
    """Build a classifier that is not among the views."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        make_pipeline(StandardScaler(), KNeighborsClassifier(int(rng.integers(10, 80)))),
        make_pipeline(StandardScaler(), GaussianNB()),
        DecisionTreeClassifier(min_samples_leaf=20),
        HistGradientBoostingClassifier(learning_rate=0.2, max_iter=8, max_leaf_nodes=6),
    )[int(rng.integers(5))]


def make_task(number: int) -> ViewTask | None:
    """Cut and score one task; None where its draw cannot be cut from its table."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = stream("view task", number)
    names = sorted(TRAINING)
    if rng.random() < SIMULATED_SHARE:
        group, (X, positive) = "simulated", simulated_table(rng)
    else:
        group = names[number % len(names)]
        X, positive = real_table(group, rng)
    alpha = random_alpha(rng)
    beta = random_beta(alpha, rng)
    n_rows = int(np.exp(rng.uniform(np.log(800), np.log(5000))))
    n_rows = min(n_rows, len(X))
    n_labeled, n_unlabeled = random_sizes(alpha, beta, n_rows, rng)
    found = None
    if n_labeled >= FEWEST_LABELED and n_unlabeled >= FEWEST_UNLABELED:
        found = hide_labels(positive, alpha, beta, n_labeled, n_unlabeled, rng)
    if found is None:
        return None
    rows, s = found
    X, y, seed = X[rows], positive[rows], int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            views = score_views(X, s, seed, "view_tasks")
            trees = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15)
            taught = crossfit(trees, X, y.astype(int), cv=3, random_state=seed)
            weak = crossfit(weak_classifier(rng), X, s, cv=3, random_state=seed)
        except (InvalidInputError, ValueError):
            return None
    scores = np.array([*views.scores, taught.scores, weak.scores])
    return ViewTask(group, number, s, y, scores)


def drawn_task(number: int) -> ViewTask:
    """Two classes whose scores by all classifiers are drawn, with errors that hang together."""
    rng = stream("drawn task", number)
    alpha = random_alpha(rng)
    beta = random_beta(alpha, rng)
    n_labeled, n_unlabeled = 0, 0
    while n_labeled < FEWEST_LABELED or n_unlabeled < FEWEST_UNLABELED:
        n_rows = int(np.exp(rng.uniform(np.log(800), np.log(8000))))
        n_labeled, n_unlabeled = random_sizes(alpha, beta, n_rows, rng)
    n_right, n_hidden = round(beta * n_labeled), round(alpha * n_unlabeled)
    s = np.repeat([1, 0], [n_labeled, n_unlabeled])
    y = np.zeros(len(s), bool)
    y[:n_right] = y[n_labeled : n_labeled + n_hidden] = True
    distance, spread = rng.uniform(0.8, 5.0), np.exp(rng.uniform(-0.5, 0.3))
    # Some rows of either class look like the other one.
    looks = np.where(rng.random(len(s)) < np.where(y, *rng.uniform(0.0, 0.25, 2)), ~y, y)
    noise = (rng.normal, rng.laplace, rng.logistic)[number % 3]
    shared = rng.uniform(0.2, 0.95)
    common = noise(size=len(s))
    scores = []
    for strength in (
        *rng.uniform(0.6, 1.0, len(VIEWS)),
        rng.uniform(0.8, 1.4),
        rng.uniform(0.2, 0.7),
    ):
        errors = shared * common + np.sqrt(1 - shared**2) * noise(size=len(s))
        scores.append(np.where(looks, strength * distance + spread * errors, errors))
    return ViewTask("drawn", -1 - number, s, y, np.array(scores))


def make_chunk(chunk: int) -> int:
    """Make ten tasks and store those that could be cut; say how many."""
    made = [make_task(chunk * CHUNK + number) for number in range(CHUNK)]
    tasks = [task for task in made if task is not None]
    write(
        STORE / f"{chunk:04d}.npz",
        groups=np.array([task.group for task in tasks]),
        numbers=np.array([task.number for task in tasks]),
        sizes=np.array([len(task.s) for task in tasks]),
        s=np.concatenate([task.s for task in tasks]).astype(bool),
        y=np.concatenate([task.y for task in tasks]).astype(bool),
        scores=np.concatenate([task.scores for task in tasks], axis=1).astype(np.float32),
    )
    return len(tasks)


def view_tasks(chunks: range | None = None) -> Iterator[ViewTask]:
    """Load the tasks that are at hand, in order."""
    for path in sorted(STORE.glob("*.npz")):
        if chunks is not None and int(path.stem) not in chunks:
            continue
        with np.load(path) as stored:
            data = dict(stored)
        ends = np.cumsum(data["sizes"])
        for place, (end, size) in enumerate(zip(ends, data["sizes"], strict=True)):
            part = slice(end - size, end)
            yield ViewTask(
                str(data["groups"][place]),
                int(data["numbers"][place]),
                data["s"][part].astype(np.int64),
                data["y"][part],
                data["scores"][:, part].astype(np.float64),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=690)
    chosen = parser.parse_args()
    started, todo = time.perf_counter(), range(chosen.tasks // CHUNK)
    for done, chunk in enumerate(todo, 1):
        if not (STORE / f"{chunk:04d}.npz").exists():
            found = make_chunk(chunk)
            passed = time.perf_counter() - started
            print(
                f"chunk {chunk}: {found} tasks, {passed:.0f} s, {done} of {len(todo)}",
                file=sys.stderr,
                flush=True,
            )


if __name__ == "__main__":
    main()
