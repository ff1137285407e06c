"""scar_test: whether the labeled rows can be a random sample of the positives."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import (
    FloatArray,
    as_floats,
    as_numbers,
    brief,
    check_same_length,
    check_unmasked,
    label_masks,
)
from recoup._core.notes import Note
from recoup._core.prior import Prior
from recoup._core.random import RandomState, as_seed, named_rng
from recoup._core.results import html_facts, make_frame, to_plain
from recoup._core.text import show_number, show_p, show_range
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.priors._solvers.resample import counts_only
from recoup.priors._solvers.transform import best_scores, named_classifier
from recoup.priors.auto import estimate
from recoup.priors.base import UNINFORMATIVE_AUC, check_sizes, constant_scores_error
from recoup.priors.conversions import label_frequency
from recoup.scores.forward import forward_scores
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

    from recoup.plot.scar import ScarDisplay

CALLER = "scar_test"
# The test reads shares of labels above at most this many thresholds.
N_BINS = 60
# The fewest rows above a threshold.
MIN_TOP = 20
# The posterior under the null bends at these normal quantiles of the ranks of rows.
KNOTS = (0.0, 1.2)
FEW_LABELED = 50
# compatible_alpha holds at this level, and is found among these values.
LEVEL = 0.05
ALPHAS = np.arange(1, 100) / 100


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows and labels between thresholds of the score, ready to be tested with any alpha.

    Parameters
    ----------
    rows : ndarray of shape (n_groups,)
        Rows between two thresholds, from the highest score down.
    labeled : ndarray of shape (n_groups,)
        How many of them are labeled.
    n_all : int
        Number of unlabeled rows that alpha is the share in: those that are tested, and those that
        only train.
    n_resamples : int
        Simulated sets of labels.
    seed : int
        Seed of the simulation.
    """

    rows: NDArray[np.int64]
    labeled: NDArray[np.int64]
    n_all: int
    n_resamples: int
    seed: int

    def tested(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the excess above each threshold, and the largest ones of the resamples."""
        n_labeled, n_unlabeled = int(self.labeled.sum()), int((self.rows - self.labeled).sum())
        frequency = float(label_frequency(alpha, n_labeled, n_unlabeled))
        posterior = _posterior(self.rows, self.labeled, frequency)
        # The same draws for every alpha, so that p-values differ for no other reason.
        rng = named_rng(self.seed, CALLER, "null")
        # Alpha is known for all unlabeled rows; how many of their positives are among those that
        # are tested is a matter of chance.
        n_hidden = round(alpha * self.n_all)
        hidden = rng.hypergeometric(
            n_hidden, self.n_all - n_hidden, n_unlabeled, size=self.n_resamples
        )
        drawn = _labels_at_random(self.rows, posterior, n_labeled, n_labeled + hidden, rng)
        null = _excess(self.rows, drawn, frequency).max(axis=-1)
        return _excess(self.rows, self.labeled, frequency), null

    def p_value(self, alpha: float) -> float:
        """Return the share of resamples with at least that excess."""
        excess, null = self.tested(alpha)
        return _share_as_large(null, excess.max())


def _share_as_large(null: FloatArray, statistic: float) -> float:
    """Return the p-value, which is 1 if no threshold has more labels than there may be.

    If there are negatives among the highest scores, the simulated excess is below 0, and how far
    below depends on the posterior that was fitted to a few rows. An observed excess that is larger,
    but also below 0, does not contradict labels at random: hence the maximum with 0.
    """
    return float((1 + np.count_nonzero(np.maximum(null, 0.0) >= statistic)) / (len(null) + 1))


@dataclass(frozen=True, eq=False, repr=False)
class ScarTest:
    """What :func:`scar_test` found.

    Attributes
    ----------
    statistic : float
        Labels that the highest-scoring rows have beyond what labels at random allow, in standard
        errors, at the threshold where they are most.
    p_value : float
        Share of resamples with labels at random whose statistic is at least as large.
    null : ndarray of shape (n_resamples,)
        Statistics of the resamples.
    alpha : float
        Share of positives among the unlabeled rows that the test is made with: the lowest value
        of ``alpha_range``, if there is one.
    label_frequency : float
        Share of the positives that are labeled, and so the largest share of labels that any
        group of rows can have.
    n_labeled : int
        Labeled rows that were tested; those of the first fold only train.
    n_unlabeled : int
        Unlabeled rows that were tested.
    n_top : int
        Rows above the threshold of the statistic.
    labeled_top : int
        How many of them are labeled.
    auc_pu : float
        How well the scores tell labeled from unlabeled rows.
    method : str
        Where the scores and alpha come from.
    ranking : Ranking
        Rows and labels between thresholds, from which other alphas are tested.
    warnings : tuple of Note
        Reasons to doubt the answer.
    alpha_range : tuple of float or None
        Lowest and highest alpha that was given or estimated; None if it was one number.
    """

    statistic: float
    p_value: float
    null: FloatArray
    alpha: float
    label_frequency: float
    n_labeled: int
    n_unlabeled: int
    n_top: int
    labeled_top: int
    auc_pu: float
    method: str
    ranking: Ranking
    warnings: tuple[Note, ...] = ()
    alpha_range: tuple[float, float] | None = None

    @cached_property
    def compatible_alpha(self) -> float:
        """The largest alpha, in hundredths, with which labels at random are not rejected at 5%.

        They are rejected with every larger alpha: if labels were at random, there could not be so
        many positives among the unlabeled rows. If you are sure that there are more, you have
        reason to doubt the labels, without knowing alpha exactly. It is 1 if no alpha is
        rejected, and 0 if all are. It takes a few simulations, when it is first asked for.
        """
        return _compatible_alpha(self.ranking)

    def p_values(self, alphas: ArrayLike) -> FloatArray:
        """Return the p-value with each of these alphas, from the same scores.

        Parameters
        ----------
        alphas : array-like of shape (k,)
            Shares of positives among the unlabeled rows, between 0 and 1.

        Returns
        -------
        ndarray of shape (k,)
        """
        values = np.atleast_1d(as_floats(alphas, "alphas", CALLER))
        for value in values:
            _check_leaves_both(float(Prior.of(value, 1.0, CALLER).alpha), self.n_unlabeled)
        return np.array([self.ranking.p_value(float(value)) for value in values])

    @property
    def about_alpha(self) -> str:
        """Which alpha the test was made with, of what was given or estimated, and why."""
        known = "estimated" if self.method.endswith("estimated") else "given"
        if self.alpha_range is None:
            return f"The test was made with the alpha that was {known}, {self.alpha:.4g}."
        return (
            f"Alpha was {known} as {show_range(*self.alpha_range, '.4g')}. The test was made with "
            f"{self.alpha:.4g}, the lowest that it may be: fewer positives leave more room for "
            f"labels at random, and what is rejected there is rejected with every higher alpha."
        )

    @property
    def expected_top(self) -> float:
        """The most labels to expect in those rows: all are positive, and labels are at random."""
        return self.label_frequency * self.n_top

    def __repr__(self) -> str:
        """Show the answer on one line."""
        return (
            f"ScarTest(p={self.p_value:.3g}, statistic={self.statistic:.3g}, top "
            f"{self.n_top:,} rows: {self.labeled_top:,} labeled, at most {self.expected_top:,.1f} "
            f"expected, alpha={self.alpha:.3g}{self._lowest_of}, compatible up to alpha="
            f"{self.compatible_alpha:.2f}, n={self.n_labeled}+{self.n_unlabeled})"
        )

    @property
    def _lowest_of(self) -> str:
        if self.alpha_range is None:
            return ""
        return f" (lowest of {show_range(*self.alpha_range, '.3g')})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts and lists.

        Returns
        -------
        dict
            By name of the attribute or property.
        """
        names = (
            "statistic", "p_value", "alpha", "alpha_range", "compatible_alpha", "label_frequency",
            "n_labeled", "n_unlabeled", "n_top", "labeled_top", "expected_top", "auc_pu", "method",
            "warnings", "null",
        )  # fmt: skip
        plain: dict[str, Any] = {name: to_plain(getattr(self, name)) for name in names}
        return plain

    def to_frame(self) -> pd.DataFrame:
        """Return the answer as one row.

        Returns
        -------
        pandas.DataFrame
            With a column for each number and text; ``alpha_low`` and ``alpha_high`` are the ends
            of ``alpha_range``.
        """
        plain = self.to_dict()
        low, high = plain.pop("alpha_range") or (self.alpha, self.alpha)
        numbers = {name: plain[name] for name in plain if name not in ("null", "warnings")}
        numbers |= {"alpha_low": low, "alpha_high": high}
        return make_frame({name: [value] for name, value in numbers.items()})

    def plot(self, ax: Any = None) -> ScarDisplay:
        """Draw the statistic beside those of the resamples; the title has ``compatible_alpha``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw. By default a new figure.

        Returns
        -------
        ScarDisplay
        """
        from recoup.plot.scar import ScarDisplay

        display = ScarDisplay(
            statistic=self.statistic,
            null=self.null,
            p_value=self.p_value,
            name="Labels beyond those at random, in standard errors",
        ).plot(ax)
        display.ax_.set_title(
            f"alpha {self.alpha:.3g}{self._lowest_of}; "
            f"at random up to alpha {self.compatible_alpha:.2f}",
            fontsize="medium",
        )
        return display

    def _repr_html_(self) -> str:
        facts = {
            "p": show_p(self.p_value),
            "statistic, in standard errors": show_number(self.statistic),
            "rows with the highest scores": f"{self.n_top:,}",
            "of these labeled": f"{self.labeled_top:,}",
            "at random at most": f"{self.expected_top:,.1f}",
            "alpha": f"{show_number(self.alpha)}{self._lowest_of}",
            "at random is possible up to alpha": f"{self.compatible_alpha:.2f}",
            "scores and alpha": self.method,
        }
        return html_facts(
            facts,
            f"Can these be labels at random? {self.n_labeled:,} labeled and "
            f"{self.n_unlabeled:,} unlabeled rows",
            self.warnings,
        )


def scar_test(
    X: Any,
    s: ArrayLike,
    alpha: Any = None,
    n_resamples: int = 199,
    classifier: Any = "auto",
    random_state: RandomState = 0,
) -> ScarTest:
    r"""Test whether the labeled rows can be a random sample of the positives.

    If labels were given to positives at random (selected completely at random, SCAR), no group
    of rows has a larger share of labels than the positives themselves,

    .. math:: P(s=1 \mid x) = c\, P(y=1 \mid x) \le c = \frac{n_l}{n_l + \alpha n_u},

    and if alpha is known, that is all that labels at random imply about features and labels.
    Rows are ranked by a classifier that has learned the labels of other rows: each fifth of them
    by one that was fitted on the fifths before it, so that the first only trains. The
    statistic is the largest excess of labels over c among the k highest-scoring rows, in standard
    errors, over k; p is 1 unless it is above 0. Its distribution under labels at random comes from
    simulation: a posterior of at most 1 is fitted to the labels as a smooth function of the rank,
    classes are drawn from it, and as many labels as there are given to the drawn positives at
    random.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame with n rows
        Features; or, with ``classifier=None``, one column of scores of models that have not seen
        the rows (best from before: see Notes).
    s : array-like of shape (n,)
        1 labeled positive, 0 unlabeled. Known negatives (-1) are left out.
    alpha : float, (low, high), draws, or prior estimate, optional
        Share of positives among the unlabeled rows, from a source that does not rest on the
        labels: a survey, an audit, a sample that was checked by hand. Of a range, or of the middle
        95% of draws, the lowest value is used: fewer positives leave more room for labels at
        random (``about_alpha`` of the result says so). None estimates it from the same rows, and
        leaves the p-value almost blind: look at ``compatible_alpha`` of the result then (see
        Notes).
    n_resamples : int, default=199
        Simulated sets of labels.
    classifier : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        What ranks the rows, as ``transform`` of the prior estimators.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random.

    Returns
    -------
    ScarTest

    Notes
    -----
    A small p-value says that labels are more concentrated than alpha allows: some positives are
    more likely to be labeled than others, or alpha is smaller than stated. A large one does not
    show that labels are at random. Two things cannot be seen, by any test. Without alpha, every
    way of labeling is one at random for some posterior, namely that proportional to the share of
    labels; methods that estimate alpha from labels find the alpha of that posterior. And even with
    alpha, labels that favor positives among which there are many negatives can keep their share
    below c.

    If alpha is not known, the result still says for which values labels can be at random: for
    those up to ``compatible_alpha``. With a larger alpha, more of the highest-scoring rows would
    be unlabeled. Suppose you are sure that at least a third of the unlabeled rows are positive,
    and ``compatible_alpha`` is 0.2: then labels are not at random. If they are at random, it is an
    upper limit of alpha at 95%. There is no lower limit, since fewer positives leave more room for
    labels. ``p_values`` of the result gives the p-value with any alpha.

    Alpha is the share in these rows. One that is known for a larger population differs from it
    by chance: pass an interval that is wider by twice the root of alpha * (1 - alpha) / n_u.

    The test is one-sided, since a share of labels below c may be due to negatives: labels that
    favor positives with low scores go unnoticed. It does not assume that classes are separable,
    nor that the posterior has a certain form in the features; the ranking may be poor, which costs
    power only. Scores by cross-fitting let labels rank each other: with flexible classifiers the
    test then rejected up to 12% of random labels at 5%.

    Measured with 3,000 rows (fewer where a dataset is too small) by
    ``tools/studies/scar_test.py --classifier logistic --resamples 99 --known-only``, with the
    true alpha: at 5% the test rejected 3.8% of 3,170 runs with random labels (standard error 0.3%)
    over priors of 0.2 to 0.6 and label frequencies of 0.1 to 0.8; by dataset, 600 runs each, two
    normal classes 3 apart 5.3% and 1.5 apart 3.7%, landsat 5.2%, letter 2.8%, spambase 1.3%, and
    5.3% of 170 for pendigits. Anuran, on which nothing had been chosen, had 1.1% of 1,800: there
    the simulated excess is larger than that of the data, and the test errs on the safe side. Of the
    mechanisms of :func:`recoup.simulate`, 600 runs each, it saw S2 in 87%, S3 in 21%, S4 in 100%.

    References
    ----------
    Teisseyre, P., Furmańczyk, K. and Mielniczuk, J. (2024). Verifying the selected completely at
    random assumption in positive-unlabeled learning. arXiv:2404.00145: the idea to simulate the
    null, there among presumed positives. The statistic and the null used here are different.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(3000) < 0.3
    >>> X = rng.normal(2.0 * positive[:, None], size=(3000, 2))
    >>> at_random = positive & (rng.random(3000) < 0.3)
    >>> scar_test(X, at_random, alpha=positive[~at_random].mean(), classifier="logistic")
    ScarTest(p=0.495, ...)
    >>> clear_ones = positive & (rng.random(3000) < 0.6 * (X[:, 0] > 2))
    >>> scar_test(X, clear_ones, alpha=positive[~clear_ones].mean(), classifier="logistic")
    ScarTest(p=0.005, ...)
    """
    seed = as_seed(random_state, CALLER)
    if not isinstance(n_resamples, Integral) or n_resamples < 19:
        raise InvalidInputError(
            f"{CALLER} needs n_resamples to be a whole number from 19: fewer cannot give p = 0.05. "
            f"Got {brief(n_resamples)}."
        )
    check_unmasked(X, "X", CALLER)
    labels, scores, source = _ranked(X, s, classifier, seed)
    table = counts_only(ScoreTable._count(labels, scores, None, None, (), CALLER))
    if len(table.scores) == 1:
        raise constant_scores_error(CALLER, float(table.scores[0]))
    limits = _alpha_limits(alpha, table, seed)
    # Fewer positives leave more room for labels at random.
    share = limits[0]
    warnings: list[Note] = []
    n_labeled, n_unlabeled = int(table.n_labeled), int(table.n_unlabeled)
    _check_leaves_both(share, n_unlabeled)
    rows, labeled = _grouped(table)
    n_all = int(label_masks(s, CALLER)[1].sum())
    ranking = Ranking(rows, labeled, n_all, int(n_resamples), seed)
    excess, null = ranking.tested(share)
    best = int(np.argmax(excess))
    auc = auc_pu(table)
    if alpha is None:
        limit = _compatible_alpha(ranking)
        warnings.append(
            Note(
                "alpha-estimated",
                "Alpha was estimated from the labels as if they were at random, so that p can "
                "hardly say otherwise. "
                + (
                    "No alpha speaks against labels at random."
                    if limit == 1
                    else f"They are not at random if more than {limit:.0%} of the unlabeled rows "
                    f"are positive."
                ),
            )
        )
    if n_labeled < FEW_LABELED:
        warnings.append(
            Note("few-rows", f"Only {n_labeled} labeled rows: the test sees strong selection only.")
        )
    if auc < UNINFORMATIVE_AUC:
        warnings.append(
            Note(
                "uninformative-scores",
                f"The scores hardly tell labeled from unlabeled rows (AUC {auc:.3f}), so that the "
                f"test can see little. Use a better classifier.",
            )
        )
    return ScarTest(
        statistic=float(excess[best]),
        p_value=_share_as_large(null, excess[best]),
        null=null,
        alpha=share,
        label_frequency=float(label_frequency(share, n_labeled, n_unlabeled)),
        n_labeled=n_labeled,
        n_unlabeled=n_unlabeled,
        n_top=int(np.cumsum(rows)[best]),
        labeled_top=int(np.cumsum(labeled)[best]),
        auc_pu=auc,
        method=f"{source}, alpha {'estimated' if alpha is None else 'given'}",
        ranking=ranking,
        warnings=tuple(warnings),
        alpha_range=None if limits[0] == limits[1] else limits,
    )


def _ranked(
    X: Any, s: ArrayLike, classifier: Any, seed: int
) -> tuple[NDArray[Any], FloatArray, str]:
    """Return labels, scores and where they come from, of the rows that are tested."""
    labeled, unlabeled, _ = label_masks(s, CALLER)
    check_sizes(int(labeled.sum()), int(unlabeled.sum()), CALLER)
    if classifier is None:
        scores = as_numbers(X, "X", f"{CALLER} with classifier=None")
        check_same_length(scores, labeled, "X and s", CALLER)
        return np.asarray(s), scores, "given scores"
    classifier = named_classifier(classifier, "classifier", CALLER)
    from sklearn.utils import _safe_indexing, indexable
    from sklearn.utils.validation import _num_samples

    (features,) = indexable(X)
    check_same_length(np.empty(_num_samples(features)), labeled, "X and s", CALLER)
    kept = np.flatnonzero(labeled | unlabeled)
    features, target = _safe_indexing(features, kept), labeled[kept].astype(int)
    scored = best_scores(features, target, classifier, seed, forward_scores)
    return scored.s, scored.scores, scored.estimator_name


def _alpha_limits(alpha: Any, table: ScoreTable, seed: int) -> tuple[float, float]:
    """Return the lowest and the highest plausible alpha."""
    if alpha is not None:
        return Prior.of(alpha, 1.0, CALLER).range
    found = estimate(table, random_state=seed)
    limits = (found.alpha, found.alpha) if found.interval is None else found.interval
    # One positive and one negative at least: an interval that reaches 0 says nothing.
    least = 1 / table.n_unlabeled
    low, high = (float(np.clip(limit, least, 1 - least)) for limit in limits)
    return low, high


def _check_leaves_both(alpha: float, n_unlabeled: int) -> None:
    if not 0 < round(alpha * n_unlabeled) < n_unlabeled:
        raise InvalidInputError(
            f"{CALLER} needs an alpha that leaves positives and negatives among the "
            f"{n_unlabeled:,} unlabeled rows: with none there is nothing to compare the labels "
            f"with. Got alpha={alpha:.3g}."
        )


def _compatible_alpha(ranking: Ranking) -> float:
    """Find the largest alpha that is not rejected by halving: more positives, smaller p-value."""
    n_unlabeled = int((ranking.rows - ranking.labeled).sum())
    hidden = np.round(ALPHAS * n_unlabeled)
    alphas = ALPHAS[(hidden > 0) & (hidden < n_unlabeled)]
    first_rejected = bisect_left(
        alphas.tolist(), True, key=lambda alpha: ranking.p_value(alpha) <= LEVEL
    )
    if first_rejected == len(alphas):
        return 1.0
    return float(alphas[first_rejected - 1]) if first_rejected else 0.0


def _grouped(table: ScoreTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count rows and labels between thresholds, from the highest score down.

    Half of the thresholds are spread evenly over the rows, half are denser to the top. They do
    not depend on the labels; rows with the same score stay together.
    """
    rows = (table.labeled + table.unlabeled)[::-1].astype(np.int64)
    above, total = np.cumsum(rows), int(table.n_rows)
    even = np.linspace(0, total, N_BINS // 2 + 1)[1:]
    dense = np.geomspace(min(MIN_TOP, total), total, N_BINS // 2)
    wanted = np.unique(np.round(np.concatenate([even, dense])))
    last = np.unique(np.searchsorted(above, wanted))
    labeled = np.cumsum(table.labeled[::-1])[last]
    return np.diff(above[last], prepend=0), np.diff(labeled, prepend=0).astype(np.int64)


def _excess(rows: NDArray[np.int64], labeled: NDArray[np.int64], frequency: float) -> FloatArray:
    """Labels above each threshold beyond the most to expect, in standard errors."""
    above = np.cumsum(rows)
    # If all rows above a threshold are positive, their labels are binomial.
    error = np.sqrt(above * frequency * (1 - frequency))
    found = (np.cumsum(labeled, axis=-1) - frequency * above) / error
    excess: FloatArray = np.where(above >= MIN_TOP, found, -np.inf)
    return excess


def _posterior(rows: NDArray[np.int64], labeled: NDArray[np.int64], frequency: float) -> FloatArray:
    """Fit P(labeled) = frequency * P(positive), the latter logistic in a spline of the rank."""
    from scipy.special import expit, ndtri

    # Normal quantiles of the ranks: on this scale the logit of two normal classes is nearly linear.
    rank = -ndtri((np.cumsum(rows) - rows / 2) / rows.sum())
    design = np.column_stack(
        [np.ones(len(rows)), rank, *(np.maximum(rank - knot, 0.0) for knot in KNOTS)]
    )
    penalty = np.append(1e-4, np.full(design.shape[1] - 1, 1e-2))
    weights = np.zeros(design.shape[1])
    weights[1] = 1.0
    positive = expit(design @ weights)
    for _ in range(50):
        chance = np.clip(frequency * positive, 1e-9, 1 - 1e-9)
        slope = frequency * positive * (1 - positive)
        spread = chance * (1 - chance)
        gradient = design.T @ ((labeled - rows * chance) / spread * slope) - penalty * weights
        information = (design * (rows * slope**2 / spread)[:, None]).T @ design
        # Fisher scoring. The likelihood is flat where the posterior is near 1; without a limit a
        # step would go far beyond.
        step = np.clip(np.linalg.solve(information + np.diag(penalty), gradient), -2.0, 2.0)
        weights = weights + step
        positive = expit(design @ weights)
        if np.abs(step).max() < 1e-5:
            break
    result: FloatArray = positive
    return result


def _labels_at_random(
    rows: NDArray[np.int64],
    posterior: FloatArray,
    n_labeled: int,
    n_positive: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw classes, then labels; return labels between thresholds, one set per ``n_positive``."""
    positive = rng.binomial(rows, posterior, size=(len(n_positive), len(rows)))
    # The number of positives is known. Surplus ones are taken where classes are least certain,
    # as conditioning on the number would.
    surplus = positive.sum(axis=1) - n_positive
    doubt = rows * posterior * (1 - posterior) + 1e-12
    moved = rng.multinomial(np.abs(surplus), doubt / doubt.sum())
    positive = np.clip(positive - np.sign(surplus)[:, None] * moved, 0, rows)
    # Groups that are certain have no room to give or take; the others make up for them.
    missing = (n_positive - positive.sum(axis=1))[:, None]
    room = np.where(missing > 0, rows - positive, positive)
    positive += np.sign(missing) * _picked(room, np.abs(missing[:, 0]), rng)
    return _picked(positive, n_labeled, rng)


def _picked(
    available: NDArray[np.int64], number: Any, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Pick that many of the rows of all groups at random; return how many are of each."""
    rest = available.sum(axis=1)
    left = np.minimum(number, rest)
    picked: NDArray[np.int64] = np.empty_like(available)
    for group in range(available.shape[1]):
        rest = rest - available[:, group]
        picked[:, group] = rng.hypergeometric(available[:, group], rest, left)
        left = left - picked[:, group]
    return picked
