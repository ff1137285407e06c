"""AuditPlan: which rows to check, and what that will tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup._core.results import html_table, make_frame, to_plain
from recoup._core.text import show_number
from recoup.audit.answers import Audit, read_answers
from recoup.audit.drawing import Candidates, PickedRows
from recoup.audit.opinions import Opinions
from recoup.audit.population import JudgedRows
from recoup.audit.strata import Strata
from recoup.exceptions import InvalidInputError
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

CALLER = "AuditPlan.answers"


@dataclass(frozen=True, eq=False)
class PlanBasis:
    """What all waves of a plan rest on.

    Attributes
    ----------
    table : ScoreTable
        The counted rows.
    keep : tuple of float
        Scores at which their counts are exact.
    p : ndarray of shape (n_scores,)
        Chance that an unlabeled row at each score is positive, as far as the labels tell.
    alpha : float
        Share of positives among the unlabeled rows that p follows from.
    beta : float
        Share of right labels that was assumed.
    scheme : {"single-sample", "case-control"}
        Whether all rows are judged, or the unlabeled rows alone.
    metrics : tuple of str
        What the plan is made for.
    strata : Strata
        Where rows are drawn.
    candidates : Candidates
        The first rows of every stratum.
    labeled : PickedRows
        Labeled rows that are checked too.
    include_labeled : int
        How many of them were wanted.
    confidence : float
        Level of the half-widths.
    seed : int
        Seed of the order.
    n_waves : int
        Waves that the budget is spread over.
    positions : bool
        Whether rows are positions in arrays. Else they are known by their ids, and numbered.
    most : int
        Candidates of each stratum that were wanted.
    columns : dict of str to str or None
        Names of the columns label, score and id of the file or frame; None for arrays.
    opinions : Opinions or None
        A second opinion on every row.
    sharpness : ndarray of shape (n_scores,) or None
        How much less open a row is once its opinion is known.
    """

    table: ScoreTable
    keep: tuple[float, ...]
    p: FloatArray
    alpha: float
    beta: float
    scheme: Scheme
    metrics: tuple[str, ...]
    strata: Strata
    candidates: Candidates
    labeled: PickedRows
    include_labeled: int
    confidence: float
    seed: int
    n_waves: int
    positions: bool
    most: int
    columns: dict[str, str | None] | None
    opinions: Opinions | None = None
    sharpness: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """All rows."""
        return int(self.table.n_rows)

    def places(self, rows: NDArray[np.int64]) -> NDArray[np.intp]:
        """Find rows among the candidates, with the labeled ones after them."""
        known = np.append(self.candidates.drawn.rows, self.labeled.rows)
        order = np.argsort(known)
        found: NDArray[np.intp] = order[np.searchsorted(known, rows, sorter=order)]
        return found

    def ids_of(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids of candidates."""
        ids = self.candidates.drawn.ids
        if len(self.labeled.ids):
            ids = np.append(ids, self.labeled.ids)
        return ids[self.places(rows)]


