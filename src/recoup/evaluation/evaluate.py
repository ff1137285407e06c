"""evaluate: how good a classifier really is, with honest uncertainty."""

from __future__ import annotations

from numbers import Integral
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import Scheme, brief, check_scheme
from recoup._core.notes import Note
from recoup._core.prior import Prior, prior_notes
from recoup._core.random import RandomState, as_generator
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.feasibility import feasibility_of
from recoup.evaluation.inputs import (
    check_confidence,
    estimated_prior,
    read_input,
    read_threshold,
)
from recoup.evaluation.notes import notes_on
from recoup.evaluation.results import Evaluation
from recoup.evaluation.uncertainty import Limits, uncertainty
from recoup.exceptions import InvalidInputError
from recoup.metrics.bounds import bounds_at
from recoup.metrics.curve_results import Band, RocCurve
from recoup.metrics.curves import metric_along, recovered_roc
from recoup.metrics.measure import measure
from recoup.metrics.rates import Mixture, propensity_rows
from recoup.metrics.resample import bootstrap, bootstrap_weighted_rows
from recoup.metrics.spec import metric_spec
from recoup.scores.table import DEFAULT_BINS, ScoreTable


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
    random_state: RandomState = 0,
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
) -> Evaluation:
    """Recover how good a classifier really is from positive-unlabeled scores.

    Parameters
    ----------
    s : array-like of shape (n,) or ScoreTable
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,), optional
        Higher is more positive. Left out when ``s`` is a table.
    alpha : float, Interval, Draws, prior estimate or "estimate", optional
        Share of positives among the unlabeled rows. Its uncertainty goes into the intervals: a
        ``recoup.Interval(low, high)`` by the worst case over it, ``recoup.Draws(values)`` by one
        draw per replicate. Two plain numbers are an interval, more are draws. ``"estimate"`` has
        it estimated from the scores (:func:`recoup.priors.estimate`), as does the key of an
        estimator such as ``"bbe"``.
    beta : float, draws or "estimate", default=1.0
        Share of true positives among the labeled rows. ``"estimate"`` goes with an alpha that is
        estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    threshold : float or str, optional
        Where scores become predictions (``score >= threshold``), or the name of a metric to
        make best. By default 0.5 if all scores lie in [0, 1], else where Youden's J is largest.
    confidence : float, default=0.95
        Level of intervals and bounds.
    n_boot : int, default=2000
        Bootstrap replicates for areas and bands, and permutations for the baseline. 0 leaves
        them out.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. None gives other numbers at each call.
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
    rng = as_generator(random_state, "evaluate")
    threshold = read_threshold(threshold, scores)
    keep = (0.5, threshold) if isinstance(threshold, float) else (0.5,)

    def estimated(table: ScoreTable) -> Prior:
        # A number seeds both, as if each were asked for alone; others are drawn from in turn.
        source = random_state if isinstance(random_state, Integral) else rng
        return estimated_prior(table, alpha, beta, confidence, source, "evaluate")

    given = read_input(s, scores, alpha, beta, scheme, keep, sample_weight, propensity, estimated)
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
    notes += notes_on(table, metrics, limits, feasibility, prior)
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


def _choose_threshold(
    threshold: float | str | None, table: ScoreTable, roc: RocCurve, notes: list[Note]
) -> float:
    if isinstance(threshold, float):
        return threshold
    if threshold is None and table.holds_probabilities:
        return 0.5
    name = threshold or "youden"
    cut = metric_along(roc, name, "evaluate").best_threshold
    spec = metric_spec(name, "evaluate")
    goal = "maximise" if spec.higher_is_better else "minimise"
    notes.append(
        Note(
            "chosen-threshold",
            f"The threshold {cut:.4g} was chosen on these rows to {goal} {spec.label}; metrics at "
            f"it are slightly optimistic.",
        )
    )
    return float(min(cut, np.nextafter(table.scores[-1], np.inf)))
