"""Mixtures of rows, or of what a network makes of them at one of its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recoup.exceptions import InvalidInputError
from recoup.learners._training.networks import rounded_products, scores_of

if TYPE_CHECKING:
    from torch import Tensor, nn


def mixing_layer(network: nn.Module, place: int | None, images: bool, caller: str) -> Any:
    """Return the layer whose input is to be mixed, or None for the rows themselves.

    Parameters
    ----------
    network : Module
        Its layers with weights, linear and convolutional ones, in the order of their definition
        are what is counted.
    place : int, optional
        -1 for the rows, k for what layer k, from 0, and what follows it hand on to layer k + 1.
        By default -1 for vectors, and the last convolution for images.
    images : bool
        Whether rows are images.
    caller : str
        For the message where there is no such layer.
    """
    from torch import nn

    convolutions = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    layers = [part for part in network.modules() if isinstance(part, (nn.Linear, *convolutions))]
    if place is None:
        last = [k for k, layer in enumerate(layers[:-1]) if isinstance(layer, convolutions)]
        place = last[-1] if images and last else -1
    if place == -1:
        return None
    if not 0 <= place < len(layers) - 1:
        raise InvalidInputError(
            f"{caller} can mix rows (-1) or what comes out of a layer before the last one. Got "
            f"mix_layer={place} for a network of {len(layers)} layers with weights."
        )
    return layers[place + 1]


def mixed_scores(
    network: nn.Module, layer: nn.Module | None, rows: Tensor, others: Tensor, share: Tensor
) -> Tensor:
    """Score mixtures of rows and others, mixed as they are or where a layer takes them in.

    Parameters
    ----------
    network : Module
    layer : Module or None
        From :func:`mixing_layer`.
    rows, others : Tensor
        As many of the one as of the other.
    share : Tensor
        Weight of ``rows``.
    """
    import torch

    if layer is None:
        scores: Tensor = scores_of(network, share * rows + (1 - share) * others)
        return scores

    def mix(_: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        first, second = inputs[0].chunk(2)
        return (share * first + (1 - share) * second, *inputs[1:])

    hook = layer.register_forward_pre_hook(mix)
    try:
        with rounded_products(rows):
            both = network(torch.cat([rows, others]))
    finally:
        hook.remove()
    found: Tensor = both.reshape(len(rows)).to(rows.dtype)
    return found
