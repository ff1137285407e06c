"""From one prior to another: which share of which rows, and under which design."""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup._core.checks import check_alpha_beta
from recoup.exceptions import InvalidInputError


def pooled_prior(alpha: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0) -> Any:
    """Share of positives among labeled and unlabeled rows together.

    Parameters
    ----------
    alpha : float or ndarray
        Share of positives among the unlabeled rows.
    n_labeled : float
        Number of labeled rows.
    n_unlabeled : float
        Number of unlabeled rows.
    beta : float or ndarray, default=1.0
        Share of true positives among the labeled rows.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> pooled_prior(0.2, n_labeled=100, n_unlabeled=900)
    0.28
    """
    return (alpha * n_unlabeled + beta * n_labeled) / (n_labeled + n_unlabeled)


def alpha_from_pooled(pooled: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0) -> Any:
    """Share of positives among the unlabeled rows, from that among all rows.

    Parameters
    ----------
    pooled : float or ndarray
        Share of positives among all rows.
    n_labeled : float
        Number of labeled rows.
    n_unlabeled : float
        Number of unlabeled rows.
    beta : float or ndarray, default=1.0
        Share of true positives among the labeled rows.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> alpha_from_pooled(0.28, n_labeled=100, n_unlabeled=900)
    0.2
    """
    return (pooled * (n_labeled + n_unlabeled) - beta * n_labeled) / n_unlabeled


def label_frequency(alpha: Any, n_labeled: float, n_unlabeled: float, beta: Any = 1.0) -> Any:
    """Share of the positives that are labeled, P(s=1 | y=1), in the pooled sample.

    Parameters
    ----------
    alpha : float or ndarray
        Share of positives among the unlabeled rows.
    n_labeled : float
        Number of labeled rows.
    n_unlabeled : float
        Number of unlabeled rows.
    beta : float or ndarray, default=1.0
        Share of true positives among the labeled rows.

    Returns
    -------
    float or ndarray

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

    Parameters
    ----------
    frequency : float or ndarray
        Share of the positives that are labeled.
    n_labeled : float
        Number of labeled rows.
    n_unlabeled : float
        Number of unlabeled rows.
    beta : float or ndarray, default=1.0
        Share of true positives among the labeled rows.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> round(alpha_from_label_frequency(0.5, n_labeled=100, n_unlabeled=900), 4)
    0.1111
    """
    return beta * n_labeled / n_unlabeled * (1 - frequency) / frequency


def alpha_from_population(pi: Any, frequency: Any) -> Any:
    """Alpha of a single sample in which a share ``frequency`` of the positives got labeled.

    In the case-control design the unlabeled rows are the population, and alpha is pi itself.

    Parameters
    ----------
    pi : float or ndarray
        Share of positives in the population.
    frequency : float or ndarray
        Share of the positives that are labeled.

    Returns
    -------
    float or ndarray

    Examples
    --------
    >>> round(alpha_from_population(pi=0.3, frequency=0.5), 4)
    0.1765
    """
    return pi * (1 - frequency) / (1 - pi * frequency)


def density_ratio(tau: Any, n_labeled: float, n_unlabeled: float) -> Any:
    """Density of labeled over unlabeled rows, where a pooled classifier says P(s=1 | x) = tau.

    Parameters
    ----------
    tau : float or ndarray
        Calibrated P(s=1 | x) of a classifier of all rows; below 1.
    n_labeled : float
        Number of labeled rows.
    n_unlabeled : float
        Number of unlabeled rows.

    Returns
    -------
    float or ndarray
    """
    return (n_unlabeled / n_labeled) * tau / (1 - tau)


def posterior(
    tau: Any, n_labeled: float, n_unlabeled: float, *, alpha: float, beta: float = 1.0
) -> Any:
    """P(y=1 | x) for an unlabeled row, from a pooled classifier's P(s=1 | x) = tau.

    Parameters
    ----------
    tau : float or ndarray
        Calibrated P(s=1 | x) of a classifier of all rows.
    n_labeled : float
        Number of labeled rows.
    n_unlabeled : float
        Number of unlabeled rows.
    alpha : float
        Share of positives among the unlabeled rows.
    beta : float, default=1.0
        Share of true positives among the labeled rows.

    Returns
    -------
    float or ndarray
        Clipped to [0, 1].

    Examples
    --------
    >>> posterior(0.5, n_labeled=100, n_unlabeled=200, alpha=0.4)
    0.8
    """
    check_alpha_beta(alpha, beta, "posterior")
    ratio = density_ratio(tau, n_labeled, n_unlabeled)
    # Bayes' rule for h1 / f, with h1 from g = beta h1 + (1 - beta) h0 and f likewise with alpha.
    share = alpha * (1 - alpha) / (beta - alpha) * (ratio - (1 - beta) / (1 - alpha))
    clipped = np.clip(share, 0.0, 1.0)
    return clipped if np.ndim(tau) else float(clipped)


def unmixed_shares(kappa_1: Any, kappa_2: Any) -> tuple[Any, Any]:
    """Alpha and beta from how much of each sample the other could explain.

    Parameters
    ----------
    kappa_1 : float or ndarray
        Largest share of the unlabeled rows that may be distributed as the labeled ones.
    kappa_2 : float or ndarray
        Largest share of the labeled rows that may be distributed as the unlabeled ones.

    Returns
    -------
    alpha, beta : float or ndarray

    Raises
    ------
    InvalidInputError
        If both are 1.

    References
    ----------
    Jain, White and Radivojac (2016), Estimating the class prior and posterior from noisy
    positives and unlabeled data.

    Examples
    --------
    >>> alpha, beta = 0.3, 0.8
    >>> shares = unmixed_shares(alpha / beta, (1 - beta) / (1 - alpha))
    >>> [round(share, 6) for share in shares]
    [0.3, 0.8]
    """
    # Inverts kappa_1 = alpha / beta and kappa_2 = (1 - beta) / (1 - alpha).
    rest = 1 - np.asarray(kappa_1, float) * kappa_2
    if np.any(rest <= 0):
        raise InvalidInputError(
            "unmixed_shares needs labeled and unlabeled rows that differ. Got kappa_1 = kappa_2 = "
            "1: each sample could be all of the other, so that alpha and beta can be anything. "
            "Use scores that tell the two apart."
        )
    alpha, beta = kappa_1 * (1 - kappa_2) / rest, (1 - kappa_2) / rest
    return (alpha, beta) if np.ndim(rest) else (float(alpha), float(beta))
