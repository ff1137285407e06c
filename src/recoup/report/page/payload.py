"""Everything the script of a report page computes with, as plain values."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.prior import Prior
from recoup._core.results import to_plain
from recoup.evaluation import Evaluation
from recoup.evaluation.next_step import CHECKS
from recoup.evaluation.possible import PLAUSIBLE_BETA, open_shares
from recoup.evaluation.possible import SMALLEST_GAP as OPEN_GAP
from recoup.evaluation.uncertainty import uncertainty
from recoup.evaluation.warning_signs import leak_note
from recoup.metrics import intervals
from recoup.metrics.area import auc_pu
from recoup.metrics.bands import BAND_BINS, CurveName
from recoup.metrics.bounds import bounds_from_table
from recoup.metrics.influence import Influence, auc_effects, rows_behind
from recoup.metrics.observed import group_shares
from recoup.metrics.point import precision as precision_at
from recoup.metrics.point_limits import N_DRAWS
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import MetricSpec, metric_spec
from recoup.report.page.light import labels_asked
from recoup.report.page.script import is_fixed
from recoup.scores.table import DEFAULT_BINS, ScoreTable
from recoup.selection.how_labeled import odds_left_open, tilts_up_to

# How large the tables of all models together may be on the page, in bytes.
TABLES_BYTES = 5_000_000
FEWEST_BINS = 256
# A picture shows no more points than it has pixels.
BOUND_POINTS, CURVE_POINTS = 200, 400
# Typed arrays of a script, and what numpy calls them.
TYPES = {
    "Uint8Array": "<u1",
    "Uint16Array": "<u2",
    "Uint32Array": "<u4",
    "Float32Array": "<f4",
    "Float64Array": "<f8",
}
# The sliders keep beta - alpha at least this large, since metrics divide by it. An evaluation whose
# beta - alpha is smaller keeps its own.
SMALLEST_GAP = 0.01
STUDENT_DEGREE = 24


def page_data(evaluations: Mapping[str, Evaluation], room: int = TABLES_BYTES) -> dict[str, Any]:
    """Gather what a page needs to recover every number again for other alpha, beta and threshold.

    Parameters
    ----------
    evaluations : mapping of str to Evaluation
        The models of the page by their names.
    room : int, default=TABLES_BYTES
        How large their tables together may be, in bytes.

    Returns
    -------
    dict
        Ready for JSON. ``models`` is a list with one entry per model: ``evaluation`` holds
        ``Evaluation.to_dict()``, ``table`` the counts per score that it was computed from, the
        rest what intervals, bands, bounds and sliders need. Long arrays are
        ``{"type": ..., "data": ...}``, little-endian numbers as base64.
    """
    packed = {name: _tables(evaluation, None) for name, evaluation in evaluations.items()}
    weight = sum(_weight(tables) for tables in packed.values())
    if weight > room:
        longest = max(len(evaluation.table.scores) for evaluation in evaluations.values())
        bins = max(int(longest * room / weight), FEWEST_BINS)
        packed = {name: _tables(evaluation, bins) for name, evaluation in evaluations.items()}
    return {
        "models": [
            {"name": str(name), **packed[name], **_model(evaluation)}
            for name, evaluation in evaluations.items()
        ]
    }


def as_island(data: dict[str, Any]) -> str:
    r"""Write data as JSON that no text in it can break out of, wherever in a page it stands.

    Examples
    --------
    >>> as_island({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _tables(evaluation: Evaluation, bins: int | None) -> dict[str, Any]:
    """Pack the table that was unmixed, and the one with unlabeled rows as negative if it differs.

    With ``bins``, both are thinned further, so that many models fit on one page.
    """
    keep = (0.5, evaluation.threshold)
    table, given = evaluation.table, evaluation.given
    coarser = bins is not None and len(table.scores) > bins
    shown = table if bins is None else table.thin(bins, keep)
    return {
        "table": _pack_table(shown),
        # The thresholds that intervals of curves look at.
        "places": pack(np.searchsorted(shown.scores, shown.thin(BAND_BINS).scores)),
        "naive": None
        if _same(given.exact, given.naive)
        else _pack_table(given.naive.thin(bins or DEFAULT_BINS, keep)),
        "coarser": coarser,
    }


def _same(first: ScoreTable, second: ScoreTable) -> bool:
    return first is second or all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("scores", "labeled", "unlabeled")
    )


def _pack_table(table: ScoreTable) -> dict[str, Any]:
    squares = None
    if table.squares is not None:
        # The third are those of the known negatives, where there are any among the unlabeled rows.
        squares = [pack(square) for square in table.squares[: 3 if table.n_known else 2]]
    return {
        "scores": pack(table.scores),
        "labeled": pack(table.labeled),
        "unlabeled": pack(table.unlabeled),
        "centers": pack(table.centers) if table.thinned else None,
        "squares": squares,
        "known": pack(table.known) if table.known is not None and table.n_known else None,
        "shared": None if table.shared is None else pack(table.shared),
        "thinned": table.thinned,
        "n_labeled": float(table.n_labeled),
        "n_unlabeled": float(table.n_unlabeled),
        "n_known": float(table.n_known),
    }


def pack(values: NDArray[Any]) -> dict[str, str]:
    """Write an array as base64, in the shortest type that holds every value exactly."""
    # A value that a type cannot hold changes when it is converted, and is then not equal.
    with np.errstate(invalid="ignore", over="ignore"):
        name = next(
            name
            for name, dtype in TYPES.items()
            if np.array_equal(values.astype(dtype), values, equal_nan=True)
        )
    data = base64.b64encode(values.astype(TYPES[name]).tobytes()).decode("ascii")
    return {"type": name, "data": data}


def _weight(tables: dict[str, Any]) -> int:
    return sum(
        len(column["data"])
        for table in (tables["table"], tables["naive"])
        if table is not None
        for entry in table.values()
        for column in (entry if isinstance(entry, list) else [entry])
        if isinstance(column, dict)
    )


def _model(evaluation: Evaluation) -> dict[str, Any]:
    """Everything of one model but its tables."""
    given, counts = evaluation.given, evaluation.given.counts
    specs = {key: _spec(metric_spec(key, "page_data")) for key in evaluation.metrics}
    plain: dict[str, Any] = to_plain(
        {
            "evaluation": evaluation.to_dict(),
            "specs": specs,
            "by_propensity": given.by_propensity,
            "single_precision": given.single_precision,
            "holds_probabilities": evaluation.table.holds_probabilities,
            "counts": {
                "n_labeled": counts.n_labeled,
                "n_unlabeled": counts.n_unlabeled,
                "n_rows": counts.n_rows,
                "unlabeled_squares": counts.squares_of("unlabeled").sum(),
            },
            **_interval_parts(evaluation),
            "bands": {name: _band(evaluation, name) for name in get_args(CurveName)},
            "bounds": _bounds(evaluation),
            "calibration": evaluation.calibration and evaluation.calibration.to_dict(),
            "prior_curve": _prior_curve(evaluation),
            "audit": _audited_curves(evaluation),
            "ranges": _ranges(evaluation),
        }
    )
    return plain


def _spec(spec: MetricSpec) -> dict[str, Any]:
    """Give what the page's script needs to know of a metric."""
    names = ("script", "params", "raw_curve", "limits_of")
    more = {name: getattr(spec, name) for name in names}
    # How Python finds the interval of an area: from the influence of rows, or from moved curves.
    from_rows = spec.row_effects is not None and not spec.at_edge
    return spec.described() | more | {"fixed": is_fixed(spec.key), "from_rows": from_rows}


def _interval_parts(evaluation: Evaluation) -> dict[str, Any]:
    """Give what intervals at another alpha, beta and threshold are made of."""
    table, prior, confidence = evaluation.table, evaluation.prior, evaluation.confidence
    size = rows_behind(table, Influence(*auc_effects(table)))
    quantile = intervals.t_quantile(confidence, size)
    alpha_open, beta_open = open_shares(evaluation.given)
    draws = None
    if prior.alpha_draws is not None:
        alphas, betas = prior.some_draws(N_DRAWS)
        draws = pack(alphas), pack(betas) if prior.beta_draws is not None else None
    return {
        "intervals": {
            "z": intervals.normal_quantile(confidence),
            "t": _student_series(confidence),
            "sizes": table.effective_sizes,
            "auc_pu": intervals.auc_interval(table, auc_pu(table), quantile),
        },
        "shares": group_shares(table, evaluation.scheme),
        "prior": {
            "corners": prior.corners(),
            "draws": draws,
            "range": prior.range,
        },
        "open": {
            "alpha": alpha_open,
            "beta": beta_open,
            "odds": odds_left_open(evaluation.how_labeled),
            "tilts": tilts_up_to(odds_left_open(evaluation.how_labeled)),
            "labels": labels_asked(evaluation),
            "rows": min(CHECKS, int(evaluation.n_unlabeled)),
        },
        "plausible": {"least_beta": PLAUSIBLE_BETA, "smallest_gap": OPEN_GAP},
        # Those of the threshold as it was made, where models of halves say how much rows depend.
        "times": _times(evaluation),
        "beyond": _beyond(evaluation),
        "leak": _leak(evaluation),
    }


def _student_series(confidence: float) -> FloatArray:
    """Chebyshev series of the logarithm of Student's quantile in one over its degrees of freedom.

    A script has no function for the quantile; from one degree of freedom to infinitely many the
    series is right to nine digits.
    """

    def logarithms(inverse: FloatArray) -> FloatArray:
        sizes = 1 + 1 / inverse
        return np.log([intervals.t_quantile(confidence, size) for size in sizes])

    series = Chebyshev.interpolate(logarithms, STUDENT_DEGREE, domain=[0.0, 1.0])
    return np.asarray(series.coef, float)


def _times(evaluation: Evaluation) -> dict[str, float]:
    """By how much rows that are not independent widen the interval of each metric."""
    return evaluation.given.widening(evaluation.mixture, evaluation.threshold)


def _leak(evaluation: Evaluation) -> dict[str, Any]:
    """Give the smallest alpha, for right labels, at which the scores seem to know the labels."""
    made = any(note.code == "leak" for note in evaluation.notes)
    if evaluation.given.by_propensity:
        return {"made": made, "at_zero": False, "from": None}
    table, scheme = evaluation.table, evaluation.scheme

    def leaks(alpha: float) -> bool:
        mixture = Mixture.of(table, alpha, 1.0, scheme)
        return leak_note(table, mixture, Prior(alpha, 1.0)) is not None

    # An alpha calls for so many unlabeled rows with high scores as it is large.
    low, high = 1e-12, 1.0 - 1e-12
    if not leaks(high):
        low = high = 2.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if leaks(middle) else (middle, high)
    return {"made": made, "at_zero": leaks(0.0), "from": high}


def _beyond(evaluation: Evaluation) -> dict[str, tuple[float, float]]:
    """By how much intervals of areas lie above and below the range of the metric, where one does.

    An evaluation keeps limits only inside of it, and a note if there were others.
    """
    if not any(note.code == "out-of-range" for note in evaluation.notes):
        return {}
    limits = uncertainty(
        evaluation.table,
        evaluation.prior,
        evaluation.scheme,
        evaluation.threshold,
        evaluation.confidence,
        _times(evaluation),
    )
    found = {}
    for key, (low, high) in limits.items():
        spec = metric_spec(key, "page_data")
        if spec.kind != "point":
            found[key] = low - spec.high, spec.low - high
    return found


def _band(evaluation: Evaluation, curve: CurveName) -> dict[str, Any]:
    """Give the band that holds each point of a curve, and the one that holds all of them."""
    whole = evaluation.band(curve, simultaneous=True)
    return vars(evaluation.band(curve)) | {
        "whole_lower": whole.lower,
        "whole_upper": whole.upper,
    }


def _bounds(evaluation: Evaluation) -> dict[str, Any] | None:
    """Between which curves the real ones must lie, at a few hundred thresholds."""
    prior = evaluation.prior
    if prior.beta != 1 or evaluation.given.by_propensity:
        return None
    counts = evaluation.given.counts.thin(BOUND_POINTS, (evaluation.threshold,))
    low, high = prior.range
    known = prior.alpha if low == high else (low, high)
    bounds = bounds_from_table(
        counts, alpha=known, confidence=evaluation.confidence, scheme=evaluation.scheme
    )
    roc: dict[str, FloatArray] = {}
    pr: dict[str, FloatArray] = {}
    for side, tables in (("lower", bounds.lower), ("upper", bounds.upper)):
        tpr, fpr, pi = tables.rates()
        roc |= {f"{side}_fpr": fpr, f"{side}_tpr": tpr}
        precision = precision_at.from_rates(tpr, fpr, pi)
        precision[0] = precision[1]
        pr |= {f"{side}_recall": tpr, f"{side}_precision": precision}
    return {"roc": roc, "pr": pr}


def _prior_curve(evaluation: Evaluation) -> dict[str, Any] | None:
    """Give the picture that an estimate of alpha was read from."""
    estimate = evaluation.prior_estimate
    if estimate is None or estimate.curve is None:
        return None
    curve = estimate.curve
    shown = np.unique(np.linspace(0, len(curve.x) - 1, CURVE_POINTS).round().astype(int))
    return {
        **vars(curve),
        "x": np.asarray(curve.x)[shown],
        "lines": {name: np.asarray(line)[shown] for name, line in curve.lines.items()},
    }


def _audited_curves(evaluation: Evaluation) -> dict[str, Any] | None:
    """Give the curves that checked rows tell, with their bands; no slider moves them."""
    audit = evaluation.audit
    if audit is None or audit.bounds_only:
        return None
    n = len(audit.roc.fpr)
    shown = np.unique(np.linspace(0, n - 1, min(n, 2 * CURVE_POINTS)).round().astype(int))
    names = ("x", "lower", "upper")
    return {
        "roc": {
            "x": audit.roc.fpr[shown],
            "y": audit.roc.tpr[shown],
            "band": {name: getattr(audit.roc_band, name) for name in names},
        },
        "pr": {
            "x": audit.pr.recall[shown],
            "y": audit.pr.precision[shown],
            "band": {name: getattr(audit.pr_band, name) for name in names},
        },
        "auc": audit["roc_auc"].audited,
        "here": {
            "fpr": 1 - audit["specificity"].audited,
            "recall": audit["recall"].audited,
            "precision": audit["precision"].audited,
        },
    }


def _ranges(evaluation: Evaluation) -> dict[str, Any]:
    """How far sliders go: to just past what the scores allow, and alpha stays below beta."""
    alpha, beta, limits = evaluation.alpha, evaluation.beta, evaluation.feasibility
    gap = min(SMALLEST_GAP, beta - alpha)
    # The largest alpha is proportional to beta, and the largest 1 - beta to 1 - alpha. The sliders
    # reach the largest values of all: those for beta = 1 and for alpha = 0.
    room = (1 - limits.beta_lower) / (1 - alpha)
    # Where positives are rare, small steps matter.
    least = min(0.05, 10 * alpha) if alpha > 0 else 0.05
    top = max(1.1 * limits.alpha_upper / beta, 1.2 * alpha, least)
    bottom = max(min(1 - 1.1 * room, beta), gap)
    low, high = evaluation.table.score_range
    if evaluation.table.holds_probabilities:
        low, high = 0.0, 1.0
    return {
        "gap": gap,
        "alpha": (0.0, min(top, 1.0 - gap)),
        "beta": (1.0 if evaluation.given.by_propensity else bottom, 1.0),
        "threshold": (min(low, evaluation.threshold), max(high, evaluation.threshold)),
    }
