"""Which rows train and which stop, and what scores at some places say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray, Scheme
from recoup.learners._training.row_weights import urn
from recoup.metrics.area import auc_pu
from recoup.scores.table import ScoreTable

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def places_of(
    s: NDArray[np.int_],
    held: NDArray[np.bool_],
    scheme: Scheme,
    device: torch.device,
    weights: FloatArray | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the places of labeled and of population rows, to train on and to stop by.

    Last come those of known negatives, likewise.
    """
    import torch

    population = np.ones(len(s), bool) if scheme == "single-sample" else s == 0

    def places(kind: NDArray[np.bool_], stop: bool) -> Tensor:
        found = torch.as_tensor(np.flatnonzero(kind & (held == stop)), device=device)
        return as_often(found, weights) if stop else found

    return (
        places(s == 1, False),
        places(population, False),
        places(s == 1, True),
        places(population, True),
        places(s == -1, False),
        places(s == -1, True),
    )


def as_often(places: Tensor, weights: FloatArray | None) -> Tensor:
    """Return places, each as often as its row counts, in their order."""
    import torch

    if weights is None or not len(places):
        return places
    often = urn(weights[places.cpu().numpy()])
    return places[torch.as_tensor(often, device=places.device)]


def share_threshold(scores: Tensor, share: float) -> float:
    """Return what a share of the scores exceeds: half way between the last in and the first out."""
    import torch

    ordered = torch.sort(scores).values
    n = len(ordered)
    above = min(max(round(share * n), 1), n - 1)
    return float((ordered[n - above - 1].double() + ordered[n - above].double()) / 2)


def auc_of_parts(labeled: Tensor, population: Tensor) -> float:
    """Return the AUC of labeled rows against the population, from the scores of both."""
    scores = np.concatenate([labeled.cpu().numpy(), population.cpu().numpy()])
    s = np.repeat([1, 0], [len(labeled), len(population)])
    return auc_pu(ScoreTable.from_arrays(s, scores))
