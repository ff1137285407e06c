"""What a decision maker asks first: how good, how sure, and what would change the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from recoup._core.relative_limits import is_wide
from recoup._core.text import (
    say_p,
    show_digits,
    show_percent,
    show_whole_percent,
    whole_percent,
)
from recoup.evaluation import Estimate, Evaluation
from recoup.evaluation.notes import FEW_LABELED, FEW_UNLABELED
from recoup.metrics.area import auc_pu, direct_auc
from recoup.metrics.measure import observed_rates_at
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import metric_spec

# Here and nowhere else: the page's script fills these again when a reader moves a slider.
PHRASES = {
    "none_of_ten": "none",
    "few_of_ten": "fewer than 1",
    "about_of_ten": "about {count}",
    "many_of_ten": "more than 9",
    "all_of_ten": "all 10",
    "of_ten": "{count} of 10",
    "found": "At this threshold the model finds {count} positives ({share}).",
    "unknown_recall": "How many positives the model finds cannot be recovered at this threshold.",
    "right": "Of 10 rows that it flags, {count} are really positive ({share}).",
    "none_flagged": "At this threshold the model flags nothing. Choose a lower one.",
    "unknown_precision": "How many of the rows it flags are positive cannot be recovered at this "
    "threshold.",
    "naive": "Counting unlabeled rows as negative would have said {pu}, {gap} points too {side}.",
    "naive_same": "Counting unlabeled rows as negative would have said about the same, {pu}.",
    "between": "{value}, between {low} and {high}",
    "exceeded": "These shares of positives do not fit the scores: at {confidence} confidence they "
    "allow alpha up to {alpha_upper} and beta from {beta_lower}, and alpha is {alpha}, beta "
    "{beta}.",
    "near": "Alpha {alpha} is about the most that the scores allow ({alpha_upper}): the numbers "
    "are as good as they can be, and worse if fewer positives hide among the unlabeled rows.",
    "within": "The share of positives among the unlabeled rows, {alpha}, is one that the scores "
    "allow (up to {alpha_upper}).",
    "stretch_red": "Undoing the mix of positives stretches every error {times} times: the labeled "
    "and the unlabeled rows hold nearly the same share of positives.",
    "stretch_amber": "Undoing the mix of positives stretches every error {times} times: the two "
    "groups of rows hold similar shares of positives.",
    "stretch_green": "Undoing the mix of positives stretches every error {times} times, which the "
    "intervals include.",
    "reliability": "Reliability: ",
    "reliability_if": "Reliability, if this holds: ",
    "flagged": "Rows with at least this score are flagged.",
    "alpha_span": "alpha from 0 to {top}",
    "used": "used",
}
# Title, words below it, and whether the number is shown in percent.
TITLE_FIGURES = {
    "recall": ("Positives found", "recall at the threshold", True),
    "precision": ("Flagged rows that are positive", "precision at the threshold", True),
    "roc_auc": ("Quality of the ranking", "AUC: 0.5 is chance, 1 is perfect", False),
}
# From worst to best; the light shows the worst but for notes, which only inform.
LEVELS = {
    "red": "speaks against it",
    "amber": "take care",
    "green": "speaks for it",
    "note": "note",
}
LIGHTS = {"red": "do not rely on this", "amber": "use with care", "green": "good"}
# Errors of the observed rates grow by 1 / (beta - alpha): beyond these, threefold and tenfold.
# From ``near`` times the largest alpha on, it counts as close to it. Shares below ``few`` and from
# ``many`` on are not rounded to none of ten or all ten.
LIMITS = {"narrow_gap": 1 / 3, "tiny_gap": 0.1, "near": 0.95, "few": 0.05, "many": 0.95}
VERY_FEW_LABELED = 10
WIDE_INTERVAL = 0.3
CHANCE = 0.05
HALF = 0.5
DOUBTED_SHARE, DOUBTED_ODDS = 0.9, 2.0


def verdict(evaluation: Evaluation) -> dict[str, Any]:
    """Answer in words: the headline, the light with its reasons, what would change our mind.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`recoup.evaluate` returned.

    Returns
    -------
    dict
        ``headline`` (sentences), ``light`` (``level``, ``word``, ``reasons``), ``doubts`` (what
        would change our mind), ``figures`` (the three numbers that matter).
    """
    reasons = light_reasons(evaluation)
    levels = [reason["level"] for reason in reasons]
    level = next((name for name in LIGHTS if name in levels), "green")
    return {
        "headline": headline(evaluation.metrics, evaluation.at(evaluation.threshold).queue),
        "light": {"level": level, "word": LIGHTS[level], "reasons": reasons},
        "doubts": doubts(evaluation),
        "figures": [
            {"key": key, "title": title, "about": about, "as_share": as_share}
            | _figure(evaluation[key])
            for key, (title, about, as_share) in TITLE_FIGURES.items()
        ],
    }


def headline(metrics: Mapping[str, Estimate], queue: float) -> list[str]:
    """Say what the model finds, how often it is right, and what naive counting would have said."""
    recall, precision = metrics["recall"], metrics["precision"]
    if not queue:
        return [PHRASES["none_flagged"]]
    if math.isnan(recall.recovered):
        sentences = [PHRASES["unknown_recall"]]
    else:
        sentences = [_counted("found", recall)]
    if math.isnan(precision.recovered):
        return [*sentences, PHRASES["unknown_precision"]]
    sentences.append(_counted("right", precision))
    gap = whole_percent(precision.recovered) - whole_percent(precision.pu)
    phrase = PHRASES["naive" if gap else "naive_same"]
    naive = phrase.format(
        pu=show_whole_percent(precision.pu), gap=abs(gap), side="low" if gap > 0 else "high"
    )
    return [*sentences, naive]


def of_ten(share: float) -> str:
    """Say a share as a count out of ten, never rounded to none or to all."""
    count = _count_of_ten(share)
    return count if share == 1 else PHRASES["of_ten"].format(count=count)


def _count_of_ten(share: float) -> str:
    if share in (0.0, 1.0):
        return PHRASES["all_of_ten" if share else "none_of_ten"]
    if share < LIMITS["few"]:
        return PHRASES["few_of_ten"]
    if share >= LIMITS["many"]:
        return PHRASES["many_of_ten"]
    return PHRASES["about_of_ten"].format(count=math.floor(10 * share + 0.5))


def _counted(phrase: str, item: Estimate) -> str:
    count = (of_ten if phrase == "found" else _count_of_ten)(item.recovered)
    return PHRASES[phrase].format(count=count, share=_share(item))


def _share(item: Estimate) -> str:
    value = show_whole_percent(item.recovered)
    if math.isnan(item.lower) or math.isnan(item.upper):
        return value
    low, high = show_whole_percent(item.lower), show_whole_percent(item.upper)
    return PHRASES["between"].format(value=value, low=low, high=high)


def _figure(item: Estimate) -> dict[str, float]:
    return {name: getattr(item, name) for name in ("recovered", "lower", "upper", "pu")}


def light_reasons(evaluation: Evaluation) -> list[dict[str, Any]]:
    """List what speaks for and against the numbers, worst first; ``note`` only informs.

    ``code`` says what a reason is about; ``fixed`` marks reasons that hold for any alpha, beta and
    threshold.
    """
    moving = {
        "limits": _about_limits,
        "stretch": _about_stretch,
        "estimate": _about_estimate,
        "clipping": _about_clipping,
        "width": _about_width,
    }
    fixed = {
        "scores": _about_scores,
        "labels": _about_labels,
        "ranking": _about_ranking,
        "selection": _about_selection,
    }
    order = tuple(LEVELS)
    found = [
        {"code": code, "level": level, "text": text, "fixed": code in fixed}
        for code, about in (moving | fixed).items()
        for level, text in about(evaluation)
    ]
    return sorted(found, key=lambda reason: order.index(str(reason["level"])))


def _about_limits(evaluation: Evaluation) -> list[tuple[str, str]]:
    limits = evaluation.feasibility
    shown = {
        "confidence": show_percent(limits.confidence),
        "alpha": show_digits(evaluation.alpha),
        "beta": show_digits(evaluation.beta),
        "alpha_upper": show_digits(limits.alpha_upper),
        "beta_lower": show_digits(limits.beta_lower),
    }
    if limits.exceeded:
        return [("red", PHRASES["exceeded"].format(**shown))]
    high = evaluation.prior.range[1]
    if high > limits.alpha_upper:
        return [
            (
                "amber",
                f"Part of the range of alpha, up to {high:.3g}, is more than the scores allow "
                f"({shown['alpha_upper']} at {shown['confidence']} confidence).",
            )
        ]
    if any(note.code == "out-of-range" for note in evaluation.notes):
        # The ranking as a whole allows this alpha, but what it makes of the numbers cannot be: the
        # reason about clipped values says so.
        return []
    near = evaluation.alpha > LIMITS["near"] * limits.alpha_upper
    level, phrase = ("amber", "near") if near else ("green", "within")
    return [(level, PHRASES[phrase].format(**shown))]


def _about_stretch(evaluation: Evaluation) -> list[tuple[str, str]]:
    gap = evaluation.mixture.beta - evaluation.mixture.alpha
    level = "green"
    if gap < LIMITS["narrow_gap"]:
        level = "red" if gap < LIMITS["tiny_gap"] else "amber"
    times = f"{1 / gap:.1f}" if 1 / gap < 10 else f"{1 / gap:.0f}"
    return [(level, PHRASES[f"stretch_{level}"].format(times=times))]


def _about_estimate(evaluation: Evaluation) -> list[tuple[str, str]]:
    estimate = evaluation.prior_estimate
    if estimate is None:
        known = "follows from the propensities" if evaluation.given.by_propensity else "was given"
        return [
            (
                "note",
                f"Alpha {known}, not estimated from these scores: the numbers are as good as it.",
            )
        ]
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
                f"{low:.2f} to {high:.2f}.",
            )
        )
    return found


def _about_scores(evaluation: Evaluation) -> list[tuple[str, str]]:
    levels = {"inverted": "red", "leak": "amber"}
    return [(levels[note.code], str(note)) for note in evaluation.notes if note.code in levels]


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


def _about_clipping(evaluation: Evaluation) -> list[tuple[str, str]]:
    outside = []
    for item in evaluation.metrics.values():
        if abs(item.raw - metric_spec(item.key, "verdict").clip(item.raw)) > 1e-9:
            outside.append(item)
    if not outside:
        return []
    names = ", ".join(f"{item.label} {item.raw:.3f}" for item in outside)
    # Only evaluate saw the limits before they were clipped, and says so in its notes.
    beyond = any(note.code == "out-of-range" for note in evaluation.notes)
    cause = "sampling error does not explain that" if beyond else "sampling error may explain that"
    text = f"Some values came out impossible and were cut off at their limit ({names}); {cause}."
    return [("red" if beyond else "amber", text)]


def _about_width(evaluation: Evaluation) -> list[tuple[str, str]]:
    items = [evaluation[key] for key in TITLE_FIGURES]
    wide = [item for item in items if is_wide(item.lower, item.upper, WIDE_INTERVAL)]
    if not wide:
        return []
    names = " and ".join(
        f"{item.label} ({show_digits(item.lower, 2)} to {show_digits(item.upper, 2)})"
        for item in wide
    )
    return [("amber", f"The data leave much open: the interval of {names} is wide.")]


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
    if evaluation.given.by_propensity:
        text = (
            "The numbers hold if the propensities do, the chances with which positives got their "
            "labels. That was not tested here."
        )
    else:
        text = (
            "The numbers hold if the labeled rows are a random sample of all positives. That was "
            "not tested here; where alpha is known from elsewhere, recoup scar tests it."
        )
    return [("note", text)]


def doubts(evaluation: Evaluation) -> list[str]:
    """Say which other facts would change the answer, and to what."""
    found = [_flip_of_precision(evaluation), _span_of_auc(evaluation)]
    if evaluation.given.by_propensity:
        found.append(
            "Wrong propensities. If some kinds of positives were labeled more or less often than "
            "stated, positives of that kind weigh too little or too much."
        )
    else:
        found.append(_if_labels_are_noisy(evaluation))
    if evaluation.beta == 1:
        found.append(_if_labels_are_chosen(evaluation))
    return [text for text in found if text]


def _flip_of_precision(evaluation: Evaluation) -> str:
    precision = evaluation["precision"].recovered
    if math.isnan(precision):
        return ""
    alphas: Any = np.linspace(0.0, evaluation.beta, 1001)[:-1]
    values = _at_threshold(evaluation, evaluation.given.mixture(evaluation.table, alphas))
    good = values["precision"] >= HALF
    now = precision >= HALF
    other = np.flatnonzero(good != now)
    if not len(other):
        side = "at least half" if now else "less than half"
        return f"No alpha: {side} of the flagged rows are positive whatever its value."
    nearest = alphas[other[np.abs(alphas[other] - evaluation.alpha).argmin()]]
    where = "below" if nearest < evaluation.alpha else "above"
    if now:
        return (
            f"Alpha {where} {nearest:.2g} instead of {evaluation.alpha:.2g}: less than half of the "
            f"flagged rows would then be positive."
        )
    return (
        f"Alpha {where} {nearest:.2g} instead of {evaluation.alpha:.2g}: more than half of the "
        f"flagged rows would then be positive."
    )


def _span_of_auc(evaluation: Evaluation) -> str:
    top = min(max(evaluation.feasibility.alpha_upper, evaluation.alpha), evaluation.beta - 0.01)
    ends: Any = np.array([0.0, max(top, 0.0)])
    mixture = evaluation.given.mixture(evaluation.table, ends)
    low, high = np.clip(direct_auc(auc_pu(evaluation.table), mixture), 0.0, 1.0)
    return (
        f"Another alpha. From 0 to {top:.2g}, all that the scores allow, the AUC would run from "
        f"{low:.3f} to {high:.3f}."
    )


def _if_labels_are_noisy(evaluation: Evaluation) -> str:
    beta = DOUBTED_SHARE * evaluation.beta
    if evaluation.alpha >= beta - 0.01:
        return (
            f"Wrong labels. If only {show_percent(beta)} of the labeled rows were positive, they "
            f"would be no richer in positives than the rest, and nothing could be recovered."
        )
    if beta < evaluation.feasibility.beta_lower:
        return (
            f"Wrong labels: only a few. With alpha {evaluation.alpha:.2g} the scores allow no less "
            f"than {show_percent(round(evaluation.feasibility.beta_lower, 2))} of the labeled rows "
            f"to be positive."
        )
    mixture = Mixture.of(evaluation.table, evaluation.alpha, beta, evaluation.scheme)
    auc = float(np.clip(direct_auc(auc_pu(evaluation.table), mixture), 0.0, 1.0))
    at_cut = _at_threshold(evaluation, mixture)
    shown = [
        f"{evaluation[key].label} {float(np.clip(at_cut[key], 0.0, 1.0)):.3f}"
        for key in ("recall", "precision")
        if not np.isnan(at_cut[key])
    ]
    return (
        f"Wrong labels. If only {show_percent(beta)} of the labeled rows were positive: "
        f"{', '.join([*shown, f'AUC {auc:.3f}'])}."
    )


def _if_labels_are_chosen(evaluation: Evaluation) -> str:
    found = evaluation.selection_sensitivity((DOUBTED_ODDS,))
    parts = []
    for key in TITLE_FIGURES:
        if not np.isnan(found.values[key]).all():
            low, high = found.range(key)
            parts.append(f"{evaluation[key].label} {low:.3f} to {high:.3f}")
    return (
        f"Labels that favor easy or hard positives. If their odds were {DOUBTED_ODDS:.0f} times as "
        f"high at one end of the scores as at the other: {', '.join(parts)}."
    )


def _at_threshold(evaluation: Evaluation, mixture: Mixture) -> dict[str, Any]:
    """Raw recall and precision at the threshold for other shares of positives."""
    cut = np.array([evaluation.threshold])
    rates = [part[0] for part in observed_rates_at(evaluation.table, cut)]
    tpr, fpr = mixture.true_rates(*rates)
    return {
        key: np.asarray(metric_spec(key, "verdict").formula(tpr, fpr, mixture.pi))
        for key in ("recall", "precision")
    }
