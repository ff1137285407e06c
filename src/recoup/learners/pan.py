"""PAN: a classifier against a discriminator of labeled rows, without a generator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Nothing, Number, WholeNumber
from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, Turn
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor, nn

    from recoup.learners._training.stages import TrainingRows

# Added to probabilities before their logarithm is taken: it bounds the gradients near 0 and 1.
EPSILON = 1e-2
BETAS = (0.5, 0.999)
# The first part of the game, of which no weights are kept: a ranking is judged before the level of
# the classifier has settled, and does not show it.
SETTLING = 0.1


def coupling(discriminator: Tensor, classifier: Tensor) -> Tensor:
    r"""Return :math:`(2d - 1) [\log(1 - c) - \log c]` of each row, from probabilities.

    That is the divergence of the classifier from the discriminator, less the divergence of its
    opposite.
    """
    return (2 * discriminator - 1) * (
        (1 - classifier + EPSILON).log() - (classifier + EPSILON).log()
    )


def recognized(labeled: Tensor) -> Tensor:
    """Return the logarithm of the discriminator's probability for each labeled row."""
    return (labeled + EPSILON).log()


def pushed_down(population: Tensor) -> Tensor:
    """Return how far each row lies below the mean probability of all; zero for those above.

    Only rows that the discriminator doubts already are pushed away, so that hidden positives are
    spared.
    """
    doubted = 1 - population.mean().detach()
    # Where the mean is 1, its logarithm must stay finite.
    return ((1 - population + EPSILON).log() - doubted.clamp(min=EPSILON).log()).clamp(min=0)


