"""Compare learners honestly: plans, runs that survive crashes, and a store of what came out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recoup.bench.config import Plan, read_plan, shipped_plans
    from recoup.bench.jobs import Job
    from recoup.bench.run import Outcome, run_plan
    from recoup.bench.store import Store, merge

__all__ = ["Job", "Outcome", "Plan", "Store", "merge", "read_plan", "run_plan", "shipped_plans"]

_HOMES = {
    "Job": "jobs",
    "Outcome": "run",
    "Plan": "config",
    "Store": "store",
    "merge": "store",
    "read_plan": "config",
    "run_plan": "run",
    "shipped_plans": "config",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'recoup.bench' has no attribute {name!r}")
    value = getattr(import_module(f"recoup.bench.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is here, imported or not."""
    return sorted({*globals(), *__all__})
