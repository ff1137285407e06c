"""Do intervals of audited differences hold the truth where labels favor clear cases?

Two models score rows whose classes overlap; labels are likelier for positives that the first model
finds clear. Rows are checked as planned with its scores, with those of a third model, or blindly.

    python -m tools.studies.audited_differences --simulations 200 --drawn-by a
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn import metrics as sk

import recoup
from recoup.audit import Audit, plan

THRESHOLD = 0.5
KEYS = ("precision", "recall", "f1", "roc_auc", "average_precision")


def draw(
    n: int, share: float, tilt: float, seed: int
) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Draw labels, the probabilities of both models, and the truth."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(2.0 * y - 1.0)
    other = 0.6 * x + rng.normal(0.4 * (2 * y - 1), 0.8)
    chance = 1 / (1 + np.exp(-(x - 1.5) * tilt)) if tilt else 0.3
    s = (y * (rng.random(n) < chance)).astype(int)
    return s, {"a": 1 / (1 + np.exp(-x)), "b": 1 / (1 + np.exp(-other))}, y


def audit_of(
    s: np.ndarray,
    scores: dict[str, np.ndarray],
    y: np.ndarray,
    drawn_by: str,
    checks: int,
    seed: int,
) -> Audit:
    """Check rows, and answer with the truth."""
    if drawn_by == "nobody":
        unlabeled = np.flatnonzero(s == 0)
        rows = np.random.default_rng(seed).choice(unlabeled, checks, replace=False)
        return Audit.uniform(rows, y[rows])
    by = scores["a"] if drawn_by == "a" else (scores["a"] + scores["b"]) / 2
    made = plan(s, by, threshold=THRESHOLD, alpha=0.1, budget=checks, n_waves=1, random_state=seed)
    return made.answers(made.rows, y[made.rows])


def true_values(y: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """Measure a model by the true classes."""
    flagged = scores >= THRESHOLD
    return {
        "precision": sk.precision_score(y, flagged),
        "recall": sk.recall_score(y, flagged),
        "f1": sk.f1_score(y, flagged),
        "roc_auc": sk.roc_auc_score(y, scores),
        "average_precision": sk.average_precision_score(y, scores),
    }


def main() -> None:
    """Simulate, and print how often intervals hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--drawn-by", choices=("a", "another", "nobody"), default="a")
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--checks", type=int, default=150)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--tilt", type=float, default=1.5)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    held = dict.fromkeys(KEYS, 0)
    halves: dict[str, list[float]] = {key: [] for key in KEYS}
    for seed in range(given.simulations):
        s, scores, y = draw(given.rows, given.share, given.tilt, seed)
        audit = audit_of(s, scores, y, given.drawn_by, given.checks, seed)
        found = recoup.compare(s, scores, alpha=0.1, threshold=THRESHOLD, n_boot=0, audit=audit)
        assert found.audit is not None
        one, two = (true_values(y, values) for values in scores.values())
        for key in KEYS:
            item = found.audit.difference("a", "b", key)
            held[key] += item.lower <= one[key] - two[key] <= item.upper
            halves[key].append((item.upper - item.lower) / 2)
    for key in KEYS:
        print(f"{key:18} {held[key] / given.simulations:.1%} half-width {np.mean(halves[key]):.3f}")


if __name__ == "__main__":
    main()
