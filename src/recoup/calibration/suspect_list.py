"""Suspects: rows that may be hidden positives, with their chances and why."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.files import no_formula, write_file
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_digits, show_number, show_range, show_share
from recoup.calibration.results import Calibration

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False, eq=False)
class Suspects:
    """Unlabeled rows that are likely positive, the likeliest first.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Positions of the rows.
    ids : ndarray of shape (n,)
        What the rows are called; the positions where nothing else was given.
    scores : ndarray of shape (n,)
        Falling.
    probability : ndarray of shape (n,)
        Chance that the row is positive, given that it carries no label.
    lower : ndarray of shape (n,)
        Lower pointwise limits of the chances.
    upper : ndarray of shape (n,)
        Upper pointwise limits of the chances.
    above : ndarray of shape (n,)
        Share of all rows that have a lower score.
    near_labeled : ndarray of int of shape (n,)
        Labeled rows among the rows nearest in rank.
    n_near : int
        How many nearest rows were looked at.
    groups : ndarray of shape (n,) or None
        Group of each row.
    n_unlabeled : int
        Unlabeled rows without an answer, from which these were taken.
    calibration : Calibration
        Where the chances come from.
    """

    rows: NDArray[np.intp]
    ids: NDArray[Any]
    scores: FloatArray
    probability: FloatArray
    lower: FloatArray
    upper: FloatArray
    above: FloatArray
    near_labeled: NDArray[np.int64]
    n_near: int
    groups: NDArray[Any] | None
    n_unlabeled: int
    calibration: Calibration

    def __len__(self) -> int:
        """Return how many rows are listed."""
        return len(self.rows)

    def __repr__(self) -> str:
        """Show how many, and their chances."""
        shown = ""
        if len(self):
            ends = show_range(float(self.probability.min()), float(self.probability.max()))
            shown = f", chances {ends}, about {show_digits(self.expected)} are positive"
        return f"Suspects({len(self):,} of {self.n_unlabeled:,} unlabeled rows{shown})"

    @property
    def expected(self) -> float:
        """How many of the listed rows are positive, on average."""
        return float(self.probability.sum())

    @property
    def expected_range(self) -> tuple[float, float]:
        """The same with all chances at their lower limits, and at their upper ones."""
        return float(self.lower.sum()), float(self.upper.sum())

    @property
    def reasons(self) -> list[str]:
        """Why each row is listed, in words."""
        return [
            f"scores above {show_share(float(share))} of all rows; {near} of the {self.n_near} "
            f"rows nearest in score are labeled"
            for share, near in zip(self.above, self.near_labeled, strict=True)
        ]

    def columns(self, *, for_spreadsheet: bool = False) -> dict[str, list[Any]]:
        """Return what files have, by name of the column.

        Parameters
        ----------
        for_spreadsheet : bool, default=False
            Whether text that a spreadsheet would take for a formula is marked as text.

        Returns
        -------
        dict of str to list
            rank, id, group if there are groups, probability, lower, upper, score, above,
            near_labeled and why.
        """
        grouped = {} if self.groups is None else {"group": self.groups.tolist()}
        found: dict[str, list[Any]] = {
            "rank": list(range(1, len(self) + 1)),
            "id": self.ids.tolist(),
            **grouped,
            "probability": self.probability.tolist(),
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "score": self.scores.tolist(),
            "above": self.above.tolist(),
            "near_labeled": self.near_labeled.tolist(),
            "why": self.reasons,
        }
        if for_spreadsheet:
            for name in ("id", "group"):
                if name in found:
                    found[name] = [no_formula(one) for one in found[name]]
            for name in ("probability", "lower", "upper", "above"):
                found[name] = [float(f"{one:.4g}") for one in found[name]]
        return found

    def to_csv(self, path: str | Path) -> Path:
        """Write the list for a spreadsheet, whole or not at all; chances have four digits.

        Parameters
        ----------
        path : str or Path
            Where to.

        Returns
        -------
        Path
        """
        columns = self.columns(for_spreadsheet=True)
        lines = io.StringIO(newline="")
        written = csv.writer(lines, lineterminator="\n")
        written.writerow(columns)
        written.writerows(zip(*columns.values(), strict=True))
        return write_file(path, lines.getvalue().encode("utf-8", "replace"))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per suspect.

        Returns
        -------
        pandas.DataFrame
            With the columns of :meth:`columns`, and the position as row.
        """
        return make_frame({"row": self.rows} | self.columns())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            The columns, how many of the rows are positive, and what the chances stand on.
        """
        low, high = self.expected_range
        plain: dict[str, Any] = to_plain(
            {
                "suspects": len(self),
                "unlabeled": self.n_unlabeled,
                "expected": self.expected,
                "expected_lower": low,
                "expected_upper": high,
                "alpha": self.calibration.alpha,
                "n_near": self.n_near,
                "columns": {"row": self.rows} | self.columns(),
                "notes": list(self.calibration.notes),
            }
        )
        return plain

    def sentence(self) -> str:
        """Say for people how many of the listed rows are positive.

        Returns
        -------
        str
        """
        if not len(self):
            return "No unlabeled row is left to list."
        low, high = self.expected_range
        return (
            f"Of these {len(self):,} rows about {show_digits(self.expected)} are positive "
            f"({show_digits(low)} to {show_digits(high)}), if labels are a random sample of the "
            f"positives."
        )

    def _repr_html_(self) -> str:
        grouped = {} if self.groups is None else {"group": [str(one) for one in self.groups]}
        columns = {
            "id": [str(one) for one in self.ids],
            **grouped,
            "probability": [show_number(one) for one in self.probability],
            "limits": [show_range(*ends) for ends in zip(self.lower, self.upper, strict=True)],
            "why": self.reasons,
        }
        return html_table(columns, self.sentence(), self.calibration.notes)
