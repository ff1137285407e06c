"""``recoup calibrate``: from any score to the chance of being positive, also for new files."""

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
    CheckedId,
    CheckedTruth,
    Confidence,
    FileArgument,
    Negative,
    PlotPath,
    Positive,
    PriorMethod,
    SchemeOption,
    Seed,
    Weight,
    about_work,
    check_prior,
)
from recoup.cli._output import (
    PICTURES,
    check_output,
    make_table,
    plain,
    print_json,
    print_notes,
    print_written,
    progress,
    stdout,
    write_plot,
)
from recoup.cli._tables import TABLES
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.audit import Audit
    from recoup.calibration import Calibration

ScoreColumn = Annotated[
    str, typer.Option("--score", help="Column with the scores; higher is more positive.")
]
# From this share of scores outside of those that were seen on, it is said.
MANY_OUTSIDE = 0.01
# Rows of the printed table.
N_SHOWN = 11


def calibrate(
    file: FileArgument,
    score: ScoreColumn,
    label: Annotated[
        str | None,
        typer.Option(help="Column with labels, as for recoup evaluate; not beside --with."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--with", metavar="CALIBRATION", help="Calibration to apply to the rows of FILE."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Where to write the calibration (.json); with --with, the rows and their "
            "probabilities (.parquet or .csv).",
        ),
    ] = None,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    prior_method: PriorMethod = None,
    beta: Beta = None,
    positive: Positive = None,
    negative: Negative = None,
    scheme: SchemeOption = "single-sample",
    weight: Weight = None,
    confidence: Confidence = 0.95,
    checked: CheckedFiles = None,
    id_column: CheckedId = None,
    truth: CheckedTruth = "answer",
    unlabeled: Annotated[
        bool,
        typer.Option(
            "--unlabeled",
            help="With --with: the rows of FILE could have got a label, and have none.",
        ),
    ] = False,
    column: Annotated[
        str, typer.Option(help="With --with: name of the column of probabilities.")
    ] = "probability",
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
) -> None:
    """Learn how likely a row with some score is positive, and say so for new files."""
    check_output(plot, PICTURES, "--plot", file, "the rows")
    if known is not None:
        given = {
            "--label": label,
            "--alpha": alpha,
            "--alpha-interval": alpha_interval,
            "--prior-method": prior_method,
            "--beta": beta,
            "--weight": weight,
            "--checked": checked or None,
        }
        spare = [name for name, value in given.items() if value is not None]
        if spare:
            raise InvalidInputError(
                f"calibrate takes {spare[0]} to learn a calibration, and applies one with --with. "
                f"Drop one of them."
            )
        check_output(out, TABLES, "--out", file, "the rows")
        _apply(file, score, known, out, "unlabeled" if unlabeled else "all", column, as_json, plot)
        return
    if label is None:
        raise InvalidInputError(
            "calibrate needs --label to learn a calibration, or --with to apply one. Got neither."
        )
    if unlabeled:
        raise InvalidInputError("calibrate takes --unlabeled beside --with only. Drop it.")
    check_output(out, (".json",), "--out", file, "the rows")
    share, right = check_prior(alpha, alpha_interval, prior_method, beta, scheme, "calibrate")
    if checked and weight is not None:
        raise InvalidInputError("calibrate takes --checked or --weight, not both. Drop one.")
    from recoup.calibration import calibrate as learn
    from recoup.scores import ScoreTable

    options: dict[str, Any] = {
        "alpha": share,
        "beta": right,
        "scheme": scheme,
        "confidence": confidence,
        "random_state": seed,
    }
    with progress(about_work(f"Calibrating {Path(file).name}", share), as_json):
        if checked:
            s, scores, audit = checked_rows(
                file, label, score, checked, id_column, truth, "calibrate"
            )
            found = learn(s, scores, audit=audit, **options)
        else:
            table = ScoreTable.from_file(
                file,
                label=label,
                score=score,
                sample_weight=weight,
                positive=positive,
                negative=negative,
            )
            found = learn(table, **options)
        written = [] if out is None else [found.save(out)]
        written += _drawn(found, plot)
    if as_json:
        print_json(found.to_dict())
        return
    _print_calibration(found, f"{score} in {Path(file).name}")
    print_written(stdout(), written)


