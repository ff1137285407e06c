"""DistPU: the mean prediction of labeled rows shall be 1, that of the population its prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from recoup._core.constraints import Constraints, Number
from recoup.learners._training.risks import entropies
from recoup.learners._training.stages import TrainingRows
from recoup.learners._training.two_stage import AligningLearner, clipped
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor

# Below this share of positives, the weight 1 / (2 pi) of the population would explode.
RARE = 0.05


def distribution_loss(labeled: Tensor, population: Tensor, pi: float) -> Tensor:
    r"""Return :math:`|\bar s_P - 1| + |\bar s_U - \pi| / (2 \pi)`, from logits.

    Where positives are rare, :math:`2 \pi` times that, which is the form of the paper.
    """
    of_labeled = 1 - labeled.sigmoid().mean()
    of_population = (population.sigmoid().mean() - pi).abs()
    if pi < RARE:
        return 2 * pi * of_labeled + of_population
    return of_labeled + of_population / (2 * pi)


def entropy(scores: Tensor) -> Tensor:
    """Mean entropy of predictions, from logits."""
    return entropies(clipped(scores)).mean()


def rising_weight(highest: float, epoch: int, epochs: int) -> float:
    """Return the weight of the entropy in an epoch of the second stage, counted from 0."""
    return highest * (1 - math.cos(math.pi / 2 * epoch / epochs))


@dataclass(kw_only=True, eq=False, repr=False)
class DistPU(AligningLearner):
    r"""Align predictions with the prior instead of taking unlabeled rows for negatives.

    With :math:`\bar s` the mean predicted probability,

    .. math:: L = |\bar s_P - 1| + \frac{1}{2 \pi} |\bar s_U - \pi|

    is zero also where all predictions are :math:`\pi`, so their entropy is minimized as well. A
    second stage adds mixtures of rows, whose targets are 1 for labeled rows and the network's own
    last prediction for the others.

    Parameters
    ----------
    warm_up_entropy : float, default=0.002
        Weight of the entropy of predictions in the first stage. Without any, predicting the prior
        for every row is a solution.
    entropy : float, default=0.004
        Weight of that entropy at the end of the second stage; it begins at zero and rises.
    mixed_entropy : float, default=0.04
        Weight of the entropy of predictions at mixed rows, in the second stage.
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. The mean prediction is pinned to it, so an error in it is carried on.
    warm_up_epochs : int, default=60
        Epochs of the first stage, at most: it ends where the risk of the held-out rows is lowest.
        Weights of this stage are never kept. Without ``patience`` all of these epochs are run, as
        published, and the second stage starts from the best.
    warm_up_learning_rate : float, default=5e-4
        Step size in the first stage, which falls to zero along a cosine. This is the published
        value.
    warm_up_weight_decay : float, default=5e-3
        Penalty on large weights in the first stage. This is the published value.
    mixing_weight : float, default=5.0
        Weight of the mixed rows in the second stage. This is the published value.
    mixing_shape : float, default=6.0
        Both parameters of the beta distribution that the shares of mixing come from. The larger it
        is, the nearer the shares are to one half. This is the published value.
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
        where the selection in ``history_`` still rises at the end. These are the epochs of the
        second stage.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=2e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. This one is for the second stage, at the end of which it is 0.7 of
        this. The authors take 5e-5, after a first stage that is run to its end.
    weight_decay : float, default=1e-3
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. This one is for the second stage, as published.
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
        learner. For this one that is the loss, a smooth recovered accuracy.
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
    alpha_ : float or None
        Share of positives among the unlabeled rows, as given or estimated; None without either.
    prior_ : PriorEstimate or None
        The estimate that ``alpha_`` comes from; None where it was a number.
    pi_ : float or None
        Share of positives in the population, which follows from ``alpha_`` and ``scheme``.
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

    References
    ----------
    Zhao, Xu, Jiang, Wen and Huang, "Dist-PU: positive-unlabeled learning from a label distribution
    perspective", CVPR 2022. Their batches are drawn from all rows, so that few labels are in one;
    here a batch has labeled rows of its own.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="dist-pu",
        family="risk",
        cost="n per epoch, then twice",
        effort=1.6,
        source="Zhao et al. 2022",
        needs_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    presets: ClassVar[Presets] = {
        "paper": {"learning_rate": 5e-05, "validation_fraction": 0.0},
        "pubench": {
            "epochs": 20,
            "warm_up_epochs": 20,
            "learning_rate": 5e-05,
            "warm_up_learning_rate": 0.0003,
            "weight_decay": 0.0005,
            "warm_up_weight_decay": 0.0005,
            "warm_up_entropy": 0.0,
            "entropy": 0.0,
            "mixing_shape": 1.0,
            "patience": 10,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "warm_up_entropy": Number(least=0),
        "entropy": Number(least=0),
        "mixed_entropy": Number(least=0),
    }

    # The risk may stand still for some epochs, with all rows called positive, before it falls.
    whole_warm_up: ClassVar[bool] = True

    learning_rate: float = 2e-4
    weight_decay: float = 1e-3
    warm_up_entropy: float = 0.002
    entropy: float = 0.004
    mixed_entropy: float = 0.04

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        self._memory["entropy weight"] = torch.zeros((), device=rows.X.device)

    def _begin(self, stage: int, epoch: int) -> None:
        if stage == 2:
            weight = rising_weight(self.entropy, epoch, self.epochs)
            self._memory["entropy weight"].fill_(weight)

    def _warm_up_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        assert self.pi_ is not None
        aligned = distribution_loss(labeled, population, self.pi_)
        return aligned + self.warm_up_entropy * entropy(population)

    def _main_loss(self, labeled: Tensor, population: Tensor, mixed: Tensor) -> Tensor:
        assert self.pi_ is not None
        return (
            distribution_loss(labeled, population, self.pi_)
            + self._memory["entropy weight"] * entropy(population)
            + self.mixed_entropy * entropy(mixed)
        )
