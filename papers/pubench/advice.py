"""Which learner when: what honest runs say to somebody who has rows and must choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from papers.experiment import Effect
from papers.pubench.intervals import over_seeds
from papers.pubench.published import DATASET_TITLES, KINDS
from papers.pubench.study import BIASED, FEW, MANY
from recoup._core.checks import FloatArray
from recoup.bench.job import OWN
from recoup.bench.ranking import rank_learners
from recoup.bench.result_array import REFERENCE, result_array
from recoup.bench.standing import Rank
from recoup.data.catalog import find_entry
from recoup.exceptions import InvalidInputError

Row = Mapping[str, Any]

METRIC, SECOND = "accuracy", "roc_auc"
DESIGNS = {
    "single-sample": "one sample, part of its positives labeled",
    "case-control": "labeled rows apart from the unlabeled ones",
}
TENTH = 0.1
BANDS = {
    "one positive in a hundred to one in twenty labeled": (0.0, 0.05),
    "about one in ten": (0.05, 0.2),
    "three in ten or more": (0.2, 1.0),
}
N_BOOT = 1000


@dataclass(frozen=True)
class Place:
    """A learner in a situation.

    Attributes
    ----------
    learner : str
        Which one, as plans and ``recoup list learners`` call it.
    rank, lower, upper : float
        Average rank by accuracy over datasets, 1 the best, and its 95% interval.
    accuracy, auc : float
        Means over the same datasets; NaN where there is none.
    seconds : float
        Median time of a fit.
    behind : Effect or None
        Points of accuracy behind the first, on the same seeds; None where one seed is all there is.
    """

    learner: str
    rank: float
    lower: float
    upper: float
    accuracy: float
    auc: float
    seconds: float
    behind: Effect | None = None


@dataclass(frozen=True)
class Situation:
    """Learners ranked in one situation.

    Attributes
    ----------
    title : str
        Which situation.
    datasets : tuple of str
        Those that count.
    places : tuple of Place
        Best first; empty where nothing can be said.
    ceiling : float
        Mean accuracy of the learner that is told all classes; NaN without one.
    missing : str
        Why nothing can be said, or which learners are not ranked.
    """

    title: str
    datasets: tuple[str, ...]
    places: tuple[Place, ...]
    ceiling: float
    missing: str = ""

    @property
    def tied(self) -> tuple[Place, ...]:
        """The first, and those that may be as accurate: their distance may be none."""
        return tuple(
            one
            for number, one in enumerate(self.places)
            if not number or one.behind is None or one.behind.lower <= 0
        )

    @property
    def is_told(self) -> bool:
        """Whether at least half of the learners can be told from the first."""
        return bool(self.places) and 2 * len(self.tied) <= len(self.places)


def honest_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the honest protocol, one for each learner, cell and seed.

    Alpha left to the learner comes before a known one. Cells in which fewer than half of the
    learners have run are left out: who is first among a few says nothing about all.
    """
    found: dict[Any, Row] = {}
    for row in rows:
        if row["protocol"] != "honest" or row.get("noise"):
            continue
        names = ("dataset", "scheme", "mechanism", "label_frequency", "learner", "seed")
        place = tuple(row[name] for name in names)
        if place not in found or (row.get("alpha") == OWN and found[place].get("alpha") != OWN):
            found[place] = row
    ran: dict[Any, set[str]] = {}
    for row in found.values():
        if row["status"] == "done":
            ran.setdefault(_cell(row), set()).add(row["learner"])
    everyone = set().union(*ran.values())
    return [
        row for row in found.values() if 2 * len(ran.get(_cell(row), ())) >= max(len(everyone), 1)
    ]


def _cell(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("dataset", "scheme", "mechanism", "label_frequency"))


def title_of(dataset: str) -> str:
    """Return how a dataset is called."""
    return DATASET_TITLES.get(dataset) or find_entry(dataset, "which-learner").title


def kind_of(dataset: str) -> str:
    """Return the kind of data, also of datasets that the paper does not have."""
    for kind, names in KINDS.items():
        if dataset in names:
            return kind
    found = find_entry(dataset, "which-learner").kind
    return {"table": "tables", "image": "images"}.get(str(found), str(found))


