"""What the catalog says about a dataset: its file, its tasks, its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

Kind: TypeAlias = Literal["table", "text", "image"]
Part: TypeAlias = Literal["train", "test"]

PAPERS: Mapping[str, str] = {
    "pubench": "PU-Bench (2026), Table B.2",
    "aul": "AUL is a better optimization metric in PU learning, Table 1",
    "ramola2019": "Ramola, Jain, Radivojac (2019), section 3.2",
    "zeiberg2020": "Zeiberg, Jain, Radivojac (2020), Table 2",
}
"""Tasks named after a paper, and where in the paper they are described."""

COMPARE = {">": np.greater, ">=": np.greater_equal}
# For pydantic, which checks catalog.toml: a misspelled field is an error.
NO_OTHER_FIELDS = {"extra": "forbid"}


@dataclass(frozen=True)
class Task:
    """Which rows of a dataset count as positive.

    Attributes
    ----------
    name : str
        What to pass to ``load(..., task=name)``. A paper's key stands for that paper's choice.
    positive : tuple of str
        Classes taken as positive; ``"comp.*"`` stands for all that begin so.
    rule : str
        For targets that are numbers, the cut: ``"> mean"``, ``">= 10"``.
    published : bool
        Whether the paper prints this choice, or its numbers leave no other. False where the paper
        uses the dataset without saying how; the choice is then recoup's.
    scope : {"train", None}
        The part of the official split that the paper uses, if not all of it.
    test_rows : tuple of int, or None
        Positive and negative rows of the paper's test part, where the paper prints them and no
        rule gives them: ``pubench_split`` then draws so many.
    note : str
        What else there is to know.

    Examples
    --------
    >>> Task("even", positive=("0", "2", "4", "6", "8")).y_true(np.array(["1", "2"]))
    array([0, 1])
    """

    __pydantic_config__: ClassVar[dict[str, str]] = NO_OTHER_FIELDS

    name: str
    positive: tuple[str, ...] = ()
    rule: str = ""
    published: bool = True
    scope: Part | None = None
    test_rows: tuple[int, int] | None = None
    note: str = ""

    @property
    def paper(self) -> str | None:
        """The paper whose choice this is, and the place in it."""
        return PAPERS.get(self.name)

    def y_true(self, target: NDArray[Any]) -> NDArray[np.int64]:
        """Turn the original target of all rows into 1 (positive) and 0 (negative).

        Parameters
        ----------
        target : ndarray of shape (n,)
            Classes as texts, or numbers where the task has a rule.

        Returns
        -------
        ndarray of shape (n,)
        """
        if self.rule:
            sign, value = self.rule.split()
            numbers = target.astype(np.float64)
            cut = numbers.mean() if value == "mean" else float(value)
            return COMPARE[sign](numbers, cut).astype(np.int64)
        classes, codes = np.unique(target, return_inverse=True)
        chosen = [any(fnmatchcase(str(c), p) for p in self.positive) for c in classes]
        return np.asarray(chosen, dtype=np.int64)[codes]


@dataclass(frozen=True)
class Source:
    """Where a dataset can be fetched from, and with which client.

    Parameters
    ----------
    client : {"openml", "huggingface", "scikit-learn"}
        Who offers it.
    name : str
        What it is called there.
    id : int, optional
        Its number, at OpenML.
    columns : (str, str), default=("image", "label")
        Columns of a Hugging Face dataset that hold inputs and labels.
    rename : mapping of str to str, default={}
        Columns of the public copy that are no features, and what they are called here.
    same_rows : bool, default=False
        Whether the public copy is known to hold the catalog's values in the same order, so that
        what was fetched can be held against the digest. Other copies have their rows in another
        order, other names for columns, or values that are computed anew.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = NO_OTHER_FIELDS

    client: Literal["openml", "huggingface", "scikit-learn"]
    name: str
    id: int | None = None
    columns: tuple[str, str] = ("image", "label")
    rename: Mapping[str, str] = field(default_factory=dict)
    same_rows: bool = False

    def __str__(self) -> str:
        """Name the place."""
        if self.client == "openml":
            return f"OpenML, {self.name}, id {self.id}"
        return f"{'Hugging Face' if self.client == 'huggingface' else 'scikit-learn'}, {self.name}"


