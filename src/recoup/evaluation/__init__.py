"""How good one classifier really is, and how several compare, with honest uncertainty."""

from recoup.evaluation.audited_comparison import AuditedComparison
from recoup.evaluation.compare import compare
from recoup.evaluation.comparison import Comparison, WinRange
from recoup.evaluation.differences import Difference
from recoup.evaluation.estimates import Baseline, Estimate, OperatingPoint, Sensitivity
from recoup.evaluation.evaluate import evaluate
from recoup.evaluation.evaluate_by import evaluate_by
from recoup.evaluation.feasibility import Feasibility
from recoup.evaluation.group_metric import GroupContrast, GroupEstimate, GroupMetric
from recoup.evaluation.grouped_evaluation import GroupedEvaluation
from recoup.evaluation.next_step import NextStep
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
    "GroupContrast",
    "GroupEstimate",
    "GroupMetric",
    "GroupedEvaluation",
    "NextStep",
    "OperatingPoint",
    "Promise",
    "Sensitivity",
    "TopRows",
    "WinRange",
    "compare",
    "evaluate",
    "evaluate_by",
]
