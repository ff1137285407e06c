"""Every metric of an evaluation over a range of alpha."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import as_floats, check_alpha_beta
from recoup.evaluation.estimates import Sensitivity
from recoup.metrics.curves import recovered_roc
from recoup.metrics.measure import measure

if TYPE_CHECKING:
    from recoup.evaluation.results import Evaluation


def metrics_over_alpha(evaluation: Evaluation, alphas: ArrayLike | None) -> Sensitivity:
    """Return what :meth:`Evaluation.sensitivity` does.

    Parameters
    ----------
    evaluation : Evaluation
        Whose rows are judged.
    alphas : array-like or None
        Shares of positives among the unlabeled rows; None for an even range.

    Returns
    -------
    Sensitivity
    """
    if alphas is None:
        top = min(max(evaluation.feasibility.alpha_upper * 1.1, evaluation.alpha * 1.2, 0.05), 0.99)
        values = np.linspace(0.0, min(top, evaluation.beta - 0.01), 50)
    else:
        values = np.atleast_1d(as_floats(alphas, "alphas", "Evaluation.sensitivity"))
    check_alpha_beta(values, evaluation.beta, "Evaluation.sensitivity")
    measured = []
    for alpha in values:
        mixture = evaluation.given.mixture(evaluation.table, float(alpha))
        curve = recovered_roc(evaluation.table, mixture)
        measured.append(measure(evaluation.table, mixture, curve, evaluation.threshold))
    columns = {key: np.array([found[key][1] for found in measured]) for key in measured[0]}
    return Sensitivity(
        values,
        columns,
        evaluation.alpha,
        evaluation.feasibility.alpha_upper,
        evaluation.prior.stated,
    )
