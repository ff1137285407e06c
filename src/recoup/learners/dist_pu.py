"""DistPU: the mean prediction of labeled rows shall be 1, that of the population its prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from recoup._core.constraints import Constraints, Number
from recoup.learners._training.risks import entropies
from recoup.learners._training.stages import TrainingRows
from recoup.learners._training.two_stage import AligningLearner, clipped
from recoup.learners.base import LearnerTags

if TYPE_CHECKING:
    from torch import Tensor

# Below this share of positives, the weight 1 / (2 pi) of the population would explode.
RARE = 0.05


def distribution_loss(labeled: Tensor, population: Tensor, pi: float) -> Tensor:
    r"""Return :math:`|\bar s_P - 1| + |\bar s_U - \pi| / (2 \pi)`, from logits.

    Where positives are rare, :math:`2 \pi` times that, which is the form of the paper.
    """
    of_labeled = 1 - labeled.sigmoid().mean()
    of_population = (population.sigmoid().mean() - pi).abs()
    if pi < RARE:
        return 2 * pi * of_labeled + of_population
    return of_labeled + of_population / (2 * pi)


def entropy(scores: Tensor) -> Tensor:
    """Mean entropy of predictions, from logits."""
    return entropies(clipped(scores)).mean()


def rising_weight(highest: float, epoch: int, epochs: int) -> float:
    """Return the weight of the entropy in an epoch of the second stage, counted from 0."""
    return highest * (1 - math.cos(math.pi / 2 * epoch / epochs))


@dataclass(kw_only=True, eq=False, repr=False)
class DistPU(AligningLearner):
    r"""Align predictions with the prior instead of taking unlabeled rows for negatives.

    With :math:`\bar s` the mean predicted probability,

    .. math:: L = |\bar s_P - 1| + \frac{1}{2 \pi} |\bar s_U - \pi|

    is zero also where all predictions are :math:`\pi`, so their entropy is minimized as well. A
    second stage adds mixtures of rows, whose targets are 1 for labeled rows and the network's own
    last prediction for the others.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows; a word has it estimated, by that method. The
        mean prediction is pinned to it, so an error in it is carried on.
    warm_up_epochs : int, default=60
        Epochs of the first stage, at most: it ends where the risk of held-out rows is least. These
        weights are never the ones that are kept.
    warm_up_learning_rate, warm_up_weight_decay : float, default=5e-4, 5e-3
        Of the optimizer of the first stage; the learning rate falls to zero along a cosine.
    warm_up_entropy : float, default=0.002
        Weight of the entropy in the first stage.
    entropy : float, default=0.004
        Weight that the entropy has at the end of the second stage; it begins at zero.
    mixed_entropy : float, default=0.04
        Weight of the entropy at mixed rows.
    mixing_weight, mixing_shape : float, default=5.0, 6.0
        Weight of the mixed rows, and both parameters of the beta distribution of the shares.

    The others are those of :class:`recoup.learners.TorchPULearner`, here for the second stage:
    ``epochs=60``, ``learning_rate=2e-4``, which falls to 0.7 of that, ``weight_decay=1e-3``. The
    authors take 5e-5 after a first stage that is run to its end.

    References
    ----------
    Zhao, Xu, Jiang, Wen and Huang, "Dist-PU: positive-unlabeled learning from a label distribution
    perspective", CVPR 2022. Their batches are drawn from all rows, so that few labels are in one;
    here a batch has labeled rows of its own.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="dist-pu",
        family="risk",
        cost="n per epoch, then twice",
        effort=1.6,
        source="Zhao et al. 2022",
        needs_alpha=True,
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {
        "warm_up_entropy": Number(least=0),
        "entropy": Number(least=0),
        "mixed_entropy": Number(least=0),
    }

    learning_rate: float = 2e-4
    weight_decay: float = 1e-3
    warm_up_entropy: float = 0.002
    entropy: float = 0.004
    mixed_entropy: float = 0.04

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        self._memory["entropy weight"] = torch.zeros((), device=rows.X.device)

    def _begin(self, stage: int, epoch: int) -> None:
        if stage == 2:
            weight = rising_weight(self.entropy, epoch, self.epochs)
            self._memory["entropy weight"].fill_(weight)

    def _warm_up_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        assert self.pi_ is not None
        aligned = distribution_loss(labeled, population, self.pi_)
        return aligned + self.warm_up_entropy * entropy(population)

    def _main_loss(self, labeled: Tensor, population: Tensor, mixed: Tensor) -> Tensor:
        assert self.pi_ is not None
        return (
            distribution_loss(labeled, population, self.pi_)
            + self._memory["entropy weight"] * entropy(population)
            + self.mixed_entropy * entropy(mixed)
        )
