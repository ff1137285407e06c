"""What the learners share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import type_of_target

from recoup._checks import label_masks
from recoup.exceptions import InvalidInputError


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
