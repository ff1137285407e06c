"""Observed rates, and the 2x2 mixture unmixed in one place.

Labeled rows follow ``beta*h1 + (1-beta)*h0`` and unlabeled rows ``alpha*h1 + (1-alpha)*h0``,
where h1 and h0 are the positives and the negatives. Inverting that turns two observed averages
into two true ones (Jain et al. 2017, Theorem 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import (
    FloatArray,
    Scheme,
    as_numbers,
    brief,
    check_alpha_beta,
    check_same_length,
    check_scheme,
    label_masks,
)
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable


def unmix(on_labeled: Any, on_unlabeled: Any, alpha: Any, beta: Any) -> tuple[Any, Any]:
    """Turn averages over labeled and unlabeled rows into averages over the two classes."""
    # Theorem 1 of Jain et al. 2017. Errors of the averages grow by 1 / (beta - alpha).
    gap = beta - alpha
    positives = ((1 - alpha) * on_labeled - (1 - beta) * on_unlabeled) / gap
    negatives = (beta * on_unlabeled - alpha * on_labeled) / gap
    return positives, negatives


def true_rates(tpr_pu: Any, fpr_pu: Any, *, alpha: Any, beta: Any = 1.0) -> tuple[Any, Any]:
    r"""Recover the true and false positive rate from the observed ones.

    .. math::
        \gamma = \frac{(1-\alpha)\gamma^{pu} - (1-\beta)\eta^{pu}}{\beta-\alpha}, \quad
        \eta = \frac{\beta\eta^{pu} - \alpha\gamma^{pu}}{\beta-\alpha}

    Parameters
    ----------
    tpr_pu : float or ndarray
        Share of the labeled rows that are predicted positive.
    fpr_pu : float or ndarray
        Share of the unlabeled rows that are predicted positive.
    alpha : float or ndarray
        Share of positives among the unlabeled rows.
    beta : float or ndarray, default=1.0
        Share of true positives among the labeled rows; 1.0 if every label is right.

    Returns
    -------
    tpr, fpr : float or ndarray
        Not clipped: sampling noise or a wrong alpha can push them out of [0, 1].

    References
    ----------
    Jain, White, Radivojac (2017), Recovering true classifier performance in positive-unlabeled
    learning, Theorem 1.

    Examples
    --------
    >>> true_rates(0.606442, 0.272580, alpha=0.25, beta=0.75)
    (0.773373, 0.105649)
    """
    check_alpha_beta(alpha, beta, "true_rates")
    return unmix(tpr_pu, fpr_pu, alpha, beta)


def observed_rates(
    s: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> tuple[float, float]:
    """Share of labeled and of unlabeled rows that are predicted positive.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled, 0 unlabeled; rows with -1 are left out.
    y_pred : array-like of shape (n,)
        Predictions, 0 or 1.
    sample_weight : array-like of shape (n,), optional
        Row weights.

    Returns
    -------
    tpr_pu : float
        Share of the labeled rows that are predicted positive.
    fpr_pu : float
        Share of the unlabeled rows that are predicted positive.

    Examples
    --------
    >>> observed_rates([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0, 0])
    (0.75, 0.25)
    """
    table = _binary_table(s, y_pred, sample_weight, "observed_rates")
    at_one = table.scores == 1
    return (
        float(table.labeled[at_one].sum() / table.n_labeled),
        float(table.unlabeled[at_one].sum() / table.n_unlabeled),
    )


@dataclass(frozen=True)
class Mixture:
    """The shares of positives in the two samples and in the population that is judged.

    Fields may be arrays of draws; everything then works draw by draw.

    Parameters
    ----------
    alpha : float or ndarray
        Share of positives among all rows that the table counts as unlabeled. Known negatives that
        were folded in are among them.
    beta : float or ndarray
        Share of true positives among the labeled rows.
    pi : float or ndarray
        Share of positives in the population that is judged.
    scheme : {"single-sample", "case-control"}
        Whether that population is all rows, or the unlabeled rows alone.
    """

    alpha: Any
    beta: Any
    pi: Any
    scheme: Scheme

    @classmethod
    def of(
        cls,
        table: ScoreTable,
        alpha: Any,
        beta: Any,
        scheme: Scheme,
        *,
        labeled_fraction: Any = None,
        known_share: Any = None,
    ) -> Mixture:
        """Work out the shares for a table, from alpha among the rows that are really unlabeled.

        The share of labeled rows, and that of known negatives among the others, are the table's
        own unless they are given.
        """
        # The known negatives among the rows counted as unlabeled hold no positives.
        if known_share is None:
            known_share = table.n_known / table.n_unlabeled
        alpha = alpha * (1 - known_share)
        if scheme == "case-control":
            # A copy, so that pi and alpha are never the same array.
            return cls(alpha, beta, alpha + 0.0, scheme)
        if labeled_fraction is not None:
            pi = labeled_fraction * beta + (1 - labeled_fraction) * alpha
            return cls(alpha, beta, pi, scheme)
        positives = table.n_labeled * beta + table.n_unlabeled * alpha
        return cls(alpha, beta, positives / table.n_rows, scheme)

    @classmethod
    def by_propensity(cls, pi: Any) -> Mixture:
        """Shares for a table of :func:`propensity_table`: its unlabeled rows are all rows."""
        return cls(pi, 1.0, pi + 0.0, "case-control")

    def true_rates(self, tpr_pu: Any, fpr_pu: Any) -> tuple[Any, Any]:
        """Unmix, for input that was checked already."""
        return unmix(tpr_pu, fpr_pu, self.alpha, self.beta)

    def by_row(self) -> Mixture:
        """Turn draws into a column, to meet arrays with one row per draw."""
        column = [np.reshape(part, (-1, 1)) for part in (self.alpha, self.beta, self.pi)]
        return Mixture(column[0], column[1], column[2], self.scheme)

    def by_draw(self) -> Mixture:
        """Turn a column of draws back, to meet arrays with one number per draw."""
        return Mixture(np.ravel(self.alpha), np.ravel(self.beta), np.ravel(self.pi), self.scheme)

    def rows(self, table: ScoreTable) -> FloatArray:
        """Rows of the judged population at each score, ascending."""
        if self.scheme == "case-control":
            return table.unlabeled.astype(float)
        rows: FloatArray = table.labeled + table.unlabeled.astype(float)
        return rows


def prepare(
    s: ArrayLike,
    values: ArrayLike,
    *,
    caller: str,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
    binary: bool = False,
) -> tuple[ScoreTable, Mixture]:
    """Check the arguments every metric shares and count the rows."""
    check_scheme(scheme, caller)
    if propensity is not None:
        check_propensity_alone(alpha, beta, scheme, caller)
        table, alpha = propensity_table(s, values, propensity, sample_weight, caller)
        return table, Mixture.of(table, alpha, 1.0, "case-control")
    if alpha is None:
        raise InvalidInputError(
            f"{caller} needs alpha, the share of positives among the unlabeled rows (or "
            f"propensity, for labels that are not a random sample). Pass alpha=0.0 to take every "
            f"unlabeled row as negative."
        )
    if np.ndim(alpha) or np.ndim(beta):
        raise InvalidInputError(
            f"{caller} needs one number for alpha and one for beta. Got {brief(alpha)} and "
            f"{brief(beta)}. Intervals and draws are for recoup.evaluate."
        )
    check_alpha_beta(alpha, beta, caller)
    if binary:
        table = _binary_table(s, values, sample_weight, caller)
    else:
        table = ScoreTable._count(s, values, sample_weight, None, (), caller)
    table = table.with_negatives_folded_in(scheme)
    return table, Mixture.of(table, float(alpha), float(beta), scheme)


def check_propensity_alone(alpha: Any, beta: Any, scheme: Scheme, caller: str) -> None:
    """Refuse what propensities already say."""
    if alpha is not None:
        raise InvalidInputError(
            f"{caller} takes alpha or propensity, not both: propensities already say how many "
            f"positives are hidden. Got alpha={brief(alpha)} as well. Drop one."
        )
    if np.ndim(beta) or beta != 1 or scheme != "single-sample":
        raise InvalidInputError(
            f"{caller} with propensity is for clean labels in a single sample. Got "
            f"beta={brief(beta)}, scheme={scheme!r}. Leave both at their defaults."
        )


def propensity_rows(
    s: ArrayLike,
    scores: ArrayLike | None,
    propensity: ArrayLike | None,
    sample_weight: ArrayLike | None,
    caller: str = "evaluate",
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Check selection-biased rows and split them.

    Returns
    -------
    labeled : scores, row weights, and the number of positives each labeled row stands for
    others : scores and row weights of the other rows
    """
    e = as_numbers(propensity, "propensity", caller)
    values = as_numbers(scores, "scores", caller)
    labeled, _, negative = label_masks(s, caller)
    check_same_length(values, e, "scores and propensity", caller)
    check_same_length(values, labeled, "scores and s", caller)
    bad = ~((e[labeled] > 0) & (e[labeled] <= 1))
    if bad.any():
        raise InvalidInputError(
            f"{caller} needs propensity in (0, 1] for every labeled row: it is the chance that a "
            f"positive row gets its label. Got {brief(float(e[labeled][bad][0]))}."
        )
    if negative is not None:
        raise InvalidInputError(
            f"{caller} cannot use known negatives together with propensity. Got "
            f"{int(negative.sum()):,} rows with label -1. Drop them or recode them as 0."
        )
    weights = (
        np.ones(len(values))
        if sample_weight is None
        else as_numbers(sample_weight, "sample_weight", caller)
    )
    check_same_length(values, weights, "scores and sample_weight", caller)
    return (
        (values[labeled], weights[labeled], weights[labeled] / e[labeled]),
        (values[~labeled], weights[~labeled]),
    )


