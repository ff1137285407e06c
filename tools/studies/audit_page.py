"""Write the page of the study of audits from what ``tools.studies.audits`` found.

python -m tools.studies.audit_page build/audits/found.json docs/audits.md
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.files import write_file
from tools.studies.audits import BUDGETS, FIGURES, LABELS, METRICS

GOAL = 0.93, 0.97
NAMES = ("alpha", "precision", "recall", "F1", "AUC", "average precision")
# Checks saved that were wanted before the first run, by metric.
WANTED = {"precision": 5.0, "f1": 4.0, "alpha": 2.0, "recall": 2.0}
AT = {name: place for place, name in enumerate(FIGURES)}


class Cell:
    """All repetitions of one set, one way of labeling and one number of checks."""

    def __init__(self, name: str, labels: str, budget: int, figures: np.ndarray) -> None:
        self.name, self.labels, self.budget = name, labels, budget
        self.figures = figures  # repetitions x metrics x FIGURES

    def _column(self, what: str) -> np.ndarray:
        return np.asarray(self.figures[:, :, AT[what]])

    def held(self, low: str = "audited_lower", high: str = "audited_upper") -> np.ndarray:
        """Share of intervals that hold the truth, by metric."""
        true = self._column("truth")
        inside = (self._column(low) <= true + 1e-6) & (true - 1e-6 <= self._column(high))
        return np.asarray(inside.mean(axis=0))

    def error(self, what: str) -> np.ndarray:
        """Root of the mean squared error, by metric."""
        gap = self._column(what) - self._column("truth")
        return np.asarray(np.sqrt(np.nanmean(gap**2, axis=0)))

    def saved(self, what: str = "audited") -> np.ndarray:
        """How many times as many blind checks it takes for the same error, by metric."""
        # Below this error numbers are as good as exact, and ratios mean nothing.
        return np.asarray((self.error("blind") / np.maximum(self.error(what), 1e-4)) ** 2)

    def width_for_planned(self, what: str) -> np.ndarray:
        """Mean half-width for the one that was planned, by metric; 1 where both are nothing."""
        width = self._column("audited_upper") - self._column("audited_lower")
        planned = self._column(what).mean(axis=0)
        return np.asarray(np.maximum(width.mean(axis=0) / 2, 1e-4) / np.maximum(planned, 1e-4))


def cells(found: dict[str, Any]) -> Iterator[Cell]:
    for key, repetitions in found.items():
        name, labels = key.split("|")
        done = [one for one in repetitions if one]
        for budget in BUDGETS:
            rows = [one[str(budget)] for one in done if str(budget) in one]
            if rows:
                yield Cell(name, labels, budget, np.array(rows))


def percent(share: float) -> str:
    text = f"{100 * share:.0f}"
    return text if GOAL[0] <= round(share, 3) <= GOAL[1] else f"**{text}**"


def times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(all_cells: list[Cell]) -> str:
    """One row for each way of labeling and metric."""
    rows = []
    for labels in LABELS:
        mine = [one for one in all_cells if one.labels == labels]
        for place, name in enumerate(NAMES):
            held = np.array([one.held()[place] for one in mine])
            both = np.array([one.held("lower", "upper")[place] for one in mine])
            saved = np.array([one.saved()[place] for one in mine])
            combined = np.array([one.saved("combined")[place] for one in mine])
            alone = np.array([one.error("from_labels")[place] for one in mine])
            rows.append(
                [
                    f"{labels}: {name}",
                    f"{100 * held.mean():.1f}",
                    f"{100 * held.min():.0f} to {100 * held.max():.0f}",
                    f"{np.sum((held.round(3) >= GOAL[0]) & (held.round(3) <= GOAL[1]))} of "
                    f"{len(held)}",
                    f"{np.sum(held.round(3) < GOAL[0])}",
                    f"{100 * both.mean():.1f}",
                    times(float(np.median(saved))),
                    times(float(np.median(combined))),
                    f"{np.median([one.error('audited')[place] for one in mine]):.3f}",
                    f"{np.median([one.error('combined')[place] for one in mine]):.3f}",
                    f"{np.median(alone):.3f}",
                ]
            )
    head = ["labels: number", "held, mean", "range", "93 to 97", "below", "both held", "saved"]
    head += ["saved, both", "error", "error, both", "error, labels alone"]
    return table(head, rows)


def widths(all_cells: list[Cell]) -> str:
    """Planned half-widths against those that came."""
    rows = []
    for labels in LABELS:
        mine = [one for one in all_cells if one.labels == labels]
        line = [labels]
        for what in ("planned_first", "planned_last"):
            for place in range(len(METRICS)):
                ratio = np.array([one.width_for_planned(what)[place] for one in mine])
                near = np.mean(np.abs(ratio - 1) <= 0.15)
                line.append(f"{np.median(ratio):.2f} ({100 * near:.0f})")
        rows.append(line)
    head = ["labels", *NAMES, *(f"{name}, last" for name in NAMES)]
    return table(head, rows)


def verdicts(found: dict[str, Any]) -> str:
    rows = []
    for labels in LABELS:
        codes = [
            one["verdict"][0]
            for key, repetitions in found.items()
            if key.endswith(f"|{labels}")
            for one in repetitions
            if one and "verdict" in one
        ]
        if codes:
            shares = [
                f"{100 * np.mean([code == one for code in codes]):.1f}"
                for one in ("random", "cannot-tell", "favor-high", "favor-low")
            ]
            rows.append([labels, f"{len(codes):,}", *shares])
    return table(["labels", "audits", "random", "cannot tell", "favor high", "favor low"], rows)


def every_cell(all_cells: list[Cell]) -> str:
    rows = [
        [f"{one.name}, {one.labels}, {one.budget}", *(percent(share) for share in one.held())]
        + [times(ratio) for ratio in one.saved()]
        for one in all_cells
    ]
    head = ["set, labels, checks", *NAMES, *(f"{name}, saved" for name in NAMES)]
    return table(head, rows)


def medians(all_cells: list[Cell], what: str) -> str:
    """Checks saved, median over cells, in words."""
    parts = []
    for key, wanted in WANTED.items():
        place = METRICS.index(key)
        median = float(np.median([one.saved(what)[place] for one in all_cells]))
        parts.append(f"{NAMES[place]} {times(median)} (wanted: {wanted:.0f})")
    return ", ".join(parts)


def worse_than_blind(all_cells: list[Cell]) -> str:
    worse = [
        f"{one.name}, {one.labels}, {one.budget}: {NAMES[place]} {one.saved()[place]:.2f}"
        for one in all_cells
        for place in range(len(METRICS))
        if one.saved()[place] < 1 / 1.1
    ]
    if not worse:
        return "In no cell does it take more than 1.1 times as many checks as the blind audit."
    return (
        f"More than 1.1 times as many checks as the blind audit in {len(worse)} of "
        f"{len(METRICS) * len(all_cells):,} ({'; '.join(worse)})."
    )


def coverage(all_cells: list[Cell]) -> str:
    held = np.array([one.held() for one in all_cells]).round(3)
    inside = int(np.sum((held >= GOAL[0]) & (held <= GOAL[1])))
    below = int(np.sum(held < GOAL[0]))
    repetitions = max(len(one.figures) for one in all_cells)
    noise = 1.96 * np.sqrt(0.95 * 0.05 / repetitions)
    return (
        f"Of {held.size:,} shares of intervals that hold the truth, {inside:,} lie between 93 and "
        f"97 %, {below:,} below, {held.size - inside - below:,} above. With {repetitions} "
        f"repetitions, a share of 95 % comes out between {100 * (0.95 - noise):.1f} and "
        f"{100 * (0.95 + noise):.1f} by chance alone; {int(np.sum(held < GOAL[0] - noise)):,} lie "
        f"below {100 * (GOAL[0] - noise):.1f} %. The mean is {100 * held.mean():.1f} %."
    )


PAGE = """# Do audits hold? A study on real data

