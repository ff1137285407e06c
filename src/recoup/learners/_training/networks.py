"""Networks with one output, chosen by the shape of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from torch import Tensor, nn

Shape: TypeAlias = tuple[int, ...]
# Takes the shape of one row, returns a module that turns n rows into n scores.
Factory: TypeAlias = "Callable[[Shape], nn.Module]"

# The longest side of an image that is worked on by a network for small ones.
SMALL_SIDE = 32


def mlp(shape: Shape) -> nn.Module:
    """Four hidden layers for vectors (PU-Bench, Table D.2)."""
    from torch import nn

    widths = (prod(shape), 512, 256, 128, 64)
    layers: list[nn.Module] = [nn.Flatten()]
    for place, (width, following) in enumerate(pairwise(widths)):
        layers += [nn.Linear(width, following), nn.ReLU()]
        if place < 3:
            layers.append(nn.Dropout((0.3, 0.3, 0.2)[place]))
    return nn.Sequential(*layers, nn.Linear(widths[-1], 1))


def lenet(shape: Shape) -> nn.Module:
    """Two convolutions for small grey images such as MNIST's (PU-Bench, Table D.3)."""
    from torch import nn

    channels, height, width = shape
    # Each convolution takes four from a side, and pooling halves what is left.
    inner = 20 * prod(((side - 4) // 2 - 4) // 2 for side in (height, width))
    return nn.Sequential(
        *(nn.Conv2d(channels, 10, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(inner, 50), nn.ReLU(), nn.Linear(50, 1)),
    )


def cifar_cnn(shape: Shape) -> nn.Module:
    """Six convolutions for small color images such as CIFAR-10's (PU-Bench, Table D.4)."""
    from torch import nn

    channels, height, width = shape
    layers: list[nn.Module] = []
    plan = ((96, 1), (96, 1), (96, 2), (192, 1), (192, 1), (192, 2))
    for place, (wide, stride) in enumerate(plan):
        layers += normalized(nn.Conv2d(channels, wide, 3, stride, 1, bias=False))
        channels = wide
        if stride == 2:
            layers.append(nn.Dropout(0.2 if place < 3 else 0.5))
    inner = 192 * -(-height // 4) * -(-width // 4)
    return nn.Sequential(
        *layers,
        *(nn.Flatten(), nn.Linear(inner, 1000), nn.ReLU(), nn.Dropout(0.5)),
        *(nn.Linear(1000, 1000), nn.ReLU(), nn.Linear(1000, 1)),
    )


def normalized(convolution: nn.Conv2d) -> list[nn.Module]:
    """Follow a convolution by normalization over a batch, and ReLU.

    It needs no bias: what it added, normalization would take off again, and its gradient, which is
    nothing but rounding, would cost a fifth of a step.
    """
    from torch import nn

    return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU()]


def mri_cnn(shape: Shape) -> nn.Module:
    """Eight convolutions and a global mean, for images of any size (PU-Bench, Table D.5)."""
    from torch import nn

    channels = shape[0]
    layers: list[nn.Module] = []
    for wide, share in ((32, 0.1), (64, 0.1), (128, 0.2), (256, 0.3)):
        for before in (channels, wide):
            layers += normalized(nn.Conv2d(before, wide, 3, 1, 1, bias=False))
        layers += [nn.MaxPool2d(2), nn.Dropout(share)]
        channels = wide
    return nn.Sequential(
        *layers,
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 64), nn.ReLU()),
        *(nn.Dropout(0.3), nn.Linear(64, 1)),
    )


NETWORKS: dict[str, Factory] = {
    "mlp": mlp,
    "lenet": lenet,
    "cifar-cnn": cifar_cnn,
    "mri-cnn": mri_cnn,
}


def network_for(shape: Shape, wanted: str | Factory | None, caller: str) -> nn.Module:
    """Build the network that was asked for, or the one that suits rows of a shape."""
    if wanted is None:
        wanted = _by_shape(shape)
    if isinstance(wanted, str):
        if wanted != "mlp" and len(shape) != 3:
            raise InvalidInputError(
                f"{caller} needs rows of channels, height and width for the network {wanted!r}. "
                f"Got rows of shape {shape}. Take 'mlp'."
            )
        return NETWORKS[wanted](shape)
    return wanted(shape)


def _by_shape(shape: Shape) -> Factory:
    if len(shape) != 3 or min(shape[1:]) < 16:
        return mlp
    if max(shape[1:]) > SMALL_SIDE:
        return mri_cnn
    return lenet if shape[0] == 1 else cifar_cnn


def scores_of(network: Any, rows: Any) -> Any:
    """Run rows through a network; one score each."""
    with rounded_products(rows):
        scores = network(rows)
    return scores.reshape(len(rows)).to(rows.dtype)


def small_and_grey(rows: Any) -> bool:
    """Say whether rows are images for which a network of two convolutions is enough."""
    return bool(rows.dim() == 4 and rows.shape[1] == 1 and max(rows.shape[2:]) <= SMALL_SIDE)


@contextmanager
def rounded_products(rows: Any) -> Iterator[None]:
    """Let a GPU round to bfloat16 what it multiplies, for large images and those in color.

    Weights, sums and statistics of batches stay in single precision. Networks of many convolutions
    take less than half the time then, those of few gain nothing.
    """
    from torch import autocast, bfloat16

    many = rows.is_cuda and rows.dim() == 4 and not small_and_grey(rows)
    # What was rounded for one step must not serve the next one, nor outlive a recording.
    with autocast("cuda", bfloat16, enabled=many, cache_enabled=False):
        yield


def last_layer(network: nn.Module, caller: str) -> nn.Linear:
    """Return the layer of a network that turns features into the score."""
    from torch import nn

    layers = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    if not layers or layers[-1].out_features != 1:
        raise InvalidInputError(
            f"{caller} needs a network that ends with a linear layer of one output, to take "
            f"features from what goes in. Got {brief(type(network).__name__)}. Take "
            f"network='mlp', or end yours with torch.nn.Linear(width, 1)."
        )
    return layers[-1]


def with_features(network: nn.Module, last: nn.Linear, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Run rows through a network; return what goes into its last layer, and the scores."""
    caught: list[Tensor] = []
    hook = last.register_forward_pre_hook(lambda _, inputs: caught.append(inputs[0]))
    try:
        scores = scores_of(network, rows)
    finally:
        hook.remove()
    return caught[-1].reshape(len(rows), -1).to(scores.dtype), scores


@contextmanager
def statistics_kept(network: nn.Module) -> Iterator[None]:
    """Leave the running means of batch normalization as they are, in training mode too."""
    from torch.nn.modules.batchnorm import _BatchNorm

    layers = [layer for layer in network.modules() if isinstance(layer, _BatchNorm)]
    momenta = [layer.momentum for layer in layers]
    for layer in layers:
        layer.momentum = 0.0
    try:
        yield
    finally:
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