def propensity_table(
    s: ArrayLike,
    scores: ArrayLike,
    propensity: ArrayLike,
    sample_weight: ArrayLike | None,
    caller: str,
) -> tuple[ScoreTable, float]:
    """Count selection-biased rows so that the unmixing of random labels applies to them.

    A labeled row with propensity e stands for 1/e positives, so the labeled rows weighted by 1/e
    follow h1 and all rows together follow the population, whose share of positives is the mean
    of s/e. That is the case-control scheme with every row counted as unlabeled.
    """
    # Labeled rows appear twice in the table: weighted by 1/e as positives, and once as rows.
    labeled, others = propensity_rows(s, scores, propensity, sample_weight, caller)
    values, weights, positives = labeled
    total = weights.sum() + others[1].sum()
    alpha = float(positives.sum() / total)
    if not alpha < 1:
        raise InvalidInputError(
            f"{caller}: the propensities imply {positives.sum():,.1f} positives among "
            f"{total:,.1f} rows. They must be too small; estimate them again."
        )
    table = ScoreTable._count(
        np.repeat([1, 0, 0], [len(values), len(values), len(others[0])]),
        np.concatenate([values, values, others[0]]),
        np.concatenate([positives, weights, others[1]]),
        None,
        (),
        caller,
    )
    # Rows of weight zero may have left their score without a place; they add nothing anywhere.
    places = np.minimum(np.searchsorted(table.scores, values), len(table.scores) - 1)
    shared = np.bincount(places, weights * positives, minlength=len(table.scores)).astype(float)
    return replace(table, shared=shared), alpha


def _binary_table(
    s: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, caller: str
) -> ScoreTable:
    table = ScoreTable._count(s, y_pred, sample_weight, None, (), caller)
    if not np.isin(table.scores, (0, 1)).all():
        strange = table.scores[~np.isin(table.scores, (0, 1))][0]
        raise InvalidInputError(
            f"{caller} needs predictions that are 0 or 1. Got {strange:g}. "
            f"Pass (scores >= threshold).astype(int)."
        )
    return table
