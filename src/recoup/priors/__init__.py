"""How many positives hide among the unlabeled rows, and how clean the labels are.

``estimate`` answers with the combination that measures best on real data; each estimator is also
a class of its own, with ``fit(X, s)``, ``fit_scores(s, scores)`` and then ``estimate_``.
"""

from recoup.priors._base import (
    FeaturePriorEstimator,
    Finding,
    PriorEstimator,
    PriorTags,
    ScorePriorEstimator,
)
from recoup.priors.alphamax import AlphaMax
from recoup.priors.auto import Auto, estimate
from recoup.priors.bbe import BBE
from recoup.priors.dedpul import DEDPUL
from recoup.priors.dist_curve import DistCurve
from recoup.priors.elkan_noto import ElkanNoto
from recoup.priors.km import KM1, KM2
from recoup.priors.noisy import AlphaMaxNoisy, NoisyPU
from recoup.priors.pe import PE
from recoup.priors.pen_l1 import PenL1
from recoup.priors.pulscar import PULSCAR
from recoup.priors.pulsnar import PULSNAR
from recoup.priors.regroup import Regroup
from recoup.priors.results import PriorCurve, PriorEstimate
from recoup.priors.roc_slope import ROCSlope
from recoup.priors.sar_em import SAREM
from recoup.priors.scar_test import ScarTest, scar_test
from recoup.priors.share_net import ShareNet
from recoup.priors.tice import TIcE

__all__ = [
    "BBE",
    "DEDPUL",
    "KM1",
    "KM2",
    "PE",
    "PULSCAR",
    "PULSNAR",
    "SAREM",
    "AlphaMax",
    "AlphaMaxNoisy",
    "Auto",
    "DistCurve",
    "ElkanNoto",
    "FeaturePriorEstimator",
    "Finding",
    "NoisyPU",
    "PenL1",
    "PriorCurve",
    "PriorEstimate",
    "PriorEstimator",
    "PriorTags",
    "ROCSlope",
    "Regroup",
    "ScarTest",
    "ScorePriorEstimator",
    "ShareNet",
    "TIcE",
    "estimate",
    "scar_test",
]
