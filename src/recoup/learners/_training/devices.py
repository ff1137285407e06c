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
def one_order_of_sums(device: torch.device, shape: tuple[int, ...]) -> Iterator[None]:
    """Compute in one thread where rows are vectors on a CPU, and let others be as they were.

    Threads share out the sums in products of matrices, so that their number would change the last
    bits of a step, and training what comes after it. Networks for vectors are too small to gain
    from threads; images are not, and theirs may depend on the number.
    """
    import torch
    from threadpoolctl import threadpool_limits

    if device.type != "cpu" or len(shape) != 1:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def own_randomness(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch for a fit, and leave everybody else's random numbers as they were."""
    import torch

    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
