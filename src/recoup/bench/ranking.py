"""rank_learners: which learner is better, over seeds and datasets, and how sure that is.

It reads the rows of a store and nothing else. A **cell** is one dataset with one design, labeling
mechanism, label frequency and noise; a **block** is what tests over datasets count once, a dataset
or a cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, get_args

import numpy as np

from recoup._core.checks import FloatArray, brief, did_you_mean
from recoup._core.multiplicity import holm
from recoup._core.random import RandomState, as_seed, named_rng
from recoup._core.text import show_percent
from recoup.bench import hypothesis_tests
from recoup.bench.result_array import (
    Cell,
    ResultArray,
    average,
    lower_is_better,
    over_seeds,
    result_array,
)
from recoup.bench.standing import (
    Against,
    Block,
    CellResult,
    LeftOut,
    Pair,
    Rank,
    Standing,
    blocks_of,
)
from recoup.exceptions import InvalidInputError

__all__ = ["Standing", "rank_learners"]

ROUGH_BELOW = 10


def rank_learners(
    rows: Iterable[Mapping[str, Any]],
    metric: str = "accuracy",
    *,
    protocol: str = "honest",
    baseline: str | None = "nnpu",
    block: Block = "dataset",
    level: float = 0.05,
    min_coverage: float = 0.8,
    n_boot: int = 2000,
    random_state: RandomState = 0,
) -> Standing:
    """Compare learners over seeds and datasets.

    Within a cell learners are compared on the same seeds: a paired t-test against the baseline,
    with Holm's correction over the learners. Over blocks they are ranked: Friedman's test, the
    critical difference of Nemenyi, and Wilcoxon's signed-rank test of pairs. These use complete
    blocks only: cells, and in them seeds, for which every ranked learner has a result. Learners
    that take true classes are shown and never ranked.

    Parameters
    ----------
    rows : iterable of mapping
        What ``Store(path).rows()`` returns, all of it or a selection.
    metric : str, default="accuracy"
        A column of the rows. Times and memory count as better when lower.
    protocol : str, default="honest"
        Rows of other protocols are passed over.
    baseline : str or None, default="nnpu"
        Learner that the others are tested against.
    block : {"dataset", "cell"}, default="dataset"
        Tests over blocks assume that blocks are independent. Cells of one dataset are not, so by
        default they are averaged, and each dataset counts once.
    level : float, default=0.05
        Level of tests and, as one minus it, of intervals.
    min_coverage : float, default=0.8
        Learners with a result for a smaller share of the runs than this are not ranked, so that
        they do not take their missing cells from everybody.
    n_boot : int, default=2000
        Number of redraws of the seeds.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the redraws.

    Returns
    -------
    Standing

    References
    ----------
    Demsar 2006; PU-Bench, 2026, appendix D.2.2.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = [
    ...     {"dataset": dataset, "scheme": "case-control", "mechanism": "scar",
    ...      "label_frequency": 0.1, "noise": 0.0, "learner": learner, "family": "risk",
    ...      "seed": seed, "protocol": "honest", "status": "done", "reason": None,
    ...      "accuracy": level + 0.01 * rng.normal()}
    ...     for dataset in "abcdef"
    ...     for learner, level in (("nnpu", 0.8), ("upu", 0.75), ("dist-pu", 0.83))
    ...     for seed in range(5)
    ... ]
    >>> standing = rank_learners(rows)
    >>> standing
    Standing(accuracy, honest: dist-pu 1.00, nnpu 2.00, upu 3.00; 6 of 6 datasets)
    >>> [(item.learner, item.better, item.worse) for item in standing.against]
    [('dist-pu', 6, 0), ('upu', 0, 6)]
    """
    _check(block, level, min_coverage, n_boot)
    grid = result_array(rows, metric, protocol, "rank_learners")
    if baseline is not None and baseline not in grid.learners:
        raise InvalidInputError(
            f"rank_learners needs its baseline among the learners of the rows. Got "
            f"{brief(baseline)!r} and learners {brief(', '.join(grid.learners), 200)}."
            f"{did_you_mean(baseline, grid.learners)} Pass one of them, or baseline=None."
        )
    sign = -1.0 if lower_is_better(grid.metric) else 1.0
    results = _cell_results(grid, baseline, level, sign)
    left_out = _left_out(grid, min_coverage)
    ranked = [name for name in grid.learners if name not in {item.learner for item in left_out}]
    shared, complete = _complete(grid, ranked)
    means = average(shared, axes=(2,))
    blocks = blocks_of(complete, block)
    over_blocks = _over_blocks(means, complete, blocks, block)
    notes = _notes(grid, ranked, shared, complete, blocks, block)
    ranks, mean_ranks = _ranks(
        grid, ranked, shared, complete, over_blocks, block, level, sign, n_boot, random_state
    )
    test, distance = None, np.nan
    groups: tuple[tuple[int, ...], ...] = ()
    if len(ranked) > 1 and len(blocks) > 1:
        test = hypothesis_tests.friedman(hypothesis_tests.ranks_of(sign * over_blocks))
        distance = hypothesis_tests.critical_difference(len(ranked), len(blocks), level)
        groups = hypothesis_tests.cliques(mean_ranks, distance)
    return Standing(
        metric=grid.metric,
        protocol=protocol,
        baseline=baseline,
        block=block,
        level=level,
        cells=grid.cells,
        complete_cells=complete,
        n_blocks=len(blocks),
        results=results,
        ranks=ranks,
        friedman=test,
        critical_difference=distance,
        cliques=tuple(tuple(ranked[place] for place in group) for group in groups),
        against=_against(grid, results, baseline, block, sign),
        pairs=_pairs(ranked, means, over_blocks, mean_ranks, sign),
        gaps=grid.gaps,
        left_out=left_out,
        notes=notes,
    )


def _check(block: str, level: float, min_coverage: float, n_boot: int) -> None:
    if block not in get_args(Block):
        raise InvalidInputError(
            f"rank_learners needs block to be 'dataset' (cells of a dataset are averaged, and "
            f"count once) or 'cell' (each counts). Got {brief(block)}."
        )
    for name, value in (("level", level), ("min_coverage", min_coverage)):
        if not 0 < value < 1 and not (name == "min_coverage" and value in (0, 1)):
            raise InvalidInputError(
                f"rank_learners needs {name} between 0 and 1: it is a share. Got {brief(value)}."
            )
    if n_boot < 1:
        raise InvalidInputError(f"rank_learners needs n_boot of at least 1. Got {brief(n_boot)}.")


def _cell_results(
    grid: ResultArray, baseline: str | None, level: float, sign: float
) -> tuple[CellResult, ...]:
    """Summarize each learner in each cell, and test it against the baseline."""
    n = np.isfinite(grid.values).sum(axis=2)
    mean, std = over_seeds(grid.values)
    apart = np.full(grid.values.shape, np.nan)
    tested = np.array([name not in grid.references for name in grid.learners])
    if baseline is not None:
        at = grid.learners.index(baseline)
        apart = grid.values - grid.values[:, [at]]
        tested[at] = False
    pairs = np.isfinite(apart).sum(axis=2)
    difference = average(apart, axes=(2,))
    t, p_value = hypothesis_tests.paired_t(apart)
    p_value = np.where(tested, p_value, np.nan)
    adjusted = np.array([holm(line) for line in p_value])
    results = []
    for c, cell in enumerate(grid.cells):
        for k, learner in enumerate(grid.learners):
            if not n[c, k]:
                continue
            verdict = ""
            if np.isfinite(adjusted[c, k]):
                ahead = sign * difference[c, k] > 0
                clear = adjusted[c, k] <= level
                verdict = ("better" if ahead else "worse") if clear else "same"
            is_tested = bool(tested[k])
            results.append(
                CellResult(
                    cell=cell,
                    learner=learner,
                    family=grid.families[learner],
                    n=int(n[c, k]),
                    mean=float(mean[c, k]),
                    std=float(std[c, k]),
                    n_pairs=int(pairs[c, k]) if learner != baseline else 0,
                    difference=float(difference[c, k]) if learner != baseline else np.nan,
                    t=float(t[c, k]) if is_tested else np.nan,
                    p_value=float(p_value[c, k]),
                    p_adjusted=float(adjusted[c, k]),
                    verdict=verdict,
                )
            )
    return tuple(results)


def _left_out(grid: ResultArray, min_coverage: float) -> tuple[LeftOut, ...]:
    """Name the learners that are not ranked.

    What nobody has a result for, such as a dataset that is not at hand, is held against nobody.
    """
    has_result = np.isfinite(grid.values)
    finished = has_result.sum(axis=(0, 2))
    own = [learner not in grid.references for learner in grid.learners]
    planned = int((grid.planned & has_result[:, own].any(axis=1)).sum())
    found = []
    for k, learner in enumerate(grid.learners):
        if learner in grid.references:
            found.append(LeftOut(learner, "takes true classes, which nobody has in practice"))
        elif finished[k] < max(min_coverage * planned - 1e-9, 1):
            reasons = Counter[str]()
            for gap in grid.gaps:
                if gap.learner == learner:
                    reasons[gap.reason] += len(gap.seeds)
            why, times = reasons.most_common(1)[0]
            found.append(
                LeftOut(
                    learner,
                    f"has results for {finished[k]} of {planned} runs, fewer than "
                    f"{show_percent(min_coverage)}; most often ({times} times) because: {why}",
                )
            )
    return tuple(found)


def _complete(grid: ResultArray, ranked: list[str]) -> tuple[FloatArray, tuple[Cell, ...]]:
    """Keep the cells, and in them the seeds, for which every ranked learner has a result."""
    chosen = [grid.learners.index(name) for name in ranked]
    values = grid.values[:, chosen]
    seeds = np.asarray(np.isfinite(values).all(axis=1) & bool(ranked))
    kept = np.asarray(seeds.any(axis=1))
    shared = np.where(seeds[:, None], values, np.nan)[kept]
    return shared, tuple(cell for cell, keep in zip(grid.cells, kept, strict=True) if keep)


def _over_blocks(
    means: FloatArray, cells: tuple[Cell, ...], blocks: list[Any], block: Block
) -> FloatArray:
    """Average the cells of each block."""
    if block == "cell":
        return means
    names = np.array([blocks.index(cell.dataset) for cell in cells], dtype=int)
    averaged = [means[names == place].mean(axis=0) for place in range(len(blocks))]
    return np.array(averaged).reshape(len(blocks), means.shape[1])


def _ranks(
    grid: ResultArray,
    ranked: list[str],
    shared: FloatArray,
    cells: tuple[Cell, ...],
    over_blocks: FloatArray,
    block: Block,
    level: float,
    sign: float,
    n_boot: int,
    random_state: RandomState,
) -> tuple[tuple[Rank, ...], FloatArray]:
    """Rank learners, with intervals from redrawn seeds; also return ranks in their given order."""
    if not cells:
        return (), np.zeros(0)
    mean_ranks = hypothesis_tests.ranks_of(sign * over_blocks).mean(axis=0)
    names = blocks_of(cells, "dataset")
    datasets = np.array([names.index(cell.dataset) for cell in cells], dtype=np.intp)
    has_seed = np.isfinite(shared[:, 0])
    n_seeds = [int(has_seed[datasets == place].any(axis=0).sum()) for place in range(len(names))]
    draws = hypothesis_tests.bootstrap_ranks(
        shared,
        datasets,
        by_dataset=block == "dataset",
        higher_is_better=sign > 0,
        n_boot=n_boot,
        rng=named_rng(as_seed(random_state, "rank_learners"), "compare", "ranks"),
    )
    freedom = sum(n - 1 for n in n_seeds)
    lower, upper = hypothesis_tests.rank_intervals(mean_ranks, draws, freedom, 1 - level)
    is_first = np.isclose(draws, draws.min(axis=1, keepdims=True))
    first = (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0)
    average = over_blocks.mean(axis=0)
    ranks = [
        Rank(
            learner=learner,
            family=grid.families[learner],
            rank=float(mean_ranks[k]),
            lower=float(lower[k]),
            upper=float(upper[k]),
            first=float(first[k]) if freedom else np.nan,
            mean=float(average[k]),
        )
        for k, learner in enumerate(ranked)
    ]
    return tuple(sorted(ranks, key=lambda item: (item.rank, item.learner))), mean_ranks


def _counts(differences: FloatArray) -> tuple[int, int, int]:
    """Count how often the first is ahead, level and behind."""
    found = hypothesis_tests.same_up_to_rounding(differences)
    return int((found > 0).sum()), int((found == 0).sum()), int((found < 0).sum())


def _against(
    grid: ResultArray,
    results: tuple[CellResult, ...],
    baseline: str | None,
    block: Block,
    sign: float,
) -> tuple[Against, ...]:
    """Set each learner against the baseline, on the cells that both have."""
    found: list[Against] = []
    if baseline is None:
        return ()
    for learner in grid.learners:
        if learner == baseline or learner in grid.references:
            continue
        mine = [item for item in results if item.learner == learner and item.n_pairs]
        if not mine:
            continue
        cells = tuple(item.cell for item in mine)
        blocks = blocks_of(cells, block)
        apart = np.array([[item.difference] for item in mine])
        over = _over_blocks(apart, cells, blocks, block)[:, 0]
        wins, ties, losses = _counts(sign * apart)
        verdicts = Counter(item.verdict for item in mine)
        found.append(
            Against(
                learner=learner,
                n_blocks=len(blocks),
                difference=float(over.mean()),
                wins=wins,
                ties=ties,
                losses=losses,
                better=verdicts["better"],
                same=verdicts["same"],
                worse=verdicts["worse"],
                p_value=hypothesis_tests.signed_ranks(over).p_value,
                p_adjusted=np.nan,
            )
        )
    adjusted = holm([item.p_value for item in found])
    whole = [
        Against(**(vars(item) | {"p_adjusted": float(p)}))
        for item, p in zip(found, adjusted, strict=True)
    ]
    return tuple(sorted(whole, key=lambda item: (-sign * item.difference, item.learner)))


def _pairs(
    ranked: list[str],
    means: FloatArray,
    over_blocks: FloatArray,
    mean_ranks: FloatArray,
    sign: float,
) -> tuple[Pair, ...]:
    """Set all ranked learners against each other, on the complete blocks."""
    if not len(over_blocks) or len(ranked) < 2:
        return ()
    pairs = list(combinations(range(len(ranked)), 2))
    p_values = [
        hypothesis_tests.signed_ranks(over_blocks[:, i] - over_blocks[:, j]).p_value
        for i, j in pairs
    ]
    adjusted = holm(p_values)
    nemenyi = hypothesis_tests.nemenyi_p_values(mean_ranks, len(over_blocks))
    found = []
    for place, (i, j) in enumerate(pairs):
        wins, ties, losses = _counts(sign * (means[:, i] - means[:, j]))
        found.append(
            Pair(
                first=ranked[i],
                second=ranked[j],
                difference=float((over_blocks[:, i] - over_blocks[:, j]).mean()),
                wins=wins,
                ties=ties,
                losses=losses,
                p_value=p_values[place],
                p_adjusted=float(adjusted[place]),
                p_nemenyi=float(nemenyi[i, j]) if len(over_blocks) > 1 else np.nan,
            )
        )
    return tuple(found)


def _notes(
    grid: ResultArray,
    ranked: list[str],
    shared: FloatArray,
    complete: tuple[Cell, ...],
    blocks: list[Any],
    block: Block,
) -> tuple[str, ...]:
    notes = []
    missing = sum(len(gap.seeds) for gap in grid.gaps)
    if missing:
        notes.append(
            f"{missing} of {int(grid.planned.sum()) * len(grid.learners)} results are missing; "
            f"gaps lists them."
        )
    if grid.lent:
        notes.append(
            f"{grid.lent} results are those of the honest protocol: the learners select no weights."
        )
    if len(complete) < len(grid.cells):
        notes.append(
            f"Ranks and tests over {block}s use the {len(complete)} of {len(grid.cells)} cells in "
            f"which all {len(ranked)} ranked learners have results on shared seeds."
        )
    seeds = np.isfinite(shared[:, 0]).sum(axis=1) if complete else np.zeros(0)
    if len(seeds) and seeds.max() == 1:
        notes.append("There is one seed per cell: no test within cells, and no intervals of ranks.")
    elif len(seeds) and seeds.min() < grid.planned.sum(axis=1).max():
        notes.append(f"Cells rest on {int(seeds.min())} to {int(seeds.max())} shared seeds.")
    if len(ranked) > 1 and len(blocks) < 2:
        hint = ""
        if block == "dataset" and len(complete) > 1:
            hint = " Pass block='cell' to rank in each cell; they are not independent."
        notes.append(f"Tests over {block}s need two of them. There are {len(blocks)}.{hint}")
    elif len(ranked) > 1 and len(blocks) < ROUGH_BELOW:
        notes.append(
            f"With {len(blocks)} {block}s, Friedman's and Nemenyi's p-values are rough, and only "
            f"large differences can be told."
        )
    if block == "cell" and len(blocks_of(complete, "dataset")) < len(complete):
        notes.append(
            "Cells of the same dataset are not independent: p-values over cells are too small."
        )
    return tuple(notes)
