"""CGenPU: a generator of positives and of negatives, and a classifier that tells its two modes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from recoup._core.constraints import Constraints, Flag, Nothing, Number, WholeNumber, Words
from recoup.exceptions import RecoupWarning
from recoup.learners._training.generators import (
    GeneratingLearner,
    frozen,
    is_image,
    reading_network,
    writing_network,
)
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows, Turn
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor, nn

SMALLEST_CHANCE = 1e-7
# Numbers that a generator starts from.
NOISE_FOR_VECTORS, NOISE_FOR_IMAGES = 8, 64

Divergence = Literal["pointwise", "bernoulli"]


def divergence(p: Tensor, q: Tensor, kind: Divergence = "pointwise") -> Tensor:
    r"""Return the mean of :math:`p \ln (p/q)`, which may be negative, or the full divergence.

    Parameters
    ----------
    p, q : Tensor
        Probabilities, in pairs.
    kind : {"pointwise", "bernoulli"}
        Whether the other outcome, :math:`(1-p) \ln ((1-p)/(1-q))`, is left out.
    """
    terms = p * (_bounded(p).log() - _bounded(q).log())
    if kind == "bernoulli":
        terms = terms + (1 - p) * (_bounded(1 - p).log() - _bounded(1 - q).log())
    return terms.mean()


def _bounded(chances: Tensor) -> Tensor:
    return chances.clamp(SMALLEST_CHANCE, 1.0)


def anchor(labeled: Tensor) -> Tensor:
    """Return how far the classifier is from being sure of labeled rows."""
    return -_bounded(labeled).log().mean()


def pairing(
    labeled: Tensor, positive: Tensor, negative: Tensor, kind: Divergence = "pointwise"
) -> Tensor:
    """Return how far made positives are from labeled rows, and made negatives from the opposite.

    Parameters
    ----------
    labeled, positive, negative : Tensor
        What the classifier takes for the chance that labeled rows, made positives and made
        negatives are positive; of the same length.
    kind : {"pointwise", "bernoulli"}
        Of the divergence.
    """
    return divergence(labeled, positive, kind) + divergence(positive, 1 - negative, kind)


def telling_loss(labeled: Tensor, unlabeled: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Cross-entropy of the discriminator, from its logits of real rows and of made ones."""
    from torch.nn.functional import softplus

    real = softplus(-labeled).mean() + softplus(-unlabeled).mean()
    return (real + softplus(positive).mean() + softplus(negative).mean()) / 2


