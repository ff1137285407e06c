"""P3Mix: undecided unlabeled rows are mixed with the positives next to the boundary."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints, Nothing, Number, WholeNumber, Words
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.mixup import mixed_scores, mixing_layer
from recoup.learners._training.places import auc_of_parts
from recoup.learners._training.stages import Batch, Stage, TrainingRows
from recoup.learners._training.teachers import follow, predicted, running_mean, teacher_of
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from torch import Tensor, nn

# Keeps logarithms finite; without it the third term of P3Mix-E would run away.
CLOSEST_TO_CERTAIN = 1e-4
SLOWEST_TEACHER = 0.997
# The learning rate is halved after each of these shares of the epochs.
HALVED_AT = (0.05, 0.15, 0.25, 0.35, 0.45)
# Steps of the warm-up between two looks at held-out rows, and looks without a gain that end it.
LOOK_EVERY, LOOKS_WITHOUT_GAIN = 10, 10
# Steps of the warm-up at most, and where no held-out row says when it is enough.
MOST_STEPS, BLIND_STEPS = 4000, 50
# Steps of the authors' warm-up, to which their schedule of the learning rate belongs.
USUAL_WARM_UP = 200
# From which probability on an unlabeled row is no longer undecided.
USUAL_THRESHOLD = {"e": 0.85, "c": 0.8}


def undecided(chances: Tensor, threshold: float) -> Tensor:
    """Mark probabilities strictly between 1 - threshold and threshold."""
    return (chances > 1 - threshold) & (chances < threshold)


def most_uncertain(scores: Tensor, k: int) -> Tensor:
    """Return the places of the k predictions with the largest entropy, from logits."""
    # The entropy falls with the distance of a logit from zero.
    return scores.abs().argsort(stable=True)[:k]


def chances_of(mixed: Tensor) -> Tensor:
    """Turn logits at mixed rows into probabilities that are never certain."""
    return mixed.sigmoid().clamp(CLOSEST_TO_CERTAIN, 1 - CLOSEST_TO_CERTAIN)


def mixing_losses(chances: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of each mixed row against its mixed target, and the entropy of each."""
    logs, others = chances.log(), (1 - chances).log()
    against = -(targets * logs + (1 - targets) * others)
    return against, -(chances * logs + (1 - chances) * others)


def early_learning_loss(chances: Tensor, taught: Tensor) -> Tensor:
    r"""Mean of :math:`\ln(1 - \langle t, q \rangle)`, lowest where predictions agree with t."""
    return (1 - taught * chances - (1 - taught) * (1 - chances)).log().mean()


