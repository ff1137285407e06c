"""Where networks are trained, and how: the device, its products of matrices, its random numbers."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from recoup._core.checks import brief
from recoup.exceptions import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


def usable_device(wanted: str, caller: str) -> torch.device:
    """Return the device that was asked for, or say why it cannot be used."""
    import torch

    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise InvalidInputError(
            f"{caller} cannot compute on the device {brief(wanted)!r}: "
            f"{brief(str(error).splitlines()[0], 200)} Take 'cpu' or 'auto'."
        ) from error
    return device


@contextmanager
def fast_products(device: torch.device) -> Iterator[None]:
    """Let a GPU round what goes into products of matrices, as it does in convolutions anyway."""
    import torch

    before = torch.get_float32_matmul_precision()
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for a fit, and leave everybody else's random numbers as they were."""
    import torch

    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
