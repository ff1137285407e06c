"""Groups of labeled rows, and honest scores of each group against all unlabeled rows."""

from __future__ import annotations

import warnings as python_warnings

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.scores.table import ScoreTable

N_TREES = 200
MIN_LEAF = 3
# Trees that only rank the columns may be fewer.
N_RANKING_TREES = 80
RANKING_LEAF = 5
# Groups are sought in the features that matter most, at most so many.
MAX_FEATURES = 10
LEAST_OF_GROUP = 20
# Single values further out than this many standard deviations would be groups of their own.
FARTHEST = 5.0


def unit_columns(X: FloatArray) -> FloatArray:
    """Bring columns to mean 0 and standard deviation 1; constant ones become 0."""
    centered = X - X.mean(axis=0)
    spread = X.std(axis=0)
    scaled: FloatArray = np.clip(centered / np.where(spread > 0, spread, 1.0), -FARTHEST, FARTHEST)
    return scaled


def labeled_groups(
    scaled: FloatArray, s: NDArray[np.int_], max_groups: int, seed: int
) -> NDArray[np.int_]:
    """Divide labeled rows by the Gaussian mixture with the lowest BIC whose groups are not tiny.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    max_groups : int
        How many groups are tried, at most.
    seed : int
        Seed of trees and mixtures.

    Returns
    -------
    ndarray of shape (n_labeled,)
        Numbers from 0, without gaps.
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    n_labeled = int((s == 1).sum())
    alone = np.zeros(n_labeled, int)
    most = min(max_groups, n_labeled // LEAST_OF_GROUP)
    if most < 2:
        return alone
    trees = ExtraTreesClassifier(
        N_RANKING_TREES,
        min_samples_leaf=RANKING_LEAF,
        class_weight="balanced",
        n_jobs=1,
        random_state=seed,
    )
    importance = trees.fit(scaled, s).feature_importances_
    chosen = np.argsort(-importance, kind="stable")[:MAX_FEATURES]
    chosen = chosen[importance[chosen] > 0]
    if not len(chosen):
        return alone
    weights = importance[chosen] / importance[chosen].max()
    rows = scaled[s == 1][:, chosen] * weights
    best, lowest = alone, np.inf
    for number in range(1, most + 1):
        mixture = GaussianMixture(number, n_init=2, reg_covar=1e-2, random_state=seed)
        with python_warnings.catch_warnings():
            python_warnings.simplefilter("ignore", ConvergenceWarning)
            groups = mixture.fit_predict(rows)
        bic = float(mixture.bic(rows))
        sizes = np.bincount(groups, minlength=number)
        if bic < lowest and sizes.min() >= LEAST_OF_GROUP:
            best, lowest = groups, bic
    return np.asarray(best, int)


def group_chances(
    scaled: FloatArray, s: NDArray[np.int_], groups: NDArray[np.int_], seed: int
) -> FloatArray:
    """Return the chance of each row to be unlabeled, or labeled and of each group.

    One forest of extremely randomized trees learns all groups at once. Every row is scored by the
    trees that have not seen it.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    groups : ndarray of shape (n_labeled,)
        Group of each labeled row.
    seed : int
        Seed of the trees.

    Returns
    -------
    ndarray of shape (n, 1 + n_groups)
    """
    from sklearn.ensemble import ExtraTreesClassifier

    classes = np.zeros(len(s), int)
    classes[s == 1] = 1 + groups
    forest = ExtraTreesClassifier(
        N_TREES,
        min_samples_leaf=MIN_LEAF,
        bootstrap=True,
        oob_score=True,
        n_jobs=1,
        random_state=seed,
    )
    chances = forest.fit(scaled, classes).oob_decision_function_
    # A row that was in every bag has none; all trees then say the same for it as for nobody.
    found: FloatArray = np.nan_to_num(chances, nan=1.0 / chances.shape[1])
    return found


def group_score(chances: FloatArray, group: int) -> FloatArray:
    """Return the chance of every row to be labeled, if it is unlabeled or of one group."""
    mine = chances[:, group + 1]
    found: FloatArray = mine / np.maximum(mine + chances[:, 0], 1e-12)
    return found


def group_tables(
    chances: FloatArray, s: NDArray[np.int_], groups: NDArray[np.int_]
) -> list[ScoreTable]:
    """Count the labeled rows of each group and all unlabeled rows at each score of the group."""
    of_row = np.full(len(s), -1)
    of_row[s == 1] = groups
    tables = []
    for group in range(chances.shape[1] - 1):
        kept = (s == 0) | (of_row == group)
        score = group_score(chances, group)[kept]
        tables.append(ScoreTable.from_arrays(s[kept], score).whole("ScoreTable"))
    return tables
