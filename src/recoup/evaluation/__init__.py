"""evaluate: how good a classifier really is, with honest uncertainty."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from recoup._checks import Scheme, brief, check_scheme
from recoup._prior import Prior, estimation_method, prior_notes
from recoup.evaluation.measure import (
    Band,
    Given,
    as_precise_as_scores,
    is_single_precision,
    measure,
)
from recoup.evaluation.results import (
    Baseline,
    Estimate,
    Evaluation,
    Feasibility,
    OperatingPoint,
    Sensitivity,
)
from recoup.evaluation.selection import SelectionSensitivity
from recoup.evaluation.uncertainty import Limits, uncertainty
from recoup.exceptions import ClippedEstimateWarning, InfeasiblePriorWarning, InvalidInputError
from recoup.metrics._resample import bootstrap, bootstrap_weighted_rows
from recoup.metrics._spec import metric_spec
from recoup.metrics.bounds import bounds_at
from recoup.metrics.curves import RocCurve, metric_along, recovered_roc
from recoup.metrics.rates import (
    Mixture,
    check_propensity_alone,
    propensity_rows,
    propensity_table,
)
from recoup.scores.table import DEFAULT_BINS, ScoreTable

__all__ = [
    "Band",
    "Baseline",
    "Estimate",
    "Evaluation",
    "Feasibility",
    "OperatingPoint",
    "SelectionSensitivity",
    "Sensitivity",
    "evaluate",
]

# Below these sizes the intervals' coverage was not shown to hold (make study).
FEW_LABELED, FEW_UNLABELED = 50, 500
MANY_ROWS = 1_000_000


def evaluate(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None = None,
    *,
    alpha: Any = None,
    beta: Any = 1.0,
    scheme: Scheme = "single-sample",
    threshold: float | str | None = None,
    confidence: float = 0.95,
    n_boot: int = 2000,
    random_state: int | np.random.Generator | None = 0,
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> Evaluation:
    """Recover how good a classifier really is from positive-unlabeled scores.

    Parameters
    ----------
    s : array-like of shape (n,) or ScoreTable
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive. Left out when ``s`` is a table.
    alpha : float, (low, high), draws, prior estimate, or "estimate"
        Share of positives among the unlabeled rows. Its uncertainty goes into the intervals: an
        interval by the worst case over it, draws by one draw per replicate. ``"estimate"`` has
        it estimated from the scores (:func:`recoup.priors.estimate`), as does the key of an
        estimator such as ``"bbe"``.
    beta : float, draws, or "estimate", default=1.0
        Share of true positives among the labeled rows. ``"estimate"`` goes with an alpha that is
        estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    threshold : float or str, optional
        Where scores become predictions (``score >= threshold``), or the name of a metric to
        maximise. By default 0.5 if all scores lie in [0, 1], else where Youden's J is largest.
    confidence : float, default=0.95
        Level of intervals and bounds.
    n_boot : int, default=2000
        Bootstrap replicates for areas and bands, and permutations for the baseline. 0 leaves
        them out.
    random_state : int, Generator or None, default=0
        Source of randomness.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) for labels that are not a random sample of the positives. Takes
        the place of alpha; intervals then come from resampling rows, so ``n_boot`` must not be 0
        to have any.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(5000) < 0.3
    >>> s = (positive & (rng.random(5000) < 0.4)).astype(int)
    >>> scores = 1 / (1 + np.exp(-rng.normal(2.0 * positive - 1.0)))
    >>> evaluation = evaluate(s, scores, alpha=0.2)
    >>> evaluation["roc_auc"]
    Estimate(roc_auc: pu 0.8405, recovered 0.9256 [0.9071, 0.9429])
    >>> evaluate(s, scores, alpha="bbe").prior_estimate.method
    'bbe'
    """
    check_scheme(scheme, "evaluate")
    check_confidence(confidence, "evaluate")
    if not isinstance(n_boot, Integral) or n_boot < 0:
        raise InvalidInputError(
            f"evaluate needs n_boot to be a whole number from 0. Got {brief(n_boot)}."
        )
    rng = np.random.default_rng(random_state)
    threshold = _read_threshold(threshold, scores)
    keep = (0.5, threshold) if isinstance(threshold, float) else (0.5,)

    def estimated(table: ScoreTable) -> Prior:
        return estimated_prior(table, alpha, beta, confidence, random_state, "evaluate")

    given = _read_input(s, scores, alpha, beta, scheme, keep, sample_weight, propensity, estimated)
    prior = given.prior
    table, naive = given.exact.thin(DEFAULT_BINS, keep), given.naive.thin(DEFAULT_BINS, keep)
    mixture = given.mixture(table, prior.alpha)
    roc = recovered_roc(table, mixture)
    notes = [] if prior.estimate is None else prior_notes(prior.estimate)
    cut = _choose_threshold(threshold, table, roc, notes)
    replicates = None
    if n_boot and propensity is None:
        replicates = bootstrap(table, int(n_boot), rng)
    elif n_boot:
        rows = propensity_rows(cast("ArrayLike", s), scores, propensity, sample_weight)
        replicates = bootstrap_weighted_rows(table, *rows, int(n_boot), rng, (cut,))

    naive_mixture = Mixture.of(naive, 0.0, 1.0, "single-sample")
    observed = measure(naive, naive_mixture, recovered_roc(naive, naive_mixture), cut)
    recovered = measure(table, mixture, roc, cut)
    limits: Limits = {}
    bands: dict[str, Band] = {}
    if propensity is None or n_boot:
        limits, bands = uncertainty(table, prior, mixture, cut, confidence, replicates, rng)
    extremes: dict[str, tuple[float, float]] = {}
    if prior.beta == 1 and propensity is None:
        counts = given.counts.thin(DEFAULT_BINS, keep)
        known = prior.alpha if prior.range[0] == prior.range[1] else prior.range
        extremes = bounds_at(counts, cut, known, confidence=confidence, scheme=scheme)
    # Known negatives with scores outside [0, 1] leave naive counting without probabilities.
    unknown = np.nan, np.nan
    metrics = {
        key: Estimate.make(
            key,
            observed.get(key, unknown)[1],
            raw,
            limits.get(key, unknown),
            value,
            extremes.get(key, unknown),
        )
        for key, (raw, value) in recovered.items()
    }
    feasibility = feasibility_of(given, confidence)
    notes += _notes(table, metrics, limits, feasibility, prior)
    return Evaluation(
        metrics=metrics,
        alpha=prior.alpha,
        beta=prior.beta,
        pi=float(mixture.pi),
        scheme=scheme,
        threshold=cut,
        confidence=float(confidence),
        n_labeled=given.counts.n_labeled,
        n_unlabeled=given.counts.n_unlabeled,
        n_negative=given.counts.n_negative,
        feasibility=feasibility,
        notes=tuple(notes),
        roc=roc,
        roc_band=bands.get("roc"),
        pr_band=bands.get("pr"),
        lift_band=bands.get("lift"),
        prior=prior,
        given=given,
        table=table,
        mixture=mixture,
        n_boot=int(n_boot),
        seed=int(rng.integers(2**32)),
        replicates=replicates if propensity is not None else None,
    )


def check_confidence(confidence: Any, caller: str) -> None:
    """Require a level between 0 and 1."""
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise InvalidInputError(
            f"{caller} needs confidence between 0 and 1. Got {brief(confidence)}. "
            f"Pass 0.95 for 95%."
        )


def _read_threshold(threshold: Any, scores: Any) -> float | str | None:
    """Check a threshold; with scores in single precision it is rounded as they are."""
    if threshold is None or isinstance(threshold, str):
        return threshold
    if not isinstance(threshold, Real) or not np.isfinite(float(threshold)):
        raise InvalidInputError(
            f"evaluate needs a finite threshold, or the name of a metric to maximise. "
            f"Got {brief(threshold)}."
        )
    return as_precise_as_scores(float(threshold), is_single_precision(scores))


def _read_input(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None,
    alpha: Any,
    beta: Any,
    scheme: Scheme,
    keep: tuple[float, ...],
    sample_weight: ArrayLike | None,
    propensity: ArrayLike | None,
    estimated: Callable[[ScoreTable], Prior],
) -> Given:
    """Count the rows, and read or estimate alpha."""
    # What is wrong with alpha is said before rows are counted.
    prior = None
    if propensity is None and estimation_method(alpha, beta, "evaluate") is None:
        prior = Prior.of(alpha, beta, "evaluate")
    if isinstance(s, ScoreTable):
        if any(extra is not None for extra in (scores, sample_weight, propensity)):
            raise InvalidInputError(
                "evaluate takes a ScoreTable alone: scores, weights and propensities are counted "
                "in it already. Drop the other arguments."
            )
        return Given.of(s, prior or estimated(s), scheme)
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
    return Given.of(counts, prior or estimated(counts), scheme, single)


def estimated_prior(
    table: ScoreTable, alpha: str, beta: Any, confidence: float, random_state: Any, caller: str
) -> Prior:
    """Estimate alpha, and beta if asked to, from counts of scores."""
    from recoup.priors import estimate

    method = estimation_method(alpha, beta, caller) or "auto"
    seed = random_state
    if not isinstance(seed, Integral):
        seed = np.random.default_rng(random_state).integers(2**31)
    try:
        found = estimate(
            table, method=method, random_state=int(seed), beta=beta, confidence=confidence
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"{caller} cannot estimate alpha: {error}") from error
    if found.alpha >= found.beta:
        raise InvalidInputError(
            f"{caller} cannot recover metrics where every unlabeled row may be positive: "
            f"{found.method} found alpha={found.alpha:.3g} with beta={found.beta:.3g}, for the "
            f"scores hardly tell labeled from unlabeled rows (AUC {found.auc_pu:.3f}). Pass scores "
            f"of a better model, or alpha as a number or a range."
        )
    prior = Prior.of(found, 1.0 if isinstance(beta, str) else beta, caller)
    return replace(prior, asked=(alpha, beta))


def _choose_threshold(
    threshold: float | str | None, table: ScoreTable, roc: RocCurve, notes: list[str]
) -> float:
    if isinstance(threshold, float):
        return threshold
    if threshold is None and table.holds_probabilities:
        return 0.5
    name = threshold or "youden"
    cut = metric_along(roc, name, "evaluate").best_threshold
    notes.append(
        f"The threshold {cut:.4g} was chosen on these rows to maximise "
        f"{metric_spec(name, 'evaluate').label}; metrics at it are slightly optimistic."
    )
    return float(min(cut, np.nextafter(table.scores[-1], np.inf)))


def feasibility_of(given: Given, confidence: float) -> Feasibility:
    """Largest alpha and smallest beta that the two observed curves allow.

    Every set of scores must hold at least alpha/beta times its labeled share among the unlabeled
    rows, and at least (1-beta)/(1-alpha) times its unlabeled share among the labeled ones. Heads
    and tails of the ranking are such sets; Dvoretzky-Kiefer-Wolfowitz bands on both curves make
    the comparison safe against small counts.
    """
    table = given.exact if given.by_propensity else given.counts
    alpha, beta = given.prior.alpha, given.prior.beta
    spread = np.log(4 / (1 - confidence)) / 2
    slack_l, slack_u = (np.sqrt(spread / size) for size in table.effective_sizes)
    labeled, unlabeled = table.heads("labeled"), table.heads("unlabeled")
    heads = [(labeled, unlabeled), (1 - labeled, 1 - unlabeled)]

    def smallest(of: int, slack_of: float, slack_to: float) -> float:
        ratio = 1.0
        for pair in heads:
            top, bottom = pair[1 - of] + slack_to, pair[of] - slack_of
            usable = bottom > 0
            if usable.any():
                ratio = min(ratio, float(np.min(top[usable] / bottom[usable])))
        return ratio

    alpha_upper = beta * smallest(0, slack_l, slack_u)
    beta_lower = 1 - (1 - alpha) * smallest(1, slack_u, slack_l)
    if given.by_propensity:
        # Every row was counted as unlabeled there, so the limit is one for pi.
        rows = given.counts
        alpha_upper = max(alpha_upper * rows.n_rows - rows.n_labeled, 0.0) / rows.n_unlabeled
        beta_lower = 0.0
    exceeded = bool(alpha > alpha_upper or beta < beta_lower)
    return Feasibility(float(alpha_upper), float(beta_lower), exceeded, float(confidence))


def _notes(
    table: ScoreTable,
    metrics: dict[str, Estimate],
    limits: Limits,
    feasibility: Feasibility,
    prior: Prior,
) -> list[str]:
    """Say, and warn of, what a reader must know before trusting the numbers."""
    notes = []
    if feasibility.exceeded:
        notes.append(
            f"alpha={prior.alpha:.4g}, beta={prior.beta:.4g} is more than these scores allow: "
            f"at {feasibility.confidence:.0%} confidence alpha is at most "
            f"{feasibility.alpha_upper:.4g} and beta at least {feasibility.beta_lower:.4g}."
        )
        warnings.warn(notes[-1], InfeasiblePriorWarning, stacklevel=3)
    impossible, unlikely = [], []
    for item in metrics.values():
        spec = metric_spec(item.key, "evaluate")
        low, high = limits.get(item.key, (np.nan, np.nan))
        if low > spec.high + 0.01 or high < spec.low - 0.01:
            impossible.append(f"{item.key} {item.raw:.4g}")
        elif abs(item.raw - spec.clip(item.raw)) > 1e-9:
            unlikely.append(f"{item.key} {item.raw:.4g}")
    if impossible:
        notes.append(
            f"Recovered values left their range by more than sampling error explains and were "
            f"clipped ({', '.join(impossible)}): alpha or beta must be wrong."
        )
        warnings.warn(notes[-1], ClippedEstimateWarning, stacklevel=3)
    if unlikely:
        notes.append(
            f"Recovered values left their range and were clipped ({', '.join(unlikely)}); "
            f"sampling error can explain that."
        )
    if limits.get("average_precision", (0.0, 0.0))[1] > 1:
        notes.append(
            "The intervals of average precision and PR AUC reach 1 and are conservative there: "
            "in simulations with 50 labeled rows they held the truth up to 99% of the time."
        )
    labeled, unlabeled = table.effective_sizes
    if labeled < FEW_LABELED or unlabeled < FEW_UNLABELED:
        notes.append(
            f"With {labeled:,.0f} labeled and {unlabeled:,.0f} unlabeled rows the intervals are "
            f"unreliable: their coverage was shown for at least {FEW_LABELED} and "
            f"{FEW_UNLABELED}."
        )
    if len(table.scores) == 1:
        notes.append("All scores are equal: the ranking carries no information.")
    if table.thinned:
        notes.append(
            f"Scores were grouped into {len(table.scores):,} bins; that moves AUC_pu by at most "
            f"{table.max_auc_error:.1g}."
        )
    return notes
