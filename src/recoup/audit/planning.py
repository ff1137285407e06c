"""plan: which rows to check so that every number is known as well as wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, Scheme, brief, check_scheme
from recoup._core.random import RandomState, as_seed
from recoup.audit.answers import Audit
from recoup.audit.drawing import ArrayRows, ScoredRows
from recoup.audit.opinions import Opinions
from recoup.audit.plans import AuditPlan, PlanBasis
from recoup.audit.population import JudgedRows
from recoup.audit.posterior import posterior, refitted, tilted
from recoup.audit.strata import Strata, allocate, cut, expected_errors, size_measure
from recoup.exceptions import InvalidInputError
from recoup.metrics.default_cut import default_cut
from recoup.metrics.intervals import normal_quantile
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import metric_spec
from recoup.scores.table import DEFAULT_BINS, ScoreTable

METRICS = ("precision", "recall", "f1", "alpha", "roc_auc", "average_precision")
DEFAULT_BUDGET = 200
# Odds of a label between the highest and the lowest scoring positive, as in the sensitivity.
TILT = 5.0
# Chances below this are no evidence that a score holds no positives.
LEAST = 0.002
# Hidden positives for each label, where labels are too few to estimate alpha.
ROUGH_RATIO = 2.0


@dataclass(frozen=True)
class Wishes:
    """What a plan should do; the parameters of :func:`plan`, checked.

    Attributes
    ----------
    threshold : float or None
        Where scores become predictions; None to choose it.
    budget : int or None
        Rows to check in all; None if it follows from the goal.
    goal : mapping of str to float or None
        Half-widths of intervals that are wanted.
    alpha : float or None
        Share of positives among the unlabeled rows; None to estimate it.
    beta : float
        Share of right labels.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    metrics : tuple of str
        What the rows are chosen for.
    include_labeled : int
        Labeled rows to check too.
    n_waves : int
        Waves that the budget is spread over.
    confidence : float
        Level of the half-widths.
    seed : int
        Seed of the order in which rows are checked.
    """

    threshold: float | None
    budget: int | None
    goal: Mapping[str, float] | None
    alpha: float | None
    beta: float
    scheme: Scheme
    metrics: tuple[str, ...]
    include_labeled: int
    n_waves: int
    confidence: float
    seed: int

    @classmethod
    def checked(
        cls,
        threshold: Any,
        budget: Any,
        goal: Any,
        alpha: Any,
        beta: float,
        scheme: Scheme,
        metrics: Sequence[str],
        include_labeled: Any,
        n_waves: Any,
        confidence: Any,
        random_state: Any,
        caller: str,
    ) -> Wishes:
        """Refuse what cannot work, before any row is read."""
        check_scheme(scheme, caller)
        names = _checked_metrics(metrics, goal, caller)
        _check_numbers(budget, goal, include_labeled, n_waves, confidence, caller)
        if alpha is not None and not (isinstance(alpha, Real) and 0 <= float(alpha) <= 1):
            raise InvalidInputError(
                f"{caller} needs alpha in [0, 1]: it is a share of rows. Got {brief(alpha)}."
            )
        if threshold is not None and not (
            isinstance(threshold, Real) and np.isfinite(float(threshold))
        ):
            raise InvalidInputError(
                f"{caller} needs threshold to be a finite number. Got {brief(threshold)}."
            )
        return cls(
            None if threshold is None else float(threshold),
            budget,
            goal,
            None if alpha is None else float(alpha),
            float(beta),
            scheme,
            names,
            int(include_labeled),
            int(n_waves),
            float(confidence),
            as_seed(random_state, caller),
        )


def plan(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None = None,
    *,
    threshold: float | None = None,
    budget: int | None = None,
    goal: Mapping[str, float] | None = None,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    metrics: Sequence[str] = METRICS,
    proxy: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    include_labeled: int = 0,
    n_waves: int = 2,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> AuditPlan:
    """Choose rows to check by hand, so that every metric is known whatever the labels are.

    Rows are drawn by strata of the score: more where an answer moves the metrics more and where
    the labels leave more open, and some everywhere.

    Parameters
    ----------
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : array-like of shape (n,)
        Higher is more positive.
    threshold : float, optional
        Where scores become predictions. By default where :func:`recoup.evaluate` cuts scores in
        [0, 1]; for others the score above which as many rows lie as there are positives.
    budget : int, optional
        Rows to check in all. By default 200, unless there is a goal.
    goal : mapping of str to float, optional
        Half-widths of intervals that are wanted, such as ``{"precision": 0.02}``; the budget
        follows.
    alpha : float, optional
        Share of positives among the unlabeled rows. By default estimated from the scores. A wrong
        one costs checks, not validity.
    beta : float, default=1.0
        Share of right labels.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    metrics : sequence of str
        What the rows are chosen for; ``"alpha"`` is one too. By default precision, recall, F1,
        alpha, AUC and average precision.
    proxy : array-like of shape (n,), optional
        A second opinion on every row, from 0 (negative) to 1 (positive): the verdict of another
        model or of a junior analyst. It makes intervals narrower where it is good, and does no
        harm where it is not. 0.5 where there is none.
    ids : array-like of shape (n,), optional
        Ids of the rows, each once. By default the positions.
    include_labeled : int, default=0
        Labeled rows to check too, which tells the share of right labels. They count apart from
        the budget.
    n_waves : int, default=2
        Waves that the budget is spread over; each learns from those before.
    confidence : float, default=0.95
        Level of the half-widths.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the order in which rows are checked.

    Returns
    -------
    AuditPlan

    Examples
    --------
    >>> import recoup
    >>> example = recoup.load_example()
    >>> todo = plan(example.s, example.scores["score_boosting"], threshold=0.5, budget=100)
    >>> todo.n_rows, todo.budget, todo.waves
    (50, 100, 2)
    """
    caller = "audit.plan"
    wishes = Wishes.checked(
        threshold,
        budget,
        goal,
        alpha,
        beta,
        scheme,
        metrics,
        include_labeled,
        n_waves,
        confidence,
        random_state,
        caller,
    )
    if isinstance(s, ScoreTable):
        raise InvalidInputError(
            "audit.plan needs rows to choose from. Got a table of counts. Pass s and scores as "
            "arrays, or call recoup.audit.plan_from for files and frames."
        )
    if scores is None:
        raise InvalidInputError(
            "audit.plan needs scores beside the labels. Got s alone. For files and frames call "
            "recoup.audit.plan_from."
        )
    rows = ArrayRows.of(s, scores, ids, caller)
    if proxy is None:
        return planned(rows, wishes, caller)
    second = proxy

    def opinions(table: ScoreTable) -> Opinions:
        return Opinions.of(second, rows.s, rows.scores, table, caller)

    return planned(rows, wishes, caller, opinions)


def planned(
    rows: ScoredRows,
    wishes: Wishes,
    caller: str,
    opinions_of: Callable[[ScoreTable], Opinions] | None = None,
) -> AuditPlan:
    """Choose rows to check, wherever they are.

    Parameters
    ----------
    rows : ScoredRows
        What there is to choose from.
    wishes : Wishes
        What the plan should do.
    caller : str
        Who asks, for error messages.
    opinions_of : callable, optional
        Counts rows by score and second opinion.

    Returns
    -------
    AuditPlan
    """
    keep = kept_scores(wishes.threshold)
    table = rows.count(keep).thin(DEFAULT_BINS, keep)
    alpha = _estimated_alpha(table, caller) if wishes.alpha is None else wishes.alpha
    scheme, at = wishes.scheme, wishes.threshold
    at = _default_threshold(table, alpha, wishes.beta, scheme) if at is None else at
    chance = posterior(table, alpha)
    opinions = None if opinions_of is None else opinions_of(table)
    sharpness = None
    if opinions is not None:
        sharpness = opinions.sharpness(chance, alpha * table.n_unlabeled / table.n_labeled)
    population = JudgedRows.of(table, scheme, at)
    size, slopes = size_measure(population, chance, wishes.metrics, sharpness)
    budget = wishes.budget
    if wishes.goal is not None:
        budget = _needed(
            population, chance, size, slopes, wishes.goal, wishes.confidence, sharpness
        )
    budget = min(int(budget or DEFAULT_BUDGET), int(table.n_unlabeled))
    strata = cut(population, size, budget)
    candidates = rows.draw(strata, np.minimum(strata.n_rows, budget), wishes.seed)
    most, after = wishes.include_labeled, len(candidates.drawn.rows)
    basis = PlanBasis(
        table,
        keep,
        chance,
        alpha,
        wishes.beta,
        scheme,
        wishes.metrics,
        strata,
        candidates,
        rows.draw_labeled(table, most, wishes.seed + 1, after),
        most,
        wishes.confidence,
        wishes.seed,
        wishes.n_waves,
        rows.positions,
        budget,
        rows.columns,
        opinions,
        sharpness,
    )
    return _wave(basis, at, budget, -(-budget // wishes.n_waves), chance, None)


def kept_scores(threshold: float | None) -> tuple[float, ...]:
    """Return the scores at which a plan's counts are exact, as those of an evaluation are."""
    return (0.5,) if threshold is None or threshold == 0.5 else (0.5, threshold)


