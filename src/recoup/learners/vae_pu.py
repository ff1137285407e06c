"""VAEPU: make positives that look unlabeled, and take them for those hidden there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from recoup._core.constraints import Constraints, Flag, Number, WholeNumber
from recoup.learners._training.generators import (
    GeneratingLearner,
    frozen,
    reading_network,
    writing_network,
)
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows, Turn
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor, nn

LEAKING = 0.2
LARGEST_LOG_VARIANCE = 10.0
SMALLEST_VARIANCE = 1e-6
# Ninths of all epochs: autoencoder, then the stages A to E of the authors, whose A has four and
# the others one. The classifier was still learning when those ended.
NINTHS = (1, 2, 2, 1, 1, 2)
# A mixture is tried again from elsewhere until this share of the labeled rows is on one side.
CLEAR_SHARE, MIXTURES = 0.8, 5
MAKING = ("class_encoder_", "observation_encoder_", "decoder_", "observation_network_")


class Mixture(NamedTuple):
    """Two normal distributions of independent features, negative first, and their weights."""

    means: Tensor
    variances: Tensor
    weights: Tensor

    def log_densities(self, points: Tensor) -> Tensor:
        """Return both, up to a constant, for each point."""
        away = (points[:, None] - self.means).square() / self.variances
        return -(away + self.variances.log()).sum(dim=2) / 2


class Normal(NamedTuple):
    """What an encoder says of each row: a normal distribution of independent features."""

    mean: Tensor
    log_variance: Tensor

    @classmethod
    def of(cls, outputs: Tensor) -> Normal:
        """Read an encoder's outputs."""
        mean, log_variance = outputs.chunk(2, dim=1)
        return cls(mean, log_variance.clamp(-LARGEST_LOG_VARIANCE, LARGEST_LOG_VARIANCE))

    def draw(self) -> Tensor:
        """Return one point per row, through which gradients pass."""
        import torch

        return self.mean + (self.log_variance / 2).exp() * torch.randn_like(self.mean)


def responsibilities(points: Tensor, mixture: Mixture) -> Tensor:
    """Return the chance that each point comes from either part of a mixture."""
    return (mixture.weights.log() + mixture.log_densities(points)).softmax(dim=1)


def class_bound(found: Normal, gamma: Tensor, mixture: Mixture) -> Tensor:
    r"""Return :math:`E_1 + E_4 + E_6`: how well the class part of the code fits the mixture."""
    spread, mean = found.log_variance.exp()[:, None], found.mean[:, None]
    away = (spread + (mean - mixture.means).square()) / mixture.variances
    fit = (gamma * -(mixture.variances.log() + away).sum(dim=2) / 2).sum(dim=1)
    entropy = (1 + found.log_variance).sum(dim=1) / 2
    # A chance of zero adds nothing, but its logarithm would.
    surprise = gamma * (gamma.clamp(min=1e-30).log() - mixture.weights.log())
    return fit + entropy - surprise.sum(dim=1)


def observation_bound(found: Normal) -> Tensor:
    r"""Return :math:`E_2 + E_5`: minus the divergence from a standard normal distribution."""
    parts = 1 + found.log_variance - found.mean.square() - found.log_variance.exp()
    return parts.sum(dim=1) / 2


def virtual_risk(
    labeled: Tensor, virtual: Tensor, unlabeled: Tensor, shares: Sequence[float] | Tensor
) -> Tensor:
    """Return what the classifier minimizes, from scores.

    Parameters
    ----------
    labeled, virtual, unlabeled : Tensor
        Scores of labeled rows, of those made to look like hidden positives, and of the others.
    shares : sequence or Tensor of three
        Labeled, hidden positive and unlabeled rows among all rows.
    """
    import torch

    of_labeled, of_hidden, of_unlabeled = shares
    positive = of_labeled * (-labeled).sigmoid().mean() + of_hidden * (-virtual).sigmoid().mean()
    negative = of_unlabeled * unlabeled.sigmoid().mean() - of_hidden * virtual.sigmoid().mean()
    return torch.where(negative >= 0, positive + negative, -negative)


