"""How likely an unlabeled row is positive, as far as labels and answers tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup.calibration.answered_line import answered_line
from recoup.scores.table import ScoreTable

LEAST = 1e-4


def posterior(table: ScoreTable, alpha: float) -> FloatArray:
    r"""Return the chance that an unlabeled row at each score is positive.

    .. math:: p = \alpha \frac{n_U}{n_L} \frac{r}{1 - r}

    with r the share of labeled rows at the score, made to rise with it. It is right where labels
    are a random sample of the positives. Estimates hold for any p; a good one makes them sharper.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    alpha : float
        Share of positives among the unlabeled rows.

    Returns
    -------
    ndarray of shape (n_scores,)
        In [0, 1], rising.

    Examples
    --------
    >>> table = ScoreTable.from_arrays([0, 0, 1, 0, 1, 0], [0.1, 0.2, 0.3, 0.3, 0.4, 0.4])
    >>> posterior(table, alpha=0.25)
    array([0. , 0. , 0.5, 0.5])
    """
    labeled, unlabeled = table.labeled.astype(float), table.unlabeled.astype(float)
    return chance_of(labeled, unlabeled, alpha * table.n_unlabeled / table.n_labeled)


def chance_of(labeled: FloatArray, unlabeled: FloatArray, ratio: float) -> FloatArray:
    """Return the chance that an unlabeled row at each score is positive, from counts.

    Parameters
    ----------
    labeled : ndarray of shape (n_scores,)
        Labeled rows at each score.
    unlabeled : ndarray of shape (n_scores,)
        Unlabeled rows at each score.
    ratio : float
        Hidden positives for each labeled row.

    Returns
    -------
    ndarray of shape (n_scores,)
        In [0, 1], rising.
    """
    from scipy.optimize import isotonic_regression

    rows = labeled + unlabeled
    share = np.divide(labeled, rows, out=np.zeros_like(rows), where=rows > 0)
    rising = isotonic_regression(share, weights=np.maximum(rows, 1e-9)).x
    odds = np.divide(rising, 1 - rising, out=np.full_like(rising, np.inf), where=rising < 1)
    chance: FloatArray = np.minimum(ratio * odds, 1.0)
    return np.where(np.isnan(chance), 0.0, chance)


def refitted(p: FloatArray, at: FloatArray, truth: FloatArray, weights: FloatArray) -> FloatArray:
    r"""Correct chances by what answers say: :math:`logistic(a + b\,logit\,p)`.

    Parameters
    ----------
    p : ndarray of shape (n_scores,)
        Chances before.
    at : ndarray of shape (n_checked,)
        Chances before of the rows that were checked.
    truth : ndarray of shape (n_checked,)
        Their answers, 1 or 0.
    weights : ndarray of shape (n_checked,)
        How many rows each stands for.

    Returns
    -------
    ndarray of shape (n_scores,)
        The chances themselves where there are no answers.
    """
    from scipy.special import expit, logit

    if not len(truth):
        return p
    line = answered_line(logit(np.clip(at, LEAST, 1 - LEAST)), truth, weights)
    found: FloatArray = expit(line.at(logit(np.clip(p, LEAST, 1 - LEAST))))
    return found


def tilted(p: FloatArray, rows: FloatArray, odds: float) -> FloatArray:
    """Return chances for labels whose odds changed along the scores by so many times.

    Parameters
    ----------
    p : ndarray of shape (n_scores,)
        Chances if labels are a random sample of the positives.
    rows : ndarray of shape (n_scores,)
        Unlabeled rows at each score.
    odds : float
        Odds of a label of the highest-scoring positive over those of the lowest.

    Returns
    -------
    ndarray of shape (n_scores,)
        In [0, 1].
    """
    mass: FloatArray = p * rows
    total = mass.sum()
    if total <= 0:
        return p
    rank: Any = (np.cumsum(mass) - mass / 2) / total
    factor = odds ** (0.5 - rank)
    found: FloatArray = np.clip(p * factor, 0.0, 1.0)
    return found
