"""What all prior estimators share: input, transform, interval, result."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from recoup._core.checks import (
    FloatArray,
    as_vector,
    check_same_length,
    check_unmasked,
    label_masks,
)
from recoup._core.constraints import (
    RANDOM_STATE,
    Constraint,
    Constraints,
    Nothing,
    Number,
    WholeNumber,
    Words,
    check_parameters,
)
from recoup._core.notes import Note
from recoup._core.random import RandomState, as_seed, named_rng
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.metrics.feasible import feasible_kappas
from recoup.priors._solvers.column_scale import steady_columns
from recoup.priors._solvers.resample import counts_only, resample, rows, subsample
from recoup.priors._solvers.transform import TRANSFORM, honest_scores
from recoup.priors.results import Finding as Finding
from recoup.priors.results import PriorEstimate
from recoup.priors.tags import PriorTags as PriorTags
from recoup.scores.table import ScoreTable

MIN_LABELED, MIN_UNLABELED = 20, 50
# Below these sizes the authors of AlphaMax and DistCurve do not trust their estimators.
FEW_LABELED, FEW_UNLABELED = 100, 1000
# Intervals of any method; some have one of their own beside these.
DRAWING_ROWS = ("subsample", "bootstrap", "refit")
UNINFORMATIVE_AUC = 0.6
# Kappas of fewer rows than this vary too much to tell anything about those of all rows.
MIN_SUBSAMPLE = 100


def interval_by(*methods: str) -> Constraint:
    """Allow ways to make an interval, and none at all."""
    return Words(*methods) | Nothing()


@dataclass(kw_only=True, eq=False, repr=False)
class PriorEstimator(BaseEstimator):
    """Base of all prior estimators: what they take and what they promise.

    Parameters
    ----------
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores, in estimators that read scores.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How rows are drawn for the interval around alpha. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result, after ``fit`` or ``fit_scores``.
    """

    transform: Any = "auto"
    interval: str | None = "subsample"
    n_draws: int = 200
    confidence: float = 0.95
    random_state: RandomState = 0

    tags: ClassVar[PriorTags]
    constraints: ClassVar[Constraints] = {
        "transform": TRANSFORM,
        "interval": interval_by(*DRAWING_ROWS),
        "n_draws": WholeNumber(
            why="the interval is made from them", hint="Pass interval=None to go without."
        ),
        "confidence": Number(above=0, below=1, hint="Pass 0.95 for 95%."),
        "random_state": RANDOM_STATE,
    }
    estimate_: PriorEstimate = field(init=False)
    _drawn_seed: int = field(init=False)

    @property
    def alpha_(self) -> float:
        """The estimated share of positives among the unlabeled rows."""
        return self.estimate_.alpha

    @abstractmethod
    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Estimate from features and labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame with n rows
            Features.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.

        Returns
        -------
        self : PriorEstimator
            Fitted: the result is in ``estimate_``.
        """

    @abstractmethod
    def fit_scores(self, s: ArrayLike | ScoreTable, scores: ArrayLike | None = None) -> Self:
        """Estimate from scores and labels.

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

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def _seed(self) -> int:
        """The number behind all random streams of a fit."""
        if not isinstance(self.random_state, Integral) and hasattr(self, "_drawn_seed"):
            return self._drawn_seed
        return as_seed(self.random_state, self._name)

    @property
    def _known_beta(self) -> float:
        """The largest beta that may be: that of labels known to be partly wrong, or 1."""
        beta = getattr(self, "beta", None)
        return float(beta) if isinstance(beta, Real) else 1.0

    def _rng(self, *names: str | int) -> np.random.Generator:
        return named_rng(self._seed, self.tags.key, *names)

    def _check_options(self) -> None:
        """Refuse parameters that can never work; subclasses add what they must be together."""
        check_parameters(self, self._name)

    def _begin(self) -> None:
        """Check the parameters, and draw the seed of this fit where it is not a number."""
        self._check_options()
        self._drawn_seed = as_seed(self.random_state, self._name)

    def _refuse_refit(self) -> None:
        """Refuse to refit a classifier of which only the scores are known."""
        if self.interval == "refit":
            raise InvalidInputError(
                f"{self._name}.fit_scores cannot refit the classifier behind given scores. "
                f"Pass the features to fit, or use interval='subsample' or 'bootstrap'."
            )

    def _concluded(
        self,
        finding: Finding,
        draws: FloatArray | None,
        sizes: tuple[int, int],
        table: ScoreTable | None,
        transform: str,
        started: float,
    ) -> PriorEstimate:
        """Clip, summarise the draws and collect what speaks against the estimate."""
        auc = math.nan if table is None else auc_pu(table)
        alpha, beta = (float(np.clip(value, 0.0, 1.0)) for value in (finding.alpha, finding.beta))
        warnings = [*_size_warnings(*sizes), *finding.warnings]
        if alpha != finding.alpha:
            warnings.append(
                Note("edge", f"The estimate {finding.alpha:.3g} was clipped to {alpha:g}.")
            )
        if auc < UNINFORMATIVE_AUC:
            warnings.append(
                Note(
                    "uninformative-scores",
                    f"The scores hardly tell labeled from unlabeled rows (AUC {auc:.3f}): alpha "
                    f"could be almost anything. Use a better classifier.",
                )
            )
        limits = None
        if draws is not None:
            tail = (1 - self.confidence) / 2
            alphas = draws if draws.ndim == 1 else draws[:, 0]
            low, high = np.quantile(alphas, [tail, 1 - tail])
            limits = (min(float(low), alpha), max(float(high), alpha))
        identified = None
        # Labels that favor some positives break the inequality between the two curves.
        if table is not None and self.tags.selection == "SCAR":
            identified = (0.0, self._known_beta * feasible_kappas(table, self.confidence)[0])
        return PriorEstimate(
            alpha=alpha,
            beta=beta,
            interval=limits,
            draws=draws,
            method=self.tags.key,
            converged=finding.converged,
            warnings=tuple(warnings),
            curve=finding.curve,
            members=finding.members or {},
            n_labeled=sizes[0],
            n_unlabeled=sizes[1],
            kappa_1=finding.kappa_1,
            kappa_2=finding.kappa_2,
            upper_limit=finding.upper_limit,
            identified=identified,
            auc_pu=auc,
            transform=transform,
            interval_method=self.interval if draws is not None else None,
            confidence=float(self.confidence),
            seconds=perf_counter() - started,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ScorePriorEstimator(PriorEstimator):
    """Base of estimators that read scores.

    A new estimator writes one method, ``_solve``, from a :class:`ScoreTable` to a :class:`Finding`.

    Parameters
    ----------
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
    """

    @abstractmethod
    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        """Estimate from counts of labeled and unlabeled rows at each score."""

    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Score the rows of X by cross-fitting, then estimate from the scores.

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
        started = perf_counter()
        if self.transform is None:
            return self.fit_scores(s, X)
        self._begin()
        labeled, unlabeled, _ = label_masks(s, self._name)
        check_sizes(int(labeled.sum()), int(unlabeled.sum()), self._name)
        found = honest_scores(X, s, self.transform, self._seed, self._name)
        table = checked_table(found.s, found.scores, self._name)
        refit = None
        if self.interval == "refit":
            refit = _refits(self, X, found.s)
        self.estimate_ = self._estimated(table, found.estimator_name, refit, started)
        return self

    def fit_scores(self, s: ArrayLike | ScoreTable, scores: ArrayLike | None = None) -> Self:
        """Estimate from scores of rows that the classifier was not fitted on.

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
        started = perf_counter()
        self._begin()
        self._refuse_refit()
        table = checked_table(s, scores, self._name)
        self.estimate_ = self._estimated(table, "given scores", None, started)
        return self

    def _estimated(
        self,
        table: ScoreTable,
        transform: str,
        refits: Callable[[int], ScoreTable] | None,
        started: float,
    ) -> PriorEstimate:
        finding = self._solve(table, self._rng("point"))
        draws = None
        if self.interval in DRAWING_ROWS:
            draws = self._draws(table, finding, refits)
        elif self.interval is not None:
            draws = finding.draws
        sizes = (int(table.n_labeled), int(table.n_unlabeled))
        return self._concluded(finding, draws, sizes, table, transform, started)

    def _draws(
        self, table: ScoreTable, finding: Finding, refits: Callable[[int], ScoreTable] | None
    ) -> FloatArray:
        """Estimate again from drawn tables; return plausible values of alpha (and beta)."""
        sizes = subsample_sizes(table.n_labeled, table.n_unlabeled)

        def again(number: int, rng: np.random.Generator) -> Finding:
            if self.interval == "subsample":
                drawn = subsample(table, sizes, rng)
            elif refits is not None:
                drawn = refits(number)
            else:
                drawn = resample(table, rng)
            return self._solve(drawn, rng)

        return self._repeated((int(table.n_labeled), int(table.n_unlabeled)), finding, again)

    def _repeated(
        self,
        sizes: tuple[int, int],
        finding: Finding,
        again: Callable[[int, np.random.Generator], Finding],
    ) -> FloatArray:
        """Estimate from ``n_draws`` draws of rows; return plausible values of alpha (and beta)."""
        found = [again(number, self._rng("draw", number)) for number in range(self.n_draws)]
        pairs = np.array([(one.alpha, one.beta) for one in found])
        if self.interval == "subsample":
            center = np.array([finding.alpha, finding.beta])
            # Basic interval: deviations of draws, scaled to all rows, count in the opposite
            # direction.
            pairs = center - _shrink(subsample_sizes(*sizes), *sizes) * (pairs - center)
        return plausible(pairs, both=self.tags.finds_beta)


