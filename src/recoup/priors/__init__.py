"""How many positives hide among the unlabeled rows, and how clean the labels are."""

from recoup.priors.bbe import BBE
from recoup.priors.results import PriorCurve, PriorEstimate

__all__ = ["BBE", "PriorCurve", "PriorEstimate"]
