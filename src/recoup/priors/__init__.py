"""How many positives hide among the unlabeled rows, and how clean the labels are.

``estimate`` answers with the combination that measures best on real data; each estimator is also
a class of its own, with ``fit(X, s)``, ``fit_scores(s, scores)`` and then ``estimate_``.
"""

from __future__ import annotations

from recoup._core.lazy import names_from
from recoup.priors.alphamax import AlphaMax
from recoup.priors.auto import Auto, estimate
from recoup.priors.auto_1 import Auto1
from recoup.priors.base import (
    FeaturePriorEstimator,
    Finding,
    PriorEstimator,
    PriorTags,
    ScorePriorEstimator,
)
from recoup.priors.bbe import BBE
from recoup.priors.dedpul import DEDPUL
from recoup.priors.dist_curve import DistCurve
from recoup.priors.elkan_noto import ElkanNotoPrior
from recoup.priors.km import KM1, KM2
from recoup.priors.labels import Kind, LabelSelection
from recoup.priors.noisy import AlphaMaxNoisy, NoisyPU
from recoup.priors.pe import PE
from recoup.priors.pen_l1 import PenL1
from recoup.priors.pulscar import PULSCAR
from recoup.priors.pulsnar import PULSNAR
from recoup.priors.regroup import Regroup
from recoup.priors.results import Derived, PriorCurve, PriorEstimate
from recoup.priors.roc_slope import ROCSlope
from recoup.priors.sar_em import SAREMPrior
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
    "AlphaMax",
    "AlphaMaxNoisy",
    "Auto",
    "Auto1",
    "Derived",
    "DistCurve",
    "ElkanNotoPrior",
    "FeaturePriorEstimator",
    "Finding",
    "Kind",
    "LabelSelection",
    "NoisyPU",
    "PenL1",
    "PriorCurve",
    "PriorEstimate",
    "PriorEstimator",
    "PriorTags",
    "ROCSlope",
    "Regroup",
    "SAREMPrior",
    "ScorePriorEstimator",
    "ShareNet",
    "TIcE",
    "estimate",
]

# Names of before: the SCAR test has a room of its own now, and two estimators shared their names
# with learners.
__getattr__, __dir__ = names_from(
    __name__,
    {
        "ElkanNoto": "elkan_noto:ElkanNotoPrior",
        "SAREM": "sar_em:SAREMPrior",
        "ScarTest": ".selection.scar",
        "scar_test": ".selection.scar",
    },
)
