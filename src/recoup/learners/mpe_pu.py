"""MPEPU: estimate alpha, drop that share of the unlabeled rows, train, and again."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, WholeNumber, Words
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.stages import Batch, Stage, TrainingRows
from recoup.learners.base import LearnerTags
from recoup.priors import BBE, PriorEstimate
from recoup.priors.base import MIN_LABELED

if TYPE_CHECKING:
    from torch import Tensor

# An estimate that runs away takes the classifier with it, and the next estimate.
LARGEST_CHANGE = 0.1


def kept_rows(scores: Tensor, alpha: float) -> Tensor:
    """Mark all unlabeled rows but the share alpha that scores highest; ties fall at random."""
    import torch

    n = len(scores)
    order = torch.randperm(n, device=scores.device)
    ranked = order[torch.argsort(scores[order], descending=True, stable=True)]
    kept = torch.ones(n, dtype=torch.bool, device=scores.device)
    kept[ranked[: min(math.floor(alpha * n + 1e-9), n - 1)]] = False
    return kept


def ignoring_loss(labeled: Tensor, population: Tensor, kept: Tensor, weight: Any) -> Tensor:
    """Cross-entropy of labeled rows against the kept ones, from logits.

    Parameters
    ----------
    labeled, population : Tensor
        Scores.
    kept : Tensor of bool
        Which of the population count as negative; the others are ignored.
    weight : float or Tensor
        Of the labeled rows; the others have what is left to 1.
    """
    from torch.nn.functional import softplus

    n_kept = kept.sum()
    negative = (softplus(population) * kept).sum() / n_kept.clamp(min=1)
    loss: Tensor = weight * softplus(-labeled).mean() + (1 - weight) * negative
    # Without negatives a step would only call everything positive.
    return loss * (n_kept > 0)


@dataclass(kw_only=True, eq=False, repr=False)
class MPEPU(TorchPULearner):
    r"""Train labeled against unlabeled rows, without those that look most positive.

    After some epochs of labeled against all unlabeled rows, each epoch begins with an estimate of
    alpha from rows that are not trained on, by :class:`recoup.priors.BBE`. The share alpha of the
    unlabeled rows that scores highest is ignored (conditional value ignoring risk, CVIR), and the
    others, K, count as negative:

    .. math:: L = \tfrac12 \bigl( E_P[-\log g] + E_K[-\log(1 - g)] \bigr)

    The authors call the whole :math:`(TED)^n`: transform, estimate, discard.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows. With None it is estimated anew in each epoch;
        a word has it estimated once, by that method, before training.
    warm_up_epochs : int, default=8
        Epochs with all unlabeled rows, at most: they end where held-out labels are told best, for
        a network that knows the labels by heart drops the wrong rows. These weights are never the
        ones that are kept.
    balance : {"equal", "prior"}, default="equal"
        Weigh labeled and kept rows equally, as published, or by the shares of positives and
        negatives in the population, so that probabilities are those of the population.

    The others are those of :class:`recoup.learners.TorchPULearner`. Where alpha is estimated in
    each epoch, ``select="auto"`` keeps the last weights, as the authors do: accuracies that were
    recovered with different alphas cannot be compared.

    Attributes
    ----------
    alphas_ : ndarray
        The alpha of each epoch after the warm-up, and of the kept weights. An estimate moves by at
        most 0.1 from one epoch to the next.

    References
    ----------
    Garg, Wu, Smola, Balakrishnan and Lipton, "Mixture proportion estimation and PU learning: a
    modern approach", NeurIPS 2021, Algorithms 1 to 3. Their loop ends an epoch when the labeled
    rows are used up; here they are taken in turns, so that every unlabeled row is seen.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="mpe-pu",
        family="risk",
        cost="n per epoch, and n to score",
        effort=0.6,
        source="Garg et al. 2021, Algorithm 3",
        estimates_alpha=True,
        backend="torch",
    )
    constraints: ClassVar[Constraints] = {
        "warm_up_epochs": WholeNumber(0),
        "balance": Words("equal", "prior"),
    }
    natural_select: ClassVar[Select] = "loss"

    alpha: Any = None
    warm_up_epochs: int = 8
    balance: Literal["equal", "prior"] = "equal"

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        unlabeled = ~rows.has_label
        n = int(unlabeled[rows.population].sum())
        if self.alpha_ is not None and self.alpha_ * n > n - 1:
            raise InvalidInputError(
                f"MPEPU.fit needs alpha to leave a negative among the {n:,} unlabeled rows to "
                f"train on. Got alpha={self.alpha_:g}. Estimate it with alpha='bbe'."
            )
        if self.alpha_ is None and len(rows.held_labeled) < MIN_LABELED:
            raise InvalidInputError(
                f"MPEPU.fit needs at least {MIN_LABELED} labeled rows that it does not train on "
                f"to estimate alpha from. Got {len(rows.held_labeled)}. Raise validation_fraction, "
                f"or take alpha='bbe', which scores each row by models that have not seen it."
            )
        self._memory["kept"] = unlabeled
        self._memory["unlabeled"] = rows.population[unlabeled[rows.population]]
        self._memory["weight"] = torch.tensor(0.5, device=rows.X.device)
        self._alphas: list[float] = []

    def _stages(self) -> list[Stage]:
        def stage(epochs: int, **options: Any) -> Stage:
            return Stage(self._loss, epochs, self.learning_rate, self.weight_decay, **options)

        comparable = self.alpha is not None or self.select != "auto" or self._oracle is not None
        main = stage(self.epochs, before_epoch=self._choose_rows, selectable=comparable)
        if not self.warm_up_epochs:
            return [main]
        judge = self._tells_labels if len(self._rows.held_labeled) else None
        return [stage(self.warm_up_epochs, selectable=False, judge=judge), main]

    def _loss(self, batch: Batch) -> Tensor:
        kept = self._memory["kept"][batch.population_rows]
        return ignoring_loss(*batch.scores(), kept, self._memory["weight"])

    def _choose_rows(self, epoch: int) -> None:
        """Estimate alpha unless it is known, and drop that share of the unlabeled rows."""
        if self.alpha is None:
            found, before = self._estimate(self._rows).alpha, self._alphas[-1:]
            for last in before:
                found = min(max(found, last - LARGEST_CHANGE), last + LARGEST_CHANGE)
            self._set_alpha(found)
        assert self.alpha_ is not None
        self._alphas.append(self.alpha_)
        if self.balance == "prior":
            assert self.pi_ is not None
            self._memory["weight"].fill_(self.pi_)
        unlabeled = self._memory["unlabeled"]
        self._memory["kept"][unlabeled] = kept_rows(
            self._scores(self._rows.X, unlabeled), self.alpha_
        )

    def _estimate(self, rows: TrainingRows) -> PriorEstimate:
        import torch

        places = torch.unique(torch.cat([rows.held_labeled, rows.held_population]))
        s = rows.has_label[places].long().cpu().numpy()
        scores = self._scores(rows.X, places).double().cpu().numpy()
        found: PriorEstimate = BBE(interval=None).fit_scores(s, scores).estimate_
        return found

    def _set_alpha(self, alpha: float) -> None:
        self.alpha_ = alpha
        self.pi_ = self._population_share(self._rows.has_label.long().cpu().numpy())

    def _conclude(self, rows: TrainingRows) -> None:
        if self.alpha is None:
            self.prior_ = self._estimate(rows)
            last = self._alphas[-1]
            if abs(self.prior_.alpha - last) > LARGEST_CHANGE:
                warnings.warn(
                    f"MPEPU.fit ends with an alpha that still moves: {last:.3f} in the last epoch, "
                    f"{self.prior_.alpha:.3f} after it. Train for more epochs, or give alpha.",
                    RecoupWarning,
                    stacklevel=2,
                )
            self._set_alpha(self.prior_.alpha)
            self._alphas.append(self.prior_.alpha)
        self.alphas_: FloatArray = np.array(self._alphas)
        del self._alphas
