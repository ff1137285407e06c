"""Regroup: another estimator, after the unlabeled rows that look most positive joined the labeled.

Called ReCPE, regrouping class-prior estimation, by its authors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Instance, Nothing, Number
from recoup.metrics.area import auc_pu
from recoup.metrics.feasible import feasible_kappas
from recoup.priors._solvers.transform import honest_scores
from recoup.priors.base import (
    FeaturePriorEstimator,
    Finding,
    PriorTags,
    ScorePriorEstimator,
    checked_table,
)
from recoup.priors.bbe import BBE
from recoup.priors.results import PriorEstimate
from recoup.scores.table import ScoreTable


@dataclass(kw_only=True, eq=False, repr=False)
class Regroup(ScorePriorEstimator):
    r"""Another estimator, run after copies of the top unlabeled rows joined the labeled ones.

    Estimators find the largest multiple of the labeled density :math:`g` below the unlabeled
    density :math:`f`, which is too much where negatives are found among even the clearest
    positives. Where the set A of the top unlabeled rows is counted as labeled too, the ratio that
    limits the multiple falls there from :math:`\kappa = f / g` to

    .. math:: \frac{1 + p}{1 / \kappa + 1}

    for copies of the top share p of as many unlabeled as labeled rows.

    Parameters
    ----------
    estimator : PriorEstimator, optional
        The estimator to run. By default :class:`recoup.priors.BBE`. Its own ``interval``,
        ``n_draws``, ``confidence``, ``random_state`` and ``transform`` are not used; those given
        here are.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` draws as many rows with
        replacement. Both keep the scores. ``"refit"`` draws rows and fits the classifier anew, so
        that its variation is covered too. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.
    frac : float, default=0.1
        Share p of the unlabeled rows, from the highest score down, that are copied. If labeled
        rows are fewer than unlabeled ones, only every few of these rows is copied, so that there
        are p times as many copies as labeled rows. Otherwise the copies would outweigh them.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    Notes
    -----
    The copied rows stay among the unlabeled ones, so that alpha is still their share. For
    estimators that read features, rows are chosen by honest scores; the interval is then that of
    the estimator for the rows so chosen.

    Nothing in the data tells whether negatives are found among the clearest positives. If they
    are not, alpha comes out too low, by the formula above where rows are many enough for the
    estimator to tell A from its surroundings, and by little where they are not.

    References
    ----------
    Yao, Y., Liu, T., Han, B., Gong, M., Niu, G., Sugiyama, M. and Tao, D. (2022). Rethinking
    class-prior estimation for positive-unlabeled learning. ICLR. arXiv:2002.03673.

    Examples
    --------
    >>> from recoup.priors import BBE
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [2000, 2000])
    >>> # 40% of the unlabeled rows are positive, and a third of the negatives look like them.
    >>> alike = np.arange(4000) < 2000 + 1200
    >>> scores = rng.normal(np.where(alike, 4, 0))
    >>> round(BBE(interval=None).fit_scores(s, scores).alpha_, 2)
    0.6
    >>> round(Regroup(interval=None).fit_scores(s, scores).alpha_, 2)
    0.5
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="regroup",
        reads="scores",
        assumes="the estimator it wraps finds too much",
        cost="that of the estimator",
        source="Yao et al. 2022",
        wraps=True,
    )
    constraints: ClassVar[Constraints] = {
        "estimator": Instance(
            (ScorePriorEstimator, FeaturePriorEstimator), "a prior estimator such as BBE()"
        )
        | Nothing(),
        "frac": Number(above=0, below=1, why="it is the share of unlabeled rows to copy"),
    }

    estimator: Any = field(default=None, kw_only=False)
    frac: float = 0.1

    def _check_options(self) -> None:
        super()._check_options()
        self._base()._check_options()

    def _base(self) -> Any:
        return BBE() if self.estimator is None else self.estimator

    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Score the rows of X by cross-fitting, copy the top ones, then estimate.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            Features; or, with ``transform=None``, one column of scores.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.

        Returns
        -------
        self : PriorEstimator
            Fitted: the result is in ``estimate_``.
        """
        base = self._base()
        if self.transform is None or not isinstance(base, FeaturePriorEstimator):
            return super().fit(X, s)
        started = perf_counter()
        self._begin()
        found = honest_scores(X, s, self.transform, self._seed, self._name)
        table = checked_table(found.s, found.scores, self._name)
        features = base._features(X)
        copied = top_rows(found.s, found.scores, self.frac)
        inner = self._settled(base).fit(
            np.concatenate([features, features[copied]]),
            np.concatenate([found.s, np.ones(len(copied), int)]),
        )
        self.estimate_ = self._renamed(inner.estimate_, table, found.estimator_name, started)
        return self

    def fit_scores(self, s: ArrayLike | ScoreTable, scores: ArrayLike | None = None) -> Self:
        """Copy the top unlabeled rows, then estimate from scores.

        Parameters
        ----------
        s : array-like of shape (n,) or ScoreTable
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.
        scores : array-like of shape (n,), optional
            Higher is more positive. Left out when ``s`` is a table.

        Returns
        -------
        self : PriorEstimator
            Fitted: the result is in ``estimate_``.
        """
        base = self._base()
        if not isinstance(base, FeaturePriorEstimator):
            return super().fit_scores(s, scores)
        started = perf_counter()
        self._begin()
        table = checked_table(s, scores, self._name)
        inner = self._settled(base).fit_scores(regrouped(table, self.frac))
        self.estimate_ = self._renamed(inner.estimate_, table, "given scores", started)
        return self

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        found: Finding = self._base()._solve(regrouped(table, self.frac), rng)
        # Bounds and kappas of the wrapped estimator are about the rows with copies: they do not
        # hold for the rows as they were.
        return replace(found, upper_limit=math.nan, kappa_1=math.nan, kappa_2=math.nan)

    def _settled(self, base: FeaturePriorEstimator) -> FeaturePriorEstimator:
        shared = ("interval", "n_draws", "confidence")
        settled: FeaturePriorEstimator = clone(base).set_params(
            random_state=self._seed, **{name: getattr(self, name) for name in shared}
        )
        return settled

    def _renamed(
        self, found: PriorEstimate, table: ScoreTable, transform: str, started: float
    ) -> PriorEstimate:
        """Report what a wrapped estimator found as this one's, for the rows as they were."""
        return replace(
            found,
            method=self.tags.key,
            n_labeled=int(table.n_labeled),
            n_unlabeled=int(table.n_unlabeled),
            upper_limit=math.nan,
            kappa_1=math.nan,
            kappa_2=math.nan,
            identified=(0.0, feasible_kappas(table, self.confidence)[0]),
            auc_pu=auc_pu(table),
            transform=transform,
            seconds=perf_counter() - started,
        )


def regrouped(table: ScoreTable, frac: float) -> ScoreTable:
    """Add copies of the top unlabeled rows to the labeled rows of a table."""
    ranks = np.cumsum(table.unlabeled[::-1])
    copies = np.diff(_copies_up_to(ranks, table.n_labeled, table.n_unlabeled, frac), prepend=0)
    return ScoreTable._assemble(
        table.scores,
        [table.labeled + copies[::-1], table.unlabeled],
        table.centers,
        thinned=table.thinned,
    )


def top_rows(s: NDArray[np.int_], scores: FloatArray, frac: float) -> NDArray[np.intp]:
    """Return the positions of the unlabeled rows to copy."""
    unlabeled = np.flatnonzero(s == 0)
    order = unlabeled[np.argsort(-scores[unlabeled], kind="stable")]
    heads = _copies_up_to(
        np.arange(1, len(order) + 1), int(np.count_nonzero(s == 1)), len(order), frac
    )
    chosen: NDArray[np.intp] = order[np.diff(heads, prepend=0) > 0]
    return chosen


def _copies_up_to(
    ranks: NDArray[Any], n_labeled: float, n_unlabeled: float, frac: float
) -> NDArray[np.intp]:
    """Return how many rows are copied up to each rank."""
    top = np.minimum(ranks, max(round(frac * n_unlabeled), 1))
    copies: NDArray[np.intp] = np.ceil(top * min(1.0, n_labeled / n_unlabeled)).astype(np.intp)
    return copies
