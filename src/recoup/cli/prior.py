"""``recoup prior``: how many positives hide among the unlabeled rows of a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.text import show_percent, show_range
from recoup.cli._options import (
    AsJson,
    Beta,
    CheckedFiles,
    CheckedId,
    CheckedTruth,
    Confidence,
    Features,
    FileArgument,
    Label,
    LabelsAre,
    PlotPath,
    Seed,
    as_share,
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
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.priors import PriorEstimate


def prior(
    file: FileArgument,
    label: Label,
    score: Annotated[
        str | None,
        typer.Option(
            help="Column with scores of rows that the model was not trained on. Without it, a "
            "classifier is fitted to the other columns."
        ),
    ] = None,
    features: Features = None,
    method: Annotated[
        str, typer.Option(metavar="KEY", help="auto, or a key of recoup list priors.")
    ] = "auto",
    beta: Beta = "1.0",
    weight: Annotated[
        str | None, typer.Option(help="Column with row weights, beside --score.")
    ] = None,
    confidence: Confidence = 0.95,
    checked: CheckedFiles = None,
    id_column: CheckedId = None,
    truth: CheckedTruth = "answer",
    labels_are: LabelsAre = "unknown",
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
) -> None:
    """Estimate how many of the unlabeled rows are positive."""
    share = as_share(beta or "1.0", "--beta", "prior")
    _check_options(score, features or [], weight, method, share, confidence)
    if checked and (score is None or weight is not None):
        raise InvalidInputError(
            "prior takes --checked beside --score alone: checked rows are looked up by their "
            "scores, and count alike. Pass --score, and drop --weight."
        )
    check_output(plot, PICTURES, "--plot", file, "the rows")
    from recoup.cli._features import read_features
    from recoup.priors import estimate

    options: dict[str, Any] = {
        "method": method,
        "beta": share,
        "confidence": confidence,
        "labels_are": labels_are,
        "random_state": seed,
    }
    notes: list[str] = []
    with progress(f"Estimating alpha from {Path(file).name}", as_json):
        if checked and score is not None:
            from recoup.cli.audit import answered_by_models, read_ids
            from recoup.data.readers import read_columns

            columns = read_columns(file, [label, score], label)
            ids = None if id_column is None else read_ids(file, id_column)
            scores = {score: columns[score]}
            options["audit"] = answered_by_models(
                checked, columns[label], scores, ids, truth, "prior"
            )
            found = estimate(columns[label], columns[score], **options)
        elif score is not None:
            from recoup.scores import ScoreTable

            table = ScoreTable.from_file(file, label=label, score=score, sample_weight=weight)
            found = estimate(table, **options)
        else:
            X, s, notes = read_features(
                file, label, features or [], "prior", "Pass --score, or rows with features."
            )
            found = estimate(s, X=X, **options)
        written = []
        if plot is not None:
            size = (6.5, 5.5)
            written.append(write_plot(lambda it: found.plot(ax=it.subplots()), size, plot))
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    source = f"{score} in {Path(file).name}" if score is not None else Path(file).name
    _print_prior(console, found, f"Hidden positives by {source}")
    print_notes(console, [*notes, *found.warnings])
    print_written(console, written)


def _check_options(
    score: str | None,
    features: list[str],
    weight: str | None,
    method: str,
    beta: float | str,
    confidence: float,
) -> None:
    """Refuse what cannot go together before a file is read."""
    from recoup._core.prior import check_known_beta
    from recoup._core.registry import make
    from recoup.evaluation.inputs import check_confidence

    if score is not None and features:
        raise InvalidInputError("prior takes --score or --features, not both. Drop one.")
    if score is None and weight is not None:
        raise InvalidInputError("prior takes --weight beside --score only. Drop it.")
    make("priors", method, "prior --method")
    check_known_beta(method, beta, "prior")
    check_confidence(confidence, "prior")


def _print_prior(console: Console, found: PriorEstimate, title: str) -> None:
    table = make_table(("Estimate", "Meaning", "Value"), ("Value",), title)
    level = f"{show_percent(found.confidence)} interval"
    table.add_row("alpha", "positives among unlabeled rows", f"{found.alpha:.4f}")
    if found.interval is not None:
        table.add_row("", level, show_range(*found.interval, ".4f"))
    if found.identified is not None:
        table.add_row("", "the scores alone allow", show_range(*found.identified, ".2g"))
    if not math.isnan(found.upper_limit):
        table.add_row("", "upper limit", f"{found.upper_limit:.4f}")
    table.add_row("beta", "positives among labeled rows", f"{found.beta:.4f}")
    if found.beta_interval is not None:
        table.add_row("", level, show_range(*found.beta_interval, ".4f"))
    hidden, pi = found.hidden, found.pi
    table.add_row("pi", "positives among both", f"{pi.value:.4f}")
    if found.interval is not None:
        table.add_row("", level, show_range(pi.low, pi.high, ".4f"))
    table.add_row("label_frequency", "positives that carry a label", f"{found.label_frequency:.4f}")
    table.add_row("hidden", "positives without a label", f"{hidden.value:,.0f}")
    if found.interval is not None:
        table.add_row("", level, show_range(hidden.low, hidden.high, ",.0f"))
    table.add_section()
    table.add_row("n_labeled", "rows", f"{found.n_labeled:,}")
    table.add_row("n_unlabeled", "rows", f"{found.n_unlabeled:,}")
    if not math.isnan(found.auc_pu):
        table.add_row("AUC_pu", "labeled row scores higher than unlabeled", f"{found.auc_pu:.4f}")
    if found.members:
        table.add_section()
        for key, alpha in found.members.items():
            table.add_row(plain(key), "alpha by this method alone", f"{alpha:.4f}")
    console.print(table)
    console.print(plain(f"Method: {found.method}, from {found.transform}."))
    if found.scores_allow:
        console.print(plain(found.scores_allow))
    if found.labels is not None and found.labels.code == "cannot-tell":
        console.print(plain(f"Labels: {found.labels.text}"))
    if not found.converged:
        console.print(plain("The method fell back to a value that it does not stand for."))
