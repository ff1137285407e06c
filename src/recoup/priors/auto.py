"""estimate: one call for the share of hidden positives, by a combination or by one method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray, brief, label_masks
from recoup._core.prior import check_known_beta
from recoup._core.random import RandomState, as_seed
from recoup._core.registry import make
from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.column_scale import steady_columns
from recoup.priors._solvers.views import ScoredViews, score_views, score_views_anew
from recoup.priors.base import Finding, PriorTags, check_sizes, checked_table, subsample_sizes
from recoup.priors.biased_labels import with_labels
from recoup.priors.combination import Combination
from recoup.priors.combining import (
    MIDDLE,
    SLACK,
    inputs_of_views,
    member_columns,
    near_members,
    weigh_scores,
    weigh_views,
)
from recoup.priors.evidence import Reading, evidence, related, unstretched
from recoup.priors.results import PriorEstimate
from recoup.scores.table import ScoreTable

VIEWS_USED = "boosting, logistic, extra trees"


@dataclass(kw_only=True, eq=False, repr=False)
class Auto(Combination):
    """Weigh seven estimators of different families by how they err on real data.

    On real data published estimators err in opposite directions, and by how much can be told from
    their answers, the sizes of the samples and how well the scores separate them. Small networks
    were trained on thousands of tasks with known shares, cut from real and simulated tables, to
    give the quantiles of alpha and beta; they are judged on datasets that they have never seen
    (``make study-auto``). Answers stay near those of the members: below the least of them only
    where all are large, for that is where classes overlap and every member finds too much.

    From features, :meth:`fit` scores the rows by three classifiers of different kinds (boosted
    trees, logistic regression on quantiles of the columns, extremely randomised trees), and reads
    each and the average of their ranks: classifiers err half independently, and how they hang
    together among labeled and among unlabeled rows tells of the mixture. It also
    allows for labels that are no random sample, such as kinds of positives that are labeled at
    different rates, and says what it found (``estimate_.labels``). From scores, nothing of the
    kind can be seen.

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
        fitted on other rows. ``"auto"`` reads several classifiers and their average, up to five
        times with other folds where rows are few, or logistic regression alone where X is sparse;
        anything else is the only classifier. None: X is one column of scores. ``fit_scores`` does
        not use it.
    interval : {"learned", "subsample", "bootstrap", "refit"} or None, default="learned"
        How the interval around alpha is made. ``"learned"`` takes the quantiles that the network
        gives: they cover the luck of the draw and how wrong the estimators were on real data.
        From features, the interval is made so in any case, unless labels are said to be random.
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
    >>> found = Auto(beta=1.0).fit_scores(example.s, example.scores["score_boosting"]).estimate_
    >>> found.interval[0] < example.alpha < found.interval[1]
    True
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="auto",
        reads="scores",
        assumes="data like the real ones it was trained on",
        cost="n log n",
        source="this package",
        finds_beta=True,
        takes_beta=True,
    )

    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Score the rows of X by several classifiers, estimate from the scores, look for kinds.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            Features; or, with ``transform=None``, one column of scores.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.

        Returns
        -------
        self : Auto
            Fitted: the result is in ``estimate_``.
        """
        if not isinstance(self.transform, str) or self.transform != "auto" or hasattr(X, "tocsr"):
            return super().fit(X, s)
        started = perf_counter()
        self._begin()
        labeled, unlabeled, _ = label_masks(s, self._name)
        check_sizes(int(labeled.sum()), int(unlabeled.sum()), self._name)
        X = steady_columns(X)
        views = score_views_anew(X, s, self._seed, self._name)
        found = self._read(views, self._drawn_views(X, views[0]), started)
        self.estimate_ = with_labels(found, X, s, self._rng("labels"), self.labels_are)
        return self

    def fit_views(self, *views: ScoredViews) -> PriorEstimate:
        """Estimate from scores of several classifiers, as ``fit`` has them, and look no further.

        Parameters
        ----------
        *views : ScoredViews
            Scores out of fold; of the same rows once more for each time that they were scored.

        Returns
        -------
        PriorEstimate
        """
        self._begin()
        self._refuse_refit()
        return self._read(views, self._drawn_views(None, views[0]), perf_counter())

    def _read(
        self,
        views: Sequence[ScoredViews],
        again: Callable[[int, np.random.Generator], Finding],
        started: float,
    ) -> PriorEstimate:
        views = [one.without_negatives() for one in views]
        finding = self._from_views(views, self._rng("point"))
        table = checked_table(views[0].s, views[0].average, self._name)
        sizes = (int(table.n_labeled), int(table.n_unlabeled))
        draws = finding.draws if self.interval == "learned" else None
        if self.interval not in ("learned", None):
            draws = self._repeated(sizes, finding, again)
        return self._concluded(finding, draws, sizes, table, f"ranks by {VIEWS_USED}", started)

    def _combined(self, reading: Reading, labels_known: bool) -> tuple[FloatArray, FloatArray]:
        found = [self._combined_once(one, labels_known) for one in (reading, *reading.others)]
        alphas, betas = np.mean(found, axis=0)
        return alphas, betas

    def _combined_once(self, reading: Reading, labels_known: bool) -> tuple[FloatArray, FloatArray]:
        first, *views = reading.tables
        each = np.array([one.inputs[member_columns()] for one in reading.tables])
        if views:
            inputs = inputs_of_views(reading.tables, reading.relation)
            n_labeled = float(np.exp(first.sizes[0]))
            alphas, betas = weigh_views(inputs, each[0], n_labeled, labels_known=labels_known)
        else:
            alphas, betas = weigh_scores(first.inputs, labels_known=labels_known)
        # Members find alpha / beta.
        beta = 1.0 if labels_known else max(float(betas[MIDDLE]), 0.01)
        slack = SLACK[bool(views)]
        return beta * near_members(alphas / beta, unstretched(each), slack), betas

    def _from_views(self, views: Sequence[ScoredViews], rng: np.random.Generator) -> Finding:
        first, *others = (self._reading(one, rng) for one in views)
        table = checked_table(views[0].s, views[0].average, self._name)
        return self._answer(table, replace(first, others=tuple(others)))

    def _reading(self, views: ScoredViews, rng: np.random.Generator) -> Reading:
        tables = [checked_table(views.s, scores, self._name) for scores in views.all]
        found = tuple(evidence(table, rng) for table in tables)
        return Reading(found, related(views.s, views.scores))

    def _drawn_views(
        self, X: Any, views: ScoredViews
    ) -> Callable[[int, np.random.Generator], Finding]:
        """Return what draws rows, with their scores or scored anew, and estimates from them."""
        groups = [np.flatnonzero(views.s == kind) for kind in (1, 0)]
        sizes = subsample_sizes(len(groups[0]), len(groups[1]))

        def again(number: int, rng: np.random.Generator) -> Finding:
            if self.interval == "subsample":
                parts = [rng.choice(g, n, False) for g, n in zip(groups, sizes, strict=True)]
                return self._from_views([views.take(np.concatenate(parts))], rng)
            rows = np.concatenate([rng.choice(group, len(group)) for group in groups])
            if self.interval == "bootstrap":
                return self._from_views([views.take(rows)], rng)
            return self._from_views([_scored_anew(X, views.s, rows, rng, self._name)], rng)

        return again


def _scored_anew(
    X: Any, s: NDArray[np.int_], rows: NDArray[np.intp], rng: np.random.Generator, caller: str
) -> ScoredViews:
    from sklearn.utils import _safe_indexing, indexable

    (features,) = indexable(X)
    return score_views(_safe_indexing(features, rows), s[rows], int(rng.integers(2**31)), caller)


def estimate(
    s: ArrayLike | ScoreTable,
    scores: ArrayLike | None = None,
    X: Any = None,
    method: str = "auto",
    random_state: RandomState = 0,
    *,
    beta: float | str | None = 1.0,
    confidence: float = 0.95,
    transform: Any = "auto",
    labels_are: str = "unknown",
    audit: Any = None,
) -> PriorEstimate:
    """Estimate how many positives hide among the unlabeled rows.

    Parameters
    ----------
    s : array-like of shape (n,) or ScoreTable
        1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.
    scores : array-like of shape (n,), optional
        Scores of rows that the classifier was not fitted on; higher is more positive.
    X : array-like, sparse matrix or data frame with n rows, optional
        Features, instead of scores: a classifier is then fitted and scored out of fold.
    method : str, default="auto"
        The combination that measures best, or the key of one estimator (``recoup list priors``).
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.
    beta : float, "estimate" or None, default=1.0
        What is known about the labels: the share of true positives among them (1.0: every label
        is right, as :func:`recoup.evaluate` takes it), ``"estimate"`` to have it estimated too, or
        None to take labels as right unless there are clear signs against it. ``"auto"`` warns of
        such signs in any case.
    confidence : float, default=0.95
        Level of the interval.
    transform : {"auto", "logistic", "boosting", "forest"} or classifier, default="auto"
        How features become scores.
    labels_are : {"unknown", "random", "biased"}, default="unknown"
        How labels came about. From features, ``"auto"`` allows for labels that favor some
        positives, unless they are said to be a random sample. Other methods assume what they
        assume, and scores alone show no bias.
    audit : Audit, optional
        Rows that somebody checked (:func:`recoup.audit.plan`), beside scores. Alpha and its
        interval then come from the answers and hold whatever the labels are; what the labels say
        moves alpha by no more than the error of the answers. The method of the result is
        ``"audit"``, and ``members`` has both numbers.

    Returns
    -------
    PriorEstimate

    Examples
    --------
    >>> from recoup import load_example
    >>> example = load_example()
    >>> found = estimate(example.s, example.scores["score_boosting"])
    >>> found.method, list(found.members)
    ('auto', ['share-net', 'dist-curve', 'bbe', 'dedpul', 'pulscar', 'roc-slope', 'elkan-noto'])
    >>> estimate(example.s, example.scores["score_boosting"], method="bbe").method
    'bbe'
    """
    if (X is None) == (scores is None and not isinstance(s, ScoreTable)):
        raise InvalidInputError(
            "estimate needs scores or X beside s, one of them. "
            f"Got {'neither' if X is None else 'both'}."
        )
    if audit is not None:
        _check_audit(audit, X)
        # One seed for both parts.
        random_state = as_seed(random_state, "estimate")
    options: dict[str, Any] = {"random_state": random_state, "confidence": confidence}
    estimator = make("priors", method, "estimate", **options)
    check_known_beta(method, beta, "estimate")
    Auto.constraints["labels_are"].check(labels_are, "labels_are", "estimate")
    if isinstance(estimator, Auto):
        estimator.set_params(labels_are=labels_are)
    if estimator.tags.takes_beta:
        estimator.set_params(beta=beta)
    elif beta == "estimate" and not estimator.tags.finds_beta:
        from recoup.priors.noisy import NoisyPU

        estimator = NoisyPU(estimator, always=True, **options)
    found: PriorEstimate
    if X is not None:
        found = estimator.set_params(transform=transform).fit(X, s).estimate_
    else:
        found = estimator.fit_scores(s, scores).estimate_
    if audit is None:
        return found
    combined: PriorEstimate = audit.prior_estimate(
        s,
        scores,
        found,
        beta=found.beta,
        confidence=confidence,
        random_state=random_state,
        caller="estimate",
    )
    return combined


def _check_audit(audit: Any, X: Any) -> None:
    if not hasattr(audit, "prior_estimate"):
        raise InvalidInputError(
            f"estimate needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )
    if X is not None:
        raise InvalidInputError(
            "estimate takes an audit beside scores, which say where the checked rows lie. Got X. "
            "Pass scores, such as those of recoup.scores.crossfit."
        )
