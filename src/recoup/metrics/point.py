r"""Metrics at one threshold, as plain functions of true rates.

Each formula knows the true positive rate :math:`\gamma`, the false positive rate :math:`\eta`
and the share of positives :math:`\pi`, and nothing about PU data. :math:`\theta = \pi\gamma +
(1-\pi)\eta` is the share of rows predicted positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup.metrics.expression import Expression
from recoup.metrics.spec import POINT_METRICS, point_metric

# Rates are sums and differences of rounded numbers: a denominator that should be zero may be as
# large as 1e-16.
LEAST = 1e-12


def positive_rate(tpr: Any, fpr: Any, pi: Any) -> Any:
    """Share of the population that is predicted positive."""
    return pi * tpr + (1 - pi) * fpr


def ratio(numerator: Any, denominator: Any, empty: float = np.nan) -> Any:
    """Divide, with a stated value where there is nothing to divide by."""
    if isinstance(numerator, Expression) or isinstance(denominator, Expression):
        return Expression("ratio", (numerator, denominator, empty))
    numerator, denominator = np.broadcast_arrays(
        np.asarray(numerator, float), np.asarray(denominator, float)
    )
    result = np.full(numerator.shape, empty)
    np.divide(numerator, denominator, out=result, where=denominator > LEAST)
    return result


@point_metric(
    "accuracy",
    "Accuracy",
    source="Ramola et al. 2019, Eq. 12",
    sklearn=("accuracy_score", {}),
)
def accuracy(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover accuracy, :math:`\pi\gamma + (1-\pi)(1-\eta)`.

    Examples
    --------
    >>> s, y_pred = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0]
    >>> accuracy(s, y_pred, alpha=0.0), accuracy(s, y_pred, alpha=0.2)
    (0.75, 0.8)
    """
    return pi * tpr + (1 - pi) * (1 - fpr)


@point_metric(
    "balanced_accuracy",
    "Balanced accuracy",
    source="Ramola et al. 2019, Eq. 13",
    sklearn=("balanced_accuracy_score", {}),
)
def balanced_accuracy(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover balanced accuracy, :math:`(1 + \gamma - \eta)/2`.

    Counting unlabeled rows as negative pulls the value towards 1/2 by the factor
    :math:`\beta - \alpha`; the correction stretches it back.

    Examples
    --------
    >>> s, y_pred = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0]
    >>> balanced_accuracy(s, y_pred, alpha=0.2)
    0.8125
    """
    return (1 + tpr - fpr) / 2


@point_metric(
    "precision",
    "Precision",
    source="Jain et al. 2017, Eq. 3",
    sklearn=("precision_score", {"zero_division": 0.0}),
)
def precision(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover precision, :math:`\pi\gamma/\theta`; not a number if nothing is predicted positive.

    Examples
    --------
    >>> s, y_pred = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0]
    >>> precision(s, y_pred, alpha=0.2)
    0.9
    """
    return ratio(pi * tpr, positive_rate(tpr, fpr, pi))


