"""Every learner survives a folder, and a folder of somebody else's does no harm."""

import io
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from collections import Counter

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from recoup import learners
from recoup._core.registry import registered
from recoup.exceptions import InvalidInputError
from recoup.learners import PUET, ElkanNoto, Naive

# As little as a fit can do.
NETWORK = {"epochs": 1, "batch_size": 64}
QUICK = {
    "auto-pu": {"n_folds": 2},
    "bagging-pu": {"n_estimators": 3},
    "cgenpu": {"hidden_units": 8, "least_steps": 1},
    "dist-pu": {"warm_up_epochs": 1},
    "holistic-pu": {"epochs": 2, "trend_epochs": 2},
    "lagam": {"warm_up_epochs": 1, "clusters": 2},
    "lbe": {"pretraining_steps": 2, "steps_per_round": 1},
    "mpe-pu": {"warm_up_epochs": 1, "alpha": 0.25},
    "propensity-weighted": {"alpha": 0.25},
    "pu-auc": {"n_basis": 10, "n_folds": 2},
    "pu-aul": {"alpha": 0.25, "n_basis": 10, "n_folds": 2},
    "puet": {"n_estimators": 3},
    "pul-cpbf": {"fence_epochs": 1},
    "pulda": {"warm_up_epochs": 1},
    "robust-pu": {"passes": 1, "warm_up_epochs": 1},
    "vae-pu": {"hidden_units": 8, "least_steps": 1},
}


def rows(n=200):
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3)) + 2 * y[:, None]
    return X, (y & (rng.random(n) < 0.5)).astype(int), y.astype(int)


def made(key, **more):
    tags = registered("learners")[key].tags
    settings = (NETWORK if tags.backend == "torch" else {}) | QUICK.get(key, {}) | more
    learner = learners.make(key, random_state=0, **settings)
    return learner.set_params(alpha=0.25) if tags.needs_alpha else learner


def fitted(learner):
    X, s, y_true = rows()
    if learner.tags.requires_true_labels:
        return learner.fit(X, s, y_true=y_true)
    return learner.fit(X, s)


def answers(learner, X):
    name = "predict_proba" if hasattr(learner, "predict_proba") else "decision_function"
    return np.column_stack([getattr(learner, name)(X), learner.predict(X)])


def same_after(learner, folder, **how):
    X = rows()[0]
    learners.save(learner, folder)
    found = learners.load(folder, **how)
    assert type(found) is type(learner)
    np.testing.assert_array_equal(answers(found, X), answers(learner, X))
    return found


@pytest.mark.parametrize("key", registered("learners"))
@pytest.mark.filterwarnings("ignore::recoup.exceptions.RecoupWarning")
def test_every_learner_answers_as_before(key, tmp_path):
    learner = fitted(made(key))
    found = same_after(learner, tmp_path)
    assert found.get_params().keys() == learner.get_params().keys()
    kept = {name for name in vars(learner) if name.endswith("_") and not name.startswith("_")}
    assert kept <= set(vars(found))
    other = "learner.safetensors" if learner.tags.backend == "torch" else "learner.skops"
    assert {path.name for path in tmp_path.iterdir()} == {"learner.json", other}
    versions = json.loads((tmp_path / "learner.json").read_text())["versions"]
    assert versions.keys() == {"recoup", "numpy", "scikit-learn", "skops"}


@pytest.mark.parametrize("classifier", ["boosting", "forest"])
@pytest.mark.parametrize("key", ["elkan-noto", "bagging-pu"])
def test_trees_inside_answer_as_before(key, classifier, tmp_path):
    more = {"n_estimators": 2} if key == "bagging-pu" else {}
    same_after(fitted(made(key, classifier=classifier, **more)), tmp_path)


def test_a_classifier_of_ones_own_comes_along(tmp_path):
    forest = RandomForestClassifier(3, max_leaf_nodes=5, random_state=0)
    found = same_after(fitted(Naive(classifier=forest, random_state=0)), tmp_path)
    assert repr(found.classifier) == repr(forest)


def test_another_learner_in_the_folder_is_replaced(tmp_path):
    learners.save(fitted(made("nnpu")), tmp_path)
    same_after(fitted(made("naive")), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"learner.json", "learner.skops"}


def test_names_of_columns_are_kept(tmp_path):
    import pandas as pd

    X, s, _ = rows()
    learner = Naive(classifier="logistic", random_state=0).fit(
        pd.DataFrame(X, columns=["a", "b", "c"]), s
    )
    found = learners.load(learners.save(learner, tmp_path))
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]


