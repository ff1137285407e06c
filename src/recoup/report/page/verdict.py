"""What a decision maker asks first: how good, how sure, and what would change the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.text import (
    show_count,
    show_digits,
    show_number,
    show_percent,
    show_range,
    show_share,
    show_share_range,
    whole_percent,
)
from recoup.evaluation import Estimate, Evaluation
from recoup.evaluation.possible import open_shares
from recoup.metrics.area import auc_pu, direct_auc
from recoup.metrics.measure import observed_rates_at
from recoup.metrics.rates import Mixture
from recoup.metrics.spec import metric_spec
from recoup.report.page.audited import tile_of, with_answers
from recoup.report.page.light import light_of, open_words
from recoup.report.page.phrases import HIDDEN_FIGURE, LIMITS, PHRASES, TITLE_FIGURES

if TYPE_CHECKING:
    from recoup.audit import AuditedEvaluation

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
        ``headline`` (sentences), ``light`` (:func:`~recoup.report.page.light.light_of`),
        ``doubts`` (what would change our mind), ``figures`` (the three numbers that matter),
        ``hidden`` (how many positives are hidden).
    """
    return {
        "headline": _headline(evaluation),
        "light": light_of(evaluation),
        "doubts": doubts(evaluation),
        "figures": _figures(evaluation),
        "hidden": _hidden(evaluation),
    }


def _headline(evaluation: Evaluation) -> list[str]:
    found, queue = evaluation.audit, evaluation.at(evaluation.threshold).queue
    sentences = headline(with_answers(evaluation), queue)
    if found is None or found.bounds_only:
        return sentences
    return [*sentences, PHRASES["headline_checked"].format(rows=show_count(found.n_checked))]


def headline(metrics: Mapping[str, Estimate], queue: float) -> list[str]:
    """Say what the model finds, how often it is right, and what naive counting would have said."""
    recall, precision = metrics["recall"], metrics["precision"]
    if not queue:
        return [PHRASES["none_flagged"]]
    if math.isnan(recall.recovered):
        sentences = [PHRASES["unknown_recall"]]
    else:
        count = of_ten(recall.recovered)
        sentences = [PHRASES["found"].format(count=count, share=_share(recall))]
    if math.isnan(precision.recovered):
        return [*sentences, PHRASES["unknown_precision"]]
    right = _flagged_right(precision.recovered)
    sentences.append(PHRASES["right"].format(**right, share=_share(precision)))
    gap = whole_percent(precision.recovered) - whole_percent(precision.pu)
    pu = show_share(precision.pu)
    same = "naive_same" if show_share(precision.recovered) == pu else "naive_small"
    side = "low" if gap > 0 else "high"
    naive = PHRASES["naive" if gap else same].format(pu=pu, gap=abs(gap), side=side)
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


def _flagged_right(share: float) -> dict[str, str]:
    """Say of how many flagged rows how many are right: of ten, or of so many that some are."""
    if share == 0 or share >= LIMITS["few"]:
        return {"rows": "10", "count": _count_of_ten(share)}
    rows = 100
    while rows * share < 1.5:
        rows *= 10
    count = show_count(math.floor(rows * share + 0.5))
    return {"rows": show_count(rows), "count": PHRASES["about_of_ten"].format(count=count)}


def _share(item: Estimate) -> str:
    value = show_share(item.recovered)
    if math.isnan(item.lower) or math.isnan(item.upper):
        return value
    low, high = show_share(item.lower), show_share(item.upper)
    return PHRASES["between"].format(value=value, low=low, high=high)


def _figures(evaluation: Evaluation) -> list[dict[str, Any]]:
    words = open_words(*open_shares(evaluation.given), evaluation.label_odds)
    found = []
    for key, (title, about, as_share) in TITLE_FIGURES.items():
        item, write = evaluation[key], show_share_range if as_share else show_range
        figure = {"key": key, "title": title, "about": about, "as_share": as_share}
        values = {name: getattr(item, name) for name in ("recovered", "lower", "upper", "pu")}
        ranges = write(item.lower, item.upper), write(item.possible_lower, item.possible_upper)
        more = {"could_be": could_be(*ranges, words), "checked": tile_of(evaluation, key)}
        found.append(figure | values | more)
    return found


