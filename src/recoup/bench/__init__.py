"""Compare learners honestly: plans, runs that survive crashes, and a store of what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recoup._core.lazy import names_from

if TYPE_CHECKING:
    from recoup.bench.job import Job
    from recoup.bench.merging import merge
    from recoup.bench.plan import Plan, read_plan, shipped_plans
    from recoup.bench.runner import Outcome, run_plan
    from recoup.bench.store import Store

__all__ = ["Job", "Outcome", "Plan", "Store", "merge", "read_plan", "run_plan", "shipped_plans"]

__getattr__, __dir__ = names_from(
    __name__,
    {
        "Job": "job",
        "Outcome": "runner",
        "Plan": "plan",
        "Store": "store",
        "merge": "merging",
        "read_plan": "plan",
        "run_plan": "runner",
        "shipped_plans": "plan",
    },
)
