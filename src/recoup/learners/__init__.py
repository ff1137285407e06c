"""Classifiers for positive-unlabeled data: fit them on X and s, get scores back."""

from typing import Any

from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.bagging import BaggingPU
from recoup.learners.base import LearnerTags, PULearner
from recoup.learners.cgenpu import CGenPU
from recoup.learners.dist_pu import DistPU
from recoup.learners.elkan_noto import ElkanNoto
from recoup.learners.holistic_pu import HolisticPU
from recoup.learners.lagam import LaGAM
from recoup.learners.lbe import LBE
from recoup.learners.mpe_pu import MPEPU
from recoup.learners.naive import Naive
from recoup.learners.nnpu import NNPU
from recoup.learners.oracle import Oracle
from recoup.learners.p3mix import P3Mix
from recoup.learners.pan import PAN
from recoup.learners.pn import PN
from recoup.learners.propensity_weighted import PropensityWeighted
from recoup.learners.pu_auc import PUAUC, PUAUL
from recoup.learners.puet import PUET
from recoup.learners.pul_cpbf import PULCPBF
from recoup.learners.pulda import PULDA
from recoup.learners.pusb import PUSB
from recoup.learners.robust_pu import RobustPU
from recoup.learners.sar_em import SAREM
from recoup.learners.saving import load, save
from recoup.learners.self_pu import SelfPU
from recoup.learners.tuned_threshold import TunedThreshold
from recoup.learners.two_step import TwoStep
from recoup.learners.upu import UPU
from recoup.learners.vae_pu import VAEPU
from recoup.learners.vpu import VPU
from recoup.learners.weighted import Weighted
from recoup.learners.with_prior import WithPrior

__all__ = [
    "LBE",
    "MPEPU",
    "NNPU",
    "PAN",
    "PN",
    "PUAUC",
    "PUAUL",
    "PUET",
    "PULCPBF",
    "PULDA",
    "PUSB",
    "SAREM",
    "UPU",
    "VAEPU",
    "VPU",
    "BaggingPU",
    "Batch",
    "CGenPU",
    "DistPU",
    "ElkanNoto",
    "HolisticPU",
    "LaGAM",
    "LearnerTags",
    "Naive",
    "Oracle",
    "P3Mix",
    "PULearner",
    "PropensityWeighted",
    "RobustPU",
    "SelfPU",
    "Stage",
    "TorchPULearner",
    "TunedThreshold",
    "TwoStep",
    "Weighted",
    "WithPrior",
    "load",
    "make",
    "save",
]


def make(key: str, **params: Any) -> PULearner:
    """Build the learner that a key names.

    Parameters
    ----------
    key : str
        The key of a learner, such as ``"nnpu"``; ``recoup list learners`` shows all of them.
    **params
        Parameters of that learner, by name, as in its class.

    Returns
    -------
    PULearner
        Not fitted yet.

    Examples
    --------
    >>> make("pu-aul", alpha=0.3)
    PUAUL(alpha=0.3)
    """
    from recoup._core import registry as _registry

    learner: PULearner = _registry.make("learners", key, "learners.make", **params)
    return learner
