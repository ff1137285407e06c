"""plan_from: which rows of files and frames to check, without bringing all of them here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recoup._core.checks import Scheme
from recoup._core.random import RandomState
from recoup.audit.engines import open_rows
from recoup.audit.planning import METRICS, Wishes, planned
from recoup.audit.plans import AuditPlan


def plan_from(
    source: Any,
    *,
    label: str,
    score: str,
    id: str | None = None,
    decimals: int | None = None,
    memory_limit: str = "1GB",
    threshold: float | None = None,
    budget: int | None = None,
    goal: Mapping[str, float] | None = None,
    alpha: float | None = None,
    beta: float = 1.0,
    scheme: Scheme = "single-sample",
    metrics: Sequence[str] = METRICS,
    include_labeled: int = 0,
    n_waves: int = 2,
    confidence: float = 0.95,
    random_state: RandomState = 0,
) -> AuditPlan:
    """Choose rows of files or of a data frame to check by hand.

    The engine that holds the rows counts them by score, as for a :class:`recoup.ScoreTable`, and
    gives back some thousands of them to choose from. The same rows with the same ids give the same
    plan as arrays do, from every engine and in any order.

    Parameters
    ----------
    source : str, Path or frame
        A file, a pattern such as ``"scores/*.parquet"``, or a pandas, Polars, PyArrow, DuckDB,
        PySpark or Dask frame.
    label : str
        Column of the labels: 1 labeled positive, 0 unlabeled, -1 known negative.
    score : str
        Column of the scores; higher is more positive.
    id : str, optional
        Column that names the rows, each once, by whole numbers or texts. By default the positions,
        where rows have an order: in a single file, and in pandas, Polars and PyArrow frames.
    decimals : int, optional
        Round scores to so many decimals in the engine, halves up, so that fewer groups come back.
    memory_limit : str, default="1GB"
        What DuckDB may use for files before it spills to disk.
    threshold : float, optional
        Where scores become predictions. By default 0.5 if all scores lie in [0, 1], else the
        score above which as many rows lie as there are positives.
    budget : int, optional
        Rows to check in all. By default 200, unless there is a goal.
    goal : mapping of str to float, optional
        Half-widths of intervals that are wanted, such as ``{"precision": 0.02}``; the budget
        follows.
    alpha : float, optional
        Share of positives among the unlabeled rows. By default estimated from the scores. A wrong
        one costs checks, not validity.
    beta : float, default=1.0
        Share of right labels.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        Whether performance is about all rows, or about the unlabeled rows alone.
    metrics : sequence of str
        What the rows are chosen for; ``"alpha"`` is one too. By default precision, recall, F1,
        alpha, AUC and average precision.
    include_labeled : int, default=0
        Labeled rows to check too, which tells the share of right labels. They count apart from
        the budget.
    n_waves : int, default=2
        Waves that the budget is spread over; each learns from those before.
    confidence : float, default=0.95
        Level of the half-widths.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the order in which rows are checked.

    Returns
    -------
    AuditPlan
        Its ``table`` is what :func:`recoup.evaluate` takes beside the audit.

    Examples
    --------
    >>> import recoup
    >>> mails = recoup.load_example().path
    >>> todo = plan_from(
    ...     mails, label="flagged", score="score_boosting", threshold=0.5, budget=100
    ... )
    >>> todo.n_rows, todo.budget, todo.waves
    (50, 100, 2)
    """
    caller = "audit.plan_from"
    wishes = Wishes.checked(
        threshold,
        budget,
        goal,
        alpha,
        beta,
        scheme,
        metrics,
        include_labeled,
        n_waves,
        confidence,
        random_state,
        caller,
    )
    with open_rows(
        source,
        label=label,
        score=score,
        id=id,
        decimals=decimals,
        memory_limit=memory_limit,
        caller=caller,
    ) as rows:
        return planned(rows, wishes, caller)