[Checking by hand](checking-by-hand.md) says what an audit is. This page says how often its
intervals hold the truth, whatever the labels are, and how many checks it saves. Made by
`make study-audits`.

{sets} real populations, scored by boosted trees that learned labeled against unlabeled rows of the
other half of the set; labels that are a random sample of the positives, that favor clear positives
(the odds of a label differ 5 and 27 times between positives at the 5th and the 95th percentile), or
that differ by kind of positive (rates in proportion 5, 15, 40 and 60); three of ten positives
labeled, their number left to chance; 50 to 400 checks; {repetitions} repetitions of each, fewer
where chance gave fewer than 20 labels. In each, alpha is estimated from the labels, the threshold
flags as many rows as there seem to be positives, and the audit has two waves. Remedies were tried
on eight other sets (`TRAINING` in the script), not on these.

{coverage}

"Saved" is how many times as many rows, drawn blindly from the unlabeled ones, it takes to reach the
same error; the blind audit knows the labeled rows too, and weights by design. Medians over all
cells: {saved}. With labels at random, audited value and labels together: {together}. {worse}

## By way of labeling

Error is the root of the mean squared error, median over the cells; "both" is the audited value
moved toward that of the labels; "both held" counts the intervals that are reported with it.

{summary}

## The verdict on the labels

