"""evaluate: how good a classifier really is, with honest uncertainty."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import Scheme, as_vector, brief, check_scheme
from recoup._core.prior import Prior, prior_notes
from recoup._core.random import RandomState, as_generator
from recoup.evaluation.audited import audited_defaults, with_audit
from recoup.evaluation.estimates import Estimate
from recoup.evaluation.feasibility import feasibility_of
from recoup.evaluation.inputs import (
    HowScored,
    check_confidence,
    check_scored,
    estimated_prior,
    read_input,
    read_threshold,
)
from recoup.evaluation.notes import chosen_note, notes_on
from recoup.evaluation.possible import PLAUSIBLE_BETA, with_possible
from recoup.evaluation.results import Evaluation
from recoup.evaluation.uncertainty import uncertainty
from recoup.evaluation.unchecked_labels import unchecked_labels_note
from recoup.exceptions import InvalidInputError
from recoup.metrics.bounds import bounds_at
from recoup.metrics.chosen_threshold import N_REPLICATES, optimism
from recoup.metrics.curve_results import RocCurve
from recoup.metrics.curves import metric_along, recovered_roc
from recoup.metrics.default_cut import default_cut
from recoup.metrics.measure import measure
from recoup.metrics.rates import Mixture
from recoup.metrics.resample import bootstrap
from recoup.scores.crossfit import CrossfitScores
from recoup.scores.table import DEFAULT_BINS, ScoreTable
from recoup.selection.how_labeled import LabelsAre, check_labels_are

if TYPE_CHECKING:
    from recoup.audit import Audit

# What people read first; the others move with them.
HEADLINE = ("roc_auc", "recall", "precision")


def evaluate(
    s: ArrayLike | ScoreTable | CrossfitScores,
    scores: ArrayLike | None = None,
    *,
    alpha: Any = None,
    beta: Any = None,
    scheme: Scheme = "single-sample",
    threshold: float | str | None = None,
    confidence: float = 0.95,
    n_boot: int = 2000,
    random_state: RandomState = 0,
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
    scored: HowScored | None = None,
    audit: Audit | None = None,
    labels_are: LabelsAre = "unknown",
) -> Evaluation:
    """Recover how good a classifier really is from positive-unlabeled scores.

    Parameters
    ----------
    s : array-like of shape (n,), ScoreTable or CrossfitScores
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,), optional
        Higher is more positive. Left out when ``s`` is a table, or what
        :func:`recoup.scores.crossfit` returned; rows of the latter without a score, which only
        trained, are left out.
    alpha : float, Interval, Draws, prior estimate or "estimate", optional
        Share of positives among the unlabeled rows. Its uncertainty goes into the intervals: a
        ``recoup.Interval(low, high)`` by the worst case over it, ``recoup.Draws(values)`` by one
        draw per replicate. Two plain numbers are an interval, more are draws. ``"estimate"`` has
        it estimated from the scores (:func:`recoup.priors.estimate`), as does the key of an
        estimator such as ``"bbe"``.
    beta : float, draws or "estimate", optional
        Share of true positives among the labeled rows. Pass 1.0 if somebody has checked that every
        label is right. Left out, labels are taken as right, and what up to a tenth of wrong ones
        would change is shown beside the intervals (``possible_lower``, ``possible_upper``).
        ``"estimate"`` goes with an alpha that is estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    threshold : float or str, optional
        Where scores become predictions (``score >= threshold``), or the name of a metric to
        make best. By default 0.5 if all scores lie in [0, 1], or where a row is as likely positive
        as not if they are chances of having a label; else where Youden's J is largest. Metrics at a
        threshold that was chosen on these rows are corrected for it (``optimism``).
    confidence : float, default=0.95
        Level of intervals and bounds.
    n_boot : int, default=2000
        Bootstrap replicates (at most 200) for what choosing the threshold on these rows adds to
        the metrics, and shuffles of the labels for the baseline where no formula gives it. 0
        leaves both out; intervals need none.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. None gives other numbers at each call.
    sample_weight : array-like of shape (n,), optional
        Row weights.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) for labels that are not a random sample of the positives. Takes
        the place of alpha.
    scored : {"once", "crossfit"}, optional
        ``"crossfit"`` for scores from models that the other rows have trained: rows are then not
        independent, and intervals are wider by up to the square root of 2. What
        :func:`recoup.scores.crossfit` returned, passed as ``s``, says so itself, and with
        ``halves=True`` by how much. By default ``"once"``: one model scored rows that had no part
        in its training.
    audit : Audit, optional
        Rows that somebody checked (:func:`recoup.audit.plan`). They give every metric a value and
        an interval that hold whatever the labels are, in ``Evaluation.audit``. Alpha may then be
        left out, and is estimated for what the labels alone say; the threshold is the plan's.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about: ``"random"`` if the labeled rows are a random sample of the
        positives, ``"biased"`` if you know that they are not, ``"unknown"`` if nobody has said.
        Intervals stay what they are. What is possible (``possible_lower``, ``possible_upper``)
        includes labels that favor high or low scores, unless they are random, and a report is
        then at best amber (:attr:`Evaluation.label_odds`). An audit that can tell decides instead;
        with ``propensity`` the propensities say it.

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
    check_labels_are(labels_are, "evaluate")
    rng = as_generator(random_state, "evaluate")
    crossfitted = s if isinstance(s, CrossfitScores) else None
    scored = check_scored(scored, crossfitted is not None, "evaluate")
    if crossfitted is not None:
        kept = crossfitted.scored
        if not kept.all():
            _check_takes_unscored(audit, scores, int((~kept).sum()))
            crossfitted = crossfitted.of_scored_rows()
            sample_weight, propensity = (
                None if values is None else as_vector(values, name, "evaluate")[kept]
                for values, name in (
                    (sample_weight, "sample_weight"),
                    (propensity, "propensity"),
                )
            )
        s, scores = crossfitted.s, crossfitted.scores if scores is None else scores
    if audit is not None:
        alpha, threshold = audited_defaults(
            audit, alpha, threshold, propensity, sample_weight, s, scores
        )
    threshold = read_threshold(threshold, scores)
    keep = (0.5, threshold) if isinstance(threshold, float) else (0.5,)

    def estimated(table: ScoreTable) -> Prior:
        # A number seeds both, as if each were asked for alone; others are drawn from in turn.
        source = random_state if isinstance(random_state, Integral) else rng
        return estimated_prior(table, alpha, beta, confidence, source, "evaluate")

    given = read_input(
        s, scores, alpha, beta, scheme, keep, sample_weight, propensity, estimated, confidence
    )
    given = replace(given, crossfitted=crossfitted, scored=scored, labels_are=labels_are)
    prior = given.prior
    table, naive = given.exact.thin(DEFAULT_BINS, keep), given.naive.thin(DEFAULT_BINS, keep)
    mixture = given.mixture(table, prior.alpha)
    roc = recovered_roc(table, mixture)
    notes = [] if prior.estimate is None else prior_notes(prior.estimate)
    if threshold is None:
        threshold, note = default_cut(table, None if given.by_propensity else mixture)
        notes += [] if note is None else [note]
    cut, chosen_for = _choose_threshold(threshold, table, roc)
    shift: dict[str, float] = {}
    if chosen_for is not None and n_boot:
        replicates = bootstrap(table, min(int(n_boot), N_REPLICATES), rng)
        shift = optimism(replicates, prior.alpha, prior.beta, scheme, chosen_for)

    naive_mixture = Mixture.of(naive, 0.0, 1.0, "single-sample")
    observed = measure(naive, naive_mixture, recovered_roc(naive, naive_mixture), cut)
    recovered = measure(table, mixture, roc, cut)
    times = given.widening(mixture, cut)
    limits = uncertainty(table, prior, scheme, cut, confidence, times)
    feasibility = feasibility_of(given, confidence)
    extremes: dict[str, tuple[float, float]] = {}
    if prior.beta == 1 and propensity is None:
        counts = given.counts.thin(DEFAULT_BINS, keep)
        low, high = prior.range
        known = prior.alpha if low == high else (low, high)
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
            shift.get(key, 0.0),
        )
        for key, (raw, value) in recovered.items()
    }
    if chosen_for is not None:
        notes.append(chosen_note(cut, chosen_for, shift))
    notes += notes_on(given, table, mixture, cut, metrics, limits, feasibility)
    if not given.labels_checked and prior.beta == 1 and prior.alpha < PLAUSIBLE_BETA:
        noisy = Mixture.of(table, prior.alpha, PLAUSIBLE_BETA, scheme)
        wrong = measure(table, noisy, recovered_roc(table, noisy), cut, HEADLINE)
        note = unchecked_labels_note(metrics, {key: wrong[key][1] for key in HEADLINE})
        notes += [] if note is None else [note]
    found = Evaluation(
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
        prior=prior,
        given=given,
        table=table,
        mixture=mixture,
        n_boot=int(n_boot),
        seed=int(rng.integers(2**32)),
    )
    if audit is not None:
        found = with_audit(found, audit, s, scores)
    return with_possible(found)


def _check_takes_unscored(audit: Any, scores: Any, n_rows: int) -> None:
    """Refuse what goes by the positions of rows where some rows are left out."""
    for name, given in (("audit", audit), ("scores", scores)):
        if given is not None:
            raise InvalidInputError(
                f"evaluate cannot take {name} beside crossfitted scores that {n_rows:,} rows lack, "
                f"those that only train. Pass crossfitted.of_scored_rows(), and {name} for these "
                f"rows alone."
            )


def _choose_threshold(
    threshold: float | str | None, table: ScoreTable, roc: RocCurve
) -> tuple[float, str | None]:
    """Return the threshold, and the metric that it was chosen for on these rows."""
    if isinstance(threshold, float):
        return threshold, None
    name = threshold or "youden"
    cut = metric_along(roc, name, "evaluate").best_threshold
    return float(min(cut, np.nextafter(table.scores[-1], np.inf))), name
