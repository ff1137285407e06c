"""Findings of appendix D.2.2: which differences from nnPU are more than chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from papers.effects import exact
from papers.experiment import Verdict
from papers.pubench.finding import Finding, Judgement
from papers.pubench.intervals import above, over_seeds
from papers.pubench.measures import CONVENTIONAL, DISAMBIGUATION, GENERATIVE, ORDER, RISK
from papers.pubench.published import (
    DATASETS,
    PU_METHODS,
    possible_p_values,
    table_1,
    table_d6,
)
from papers.pubench.rules import ACCURACY
from papers.pubench.study import Missing, Sample, View
from recoup._core.checks import FloatArray
from recoup._core.multiplicity import holm
from recoup.bench.hypothesis_tests import paired_t

TABLES = "printed tables do not fit together"
LEVEL = 0.05
FEWEST_SEEDS = 5
SOME_GAINS = 10.0
"""Percent of the tests of risk and disambiguation methods: a non-trivial subset."""
RARELY = 5.0
"""Percent of the tests of generative methods."""


def significant() -> set[tuple[str, str]]:
    """Return the methods and datasets that Table D.6 marks."""
    return {place for place, p in table_d6().items() if p < LEVEL}


def corrected(sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Return differences from nnPU in points and Holm's p-values, datasets by methods."""
    base = sample.at("nnpu")[0]
    differences, p_values = [], []
    for block in sample.values:
        apart = 100 * (block[0] - block[0][[base]])
        p = paired_t(apart)[1]
        p[base] = np.nan
        differences.append(apart.mean(axis=1))
        p_values.append(holm(p))
    return np.array(differences), np.array(p_values)


def seeds_for_tests(view: View, least_seeds: int = FEWEST_SEEDS) -> Sample:
    """Gather accuracies for the tests, or say that there are too few seeds."""
    sample = view.sample(ACCURACY, DATASETS, needed=("nnpu",))
    fewest = min(block.shape[2] for block in sample.values)
    if fewest < least_seeds:
        raise Missing(f"{view.name} have {fewest} seeds; the tests need {least_seeds}")
    return sample


def _signs_agree(view: View) -> Judgement:
    sample = seeds_for_tests(view, 2)
    base = sample.at("nnpu")[0]
    printed = table_1(PU_METHODS, sample.datasets)
    marked = np.zeros((len(sample.datasets), len(sample.methods)), bool)
    signs = np.zeros(marked.shape)
    chosen = significant()
    for d, dataset in enumerate(sample.datasets):
        for k, method in enumerate(sample.methods):
            marked[d, k] = (method, dataset) in chosen
            signs[d, k] = np.sign(printed[d, PU_METHODS.index(method)] - printed[d, 0])
    if not marked.any():
        raise Missing("none of the marked entries")

    def measure(means: FloatArray) -> float:
        ours = np.sign(means[:, 0] - means[:, 0, [base]])
        return 100 * float((ours == signs)[marked].mean())

    effect = over_seeds(
        sample.values, measure, f"% of {marked.sum()} marked entries", limits=(0, 100)
    )
    return Judgement(effect, above(effect, 50), note=sample.note)


def _share(found: NDArray[np.bool_], sample: Sample, methods: Sequence[str]) -> float:
    places = [k for k, name in enumerate(sample.methods) if name in methods and name != "nnpu"]
    return 100 * float(found[:, places].mean())


def _gains(view: View) -> Judgement:
    sample = seeds_for_tests(view)
    differences, p_values = corrected(sample)
    better = (p_values < LEVEL) & (differences > 0)
    share = _share(better, sample, (*RISK, *DISAMBIGUATION))
    generative = _share(better, sample, GENERATIVE)
    effect = exact(round(share, 1), "% of the tests")
    verdict: Verdict = "holds" if share >= SOME_GAINS and generative <= RARELY else "does not hold"
    ours = f"{share:.0f}% of their tests, {generative:.0f}% of the generative methods'"
    return Judgement(effect, verdict, ours, sample.note)


