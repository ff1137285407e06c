"""MPEPU: estimate alpha, drop that share of the unlabeled rows, train, and again."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, WholeNumber, Words
from recoup.exceptions import InvalidInputError, RecoupWarning
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.stages import Batch, Stage, TrainingRows
from recoup.learners.base import LearnerTags, Presets
from recoup.learners.given_alpha import known_alpha
from recoup.priors import BBE, PriorEstimate
from recoup.priors.base import MIN_LABELED

if TYPE_CHECKING:
    from torch import Tensor

# An estimate that runs away takes the classifier with it, and the next estimate.
LARGEST_CHANGE = 0.1


def kept_rows(scores: Tensor, alpha: float) -> Tensor:
    """Mark all unlabeled rows but the share alpha that scores highest; ties fall at random."""
    import torch

    n = len(scores)
    order = torch.randperm(n, device=scores.device)
    ranked = order[torch.argsort(scores[order], descending=True, stable=True)]
    kept = torch.ones(n, dtype=torch.bool, device=scores.device)
    kept[ranked[: min(math.floor(alpha * n + 1e-9), n - 1)]] = False
    return kept


def ignoring_loss(labeled: Tensor, population: Tensor, kept: Tensor, weight: Any) -> Tensor:
    """Cross-entropy of labeled rows against the kept ones, from logits.

    Parameters
    ----------
    labeled, population : Tensor
        Scores.
    kept : Tensor of bool
        Which of the population count as negative; the others are ignored.
    weight : float or Tensor
        Of the labeled rows; the others have what is left to 1.
    """
    from torch.nn.functional import softplus

    n_kept = kept.sum()
    negative = (softplus(population) * kept).sum() / n_kept.clamp(min=1)
    loss: Tensor = weight * softplus(-labeled).mean() + (1 - weight) * negative
    # Without negatives a step would only call everything positive.
    return loss * (n_kept > 0)


@dataclass(kw_only=True, eq=False, repr=False)
class MPEPU(TorchPULearner):
    r"""Train labeled against unlabeled rows, without those that look most positive.

    After some epochs of labeled against all unlabeled rows, each epoch begins with an estimate of
    alpha from rows that are not trained on, by :class:`recoup.priors.BBE`. The share alpha of the
    unlabeled rows that scores highest is ignored (conditional value ignoring risk, CVIR), and the
    others, K, count as negative:

    .. math:: L = \tfrac12 \bigl( E_P[-\log g] + E_K[-\log(1 - g)] \bigr)

    The authors call the whole :math:`(TED)^n`: transform, estimate, discard.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. None estimates it anew in each epoch, which is the published method,
        from held-out rows; where fewer than 20 labeled rows would be held out, it is estimated once
        by ``"bbe"``, which needs no more than 20 in all.
    warm_up_epochs : int, default=8
        Epochs with all unlabeled rows, at most: they end where held-out labels are told best,
        because a network that knows the labels by heart drops the wrong rows. These weights are
        never kept. The authors take 100 epochs of 2000, PU-Bench 8.
    balance : {"equal", "prior"}, default="equal"
        Weigh labeled and kept rows equally, as published, or by the shares of positives and
        negatives in the population, so that probabilities are those of the population.
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
        where the selection in ``history_`` still rises at the end. These are the epochs after the
        warm-up.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=3e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves.
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
        learner. Where alpha is estimated in each epoch, that is to keep the last weights, as the
        authors do, because accuracies that were recovered with different alphas cannot be compared;
        otherwise it is the loss, a smooth recovered accuracy.
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
    alphas_ : ndarray
        The alpha of each epoch after the warm-up, and of the kept weights. An estimate moves by at
        most 0.1 from one epoch to the next.
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
    Garg, Wu, Smola, Balakrishnan and Lipton, "Mixture proportion estimation and PU learning: a
    modern approach", NeurIPS 2021, Algorithms 1 to 3. Their loop ends an epoch when the labeled
    rows are used up; here they are taken in turns, so that every unlabeled row is seen.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="mpe-pu",
        family="risk",
        cost="n per epoch, and n to score",
        effort=0.6,
        source="Garg et al. 2021, Algorithm 3",
        prior_free=True,
        estimates_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's code trains by nnPU and never estimates alpha; the loop of the paper stays.
    presets: ClassVar[Presets] = {
        "paper": {
            "epochs": 2000,
            "warm_up_epochs": 100,
            "batch_size": 200,
            "labeled_batch": 200,
            "learning_rate": 0.01,
            "weight_decay": 0.0005,
            "optimizer": "sgd",
        },
        "pubench": {"batch_size": 128, "patience": 20, "standardize": False},
    }
    constraints: ClassVar[Constraints] = {
        "warm_up_epochs": WholeNumber(0),
        "balance": Words("equal", "prior"),
    }
    natural_select: ClassVar[Select] = "loss"

    alpha: Any = None
    warm_up_epochs: int = 8
    balance: Literal["equal", "prior"] = "equal"

    @property
    def _estimates(self) -> bool:
        """Whether alpha is estimated in each epoch."""
        return self.alpha is None and self.prior_ is None

    @property
    def _holds_out(self) -> bool:
        # Whoever selects the weights, alpha is estimated from rows that they have not seen.
        return super()._holds_out or self.alpha_ is None

    def _known_alpha(self, X: Any, s: Any, seed: int, caller: str) -> Any:
        parts = round(1 / self.validation_fraction) if self.validation_fraction else 0
        if self.alpha is None and parts and s.sum() // parts < MIN_LABELED <= s.sum():
            return known_alpha("bbe", X.reshape(len(X), -1), s, seed, caller)
        return super()._known_alpha(X, s, seed, caller)

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        unlabeled = ~rows.has_label
        n = int(unlabeled[rows.population].sum())
        if self.alpha_ is not None and self.alpha_ * n > n - 1:
            raise InvalidInputError(
                f"MPEPU.fit needs alpha to leave a negative among the {n:,} unlabeled rows to "
                f"train on. Got alpha={self.alpha_:g}. Estimate it with alpha='bbe'."
            )
        if self.alpha_ is None and len(rows.held_labeled) < MIN_LABELED:
            raise InvalidInputError(
                f"MPEPU.fit needs at least {MIN_LABELED} labeled rows that it does not train on "
                f"to estimate alpha from. Got {len(rows.held_labeled)}. Raise validation_fraction, "
                f"or take alpha='bbe', which scores each row by models that have not seen it."
            )
        self._memory["kept"] = unlabeled
        self._memory["unlabeled"] = rows.population[unlabeled[rows.population]]
        self._memory["weight"] = torch.tensor(0.5, device=rows.X.device)
        self._alphas: list[float] = []

    def _stages(self) -> list[Stage]:
        def stage(epochs: int, **options: Any) -> Stage:
            return Stage(self._loss, epochs, self.learning_rate, self.weight_decay, **options)

        comparable = not self._estimates or self.select != "auto" or self._oracle is not None
        main = stage(self.epochs, before_epoch=self._choose_rows, selectable=comparable)
        if not self.warm_up_epochs:
            return [main]
        judge = self._tells_labels if len(self._rows.held_labeled) else None
        return [stage(self.warm_up_epochs, selectable=False, judge=judge), main]

    def _loss(self, batch: Batch) -> Tensor:
        kept = self._memory["kept"][batch.population_rows]
        return ignoring_loss(*batch.scores(), kept, self._memory["weight"])

    def _choose_rows(self, epoch: int) -> None:
        """Estimate alpha unless it is known, and drop that share of the unlabeled rows."""
        if self._estimates:
            found, before = self._estimate(self._rows).alpha, self._alphas[-1:]
            for last in before:
                found = min(max(found, last - LARGEST_CHANGE), last + LARGEST_CHANGE)
            self._set_alpha(found)
        assert self.alpha_ is not None
        self._alphas.append(self.alpha_)
        if self.balance == "prior":
            assert self.pi_ is not None
            self._memory["weight"].fill_(self.pi_)
        unlabeled = self._memory["unlabeled"]
        self._memory["kept"][unlabeled] = kept_rows(
            self._scores(self._rows.X, unlabeled), self.alpha_
        )

    def _estimate(self, rows: TrainingRows) -> PriorEstimate:
        import torch

        places = torch.unique(torch.cat([rows.held_labeled, rows.held_population]))
        s = rows.has_label[places].long().cpu().numpy()
        scores = self._scores(rows.X, places).double().cpu().numpy()
        found: PriorEstimate = BBE(interval=None).fit_scores(s, scores).estimate_
        return found

    def _set_alpha(self, alpha: float) -> None:
        self.alpha_ = alpha
        self.pi_ = self._population_share(self._rows.has_label.long().cpu().numpy())

    def _conclude(self, rows: TrainingRows) -> None:
        if self._estimates:
            self.prior_ = self._estimate(rows)
            last = self._alphas[-1]
            if abs(self.prior_.alpha - last) > LARGEST_CHANGE:
                warnings.warn(
                    f"MPEPU.fit ends with an alpha that still moves: {last:.3f} in the last epoch, "
                    f"{self.prior_.alpha:.3f} after it. Train for more epochs, or give alpha.",
                    RecoupWarning,
                    stacklevel=2,
                )
            self._set_alpha(self.prior_.alpha)
            self._alphas.append(self.prior_.alpha)
        self.alphas_: FloatArray = np.array(self._alphas)
        del self._alphas
