"""Find data files, check them, and write fetched ones so that nobody sees half of one."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recoup._core.checks import brief
from recoup.data.entry import Entry
from recoup.exceptions import InvalidInputError


def data_folder() -> Path | None:
    """Return the folder that ``RECOUP_DATA`` names, if it is set."""
    value = os.environ.get("RECOUP_DATA")
    return Path(value).expanduser() if value else None


def cache_folder() -> Path:
    """Return where fetched datasets are kept: ``RECOUP_CACHE``, or the system's place for it."""
    if value := os.environ.get("RECOUP_CACHE"):
        return Path(value).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")).expanduser()
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches").expanduser()
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return base / "recoup"


def locate(entry: Entry) -> Path | None:
    """Return the file of a dataset, unchecked: first the user's folder, then the cache."""
    for folder in (data_folder(), cache_folder()):
        if folder is not None and (folder / entry.file).is_file():
            return folder / entry.file
    return None


def check_data_folder() -> None:
    """Refuse a ``RECOUP_DATA`` that names no folder, rather than fetch what is already there."""
    folder = data_folder()
    if folder is not None and not folder.is_dir():
        raise InvalidInputError(
            f"load needs RECOUP_DATA to name a folder with data files. Got "
            f"{brief(str(folder), 200)}, which is not a folder. Correct or unset the variable."
        )


def check_file(entry: Entry, path: Path) -> None:
    """Compare a file of the user's folder with the checksum in the catalog."""
    if path.parent != data_folder():
        # A cached file was built here from a public copy; its bytes depend on library versions.
        return
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != entry.sha256:
        raise InvalidInputError(
            f"load needs {entry.file} with sha256 {entry.sha256[:12]}..., so that results can be "
            f"compared. Got {found[:12]}... in {brief(str(path), 200)}: the file is damaged or of "
            f"another version. Replace it."
        )


@contextmanager
def written_by_rename(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside ``path``, and move it there once it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