def expected_half_widths(
    table: ScoreTable,
    *,
    alpha: float,
    threshold: float,
    scheme: Scheme,
    budget: int,
    metrics: Sequence[str],
    confidence: float,
    odds: float = 1.0,
) -> dict[str, float]:
    """Say what an audit of so many rows would tell, without choosing any.

    Parameters
    ----------
    table : ScoreTable
        The counted rows.
    alpha : float
        Share of positives among the unlabeled rows.
    threshold : float
        Where scores become predictions.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    budget : int
        Rows to check.
    metrics : sequence of str
        What the rows would be chosen for.
    confidence : float
        Level of the intervals.
    odds : float, default=1.0
        How many times the odds of a label differ between the positives with the highest and with
        the lowest scores, while rows are drawn as if they did not.

    Returns
    -------
    dict of str to float
        Expected half-width of each interval.
    """
    names = tuple(metrics)
    population = JudgedRows.of(table, scheme, threshold)
    chance = posterior(table, alpha)
    size, slopes = size_measure(population, chance, names)
    strata, counts = _allocated(population, size, budget)
    if odds != 1:
        chance = tilted(chance, population.unlabeled, odds)
    return _half_widths(population, chance, slopes, strata, counts, confidence)


def _wave(
    basis: PlanBasis,
    threshold: float,
    budget: int,
    n: int,
    chance: FloatArray,
    before: Audit | None,
) -> AuditPlan:
    """Choose the rows of one wave: the next of every stratum."""
    population = JudgedRows.of(basis.table, basis.scheme, threshold)
    size, slopes = size_measure(population, chance, basis.metrics, basis.sharpness)
    strata = basis.strata
    done = np.zeros(len(strata.n_rows), np.int64)
    wave = 1
    if before is not None:
        assert before.plan is not None
        done, wave = before.plan.counts_of(before.rows), int(before.wave.max()) + 1
    index = strata.of(population.scores)
    sizes = np.bincount(index, population.unlabeled * size, len(strata.n_rows)).astype(float)
    available = np.minimum(strata.n_rows, basis.candidates.counts)
    total = allocate(sizes, available, int(done.sum()) + n)
    for _ in range(10):
        # What was checked already cannot be taken back: the other strata share what is left.
        over = total < done
        if not over.any():
            break
        free = ~over
        total = done.copy()
        left = int(done[free].sum()) + n
        total[free] = allocate(sizes[free], available[free], left)
        total = np.maximum(total, done)
        if total.sum() <= done.sum() + n:
            break
    total = _trimmed(total, done, n)
    picked = basis.candidates.between(done, total)
    rows = np.append(picked, basis.labeled.rows if wave == 1 else basis.labeled.rows[:0])
    order = np.random.default_rng([basis.seed, wave]).permutation(len(rows))
    rows = rows[order]
    final = allocate(sizes, available, max(budget, int(total.sum())))
    expected = _half_widths(
        population, chance, slopes, strata, final, basis.confidence, basis.sharpness
    )
    biased = [
        _half_widths(
            population,
            tilted(chance, population.unlabeled, odds),
            slopes,
            strata,
            final,
            basis.confidence,
            basis.sharpness,
        )
        for odds in (TILT, 1 / TILT)
    ]
    worst = {key: max(value, *(one[key] for one in biased)) for key, value in expected.items()}
    return AuditPlan(
        rows,
        basis.ids_of(rows),
        threshold,
        max(budget, int(total.sum())),
        wave,
        total,
        expected,
        worst,
        basis,
        before,
    )


