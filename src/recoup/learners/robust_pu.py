"""RobustPU: from nnPU on, unlabeled rows count as negative, the easy ones first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from recoup._core.checks import brief
from recoup._core.constraints import Constraints, Number, Several, WholeNumber, Words
from recoup.exceptions import InvalidInputError
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.base import LearnerTags
from recoup.learners.nnpu import NNPU

if TYPE_CHECKING:
    from torch import Tensor

    from recoup.learners._training.stages import TrainingRows

Hardness = Literal["logistic", "sigmoid"]
Weighting = Literal["welsch", "hard", "linear", "logistic", "cauchy", "polynomial", "log", "huber"]
Growth = Literal["linear", "convex", "concave", "exp", "const"]
Balance = Literal["auto", "pooled", "prior", "equal"]

# With more unlabeled rows to a labeled one, their losses in one mean would call all negative.
MOST_POOLED = 4
# Where no weight exceeds this, the threshold is too low for the scale of the scores.
WEIGHTLESS = 1e-8


def hardness(margins: Tensor, kind: Hardness) -> Tensor:
    """Return how hard rows are, from scores over the temperature, above 0 on the right side."""
    from torch.nn.functional import softplus

    return softplus(-margins) if kind == "logistic" else (-margins).sigmoid()


def soft_weights(hard: Tensor, threshold: float, kind: Weighting) -> Tensor:
    """Return the weights of rows of some hardness, which rise with the threshold."""
    import torch

    if kind == "welsch":
        return (-hard / threshold**2).exp()
    if kind == "hard":
        return (hard < threshold).to(hard.dtype)
    if kind == "logistic":
        return (1 + math.exp(-threshold)) / (1 + (hard - threshold).exp())
    if kind == "cauchy":
        return 1 / (1 + hard / threshold**2)
    if kind == "log":
        shares = (hard + 1 - threshold).log() / math.log(1 - threshold)
        return torch.where(hard < threshold, shares, 0.0)
    if kind == "huber":
        return (threshold / hard.sqrt()).clamp(max=1)
    left = (1 - hard / threshold).clamp(min=0)
    return left if kind == "linear" else left.sqrt()


def threshold_at(episode: int, first: float, last: float, steps: int, growth: Growth) -> float:
    """Return the threshold of an episode, from 0, which comes from first to last in some steps."""
    done = min(episode / steps, 1.0)
    share = {
        "linear": done,
        "convex": math.sin(math.pi / 2 * done),
        "concave": 1 - math.cos(math.pi / 2 * done),
        "exp": 1 - 2.0**-episode,
        "const": 0.0,
    }[growth]
    return first + (last - first) * share


def weighted_loss(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross-entropy over the number of rows, so that light batches have light steps."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(scores, targets, weights)


@dataclass(kw_only=True, eq=False, repr=False)
class RobustPU(NNPU):
    r"""Take unlabeled rows for negatives, but let those count little that do not look like it.

    A network is trained with the risk of :class:`NNPU`. Episodes follow. Each begins with the
    hardness of every row, which is its loss as a positive if it has a label, as a negative if not:
    with the score z and temperatures :math:`\tau`,

    .. math:: h = \log(1 + e^{-z / \tau_L}), \qquad h = \log(1 + e^{z / \tau_U})

    Hardness becomes a weight :math:`v = \exp(-h / \lambda^2)`, and the network is trained with
    cross-entropy, weighted by v. The threshold :math:`\lambda` grows from episode to episode, from
    the clearest rows to nearly all; hidden positives stay light as long as they look positive. The
    weights of the network that are best on held-out rows are kept, those of nnPU among them.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows; a word has it estimated, by that method. Only
        nnPU, the choice of the weights and ``balance`` need it.
    epochs : int, default=20
        Episodes, at most; the authors have 100.
    passes : int, default=5
        Passes over the rows in an episode, which begins with a new optimizer; the authors have 20.
    patience : int, default=5
        Episodes without improvement after which training stops.
    warm_up_epochs : int, default=40
        Epochs of nnPU. The best of them is where the episodes begin. The authors have 100.
    warm_up_learning_rate, warm_up_weight_decay : float, default=3e-4, 1e-4
        Of the optimizer of nnPU, as in :class:`NNPU`. At the authors' 1e-3, with batches of 128,
        which is for a network with one hidden layer, the risk throws deeper ones off: on Connect-4
        they came to call every row negative.
    weighting : str, default="welsch"
        What makes a weight of h and :math:`\lambda`: ``"welsch"`` as above; ``"hard"``, 1 where h
        is below; ``"linear"``, ``"polynomial"``, ``"log"``, which fall to 0 there; ``"logistic"``,
        ``"cauchy"``, ``"huber"``.
    hardness : {"logistic", "sigmoid"}, default="logistic"
        As above, or the probability of the other class.
    labeled_thresholds, unlabeled_thresholds : tuple of float, default=(0.1, 1.0), (0.11, 1.0)
        The first and the last :math:`\lambda` of labeled and of unlabeled rows.
    growth : {"linear", "convex", "concave", "exp", "const"}, default="linear"
        How it comes from one to the other: evenly, fast first, slowly first, half of what is left
        in each episode, not at all.
    growth_episodes : int, default=5
        Episodes that it takes.
    labeled_temperature, unlabeled_temperature : float, default=1.0, 1.3
        The :math:`\tau`.
    momentum : float, default=0.0
        Share that the weight of a row keeps of that in the episode before.
    balance : {"auto", "pooled", "prior", "equal"}, default="auto"
        Take one mean over labeled and unlabeled rows, as published; or a mean of each, weighted by
        the shares of positives and negatives in the population; or equally. In one mean, many
        unlabeled rows call everything negative; ``"auto"`` takes ``"prior"`` where there are more
        than four to a labeled one.

    The others are those of :class:`NNPU`. ``learning_rate=1e-3`` and ``weight_decay=0`` are those
    of the episodes; the authors take 1e-2 there, and batches of 64.

    References
    ----------
    Zhu, Wang, Zhao, Du, Zhang, Dong, Qiao, Lin, Rajmohan and Zhang, "Robust positive-unlabeled
    learning via noise negative sample self-correction", KDD 2023. They choose by true labels; here
    held-out rows without do.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="robust-pu",
        family="disambiguation",
        cost="n per pass, and n to score per episode",
        effort=0.7,
        source="Zhu et al. 2023",
        needs_alpha=True,
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {
        "passes": WholeNumber(),
        "warm_up_epochs": WholeNumber(),
        "warm_up_learning_rate": Number(above=0),
        "warm_up_weight_decay": Number(least=0),
        "weighting": Words(*get_args(Weighting)),
        "hardness": Words(*get_args(Hardness)),
        "labeled_thresholds": Several(Number(above=0), 2, why="the first and the last threshold"),
        "unlabeled_thresholds": Several(Number(above=0), 2, why="the first and the last threshold"),
        "growth": Words(*get_args(Growth)),
        "growth_episodes": WholeNumber(),
        "labeled_temperature": Number(above=0),
        "unlabeled_temperature": Number(above=0),
        "momentum": Number(least=0, below=1),
        "balance": Words(*get_args(Balance)),
    }

    epochs: int = 20
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    patience: int | None = 5
    passes: int = 5
    warm_up_epochs: int = 40
    warm_up_learning_rate: float = 3e-4
    warm_up_weight_decay: float = 1e-4
    weighting: Weighting = "welsch"
    hardness: Hardness = "logistic"
    labeled_thresholds: Sequence[float] = (0.1, 1.0)
    unlabeled_thresholds: Sequence[float] = (0.11, 1.0)
    growth: Growth = "linear"
    growth_episodes: int = 5
    labeled_temperature: float = 1.0
    unlabeled_temperature: float = 1.3
    momentum: float = 0.0
    balance: Balance = "auto"

    def _check_settings(self, caller: str) -> None:
        super()._check_settings(caller)
        for name in ("labeled_thresholds", "unlabeled_thresholds"):
            value = getattr(self, name)
            if self.weighting == "log" and max(value) >= 1:
                raise InvalidInputError(
                    f"{caller} needs {name} to be the first and the last threshold, above 0 and "
                    f"below 1 for the weighting log. Got {brief(value)}."
                )

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        self._memory["labels"] = rows.has_label.float()
        self._memory["weights"] = torch.zeros(len(rows.X), device=rows.X.device)

    def _stages(self) -> list[Stage]:
        rows, balance = self._rows, self.balance
        if balance == "auto":
            crowded = len(rows.unlabeled) > MOST_POOLED * len(rows.labeled)
            balance = "prior" if crowded else "pooled"
        pooled = balance == "pooled"
        assert self.pi_ is not None
        share = self.pi_ if balance == "prior" else 0.5
        n = len(rows.everything) if pooled else len(rows.unlabeled)
        return [
            Stage(
                self._loss,
                self.warm_up_epochs,
                self.warm_up_learning_rate,
                self.warm_up_weight_decay,
                patience=self.warm_up_epochs,
            ),
            Stage(
                self._pooled_loss if pooled else lambda batch: self._parted_loss(batch, share),
                self.epochs,
                self.learning_rate,
                self.weight_decay,
                before_epoch=self._weigh,
                steps=self.passes * max(n // self.batch_size, 1),
                pooled=pooled,
                unlabeled=not pooled,
                from_best=True,
                renewed=True,
            ),
        ]

    def _weigh(self, episode: int) -> None:
        """Give each row the weight that its hardness deserves in an episode."""
        rows, weights = self._rows, self._memory["weights"]
        parts = (
            (rows.labeled, 1 / self.labeled_temperature, self.labeled_thresholds),
            (rows.unlabeled, -1 / self.unlabeled_temperature, self.unlabeled_thresholds),
        )
        for places, factor, (first, last) in parts:
            threshold = threshold_at(episode, first, last, self.growth_episodes, self.growth)
            hard = hardness(factor * self._scores(rows.X, places), self.hardness)
            found = soft_weights(hard, threshold, self.weighting)
            if float(found.max()) < WEIGHTLESS:
                tenth = float(hard.kthvalue(max(len(hard) // 10, 1)).values)
                most = 1 - 1e-6 if self.weighting == "log" else math.inf
                found = soft_weights(hard, min(max(threshold, tenth), most), self.weighting)
            kept = self.momentum if episode else 0.0
            weights[places] = kept * weights[places] + (1 - kept) * found

    def _pooled_loss(self, batch: Batch) -> Tensor:
        return self._weighted(scores_of(batch.network, batch.population), batch.population_rows)

    def _parted_loss(self, batch: Batch, share: float) -> Tensor:
        labeled, unlabeled = batch.scores()
        of_labeled = self._weighted(labeled, batch.labeled_rows)
        return share * of_labeled + (1 - share) * self._weighted(unlabeled, batch.population_rows)

    def _weighted(self, scores: Tensor, places: Tensor) -> Tensor:
        labels, weights = self._memory["labels"], self._memory["weights"]
        return weighted_loss(scores, labels[places], weights[places])


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
