"""What the site needs from the code while it is built: the commands, and a leaderboard."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mkdocs.structure.files import File

from recoup.bench.exported import read_export
from recoup.cli import app
from recoup.report.leaderboard.site import MARKER as LISTED
from recoup.report.leaderboard.site import write_site

MARKER = "<!-- commands -->"
RESULTS = "papers/pubench/results.parquet"
LEADERBOARD = "leaderboard"


def on_files(files: Any, *, config: Any) -> Any:
    """Add the leaderboard of the committed runs, so that pages can link to it."""
    results = Path(config.docs_dir) / RESULTS
    if not results.is_file():
        return files
    rows = read_export(results)
    if not any(row["status"] == "done" for row in rows):
        return files
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / LEADERBOARD
        write_site(rows, lambda run: None, site, title="Leaderboard: PU-Bench's learners")
        for path in sorted(site.rglob("*")):
            if path.is_file() and path.name != LISTED:
                name = f"{LEADERBOARD}/{path.relative_to(site).as_posix()}"
                files.append(File.generated(config, name, content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the reference of the command line where a page asks for it."""
    if MARKER not in markdown:
        return markdown
    return markdown.replace(MARKER, "\n\n".join(command_reference()))


def command_reference() -> Iterator[str]:
    """Describe every command of recoup: what it does, how it is called, its options.

    Yields
    ------
    str
        A section in Markdown.
    """
    root = typer.main.get_command(app)
    yield from _described(root, "recoup", None)


def _described(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = typer.Context(command, info_name=name.rsplit(" ", 1)[-1], parent=parent)
    inner: dict[str, Any] = getattr(command, "commands", {})
    if parent is not None:
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        yield f"## {name}\n\n{command.help}\n\n```text\n{usage}\n```"
        if not inner:
            yield _options(command, context)
    for key, one in inner.items():
        yield from _described(one, f"{name} {key}", context)


def _options(command: Any, context: Any) -> str:
    rows = ["| option | meaning |", "| --- | --- |"]
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            term, meaning = (" ".join(part.split()) for part in record)
            # A bar ends a cell, but not inside of code.
            rows.append(f"| `{term}` | {meaning.replace('|', '&#124;')} |")
    return "\n".join(rows)
