"""Turn an evaluation into plain words and plain values; all thinking happens here."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recoup._core.registry import registered
from recoup._core.results import to_plain
from recoup._core.text import say_p, show_count, show_digits, show_percent, show_range
from recoup.evaluation import Estimate, Evaluation
from recoup.evaluation.next_step import CHANCE
from recoup.evaluation.operating_points import points_at
from recoup.metrics.spec import HEADINGS, metric_spec
from recoup.report.page.audited import answers_in_words, audit_of, cases_of
from recoup.report.page.light import light_of
from recoup.report.page.verdict import verdict
from recoup.selection.how_labeled import SAID

__all__ = ["data_digest", "in_short", "sentences", "summarize"]

N_POINTS = 10
SOURCES = {
    "roc_auc": "AUC and balanced accuracy: Jain, White, Radivojac (2017), Recovering true "
    "classifier performance in positive-unlabeled learning, AAAI.",
    "accuracy": "Accuracy, precision, recall, F and Matthews correlation: Ramola, Jain, Radivojac "
    "(2019), Estimating classification accuracy in positive-unlabeled learning: characterization "
    "and correction strategies, Pacific Symposium on Biocomputing.",
    "bounds": "Possible range: Claesen, Davis, De Smet, De Moor (2015), Assessing binary "
    "classifiers using only positive and unlabeled data, arXiv:1504.06837.",
}


def summarize(
    evaluation: Evaluation, *, truth: Mapping[str, float] | None = None, offer: bool = True
) -> dict[str, Any]:
    """Say what an evaluation found.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    truth : mapping of str to float, optional
        True values by metric key, where they are known.
    offer : bool, default=True
        Whether to say what checking rows by hand would tell, which takes a while.

    Returns
    -------
    dict
        Ready for JSON. ``verdict`` is the answer in short
        (:func:`~recoup.report.page.verdict.verdict`), ``next_step`` what to do next, with its
        code and command, ``sentences`` a list of plain sentences;
        ``audit`` what rows checked by hand tell, or would tell
        (:func:`~recoup.report.page.audited.audit_of`);
        ``groups`` the metrics with their PU and recovered values, intervals and bounds; ``points``
        the operating points; ``confusion`` splits so many cases as
        ``cases`` says; ``settings``, ``assumption``,
        ``given`` and ``notes`` what the numbers rest on; ``prior`` how alpha was estimated, or
        None; ``sources`` where the methods come from; ``digest`` the SHA-256 of the scores and
        their counts.
    """
    summary: dict[str, Any] = to_plain(
        {
            "sentences": sentences(evaluation),
            "settings": _settings(evaluation),
            "verdict": verdict(evaluation),
            "next_step": evaluation.next_step.to_dict(),
            "audit": audit_of(evaluation, offer),
            **_assumption(evaluation),
            "groups": _groups(evaluation, truth or {}),
            "points": _points(evaluation),
            "prior": _prior(evaluation),
            "confidence": evaluation.confidence,
            "cases": cases_of(evaluation),
            "confusion": _confusion(evaluation),
            "notes": list(map(str, evaluation.notes)),
            "sources": _sources(evaluation),
            "digest": data_digest(evaluation),
        }
    )
    return summary


def in_short(evaluation: Evaluation, *, truth: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Say what an evaluation found as far as a terminal shows it, which takes a quarter as long.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.
    truth : mapping of str to float, optional
        True values by metric key, where they are known.

    Returns
    -------
    dict
        ``groups``, ``sentences``, ``next_step`` and ``notes`` of :func:`summarize`, and the
        ``light`` of its verdict.
    """
    summary: dict[str, Any] = to_plain(
        {
            "groups": _groups(evaluation, truth or {}),
            "sentences": sentences(evaluation),
            "light": light_of(evaluation),
            "next_step": evaluation.next_step.to_dict(),
            "notes": list(map(str, evaluation.notes)),
        }
    )
    return summary


def sentences(evaluation: Evaluation) -> list[str]:
    """Say in plain sentences what was found, how sure it is, and what it rests on."""
    return [
        *answers_in_words(evaluation),
        _about_rows(evaluation),
        _about_ranking(evaluation),
        _about_decisions(evaluation),
        *_about_chance(evaluation),
        _about_feasibility(evaluation),
    ]


def _about_rows(evaluation: Evaluation) -> str:
    text = f"{show_count(evaluation.n_labeled)} rows are labeled positive"
    if evaluation.beta < 1:
        text += f" ({show_percent(evaluation.beta)} of them rightly)"
    text += f" and {show_count(evaluation.n_unlabeled)} are unlabeled"
    if evaluation.n_negative:
        text += f"; {show_count(evaluation.n_negative)} are known negatives"
    found = evaluation.hidden
    ends = f"{show_count(found.lower)} to {show_count(found.upper)}"
    hidden = f"about {show_count(found.count)} ({ends})"
    if evaluation.given.by_propensity:
        source = f"The propensities imply alpha {evaluation.prior}:"
    else:
        source = f"With alpha {evaluation.prior},"
    return f"{text}. {source} {hidden} of the unlabeled rows are positive."


