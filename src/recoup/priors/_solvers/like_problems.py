"""Problems of known truth that are like the one at hand, found by trees and shipped as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.exceptions import InvalidInputError
from recoup.priors._solvers.network import read_arrays, save_arrays

LEAF = -1


@dataclass(frozen=True, eq=False)
class LikeProblems:
    """Problems of known truth, and trees that say which of them a new one is like.

    A problem counts by how often it falls into the same leaf as the new one, and by how few
    others do. Whatever is known of the problems then has a distribution given the new one.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,)
        What each node asks about; -1 in leaves.
    threshold : ndarray of shape (n_nodes,)
        Values up to this go left.
    left, right : ndarray of shape (n_nodes,)
        The nodes that follow.
    roots : ndarray of shape (n_trees,)
        First node of each tree.
    truth : ndarray of shape (n_problems,)
        What is asked of each problem.
    way : ndarray of shape (n_problems,)
        The kind of each problem.
    weight : ndarray of shape (n_problems,)
        How much each counts.
    leaves : ndarray of shape (n_trees, n_problems)
        Where each problem falls.
    meta : dict
        What the file says about its training.
    """

    feature: NDArray[np.int_]
    threshold: FloatArray
    left: NDArray[np.int_]
    right: NDArray[np.int_]
    roots: NDArray[np.int_]
    truth: FloatArray
    way: NDArray[np.int_]
    weight: FloatArray
    leaves: NDArray[np.int_]
    meta: Mapping[str, Any] = field(default_factory=dict)

    def find_leaves(self, inputs: FloatArray) -> NDArray[np.int_]:
        """Return the leaf of every tree that one problem falls into."""
        node = self.roots
        while True:
            asked = self.feature[node]
            if (asked == LEAF).all():
                return node
            goes_left = inputs[asked] <= self.threshold[node]
            following = np.where(goes_left, self.left[node], self.right[node])
            node = np.where(asked == LEAF, node, following)

    def likeness(self, inputs: FloatArray) -> FloatArray:
        """Return how much each problem tells about a new one; they add up to 1."""
        same = self.leaves == self.find_leaves(inputs)[:, None]
        counts = same * self.weight
        counts = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-12)
        found: FloatArray = counts.mean(axis=0)
        return found


def weighted_quantiles(
    values: FloatArray, weights: FloatArray, levels: tuple[float, ...]
) -> FloatArray:
    """Return quantiles of weighted values, between neighbors in a straight line."""
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order]) - weights[order] / 2
    found: FloatArray = np.interp(levels, passed / weights.sum(), values[order])
    return found


@cache
def load_problems(name: str) -> LikeProblems:
    """Return problems that travel with the package, by the name of their file."""
    with as_file(files("recoup.priors") / "weights" / f"{name}.npz") as path:
        return read_problems(path)


def read_problems(path: str | Path) -> LikeProblems:
    """Read problems and their trees, and refuse a file whose numbers are not those saved."""
    arrays, meta = read_arrays(path)
    if "leaves" not in arrays:
        raise InvalidInputError(
            f"read_problems needs a file with problems and trees. Got {Path(path).name}, which has "
            f"{', '.join(sorted(arrays))}. Pass one that tools/training made for it."
        )
    trees: dict[str, Any] = {
        key: arrays[key].astype(int)
        for key in ("feature", "left", "right", "roots", "way", "leaves")
    }
    # Nodes are stored as their place in their tree.
    first = trees["roots"]
    sizes = np.diff(first, append=len(trees["feature"]))
    for key in ("left", "right"):
        trees[key] = trees[key] + np.repeat(first, sizes)
    trees["leaves"] = trees["leaves"] + first[:, None]
    values: dict[str, Any] = {
        key: arrays[key].astype(np.float64) for key in ("threshold", "truth", "weight")
    }
    return LikeProblems(**trees, **values, meta=meta)


def save_problems(path: str | Path, problems: LikeProblems) -> None:
    """Write what :func:`read_problems` reads; the same arrays give the same file."""
    first = np.repeat(problems.roots, np.diff(problems.roots, append=len(problems.feature)))
    arrays: dict[str, NDArray[Any]] = {
        "feature": problems.feature.astype("<i2"),
        "left": (problems.left - first).astype("<u2"),
        "right": (problems.right - first).astype("<u2"),
        "roots": problems.roots.astype("<i4"),
        "leaves": (problems.leaves - problems.roots[:, None]).astype("<u2"),
        "way": problems.way.astype("<i1"),
        "threshold": problems.threshold.astype("<f4"),
        "truth": problems.truth.astype("<f4"),
        "weight": problems.weight.astype("<f4"),
    }
    save_arrays(path, arrays, problems.meta)


def from_forest(
    forest: Any,
    inputs: FloatArray,
    truth: FloatArray,
    way: NDArray[np.int_],
    weight: FloatArray,
    meta: Mapping[str, Any],
) -> LikeProblems:
    """Take the trees of a fitted forest of scikit-learn, and let the problems fall through them.

    Parameters
    ----------
    forest : estimator with ``estimators_``
        The forest.
    inputs : ndarray of shape (n_problems, n_inputs)
        Readings of each problem.
    truth, way, weight : ndarray of shape (n_problems,)
        As in :class:`LikeProblems`.
    meta : dict
        About the training; must be plain JSON.
    """
    parts: dict[str, list[Any]] = {key: [] for key in ("feature", "threshold", "left", "right")}
    roots, start = [], 0
    for tree in (each.tree_ for each in forest.estimators_):
        inner = tree.children_left != LEAF
        parts["feature"].append(np.where(inner, tree.feature, LEAF))
        # As they will be read again, so that problems fall into the same leaves then.
        parts["threshold"].append(tree.threshold.astype(np.float32).astype(np.float64))
        parts["left"].append(np.where(inner, tree.children_left, 0) + start)
        parts["right"].append(np.where(inner, tree.children_right, 0) + start)
        roots.append(start)
        start += tree.node_count
    joined: dict[str, Any] = {key: np.concatenate(values) for key, values in parts.items()}
    truth, weight = (values.astype(np.float32).astype(np.float64) for values in (truth, weight))
    empty = np.zeros((len(roots), 0), int)
    found = LikeProblems(
        **joined, roots=np.array(roots), truth=truth, way=way, weight=weight, leaves=empty
    )
    leaves = np.array([found.find_leaves(row) for row in inputs]).T
    return LikeProblems(
        **joined,
        roots=np.array(roots),
        truth=truth,
        way=way,
        weight=weight,
        leaves=leaves,
        meta=meta,
    )
