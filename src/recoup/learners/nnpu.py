"""NNPU: the PU risk whose negative part may not fall below zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from recoup._core.constraints import Constraints, Number, Words
from recoup.learners._training.risks import pu_risks
from recoup.learners.base import LearnerTags
from recoup.learners.upu import UPU

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class NNPU(UPU):
    r"""Unbiased PU risk that is pushed back up where its negative part falls below zero.

    With :math:`r = R_U^- - \pi R_P^-`, a step minimizes :math:`\pi R_P^+ + r` where
    :math:`r \ge -\beta`, and :math:`-\gamma r` alone elsewhere: the risk of negatives cannot be
    negative, so there the network has learned the labeled rows by heart.

    Parameters
    ----------
    correction : {"ascent", "clamp"}, default="ascent"
        Go against r where it is too low, as published, or take it as zero.
    beta : float, default=0.0
        How far r may fall below zero.
    gamma : float, default=1.0
        Share of a full step to go back.

    The others are those of :class:`UPU`.

    References
    ----------
    Kiryo, Niu, du Plessis and Sugiyama, "Positive-unlabeled learning with non-negative risk
    estimator", NeurIPS 2017, Eq. 6 and Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from recoup.learners import NNPU
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(600) < 0.4
    >>> X = rng.normal(size=(600, 2)) + np.outer(y, [2.0, 2.0])
    >>> s = (y & (rng.random(600) < 0.5)).astype(int)
    >>> learner = NNPU(alpha=0.25, epochs=30, learning_rate=1e-3, random_state=0).fit(X, s)
    >>> bool(np.mean(learner.predict(X) == y) > 0.85)
    True
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="nnpu",
        family="risk",
        cost="n per epoch",
        effort=0.4,
        source="Kiryo et al. 2017, Eq. 6",
        needs_alpha=True,
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {
        "correction": Words("ascent", "clamp"),
        "beta": Number(least=0),
        "gamma": Number(least=0, most=1),
    }

    correction: Literal["ascent", "clamp"] = "ascent"
    beta: float = 0.0
    gamma: float = 1.0

    def _risk(self, labeled: Tensor, population: Tensor) -> Tensor:
        import torch

        assert self.pi_ is not None
        positive, negative = pu_risks(labeled, population, self.pi_, self.loss)
        bounded = positive + negative.clamp(min=-self.beta)
        if self.correction == "clamp":
            return bounded
        step = torch.where(negative < -self.beta, -self.gamma * negative, positive + negative)
        # The gradient is that of the step, the value that of the risk.
        return step + (bounded - step).detach()