def _losses(view: View) -> Judgement:
    sample = seeds_for_tests(view)
    differences, p_values = corrected(sample)
    places = sample.at(*(name for name in ("self-pu", "holistic-pu") if name in sample.methods))
    if len(places) < 2:
        raise Missing("Self-PU or Holistic-PU")
    clear = p_values[:, places] < LEVEL
    worse = int((clear & (differences[:, places] < 0)).sum())
    better = int((clear & (differences[:, places] > 0)).sum())
    effect = exact(worse - better, "more datasets worse than better")
    verdict: Verdict = "holds" if worse > better else "does not hold"
    if worse == better == 0:
        verdict = "cannot be told"
    return Judgement(effect, verdict, f"{worse} times worse, {better} times better", sample.note)


def _tables_fit(view: View) -> Judgement:
    """Count p-values of Table D.6 that Table 1 makes impossible; needs no run."""
    limits, printed = possible_p_values(), table_d6()
    # Two digits are printed.
    outside = [
        place
        for place, (low, high) in limits.items()
        if printed[place] < 0.94 * low or printed[place] > 1.06 * high + 1e-12
    ]
    effect = exact(len(outside), f"of {len(limits)} p-values are impossible")
    return Judgement(effect, "does not hold" if outside else "holds")


def _marked(methods: Sequence[str]) -> tuple[int, int]:
    """Count how many entries Table D.6 marks, better and worse by Table 1's sign."""
    signs = {
        (method, dataset): float(np.diff(table_1(("nnpu", method), (dataset,)))[0, 0])
        for method, dataset in significant()
        if method in methods
    }
    return sum(sign > 0 for sign in signs.values()), sum(sign < 0 for sign in signs.values())


def significance() -> tuple[Finding, ...]:
    """Return the findings, with rules that were written before any run."""
    where = f"All datasets, {CONVENTIONAL} (D.2.2, Table D.6)"
    tests = (
        "Paired t-tests of accuracy against nnPU on shared seeds, Holm's correction on each dataset"
    )
    others = tuple(name for name in (*RISK, *DISAMBIGUATION) if name != "nnpu")
    gains, generative = _marked(others)[0], _marked(GENERATIVE)
    trailing = _marked(("self-pu", "holistic-pu"))
    return (
        Finding(
            "Table D.6's p-values are those of Table 1's accuracies.",
            "The paper's own two tables (Tables 1 and D.6)",
            "With the spreads of Table 1 as standard deviations over ten paired seeds, no "
            "corrected p-value lies outside what a paired t-test with Holm's correction can "
            "give. Exact.",
            "136 p-values",
            TABLES,
            _tables_fit,
            beyond=False,
        ),
        Finding(
            "Differences from nnPU that the paper marks as significant have the sign of Table 1.",
            where,
            "Our mean difference has the sign of Table 1's in more than half of the entries that "
            "Table D.6 marks. Seeds are drawn again within each dataset.",
            f"{len(significant())} of 136 marked",
            ORDER,
            _signs_agree,
        ),
        Finding(
            "Several risk and disambiguation methods gain significantly on nnPU; generative ones "
            "hardly ever do.",
            where,
            f"{tests}: at least {SOME_GAINS:g}% of the tests of the first two families are "
            f"significantly better at 0.05, and at most {RARELY:g}% of the generative methods'. "
            f"{FEWEST_SEEDS} seeds or more.",
            f"{gains} of {8 * len(others)} and {generative[0]} of {8 * len(GENERATIVE)} "
            "(Table D.6, by Table 1's sign)",
            ORDER,
            _gains,
        ),
        Finding(
            "Self-PU and Holistic-PU are more often significantly worse than nnPU than better.",
            where,
            f"{tests}: more datasets on which they are significantly worse at 0.05 than better. "
            f"{FEWEST_SEEDS} seeds or more.",
            f"{trailing[1]} worse, {trailing[0]} better (Table D.6, by Table 1's sign)",
            ORDER,
            _losses,
        ),
    )
