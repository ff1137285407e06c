"""HolisticPU: how predictions move while a network learns tells hidden positives from negatives."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Flag, Nothing, Number, WholeNumber, Words
from recoup.exceptions import RecoupWarning
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import scores_of
from recoup.learners._training.stages import Batch, Stage, TrainingRows, in_parts
from recoup.learners._training.teachers import follow, teacher_of
from recoup.learners._training.views import Views, views_of
from recoup.learners.base import LearnerTags, Presets
from recoup.priors import PriorEstimate

if TYPE_CHECKING:
    from torch import Tensor, nn

# The authors' steps per epoch, never more than a pass over their unlabeled rows.
USUAL_STEPS = 512
# Mean changes from here on are left out of a second search, where the released code finds a cut
# above zero.
STEEP = 0.2 / 9
# Shares of pseudo-positives beyond these come from a search gone wrong rather than from data.
CREDIBLE = (0.02, 0.98)


def pairwise_trends(history: FloatArray, scale: float) -> FloatArray:
    r"""Return the mean of :math:`\psi(a [s(t') - s(t)])` over all pairs of epochs.

    :math:`\psi(u) = \mathrm{sign}(u) \log(1 + |u| + u^2 / 2)` lets no single jump decide.

    Parameters
    ----------
    history : ndarray of shape (epochs, n)
        The probability of each row to be positive, after each epoch.
    scale : float
        The factor a.
    """
    epochs = len(history)
    total = np.zeros(history.shape[1])
    for lag in range(1, epochs):
        change = scale * (history[lag:] - history[:-lag])
        size = np.abs(change)
        total += (np.sign(change) * np.log1p(size + change**2 / 2)).sum(axis=0)
    return total * 2 / (epochs * (epochs - 1))


def adjacent_trends(history: FloatArray) -> FloatArray:
    """Return the mean of log(1 + d + d²/2) over the changes d from an epoch to the next."""
    change = np.diff(history, axis=0)
    trends: FloatArray = np.log1p(change + change**2 / 2).mean(axis=0)
    return trends


def natural_break(values: FloatArray, criterion: str) -> float | None:
    """Return the largest value of the lower of two groups; None where all values are the same.

    Parameters
    ----------
    values : ndarray of shape (n,)
    criterion : {"squares", "variance"}
        What both groups together shall have least of: squared distances from their means, or
        variance, which gives small groups more weight.
    """
    ranked = np.sort(np.asarray(values, float))
    places = np.flatnonzero(np.diff(ranked) > 0)
    if not len(places):
        return None
    # Around zero, differences of sums of squares lose no digits.
    centered = ranked - ranked.mean()
    sums, squares = np.cumsum(centered), np.cumsum(centered**2)
    n_low = places + 1
    n_high = len(ranked) - n_low
    low = squares[places] - sums[places] ** 2 / n_low
    high = squares[-1] - squares[places] - (sums[-1] - sums[places]) ** 2 / n_high
    cost = low + high if criterion == "squares" else low / n_low + high / n_high
    return float(ranked[places[np.argmin(cost)]])


def falling_rate(done: float) -> float:
    """Return the factor on the learning rate: the first 7/16 of half a wave."""
    return math.cos(7 * math.pi / 16 * done)


def trust(epoch: int, epochs: int) -> float:
    """Return the weight of the pseudo-labels in an epoch, from 0; the rest says negative."""
    return float((epoch / epochs) ** 0.8)


def smoothed_positive_loss(scores: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of logits against positive, with a share of the label for both classes."""
    from torch.nn.functional import softplus

    return softplus(-scores).mean() + smoothing / 2 * scores.mean()


def consistency_loss(weak: Tensor, strong: Tensor, confidence: float) -> Tensor:
    """Cross-entropy at strong views against the class of the weak one, where that is clear."""
    from torch.nn.functional import softplus

    sure = weak.abs() >= math.log(confidence / (1 - confidence))
    return (sure * softplus(-strong * weak.sign())).mean()


