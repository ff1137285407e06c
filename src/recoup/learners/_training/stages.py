"""What a step of training is, and how an epoch of steps is run, or recorded and replayed."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.exceptions import InvalidInputError
from recoup.learners._training.networks import scores_of, small_and_grey
from recoup.learners._training.places import as_often
from recoup.learners._training.risks import share_of_known
from recoup.learners._training.row_weights import some_weights, urn

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from recoup.learners._training.loop import TorchPULearner

LEAST_LABELED_BATCH = 16
# Steps of an epoch grow with what rows count together, up to as many times their number.
LONGEST_PASS = 4
# Rows that are scored at once, and values that those of one pass may have together.
SCORED_AT_ONCE = 2**14
VALUES_AT_ONCE = 2**24


@dataclass(frozen=True)
class Batch:
    """What a loss sees of one step.

    Parameters
    ----------
    rows : Tensor
        First rows with a label, then rows of the sample that follows the population: the unlabeled
        ones in case-control data, all rows in a single sample. Last known negatives, where the
        stage asks for them.
    labeled_rows : Tensor
        Places of the labeled rows among the training rows, for learners that remember something
        of each.
    population_rows : Tensor
        Places of the others.
    draws : mapping of str to Tensor
        This step's part of the random numbers that the stage asked for.
    network : Module
        What is trained.
    """

    rows: Tensor
    labeled_rows: Tensor
    population_rows: Tensor
    draws: Mapping[str, Tensor]
    network: nn.Module

    @property
    def labeled(self) -> Tensor:
        """The rows with a label."""
        return self.rows[: len(self.labeled_rows)]

    @property
    def population(self) -> Tensor:
        """The rows that follow the population."""
        first = len(self.labeled_rows)
        return self.rows[first : first + len(self.population_rows)]

    def scores(self) -> tuple[Tensor, Tensor]:
        """Score both parts in one pass, so that batch statistics are those of both.

        Returns
        -------
        tuple of Tensor
            The scores of the labeled rows, and those of the population.
        """
        labeled, population, _ = self.all_scores()
        return labeled, population

    def all_scores(self) -> tuple[Tensor, Tensor, Tensor]:
        """Score all three parts in one pass.

        Returns
        -------
        tuple of Tensor
            The scores of the labeled rows, of the population, and of the known negatives.
        """
        together = scores_of(self.network, self.rows)
        sizes = [len(self.labeled_rows), len(self.population_rows)]
        sizes.append(len(self.rows) - sum(sizes))
        # Gradients of a split are joined at once, those of slices by many small kernels.
        labeled, population, negative = together.split(sizes)
        return labeled, population, negative


@dataclass(frozen=True)
class Turn:
    """One update of weights within a step: what is minimized, and by changing whom.

    Attributes
    ----------
    loss : callable
        As that of a :class:`Stage`.
    learning_rate, weight_decay : float
        Of the optimizer.
    betas : tuple of float
        Of Adam.
    networks : tuple of str, optional
        What is changed, by the names of the learner's networks; by default all of them.
    """

    loss: Callable[[Batch], Tensor]
    learning_rate: float
    weight_decay: float
    betas: tuple[float, float] = (0.9, 0.999)
    networks: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Stage:
    """A part of the training with a loss and an optimizer of its own.

    Parameters
    ----------
    loss : callable
        Takes a :class:`Batch`, returns the number to minimize. It must not look at values on the
        way (no ``if`` on a tensor), so that it can be recorded once and replayed on a GPU.
    epochs : int
        Passes over the population.
    learning_rate : float
        Step size of the optimizer, which is new in each stage.
    weight_decay : float
        Penalty of the optimizer on large weights.
    schedule : callable, optional
        Factor on the learning rate, from the share of the stage that is done. By default 1.
    draws : mapping of str to callable, optional
        Random numbers that the loss needs: each takes a generator, the number of steps and the
        size of a population batch, and returns an array with one entry per step. By default none.
    before_epoch : callable, optional
        Called with the number of the epoch, the network in evaluation mode.
    after_epoch : callable, optional
        Called likewise, when the steps are done and before the weights are judged.
    selectable : bool, default=True
        Whether weights of this stage may be the ones that are kept.
    betas : tuple of float, default=(0.9, 0.999)
        The two rates of decay of Adam's running means.
    pooled : bool, default=False
        Draw labeled and unlabeled rows from one urn, as a batch's population; its labeled part is
        empty then.
    unlabeled : bool, default=False
        Take unlabeled rows alone for a batch's population, also in a single sample.
    negatives : bool, default=False
        Add known negatives to each batch, if there are any.
    labeled_batch : int, optional
        Labeled rows per step, in place of the learner's; repeated where there are fewer.
    batch_size : int, optional
        Rows of the population per step, in place of the learner's.
    steps : int, optional
        Steps per epoch, in place of one pass or of the learner's least number.
    judge : callable, optional
        Says how good the weights are after an epoch, the higher the better. The stage ends when
        that has not risen for five epochs, and the next one starts from the best.
    patience : int, optional
        Epochs without improvement after which the stage ends, in place of the learner's.
    from_best : bool, default=False
        Begin with the best weights so far instead of the last.
    renewed : bool, default=False
        Begin each epoch with a new optimizer.
    reordered : bool, default=False
        Give the loss ``draws["order"]``, a random order of the batch's rows, labeled ones first.
    networks : tuple of str, optional
        What is changed, by the names of the learner's networks; by default all of them.
    further : tuple of Turn, default=()
        What else is done in each step, on the same batch, one after the other: an adversary's
        move, say.
    after_step : callable, optional
        Called at the end of each step, without gradients, to keep averages of weights. It is
        recorded with the step.
    """

    loss: Callable[[Batch], Tensor]
    epochs: int
    learning_rate: float
    weight_decay: float
    schedule: Callable[[float], float] = lambda done: 1.0
    draws: Mapping[str, Callable[[np.random.Generator, int, int], Any]] = field(
        default_factory=dict
    )
    before_epoch: Callable[[int], None] | None = None
    after_epoch: Callable[[int], None] | None = None
    selectable: bool = True
    betas: tuple[float, float] = (0.9, 0.999)
    pooled: bool = False
    unlabeled: bool = False
    negatives: bool = False
    labeled_batch: int | None = None
    batch_size: int | None = None
    steps: int | None = None
    judge: Callable[[], float] | None = None
    patience: int | None = None
    from_best: bool = False
    renewed: bool = False
    reordered: bool = False
    networks: tuple[str, ...] | None = None
    further: tuple[Turn, ...] = ()
    after_step: Callable[[], None] | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All that is done in a step."""
        first = Turn(self.loss, self.learning_rate, self.weight_decay, self.betas, self.networks)
        return (first, *self.further)


