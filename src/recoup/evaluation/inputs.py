"""What evaluate is given, read once into the forms that it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import Scheme, brief
from recoup._core.prior import Prior, estimation_method
from recoup._core.random import as_seed
from recoup.evaluation.crossfitted import LARGEST, widening
from recoup.exceptions import InvalidInputError
from recoup.metrics.rates import Mixture, check_propensity_alone, propensity_table
from recoup.metrics.spec import evaluated_specs
from recoup.scores.crossfit import CrossfitScores
from recoup.scores.table import DEFAULT_BINS, ScoreTable
from recoup.selection.how_labeled import LabelsAre

HowScored: TypeAlias = Literal["once", "crossfit"]

MANY_ROWS = 1_000_000


@dataclass(frozen=True, repr=False, eq=False)
class Given:
    """What evaluate was given, in the forms it needs.

    Parameters
    ----------
    counts : ScoreTable
        The rows as they came.
    exact : ScoreTable
        The table that is corrected: known negatives folded in, or rows weighted by propensity.
    naive : ScoreTable
        The table that takes every row that is not labeled as negative.
    prior : Prior
        Alpha and beta with their uncertainty.
    scheme : {"single-sample", "case-control"}
        Whether performance is about all rows, or about the unlabeled rows alone.
    by_propensity : bool, default=False
        Whether propensities took the place of alpha.
    single_precision : bool, default=False
        Whether scores were stored as 32-bit numbers.
    labels_checked : bool, default=True
        Whether the user has said which share of the labels is right.
    crossfitted : CrossfitScores or None, default=None
        Where the scores come from, if they were given so.
    scored : {"once", "crossfit"}, default="once"
        Whether one model scored all rows, or models that the other rows trained did.
    labels_are : {"random", "biased", "unknown"}, default="unknown"
        How labels came about, as the user said.
    """

    counts: ScoreTable
    exact: ScoreTable
    naive: ScoreTable
    prior: Prior
    scheme: Scheme
    by_propensity: bool = False
    single_precision: bool = False
    labels_checked: bool = True
    crossfitted: CrossfitScores | None = None
    scored: HowScored = "once"
    labels_are: LabelsAre = "unknown"

    @classmethod
    def of(
        cls,
        counts: ScoreTable,
        prior: Prior,
        scheme: Scheme,
        single_precision: bool = False,
        labels_checked: bool = True,
    ) -> Given:
        """Fold known negatives in."""
        naive = counts.with_negatives_folded_in("single-sample")
        exact = counts.with_negatives_folded_in(scheme)
        return cls(
            counts,
            exact,
            naive,
            prior,
            scheme,
            single_precision=single_precision,
            labels_checked=labels_checked or prior.knows_beta,
        )

    def widening(self, mixture: Mixture, threshold: float) -> dict[str, float]:
        """By how much intervals are wider than for independent rows, by key of the metric."""
        if self.scored == "once":
            return {}
        if self.crossfitted is None or self.by_propensity:
            return {spec.key: LARGEST for spec in evaluated_specs()}
        return widening(self.crossfitted, mixture, threshold, self.scheme)

    def mixture(self, table: ScoreTable, alpha: float) -> Mixture:
        """Shares of positives for a share among the unlabeled rows."""
        if not self.by_propensity:
            return Mixture.of(table, alpha, self.prior.beta, self.scheme)
        # With propensities the labeled rows stand for all positives, and all rows are the
        # population: alpha of the case-control scheme is then pi.
        rows = self.counts
        return Mixture.by_propensity((rows.n_labeled + alpha * rows.n_unlabeled) / rows.n_rows)


def check_scored(scored: Any, crossfitted: bool, caller: str) -> HowScored:
    """Require a known way in which rows were scored."""
    if scored is None:
        return "crossfit" if crossfitted else "once"
    if scored not in get_args(HowScored):
        raise InvalidInputError(
            f"{caller} needs scored to be 'once' or 'crossfit'. Got {brief(scored)!r}. Pass "
            f"'crossfit' for scores from models that the other rows have trained."
        )
    found: HowScored = scored
    return found


def check_confidence(confidence: Any, caller: str) -> None:
    """Require a level between 0 and 1."""
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise InvalidInputError(
            f"{caller} needs confidence between 0 and 1. Got {brief(confidence)}. "
            f"Pass 0.95 for 95%."
        )


def read_threshold(threshold: Any, scores: Any) -> float | str | None:
    """Check a threshold; with scores in single precision it is rounded as they are."""
    if threshold is None or isinstance(threshold, str):
        return threshold
    if not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
        raise InvalidInputError(
            f"evaluate needs a finite threshold, or the name of a metric to maximise. "
            f"Got {brief(threshold)}."
        )
    return as_precise_as_scores(float(threshold), is_single_precision(scores))


def read_input(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None,
    alpha: Any,
    beta: Any,
    scheme: Scheme,
    keep: tuple[float, ...],
    sample_weight: ArrayLike | None,
    propensity: ArrayLike | None,
    estimated: Callable[[ScoreTable], Prior],
    confidence: float = 0.95,
) -> Given:
    """Count the rows, and read or estimate alpha."""
    # Alpha is checked first: counting many rows takes long.
    prior, checked = None, beta is not None
    beta = beta if checked else 1.0
    if propensity is None and estimation_method(alpha, beta, "evaluate") is None:
        prior = Prior.of(alpha, beta, "evaluate", confidence)
    if isinstance(s, ScoreTable):
        if any(extra is not None for extra in (scores, sample_weight, propensity)):
            raise InvalidInputError(
                "evaluate takes a ScoreTable alone: scores, weights and propensities are counted "
                "in it already. Drop the other arguments."
            )
        s.whole("evaluate")
        return Given.of(s, prior or estimated(s), scheme, labels_checked=checked)
    if scores is None:
        raise InvalidInputError(
            "evaluate needs scores beside the labels. Got only one of them. "
            "Call evaluate(s, scores, alpha=...)."
        )
    single = is_single_precision(scores)
    if propensity is not None:
        check_propensity_alone(alpha, beta, scheme, "evaluate")
        table, pi = propensity_table(s, scores, propensity, sample_weight, "evaluate")
        counts = ScoreTable._count(s, scores, sample_weight, None, (), "evaluate")
        hidden = max(pi * counts.n_rows - counts.n_labeled, 0.0) / counts.n_unlabeled
        return Given(counts, table, counts, Prior(hidden, 1.0), scheme, True, single)
    # Beyond this the full table would cost more memory than the rows themselves.
    bins = DEFAULT_BINS if np.size(scores) > MANY_ROWS else None
    counts = ScoreTable._count(s, scores, sample_weight, bins, keep, "evaluate")
    return Given.of(counts, prior or estimated(counts), scheme, single, checked)


def estimated_prior(
    table: ScoreTable, alpha: str, beta: Any, confidence: float, random_state: Any, caller: str
) -> Prior:
    """Estimate alpha, and beta if asked to, from counts of scores."""
    from recoup.priors import estimate

    beta = 1.0 if beta is None else beta
    method = estimation_method(alpha, beta, caller) or "auto"
    seed = as_seed(random_state, caller)
    try:
        found = estimate(table, method=method, random_state=seed, beta=beta, confidence=confidence)
    except InvalidInputError as error:
        raise InvalidInputError(f"{caller} cannot estimate alpha: {error}") from error
    if found.alpha >= found.beta:
        raise InvalidInputError(
            f"{caller} cannot recover metrics where every unlabeled row may be positive: "
            f"{found.method} found alpha={found.alpha:.3g} with beta={found.beta:.3g}, for the "
            f"scores hardly tell labeled from unlabeled rows (AUC {found.auc_pu:.3f}). Pass scores "
            f"of a better model, or alpha as a number or a range."
        )
    prior = Prior.of(found, 1.0 if isinstance(beta, str) else beta, caller, confidence)
    return replace(prior, asked=(alpha, beta))


def is_single_precision(scores: Any) -> bool:
    """Say whether scores are stored as 32-bit numbers."""
    return bool(getattr(scores, "dtype", None) == np.float32)


def as_precise_as_scores(threshold: float, single_precision: bool) -> float:
    """Round a threshold as single-precision scores are, so that equal numbers stay equal."""
    return float(np.float32(threshold)) if single_precision else threshold