@dataclass(kw_only=True, eq=False, repr=False)
class HolisticPU(TorchPULearner):
    r"""Watch predictions while a network learns labels, and cut the rows in two by their trend.

    A network learns labeled against unlabeled rows, in equal numbers. After each of T epochs its
    probability :math:`s_i(t)` that an unlabeled row is positive is noted. For negatives it falls
    steadily, for hidden positives it does not. The trend of a row is

    .. math:: \frac{2}{T (T - 1)} \sum_{t < t'} \psi(a [s_i(t') - s_i(t)]),
              \quad \psi(u) = \mathrm{sign}(u) \log(1 + |u| + u^2 / 2)

    and the cut that leaves two groups with the least spread says which rows are taken for positive.
    A new network is trained on these pseudo-labels, whose weight rises from 0 to 1. Each row is
    also shown strongly changed, and shall then get the class that it has when weakly changed, if
    the network is sure of that.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. Only the choice of the weights needs it; None takes the share of
        pseudo-positives there.
    trend_epochs : int, default=15
        Epochs of the first network, at least 2. The trends are those of the first ones of them, as
        many as tell held-out labeled rows best; where nothing is held out, of all. This is the
        published value; see the notes.
    steps_per_epoch : int, default=512
        Steps that count as an epoch; one pass over the unlabeled rows where that is shorter. This
        is the published value. Where predictions have settled after one epoch, there is no trend
        left to see.
    trend : {"pairs", "adjacent"}, default="pairs"
        The published form above, or that of the released code, the mean of log(1 + d + d²/2) over
        the changes d from an epoch to the next, which is above zero for predictions that only
        swing.
    trend_scale : float, default=1.0
        The factor a on differences of predictions.
    criterion : {"variance", "squares"}, default="variance"
        What the two groups have least of, together: variance, as in the paper, or squared distances
        from their means, as in the released code. The latter lets a few rows with steep trends have
        a group of their own.
    smoothing : float, default=0.1
        Share of a label that is spread over both classes, for labeled rows of the first network.
        This is the published value.
    averaging : float, default=0.999
        Share of itself that the mean of the first network's weights keeps in each of 512 steps; in
        an epoch of fewer steps, it forgets as much. That mean makes the predictions. This is the
        published value.
    confidence : float, default=0.9
        From which probability on a prediction is a target for the strong view. This is the
        published value.
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
    epochs : int, default=25
        Passes over the rows of the population, unless ``patience`` ends training before. Take more
        where the selection in ``history_`` still rises at the end. These are the epochs of the
        second network. This is the published value.
    batch_size : int, default=64
        Rows of the population per step. Larger batches make steps less noisy, and fewer. This is
        the published value.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None takes as many as ``batch_size``.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=0.003
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. It falls along a wave to a fifth. The authors take 0.0005 to 0.002.
    weight_decay : float, default=5e-4
        Penalty on large weights (L2). Raise it where labels are few and the network learns them by
        heart. It acts on matrices alone. This is the published value.
    optimizer : {"adam", "sgd"}, default="sgd"
        Adam, or stochastic gradient descent with momentum 0.9. Here the momentum is Nesterov's, as
        published.
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
        learner. For this one that is the loss, a smooth recovered accuracy, for alpha or the share
        of pseudo-positives; the authors keep the last weights.
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
    cut_ : float
        The trend above which rows were taken for positive.
    pseudo_share_ : float
        The share of such rows among the unlabeled ones.
    watched_epochs_ : int
        The number of epochs that the trends are from.
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
    The authors watch a fixed number of epochs. Once the network knows its labels by heart, though,
    the predictions of all other rows fall, hidden positives among them. On sentence vectors of
    20 Newsgroups, after fifteen epochs, the break left 1 % of the unlabeled rows on the side of the
    positives, of a true 56 %; after six it left 54 %, and 85 % of all rows were on their side. So
    each number of epochs has its break, and the one is taken above which the share of held-out
    labeled rows exceeds that of held-out unlabeled rows most.

    References
    ----------
    Wang, Wan, Geng, Li and Chen, "Beyond myopia: learning from positive and unlabeled data through
    holistic predictive trends", NeurIPS 2023. One logit stands for the two of the authors. Views
    of vectors, which they do not change, get noise, and lose features if strong; the learning rate
    falls from epoch to epoch, not from step to step.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="holistic-pu",
        family="disambiguation",
        cost="a fixed number of steps, and n per epoch",
        effort=2.8,
        source="Wang et al. 2023",
        prior_free=True,
        estimates_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's code reads its two outputs the wrong way round; ours is one output.
    presets: ClassVar[Presets] = {
        "paper": {"learning_rate": 0.0015, "validation_fraction": 0.0},
        "pubench": {
            "epochs": 100,
            "trend_epochs": 10,
            "batch_size": 256,
            "learning_rate": 0.01,
            "smoothing": 0.05,
            "patience": 20,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "trend_epochs": WholeNumber(2),
        "steps_per_epoch": WholeNumber(),
        "trend": Words("pairs", "adjacent"),
        "trend_scale": Number(above=0),
        "criterion": Words("squares", "variance"),
        "smoothing": Number(least=0, below=1),
        "averaging": Number(above=0, below=1),
        "confidence": Number(above=0.5, below=1),
        "flip": Flag() | Nothing(),
    }
    natural_select: ClassVar[Select] = "loss"
    nesterov: ClassVar[bool] = True
    spares_biases: ClassVar[bool] = True

    alpha: Any = None
    epochs: int = 25
    batch_size: int = 64
    learning_rate: float = 0.003
    weight_decay: float = 5e-4
    optimizer: Literal["adam", "sgd"] = "sgd"
    trend_epochs: int = 15
    steps_per_epoch: int = USUAL_STEPS
    trend: Literal["pairs", "adjacent"] = "pairs"
    trend_scale: float = 1.0
    criterion: Literal["squares", "variance"] = "variance"
    smoothing: float = 0.1
    averaging: float = 0.999
    confidence: float = 0.9
    flip: bool | None = None

    def _networks(self) -> dict[str, nn.Module]:
        watched = {"_teacher": self._teacher} if hasattr(self, "_teacher") else {}
        return {"network_": self.network_, **watched}

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        self._views: Views = views_of(rows.X[rows.everything], flip=self.flip)
        # The second network begins where this fit began, the first one always anew.
        self._beginning = {
            name: weight.clone() for name, weight in self.network_.state_dict().items()
        }
        self.network_.load_state_dict(self._new_network("HolisticPU.fit").state_dict())
        self._teacher = teacher_of(self.network_)
        self._history: list[FloatArray] = []
        # Rows to train on first, then the two kinds that are held out.
        self._watched = (rows.unlabeled, rows.held_labeled, rows.held_unlabeled)
        self._memory["pseudo-labels"] = rows.has_label.float()
        self._memory["trust"] = torch.zeros((), device=rows.X.device)

    def _stages(self) -> list[Stage]:
        whole_pass = max(1, len(self._rows.unlabeled) // self.batch_size)
        steps = min(self.steps_per_epoch, whole_pass)
        kept = self.averaging ** (USUAL_STEPS / steps)

        def stage(loss: Any, epochs: int, **options: Any) -> Stage:
            return Stage(
                loss,
                epochs,
                self.learning_rate,
                self.weight_decay,
                schedule=falling_rate,
                unlabeled=True,
                labeled_batch=self.labeled_batch or self.batch_size,
                steps=steps,
                **options,
            )

        return [
            stage(
                self._label_loss,
                self.trend_epochs,
                networks=("network_",),
                after_step=lambda: follow(self._teacher, self.network_, kept),
                after_epoch=self._note,
                selectable=False,
            ),
            stage(self._pseudo_label_loss, self.epochs, before_epoch=self._begin),
        ]

    def _label_loss(self, batch: Batch) -> Tensor:
        import torch
        from torch.nn.functional import softplus

        n = len(batch.labeled)
        views = torch.cat([self._views.strong(batch.labeled), self._views.weak(batch.rows)])
        scores = scores_of(batch.network, views)
        return (
            smoothed_positive_loss(scores[: 2 * n], self.smoothing)
            + softplus(scores[2 * n :]).mean()
        )

    def _note(self, epoch: int) -> None:
        """Remember what is thought of rows, and judge them after the last epoch."""
        import torch

        self._teacher.eval()
        with torch.no_grad():
            parts = in_parts(self._rows.X, torch.cat(self._watched))
            views = (self._views.weak(part) for part in parts)
            scores = torch.cat([scores_of(self._teacher, view) for view in views])
        self._history.append(scores.double().sigmoid().cpu().numpy())
        if epoch == self.trend_epochs - 1:
            self._guess_labels()
            del self._teacher

    def _guess_labels(self) -> None:
        import torch

        trends, cut = self._split()
        if cut is None:
            warnings.warn(
                "HolisticPU.fit finds no break between the trends of unlabeled rows, and cuts at "
                "their median. Take another learning_rate or steps_per_epoch.",
                RecoupWarning,
                stacklevel=2,
            )
            cut = float(np.median(trends))
        self.cut_ = cut
        positive = trends > cut
        self.pseudo_share_ = float(positive.mean())
        if not CREDIBLE[0] <= self.pseudo_share_ <= CREDIBLE[1]:
            warnings.warn(
                f"HolisticPU.fit takes {self.pseudo_share_:.1%} of the unlabeled rows for "
                f"positive. If that cannot be, its predictions did not change between epochs, or "
                f"all alike: take another learning_rate or steps_per_epoch.",
                RecoupWarning,
                stacklevel=2,
            )
        if self.alpha_ is None:
            self.alpha_ = self.pseudo_share_
            self.prior_ = PriorEstimate(alpha=self.alpha_, method=self.tags.key)
            self.pi_ = self._population_share(self._rows.has_label.long().cpu().numpy())
        places = self._watched[0]
        labels = torch.as_tensor(positive, dtype=torch.float32, device=places.device)
        self._memory["pseudo-labels"].index_copy_(0, places, labels)

    def _split(self) -> tuple[FloatArray, float | None]:
        """Return the trends of the rows to train on, and where to cut, from the best epochs."""
        history = np.array(self._history)
        borders = np.cumsum([len(part) for part in self._watched[:2]])
        lengths = range(2, len(history) + 1)
        if not len(self._watched[1]):
            lengths = lengths[-1:]
        best = -math.inf
        for length in lengths:
            trends, labeled, others = np.split(self._trends(history[:length]), borders)
            cut = self._break(trends)
            merit = -1.0
            if cut is not None and len(labeled):
                # This grows with the balanced accuracy, however many of the others are positive.
                merit = float(np.mean(labeled > cut) - np.mean(others > cut))
            if merit > best:
                best, found, self.watched_epochs_ = merit, (trends, cut), length
        return found

    def _trends(self, history: FloatArray) -> FloatArray:
        if self.trend == "pairs":
            return pairwise_trends(history, self.trend_scale)
        return adjacent_trends(history)

    def _break(self, trends: FloatArray) -> float | None:
        found = natural_break(trends, self.criterion)
        if found is not None and self.trend == "adjacent" and found > 0:
            flat = trends[trends < STEEP]
            return natural_break(flat, self.criterion) if len(flat) else None
        return found

    def _begin(self, epoch: int) -> None:
        if epoch == 0:
            self.network_.load_state_dict(self._beginning)
        self._memory["trust"].fill_(trust(epoch, self.epochs))

    def _pseudo_label_loss(self, batch: Batch) -> Tensor:
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits, softplus

        n_labeled, n_unlabeled = len(batch.labeled), len(batch.population)
        views = torch.cat([self._views.weak(batch.rows), self._views.strong(batch.population)])
        scores = scores_of(batch.network, views)
        labeled, others = scores[:n_labeled], scores[n_labeled:]
        unlabeled, strong = others[:n_unlabeled], others[n_unlabeled:]
        targets = self._memory["trust"] * self._memory["pseudo-labels"][batch.population_rows]
        return (
            softplus(-labeled).mean()
            + binary_cross_entropy_with_logits(unlabeled, targets)
            + consistency_loss(unlabeled.detach(), strong, self.confidence)
        )
