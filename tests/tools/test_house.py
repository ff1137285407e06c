"""What tools.house counts, on code whose counts are known."""

import ast
import json
import textwrap
from pathlib import Path

import pytest

from tools import house

ROOT = Path(__file__).parents[2]
ONE = '''
"""A module
of two lines."""

# A reason.
value = 1  # noqa: E501


def shared():
    """Do it."""
    text = "# no comment"
    return text


class _Hidden:
    def shared_too(self):
        """Not at the top level."""
'''
TWO = """
def shared(): ...
def _quiet(): ...
class _Hidden: ...
"""


@pytest.fixture
def tree(tmp_path):
    folder = tmp_path / "src" / "recoup"
    for name, text in {"a/one.py": ONE, "b/one.py": TWO, "b/__init__.py": ""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip())
    return tmp_path


def test_lines_are_told_apart(tree):
    (first, *_) = house.sources(tree)
    assert first.name == "recoup.a.one"
    assert house.docstring_lines(first.tree) == 4
    assert house.comment_lines(first.text) == 1


def test_names_that_exist_twice(tree):
    modules = house.sources(tree)
    places = ["recoup.a.one", "recoup.b.one"]
    assert house.repeated_names(modules) == {"_Hidden": places, "shared": places}
    assert house.repeated_modules(modules) == {"one": places}


def test_parameters_explained_in_their_own_class():
    class Base:
        """A base.

        Parameters
        ----------
        one, two : int
            Both.
        three
            Without a type.
        """

        def __init__(self, one, two, three=3, four=4): ...

    class Child(Base):
        """Says nothing
        four
        about them."""

    assert house.explained(Base) == (3, 4)
    assert house.explained(Child) == (0, 4)


def test_jumps_are_pairs_of_functions_of_two_modules():
    def module(name, **names):
        code = compile(textwrap.dedent(CODE[name]), name, "exec")
        made = {"__name__": f"recoup.{name}", **names}
        exec(code, made)
        return made

    far = module("far")
    near = module("near", far=far["far"], other=far["other"], through=map)
    assert house.jumps_of(near["start"]) == {"jumps": 3, "pairs": 1, "modules": 2}


CODE = {
    "far": """
        def far(x): return inner(x)
        def inner(x): return x
        def other(): return 1
    """,
    "near": """
        def start():
            helper()
            far(1), far(2), other()
        def helper():
            list(through(far, [1, 2]))
    """,
}


def test_the_calls_are_followed_in_the_recoup_of_the_tree():
    found = house.in_checkout(ROOT, "`evaluate` (arrays, alpha given)")
    assert found["jumps"] > found["pairs"] > found["modules"] > 5
    assert json.loads(json.dumps(found)) == found


def test_a_folder_without_recoup_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="needs a checkout of recoup"):
        house.sources(tmp_path)


# What two modules define under one name. Names that only the command line repeats stand for the
# same thing: a command and what it calls. The others are to go: take a name out when it is gone,
# and put none in.
REPEATED = {
    "Mixture",
    "balanced_loss",
    "consistency_loss",
    "estimated_prior",
    "load",
    "make",
    "median_distance",
    "moments",
    "posterior",
    "prepare",
}


def test_public_names_stand_for_one_thing():
    modules = [one for one in house.sources(ROOT) if not one.name.startswith("recoup.cli")]
    found = {name for name in house.repeated_names(modules) if not name.startswith("_")}
    assert found - REPEATED == set(), "defined in two modules: call one of them otherwise"
    assert REPEATED - found == set(), "no longer repeated: take these off the list"


def test_every_module_says_what_it_is_for():
    silent = [one.name for one in house.sources(ROOT) if not ast.get_docstring(one.tree)]
    assert silent == []
