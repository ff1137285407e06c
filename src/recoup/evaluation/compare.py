"""compare: which of several models is better, and for which alpha."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import (
    FloatArray,
    Scheme,
    as_numbers,
    check_same_length,
    check_scheme,
    label_masks,
)
from recoup._core.notes import Note
from recoup._core.prior import Prior, estimation_method, prior_notes
from recoup._core.random import RandomState, as_seed
from recoup.evaluation.audited import with_audited_models
from recoup.evaluation.comparison import Comparison, WinRange
from recoup.evaluation.crossfitted import LARGEST
from recoup.evaluation.cuts import Cut, cut_notes, in_rows, nearest_cut, read_cut
from recoup.evaluation.differences import Difference
from recoup.evaluation.evaluate import evaluate
from recoup.evaluation.inputs import (
    MANY_ROWS,
    HowScored,
    check_confidence,
    check_scored,
    estimated_prior,
    read_input,
)
from recoup.evaluation.paired import PairedRows, Scored, paired_differences
from recoup.evaluation.results import Evaluation
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.metrics.rates import check_propensity_alone
from recoup.metrics.spec import metric_spec
from recoup.scores.table import DEFAULT_BINS, ScoreTable
from recoup.selection.how_labeled import LabelsAre, check_labels_are

if TYPE_CHECKING:
    from recoup.audit import Audit


def compare(
    s: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    alpha: Any = None,
    beta: Any = None,
    scheme: Scheme = "single-sample",
    metric: str = "roc_auc",
    threshold: float | str | None = None,
    queue: float | None = None,
    recall: float | None = None,
    confidence: float = 0.95,
    n_boot: int = 2000,
    random_state: RandomState = 0,
    sample_weight: ArrayLike | None = None,
    propensity: ArrayLike | None = None,
    scored: HowScored | None = None,
    audit: Audit | None = None,
    labels_are: LabelsAre = "unknown",
) -> Comparison:
    """Compare models that scored the same positive-unlabeled rows.

    Differences are paired: how much every row moves the first model's metric is set against how
    much it moves the second's, so that what both models find easy or hard cancels.

    Metrics at a threshold need something that all models have in common there. By default they
    flag the same number of rows: as many as there are positives. Thresholds that are looked up in
    the rows, as those of a queue or a recall are, count with their own error.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : mapping of str to array-like of shape (n,)
        The scores of each model, at least two.
    alpha : float, (low, high), draws, prior estimate or "estimate", optional
        Share of positives among the unlabeled rows, as for :func:`recoup.evaluate`. With
        ``"estimate"`` or the key of an estimator it is estimated once for all models, from the
        scores that tell labeled from unlabeled rows best: any others can only raise the share of
        positives that seems possible. Left out only with ``propensity``.
    beta : float, draws or "estimate", optional
        Share of true positives among the labeled rows, as for :func:`recoup.evaluate`.
        ``"estimate"`` goes with an alpha that is estimated too.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    metric : str, default="roc_auc"
        Key of the metric that ranks the models; differences are given for all metrics.
    threshold : float or str, optional
        One threshold for all models (``score >= threshold`` is flagged), if their scores mean the
        same. Or the name of a metric to maximize for each model: then differences of metrics at a
        threshold have no interval and no p-value, because the best of many thresholds on the same
        rows differs between equal models too.
    queue : float, optional
        How many rows each model flags; below 1, which share of the rows. By default as many as
        there are positives. In the case-control scheme only unlabeled rows count.
    recall : float, optional
        Flag as many rows as it takes each model to find this share of the positives.
    confidence : float, default=0.95
        Level of intervals and bounds.
    n_boot : int, default=2000
        Permutations and bootstrap replicates of each model's evaluation, as for
        :func:`recoup.evaluate`. Differences need none.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.
    sample_weight : array-like of shape (n,), optional
        Row weights. A queue is then counted in weight.
    propensity : array-like of shape (n,), optional
        P(labeled | positive, x) for labels that are not a random sample of the positives. Takes
        the place of alpha.
    scored : {"once", "crossfit"}, optional
        ``"crossfit"`` for scores from models that the other rows have trained. Errors are then
        taken as the square root of 2 times as large, the most that this can make of them.
    audit : Audit, optional
        Rows that somebody checked, drawn by the scores of one of the models
        (:func:`recoup.audit.plan`), by those of another, or blindly. Every model and every
        difference then has a value and an interval that hold whatever the labels are, in
        ``Comparison.audit``; the same answers judge all models, so that what chance does to them
        cancels. Alpha may then be left out, and is estimated for what the labels alone say.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about, as for :func:`recoup.evaluate`. It is the same for all models.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(4000) < 0.3
    >>> s = (positive & (rng.random(4000) < 0.4)).astype(int)
    >>> good = rng.normal(2.0 * positive)
    >>> models = {"good": good, "noisy": good + rng.normal(size=4000)}
    >>> comparison = compare(s, models, alpha=0.2)
    >>> comparison.difference("good", "noisy")
    Difference(roc_auc: good - noisy = +0.07976 [+0.06041, +0.09911], p=...)
    >>> str(comparison.at)
    'queue 1,178 rows'
    >>> compare(s, models, alpha=0.2, queue=500).difference("good", "noisy", "precision")
    Difference(precision: good - noisy = +0.1046 [+0.01765, +0.1916], p=0.018)
    """
    if len(scores) < 2:
        raise InvalidInputError(
            f"compare needs at least two models. Got {len(scores)}. "
            f"Pass scores={{'a': scores_a, 'b': scores_b}}, or use evaluate for one."
        )
    metric_spec(metric, "compare")
    check_scheme(scheme, "compare")
    check_confidence(confidence, "compare")
    check_labels_are(labels_are, "compare")
    how = check_scored(scored, False, "compare")
    if audit is not None:
        from recoup.audit.placing import check_audit

        check_audit(audit, "compare", sample_weight)
        alpha = "estimate" if alpha is None and propensity is None else alpha
    cut = read_cut(threshold, queue, recall)
    wanted = None
    if propensity is not None:
        check_propensity_alone(alpha, 1.0 if beta is None else beta, scheme, "compare")
    else:
        wanted = estimation_method(alpha, beta, "compare")
        if wanted is None:
            Prior.of(alpha, 1.0 if beta is None else beta, "compare")
    # One number for all models, so that they are judged on the same draws.
    seed = as_seed(random_state, "compare")
    columns = _columns(s, scores)
    notes: list[Note] = []
    if wanted is not None:
        best, prior = _shared_prior(s, columns, alpha, beta, confidence, seed, sample_weight)
        alpha, beta = prior.estimate, None if beta is None else 1.0
        notes.append(
            Note(
                "shared-prior",
                f"alpha {prior} is the same for all models, and comes from the scores of "
                f"{best!r}, which tell labeled from unlabeled rows best.",
            )
        )
    options: dict[str, Any] = {
        "alpha": alpha,
        "beta": beta,
        "scheme": scheme,
        "sample_weight": sample_weight,
        "propensity": propensity,
    }
    cut, thresholds, reached, moving = _thresholds(cut, s, columns, options)
    evaluations = {
        name: evaluate(
            s,
            # Those that came, for single precision also rounds a threshold.
            scores[name],
            threshold=thresholds[name],
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
            scored=how,
            labels_are=labels_are,
            **options,
        )
        for name in columns
    }
    shared = set.intersection(*(set(one) for one in evaluations.values()))
    if metric not in shared:
        reason = "evaluations leave it out, for it is another metric without its parameters"
        if metric_spec(metric, "compare").needs_probabilities:
            reason = "it needs scores in [0, 1] from every model"
        raise InvalidInputError(f"compare cannot rank by {metric!r}: {reason}.")
    keys = [key for key in next(iter(evaluations.values())) if key in shared]
    models = {
        name: Scored.of(
            one.table, scheme, one.threshold, columns[name], cut.held if name in moving else None
        )
        for name, one in evaluations.items()
    }
    differences = _differences(
        _rows(s, scheme, sample_weight, propensity), models, evaluations, keys, cut
    )
    notes += cut_notes(cut, reached)
    estimate = next(iter(evaluations.values())).prior_estimate
    about_alpha = [] if estimate is None else prior_notes(estimate)
    notes += about_alpha
    for name, one in evaluations.items():
        notes += [note.about(name) for note in one.notes if note not in about_alpha]
    found = Comparison(
        metric, evaluations, differences, _wins(evaluations, keys), tuple(notes), cut
    )
    return found if audit is None else with_audited_models(found, audit, s, columns)


def _differences(
    rows: PairedRows,
    models: dict[str, Scored],
    evaluations: dict[str, Evaluation],
    keys: list[str],
    cut: Cut,
) -> tuple[Difference, ...]:
    """Differences of all metrics, in the order of the metrics."""
    one = next(iter(evaluations.values()))
    wanted = [spec for key in keys if (spec := metric_spec(key, "compare")).row_effects is not None]
    untested = [spec for spec in wanted if cut.kind == "best" and spec.kind == "point"]
    tested = [spec for spec in wanted if spec not in untested]
    times = LARGEST if one.given.scored == "crossfit" else 1.0
    found = paired_differences(rows, models, tested, one.prior, one.confidence, times)
    for spec in untested:
        for first, second in combinations(evaluations, 2):
            gap = evaluations[first][spec.key].recovered - evaluations[second][spec.key].recovered
            found.append(Difference(spec.key, first, second, gap, np.nan, np.nan, np.nan))
    order = [spec.key for spec in wanted]
    return tuple(sorted(found, key=lambda item: order.index(item.metric)))


def _columns(s: ArrayLike, scores: Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    """Check the scores of every model."""
    labeled = label_masks(s, "compare")[0]
    columns: dict[str, FloatArray] = {}
    for name, values in scores.items():
        columns[name] = as_numbers(values, f"scores of {name!r}", "compare")
        check_same_length(labeled, columns[name], f"s and scores of {name!r}", "compare")
        if not np.isfinite(columns[name]).all():
            raise InvalidInputError(
                f"compare needs every score to be a finite number. Got "
                f"{int((~np.isfinite(columns[name])).sum()):,} missing or infinite scores of "
                f"{name!r}. Drop or impute those rows for all models."
            )
    return columns


def _rows(
    s: ArrayLike, scheme: Scheme, sample_weight: ArrayLike | None, propensity: ArrayLike | None
) -> PairedRows:
    """Say how each row is counted, the same for all models."""
    labeled, unlabeled, negative = label_masks(s, "compare")
    known = np.zeros(len(labeled), bool) if negative is None else negative
    weight = np.ones(len(labeled))
    if sample_weight is not None:
        weight = as_numbers(sample_weight, "sample_weight", "compare")
    if propensity is not None:
        chance = np.where(labeled, as_numbers(propensity, "propensity", "compare"), 1.0)
        return PairedRows(labeled, np.ones_like(labeled), known, weight, weight / chance)
    if scheme == "single-sample":
        unlabeled = unlabeled | known
    return PairedRows(labeled, unlabeled, known, weight, weight)


def _thresholds(
    cut: Cut | None, s: ArrayLike, columns: dict[str, FloatArray], options: dict[str, Any]
) -> tuple[Cut, dict[str, float | str], dict[str, float], set[str]]:
    """Find each model's threshold.

    Returns
    -------
    cut : Cut
        What the models have in common, a queue as a number of rows.
    thresholds : dict of str to float or str
        By name of the model; the key of a metric where evaluate chooses.
    reached : dict of str to float
        The queue or the recall at each of them.
    moving : set of str
        Models whose threshold other rows would move.
    """
    if cut is not None and cut.held is None:
        return cut, dict.fromkeys(columns, cut.value), {}, set()

    def estimated(table: ScoreTable) -> Prior:
        raise AssertionError("alpha is known by now")

    thresholds: dict[str, float | str] = {}
    reached: dict[str, float] = {}
    moving: set[str] = set()
    for name, values in columns.items():
        given = read_input(s, values, keep=(), estimated=estimated, **options)
        mixture = given.mixture(given.exact, given.prior.alpha)
        cut = in_rows(cut, given.exact, mixture)
        thresholds[name], reached[name], moves = nearest_cut(cut, given.exact, mixture)
        moving |= {name} if moves else set()
    assert cut is not None
    return cut, thresholds, reached, moving


def _shared_prior(
    s: ArrayLike,
    columns: Mapping[str, FloatArray],
    alpha: str,
    beta: Any,
    confidence: float,
    seed: int,
    sample_weight: ArrayLike | None,
) -> tuple[str, Prior]:
    """Estimate alpha from the most informative scores; return whose they are, and the prior."""

    def table_of(name: str) -> ScoreTable:
        bins = DEFAULT_BINS if len(columns[name]) > MANY_ROWS else None
        return ScoreTable._count(s, columns[name], sample_weight, bins, (), "compare")

    best = max(columns, key=lambda name: auc_pu(table_of(name)))
    table = table_of(best)
    return best, estimated_prior(table, alpha, beta, confidence, seed, "compare")


def _wins(evaluations: dict[str, Evaluation], keys: list[str]) -> tuple[WinRange, ...]:
    """Ranges of alpha over which each model is best, up to what the scores allow."""
    first = next(iter(evaluations.values()))
    top = min(one.feasibility.alpha_upper for one in evaluations.values())
    alphas = np.linspace(0.0, max(min(top, first.beta - 0.01), first.alpha, 0.01), 101)
    curves = {name: one.sensitivity(alphas).values for name, one in evaluations.items()}
    names = list(evaluations)
    wins = []
    for key in keys:
        values = np.array([curves[name][key] for name in names])
        if not metric_spec(key, "compare").higher_is_better:
            values = -values
        values = np.where(np.isnan(values), -np.inf, values)
        best = values.argmax(0)
        # Ties (a metric that alpha does not reach) go to the model that already leads.
        for i in range(1, len(best)):
            if values[best[i - 1], i] >= values[best[i], i] - 1e-12:
                best[i] = best[i - 1]
        changes = [0, *(np.flatnonzero(np.diff(best)) + 1).tolist(), len(alphas)]
        low = 0.0
        for start, end in pairwise(changes):
            high = float(alphas[-1])
            if end < len(alphas):
                high = _crossing(alphas, values[best[start]], values[best[end]], end)
            wins.append(WinRange(key, names[best[start]], low, high))
            low = high
    return tuple(wins)


def _crossing(alphas: FloatArray, old: FloatArray, new: FloatArray, end: int) -> float:
    """Alpha between two grid points where the lead changes hands."""
    before, after = old[end - 1] - new[end - 1], new[end] - old[end]
    share = before / (before + after) if before + after > 0 else 1.0
    return float(alphas[end - 1] + np.clip(share, 0, 1) * (alphas[end] - alphas[end - 1]))
