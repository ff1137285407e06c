"""One step by hand: rows that hold their scores, and networks that read them off."""

import torch
from torch import nn

from recoup.learners._training.stages import Batch, TrainingRows

NOTHING = torch.empty(0, dtype=torch.long)


class Column(nn.Module):
    """Scores a row by one of its features."""

    def __init__(self, place=0):
        super().__init__()
        self.place = place

    def forward(self, rows):
        return rows[:, self.place]


def column(*values):
    """Return rows of one feature."""
    return torch.tensor(values, dtype=torch.float64)[:, None]


def columns(*features):
    """Return rows of several features, each given as one sequence."""
    return torch.stack([torch.as_tensor(each, dtype=torch.float64) for each in features], 1)


def batch_of(labeled, population, network=None, **draws):
    """Return a batch of these rows, which are also all rows there are, labeled ones first."""
    n, total = len(labeled), len(labeled) + len(population)
    places = torch.arange(total)
    rows = torch.cat([labeled, population])
    return Batch(rows, places[:n], places[n:], draws, network or Column())


def rows_of(batch):
    """Return the rows of a batch as those of a fit, none of them held out."""
    return TrainingRows(batch.rows, batch.labeled_rows, batch.population_rows, NOTHING, NOTHING)
