"""What the combinations of estimators know about a table of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.metrics.area import auc_pu
from recoup.metrics.feasible import feasible_kappas
from recoup.priors._solvers.resample import exchanged
from recoup.priors.bbe import BBE
from recoup.priors.dedpul import DEDPUL
from recoup.priors.dist_curve import DistCurve
from recoup.priors.elkan_noto import ElkanNotoPrior
from recoup.priors.pulscar import PULSCAR
from recoup.priors.roc_slope import ROCSlope
from recoup.priors.share_net import share_quantiles
from recoup.scores.table import ScoreTable

MEMBERS = ("share-net", "dist-curve", "bbe", "dedpul", "pulscar", "roc-slope", "elkan-noto")
# Which of ShareNet's quantiles the combinations look at; the median is the third of these.
SEEN = (0, 2, 4, 6, 8)
CENTER = SEEN.index(4)
# Where members stand among the inputs: behind ShareNet's quantiles in both directions.
FIRST_MEMBER = 2 * len(SEEN)
# Places nearer to the ends than this count as that, and views that do not separate as if they did
# by a little.
EDGE, LEAST_DISTANCE = 0.002, 0.05


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the combinations know about a table.

    ``kappas`` are ShareNet's quantiles of both kappas, ``inputs`` what every network is asked;
    ``sizes`` and ``limits`` (the most that both kappas can be) are what some are asked beside.
    """

    members: Mapping[str, float]
    kappas: tuple[FloatArray, FloatArray]
    inputs: FloatArray
    sizes: FloatArray
    limits: FloatArray


@dataclass(frozen=True, eq=False)
class Reading:
    """The evidence of one table, or of several views of the same rows and how they are related.

    Of several views, the first table is that of their average. Where rows were scored several
    times, the first time stands here and the others are readings of their own.
    """

    tables: tuple[Evidence, ...]
    relation: FloatArray = field(default_factory=lambda: np.empty(0))
    others: tuple[Reading, ...] = ()


def evidence(table: ScoreTable, rng: np.random.Generator) -> Evidence:
    """Ask all members, in both directions where that tells about wrong labels."""
    reverse = exchanged(table)
    forward, backward = share_quantiles(table), share_quantiles(reverse)
    rules = ElkanNotoPrior(interval=None)._solve(table, rng)
    rule_values = rules.members or {}
    members = {
        "share-net": float(forward[4]),
        "dist-curve": DistCurve()._solve(table, rng).alpha,
        "bbe": BBE()._solve(table, rng).alpha,
        "dedpul": DEDPUL()._solve(table, rng).alpha,
        "pulscar": PULSCAR()._solve(table, rng).alpha,
        "roc-slope": ROCSlope()._solve(table, rng).alpha,
        "elkan-noto": rules.alpha,
    }
    members = {key: float(np.clip(value, 0.0, 1.0)) for key, value in members.items()}
    other_way = [estimator._solve(reverse, rng).alpha for estimator in (BBE(), ROCSlope())]
    auc = auc_pu(table)
    shares = [
        *forward[list(SEEN)],
        *backward[list(SEEN)],
        *members.values(),
        rule_values.get("e1", rules.alpha),
        *other_way,
    ]
    inputs = np.concatenate(
        [
            stretched(np.clip(shares, 0.0, 1.0)),
            [
                auc,
                np.log(max(auc - 0.5, 0.01)),
                np.log(np.clip(table.n_labeled, 40, 5_000)),
                np.log(np.clip(table.n_unlabeled, 300, 20_000)),
            ],
        ]
    )
    return Evidence(members, (forward, backward), inputs, sizes_of(table), limits(table))


def sizes_of(table: ScoreTable) -> FloatArray:
    """Return logarithms of both numbers of rows and their ratio, within what networks know."""
    return np.array(
        [
            np.log(np.clip(table.n_labeled, 20, 5_000)),
            np.log(np.clip(table.n_unlabeled, 300, 20_000)),
            np.log(np.clip(table.n_labeled / table.n_unlabeled, 1e-3, 10.0)),
        ]
    )


def related(s: NDArray[np.int_], views: FloatArray) -> FloatArray:
    """Say how views hang together among labeled and among unlabeled rows.

    If errors of views within a class were independent, the correlation among unlabeled rows would
    come from the mixture alone and give its share. Scores are read as normal deviates of their
    place among the unlabeled rows, so that increasing maps change nothing.

    Parameters
    ----------
    s : ndarray of shape (n,)
        1 labeled, 0 unlabeled.
    views : ndarray of shape (3, n)
        Scores.

    Returns
    -------
    ndarray of shape (12,)
        For each pair the correlation among unlabeled and among labeled rows and what the former
        says about the mixture, then what the third moment says, and how steady ranks are.
    """
    from scipy.stats import rankdata

    places = np.array([_deviates(view, np.sort(view[s == 0])) for view in views])
    labeled, unlabeled = places[:, s == 1], places[:, s == 0]
    apart = np.maximum(labeled.mean(axis=1) - unlabeled.mean(axis=1), LEAST_DISTANCE)
    covariances = np.cov(unlabeled), np.cov(labeled)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = [np.nan_to_num(np.corrcoef(part)) for part in (unlabeled, labeled)]
    found = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        excess = (covariances[0][i, j] - covariances[1][i, j]) / (apart[i] * apart[j])
        found += [*(part[i, j] for part in correlations), np.arctan(excess)]
    centered = unlabeled - unlabeled.mean(axis=1, keepdims=True)
    found.append(np.arctan(np.mean(centered.prod(axis=0)) / apart.prod()))
    for part in (unlabeled, labeled):
        found.append(np.mean(rankdata(part, axis=1).std(axis=0)) / part.shape[1])
    return np.array(found)


def _deviates(values: FloatArray, among: FloatArray) -> FloatArray:
    """Turn scores into normal deviates of their place in a sorted sample."""
    from scipy.stats import norm

    sides = [np.searchsorted(among, values, side) for side in ("left", "right")]
    place = (sides[0] + sides[1]) / (2 * len(among))
    found: FloatArray = norm.ppf(np.clip(place, EDGE, 1 - EDGE))
    return found


def limits(table: ScoreTable) -> FloatArray:
    """Return the most that both kappas can be, on the scale of the inputs."""
    return stretched(np.clip(feasible_kappas(table, 0.5), 0.0, 1.0))


def unstretched(values: FloatArray) -> FloatArray:
    """Undo :func:`stretched`, within 0 and 1."""
    shares: FloatArray = np.sin(np.pi / 2 * np.clip(values, 0.0, 1.0)) ** 2
    return shares


def stretched(share: Any) -> FloatArray:
    """Map a share to a scale on which errors near 0 and 1 count as much as elsewhere."""
    scaled: FloatArray = 2 / np.pi * np.arcsin(np.sqrt(share))
    return scaled
