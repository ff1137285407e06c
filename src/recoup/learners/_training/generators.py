"""What VAE-PU and CGenPU share: networks that make rows, and that judge them, by shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from recoup._core.constraints import Constraints, WholeNumber
from recoup.learners._training.loop import TorchPULearner
from recoup.learners._training.networks import Shape
from recoup.learners._training.stages import TrainingRows, layout_of

if TYPE_CHECKING:
    from torch import Tensor, nn

# Smaller images are vectors to a network, and halving ends at about this size.
SMALLEST_SIDE, LAST_SIDE = 16, 8
FIRST_CHANNELS, MOST_CHANNELS = 32, 256


def reading_network(
    shape: Shape,
    n_outputs: int,
    widths: tuple[int, ...],
    *,
    slope: float = 0.0,
    normalized: bool = False,
    dropout: float = 0.0,
) -> nn.Module:
    """Build what turns rows into some numbers each: an encoder, or a discriminator.

    Parameters
    ----------
    shape : tuple of int
        Of a row.
    n_outputs : int
        Numbers per row.
    widths : tuple of int
        Hidden layers. Images of 16 by 16 or more are halved by convolutions in their place, and
        the last width follows.
    slope : float
        Of the activation below zero.
    normalized : bool
        Whether batches are normalized in each layer.
    dropout : float
        After each activation.
    """
    from torch import nn

    layers: list[nn.Module] = []
    if is_image(shape):
        channels, size = shape[0], shape[1:]
        for place in range(_halvings(shape)):
            wide = min(FIRST_CHANNELS * 2**place, MOST_CHANNELS)
            layers.append(nn.Conv2d(channels, wide, 3, 2, 1, bias=not normalized))
            layers += [nn.BatchNorm2d(wide)] if normalized else []
            layers += _activation(slope, dropout)
            channels, size = wide, _halved(size)
        inner, widths = channels * math.prod(size), widths[-1:]
    else:
        inner = math.prod(shape)
    layers += [nn.Flatten(), *_dense((inner, *widths), normalized, slope, dropout)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_outputs))


def writing_network(
    n_inputs: int,
    shape: Shape,
    widths: tuple[int, ...],
    *,
    slope: float = 0.0,
    normalized: bool = False,
) -> nn.Module:
    """Build what turns some numbers each into rows: a decoder, or a generator.

    The outputs have no bounds. The parameters are those of :func:`reading_network`, which this is
    the way back of; images grow from the first width.
    """
    from torch import nn

    if not is_image(shape):
        return nn.Sequential(
            *_dense((n_inputs, *widths), normalized, slope),
            nn.Linear(widths[-1], math.prod(shape)),
            nn.Unflatten(1, shape),
        )
    halvings = _halvings(shape)
    sizes = [shape[1:]]
    for _ in range(halvings):
        sizes.append(_halved(sizes[-1]))
    channels = min(FIRST_CHANNELS * 2 ** (halvings - 1), MOST_CHANNELS)
    inner = channels * math.prod(sizes[-1])
    layers = _dense((n_inputs, widths[0], inner), normalized, slope)
    layers.append(nn.Unflatten(1, (channels, *sizes[-1])))
    for place, size in enumerate(reversed(sizes[:-1])):
        wide = min(FIRST_CHANNELS * 2 ** (halvings - 1 - place), MOST_CHANNELS)
        layers += [nn.Upsample(size=size), nn.Conv2d(channels, wide, 3, padding=1)]
        layers += [nn.BatchNorm2d(wide)] if normalized else []
        layers += _activation(slope)
        channels = wide
    return nn.Sequential(*layers, nn.Conv2d(channels, shape[0], 3, padding=1))


def is_image(shape: Shape) -> bool:
    """Say whether rows of a shape are large enough for convolutions."""
    return len(shape) == 3 and min(shape[1:]) >= SMALLEST_SIDE


def _halvings(shape: Shape) -> int:
    return max(1, math.ceil(math.log2(max(shape[1:]) / LAST_SIDE)))


def _halved(size: Shape) -> Shape:
    return tuple(-(-side // 2) for side in size)


def _activation(slope: float, dropout: float = 0.0) -> list[nn.Module]:
    from torch import nn

    return [nn.LeakyReLU(slope), *([nn.Dropout(dropout)] if dropout else [])]


def _dense(
    widths: tuple[int, ...], normalized: bool, slope: float, dropout: float = 0.0
) -> list[nn.Module]:
    from torch import nn

    layers: list[nn.Module] = []
    for width, following in pairwise(widths):
        layers.append(nn.Linear(width, following))
        layers += [nn.BatchNorm1d(following)] if normalized else []
        layers += _activation(slope, dropout)
    return layers


@contextmanager
def frozen(*networks: nn.Module) -> Iterator[None]:
    """Use networks in evaluation mode and give them no gradients, which still pass through."""
    were = [(network, network.training) for network in networks]
    weights = [weight for network in networks for weight in network.parameters()]
    learned = [weight.requires_grad for weight in weights]
    for network in networks:
        network.eval().requires_grad_(False)
    try:
        yield
    finally:
        for network, training in were:
            network.train(training)
        for weight, needed in zip(weights, learned, strict=True):
            weight.requires_grad_(needed)


@dataclass(kw_only=True, eq=False, repr=False)
class GeneratingLearner(TorchPULearner):
    """Base of learners that make rows with networks beside the one that classifies.

    Parameters
    ----------
    least_steps : int, default=50
        Steps of an epoch where a pass over the unlabeled rows has fewer.
    hidden_units : int, default=500
        Width of the hidden layers of the networks beside the classifier.

    Attributes
    ----------
    low_, high_ : float or None
        Bounds of what is made: those of the training rows for images, None for vectors.
    """

    constraints: ClassVar[Constraints] = {
        "least_steps": WholeNumber(),
        "hidden_units": WholeNumber(),
    }
    # Names of the attributes beside network_ that _new_part builds.
    parts: ClassVar[tuple[str, ...]]

    least_steps: int = 50
    hidden_units: int = 500

    low_: float | None = field(init=False, repr=False)
    high_: float | None = field(init=False, repr=False)

    def _networks(self) -> dict[str, nn.Module]:
        return {name: getattr(self, name) for name in ("network_", *self.parts)}

    def _prepare(self, rows: TrainingRows) -> None:
        for name in self.parts:
            if not (self.warm_start and hasattr(self, name)):
                setattr(self, name, self._new_part(name, f"{type(self).__name__}.fit"))
            getattr(self, name).to(rows.X.device, memory_format=layout_of(rows.X))
        self.low_, self.high_ = None, None
        if len(self.shape_) == 3:
            self.low_, self.high_ = float(rows.X.min()), float(rows.X.max())
            # Images of one color have no range to map to.
            self.high_ += self.high_ == self.low_

    def _within(self, outputs: Tensor) -> Tensor:
        """Bring what a network wrote to the bounds of the rows, if they have some."""
        if self.low_ is None or self.high_ is None:
            return outputs
        return self.low_ + (self.high_ - self.low_) * outputs.sigmoid()

    def _steps(self, rows: TrainingRows) -> int:
        n = len(rows.unlabeled)
        return max(self.least_steps, n // min(self.batch_size, n))
