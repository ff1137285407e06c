"""Import public modules by the names they had before, for code that was written then."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# Of modules that share their name with a function of their room (recoup.report.summarize,
# recoup.priors.scar_test) only the function is found by the old name: importing such a module
# late would put it in the function's place.
MOVED = {
    "recoup.bench.compare": "recoup.bench.ranking",
    "recoup.bench.config": "recoup.bench.plan",
    "recoup.bench.grid": "recoup.bench.result_array",
    "recoup.bench.jobs": "recoup.bench.job",
    "recoup.bench.pictures": "recoup.bench.plots",
    "recoup.bench.run": "recoup.bench.runner",
    "recoup.bench.significance": "recoup.bench.hypothesis_tests",
    "recoup.comparison": "recoup.evaluation.compare",
    "recoup.data.container": "recoup.data.pu",
    "recoup.evaluation.selection": "recoup.selection.sensitivity",
    "recoup.report.render": "recoup.report.page.render",
    "recoup.scores.split": "recoup.scores.folds",
}

# Names that are others in the new module: the old one, by the new module.
RENAMED = {"recoup.bench.ranking.compare": "rank_learners"}


class _Forwarder:
    """Make a module that passes every question on to the one that took its place."""

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Say where the module is now, and ask there."""
        new = MOVED[module.__name__]
        warnings.warn(
            f"{module.__name__} is now called {new}; the old name will go in version 0.3.",
            FutureWarning,
            stacklevel=2,
        )

        def ask(name: str) -> Any:
            return getattr(import_module(new), RENAMED.get(f"{new}.{name}", name))

        module.__dict__["__getattr__"] = ask


class _Finder:
    # importlib.abc has base classes for finders and loaders, but takes as long to import as recoup.
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer for the old names alone."""
        if fullname not in MOVED:
            return None
        return ModuleSpec(fullname, _Forwarder())  # type: ignore[arg-type]


def answer_to_old_names() -> None:
    """Let old names be imported, once per process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # Last, so that it costs nothing where a module is found in its place.
        sys.meta_path.append(_Finder())
