"""Find what a room offers by the tags its classes carry, so that nothing is listed twice."""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from recoup._core.checks import brief, did_you_mean
from recoup.exceptions import InvalidInputError


@cache
def registered(room: str) -> dict[str, Any]:
    """Return the classes of a room by key, those of other packages after its own.

    A class belongs to a room if a public module there defines it and it has ``tags`` of its own.
    Other packages add classes by an entry point in the group ``recoup.<room>``.
    """
    package = import_module(f"recoup.{room}")
    found: dict[str, Any] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{package.__name__}.{info.name}")
        for cls in list(vars(module).values()):
            if not inspect.isclass(cls) or cls.__module__ != module.__name__:
                continue
            tags = vars(cls).get("tags")
            if tags is not None:
                found[tags.key] = cls
    for point in entry_points(group=package.__name__):
        found.setdefault(point.name, point.load())
    return dict(sorted(found.items()))


def find(room: str, key: str, caller: str) -> Any:
    """Return the class that a key names, or say which keys there are."""
    known = registered(room)
    if not isinstance(key, str) or key not in known:
        raise InvalidInputError(
            f"{caller} knows no {brief(key)!r}.{did_you_mean(str(key), known)} "
            f"Choose one of: {', '.join(known)}."
        )
    return known[key]


def make(room: str, key: str, caller: str, **params: Any) -> Any:
    """Build the object that a key names."""
    return find(room, key, caller)(**params)
