"""``python -m papers.pubench.which_learner RESULTS PAGE``: write advice for users from results."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from papers.experiment import markdown_table
from papers.pubench.advice import (
    DESIGNS,
    Place,
    Row,
    Situation,
    by_bias,
    by_kind,
    by_labels,
    honest_rows,
    title_of,
)
from recoup._core.files import write_file
from recoup._core.text import DASH, show_seconds
from recoup.bench.exported import read_export
from recoup.exceptions import InvalidInputError

SHOWN = 8
ALWAYS = ("naive",)
"""Learners that every table shows: what ignoring the problem costs."""

INTRO = """\
# Which learner when

What the learners of recoup do where no true class can be looked at: weights are chosen by held-out
rows without classes, and alpha is estimated by the learners that need one. {facts} Made from the
same runs as [the page about PU-Bench](papers/pubench/index.md), by the same command; the
[leaderboard](leaderboard/index.html) has every figure.

A rank is an average over datasets by accuracy on test rows, 1 the best; its 95% interval is for
other seeds on the same datasets. Learners in bold cannot be told from the first: the interval of
how many points of accuracy they lie behind it, over seeds, holds 0. Each interval is for one
comparison; over all of them together still fewer could be told apart. Time is that of a fit,
without the estimate of alpha that all learners of a cell share. With so few datasets of a
kind none of this is a promise for yours, and one dataset is no advice at all: train two or three of
the first group and [compare them](guide.md) on your own rows."""

COLUMNS = ("learner", "rank", "accuracy", "points behind", "AUC", "time")


def page(rows: Sequence[Row]) -> str:
    """Write the page about the honest runs among some rows."""
    honest = honest_rows(rows)
    done = [row for row in honest if row["status"] == "done"]
    single, control = (by_kind(honest, scheme) for scheme in DESIGNS)
    labels, bias = by_labels(honest), by_bias(honest)
    parts = [INTRO.format(facts=_facts(done)), "## In short", _in_short(single, labels, bias)]
    for scheme, found in zip(DESIGNS, (single, control), strict=True):
        parts += [
            f"## By kind of data, {scheme}",
            f"{DESIGNS[scheme][0].upper()}{DESIGNS[scheme][1:]}; a tenth of the positives labeled "
            "at random.",
            *_sections(found),
        ]
    parts += ["## By the amount of labels", *_sections(labels)]
    parts += ["## When labels are biased", BIAS, *_sections(bias), _losses(bias)]
    parts += ["## Time", _times(done)]
    parts += ["## What these runs cannot tell", _open([*single, *control, *labels, *bias])]
    return "\n\n".join(part for part in parts if part) + "\n"


BIAS = """\
Biased labels are those of PU-Bench's mechanisms S2, S3 and S4 together: clear positives first,
unclear ones first, and only the clearest. [What to do about them](labels.md) is more than a choice
of the learner."""


def _facts(done: Sequence[Row]) -> str:
    if not done:
        return "There are no honest runs yet, so nothing is said."
    counts = {name: len({row[name] for row in done}) for name in ("learner", "dataset", "seed")}
    told = [f"{n} {name}{'s' if n > 1 else ''}" for name, n in counts.items()]
    return f"{len(done):,} runs: {', '.join(told)}."


def _in_short(
    single: Sequence[Situation], labels: Sequence[Situation], bias: Sequence[Situation]
) -> str:
    every = (*single, *labels, *bias)
    lines = [_sentence(found) for found in every if len(found.datasets) > 1]
    alone = {found.datasets: found for found in reversed(every) if len(found.datasets) == 1}
    for (dataset,), found in alone.items():
        title = f"{title_of(dataset)} alone, which is no advice for other data"
        lines.append(_sentence(replace(found, title=title)))
    if absent := [found.title for found in every if not found.places]:
        lines.append(f"Cannot be told, as there are too few runs: {'; '.join(absent)}.")
    return "\n".join(f"- {line}" for line in lines)


def _sentence(found: Situation) -> str:
    title = f"**{found.title[0].upper()}{found.title[1:]}.**"
    first, tied = found.places[0], found.tied
    said = (
        f"{title} `{first.learner}` ranks first: {_rank(first)} of {len(found.places)}, accuracy "
        f"{_percent(first.accuracy)}."
    )
    if math.isnan(first.lower):
        return f"{said} One seed gives no interval, so it may be chance."
    others = [one for one in tied if one is not first]
    if not others:
        return f"{said} No other comes near."
    names = ", ".join(f"`{one.learner}`" for one in others[:SHOWN])
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    quick = min(tied, key=lambda one: math.inf if math.isnan(one.seconds) else one.seconds)
    time = (
        ""
        if math.isnan(quick.seconds)
        else f" The quickest of these is `{quick.learner}`, {_time(quick.seconds)}."
    )
    return f"{said} Cannot be told from it: {names}{more}.{time}"


def _sections(found: Sequence[Situation]) -> list[str]:
    parts = []
    for one in found:
        parts.append(f"### {one.title[0].upper()}{one.title[1:]}")
        if not one.places:
            parts.append(f"Cannot be told. {one.missing}")
            continue
        names = ", ".join(title_of(name) for name in one.datasets)
        ceiling = (
            "" if math.isnan(one.ceiling) else f" With all classes known: {_percent(one.ceiling)}."
        )
        parts.append(f"On {names}.{ceiling} {one.missing}".strip())
        tied = one.tied
        shown = [
            (number, place)
            for number, place in enumerate(one.places)
            if number < SHOWN or place in tied or place.learner in ALWAYS
        ]
        rows = [
            [
                f"**`{place.learner}`**" if place in tied else f"`{place.learner}`",
                _rank(place),
                _percent(place.accuracy),
                _behind(place) if number else "",
                _percent(place.auc),
                _time(place.seconds),
            ]
            for number, place in shown
        ]
        parts.append(markdown_table(COLUMNS, rows))
    return parts


def _losses(bias: Sequence[Situation]) -> str:
    """Say what biased labels cost each of the first learners, in points of accuracy."""
    lines = []
    for random, biased in zip(bias[::2], bias[1::2], strict=True):
        if random.datasets != biased.datasets or not biased.places:
            continue
        before = {one.learner: one.accuracy for one in random.places}
        lost = sorted(
            (100 * (before[one.learner] - one.accuracy), one.learner)
            for one in biased.places
            if one.learner in before
        )
        if len(lost) > 1:
            few = ", ".join(f"`{name}` ({loss:+.1f})" for loss, name in lost[:3])
            words = random.title.partition(",")[0]
            lines.append(
                f"- {words[0].upper()}{words[1:]}: the least is lost by {few}; the median learner "
                f"loses {lost[len(lost) // 2][0]:+.1f} points of accuracy."
            )
    return "\n".join(["What bias costs, averaged over datasets:", "", *lines]) if lines else ""


def _times(done: Sequence[Row]) -> str:
    """Write median seconds of a fit by device and dataset, of the quickest learners first."""
    if not done:
        return "No runs."
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in done:
        if row.get("seconds") is not None and row["family"] != "reference":
            place = (row["dataset"], str(row.get("device")))
            found.setdefault(place, {}).setdefault(row["learner"], []).append(row["seconds"])
    lines = []
    for (dataset, device), times in sorted(found.items()):
        middle = sorted((sorted(values)[len(values) // 2], name) for name, values in times.items())
        quickest = ", ".join(f"`{name}` {_time(value)}" for value, name in middle[:4])
        slowest = ", ".join(f"`{name}` {_time(value)}" for value, name in middle[:-4:-1])
        lines.append([title_of(dataset), device, quickest, slowest])
    return markdown_table(["dataset", "device", "quickest", "slowest"], lines)


def _open(found: Sequence[Situation]) -> str:
    absent = [one.title for one in found if not one.places]
    lines = [f"- Too few runs: {'; '.join(absent)}."] if absent else []
    lines += [
        f"- {one.title[0].upper()}{one.title[1:]}: {len(one.tied) - 1} of {len(one.places) - 1} "
        "other learners cannot be told from the first."
        for one in found
        if one.places and not one.is_told
    ]
    lines += [
        "- Other data than these: no kind has more than four datasets, and all text goes through "
        "one sentence encoder.",
        "- Other settings of the learners: each has one, its default, for all datasets.",
    ]
    return "\n".join(lines)


def _rank(place: Place) -> str:
    if math.isnan(place.lower):
        return f"{place.rank:.1f}"
    return f"{place.rank:.1f} ({place.lower:.1f} to {place.upper:.1f})"


def _behind(place: Place) -> str:
    found = place.behind
    return DASH if found is None else f"{found.value:.1f} ({found.lower:.1f} to {found.upper:.1f})"


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return DASH
    return f"{seconds:.2g} s" if seconds < 10 else show_seconds(seconds)


def _percent(share: float) -> str:
    return DASH if math.isnan(share) else f"{100 * share:.1f}%"


def main(arguments: Sequence[str]) -> None:
    """Write the page."""
    if len(arguments) != 2:
        raise InvalidInputError(
            f"which_learner needs two names: the results, and the page to write. Got "
            f"{len(arguments)}."
        )
    results, target = map(Path, arguments)
    write_file(target, page(read_export(results)).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
