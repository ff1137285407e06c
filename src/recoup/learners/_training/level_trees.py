"""Grow and apply extra trees on labeled and unlabeled rows with numpy alone, level by level.

All trees take a step at once: the rows of a level are sorted by node, and a node's counts are sums
over a stretch of them. The trees are those of ``trees`` but for their random draws: features that a
node tries are drawn with replacement, and cuts lie evenly between its lowest and highest value.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.learners._training.trees import QUADRATIC, TINY, Forest, Growth

# Rows times trees that are in work at the same time.
AT_ONCE = 400_000
# Draws of a feature for each that may turn out constant in the node.
TRIES = 4


class Level(NamedTuple):
    """The nodes at one depth of some trees; ``left`` is a child's place among those below."""

    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int64]
    share: FloatArray
    vote: NDArray[np.int8]


def grow_by_levels(
    X: NDArray[Any], labeled: NDArray[np.bool_], seeds: NDArray[np.uint64], growth: Growth
) -> tuple[Forest, FloatArray]:
    """Grow a tree for each seed, and return how much each feature reduced the risk per tree."""
    together = max(1, AT_ONCE // len(X))
    forests, reductions = [], np.zeros(X.shape[1])
    for first in range(0, len(seeds), together):
        some = seeds[first : first + together]
        levels, reduced = _grow(X, labeled, len(some), growth, np.random.default_rng(some))
        forests.append(_in_order(levels, len(some)))
        reductions += reduced
    lengths = np.concatenate([np.diff(forest.roots) for forest in forests])
    parts = (np.concatenate(parts) for parts in list(zip(*forests, strict=True))[1:])
    return Forest(np.append(0, np.cumsum(lengths)), *parts), reductions / len(seeds)


def ask_by_levels(forest: Forest, X: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Return for each row the mean share of positives in its leaves, and the share of votes."""
    roots, feature, threshold, right, share, vote = forest
    n_trees = len(roots) - 1
    shares, votes = np.zeros(len(X)), np.zeros(len(X))
    together = max(1, AT_ONCE // n_trees)
    for first in range(0, len(X), together):
        rows = X[first : first + together]
        root = np.repeat(roots[:-1], len(rows))
        row, node = np.tile(np.arange(len(rows)), n_trees), root.copy()
        inner = np.flatnonzero(feature[node] >= 0)
        while len(inner):
            at = node[inner]
            goes_left = rows[row[inner], feature[at]] <= threshold[at]
            node[inner] = np.where(goes_left, at + 1, root[inner] + right[at])
            inner = inner[feature[node[inner]] >= 0]
        # Sums along the first axis go from tree to tree, as elsewhere.
        shares[first : first + together] = share[node].reshape(n_trees, -1).sum(axis=0)
        votes[first : first + together] = vote[node].reshape(n_trees, -1).sum(axis=0)
    return shares / n_trees, votes / n_trees


def node_risks(positive: FloatArray, total: FloatArray, clipped: bool, loss: int) -> FloatArray:
    r"""Return the smallest risks that one prediction for all rows of each node can have.

    ``positive`` is :math:`W_p` and ``total`` is :math:`W_p + W_n`.
    """
    negative = total - positive
    none = (positive == 0.0) | (np.abs(negative) < TINY) | ((negative < 0.0) & clipped)
    some = np.where(none | (total == 0.0), 1.0, total)
    if loss == QUADRATIC:
        risks = 4.0 * positive * negative / some
    else:
        held = np.where(none | (negative <= 0.0), some, negative)
        logs = np.log(np.where(none, 1.0, positive) / some)
        risks = -(positive * logs + negative * np.log(held / some))
        risks = np.where(negative < 0.0, -np.inf, risks)
    risks = np.where(none, 0.0, risks)
    return np.where(total == 0.0, 0.0 if clipped else -np.inf, risks)


def _grow(
    X: NDArray[Any],
    labeled: NDArray[np.bool_],
    n_trees: int,
    growth: Growth,
    rng: np.random.Generator,
) -> tuple[list[Level], FloatArray]:
    n, d = X.shape
    n_labeled = int(labeled.sum())
    weight, unit = growth.pi / n_labeled, 1.0 / (n if growth.pooled else n - n_labeled)

    def risks(n_positive: Any, size: Any) -> FloatArray:
        total = unit * (size if growth.pooled else size - n_positive)
        return node_risks(weight * n_positive, total, growth.clipped, growth.loss)

    row, node = np.tile(np.arange(n), n_trees), np.repeat(np.arange(n_trees), n)
    kind = labeled[row].astype(float)
    levels: list[Level] = []
    reductions, count = np.zeros(d), n_trees
    while count:
        n_positive = np.asarray(np.bincount(node, kind, count), float)
        size = np.bincount(node, minlength=count).astype(float)
        risk = risks(n_positive, size)
        settled = np.where(growth.clipped | (n_positive == 0), risk <= 0.0, risk == -np.inf)
        open_nodes = np.flatnonzero(~settled & (size > growth.min_rows))
        if len(levels) >= growth.max_depth:
            open_nodes = open_nodes[:0]
        place = np.full(count, -1)
        place[open_nodes] = np.arange(len(open_nodes))
        # Rows of open nodes, in the order of their nodes.
        kept = np.flatnonzero(place[node] >= 0)
        kept = kept[np.argsort(node[kept], kind="stable")]
        row, kind, node = row[kept], kind[kept], place[node[kept]]
        score, feature, threshold = _best_cuts(
            X, row, node, kind, n_positive[open_nodes], size[open_nodes], growth, risks, rng
        )
        is_split = feature >= 0
        splits = np.flatnonzero(is_split)
        left = np.full(len(open_nodes), -1)
        left[splits] = 2 * np.arange(len(splits))
        gains = risk[open_nodes[splits]] - score[splits]
        # Unbounded reductions, which only the unbiased risk has, would hide all others.
        reductions += np.bincount(
            feature[splits], np.where(np.isfinite(score[splits]), gains, 0.0), d
        )

        level = _leaves(weight * n_positive, unit, n_positive, size, growth.pooled, rng)
        split = open_nodes[splits]
        level.feature[split], level.threshold[split] = feature[splits], threshold[splits]
        level.left[split], level.share[split], level.vote[split] = left[splits], 0.0, 0
        levels.append(level)

        moved = np.flatnonzero(is_split[node]) if len(open_nodes) else np.arange(0)
        row, kind, node = row[moved], kind[moved], node[moved]
        node = left[node] + (X[row, feature[node]] > threshold[node])
        count = 2 * len(splits)
    return levels, reductions


def _leaves(
    positive: FloatArray,
    unit: float,
    n_positive: FloatArray,
    size: FloatArray,
    pooled: bool,
    rng: np.random.Generator,
) -> Level:
    """Return the nodes of a level as if each were a leaf."""
    total = unit * (size if pooled else size - n_positive)
    share = np.where(total == 0.0, 1.0, np.minimum(1.0, positive / np.where(total == 0, 1, total)))
    tied = (total > 0.0) & (np.abs(2.0 * positive - total) < TINY)
    vote = np.where(tied, rng.random(len(size)) < 0.5, (total == 0.0) | (2.0 * positive > total))
    none = np.full(len(size), -1)
    return Level(
        none.astype(np.int32), np.zeros(len(size)), none.copy(), share, vote.astype(np.int8)
    )


def _best_cuts(
    X: NDArray[Any],
    row: NDArray[np.intp],
    node: NDArray[np.intp],
    kind: FloatArray,
    n_positive: FloatArray,
    size: FloatArray,
    growth: Growth,
    risks: Any,
    rng: np.random.Generator,
) -> tuple[FloatArray, NDArray[np.int64], FloatArray]:
    """Return for each node the lowest risk of its children, and the cut that has it."""
    n_nodes, d = len(size), X.shape[1]
    best, feature, threshold = np.full(n_nodes, np.inf), np.full(n_nodes, -1), np.zeros(n_nodes)
    if not n_nodes:
        return best, feature, threshold
    starts = np.append(0, np.cumsum(size)[:-1]).astype(np.intp)
    all_of_them = growth.max_features >= d
    n_tried = np.zeros(n_nodes, int)
    for draw in range(d if all_of_them else TRIES * growth.max_features):
        drawn = np.full(n_nodes, draw) if all_of_them else rng.integers(d, size=n_nodes)
        values = X[row, drawn[node]]
        lowest, highest = (reduce.reduceat(values, starts) for reduce in (np.minimum, np.maximum))
        usable = (highest > lowest) & (n_tried < growth.max_features)
        for _ in range(growth.max_candidates):
            along = rng.random(n_nodes)
            # Sums of products cannot overflow where a difference can.
            cut = (1.0 - along) * lowest + along * highest
            cut = np.where(cut >= highest, lowest, np.maximum(cut, lowest))
            goes_left = (values <= cut[node]).astype(float)
            n_left, positive_left = (
                np.bincount(node, weights, n_nodes) for weights in (goes_left, goes_left * kind)
            )
            score = risks(positive_left, n_left) + risks(n_positive - positive_left, size - n_left)
            better = usable & ((feature < 0) | (score < best))
            best[better], feature[better] = score[better], drawn[better]
            threshold[better] = cut[better]
        n_tried += usable
        if (n_tried >= growth.max_features).all():
            break
    return best, feature, threshold


def _in_order(levels: list[Level], n_trees: int) -> Forest:
    """Lay the nodes of each tree out so that each parent stands right before its left child."""
    sizes = [np.ones(len(level.left), np.int64) for level in levels]
    for depth in range(len(levels) - 2, -1, -1):
        inner = np.flatnonzero(levels[depth].left >= 0)
        left = levels[depth].left[inner]
        sizes[depth][inner] += sizes[depth + 1][left] + sizes[depth + 1][left + 1]
    roots = np.append(0, np.cumsum(sizes[0]))
    feature, right = (np.zeros(roots[-1], np.int32) for _ in range(2))
    threshold, share = np.zeros(roots[-1]), np.zeros(roots[-1])
    vote = np.zeros(roots[-1], np.int8)
    tree, place = np.arange(n_trees), np.zeros(n_trees, np.int64)
    for depth, level in enumerate(levels):
        at = roots[tree] + place
        feature[at], threshold[at] = level.feature, level.threshold
        share[at], vote[at] = level.share, level.vote
        inner = np.flatnonzero(level.left >= 0)
        if not len(inner):
            break
        after_left = place[inner] + 1 + sizes[depth + 1][level.left[inner]]
        right[at[inner]] = after_left
        tree = np.repeat(tree[inner], 2)
        place = np.stack([place[inner] + 1, after_left], axis=1).ravel()
    return Forest(roots, feature, threshold, right, share, vote)