@dataclass(kw_only=True, eq=False, repr=False)
class P3Mix(TorchPULearner):
    r"""Take unlabeled rows for negatives, and correct the boundary by whom they are mixed with.

    Labeled rows have target 1, unlabeled ones 0. A row x is trained on as a mixture with a partner
    x', :math:`\lambda x + (1 - \lambda) x'`, whose target is mixed likewise. The boundary that
    comes of this lies too far among the positives. So an unlabeled row whose predicted probability
    is undecided, between :math:`1 - \gamma` and :math:`\gamma`, gets its partner from the k labeled
    rows with the most uncertain predictions, which are those next to the boundary; all others have
    any row of the batch. With q the predictions at mixed rows and H their entropy,

    .. math:: L_0 = \omega_P\, CE_P(\tilde y, q) + \omega_U\, CE_U(\tilde y, q) + \omega_H\, H(q)

    P3Mix-E adds :math:`\omega_R\, E \ln(1 - \langle \tilde t, q \rangle)`, with predictions t of
    a teacher, the mean of the weights after each epoch. P3Mix-C instead takes unlabeled rows that
    are predicted above :math:`\gamma` for positive in that step.

    Parameters
    ----------
    alpha : float, PriorEstimate, str or None, default=None
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``. Training does not need it. With it, the threshold is set such that this share
        of the unlabeled rows lies above; with None a row is positive where its probability exceeds
        one half.
    mode : {"e", "c"}, default="e"
        P3Mix-E, with a teacher that keeps what was learned early, or P3Mix-C, which corrects
        targets.
    steps_per_epoch : int or None, default=None
        Steps in an epoch. None takes one pass. The authors have 200 epochs of 20 steps of 512 rows,
        which is 40 passes over their unlabeled rows.
    warm_up_steps : int or None, default=None
        Steps at the beginning, at most, in which all partners are random; these weights are never
        kept. None ends them where held-out labels are told best, after 4,000 at most; where nothing
        is held out it takes 50. See the notes.
    certainty : float or None, default=None
        The :math:`\gamma` that limits undecided predictions. None takes the published values, 0.85
        in mode e and 0.8 in mode c.
    n_candidates : int, default=100
        The number k of labeled rows next to the boundary that partners come from; all labeled rows
        if there are fewer. This is the published value.
    mixing_shape : float, default=1.0
        Both parameters of the beta distribution of :math:`\lambda`. Of :math:`\lambda` and :math:`1
        - \lambda` the larger one is used. This is the published value.
    mix_layer : int or None, default=None
        Where to mix: -1 for rows as they are, k for what comes out of the layer k with weights,
        counted from 0. None takes rows of vectors, and the output of the last convolution for
        images, as published.
    labeled_weight : float, default=1.0
        Weight :math:`\omega_P` of labeled rows in the loss. This is the published value.
    unlabeled_weight : float, default=1.0
        Weight :math:`\omega_U` of unlabeled rows in the loss. This is the published value.
    entropy_weight : float, default=0.1
        Weight :math:`\omega_H` of the entropy of predictions. This is the published value.
    teacher_weight : float, default=1.0
        Weight :math:`\omega_R` of agreement with the teacher, in mode e. This is the published
        value.
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
        where the selection in ``history_`` still rises at the end. These are the epochs after the
        warm-up, and the passes are over the unlabeled rows.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16. It has no effect here: a batch has as many labeled as unlabeled rows.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=3e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. The authors take 5e-5, for convolutions.
    weight_decay : float, default=1e-6
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
        learner. For this one that is the area, which needs no alpha.
    patience : int or None, default=10
        Epochs without improvement on the held-out rows after which training stops. None runs all
        epochs. The default is that of PU-Bench.
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
    teacher_ : Module
        The network with the mean weights, in which those after the warm-up count once; mode e only.
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
    Partners can correct a boundary only while there are undecided rows. As each step sees as many
    labeled as unlabeled rows, each label comes often, and a large network knows a few hundred of
    them by heart soon: on sentence vectors of 20 Newsgroups after some 30 steps at 3e-4. From then
    on all unlabeled rows are sure negatives. So the warm-up is no share of the epochs here, as it
    is for the authors (10 epochs of 20 steps), but ends where held-out labeled rows rank highest
    among the unlabeled ones or, without alpha, where the cross-entropy of their labels is lowest.
    If that is after fewer than those 200 steps, what follows is learned more slowly in proportion,
    but not less than in the warm-up; besides, the learning rate is halved five times in the first
    half of the epochs.

    References
    ----------
    Li, Li, Feng and Ouyang, "Who is your right mixup partner in positive and unlabeled learning",
    ICLR 2022. Here the teacher predicts in evaluation mode, with the student's batch statistics,
    and so does the student where it says which rows are undecided.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="p3mix",
        family="disambiguation",
        cost="a number of steps, about twice as long as others",
        effort=1.0,
        source="Li et al. 2022",
        prior_free=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's code mixes targets but no rows, for a layer that is not there; ours are mixed.
    # The warm-ups are its first 5 and 15 epochs of 40.
    presets: ClassVar[Presets] = {
        "paper": {
            "epochs": 190,
            "steps_per_epoch": 20,
            "warm_up_steps": 200,
            "batch_size": 512,
            "learning_rate": 5e-05,
            "patience": None,
            "validation_fraction": 0.0,
        },
        "pubench": {
            "epochs": 35,
            "steps_per_epoch": 100,
            "warm_up_steps": 500,
            "learning_rate": 0.001,
            "mixing_shape": 0.5,
            "entropy_weight": 0.01,
            "teacher_weight": 0.5,
            "standardize": False,
        },
        "pubench-c": {
            "mode": "c",
            "epochs": 25,
            "steps_per_epoch": 100,
            "warm_up_steps": 1500,
            "learning_rate": 0.001,
            "certainty": 0.85,
            "mixing_shape": 0.5,
            "unlabeled_weight": 0.5,
            "entropy_weight": 0.05,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "mode": Words(*USUAL_THRESHOLD),
        "steps_per_epoch": WholeNumber() | Nothing(),
        "warm_up_steps": WholeNumber(0) | Nothing(),
        "certainty": Number(least=0.5, below=1) | Nothing(),
        "n_candidates": WholeNumber(),
        "mixing_shape": Number(above=0),
        "mix_layer": WholeNumber(-1) | Nothing(),
        "labeled_weight": Number(least=0),
        "unlabeled_weight": Number(least=0),
        "entropy_weight": Number(least=0),
        "teacher_weight": Number(least=0),
    }
    cuts_by_share: ClassVar[bool] = True
    natural_select: ClassVar[Select] = "auc"

    alpha: Any = None
    mode: Literal["e", "c"] = "e"
    epochs: int = 60
    weight_decay: float = 1e-6
    patience: int | None = 10
    steps_per_epoch: int | None = None
    warm_up_steps: int | None = None
    certainty: float | None = None
    n_candidates: int = 100
    mixing_shape: float = 1.0
    mix_layer: int | None = None
    labeled_weight: float = 1.0
    unlabeled_weight: float = 1.0
    entropy_weight: float = 0.1
    teacher_weight: float = 1.0

    teacher_: Any = field(init=False, repr=False)

    def _networks(self) -> dict[str, nn.Module]:
        known = {"network_": self.network_}
        return known | ({"teacher_": self.teacher_} if self.mode == "e" else {})

    def _prepare(self, rows: TrainingRows) -> None:
        if self.mode == "e" and not (self.warm_start and hasattr(self, "teacher_")):
            self.teacher_ = teacher_of(self.network_)
        if self.mode == "e":
            self.teacher_.to(rows.X.device)
        mixing_layer(self.network_, self.mix_layer, len(self.shape_) == 3, "P3Mix.fit")
        self._told: list[float] = []
        self._memory["candidates"] = rows.labeled[: self.n_candidates].clone()

    def _stages(self) -> list[Stage]:
        batch = min(self.batch_size, len(self._rows.unlabeled))

        def stage(epochs: int, heuristic: bool, **options: Any) -> Stage:
            return Stage(
                partial(self._loss, heuristic=heuristic),
                epochs,
                self.learning_rate,
                self.weight_decay,
                draws={
                    "share": self._shares,
                    "partner": _partners,
                    "candidate": self._chosen_candidates,
                },
                betas=(0.5, 0.99),
                networks=("network_",),
                unlabeled=True,
                labeled_batch=batch,
                selectable=heuristic,
                **options,
            )

        tell = self._judge(self._rows, "P3Mix.fit")
        if len(self._rows.held_labeled):
            # Where alpha sets the threshold, the order of the rows is all that counts.
            tell = self._tells_labels if self.pi_ is None else self._rank_labels
        n_steps = self.warm_up_steps
        if n_steps is None:
            n_steps = BLIND_STEPS if tell is None else MOST_STEPS
        looks = -(-n_steps // LOOK_EVERY)
        steps = -(-n_steps // max(looks, 1))
        per_epoch = self.steps_per_epoch or len(self._rows.unlabeled) // batch
        rest = per_epoch * sum(_halved(epoch / self.epochs) for epoch in range(self.epochs))

        def schedule(done: float) -> float:
            return _slowed(self._warm_up_looks(looks) * steps, rest) * _halved(done)

        main = stage(
            self.epochs,
            heuristic=True,
            schedule=schedule,
            before_epoch=self._find_candidates,
            # What the warm-up taught counts as one student.
            after_epoch=lambda epoch: self._teach(epoch + (looks > 0)),
            steps=self.steps_per_epoch,
        )
        if not looks:
            return [main]
        first = stage(
            looks,
            heuristic=False,
            after_epoch=self._teach,
            steps=steps,
            judge=tell and (lambda: self._noted(tell())),
            patience=LOOKS_WITHOUT_GAIN,
        )
        return [first, main]

    def _warm_up_looks(self, planned: int) -> int:
        """Say when the warm-up was best, in looks."""
        return int(np.argmax(self._told)) + 1 if self._told else planned

    def _rank_labels(self) -> float:
        """Say how high held-out labeled rows rank among the unlabeled ones, as an AUC."""
        rows = self._rows
        return auc_of_parts(
            self._scores(rows.X, rows.held_labeled), self._scores(rows.X, rows.held_unlabeled)
        )

    def _noted(self, told: float) -> float:
        self._told.append(told)
        return told

    def _shares(self, rng: np.random.Generator, steps: int, batch: int) -> FloatArray:
        drawn: FloatArray = rng.beta(self.mixing_shape, self.mixing_shape, size=steps)
        return drawn.clip(1 - drawn, None)

    def _chosen_candidates(self, rng: np.random.Generator, steps: int, batch: int) -> Any:
        return rng.integers(len(self._memory["candidates"]), size=(steps, batch))

    def _find_candidates(self, epoch: int) -> None:
        """Look for the labeled rows next to the boundary."""
        labeled, candidates = self._rows.labeled, self._memory["candidates"]
        scores = self._scores(self._rows.X, labeled)
        candidates.copy_(labeled[most_uncertain(scores, len(candidates))])

    def _teach(self, epoch: int) -> None:
        if self.mode == "e":
            follow(self.teacher_, self.network_, running_mean(epoch, SLOWEST_TEACHER))

    def _loss(self, batch: Batch, heuristic: bool) -> Tensor:
        import torch

        n, share, partner = len(batch.labeled), batch.draws["share"], batch.draws["partner"]
        rows = torch.cat([batch.labeled, batch.population])
        targets = torch.cat([rows.new_ones(n), rows.new_zeros(n)])
        chances = predicted(batch.network, batch.population) if heuristic else None
        if chances is not None and self.mode == "c":
            targets = torch.cat([targets[:n], (chances >= self._threshold).to(rows.dtype)])
        taught = predicted(self.teacher_, rows) if self.mode == "e" else targets
        others, other_targets, other_taught = rows[partner], targets[partner], taught[partner]
        if chances is not None:
            chosen = self._memory["candidates"][batch.draws["candidate"]]
            wavers = undecided(chances, self._threshold)
            reached = wavers.view(-1, *[1] * (rows.dim() - 1))
            near = torch.where(reached, self._rows.X[chosen], others[n:])
            others = torch.cat([others[:n], near])
            marked = torch.cat([torch.zeros_like(wavers), wavers])
            other_targets = torch.where(marked, 1.0, other_targets)
            other_taught = torch.where(marked, 1.0, other_taught)
        layer = mixing_layer(batch.network, self.mix_layer, len(self.shape_) == 3, "P3Mix.fit")
        mixed = chances_of(mixed_scores(batch.network, layer, rows, others, share))
        return self._combined(
            mixed,
            share * targets + (1 - share) * other_targets,
            share * taught + (1 - share) * other_taught,
        )

    def _combined(self, mixed: Tensor, targets: Tensor, taught: Tensor) -> Tensor:
        """Weigh the terms, from predictions at mixed rows, the first half of which is labeled."""
        against, entropies = mixing_losses(mixed, targets)
        of_labeled, of_unlabeled = against.chunk(2)
        loss = (
            self.labeled_weight * of_labeled.mean()
            + self.unlabeled_weight * of_unlabeled.mean()
            + self.entropy_weight * entropies.mean()
        )
        if self.mode == "e":
            loss = loss + self.teacher_weight * early_learning_loss(mixed, taught)
        return loss

    @property
    def _threshold(self) -> float:
        return USUAL_THRESHOLD[self.mode] if self.certainty is None else self.certainty


def _slowed(warm_up: int, rest: float) -> float:
    """Return the factor on the learning rate after a warm-up of some steps.

    ``rest`` is how many steps at the full rate the others are worth: they shall not teach less
    than the warm-up did.
    """
    return min(warm_up / min(USUAL_WARM_UP, rest), 1.0) if warm_up else 1.0


def _halved(done: float) -> float:
    """Return the factor on the learning rate after a share of the epochs."""
    # A hair of room, so that rounding does not move the places.
    return 0.5 ** sum(done > share - 1e-9 for share in HALVED_AT)


def _partners(rng: np.random.Generator, steps: int, batch: int) -> Any:
    """Draw a partner from the whole batch for each of its rows, labeled ones first."""
    return rng.integers(2 * batch, size=(steps, 2 * batch))
