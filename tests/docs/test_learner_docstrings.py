"""Learners say the same of the same parameter, name what they have fitted, and cite their paper.

Shared texts stand in every docstring instead of being put there by code: help() and ``?`` could be
served by a decorator, but editors, the site (griffe) and readers of the file see the source alone.
Here they are held together. The text of an inherited parameter begins with that of the class which
declares it, and may add sentences; change it there first, then wherever this test says so.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import fields, is_dataclass
from functools import cache

import pytest
from numpydoc.docscrape import ClassDoc

from recoup import learners
from recoup.learners import PULearner, TorchPULearner

LEARNERS = [
    getattr(learners, name)
    for name in learners.__all__
    if hasattr(getattr(learners, name), "fit") and name != "PULearner"
]
NETWORKS = [learner for learner in LEARNERS if issubclass(learner, TorchPULearner)]
EACH = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)

# Parameters of the training loop that mean something else to a learner.
OTHER_MEANING = {
    ("HolisticPU", "labeled_batch"),
    ("LBE", "epochs"),
    ("LBE", "batch_size"),
    ("PULCPBF", "labeled_batch"),
    ("RobustPU", "epochs"),
    ("RobustPU", "patience"),
}
# How the texts of parameters begin that learners without a common base have too.
OPENINGS = {
    "alpha": "Share of positives among the unlabeled rows: a number, a result of "
    ":mod:`recoup.priors`, or a word that has it estimated before training, "
    '``"estimate"`` or the key of an estimator such as ``"bbe"``.',
    "scheme": 'How the rows were collected. ``"single-sample"``: all rows are one sample of the '
    'population, and some of its positives have a label. ``"case-control"``: the unlabeled rows '
    "are the sample, and the labeled ones were collected apart.",
    "random_state": "Seed of all that is random.",
}
NO_PAPER = {"CertifiedThreshold", "Oracle", "PN", "TorchPULearner", "TunedThreshold", "WithPrior"}


@cache
def entries(learner: type, section: str) -> dict[str, tuple[str, str]]:
    """Return the types and texts of a section, by name."""
    found = ClassDoc(learner, config={"show_class_members": False})[section]
    return {entry.name: (entry.type, " ".join(" ".join(entry.desc).split())) for entry in found}


def declaring(learner: type, name: str) -> type:
    """Return the first of the bases whose docstring explains a parameter."""
    known = [
        owner
        for owner in learner.__mro__
        if is_dataclass(owner) and name in {field.name for field in fields(owner)}
    ]
    return known[-1]


def fitted_names(learner: type) -> set[str]:
    """Return the names ending in an underscore that methods of a class or its bases assign."""
    # Of wrappers, whose base assigns it by name.
    wrapped = getattr(learner, "wrapped_parameter", None)
    found = set() if wrapped is None else {f"{wrapped}_"}
    for owner in learner.__mro__:
        if not owner.__module__.startswith("recoup"):
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
        found |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
            and node.attr.endswith("_")
            and not node.attr.startswith("_")
        }
        if is_dataclass(owner):
            found |= {name for name in inspect.get_annotations(owner) if name.endswith("_")}
    return found


@pytest.mark.parametrize("learner", NETWORKS, ids=lambda learner: learner.__name__)
def test_inherited_parameters_keep_their_words(learner):
    for name, (kind, text) in entries(learner, "Parameters").items():
        source_kind, source = entries(declaring(learner, name), "Parameters")[name]
        assert kind.partition(", default=")[0] == source_kind.partition(", default=")[0], name
        if (learner.__name__, name) not in OTHER_MEANING:
            assert text.startswith(source), name


@EACH
def test_parameters_of_many_learners_begin_alike(learner):
    found = entries(learner, "Parameters")
    for name in found.keys() & OPENINGS.keys():
        assert found[name][1].startswith(OPENINGS[name]), name


@EACH
def test_what_is_fitted_is_explained(learner):
    wanted = fitted_names(learner) | {"classes_", "n_features_in_", "feature_names_in_"}
    found = entries(learner, "Attributes")
    assert set(found) == wanted
    for name, (kind, text) in found.items():
        assert kind, name
        assert text[:1].isupper(), name
        assert text.endswith("."), name


@EACH
def test_papers_are_cited(learner):
    assert bool(ClassDoc(learner, config={"show_class_members": False})["References"]) is (
        learner.__name__ not in NO_PAPER
    )


def test_all_learners_are_here():
    assert {PULearner.__name__} == {
        name
        for name in learners.__all__
        if isinstance(getattr(learners, name), type)
        and issubclass(getattr(learners, name), PULearner)
    } - {learner.__name__ for learner in LEARNERS}
