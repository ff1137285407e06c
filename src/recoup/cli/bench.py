"""``recoup bench``: plan a comparison of learners, run it, and show what came out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recoup._core.checks import brief
from recoup._core.text import show_seconds
from recoup.cli._options import AsJson
from recoup.cli._output import (
    make_table,
    plain,
    print_json,
    print_notes,
    print_written,
    progress,
    stdout,
)
from recoup.cli._runs import say, shown_progress, stoppable
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.bench import Outcome, Plan

MOST_PROBLEMS = 10

PlanArgument = Annotated[
    str, typer.Argument(metavar="PLAN", help="YAML file, or a name of recoup list plans.")
]
StoreOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The store; by default PLAN.sqlite, here."),
]
StoreArgument = Annotated[Path, typer.Argument(metavar="STORE", help="What bench run wrote.")]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Runs at the same time; by default one per core.")
]


def plan(
    name: PlanArgument,
    store: StoreOption = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Show what a plan asks for, what is done, and how long the rest may take."""
    from recoup.bench import Store, read_plan
    from recoup.bench.cluster import n_cores
    from recoup.bench.expected_time import Expected
    from recoup.data import list_datasets

    asked = read_plan(name)
    path = _store_path(asked, store)
    n_workers = workers or n_cores()
    jobs = asked.jobs()
    kept = Store(path)
    known = kept.statuses()
    states = Counter(known.get(job.run, "left") for job in jobs)
    impossible = [job for job in jobs if known.get(job.run) != "done" and job.skip_reason()]
    blocked = {job.run for job in impossible}
    left = [
        job
        for job in jobs
        if known.get(job.run) not in ("done", "failed") and job.run not in blocked
    ]
    seconds = Expected(kept).all_seconds(left, n_workers)
    reasons = Counter(str(job.skip_reason()) for job in impossible)
    available = {row.name: row.available for row in list_datasets()}
    absent = {
        name: available[name.partition("/")[0]]
        for name in asked.datasets
        if available[name.partition("/")[0]] not in ("bundled", "found")
    }
    found = {
        "plan": asked.name,
        "store": str(path),
        "runs": len(jobs),
        "done": states["done"],
        "failed": states["failed"],
        "impossible": len(impossible),
        "left": len(left),
        "seconds_left": seconds,
        "not_at_hand": absent,
        "reasons": dict(reasons),
    }
    if as_json:
        print_json({"grid": asked.model_dump(mode="json"), **found})
        return
    console = stdout()
    table = make_table(("", "Values"), title=f"{asked.name}: {asked.about}".rstrip(": "))
    for label, values in _grid(asked).items():
        table.add_row(plain(label), plain(values))
    console.print(table)
    console.print(
        plain(
            f"{len(jobs):,} runs: {states['done']:,} done, {states['failed']:,} failed, "
            f"{len(impossible):,} cannot be done, {len(left):,} left."
        )
    )
    if left:
        console.print(plain(_about_time(seconds, n_workers)))
    notes = [f"{n:,} runs will be skipped: {reason}" for reason, n in reasons.items()]
    for dataset, how in absent.items():
        fate = "will be fetched" if how == "fetchable" else "its runs will be skipped"
        notes.append(f"{dataset} is not at hand: {fate}.")
    print_notes(console, notes)