@dataclass(kw_only=True, eq=False, repr=False)
class PAN(TorchPULearner):
    r"""Let a classifier agree with a discriminator that wants to disagree.

    A discriminator D learns to tell labeled rows L from a sample U' of the population as large,
    and a classifier C gives each row of the population U a probability. Both play
    :math:`\min_C \max_D V` for

    .. math::

        V = \sum_{L} \log D + \sum_{U'} \max\bigl(0, \log(1 - D) - \log(1 - \bar D)\bigr)
            + \lambda \sum_{U} (2 D - 1) \, [\log(1 - C) - \log C]

    The last term is the divergence of C from D, less that of 1 - C: it raises C where D is above
    1/2 and lowers it elsewhere. The second one is that of the authors' code; the paper has
    :math:`\log(1 - D)`, which pushes hidden positives down as well.

    No prior is needed. But D exceeds 1/2 where positives are denser than the population, that is
    where the chance of a positive exceeds the prior: where classes overlap, C calls too many rows
    positive if positives are rare. An alpha moves the threshold to where it should be.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. With it, the rows of the population that score highest are positive, as many
        as there should be, and the weights are kept by accuracy. With None a row is positive where
        C exceeds 1/2, and the weights are kept by the area under the ROC curve of labeled against
        unlabeled rows.
    coupling_weight : float, default=1e-4
        The :math:`\lambda` that D feels, as published. C minimizes the last term alone, so that
        only its learning rate matters for it.
    warm_up_epochs : int, default=2
        Epochs of D without C, so that there is something to agree with.
    discriminator_learning_rate : float or None, default=None
        Step size of the optimizer of D. None takes ``learning_rate``, as the authors do.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=200
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. This is the published value.
        Weights of the first tenth are not kept.
    batch_size : int, default=300
        Rows of the population per step. Larger batches make steps less noisy, and fewer. This is
        the published value for text. Terms are means, weighted as sums over batches in the ratio of
        the data would be, so that this changes nothing but the noise.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=1e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. This one is for C. This is the published value; Adam's first beta is
        0.5.
    weight_decay : float, default=1e-3
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. This is the published value.
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
        learner. For this one that is the accuracy with alpha, and the area without.
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
    discriminator_ : Module
        The network for D.
    agreement_ : float
        Mean of D over the population. Near 0, D has learned the labeled rows by heart, and C calls
        nothing positive.
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
    Hu, Le, Liu, Ji, Ma, Zhao and Yan, "Predictive adversarial learning from positive and
    unlabeled data", AAAI 2021.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pan",
        family="generative",
        cost="n per epoch, for two networks",
        effort=3.0,
        source="Hu et al. 2021",
        prior_free=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's code plays another game, in which D sees no labeled row; ours is the paper's.
    presets: ClassVar[Presets] = {
        "paper": {"warm_up_epochs": 0, "validation_fraction": 0.0},
        "pubench": {
            "epochs": 120,
            "batch_size": 64,
            "labeled_batch": 64,
            "learning_rate": 0.0003,
            "weight_decay": 0.0,
            "patience": 25,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "coupling_weight": Number(least=0),
        "warm_up_epochs": WholeNumber(0),
        "discriminator_learning_rate": Number(above=0) | Nothing(),
    }
    cuts_by_share: ClassVar[bool] = True

    alpha: Any = None
    epochs: int = 200
    batch_size: int = 300
    learning_rate: float = 1e-4
    weight_decay: float = 1e-3
    coupling_weight: float = 1e-4
    warm_up_epochs: int = 2
    discriminator_learning_rate: float | None = None

    discriminator_: Any = field(init=False, repr=False)

    def discriminator_scores(self, X: Any) -> FloatArray:
        """Return the chance of each row to be a labeled one, as D sees it.

        Parameters
        ----------
        X : array-like or data frame of shape (n, ...)
            The rows to judge, of the shape of the training rows.

        Returns
        -------
        ndarray of shape (n,)
            The values of D, from 0 to 1.
        """
        from scipy.special import expit

        check_is_fitted(self)
        outputs = self._outputs(self._checked_rows(X, reset=False), self.discriminator_)
        chances: FloatArray = expit(outputs)
        return chances

    def _networks(self) -> dict[str, nn.Module]:
        return {"network_": self.network_, "discriminator_": self.discriminator_}

    def _prepare(self, rows: TrainingRows) -> None:
        if not (self.warm_start and hasattr(self, "discriminator_")):
            self.discriminator_ = self._new_network("PAN.fit")
        self.discriminator_.to(rows.X.device)

    def _stages(self) -> list[Stage]:
        rate = self.discriminator_learning_rate or self.learning_rate
        # Sums over batches in the ratio of the data, as means.
        ratio = len(self._rows.population) / len(self._rows.labeled)

        def stage(epochs: int, weight: float, *further: Turn, selectable: bool) -> Stage:
            return Stage(
                lambda batch: self._discriminate(batch, weight),
                epochs,
                rate,
                self.weight_decay,
                betas=BETAS,
                networks=("discriminator_",),
                further=further,
                selectable=selectable,
            )

        agree = Turn(
            self._agree, self.learning_rate, self.weight_decay, BETAS, networks=("network_",)
        )
        weight, settling = self.coupling_weight * ratio, int(SETTLING * self.epochs)
        stages = [
            stage(self.warm_up_epochs, 0.0, selectable=False),
            stage(settling, weight, agree, selectable=False),
            stage(self.epochs - settling, weight, agree, selectable=True),
        ]
        return [one for one in stages if one.epochs]

    def _discriminate(self, batch: Batch, weight: float) -> Tensor:
        """Return -V, which D minimizes."""
        import torch

        n = len(batch.labeled)
        together = torch.cat([batch.labeled, batch.population])
        chances = scores_of(self.discriminator_, together).sigmoid()
        labeled, population = chances[:n], chances[n:]
        value = recognized(labeled).mean() + pushed_down(population[:n]).mean()
        if weight:
            value = value + weight * coupling(population, _judged(batch.network, batch)).mean()
        return -n * value

    def _agree(self, batch: Batch) -> Tensor:
        """Return the part of V that C can change."""
        classifier = scores_of(batch.network, batch.population).sigmoid()
        return coupling(_judged(self.discriminator_, batch), classifier).mean()

    def _conclude(self, rows: TrainingRows) -> None:
        scores = self._scores(rows.X, rows.population, self.discriminator_)
        self.agreement_ = float(scores.sigmoid().mean())


def _judged(network: nn.Module, batch: Batch) -> Tensor:
    """Return probabilities of the population, without dropout and gradients."""
    import torch

    network.eval()
    with torch.no_grad():
        chances: Tensor = scores_of(network, batch.population).sigmoid()
    network.train()
    return chances
