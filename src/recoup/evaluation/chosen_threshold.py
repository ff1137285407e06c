"""What choosing a threshold on the rows that it is judged by adds to the metrics there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior
from recoup.metrics.observed import moved_mixture
from recoup.metrics.resample import Replicates
from recoup.metrics.spec import evaluated_specs, metric_spec

# More replicates change the mean by less than a tenth of the interval's width.
N_REPLICATES = 200


def optimism(
    replicates: Replicates,
    prior: Prior,
    scheme: Scheme,
    metric: str,
    params: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """By how much metrics at the best threshold are too good, on average (Efron 1983).

    The best of many noisy values is above the true one. In each replicate the threshold is chosen
    anew; what the replicate says of it, less what the rows themselves say, is its optimism.

    Parameters
    ----------
    replicates : Replicates
        Bootstrap replicates of the rows.
    prior : Prior
        Alpha and beta.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    metric : str
        Key of the metric that the threshold is best for.
    params : mapping of str to float, optional
        Parameters of that metric.

    Returns
    -------
    dict of str to float
        By key, for all metrics at one threshold: recovered minus true, on average.
    """
    spec = metric_spec(metric, "optimism")
    drawn = replicates.mixture(prior.alpha, prior.beta, scheme)
    tpr, fpr = replicates.valid_rates(drawn)
    values = np.asarray(spec.formula(tpr, fpr, drawn.pi, **(params or {})), float)
    signed = np.where(np.isnan(values), -np.inf, values if spec.higher_is_better else -values)
    best = signed.argmax(axis=1)
    table = replicates.table
    own = moved_mixture(table, scheme, prior.alpha, prior.beta, {})
    heads = [np.append(0.0, table.heads(group))[best] for group in ("labeled", "unlabeled")]
    rows = np.arange(len(best))
    rates = drawn.true_rates(replicates.tpr_pu, replicates.fpr_pu)
    there: list[FloatArray] = [rate[rows, best] for rate in rates]
    found = {}
    for one in evaluated_specs("point"):
        said = np.asarray(one.formula(*there, np.ravel(drawn.pi)), float)
        held = np.asarray(one.formula(*own.true_rates(*heads), own.pi), float)
        gaps = np.clip(said, one.low, one.high) - np.clip(held, one.low, one.high)
        known = gaps[np.isfinite(gaps)]
        found[one.key] = float(known.mean()) if len(known) else 0.0
    return found
