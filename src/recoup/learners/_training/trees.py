"""Grow and apply extra trees on labeled and unlabeled rows, compiled on first use."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup._core.optional import require

QUADRATIC, LOGISTIC = 0, 1
# A mass of negatives this small is rounding: it is the difference of two shares.
TINY = 1e-12
# More rows than this are scored in pieces, one thread each.
ROWS_AT_ONCE = 4096

# The constants of SplitMix64, a generator that a line of integer arithmetic describes.
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
FIRST_SHIFT, SECOND_SHIFT, THIRD_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
UNUSED_BITS = np.uint64(11)


class Growth(NamedTuple):
    """How trees are grown.

    ``pi`` is the share of positives in the population, which is all rows if ``pooled`` and the
    unlabeled ones otherwise. ``clipped`` holds the mass of negatives at zero or more (nnPU).
    """

    pi: float
    pooled: bool
    clipped: bool
    loss: int
    max_features: int
    max_candidates: int
    max_depth: int
    min_rows: int


class Forest(NamedTuple):
    """The nodes of all trees, one tree after the other, each parent right before its left child.

    ``feature`` is -1 in a leaf. Rows with a value up to ``threshold`` go left, to the next node;
    the others go to the node ``right``, counted from the first of the tree, which is in ``roots``.
    ``share`` and ``vote`` are what a leaf says about its rows.
    """

    roots: NDArray[np.int64]
    feature: NDArray[np.int32]
    threshold: FloatArray
    right: NDArray[np.int32]
    share: FloatArray
    vote: NDArray[np.int8]


def grow_forest(
    X: NDArray[Any],
    labeled: NDArray[np.bool_],
    seeds: NDArray[np.uint64],
    growth: Growth,
    n_jobs: int | None,
) -> tuple[Forest, FloatArray]:
    """Grow a tree for each seed, and return how much each feature reduced the risk per tree."""
    kernel = compiled("grow", X.dtype.name)
    columns, kinds = np.ascontiguousarray(X.T), labeled.astype(np.uint8)

    def tree(seed: np.uint64) -> tuple[list[NDArray[Any]], FloatArray]:
        n_nodes, *nodes, reductions = kernel(columns, kinds, seed, *growth)
        return [values[:n_nodes].copy() for values in nodes], reductions

    trees, reductions = zip(*_in_threads(tree, seeds, n_jobs), strict=True)
    roots = np.cumsum([0, *(len(nodes[0]) for nodes in trees)])
    parts = map(np.concatenate, zip(*trees, strict=True))
    return Forest(roots, *parts), np.mean(reductions, axis=0)


def ask_forest(
    forest: Forest, X: NDArray[Any], n_jobs: int | None
) -> tuple[FloatArray, FloatArray]:
    """Return the mean share of positives in the leaves of each row, and the share of their votes.

    A row adds up its trees in their order whatever rows it comes with, so that neither depends
    on the number of threads.
    """
    kernel = compiled("ask", X.dtype.name)
    rows = np.ascontiguousarray(X)
    shares, votes = np.zeros(len(rows)), np.zeros(len(rows))

    def add_up(first: int) -> None:
        piece = slice(first, first + ROWS_AT_ONCE)
        kernel(rows[piece], *forest, shares[piece], votes[piece])

    _in_threads(add_up, range(0, len(rows), ROWS_AT_ONCE), n_jobs)
    n_trees = len(forest.roots) - 1
    return shares / n_trees, votes / n_trees


def check_forest(forest: Forest, n_features: int) -> None:
    """Refuse a forest whose numbers lead compiled code out of a tree, out of a row, or in circles.

    Raises
    ------
    ValueError
        That says what is wrong.
    """
    kinds = (np.int64, np.int32, np.float64, np.int32, np.float64, np.int8)
    parts = list(zip(forest, kinds, strict=True))
    if any(not isinstance(part, np.ndarray) or part.dtype != kind for part, kind in parts):
        raise ValueError("arrays of other types")
    roots, feature, _, right, share, vote = forest
    n_nodes = len(feature)
    if any(part.shape != (n_nodes,) for part in forest[1:]) or roots.ndim != 1 or len(roots) < 2:
        raise ValueError("arrays of other lengths")
    if roots[0] != 0 or roots[-1] != n_nodes or (roots[1:] <= roots[:-1]).any():
        raise ValueError("trees that begin elsewhere")
    sizes = np.diff(roots)
    place = np.arange(n_nodes) - np.repeat(roots[:-1], sizes)
    inner = feature >= 0
    # The left child is the next node; each step goes on, so that every walk ends in a leaf.
    last = np.repeat(sizes, sizes)[inner] - 1
    if (place[inner] >= last).any() or (right[inner] > last).any():
        raise ValueError("a branch that leads out of its tree")
    if (right[inner] <= place[inner]).any():
        raise ValueError("a branch that leads back")
    if isinstance(n_features, bool) or not isinstance(n_features, Integral):
        raise ValueError("a number of features that is none")
    if (feature >= n_features).any():
        raise ValueError("a feature that rows lack")
    if not ((share >= 0) & (share <= 1)).all() or not np.isin(vote, (0, 1)).all():
        raise ValueError("leaves that are no shares and votes")


@cache
def compiled(kernel: Literal["grow", "ask"], dtype: str) -> Callable[..., Any]:
    """Compile a kernel for one type of features, or load what an earlier process compiled."""
    numba = _numba()

    def read_only(kind: Any, n_axes: int = 1) -> Any:
        return numba.types.Array(kind, n_axes, "C", readonly=True)

    rows = read_only(getattr(numba, dtype), 2)
    whole, short, real, flag = numba.int64, numba.int32, numba.float64, numba.boolean
    if kernel == "grow":
        settings = [real, flag, flag, *[whole] * 5]
        signature = (rows, read_only(numba.uint8), numba.uint64, *settings)
        function: Callable[..., Any] = grow
    else:
        nodes = [read_only(kind) for kind in (whole, short, real, short, real, numba.int8)]
        signature = (rows, *nodes, real[::1], real[::1])
        function = ask
    try:
        return numba.njit(signature, nogil=True, cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no folder to keep it in
        return numba.njit(signature, nogil=True)(function)  # type: ignore[no-any-return]


@cache
def _numba() -> Any:
    """Import numba, and let compiled functions call those of this module."""
    numba = require("numba", purpose="PUET", install="'recoup[trees]'")
    from numba.extending import register_jitable

    for helper in (uniform, node_risk, positive_share, gather, count_left, draw_cut, part):
        register_jitable(helper)
    return numba


def uniform(state: NDArray[np.uint64]) -> float:
    """Draw a number from [0, 1) and move the generator on."""
    state[0] += STEP
    bits = state[0]
    bits = (bits ^ (bits >> FIRST_SHIFT)) * FIRST_FACTOR
    bits = (bits ^ (bits >> SECOND_SHIFT)) * SECOND_FACTOR
    bits ^= bits >> THIRD_SHIFT
    return float(bits >> UNUSED_BITS) * 2.0**-53


def node_risk(positive: float, total: float, clipped: bool, loss: int) -> float:
    r"""Return the smallest risk that one prediction for all rows of a node can have.

    ``positive`` is :math:`W_p` and ``total`` is :math:`W_p + W_n`.
    """
    if total == 0.0:
        return 0.0 if clipped else -math.inf
    negative = total - positive
    if positive == 0.0 or abs(negative) < TINY or (negative < 0.0 and clipped):
        return 0.0
    if loss == QUADRATIC:
        return 4.0 * positive * negative / total
    if negative < 0.0:
        return -math.inf
    return -(positive * math.log(positive / total) + negative * math.log(negative / total))


def positive_share(positive: float, total: float) -> float:
    """Return the share of positives in a node, as near to it as a share can be."""
    return 1.0 if total == 0.0 else min(1.0, positive / total)


def gather(
    column: NDArray[Any], rows: NDArray[np.uint32], first: int, end: int, values: NDArray[Any]
) -> tuple[float, float, float, float]:
    """Fetch a node's values of a feature; return the two lowest and the two highest distinct."""
    lowest, second_lowest = math.inf, math.inf
    highest, second_highest = -math.inf, -math.inf
    for place in range(np.uint64(first), np.uint64(end)):
        value = column[rows[place]]
        values[place] = value
        if value < second_lowest and value != lowest:
            if value < lowest:
                lowest, second_lowest = value, lowest
            else:
                second_lowest = value
        if value > second_highest and value != highest:
            if value > highest:
                highest, second_highest = value, highest
            else:
                second_highest = value
    return lowest, second_lowest, second_highest, highest


