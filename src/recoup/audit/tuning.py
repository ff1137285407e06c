"""The best threshold by an audit: a metric at every threshold, from the answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.audit.answers import Audit
from recoup.audit.audited_prior import placed, share_found
from recoup.audit.checked import chances, hidden_mass, right_share
from recoup.audit.estimating import audited_roc
from recoup.audit.limits import drawn_again
from recoup.exceptions import InvalidInputError
from recoup.metrics.curve_results import MetricCurve
from recoup.metrics.curves import metric_along
from recoup.metrics.spec import metric_spec


def tuned_by_audit(
    audit: Audit,
    s: NDArray[np.int64],
    scores: FloatArray,
    *,
    metric: str,
    params: Mapping[str, float],
    alpha: float | None,
    beta: float,
    scheme: Scheme,
    seed: int,
    caller: str,
) -> tuple[MetricCurve, float]:
    """Estimate a metric at every threshold, and what choosing the best one adds to it.

    The answers are drawn again many times. In each draw a threshold is best; what the metric is
    there in this draw, less what it is there in all draws on average, is what the choice adds.

    Parameters
    ----------
    audit : Audit
        The checked rows, by their positions in s.
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : ndarray of shape (n,)
        Scores of each row by a model that has not seen it.
    metric : str
        Key of a metric of one threshold.
    params : mapping of str to float
        Settings of the metric.
    alpha : float or None
        Rough share of positives among the unlabeled rows; it sharpens, and moves nothing on
        average. None takes it from the answers.
    beta : float
        Share of right labels, if none of them was checked.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    seed : int
        Seed of the draws.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    curve : MetricCurve
    optimism : float
        What the choice adds, on average.
    """
    if audit.kind == "top":
        raise InvalidInputError(
            f"{caller} needs an audit of rows that were drawn: those from the top tell nothing of "
            f"lower thresholds. Got Audit.top. Check rows that recoup.audit.plan draws."
        )
    _, population, checked = placed(audit, s, scores, scheme, caller)
    rough = share_found(checked) if alpha is None else alpha
    share = right_share(checked, beta)
    hidden = hidden_mass(population, chances(population, rough, checked), checked)
    positives = population.positives(hidden, share)
    roc = audited_roc(population, positives)
    curve = metric_along(roc, metric, caller, **params)
    drawn = drawn_again(population, checked.answered, beta, np.random.default_rng(seed))
    tpr, fpr = drawn.population.curves(drawn.positives)
    tpr, fpr = (np.clip(np.maximum.accumulate(rate, axis=1), 0.0, 1.0) for rate in (tpr, fpr))
    pi = drawn.positives.sum(axis=1, keepdims=True) / population.rows.sum()
    spec = metric_spec(metric, caller)
    values = np.asarray(spec.formula(tpr, fpr, pi, **params), float)
    values = np.clip(values, spec.low, spec.high)
    signed = values if spec.higher_is_better else -values
    best = np.argmax(np.where(np.isnan(signed), -np.inf, signed), axis=1)
    known = np.isfinite(values)
    means = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    gaps = values[np.arange(len(best)), best] - means[best]
    gaps = gaps[np.isfinite(gaps)]
    return curve, float(gaps.mean()) if len(gaps) else 0.0
