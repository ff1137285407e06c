"""``recoup run``: from a raw table to an answer."""

from __future__ import annotations

import json
import shutil
import time as clock
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from recoup._core.checks import brief
from recoup.cli._options import (
    AsJson,
    FileArgument,
    Label,
    LabelsAre,
    Negative,
    Positive,
    Seed,
    as_share,
    as_threshold,
)
from recoup.cli._output import command_line, plain, print_json, print_notes, progress, stdout
from recoup.cli._runs import say
from recoup.exceptions import InvalidInputError

REPORT, SCORES, SUSPECTS, TO_CHECK, MODEL, SUMMARY = (
    *("report.html", "scores.parquet", "suspects.csv", "to_check.csv", "model", "summary.json"),
)
FOLDS, ABOUT = "finished-folds", "run.json"
ABOUT_FILES = {
    REPORT: "the evaluation as a page, with sliders",
    SCORES: "every row with its score, probability and fold",
    SUSPECTS: "the unlabeled rows most likely positive, the likeliest first",
    TO_CHECK: "the rows that are worth checking by hand",
    MODEL: "for recoup score on new rows",
    SUMMARY: "all of this for programs",
}


def run(
    table: FileArgument,
    label: Label,
    positive: Positive = None,
    negative: Negative = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="Column that names the rows. By default they are numbered."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column that says when a row came: its weekday and month are used, but not how "
            "late it is."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to leave out; repeat for more."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to use although it looks as if it knew the labels; repeat for more.",
        ),
    ] = None,
    alpha: Annotated[
        str,
        typer.Option(
            metavar="SHARE|estimate", help="Share of positives among the unlabeled rows, if known."
        ),
    ] = "estimate",
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="P|METRIC",
            help="Probability from which rows are called positive, or the metric to make best. By "
            "default as many rows are called positive as there are positives.",
        ),
    ] = None,
    queue: Annotated[
        int | None,
        typer.Option(min=1, help="Call so many unlabeled rows positive instead, the likeliest."),
    ] = None,
    labels_are: LabelsAre = "unknown",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")] = Path(
        "recoup-run"
    ),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Go from a raw table to an answer: train, estimate, evaluate, and say whom to look at."""
    from recoup._core.files import check_folder, check_own_folder, make_folder, write_file
    from recoup._core.version import installed_version
    from recoup.data.readers import find_files
    from recoup.selection.how_labeled import check_labels_are

    if threshold is not None and queue is not None:
        raise InvalidInputError("run takes --threshold or --queue, not both. Drop one.")
    check_labels_are(labels_are, "run")
    share = as_share(alpha, "--alpha", "run")
    if not isinstance(share, str) and not 0 < share < 1:
        raise InvalidInputError(
            f"run needs --alpha to be a share between 0 and 1, or estimate. Got {brief(alpha)}."
        )
    _check_threshold(as_threshold(threshold))
    check_folder(out, "run cannot write to")
    check_own_folder(out, tuple(ABOUT_FILES), ABOUT)
    find_files(table)
    options: dict[str, Any] = {
        "label": label,
        "positive": positive,
        "negative": negative,
        "id": id_column,
        "time": time,
        "drop": drop,
        "keep": keep,
        "alpha": alpha,
        "threshold": threshold,
        "queue": queue,
        "labels-are": labels_are,
        "seed": seed,
    }
    from recoup.cli._run_table import RunTable, key_of

    key = key_of(table, options, installed_version())
    before = _read(out / ABOUT)
    if before.get("key") == key and (done := _read(out / SUMMARY)):
        _show(done, out, as_json, "This run was done before: same table, same options.")
        return
    if before.get("key") == key:
        say("Going on where the last run stopped.")
    elif before:
        say(f"{out} holds a run of another table or with other options; it is replaced.")
    from recoup.cli._run_results import check_rows, found_in, summary_of, write_results

    began = clock.monotonic()
    with progress(f"Reading {Path(table).name}", as_json):
        rows = RunTable.read(
            table, label, positive, negative, id_column, time, drop or [], keep or []
        )
    check_rows(rows, share, queue)
    make_folder(out, "run cannot write to")
    if before.get("key") != key:
        _clear(out)
        about = {"key": key, "table": table, "options": options}
        write_file(out / ABOUT, (json.dumps(about, indent=1) + "\n").encode())
    settings = {
        "alpha": None if isinstance(share, str) else share,
        "threshold": as_threshold(threshold),
        "queue": queue,
        "labels_are": labels_are,
        "quiet": as_json,
    }
    found = found_in(rows, settings, out / FOLDS, seed)
    command = command_line("run", table, options | {"out": str(out)})
    with progress("Writing", as_json):
        plan = write_results(found, out, f"{label} in {Path(table).name}", command, seed)
        summary = summary_of(found, table, label, out, 0 if plan is None else plan.n_rows)
        summary["seconds"] = round(clock.monotonic() - began, 1)
        write_file(out / SUMMARY, (json.dumps(summary, indent=1) + "\n").encode())
    shutil.rmtree(out / FOLDS, ignore_errors=True)
    _show(summary, out, as_json)


def _check_threshold(threshold: float | str | None) -> None:
    """Refuse what is neither a probability nor a metric, before any row is read."""
    from recoup.metrics.spec import point_spec

    if isinstance(threshold, str):
        point_spec(threshold, "run --threshold")
    elif threshold is not None and not 0 <= threshold <= 1:
        raise InvalidInputError(
            f"run needs --threshold to be a probability between 0 and 1, or the metric to make "
            f"best. Got {threshold}."
        )


def _read(path: Path) -> dict[str, Any]:
    """Return what an earlier run wrote; nothing if there is none, or it is broken."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _clear(out: Path) -> None:
    """Remove what an earlier run left: no file of one run stands beside those of another."""
    for name in (*ABOUT_FILES, FOLDS):
        if (out / name).is_dir():
            shutil.rmtree(out / name)
        else:
            (out / name).unlink(missing_ok=True)


def _show(summary: Mapping[str, Any], out: Path, as_json: bool, first: str = "") -> None:
    if as_json:
        print_json(summary)
        return
    console = stdout()
    if first:
        console.print(plain(first))
    console.print(plain(f"Labels read as: {summary['labels_read_as']}."))
    for sentence in summary["sentences"]:
        subject, _, rest = sentence.partition(": ")
        console.print(plain(f"{subject}:", "bold"), plain(rest))
    print_notes(console, [str(note) for note in summary["notes"]])
    for name, what in ABOUT_FILES.items():
        if (out / name).exists():
            console.print(plain(f"{out / name}: {what}"))
