"""ShareNet: read the share from the whole ranking, as a network learned from simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recoup._core.checks import FloatArray
from recoup._core.constraints import Constraints
from recoup.priors._solvers.network import load_network
from recoup.priors.base import DRAWING_ROWS, Finding, PriorTags, ScorePriorEstimator, interval_by
from recoup.priors.results import PriorCurve
from recoup.scores.table import ScoreTable

# Shares of one sample, from the top of the ranking and from its bottom.
LEVELS = np.geomspace(0.004, 0.5, 20)
QUANTILES = (0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975)
# Sizes that the network has seen; beyond them it is asked as if at the border.
LABELED_RANGE, UNLABELED_RANGE = (30.0, 20_000.0), (100.0, 200_000.0)


@dataclass(kw_only=True, eq=False, repr=False)
class ShareNet(ScorePriorEstimator):
    r"""Quantiles of the identifiable share, by a network that has seen millions of mixtures.

    The input is how the ranking runs through both samples: which share of the unlabeled rows lies
    above each share of the labeled ones, and the other way round, at either end. So any
    increasing map of the scores gives the same answer. The network was trained on simulated pairs
    of distributions of many families, overlaps, sizes and ties, to give the quantiles of

    .. math:: \kappa = \inf f / g,

    the largest share of the unlabeled rows (density f) that can be distributed as the labeled ones
    (density g). That is alpha where labels are clean and some rows are certainly positive; no
    method can find more from scores alone.

    Parameters
    ----------
    transform : {"auto", "logistic", "boosting", "forest"}, classifier or None, default="auto"
        How ``fit`` turns features into scores. Every row is scored by a classifier that was
        fitted on other rows. ``"auto"`` takes logistic regression, or boosted trees if they tell
        labeled from unlabeled rows significantly better. None: X is one column of scores.
        ``fit_scores`` does not use it.
    interval : {"network", "subsample", "bootstrap", "refit"} or None, default="network"
        How the interval around alpha is made. ``"network"`` takes the quantiles that the network
        gives. The others draw rows: ``"subsample"`` fewer rows without replacement,
        ``"bootstrap"`` as many with replacement, ``"refit"`` with the classifier fitted anew.
        None: no interval.
    n_draws : int, default=200
        How many times rows are drawn for the interval. More draws make it steadier and slower.
    confidence : float, default=0.95
        Level of the interval, between 0 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed of everything random. The same number gives the same estimate.

    Attributes
    ----------
    estimate_ : PriorEstimate
        The result: alpha, its interval, and reasons to doubt it.
    alpha_ : float
        The estimated share of positives among the unlabeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(4000) < 0.3
    >>> s = np.repeat([1, 0], [500, 4000])
    >>> scores = np.append(rng.normal(3, 1, 500), rng.normal(3.0 * positive, 1))
    >>> ShareNet().fit_scores(s, scores).alpha_
    0.29
    """

    tags: ClassVar[PriorTags] = PriorTags(
        key="share-net",
        reads="scores",
        assumes="some scores are reached by positives alone",
        cost="n log n",
        source="this package",
    )
    constraints: ClassVar[Constraints] = {"interval": interval_by("network", *DRAWING_ROWS)}

    interval: str | None = "network"

    def _solve(self, table: ScoreTable, rng: np.random.Generator) -> Finding:
        quantiles = share_quantiles(table)
        curve = PriorCurve(
            x=quantiles,
            lines={"probability that the share is below": np.array(QUANTILES)},
            x_label="share of the unlabeled rows distributed as the labeled ones",
            y_label="probability",
            marker=float(quantiles[4]),
        )
        return Finding(
            float(quantiles[4]),
            curve=curve,
            kappa_1=float(quantiles[4]),
            draws=draws_between(quantiles, QUANTILES, self.n_draws),
        )


def share_quantiles(table: ScoreTable) -> FloatArray:
    """Return the network's quantiles of kappa for one table."""
    # The network answers on the scale 2/pi arcsin(sqrt(share)); quantiles of a network may cross.
    answers = load_network("share_net")(summary(table)[None])[0]
    return np.sort(np.sin(np.pi / 2 * np.clip(answers, 0.0, 1.0)) ** 2)


def draws_between(
    values: FloatArray, levels: tuple[float, ...], n_draws: int, top: float = 0.995
) -> FloatArray:
    """Spread draws evenly over a distribution that is known by some quantiles.

    Beyond the outermost quantiles it goes on as far as the last two lie apart.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Quantiles, ascending.
    levels : tuple of float
        Their levels.
    n_draws : int
        How many values to return.
    top : float, default=0.995
        No value is larger.

    Returns
    -------
    ndarray of shape (n_draws,)
    """
    spread = (np.arange(n_draws) + 0.5) / n_draws
    ends = (
        max(values[0] - (values[1] - values[0]), 0.0),
        min(values[-1] + (values[-1] - values[-2]), top),
    )
    drawn: FloatArray = np.interp(
        spread, np.concatenate([[0.0], levels, [1.0]]), np.concatenate([ends[:1], values, ends[1:]])
    )
    return np.minimum(drawn, top)


def summary(table: ScoreTable) -> FloatArray:
    """Describe a ranking by a fixed number of log ratios, whatever the scale of the scores."""
    labeled, unlabeled = (
        np.append(0.0, np.cumsum(column[::-1], dtype=float))
        for column in (table.labeled, table.unlabeled)
    )
    n_labeled, n_unlabeled = labeled[-1], unlabeled[-1]
    parts = []
    for from_top in (True, False):
        ends = [labeled, unlabeled]
        if not from_top:
            ends = [(counts[-1] - counts)[::-1] for counts in ends]
        for along, other in (ends, ends[::-1]):
            reached = _reached(along, other, LEVELS * along[-1])
            parts.append(_log_share(reached, other[-1]) - np.log(LEVELS))
            steps, widths = np.diff(reached, prepend=0.0), np.diff(LEVELS, prepend=0.0)
            parts.append(np.log((steps + 0.5) / (widths * other[-1] + 0.5)))
    sizes = [
        np.log(np.clip(n_labeled, *LABELED_RANGE)),
        np.log(np.clip(n_unlabeled, *UNLABELED_RANGE)),
    ]
    return np.concatenate([*parts, sizes])


def _log_share(count: FloatArray, total: float) -> FloatArray:
    # Half a row more, so that no row at all has a logarithm too.
    share: FloatArray = np.log((count + 0.5) / (total + 1.0))
    return share


def _reached(along: FloatArray, other: FloatArray, goals: FloatArray) -> FloatArray:
    """Rows of one sample passed when the goals in the other are reached; ties are passed evenly."""
    # A goal that is reached exactly, but for rounding, must not skip to the next score.
    after = np.searchsorted(along[1:], goals - 1e-9) + 1
    width = along[after] - along[after - 1]
    inside = (goals - along[after - 1]) / width
    reached: FloatArray = other[after - 1] + inside * (other[after] - other[after - 1])
    return reached
