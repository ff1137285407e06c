"""Share of positives among the unlabeled rows of every group: given, or estimated together."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from recoup._core.checks import FloatArray, brief
from recoup._core.prior import ANY_METHOD, Prior
from recoup._core.progress import progress_bar
from recoup.evaluation.group_pooling import Pooled, pooled_normal
from recoup.evaluation.group_rows import GroupRows, SharedPosterior
from recoup.exceptions import InvalidInputError
from recoup.scores.group_keys import GroupKeys
from recoup.scores.table import ScoreTable

# A group whose estimate is all error of the method still says something of its own.
MOST_SHARED = 0.9
# Where the method is surest: this quantile of its errors over groups.
SUREST = 0.25
LEAST, MOST = 1e-6, 0.995
# Quantiles of an estimate that its middle and its error on the logit scale are read from.
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
LEAST_ERROR = 1e-3


@dataclass(frozen=True, eq=False)
class GroupAlphas:
    """Alpha of every group.

    Attributes
    ----------
    value : ndarray of shape (n_groups,)
        The middle.
    draws : ndarray of shape (n_cases, n_draws, n_groups)
        Plausible values. Several cases where an interval was given: nothing says where in it
        alpha lies, so that limits are the worst over the cases.
    own : ndarray of shape (n_groups,)
        How much of each came from the group's own rows; 0 where alpha was given.
    spread : float
        How much odds differ between groups from what the pooled scores say, on the logit scale.
    estimated : bool
        Whether alpha was estimated.
    """

    value: FloatArray
    draws: FloatArray
    own: FloatArray
    spread: float = 0.0
    estimated: bool = False


def given_alphas(
    given: Mapping[Any, Any], keys: GroupKeys, confidence: float, caller: str
) -> list[Prior]:
    """Read one alpha for each group.

    Parameters
    ----------
    given : mapping
        By value of the column, or tuple of values: a number, Interval, Draws or prior estimate.
    keys : GroupKeys
        The groups.
    confidence : float
        Level at which draws become a range.
    caller : str
        Who asks, for error messages.

    Returns
    -------
    list of Prior
    """
    found: dict[int, Prior] = {}
    for group, alpha in given.items():
        place = keys.find(group, caller)
        if isinstance(alpha, str):
            raise InvalidInputError(
                f"{caller} needs each alpha of a mapping to be a number, an Interval, Draws or an "
                f"estimate. Got {brief(alpha)!r} for the group {brief(str(group))}. Pass "
                f"alpha='estimate' alone to have all of them estimated together."
            )
        found[place] = Prior.of(alpha, 1.0, caller, confidence)
    lacking = [brief(keys.names[place]) for place in range(len(keys)) if place not in found]
    if lacking:
        raise InvalidInputError(
            f"{caller} needs an alpha for every group. Got none for {len(lacking):,} of "
            f"{len(keys):,}: {brief(', '.join(lacking), 200)}. Add them, or pass alpha='estimate'."
        )
    return [found[place] for place in range(len(keys))]


def stated_alphas(priors: list[Prior], n_draws: int, rng: np.random.Generator) -> GroupAlphas:
    """Draw alphas that were given for each group, or one for all of them.

    Parameters
    ----------
    priors : list of Prior
        One per group; the same object in all places if one alpha is that of all groups.
    n_draws : int
        How many draws to return.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    GroupAlphas
    """
    corners = [prior.corners() for prior in priors]
    n_cases = max(map(len, corners))
    draws = np.empty((n_cases, n_draws, len(priors)))
    drawn: dict[int, Any] = {}
    for place, (prior, ends) in enumerate(zip(priors, corners, strict=True)):
        if prior.alpha_draws is not None:
            # One prior of all groups has one value in each draw.
            if id(prior) not in drawn:
                drawn[id(prior)] = prior.sample(n_draws, rng)[0]
            draws[:, :, place] = drawn[id(prior)]
        else:
            draws[:, :, place] = np.resize(ends, n_cases)[:, None] if len(ends) > 1 else ends[0]
    value = np.array([prior.alpha for prior in priors])
    return GroupAlphas(value, draws, np.zeros(len(priors)))


def estimated_alphas(
    rows: GroupRows,
    pooled: Prior,
    shared: SharedPosterior,
    n_draws: int,
    rng: np.random.Generator,
) -> GroupAlphas:
    """Estimate alpha of every group from its own rows and from all rows together.

    Parameters
    ----------
    rows : GroupRows
        Rows of every group.
    pooled : Prior
        The estimate from all rows together.
    shared : SharedPosterior
        What the scores say of each group, if they mean the same in all of them.
    n_draws : int
        How many draws to return.
    rng : numpy.random.Generator
        Where they come from.

    Returns
    -------
    GroupAlphas
    """
    from scipy.special import expit, logit

    method = str(pooled.asked[0]) if pooled.asked is not None else "estimate"
    middle, error, from_pool = own_estimates(rows, pooled, method)
    level = np.clip(pooled.alpha, LEAST, MOST)
    levels = np.full(n_draws, level)
    if pooled.alpha_draws is not None:
        levels = np.clip(pooled.sample(n_draws, rng)[0], LEAST, MOST)
    # What the method gets wrong in all groups alike cannot be averaged out: it comes on top, as it
    # is in the draws of the pooled alpha. It is no more than the error where the method is surest.
    common = logit(levels) - logit(level)
    known = error[np.isfinite(error)]
    if len(known) and from_pool > 0:
        least = min(from_pool, float(np.quantile(known, SUREST)))
        common, from_pool = common * (least / from_pool), least
    share = np.minimum((from_pool / np.maximum(error, 1e-9)) ** 2, MOST_SHARED)
    pool: Pooled = pooled_normal(
        middle,
        error * np.sqrt(1 - share),
        logit(np.clip(shared.alpha, LEAST, MOST))[None],
        shared.alpha_noise[None],
        n_draws,
        rng,
    )
    draws = np.clip(expit(pool.draws + common[:, None]), LEAST, MOST)
    return GroupAlphas(
        expit(pool.center), draws[None], pool.own, spread=pool.spread, estimated=True
    )


def own_estimates(
    rows: GroupRows, pooled: Prior, method: str
) -> tuple[FloatArray, FloatArray, float]:
    """Estimate alpha of each group from its own rows alone.

    Parameters
    ----------
    rows : GroupRows
        Rows of every group.
    pooled : Prior
        The estimate from all rows together.
    method : str
        The key of an estimator, or ``"estimate"``.

    Returns
    -------
    middle : ndarray of shape (n_groups,)
        On the logit scale; NaN in groups with too few rows.
    error : ndarray of shape (n_groups,)
        Standard errors.
    from_pool : float
        Standard error of the pooled estimate, on the same scale.
    """
    from scipy.special import logit

    from recoup.priors.base import MIN_LABELED, MIN_UNLABELED

    n_groups = len(rows.labeled)
    middle, error = np.full(n_groups, np.nan), np.full(n_groups, np.nan)
    enough = (rows.n_labeled >= MIN_LABELED) & (rows.n_unlabeled >= MIN_UNLABELED)
    places = np.flatnonzero(enough)
    found = (_by_network if method in ANY_METHOD else _by_method)(
        [_table_of(rows, place) for place in places.tolist()], pooled, _pooled_table(rows)
    )
    middle[places], error[places] = _on_logit(found)
    from_pool = 0.0
    if pooled.alpha_draws is not None:
        from_pool = float(_on_logit(np.quantile(pooled.alpha_draws, LEVELS)[None])[1][0])
    elif pooled.interval is not None:
        low, high = np.clip(pooled.interval, LEAST, MOST)
        from_pool = float(logit(high) - logit(low)) / 3.92
    return middle, error, from_pool


def _table_of(rows: GroupRows, place: int) -> ScoreTable:
    columns = rows.labeled[place].astype(np.int64), rows.unlabeled[place].astype(np.int64)
    filled = (columns[0] > 0) | (columns[1] > 0)
    at = rows.scores[filled]
    return ScoreTable._assemble(at, [column[filled] for column in columns], at)


def _pooled_table(rows: GroupRows) -> ScoreTable:
    columns = [part.sum(axis=0).astype(np.int64) for part in (rows.labeled, rows.unlabeled)]
    return ScoreTable._assemble(rows.scores, columns, rows.scores)


def _by_network(tables: list[ScoreTable], pooled: Prior, everyone: ScoreTable) -> FloatArray:
    """Ask the network that estimates are built on, for all groups at once.

    The combination of methods that stands behind the pooled alpha takes half a second. What it adds
    to the network's answer for all rows, it is taken to add for each group.
    """
    from recoup.priors._solvers.network import load_network
    from recoup.priors.evidence import stretched, unstretched
    from recoup.priors.share_net import QUANTILES, share_quantiles, summary

    if not tables:
        return np.empty((0, len(LEVELS)))
    answers = load_network("share_net")(np.array([summary(table) for table in tables]))
    more = float(stretched(pooled.alpha) - stretched(share_quantiles(everyone)[4]))
    quantiles: FloatArray = unstretched(np.sort(answers, axis=1) + more)
    return quantiles[:, [QUANTILES.index(level) for level in LEVELS]]


def _by_method(tables: list[ScoreTable], pooled: Prior, everyone: ScoreTable) -> FloatArray:
    """Ask the method that the user named for each group."""
    from recoup.priors import estimate

    found = np.full((len(tables), len(LEVELS)), np.nan)
    method = "auto" if pooled.asked is None else str(pooled.asked[0])
    with progress_bar(len(tables), "Estimating alpha of groups") as bar:
        for place, table in enumerate(tables):
            # An estimate that fails in one group leaves it to the others.
            with suppress(InvalidInputError):
                one = estimate(table, method=method, beta=1.0)
                if one.draws is not None:
                    draws = one.draws if one.draws.ndim == 1 else one.draws[:, 0]
                    found[place] = np.quantile(draws, LEVELS)
            bar()
    return found


def _on_logit(quantiles: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the middle of each estimate and its error on the logit scale, from ``LEVELS``."""
    from scipy.special import logit

    ends = logit(np.clip(quantiles, LEAST, MOST))
    inner, outer = (ends[:, 3] - ends[:, 1]) / 1.349, (ends[:, 4] - ends[:, 0]) / 2.563
    return ends[:, 2], np.maximum(np.maximum(inner, outer), LEAST_ERROR)