def _about_ranking(evaluation: Evaluation) -> str:
    auc = evaluation["roc_auc"]
    return (
        f"Shown one positive and one negative row, the model ranks the positive one higher "
        f"{_about(auc.recovered)} times in 100{_between(auc)}. "
        f"Counting unlabeled rows as negative would have said {_of_100(auc.pu)}."
    )


def _about_decisions(evaluation: Evaluation) -> str:
    recall, precision = evaluation["recall"], evaluation["precision"]
    at = f"At threshold {show_digits(evaluation.threshold, 4)}"
    if math.isnan(precision.recovered) and not evaluation.at(evaluation.threshold).queue:
        rows = "unlabeled row" if evaluation.scheme == "case-control" else "row"
        return f"{at} the model flags no {rows}. Choose a lower threshold."
    found = f"{at}: of 100 positives the model finds {_about(recall.recovered)}{_between(recall)}"
    if math.isnan(precision.recovered):
        return f"{found}; how many of the rows it flags are positive cannot be recovered there."
    return (
        f"{found}; of 100 rows it flags, {_about(precision.recovered)} are really positive"
        f"{_between(precision)}. "
        f"Counting unlabeled rows as negative would have said {_of_100(precision.pu)}."
    )


def _about_chance(evaluation: Evaluation) -> list[str]:
    baseline = evaluation.baseline
    if baseline is None:
        return []
    as_well = f"shuffled labels would be ranked as well with {say_p(baseline.p_value)}"
    if baseline.n_permutations:
        count = round(baseline.p_value * (baseline.n_permutations + 1)) - 1
        as_well = (
            f"{f'{count:,}' if count else 'none'} of {baseline.n_permutations:,} shuffles of the "
            f"labels ranked as well ({say_p(baseline.p_value)})"
        )
    if baseline.p_value <= CHANCE:
        return [f"It beats chance: {as_well}."]
    if baseline.auc_pu < baseline.shuffled_low:
        return [
            "It ranks positives below negatives. Check that higher scores mean more positive, and "
            "turn their sign around if not."
        ]
    return [f"It is not shown to beat chance: {as_well}."]


def _about_feasibility(evaluation: Evaluation) -> str:
    limits = evaluation.feasibility
    at = f"(at {show_percent(limits.confidence)} confidence)"
    most = show_digits(limits.alpha_upper)
    interval = evaluation.prior.interval or (evaluation.alpha, evaluation.alpha)
    given = "estimated" if evaluation.prior_estimate is not None else "given"
    if limits.exceeded:
        return (
            f"Do not trust these numbers: the scores allow alpha up to {most} and beta from "
            f"{show_digits(limits.beta_lower)} {at}, and alpha {evaluation.prior} with beta "
            f"{show_digits(evaluation.beta, 4)} is outside."
        )
    if interval[1] > limits.alpha_upper:
        return (
            f"The scores allow alpha up to {most} {at}: the upper part of the "
            f"{given} range is not possible, and the intervals are wider than need be."
        )
    allowed = f"The scores allow alpha up to {most} {at}"
    if any(note.code == "out-of-range" for note in evaluation.notes):
        return f"{allowed}, but at {evaluation.prior} some numbers cannot be: see the notes."
    return f"{allowed}, so {evaluation.prior} is possible."


def _of_100(share: float) -> str:
    if 0 < share < 0.005:
        return "less than 1"
    if 0.995 < share < 1:
        return "more than 99"
    return f"{100 * share:.0f}"


def _about(share: float) -> str:
    text = _of_100(share)
    return text if "than" in text else f"about {text}"


def _between(item: Estimate) -> str:
    if math.isnan(item.lower) or math.isnan(item.upper):
        return ""
    return f" ({_of_100(item.lower)} to {_of_100(item.upper)})"


def _assumption(evaluation: Evaluation) -> dict[str, str]:
    """Say what must hold for the numbers to be right."""
    if evaluation.given.by_propensity:
        return {
            "given": "the propensities are right",
            "assumption": "The correction is right if the propensities are, each the chance that "
            "a positive row got its label: they were given, not estimated, and alpha follows from "
            "them.",
        }
    if evaluation.prior_estimate is not None:
        return {
            "given": "alpha was estimated well",
            "assumption": "The correction is right if the labeled rows are a random sample of all "
            "positives, and if alpha is right: alpha was estimated, and how unsure the estimate is "
            "went into the intervals. If no row is surely positive, it is too high.",
        }
    return {
        "given": "alpha is right",
        "assumption": "The correction is right if the labeled rows are a random sample of all "
        "positives, and if alpha is right: alpha was given, not estimated.",
    }


