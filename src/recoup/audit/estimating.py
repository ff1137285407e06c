"""Every metric by an audit: values, intervals, curves, the verdict on the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup._core.notes import Note
from recoup.audit.calibrating import audited_calibration
from recoup.audit.checked import CheckedRows, as_drawn, chances, hidden_mass, right_share
from recoup.audit.labels import labels_verdict, right_labels
from recoup.audit.limits import BLOCKS, Drawn, drawn_again
from recoup.audit.population import JudgedRows
from recoup.audit.results import AuditedEstimate, AuditedEvaluation
from recoup.audit.together import combined
from recoup.metrics.bands import GRID
from recoup.metrics.curve_results import Band, PrCurve, RocCurve
from recoup.metrics.curves import monotone_rate, precision_of
from recoup.metrics.intervals import normal_quantile, spread
from recoup.metrics.spec import METRICS, MetricSpec
from recoup.scores.table import ScoreTable

# A value from the labels alone, and its standard error.
FromLabels = Mapping[str, tuple[float, float]]
BOUND_STEPS = 41


def audited(
    table: ScoreTable,
    alpha: float,
    checked: CheckedRows,
    *,
    threshold: float,
    scheme: Scheme,
    beta: float,
    confidence: float,
    from_labels: FromLabels,
    seed: int,
) -> AuditedEvaluation:
    """Estimate every metric from checked rows, with curves and a verdict on the labels.

    Parameters
    ----------
    table : ScoreTable
        The counted rows, known negatives apart.
    alpha : float
        Share of positives among the unlabeled rows, as far as the labels tell.
    checked : CheckedRows
        The answers.
    threshold : float
        Where scores become predictions.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    beta : float
        Share of right labels, if none of them was checked.
    confidence : float
        Level of the intervals.
    from_labels : mapping of str to (float, float)
        Value and standard error from the labels alone, by key; alpha among them.
    seed : int
        Seed of the intervals.

    Returns
    -------
    AuditedEvaluation
    """
    population = JudgedRows.of(table, scheme, threshold)
    specs = population.specs()
    cases = drawn_cases(population, checked, beta, seed)
    hidden = hidden_mass(population, chances(population, alpha, checked), checked)
    estimates = audited_estimates(
        population,
        hidden,
        checked,
        cases,
        specs,
        beta=beta,
        confidence=confidence,
        from_labels=from_labels,
    )
    bands = _bands(cases, confidence, checked.certain)
    positives = population.positives(hidden, right_share(checked, beta))
    roc = audited_roc(population, positives)
    known = checked.answered
    labels = labels_verdict(
        *as_drawn(population, known), confidence, np.random.default_rng(seed + 1)
    )
    return AuditedEvaluation(
        metrics={spec.key: estimates[spec.key] for spec in specs},
        alpha=estimates["alpha"],
        hidden=estimates["hidden"],
        labels=labels,
        n_checked=len(known.truth) + len(known.labeled),
        n_missing=checked.n_missing,
        beta=right_share(checked, beta),
        roc=roc,
        pr=PrCurve(precision_of(roc), roc.tpr, roc.threshold, roc.pi),
        roc_band=bands["roc"],
        pr_band=bands["pr"],
        bounds_only=checked.certain,
        confidence=float(confidence),
        notes=tuple(_notes(checked, labels.code, labels.text)),
        calibration=audited_calibration(population, checked, positives, cases, confidence),
        right_labels=right_labels(population, checked, confidence),
        checked=checked,
    )


def drawn_cases(
    population: JudgedRows, checked: CheckedRows, beta: float, seed: int, n_cells: int = BLOCKS
) -> list[Drawn]:
    """Draw the positives by score many times: once, or for missing answers of either kind.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers.
    beta : float
        Share of right labels, if none of them was checked.
    seed : int
        Seed of the draws.
    n_cells : int, default=256
        Cells that the scores are joined to, roughly: few will do for one threshold.

    Returns
    -------
    list of Drawn
    """
    # The same seed for both, so that they differ by the missing answers alone.
    return [
        _drawn(population, checked.filled(fill), beta, np.random.default_rng(seed), n_cells)
        for fill in ((0.0, 1.0) if checked.n_missing else (0.0,))
    ]


def audited_estimates(
    population: JudgedRows,
    hidden: FloatArray,
    checked: CheckedRows,
    cases: Sequence[Drawn],
    specs: Sequence[MetricSpec],
    *,
    beta: float,
    confidence: float,
    from_labels: FromLabels,
) -> dict[str, AuditedEstimate]:
    """Estimate metrics, alpha and the number of hidden positives from checked rows.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    hidden : ndarray of shape (n_scores,)
        What :func:`~recoup.audit.checked.hidden_mass` gave.
    checked : CheckedRows
        The answers.
    cases : sequence of Drawn
        What :func:`drawn_cases` gave.
    specs : sequence of MetricSpec
        The metrics.
    beta : float
        Share of right labels, if none of them was checked.
    confidence : float
        Level of the intervals.
    from_labels : mapping of str to (float, float)
        Value and standard error from the labels alone, by key; alpha among them.

    Returns
    -------
    dict of str to AuditedEstimate
        By key; ``"alpha"`` and ``"hidden"`` last.
    """
    positives = population.positives(hidden, right_share(checked, beta))
    n_unlabeled = float(population.unlabeled.sum())
    values = {key: float(one[0]) for key, one in population.values(specs, positives[None]).items()}
    values |= {"alpha": float(hidden.sum() / n_unlabeled), "hidden": float(hidden.sum())}
    labels_alone = dict(from_labels)
    if "alpha" in labels_alone:
        share_alone, its_error = labels_alone["alpha"]
        labels_alone["hidden"] = n_unlabeled * share_alone, n_unlabeled * its_error
    draws = [_values(case, specs) for case in cases]
    estimates = {}
    for key, value in values.items():
        low, high = _limits([one[key] for one in draws], confidence, checked.certain)
        low, high = _inside(key, min(low, value), max(high, value))
        value = _inside(key, value, value)[0]
        error = (high - low) / (2 * normal_quantile(confidence))
        other, other_error = labels_alone.get(key, (np.nan, np.nan))
        both = combined(value, error, other, other_error) if not checked.certain else value
        estimates[key] = AuditedEstimate(
            key, value, low, high, float(other), both, min(low, both), max(high, both)
        )
    return estimates


def value_draws(
    population: JudgedRows, checked: CheckedRows, beta: float, seed: int
) -> dict[str, FloatArray]:
    """Return every metric, alpha and hidden positives for answers that are drawn again.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers, none missing.
    beta : float
        Share of right labels, if none of them was checked.
    seed : int
        Seed of the draws: those of models that share a design belong together.

    Returns
    -------
    dict of str to ndarray of shape (n_draws,)
    """
    case = _drawn(population, checked, beta, np.random.default_rng(seed))
    return _values(case, case.population.specs())


def _notes(checked: CheckedRows, code: str, text: str) -> list[Note]:
    notes = []
    if checked.certain:
        notes.append(
            Note(
                "audit-top",
                "Only the rows with the highest scores were checked: what lies below them is not "
                "known, so that limits are bounds, not intervals. Check rows that "
                "recoup.audit.plan draws for intervals.",
            )
        )
    if checked.n_missing:
        notes.append(
            Note(
                "audit-missing",
                f"{checked.n_missing:,} checked rows have no answer: intervals hold whether these "
                f"are positive or negative.",
            )
        )
    if code in ("favor-high", "favor-low"):
        notes.append(Note("labels-biased", text))
    return notes


def _drawn(
    population: JudgedRows,
    checked: CheckedRows,
    beta: float,
    rng: np.random.Generator,
    n_cells: int = BLOCKS,
) -> Drawn:
    if not checked.certain:
        return drawn_again(population, checked, beta, rng, n_cells=n_cells)
    # Nothing is known about the other rows: as many positives as may be, at either end or evenly.
    known = np.bincount(checked.cells, checked.truth, len(population.scores))
    rows = population.unlabeled - np.bincount(checked.cells, minlength=len(population.scores))
    rows = np.maximum(rows, 0.0)
    cases = []
    for share in np.linspace(0.0, 1.0, BOUND_STEPS):
        wanted = share * rows.sum()
        low = np.clip(wanted - (np.cumsum(rows) - rows), 0.0, rows)
        high = np.clip(wanted - (np.cumsum(rows[::-1]) - rows[::-1]), 0.0, rows[::-1])[::-1]
        cases += [low, high, share * rows]
    hidden: FloatArray = np.array(cases, float) + known
    return Drawn(population, hidden, np.full(len(hidden), right_share(checked, beta)))


def _values(drawn: Drawn, specs: Sequence[MetricSpec]) -> dict[str, FloatArray]:
    found = drawn.population.values(specs, drawn.positives)
    total = drawn.hidden.sum(axis=1)
    return found | {"alpha": total / drawn.population.unlabeled.sum(), "hidden": total}


def _limits(draws: list[FloatArray], confidence: float, certain: bool) -> tuple[float, float]:
    ends = []
    for values in draws:
        values = values[np.isfinite(values)]
        if not len(values):
            return np.nan, np.nan
        ends.append((values.min(), values.max()) if certain else spread(values, confidence))
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def _inside(key: str, low: float, high: float) -> tuple[float, float]:
    if key == "hidden":
        return max(low, 0.0), max(high, 0.0)
    if key == "alpha":
        return float(np.clip(low, 0.0, 1.0)), float(np.clip(high, 0.0, 1.0))
    return METRICS[key].clip(low), METRICS[key].clip(high)


def audited_roc(population: JudgedRows, positives: FloatArray) -> RocCurve:
    """Return the ROC curve of given positives.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    positives : ndarray of shape (n_scores,)
        Positives among them.

    Returns
    -------
    RocCurve
    """
    tpr, fpr = (rate[0] for rate in population.curves(positives[None]))
    weights = np.append(1e-9, population.rows[::-1])
    return RocCurve(
        fpr=monotone_rate(fpr, weights),
        tpr=monotone_rate(tpr, weights),
        threshold=np.append(np.inf, population.scores[::-1]),
        raw_fpr=fpr,
        raw_tpr=tpr,
        pi=float(positives.sum() / population.rows.sum()),
    )


def _bands(cases: list[Drawn], confidence: float, certain: bool) -> dict[str, Band]:
    found: dict[str, list[tuple[FloatArray, FloatArray]]] = {"roc": [], "pr": []}
    for case in cases:
        positives = case.positives
        with np.errstate(divide="ignore", invalid="ignore"):
            tpr, fpr = (np.nan_to_num(rate) for rate in case.population.curves(positives))
        pi = positives.sum(axis=1) / case.population.rows.sum()
        roc = np.array([np.interp(GRID, x, y) for x, y in zip(fpr, tpr, strict=True)])
        rate = pi[:, None] * tpr + (1 - pi[:, None]) * fpr
        precision = np.divide(pi[:, None] * tpr, rate, out=np.ones_like(rate), where=rate > 0)
        pr = np.array([np.interp(GRID, x, y) for x, y in zip(tpr, precision, strict=True)])
        for name, curves in (("roc", roc), ("pr", pr)):
            ends = (curves.min(0), curves.max(0)) if certain else spread(curves, confidence)
            found[name].append(ends)
    return {
        name: Band(
            GRID,
            np.clip(np.min([low for low, _ in ends], axis=0), 0.0, 1.0),
            np.clip(np.max([high for _, high in ends], axis=0), 0.0, 1.0),
            False,
        )
        for name, ends in found.items()
    }
