"""Scores of any classifier for rows it has not been fitted on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import (
    FloatArray,
    as_floats,
    as_vector,
    brief,
    check_same_length,
    check_some_rows,
    check_unmasked,
    label_masks,
)
from recoup._core.progress import progress_bar
from recoup._core.random import RandomState, as_generator
from recoup._core.results import html_table, make_frame, to_plain
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.scores.folds import Indices, PUStratifiedKFold, bundle_rows
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

Method: TypeAlias = Literal["auto", "predict_proba", "decision_function", "oob"]

OUT_OF_BAG = ("oob_scores_", "oob_decision_function_")
KINDS = {"labeled": 1, "unlabeled": 0, "known negative": -1}


@dataclass(frozen=True, eq=False, repr=False)
class CrossfitScores:
    """A score for every row, from models that were fitted without it.

    Attributes
    ----------
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : ndarray of shape (n,)
        Higher is more positive; the mean over repeats. NaN for rows that no model could score
        because there were none before them (``scored`` says which have a score).
    fold : ndarray of shape (repeats, n)
        The fold in which each row was scored; -1 where there is none.
    estimator_name : str
        Class of the classifier, with those of the steps before it in a pipeline.
    method : str
        Where scores come from: ``"predict_proba"``, ``"decision_function"`` or ``"oob"``.
    auc_pu : float
        P(a labeled row scores higher than an unlabeled one), ties one half.
    half_scores : ndarray of shape (2, n), or None
        Scores by two models that were fitted on the halves of what the row's model was fitted on.
        How much they differ tells how much of a score is chance.
    """

    s: NDArray[np.int_]
    scores: FloatArray
    fold: NDArray[np.intp]
    estimator_name: str
    method: str
    auc_pu: float
    half_scores: FloatArray | None = None

    @property
    def repeats(self) -> int:
        """How often all rows were scored."""
        return len(self.fold)

    def __repr__(self) -> str:
        """Show what was scored, and how well."""
        counts = [np.count_nonzero(self.s == value) for value in KINDS.values()]
        n = "+".join(str(count) for count in counts if count)
        return (
            f"CrossfitScores(auc_pu={self.auc_pu:.3f}, estimator={self.estimator_name!r}, "
            f"method={self.method!r}, repeats={self.repeats}, n={n})"
        )

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which rows have a score: all, unless only past rows train."""
        return ~np.isnan(self.scores)

    def of_scored_rows(self) -> CrossfitScores:
        """Leave out the rows without a score.

        Returns
        -------
        CrossfitScores
            The same where every row has one. :func:`recoup.evaluate` takes these rows.
        """
        kept = self.scored
        if kept.all():
            return self
        halves = None if self.half_scores is None else self.half_scores[:, kept]
        return replace(
            self,
            s=self.s[kept],
            scores=self.scores[kept],
            fold=self.fold[:, kept],
            half_scores=halves,
        )

    def table(self) -> ScoreTable:
        """Count labeled, unlabeled and known-negative rows at each score.

        Returns
        -------
        ScoreTable
            Of the rows that have a score.
        """
        kept = self.scored
        return ScoreTable.from_arrays(self.s[kept], self.scores[kept])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per row of X: its label, its score, and its fold in each repeat.

        Returns
        -------
        pandas.DataFrame
            With columns s, score, fold_0, fold_1 and so on.
        """
        folds = {f"fold_{number}": fold for number, fold in enumerate(self.fold)}
        return make_frame({"s": self.s, "score": self.scores} | folds)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists.

        Returns
        -------
        dict
            By name of the attribute.
        """
        names = ("estimator_name", "method", "repeats", "auc_pu", "s", "scores", "fold")
        return {name: to_plain(getattr(self, name)) for name in (*names, "half_scores")}

    def _repr_html_(self) -> str:
        columns: dict[str, list[str]] = {"rows": [], "number": [], "mean": [], "median": []}
        for kind, value in KINDS.items():
            scores = self.scores[(self.s == value) & self.scored]
            if len(scores):
                columns["rows"].append(kind)
                columns["number"].append(f"{len(scores):,}")
                columns["mean"].append(f"{scores.mean():.3f}")
                columns["median"].append(f"{np.median(scores):.3f}")
        return html_table(columns, repr(self))


