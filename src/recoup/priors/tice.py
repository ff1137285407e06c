"""TIcE: the largest label share that a decision tree can certify."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Nothing, Number, WholeNumber
from recoup._core.notes import Note
from recoup.priors.base import FeaturePriorEstimator, Finding, PriorTags
from recoup.priors.conversions import alpha_from_label_frequency
from recoup.priors.results import PriorCurve

Rows: TypeAlias = NDArray[np.intp]
Codes: TypeAlias = NDArray[np.int16]
Mask: TypeAlias = NDArray[np.bool_]

# Nodes with fewer rows than this certify nothing, nor are they split.
MIN_ROWS = 10
# The same as a share of all rows that judge, and as a power of their number. The published limit
# of 10 rows is not enough: among thousands of small nodes some beat any margin by chance.
MIN_SHARE, MIN_POWER = 0.005, 0.4
# Points that the curve shows at most.
SHOWN = 500


@dataclass(kw_only=True, eq=False, repr=False)
class TIcE(FeaturePriorEstimator):
    r"""Largest share of labeled rows, less a margin for noise, among the nodes of a tree.

    In a part of the feature space without negatives the share of labeled rows is :math:`c`, the
    share of positives that are labeled; elsewhere it is lower. Trees look for such parts in one
    fold of the rows. The other folds certify, for a node with :math:`l` labeled of :math:`t` rows,

    .. math::

       c \ge \frac{l}{t} - \sqrt{\frac{c (1 - c) (1 - \delta)}{\delta t}},
       \qquad \alpha = \frac{n_l}{n_u} \, \frac{1 - c}{c}

    The best bound of each fold is averaged over the folds, first with 0.5 for the :math:`c` under
    the root, then with the average found so.

    Parameters
    ----------
    delta : float or None, default=0.2
        Chance that a bound fails for one node. None: ``max(0.025, 1 / (1 + 0.004 * rows))``, as
        first published; alpha is then higher.
    k : float, default=10.0
        Added to the rows of each part when splits are compared, so that small parts do not win
        by chance.
    n_folds : int, default=10
        Number of folds; each grows one tree.
    n_cuts : int, default=40
        Cuts of each feature into the parts of a split, at quantiles; features with fewer distinct
        values are cut between all of them.
    max_splits : int, default=500
        How many splits each tree has, at most.
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        Not used: this estimator reads the features themselves. It is here so that all estimators
        take the same parameters.
    interval : {"subsample", "bootstrap", "refit"} or None, default="bootstrap"
        How the interval around alpha is made. ``"subsample"`` draws fewer rows without
        replacement and scales the spread down; ``"bootstrap"`` and ``"refit"`` draw as many rows
        with replacement. Every draw runs the whole method. None: no interval.
    n_draws : int, default=30
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

    Notes
    -----
    The defaults are those that Ivanov found much more accurate than the first ones (5 folds,
    k = 5, cuts at 0.25, 0.5 and 0.75 of the range). Quantiles replace parts of the range because
    one outlier would move all cuts, with two more near either end for positives that are rare.
    Nodes count only if they hold enough rows: 0.5% of them, but never more than :math:`n^{0.4}`
    and never fewer than 10.

    The default interval is the bootstrap, because bounds from smaller samples are so much looser
    that subsamples tell little about all rows.

    Scores of a classifier, by ``fit_scores``, usually give better estimates than many features.
    With few labeled rows and a large alpha the best of many nodes is best by chance, and the
    estimate too low; where classes overlap everywhere it is too high.

    References
    ----------
    Bekker and Davis, "Estimating the class prior in positive and unlabeled data through decision
    tree induction", AAAI 2018, Algorithms 1 and 2. Ivanov, "DEDPUL: difference-of-estimated-
    densities-based positive-unlabeled learning", ICMLA 2020.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat([1, 0], [1000, 4000])
    >>> positive = (s == 1) | (rng.random(5000) < 0.3)
    >>> X = np.column_stack([rng.normal(4.0 * positive), rng.normal(size=5000)])
    >>> round(TIcE(interval=None).fit(X, s).alpha_, 1)
    0.3
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="tice",
        reads="features",
        assumes="few cuts of the features enclose a region without negatives",
        cost="features x n, times the depth of the trees",
        source="Bekker and Davis 2018",
    )
    constraints: ClassVar[Constraints] = {
        "delta": Number(above=0, below=1) | Nothing(),
        "k": Number(least=0),
        "n_folds": WholeNumber(2),
        "n_cuts": WholeNumber(1, 1000),
        "max_splits": WholeNumber(),
    }

    interval: str | None = "bootstrap"
    n_draws: int = 30
    delta: float | None = 0.2
    k: float = 10.0
    n_folds: int = 10
    n_cuts: int = 40
    max_splits: int = 500

    def _solve(self, X: FloatArray, s: NDArray[np.int_], rng: np.random.Generator) -> Finding:
        labeled = s == 1
        codes = _coded(X, self.n_cuts)
        folds = rng.permutation(np.arange(len(s)) % self.n_folds)
        c = 0.5
        # The margin depends on c itself: the second round uses the c of the first.
        for _ in range(2):
            grown = [self._grow(codes, labeled, folds == fold, c) for fold in range(self.n_folds)]
            c = float(np.mean([tree.best for tree in grown]))
        n_l = int(labeled.sum())
        stuck = sum(tree.best == tree.start for tree in grown) > self.n_folds / 2
        warnings: tuple[Note, ...] = ()
        if stuck:
            warnings = (
                Note(
                    "fallback",
                    "Most trees certify no part of the rows with a larger share of labels than the "
                    "whole: alpha is a fallback near 1. Use more rows, or scores of a classifier.",
                ),
            )
        return Finding(
            float(alpha_from_label_frequency(c, n_l, len(s) - n_l)),
            curve=_picture(grown, c),
            converged=not stuck,
            warnings=warnings,
        )

    def _grow(self, codes: Codes, labeled: Mask, in_fold: Mask, c: float) -> _Tree:
        """Grow one tree best-first on a fold, and bound c by its nodes in the other folds."""
        to_grow, to_judge = np.flatnonzero(in_fold), np.flatnonzero(~in_fold)
        delta = self.delta
        if delta is None:
            delta = max(0.025, 1 / (1 + 0.004 * len(to_judge)))
        # Cantelli's inequality, times the rows of a node.
        margin = c * (1 - c) * (1 - delta) / delta
        enough = max(MIN_ROWS, min(MIN_SHARE * len(to_judge), len(to_judge) ** MIN_POWER))
        start = best = float(labeled[to_judge].mean())
        nodes = [np.array([[len(to_judge)], [labeled[to_judge].sum()]])]
        # The numbers in the order of arrival break ties: nodes themselves cannot be compared.
        root = _Node(to_grow, to_judge, np.arange(codes.shape[1]))
        queue, n_pushed = [(0.0, 0, root)], 0
        for _ in range(self.max_splits):
            if not queue:
                break
            node = heapq.heappop(queue)[2]
            feature, others = _best_split(codes, labeled, node, self.n_cuts + 1, self.k)
            if feature is None:
                continue
            parts_grown, parts = codes[node.to_grow, feature], codes[node.to_judge, feature]
            t_grown, l_grown = _counts(parts_grown, labeled[node.to_grow], self.n_cuts + 1)
            t, hits = _counts(parts, labeled[node.to_judge], self.n_cuts + 1)
            nodes.append(np.array([t, hits])[:, t > 0])
            best = max(best, float(_lower_bounds(hits, t, margin, enough).max()))
            open_parts = (
                # Fewer labeled rows could not beat the best bound, even without any others.
                (hits * (1 - best) ** 2 > margin)
                & (t_grown > MIN_ROWS)
                & (l_grown > 0)
                & (l_grown < t_grown)
            )
            ranks = _lower_bounds(l_grown, t_grown, margin, MIN_ROWS)
            for part in np.flatnonzero(open_parts):
                n_pushed += 1
                child = _Node(
                    node.to_grow[parts_grown == part], node.to_judge[parts == part], others
                )
                heapq.heappush(queue, (-float(ranks[part]), n_pushed, child))
        sizes, hits = np.concatenate(nodes, axis=1)
        return _Tree(start, best, sizes, hits / sizes, _lower_bounds(hits, sizes, margin, enough))


