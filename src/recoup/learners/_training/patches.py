"""Convolutions of few channels as one product of matrices."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import linear


class PatchConv2d(nn.Conv2d):
    """A convolution with stride 1 and no padding, for few channels.

    On a GPU all patches of all images are laid out as the rows of one matrix: libraries have no
    good kernels for convolutions of one or ten channels, and spend three times as long on them. On
    a CPU it is a plain convolution.
    """

    def forward(self, rows: Tensor) -> Tensor:
        """Apply the filters to images of shape (n, channels, height, width)."""
        if not rows.is_cuda:
            return super().forward(rows)
        height, width = self.kernel_size
        patches = rows.unfold(2, height, 1).unfold(3, width, 1).permute(0, 2, 3, 1, 4, 5)
        n, tall, wide = patches.shape[:3]
        flat = patches.reshape(n * tall * wide, -1)
        found = linear(flat, self.weight.flatten(1), self.bias)
        return found.view(n, tall, wide, -1).permute(0, 3, 1, 2)
