"""The page of the study of biased labels: tables, what they say, and what was missed and why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tools.studies.biased_labels import (
    ANCHORS,
    FREQUENCIES,
    MECHANISMS,
    METHODS,
    N_NEGATIVE,
    N_POSITIVE,
    STUDY,
    tasks,
)
from tools.training.biased_tasks import DATASETS

IF_RANDOM, AUTO, PULSNAR = METHODS
# What was asked of the study before it was run.
ERROR, HELD, ALARMS, POWER = 0.03, 0.90, 0.05, 0.80
COMMENT = """What to know about these numbers:

- **Alpha lies between .19 and .40 in these problems**, in the middle of those that the estimate was
  learned from (.09 to .63 in nine of ten). An answer that leans to the middle where data tell
  little gains by that. On the datasets it was learned from, left out in turns, the gain is smaller:
  the error goes from .24 to .13 with labels of clear positives, from .18 to .12 with kinds, from
  .14 to .12 with random labels; 95% intervals hold 99%, 94% and 96%, and are .57 to .64 wide. A
  kind without labels is held in 84%.
- **The flag has little power.** Left out in turns, kinds that differ fourfold or more are flagged
  in none of the problems with fewer than one positive in ten labeled, in 29% up to .3 and in 47%
  above; labels of clear positives in 56%. More would need more false alarms than 5%: kinds that
  overlap with negatives look less labeled where labels are random. The interval allows for bias
  whether there is a flag or not.
- **Intervals are wide**, since nobody said how labels came about.
- What was learned rests on the estimate for random labels of before; the one it gets now reads
  three classifiers.
- An earlier `auto`, on 181 of these problems, erred .081 with kinds (coverage 85%), .137 with tilts
  of 5 (44%) and .188 of 27 (12%), and .055 with random labels; `pulsnar` .075, .084, .174, .061.

