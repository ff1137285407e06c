"""Write files whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

# A spreadsheet would take text that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def no_formula(value: Any) -> Any:
    """Return what to write to CSV so that a spreadsheet takes text for text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def check_writable(path: str | Path) -> Path:
    """Refuse a path that cannot become a file, before any work is done for it."""
    target = Path(path)
    name = brief(str(target), 200)
    if not target.parent.is_dir():
        raise InvalidInputError(
            f"Cannot write {name}: there is no folder {brief(str(target.parent), 200)}. "
            f"Create it first."
        )
    if target.exists() and not target.is_file():
        raise InvalidInputError(f"Cannot write {name}: it is not a file. Choose another name.")
    if not os.access(target.parent, os.W_OK):
        raise InvalidInputError(
            f"Cannot write {name}: its folder is read-only. Choose another folder."
        )
    return target


def check_own_folder(folder: Path, files: tuple[str, ...], marker: str) -> None:
    """Refuse a folder with files that would be overwritten, unless recoup wrote a marker to it."""
    taken = [name for name in files if (folder / name).exists()]
    if taken and not (folder / marker).is_file():
        raise InvalidInputError(
            f"Cannot write to {brief(str(folder), 200)}: its {taken[0]} would be overwritten, and "
            f"without {marker} beside it recoup did not write it. Choose another folder."
        )


def write_file(path: str | Path, content: bytes) -> Path:
    """Write a file whole or not at all, by renaming a finished one into place."""
    target = check_writable(path)
    # A link stays a link: what it points to is replaced.
    final = target.resolve()
    try:
        draft = final.with_name(f".{secrets.token_hex(8)}.tmp")
        try:
            with draft.open("xb") as stream:
                stream.write(content)
            draft.replace(final)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise InvalidInputError(
            f"Cannot write {brief(str(target), 200)}: {error.strerror or error}."
        ) from error
    return target
