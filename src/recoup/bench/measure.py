"""What is measured: with true classes on test rows, and without on held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup import metrics
from recoup._core.checks import FloatArray, Scheme
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import metric_spec

TRUE_METRICS = (
    *("accuracy", "precision", "recall", "f1", "macro_f1", "auc", "aul", "ap", "mcc"),
    "balanced_accuracy",
)
RECOVERED = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "auc": "roc_auc",
    "ap": "average_precision",
    "mcc": "matthews_corrcoef",
    "balanced_accuracy": "balanced_accuracy",
}
"""Columns, and the metrics of recoup that they hold."""

RECOVERED_METRICS = tuple(f"recovered_{name}" for name in RECOVERED)
OF_SCORES = ("auc", "ap")
BINS = 40


def true_metrics(
    y_true: NDArray[np.int64], scores: FloatArray, predicted: NDArray[np.int_] | None
) -> dict[str, float]:
    """Measure scores, and predictions where there are any, by the true classes."""
    from sklearn import metrics as supervised

    found = {
        "auc": float(supervised.roc_auc_score(y_true, scores)),
        # Every positive of the test rows counts as labeled here.
        "aul": float(metrics.aul(y_true, scores)),
        "ap": float(supervised.average_precision_score(y_true, scores)),
    }
    if predicted is None:
        return found
    return found | {
        "accuracy": float(supervised.accuracy_score(y_true, predicted)),
        "precision": float(supervised.precision_score(y_true, predicted, zero_division=0.0)),
        "recall": float(supervised.recall_score(y_true, predicted)),
        "f1": float(supervised.f1_score(y_true, predicted, zero_division=0.0)),
        "macro_f1": float(
            supervised.f1_score(y_true, predicted, average="macro", zero_division=0.0)
        ),
        "mcc": float(supervised.matthews_corrcoef(y_true, predicted)),
        "balanced_accuracy": float(supervised.balanced_accuracy_score(y_true, predicted)),
    }


def recovered_metrics(
    s: NDArray[np.int64],
    scores: FloatArray,
    predicted: NDArray[np.int_] | None,
    *,
    alpha: float | None,
    beta: float,
    design: Scheme,
) -> dict[str, float | None]:
    """Recover the same from rows without classes, clipped to where each metric lies.

    Nothing is recovered where alpha is not known, or not below beta.
    """
    found: dict[str, float | None] = dict.fromkeys(RECOVERED_METRICS)
    if alpha is None:
        return found
    for name, key in RECOVERED.items():
        what: Any = scores if name in OF_SCORES else predicted
        if what is None:
            continue
        try:
            value = getattr(metrics, key)(s, what, alpha=alpha, beta=beta, scheme=design)
        except InvalidInputError:
            continue
        if np.isfinite(value):
            found[f"recovered_{name}"] = metric_spec(key, "bench").clip(float(value))
    return found


def estimated_alpha(s: NDArray[np.int64], scores: FloatArray) -> float | None:
    """Estimate alpha from held-out scores, by a method that takes no time to speak of."""
    from recoup.priors import BBE

    try:
        return float(BBE(interval=None).fit_scores(s, scores).estimate_.alpha)
    except InvalidInputError:
        return None


def distributions(
    test: FloatArray,
    test_classes: NDArray[np.int64],
    train: FloatArray,
    s: NDArray[np.int64],
    train_classes: NDArray[np.int64],
    propensity: FloatArray,
    estimated: FloatArray | None = None,
) -> dict[str, list[Any]]:
    """Count decision-function values in bins, and average the labeling chances of positives there.

    The first and the last bin also hold what lies beyond them. Labeling chances that the learner
    ``estimated`` are averaged too, and counted in bins of their own.
    """
    everything = np.concatenate([test, train])
    low, high = np.quantile(everything, (0.005, 0.995))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)

    def counts(
        values: FloatArray, weights: FloatArray | None = None, within: FloatArray = edges
    ) -> list[float]:
        places = np.searchsorted(within, values, side="right") - 1
        inside = np.clip(places, 0, BINS - 1)
        counted: list[float] = np.bincount(inside, weights, minlength=BINS).tolist()
        return counted

    positive = train_classes == 1
    labeled, hidden = s == 1, (s == 0) & positive

    def means(chances: FloatArray) -> list[float | None]:
        totals = counts(train[positive], chances[positive])
        return [
            total / n if n else None
            for total, n in zip(totals, counts(train[positive]), strict=True)
        ]

    found: dict[str, list[Any]] = {
        "edges": edges.tolist(),
        "test_positive": counts(test[test_classes == 1]),
        "test_negative": counts(test[test_classes == 0]),
        "train_labeled": counts(train[labeled]),
        "train_hidden": counts(train[hidden]),
        "train_negative": counts(train[~(labeled | hidden)]),
        "propensity": means(propensity),
    }
    if estimated is not None:
        chances = np.linspace(0, 1, BINS + 1)
        found |= {
            "estimated": means(estimated),
            "chance_edges": chances.tolist(),
            "chance_labeled": counts(estimated[labeled], within=chances),
            "chance_hidden": counts(estimated[hidden], within=chances),
        }
    return found
