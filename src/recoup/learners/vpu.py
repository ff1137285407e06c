"""VPU: the positive density as the population's, tilted by the classifier; no prior needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Number
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

# With fewer, and its low rate, the network of a small table would hardly have moved.
HALVED_EVERY = 20
# At which held-out rows are mixed: close to a positive, half way, close to the other row.
HELD_OUT_SHARES = (0.1, 0.5, 0.9)


def variational_loss(labeled: Tensor, population: Tensor) -> Tensor:
    r"""Return :math:`\log E_X[\Phi] - E_P[\log \Phi]`, from logits of :math:`\Phi`."""
    from torch.nn.functional import logsigmoid

    of_population = logsigmoid(population).logsumexp(0) - math.log(len(population))
    return of_population - logsigmoid(labeled).mean()


def mixed_loss(population: Tensor, mixed: Tensor, share: Tensor) -> Tensor:
    """Squared error of log Phi at points between population rows and positives, from logits."""
    import torch
    from torch.nn.functional import logsigmoid

    target = torch.logaddexp(share.log() + logsigmoid(population), torch.log1p(-share))
    return ((target - logsigmoid(mixed)) ** 2).mean()


@dataclass(kw_only=True, eq=False, repr=False)
class VPU(TorchPULearner):
    r"""Choose the classifier whose implied density of positives is nearest to the real one.

    A classifier :math:`\Phi(x) = P(y=1 \mid x)` implies the density
    :math:`\Phi(x) f(x) / E_f[\Phi]` of positives. Its divergence from the real one is, up to a
    constant,

    .. math:: L = \log E_X[\Phi(x)] - E_P[\log \Phi(x)]

    which does not change if :math:`\Phi` is multiplied by a number. A second term settles that
    number: at points between a population row and a labeled one, :math:`\Phi` shall be the same
    mixture of its value at the first and of 1. A row is positive where :math:`\Phi` exceeds half of
    its largest value among the training rows.

    Parameters
    ----------
    mixing_weight : float, default=0.3
        Weight of the mixed points. Raise it where the largest predicted probability is far below 1,
        which says that the scale has drifted. The authors take 0.03 (CIFAR-10), 0.3 (Fashion-MNIST,
        STL-10), 1e-4 to 0.1 (tables).
    mixing_shape : float, default=0.3
        Both parameters of the beta distribution of the shares of mixing. The published value is
        0.3: most points lie close to one of the two rows.
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
        where the selection in ``history_`` still rises at the end. An epoch has at least ten steps.
        The authors take 50 epochs of 30 steps.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer. The
        authors take 500, and as many labeled rows.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=1e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. It is halved every 20 epochs, and Adam's first beta is 0.5, both as
        published. The authors take 3e-5 to 6e-4.
    weight_decay : float, default=1e-4
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart.
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
        learner. For this one that is the loss, with the mixed points, because the rest of it does
        not see the scale; the authors leave these points out there.
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
        This learner uses no prior.
    prior_ : None
        This learner uses no prior.
    pi_ : None
        This learner uses no prior.
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
    Chen, Liu, Wang, Zhao and Wu, "A variational approach for learning from positive and unlabeled
    data", NeurIPS 2020.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="vpu",
        family="risk",
        cost="n per epoch, twice",
        effort=0.8,
        source="Chen et al. 2020",
        prior_free=True,
        backend="torch",
        takes_weight=True,
    )
    # In PU-Bench's code the weight of mixed points is the drawn share itself, and Phi is not
    # divided by its largest value: slips, so that ours stay.
    presets: ClassVar[Presets] = {
        "paper": {
            "epochs": 50,
            "batch_size": 500,
            "labeled_batch": 500,
            "learning_rate": 0.0003,
            "weight_decay": 0.0,
        },
        "pubench": {"learning_rate": 0.0003, "patience": 10, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {
        "mixing_weight": Number(above=0),
        "mixing_shape": Number(above=0),
    }
    natural_select: ClassVar[Select] = "loss"

    learning_rate: float = 1e-4
    mixing_weight: float = 0.3
    mixing_shape: float = 0.3

    def _stages(self) -> list[Stage]:
        return [
            Stage(
                self._loss,
                epochs=min(HALVED_EVERY, self.epochs - start),
                learning_rate=self.learning_rate * 0.5 ** (start // HALVED_EVERY),
                weight_decay=self.weight_decay,
                draws={"share": self._shares, "partner": _partners},
                betas=(0.5, 0.99),
                steps=max(self.least_steps, len(self._rows.population) // self.batch_size),
            )
            for start in range(0, self.epochs, HALVED_EVERY)
        ]

    def _shares(self, rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
        shares: FloatArray = rng.beta(self.mixing_shape, self.mixing_shape, size=steps)
        # In single precision 0 and 1 would have infinite logarithms.
        return shares.clip(1e-6, 1 - 1e-6)

    def _loss(self, batch: Batch) -> Tensor:
        share = batch.draws["share"]
        labeled, population = batch.scores()
        partner = batch.labeled[(batch.draws["partner"] * len(batch.labeled)).long()]
        mixed = share * batch.population + (1 - share) * partner
        between = mixed_loss(population, scores_of(batch.network, mixed), share)
        return variational_loss(labeled, population) + self.mixing_weight * between

    def _held_out_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        import torch

        # The divergence is blind to the scale of Phi, on which the threshold rests.
        rows, X = self._rows, self._rows.X
        partner = rows.held_labeled.repeat(-(-len(population) // len(labeled)))[: len(population)]
        between = []
        for share in HELD_OUT_SHARES:
            mixed = share * X[rows.held_population] + (1 - share) * X[partner]
            between.append(
                mixed_loss(population, self._scores(mixed), torch.tensor(share, device=X.device))
            )
        return (
            variational_loss(labeled, population) + self.mixing_weight * torch.stack(between).mean()
        )

    def _find_offset(self, scores: Tensor) -> float:
        """Return the logit of half of the largest probability."""
        from torch.nn.functional import logsigmoid

        half = logsigmoid(scores.double().max()) - math.log(2)
        return float(half - (-half.expm1()).log())


def _partners(rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
    """Draw a place among the positives, as a share of their number, for each population row."""
    return rng.random((steps, batch)) * (1 - 1e-6)
