"""Labels and weights of rows, as a learner is given them: checked, and by the usual names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target

from recoup._core.checks import FloatArray, as_numbers, check_same_length, label_masks
from recoup.exceptions import InvalidInputError, LearnerWarning


def labels_by_name(s: Any, y: Any, learner: Any, method: str = "fit") -> Any:
    """Return the labels, which tools of scikit-learn may pass as y."""
    if s is not None and y is not None:
        raise InvalidInputError(
            f"{type(learner).__name__}.{method} takes the labels once, as s or by the name y. Got "
            f"both. Drop y; true classes have no place here."
        )
    return y if s is None else s


def warn_of_unused(n_negatives: int, caller: str) -> None:
    """Say how many known negatives are left out."""
    if n_negatives:
        warnings.warn(
            LearnerWarning(
                f"{caller} leaves out {n_negatives:,} known negatives (-1): the method has no use "
                f"for them. Learners with tags.uses_negatives learn from them, such as Naive, "
                f"BaggingPU or NNPU.",
                "negatives-unused",
            ),
            stacklevel=4,
        )


def warn_of_plain_alpha(weights: Any, caller: str) -> None:
    """Say that an estimate of alpha counts all rows alike."""
    if weights is not None:
        warnings.warn(
            LearnerWarning(
                f"{caller} estimates alpha from rows that count alike, since no estimator takes "
                f"weights. Pass alpha as a number: the share of positives among the unlabeled "
                f"rows, by their weights.",
                "alpha-unweighted",
            ),
            stacklevel=4,
        )


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


def relative_weights(
    given: Any, labels: NDArray[Any], caller: str, *, may_differ: bool
) -> FloatArray:
    """Check what rows count, and bring the median of what is above zero to one."""
    weights = as_numbers(given, "sample_weight", caller)
    check_same_length(weights, labels, "sample_weight and s", caller)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise InvalidInputError(
            f"{caller} needs sample_weight to be zero or more, and finite: it says how much a "
            f"row counts. Got {weights[bad][0]:g}."
        )
    counting = labels[weights > 0]
    if not ((counting == 1).any() and (counting == 0).any()):
        raise InvalidInputError(
            f"{caller} needs labeled and unlabeled rows that count: nothing can be learned "
            f"from one class. Got sample_weight with "
            f"{np.sum(counting == 1):,} labeled and {np.sum(counting == 0):,} unlabeled rows "
            f"above zero."
        )
    above = np.sort(weights[weights > 0])
    if not may_differ and above[0] < above[-1]:
        raise InvalidInputError(
            f"{caller} takes no sample_weight that differs between rows: the method says "
            f"nothing about rows that do not count alike. Got {above[0]:g} to {above[-1]:g}. "
            f"Choose a learner with tags.takes_weight, such as Naive, BaggingPU or NNPU."
        )
    # Not the mean: twice the weight is then twice the row, whatever a penalty makes of sums.
    relative: FloatArray = weights / above[(len(above) - 1) // 2]
    return relative
