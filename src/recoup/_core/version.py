"""Which recoup this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Return the version that is installed."""
    try:
        return version("recoup")
    except PackageNotFoundError:  # run from a folder of sources
        return "unknown"
