r"""The rows of every group by score, and what all rows together say of each group.

If a score means the same in all groups, positives among rows of score x are the share q(x)
everywhere, and only how many of them were labeled differs: :math:`c_g`. Then an unlabeled row of
group g is positive with chance

.. math:: p_g(x) = \frac{q(x)(1 - c_g)}{1 - c_g q(x)}

q and all c are found in turn (EM). Their common scale is that of the pooled alpha.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recoup._core.checks import FloatArray, Scheme
from recoup.scores.grouped import GroupedTable

ROUNDS, SETTLED = 20, 1e-4
# A center that is noisier than this, on the logit scale, says nothing.
MOST_NOISE = 4.0
# Expected positives that stand behind the common label frequency, in groups with few of them.
LABEL_WEIGHT = 10.0
# Bins of scores: as many as memory allows, but enough for ranks.
MOST_BINS, FEWEST_BINS, CELLS = 4096, 256, 2**20


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Rows of every group, in bins of the score that all groups share.

    Attributes
    ----------
    scores : ndarray of shape (n_bins,)
        Lowest score of each bin, ascending.
    labeled, unlabeled, negative : ndarray of shape (n_groups, n_bins)
        Rows of each kind, by ascending score.
    scheme : {"single-sample", "case-control"}
        Whether the judged population is all rows, or the unlabeled rows alone.
    first_above : int
        First bin that is predicted positive.
    """

    scores: FloatArray
    labeled: FloatArray
    unlabeled: FloatArray
    negative: FloatArray
    scheme: Scheme
    first_above: int

    @classmethod
    def of(cls, table: GroupedTable, scheme: Scheme, threshold: float) -> GroupRows:
        """Count the rows of a table, exactly at the threshold."""
        bins = int(np.clip(CELLS // len(table.groups), FEWEST_BINS, MOST_BINS))
        edges = table.pooled.thin(bins, (threshold,)).scores
        labeled, unlabeled, negative = table.binned(edges)
        first = int(np.searchsorted(edges, threshold, side="left"))
        return cls(edges, labeled, unlabeled, negative, scheme, first)

    @property
    def others(self) -> FloatArray:
        """Rows that count as unlabeled: in a single sample with the known negatives."""
        if self.scheme == "case-control":
            return self.unlabeled
        total: FloatArray = self.unlabeled + self.negative
        return total

    @property
    def n_labeled(self) -> FloatArray:
        """Labeled rows of each group."""
        total: FloatArray = self.labeled.sum(axis=1)
        return total

    @property
    def n_unlabeled(self) -> FloatArray:
        """Unlabeled rows of each group."""
        total: FloatArray = self.unlabeled.sum(axis=1)
        return total

    @property
    def n_others(self) -> FloatArray:
        """Rows of each group that count as unlabeled."""
        total: FloatArray = self.others.sum(axis=1)
        return total

    @property
    def n_judged(self) -> FloatArray:
        """Rows of the judged population in each group."""
        return self.n_others + (self.n_labeled if self.scheme == "single-sample" else 0.0)

    def above(self, rows: FloatArray) -> FloatArray:
        """Rows of each group that are predicted positive."""
        total: FloatArray = rows[..., self.first_above :].sum(axis=-1)
        return total


@dataclass(frozen=True, eq=False)
class SharedPosterior:
    """What the scores say of each group, if they mean the same in all of them.

    Attributes
    ----------
    alpha : ndarray of shape (n_groups,)
        Share of positives among the unlabeled rows.
    alpha_noise : ndarray of shape (n_groups,)
        Variance of its logarithm of odds: it is a mean over the rows of the group.
    positives : ndarray of shape (n_groups, n_bins)
        Expected positives among the unlabeled rows at each score. Labeled rows are left out: what
        they show of a group is set against this, and must not be in both.
    chance : ndarray of shape (n_groups, n_bins)
        Chance that an unlabeled row is positive.
    """

    alpha: FloatArray
    alpha_noise: FloatArray
    positives: FloatArray
    chance: FloatArray

    def noise_of(self, values: FloatArray, mean: FloatArray) -> FloatArray:
        """Variance, on the logit scale, of the mean of values over the expected positives.

        Parameters
        ----------
        values : ndarray of shape (n_groups, n_bins) or (n_bins,)
            Value of a positive at each score.
        mean : ndarray of shape (n_groups,)
            Their mean.

        Returns
        -------
        ndarray of shape (n_groups,)
        """
        # One row more, half at either end, leaves room for what few rows do not show.
        total = self.positives.sum(axis=1) + 1
        squared = (self.positives * self.chance * (values - mean[:, None]) ** 2).sum(axis=1)
        inside = np.clip(mean * (1 - mean), 1e-4, None)
        found: FloatArray = (squared + inside) / (total * inside) ** 2
        return found


def shared_posterior(rows: GroupRows, alpha: float) -> SharedPosterior:
    """Find the share of positives at each score, and the share of them labeled in each group.

    Parameters
    ----------
    rows : GroupRows
        Rows of every group.
    alpha : float
        Share of positives among all unlabeled rows.

    Returns
    -------
    SharedPosterior
    """
    labeled, unlabeled = rows.labeled, rows.unlabeled
    everyone = labeled + unlabeled + rows.negative
    n_labeled, n_unlabeled = rows.n_labeled, rows.n_unlabeled
    at_score = everyone.sum(axis=0)
    wanted = n_labeled.sum() + alpha * n_unlabeled.sum()
    common = float(n_labeled.sum() / max(wanted, 1e-12))
    frequency = np.full(len(labeled), common)
    # To begin with, positives lie along the scores as labeled rows do.
    share = _rising(labeled.sum(axis=0) / max(common, 1e-12), at_score)
    chance = np.zeros_like(unlabeled)
    for _ in range(ROUNDS):
        hit = frequency[:, None]
        chance = share * (1 - hit) / np.maximum(1 - hit * share, 1e-12)
        hidden = unlabeled * chance
        found = (n_labeled + LABEL_WEIGHT * common) / (
            n_labeled + hidden.sum(axis=1) + LABEL_WEIGHT
        )
        before, frequency = frequency, np.clip(found, 1e-9, 1 - 1e-9)
        share = _rising(labeled.sum(axis=0) + hidden.sum(axis=0), at_score)
        # Labels do not tell the scale: it is held.
        total = float(share @ at_score)
        if total > 0:
            share = np.minimum(share * wanted / total, 1.0)
        if np.abs(frequency - before).max() < SETTLED:
            break
    mean = np.divide(
        (unlabeled * chance).sum(axis=1),
        n_unlabeled,
        out=np.full(len(labeled), alpha),
        where=n_unlabeled > 0,
    )
    mean = np.clip(mean, 1e-6, 1 - 1e-6)
    squared = (unlabeled * (chance - mean[:, None]) ** 2).sum(axis=1)
    noise = (squared + mean * (1 - mean)) / (n_unlabeled + 1) ** 2 / (mean * (1 - mean)) ** 2
    return SharedPosterior(mean, np.minimum(noise, MOST_NOISE), unlabeled * chance, chance)


def _rising(positives: FloatArray, rows: FloatArray) -> FloatArray:
    from scipy.optimize import isotonic_regression

    share = np.divide(positives, rows, out=np.zeros_like(rows), where=rows > 0)
    rising = isotonic_regression(share, weights=np.maximum(rows, 1e-9)).x
    found: FloatArray = np.clip(rising, 0.0, 1.0)
    return found


def shares_below(rows: FloatArray) -> FloatArray:
    """Share of the rows of each group below each score, half of those at it; one half without."""
    total = rows.sum(axis=-1, keepdims=True)
    below = np.cumsum(rows, axis=-1) - rows / 2
    found: FloatArray = np.divide(below, total, out=np.full_like(rows, 0.5), where=total > 0)
    return found


def ranked_higher(positives: FloatArray, others: FloatArray) -> FloatArray:
    """Chance that a row of the first kind scores higher than one of the second, by group."""
    total = positives.sum(axis=-1)
    wins = (positives * shares_below(others)).sum(axis=-1)
    found: FloatArray = np.divide(wins, total, out=np.full_like(total, 0.5), where=total > 0)
    return found


def observed_auc(rows: GroupRows) -> tuple[FloatArray, FloatArray]:
    """AUC of labeled against other rows in each group, with DeLong's standard error.

    The error is as if one more labeled and one more other row had been seen that scores do not tell
    apart: without them few rows in perfect order would have none.
    """
    labeled, others = rows.labeled, rows.others
    sizes = rows.n_labeled, rows.n_others
    # Not all of the way to 1, which has no logit.
    room = 1 / (2 * (sizes[0] + 1))
    value = np.clip(ranked_higher(labeled, others), room, 1 - room)
    variance = np.zeros_like(value)
    places = shares_below(others), 1 - shares_below(labeled)
    for mass, place, size in zip((labeled, others), places, sizes, strict=True):
        spread = (mass * (place - value[:, None]) ** 2).sum(axis=1) + (0.5 - value) ** 2
        variance += spread / ((size + 1) * np.maximum(size, 1))
    return value, np.sqrt(variance)
