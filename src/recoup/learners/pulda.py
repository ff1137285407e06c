"""PULDA: Dist-PU with a margin, means that run over batches, and a choice of distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from recoup._core.constraints import Constraints, Number, Words
from recoup.learners._training.stages import TrainingRows
from recoup.learners._training.two_stage import AligningLearner
from recoup.learners.base import LearnerTags

if TYPE_CHECKING:
    from torch import Tensor

Distance = Literal["l1", "softplus"]


def smooth_distance(first: Tensor, second: Tensor | float, temperature: float) -> Tensor:
    r"""Return :math:`(\log(1 + e^{T d}) + \log(1 + e^{-T d})) / T` of a difference d."""
    from torch.nn.functional import softplus

    scaled = temperature * (first - second)
    return (softplus(scaled) + softplus(-scaled)) / temperature


def margin_means(labeled: Tensor, population: Tensor, margin: float) -> tuple[Tensor, ...]:
    """Return how much lies near the boundary, from logits.

    As positives and as negatives of the labeled rows, and as negatives of the population.
    """

    def positive(scores: Tensor) -> Tensor:
        return (scores.sigmoid() * (margin - scores).sigmoid()).mean()

    def negative(scores: Tensor) -> Tensor:
        return ((scores + margin).sigmoid() * (-scores).sigmoid()).mean()

    return positive(labeled), negative(labeled), negative(population)


@dataclass(frozen=True)
class RunningMean:
    """A mean over batches, of which only the present one has a gradient.

    Attributes
    ----------
    mean, started : Tensor
        The mean so far, and whether there is one (1.0) or not (0.0); changed in place.
    momentum : float
        Weight of the past.
    """

    mean: Tensor
    started: Tensor
    momentum: float

    def update(self, now: Tensor) -> tuple[Tensor, Tensor]:
        """Take a batch's mean in; return the mean, and the weight that the batch has in it."""
        past = self.momentum * self.started
        mean = past * self.mean + (1 - past) * now
        self.mean.copy_(mean.detach())
        self.started.fill_(1.0)
        return mean, 1 - past


@dataclass(kw_only=True, eq=False, repr=False)
class PULDA(AligningLearner):
    r"""Align predictions with the prior, and keep them off the boundary.

    With :math:`D_T(a, b) = (\log(1 + e^{T(a-b)}) + \log(1 + e^{-T(a-b)})) / T`, the loss is

    .. math:: 2 \pi (1 - \bar s_P) + D(\bar s_U, \pi)
       + \pi C_P^+ + D_1(C_U^-, \pi C_P^-)

    where C is large for rows within a margin of the boundary, and D is the plain distance or
    :math:`D_T`. Means inside of D run over batches. A second stage adds mixtures of rows, as in
    :class:`DistPU`.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows; a word has it estimated, by that method.
    distance : {"l1", "softplus"}, default="l1"
        Between the mean prediction of the population and the prior: the plain difference, or the
        smooth :math:`D_T` that the authors take. See the notes.
    temperature : float, default=3.5
        T of the smooth distance.
    margin : float, default=0.6
        Of the logits.
    population_momentum, margin_momentum : float, default=0.85, 0.5
        Weight of the past in the running means of predictions, and of C.
    warm_up_epochs : int, default=60
        Epochs of the first stage, at most: it ends where the risk of held-out rows is least. These
        weights are never the ones that are kept.
    warm_up_learning_rate, warm_up_weight_decay : float, default=1e-4, 5e-4
        Of the optimizer of the first stage; the learning rate falls to zero along a cosine.
    mixing_weight, mixing_shape : float, default=4.2, 11.0
        Weight of the mixed rows, and both parameters of the beta distribution of the shares.

    The others are those of :class:`recoup.learners.TorchPULearner`, here for the second stage:
    ``epochs=60``, ``learning_rate=1e-3``, which falls to 0.7 of that, ``weight_decay=1e-4``, with
    ``batch_size=128`` and ``labeled_batch=16`` in both.

    Notes
    -----
    Near its minimum the smooth distance pulls with :math:`\tanh(T d / 2)` only, d being how far
    the mean prediction is from the prior, against :math:`2 \pi` of the labeled rows. Where these
    cannot all be called positive, too much of the population is. Where the prior is near one half
    and the network learns slowly, everything is called positive before anything is told apart, and
    there it stays: even digits of MNIST end at an accuracy of 49 %, with temperatures of 3.5, 10
    and 30 alike, and at 99 % with the plain difference.

    References
    ----------
    Jiang, Xu, Zhao, Yang, Wen, Cao and Huang, "Positive-unlabeled learning with label distribution
    alignment", IEEE Transactions on Pattern Analysis and Machine Intelligence 45(12), 2023.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pulda",
        family="risk",
        cost="n per epoch, then twice",
        effort=3.0,
        source="Jiang et al. 2023",
        needs_alpha=True,
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {
        "distance": Words(*get_args(Distance)),
        "temperature": Number(above=0),
        "margin": Number(least=0),
        "population_momentum": Number(least=0, below=1),
        "margin_momentum": Number(least=0, below=1),
    }

    batch_size: int = 128
    labeled_batch: int | None = 16
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    warm_up_learning_rate: float = 1e-4
    warm_up_weight_decay: float = 5e-4
    mixing_weight: float = 4.2
    mixing_shape: float = 11.0
    distance: Distance = "l1"
    temperature: float = 3.5
    margin: float = 0.6
    population_momentum: float = 0.85
    margin_momentum: float = 0.5

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        self._memory["means"] = torch.zeros(3, device=rows.X.device)
        self._memory["started"] = torch.zeros(3, device=rows.X.device)

    def _begin(self, stage: int, epoch: int) -> None:
        if epoch == 0:
            self._memory["started"].zero_()

    def _warm_up_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        aligned, apart = self._losses(labeled, population)
        return aligned + apart

    def _main_loss(self, labeled: Tensor, population: Tensor, mixed: Tensor) -> Tensor:
        return self._warm_up_loss(labeled, population)

    def _losses(self, labeled: Tensor, population: Tensor) -> tuple[Tensor, Tensor]:
        """Return the alignment and the margin, with means that run over batches."""
        assert self.pi_ is not None
        momenta = (self.population_momentum, self.margin_momentum, self.margin_momentum)
        of_population, of_labeled, of_margin = (
            RunningMean(self._memory["means"][place], self._memory["started"][place], momentum)
            for place, momentum in enumerate(momenta)
        )
        mean, weight = of_population.update(population.sigmoid().mean())
        if self.distance == "l1":
            away = (mean - self.pi_).abs()
        else:
            away = smooth_distance(mean, self.pi_, self.temperature)
        aligned = 2 * self.pi_ * (1 - labeled.sigmoid().mean()) + away / weight
        as_positive, as_negative, in_population = margin_means(labeled, population, self.margin)
        labeled_mean, _ = of_labeled.update(as_negative)
        population_mean, weight = of_margin.update(in_population)
        between = smooth_distance(population_mean, self.pi_ * labeled_mean, 1.0)
        return aligned, self.pi_ * as_positive + between / weight