@dataclass(kw_only=True, eq=False, repr=False)
class VAEPU(GeneratingLearner):
    r"""Train a classifier with made-up rows in place of the hidden positives.

    The labeled rows need not look like the other positives. An autoencoder splits each row into a
    part :math:`h_y` that tells the classes apart, with a mixture of two normal distributions as
    its prior, and a part :math:`h_o` that tells whether a row is labeled. The first part of a
    labeled row and the second one of the unlabeled row with the nearest :math:`h_o` are decoded to
    a *virtual* row :math:`\tilde x`. An adversary makes such rows look unlabeled, the classifier
    makes them look positive. It minimizes

    .. math::

       \pi_l R_L^+ + \pi_h R_{\tilde x}^+ + r, \qquad r = \pi_u R_U^- - \pi_h R_{\tilde x}^-

    with the sigmoid loss and the shares of labeled rows, hidden positives and unlabeled rows among
    all rows, or :math:`-r` alone where r is below zero.

    A ninth of the epochs goes to the autoencoder alone, after which the mixture is fitted and then
    kept. Two ninths train generator and adversary (stage A), two the classifier alone (B), one
    generator and adversary with the classifier's loss (C), one all of them (D), and two the
    classifier alone (E); the authors give four to A and one to B and to E. The mixture prior has
    the share of positives of all rows, counted once and not for each feature of :math:`h_y`, which
    the authors' program does.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. With few of them the learner comes to take unlabeled for negative.
    class_dimensions : int, default=10
        Length of :math:`h_y`. This is the published value for MNIST.
    observation_dimensions : int, default=2
        Length of :math:`h_o`. This is the published value for MNIST.
    adversarial_weight : float, default=0.1
        Weight of looking unlabeled. This is the published value for labels at random; for labels
        that depend on the features the authors take 1 to 3.
    positive_weight : float, default=1.0
        Weight of looking positive. This is the published value for labels at random; for labels
        that depend on the features the authors take 1 to 10.
    keep_residual : bool, default=True
        Whether to add to a virtual row what the autoencoder loses of the labeled row that it is
        made from: :math:`\tilde x = x + \hat x(h_y, h_o') - \hat x(h_y, h_o)`. The authors take
        :math:`\hat x(h_y, h_o')` as it is. Where the code holds little of a row, that lacks the
        noise of real vectors and the edges of real images, and the classifier can learn to call
        smooth rows positive and real ones negative. The price is that virtual rows stay close to
        the labeled ones: take False, and larger weights, where labels depend on the features.
    hidden_units : int, default=500
        Width of the hidden layers of the networks beside the classifier. Here both hidden layers of
        encoders and decoder have it, as published, and the adversary half of it. Images have
        convolutions in place of one of them.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=90
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. These are the epochs of all
        stages together, each of which has one at least. The authors take 900 passes over 11,000
        rows; these are about as many steps on 50,000.
    batch_size : int, default=512
        Rows of the population per step. Larger batches make steps less noisy, and fewer. Here these
        are unlabeled rows; among few, the nearest one is far. The authors take 990.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=50
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=3e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. This is the published value for the generator; the authors train the
        classifier for MNIST at 1e-5, for longer.
    weight_decay : float, default=1e-5
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. It acts on the classifier alone. This is the published value.
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
        learner. For this one that is the accuracy.
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
    class_encoder_ : Module
        The network that turns a row into :math:`h_y`.
    observation_encoder_ : Module
        The network that turns a row into :math:`h_o`.
    decoder_ : Module
        The network that turns both parts into a row.
    observation_network_ : Module
        The network that tells from :math:`h_o` whether a row is labeled.
    discriminator_ : Module
        The adversary, which tells virtual rows from unlabeled ones.
    low_ : float or None
        Lowest value of the rows that are made, for images: that of the training rows.
    high_ : float or None
        Highest value of them.
    clear_share_ : float
        Share of the labeled rows that are more likely under the positive part of the mixture. Near
        one half the two parts do not stand for the classes.
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
    Na, Kim, Song, Joo, Kim and Moon, "Deep generative positive-unlabeled learning under selection
    bias", CIKM 2020.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="vae-pu",
        family="generative",
        cost="n per epoch, for six networks",
        effort=2.3,
        source="Na et al. 2020",
        needs_alpha=True,
        selection="SAR",
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench trains up to 300 epochs; ours, which have larger batches, stay as many.
    # PU-Bench's code ends before its classifier has been trained; stages and batches stay ours.
    presets: ClassVar[Presets] = {
        "paper": {
            "epochs": 900,
            "batch_size": 990,
            "labeled_batch": 10,
            "keep_residual": False,
            "validation_fraction": 0.0,
        },
        "pubench": {"learning_rate": 0.0002, "patience": 30, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {
        "class_dimensions": WholeNumber(),
        "observation_dimensions": WholeNumber(),
        "adversarial_weight": Number(least=0),
        "positive_weight": Number(least=0),
        "keep_residual": Flag(),
    }
    parts: ClassVar[tuple[str, ...]] = (*MAKING, "discriminator_")

    alpha: Any = "estimate"
    epochs: int = 90
    batch_size: int = 512
    weight_decay: float = 1e-5
    class_dimensions: int = 10
    observation_dimensions: int = 2
    adversarial_weight: float = 0.1
    positive_weight: float = 1.0
    keep_residual: bool = True

    class_encoder_: Any = field(init=False, repr=False)
    observation_encoder_: Any = field(init=False, repr=False)
    decoder_: Any = field(init=False, repr=False)
    observation_network_: Any = field(init=False, repr=False)
    discriminator_: Any = field(init=False, repr=False)

    def _new_part(self, name: str, caller: str) -> nn.Module:
        units, hidden = int(self.hidden_units), int(self.observation_dimensions)
        widths, narrow = (units, units), (max(units // 2, 1),)
        style: dict[str, Any] = {"slope": LEAKING, "normalized": True}
        if name == "class_encoder_":
            return reading_network(self.shape_, 2 * int(self.class_dimensions), widths, **style)
        if name == "observation_encoder_":
            # Whether a row is labeled comes as two more features, or channels.
            shape = (self.shape_[0] + 2, *self.shape_[1:])
            return reading_network(shape, 2 * hidden, widths, **style)
        if name == "decoder_":
            n_inputs = int(self.class_dimensions) + hidden
            return writing_network(n_inputs, self.shape_, widths, **style)
        if name == "observation_network_":
            return reading_network((hidden,), 1, narrow, slope=LEAKING)
        if name == "discriminator_":
            return reading_network(self.shape_, 1, narrow, slope=LEAKING, dropout=0.3)
        return super()._new_part(name, caller)

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        super()._prepare(rows)
        assert self.alpha_ is not None
        n_labeled, n_unlabeled = len(rows.labeled), len(rows.unlabeled)
        counts = torch.tensor([n_labeled, self.alpha_ * n_unlabeled, n_unlabeled])
        shares = (counts / (n_labeled + n_unlabeled)).to(rows.X.device)
        positives = shares[0] + shares[1]
        size = (2, int(self.class_dimensions))
        self._memory["shares"] = shares
        self._memory["means"] = torch.zeros(size, device=rows.X.device)
        self._memory["variances"] = torch.ones(size, device=rows.X.device)
        self._memory["weights"] = torch.stack([1 - positives, positives])

    def _stages(self) -> list[Stage]:
        rate, lengths = self.learning_rate, self._lengths()

        def stage(epochs: int, *turns: Turn, **options: Any) -> Stage:
            first, *further = turns
            return Stage(
                *(first.loss, epochs, first.learning_rate, first.weight_decay),
                networks=first.networks,
                further=tuple(further),
                unlabeled=True,
                steps=self._steps(self._rows),
                **options,
            )

        copying = Turn(self._copying_loss, rate, 0.0, networks=MAKING)
        telling = Turn(self._telling_loss, rate, 0.0, networks=("discriminator_",))
        making = Turn(self._making_loss, rate, 0.0, networks=MAKING)
        guided = Turn(self._guided_loss, rate, 0.0, networks=MAKING)
        deciding = Turn(self._deciding_loss, rate, self.weight_decay, networks=("network_",))
        return [
            stage(lengths[0], copying, selectable=False),
            stage(lengths[1], telling, making, selectable=False, before_epoch=self._begin),
            stage(lengths[2], deciding),
            stage(lengths[3], telling, guided, selectable=False),
            stage(lengths[4], telling, guided, deciding),
            stage(lengths[5], deciding),
        ]

    def _lengths(self) -> list[int]:
        ends = [round(self.epochs * sum(NINTHS[:place]) / 9) for place in range(len(NINTHS) + 1)]
        return [max(end - start, 1) for start, end in pairwise(ends)]

    def _begin(self, epoch: int) -> None:
        if epoch == 0:
            self._fit_mixture(self._rows)

    def _fit_mixture(self, rows: TrainingRows) -> None:
        """Describe the class part of all rows by two normal distributions, the positive one last.

        The one that most labeled rows prefer is positive.
        """
        import numpy as np
        import torch
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        codes = self._codes(rows, rows.everything).double().cpu().numpy()
        labeled = self._codes(rows, rows.labeled)
        found: tuple[float, Any] = (-1.0, None)
        seed = int(torch.randint(2**31 - MIXTURES, (1,)))
        for attempt in range(MIXTURES):
            # k-means itself would add in any order, and differ in the last bits.
            fitted = GaussianMixture(
                2,
                covariance_type="diag",
                init_params="k-means++",
                reg_covar=SMALLEST_VARIANCE,
                max_iter=200,
                random_state=seed + attempt,
            )
            with warnings.catch_warnings():
                # Where it stopped is good enough for a prior.
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted.fit(codes)
            parts = [
                torch.as_tensor(np.asarray(part), dtype=torch.float32, device=rows.X.device)
                for part in (fitted.means_, fitted.covariances_)
            ]
            mixture = Mixture(
                parts[0], parts[1].clamp(min=SMALLEST_VARIANCE), self._mixture.weights
            )
            of_first, of_second = mixture.log_densities(labeled).unbind(dim=1)
            share = float((of_second > of_first).float().mean())
            if share < 0.5:
                means, variances = (part.flip(0) for part in mixture[:2])
                share, mixture = 1 - share, Mixture(means, variances, mixture.weights)
            if share > found[0]:
                found = share, mixture
            if share >= CLEAR_SHARE:
                break
        self.clear_share_, mixture = found
        self._memory["means"].copy_(mixture.means)
        self._memory["variances"].copy_(mixture.variances)

    def _codes(self, rows: TrainingRows, places: Tensor) -> Tensor:
        """Return the means of the class part of rows."""
        import torch

        with torch.no_grad(), frozen(self.class_encoder_):
            chunks: Any = torch.split(places, 4096)
            outputs = [self.class_encoder_(rows.X[chunk]) for chunk in chunks]
        return Normal.of(torch.cat(outputs)).mean

    @property
    def _mixture(self) -> Mixture:
        return Mixture(*(self._memory[name] for name in ("means", "variances", "weights")))

    def _encoded(self, batch: Batch) -> tuple[Normal, Normal]:
        """Encode labeled rows, then unlabeled ones."""
        import torch

        X = torch.cat([batch.labeled, batch.population])
        labeled = _labels(batch)
        marks = torch.stack([labeled, 1 - labeled], dim=1)
        marks = marks.reshape(len(X), 2, *(1 for _ in X.shape[2:])).expand(-1, 2, *X.shape[2:])
        of_observation = self.observation_encoder_(torch.cat([X, marks], dim=1))
        return Normal.of(self.class_encoder_(X)), Normal.of(of_observation)

    def _likelihood(self, X: Tensor, outputs: Tensor) -> Tensor:
        """Return the logarithm of the likelihood of rows, given what was decoded for them."""
        from torch.nn.functional import binary_cross_entropy_with_logits

        if self.low_ is None or self.high_ is None:
            return -(X - outputs).square().flatten(1).sum(dim=1) / 2
        shares = (X - self.low_) / (self.high_ - self.low_)
        losses = binary_cross_entropy_with_logits(outputs, shares, reduction="none")
        return -losses.flatten(1).sum(dim=1)

    def _copying_loss(self, batch: Batch) -> Tensor:
        import torch

        X = torch.cat([batch.labeled, batch.population])
        codes = torch.cat([part.draw() for part in self._encoded(batch)], dim=1)
        return -self._likelihood(X, self.decoder_(codes)).mean()

    def _virtual(self, batch: Batch) -> Tensor:
        """Make rows for the classifier or the adversary, through which no gradient passes."""
        import torch

        with torch.no_grad(), frozen(*(getattr(self, name) for name in MAKING)):
            of_class, of_observation = (part.draw() for part in self._encoded(batch))
            n = len(batch.labeled)
            own = torch.cat([of_class, of_observation], dim=1)[:n]
            outputs = self.decoder_(torch.cat([own, virtual_codes(of_class, of_observation, n)]))
            return self._finished(batch.labeled, outputs[:n], outputs[n:])

    def _finished(self, labeled: Tensor, own: Tensor, virtual: Tensor) -> Tensor:
        """Return virtual rows, from what was decoded for labeled rows and in their place."""
        rows = self._within(virtual)
        if not self.keep_residual:
            return rows
        rows = labeled + rows - self._within(own)
        return rows if self.low_ is None else rows.clamp(self.low_, self.high_)

    def _telling_loss(self, batch: Batch) -> Tensor:
        import torch
        from torch.nn.functional import softplus

        rows = torch.cat([self._virtual(batch), batch.population])
        scores, n = scores_of(self.discriminator_, rows), len(batch.labeled)
        told: Tensor = softplus(scores[:n]).mean() + softplus(-scores[n:]).mean()
        return self.adversarial_weight * told

    def _making_loss(self, batch: Batch) -> Tensor:
        return self._made(batch)[0]

    def _guided_loss(self, batch: Batch) -> Tensor:
        loss, virtual = self._made(batch)
        with frozen(batch.network):
            doubt: Tensor = (-scores_of(batch.network, virtual)).sigmoid().mean()
        return loss + self.positive_weight * doubt

    def _made(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of the generator without the classifier's word, and virtual rows."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits, softplus

        X, n = torch.cat([batch.labeled, batch.population]), len(batch.labeled)
        of_class, of_observation = self._encoded(batch)
        drawn, observed = of_class.draw(), of_observation.draw()
        # Decoded together, so that batch statistics are those of all.
        codes = torch.cat([torch.cat([drawn, observed], dim=1), virtual_codes(drawn, observed, n)])
        outputs = self.decoder_(codes)
        virtual = self._finished(batch.labeled, outputs[:n], outputs[len(X) :])
        bound = class_bound(of_class, responsibilities(drawn, self._mixture), self._mixture)
        bound = bound + observation_bound(of_observation) + self._likelihood(X, outputs[: len(X)])
        guessed = scores_of(self.observation_network_, observed)
        missed = binary_cross_entropy_with_logits(guessed, _labels(batch))
        with frozen(self.discriminator_):
            noticed = softplus(-scores_of(self.discriminator_, virtual)).mean()
        loss: Tensor = missed - bound.mean() + self.adversarial_weight * noticed
        return loss, virtual

    def _deciding_loss(self, batch: Batch) -> Tensor:
        import torch

        virtual, n = self._virtual(batch), len(batch.labeled)
        rows = torch.cat([batch.labeled, virtual, batch.population])
        scores = scores_of(batch.network, rows)
        return virtual_risk(scores[:n], scores[n : 2 * n], scores[2 * n :], self._memory["shares"])


def virtual_codes(of_class: Tensor, of_observation: Tensor, n_labeled: int) -> Tensor:
    """Give labeled rows, which come first, the observation part of the nearest unlabeled row."""
    import torch

    own, others = of_observation[:n_labeled], of_observation[n_labeled:]
    nearest = torch.cdist(own.detach(), others.detach()).argmin(dim=1)
    return torch.cat([of_class[:n_labeled], others[nearest]], dim=1)


def _labels(batch: Batch) -> Tensor:
    """Return 1 for the labeled rows of a batch and 0 for the others, which follow."""
    import torch

    ones = torch.ones(len(batch.labeled), device=batch.labeled.device)
    return torch.cat([ones, ones.new_zeros(len(batch.population))])