class _Node(NamedTuple):
    """Rows of a node, in the fold and in the others, and features that may still split them."""

    to_grow: Rows
    to_judge: Rows
    features: Rows


class _Tree(NamedTuple):
    """The bound of the whole, the best bound, and all nodes outside the fold."""

    start: float
    best: float
    sizes: NDArray[Any]
    shares: FloatArray
    bounds: FloatArray


def _coded(X: FloatArray, n_cuts: int) -> Codes:
    """Replace values by the number of cuts at or below them."""
    # Two cuts nearer to each end find regions of rare positives, which even spacing would dilute.
    ends = np.array([1 / 8, 1 / 2]) if n_cuts >= 8 else np.array([])
    n_even = n_cuts - 2 * len(ends)
    even = np.arange(1, n_even + 1) / (n_even + 1)
    levels = np.sort(np.concatenate([ends / (n_even + 1), even, 1 - ends / (n_even + 1)]))
    codes = np.empty(X.shape, np.int16, order="F")
    for feature, column in enumerate(X.T):
        ordered = np.sort(column)
        distinct = ordered[np.append(True, ordered[1:] != ordered[:-1])]
        cuts = distinct[1:]
        if len(cuts) > n_cuts:
            cuts = ordered[np.ceil(levels * (len(ordered) - 1)).astype(np.intp)]
        codes[:, feature] = np.searchsorted(cuts, column, side="right")
    return codes


