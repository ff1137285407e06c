"""What Dist-PU and PULDA share: a warm-up, then mixed rows with labels that the network guesses."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Number, WholeNumber
from recoup.exceptions import InvalidInputError
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows, cosine

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

CLIPPED_AT = 10.0
# What the learning rate of the second stage falls to.
LAST_RATE = 0.7


def clipped(scores: Tensor) -> Tensor:
    """Keep logits where logarithms of probabilities are finite."""
    return scores.clamp(-CLIPPED_AT, CLIPPED_AT)


def mixed_entropy_loss(mixed: Tensor, targets: Tensor, others: Tensor, share: Tensor) -> Tensor:
    """Cross-entropy of logits at mixed rows, against targets that are mixed likewise."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(mixed, share * targets + (1 - share) * others)


@dataclass(kw_only=True, eq=False, repr=False)
class AligningLearner(TorchPULearner):
    """Base of learners that bring the mean prediction of the population to its prior.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``.
    warm_up_epochs : int, default=60
        Epochs of the first stage, at most: it ends where the risk of the held-out rows is lowest.
        Weights of this stage are never kept.
    warm_up_learning_rate : float, default=5e-4
        Step size in the first stage, which falls to zero along a cosine.
    warm_up_weight_decay : float, default=5e-3
        Penalty on large weights in the first stage.
    mixing_weight : float, default=5.0
        Weight of the mixed rows in the second stage.
    mixing_shape : float, default=6.0
        Both parameters of the beta distribution that the shares of mixing come from. The larger it
        is, the nearer the shares are to one half.
    """

    constraints: ClassVar[Constraints] = {
        "warm_up_epochs": WholeNumber(),
        "warm_up_learning_rate": Number(above=0),
        "warm_up_weight_decay": Number(least=0),
        "mixing_weight": Number(least=0),
        "mixing_shape": Number(above=0),
    }
    natural_select: ClassVar[Select] = "loss"
    # Whether the first stage is run to its end, and its best weights taken, where ``patience`` is
    # None.
    whole_warm_up: ClassVar[bool] = False

    alpha: Any = "estimate"
    epochs: int = 60
    warm_up_epochs: int = 60
    warm_up_learning_rate: float = 5e-4
    warm_up_weight_decay: float = 5e-3
    mixing_weight: float = 5.0
    mixing_shape: float = 6.0

    # What a learner's file holds.

    @abstractmethod
    def _warm_up_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        """Return the number to minimize in the first stage, from scores."""

    @abstractmethod
    def _main_loss(self, labeled: Tensor, population: Tensor, mixed: Tensor) -> Tensor:
        """Return what the second stage minimizes beside the cross-entropy of the mixed rows."""

    def _begin(self, stage: int, epoch: int) -> None:
        """Set what the losses remember; called before each epoch of stage 1 and 2."""

    # What both share.

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        assert self.pi_ is not None
        if not 0 < self.pi_ < 1:
            raise InvalidInputError(
                f"{type(self).__name__}.fit needs positives and negatives in the population to "
                f"align with. Got a share of positives of {self.pi_:g}. Pass alpha as a number "
                f"above 0 and below 1."
            )
        self._memory["has label"] = rows.has_label
        self._memory["targets"] = torch.ones(len(rows.X), device=rows.X.device)

    def _stages(self) -> list[Stage]:
        # The guesses that the second stage starts from must not be labels known by heart.
        judge = self._warmed_up if len(self._rows.held_labeled) else None
        whole = self.whole_warm_up and self.patience is None
        return [
            Stage(
                lambda batch: self._warm_up_loss(*batch.scores()),
                self.warm_up_epochs,
                self.warm_up_learning_rate,
                self.warm_up_weight_decay,
                schedule=cosine(0.0),
                before_epoch=lambda epoch: self._begin(1, epoch),
                selectable=False,
                judge=judge,
                patience=self.warm_up_epochs if whole else None,
            ),
            Stage(
                self._mixing_loss,
                self.epochs,
                self.learning_rate,
                self.weight_decay,
                schedule=cosine(LAST_RATE),
                draws={"share": self._shares},
                reordered=True,
                before_epoch=self._begin_mixing,
            ),
        ]

    def _warmed_up(self) -> float:
        rows = self._rows
        held = (self._scores(rows.X, part) for part in (rows.held_labeled, rows.held_population))
        return -float(self._held_out_loss(*held))

    def _begin_mixing(self, epoch: int) -> None:
        if epoch == 0:
            population = self._rows.population
            self._remember(population, self._scores(self._rows.X, population))
        self._begin(2, epoch)

    def _remember(self, places: Tensor, scores: Tensor) -> None:
        """Take probabilities as the targets of rows, 1 where there is a label."""
        import torch

        known = self._memory["has label"][places]
        guesses = torch.where(known, 1.0, clipped(scores.detach()).sigmoid())
        self._memory["targets"].index_copy_(0, places, guesses)

    def _shares(self, rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
        shares: FloatArray = rng.beta(self.mixing_shape, self.mixing_shape, size=steps)
        return shares

    def _mixing_loss(self, batch: Batch) -> Tensor:
        import torch

        labeled, population = (clipped(part) for part in batch.scores())
        rows, targets = batch.population, self._memory["targets"][batch.population_rows]
        # A single sample has its labeled rows already; twice, they would draw the others up.
        if self.scheme == "case-control":
            rows = torch.cat([batch.labeled, rows])
            targets = torch.cat([torch.ones_like(labeled), targets])
        share, order = batch.draws["share"], batch.draws["order"][-len(rows) :].argsort()
        mixed = clipped(scores_of(batch.network, share * rows + (1 - share) * rows[order]))
        between = mixed_entropy_loss(mixed, targets, targets[order], share)
        # Only after the targets of this step were read.
        self._remember(batch.population_rows, population)
        return self._main_loss(labeled, population, mixed) + self.mixing_weight * between
