"""What is known about each metric, beside the code that computes it.

A metric is one decorated function: ``@point_metric`` for a formula of true rates at a threshold,
``@area_metric`` for one of a whole curve, ``@proper_metric`` for the losses of a probability. Each
makes a public function of rows, and registers a :class:`MetricSpec`. Evaluation, comparison,
bounds, scorers, benchmark and pages loop over these specs; no other list of metrics exists.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, Scheme, did_you_mean
from recoup.exceptions import InvalidInputError
from recoup.metrics.influence import RowEffects, point_effects, proper_effects
from recoup.metrics.public_function import public_function
from recoup.metrics.rates import Mixture, prepare
from recoup.scores.table import ScoreTable

Kind: TypeAlias = Literal["area", "point", "proper"]

# In the order in which people read them: what a metric is of, and its heading in a report.
KINDS: dict[Kind, str] = {
    "area": "all thresholds",
    "point": "one threshold",
    "proper": "probabilities",
}
HEADINGS: dict[Kind, str] = {
    "area": "Ranking",
    "point": "At threshold",
    "proper": "Probabilities",
}
# Learners of a benchmark give decision values, which are no probabilities.
KINDS_BENCHED: tuple[Kind, ...] = ("point", "area")


@dataclass(frozen=True, eq=False)
class MetricSpec:
    """All that recoup knows about a metric.

    Attributes
    ----------
    key : str
        Its name in code, files and on the command line.
    label : str
        Its name for people.
    kind : {"area", "point", "proper"}
        Of a ranking, of predictions at one threshold, or of predicted probabilities.
    formula : callable
        Of a point metric, the value for true rates ``(tpr, fpr, pi)``; of an area, the same along
        a curve from (0, 0) to (1, 1); of a proper score, the losses of a probability if the row
        is positive and if it is negative.
    low : float
        Lowest value.
    high : float
        Highest value; infinity if there is none.
    higher_is_better : bool
        Whether more is better.
    source : str
        Where the formula comes from.
    short : str
        A shorter name, for headings of tables. By default the label.
    row_effects : callable or None
        How much a row at each score of a table, highest first, moves the value: called with the
        table, the mixture and the threshold. Without one, the interval comes from curves with all
        shares at their limits, and differences between models have none.
    at_edge : bool
        Whether an area lies where errors are not small against it: the interval then comes from
        such curves, whatever ``row_effects`` says.
    from_auc_pu : callable or None
        Of an area that follows from AUC_pu and the mixture alone, how.
    raw_curve : bool
        Whether the formula of an area also makes sense along the raw rates, which noise may bend
        back: they then give the raw value.
    many : bool
        Whether the formula of an area takes many curves at once, one per row.
    limits_of : str or None
        Metric whose analytic limits serve for this one too.
    needs_alpha : bool
        Whether the value depends on alpha where every label is right.
    has_bounds : bool
        Whether the value grows, or falls, with the true positives at every threshold, so that
        the extreme contingency tables bound it.
    in_evaluate : bool
        Whether evaluations hold it.
    in_bench : bool
        Whether benchmarks hold it.
    sklearn : tuple of (str, mapping) or None
        Function of ``sklearn.metrics`` that gives the true value, and its options.
    script : str or None
        Function of the report page's script that computes an area. Formulas of the other kinds
        are translated.
    """

    key: str
    label: str
    kind: Kind
    formula: Callable[..., Any]
    low: float = 0.0
    high: float = 1.0
    higher_is_better: bool = True
    source: str = ""
    short: str = ""
    row_effects: Callable[[ScoreTable, Mixture, float], RowEffects] | None = None
    at_edge: bool = False
    from_auc_pu: Callable[[Any, Mixture], Any] | None = None
    raw_curve: bool = False
    many: bool = False
    limits_of: str | None = None
    needs_alpha: bool = True
    has_bounds: bool = False
    in_evaluate: bool = True
    in_bench: bool = True
    sklearn: tuple[str, Mapping[str, Any]] | None = None
    script: str | None = None
    params: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        """Read the parameters off the formula, and refuse what cannot be told apart."""
        if not (self.key.isidentifier() and self.key == self.key.lower()):
            raise InvalidInputError(
                f"A metric needs a key that can name a column and a function: small letters, "
                f"digits and underscores. Got {self.key!r}."
            )
        if self.key in METRICS:
            raise InvalidInputError(
                f"There is a metric {self.key!r} already. Choose another key for this one."
            )
        first = 1 if self.kind == "proper" else 3
        given = list(inspect.signature(self.formula).parameters.values())[first:]
        if any(one.default is one.empty for one in given) and (self.in_evaluate or self.in_bench):
            raise InvalidInputError(
                f"The parameters of the metric {self.key!r} need defaults, which evaluations and "
                f"benchmarks take. Give them some, or pass in_evaluate=False and in_bench=False."
            )
        object.__setattr__(self, "params", {one.name: one.default for one in given})
        object.__setattr__(self, "short", self.short or self.label)

    @property
    def needs_probabilities(self) -> bool:
        """Whether scores must lie in [0, 1]."""
        return self.kind == "proper"

    @property
    def heading(self) -> str:
        """Group of the metric in a report."""
        return HEADINGS[self.kind]

    def clip(self, value: float) -> float:
        """Bring a raw value into the metric's range.

        Parameters
        ----------
        value : float
            As the correction gives it.

        Returns
        -------
        float
        """
        return float(np.clip(value, self.low, self.high))

    def along(self, tpr: FloatArray, fpr: FloatArray, pi: Any) -> FloatArray:
        """Return the area under each of many curves, one per row, with one pi each.

        Parameters
        ----------
        tpr, fpr : ndarray of shape (n, k)
            True and false positive rates, one curve per row.
        pi : float or ndarray of shape (n,)
            Share of positives in the population.

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.many:
            return np.asarray(self.formula(tpr, fpr, pi), float)
        shares = np.broadcast_to(np.asarray(pi, float), len(tpr))
        return np.array(
            [self.formula(y, x, share) for y, x, share in zip(tpr, fpr, shares, strict=True)], float
        )

    def described(self) -> dict[str, Any]:
        """Return what people and pages read of it, as plain values.

        Returns
        -------
        dict
            By name of the attribute.
        """
        names = ("key", "label", "low", "high", "higher_is_better", "kind", "source")
        more = ("needs_alpha", "needs_probabilities", "has_bounds", "in_evaluate", "in_bench")
        return {name: getattr(self, name) for name in (*names, *more)}


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


