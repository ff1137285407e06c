"""UPU: the unbiased PU risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from recoup._core.constraints import Constraints, Words
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.risks import Loss, pu_risks
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.base import LearnerTags

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class UPU(TorchPULearner):
    r"""Minimize the risk of a classifier, written with labeled and unlabeled rows alone.

    What negatives would cost is what unlabeled rows cost as negatives, less the part of it that
    is due to the positives among them:

    .. math:: R = \pi R_P^+ + R_U^- - \pi R_P^-

    A flexible network can push this below zero by learning the labeled rows by heart, which is
    why :class:`NNPU` is usually better.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows; a word has it estimated, by that method.
    loss : {"sigmoid", "logistic", "squared"}, default="sigmoid"
        Of the margin. With the logistic one the decision function is the logarithm of the odds.

    The others are those of :class:`recoup.learners.TorchPULearner`.

    References
    ----------
    du Plessis, Niu and Sugiyama, "Analysis of learning from positive and unlabeled data",
    NeurIPS 2014; "Convex formulation for learning from positive and unlabeled data", ICML 2015.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="upu",
        family="risk",
        cost="n per epoch",
        effort=0.4,
        source="du Plessis et al. 2014",
        needs_alpha=True,
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {"loss": Words(*get_args(Loss))}

    natural_select: ClassVar[Select] = "loss"

    alpha: Any = "estimate"
    loss: Loss = "sigmoid"

    def _stages(self) -> list[Stage]:
        return [Stage(self._loss, self.epochs, self.learning_rate, self.weight_decay)]

    def _loss(self, batch: Batch) -> Tensor:
        return self._risk(*batch.scores())

    def _risk(self, labeled: Tensor, population: Tensor) -> Tensor:
        """Turn the scores of two batches into the number to minimize."""
        assert self.pi_ is not None
        positive, negative = pu_risks(labeled, population, self.pi_, self.loss)
        return positive + negative
