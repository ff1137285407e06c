"""``recoup audit``: which rows to check by hand, and what the answers say."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.checks import brief
from recoup.cli._light import print_step, with_light
from recoup.cli._options import (
    AsJson,
    Confidence,
    FileArgument,
    Label,
    LabelsAre,
    ReportPath,
    SchemeOption,
    Seed,
)
from recoup.cli._output import (
    PAGES,
    check_output,
    command_line,
    make_table,
    plain,
    print_json,
    print_notes,
    print_written,
    progress,
    stdout,
)
from recoup.cli._promises import (
    Maximise,
    Promises,
    Queue,
    print_promise,
    promise_as_json,
    read_promises,
)
from recoup.cli._tables import TABLES
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.audit import Audit, AuditPlan
    from recoup.audit.drawing import ScoredRows
    from recoup.evaluation import Evaluation

IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Column that names the rows; several files need one. By default the rows of the file "
        "are numbered from 0.",
    ),
]
SameScore = Annotated[
    str | None, typer.Option("--score", help="Column with the scores. By default the plan's.")
]
SameLabel = Annotated[
    str | None, typer.Option("--label", help="Column with the labels. By default the plan's.")
]
SameId = Annotated[
    str | None,
    typer.Option("--id", help="Column that names the rows. By default the plan's."),
]
Truth = Annotated[str, typer.Option(help="Column of the checked files with the answers.")]
Checked = Annotated[
    list[Path],
    typer.Argument(metavar="CHECKED...", help="Files of checked rows, the first wave first."),
]
Out = Annotated[Path, typer.Option(help="Where to write the rows to check (.csv or .parquet).")]


def plan(
    file: FileArgument,
    score: Annotated[str, typer.Option(help="Column with the scores; higher is more positive.")],
    label: Label,
    out: Out,
    id_column: IdColumn = None,
    budget: Annotated[
        int | None, typer.Option(min=2, help="Rows to check. By default 200, or as goals need.")
    ] = None,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=HALFWIDTH",
            help="How narrow an interval should become, such as precision=0.02; repeat for more.",
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Rows with this score or more are flagged.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Share of positives among the unlabeled rows; by default estimated."),
    ] = None,
    scheme: SchemeOption = "single-sample",
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="METRIC,METRIC...",
            help="What rows are chosen for. By default precision, recall, f1, alpha, roc_auc and "
            "average_precision.",
        ),
    ] = None,
    include_labeled: Annotated[
        int,
        typer.Option(
            min=0, help="Labeled rows to check too, which tells how many labels are right."
        ),
    ] = 0,
    waves: Annotated[int, typer.Option(min=1, help="In how many rounds to check them.")] = 2,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Choose the unlabeled rows that are worth checking by hand."""
    _check_out(out, file, [])
    goals = _goals(goal or [])
    from recoup.audit import plan_from

    options: dict[str, Any] = {}
    if metrics is not None:
        options["metrics"] = [name.strip() for name in metrics.split(",") if name.strip()]
    with progress("Choosing rows", as_json):
        made = plan_from(
            file,
            label=label,
            score=score,
            id=id_column,
            threshold=threshold,
            budget=budget,
            goal=goals or None,
            alpha=alpha,
            scheme=scheme,  # type: ignore[arg-type]
            include_labeled=include_labeled,
            n_waves=waves,
            confidence=confidence,
            random_state=seed,
            **options,
        )
        written = _write(made, out)
    _show_plan(made, written, file, [], as_json)


