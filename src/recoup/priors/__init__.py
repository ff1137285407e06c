"""How many positives hide among the unlabeled rows, and how clean the labels are."""

from recoup.priors._base import PriorEstimator, PriorTags
from recoup.priors.auto import estimate
from recoup.priors.bbe import BBE
from recoup.priors.results import PriorCurve, PriorEstimate

__all__ = ["BBE", "PriorCurve", "PriorEstimate", "PriorEstimator", "PriorTags", "estimate"]
