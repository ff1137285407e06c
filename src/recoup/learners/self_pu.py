"""SelfPU: two students that trust their surest predictions, each with a teacher."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from recoup._core.checks import FloatArray, brief
from recoup._core.constraints import Constraints, Flag, Number, Several, WholeNumber, Words
from recoup.exceptions import InvalidInputError
from recoup.learners._training.loop import Select, TorchPULearner
from recoup.learners._training.networks import rounded_products, scores_of
from recoup.learners._training.risks import entropies, margin_loss
from recoup.learners._training.stages import Batch, Stage, TrainingRows, cosine, in_turns, layout_of
from recoup.learners._training.teachers import follow, predicted, running_mean, teacher_of
from recoup.learners.base import LearnerTags, Presets

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

Trusting = Literal["entropy", "hard", "soft"]

# The authors' epochs, by which their schedules are written down.
CLOCK = 200
SLOWEST_TEACHER = 0.999
STUDENTS = ("network_", "second_network_")
TEACHERS = ("teacher_", "second_teacher_")


def non_negative_risk(
    labeled: Tensor, population: Tensor, pi: Any, of_labeled: Any = 1.0, of_population: Any = 1.0
) -> Tensor:
    """Return what a step of nnPU minimizes: the risk, or less than nothing turned round.

    Parameters
    ----------
    labeled, population : Tensor
        Scores of labeled rows, and of rows that follow the population.
    pi : float or Tensor
        Share of positives in the population.
    of_labeled, of_population : float or Tensor
        Weights of the rows, which the denominators do not follow.
    """
    import torch

    if not (len(labeled) and len(population)):
        raise InvalidInputError(
            f"SelfPU.fit needs labeled and other rows in a batch: without either, the risk has the "
            f"wrong sign. Got {len(labeled)} and {len(population)}."
        )
    positive = pi * (of_labeled * margin_loss("sigmoid", labeled)).mean()
    as_negative = pi * (of_labeled * margin_loss("sigmoid", -labeled)).mean()
    negative = (of_population * margin_loss("sigmoid", -population)).mean() - as_negative
    return torch.where(negative < 0, -negative, positive + negative)


def n_trusted(n: int, epoch: float, pace: float) -> int:
    """Return how many rows of n to trust at each end, at an epoch of 200."""
    # A hair more, because products of shares may fall below a whole number.
    return min(math.floor(n * 0.5 * min(epoch / 100, 1.0) * pace + 1e-6), (n - 1) // 2)


def consistency_weight(highest: float, epoch: float) -> float:
    """Return the weight of a teacher's predictions at an epoch of 200."""
    ramp = min(max(epoch - 30, 0.0), 400.0) / 400
    return highest * math.exp(-5 * (1 - ramp) ** 2)


def effects_on_entropy(
    network: nn.Module, labeled: Tensor, population: Tensor, outside: Tensor, pi: Any, rate: float
) -> Tensor:
    """Say by how much each row's two losses, if weighed more, would make other rows surer.

    Parameters
    ----------
    network : Module
    labeled, population : Tensor
        Rows.
    outside : Tensor
        Rows whose entropy is looked at after a virtual step.
    pi : float or Tensor
        Share of positives in the population.
    rate : float
        Of the virtual step.

    Returns
    -------
    Tensor of shape (n, 2)
        For each row, labeled ones first: of its part in the risk, and of its entropy.
    """
    import torch
    from torch.func import functional_call

    n = len(labeled)
    rows = torch.cat([labeled, population])
    weights = torch.zeros(len(rows), 2, device=rows.device, dtype=rows.dtype, requires_grad=True)
    scores = scores_of(network, rows)
    risk = non_negative_risk(scores[:n], scores[n:], pi, weights[:n, 0], weights[n:, 0])
    inner = risk + (weights[:, 1] * entropies(scores)).mean()
    known = dict(network.named_parameters())
    steps = torch.autograd.grad(inner, list(known.values()), create_graph=True)
    moved = {
        name: weight - rate * step
        for (name, weight), step in zip(known.items(), steps, strict=True)
    }
    with rounded_products(outside):
        after = functional_call(network, moved, (outside,)).reshape(len(outside))
    (effects,) = torch.autograd.grad(-2 * entropies(after.to(outside.dtype)).mean(), weights)
    return effects.detach()


