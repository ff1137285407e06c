"""Where a row begins to count as positive, from scores by models that have not seen the row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from recoup._core.checks import FloatArray, Scheme
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.metrics.curves import metric_along, roc_curve
from recoup.priors.conversions import pooled_prior
from recoup.scores.folds import PUStratifiedKFold
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    from recoup.learners.base import PULearner

Rule: TypeAlias = Literal["own", "alpha", "f1"]
RULES: tuple[str, ...] = get_args(Rule)
Source: TypeAlias = Literal["cross-fitted", "out-of-bag", "held-out", "training"]

N_FOLDS = 5


@dataclass(frozen=True, eq=False)
class HonestScores:
    """Labels and scores of rows, and how far the scores can be trusted.

    Known negatives, which are no part of what alpha is about, are left out when it is made.

    Attributes
    ----------
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    scores : ndarray of shape (n,)
        Higher is more positive.
    source : {"cross-fitted", "out-of-bag", "held-out", "training"}
        What the models that gave the scores know of the rows. Only of ``"training"`` rows do they
        know the label.
    """

    s: NDArray[np.int_]
    scores: FloatArray
    source: Source

    def __post_init__(self) -> None:
        """Leave known negatives out."""
        kept = self.s >= 0
        if not kept.all():
            object.__setattr__(self, "s", self.s[kept])
            object.__setattr__(self, "scores", self.scores[kept])

    @cached_property
    def auc_pu(self) -> float:
        """P(a labeled row scores higher than an unlabeled one), ties one half."""
        return float(auc_pu(ScoreTable.from_arrays(self.s, self.scores)))

    @property
    def has_both(self) -> bool:
        """Whether there are labeled and unlabeled rows."""
        return bool((self.s == 1).any() and (self.s == 0).any())

    def population(self, scheme: Scheme) -> FloatArray:
        """Return the scores of the rows that performance is about."""
        return self.scores if scheme == "single-sample" else self.scores[self.s == 0]


def share_cut(honest: HonestScores, alpha: float, scheme: Scheme) -> float:
    """Return the score that as many rows of the population exceed as are positive.

    Examples
    --------
    >>> found = HonestScores(np.repeat([1, 0], [2, 8]), np.arange(10.0), "held-out")
    >>> share_cut(found, 0.25, "case-control"), share_cut(found, 0.25, "single-sample")
    (7.5, 5.5)
    """
    n_labeled, n_unlabeled = (int((honest.s == kind).sum()) for kind in (1, 0))
    share = alpha
    if scheme == "single-sample" and n_labeled:
        share = float(pooled_prior(alpha, n_labeled, n_unlabeled))
    ordered = np.sort(honest.population(scheme))
    n = len(ordered)
    above = min(max(round(share * n), 1), max(n - 1, 1))
    return _between(ordered, n - above)


def f1_cut(honest: HonestScores, alpha: float, scheme: Scheme) -> float:
    """Return the score that rows must exceed for the best F1, as recovered with alpha."""
    roc = roc_curve(honest.s, honest.scores, alpha=alpha, scheme=scheme)
    best = metric_along(roc, "f1", "f1_cut").best_threshold
    ordered = np.unique(honest.scores)
    return _between(ordered, int(np.searchsorted(ordered, best, side="left")))


def _between(ordered: FloatArray, first: int) -> float:
    """Return what the scores from a place on exceed and those before it do not."""
    if first >= len(ordered):
        return float(ordered[-1])
    if first <= 0:
        return float(np.nextafter(ordered[0], -np.inf))
    below, above = float(ordered[first - 1]), float(ordered[first])
    middle = below + (above - below) / 2
    # Neighbours among floats have nothing between them: what is above must stay so.
    return middle if middle < above else below


def few_or_more_folds(
    X: Any, s: NDArray[np.int_], rng: np.random.Generator
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Deal rows to folds, to as many as different labeled rows allow; none below two."""
    fewest = min(int((s == 1).sum()), int((s == 0).sum()))
    for n_folds in range(min(N_FOLDS, fewest), 1, -1):
        try:
            return list(PUStratifiedKFold(n_folds, random_state=rng).split(X, s))
        except InvalidInputError:
            # Copies of a row share a fold, and there are fewer rows than that.
            continue
    return []


def crossfitted(
    learner: PULearner,
    X: Any,
    s: NDArray[np.int_],
    rng: np.random.Generator,
    per_row: Mapping[str, NDArray[Any] | None],
) -> HonestScores:
    """Score checked rows by twins of a learner that were fitted on other rows.

    Where too few rows are labeled for that, the learner's own scores have to do.
    """
    splits = few_or_more_folds(X, s, rng)
    if not splits:
        return HonestScores(s, learner._decide(X), "training")
    scores = np.empty(len(s))
    for train, test in splits:
        twin = learner._twin(int(rng.integers(2**31)))
        known = {name: None if part is None else part[train] for name, part in per_row.items()}
        twin._fit_rows(_safe_indexing(X, train), s[train], **known)
        scores[test] = twin._decide(_safe_indexing(X, test))
    return HonestScores(s, scores, "cross-fitted")
