"""PULCPBF: classifiers that know where the chance of a positive is 0.1, 0.2, ..., then one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from recoup._core.constraints import Constraints, Flag, Number, Several, WholeNumber, Words
from recoup.exceptions import InvalidInputError
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import last_layer, scores_of, with_features
from recoup.learners._training.stages import Batch, Stage, in_parts
from recoup.learners._training.two_stage import clipped
from recoup.learners._training.views import views_of
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor, nn

    from recoup.learners._training.stages import TrainingRows

# The fence is looked at after a pass over the labeled rows, and not before this many steps.
FEWEST_STEPS = 5
# Steps of the second network in an epoch, at most.
MOST_STEPS = 512
# The fence's scores are moved by less than this; halving finds the place in so many turns.
LARGEST_SHIFT, HALVINGS = 16.0, 40


def fence_losses(labeled: Tensor, population: Tensor, levels: Tensor, pi: float) -> Tensor:
    """Return what each classifier of the fence minimizes, from scores of shape (n, levels).

    This is the risk over the share of labeled rows and over the weight of their loss, without
    which few labels would make small steps; the minimum stays where it is.
    """
    from torch.nn.functional import softplus

    return softplus(-labeled).mean(0) + levels / pi * softplus(population).mean(0)


def soft_labels(scores: Tensor, levels: Sequence[float], places: Tensor) -> Tensor:
    """Return for each row a chance between the two levels where the fence puts it.

    Parameters
    ----------
    scores : Tensor of shape (n, levels)
        Of the fence. How many are positive decides, also where their signs are out of order.
    levels : sequence of float
        In rising order.
    places : Tensor of shape (n,)
        Where in the interval, from 0 to 1.
    """
    import torch

    ends = torch.tensor([0.0, *levels, 1.0], dtype=places.dtype, device=places.device)
    count = (scores > 0).sum(1)
    return ends[count] + places * (ends[count + 1] - ends[count])


def shift_to_share(scores: Tensor, levels: Sequence[float], places: Tensor, share: float) -> float:
    """Return what to add to all scores of a fence so that the mean soft label is a share."""
    low, high = -LARGEST_SHIFT, LARGEST_SHIFT
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if float(soft_labels(scores + middle, levels, places).mean()) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def sharpened(chances: Tensor, temperature: float) -> Tensor:
    """Return probabilities that are further from 1/2, the more the lower the temperature."""
    return ((chances.log() - (-chances).log1p()) / temperature).sigmoid()


def consistency_loss(
    weak: Tensor,
    strong: Tensor,
    labels: Tensor,
    guess_weight: float | Tensor,
    temperature: float,
    confidence: float | Tensor,
) -> Tensor:
    """Return the loss of unlabeled rows in two views, from logits.

    The weak view shall have the soft label, averaged with the network's own guess; the strong view
    shall have the guess, where it is confident.
    """
    from torch.nn.functional import binary_cross_entropy_with_logits as entropy

    chances = weak.detach().sigmoid()
    guesses = (chances > 0.5).to(weak.dtype)
    sure = sharpened(chances, temperature)
    # A chance of 3/4 at temperature 1/2 is to be confident of 0.9, whatever rounding says.
    confident = ((sure - 0.5).abs() >= confidence - 0.5 - 1e-6).to(weak.dtype)
    of_weak = entropy(weak, guess_weight * guesses + (1 - guess_weight) * labels)
    return of_weak + entropy(strong, guesses, confident)


@dataclass(kw_only=True, eq=False, repr=False)
class PULCPBF(TorchPULearner):
    r"""Fence unlabeled rows in by their chance of being positive, then learn from the fence.

    A classifier of labeled rows against the population, with the loss :math:`\ell`, that minimizes

    .. math:: E_P[\ell(g)] + \frac{a}{\pi} E_U[\ell(-g)]

    is positive exactly where the chance of a positive exceeds a. Several of them, with a = 0.1,
    0.2, ..., 0.9, put each unlabeled row between two levels; its soft label q is drawn from that
    interval, once and evenly. Since the mean of q should be alpha, a number is added to all scores
    of the fence that makes it so. A new network f then learns from labeled rows and soft labels,
    each in a weak view, and from its own guesses c in a strong view where it is confident:

    .. math:: v E_P[B(f, 1)] + w \bigl( E_U[B(f, c / 2 + q / 2)] + E_U[m B(f_{strong}, c)] \bigr)

    with the cross-entropy B, and m = 1 for confident guesses, else 0. Views of vectors are noise
    and lost features; those of images are moved, and changed as in FixMatch.

    Labeled rows pull f up: with v = 1 and w = 0.85, as published, soft labels alone would make it
    positive from a chance of :math:`0.85 / (1 / \pi + 1.7)` on, 0.2 where :math:`\pi = 0.4`. Where
    classes overlap, its guesses then call nearly all rows positive, and it learns from those. Here
    v is lower, and a row counts as positive if its score is above the threshold that the share
    :math:`\pi` of the training population exceeds, where the authors take 0.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. If it is wrong by a factor, so are all the levels.
    fence : tuple of float, default=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        The levels, in rising order. These are the published values; more levels make the soft
        labels finer, and each a little noisier.
    fence_epochs : int, default=50
        Passes over the labeled rows to train the fence, at most: it ends where held-out rows have
        the lowest loss, because classifiers that know the labels by heart call all other rows
        negative. That can take less than one pass over the population. The authors take 50 epochs
        of 512 steps.
    shared : bool, default=True
        Let the classifiers of the fence be layers on one network, or train a network for each, as
        the authors do, which takes as many times longer.
    shift_fence : bool, default=True
        Whether to add a number to the scores of the fence that makes the mean of the soft labels
        alpha. The authors do not.
    warm_up_epochs : int, default=2
        Epochs at the beginning in which f learns from the soft labels alone. The paper has none:
        the guesses of a new network, which the labeled rows pull up, can make it call everything
        positive and go on to believe so.
    guess_weight : float, default=0.5
        Share of the guess, against the soft label, in what the weak view is trained to. This is the
        published value.
    labeled_weight : float, default=0.3
        Weight v of labeled rows. The authors take 1, which pulls f up, as said above.
    unlabeled_weight : float, default=0.85
        Weight w of unlabeled rows. This is the published value.
    temperature : float, default=0.5
        By which probabilities of guesses are sharpened before they are compared with
        ``confidence``; lower is sharper. This is the published value.
    confidence : float, default=0.9
        Sharpened probability from which on a guess is confident. With the published values of both
        that is a probability of 3/4.
    cut : {"share", "zero"}, default="share"
        Where a row becomes positive: where the share :math:`\pi` of the training population lies
        above, or at 0, as published.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=25
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. These are the epochs of f, of
        512 steps at most. This is the published value.
    batch_size : int, default=64
        Rows of the population per step. Larger batches make steps less noisy, and fewer. This is
        the published value.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None takes as many as ``batch_size``.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=2e-3
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. This is the published value.
    weight_decay : float, default=5e-3
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
    fenced_ : ndarray of int
        How many unlabeled rows to train on lie below the first level, between the first two, and so
        on.
    fence_shift_ : float
        What was added to the fence's scores. Far from 0, the fence or alpha is wrong.
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
    Li, Dai, Feng, Li, Wang and Ouyang, "Positive and unlabeled learning with controlled probability
    boundary fence", ICML 2024. They divide the learning rate of the fence by 4 after every epoch,
    and add a small entropy term that leaves its levels where they are; here neither is done. They
    do not shift the fence.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="pul-cpbf",
        family="disambiguation",
        cost="n per epoch, then three times",
        effort=2.0,
        source="Li et al. 2024",
        needs_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's code has no fence and learns from the true classes; all but its epochs stays ours.
    presets: ClassVar[Presets] = {
        "paper": {
            "shared": False,
            "shift_fence": False,
            "warm_up_epochs": 0,
            "labeled_weight": 1.0,
            "cut": "zero",
            "validation_fraction": 0.0,
        },
        "pubench": {"epochs": 50, "fence_epochs": 20, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {
        "fence": Several(Number(above=0, below=1), rising=True),
        "fence_epochs": WholeNumber(),
        "shared": Flag(),
        "shift_fence": Flag(),
        "cut": Words("share", "zero"),
        "warm_up_epochs": WholeNumber(0),
        "guess_weight": Number(least=0, most=1),
        "labeled_weight": Number(least=0),
        "unlabeled_weight": Number(least=0),
        "temperature": Number(above=0),
        "confidence": Number(least=0.5, most=1),
    }
    cuts_by_share: ClassVar[bool] = True
    natural_select: ClassVar[Select] = "loss"

    alpha: Any = "estimate"
    epochs: int = 25
    batch_size: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 5e-3
    fence: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    fence_epochs: int = 50
    shared: bool = True
    shift_fence: bool = True
    warm_up_epochs: int = 2
    guess_weight: float = 0.5
    labeled_weight: float = 0.3
    unlabeled_weight: float = 0.85
    temperature: float = 0.5
    confidence: float = 0.9
    cut: Literal["share", "zero"] = "share"

    def _networks(self) -> dict[str, nn.Module]:
        fence = getattr(self, "_fence", None)
        return {"network_": self.network_} | ({} if fence is None else {"_fence": fence})

    def _prepare(self, rows: TrainingRows) -> None:
        import torch
        from torch import nn

        assert self.pi_ is not None
        if self.pi_ <= 0:
            raise InvalidInputError(
                f"PULCPBF.fit needs positives in the population to put a fence around. Got a share "
                f"of {self.pi_:g}. Pass alpha as a number above 0."
            )
        if self.shared:
            backbone = self._new_network("PULCPBF.fit")
            self._fence: Any = nn.ModuleList([backbone])
            width = last_layer(backbone, "PULCPBF.fit").in_features
            self._fence.append(nn.Linear(width, len(self.fence)))
        else:
            self._fence = nn.ModuleList([self._new_network("PULCPBF.fit") for _ in self.fence])
        self._fence.to(rows.X.device)
        self._views = views_of(rows.X[rows.everything])
        self._memory["levels"] = torch.tensor(tuple(self.fence), device=rows.X.device)
        self._memory["guess weight"] = torch.zeros((), device=rows.X.device)
        self._memory["confidence"] = torch.zeros((), device=rows.X.device)
        # Drawn before any training, so that a row's place in its interval depends on the seed only.
        self._memory["labels"] = torch.rand(len(rows.X)).to(rows.X.device)

    def _stages(self) -> list[Stage]:
        rows, batch = self._rows, self.labeled_batch or self.batch_size
        judge = self._judge_fence if len(rows.held_labeled) else None
        fence = Stage(
            self._fence_loss,
            self.fence_epochs,
            self.learning_rate,
            self.weight_decay,
            networks=("_fence",),
            labeled_batch=batch,
            steps=max(FEWEST_STEPS, len(rows.labeled) // batch),
            selectable=False,
            judge=judge,
        )
        second = Stage(
            self._learn,
            self.epochs,
            self.learning_rate,
            self.weight_decay,
            networks=("network_",),
            labeled_batch=batch,
            steps=min(MOST_STEPS, max(1, len(rows.population) // self.batch_size)),
            before_epoch=self._draw_labels,
        )
        return [fence, second]

    def _fence_of(self, rows: Tensor) -> Tensor:
        """Score rows by each classifier of the fence."""
        import torch

        if not self.shared:
            return torch.stack([scores_of(network, rows) for network in self._fence], dim=1)
        backbone, heads = self._fence
        found: Tensor = heads(with_features(backbone, last_layer(backbone, "PULCPBF"), rows)[0])
        return found

    def _fence_scores(self, places: Tensor) -> Tensor:
        import torch

        self._fence.eval()
        with torch.no_grad():
            return torch.cat([self._fence_of(part) for part in in_parts(self._rows.X, places)])

    def _fence_loss(self, batch: Batch) -> Tensor:
        import torch

        assert self.pi_ is not None
        n = len(batch.labeled)
        scores = self._fence_of(torch.cat([batch.labeled, batch.population]))
        return fence_losses(scores[:n], scores[n:], self._memory["levels"], self.pi_).mean()

    def _judge_fence(self) -> float:
        assert self.pi_ is not None
        labeled = self._fence_scores(self._rows.held_labeled)
        population = self._fence_scores(self._rows.held_population)
        return -float(fence_losses(labeled, population, self._memory["levels"], self.pi_).mean())

    def _draw_labels(self, epoch: int) -> None:
        """Draw soft labels where the fence puts rows, once; and say if guesses count already."""
        trusted = float(epoch >= self.warm_up_epochs)
        self._memory["guess weight"].fill_(trusted * self.guess_weight)
        # Nothing is as confident as this.
        self._memory["confidence"].fill_(self.confidence if trusted else 2.0)
        if epoch:
            return
        rows, labels = self._rows, self._memory["labels"]
        places = rows.unlabeled
        scores = self._fence_scores(places)
        assert self.alpha_ is not None
        self.fence_shift_ = 0.0
        if self.shift_fence:
            self.fence_shift_ = shift_to_share(scores, self.fence, labels[places], self.alpha_)
        scores = scores + self.fence_shift_
        labels[places] = soft_labels(scores, self.fence, labels[places])
        # A single sample has its labeled rows in the population too.
        labels[rows.labeled] = 1.0
        counts = (scores > 0).sum(1).bincount(minlength=len(self.fence) + 1)
        self.fenced_ = counts.cpu().numpy()

    def _find_offset(self, scores: Tensor) -> float:
        return super()._find_offset(scores) if self.cut == "share" else 0.0

    def _held_out_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        offset = self._find_offset(population)
        return super()._held_out_loss(labeled - offset, population - offset)

    def _learn(self, batch: Batch) -> Tensor:
        import torch
        from torch.nn.functional import softplus

        views = (
            self._views.weak(batch.labeled),
            self._views.weak(batch.population),
            self._views.strong(batch.population),
        )
        scores = clipped(scores_of(batch.network, torch.cat(views)))
        n, end = len(batch.labeled), len(batch.labeled) + len(batch.population)
        unlabeled = consistency_loss(
            scores[n:end],
            scores[end:],
            self._memory["labels"][batch.population_rows],
            self._memory["guess weight"],
            self.temperature,
            self._memory["confidence"],
        )
        return (
            self.labeled_weight * softplus(-scores[:n]).mean() + self.unlabeled_weight * unlabeled
        )
