"""PU-Bench's own way to split a dataset, row for row in number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.optional import require
from recoup._core.random import named_rng
from recoup.data.catalog import entries
from recoup.data.dataset import Dataset
from recoup.exceptions import InvalidInputError

TEST_SHARE = 0.2
VALIDATION_SHARE = 0.01


class PUBenchSplit(NamedTuple):
    """The three parts of ``pubench_split``.

    Parameters
    ----------
    train : Dataset
        Rows to train on.
    validation : Dataset
        1% of the training rows, whose classes PU-Bench uses to choose models.
    test : Dataset
        Rows to judge by.
    """

    train: Dataset
    validation: Dataset
    test: Dataset


def pubench_split(dataset: Dataset, seed: int) -> PUBenchSplit:
    """Split a dataset as PU-Bench does, into as many rows of each class as its Table B.2 says.

    The official test part is the test part; without one, a fifth of the rows is drawn, stratified
    on the true class, or as many of each class as the task's ``test_rows`` say. From the training
    part, 1% is set aside for validation, again stratified on the true class. Both sizes are rounded
    up, and shares of the classes to the nearest whole rows, as scikit-learn's ``train_test_split``
    does.

    Parameters
    ----------
    dataset : Dataset
        All rows of a dataset, both parts where it has an official split.
    seed : int
        Seed of the draws; PU-Bench takes the seed of the run.

    Returns
    -------
    PUBenchSplit
        ``train``, ``validation`` and ``test``, rows in their original order.

    Notes
    -----
    The validation part has true classes, and PU-Bench chooses models by them: nobody with PU data
    can. Use it to reproduce the benchmark, not to compare methods honestly.

    PU-Bench draws the test part of the Alzheimer images without strata, so that its class counts
    depend on the seed, and prints those of one draw: 622 positive and 658 negative rows. Here
    every seed draws so many of each class, and other rows. A part of the images, or another task
    of theirs, is stratified like the rest.

    Groups are ignored: rows of one patient or recording can fall on both sides.

    References
    ----------
    PU-Bench (2026), Tables B.2 and D.1.

    Examples
    --------
    >>> from recoup.data import load
    >>> parts = pubench_split(load("digits"), seed=42)
    >>> [len(part) for part in parts]
    [1422, 15, 360]
    """
    if dataset.split is not None:
        test = np.flatnonzero(dataset.split == "test")
        rest = np.flatnonzero(dataset.split == "train")
        if not (len(test) and len(rest)):
            raise InvalidInputError(
                f"pubench_split needs both parts of the official split of {dataset.name!r}. Got "
                f"{len(rest):,} training and {len(test):,} test rows. Load it without split=."
            )
    elif (test_rows := _published_test_rows(dataset)) is not None:
        rest, test = _counted(dataset, test_rows, seed)
    else:
        rest, test = _stratified(dataset, np.arange(len(dataset)), TEST_SHARE, seed)
    train, validation = _stratified(dataset, rest, VALIDATION_SHARE, seed)
    return PUBenchSplit(dataset.take(train), dataset.take(validation), dataset.take(test))


def _published_test_rows(dataset: Dataset) -> tuple[int, int] | None:
    """Return how many rows of each class the paper tests on; None where a rule decides."""
    entry = entries().get(dataset.name)
    if entry is None or len(dataset) != entry.rows:
        return None
    return next((task.test_rows for task in entry.tasks if task.name == dataset.task), None)


def _counted(
    dataset: Dataset, counts: tuple[int, int], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw so many positive and negative rows; return what stays, then the draw."""
    order = named_rng(seed, "pubench_split", "test").permutation(len(dataset))
    by_class = (order[dataset.y_true[order] == y] for y in (1, 0))
    drawn = np.concatenate([rows[:n] for rows, n in zip(by_class, counts, strict=True)])
    return np.setdiff1d(np.arange(len(dataset)), drawn), np.sort(drawn)


def _stratified(
    dataset: Dataset, rows: NDArray[np.intp], share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw a share of some rows, with the same mix of classes; return what stays, then the draw."""
    selection = require(
        "sklearn.model_selection", purpose="pubench_split()", install="scikit-learn"
    )
    y_true = dataset.y_true[rows]
    try:
        kept, drawn = selection.train_test_split(
            rows, test_size=share, stratify=y_true, random_state=seed
        )
    except ValueError as error:
        raise InvalidInputError(
            f"pubench_split needs enough rows of both classes to set aside {share:.0%} of them. "
            f"Got {int(y_true.sum()):,} positive and {int((y_true == 0).sum()):,} negative rows of "
            f"{dataset.name!r}, seed={seed!r}: {error}"
        ) from error
    return np.sort(kept), np.sort(drawn)