def checked_rows(
    file: str,
    label: str,
    score: str,
    checked: list[Path],
    id_column: str | None,
    truth: str,
    command: str,
) -> tuple[Any, Any, Audit]:
    """Read labels and scores, and the answers about some of the rows."""
    from recoup.cli.audit import answered_by_models, read_ids
    from recoup.data.readers import read_columns

    columns = read_columns(file, [label, score], label)
    ids = None if id_column is None else read_ids(file, id_column)
    s, scores = columns[label], columns[score]
    return s, scores, answered_by_models(checked, s, {score: scores}, ids, truth, command)


def _apply(
    file: str,
    score: str,
    known: Path,
    out: Path | None,
    among: Any,
    column: str,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Write the rows of a file with their chances."""
    from recoup._core.text import show_share
    from recoup.calibration import Calibration
    from recoup.data.readers import read_columns

    if out is None:
        raise InvalidInputError(
            "calibrate needs --out beside --with: where to write the rows with their "
            "probabilities (.parquet or .csv)."
        )
    found = Calibration.read(known)
    with progress(f"Calibrating {Path(file).name}", as_json):
        values = read_columns(file, [score])[score]
        chances = found.transform(values, among=among)
        outside = found.share_outside(values)
        _write_chances(file, found, values, chances, among, column, out)
        written = [out, *_drawn(found, plot)]
    facts = {"rows": len(values), "expected": float(chances.sum()), "outside": outside}
    if as_json:
        print_json({"out": str(out), "column": column} | facts)
        return
    console = stdout()
    console.print(plain(f"{len(values):,} rows, of which about {chances.sum():,.0f} are positive."))
    if outside >= MANY_OUTSIDE:
        said = (
            f"{show_share(outside)} of the scores are lower or higher than all that the "
            f"calibration has seen: it may belong to another model."
        )
        print_notes(console, [said])
    print_written(console, written)


def _write_chances(
    file: str,
    found: Calibration,
    values: Any,
    chances: Any,
    among: Any,
    column: str,
    out: Path,
) -> None:
    import pyarrow as pa

    from recoup.cli._tables import write_together
    from recoup.data.readers import read_table

    source = read_table(file)
    lower, upper = found.limits(values, among=among)
    new = {column: chances, f"{column}_lower": lower, f"{column}_upper": upper}
    taken = [name for name in new if name in source.columns]
    if taken:
        raise InvalidInputError(
            f"The file has a column {taken[0]!r} already. Name another one with --column, or "
            f"rename it."
        )
    added = {name: pa.array(part) for name, part in new.items()}
    write_together({out: pa.table({**source.columns_for(out), **added})})


def _drawn(found: Calibration, plot: Path | None) -> list[Path]:
    if plot is None:
        return []
    return [write_plot(lambda it: found.plot(ax=it.subplots()), (6.5, 5.0), plot)]


def _print_calibration(found: Calibration, title: str) -> None:
    import numpy as np

    from recoup._core.text import show_number, show_percent, show_range

    numbers = ["Score", "Probability", f"{show_percent(found.confidence)} limits", "If unlabeled"]
    table = make_table(numbers, numbers, f"Chance of being positive by {title}")
    chosen = np.linspace(0, len(found.scores) - 1, N_SHOWN).round().astype(int)
    for i in np.unique(chosen):
        table.add_row(
            f"{found.scores[i]:.4g}",
            show_number(found.probability[i]),
            show_range(found.lower[i], found.upper[i]),
            show_number(found.unlabeled[i]),
        )
    console = stdout()
    console.print(table)
    limits = ""
    if found.alpha_lower < found.alpha_upper:
        limits = f" ({show_range(found.alpha_lower, found.alpha_upper)})"
    console.print(plain(f"Alpha: {show_number(found.alpha)}{limits}, {found.alpha_from}."))
    print_notes(console, found.notes)
