"""What the learners share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target

from recoup._checks import label_masks
from recoup.exceptions import InvalidInputError
from recoup.priors.results import PriorEstimate
from recoup.scores.split import as_generator


def checked_labels(s: Any, caller: str) -> NDArray[Any]:
    """Check s, in the words by which scikit-learn knows a classifier that fails gracefully."""
    if s is None:
        raise InvalidInputError(
            f"{caller} requires y to be passed, but the target y is None. Pass s, with 1 for "
            f"labeled and 0 for unlabeled rows."
        )
    s = column_or_1d(check_array(s, ensure_2d=False, dtype=None, input_name="s"), warn=True)
    try:
        labeled, unlabeled, _ = label_masks(s, caller)
    except InvalidInputError as error:
        kind = type_of_target(s)
        if kind == "binary":
            raise
        raise InvalidInputError(
            f"{error} Only binary classification is supported. The type of the target is {kind}."
        ) from error
    if not (labeled.any() and unlabeled.any()):
        raise InvalidInputError(
            f"{caller} needs labeled and unlabeled rows: nothing can be learned from one class. "
            f"Got {labeled.sum():,} labeled and {unlabeled.sum():,} unlabeled rows."
        )
    return np.select([labeled, unlabeled], [1, 0], -1)


def estimated_prior(
    s: ArrayLike, scores: ArrayLike, method: Any, beta: Any, random_state: Any, caller: str
) -> PriorEstimate:
    """Estimate alpha, and beta if asked to, from scores of rows that no model was fitted on.

    ``method`` is the key of an estimator, ``"auto"``, or an estimator.
    """
    from recoup.priors import estimate

    try:
        if hasattr(method, "fit_scores"):
            found: PriorEstimate = clone(method).fit_scores(s, scores).estimate_
        else:
            seed = int(as_generator(random_state).integers(2**31))
            found = estimate(s, scores, method=method, random_state=seed, beta=beta)
    except InvalidInputError as error:
        raise InvalidInputError(f"{caller} cannot estimate alpha: {error}") from error
    return found
