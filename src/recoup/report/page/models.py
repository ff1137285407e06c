"""What a comparison found: every model, every difference, and who wins for which alpha."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from recoup._core.results import to_plain
from recoup._core.text import say_p, show_digits
from recoup.evaluation.comparison import Comparison
from recoup.evaluation.differences import Difference
from recoup.metrics.spec import metric_spec

SIGNIFICANT = 0.05
COLUMNS = ("roc_auc", "average_precision", "recall", "precision", "f1")


def summarize_comparison(
    comparison: Comparison, shown: Callable[[str], str] = str, most_pairs: int | None = None
) -> dict[str, Any]:
    """Say what a comparison found.

    Parameters
    ----------
    comparison : Comparison
        What :func:`recoup.compare` returned.
    shown : callable, optional
        How to write the name of a model.
    most_pairs : int, optional
        Of more pairs of models, those with the best one are kept. By default all are.

    Returns
    -------
    dict
        Ready for JSON. Models are numbered in the order they were given in: ``ranking`` lists
        them from best to worst by ``metric``; ``at`` says where scores become predictions;
        ``columns`` are the metrics to show for each; ``differences`` and ``wins`` are those of the
        comparison; ``left_out`` says which pairs are missing; ``leader`` and ``sentences`` say in
        words who is better, and ``notes`` what is not about one model alone.
    """
    names = list(comparison.evaluations)
    number = {name: place for place, name in enumerate(names)}
    chosen = comparison.metric
    columns = dict.fromkeys((chosen, *COLUMNS))
    n_pairs, best, left_out = math.comb(len(names), 2), comparison.ranking[0], ""
    whole = comparison
    if most_pairs is not None and n_pairs > most_pairs:
        kept = tuple(one for one in comparison.differences if best in (one.first, one.second))
        comparison = replace(comparison, differences=kept)
        left_out = (
            f"Of {n_pairs:,} pairs of models those with the best one, {shown(best)}, are shown; "
            f"p is adjusted for all of them. Comparison.differences has the others."
        )
    summary: dict[str, Any] = to_plain(
        {
            "metric": chosen,
            "at": str(comparison.at),
            "label": metric_spec(chosen, "summarize_comparison").label,
            "ranking": [number[name] for name in comparison.ranking],
            "columns": [key for key in columns if key in _shared(comparison)],
            "differences": [
                vars(item) | {"first": number[item.first], "second": number[item.second]}
                for item in comparison.differences
            ],
            "wins": [vars(win) | {"model": number[win.model]} for win in comparison.wins],
            "leader": about_leader(whole, shown),
            "sentences": [
                *comparison_sentences(comparison, shown, n_pairs),
                *audited_sentences(comparison, shown),
            ],
            "left_out": left_out,
            "notes": _shared_notes(comparison),
        }
    )
    return summary


def about_leader(comparison: Comparison, shown: Callable[[str], str] = str) -> str:
    """Name the best model, and say whether its lead over the second is more than chance."""
    best, second = comparison.ranking[:2]
    metric = comparison.metric
    label = metric_spec(metric, "compare").label
    value = comparison.evaluations[best][metric].recovered
    if math.isnan(value):
        return f"{label} is undefined for every model."
    text = f"{shown(best)} has the best {label}, {value:.3f}."
    if not any(item.metric == metric for item in comparison.differences):
        return text
    lead = comparison.difference(best, second, metric).p_adjusted
    if math.isnan(lead):
        return text
    sure = "is more than chance explains" if lead <= SIGNIFICANT else "may be chance"
    return f"{text} Its lead over {shown(second)} {sure} (adjusted {say_p(lead)})."


def comparison_sentences(
    comparison: Comparison, shown: Callable[[str], str] = str, n_pairs: int | None = None
) -> list[str]:
    """Say for each pair who is better by the chosen metric, and for which alpha that holds."""
    metric = comparison.metric
    label = metric_spec(metric, "compare").label
    pairs = [pair for pair in comparison.differences if pair.metric == metric]
    n_pairs = len(pairs) if n_pairs is None else n_pairs
    found = [about_pair(pair, n_pairs, comparison, shown) for pair in pairs]
    if not pairs:
        found.append(f"Differences in {label} have no interval; compare by another metric.")
    found += [
        f"For alpha from {show_digits(win.alpha_low)} to {show_digits(win.alpha_high)}, "
        f"{shown(win.model)} has the best {label}."
        for win in comparison.wins
        if win.metric == metric
    ]
    return found


def audited_sentences(comparison: Comparison, shown: Callable[[str], str] = str) -> list[str]:
    """Say what checked rows tell of each pair by the chosen metric; nothing without an audit."""
    audit = comparison.audit
    if audit is None:
        return []
    label = metric_spec(comparison.metric, "compare").label
    found = [
        f"By the {audit.n_checked:,} rows that were checked by hand, {shown(pair.first)} minus "
        f"{shown(pair.second)} is {pair.difference:+.3f} in {label} ({pair.lower:+.3f} to "
        f"{pair.upper:+.3f}), {say_p(pair.p_adjusted)}, whatever the labels are."
        for pair in audit.differences
        if pair.metric == comparison.metric and not math.isnan(pair.p_value)
    ]
    return [*found, audit.labels.text]


def about_pair(
    pair: Difference, n_pairs: int, comparison: Comparison, shown: Callable[[str], str] = str
) -> str:
    """Say whether two models differ, and which one is better."""
    first, second = shown(pair.first), shown(pair.second)
    if math.isnan(pair.difference) or math.isnan(pair.p_value):
        return _about_undefined(pair, comparison, shown)
    p_value = pair.p_value if n_pairs == 1 else pair.p_adjusted
    adjusted = "" if n_pairs == 1 else f" after correction for {n_pairs} comparisons"
    if p_value > SIGNIFICANT:
        verdict = f"{first} and {second} are not shown to differ"
    elif (pair.difference > 0) == metric_spec(pair.metric, "compare").higher_is_better:
        verdict = f"{first} is better than {second}"
    else:
        verdict = f"{second} is better than {first}"
    return (
        f"{verdict}: {first} minus {second} is {pair.difference:+.3f} "
        f"({pair.lower:+.3f} to {pair.upper:+.3f}), {say_p(p_value)}{adjusted}."
    )


def _about_undefined(pair: Difference, comparison: Comparison, shown: Callable[[str], str]) -> str:
    """Say why two models cannot be held against each other."""
    first, second = shown(pair.first), shown(pair.second)
    values = {
        model: comparison.evaluations[model][pair.metric] for model in (pair.first, pair.second)
    }
    without = [shown(model) for model, item in values.items() if math.isnan(item.recovered)]
    if not without and comparison.at.kind == "best":
        return (
            f"{first} minus {second} is {pair.difference:+.3f}; each has a threshold of its own, "
            f"chosen on these rows, so that there is no test."
        )
    if not without:
        return f"Whether {first} and {second} differ is undefined here."
    return (
        f"{values[pair.first].label} is undefined for {' and '.join(without)}: {first} and "
        f"{second} cannot be compared by it."
    )


def _shared_notes(comparison: Comparison) -> list[str]:
    of_one = {
        f"{name}: {note}" for name, one in comparison.evaluations.items() for note in one.notes
    }
    return [str(note) for note in comparison.notes if note not in of_one]


def _shared(comparison: Comparison) -> set[str]:
    return set.intersection(*(set(one) for one in comparison.evaluations.values()))
