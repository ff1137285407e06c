"""What a classifier said: score tables, and out-of-fold splits that respect PU data."""

from recoup.scores.crossfit import CrossfitScores, crossfit
from recoup.scores.folds import PUStratifiedKFold
from recoup.scores.grouped import GroupedTable
from recoup.scores.table import ScoreTable

__all__ = ["CrossfitScores", "GroupedTable", "PUStratifiedKFold", "ScoreTable", "crossfit"]
