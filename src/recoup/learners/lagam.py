"""LaGAM: soft labels follow what would help a classifier on rows that it does not train on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Constraints, Flag, Nothing, Number, Several, WholeNumber
from recoup.exceptions import InvalidInputError
from recoup.learners._training.contrast import contrastive_losses, k_means, nearest
from recoup.learners._training.loop import (
    FEWEST_HELD_OUT,
    Select,
    TorchPULearner,
)
from recoup.learners._training.moments import Watch
from recoup.learners._training.networks import last_layer, statistics_kept, with_features
from recoup.learners._training.places import share_threshold
from recoup.learners._training.stages import Batch, Stage, TrainingRows, in_parts, in_turns
from recoup.learners._training.views import Views, views_of
from recoup.learners.base import LearnerTags, Presets
from recoup.scores.folds import PUStratifiedKFold

if TYPE_CHECKING:
    from torch import Tensor, nn

# Probabilities stay this far from 0 and 1.
LEAST_CHANCE = 1e-4
MOST_SCORE = math.log((1 - LEAST_CHANCE) / LEAST_CHANCE)
PROJECTED_TO = 128
# Both parameters of the beta distribution of the shares of mixing.
MIXING_SHAPE = 4.0
# After these shares of all epochs the learning rate is a tenth of what it was.
DECAYS = (0.625, 0.75, 0.875)


def balanced_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Sum over both classes of the mean cross-entropy, with soft labels as weights, from logits."""
    losses = _class_losses(scores)
    weights = _both_classes(labels)
    return ((weights * losses).sum(0) / weights.sum(0).clamp(min=1e-8)).sum()


def _class_losses(scores: Tensor) -> Tensor:
    """Return the loss of each row in class 0 and in class 1."""
    import torch
    from torch.nn.functional import softplus

    clipped = scores.clamp(-MOST_SCORE, MOST_SCORE)
    return torch.stack([softplus(clipped), softplus(-clipped)], dim=1)


def _both_classes(labels: Tensor) -> Tensor:
    import torch

    return torch.stack([1 - labels, labels], dim=1)


def _slopes(scores: Tensor) -> Tensor:
    """Return the derivative of each class's loss by the score."""
    import torch

    chances = scores.sigmoid()
    inside = scores.abs() <= MOST_SCORE
    return torch.stack([chances, chances - 1], dim=1) * inside[:, None]


