"""The command line: parse, call one function, print."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from recoup._checks import brief, check_scheme
from recoup.exceptions import InvalidInputError, RecoupError, RecoupWarning

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from recoup.comparison import Comparison, Difference
    from recoup.evaluation import Evaluation

PICTURES = (".pdf", ".png", ".svg")
PAGES = (".htm", ".html")
SIGNIFICANT = 0.05


class _Commands(TyperGroup):
    """A group of commands that ends every expected failure with one line and code 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command."""
        try:
            with warnings.catch_warnings():
                # What recoup warns of is in the notes that every command prints.
                warnings.simplefilter("ignore", RecoupWarning)
                code = super().main(
                    args, prog_name, complete_var, False, windows_expand_args, **extra
                )
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except RecoupError as error:
            code = _fail(str(error))
        except MemoryError:
            code = _fail("Not enough memory. Pass a smaller --n-boot or fewer rows.")
        except OSError as error:
            code = _fail(brief(str(error), 200))
        except Exception as error:
            # Typer's own usage errors; their base class has moved between its versions.
            if not hasattr(error, "format_message"):
                raise
            message = error.format_message().rstrip(".")
            # A group without a command has shown its help by now, and has nothing to add.
            code = _fail(f"{message}. See recoup --help.") if message else 2
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


app = typer.Typer(
    cls=_Commands,
    help="How good a classifier really is when most labels are missing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
listing = typer.Typer(help="List what recoup knows.", no_args_is_help=True)
app.add_typer(listing, name="list")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # Names in files may hold what a terminal cannot show.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="recoup")


# Options that several commands share.
FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV or Parquet file, or a pattern in quotes.")
]
Label = Annotated[
    str,
    typer.Option(help="Column with 1 labeled positive, 0 unlabeled, -1 known negative."),
]
Alpha = Annotated[
    float | None, typer.Option(help="Share of positives among the unlabeled rows, such as 0.2.")
]
AlphaInterval = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LOW HIGH", help="The same, if only a range is known."),
]
Beta = Annotated[float, typer.Option(help="Share of true positives among the labeled rows.")]
SchemeOption = Annotated[
    str,
    typer.Option(
        help="single-sample: the numbers are about all rows; case-control: about the unlabeled."
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="T|METRIC",
        help="Rows with this score or more are flagged; or the metric to maximise. By default 0.5 "
        "for probabilities, else youden.",
    ),
]
Confidence = Annotated[float, typer.Option(help="Level of the intervals.")]
NBoot = Annotated[int, typer.Option(min=0, help="Bootstrap replicates.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the random numbers.")]
PlotPath = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the figure (.png, .svg or .pdf).")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        import recoup

        typer.echo(f"recoup {recoup.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


@app.command()
def evaluate(
    file: FileArgument,
    score: Annotated[str, typer.Option(help="Column with the scores; higher is more positive.")],
    label: Label,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    beta: Beta = 1.0,
    scheme: SchemeOption = "single-sample",
    threshold: Threshold = None,
    confidence: Confidence = 0.95,
    n_boot: NBoot = 2000,
    weight: Annotated[str | None, typer.Option(help="Column with row weights.")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report (.html).")
    ] = None,
) -> None:
    """Recover the true metrics of one scored table."""
    given = _check_prior(alpha, alpha_interval, beta, scheme, "evaluate")
    _check_output(plot, PICTURES, "--plot", file)
    _check_output(report, PAGES, "--report", file)
    from recoup.evaluation import evaluate as run
    from recoup.report import Report
    from recoup.scores import ScoreTable

    with _progress(f"Evaluating {score}"):
        table = ScoreTable.from_file(file, label=label, score=score, sample_weight=weight)
        evaluation = run(
            table,
            alpha=given,
            beta=beta,
            scheme=scheme,  # type: ignore[arg-type]
            threshold=_as_threshold(threshold),
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
        )
        title = f"{score} in {Path(file).name}"
        written = []
        if plot is not None:
            written.append(_plot_evaluation(evaluation, plot))
        if report is not None:
            options: dict[str, Any] = {
                "score": score,
                "label": label,
                "alpha": alpha,
                "alpha-interval": alpha_interval,
                "beta": beta,
                "scheme": scheme,
                "threshold": threshold,
                "confidence": confidence,
                "n-boot": n_boot,
                "weight": weight,
                "seed": seed,
            }
            command = _command("evaluate", file, options)
            written.append(Report(evaluation, title, command=command).write(report))
    if as_json:
        _print_json(evaluation.to_dict())
        return
    console = _console()
    _print_evaluation(console, evaluation, title)
    _print_written(console, written)


@app.command()
def compare(
    file: FileArgument,
    score: Annotated[
        list[str], typer.Option(help="Column with the scores of a model; give two or more.")
    ],
    label: Label,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    beta: Beta = 1.0,
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
    given = _check_prior(alpha, alpha_interval, beta, scheme, "compare")
    _check_output(plot, PICTURES, "--plot", file)
    from recoup.comparison import compare as run
    from recoup.scores._engines import read_columns

    with _progress(f"Comparing {len(names)} models"):
        columns = read_columns(file, list(dict.fromkeys([label, *names])))
        comparison = run(
            columns[label],
            {name: columns[name] for name in names},
            alpha=given,
            beta=beta,
            scheme=scheme,  # type: ignore[arg-type]
            metric=metric,
            threshold=_as_threshold(threshold),
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
        )
        written = []
        if plot is not None:
            size = (6.5, 6.0)
            written.append(_write_plot(lambda it: comparison.plot(ax=it.subplots()), size, plot))
    if as_json:
        _print_json(comparison.to_dict())
        return
    console = _console()
    _print_comparison(console, comparison, f"{len(names)} models in {Path(file).name}")
    _print_written(console, written)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the figure.")] = Path(
        "recoup-demo"
    ),
) -> None:
    """Evaluate the example that recoup carries, and hold the result against the truth."""
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"Cannot write to {out}: it is not a folder. Choose another --out.")
    from recoup.data import load_example
    from recoup.evaluation import evaluate as run
    from recoup.report import Report

    score = "score_boosting"
    with _progress("Evaluating the example"):
        example = load_example()
        evaluation = run(example.s, example.scores[score], alpha=example.alpha, threshold="f1")
        # With the true labels nothing is hidden, and the same code gives the usual metrics.
        known = run(
            example.y_true,
            example.scores[score],
            alpha=0.0,
            threshold=evaluation.threshold,
            n_boot=0,
        )
        truth = {key: known[key].recovered for key in known}
        out.mkdir(parents=True, exist_ok=True)
        title = "Spam filter trained on a few flagged mails"
        report = Report(evaluation, title, truth=truth, command="recoup demo")
        written = [
            report.write(out / "report.html"),
            _plot_evaluation(evaluation, out / "evaluation.png"),
        ]
    console = _console()
    console.print(_text(example.description))
    _print_evaluation(console, evaluation, title, truth)
    inside = sum(item.lower <= truth[key] <= item.upper for key, item in evaluation.metrics.items())
    console.print(_text(f"The truth lies in {inside} of {len(truth)} intervals."))
    _print_written(console, written)


@listing.command("metrics")
def list_metrics() -> None:
    """List the metrics that evaluate recovers."""
    import recoup.metrics  # noqa: F401  registers them
    from recoup.metrics._spec import AREA_METRICS, POINT_METRICS, metric_spec

    kinds = {"point": "one threshold", "area": "all thresholds", "proper": "probabilities"}
    table = _table("Metric", "Of", "Best", "Source")
    for key in (*AREA_METRICS, *POINT_METRICS):
        spec = metric_spec(key, "list")
        best = "highest" if spec.higher_is_better else "lowest"
        table.add_row(spec.key, kinds[spec.kind], best, spec.source)
    _console().print(table)


# -- reading ------------------------------------------------------------------------------------


def _check_prior(
    alpha: float | None,
    interval: tuple[float, float] | None,
    beta: float,
    scheme: str,
    command: str,
) -> float | tuple[float, float]:
    """Check what can be checked before a large file is read."""
    from recoup._prior import Prior

    if alpha is not None and interval is not None:
        raise InvalidInputError(f"{command} takes --alpha or --alpha-interval, not both. Drop one.")
    given = alpha if alpha is not None else interval
    if given is None:
        raise InvalidInputError(
            f"{command} needs --alpha, the share of positives among the unlabeled rows: this "
            f"version cannot estimate it. Pass --alpha 0.2, or --alpha-interval 0.1 0.3 if only a "
            f"range is known."
        )
    check_scheme(scheme, command)
    Prior.of(given, beta, command)
    return given


def _check_output(path: Path | None, suffixes: tuple[str, ...], option: str, source: str) -> None:
    if path is None:
        return
    from recoup.report.render import check_writable

    name = brief(str(path), 200)
    if path.suffix.lower() not in suffixes:
        raise InvalidInputError(
            f"{option} needs a name that ends in {' or '.join(suffixes)}. Got {name}."
        )
    check_writable(path)
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise InvalidInputError(f"{option} {name} would overwrite the scores. Choose another name.")


def _as_threshold(text: str | None) -> float | str | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text


def _command(name: str, file: str, options: Mapping[str, Any]) -> str:
    """Write the command that gives the same numbers again."""
    words = ["recoup", name, file]
    for option, value in options.items():
        if value is not None:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{option}", *map(str, values)]
    return shlex.join(words)


# -- writing ------------------------------------------------------------------------------------


def _write_plot(draw: Callable[[Figure], Any], size: tuple[float, float], path: Path) -> Path:
    """Draw into a file, whole or not at all."""
    import io

    from matplotlib.figure import Figure

    from recoup.report.render import write_file

    # A figure of its own needs no window, whatever the user's settings say.
    figure = Figure(figsize=size, layout="constrained")
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        draw(figure)
        figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=150)
    return write_file(path, buffer.getvalue())


def _plot_evaluation(evaluation: Evaluation, path: Path) -> Path:
    from recoup.plot.evaluation import EvaluationDisplay

    return _write_plot(EvaluationDisplay.from_evaluation(evaluation).plot, (11.0, 10.0), path)


def _fail(message: str) -> int:
    """Say in one line what is wrong."""
    print(f"recoup: {_printable(message)}", file=sys.stderr)
    return 2


def _printable(text: str) -> str:
    """Keep line breaks and terminal codes in names from reaching the terminal."""
    flat = " ".join(str(text).split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in flat
    )


def _text(text: str, style: str = "") -> Any:
    """Take text as it is: brackets in names are no markup."""
    from rich.text import Text

    return Text(_printable(text), style=style)


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


@contextmanager
def _progress(message: str) -> Iterator[None]:
    """Show on a terminal that work goes on."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(_text(f"{message} ...")):
        yield


