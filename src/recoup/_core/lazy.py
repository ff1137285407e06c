"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_from(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make ``__getattr__`` and ``__dir__`` of a package whose names live in its modules.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to str
        By name, the module that defines it: ``"table"`` below the package, ``".scores.table"``
        below recoup. ``"table:ScoreTable"`` names what the module calls it, where that differs.

    Returns
    -------
    callable, callable
        To be assigned to ``__getattr__`` and ``__dir__``.
    """

    def getattr_(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, called = homes[name].partition(":")
        module = import_module(f"recoup{home}" if home.startswith(".") else f"{package}.{home}")
        value = getattr(module, called or name)
        setattr(sys.modules[package], name, value)
        return value

    def dir_() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattr_, dir_