@dataclass(kw_only=True, eq=False, repr=False)
class FeaturePriorEstimator(PriorEstimator):
    """Base of estimators that read features.

    A new estimator writes one method, ``_solve``, from rows to a :class:`Finding`.

    Parameters
    ----------
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        Not used: this estimator reads the features themselves. It is here so that all estimators
        take the same parameters.
    interval : {"subsample", "bootstrap", "refit"} or None, default="subsample"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` and ``"refit"`` draw as many rows
        with replacement. Every draw runs the whole method. None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.
    """

    # How many rows of a table of scores are drawn at most for fit_scores.
    max_rows: ClassVar[int] = 10_000

    @abstractmethod
    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        """Estimate from features and labels (1 labeled, 0 unlabeled)."""

    def fit(self, X: Any, s: ArrayLike) -> Self:
        """Estimate from features and labels.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Numbers, without NaN. Scores of a classifier may be passed as the only column.
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.

        Returns
        -------
        self : PriorEstimator
            Fitted: the result is in ``estimate_``.
        """
        started = perf_counter()
        self._begin()
        labeled, unlabeled, _ = label_masks(s, self._name)
        features = self._features(X)
        check_same_length(features, labeled, "X and s", self._name)
        chosen = labeled | unlabeled
        self.estimate_ = self._estimated(
            features[chosen], labeled[chosen].astype(int), None, "features", started
        )
        return self

    def fit_scores(self, s: ArrayLike | ScoreTable, scores: ArrayLike | None = None) -> Self:
        """Estimate from scores of rows that the classifier was not fitted on.

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
        started = perf_counter()
        self._begin()
        self._refuse_refit()
        table = checked_table(s, scores, self._name)
        total = table.n_labeled + table.n_unlabeled
        kept = table
        if total > self.max_rows:
            share = self.max_rows / total
            n_labeled, n_unlabeled = (
                min(int(n), max(round(n * share), 1000))
                for n in (table.n_labeled, table.n_unlabeled)
            )
            kept = subsample(table, (n_labeled, n_unlabeled), self._rng("rows"))
        on_labeled, on_unlabeled = rows(kept)
        column = np.concatenate([on_labeled, on_unlabeled])[:, None]
        labels = np.repeat([1, 0], [len(on_labeled), len(on_unlabeled)])
        found = self._estimated(column, labels, table, "given scores", started)
        # The shares that follow from alpha are those of all rows, not of the ones drawn here.
        self.estimate_ = replace(
            found, n_labeled=int(table.n_labeled), n_unlabeled=int(table.n_unlabeled)
        )
        return self

    def _features(self, X: Any) -> FloatArray:
        check_unmasked(X, "X", f"{self._name}.fit")
        try:
            features = check_array(X, dtype=np.float64, input_name="X")
        except (TypeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise InvalidInputError(
                f"{self._name} needs X to be a table of finite numbers. {first} Encode words and "
                f"impute missing values first, or pass a classifier's scores to fit_scores."
            ) from error
        return np.asarray(steady_columns(features), np.float64)

    def _estimated(
        self,
        X: FloatArray,
        s: NDArray[np.int_],
        table: ScoreTable | None,
        transform: str,
        started: float,
    ) -> PriorEstimate:
        n_labeled, n_unlabeled = int((s == 1).sum()), int((s == 0).sum())
        check_sizes(n_labeled, n_unlabeled, self._name)
        if (np.ptp(X, axis=0) == 0).all():
            raise constant_scores_error(self._name, float(X[0, 0]))
        finding = self._solve(X, s, self._rng("point"))
        draws = None
        if self.interval is not None:
            draws = self._draws(X, s, finding)
        return self._concluded(finding, draws, (n_labeled, n_unlabeled), table, transform, started)

    def _draws(self, X: FloatArray, s: NDArray[np.int_], finding: Finding) -> FloatArray:
        # Every draw runs the whole method, so that "bootstrap" and "refit" are the same here.
        groups = (np.flatnonzero(s == 1), np.flatnonzero(s == 0))
        without = self.interval == "subsample"
        sizes = subsample_sizes(len(groups[0]), len(groups[1]))
        if not without:
            sizes = (len(groups[0]), len(groups[1]))
        found = []
        for number in range(self.n_draws):
            rng = self._rng("draw", number)
            chosen = np.concatenate(
                [
                    rng.choice(group, size, replace=not without)
                    for group, size in zip(groups, sizes, strict=True)
                ]
            )
            again = self._solve(X[chosen], s[chosen], rng)
            found.append((again.alpha, again.beta))
        pairs = np.array(found)
        if without:
            center = np.array([finding.alpha, finding.beta])
            pairs = center - _shrink(sizes, len(groups[0]), len(groups[1])) * (pairs - center)
        return plausible(pairs, both=self.tags.finds_beta)


def checked_table(s: ArrayLike | ScoreTable, scores: ArrayLike | None, caller: str) -> ScoreTable:
    """Count labeled and unlabeled rows at each score, and refuse what cannot work."""
    if isinstance(s, ScoreTable):
        if scores is not None:
            raise InvalidInputError(
                f"{caller} got a ScoreTable and scores beside it. Pass one of them."
            )
        table = s.whole(caller)
    elif scores is None:
        raise InvalidInputError(f"{caller} needs scores beside s. Got None.")
    else:
        table = ScoreTable._count(s, as_vector(scores, "scores", caller), None, None, (), caller)
    table = counts_only(table)
    check_sizes(int(table.n_labeled), int(table.n_unlabeled), caller)
    if len(table.scores) == 1:
        raise constant_scores_error(caller, float(table.scores[0]))
    return table


def check_sizes(n_labeled: int, n_unlabeled: int, caller: str) -> None:
    """Require enough rows for any estimate at all."""
    if n_labeled < MIN_LABELED or n_unlabeled < MIN_UNLABELED:
        raise InvalidInputError(
            f"{caller} needs at least {MIN_LABELED} labeled and {MIN_UNLABELED} unlabeled rows. "
            f"Got {n_labeled:,} and {n_unlabeled:,}. Collect more, or pass alpha as a range such "
            f"as (0.1, 0.3)."
        )


def constant_scores_error(caller: str, value: float) -> InvalidInputError:
    """Build the error for rows that cannot be told apart."""
    return InvalidInputError(
        f"{caller} needs rows that differ: labeled and unlabeled rows cannot be told apart. "
        f"Got {value:g} for all rows. Check the classifier or the column."
    )


def subsample_sizes(n_labeled: float, n_unlabeled: float) -> tuple[int, int]:
    """Rows per draw: n to the power 0.7, at least 100, at most all."""
    sizes = (int(min(n, max(n**0.7, MIN_SUBSAMPLE))) for n in (n_labeled, n_unlabeled))
    n_l, n_u = sizes
    return n_l, n_u


def _shrink(sizes: tuple[int, int], n_labeled: float, n_unlabeled: float) -> float:
    """Ratio of the standard errors of all rows and of a draw, as if driven by the scarcer group."""
    # A draw of a share f without replacement has 1 - f times the variance of one from the
    # population. The floor keeps draws of almost all rows from being blown up.
    factors = [
        (size / n) / max(1 - size / n, 0.25)
        for size, n in zip(sizes, (n_labeled, n_unlabeled), strict=True)
    ]
    return math.sqrt(max(factors))


def plausible(pairs: FloatArray, *, both: bool) -> FloatArray:
    """Bring drawn alphas (and betas) into the range that the rest of recoup accepts."""
    # Recovered metrics divide by beta - alpha, and need alpha < beta <= 1.
    beta = np.clip(pairs[:, 1], 0.01, 1.0) if both else np.ones(len(pairs))
    alpha = np.clip(pairs[:, 0], 0.0, beta - 0.005)
    return np.column_stack([alpha, beta]) if both else alpha


def _size_warnings(n_labeled: int, n_unlabeled: int) -> list[Note]:
    found = []
    if n_labeled < FEW_LABELED:
        found.append(
            Note(
                "few-rows",
                f"Only {n_labeled} labeled rows: the estimate is rough below {FEW_LABELED}.",
            )
        )
    if n_unlabeled < FEW_UNLABELED:
        found.append(
            Note(
                "few-rows",
                f"Only {n_unlabeled} unlabeled rows: the estimate is rough below {FEW_UNLABELED}.",
            )
        )
    return found


def _refits(
    estimator: ScorePriorEstimator, X: Any, s: NDArray[np.int_]
) -> Callable[[int], ScoreTable]:
    """Return what draws rows, fits the classifier on them and scores them out of fold."""
    from sklearn.utils import _safe_indexing, indexable

    (features,) = indexable(X)
    groups = [np.flatnonzero(s == kind) for kind in (1, 0)]

    def draw(number: int) -> ScoreTable:
        rng = estimator._rng("refit", number)
        chosen = np.concatenate([rng.choice(group, len(group)) for group in groups])
        seed = int(rng.integers(2**31))
        found = honest_scores(
            _safe_indexing(features, chosen), s[chosen], estimator.transform, seed, estimator._name
        )
        return checked_table(found.s, found.scores, estimator._name)

    return draw
