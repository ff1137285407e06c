"""How good a classifier was week by week, while labels are still coming."""

from recoup.monitoring.alarms import Alarm
from recoup.monitoring.delays import DelayDistribution, delay_distribution
from recoup.monitoring.monitor import monitor
from recoup.monitoring.results import Monitoring, PeriodEstimate

__all__ = [
    "Alarm",
    "DelayDistribution",
    "Monitoring",
    "PeriodEstimate",
    "delay_distribution",
    "monitor",
]