def cosine(last: float) -> Callable[[float], float]:
    """Return a schedule that falls from 1 to ``last`` along half a wave."""
    return lambda done: last + (1 - last) * (1 + math.cos(math.pi * done)) / 2


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a fit on the device that computes.

    ``labeled`` and ``population`` are places of the rows to train on; ``held_labeled`` and
    ``held_population`` those of the rows to stop by, empty where there are too few labels.
    ``negative`` and ``held_negative`` are places of known negatives, which are rows of the
    population too in a single sample. ``weights`` says what each row counts, if not all count
    alike; a row to stop by comes as often as that.
    """

    X: Tensor
    labeled: Tensor
    population: Tensor
    held_labeled: Tensor
    held_population: Tensor
    negative: Tensor | None = None
    held_negative: Tensor | None = None
    weights: FloatArray | None = None

    def as_often(self, places: Tensor) -> Tensor:
        """Return places, each as often as its row counts."""
        return as_often(places, self.weights)

    @property
    def n_held_negative(self) -> int:
        """How many known negatives there are to stop by."""
        return 0 if self.held_negative is None else len(self.held_negative)

    def share_of_known(self, pi: float | None) -> float:
        """Return how much the risk with known negatives counts, by the rows to train on."""
        if self.negative is None or pi is None:
            return 0.0
        parts = (self.labeled, self.population, self.negative)
        if self.weights is None:
            return share_of_known(pi, *map(len, parts))
        return share_of_known(
            pi, *(float(self.weights[part.cpu().numpy()].sum()) for part in parts)
        )

    @property
    def everything(self) -> Tensor:
        """Places of all rows to train on, labeled or not."""
        import torch

        places: Tensor = torch.unique(torch.cat([self.labeled, self.population]))
        return places

    @property
    def unlabeled(self) -> Tensor:
        """Places of the rows to train on that have no label."""
        return self.population[~self.has_label[self.population]]

    @property
    def held_unlabeled(self) -> Tensor:
        """Places of the held-out rows that have no label."""
        return self.held_population[~self.has_label[self.held_population]]

    @property
    def has_label(self) -> Tensor:
        """Whether each row, held out or not, is labeled."""
        import torch

        mask = torch.zeros(len(self.X), dtype=torch.bool, device=self.X.device)
        mask[torch.cat([self.labeled, self.held_labeled])] = True
        return mask


class Epoch:
    """Steps over one pass of the population, recorded as a graph where the device can."""

    def __init__(self, learner: TorchPULearner, stage: Stage, rows: TrainingRows) -> None:
        import torch

        self.learner, self.stage, self.rows = learner, stage, rows
        population = rows.everything if stage.pooled else rows.population
        if stage.unlabeled:
            population = rows.unlabeled
        negative = rows.negative if stage.negatives else None
        self.labeled, self.population = rows.labeled.cpu().numpy(), population.cpu().numpy()
        self.negative = self.labeled[:0] if negative is None else negative.cpu().numpy()
        n_labeled, n_population = self._number(self.labeled), self._number(self.population)
        self.batch = min(int(stage.batch_size or learner.batch_size), n_population)
        self.steps = stage.steps or max(n_population // self.batch, int(learner.least_steps))
        share = n_labeled / n_population
        wanted = learner.labeled_batch or max(LEAST_LABELED_BATCH, round(share * self.batch))
        wanted = stage.labeled_batch or min(int(wanted), n_labeled)
        self.labeled_batch = 0 if stage.pooled else wanted
        n_negative = self._number(self.negative)
        wanted = max(LEAST_LABELED_BATCH, round(n_negative / n_population * self.batch))
        self.negative_batch = min(wanted, n_negative)
        self.device, self.layout = rows.X.device, layout_of(rows.X)
        on_gpu = self.device.type == "cuda"
        self.rates = [torch.tensor(turn.learning_rate, device=self.device) for turn in stage.turns]
        self.optimizers = [
            _optimizer(learner, turn, rate if on_gpu else None)
            for turn, rate in zip(stage.turns, self.rates, strict=True)
        ]
        self.inputs: dict[str, Tensor] = {}
        self.step = torch.zeros((), dtype=torch.long, device=self.device)
        self.losses = torch.zeros(self.steps, device=self.device)
        self.graph: Any = None
        self.can_record = on_gpu

    def _number(self, places: NDArray[np.intp]) -> int:
        """Return how many rows there are, or how many they count as."""
        if self.rows.weights is None:
            return len(places)
        count = round(float(self.rows.weights[places].sum()))
        return max(min(count, LONGEST_PASS * len(places)), min(len(places), 1))

    def _dealt(
        self, rng: np.random.Generator, places: NDArray[np.intp], batch: int
    ) -> NDArray[np.intp]:
        """Deal rows to the batches of an epoch, in proportion to what they count."""
        weights = some_weights(self.rows.weights, places)
        return places[in_turns(rng, len(places), self.steps, batch, weights)]

    def run(self, rng: np.random.Generator, factor: float) -> float:
        """Train for one pass; return the mean loss."""
        self._set_rates(factor)
        if self.stage.renewed:
            zero_moments(self.optimizers)
        self._refill(rng)
        self.step.zero_()
        if self.can_record and self.graph is None:
            self._record()
        for _ in range(self.steps):
            if self.graph is not None:
                self.graph.replay()
            else:
                self._one_step()
        loss = float(self.losses.mean())
        if not math.isfinite(loss):
            raise InvalidInputError(
                f"{type(self.learner).__name__}.fit lost its way: the loss is {loss}. Take a "
                f"smaller learning_rate, or scale the features."
            )
        return loss

    def _set_rates(self, factor: float) -> None:
        turns = zip(self.stage.turns, self.rates, self.optimizers, strict=True)
        for turn, rate, optimizer in turns:
            rate.fill_(turn.learning_rate * factor)
            if self.device.type != "cuda":
                for group in optimizer.param_groups:
                    group["lr"] = turn.learning_rate * factor

    def _refill(self, rng: np.random.Generator) -> None:
        """Draw the batches and random numbers of an epoch, into the same memory each time."""
        import torch

        parts = [
            self._dealt(rng, self.labeled, self.labeled_batch),
            self._dealt(rng, self.population, self.batch),
        ]
        if self.negative_batch:
            parts.append(self._dealt(rng, self.negative, self.negative_batch))
        drawn: dict[str, Any] = {"rows": np.hstack(parts)}
        if self.stage.reordered:
            places = np.arange(self.labeled_batch + self.batch)
            drawn["draw order"] = rng.permuted(np.tile(places, (self.steps, 1)), axis=1)
        for name, draw in self.stage.draws.items():
            drawn[f"draw {name}"] = draw(rng, self.steps, self.batch)
        for name, values in drawn.items():
            array = np.asarray(values)
            kind = np.float32 if array.dtype.kind == "f" else np.int64
            tensor = torch.as_tensor(array.astype(kind))
            if name in self.inputs:
                self.inputs[name].copy_(tensor)
            else:
                self.inputs[name] = tensor.to(self.device)

    def _one_step(self) -> None:
        import torch

        # Every number here stays on the device, so that the step can be recorded.
        now = {
            name: torch.index_select(part, 0, self.step.view(1))[0]
            for name, part in self.inputs.items()
        }
        batch = Batch(
            self._gathered(now["rows"]),
            now["rows"][: self.labeled_batch],
            now["rows"][self.labeled_batch : self.labeled_batch + self.batch],
            {name[5:]: part for name, part in now.items() if name.startswith("draw ")},
            self.learner.network_,
        )
        for place, (turn, optimizer) in enumerate(
            zip(self.stage.turns, self.optimizers, strict=True)
        ):
            optimizer.zero_grad(set_to_none=True)
            loss = turn.loss(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if place == 0:
                self.losses.index_copy_(0, self.step.view(1), loss.detach().view(1))
        if self.stage.after_step is not None:
            with torch.no_grad():
                self.stage.after_step()
        self.step.add_(1)

    def _gathered(self, places: Tensor) -> Tensor:
        return self.rows.X[places].contiguous(memory_format=self.layout)

    def _record(self) -> None:
        """Record one step as a CUDA graph; where that fails, go on without."""
        import torch

        kept = Snapshot(self.learner._trained(), self.optimizers, self.learner._memory)
        randomness = torch.cuda.get_rng_state(self.device)
        try:
            stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self._one_step()
                    self.step.zero_()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._one_step()
            self.graph = graph
        except (RuntimeError, NotImplementedError):
            torch.cuda.synchronize()
            self.can_record = False
        kept.restore()
        torch.cuda.set_rng_state(randomness, self.device)
        self.step.zero_()


class Snapshot:
    """Weights, memory and optimizers as they were, to undo the steps that warm a recording up."""

    def __init__(
        self,
        network: nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        memory: dict[str, Tensor],
    ) -> None:
        self.network, self.optimizers, self.memory = network, optimizers, memory
        self.weights = copy.deepcopy(network.state_dict())
        self.remembered = {name: tensor.clone() for name, tensor in memory.items()}

    def restore(self) -> None:
        """Put all but the moments back, which become zero, in the same memory."""
        self.network.load_state_dict(self.weights)
        for name, tensor in self.remembered.items():
            self.memory[name].copy_(tensor)
        zero_moments(self.optimizers)


def zero_moments(optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """Make the moments of optimizers zero, as those of new ones, in the same memory."""
    import torch

    states = [state for optimizer in optimizers for state in optimizer.state.values()]
    for value in (value for state in states for value in state.values()):
        if isinstance(value, torch.Tensor):
            value.zero_()


def _optimizer(learner: TorchPULearner, turn: Turn, rate: Tensor | None) -> torch.optim.Optimizer:
    """Return an optimizer for a turn; a rate on the device can change in a recording."""
    import torch

    networks = learner._networks()
    weights = [
        weight
        for name in turn.networks or networks
        for weight in networks[name].parameters()
        if weight.requires_grad
    ]
    options: dict[str, Any] = {
        "lr": turn.learning_rate if rate is None else rate,
        "weight_decay": turn.weight_decay,
    }
    groups: list[dict[str, Any]] = [{"params": weights}]
    if learner.spares_biases:
        spared = [weight for weight in weights if weight.dim() < 2]
        groups = [{"params": [weight for weight in weights if weight.dim() >= 2]}]
        groups.append({"params": spared, "weight_decay": 0.0})
    if learner.optimizer == "sgd":
        # Only the fused form leaves a rate on the device where it is.
        options["fused"] = None if rate is None else True
        return torch.optim.SGD(groups, momentum=0.9, nesterov=learner.nesterov, **options)
    return torch.optim.Adam(
        groups, betas=turn.betas, fused=True, capturable=rate is not None, **options
    )


def in_turns(
    rng: np.random.Generator,
    n: int,
    steps: int,
    batch: int,
    weights: FloatArray | None = None,
) -> NDArray[np.int_]:
    """Deal n places into batches, all of them once before any comes again.

    With weights each place comes as often as it counts before the next turn.
    """
    if weights is None:
        turns = [rng.permutation(n) for _ in range(-(-steps * batch // n))]
    else:
        turns, missing = [], steps * batch
        while missing > 0:
            turn = urn(weights, rng)
            turns.append(turn[rng.permutation(len(turn))])
            missing -= len(turn)
    return np.concatenate([*turns, np.empty(0, int)])[: steps * batch].reshape(steps, batch)


def scored_at_once(X: Any) -> int:
    """Say how many rows are scored at once; of large images fewer, of which much more is made."""
    return min(trained_at_once(X.shape[1:]), SCORED_AT_ONCE)


def trained_at_once(shape: tuple[int, ...]) -> int:
    """Say how many rows of a shape a step may have, so that it does not fill a GPU."""
    return max(VALUES_AT_ONCE // math.prod(shape), 1)


def in_parts(X: Tensor, places: Tensor) -> Iterator[Tensor]:
    """Yield the rows at some places, as many as are scored at once."""
    import torch

    chunks: Any = torch.split(places, scored_at_once(X))
    return (X[chunk] for chunk in chunks)


def layout_of(rows: Tensor) -> Any:
    """Channels last for images: convolutions and pooling are faster so, by half and more.

    Small grey images on a GPU are the exception: their network is faster by a tenth without.
    """
    import torch

    if rows.dim() != 4:
        return torch.contiguous_format
    return torch.contiguous_format if small_and_grey(rows) and rows.is_cuda else torch.channels_last
