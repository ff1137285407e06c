"""What features and scores say about how labels came about, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.metrics.area import auc_pu
from recoup.priors._solvers.groups import group_tables
from recoup.priors._solvers.leaves import around_means, telling_columns
from recoup.priors.kinds import Divisions, Kinds, find_kinds
from recoup.priors.pulscar import matched_densities
from recoup.priors.share_net import LEVELS, summary
from recoup.priors.tilted_labels import find_tilt
from recoup.scores.table import ScoreTable

SEEN = (0, 2, 4, 6, 8)
# Which levels of the ranking are read, of the 20 that ShareNet reads.
READ_LEVELS = (0, 4, 8, 12, 15, 19)
N_BINS = 24
# Label shares of places, as parts of that of the most labeled ones.
PARTS = (0.03, 0.1, 0.2, 0.4, 0.7)
PLACE_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Where some readings of alpha stand: ShareNet's limits, its median and the joint share with one
# kind; PULSCAR's sum and the joint share of the finest kinds, PULSCAR's sum over the mixture; sums
# of ShareNet's medians for 8, 4 and 2 kinds and for the mixture; the tilted model; unlabeled rows
# in places with some labels, and with many.
LOW, WHOLE, HIGH = 0, 2, 4
JOINT_WHOLE, MATCHED, JOINT, MATCHED_MIXTURE = 6, 7, 8, 9
SUMS = (11, 22, 33, 44)
TILTED, PLACES_LOW, PLACES_MIDDLE, PLACES_HIGH = 105, 112, 114, 116
# An error that no agreement of readings rules out.
LEAST_SCALE = 0.03


@dataclass(frozen=True, eq=False)
class Readings:
    """All that is read from labels and features.

    Parameters
    ----------
    divisions : Divisions
        Kinds of labeled rows.
    values : ndarray of shape (n_readings,)
        The numbers; what comes from an estimate for random labels is not among them.
    """

    divisions: Divisions
    values: FloatArray


def read_labels(scaled: FloatArray, s: NDArray[np.int_], seed: int) -> Readings:
    """Divide labeled rows into kinds, and read rates, overlaps, rankings and tilts.

    Parameters
    ----------
    scaled : ndarray of shape (n, d)
        Standardized features.
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    seed : int
        Seed of everything random.
    """
    divisions = find_kinds(scaled, s, seed)
    score = 1 - divisions.whole.chances[:, 0]
    table = ScoreTable.from_arrays(s, score)
    finest = divisions.steps[0]
    parts = [
        evened(divisions.whole.shares[0, list(SEEN)]),
        [_matched(divisions.whole, s), joint_share(divisions.whole, s, seed)],
        [_matched(finest, s), joint_share(finest, s, seed), _matched(divisions.mixture, s)],
        *(_of_kinds(kinds, score[s == 1]) for kinds in (*divisions.steps, divisions.mixture)),
        _of_ranking(table),
        _of_tilt(scaled, s),
        _of_places(scaled, s, seed),
        [
            np.log(np.clip(table.n_labeled, 20, 10_000)),
            np.log(np.clip(table.n_unlabeled, 100, 20_000)),
            np.log(table.n_labeled / table.n_unlabeled),
            np.log(np.clip(scaled.shape[1], 2, 200)),
        ],
    ]
    return Readings(divisions, np.concatenate([np.asarray(part, float) for part in parts]))


@dataclass(frozen=True, eq=False)
class Asked:
    """What is asked of problems of known truth: inputs, and what their answer is relative to.

    Parameters
    ----------
    inputs : ndarray of shape (n_inputs,)
        Alpha if labels are random, readings, how they differ, center and scale.
    center : float
        The mean of three readings of alpha, stretched: one for random labels, two for kinds.
    scale : float
        How far readings are apart. Where they agree, alpha is not far from them.
    """

    inputs: FloatArray
    center: float
    scale: float


def question(random: float, values: FloatArray) -> Asked:
    """Put alpha for random labels, evened, and the readings into the form of a question."""
    sums = values[list(SUMS)]
    center = (random + sums[-1] + values[JOINT]) / 3
    several = [random, values[WHOLE], values[JOINT_WHOLE], values[JOINT], *sums[1:]]
    scale = LEAST_SCALE + float(np.std(several)) + 0.3 * (values[HIGH] - values[LOW])
    others = [WHOLE, JOINT_WHOLE, JOINT, MATCHED_MIXTURE, *SUMS, TILTED, PLACES_LOW, PLACES_MIDDLE]
    more = [
        sums[0] - sums[2],
        values[JOINT] - values[JOINT_WHOLE],
        sums[3] - values[JOINT],
        values[PLACES_HIGH] - values[PLACES_LOW],
    ]
    parts: list[Any] = [[random], values, values[others] - random, more, [center, scale]]
    # Trees compare in single precision.
    inputs = np.concatenate(parts).astype(np.float32).astype(np.float64)
    return Asked(inputs, float(center), float(scale))


def evened(share: FloatArray | float) -> FloatArray:
    """Map a share to a scale on which errors near 0 and 1 count as much as elsewhere."""
    scaled: FloatArray = 2 / np.pi * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0)))
    return scaled


def shares_of(values: FloatArray) -> FloatArray:
    """Map back to shares."""
    found: FloatArray = np.sin(np.pi / 2 * np.clip(values, 0.0, 1.0)) ** 2
    return found


def joint_share(kinds: Kinds, s: NDArray[np.int_], seed: int) -> float:
    r"""Return the largest share of all kinds together that fits below the unlabeled rows.

    Kinds that overlap are not counted twice: with :math:`p_{kb}` the share of kind k in bin b and
    :math:`u_b` that of the unlabeled rows, :math:`\max \sum_k a_k` where
    :math:`\sum_k a_k p_{kb} \le u_b` but for one standard error.
    """
    from scipy.optimize import linprog

    rows = np.sqrt(kinds.chances[:, 1:])
    some = min(N_BINS, len(np.unique(np.round(rows, 6), axis=0)))
    bins = around_means(rows, some, 1, 20, seed)
    labeled = np.array(
        [
            np.bincount(bins[s == 1][kinds.groups == k], minlength=some) / kinds.sizes[k]
            for k in range(kinds.number)
        ]
    )
    counts = np.bincount(bins[s == 0], minlength=some)
    limits = (counts + np.sqrt(counts + 1.0)) / kinds.n_unlabeled
    found = linprog(-np.ones(kinds.number), labeled.T, limits, bounds=(0, 1), method="highs")
    return 1.0 if found.fun is None else float(evened(-found.fun))


def _matched(kinds: Kinds, s: NDArray[np.int_]) -> float:
    """Sum of what PULSCAR finds for each kind."""
    tables = group_tables(kinds.chances, s, kinds.groups)
    return float(evened(sum(np.clip(matched_densities(t).alpha, 0, 1) for t in tables)))


def _of_kinds(kinds: Kinds, score: FloatArray) -> FloatArray:
    """Return sums of shares, and how much and where label frequencies differ."""
    sums = evened(kinds.shares[:, [3, 4, 5]].sum(axis=0))
    rates, weights = kinds.log_rates, 1 / kinds.variances
    share = kinds.sizes / kinds.sizes.sum()
    center = weights @ rates / weights.sum()
    statistic = float(weights @ (rates - center) ** 2)
    spread = np.sqrt(share @ (rates - share @ rates) ** 2)
    scale = max(float(weights.sum() - (weights**2).sum() / weights.sum()), 1e-9)
    excess = max(statistic - kinds.number + 1, 0.0) / scale if kinds.number > 1 else 0.0
    clear = np.array([score[kinds.groups == k].mean() for k in range(kinds.number)])
    apart = clear - share @ clear
    along = float(share @ (apart * (rates - share @ rates)))
    width = float(np.sqrt(share @ apart**2))
    return np.array(
        [
            *sums,
            np.log(kinds.number),
            center,
            spread,
            float(np.ptp(rates)),
            np.log1p(statistic / max(kinds.number - 1, 1)),
            min(np.sqrt(excess), 3.0),
            along / max(width, 1e-3),
            width,
        ]
    )


def _of_ranking(table: ScoreTable) -> FloatArray:
    auc = auc_pu(table)
    curves = summary(table)[: 8 * len(LEVELS)].reshape(8, len(LEVELS))
    return np.concatenate(
        [[auc, np.log(max(auc - 0.5, 0.01))], curves[:, list(READ_LEVELS)].ravel()]
    )


def _of_tilt(scaled: FloatArray, s: NDArray[np.int_]) -> FloatArray:
    tilt = find_tilt(scaled, s)
    return np.array(
        [np.arctan(tilt.strength), float(evened(tilt.alpha)), np.log1p(max(tilt.gain, 0.0))]
    )


def _of_places(scaled: FloatArray, s: NDArray[np.int_], seed: int) -> FloatArray:
    """Label shares of clusters of all rows: random labels share one rate, or none at all."""
    columns = telling_columns(scaled, s)
    rows = scaled[:, columns.chosen] * columns.weights
    number = min(N_BINS, len(rows) // 20)
    place = around_means(rows, number, 1, 30, seed)
    labeled, unlabeled = (np.bincount(place[s == k], minlength=number) for k in (1, 0))
    share = labeled / np.maximum(labeled + unlabeled, 1)
    order = np.argsort(share)
    passed = np.cumsum(labeled[order]) / labeled.sum()
    quantiles = share[order][np.searchsorted(passed, PLACE_QUANTILES)]
    above = [
        float(unlabeled[share > part * quantiles[-1]].sum() / unlabeled.sum()) for part in PARTS
    ]
    return np.array([*np.log(quantiles), *evened(np.array(above))])