"""


def markdown(rows: list[list[str]]) -> str:
    """Write a table whose first row is its head."""
    lines = [rows[0], ["---"] + ["---:"] * (len(rows[0]) - 1), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by(results: list[dict[str, Any]], **facts: Any) -> list[dict[str, Any]]:
    """Keep the problems with these facts."""
    return [r for r in results if all(r[name] == value for name, value in facts.items())]


def error(results: list[dict[str, Any]], method: str) -> float:
    """Mean absolute error of alpha."""
    found = [
        abs(r["methods"][method]["alpha"] - r["alpha"]) for r in results if method in r["methods"]
    ]
    return float(np.mean(found)) if found else math.nan


def coverage(results: list[dict[str, Any]], method: str) -> float:
    """How often the interval holds the truth."""
    found = [(r["methods"][method], r["alpha"]) for r in results if method in r["methods"]]
    held = [m["low"] <= alpha <= m["high"] for m, alpha in found]
    return float(np.mean(held)) if held else math.nan


def width(results: list[dict[str, Any]], method: str) -> float:
    """Mean width of the intervals."""
    found = [r["methods"][method] for r in results if method in r["methods"]]
    return float(np.mean([m["high"] - m["low"] for m in found]))


def flagged(results: list[dict[str, Any]], wanted: tuple[str, ...] = ("kinds", "tilt")) -> float:
    """How often auto says so."""
    codes = [r["methods"][AUTO]["code"] for r in results]
    return float(np.mean([code in wanted for code in codes])) if codes else math.nan


def shown_error(results: list[dict[str, Any]], method: str) -> str:
    """Error, or a dash where the method was not run."""
    found = error(results, method)
    return "-" if math.isnan(found) else f"{found:.3f}"


def both(results: list[dict[str, Any]], method: str) -> str:
    """Error and coverage, or a dash where the method was not run."""
    found = shown_error(results, method)
    return found if found == "-" else f"{found}, {coverage(results, method):.0%}"


def overview(results: list[dict[str, Any]]) -> str:
    """Error, coverage and flags of each mechanism."""
    head = ["labels", "problems", *(f"{m}: error, coverage" for m in METHODS)]
    rows = [[*head, "width, if random / auto", "flag", "of these kinds / tilt"]]
    for mechanism in MECHANISMS:
        part = by(results, mechanism=mechanism)
        if not part:
            continue
        rows.append(
            [
                mechanism,
                str(len(part)),
                *(both(part, m) for m in METHODS),
                f"{width(part, IF_RANDOM):.2f} / {width(part, AUTO):.2f}",
                f"{flagged(part):.0%}",
                " / ".join(f"{flagged(part, (code,)):.0%}" for code in ("kinds", "tilt")),
            ]
        )
    return markdown(rows)


def by_frequency(results: list[dict[str, Any]]) -> str:
    """Error, coverage and flags at each label frequency."""
    rows = [["labels", "label frequency", *METHODS, "coverage, if random / auto", "flag"]]
    for mechanism in MECHANISMS:
        for frequency in FREQUENCIES:
            part = by(results, mechanism=mechanism, frequency=frequency)
            if part:
                holds = " / ".join(f"{coverage(part, m):.0%}" for m in (IF_RANDOM, AUTO))
                values = [shown_error(part, m) for m in METHODS]
                rows.append([mechanism, f"{frequency:g}", *values, holds, f"{flagged(part):.0%}"])
    return markdown(rows)


def by_dataset(results: list[dict[str, Any]]) -> str:
    """Errors on each dataset, for random labels and for kinds."""
    rows = [["dataset"]]
    shown = ("random", "kinds x6")
    for mechanism in shown:
        rows[0] += [f"{mechanism}: {m}" for m in METHODS]
    rows[0] += [f"flag, {mechanism}" for mechanism in shown]
    for dataset in STUDY:
        parts = [by(results, dataset=dataset, mechanism=mechanism) for mechanism in shown]
        if all(parts):
            values = [shown_error(part, m) for part in parts for m in METHODS]
            rows.append([dataset, *values, *(f"{flagged(part):.0%}" for part in parts)])
    return markdown(rows)


def cells(results: list[dict[str, Any]]) -> str:
    """Every problem of the first seed, one by one."""
    rows = [["dataset", "labels", "frequency", "alpha", *METHODS, "interval of auto", "code"]]
    for r in by(results, seed=0):
        mine = r["methods"][AUTO]
        interval = f"{mine['low']:.2f} to {mine['high']:.2f}"
        interval += "" if mine["low"] <= r["alpha"] <= mine["high"] else " (misses)"
        values = [f"{r['methods'][m]['alpha']:.3f}" if m in r["methods"] else "-" for m in METHODS]
        facts = [r["dataset"], r["mechanism"], f"{r['frequency']:g}", f"{r['alpha']:.3f}"]
        rows.append([*facts, *values, interval, mine["code"]])
    return markdown(rows)


def anchors(results: list[dict[str, Any]]) -> str:
    """Error, coverage and time of pulsnar with one forest, and with boosted trees per group."""
    trees = "pulsnar, boosted trees"
    rows = [["dataset", "alpha", "pulsnar: error", "interval holds", "seconds"]]
    rows[0] += ["boosted trees per group: error", "interval holds", "seconds"]
    for dataset in ANCHORS:
        part = by(results, dataset=dataset)
        for mechanism in sorted({r["mechanism"] for r in part}):
            some = by(part, mechanism=mechanism)
            row = [dataset, mechanism.split()[1]]
            for method in (PULSNAR, trees):
                seconds = np.mean([r["methods"][method]["seconds"] for r in some])
                row += [f"{error(some, method):.3f}", f"{coverage(some, method):.0%}"]
                row += [f"{seconds:.1f}"]
            rows.append(row)
    return markdown(rows)


def verdicts(results: list[dict[str, Any]]) -> str:
    """What was asked, and what came out."""
    kinds = [r for r in results if r["mechanism"].startswith("kinds")]
    six, random = by(results, mechanism="kinds x6"), by(results, mechanism="random")
    alarms = round(flagged(random) * len(random)) if random else 0
    seen = [r for r in results if r["mechanism"] not in ("random", "hidden kind")]
    found = [
        (
            "error of auto with kinds",
            error(kinds, AUTO),
            "at most",
            ERROR,
        ),
        ("coverage with kinds", coverage(kinds, AUTO), "at least", HELD),
        ("coverage with kinds, tilts and low scores", coverage(seen, AUTO), "at least", HELD),
        ("coverage with random labels", coverage(random, AUTO), "at least", HELD),
        (
            f"false alarms ({alarms} of {len(random)})",
            flagged(random),
            "at most",
            ALARMS,
        ),
        ("flag at rates x6", flagged(six), "at least", POWER),
        (
            "flag at rates x6, label frequency .2 and .5",
            flagged([r for r in six if r["frequency"] > 0.1]),
            "at least",
            POWER,
        ),
    ]
    rows = [["asked", "goal", "measured", "met"]]
    for name, value, sense, goal in found:
        met = value <= goal if sense == "at most" else value >= goal
        rows.append([name, f"{sense} {goal:g}", f"{value:.3f}", "yes" if met else "**no**"])
    return markdown(rows)


def unfinished(missing: list[tuple[str, str, float, int]]) -> str:
    """Say which problems have no result, by dataset; nothing if all have one."""
    if not missing:
        return ""
    counts = {name: sum(task[0] == name for task in missing) for name in STUDY}
    shown = ", ".join(f"`{name}` {number}" for name, number in counts.items() if number)
    return (
        f"**This run is not complete**: {len(missing)} of {len(tasks())} problems have no "
        f"result\n(by dataset: {shown}).\nThey were not reached, or have fewer than 20 labels. "
        f"`make study-labels` goes on where it stopped.\n\n"
    )


def anchors_section(held: list[dict[str, Any]]) -> str:
    """The comparison of two ways to score groups, where it was run."""
    if not held:
        return ""
    return f"""## pulsnar, by one forest and by boosted trees

