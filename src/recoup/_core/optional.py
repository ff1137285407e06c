"""Import optional packages, or say how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from recoup.exceptions import MissingDependencyError


def require(module: str, *, purpose: str, install: str) -> Any:
    """Import ``module``, or explain in one line why it is needed and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{purpose} needs the package {module!r}, which is not installed. "
            f"Install it with: pip install {install}"
        ) from error
