"""``python -m papers``: a paper's experiment again, its figures beside the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recoup.cli import Command
from recoup.cli._options import AsJson
from recoup.cli._output import make_table, plain, print_json, print_written, stdout
from recoup.cli._runs import shown_progress, stoppable
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from rich.console import Console

    from papers import Reproduction
    from papers.experiment import Size


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command(cls=Command)
def repeat(
    name: Annotated[
        str | None,
        typer.Argument(metavar="PAPER", help="Key of a paper; without it, they are listed."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Some minutes on two cores; the default.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="All of it.")] = False,
    tiny: Annotated[
        bool, typer.Option("--tiny", help="Seconds, only to see whether it runs.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at the same time; by default one per core.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder to write to; by default recoup-reproduce/PAPER, here."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A results.parquet of before: judge and show it again, measure nothing.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat a paper's experiment, and say which of its claims hold.

    What is finished is kept: a stopped experiment, started again, goes on where it was.
    """
    asked: tuple[tuple[Size, bool], ...] = (("quick", quick), ("full", full), ("tiny", tiny))
    chosen = [size for size, on in asked if on]
    if len(chosen) > 1:
        raise InvalidInputError(
            f"reproduce takes one size. Got {' and '.join(f'--{size}' for size in chosen)}. "
            f"Drop one."
        )
    if name is None:
        if chosen or any(option is not None for option in (out, jobs, results)):
            raise InvalidInputError(
                "reproduce needs the key of a paper. Got none. python -m papers lists them."
            )
        _list_papers(as_json)
        return
    if results is not None:
        if chosen or jobs is not None:
            raise InvalidInputError(
                "reproduce --from measures nothing, and the file says its size. Got --from and "
                f"{'--' + chosen[0] if chosen else '--jobs'}. Drop one."
            )
        from papers.remaking import remake

        _show(remake(name, results, out=out), as_json)
        return
    from papers.reproduction import STORE, reproduce

    size = chosen[0] if chosen else "quick"
    folder = Path("recoup-reproduce") / name if out is None else out
    with stoppable(folder / STORE), shown_progress(name) as watch:
        found = reproduce(name, size, jobs=jobs, out=folder, watch=watch)
    _show(found, as_json)


def _show(found: Reproduction, as_json: bool) -> None:
    """Print what came out."""
    if as_json:
        print_json(found.to_dict())
        return
    console = stdout()
    _print_claims(console, found)
    print_written(console, [found.path])


def _list_papers(as_json: bool) -> None:
    """List the papers whose experiments can be repeated."""
    from papers import papers as keys
    from papers.experiment import experiment

    rows = [
        {"key": found.key, "title": found.title, "citation": found.citation}
        for found in map(experiment, keys())
    ]
    if as_json:
        print_json(rows)
        return
    table = make_table(("Key", "Title"))
    for column in table.columns:
        # A key cut short could not be passed on.
        column.overflow = "fold"
    for row in rows:
        table.add_row(plain(row["key"]), plain(row["title"]))
    stdout().print(table)


def _print_claims(console: Console, found: Reproduction) -> None:
    from papers.claims import COLUMNS, SHORT, cell

    table = make_table(tuple(COLUMNS[name] for name in SHORT), title=found.experiment.title)
    for column in table.columns:
        column.overflow = "fold"
    for claim in found.page.claims:
        style = {"holds": "green", "does not hold": "red"}.get(claim.verdict, "yellow")
        table.add_row(
            *(
                plain(cell(claim, name), style) if name == "verdict" else plain(cell(claim, name))
                for name in SHORT
            )
        )
    if not console.is_terminal:
        # In a file or a pipe no line needs to be broken.
        console.width = 200
    console.print(table)
    again = found.n_runs - found.n_new
    kept = f", {again} of them kept from before" if again else ""
    console.print(plain(f"{found.n_runs} runs{kept}, {found.seconds:,.0f} s of computing."))


if __name__ == "__main__":
    app(prog_name="python -m papers")
