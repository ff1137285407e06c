"""``recoup monitor``: how good a classifier was week by week, while labels are still coming."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.checks import brief
from recoup._core.text import show_count, show_number, show_share, show_share_range
from recoup.cli._options import (
    AsJson,
    CheckedFiles,
    CheckedId,
    CheckedTruth,
    Confidence,
    FileArgument,
    Label,
    Negative,
    Positive,
    Seed,
    as_share,
)
from recoup.cli._output import (
    check_output,
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
    from rich.console import Console

    from recoup.audit import Audit
    from recoup.monitoring import Monitoring

ALARM = 3
# What fits a screen; --json and --report have all periods.
SHOWN = 12
PAGE = (".html", ".htm")


def monitor(
    file: FileArgument,
    score: Annotated[
        str,
        typer.Option(help="Column with scores of rows that the model was not trained on."),
    ],
    label: Label,
    time: Annotated[str, typer.Option(help="Column of when each row happened.")],
    labeled_at: Annotated[
        str | None,
        typer.Option(help="Column of when each label came. Without it, labels count as complete."),
    ] = None,
    every: Annotated[
        str,
        typer.Option(
            metavar="D|W|M|Q|N",
            help="How long periods are: days, weeks from Monday, months, quarters; 2W for two "
            "weeks; a number where times are numbers.",
        ),
    ] = "W",
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Rows with this score or more are flagged. By default 0.5 for probabilities of "
            "being positive, an even chance for those of having a label."
        ),
    ] = None,
    label_frequency: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|LOW,HIGH",
            help="Share of the positives that ever get a label, if it is known: 0.6, or 0.5,0.7. "
            "By default it is estimated from old rows, or comes from --checked.",
        ),
    ] = None,
    observable: Annotated[
        str | None,
        typer.Option(help="Column that says whether a row could get a label at all."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="MOMENT",
            help="What was known then, such as 2026-03-31. By default the latest time in the file.",
        ),
    ] = None,
    checked: CheckedFiles = None,
    id_column: CheckedId = None,
    truth: CheckedTruth = "answer",
    positive: Positive = None,
    negative: Negative = None,
    confidence: Confidence = 0.95,
    false_alarms: Annotated[
        float, typer.Option(help="Chance of an alarm within a year if nothing changes.")
    ] = 0.05,
    seed: Seed = 0,
    as_json: AsJson = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page of all weeks (.html).")
    ] = None,
) -> None:
    """Follow a classifier week by week, while labels are still coming; exit code 3 on an alarm."""
    check_output(report, PAGE, "--report", file, "the rows")
    from recoup.monitoring import monitor as follow

    options: dict[str, Any] = {
        "labeled_at": labeled_at,
        "every": every,
        "threshold": threshold,
        "label_frequency": _frequency(label_frequency),
        "observable": observable,
        "now": _moment(now),
        "positive": positive,
        "negative": negative,
        "confidence": confidence,
        "false_alarms": false_alarms,
        "random_state": seed,
    }
    written = []
    with progress(f"Going through {Path(file).name}", as_json):
        if checked:
            options["audit"] = _audit(file, label, score, checked, id_column, truth)
        found = follow(file, score, label, time, **options)
        if report is not None:
            written.append(found.report(report))
    if as_json:
        print_json(found.to_dict())
    else:
        console = stdout()
        _print(console, found, Path(file).name)
        print_written(console, written)
    if found.alarms:
        raise typer.Exit(ALARM)


def _audit(
    file: str, label: str, score: str, checked: list[Path], id_column: str | None, truth: str
) -> Audit:
    """Take the answers of rows that were planned with the same scores."""
    from recoup.cli.audit import answered_by_models, read_ids
    from recoup.data.readers import read_columns

    columns = read_columns(file, [label, score], label)
    ids = None if id_column is None else read_ids(file, id_column)
    scores = {score: columns[score]}
    return answered_by_models(checked, columns[label], scores, ids, truth, "monitor")


def _frequency(text: str | None) -> float | tuple[float, float] | None:
    if text is None:
        return None
    parts = [as_share(part, "--label-frequency", "monitor") for part in text.split(",")]
    numbers = [part for part in parts if isinstance(part, float)]
    if len(numbers) != len(parts) or len(parts) > 2:
        raise InvalidInputError(
            f"monitor needs --label-frequency to be a share such as 0.6, or two such as 0.5,0.7. "
            f"Got {brief(text)}."
        )
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _moment(text: str | None) -> str | float | None:
    """Take a number as one: the times of the file may be numbers."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def _print(console: Console, found: Monitoring, name: str) -> None:
    numbers = ("rows", "labels", "in", "positives", "precision", "recall", "AUC")
    title = f"{name}, {found.every} by {found.every}, as of {found.now}"
    table = make_table((found.every, *numbers), numbers, title)
    for place in range(max(len(found.periods) - SHOWN, 0), len(found.periods)):
        shares = []
        for key in ("precision", "recall"):
            values = found[key]
            ends = show_share_range(values.lower[place], values.upper[place])
            shares.append(f"{show_share(values.value[place])} ({ends})")
        table.add_row(
            found.periods[place],
            show_count(found.n_rows[place]),
            show_count(found.n_labeled[place]),
            show_share(found.arrived[place]),
            show_share(found["pi"].value[place]),
            *shares,
            show_number(found["roc_auc"].value[place], ".2f"),
        )
    console.print(table)
    if len(found.periods) > SHOWN:
        console.print(
            plain(f"The last {SHOWN} of {len(found.periods):,}; --json and --report have all.")
        )
    share = found.label_frequency
    console.print(
        plain(
            f"In: labels of that {found.every} that have come. Flagged are scores from "
            f"{found.threshold:.4g} on. Of the positives {show_share(share.value)} ever get a "
            f"label ({share.source})."
        )
    )
    for alarm in found.alarms:
        console.print(plain(f"Alarm: {alarm.text}", "bold red"))
    if not found.alarms and found.evidence:
        console.print(plain("No alarm."))
    print_notes(console, found.notes)