def divided(effects: Tensor, most: float) -> Tensor:
    """Turn the effects of rows into weights of their two losses, which sum to 1.

    Once the second losses have the weight ``most`` together, the other rows have the first alone.
    """
    import torch

    useful = effects.clamp(min=0)
    useful = torch.stack([useful[:, 0] + 1e-10, useful[:, 1]], dim=1)
    shares = useful / useful.sum(1, keepdim=True)
    before = shares[:, 1].cumsum(0) - shares[:, 1]
    second = torch.where(before < most, shares[:, 1], 0.0)
    return torch.stack([1 - second, second], dim=1)


@dataclass(kw_only=True, eq=False, repr=False)
class SelfPU(TorchPULearner):
    r"""Train two networks by nnPU, and let each learn from what it is surest of.

    After a start with nnPU alone, each student ranks the unlabeled rows. Those at both ends are
    *trusted*: they leave nnPU, and predictions for them are made surer, by their entropy

    .. math:: L_T = E_T[-p \log p - (1 - p) \log(1 - p)]

    The trusted set is chosen anew several times and grows, faster for the second student. Then
    teachers come in, the means of the students' weights after each epoch. From there on a student
    also keeps close to its teacher, and to the other student where that costs little against its
    own loss. The decision function is the mean of the two teachers' outputs.

    Parameters
    ----------
    alpha : float, PriorEstimate or str, default="estimate"
        Share of positives among the unlabeled rows: a number, a result of :mod:`recoup.priors`, or
        a word that has it estimated before training, ``"estimate"`` or the key of an estimator such
        as ``"bbe"``.
    paces : tuple of float, default=(0.4, 0.6)
        Share of the unlabeled rows that each of the two students would trust after half of the
        epochs; the last choice comes earlier, at 0.4 of these. These are the published values.
        Lower them where the classes overlap much.
    first_selection : float, default=0.05
        Share of the epochs after which trusted rows are first chosen. This is the published value.
    n_selections : int, default=4
        How often they are chosen, at equal distances, until the teachers come in. This is the
        published value.
    teachers_from : float, default=0.25
        Share of the epochs after which the teachers come in, as published. Only weights after that
        are kept.
    trusted_loss : {"entropy", "hard", "soft"}, default="entropy"
        What trusted rows are trained by: their entropy, or the cross-entropy against the class by
        which they were chosen, or against the probability at that time.
    ends : {"equal", "prior"}, default="equal"
        Trust as many positives as negatives, as published, or by their shares among the unlabeled
        rows, which is safer where these are far from a half.
    update_prior : bool, default=False
        Take the trusted positives out of the prior of the rows that are left to nnPU.
    agreement : float, default=0.1
        Students learn from each other where their squared difference is below this share of the
        loss. This is the published value; 0 keeps them apart.
    consistency : float, default=0.3
        Weight of the squared difference from the teacher. It rises slowly, as published: to a fifth
        of this in the last epoch.
    calibrate : bool, default=True
        From the first choice until the teachers come in, divide the loss of each row that is not
        trusted between nnPU and its entropy, such that a step makes held-out rows surer. This needs
        second derivatives, and makes those epochs about three times as long. On Spambase (three
        seeds) accuracy was 89.5 % with it and 89.0 % without.
    calibration_rate : float, default=1e-3
        Step size of that step. This is the published value.
    calibration_budget : float, default=0.0625
        Share of a batch that may go to the entropy where ``calibrate`` is on. This is the published
        value.
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
        where the selection in ``history_`` still rises at the end. This is the published value. All
        else in the schedule is in shares of them.
    batch_size : int, default=256
        Rows of the population per step. Larger batches make steps less noisy, and fewer. This is
        the published value.
    labeled_batch : int or None, default=None
        Labeled rows per step, taken in turns. None keeps their ratio to the population, with at
        least 16.
    least_steps : int, default=10
        Steps of an epoch where a pass over the rows of the population has fewer.
    learning_rate : float, default=5e-4
        Step size of the optimizer. Lower it where the loss in ``history_`` jumps, raise it where
        the loss hardly moves. It falls to zero along a cosine. This is the published value.
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
        The first student.
    second_network_ : Module
        The second student.
    teacher_ : Module
        The teacher of the first student.
    second_teacher_ : Module
        The teacher of the second student.
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
    Chen, Chen, Chen, Yuan, Gong, Chen and Wang, "Self-PU: self boosted and calibrated
    positive-unlabeled training", ICML 2020. Their program predicts by the one of four networks that
    is best on test rows, and its term for the teacher is always zero; here neither is so. Teachers
    predict in evaluation mode, with their student's batch statistics, and are moved once per epoch
    instead of after each of its two passes. Calibration looks at unlabeled rows, held out if any
    are. Each step has labeled rows of its own, at least 16.
    """

    tags: ClassVar[LearnerTags] = LearnerTags(
        key="self-pu",
        family="disambiguation",
        cost="n per epoch, for two networks, and twice that with their teachers",
        effort=5.0,
        source="Chen et al. 2020, Self-PU",
        needs_alpha=True,
        backend="torch",
        takes_weight=True,
    )
    # PU-Bench's code trains trusted positives as negatives, which is a slip; ours stays. It has
    # neither agreement nor calibration, and chooses rows every other epoch.
    presets: ClassVar[Presets] = {
        "paper": {"calibrate": True, "validation_fraction": 0.0},
        "pubench": {
            "epochs": 40,
            "learning_rate": 0.001,
            "weight_decay": 0.0005,
            "paces": (0.1, 0.2),
            "first_selection": 0.125,
            "n_selections": 3,
            "agreement": 0.0,
            "calibrate": False,
            "standardize": False,
        },
    }
    constraints: ClassVar[Constraints] = {
        "paces": Several(Number(above=0, most=1), 2),
        "first_selection": Number(least=0, below=1),
        "n_selections": WholeNumber(),
        "teachers_from": Number(above=0, below=1),
        "trusted_loss": Words(*get_args(Trusting)),
        "ends": Words("equal", "prior"),
        "update_prior": Flag(),
        "agreement": Number(least=0),
        "consistency": Number(least=0),
        "calibrate": Flag(),
        "calibration_rate": Number(least=0),
        "calibration_budget": Number(least=0),
    }
    natural_select: ClassVar[Select] = "loss"

    alpha: Any = "estimate"
    epochs: int = 200
    learning_rate: float = 5e-4
    weight_decay: float = 5e-3
    paces: Sequence[float] = (0.4, 0.6)
    first_selection: float = 0.05
    n_selections: int = 4
    teachers_from: float = 0.25
    trusted_loss: Trusting = "entropy"
    ends: Literal["equal", "prior"] = "equal"
    update_prior: bool = False
    agreement: float = 0.1
    consistency: float = 0.3
    calibrate: bool = True
    calibration_rate: float = 1e-3
    calibration_budget: float = 1 / 16

    second_network_: Any = field(init=False, repr=False)
    teacher_: Any = field(init=False, repr=False)
    second_teacher_: Any = field(init=False, repr=False)

    def _check_settings(self, caller: str) -> None:
        super()._check_settings(caller)
        if not self.first_selection < self.teachers_from:
            raise InvalidInputError(
                f"{caller} needs first_selection before teachers_from, shares of the epochs from 0 "
                f"to below 1. Got {brief(self.first_selection)} and {brief(self.teachers_from)}."
            )

    def _networks(self) -> dict[str, nn.Module]:
        return {name: getattr(self, name) for name in (*STUDENTS, *TEACHERS)}

    def _prepare(self, rows: TrainingRows) -> None:
        import torch

        device, layout = rows.X.device, layout_of(rows.X)
        if not (self.warm_start and hasattr(self, "teacher_")):
            self.second_network_ = self._new_network("SelfPU.fit")
            self.teacher_ = teacher_of(self.network_)
            self.second_teacher_ = teacher_of(self.second_network_)
        network: Any
        for network in self._networks().values():
            network.to(device, memory_format=layout)
        self._memory["consistency"] = torch.zeros((), device=device)
        for student in STUDENTS:
            self._memory[f"trusted {student}"] = rows.population[:0]
            self._memory[f"noisy {student}"] = rows.population
            self._memory[f"targets {student}"] = torch.zeros(len(rows.X), device=device)
            self._memory[f"pi {student}"] = torch.tensor(self.pi_, device=device)

    # When: a start, a time of choosing rows, and a time of teachers.

    @property
    def _chosen_after(self) -> set[int]:
        """Return the epochs, from 0, at whose end rows are chosen."""
        between = (self.teachers_from - self.first_selection) / self.n_selections
        shares = (self.first_selection + time * between for time in range(self.n_selections))
        return {round(self.epochs * share) for share in shares}

    @property
    def _starts(self) -> tuple[int, int]:
        """Return the first epochs of the second and of the third stage."""
        last = self.epochs - 1
        choosing = min(round(self.epochs * self.first_selection) + 1, last)
        return choosing, min(max(round(self.epochs * self.teachers_from), choosing), last)

    def _stages(self) -> list[Stage]:
        choosing, teaching = self._starts
        bounds = (0, choosing, teaching, self.epochs)
        falling = cosine(0.0)

        def stage(number: int) -> Stage:
            first, epochs = bounds[number], bounds[number + 1] - bounds[number]
            draws: dict[str, Any] = {}
            for student in STUDENTS:
                draws[f"rows {student}"] = partial(self._dealt, student)
                draws[f"trusted {student}"] = partial(self._trusting, student)
            calibrated = self.calibrate and number == 1
            if calibrated:
                draws["outside"] = self._looked_at
            return Stage(
                partial(self._loss, taught=number == 2, calibrated=calibrated),
                epochs,
                self.learning_rate,
                self.weight_decay,
                schedule=lambda done: falling((first + done * epochs) / self.epochs),
                draws=draws,
                before_epoch=lambda epoch: self._begin(first + epoch),
                after_epoch=lambda epoch: self._end(first + epoch),
                networks=STUDENTS,
                selectable=number == 2,
            )

        return [stage(number) for number in range(3) if bounds[number] < bounds[number + 1]]

    def _begin(self, epoch: int) -> None:
        weight = consistency_weight(self.consistency, CLOCK * epoch / self.epochs)
        self._memory["consistency"].fill_(weight)

    def _end(self, epoch: int) -> None:
        """Move the teachers, which are copies until their time comes, and choose rows."""
        since = epoch - self._starts[1]
        kept = running_mean(since, SLOWEST_TEACHER) if since > 0 else 0.0
        for student, teacher in zip(STUDENTS, TEACHERS, strict=True):
            follow(getattr(self, teacher), getattr(self, student), kept)
        if epoch in self._chosen_after:
            for student, teacher, pace in zip(STUDENTS, TEACHERS, self.paces, strict=True):
                self._choose(student, getattr(self, teacher), pace, epoch)

    def _choose(self, student: str, judge: nn.Module, pace: float, epoch: int) -> None:
        """Rebuild the trusted set of a student from the ends of a ranking."""
        import torch

        rows, memory = self._rows, self._memory
        unlabeled = rows.unlabeled
        scores = self._scores(rows.X, unlabeled, judge)
        each = n_trusted(len(unlabeled), CLOCK * epoch / self.epochs, pace)
        assert self.alpha_ is not None
        assert self.pi_ is not None
        n_positive = each if self.ends == "equal" else round(2 * each * self.alpha_)
        order = scores.argsort(stable=True)
        negative = unlabeled[order[: 2 * each - n_positive]]
        positive = unlabeled[order[len(order) - n_positive :]]
        if self.trusted_loss == "soft":
            memory[f"targets {student}"][unlabeled] = scores.sigmoid()
        else:
            memory[f"targets {student}"][negative] = 0.0
            memory[f"targets {student}"][positive] = 1.0
        trusted: Any = torch.cat([negative, positive])
        left = torch.ones(len(rows.X), dtype=torch.bool, device=rows.X.device)
        left[trusted] = False
        memory[f"trusted {student}"] = trusted
        memory[f"noisy {student}"] = rows.population[left[rows.population]]
        if self.update_prior:
            n = len(rows.population)
            share = (self.pi_ * n - n_positive) / (n - len(trusted))
            memory[f"pi {student}"].fill_(min(max(share, 0.0), 1.0))

    # What a step sees: first trusted rows, then the others.

    def _trusted_steps(self, student: str, steps: int, batch: int) -> int:
        n = len(self._memory[f"trusted {student}"])
        return min(max(round(n / batch), 1), steps - 1) if n else 0

    def _dealt(self, student: str, rng: np.random.Generator, steps: int, batch: int) -> Any:
        before = self._trusted_steps(student, steps, batch)
        parts = []
        for name, count in (("trusted", before), ("noisy", steps - before)):
            places: NDArray[Any] = self._memory[f"{name} {student}"].cpu().numpy()
            if count:
                parts.append(places[in_turns(rng, len(places), count, batch)])
        return np.concatenate(parts)

    def _trusting(self, student: str, rng: np.random.Generator, steps: int, batch: int) -> Any:
        return np.arange(steps) < self._trusted_steps(student, steps, batch)

    def _looked_at(self, rng: np.random.Generator, steps: int, batch: int) -> Any:
        rows = self._rows
        places = rows.held_population if len(rows.held_population) else rows.population
        return places.cpu().numpy()[rng.integers(len(places), size=(steps, batch))]

    def _loss(self, batch: Batch, taught: bool, calibrated: bool) -> Tensor:
        """Return the losses of both in one: no weight is in both, so each gets its own gradient."""
        first, second = (
            self._own_loss(batch, student, taught, calibrated) for student in range(len(STUDENTS))
        )
        return first + second

    def _own_loss(self, batch: Batch, number: int, taught: bool, calibrated: bool) -> Tensor:
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        student = STUDENTS[number]
        network, pi = getattr(self, student), self._memory[f"pi {student}"]
        places = batch.draws[f"rows {student}"]
        trusting = batch.draws[f"trusted {student}"].bool()
        rows = torch.cat([batch.labeled, self._rows.X[places]])
        rows = rows.contiguous(memory_format=layout_of(rows))
        n = len(batch.labeled)
        scores = scores_of(network, rows)
        if calibrated:
            noisy = self._calibrated_loss(network, rows, n, scores, pi, batch.draws["outside"])
        else:
            noisy = non_negative_risk(scores[:n], scores[n:], pi)
        if self.trusted_loss == "entropy":
            sure = entropies(scores[n:]).mean()
        else:
            targets = self._memory[f"targets {student}"][places]
            sure = binary_cross_entropy_with_logits(scores[n:], targets)
        loss = torch.where(trusting, sure, noisy)
        if taught:
            chances = scores.sigmoid()
            other = predicted(getattr(self, STUDENTS[1 - number]), rows)
            apart = ((chances - other) ** 2).mean()
            cheap = ~trusting & (apart < self.agreement * noisy.detach())
            from_teacher = (chances - predicted(getattr(self, TEACHERS[number]), rows)) ** 2
            loss = loss + torch.where(cheap, apart, 0.0)
            loss = loss + self._memory["consistency"] * from_teacher.mean()
        return loss

    def _calibrated_loss(
        self, network: nn.Module, rows: Tensor, n: int, scores: Tensor, pi: Tensor, outside: Tensor
    ) -> Tensor:
        was_training = network.training
        # Batch statistics and dropout would make the virtual step another one.
        network.eval()
        try:
            effects = effects_on_entropy(
                network, rows[:n], rows[n:], self._rows.X[outside], pi, self.calibration_rate
            )
        finally:
            # Also where a recording fails, after which steps go on without one.
            network.train(was_training)
        weights = divided(effects[n:], self.calibration_budget * len(rows))
        risk = non_negative_risk(scores[:n], scores[n:], pi, of_population=weights[:, 0])
        return risk + (weights[:, 1] * entropies(scores[n:])).sum() / len(rows)

    # Predictions are those of both teachers.

    def _scores(
        self, X: Tensor, places: Tensor | None = None, network: nn.Module | None = None
    ) -> Tensor:
        if network is not None:
            return super()._scores(X, places, network)
        first = super()._scores(X, places, self.teacher_)
        return (first + super()._scores(X, places, self.second_teacher_)) / 2

    def _decide(self, X: Any) -> FloatArray:
        first = self._outputs(X, self.teacher_)
        return (first + self._outputs(X, self.second_teacher_)) / 2 - self.offset_
