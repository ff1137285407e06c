"""VPU: the positive density as the population's, tilted by the classifier; no prior needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Number
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.base import LearnerTags

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

# With fewer, and its low rate, the network of a small table would hardly have moved.
LEAST_STEPS = 10
HALVED_EVERY = 20
# At which held-out rows are mixed: close to a positive, half way, close to the other row.
HELD_OUT_SHARES = (0.1, 0.5, 0.9)


def variational_loss(labeled: Tensor, population: Tensor) -> Tensor:
    r"""Return :math:`\log E_X[\Phi] - E_P[\log \Phi]`, from logits of :math:`\Phi`."""
    from torch.nn.functional import logsigmoid

    of_population = logsigmoid(population).logsumexp(0) - math.log(len(population))
    return of_population - logsigmoid(labeled).mean()


def mixed_loss(population: Tensor, mixed: Tensor, share: Tensor) -> Tensor:
    """Squared error of log Phi at points between population rows and positives, from logits."""
    import torch
    from torch.nn.functional import logsigmoid

    target = torch.logaddexp(share.log() + logsigmoid(population), torch.log1p(-share))
    return ((target - logsigmoid(mixed)) ** 2).mean()


@dataclass(kw_only=True, eq=False, repr=False)
class VPU(TorchPULearner):
    r"""Choose the classifier whose implied density of positives is nearest to the real one.

    A classifier :math:`\Phi(x) = P(y=1 \mid x)` implies the density
    :math:`\Phi(x) f(x) / E_f[\Phi]` of positives. Its divergence from the real one is, up to a
    constant,

    .. math:: L = \log E_X[\Phi(x)] - E_P[\log \Phi(x)]

    which does not change if :math:`\Phi` is multiplied by a number. Points mixed of population
    rows and positives, where :math:`\Phi` shall be mixed likewise, keep it in place. A row is
    positive where :math:`\Phi` exceeds half of its largest value among the training rows.

    Parameters
    ----------
    mixing_weight : float, default=0.3
        Weight of the mixed points. The authors' values: 0.03 (CIFAR-10), 0.3 (Fashion-MNIST,
        STL-10), 1e-4 to 0.1 (tables).
    mixing_shape : float, default=0.3
        Both parameters of the beta distribution of the shares of mixing.

    The others are those of :class:`recoup.learners.TorchPULearner`, with ``learning_rate=1e-4``,
    which is halved every 20 epochs. An epoch has at least ten steps. Adam's first beta is 0.5. By
    default the weights are kept whose whole loss, with mixed points, is least on held-out rows; the
    authors leave the mixed points out there.

    References
    ----------
    Chen, Liu, Wang, Zhao and Wu, "A variational approach for learning from positive and unlabeled
    data", NeurIPS 2020.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="vpu",
        family="risk",
        cost="n per epoch, twice",
        effort=0.8,
        source="Chen et al. 2020",
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {
        "mixing_weight": Number(above=0),
        "mixing_shape": Number(above=0),
    }
    natural_select: ClassVar[Select] = "loss"

    learning_rate: float = 1e-4
    mixing_weight: float = 0.3
    mixing_shape: float = 0.3

    def _stages(self) -> list[Stage]:
        return [
            Stage(
                self._loss,
                epochs=min(HALVED_EVERY, self.epochs - start),
                learning_rate=self.learning_rate * 0.5 ** (start // HALVED_EVERY),
                weight_decay=self.weight_decay,
                draws={"share": self._shares, "partner": _partners},
                betas=(0.5, 0.99),
                steps=max(LEAST_STEPS, len(self._rows.population) // self.batch_size),
            )
            for start in range(0, self.epochs, HALVED_EVERY)
        ]

    def _shares(self, rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
        shares: FloatArray = rng.beta(self.mixing_shape, self.mixing_shape, size=steps)
        # In single precision 0 and 1 would have infinite logarithms.
        return shares.clip(1e-6, 1 - 1e-6)

    def _loss(self, batch: Batch) -> Tensor:
        share = batch.draws["share"]
        labeled, population = batch.scores()
        partner = batch.labeled[(batch.draws["partner"] * len(batch.labeled)).long()]
        mixed = share * batch.population + (1 - share) * partner
        between = mixed_loss(population, scores_of(batch.network, mixed), share)
        return variational_loss(labeled, population) + self.mixing_weight * between

    def _held_out_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        import torch

        # The divergence is blind to the scale of Phi, on which the threshold rests.
        rows, X = self._rows, self._rows.X
        partner = rows.held_labeled.repeat(-(-len(population) // len(labeled)))[: len(population)]
        between = []
        for share in HELD_OUT_SHARES:
            mixed = share * X[rows.held_population] + (1 - share) * X[partner]
            between.append(
                mixed_loss(population, self._scores(mixed), torch.tensor(share, device=X.device))
            )
        return (
            variational_loss(labeled, population) + self.mixing_weight * torch.stack(between).mean()
        )

    def _find_offset(self, scores: Tensor) -> float:
        """Return the logit of half of the largest probability."""
        from torch.nn.functional import logsigmoid

        half = logsigmoid(scores.double().max()) - math.log(2)
        return float(half - (-half.expm1()).log())


def _partners(rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
    """Draw a place among the positives, as a share of their number, for each population row."""
    return rng.random((steps, batch)) * (1 - 1e-6)
