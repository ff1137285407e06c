"""What a classifier costs, written with labeled rows and the population alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor

Loss = Literal["sigmoid", "logistic", "squared"]


def margin_loss(name: Loss, margins: Tensor) -> Tensor:
    """Loss of margins, positive where a score has the right sign."""
    from torch.nn.functional import softplus

    if name == "sigmoid":
        return (-margins).sigmoid()
    return softplus(-margins) if name == "logistic" else (margins - 1) ** 2 / 2


def pu_risks(labeled: Tensor, population: Tensor, pi: float, loss: Loss) -> tuple[Tensor, Tensor]:
    r"""Risk of the positives, :math:`\pi R_P^+`, and of the negatives, :math:`R_U^- - \pi R_P^-`.

    Parameters
    ----------
    labeled, population : Tensor
        Scores of labeled rows, and of rows that follow the population.
    pi : float
        Share of positives in the population.
    loss : {"sigmoid", "logistic", "squared"}
        Of the margin.
    """
    if loss == "sigmoid":
        # What a score costs as a positive and as a negative adds up to 1, so one look will do.
        as_negative = pi * labeled.sigmoid().mean()
        return pi - as_negative, population.sigmoid().mean() - as_negative
    positive = pi * margin_loss(loss, labeled).mean()
    as_negative = pi * margin_loss(loss, -labeled).mean()
    return positive, margin_loss(loss, -population).mean() - as_negative


def entropies(scores: Tensor) -> Tensor:
    """Entropy of each prediction, from logits."""
    from torch.nn.functional import logsigmoid

    chances = scores.sigmoid()
    return -(chances * logsigmoid(scores) + (1 - chances) * logsigmoid(-scores))
