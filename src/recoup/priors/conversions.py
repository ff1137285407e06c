"""From one prior to another: which share of which rows, and under which design."""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup._core.checks import check_alpha_beta
from recoup.exceptions import InvalidInputError


def pooled_prior(alpha: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0) -> Any:
    """Share of positives among labeled and unlabeled rows together.

    Examples
    --------
    >>> pooled_prior(0.2, n_labeled=100, n_unlabeled=900)
    0.28
    """
    return (alpha * n_unlabeled + beta * n_labeled) / (n_labeled + n_unlabeled)


def alpha_from_pooled(pooled: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0) -> Any:
    """Share of positives among the unlabeled rows, from that among all rows.

    Examples
    --------
    >>> alpha_from_pooled(0.28, n_labeled=100, n_unlabeled=900)
    0.2
    """
    return (pooled * (n_labeled + n_unlabeled) - beta * n_labeled) / n_unlabeled


def label_frequency(alpha: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0) -> Any:
    """Share of the positives that are labeled, P(s=1 | y=1), in the pooled sample.

    Examples
    --------
    >>> round(label_frequency(0.2, n_labeled=100, n_unlabeled=900), 4)
    0.3571
    """
    return beta * n_labeled / (beta * n_labeled + alpha * n_unlabeled)


def alpha_from_label_frequency(
    frequency: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0
) -> Any:
    """Share of positives among the unlabeled rows, from the share of positives labeled.

    Examples
    --------
    >>> round(alpha_from_label_frequency(0.5, n_labeled=100, n_unlabeled=900), 4)
    0.1111
    """
    return beta * n_labeled / n_unlabeled * (1 - frequency) / frequency


def alpha_from_population(pi: Any, frequency: Any) -> Any:
    """Alpha of a single sample in which a share ``frequency`` of the positives got labeled.

    In the case-control design the unlabeled rows are the population, and alpha is pi itself.

    Examples
    --------
    >>> round(alpha_from_population(pi=0.3, frequency=0.5), 4)
    0.1765
    """
    return pi * (1 - frequency) / (1 - pi * frequency)


def density_ratio(tau: Any, n_labeled: float, n_unlabeled: float) -> Any:
    """Density of labeled over unlabeled rows, where a pooled classifier says P(s=1 | x) = tau."""
    return (n_unlabeled / n_labeled) * tau / (1 - tau)


def posterior(
    tau: Any, n_labeled: float, n_unlabeled: float, *, alpha: float, beta: float = 1.0
) -> Any:
    """P(y=1 | x) for an unlabeled row, from a pooled classifier's P(s=1 | x) = tau.

    Examples
    --------
    >>> posterior(0.5, n_labeled=100, n_unlabeled=200, alpha=0.4)
    0.8
    """
    check_alpha_beta(alpha, beta, "posterior")
    ratio = density_ratio(tau, n_labeled, n_unlabeled)
    share = alpha * (1 - alpha) / (beta - alpha) * (ratio - (1 - beta) / (1 - alpha))
    clipped = np.clip(share, 0.0, 1.0)
    return clipped if np.ndim(tau) else float(clipped)


def unmixed_shares(kappa_1: Any, kappa_2: Any) -> tuple[Any, Any]:
    """Alpha and beta from how much of each sample the other could explain.

    ``kappa_1`` is the largest share of the unlabeled rows that may be distributed as the labeled
    ones, ``kappa_2`` the same with the roles exchanged (Jain, White and Radivojac 2016).

    Examples
    --------
    >>> alpha, beta = 0.3, 0.8
    >>> shares = unmixed_shares(alpha / beta, (1 - beta) / (1 - alpha))
    >>> [round(share, 6) for share in shares]
    [0.3, 0.8]
    """
    rest = 1 - np.asarray(kappa_1, float) * kappa_2
    if np.any(rest <= 0):
        raise InvalidInputError(
            "unmixed_shares needs labeled and unlabeled rows that differ. Got kappa_1 = kappa_2 = "
            "1: each sample could be all of the other, so that alpha and beta can be anything. "
            "Use scores that tell the two apart."
        )
    alpha, beta = kappa_1 * (1 - kappa_2) / rest, (1 - kappa_2) / rest
    return (alpha, beta) if np.ndim(rest) else (float(alpha), float(beta))
