"""What a learner is told about alpha, as a number."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from recoup._core.alpha import Draws, Interval
from recoup._core.checks import brief, check_alpha_beta
from recoup._core.prior import Prior, estimation_method
from recoup._core.random import as_generator
from recoup.exceptions import InvalidInputError
from recoup.priors.results import PriorEstimate


def check_learned_alpha(alpha: Any, caller: str) -> None:
    """Refuse what a learner could not take alpha from; None is left to those that need none."""
    if alpha is None:
        return
    if isinstance(alpha, str):
        estimation_method(alpha, 1.0, caller)
    elif isinstance(alpha, PriorEstimate):
        if alpha.beta < 1:
            raise InvalidInputError(
                f"{caller} takes every label as right. Got a prior estimate with "
                f"beta={alpha.beta:.3g}. Estimate alpha with beta=1.0, or pass it as a number."
            )
        check_alpha_beta(alpha.alpha, 1.0, caller)
    elif isinstance(alpha, Interval | Draws):
        if Prior.of(alpha, 1.0, caller).beta < 1:
            raise InvalidInputError(
                f"{caller} takes every label as right. Got {alpha!r}. Pass draws of alpha alone."
            )
    elif isinstance(alpha, Real) and not isinstance(alpha, bool):
        check_alpha_beta(alpha, 1.0, caller)
    else:
        raise _unusable_alpha(alpha, caller)


def _unusable_alpha(alpha: Any, caller: str) -> InvalidInputError:
    return InvalidInputError(
        f"{caller} needs alpha, the share of positives among the unlabeled rows, as a number, an "
        f"Interval, Draws or a prior estimate. Got {brief(alpha)}. Pass 'estimate' to have it "
        f"estimated."
    )


def known_alpha(
    alpha: Any, X: Any, s: NDArray[np.int_], seed: int, caller: str
) -> tuple[float, PriorEstimate | None]:
    """Return alpha as a number, and the estimate that it comes from, if it does.

    A word has it estimated, from scores of the training rows by models that have not seen them.
    """
    found = alpha
    check_learned_alpha(alpha, caller)
    if isinstance(alpha, str):
        found = alpha_from_features(alpha, X, s, seed, caller)
    if isinstance(found, PriorEstimate):
        check_learned_alpha(found, caller)
        return found.alpha, found
    if alpha is None:
        raise _unusable_alpha(alpha, caller)
    return Prior.of(alpha, 1.0, caller).alpha, None


def alpha_from_features(
    word: str, X: Any, s: NDArray[np.int_], seed: int, caller: str, labels_are: str = "unknown"
) -> PriorEstimate:
    """Estimate alpha from features: ``word`` is the key of an estimator, or ``"estimate"``."""
    from recoup.priors.usable import usable_estimate

    method = str(estimation_method(word, 1.0, caller))
    try:
        return usable_estimate(s, X, method=method, labels_are=labels_are, random_state=seed)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{caller} cannot estimate alpha: {error} Or pass alpha as a number."
        ) from error


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
            seed = int(as_generator(random_state, caller).integers(2**31))
            found = estimate(s, scores, method=method, random_state=seed, beta=beta)
    except InvalidInputError as error:
        raise InvalidInputError(f"{caller} cannot estimate alpha: {error}") from error
    return found
