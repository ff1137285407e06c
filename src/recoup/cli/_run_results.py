"""What ``recoup run`` finds: scores, an evaluation, a threshold; and the files it writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recoup._core.checks import FloatArray
from recoup.cli._output import command_line
from recoup.cli._quality import notes_on_fit
from recoup.cli._run_table import RunTable
from recoup.cli.run import MODEL, REPORT, SCORES, SUSPECTS, TO_CHECK
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.audit import AuditPlan
    from recoup.calibration import Suspects
    from recoup.evaluation import Evaluation

FEWEST_SUSPECTS, MOST_SUSPECTS = 100, 100_000
# Of labeled rows, where alpha is given.
FEWEST = 3
# From so many rows on, a second process saves more than its start takes.
MANY_ROWS = 20_000


@dataclass(frozen=True)
class RunResult:
    """A run from a raw table to an answer.

    Attributes
    ----------
    table : RunTable
        What was read.
    learner : AutoPU
        Fitted to all rows.
    scores, probabilities : ndarray of shape (n,)
        Of each row, by models that were fitted on others.
    threshold : float
        From this probability on, rows are called positive.
    evaluation : Evaluation
        How good the model is.
    doubt : str
        What the features say of the labels; nothing where alpha was given.
    """

    table: RunTable
    learner: Any
    scores: FloatArray
    probabilities: FloatArray
    threshold: float
    evaluation: Evaluation
    doubt: str

    @property
    def suspects(self) -> Suspects:
        """The unlabeled rows that are called positive, at least a hundred, by position."""
        from recoup.calibration.calibrate import calibrate_counted
        from recoup.calibration.suspects import listed_suspects

        one, s = self.evaluation, self.table.s
        calibration = calibrate_counted(one.given.counts, one.prior, one.scheme, one.confidence)
        top = min(max(self.n_called, FEWEST_SUSPECTS), MOST_SUSPECTS)
        return listed_suspects(s == 1, s == 0, self.probabilities, calibration, top)

    @property
    def n_called(self) -> int:
        """Unlabeled rows that are called positive."""
        called = (self.table.s == 0) & (self.probabilities >= self.threshold)
        return int(called.sum())


def check_rows(table: RunTable, alpha: Any, queue: int | None) -> None:
    """Refuse what would fail after minutes of training.

    Parameters
    ----------
    table : RunTable
        What was read.
    alpha : float or str
        The share of positives, or that it is to be estimated.
    queue : int or None
        How many unlabeled rows are to be called positive.
    """
    from recoup.priors.base import MIN_LABELED, MIN_UNLABELED

    labeled, unlabeled = (int((table.s == kind).sum()) for kind in (1, 0))
    if isinstance(alpha, str) and (labeled < MIN_LABELED or unlabeled < MIN_UNLABELED):
        raise InvalidInputError(
            f"run needs at least {MIN_LABELED} labeled and {MIN_UNLABELED} unlabeled rows to "
            f"estimate how many positives hide. Got {labeled:,} and {unlabeled:,}. Label more "
            f"rows, or say which share of the unlabeled ones is positive: --alpha SHARE."
        )
    if min(labeled, unlabeled) < FEWEST:
        raise InvalidInputError(
            f"run needs at least {FEWEST} labeled and {FEWEST} unlabeled rows: each is scored by a "
            f"model of the others. Got {labeled:,} and {unlabeled:,}. Label more rows."
        )
    if queue is not None and queue > unlabeled:
        raise InvalidInputError(
            f"run needs --queue to be at most the {unlabeled:,} unlabeled rows. Got {queue:,}."
        )


def found_in(table: RunTable, settings: Mapping[str, Any], folds: Path, seed: int) -> RunResult:
    """Estimate alpha, cross-fit, and evaluate.

    Parameters
    ----------
    table : RunTable
        What was read.
    settings : mapping
        ``threshold``, ``queue``, ``labels_are`` and ``alpha``, as the command has them.
    folds : Path
        Where finished folds are kept.
    seed : int
        Of the random numbers.

    Returns
    -------
    RunResult
    """
    from recoup.cli._output import progress
    from recoup.evaluation import evaluate
    from recoup.learners import AutoPU
    from recoup.priors.usable import usable_estimate

    quiet = bool(settings.get("quiet"))
    given = settings.get("alpha")
    alpha, doubt = given, ""
    if given is None:
        with progress("1 of 3: estimating how many positives hide", quiet):
            said = settings["labels_are"]
            alpha = usable_estimate(table.s, table.X, labels_are=said, random_state=seed)
            doubt = "" if alpha.labels is None else alpha.labels.text
    with progress("2 of 3: training on four fifths, scoring the rest", quiet):
        jobs = 2 if len(table.s) > MANY_ROWS and (os.cpu_count() or 1) > 1 else None
        learner = AutoPU(alpha=alpha, checkpoint=folds, n_jobs=jobs, random_state=seed)
        learner.fit(table.X, table.s)
        # A path and the cores of this machine do not travel with the model.
        learner.set_params(checkpoint=None, n_jobs=None)
    scores, chances = np.array(learner.oof_scores_), np.array(learner.oof_probabilities_)
    apart = np.isnan(scores)
    if apart.any():  # known negatives, which no model was fitted to
        chances[apart] = learner.predict_proba(table.X[apart])[:, 1]
        scores[apart] = learner.decision_function(table.X[apart]) + learner.threshold_
    with progress("3 of 3: evaluating", quiet):
        evaluation = evaluate(
            table.s,
            chances,
            alpha=alpha,
            threshold=_cut(learner, scores, chances, table.s, settings),
            scored="crossfit",
            labels_are=settings["labels_are"],
            random_state=seed,
        )
    return RunResult(
        table, learner, scores, chances, float(evaluation.threshold), evaluation, doubt
    )


def _cut(
    learner: Any, scores: FloatArray, chances: FloatArray, s: Any, settings: Mapping[str, Any]
) -> float | str:
    """Return the probability from which rows are called positive, or the metric to make best."""
    queue, threshold = settings.get("queue"), settings.get("threshold")
    if queue is not None:
        return float(np.sort(chances[s == 0])[-queue])
    if threshold is not None:
        return threshold  # type: ignore[no-any-return]
    called = scores > learner.threshold_
    return float(chances[called].min()) if called.any() else float(chances.max())


def write_results(
    found: RunResult, out: Path, title: str, command: str, seed: int
) -> AuditPlan | None:
    """Write the report, scores, suspects, rows to check and the model.

    Parameters
    ----------
    found : RunResult
        What there is to write.
    out : Path
        The folder.
    title : str
        Heading of the report.
    command : str
        The command that gives the same again.
    seed : int
        Of the choice of rows to check.

    Returns
    -------
    AuditPlan or None
        Which rows to check; None where no plan can be made.
    """
    import pyarrow as pa

    from recoup.audit import plan_from
    from recoup.cli._tables import write_together
    from recoup.cli.fit import keep_columns
    from recoup.evaluation.next_step import CHECKS
    from recoup.learners import save
    from recoup.report import Report

    table = found.table
    columns = {
        "id": pa.chunked_array([pa.array(table.ids)])
        if isinstance(table.ids, np.ndarray)
        else table.ids,
        "label": pa.chunked_array([pa.array(table.s)]),
        "score": pa.chunked_array([pa.array(found.scores)]),
        "probability": pa.chunked_array([pa.array(found.probabilities)]),
    }
    folds = getattr(found.learner, "oof_folds_", None)
    if folds is not None:
        columns["fold"] = pa.chunked_array([pa.array(np.asarray(folds))])
    suspects = found.suspects
    ids = np.empty(len(suspects), object)
    ids[:] = columns["id"].take(pa.array(suspects.rows)).to_pylist()
    suspects = replace(suspects, ids=ids)
    write_together(
        {
            out / SCORES: pa.table(columns),
            out / SUSPECTS: pa.table(suspects.columns(for_spreadsheet=True)),
        }
    )
    plan = None
    scores, checks = str(out / SCORES), min(CHECKS, int((table.s == 0).sum()))
    try:
        plan = plan_from(
            scores,
            label="label",
            score="probability",
            id="id",
            threshold=found.threshold,
            budget=checks,
            alpha=found.evaluation.alpha,
            n_waves=1,
            random_state=seed,
        )
        plan.to_csv(out / TO_CHECK)
    except InvalidInputError:
        # A table so small or so separated that there is nothing to choose.
        plan = None
    options = {
        "score": "probability",
        "label": "label",
        "id": "id",
        "threshold": found.threshold,
        "budget": checks,
        "out": str(out / TO_CHECK),
    }
    Report(
        found.evaluation,
        title,
        command=command,
        plan_command=command_line("audit plan", scores, options),
    ).write(out / REPORT)
    save(found.learner, out / MODEL)
    keep_columns(out / MODEL, table.encoder)
    return plan


def summary_of(found: RunResult, file: str, label: str, out: Path, checks: int) -> dict[str, Any]:
    """Return everything that was found as plain values, with the sentences that are printed.

    Parameters
    ----------
    found : RunResult
        What was found.
    file, label : str
        The table and its column of labels.
    out : Path
        The folder of the results.
    checks : int
        Rows to check by hand.

    Returns
    -------
    dict
    """
    from recoup._core.results import to_plain
    from recoup.report.page.light import light_of

    evaluation, table = found.evaluation, found.table
    light = light_of(evaluation)
    low, high = evaluation.prior.range
    hidden = evaluation.hidden
    metrics = {}
    for key in ("roc_auc", "average_precision", "accuracy", "precision", "recall", "f1"):
        one = evaluation[key]
        metrics[key] = {
            "value": one.recovered,
            "low": one.lower,
            "high": one.upper,
            "possible_low": one.possible_lower,
            "possible_high": one.possible_upper,
        }
    facts: dict[str, Any] = to_plain(
        {
            "table": file,
            "label": label,
            "labels_read_as": table.coding,
            "rows": len(table.s),
            "labeled": int((table.s == 1).sum()),
            "unlabeled": int((table.s == 0).sum()),
            "known_negatives": int((table.s == -1).sum()),
            "columns": [
                {"name": one.name, "role": one.role, "reason": one.reason}
                for one in table.encoder.columns_
            ],
            "alpha": {"value": evaluation.alpha, "low": low, "high": high},
            "hidden_positives": {
                "value": hidden.count,
                "low": hidden.lower,
                "high": hidden.upper,
            },
            "labels": found.doubt,
            "weights": getattr(found.learner, "weights_", None),
            "metrics": metrics,
            "threshold": found.threshold,
            "called_positive": found.n_called,
            "light": light,
            "notes": [
                *notes_on_fit(found.learner, "run"),
                *table.notes,
                *(str(note) for note in evaluation.notes),
            ],
            "out": str(out),
        }
    )
    facts["sentences"] = sentences_on(facts, out, checks)
    return facts


def sentences_on(facts: Mapping[str, Any], out: Path, checks: int) -> list[str]:
    """Say in a few sentences what was found, how far to trust it, and what to do next.

    Parameters
    ----------
    facts : mapping
        From :func:`summary_of`.
    out : Path
        The folder of the results.
    checks : int
        Rows to check by hand.

    Returns
    -------
    list of str
    """
    import shlex

    from recoup._core.text import show_number

    def of_100(key: str) -> str:
        one = facts["metrics"][key]
        return f"{100 * one['value']:.0f} ({100 * one['low']:.0f} to {100 * one['high']:.0f})"

    hidden = facts["hidden_positives"]
    said = [
        f"Hidden positives: about {hidden['value']:,.0f} of the {facts['unlabeled']:,} unlabeled "
        f"rows ({hidden['low']:,.0f} to {hidden['high']:,.0f}), beside {facts['labeled']:,} "
        f"labeled ones.",
        f"Ranking: shown one positive and one negative row, the model puts the positive one first "
        f"{of_100('roc_auc')} times in 100.",
        f"Threshold: from probability {show_number(facts['threshold'])} on, "
        f"{facts['called_positive']:,} unlabeled rows are called positive. Of 100 rows called "
        f"positive, {of_100('precision')} are; of 100 positives, {of_100('recall')} are found.",
    ]
    light = facts["light"]
    reason = next((one["text"] for one in light["reasons"] if one["level"] == light["level"]), "")
    said.append(f"Trust: {light['word']} ({light['level']}). {reason}".strip())
    if facts["labels"]:
        said.append(f"Labels: {facts['labels']}")
    if checks:
        command = shlex.join(
            ["recoup", "audit", "evaluate", str(out / SCORES), str(out / TO_CHECK)]
        )
        said.append(
            f"Next: look at the {checks} rows of {out / TO_CHECK} and write yes or no into the "
            f"column answer; then {command} turns them into numbers that hold whatever the labels "
            f"are."
        )
    else:
        said.append(f"Next: look at the first rows of {out / SUSPECTS} by hand.")
    return said
