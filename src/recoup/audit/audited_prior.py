"""Alpha by an audit, combined with what labels say of it, in the form of a prior estimate."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, Scheme, as_numbers, check_same_length, label_masks
from recoup._core.notes import Note
from recoup.audit.answers import Audit
from recoup.audit.checked import CheckedRows, right_share
from recoup.audit.estimating import audited, drawn_cases
from recoup.audit.placing import checked_by_models
from recoup.audit.population import JudgedRows
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.metrics.intervals import normal_quantile
from recoup.priors.base import plausible
from recoup.priors.results import PriorEstimate
from recoup.scores.table import DEFAULT_BINS, ScoreTable

ONE = "the scores"


def audited_prior(
    audit: Audit,
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None,
    labels_alone: PriorEstimate | None,
    beta: float,
    confidence: float,
    seed: int,
    caller: str,
) -> PriorEstimate:
    """Estimate alpha from checked rows, and from labels as far as these agree.

    Parameters
    ----------
    audit : Audit
        The checked rows.
    s : array-like of shape (n,) or ScoreTable
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,) or None
        Higher is more positive.
    labels_alone : PriorEstimate or None
        What the labels alone say.
    beta : float
        Share of right labels, if none of them was checked.
    confidence : float
        Level of the interval.
    seed : int
        Seed of the interval.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    PriorEstimate
    """
    started = perf_counter()
    table, population, checked = placed(audit, s, scores, "single-sample", caller)
    from_labels = {}
    if labels_alone is not None:
        low, high = labels_alone.interval or (labels_alone.alpha, labels_alone.alpha)
        half = (high - low) / (2 * normal_quantile(confidence))
        from_labels["alpha"] = labels_alone.alpha, half
    rough = labels_alone.alpha if labels_alone is not None else share_found(checked)
    found = audited(
        table,
        rough,
        checked,
        threshold=population.threshold,
        scheme=population.scheme,
        beta=beta,
        confidence=confidence,
        from_labels=from_labels,
        seed=seed,
    )
    share = right_share(checked, beta)
    pairs = np.concatenate(
        [
            np.column_stack([case.hidden.sum(axis=1) / table.n_unlabeled, case.share])
            for case in drawn_cases(population, checked, beta, seed)
        ]
    )
    members = {"audited": found.alpha.audited}
    if labels_alone is not None:
        members[f"{labels_alone.method}, from labels alone"] = labels_alone.alpha
    warnings: list[Note] = list(found.notes)
    return PriorEstimate(
        alpha=float(np.clip(found.alpha.combined, 0.0, max(share - 0.005, 0.0))),
        beta=share,
        interval=(found.alpha.lower, found.alpha.upper),
        draws=None if checked.certain else plausible(pairs, both=bool(len(checked.labeled))),
        method="audit",
        warnings=tuple(warnings),
        members=members,
        n_labeled=int(table.n_labeled),
        n_unlabeled=int(table.n_unlabeled),
        auc_pu=auc_pu(table),
        # Not "given scores": at other ways of labeling, alpha stays what the answers say.
        transform=f"{found.n_checked:,} checked rows",
        interval_method="bounds" if checked.certain else "audit",
        confidence=float(confidence),
        seconds=perf_counter() - started,
    )


def placed(
    audit: Audit, s: ArrayLike | ScoreTable, scores: ArrayLike | None, scheme: Scheme, caller: str
) -> tuple[ScoreTable, JudgedRows, CheckedRows]:
    """Count rows, and find the checked ones among them; no threshold parts the scores.

    Parameters
    ----------
    audit : Audit
        The checked rows.
    s : array-like of shape (n,) or ScoreTable
        Labels, or rows that are counted already.
    scores : array-like of shape (n,) or None
        Higher is more positive.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    table : ScoreTable
    population : JudgedRows
    checked : CheckedRows
    """
    if isinstance(s, ScoreTable):
        table = s.whole(caller).thin(DEFAULT_BINS)
        population = _without_threshold(audit, table, scheme)
        _check_counts(audit, table, caller)
        return table, population, audit.checked(None, None, population, caller)
    labels, values = rows_as_numbers(s, scores, caller)
    table = ScoreTable._count(labels, values, None, None, (), caller).thin(DEFAULT_BINS)
    population = _without_threshold(audit, table, scheme)
    checked, _ = checked_by_models(
        audit, labels, {ONE: values}, {ONE: population}, best=ONE, caller=caller
    )
    return table, population, checked[ONE]


def rows_as_numbers(
    s: ArrayLike, scores: ArrayLike | None, caller: str
) -> tuple[NDArray[np.int64], FloatArray]:
    """Read labels as 1, 0 and -1, and scores as numbers.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,) or None
        Higher is more positive.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    s : ndarray of shape (n,)
    scores : ndarray of shape (n,)
    """
    if scores is None:
        raise InvalidInputError(
            f"{caller} needs scores beside the labels to look up checked rows in. Got s alone. "
            f"Pass both as arrays."
        )
    labeled, _, negative = label_masks(s, caller)
    values = as_numbers(scores, "scores", caller)
    check_same_length(values, labeled, "scores and s", caller)
    return labeled.astype(np.int64) - (0 if negative is None else negative), values


def share_found(checked: CheckedRows) -> float:
    """Return the share of positives among the answers, each counted for what it stands for."""
    known = checked.answered
    weights: Any = 1 / known.probability
    if not len(known.truth):
        return 0.5
    return float(np.dot(weights, known.truth) / weights.sum())


def _without_threshold(audit: Audit, table: ScoreTable, scheme: Scheme) -> JudgedRows:
    """Take the plan's threshold, so that answers are grouped as an evaluation groups them."""
    at = audit.threshold
    top = float(np.nextafter(table.scores[-1], np.inf))
    return JudgedRows.of(table, scheme, top if at is None else at)


def _check_counts(audit: Audit, table: ScoreTable, caller: str) -> None:
    if audit.plan is None:
        return
    mine, planned = (
        (int(one.n_labeled), int(one.n_unlabeled)) for one in (table, audit.plan.basis.table)
    )
    if mine != planned:
        raise InvalidInputError(
            f"{caller} needs the rows that the audit was planned for. Got {mine[0]:,} labeled and "
            f"{mine[1]:,} unlabeled rows; the plan has {planned[0]:,} and {planned[1]:,}."
        )