PLAIN_INSTALL = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("torch", "numba", "safetensors", "pandas"):
            raise ImportError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
from recoup import learners
X = np.random.default_rng(0).normal(size=(200, 3))
s = (X[:, 0] > 0.5).astype(int)
learners.save(learners.make("elkan-noto", random_state=0).fit(X, s), sys.argv[1] + "/new")
learners.load(sys.argv[1] + "/new").predict(X)
print(learners.load(sys.argv[1]).predict_proba(np.zeros((1, 3)))[0, 1])
"""


def test_a_plain_install_is_enough(tmp_path):
    learners.save(fitted(made("elkan-noto", classifier="boosting")), tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_INSTALL, tmp_path], capture_output=True, text=True, check=True
    )
    expected = learners.load(tmp_path).predict_proba(np.zeros((1, 3)))[0, 1]
    assert float(done.stdout) == pytest.approx(expected, abs=1e-12)


# What somebody else may have written


class Spy(ClassifierMixin, BaseEstimator):
    """A classifier that is not scikit-learn's."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def refusal(folder, **how):
    with pytest.raises(InvalidInputError) as caught:
        learners.load(folder, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rewrite(folder, change):
    """Change what the file says about its objects, or the arrays in it, by name."""
    path = folder / "learner.skops"
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    change(schema, parts)
    parts["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    without_digests(folder)


def without_digests(folder):
    """Let files be changed, as one who made them up would, or an earlier recoup wrote them."""
    path = folder / "learner.json"
    facts = json.loads(path.read_text())
    facts.pop("digests", None)
    path.write_text(json.dumps(facts))


def nodes(described):
    if isinstance(described, dict):
        yield described
        described = list(described.values())
    if isinstance(described, list):
        for part in described:
            yield from nodes(part)


@pytest.fixture
def folder(tmp_path):
    learners.save(fitted(made("naive", classifier="logistic")), tmp_path)
    return tmp_path


def other_objects(folder, **objects):
    content = {"fitted": objects, "parameters": {}}
    (folder / "learner.skops").write_bytes(skops.io.dumps(content))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Spy(), "Spy"),
        (FunctionTransformer(os.system), "posix.system"),
        (make_pipeline(FunctionTransformer(eval), LogisticRegression()), "builtins.eval"),
        (subprocess.Popen, "subprocess.Popen"),
        (LogisticRegression().fit, "LogisticRegression"),
        (KNeighborsClassifier().fit([[0.0], [1.0]], [0, 1]), "sklearn.neighbors"),
    ],
    ids=["class", "function", "inside", "type", "method", "compiled"],
)
def test_other_types_are_refused_by_name(value, name, folder):
    other_objects(folder, classifier_=value)
    message = refusal(folder)
    assert message.startswith("learners.load does not trust ")
    assert name in message
    assert "trusted=[" in message


def test_a_type_that_is_trusted_is_built(tmp_path):
    learner = fitted(Naive(classifier=Spy(), random_state=0))
    learners.save(learner, tmp_path)
    message = refusal(tmp_path)
    name = f"{Spy.__module__}.Spy"
    assert name in message
    sys.modules.setdefault(Spy.__module__, sys.modules[__name__])
    same_after(learner, tmp_path, trusted=[name])


@pytest.mark.parametrize("name", ["fit", "predict", "__class__", "_rows", "../x_"])
def test_only_fitted_attributes_are_set(name, folder):
    other_objects(folder, **{name: np.zeros(1)})
    assert "cannot read a learner" in refusal(folder)


@pytest.mark.parametrize("content", [b"", b"PK", b"cos\nsystem\n(S'true'\ntR.", "pickle", "bomb"])
def test_other_files_end_in_one_line(content, folder):
    if content == "pickle":
        import pickle

        content = pickle.dumps(LogisticRegression())
    elif content == "bomb":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", b" " * 10_000_000)
        content = packed.getvalue()
        assert len(content) < 20_000
    (folder / "learner.skops").write_bytes(content)
    assert "cannot read the objects in" in refusal(folder)


def test_no_files_outside_the_archive_are_read(folder):
    secret = folder.parent / "secret.npy"
    np.save(secret, np.zeros(3))

    def point_outside(schema, parts):
        for node in nodes(schema):
            if node.get("file"):
                node["file"] = f"../{secret.name}"

    rewrite(folder, point_outside)
    assert "cannot read the objects in" in refusal(folder)


