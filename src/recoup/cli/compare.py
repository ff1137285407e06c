"""``recoup compare``: several models that scored the same rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recoup.cli._options import (
    Alpha,
    AlphaInterval,
    AsJson,
    Beta,
    Confidence,
    FileArgument,
    Label,
    NBoot,
    PlotPath,
    PriorMethod,
    SchemeOption,
    Seed,
    Threshold,
    about_work,
    as_threshold,
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
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.comparison import Comparison, Difference

SIGNIFICANT = 0.05


def compare(
    file: FileArgument,
    score: Annotated[
        list[str], typer.Option(help="Column with the scores of a model; give two or more.")
    ],
    label: Label,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    prior_method: PriorMethod = None,
    beta: Beta = "1.0",
    scheme: SchemeOption = "single-sample",
    metric: Annotated[str, typer.Option(help="What to compare by.")] = "roc_auc",
    threshold: Threshold = None,
    confidence: Confidence = 0.95,
    n_boot: NBoot = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
) -> None:
    """Set models side by side that scored the same rows."""
    names = list(dict.fromkeys(score))
    if len(names) < 2:
        raise InvalidInputError(
            "compare needs two or more different models. Got one. "
            "Give --score once for each column of scores."
        )
    given, share = check_prior(alpha, alpha_interval, prior_method, beta, scheme, "compare")
    check_output(plot, PICTURES, "--plot", file)
    from recoup.comparison import compare as run
    from recoup.scores._engines import read_columns

    with progress(about_work(f"Comparing {len(names)} models", given)):
        columns = read_columns(file, list(dict.fromkeys([label, *names])))
        comparison = run(
            columns[label],
            {name: columns[name] for name in names},
            alpha=given,
            beta=share,
            scheme=scheme,  # type: ignore[arg-type]
            metric=metric,
            threshold=as_threshold(threshold),
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
        )
        written = []
        if plot is not None:
            size = (6.5, 6.0)
            written.append(write_plot(lambda it: comparison.plot(ax=it.subplots()), size, plot))
    if as_json:
        print_json(comparison.to_dict())
        return
    console = stdout()
    _print_comparison(console, comparison, f"{len(names)} models in {Path(file).name}")
    print_written(console, written)


def _print_comparison(console: Console, comparison: Comparison, title: str) -> None:
    from recoup.metrics._spec import metric_spec
    from recoup.report.render import format_range, format_value
    from recoup.report.summarize import percent

    metric = comparison.metric
    name = metric_spec(metric, "compare").label
    some = next(iter(comparison.evaluations.values()))
    interval = f"{percent(some.confidence)} interval"
    if some.prior_estimate is not None:
        title += f", alpha {some.prior}"
    numbers = (f"{name} (PU)", "Recovered", interval)
    table = make_table(("Model", *numbers), numbers, title)
    for model in comparison.ranking:
        item = comparison.evaluations[model][metric]
        table.add_row(
            plain(model),
            format_value(item.pu),
            format_value(item.recovered),
            format_range(item.lower, item.upper),
        )
    console.print(table)
    pairs = [pair for pair in comparison.differences if pair.metric == metric]
    for pair in pairs:
        console.print(plain(_about_pair(pair, len(pairs), comparison)))
    if not pairs:
        console.print(plain(f"Differences in {name} have no interval; compare by another metric."))
    wins = [win for win in comparison.wins if win.metric == metric]
    for win in wins:
        console.print(
            plain(
                f"For alpha from {win.alpha_low:.3g} to {win.alpha_high:.3g}, {win.model} has the "
                f"best {name}."
            )
        )
    print_notes(console, comparison.notes)


def _about_pair(pair: Difference, n_pairs: int, comparison: Comparison) -> str:
    """Say whether two models differ, and which one is better."""
    from recoup.metrics._spec import metric_spec

    if math.isnan(pair.difference) or math.isnan(pair.p_value):
        return _about_undefined(pair, comparison)
    p_value = pair.p_value if n_pairs == 1 else pair.p_adjusted
    adjusted = "" if n_pairs == 1 else f" after correction for {n_pairs} comparisons"
    if p_value > SIGNIFICANT:
        verdict = f"{pair.first} and {pair.second} are not shown to differ"
    elif (pair.difference > 0) == metric_spec(pair.metric, "compare").higher_is_better:
        verdict = f"{pair.first} is better than {pair.second}"
    else:
        verdict = f"{pair.second} is better than {pair.first}"
    return (
        f"{verdict}: {pair.first} minus {pair.second} is {pair.difference:+.3f} "
        f"({pair.lower:+.3f} to {pair.upper:+.3f}), p = {p_value:.2g}{adjusted}."
    )


def _about_undefined(pair: Difference, comparison: Comparison) -> str:
    """Say why two models cannot be held against each other."""
    values = {
        model: comparison.evaluations[model][pair.metric] for model in (pair.first, pair.second)
    }
    without = [model for model, item in values.items() if math.isnan(item.recovered)]
    if not without:
        return f"Whether {pair.first} and {pair.second} differ is undefined here."
    return (
        f"{values[pair.first].label} is undefined for {' and '.join(without)}: {pair.first} and "
        f"{pair.second} cannot be compared by it."
    )
