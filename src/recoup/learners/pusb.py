"""PUSB: labels that favor clear positives; the threshold comes from the prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from recoup.learners._training.loop import Select
from recoup.learners._training.risks import Loss
from recoup.learners.base import LearnerTags
from recoup.learners.nnpu import NNPU


@dataclass(kw_only=True, eq=False, repr=False)
class PUSB(NNPU):
    r"""Rank by a PU risk, and call positive the share of rows that alpha says.

    If clear positives get labels more often than doubtful ones, :math:`P(y=1 \mid x)` cannot be
    learned, but its order can: labeled rows against the population rank alike. The threshold is
    set so that the share :math:`\pi` of the training population lies above it.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows. Estimates assume labels at random, and are too
        low where labels favor clear positives; give a number if you know one.
    loss : {"logistic", "sigmoid", "squared"}, default="logistic"
        Of the margin.

    The others are those of :class:`NNPU`.

    References
    ----------
    Kato, Teshima and Honda, "Learning from positive and unlabeled data with a selection bias",
    ICLR 2019. Their scripts take the threshold from the rows to be predicted; here it comes from
    the training rows, so that what a row is called does not depend on its company.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pusb",
        family="risk",
        cost="n per epoch",
        effort=0.4,
        source="Kato et al. 2019",
        needs_alpha=True,
        selection="SAR",
        backend="torch",
    )
    natural_select: ClassVar[Select] = "auc"
    cuts_by_share: ClassVar[bool] = True

    loss: Loss = "logistic"