After 200 checks, in percent. Kinds are no question of the score alone, and may or may not show.

{verdicts}

## Planned and real half-widths

Half-width that came for the one planned before any check (first six columns) and after the first
wave (last six): median over the cells, and the share of the cells in percent in which it is within
15 %.

{widths}
{peers}
## Every cell

Percent of intervals that hold the truth, outside 93 to 97 in bold, then checks saved.

{every}
"""


PEERS = """
## Beside other packages

The same 200 checks of unlabeled rows, the same chances from the labels, the same threshold, with
glide-py 0.11.0 for alpha and activeeval 0.1.2 for F1, {repetitions} repetitions of {cells} cells
(`python -m tools.studies.audit_peers`, which says who was given what). Cells in which recoup errs
at most as much, and the error of the other way for that of recoup (geometric mean). "For all" is
the default plan, which serves six numbers at once; "for this" is planned for the one number, as
theirs is. The ratio of a single cell is known to about 15 to 20 %, and variants of the others were
chosen after a look at trial runs on these sets, which is in their favor.

{table}
"""


def beside_peers(found: dict[str, Any]) -> str:
    rows = []
    for key, package in (("alpha", "glide"), ("f1", "activeeval")):
        cells = [one["summary"][key] for one in found.values()]
        for way in (name for name in cells[0] if name.startswith(package)):
            line = [f"{key.replace('f1', 'F1')}: {way}"]
            for base in ("recoup audited", "recoup combined", "recoup for this alone"):
                ratios = [cell[way]["ratios"][base] for cell in cells if way in cell]
                wins = sum(ratio >= 1 for ratio in ratios)
                middle = np.exp(np.mean(np.log(ratios)))
                line.append(f"{wins} of {len(ratios)} ({middle:.2f})")
            covered = [cell[way]["coverage"] for cell in cells if way in cell]
            line.append(f"{100 * min(covered):.0f} to {100 * max(covered):.0f}")
            rows.append(line)
    head = ["number: way", "for all, audited", "for all, with labels", "for this, audited"]
    runs = [len(one["runs"]) for one in found.values()]
    return PEERS.format(
        repetitions=min(runs), cells=len(found), table=table([*head, "its intervals hold, %"], rows)
    )


def page(found: dict[str, Any], peers: dict[str, Any] | None = None) -> str:
    all_cells = list(cells(found))
    at_random = [one for one in all_cells if one.labels == "random"]
    return PAGE.format(
        sets=len({one.name for one in all_cells}),
        repetitions=max(len(one.figures) for one in all_cells),
        coverage=coverage(all_cells),
        saved=medians(all_cells, "audited"),
        together=medians(at_random, "combined"),
        worse=worse_than_blind(all_cells),
        summary=summary(all_cells),
        verdicts=verdicts(found),
        widths=widths(all_cells),
        every=every_cell(all_cells),
        peers="" if peers is None else beside_peers(peers),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("found", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--peers", type=Path, help="what tools.studies.audit_peers wrote")
    options = parser.parse_args()
    peers = None if options.peers is None else json.loads(options.peers.read_text())
    write_file(options.page, page(json.loads(options.found.read_text()), peers).encode())


if __name__ == "__main__":
    main()
