"""``recoup evaluate`` and ``recoup demo``: one scored table, and the true metrics behind it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup.cli._demo import TITLE as CHECKED_TITLE
from recoup.cli._demo import DemoAudit, run_raw_example
from recoup.cli._light import print_light, print_step, with_light
from recoup.cli._options import (
    Alpha,
    AlphaInterval,
    AsJson,
    Beta,
    By,
    Confidence,
    FileArgument,
    HowScored,
    Label,
    LabelsAre,
    NBoot,
    Negative,
    PlotPath,
    Positive,
    PriorMethod,
    ReportPath,
    SchemeOption,
    Seed,
    Threshold,
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
from recoup.cli._promises import (
    Maximise,
    Promises,
    Queue,
    print_promise,
    promise_as_json,
    read_promises,
)
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from recoup.evaluation import Evaluation, NextStep

# What need not be written in a command that is proposed.
USUAL = {
    "scheme": ("single-sample",),
    "confidence": (0.95,),
    "n-boot": (2000,),
    "scored": ("once",),
    "seed": (0,),
}


def evaluate(
    file: FileArgument,
    score: Annotated[str, typer.Option(help="Column with the scores; higher is more positive.")],
    label: Label,
    alpha: Alpha = None,
    alpha_interval: AlphaInterval = None,
    prior_method: PriorMethod = None,
    beta: Beta = None,
    scheme: SchemeOption = "single-sample",
    threshold: Threshold = None,
    confidence: Confidence = 0.95,
    n_boot: NBoot = 2000,
    weight: Weight = None,
    scored: HowScored = "once",
    labels_are: LabelsAre = "unknown",
    promise: Promises = None,
    queue: Queue = None,
    maximise: Maximise = None,
    positive: Positive = None,
    negative: Negative = None,
    by: By = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    plot: PlotPath = None,
    report: ReportPath = None,
) -> None:
    """Recover the true metrics of one scored table."""
    from recoup.evaluation.inputs import check_scored
    from recoup.selection.how_labeled import check_labels_are

    given, share = check_prior(alpha, alpha_interval, prior_method, beta, scheme, "evaluate")
    check_scored(scored, False, "evaluate")
    check_labels_are(labels_are, "evaluate")
    asked = read_promises(promise, queue, maximise)
    check_output(plot, PICTURES, "--plot", file)
    check_output(report, PAGES, "--report", file)
    options: dict[str, Any] = {
        "score": score,
        "label": label,
        "alpha": alpha,
        "alpha-interval": alpha_interval,
        "prior-method": prior_method,
        "beta": beta,
        "scheme": scheme,
        "threshold": threshold,
        "confidence": confidence,
        "n-boot": n_boot,
        "weight": weight,
        "scored": scored,
        "labels-are": labels_are,
        "promise": promise,
        "queue": queue,
        "maximise": maximise,
        "positive": positive,
        "negative": negative,
        "seed": seed,
    }
    if by:
        from recoup.cli._by import evaluate_groups

        _check_alone(by, weight, share, bool(asked) or queue is not None)
        options = {
            name: value
            for name, value in {"by": by, **options}.items()
            if name not in ("beta", "n-boot", "weight", "promise", "queue", "maximise")
        }
        evaluate_groups(file, given, options, as_json=as_json, plot=plot, report=report)
        return
    from recoup.evaluation import evaluate as run
    from recoup.report import Report
    from recoup.scores import ScoreTable

    with progress(about_work(f"Evaluating {score}", given), as_json):
        chosen = as_threshold(threshold)
        keep = [chosen] if isinstance(chosen, float) else []
        table = ScoreTable.from_file(
            file,
            label=label,
            score=score,
            sample_weight=weight,
            keep=keep,
            positive=positive,
            negative=negative,
        )
        evaluation = run(
            table,
            alpha=given,
            beta=share,
            scheme=scheme,  # type: ignore[arg-type]
            threshold=chosen,
            confidence=confidence,
            n_boot=n_boot,
            random_state=seed,
            scored=scored,  # type: ignore[arg-type]
            labels_are=labels_are,  # type: ignore[arg-type]
        )
        promised = evaluation.certify(**asked, confidence=confidence) if asked else None
        top = None if queue is None else evaluation.at_top(queue)
        title = f"{score} in {Path(file).name}"
        command = command_line("evaluate", file, options)
        written = []
        if plot is not None:
            written.append(_plot_evaluation(evaluation, plot))
        if report is not None:
            page = Report(
                evaluation,
                title,
                command=command,
                plan_command=_to_check(evaluation, file, options),
                promise=promised,
            )
            written.append(page.write(report))
    if as_json:
        said = promise_as_json(promised, top)
        said["next_step"] = _step_here(evaluation, file, options).to_dict()
        print_json(with_light(evaluation) | said)
        return
    console = stdout()
    _print_evaluation(console, evaluation, title, step=_step_here(evaluation, file, options))
    at = None if promised is None else promised.candidate
    columns = {"score": score, "label": label}
    print_promise(
        console, promised, top, None if at is None else _to_check(evaluation, file, columns, at)
    )
    print_written(console, written)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the figure.")] = Path(
        "recoup-demo"
    ),
    raw: Annotated[
        bool, typer.Option("--run/--no-run", help="End with recoup run on a raw table.")
    ] = True,
) -> None:
    """Evaluate the example that recoup carries, and hold the result against the truth."""
    if out.exists() and not out.is_dir():
        raise InvalidInputError(f"Cannot write to {out}: it is not a folder. Choose another --out.")
    from recoup.data import load_example
    from recoup.evaluation import evaluate as run
    from recoup.priors import estimate
    from recoup.report import Report

    score = "score_boosting"
    with progress("Evaluating the example"):
        example = load_example()
        evaluation = run(
            example.s,
            example.scores[score],
            alpha=example.alpha,
            beta=1.0,
            threshold="f1",
            # The labels of the example were drawn at random among the spam.
            labels_are="random",
        )
        # With the true labels nothing is hidden, and the same code gives the usual metrics.
        known = run(
            example.y_true,
            example.scores[score],
            alpha=0.0,
            threshold=evaluation.threshold,
            n_boot=0,
        )
        truth = {key: known[key].recovered for key in known}
        guess = estimate(example.s, example.scores[score], beta=1.0)
        checked = DemoAudit.of(example, score, evaluation.threshold)
        out.mkdir(parents=True, exist_ok=True)
        title = "Spam filter trained on a few flagged mails"
        report = Report(evaluation, title, truth=truth, command="recoup demo")
        written = [
            report.write(out / "report.html"),
            Report(checked.evaluation, CHECKED_TITLE, truth=truth, command="recoup demo").write(
                out / "audited.html"
            ),
            _plot_evaluation(evaluation, out / "evaluation.png"),
        ]
    console = stdout()
    console.print(plain(example.description))
    _print_evaluation(console, evaluation, title, truth)
    inside = sum(item.lower <= truth[key] <= item.upper for key, item in evaluation.metrics.items())
    console.print(plain(f"The truth lies in {inside} of {len(truth)} intervals."))
    limits = "" if guess.interval is None else " ({:.3f} to {:.3f})".format(*guess.interval)
    console.print(
        plain(
            f"The flags were drawn at random among the spam, so that labels are said to be random. "
            f"alpha was given here. Estimated from labels and scores alone it is "
            f"{guess.alpha:.3f}{limits}; the truth is {example.alpha:.3f}."
        )
    )
    checked.show(console, truth, example.alpha)
    print_written(console, written)
    if raw:
        run_raw_example(console, out)


def _check_alone(
    by: list[str], weight: str | None, beta: float | str | None, promised: bool
) -> None:
    """Refuse what an evaluation by groups cannot take."""
    if weight is not None:
        raise InvalidInputError(
            "evaluate counts rows alike where it goes by groups. Got --weight beside --by. Drop "
            "one of them."
        )
    if beta not in (None, 1.0):
        raise InvalidInputError(
            f"evaluate takes every label as right where it goes by groups. Got --beta {beta} "
            f"beside --by. Drop one of them."
        )
    if promised:
        raise InvalidInputError(
            "evaluate makes promises for all rows together. Got --promise or --queue beside --by. "
            "Drop one of them."
        )
    if len(set(by)) < len(by):
        raise InvalidInputError("evaluate needs each column of --by once. Got one of them twice.")


def _to_check(
    evaluation: Evaluation, file: str, options: Mapping[str, Any], threshold: float | None = None
) -> str | None:
    """Write the command that chooses rows to check by hand, where one can."""
    from recoup.evaluation.next_step import CHECKS, PLAN_FILE

    if evaluation.scheme != "single-sample":
        return None
    chosen = {
        "score": options["score"],
        "label": options["label"],
        "threshold": evaluation.threshold if threshold is None else threshold,
        "budget": min(CHECKS, int(evaluation.n_unlabeled)),
        "out": PLAN_FILE,
    }
    return command_line("audit plan", file, chosen)


def _step_here(evaluation: Evaluation, file: str, options: Mapping[str, Any]) -> NextStep:
    """Say what to do next, with a command for this shell where there is one."""
    from dataclasses import replace

    from recoup.evaluation.next_step import PLANNED

    step = evaluation.next_step
    changes: dict[str, dict[str, Any]] = {
        "say-labels": {"labels-are": "random"},
        "estimate-alpha": {"alpha": None, "alpha-interval": None},
        "check-labels": {"beta": 1.0},
    }
    command = None
    if step.code in PLANNED:
        command = _to_check(evaluation, file, options)
    elif step.code in changes:
        asked = {name: value for name, value in options.items() if value not in USUAL.get(name, ())}
        command = command_line("evaluate", file, asked | changes[step.code])
    return replace(step, command=command or "")


def _plot_evaluation(evaluation: Evaluation, path: Path) -> Path:
    from recoup.plot.evaluation import EvaluationDisplay

    return write_plot(EvaluationDisplay.from_evaluation(evaluation).plot, (11.0, 10.0), path)


def _print_evaluation(
    console: Console,
    evaluation: Evaluation,
    title: str,
    truth: Mapping[str, float] | None = None,
    step: NextStep | None = None,
) -> None:
    from recoup._core.text import show_number, show_percent, show_range
    from recoup.report.page.summarize import in_short

    summary = in_short(evaluation, truth=truth)
    if evaluation.prior_estimate is not None:
        title += f", alpha {evaluation.prior}"
    numbers = ["PU value", "Recovered", f"{show_percent(evaluation.confidence)} interval"]
    open_range = any(
        item.possible_lower < item.lower or item.possible_upper > item.upper
        for item in evaluation.metrics.values()
    )
    numbers += ["Possible"] if open_range else []
    numbers += ["Truth"] if truth else []
    table = make_table(["Metric", *numbers], numbers, title)
    for group in summary["groups"]:
        table.add_row(plain(group["title"], "bold"))
        for metric in group["metrics"]:
            cells = [
                f"  {metric['label']}",
                show_number(metric["pu"]),
                show_number(metric["recovered"]),
                show_range(metric["lower"], metric["upper"]),
            ]
            if open_range:
                item = evaluation[metric["key"]]
                cells.append(show_range(item.possible_lower, item.possible_upper))
            if truth:
                cells.append(show_number(metric["truth"]))
            table.add_row(*cells)
        table.add_section()
    console.print(table)
    if open_range:
        console.print(plain(_why_open(evaluation)))
    print_light(console, summary["light"])
    print_step(console, step or evaluation.next_step)
    for sentence in summary["sentences"]:
        console.print(plain(sentence))
    print_notes(console, summary["notes"])


def _why_open(evaluation: Evaluation) -> str:
    reasons = []
    if evaluation.prior_estimate is not None:
        reasons.append("alpha is any that the scores allow")
    if not evaluation.given.labels_checked:
        reasons.append(
            "up to a tenth of the labels are wrong (--beta 1 says that they are checked)"
        )
    parts = [" and ".join(reasons)] if reasons else []
    if evaluation.label_odds > 1:
        odds = f"{evaluation.label_odds:g}"
        parts.append(f"labels favor high or low scores with odds of up to {odds}")
    return f"Possible: what the value may be if {', or if '.join(parts)}."
