"""Teachers: networks whose weights follow those of a student, and what they predict."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from recoup.learners._training.networks import scores_of

if TYPE_CHECKING:
    from torch import Tensor, nn


def teacher_of(student: nn.Module) -> nn.Module:
    """Return a copy that no gradient reaches."""
    return copy.deepcopy(student).requires_grad_(False)


def follow(teacher: nn.Module, student: nn.Module, kept: float | Tensor) -> None:
    """Move a teacher's weights towards a student's, in place.

    Parameters
    ----------
    teacher, student : Module
        Of the same form. Buffers, such as the statistics of batches, are copied.
    kept : float or Tensor
        Share of its own weights that the teacher keeps; with 0 it becomes a copy. Take a tensor
        where the share changes between the steps of a recorded epoch.
    """
    import torch

    with torch.no_grad():
        for own, other in zip(teacher.parameters(), student.parameters(), strict=True):
            own.copy_(kept * own + (1 - kept) * other)
        for statistic, source in zip(teacher.buffers(), student.buffers(), strict=True):
            statistic.copy_(source)


def predicted(network: nn.Module, rows: Tensor) -> Tensor:
    """Return probabilities without gradient, and as if training were over."""
    import torch

    was_training = network.training
    network.eval()
    with torch.no_grad():
        chances: Tensor = scores_of(network, rows).sigmoid()
    network.train(was_training)
    return chances


def running_mean(step: int, highest: float) -> float:
    """Return the share to keep at a step, from 0, for a plain mean of all students so far.

    Above ``highest`` it does not go, so that early students are forgotten in the end.
    """
    return min(1 - 1 / (step + 1), highest)
