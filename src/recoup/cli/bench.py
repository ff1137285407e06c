"""``recoup bench``: plan a comparison of learners, run it, and show what came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recoup._core.checks import brief, did_you_mean
from recoup._core.text import show_seconds
from recoup.cli._options import AsJson
from recoup.cli._output import (
    make_table,
    plain,
    print_json,
    print_notes,
    print_written,
    printable,
    progress,
    stdout,
)
from recoup.cli._runs import say, shown_progress, stoppable
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from recoup.bench import Outcome, Plan, Store

MOST_PROBLEMS = 10
DROPPABLE = ("done", "failed", "skipped", "damaged")

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
        if isinstance(name, str) and available[name.partition("/")[0]] not in ("bundled", "found")
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
        told = {"plan": asked.name, "store": str(path), **outcome.to_dict()}
        print_json(told | {"notes": _unsettled(path)})
    else:
        _print_outcome(outcome, path)
    if outcome.problems:
        raise typer.Exit(1)


def export(
    store: StoreArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="What to write (.parquet or .csv).")],
    as_json: AsJson = False,
) -> None:
    """Write all runs as a table, one line each."""
    from recoup.bench import Store
    from recoup.bench.exported import export as write
    from recoup.cli._output import check_output

    check_output(out, (".parquet", ".csv"), "--out", str(store), "the store")
    kept = Store(_existing(store, "export"))
    rows = kept.rows()
    if not rows:
        raise InvalidInputError(kept.why_empty("bench export"))
    write(rows, out)
    _print_made(out, {"runs": len(rows)}, _left_out(kept), as_json)


def merge(
    stores: Annotated[
        list[Path],
        typer.Argument(metavar="STORE...", help="Stores; a damaged one alone, to save its runs."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The store to make.")],
    as_json: AsJson = False,
) -> None:
    """Bring the runs of several stores together in a new one."""
    from recoup.bench import Store
    from recoup.bench import merge as bring_together

    made = bring_together(stores, out)
    damaged = [
        f"{n:,} damaged runs of {brief(str(path), 200)} could not be saved; bench run does them "
        f"again."
        for path in stores
        if (n := Store(path).left_out().get("damaged"))
    ]
    if not as_json:
        stdout().print(plain(repr(made)))
    _print_made(out, {str(status): n for status, n in made.counts().items()}, damaged, as_json)


def report(
    store: Annotated[
        Path,
        typer.Argument(
            metavar="STORE", help="What bench run wrote, or a .parquet file of bench export."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the pages.")],
    name: Annotated[
        str | None,
        typer.Option(
            "--plan",
            metavar="PLAN",
            help="Show the runs of this plan alone: a YAML file, or a name of recoup list plans.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the leaderboard of a store, or of its export: pages that need no network."""
    from recoup.bench import Store, read_plan
    from recoup.bench.exported import is_export, read_export
    from recoup.report.leaderboard.site import write_site

    kept = _existing(store, "report")
    wanted = None if name is None else {job.run for job in read_plan(name).jobs()}
    notes: list[str] = []
    unread: list[str] = []

    def details(run: str) -> Mapping[str, Any] | None:
        try:
            return Store(kept).details(run)
        except InvalidInputError:
            unread.append(run)
            return None

    with progress("Writing the leaderboard", as_json):
        if is_export(kept):
            rows = read_export(kept)
        else:
            rows, notes = Store(kept).rows(), _left_out(Store(kept))
        shown = rows if wanted is None else [row for row in rows if row["run"] in wanted]
        if not any(row["status"] == "done" for row in shown):
            of_plan = "" if name is None else f" of the plan {brief(name, 200)}"
            raise InvalidInputError(
                f"report needs finished runs. {brief(str(store), 200)} has none{of_plan}. Run "
                f"recoup bench run first."
            )
        # A table has no curves or distributions of single runs.
        write_site(shown, (lambda run: None) if is_export(kept) else details, out)
    if wanted is not None and len(shown) < len(wanted):
        notes.append(
            f"{len(wanted) - len(shown):,} of {len(wanted):,} runs of the plan are not in."
        )
    if unread:
        notes.append(f"Details of {len(unread):,} runs are damaged, and their pages lack them.")
    _print_made(out / "index.html", {"runs": len(shown)}, notes, as_json)


def drop(
    store: StoreArgument,
    learner: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="Runs of this learner; repeat for more."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Runs on this dataset; repeat for more."),
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(metavar="|".join(DROPPABLE), help="Runs that came to this; repeat for more."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget the runs of a store that all options name; bench run does them again.

    A learner is named by its key, or as tables show it with its parameters.
    """
    from recoup.bench import Store

    kept = Store(_existing(store, "drop"))
    if not (learner or dataset or status):
        raise InvalidInputError(
            "bench drop needs --learner, --dataset or --status: it does not empty a store."
        )
    strange = sorted(set(status or []) - set(DROPPABLE))
    if strange:
        raise InvalidInputError(
            f"bench drop knows no status {brief(strange[0])!r}. Choose of: {', '.join(DROPPABLE)}."
        )
    rows, damaged = kept.rows(), "damaged" in (status or [])
    for option, asked, known in (
        ("--learner", learner, {row["key"] for row in rows} | {row["learner"] for row in rows}),
        ("--dataset", dataset, {row["dataset"] for row in rows}),
    ):
        unknown = sorted(set(asked or []) - known)
        if unknown:
            raise InvalidInputError(
                f"bench drop {option}: {brief(str(store), 200)} has no runs of "
                f"{brief(unknown[0])!r}.{did_you_mean(unknown[0], known)}"
            )
    chosen = [
        row
        for row in rows
        if (not learner or {row["key"], row["learner"]} & set(learner))
        and (not dataset or row["dataset"] in dataset)
        and (not status or row["status"] in status)
    ]
    runs = [row["run"] for row in chosen]
    # What a damaged run is of, nobody knows.
    runs += kept.damaged() if damaged and not (learner or dataset) else []
    counts = dict(Counter(row["status"] for row in chosen))
    counts |= {"damaged": len(runs) - len(chosen)} if damaged else {}
    told = ", ".join(f"{n:,} {word}" for word, n in counts.items()) or "none"
    if runs and not yes:
        if as_json:
            raise InvalidInputError(
                f"bench drop --json needs --yes: it would drop {len(runs):,} runs ({told})."
            )
        question = f"Drop {len(runs):,} runs ({told}) of {brief(str(store), 200)} for good?"
        typer.confirm(printable(question), abort=True, err=True)
    if runs:
        with kept.writing():
            kept.drop(runs)
    if as_json:
        print_json({"store": str(store), "dropped": len(runs), **counts})
        return
    stdout().print(plain(f"{len(runs):,} runs dropped ({told})." if runs else "No such runs."))
    print_notes(stdout(), _unsettled(store))


def _print_made(out: Path, facts: Mapping[str, Any], notes: list[str], as_json: bool) -> None:
    """Name what was written, and what a reader should beware of."""
    if as_json:
        print_json({"out": str(out), **facts, "notes": notes})
        return
    print_notes(stdout(), notes)
    print_written(stdout(), [out])


def _left_out(kept: Store) -> list[str]:
    return [f"{n:,} runs are left out: they are {why}." for why, n in kept.left_out().items()]


def _unsettled(path: Path) -> list[str]:
    from recoup.bench import Store

    return [told] if (told := Store(path).unsettled()) is not None else []


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
        "datasets": [one if isinstance(one, str) else one.name for one in asked.datasets],
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
    notes += _unsettled(path)
    print_notes(console, notes)
    print_written(console, [path])