class ScoreMetric(Protocol):
    """A metric of scores: an area under a curve, or a mean loss of probabilities."""

    spec: MetricSpec
    __name__: str

    def __call__(
        self,
        s: ArrayLike,
        scores: ArrayLike,
        *,
        alpha: float | None = None,
        beta: float = 1.0,
        scheme: Scheme = "single-sample",
        sample_weight: ArrayLike | None = None,
        propensity: ArrayLike | None = None,
        **params: Any,
    ) -> float:
        """Recover the metric from PU rows."""


METRICS: dict[str, MetricSpec] = {}
POINT_METRICS: dict[str, PointMetric] = {}
AREA_METRICS: dict[str, ScoreMetric] = {}


def point_metric(
    key: str,
    label: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool = True,
    source: str = "",
    has_bounds: bool = True,
    **more: Any,
) -> Callable[[Callable[..., Any]], PointMetric]:
    """Make a public metric of PU rows from a formula of true rates ``(tpr, fpr, pi)``.

    Parameters
    ----------
    key : str
        Name of the metric in code, files and on the command line.
    label : str
        Name for people.
    low : float, default=0.0
        Lowest value.
    high : float, default=1.0
        Highest value; infinity if there is none.
    higher_is_better : bool, default=True
        Whether more is better.
    source : str, default=""
        Where the formula comes from.
    has_bounds : bool, default=True
        Whether the extreme contingency tables bound it. False for a formula that neither grows nor
        falls with the true positives while the number of positives stays.
    **more
        Other attributes of :class:`MetricSpec`.

    Returns
    -------
    callable
        Decorator of the formula.

    Examples
    --------
    >>> @point_metric("gmean2", "Product of both recalls")
    ... def gmean2(tpr, fpr, pi):
    ...     "Recover recall times specificity."
    ...     return tpr * (1 - fpr)
    >>> gmean2([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.65625
    >>> forget_metric("gmean2")
    """

    def decorate(formula: Callable[..., Any]) -> PointMetric:
        spec = MetricSpec(
            key,
            label,
            "point",
            formula,
            low,
            high,
            higher_is_better,
            source,
            row_effects=partial(point_effects, formula),
            has_bounds=has_bounds,
            **more,
        )

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

        metric: PointMetric = public_function(compute, spec, "y_pred", "Predictions, 0 or 1.")
        metric.from_rates = formula
        METRICS[key], POINT_METRICS[key] = spec, metric
        return metric

    return decorate


