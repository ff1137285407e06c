"""What somebody sees who watches a learner being trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from recoup._core.checks import FloatArray

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Moment:
    """A learner at the end of an epoch, for somebody who watches it being trained.

    Attributes
    ----------
    measured : dict
        What was measured in this epoch: its entry of ``history_``, which may be added to.
    selectable : bool
        Whether the weights of this epoch may be the ones that are kept.
    best : bool
        Whether they would be kept if training ended now: the best ones so far, or simply the last
        ones where nothing selects.
    decisions : callable
        Takes rows and returns what the decision function says of them now. The rows are kept on
        the device after the first time, so they must not change.
    weights : callable
        Returns a copy of all weights as they are now, in main memory, by the names of the
        learner's networks and of their parts.
    """

    measured: dict[str, Any]
    selectable: bool
    best: bool
    decisions: Callable[[Any], FloatArray]
    weights: Callable[[], dict[str, Tensor]]


Watch: TypeAlias = Callable[[Moment], None]
