"""What is known about each metric, beside the code that computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, did_you_mean

PARAMETERS = """

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    y_pred : array-like of shape (n,)
        Predictions, 0 or 1.
    alpha : float
        Share of positives among the unlabeled rows. Not needed with ``propensity``.
    beta : float, default=1.0
        Share of true positives among the labeled rows.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) of each row, for labels that are not a random sample of the
        positives. Takes the place of alpha.

    Returns
    -------
    float
        Not clipped: a value outside the metric's range says that alpha or beta is wrong.
"""


@dataclass(frozen=True)
class MetricSpec:
    """Name, range and origin of a metric."""

    key: str
    label: str
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    kind: str = "point"
    source: str = ""

    def clip(self, value: float) -> float:
        """Bring a raw value into the metric's range."""
        return float(np.clip(value, self.low, self.high))


class PointMetric(Protocol):
    """A metric at one threshold: callable on rows, and on true rates through ``from_rates``."""

    spec: MetricSpec
    from_rates: Callable[..., Any]
    __name__: str

    def __call__(
        self,
        s: ArrayLike,
        y_pred: ArrayLike,
        *,
        alpha: float | None = None,
        beta: float = 1.0,
        scheme: Scheme = "single-sample",
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        **params: float,
    ) -> float:
        """Recover the metric from PU rows."""


POINT_METRICS: dict[str, PointMetric] = {}
AREA_METRICS: dict[str, Callable[..., float]] = {}


def point_metric(
    key: str,
    label: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool = True,
    source: str = "",
) -> Callable[[Callable[..., FloatArray]], PointMetric]:
    """Make a public metric of PU rows from a formula of true rates (tpr, fpr, pi)."""
    from recoup.metrics.rates import prepare

    def decorate(formula: Callable[..., FloatArray]) -> PointMetric:
        def compute(
            s: ArrayLike,
            y_pred: ArrayLike,
            *,
            alpha: float | None = None,
            beta: float = 1.0,
            scheme: Scheme = "single-sample",
            sample_weight: ArrayLike | None = None,
            propensity: ArrayLike | None = None,
            **params: float,
        ) -> float:
            table, mixture = prepare(
                s,
                y_pred,
                alpha=alpha,
                beta=beta,
                scheme=scheme,
                sample_weight=sample_weight,
                propensity=propensity,
                caller=key,
                binary=True,
            )
            at_one = table.scores == 1
            tpr, fpr = mixture.true_rates(
                table.labeled[at_one].sum() / table.n_labeled,
                table.unlabeled[at_one].sum() / table.n_unlabeled,
            )
            return float(formula(tpr, fpr, mixture.pi, **params))

        doc = formula.__doc__ or ""
        text, mark, examples = doc.partition("\n\n    Examples")
        compute.__doc__ = text.rstrip() + PARAMETERS + mark.lstrip("\n") + examples
        compute.__name__ = compute.__qualname__ = formula.__name__
        compute.__module__ = formula.__module__
        compute.spec = MetricSpec(  # type: ignore[attr-defined]
            key, label, low, high, higher_is_better, kind="point", source=source
        )
        compute.from_rates = formula  # type: ignore[attr-defined]
        metric: PointMetric = compute  # type: ignore[assignment]
        POINT_METRICS[key] = metric
        return metric

    return decorate


def area_metric(
    key: str,
    label: str,
    *,
    high: float = 1.0,
    higher_is_better: bool = True,
    needs_probabilities: bool = False,
    source: str = "",
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Record what is known about a metric of whole score tables."""

    def decorate(function: Callable[..., float]) -> Callable[..., float]:
        function.spec = MetricSpec(  # type: ignore[attr-defined]
            key,
            label,
            0.0,
            high,
            higher_is_better,
            "proper" if needs_probabilities else "area",
            source,
        )
        AREA_METRICS[key] = function
        return function

    return decorate


def metric_spec(key: str, caller: str) -> MetricSpec:
    """Look a metric up by its key, or name the nearest one."""
    from recoup.exceptions import InvalidInputError

    known: dict[str, Any] = {**POINT_METRICS, **AREA_METRICS}
    if key not in known:
        raise InvalidInputError(
            f"{caller} knows no metric {key!r}.{did_you_mean(key, known)} "
            f"It knows: {', '.join(known)}."
        )
    spec: MetricSpec = known[key].spec
    return spec
