"""How every command prints, draws and fails."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

PICTURES = (".pdf", ".png", ".svg")
PAGES = (".html", ".htm", ".md", ".json")


def check_output(
    path: Path | None,
    suffixes: tuple[str, ...],
    option: str,
    source: str,
    what: str = "the scores",
) -> None:
    """Refuse a file that cannot be written, or is the one to read, before any work is done."""
    if path is None:
        return
    from recoup._core.files import check_writable

    name = brief(str(path), 200)
    if path.suffix.lower() not in suffixes:
        raise InvalidInputError(
            f"{option} needs a name that ends in {' or '.join(suffixes)}. Got {name}."
        )
    check_writable(path)
    if not path.exists():
        return
    from recoup.data.readers import matching_files

    if any(path.samefile(file) for file in matching_files(source)):
        raise InvalidInputError(f"{option} {name} would overwrite {what}. Choose another name.")


def write_plot(draw: Callable[[Figure], Any], size: tuple[float, float], path: Path) -> Path:
    """Draw into a file, whole or not at all."""
    import io

    from matplotlib.figure import Figure

    from recoup._core.files import write_file

    # A figure of its own needs no window, whatever the user's settings say.
    figure = Figure(figsize=size, layout="constrained")
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        draw(figure)
        figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=150)
    return write_file(path, buffer.getvalue())


def command_line(name: str, file: str, options: Mapping[str, Any], *more: object) -> str:
    """Write the command that gives the same numbers again."""
    words = ["recoup", *name.split(), file, *map(str, more)]
    for option, value in options.items():
        if isinstance(value, list):
            words += [word for one in value for word in (f"--{option}", one)]
        elif value is not None:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{option}", *map(str, values)]
    return shlex.join(words)


def fail(message: str) -> int:
    """Say in one line what is wrong."""
    print(f"recoup: {printable(message)}", file=sys.stderr)
    return 2


def printable(text: str) -> str:
    """Keep line breaks and terminal codes in names from reaching the terminal."""
    flat = " ".join(str(text).split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in flat
    )


def plain(text: str, style: str = "") -> Any:
    """Take text as it is: brackets in names are no markup."""
    from rich.text import Text

    return Text(printable(text), style=style)


def stdout() -> Console:
    """Return the console for results."""
    from rich.console import Console

    return Console(highlight=False)


@contextmanager
def progress(message: str, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal that work goes on, and how far it is; nothing beside JSON."""
    from recoup._core.progress import PROGRESS_SHOWN, progress_bar

    before = PROGRESS_SHOWN.set(quiet)
    try:
        with progress_bar(None, printable(message)):
            yield
    finally:
        PROGRESS_SHOWN.reset(before)


def make_table(
    columns: Sequence[str], numbers: Collection[str] = (), title: str | None = None
) -> Any:
    """Make a table; columns of numbers are aligned at their right."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        title=None if title is None else plain(title),
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for column in columns:
        table.add_column(plain(column), justify="right" if column in numbers else "left")
    return table


def print_json(values: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Print JSON that any parser takes."""
    print(json.dumps(values, indent=2, allow_nan=False))


def print_notes(console: Console, notes: Sequence[str]) -> None:
    """Print what a reader should beware of."""
    for note in notes:
        console.print(plain(f"Note: {note}", "yellow"))


def print_written(console: Console, paths: Sequence[Path]) -> None:
    """Name the files that are new."""
    for path in paths:
        console.print(plain(f"Wrote {path}"))
