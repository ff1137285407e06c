"""``recoup suspects``: the rows most likely to be hidden positives, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup.cli._options import (
    Alpha,
    AlphaInterval,
    AsJson,
    Beta,
    CheckedFiles,
    CheckedTruth,
    Confidence,
    FileArgument,
    Label,
    PriorMethod,
    Seed,
    about_work,
    check_prior,
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
from recoup.cli._tables import TABLES
from recoup.cli.calibrate import ScoreColumn, checked_rows
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.calibration import Suspects

N_SHOWN = 20


def suspects(
    file: FileArgument,
    score: ScoreColumn,
    label: Label,
    top: Annotated[
        int, typer.Option(min=1, help="How many rows to list; with --by, of each group.")
    ] = 200,
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", help="Column that names the rows. By default they are numbered from 0."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of groups: list the top of each."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="CALIBRATION",
            help="Calibration that recoup calibrate wrote, in place of alpha.",
        ),
    ] = None,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    prior_method: PriorMethod = None,
    beta: Beta = None,
    confidence: Confidence = 0.95,
    checked: CheckedFiles = None,
    truth: CheckedTruth = "answer",
    seed: Seed = 0,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the list (.csv or .parquet).")
    ] = None,
) -> None:
    """List the unlabeled rows that are most likely positive, with their chances and why."""
    check_output(out, TABLES, "--out", file, "the rows")
    share, right = check_prior(
        alpha, alpha_interval, prior_method, beta, "single-sample", "suspects"
    )
    if known is not None and (share != "estimate" or right is not None or checked):
        raise InvalidInputError(
            "suspects takes alpha, beta and checked rows to learn chances, and --with in place of "
            "that. Drop one."
        )
    from recoup.calibration import Calibration
    from recoup.calibration import suspects as find
    from recoup.data.readers import read_columns

    calibration = None if known is None else Calibration.read(known)
    named = _named_columns(file, id_column, by)
    with progress(about_work(f"Looking at {Path(file).name}", share), as_json):
        audit = None
        if checked:
            s, scores, audit = checked_rows(
                file, label, score, checked, id_column, truth, "suspects"
            )
        else:
            columns = read_columns(file, [label, score], label)
            s, scores = columns[label], columns[score]
        found = find(
            s,
            scores,
            top=top,
            alpha=share,
            beta=right,
            calibration=calibration,
            audit=audit,
            confidence=confidence,
            random_state=seed,
            ids=named.get(id_column),
            groups=named.get(by),
        )
        if out is not None:
            write_suspects(found, out)
    if as_json:
        print_json(found.to_dict())
        return
    _print_suspects(found, f"{score} in {Path(file).name}")
    print_written(stdout(), [] if out is None else [out])


def write_suspects(found: Suspects, out: Path) -> None:
    """Write a list as CSV that spreadsheets take as it is meant, or as Parquet."""
    if out.suffix.lower() == ".csv":
        found.to_csv(out)
        return
    import pyarrow as pa

    from recoup.cli._tables import write_together

    write_together({out: pa.table(found.columns())})


def _named_columns(file: str, *names: str | None) -> dict[str | None, Any]:
    """Read columns as objects, by name."""
    import numpy as np

    wanted = [name for name in names if name is not None]
    if not wanted:
        return {}
    from recoup.data.readers import read_table

    table = read_table(file)
    found: dict[str | None, Any] = {}
    for name in wanted:
        # Dates and the like are named as they are written.
        cells = [
            one if one is None or isinstance(one, str | int | float) else str(one)
            for one in table.typed(name).to_pylist()
        ]
        found[name] = np.empty(len(cells), object)
        found[name][:] = cells
    return found


def _print_suspects(found: Suspects, title: str) -> None:
    from recoup._core.text import show_number, show_range, show_share

    grouped = [] if found.groups is None else ["Group"]
    near = f"Labeled of {found.n_near} nearest"
    numbers = ["Rank", "Chance", "Limits", "Scores above", near]
    heading = f"Hidden positives by {title}"
    table = make_table(
        ["Rank", "Id", *grouped, "Chance", "Limits", "Scores above", near], numbers, heading
    )
    for i in range(min(len(found), N_SHOWN)):
        group = [] if found.groups is None else [plain(found.groups[i])]
        table.add_row(
            *(f"{i + 1}", plain(found.ids[i]), *group),
            show_number(found.probability[i]),
            show_range(found.lower[i], found.upper[i]),
            *(show_share(found.above[i]), str(found.near_labeled[i])),
        )
    console = stdout()
    console.print(table)
    if len(found) > N_SHOWN:
        console.print(plain(f"The first {N_SHOWN} of {len(found):,}; --out writes all."))
    console.print(plain(found.sentence()))
    print_notes(console, found.calibration.notes)
