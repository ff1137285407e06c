"""The rows of a run: split, prepared and labeled the same way for every learner."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup._core.files import write_file
from recoup._core.version import installed_version
from recoup.bench.job import FORMAT, Job, canonical, hashed, same_content
from recoup.bench.own_file import FOLDS, own_dataset, read_own
from recoup.data import Dataset, PUBenchSplit, load, preprocess, pubench_split
from recoup.data.fetch import cache_folder
from recoup.data.pu import PUDataset
from recoup.exceptions import InvalidInputError, MissingDependencyError
from recoup.simulation import MECHANISMS, simulate
from recoup.simulation.mechanisms import posterior_of

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
    X_choose : ndarray
        Rows that weights are selected by where classes may be looked at.
    X_test : ndarray
        Rows to measure on.
    sample : ndarray or None
        Places of test rows that stand for PU data which no learner saw, drawn as the training rows
        were; None where the test rows have too few positives for a label.
    s_sample : ndarray or None
        Their labels, for recovered metrics.
    alpha, beta : float
        Share of positives among the unlabeled and among the labeled training rows, as the
        simulation counted them.
    released_alpha : float
        Share of positives among labeled and unlabeled rows together: what PU-Bench's code gives
        its learners for alpha.
    design : {"single-sample", "case-control"}
        What the rows are a sample of.
    classes : Classes
        Kept apart.
    """

    X: NDArray[Any]
    s: NDArray[np.int64]
    propensity: FloatArray
    X_choose: NDArray[Any]
    X_test: NDArray[Any]
    sample: NDArray[np.intp] | None
    s_sample: NDArray[np.int64] | None
    alpha: float
    beta: float
    released_alpha: float
    design: Scheme
    classes: Classes


def draw_rows(job: Job) -> Rows:
    """Draw the rows of a job; those of the last one are kept for the next learner."""
    return _drawn(*_cell(job))


def _cell(job: Job) -> tuple[Any, ...]:
    """Return all that decides about the rows of a job."""
    drawn = (job.scheme, job.design, job.mechanism, job.label_frequency, job.noise)
    file = "" if job.file is None else canonical(dict(job.file))
    # Labels of a file are the same for all seeds, and so is what they say of alpha.
    seeds = (0, 0) if job.has_own_labels else (job.seeds["split"], job.seeds["labels"])
    return (job.dataset, *seeds, *drawn, file)


def cell_alpha(job: Job) -> float:
    """Estimate alpha as learners do by default, once for all learners of a cell.

    An estimate takes longer than many a training, so it is kept beside fetched datasets for other
    processes and later benchmarks of this version.
    """
    return _estimated(_cell(job))


@lru_cache(maxsize=2)
def _estimated(cell: tuple[Any, ...]) -> float:
    from recoup.learners.given_alpha import known_alpha

    X, s = _labeled_rows(cell)
    # By the rows themselves: data of one name need not be the same everywhere.
    content = hashlib.sha256(np.ascontiguousarray(X).data)
    content.update(np.ascontiguousarray(s).data)
    *drawn, file = cell
    named = {
        # Where an own file lies has no part in its estimate.
        "cell": [*drawn, same_content(json.loads(file))] if file else drawn,
        "rows": content.hexdigest(),
        "format": FORMAT,
        "version": installed_version(),
        # A word for how: within one version that has changed.
        "estimate": "usable",
    }
    kept = cache_folder() / "alphas" / f"{hashed(named)}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        return float(json.loads(kept.read_bytes())["alpha"])
    alpha, _ = known_alpha("estimate", X.reshape(len(X), -1), s, cell[2], "bench run")
    with suppress(OSError):  # kept for speed alone
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_file(kept, json.dumps(named | {"alpha": alpha}).encode())
    return alpha


def _labeled_rows(cell: tuple[Any, ...]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    file = json.loads(cell[-1]) if cell[-1] else None
    if file is not None and file["label"]:
        own = read_own(file)
        return own.X, own.marked
    rows = _drawn(*cell)
    return rows.X, rows.s


def draw_folds(job: Job) -> Iterator[Rows]:
    """Return the rows of a file without true classes, a fifth of them left out each time.

    Parameters
    ----------
    job : Job
        With an own file and its column of labels.

    Yields
    ------
    Rows
        The rows left out are the sample to recover metrics from, and there are no classes.
    """
    from sklearn.model_selection import StratifiedKFold

    assert job.file is not None
    own = read_own(job.file)
    none = np.empty(0, np.int64)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=job.seeds["split"])
    for kept, left_out in folds.split(own.X, own.marked):
        yield Rows(
            X=_frozen(own.X[kept]),
            s=_frozen(own.marked[kept]),
            propensity=np.empty(0),
            X_choose=own.X[:0],
            X_test=_frozen(own.X[left_out]),
            sample=np.arange(len(left_out)),
            s_sample=_frozen(own.marked[left_out]),
            alpha=math.nan,
            beta=1.0,
            released_alpha=math.nan,
            design=job.design,
            classes=Classes(none, none, none),
        )


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
    file: str = "",
) -> Rows:
    train, choose, test = _prepared(dataset, split_seed, file)

    def labeled(part: str, y_true: NDArray[np.int64]) -> PUDataset:
        biased = MECHANISMS[mechanism].uses_posterior
        return simulate(
            np.arange(len(y_true))[:, None],
            y_true,
            scheme=design,
            label_frequency=label_frequency,
            mechanism=mechanism,
            posterior=_posterior(dataset, split_seed, part, file) if biased else None,
            beta=round(1 - noise, 12),
            overlap=scheme == "case-control-overlap",
            random_state=label_seed,
        )

    made = labeled("train", train.y_true)
    try:
        # Metrics are recovered from rows that cost the learner nothing.
        sample: PUDataset | None = labeled("test", test.y_true)
    except InvalidInputError:  # too few positives for a label
        sample = None
    assert made.truth is not None
    assert made.y_true is not None
    assert made.propensity is not None
    return Rows(
        X=_frozen(train.X[_places(made)]),
        s=_frozen(made.s),
        propensity=_frozen(made.propensity),
        X_choose=choose.X,
        X_test=test.X,
        sample=None if sample is None else _frozen(_places(sample)),
        s_sample=None if sample is None else _frozen(sample.s),
        alpha=made.truth.alpha,
        beta=made.truth.beta,
        released_alpha=float(np.mean(made.y_true)),
        design=design,
        classes=Classes(_frozen(made.y_true), choose.y_true, test.y_true),
    )


def _places(rows: PUDataset) -> NDArray[np.intp]:
    places: NDArray[np.intp] = np.asarray(rows.X).ravel()
    return places


@lru_cache(maxsize=2)
def _prepared(dataset: str, seed: int, file: str = "") -> PUBenchSplit:
    """Split a dataset and turn it into numbers, with what its training rows show."""
    parts = preprocess(*_split(_loaded(dataset, file), seed), recipe="pubench")
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


@lru_cache(maxsize=4)
def _posterior(dataset: str, seed: int, part: str, file: str = "") -> FloatArray:
    rows = getattr(_prepared(dataset, seed, file), part)
    return posterior_of(rows.X.reshape(len(rows), -1), rows.y_true == 1, None)


@lru_cache(maxsize=2)
def _loaded(dataset: str, file: str = "") -> Dataset:
    if file:
        return own_dataset(dataset, json.loads(file))
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
