"""``recoup scar``: whether the labeled rows can be a random sample of the positives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.text import show_p, show_range
from recoup.cli._options import (
    AlphaInterval,
    AsJson,
    Features,
    FileArgument,
    Label,
    PlotPath,
    Seed,
    as_interval,
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

    from recoup.selection.scar import ScarTest

SIGNIFICANT = 0.05


def scar(
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
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Share of positives among the unlabeled rows, known from elsewhere. Without it "
            "the test is almost blind."
        ),
    ] = None,
    alpha_interval: AlphaInterval = None,
    n_resamples: Annotated[int, typer.Option(help="Simulated sets of labels.")] = 199,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
) -> None:
    """Test whether labels were given to positives at random."""
    if score is not None and features:
        raise InvalidInputError("scar takes --score or --features, not both. Drop one.")
    if alpha is not None and alpha_interval is not None:
        raise InvalidInputError("scar takes --alpha or --alpha-interval, not both. Drop one.")
    check_output(plot, PICTURES, "--plot", file, "the rows")
    from recoup.selection.scar import scar_test

    options: dict[str, Any] = {
        "alpha": alpha if alpha_interval is None else as_interval(alpha_interval, "scar"),
        "n_resamples": n_resamples,
        "random_state": seed,
    }
    notes: list[str] = []
    with progress(f"Testing the labels of {Path(file).name}", as_json):
        if score is not None:
            from recoup.data.readers import read_columns

            columns = read_columns(file, [label, score], label)
            found = scar_test(columns[score], columns[label], classifier=None, **options)
        else:
            from recoup.cli._features import read_features

            X, s, notes = read_features(
                file, label, features or [], "scar", "Pass --score, or rows with features."
            )
            found = scar_test(X, s, **options)
        written = []
        if plot is not None:
            size = (6.5, 5.0)
            written.append(write_plot(lambda it: found.plot(ax=it.subplots()), size, plot))
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    _print_test(console, found, f"Labels in {Path(file).name}")
    print_notes(console, [*notes, *found.warnings])
    print_written(console, written)


def _print_test(console: Console, found: ScarTest, title: str) -> None:
    table = make_table(("Test", "Meaning", "Value"), ("Value",), title)
    table.add_row("p", "chance of as many labels among the top rows", show_p(found.p_value, 3))
    table.add_row("statistic", "their excess in standard errors", f"{found.statistic:.3f}")
    table.add_row("labeled", f"of the {found.n_top:,} top rows", f"{found.labeled_top:,}")
    table.add_row("expected", "at most, if labels are at random", f"{found.expected_top:,.1f}")
    table.add_section()
    table.add_row("alpha", "positives among unlabeled rows, as tested", f"{found.alpha:.4f}")
    if found.alpha_range is not None:
        how = "estimated" if found.method.endswith("estimated") else "given"
        table.add_row(
            "alpha_range", f"what was {how} for it", show_range(*found.alpha_range, ".4f")
        )
    table.add_row("label_frequency", "positives that carry a label", f"{found.label_frequency:.4f}")
    table.add_row("AUC_pu", "labeled row scores higher than unlabeled", f"{found.auc_pu:.4f}")
    table.add_row("n_labeled", "rows", f"{found.n_labeled:,}")
    table.add_row("n_unlabeled", "rows", f"{found.n_unlabeled:,}")
    console.print(table)
    if found.p_value <= SIGNIFICANT:
        verdict = (
            "The labels are no random sample of the positives, or alpha is smaller than that: "
            "some positives are likelier to be labeled than others."
        )
    else:
        verdict = "Nothing speaks against labels at random, which does not show that they are."
    console.print(plain(f"{verdict} Ranked by {found.method}. {found.about_alpha}"))
