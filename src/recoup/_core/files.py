"""Write files whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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


def make_folder(folder: str | Path, cannot: str) -> Path:
    """Make a folder, or say why it cannot be written to; ``cannot`` begins that sentence."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not os.access(place, os.W_OK):
            raise PermissionError(13, "it is read-only")
    except OSError as error:
        raise InvalidInputError(
            f"{cannot} {brief(str(place), 200)}: {error.strerror or error}. Choose another folder."
        ) from error
    return place


def check_folder(folder: Path, cannot: str) -> None:
    """Refuse a folder that cannot be made or written to, before any work; ``cannot`` begins that.

    None is made: the work may still fail.
    """
    place = folder
    while not (place.exists() or place.is_symlink()) and place != place.parent:
        place = place.parent
    if not place.is_dir():
        reason = f"{brief(str(place), 200)} is not a folder"
    elif not os.access(place, os.W_OK | os.X_OK):
        reason = f"{brief(str(place), 200)} is read-only"
    else:
        return
    raise InvalidInputError(f"{cannot} {brief(str(folder), 200)}: {reason}. Choose another folder.")


def check_own_folder(folder: Path, files: tuple[str, ...], marker: str) -> None:
    """Refuse a folder with files that would be overwritten, unless recoup wrote a marker to it."""
    taken = [name for name in files if (folder / name).exists()]
    if taken and not (folder / marker).is_file():
        raise InvalidInputError(
            f"Cannot write to {brief(str(folder), 200)}: its {taken[0]} would be overwritten, and "
            f"without {marker} beside it recoup did not write it. Choose another folder."
        )


def write_file(path: str | Path, content: bytes) -> Path:
    """Write a file whole or not at all."""
    target = check_writable(path)
    with writing(target) as (draft,):
        draft.write_bytes(content)
    return target


@contextmanager
def writing(
    *paths: Path, failures: tuple[type[Exception], ...] = (OSError,)
) -> Iterator[Sequence[Path]]:
    """Yield a draft for each file, beside it; at the end they take its place, all or none.

    Parameters
    ----------
    *paths : Path
        Files to write. A link stays a link: what it points to is replaced.
    failures : tuple of exception types
        What means, inside the block, that the files cannot be written. Other errors of the block
        are left as they are.
    """
    with ExitStack() as leftovers:
        moves = []
        for path in paths:
            final = path.resolve()
            draft, former = (final.with_name(f".{secrets.token_hex(8)}.tmp") for _ in "12")
            leftovers.callback(draft.unlink, missing_ok=True)
            moves.append((draft, final, former))
        try:
            yield [draft for draft, *_ in moves]
        except failures as error:
            raise _writing_error(paths, error) from error
        try:
            _move(moves)
        except OSError as error:
            raise _writing_error(paths, error) from error


def _move(moves: list[tuple[Path, Path, Path]]) -> None:
    """Rename all drafts into place, or put back what was there."""
    with ExitStack() as undo:
        for draft, final, former in moves:
            if len(moves) == 1:  # a single rename is done or not
                pass
            elif final.exists():
                undo.callback(_put_back, former, final)
                final.replace(former)
            else:
                undo.callback(final.unlink, missing_ok=True)
            draft.replace(final)
        undo.pop_all()
    for *_, former in moves:
        former.unlink(missing_ok=True)


def _put_back(former: Path, final: Path) -> None:
    if former.exists():
        former.replace(final)


def _writing_error(paths: Sequence[Path], error: Exception) -> InvalidInputError:
    names = " and ".join(brief(str(path), 200 // len(paths)) for path in paths)
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    return InvalidInputError(f"Cannot write {names}: {brief(reason, 200).rstrip('.')}.")
