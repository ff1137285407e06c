"""Audit: rows that somebody checked, with their answers and how they came to be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, Scheme, as_floats, as_vector, brief
from recoup._core.random import RandomState, as_seed
from recoup._core.results import html_facts, make_frame, to_plain
from recoup.audit.checked import CheckedRows, Layer
from recoup.audit.population import JudgedRows
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from recoup.audit.by_answers import ByAnswers
    from recoup.audit.labels import LabelsTest
    from recoup.audit.plans import AuditPlan
    from recoup.metrics.curve_results import MetricCurve
    from recoup.priors.results import PriorEstimate
    from recoup.scores.table import ScoreTable

Kind: TypeAlias = Literal["plan", "uniform", "drawn", "top"]
FEWEST = 2


@dataclass(frozen=True, repr=False, eq=False)
class Audit:
    """Checked rows, with their answers and the chance with which each came to be checked.

    Attributes
    ----------
    rows : ndarray of shape (n_checked,)
        Positions of the rows; empty for :meth:`top`, whose rows follow from the scores.
    truth : ndarray of shape (n_checked,)
        1 positive, 0 negative, NaN where nobody could tell.
    probability : ndarray of shape (n_checked,) or None
        Chance with which each row was checked. None where it follows from the data.
    wave : ndarray of shape (n_checked,)
        Wave in which each row was checked, from 1.
    kind : {"plan", "uniform", "drawn", "top"}
        How rows came to be checked.
    plan : AuditPlan or None
        The plan of the latest wave, if there was one.

    Examples
    --------
    >>> Audit.uniform([3, 8, 11], [1, 0, None])
    Audit(uniform, 3 rows checked, 1 positive, 1 missing)
    """

    rows: NDArray[np.int64]
    truth: FloatArray
    probability: FloatArray | None
    wave: NDArray[np.int64]
    kind: Kind
    plan: AuditPlan | None = None

    def __repr__(self) -> str:
        """Show how many were checked, and what was found."""
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        return (
            f"Audit({self.kind}, {len(self.truth):,} rows checked, "
            f"{int(np.nansum(self.truth)):,} positive{missing})"
        )

    def _repr_html_(self) -> str:
        facts = {
            "rows checked": f"{len(self.truth):,}",
            "positive": f"{int(np.nansum(self.truth)):,}",
            "no answer": f"{self.n_missing:,}",
            "waves": f"{int(self.wave.max(initial=1))}",
            "rows left": f"{self.remaining:,}",
        }
        return html_facts(facts, "Rows checked by hand")

    @property
    def n_missing(self) -> int:
        """How many rows nobody could tell the truth of."""
        return int(np.isnan(self.truth).sum())

    @property
    def remaining(self) -> int:
        """Rows of the budget that are left; 0 without a plan."""
        return 0 if self.plan is None else max(self.plan.budget - len(self.truth), 0)

    @property
    def threshold(self) -> float | None:
        """Threshold of the plan; None without one."""
        return None if self.plan is None else self.plan.threshold

    def next(self, n: int | None = None) -> AuditPlan:
        """Plan the next wave, from what the answers so far have taught.

        Parameters
        ----------
        n : int, optional
            Rows to check in it. By default the rest of the budget, spread over the waves left.

        Returns
        -------
        AuditPlan
        """
        if self.plan is None:
            raise InvalidInputError(
                "Audit.next needs an audit that was planned: how rows of others were drawn is not "
                "known. Got one made elsewhere. Start with recoup.audit.plan(s, scores)."
            )
        from recoup.audit.planning import next_wave

        return next_wave(self, n)

    @classmethod
    def uniform(cls, rows: ArrayLike, truth: ArrayLike) -> Audit:
        """Take rows that were drawn from the unlabeled ones, each with the same chance.

        Parameters
        ----------
        rows : array-like of shape (n_checked,)
            Positions of the rows. Labeled rows among them tell which share of the labels is right.
        truth : array-like of shape (n_checked,)
            1 positive, 0 negative, missing where nobody could tell.

        Returns
        -------
        Audit
        """
        places, answers = read_answers(rows, truth, "Audit.uniform")
        return cls(places, answers, None, np.ones(len(places), np.int64), "uniform")

    @classmethod
    def drawn(cls, rows: ArrayLike, truth: ArrayLike, probability: ArrayLike) -> Audit:
        """Take rows that were drawn with known chances.

        Parameters
        ----------
        rows : array-like of shape (n_checked,)
            Positions of the rows.
        truth : array-like of shape (n_checked,)
            1 positive, 0 negative, missing where nobody could tell.
        probability : array-like of shape (n_checked,)
            Chance with which each row came to be checked, in (0, 1].

        Returns
        -------
        Audit
        """
        places, answers = read_answers(rows, truth, "Audit.drawn")
        chance = np.atleast_1d(as_floats(probability, "probability", "Audit.drawn"))
        if len(chance) != len(places):
            raise InvalidInputError(
                f"Audit.drawn needs one probability for each row. Got {len(chance):,} for "
                f"{len(places):,} rows."
            )
        bad = ~((chance > 0) & (chance <= 1))
        if bad.any():
            raise InvalidInputError(
                f"Audit.drawn needs probabilities in (0, 1]: a row that could not be drawn cannot "
                f"have been. Got {chance[bad][0]:g} for row {places[bad][0]}."
            )
        return cls(places, answers, chance, np.ones(len(places), np.int64), "drawn")

    @classmethod
    def top(cls, k: int, truth: ArrayLike) -> Audit:
        """Take the unlabeled rows with the highest scores, which tell about the top alone.

        Parameters
        ----------
        k : int
            How many rows.
        truth : array-like of shape (k,)
            Answers from the highest score down; among equal scores, in the order of the rows.

        Returns
        -------
        Audit
            Gives bounds, not intervals.
        """
        places, answers = read_answers(np.arange(int(k)), truth, "Audit.top")
        return cls(places[:0], answers, None, np.ones(len(answers), np.int64), "top")

    def prior_estimate(
        self,
        s: ArrayLike | ScoreTable,
        scores: ArrayLike | None = None,
        labels_alone: PriorEstimate | None = None,
        *,
        beta: float = 1.0,
        confidence: float = 0.95,
        random_state: RandomState = 0,
        caller: str = "Audit.prior_estimate",
    ) -> PriorEstimate:
        """Estimate alpha from the answers, and from labels as far as these agree.

        :func:`recoup.priors.estimate` calls it with what the labels alone say.

        Parameters
        ----------
        s : array-like of shape (n,) or ScoreTable
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,), optional
            Higher is more positive. Left out when ``s`` is a table.
        labels_alone : PriorEstimate, optional
            What the labels alone say. By default the answers alone count.
        beta : float, default=1.0
            Share of right labels, if none of them was checked.
        confidence : float, default=0.95
            Level of the interval.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the interval.
        caller : str
            Who asks, for error messages.

        Returns
        -------
        PriorEstimate
            Of the method ``"audit"``.
        """
        from recoup.audit.audited_prior import audited_prior

        seed = as_seed(random_state, caller)
        return audited_prior(self, s, scores, labels_alone, beta, confidence, seed, caller)

    def best_threshold(
        self,
        s: ArrayLike,
        scores: ArrayLike,
        metric: str = "f1",
        *,
        metric_params: dict[str, float] | None = None,
        alpha: float | None = None,
        beta: float = 1.0,
        scheme: Scheme = "single-sample",
        random_state: RandomState = 0,
        caller: str = "Audit.best_threshold",
    ) -> tuple[MetricCurve, float]:
        """Estimate a metric at every threshold from the answers, and find the best one.

        :class:`recoup.learners.TunedThreshold` calls it with out-of-fold scores.

        Parameters
        ----------
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,)
            Higher is more positive. They may differ from those that the audit was planned with.
        metric : str, default="f1"
            Key of a metric of one threshold.
        metric_params : dict, optional
            Settings of the metric.
        alpha : float, optional
            Rough share of positives among the unlabeled rows. By default that of the answers.
        beta : float, default=1.0
            Share of right labels, if none of them was checked.
        scheme : {"single-sample", "case-control"}, default="single-sample"
            Whether all rows are judged, or the unlabeled rows alone.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the draws.
        caller : str
            Who asks, for error messages.

        Returns
        -------
        curve : MetricCurve
            With the best threshold and the value there.
        optimism : float
            What choosing the best threshold by so few answers adds to the value, on average.
        """
        from recoup.audit.audited_prior import rows_as_numbers
        from recoup.audit.tuning import tuned_by_audit

        labels, values = rows_as_numbers(s, scores, caller)
        return tuned_by_audit(
            self,
            labels,
            values,
            metric=metric,
            params=metric_params or {},
            alpha=alpha,
            beta=beta,
            scheme=scheme,
            seed=as_seed(random_state, caller),
            caller=caller,
        )

    def promise_judge(
        self,
        s: ArrayLike,
        scores: ArrayLike,
        *,
        alpha: float | None = None,
        beta: float = 1.0,
        scheme: Scheme = "single-sample",
        random_state: RandomState = 0,
        caller: str = "Audit.promise_judge",
    ) -> ByAnswers:
        """Return what says which thresholds keep a promise, by the answers.

        :class:`recoup.learners.CertifiedThreshold` calls it with out-of-fold scores.

        Parameters
        ----------
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,)
            Higher is more positive.
        alpha : float, optional
            Rough share of positives among the unlabeled rows. By default that of the answers.
        beta : float, default=1.0
            Share of right labels, if none of them was checked.
        scheme : {"single-sample", "case-control"}, default="single-sample"
            Whether all rows are judged, or the unlabeled rows alone.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the draws.
        caller : str
            Who asks, for error messages.

        Returns
        -------
        ByAnswers
        """
        from recoup.audit.audited_prior import placed, share_found
        from recoup.audit.by_answers import ByAnswers

        _, population, checked = placed(self, s, scores, scheme, caller)
        rough = share_found(checked) if alpha is None else alpha
        return ByAnswers(population, checked, rough, beta, as_seed(random_state, caller))

    def labels_test(
        self,
        s: ArrayLike,
        scores: ArrayLike,
        *,
        confidence: float = 0.95,
        random_state: RandomState = 0,
        caller: str = "Audit.labels_test",
    ) -> LabelsTest:
        """Test whether labels are a random sample of the positives, without knowing alpha.

        :func:`recoup.selection.scar_test` calls it.

        Parameters
        ----------
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,)
            Higher is more positive.
        confidence : float, default=0.95
            Level of the interval of the odds.
        random_state : int, Generator, RandomState or None, default=0
            Seed of the draws.
        caller : str
            Who asks, for error messages.

        Returns
        -------
        LabelsTest
        """
        from recoup.audit.audited_prior import placed
        from recoup.audit.checked import as_drawn
        from recoup.audit.labels import labels_test

        _, population, checked = placed(self, s, scores, "single-sample", caller)
        rng = np.random.default_rng(as_seed(random_state, caller))
        return labels_test(*as_drawn(population, checked.answered), confidence, rng)

    def weighted_answers(
        self, s: ArrayLike | ScoreTable, scores: ArrayLike | None = None, *, caller: str = "Audit"
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores and answers of unlabeled rows, and how many rows each stands for.

        :func:`recoup.calibrate` calls it.

        Parameters
        ----------
        s : array-like of shape (n,) or ScoreTable
            1 labeled positive, 0 unlabeled, -1 known negative.
        scores : array-like of shape (n,), optional
            Higher is more positive. Left out when ``s`` is a table.
        caller : str
            Who asks, for error messages.

        Returns
        -------
        scores, truth, weights : ndarray of shape (n_answers,)
            Rows that nobody could tell the truth of are left out.
        """
        from recoup.audit.audited_prior import placed

        if self.kind == "top":
            raise InvalidInputError(
                f"{caller} needs an audit of rows that were drawn: the highest scores alone say "
                f"nothing about the others. Got Audit.top. Pass a plan's audit, Audit.uniform or "
                f"Audit.drawn."
            )
        _, population, checked = placed(self, s, scores, "single-sample", caller)
        known = checked.answered
        return population.centers[known.cells], known.truth, 1 / known.probability

    def to_frame(self) -> pd.DataFrame:
        """Return one row per checked row.

        Returns
        -------
        pandas.DataFrame
            With columns row, truth, probability and wave.
        """
        return make_frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values.

        Returns
        -------
        dict
            By name of the column of :meth:`to_frame`, and the kind.
        """
        plain: dict[str, Any] = to_plain({"kind": self.kind} | self._columns())
        return plain

    def _columns(self) -> dict[str, Any]:
        n = len(self.truth)
        rows = self.rows if len(self.rows) else np.arange(n)
        chance = np.full(n, np.nan) if self.probability is None else self.probability
        return {"row": rows, "truth": self.truth, "probability": chance, "wave": self.wave}

    def checked(self, s: Any, scores: Any, population: JudgedRows, caller: str) -> CheckedRows:
        """Find the checked rows among scored ones.

        Parameters
        ----------
        s : array-like of shape (n,) or None
            1 labeled positive, 0 unlabeled, -1 known negative. None where rows are counted
            already: a plan knows the scores of its own.
        scores : array-like of shape (n,) or None
            Higher is more positive.
        population : JudgedRows
            The same rows by score.
        caller : str
            Who asks, for the error message.

        Returns
        -------
        CheckedRows
        """
        start = np.zeros(1, np.intp)
        if s is None:
            if self.plan is None:
                raise InvalidInputError(
                    f"{caller} needs rows beside an audit made elsewhere, to look up their scores. "
                    f"Got a table of counts. Pass s and scores as arrays."
                )
            self.plan.check_same_counts(population, caller)
            values, labels = self.plan.scores_of(self.rows)
        else:
            all_scores, all_labels = np.asarray(scores, float), np.asarray(s)
            if self.kind == "top":
                rows = _highest(all_labels, all_scores, len(self.truth), caller)
            else:
                rows = self.rows
                if len(rows) and (rows.min() < 0 or rows.max() >= len(all_scores)):
                    strange = rows[(rows < 0) | (rows >= len(all_scores))][0]
                    raise InvalidInputError(
                        f"{caller} needs an audit of the rows that it is given. Got an answer for "
                        f"row {strange}, where there are {len(all_scores):,} rows. Pass positions "
                        f"in s."
                    )
            values, labels = all_scores[rows], all_labels[rows]
            if self.plan is not None:
                self.plan.check_same_data(all_labels, all_scores, self.rows, caller)
        labeled = labels == 1
        inside = labels == 0
        if inside.sum() < FEWEST:
            raise InvalidInputError(
                f"{caller} needs an audit with at least two unlabeled rows: one says nothing about "
                f"chance. Got {int(inside.sum())}. Check more rows."
            )
        n = float(population.unlabeled.sum())
        cells = population.cells(values[inside])
        if self.kind == "uniform":
            chance = np.full(int(inside.sum()), inside.sum() / n)
        elif self.kind == "top":
            chance = np.ones(int(inside.sum()))
        elif self.plan is not None:
            strata, counts = self.plan.strata, self.plan.counts_of(self.rows)
            chance = (counts / strata.n_rows)[strata.of(values[inside])]
            start = np.unique(np.append(0, population.cells(strata.edges[1:])))
        else:
            assert self.probability is not None
            chance = self.probability[inside]
        truth, chance = self.truth[inside], np.minimum(chance, 1.0)
        # In one order, so that what is drawn at random does not hang on that of the answers.
        order = np.lexsort((truth, chance, cells))
        known = None if self.kind == "top" else self.rows[inside][order]
        return CheckedRows(
            cells[order],
            truth[order],
            chance[order],
            start,
            np.sort(self.truth[labeled]),
            self.kind == "top",
            known,
            *self._layers(population, known),
        )

    def _layers(
        self, population: JudgedRows, rows: NDArray[np.int64] | None
    ) -> tuple[tuple[Layer, ...], NDArray[np.intp] | None]:
        """Return the rows of each second opinion, and the one on each checked row."""
        opinions = None if self.plan is None else self.plan.basis.opinions
        if opinions is None or rows is None:
            return (), None
        layers = opinions.layers(population.cells(opinions.scores), population.unlabeled)
        return layers, opinions.of_row[rows].astype(np.intp)


def _highest(s: NDArray[Any], scores: FloatArray, k: int, caller: str) -> NDArray[np.int64]:
    rows = np.flatnonzero(s == 0)
    if k > len(rows):
        raise InvalidInputError(
            f"{caller} needs no more answers than unlabeled rows. Got {k:,} for {len(rows):,}."
        )
    order = np.lexsort((rows, -scores[rows]))
    return rows[order[:k]]


def read_answers(
    rows: ArrayLike, truth: ArrayLike, caller: str
) -> tuple[NDArray[np.int64], FloatArray]:
    """Check positions and answers.

    Parameters
    ----------
    rows : array-like of shape (n_checked,)
        Positions of the rows.
    truth : array-like of shape (n_checked,)
        1 positive, 0 negative, missing where nobody could tell.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    rows : ndarray of shape (n_checked,)
    truth : ndarray of shape (n_checked,)
        NaN where missing.
    """
    places = as_vector(rows, "rows", caller)
    if places.dtype.kind not in "iu" and not (
        places.dtype.kind == "f" and (places == np.floor(places)).all()
    ):
        raise InvalidInputError(
            f"{caller} needs rows to be whole numbers, positions in s. Got "
            f"{brief(str(places[0])) if len(places) else 'none'}."
        )
    places = places.astype(np.int64)
    answers = read_truth(truth, caller)
    if len(places) != len(answers):
        raise InvalidInputError(
            f"{caller} needs one answer for each row. Got {len(places):,} rows and "
            f"{len(answers):,} answers."
        )
    values, counts = np.unique(places, return_counts=True)
    if (counts > 1).any():
        raise InvalidInputError(
            f"{caller} needs every row once. Got row {values[counts > 1][0]} "
            f"{counts[counts > 1][0]} times. Keep one answer for it."
        )
    if np.count_nonzero(~np.isnan(answers)) < FEWEST:
        raise InvalidInputError(
            f"{caller} needs at least two answers: one says nothing about chance. Got "
            f"{np.count_nonzero(~np.isnan(answers))}. Check more rows."
        )
    return places, answers


def read_truth(truth: ArrayLike, caller: str) -> FloatArray:
    """Read answers as 1, 0 or missing.

    Parameters
    ----------
    truth : array-like of shape (n_checked,)
        1 positive, 0 negative, missing where nobody could tell.
    caller : str
        Who asks, for the error message.

    Returns
    -------
    ndarray of shape (n_checked,)
        NaN where missing.
    """
    array = as_vector(truth, "truth", caller)
    if array.dtype.kind not in "iufb":
        cells = [np.nan if _is_missing(one) else one for one in array.tolist()]
        array = np.array(cells, dtype=object)
    answers = as_floats(array, "truth", caller).copy()
    bad = ~(np.isnan(answers) | (answers == 0) | (answers == 1))
    if bad.any():
        raise InvalidInputError(
            f"{caller} needs answers to be 1 (positive), 0 (negative) or missing (could not tell). "
            f"Got {answers[bad][0]:g} in {int(bad.sum()):,} of {len(answers):,}."
        )
    return answers


def _is_missing(value: Any) -> bool:
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