@dataclass(frozen=True, repr=False, eq=False)
class AuditPlan:
    """Rows to check, made by :func:`recoup.audit.plan`.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Positions in s of the rows to check in this wave, in an order that tells nothing. Numbers
        of the plan's own where rows are known by their ids alone.
    ids : ndarray of shape (n_rows,)
        Their ids; the positions themselves if none were given.
    threshold : float
        Where scores become predictions.
    budget : int
        Rows to check in all waves.
    wave : int
        Number of this wave, from 1.
    counts : ndarray of shape (n_strata,)
        Rows of each stratum that are checked up to this wave.
    expected : dict of str to float
        Half-width of each interval that the whole budget is expected to leave.
    expected_biased : dict of str to float
        The same if labels favor some scores as strongly as is looked at by default (odds that
        differ five times), whichever way is worse.
    basis : PlanBasis
        What all waves rest on.
    before : Audit or None
        Answers of the waves before.
    """

    rows: NDArray[np.int64]
    ids: NDArray[Any]
    threshold: float
    budget: int
    wave: int
    counts: NDArray[np.int64]
    expected: dict[str, float]
    expected_biased: dict[str, float]
    basis: PlanBasis
    before: Audit | None = None

    def __repr__(self) -> str:
        """Show the rows of this wave, the budget and what it is expected to tell."""
        tells = ", ".join(f"{key} ±{value:.2g}" for key, value in self.expected.items())
        return (
            f"AuditPlan({self.n_rows:,} rows in wave {self.wave} of {self.waves}, budget "
            f"{self.budget:,}: {tells})"
        )

    def _repr_html_(self) -> str:
        columns = {
            "metric": list(self.expected),
            "expected half-width": [show_number(v) for v in self.expected.values()],
            "if labels are biased": [show_number(v) for v in self.expected_biased.values()],
        }
        return html_table(
            columns,
            f"{self.n_rows:,} rows to check in wave {self.wave} of {self.waves}, "
            f"{self.budget:,} in all; threshold {self.threshold:.4g}.",
        )

    @property
    def n_rows(self) -> int:
        """Rows to check in this wave."""
        return len(self.rows)

    @property
    def waves(self) -> int:
        """Waves in all."""
        return max(self.basis.n_waves, self.wave)

    @property
    def table(self) -> ScoreTable:
        """The counted rows, for :func:`recoup.evaluate` beside the audit."""
        return self.basis.table

    @property
    def strata(self) -> Strata:
        """Neighboring scores that are sampled alike."""
        return self.basis.strata

    @property
    def probability(self) -> FloatArray:
        """Chance with which each row of this wave is checked, waves before counted in."""
        values, labels = self.scores_of(self.rows)
        chance = np.minimum(self.counts / np.maximum(self.strata.n_rows, 1), 1.0)
        share = len(self.basis.labeled.rows) / max(self.basis.table.n_labeled, 1)
        return np.where(labels == 1, share, chance[self.strata.of(values)])

    def scores_of(self, rows: NDArray[np.int64]) -> tuple[FloatArray, NDArray[np.int64]]:
        """Return scores and labels of rows that this plan knows.

        Parameters
        ----------
        rows : ndarray of shape (n,)
            Positions.

        Returns
        -------
        scores : ndarray of shape (n,)
        s : ndarray of shape (n,)
        """
        basis = self.basis
        drawn, labeled = basis.candidates.drawn, basis.labeled
        places = basis.places(rows)
        scores = np.append(drawn.scores, labeled.scores)[places]
        return scores, (places >= len(drawn.rows)).astype(np.int64)

    def counts_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count checked unlabeled rows by stratum.

        Parameters
        ----------
        rows : ndarray of shape (n,)
            Positions of the rows.

        Returns
        -------
        ndarray of shape (n_strata,)
        """
        scores, labels = self.scores_of(rows)
        inside = self.strata.of(scores[labels == 0])
        return np.bincount(inside, minlength=len(self.strata.n_rows))

    def check_same_data(
        self, s: NDArray[Any], scores: FloatArray, rows: NDArray[np.int64], caller: str
    ) -> None:
        """Refuse rows that are not those the plan was made for.

        Parameters
        ----------
        s : ndarray of shape (n,)
            Labels.
        scores : ndarray of shape (n,)
            Scores.
        rows : ndarray of shape (n_checked,)
            Positions of checked rows.
        caller : str
            Who asks, for the error message.
        """
        values, labels = self.scores_of(rows)
        if not self.basis.positions:
            raise InvalidInputError(
                f"{caller} needs the counts of the rows that the audit was planned for, since it "
                f"knows them by their ids. Got arrays. Pass plan.table, or ScoreTable.from_file."
            )
        same = len(scores) == self.basis.n_rows
        if same:
            same = np.array_equal(scores[rows], values) and np.array_equal(s[rows], labels)
        if not same:
            raise InvalidInputError(
                f"{caller} needs the rows that the audit was planned for. Got other rows, labels "
                f"or scores ({len(scores):,} rows; the plan has {self.basis.n_rows:,}). Pass the s "
                f"and scores that recoup.audit.plan had."
            )

    def check_same_counts(self, population: JudgedRows, caller: str) -> None:
        """Refuse counts of rows that are not those the plan was made for.

        Parameters
        ----------
        population : JudgedRows
            Rows by score.
        caller : str
            Who asks, for the error message.
        """
        table = self.basis.table
        mine = [table.n_labeled, table.n_unlabeled, table.n_negative]
        columns = (population.labeled, population.unlabeled, population.negative)
        theirs = [column.sum() for column in columns]
        if mine != theirs:
            raise InvalidInputError(
                f"{caller} needs the rows that the audit was planned for. Got {theirs[0]:,.0f} "
                f"labeled and {theirs[1]:,.0f} unlabeled ones; the plan has {mine[0]:,} and "
                f"{mine[1]:,}. Pass plan.table, or count the same rows."
            )

    def answers(self, rows: Any, truth: Any = None, id: str = "id") -> Audit:
        """Take the answers.

        Parameters
        ----------
        rows : array-like of shape (n_rows,), frame or path
            Positions of the checked rows; or a frame or a file with the answers, by id.
        truth : array-like of shape (n_rows,) or str
            1 positive, 0 negative, missing where nobody could tell; of a frame or a file, the name
            of the column.
        id : str, default="id"
            Of a frame or a file, the name of the column of ids.

        Returns
        -------
        Audit
            Of all waves so far.
        """
        if isinstance(truth, str) or truth is None:
            from recoup.audit.files import answers_by_id

            rows, truth = answers_by_id(self, rows, "answer" if truth is None else truth, id)
        places, answers = read_answers(rows, truth, CALLER)
        strange = np.setdiff1d(places, self.rows)
        if len(strange):
            raise InvalidInputError(
                f"{CALLER} needs answers for rows of the plan only: others were not drawn. Got row "
                f"{strange[0]}{f' and {len(strange) - 1} more' if len(strange) > 1 else ''}. Pass "
                f"answers to plan.rows; Audit.uniform or Audit.drawn take rows that were drawn "
                f"elsewhere."
            )
        if len(places) < len(self.rows):
            absent = self.basis.ids_of(np.setdiff1d(self.rows, places))
            raise InvalidInputError(
                f"{CALLER} needs an answer for every row of the plan. Got none for {absent[0]}"
                f"{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}. Leave answers empty "
                f"(None) where nobody could tell."
            )
        # However answers come back, sums over them are made in one order.
        order = np.argsort(places)
        answers = answers[order[np.searchsorted(places, self.rows, sorter=order)]]
        places = self.rows
        wave = np.full(len(places), self.wave, np.int64)
        if self.before is not None:
            places = np.append(self.before.rows, places)
            answers = np.append(self.before.truth, answers)
            wave = np.append(self.before.wave, wave)
        scores, labels = self.scores_of(places)
        chance = (self.counts_of(places) / np.maximum(self.strata.n_rows, 1))[
            self.strata.of(scores)
        ]
        share = np.count_nonzero(labels == 1) / max(self.basis.table.n_labeled, 1)
        return Audit(places, answers, np.where(labels == 1, share, chance), wave, "plan", self)

    def curve(self) -> pd.DataFrame:
        """Return the expected half-width of each metric against the rows checked.

        Returns
        -------
        pandas.DataFrame
            With columns checks, metric and half_width.
        """
        from recoup.audit.planning import half_widths_along

        return make_frame(half_widths_along(self))

    def plot(self, ax: Any = None) -> Any:
        """Draw the expected half-widths against the rows checked.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from recoup._core.optional import require
        from recoup.audit.planning import half_widths_along

        if ax is None:
            pyplot = require("matplotlib.pyplot", purpose="plot()", install="matplotlib")
            _, ax = pyplot.subplots()
        columns = half_widths_along(self)
        for key in self.expected:
            inside = [i for i, metric in enumerate(columns["metric"]) if metric == key]
            ax.plot(
                [columns["checks"][i] for i in inside],
                [columns["half_width"][i] for i in inside],
                label=key,
            )
        ax.set_xlabel("rows checked")
        ax.set_ylabel("expected half-width of the interval")
        ax.legend()
        return ax

    def to_csv(self, path: str | Path) -> Path:
        """Write the rows to check, with an empty column for the answer.

        Parameters
        ----------
        path : str or Path
            Where to. A file beside it, ``<name>.plan.json``, remembers the plan.

        Returns
        -------
        Path
        """
        from recoup.audit.files import write_plan

        return write_plan(self, Path(path), "csv")

    def to_parquet(self, path: str | Path) -> Path:
        """Write the rows to check, with an empty column for the answer.

        Parameters
        ----------
        path : str or Path
            Where to. A file beside it, ``<name>.plan.json``, remembers the plan.

        Returns
        -------
        Path
        """
        from recoup.audit.files import write_plan

        return write_plan(self, Path(path), "parquet")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per row to check.

        Returns
        -------
        pandas.DataFrame
            With columns id, score and answer, which is empty.
        """
        return make_frame(
            {"id": self.ids, "score": self.scores_of(self.rows)[0], "answer": [None] * self.n_rows}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON.

        Returns
        -------
        dict
            Rows, budget, waves, strata and what is expected.
        """
        plain: dict[str, Any] = to_plain(
            {
                "rows": self.rows,
                "ids": self.ids,
                "threshold": self.threshold,
                "budget": self.budget,
                "wave": self.wave,
                "waves": self.waves,
                "alpha": self.basis.alpha,
                "scheme": self.basis.scheme,
                "seed": self.basis.seed,
                "edges": self.strata.edges,
                "n_rows": self.strata.n_rows,
                "counts": self.counts,
                "expected": self.expected,
                "expected_biased": self.expected_biased,
            }
        )
        return plain
