"""PULDA: Dist-PU with a margin, means that run over batches, and a choice of distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from recoup._core.constraints import Constraints, Number, Words
from recoup.learners._training.stages import TrainingRows
from recoup.learners._training.two_stage import AligningLearner
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor

Distance = Literal["l1", "softplus"]


def smooth_distance(first: Tensor, second: Tensor | float, temperature: float) -> Tensor:
    r"""Return :math:`(\log(1 + e^{T d}) + \log(1 + e^{-T d})) / T` of a difference d."""
    from torch.nn.functional import softplus

    scaled = temperature * (first - second)
    return (softplus(scaled) + softplus(-scaled)) / temperature


def margin_means(labeled: Tensor, population: Tensor, margin: float) -> tuple[Tensor, ...]:
    """Return how much lies near the boundary, from logits.

    As positives and as negatives of the labeled rows, and as negatives of the population.
    """

    def positive(scores: Tensor) -> Tensor:
        return (scores.sigmoid() * (margin - scores).sigmoid()).mean()

    def negative(scores: Tensor) -> Tensor:
        return ((scores + margin).sigmoid() * (-scores).sigmoid()).mean()

    return positive(labeled), negative(labeled), negative(population)


@dataclass(frozen=True)
class RunningMean:
    """A mean over batches, of which only the present one has a gradient.

    Attributes
    ----------
    mean, started : Tensor
        The mean so far, and whether there is one (1.0) or not (0.0); changed in place.
    momentum : float
        Weight of the past.
    """

    mean: Tensor
    started: Tensor
    momentum: float

    def update(self, now: Tensor) -> tuple[Tensor, Tensor]:
        """Take a batch's mean in; return the mean, and the weight that the batch has in it."""
        past = self.momentum * self.started
        mean = past * self.mean + (1 - past) * now
        self.mean.copy_(mean.detach())
        self.started.fill_(1.0)
        return mean, 1 - past


@dataclass(kw_only=True, eq=False, repr=False)
class PULDA(AligningLearner):
    r"""Align predictions with the prior, and keep them off the boundary.

    With :math:`D_T(a, b) = (\log(1 + e^{T(a-b)}) + \log(1 + e^{-T(a-b)})) / T`, the loss is

    .. math:: 2 \pi (1 - \bar s_P) + D(\bar s_U, \pi)
       + \pi C_P^+ + D_1(C_U^-, \pi C_P^-)

    where C is large for rows within a margin of the boundary, and D is the plain distance or
    :math:`D_T`. Means inside of D run over batches. A second stage adds mixtures of rows, as in
    :class:`DistPU`.

    Parameters
    ----------
    distance : {"l1", "softplus"}, default="l1"
        Between the mean prediction of the population and the prior: the plain difference, or the
        smooth :math:`D_T` of the authors. See the notes.
    temperature : float, default=3.5
        T of the smooth distance. The larger it is, the nearer that is to the plain difference. This
        is the published value.
    margin : float, default=0.6
        How far the logits of rows shall be from the boundary. This is the published value.
    population_momentum : float, default=0.85
        Weight of the past in the running means of predictions, from 0 to 1. This is the published
        value.
    margin_momentum : float, default=0.5
        Weight of the past in the running means of C. This is the published value.
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``.
    warm_up_epochs : int, default=60
        Epochs of the first stage, at most: it ends where the risk of the held-out rows is lowest.
        Weights of this stage are never kept.
    warm_up_learning_rate : float, default=1e-4
        Step size in the first stage, which falls to zero along a cosine. This is the published
        value.
    warm_up_weight_decay : float, default=5e-4
        Penalty on large weights in the first stage. This is the published value.
    mixing_weight : float, default=4.2
        Weight of the mixed rows in the second stage. This is the published value.
    mixing_shape : float, default=11.0
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
    batch_size : int, default=128
        Rows of the population per step. Larger batches make steps less noisy, and fewer. The
        published value, in both stages.
    labeled_batch : int or None, default=16
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16. The published value, in both stages.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=1e-3
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. This one is for the second stage, at the end of which it is 0.7 of
        this.
    weight_decay : float, default=1e-4
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. This one is for the second stage.
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

    Notes
    -----
    Near its minimum the smooth distance pulls with :math:`\tanh(T d / 2)` only, d being how far
    the mean prediction is from the prior, against :math:`2 \pi` of the labeled rows. Where these
    cannot all be called positive, too much of the population is. Where the prior is near one half
    and the network learns slowly, everything is called positive before anything is told apart, and
    there it stays: even digits of MNIST end at an accuracy of 49 %, with temperatures of 3.5, 10
    and 30 alike, and at 99 % with the plain difference.

    References
    ----------
    Jiang, Xu, Zhao, Yang, Wen, Cao and Huang, "Positive-unlabeled learning with label distribution
    alignment", IEEE Transactions on Pattern Analysis and Machine Intelligence 45(12), 2023.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pulda",
        family="risk",
        cost="n per epoch, then twice",
        effort=3.0,
        source="Jiang et al. 2023",
        needs_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench warms up by calling unlabeled rows negative, without which its smooth distance calls
    # all digits positive; alignment and distance stay ours.
    presets: ClassVar[Presets] = {
        "paper": {"distance": "softplus", "validation_fraction": 0.0},
        "pubench": {"patience": 20, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {
        "distance": Words(*get_args(Distance)),
        "temperature": Number(above=0),
        "margin": Number(least=0),
        "population_momentum": Number(least=0, below=1),
        "margin_momentum": Number(least=0, below=1),
    }

    batch_size: int = 128
    labeled_batch: int | None = 16
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    warm_up_learning_rate: float = 1e-4
    warm_up_weight_decay: float = 5e-4
    mixing_weight: float = 4.2
    mixing_shape: float = 11.0
    distance: Distance = "l1"
    temperature: float = 3.5
    margin: float = 0.6
    population_momentum: float = 0.85
    margin_momentum: float = 0.5

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        self._memory["means"] = torch.zeros(3, device=rows.X.device)
        self._memory["started"] = torch.zeros(3, device=rows.X.device)

    def _begin(self, stage: int, epoch: int) -> None:
        if epoch == 0:
            self._memory["started"].zero_()

    def _warm_up_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        aligned, apart = self._losses(labeled, population)
        return aligned + apart

    def _main_loss(self, labeled: Tensor, population: Tensor, mixed: Tensor) -> Tensor:
        return self._warm_up_loss(labeled, population)

    def _losses(self, labeled: Tensor, population: Tensor) -> tuple[Tensor, Tensor]:
        """Return the alignment and the margin, with means that run over batches."""
        assert self.pi_ is not None
        momenta = (self.population_momentum, self.margin_momentum, self.margin_momentum)
        of_population, of_labeled, of_margin = (
            RunningMean(self._memory["means"][place], self._memory["started"][place], momentum)
            for place, momentum in enumerate(momenta)
        )
        mean, weight = of_population.update(population.sigmoid().mean())
        if self.distance == "l1":
            away = (mean - self.pi_).abs()
        else:
            away = smooth_distance(mean, self.pi_, self.temperature)
        aligned = 2 * self.pi_ * (1 - labeled.sigmoid().mean()) + away / weight
        as_positive, as_negative, in_population = margin_means(labeled, population, self.margin)
        labeled_mean, _ = of_labeled.update(as_negative)
        population_mean, weight = of_margin.update(in_population)
        between = smooth_distance(population_mean, self.pi_ * labeled_mean, 1.0)
        return aligned, self.pi_ * as_positive + between / weight
