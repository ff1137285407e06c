"""Features by contrast: near to their twins and partners, and grouped by k-means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

# k-means looks at this many rows per cluster at most.
ROWS_PER_CLUSTER, RESTARTS, ITERATIONS = 256, 5, 20


def contrastive_losses(
    weak: Tensor, strong: Tensor, partners: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """Return how far twins are apart, and how far partners are, among all rows of a batch.

    Parameters
    ----------
    weak, strong : Tensor of shape (n, d)
        Two views of the rows, of length 1.
    partners : Tensor of bool, of shape (n, 2n)
        Which of the weak and strong views belong with a weak one. Its twin always does.
    temperature : float
        The lower, the more the nearest ones count.
    """
    import torch

    n = len(weak)
    likeness = weak @ torch.cat([weak, strong]).T / temperature
    itself = torch.eye(n, 2 * n, dtype=torch.bool, device=weak.device)
    twins = itself.roll(n, 1)
    rest = likeness.masked_fill(itself, -math.inf).logsumexp(1, keepdim=True)
    logs = likeness - rest
    chosen = (partners | twins) & ~itself
    instance = -(logs * twins).sum() / n
    return instance, -((logs * chosen).sum(1) / chosen.sum(1)).mean()


def nearest(weak: Tensor, strong: Tensor, count: int) -> Tensor:
    """Mark the views that are nearest to each weak one, which counts itself."""
    import torch

    likeness = weak @ torch.cat([weak, strong]).T
    places = likeness.topk(min(count, likeness.shape[1]), dim=1).indices
    return torch.zeros_like(likeness, dtype=torch.bool).scatter(1, places, True)


def k_means(points: Tensor, clusters: int) -> Tensor:
    """Return the number of each point's cluster, the best of some attempts."""
    import torch
    from torch.nn.functional import one_hot

    def choose(n: int, most: int) -> Tensor:
        return torch.randperm(n, device=points.device)[:most]

    def assigned(rows: Tensor, centers: Tensor) -> tuple[Tensor, Tensor]:
        closeness = rows @ centers.T - (centers**2).sum(1) / 2
        best: Any = closeness.max(1)
        return best.values.sum(), best.indices

    sample = points[choose(len(points), ROWS_PER_CLUSTER * clusters)]
    found: list[tuple[float, Tensor]] = []
    for _ in range(RESTARTS):
        centers = sample[choose(len(sample), clusters)]
        for _ in range(ITERATIONS):
            members = one_hot(assigned(sample, centers)[1], len(centers)).to(sample.dtype)
            sizes = members.sum(0)[:, None]
            means = members.T @ sample / sizes.clamp(min=1)
            # A cluster without members stays where it is.
            centers = torch.where(sizes > 0, means, centers)
        found.append((float(assigned(sample, centers)[0]), centers))
    best = max(found, key=lambda attempt: attempt[0])[1]
    return assigned(points, best)[1]
