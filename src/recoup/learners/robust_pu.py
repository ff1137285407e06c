"""RobustPU: from nnPU on, unlabeled rows count as negative, the easy ones first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from recoup._core.checks import brief
from recoup._core.constraints import Constraints, Number, Several, WholeNumber, Words
from recoup.exceptions import InvalidInputError
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.base import LearnerTags, Presets
from recoup.learners.nnpu import NNPU

if TYPE_CHECKING:
    from torch import Tensor

    from recoup.learners._training.stages import TrainingRows

Hardness = Literal["logistic", "sigmoid"]
Weighting = Literal["welsch", "hard", "linear", "logistic", "cauchy", "polynomial", "log", "huber"]
Growth = Literal["linear", "convex", "concave", "exp", "const"]
Balance = Literal["auto", "pooled", "prior", "equal"]

# With more unlabeled rows to a labeled one, their losses in one mean would call all negative.
MOST_POOLED = 4
# Where no weight exceeds this, the threshold is too low for the scale of the scores.
WEIGHTLESS = 1e-8


def hardness(margins: Tensor, kind: Hardness) -> Tensor:
    """Return how hard rows are, from scores over the temperature, above 0 on the right side."""
    from torch.nn.functional import softplus

    return softplus(-margins) if kind == "logistic" else (-margins).sigmoid()


def soft_weights(hard: Tensor, threshold: float, kind: Weighting) -> Tensor:
    """Return the weights of rows of some hardness, which rise with the threshold."""
    import torch

    if kind == "welsch":
        return (-hard / threshold**2).exp()
    if kind == "hard":
        return (hard < threshold).to(hard.dtype)
    if kind == "logistic":
        return (1 + math.exp(-threshold)) / (1 + (hard - threshold).exp())
    if kind == "cauchy":
        return 1 / (1 + hard / threshold**2)
    if kind == "log":
        shares = (hard + 1 - threshold).log() / math.log(1 - threshold)
        return torch.where(hard < threshold, shares, 0.0)
    if kind == "huber":
        return (threshold / hard.sqrt()).clamp(max=1)
    left = (1 - hard / threshold).clamp(min=0)
    return left if kind == "linear" else left.sqrt()


def threshold_at(episode: int, first: float, last: float, steps: int, growth: Growth) -> float:
    """Return the threshold of an episode, from 0, which comes from first to last in some steps."""
    done = min(episode / steps, 1.0)
    share = {
        "linear": done,
        "convex": math.sin(math.pi / 2 * done),
        "concave": 1 - math.cos(math.pi / 2 * done),
        "exp": 1 - 2.0**-episode,
        "const": 0.0,
    }[growth]
    return first + (last - first) * share


def weighted_loss(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross-entropy over the number of rows, so that light batches have light steps."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    return binary_cross_entropy_with_logits(scores, targets, weights)


@dataclass(kw_only=True, eq=False, repr=False)
class RobustPU(NNPU):
    r"""Take unlabeled rows for negatives, but let those count little that do not look like it.

    A network is trained with the risk of :class:`NNPU`. Episodes follow. Each begins with the
    hardness of every row, which is its loss as a positive if it has a label, as a negative if not:
    with the score z and temperatures :math:`\tau`,

    .. math:: h = \log(1 + e^{-z / \tau_L}), \qquad h = \log(1 + e^{z / \tau_U})

    Hardness becomes a weight :math:`v = \exp(-h / \lambda^2)`, and the network is trained with
    cross-entropy, weighted by v. The threshold :math:`\lambda` grows from episode to episode, from
    the clearest rows to nearly all; hidden positives stay light as long as they look positive. The
    weights of the network that are best on held-out rows are kept, those of nnPU among them.

    Parameters
    ----------
    passes : int, default=5
        Passes over the rows in an episode, which begins with a new optimizer. The authors have 20.
    warm_up_epochs : int, default=40
        Epochs of nnPU. The best of them is where the episodes begin. The authors have 100.
    warm_up_learning_rate : float, default=3e-4
        Step size of nnPU, as in :class:`NNPU`. At the authors' 1e-3, with batches of 128, which is
        for a network with one hidden layer, the risk throws deeper ones off: on Connect-4 they came
        to call every row negative.
    warm_up_weight_decay : float, default=1e-4
        Penalty on large weights while nnPU is trained. This is the published value.
    weighting : str, default="welsch"
        What makes a weight of h and :math:`\lambda`: ``"welsch"`` as above, the published choice;
        ``"hard"``, which is 1 where h is below :math:`\lambda`; ``"linear"``, ``"polynomial"`` and
        ``"log"``, which fall to 0 there; ``"logistic"``, ``"cauchy"`` and ``"huber"``, which fall
        more slowly and never reach 0.
    hardness : {"logistic", "sigmoid"}, default="logistic"
        How hard a row is: its logistic loss as above, or the probability of the other class.
    labeled_thresholds : tuple of float, default=(0.1, 1.0)
        The first and the last :math:`\lambda` of labeled rows. These are the published values.
    unlabeled_thresholds : tuple of float, default=(0.11, 1.0)
        The first and the last :math:`\lambda` of unlabeled rows. These are the published values. A
        lower last one keeps more rows light until the end.
    growth : {"linear", "convex", "concave", "exp", "const"}, default="linear"
        How :math:`\lambda` comes from the first value to the last: evenly, fast first, slowly
        first, half of what is left in each episode, not at all.
    growth_episodes : int, default=5
        Episodes until the last :math:`\lambda` is reached. This is the published value.
    labeled_temperature : float, default=1.0
        The :math:`\tau_L` that scores of labeled rows are divided by. This is the published value.
    unlabeled_temperature : float, default=1.3
        The :math:`\tau_U` that scores of unlabeled rows are divided by. This is the published
        value.
    momentum : float, default=0.0
        Share that the weight of a row keeps of that in the episode before. The published value is
        0.
    balance : {"auto", "pooled", "prior", "equal"}, default="auto"
        How labeled and unlabeled rows count in the loss: one mean over both, as published; a mean
        of each, weighted by the shares of positives and negatives in the population; or equally. In
        one mean, many unlabeled rows call everything negative, so ``"auto"`` takes ``"prior"``
        where there are more than four to a labeled one, and else ``"pooled"``.
    correction : {"ascent", "clamp"}, default="ascent"
        What a step does where the negative part r of the risk is too low: go against r and nothing
        else, as published, or take r as zero, so that it learns from the positive part alone. Used
        in the warm-up only.
    tolerance : float, default=0.0
        How far the negative part r of the risk may fall below zero before it counts as too low. The
        published value is 0; a little more lets noisy small batches pass. Used in the warm-up only.
    ascent_share : float, default=1.0
        Share of a full step to go against r where it is too low, from 0 to 1. The published value
        is 1. Used in the warm-up only.
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. Only nnPU, the choice of the weights and ``balance`` need it.
    loss : {"sigmoid", "logistic", "squared"}, default="sigmoid"
        What a margin costs. The sigmoid loss is bounded, so that single rows cannot rule; with the
        logistic loss the decision function is the logarithm of the odds, and ``predict_proba`` a
        probability. Used in the warm-up only.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=20
        Episodes, at most. The authors have 100.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer. The
        authors take 64.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=1e-3
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. This one is for the episodes. The authors take 1e-2.
    weight_decay : float, default=0.0
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. This one is for the episodes. This is the published value.
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
        learner. For this one that is the loss, a smooth recovered accuracy; weights of nnPU may be
        kept too.
    patience : int or None, default=5
        Episodes without improvement on the held-out rows after which training stops, as published.
        None runs all episodes.
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
    The held-out rows are judged by the sigmoid loss, which nnPU itself minimizes, so that they
    often prefer weights of the warm-up: the result is then that of :class:`NNPU`, bit for bit.
    ``health_.remarks`` says so; ``select="auc"`` judges by ranks alone.

    References
    ----------
    Zhu, Wang, Zhao, Du, Zhang, Dong, Qiao, Lin, Rajmohan and Zhang, "Robust positive-unlabeled
    learning via noise negative sample self-correction", KDD 2023. They choose by true labels; here
    held-out rows without do.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="robust-pu",
        family="disambiguation",
        cost="n per pass, and n to score per episode",
        effort=0.7,
        source="Zhu et al. 2023",
        needs_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    # In PU-Bench's code one mean over all rows calls everything negative; the balance stays ours.
    presets: ClassVar[Presets] = {
        "paper": {
            "epochs": 100,
            "passes": 20,
            "batch_size": 64,
            "learning_rate": 0.01,
            "warm_up_epochs": 100,
            "warm_up_learning_rate": 0.001,
            "balance": "pooled",
        },
        "pubench": {
            "epochs": 5,
            "learning_rate": 0.01,
            "patience": None,
            "warm_up_epochs": 20,
            "warm_up_learning_rate": 0.0001,
            "weighting": "linear",
            "growth_episodes": 10,
            "unlabeled_temperature": 1.5,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "passes": WholeNumber(),
        "warm_up_epochs": WholeNumber(),
        "warm_up_learning_rate": Number(above=0),
        "warm_up_weight_decay": Number(least=0),
        "weighting": Words(*get_args(Weighting)),
        "hardness": Words(*get_args(Hardness)),
        "labeled_thresholds": Several(Number(above=0), 2, why="the first and the last threshold"),
        "unlabeled_thresholds": Several(Number(above=0), 2, why="the first and the last threshold"),
        "growth": Words(*get_args(Growth)),
        "growth_episodes": WholeNumber(),
        "labeled_temperature": Number(above=0),
        "unlabeled_temperature": Number(above=0),
        "momentum": Number(least=0, below=1),
        "balance": Words(*get_args(Balance)),
    }

    epochs: int = 20
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    patience: int | None = 5
    passes: int = 5
    warm_up_epochs: int = 40
    warm_up_learning_rate: float = 3e-4
    warm_up_weight_decay: float = 1e-4
    weighting: Weighting = "welsch"
    hardness: Hardness = "logistic"
    labeled_thresholds: Sequence[float] = (0.1, 1.0)
    unlabeled_thresholds: Sequence[float] = (0.11, 1.0)
    growth: Growth = "linear"
    growth_episodes: int = 5
    labeled_temperature: float = 1.0
    unlabeled_temperature: float = 1.3
    momentum: float = 0.0
    balance: Balance = "auto"

    def _check_settings(self, caller: str) -> None:
        super()._check_settings(caller)
        for name in ("labeled_thresholds", "unlabeled_thresholds"):
            value = getattr(self, name)
            if self.weighting == "log" and max(value) >= 1:
                raise InvalidInputError(
                    f"{caller} needs {name} to be the first and the last threshold, above 0 and "
                    f"below 1 for the weighting log. Got {brief(value)}."
                )

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        self._memory["labels"] = rows.has_label.float()
        self._memory["weights"] = torch.zeros(len(rows.X), device=rows.X.device)

    def _stages(self) -> list[Stage]:
        rows, balance = self._rows, self.balance
        if balance == "auto":
            crowded = len(rows.unlabeled) > MOST_POOLED * len(rows.labeled)
            balance = "prior" if crowded else "pooled"
        pooled = balance == "pooled"
        assert self.pi_ is not None
        share = self.pi_ if balance == "prior" else 0.5
        n = len(rows.everything) if pooled else len(rows.unlabeled)
        return [
            Stage(
                self._loss,
                self.warm_up_epochs,
                self.warm_up_learning_rate,
                self.warm_up_weight_decay,
                patience=self.warm_up_epochs,
            ),
            Stage(
                self._pooled_loss if pooled else lambda batch: self._parted_loss(batch, share),
                self.epochs,
                self.learning_rate,
                self.weight_decay,
                before_epoch=self._weigh,
                steps=self.passes * max(n // self.batch_size, 1),
                pooled=pooled,
                unlabeled=not pooled,
                from_best=True,
                renewed=True,
            ),
        ]

    def _remarks(self) -> tuple[str, ...]:
        # The warm-up is always run to its end.
        if self.best_epoch_ > self.warm_up_epochs:
            return ()
        return ("no episode was better on the held-out rows: the weights are those of nnPU",)

    def _weigh(self, episode: int) -> None:
        """Give each row the weight that its hardness deserves in an episode."""
        rows, weights = self._rows, self._memory["weights"]
        parts = (
            (rows.labeled, 1 / self.labeled_temperature, self.labeled_thresholds),
            (rows.unlabeled, -1 / self.unlabeled_temperature, self.unlabeled_thresholds),
        )
        for places, factor, (first, last) in parts:
            threshold = threshold_at(episode, first, last, self.growth_episodes, self.growth)
            hard = hardness(factor * self._scores(rows.X, places), self.hardness)
            found = soft_weights(hard, threshold, self.weighting)
            if float(found.max()) < WEIGHTLESS:
                tenth = float(hard.kthvalue(max(len(hard) // 10, 1)).values)
                most = 1 - 1e-6 if self.weighting == "log" else math.inf
                found = soft_weights(hard, min(max(threshold, tenth), most), self.weighting)
            kept = self.momentum if episode else 0.0
            weights[places] = kept * weights[places] + (1 - kept) * found

    def _pooled_loss(self, batch: Batch) -> Tensor:
        return self._weighted(scores_of(batch.network, batch.population), batch.population_rows)

    def _parted_loss(self, batch: Batch, share: float) -> Tensor:
        labeled, unlabeled = batch.scores()
        of_labeled = self._weighted(labeled, batch.labeled_rows)
        return share * of_labeled + (1 - share) * self._weighted(unlabeled, batch.population_rows)

    def _weighted(self, scores: Tensor, places: Tensor) -> Tensor:
        labels, weights = self._memory["labels"], self._memory["weights"]
        return weighted_loss(scores, labels[places], weights[places])
