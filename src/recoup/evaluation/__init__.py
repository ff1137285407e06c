"""How good one classifier really is, and how several compare, with honest uncertainty."""

from recoup.evaluation.audited_comparison import AuditedComparison
from recoup.evaluation.compare import compare
from recoup.evaluation.comparison import Comparison, WinRange
from recoup.evaluation.differences import Difference
from recoup.evaluation.estimates import Baseline, Estimate, OperatingPoint, Sensitivity
from recoup.evaluation.evaluate import evaluate
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.promises import Promise
from recoup.evaluation.results import Evaluation
from recoup.evaluation.top_rows import TopRows
from recoup.metrics.curve_results import Band
from recoup.selection.sensitivity import SelectionSensitivity as SelectionSensitivity

__all__ = [
    "AuditedComparison",
    "Band",
    "Baseline",
    "Comparison",
    "Difference",
    "Estimate",
    "Evaluation",
    "Feasibility",
    "OperatingPoint",
    "Promise",
    "Sensitivity",
    "TopRows",
    "WinRange",
    "compare",
    "evaluate",
]
