"""Several views of the same rows: scores of classifiers of different kinds, and their average.

Classifiers of different kinds err half independently, so that shares read from several of them,
and from the average of their ranks, are better than those from any single one. The settings are
cheap on purpose: three folds, few and small trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray
from recoup._core.random import named_rng
from recoup.priors._solvers.column_scale import steady_columns
from recoup.priors._solvers.transform import explained_failures
from recoup.scores.crossfit import crossfit

VIEWS = ("boosting", "logistic", "extra-trees")
N_FOLDS = 3
N_QUANTILES = 200
# Folds are dealt so often; fewer times where rows are many, for which the luck of it is small.
MOST_TIMES, ROWS_IN_ALL = 5, 20_000


@dataclass(frozen=True, eq=False)
class ScoredViews:
    """Scores of the same rows by several classifiers.

    Attributes
    ----------
    s : ndarray of shape (n,)
        1 labeled positive, 0 unlabeled, -1 known negative.
    scores : ndarray of shape (n_views, n)
        One row per classifier, in the order of ``VIEWS``; out of fold.
    """

    s: NDArray[np.int_]
    scores: FloatArray

    @property
    def all(self) -> FloatArray:
        """The average of the views, then each of them."""
        return np.vstack([self.average, self.scores])

    def take(self, rows: NDArray[np.intp]) -> ScoredViews:
        """Keep some rows."""
        return ScoredViews(self.s[rows], self.scores[:, rows])

    def without_negatives(self) -> ScoredViews:
        """Leave known negatives out."""
        return self.take(np.flatnonzero(self.s >= 0))

    @cached_property
    def average(self) -> FloatArray:
        """Mean over the views of the rank of each row, between 0 and 1."""
        from scipy.stats import rankdata

        ranks: FloatArray = rankdata(self.scores, axis=1).mean(axis=0) / self.scores.shape[1]
        return ranks


def view_classifiers(n_rows: int) -> tuple[Any, ...]:
    """Build the classifiers of ``VIEWS`` for about so many rows."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import QuantileTransformer, StandardScaler

    boosting = HistGradientBoostingClassifier(
        learning_rate=0.1, max_iter=40, max_leaf_nodes=15, min_samples_leaf=10
    )
    # Quantiles make the linear model blind to the scale of a column; indicators stay indicators.
    quantiles = QuantileTransformer(
        n_quantiles=max(2, min(N_QUANTILES, n_rows // 3)), output_distribution="normal"
    )
    logistic = make_pipeline(quantiles, StandardScaler(), LogisticRegression(C=0.3, max_iter=1000))
    trees = ExtraTreesClassifier(80, min_samples_leaf=3, n_jobs=1)
    return boosting, logistic, trees


def score_views(X: Any, s: ArrayLike, seed: int, caller: str) -> ScoredViews:
    """Score every row by each classifier of ``VIEWS``, fitted on other rows."""
    X = steady_columns(X)
    with explained_failures(X, s, N_FOLDS, caller, "transform"):
        found = [
            crossfit(classifier, X, s, cv=N_FOLDS, random_state=seed)
            for classifier in view_classifiers(len(np.asarray(s)))
        ]
    return ScoredViews(found[0].s, np.array([view.scores for view in found]))


def score_views_anew(X: Any, s: ArrayLike, seed: int, caller: str) -> tuple[ScoredViews, ...]:
    """Score the rows several times, each time with folds and classifiers of its own.

    Which rows share a fold moves an estimate by about a third of its error; in the mean of several
    estimates that evens out. Scores are not averaged: they would tell classes apart better than
    those that the networks behind the estimate have learned from.
    """
    n_times = int(np.clip(ROWS_IN_ALL // max(len(np.asarray(s)), 1), 1, MOST_TIMES))
    seeds = [seed, *(int(named_rng(seed, "folds", k).integers(2**31)) for k in range(1, n_times))]
    return tuple(score_views(X, s, one, caller) for one in seeds)