def count_left(
    values: NDArray[Any], kinds: NDArray[np.uint8], first: int, end: int, cut: float
) -> tuple[int, int]:
    """Count the rows with values up to the cut, and the labeled ones among them."""
    n_left, n_labeled = 0, 0
    for place in range(np.uint64(first), np.uint64(end)):
        goes_left = values[place] <= cut
        n_left += goes_left
        n_labeled += goes_left & kinds[place]
    return n_left, n_labeled


def draw_cut(
    along: float, lowest: float, second_lowest: float, second_highest: float, highest: float
) -> float:
    """Return a cut, a share ``along`` of the way, that leaves values on either side."""
    # Sums of products cannot overflow where a difference can.
    low = 0.6 * lowest + 0.4 * second_lowest
    high = 0.4 * second_highest + 0.6 * highest
    cut = (1.0 - along) * low + along * high
    # Between neighbouring numbers there is none, and the cut is one of them.
    if cut >= highest:
        return second_highest
    return max(cut, lowest)


def part(
    column: NDArray[Any], rows: NDArray[np.uint32], first: int, end: int, cut: float, spare: Any
) -> None:
    """Move the rows with values up to the cut before the others, both in the order they were in.

    Ascending rows are read faster. ``spare`` is room for the others in the meantime.
    """
    place, n_later = np.uint64(first), np.uint64(0)
    for old in range(place, np.uint64(end)):
        # Written to both, since a jump that cannot be foreseen takes longer.
        row = rows[old]
        rows[place] = spare[n_later] = row
        goes_left = column[row] <= cut
        place += np.uint64(goes_left)
        n_later += np.uint64(not goes_left)
    for later in range(n_later):
        rows[place + later] = spare[later]


