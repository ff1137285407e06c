"""Chances at each score with limits, from counted rows, what is known of alpha, and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup._core.prior import Prior
from recoup.calibration.answered_line import answered_line
from recoup.calibration.curve import LabelCounts, LogitCurve, fitted_curve
from recoup.calibration.label_odds import LabelOdds
from recoup.metrics.intervals import tails
from recoup.scores.table import ScoreTable

# Scores that a calibration remembers, and values of alpha that stand for its distribution.
N_KNOTS = 256
N_ALPHAS = 9
# Limits so near to 0 and 1 are no more than that.
NOTHING = 1e-9
# Answers that the prior is worth by which labels are right about chances: a few, or very many.
PRIOR_WEIGHTS = (4.0, 40.0, 400.0)


@dataclass(frozen=True, eq=False)
class ChanceBand:
    """Chances and their limits, rising.

    Parameters
    ----------
    center : ndarray of shape (n_scores,)
        The chances.
    lower : ndarray of shape (n_scores,)
        Lower pointwise limits.
    upper : ndarray of shape (n_scores,)
        Upper pointwise limits.
    """

    center: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class Answers:
    """What people said of unlabeled rows.

    Parameters
    ----------
    scores : ndarray of shape (n_checked,)
        Scores of the rows.
    truth : ndarray of shape (n_checked,)
        1 or 0.
    weights : ndarray of shape (n_checked,)
        How many rows each stands for.
    """

    scores: FloatArray
    truth: FloatArray
    weights: FloatArray


def chance_bands(
    table: ScoreTable, prior: Prior, scheme: Scheme, confidence: float, answers: Answers | None
) -> tuple[ScoreTable, ChanceBand, ChanceBand]:
    """Return the scores of knots as a table, chances of any row, and of one without a label.

    Parameters
    ----------
    table : ScoreTable
        The counted rows; known negatives are folded in or left out.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether the population is all rows, or the unlabeled rows alone.
    confidence : float
        Level of the limits.
    answers : Answers or None
        Checked rows; they then say how sure the level is, in place of alpha's uncertainty.

    Returns
    -------
    table : ScoreTable
        Thinned.
    population, unlabeled : ChanceBand
    """
    table = table.thin(N_KNOTS)
    counts = _counts(table)
    center, shift = _curve(table, counts, prior.alpha, prior.beta, scheme)
    groups = [[(center, shift)]]
    if answers is not None:
        center = _answered(center, table, answers)
        groups = [[(center, shift)]]
    elif prior.alpha_draws is not None:
        groups = [[_curve(table, counts, *pair, scheme) for pair in _some_pairs(prior)]]
    elif prior.interval is not None:
        groups = [
            [_curve(table, counts, alpha, prior.beta, scheme)] for alpha in set(prior.corners())
        ]
    bands = [
        _band(
            _not_too_sure(center.center, moved, counts),
            [
                [replace(one, center=one.center + (by if moved else 0.0)) for one, by in group]
                for group in groups
            ],
            confidence,
        )
        for moved in (shift, 0.0)
    ]
    return table, bands[0], bands[1]


def chance_knots(table: ScoreTable, alpha: float, scheme: Scheme) -> tuple[FloatArray, FloatArray]:
    """Return scores and the chances there that a row of the population is positive; no limits.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, no known negatives among them.
    alpha : float
        Share of positives among the unlabeled rows.
    scheme : {"single-sample", "case-control"}
        Whether the population is all rows, or the unlabeled rows alone.

    Returns
    -------
    scores, chances : ndarray of shape (n_knots,)
        Both rise.
    """
    from scipy.special import expit

    table = table.thin(N_KNOTS)
    counts = _counts(table)
    curve, shift = _curve(table, counts, alpha, 1.0, scheme)
    return table.centers, expit(_not_too_sure(curve.center, shift, counts))


def _not_too_sure(logits: FloatArray, shift: float, counts: LabelCounts) -> FloatArray:
    """Shift logits to those of the population; none is surer than half a row among all."""
    surest = float(np.log(2 * counts.rows.sum()))
    # Where alpha is next to nothing, so are the chances of unlabeled rows.
    return np.clip(logits + shift, -surest if shift else None, surest)


def _counts(table: ScoreTable) -> LabelCounts:
    """Scale weighted rows to as many as say the same."""
    sizes = table.effective_sizes
    labeled, unlabeled = (
        np.asarray(column, float) * (size / column.sum())
        for column, size in zip((table.labeled, table.unlabeled), sizes, strict=True)
    )
    return LabelCounts(labeled, unlabeled)


def _curve(
    table: ScoreTable, counts: LabelCounts, alpha: float, beta: float, scheme: Scheme
) -> tuple[LogitCurve, float]:
    """Return the logits of unlabeled rows, and what to add for any row."""
    # The likelihood is that of rows of equal weight; the population is that of the rows themselves.
    seen = LabelOdds.of(alpha, beta, counts.labeled.sum(), counts.unlabeled.sum())
    whole = LabelOdds.of(alpha, beta, table.n_labeled, table.n_unlabeled)
    return fitted_curve(counts, alpha, seen), whole.shift(scheme)


def _answered(curve: LogitCurve, table: ScoreTable, answers: Answers) -> LogitCurve:
    """Move logits along lines that answers say, from hardly any move to a free one.

    Each line counts by how well it explains the answers: where these agree with the labels, the
    chances stay what the labels say, which is surer than a few answers.
    """
    at = np.interp(answers.scores, table.centers, curve.center)
    lines = [answered_line(at, answers.truth, answers.weights, one) for one in PRIOR_WEIGHTS]
    logits = np.array([line.at(curve.center) for line in lines])
    variances = np.array(
        [line.error(curve.center) ** 2 + (line.slope * curve.error) ** 2 for line in lines]
    )
    evidence = np.array([line.evidence for line in lines])
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    center = weight @ logits
    return LogitCurve(center, np.sqrt(weight @ (variances + (logits - center) ** 2)))


def _some_pairs(prior: Prior) -> list[tuple[float, float]]:
    """Take pairs of alpha and beta that stand for equal parts of all draws."""
    assert prior.alpha_draws is not None
    order = np.argsort(prior.alpha_draws, kind="stable")
    chosen = order[((np.arange(N_ALPHAS) + 0.5) / N_ALPHAS * len(order)).astype(int)]
    alphas = prior.alpha_draws[chosen]
    betas = np.full(len(chosen), prior.beta)
    if prior.beta_draws is not None:
        betas = prior.beta_draws[chosen]
    return list(zip(alphas.tolist(), betas.tolist(), strict=True))


def _band(center: FloatArray, groups: list[list[LogitCurve]], confidence: float) -> ChanceBand:
    """Set limits around logits: of a mixture in each group, the widest of all groups."""
    from scipy.special import expit

    low_tail, high_tail = tails(confidence)
    low = np.min([_mixture_quantile(group, low_tail) for group in groups], axis=0)
    high = np.max([_mixture_quantile(group, high_tail) for group in groups], axis=0)
    # The truth rises: it is no lower than any limit to the left, no higher than any to the right.
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    low, high = np.minimum(low, center), np.maximum(high, center)
    lower, upper = expit(low), expit(high)
    lower[lower < NOTHING], upper[1 - upper < NOTHING] = 0.0, 1.0
    return ChanceBand(expit(center), lower, upper)


def _mixture_quantile(curves: list[LogitCurve], share: float) -> FloatArray:
    """Return what a share of a mixture of normal distributions lies below, at each score."""
    from scipy.special import ndtr, ndtri

    ends = np.array([curve.center + ndtri(share) * curve.error for curve in curves])
    low, high = ends.min(axis=0), ends.max(axis=0)
    for _ in range(50 if len(curves) > 1 else 0):
        middle = (low + high) / 2
        below = np.mean([ndtr((middle - one.center) / one.error) for one in curves], axis=0)
        low, high = np.where(below < share, middle, low), np.where(below < share, high, middle)
    return np.asarray((low + high) / 2)
