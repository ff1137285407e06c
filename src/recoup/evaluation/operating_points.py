"""All threshold metrics of an evaluation at thresholds other than its own."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import brief
from recoup._core.results import make_frame
from recoup.evaluation.estimates import Estimate, OperatingPoint
from recoup.evaluation.inputs import as_precise_as_scores
from recoup.evaluation.uncertainty import point_estimates
from recoup.exceptions import InvalidInputError
from recoup.metrics.measure import observed_rates_at
from recoup.metrics.spec import POINT_METRICS

if TYPE_CHECKING:
    import pandas as pd

    from recoup.evaluation.results import Evaluation


def points_at(
    evaluation: Evaluation, thresholds: Any, caller: str, shift: dict[str, float] | None = None
) -> list[OperatingPoint]:
    """Judge an evaluation at other thresholds.

    Parameters
    ----------
    evaluation : Evaluation
        Whose rows are judged.
    thresholds : sequence of float
        Where scores become predictions.
    caller : str
        Who asks, for the error message.
    shift : dict of str to float, optional
        What choosing the threshold on these rows adds to each metric.

    Returns
    -------
    list of OperatingPoint
        One for each threshold.
    """
    given = evaluation.given
    try:
        cuts = np.array(
            [as_precise_as_scores(float(t), given.single_precision) for t in thresholds]
        )
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{caller} needs thresholds that are numbers. Got {brief(thresholds)}."
        ) from error
    if not np.isfinite(cuts).all():
        raise InvalidInputError(f"{caller} needs finite thresholds. Got {brief(thresholds)}.")
    thresholds = cuts
    factors = [given.widening(evaluation.mixture, float(cut)) for cut in cuts]
    times = {key: np.array([one[key] for one in factors]) for key in next(iter(factors), {})}
    estimates = point_estimates(
        given.exact, evaluation.prior, evaluation.scheme, thresholds, evaluation.confidence, times
    )
    naive_rates = observed_rates_at(given.naive, thresholds)
    share = given.naive.n_labeled / given.naive.n_rows
    rows = evaluation.mixture.rows(given.exact)
    above = np.append(np.cumsum(rows[::-1])[::-1], 0.0)
    queue = above[np.searchsorted(given.exact.scores, thresholds, side="left")]
    naive = {
        key: np.asarray(POINT_METRICS[key].from_rates(*naive_rates, share), float)
        for key in estimates
    }
    return [
        OperatingPoint(
            float(threshold),
            float(queue[i] / rows.sum()),
            float(queue[i]),
            {
                key: Estimate.make(
                    key,
                    naive[key][i],
                    raw[i],
                    (low[i], high[i]),
                    optimism=(shift or {}).get(key, 0.0),
                )
                for key, (raw, low, high) in estimates.items()
            },
        )
        for i, threshold in enumerate(thresholds)
    ]


def points_frame(evaluation: Evaluation, thresholds: Any) -> pd.DataFrame:
    """Return what :meth:`Evaluation.operating_points` does.

    Parameters
    ----------
    evaluation : Evaluation
        Whose rows are judged.
    thresholds : sequence of float, or int
        The thresholds, or how many to spread evenly over the rows.

    Returns
    -------
    pandas.DataFrame
    """
    if isinstance(thresholds, Integral):
        if thresholds < 1:
            raise InvalidInputError(
                f"Evaluation.operating_points needs at least one threshold. Got {thresholds}."
            )
        rows = np.cumsum(evaluation.mixture.rows(evaluation.given.exact)[::-1])
        wanted = rows[-1] * np.linspace(0.0, 1.0, int(thresholds) + 1)[1:]
        places = np.unique(np.minimum(np.searchsorted(rows, wanted), len(rows) - 1))
        thresholds = evaluation.given.exact.scores[::-1][places].tolist()
    points = points_at(evaluation, thresholds, "Evaluation.operating_points")
    columns: dict[str, Any] = {
        "threshold": [point.threshold for point in points],
        "queue": [point.queue for point in points],
    }
    for key in ("precision", "recall"):
        columns[key] = [point[key].recovered for point in points]
        columns[f"{key}_lower"] = [point[key].lower for point in points]
        columns[f"{key}_upper"] = [point[key].upper for point in points]
    return make_frame(columns)
