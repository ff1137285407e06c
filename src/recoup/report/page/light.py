"""The light of a page: what speaks for and against the numbers."""

from __future__ import annotations

from typing import Any

from recoup._core.relative_limits import is_wide
from recoup._core.text import say_p, show_digits, show_number, show_percent, show_range
from recoup.evaluation import Estimate, Evaluation
from recoup.evaluation.next_step import CHANCE, CHECKS, leaves_open
from recoup.evaluation.notes import FEW_LABELED, FEW_UNLABELED
from recoup.evaluation.possible import open_shares
from recoup.metrics.spec import metric_spec
from recoup.report.page.audited import LABEL_LEVELS, with_answers
from recoup.report.page.phrases import (
    LEVELS,
    LIGHTS,
    LIMITS,
    PHRASES,
    RULES,
    TITLE_FIGURES,
)

VERY_FEW_LABELED = 10
# Smaller shifts do not show in three decimals.
SEEN = 0.0005


def light_of(evaluation: Evaluation) -> dict[str, Any]:
    """Say how far the numbers can be relied on.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    dict
        ``level``, ``word`` and ``reasons``, worst first. Each reason has a ``code`` (what it is
        about), a ``level``, a ``text``, and ``holds``: ``"here"`` if another alpha, beta or
        threshold may change it, ``"shares"`` if another threshold does not, ``"made"`` if it is
        about the evaluation as made alone, ``"always"`` if nothing moves it.
    """
    reasons = light_reasons(evaluation)
    levels = [reason["level"] for reason in reasons]
    level = next((name for name in LIGHTS if name in levels), "green")
    return {"level": level, "word": LIGHTS[level], "reasons": reasons}


def light_reasons(evaluation: Evaluation) -> list[dict[str, Any]]:
    """List what speaks for and against the numbers, worst first; ``note`` only informs."""
    found = [reason | {"holds": "here"} for reason in judged(facts_of(evaluation))]
    more = {
        "estimate": (_about_estimate, "shares"),
        "chosen": (_about_chosen, "made"),
        "scores": (_about_scores, "always"),
        "labels": (_about_labels, "always"),
        "ranking": (_about_ranking, "always"),
        "selection": (_about_selection, "always"),
    }
    for code, (about, holds) in more.items():
        for level, text in about(evaluation):
            found.append({"code": code, "level": level, "text": text, "holds": holds})
    order = tuple(LEVELS)
    return sorted(found, key=lambda reason: order.index(reason["level"]))


def judged(facts: dict[str, Any]) -> list[dict[str, str]]:
    """Find the reasons that follow from facts, by the rules that the page's script reads too.

    Parameters
    ----------
    facts : dict
        Numbers that rules compare, and ``words`` that fill their sentences (:func:`facts_of`).

    Returns
    -------
    list of dict
        ``code``, ``level`` and ``text``.
    """
    found: dict[str, dict[str, str]] = {}
    for rule in RULES:
        larger, than = (facts[name] if name else 0.0 for name in (rule.larger, rule.than))
        if rule.code not in found and (not rule.larger or larger > than):
            text = PHRASES[rule.phrase].format(**facts["words"]) if rule.phrase else ""
            found[rule.code] = {"code": rule.code, "level": rule.level, "text": text}
    return [reason for reason in found.values() if reason["level"]]


