"""Which ways of computing make an epoch of the small networks faster on a GPU?

    python -m tools.speed.gpu_ways
    python -m tools.speed.gpu_ways cifar10 --ways bfloat16 "single precision"

nnPU with the settings of PU-Bench, on made-up rows of the shapes of MNIST, CIFAR-10, the Alzheimer
slices and Connect-4; the fastest epoch after the first. Ways that are not recoup's are put in place
for the time of a fit.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np

EPOCHS = 4
# Shape of a row, rows, labels.
ROWS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "mnist": ((1, 28, 28), 62_000, 2_900),
    "cifar10": ((3, 32, 32), 20_600, 792),
    "alzheimer": ((1, 128, 128), 5_323, 255),
    "connect4": ((126,), 57_000, 3_522),
}


@contextmanager
def layout(name: str) -> Iterator[None]:
    """Lay images out in one way."""
    import torch

    from recoup.learners._training import loop, stages

    def chosen(rows: Any) -> Any:
        return getattr(torch, name) if rows.dim() == 4 else torch.contiguous_format

    with (
        mock.patch.object(stages, "layout_of", chosen),
        mock.patch.object(loop, "layout_of", chosen),
    ):
        yield


@contextmanager
def searched() -> Iterator[None]:
    """Let cuDNN try its kernels and take the fastest."""
    import torch

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


@contextmanager
def plain_products() -> Iterator[None]:
    """Leave products of matrices in full single precision."""
    import torch

    with mock.patch.object(torch, "set_float32_matmul_precision", return_value=None):
        yield


@contextmanager
def products(rounded: bool) -> Iterator[None]:
    """Round what networks multiply to bfloat16 for all rows, or for none."""
    import torch

    from recoup.learners._training import networks

    def chosen(rows: Any) -> Any:
        return torch.autocast("cuda", torch.bfloat16, enabled=rounded, cache_enabled=False)

    with mock.patch.object(networks, "rounded_products", chosen):
        yield


@contextmanager
def patches() -> Iterator[None]:
    """Convolve by one product of matrices, with a row for each patch of each image."""
    from torch import nn
    from torch.nn.functional import linear

    plain = nn.Conv2d.forward

    def forward(layer: Any, rows: Any) -> Any:
        if layer.padding != (0, 0) or layer.stride != (1, 1):
            return plain(layer, rows)
        height, width = layer.kernel_size
        found = rows.unfold(2, height, 1).unfold(3, width, 1).permute(0, 2, 3, 1, 4, 5)
        flat = found.reshape(-1, layer.in_channels * height * width)
        products = linear(flat, layer.weight.flatten(1), layer.bias)
        return products.view(*found.shape[:3], -1).permute(0, 3, 1, 2)

    with mock.patch.object(nn.Conv2d, "forward", forward):
        yield


WAYS: dict[str, Callable[[], Any]] = {
    "as it is": ExitStack,
    "full precision in products": plain_products,
    "cuDNN searches": searched,
    "channels last": lambda: layout("channels_last"),
    "channels first": lambda: layout("contiguous_format"),
    "bfloat16": lambda: products(rounded=True),
    "single precision": lambda: products(rounded=False),
    "patches": patches,
}


def seconds(name: str) -> float:
    """Return the fastest epoch of a fit, after the first, in which steps are recorded."""
    from recoup import learners

    shape, n, n_labeled = ROWS[name]
    X = np.random.default_rng(0).standard_normal((n, *shape), dtype=np.float32)
    learner = learners.make(
        "nnpu",
        preset="pubench",
        alpha=0.5,
        scheme="case-control",
        device="cuda",
        progress=False,
        validation_fraction=0.0,
        epochs=EPOCHS,
        random_state=0,
    ).fit(X, (np.arange(n) < n_labeled).astype(int))
    return float(min(epoch["seconds"] for epoch in learner.history_[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help="by default all of them")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    asked = parser.parse_args()
    for name in asked.rows or ROWS:
        usual = None
        for way in asked.ways:
            with WAYS[way]():
                took = seconds(name)
            usual = usual or took
            print(f"{name:10} {way:27} {took:.4f} s, {took / usual:.2f} times", flush=True)


if __name__ == "__main__":
    main()