def weight_gradient(features: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
    """Return the derivative of the balanced loss by the weights of a last layer."""
    weights = _both_classes(labels)
    pulls = (_slopes(scores) * weights / weights.sum(0).clamp(min=1e-8)).sum(1)
    return features.T @ pulls


def label_gradient(
    features: Tensor, scores: Tensor, labels: Tensor, outer: Tensor, rate: float
) -> Tensor:
    """Return how an outer loss changes with the weights of each row in both classes.

    The weights of the last layer take one step down the balanced loss; a change of a row's soft
    label changes that step, and so the outer loss after it.

    Parameters
    ----------
    features, scores, labels : Tensor
        Of the rows.
    outer : Tensor
        Derivative of the outer loss by the weights after the step.
    rate : float
        Learning rate of the step.

    Returns
    -------
    Tensor of shape (n, 2)
    """
    weights = _both_classes(labels)
    mass = weights.sum(0).clamp(min=1e-8)
    # A step of a row's own size changes the outer loss by so much.
    effect = -rate * (features @ outer)[:, None] * _slopes(scores)
    # The mass of a class, by which its losses are divided, contains the row as well.
    return effect / mass - (effect * weights).sum(0) / mass**2


def support_loss(positives: Tensor, others: Tensor, share: float) -> Tensor:
    """Return the balanced loss of positives and negatives, where the latter are among others.

    Parameters
    ----------
    positives, others : Tensor
        Scores.
    share : float
        Share of positives among the others; their part is subtracted, as far as a loss can be.
    """
    found, taken = _class_losses(positives).mean(0).flip(0)
    negative = (_class_losses(others)[:, 0].mean() - share * taken) / (1 - share)
    loss: Tensor = found + negative.clamp(min=0)
    return loss


def label_momentum(epoch: int, epochs: int, start: float, end: float) -> float:
    """Return the share of itself that a soft label keeps in an epoch."""
    return start + (end - start) * epoch / epochs


@dataclass(kw_only=True, eq=False, repr=False)
class LaGAM(TorchPULearner):
    r"""Move soft labels where a classifier that learns from them would do better on other rows.

    Each row has a soft label y, at first 1 if it is labeled and 0 if not. A classifier is trained
    on them, on mixtures of rows as well, by a loss in which each class counts once,

    .. math:: B = \frac{\sum y_i \ell_i^+}{\sum y_i}
                  + \frac{\sum (1 - y_i) \ell_i^-}{\sum (1 - y_i)}

    In each step its last layer is moved by :math:`B` for trial, and the loss of the result on
    *support* rows is differentiated by the soft labels of the batch. The class that would lower it
    more, :math:`\hat y`, draws the label: :math:`y \leftarrow \rho y + (1 - \rho) \hat y`. At the
    same time features of images are learned by contrast: a row shall be near to its strongly
    changed view, and to rows of its cluster and predicted class.

    **The published method needs support rows of both classes that are known for sure.** Pass some
    as ``support`` to :meth:`fit` if you have any. **Without them this is another method, LaGAM with
    a PU support set; call its results by that name** (``support_`` says which one it was). A share
    of the labeled and of the population's rows is then set aside, and their negative part is what
    remains of the population's loss when that of positives is taken off, as in nnPU, divided by the
    share of negatives. Two more things differ then. In the step for trial, the mean of the features
    in the batch is subtracted from them: otherwise soft labels would move the threshold instead of
    the boundary. And a row is positive if its score is above the threshold that the share
    :math:`\pi` of the population exceeds, measured on rows that were set aside or held out,
    because :math:`B` itself makes the errors of both classes equal.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. Used for the loss of support rows without classes, and to choose the weights.
        None is for fits with ``support``, as published.
    warm_up_epochs : int, default=5
        Epochs with the first labels, without clusters. These weights are never kept. The authors
        take 20.
    clusters : int, default=50
        Number of groups that features are put into at the beginning of each epoch. The default is
        that of PU-Bench; the authors take 5 (CIFAR-10) or 100.
    neighbors : int, default=10
        Nearest views that count as partners, from an eighth of all epochs on. This is the published
        value.
    temperature : float, default=0.07
        By which similarities in the contrastive loss are divided. This is the published value.
    momentum : tuple of float, default=(0.95, 0.8)
        The share :math:`\rho` that a soft label keeps, in the first epoch and in the last. These
        are the published values; nearer to 1, labels move more slowly.
    meta_learning_rate : float, default=0.001
        Size of the step for trial. This is the published value.
    support_fraction : float, default=0.2
        Share of the rows to train on that is set aside as support, where none is given. Where that
        is fewer than four labeled rows, the rows to train on are the support too.
    contrast_weight : float or None, default=None
        Weight of the contrastive loss. None is 1 for images, as published, and 0 for vectors, where
        clusters and neighbors then have no part: no change of a vector surely keeps its class, and
        features that ignore such changes can lose it.
    flip : bool or None, default=None
        Whether mirror images are of the same class. None says so for images with colors only,
        because digits and letters change their meaning.
    network : str, callable or None, default=None
        What is trained: ``"mlp"``, ``"lenet"``, ``"cifar-cnn"``, ``"mri-cnn"``, or a function that
        takes the shape of a row and returns a torch module with one output. None chooses by the
        shape: dense layers for vectors, convolutions for images.
    scheme : {"single-sample", "case-control"}, default="single-sample"
        How the rows were collected. ``"single-sample"``: all rows are one sample of the population,
        and some of its positives have a label. ``"case-control"``: the unlabeled rows are the
        sample, and the labeled ones were collected apart.
    epochs : int, default=45
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. These are the epochs after the
        warm-up. The authors take 380, with a tenth of the learning rate.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=0.01
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. It falls to a tenth three times. The authors take 1e-3.
    weight_decay : float, default=1e-4
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. This is the published value.
    optimizer : {"adam", "sgd"}, default="sgd"
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
    support_ : {"given", "set aside"}
        Which of the two methods it was: the published one, or the one with a PU support set.
    implied_alpha_ : float
        Mean soft label of the unlabeled rows at the end.
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
    Long, Wang, Jiang, Feng, Yao, Chen and Zhao, "Positive-unlabeled learning by latent group-aware
    meta disambiguation", CVPR 2024. Here a batch has labeled rows of its own, a row counts as
    predicted positive from 1/2 on (in their code from 0.62), one pass makes all views, and the
    step for trial is computed in closed form.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="lagam",
        family="disambiguation",
        cost="n per epoch, three times; for images four times, and n to cluster",
        effort=2.2,
        source="Long et al. 2024 if support is given, else with a PU support set",
        needs_alpha=True,
        backend="torch",
    )
    # As published, it learns from rows of known class: fit(..., support=...). PU-Bench's code
    # forgets the soft labels after each epoch, and on tables tries no step; ours does both.
    presets: ClassVar[Presets] = {
        "paper": {
            "alpha": None,
            "epochs": 380,
            "warm_up_epochs": 20,
            "batch_size": 64,
            "learning_rate": 0.001,
            "clusters": 5,
            "contrast_weight": 1.0,
            "validation_fraction": 0.0,
        },
        "pubench": {
            "epochs": 35,
            "warm_up_epochs": 15,
            "batch_size": 64,
            "learning_rate": 0.001,
            "optimizer": "adam",
            "patience": 25,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "warm_up_epochs": WholeNumber(),
        "clusters": WholeNumber(),
        "neighbors": WholeNumber(),
        "temperature": Number(above=0),
        "momentum": Several(Number(least=0, most=1), 2, why="for the first epoch and the last"),
        "meta_learning_rate": Number(above=0),
        "support_fraction": Number(above=0, most=0.5),
        "contrast_weight": Number(least=0) | Nothing(),
        "flip": Flag() | Nothing(),
    }
    natural_select: ClassVar[Select] = "loss"

    alpha: Any = "estimate"
    epochs: int = 45
    learning_rate: float = 0.01
    optimizer: Literal["adam", "sgd"] = "sgd"
    warm_up_epochs: int = 5
    clusters: int = 50
    neighbors: int = 10
    temperature: float = 0.07
    momentum: tuple[float, float] = (0.95, 0.8)
    meta_learning_rate: float = 0.001
    support_fraction: float = 0.2
    contrast_weight: float | None = None
    flip: bool | None = None

    def fit(
        self,
        X: Any,
        s: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        support: tuple[Any, ArrayLike] | None = None,
        oracle: tuple[Any, ArrayLike] | None = None,
        watch: Watch | None = None,
        y: ArrayLike | None = None,
    ) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n, ...)
            Numbers, without gaps: vectors, or images as (n, channels, height, width).
        s : array-like of shape (n,), optional
            1 labeled positive, 0 unlabeled. Known negatives (-1) are left out, with a warning.
        sample_weight : array-like of shape (n,), optional
            Refused: the support rows, which decide what counts, have none.
        support : tuple of (X, y_true), optional
            Other rows of known class, of both classes, as the published method has them.
        oracle : tuple of (X, y_true), optional
            Rows of known class to select the weights by, in benchmarks.
        watch : callable, optional
            Called with a :class:`Moment` after each epoch.
        y : array-like of shape (n,), optional
            Another name for s, by which tools of scikit-learn pass it. No true classes.

        Returns
        -------
        LaGAM
            Itself.
        """
        self._given = support
        try:
            return super().fit(X, s, sample_weight=sample_weight, oracle=oracle, watch=watch, y=y)
        finally:
            del self._given

    def _networks(self) -> dict[str, nn.Module]:
        projection = getattr(self, "_projection", None)
        return {"network_": self.network_} | (
            {} if projection is None else {"_projection": projection}
        )

    def _known_alpha(self, X: Any, s: Any, seed: int, caller: str) -> Any:
        if self.alpha is None and self._given is not None:
            # Rows of known class tell all that alpha would.
            return None, None
        return super()._known_alpha(X, s, seed, caller)

    def _set_aside(self, rows: TrainingRows, rng: np.random.Generator) -> TrainingRows:
        if self._given is not None:
            self.support_ = "given"
            return self._take_support(rows, *self._given)
        assert self.pi_ is not None
        self.support_, self._support_share = "set aside", self.pi_
        chosen, left = self._split(rows, rng)
        positives, others = (part[chosen[part]] for part in (rows.labeled, rows.population))
        self._support = (rows.X[positives], rows.X[others])
        return replace(
            rows,
            labeled=rows.labeled[left[rows.labeled]],
            population=rows.population[left[rows.population]],
        )

    def _split(self, rows: TrainingRows, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Mark rows to support with, and rows to train on."""
        import torch

        chosen = torch.zeros(len(rows.X), dtype=torch.bool, device=rows.X.device)
        everything, seed = rows.everything, int(rng.integers(2**31))
        if self.support_fraction * len(rows.labeled) < FEWEST_HELD_OUT:
            chosen[everything] = True
            return chosen, chosen
        folds = PUStratifiedKFold(round(1 / self.support_fraction), random_state=seed)
        X, s = (part[everything].cpu().numpy() for part in (rows.X, rows.has_label.long()))
        _, taken = next(iter(folds.split(X.reshape(len(X), -1), s)))
        chosen[everything[torch.as_tensor(taken, device=everything.device)]] = True
        return chosen, ~chosen

    def _take_support(self, rows: TrainingRows, X: Any, y: ArrayLike) -> TrainingRows:
        import torch

        support = self._tensor(self._checked_rows(X, reset=False), rows.X.device)
        classes = np.asarray(y)
        if len(classes) != len(support) or set(np.unique(classes)) != {0, 1}:
            raise InvalidInputError(
                f"LaGAM.fit needs support to be rows of both classes, and their classes, 0 or 1. "
                f"Got {len(support):,} rows and {brief(y)}. Leave it out if none is known."
            )
        positive = torch.as_tensor(classes == 1, device=rows.X.device)
        self._support, self._support_share = (support[positive], support[~positive]), 0.0
        return rows

    def _prepare(self, rows: TrainingRows) -> None:
        import torch
        from torch import nn

        self._views: Views = views_of(
            rows.X[rows.everything], flip=self.flip, changes=3, chance=1.0, hole_varies=True
        )
        self._last = last_layer(self.network_, "LaGAM.fit")
        width, device = self._last.in_features, rows.X.device
        self._memory["labels"] = rows.has_label.float()
        self._memory["momentum"] = torch.ones((), device=device)
        images = len(self.shape_) == 3
        self._contrast = float(images) if self.contrast_weight is None else self.contrast_weight
        if self._contrast:
            self._projection = nn.Sequential(
                nn.Linear(width, width), nn.ReLU(), nn.Linear(width, PROJECTED_TO)
            ).to(device)
            self._memory["cluster"] = torch.zeros(len(rows.X), dtype=torch.long, device=device)
            self._memory["neighbors"] = torch.zeros((), dtype=torch.bool, device=device)

    def _stages(self) -> list[Stage]:
        total = self.warm_up_epochs + self.epochs
        draws = {
            "share": _shares,
            "positives": self._support_rows(0),
            "others": self._support_rows(1),
        }

        def stage(loss: Any, begun: int, epochs: int, **options: Any) -> Stage:
            def schedule(done: float) -> float:
                passed = (begun + done * epochs) / total
                return float(0.1 ** sum(passed >= decay for decay in DECAYS))

            return Stage(
                loss,
                epochs,
                self.learning_rate,
                self.weight_decay,
                schedule=schedule,
                draws=draws,
                reordered=True,
                unlabeled=True,
                **options,
            )

        return [
            stage(self._warm_up_loss, 0, self.warm_up_epochs, selectable=False),
            stage(self._loss, self.warm_up_epochs, self.epochs, before_epoch=self._begin_epoch),
        ]

    def _support_rows(self, part: int) -> Any:
        rows = self._support[part]

        def draw(rng: np.random.Generator, steps: int, batch: int) -> Any:
            return in_turns(rng, len(rows), steps, min(batch, len(rows)))

        return draw

    def _begin_epoch(self, epoch: int) -> None:
        """Set what changes from epoch to epoch: momentum, and clusters of the rows' features."""
        import torch

        passed, total = self.warm_up_epochs + epoch, self.warm_up_epochs + self.epochs
        self._memory["momentum"].fill_(label_momentum(passed, total, *self.momentum))
        if not self._contrast:
            return
        self._memory["neighbors"].fill_(passed > total / 8)
        places = self._rows.everything
        with torch.no_grad():
            seen = (self._seen(part)[0] for part in in_parts(self._rows.X, places))
            points = torch.cat([self._points(features) for features in seen])
        self._memory["cluster"].index_copy_(0, places, k_means(points, self.clusters))

    def _seen(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return features and scores."""
        return with_features(self.network_, self._last, X)

    def _points(self, features: Tensor) -> Tensor:
        """Return projections of features, of length 1."""
        from torch.nn.functional import normalize

        return normalize(self._projection(features))

    def _warm_up_loss(self, batch: Batch) -> Tensor:
        return self._loss(batch, with_first_labels=True)

    def _loss(self, batch: Batch, with_first_labels: bool = False) -> Tensor:
        import torch

        rows = torch.cat([batch.labeled, batch.population])
        places = torch.cat([batch.labeled_rows, batch.population_rows])
        share, order = batch.draws["share"], batch.draws["order"]
        weak = self._views.weak(rows)
        views = [weak, share * weak + (1 - share) * weak[order]]
        if self._contrast:
            views.append(self._views.strong(rows))
        features, scores = (part.chunk(len(views)) for part in self._seen(torch.cat(views)))
        labels = self._memory["labels"][places]
        if not with_first_labels:
            labels = self._moved(batch, features[0].detach(), scores[0].detach(), labels)
            self._memory["labels"].index_copy_(0, places, labels)
        mixed_labels = share * labels + (1 - share) * labels[order]
        of_labels = balanced_loss(scores[0], labels) + balanced_loss(scores[1], mixed_labels)
        if not self._contrast:
            return of_labels
        weak_points, strong_points = (self._points(part) for part in (features[0], features[2]))
        partners = torch.zeros(len(rows), 2 * len(rows), dtype=torch.bool, device=rows.device)
        if not with_first_labels:
            kind = 2 * self._memory["cluster"][places] + (scores[0] > 0)
            near = nearest(weak_points.detach(), strong_points.detach(), self.neighbors)
            partners = (kind[:, None] == kind).repeat(1, 2) | (near & self._memory["neighbors"])
        twins, groups = contrastive_losses(weak_points, strong_points, partners, self.temperature)
        return of_labels + self._contrast * (twins + (0.0 if with_first_labels else groups))

    def _moved(self, batch: Batch, features: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
        """Move soft labels towards the class that would help on support rows."""
        import torch

        parts = [
            rows[batch.draws[name]]
            for rows, name in zip(self._support, ("positives", "others"), strict=True)
        ]
        with torch.no_grad(), statistics_kept(self.network_):
            support, before = self._seen(torch.cat(parts))
        if self.support_ == "set aside":
            # Through what all features have in common, labels would move the threshold.
            center = features.mean(0)
            features, support = features - center, support - center
        step = weight_gradient(features, scores, labels)
        change = (-self.meta_learning_rate * step).requires_grad_()
        with torch.enable_grad():
            found = before + support @ change
            n_positives = len(parts[0])
            loss = support_loss(found[:n_positives], found[n_positives:], self._support_share)
            (outer,) = torch.autograd.grad(loss, change)
        effects = label_gradient(features, scores, labels, outer, self.meta_learning_rate)
        helpful = (effects[:, 1] < effects[:, 0]).to(labels.dtype)
        momentum = self._memory["momentum"]
        moved = momentum * labels + (1 - momentum) * helpful
        n_labeled = len(batch.labeled)
        return torch.cat([labels[:n_labeled], moved[n_labeled:]])

    def _find_offset(self, scores: Tensor) -> float:
        import torch

        if self.support_ == "given":
            return 0.0
        assert self.pi_ is not None
        # Unlike these, rows to train on know by heart whether they have a label.
        unseen = torch.cat([self._support[1], self._rows.X[self._rows.held_population]])
        return share_threshold(self._scores(unseen), self.pi_)

    def _held_out_loss(self, labeled: Tensor, population: Tensor) -> Tensor:
        if self.support_ == "given":
            return super()._held_out_loss(labeled, population)
        assert self.pi_ is not None
        offset = share_threshold(population, self.pi_)
        return super()._held_out_loss(labeled - offset, population - offset)

    def _conclude(self, rows: TrainingRows) -> None:
        self.implied_alpha_ = float(self._memory["labels"][rows.unlabeled].mean())


def _shares(rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
    shares: FloatArray = rng.beta(MIXING_SHAPE, MIXING_SHAPE, size=steps)
    return np.maximum(shares, 1 - shares)
