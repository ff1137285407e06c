"""PN: a network that knows every class, the ceiling for those that do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recoup._core.checks import FloatArray
from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.moments import Watch
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows
from recoup.learners.base import LearnerTags, Presets
from recoup.learners.given_rows import labels_by_name
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

    Parameters
    ----------
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=60
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. PU-Bench takes 50.
    batch_size : int, default=128
        Rows of the population per step. Larger batches make steps less noisy, and fewer. The
        default is that of PU-Bench.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16. It has no effect here.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=5e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. The default is that of PU-Bench.
    weight_decay : float, default=1e-5
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. The default is that of PU-Bench.
    optimizer : {"adam", "sgd"}, default="adam"
        Adam, or stochastic gradient descent with momentum 0.9.
    standardize : bool, default=True
        Bring each feature of vectors to mean 0 and variance 1. Images are left as they are.
    validation_fraction : float, default=0.2
        Share of the labeled and of the unlabeled rows that is held out to choose the weights that
        are kept. With 0, or where fewer than four labeled rows would be held out, all epochs are
        run and the last weights are kept.
    select : {"auto", "accuracy", "auc", "loss"}, default="auto"
        Which weights are kept, judged on the held-out rows: those with the best accuracy as
        recovered with alpha, with the largest area under the ROC curve of labeled against unlabeled
        rows, which needs no alpha, or with the lowest loss. ``"auto"`` is the choice of the
        learner. It has no effect here: the weights are kept that classify most of the held-out rows
        rightly.
    patience : int or None, default=None
        Epochs without improvement on the held-out rows after which training stops. None runs all
        epochs.
    warm_start : bool, default=False
        Go on from the weights of the last fit instead of new ones.
    device : str, default="auto"
        Where to compute, such as ``"cpu"`` or ``"cuda"``; ``"auto"`` takes a GPU if there is one.
    progress : bool or None, default=None
        Whether to show a bar on stderr. None does so on a terminal only, after two seconds.
    threshold : {"own", "alpha", "f1"} or float, default="own"
        Where a row counts as positive. ``"own"`` is the cut of the method itself; ``"alpha"`` calls
        as many rows of the population positive as alpha says; ``"f1"`` takes the best F1 as
        recovered with alpha; a number is a score of the method itself. ``"alpha"`` and ``"f1"`` are
        read off rows that the model has not seen: those that a network holds out, out-of-bag
        scores, or else those of five more fits. Where there are none, training rows have to do.
    probabilities : {"own", "calibrated"}, default="own"
        What ``predict_proba`` gives: probabilities of the method itself, which may be no more than
        a logistic function of the score, or those that a smooth rising curve of the labels over the
        scores gives, turned by alpha into chances to be positive. The scores are those of the same
        unseen rows.
    guard : {"retry", "warn", "off"}, default="retry"
        What happens if a fit has failed: it ranks the wrong way round, calls all rows or none
        positive, or is far worse than a simple classifier. ``"warn"`` gives a ``LearnerWarning``;
        ``"retry"`` has a network fitted again before, differently; ``"off"`` does not look.
    random_state : int, Generator, RandomState or None, default=None
        Seed of all that is random. An integer makes every fit on a CPU the same, bit for bit.

    Attributes
    ----------
    network_ : Module
        The trained network, with the weights that were kept.
    alpha_ : None
        A supervised learner needs no prior.
    prior_ : None
        A supervised learner needs no prior.
    pi_ : None
        A supervised learner needs no prior.
    offset_ : float
        What the network's output must exceed for a row to count as positive.
    history_ : list of dict
        What was measured in each epoch: its number, the mean loss, the seconds it took, and the
        selection where rows are held out.
    best_epoch_ : int
        The epoch, counted from 1, whose weights were kept.
    center_ : ndarray of shape (n_features,) or float
        What is subtracted from the features; see ``standardize``.
    spread_ : ndarray of shape (n_features,) or float
        What the features are divided by after that.
    shape_ : tuple of int
        Shape of one row.
    cut_ : float
        What is subtracted from the scores of the method itself, to make zero the border.
    calibration_ : ndarray of shape (2, n_knots) or None
        Scores, and the probabilities there; None where they are those of the method itself.
    health_ : Health or None
        What the guard has found; None where it is off.
    classes_ : ndarray of shape (2,)
        The classes, always 0 and 1.
    n_features_in_ : int
        Number of features of the training rows.
    feature_names_in_ : ndarray of str
        Names of the features; missing where X has no column names.
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
        takes_weight=True,
        uses_negatives=True,
    )
    presets: ClassVar[Presets] = {
        "pubench": {"epochs": 50, "patience": 5, "standardize": False},
    }

    epochs: int = 60
    batch_size: int = 128
    learning_rate: float = 5e-4
    weight_decay: float = 1e-5

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
        oracle: tuple[Any, ArrayLike] | None = None,
        watch: Watch | None = None,
        y: ArrayLike | None = None,
    ) -> Self:
        """Learn from the true classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n, ...)
            Numbers, without gaps: vectors, or images as (n, channels, height, width).
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled, -1 known negative: in a case-control design the
            unlabeled rows are the population.
        sample_weight : array-like of shape (n,), optional
            How much each row counts, as in the other learners.
        y_true : array-like of shape (n,), default=None
            The class of each row, 1 or 0. It has a default so that scikit-learn can call ``fit``
            with X and s, but None is refused.
        oracle : tuple of (X, y_true), optional
            Other rows to select the weights by, in place of held-out ones.
        watch : callable, optional
            Called with a :class:`Moment` after each epoch.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it. Not the true classes.

        Returns
        -------
        PN
            Itself.
        """
        classes = checked_classes(y_true, "PN.fit")
        with self._during_fit(oracle, watch):
            labels = labels_by_name(s, y, self)
            return self._fit_rows(X, labels, sample_weight=sample_weight, y_true=classes)

    def _fit(
        self,
        X: Any,
        s: NDArray[np.int_],
        rng: np.random.Generator,
        sample_weight: FloatArray | None = None,
        y_true: NDArray[np.int_] | None = None,
    ) -> None:
        self._classes = y_true
        try:
            super()._fit(X, s, rng, sample_weight)
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