def run(
    name: PlanArgument,
    store: StoreOption = None,
    workers: Workers = None,
    gpu: Annotated[bool, typer.Option("--gpu", help="Train networks on the GPUs.")] = False,
    slots: Annotated[int, typer.Option(min=1, help="Runs that share a GPU.")] = 4,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler to use, such as tcp://host:8786; by default "
            "workers are started here.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Start no run after this time, such as 30m or 2h."),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Do runs again that failed before.")
    ] = False,
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Keep the best weights of networks here, a file for each run."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Do the runs of a plan that the store does not have yet.

    Every finished run is kept at once: a stopped command, given again, goes on where it was. The
    exit code is 1 if runs have failed.
    """
    from recoup.bench import read_plan, run_plan
    from recoup.bench.plan import seconds_of

    if scheduler is not None and workers is not None:
        raise InvalidInputError(
            "bench run takes --workers or --scheduler, not both: the workers of a scheduler are "
            "started elsewhere. Drop one."
        )
    try:
        span = None if limit is None else seconds_of(limit)
    except InvalidInputError as error:
        raise InvalidInputError(f"bench run --limit: {error}") from error
    asked = read_plan(name)
    path = _store_path(asked, store)
    with stoppable(path), shown_progress(asked.name, as_json) as watch:
        outcome = run_plan(
            asked,
            path,
            workers=workers,
            gpu=gpu,
            slots=slots,
            scheduler=scheduler,
            limit=span,
            retry_failed=retry_failed,
            watch=watch,
            say=say,
            checkpoints=checkpoints,
        )
    if as_json:
        print_json({"plan": asked.name, "store": str(path), **outcome.to_dict()})
    else:
        _print_outcome(outcome, path)
    if outcome.problems:
        raise typer.Exit(1)


def export(
    store: StoreArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="What to write (.parquet or .csv).")],
) -> None:
    """Write all runs as a table, one line each."""
    from recoup.bench import Store
    from recoup.bench.store import export as write
    from recoup.cli._output import check_output

    check_output(out, (".parquet", ".csv"), "--out", str(store), "the store")
    print_written(stdout(), [write(Store(_existing(store, "export")).rows(), out)])


def merge(
    stores: Annotated[list[Path], typer.Argument(metavar="STORE...", help="Two or more stores.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The store to make.")],
) -> None:
    """Bring the runs of several stores together in a new one."""
    from recoup.bench import merge as bring_together

    if len(stores) < 2:
        raise InvalidInputError("merge needs two or more stores. Got one.")
    console = stdout()
    console.print(plain(repr(bring_together(stores, out))))
    print_written(console, [out])


def report(
    store: Annotated[
        Path,
        typer.Argument(
            metavar="STORE", help="What bench run wrote, or a .parquet file of bench export."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the pages.")],
) -> None:
    """Write the leaderboard of a store, or of its export: pages that need no network."""
    from recoup.bench import Store
    from recoup.bench.exported import is_export, read_export
    from recoup.report.leaderboard.site import write_site

    kept = _existing(store, "report")
    exported = is_export(kept)
    with progress("Writing the leaderboard"):
        rows = read_export(kept) if exported else Store(kept).rows()
        if not any(row["status"] == "done" for row in rows):
            raise InvalidInputError(
                f"report needs finished runs. {brief(str(store), 200)} has none. Run recoup bench "
                f"run first."
            )
        # A table has no curves or distributions of single runs.
        details = (lambda run: None) if exported else Store(kept).details
        write_site(rows, details, out)
    print_written(stdout(), [out / "index.html"])


def plans(as_json: AsJson = False) -> None:
    """List the plans that come with recoup."""
    from recoup.bench import read_plan, shipped_plans

    rows = [
        {"name": name, "runs": len(read_plan(name).jobs()), "about": about}
        for name, about in shipped_plans().items()
    ]
    if as_json:
        print_json(rows)
        return
    table = make_table(("Name", "Runs", "About"), ("Runs",))
    for row in rows:
        table.add_row(plain(str(row["name"])), f"{row['runs']:,}", plain(str(row["about"])))
    stdout().print(table)


def _store_path(asked: Plan, store: Path | None) -> Path:
    return Path(f"{asked.name}.sqlite") if store is None else store


def _existing(store: Path, command: str) -> Path:
    if not store.is_file():
        raise InvalidInputError(
            f"bench {command} needs a store. There is no file {brief(str(store), 200)}."
        )
    return store


def _grid(asked: Plan) -> dict[str, str]:
    """Return the parts of a plan as people read them."""
    from recoup.bench.job import shown_learner

    learners = [
        shown_learner(spec.key, params, spec.preset)
        for spec in asked.learners
        for params in spec.settings()
    ]
    parts = {
        "datasets": asked.datasets,
        "schemes": asked.schemes,
        "mechanisms": asked.mechanisms,
        "label frequencies": [f"{value:g}" for value in asked.label_frequencies],
        "noise": [f"{value:g}" for value in asked.noise],
        "learners": learners,
        "seeds": list(map(str, asked.seeds)),
        "protocols": asked.protocols,
        "alpha": [asked.alpha],
    }
    return {label: ", ".join(values) for label, values in parts.items()}


def _about_time(seconds: float | None, workers: int) -> str:
    if seconds is None:
        return "How long they take is known once some are done."
    return f"About {show_seconds(seconds)} on {workers} worker{'s' if workers > 1 else ''}."


def _print_outcome(outcome: Outcome, path: Path) -> None:
    console = stdout()
    left = f", {outcome.left:,} left" if outcome.left else ""
    console.print(
        plain(
            f"{outcome.done:,} done, {outcome.cached:,} cached, {outcome.failed:,} failed, "
            f"{outcome.skipped:,} skipped{left} in {show_seconds(outcome.seconds)}."
        )
    )
    notes = [f"{n:,} skipped: {reason}" for reason, n in outcome.reasons.items()]
    for reason, job in outcome.problems[:MOST_PROBLEMS]:
        where = f"{job.learner} on {job.dataset}, {job.scheme}, {job.mechanism}"
        notes.append(
            f"Failed: {where}, c={job.label_frequency:g}, seed {job.seed}, {job.protocol}: {reason}"
        )
    hidden = len(outcome.problems) - MOST_PROBLEMS
    notes += [f"{hidden:,} more failed: --json lists them."] if hidden > 0 else []
    print_notes(console, notes)
    print_written(console, [path])
