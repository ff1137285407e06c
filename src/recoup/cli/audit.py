"""``recoup audit``: which rows to check by hand, and what the answers say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup.cli._light import with_light
from recoup.cli._options import (
    AsJson,
    Confidence,
    FileArgument,
    Label,
    LabelsAre,
    ReportPath,
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
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.audit import Audit, AuditPlan
    from recoup.evaluation import Evaluation

Score = Annotated[str, typer.Option(help="Column with the scores; higher is more positive.")]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="Column that names the rows. By default rows are numbered from 0."),
]
Truth = Annotated[str, typer.Option(help="Column of the checked files with the answers.")]
Checked = Annotated[
    list[Path],
    typer.Argument(metavar="CHECKED...", help="Files of checked rows, the first wave first."),
]
Out = Annotated[Path, typer.Option(help="Where to write the rows to check (.csv).")]
CSV = (".csv",)


def plan(
    file: FileArgument,
    score: Score,
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
    waves: Annotated[int, typer.Option(min=1, help="In how many rounds to check them.")] = 2,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Choose the unlabeled rows that are worth checking by hand."""
    check_output(out, CSV, "--out", file)
    goals = _goals(goal or [])
    from recoup.audit import plan as make

    with progress("Choosing rows", as_json):
        s, scores, ids = _read(file, score, label, id_column)
        made = make(
            s,
            scores,
            ids=ids,
            threshold=threshold,
            budget=budget,
            goal=goals or None,
            alpha=alpha,
            n_waves=waves,
            random_state=seed,
        )
        written = made.to_csv(out)
    _show_plan(made, written, file, as_json)


def next_rows(
    file: FileArgument,
    checked: Checked,
    score: Score,
    label: Label,
    out: Out,
    id_column: IdColumn = None,
    truth: Truth = "answer",
    rows: Annotated[
        int | None, typer.Option(min=1, help="How many. By default the rest of the budget.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Choose the rows of the next round, from what the answers so far have taught."""
    check_output(out, CSV, "--out", file)
    with progress("Choosing rows", as_json):
        s, scores, ids = _read(file, score, label, id_column)
        made = _answered(checked, s, scores, ids, truth).next(rows)
        written = made.to_csv(out)
    _show_plan(made, written, file, as_json)


def evaluate(
    file: FileArgument,
    checked: Checked,
    score: Score,
    label: Label,
    id_column: IdColumn = None,
    truth: Truth = "answer",
    confidence: Confidence = 0.95,
    labels_are: LabelsAre = "unknown",
    seed: Seed = 0,
    as_json: AsJson = False,
    report: ReportPath = None,
) -> None:
    """Turn checked rows into numbers that hold whatever the labels are."""
    check_output(report, PAGES, "--report", file)
    from recoup.evaluation import evaluate as run
    from recoup.report import Report

    with progress(f"Evaluating {score}", as_json):
        s, scores, ids = _read(file, score, label, id_column)
        audit = _answered(checked, s, scores, ids, truth)
        found = run(
            s,
            scores,
            audit=audit,
            confidence=confidence,
            random_state=seed,
            labels_are=labels_are,  # type: ignore[arg-type]
        )
        written = []
        if report is not None:
            options: dict[str, Any] = {
                "score": score,
                "label": label,
                "id": id_column,
                "truth": truth,
                "confidence": confidence,
                "labels-are": labels_are,
                "seed": seed,
            }
            command = command_line("audit evaluate", file, options)
            title = f"{score} in {Path(file).name}"
            written.append(Report(found, title, command=command).write(report))
    if as_json:
        print_json(with_light(found))
        return
    _show_evaluation(found, audit, f"{score} in {Path(file).name}")
    print_written(stdout(), written)


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


def _read(file: str, score: str, label: str, id_column: str | None) -> tuple[Any, Any, Any]:
    """Read labels, scores and ids alone."""
    from recoup.data.readers import read_columns, read_table

    columns = read_columns(file, list(dict.fromkeys([label, score])), label)
    ids = None
    if id_column is not None:
        import numpy as np

        column = read_table(file).typed(id_column)
        if column.null_count:
            raise InvalidInputError(
                f"audit needs an id in every row. Got {column.null_count:,} empty cells in column "
                f"{id_column!r} of {file}. Fill them, or leave --id out."
            )
        ids = np.asarray(column.to_pylist())
    return columns[label], columns[score], ids


def _answered(files: list[Path], s: Any, scores: Any, ids: Any, truth: str) -> Audit:
    """Make the plan of every round again, which is always the same, and take its answers."""
    from recoup.audit import plan as make
    from recoup.audit.files import read_written_plan

    audit: Audit | None = None
    for path in files:
        facts = read_written_plan(path)
        if audit is None:
            made = make(
                s,
                scores,
                ids=ids,
                threshold=facts["threshold"],
                budget=facts["budget"],
                alpha=facts["alpha"],
                scheme=facts["scheme"],
                n_waves=facts["waves"],
                random_state=facts["seed"],
            )
        else:
            made = audit.next(len(facts["rows"]))
        _check_same(made, facts, path)
        audit = made.answers(path, truth=truth)
    assert audit is not None
    return audit


def _check_same(made: AuditPlan, facts: dict[str, Any], path: Path) -> None:
    from recoup.audit.files import plan_facts

    mine = json.loads(json.dumps(plan_facts(made)))
    if mine["data"] != facts["data"]:
        raise InvalidInputError(
            f"{path} was planned for another file: labels or scores differ. Name the file that "
            f"recoup audit plan had, with the same --score and --label."
        )
    if mine["checks"] != facts["checks"]:
        raise InvalidInputError(
            f"{path} is not the round that follows from the files before it. Name all files of "
            f"checked rows, the first round first, with the same --id."
        )


def _show_plan(made: AuditPlan, written: Path, file: str, as_json: bool) -> None:
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
            f"nobody can tell; then: recoup audit evaluate {file} {written} --score ... --label ..."
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
    light = light_of(found)
    console.print(plain(f"Reliability of what labels alone say: {light['word']}."))
    if audit.remaining:
        console.print(
            plain(
                f"{audit.remaining} rows of the budget are left: recoup audit next chooses them "
                f"from these answers."
            )
        )
    print_notes(console, [note for note in audited.notes if note.code != "labels-biased"])