def _counts(parts: Codes, labeled: Mask, n_parts: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and labeled rows of each part."""
    return np.bincount(parts, minlength=n_parts), np.bincount(parts[labeled], minlength=n_parts)


def _lower_bounds(
    hits: NDArray[Any], sizes: NDArray[Any], margin: float, enough: float
) -> FloatArray:
    """Label share less its margin; 0 for nodes too small to tell."""
    rows = np.maximum(sizes, 1)
    bounds: FloatArray = np.where(sizes < enough, 0.0, hits / rows - np.sqrt(margin / rows))
    return bounds


def _best_split(
    codes: Codes, labeled: Mask, node: _Node, n_parts: int, k: float
) -> tuple[int | None, Rows]:
    """Choose the feature with the part richest in labels; return it and those left for later."""
    n_features = len(node.features)
    shape = (n_features, n_parts)
    # One count for all features: each has its own range of numbers.
    numbers = codes[np.ix_(node.to_grow, node.features)] + np.arange(n_features) * n_parts
    t, hits = (
        np.bincount(chosen.ravel(), minlength=n_features * n_parts).reshape(shape)
        for chosen in (numbers, numbers[labeled[node.to_grow]])
    )
    splits = np.count_nonzero(t, axis=1) > 1
    if not splits.any():
        return None, node.features
    richest = np.where(splits, (hits / (t + k)).max(axis=1), -1.0)
    at = int(richest.argmax())
    splits[at] = False
    return int(node.features[at]), node.features[splits]


def _picture(grown: list[_Tree], c: float) -> PriorCurve:
    sizes, shares, bounds = (
        np.concatenate([getattr(tree, name) for tree in grown])
        for name in ("sizes", "shares", "bounds")
    )
    kept = sizes >= MIN_ROWS
    order = np.argsort(sizes[kept], kind="stable")
    sizes, shares, bounds = (values[kept][order] for values in (sizes, shares, bounds))
    # Single nodes scatter: shown is the best among those at least as large.
    best_shares, best_bounds = (
        np.maximum.accumulate(values[::-1])[::-1] for values in (shares, bounds)
    )
    chosen = int(bounds.argmax())
    shown = np.union1d(np.linspace(0, len(sizes) - 1, SHOWN).astype(np.intp), [chosen])
    return PriorCurve(
        x=sizes[shown].astype(float),
        lines={"label share": best_shares[shown], "lower bound": best_bounds[shown]},
        x_label="rows in a node, at least",
        y_label="largest share of labeled rows",
        marker=float(sizes[chosen]),
        level=c,
    )