def _prior(evaluation: Evaluation) -> dict[str, Any] | None:
    """Say how alpha was estimated: the facts in words, and what each method of several found."""
    estimate = evaluation.prior_estimate
    if estimate is None:
        return None
    facts = {"Method": estimate.method, "Estimate of alpha": show_digits(estimate.alpha, 4)}
    if estimate.interval is not None:
        facts[f"{show_percent(estimate.confidence)} interval"] = " to ".join(
            show_digits(end, 4) for end in estimate.interval
        )
    if estimate.identified is not None:
        facts["The scores alone allow"] = show_range(*estimate.identified)
    facts |= {
        "Hidden positives": show_count(estimate.hidden.value),
        "Positives that are labeled": f"{show_digits(100 * estimate.label_frequency)}%",
        "Read off": estimate.transform,
    }
    if not math.isnan(estimate.upper_limit):
        facts["alpha is at most"] = show_digits(estimate.upper_limit, 4)
    return {
        "facts": facts,
        "members": dict(estimate.members),
        "converged": estimate.converged,
        "warnings": list(map(str, estimate.warnings)),
    }


def _settings(evaluation: Evaluation) -> dict[str, str]:
    about = {
        "single-sample": "all rows (single-sample)",
        "case-control": "the unlabeled rows alone (case-control)",
    }
    settings = {
        "Positives among unlabeled rows (alpha)": str(evaluation.prior),
        "Positives among labeled rows (beta)": show_digits(evaluation.beta, 4),
        "Positives among the rows judged (pi)": _with_interval(
            evaluation.pi, evaluation.pi_interval
        ),
        "The numbers are about": about[evaluation.scheme],
        "How labels came about": SAID[evaluation.labels_are],
        "Labeled rows": show_count(evaluation.n_labeled),
        "Unlabeled rows": show_count(evaluation.n_unlabeled),
    }
    if evaluation.n_negative:
        settings["Known negatives"] = show_count(evaluation.n_negative)
    return settings | {
        "Threshold": show_digits(evaluation.threshold, 6),
        "Confidence": show_percent(evaluation.confidence),
    }


def _with_interval(value: float, ends: tuple[float, float]) -> str:
    low, high = (show_digits(end, 3) for end in ends)
    shown = show_digits(value, 4)
    return shown if ends[0] == ends[1] else f"{shown} ({low} to {high})"


def _groups(evaluation: Evaluation, truth: Mapping[str, float]) -> list[dict[str, Any]]:
    groups = []
    for kind, title in HEADINGS.items():
        rows = []
        for key, item in evaluation.metrics.items():
            spec = metric_spec(key, "summarize")
            if spec.kind == kind:
                more = {"truth": truth.get(key), "higher_is_better": spec.higher_is_better}
                rows.append(vars(item) | more)
        if kind == "point":
            title += f" {show_digits(evaluation.threshold, 4)}"
        if rows:
            groups.append({"title": title, "kind": HEADINGS[kind], "metrics": rows})
    return groups


def _points(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Precision and recall where a tenth, two tenths ... of the rows are flagged."""
    rows = np.cumsum(evaluation.mixture.rows(evaluation.table)[::-1])
    wanted = rows[-1] * np.arange(1, N_POINTS) / N_POINTS
    places = np.unique(np.minimum(np.searchsorted(rows, wanted), len(rows) - 1))
    cuts = {*evaluation.table.scores[::-1][places].tolist(), evaluation.threshold}
    points = []
    for point in points_at(evaluation, sorted(cuts, reverse=True), "summarize"):
        summary: dict[str, Any] = {
            "threshold": point.threshold,
            "queue": point.queue,
            "positive_rate": point.positive_rate,
            "used": point.threshold == evaluation.threshold,
        }
        # Where the threshold was chosen on these rows, only the evaluation allows for that.
        metrics = evaluation.metrics if summary["used"] else point.metrics
        for key in ("precision", "recall"):
            names = ("recovered", "lower", "upper")
            summary[key] = {name: getattr(metrics[key], name) for name in names}
        points.append(summary)
    return points


def _confusion(evaluation: Evaluation) -> dict[str, float]:
    """Split cases by what they are and what the model says."""
    recall, specificity = (evaluation[key].recovered for key in ("recall", "specificity"))
    cases = cases_of(evaluation)
    positives, negatives = cases * evaluation.pi, cases * (1 - evaluation.pi)
    return {
        "tp": positives * recall,
        "fn": positives * (1 - recall),
        "fp": negatives * (1 - specificity),
        "tn": negatives * specificity,
    }


def _sources(evaluation: Evaluation) -> list[str]:
    """Name the papers behind the numbers of this page."""
    bounded = any(not math.isnan(item.bound_lower) for item in evaluation.metrics.values())
    found = [text for key, text in SOURCES.items() if bounded or key != "bounds"]
    estimate = evaluation.prior_estimate
    if estimate is None:
        return found
    known = registered("priors")
    if estimate.method in known:
        found.append(
            f"Estimate of alpha by {estimate.method}: {known[estimate.method].tags.source}."
        )
    return found


def data_digest(evaluation: Evaluation) -> str:
    """SHA-256 of the scores and the counts of rows at each, as little-endian 64-bit floats."""
    digest = hashlib.sha256()
    tables = [evaluation.given.counts]
    if evaluation.given.by_propensity:
        tables.append(evaluation.given.exact)
    for table in tables:
        for column in (table.scores, table.labeled, table.unlabeled, table.negative):
            digest.update(np.ascontiguousarray(column, "<f8").tobytes())
    return digest.hexdigest()
