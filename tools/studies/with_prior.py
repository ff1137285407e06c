"""Which classifier does a search pick, with one alpha for all candidates or one for each?

Rows of real datasets get labels at random. Eight classifiers are compared by cross-validation on
these labels alone: by recovered AUC and Brier score with the alpha that WithPrior estimates, from
scores that are the same for all candidates (shared) or the candidate's own (own), and by plain AUC
and Brier score, which take unlabeled rows as negative. Other rows, with their classes, tell which
candidate is truly best.

    python -m tools.studies.with_prior --repetitions 6
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from recoup._core.random import named_rng
from recoup.data import load
from recoup.learners import WithPrior
from recoup.metrics import make_scorer
from recoup.scores import PUStratifiedKFold

DATASETS = ("spambase", "landsat", "pendigits")
FREQUENCIES = (0.2, 0.4, 0.6)
RULES = {"own": None, "shared": "auto"}
CANDIDATES: dict[str, Any] = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "logistic, strong penalty": make_pipeline(StandardScaler(), LogisticRegression(C=1e-4)),
    "naive Bayes": GaussianNB(),
    "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "neighbors": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    "boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "forest": RandomForestClassifier(40, min_samples_leaf=3, random_state=0),
}
METRICS = ("roc_auc", "brier")


def searched(X: np.ndarray, s: np.ndarray, rule: str) -> dict[str, list[float]]:
    """Return the mean score of each candidate by metric; higher is better."""
    folds = PUStratifiedKFold(3, random_state=0)
    found: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for candidate in CANDIDATES.values():
        if rule == "plain":
            model = candidate
            scoring: dict[str, Any] = {"roc_auc": "roc_auc", "brier": "neg_brier_score"}
        else:
            model = WithPrior(candidate, scored_by=RULES[rule])
            scoring = {metric: make_scorer(metric, alpha="estimate") for metric in METRICS}
        scores = cross_validate(model, X, s, scoring=scoring, cv=folds, error_score="raise")
        for metric in METRICS:
            found[metric].append(float(scores[f"test_{metric}"].mean()))
    return found


def true_quality(
    X: np.ndarray, s: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> dict[str, np.ndarray]:
    """Return how good each candidate is on rows whose classes are known; higher is better."""
    quality: dict[str, list[float]] = {metric: [] for metric in METRICS}
    for candidate in CANDIDATES.values():
        chances = candidate.fit(X, s).predict_proba(X_test)[:, 1]
        quality["roc_auc"].append(roc_auc_score(y_test, chances))
        quality["brier"].append(-brier_score_loss(y_test, chances))
    return {metric: np.array(values) for metric, values in quality.items()}


def main() -> None:
    """Run the study and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--rows", type=int, default=1500)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    picked = defaultdict(list)
    for name in DATASETS:
        data = load(name)
        X, y = np.asarray(data.X, float), np.asarray(data.y_true, int)
        for frequency in FREQUENCIES:
            for repetition in range(options.repetitions):
                rng = named_rng(0, "with-prior", name, str(frequency), repetition)
                order = rng.permutation(len(y))
                train, test = order[: options.rows], order[options.rows :][:3000]
                s = y[train] * (rng.random(len(train)) < frequency)
                truth = true_quality(X[train], s, X[test], y[test])
                for rule in (*RULES, "plain"):
                    scores = searched(X[train], s, rule)
                    for metric in METRICS:
                        choice = int(np.argmax(scores[metric]))
                        picked[name, rule, metric].append(
                            (
                                choice == int(truth[metric].argmax()),
                                truth["roc_auc"].max() - truth["roc_auc"][choice],
                                truth["brier"].max() - truth["brier"][choice],
                            )
                        )
            print(name, frequency, flush=True)
    print(f"{'dataset':12}{'alpha':8}{'picked by':10}{'best':>6}{'lost AUC':>10}{'lost Brier':>12}")
    for metric in METRICS:
        for rule in (*RULES, "plain"):
            for name in (*DATASETS, "all"):
                rows = [
                    row
                    for key, found in picked.items()
                    if key[1:] == (rule, metric) and name in (key[0], "all")
                    for row in found
                ]
                best, auc, brier = np.mean(rows, axis=0)
                print(f"{name:12}{rule:8}{metric:10}{best:6.0%}{auc:10.4f}{brier:12.4f}")


if __name__ == "__main__":
    main()