def _trimmed(total: NDArray[np.int64], done: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Take back what is more than so many new checks, one by one from where most are new."""
    total = total.copy()
    while (total - done).sum() > n:
        total[np.argmax(total - done)] -= 1
    return total


def next_wave(audit: Audit, n: int | None) -> AuditPlan:
    """Plan the next wave of an audit.

    Parameters
    ----------
    audit : Audit
        Answers so far, of a plan.
    n : int or None
        Rows to check; None for the rest of the budget, spread over the waves that are left.

    Returns
    -------
    AuditPlan
    """
    before = audit.plan
    assert before is not None
    basis = before.basis
    if n is None:
        n = -(-audit.remaining // max(basis.n_waves - before.wave, 1))
    if not isinstance(n, Integral) or n < 1:
        raise InvalidInputError(
            f"Audit.next needs a whole number of rows from 1. Got {brief(n)}, with "
            f"{audit.remaining:,} rows of the budget left."
        )
    scores, labels = before.scores_of(audit.rows)
    known = (labels == 0) & ~np.isnan(audit.truth)
    population = JudgedRows.of(basis.table, basis.scheme, before.threshold)
    assert audit.probability is not None
    chance = refitted(
        basis.p,
        basis.p[population.cells(scores[known])],
        audit.truth[known],
        1 / audit.probability[known],
    )
    return _wave(basis, before.threshold, before.budget, int(n), chance, audit)


def half_widths_along(plan: AuditPlan) -> dict[str, list[Any]]:
    """Return expected half-widths for several numbers of checks, as columns.

    Parameters
    ----------
    plan : AuditPlan
        The plan.

    Returns
    -------
    dict of str to list
        checks, metric and half_width.
    """
    basis = plan.basis
    population = JudgedRows.of(basis.table, basis.scheme, plan.threshold)
    size, slopes = size_measure(population, basis.p, basis.metrics, basis.sharpness)
    columns: dict[str, list[Any]] = {"checks": [], "metric": [], "half_width": []}
    most = int(basis.table.n_unlabeled)
    steps = np.unique(np.minimum(np.geomspace(20, max(4 * plan.budget, 40), 15), most).astype(int))
    for checks in steps:
        strata, counts = _allocated(population, size, int(checks))
        found = _half_widths(
            population, basis.p, slopes, strata, counts, basis.confidence, basis.sharpness
        )
        for key, value in found.items():
            columns["checks"].append(int(checks))
            columns["metric"].append(key)
            columns["half_width"].append(value)
    return columns


def _allocated(
    population: JudgedRows, size: FloatArray, budget: int
) -> tuple[Strata, NDArray[np.int64]]:
    strata = cut(population, size, budget)
    index = strata.of(population.scores)
    sizes = np.bincount(index, population.unlabeled * size, len(strata.n_rows)).astype(float)
    return strata, allocate(sizes, strata.n_rows, budget)


def _half_widths(
    population: JudgedRows,
    chance: FloatArray,
    slopes: dict[str, FloatArray],
    strata: Strata,
    counts: NDArray[np.int64],
    confidence: float,
    sharpness: FloatArray | None = None,
) -> dict[str, float]:
    safe = np.clip(chance, LEAST, 1 - LEAST)
    errors = expected_errors(population, safe, slopes, strata, counts, sharpness)
    return {key: normal_quantile(confidence) * error for key, error in errors.items()}


def _needed(
    population: JudgedRows,
    chance: FloatArray,
    size: FloatArray,
    slopes: dict[str, FloatArray],
    goal: Mapping[str, float],
    confidence: float,
    sharpness: FloatArray | None,
) -> int:
    """Return the fewest checks that reach every goal; all rows if fewer do not."""
    low, high = 8, int(population.unlabeled.sum())

    def reached(budget: int) -> bool:
        strata, counts = _allocated(population, size, budget)
        found = _half_widths(population, chance, slopes, strata, counts, confidence, sharpness)
        return all(found[key] <= value for key, value in goal.items())

    if high <= low or reached(low):
        return min(low, high)
    while high - low > max(1, low // 100):
        middle = int(np.sqrt(low * high)) if high > 2 * low else (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _estimated_alpha(table: ScoreTable, caller: str) -> float:
    from recoup.priors import estimate
    from recoup.priors.base import MIN_LABELED

    if table.n_labeled < MIN_LABELED:
        # Too few to estimate from; a rough share costs checks, not validity.
        return float(np.clip(ROUGH_RATIO * table.n_labeled / table.n_unlabeled, 0.001, 0.5))
    try:
        return float(np.clip(estimate(table.thin(1024)).alpha, 0.001, 0.999))
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{caller} cannot estimate alpha: {error} Pass a rough alpha: a wrong one costs "
            f"checks, not validity."
        ) from error


def _default_threshold(table: ScoreTable, alpha: float, beta: float, scheme: Scheme) -> float:
    """Cut where evaluate does; if that depends on the metric, at as many rows as positives."""
    folded = table.with_negatives_folded_in(scheme)
    try:
        mixture = Mixture.of(folded, alpha, beta, scheme)
        at, _ = default_cut(folded, mixture)
    except InvalidInputError:  # a rough alpha may be none that the labels allow
        at = None
    if at is not None:
        return at
    rows = (table.unlabeled + (table.labeled if scheme == "single-sample" else 0)).astype(float)
    positives = alpha * table.n_unlabeled + (table.n_labeled if scheme == "single-sample" else 0)
    above = np.cumsum(rows[::-1])[::-1]
    return float(table.scores[np.searchsorted(-above, -positives, side="left")])


def _checked_metrics(
    metrics: Sequence[str], goal: Mapping[str, float] | None, caller: str
) -> tuple[str, ...]:
    names = tuple(dict.fromkeys([*metrics, *(goal or {})]))
    for key in names:
        if key != "alpha":
            metric_spec(key, caller)
    for key, value in (goal or {}).items():
        if not isinstance(value, Real) or not float(value) > 0:
            raise InvalidInputError(
                f"{caller} needs goals to be half-widths above 0, such as 0.02 for two points. Got "
                f"{brief(value)} for {key}."
            )
    return names


def _check_numbers(
    budget: Any, goal: Any, include_labeled: Any, n_waves: Any, confidence: Any, caller: str
) -> None:
    if budget is not None and goal is not None:
        raise InvalidInputError(
            f"{caller} needs a budget or a goal, not both: each follows from the other. Got "
            f"budget={brief(budget)} and goal={brief(goal)}. Drop one of them."
        )
    least = {
        "budget": (budget, 2),
        "include_labeled": (include_labeled, 0),
        "n_waves": (n_waves, 1),
    }
    for name, (value, low) in least.items():
        if value is not None and (not isinstance(value, Integral) or value < low):
            raise InvalidInputError(
                f"{caller} needs {name} to be a whole number from {low}. Got {brief(value)}."
            )
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise InvalidInputError(
            f"{caller} needs confidence between 0 and 1. Got {brief(confidence)}."
        )