def test_a_pipe_or_a_device_is_no_file(folder):
    (folder / "learner.json").unlink()
    os.symlink("/dev/zero", folder / "learner.json")
    assert "cannot read a learner" in refusal(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1},
        {"file": "../learner.skops", "fitted": {"fit": 1}},
        {"learner": "nnpuu"},
        {"learner": ["naive"]},
        {"parameters": {"mode": "x"}},
        {"parameters": [1]},
        {"fitted": {"alpha_": {"kind": "prior"}}},
    ],
)
def test_facts_that_cannot_be_end_in_one_line(change, folder):
    path = folder / "learner.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert "learners.load" in refusal(folder)


def test_an_old_protocol_of_skops_is_refused(folder):
    rewrite(folder, lambda schema, parts: schema.update(protocol=1))
    assert "an old protocol" in refusal(folder)


# Trees that lead astray: compiled code would follow


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def change_arrays(folder, fields, change):
    """Change all arrays of the file that have these fields."""

    def edit(schema, parts):
        found = 0
        for name, content in parts.items():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(content))
                if array.dtype.names and fields <= set(array.dtype.names):
                    change(array)
                    parts[name] = npy(array)
                    found += 1
        assert found

    rewrite(folder, edit)


def broken(field, value):
    def change(array):
        array[field][0] = value

    return change


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_child", 10**6),
        ("right_child", 0),
        ("right_child", -7),
        ("feature", 3),
        ("feature", -5),
    ],
)
def test_a_forest_that_leads_astray_is_refused(field, value, tmp_path):
    learners.save(fitted(ElkanNoto(classifier=RandomForestClassifier(2), random_state=0)), tmp_path)
    change_arrays(tmp_path, {"left_child"}, lambda array: None)
    learners.load(tmp_path)
    change_arrays(tmp_path, {"left_child"}, broken(field, value))
    assert "a tree " in refusal(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("left", 10**6), ("right", 0), ("feature_idx", 3), ("is_categorical", 1)],
)
def test_boosting_that_leads_astray_is_refused(field, value, tmp_path):
    boosting = HistGradientBoostingClassifier(max_iter=2)
    learners.save(fitted(ElkanNoto(classifier=boosting, random_state=0)), tmp_path)
    change_arrays(tmp_path, {"feature_idx"}, lambda array: None)
    learners.load(tmp_path)
    change_arrays(tmp_path, {"feature_idx"}, broken(field, value))
    assert "cannot read the objects" in refusal(tmp_path)


@pytest.mark.parametrize("what", ["outputs", "nodes", "features", "no features"])
def test_a_tree_that_lies_about_its_size_is_refused(what, tmp_path):
    learners.save(fitted(ElkanNoto(classifier=RandomForestClassifier(2), random_state=0)), tmp_path)

    def lie(schema, parts):
        for node in nodes(schema):
            if what == "outputs" and node.get("__loader__") == "TreeNode":
                node["__reduce__"]["args"]["content"][2]["content"] = "50"
            elif what == "nodes" and "node_count" in node:
                node["node_count"] |= {"content": "1", "__id__": 1}
            elif what.endswith("features") and "tree_" in node:
                node["n_features_in_"] |= {"content": "99", "__id__": 2}
                if what == "no features":
                    del node["n_features_in_"]

    rewrite(tmp_path, lie)
    assert "cannot read the objects" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("node_rights_", lambda values: values + 10**6),
        ("node_features_", lambda values: values + 3),
        ("tree_roots_", lambda values: values + 1),
        ("tree_roots_", lambda values: values[:0]),
        ("node_shares_", lambda values: values[:1]),
        ("node_votes_", lambda values: values.astype(float)),
    ],
)
def test_trees_of_puet_that_lead_astray_are_refused(name, change, tmp_path):
    learner = fitted(PUET(0.25, n_estimators=2, random_state=0))
    setattr(learner, name, change(getattr(learner, name)))
    learners.save(learner, tmp_path)
    assert "finds trees that lead nowhere" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tree_roots_", lambda values: np.array([0, 2**62, -(2**62), values[-1]])),
        ("tree_roots_", lambda values: values.astype(np.int32)),
        ("node_rights_", lambda values: np.zeros_like(values)),
        ("node_features_", lambda values: values.astype(">i4")),
        ("node_features_", lambda values: np.abs(values)),
        ("node_shares_", lambda values: values + np.nan),
        ("node_votes_", lambda values: values + np.int8(7)),
        ("node_thresholds_", lambda values: values.reshape(1, -1)),
        ("n_features_in_", lambda value: 10**6 + 0.5),
    ],
)
def test_all_numbers_in_trees_of_puet_are_looked_at(name, change, tmp_path):
    learner = fitted(PUET(0.25, n_estimators=2, random_state=0))
    setattr(learner, name, change(getattr(learner, name)))
    learners.save(learner, tmp_path)
    assert "finds trees that lead nowhere" in refusal(tmp_path)


