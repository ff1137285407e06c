"""Standing: what a comparison of learners found, as frozen results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from recoup._core.checks import brief, did_you_mean
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number, show_p, show_percent, show_range
from recoup.bench.hypothesis_tests import Friedman
from recoup.bench.result_array import Cell, Gap, label_of
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from recoup.plot.bench import CriticalDifferenceDisplay, RankDisplay

Block = Literal["dataset", "cell"]
Part = Literal["results", "ranks", "baseline", "pairs", "gaps"]


def blocks_of(cells: Iterable[Cell], block: Block) -> list[Any]:
    """Return what tests over datasets count once: the datasets, or the cells themselves."""
    return list(dict.fromkeys(cell.dataset if block == "dataset" else cell for cell in cells))


@dataclass(frozen=True)
class CellResult:
    """One learner in one cell.

    Attributes
    ----------
    cell : Cell
        Dataset, scheme, mechanism, share of labels and noise.
    learner : str
        Which learner.
    family : str
        Its family.
    n : int
        Number of seeds with a result.
    mean : float
        Mean of the metric over seeds.
    std : float
        Standard deviation over seeds, with n - 1.
    n_pairs : int
        Number of seeds that the learner shares with the baseline.
    difference : float
        Mean of the learner less that of the baseline, over the shared seeds.
    t : float
        Statistic of the paired t-test of the difference.
    p_value : float
        Of that test.
    p_adjusted : float
        The same after Holm's correction over the learners of the cell.
    verdict : {"better", "worse", "same", ""}
        How the learner compares with the baseline; empty without a test.
    """

    cell: Cell
    learner: str
    family: str
    n: int
    mean: float
    std: float
    n_pairs: int
    difference: float
    t: float
    p_value: float
    p_adjusted: float
    verdict: str


@dataclass(frozen=True)
class Rank:
    """A learner's average rank over complete blocks, 1 being the best.

    Attributes
    ----------
    learner : str
        Which learner.
    family : str
        Its family.
    rank : float
        Average rank.
    lower : float
        Lower limit of the average rank to expect from as many other seeds on the same datasets.
    upper : float
        Upper limit of it.
    first : float
        Share of redraws of the seeds in which the learner comes first.
    mean : float
        Mean of the metric over the same blocks.
    """

    learner: str
    family: str
    rank: float
    lower: float
    upper: float
    first: float
    mean: float


@dataclass(frozen=True)
class Against:
    """A learner against the baseline, where both have results on the same seeds.

    Attributes
    ----------
    learner : str
        Which learner.
    n_blocks : int
        Number of blocks that both have results on.
    difference : float
        Mean of the learner less that of the baseline.
    wins, ties, losses : int
        Numbers of cells, by means.
    better, same, worse : int
        Numbers of cells, by the t-test of each cell.
    p_value : float
        Of Wilcoxon's test over the blocks.
    p_adjusted : float
        The same after Holm's correction over all learners.
    """

    learner: str
    n_blocks: int
    difference: float
    wins: int
    ties: int
    losses: int
    better: int
    same: int
    worse: int
    p_value: float
    p_adjusted: float


@dataclass(frozen=True)
class Pair:
    """Two ranked learners on the complete blocks.

    Attributes
    ----------
    first, second : str
        The two learners.
    difference : float
        Mean of the first less that of the second.
    wins, ties, losses : int
        Numbers of cells, by means, from the first learner's side.
    p_value : float
        Of Wilcoxon's test over blocks.
    p_adjusted : float
        The same after Holm's correction over all pairs.
    p_nemenyi : float
        Of Nemenyi's test, from the distance of the average ranks.
    """

    first: str
    second: str
    difference: float
    wins: int
    ties: int
    losses: int
    p_value: float
    p_adjusted: float
    p_nemenyi: float


@dataclass(frozen=True)
class LeftOut:
    """A learner that is not ranked, and why.

    Attributes
    ----------
    learner : str
        Which learner.
    reason : str
        Why, as a sentence.
    """

    learner: str
    reason: str


@dataclass(frozen=True, eq=False, repr=False)
class Standing:
    """How learners stand by one metric. Made by :func:`~recoup.bench.ranking.rank_learners`.

    Attributes
    ----------
    metric : str
        The metric that was compared.
    protocol : {"honest", "oracle"}
        How weights were chosen: without classes, or with them.
    baseline : str or None
        Learner that the others are tested against.
    block : {"dataset", "cell"}
        What a test over datasets counts once.
    level : float
        Level of all tests; intervals are at one minus it.
    cells : tuple of Cell
        All cells.
    complete_cells : tuple of Cell
        Those in which every ranked learner has results on shared seeds.
    n_blocks : int
        Number of complete blocks, which all tests over learners use.
    results : tuple of CellResult
        One for each cell and learner with results.
    ranks : tuple of Rank
        Best first.
    friedman : Friedman or None
        None with fewer than two ranked learners or two complete blocks.
    critical_difference : float
        Nemenyi's; NaN without Friedman's test.
    cliques : tuple of tuple of str
        Groups of learners that Nemenyi's test does not tell apart.
    against : tuple of Against
        Each learner against the baseline.
    pairs : tuple of Pair
        All pairs of ranked learners.
    gaps : tuple of Gap
        Every result that is missing: which learner, cell and seeds, and why.
    left_out : tuple of LeftOut
        Learners that are not ranked, and why.
    notes : tuple of str
        What to bear in mind.
    """

    metric: str
    protocol: str
    baseline: str | None
    block: Block
    level: float
    cells: tuple[Cell, ...]
    complete_cells: tuple[Cell, ...]
    n_blocks: int
    results: tuple[CellResult, ...]
    ranks: tuple[Rank, ...]
    friedman: Friedman | None
    critical_difference: float
    cliques: tuple[tuple[str, ...], ...]
    against: tuple[Against, ...]
    pairs: tuple[Pair, ...]
    gaps: tuple[Gap, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        """Name the learners from best to worst."""
        order = ", ".join(f"{item.learner} {item.rank:.2f}" for item in self.ranks)
        return (
            f"Standing({self.metric}, {self.protocol}: {order or 'nobody ranked'}; "
            f"{self.n_blocks} of {len(blocks_of(self.cells, self.block))} {self.block}s)"
        )

    def to_frame(self, part: Part = "results") -> pd.DataFrame:
        """Return one part as a frame.

        Parameters
        ----------
        part : {"results", "ranks", "baseline", "pairs", "gaps"}
            A row per learner and cell, per ranked learner, per learner tested against the
            baseline, per pair, or per learner and cell with something missing.
        """
        if part not in get_args(Part):
            raise InvalidInputError(
                f"Standing.to_frame needs part to be one of {', '.join(get_args(Part))}. "
                f"Got {brief(part)}.{did_you_mean(str(part), get_args(Part))}"
            )
        kinds: dict[str, tuple[type, tuple[Any, ...]]] = {
            "results": (CellResult, self.results),
            "ranks": (Rank, self.ranks),
            "baseline": (Against, self.against),
            "pairs": (Pair, self.pairs),
            "gaps": (Gap, self.gaps),
        }
        kind, items = kinds[part]
        columns: dict[str, list[Any]] = {}
        for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]
            if name == "cell":
                for of_cell in Cell.__dataclass_fields__:
                    columns[of_cell] = [getattr(item.cell, of_cell) for item in items]
            else:
                columns[name] = [getattr(item, name) for item in items]
        return make_frame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""

        def plain(item: Any) -> Any:
            held = dict(vars(item))
            if "cell" in held:
                held = vars(held.pop("cell")) | held
            return held

        named = ("results", "ranks", "against", "pairs", "gaps", "left_out")
        found: dict[str, Any] = to_plain(
            {
                "metric": self.metric,
                "protocol": self.protocol,
                "baseline": self.baseline,
                "block": self.block,
                "level": self.level,
                "n_blocks": self.n_blocks,
                "cells": [vars(cell) for cell in self.cells],
                "complete_cells": [vars(cell) for cell in self.complete_cells],
                "friedman": None if self.friedman is None else vars(self.friedman),
                "critical_difference": self.critical_difference,
                "cliques": self.cliques,
                "notes": self.notes,
            }
            | {name: [plain(item) for item in getattr(self, name)] for name in named}
        )
        return found

    def plot(self, ax: Any = None) -> CriticalDifferenceDisplay:
        """Draw the critical-difference diagram."""
        from recoup.plot.bench import CriticalDifferenceDisplay

        if not self.ranks:
            raise InvalidInputError(
                "Standing.plot needs at least one ranked learner. Got none. See left_out and gaps "
                "for what is missing."
            )
        place = {item.learner: place for place, item in enumerate(self.ranks)}
        return CriticalDifferenceDisplay(
            names=[item.learner for item in self.ranks],
            ranks=np.array([item.rank for item in self.ranks]),
            critical_difference=self.critical_difference,
            cliques=[[place[name] for name in group] for group in self.cliques],
            name=self._what(),
        ).plot(ax)

    def plot_ranks(self, ax: Any = None) -> RankDisplay:
        """Draw average ranks with their intervals."""
        from recoup.plot.bench import RankDisplay

        return RankDisplay(
            names=[item.learner for item in self.ranks],
            ranks=np.array([item.rank for item in self.ranks]),
            lower=np.array([item.lower for item in self.ranks]),
            upper=np.array([item.upper for item in self.ranks]),
            name=self._what(),
        ).plot(ax)

    def _what(self) -> str:
        return f"{label_of(self.metric)}, {self.n_blocks} {self.block}s"

    def _repr_html_(self) -> str:
        label = label_of(self.metric)
        ranks = {
            "learner": [brief(item.learner) for item in self.ranks],
            "average rank": [show_number(item.rank, ".2f") for item in self.ranks],
            f"{show_percent(1 - self.level)} interval": [
                show_range(item.lower, item.upper, ".2f") for item in self.ranks
            ],
            "first in redraws": [show_number(100 * item.first, ".0f") + "%" for item in self.ranks],
            f"mean {label}": [show_number(item.mean) for item in self.ranks],
        }
        page = html_table(
            ranks,
            f"Learners by {label}, weights chosen by the {self.protocol} protocol; "
            f"{self.n_blocks} complete {self.block}s",
            [*self.notes, *(f"{brief(item.learner)}: {item.reason}" for item in self.left_out)],
        )
        if self.against:
            columns = {
                "learner": [brief(item.learner) for item in self.against],
                "difference": [show_number(item.difference, "+.4f") for item in self.against],
                "cells won, tied, lost": [
                    f"{item.wins}, {item.ties}, {item.losses}" for item in self.against
                ],
                "better, same, worse by t-test": [
                    f"{item.better}, {item.same}, {item.worse}" for item in self.against
                ],
                "Wilcoxon p, adjusted": [show_p(item.p_adjusted) for item in self.against],
            }
            page += html_table(columns, f"Against {brief(str(self.baseline))}")
        if self.gaps:
            columns = {
                "learner": [brief(item.learner) for item in self.gaps],
                "cell": [str(item.cell) for item in self.gaps],
                "seeds": [", ".join(map(str, item.seeds)) for item in self.gaps],
                "why": [item.reason for item in self.gaps],
            }
            page += html_table(columns, "Missing results")
        return page
