"""UPU: the unbiased PU risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from recoup._core.constraints import Constraints, Words
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.risks import Loss, pnu_risk, pu_risks
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(kw_only=True, eq=False, repr=False)
class UPU(TorchPULearner):
    r"""Minimize the risk of a classifier, written with labeled and unlabeled rows alone.

    What negatives would cost is what unlabeled rows cost as negatives, less the part of it that
    is due to the positives among them:

    .. math:: R = \pi R_P^+ + R_U^- - \pi R_P^-

    A flexible network can push this below zero by learning the labeled rows by heart, which is
    why :class:`NNPU` is usually better.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``.
    loss : {"sigmoid", "logistic", "squared"}, default="sigmoid"
        What a margin costs. The sigmoid loss is bounded, so that single rows cannot rule; with the
        logistic loss the decision function is the logarithm of the odds, and ``predict_proba`` a
        probability.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=40
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. The default is that of PU-Bench;
        the authors of nnPU take 100.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer. The
        default is that of PU-Bench.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=3e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. The default is that of PU-Bench; the authors of nnPU take 1e-3 on
        MNIST and 1e-5 on CIFAR-10.
    weight_decay : float, default=1e-4
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. The default is that of PU-Bench; the authors of nnPU take 5e-3.
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
    du Plessis, Niu and Sugiyama, "Analysis of learning from positive and unlabeled data",
    NeurIPS 2014; "Convex formulation for learning from positive and unlabeled data", ICML 2015.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="upu",
        family="risk",
        cost="n per epoch",
        effort=0.4,
        source="du Plessis et al. 2014",
        needs_alpha=True,
        backend="torch",
        takes_weight=True,
        uses_negatives=True,
    )
    presets: ClassVar[Presets] = {
        "pubench": {"patience": 10, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {"loss": Words(*get_args(Loss))}

    natural_select: ClassVar[Select] = "loss"

    alpha: Any = "estimate"
    loss: Loss = "sigmoid"

    def _stages(self) -> list[Stage]:
        self._known = self._rows.share_of_known(self.pi_)
        return [
            Stage(self._loss, self.epochs, self.learning_rate, self.weight_decay, negatives=True)
        ]

    def _loss(self, batch: Batch) -> Tensor:
        labeled, population, negative = batch.all_scores()
        risk = self._risk(labeled, population)
        if not len(negative):
            return risk
        assert self.pi_ is not None
        return pnu_risk(risk, labeled, negative, self.pi_, self._known, self.loss)

    def _risk(self, labeled: Tensor, population: Tensor) -> Tensor:
        """Turn the scores of two batches into the number to minimize."""
        assert self.pi_ is not None
        positive, negative = pu_risks(labeled, population, self.pi_, self.loss)
        return positive + negative
