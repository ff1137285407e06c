"""Every public class and function explains its parameters: meaning, type and default."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import math
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, validate

# ROOMS: the rooms whose `__all__` is checked.
ROOMS = (
    *("recoup", "recoup.bench", "recoup.data", "recoup.evaluation", "recoup.learners"),
    *("recoup.metrics", "recoup.metrics.bounds", "recoup.plot", "recoup.priors", "recoup.report"),
    *("recoup.report.leaderboard", "recoup.scores", "recoup.selection", "recoup.simulation"),
    "recoup.testing",
)

# What numpydoc looks for. Left out are matters of taste (an extended summary, an example and a
# "See Also" everywhere, the mood of verbs) and what ruff checks already (quotes, blank lines).
CODES = {
    "GL06",  # a section that numpydoc does not know, which is often a misspelled one
    "GL07",  # sections in another order than Parameters, Attributes, Returns, ..., Examples
    "GL08",  # no docstring
    "GL10",  # a directive with one colon
    "SS01",  # no summary
    "SS02",  # a summary that does not begin with a capital letter
    "SS03",  # a summary without a period
    "SS06",  # a summary of two lines
    "PR01",  # a parameter that is not explained
    "PR02",  # an explained parameter that does not exist
    "PR03",  # another order than that of the signature; see `expected_order`
    "PR04",  # no type
    "PR05",  # a type that ends with a period
    "PR06",  # "integer", "boolean" or "string" for int, bool and str
    "PR07",  # a type, but not a word on what the parameter is for
    "PR08",  # a description that does not begin with a capital letter
    "PR09",  # a description without a period
    "PR10",  # no space before the colon
    "RT01",  # something is returned, and nothing said about it
    "YD01",  # likewise for generators
}


def public_objects(room: str) -> Iterator[tuple[str, Any]]:
    """Yield classes and functions of a room and methods of the classes, by where they are defined.

    Also methods that a class has from a base which is not public itself.
    """
    module = importlib.import_module(room)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield f"{thing.__module__}.{thing.__qualname__}", thing
        if inspect.isclass(thing):
            for method in public_methods(thing):
                yield f"{method.__module__}.{method.__qualname__}", method


def public_methods(owner: type) -> Iterator[Any]:
    """Yield the methods of a class that the package itself defines."""
    # A field may have a function as its default.
    fields = {field.name for field in dataclasses.fields(owner)} if is_dataclass(owner) else set()
    for name in dir(owner):
        if name.startswith("_") or name in fields:
            continue
        found = inspect.getattr_static(owner, name)
        # Of scikit-learn's `available_if`.
        found = getattr(found, "fn", found)
        if isinstance(found, classmethod | staticmethod):
            found = found.__func__
        if inspect.isfunction(found) and found.__module__.startswith("recoup"):
            yield found


def expected_order(thing: Any) -> tuple[str, ...]:
    """Return parameters in the order in which to explain them.

    That is the order of the signature, but for dataclasses whose parameters can only be given by
    name: there, what a class adds comes before what it inherits, so that the new stands first and
    ``random_state`` last. Python builds their signatures the other way round.
    """
    names = tuple(
        {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + name
        for name, parameter in inspect.signature(thing).parameters.items()
        if name not in ("self", "cls")
    )
    if not (inspect.isclass(thing) and is_dataclass(thing)):
        return names
    kinds = {parameter.kind for parameter in inspect.signature(thing).parameters.values()}
    if kinds != {inspect.Parameter.KEYWORD_ONLY}:
        return names
    oldest: dict[str, type] = {}
    for owner in reversed(thing.__mro__):
        for name in inspect.get_annotations(owner):
            oldest.setdefault(name, owner)
    return tuple(name for owner in thing.__mro__ for name in names if oldest[name] is owner)


class Documented(Validator):  # type: ignore[misc]
    """The docstring of one object, read by numpydoc."""

    def __init__(self, obj_name: str, thing: Any) -> None:
        super().__init__(get_doc_object(thing, config={"show_class_members": False}))

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        if isinstance(self.obj, type) and issubclass(self.obj, BaseException):
            return ()
        return expected_order(self.obj)

    @property
    def doc_all_parameters(self) -> dict[str, tuple[str, list[str]]]:
        sections = ["Parameters", "Other Parameters"]
        # Of results, which nobody builds by hand, the fields are what matters.
        if is_dataclass(self.obj) and not self.doc["Parameters"]:
            names = {field.name for field in dataclasses.fields(self.obj)}
            found = self._doc_parameters(["Attributes"])
            return {name: text for name, text in found.items() if name in names}
        return self._doc_parameters(sections)


def explained(thing: Any) -> Documented:
    """Return what numpydoc reads in the docstring of a class or function."""
    return Documented("", thing)


def wrong_default(documented: str, default: Any) -> bool:
    """Whether a type does not end with the default of the signature.

    ``default=None`` may be written ``optional``; so may one that is an object without a literal.
    """
    if documented.endswith("optional"):
        return isinstance(default, bool | int | float | str)
    _, found, written = documented.rpartition("default=")
    if not found:
        return True
    if written == "nan":
        return not (isinstance(default, float) and math.isnan(default))
    try:
        value = ast.literal_eval(written)
    except (SyntaxError, ValueError):
        # The name of a constant or function.
        return isinstance(default, bool | int | float | str | None)
    return bool(value != default or isinstance(value, bool) is not isinstance(default, bool))


def default_problems(thing: Any, documented: Documented) -> Iterator[str]:
    """Yield parameters whose default is not said, or another one than the signature has.

    One entry for several parameters will do where their defaults are equal.
    """
    of_result = is_dataclass(thing) and not documented.doc["Parameters"]
    if of_result or not documented.signature_parameters:
        return
    for name, (kind, _) in documented.doc_all_parameters.items():
        parameter = inspect.signature(thing).parameters.get(name.lstrip("*"))
        if parameter is None or name.startswith("*"):
            continue
        if parameter.default is parameter.empty:
            if "default=" in kind or kind.endswith("optional"):
                yield f"{name} has no default, but is documented as {kind!r}"
        elif wrong_default(kind, default_of(thing, parameter)):
            yield f"{name} is documented as {kind!r}, its default is {parameter.default!r}"


def choice_problems(documented: Documented) -> Iterator[str]:
    """Yield descriptions that numpydoc passes over: those of parameters with a set of choices."""
    for name, (kind, lines) in documented.doc_all_parameters.items():
        text = " ".join(lines)
        if "{" in kind and not (text[:1].isupper() or text.startswith("``")):
            yield f"The description of {name} does not begin with a capital letter: {text!r}"
        if "{" in kind and not text.endswith("."):
            yield f"The description of {name} does not end with a period: {text!r}"


def default_of(thing: Any, parameter: inspect.Parameter) -> Any:
    """Return the default of a parameter, made by its factory where a dataclass has one."""
    if inspect.isclass(thing) and is_dataclass(thing):
        for field in dataclasses.fields(thing):
            if field.name == parameter.name and field.default_factory is not dataclasses.MISSING:
                return field.default_factory()
    return parameter.default


OBJECTS = {name: thing for room in ROOMS for name, thing in public_objects(room)}


@pytest.mark.parametrize("name", OBJECTS)
def test_every_parameter_is_explained(name):
    thing = OBJECTS[name]
    documented = explained(thing)
    found = validate(name, validator_cls=Documented, thing=thing)["errors"]
    problems = [f"{code}: {text}" for code, text in found if code in CODES]
    problems += [*default_problems(thing, documented), *choice_problems(documented)]
    assert not problems, f"{name}:\n" + "\n".join(problems)
