"""Findings of section 5.2: labels that depend on how clear a positive is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from papers.experiment import Effect, Verdict
from papers.pubench.finding import Finding
from papers.pubench.intervals import above, below
from papers.pubench.measures import RISK
from papers.pubench.published import PU_METHODS
from papers.pubench.rules import POINTS, Measure, places, seeded
from papers.pubench.study import BIASED, FEW, MANY, Condition, Sample
from recoup._core.checks import FloatArray

BIAS = "what biased labels cost"
AWARE = ("pusb", "lbe")
STRONG = ("vpu", "dist-pu", "p3mix-c")
TAKEAWAY = ("vpu", "p3mix-e", "p3mix-c", "dist-pu")
CATASTROPHE = 20.0
"""Points of F1 lost that count as one."""
UNIVERSAL, NEARLY = 90.0, 75.0
"""Percent of the methods that must lose, and that the interval must exclude."""


def _at(c: float, metric: str = "f1") -> list[Condition]:
    """Labels at random first, then the three that depend on the row."""
    return [Condition(metric, mechanism, c) for mechanism in ("scar", *BIASED)]


def _loss(means: FloatArray) -> FloatArray:
    """Points lost by biased labels: datasets by methods."""
    lost: FloatArray = 100 * (means[:, 0] - means[:, 1:4].mean(axis=1))
    return lost


def _lose(sample: Sample, means: FloatArray) -> float:
    lost = _loss(means).mean(axis=0)[sample.others("vae-pu")]
    return 100 * float((lost > 0).mean())


def _universal(effect: Effect, _: Sample) -> Verdict:
    if effect.value >= UNIVERSAL and effect.lower > NEARLY:
        return "holds"
    return "does not hold" if effect.upper < UNIVERSAL else "cannot be told"


def _less(first: Sequence[str], second: Sequence[str]) -> Measure:
    """Return the measure: mean loss of some methods less that of others."""

    def measure(sample: Sample, means: FloatArray) -> float:
        lost = _loss(means).mean(axis=0)
        mine, other = (
            [place for place, name in enumerate(sample.methods) if name in names]
            for names in (first, second)
        )
        return float(lost[mine].mean() - lost[other].mean())

    return measure


def _worst_loss(sample: Sample, means: FloatArray) -> float:
    """Largest loss of a method under a mechanism, averaged over datasets."""
    lost = 100 * (means[:, :1] - means[:, 1:4]).mean(axis=0)
    return float(lost.max())


def _gain(sample: Sample, means: FloatArray) -> float:
    return -float(_loss(means)[:, sample.at("vae-pu")].mean())


def _narrower(sample: Sample, means: FloatArray) -> float:
    return float(_loss(means[:, :4]).mean() - _loss(means[:, 4:]).mean())


def _mean_loss(sample: Sample, means: FloatArray) -> float:
    return float(_loss(means).mean())


def _vpu_ahead(sample: Sample, means: FloatArray) -> float:
    """VPU less the better of PUSB and LBE, under biased labels."""
    f1 = 100 * means[:, 1:4].mean(axis=(0, 1))
    return float(f1[sample.at("vpu")[0]] - f1[sample.at(*AWARE)].max())


def _aware_ahead(sample: Sample, means: FloatArray) -> float:
    f1 = 100 * means[:, 1:4].mean(axis=(0, 1))
    return float(f1[sample.at(*AWARE)].mean() - f1[sample.at(*TAKEAWAY)].mean())


def _last_place(sample: Sample, means: FloatArray) -> float:
    return float(places(means[:, 0].mean(axis=0))[sample.at(*STRONG)].max())


def _first_third(effect: Effect, sample: Sample) -> Verdict:
    return below(effect, np.floor(len(sample.methods) / 3) + 0.5)


def bias() -> tuple[Finding, ...]:
    """Return the findings, with rules that were written before any run."""
    few = "Datasets with all four mechanisms, two or more; c = 0.05 (5.2, Figures 6, 14 to 16)"
    many = "Datasets with all four mechanisms, two or more; c = 0.5 (5.2, Figures 6, 14 to 16)"
    drawn = (
        "Seeds are drawn again within each dataset; with one seed, datasets, if there are three."
    )
    lost = "macro-F1 with labels at random less the mean of S2, S3 and S4"
    others = tuple(name for name in PU_METHODS if name not in RISK)
    counterparts = tuple(name for name in RISK if name not in AWARE)
    return (
        Finding(
            "With few labels at random, VPU, Dist-PU and P3Mix-C are at the top.",
            few,
            "All three are in the first third of the methods by mean macro-F1 with labels at "
            f"random. {drawn}",
            "figure only",
            BIAS,
            seeded(
                _last_place,
                _first_third,
                "of {n}: the last one's place",
                conditions=_at(FEW)[:1],
                needed=STRONG,
                least=2,
                limits=(3, 18),
            ),
            reads_f1=True,
        ),
        Finding(
            "With few labels, all methods but VAE-PU lose when labels are biased.",
            few,
            f"At least {UNIVERSAL:g}% of the other methods lose on average ({lost}), and the "
            f"interval of that share lies above {NEARLY:g}%; all of it below {UNIVERSAL:g}% and "
            f"it does not hold. {drawn}",
            "figure only",
            BIAS,
            seeded(
                _lose,
                _universal,
                "% of the methods",
                conditions=_at(FEW),
                least=2,
                limits=(0, 100),
            ),
            reads_f1=True,
        ),
        Finding(
            "With few biased labels, PUSB and LBE lose less than other risk estimators.",
            few,
            f"Their mean loss ({lost}), less that of the other risk estimators, is below 0. "
            f"{drawn}",
            "figure only",
            BIAS,
            seeded(
                _less(AWARE, counterparts),
                lambda effect, _: below(effect, 0),
                POINTS,
                conditions=_at(FEW),
                needed=AWARE,
                pool=RISK,
                least=2,
            ),
            reads_f1=True,
        ),
        Finding(
            "With few biased labels, no risk estimator collapses.",
            few,
            "The largest loss of macro-F1 of any risk estimator under any of S2 to S4, averaged "
            f"over datasets, is below {CATASTROPHE:g} points. {drawn}",
            "figure only",
            BIAS,
            seeded(
                _worst_loss,
                lambda effect, _: below(effect, CATASTROPHE),
                POINTS,
                conditions=_at(FEW),
                pool=RISK,
                least=2,
            ),
            reads_f1=True,
        ),
        Finding(
            "With few biased labels, risk estimators are more robust than other methods.",
            few,
            f"Their mean loss ({lost}), less that of the other methods, is below 0. {drawn}",
            "figure only",
            BIAS,
            seeded(
                _less(RISK, others),
                lambda effect, _: below(effect, 0),
                POINTS,
                conditions=_at(FEW),
                least=2,
            ),
            reads_f1=True,
        ),
        Finding(
            "VAE-PU is more accurate with few biased labels than with labels at random.",
            few,
            "Its mean accuracy under S2 to S4, less that with labels at random, is above 0. "
            f"{drawn}",
            "figure only",
            BIAS,
            seeded(
                _gain,
                lambda effect, _: above(effect, 0),
                POINTS,
                conditions=_at(FEW, "accuracy"),
                needed=("vae-pu",),
                pool=(),
                least=2,
            ),
        ),
        Finding(
            "With many labels, biased ones cost less than with few.",
            f"{few}, and c = 0.5",
            f"The mean loss over methods ({lost}) at c = 0.05, less that at c = 0.5, is above 0. "
            f"{drawn}",
            "figure only",
            BIAS,
            seeded(
                _narrower,
                lambda effect, _: above(effect, 0),
                POINTS,
                conditions=[*_at(FEW), *_at(MANY)],
                least=2,
            ),
            reads_f1=True,
        ),
        Finding(
            "With many labels, biased ones still cost something.",
            many,
            f"The mean loss over methods ({lost}) is above 0. {drawn}",
            "figure only",
            BIAS,
            seeded(
                _mean_loss,
                lambda effect, _: above(effect, 0),
                POINTS,
                conditions=_at(MANY),
                least=2,
            ),
            reads_f1=True,
        ),
        Finding(
            "With many biased labels, VPU beats PUSB and LBE, which were made for them.",
            many,
            "Its mean macro-F1 under S2 to S4, less that of the better of the two, is above 0. "
            f"{drawn}",
            "figure only",
            BIAS,
            seeded(
                _vpu_ahead,
                lambda effect, _: above(effect, 0),
                POINTS,
                conditions=_at(MANY),
                needed=("vpu", *AWARE),
                pool=(),
                least=2,
            ),
            reads_f1=True,
        ),
        Finding(
            "With few biased labels, take PUSB or LBE rather than VPU, P3Mix or Dist-PU.",
            few,
            "Mean macro-F1 of the two under S2 to S4, less that of VPU, P3Mix-E, P3Mix-C and "
            f"Dist-PU, is above 0. {drawn}",
            "figure only",
            BIAS,
            seeded(
                _aware_ahead,
                lambda effect, _: above(effect, 0),
                POINTS,
                conditions=_at(FEW),
                needed=(*AWARE, *TAKEAWAY),
                pool=(),
                least=2,
            ),
            reads_f1=True,
        ),
    )
