"""Find data files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from recoup._core.checks import brief
from recoup.data.entry import Entry
from recoup.exceptions import InvalidInputError

BUNDLED = Path(__file__).with_name("tables")
"""Where the tables are that come with recoup."""


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
    """Return a dataset's file, unchecked: the user's folder, recoup's own tables, the cache."""
    for folder in (data_folder(), BUNDLED, cache_folder()):
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
