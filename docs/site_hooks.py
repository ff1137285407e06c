"""What the site needs from the code while it is built: the commands and their options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from recoup.cli import app

MARKER = "<!-- commands -->"


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
