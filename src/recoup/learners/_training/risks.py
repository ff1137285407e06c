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


def pnu_risk(
    pu_risk: Tensor, labeled: Tensor, negative: Tensor, pi: float, share: float, loss: Loss
) -> Tensor:
    r"""Risk with known negatives, :math:`(1 - \eta) R_{PU} + \eta R_{PN}` (Sakai et al. 2017).

    Parameters
    ----------
    pu_risk : Tensor
        The risk without them.
    labeled, negative : Tensor
        Scores of labeled rows, and of known negatives.
    pi : float
        Share of positives in the population.
    share : float
        The :math:`\eta`, as :func:`share_of_known` gives it.
    loss : {"sigmoid", "logistic", "squared"}
        Of the margin.
    """
    positive = pi * margin_loss(loss, labeled).mean()
    supervised = positive + (1 - pi) * margin_loss(loss, -negative).mean()
    return (1 - share) * pu_risk + share * supervised


def share_of_known(pi: float, n_labeled: float, n_population: float, n_negative: float) -> float:
    r"""Return the :math:`\eta` for which the risk of the negatives varies least.

    It is estimated twice, as :math:`R_U^- - \pi R_P^-` and as :math:`(1 - \pi) R_N^-`. If losses
    vary alike everywhere, these have the variances :math:`1 / n_U + \pi^2 / n_P` and
    :math:`(1 - \pi)^2 / n_N`, and each counts by the inverse of its own. Sakai et al. choose
    among some values on held-out rows instead.
    """
    if n_negative <= 0:
        return 0.0
    from_population = 1 / n_population + pi**2 / n_labeled
    from_known = (1 - pi) ** 2 / n_negative
    return from_population / (from_population + from_known)


def entropies(scores: Tensor) -> Tensor:
    """Entropy of each prediction, from logits."""
    from torch.nn.functional import logsigmoid

    chances = scores.sigmoid()
    return -(chances * logsigmoid(scores) + (1 - chances) * logsigmoid(-scores))
