"""The command line: parse, call one function, print."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from recoup._core.checks import brief
from recoup.cli import (
    audit,
    bench,
    calibrate,
    compare,
    data,
    evaluate,
    fit,
    lists,
    monitor,
    prior,
    run,
    scar,
    simulate,
    suspects,
)
from recoup.cli._output import fail
from recoup.exceptions import RecoupError, RecoupWarning

__all__ = ["Command", "Commands", "app", "main"]


class _OneLineErrors:
    """What ends every expected failure with one line and code 2."""

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
                code = super().main(  # type: ignore[misc]
                    args, prog_name, complete_var, False, windows_expand_args, **extra
                )
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        except RecoupError as error:
            code = fail(str(error))
        except MemoryError:
            code = fail("Not enough memory. Pass a smaller --n-boot or fewer rows.")
        except OSError as error:
            code = fail(brief(str(error), 200))
        except Exception as error:
            # Typer's own usage errors; their base class has moved between its versions.
            if not hasattr(error, "format_message"):
                raise
            message = error.format_message().rstrip(".")
            stop = "" if message.endswith("?") else "."
            # A group without a command has shown its help by now, and has nothing to add.
            code = fail(f"{message}{stop} See recoup --help.") if message else 2
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code


class Command(_OneLineErrors, TyperCommand):
    """A command that ends every expected failure with one line and code 2."""


class Commands(_OneLineErrors, TyperGroup):
    """A group of such commands."""


app = typer.Typer(
    cls=Commands,
    help="How good a classifier really is when most labels are missing.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
listing = typer.Typer(help="List what recoup knows.", no_args_is_help=True)
app.command()(run.run)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(monitor.monitor)
app.command()(prior.prior)
app.command()(calibrate.calibrate)
app.command()(suspects.suspects)
app.command()(scar.scar)
app.command()(simulate.simulate)
app.command()(fit.fit)
app.command()(fit.score)
app.command()(evaluate.demo)
audits = typer.Typer(help="Check rows by hand: plan, next, evaluate.", no_args_is_help=True)
app.add_typer(audits, name="audit")
audits.command()(audit.plan)
audits.command("next")(audit.next_rows)
audits.command()(audit.evaluate)
benchmark = typer.Typer(help="Compare learners: plan, run, report.", no_args_is_help=True)
app.add_typer(benchmark, name="bench")
benchmark.command()(bench.plan)
benchmark.command()(bench.run)
benchmark.command()(bench.report)
benchmark.command()(bench.export)
benchmark.command()(bench.merge)
benchmark.command()(bench.drop)
files = typer.Typer(help="Files of named datasets.", no_args_is_help=True)
app.add_typer(files, name="data")
files.command()(data.build)
app.add_typer(listing, name="list")
listing.command("datasets")(lists.datasets)
listing.command("learners")(lists.learners)
listing.command("metrics")(lists.metrics)
listing.command("plans")(bench.plans)
listing.command("priors")(lists.priors)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # Names in files may hold what a terminal cannot show.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="recoup")


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
