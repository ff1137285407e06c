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
from recoup._core.random import RandomState, as_seed
from recoup._core.results import html_facts, make_frame, to_plain
from recoup._core.text import show_number, show_p, show_range
from recoup.exceptions import InvalidInputError
from recoup.metrics.area import auc_pu
from recoup.priors._solvers.column_scale import steady_columns
from recoup.priors._solvers.resample import counts_only
from recoup.priors._solvers.transform import best_scores, explained_failures, named_classifier
from recoup.priors.auto import estimate
from recoup.priors.base import UNINFORMATIVE_AUC, check_sizes, constant_scores_error
from recoup.priors.conversions import label_frequency
from recoup.scores.forward import forward_scores
from recoup.scores.table import ScoreTable
from recoup.selection.simulated_labels import Ranking, grouped, share_as_large

if TYPE_CHECKING:
    import pandas as pd

    from recoup.plot.scar import ScarDisplay

CALLER = "scar_test"
FEW_LABELED = 50
# compatible_alpha holds at this level, and is found among these values.
LEVEL = 0.05
ALPHAS = np.arange(1, 100) / 100


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
    verdict : LabelsVerdict or None
        With an audit, whether labels favor high or low scores, and by how many times the odds;
        ``statistic``, ``null`` and ``p_value`` are then those of that test, which is two-sided and
        needs no alpha. None without an audit.
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
    verdict: Any = None

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
        if self.verdict is not None:
            return (
                f"The test set hidden positives that were found by hand against labeled ones, "
                f"which needs no alpha: {self.verdict.text} By the same answers alpha is "
                f"{self.alpha:.4g}."
            )
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
        if self.verdict is not None:
            return (
                f"ScarTest(p={self.p_value:.3g}, statistic={self.statistic:.3g}, by checked rows: "
                f"labels {self.verdict.code}, odds {self.verdict.odds:.3g} "
                f"{show_range(self.verdict.odds_lower, self.verdict.odds_upper, '.3g')}, "
                f"alpha={self.alpha:.3g}, n={self.n_labeled}+{self.n_unlabeled})"
            )
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
        plain["verdict"] = None if self.verdict is None else self.verdict.to_dict()
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
        numbers = {
            name: plain[name] for name in plain if name not in ("null", "warnings", "verdict")
        }
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
        if self.verdict is not None:
            display.ax_.set_title(f"by checked rows: labels {self.verdict.code}", fontsize="medium")
            return display
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
        if self.verdict is not None:
            facts = {
                "p": facts["p"],
                "odds of a label, high scores over low": show_number(self.verdict.odds),
                "their interval": show_range(self.verdict.odds_lower, self.verdict.odds_upper),
                "by these checked rows": self.verdict.text,
                "alpha by the same rows": f"{show_number(self.alpha)}",
                "scores and test": self.method,
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
    audit: Any = None,
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
    audit : Audit, optional
        Rows that somebody checked (:mod:`recoup.audit`), in place of alpha; X is then one column
        of scores. Another test is made: whether hidden positives that were found have scores like
        those of the labeled ones, as far as the chances of a check allow. It needs no alpha, sees
        labels that favor low scores too, and ``verdict`` of the result says how much they do.

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
    if audit is not None:
        _check_audit(audit, X, alpha)
        classifier = None
    labels, scores, source = _ranked(X, s, classifier, seed)
    table = counts_only(ScoreTable._count(labels, scores, None, None, (), CALLER))
    if len(table.scores) == 1:
        raise constant_scores_error(CALLER, float(table.scores[0]))
    audited = None
    if audit is not None:
        audited = audit.labels_test(labels, scores, random_state=seed, caller=CALLER)
        _check_found(audited)
        alpha = audit.prior_estimate(labels, scores, random_state=seed, caller=CALLER).members
        alpha = _between(alpha["audited"], table)
    limits = _alpha_limits(alpha, table, seed)
    # Fewer positives leave more room for labels at random.
    share = limits[0]
    warnings: list[Note] = []
    n_labeled, n_unlabeled = int(table.n_labeled), int(table.n_unlabeled)
    _check_leaves_both(share, n_unlabeled)
    rows, labeled = grouped(table)
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
    if audited is not None:
        return ScarTest(
            statistic=audited.statistic,
            p_value=audited.verdict.p_value,
            null=audited.null,
            alpha=share,
            label_frequency=float(label_frequency(share, n_labeled, n_unlabeled)),
            n_labeled=n_labeled,
            n_unlabeled=n_unlabeled,
            n_top=int(np.cumsum(rows)[best]),
            labeled_top=int(np.cumsum(labeled)[best]),
            auc_pu=auc,
            method=f"{source}, {audited.n_found} hidden positives found by hand against labeled",
            ranking=ranking,
            warnings=tuple(warnings),
            verdict=audited.verdict,
        )
    return ScarTest(
        statistic=float(excess[best]),
        p_value=share_as_large(null, excess[best]),
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
    if isinstance(classifier, str):
        X = steady_columns(X)
    classifier = named_classifier(classifier, "classifier", CALLER)
    from sklearn.utils import _safe_indexing, indexable
    from sklearn.utils.validation import _num_samples

    (features,) = indexable(X)
    check_same_length(np.empty(_num_samples(features)), labeled, "X and s", CALLER)
    kept = np.flatnonzero(labeled | unlabeled)
    features, target = _safe_indexing(features, kept), labeled[kept].astype(int)
    with explained_failures(features, target, None, CALLER, "classifier"):
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


def _check_audit(audit: Any, X: Any, alpha: Any) -> None:
    if not hasattr(audit, "labels_test"):
        raise InvalidInputError(
            f"{CALLER} needs audit to be a recoup.audit.Audit. Got {brief(type(audit).__name__)}. "
            f"Pass plan.answers(rows, truth), or Audit.uniform(rows, truth)."
        )
    if alpha is not None:
        raise InvalidInputError(
            f"{CALLER} takes alpha or an audit, not both: the test by checked rows needs no alpha. "
            f"Drop one of them."
        )
    if np.ndim(X) != 1:
        raise InvalidInputError(
            f"{CALLER} takes an audit beside one column of scores, which say where the checked "
            f"rows lie. Got X with {np.ndim(X)} dimensions. Pass the scores as X."
        )


def _check_found(audited: Any) -> None:
    if not audited.n_found:
        raise InvalidInputError(
            f"{CALLER} needs hidden positives among the checked rows, to set against labeled ones. "
            f"Got none. Check more rows, or pass alpha."
        )


def _between(alpha: float, table: ScoreTable) -> float:
    """Leave a positive and a negative, as a test of the top rows needs."""
    least = 1 / table.n_unlabeled
    return float(np.clip(alpha, least, 1 - least))


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