def _table(*columns: str, title: str | None = None) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        title=None if title is None else _text(title),
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for column in columns:
        numeric = column not in ("Metric", "Of", "Best", "Source", "Model")
        table.add_column(_text(column), justify="right" if numeric else "left")
    return table


def _print_json(values: Mapping[str, Any]) -> None:
    print(json.dumps(values, indent=2, allow_nan=False))


def _print_evaluation(
    console: Console,
    evaluation: Evaluation,
    title: str,
    truth: Mapping[str, float] | None = None,
) -> None:
    from recoup.report.render import format_range, format_value
    from recoup.report.summarize import percent, summarize

    summary = summarize(evaluation, truth=truth)
    headings = ["Metric", "PU value", "Recovered", f"{percent(evaluation.confidence)} interval"]
    table = _table(*headings, *(["Truth"] if truth else []), title=title)
    for group in summary["groups"]:
        table.add_row(_text(group["title"], "bold"))
        for metric in group["metrics"]:
            cells = [
                f"  {metric['label']}",
                format_value(metric["pu"]),
                format_value(metric["recovered"]),
                format_range(metric["lower"], metric["upper"]),
            ]
            if truth:
                cells.append(format_value(metric["truth"]))
            table.add_row(*cells)
        table.add_section()
    console.print(table)
    for sentence in summary["sentences"]:
        console.print(_text(sentence))
    for note in summary["notes"]:
        console.print(_text(f"Note: {note}", "yellow"))


