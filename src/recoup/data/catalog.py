"""The catalog of named datasets: what there is, what can be asked of it, and how to load it."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import brief
from recoup.data import fetch
from recoup.data.content import content_digest
from recoup.data.dataset import Dataset
from recoup.data.decoding import READERS, read_scikit_learn
from recoup.data.entry import PAPERS, Entry, Kind, Part, Raw, Task
from recoup.exceptions import InvalidInputError, MissingDependencyError

CATALOG = Path(__file__).with_name("catalog.toml")


class DatasetRow(NamedTuple):
    """One line of ``list_datasets()``.

    Parameters
    ----------
    name : str
        What to pass to ``load``.
    title : str
        Name for people.
    kind : {"table", "text", "image"}
        What the rows are.
    rows : int
        Number of rows.
    features : int
        Number of features before preprocessing.
    tasks : tuple of str
        The named tasks, the default first.
    available : {"bundled", "found", "fetchable", "missing"}
        ``"bundled"`` for data that come with recoup or scikit-learn, ``"found"`` for a file in
        the folder that ``RECOUP_DATA`` names or in the cache, ``"fetchable"`` if a public source
        is known, else ``"missing"``.
    source : str
        Where it comes from if it is not at hand; empty where no public source is known.
    """

    name: str
    title: str
    kind: Kind
    rows: int
    features: int
    tasks: tuple[str, ...]
    available: Literal["bundled", "found", "fetchable", "missing"]
    source: str


@cache
def entries() -> Mapping[str, Entry]:
    """Return the catalog by name."""
    return read_catalog(CATALOG)


def read_catalog(path: Path) -> Mapping[str, Entry]:
    """Read the catalog, or say which fields of which datasets are wrong."""
    import json
    import tomllib

    from pydantic import TypeAdapter, ValidationError

    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    named = {name: {"name": name, "classes": None, **fields} for name, fields in tables.items()}
    try:
        # By way of JSON, whose lists may become tuples without other values being converted.
        known = TypeAdapter(dict[str, Entry]).validate_json(json.dumps(named), strict=True)
    except ValidationError as error:
        wrong = [
            f"{'.'.join(str(part) for part in one['loc'])}: {one['msg'].rstrip('.')}"
            for one in error.errors()
        ]
        raise InvalidInputError(
            f"{path.name} needs the fields of recoup.data.entry. {brief('; '.join(wrong), 300)}."
        ) from error
    for entry in known.values():
        lie = _contradiction(entry)
        if lie:
            raise InvalidInputError(f"{path.name} contradicts itself on {entry.name!r}: {lie}.")
    return known


def _contradiction(entry: Entry) -> str:
    """Say what does not fit together, or nothing."""
    if entry.classes is not None and sum(entry.classes.values()) != entry.rows:
        return f"classes have {sum(entry.classes.values()):,} rows together, not {entry.rows:,}"
    if entry.parts is not None and sum(entry.parts) != entry.rows:
        return f"parts have {sum(entry.parts):,} rows together, not {entry.rows:,}"
    if (entry.digest and not entry.file) or (entry.file and not (entry.digest or entry.source)):
        return "a file needs a digest or at least a source, and a digest a file"
    if not entry.tasks:
        return "it has no task"
    for task in entry.tasks:
        if bool(task.positive) == bool(task.rule):
            return f"task {task.name!r} needs positive or rule, one of them"
        lost = [p for p in task.positive if not fnmatch.filter(entry.classes or (), p)]
        if lost:
            return f"task {task.name!r} names {lost[0]!r}, which is no class"
    return ""


def find_entry(name: str, caller: str) -> Entry:
    """Return the entry of a dataset, or name those that are spelled alike."""
    known = entries()
    if name in known:
        return known[name]
    raise InvalidInputError(
        f"{caller} needs the name of a dataset. Got {brief(name)!r}. "
        f"{_nearest(str(name), known)}recoup.data.list_datasets() shows all {len(known)}."
    )


def list_datasets() -> list[DatasetRow]:
    """List the named datasets, their tasks, and whether they are at hand.

    Returns
    -------
    list of DatasetRow
        ``pandas.DataFrame(list_datasets())`` makes a table of it.

    Examples
    --------
    >>> for row in list_datasets()[-2:]:
    ...     print(row.name, row.rows, row.features, row.tasks, row.available)
    iris 150 4 ('virginica-vs-rest',) bundled
    diabetes 442 10 ('above-mean',) bundled
    """
    return [
        DatasetRow(
            entry.name,
            entry.title,
            entry.kind,
            entry.rows,
            entry.features,
            tuple(task.name for task in entry.tasks),
            _available(entry),
            "; ".join(map(str, entry.places)),
        )
        for entry in entries().values()
    ]


def tasks(name: str) -> tuple[Task, ...]:
    """Return the ways to cut a dataset's target into positive and negative.

    Named tasks come first, the default before all. Where the target is a class, one task per
    class follows: that class against the rest.

    Parameters
    ----------
    name : str
        A dataset.

    Returns
    -------
    tuple of Task

    Examples
    --------
    >>> [task.name for task in tasks("iris")]
    ['virginica-vs-rest', 'setosa-vs-rest', 'versicolor-vs-rest']
    >>> tasks("diabetes")[0].rule
    '> mean'
    """
    entry = find_entry(name, "tasks")
    return entry.tasks + tuple(
        task
        for task in (_one_vs_rest((label,)) for label in entry.classes or ())
        if task.name not in {named.name for named in entry.tasks}
    )


def load(
    name: str,
    *,
    task: str | None = None,
    positive: Any = None,
    split: Part | None = None,
) -> Dataset:
    """Load a named dataset with its true classes.

    The file is looked for in the folder that the environment variable ``RECOUP_DATA`` names, then
    among the tables that come with recoup, then in the cache (``RECOUP_CACHE``, or the system's
    place for caches); else the data are fetched from their public source into the cache. Datasets
    that come with scikit-learn need no file.

    What a file holds is compared with the catalog, value by value, however it was compressed. What
    was fetched can be compared only where the public copy is known to have the same rows in the
    same order; elsewhere its size and its classes are.

    Parameters
    ----------
    name : str
        A dataset; ``list_datasets()`` shows them.
    task : str, optional
        A task of ``tasks(name)``: a paper's key, such as ``"pubench"``, or a class against the
        rest, such as ``"setosa-vs-rest"``. By default the first one. A cut at the mean takes the
        mean over all rows.
    positive : class or sequence of classes, optional
        Instead of a task, the classes to take as positive.
    split : {"train", "test"}, optional
        Only this part of the official split. By default all rows, unless the task itself is
        defined on one part.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("breast_cancer")
    Dataset(breast_cancer, task='malignant-vs-rest', n=569 x 30, pi=0.373)
    >>> load("digits", task="even").y_true[:4]  # 0, 1, 2, 3
    array([1, 0, 1, 0])
    >>> load("spambase")
    Dataset(spambase, task='pubench', n=4,601 x 57, pi=0.394)
    >>> load("digits", positive=[3, 5])
    Dataset(digits, task='3+5-vs-rest', n=1,797 x 64, pi=0.203)
    """
    entry = find_entry(name, "load")
    chosen = _choose_task(entry, task, positive)
    raw = _read(entry)
    dataset = Dataset(
        X=raw.X,
        y_true=chosen.y_true(raw.target),
        name=entry.name,
        task=chosen.name,
        kind=entry.kind,
        feature_names=raw.feature_names,
        categorical=raw.categorical,
        split=raw.split,
        groups=_groups(entry, raw),
        meta=dict(raw.meta),
        row_id=np.arange(len(raw.target)),
        citation=entry.citation,
        licence=entry.licence,
        description=entry.description,
    )
    part = split if split is not None else chosen.scope
    if part is None:
        return dataset
    if part not in ("train", "test"):
        raise InvalidInputError(f"load needs split to be 'train' or 'test'. Got {brief(part)!r}.")
    if dataset.split is None:
        raise InvalidInputError(
            f"load knows no official split of {name!r}. Got split={part!r}. Load all rows and "
            f"split them, for instance with recoup.data.pubench_split."
        )
    return dataset.take(dataset.split == part)


def _choose_task(entry: Entry, task: str | None, positive: Any) -> Task:
    if positive is not None:
        if task is not None:
            raise InvalidInputError(
                f"load needs task or positive, not both: each says which rows are positive. "
                f"Got task={brief(task)!r}, positive={brief(positive)}."
            )
        several = isinstance(positive, Sequence | set | frozenset | np.ndarray)
        values = positive if several and not isinstance(positive, str) else (positive,)
        return _one_vs_rest(tuple(_check_class(entry, str(value)) for value in values))
    if task is None:
        return entry.tasks[0]
    known = {known.name: known for known in tasks(entry.name)}
    if task in known:
        return known[task]
    if task in entry.used_by:
        raise InvalidInputError(
            f"load cannot build task={task!r} of {entry.name!r}: {PAPERS[task]}, uses the data "
            f"without saying which rows are positive. Choose one of {brief([*known], 200)}."
        )
    raise InvalidInputError(
        f"load needs a task of {entry.name!r}. Got {brief(task)!r}. {_nearest(str(task), known)}"
        f"Its tasks are {brief([*known], 200)}."
    )


def _one_vs_rest(classes: tuple[str, ...]) -> Task:
    return Task(f"{'+'.join(classes)}-vs-rest", classes, published=False)


def _check_class(entry: Entry, label: str) -> str:
    if entry.classes is None:
        raise InvalidInputError(
            f"load takes positive= where the target is a class; that of {entry.name!r} is a "
            f"number. Got {brief(label)!r}. Pass one of its tasks instead: "
            f"{[task.name for task in entry.tasks]}."
        )
    if label not in entry.classes:
        raise InvalidInputError(
            f"load needs positive= to name classes of {entry.name!r}. Got {brief(label)!r}. "
            f"{_nearest(label, entry.classes)}Its classes are {brief([*entry.classes], 200)}."
        )
    return label


def _groups(entry: Entry, raw: Raw) -> NDArray[Any] | None:
    if entry.groups == "features":
        codes = [raw.X[name].cat.codes for name in raw.feature_names]
        return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1]
    return raw.meta.get(entry.groups)


def _read(entry: Entry) -> Raw:
    if not entry.file:
        return read_scikit_learn(entry)
    fetch.check_data_folder()
    path = fetch.locate(entry)
    if path is None:
        path = fetch.fetch(entry)
    try:
        raw = READERS[entry.kind](entry, path)
    except (MissingDependencyError, MemoryError):
        raise
    except Exception as error:  # zip, LZMA, Parquet and JPEG raise their own kinds
        raise InvalidInputError(
            f"load cannot read {brief(str(path), 200)}: the file is damaged or holds something "
            f"else ({brief(' '.join(str(error).split()), 120)}). {_replace(entry, path)}"
        ) from error
    _check_content(entry, path, raw)
    return raw


def _check_content(entry: Entry, path: Path, raw: Raw) -> None:
    fetched = path.parent not in (fetch.data_folder(), fetch.BUNDLED)
    same_rows = entry.source.same_rows if entry.source else bool(entry.places)
    if fetched and not same_rows:
        return
    if not entry.digest:
        if differs := _difference(entry, raw):
            raise InvalidInputError(
                f"load needs {entry.file} to have the size and the classes of the catalog. Got "
                f"others in {brief(str(path), 200)}: {differs}. {_replace(entry, path)}"
            )
        return
    found = content_digest(raw)
    if found not in (entry.digest, entry.pixels):
        differs = _difference(entry, raw) or (
            "rows, features and classes are as many, so single values, names or the order differ"
        )
        raise InvalidInputError(
            f"load needs {entry.file} to hold the values of the catalog (digest "
            f"{entry.digest[:12]}...), so that results can be compared. Got other values, or the "
            f"same ones in another order (digest {found[:12]}...), in {brief(str(path), 200)}: "
            f"{differs}. {_replace(entry, path)}"
        )


def _difference(entry: Entry, raw: Raw) -> str:
    """Say how a file that was read differs from the catalog; nothing if sizes do not show it."""
    width = math.prod(raw.X.shape[1:])
    if len(raw.target) != entry.rows:
        return f"it has {len(raw.target):,} rows, not {entry.rows:,}"
    if width != entry.features:
        return f"it has {width:,} features, not {entry.features:,}"
    if entry.classes is not None:
        names, counts = np.unique(raw.target, return_counts=True)
        classes = dict(zip(names.tolist(), counts.tolist(), strict=True))
        if classes != entry.classes:
            return f"its classes are {brief(classes, 120)}, not {brief({**entry.classes}, 120)}"
    if (entry.parts is None) != (raw.split is None):
        return "it has no array or column split" if raw.split is None else "it has a split"
    if entry.parts is not None and int(np.sum(raw.split == "train")) != entry.parts[0]:
        return f"its training part has not {entry.parts[0]:,} rows"
    return ""


def _replace(entry: Entry, path: Path) -> str:
    if path.parent == fetch.data_folder():
        return "Replace the file."
    if path.parent == fetch.BUNDLED:
        return "Install recoup anew."
    return "Delete the file; load then fetches it again."


def _available(entry: Entry) -> Literal["bundled", "found", "fetchable", "missing"]:
    if not entry.file:
        return "bundled"
    path = fetch.locate(entry)
    if path is not None:
        return "bundled" if path.parent == fetch.BUNDLED else "found"
    return "fetchable" if entry.places else "missing"


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    """Suggest names that are spelled alike, or contain what was asked for."""
    close = get_close_matches(name, known, n=3) or [k for k in known if name and name in k][:3]
    return f"Did you mean {' or '.join(repr(match) for match in close)}? " if close else ""
