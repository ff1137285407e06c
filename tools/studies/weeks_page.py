"""The page of the study of weeks: what was found, against rules that were written before."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import beta

from recoup._core.text import show_share, show_share_range
from tools.studies.weeks import (
    CHANGE,
    CHECKS,
    CLEAN_WEEKS,
    KNOWN_TO,
    LATE,
    THRESHOLD,
    WEEKS,
    Cell,
)

# Written down before the runs. A cell holds unless it misses by more than two standard errors.
LARGEST_ERROR = 0.06
COVERAGE = 0.93, 0.97
FALSE_ALARMS = 0.05
FOUND, WITHIN = 0.9, 3
# So many labels since the change tell what 90 % within three weeks takes.
SIZES = ((0, 30), (30, 60), (60, 120), (120, 10_000))

Found = list[tuple[Cell, list[Any]]]

INTRODUCTION = f"""# Weeks, measured

Does [`recoup.monitor`](weeks.md) keep its word while labels are still coming? A year of scored
rows is simulated, {WEEKS} weeks, with what is true of each. Positives get a label at random, three
or six in ten of them, after two weeks or six on average, or in two humps: alerts within days,
letters after two months. Rows a week, positives and labels are random numbers. Scores are no bell
curves: positives are a mixture of clear and less clear ones, negatives of usual rows and a group
that looks suspicious. From week {CHANGE} on

- **steady**: nothing changes;
- **wave**: there are more positives for some weeks, as there were around week 14;
- **decay**: all positives score lower, a third of those found before is found no more;
- **new kind**: three in ten positives are of a kind that the model does not see at all;
- **traffic**: the suspicious group grows from 12 to 30 % of the negatives, and rows by a fifth.

The label frequency is known with an error of {100 * KNOWN_TO:.0f} % (one standard deviation), as
from an audit; the errors are the quantiles of their distribution, so that each cell has small and
large ones. All ways to count get the same number. `make study-weeks` runs it all. Settings were
chosen on worlds with normal scores, and three of them ([decisions](decisions.md)) on some of these
worlds, with other seeds; alarms were measured anew after the last one, on seeds that nothing had
seen. The rules are older than the runs:

| what | rule |
| --- | --- |
| error of weekly precision, root mean square | at most {LARGEST_ERROR} |
| weeks whose precision lies in its interval | {show_share_range(*COVERAGE)} |
| years without a change that have an alarm | at most {100 * FALSE_ALARMS:.0f} % |
| losses of 30 % of recall named within {WITHIN} weeks | at least {100 * FOUND:.0f} % |

