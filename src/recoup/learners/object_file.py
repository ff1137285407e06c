"""The file of fitted objects: what skops writes, and what is checked before it is believed.

skops builds only objects of types that are trusted. That a type is harmless does not make its
content so: compiled code follows the numbers in a tree without asking where they lead. So what
skops would trust is narrowed to the parts of scikit-learn that compute with numpy alone, and to
trees, whose numbers are looked at.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

from recoup._core.checks import brief
from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError

SCHEMA, PROTOCOL = "schema.json", 2
OWN = (
    "recoup.learners._auto.calibration.ChanceCurve",
    "recoup.learners._auto.candidates.FittedCandidate",
    "recoup.learners._auto.combining.RankCurve",
    "recoup.learners._auto.report.AutoReport",
    "recoup.learners._auto.report.CandidateReport",
    "recoup.learners._training.population.Population",
    "recoup.learners._training.bases.GaussianBasis",
    "recoup.learners._training.bases.LinearBasis",
    "recoup.learners.health.Health",
    "recoup.priors.sar_em._Logistic",
    "recoup.priors.sar_em._Wrapped",
)
FORESTS = "sklearn.ensemble._forest"
TREE = "sklearn.tree._tree.Tree"
BOOSTED_TREE = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
# Rooms of scikit-learn whose fitted estimators compute with numpy, besides the trees.
ROOMS = tuple(
    f"sklearn.{room}."
    for room in (
        "_loss",
        "compose",
        "ensemble._bagging",
        "ensemble._forest",
        "ensemble._hist_gradient_boosting",
        "ensemble._stacking",
        "ensemble._voting",
        "discriminant_analysis",
        "feature_extraction",
        "feature_selection",
        "impute",
        "linear_model",
        "naive_bayes",
        "neural_network",
        "pipeline",
        "preprocessing",
        "tree",
    )
)
# How skops may build an object: no functions, no methods, no calls but these.
LOADERS = (
    *("DictNode", "DefaultDictNode", "JsonNode", "ListNode", "SetNode", "SliceNode", "TupleNode"),
    *("NdArrayNode", "DTypeNode", "RandomGeneratorNode", "RandomStateNode"),
    *("SparseMatrixNode", "LossNode", "ObjectNode", "TreeNode", "TypeNode"),
)
MOST_GROWTH = 100  # of a file when it is unpacked


def packed_objects(objects: dict[str, Any]) -> bytes:
    """Return the content of a file that holds these objects by name."""
    import skops.io
    from skops.io.exceptions import UnsupportedTypeException

    try:
        content: bytes = skops.io.dumps(objects, compression=ZIP_DEFLATED)
    except (UnsupportedTypeException, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInputError(
            f"learners.save cannot keep {' and '.join(objects)} without a pickle: "
            f"{brief(' '.join(str(error).split()), 200)}. Keep the learner by other means."
        ) from error
    return content


def unpacked(content: bytes, trusted: Collection[str], where: str) -> dict[str, Any]:
    """Return the objects of a file, or refuse it in one line before any of them is used.

    Parameters
    ----------
    content : bytes
        What :func:`packed_objects` returned, or anybody wrote.
    trusted : collection of str
        Types to take as they are, by their full names.
    where : str
        Where it was found, for the error.
    """
    import skops.io

    try:
        nodes = _checked_nodes(content, set(trusted), where)
        known = {*OWN, TREE, BOOSTED_TREE, *trusted, *_learners()}
        strange = sorted(set(skops.io.get_untrusted_types(data=content)) - known)
        if strange:
            raise _untrusted(strange[0], where)
        objects = skops.io.loads(content, trusted=sorted(known))
        if not isinstance(objects, dict) or not nodes:
            raise ValueError("no objects by name")
        _check_trees(objects, set(trusted))
    except InvalidInputError:
        raise
    # Whatever skops, numpy and scikit-learn raise over a file that somebody made up.
    except Exception as error:
        reason = brief(" ".join(str(error).split()), 120)
        raise InvalidInputError(
            f"learners.load cannot read the objects in {where}: the file is damaged or was made by "
            f"something else ({type(error).__name__}: {reason}). Fit and save the learner again."
        ) from error
    return objects


def _learners() -> set[str]:
    return {f"{cls.__module__}.{cls.__qualname__}" for cls in registered("learners").values()}


def _untrusted(name: str, where: str) -> InvalidInputError:
    return InvalidInputError(
        f"learners.load does not trust {brief(name, 200)}, which is in {where}: it is none of the "
        f"types of recoup and scikit-learn that can do no harm. If you know who made the file, "
        f"pass trusted=[{brief(name, 200)!r}]."
    )


def _checked_nodes(content: bytes, trusted: set[str], where: str) -> list[dict[str, Any]]:
    """Look at every object that the file describes, before any is built."""
    with ZipFile(io.BytesIO(content)) as archive:
        size = sum(part.file_size for part in archive.infolist())
        if size > MOST_GROWTH * len(content):
            raise BadZipFile(f"{size:,} bytes in a file of {len(content):,}")
        described = json.loads(archive.read(SCHEMA))
        # Older ways of skops to describe objects checked less.
        if described["protocol"] < PROTOCOL:
            raise ValueError("an old protocol")
        nodes = list(_nodes(described))
        sized: dict[Any, Any] = {}
        for node in nodes:
            name = f"{node['__module__']}.{node['__class__']}"
            outside = name.startswith("sklearn.") and not name.startswith(ROOMS)
            if (outside or node["__loader__"] not in LOADERS) and name not in trusted:
                raise _untrusted(name, where)
            if node["__loader__"] == "TreeNode" and name not in trusted:
                sized |= {part["__id__"]: part for part in _tree_sizes(node, archive)}
        # skops builds what it meets first under an id, so that others there would not be seen.
        if any(sized.get(node.get("__id__"), node) != node for node in nodes):
            raise ValueError("two objects with one id")
    return nodes


def _nodes(described: Any) -> Iterator[dict[str, Any]]:
    if isinstance(described, dict):
        if "__loader__" in described:
            yield described
        for part in described.values():
            yield from _nodes(part)
    elif isinstance(described, list):
        for part in described:
            yield from _nodes(part)


def _tree_sizes(node: dict[str, Any], archive: ZipFile) -> tuple[dict[str, Any], ...]:
    """Require one output: scikit-learn reads as many numbers of classes as there are outputs."""
    sizes = node["__reduce__"]["args"]
    _, n_classes, n_outputs = sizes["content"]
    found = np.load(io.BytesIO(archive.read(n_classes["file"])), allow_pickle=False)
    if json.loads(n_outputs["content"]) != 1 or found.shape != (1,) or not 1 <= found[0] < 2**16:
        raise ValueError("a tree with other than one output")
    return sizes, n_classes, n_outputs


def _check_trees(objects: dict[str, Any], trusted: set[str]) -> None:
    """Follow the numbers in all trees: none may lead out of the tree, or out of the row."""
    for model in _estimators(objects):
        state = vars(model)
        # One of recoup's own inside another object has as much to be checked as by itself.
        if hasattr(type(model), "_check_restored"):
            model._check_restored("learners.load")
        if "tree_" in state and TREE not in trusted:
            _check_tree(state["tree_"], _n_features(model))
        # A forest looks at the rows once, for all of its trees.
        if "estimators_" in state and type(model).__module__ == FORESTS:
            sizes = {_n_features(tree) for tree in state["estimators_"]}
            if sizes != {_n_features(model)}:
                raise ValueError("a forest with trees for other rows")
        if "_predictors" in state and BOOSTED_TREE not in trusted:
            mapper = state.get("_bin_mapper")
            categories = state.get("_preprocessor") is not None or np.any(mapper.is_categorical_)
            if categories or state.get("_in_fit"):
                raise ValueError(f"boosting with categories; pass trusted=[{BOOSTED_TREE!r}]")
            for one in (tree for trees in state["_predictors"] for tree in trees):
                _check_boosted_tree(one.nodes, _n_features(model))


def _estimators(value: Any) -> Iterator[Any]:
    """Yield whatever has parts of its own, each once."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | None):
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set):
            waiting += one
        elif isinstance(one, np.ndarray):
            waiting += one.ravel().tolist() if one.dtype.kind == "O" else []
        elif hasattr(one, "__dict__") and not isinstance(one, type):
            yield one
            waiting += vars(one).values()


