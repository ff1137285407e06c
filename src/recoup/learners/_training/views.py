"""Changed copies of rows that keep their class: weak views, and strong ones.

All of it is computed where the rows are, with numbers drawn by torch and no look at values, so that
it can be part of a recorded step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor

# Of vectors: noise in units of a feature's standard deviation, and the share of lost features.
WEAK_NOISE, STRONG_NOISE, LOST = 0.02, 0.1, 0.1
# Of images: how far a crop may move, as a share of the side.
MARGIN = 0.125
# What a strong view does to an image; the first ones change pixels, the others their places.
PIXEL_CHANGES = ("contrast to the full", "darken", "grey", "flatten", "posterize", "blur", "invert")
PLACE_CHANGES = ("rotate", "shear x", "shear y", "move x", "move y")
CHANGES = (*PIXEL_CHANGES, *PLACE_CHANGES, "nothing")
LARGEST_ANGLE, LARGEST_SHEAR, LARGEST_MOVE = math.radians(30), 0.3, 0.3
# Where columns that look like categories are searched for.
ROWS_LOOKED_AT, WIDEST_BLOCK = 4096, 64


class Views(Protocol):
    """What makes views of a batch of rows."""

    def weak(self, rows: Tensor) -> Tensor:
        """Return rows that are almost the same."""

    def strong(self, rows: Tensor) -> Tensor:
        """Return rows that are only just of the same class."""


def views_of(
    X: Tensor,
    *,
    flip: bool | None = None,
    changes: int = 2,
    chance: float = 0.5,
    hole_varies: bool = False,
) -> Views:
    """Return what makes views of rows like some.

    Parameters
    ----------
    X : Tensor
        Rows to train on: (n, channels, height, width) for images, else vectors.
    flip : bool, optional
        Whether an image's mirror image is of the same class. By default where there are colors:
        grey images may be digits or letters.
    changes, chance : int, float
        How many changes a strong view of an image gets, each with that chance.
    hole_varies : bool
        Whether the hole in a strong view of an image is of any size up to half of the side, or
        always half of it.
    """
    if X.dim() == 4:
        mirrored = X.shape[1] == 3 if flip is None else flip
        return ImageViews(float(X.min()), float(X.max()), mirrored, changes, chance, hole_varies)
    spread = X.std(0, correction=0)
    blocks = one_hot_blocks(X) if X.dim() == 2 else None
    if blocks is not None:
        spread = spread * (blocks < 0)
    norms = X.flatten(1).norm(dim=1)
    unit = bool(((norms - 1).abs() < 1e-3).all())
    return VectorViews(spread, X.mean(0), blocks, unit)


@dataclass(frozen=True)
class VectorViews:
    """Views of vectors: noise, and lost features in strong ones.

    Attributes
    ----------
    spread, center : Tensor
        Standard deviation and mean of each feature; lost features get the mean.
    blocks : Tensor, optional
        For each feature the number of the category that it is a level of, or -1. Levels get no
        noise; strong views take a share of the categories from other rows.
    unit : bool
        Whether rows have length 1, which views then have too.
    """

    spread: Tensor
    center: Tensor
    blocks: Tensor | None
    unit: bool

    def weak(self, rows: Tensor) -> Tensor:
        """Add a little noise."""
        return self._scaled(self._noisy(rows, WEAK_NOISE))

    def strong(self, rows: Tensor) -> Tensor:
        """Add noise, and lose a tenth of the features."""
        import torch

        noisy = self._noisy(rows, STRONG_NOISE)
        changed = torch.where(torch.rand_like(rows) < LOST, self.center, noisy)
        if self.blocks is not None:
            n, of_category = len(rows), self.blocks.clamp(min=0)
            chances = torch.rand(n, len(self.blocks), device=rows.device)
            # All levels of a category look at the number of the first one.
            redrawn = chances[:, of_category] < LOST
            others = rows[torch.randint(n, (n,), device=rows.device)]
            levels = torch.where(redrawn, others, rows)
            changed = torch.where(self.blocks >= 0, levels, changed)
        return self._scaled(changed)

    def _noisy(self, rows: Tensor, size: float) -> Tensor:
        import torch

        return rows + size * self.spread * torch.randn_like(rows)

    def _scaled(self, rows: Tensor) -> Tensor:
        from torch.nn.functional import normalize

        return normalize(rows.flatten(1)).reshape(rows.shape) if self.unit else rows


def one_hot_blocks(X: Tensor) -> Tensor | None:
    """Find groups of neighboring columns of which each row has exactly one.

    Returns
    -------
    Tensor of int or None
        For each column the number of its group, -1 for those in none; None if there is no group.
    """
    import torch

    X = X[:: max(1, len(X) // ROWS_LOOKED_AT)]
    lowest, highest = X.amin(0), X.amax(0)
    at_top = highest == X
    hot = (at_top & (highest > lowest)).cpu()
    two_values = (at_top | (lowest == X)).all(0).tolist()
    blocks = torch.full((X.shape[1],), -1)
    found = start = 0
    while start < len(two_values):
        end = _end_of_block(hot, two_values, start)
        if end is not None:
            blocks[start:end] = found
            found += 1
        start = start + 1 if end is None else end
    return blocks.to(X.device) if found else None


def _end_of_block(hot: Tensor, two_values: list[bool], start: int) -> int | None:
    import torch

    covered = torch.zeros(len(hot), dtype=torch.bool)
    for place in range(start, min(start + WIDEST_BLOCK, len(two_values))):
        column = hot[:, place]
        if not two_values[place] or bool((covered & column).any()):
            return None
        covered = covered | column
        if place > start and bool(covered.all()):
            return place + 1
    return None


@dataclass(frozen=True)
class ImageViews:
    """Views of images: mirrored and moved; strong ones also changed at random, with a hole.

    The changes are those of RandAugment as FixMatch uses it, with magnitudes from 1 to 9 of 10, on
    values between any two ends in place of bytes, and without histogram equalization. What comes
    from outside the image is its lowest value.
    """

    low: float
    high: float
    flip: bool
    changes: int
    chance: float
    hole_varies: bool

    def weak(self, rows: Tensor) -> Tensor:
        """Mirror half of the images if that is allowed, and move all by up to an eighth."""
        import torch
        from torch.nn.functional import pad

        n, _, height, width = rows.shape
        if self.flip:
            mirrored = torch.rand(n, 1, 1, 1, device=rows.device) < 0.5
            rows = torch.where(mirrored, rows.flip(-1), rows)
        down, right = round(MARGIN * height), round(MARGIN * width)
        padded = pad(rows, (right, right, down, down), mode="reflect")
        top = torch.randint(2 * down + 1, (n, 1), device=rows.device)
        left = torch.randint(2 * right + 1, (n, 1), device=rows.device)
        lines = top + torch.arange(height, device=rows.device)
        columns = left + torch.arange(width, device=rows.device)
        which = torch.arange(n, device=rows.device)[:, None, None]
        # The axis of the channels comes last, which is also how convolutions like it.
        return padded[which, :, lines[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)

    def strong(self, rows: Tensor) -> Tensor:
        """Change weak views at random, and cut a hole."""
        import torch
        from torch.nn.functional import affine_grid, grid_sample

        values = (self.weak(rows) - self.low) / max(self.high - self.low, 1e-12)
        n, device = len(rows), rows.device
        places = torch.eye(3, device=device).expand(n, 3, 3)
        for _ in range(self.changes):
            kind = torch.randint(len(CHANGES), (n,), device=device)
            applied = torch.rand(n, device=device) < self.chance
            kind = torch.where(applied, kind, CHANGES.index("nothing"))
            size = torch.randint(1, 10, (n,), device=device) / 10
            values = _pixels_changed(values, kind, size)
            sign = 2.0 * torch.randint(2, (n,), device=device) - 1
            places = places @ _moved(kind, sign * size, rows.shape[2] / rows.shape[3])
        grid = affine_grid(places[:, :2], list(values.shape), align_corners=False)
        values = grid_sample(values, grid, align_corners=False)
        return self._with_hole(values) * (self.high - self.low) + self.low

    def _with_hole(self, values: Tensor) -> Tensor:
        import torch

        n, _, height, width = values.shape
        device = values.device
        side = torch.full((n, 1), min(height, width) / 2, device=device)
        if self.hole_varies:
            side = side * torch.rand(n, 1, device=device)

        def inside(length: int) -> Tensor:
            center = length * torch.rand(n, 1, device=device)
            return (torch.arange(length, device=device) + 0.5 - center).abs() < side / 2

        hole = inside(height)[:, None, :, None] & inside(width)[:, None, None, :]
        return torch.where(hole, 0.5, values)


def _pixels_changed(values: Tensor, kind: Tensor, size: Tensor) -> Tensor:
    """Apply to each image the change of pixels that it drew, if any; values are from 0 to 1."""
    import torch
    from torch.nn.functional import avg_pool2d

    kind, size = kind[:, None, None, None], size[:, None, None, None]
    # PIL's enhancers keep this share of the image and take the rest from a duller one.
    share = 0.05 + 0.9 * size
    lowest, highest = values.amin((2, 3), keepdim=True), values.amax((2, 3), keepdim=True)
    step = 2 ** (4 - torch.floor(4 * size)) / 255
    # Neighbors count once, and the pixel itself five times.
    smooth = (9 * avg_pool2d(values, 3, 1, 1, count_include_pad=False) + 4 * values) / 13
    made = {
        "contrast to the full": (values - lowest) / (highest - lowest).clamp(min=1e-6),
        "darken": share * values,
        "grey": share * values + (1 - share) * values.mean(1, keepdim=True),
        "flatten": share * values + (1 - share) * values.mean((1, 2, 3), keepdim=True),
        "posterize": torch.floor(values / step) * step,
        "blur": share * values + (1 - share) * smooth,
        "invert": torch.where(values >= 1 - size, 1 - values, values),
    }
    for number, name in enumerate(PIXEL_CHANGES):
        values = torch.where(kind == number, made[name], values)
    return values


def _moved(kind: Tensor, size: Tensor, ratio: float) -> Tensor:
    """Return for each image the map of places that it drew; ``ratio`` is height over width."""
    import torch

    def drawn(name: str, most: float) -> Tensor:
        return most * size * (kind == CHANGES.index(name))

    angle = drawn("rotate", LARGEST_ANGLE)
    one, zero = torch.ones_like(size), torch.zeros_like(size)
    # Places go from -1 to 1, so that a move by a share of the side counts twice.
    x = (
        angle.cos(),
        drawn("shear x", LARGEST_SHEAR) - ratio * angle.sin(),
        2 * drawn("move x", LARGEST_MOVE),
    )
    y = (
        drawn("shear y", LARGEST_SHEAR) + angle.sin() / ratio,
        angle.cos(),
        2 * drawn("move y", LARGEST_MOVE),
    )
    return torch.stack([*x, *y, zero, zero, one], dim=1).reshape(-1, 3, 3)
