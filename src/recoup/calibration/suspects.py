"""suspects: the unlabeled rows most likely to be hidden positives, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import (
    FloatArray,
    as_numbers,
    as_vector,
    brief,
    check_same_length,
    label_masks,
)
from recoup._core.constraints import WholeNumber
from recoup._core.random import RandomState
from recoup.calibration.calibrate import calibrate
from recoup.calibration.results import Calibration
from recoup.calibration.suspect_list import Suspects
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable

# Rows nearest to a score, of which the labeled ones are counted.
N_NEAR = 100


def suspects(
    s: ArrayLike,
    scores: ArrayLike,
    *,
    top: int = 200,
    alpha: Any = "estimate",
    beta: Any = None,
    ids: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    calibration: Calibration | None = None,
    audit: Any = None,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> Suspects:
    """List the unlabeled rows that are most likely positive, the likeliest first.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive; of rows that the model was not trained on.
    top : int, default=200
        How many rows; with groups, of each group.
    alpha : float, Interval, Draws, prior estimate or "estimate", default="estimate"
        Share of positives among the unlabeled rows, as for :func:`calibrate`.
    beta : float or draws, optional
        Share of true positives among the labeled rows. By default every label is taken as right.
    ids : array-like of shape (n,), optional
        What the rows are called. By default their positions.
    groups : array-like of shape (n,), optional
        Such as a country. The likeliest rows of each group are then listed. Chances are those of
        all rows with the score, whatever the group.
    calibration : Calibration, optional
        One made before, in place of alpha.
    audit : Audit, optional
        Rows that somebody checked. They refine the chances, and those with an answer are no
        longer listed.
    confidence : float, default=0.95
        Level of the limits.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the estimate of alpha.

    Returns
    -------
    Suspects

    Examples
    --------
    >>> import recoup
    >>> mails = recoup.load_example()
    >>> suspects(mails.s, mails.scores["score_boosting"], alpha=mails.alpha, top=1500)
    Suspects(1,500 of 4,080 unlabeled rows, chances 0.306 to 1.000, about 1200 are positive)
    """
    caller = "suspects"
    WholeNumber(least=1).check(top, "top", caller)
    values = as_numbers(scores, "scores", caller)
    labeled, unlabeled, _ = label_masks(s, caller)
    check_same_length(values, labeled, "scores and s", caller)
    named = _column(ids, "ids", len(values), caller)
    grouped = None if groups is None else _column(groups, "groups", len(values), caller)
    if calibration is None:
        given = {"alpha": alpha, "beta": beta, "audit": audit, "confidence": confidence}
        calibration = calibrate(s, values, random_state=random_state, **given)
    elif not isinstance(calibration, Calibration):
        raise InvalidInputError(
            f"{caller} needs calibration to be a Calibration. Got "
            f"{brief(type(calibration).__name__)}. Pass what recoup.calibrate returned, or "
            f"Calibration.read(path)."
        )
    elif audit is not None or not (isinstance(alpha, str) and alpha == "estimate"):
        raise InvalidInputError(
            f"{caller} takes alpha and audit where it calibrates itself. Got a calibration beside "
            f"them. Drop one."
        )
    open_rows = unlabeled.copy()
    if audit is not None:
        open_rows[audit.rows[~np.isnan(audit.truth)]] = False
    return listed_suspects(labeled, open_rows, values, calibration, int(top), named, grouped)


def listed_suspects(
    labeled: NDArray[np.bool_],
    open_rows: NDArray[np.bool_],
    scores: FloatArray,
    calibration: Calibration,
    top: int,
    ids: NDArray[Any] | None = None,
    groups: NDArray[Any] | None = None,
) -> Suspects:
    """List rows by their scores, once everything is checked.

    Parameters
    ----------
    labeled : ndarray of bool of shape (n,)
        Rows with a label.
    open_rows : ndarray of bool of shape (n,)
        Rows that may be listed: without a label, and without an answer.
    scores : ndarray of shape (n,)
        Higher is more positive.
    calibration : Calibration
        From scores to chances.
    top : int
        How many rows; with groups, of each group.
    ids : ndarray of shape (n,), optional
        What the rows are called.
    groups : ndarray of shape (n,), optional
        Group of each row.

    Returns
    -------
    Suspects
    """
    candidates = np.flatnonzero(open_rows)
    order = candidates[np.argsort(-scores[candidates], kind="stable")]
    place = np.arange(len(order)) if groups is None else _place_in_group(groups[order])
    order = order[place < top]
    at = scores[order]
    lower, upper = calibration.limits(at, among="unlabeled")
    n_near = min(N_NEAR, len(scores))
    above, near = _surroundings(labeled, scores, at, n_near)
    return Suspects(
        rows=order,
        ids=order if ids is None else ids[order],
        scores=at,
        probability=calibration.transform(at, among="unlabeled"),
        lower=lower,
        upper=upper,
        above=above,
        near_labeled=near,
        n_near=n_near,
        groups=None if groups is None else groups[order],
        n_unlabeled=len(candidates),
        calibration=calibration,
    )


def _column(values: Any, name: str, n: int, caller: str) -> NDArray[Any] | None:
    if values is None:
        return None
    column = as_vector(values, name, caller)
    if len(column) != n:
        raise InvalidInputError(
            f"{caller} needs one of {name} for each row. Got {len(column):,} for {n:,} rows."
        )
    return column


def _place_in_group(groups: NDArray[Any]) -> NDArray[np.intp]:
    """Return how many rows of the same group come before each."""
    # Names may be of several kinds, which do not sort.
    number = np.unique(np.array([str(one) for one in groups.tolist()]), return_inverse=True)[1]
    by_group = np.argsort(number, kind="stable")
    sorted_numbers = number[by_group]
    first = np.searchsorted(sorted_numbers, sorted_numbers)
    place = np.empty(len(groups), np.intp)
    place[by_group] = np.arange(len(groups)) - first
    return place


def _surroundings(
    labeled: NDArray[np.bool_], scores: FloatArray, at: FloatArray, n_near: int
) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the share of rows that score lower, and labeled ones among those nearest in rank.

    Of rows with equal scores, none is nearer than another: labeled ones count as spread evenly.
    """
    table = ScoreTable.from_arrays(labeled.astype(int), scores)
    rows = np.append(0.0, np.cumsum(table.labeled + table.unlabeled))
    marked = np.append(0.0, np.cumsum(table.labeled))
    place = np.searchsorted(table.scores, at)
    middle = (rows[place] + rows[place + 1]) / 2
    start = np.clip(middle - n_near / 2, 0.0, len(scores) - n_near)
    near = np.interp(start + n_near, rows, marked) - np.interp(start, rows, marked)
    return rows[place] / len(scores), np.round(near).astype(np.int64)
