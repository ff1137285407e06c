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
    *,
    discriminator: FloatArray | None = None,
) -> dict[str, Any]:
    """Count scores in bins and find their quartiles, for each group of rows that has any.

    The first and the last bin also hold what lies beyond them.

    Parameters
    ----------
    test : ndarray of shape (n_test,)
        Decision-function values of the test rows.
    test_classes : ndarray of shape (n_test,)
        Their true classes.
    train : ndarray of shape (n_train,)
        Decision-function values of the training rows.
    s : ndarray of shape (n_train,)
        1 for a labeled training row, else 0.
    train_classes : ndarray of shape (n_train,)
        True classes of the training rows.
    propensity : ndarray of shape (n_train,)
        Chance of each training row to be labeled if it is positive, as the simulation had it.
    estimated : ndarray of shape (n_train,), optional
        The same chance as the learner has it. Its mean over positives is kept for each bin of
        scores, and it is counted in bins of its own, between 0 and 1.
    discriminator : ndarray of shape (n_train,), optional
        What a second network says of the training rows, between 0 and 1: the chance that a row is
        one of the labeled ones.

    Returns
    -------
    dict
        Edges, counts and means by name. ``"quartiles"`` has the first quartile, the median and the
        third quartile of each group under the name of its counts; a group without rows has none.
    """
    everything = np.concatenate([test, train])
    low, high = np.quantile(everything, (0.005, 0.995))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    chances = np.linspace(0, 1, BINS + 1)
    positive = train_classes == 1
    groups = {"labeled": s == 1, "hidden": (s == 0) & positive, "negative": (s == 0) & ~positive}
    parts = {
        "test_positive": (test[test_classes == 1], edges),
        "test_negative": (test[test_classes == 0], edges),
    }
    parts |= {f"train_{name}": (train[rows], edges) for name, rows in groups.items()}
    found: dict[str, Any] = {"edges": edges.tolist()}

    def means(values: FloatArray) -> list[float | None]:
        totals = _binned(train[positive], edges, values[positive])
        sizes = _binned(train[positive], edges)
        return [total / n if n else None for total, n in zip(totals, sizes, strict=True)]

    found["propensity"] = means(propensity)
    if estimated is not None:
        found |= {"estimated": means(estimated), "chance_edges": chances.tolist()}
        for name in ("labeled", "hidden"):
            parts[f"chance_{name}"] = (estimated[groups[name]], chances)
    if discriminator is not None:
        found["discriminator_edges"] = chances.tolist()
        for name, rows in groups.items():
            parts[f"discriminator_{name}"] = (discriminator[rows], chances)
    found |= {name: _binned(values, within) for name, (values, within) in parts.items()}
    found["quartiles"] = {
        name: np.quantile(values, (0.25, 0.5, 0.75)).tolist()
        for name, (values, _) in parts.items()
        if len(values)
    }
    return found


def _binned(
    values: FloatArray, edges: FloatArray, weights: FloatArray | None = None
) -> list[float]:
    """Count values between edges, or add up their weights."""
    places = np.searchsorted(edges, values, side="right") - 1
    inside = np.clip(places, 0, len(edges) - 2)
    counted: list[float] = np.bincount(inside, weights, minlength=len(edges) - 1).tolist()
    return counted
