"""Intervals that hold where positives are rare: checked rows drawn again, and one more.

Normal intervals fail where a few checks stand for thousands of rows that hold a few positives: most
samples hold none of them and look certain. Here checked rows are given random weights (Rubin's
Bayesian bootstrap) within groups of neighboring scores that hold enough of both answers, together
with one row more: of unknown answer and place, and of the largest weight in the group. With no
positive found this is the exact limit of a share, by halves (mid-p).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recoup._core.checks import FloatArray
from recoup.audit.checked import CheckedRows, as_drawn, parts_of
from recoup.audit.population import JudgedRows

N_DRAWS = 1000
BLOCKS = 256
# A group of neighboring strata is closed when it holds so many answers of both kinds, and in all.
ENOUGH_OF_BOTH, ENOUGH = 3, 10


@dataclass(frozen=True, eq=False)
class Drawn:
    """Positives by score, many times over, as far as the answers leave them open.

    Attributes
    ----------
    population : JudgedRows
        Rows by score, neighbors joined.
    hidden : ndarray of shape (n_draws, n_scores)
        Positives among the unlabeled rows.
    share : ndarray of shape (n_draws,)
        Share of right labels.
    """

    population: JudgedRows
    hidden: FloatArray
    share: FloatArray

    @property
    def positives(self) -> FloatArray:
        """All positives that are judged, by score."""
        return self.population.positives(self.hidden, self.share)


def groups_of(
    population: JudgedRows, checked: CheckedRows, starts: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Join neighboring parts until each group holds enough of both answers.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers, none missing.
    starts : ndarray of shape (n_parts,)
        First cell of each part.

    Returns
    -------
    ndarray of shape (n_groups,)
        First cell of each group.
    """
    starts = starts[starts < len(population.scores)]
    part = np.searchsorted(starts, checked.cells, side="right") - 1
    n = np.bincount(part, minlength=len(starts))
    k = np.bincount(part, checked.truth, len(starts))
    groups: list[int] = []
    for above in (True, False):
        side = [i for i in range(len(starts)) if (starts[i] >= population.first_above) == above]
        closed, have_n, have_k = [], 0, 0.0
        # From the threshold outward, so that what is left over lies at the far end.
        for i in side if above else side[::-1]:
            have_n, have_k = have_n + int(n[i]), have_k + k[i]
            closed.append(i)
            if min(have_k, have_n - have_k) >= ENOUGH_OF_BOTH and have_n >= ENOUGH:
                groups.append(int(starts[min(closed)]))
                closed, have_n, have_k = [], 0, 0.0
        if closed:
            alone = have_n >= ENOUGH or not any(
                (start >= population.first_above) == above for start in groups
            )
            if alone:
                groups.append(int(starts[min(closed)]))
            elif not above:
                # The last group of this side takes the left-over in: it starts where that does.
                last = min(start for start in groups if start < population.first_above)
                groups[groups.index(last)] = int(starts[min(closed)])
    return np.unique(np.array(groups, np.intp))


def drawn_again(
    population: JudgedRows,
    checked: CheckedRows,
    beta: float,
    rng: np.random.Generator,
    n_draws: int = N_DRAWS,
    n_cells: int = BLOCKS,
) -> Drawn:
    """Draw the positives by score many times.

    Parameters
    ----------
    population : JudgedRows
        Rows by score.
    checked : CheckedRows
        The answers, none missing.
    beta : float
        Share of right labels, if no label was checked.
    rng : Generator
        Source of randomness.
    n_draws : int, default=1000
        How many times.
    n_cells : int, default=256
        Cells that the scores are joined to, roughly. The draws are the same for any number.

    Returns
    -------
    Drawn
    """
    parts = parts_of(population, checked)
    coarse, index = population.blocks(n_cells, parts)
    hidden = np.zeros((n_draws, len(coarse.scores)))
    for rows, answers in checked.by_layer(population):
        hidden += _drawn_hidden(rows, answers, parts, index, hidden.shape, rng)
    return Drawn(coarse, hidden, _drawn_share(population, checked, beta, rng, n_draws))