def facts_of(evaluation: Evaluation) -> dict[str, Any]:
    """Gather the few numbers that the rules compare, and the words for them.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    dict
        By name of the fact; ``words`` holds texts.
    """
    limits, prior = evaluation.feasibility, evaluation.prior
    gap = float(evaluation.mixture.beta - evaluation.mixture.alpha)
    shown = with_answers(evaluation)
    figures = [shown[key] for key in TITLE_FIGURES]
    outside = [
        item
        for item in evaluation.metrics.values()
        if abs(item.raw - metric_spec(item.key, "verdict").clip(item.raw)) > 1e-9
    ]
    wide = [item for item in figures if is_wide(item.lower, item.upper, LIMITS["wide"])]
    wider = [item for item in figures if leaves_open(item)]
    high = prior.range[1]
    words = {
        "confidence": show_percent(limits.confidence),
        "alpha": show_digits(evaluation.alpha),
        "beta": show_digits(evaluation.beta),
        "alpha_upper": show_digits(limits.alpha_upper),
        "beta_lower": show_digits(max(limits.beta_lower, 0.0)),
        "alpha_high": show_digits(high),
        "times": f"{1 / gap:.1f}" if 1 / gap < 10 else f"{1 / gap:.0f}",
        "outside": ", ".join(f"{item.label} {show_number(item.raw)}" for item in outside),
        "wide": " and ".join(
            f"{item.label} ({show_digits(item.lower, 2)} to {show_digits(item.upper, 2)})"
            for item in wide
        ),
        "open": open_words(*open_shares(evaluation.given), evaluation.label_odds),
        "narrows": _narrows(*open_shares(evaluation.given), evaluation.label_odds),
        "open_figures": " and ".join(_could_be(item) for item in wider),
        "ranges": _ranges(evaluation),
        "rows": f"{min(CHECKS, int(evaluation.n_unlabeled)):,}",
    }
    said = labels_asked(evaluation)
    return LIMITS | {
        "exceeded": float(limits.exceeded),
        "alpha": evaluation.alpha,
        "alpha_high": high,
        "alpha_upper": limits.alpha_upper,
        "near_from": LIMITS["near"] * limits.alpha_upper,
        "gap": gap,
        "times": 1 / gap,
        "n_outside": len(outside),
        # Only evaluate saw the limits before they were brought into their range.
        "n_beyond": sum(note.code == "out-of-range" for note in evaluation.notes),
        "leaks": sum(note.code == "leak" for note in evaluation.notes),
        "n_wide": len(wide),
        # What nobody had checked was checked.
        "n_open": 0 if evaluation.audit else len(wider),
        "said_unknown": float(said == "unknown"),
        "said_biased": float(said == "biased"),
        # Where no range includes labels that favor some scores, the numbers are as far off.
        "biased_open": float(said == "biased" and (evaluation.label_odds == 1 or bool(wider))),
        "words": words,
    }


def labels_asked(evaluation: Evaluation) -> str:
    """Say how labels came about, where neither propensities nor an audit say it; else nothing."""
    audit = evaluation.audit
    if evaluation.given.by_propensity or (audit and audit.labels.code != "cannot-tell"):
        return ""
    return evaluation.labels_are


def open_words(alpha: bool, beta: bool, odds: float = 1.0) -> str:
    """Name what is left open: shares, and odds of a label; nothing where all is known."""
    shares = [PHRASES[f"open_{name}"] for name, is_open in _named(alpha, beta) if is_open]
    parts = [" and ".join(shares)] if shares else []
    if odds > 1:
        parts.append(PHRASES["open_labels"].format(odds=show_digits(odds)))
    return ", or if ".join(parts)


def _named(alpha: bool, beta: bool) -> tuple[tuple[str, bool], tuple[str, bool]]:
    return ("alpha", alpha), ("beta", beta)


def _narrows(alpha: bool, beta: bool, odds: float) -> str:
    """Say which rows to look at: unlabeled ones show alpha, and which positives have no label."""
    if alpha or odds > 1:
        return PHRASES["narrows_both" if beta else "narrows_alpha"]
    return PHRASES["narrows_beta"] if beta else ""


def _ranges(evaluation: Evaluation) -> str:
    if evaluation.label_odds == 1:
        return PHRASES["odds_left_out"]
    return PHRASES["odds_included"].format(odds=show_digits(evaluation.label_odds))


def _could_be(item: Estimate) -> str:
    shown = show_range(item.possible_lower, item.possible_upper)
    return PHRASES["open_figure"].format(label=item.label, range=shown)