def next_rows(
    file: FileArgument,
    checked: Checked,
    out: Out,
    score: SameScore = None,
    label: SameLabel = None,
    id_column: SameId = None,
    truth: Truth = "answer",
    rows: Annotated[
        int | None, typer.Option(min=1, help="How many. By default the rest of the budget.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the rows of the next round, from what the answers so far have taught."""
    _check_out(out, file, checked)
    from recoup.audit.resuming import resumed

    with (
        progress("Choosing rows", as_json),
        _opened(file, checked, label, score, id_column) as opened,
    ):
        made = resumed(opened, checked, truth).next(rows)
        written = _write(made, out)
    _show_plan(made, written, file, checked, as_json)


def evaluate(
    file: FileArgument,
    checked: Checked,
    score: SameScore = None,
    label: SameLabel = None,
    id_column: SameId = None,
    truth: Truth = "answer",
    confidence: Confidence = 0.95,
    labels_are: LabelsAre = "unknown",
    promise: Promises = None,
    queue: Queue = None,
    maximise: Maximise = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    report: ReportPath = None,
) -> None:
    """Turn checked rows into numbers that hold whatever the labels are."""
    asked = read_promises(promise, queue, maximise)
    check_output(report, PAGES, "--report", file)
    from recoup.audit.planning import kept_scores
    from recoup.audit.resuming import resumed
    from recoup.evaluation import evaluate as run
    from recoup.report import Report

    with (
        progress("Evaluating checked rows", as_json),
        _opened(file, checked, label, score, id_column) as opened,
    ):
        audit = resumed(opened, checked, truth)
        assert audit.plan is not None
        basis = audit.plan.basis
        found = run(
            opened.count(kept_scores(audit.plan.threshold)),
            audit=audit,
            scheme=basis.scheme,
            confidence=confidence,
            random_state=seed,
            labels_are=labels_are,  # type: ignore[arg-type]
        )
        promised = found.certify(**asked, confidence=confidence) if asked else None
        top = None if queue is None else found.at_top(queue)
        columns = basis.columns or {}
        title = f"{columns.get('score')} in {Path(file).name}"
        written = []
        if report is not None:
            options: dict[str, Any] = columns | {
                "truth": truth,
                "confidence": confidence,
                "labels-are": labels_are,
                "promise": promise,
                "queue": queue,
                "maximise": maximise,
                "seed": seed,
            }
            command = command_line("audit evaluate", file, options, *checked)
            page = Report(found, title, command=command, promise=promised)
            written.append(page.write(report))
    if as_json:
        print_json(with_light(found) | promise_as_json(promised, top))
        return
    _show_evaluation(found, audit, title)
    print_promise(stdout(), promised, top, None)
    print_written(stdout(), written)


def _check_out(out: Path, file: str, checked: list[Path]) -> None:
    """Refuse to write over rows that somebody checked, before any work is done."""
    from recoup.audit.files import holds_answers, plan_path

    check_output(out, TABLES, "--out", file)
    taken = {plan_path(path).resolve() for path in checked}
    if plan_path(out).resolve() in taken or holds_answers(out):
        raise InvalidInputError(
            f"--out {brief(str(out), 200)} would overwrite rows that were checked, or their plan. "
            f"Choose another name."
        )


def _write(made: AuditPlan, out: Path) -> Path:
    return made.to_csv(out) if out.suffix.lower() == ".csv" else made.to_parquet(out)


@contextmanager
def _opened(
    file: str, checked: list[Path], label: str | None, score: str | None, id_column: str | None
) -> Iterator[ScoredRows]:
    """Open the rows that were planned for, by the names of columns that the plan remembers."""
    from recoup.audit.engines import open_rows
    from recoup.audit.files import read_written_plan

    columns = dict(read_written_plan(checked[0])["columns"] or {})
    given = {"label": label, "score": score, "id": id_column}
    columns |= {name: value for name, value in given.items() if value is not None}
    for name in ("label", "score"):
        if columns.get(name) is None:
            raise InvalidInputError(
                f"audit needs --{name}: the plan beside {brief(str(checked[0]), 200)} came from "
                f"arrays, and does not know the columns of {brief(file, 200)}."
            )
    with open_rows(
        file,
        label=str(columns["label"]),
        score=str(columns["score"]),
        id=columns.get("id"),
        known=True,
        caller="audit",
    ) as rows:
        yield rows


def _goals(texts: list[str]) -> dict[str, float]:
    found = {}
    for text in texts:
        name, _, width = text.partition("=")
        try:
            found[name.strip()] = float(width)
        except ValueError as error:
            raise InvalidInputError(
                f"audit plan needs a goal as METRIC=HALFWIDTH, such as precision=0.02. Got "
                f"{text!r}."
            ) from error
    return found


def read_ids(file: str, id_column: str) -> Any:
    """Read the ids of all rows."""
    import numpy as np

    from recoup.data.readers import read_table

    column = read_table(file).typed(id_column)
    if column.null_count:
        raise InvalidInputError(
            f"audit needs an id in every row. Got {column.null_count:,} empty cells in column "
            f"{id_column!r} of {file}. Fill them, or leave --id out."
        )
    return np.asarray(column.to_pylist())


def answered_by_models(
    files: list[Path], s: Any, columns: dict[str, Any], ids: Any, truth: str, command: str
) -> Audit:
    """Take the answers of files that were planned with one of several columns of scores."""
    from recoup.audit.drawing import ArrayRows
    from recoup.audit.resuming import OtherRowsError, resumed

    for values in columns.values():
        try:
            return resumed(ArrayRows.of(s, values, ids, command), files, truth)
        except OtherRowsError:
            continue
    raise InvalidInputError(
        f"{command} needs checked files that recoup audit plan wrote for the same rows, with one "
        f"of these scores: {', '.join(columns)}. Got {files[0]}, planned with other labels or "
        f"scores. Name the file and a --score that recoup audit plan had."
    )


def _show_plan(
    made: AuditPlan, written: Path, file: str, checked: list[Path], as_json: bool
) -> None:
    if as_json:
        print_json(made.to_dict())
        return
    from recoup._core.text import show_number

    console = stdout()
    numbers = ["If labels are random", "If labels are biased"]
    table = make_table(
        ["Half-width of the interval", *numbers],
        numbers,
        f"{made.n_rows:,} of {made.budget:,} rows to check now, round {made.wave} of {made.waves}",
    )
    for key, half in made.expected.items():
        table.add_row(key, show_number(half), show_number(made.expected_biased[key]))
    console.print(table)
    console.print(
        plain(
            f"Write 1 or 0 (or yes and no) into the column answer of {written}, nothing where "
            f"nobody can tell; then: recoup audit evaluate "
            f"{shlex.join([file, *map(str, checked), str(written)])}"
        )
    )
    print_written(console, [written])


def _show_evaluation(found: Evaluation, audit: Audit, title: str) -> None:
    from recoup._core.text import show_number, show_percent, show_range
    from recoup.metrics.spec import metric_spec
    from recoup.report.page.light import light_of

    audited = found.audit
    assert audited is not None
    kind = "Bounds" if audited.bounds_only else f"{show_percent(audited.confidence)} interval"
    numbers = ["Audited", "From labels", "Both", kind]
    table = make_table(["Metric", *numbers], numbers, f"{title}: {audited.n_checked} rows checked")
    for one in (audited.alpha, *audited.metrics.values()):
        name = "Alpha" if one.key == "alpha" else metric_spec(one.key, "audit").label
        table.add_row(
            name,
            show_number(one.audited),
            show_number(one.from_labels),
            show_number(one.combined),
            show_range(one.lower, one.upper),
        )
    console = stdout()
    console.print(table)
    console.print(plain(audited.labels.text))
    if audited.right_labels is not None:
        console.print(plain(audited.right_labels.text))
    light = light_of(found)
    console.print(plain(f"Reliability of what labels alone say: {light['word']}."))
    print_step(console, replace(found.next_step, command=""))
    if audit.remaining:
        console.print(
            plain(
                f"{audit.remaining} rows of the budget are left: recoup audit next chooses them "
                f"from these answers."
            )
        )
    print_notes(console, [note for note in audited.notes if note.code != "labels-biased"])