@dataclass(frozen=True)
class Download:
    """Files whose address is known: the dataset's rows in the order of the catalog.

    Attributes
    ----------
    url : str
        What comes before the names of the files, up to the last slash.
    files : dict of str to str
        Hash of each file, such as ``"sha256:..."``, in the order in which they are read.
    layout : {"recoup", "idx", "numbers"}
        ``"recoup"`` for the one file of the catalog itself, ``"idx"`` for images and classes of
        the training part, then of the test part, in the format of MNIST, ``"numbers"`` for one
        table of numbers as text.
    columns : tuple of str
        In the last layout, names of the columns, one of them ``target``; left out where the first
        line of the file holds them.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = NO_OTHER_FIELDS

    url: str
    files: Mapping[str, str]
    layout: Literal["recoup", "idx", "numbers"] = "recoup"
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Name the place."""
        return self.url


@dataclass(frozen=True)
class Package:
    """A package of npm whose sheets of images hold a dataset's rows in the order of the catalog.

    Attributes
    ----------
    name : str
        What npm calls it.
    version : str
        The version whose images the catalog knows.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = NO_OTHER_FIELDS

    name: str
    version: str

    def __str__(self) -> str:
        """Name the place."""
        return f"npm, {self.name} {self.version}"

    @property
    def spec(self) -> str:
        """What npm is asked for."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class Entry:
    """One dataset of the catalog.

    Attributes
    ----------
    name, title, kind : str
        The key, the usual name, and ``"table"``, ``"text"`` or ``"image"``.
    rows, features : int
        Size of the data. Pixels and channels count as features.
    classes : dict of str to int, or None
        Rows of each class; None where the target is a number.
    tasks : tuple of Task
        Named ways to cut the target in two. The first is the default.
    citation, licence, description : str
        Whom to cite, what is allowed, and what to beware of.
    file, digest : str
        The file and the digest of its content (``content.content_digest``); both are empty for
        data that come with scikit-learn. The digest alone is empty where only sizes and classes
        are known; the source then has to check what it sends.
    pixels : str
        Where the file holds JPEG images, the digest of the same images decoded: a file that holds
        them as a plain array ``X`` is known by it.
    parts : tuple of int, or None
        Rows in the official training and test parts.
    coded : tuple of str
        Categorical columns that are written as numbers.
    groups : str
        The ``meta_`` column whose rows belong together when splitting, or ``"features"`` where
        rows with the same categories do.
    used_by : tuple of str
        Papers that use the data without naming a positive class.
    source : Source or None
        A public place that holds the same rows.
    download : Download or None
        Files to download; tried before all else.
    package : Package or None
        A package to build the file from; tried before the source.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = NO_OTHER_FIELDS

    name: str
    title: str
    kind: Kind
    rows: int
    features: int
    classes: Mapping[str, int] | None
    tasks: tuple[Task, ...]
    citation: str
    licence: str
    description: str = ""
    file: str = ""
    digest: str = ""
    pixels: str = ""
    parts: tuple[int, int] | None = None
    coded: tuple[str, ...] = ()
    groups: str = ""
    used_by: tuple[str, ...] = ()
    source: Source | None = None
    download: Download | None = None
    package: Package | None = None

    @property
    def places(self) -> tuple[Download | Package | Source, ...]:
        """Where the data can be had, in the order in which that is tried."""
        return tuple(p for p in (self.download, self.package, self.source) if p is not None)


@dataclass(frozen=True, eq=False)
class Raw:
    """What a file holds, before a task is chosen.

    ``encoded`` is there where X was decoded from JPEG files: their bytes one after the other, and
    where each begins and ends.
    """

    X: Any
    target: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    split: NDArray[np.str_] | None = None
    meta: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    encoded: tuple[NDArray[Any], NDArray[Any]] | None = None


def part_names(sizes: tuple[int, int]) -> NDArray[np.str_]:
    """Return "train" and "test" for rows that come in this order."""
    return np.repeat(np.array(["train", "test"]), sizes)


def match_classes(entry: Entry, labels: NDArray[Any]) -> NDArray[np.str_]:
    """Give the classes of a public copy the names they have here.

    Copies code their classes differently, so classes are told apart by their names or, failing
    that, by how many rows each has. A copy that agrees in neither holds other data.
    """
    names, codes, counts = np.unique(labels.astype(str), return_inverse=True, return_counts=True)
    found = {str(name): int(n) for name, n in zip(names, counts, strict=True)}
    expected = entry.classes or {}
    if found == expected:
        return names[codes]
    by_count = {n: name for name, n in expected.items()}
    if len(by_count) == len(expected) and sorted(by_count) == sorted(found.values()):
        return np.array([by_count[n] for n in counts.tolist()])[codes]
    raise InvalidInputError(
        f"load needs the public copy of {entry.name!r} to hold the classes "
        f"{brief(expected, 80)}. Got {brief(found, 80)}. "
        f"Put {entry.file} in the folder that RECOUP_DATA names instead."
    )
