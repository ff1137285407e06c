"""Classifiers for positive-unlabeled data: fit them on X and s, get scores back."""

from typing import Any

from recoup.learners._base import LearnerTags, PULearner
from recoup.learners.bagged_networks import BaggedNetworks
from recoup.learners.pu_auc import PUAUC, PUAUL
from recoup.learners.tuned_threshold import TunedThreshold
from recoup.learners.with_prior import WithPrior

__all__ = [
    "PUAUC",
    "PUAUL",
    "BaggedNetworks",
    "LearnerTags",
    "PULearner",
    "TunedThreshold",
    "WithPrior",
    "make",
]


def make(key: str, **params: Any) -> PULearner:
    """Build the learner that a key names.

    Parameters
    ----------
    key : str
        As in ``recoup list learners``.
    **params
        Parameters of that learner.

    Returns
    -------
    PULearner

    Examples
    --------
    >>> make("pu-aul", alpha=0.3)
    PUAUL(alpha=0.3)
    """
    from recoup import _registry

    learner: PULearner = _registry.make("learners", key, "learners.make", **params)
    return learner
