"""``recoup compare``: several models that scored the same rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup.cli._light import print_light, print_step, with_light
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
    HowScored,
    Label,
    LabelsAre,
    NBoot,
    PlotPath,
    PriorMethod,
    ReportPath,
    SchemeOption,
    Seed,
    Weight,
    about_work,
    as_threshold,
    check_prior,
)
from recoup.cli._output import (
    PAGES,
    PICTURES,
    check_output,
    command_line,
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

    from recoup.evaluation.comparison import Comparison


def compare(
    file: FileArgument,
    score: Annotated[
        list[str], typer.Option(help="Column with the scores of a model; give two or more.")
    ],
    label: Label,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    prior_method: PriorMethod = None,
    beta: Beta = None,
    scheme: SchemeOption = "single-sample",
    metric: Annotated[str, typer.Option(help="What to compare by.")] = "roc_auc",
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="T|METRIC",
            help="Rows with this score or more are flagged, for every model; or the metric to "
            "maximise for each, which leaves metrics at a threshold without p-values.",
        ),
    ] = None,
    queue: Annotated[
        float | None,
        typer.Option(
            metavar="ROWS|SHARE",
            help="How many rows each model flags, or which share of them. By default as many as "
            "there are positives.",
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Which share of the positives each model finds."),
    ] = None,
    confidence: Confidence = 0.95,
    n_boot: NBoot = 2000,
    weight: Weight = None,
    scored: HowScored = "once",
    checked: CheckedFiles = None,
    id_column: CheckedId = None,
    truth: CheckedTruth = "answer",
    labels_are: LabelsAre = "unknown",
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
    report: ReportPath = None,
) -> None:
    """Set models side by side that scored the same rows."""
    names = list(dict.fromkeys(score))
    if len(names) < 2:
        raise InvalidInputError(
            "compare needs two or more different models. Got one. "
            "Give --score once for each column of scores."
        )
    given, share = check_prior(alpha, alpha_interval, prior_method, beta, scheme, "compare")
    from recoup.evaluation.cuts import read_cut
    from recoup.evaluation.inputs import check_scored
    from recoup.selection.how_labeled import check_labels_are

    check_scored(scored, False, "compare")
    check_labels_are(labels_are, "compare")
    read_cut(as_threshold(threshold), queue, recall)
    check_output(plot, PICTURES, "--plot", file)
    check_output(report, PAGES, "--report", file)
    from recoup.data.readers import read_columns
    from recoup.evaluation.compare import compare as run
    from recoup.report import Report

    with progress(about_work(f"Comparing {len(names)} models", given), as_json):
        others = [label] if weight is None else [label, weight]
        columns = read_columns(file, list(dict.fromkeys([*others, *names])), label)
        models = {name: columns[name] for name in names}
        audit = None
        if checked:
            from recoup.cli.audit import answered_by_models, read_ids

            ids = None if id_column is None else read_ids(file, id_column)
            audit = answered_by_models(checked, columns[label], models, ids, truth, "compare")
        comparison = run(
            columns[label],
            models,
            alpha=given,
            beta=share,
            scheme=scheme,  # type: ignore[arg-type]
            metric=metric,
            threshold=as_threshold(threshold),
            queue=queue,
            recall=recall,
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
            sample_weight=None if weight is None else columns[weight],
            scored=scored,  # type: ignore[arg-type]
            audit=audit,
            labels_are=labels_are,  # type: ignore[arg-type]
        )
        title = f"{len(names)} models in {Path(file).name}"
        written = []
        if plot is not None:
            size = (6.5, 6.0)
            written.append(write_plot(lambda it: comparison.plot(ax=it.subplots()), size, plot))
        if report is not None:
            options: dict[str, Any] = {
                "score": names,
                "label": label,
                "alpha": alpha,
                "alpha-interval": alpha_interval,
                "prior-method": prior_method,
                "beta": beta,
                "scheme": scheme,
                "metric": metric,
                "threshold": threshold,
                "queue": queue,
                "recall": recall,
                "confidence": confidence,
                "n-boot": n_boot,
                "weight": weight,
                "scored": scored,
                "checked": [str(path) for path in checked or []],
                "id": id_column,
                "truth": truth if checked else None,
                "labels-are": labels_are,
                "seed": seed,
            }
            command = command_line("compare", file, options)
            written.append(Report(comparison, title, command=command).write(report))
    if as_json:
        plain_values = comparison.to_dict()
        plain_values["models"] = {
            name: with_light(one) for name, one in comparison.evaluations.items()
        }
        print_json(plain_values)
        return
    console = stdout()
    _print_comparison(console, comparison, title)
    print_written(console, written)


def _print_comparison(console: Console, comparison: Comparison, title: str) -> None:
    from recoup._core.text import show_number, show_percent, show_range
    from recoup.metrics.spec import metric_spec
    from recoup.report.page.light import light_of
    from recoup.report.page.models import comparison_sentences

    metric = comparison.metric
    name = metric_spec(metric, "compare").label
    some = next(iter(comparison.evaluations.values()))
    interval = f"{show_percent(some.confidence)} interval"
    if metric_spec(metric, "compare").kind == "point":
        title += f", at {comparison.at}"
    if some.prior_estimate is not None:
        title += f", alpha {some.prior}"
    numbers = (f"{name} (PU)", "Recovered", interval)
    table = make_table(("Model", *numbers), numbers, title)
    for model in comparison.ranking:
        item = comparison.evaluations[model][metric]
        table.add_row(
            plain(model),
            show_number(item.pu),
            show_number(item.recovered),
            show_range(item.lower, item.upper),
        )
    console.print(table)
    for sentence in comparison_sentences(comparison):
        console.print(plain(sentence))
    _print_audited(console, comparison)
    best = comparison.ranking[0]
    print_light(console, light_of(comparison.evaluations[best]), best)
    # In Python there is a command for it; here columns would have to be named.
    print_step(console, replace(comparison.evaluations[best].next_step, command=""), best)
    print_notes(console, comparison.notes)


def _print_audited(console: Console, comparison: Comparison) -> None:
    """Show what checked rows say of each model and of each pair."""
    from recoup._core.text import show_number, show_p, show_percent, show_range
    from recoup.metrics.spec import metric_spec

    found = comparison.audit
    if found is None:
        return
    label = metric_spec(found.metric, "compare").label
    numbers = [f"{label}, audited", f"{show_percent(found.confidence)} interval", "p, adjusted"]
    table = make_table(
        ["Model or pair", *numbers], numbers, f"{found.n_checked} rows checked by hand"
    )
    for name, model in found.models.items():
        one = model[found.metric]
        limits = show_range(one.audited_lower, one.audited_upper)
        table.add_row(plain(name), show_number(one.audited), limits, "")
    table.add_section()
    for item in found.differences:
        if item.metric == found.metric:
            table.add_row(
                plain(f"{item.first} - {item.second}"),
                show_number(item.difference, "+.4f"),
                show_range(item.lower, item.upper, "+.4f"),
                show_p(item.p_adjusted),
            )
    console.print(table)
    console.print(plain(found.labels.text))