def _drawn_hidden(
    population: JudgedRows,
    checked: CheckedRows,
    parts: NDArray[np.intp],
    index: NDArray[np.intp],
    shape: tuple[int, ...],
    rng: np.random.Generator,
) -> FloatArray:
    """Draw the hidden positives of rows of one opinion."""
    drawn, by_design = as_drawn(population, checked)
    starts = groups_of(drawn, by_design, parts_of(drawn, by_design))
    if checked.design is not None and checked.design.groups is not None:
        starts = checked.design.groups
    n_draws = shape[0]
    hidden = np.zeros(shape)
    np.add.at(hidden[0], index[checked.cells], checked.truth)
    hidden[1:] = hidden[0]
    onto, part = _spread_over(population, checked, parts, index, hidden.shape[1])
    group = np.searchsorted(starts, by_design.cells, side="right") - 1
    ends = np.append(starts[1:], len(drawn.scores))
    # Numbers of their own, so that models with one design share all others.
    chooser = rng.spawn(1)[0]
    for g, (start, end) in enumerate(zip(starts, ends, strict=True)):
        rows = drawn.unlabeled[start:end]
        inside = group == g
        left = round(float(rows.sum())) - int(inside.sum())
        if left <= 0:
            continue
        weights = 1 / checked.probability[inside] - 1 if inside.any() else np.array([])
        weights = np.maximum(weights, 0.0)
        weights = weights / weights.max() if len(weights) and weights.max() > 0 else weights
        n = len(weights)
        masses = rng.gamma(max(n - 1, 1) / max(n, 1), size=(n_draws, n)) * weights
        truth = checked.truth[inside]
        extra = rng.exponential(size=n_draws)
        positive = rng.random(n_draws) < 0.5
        masses_positive = masses * truth
        total = masses.sum(axis=1) + extra
        more = np.where(positive, extra, 0.0)
        found = masses_positive.sum(axis=1) + more
        count = rng.binomial(left, np.clip(found / total, 0.0, 1.0))
        scale = np.divide(count, found, out=np.zeros(n_draws), where=found > 0)
        found_in = part[checked.cells[inside][truth > 0]]
        belongs = (found_in[:, None] == np.arange(len(parts))).astype(float)
        by_part = (masses_positive[:, truth > 0] @ belongs) * scale[:, None]
        where = rng.choice(end - start, n_draws, p=rows / rows.sum()) + start
        if checked.design is not None:
            where = checked.design.by_model(where, start, end, chooser.random(n_draws))
        by_part[np.arange(n_draws), part[where]] += more * scale
        hidden += by_part @ onto
    return hidden


def _spread_over(
    population: JudgedRows,
    checked: CheckedRows,
    parts: NDArray[np.intp],
    index: NDArray[np.intp],
    n_blocks: int,
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return how the unchecked rows of each part lie over the joined cells, and parts of cells."""
    size = len(population.scores)
    part = np.searchsorted(parts, np.arange(size), side="right") - 1
    others = population.unlabeled - np.bincount(checked.cells, minlength=size)
    others = np.maximum(others, 0.0) + 1e-9 * (population.unlabeled > 0)
    onto = np.zeros((len(parts), n_blocks))
    np.add.at(onto, (part, index), others)
    return onto / np.maximum(onto.sum(axis=1, keepdims=True), 1e-300), part


def _drawn_share(
    population: JudgedRows,
    checked: CheckedRows,
    beta: float,
    rng: np.random.Generator,
    n_draws: int,
) -> FloatArray:
    n, k = len(checked.labeled), float(checked.labeled.sum())
    if not n:
        return np.full(n_draws, beta)
    total = round(float(population.labeled.sum()))
    more = rng.random(n_draws) < 0.5
    share = rng.beta(np.maximum(k + more, 1e-9), np.maximum(n - k + 1 - more, 1e-9))
    drawn: FloatArray = (k + rng.binomial(max(total - n, 0), share)) / total
    return drawn
