"""Pictures of results: Displays that draw the arrays they are given and compute nothing."""

from recoup.plot.bench import (
    CriticalDifferenceDisplay,
    LabelFrequencyDisplay,
    MechanismDisplay,
    RadarDisplay,
    RankDisplay,
    TradeOffDisplay,
)
from recoup.plot.curves import (
    CalibrationDisplay,
    LiftDisplay,
    MetricDisplay,
    PrDisplay,
    RocDisplay,
    SensitivityDisplay,
)
from recoup.plot.evaluation import EvaluationDisplay
from recoup.plot.groups import ForestDisplay
from recoup.plot.priors import PriorDisplay
from recoup.plot.probabilities import ProbabilityDisplay
from recoup.plot.scar import ScarDisplay, SelectionDisplay
from recoup.plot.weeks import PeriodsDisplay

__all__ = [
    "CalibrationDisplay",
    "CriticalDifferenceDisplay",
    "EvaluationDisplay",
    "ForestDisplay",
    "LabelFrequencyDisplay",
    "LiftDisplay",
    "MechanismDisplay",
    "MetricDisplay",
    "PeriodsDisplay",
    "PrDisplay",
    "PriorDisplay",
    "ProbabilityDisplay",
    "RadarDisplay",
    "RankDisplay",
    "RocDisplay",
    "ScarDisplay",
    "SelectionDisplay",
    "SensitivityDisplay",
    "TradeOffDisplay",
]