def area_metric(
    key: str,
    label: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool = True,
    source: str = "",
    row_effects: Callable[[ScoreTable, Mixture], RowEffects] | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], ScoreMetric]:
    """Make a public metric of PU rows from a formula of a curve ``(tpr, fpr, pi)``.

    The rates are arrays from the highest threshold down, from (0, 0) to (1, 1).

    Parameters
    ----------
    key : str
        Name of the metric in code, files and on the command line.
    label : str
        Name for people.
    low : float, default=0.0
        Lowest value.
    high : float, default=1.0
        Highest value; infinity if there is none.
    higher_is_better : bool, default=True
        Whether more is better.
    source : str, default=""
        Where the formula comes from.
    row_effects : callable, optional
        How much a row at each score of a table, highest first, moves the value; called with the
        table and the mixture.
    **more
        Other attributes of :class:`MetricSpec`.

    Returns
    -------
    callable
        Decorator of the formula.

    Examples
    --------
    >>> @area_metric("ks", "Kolmogorov-Smirnov distance")
    ... def ks(tpr, fpr, pi):
    ...     "Recover the largest distance between the two rates."
    ...     return np.max(tpr - fpr)
    >>> ks([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], alpha=0.0)
    0.5
    >>> forget_metric("ks")
    """

    def decorate(formula: Callable[..., Any]) -> ScoreMetric:
        at_any_threshold = None
        if row_effects is not None:
            at_any_threshold = lambda table, mixture, threshold: row_effects(table, mixture)  # noqa: E731
        spec = MetricSpec(
            key,
            label,
            "area",
            formula,
            low,
            high,
            higher_is_better,
            source,
            row_effects=at_any_threshold,
            **more,
        )

        def compute(
            s: ArrayLike,
            scores: ArrayLike,
            *,
            alpha: float | None = None,
            beta: float = 1.0,
            scheme: Scheme = "single-sample",
            sample_weight: ArrayLike | None = None,
            propensity: ArrayLike | None = None,
            method: Literal["indirect", "direct"] = "indirect",
            **params: Any,
        ) -> float:
            from recoup.metrics.area import auc_pu
            from recoup.metrics.curves import recovered_roc

            methods = ("indirect", "direct") if spec.from_auc_pu else ("indirect",)
            if method not in methods:
                known = " or ".join(map(repr, methods))
                raise InvalidInputError(f"{key} needs method {known}. Got {method!r}.")
            if alpha is None and propensity is None and not spec.needs_alpha:
                if beta < 1:
                    raise InvalidInputError(
                        f"{key} needs alpha when labels are noisy. Got beta={beta:g} and no alpha."
                    )
                alpha = 0.0
            table, mixture = prepare(
                s,
                scores,
                alpha=alpha,
                beta=beta,
                scheme=scheme,
                sample_weight=sample_weight,
                propensity=propensity,
                caller=key,
            )
            if spec.from_auc_pu and (method == "direct" or not spec.needs_alpha):
                return float(spec.from_auc_pu(auc_pu(table), mixture))
            curve = recovered_roc(table, mixture)
            return float(formula(curve.tpr, curve.fpr, curve.pi, **params))

        metric: ScoreMetric = public_function(compute, spec, "scores", "Higher is more positive.")
        METRICS[key], AREA_METRICS[key] = spec, metric
        return metric

    return decorate