def crossfit(
    estimator: Any,
    X: Any,
    s: ArrayLike,
    *,
    cv: int | Any = 5,
    repeats: int = 1,
    groups: ArrayLike | None = None,
    method: Method = "auto",
    halves: bool = False,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    progress: bool | None = None,
) -> CrossfitScores:
    """Score every row by models that were fitted on other rows, to tell labeled from unlabeled.

    A model gives the labeled rows that it was fitted on higher scores than their like, and all
    that is computed from such scores is too good: metrics, priors, thresholds. Scores from other
    folds, or from bags without the row, are free of that.

    Parameters
    ----------
    estimator : classifier or Pipeline
        As in scikit-learn. It is cloned, so that yours stays as it is; the clones are fitted on
        1 for labeled rows and 0 for all others.
    X : array-like, sparse matrix or data frame with n rows
        What the classifier takes.
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative. Known negatives are 0 to the
        classifier, and scored like the rest.
    cv : int, splitter or iterable of (train, test), default=5
        An integer is the number of folds of a :class:`recoup.scores.PUStratifiedKFold`, which
        keeps copies of a row together. Your own folds must test every row once; or, for rows in
        the order of time, train on past rows alone, as ``TimeSeriesSplit`` of scikit-learn does:
        rows of the first block then have no score (see Notes).
    repeats : int, default=1
        Deal rows to folds anew this many times, and average the scores.
    groups : array-like of shape (n,), optional
        Rows of the same group share a fold.
    method : {"auto", "predict_proba", "decision_function", "oob"}, default="auto"
        ``"auto"`` takes probabilities, or the decision function for want of them. Prefer
        probabilities: decision functions of different folds may differ in scale. ``"oob"``
        fits once per repeat on all rows and takes out-of-bag scores, of a random forest, a
        ``BaggingClassifier`` or any classifier that has ``oob_decision_function_`` or
        ``oob_scores_`` once fitted. ``cv`` is not used then, ``oob_score`` is
        switched on, and rows that were in every bag get the mean score.
    halves : bool, default=False
        Whether to fit two more models for each fold (of the first repeat), on the two halves of
        its training rows. It takes about as long again. Intervals of metrics of these scores are
        wider than those of rows that took no part in training, and the halves tell by how much;
        without them the widest are given (:func:`recoup.evaluation.crossfitted.widening`).
    n_jobs : int, optional
        Fits at the same time, as in scikit-learn. The scores do not depend on it.
    random_state : int, Generator, RandomState or None, default=0
        Deals rows to folds, and seeds whatever ``random_state`` of the classifier is None.
        Seeds that you have set are kept, except when out-of-bag scores are repeated.
    progress : bool, optional
        Show a bar on stderr. By default on a terminal only, after two seconds.

    Returns
    -------
    CrossfitScores

    Warns
    -----
    RecoupWarning
        When out-of-bag scores are asked of a classifier that draws copies of a row apart: models
        that learned the label of one copy then score the other.

    Notes
    -----
    Steps of a pipeline that look at labels, such as a selection of features, are fitted within
    each fold; with ``method="oob"`` they see all rows, and scores are no longer honest.

    Where all training rows of each fold come before its test rows, as those of
    ``TimeSeriesSplit(5)`` do, rows before the first test block are never tested. They come back
    with a score of NaN and the fold -1, and metrics are of the other rows: ``table()``, ``auc_pu``
    and :func:`recoup.evaluate` leave them out. Copies of a row may lie before and after a border,
    and a label that came late may not have been there yet when its row could first have trained.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> s = np.where(np.random.default_rng(0).random(len(y)) < 0.5, 0, y)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> found = crossfit(model, X, s, repeats=2)
    >>> found.scores.shape, found.fold.shape, round(found.auc_pu, 2)
    ((569,), (2, 569), 0.78)
    >>> found.table()
    ScoreTable(569 scores, 197 labeled, 372 unlabeled, 0 known negative)
    """
    from joblib import delayed
    from sklearn.utils import indexable

    source = _checked_method(method, estimator, groups, halves)
    labels = _checked_labels(s, X)
    if not isinstance(repeats, int | np.integer) or repeats < 1:
        raise InvalidInputError(
            f"crossfit needs repeats to be a whole number of at least 1. Got {brief(repeats)}."
        )
    repeats, rng, target = (
        int(repeats),
        as_generator(random_state, "crossfit"),
        (labels == 1).astype(int),
    )
    fold = np.full((repeats, len(labels)), -1)
    sums, tests, jobs = np.zeros(len(labels)), [], []
    half_scores = np.zeros((2, len(labels))) if halves else None
    if source == "oob":
        for repeat in range(repeats):
            model = seeded(estimator, rng, keep=repeat == 0)
            jobs.append(delayed(_out_of_bag)(model, X, target))
            tests.append(np.arange(len(labels)))
    else:
        (rows,) = indexable(X)
        rounds = _rounds(cv, X, labels, groups, repeats, rng)
        for repeat, splits in enumerate(rounds):
            for number, (train, test) in enumerate(splits):
                model = seeded(estimator, rng)
                jobs.append(delayed(_out_of_fold)(model, rows, target, train, test, source))
                tests.append(test)
                fold[repeat, test] = number
        # Last, so that the other scores do not depend on them.
        for train, test in rounds[0] if halves else []:
            for half in _halves(rows, labels, groups, train, rng):
                model = seeded(estimator, rng)
                jobs.append(delayed(_out_of_fold)(model, rows, target, half, test, source))

    results = _run(jobs, f"Scoring rows with {_name(estimator)}", n_jobs, progress)
    for test, (answers, _) in zip(tests, results[: len(tests)], strict=True):
        sums[test] += answers
    if half_scores is not None:
        for number, (answers, _) in enumerate(results[len(tests) :]):
            half_scores[number % 2, tests[number // 2]] = answers
    scores = sums / repeats
    if not np.isfinite(scores).all():
        raise InvalidInputError(
            f"crossfit needs finite scores: rows without one cannot be ranked. Got "
            f"{scores[~np.isfinite(scores)][0]} from {_name(estimator)}."
        )
    if source != "oob":
        without = (fold < 0).all(axis=0)
        scores[without] = np.nan
        if half_scores is not None:
            half_scores[:, without] = np.nan
    if results[0][1] == "oob_decision_function_":
        _warn_of_copies(X, target, _name(estimator))
    auc_pu = _auc_pu(labels, scores)
    return CrossfitScores(labels, scores, fold, _name(estimator), source, auc_pu, half_scores)


def _auc_pu(labels: NDArray[np.int_], scores: FloatArray) -> float:
    kept = ~np.isnan(scores)
    labels, scores = labels[kept], scores[kept]
    unlabeled = np.sort(scores[labels == 0])
    # The mean over both sides counts ties one half.
    below, up_to = (
        np.searchsorted(unlabeled, scores[labels == 1], side=side).mean()
        for side in ("left", "right")
    )
    return float((below + up_to) / (2 * len(unlabeled)))


def _name(estimator: Any) -> str:
    steps = [step for _, step in getattr(estimator, "steps", [("", estimator)])]
    return " + ".join(step if isinstance(step, str) else type(step).__name__ for step in steps)


def _checked_method(method: str, estimator: Any, groups: Any, halves: bool = False) -> str:
    """Settle where scores come from before anything is fitted."""
    if method not in get_args(Method):
        raise InvalidInputError(
            f"crossfit needs method to be one of {', '.join(map(repr, get_args(Method)))}. "
            f"Got {brief(method)}."
        )
    if not (hasattr(estimator, "fit") and hasattr(estimator, "get_params")):
        raise InvalidInputError(
            f"crossfit needs a classifier with fit and get_params, as in scikit-learn. "
            f"Got {brief(estimator)}."
        )
    if method == "oob":
        if groups is not None:
            raise InvalidInputError(
                "crossfit cannot keep groups together in the bags of a classifier. Got groups "
                "with method='oob'. Use method='auto', whose folds respect them."
            )
        if halves:
            raise InvalidInputError(
                "crossfit cannot fit on the halves of training rows that bags share. Got "
                "halves=True with method='oob'. Use method='auto'."
            )
        return method
    wanted = ("predict_proba", "decision_function") if method == "auto" else (method,)
    for name in wanted:
        if hasattr(estimator, name):
            return name
    raise InvalidInputError(
        f"crossfit needs a classifier with {' or '.join(wanted)}. Got {_name(estimator)}."
    )


def _checked_labels(s: ArrayLike, X: Any) -> NDArray[np.int_]:
    from sklearn.utils.validation import _num_samples

    check_unmasked(X, "X", "crossfit")
    labeled, unlabeled, _ = label_masks(s, "crossfit")
    check_some_rows(labeled.sum(), unlabeled.sum(), "crossfit")
    check_same_length(np.empty(_num_samples(X)), labeled, "X and s", "crossfit")
    return np.select([labeled, unlabeled], [1, 0], -1)


def _rounds(
    cv: Any, X: Any, labels: NDArray[np.int_], groups: Any, repeats: int, rng: np.random.Generator
) -> list[list[tuple[Indices, Indices]]]:
    """Return the folds of each repeat."""
    if isinstance(cv, int | np.integer):
        folds = PUStratifiedKFold(int(cv), random_state=rng)
        return [list(folds.split(X, labels, groups)) for _ in range(repeats)]

    from sklearn.model_selection import check_cv

    if repeats > 1:
        raise InvalidInputError(
            f"crossfit deals rows anew to folds of its own only. Got repeats={repeats} with "
            f"cv={brief(cv)}. Pass the number of folds as cv, or repeats=1."
        )
    splits = list(check_cv(cv, labels, classifier=True).split(X, labels, groups))
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(labels))
    forward = all(train.max(initial=-1) < test.min(initial=len(labels)) for train, test in splits)
    if (tested > 1).any() or ((tested == 0).any() and not forward):
        raise InvalidInputError(
            f"crossfit needs folds that test every row once, or that train on past rows alone. Got "
            f"a row that is tested {tested[tested != 1][0]} times. Pass the number of folds as cv, "
            f"or a splitter such as PUStratifiedKFold, or TimeSeriesSplit for rows in the order of "
            f"time."
        )
    for train, _ in splits:
        check_some_rows((labels[train] == 1).sum(), (labels[train] == 0).sum(), "crossfit")
    scored = labels[tested == 1]
    check_some_rows((scored == 1).sum(), (scored == 0).sum(), "crossfit")
    return [splits]


def _halves(
    rows: Any,
    labels: NDArray[np.int_],
    groups: Any,
    train: Indices,
    rng: np.random.Generator,
) -> tuple[Indices, Indices]:
    """Deal training rows to two halves; copies and groups stay together."""
    from sklearn.utils import _safe_indexing

    known = None if groups is None else as_vector(groups, "groups", "crossfit")[train]
    folds = PUStratifiedKFold(2, random_state=rng)
    one, other = next(folds.split(_safe_indexing(rows, train), labels[train], known))
    return train[one], train[other]


def seeded(estimator: Any, rng: np.random.Generator, keep: bool = True) -> Any:
    """Clone a classifier and seed what has no seed yet, or everything."""
    from sklearn.base import clone

    model = clone(estimator)
    settings = model.get_params(deep=True)
    names = sorted(name for name in settings if name.split("__")[-1] == "random_state")
    # One draw for every seed, used or not: setting one of them does not change the others.
    seeds = rng.integers(2**31, size=len(names)).tolist()
    chosen = {
        name: seed
        for name, seed in zip(names, seeds, strict=True)
        if settings[name] is None or not keep
    }
    return model.set_params(**chosen)


def _out_of_fold(
    model: Any, X: Any, target: NDArray[np.int_], train: Indices, test: Indices, method: str
) -> tuple[FloatArray, str]:
    """Fit on some rows; return scores of the others, and where they come from."""
    from sklearn.utils import _safe_indexing

    model.fit(_safe_indexing(X, train), target[train])
    name = f"the {method} of {_name(model)}"
    answers = as_floats(getattr(model, method)(_safe_indexing(X, test)), name, "crossfit")
    if method == "predict_proba":
        return _second_column(answers, method, model), method
    return as_vector(answers, name, "crossfit"), method


def _out_of_bag(model: Any, X: Any, target: NDArray[np.int_]) -> tuple[FloatArray, str]:
    """Fit on all rows; return out-of-bag scores, and where they come from."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if last.get_params(deep=False).get("oob_score") is False:
        last.set_params(oob_score=True)
    with warnings.catch_warnings():
        # Rows that no bag left out are dealt with below.
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores", UserWarning)
        warnings.filterwarnings("ignore", "invalid value encountered", RuntimeWarning)
        model.fit(X, target)
    source = next((name for name in OUT_OF_BAG if hasattr(last, name)), None)
    if source is None:
        raise InvalidInputError(
            f"crossfit needs a classifier with out-of-bag scores for method='oob', such as "
            f"RandomForestClassifier or BaggingClassifier. "
            f"Got {_name(model)}. Use method='auto' for out-of-fold scores."
        )
    scores: FloatArray = np.array(getattr(last, source), float)
    if source == "oob_decision_function_":
        # A forest has zeros in both columns of a row that was in every bag, bagging has NaN.
        nowhere = ~(scores.sum(axis=1) > 0)
        scores = np.where(nowhere, np.nan, _second_column(scores, source, model))
    return np.where(np.isnan(scores), np.nanmean(scores), scores), source


def _second_column(answers: FloatArray, source: str, model: Any) -> FloatArray:
    if answers.ndim != 2 or answers.shape[1] != 2:
        raise InvalidInputError(
            f"crossfit needs {source} to have two columns, the second for labeled rows. "
            f"Got shape {answers.shape} from {_name(model)}."
        )
    return answers[:, 1]


def _warn_of_copies(X: Any, target: NDArray[np.int_], name: str) -> None:
    copies = bundle_rows(X, None, len(target), "crossfit")
    sizes, labeled = np.bincount(copies), np.bincount(copies, target)
    n_rows = sizes[(sizes > 1) & (labeled > 0)].sum()
    if n_rows:
        warnings.warn(
            f"{n_rows:,} rows share their values with another, and one of them is labeled. {name} "
            f"draws copies into bags one by one, so that some out-of-bag scores come from models "
            f"that learned the label of a copy. Use method='auto', whose folds keep copies "
            f"together.",
            RecoupWarning,
            stacklevel=3,
        )


def _run(
    jobs: list[Any], message: str, n_jobs: int | None, progress: bool | None
) -> list[tuple[FloatArray, str]]:
    from joblib import Parallel

    results = []
    with progress_bar(len(jobs), message, progress) as advance:
        for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            results.append(result)
            advance()
    return results
