"""Own files in plans: a table with labels as they came, or with true classes to hide labels of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, brief, label_masks
from recoup._core.text import show_count
from recoup.data import ColumnEncoder
from recoup.data.dataset import Dataset
from recoup.data.readers import SourceTable, check_names, find_files, read_table
from recoup.exceptions import InvalidInputError

FOLDS = 5
FEWEST = 20
BLOCK = 2**20


def content_hash(path: str) -> str:
    """Return the SHA-256 of a file's bytes.

    Parameters
    ----------
    path : str
        Of the file.

    Returns
    -------
    str
    """
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
    except OSError as error:
        raise InvalidInputError(
            f"Cannot read {brief(path, 200)}: {error.strerror or error}."
        ) from error
    return digest.hexdigest()


def described(
    file: str, label: str | None, truth: str | None, positive: list[str], features: list[str]
) -> dict[str, Any]:
    """Check an own file, and return all of it that decides about a run.

    Parameters
    ----------
    file : str
        Its path.
    label, truth : str or None
        Column of labels, or of true classes.
    positive : list of str
        What stands for positive there; empty for 1, yes and true.
    features : list of str
        Columns to learn from; empty for all that tell something.

    Returns
    -------
    dict
        Plain values, with ``digest``, the hash of the content.
    """
    files, _ = find_files(file)
    if len(files) != 1:
        raise InvalidInputError(f"A plan needs one file per dataset. Got {brief(file, 200)}.")
    path = str(Path(files[0]).resolve())
    plain = {
        "path": path,
        "digest": content_hash(path),
        "label": label,
        "truth": truth,
        "positive": positive,
        "features": features,
    }
    _read(json.dumps(plain, sort_keys=True))
    return plain


@dataclass(frozen=True, eq=False)
class OwnRows:
    """Rows of an own file.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Numbers of its columns.
    marked : ndarray of shape (n,)
        1 where the column of labels, or of true classes, says positive, else 0.
    names : tuple of str
        Of the columns of X.
    """

    X: FloatArray
    marked: NDArray[np.int64]
    names: tuple[str, ...]


def read_own(file: Mapping[str, Any]) -> OwnRows:
    """Read an own file, unless it has changed since the plan was read.

    Parameters
    ----------
    file : mapping
        What :func:`described` returned.

    Returns
    -------
    OwnRows
    """
    return _read(json.dumps(dict(file), sort_keys=True))


def own_dataset(name: str, file: Mapping[str, Any]) -> Dataset:
    """Return an own file with true classes as a dataset, whose labels a simulation can hide.

    Parameters
    ----------
    name : str
        What it is called.
    file : mapping
        What :func:`described` returned.

    Returns
    -------
    Dataset
    """
    rows = read_own(file)
    return Dataset(
        X=rows.X,
        y_true=rows.marked,
        name=name,
        task=str(file["truth"]),
        kind="table",
        feature_names=rows.names,
        categorical=(),
        split=None,
        groups=None,
        meta={},
        row_id=np.arange(len(rows.marked)),
        citation="",
        licence="",
        description="",
    )


@lru_cache(maxsize=2)
def _read(plain: str) -> OwnRows:
    file = json.loads(plain)
    path, column = file["path"], file["label"] or file["truth"]
    if content_hash(path) != file["digest"]:
        raise InvalidInputError(
            f"{brief(path, 200)} has changed since the plan was read. Start the plan again."
        )
    source = read_table(path)
    check_names(list(source.columns), [column, *file["features"]], source.name)
    marked = _marked(source, column, file["positive"], bool(file["label"]))
    used = file["features"] or [name for name in source.columns if name != column]
    encoder = ColumnEncoder()
    # True classes may not choose the columns: honest runs would have looked at them.
    labels = marked if file["label"] else None
    X = encoder.fit_transform({name: source.typed(name) for name in used}, labels)
    X.flags.writeable = marked.flags.writeable = False
    return OwnRows(X, marked, tuple(map(str, encoder.feature_names_out_)))


def _marked(
    source: SourceTable, column: str, positive: list[str], is_label: bool
) -> NDArray[np.int64]:
    """Return 1 for rows that a column calls positive, else 0."""
    cells = source.columns[column].to_pylist()
    if positive:
        marked = np.array([str(cell) in positive for cell in cells], np.int64)
    else:
        labeled, _, negative = label_masks(np.array(cells, object), "A plan")
        if is_label and negative is not None and negative.any():
            raise InvalidInputError(
                f"A plan takes labels of 1 and 0 from {brief(column)!r}, and it has "
                f"{show_count(negative.sum())} known negatives (-1). Write 0 for these rows."
            )
        marked = labeled.astype(np.int64)
    found = int(marked.sum())
    if min(found, len(marked) - found) < FEWEST:
        what = f"rows that {brief(column)!r} calls positive and others"
        said = f", taking {', '.join(positive)} for positive" if positive else ""
        raise InvalidInputError(
            f"A plan needs at least {FEWEST} {what}. Got {show_count(found)} of "
            f"{show_count(len(marked))}{said}. Name the positive value with positive:."
        )
    return marked