def grow(
    columns: NDArray[Any],
    labeled: NDArray[np.uint8],
    seed: np.uint64,
    pi: float,
    pooled: bool,
    clipped: bool,
    loss: int,
    max_features: int,
    max_candidates: int,
    max_depth: int,
    min_rows: int,
) -> tuple[Any, ...]:
    """Grow one tree: return the number of its nodes, the nodes, and the reductions of the risk.

    Plain loops compile sooner than functions of arrays, and loops over unsigned places run faster
    than others, which might count from the end.
    """
    n_features, n_rows = columns.shape
    state = np.empty(1, np.uint64)
    state[0] = seed
    # A node is a stretch of rows, whose labels and values of one feature lie beside it.
    rows, spare = np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint32)
    kinds = np.empty(n_rows, np.uint8)
    values = np.empty(n_rows, columns.dtype)
    n_labeled = 0
    for row in range(n_rows):
        rows[row], kinds[row] = row, labeled[row]
        n_labeled += labeled[row]
    weight, unit = pi / n_labeled, 1.0 / (n_rows if pooled else n_rows - n_labeled)
    # Features known to be constant in a node come first; below it they still do, since nodes only
    # rearrange what comes after them.
    order = np.empty(n_features, np.int64)
    reductions = np.empty(n_features)
    for column in range(n_features):
        order[column], reductions[column] = column, 0.0

    most_nodes = 2 * n_rows - 1
    feature, right = np.empty(most_nodes, np.int32), np.empty(most_nodes, np.int32)
    threshold, share = np.empty(most_nodes), np.empty(most_nodes)
    vote = np.empty(most_nodes, np.int8)
    n_nodes = 0

    # First row, end, depth, number of constant features, and the parent of a right child.
    waiting = np.empty((n_rows + 1, 5), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4] = 0, n_rows, 0, 0, -1
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        first, end, depth = waiting[n_waiting, 0], waiting[n_waiting, 1], waiting[n_waiting, 2]
        n_constant, parent = waiting[n_waiting, 3], waiting[n_waiting, 4]
        node = n_nodes
        n_nodes += 1
        if parent >= 0:
            right[parent] = node
        size, n_positive = end - first, 0
        for place in range(first, end):
            n_positive += kinds[place]
        positive = weight * n_positive
        total = unit * (size if pooled else size - n_positive)
        risk = node_risk(positive, total, clipped, loss)

        best_score, best_feature, best_cut, n_best_left = math.inf, -1, 0.0, 0
        # The unbiased risk of a node with positives may be below zero and still fall.
        settled = risk <= 0.0 if clipped or n_positive == 0 else risk == -math.inf
        n_to_draw = 0 if settled or depth >= max_depth or size <= min_rows else max_features
        n_undrawn = n_features
        while n_to_draw > 0 and n_constant < n_undrawn:
            drawn = n_constant + int(uniform(state) * (n_undrawn - n_constant))
            candidate = order[drawn]
            lowest, second_lowest, second_highest, highest = gather(
                columns[candidate], rows, first, end, values
            )
            if lowest == highest:
                order[drawn], order[n_constant] = order[n_constant], candidate
                n_constant += 1
                continue
            n_undrawn -= 1
            order[drawn], order[n_undrawn] = order[n_undrawn], candidate
            n_to_draw -= 1
            for _ in range(max_candidates):
                cut = draw_cut(uniform(state), lowest, second_lowest, second_highest, highest)
                n_left, left_labeled = count_left(values, kinds, first, end, cut)
                n_right, right_labeled = size - n_left, n_positive - left_labeled
                left_total = unit * (n_left if pooled else n_left - left_labeled)
                right_total = unit * (n_right if pooled else n_right - right_labeled)
                score = node_risk(weight * left_labeled, left_total, clipped, loss)
                score += node_risk(weight * right_labeled, right_total, clipped, loss)
                if best_feature < 0 or score < best_score:
                    best_score, best_feature = score, candidate
                    best_cut, n_best_left = cut, n_left

        feature[node], threshold[node] = best_feature, best_cut
        right[node], share[node], vote[node] = 0, 0.0, 0
        if best_feature < 0:
            share[node] = positive_share(positive, total)
            if total > 0.0 and abs(2.0 * positive - total) < TINY:
                vote[node] = uniform(state) < 0.5
            else:
                vote[node] = total == 0.0 or 2.0 * positive > total
            continue
        # Unbounded reductions, which only the unbiased risk has, would hide all others.
        if best_score > -math.inf:
            reductions[best_feature] += risk - best_score
        middle = first + n_best_left
        part(columns[best_feature], rows, first, end, best_cut, spare)
        for place in range(first, end):
            kinds[place] = labeled[rows[place]]
        # The left child is on top, and so becomes the next node.
        for is_left in range(2):
            waiting[n_waiting, 0] = first if is_left else middle
            waiting[n_waiting, 1] = middle if is_left else end
            waiting[n_waiting, 2], waiting[n_waiting, 3] = depth + 1, n_constant
            waiting[n_waiting, 4] = -1 if is_left else node
            n_waiting += 1

    return n_nodes, feature, threshold, right, share, vote, reductions


def ask(
    rows: NDArray[Any],
    roots: NDArray[np.int64],
    feature: NDArray[np.int32],
    threshold: FloatArray,
    right: NDArray[np.int32],
    share: FloatArray,
    vote: NDArray[np.int8],
    shares: FloatArray,
    votes: FloatArray,
) -> None:
    """Add to each row's sums what its leaf in every tree says."""
    for tree in range(len(roots) - 1):
        root = roots[tree]
        for row in range(len(rows)):
            node = root
            while feature[node] >= 0:
                if rows[row, feature[node]] <= threshold[node]:
                    node += 1
                else:
                    node = root + right[node]
            shares[row] += share[node]
            votes[row] += vote[node]


def _in_threads(work: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None) -> list[Any]:
    from joblib import Parallel, delayed

    found: list[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(x) for x in items)
    return found
