"""What is measured: with true classes on test rows, and without on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import recoup.metrics  # noqa: F401  registers them
from recoup._core.checks import FloatArray, Scheme
from recoup.exceptions import InvalidInputError
from recoup.metrics.spec import AREA_METRICS, POINT_METRICS, MetricSpec, benched_specs

BINS = 40


def recovered_name(spec: MetricSpec) -> str:
    """Return the column that holds a metric as recovered from rows without classes."""
    return f"recovered_{spec.key}"


def true_metrics(
    y_true: NDArray[np.int64], scores: FloatArray, predicted: NDArray[np.int_] | None
) -> dict[str, float]:
    """Measure scores, and predictions where there are any, by the true classes."""
    found = {}
    for spec in benched_specs():
        answers = _answers(spec, scores, predicted)
        if answers is not None:
            found[spec.key] = _true_value(spec, y_true, answers)
    return found


def _true_value(spec: MetricSpec, y_true: NDArray[np.int64], answers: Any) -> float:
    """Return what scikit-learn says; else every positive counts as labeled, and none is hidden.

    Where a metric is undefined, as one of no predicted positives may be, it counts as the worst.
    """
    if spec.sklearn is not None:
        from sklearn import metrics as supervised

        name, options = spec.sklearn
        return float(getattr(supervised, name)(y_true, answers, **options))
    value = _function(spec)(y_true, answers, alpha=0.0)
    if np.isnan(value):
        return spec.low if spec.higher_is_better else spec.high
    return value


def _answers(spec: MetricSpec, scores: FloatArray, predicted: NDArray[np.int_] | None) -> Any:
    return predicted if spec.kind == "point" else scores


def _function(spec: MetricSpec) -> Callable[..., float]:
    return (POINT_METRICS | AREA_METRICS)[spec.key]


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
    found: dict[str, float | None] = {recovered_name(spec): None for spec in benched_specs()}
    if alpha is None:
        return found
    for spec in benched_specs():
        answers = _answers(spec, scores, predicted)
        if answers is None:
            continue
        try:
            value = _function(spec)(s, answers, alpha=alpha, beta=beta, scheme=design)
        except InvalidInputError:
            continue
        if np.isfinite(value):
            found[recovered_name(spec)] = spec.clip(value)
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
