"""Problems of the study of probabilities: labels hidden at random, scores, and rows never seen.

``python -m tools.studies.probability_tasks score --kind training study`` makes them from the
datasets that ``tools.studies.prior_tasks pack`` has packed. A positive row gets its label by the
toss of a coin, so that the number of labels is random; rows are scored as users do, by boosting or
logistic regression of the labels, three-fold cross-fitted; rows never seen are scored by the same
classifier, fitted to all. Finished files are left alone.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.studies.prior_tasks import FOLDER, STUDY, TRAINING, features, stream, write

STORE = FOLDER / "probabilities"
# Share of positives among all rows, and share of them that is labeled.
PIS = (0.05, 0.2, 0.5)
FREQUENCIES = (0.1, 0.3, 0.5)
CELLS = tuple((pi, c) for c in FREQUENCIES for pi in PIS)
MOST_ROWS = 3000
MOST_NEW, FEWEST_NEW = 3000, 1000
FEWEST_LABELED = 10
N_FOLDS = 3


@dataclass(frozen=True, eq=False)
class Case:
    """A problem: rows with labels, and rows that nobody has seen."""

    dataset: str
    pi: float
    frequency: float
    classifier: str
    s: np.ndarray
    y: np.ndarray
    scores: np.ndarray
    new_y: np.ndarray
    new_scores: np.ndarray

    @property
    def alpha(self) -> float:
        return float(self.y[self.s == 0].mean())


def classifier_of(name: str) -> Any:
    if name == "boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(max_iter=50, min_samples_leaf=10, random_state=0)
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))


def cut(dataset: str, pi: float, frequency: float) -> tuple[np.ndarray, ...] | None:
    """Draw rows to calibrate by and new ones with the same share of positives."""
    X, classes = features(dataset, {**TRAINING, **STUDY}[dataset])
    rng = stream("probabilities", dataset, pi, frequency)
    positive = classes == 1
    if dataset in TRAINING and TRAINING[dataset] is None:
        kinds = np.unique(classes)
        positive = np.isin(classes, rng.permutation(kinds)[: max(len(kinds) // 2, 1)])
    groups = [rng.permutation(np.flatnonzero(positive == side)) for side in (True, False)]
    most = min(len(groups[0]) / pi, len(groups[1]) / (1 - pi))
    n_new = int(min(MOST_NEW, most * 0.4))
    n = int(min(MOST_ROWS, most - n_new))
    y = rng.random(n) < pi
    new_y = rng.random(n_new) < pi
    counts = [int(y.sum() + new_y.sum()), int((~y).sum() + (~new_y).sum())]
    s = y & (rng.random(n) < frequency)
    if n_new < FEWEST_NEW / 4 or s.sum() < FEWEST_LABELED:
        return None
    if any(wanted > len(group) for wanted, group in zip(counts, groups, strict=True)):
        return None
    truth = np.concatenate([y, new_y])
    rows = np.empty(len(truth), np.intp)
    rows[truth], rows[~truth] = groups[0][: counts[0]], groups[1][: counts[1]]
    return X[rows[:n]], s.astype(int), y, X[rows[n:]], new_y


def score_cell(dataset: str, pi: float, frequency: float, classifier: str) -> str:
    """Score a problem."""
    path = STORE / "scores" / f"{dataset}-{pi}-{frequency}.npz"
    if path.exists():
        return "done"
    problem = cut(dataset, pi, frequency)
    if problem is None:
        return "too few rows"
    from recoup.scores import crossfit

    X, s, y, new_X, new_y = problem
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = crossfit(classifier_of(classifier), X, s, cv=N_FOLDS, random_state=0).scores
        new_scores = classifier_of(classifier).fit(X, s).predict_proba(new_X)[:, 1]
    write(
        path,
        s=s.astype(bool),
        y=y,
        scores=scores,
        new_y=new_y,
        new_scores=new_scores,
        classifier=np.array(classifier),
    )
    return f"{len(s)} rows, {int(s.sum())} labels, {len(new_y)} new"


def cells(kind: str) -> list[tuple[str, float, float, str]]:
    """Return problems of a kind: nine for each dataset."""
    found = []
    for number, dataset in enumerate(STUDY if kind == "study" else TRAINING):
        for place, (pi, frequency) in enumerate(CELLS):
            classifier = ("boosting", "logistic")[(number + place) % 2]
            found.append((dataset, pi, frequency, classifier))
    return found


def cases(kind: str) -> list[Case]:
    """Load the problems of a kind that have been scored."""
    found = []
    for dataset, pi, frequency, _ in cells(kind):
        path = STORE / "scores" / f"{dataset}-{pi}-{frequency}.npz"
        if not path.exists():
            continue
        with np.load(path) as stored:
            parts = dict(stored)
        found.append(
            Case(
                dataset,
                pi,
                frequency,
                str(parts["classifier"]),
                parts["s"].astype(int),
                parts["y"],
                parts["scores"].astype(float),
                parts["new_y"],
                parts["new_scores"].astype(float),
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=["score"])
    parser.add_argument("--kind", choices=["study", "training"], nargs="+", required=True)
    chosen = parser.parse_args()
    for kind in chosen.kind:
        for cell in cells(kind):
            print(*cell, score_cell(*cell), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
