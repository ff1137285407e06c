"""What an experiment is made of, and which papers have one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from recoup._core.checks import brief, did_you_mean
from recoup.exceptions import InvalidInputError

Size: TypeAlias = Literal["tiny", "quick", "full"]
Verdict: TypeAlias = Literal[
    "holds", "holds in the paper's setting", "does not hold", "cannot be told"
]
Rows: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """One piece of work, kept in the paper's store once it is done.

    Attributes
    ----------
    name : str
        Unlike all other names of the paper and size; letters, digits, dots, dashes, underscores.
    settings : dict
        Plain values, as JSON knows them: all that the work depends on beside the data.
    """

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Effect:
    """The number that decides about a claim, with what noise leaves open.

    :mod:`papers.effects` makes them from what was measured.

    Attributes
    ----------
    value : float
        The number.
    lower, upper : float
        A 95% interval; both are the value where it is exact.
    unit : str
        What is counted or measured, as it reads after the number; a ``%`` at its start follows the
        number closely.

    Examples
    --------
    >>> Effect(0.02541, 0.0241, 0.02663, "of AUC").text
    '0.0254 (0.0241 to 0.0266) of AUC'
    >>> Effect(88.0, 82.8, 91.8, "%").text
    '88.0% (82.8% to 91.8%)'
    >>> Effect(100, 85.0, 100, "% of settings").text
    '100% (85% to 100%) of settings'
    >>> Effect(0, 0, 0, "exceptions").text
    '0 exceptions'
    >>> Effect(0.74, 0.03, 19.2, "times as rough").text
    '0.74 (0.030 to 19) times as rough'
    >>> Effect(1.083642, 1.083642, 1.083642, "GB").text
    '1.08 GB'
    """

    value: float
    lower: float
    upper: float
    unit: str

    @property
    def text(self) -> str:
        """The number, its interval and its unit, with the digits that the interval leaves.

        No more than three digits count, unless the limits would look alike. A ratio, whose unit
        starts with "times", has two digits of each number where the lower limit would have one.
        """
        sign = "%" if self.unit.startswith("%") else ""
        rest = self.unit.removeprefix("%").strip()
        after = f" {rest}" if rest else ""
        numbers = (self.value, self.lower, self.upper)
        width = self.upper - self.lower
        if not width > 0:
            return f"{_three_digits(self.value)}{sign}{after}"
        decimals = min(_decimals(width, 2), _decimals(max(map(abs, numbers)), 3))
        decimals = max(decimals, _decimals(width, 1))
        each = [decimals] * 3
        if self.unit.startswith("times") and 0 < self.lower < 10 ** (1 - decimals):
            each = [_decimals(number, 2) for number in numbers]
        value, lower, upper = (
            f"{number:,.{places}f}{sign}" for number, places in zip(numbers, each, strict=True)
        )
        return f"{value} ({lower} to {upper}){after}"


def _decimals(number: float, digits: int) -> int:
    """Places after the point that show so many digits of a positive number; 0 to 12."""
    return min(max(digits - 1 - math.floor(math.log10(number)), 0), 12)


def _three_digits(number: float) -> str:
    """Write a number with three digits; a whole part stays whole."""
    whole = number == round(number) or abs(number) >= 1000
    return f"{number:,.0f}" if whole else f"{number:.3g}"


@dataclass(frozen=True)
class Claim:
    """Something a paper says, and whether it holds.

    Attributes
    ----------
    text : str
        What the paper says, in our words.
    setting : str
        Where it was looked at: data, sizes, and the figure or section of the paper.
    rule : str
        What must come out for the claim to hold, written before looking. A rule that was changed
        after results were known says so, and what the old one says.
    published, ours : str
        The figures, side by side.
    effect : Effect or None
        The number that decides; None only where none does, as for a proof.
    verdict : {"holds", "holds in the paper's setting", "does not hold", "cannot be told"}
        What the rule says. The second means that it holds in the paper's setting but not where it
        was looked at beyond it; the last that the paper, the data or the runs leave it open, as
        ``reason`` tells.
    cause : str
        A short key of the root cause, the same for all claims that fail or are limited for one
        reason; empty where the claim holds plainly.
    reason : str
        A sentence or two: why it fails, is limited or cannot be told, or what to bear in mind.
    """

    text: str
    setting: str
    rule: str
    published: str
    ours: str
    effect: Effect | None
    verdict: Verdict
    cause: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Page:
    """What a paper's experiment came to.

    Attributes
    ----------
    intro : str
        Markdown: what was done, and how it differs from the paper.
    tables : tuple of (heading, Markdown table)
        Our figures beside the published ones; see :func:`markdown_table`.
    claims : tuple of Claim
        What was compared.
    figures : mapping of str to matplotlib Figure
        By the name of the file that each becomes, without ``.png``.
    """

    intro: str
    tables: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Experiment:
    """How to repeat what a paper reports.

    Attributes
    ----------
    key : str
        The name of the folder that holds it.
    title, citation : str
        Of the paper.
    lesson : str
        What someone who uses its methods should take from how it came out, in a few sentences.
    runs : callable
        Takes a size, ``"tiny"``, ``"quick"`` or ``"full"``, and returns the runs.
    measure : callable
        Takes a run and returns tidy rows of plain values. The same run gives the same rows. A
        number that is not finite comes back as None.
    summarize : callable
        Takes the rows of all runs, in the order of the runs, and the size; returns the page.
    revision : int
        Raise it when ``measure`` changes: runs of another revision are done again.
    read : callable, optional
        For an experiment whose runs are made by ``recoup bench``: takes the file with what they
        came to, and returns its rows and the page. The three callables above are not used then.
    made_by : str
        The commands that make that file, one in a line.
    """

    key: str
    title: str
    citation: str
    runs: Callable[[str], list[Run]]
    measure: Callable[[Run], Rows]
    summarize: Callable[[Rows, str], Page]
    lesson: str = ""
    revision: int = 1
    read: Callable[[Path], tuple[Rows, Page]] | None = None
    made_by: str = ""


def papers() -> list[str]:
    """Return the keys of the papers whose experiments can be repeated."""
    import pkgutil

    import papers

    return sorted(info.name for info in pkgutil.iter_modules(papers.__path__) if info.ispkg)


def experiment(key: str) -> Experiment:
    """Return the experiment of a paper."""
    from importlib import import_module

    known = papers()
    if key not in known:
        raise InvalidInputError(
            f"reproduce needs the key of a paper. Got {brief(key)!r}."
            f"{did_you_mean(str(key), known)} Choose one of: {', '.join(known)}."
        )
    found: Experiment = import_module(f"papers.{key}.experiment").EXPERIMENT
    return found


def datasets_at_hand(names: Iterable[str], key: str) -> tuple[list[str], list[str]]:
    """Tell the datasets that can be read here from those that cannot, in the given order.

    Data that would have to be fetched count as absent: an experiment does not wait for a network.
    """
    from recoup.data import list_datasets

    wanted = list(names)
    ready = {row.name for row in list_datasets() if row.available in ("bundled", "found")}
    present = [name for name in wanted if name in ready]
    if not present:
        folder = os.environ.get("RECOUP_DATA")
        raise InvalidInputError(
            f"reproduce {key} needs at least one of the datasets {brief(', '.join(wanted), 200)}. "
            f"None comes with recoup, is in the folder that RECOUP_DATA names "
            f"({brief(folder, 200) if folder else 'not set'}), or is in the cache. Let RECOUP_DATA "
            f"name the folder with their files; recoup list datasets shows what is found."
        )
    return present, [name for name in wanted if name not in ready]


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write formatted cells as a Markdown table; bars in them are escaped."""

    def line(cells: Sequence[str]) -> str:
        flat = (" ".join(str(cell).split()).replace("|", r"\|") for cell in cells)
        return f"| {' | '.join(flat)} |"

    return "\n".join([line(columns), line(["---"] * len(columns)), *(line(row) for row in rows)])
