"""Classifiers for positive-unlabeled data: fit them on X and s, get scores back."""

from recoup.learners.bagged_networks import BaggedNetworks
from recoup.learners.tuned_threshold import TunedThreshold
from recoup.learners.with_prior import WithPrior

__all__ = ["BaggedNetworks", "TunedThreshold", "WithPrior"]
