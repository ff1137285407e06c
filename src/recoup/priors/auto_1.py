"""Auto1: the combination of estimators that ``auto`` was in earlier releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.random import named_rng
from recoup.priors.base import PriorTags
from recoup.priors.combination import Combination
from recoup.priors.combining import weigh_scores
from recoup.priors.evidence import Reading


@dataclass(kw_only=True, eq=False, repr=False)
class Auto1(Combination):
    """Weigh seven estimators as ``auto`` did before it read several classifiers.

    .. deprecated:: 0.1
        It is here so that numbers of earlier releases can be had once more, and leaves with the
        next one. Use :class:`Auto`, whose answers are nearer to the truth.

    Parameters
    ----------
    beta : float, "estimate" or None, default=None
        What is known about the labels. A number is the share of true positives among them; pass
        1.0 if every label is right. With ``"estimate"`` beta is estimated beside alpha. With None
        alpha is the same as with ``"estimate"``, but the beta of the result is 1.0 unless there
        are clear signs of wrong labels.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about. :meth:`fit` allows for labels that favor some positives, unless
        they are said to be a random sample. From scores it changes nothing.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"learned", "subsample", "bootstrap", "refit"} or None, default="learned"
        How the interval around alpha is made. ``"learned"`` takes the quantiles that the network
        gives: they cover the luck of the draw and how wrong the estimators were on real data.
        The others draw rows and cover the luck of the draw alone: ``"subsample"`` fewer rows
        without replacement, ``"bootstrap"`` as many with replacement, ``"refit"`` with the
        classifier fitted anew. None: no interval.
    n_draws : int, default=500
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    Examples
    --------
    >>> from recoup import load_example
    >>> example = load_example()
    >>> found = Auto1(beta=1.0).fit_scores(example.s, example.scores["score_boosting"]).estimate_
    >>> found.interval[0] < example.alpha < found.interval[1]
    True
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="auto-1",
        reads="scores",
        assumes="data like the real ones it was trained on",
        cost="n log n",
        source="this package",
        finds_beta=True,
        takes_beta=True,
    )

    def _combined(self, reading: Reading, labels_known: bool) -> tuple[FloatArray, FloatArray]:
        return weigh_scores(reading.tables[0].inputs, labels_known=labels_known)

    def _rng(self, *names: str | int) -> np.random.Generator:
        # The key of those releases, for their numbers.
        return named_rng(self._seed, "auto", *names)