"""


def page(stored: dict[str, list[Any]]) -> str:
    """Write the page from everything that was found."""
    parts = [INTRODUCTION, *_weeks(_of(stored, "weeks")), *_unknown(_of(stored, "unknown"))]
    parts += [*_false(_of(stored, "false")), *_detected(_of(stored, "found"))]
    return "".join(parts)


def _of(stored: dict[str, list[Any]], part: str) -> Found:
    """Gather the runs of each cell of a part."""
    found: dict[Cell, list[Any]] = {}
    for key, runs in stored.items():
        facts = json.loads(key)
        if facts.pop("part") != part:
            continue
        for name in ("seeds", "from"):
            facts.pop(name)
        found.setdefault(Cell(**facts), []).extend(runs)
    return list(found.items())


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def _error(runs: list[Any], of: Callable[[Any], Any], weeks: slice = slice(None)) -> float:
    errors = np.array([of(run) for run in runs], float)[:, weeks]
    return float(np.sqrt(np.nanmean(errors**2)))


def _of_precision(run: Any) -> Any:
    return run["precision"]["error"]


def _coverage(runs: list[Any], key: str) -> tuple[float, float]:
    """Return the share of weeks whose interval held, and its standard error over worlds."""
    shares = np.mean([run[key]["held"] for run in runs], axis=1)
    spread = shares.std(ddof=1) if len(shares) > 1 else np.nan
    return float(shares.mean()), float(spread / np.sqrt(len(shares)))


def _within(share: float, error: float) -> str:
    low, high = COVERAGE
    if low <= share <= high:
        return "yes"
    return "nearly" if low - 2 * error <= share <= high + 2 * error else "**no**"


def _about(cell: Cell) -> list[str]:
    size = f"{cell.rows:,}, {100 * cell.pi:g} %"
    return [cell.world, cell.delay, f"{cell.frequency:g}", size]


ABOUT = ["world", "delay, weeks", "labeled", "rows a week, positive"]


def _weeks(found: Found) -> Iterator[str]:
    n_worlds = sum(len(runs) for _, runs in found)
    rows, verdicts, small = [], [], 0
    for cell, runs in found:
        error = _error(runs, _of_precision)
        late = _error(runs, _of_precision, slice(-LATE, None))
        share, spread = _coverage(runs, "precision")
        verdict = _within(share, spread)
        verdicts.append(verdict)
        small += error <= LARGEST_ERROR
        recall = _coverage(runs, "recall")[0]
        rows.append(
            [
                *_about(cell),
                f"{error:.3f}" if error <= LARGEST_ERROR else f"**{error:.3f}**",
                f"{late:.3f}",
                f"{100 * share:.1f} ± {100 * spread:.1f}",
                verdict,
                f"{_error(runs, lambda run: run['recall']['error']):.3f}",
                f"{100 * recall:.1f}",
                *(
                    f"{_error(runs, lambda run, way=way: run[way]):.3f}"  # type: ignore[misc]
                    for way in ("week by week", "naive", "CBPE")
                ),
            ]
        )
    everything = [run for _, runs in found for run in runs]
    share, spread = _coverage(everything, "precision")
    seconds = float(np.median([run["seconds"] for run in everything]))
    kept, nearly = (verdicts.count(word) for word in ("yes", "nearly"))
    yield (
        f"## Precision of every week\n\n{n_worlds:,} years, {WEEKS * n_worlds:,} weeks; rows from "
        f"a score of {THRESHOLD:g} on are flagged. The error is at most {LARGEST_ERROR} in {small} "
        f"of {len(found)} cells, and {_error(everything, _of_precision):.3f} over all; intervals "
        f"hold in {100 * share:.1f} ± {100 * spread:.1f} % of the weeks over all. They keep the "
        f"rule in {kept} cells, and in {nearly} more are off by less than two standard errors "
        f"(*nearly*). *Late* are the last {LATE} weeks. *Week by week* divides the labels among "
        f"the flagged rows of each week by label frequency and share of labels that have come, "
        f"and has no answer for weeks without labels; *naive* takes labels as complete. *CBPE* "
        f"(the idea of NannyML) averages scores that were calibrated by the true classes of the "
        f"first {CLEAN_WEEKS} weeks, which nobody has: a clean reference that the others go "
        f"without. A year takes {seconds:.1f} s here.\n\n"
    )
    heads = [*ABOUT, "error", "late", "held, %", "within rule", "recall: error", "held, %"]
    yield _table([*heads, "week by week", "naive", "CBPE"], rows)
    yield _by_world(found)


def _by_world(found: Found) -> str:
    """Set the ways beside each other, by what changes."""
    rows: list[list[str]] = []
    sides: dict[bool, list[str]] = {True: [], False: []}
    for world in dict.fromkeys(cell.world for cell, _ in found):
        runs = [run for cell, some in found if cell.world == world for run in some]
        ways = [_of_precision]
        ways += [lambda run, way=way: run[way] for way in ("week by week", "naive", "CBPE")]  # type: ignore[misc]
        errors = [_error(runs, way, slice(CHANGE, None)) for way in ways]
        sides[errors[-1] < errors[0]].append(world)
        after = [f"{error:.3f}" for error in errors]
        rows.append([world, *(f"{_error(runs, way):.3f}" for way in ways), *after])
    names = ["monitor", "week by week", "naive", "CBPE"]
    return (
        f"By what changes, all weeks and those from week {CHANGE} on (*late*). CBPE, which is "
        f"given true classes, has the smaller error then in {_listed(sides[True])}; `monitor`, "
        f"which is not, in {_listed(sides[False])}.\n\n"
    ) + _table(["world", *names, *(f"{name}, late" for name in names)], rows)


def _listed(worlds: list[str]) -> str:
    return ", ".join(worlds) or "none"


def _unknown(found: Found) -> Iterator[str]:
    rows = []
    for cell, runs in found:
        share, spread = _coverage(runs, "precision")
        rows.append(
            [
                {"audit": f"{CHECKS} rows checked", "labels": "estimated"}[cell.known],
                cell.world,
                f"{len(runs)}",
                f"{np.mean([run['share'] for run in runs]):.3f}",
                f"{np.std([run['share'] for run in runs]):.3f}",
                f"{_error(runs, _of_precision):.3f}",
                f"{100 * share:.0f} ± {100 * spread:.0f}",
            ]
        )
    if rows:
        yield (
            "## Where the label frequency is not known\n\n"
            "From rows that somebody checked, chosen by `recoup.audit.plan`, or from scores and "
            "labels of old rows alone; the true one is 0.6. No rule was made for these.\n\n"
        )
        heads = ["known by", "world", "years", "mean", "its spread", "error of precision"]
        yield _table([*heads, "held, %"], rows)


def _upper(n_hits: int, n: int) -> float:
    """Return the exact upper limit of a share, at 95 %."""
    return float(beta.ppf(0.95, n_hits + 1, n - n_hits)) if n_hits < n else 1.0


def _false(found: Found) -> Iterator[str]:
    rows = []
    for cell, runs in found:
        hits = sum(bool(run) for run in runs)
        causes = sorted({cause for run in runs for cause in run})
        rows.append([*_about(cell)[:2], f"{hits} of {len(runs)}", ", ".join(causes) or "-"])
    said = []
    for world in dict.fromkeys(cell.world for cell, _ in found):
        some = [run for cell, runs in found if cell.world == world for run in runs]
        hits, n = sum(map(bool, some)), len(some)
        verdict = "holds" if hits / n <= FALSE_ALARMS else "is **missed**"
        said.append(
            f"In {world} worlds {hits} of {n} years had an alarm, {show_share(hits / n)}, at most "
            f"{show_share(_upper(hits, n))} with 95 % confidence: the rule {verdict}."
        )
    yield (
        f"## False alarms\n\nLooked at every week of a year, after 30 weeks, {found[0][0].rows:,} "
        f"rows a week. In restless worlds the share of positives and the suspicious group wander "
        f"by a tenth around their means, so that something does change. {' '.join(said)}\n\n"
    )
    yield _table(["world", "delay, weeks", "years with an alarm", "causes"], rows)


def _detected(found: Found) -> Iterator[str]:
    blind = [(cell, runs) for cell, runs in found if cell.world in ("decay", "new kind")]
    everything = [run for _, runs in blind for run in runs]
    soon = _share_found(everything, WITHIN)
    verdict = "holds" if soon >= FOUND else "is **missed**"
    cells = sum(_share_found(runs, WITHIN) >= FOUND for _, runs in blind)
    yield (
        f"## How soon a model that grows blind is noticed\n\nOf {len(everything):,} changes, "
        f"{show_share(soon)} were named within {WITHIN} weeks, and at least {show_share(FOUND)} in "
        f"{cells} of {len(blind)} cells: over all, the rule {verdict}. What decides is how many "
        f"labels of rows since the change have come by then:\n\n"
    )
    rows = []
    for low, high in SIZES:
        some = [run for run in everything if low <= run["labels"] < high]
        if some:
            name = f"{low} to {high - 1}" if high < SIZES[-1][1] else f"{low} or more"
            rows.append(
                [
                    name,
                    f"{len(some)}",
                    show_share(_share_found(some, WITHIN)),
                    show_share(_share_found(some, 6)),
                    show_share(float(np.mean([run["best"] for run in some]))),
                ]
            )
    heads = ["labels since", "changes", f"named within {WITHIN} weeks", "within 6"]
    yield _table([*heads, "test that knows the date"], rows)
    yield (
        "The last column is a binomial test of the share of labels that are flagged, told when the "
        "change happened, at a level that gives a false alarm in 5 % of years: where it fails, "
        "there was too little to see. It looks at one side of the threshold against the other, "
        "the alarm at all scores, so that the alarm can be ahead of it.\n\n"
    )
    rows = []
    for cell, runs in found:
        rows.append(
            [
                *_about(cell),
                f"{np.mean([run['labels'] for run in runs]):.0f}",
                f"{len(runs)}",
                show_share(_share_found(runs, WITHIN)),
                show_share(_share_found(runs, 6)),
                show_share(float(np.mean([run["other"] for run in runs]))),
            ]
        )
    heads = [*ABOUT, "labels since", "changes", f"within {WITHIN} weeks", "within 6"]
    yield _table([*heads, "another cause named"], rows)


def _share_found(runs: list[Any], weeks: int) -> float:
    return float(np.mean([run["first"] is not None and run["first"] <= weeks for run in runs]))