def _about_estimate(evaluation: Evaluation) -> list[tuple[str, str]]:
    estimate = evaluation.prior_estimate
    if estimate is None:
        known = "alpha_implied" if evaluation.given.by_propensity else "alpha_given"
        return [("note", PHRASES[known])]
    found = []
    if not estimate.converged:
        found.append(
            (
                "red",
                "The estimate of alpha did not settle: its method fell back to a value that it "
                "does not stand for.",
            )
        )
    found += [("amber", f"Estimate of alpha: {warning}") for warning in estimate.warnings]
    if not found and estimate.members:
        low, high = min(estimate.members.values()), max(estimate.members.values())
        found.append(
            (
                "green",
                f"{len(estimate.members)} ways to estimate alpha agree well enough: they found "
                f"{show_range(low, high)}. Nearly all of them take labels as a random sample of "
                f"the positives: this is no sign that they are.",
            )
        )
    return found


def _about_chosen(evaluation: Evaluation) -> list[tuple[str, str]]:
    if not any(note.code == "chosen-threshold" for note in evaluation.notes):
        return []
    shifts = [
        f"{item.label} by {show_number(abs(item.optimism))}"
        for item in (evaluation[key] for key in TITLE_FIGURES)
        if abs(item.optimism) >= SEEN
    ]
    text = "The threshold was chosen on the rows that it is judged by"
    if shifts:
        return [("note", f"{text}. What that adds was taken off again: {' and '.join(shifts)}.")]
    if any(item.optimism for item in evaluation.metrics.values()):
        return [("note", f"{text}, which adds next to nothing here.")]
    return [("note", f"{text}, so that the numbers there are slightly too good.")]


def _about_scores(evaluation: Evaluation) -> list[tuple[str, str]]:
    return [("red", str(note)) for note in evaluation.notes if note.code == "inverted"]


def _about_labels(evaluation: Evaluation) -> list[tuple[str, str]]:
    labeled, unlabeled = evaluation.table.effective_sizes
    counts = f"{labeled:,.0f} labeled and {unlabeled:,.0f} unlabeled rows"
    if labeled < VERY_FEW_LABELED:
        return [("red", f"There are only {counts}: the intervals cannot be relied on.")]
    if labeled < FEW_LABELED or unlabeled < FEW_UNLABELED:
        few = f"{FEW_LABELED} and {FEW_UNLABELED}"
        return [
            ("amber", f"There are only {counts}: intervals were shown to hold from {few} rows on.")
        ]
    return [("green", f"There are enough rows for the intervals: {counts}.")]


def _about_ranking(evaluation: Evaluation) -> list[tuple[str, str]]:
    baseline = evaluation.baseline
    if baseline is None:
        return []
    if baseline.p_value <= CHANCE:
        return [("green", "The ranking is better than chance.")]
    return [
        (
            "amber",
            f"The ranking is not shown to be better than chance ({say_p(baseline.p_value)}).",
        )
    ]


def _about_selection(evaluation: Evaluation) -> list[tuple[str, str]]:
    # Who says that labels are random is believed until an audit finds otherwise.
    if evaluation.audit is not None and evaluation.audit.labels.code != "cannot-tell":
        labels = evaluation.audit.labels
        level = LABEL_LEVELS[labels.code]
        advice = PHRASES["go_by_audit"] if level == "red" else ""
        return [(level, f"{labels.text} {advice}".strip())]
    if labels_asked(evaluation) not in ("", "random"):
        return []
    if evaluation.given.by_propensity:
        text = (
            "The numbers hold if the propensities do, the chances with which positives got their "
            "labels. That was not tested here."
        )
    else:
        text = (
            "The labeled rows are said to be a random sample of all positives, and the numbers "
            "hold if they are. That was not tested here; where alpha is known from elsewhere, "
            "recoup scar tests it."
        )
    return [("note", text)]