def noticing_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Cross-entropy that made rows have where they are taken for real, from the same logits."""
    from torch.nn.functional import softplus

    return softplus(-positive).mean() + softplus(-negative).mean()


@dataclass(kw_only=True, eq=False, repr=False)
class CGenPU(GeneratingLearner):
    r"""Make positives and negatives that together look like the rows, and tell those two apart.

    A generator turns noise and a class into a row; a discriminator D tells such rows from labeled
    and from unlabeled ones; a classifier A, which is what is kept, gives the chance of a positive.
    With :math:`K(p, q)` the mean of :math:`p \ln (p/q)`, made positives :math:`g_+` and negatives
    :math:`g_-`, each step minimizes for A, and then for the generator

    .. math::

       K(1, A(x_L)) + K(A(x_L), A(g_+)) + K(A(g_+), 1 - A(g_-)), \\
       BCE(D(g_+), 1) + BCE(D(g_-), 1) + a \, [K(A(x_L), A(g_+)) + K(A(g_+), 1 - A(g_-))] .

    Made positives come to look like labeled rows. Together with them, made negatives come to look
    like the unlabeled rows. Nothing forces the negatives to be complete, or to look real: with many
    features, or binary ones, A can tell made rows from real ones by their faults, and then it calls
    all real rows positive. So three things are added that the authors do not have. Made rows are
    remembered, because A would forget what was wrong with earlier ones. With alpha, the term
    :math:`w \, |\overline{A(x_U)} - \alpha|` in A's loss draws the mean of A over unlabeled rows to
    alpha, and a row is positive where its score is among the highest :math:`\pi` of the training
    population.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. With None all rows are trained on and the last weights are kept, as by the
        authors, unless ``select`` says otherwise; that works where the classes are apart, and rows
        have few features.
    most_steps : int, default=200
        Steps of an epoch where a pass over the unlabeled rows has more.
    auxiliary_weight : float, default=1.0
        Weight a of the two terms with the classifier in the generator's loss. This is the published
        value.
    prior_weight : float, default=1.0
        Weight w of alpha in the loss of A. With 0 unlabeled rows reach A through the generator
        alone, as by the authors.
    remembered_rows : int or None, default=4096
        Made rows of either class, the newest ones, that those for A are drawn from. None takes the
        last ones alone, as the authors do.
    divergence : {"pointwise", "bernoulli"}, default="pointwise"
        K as published, which can be negative, or with its other half, :math:`(1-p) \ln
        ((1-p)/(1-q))`, which makes it a divergence.
    noise_dimensions : int or None, default=None
        Length of the uniform noise. None takes 8 for vectors, as published, and 64 for images.
    compress : bool, default=True
        Replace each feature x of standardized vectors by :math:`\pm \ln (1 + |x|)`, which brings
        very large values nearer. The authors do not. On Spambase it was better for two seeds of
        three.
    hidden_units : int, default=128
        Width of the hidden layers of the networks beside the classifier. Here the three hidden
        layers of generator and discriminator have it, as published. Images have convolutions in
        place of two of them.
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
        where the selection in ``history_`` still rises at the end. An epoch has ``least_steps`` to
        ``most_steps`` steps. The authors take 1000 passes over about 1000 rows, which are 6000
        steps.
    batch_size : int, default=64
        Rows of the population per step. Larger batches make steps less noisy, and fewer. Here these
        are unlabeled rows; as many labeled ones come with them, repeated if there are fewer. The
        authors take 128.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16. It has no effect here.
    least_steps : int, default=100
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=3e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. The authors take 1e-4; Adam's first beta is 0.5, as published.
    weight_decay : float, default=0.0
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. The authors have none.
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
        learner. For this one that is the accuracy; without alpha, the last weights are kept.
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
    generator_ : Module
        The network that makes rows from noise and a class.
    discriminator_ : Module
        The network D.
    low_ : float or None
        Lowest value of the rows that are made, for images: that of the training rows.
    high_ : float or None
        Highest value of them.
    implied_alpha_ : float
        Mean of A over the unlabeled rows: near their share of positives if all went well, which
        says something only where ``prior_weight`` is 0.
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
    Papič, Kononenko and Bosnić, "Conditional generative positive and unlabeled learning", Expert
    Systems with Applications 224:120046, 2023.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="cgenpu",
        family="generative",
        cost="n per epoch, for three networks",
        effort=3.0,
        source="Papič et al. 2023",
        prior_free=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench trains up to 200 epochs, and draws made negatives to the prior, a slip; the epochs
    # stay ours, they are what this learner costs, and so does one rate, its discriminator's.
    presets: ClassVar[Presets] = {
        "paper": {
            "alpha": None,
            "epochs": 1000,
            "batch_size": 128,
            "learning_rate": 0.0001,
            "least_steps": 1,
            "remembered_rows": None,
            "compress": False,
        },
        "pubench": {
            "alpha": None,
            "batch_size": 32,
            "learning_rate": 0.0001,
            "auxiliary_weight": 0.5,
            "noise_dimensions": 256,
            "patience": 30,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "most_steps": WholeNumber(),
        "auxiliary_weight": Number(least=0),
        "prior_weight": Number(least=0),
        "remembered_rows": WholeNumber() | Nothing(),
        "divergence": Words("pointwise", "bernoulli"),
        "noise_dimensions": WholeNumber() | Nothing(),
        "compress": Flag(),
    }
    cuts_by_share: ClassVar[bool] = True
    parts: ClassVar[tuple[str, ...]] = ("generator_", "discriminator_")

    alpha: Any = "estimate"
    epochs: int = 60
    batch_size: int = 64
    learning_rate: float = 3e-4
    weight_decay: float = 0.0
    least_steps: int = 100
    hidden_units: int = 128
    most_steps: int = 200
    auxiliary_weight: float = 1.0
    prior_weight: float = 1.0
    remembered_rows: int | None = 4096
    divergence: Divergence = "pointwise"
    noise_dimensions: int | None = None
    compress: bool = True

    generator_: Any = field(init=False, repr=False)
    discriminator_: Any = field(init=False, repr=False)

    @property
    def _n_noise(self) -> int:
        usual = NOISE_FOR_IMAGES if is_image(self.shape_) else NOISE_FOR_VECTORS
        return int(self.noise_dimensions or usual)

    def _new_part(self, name: str, caller: str) -> nn.Module:
        widths = (int(self.hidden_units),) * 3
        if name == "generator_":
            # Two more inputs name the class.
            normalized = is_image(self.shape_)
            return writing_network(self._n_noise + 2, self.shape_, widths, normalized=normalized)
        if name == "discriminator_":
            slope = 0.2 if is_image(self.shape_) else 0.0
            return reading_network(self.shape_, 1, widths, slope=slope)
        return super()._new_part(name, caller)

    def _held_out(self, X: Any, s: NDArray[np.int_], rng: np.random.Generator) -> NDArray[np.bool_]:
        held = super()._held_out(X, s, rng)
        return held & (self.pi_ is not None or self.select != "auto")

    def _tensor(self, X: Any, device: torch.device) -> Tensor:
        rows = super()._tensor(X, device)
        if not (self.compress and self.standardize and len(self.shape_) == 1):
            return rows
        return rows.sign() * rows.abs().log1p()

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        if self.remembered_rows is None:
            return
        n = self._size(rows)
        with torch.no_grad(), frozen(self.generator_):
            first = self._made(n).reshape(2, n, *self.shape_)
        places = torch.arange(max(int(self.remembered_rows), n), device=rows.X.device)
        self._memory["made"] = first[:, places % n]
        # Where the next rows go, over the oldest.
        self._memory["places"] = places

    def _size(self, rows: TrainingRows) -> int:
        """Return how many rows of each kind a step takes."""
        return min(int(self.batch_size), len(rows.unlabeled))

    def _steps(self, rows: TrainingRows) -> int:
        return min(super()._steps(rows), max(self.least_steps, self.most_steps))

    def _stages(self) -> list[Stage]:
        making = Turn(
            *(self._making_loss, self.learning_rate, self.weight_decay),
            betas=(0.5, 0.999),
            networks=("generator_",),
        )
        return [
            Stage(
                *(self._judging_loss, self.epochs, self.learning_rate, self.weight_decay),
                betas=(0.5, 0.999),
                networks=("network_", "discriminator_"),
                further=(making,),
                unlabeled=True,
                labeled_batch=self._size(self._rows),
                steps=self._steps(self._rows),
            )
        ]

    def _made(self, n: int) -> Tensor:
        """Make n positives and then n negatives."""
        import torch

        like = next(self.generator_.parameters())
        noise = 2 * torch.rand(2 * n, self._n_noise, device=like.device) - 1
        classes = torch.eye(2, device=like.device).repeat_interleave(n, dim=0)
        rows: Tensor = self._within(self.generator_(torch.cat([noise, classes], dim=1)))
        return rows

    def _judging_loss(self, batch: Batch) -> Tensor:
        """Return the losses of both judges in one: no weight is in both."""
        import torch

        n = len(batch.labeled)
        with torch.no_grad(), frozen(self.generator_):
            made = self._made(n)
        told = scores_of(self.discriminator_, torch.cat([batch.rows, made]))
        rows = torch.cat([batch.labeled, self._remembered(made), batch.population])
        *chances, unlabeled = scores_of(batch.network, rows).sigmoid().split(n)
        loss = telling_loss(*told.split(n)) + anchor(chances[0]) + self._pairing(*chances)
        if self.alpha_ is not None:
            loss += self.prior_weight * (unlabeled.mean() - self.alpha_).abs()
        return loss

    def _remembered(self, made: Tensor) -> Tensor:
        """Note positives and then negatives that were made, and draw as many of those noted."""
        import torch

        if self.remembered_rows is None:
            return made
        kept, places, n = self._memory["made"], self._memory["places"], len(made) // 2
        kept.index_copy_(1, places[:n], made.reshape(2, n, *made.shape[1:]))
        places.copy_(places.roll(-n))
        drawn = torch.randint(len(places), (n,), device=made.device)
        return kept[:, drawn].flatten(0, 1)

    def _making_loss(self, batch: Batch) -> Tensor:
        import torch

        n = len(batch.labeled)
        made = self._made(n)
        with frozen(self.discriminator_, batch.network):
            noticed = noticing_loss(*scores_of(self.discriminator_, made).split(n))
            chances = scores_of(batch.network, torch.cat([batch.labeled, made])).sigmoid().split(n)
        return noticed + self.auxiliary_weight * self._pairing(*chances)

    def _pairing(self, labeled: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return pairing(labeled, positive, negative, self.divergence)

    def _conclude(self, rows: TrainingRows) -> None:
        scores = self._scores(rows.X, rows.unlabeled)
        self.implied_alpha_ = float(scores.sigmoid().mean())
        positive = float((scores > self._offset(rows)).float().mean())
        if positive in (0.0, 1.0):
            word = "positive" if positive else "negative"
            warnings.warn(
                f"CGenPU.fit takes every unlabeled row for {word}: the generator's negatives are "
                f"not those of the data. Train for more epochs, or with another random_state.",
                RecoupWarning,
                stacklevel=2,
            )
