"""Divisions of labeled rows, and honest chances of all their groups from one forest."""

from __future__ import annotations

import warnings as python_warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.priors._solvers.groups import MIN_LEAF

N_FOLDS = 5
N_FOLD_TREES = 24
MAX_COLUMNS = 20


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that groups are sought in, and by how much each counts."""

    chosen: NDArray[np.intp]
    weights: FloatArray


def telling_columns(
    scaled: FloatArray, s: NDArray[np.int_], importance: FloatArray | None = None
) -> Columns:
    """Choose the columns that tell labeled from unlabeled rows best.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    importance : ndarray of shape (d,), optional
        How telling each column is; by default the difference of means and of spreads.
    """
    if importance is None:
        labeled, unlabeled = scaled[s == 1], scaled[s == 0]
        apart = np.abs(labeled.mean(axis=0) - unlabeled.mean(axis=0))
        importance = apart + np.abs(labeled.std(axis=0) - unlabeled.std(axis=0)) + 1e-9
    chosen = np.argsort(-importance, kind="stable")[:MAX_COLUMNS]
    top = max(float(importance[chosen[0]]), 1e-12)
    return Columns(chosen, np.sqrt(np.maximum(importance[chosen], 0.0) / top))


def clustered(rows: FloatArray, most: int, fewest: int, seed: int) -> NDArray[np.int_]:
    """Divide rows into clusters around means, and give small clusters to their neighbors."""
    number = min(most, len(rows) // fewest)
    if number < 2:
        return np.zeros(len(rows), int)
    return merged(rows, around_means(rows, number, 2, 50, seed), number, fewest)


def around_means(
    rows: FloatArray, number: int, starts: int, rounds: int, seed: int
) -> NDArray[np.int_]:
    """Divide rows into clusters around means: fewer than asked for where many rows are alike."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(number, n_init=starts, max_iter=rounds, random_state=seed)
    with python_warnings.catch_warnings():
        python_warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(model.fit_predict(rows), int)


def merged(
    rows: FloatArray, groups: NDArray[np.int_], most: int, fewest: int = 1
) -> NDArray[np.int_]:
    """Merge groups by Ward's rule until there are few enough, and none is too small."""
    found = np.unique(groups, return_inverse=True)[1]
    while True:
        sizes = np.bincount(found)
        if len(sizes) == 1 or (len(sizes) <= most and sizes.min() >= fewest):
            return np.asarray(found, int)
        means = np.array([rows[found == group].mean(axis=0) for group in range(len(sizes))])
        apart = ((means[:, None] - means[None]) ** 2).sum(axis=2)
        cost = apart * sizes[:, None] * sizes / (sizes[:, None] + sizes)
        np.fill_diagonal(cost, np.inf)
        one = int(sizes.argmin()) if len(sizes) <= most else int(cost.min(axis=1).argmin())
        found = np.where(found == one, int(cost[one].argmin()), found)
        found = np.unique(found, return_inverse=True)[1]


def mixed(rows: FloatArray, most: int, fewest: int, seed: int) -> NDArray[np.int_]:
    """Divide rows by the normal mixture with the lowest BIC whose parts are not tiny."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    best, lowest, worse = np.zeros(len(rows), int), np.inf, 0
    for number in range(1, min(most, len(rows) // fewest) + 1):
        mixture = GaussianMixture(
            number, covariance_type="diag", reg_covar=1e-2, max_iter=60, random_state=seed
        )
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore", ConvergenceWarning)
            groups = mixture.fit_predict(rows)
        bic = float(mixture.bic(rows))
        if bic < lowest and np.bincount(groups, minlength=number).min() >= fewest:
            best, lowest, worse = groups, bic, 0
        else:
            worse += 1
        if worse == 2:
            break
    return np.asarray(best, int)


@dataclass(frozen=True, eq=False)
class FoldForest:
    """Trees that have not seen the rows they score, and the rows that they have seen.

    Any division of the labeled rows can be read from their leaves: the chance of a group is its
    share of the rows in the leaf that a row falls into.

    Parameters
    ----------
    leaves : list of ndarray of shape (n, n_trees)
        Leaf of every row, one array per fold.
    fold : ndarray of shape (n,)
        The fold whose trees have not seen the row.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    importance : ndarray of shape (d,)
        How much each column told.
    """

    leaves: list[NDArray[np.int32]]
    fold: NDArray[np.int_]
    s: NDArray[np.int_]
    importance: FloatArray

    def chances(self, groups: NDArray[np.int_]) -> FloatArray:
        """Return the chance of each row to be unlabeled, or labeled and of each group."""
        classes = np.zeros(len(self.s), int)
        classes[self.s == 1] = 1 + groups
        width = int(groups.max()) + 2
        found = np.zeros((len(classes), width))
        for number, leaves in enumerate(self.leaves):
            unseen = self.fold == number
            for leaf in leaves.T:
                counts = np.bincount(
                    leaf[~unseen] * width + classes[~unseen],
                    minlength=(int(leaf.max()) + 1) * width,
                ).reshape(-1, width)
                mine = counts[leaf[unseen]]
                found[unseen] += mine / mine.sum(axis=1, keepdims=True)
            found[unseen] /= leaves.shape[1]
        return found


def grown(
    scaled: FloatArray, s: NDArray[np.int_], groups: NDArray[np.int_], seed: int
) -> FoldForest:
    """Grow extremely randomized trees for some groups on all folds but one, in turns."""
    from sklearn.ensemble import ExtraTreesClassifier

    classes = np.zeros(len(s), int)
    classes[s == 1] = 1 + groups
    # Each class goes through the folds in turns, so that none is missing from any.
    fold = np.empty(len(s), int)
    for number in range(int(classes.max()) + 1):
        rows = np.random.default_rng([seed, number]).permutation(np.flatnonzero(classes == number))
        fold[rows] = (np.arange(len(rows)) + number) % N_FOLDS
    leaves, importance = [], np.zeros(scaled.shape[1])
    narrow = np.asarray(scaled, np.float32)
    for number in range(N_FOLDS):
        trees = ExtraTreesClassifier(
            N_FOLD_TREES, min_samples_leaf=MIN_LEAF, n_jobs=1, random_state=seed + number
        )
        trees.fit(narrow[fold != number], classes[fold != number])
        leaves.append(trees.apply(narrow).astype(np.int32))
        importance += trees.feature_importances_ / N_FOLDS
    return FoldForest(leaves, fold, s, importance)