Kinds labeled at rates that differ sixfold, three draws each. The published method fits boosted
trees for each group of labeled rows; `pulsnar` fits one forest of extremely randomized trees.

{anchors(held)}

"""


def page(results: list[dict[str, Any]], held: list[dict[str, Any]]) -> str:
    """The tables, as a page of the documentation."""
    n_sets = len({r["dataset"] for r in results})
    found = {(r["dataset"], r["mechanism"], r["frequency"], r["seed"]) for r in results}
    missing = [task for task in tasks() if task not in found]
    flags = [r["methods"][AUTO]["code"] in ("kinds", "tilt") for r in results]
    trained = ", ".join(f"`{name}`" for name in DATASETS)
    judged = ", ".join(f"`{name}`" for name in STUDY)
    return f"""# Biased labels, measured

What becomes of alpha where labels are no random sample of the positives? {len(results)} problems
are made from the classes of {n_sets} real datasets: some classes are the kinds of positives, the
others are negative, up to {N_POSITIVE:,} and {N_NEGATIVE:,} rows. Labels are given at frequencies
of {", ".join(f"{c:g}" for c in FREQUENCIES)} in seven ways.

- **random**: every positive has the same chance.
- **kinds x2, x6**: the chance differs between kinds, from the least to the most labeled one by
  that factor.
- **tilt x5, x27**: the chance of a label differs by that factor between the 5% of the positives
  that look least positive, to a classifier that knows the classes, and the 5% that look most so.
- **hidden kind**: one kind has no label at all.
- **low scores**: labels favor doubtful positives, by a factor of 5.

Three estimates are held against the truth: `auto` from features if it is told that labels are
random, `auto` if nothing is said, and `pulsnar`. A flag is the code `kinds` or `tilt`. Made by
`make study-labels`.

Every choice was made on other datasets, left out in turns: {trained}, and made tables.

Judged are {judged}. They were named before anything was run on them, except that other problems
of `anuran` and `letter` were looked at while the forest of `pulsnar` was chosen, and that an
earlier `auto` was run on all of them: that it went too short a way was known when this one was
made. No choice was tried on them. `letter` is among the datasets that `auto` for random labels was
trained on. Problems with fewer than 20 labels are left out.

{unfinished(missing)}## What was asked

{verdicts(results)}

Of {sum(flags)} problems with a flag, the interval held alpha in
{coverage([r for r, flag in zip(results, flags, strict=True) if flag], AUTO):.0%}; their error
was {error([r for r, flag in zip(results, flags, strict=True) if flag], AUTO):.3f}, and
{error([r for r, flag in zip(results, flags, strict=True) if flag], IF_RANDOM):.3f} as if labels
were random.

{COMMENT}
## By the way labels came about

*Error* is the mean absolute error of alpha, *coverage* how often the 95% interval holds it.

{overview(results)}

## By label frequency

{by_frequency(results)}

## By dataset

{by_dataset(results)}

{anchors_section(held)}## Every cell

The first draw of each.

{cells(results)}
"""