def _hidden(evaluation: Evaluation) -> dict[str, Any]:
    found, (title, about) = evaluation.hidden, HIDDEN_FIGURE
    low, high = show_count(found.lower), show_count(found.upper)
    least, most = show_count(found.possible_lower), show_count(found.possible_upper)
    alpha, _ = open_shares(evaluation.given)
    words = open_words(alpha, False, evaluation.label_odds if alpha else 1.0)
    return {
        "title": title,
        "about": about.format(rows=show_count(evaluation.n_unlabeled)),
        "count": show_count(found.count),
        "between": PHRASES["hidden_between"].format(low=low, high=high),
        "could_be": could_be(f"{low} to {high}", f"{least} to {most}", words),
        "checked": tile_of(evaluation, "hidden"),
    }


def could_be(interval: str, possible: str, words: str) -> str:
    """Say between which limits a number could be, if they show as wider than its interval."""
    if not words or interval == possible:
        return ""
    return PHRASES["could_be"].format(range=possible, open=words)


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
    if evaluation.audit is not None:
        found.insert(0, _if_answers_are_wrong(evaluation.audit))
    return [text for text in found if text]


def _if_answers_are_wrong(audit: AuditedEvaluation) -> str:
    n = show_count(audit.n_checked)
    return (
        f"For the audited numbers: wrong answers. Each of the {n} was taken as right. All that "
        f"follows is about the numbers from the labels alone."
    )


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
    near, now_at = show_digits(nearest, 2), show_digits(evaluation.alpha, 2)
    if now:
        return (
            f"Alpha {where} {near} instead of {now_at}: less than half of the "
            f"flagged rows would then be positive."
        )
    return (
        f"Alpha {where} {near} instead of {now_at}: more than half of the "
        f"flagged rows would then be positive."
    )


def _span_of_auc(evaluation: Evaluation) -> str:
    top = min(max(evaluation.feasibility.alpha_upper, evaluation.alpha), evaluation.beta - 0.01)
    ends: Any = np.array([0.0, max(top, 0.0)])
    mixture = evaluation.given.mixture(evaluation.table, ends)
    low, high = np.clip(direct_auc(auc_pu(evaluation.table), mixture), 0.0, 1.0)
    return (
        f"Another alpha. From 0 to {show_digits(top, 2)}, all that the scores allow, the AUC would "
        f"run from {show_range(low, high)}."
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
            f"Wrong labels: only a few. With alpha {show_digits(evaluation.alpha, 2)} the scores "
            f"allow no less than {show_percent(round(evaluation.feasibility.beta_lower, 2))} of "
            f"the labeled rows to be positive."
        )
    mixture = Mixture.of(evaluation.table, evaluation.alpha, beta, evaluation.scheme)
    auc = float(np.clip(direct_auc(auc_pu(evaluation.table), mixture), 0.0, 1.0))
    at_cut = _at_threshold(evaluation, mixture)
    shown = [
        f"{evaluation[key].label} {show_number(float(np.clip(at_cut[key], 0.0, 1.0)))}"
        for key in ("recall", "precision")
        if not np.isnan(at_cut[key])
    ]
    return (
        f"Wrong labels. If only {show_percent(beta)} of the labeled rows were positive: "
        f"{', '.join([*shown, f'AUC {show_number(auc)}'])}."
    )


def _if_labels_are_chosen(evaluation: Evaluation) -> str:
    found = evaluation.selection_sensitivity((DOUBTED_ODDS,))
    parts = []
    for key in TITLE_FIGURES:
        if not np.isnan(found.values[key]).all():
            low, high = found.range(key)
            parts.append(f"{evaluation[key].label} {show_range(low, high)}")
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