def situation(title: str, rows: Sequence[Row]) -> Situation:
    """Rank the learners of some rows."""
    if not any(row["status"] == "done" for row in rows):
        return Situation(title, (), (), float("nan"), "There are no runs.")
    try:
        standings = {
            name: rank_learners(rows, name, baseline=None, n_boot=N_BOOT)
            for name in (METRIC, SECOND)
        }
    except InvalidInputError as error:
        return Situation(title, (), (), float("nan"), str(error))
    first = standings[METRIC]
    if len(first.ranks) < 2:
        return Situation(title, (), (), float("nan"), "Fewer than two learners have all results.")
    datasets = tuple(dict.fromkeys(cell.dataset for cell in first.complete_cells))
    areas = {item.learner: item.mean for item in standings[SECOND].ranks}
    grid = result_array(rows, METRIC, "honest", "which-learner")
    kept = [grid.cells.index(cell) for cell in first.complete_cells]
    leader = grid.values[:, grid.learners.index(first.ranks[0].learner)]

    def behind(learner: str) -> Effect | None:
        apart = 100 * (leader - grid.values[:, grid.learners.index(learner)])[kept]
        return _distance(apart, [grid.cells[place].dataset for place in kept])

    places = tuple(_place(item, areas, rows, behind(item.learner)) for item in first.ranks)
    ceilings = [
        item.mean
        for item in first.results
        if item.family == REFERENCE and item.cell in first.complete_cells
    ]
    ceiling = sum(ceilings) / len(ceilings) if ceilings else float("nan")
    lost = [item.learner for item in first.left_out if "true classes" not in item.reason]
    missing = f"Not ranked, as results are missing: {', '.join(lost)}." if lost else ""
    return Situation(title, datasets, places, ceiling, missing)


def _distance(apart: FloatArray, datasets: Sequence[str]) -> Effect | None:
    """Average differences over datasets; cells of a dataset are averaged for each seed."""
    blocks = []
    for dataset in dict.fromkeys(datasets):
        cells = apart[[place for place, name in enumerate(datasets) if name == dataset]]
        seeds = cells[:, np.isfinite(cells).all(axis=0)].mean(axis=0)
        if len(seeds) < 2:
            return None
        blocks.append(seeds[None])
    return over_seeds(blocks, lambda means: float(means.mean()), "points")


def _place(
    item: Rank, areas: Mapping[str, float], rows: Sequence[Row], behind: Effect | None
) -> Place:
    seconds = [
        row["seconds"]
        for row in rows
        if row["learner"] == item.learner
        and row["status"] == "done"
        and row.get("seconds") is not None
    ]
    return Place(
        item.learner,
        item.rank,
        item.lower,
        item.upper,
        item.mean,
        areas.get(item.learner, float("nan")),
        median(seconds) if seconds else float("nan"),
        behind,
    )


def by_kind(rows: Sequence[Row], scheme: str) -> list[Situation]:
    """Rank learners on each kind of data, a tenth of the positives labeled at random."""
    chosen = [
        row
        for row in rows
        if (row["scheme"], row["mechanism"], row["label_frequency"]) == (scheme, "scar", TENTH)
    ]
    design = "" if scheme == "single-sample" else f", {scheme}"
    title = f"all kinds together{design}"
    several = len({kind_of(row["dataset"]) for row in chosen if row["status"] == "done"}) > 1
    everything = (
        situation(title, chosen)
        if several
        else Situation(title, (), (), float("nan"), "There are runs of one kind of data at most.")
    )
    kinds = [
        situation(f"{kind}{design}", [row for row in chosen if kind_of(row["dataset"]) == kind])
        for kind in ("tables", *(kind for kind in KINDS if kind != "tables"))
    ]
    return [*kinds, everything]


def by_labels(rows: Sequence[Row]) -> list[Situation]:
    """Rank learners by how many positives carry a label, in one sample."""
    return [
        situation(
            title,
            [
                row
                for row in rows
                if (row["scheme"], row["mechanism"]) == ("single-sample", "scar")
                and low < row["label_frequency"] <= high
            ],
        )
        for title, (low, high) in BANDS.items()
    ]


def by_bias(rows: Sequence[Row]) -> list[Situation]:
    """Rank learners where clear or unclear positives are labeled more often, in one sample."""
    return [
        situation(
            f"{words}, {'labels at random' if mechanism == ('scar',) else 'biased labels'}",
            [
                row
                for row in rows
                if row["scheme"] == "single-sample"
                and row["mechanism"] in mechanism
                and row["label_frequency"] == c
            ],
        )
        for words, c in (("few labels (c = 0.05)", FEW), ("many labels (c = 0.5)", MANY))
        for mechanism in (("scar",), BIASED)
    ]
