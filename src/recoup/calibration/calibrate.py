"""calibrate: the chance that a row is positive, for any score."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import Scheme, brief, check_scheme
from recoup._core.notes import Note
from recoup._core.prior import Prior, estimation_method, prior_notes
from recoup._core.random import RandomState, as_seed
from recoup._core.text import show_digits
from recoup.calibration.bands import Answers, ChanceBand, chance_bands
from recoup.calibration.results import Calibration
from recoup.exceptions import InvalidInputError
from recoup.metrics.feasible import feasible_kappas
from recoup.scores.crossfit import CrossfitScores
from recoup.scores.table import DEFAULT_BINS, ScoreTable

FEW_LABELED = 30
# Level of the limit on alpha from which it is said that no such alpha can be.
FEASIBLE = 0.95


def calibrate(
    s: ArrayLike | ScoreTable | CrossfitScores,
    scores: ArrayLike | None = None,
    *,
    alpha: Any = "estimate",
    beta: Any = None,
    scheme: Scheme = "single-sample",
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
    audit: Any = None,
    random_state: RandomState = 0,
) -> Calibration:
    r"""Learn the chance that a row is positive from its score, without true negatives.

    With o(q) the labeled rows for each unlabeled one among which a share q is positive,

    .. math:: o(q) = \frac{n_l}{n_u} \frac{q}{\alpha}

    where labels are right and a random sample of the positives. The logit of q is a smooth rising
    curve of the rank of the score, as smooth as the labels allow, and the mean of q is alpha. In a
    single sample, a row that may carry a label is positive with chance
    :math:`q (1 + a) / (1 + a q)`, where :math:`a = n_l / (\alpha n_u)`.

    Parameters
    ----------
    s : array-like of shape (n,), ScoreTable or CrossfitScores
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,), optional
        Higher is more positive; of rows that the model was not trained on. They need not be
        probabilities. Left out when ``s`` is a table (``ScoreTable.from_file`` counts files), or
        what :func:`recoup.scores.crossfit` returned.
    alpha : float, Interval, Draws, prior estimate or "estimate", default="estimate"
        Share of positives among the unlabeled rows. Its uncertainty goes into the limits: a
        ``recoup.Interval(low, high)`` by the worst case over it, draws and estimates by their
        distribution.
    beta : float or draws, optional
        Share of true positives among the labeled rows. By default every label is taken as right.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether chances are those of all rows, or of the unlabeled rows alone.
    confidence : float, default=0.95
        Level of the pointwise limits.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    audit : Audit, optional
        Rows that somebody checked (:func:`recoup.audit.plan`). The logits are moved along the line
        that the answers say, each counted for the rows that it stands for, which mends chances
        where labels favor high or low scores.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the estimate of alpha.

    Returns
    -------
    Calibration
        With :meth:`~Calibration.transform` for scores never seen before.

    Examples
    --------
    >>> import recoup
    >>> mails = recoup.load_example()
    >>> found = calibrate(mails.s, mails.scores["score_boosting"], alpha=mails.alpha)
    >>> found.transform([0.05, 0.2, 0.6]).round(2)
    array([0.65, 0.96, 1.  ])
    """
    caller = "calibrate"
    check_scheme(scheme, caller)
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise InvalidInputError(
            f"{caller} needs confidence between 0 and 1. Got {brief(confidence)}."
        )
    if isinstance(s, CrossfitScores):
        s, scores = s.s, s.scores if scores is None else scores
    _check_audit(audit, sample_weight, caller)
    seed = as_seed(random_state, caller)
    known = None
    if estimation_method(alpha, 1.0 if beta is None else beta, caller) is None:
        known = Prior.of(alpha, 1.0 if beta is None else beta, caller, confidence)
    table = _counted(s, scores, sample_weight, caller)
    prior = known or _estimated(table, s, scores, alpha, beta, confidence, seed, audit, caller)
    answers = None
    if audit is not None:
        answers = Answers(*audit.weighted_answers(s, scores, caller=caller))
    return calibrate_counted(table, prior, scheme, confidence, answers)


def calibrate_counted(
    table: ScoreTable,
    prior: Prior,
    scheme: Scheme,
    confidence: float,
    answers: Answers | None = None,
) -> Calibration:
    """Calibrate counted rows with what is known of alpha.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives apart.
    prior : Prior
        Alpha among the rows that are really unlabeled, and beta.
    scheme : {"single-sample", "case-control"}
        Whether the population is all rows, or the unlabeled rows alone.
    confidence : float
        Level of the limits.
    answers : Answers, optional
        What people said of unlabeled rows.

    Returns
    -------
    Calibration
    """
    folded = table.with_negatives_folded_in(scheme)
    given = folded, _among_all(prior, folded), scheme, confidence, answers
    knots, population, unlabeled = chance_bands(*given)
    if folded.n_known:
        # Known negatives count among all rows, and not among those without a label.
        alone = table.with_negatives_folded_in("case-control")
        found, _, band = chance_bands(alone, prior, scheme, confidence, answers)
        curves = (band.center, band.lower, band.upper)
        unlabeled = ChanceBand(*(np.interp(knots.centers, found.centers, one) for one in curves))
    low, high = prior.range
    scores = knots.centers.copy()
    if len(scores) > 1:  # what lies beyond is new
        scores[[0, -1]] = folded.score_range
    return Calibration(
        scores=scores,
        probability=population.center,
        lower=population.lower,
        upper=population.upper,
        unlabeled=unlabeled.center,
        unlabeled_lower=unlabeled.lower,
        unlabeled_upper=unlabeled.upper,
        alpha=float(prior.alpha),
        alpha_lower=float(low),
        alpha_upper=float(high),
        alpha_from="given" if prior.estimate is None else str(prior.estimate.method),
        beta=float(prior.beta),
        scheme=scheme,
        confidence=float(confidence),
        n_labeled=float(table.n_labeled),
        n_unlabeled=float(table.n_unlabeled),
        n_checked=0 if answers is None else len(answers.truth),
        notes=tuple(_notes(table, prior, answers)),
    )


def _counted(s: Any, scores: Any, sample_weight: Any, caller: str) -> ScoreTable:
    if isinstance(s, ScoreTable):
        if scores is not None or sample_weight is not None:
            raise InvalidInputError(
                f"{caller} takes a ScoreTable alone: scores and weights are counted in it already. "
                f"Drop the other arguments."
            )
        return s.whole(caller)
    if scores is None:
        raise InvalidInputError(
            f"{caller} needs scores beside the labels. Got only one of them. Call "
            f"{caller}(s, scores)."
        )
    bins = None if sample_weight is not None else DEFAULT_BINS
    return ScoreTable._count(s, scores, sample_weight, bins, (), caller)


def _check_audit(audit: Any, sample_weight: Any, caller: str) -> None:
    if audit is None:
        return
    if not hasattr(audit, "weighted_answers"):
        raise InvalidInputError(
            f"{caller} needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )
    if sample_weight is not None:
        raise InvalidInputError(
            f"{caller} takes an audit of rows that count alike. Got sample_weight beside it. Drop "
            f"one of them."
        )


def _estimated(
    table: ScoreTable,
    s: Any,
    scores: Any,
    alpha: str,
    beta: Any,
    confidence: float,
    seed: int,
    audit: Any,
    caller: str,
) -> Prior:
    """Estimate alpha from the counted rows, or from the answers beside them."""
    from recoup.priors import estimate

    beta = 1.0 if beta is None else beta
    method = estimation_method(alpha, beta, caller) or "auto"
    try:
        found = estimate(
            table if audit is None else s,
            None if audit is None else scores,
            method=method,
            beta=beta,
            confidence=confidence,
            random_state=seed,
            audit=audit,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{caller} cannot estimate alpha: {error}") from error
    if found.alpha >= found.beta:
        raise InvalidInputError(
            f"{caller} cannot tell chances where every unlabeled row may be positive: "
            f"{found.method} found alpha={found.alpha:.3g} with beta={found.beta:.3g}. Pass scores "
            f"of a better model, or alpha as a number or a range."
        )
    return Prior.of(found, 1.0 if isinstance(beta, str) else beta, caller, confidence)


def _among_all(prior: Prior, table: ScoreTable) -> Prior:
    """Return alpha among the unlabeled rows and the known negatives that were folded in."""
    if not table.n_known:
        return prior
    share = 1 - table.n_known / table.n_unlabeled
    return replace(
        prior,
        alpha=prior.alpha * share,
        interval=None
        if prior.interval is None
        else (prior.interval[0] * share, prior.interval[1] * share),
        alpha_draws=None if prior.alpha_draws is None else prior.alpha_draws * share,
    )


def _notes(table: ScoreTable, prior: Prior, answers: Answers | None) -> list[Note]:
    """Say what to beware of."""
    notes = [] if prior.estimate is None else prior_notes(prior.estimate)
    if table.effective_sizes[0] < FEW_LABELED:
        notes.append(
            Note(
                "few-rows",
                f"Only {table.n_labeled:,.6g} labeled rows: the curve is hardly more than a "
                f"logistic one. Mind its limits.",
            )
        )
    most = prior.beta * feasible_kappas(table, FEASIBLE)[0]
    if answers is None and prior.alpha > most:
        notes.append(
            Note(
                "infeasible-prior",
                f"With these scores alpha is at most {show_digits(most)}, where labels are a "
                f"random sample of the positives. Got {show_digits(prior.alpha)}: chances are then "
                f"too high. Have alpha estimated, or check rows by hand.",
            )
        )
    return notes
