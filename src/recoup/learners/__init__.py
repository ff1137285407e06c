"""Classifiers for positive-unlabeled data: fit them on X and s, get scores back."""

from typing import Any

from recoup.learners._auto.report import AutoReport, CandidateReport
from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.auto_pu import AutoPU
from recoup.learners.bagging import BaggingPU
from recoup.learners.base import LearnerTags, PULearner
from recoup.learners.certified_threshold import CertifiedThreshold
from recoup.learners.cgenpu import CGenPU
from recoup.learners.dist_pu import DistPU
from recoup.learners.elkan_noto import ElkanNoto
from recoup.learners.health import Health
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
    "AutoPU",
    "AutoReport",
    "BaggingPU",
    "Batch",
    "CGenPU",
    "CandidateReport",
    "CertifiedThreshold",
    "DistPU",
    "ElkanNoto",
    "Health",
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
    "presets",
    "save",
]

# What the names of presets mean wherever a learner has them.
_PRESETS = {
    "paper": "as its authors published it",
    "pubench": "with the training settings of the PU-Bench release",
    "pubench-c": "with the training settings of the PU-Bench release for mode c",
}
# Their own number of steps an epoch belongs to what benchmarks of them were run with.
_FLOOR_IS_PUBLISHED = ("cgenpu", "vae-pu", "vpu")


def make(key: str, preset: str | None = None, **params: Any) -> PULearner:
    """Build the learner that a key names.

    Parameters
    ----------
    key : str
        The key of a learner, such as ``"nnpu"``; ``recoup list learners`` shows all of them.
    preset : str or None, default=None
        The name of settings that belong together: ``"paper"`` for a method as its authors published
        it, where our defaults depart from that, ``"pubench"`` for the training settings of the
        PU-Bench release. :func:`presets` says what they are. None takes the defaults.
    **params
        Parameters of that learner, by name, as in its class. They come after those of the preset,
        and so replace them.

    Returns
    -------
    PULearner
        Not fitted yet.

    Examples
    --------
    >>> make("pu-aul", alpha=0.3)
    PUAUL(alpha=0.3)
    >>> make("puet", preset="pubench", max_depth=10)
    PUET(guard='warn', max_depth=10, n_estimators=30, threshold='own')
    """
    from recoup._core import registry as _registry

    settings: dict[str, Any] = {}
    if preset is not None:
        settings |= _preset(key, preset)
    learner: PULearner = _registry.make("learners", key, "learners.make", **settings | params)
    return learner


def presets(key: str) -> dict[str, str]:
    """Say in words what the presets of a learner change.

    Parameters
    ----------
    key : str
        The key of a learner, such as ``"nnpu"``.

    Returns
    -------
    dict of str to str
        For each name that ``make(key, preset=name)`` takes, what it stands for, and the parameters
        that it sets, with the defaults of those that differ. Empty where a learner has no presets.

    Examples
    --------
    >>> presets("puet")["pubench"].split(": ")[1]
    "n_estimators=30 (100), max_depth=30 (None), threshold='own' ('alpha')"
    """
    import inspect

    from recoup._core import registry as _registry

    cls = _registry.find("learners", key, "learners.presets")
    defaults = inspect.signature(cls).parameters
    found: dict[str, str] = {}
    for name, settings in cls.presets.items():
        parts = [
            f"{param}={value!r}"
            + ("" if value == defaults[param].default else f" ({defaults[param].default!r})")
            for param, value in settings.items()
        ]
        about = f"{_PRESETS[name]}: " if name in _PRESETS else ""
        found[name] = about + ", ".join(parts)
    return found


def _preset(key: str, preset: str) -> dict[str, Any]:
    import inspect

    from recoup._core import registry as _registry
    from recoup._core.checks import brief, did_you_mean
    from recoup.exceptions import InvalidInputError

    cls = _registry.find("learners", key, "learners.make")
    known = cls.presets
    if preset not in known:
        there = f"Choose one of: {', '.join(known)}." if known else "It has none: leave preset out."
        raise InvalidInputError(
            f"learners.make knows no preset {brief(preset)!r} of {key!r}."
            f"{did_you_mean(str(preset), known)} {there}"
        )
    # What was published is looked at, but not mended.
    defaults = {name: one.default for name, one in inspect.signature(cls).parameters.items()}
    published: dict[str, Any] = {"guard": "warn"} if "guard" in defaults else {}
    if key not in _FLOOR_IS_PUBLISHED and "least_steps" in defaults:
        published |= {"least_steps": 1}
    return published | dict(known[preset])