@point_metric("recall", "Recall", source="Jain et al. 2017, Eq. 1", sklearn=("recall_score", {}))
def recall(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover recall (sensitivity, true positive rate), :math:`\gamma`.

    Examples
    --------
    >>> recall([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.75
    """
    return tpr + 0.0 * fpr


@point_metric("specificity", "Specificity", source="Jain et al. 2017, Eq. 2", in_bench=False)
def specificity(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover specificity (true negative rate), :math:`1 - \eta`.

    Examples
    --------
    >>> specificity([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.875
    """
    return 1 - fpr + 0.0 * tpr


@point_metric("npv", "Negative predictive value", in_bench=False)
def npv(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover the negative predictive value, :math:`(1-\pi)(1-\eta)/(1-\theta)`.

    Examples
    --------
    >>> npv([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.7
    """
    return ratio((1 - pi) * (1 - fpr), 1 - positive_rate(tpr, fpr, pi))


# With b = 1, as evaluations and benchmarks would have it, this is f1.
@point_metric(
    "fbeta", "F-beta", source="Ramola et al. 2019, Eq. 14", in_evaluate=False, in_bench=False
)
def fbeta(tpr: Any, fpr: Any, pi: Any, b: float = 1.0) -> Any:
    r"""Recover :math:`F_b = (1+b^2)\pi\gamma / (b^2\pi + \theta)`.

    Parameters
    ----------
    b : float, default=1.0
        How many times as much recall counts as precision. 2.0 favors recall, 0.5 precision.

    Examples
    --------
    >>> fbeta([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2, b=2.0)
    0.775862
    """
    return ratio((1 + b**2) * pi * tpr, b**2 * pi + positive_rate(tpr, fpr, pi), empty=0.0)


@point_metric(
    "f1", "F1", source="Ramola et al. 2019, Eq. 14", sklearn=("f1_score", {"zero_division": 0.0})
)
def f1(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover the F1 score, :math:`2\pi\gamma/(\pi + \theta)`.

    Examples
    --------
    >>> f1([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.818182
    """
    return fbeta.from_rates(tpr, fpr, pi)


@point_metric(
    "matthews_corrcoef",
    "Matthews correlation",
    low=-1.0,
    source="Ramola et al. 2019, Eq. 15",
    short="MCC",
    sklearn=("matthews_corrcoef", {}),
)
def matthews_corrcoef(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover Matthews correlation, :math:`\sqrt{\pi(1-\pi)/(\theta(1-\theta))}(\gamma-\eta)`.

    Examples
    --------
    >>> matthews_corrcoef([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.612372
    """
    rate = positive_rate(tpr, fpr, pi)
    return np.sqrt(ratio(pi * (1 - pi), rate * (1 - rate), empty=0.0)) * (tpr - fpr)


@point_metric("youden", "Youden J", low=-1.0, in_bench=False)
def youden(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover Youden's J, :math:`\gamma - \eta`.

    Examples
    --------
    >>> youden([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.625
    """
    return tpr - fpr


@point_metric("lift", "Lift", high=np.inf, in_bench=False)
def lift(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover lift, :math:`\gamma/\theta`: how much richer the predicted positives are.

    Examples
    --------
    >>> lift([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    1.5
    """
    return ratio(tpr, positive_rate(tpr, fpr, pi))


@point_metric("expected_cost", "Expected cost", high=np.inf, higher_is_better=False, in_bench=False)
def expected_cost(tpr: Any, fpr: Any, pi: Any, fp_cost: float = 1.0, fn_cost: float = 1.0) -> Any:
    r"""Recover the cost per row, :math:`c_{fn}\pi(1-\gamma) + c_{fp}(1-\pi)\eta`.

    Parameters
    ----------
    fp_cost : float, default=1.0
        Cost of a negative that is predicted positive.
    fn_cost : float, default=1.0
        Cost of a positive that is predicted negative.

    Examples
    --------
    >>> s, y_pred = [1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0]
    >>> expected_cost(s, y_pred, alpha=0.2, fp_cost=1.0, fn_cost=10.0)
    1.55
    """
    return fn_cost * pi * (1 - tpr) + fp_cost * (1 - pi) * fpr


@point_metric(
    "macro_f1",
    "Macro-F1",
    sklearn=("f1_score", {"average": "macro", "zero_division": 0.0}),
)
def macro_f1(tpr: Any, fpr: Any, pi: Any) -> Any:
    r"""Recover the mean of the F1 scores of both classes.

    That of the negatives is :math:`2(1-\pi)(1-\eta)/((1-\pi) + (1-\theta))`.

    Examples
    --------
    >>> macro_f1([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0], alpha=0.2)
    0.797980
    """
    negatives = fbeta.from_rates(1 - fpr, 1 - tpr, 1 - pi)
    return (fbeta.from_rates(tpr, fpr, pi) + negatives) / 2


# The public functions are made by the decorator, where doctest does not look for them.
__test__ = {metric.__name__: metric.__doc__ for metric in POINT_METRICS.values()}
