"""PN: a network that knows every class, the ceiling for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows
from recoup.learners.base import LearnerTags
from recoup.learners.oracle import checked_classes

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class PN(TorchPULearner):
    """Train the network on the true classes, by cross-entropy.

    It takes the true classes by name, ``fit(X, s, y_true=...)``, which only a simulation has, and
    has no place in a ranking of learners that do without. Only rows of the population teach it:
    all rows of a single sample, the unlabeled ones of a case-control design. The weights are kept
    that classify most of the held-out rows rightly. :class:`Oracle` does the same with any
    scikit-learn classifier.

    The parameters are those of :class:`recoup.learners.TorchPULearner`, with ``epochs=60``,
    ``batch_size=128``, ``learning_rate=5e-4``, ``weight_decay=1e-5``; ``select`` has no effect.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pn",
        family="reference",
        cost="n per epoch",
        effort=1.0,
        source="supervised learning",
        selection="SAR",
        backend="torch",
        requires_true_labels=True,
    )

    epochs: int = 60
    batch_size: int = 128
    learning_rate: float = 5e-4
    weight_decay: float = 1e-5

    def fit(
        self,
        X: Any,
        s: ArrayLike,
        *,
        y_true: ArrayLike | None = None,
        oracle: tuple[Any, ArrayLike] | None = None,
    ) -> Self:
        """Learn from the true classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n, ...)
            Numbers, without gaps: vectors, or images as (n, channels, height, width).
        s : array-like of shape (n,)
            1 labeled positive, 0 unlabeled: in a case-control design it tells the population.
            Known negatives (-1) are left out.
        y_true : array-like of shape (n,)
            The class of each row, 1 or 0.
        oracle : tuple of (X, y_true), optional
            Other rows to select the weights by, in place of held-out ones.

        Returns
        -------
        PN
            Itself.
        """
        classes = checked_classes(y_true, "PN.fit")
        with self._during_fit(oracle):
            return self._fit_rows(X, s, y_true=classes)

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        y_true: NDArray[np.int_] | None = None,
    ) -> None:
        self._classes = y_true
        try:
            super()._fit(X, s, rng)
        finally:
            del self._classes

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        self._memory["classes"] = torch.as_tensor(
            self._classes, dtype=torch.float32, device=rows.X.device
        )

    def _stages(self) -> list[Stage]:
        return [Stage(self._loss, self.epochs, self.learning_rate, self.weight_decay)]

    def _loss(self, batch: Batch) -> Tensor:
        from torch.nn.functional import binary_cross_entropy_with_logits

        classes = self._memory["classes"][batch.population_rows]
        return binary_cross_entropy_with_logits(scores_of(batch.network, batch.population), classes)

    def _judge(self, rows: TrainingRows, caller: str) -> Callable[[], float] | None:
        if self._oracle is not None or not len(rows.held_population):
            return super()._judge(rows, caller)
        positive = self._memory["classes"][rows.held_population] == 1

        def judged() -> float:
            found = self._scores(rows.X, rows.held_population) > 0
            return float((found == positive).float().mean())

        return judged
