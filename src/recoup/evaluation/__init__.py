"""How good one classifier really is, and how several compare, with honest uncertainty."""

from recoup.evaluation.compare import Comparison, Difference, WinRange, compare
from recoup.evaluation.evaluate import evaluate
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.results import (
    Baseline,
    Estimate,
    Evaluation,
    OperatingPoint,
    Sensitivity,
)
from recoup.metrics.curves import Band
from recoup.selection.sensitivity import SelectionSensitivity

__all__ = [
    "Band",
    "Baseline",
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "Feasibility",
    "OperatingPoint",
    "SelectionSensitivity",
    "Sensitivity",
    "WinRange",
    "compare",
    "evaluate",
]