def _n_features(model: Any) -> int:
    # Without it, scikit-learn would take rows of any length.
    n_features = vars(model)["n_features_in_"]
    if not isinstance(n_features, int | np.integer):
        raise TypeError("a number of features that is none")
    return int(n_features)


def _check_tree(tree: Any, n_features: int) -> None:
    # Equal in a tree that was read; the count alone says how far its arrays are believed to go.
    if tree.node_count != tree.capacity or tree.node_count < 1:
        raise ValueError("a tree that counts its nodes wrongly")
    left, right = tree.children_left, tree.children_right
    check_steps(left != -1, left, right, tree.feature, n_features)


def _check_boosted_tree(nodes: Any, n_features: int) -> None:
    if nodes["is_categorical"].any():
        raise ValueError(f"boosting with categories; pass trusted=[{BOOSTED_TREE!r}]")
    inner = nodes["is_leaf"] == 0
    check_steps(inner, nodes["left"], nodes["right"], nodes["feature_idx"], n_features)


def check_steps(inner: Any, left: Any, right: Any, feature: Any, n_features: int) -> None:
    """Require that each step goes on to a later node of the tree, by a feature that rows have."""
    n_nodes = len(inner)
    place = np.arange(n_nodes)[inner]
    for child in (left, right):
        steps = np.asarray(child, dtype=np.int64)[inner]
        if n_nodes < 1 or (steps <= place).any() or (steps >= n_nodes).any():
            raise ValueError("a tree whose branches lead nowhere")
    asked = np.asarray(feature, dtype=np.int64)[inner]
    if (asked < 0).any() or (asked >= n_features).any():
        raise ValueError("a tree that asks for a feature that rows lack")