def _print_comparison(console: Console, comparison: Comparison, title: str) -> None:
    from recoup.metrics._spec import metric_spec
    from recoup.report.render import format_range, format_value
    from recoup.report.summarize import percent

    metric = comparison.metric
    name = metric_spec(metric, "compare").label
    some = next(iter(comparison.evaluations.values()))
    interval = f"{percent(some.confidence)} interval"
    table = _table("Model", f"{name} (PU)", "Recovered", interval, title=title)
    for model in comparison.ranking:
        item = comparison.evaluations[model][metric]
        table.add_row(
            _text(model),
            format_value(item.pu),
            format_value(item.recovered),
            format_range(item.lower, item.upper),
        )
    console.print(table)
    pairs = [pair for pair in comparison.differences if pair.metric == metric]
    for pair in pairs:
        console.print(_text(_about_pair(pair, len(pairs))))
    if not pairs:
        console.print(_text(f"Differences in {name} have no interval; compare by another metric."))
    wins = [win for win in comparison.wins if win.metric == metric]
    for win in wins:
        console.print(
            _text(
                f"For alpha from {win.alpha_low:.3g} to {win.alpha_high:.3g}, {win.model} has the "
                f"best {name}."
            )
        )
    for note in comparison.notes:
        console.print(_text(f"Note: {note}", "yellow"))


def _about_pair(pair: Difference, n_pairs: int) -> str:
    """Say whether two models differ, and which one is better."""
    from recoup.metrics._spec import metric_spec

    p_value = pair.p_value if n_pairs == 1 else pair.p_adjusted
    adjusted = "" if n_pairs == 1 else f" after correction for {n_pairs} comparisons"
    if p_value > SIGNIFICANT or p_value != p_value:
        verdict = f"{pair.first} and {pair.second} are not shown to differ"
    elif (pair.difference > 0) == metric_spec(pair.metric, "compare").higher_is_better:
        verdict = f"{pair.first} is better than {pair.second}"
    else:
        verdict = f"{pair.second} is better than {pair.first}"
    return (
        f"{verdict}: {pair.first} minus {pair.second} is {pair.difference:+.3f} "
        f"({pair.lower:+.3f} to {pair.upper:+.3f}), p = {p_value:.2g}{adjusted}."
    )


def _print_written(console: Console, paths: list[Path]) -> None:
    for path in paths:
        console.print(_text(f"Wrote {path}"))


if __name__ == "__main__":
    main()
