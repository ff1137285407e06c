"""``recoup evaluate FILE --by COLUMN``: the true metrics of every group of rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoup.cli._options import about_work, as_threshold
from recoup.cli._output import (
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

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.evaluation import Estimate, GroupedEvaluation, GroupEstimate

SHOWN = ("precision", "recall", "roc_auc")
# More groups than this no one reads in a terminal: the worst are shown.
MOST_LINES, WORST = 40, 20


def evaluate_groups(
    file: str,
    alpha: Any,
    options: Mapping[str, Any],
    *,
    as_json: bool,
    plot: Path | None,
    report: Path | None,
) -> None:
    """Evaluate the groups of a file, and print, draw and write what was asked for.

    Parameters
    ----------
    file : str
        The scored table.
    alpha : object
        Share of positives among the unlabeled rows, or how to estimate it.
    options : mapping of str to object
        The options of the command, as they were given.
    as_json : bool
        Whether to print JSON and nothing else.
    plot, report : Path or None
        Files to write.
    """
    from recoup.evaluation import evaluate_by
    from recoup.scores import GroupedTable

    by, score = list(options["by"]), options["score"]
    with progress(about_work(f"Evaluating {score} by {', '.join(by)}", alpha), as_json):
        threshold = as_threshold(options["threshold"])
        table = GroupedTable.from_file(
            file,
            label=options["label"],
            score=score,
            by=by,
            keep=[threshold] if isinstance(threshold, float) else [],
            positive=options["positive"],
            negative=options["negative"],
        )
        found = evaluate_by(
            table,
            alpha=alpha,
            scheme=options["scheme"],
            threshold=threshold,
            confidence=options["confidence"],
            random_state=options["seed"],
            scored=options["scored"],
            labels_are=options["labels-are"],
        )
        title = f"{score} in {Path(file).name} by {', '.join(by)}"
        written = []
        if plot is not None:
            written.append(_plot(found, plot))
        if report is not None:
            from recoup.report import GroupReport

            command = command_line("evaluate", file, options)
            written.append(GroupReport(found, title, command=command).write(report))
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    _print(console, found, title)
    print_written(console, written)


def _plot(found: GroupedEvaluation, path: Path) -> Path:
    from recoup.plot.groups import MOST_SHOWN, ForestDisplay

    display = ForestDisplay.from_metric(found["precision"])
    height = 1.2 + 0.3 * min(len(found), MOST_SHOWN)
    return write_plot(display.plot, (8.0, max(height, 3.0)), path)


def _print(console: Console, found: GroupedEvaluation, title: str) -> None:
    from recoup._core.text import show_count, show_percent, show_share

    metrics = [found[key] for key in SHOWN]
    names = [metric.label for metric in metrics]
    columns = ["Group", "Labels", *names, "Own"]
    table = make_table(columns, columns[1:], title)
    shown = list(range(len(found)))
    if len(found) > MOST_LINES:
        places = {key: place for place, key in enumerate(found.groups.keys)}
        shown = [places[one.group] for one in found.worst("precision", WORST)]
    for place in shown:
        cells = [metric.at(place) for metric in metrics]
        first = cells[0]
        table.add_row(
            plain(first.name),
            show_count(first.n_labeled),
            *(_with_limits(one) for one in cells),
            show_share(first.own),
        )
    table.add_section()
    table.add_row(
        plain("all together", "bold"),
        show_count(metrics[0].n_labeled.sum()),
        *(_with_limits(metric.total) for metric in metrics),
        "",
    )
    console.print(table)
    for sentence in sentences(found, len(shown)):
        console.print(plain(sentence))
    console.print(
        plain(
            f"Recovered values with {show_percent(found.confidence)} intervals, at threshold "
            f"{found.threshold:.4g}. Own: how much of precision came from the group's own "
            f"rows; the rest from what all groups have in common."
        )
    )
    print_notes(console, found.notes)


def _with_limits(one: GroupEstimate | Estimate) -> str:
    from recoup._core.text import show_number, show_range

    return f"{show_number(one.recovered)}\n{show_range(one.lower, one.upper)}"


def sentences(found: GroupedEvaluation, n_shown: int) -> list[str]:
    """Say which groups are shown, and how much groups differ."""
    from recoup.report.groups.summarize import gap_sentences

    said = []
    if n_shown < len(found):
        said.append(
            f"The {n_shown} of {len(found):,} groups with the lowest precision; --json has all."
        )
    return said + gap_sentences(found)
