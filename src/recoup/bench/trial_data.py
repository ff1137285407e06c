"""The rows of a run: split, prepared and labeled the same way for every learner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.bench.job import Job
from recoup.data import Dataset, PUBenchSplit, load, preprocess, pubench_split
from recoup.data.pu import PUDataset
from recoup.exceptions import InvalidInputError, MissingDependencyError
from recoup.simulation import MECHANISMS, simulate
from recoup.simulation.mechanisms import posterior_of

HELD_OUT = 0.2
"""Share of the labeled and of the unlabeled rows that no learner sees."""

ONE_TEST_FOLD_OF = 5


@dataclass(frozen=True, eq=False)
class Classes:
    """True classes: what no honest run may look at before its test rows are scored."""

    train: NDArray[np.int64]
    choose: NDArray[np.int64]
    test: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rows:
    """What one run works on.

    Attributes
    ----------
    X, s : ndarray
        Features and labels to train on.
    propensity : ndarray
        Chance of a positive with these features to be labeled.
    X_held, s_held : ndarray
        Held-out rows without classes, for recovered metrics.
    X_choose : ndarray
        Rows that the oracle protocol selects weights by.
    X_test : ndarray
        Rows to measure on.
    alpha, beta : float
        Share of positives among the unlabeled and among the labeled training rows, as the
        simulation counted them.
    design : {"single-sample", "case-control"}
        What the rows are a sample of.
    classes : Classes
        Kept apart.
    """

    X: NDArray[Any]
    s: NDArray[np.int64]
    propensity: FloatArray
    X_held: NDArray[Any]
    s_held: NDArray[np.int64]
    X_choose: NDArray[Any]
    X_test: NDArray[Any]
    alpha: float
    beta: float
    design: Scheme
    classes: Classes


def draw_rows(job: Job) -> Rows:
    """Draw the rows of a job; those of the last one are kept for the next learner."""
    cell = (job.scheme, job.design, job.mechanism, job.label_frequency, job.noise)
    seeds = job.seeds
    return _drawn(job.dataset, seeds["split"], seeds["labels"], *cell)


@lru_cache(maxsize=1)
def _drawn(
    dataset: str,
    split_seed: int,
    label_seed: int,
    scheme: str,
    design: Scheme,
    mechanism: str,
    label_frequency: float,
    noise: float,
) -> Rows:
    train, choose, test = _prepared(dataset, split_seed)
    biased = MECHANISMS[mechanism].uses_posterior
    made = simulate(
        np.arange(len(train))[:, None],
        train.y_true,
        scheme=design,
        label_frequency=label_frequency,
        mechanism=mechanism,
        posterior=_posterior(dataset, split_seed) if biased else None,
        beta=round(1 - noise, 12),
        overlap=scheme == "case-control-overlap",
        random_state=label_seed,
    )
    kept, held = made.split(HELD_OUT, random_state=label_seed)
    assert kept.truth is not None
    assert kept.y_true is not None
    assert kept.propensity is not None
    return Rows(
        X=_frozen(train.X[_places(kept)]),
        s=_frozen(kept.s),
        propensity=_frozen(kept.propensity),
        X_held=_frozen(train.X[_places(held)]),
        s_held=_frozen(held.s),
        X_choose=choose.X,
        X_test=test.X,
        alpha=kept.truth.alpha,
        beta=kept.truth.beta,
        design=design,
        classes=Classes(_frozen(kept.y_true), choose.y_true, test.y_true),
    )


def _places(rows: PUDataset) -> NDArray[np.intp]:
    places: NDArray[np.intp] = np.asarray(rows.X).ravel()
    return places


@lru_cache(maxsize=2)
def _prepared(dataset: str, seed: int) -> PUBenchSplit:
    """Split a dataset and turn it into numbers, with what its training rows show."""
    parts = preprocess(*_split(_loaded(dataset), seed), recipe="pubench")
    ready = []
    for part in parts:
        X = part.X
        if part.kind == "image" and X.ndim == 3:
            X = X[:, None]
        ready.append(replace(part, X=_frozen(X), y_true=_frozen(part.y_true)))
    return PUBenchSplit(*ready)


def _split(dataset: Dataset, seed: int) -> PUBenchSplit:
    if dataset.split is not None and len(np.unique(dataset.split)) < 2:
        # A task that is defined on one official part alone.
        dataset = replace(dataset, split=None)
    if dataset.groups is None or dataset.split is not None:
        return pubench_split(dataset, seed)
    from sklearn.model_selection import StratifiedGroupKFold

    # Rows that belong together stay on one side: a model would recognize them.
    folds = StratifiedGroupKFold(ONE_TEST_FOLD_OF, shuffle=True, random_state=seed)
    _, test = next(iter(folds.split(dataset.y_true, dataset.y_true, dataset.groups)))
    part = np.full(len(dataset), "train")
    part[test] = "test"
    return pubench_split(replace(dataset, split=part), seed)


@lru_cache(maxsize=2)
def _posterior(dataset: str, seed: int) -> FloatArray:
    train = _prepared(dataset, seed).train
    return posterior_of(train.X, train.y_true == 1, None)


@lru_cache(maxsize=2)
def _loaded(dataset: str) -> Dataset:
    reason = _absent.get(dataset)
    if reason is not None:
        raise InvalidInputError(reason)
    name, _, task = dataset.partition("/")
    try:
        return load(name, task=task or None)
    except (InvalidInputError, MissingDependencyError) as error:
        # Asking a network that does not answer takes long, and there may be many such runs.
        _absent[dataset] = str(error)
        raise


_absent: dict[str, str] = {}


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    """Keep one learner from changing what the next one sees."""
    values.flags.writeable = False
    return values
