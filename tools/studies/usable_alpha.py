"""What to take for alpha where features cannot tell how labels came about.

    python -m tools.studies.usable_alpha --out build/usable_alpha.jsonl     goes on where it stopped
    python -m tools.studies.usable_alpha --out build/usable_alpha.jsonl --show

Up to 2,000 rows of the tables that choices are made on (``CHOOSING``), with a tenth or three
tenths of their positives labeled: at random, the clear ones rather, or one of two kinds rather.
Held against the truth are alpha with an allowance for biased labels, alpha for random labels, and
what is halfway; and what a cut of cross-fitted boosting at each is worth. ``docs/decisions.md`` has
the result.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from recoup.exceptions import InvalidInputError
from recoup.priors import estimate
from recoup.priors.usable import IF_RANDOM
from tools.studies.tables import CHOOSING, MECHANISMS, labels_of

N_ROWS, KEPT_ROWS, FEWEST_LABELS = 2000, 12_000, 20
WEIGHTS = {"random": 0.5, "clear ones": 0.25, "one kind": 0.25}
FIGURES = ("alpha", "accuracy", "f1", "auc", "precision")


@cache
def numbers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table as the commands read it, and the true classes."""
    import pandas as pd

    from recoup.data import ColumnEncoder, load

    data = load(name)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    data = data.take(np.sort(rng.permutation(len(data.y_true))[:KEPT_ROWS]))
    frame = data.X
    if not hasattr(frame, "iloc"):
        frame = pd.DataFrame(np.asarray(frame), columns=[str(one) for one in data.feature_names])
    frame = frame.reset_index(drop=True)
    return ColumnEncoder().fit(frame).transform(frame), np.asarray(data.y_true).astype(int)


def problem(
    name: str, way: str, prevalence: float | None, frequency: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Draw rows and labels; None where the table has no such rows, or too few."""
    X, y = numbers(name)
    words = f"{name} {way} {prevalence} {frequency} {seed}"
    rng = np.random.default_rng(zlib.crc32(words.encode()))
    pi = prevalence or float(y.mean())
    if pi > y.mean() + 1e-9:
        return None
    positive, negative = (rng.permutation(np.flatnonzero(y == kind)) for kind in (1, 0))
    most = int(min(N_ROWS, len(negative) / (1 - pi), len(positive) / pi))
    n_positive = round(most * pi)
    rows = rng.permutation(np.append(positive[:n_positive], negative[: most - n_positive]))
    X, y = X[rows], y[rows]
    n_labels = round(frequency * y.sum())
    if n_labels < FEWEST_LABELS:
        return None
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, labels_of(scaled, y, n_labels, way, rng), y


def judged(alpha: float, scores: np.ndarray, s: np.ndarray, y: np.ndarray) -> list[float]:
    """Say what a cut at alpha is worth, and how far recovered AUC and precision are off."""
    from sklearn.metrics import f1_score, roc_auc_score

    share = (alpha * np.sum(s == 0) + s.sum()) / len(s)
    called = scores > np.quantile(scores, 1 - share)
    n_called = max(int(called.sum()), 1)
    auc = min(1.0, 0.5 + (roc_auc_score(s, scores) - 0.5) / max(1 - alpha, 1e-3))
    precision = min(1.0, share * float(called[s == 1].mean()) * len(s) / n_called)
    return [
        float(np.mean(called == y)),
        float(f1_score(y, called, zero_division=0)),
        abs(auc - float(roc_auc_score(y, scores))),
        abs(precision - float(y[called].sum()) / n_called),
    ]


def measured(X: np.ndarray, s: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    """Return what each alpha is worth."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    from recoup.scores import crossfit

    found = estimate(s, X=X, random_state=seed)
    allowing, random = found.alpha, found.members.get(IF_RANDOM, found.alpha)
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=60, min_samples_leaf=10, random_state=0
    )
    scores = crossfit(boosting, X, s, random_state=seed, progress=False).scores
    truth = float(y[s == 0].mean())
    alphas = {"allowing": allowing, "random": random, "halfway": (allowing + random) / 2}
    best = judged(truth, scores, s, y)
    code = None if found.labels is None else found.labels.code
    rows: dict[str, Any] = {"code": code, "true": truth}
    for name, alpha in alphas.items():
        accuracy, f1, auc, precision = judged(alpha, scores, s, y)
        values = (abs(alpha - truth), accuracy - best[0], f1 - best[1], auc, precision)
        rows[name] = dict(zip(FIGURES, values, strict=True))
    return rows


def run(out: Path) -> None:
    """Measure the problems that are not yet in the file."""
    out.parent.mkdir(parents=True, exist_ok=True)
    lines = out.read_text().splitlines() if out.exists() else []
    done = {tuple(json.loads(line)["problem"]) for line in lines}
    ways = itertools.product((0, 1), (0.1, 0.3), (None, 0.1), MECHANISMS, CHOOSING)
    for seed, frequency, prevalence, way, name in ways:
        key = (name, way, prevalence, frequency, seed)
        drawn = None if key in done else problem(*key)
        if drawn is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = measured(*drawn, seed)
        except InvalidInputError:
            continue
        with out.open("a") as file:
            file.write(json.dumps({"problem": key} | found) + "\n")


def show(out: Path) -> None:
    """Print means over the problems in which features cannot tell."""
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    rows = [row for row in rows if row["code"] == "cannot-tell"]
    print("labels", "n", "alpha", *FIGURES)
    for rule in ("allowing", "halfway", "random"):
        total = np.zeros(len(FIGURES))
        for way, weight in WEIGHTS.items():
            some = [row[rule] for row in rows if row["problem"][1] == way]
            means = np.array([np.mean([one[figure] for one in some]) for figure in FIGURES])
            total += weight * means
            print(way, len(some), rule, *means.round(3))
        print("all", len(rows), rule, *total.round(3))


def main() -> None:
    """Run, or show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    (show if asked.show else run)(asked.out)


if __name__ == "__main__":
    main()