def proper_metric(
    key: str,
    label: str,
    *,
    high: float = 1.0,
    source: str = "",
    sklearn: tuple[str, Mapping[str, Any]] | None = None,
) -> Callable[[Callable[[Any], tuple[Any, Any]]], ScoreMetric]:
    """Make a public metric of PU rows from the losses of a predicted probability.

    The formula takes a probability and returns its loss if the row is positive, and if it is
    negative. Less is better.

    Parameters
    ----------
    key : str
        Name of the metric in code, files and on the command line.
    label : str
        Name for people.
    high : float, default=1.0
        Highest value; infinity if there is none.
    source : str, default=""
        Where the formula comes from.
    sklearn : tuple of (str, mapping), optional
        Function of ``sklearn.metrics`` that gives the true value, and its options.

    Returns
    -------
    callable
        Decorator of the formula.
    """

    def decorate(losses: Callable[[Any], tuple[Any, Any]]) -> ScoreMetric:
        spec = MetricSpec(
            key,
            label,
            "proper",
            losses,
            0.0,
            high,
            False,
            source,
            row_effects=lambda table, mixture, threshold: proper_effects(losses, table, mixture),
            in_bench=False,
            sklearn=sklearn,
        )

        def compute(s: ArrayLike, scores: ArrayLike, **options: Any) -> float:
            from recoup.metrics.area import proper_score
            from recoup.metrics.curves import check_probabilities

            table, mixture = prepare(s, scores, caller=key, **options)
            check_probabilities(table, key)
            return proper_score(table, mixture, losses(table.centers))

        metric: ScoreMetric = public_function(compute, spec, "scores", "Predicted probabilities.")
        METRICS[key], AREA_METRICS[key] = spec, metric
        return metric

    return decorate


def forget_metric(key: str) -> None:
    """Take a metric out again, as a test does that has brought its own."""
    for known in (METRICS, POINT_METRICS, AREA_METRICS):
        known.pop(key, None)


def specs(*kinds: Kind) -> Iterator[MetricSpec]:
    """Give the specs of these kinds, by default all: areas first, then points, then proper ones."""
    for kind in KINDS:
        if not kinds or kind in kinds:
            yield from [spec for spec in METRICS.values() if spec.kind == kind]


def evaluated_specs(*kinds: Kind, probabilities: bool = True) -> list[MetricSpec]:
    """Return the specs that an evaluation holds, where scores are probabilities or are not."""
    return [
        spec
        for spec in specs(*kinds)
        if spec.in_evaluate and (probabilities or not spec.needs_probabilities)
    ]


def benched_specs() -> list[MetricSpec]:
    """Return the specs that a benchmark measures, those of predictions first."""
    return [spec for kind in KINDS_BENCHED for spec in specs(kind) if spec.in_bench]


def metric_spec(key: str, caller: str) -> MetricSpec:
    """Look a metric up by its key, or name the nearest one."""
    if key not in METRICS:
        raise InvalidInputError(
            f"{caller} knows no metric {key!r}.{did_you_mean(key, METRICS)} "
            f"It knows: {', '.join(METRICS)}."
        )
    return METRICS[key]


def point_spec(key: str, caller: str) -> MetricSpec:
    """Look up a metric of predictions at a threshold."""
    spec = metric_spec(key, caller)
    if spec.kind != "point":
        raise InvalidInputError(
            f"{caller} needs a metric of one threshold. Got {key!r}, which is not. "
            f"Choose among: {', '.join(one.key for one in specs('point'))}."
        )
    return spec
