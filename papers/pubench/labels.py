"""Findings of section 5.1: what more labels bring."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.experiment import Effect
from papers.pubench.finding import Finding, Judgement
from papers.pubench.intervals import above, below, difference, exponential, over_units
from papers.pubench.measures import DISAMBIGUATION, GENERATIVE, RISK
from papers.pubench.published import CIFAR, DATASETS, KINDS, PU_METHODS
from papers.pubench.rules import POINTS, Judge
from papers.pubench.study import LABEL_RATIOS, Condition, Sample, View
from recoup._core.checks import FloatArray

LABELS = "what more labels bring"
FIRST, TENTH, LAST = (0.01, 0.03), (0.07, 0.09, 0.1), (0.7, 0.8, 0.9)
SCARCE = (0.01, 0.03, 0.05)
EARLY = (0.03, 0.05)
# Points of F1 that still count as "near" and as "little".
NEAR, LITTLE = 2.0, 3.0
LEAST_DATASETS = 3
RUNS_DRAWN = "Runs (label ratios and seeds) of each band vary by Welch's formula."


def _conditions(ratios: Sequence[float]) -> list[Condition]:
    return [Condition("f1", "scar", c) for c in ratios]


def _sample(
    view: View,
    ratios: Sequence[float],
    *,
    needed: Sequence[str] = (),
    pool: Sequence[str] = PU_METHODS,
    datasets: Sequence[str] = DATASETS,
    least: int = LEAST_DATASETS,
) -> Sample:
    return view.sample(_conditions(ratios), datasets, needed=needed, pool=pool, least=least)


def _places(sample: Sample, names: Sequence[str]) -> list[int]:
    return [place for place, name in enumerate(sample.methods) if name in names]


def _bands(sample: Sample, *bands: Sequence[float]) -> list[FloatArray]:
    """Return mean F1 of each method in each band, in points, averaged over datasets."""
    ratios = [c for band in bands for c in band]
    means = 100 * sample.means.mean(axis=0)
    return [means[[ratios.index(c) for c in band]].mean(axis=0) for band in bands]


def _early_more_than_late(view: View) -> Judgement:
    sample = _sample(view, (*FIRST, *TENTH, *LAST), pool=(*RISK, *DISAMBIGUATION))
    first, tenth, last = _bands(sample, FIRST, TENTH, LAST)
    effect = over_units((tenth - first) - (last - tenth), POINTS)
    early, late = float((tenth - first).mean()), float((last - tenth).mean())
    ours = f"{early:+.1f} points below a tenth, {late:+.1f} after; difference {effect.text}"
    return Judgement(effect, above(effect, 0), ours, sample.note)


def _near_peak(view: View) -> Judgement:
    """VPU and P3Mix-C at .03 to .05, against the best three neighboring label ratios."""
    chosen = ("vpu", "p3mix-c")
    sample = _sample(view, LABEL_RATIOS, needed=chosen, pool=(), datasets=(CIFAR,), least=1)
    curves = 100 * sample.values[0]
    early, best = [], []
    for place in sample.at(*chosen):
        curve = curves[:, place]
        means = curve.mean(axis=1)
        start = int(np.argmax(np.convolve(means, np.ones(3) / 3, "valid")))
        early.append(curve[[LABEL_RATIOS.index(c) for c in EARLY]])
        best.append(curve[start : start + 3])
    effect = difference(early, best, POINTS)
    return Judgement(effect, below(effect, NEAR), note=sample.note)


def _roughness(curves: FloatArray) -> FloatArray:
    """Mean distance of each point from the mean of its neighbors: ratios by methods by seeds."""
    off = curves[1:-1] - (curves[:-2] + curves[2:]) / 2
    rough: FloatArray = np.abs(off).mean(axis=0).mean(axis=-1)
    return np.maximum(rough, 1e-5)


def _two_groups(first: FloatArray, second: FloatArray, unit: str) -> Effect:
    return difference([second], [first], unit)


def _erratic(view: View) -> Judgement:
    sample = _sample(view, LABEL_RATIOS, needed=GENERATIVE)
    logs = np.mean([np.log(_roughness(block)) for block in sample.values], axis=0)
    mine = sample.at(*GENERATIVE)
    effect = _two_groups(logs[mine], logs[sample.others(*GENERATIVE)], "")
    found = exponential(effect, "times as rough")
    return Judgement(found, above(found, 1), note=sample.note)


def _little_gain(view: View) -> Judgement:
    sample = _sample(view, (*FIRST, *LAST), needed=GENERATIVE)
    first, last = _bands(sample, FIRST, LAST)
    gain, mine = last - first, sample.at(*GENERATIVE)
    others = gain[sample.others(*GENERATIVE)]
    effect = _two_groups(gain[mine], others, POINTS)
    ours = f"{gain[mine].mean():+.1f} points, others {others.mean():+.1f}; difference {effect.text}"
    return Judgement(effect, below(effect, 0), ours, sample.note)


def _less_median(sample: Sample, chosen: Sequence[str]) -> list[FloatArray]:
    """Points of the chosen methods above the median of the others, by ratio and seed."""
    mine, others = sample.at(*chosen), sample.others(*chosen)
    return [
        100 * (block[:, mine].mean(axis=1) - np.median(block[:, others], axis=1))
        for block in sample.values
    ]


def _scarce(
    chosen: Sequence[str], ratios: Sequence[float], datasets: Sequence[str], least: int
) -> Judge:
    def judge(view: View) -> Judgement:
        sample = _sample(view, ratios, needed=chosen, datasets=datasets, least=least)
        apart = [part.ravel() for part in _less_median(sample, chosen)]
        effect = difference([np.zeros(2) for _ in apart], apart, POINTS)
        return Judgement(effect, above(effect, 0), note=sample.note)

    return judge


def _late_gain(view: View) -> Judgement:
    sample = _sample(view, (*TENTH, *LAST), needed=("lbe",))
    apart = _less_median(sample, ("lbe",))
    n = len(TENTH)
    effect = difference([part[:n] for part in apart], [part[n:] for part in apart], POINTS)
    return Judgement(effect, above(effect, 0), note=sample.note)


def _vary_when_scarce(view: View) -> Judgement:
    ratios = [c for c in LABEL_RATIOS if c <= 0.1]
    chosen = ("pul-cpbf", "holistic-pu")
    sample = _sample(view, ratios, needed=chosen)
    logs = [np.log(_roughness(block)) for block in sample.values]
    others = sample.others(*chosen)
    units = [line[place] - np.median(line[others]) for line in logs for place in sample.at(*chosen)]
    effect = exponential(over_units(units, ""), "times as rough")
    return Judgement(effect, above(effect, 1), note=sample.note)


def _flat(view: View) -> Judgement:
    sample = _sample(view, (*FIRST, *LAST), needed=("vae-pu",), pool=())
    curves = [100 * block[:, 0] for block in sample.values]
    n = len(FIRST)
    effect = difference([part[:n] for part in curves], [part[n:] for part in curves], POINTS)
    return Judgement(effect, below(effect, LITTLE), note=sample.note)


def labels() -> tuple[Finding, ...]:
    """Return the findings, with rules that were written before any run."""
    where = (
        "Datasets with all label ratios, three or more; labels at random (5.1, Figures 5 and 13)"
    )
    methods_drawn = "The interval is over methods."
    few_kinds = (*KINDS["images"], *KINDS["text vectors"])
    return (
        Finding(
            "Risk and disambiguation methods rise fast below c = 0.1 and then flatten.",
            where,
            "Macro-F1 at 0.07 to 0.1 less that at 0.01 to 0.03 is more than macro-F1 at 0.7 to 0.9 "
            f"less that at 0.07 to 0.1, on average. {methods_drawn}",
            "figure only",
            LABELS,
            _early_more_than_late,
            reads_f1=True,
        ),
        Finding(
            "VPU and P3Mix-C are near their peak on CIFAR-10 with c = 0.03 to 0.05.",
            "CIFAR-10, labels at random (5.1, Figure 5)",
            f"Macro-F1 there lies less than {NEAR:g} points below the best three neighboring label "
            f"ratios, on average of both. {RUNS_DRAWN}",
            "figure only",
            LABELS,
            _near_peak,
            reads_f1=True,
        ),
        Finding(
            "Curves of generative methods over the label ratio are erratic.",
            where,
            "The mean distance of a point from the mean of its two neighbors, as a geometric mean, "
            "is larger for generative methods than for the others. The interval is over methods of "
            "both groups, by Welch's formula.",
            "figure only",
            LABELS,
            _erratic,
            reads_f1=True,
        ),
        Finding(
            "Generative methods gain little from more labels.",
            where,
            "Macro-F1 at 0.7 to 0.9 less that at 0.01 to 0.03 is smaller for generative methods "
            "than for the others. The interval is over methods of both groups, by Welch's formula.",
            "figure only",
            LABELS,
            _little_gain,
            reads_f1=True,
        ),
        Finding(
            "With very few labels, VAE-PU and CGenPU compete on images and text.",
            "Images and text vectors, c = 0.01 and 0.03, labels at random (5.1, Figure 5)",
            "Their mean macro-F1 less the median of the other methods of the same run is above "
            f"0, on two datasets or more. {RUNS_DRAWN}",
            "figure only",
            LABELS,
            _scarce(("vae-pu", "cgenpu"), FIRST, few_kinds, 2),
            reads_f1=True,
        ),
        Finding(
            "With few labels, VPU and P3Mix are especially effective.",
            "Datasets with all label ratios, three or more; c = 0.01 to 0.05 (5.1, Figures 5 and "
            "13)",
            "Mean macro-F1 of VPU, P3Mix-E and P3Mix-C less the median of the other methods of the "
            f"same run is above 0. {RUNS_DRAWN}",
            "figure only",
            LABELS,
            _scarce(("vpu", "p3mix-e", "p3mix-c"), SCARCE, DATASETS, LEAST_DATASETS),
            reads_f1=True,
        ),
        Finding(
            "LBE gains late, when labels are many.",
            where,
            "Macro-F1 at 0.7 to 0.9 less that at 0.07 to 0.1 is larger than for the median of the "
            f"other methods. {RUNS_DRAWN}",
            "figure only",
            LABELS,
            _late_gain,
            reads_f1=True,
        ),
        Finding(
            "PUL-CPBF and Holistic-PU vary strongly when labels are few.",
            where,
            "Up to c = 0.1, the mean distance of a point from the mean of its two neighbors is "
            "larger than for the median of the other methods, as a geometric mean. The interval "
            "is over pairs of method and dataset.",
            "figure only",
            LABELS,
            _vary_when_scarce,
            reads_f1=True,
        ),
        Finding(
            "VAE-PU stays where it is, however many labels there are.",
            where,
            f"Its macro-F1 at 0.7 to 0.9 less that at 0.01 to 0.03 is below {LITTLE:g} points on "
            f"average over datasets. {RUNS_DRAWN}",
            "figure only",
            LABELS,
            _flat,
            reads_f1=True,
        ),
    )