def test_trees_of_puet_inside_another_learner_are_looked_at(tmp_path):
    outer = fitted(Naive(classifier=LogisticRegression(), random_state=0))
    outer.classifier_ = fitted(PUET(0.25, n_estimators=2, random_state=0))
    same_after(outer, tmp_path)
    outer.classifier_.node_rights_ = outer.classifier_.node_rights_ + 10**8
    learners.save(outer, tmp_path)
    assert "finds trees that lead nowhere" in refusal(tmp_path)


def test_what_is_no_learner_is_not_saved(tmp_path):
    tuned = learners.TunedThreshold(PUET(0.25), alpha=0.25)
    with pytest.raises(InvalidInputError, match="Save the learner inside it"):
        learners.save(tuned, tmp_path)


def test_any_change_of_the_files_is_noticed(tmp_path):
    learners.save(fitted(made("naive", classifier="logistic")), tmp_path / "one")
    X, s, _ = rows()
    learners.save(made("naive", classifier="logistic").fit(2 * X, s), tmp_path / "two")
    path = tmp_path / "one" / "learner.json"
    facts = json.loads(path.read_text())
    for change in ({"parameters": facts["parameters"] | {"random_state": 7}}, {"left_out": ["x"]}):
        path.write_text(json.dumps(facts | change))
        refusal(tmp_path / "one", x=1)
    path.write_text(json.dumps(facts))
    learners.load(tmp_path / "one")
    other = tmp_path / "two" / "learner.skops"
    (tmp_path / "one" / "learner.skops").write_bytes(other.read_bytes())
    assert "are not what was saved" in refusal(tmp_path / "one")
    without_digests(tmp_path / "one")
    learners.load(tmp_path / "one")


# What any damage may make of a folder

ODD = (
    *(None, True, -1, 0, 3.5, 1e308, float("nan"), "x", [], {}, [1], 10**30, [[[]]]),
    *({"kind": "names"}, {"kind": "tuple", "items": [1]}),
    {"kind": "prior", "alpha": "x", "beta": 1, "method": 2},
)


def places(value, path=()):
    """Where there is something in JSON."""
    yield path
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for name, part in pairs:
        yield from places(part, (*path, name))


def damage(folder, rng):
    """Do to a folder what disks, copies and editors do."""
    if rng.random() < 0.7:
        without_digests(folder)
    path = rng.choice(sorted(folder.iterdir()))
    how = rng.choice(["flip", "cut", "remove", "change", "change", "change", "leave out"])
    content = bytearray(path.read_bytes())
    if how == "flip":
        for _ in range(rng.randint(1, 5)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
    elif how == "cut":
        path.write_bytes(content[: rng.randrange(len(content))])
    elif how == "remove":
        path.unlink()
    else:
        facts = json.loads((folder / "learner.json").read_text())
        *way, last = rng.choice([place for place in places(facts) if place])
        inside = facts
        for name in way:
            inside = inside[name]
        if how == "change":
            inside[last] = rng.choice(ODD)
        else:
            del inside[last]
        (folder / "learner.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("key", ["naive", "puet", "nnpu"])
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_folder_is_read_or_refused_in_one_line(key, tmp_path):
    rng, X, outcomes = random.Random(key), rows()[0], Counter()
    learners.save(fitted(made(key)), tmp_path / "whole")
    for _ in range(40):
        shutil.copytree(tmp_path / "whole", tmp_path / "damaged", dirs_exist_ok=True)
        damage(tmp_path / "damaged", rng)
        try:
            answers(learners.load(tmp_path / "damaged"), X)
            outcomes["read"] += 1
        except InvalidInputError as error:
            outcomes["refused" if "\n" not in str(error) else "more lines"] += 1
    assert outcomes["more lines"] == 0
    assert outcomes["refused"] > 20
